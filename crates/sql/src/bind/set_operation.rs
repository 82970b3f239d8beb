//! UNION, INTERSECT, EXCEPT: unifies the arms' columns; ORDER BY over the result's names.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_types::{ColumnType, oid};

use super::Binder;
use super::locking::{not_allowed, strength_of};
use super::query::{BoundQuery, BoundTarget, FromTree, ItemColumn, ItemKind, QueryBody, SelectBody};
use super::scope::{Clause, Level, ScopeItem};
use super::select::Tail;
use crate::clause::SetOperationKind;
use crate::expr::Expr;
use mote_grammar::ast;
use mote_grammar::ast::Location;

/// Set operations may nest this deep to the left: each is a frame of whoever runs the plan, on the stack of a session.
const LEVELS_MAX: u32 = 700;

fn refuse_locks(locking: &[ast::Locking]) -> SqlResult<()> {
    match locking.first() {
        Some(clause) => Err(not_allowed(
            strength_of(clause).clause(),
            "with UNION/INTERSECT/EXCEPT",
        )),
        None => Ok(()),
    }
}

impl Binder<'_> {
    /// Binds a chain of set operations, from left to right.
    pub(super) fn set_operation(
        &mut self,
        first: &ast::Query,
        rest: &[ast::SetArm],
        tail: &Tail<'_>,
    ) -> SqlResult<BoundQuery> {
        refuse_locks(tail.locking)?;
        let is_intersect_all = |arm: &ast::SetArm| arm.operator == ast::SetOperator::Intersect && arm.all;
        // Nothing to the left of an INTERSECT ALL may be recursive.
        let (bound, behind) = match rest.iter().rposition(is_intersect_all) {
            Some(position) => {
                let before = &rest[..position];
                let left = self.without_recursion("within INTERSECT", |this| {
                    let first = this.arm(first)?;
                    this.add_arms(first, before, &Tail::NONE)
                });
                (left?, &rest[position..])
            }
            None => (self.arm(first)?, rest),
        };
        self.add_arms(bound, behind, tail)
    }

    /// Rows of an arm cannot be locked, as those of the whole cannot.
    fn arm(&mut self, query: &ast::Query) -> SqlResult<BoundQuery> {
        refuse_locks(&query.locking)?;
        self.query_with(query, false)
    }

    /// Joins arms to what stands before them; the clauses of `tail` are those of the last operation.
    fn add_arms(
        &mut self,
        first: BoundQuery,
        arms: &[ast::SetArm],
        tail: &Tail<'_>,
    ) -> SqlResult<BoundQuery> {
        let mut bound = first;
        for (position, arm) in arms.iter().enumerate() {
            let right = match arm.operator {
                ast::SetOperator::Except => {
                    self.without_recursion("within EXCEPT", |this| this.arm(&arm.query))?
                }
                _ => self.arm(&arm.query)?,
            };
            let above = match position + 1 == arms.len() {
                true => tail,
                false => &Tail::NONE,
            };
            bound = self.combine(arm, bound, right, above)?;
        }
        Ok(bound)
    }

    /// Unifies two bound arms and binds the clauses above them.
    fn combine(
        &mut self,
        arm: &ast::SetArm,
        mut left: BoundQuery,
        mut right: BoundQuery,
        tail: &Tail<'_>,
    ) -> SqlResult<BoundQuery> {
        let (kind, word) = match arm.operator {
            ast::SetOperator::Union => (SetOperationKind::Union, "UNION"),
            ast::SetOperator::Intersect => (SetOperationKind::Intersect, "INTERSECT"),
            ast::SetOperator::Except => (SetOperationKind::Except, "EXCEPT"),
        };
        let types = self.unify_arms(word, arm.all, &mut left, &mut right)?;
        let (body, mut targets) = self.united(kind, arm.all, left, right, &types)?;
        let QueryBody::SetOperation { item, .. } = &body else {
            return Err(SqlError::internal("arms make a set operation"));
        };
        self.levels.push(Level::new(Clause::OrderBy));
        self.level().items.push(ScopeItem::item("".into(), *item));
        let result = self.result_clauses(tail, &mut targets, &body);
        self.levels.pop();
        let mut query = BoundQuery::new(body, targets);
        let clauses = result?;
        query.order_by = clauses.order_by;
        query.limit = clauses.limit;
        query.offset = clauses.offset;
        query.with_ties = clauses.with_ties;
        Ok(query)
    }

    /// Brings both arms to the types of the result, which are returned.
    fn unify_arms(
        &mut self,
        word: &str,
        all: bool,
        left: &mut BoundQuery,
        right: &mut BoundQuery,
    ) -> SqlResult<Vec<ColumnType>> {
        if left.targets.len() != right.targets.len() {
            let message = format!("each {word} query must have the same number of columns");
            let place = right
                .targets
                .first()
                .map_or(Location::NONE, |target| target.location);
            return Err(self.error(state::SYNTAX_ERROR, place, message));
        }
        let mut types = Vec::with_capacity(left.targets.len());
        for position in 0..left.targets.len() {
            let places = [&*left, &*right].map(|arm| arm.targets[position].location);
            let found = [&*left, &*right].map(|arm| self.type_of(&arm.targets[position].expr));
            let pairs = [(found[0], places[0]), (found[1], places[1])];
            types.push(self.common_type(&pairs, word)?);
        }
        self.keep_distinct(left, &types, word)?;
        self.keep_distinct(right, &types, word)?;
        for (position, common) in types.iter().enumerate() {
            let place = left.targets[position].location;
            self.retype(left, position, *common, word)?;
            self.retype(right, position, *common, word)?;
            if !all {
                self.check_equality(&left.targets[position].expr, place)?;
            }
        }
        Ok(types)
    }

    /// DISTINCT of an arm, and the order of its rows, are about values as they are before they become those of the result: an
    /// arm with columns of other types becomes a sub-query of itself, above which they are converted.
    fn keep_distinct(&mut self, arm: &mut BoundQuery, types: &[ColumnType], word: &str) -> SqlResult<()> {
        let is_other = |this: &Self, target: &BoundTarget, ty: ColumnType| {
            let source = this.type_of(&target.expr);
            source != ty && source.oid != oid::UNKNOWN
        };
        let mut pairs = arm.targets.iter().zip(types);
        if arm.distinct.is_none() || !pairs.any(|(target, ty)| is_other(self, target, *ty)) {
            return Ok(());
        }
        // Literals are what they are to be from the start.
        for (position, ty) in types.iter().enumerate() {
            if self.type_of(&arm.targets[position].expr).oid == oid::UNKNOWN {
                self.retype(arm, position, *ty, word)?;
            }
        }
        let column = |target: &BoundTarget| ItemColumn {
            name: target.name.clone(),
            ty: target.expr.ty(),
            origin: target.origin,
        };
        let columns: Vec<ItemColumn> = arm.targets.iter().map(column).collect();
        let mut targets = arm.targets.clone();
        let with = arm.with.clone();
        let empty = BoundQuery::new(QueryBody::Select(Box::default()), Vec::new());
        let inner = std::mem::replace(arm, empty);
        let item = self.add_item("".into(), ItemKind::Subquery(Some(Box::new(inner))), columns)?;
        self.item_levels[item as usize] += 1;
        for (position, target) in targets.iter_mut().enumerate() {
            target.expr = self.variable(item, position, target.location);
        }
        let body = SelectBody {
            from: vec![FromTree::Item(item)],
            ..SelectBody::default()
        };
        *arm = BoundQuery::new(QueryBody::Select(Box::new(body)), targets);
        arm.with = with;
        Ok(())
    }

    /// Puts an arm behind others: at the end of their list where an operation follows its like, or else above them.
    fn united(
        &mut self,
        kind: SetOperationKind,
        all: bool,
        left: BoundQuery,
        right: BoundQuery,
        types: &[ColumnType],
    ) -> SqlResult<(QueryBody, Vec<BoundTarget>)> {
        let keeps_types = || {
            left.targets
                .iter()
                .zip(types)
                .all(|(target, ty)| target.expr.ty() == *ty)
        };
        if is_list_of_arms(&left, kind, all) && keeps_types() {
            let mut body = left.body;
            if let QueryBody::SetOperation {
                all: of_all,
                arms,
                levels,
                ..
            } = &mut body
            {
                *of_all = all;
                if kind == SetOperationKind::Union && !all {
                    take_first_apart(arms, levels);
                }
                arms.push(right);
            }
            return Ok((body, left.targets));
        }
        let levels = match &left.body {
            QueryBody::SetOperation { levels, .. } => levels + 1,
            _ => 1,
        };
        if levels > LEVELS_MAX {
            let message = "stack depth limit exceeded";
            return Err(SqlError::new(state::STATEMENT_TOO_COMPLEX, message));
        }
        self.reach(self.depth + levels)?;
        let column = |(target, ty): (&BoundTarget, &ColumnType)| ItemColumn {
            name: target.name.clone(),
            ty: *ty,
            origin: (Oid::INVALID, 0),
        };
        let columns = left.targets.iter().zip(types).map(column).collect();
        // The item belongs to the level that ORDER BY is bound in.
        self.levels.push(Level::new(Clause::OrderBy));
        let item = self.add_item("".into(), ItemKind::Computed, columns);
        self.levels.pop();
        let item = item?;
        let target = |(position, target): (usize, &BoundTarget)| BoundTarget {
            name: target.name.clone(),
            expr: self.variable(item, position, Location::NONE),
            origin: (Oid::INVALID, 0),
            location: target.location,
        };
        let targets = left.targets.iter().enumerate().map(target).collect();
        let body = QueryBody::SetOperation {
            item,
            kind,
            all,
            arms: vec![left, right],
            levels,
        };
        Ok((body, targets))
    }

    /// ORDER BY and LIMIT over the result of `body`, whose further arms have names of their own that cannot be referred to.
    fn result_clauses(
        &mut self,
        tail: &Tail<'_>,
        targets: &mut [BoundTarget],
        body: &QueryBody,
    ) -> SqlResult<BoundQuery> {
        let mut holder = BoundQuery::new(
            QueryBody::Values {
                item: 0,
                rows: Vec::new(),
            },
            Vec::new(),
        );
        for sort in tail.order_by {
            let Some(position) = self.output_reference(&sort.value, targets, "ORDER BY", true)? else {
                if let Some(name) = Self::bare_name(&sort.value) {
                    let message = format!("column \"{name}\" does not exist");
                    let error = self.error(state::UNDEFINED_COLUMN, sort.value.location, message);
                    return Err(match leaf_named(body, name, &mut 0) {
                        Some(leaf) => error.hint(format!(
                            "There is a column named \"{name}\" in table \"*SELECT* {leaf}\", but it cannot be referenced from this part of the query."
                        )),
                        None => error,
                    });
                }
                return Err(self
                    .error(
                        state::FEATURE_NOT_SUPPORTED,
                        sort.value.start(),
                        "invalid UNION/INTERSECT/EXCEPT ORDER BY clause",
                    )
                    .detail("Only result column names can be used, not expressions or functions.")
                    .hint(
                        "Add the expression/function to every SELECT, or move the UNION into a FROM clause.",
                    ));
            };
            let expr = targets[position].expr.clone();
            holder.order_by.push(self.sort_key(expr, sort)?);
        }
        self.limits(tail, &mut holder)?;
        Ok(holder)
    }

    /// Converts one output column of an arm, inside the arm's own arms if it is a set operation itself.
    pub(super) fn retype(
        &mut self,
        arm: &mut BoundQuery,
        position: usize,
        ty: ColumnType,
        word: &str,
    ) -> SqlResult<()> {
        let expr = arm.targets[position].expr.clone();
        let source = self.type_of(&expr);
        if source == ty {
            arm.targets[position].expr = self.settle_unknown(expr, Location::NONE)?;
            return Ok(());
        }
        if source.oid == oid::UNKNOWN
            && let QueryBody::Values { item, rows } = &mut arm.body
        {
            // Literals of VALUES take their type where they stand.
            for row in rows.iter_mut() {
                let value = std::mem::replace(&mut row[position], Expr::And(Vec::new()));
                let place = arm.targets[position].location;
                row[position] = self.coerce_common(value, ty, word, place)?;
            }
            let item = *item;
            self.items[item as usize].columns[position].ty = ty;
            arm.targets[position].expr = self.variable(item, position, Location::NONE);
            return Ok(());
        }
        let place = arm.targets[position].location;
        let old = expr.clone();
        let new = self.coerce_common(expr, ty, word, place)?;
        // ORDER BY and DISTINCT ON inside the arm mean the column as it was; only literals change their meaning.
        if source.oid == oid::UNKNOWN {
            for key in arm.order_by.iter_mut().filter(|key| key.expr.same(&old)) {
                key.expr = new.clone();
            }
        }
        arm.targets[position].expr = new;
        Ok(())
    }
}

