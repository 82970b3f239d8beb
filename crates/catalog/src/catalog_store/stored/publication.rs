//! Publications: which tables' changes are for subscribers (docs/design/0061).

use serde::{Deserialize, Serialize};

use crate::catalog_store::revision::Revision;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredPublication {
    pub oid: u32,
    pub database: u32,
    pub name: String,
    pub owner: u32,
    pub all_tables: bool,
    /// In the order they were added. Empty with `all_tables`.
    #[serde(default)]
    pub tables: Vec<StoredPublished>,
    pub operations: StoredOperations,
    /// Changes of partitions are told as changes of the partitioned table.
    #[serde(default)]
    pub via_root: bool,
    #[serde(default)]
    pub comment: Option<String>,
    #[serde(skip)]
    pub revision: Revision,
}

/// A table in a publication: a row of pg_publication_rel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredPublished {
    pub oid: u32,
    pub relation: u32,
    /// Positions, ascending; None: all columns, also those that are added later.
    #[serde(default)]
    pub columns: Option<Vec<u16>>,
}

/// `publish`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredOperations {
    pub insert: bool,
    pub update: bool,
    pub delete: bool,
    pub truncate: bool,
}

impl StoredOperations {
    pub const ALL: StoredOperations = StoredOperations {
        insert: true,
        update: true,
        delete: true,
        truncate: true,
    };
    pub const NONE: StoredOperations = StoredOperations {
        insert: false,
        update: false,
        delete: false,
        truncate: false,
    };
}

impl StoredPublication {
    pub fn member(&self, relation: u32) -> Option<&StoredPublished> {
        self.tables.iter().find(|member| member.relation == relation)
    }
}
