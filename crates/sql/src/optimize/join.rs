//! Joins: units, their order, and how each pair is joined.
//!
//! Inner joins are flattened into *units* (base relations, derived tables, outer joins) that are ordered by dynamic
//! programming over sets, left-deep, and greedily beyond [`EXHAUSTIVE_UNITS`]. A pair is joined by looking the right
//! side up in an index, by hashing the smaller side, or by a plain nested loop. Outer, semi and anti joins keep their
//! place: what stands left of them is planned first.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::{ColumnType, Datum, oid};

use super::estimate::{FUNCTION_ROWS, HASH_BUILD_COST, HASH_PROBE_COST, selectivity, table_rows};
use super::scan::Access;
use super::{Joined, Planner, Slot};
use crate::bind::query::{
    CTID, FromJoin, FromTree, ItemKind, QueryBody, ROW_MARK, TABLE_OID, WHOLE_ROW, XMIN,
};
use crate::catalog::operator::{Comparison, comparison_of};
use crate::catalog::{Relation, RelationKind};
use crate::plan::expr::{Expr, SortKey};
use crate::plan::node::{
    FunctionScan, HashJoin, IndexScan, JoinKind, NestedLoop, Node, ScanColumn, ScanId, SeqScan, VirtualScan,
};

/// Up to here all left-deep orders are compared.
const EXHAUSTIVE_UNITS: usize = 8;
/// Bits of the set type.
const UNITS_MAX: usize = 64;

/// Something that is joined as a whole.
struct Unit {
    items: Vec<u16>,
    /// Siblings that must be on the left: LATERAL.
    after: Vec<u16>,
    side: Side,
    rows: f64,
    cost: f64,
}

/// A right side before it is known how it will be read.
enum Side {
    /// A table whose access path depends on what it is joined with; its own conditions.
    Base {
        item: u16,
        relation: Arc<Relation>,
        conditions: Vec<Expr>,
    },
    Ready(Box<Joined>),
    /// Already part of the plan.
    Used,
}

/// A condition that links units, with the set of them.
struct Link {
    units: u64,
    condition: Option<Expr>,
}

/// How two sides are put together, and what that costs.
enum Method {
    Lookup(Access),
    Hash { build_left: bool },
    Loop,
}

