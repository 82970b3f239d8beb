//! Plans that count what they do: what EXPLAIN ANALYZE runs.
//!
//! A measured plan is a copy of the statement's plan with a [`Measured`] around every node that EXPLAIN shows, so that
//! plans that are not measured know nothing of it (docs/design/0042). The executor fills a [`Measurement`] for each
//! number, and `explain` shows them beside the nodes.
//!
//! Invariant: a node that EXPLAIN shows as part of the one below it ([`shown_with_input`]) is wrapped together with it.

use super::QueryPlan;
use super::node::{Measured, Node};

/// What was counted of one node, over all its loops. A loop begins with the first row asked for after a reset.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
pub struct Measurement {
    pub loops: u64,
    pub rows: u64,
    /// Until the first row of each loop, the time of the nodes below included.
    pub startup_ns: u64,
    pub total_ns: u64,
    pub observed: Observed,
}

/// What a node can tell of its own run.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Observed {
    pub removed_by_filter: u64,
    pub removed_by_join_filter: u64,
    /// The most that its rows have taken: sorts and hash tables.
    pub memory_bytes: usize,
    /// A sort that kept only the best of its rows.
    pub cut: bool,
}

/// The calls of one trigger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriggerRun {
    pub name: String,
    /// A constraint trigger: its constraint bears the same name.
    pub constraint: bool,
    pub relation: String,
    pub calls: u64,
    pub total_ns: u64,
}

/// What a run of a measured plan has counted.
#[derive(Clone, Default, Debug)]
pub struct Measurements {
    pub nodes: Vec<Measurement>,
    pub triggers: Vec<TriggerRun>,
    pub timed: bool,
}

impl Measurements {
    /// A trigger's function has run once more.
    pub fn note_trigger(&mut self, name: &str, constraint: bool, relation: &str, passed_ns: u64) {
        let runs = &mut self.triggers;
        let known = runs.binary_search_by(|run| (&*run.relation, &*run.name).cmp(&(relation, name)));
        let at = known.unwrap_or_else(|at| {
            let first = TriggerRun {
                name: name.to_owned(),
                constraint,
                relation: relation.to_owned(),
                calls: 0,
                total_ns: 0,
            };
            runs.insert(at, first);
            at
        });
        runs[at].calls += 1;
        runs[at].total_ns += passed_ns;
    }
}

/// How many nodes of a measured plan are counted.
pub fn nodes_of(measured: &QueryPlan) -> usize {
    let mut count = 0;
    let trees = measured
        .ctes
        .iter()
        .map(|cte| &cte.node)
        .chain(&measured.subplans);
    trees
        .chain([&measured.root])
        .for_each(|node| count_measured(node, &mut count));
    count
}

fn count_measured(node: &Node, count: &mut usize) {
    *count += usize::from(matches!(node, Node::Measured(_)));
    node.for_each_input(&mut |input| count_measured(input, count));
}

/// The plan with every node measured.
pub fn measured(query: &QueryPlan, timed: bool) -> QueryPlan {
    let mut query = query.clone();
    let mut wrapper = Wrapper { timed, count: 0 };
    wrapper.wrap(&mut query.root);
    query.ctes.iter_mut().for_each(|cte| wrapper.wrap(&mut cte.node));
    query.subplans.iter_mut().for_each(|node| wrapper.wrap(node));
    query
}

struct Wrapper {
    timed: bool,
    count: u32,
}

impl Wrapper {
    fn wrap(&mut self, node: &mut Node) {
        self.wrap_inputs(node);
        let input = std::mem::replace(node, Node::Empty { width: 0 });
        *node = Node::Measured(Box::new(Measured {
            number: self.count,
            timed: self.timed,
            input,
        }));
        self.count += 1;
    }

    fn wrap_inputs(&mut self, node: &mut Node) {
        let folded = shown_with_input(node);
        node.for_each_input_mut(&mut |input| match folded {
            true => self.wrap_inputs(input),
            false => self.wrap(input),
        });
    }
}

/// Whether EXPLAIN shows the node as part of its input: a projection, and a condition on what a join or an aggregate yields.
pub fn shown_with_input(node: &Node) -> bool {
    match node {
        Node::Project { .. } => true,
        Node::Filter { input, .. } => takes_filter(input),
        _ => false,
    }
}

fn takes_filter(node: &Node) -> bool {
    match node {
        Node::Project { input, .. } | Node::Filter { input, .. } => takes_filter(input),
        Node::Aggregate(_) | Node::NestedLoop(_) | Node::HashJoin(_) => true,
        _ => false,
    }
}
