//! The compiled form of a body: statements with their variables found, expressions with the names they see.
//!
//! Invariants: immutable but for the plans of expressions, which are made when they are first needed; variables are
//! numbered over the whole body, and an expression's parameter `n` is variable `n`.

pub mod expression;
pub mod names;

use std::sync::Arc;

use mote_common::{Oid, SqlState};
use mote_grammar::plpgsql::tree::NameConflict;
use mote_grammar::plpgsql::tree::{DiagnosticsItem, RaiseLevel, RaiseOption};
use mote_types::{ColumnType, RowType};

use expression::Expression;
use names::Arena;

/// Number of a variable within its body.
pub type VariableId = u16;

/// A compiled body.
pub struct Code {
    /// As errors name it: `f(integer)`, `inline_code_block`.
    pub signature: Arc<str>,
    pub variables: Arc<[Variable]>,
    pub arena: Arc<Arena>,
    pub conflict: NameConflict,
    pub print_strict_params: bool,
    pub block: Block,
    /// The variables of the input arguments, in order.
    pub arguments: Vec<VariableId>,
    /// The variables of OUT, INOUT and TABLE arguments, in order.
    pub outputs: Vec<VariableId>,
    pub found: VariableId,
    pub returns: Returns,
    pub trigger: Option<TriggerVariables>,
    /// The tables whose rows variables are made of, with their versions: another one needs another code.
    pub relations: Vec<(Oid, u64)>,
    /// How many expressions there are; they are numbered from 0.
    pub expressions: usize,
}

