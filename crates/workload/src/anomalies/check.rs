//! Names for what a history shows, and which isolation level forbids it.
//!
//! Cycles are looked for in growing sets of edges: ww (G0), ww and wr (G1c), then those with read-write edges. A cycle
//! without two consecutive rw edges cannot happen under snapshot isolation, whatever its length: it is G-single with one
//! rw edge, a long fork with more. What is left needs two consecutive ones: G2-item, write skew.
//!
//! For a proof of absence components are enough. For examples the shortest cycles are shown, a few of each kind.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use super::graph::Graph;
use super::infer::{Dependency, Edge, FlawKind, Inference, infer};
use super::{Operation, Transaction};

/// Examples kept of each kind of anomaly.
const EXAMPLES_MAX: usize = 5;
/// Nodes of a component from which a shortest cycle is searched.
const TRIES_MAX: usize = 200;
/// Read-write edges around which a cycle with this one alone is searched.
const SINGLE_TRIES_MAX: usize = 5_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Anomaly {
    G1a,
    G1b,
    Internal,
    IncompatibleOrder,
    LostWrite,
    Garbage,
    G0,
    G1c,
    LostUpdate,
    GSingle,
    LongFork,
    G2Item,
}

impl Anomaly {
    pub const ALL: [Anomaly; 12] = [
        Anomaly::G1a,
        Anomaly::G1b,
        Anomaly::Internal,
        Anomaly::IncompatibleOrder,
        Anomaly::LostWrite,
        Anomaly::Garbage,
        Anomaly::G0,
        Anomaly::G1c,
        Anomaly::LostUpdate,
        Anomaly::GSingle,
        Anomaly::LongFork,
        Anomaly::G2Item,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Anomaly::G1a => "G1a",
            Anomaly::G1b => "G1b",
            Anomaly::Internal => "internal",
            Anomaly::IncompatibleOrder => "incompatible-order",
            Anomaly::LostWrite => "lost-write",
            Anomaly::Garbage => "garbage",
            Anomaly::G0 => "G0",
            Anomaly::G1c => "G1c",
            Anomaly::LostUpdate => "lost-update",
            Anomaly::GSingle => "G-single",
            Anomaly::LongFork => "long-fork",
            Anomaly::G2Item => "G2-item",
        }
    }

    pub fn meaning(self) -> &'static str {
        match self {
            Anomaly::G1a => "read of a write that was rolled back",
            Anomaly::G1b => "read of a version that its writer replaced itself",
            Anomaly::Internal => "a transaction does not see its own writes",
            Anomaly::IncompatibleOrder => "no single order of a key's versions explains what was read",
            Anomaly::LostWrite => "an acknowledged write is in no version",
            Anomaly::Garbage => "a value that nobody wrote, or twice",
            Anomaly::G0 => "dirty write: a cycle of writes",
            Anomaly::G1c => "circular information flow",
            Anomaly::LostUpdate => "two transactions replaced what the first of them had read",
            Anomaly::GSingle => "read skew: a cycle with one anti-dependency",
            Anomaly::LongFork => "two readers saw two writes in opposite orders",
            Anomaly::G2Item => "write skew: a cycle of consecutive anti-dependencies",
        }
    }

    fn of_flaw(kind: FlawKind) -> Anomaly {
        match kind {
            FlawKind::AbortedRead => Anomaly::G1a,
            FlawKind::IntermediateRead => Anomaly::G1b,
            FlawKind::Internal => Anomaly::Internal,
            FlawKind::IncompatibleOrder => Anomaly::IncompatibleOrder,
            FlawKind::LostWrite => Anomaly::LostWrite,
            FlawKind::Garbage => Anomaly::Garbage,
        }
    }
}

/// By the name that the terminal shows and --expect takes.
impl Serialize for Anomaly {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    ReadCommitted,
    /// Snapshot isolation, as PostgreSQL's is.
    RepeatableRead,
    Serializable,
}

impl Level {
    /// As BEGIN names it.
    pub fn sql(self) -> &'static str {
        match self {
            Level::ReadCommitted => "read committed",
            Level::RepeatableRead => "repeatable read",
            Level::Serializable => "serializable",
        }
    }

    pub fn forbids(self, anomaly: Anomaly) -> bool {
        match anomaly {
            Anomaly::LostUpdate | Anomaly::GSingle | Anomaly::LongFork => self != Level::ReadCommitted,
            Anomaly::G2Item => self == Level::Serializable,
            _ => true,
        }
    }
}