impl Planner<'_> {
    /// Plans FROM and WHERE.
    pub(super) fn joins(
        &mut self,
        from: Vec<FromTree>,
        filter: Vec<Expr>,
        sort: &[SortKey],
        limited: bool,
    ) -> SqlResult<Joined> {
        // Semi and anti joins stand at the top of the single tree that the rewrite made.
        let mut from = from;
        if let [
            FromTree::Join {
                kind: FromJoin::Semi | FromJoin::Anti,
                ..
            },
        ] = from.as_slice()
            && let Some(FromTree::Join {
                kind,
                left,
                right,
                condition,
            }) = from.pop()
        {
            return self.late_join(kind, *left, *right, condition, filter);
        }
        let mut conditions = filter;
        let mut trees = Vec::new();
        for tree in from {
            flatten(tree, &mut trees, &mut conditions);
        }
        if trees.is_empty() {
            return self.no_items(conditions);
        }
        let impossible =
            |condition: &Expr| matches!(condition, Expr::Constant(Datum::Bool(false) | Datum::Null, _));
        let item_sets: Vec<Vec<u16>> = trees
            .iter()
            .map(|tree| crate::bind::items_of(std::slice::from_ref(tree)))
            .collect();
        if item_sets.len() > UNITS_MAX {
            return Err(SqlError::new(
                state::STATEMENT_TOO_COMPLEX,
                "too many joined relations",
            ));
        }
        if conditions.iter().any(impossible) {
            return Ok(self.empty(item_sets.concat()));
        }
        let mut local: Vec<Vec<Expr>> = trees.iter().map(|_| Vec::new()).collect();
        let mut links: Vec<Link> = Vec::new();
        let mut free = Vec::new();
        for condition in conditions {
            let read = self.items_read(&condition);
            let mut units = 0u64;
            for (position, items) in item_sets.iter().enumerate() {
                if items.iter().any(|item| read.contains(item)) {
                    units |= 1 << position;
                }
            }
            match units.count_ones() {
                0 => free.push(condition),
                1 => local[units.trailing_zeros() as usize].push(condition),
                _ => {
                    self.need(&condition);
                    links.push(Link {
                        units,
                        condition: Some(condition),
                    });
                }
            }
        }
        // Conditions without columns of this level are tested where the first unit is read.
        if trees.len() == 1 {
            local[0].append(&mut free);
        } else {
            free.iter().for_each(|condition| self.need(condition));
        }
        for items in &item_sets {
            for item in items {
                self.need_lateral(*item);
            }
        }
        let mut joined = if trees.len() == 1 {
            let tree = trees.pop().expect("there is one tree");
            let conditions = local.pop().unwrap_or_default();
            let side = self.side(tree, conditions)?;
            self.alone(side, sort, limited)?
        } else {
            self.ordered_joins(trees, local, item_sets, links)?
        };
        if !free.is_empty() {
            joined = self.filtered(joined, free)?;
        }
        Ok(joined)
    }

    fn no_items(&mut self, conditions: Vec<Expr>) -> SqlResult<Joined> {
        let filter = self.conjunction(conditions, &[])?;
        let node = Node::Result {
            columns: Vec::new(),
            filter,
        };
        Ok(Joined {
            node,
            layout: Vec::new(),
            items: Vec::new(),
            rows: 1.0,
            cost: 0.0,
            ordered: true,
        })
    }

    fn empty(&mut self, items: Vec<u16>) -> Joined {
        let mut layout = Vec::new();
        for item in &items {
            layout.extend(self.needed[*item as usize].iter().map(|column| (*item, *column)));
            if self.marks && self.is_table(*item) {
                layout.push((*item, ROW_MARK));
            }
        }
        let node = Node::Empty {
            width: layout.len() as u16,
        };
        Joined {
            node,
            layout,
            items,
            rows: 0.0,
            cost: 0.0,
            ordered: true,
        }
    }

    fn is_table(&self, item: u16) -> bool {
        matches!(&self.items[item as usize].kind, ItemKind::Relation(relation) if relation.kind == RelationKind::Table)
    }

    /// Resolves conditions against a layout and joins them by AND.
    pub(super) fn conjunction(&mut self, conditions: Vec<Expr>, layout: &[Slot]) -> SqlResult<Option<Expr>> {
        let mut resolved = Vec::with_capacity(conditions.len());
        for mut condition in conditions {
            if matches!(condition, Expr::Constant(Datum::Bool(true), _)) {
                continue;
            }
            self.resolve(&mut condition, layout)?;
            resolved.push(condition);
        }
        Ok(match resolved.len() {
            0 => None,
            1 => resolved.pop(),
            _ => Some(Expr::And(resolved)),
        })
    }

    pub(super) fn filtered(&mut self, joined: Joined, conditions: Vec<Expr>) -> SqlResult<Joined> {
        let part: f64 = conditions
            .iter()
            .map(|condition| selectivity(condition, &self.items))
            .product();
        let Some(condition) = self.conjunction(conditions, &joined.layout)? else {
            return Ok(joined);
        };
        let rows = (joined.rows * part).max(1.0);
        let node = Node::Filter {
            input: Box::new(joined.node),
            condition,
        };
        Ok(Joined { node, rows, ..joined })
    }

    /// A FROM tree that is not an inner join, with the conditions that concern it alone.
    fn side(&mut self, tree: FromTree, conditions: Vec<Expr>) -> SqlResult<Side> {
        match tree {
            FromTree::Item(item) => self.item_side(item, conditions),
            FromTree::Join {
                kind: kind @ (FromJoin::Semi | FromJoin::Anti),
                left,
                right,
                condition,
            } => Ok(Side::Ready(Box::new(
                self.late_join(kind, *left, *right, condition, conditions)?,
            ))),
            FromTree::Join {
                kind,
                left,
                right,
                condition,
            } => Ok(Side::Ready(Box::new(
                self.outer_join(kind, *left, *right, condition, conditions)?,
            ))),
        }
    }

    fn item_side(&mut self, item: u16, conditions: Vec<Expr>) -> SqlResult<Side> {
        if let ItemKind::Relation(relation) = &self.items[item as usize].kind {
            let relation = relation.clone();
            if relation.kind == RelationKind::Table {
                return Ok(Side::Base {
                    item,
                    relation,
                    conditions,
                });
            }
            return Ok(Side::Ready(Box::new(
                self.virtual_scan(item, relation, conditions)?,
            )));
        }
        Ok(Side::Ready(Box::new(self.computed_side(item, conditions)?)))
    }

    /// Derived tables, functions, WITH queries.
    fn computed_side(&mut self, item: u16, conditions: Vec<Expr>) -> SqlResult<Joined> {
        let width = self.items[item as usize].columns.len();
        let layout: Vec<Slot> = (0..width).map(|column| (item, column as u16)).collect();
        match &mut self.items[item as usize].kind {
            ItemKind::Subquery(slot) => {
                let query = slot.take();
                let mut query =
                    *query.ok_or_else(|| SqlError::internal("a derived table is planned twice"))?;
                let mut rest = Vec::new();
                for condition in conditions {
                    if let Some(condition) = self.push_down(item, condition, &mut query) {
                        self.need(&condition);
                        rest.push(condition);
                    }
                }
                let marks = std::mem::replace(&mut self.marks, false);
                let planned = self.query(query, true);
                self.marks = marks;
                let planned = planned?;
                let joined = Joined {
                    layout,
                    items: vec![item],
                    ordered: false,
                    ..planned
                };
                if rest.is_empty() {
                    Ok(joined)
                } else {
                    self.filtered(joined, rest)
                }
            }
            ItemKind::Function(function) => {
                let (mut calls, columns) = (function.calls.clone(), function.columns.clone());
                let ordinality = function.ordinality;
                for call in &mut calls {
                    self.resolve(call, &[])?;
                }
                conditions.iter().for_each(|condition| self.need(condition));
                let part: f64 = conditions.iter().map(|c| selectivity(c, &self.items)).product();
                let filter = self.conjunction(conditions, &layout)?;
                let node = Node::FunctionScan(Box::new(FunctionScan {
                    calls,
                    columns,
                    ordinality,
                    filter,
                }));
                let rows = (FUNCTION_ROWS * part).max(1.0);
                Ok(Joined {
                    node,
                    layout,
                    items: vec![item],
                    rows,
                    cost: FUNCTION_ROWS,
                    ordered: false,
                })
            }
            ItemKind::Cte(number) => {
                let number = *number;
                let cte = self.cte_number(number)?;
                let columns = (0..width as u16).collect();
                let part: f64 = conditions.iter().map(|c| selectivity(c, &self.items)).product();
                let filter = self.conjunction(conditions, &layout)?;
                let node = Node::CteScan { cte, columns, filter };
                let rows = (1000.0 * part).max(1.0);
                Ok(Joined {
                    node,
                    layout,
                    items: vec![item],
                    rows,
                    cost: 1000.0,
                    ordered: false,
                })
            }
            ItemKind::WorkTable(number) => {
                let number = *number;
                let node = Node::WorkTableScan {
                    cte: self.cte_number(number)?,
                };
                let joined = Joined {
                    node,
                    layout,
                    items: vec![item],
                    rows: 100.0,
                    cost: 100.0,
                    ordered: false,
                };
                self.filtered(joined, conditions)
            }
            ItemKind::Relation(_) | ItemKind::Computed => {
                Err(SqlError::internal("a computed item stands in FROM"))
            }
        }
    }

    /// Moves a condition on a derived table into it, if that does not change the result.
    fn push_down(
        &mut self,
        item: u16,
        condition: Expr,
        query: &mut crate::bind::query::BoundQuery,
    ) -> Option<Expr> {
        if query.limit.is_some()
            || query.offset.is_some()
            || matches!(query.distinct, Some(crate::bind::query::BoundDistinct::On(_)))
            || condition.is_volatile()
            || condition.contains_subplan()
            || query
                .targets
                .iter()
                .any(|target| target.expr.is_volatile() || target.expr.contains_subplan())
        {
            return Some(condition);
        }
        let mut moved = condition.clone();
        moved.rewrite(&mut |inner| match inner {
            Expr::Variable { relation, column, .. } if *relation == item => query
                .targets
                .get(*column as usize)
                .map(|target| target.expr.clone()),
            _ => None,
        });
        match &mut query.body {
            QueryBody::Select(body) => {
                if !body.windows.is_empty() || body.sets.is_some() {
                    return Some(condition);
                }
                let Some(grouping) = &mut body.grouping else {
                    body.filter.push(moved);
                    return None;
                };
                if !grouping.sets.is_empty() || grouping.keys.is_empty() {
                    return Some(condition);
                }
                let over_keys = !moved.any(&mut |inner| {
                    matches!(inner, Expr::Variable { relation, column, .. }
                        if *relation == grouping.item && *column < crate::bind::query::GROUP_KEY)
                });
                if !over_keys {
                    grouping.having.push(moved);
                    return None;
                }
                let (number, keys) = (grouping.item, grouping.keys.clone());
                moved.rewrite(&mut |inner| match inner {
                    Expr::Variable { relation, column, .. } if *relation == number => keys
                        .get((*column - crate::bind::query::GROUP_KEY) as usize)
                        .cloned(),
                    _ => None,
                });
                body.filter.push(moved);
                None
            }
            QueryBody::SetOperation {
                item: inner,
                left,
                right,
                ..
            } => {
                let number = *inner;
                let left_rest = self.push_down(number, moved.clone(), left);
                let right_rest = self.push_down(number, moved, right);
                // An arm that could not take it keeps the condition above all: testing twice does no harm.
                (left_rest.is_some() || right_rest.is_some()).then_some(condition)
            }
            QueryBody::Values { .. } => Some(condition),
        }
    }

    fn virtual_scan(
        &mut self,
        item: u16,
        relation: Arc<Relation>,
        conditions: Vec<Expr>,
    ) -> SqlResult<Joined> {
        conditions.iter().for_each(|condition| self.need(condition));
        let (columns, layout) = self.scan_columns(item, false);
        let part: f64 = conditions.iter().map(|c| selectivity(c, &self.items)).product();
        let rows = table_rows(&relation);
        let filter = self.conjunction(conditions, &layout)?;
        let scan = VirtualScan {
            scan: ScanId(item),
            relation,
            columns,
            filter,
        };
        let node = Node::VirtualScan(Box::new(scan));
        Ok(Joined {
            node,
            layout,
            items: vec![item],
            rows: (rows * part).max(1.0),
            cost: rows,
            ordered: false,
        })
    }

    /// The columns a scan yields: what was asked for, and the row mark.
    fn scan_columns(&self, item: u16, mark: bool) -> (Vec<ScanColumn>, Vec<Slot>) {
        let needed = &self.needed[item as usize];
        let mut columns = Vec::with_capacity(needed.len() + 1);
        let mut layout = Vec::with_capacity(needed.len() + 1);
        for column in needed {
            columns.push(match *column {
                CTID => ScanColumn::Ctid,
                XMIN => ScanColumn::Xmin,
                TABLE_OID => ScanColumn::TableOid,
                WHOLE_ROW => ScanColumn::WholeRow,
                ROW_MARK => ScanColumn::RowMark,
                attribute => ScanColumn::Attribute(attribute),
            });
            layout.push((item, *column));
        }
        if mark {
            columns.push(ScanColumn::RowMark);
            layout.push((item, ROW_MARK));
        }
        (columns, layout)
    }

    /// A unit without neighbours.
    fn alone(&mut self, side: Side, sort: &[SortKey], limited: bool) -> SqlResult<Joined> {
        match side {
            Side::Base {
                item,
                relation,
                conditions,
            } => {
                let borrowed: Vec<&Expr> = conditions.iter().collect();
                let access = self.best_access(item, &relation, &borrowed, sort, limited);
                self.scan(item, relation, access, conditions)
            }
            Side::Ready(joined) => Ok(*joined),
            Side::Used => Err(SqlError::internal("a unit is joined twice")),
        }
    }

    /// Builds the scan that an access path describes. Values of index keys keep variables of other items.
    pub(super) fn scan(
        &mut self,
        item: u16,
        relation: Arc<Relation>,
        access: Access,
        conditions: Vec<Expr>,
    ) -> SqlResult<Joined> {
        let mut rest = Vec::new();
        let mut decided = Vec::new();
        for (position, condition) in conditions.into_iter().enumerate() {
            if !access.used.contains(&position) {
                self.need(&condition);
                rest.push(condition);
            } else if self.marks {
                self.need(&condition);
                decided.push(condition);
            }
        }
        let (columns, layout) = self.scan_columns(item, self.marks);
        let filter = self.conjunction(rest, &layout)?;
        let node = match access.index {
            None => Node::SeqScan(Box::new(SeqScan {
                scan: ScanId(item),
                relation,
                columns,
                filter,
            })),
            Some(index) => {
                let recheck = self.conjunction(decided, &layout)?;
                let mut scan = IndexScan {
                    scan: ScanId(item),
                    relation,
                    index,
                    columns,
                    equals: access.equals,
                    lower: access.lower,
                    upper: access.upper,
                    backward: access.backward,
                    filter,
                    single_row: access.single_row,
                    recheck,
                };
                self.resolve_keys(&mut scan)?;
                Node::IndexScan(Box::new(scan))
            }
        };
        Ok(Joined {
            node,
            layout,
            items: vec![item],
            rows: access.rows,
            cost: access.cost,
            ordered: access.ordered,
        })
    }

    /// Key values may hold sub-queries of their own.
    fn resolve_keys(&mut self, scan: &mut IndexScan) -> SqlResult<()> {
        use crate::plan::node::{AnyOf, IndexEquality};
        for equality in &mut scan.equals {
            match equality {
                IndexEquality::Value(value) | IndexEquality::AnyOf(AnyOf::Array(value)) => {
                    self.resolve(value, &[])?;
                }
                IndexEquality::AnyOf(AnyOf::List(list)) => {
                    for value in list {
                        self.resolve(value, &[])?;
                    }
                }
                IndexEquality::IsNull => {}
            }
        }
        for bound in scan.lower.iter_mut().chain(&mut scan.upper) {
            self.resolve(&mut bound.value, &[])?;
        }
        Ok(())
    }

    /// Several units in their best order.
    fn ordered_joins(
        &mut self,
        trees: Vec<FromTree>,
        local: Vec<Vec<Expr>>,
        item_sets: Vec<Vec<u16>>,
        mut links: Vec<Link>,
    ) -> SqlResult<Joined> {
        let all: Vec<u16> = item_sets.concat();
        let mut units = Vec::with_capacity(trees.len());
        for ((tree, conditions), items) in trees.into_iter().zip(local).zip(item_sets) {
            let mut after = Vec::new();
            for item in &items {
                let inside = self.items_read_inside(*item);
                after.extend(
                    inside
                        .into_iter()
                        .filter(|read| all.contains(read) && !items.contains(read)),
                );
            }
            let side = self.side(tree, conditions)?;
            let (rows, cost) = match &side {
                Side::Base {
                    item,
                    relation,
                    conditions,
                } => {
                    let borrowed: Vec<&Expr> = conditions.iter().collect();
                    let access = self.best_access(*item, relation, &borrowed, &[], false);
                    (access.rows, access.cost)
                }
                Side::Ready(joined) => (joined.rows, joined.cost),
                Side::Used => (0.0, 0.0),
            };
            units.push(Unit {
                items,
                after,
                side,
                rows,
                cost,
            });
        }
        let order = match units.len() <= EXHAUSTIVE_UNITS {
            true => self.exhaustive_order(&units, &links),
            false => self.greedy_order(&units, &links),
        };
        let mut done = 1u64 << order[0];
        let first = std::mem::replace(&mut units[order[0]].side, Side::Used);
        let mut joined = self.alone(first, &[], false)?;
        for position in order.into_iter().skip(1) {
            done |= 1 << position;
            let mut conditions = Vec::new();
            for link in &mut links {
                if link.units & !done == 0 {
                    conditions.extend(link.condition.take());
                }
            }
            let side = std::mem::replace(&mut units[position].side, Side::Used);
            let lateral = !units[position].after.is_empty();
            joined = self.join_pair(JoinKind::Inner, joined, side, conditions, lateral)?;
        }
        Ok(joined)
    }

    /// Rows and cost after adding a unit to a set.
    fn extend(
        &self,
        units: &[Unit],
        links: &[Link],
        set: u64,
        rows: f64,
        cost: f64,
        next: usize,
    ) -> Option<(f64, f64)> {
        let unit = &units[next];
        let available = |item: &u16| {
            units
                .iter()
                .enumerate()
                .any(|(position, unit)| set & (1 << position) != 0 && unit.items.contains(item))
        };
        if !unit.after.iter().all(available) {
            return None;
        }
        let after = set | 1 << next;
        let linking = links
            .iter()
            .filter(|link| link.units & !after == 0 && link.units & (1 << next) != 0);
        let conditions: Vec<&Expr> = linking.filter_map(|link| link.condition.as_ref()).collect();
        let lateral = !unit.after.is_empty();
        let (_, rows, added) = self.method(
            JoinKind::Inner,
            (rows, &unit.items),
            (&unit.side, unit.rows, unit.cost),
            &conditions,
            lateral,
        );
        // A product without a condition comes last, whatever it costs.
        let penalty = if conditions.is_empty() && !lateral {
            4.0
        } else {
            1.0
        };
        Some((rows, cost + added * penalty))
    }

    fn exhaustive_order(&self, units: &[Unit], links: &[Link]) -> Vec<usize> {
        let count = units.len();
        // For each set: (rows, cost, the unit added last).
        let mut best: Vec<Option<(f64, f64, usize)>> = vec![None; 1 << count];
        for (position, unit) in units.iter().enumerate() {
            if unit.after.is_empty() {
                best[1 << position] = Some((unit.rows, unit.cost, position));
            }
        }
        for set in 1u64..1 << count {
            let Some((rows, cost, _)) = best[set as usize] else {
                continue;
            };
            let linked = |next: usize| {
                links
                    .iter()
                    .any(|link| link.units & (1 << next) != 0 && link.units & set != 0)
                    || !units[next].after.is_empty()
            };
            // Only what can come next counts: a LATERAL unit may wait for another one that nothing links.
            let outside = (0..count).filter(|next| set & (1 << next) == 0);
            let reached: Vec<(usize, f64, f64)> = outside
                .filter_map(|next| {
                    let (rows, cost) = self.extend(units, links, set, rows, cost, next)?;
                    Some((next, rows, cost))
                })
                .collect();
            let any_linked = reached.iter().any(|(next, ..)| linked(*next));
            for (next, rows, cost) in reached {
                if any_linked && !linked(next) {
                    continue;
                }
                let slot = &mut best[(set | 1 << next) as usize];
                if slot.is_none_or(|known| cost < known.1) {
                    *slot = Some((rows, cost, next));
                }
            }
        }
        let mut order = Vec::with_capacity(count);
        let mut set = (1u64 << count) - 1;
        while let Some((_, _, last)) = best[set as usize] {
            order.push(last);
            set &= !(1 << last);
        }
        order.reverse();
        order
    }

    fn greedy_order(&self, units: &[Unit], links: &[Link]) -> Vec<usize> {
        let startable = (0..units.len()).filter(|position| units[*position].after.is_empty());
        let first = startable
            .min_by(|a, b| units[*a].rows.total_cmp(&units[*b].rows))
            .unwrap_or(0);
        let mut order = vec![first];
        let (mut set, mut rows, mut cost) = (1u64 << first, units[first].rows, units[first].cost);
        while order.len() < units.len() {
            let outside = (0..units.len()).filter(|next| set & (1 << next) == 0);
            let candidates = outside.filter_map(|next| {
                let (rows, cost) = self.extend(units, links, set, rows, cost, next)?;
                let linked = links
                    .iter()
                    .any(|link| link.units & (1 << next) != 0 && link.units & set != 0);
                Some((next, rows, cost, linked))
            });
            let better = |a: &(usize, f64, f64, bool), b: &(usize, f64, f64, bool)| {
                b.3.cmp(&a.3).then(a.2.total_cmp(&b.2))
            };
            let Some((next, new_rows, new_cost, _)) = candidates.min_by(better) else {
                break;
            };
            (rows, cost) = (new_rows, new_cost);
            set |= 1 << next;
            order.push(next);
        }
        order
    }

    /// The cheapest way to join `left` with a side: (method, rows, added cost).
    fn method(
        &self,
        kind: JoinKind,
        left: (f64, &[u16]),
        right: (&Side, f64, f64),
        conditions: &[&Expr],
        lateral: bool,
    ) -> (Method, f64, f64) {
        let (left_rows, right_items) = left;
        let (side, right_rows, right_cost) = right;
        let part: f64 = conditions
            .iter()
            .map(|condition| selectivity(condition, &self.items))
            .product();
        let mut rows = (left_rows * right_rows * part).max(1.0);
        match kind {
            JoinKind::Semi => rows = (left_rows * 0.5).max(1.0),
            JoinKind::Anti => rows = (left_rows * 0.5).max(1.0),
            JoinKind::Left => rows = rows.max(left_rows),
            JoinKind::Right | JoinKind::Full => rows = rows.max(left_rows).max(right_rows),
            JoinKind::Inner => {}
        }
        let mut best = (Method::Loop, left_rows * right_cost.max(0.1) + rows * 0.1);
        let hashable = conditions
            .iter()
            .any(|condition| hash_key(condition, right_items).is_some());
        // FULL JOIN ON TRUE or FALSE: one chain of all rows.
        let constant = |condition: &&Expr| matches!(condition, Expr::Constant(..));
        let unconditional = kind == JoinKind::Full && conditions.iter().all(constant);
        if (hashable || unconditional) && !lateral {
            let build_left = kind == JoinKind::Inner && left_rows < right_rows;
            let (build, probe) = if build_left {
                (left_rows, right_rows)
            } else {
                (right_rows, left_rows)
            };
            let cost = right_cost + build * HASH_BUILD_COST + probe * HASH_PROBE_COST;
            if cost < best.1 || kind == JoinKind::Full {
                best = (Method::Hash { build_left }, cost);
            }
        }
        let lookup_kind = !matches!(kind, JoinKind::Right | JoinKind::Full);
        if let Side::Base {
            item,
            relation,
            conditions: own,
        } = side
            && lookup_kind
        {
            let all: Vec<&Expr> = own.iter().chain(conditions.iter().copied()).collect();
            let access = self.best_access(*item, relation, &all, &[], false);
            let uses_outer = access.used.iter().any(|position| *position >= own.len());
            if uses_outer {
                let cost = left_rows * access.cost;
                if access.single_row && kind == JoinKind::Inner {
                    rows = rows.min(left_rows.max(1.0));
                }
                if cost < best.1 {
                    best = (Method::Lookup(access), cost);
                }
            }
        }
        (best.0, rows, best.1)
    }

    /// Joins what has been built with one more side.
    fn join_pair(
        &mut self,
        kind: JoinKind,
        left: Joined,
        side: Side,
        conditions: Vec<Expr>,
        lateral: bool,
    ) -> SqlResult<Joined> {
        let (right_items, right_rows, right_cost) = match &side {
            Side::Base {
                item,
                relation,
                conditions,
            } => {
                let borrowed: Vec<&Expr> = conditions.iter().collect();
                let access = self.best_access(*item, relation, &borrowed, &[], false);
                (vec![*item], access.rows, access.cost)
            }
            Side::Ready(joined) => (joined.items.clone(), joined.rows, joined.cost),
            Side::Used => return Err(SqlError::internal("a unit is joined twice")),
        };
        let borrowed: Vec<&Expr> = conditions.iter().collect();
        let (method, rows, cost) = self.method(
            kind,
            (left.rows, &right_items),
            (&side, right_rows, right_cost),
            &borrowed,
            lateral,
        );
        let cost = left.cost + cost;
        match method {
            Method::Lookup(access) => {
                let Side::Base {
                    item,
                    relation,
                    conditions: own,
                } = side
                else {
                    return Err(SqlError::internal("only tables are looked up"));
                };
                // Conditions that the index does not decide are tested on the joined row.
                let known = own.len();
                let mut given = own;
                let mut rest = Vec::new();
                let mut used = Vec::new();
                for (position, condition) in conditions.into_iter().enumerate() {
                    if access.used.contains(&(known + position)) {
                        used.push(given.len());
                        given.push(condition);
                    } else {
                        rest.push(condition);
                    }
                }
                used.extend(access.used.iter().filter(|position| **position < known));
                let access = Access { used, ..access };
                let right = self.scan(item, relation, access, given)?;
                self.nested_loop(kind, left, right, rest, rows, cost)
            }
            Method::Loop => {
                let right = self.alone(side, &[], false)?;
                self.nested_loop(kind, left, right, conditions, rows, cost)
            }
            Method::Hash { build_left } => {
                let right = self.alone(side, &[], false)?;
                match build_left {
                    true => self.hash_join(kind, right, left, conditions, rows, cost),
                    false => self.hash_join(kind, left, right, conditions, rows, cost),
                }
            }
        }
    }

    fn nested_loop(
        &mut self,
        kind: JoinKind,
        left: Joined,
        mut right: Joined,
        conditions: Vec<Expr>,
        rows: f64,
        cost: f64,
    ) -> SqlResult<Joined> {
        if matches!(kind, JoinKind::Right | JoinKind::Full) {
            let message = "FULL JOIN is only supported with merge-joinable or hash-joinable join conditions";
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        }
        let mut bindings = self.bind_free(&mut right.node, &mut |item| left.items.contains(&item));
        for (_, expr) in &mut bindings {
            self.resolve(expr, &left.layout)?;
        }
        let both: Vec<Slot> = left.layout.iter().chain(&right.layout).copied().collect();
        let condition = self.conjunction(conditions, &both)?;
        let (left_width, right_width) = (left.layout.len() as u16, right.layout.len() as u16);
        let layout = if keeps_left_only(kind) { left.layout } else { both };
        let items = joined_items(left.items, right.items);
        let join = NestedLoop {
            kind,
            left: left.node,
            right: right.node,
            bindings,
            condition,
            right_width,
            left_width,
        };
        Ok(Joined {
            node: Node::NestedLoop(Box::new(join)),
            layout,
            items,
            rows,
            cost,
            ordered: left.ordered,
        })
    }

    /// Builds on the right.
    fn hash_join(
        &mut self,
        kind: JoinKind,
        left: Joined,
        right: Joined,
        conditions: Vec<Expr>,
        rows: f64,
        cost: f64,
    ) -> SqlResult<Joined> {
        let mut keys = Vec::new();
        let mut rest = Vec::new();
        for condition in conditions {
            match hash_key(&condition, &right.items) {
                Some((mut a, mut b)) => {
                    self.resolve(&mut a, &left.layout)?;
                    self.resolve(&mut b, &right.layout)?;
                    keys.push((a, b));
                }
                None => rest.push(condition),
            }
        }
        let both: Vec<Slot> = left.layout.iter().chain(&right.layout).copied().collect();
        let condition = self.conjunction(rest, &both)?;
        let (left_width, right_width) = (left.layout.len() as u16, right.layout.len() as u16);
        let layout = if keeps_left_only(kind) { left.layout } else { both };
        let items = joined_items(left.items, right.items);
        let join = HashJoin {
            kind,
            left: left.node,
            right: right.node,
            keys,
            condition,
            left_width,
            right_width,
        };
        Ok(Joined {
            node: Node::HashJoin(Box::new(join)),
            layout,
            items,
            rows,
            cost,
            ordered: left.ordered,
        })
    }

    /// LEFT, RIGHT and FULL joins. Conditions from above arrive in `above`.
    fn outer_join(
        &mut self,
        kind: FromJoin,
        left: FromTree,
        right: FromTree,
        on: Vec<Expr>,
        above: Vec<Expr>,
    ) -> SqlResult<Joined> {
        // RIGHT is LEFT with its sides exchanged.
        let (kind, left, right) = match kind {
            FromJoin::Right => (FromJoin::Left, right, left),
            other => (other, left, right),
        };
        let left_items = crate::bind::items_of(std::slice::from_ref(&left));
        let right_items = crate::bind::items_of(std::slice::from_ref(&right));
        let (mut on_left, mut after) = (Vec::new(), Vec::new());
        for condition in above {
            let read = self.items_read(&condition);
            if kind == FromJoin::Left && !read.iter().any(|item| right_items.contains(item)) {
                on_left.push(condition);
            } else {
                self.need(&condition);
                after.push(condition);
            }
        }
        let (mut own, mut linking) = (Vec::new(), Vec::new());
        for condition in on {
            let read = self.items_read(&condition);
            if kind == FromJoin::Left && !read.iter().any(|item| left_items.contains(item)) {
                own.push(condition);
            } else {
                self.need(&condition);
                linking.push(condition);
            }
        }
        let mut lateral = false;
        for item in &right_items {
            lateral |= self
                .items_read_inside(*item)
                .iter()
                .any(|read| left_items.contains(read));
            self.need_lateral(*item);
        }
        let left = self.joins(vec![left], on_left, &[], false)?;
        let side = match right {
            FromTree::Item(item) => self.item_side(item, own)?,
            tree => Side::Ready(Box::new(self.joins(vec![tree], own, &[], false)?)),
        };
        let kind = if kind == FromJoin::Full {
            JoinKind::Full
        } else {
            JoinKind::Left
        };
        let joined = self.join_pair(kind, left, side, linking, lateral)?;
        if after.is_empty() {
            Ok(joined)
        } else {
            self.filtered(joined, after)
        }
    }

    /// Semi and anti joins made from EXISTS and IN.
    fn late_join(
        &mut self,
        kind: FromJoin,
        left: FromTree,
        right: FromTree,
        condition: Vec<Expr>,
        filter: Vec<Expr>,
    ) -> SqlResult<Joined> {
        let left_items = crate::bind::items_of(std::slice::from_ref(&left));
        let (mut own, mut linking) = (Vec::new(), Vec::new());
        for condition in condition {
            let read = self.items_read(&condition);
            if read.iter().any(|item| left_items.contains(item)) {
                self.need(&condition);
                linking.push(condition);
            } else {
                own.push(condition);
            }
        }
        let left = self.joins(vec![left], filter, &[], false)?;
        // The inner side's rows are not part of the result: no marks there.
        let marks = std::mem::replace(&mut self.marks, false);
        let side = match right {
            FromTree::Item(item) => {
                self.need_lateral(item);
                self.item_side(item, own)
            }
            tree => self
                .joins(vec![tree], own, &[], false)
                .map(|joined| Side::Ready(Box::new(joined))),
        };
        let kind = if kind == FromJoin::Anti {
            JoinKind::Anti
        } else {
            JoinKind::Semi
        };
        let joined = side.and_then(|side| self.join_pair(kind, left, side, linking, false));
        self.marks = marks;
        joined
    }
}