pub struct TriggerVariables {
    pub new: VariableId,
    pub old: VariableId,
    /// TG_NAME and its kin, in the order of `trigger::NAMES`.
    pub others: Vec<VariableId>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Returns {
    /// DO, procedures without output, void.
    Nothing,
    Value(ColumnType),
    /// One row.
    Row,
    /// Rows of several columns.
    Rows,
    /// Rows of one value.
    Values(ColumnType),
    Trigger,
}

impl Returns {
    pub fn is_set(self) -> bool {
        matches!(self, Returns::Rows | Returns::Values(_))
    }
}

pub struct Variable {
    pub name: String,
    pub kind: VariableKind,
    pub not_null: bool,
    pub constant: bool,
    /// Of its declaration.
    pub line: u32,
    pub default: Option<Expression>,
    /// Set for a bound cursor.
    pub cursor: Option<Box<CursorDefinition>>,
}

#[derive(Clone)]
pub enum VariableKind {
    Scalar(ColumnType),
    /// With a structure of its own, or whatever is assigned.
    Record(Option<Arc<RowType>>),
}

impl VariableKind {
    pub fn ty(&self) -> ColumnType {
        match self {
            VariableKind::Scalar(ty) => *ty,
            VariableKind::Record(row) => row.as_ref().map_or(ColumnType::RECORD, |row| row.ty()),
        }
    }
}

pub struct CursorDefinition {
    pub scroll: Option<bool>,
    pub parameters: Vec<VariableId>,
    pub query: Expression,
}

pub struct Block {
    pub label: Option<String>,
    /// Variables to be initialised at entry, in the order of their declarations.
    pub variables: Vec<VariableId>,
    pub statements: Vec<Statement>,
    pub exceptions: Option<Exceptions>,
}

pub struct Exceptions {
    pub state: VariableId,
    pub message: VariableId,
    pub handlers: Vec<Handler>,
}

pub struct Handler {
    pub conditions: Vec<Condition>,
    pub statements: Vec<Statement>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Condition {
    Others,
    State(SqlState),
}

pub struct Statement {
    pub line: u32,
    pub kind: StatementKind,
}

/// What is assigned to.
pub struct Target {
    pub variable: VariableId,
    pub steps: Vec<Step>,
}

pub enum Step {
    Field(String),
    /// Subscripts in a row: elements, or slices.
    Subscripts(Vec<Subscript>),
}

pub enum Subscript {
    Element(Expression),
    Slice(Option<Expression>, Option<Expression>),
}

pub struct Destination {
    pub strict: bool,
    pub targets: Vec<Target>,
}

pub enum StatementKind {
    Block(Block),
    Assign {
        target: Target,
        value: Expression,
    },
    If {
        branches: Vec<(Expression, Vec<Statement>)>,
        otherwise: Vec<Statement>,
    },
    Case {
        operand: Option<(VariableId, Expression)>,
        branches: Vec<(Expression, Vec<Statement>)>,
        otherwise: Option<Vec<Statement>>,
    },
    Loop(Loop),
    Exit {
        leaves: bool,
        label: Option<String>,
        condition: Option<Expression>,
    },
    Return(Option<Expression>),
    ReturnNext(Option<Expression>),
    ReturnQuery(Query),
    Raise(Raise),
    Assert {
        condition: Expression,
        message: Option<Expression>,
    },
    Sql {
        query: Expression,
        into: Option<Destination>,
    },
    Perform(Expression),
    Call(Expression),
    Execute {
        query: Expression,
        using: Vec<Expression>,
        into: Option<Destination>,
    },
    GetDiagnostics {
        stacked: bool,
        items: Vec<(Target, DiagnosticsItem)>,
    },
    Open {
        cursor: VariableId,
        how: Open,
    },
    Fetch {
        cursor: VariableId,
        direction: Direction,
        into: Option<Destination>,
    },
    Close(VariableId),
    Null,
    Transaction {
        commit: bool,
        chain: bool,
    },
}

pub struct Loop {
    pub label: Option<String>,
    pub kind: LoopKind,
    pub statements: Vec<Statement>,
}

pub enum LoopKind {
    Endless,
    While(Expression),
    Integer {
        variable: VariableId,
        reverse: bool,
        low: Expression,
        high: Expression,
        step: Option<Expression>,
    },
    Query {
        targets: Vec<Target>,
        query: Query,
    },
    Cursor {
        row: VariableId,
        cursor: VariableId,
        arguments: Option<Expression>,
    },
    Array {
        targets: Vec<Target>,
        slice: u32,
        array: Expression,
    },
}

pub enum Query {
    Static(Expression),
    Dynamic {
        text: Expression,
        using: Vec<Expression>,
    },
}

pub struct Raise {
    pub level: RaiseLevel,
    pub again: bool,
    pub state: Option<SqlState>,
    /// The condition's name, the message where there is no other.
    pub condition: Option<String>,
    pub format: Option<String>,
    pub arguments: Vec<Expression>,
    pub options: Vec<(RaiseOption, Expression)>,
}

pub enum Open {
    Bound(Option<Expression>),
    Query { scroll: Option<bool>, query: Query },
}

pub enum Direction {
    Forward(Count),
    Backward(Count),
    Absolute(Expression),
    Relative(Expression),
    First,
    Last,
}

pub enum Count {
    One,
    All,
    Computed(Expression),
}

impl Statement {
    /// As contexts of errors name it.
    pub fn name(&self) -> &'static str {
        match &self.kind {
            StatementKind::Block(_) => "statement block",
            StatementKind::Assign { .. } => "assignment",
            StatementKind::If { .. } => "IF",
            StatementKind::Case { .. } => "CASE",
            StatementKind::Loop(Loop { kind, .. }) => match kind {
                LoopKind::Endless => "LOOP",
                LoopKind::While(_) => "WHILE",
                LoopKind::Integer { .. } => "FOR with integer loop variable",
                LoopKind::Query {
                    query: Query::Static(_),
                    ..
                } => "FOR over SELECT rows",
                LoopKind::Query { .. } => "FOR over EXECUTE statement",
                LoopKind::Cursor { .. } => "FOR over cursor",
                LoopKind::Array { .. } => "FOREACH over array",
            },
            StatementKind::Exit { leaves: true, .. } => "EXIT",
            StatementKind::Exit { .. } => "CONTINUE",
            StatementKind::Return(_) => "RETURN",
            StatementKind::ReturnNext(_) => "RETURN NEXT",
            StatementKind::ReturnQuery(_) => "RETURN QUERY",
            StatementKind::Raise(_) => "RAISE",
            StatementKind::Assert { .. } => "ASSERT",
            StatementKind::Sql { .. } => "SQL statement",
            StatementKind::Perform(_) => "PERFORM",
            StatementKind::Call(call)
                if call
                    .text()
                    .trim_start()
                    .get(..2)
                    .is_some_and(|w| w.eq_ignore_ascii_case("do")) =>
            {
                "DO"
            }
            StatementKind::Call(_) => "CALL",
            StatementKind::Execute { .. } => "EXECUTE",
            StatementKind::GetDiagnostics { stacked: true, .. } => "GET STACKED DIAGNOSTICS",
            StatementKind::GetDiagnostics { .. } => "GET DIAGNOSTICS",
            StatementKind::Open { .. } => "OPEN",
            StatementKind::Fetch { into: Some(_), .. } => "FETCH",
            StatementKind::Fetch { .. } => "MOVE",
            StatementKind::Close(_) => "CLOSE",
            StatementKind::Null => "NULL",
            StatementKind::Transaction { commit: true, .. } => "COMMIT",
            StatementKind::Transaction { .. } => "ROLLBACK",
        }
    }
}
