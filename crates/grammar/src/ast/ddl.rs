//! Definitions of tables, their constraints, partitions and indexes, and what all definitions share.
//!
//! Options whose meaning is a list of `name = value` stay a list of `DefinitionOption`: which names exist is for the
//! code that acts on them to say.

use super::{
    Expr, Location, Name, NullsOrder, ObjectKind, OperatorName, QualifiedName, RelationName, SetVariable,
    SortDirection, Statement, TypeName,
};
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

/// `name = value` in WITH (..), in CREATE ROLE, COPY, EXPLAIN and such.
#[derive(Clone, Debug, PartialEq)]
pub struct DefinitionOption {
    /// `toast` in `toast.autovacuum_enabled`.
    pub namespace: Option<Name>,
    pub name: Name,
    pub value: Option<OptionValue>,
    pub location: Location,
}

impl DefinitionOption {
    /// The value of an option that is on or off; a name alone switches it on.
    pub fn flag(&self) -> SqlResult<bool> {
        let value = match &self.value {
            None => Some(true),
            Some(OptionValue::Boolean(value)) => Some(*value),
            Some(OptionValue::Integer(0)) => Some(false),
            Some(OptionValue::Integer(1)) => Some(true),
            Some(OptionValue::String(word)) => match word.to_ascii_lowercase().as_str() {
                "true" | "on" => Some(true),
                "false" | "off" => Some(false),
                _ => None,
            },
            Some(_) => None,
        };
        value.ok_or_else(|| {
            let message = format!("{} requires a Boolean value", self.name);
            SqlError::new(state::SYNTAX_ERROR, message)
        })
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    Integer(i32),
    /// Digits that do not fit `Integer`.
    Number(Box<str>),
    Boolean(bool),
    /// A quoted string or a bare word: the grammar does not tell them apart.
    String(Box<str>),
    /// A bare `*`, as in COPY's FORCE_QUOTE.
    Star,
    /// A word the grammar takes for a type name.
    Type(TypeName),
    /// A dotted name, as in OWNED BY.
    Name(QualifiedName),
    List(Vec<OptionValue>),
    Roles(Vec<RoleSpecification>),
    Set(Box<SetVariable>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Persistence {
    #[default]
    Permanent,
    Unlogged,
    Temporary,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropBehavior {
    Restrict,
    Cascade,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleSpecification {
    Name { name: Name, location: Location },
    CurrentRole,
    CurrentUser,
    SessionUser,
    Public,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    pub name: RelationName,
    pub persistence: Persistence,
    pub if_not_exists: bool,
    pub columns: Vec<ColumnDefinition>,
    pub constraints: Vec<Constraint>,
    pub like: Vec<TableLike>,
    /// The written order of columns and LIKE clauses, which is the order of the table's columns.
    pub element_order: Vec<TableElement>,
    pub inherits: Vec<RelationName>,
    pub partition_by: Option<PartitionBy>,
    pub partition_of: Option<PartitionOf>,
    /// `OF type`.
    pub of_type: Option<TypeName>,
    pub options: Vec<DefinitionOption>,
    pub on_commit: OnCommit,
    pub tablespace: Option<Name>,
    pub access_method: Option<Name>,
}

/// An index into the list of the same name in `CreateTable`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableElement {
    Column(usize),
    Like(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OnCommit {
    /// None written, or PRESERVE ROWS.
    #[default]
    PreserveRows,
    DeleteRows,
    Drop,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDefinition {
    pub name: Name,
    /// None in `PARTITION OF .. (a WITH OPTIONS ..)`.
    pub type_name: Option<TypeName>,
    pub collation: Option<QualifiedName>,
    pub compression: Option<Name>,
    pub storage: Option<Name>,
    /// In written order; NOT NULL, DEFAULT, CHECK, keys, REFERENCES, GENERATED, IDENTITY.
    pub constraints: Vec<Constraint>,
    pub location: Location,
}

/// A constraint of a column, a table or a domain.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    pub name: Option<Name>,
    pub kind: ConstraintKind,
    pub deferrable: bool,
    pub initially_deferred: bool,
    /// NOT VALID.
    pub not_valid: bool,
    pub no_inherit: bool,
    /// NOT ENFORCED.
    pub not_enforced: bool,
    pub location: Location,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ConstraintKind {
    Null,
    /// On a column, `column` is None.
    NotNull {
        column: Option<Name>,
    },
    Default(Expr),
    Check(Expr),
    Identity {
        always: bool,
        options: Vec<DefinitionOption>,
    },
    Generated {
        expression: Expr,
        stored: bool,
    },
    /// On a column, `columns` is empty: it means that column.
    PrimaryKey(KeyConstraint),
    Unique(KeyConstraint),
    ForeignKey(ForeignKey),
    Exclude(Box<Exclusion>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct KeyConstraint {
    pub columns: Vec<Name>,
    pub include: Vec<Name>,
    pub nulls_not_distinct: bool,
    pub without_overlaps: bool,
    /// `USING INDEX name`.
    pub existing_index: Option<Name>,
    pub options: Vec<DefinitionOption>,
    pub tablespace: Option<Name>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ForeignKey {
    /// Empty on a column.
    pub columns: Vec<Name>,
    pub referenced_table: RelationName,
    /// Empty: the primary key.
    pub referenced_columns: Vec<Name>,
    pub match_type: MatchType,
    pub on_update: ReferentialAction,
    pub on_delete: ReferentialAction,
    /// `ON DELETE SET NULL (columns)`.
    pub on_delete_columns: Vec<Name>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchType {
    Simple,
    Full,
    Partial,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferentialAction {
    NoAction,
    Restrict,
    Cascade,
    SetNull,
    SetDefault,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Exclusion {
    pub access_method: Name,
    pub elements: Vec<(IndexElement, OperatorName)>,
    pub include: Vec<Name>,
    pub filter: Option<Expr>,
    pub options: Vec<DefinitionOption>,
}

/// `LIKE t INCLUDING DEFAULTS ..`.
#[derive(Clone, Debug, PartialEq)]
pub struct TableLike {
    pub table: RelationName,
    pub comments: bool,
    pub compression: bool,
    pub constraints: bool,
    pub defaults: bool,
    pub generated: bool,
    pub identity: bool,
    pub indexes: bool,
    pub statistics: bool,
    pub storage: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PartitionBy {
    pub strategy: PartitionStrategy,
    pub elements: Vec<PartitionElement>,
    pub location: Location,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionStrategy {
    List,
    Range,
    Hash,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PartitionElement {
    pub value: Expr,
    pub collation: Option<QualifiedName>,
    pub operator_class: Option<QualifiedName>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PartitionOf {
    pub parent: RelationName,
    pub bound: PartitionBound,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PartitionBound {
    pub kind: PartitionBoundKind,
    pub location: Location,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PartitionBoundKind {
    Default,
    In(Vec<Expr>),
    Range {
        from: Vec<PartitionRangeDatum>,
        to: Vec<PartitionRangeDatum>,
    },
    Hash {
        modulus: i32,
        remainder: i32,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub enum PartitionRangeDatum {
    MinValue,
    Value(Expr),
    MaxValue,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateTableAs {
    pub name: RelationName,
    pub columns: Vec<Name>,
    pub persistence: Persistence,
    pub if_not_exists: bool,
    pub materialized_view: bool,
    /// A query, or EXECUTE of a prepared statement.
    pub source: Statement,
    pub with_data: bool,
    pub options: Vec<DefinitionOption>,
    pub on_commit: OnCommit,
    pub tablespace: Option<Name>,
    pub access_method: Option<Name>,
}

/// ALTER TABLE, and ALTER INDEX, VIEW, SEQUENCE, MATERIALIZED VIEW where they share its commands.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterTable {
    pub kind: ObjectKind,
    pub name: RelationName,
    pub only: bool,
    pub if_exists: bool,
    pub commands: Vec<AlterTableCommand>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AlterTableCommand {
    AddColumn {
        column: Box<ColumnDefinition>,
        if_not_exists: bool,
    },
    DropColumn {
        column: Name,
        if_exists: bool,
        behavior: DropBehavior,
    },
    SetDefault {
        column: Name,
        value: Expr,
    },
    DropDefault {
        column: Name,
    },
    SetNotNull {
        column: Name,
    },
    DropNotNull {
        column: Name,
    },
    SetType {
        column: Name,
        type_name: TypeName,
        collation: Option<QualifiedName>,
        using: Option<Expr>,
    },
    SetExpression {
        column: Name,
        expression: Expr,
    },
    DropExpression {
        column: Name,
        if_exists: bool,
    },
    AddIdentity {
        column: Name,
        always: bool,
        options: Vec<DefinitionOption>,
    },
    SetIdentity {
        column: Name,
        options: Vec<DefinitionOption>,
    },
    DropIdentity {
        column: Name,
        if_exists: bool,
    },
    SetStatistics {
        column: Name,
        target: Option<i32>,
    },
    SetColumnOptions {
        column: Name,
        options: Vec<DefinitionOption>,
    },
    ResetColumnOptions {
        column: Name,
        options: Vec<DefinitionOption>,
    },
    SetStorage {
        column: Name,
        storage: Name,
    },
    SetCompression {
        column: Name,
        method: Name,
    },
    AddConstraint(Box<Constraint>),
    AlterConstraint(AlterConstraint),
    ValidateConstraint {
        name: Name,
    },
    DropConstraint {
        name: Name,
        if_exists: bool,
        behavior: DropBehavior,
    },
    EnableTrigger {
        target: TriggerTarget,
        mode: TriggerMode,
    },
    DisableTrigger {
        target: TriggerTarget,
    },
    ChangeOwner(RoleSpecification),
    SetOptions(Vec<DefinitionOption>),
    ResetOptions(Vec<DefinitionOption>),
    SetTablespace(Name),
    SetAccessMethod(Option<Name>),
    SetLogged,
    SetUnlogged,
    ClusterOn(Name),
    SetWithoutCluster,
    Inherit(RelationName),
    NoInherit(RelationName),
    AttachPartition {
        partition: RelationName,
        bound: Option<PartitionBound>,
    },
    DetachPartition {
        partition: RelationName,
        mode: DetachMode,
    },
    ReplicaIdentity(ReplicaIdentity),
    EnableRowSecurity,
    DisableRowSecurity,
    ForceRowSecurity,
    NoForceRowSecurity,
    Unsupported(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DetachMode {
    AtOnce,
    Concurrently,
    /// The second half of one that was interrupted.
    Finalize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterConstraint {
    pub name: Name,
    /// (deferrable, initially deferred), when either was written.
    pub deferrability: Option<(bool, bool)>,
    pub enforced: Option<bool>,
    pub no_inherit: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TriggerTarget {
    Name(Name),
    All,
    User,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerMode {
    Origin,
    Always,
    Replica,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplicaIdentity {
    Default,
    Full,
    Nothing,
    Index(Name),
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateIndex {
    /// None: PostgreSQL chooses one.
    pub name: Option<Name>,
    pub table: RelationName,
    pub only: bool,
    pub unique: bool,
    pub nulls_not_distinct: bool,
    pub concurrently: bool,
    pub if_not_exists: bool,
    /// `btree` when none was written.
    pub access_method: Name,
    pub elements: Vec<IndexElement>,
    pub include: Vec<IndexElement>,
    pub filter: Option<Expr>,
    pub options: Vec<DefinitionOption>,
    pub tablespace: Option<Name>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct IndexElement {
    pub value: IndexValue,
    pub collation: Option<QualifiedName>,
    pub operator_class: Option<QualifiedName>,
    pub operator_class_options: Vec<DefinitionOption>,
    pub direction: SortDirection,
    pub nulls: NullsOrder,
}

#[derive(Clone, Debug, PartialEq)]
pub enum IndexValue {
    Column(Name),
    Expr(Expr),
}
