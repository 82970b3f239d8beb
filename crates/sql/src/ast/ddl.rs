//! Definitions: tables, indexes, sequences, views, functions, roles, privileges.
//!
//! Options whose meaning is a list of `name = value` stay a list of `DefinitionOption`: which names exist is for the
//! code that acts on them to say.

use super::{
    Expr, Location, Name, NullsOrder, OperatorName, QualifiedName, Query, RelationName, SetVariable,
    SortDirection, Statement, TypeName,
};

/// `name = value` in WITH (..), in CREATE ROLE, COPY, EXPLAIN and such.
#[derive(Clone, Debug, PartialEq)]
pub struct DefinitionOption {
    /// `toast` in `toast.autovacuum_enabled`.
    pub namespace: Option<Name>,
    pub name: Name,
    pub value: Option<OptionValue>,
    pub location: Location,
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
pub enum PartitionBound {
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
        concurrently: bool,
    },
    ReplicaIdentity(ReplicaIdentity),
    EnableRowSecurity,
    DisableRowSecurity,
    ForceRowSecurity,
    NoForceRowSecurity,
    Unsupported(&'static str),
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

#[derive(Clone, Debug, PartialEq)]
pub struct CreateSchema {
    /// None: named after the owner.
    pub name: Option<Name>,
    pub owner: Option<RoleSpecification>,
    pub if_not_exists: bool,
    pub elements: Vec<Statement>,
}

/// Options keep PostgreSQL's names: increment, minvalue, maxvalue, start, restart, cache, cycle, as, owned_by.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateSequence {
    pub name: RelationName,
    pub persistence: Persistence,
    pub if_not_exists: bool,
    pub options: Vec<DefinitionOption>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterSequence {
    pub name: RelationName,
    pub if_exists: bool,
    pub options: Vec<DefinitionOption>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateView {
    pub name: RelationName,
    pub persistence: Persistence,
    pub or_replace: bool,
    pub columns: Vec<Name>,
    pub query: Box<Query>,
    pub options: Vec<DefinitionOption>,
    pub check_option: ViewCheckOption,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewCheckOption {
    None,
    Local,
    Cascaded,
}

/// CREATE FUNCTION and CREATE PROCEDURE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateFunction {
    pub name: QualifiedName,
    pub procedure: bool,
    pub or_replace: bool,
    pub parameters: Vec<FunctionParameter>,
    /// None for procedures, OUT parameters and RETURNS TABLE.
    pub returns: Option<TypeName>,
    /// PostgreSQL's names: language, as (a list), volatility, strict, security, cost, rows, parallel, leakproof, set.
    pub options: Vec<DefinitionOption>,
    /// BEGIN ATOMIC .. END, or RETURN expression.
    pub body: Option<FunctionBody>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum FunctionBody {
    Return(Expr),
    Atomic(Vec<Statement>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct FunctionParameter {
    pub name: Option<Name>,
    pub type_name: TypeName,
    pub mode: ParameterMode,
    pub default: Option<Expr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterMode {
    /// None written: IN.
    Default,
    In,
    Out,
    InOut,
    Variadic,
    /// A column of RETURNS TABLE.
    Table,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateTrigger {
    pub name: Name,
    pub table: RelationName,
    pub or_replace: bool,
    pub constraint: bool,
    pub function: QualifiedName,
    pub arguments: Vec<Box<str>>,
    pub for_each_row: bool,
    pub timing: TriggerTiming,
    pub insert: bool,
    pub update: bool,
    pub delete: bool,
    pub truncate: bool,
    pub update_columns: Vec<Name>,
    pub condition: Option<Expr>,
    pub deferrable: bool,
    pub initially_deferred: bool,
    pub referenced_table: Option<RelationName>,
    pub old_table: Option<Name>,
    pub new_table: Option<Name>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerTiming {
    Before,
    After,
    InsteadOf,
}

/// Options keep PostgreSQL's names: canlogin, superuser, createdb, createrole, inherit, isreplication, bypassrls,
/// password, connectionlimit, validUntil, addroleto, rolemembers, adminmembers.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateRole {
    pub kind: RoleKind,
    pub name: Name,
    pub options: Vec<DefinitionOption>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleKind {
    Role,
    User,
    Group,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterRole {
    pub role: RoleSpecification,
    pub options: Vec<DefinitionOption>,
    /// ALTER GROUP .. DROP USER: `rolemembers` are removed.
    pub remove_members: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterRoleSet {
    /// None: ALTER ROLE ALL.
    pub role: Option<RoleSpecification>,
    pub database: Option<Name>,
    pub setting: SetVariable,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DropRole {
    pub roles: Vec<RoleSpecification>,
    pub if_exists: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateDatabase {
    pub name: Name,
    pub options: Vec<DefinitionOption>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DropDatabase {
    pub name: Name,
    pub if_exists: bool,
    pub options: Vec<DefinitionOption>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterDatabaseSet {
    pub name: Name,
    pub setting: SetVariable,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateExtension {
    pub name: Name,
    pub if_not_exists: bool,
    pub options: Vec<DefinitionOption>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateEnum {
    pub name: QualifiedName,
    pub labels: Vec<Box<str>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateCompositeType {
    pub name: RelationName,
    pub columns: Vec<ColumnDefinition>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateDomain {
    pub name: QualifiedName,
    pub type_name: TypeName,
    pub collation: Option<QualifiedName>,
    pub constraints: Vec<Constraint>,
}

/// What a DROP, COMMENT, GRANT or RENAME is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    Table,
    View,
    MaterializedView,
    Index,
    Sequence,
    Schema,
    Database,
    Type,
    Domain,
    Function,
    Procedure,
    Routine,
    Aggregate,
    Operator,
    Trigger,
    Rule,
    Policy,
    Column,
    /// A field of a composite type.
    Attribute,
    TableConstraint,
    DomainConstraint,
    Role,
    Extension,
    Language,
    Collation,
    Tablespace,
    /// A kind mote has no objects of; the name is the grammar's, as in `FOREIGN SERVER`.
    Other(&'static str),
}

/// Names an object of any kind.
#[derive(Clone, Debug, PartialEq)]
pub enum ObjectReference {
    /// For a column, constraint, trigger, rule or policy: the parts of its relation's name, then its own.
    Name(QualifiedName),
    /// A function, procedure, aggregate or operator with the types of its arguments.
    Signature(ObjectSignature),
    Type(TypeName),
    /// `CONSTRAINT name ON DOMAIN domain`.
    DomainConstraint {
        domain: TypeName,
        name: Name,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct ObjectSignature {
    pub name: QualifiedName,
    /// None: no parentheses were written. In the list, None stands for NONE, the missing side of an operator.
    pub arguments: Option<Vec<Option<TypeName>>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Drop {
    pub kind: ObjectKind,
    pub objects: Vec<ObjectReference>,
    pub if_exists: bool,
    pub behavior: DropBehavior,
    pub concurrently: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Truncate {
    pub tables: Vec<TruncateTarget>,
    pub restart_identity: bool,
    pub behavior: DropBehavior,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TruncateTarget {
    pub name: RelationName,
    pub only: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Comment {
    pub kind: ObjectKind,
    pub object: ObjectReference,
    /// None removes the comment.
    pub text: Option<Box<str>>,
}

/// GRANT and REVOKE of privileges.
#[derive(Clone, Debug, PartialEq)]
pub struct Grant {
    pub revoke: bool,
    /// Empty: ALL PRIVILEGES.
    pub privileges: Vec<Privilege>,
    pub target: GrantTarget,
    pub kind: ObjectKind,
    pub objects: Vec<ObjectReference>,
    pub grantees: Vec<RoleSpecification>,
    /// WITH GRANT OPTION, or GRANT OPTION FOR.
    pub grant_option: bool,
    pub granted_by: Option<RoleSpecification>,
    pub behavior: DropBehavior,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantTarget {
    Objects,
    /// ALL TABLES IN SCHEMA: `objects` are schemas.
    AllInSchema,
    /// In ALTER DEFAULT PRIVILEGES: no objects.
    Defaults,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Privilege {
    /// Lower case; None: ALL (columns).
    pub name: Option<Name>,
    pub columns: Vec<Name>,
}

/// GRANT and REVOKE of membership.
#[derive(Clone, Debug, PartialEq)]
pub struct GrantRole {
    pub revoke: bool,
    pub roles: Vec<Name>,
    pub grantees: Vec<RoleSpecification>,
    /// admin, inherit, set.
    pub options: Vec<DefinitionOption>,
    pub granted_by: Option<RoleSpecification>,
    pub behavior: DropBehavior,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterDefaultPrivileges {
    /// FOR ROLE; empty: the current role.
    pub roles: Vec<RoleSpecification>,
    /// IN SCHEMA; empty: all.
    pub schemas: Vec<Name>,
    pub action: Grant,
}

/// `ALTER kind object RENAME [COLUMN | CONSTRAINT sub] TO new`.
#[derive(Clone, Debug, PartialEq)]
pub struct Rename {
    /// The kind of what is renamed: `Column` and `TableConstraint` included.
    pub kind: ObjectKind,
    /// For a part of something: the kind of the whole.
    pub container_kind: ObjectKind,
    pub object: ObjectReference,
    /// The part: column, constraint, attribute, trigger.
    pub part: Option<Name>,
    pub new_name: Name,
    pub if_exists: bool,
    pub behavior: DropBehavior,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterOwner {
    pub kind: ObjectKind,
    pub object: ObjectReference,
    pub owner: RoleSpecification,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterObjectSchema {
    pub kind: ObjectKind,
    pub object: ObjectReference,
    pub schema: Name,
    pub if_exists: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RefreshMaterializedView {
    pub name: RelationName,
    pub concurrently: bool,
    pub with_data: bool,
}
