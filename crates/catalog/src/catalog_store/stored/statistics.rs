//! What ANALYZE found out about a table's columns.

use mote_common::Oid;
use serde::{Deserialize, Serialize};

use crate::catalog_store::revision::Revision;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredStatistics {
    pub table: u32,
    /// The rows there were, without those of the tables below.
    pub rows: f64,
    /// Timestamp of the snapshot they were counted in: rows of later commits have changed.
    #[serde(default)]
    pub analyzed_at: u64,
    /// Of the table's own rows.
    #[serde(default)]
    pub columns: Vec<StoredColumnStatistics>,
    /// Of its rows and those of all tables below it.
    #[serde(default)]
    pub inherited: Vec<StoredColumnStatistics>,
    #[serde(skip)]
    pub revision: Revision,
}

impl StoredStatistics {
    /// Nothing is known yet.
    pub fn new(table: Oid) -> StoredStatistics {
        StoredStatistics {
            table: table.0,
            rows: 0.0,
            analyzed_at: 0,
            columns: Vec::new(),
            inherited: Vec::new(),
            revision: Revision::default(),
        }
    }
}

/// Fields are those of `ColumnStatistics`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StoredColumnStatistics {
    /// Attribute number - 1.
    pub position: u16,
    pub type_oid: u32,
    pub null_fraction: f32,
    pub width: i32,
    pub distinct: f32,
    #[serde(default)]
    pub common: Vec<String>,
    #[serde(default)]
    pub frequencies: Vec<f32>,
    #[serde(default)]
    pub histogram: Vec<String>,
    #[serde(default)]
    pub correlation: Option<f32>,
}
