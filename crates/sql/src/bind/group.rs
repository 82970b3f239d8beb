//! GROUP BY, aggregates and HAVING: the grouping check, and the rewrite of what stands above the grouping.
//!
//! Invariant: after this, everything above the grouping reads the grouping's item alone (keys and calls), except inside
//! the calls' arguments. Columns that a grouped primary key determines become keys themselves.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

use super::Binder;
use super::query::{
    BoundDistinct, BoundQuery, BoundTarget, FIRST_SYSTEM_COLUMN, GROUP_KEY, Grouping, ItemKind, QueryBody,
    RangeItem, collect_subplans,
};
use super::scope::Clause;
use super::select::items_of;
use crate::catalog::ConstraintKind;
use crate::expr::{Expr, aggregate_call_exprs, window_call_exprs};
use mote_grammar::ast;
use mote_grammar::ast::{ExprKind, GroupingElement, Location};

/// Keys beyond this in one GROUP BY would collide with the numbers of special columns.
const KEYS_MAX: usize = 1000;
/// PostgreSQL's limit on what CUBE and ROLLUP may grow to.
const SETS_MAX: usize = 4096;

/// GROUP BY, bound: its keys, and the grouping sets (none for a plain list).
pub(super) struct GroupBy {
    keys: Keys,
    sets: Vec<Vec<u16>>,
}

