//! From a history to dependencies between committed transactions, and to anomalies that single reads show.
//!
//! A key's versions are ordered by what was read: for lists the longest one (all others must be its beginnings), for
//! registers what each write says it replaced. Then, for a version `v` and the one after it: whoever wrote them depends
//! by ww, whoever read `v` depends on its writer by wr, and the next writer depends on the reader by rw.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Key, Operation, Outcome, Transaction, Value, WRITES_MAX};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dependency {
    /// The second overwrote the first's version.
    WriteWrite,
    /// The second read the first's version.
    WriteRead,
    /// The second overwrote the version that the first read.
    ReadWrite,
}

/// An edge between transactions, with the key that makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub kind: Dependency,
    pub key: Key,
}

/// What a single read or write shows to be wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Flaw {
    pub kind: FlawKind,
    /// Transactions by id.
    pub transactions: Vec<u64>,
    pub what: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlawKind {
    /// G1a.
    AbortedRead,
    /// G1b.
    IntermediateRead,
    /// A transaction does not see its own writes.
    Internal,
    /// Two reads of a key cannot both come from one order of its versions.
    IncompatibleOrder,
    /// An acknowledged write is nowhere in the key's versions.
    LostWrite,
    /// A value that nobody wrote, or that stands twice.
    Garbage,
}

/// What a history says.
pub struct Inference {
    /// Ids of the committed transactions: the edges' nodes are positions here.
    pub committed: Vec<u64>,
    pub edges: Vec<Edge>,
    pub flaws: Vec<Flaw>,
}

pub fn infer(history: &[Transaction]) -> Inference {
    let mut inferrer = Inferrer::new(history);
    inferrer.check_reads();
    let orders = inferrer.orders();
    inferrer.check_lost_writes(&orders);
    inferrer.dependencies(&orders);
    inferrer.result
}

struct Inferrer<'a> {
    history: &'a [Transaction],
    /// Position in the history by id.
    by_id: HashMap<u64, usize>,
    /// Position in `committed` by id.
    nodes: HashMap<u64, usize>,
    /// Last write of each transaction to each key.
    last_writes: HashMap<(u64, Key), Value>,
    written: BTreeSet<(Key, Value)>,
    result: Inference,
}

/// By key: the versions that committed transactions wrote, in order, without the first.
type Orders = BTreeMap<Key, Vec<Value>>;

fn writer(value: Value) -> u64 {
    value / WRITES_MAX
}

