//! Histories of transactions as clients saw them, and what isolation levels forbid in them.
//!
//! Read in this order:
//!  1. this file: what a history is.
//!  2. `infer`: anomalies of single reads, and the dependencies between transactions.
//!  3. `graph`: components and shortest cycles.
//!  4. `check`: the anomalies' names, and which level forbids which.
//!
//! The theory is Adya's, the inference from lists Elle's: every written value is unique, so a value that is read names
//! the transaction that wrote it. Promises: an anomaly that is reported happened, given that the history is what the
//! clients were told. Leaves out: predicates (phantoms are seen only as keys that do not exist yet), real time, sessions.

pub mod check;
pub mod graph;
pub mod infer;

pub type Key = u64;
/// Unique over the whole history. 0 is a register's first value, which no transaction wrote.
pub type Value = u64;

/// How many values a transaction may write: its number and the write's number make the value.
pub const WRITES_MAX: u64 = 64;

/// The value that a transaction writes.
pub fn value_of(transaction: u64, write: u64) -> Value {
    assert!(
        write < WRITES_MAX,
        "a transaction writes at most {WRITES_MAX} values"
    );
    transaction * WRITES_MAX + write
}

#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// A list as it was read; empty where the key does not exist.
    ReadList {
        key: Key,
        list: Vec<Value>,
    },
    Append {
        key: Key,
        value: Value,
    },
    ReadRegister {
        key: Key,
        value: Value,
    },
    /// `replaced` is what the server says stood there before.
    Write {
        key: Key,
        value: Value,
        replaced: Value,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Committed,
    Aborted,
    /// The connection was lost after COMMIT was sent.
    Unknown,
}

/// One attempt of a client.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// Unique, from 1.
    pub id: u64,
    /// What was acknowledged, in order.
    pub operations: Vec<Operation>,
    pub outcome: Outcome,
    /// Reads everything after all others have ended.
    pub is_final: bool,
}
