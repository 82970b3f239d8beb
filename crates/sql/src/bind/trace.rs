//! What became of each node of a query's tree, for who writes the query out again with all that binding has found out.
//!
//! A node is known by its place in the text and its form: no two nodes of one form begin at one place. Texts of the catalog that
//! are bound on the way (views, rules of domains, defaults) have the same places, and are not noted.
//!
//! Every node keeps what is below it, so that a deep tree over a long list would keep the list as often as it is deep: what is kept
//! has a bound ([`TRACED_NODES_MAX`]), beyond which there is no trace.
//!
//! Leaves out: what is done with it (`query_text`).

use std::mem::{Discriminant, discriminant};

use hashbrown::HashMap;
use mote_common::SqlResult;
use mote_grammar::ast;
use mote_grammar::ast::{ExprKind, Location, Name};

use super::Binder;
use super::query::RangeItem;
use crate::catalog::CatalogView;
use crate::expr::{AggregateCall, Expr, WindowCall};

/// Expressions that one trace keeps, each as often as it stands in one that is noted: some 15 MB, and as many milliseconds.
const TRACED_NODES_MAX: u32 = 100_000;

#[derive(Default)]
pub struct Trace {
    /// Expressions that are kept so far.
    nodes: u32,
    exprs: HashMap<(i32, Discriminant<ExprKind>), Expr>,
    aggregates: HashMap<i32, AggregateCall>,
    windows: HashMap<i32, WindowCall>,
    sets: HashMap<i32, Expr>,
    items: HashMap<i32, u16>,
    stars: HashMap<i32, Vec<(Name, Expr)>>,
    naturals: HashMap<i32, Vec<Name>>,
    /// The FROM items of the whole query, by their numbers.
    pub range: Vec<RangeItem>,
    /// The types of what the query yields.
    pub output: Vec<mote_types::ColumnType>,
}

impl Trace {
    /// Whether there is room for these, too.
    fn takes<'e>(&mut self, exprs: impl Iterator<Item = &'e Expr>) -> bool {
        for expr in exprs {
            let over = expr.any(&mut |_| {
                self.nodes += 1;
                self.nodes > TRACED_NODES_MAX
            });
            if over {
                return false;
            }
        }
        true
    }

    /// What the node means by itself, before anybody has converted it.
    pub fn expr(&self, node: &ast::Expr) -> Option<&Expr> {
        self.exprs.get(&(node.location.0, discriminant(&node.kind)))
    }

    pub fn aggregate(&self, call: &ast::FunctionCall) -> Option<&AggregateCall> {
        self.aggregates.get(&call.location.0)
    }

    pub fn window(&self, call: &ast::FunctionCall) -> Option<&WindowCall> {
        self.windows.get(&call.location.0)
    }

    pub fn set(&self, call: &ast::FunctionCall) -> Option<&Expr> {
        self.sets.get(&call.location.0)
    }

    /// The number of the FROM item that begins there.
    pub fn item(&self, location: Location) -> Option<u16> {
        self.items.get(&location.0).copied()
    }

    /// The columns that a star stands for.
    pub fn star(&self, location: Location) -> Option<&[(Name, Expr)]> {
        self.stars.get(&location.0).map(Vec::as_slice)
    }

    /// The columns that NATURAL compares, by the place where the join's right side begins.
    pub fn natural(&self, location: Location) -> Option<&[Name]> {
        self.naturals.get(&location.0).map(Vec::as_slice)
    }
}

/// Binds a query and tells what became of its nodes; `None` where that is too much.
pub fn trace_query(query: &ast::Query, catalog: &dyn CatalogView) -> SqlResult<Option<Trace>> {
    let mut binder = Binder::new(catalog, "", &[]);
    binder.trace = Some(Box::default());
    let bound = binder.query(query)?;
    Ok(binder.trace.take().map(|mut trace| {
        trace.output = bound.targets.iter().map(|target| target.expr.ty()).collect();
        trace.range = binder.items;
        *trace
    }))
}

impl Binder<'_> {
    /// The trace, if it has room for these. One that has none ends here.
    fn trace_of<'e>(&mut self, exprs: impl Iterator<Item = &'e Expr>) -> Option<&mut Trace> {
        if !self.trace.as_mut()?.takes(exprs) {
            self.trace = None;
        }
        self.trace.as_deref_mut()
    }

    pub(super) fn trace_expression(&mut self, node: &ast::Expr, bound: &Expr) {
        if let Some(trace) = self.trace_of(std::iter::once(bound)) {
            let key = (node.location.0, discriminant(&node.kind));
            trace.exprs.insert(key, bound.clone());
        }
    }

    pub(super) fn trace_item(&mut self, location: Location, number: u16) {
        if let Some(trace) = self.trace.as_deref_mut() {
            trace.items.insert(location.0, number);
        }
    }

    pub(super) fn trace_natural(&mut self, right: Location, columns: &[Name]) {
        if let Some(trace) = self.trace.as_deref_mut() {
            trace.naturals.insert(right.0, columns.to_vec());
        }
    }

    pub(super) fn trace_star(&mut self, location: Location, columns: &[(Name, Expr)]) {
        if let Some(trace) = self.trace_of(columns.iter().map(|column| &column.1)) {
            trace.stars.insert(location.0, columns.to_vec());
        }
    }

    pub(super) fn trace_aggregate(&mut self, location: Location, call: &AggregateCall) {
        if let Some(trace) = self.trace_of(call.arguments.iter().chain(&call.filter)) {
            trace.aggregates.insert(location.0, call.clone());
        }
    }

    pub(super) fn trace_window(&mut self, location: Location, call: &WindowCall) {
        if let Some(trace) = self.trace_of(call.arguments.iter().chain(&call.filter)) {
            trace.windows.insert(location.0, call.clone());
        }
    }

    pub(super) fn trace_set(&mut self, location: Location, call: &Expr) {
        if let Some(trace) = self.trace_of(std::iter::once(call)) {
            trace.sets.insert(location.0, call.clone());
        }
    }
}
