//! From meaning to plan: which index, which join order, which sub-queries become joins.
//!
//! Read in this order:
//!  1. this file: the planner's state, how variables become positions, sub-plans and their parameters.
//!  2. `rewrite`, `equality`, `sublink`: smaller and flatter queries of the same meaning.
//!  3. `estimate`, `access`, `binding`, `scan` (with `scan_source`, `union` and `literals`), `join`: rows and costs; one relation;
//!     several.
//!  4. `append`, `prune`, `disjunction`: tables of several parts, conditions that concern several tables.
//!  5. `select`, `finish`, `with`, `recursion`, `modify`, `merge`: what stands above the joins; `volatile`: what may not move.
//!
//! How positions come about: every node under construction has a *layout*, the list of (item, column) that its row
//! holds. [`Planner::resolve`] turns variables of the layout into positions and leaves the others; a nested loop turns
//! the variables that its right side still has and its left side provides into execution parameters, and a sub-plan does
//! the same with all that are left. A finished plan has no variable.
//!
//! Source: PostgreSQL's planner (planner.c, subselect.c, prepjointree.c, createplan.c), which is this method at length.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use mote_common::{Oid, SqlError, SqlResult};
use mote_types::{ColumnType, oid};

use crate::plan::node::Node;
use crate::plan::{CtePlan, OutputColumn, Plan, PlanBody, QueryPlan};
use mote_sql::access::{Command, RelationAccess};
use mote_sql::bind::query::{
    Bound, BoundCte, BoundQuery, BoundStatement, CTID, ItemKind, ROW_MARK, RangeItem, TABLE_OID, XMAX, XMIN,
    collect_subplans, visit_called, visit_item,
};
use mote_sql::catalog::Relation;
use mote_sql::expr::{ConstantFolder, ExecParameterId, Expr};

mod access;
mod append;
mod binding;
mod disjunction;
mod equality;
mod estimate;
mod finish;
mod join;
mod literals;
mod merge;
mod modify;
mod prune;
mod recursion;
mod rewrite;
mod scan;
mod scan_source;
mod select;
mod sublink;
mod union;
mod volatile;
mod with;

/// A column of a row under construction.
pub(super) type Slot = (u16, u16);

/// A node under construction.
pub(super) struct Joined {
    pub node: Node,
    pub layout: Vec<Slot>,
    /// The FROM items inside.
    pub items: Vec<u16>,
    pub rows: f64,
    pub cost: f64,
    /// In the order the caller wished for.
    pub ordered: bool,
}

/// A sub-query that has been planned: its number among the plan's, and what must be set before each run.
#[derive(Clone)]
struct PlannedSubquery {
    plan: u16,
    bindings: Vec<(ExecParameterId, Expr)>,
}

pub(super) struct Planner<'a> {
    pub items: Vec<RangeItem>,
    pub subqueries: Vec<Option<BoundQuery>>,
    planned: Vec<Option<PlannedSubquery>>,
    /// Items that each sub-query reads, its own included: whether a value that calls it depends on a row.
    subquery_reads: Vec<Vec<u16>>,
    subplans: Vec<Node>,
    ctes: Vec<BoundCte>,
    /// Is one of the statement's WITH queries volatile?
    volatile_with: bool,
    /// Numbers of WITH queries in the plan, by their number in the statement.
    cte_numbers: Vec<Option<u16>>,
    cte_plans: Vec<CtePlan>,
    next_parameter: u16,
    folder: Option<&'a dyn ConstantFolder>,
    /// Columns wanted of each item, in the order they were first asked for.
    needed: Vec<Vec<u16>>,
    /// The tables that a parent's item reads, by their member numbers.
    members_read: HashMap<u16, Vec<Arc<Relation>>>,
    /// Base relations of the level being planned carry row marks.
    marks: bool,
    writes: bool,
    /// See `Plan::constants_matter`.
    constants_matter: Cell<bool>,
    /// Conditions of joins from which restrictions of single relations were made, with the part of rows these leave.
    counted: Vec<(Expr, f64)>,
    /// How many EXISTS and IN have become joins.
    sublinks_joined: usize,
}

