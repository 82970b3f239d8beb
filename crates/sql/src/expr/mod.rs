//! Typed expressions: the one form that SQL expressions take after binding.
//!
//! An expression reads an input row by position (`Column`), statement parameters (`Parameter`) and values set by an outer
//! node or query (`ExecParameter`). Whatever else it may ask has a form of its own: the session and its clock (`SessionValue`),
//! sequences, sub-queries, functions. Every implicit cast is explicit here; every function and operator is resolved, to a
//! [`FunctionId`] or a [`Routine`]. The executor compiles this form; nothing in it is mutable or tied to a session.
//!
//! Read this file, then `walk` (operands), `same` (is it the same computation), `immutable` (does it depend on settings),
//! `simplify` (smaller, of the same value), `implication` (what follows from conditions).
//!
//! Source: the place of PostgreSQL's primnodes.h; folding is clauses.c's (eval_const_expressions).

mod immutable;
pub mod implication;
mod same;
mod simplify;
mod walk;

pub use same::{Places, same_list};
pub use simplify::{ConstantFolder, simplify};
pub use walk::{aggregate_call_exprs, window_call_exprs};

use std::sync::Arc;

use mote_common::Oid;
use mote_types::{ColumnType, Datum};

use crate::builtin::function::{AggregateId, FunctionId, WindowId};
use crate::routine::Routine;
use mote_grammar::ast::Name;

/// Position in the statement's list of values set during execution: correlated columns, keys of inner index scans.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ExecParameterId(pub u16);

