//! What stands above the joins: groups, windows, sets in the target list; `finish` does the rest.
//!
//! Order of nodes: joins, Aggregate, Window, ProjectSet, Sort, LockRows, Limit, Project. With DISTINCT the projection
//! comes first. An aggregate that is the least or greatest value of an index reads one entry.

use mote_common::SqlResult;
use mote_types::Datum;

use super::estimate::groups;
use super::finish::is_unstable;
use super::rewrite::refuse_missing_rows;
use super::{Joined, Planner, Slot};
use crate::plan::node::{Aggregate, Append, Expected, JoinKind, Node, ProjectSetColumn, Window};
use mote_sql::bind::query::{
    BoundDistinct, BoundLock, BoundQuery, FromTree, GROUP_KEY, GROUPING_CALL, Grouping, ItemKind, QueryBody,
    RangeItem, SelectBody,
};
use mote_sql::clause::SetOperationKind;
use mote_sql::expr::{AggregateCall, Expr, SortKey};

impl Planner<'_> {
    /// Plans a query. Its row starts with the targets in order; with `exact` nothing follows them.
    pub(super) fn query(&mut self, mut query: BoundQuery, exact: bool) -> SqlResult<Joined> {
        let placeholder = QueryBody::Values {
            item: 0,
            rows: Vec::new(),
        };
        match std::mem::replace(&mut query.body, placeholder) {
            QueryBody::Select(body) => {
                let marks = self.marks;
                let planned = self.select(query, *body, exact);
                self.marks = marks;
                planned
            }
            QueryBody::Values { item, rows } => {
                let width = rows.first().map_or(0, Vec::len);
                let mut resolved = rows;
                for expr in resolved.iter_mut().flatten() {
                    mote_sql::expr::simplify(expr, self.folder);
                    self.resolve(expr, &[])?;
                }
                let layout = (0..width).map(|column| (item, column as u16)).collect();
                let rows = resolved.len() as f64;
                let node = Node::Values { rows: resolved };
                let joined = Joined {
                    node,
                    layout,
                    items: vec![item],
                    rows,
                    cost: rows,
                    ordered: false,
                };
                self.finish(query, joined, exact)
            }
            QueryBody::SetOperation {
                item,
                kind,
                all,
                arms,
                levels: _,
            } => {
                let width = arms.first().map_or(0, |arm| arm.targets.len());
                let node = self.set_operation(kind, all, arms)?;
                let layout = (0..width).map(|column| (item, column as u16)).collect();
                let joined = Joined {
                    layout,
                    items: vec![item],
                    ordered: false,
                    ..node
                };
                self.finish(query, joined, exact)
            }
        }
    }

    fn set_operation(
        &mut self,
        kind: SetOperationKind,
        all: bool,
        arms: Vec<BoundQuery>,
    ) -> SqlResult<Joined> {
        let mut planned = Vec::with_capacity(arms.len());
        let (mut rows, mut cost) = (0.0, 0.0);
        for arm in arms {
            let arm = self.query(arm, true)?;
            rows += arm.rows;
            cost += arm.cost;
            planned.push(arm.node);
        }
        let node = match kind {
            SetOperationKind::Union => {
                // An arm that is a list of arms itself is taken apart.
                let inputs = planned.into_iter().flat_map(arms_of).collect();
                let append = Node::Append(Box::new(Append {
                    inputs,
                    merge: Vec::new(),
                    pruning: None,
                }));
                if all {
                    append
                } else {
                    Node::Distinct {
                        input: Box::new(append),
                        on: None,
                    }
                }
            }
            _ => Node::SetOperation {
                kind,
                all,
                inputs: planned,
            },
        };
        Ok(Joined {
            node,
            layout: Vec::new(),
            items: Vec::new(),
            rows,
            cost,
            ordered: false,
        })
    }

    /// A SELECT with its joins, its groups and what comes behind them.
    fn select(&mut self, mut query: BoundQuery, mut body: SelectBody, exact: bool) -> SqlResult<Joined> {
        self.rewrite(&mut query, &mut body);
        refuse_missing_rows(&query.locks, &body.from)?;
        // The others have their locks inside.
        let is_table =
            |lock: &BoundLock| matches!(self.items[lock.item as usize].kind, ItemKind::Relation(_));
        query.locks.retain(is_table);
        self.marks = !query.locks.is_empty();
        self.writes |= self.marks;
        self.note_needed(&query, &body);
        if let Some(joined) = self.extrema(&mut body)? {
            let joined = self.above_joins(body, joined)?;
            return self.finish(query, joined, exact);
        }
        let direct = body.grouping.is_none() && body.windows.is_empty() && body.sets.is_none();
        let sort = match direct && query.distinct.is_none() {
            true => query.order_by.clone(),
            false => Vec::new(),
        };
        let (from, filter) = (std::mem::take(&mut body.from), std::mem::take(&mut body.filter));
        let late_sets = match sets_follow_distinct(&query, &body) {
            true => body.sets.take(),
            false => None,
        };
        let joined = self.joins(from, filter, &sort, query.limit.is_some())?;
        let joined = self.above_joins(body, joined)?;
        self.finish_with_sets(query, joined, exact, late_sets)
    }

    /// Columns that anything above the joins reads, targets first: scans yield them in that order.
    fn note_needed(&mut self, query: &BoundQuery, body: &SelectBody) {
        let mut exprs: Vec<&Expr> = query.targets.iter().map(|target| &target.expr).collect();
        exprs.extend(query.order_by.iter().map(|key| &key.expr));
        if let Some(BoundDistinct::On(on)) = &query.distinct {
            exprs.extend(on);
        }
        exprs.extend(query.limit.iter().chain(&query.offset));
        if let Some(grouping) = &body.grouping {
            exprs.extend(grouping.keys.iter().chain(&grouping.having));
        }
        for expr in exprs {
            self.need(expr);
        }
        let mut inner = Vec::new();
        let mut body = SelectBody {
            from: Vec::new(),
            filter: Vec::new(),
            ..body.clone_upper()
        };
        body.for_each_expr_mut(&mut |expr| inner.push(expr.clone()));
        inner.iter().for_each(|expr| self.need(expr));
    }

    /// min and max of first free keys of indexes: each aggregate gets one row. Several are joined, one row each, as PostgreSQL
    /// computes each in an InitPlan (planagg.c).
    fn extrema(&mut self, body: &mut SelectBody) -> SqlResult<Option<Joined>> {
        let Some(grouping) = &body.grouping else {
            return Ok(None);
        };
        let [FromTree::Item(item)] = body.from.as_slice() else {
            return Ok(None);
        };
        // Without calls there is nothing to read by an index, and HAVING is about the one group.
        let plain = !grouping.calls.is_empty()
            && grouping.keys.is_empty()
            && grouping.sets.is_empty()
            && grouping.groupings.is_empty()
            && grouping.sets_below.is_none();
        // Each scan gets the conditions, and a sub-query has one place in a plan.
        let shared = grouping.calls.len() > 1;
        if !plain
            || (shared
                && body
                    .filter
                    .iter()
                    .any(|condition| condition.contains_subplan() || condition.is_volatile()))
        {
            return Ok(None);
        }
        let item = *item;
        let mut scans = Vec::with_capacity(grouping.calls.len());
        for call in &grouping.calls.clone() {
            let Some(scan) = self.extremum(item, call, &body.filter)? else {
                return Ok(None);
            };
            scans.push(scan);
        }
        let Some(grouping) = body.grouping.take() else {
            return Ok(None);
        };
        body.filter.clear();
        body.from.clear();
        let mut whole: Option<Joined> = None;
        for (number, (call, scan)) in grouping.calls.into_iter().zip(scans).enumerate() {
            let alone = Grouping {
                item: grouping.item,
                sets_below: None,
                keys: Vec::new(),
                sets: Vec::new(),
                calls: vec![call],
                groupings: Vec::new(),
                having: Vec::new(),
            };
            let mut one = self.aggregate(alone, scan)?;
            one.layout = vec![(grouping.item, number as u16)];
            whole = Some(match whole {
                None => one,
                Some(left) => {
                    let cost = left.cost + one.cost;
                    self.nested_loop(JoinKind::Inner, left, one, Vec::new(), 1.0, cost)?
                }
            });
        }
        match whole {
            Some(joined) if !grouping.having.is_empty() => Ok(Some(self.filtered(joined, grouping.having)?)),
            whole => Ok(whole),
        }
    }

    /// The row that decides a min or max over a table, under these conditions. None: no index begins with it.
    fn extremum(
        &mut self,
        item: u16,
        call: &AggregateCall,
        conditions: &[Expr],
    ) -> SqlResult<Option<Joined>> {
        if call.distinct || call.filter.is_some() {
            return Ok(None);
        }
        let descending = match call.aggregate.signature().name {
            "min" => false,
            "max" => true,
            _ => return Ok(None),
        };
        let [argument @ Expr::Variable { .. }] = call.arguments.as_slice() else {
            return Ok(None);
        };
        let ItemKind::Relation(relation) = &self.items[item as usize].kind else {
            return Ok(None);
        };
        if !relation.kind.has_rows() {
            return Ok(None);
        }
        let relation = relation.clone();
        let key = SortKey {
            expr: argument.clone(),
            descending,
            nulls_first: descending,
        };
        let borrowed: Vec<&Expr> = conditions.iter().collect();
        let with_not_null = || {
            let not_null = Expr::IsNotNull(Box::new(argument.clone()));
            conditions.iter().cloned().chain([not_null]).collect()
        };
        let scan = match self.items[item as usize].expansion.clone() {
            None => {
                let Some(access) = self.extremum_access(item, &relation, &borrowed, &key) else {
                    return Ok(None);
                };
                self.scan(item, relation, access, with_not_null())?
            }
            Some(expansion) => {
                let Some(members) = self.member_extremum_accesses(item, &expansion, &borrowed, &key) else {
                    return Ok(None);
                };
                self.append(
                    item,
                    &expansion,
                    members,
                    with_not_null(),
                    std::slice::from_ref(&key),
                )?
            }
        };
        let one = Expr::Constant(Datum::Int8(1), mote_types::ColumnType::INT8);
        let node = Node::Limit {
            input: Box::new(scan.node),
            count: Some(one),
            offset: None,
            with_ties: None,
        };
        Ok(Some(Joined {
            node,
            rows: 1.0,
            cost: 10.0,
            ..scan
        }))
    }

    /// Groups, windows and sets.
    fn above_joins(&mut self, body: SelectBody, joined: Joined) -> SqlResult<Joined> {
        let SelectBody {
            grouping,
            windows,
            sets,
            ..
        } = body;
        let mut joined = joined;
        if let Some(grouping) = grouping {
            joined = self.aggregate(grouping, joined)?;
        }
        for window in windows {
            joined = self.window(window, joined)?;
        }
        if let Some((item, calls)) = sets {
            joined = self.project_sets(item, calls, joined)?;
        }
        Ok(joined)
    }

    fn aggregate(&mut self, grouping: Grouping, joined: Joined) -> SqlResult<Joined> {
        let Grouping {
            item,
            sets_below,
            keys,
            sets,
            calls,
            groupings,
            having,
        } = grouping;
        let joined = match sets_below {
            Some((item, calls)) => self.project_sets(item, calls, joined)?,
            None => joined,
        };
        let rows = grouped_rows(&keys, &sets, joined.rows, &self.items);
        let mut group_by = keys;
        for key in &mut group_by {
            self.resolve(key, &joined.layout)?;
        }
        let mut calls = calls;
        for call in &mut calls {
            let mut result = Ok(());
            mote_sql::expr::aggregate_call_exprs(call, &mut |expr| {
                if result.is_ok() {
                    result = self.resolve(expr, &joined.layout);
                }
            });
            result?;
        }
        let keys = (0..group_by.len()).map(|key| (item, GROUP_KEY + key as u16));
        let layout: Vec<Slot> = keys
            .chain((0..calls.len()).map(|call| (item, call as u16)))
            .chain((0..groupings.len()).map(|call| (item, GROUPING_CALL + call as u16)))
            .collect();
        let cost = joined.cost + joined.rows;
        let node = Aggregate {
            input: joined.node,
            expected: Expected { rows, cost },
            group_by,
            grouping_sets: sets,
            calls,
            groupings,
        };
        let grouped = Joined {
            node: Node::Aggregate(Box::new(node)),
            layout,
            items: vec![item],
            rows,
            cost,
            ordered: false,
        };
        if having.is_empty() {
            Ok(grouped)
        } else {
            self.filtered(grouped, having)
        }
    }

    fn window(&mut self, window: mote_sql::bind::query::BoundWindow, joined: Joined) -> SqlResult<Joined> {
        let mote_sql::bind::query::BoundWindow {
            item,
            mut partition_by,
            mut order_by,
            mut calls,
        } = window;
        for expr in &mut partition_by {
            self.resolve(expr, &joined.layout)?;
        }
        for key in &mut order_by {
            self.resolve(&mut key.expr, &joined.layout)?;
        }
        for call in &mut calls {
            let mut result = Ok(());
            mote_sql::expr::window_call_exprs(call, &mut |expr| {
                if result.is_ok() {
                    result = self.resolve(expr, &joined.layout);
                }
            });
            result?;
        }
        let partition = |expr: &Expr| SortKey {
            expr: expr.clone(),
            descending: false,
            nulls_first: false,
        };
        let keys: Vec<SortKey> = partition_by
            .iter()
            .map(partition)
            .chain(order_by.iter().cloned())
            .collect();
        let input = match keys.is_empty() {
            true => joined.node,
            false => Node::Sort {
                input: Box::new(joined.node),
                keys,
                limit: None,
            },
        };
        let mut layout = joined.layout;
        layout.extend((0..calls.len()).map(|call| (item, call as u16)));
        let node = Node::Window(Box::new(Window {
            input,
            partition_by,
            order_by,
            calls,
        }));
        let cost = joined.cost + joined.rows * 3.0;
        Ok(Joined {
            node,
            layout,
            ordered: false,
            cost,
            ..joined
        })
    }

    pub(super) fn project_sets(&mut self, item: u16, calls: Vec<Expr>, joined: Joined) -> SqlResult<Joined> {
        let mut columns: Vec<ProjectSetColumn> = Vec::with_capacity(joined.layout.len() + calls.len());
        for (index, (relation, column)) in joined.layout.iter().enumerate() {
            let ty = self.column_type(*relation, *column);
            columns.push(ProjectSetColumn::Scalar(Expr::Column {
                index: index as u16,
                ty,
            }));
        }
        let mut layout = joined.layout.clone();
        for (position, mut call) in calls.into_iter().enumerate() {
            self.resolve(&mut call, &joined.layout)?;
            columns.push(ProjectSetColumn::Set(call));
            layout.push((item, position as u16));
        }
        let node = Node::ProjectSet {
            input: Box::new(joined.node),
            columns,
        };
        let rows = joined.rows * super::estimate::FUNCTION_ROWS;
        Ok(Joined {
            node,
            layout,
            rows,
            ordered: false,
            ..joined
        })
    }
}

