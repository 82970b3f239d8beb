//! FOR UPDATE and its kin: which rows a query locks, and what has none to lock.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

use super::Binder;
use super::query::{BoundLock, BoundQuery, ItemKind, QueryBody};
use crate::access::{RelationLock, privilege};
use crate::clause::{LockStrength, LockWait};
use mote_grammar::ast;
use mote_types::ColumnType;

impl Binder<'_> {
    /// FOR UPDATE and its kin.
    pub(super) fn locks(
        &mut self,
        locking: &[ast::Locking],
        query: &mut BoundQuery,
        select: Option<&ast::Select>,
    ) -> SqlResult<()> {
        self.locks_of(locking, query, select, false)
    }

    /// `in_view`: the query is that of a view, or part of it.
    fn locks_of(
        &mut self,
        locking: &[ast::Locking],
        query: &mut BoundQuery,
        select: Option<&ast::Select>,
        in_view: bool,
    ) -> SqlResult<()> {
        for clause in locking {
            let word = strength_of(clause).clause();
            let body = match &query.body {
                QueryBody::Select(body) => body,
                // PostgreSQL looks at what is locked before it reads views, and then finds nothing in FROM here.
                QueryBody::SetOperation { .. } if in_view => continue,
                QueryBody::SetOperation { .. } => {
                    return Err(not_allowed(word, "with UNION/INTERSECT/EXCEPT"));
                }
                // VALUES in FROM has no rows to lock.
                QueryBody::Values { .. } => continue,
            };
            let of_view = body.grouping.as_ref();
            let grouped = select.map_or_else(
                || of_view.is_some_and(|grouping| !grouping.keys.is_empty()),
                |select| !select.group_by.is_empty(),
            );
            let obstacle = if query.distinct.is_some() {
                Some("with DISTINCT clause")
            } else if grouped {
                Some("with GROUP BY clause")
            } else if select.is_some_and(|select| select.having.is_some()) {
                Some("with HAVING clause")
            } else if body.grouping.is_some() {
                Some("with aggregate functions")
            } else if !body.windows.is_empty() {
                Some("with window functions")
            } else if body.sets.is_some() {
                Some("with set-returning functions in the target list")
            } else {
                None
            };
            if let Some(obstacle) = obstacle {
                return Err(not_allowed(word, obstacle));
            }
            let mut items = Vec::new();
            query.for_each_item(&mut |item| items.push(item));
            if clause.of.is_empty() {
                for item in items {
                    self.lock_item(item, clause, &mut query.locks, None, in_view)?;
                }
                continue;
            }
            for wanted in &clause.of {
                let found = items
                    .iter()
                    .copied()
                    .find(|item| self.items[*item as usize].alias == wanted.name);
                match found {
                    Some(item) => self.lock_item(item, clause, &mut query.locks, Some(wanted), in_view)?,
                    None if is_join(select, &wanted.name) => {
                        return Err(self.not_applicable(clause, "a join", wanted.location));
                    }
                    None => {
                        let message = format!(
                            "relation \"{}\" in {word} clause not found in FROM clause",
                            wanted.name
                        );
                        return Err(self.error(state::UNDEFINED_TABLE, wanted.location, message));
                    }
                }
            }
        }
        Ok(())
    }

    fn lock_item(
        &mut self,
        item: u16,
        clause: &ast::Locking,
        locks: &mut Vec<BoundLock>,
        named: Option<&ast::RelationName>,
        in_view: bool,
    ) -> SqlResult<()> {
        let in_view = in_view || self.is_view(item);
        let strength = strength_of(clause);
        let wait = match clause.wait {
            ast::LockWait::Block => LockWait::Block,
            ast::LockWait::NoWait => LockWait::NoWait,
            ast::LockWait::SkipLocked => LockWait::SkipLocked,
        };
        match &mut self.items[item as usize].kind {
            ItemKind::Relation(relation) => {
                if relation.kind != crate::catalog::RelationKind::Table {
                    let kind = match relation.kind {
                        crate::catalog::RelationKind::MaterializedView => relation.kind.word(),
                        _ if named.is_some() => "relation",
                        _ => return Ok(()),
                    };
                    let message = format!("cannot lock rows in {kind} \"{}\"", relation.name);
                    return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
                }
                let relation = relation.clone();
                self.access(
                    &relation,
                    RelationLock::RowShare,
                    privilege::SELECT | privilege::UPDATE,
                );
                if let Some(expansion) = self.items[item as usize].expansion.clone() {
                    for member in &expansion.members {
                        self.access(&member.relation, RelationLock::RowShare, 0);
                    }
                }
                note_lock(locks, BoundLock { item, strength, wait });
                Ok(())
            }
            ItemKind::Subquery(inner) => {
                let Some(mut inner) = inner.take() else {
                    return Ok(());
                };
                let everything = ast::Locking {
                    strength: clause.strength,
                    of: Vec::new(),
                    wait: clause.wait,
                };
                let result = self.locks_of(std::slice::from_ref(&everything), &mut inner, None, in_view);
                // One that locks nothing is taken up into this query by PostgreSQL, or has no rows to miss.
                if !inner.locks.is_empty() {
                    note_lock(locks, BoundLock { item, strength, wait });
                }
                self.items[item as usize].kind = ItemKind::Subquery(Some(inner));
                result
            }
            ItemKind::Function(_) => self.refuse_named(clause, named, "a function"),
            ItemKind::Cte(..) | ItemKind::WorkTable(_) => self.refuse_named(clause, named, "a WITH query"),
            ItemKind::Computed => Ok(()),
        }
    }

    /// Rows of a view are of its type, those of a query in FROM of none.
    fn is_view(&self, item: u16) -> bool {
        let item = &self.items[item as usize];
        matches!(item.kind, ItemKind::Subquery(_)) && item.row != ColumnType::RECORD
    }

    /// What has no rows to lock may be among all items, but not be named.
    fn refuse_named(
        &self,
        clause: &ast::Locking,
        named: Option<&ast::RelationName>,
        what: &str,
    ) -> SqlResult<()> {
        match named {
            Some(name) => Err(self.not_applicable(clause, what, name.location)),
            None => Ok(()),
        }
    }

    pub(super) fn not_applicable(&self, clause: &ast::Locking, what: &str, place: ast::Location) -> SqlError {
        let message = format!("{} cannot be applied to {what}", strength_of(clause).clause());
        self.error(state::FEATURE_NOT_SUPPORTED, place, message)
    }
}