/// One example of an anomaly.
#[derive(Clone, Debug, Serialize)]
pub struct Example {
    /// One line each: a read, or the steps of a cycle.
    pub steps: Vec<String>,
    /// The operations of the transactions that take part.
    pub transactions: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct Found {
    pub anomaly: Anomaly,
    pub forbidden: bool,
    /// Of flaws their number; of cycles how many were looked at, so at least so many.
    pub count: usize,
    pub examples: Vec<Example>,
}

#[derive(Debug, Serialize)]
pub struct Verdict {
    pub transactions: usize,
    pub committed: usize,
    /// Dependencies by kind: ww, wr, rw.
    pub dependencies: [usize; 3],
    pub found: Vec<Found>,
}

impl Verdict {
    pub fn has(&self, anomaly: Anomaly) -> bool {
        self.found.iter().any(|found| found.anomaly == anomaly)
    }

    /// Nothing that the level forbids.
    pub fn holds(&self) -> bool {
        !self.found.iter().any(|found| found.forbidden)
    }
}

/// Everything that the history shows, with what the level forbids marked.
pub fn check(history: &[Transaction], level: Level) -> Verdict {
    let inference = infer(history);
    let by_id: BTreeMap<u64, &Transaction> = history.iter().map(|t| (t.id, t)).collect();
    let mut found: BTreeMap<Anomaly, Found> = BTreeMap::new();
    let mut report = |anomaly: Anomaly, steps: Vec<String>, ids: BTreeSet<u64>| {
        let entry = found.entry(anomaly).or_insert_with(|| Found {
            anomaly,
            forbidden: level.forbids(anomaly),
            count: 0,
            examples: Vec::new(),
        });
        entry.count += 1;
        if entry.examples.len() < EXAMPLES_MAX {
            let shown = ids.iter().filter_map(|id| by_id.get(id)).map(|t| describe(t));
            entry.examples.push(Example {
                steps,
                transactions: shown.collect(),
            });
        }
    };
    for flaw in &inference.flaws {
        let ids = flaw.transactions.iter().copied().collect();
        report(Anomaly::of_flaw(flaw.kind), vec![flaw.what.clone()], ids);
    }
    for cycle in cycles(&inference) {
        let id = |node: usize| inference.committed[node];
        let steps = cycle.iter().map(|edge| step(edge, id(edge.from), id(edge.to)));
        let ids = cycle.iter().map(|edge| id(edge.from)).collect();
        report(name(&cycle), steps.collect(), ids);
    }
    let count = |kind| inference.edges.iter().filter(|edge| edge.kind == kind).count();
    Verdict {
        transactions: history.len(),
        committed: inference.committed.len(),
        dependencies: [
            Dependency::WriteWrite,
            Dependency::WriteRead,
            Dependency::ReadWrite,
        ]
        .map(count),
        found: found.into_values().collect(),
    }
}

/// What a cycle is called.
fn name(cycle: &[Edge]) -> Anomaly {
    let is_rw = |edge: &Edge| edge.kind == Dependency::ReadWrite;
    let anti = cycle.iter().filter(|edge| is_rw(edge)).count();
    let one_key = cycle.iter().all(|edge| edge.key == cycle[0].key);
    let consecutive = (0..cycle.len()).any(|at| is_rw(&cycle[at]) && is_rw(&cycle[(at + 1) % cycle.len()]));
    match anti {
        0 if cycle.iter().all(|edge| edge.kind == Dependency::WriteWrite) => Anomaly::G0,
        0 => Anomaly::G1c,
        1 if one_key && cycle.iter().all(|edge| edge.kind != Dependency::WriteRead) => Anomaly::LostUpdate,
        1 => Anomaly::GSingle,
        _ if consecutive => Anomaly::G2Item,
        _ => Anomaly::LongFork,
    }
}

/// Examples of cycles of every kind that there is.
fn cycles(inference: &Inference) -> Vec<Vec<Edge>> {
    let nodes = inference.committed.len();
    let graph = |wanted: &dyn Fn(&Edge) -> bool| {
        let mut graph = Graph::new(nodes);
        for edge in inference.edges.iter().filter(|edge| wanted(edge)) {
            graph.add(edge.from, edge.to, vec![*edge]);
        }
        graph
    };
    let writes = graph(&|edge| edge.kind == Dependency::WriteWrite);
    let flow = graph(&|edge| edge.kind != Dependency::ReadWrite);
    let everything = graph(&|_| true);
    let mut cycles = shortest(&writes);
    cycles.extend(shortest(&flow));
    // Nothing but cycles of everything can hold cycles of a part.
    let components = everything.components();
    if components.is_empty() {
        return cycles;
    }
    let mut member = vec![usize::MAX; nodes];
    for (number, component) in components.iter().enumerate() {
        component.iter().for_each(|node| member[*node] = number);
    }
    cycles.extend(with_one_anti_dependency(inference, &flow, &member));
    cycles.extend(shortest(&without_consecutive(inference, &flow)));
    cycles.extend(shortest(&everything));
    let mut seen = BTreeSet::new();
    cycles.retain(|cycle| {
        seen.insert(
            cycle
                .iter()
                .map(|e| (e.from, e.to, e.kind))
                .collect::<BTreeSet<_>>(),
        )
    });
    cycles
}

/// A shortest cycle of each component.
fn shortest(graph: &Graph<Vec<Edge>>) -> Vec<Vec<Edge>> {
    let components = graph.components();
    let cycles = components
        .iter()
        .filter_map(|component| graph.cycle_in(component, TRIES_MAX));
    cycles.map(flatten).collect()
}

fn flatten(steps: Vec<(usize, Vec<Edge>, usize)>) -> Vec<Edge> {
    steps.into_iter().flat_map(|(_, edges, _)| edges).collect()
}

/// Around rw edges: a way back through ww and wr alone.
fn with_one_anti_dependency(
    inference: &Inference,
    flow: &Graph<Vec<Edge>>,
    member: &[usize],
) -> Vec<Vec<Edge>> {
    let anti = inference.edges.iter().filter(|edge| {
        edge.kind == Dependency::ReadWrite
            && member[edge.from] != usize::MAX
            && member[edge.from] == member[edge.to]
    });
    let mut cycles = Vec::new();
    for edge in anti.take(SINGLE_TRIES_MAX) {
        let inside = |node: usize| member[node] == member[edge.from];
        if let Some(back) = flow.path(edge.to, edge.from, inside) {
            let mut cycle = vec![*edge];
            cycle.extend(flatten(back));
            cycles.push(cycle);
        }
    }
    cycles
}

/// Edges ww and wr, and each of them followed by one rw: its cycles are those without consecutive rw edges.
fn without_consecutive(inference: &Inference, flow: &Graph<Vec<Edge>>) -> Graph<Vec<Edge>> {
    let mut graph = Graph::new(flow.edges.len());
    let mut anti: Vec<Vec<Edge>> = vec![Vec::new(); flow.edges.len()];
    for edge in inference
        .edges
        .iter()
        .filter(|edge| edge.kind == Dependency::ReadWrite)
    {
        anti[edge.from].push(*edge);
    }
    for (from, edges) in flow.edges.iter().enumerate() {
        for (middle, label) in edges {
            graph.add(from, *middle, label.clone());
            for edge in anti[*middle].iter().filter(|edge| edge.to != from) {
                graph.add(from, edge.to, [label.as_slice(), &[*edge]].concat());
            }
        }
    }
    graph
}

fn step(edge: &Edge, from: u64, to: u64) -> String {
    let key = edge.key;
    match edge.kind {
        Dependency::WriteWrite => {
            format!("T{from} -ww-> T{to}: T{to} wrote over T{from}'s version of key {key}")
        }
        Dependency::WriteRead => format!("T{from} -wr-> T{to}: T{to} read T{from}'s version of key {key}"),
        Dependency::ReadWrite => {
            format!("T{from} -rw-> T{to}: T{to} wrote over the version of key {key} that T{from} read")
        }
    }
}

fn describe(transaction: &Transaction) -> String {
    let operation = |operation: &Operation| match operation {
        Operation::ReadList { key, list } => {
            let from = list.len().saturating_sub(8);
            let more = if from > 0 { ".., " } else { "" };
            let shown: Vec<String> = list[from..].iter().map(u64::to_string).collect();
            format!("read {key} [{more}{}]", shown.join(", "))
        }
        Operation::Append { key, value } => format!("append {key} {value}"),
        Operation::ReadRegister { key, value } => format!("read {key} = {value}"),
        Operation::Write { key, value, replaced } => format!("write {key} = {value} over {replaced}"),
    };
    let operations: Vec<String> = transaction.operations.iter().take(12).map(operation).collect();
    let more = if transaction.operations.len() > 12 {
        "; .."
    } else {
        ""
    };
    format!(
        "T{} {:?}: {}{more}",
        transaction.id,
        transaction.outcome,
        operations.join("; ")
    )
}

#[cfg(test)]
mod tests;
