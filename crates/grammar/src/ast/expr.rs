//! Expressions.
//!
//! Every form the grammar tells apart has its own variant, because meaning depends on the form: `x IN (1, 2)` is not
//! `x = 1 OR x = 2` when it comes to typing. Forms that PostgreSQL itself turns into function calls while parsing
//! (`AT TIME ZONE`, `EXTRACT`, `SUBSTRING(.. FROM ..)`, `OVERLAPS`, ...) arrive as `FunctionCall` with `sql_syntax` set, under
//! the function's name in `pg_catalog`.

use super::{Location, Name, OperatorName, QualifiedName, Query, SortBy, TypeName, WindowSpecification};

/// An expression and its place: the operator's own byte for operators, the first byte for all else.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    pub kind: ExprKind,
    pub location: Location,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    Constant(Constant),
    /// `$n`, counted from 1.
    Parameter(u32),
    Column(ColumnReference),
    /// `(expr).field`, `expr[1]`, `$1.*`.
    Indirection {
        base: Box<Expr>,
        steps: Vec<IndirectionStep>,
    },
    /// A prefix operator has no left side.
    Operator {
        name: OperatorName,
        left: Option<Box<Expr>>,
        right: Box<Expr>,
    },
    /// Two or more operands; nested ANDs are flat.
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Not(Box<Expr>),
    IsNull {
        operand: Box<Expr>,
        negated: bool,
    },
    BooleanTest {
        operand: Box<Expr>,
        value: TruthValue,
        negated: bool,
    },
    IsDistinctFrom {
        left: Box<Expr>,
        right: Box<Expr>,
        negated: bool,
    },
    InList {
        operand: Box<Expr>,
        list: Vec<Expr>,
        negated: bool,
    },
    /// `operand IN (query)`. `NOT IN` arrives as `Not` around it.
    InQuery {
        operand: Box<Expr>,
        query: Box<Query>,
    },
    /// `operand operator ANY|ALL (array)`.
    QuantifiedArray {
        operand: Box<Expr>,
        operator: OperatorName,
        quantifier: Quantifier,
        array: Box<Expr>,
    },
    /// `operand operator ANY|ALL (query)`; a row operand is an `ExprKind::Row`.
    QuantifiedQuery {
        operand: Box<Expr>,
        operator: OperatorName,
        quantifier: Quantifier,
        query: Box<Query>,
    },
    Between {
        operand: Box<Expr>,
        low: Box<Expr>,
        high: Box<Expr>,
        symmetric: bool,
        negated: bool,
    },
    Like {
        form: LikeForm,
        operand: Box<Expr>,
        pattern: Box<Expr>,
        escape: Option<Box<Expr>>,
        negated: bool,
    },
    Case {
        operand: Option<Box<Expr>>,
        branches: Vec<CaseBranch>,
        otherwise: Option<Box<Expr>>,
    },
    Coalesce(Vec<Expr>),
    Greatest(Vec<Expr>),
    Least(Vec<Expr>),
    NullIf(Box<Expr>, Box<Expr>),
    Function(Box<FunctionCall>),
    /// `CAST(x AS t)`, `x::t` and the typed literal `t 'text'`, which are the same.
    Cast {
        operand: Box<Expr>,
        target: TypeName,
    },
    Row {
        fields: Vec<Expr>,
        form: RowForm,
    },
    /// `ARRAY[a, b]`. Nested brackets are nested `Array`s.
    Array(Vec<Expr>),
    Exists(Box<Query>),
    ScalarQuery(Box<Query>),
    ArrayQuery(Box<Query>),
    Collate {
        operand: Box<Expr>,
        collation: QualifiedName,
    },
    /// `CURRENT_TIMESTAMP(3)` and its kin. `location` is that of the keyword.
    SqlValue {
        function: SqlValueFunction,
        precision: Option<i32>,
    },
    /// `GROUPING(a, b)`.
    Grouping(Vec<Expr>),
    /// `DEFAULT` as a value of INSERT or UPDATE.
    Default,
    /// `WHERE CURRENT OF cursor`.
    CurrentOf(Name),
    /// `merge_action()`.
    MergeAction,
}