impl Binder<'_> {
    /// Completes a SELECT: grouping, windows and sets move from the level into the query.
    pub(super) fn grouping(
        &mut self,
        select: &ast::Select,
        order_by: &[ast::SortBy],
        having: Vec<Expr>,
        GroupBy { keys, sets }: GroupBy,
        query: &mut BoundQuery,
    ) -> SqlResult<()> {
        let sorted_targets = match keys.repeat_an_expression() {
            true => self.sorted_targets(order_by, &query.targets)?,
            false => Vec::new(),
        };
        let Keys {
            exprs: keys,
            targets: key_targets,
        } = keys;
        let groupings = self.grouping_arguments(&keys)?;
        let level = self.level();
        let mut calls = std::mem::take(&mut level.aggregates);
        let item = level.aggregate_item;
        let mut windows = std::mem::take(&mut level.windows);
        let mut set_calls = level.set_item.map(|item| (item, std::mem::take(&mut level.sets)));
        let grouped = item.is_some() || !select.group_by.is_empty() || select.having.is_some();
        let QueryBody::Select(body) = &mut query.body else {
            return Err(SqlError::internal("grouping belongs to a SELECT"));
        };
        if !grouped {
            body.windows = windows;
            body.sets = set_calls;
            return Ok(());
        }
        let own = items_of(&body.from);
        let item = match item {
            Some(item) => item,
            None => self.computed_item()?,
        };
        let mut rewriter = Rewriter {
            item,
            own,
            keys,
            plain: sets.is_empty(),
            failure: None,
            in_subquery: false,
        };
        let mut having = having;
        let mut called = Vec::new();
        for (position, target) in query.targets.iter_mut().enumerate() {
            rewriter.apply_own(position, &key_targets, &mut target.expr);
        }
        for (key, target) in query.order_by.iter_mut().zip(sorted_targets) {
            if let Some(position) = target {
                rewriter.apply_own(position, &key_targets, &mut key.expr);
            }
        }
        let mut above: Vec<&mut Expr> = Vec::new();
        above.extend(query.targets.iter_mut().map(|target| &mut target.expr));
        above.extend(having.iter_mut());
        above.extend(query.order_by.iter_mut().map(|key| &mut key.expr));
        if let Some(BoundDistinct::On(on)) = &mut query.distinct {
            above.extend(on.iter_mut());
        }
        for expr in above {
            rewriter.apply(expr, &self.items);
            collect_subplans(expr, &mut called);
        }
        let set_calls_of_rows = set_calls.clone();
        if let Some((item, _)) = set_calls
            && rewriter
                .keys
                .iter()
                .any(|key| key.any(&mut |inner| is_of(inner, item)))
        {
            keep_called_sets(&mut set_calls, query);
        }
        for call in set_calls.iter_mut().flat_map(|(_, calls)| calls) {
            rewriter.apply(call, &self.items);
            collect_subplans(call, &mut called);
        }
        for window in &mut windows {
            let mut apply = |expr: &mut Expr| {
                rewriter.apply(expr, &self.items);
                collect_subplans(expr, &mut called);
            };
            window.partition_by.iter_mut().for_each(&mut apply);
            window.order_by.iter_mut().for_each(|key| apply(&mut key.expr));
            window
                .calls
                .iter_mut()
                .for_each(|call| window_call_exprs(call, &mut apply));
        }
        if !called.is_empty() {
            let mut below = Vec::new();
            for call in &mut calls {
                aggregate_call_exprs(call, &mut |expr| collect_subplans(expr, &mut below));
            }
            self.rewrite_subqueries(&called, &below, &mut rewriter);
        }
        let mut is_direct = false;
        for call in &calls {
            // What stands in the parentheses of an ordered-set aggregate is one value for the group.
            let direct = call.aggregate.signature().direct.map_or(0, usize::from);
            for argument in &call.arguments[..direct] {
                rewriter.in_subquery = false;
                let known = rewriter.failure.is_some();
                rewriter.apply(&mut argument.clone(), &self.items);
                is_direct |= !known && rewriter.failure.is_some();
            }
        }
        if let Some((relation, column, location, in_subquery)) = rewriter.failure {
            let error = self.ungrouped(relation, column, Location(location), in_subquery);
            return Err(match is_direct {
                true => error
                    .detail("Direct arguments of an ordered-set aggregate must use only grouped columns."),
                false => error,
            });
        }
        let mut keys = rewriter.keys;
        let sets_below = match set_calls_of_rows {
            Some(calls) => self.sets_below(calls, &mut keys)?,
            None => None,
        };
        if keys.len() > KEYS_MAX {
            return Err(SqlError::new(
                state::TOO_MANY_COLUMNS,
                "too many grouping columns",
            ));
        }
        let QueryBody::Select(body) = &mut query.body else {
            return Err(SqlError::internal("grouping belongs to a SELECT"));
        };
        body.grouping = Some(Grouping {
            item,
            sets_below,
            keys,
            sets,
            calls,
            groupings,
            having,
        });
        body.windows = windows;
        body.sets = set_calls;
        Ok(())
    }

    /// Moves the set-returning calls that keys contain below the grouping, where they see rows.
    fn sets_below(
        &mut self,
        (set_item, calls): (u16, Vec<Expr>),
        keys: &mut [Expr],
    ) -> SqlResult<Option<(u16, Vec<Expr>)>> {
        let mut below: Option<(u16, Vec<Expr>)> = None;
        let mut moved: Vec<u16> = Vec::new();
        for key in keys {
            if !key.any(&mut |inner| is_of(inner, set_item)) {
                continue;
            }
            let item = match &below {
                Some((item, _)) => *item,
                None => below.insert((self.computed_item()?, Vec::new())).0,
            };
            key.rewrite(&mut |inner| {
                let Expr::Variable {
                    relation,
                    column,
                    ty,
                    location,
                } = inner
                else {
                    return None;
                };
                if *relation != set_item {
                    return None;
                }
                let known = moved.iter().position(|known| known == column);
                let place = known.unwrap_or_else(|| {
                    moved.push(*column);
                    moved.len() - 1
                });
                Some(Expr::Variable {
                    relation: item,
                    column: place as u16,
                    ty: *ty,
                    location: *location,
                })
            });
        }
        if let Some((_, below)) = &mut below {
            below.extend(moved.iter().map(|column| calls[*column as usize].clone()));
        }
        Ok(below)
    }

    /// The targets that sort keys name.
    fn sorted_targets(
        &mut self,
        order_by: &[ast::SortBy],
        targets: &[BoundTarget],
    ) -> SqlResult<Vec<Option<usize>>> {
        let target = |sort: &ast::SortBy| self.output_reference(&sort.value, targets, "ORDER BY", true);
        order_by.iter().map(target).collect()
    }

    /// The positions of the keys that each GROUPING() names.
    fn grouping_arguments(&mut self, keys: &[Expr]) -> SqlResult<Vec<Vec<u16>>> {
        let calls = std::mem::take(&mut self.level().groupings);
        let position = |(argument, location): (Expr, Location)| {
            let found = keys.iter().position(|key| key.same(&argument));
            found.map(|position| position as u16).ok_or_else(|| {
                let message =
                    "arguments to GROUPING must be grouping expressions of the associated query level";
                self.error(state::GROUPING_ERROR, location, message)
            })
        };
        let positions = calls
            .into_iter()
            .map(|call| call.into_iter().map(position).collect());
        positions.collect()
    }

    /// Correlated sub-queries above the grouping see groups, not rows; those `below` it, in arguments of aggregates, see rows.
    fn rewrite_subqueries(&mut self, called: &[u16], below: &[u16], rewriter: &mut Rewriter) {
        // The items are needed by the walk (mutably) and by the check for keys; the check gets primary keys beforehand.
        let keys = primary_keys(&self.items, &rewriter.own);
        // A row that is compared with those of a query stands outside of it.
        rewriter.in_subquery = false;
        for number in called {
            if let Some(query) = &mut self.subqueries[*number as usize]
                && query.compares_rows
            {
                let targets = query.targets.iter_mut();
                targets.for_each(|target| rewriter.apply_with(&mut target.expr, &keys));
            }
        }
        rewriter.in_subquery = true;
        self.visit_subqueries(called, below, &mut |expr| rewriter.apply_with(expr, &keys));
    }

    fn ungrouped(&self, relation: u16, column: u16, location: Location, in_subquery: bool) -> SqlError {
        let alias = &self.items[relation as usize].alias;
        let name = match column {
            super::query::CTID => "ctid",
            super::query::XMIN => "xmin",
            super::query::XMAX => "xmax",
            super::query::TABLE_OID => "tableoid",
            super::query::WHOLE_ROW => "*",
            _ => self
                .column(relation, column as usize)
                .map_or("?", |column| column.0),
        };
        let message = match in_subquery {
            true => format!("subquery uses ungrouped column \"{alias}.{name}\" from outer query"),
            false => format!(
                "column \"{alias}.{name}\" must appear in the GROUP BY clause or be used in an aggregate function"
            ),
        };
        self.error(state::GROUPING_ERROR, location, message)
    }

    /// Binds GROUP BY, whose place is behind ORDER BY and before DISTINCT: so PostgreSQL finds what is wrong.
    pub(super) fn group_by(
        &mut self,
        select: &ast::Select,
        targets: &mut [BoundTarget],
    ) -> SqlResult<GroupBy> {
        let mut keys = Keys::default();
        let sets = match select.group_by.is_empty() {
            true => Vec::new(),
            false => self.in_clause(Clause::GroupBy, |this| {
                this.group_keys(select, targets, &mut keys)
            })?,
        };
        Ok(GroupBy { keys, sets })
    }

    /// Fills the keys of GROUP BY, returns the grouping sets (none for a plain list).
    fn group_keys(
        &mut self,
        select: &ast::Select,
        targets: &mut [BoundTarget],
        keys: &mut Keys,
    ) -> SqlResult<Vec<Vec<u16>>> {
        let plain = |element: &GroupingElement| matches!(element, GroupingElement::Expr(_));
        let simple = select.group_by.iter().all(plain);
        let mut product: Vec<Vec<u16>> = vec![Vec::new()];
        for element in &select.group_by {
            let sets = self.grouping_element(element, targets, keys)?;
            let mut next = Vec::with_capacity(product.len() * sets.len());
            for left in &product {
                for right in &sets {
                    let mut joined = left.clone();
                    joined.extend(right.iter().filter(|key| !left.contains(key)));
                    next.push(joined);
                }
            }
            if next.len() > SETS_MAX {
                let message = format!("too many grouping sets present (maximum {SETS_MAX})");
                return Err(SqlError::new(state::STATEMENT_TOO_COMPLEX, message));
            }
            product = next;
        }
        if simple {
            return Ok(Vec::new());
        }
        if select.group_distinct {
            product.iter_mut().for_each(|set| set.sort_unstable());
            product.sort();
            product.dedup();
        }
        Ok(product)
    }

    fn grouping_element(
        &mut self,
        element: &GroupingElement,
        targets: &mut [BoundTarget],
        keys: &mut Keys,
    ) -> SqlResult<Vec<Vec<u16>>> {
        match element {
            GroupingElement::Empty => Ok(vec![Vec::new()]),
            GroupingElement::Expr(expr) => Ok(vec![self.group_key(expr, targets, keys)?]),
            GroupingElement::Rollup(parts) => {
                let parts = self.grouping_parts(parts, targets, keys)?;
                let prefix = |count: usize| parts[..count].concat();
                Ok((0..=parts.len()).rev().map(prefix).collect())
            }
            GroupingElement::Cube(parts) => {
                let parts = self.grouping_parts(parts, targets, keys)?;
                if parts.len() > 12 {
                    return Err(SqlError::new(
                        state::TOO_MANY_COLUMNS,
                        "CUBE is limited to 12 elements",
                    ));
                }
                let subset = |mask: usize| {
                    let chosen = (0..parts.len()).filter(|bit| mask & (1 << bit) != 0);
                    chosen.flat_map(|bit| parts[bit].clone()).collect()
                };
                Ok((0..1usize << parts.len()).rev().map(subset).collect())
            }
            GroupingElement::Sets(parts) => {
                let mut sets = Vec::new();
                for part in parts {
                    sets.extend(self.grouping_element(part, targets, keys)?);
                }
                Ok(sets)
            }
        }
    }

    fn grouping_parts(
        &mut self,
        parts: &[GroupingElement],
        targets: &mut [BoundTarget],
        keys: &mut Keys,
    ) -> SqlResult<Vec<Vec<u16>>> {
        let mut bound = Vec::with_capacity(parts.len());
        for part in parts {
            bound.push(self.grouping_element(part, targets, keys)?.concat());
        }
        Ok(bound)
    }

    /// One key, or the several of a parenthesised list.
    fn group_key(
        &mut self,
        expr: &ast::Expr,
        targets: &mut [BoundTarget],
        keys: &mut Keys,
    ) -> SqlResult<Vec<u16>> {
        if let ExprKind::Row {
            fields,
            form: ast::RowForm::Implicit,
        } = &expr.kind
        {
            let mut positions = Vec::with_capacity(fields.len());
            for field in fields {
                positions.extend(self.group_key(field, targets, keys)?);
            }
            return Ok(positions);
        }
        let (bound, target) = match self.output_reference(expr, targets, "GROUP BY", false)? {
            Some(position) => {
                let settled = self.settle_unknown(targets[position].expr.clone(), expr.location)?;
                targets[position].expr = settled.clone();
                (settled, Some(position))
            }
            None => {
                let bound = self.settled(expr)?;
                let target = targets.iter().position(|target| target.expr.same(&bound));
                (bound, target)
            }
        };
        let aggregate = self.level().aggregate_item;
        let windows: Vec<u16> = self.level().windows.iter().map(|window| window.item).collect();
        if bound.any(&mut |e| matches!(e, Expr::Variable { relation, .. } if Some(*relation) == aggregate)) {
            let message = "aggregate functions are not allowed in GROUP BY";
            return Err(self.error(state::GROUPING_ERROR, expr.location, message));
        }
        if bound.any(&mut |e| matches!(e, Expr::Variable { relation, .. } if windows.contains(relation))) {
            let message = "window functions are not allowed in GROUP BY";
            return Err(self.error(state::WINDOWING_ERROR, expr.location, message));
        }
        self.check_equality(&bound, expr.location)?;
        Ok(vec![keys.position_of(bound, target)])
    }
}

