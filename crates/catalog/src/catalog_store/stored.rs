//! The stored form of an object: JSON in one variable column, so that a later release can add fields.
//!
//! A field that is added needs `#[serde(default)]`; one that is taken away must still be readable for one release.
//! Texts of expressions are kept as the deparser prints them and bound again when the description is built.
//!
//! Relations, routines, types and what contains them stand here; the folder has those that stand beside them: privileges
//! (`acl`), default privileges (`default_acl`), settings of all roles (`cluster_settings`), publications, casts, statistics.

use std::collections::BTreeMap;
use std::sync::Arc;

use mote_common::{Oid, SqlError, SqlResult};
use mote_sql::catalog::index_method::IndexMethod;
use mote_types::ColumnType;
use mote_types::catalog::user::{composite_oid, is_composite, number_of};
use serde::{Deserialize, Serialize};

use super::bound_index::BoundIndex;
use super::membership::StoredMembership;
use super::revision::Revision;

mod acl;
mod cast;
mod cluster_settings;
mod default_acl;
mod publication;
mod statistics;

pub use acl::{StoredAcl, acl_from_bytes, acl_to_bytes};
pub use cast::{StoredCast, StoredCastContext};
pub use cluster_settings::StoredClusterSettings;
pub use default_acl::{DefaultAclKey, StoredDefaultAcl};
pub use publication::{StoredOperations, StoredPublication, StoredPublished};
pub use statistics::{StoredColumnStatistics, StoredStatistics};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum StoredObject {
    Database(StoredDatabase),
    Schema(StoredSchema),
    Role(StoredRole),
    Relation(StoredRelation),
    Routine(StoredRoutine),
    Type(StoredUserType),
    Extension(StoredExtension),
    Publication(StoredPublication),
    Cast(StoredCast),
    DefaultAcl(StoredDefaultAcl),
    ClusterSettings(StoredClusterSettings),
    Statistics(StoredStatistics),
}

impl StoredObject {
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("stored objects hold nothing that JSON cannot")
    }

    pub fn decode(bytes: &[u8]) -> Result<StoredObject, serde_json::Error> {
        serde_json::from_slice(bytes)
    }

    pub fn oid(&self) -> Oid {
        self.object().oid()
    }

    pub fn revision(&self) -> Revision {
        self.object().revision()
    }

    /// It is a state of its own from here on.
    pub fn renew(&mut self) {
        self.object_mut().renew();
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredDatabase {
    pub oid: u32,
    pub name: String,
    pub owner: u32,
    #[serde(default)]
    pub acl: Vec<StoredAcl>,
    #[serde(default = "yes")]
    pub allow_connections: bool,
    /// -1 = no limit.
    #[serde(default = "no_limit")]
    pub connection_limit: i32,
    #[serde(default)]
    pub is_template: bool,
    /// What its sessions begin with.
    #[serde(default)]
    pub settings: Vec<(String, String)>,
    /// What the sessions of some roles begin with in it.
    #[serde(default)]
    pub role_settings: BTreeMap<u32, Vec<(String, String)>>,
    #[serde(default)]
    pub comment: Option<String>,
    /// None: it never had a large object.
    #[serde(default)]
    pub large_objects: Option<StoredLargeObjects>,
    #[serde(skip)]
    pub revision: Revision,
}

/// The engine's tables of a database's large objects, each with the index of its key.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct StoredLargeObjects {
    pub objects: u32,
    pub objects_key: u32,
    pub pages: u32,
    pub pages_key: u32,
}

impl StoredDatabase {
    pub fn new(oid: Oid, name: String, owner: Oid) -> StoredDatabase {
        StoredDatabase {
            oid: oid.0,
            name,
            owner: owner.0,
            acl: Vec::new(),
            allow_connections: true,
            connection_limit: no_limit(),
            is_template: false,
            settings: Vec::new(),
            role_settings: BTreeMap::new(),
            comment: None,
            large_objects: None,
            revision: Revision::default(),
        }
    }
}

fn no_limit() -> i32 {
    -1
}

/// An extension that CREATE EXTENSION made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredExtension {
    pub oid: u32,
    pub database: u32,
    pub name: String,
    pub owner: u32,
    pub schema: u32,
    pub version: String,
    /// Its routines: dropped and moved with it alone.
    pub members: Vec<u32>,
    #[serde(default)]
    pub comment: Option<String>,
    #[serde(skip)]
    pub revision: Revision,
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
    #[serde(skip)]
    pub revision: Revision,
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
    /// When the password ends to be good, microseconds since 2000-01-01 UTC.
    #[serde(default)]
    pub valid_until: Option<i64>,
    #[serde(default)]
    pub member_of: Vec<StoredMembership>,
    #[serde(default)]
    pub settings: Vec<(String, String)>,
    #[serde(default)]
    pub comment: Option<String>,
    #[serde(skip)]
    pub revision: Revision,
}

impl StoredRole {
    /// As CREATE ROLE makes one that is told nothing else: it may do nothing, and inherits from its groups.
    pub fn new(oid: u32, name: impl Into<String>) -> StoredRole {
        StoredRole {
            oid,
            name: name.into(),
            superuser: false,
            can_login: false,
            create_database: false,
            create_role: false,
            inherit: true,
            replication: false,
            bypass_row_security: false,
            connection_limit: -1,
            password: None,
            valid_until: None,
            member_of: Vec::new(),
            settings: Vec::new(),
            comment: None,
            revision: Revision::default(),
        }
    }

    /// Directly, not through another role.
    pub fn belongs_to(&self, role: u32) -> bool {
        self.membership_of(role).is_some()
    }