impl<'a> Inferrer<'a> {
    fn new(history: &'a [Transaction]) -> Inferrer<'a> {
        let mut by_id = HashMap::new();
        let mut last_writes = HashMap::new();
        let mut written = BTreeSet::new();
        for (position, transaction) in history.iter().enumerate() {
            by_id.insert(transaction.id, position);
            for operation in &transaction.operations {
                if let Operation::Append { key, value } | Operation::Write { key, value, .. } = operation {
                    last_writes.insert((transaction.id, *key), *value);
                    written.insert((*key, *value));
                }
            }
        }
        let committed: Vec<u64> = committed(history).into_iter().collect();
        Inferrer {
            history,
            by_id,
            nodes: committed
                .iter()
                .enumerate()
                .map(|(node, id)| (*id, node))
                .collect(),
            last_writes,
            written,
            result: Inference {
                committed,
                edges: Vec::new(),
                flaws: Vec::new(),
            },
        }
    }

    fn flaw(&mut self, kind: FlawKind, transactions: Vec<u64>, what: String) {
        self.result.flaws.push(Flaw {
            kind,
            transactions,
            what,
        });
    }

    fn is_committed(&self, id: u64) -> bool {
        self.nodes.contains_key(&id)
    }

    fn check_reads(&mut self) {
        let history = self.history;
        for transaction in history {
            if !self.is_committed(transaction.id) {
                continue;
            }
            let mut own: BTreeMap<Key, Vec<Value>> = BTreeMap::new();
            for operation in &transaction.operations {
                match operation {
                    Operation::Append { key, value } | Operation::Write { key, value, .. } => {
                        own.entry(*key).or_default().push(*value);
                    }
                    Operation::ReadList { key, list } => {
                        self.check_list(transaction.id, *key, list, own.get(key));
                    }
                    Operation::ReadRegister { key, value } => {
                        self.check_version(transaction.id, *key, *value);
                        let last = own.get(key).and_then(|values| values.last());
                        if last.is_some_and(|last| last != value) {
                            let what = format!("read {value} of key {key} after writing {last:?}");
                            self.flaw(FlawKind::Internal, vec![transaction.id], what);
                        }
                    }
                }
            }
        }
    }

    fn check_list(&mut self, reader: u64, key: Key, list: &[Value], own: Option<&Vec<Value>>) {
        let distinct: BTreeSet<Value> = list.iter().copied().collect();
        if distinct.len() != list.len() {
            let what = format!("read {list:?} of key {key}: a value stands twice");
            self.flaw(FlawKind::Garbage, vec![reader], what);
        }
        for value in list {
            self.check_source(reader, key, *value);
        }
        if let Some(last) = list.last() {
            self.check_intermediate(reader, key, *last);
        }
        if own.is_some_and(|own| !list.ends_with(own)) {
            let what = format!(
                "read {list:?} of key {key} after appending {:?}",
                own.expect("there")
            );
            self.flaw(FlawKind::Internal, vec![reader], what);
        }
    }

    fn check_version(&mut self, reader: u64, key: Key, value: Value) {
        if value != 0 {
            self.check_source(reader, key, value);
            self.check_intermediate(reader, key, value);
        }
    }

    fn check_source(&mut self, reader: u64, key: Key, value: Value) {
        let source = writer(value);
        if !self.written.contains(&(key, value)) {
            // A write whose answer was lost: its transaction did not go on, and is known by its number alone.
            let known = self.by_id.get(&source).map(|position| &self.history[*position]);
            if known.is_none_or(|transaction| transaction.outcome == Outcome::Committed) {
                let what = format!("read {value} of key {key}, which nobody wrote");
                self.flaw(FlawKind::Garbage, vec![reader], what);
                return;
            }
        }
        if source != reader && !self.is_committed(source) {
            let what = format!("read {value} of key {key}, written by T{source}, which was rolled back");
            self.flaw(FlawKind::AbortedRead, vec![reader, source], what);
        }
    }

    fn check_intermediate(&mut self, reader: u64, key: Key, value: Value) {
        let source = writer(value);
        let last = self.last_writes.get(&(source, key)).copied();
        if source != reader && last.is_some_and(|last| last != value) {
            let what = format!(
                "read {value} of key {key}, which T{source} wrote before {}",
                last.expect("there")
            );
            self.flaw(FlawKind::IntermediateRead, vec![reader, source], what);
        }
    }

    fn orders(&mut self) -> Orders {
        let mut orders = self.list_orders();
        orders.append(&mut self.register_orders());
        for versions in orders.values_mut() {
            versions.retain(|value| self.nodes.contains_key(&writer(*value)));
        }
        orders
    }

    /// The longest list of each key; every other one must be its beginning.
    fn list_orders(&mut self) -> Orders {
        let mut longest: BTreeMap<Key, (u64, &[Value])> = BTreeMap::new();
        let mut reads = Vec::new();
        for transaction in self.history.iter().filter(|t| self.nodes.contains_key(&t.id)) {
            for operation in &transaction.operations {
                if let Operation::ReadList { key, list } = operation {
                    reads.push((transaction.id, *key, list.as_slice()));
                    let best = longest.entry(*key).or_insert((transaction.id, list));
                    if list.len() > best.1.len() {
                        *best = (transaction.id, list);
                    }
                }
            }
        }
        for (reader, key, list) in reads {
            let (other, order) = longest[&key];
            if !order.starts_with(list) {
                let what = format!("key {key} was read as {list:?} and as {order:?}");
                self.flaw(FlawKind::IncompatibleOrder, vec![reader, other], what);
            }
        }
        longest
            .into_iter()
            .map(|(key, (_, list))| (key, list.to_vec()))
            .collect()
    }

    /// The chain of replacements from 0 on.
    fn register_orders(&mut self) -> Orders {
        let mut next: BTreeMap<(Key, Value), Value> = BTreeMap::new();
        let mut twice = Vec::new();
        for transaction in self.history.iter().filter(|t| self.nodes.contains_key(&t.id)) {
            for operation in &transaction.operations {
                if let Operation::Write { key, value, replaced } = operation
                    && let Some(other) = next.insert((*key, *replaced), *value)
                {
                    twice.push((*key, *replaced, other, *value));
                }
            }
        }
        for (key, replaced, one, other) in twice {
            let what = format!("value {replaced} of key {key} was replaced by {one} and by {other}");
            self.flaw(
                FlawKind::IncompatibleOrder,
                vec![writer(one), writer(other)],
                what,
            );
        }
        let keys: BTreeSet<Key> = next.keys().map(|(key, _)| *key).collect();
        let chain = |key: Key| {
            let mut versions = Vec::new();
            let mut at = 0;
            // Values are unique, but a broken server may close a circle.
            while let Some(value) = next.get(&(key, at)).filter(|_| versions.len() <= next.len()) {
                versions.push(*value);
                at = *value;
            }
            (key, versions)
        };
        keys.into_iter().map(chain).collect()
    }

    /// Of keys whose final state was read, or of registers: every committed write must be among the versions.
    fn check_lost_writes(&mut self, orders: &Orders) {
        let finals: BTreeMap<Key, BTreeSet<Value>> = self
            .history
            .iter()
            .filter(|transaction| transaction.is_final)
            .flat_map(|transaction| &transaction.operations)
            .filter_map(|operation| match operation {
                Operation::ReadList { key, list } => Some((*key, list.iter().copied().collect())),
                _ => None,
            })
            .collect();
        let history = self.history;
        for transaction in history {
            if transaction.outcome != Outcome::Committed {
                continue;
            }
            for operation in &transaction.operations {
                let lost = match operation {
                    Operation::Append { key, value } => finals
                        .get(key)
                        .is_some_and(|list| !list.contains(value))
                        .then_some((key, value)),
                    Operation::Write { key, value, .. } => orders
                        .get(key)
                        .is_none_or(|versions| !versions.contains(value))
                        .then_some((key, value)),
                    _ => None,
                };
                if let Some((key, value)) = lost {
                    let what = format!("the acknowledged write of {value} to key {key} is in no version");
                    self.flaw(FlawKind::LostWrite, vec![transaction.id], what);
                }
            }
        }
    }

    fn edge(&mut self, from: u64, to: u64, kind: Dependency, key: Key) {
        if from == to {
            return;
        }
        if let (Some(&from), Some(&to)) = (self.nodes.get(&from), self.nodes.get(&to)) {
            self.result.edges.push(Edge { from, to, kind, key });
        }
    }

    fn dependencies(&mut self, orders: &Orders) {
        let mut place: HashMap<(Key, Value), usize> = HashMap::new();
        for (key, versions) in orders {
            for (at, value) in versions.iter().enumerate() {
                place.insert((*key, *value), at);
            }
            for pair in versions.windows(2) {
                self.edge(writer(pair[0]), writer(pair[1]), Dependency::WriteWrite, *key);
            }
        }
        let history = self.history;
        let mut readers = Vec::new();
        for transaction in history {
            for operation in &transaction.operations {
                let (key, version) = match operation {
                    // Versions of aborted transactions are none: what was read is the last committed one.
                    Operation::ReadList { key, list } => {
                        let seen = list.iter().rev().find(|value| self.is_committed(writer(**value)));
                        (*key, seen.copied().unwrap_or(0))
                    }
                    Operation::ReadRegister { key, value } => (*key, *value),
                    _ => continue,
                };
                readers.push((transaction.id, key, version));
            }
        }
        for (reader, key, version) in readers {
            let next = if version == 0 {
                Some(0)
            } else {
                self.edge(writer(version), reader, Dependency::WriteRead, key);
                place.get(&(key, version)).map(|at| at + 1)
            };
            let follower = next.and_then(|at| orders.get(&key)?.get(at).copied());
            if let Some(follower) = follower {
                self.edge(reader, writer(follower), Dependency::ReadWrite, key);
            }
        }
    }
}

/// Committed for certain, or seen by somebody who is.
fn committed(history: &[Transaction]) -> BTreeSet<u64> {
    let unknown: BTreeSet<u64> = history
        .iter()
        .filter(|transaction| transaction.outcome == Outcome::Unknown)
        .map(|transaction| transaction.id)
        .collect();
    let mut committed: BTreeSet<u64> = BTreeSet::new();
    let mut fresh: Vec<&Transaction> = history
        .iter()
        .filter(|transaction| transaction.outcome == Outcome::Committed)
        .collect();
    let by_id: HashMap<u64, &Transaction> = history.iter().map(|t| (t.id, t)).collect();
    while let Some(transaction) = fresh.pop() {
        if !committed.insert(transaction.id) {
            continue;
        }
        for operation in &transaction.operations {
            let seen: Vec<Value> = match operation {
                Operation::ReadList { list, .. } => list.clone(),
                Operation::ReadRegister { value, .. } => vec![*value],
                Operation::Write { replaced, .. } => vec![*replaced],
                Operation::Append { .. } => Vec::new(),
            };
            for source in seen.into_iter().map(writer).filter(|id| unknown.contains(id)) {
                fresh.push(by_id[&source]);
            }
        }
    }
    committed
}