fn is_of(expr: &Expr, item: u16) -> bool {
    matches!(expr, Expr::Variable { relation, .. } if *relation == item)
}

/// Drops the set-returning calls of the target list that grouping has made into keys: nothing reads them any more, and
/// each would yield its rows once more.
fn keep_called_sets(set_calls: &mut Option<(u16, Vec<Expr>)>, query: &mut BoundQuery) {
    let Some((item, calls)) = set_calls else {
        return;
    };
    let mut above: Vec<&mut Expr> = Vec::new();
    above.extend(query.targets.iter_mut().map(|target| &mut target.expr));
    above.extend(query.order_by.iter_mut().map(|key| &mut key.expr));
    if let Some(BoundDistinct::On(on)) = &mut query.distinct {
        above.extend(on.iter_mut());
    }
    let mut kept: Vec<u16> = Vec::new();
    for expr in above {
        expr.rewrite(&mut |inner| {
            let Expr::Variable {
                relation,
                column,
                ty,
                location,
            } = inner
            else {
                return None;
            };
            if relation != item {
                return None;
            }
            let known = kept.iter().position(|known| known == column);
            let place = known.unwrap_or_else(|| {
                kept.push(*column);
                kept.len() - 1
            });
            Some(Expr::Variable {
                relation: *relation,
                column: place as u16,
                ty: *ty,
                location: *location,
            })
        });
    }
    *calls = kept
        .iter()
        .map(|column| calls[*column as usize].clone())
        .collect();
    if calls.is_empty() {
        *set_calls = None;
    }
}

