//! The compiled form of a body: statements with their variables found, expressions with the names they see.
//!
//! Invariants: immutable but for the plans of expressions, which are made when they are first needed; variables are
//! numbered over the whole body, and an expression's parameter `n` is variable `n`. So one `Code` serves every run of
//! its body in a session, nested runs included: what changes during a run stands in its `run::frame::Frame`.
//!
//! Leaves out: labels of loops and blocks are checked by `compile`; a run only compares their names.

pub mod expression;
pub mod names;
pub mod spare;

use std::sync::Arc;

use mote_common::{Oid, SqlState};
use mote_grammar::plpgsql::tree::NameConflict;
use mote_grammar::plpgsql::tree::{DiagnosticsItem, RaiseLevel, RaiseOption};
use mote_types::{ColumnType, RowType};

use parking_lot::Mutex;

use expression::Expression;
use names::Arena;
use spare::Lists;

/// Number of a variable within its body.
pub type VariableId = u16;

/// A compiled body. What it takes from the catalog stands in `relations`, by which `language::is_current` tells that
/// it is stale.
pub struct Code {
    /// As errors name it: `f(integer)`, `inline_code_block`.
    pub signature: Arc<str>,
    /// By their numbers; over the whole body, whatever block declares them.
    pub variables: Arc<[Variable]>,
    /// What every expression's scope is a place in.
    pub arena: Arc<Arena>,
    /// `#variable_conflict`: what a name means that is a variable and a column.
    pub conflict: NameConflict,
    /// `#print_strict_params`: whether the errors of INTO STRICT tell the values that the query read.
    pub print_strict_params: bool,
    pub block: Block,
    /// The variables of the input arguments, in order.
    pub arguments: Vec<VariableId>,
    /// The variables of OUT, INOUT and TABLE arguments, in order.
    pub outputs: Vec<VariableId>,
    /// FOUND. Statements set it, and nested blocks of the body share it.
    pub found: VariableId,
    pub returns: Returns,
    /// Set for trigger functions.
    pub trigger: Option<TriggerVariables>,
    /// The tables whose rows variables are made of, with their versions: another one needs another code.
    pub relations: Vec<(Oid, u64)>,
    /// How many expressions there are; they are numbered from 0.
    pub expressions: usize,
    /// The lists of a run that is over, for the next one: its variables, and the plans that it has used.
    pub spare: Mutex<Option<Lists>>,
}

/// Variables that a trigger function has besides its own.
pub struct TriggerVariables {
    pub new: VariableId,
    pub old: VariableId,
    /// TG_NAME and its kin, in the order of `trigger::NAMES`.
    pub others: Vec<VariableId>,
}

/// What kind of result a body owes its caller: decides which forms of RETURN it may use, and what its end means.
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

/// A declared variable, an argument, or one that the language declares (FOUND, SQLSTATE, the operand of a CASE).
pub struct Variable {
    pub name: String,
    pub kind: VariableKind,
    /// Assignments of NULL are refused at run time; `compile` makes sure that there is a default.
    pub not_null: bool,
    /// `compile` refuses assignments; its own default is assigned at the entry of the block.
    pub constant: bool,
    /// Of its declaration.
    pub line: u32,
    /// Computed anew whenever its block is entered. It does not see the variable itself.
    pub default: Option<Expression>,
    /// Set for a bound cursor.
    pub cursor: Option<Box<CursorDefinition>>,
}

/// A scalar of type `unknown` is the operand of a CASE: it takes the type of what is assigned to it.
#[derive(Clone)]
pub enum VariableKind {
    Scalar(ColumnType),
    /// With a structure of its own, or whatever is assigned.
    Record(Option<Arc<RowType>>),
}

impl VariableKind {
    /// The declared type; a run may know a narrower one (`Frame::types`, `Frame::row_of`).
    pub fn ty(&self) -> ColumnType {
        match self {
            VariableKind::Scalar(ty) => *ty,
            VariableKind::Record(row) => row.as_ref().map_or(ColumnType::RECORD, |row| row.ty()),
        }
    }
}

