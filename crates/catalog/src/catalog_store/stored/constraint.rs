//! Constraints and triggers.

use serde::{Deserialize, Serialize};

use super::column::StoredInheritance;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredConstraint {
    pub oid: u32,
    pub name: String,
    pub kind: StoredConstraintKind,
    #[serde(default)]
    pub deferrable: bool,
    #[serde(default)]
    pub initially_deferred: bool,
    #[serde(default = "super::yes")]
    pub validated: bool,
    #[serde(default)]
    pub comment: Option<String>,
    #[serde(default)]
    pub inheritance: StoredInheritance,
    /// CHECK .. NO INHERIT: of this table only.
    #[serde(default)]
    pub no_inherit: bool,
    /// The parent table's constraint that this key, or foreign key, of a partition belongs to.
    #[serde(default)]
    pub parent: Option<u32>,
}

impl StoredConstraint {
    /// One of this table itself, which every row meets and which is never put off.
    pub fn new(oid: u32, name: String, kind: StoredConstraintKind) -> StoredConstraint {
        StoredConstraint {
            oid,
            name,
            kind,
            deferrable: false,
            initially_deferred: false,
            validated: true,
            comment: None,
            inheritance: StoredInheritance::default(),
            no_inherit: false,
            parent: None,
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum StoredConstraintKind {
    Check { expression: String },
    Unique { index: u32 },
    PrimaryKey { index: u32 },
    ForeignKey(StoredForeignKey),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredForeignKey {
    pub columns: Vec<u16>,
    pub referenced: u32,
    pub referenced_columns: Vec<u16>,
    pub referenced_index: u32,
    pub on_update: StoredAction,
    pub on_delete: StoredAction,
    #[serde(default)]
    pub match_full: bool,
    /// The columns that ON DELETE SET NULL or SET DEFAULT names; none: all of the key.
    #[serde(default)]
    pub on_delete_columns: Vec<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum StoredAction {
    NoAction,
    Restrict,
    Cascade,
    SetNull,
    SetDefault,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredTrigger {
    pub oid: u32,
    pub name: String,
    pub function: u32,
    pub timing: StoredTiming,
    pub for_each_row: bool,
    /// The events by their first letters: `i`, `u`, `d`, `t`.
    pub events: String,
    /// UPDATE OF: positions of columns.
    #[serde(default)]
    pub columns: Vec<u16>,
    #[serde(default)]
    pub condition: Option<String>,
    #[serde(default)]
    pub arguments: Vec<String>,
    /// pg_trigger.tgenabled.
    pub enabled: char,
    #[serde(default)]
    pub old_table: Option<String>,
    #[serde(default)]
    pub new_table: Option<String>,
    #[serde(default)]
    pub constraint: Option<StoredConstraintTrigger>,
    /// pg_trigger.tgparentid: of a partition, the trigger of its parent that this one is a clone of.
    #[serde(default)]
    pub parent: Option<u32>,
    #[serde(default)]
    pub comment: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum StoredTiming {
    Before,
    After,
    InsteadOf,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct StoredConstraintTrigger {
    pub oid: u32,
    #[serde(default)]
    pub referenced: Option<u32>,
    pub deferrable: bool,
    pub initially_deferred: bool,
}
