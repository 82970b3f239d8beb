//! UNION, INTERSECT, EXCEPT: unifies the arms' columns; ORDER BY over the result's names.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_types::{ColumnType, oid};

use super::Binder;
use super::query::{BoundQuery, BoundTarget, ItemColumn, ItemKind, QueryBody};
use super::scope::{Clause, Level, ScopeItem};
use super::select::Tail;
use crate::clause::SetOperationKind;
use crate::expr::Expr;
use mote_grammar::ast;
use mote_grammar::ast::Location;

impl Binder<'_> {
    pub(super) fn set_operation(
        &mut self,
        operator: ast::SetOperator,
        all: bool,
        left: &ast::Query,
        right: &ast::Query,
        tail: &Tail<'_>,
    ) -> SqlResult<BoundQuery> {
        if !tail.locking.is_empty() {
            let message = "FOR UPDATE is not allowed with UNION/INTERSECT/EXCEPT";
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        }
        let (kind, word) = match operator {
            ast::SetOperator::Union => (SetOperationKind::Union, "UNION"),
            ast::SetOperator::Intersect => (SetOperationKind::Intersect, "INTERSECT"),
            ast::SetOperator::Except => (SetOperationKind::Except, "EXCEPT"),
        };
        let forbidden = format!("within {word}");
        let left = match kind == SetOperationKind::Intersect && all {
            true => self.without_recursion(&forbidden, |this| this.query_with(left, false))?,
            false => self.query_with(left, false)?,
        };
        let right = match kind == SetOperationKind::Except {
            true => self.without_recursion(&forbidden, |this| this.query_with(right, false))?,
            false => self.query_with(right, false)?,
        };
        self.combine(kind, word, all, left, right, tail)
    }

    /// Unifies two bound arms and binds the clauses above them.
    pub(super) fn combine(
        &mut self,
        kind: SetOperationKind,
        word: &str,
        all: bool,
        mut left: BoundQuery,
        mut right: BoundQuery,
        tail: &Tail<'_>,
    ) -> SqlResult<BoundQuery> {
        if left.targets.len() != right.targets.len() {
            let message = format!("each {word} query must have the same number of columns");
            let place = right
                .targets
                .first()
                .map_or(Location::NONE, |target| target.location);
            return Err(self.error(state::SYNTAX_ERROR, place, message));
        }
        let mut columns = Vec::with_capacity(left.targets.len());
        for position in 0..left.targets.len() {
            let places = [&left, &right].map(|arm| arm.targets[position].location);
            let types = [&left, &right].map(|arm| self.type_of(&arm.targets[position].expr));
            let pairs = [(types[0], places[0]), (types[1], places[1])];
            let common = self.common_type(&pairs, word)?;
            self.retype(&mut left, position, common, word)?;
            self.retype(&mut right, position, common, word)?;
            if !all {
                self.check_equality(&left.targets[position].expr, places[0])?;
            }
            let name = left.targets[position].name.clone();
            columns.push(ItemColumn {
                name,
                ty: common,
                origin: (Oid::INVALID, 0),
            });
        }
        let names: Vec<_> = columns.iter().map(|column| column.name.clone()).collect();
        self.levels.push(Level::new(Clause::OrderBy));
        let item = self.add_item("".into(), ItemKind::Computed, columns)?;
        self.level().items.push(ScopeItem::item("".into(), item));
        let target = |(position, name): (usize, ast::Name)| BoundTarget {
            name,
            expr: self.variable(item, position, Location::NONE),
            origin: (Oid::INVALID, 0),
            location: left.targets[position].location,
        };
        let mut targets: Vec<BoundTarget> = names.into_iter().enumerate().map(target).collect();
        let beside = match right.body {
            QueryBody::SetOperation { .. } => &[][..],
            _ => &right.targets,
        };
        let result = self.result_clauses(tail, &mut targets, beside);
        self.levels.pop();
        let body = QueryBody::SetOperation {
            item,
            kind,
            all,
            left: Box::new(left),
            right: Box::new(right),
        };
        let mut query = BoundQuery::new(body, targets);
        let clauses = result?;
        query.order_by = clauses.order_by;
        query.limit = clauses.limit;
        query.offset = clauses.offset;
        query.with_ties = clauses.with_ties;
        Ok(query)
    }

    /// ORDER BY and LIMIT; `beside` are the right arm's columns, which have names but cannot be referred to.
    fn result_clauses(
        &mut self,
        tail: &Tail<'_>,
        targets: &mut [BoundTarget],
        beside: &[BoundTarget],
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
                    return Err(match beside.iter().any(|target| target.name == *name) {
                        true => error.hint(format!(
                            "There is a column named \"{name}\" in table \"*SELECT* 2\", but it cannot be referenced from this part of the query."
                        )),
                        false => error,
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