/// The keys of a GROUP BY. A key belongs to the target it names, or else to the first that is the same expression: one
/// expression that stands in the target list twice, under two names, is two keys, which differ in a grouping set that has
/// one of them only.
#[derive(Default)]
struct Keys {
    exprs: Vec<Expr>,
    targets: Vec<Option<usize>>,
}

impl Keys {
    /// The number of a key, which is new or known.
    fn position_of(&mut self, expr: Expr, target: Option<usize>) -> u16 {
        let mut known = self.exprs.iter().zip(&self.targets);
        let position = known.position(|(key, of)| *of == target && key.same(&expr));
        let position = position.unwrap_or_else(|| {
            self.exprs.push(expr);
            self.targets.push(target);
            self.exprs.len() - 1
        });
        position as u16
    }

    fn repeat_an_expression(&self) -> bool {
        let repeats = |(position, key): (usize, &Expr)| self.exprs[..position].iter().any(|k| k.same(key));
        self.exprs.iter().enumerate().any(repeats)
    }
}

/// Primary keys of the relations among these items: (item, columns).
fn primary_keys(items: &[RangeItem], own: &[u16]) -> Vec<(u16, Vec<u16>)> {
    let key_of = |item: &u16| {
        let ItemKind::Relation(relation) = &items[*item as usize].kind else {
            return None;
        };
        let index = relation
            .constraints
            .iter()
            .find_map(|constraint| match constraint.kind {
                ConstraintKind::PrimaryKey { index } if !constraint.deferrable => Some(index),
                _ => None,
            });
        let index = relation
            .indexes
            .iter()
            .find(|known| Some(known.oid) == index || known.primary)?;
        let columns = index.keys.iter().map(|key| match key.target {
            crate::catalog::IndexKeyTarget::Column(column) => Some(column),
            crate::catalog::IndexKeyTarget::Expression(..) => None,
        });
        Some((*item, columns.collect::<Option<Vec<u16>>>()?))
    };
    own.iter().filter_map(key_of).collect()
}