fn joined_items(mut left: Vec<u16>, right: Vec<u16>) -> Vec<u16> {
    left.extend(right);
    left
}

fn keeps_left_only(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::Semi | JoinKind::Anti)
}

/// Takes inner joins apart.
fn flatten(tree: FromTree, trees: &mut Vec<FromTree>, conditions: &mut Vec<Expr>) {
    match tree {
        FromTree::Join {
            kind: FromJoin::Inner,
            left,
            right,
            condition,
        } => {
            conditions.extend(condition.into_iter().flat_map(crate::bind::conjuncts));
            flatten(*left, trees, conditions);
            flatten(*right, trees, conditions);
        }
        other => trees.push(other),
    }
}

/// An equality whose one side reads only the right items and the other none of them: (left, right) of one type.
fn hash_key(condition: &Expr, right_items: &[u16]) -> Option<(Expr, Expr)> {
    let Expr::Call {
        function, arguments, ..
    } = condition
    else {
        return None;
    };
    let (Comparison::Equal, operator) = comparison_of(*function)? else {
        return None;
    };
    let [a, b] = arguments.as_slice() else { return None };
    if condition.contains_subplan() {
        return None;
    }
    let sides = |expr: &Expr| {
        let (mut inside, mut outside) = (false, false);
        expr.visit(&mut |inner| {
            if let Expr::Variable { relation, .. } = inner {
                match right_items.contains(relation) {
                    true => inside = true,
                    false => outside = true,
                }
            }
        });
        (inside, outside)
    };
    let ((a_inside, a_outside), (b_inside, b_outside)) = (sides(a), sides(b));
    let (left, right, left_type, right_type) = if b_inside && !b_outside && a_outside && !a_inside {
        (a, b, operator.left, operator.right)
    } else if a_inside && !a_outside && b_outside && !b_inside {
        (b, a, operator.right, operator.left)
    } else {
        return None;
    };
    if left_type == right_type {
        return Some((left.clone(), right.clone()));
    }
    let integer = |ty: oid::Oid| matches!(ty, oid::INT2 | oid::INT4 | oid::INT8);
    let float = |ty: oid::Oid| matches!(ty, oid::FLOAT4 | oid::FLOAT8);
    let common = match () {
        () if integer(left_type) && integer(right_type) => ColumnType::INT8,
        () if float(left_type) && float(right_type) => ColumnType::FLOAT8,
        () if mote_types::catalog::is_text_like(left_type)
            && mote_types::catalog::is_text_like(right_type) =>
        {
            return Some((left.clone(), right.clone()));
        }
        () => return None,
    };
    let widen = |expr: &Expr, from: oid::Oid| match from == common.oid {
        true => expr.clone(),
        false => Expr::Cast {
            argument: Box::new(expr.clone()),
            from: expr.ty(),
            ty: common,
            explicit: false,
            location: -1,
        },
    };
    Some((widen(left, left_type), widen(right, right_type)))
}