#[derive(Clone, Debug)]
pub enum Expr {
    Constant(Datum, ColumnType),
    /// Only while a statement is bound and optimised, never in a finished plan: a column of a FROM item (or of what a
    /// query level computes: group keys, aggregates, window results). Numbers are unique over the whole statement, so
    /// that moving an expression between query levels does not change it.
    Variable {
        relation: u16,
        column: u16,
        ty: ColumnType,
        location: i32,
    },
    /// A column of the node's input row.
    Column {
        index: u16,
        ty: ColumnType,
    },
    /// $n of the statement, 0-based here.
    Parameter {
        index: u16,
        ty: ColumnType,
    },
    ExecParameter {
        id: ExecParameterId,
        ty: ColumnType,
    },
    /// A built-in function or operator. Strictness and volatility stand in the function's signature.
    Call {
        function: FunctionId,
        arguments: Vec<Expr>,
        /// The last argument is an array that stands for its elements: VARIADIC, for a function of any arguments.
        variadic: bool,
        ty: ColumnType,
        location: i32,
    },
    /// A function of a user.
    Routine(Box<RoutineExpr>),
    /// Conversion between types, including length and precision coercion to `ty`'s typmod.
    Cast {
        argument: Box<Expr>,
        from: ColumnType,
        ty: ColumnType,
        explicit: bool,
        location: i32,
    },
    /// A value on its way into a domain.
    Domain(Box<DomainExpr>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Not(Box<Expr>),
    IsNull(Box<Expr>),
    IsNotNull(Box<Expr>),
    /// IS TRUE, IS NOT TRUE, ...: (what is tested, negated).
    BooleanTest {
        argument: Box<Expr>,
        test: BooleanTest,
        negated: bool,
    },
    /// IS DISTINCT FROM; `equals` is the types' equality operator.
    DistinctFrom {
        equals: FunctionId,
        left: Box<Expr>,
        right: Box<Expr>,
        negated: bool,
    },
    Case {
        branches: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
        ty: ColumnType,
    },
    Coalesce {
        arguments: Vec<Expr>,
        ty: ColumnType,
    },
    NullIf {
        equals: FunctionId,
        left: Box<Expr>,
        right: Box<Expr>,
        ty: ColumnType,
    },
    /// GREATEST (`greatest`) or LEAST.
    MinMax {
        arguments: Vec<Expr>,
        greatest: bool,
        ty: ColumnType,
    },
    /// `argument operator ANY/ALL (array)`. The array may be long, so copies of the condition share it.
    ArrayComparison {
        function: FunctionId,
        argument: Box<Expr>,
        array: Arc<Expr>,
        all: bool,
    },
    /// `argument IN (constants and parameters)`, all of one type: `function` is its equality. Copies of the condition
    /// share the list: the planner makes one for each index and each order of joins that it looks at.
    InList {
        function: FunctionId,
        argument: Box<Expr>,
        list: Arc<Vec<Expr>>,
        negated: bool,
    },
    Array {
        elements: Vec<Expr>,
        ty: ColumnType,
        multidimensional: bool,
    },
    Row {
        fields: Vec<Expr>,
        /// Empty where the fields have none but `f1`, `f2`, ...
        names: Vec<Name>,
        ty: ColumnType,
    },
    /// Row-wise comparison `(a, b) < (c, d)`; `equals` and `less` per column.
    RowComparison {
        operator: RowOperator,
        left: Vec<Expr>,
        right: Vec<Expr>,
        equals: Vec<FunctionId>,
        less: Vec<FunctionId>,
    },
    /// One subscript list: element access or slice.
    Subscript {
        array: Box<Expr>,
        subscripts: Vec<Subscript>,
        ty: ColumnType,
    },
    /// Only in UPDATE: the array with an element or a slice replaced by `value`.
    SubscriptAssign {
        container: Box<Expr>,
        subscripts: Vec<Subscript>,
        value: Box<Expr>,
        ty: ColumnType,
    },
    FieldSelect {
        record: Box<Expr>,
        field: u16,
        ty: ColumnType,
    },
    SubPlan(Box<SubPlanCall>),
    /// CURRENT_DATE and its kin, user names, and other values of the session and statement.
    SessionValue {
        value: SessionValue,
        ty: ColumnType,
    },
    /// nextval, currval, lastval, setval take the session and are not plain functions.
    Sequence {
        call: SequenceCall,
        arguments: Vec<Expr>,
        ty: ColumnType,
    },
    /// Only inside an `Aggregate` node's output: the n-th aggregate or group key of the node.
    AggregateResult {
        index: u16,
        ty: ColumnType,
    },
    /// Only inside ON CONFLICT DO UPDATE: column of the row proposed for insertion.
    Excluded {
        index: u16,
        ty: ColumnType,
    },
}

/// A value that has to keep the rules of a domain: it comes out as it went in, or the rule's error is raised.
#[derive(Clone, Debug)]
pub struct DomainExpr {
    pub argument: Expr,
    pub rules: Arc<DomainRules>,
    /// The argument's type, or boolean for a test.
    pub ty: ColumnType,
    /// Only the rules are wanted: what comes out is true.
    pub is_test: bool,
}

/// The rules of a domain, those of the domains that it is made of included.
#[derive(Debug)]
pub struct DomainRules {
    pub domain: Oid,
    pub schema: String,
    pub name: String,
    /// In the order in which they are looked at.
    pub rules: Vec<DomainRule>,
}

#[derive(Debug)]
pub enum DomainRule {
    NotNull,
    /// The condition reads a row of the value alone. NULL passes.
    Check {
        name: String,
        condition: Expr,
    },
}

/// A call of a user's function. The plan keeps the function as it was when it was bound, and lists its version.
#[derive(Clone, Debug)]
pub struct RoutineExpr {
    pub routine: Arc<Routine>,
    /// One per input, defaults filled in, variadic ones gathered.
    pub arguments: Vec<Expr>,
    /// Of one row, for a set.
    pub ty: ColumnType,
    /// The columns of its record, where they are known.
    pub columns: Option<Vec<(String, ColumnType)>>,
    pub location: i32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BooleanTest {
    True,
    False,
    Unknown,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowOperator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl BooleanTest {
    /// As it is written behind its argument.
    pub fn words(self, negated: bool) -> &'static str {
        match (self, negated) {
            (BooleanTest::True, false) => "IS TRUE",
            (BooleanTest::True, true) => "IS NOT TRUE",
            (BooleanTest::False, false) => "IS FALSE",
            (BooleanTest::False, true) => "IS NOT FALSE",
            (BooleanTest::Unknown, false) => "IS UNKNOWN",
            (BooleanTest::Unknown, true) => "IS NOT UNKNOWN",
        }
    }
}

impl RowOperator {
    /// As it is written between two rows.
    pub fn sign(self) -> &'static str {
        match self {
            RowOperator::Equal => "=",
            RowOperator::NotEqual => "<>",
            RowOperator::Less => "<",
            RowOperator::LessOrEqual => "<=",
            RowOperator::Greater => ">",
            RowOperator::GreaterOrEqual => ">=",
        }
    }
}

#[derive(Clone, Debug)]
pub enum Subscript {
    Element(Expr),
    Slice(Option<Expr>, Option<Expr>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SessionValue {
    CurrentDate,
    CurrentTime,
    /// now(), CURRENT_TIMESTAMP, transaction_timestamp(): start of the transaction.
    TransactionTimestamp,
    LocalTime,
    LocalTimestamp,
    StatementTimestamp,
    ClockTimestamp,
    CurrentUser,
    SessionUser,
    CurrentSchema,
    CurrentCatalog,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SequenceCall {
    NextValue,
    /// Of an identity column: as NextValue, but whoever may insert may do it.
    NextIdentity,
    CurrentValue,
    LastValue,
    SetValue,
}

/// A call of `Plan::subplans[plan]`. Before each evaluation `bindings` are computed from the current row and stored.
/// Without bindings the result is computed once per execution (an "initplan").
#[derive(Clone, Debug)]
pub struct SubPlanCall {
    pub plan: u16,
    pub kind: SubPlanKind,
    pub bindings: Vec<(ExecParameterId, Expr)>,
    pub ty: ColumnType,
}

#[derive(Clone, Debug)]
pub enum SubPlanKind {
    Exists,
    /// At most one row (21000 otherwise), first column.
    Scalar,
    /// All rows' first columns as an array: as its elements, or `stacked`, arrays that become its parts.
    Array {
        stacked: bool,
    },
    /// `left operator ANY (subquery)`; several columns for row-wise IN. `negated` for NOT IN (with NULL semantics).
    Any {
        left: Vec<Expr>,
        functions: Vec<FunctionId>,
        negated: bool,
    },
    All {
        left: Vec<Expr>,
        functions: Vec<FunctionId>,
    },
}

/// An aggregate call of an `Aggregate` node. Arguments read the node's input row.
#[derive(Clone, Debug)]
pub struct AggregateCall {
    pub aggregate: AggregateId,
    pub arguments: Vec<Expr>,
    pub distinct: bool,
    pub order_by: Vec<SortKey>,
    pub filter: Option<Expr>,
    pub ty: ColumnType,
}

/// A window function call of a `Window` node.
#[derive(Clone, Debug)]
pub struct WindowCall {
    pub function: WindowFunction,
    pub arguments: Vec<Expr>,
    pub filter: Option<Expr>,
    pub frame: WindowFrame,
    pub ty: ColumnType,
}

#[derive(Clone, Copy, Debug)]
pub enum WindowFunction {
    Window(WindowId),
    Aggregate(AggregateId),
}

#[derive(Clone, Debug)]
pub struct WindowFrame {
    pub mode: FrameMode,
    pub start: FrameBound,
    pub end: FrameBound,
    pub exclude: FrameExclusion,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameMode {
    Range,
    Rows,
    Groups,
}

#[derive(Clone, Debug)]
pub enum FrameBound {
    UnboundedPreceding,
    Preceding(Box<Expr>),
    CurrentRow,
    Following(Box<Expr>),
    UnboundedFollowing,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameExclusion {
    NoOthers,
    CurrentRow,
    Group,
    Ties,
}

#[derive(Clone, Debug)]
pub struct SortKey {
    pub expr: Expr,
    pub descending: bool,
    pub nulls_first: bool,
}
