//! One unit: how a table, a derived table, a function or a WITH query is read, and which conditions go down into it.

use std::sync::Arc;

use mote_common::{SqlError, SqlResult};

use super::Side;
use crate::optimize::access::Access;
use crate::optimize::append::own_columns;
use crate::optimize::estimate::{FUNCTION_ROWS, all_hold, table_rows};
use crate::optimize::scan_source::ScanSource;
use crate::optimize::{Joined, Planner, Slot};
use crate::plan::node::{
    AnyOf, Expected, FunctionScan, IndexEquality, IndexScan, MemberNumber, Node, ScanId, SeqScan, VirtualScan,
};
use mote_sql::bind::query::{
    BoundDistinct, BoundQuery, GROUP_KEY, ItemColumn, ItemKind, QueryBody, ROW_MARK, WHOLE_ROW,
};
use mote_sql::catalog::Relation;
use mote_sql::expr::{ExecParameterId, Expr, SortKey};

impl Planner<'_> {
    /// Rows and cost of a side by its own conditions.
    pub(super) fn read_alone(&self, side: &Side) -> (f64, f64) {
        match side {
            Side::Base {
                item,
                relation,
                conditions,
            } => {
                let borrowed: Vec<&Expr> = conditions.iter().collect();
                let access = self.best_access(*item, relation, &borrowed, &[], false);
                (access.rows, access.cost)
            }
            Side::Parent {
                item,
                expansion,
                conditions,
            } => {
                let borrowed: Vec<&Expr> = conditions.iter().collect();
                let members = self.member_accesses(*item, expansion, &borrowed, &[], false);
                (members.rows, members.cost)
            }
            Side::Ready(joined) => (joined.rows, joined.cost),
            Side::Used => (0.0, 0.0),
        }
    }

    pub(super) fn item_side(&mut self, item: u16, conditions: Vec<Expr>) -> SqlResult<Side> {
        if let ItemKind::Relation(relation) = &self.items[item as usize].kind {
            let relation = relation.clone();
            if let Some(expansion) = &self.items[item as usize].expansion {
                return Ok(Side::Parent {
                    item,
                    expansion: Arc::clone(expansion),
                    conditions,
                });
            }
            if relation.kind.has_rows() {
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

    /// Derived tables, functions, WITH queries. A whole row that is read as one value becomes a column of its own: an outer
    /// join above extends it to NULL, not to a row of nulls.
    pub(super) fn computed_side(&mut self, item: u16, conditions: Vec<Expr>) -> SqlResult<Joined> {
        // Whether the row is read inside of a sub-query does not show in the condition: those wait until it is there.
        let may_read_row = |condition: &Expr| {
            condition.contains_subplan()
                || condition.any(&mut |inner| {
                    matches!(inner, Expr::Variable { relation, column: WHOLE_ROW, .. } if *relation == item)
                })
        };
        for condition in conditions.iter().filter(|condition| may_read_row(condition)) {
            self.need(condition);
        }
        if !self.needed[item as usize].contains(&WHOLE_ROW) {
            return self.computed_columns(item, conditions);
        }
        let (late, conditions): (Vec<Expr>, Vec<Expr>) = conditions.into_iter().partition(may_read_row);
        let side = self.computed_columns(item, conditions)?;
        let side = self.with_whole_row(item, side);
        self.filtered(side, late)
    }

    /// Adds the whole row behind the columns of an item.
    fn with_whole_row(&self, item: u16, side: Joined) -> Joined {
        let of_item = &self.items[item as usize];
        let column = |(index, column): (u16, &ItemColumn)| Expr::Column { index, ty: column.ty };
        let mut columns: Vec<Expr> = (0..).zip(&of_item.columns).map(column).collect();
        columns.push(Expr::Row {
            fields: columns.clone(),
            names: of_item.columns.iter().map(|column| column.name.clone()).collect(),
            ty: of_item.row,
        });
        let mut layout = side.layout;
        layout.push((item, WHOLE_ROW));
        let node = Node::Project {
            input: Box::new(side.node),
            columns,
        };
        Joined { node, layout, ..side }
    }

    fn computed_columns(&mut self, item: u16, conditions: Vec<Expr>) -> SqlResult<Joined> {
        match &self.items[item as usize].kind {
            ItemKind::Subquery(_) => self.derived_table(item, conditions),
            ItemKind::Function(_) => self.function_scan(item, conditions),
            ItemKind::Cte(number, arguments) => {
                let (number, arguments) = (*number, arguments.clone());
                self.cte_scan(item, number, arguments, conditions)
            }
            ItemKind::WorkTable(number) => {
                let number = *number;
                let cte = self.cte_number(number)?;
                let read = self.all_columns(item, Node::WorkTableScan { cte }, 100.0, 100.0);
                self.filtered(read, conditions)
            }
            ItemKind::Relation(_) | ItemKind::Computed => {
                Err(SqlError::internal("a computed item stands in FROM"))
            }
        }
    }

    /// What a node reads of an item, all columns as they are.
    fn all_columns(&self, item: u16, node: Node, rows: f64, cost: f64) -> Joined {
        Joined {
            node,
            layout: self.layout_of(item),
            items: vec![item],
            rows,
            cost,
            ordered: false,
        }
    }

    fn layout_of(&self, item: u16) -> Vec<Slot> {
        let width = self.items[item as usize].columns.len();
        (0..width).map(|column| (item, column as u16)).collect()
    }

    /// A sub-query in FROM, with the conditions that may be tested inside of it.
    fn derived_table(&mut self, item: u16, conditions: Vec<Expr>) -> SqlResult<Joined> {
        let ItemKind::Subquery(slot) = &mut self.items[item as usize].kind else {
            return Err(SqlError::internal("a derived table is a sub-query"));
        };
        let query = slot.take();
        let mut query = *query.ok_or_else(|| SqlError::internal("a derived table is planned twice"))?;
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
        let joined = Joined {
            layout: self.layout_of(item),
            items: vec![item],
            ordered: false,
            ..planned?
        };
        match rest.is_empty() {
            true => Ok(joined),
            false => self.filtered(joined, rest),
        }
    }

    /// Functions in FROM.
    fn function_scan(&mut self, item: u16, conditions: Vec<Expr>) -> SqlResult<Joined> {
        let ItemKind::Function(function) = &self.items[item as usize].kind else {
            return Err(SqlError::internal("functions in FROM are calls"));
        };
        let (mut calls, columns) = (function.calls.clone(), function.columns.clone());
        let ordinality = function.ordinality;
        for call in &mut calls {
            self.resolve(call, &[])?;
        }
        conditions.iter().for_each(|condition| self.need(condition));
        let part = all_hold(&conditions, &self.items);
        let filter = self.conjunction(conditions, &self.layout_of(item))?;
        let of_item = &self.items[item as usize];
        let names = of_item.columns.iter().map(|column| column.name.as_ref().into());
        let node = Node::FunctionScan(Box::new(FunctionScan {
            calls,
            columns,
            ordinality,
            filter,
            alias: of_item.alias.as_ref().into(),
            names: names.collect(),
        }));
        let rows = (FUNCTION_ROWS * part).max(1.0);
        Ok(self.all_columns(item, node, rows, FUNCTION_ROWS))
    }

    /// A reference to a WITH query.
    fn cte_scan(
        &mut self,
        item: u16,
        number: u16,
        arguments: Vec<(ExecParameterId, Expr)>,
        conditions: Vec<Expr>,
    ) -> SqlResult<Joined> {
        let cte = self.cte_number(number)?;
        // Planned only now, and it reads what this level was not asked for.
        if let ItemKind::Cte(_, outer) = &self.items[item as usize].kind
            && outer.len() != arguments.len()
        {
            return Err(SqlError::unsupported("WITH query that refers to an outer query"));
        }
        let width = self.items[item as usize].columns.len();
        let part = all_hold(&conditions, &self.items);
        let filter = self.conjunction(conditions, &self.layout_of(item))?;
        let node = Node::CteScan {
            cte,
            arguments,
            columns: (0..width as u16).collect(),
            filter,
        };
        Ok(self.all_columns(item, node, (1000.0 * part).max(1.0), 1000.0))
    }

    /// Moves a condition on a derived table into it, if that does not change the result.
    pub(super) fn push_down(&mut self, item: u16, condition: Expr, query: &mut BoundQuery) -> Option<Expr> {
        if query.limit.is_some()
            || query.offset.is_some()
            || matches!(query.distinct, Some(BoundDistinct::On(_)))
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
                        if *relation == grouping.item && *column < GROUP_KEY)
                });
                if !over_keys {
                    grouping.having.push(moved);
                    return None;
                }
                let (number, keys) = (grouping.item, &grouping.keys);
                let mut below = moved.clone();
                below.rewrite(&mut |inner| match inner {
                    Expr::Variable { relation, column, .. } if *relation == number => {
                        keys.get((*column - GROUP_KEY) as usize).cloned()
                    }
                    _ => None,
                });
                // What a key's set-returning call yields is there above the joins only.
                let of_set = grouping.sets_below.as_ref().is_some_and(|(set, _)| {
                    below
                        .any(&mut |inner| matches!(inner, Expr::Variable { relation, .. } if relation == set))
                });
                match of_set {
                    true => grouping.having.push(moved),
                    false => body.filter.push(below),
                }
                None
            }
            QueryBody::SetOperation {
                item: inner, arms, ..
            } => {
                let number = *inner;
                let mut refused = false;
                for arm in arms {
                    refused |= self.push_down(number, moved.clone(), arm).is_some();
                }
                // An arm that could not take it keeps the condition above all: testing twice does no harm.
                refused.then_some(condition)
            }
            QueryBody::Values { .. } => Some(condition),
        }
    }

    pub(super) fn virtual_scan(
        &mut self,
        item: u16,
        relation: Arc<Relation>,
        conditions: Vec<Expr>,
    ) -> SqlResult<Joined> {
        conditions.iter().for_each(|condition| self.need(condition));
        let layout = self.scan_layout(item, false);
        let columns = own_columns(&layout);
        let part = all_hold(&conditions, &self.items);
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
    pub(in crate::optimize) fn scan_layout(&self, item: u16, mark: bool) -> Vec<Slot> {
        let needed = &self.needed[item as usize];
        let mut layout = Vec::with_capacity(needed.len() + 1);
        layout.extend(needed.iter().map(|column| (item, *column)));
        if mark {
            layout.push((item, ROW_MARK));
        }
        layout
    }

    /// A unit without neighbours.
    pub(super) fn alone(&mut self, side: Side, sort: &[SortKey], limited: bool) -> SqlResult<Joined> {
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
            Side::Parent {
                item,
                expansion,
                conditions,
            } => {
                let borrowed: Vec<&Expr> = conditions.iter().collect();
                let members = self.member_accesses(item, &expansion, &borrowed, sort, limited);
                self.append(item, &expansion, members, conditions, sort)
            }
            Side::Ready(joined) => Ok(*joined),
            Side::Used => Err(SqlError::internal("a unit is joined twice")),
        }
    }

    /// Builds the scan that an access path describes. Values of index keys keep variables of other items.
    pub(in crate::optimize) fn scan(
        &mut self,
        item: u16,
        relation: Arc<Relation>,
        access: Access,
        conditions: Vec<Expr>,
    ) -> SqlResult<Joined> {
        for (position, condition) in conditions.iter().enumerate() {
            if self.marks || access.union.is_some() || !access.used.contains(&position) {
                self.need(condition);
            }
        }
        let layout = self.scan_layout(item, self.marks);
        let called = &self.items[item as usize].alias;
        let alias = (**called != *relation.name).then(|| called.as_ref().into());
        let source = ScanSource {
            item,
            member: MemberNumber::default(),
            relation,
            columns: own_columns(&layout),
            alias,
        };
        let (rows, cost, ordered) = (access.rows, access.cost, access.ordered);
        let node = self.scan_node(source, access, conditions, &layout)?;
        Ok(Joined {
            node,
            layout,
            items: vec![item],
            rows,
            cost,
            ordered,
        })
    }

    /// The scan of one table that yields `layout`.
    pub(in crate::optimize) fn scan_node(
        &mut self,
        source: ScanSource,
        access: Access,
        conditions: Vec<Expr>,
        layout: &[Slot],
    ) -> SqlResult<Node> {
        self.note_skewed(&access, &conditions);
        let expected = Expected {
            // A small table is planned as if it had more rows.
            rows: access.rows * (source.relation.rows.get() / table_rows(&source.relation)),
            cost: access.cost,
        };
        if let Some(union) = access.union {
            return self.union_node(source, *union, &conditions, layout, expected);
        }
        let ScanSource {
            item,
            member,
            relation,
            columns,
            alias,
        } = source;
        let mut rest = Vec::new();
        let mut decided = Vec::new();
        for (position, condition) in conditions.into_iter().enumerate() {
            if !access.used.contains(&position) {
                rest.push(condition);
            } else if self.marks {
                decided.push(condition);
            }
        }
        let filter = self.conjunction(rest, layout)?;
        let Some(index) = access.index else {
            return Ok(Node::SeqScan(Box::new(SeqScan {
                scan: ScanId(item),
                member,
                relation,
                alias,
                columns,
                filter,
                expected,
            })));
        };
        let recheck = self.conjunction(decided, layout)?;
        let mut scan = IndexScan {
            scan: ScanId(item),
            member,
            relation,
            alias,
            index,
            columns,
            equals: access.equals,
            lower: access.lower,
            upper: access.upper,
            prefix_of: access.prefix_of,
            backward: access.backward,
            filter,
            single_row: access.single_row,
            recheck,
            expected,
        };
        self.resolve_keys(&mut scan)?;
        Ok(Node::IndexScan(Box::new(scan)))
    }

    /// Key values may hold sub-queries of their own.
    pub(super) fn resolve_keys(&mut self, scan: &mut IndexScan) -> SqlResult<()> {
        for equality in &mut scan.equals {
            match equality {
                IndexEquality::Value(value) => self.resolve(value, &[])?,
                // Constants and parameters stay what they are, and the list stays shared.
                IndexEquality::AnyOf(AnyOf::List(list)) if !list.iter().all(is_settled) => {
                    for value in Arc::make_mut(list) {
                        self.resolve(value, &[])?;
                    }
                }
                IndexEquality::AnyOf(AnyOf::Array(array)) if !is_settled(array) => {
                    self.resolve(Arc::make_mut(array), &[])?;
                }
                IndexEquality::AnyOf(_) => {}
                IndexEquality::IsNull => {}
            }
        }
        for bound in scan.lower.iter_mut().chain(&mut scan.upper) {
            self.resolve(&mut bound.value, &[])?;
            for value in &mut bound.further {
                self.resolve(value, &[])?;
            }
        }
        if let Some(pattern) = &mut scan.prefix_of {
            self.resolve(&mut pattern.value, &[])?;
        }
        Ok(())
    }
}

/// Nothing in it is resolved against rows.
fn is_settled(value: &Expr) -> bool {
    matches!(value, Expr::Constant(..) | Expr::Parameter { .. })
}
