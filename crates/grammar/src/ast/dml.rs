//! INSERT, UPDATE, DELETE, MERGE.

use super::{Expr, FromItem, IndirectionStep, Location, Name, Query, RelationReference, Target, With};

#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    pub with: Option<With>,
    pub table: RelationReference,
    /// Empty when no list was written.
    pub columns: Vec<ColumnTarget>,
    pub overriding: Overriding,
    pub source: InsertSource,
    pub on_conflict: Option<OnConflict>,
    pub returning: Option<Returning>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum InsertSource {
    DefaultValues,
    /// VALUES or a query; `DEFAULT` may stand among the values.
    Query(Box<Query>),
}

/// A column that takes a value: `a`, `a[1]`, `a.field`.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnTarget {
    pub name: Name,
    pub indirection: Vec<IndirectionStep>,
    pub location: Location,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overriding {
    None,
    User,
    System,
}

#[derive(Clone, Debug, PartialEq)]
pub struct OnConflict {
    pub target: Option<ConflictTarget>,
    pub action: ConflictAction,
    pub location: Location,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ConflictTarget {
    Constraint(Name),
    Index {
        elements: Vec<ConflictElement>,
        filter: Option<Expr>,
        location: Location,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct ConflictElement {
    /// A bare column is an `ExprKind::Column`.
    pub value: Expr,
    pub collation: Option<super::QualifiedName>,
    pub operator_class: Option<super::QualifiedName>,
    pub location: Location,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ConflictAction {
    Nothing,
    Update {
        assignments: Vec<Assignment>,
        filter: Option<Expr>,
    },
}

/// RETURNING [WITH (OLD AS o, NEW AS n)] targets.
#[derive(Clone, Debug, PartialEq)]
pub struct Returning {
    pub old_alias: Option<Name>,
    pub new_alias: Option<Name>,
    pub targets: Vec<Target>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Assignment {
    /// `a = value`.
    Single { column: ColumnTarget, value: Expr },
    /// `(a, b) = source`: a row constructor, a subquery, or any row-valued expression.
    Multiple {
        columns: Vec<ColumnTarget>,
        source: Expr,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    pub with: Option<With>,
    pub table: RelationReference,
    pub assignments: Vec<Assignment>,
    pub from: Vec<FromItem>,
    pub filter: Option<Expr>,
    pub returning: Option<Returning>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    pub with: Option<With>,
    pub table: RelationReference,
    pub using: Vec<FromItem>,
    pub filter: Option<Expr>,
    pub returning: Option<Returning>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Merge {
    pub with: Option<With>,
    pub table: RelationReference,
    pub source: FromItem,
    pub condition: Expr,
    pub branches: Vec<MergeBranch>,
    pub returning: Option<Returning>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct MergeBranch {
    pub when: MergeMatch,
    pub condition: Option<Expr>,
    pub action: MergeAction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeMatch {
    Matched,
    NotMatchedBySource,
    NotMatchedByTarget,
}

#[derive(Clone, Debug, PartialEq)]
pub enum MergeAction {
    DoNothing,
    Delete,
    Update(Vec<Assignment>),
    /// Empty `values`: DEFAULT VALUES.
    Insert {
        columns: Vec<ColumnTarget>,
        overriding: Overriding,
        values: Vec<Expr>,
    },
}