/// `name CURSOR (parameters) FOR query`. The parameters are variables that OPEN assigns.
pub struct CursorDefinition {
    /// SCROLL, NO SCROLL, or neither: then the plan decides whether it can run backwards.
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

/// An EXCEPTION section. The variables are SQLSTATE and SQLERRM, which all its handlers share.
pub struct Exceptions {
    pub state: VariableId,
    pub message: VariableId,
    pub handlers: Vec<Handler>,
}

/// WHEN conditions THEN statements; the first handler that has a condition of the error runs.
pub struct Handler {
    pub conditions: Vec<Condition>,
    pub statements: Vec<Statement>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Condition {
    Others,
    State(SqlState),
}

/// A statement, and the line of the body at which it begins, for the context of errors.
pub struct Statement {
    pub line: u32,
    pub kind: StatementKind,
}

/// What is assigned to.
pub struct Target {
    pub variable: VariableId,
    /// From the variable inwards; empty: the variable itself.
    pub steps: Vec<Step>,
}

pub enum Step {
    /// By name: the structure of a record is known only when it runs.
    Field(String),
    /// Subscripts in a row: elements, or slices.
    Subscripts(Vec<Subscript>),
}

pub enum Subscript {
    Element(Expression),
    Slice(Option<Expression>, Option<Expression>),
}

/// INTO. STRICT wants exactly one row.
pub struct Destination {
    pub strict: bool,
    pub targets: Vec<Target>,
}

/// The statements. What one does stands in `run`, by the same names.
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
    /// With an operand every condition reads its variable (`compile::statement`). Without ELSE, CASE that finds no
    /// branch is an error; hence the difference between no `otherwise` and an empty one.
    Case {
        operand: Option<(VariableId, Expression)>,
        branches: Vec<(Expression, Vec<Statement>)>,
        otherwise: Option<Vec<Statement>>,
    },
    Loop(Loop),
    /// EXIT (`leaves`) and CONTINUE.
    Exit {
        leaves: bool,
        label: Option<String>,
        condition: Option<Expression>,
    },
    /// Without an expression the OUT arguments, or nothing, are the result.
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
    /// CALL and DO: both may run a body that ends the transaction.
    Call(Expression),
    /// EXECUTE: a text computed at run time.
    Execute {
        query: Expression,
        using: Vec<Expression>,
        into: Option<Destination>,
    },
    /// `stacked` reads the error whose handler runs.
    GetDiagnostics {
        stacked: bool,
        items: Vec<(Target, DiagnosticsItem)>,
    },
    Open {
        cursor: VariableId,
        how: Open,
    },
    /// FETCH, and MOVE, which has no INTO.
    Fetch {
        cursor: VariableId,
        direction: Direction,
        into: Option<Destination>,
    },
    Close(VariableId),
    Null,
    /// COMMIT and ROLLBACK, with AND CHAIN.
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
    /// Bounds and step are computed once, before the first turn.
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
    /// `row` is a record of the loop's own; `arguments` are as in [`Open::Bound`].
    Cursor {
        row: VariableId,
        cursor: VariableId,
        arguments: Option<Expression>,
    },
    /// FOREACH; `slice` is 0 for single elements, else the number of dimensions of each piece.
    Array {
        targets: Vec<Target>,
        slice: u32,
        array: Expression,
    },
}

/// Where rows come from: SQL of the body, or EXECUTE of a computed text.
pub enum Query {
    Static(Expression),
    Dynamic {
        text: Expression,
        using: Vec<Expression>,
    },
}

/// RAISE. Without a level it is EXCEPTION; `again` is RAISE without anything, which raises the handled error anew.
pub struct Raise {
    pub level: RaiseLevel,
    pub again: bool,
    /// The first code of the condition that it names, which may have several.
    pub state: Option<SqlState>,
    /// The condition's name, the message where there is no other.
    pub condition: Option<String>,
    /// The message, with one `%` per argument; the parser has counted them.
    pub format: Option<String>,
    pub arguments: Vec<Expression>,
    pub options: Vec<(RaiseOption, Expression)>,
}

/// OPEN. A bound cursor has all its arguments as one query of one row, in the order of its parameters.
pub enum Open {
    Bound(Option<Expression>),
    Query { scroll: Option<bool>, query: Query },
}

/// Where FETCH and MOVE go. FIRST and LAST stand for ABSOLUTE 1 and ABSOLUTE -1.
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
    /// As contexts of errors name it: PostgreSQL's words (plpgsql_stmt_typename, pl_funcs.c).
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
            // The tree has one statement for both: the first word tells them apart without the grammar.
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
            // The two differ in INTO alone.
            StatementKind::Fetch { into: Some(_), .. } => "FETCH",
            StatementKind::Fetch { .. } => "MOVE",
            StatementKind::Close(_) => "CLOSE",
            StatementKind::Null => "NULL",
            StatementKind::Transaction { commit: true, .. } => "COMMIT",
            StatementKind::Transaction { .. } => "ROLLBACK",
        }
    }
}
