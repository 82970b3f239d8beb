//! The statement tree: what a client's text says, before any name has a meaning.
//!
//! Reading order: `name` (names, places in the text, types), `expr` (expressions), `query` (SELECT and VALUES), `dml` (INSERT,
//! UPDATE, DELETE, MERGE), `ddl` (tables and indexes), `object` (all other definitions), `utility` (transactions, settings,
//! cursors, COPY), then `deparse`, which turns trees back into text.
//!
//! Invariants: the tree borrows nothing and owns its names; it holds what was written and nothing that was looked
//! up; equality ignores places in the text, so that `a + 1` in GROUP BY equals `a + 1` in the target list.
//! The tree is filled by `crate::parser` alone, which bounds its depth: code that walks it may recurse.
//!
//! Leaves out: meaning. Names, types and operators are resolved by the binder.

mod ddl;
pub mod deparse;
mod dml;
mod expr;
mod name;
mod object;
mod query;
mod utility;

pub use ddl::*;
pub use dml::*;
pub use expr::*;
pub use name::*;
pub use object::*;
pub use query::*;
pub use utility::*;

/// One statement of a client's text.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    // Queries and changes of rows.
    Query(Box<Query>),
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
    Merge(Box<Merge>),

    // Definitions.
    CreateTable(Box<CreateTable>),
    /// CREATE TABLE AS, SELECT INTO and CREATE MATERIALIZED VIEW.
    CreateTableAs(Box<CreateTableAs>),
    AlterTable(Box<AlterTable>),
    CreateIndex(Box<CreateIndex>),
    CreateSchema(Box<CreateSchema>),
    CreateSequence(Box<CreateSequence>),
    AlterSequence(Box<AlterSequence>),
    CreateView(Box<CreateView>),
    CreateFunction(Box<CreateFunction>),
    AlterFunction(Box<AlterFunction>),
    CreateTrigger(Box<CreateTrigger>),
    CreateRole(Box<CreateRole>),
    AlterRole(Box<AlterRole>),
    AlterRoleSet(Box<AlterRoleSet>),
    DropRole(Box<DropRole>),
    DropOwned(Box<DropOwned>),
    ReassignOwned(Box<ReassignOwned>),
    CreateDatabase(Box<CreateDatabase>),
    DropDatabase(Box<DropDatabase>),
    AlterDatabase(Box<AlterDatabase>),
    AlterDatabaseSet(Box<AlterDatabaseSet>),
    AlterSystem(Box<AlterSystem>),
    CreateExtension(Box<CreateExtension>),
    /// ALTER EXTENSION .. UPDATE.
    AlterExtension(Box<AlterExtension>),
    CreatePublication(Box<CreatePublication>),
    AlterPublication(Box<AlterPublication>),
    CreateCast(Box<CreateCast>),
    CreateEnum(Box<CreateEnum>),
    CreateRangeType(Box<CreateRangeType>),
    AlterEnum(Box<AlterEnum>),
    CreateCompositeType(Box<CreateCompositeType>),
    CreateDomain(Box<CreateDomain>),
    AlterDomain(Box<AlterDomain>),
    Drop(Box<Drop>),
    Truncate(Box<Truncate>),
    Comment(Box<Comment>),
    SecurityLabel(SecurityLabel),
    Grant(Box<Grant>),
    GrantRole(Box<GrantRole>),
    AlterDefaultPrivileges(Box<AlterDefaultPrivileges>),
    Rename(Box<Rename>),
    AlterOwner(Box<AlterOwner>),
    AlterObjectSchema(Box<AlterObjectSchema>),
    RefreshMaterializedView(Box<RefreshMaterializedView>),

    // Sessions and transactions.
    Transaction(TransactionStatement),
    Set(Box<SetVariable>),
    Show(ShowVariable),
    SetConstraints(Box<SetConstraints>),
    Prepare(Box<Prepare>),
    Execute(Box<Execute>),
    Deallocate(Deallocate),
    DeclareCursor(Box<DeclareCursor>),
    Fetch(Fetch),
    ClosePortal(ClosePortal),
    Copy(Box<Copy>),
    Explain(Box<Explain>),
    Vacuum(Box<Vacuum>),
    Checkpoint,
    Cluster(Box<Cluster>),
    Reindex(Box<Reindex>),
    Lock(Box<Lock>),
    Listen(Listen),
    Notify(Notify),
    Unlisten(Unlisten),
    Discard(Discard),
    Do(Box<Do>),
    Call(Box<FunctionCall>),

    /// A statement PostgreSQL's grammar knows and this tree does not. The name is that of the command, as in
    /// `CREATE FOREIGN SERVER`; running it answers `0A000`. It is a node and not a parse error so that one such
    /// statement does not hide the others of its text.
    Unsupported(UnsupportedStatement),
}

impl Statement {
    /// The statement that this one declares a cursor over, fills a table with or explains: its parameters are those of
    /// the whole.
    pub fn query_within(&self) -> Option<&Statement> {
        match self {
            Statement::DeclareCursor(declare) => Some(&declare.query),
            Statement::CreateTableAs(create) => Some(&create.source),
            Statement::Explain(explain) => Some(&explain.statement),
            _ => None,
        }
    }

    /// May a statement that is no query use the parameters that a client binds?
    pub fn takes_parameters(&self) -> bool {
        matches!(self, Statement::Call(_)) || self.query_within().is_some()
    }
}

/// The name of a command that there is no tree for.
#[derive(Clone, Debug, PartialEq)]
pub struct UnsupportedStatement(pub &'static str);

/// A statement and where it stands in the text it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedStatement {
    pub statement: Statement,
    /// Byte range in the text given to `parse`, without the semicolon and surrounding space. Locations in the tree
    /// count from the start of that text, not from the start of this range.
    pub range: std::ops::Range<usize>,
    /// What was written and cannot be had, in the order in which it is told.
    pub warnings: Vec<LoweredPrecision>,
}

/// More digits of a second than there are were asked for: `time(7)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoweredPrecision {
    /// As messages write the type: `TIMESTAMP(7) WITH TIME ZONE`.
    pub written: String,
    /// Where the type stands, if that is told.
    pub location: Location,
}