/// Turns a bound statement into a plan.
pub fn optimize(bound: Bound, folder: Option<&dyn ConstantFolder>) -> SqlResult<Plan> {
    let Bound {
        statement,
        items,
        subqueries,
        ctes,
        parameters,
        parameter_domains,
        dependencies,
        accesses,
        routines,
    } = bound;
    let count = items.len();
    let mut planner = Planner {
        planned: vec![None; subqueries.len()],
        subquery_reads: vec![Vec::new(); subqueries.len()],
        cte_numbers: vec![None; ctes.len()],
        items,
        subqueries,
        subplans: Vec::new(),
        ctes,
        volatile_with: false,
        cte_plans: Vec::new(),
        next_parameter: 0,
        folder,
        needed: vec![Vec::new(); count],
        members_read: HashMap::new(),
        marks: false,
        writes: false,
        constants_matter: Cell::new(false),
        counted: Vec::new(),
        sublinks_joined: 0,
    };
    planner.note_subquery_reads();
    planner.note_volatile_with();
    planner.with_queries()?;
    let (root, command, output, returns_rows, rows) = match statement {
        BoundStatement::Query(query) => {
            let output = output_columns(&query.targets);
            let planned = planner.query(query, false)?;
            (planned.node, Command::Select, output, true, planned.rows)
        }
        BoundStatement::Modify(modify) => {
            let command = modify.command;
            let output = modify.returning.as_deref().map(output_columns);
            let returns_rows = output.is_some();
            let planned = planner.modify(*modify)?;
            (
                planned.node,
                command,
                output.unwrap_or_default(),
                returns_rows,
                planned.rows,
            )
        }
    };
    let accesses = planner.without_pruned(accesses);
    let mut query = QueryPlan {
        root,
        command,
        writes: planner.writes,
        restartable: false,
        calls_code: true,
        subplans: planner.subplans,
        ctes: planner.cte_plans,
        exec_parameters: planner.next_parameter,
        visible_columns: output.len() as u16,
        estimated_rows: rows,
    };
    recursion::note_renewed(&mut query);
    finish(&mut query)?;
    Ok(Plan {
        body: PlanBody::Query(Box::new(query)),
        parameters,
        parameter_domains,
        output: output.into(),
        returns_rows,
        dependencies,
        relations: accesses,
        constants_matter: planner.constants_matter.get(),
        routines,
    })
}

fn output_columns(targets: &[mote_sql::bind::query::BoundTarget]) -> Vec<OutputColumn> {
    let column = |target: &mote_sql::bind::query::BoundTarget| OutputColumn {
        name: target.name.to_string(),
        ty: target.expr.ty(),
        table: target.origin.0,
        attribute: target.origin.1,
    };
    targets.iter().map(column).collect()
}

/// Finds out what only the whole plan tells. A variable that is left over is a bug here; it must not reach the executor.
fn finish(query: &mut QueryPlan) -> SqlResult<()> {
    let mut left_over = None;
    let (mut restartable, mut calls_code) = (true, false);
    let nodes = query
        .subplans
        .iter_mut()
        .chain(query.ctes.iter_mut().map(|cte| &mut cte.node));
    for node in nodes.chain([&mut query.root]) {
        restartable &= !node.fires_triggers();
        calls_code |= node.fires_triggers() || node.may_fire_others();
        node.visit_exprs_mut(&mut |root| {
            restartable &= !root.is_volatile();
            root.visit(&mut |expr| match expr {
                Expr::Variable { relation, column, .. } => left_over = Some((*relation, *column)),
                Expr::Routine(_) | Expr::Domain(_) => calls_code = true,
                _ => {}
            });
        });
    }
    query.restartable = restartable;
    query.calls_code = calls_code;
    match left_over {
        None => Ok(()),
        // RETURNING and ON CONFLICT read the row that is being written, which has only its columns.
        Some((_, CTID)) => Err(SqlError::unsupported("system column \"ctid\" of an inserted row")),
        Some((_, XMAX)) => Err(SqlError::unsupported("system column \"xmax\" in a sub-query")),
        Some((_, XMIN)) => Err(SqlError::unsupported("system column \"xmin\" of an inserted row")),
        Some((item, column)) => Err(SqlError::internal(format!(
            "variable {item}.{column} was not resolved to a position"
        ))),
    }
}

