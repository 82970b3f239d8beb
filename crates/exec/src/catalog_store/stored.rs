//! The stored form of an object: JSON in one variable column, so that a later release can add fields.
//!
//! A field that is added needs `#[serde(default)]`; one that is taken away must still be readable for one release.
//! Texts of expressions are kept as the deparser prints them and bound again when the description is built.

use mote_common::Oid;
use mote_sql::catalog::AclItem;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum StoredObject {
    Database(StoredDatabase),
    Schema(StoredSchema),
    Role(StoredRole),
    Relation(StoredRelation),
}

impl StoredObject {
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("stored objects hold nothing that JSON cannot")
    }

    pub fn decode(bytes: &[u8]) -> Result<StoredObject, serde_json::Error> {
        serde_json::from_slice(bytes)
    }

    pub fn oid(&self) -> Oid {
        Oid(match self {
            StoredObject::Database(o) => o.oid,
            StoredObject::Schema(o) => o.oid,
            StoredObject::Role(o) => o.oid,
            StoredObject::Relation(o) => o.oid,
        })
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredDatabase {
    pub oid: u32,
    pub name: String,
    pub owner: u32,
    #[serde(default)]
    pub comment: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredSchema {
    pub oid: u32,
    pub database: u32,
    pub name: String,
    pub owner: u32,
    #[serde(default)]
    pub acl: Vec<StoredAcl>,
    #[serde(default)]
    pub comment: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredRole {
    pub oid: u32,
    pub name: String,
    pub superuser: bool,
    pub can_login: bool,
    pub create_database: bool,
    pub create_role: bool,
    pub inherit: bool,
    #[serde(default)]
    pub replication: bool,
    #[serde(default)]
    pub bypass_row_security: bool,
    /// -1 = no limit.
    pub connection_limit: i32,
    /// SCRAM-SHA-256 verifier in PostgreSQL's form; None = no password.
    pub password: Option<String>,
    #[serde(default)]
    pub member_of: Vec<u32>,
    #[serde(default)]
    pub settings: Vec<(String, String)>,
    #[serde(default)]
    pub comment: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum StoredKind {
    Table,
    View,
    Sequence,
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
    #[serde(default)]
    pub temporary: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredColumn {
    pub name: String,
    pub type_oid: u32,
    pub typmod: i32,
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
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredIndex {
    pub oid: u32,
    pub name: String,
    /// The engine's index.
    pub index: u32,
    pub keys: Vec<StoredIndexKey>,
    #[serde(default)]
    pub include: Vec<u16>,
    pub unique: bool,
    pub primary: bool,
    #[serde(default)]
    pub nulls_not_distinct: bool,
    #[serde(default)]
    pub predicate: Option<String>,
    #[serde(default = "yes")]
    pub valid: bool,
    #[serde(default)]
    pub comment: Option<String>,
}

fn yes() -> bool {
    true
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredIndexKey {
    /// Position of the column, or None for an expression.
    pub column: Option<u16>,
    #[serde(default)]
    pub expression: Option<String>,
    pub type_oid: u32,
    pub typmod: i32,
    #[serde(default)]
    pub descending: bool,
    #[serde(default)]
    pub nulls_first: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredConstraint {
    pub oid: u32,
    pub name: String,
    pub kind: StoredConstraintKind,
    #[serde(default)]
    pub deferrable: bool,
    #[serde(default)]
    pub initially_deferred: bool,
    #[serde(default = "yes")]
    pub validated: bool,
    #[serde(default)]
    pub comment: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum StoredConstraintKind {
    Check { expression: String },
    Unique { index: u32 },
    PrimaryKey { index: u32 },
    ForeignKey(StoredForeignKey),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredForeignKey {
    pub columns: Vec<u16>,
    pub referenced: u32,
    pub referenced_columns: Vec<u16>,
    pub referenced_index: u32,
    pub on_update: StoredAction,
    pub on_delete: StoredAction,
    #[serde(default)]
    pub match_full: bool,
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

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredAcl {
    pub grantee: u32,
    pub grantor: u32,
    pub privileges: u32,
    pub grant_options: u32,
}

impl From<&StoredAcl> for AclItem {
    fn from(item: &StoredAcl) -> AclItem {
        AclItem {
            grantee: Oid(item.grantee),
            grantor: Oid(item.grantor),
            privileges: item.privileges,
            grant_options: item.grant_options,
        }
    }
}