/// A literal. The types are PostgreSQL's: an integer that fits is int4; `Number` is int8 when it is whole and fits,
/// else numeric; a quoted string has no type until its context gives it one.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    Null,
    Boolean(bool),
    Integer(i32),
    /// Digits as written (`1_000`, `0x1F`, `1e10` included), for literals that do not fit `Integer`.
    Number(Box<str>),
    String(Box<str>),
    /// `B'101'`: the digits.
    BitString(Box<str>),
    /// `X'1F'`: the digits.
    HexString(Box<str>),
}

/// `a`, `t.a`, `s.t.a`, `*`, `t.*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnReference {
    /// Empty only for a bare `*`.
    pub parts: Vec<Name>,
    /// A trailing `*`.
    pub star: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum IndirectionStep {
    Field(Name),
    Star,
    Subscript(Expr),
    Slice {
        lower: Option<Expr>,
        upper: Option<Expr>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantifier {
    /// ANY and SOME.
    Any,
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TruthValue {
    True,
    False,
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LikeForm {
    Like,
    ILike,
    SimilarTo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowForm {
    /// `ROW(a, b)`.
    Explicit,
    /// `(a, b)`.
    Implicit,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CaseBranch {
    pub condition: Expr,
    pub result: Expr,
    pub location: Location,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlValueFunction {
    CurrentDate,
    CurrentTime,
    CurrentTimestamp,
    LocalTime,
    LocalTimestamp,
    CurrentRole,
    CurrentUser,
    User,
    SessionUser,
    CurrentCatalog,
    CurrentSchema,
}

/// A function, aggregate or window function call.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionCall {
    pub name: QualifiedName,
    pub arguments: Vec<Argument>,
    /// `f(*)`.
    pub star: bool,
    /// The last argument stands behind VARIADIC.
    pub variadic: bool,
    pub distinct: bool,
    /// ORDER BY inside the parentheses, or of WITHIN GROUP.
    pub order_by: Vec<SortBy>,
    pub within_group: bool,
    pub filter: Option<Expr>,
    pub over: Option<WindowSpecification>,
    /// Written in SQL's own syntax (`EXTRACT(year FROM x)`), which deparsing restores.
    pub sql_syntax: bool,
    pub location: Location,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// `name => value`.
    pub name: Option<Name>,
    pub value: Expr,
}

impl FunctionCall {
    /// A call of arguments by position, with nothing that aggregates and window functions may have besides.
    pub fn plain(
        name: QualifiedName,
        arguments: impl IntoIterator<Item = Expr>,
        location: Location,
    ) -> FunctionCall {
        let arguments = arguments.into_iter().map(|value| Argument { name: None, value });
        FunctionCall {
            name,
            arguments: arguments.collect(),
            star: false,
            variadic: false,
            distinct: false,
            order_by: Vec::new(),
            within_group: false,
            filter: None,
            over: None,
            sql_syntax: false,
            location,
        }
    }
}

impl Expr {
    /// The leftmost place of the expression, which is where PostgreSQL points when the whole is at fault.
    pub fn start(&self) -> Location {
        let inner = match &self.kind {
            ExprKind::Operator { left: Some(left), .. } => left,
            ExprKind::InList { operand, .. }
            | ExprKind::InQuery { operand, .. }
            | ExprKind::Like { operand, .. }
            | ExprKind::Between { operand, .. }
            | ExprKind::IsNull { operand, .. }
            | ExprKind::BooleanTest { operand, .. }
            | ExprKind::QuantifiedArray { operand, .. }
            | ExprKind::QuantifiedQuery { operand, .. }
            | ExprKind::Collate { operand, .. } => operand,
            ExprKind::IsDistinctFrom { left, .. } => left,
            ExprKind::Cast { operand, .. } => operand,
            ExprKind::And(list) | ExprKind::Or(list) => match list.first() {
                Some(first) => return first.start(),
                None => return self.location,
            },
            _ => return self.location,
        };
        let start = inner.start();
        let earlier = start.0 >= 0 && (self.location.0 < 0 || start.0 < self.location.0);
        if earlier { start } else { self.location }
    }
}