impl Planner<'_> {
    /// Partitions that constants have left out of every FROM item are not locked.
    fn without_pruned(&self, mut accesses: Vec<RelationAccess>) -> Vec<RelationAccess> {
        let expansions = self.items.iter().filter_map(|item| item.expansion.as_ref());
        let members = expansions.filter(|expansion| expansion.partitions.is_some());
        let mut pruned: HashSet<Oid> = members
            .flat_map(|expansion| expansion.members.iter().map(|member| member.relation.oid))
            .collect();
        if pruned.is_empty() {
            return accesses;
        }
        for relation in self.members_read.values().flatten() {
            pruned.remove(&relation.oid);
        }
        for item in &self.items {
            if let (ItemKind::Relation(relation), None) = (&item.kind, &item.expansion) {
                pruned.remove(&relation.oid);
            }
        }
        accesses.retain(|access| access.privileges != 0 || !pruned.contains(&access.relation));
        accesses
    }

    /// Fills `subquery_reads`; again after a rewrite has changed what variables mean.
    pub(super) fn note_subquery_reads(&mut self) {
        for number in 0..self.subqueries.len() {
            self.note_reads_of(number);
        }
    }

    /// The same where a rewrite has changed what the variables of one item mean: a statement may have thousands of sub-queries that
    /// do not read it.
    pub(super) fn note_readers_of(&mut self, item: u16) {
        for number in 0..self.subqueries.len() {
            if self.subquery_reads[number].contains(&item) {
                self.note_reads_of(number);
            }
        }
    }

    fn note_reads_of(&mut self, number: usize) {
        if self.subqueries[number].is_none() {
            return;
        }
        let mut read = Vec::new();
        visit_called(
            &[number as u16],
            &mut self.items,
            &mut self.subqueries,
            &mut |expr| {
                expr.visit(&mut |inner| {
                    if let Expr::Variable { relation, .. } = inner
                        && !read.contains(relation)
                    {
                        read.push(*relation);
                    }
                });
            },
        );
        self.subquery_reads[number] = read;
    }

    /// Adds an item that the planner invents.
    pub(super) fn new_item(&mut self, kind: ItemKind) -> u16 {
        self.items.push(RangeItem {
            alias: "".into(),
            kind,
            columns: Vec::new(),
            expansion: None,
            row: ColumnType::RECORD,
        });
        self.needed.push(Vec::new());
        (self.items.len() - 1) as u16
    }

    /// Notes the columns an expression reads, those read by its sub-queries included.
    pub(super) fn need(&mut self, expr: &Expr) {
        let needed = &mut self.needed;
        let mut called = Vec::new();
        let mut note = |expr: &Expr| {
            if let Expr::Variable { relation, column, .. } = expr {
                let columns = &mut needed[*relation as usize];
                if !columns.contains(column) {
                    columns.push(*column);
                }
            }
        };
        expr.visit(&mut |inner| note(inner));
        collect_subplans(expr, &mut called);
        if !called.is_empty() {
            visit_called(&called, &mut self.items, &mut self.subqueries, &mut |expr| {
                expr.visit(&mut |inner| note(inner));
            });
        }
    }

    /// Notes what the inside of a derived table or function call reads of its neighbours.
    pub(super) fn need_lateral(&mut self, item: u16) {
        let needed = &mut self.needed;
        visit_item(item, &mut self.items, &mut self.subqueries, &mut |expr| {
            expr.visit(&mut |inner| {
                if let Expr::Variable { relation, column, .. } = inner {
                    let columns = &mut needed[*relation as usize];
                    if !columns.contains(column) {
                        columns.push(*column);
                    }
                }
            });
        });
    }

    /// The items an expression reads, directly or through its sub-queries.
    pub(super) fn items_read(&mut self, expr: &Expr) -> Vec<u16> {
        let mut read = Vec::new();
        let mut note = |expr: &Expr| {
            if let Expr::Variable { relation, .. } = expr
                && !read.contains(relation)
            {
                read.push(*relation);
            }
        };
        expr.visit(&mut |inner| note(inner));
        let mut called = Vec::new();
        collect_subplans(expr, &mut called);
        if !called.is_empty() {
            visit_called(&called, &mut self.items, &mut self.subqueries, &mut |expr| {
                expr.visit(&mut |inner| note(inner));
            });
        }
        read
    }

    /// The items that the inside of a FROM item reads.
    pub(super) fn items_read_inside(&mut self, item: u16) -> Vec<u16> {
        let mut read = Vec::new();
        visit_item(item, &mut self.items, &mut self.subqueries, &mut |expr| {
            expr.visit(&mut |inner| {
                if let Expr::Variable { relation, .. } = inner
                    && !read.contains(relation)
                {
                    read.push(*relation);
                }
            });
        });
        read
    }

    /// Plans the sub-queries of an expression and turns variables of the layout into positions.
    pub(super) fn resolve(&mut self, expr: &mut Expr, layout: &[Slot]) -> SqlResult<()> {
        if expr.contains_subplan() {
            self.plan_subqueries(expr)?;
        }
        expr.rewrite(&mut |inner| match inner {
            Expr::Variable {
                relation, column, ty, ..
            } => layout
                .iter()
                .position(|slot| *slot == (*relation, *column))
                .map(|index| Expr::Column {
                    index: index as u16,
                    ty: *ty,
                }),
            _ => None,
        });
        Ok(())
    }

    fn plan_subqueries(&mut self, expr: &mut Expr) -> SqlResult<()> {
        let mut result = Ok(());
        expr.for_each_child_mut(&mut |child| {
            if result.is_ok() {
                result = self.plan_subqueries(child);
            }
        });
        result?;
        if let Expr::SubPlan(call) = expr {
            let exists = matches!(call.kind, mote_sql::expr::SubPlanKind::Exists);
            let planned = self.plan_subquery(call.plan, exists)?;
            call.plan = planned.plan;
            call.bindings = planned.bindings;
        }
        Ok(())
    }

    fn plan_subquery(&mut self, number: u16, exists: bool) -> SqlResult<PlannedSubquery> {
        if let Some(planned) = &self.planned[number as usize] {
            return Ok(planned.clone());
        }
        let query = self.subqueries[number as usize].take();
        let mut query = query.ok_or_else(|| SqlError::internal("a sub-query is planned twice"))?;
        if exists && query.distinct.is_none() && query.has_plain_rows() {
            query.targets.clear();
            query.order_by.clear();
        }
        let marks = std::mem::replace(&mut self.marks, false);
        let planned = self.query(query, false);
        self.marks = marks;
        let mut node = planned?.node;
        let bindings = self.bind_free(&mut node, &mut |_| true);
        let planned = PlannedSubquery {
            plan: self.subplans.len() as u16,
            bindings,
        };
        self.subplans.push(node);
        self.planned[number as usize] = Some(planned.clone());
        Ok(planned)
    }

    /// Turns the variables of `accept`ed items that a tree still has into execution parameters.
    pub(super) fn bind_free(
        &mut self,
        node: &mut Node,
        accept: &mut dyn FnMut(u16) -> bool,
    ) -> Vec<(ExecParameterId, Expr)> {
        let mut bindings: Vec<(ExecParameterId, Expr)> = Vec::new();
        let next = &mut self.next_parameter;
        node.visit_exprs_mut(&mut |root| {
            root.rewrite(&mut |expr| {
                let Expr::Variable { relation, ty, .. } = expr else {
                    return None;
                };
                if !accept(*relation) {
                    return None;
                }
                let known = bindings
                    .iter()
                    .find(|(_, bound)| bound.same(expr))
                    .map(|(id, _)| *id);
                let id = known.unwrap_or_else(|| {
                    let id = ExecParameterId(*next);
                    *next += 1;
                    bindings.push((id, expr.clone()));
                    id
                });
                Some(Expr::ExecParameter { id, ty: *ty })
            });
        });
        bindings
    }

    /// The type of an item's column, special ones included.
    pub(super) fn column_type(&self, item: u16, column: u16) -> ColumnType {
        match column {
            ROW_MARK => ColumnType::INT8,
            CTID => ColumnType::new(oid::TID),
            XMIN | XMAX => ColumnType::new(oid::XID),
            TABLE_OID => ColumnType::OID,
            mote_sql::bind::query::WHOLE_ROW => match &self.items[item as usize].kind {
                ItemKind::Relation(relation) => relation.row_value_type(),
                _ => self.items[item as usize].row,
            },
            _ => {
                let item = &self.items[item as usize];
                match &item.kind {
                    ItemKind::Relation(relation) => relation.columns[column as usize].ty,
                    _ => item
                        .columns
                        .get(column as usize)
                        .map_or(ColumnType::UNKNOWN, |column| column.ty),
                }
            }
        }
    }
}