    pub fn membership_of(&self, role: u32) -> Option<&StoredMembership> {
        self.member_of.iter().find(|membership| membership.role == role)
    }
}

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
    #[serde(default = "yes")]
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
    #[serde(default = "yes")]
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

fn yes() -> bool {
    true
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
pub struct StoredRoutine {
    pub oid: u32,
    pub schema: u32,
    pub name: String,
    pub procedure: bool,
    pub language: String,
    pub arguments: Vec<StoredArgument>,
    pub result: StoredType,
    #[serde(default)]
    pub returns_set: bool,
    /// As in pg_proc: i, s, v.
    pub volatility: char,
    #[serde(default)]
    pub strict: bool,
    #[serde(default)]
    pub security_definer: bool,
    #[serde(default)]
    pub leakproof: bool,
    /// As in pg_proc: u, r, s.
    pub parallel: char,
    pub cost: f64,
    pub rows: f64,
    #[serde(default)]
    pub settings: Vec<(String, String)>,
    pub body: String,
    #[serde(default)]
    pub standard_body: bool,
    pub owner: u32,
    #[serde(default)]
    pub acl: Vec<StoredAcl>,
    #[serde(default)]
    pub comment: Option<String>,
    #[serde(skip)]
    pub revision: Revision,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredArgument {
    #[serde(default)]
    pub name: String,
    /// As in pg_proc: i, o, b (INOUT), v, t (a column of RETURNS TABLE).
    pub mode: char,
    pub ty: StoredType,
    #[serde(default)]
    pub default: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct StoredType {
    pub oid: u32,
    /// The relation whose row type it is; `oid` is then that of record.
    #[serde(default)]
    pub row_of: Option<u32>,
}

impl StoredType {
    /// The OID of the type itself.
    pub fn type_oid(&self) -> Oid {
        let row = self.row_of.and_then(|relation| composite_oid(Oid(relation)));
        row.unwrap_or(Oid(self.oid))
    }

    /// The number of the relation or composite type whose rows, or arrays of rows, have the type.
    pub fn row_number(&self) -> Option<u32> {
        let base = ColumnType::new(Oid(self.oid)).element();
        let base = base.map_or(Oid(self.oid), |element| element.oid);
        let number = is_composite(base).then(|| number_of(base).0);
        self.row_of.or(number)
    }
}

/// A type that a user made: an enum, a domain, a composite type, a range type or its multirange type.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredUserType {
    pub oid: u32,
    pub schema: u32,
    pub name: String,
    pub owner: u32,
    /// In their order.
    pub labels: Vec<StoredLabel>,
    /// What a domain is made of; None for the other kinds.
    #[serde(default)]
    pub domain: Option<StoredDomain>,
    /// The attributes of a composite type in the order of their numbers, dropped ones included; None for the other kinds.
    #[serde(default)]
    pub attributes: Option<Vec<StoredAttribute>>,
    /// What a range type is made of; None for the other kinds.
    #[serde(default)]
    pub range: Option<StoredRange>,
    #[serde(default)]
    pub acl: Vec<StoredAcl>,
    #[serde(default)]
    pub comment: Option<String>,
    #[serde(skip)]
    pub revision: Revision,
}

/// An attribute of a composite type. Rows that were written before it was dropped still have its value.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredAttribute {
    pub name: String,
    pub type_oid: u32,
    pub typmod: i32,
    #[serde(default)]
    pub dropped: bool,
    #[serde(default)]
    pub comment: Option<String>,
}

/// A range type. Its multirange type is an object of its own, whose OID follows from that of the range.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredRange {
    pub subtype: u32,
    /// The class by whose order bounds compare; all classes of a type that are accepted here sort alike.
    pub operator_class: u32,
    /// Zero for a subtype without collations.
    pub collation: u32,
    /// `subtype_diff`; zero for none.
    pub difference: u32,
    /// Functions that were made with the type and go with it: those that make ranges, then those that make multiranges.
    pub constructors: Vec<u32>,
    pub multirange_constructors: Vec<u32>,
    /// The row of pg_cast from the range to its multirange.
    pub cast: u32,
}

impl StoredRange {
    /// All functions that go with the type.
    pub fn all_constructors(&self) -> impl Iterator<Item = u32> {
        self.constructors
            .iter()
            .chain(&self.multirange_constructors)
            .copied()
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredDomain {
    /// The type that the values have, below all domains.
    pub type_oid: u32,
    pub typmod: i32,
    /// The domain that this one is made of; zero if it is made of a type.
    pub of: u32,
    pub not_null: bool,
    pub default: Option<String>,
    pub checks: Vec<StoredDomainCheck>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredDomainCheck {
    pub oid: u32,
    pub name: String,
    pub expression: String,
    pub validated: bool,
    #[serde(default)]
    pub comment: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredLabel {
    pub oid: u32,
    /// What rows and indexes hold; never changes, and grows along the list.
    pub key: i64,
    pub label: String,
    pub sort_order: f32,
    /// By ALTER TYPE, in the transaction that made this very object; rows of the catalog do not say.
    #[serde(skip)]
    pub added: bool,
}

impl StoredUserType {
    /// The attributes of a composite type that are there, with their numbers.
    pub fn live_attributes(&self) -> impl Iterator<Item = (i16, &StoredAttribute)> {
        let attributes = self.attributes.iter().flatten().zip(1..);
        attributes
            .filter(|(attribute, _)| !attribute.dropped)
            .map(|(attribute, number)| (number, attribute))
    }
}
