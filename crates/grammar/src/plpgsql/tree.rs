//! The tree of a PL/pgSQL body: what was written, before any name has a meaning.
//!
//! SQL inside of the body stays text ([`Fragment`]), with its place, for the ordinary grammar and binder.

use crate::ast::Name;

/// A body: its outermost block and the options in front of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    pub options: Options,
    pub block: Block,
}

/// `#variable_conflict` and its kin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    pub variable_conflict: Option<NameConflict>,
    pub print_strict_params: Option<bool>,
}

/// What a name means where no column of the statement bears it, or some column does as well.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NameConflict {
    /// PL/pgSQL's default: a name that means a column and a variable is an error (42702).
    Error,
    Column,
    Variable,
}

/// A piece of SQL.
#[derive(Clone, Debug, PartialEq)]
pub struct Fragment {
    /// What errors show as the query; what is parsed begins after `skip` bytes of it.
    pub text: Box<str>,
    /// Bytes of `text` in front of the SQL: the target of an assignment.
    pub skip: u32,
    /// Where `text` begins in the body, in bytes. None: the text was put together.
    pub start: Option<u32>,
    pub kind: FragmentKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FragmentKind {
    /// What may stand behind SELECT.
    Expression,
    /// `target := expression`.
    Assignment,
    Statement,
}

impl Fragment {
    /// The text for the grammar, and how many characters of it are not the fragment's own.
    pub fn sql(&self) -> (String, u32) {
        let own = &self.text[self.skip as usize..];
        match self.kind {
            FragmentKind::Statement => (own.to_string(), 0),
            _ => (format!("SELECT {own}"), "SELECT ".len() as u32),
        }
    }

    /// Characters of `text` in front of the SQL.
    pub fn skipped_characters(&self) -> u32 {
        self.text[..self.skip as usize].chars().count() as u32
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Of its BEGIN.
    pub line: u32,
    pub label: Option<Name>,
    pub declarations: Vec<Declaration>,
    pub statements: Vec<Statement>,
    /// None: no EXCEPTION section.
    pub handlers: Option<Vec<Handler>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Declaration {
    pub line: u32,
    pub start: u32,
    pub name: Name,
    pub kind: DeclarationKind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum DeclarationKind {
    Variable {
        constant: bool,
        ty: TypeText,
        /// Where NOT NULL stands.
        not_null: Option<u32>,
        default: Option<Fragment>,
    },
    Alias(Path),
    Cursor {
        scroll: Option<bool>,
        parameters: Vec<CursorParameter>,
        query: Fragment,
    },
}

/// A type as written.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeText {
    pub text: Box<str>,
    pub start: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CursorParameter {
    pub name: Name,
    pub ty: TypeText,
}

/// A dotted name.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    pub parts: Vec<Name>,
    pub start: u32,
}

/// What is assigned to: a variable, a field, an element.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    pub path: Path,
    pub subscripts: Vec<Subscript>,
    /// The text as written.
    pub text: Box<str>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Subscript {
    Element(Fragment),
    Slice(Option<Fragment>, Option<Fragment>),
    Field(Name),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Handler {
    pub line: u32,
    pub conditions: Vec<ConditionName>,
    pub statements: Vec<Statement>,
}

/// A condition in EXCEPTION WHEN or RAISE.
#[derive(Clone, Debug, PartialEq)]
pub enum ConditionName {
    Name(Name, u32),
    State(Box<str>, u32),
}

/// INTO [STRICT] targets.
#[derive(Clone, Debug, PartialEq)]
pub struct Into {
    pub strict: bool,
    pub targets: Vec<Target>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    pub line: u32,
    pub kind: StatementKind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    Block(Block),
    Assign {
        target: Target,
        value: Fragment,
    },
    If {
        branches: Vec<(Fragment, Vec<Statement>)>,
        otherwise: Vec<Statement>,
    },
    Case {
        operand: Option<Fragment>,
        branches: Vec<CaseBranch>,
        /// None: no branch taken is an error.
        otherwise: Option<Vec<Statement>>,
    },
    Loop(Loop),
    Exit {
        /// False: CONTINUE.
        leaves: bool,
        label: Option<Name>,
        condition: Option<Fragment>,
        start: u32,
    },
    Return {
        value: Option<Fragment>,
        start: u32,
    },
    ReturnNext {
        value: Option<Fragment>,
        start: u32,
    },
    ReturnQuery {
        query: Query,
        start: u32,
    },
    Raise(Raise),
    Assert {
        condition: Fragment,
        message: Option<Fragment>,
    },
    Sql {
        query: Fragment,
        into: Option<Into>,
    },
    Perform(Fragment),
    Call(Fragment),
    Execute {
        query: Fragment,
        using: Vec<Fragment>,
        into: Option<Into>,
    },
    GetDiagnostics {
        stacked: bool,
        items: Vec<(Target, DiagnosticsItem)>,
    },
    Open {
        cursor: Path,
        how: Open,
    },
    Fetch {
        cursor: Path,
        direction: Direction,
        /// None: MOVE.
        into: Option<Into>,
    },
    Close(Path),
    Null,
    Transaction {
        commit: bool,
        chain: bool,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct CaseBranch {
    pub line: u32,
    /// Without an operand a condition; with one the list of values to compare with.
    pub condition: Fragment,
    pub statements: Vec<Statement>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    pub label: Option<Name>,
    pub kind: LoopKind,
    pub statements: Vec<Statement>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum LoopKind {
    Endless,
    While(Fragment),
    Integer {
        variable: Name,
        reverse: bool,
        low: Fragment,
        high: Fragment,
        step: Option<Fragment>,
    },
    Query {
        targets: Vec<Target>,
        query: Query,
    },
    Cursor {
        variable: Name,
        cursor: Path,
        arguments: Option<Fragment>,
    },
    Array {
        targets: Vec<Target>,
        slice: u32,
        array: Fragment,
    },
}

/// A query, written out or computed.
#[derive(Clone, Debug, PartialEq)]
pub enum Query {
    Static(Fragment),
    Dynamic { text: Fragment, using: Vec<Fragment> },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Raise {
    pub level: RaiseLevel,
    /// Everything is left out: the error at hand goes on.
    pub again: bool,
    pub condition: Option<ConditionName>,
    pub format: Option<Box<str>>,
    pub arguments: Vec<Fragment>,
    pub options: Vec<(RaiseOption, Fragment)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaiseLevel {
    Debug,
    Log,
    Info,
    Notice,
    Warning,
    Exception,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaiseOption {
    ErrorCode,
    Message,
    Detail,
    Hint,
    Column,
    Constraint,
    DataType,
    Table,
    Schema,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiagnosticsItem {
    RowCount,
    Context,
    ExceptionContext,
    ExceptionDetail,
    ExceptionHint,
    ReturnedState,
    ColumnName,
    ConstraintName,
    DataTypeName,
    MessageText,
    TableName,
    SchemaName,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Open {
    /// A bound cursor with its arguments, as written between the parentheses.
    Bound(Option<Fragment>),
    Query {
        scroll: Option<bool>,
        query: Query,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub enum Direction {
    Forward(Count),
    Backward(Count),
    Absolute(Fragment),
    Relative(Fragment),
    First,
    Last,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Count {
    One,
    All,
    Computed(Fragment),
}
