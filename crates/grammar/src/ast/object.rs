//! Definitions of all but tables: schemas, sequences, views, functions, triggers, roles, types; and the statements
//! about objects of any kind: DROP, COMMENT, GRANT, RENAME.

use super::{
    ColumnDefinition, Constraint, DefinitionOption, DropBehavior, Expr, Name, Persistence, QualifiedName,
    Query, RelationName, RoleSpecification, SetVariable, Statement, TypeName,
};

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

/// ALTER FUNCTION, PROCEDURE or ROUTINE with clauses of the definition.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterFunction {
    pub kind: ObjectKind,
    pub signature: ObjectSignature,
    /// As in [`CreateFunction::options`].
    pub options: Vec<DefinitionOption>,
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
pub struct DropOwned {
    pub roles: Vec<RoleSpecification>,
    pub behavior: DropBehavior,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ReassignOwned {
    pub roles: Vec<RoleSpecification>,
    pub new_owner: RoleSpecification,
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
pub struct AlterDatabase {
    pub name: Name,
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
pub struct AlterExtension {
    pub name: Name,
    pub options: Vec<DefinitionOption>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreatePublication {
    pub name: Name,
    pub all_tables: bool,
    pub objects: Vec<PublicationObject>,
    pub options: Vec<DefinitionOption>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterPublication {
    pub name: Name,
    pub change: PublicationChange,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PublicationChange {
    Options(Vec<DefinitionOption>),
    Add(Vec<PublicationObject>),
    Drop(Vec<PublicationObject>),
    Set(Vec<PublicationObject>),
}

/// What a publication is told to publish.
#[derive(Clone, Debug, PartialEq)]
pub enum PublicationObject {
    Table(PublicationTable),
    /// All tables of a schema; None: of the current one.
    Schema(Option<Name>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct PublicationTable {
    pub relation: RelationName,
    pub only: bool,
    /// None: all columns.
    pub columns: Option<Vec<Name>>,
    /// It has a WHERE.
    pub filtered: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateCast {
    pub source: TypeName,
    pub target: TypeName,
    pub method: CastMethod,
    pub context: CastContext,
}

/// How a cast of users converts.
#[derive(Clone, Debug, PartialEq)]
pub enum CastMethod {
    Function(ObjectReference),
    /// WITH INOUT: by the text.
    Text,
    /// WITHOUT FUNCTION: the value as it is.
    Binary,
}

/// Where a cast of users may happen without being asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CastContext {
    Implicit,
    Assignment,
    Explicit,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateEnum {
    pub name: QualifiedName,
    pub labels: Vec<Box<str>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterEnum {
    pub name: QualifiedName,
    pub change: EnumChange,
}

#[derive(Clone, Debug, PartialEq)]
pub enum EnumChange {
    Add {
        label: Box<str>,
        if_not_exists: bool,
        /// None: behind all others.
        place: Option<EnumPlace>,
    },
    Rename {
        old: Box<str>,
        new: Box<str>,
    },
}

/// BEFORE or AFTER another value.
#[derive(Clone, Debug, PartialEq)]
pub struct EnumPlace {
    pub neighbor: Box<str>,
    pub after: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateCompositeType {
    pub name: RelationName,
    pub columns: Vec<ColumnDefinition>,
}

/// CREATE TYPE .. AS RANGE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateRangeType {
    pub name: QualifiedName,
    pub options: Vec<DefinitionOption>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateDomain {
    pub name: QualifiedName,
    pub type_name: TypeName,
    pub collation: Option<QualifiedName>,
    pub constraints: Vec<Constraint>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterDomain {
    pub name: QualifiedName,
    pub change: DomainChange,
}

#[derive(Clone, Debug, PartialEq)]
pub enum DomainChange {
    SetDefault(Expr),
    DropDefault,
    SetNotNull,
    DropNotNull,
    Add(Constraint),
    Drop {
        constraint: Name,
        if_exists: bool,
        behavior: DropBehavior,
    },
    Validate(Name),
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
    Publication,
    Cast,
    Language,
    LargeObject,
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
    /// A cast, by its two types.
    Cast {
        source: TypeName,
        target: TypeName,
    },
    /// A large object, by its OID.
    LargeObject(u32),
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

/// SECURITY LABEL. Object and label are for the provider to judge, and none can be loaded: the tree leaves them out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecurityLabel {
    /// None: the only one that is loaded.
    pub provider: Option<Name>,
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
    /// For a part of something, the kind of the whole; else the same as `kind`.
    pub container_kind: ObjectKind,
    pub object: ObjectReference,
    /// The part: column, constraint, attribute, trigger.
    pub part: Option<Name>,
    pub new_name: Name,
    pub if_exists: bool,
    /// Of this table only, not of those that inherit from it.
    pub only: bool,
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