/// Replaces what is grouped by references to the grouping's item.
struct Rewriter {
    item: u16,
    /// FROM items of the level.
    own: Vec<u16>,
    keys: Vec<Expr>,
    /// No grouping sets: a primary key determines the other columns.
    plain: bool,
    /// The first ungrouped column: (item, column, place, inside a sub-query).
    failure: Option<(u16, u16, i32, bool)>,
    in_subquery: bool,
}

impl Rewriter {
    fn apply(&mut self, expr: &mut Expr, items: &[RangeItem]) {
        // Looking up primary keys costs; it is needed only if something is not grouped.
        let keys = if self.plain {
            primary_keys(items, &self.own)
        } else {
            Vec::new()
        };
        self.apply_with(expr, &keys);
    }

    /// Replaces an expression that names a target by the key of this very target, if there is one.
    fn apply_own(&self, target: usize, key_targets: &[Option<usize>], expr: &mut Expr) {
        let own = key_targets.iter().position(|of| *of == Some(target));
        if let Some(position) = own
            && self.keys[position].same(expr)
        {
            *expr = self.key(position, expr);
        }
    }

    fn apply_with(&mut self, expr: &mut Expr, primary: &[(u16, Vec<u16>)]) {
        expr.rewrite(&mut |inner| {
            // As in PostgreSQL, what a sub-query computes is not a key, even if it is written like one.
            let may_be_key = !self.in_subquery || matches!(inner, Expr::Variable { .. });
            if may_be_key && let Some(position) = self.keys.iter().position(|key| key.same(inner)) {
                return Some(self.key(position, inner));
            }
            let Expr::Variable {
                relation,
                column,
                location,
                ..
            } = inner
            else {
                return None;
            };
            if !self.own.contains(relation) {
                return None;
            }
            if self.determined(*relation, *column, primary) {
                self.keys.push(inner.clone());
                return Some(self.key(self.keys.len() - 1, inner));
            }
            if self.failure.is_none() {
                self.failure = Some((*relation, *column, *location, self.in_subquery));
            }
            None
        });
    }

    fn key(&self, position: usize, expr: &Expr) -> Expr {
        let location = match expr {
            Expr::Variable { location, .. } | Expr::Call { location, .. } => *location,
            _ => -1,
        };
        Expr::Variable {
            relation: self.item,
            column: GROUP_KEY + position as u16,
            ty: expr.ty(),
            location,
        }
    }

    fn determined(&self, relation: u16, column: u16, primary: &[(u16, Vec<u16>)]) -> bool {
        if !self.plain || column >= FIRST_SYSTEM_COLUMN {
            return false;
        }
        let grouped = |wanted: &u16| {
            self.keys.iter().any(|key| {
                matches!(key, Expr::Variable { relation: r, column: c, .. } if *r == relation && c == wanted)
            })
        };
        primary
            .iter()
            .any(|(item, columns)| *item == relation && columns.iter().all(grouped))
    }
}
