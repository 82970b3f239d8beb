//! How a table is partitioned, and the bounds of a partition.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredPartitioning {
    pub strategy: StoredStrategy,
    pub keys: Vec<StoredPartitionKey>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StoredStrategy {
    List,
    Range,
    Hash,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredPartitionKey {
    /// Position of the column, or None for an expression.
    pub column: Option<u16>,
    #[serde(default)]
    pub expression: Option<String>,
    pub type_oid: u32,
    pub typmod: i32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredPartition {
    pub bound: StoredBound,
    /// DETACH .. CONCURRENTLY has begun: no statement that begins now sees the partition.
    #[serde(default)]
    pub detach_pending: bool,
}

/// Values are in the text form of the key's type, under the default settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StoredBound {
    Default,
    /// None is NULL.
    List(Vec<Option<String>>),
    Range {
        from: Vec<StoredRangeDatum>,
        to: Vec<StoredRangeDatum>,
    },
    Hash {
        modulus: u32,
        remainder: u32,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StoredRangeDatum {
    MinValue,
    Value(String),
    MaxValue,
}
