//! SELECT, VALUES and set operations, with all that hangs on them: WITH, FROM, windows, ORDER BY, LIMIT, locks.

use super::{ColumnDefinition, Expr, Location, Name, OperatorName, RelationName, Statement};

/// A query expression. WITH, ORDER BY, LIMIT and FOR UPDATE belong to the whole, also over a set operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    pub with: Option<With>,
    pub body: QueryBody,
    pub order_by: Vec<SortBy>,
    pub limit: Option<Limit>,
    pub offset: Option<Expr>,
    pub locking: Vec<Locking>,
    /// Of the first output column: the grammar keeps no other.
    pub location: Location,
}

#[derive(Clone, Debug, PartialEq)]
pub enum QueryBody {
    Select(Box<Select>),
    Values(Vec<Vec<Expr>>),
    /// `first operator arm operator arm ..`, each operator over all that stands to the left of it. A chain is one list
    /// however long it is, so that nothing that walks it goes deeper for each arm.
    SetOperation {
        first: Box<Query>,
        /// One at least.
        rest: Vec<SetArm>,
    },
}

/// What a set operation joins to the arms before it.
#[derive(Clone, Debug, PartialEq)]
pub struct SetArm {
    pub operator: SetOperator,
    pub all: bool,
    pub query: Query,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOperator {
    Union,
    Intersect,
    Except,
}

/// `SELECT targets FROM .. WHERE .. GROUP BY .. HAVING .. WINDOW ..`. `TABLE t` arrives as `SELECT * FROM t`.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    pub distinct: Option<Distinct>,
    pub targets: Vec<Target>,
    pub from: Vec<FromItem>,
    pub filter: Option<Expr>,
    pub group_by: Vec<GroupingElement>,
    /// `GROUP BY DISTINCT`.
    pub group_distinct: bool,
    pub having: Option<Expr>,
    pub windows: Vec<NamedWindow>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Distinct {
    All,
    On(Vec<Expr>),
}

/// One output column: `value [AS name]`. Also the items of RETURNING.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    pub name: Option<Name>,
    pub value: Expr,
    pub location: Location,
}

#[derive(Clone, Debug, PartialEq)]
pub enum GroupingElement {
    Expr(Expr),
    /// `()`.
    Empty,
    Rollup(Vec<GroupingElement>),
    Cube(Vec<GroupingElement>),
    /// `GROUPING SETS (..)`.
    Sets(Vec<GroupingElement>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct With {
    pub recursive: bool,
    pub tables: Vec<CommonTable>,
    pub location: Location,
}

/// `name (columns) AS [NOT MATERIALIZED] (statement)`.
#[derive(Clone, Debug, PartialEq)]
pub struct CommonTable {
    pub name: Name,
    pub columns: Vec<Name>,
    pub materialized: Materialization,
    /// A query, or INSERT, UPDATE, DELETE, MERGE.
    pub statement: Statement,
    pub location: Location,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Materialization {
    Default,
    Always,
    Never,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Alias {
    pub name: Name,
    /// Column aliases, fewer than the columns or as many.
    pub columns: Vec<Name>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum FromItem {
    Relation(RelationReference),
    Subquery {
        query: Box<Query>,
        lateral: bool,
        alias: Option<Alias>,
        location: Location,
    },
    Function(Box<TableFunction>),
    Join(Box<Join>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct RelationReference {
    pub name: RelationName,
    /// `ONLY t`: without the tables that inherit from it.
    pub only: bool,
    pub alias: Option<Alias>,
    pub sample: Option<Box<TableSample>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TableSample {
    pub method: super::QualifiedName,
    pub arguments: Vec<Expr>,
    pub repeatable: Option<Expr>,
    pub location: Location,
}

/// `f(x)` or `ROWS FROM (f(x), g(y))` in FROM.
#[derive(Clone, Debug, PartialEq)]
pub struct TableFunction {
    /// One, unless `rows_from`.
    pub functions: Vec<TableFunctionItem>,
    pub rows_from: bool,
    pub lateral: bool,
    /// WITH ORDINALITY.
    pub ordinality: bool,
    pub alias: Option<Alias>,
    /// `AS t (a int, b text)`: the column definition list of the whole.
    pub column_definitions: Vec<ColumnDefinition>,
    pub location: Location,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TableFunctionItem {
    /// A function call, or what the grammar lets stand for one (`CURRENT_DATE`, a cast).
    pub call: Expr,
    /// The column definition list inside ROWS FROM.
    pub column_definitions: Vec<ColumnDefinition>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Join {
    pub kind: JoinKind,
    pub left: FromItem,
    pub right: FromItem,
    pub condition: JoinCondition,
    /// `(a JOIN b ON ..) AS alias`.
    pub alias: Option<Alias>,
}

/// A cross join is an inner join without a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    Inner,
    Left,
    Right,
    Full,
}

#[derive(Clone, Debug, PartialEq)]
pub enum JoinCondition {
    None,
    On(Expr),
    /// `USING (columns) [AS alias]`.
    Using {
        columns: Vec<Name>,
        alias: Option<Alias>,
    },
    Natural,
}

/// `value [ASC | DESC | USING operator] [NULLS FIRST | LAST]`.
#[derive(Clone, Debug, PartialEq)]
pub struct SortBy {
    pub value: Expr,
    pub direction: SortDirection,
    pub nulls: NullsOrder,
    pub location: Location,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SortDirection {
    Default,
    Ascending,
    Descending,
    Using(OperatorName),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullsOrder {
    Default,
    First,
    Last,
}

/// LIMIT n, LIMIT ALL (a NULL count), FETCH FIRST n ROWS ONLY | WITH TIES.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    pub count: Expr,
    pub with_ties: bool,
}

/// `FOR UPDATE OF a, b SKIP LOCKED`.
#[derive(Clone, Debug, PartialEq)]
pub struct Locking {
    pub strength: LockStrength,
    /// Empty: all tables of FROM.
    pub of: Vec<RelationName>,
    pub wait: LockWait,
}

/// Weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockStrength {
    KeyShare,
    Share,
    NoKeyUpdate,
    Update,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockWait {
    Block,
    SkipLocked,
    NoWait,
}

#[derive(Clone, Debug, PartialEq)]
pub struct NamedWindow {
    pub name: Name,
    pub specification: WindowSpecification,
}

/// What stands behind OVER or `WINDOW w AS`.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowSpecification {
    /// `OVER w` (and nothing else) or `OVER (w ..)`.
    pub base: Option<WindowBase>,
    pub partition_by: Vec<Expr>,
    pub order_by: Vec<SortBy>,
    /// None: none written, which means RANGE UNBOUNDED PRECEDING.
    pub frame: Option<WindowFrame>,
    pub location: Location,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WindowBase {
    /// `OVER name`.
    Same(Name),
    /// `OVER (name ORDER BY ..)`.
    Refined(Name),
}

#[derive(Clone, Debug, PartialEq)]
pub struct WindowFrame {
    pub unit: FrameUnit,
    /// Both ends are written: without BETWEEN there is a start, and the end is the current row.
    pub between: bool,
    pub start: FrameBound,
    pub end: FrameBound,
    pub exclude: FrameExclusion,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameUnit {
    Rows,
    Range,
    Groups,
}

#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound {
    UnboundedPreceding,
    Preceding(Expr),
    CurrentRow,
    Following(Expr),
    UnboundedFollowing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameExclusion {
    None,
    CurrentRow,
    Group,
    Ties,
}
