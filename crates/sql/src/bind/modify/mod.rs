//! INSERT, UPDATE, DELETE: what a statement changes, and what the new rows are.
//!
//! Read in this order: this file (the target, and the clauses that all three share), `insert`, `update` with `assign`
//! (SET lists, which ON CONFLICT and MERGE have too), `delete`, `computed` (what the table itself adds to a new row).
//!
//! Invariant: every column of a new row has an expression of exactly the column's type; generated columns are computed
//! last, over the finished row.

mod assign;
mod computed;
mod delete;
mod insert;
mod update;

pub(super) use assign::assigned_columns;
pub(super) use insert::positions_given;

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult, SqlState};

use super::Binder;
use super::query::{BoundTarget, FromTree, SelectBody};
use super::scope::{Clause, ScopeItem};
use super::select::conjuncts;
use super::updatable_view::{Change, UpdatableView};
use crate::access::{RelationLock, privilege};
use crate::catalog::{Relation, RelationKind};
use crate::expr::Expr;
use mote_grammar::ast;
use mote_grammar::ast::Location;

const GENERATED_ALWAYS: SqlState = SqlState::new("428C9");

/// What a statement changes.
struct Changed {
    /// The table, also of a view.
    relation: Arc<Relation>,
    target: u16,
    /// What the statement named, for its expressions.
    scope: ScopeItem,
    view: Option<(Arc<Relation>, UpdatableView)>,
}

impl Binder<'_> {
    /// The relation a statement modifies.
    pub(in crate::bind) fn modified_relation(
        &mut self,
        reference: &ast::RelationReference,
        privileges: u32,
    ) -> SqlResult<Arc<Relation>> {
        let name = &reference.name;
        if name.schema.is_none() && self.cte_names.iter().any(|(known, _)| *known == name.name) {
            let message = format!(
                "relation \"{}\" cannot be the target of a modifying statement",
                name.name
            );
            return Err(self.error(state::WRONG_OBJECT_TYPE, name.location, message));
        }
        let relation = self.find_relation(name)?;
        match relation.kind {
            RelationKind::Table => {}
            RelationKind::View => return Err(SqlError::internal("a view is taken apart before")),
            RelationKind::MaterializedView => {
                let message = format!("cannot change materialized view \"{}\"", relation.name);
                return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
            }
            RelationKind::Virtual => {
                let message = format!("permission denied: \"{}\" is a system catalog", relation.name);
                return Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message));
            }
            RelationKind::Sequence => {
                let message = format!("cannot change sequence \"{}\"", relation.name);
                return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
            }
            RelationKind::Index => return Err(self.rowless(name, "an index")),
        }
        self.access(&relation, RelationLock::RowExclusive, privileges);
        Ok(relation)
    }

    /// What a statement changes: a table, or what is behind a view.
    fn changed(
        &mut self,
        reference: &ast::RelationReference,
        change: Change,
        privileges: u32,
    ) -> SqlResult<Changed> {
        let name = &reference.name;
        let is_cte = name.schema.is_none() && self.cte_names.iter().any(|(known, _)| *known == name.name);
        let view = match is_cte {
            true => None,
            false => Some(self.find_relation(name)?).filter(|found| found.kind == RelationKind::View),
        };
        let Some(view) = view else {
            let relation = self.modified_relation(reference, privileges)?;
            // What is below a table that rows are inserted into is locked when the first row goes there.
            let only = reference.only || matches!(change, Change::Insert);
            let reference = ast::RelationReference {
                only,
                ..reference.clone()
            };
            let (target, alias) = self.target_item(&reference, &relation)?;
            return Ok(Changed {
                relation,
                target,
                scope: ScopeItem::item(alias, target),
                view: None,
            });
        };
        self.access(&view, RelationLock::AccessShare, privileges);
        let taken = self.updatable_view(&view, change, privileges, false)?;
        let alias = reference
            .alias
            .as_ref()
            .map_or(&reference.name.name, |alias| &alias.name)
            .clone();
        Ok(Changed {
            relation: taken.relation.clone(),
            target: taken.target,
            scope: taken.scope(alias),
            view: Some((view, taken)),
        })
    }

    pub(in crate::bind) fn target_item(
        &mut self,
        reference: &ast::RelationReference,
        relation: &Arc<Relation>,
    ) -> SqlResult<(u16, ast::Name)> {
        let alias = reference
            .alias
            .as_ref()
            .map_or(&reference.name.name, |alias| &alias.name)
            .clone();
        let lock = RelationLock::RowExclusive;
        let columns =
            self.renamed_relation_columns(relation, reference.alias.as_ref(), reference.name.location)?;
        let item = self.relation_range_item(alias.clone(), relation, columns, reference.only, lock)?;
        Ok((item, alias))
    }

    fn target_column(&self, relation: &Relation, name: &str, location: Location) -> SqlResult<usize> {
        let found = relation
            .columns
            .iter()
            .position(|column| !column.dropped && column.name == name);
        found.ok_or_else(|| {
            let message = format!(
                "column \"{name}\" of relation \"{}\" does not exist",
                relation.name
            );
            self.error(state::UNDEFINED_COLUMN, location, message)
        })
    }

    /// The FROM items of UPDATE and DELETE: the target first.
    fn modify_from(&mut self, target: u16, items: &[ast::FromItem]) -> SqlResult<SelectBody> {
        let mut from = vec![FromTree::Item(target)];
        from.extend(self.in_clause(Clause::From, |this| this.from_clause(items))?);
        Ok(SelectBody {
            from,
            ..SelectBody::default()
        })
    }

    fn modify_filter(&mut self, filter: Option<&ast::Expr>) -> SqlResult<Vec<Expr>> {
        match filter {
            None => Ok(Vec::new()),
            Some(filter) => {
                Ok(conjuncts(self.in_clause(Clause::Where, |this| {
                    this.condition(filter, "WHERE")
                })?))
            }
        }
    }

    fn returning(
        &mut self,
        returning: Option<&ast::Returning>,
        relation: &Relation,
    ) -> SqlResult<Option<Vec<BoundTarget>>> {
        let Some(returning) = returning else {
            return Ok(None);
        };
        if returning.old_alias.is_some() || returning.new_alias.is_some() {
            return Err(SqlError::unsupported("RETURNING WITH"));
        }
        self.access(relation, RelationLock::RowExclusive, privilege::SELECT);
        let targets = self.in_clause(Clause::Returning, |this| this.targets(&returning.targets, true))?;
        Ok(Some(targets))
    }
}