/// DISTINCT ON with an ORDER BY picks its rows first and multiplies them then, as in PostgreSQL, unless a
/// set-returning function of the target list is one of the keys.
fn sets_follow_distinct(query: &BoundQuery, body: &SelectBody) -> bool {
    let (Some((item, _)), Some(BoundDistinct::On(on))) = (&body.sets, &query.distinct) else {
        return false;
    };
    let reads_set = |expr: &Expr| {
        expr.any(&mut |inner| matches!(inner, Expr::Variable { relation, .. } if relation == item))
    };
    let sorts = query.order_by.iter().map(|key| &key.expr);
    !query.order_by.is_empty() && !is_unstable(&query.order_by) && !on.iter().chain(sorts).any(reads_set)
}

/// Rows that grouping makes of so many: without keys one, with sets of keys those of all sets.
fn grouped_rows(keys: &[Expr], sets: &[Vec<u16>], rows: f64, items: &[RangeItem]) -> f64 {
    let grouped = |keys: &[Expr]| match keys {
        [] => 1.0,
        keys => groups(keys, rows, items),
    };
    match sets {
        [] => grouped(keys),
        sets => {
            let of_set = |set: &Vec<u16>| -> Vec<Expr> {
                set.iter().map(|key| keys[usize::from(*key)].clone()).collect()
            };
            sets.iter().map(|set| grouped(&of_set(set))).sum()
        }
    }
}

/// The inputs of an arm of UNION that is a plain list of rows itself.
fn arms_of(arm: Node) -> Vec<Node> {
    match arm {
        Node::Append(append) if append.merge.is_empty() && append.pruning.is_none() => append.inputs,
        other => vec![other],
    }
}
