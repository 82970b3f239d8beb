//! Indexes and their keys.

use std::sync::Arc;

use mote_common::{SqlError, SqlResult};
use mote_sql::catalog::index_method::IndexMethod;
use serde::{Deserialize, Serialize};

use super::column::StoredColumn;
use crate::catalog_store::bound_index::BoundIndex;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredIndex {
    pub oid: u32,
    pub name: String,
    /// The engine's index.
    pub index: u32,
    /// The method's name.
    #[serde(default = "btree")]
    pub method: String,
    pub keys: Vec<StoredIndexKey>,
    #[serde(default)]
    pub include: Vec<u16>,
    pub unique: bool,
    #[serde(default)]
    pub deferrable: bool,
    pub primary: bool,
    #[serde(default)]
    pub nulls_not_distinct: bool,
    #[serde(default)]
    pub predicate: Option<String>,
    #[serde(default = "super::yes")]
    pub valid: bool,
    /// The table was last clustered on it.
    #[serde(default)]
    pub clustered: bool,
    #[serde(default)]
    pub comment: Option<String>,
    /// The index of the parent table that this one is attached to.
    #[serde(default)]
    pub parent: Option<u32>,
    /// Storage parameters, `name=value`.
    #[serde(default)]
    pub options: Vec<String>,
    /// What the texts mean: bound when the index is made and when the catalog is read.
    #[serde(skip)]
    pub bound: Arc<BoundIndex>,
}

fn btree() -> String {
    IndexMethod::Btree.name().to_string()
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredIndexKey {
    /// Position of the column, or None for an expression.
    pub column: Option<u16>,
    #[serde(default)]
    pub expression: Option<String>,
    /// The name among the index's columns, where it is not the column's.
    #[serde(default)]
    pub name: Option<String>,
    pub type_oid: u32,
    pub typmod: i32,
    #[serde(default)]
    pub collation: Option<String>,
    #[serde(default)]
    pub operator_class: Option<u32>,
    #[serde(default)]
    pub descending: bool,
    #[serde(default)]
    pub nulls_first: bool,
}

impl StoredIndex {
    pub fn method(&self) -> SqlResult<IndexMethod> {
        let unknown = || SqlError::internal(format!("index \"{}\" has an unknown method", self.name));
        IndexMethod::from_name(&self.method).ok_or_else(unknown)
    }

    /// Keys that are plain columns, all of them, and no predicate: what foreign keys can lean on.
    pub fn is_plain(&self) -> bool {
        self.predicate.is_none() && self.keys.iter().all(|key| key.column.is_some())
    }

    /// The texts of the keys that are no plain columns.
    pub fn expressions(&self) -> Vec<&str> {
        self.keys
            .iter()
            .filter_map(|key| key.expression.as_deref())
            .collect()
    }
}

impl StoredIndexKey {
    /// A column in its own type and PostgreSQL's default order.
    pub fn of_column(position: u16, column: &StoredColumn) -> StoredIndexKey {
        StoredIndexKey {
            column: Some(position),
            expression: None,
            name: None,
            type_oid: column.type_oid,
            typmod: column.typmod,
            collation: None,
            operator_class: None,
            descending: false,
            nulls_first: false,
        }
    }
}
