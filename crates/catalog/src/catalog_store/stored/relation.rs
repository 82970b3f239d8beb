//! Tables, views and sequences: what they are, their columns, what they inherit.

use serde::{Deserialize, Serialize};

use super::acl::StoredAcl;
use super::column::StoredColumn;
use super::constraint::{StoredConstraint, StoredTrigger};
use super::index::StoredIndex;
use super::partition::{StoredPartition, StoredPartitioning};
use crate::catalog_store::revision::Revision;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum StoredKind {
    Table,
    View,
    MaterializedView,
    Sequence,
}

impl StoredKind {
    /// What messages call it.
    pub fn word(self) -> &'static str {
        match self {
            StoredKind::Table => "table",
            StoredKind::View => "view",
            StoredKind::MaterializedView => "materialized view",
            StoredKind::Sequence => "sequence",
        }
    }

    /// As the detail of a refusal says it: "This operation is not supported for views."
    pub fn not_supported(self) -> String {
        format!("This operation is not supported for {}s.", self.word())
    }

    /// Rows in a table of the engine.
    pub fn has_rows(self) -> bool {
        matches!(self, StoredKind::Table | StoredKind::MaterializedView)
    }

    /// Made from a query, which says what it depends on.
    pub fn has_query(self) -> bool {
        matches!(self, StoredKind::View | StoredKind::MaterializedView)
    }
}

/// What COMMIT does to a temporary table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum StoredOnCommit {
    #[default]
    PreserveRows,
    DeleteRows,
    Drop,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredRelation {
    pub oid: u32,
    pub schema: u32,
    pub name: String,
    pub kind: StoredKind,
    pub owner: u32,
    /// The engine's table; 0 = none.
    pub table: u32,
    #[serde(default)]
    pub columns: Vec<StoredColumn>,
    #[serde(default)]
    pub indexes: Vec<StoredIndex>,
    #[serde(default)]
    pub constraints: Vec<StoredConstraint>,
    #[serde(default)]
    pub view_query: Option<String>,
    /// A materialized view has rows to read: since it was made, or since the last REFRESH.
    #[serde(default = "super::yes")]
    pub populated: bool,
    #[serde(default)]
    pub triggers: Vec<StoredTrigger>,
    /// How ENABLE and DISABLE TRIGGER ALL left the checks of foreign keys, in the letters of pg_trigger.tgenabled. None:
    /// as they were made.
    #[serde(default)]
    pub foreign_key_firing: Option<char>,
    /// Relations that a view reads, through other views included.
    #[serde(default)]
    pub depends_on: Vec<u32>,
    #[serde(default)]
    pub sequence: Option<StoredSequence>,
    #[serde(default)]
    pub acl: Vec<StoredAcl>,
    #[serde(default)]
    pub comment: Option<String>,
    #[serde(default)]
    pub options: Vec<String>,
    /// One session's own: never written to the catalog's table.
    #[serde(default)]
    pub temporary: bool,
    /// UNLOGGED. Its rows are logged all the same; what remains of the word is that no subscriber is told of them.
    #[serde(default)]
    pub unlogged: bool,
    #[serde(default)]
    pub on_commit: StoredOnCommit,
    /// Tables that this one inherits from, by INHERITS or as their partition, in the order of `inhseqno`.
    #[serde(default)]
    pub parents: Vec<u32>,
    /// PARTITION BY.
    #[serde(default)]
    pub partitioning: Option<StoredPartitioning>,
    /// PARTITION OF: among the partitions of its only parent.
    #[serde(default)]
    pub partition: Option<StoredPartition>,
    #[serde(default)]
    pub replica_identity: StoredReplicaIdentity,
    #[serde(skip)]
    pub revision: Revision,
}

/// What an UPDATE or DELETE tells subscribers of the old row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum StoredReplicaIdentity {
    /// The columns of the primary key, where there is one.
    #[default]
    Default,
    Full,
    Nothing,
    /// The columns of this index; nothing once it is gone.
    Index(u32),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredSequence {
    /// The engine's sequence.
    pub id: u32,
    pub type_oid: u32,
    pub start: i64,
    pub increment: i64,
    pub minimum: i64,
    pub maximum: i64,
    pub cycle: bool,
    pub cache: i64,
    /// (table, position of the column) that OWNED BY names.
    #[serde(default)]
    pub owned_by: Option<(u32, u16)>,
}
