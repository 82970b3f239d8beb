//! Calls of aggregates: whose query level they belong to, ORDER BY and FILTER inside of them, WITHIN GROUP, GROUPING.
//!
//! They are not computed where they stand: the call goes to the query level, and a variable of the level's computed item takes
//! its place. Leaves out: which aggregate a name means (`call`), windows (`window`).

use std::hash::{DefaultHasher, Hash, Hasher};

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_types::{ColumnType, oid};

use super::Binder;
use super::call::display_name;
use super::modifier::spelled_out;
use super::query::{GROUPING_CALL, collect_subplans};
use super::scope::Clause;
use crate::builtin::function::{AggregateId, Callable};
use crate::expr::aggregate_call_exprs;
use crate::expr::{AggregateCall, Expr, SortKey};
use mote_grammar::ast;
use mote_grammar::ast::Location;

impl Binder<'_> {
    /// `percentile_cont(0.5) WITHIN GROUP (ORDER BY x)`: the arguments are those in parentheses, then what is ordered.
    pub(super) fn ordered_set_aggregate(&mut self, name: &str, call: &ast::FunctionCall) -> SqlResult<Expr> {
        let location = call.location;
        let hypothetical = matches!(name, "rank" | "dense_rank" | "percent_rank" | "cume_dist");
        if hypothetical {
            return Err(SqlError::unsupported(format_args!(
                "hypothetical-set aggregate {name}"
            )));
        }
        if call.over.is_some() {
            let message = format!("OVER is not supported for ordered-set aggregate {name}");
            return Err(self.error(state::FEATURE_NOT_SUPPORTED, location, message));
        }
        let mut arguments = self.call_arguments(call, true, false)?;
        let before = self.level_flags();
        if let Some(level) = self.levels.last_mut() {
            level.in_aggregate = true;
        }
        for sort in &call.order_by {
            arguments.push((self.expression(&sort.value)?, sort.value.location));
        }
        if let Some(level) = self.levels.last_mut() {
            level.in_aggregate = before.0;
        }
        let (schema, shown) = (call.name.qualifier(), display_name(call));
        let resolved = self.resolve_call(name, schema, &shown, arguments, call.variadic, location)?;
        let aggregate = match resolved.callable {
            Callable::Aggregate(id) if id.signature().direct.is_some() => id,
            Callable::Aggregate(_) => {
                let message =
                    format!("{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP");
                return Err(self.error(state::WRONG_OBJECT_TYPE, location, message));
            }
            _ => {
                let message = format!("WITHIN GROUP specified, but {name} is not an aggregate function");
                return Err(self.error(state::WRONG_OBJECT_TYPE, location, message));
            }
        };
        let arguments = resolved.arguments;
        let direct = aggregate.signature().direct.map_or(0, usize::from);
        if direct + call.order_by.len() != arguments.len() || call.order_by.len() != 1 {
            let types: Vec<Oid> = arguments.iter().map(|argument| argument.ty().oid).collect();
            return Err(self.no_function(&display_name(call), &types, location));
        }
        let key = self.sort_key(arguments[direct].clone(), &call.order_by[0])?;
        let filter = self.aggregate_filter(call)?;
        self.add_aggregate(
            AggregateCall {
                aggregate,
                arguments,
                distinct: false,
                order_by: vec![key],
                filter,
                ty: resolved.result,
            },
            location,
        )
    }

    pub(super) fn aggregate(
        &mut self,
        call: &ast::FunctionCall,
        aggregate: AggregateId,
        arguments: Vec<Expr>,
        ty: ColumnType,
    ) -> SqlResult<Expr> {
        let (order_by, filter) = self.aggregate_modifiers(call, &arguments)?;
        // One of the values of a `character(n)`: it comes without its blanks, as they do, and the result's type has no length.
        let ty = match &arguments[..] {
            [value] if ty.oid == oid::BPCHAR => value.ty(),
            _ => ty,
        };
        let new = AggregateCall {
            aggregate,
            arguments,
            distinct: call.distinct,
            order_by,
            filter,
            ty,
        };
        Ok(spelled_out(
            self.add_aggregate(new, call.location)?,
            call.location,
        ))
    }

    /// A call becomes a column of the level it belongs to.
    pub(super) fn add_aggregate(&mut self, mut new: AggregateCall, location: Location) -> SqlResult<Expr> {
        let ty = new.ty;
        self.trace_aggregate(location, &new);
        if self.levels.is_empty() {
            let message = "aggregate functions are not allowed in this context";
            return Err(self.error(state::GROUPING_ERROR, location, message));
        }
        for argument in &new.arguments {
            self.check_no_window(
                argument,
                location,
                "aggregate function calls cannot contain window function calls",
            )?;
        }
        let home = self.aggregate_level(&mut new)?;
        let clause = self.levels[home].clause;
        if !clause.allows_aggregates() {
            let message = match clause {
                Clause::From => {
                    "aggregate functions are not allowed in FROM clause of their own query level".into()
                }
                clause => format!("aggregate functions are not allowed in {}", clause.name()),
            };
            return Err(self.error(state::GROUPING_ERROR, location, message));
        }
        let item = match self.levels[home].aggregate_item {
            Some(item) => item,
            None => {
                let item = self.computed_item()?;
                self.item_levels[item as usize] = home + 1;
                item
            }
        };
        let level = &mut self.levels[home];
        level.aggregate_item = Some(item);
        let fingerprint = fingerprint_of(&new);
        let is_same = |position: usize| same_aggregate(&level.aggregates[position], &new);
        let known = level.aggregate_places.find(fingerprint, is_same);
        let column = known.unwrap_or_else(|| {
            level.aggregates.push(new);
            let position = level.aggregates.len() - 1;
            level.aggregate_places.add(fingerprint, position);
            position
        });
        Ok(Expr::Variable {
            relation: item,
            column: column as u16,
            ty,
            location: location.0,
        })
    }

    /// The query level an aggregate belongs to: the innermost whose columns its arguments read, which may lie outside
    /// of the sub-query it is written in; without columns, the level it is written in.
    pub(super) fn aggregate_level(&mut self, call: &mut AggregateCall) -> SqlResult<usize> {
        let here = self.levels.len();
        let mut read: Vec<(u16, i32)> = Vec::new();
        let mut note = |expr: &Expr| {
            expr.visit(&mut |inner| {
                if let Expr::Variable {
                    relation, location, ..
                } = inner
                {
                    read.push((*relation, *location));
                }
            });
        };
        let mut called = Vec::new();
        aggregate_call_exprs(call, &mut |expr| {
            note(expr);
            collect_subplans(expr, &mut called);
        });
        if !called.is_empty() {
            self.visit_subqueries(&called, &[], &mut |expr| note(expr));
        }
        // Levels beyond are those of sub-queries inside the arguments.
        let levels = read.iter().map(|(item, _)| self.item_levels[*item as usize]);
        let home = levels
            .filter(|level| (1..=here).contains(level))
            .max()
            .unwrap_or(here)
            - 1;
        let aggregates = self.levels[home].aggregate_item;
        match read.iter().find(|(item, _)| Some(*item) == aggregates) {
            Some((_, location)) => {
                let message = "aggregate function calls cannot be nested";
                Err(self.error(state::GROUPING_ERROR, Location(*location), message))
            }
            None => Ok(home),
        }
    }

    pub(super) fn check_no_window(&self, expr: &Expr, location: Location, message: &str) -> SqlResult<()> {
        let Some(level) = self.levels.last() else {
            return Ok(());
        };
        let items: Vec<u16> = level.windows.iter().map(|window| window.item).collect();
        let inside =
            expr.any(&mut |expr| matches!(expr, Expr::Variable { relation, .. } if items.contains(relation)));
        if inside {
            Err(self.error(state::GROUPING_ERROR, location, message))
        } else {
            Ok(())
        }
    }

    /// ORDER BY and FILTER of an aggregate call.
    pub(super) fn aggregate_modifiers(
        &mut self,
        call: &ast::FunctionCall,
        arguments: &[Expr],
    ) -> SqlResult<(Vec<SortKey>, Option<Expr>)> {
        let before = self.level_flags();
        if self.levels.is_empty() {
            return Ok((Vec::new(), None));
        }
        self.level().in_aggregate = true;
        let mut order_by = Vec::with_capacity(call.order_by.len());
        for sort in &call.order_by {
            let expr = self.settled(&sort.value)?;
            if call.distinct && !arguments.iter().any(|argument| argument.same(&expr)) {
                let message =
                    "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list";
                return Err(self.error(state::INVALID_COLUMN_REFERENCE, sort.value.location, message));
            }
            order_by.push(self.sort_key(expr, sort)?);
        }
        let filter = self.aggregate_filter(call)?;
        self.level().in_aggregate = before.0;
        Ok((order_by, filter))
    }

    pub(super) fn aggregate_filter(&mut self, call: &ast::FunctionCall) -> SqlResult<Option<Expr>> {
        match &call.filter {
            Some(filter) => self
                .in_clause(Clause::Filter, |this| this.condition(filter, "FILTER"))
                .map(Some),
            None => Ok(None),
        }
    }

    /// `GROUPING(a, b)`: which of the keys the row's grouping set leaves out. Which keys these are is known when
    /// GROUP BY has been bound.
    pub(super) fn grouping_call(&mut self, arguments: &[ast::Expr], location: Location) -> SqlResult<Expr> {
        let clause = self.clause().unwrap_or(Clause::Other);
        if !clause.allows_aggregates() {
            let message = format!("grouping operations are not allowed in {}", clause.name());
            return Err(self.error(state::GROUPING_ERROR, location, message));
        }
        if arguments.len() > 31 {
            let message = "GROUPING must have fewer than 32 arguments";
            return Err(self.error(state::TOO_MANY_ARGUMENTS, location, message));
        }
        let mut bound = Vec::with_capacity(arguments.len());
        for argument in arguments {
            bound.push((self.settled(argument)?, argument.location));
        }
        let item = match self.level().aggregate_item {
            Some(item) => item,
            None => self.computed_item()?,
        };
        let level = self.level();
        level.aggregate_item = Some(item);
        level.groupings.push(bound);
        Ok(Expr::Variable {
            relation: item,
            column: GROUPING_CALL + (level.groupings.len() - 1) as u16,
            ty: ColumnType::INT4,
            location: location.0,
        })
    }
}

/// Same calls have the same one.
fn fingerprint_of(call: &AggregateCall) -> u64 {
    let mut hasher = DefaultHasher::new();
    call.aggregate.hash(&mut hasher);
    for argument in &call.arguments {
        argument.fingerprint().hash(&mut hasher);
    }
    hasher.finish()
}

fn same_aggregate(left: &AggregateCall, right: &AggregateCall) -> bool {
    use crate::expr::same_list;
    let plain = |call: &AggregateCall| call.order_by.is_empty() && call.filter.is_none();
    left.aggregate == right.aggregate
        && left.distinct == right.distinct
        && plain(left)
        && plain(right)
        && same_list(&left.arguments, &right.arguments)
        && !left.arguments.iter().any(Expr::is_volatile)
}
