//! Columns, and how columns and constraints come from parents.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredColumn {
    pub name: String,
    /// The type of the values: below the domain, if there is one.
    pub type_oid: u32,
    pub typmod: i32,
    #[serde(default)]
    pub domain: Option<u32>,
    pub not_null: bool,
    #[serde(default)]
    pub dropped: bool,
    #[serde(default)]
    pub default: Option<String>,
    /// Some(true) = GENERATED ALWAYS AS IDENTITY, Some(false) = BY DEFAULT.
    #[serde(default)]
    pub identity_always: Option<bool>,
    #[serde(default)]
    pub generated: Option<String>,
    #[serde(default)]
    pub owned_sequence: Option<u32>,
    #[serde(default)]
    pub comment: Option<String>,
    #[serde(default)]
    pub inheritance: StoredInheritance,
    /// SET STATISTICS; None: as default_statistics_target says.
    #[serde(default)]
    pub statistics_target: Option<i32>,
    /// SET STORAGE, as in `attstorage`; None: as the type says.
    #[serde(default)]
    pub storage: Option<char>,
}

/// Where a column or a constraint comes from: `attislocal` and `attinhcount`, `conislocal` and `coninhcount`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredInheritance {
    /// Defined by the table itself, not (only) by its parents.
    pub local: bool,
    /// Direct parents that have it.
    pub parents: u16,
}

impl Default for StoredInheritance {
    fn default() -> StoredInheritance {
        StoredInheritance {
            local: true,
            parents: 0,
        }
    }
}

impl StoredInheritance {
    /// Of what a table has from its parents alone.
    pub fn from_parents(parents: u16) -> StoredInheritance {
        StoredInheritance {
            local: false,
            parents,
        }
    }
}