/// Is a join in the FROM clause called so?
fn is_join(select: Option<&ast::Select>, name: &str) -> bool {
    fn called(item: &ast::FromItem, name: &str) -> bool {
        let ast::FromItem::Join(join) = item else {
            return false;
        };
        let own = join.alias.as_ref().is_some_and(|alias| *alias.name == *name);
        own || called(&join.left, name) || called(&join.right, name)
    }
    select.is_some_and(|select| select.from.iter().any(|item| called(item, name)))
}

pub(super) fn strength_of(clause: &ast::Locking) -> LockStrength {
    match clause.strength {
        ast::LockStrength::KeyShare => LockStrength::KeyShare,
        ast::LockStrength::Share => LockStrength::Share,
        ast::LockStrength::NoKeyUpdate => LockStrength::NoKeyUpdate,
        ast::LockStrength::Update => LockStrength::Update,
    }
}

/// A row that several clauses lock is locked as the strongest says.
fn note_lock(locks: &mut Vec<BoundLock>, lock: BoundLock) {
    let Some(known) = locks.iter_mut().find(|known| known.item == lock.item) else {
        locks.push(lock);
        return;
    };
    known.strength = known.strength.max(lock.strength);
    if known.wait == LockWait::Block {
        known.wait = lock.wait;
    }
}

pub(super) fn not_allowed(word: &str, place: &str) -> SqlError {
    SqlError::new(
        state::FEATURE_NOT_SUPPORTED,
        format!("{word} is not allowed {place}"),
    )
}