/// May another arm stand at the end of this one's list? PostgreSQL takes those of UNION apart when it plans
/// (plan_union_children): arms of the same types, and not those that are free of duplicates below an ALL.
fn is_list_of_arms(query: &BoundQuery, kind: SetOperationKind, all: bool) -> bool {
    let QueryBody::SetOperation {
        item,
        kind: of_kind,
        all: of_all,
        ..
    } = &query.body
    else {
        return false;
    };
    let is_alike = *of_kind == kind && (*of_all == all || kind == SetOperationKind::Union && *of_all);
    let is_own = |(position, target): (usize, &BoundTarget)| {
        matches!(&target.expr, Expr::Variable { relation, column, .. }
            if relation == item && usize::from(*column) == position)
    };
    let is_bare = query.distinct.is_none()
        && query.order_by.is_empty()
        && query.limit.is_none()
        && query.offset.is_none();
    is_alike && is_bare && query.targets.iter().enumerate().all(is_own)
}

/// Where duplicates go in the end, they need not go from the first arms before: `(a UNION b UNION ALL c) UNION d`.
fn take_first_apart(arms: &mut Vec<BoundQuery>, levels: &mut u32) {
    let is_list = |first: &BoundQuery| is_list_of_arms(first, SetOperationKind::Union, false);
    if !arms.first().is_some_and(is_list) {
        return;
    }
    let rest = arms.split_off(1);
    let first = arms.pop().map(|first| first.body);
    if let Some(QueryBody::SetOperation {
        arms: own,
        levels: of_first,
        ..
    }) = first
    {
        *arms = own;
        *levels = of_first;
    }
    arms.extend(rest);
}

/// The number, among the SELECTs of a set operation, of the first that has such a column.
fn leaf_named(body: &QueryBody, name: &str, leaves: &mut usize) -> Option<usize> {
    let QueryBody::SetOperation { arms, .. } = body else {
        return None;
    };
    for arm in arms {
        let is_bare = arm.order_by.is_empty() && arm.limit.is_none() && arm.offset.is_none();
        if is_bare && matches!(arm.body, QueryBody::SetOperation { .. }) {
            if let Some(leaf) = leaf_named(&arm.body, name, leaves) {
                return Some(leaf);
            }
            continue;
        }
        *leaves += 1;
        if arm.targets.iter().any(|target| *target.name == *name) {
            return Some(*leaves);
        }
    }
    None
}
