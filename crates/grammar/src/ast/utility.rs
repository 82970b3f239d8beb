//! Statements about the session rather than the data: transactions, settings, prepared statements, cursors, COPY,
//! EXPLAIN, maintenance, notification.

use super::{DefinitionOption, Expr, Location, Name, RelationName, RelationReference, Statement, TypeName};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionStatement {
    /// BEGIN and START TRANSACTION (`start`), which differ in their command tags.
    Begin {
        start: bool,
        modes: TransactionModes,
    },
    Commit {
        chain: bool,
    },
    Rollback {
        chain: bool,
    },
    Savepoint {
        name: Name,
        location: Location,
    },
    Release {
        name: Name,
        location: Location,
    },
    RollbackTo {
        name: Name,
        location: Location,
    },
    PrepareTransaction {
        gid: Box<str>,
    },
    CommitPrepared {
        gid: Box<str>,
    },
    RollbackPrepared {
        gid: Box<str>,
    },
}

/// What was written; None means the session's default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TransactionModes {
    pub isolation: Option<IsolationLevel>,
    pub read_only: Option<bool>,
    pub deferrable: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsolationLevel {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

/// ALTER SYSTEM, with the SET or RESET behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterSystem(pub SetVariable);

/// SET, SET LOCAL, RESET.
#[derive(Clone, Debug, PartialEq)]
pub struct SetVariable {
    /// SET LOCAL.
    pub local: bool,
    pub action: SetAction,
    pub location: Location,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SetAction {
    /// `SET name TO values`. The special forms arrive here too, under the names `timezone`, `client_encoding`,
    /// `role`, `session_authorization`, `xmloption`, `search_path`.
    Value {
        name: Name,
        values: Vec<SetValue>,
    },
    /// SET name TO DEFAULT.
    Default {
        name: Name,
    },
    /// SET name FROM CURRENT (in ALTER and CREATE FUNCTION).
    FromCurrent {
        name: Name,
    },
    Reset {
        name: Name,
    },
    ResetAll,
    /// SET TRANSACTION.
    Transaction(TransactionModes),
    /// SET SESSION CHARACTERISTICS AS TRANSACTION.
    SessionCharacteristics(TransactionModes),
    /// SET TRANSACTION SNAPSHOT.
    TransactionSnapshot(Box<str>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum SetValue {
    Integer(i32),
    /// Digits that are no int4.
    Number(Box<str>),
    /// A quoted string or a bare word.
    String(Box<str>),
    /// SET TIME ZONE INTERVAL '..' [fields]: the typed literal.
    Typed {
        text: Box<str>,
        type_name: TypeName,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShowVariable {
    Name(Name),
    All,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SetConstraints {
    /// Empty: ALL.
    pub constraints: Vec<RelationName>,
    pub deferred: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Prepare {
    pub name: Name,
    pub types: Vec<TypeName>,
    pub statement: Statement,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Execute {
    pub name: Name,
    pub parameters: Vec<Expr>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deallocate {
    Name(Name),
    All,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DeclareCursor {
    pub name: Name,
    pub query: Statement,
    pub binary: bool,
    /// None: neither SCROLL nor NO SCROLL.
    pub scroll: Option<bool>,
    /// None: neither INSENSITIVE nor ASENSITIVE.
    pub insensitive: Option<bool>,
    pub hold: bool,
}

/// FETCH and MOVE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    pub cursor: Name,
    /// MOVE: rows are skipped, not returned.
    pub moves: bool,
    pub direction: FetchDirection,
    /// i64::MAX is ALL.
    pub count: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchDirection {
    Forward,
    Backward,
    Absolute,
    Relative,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClosePortal {
    Name(Name),
    All,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Copy {
    pub source: CopySource,
    /// Empty: all columns.
    pub columns: Vec<Name>,
    /// FROM, that is, into the table.
    pub from: bool,
    pub target: CopyTarget,
    /// Both the old and the new syntax, under the new names: format, freeze, delimiter, null, default, header, quote,
    /// escape, force_quote, force_not_null, force_null, encoding, on_error, reject_limit, log_verbosity.
    pub options: Vec<DefinitionOption>,
    /// COPY FROM .. WHERE.
    pub filter: Option<Expr>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum CopySource {
    Table(RelationName),
    /// A query, or a data-modifying statement with RETURNING.
    Query(Statement),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyTarget {
    /// STDIN or STDOUT: the client.
    Client,
    File(Box<str>),
    Program(Box<str>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Explain {
    pub options: Vec<DefinitionOption>,
    pub statement: Statement,
}

/// VACUUM and ANALYZE.
#[derive(Clone, Debug, PartialEq)]
pub struct Vacuum {
    /// ANALYZE alone.
    pub analyze_only: bool,
    pub options: Vec<DefinitionOption>,
    /// Empty: all tables.
    pub tables: Vec<VacuumTable>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct VacuumTable {
    pub table: RelationReference,
    pub columns: Vec<Name>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    pub table: Option<RelationName>,
    pub index: Option<Name>,
    pub options: Vec<DefinitionOption>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Reindex {
    pub target: ReindexTarget,
    pub options: Vec<DefinitionOption>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ReindexTarget {
    Index(RelationName),
    Table(RelationName),
    Schema(Name),
    System(Option<Name>),
    Database(Option<Name>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Lock {
    pub tables: Vec<RelationReference>,
    pub mode: TableLockMode,
    pub no_wait: bool,
}

/// PostgreSQL's eight modes, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TableLockMode {
    AccessShare,
    RowShare,
    RowExclusive,
    ShareUpdateExclusive,
    Share,
    ShareRowExclusive,
    Exclusive,
    AccessExclusive,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Listen {
    pub channel: Name,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notify {
    pub channel: Name,
    pub payload: Option<Box<str>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unlisten {
    Name(Name),
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discard {
    All,
    Plans,
    Sequences,
    Temporary,
}

/// `DO [LANGUAGE language] 'code'`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Do {
    pub language: Option<Name>,
    pub code: Box<str>,
}
