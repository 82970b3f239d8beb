//! Ways to read a base relation, as `scan`, `union` and `append` compare them.

use crate::plan::node::{IndexBound, IndexEquality, Pattern};
use mote_sql::expr::Expr;

/// A way to read a base relation.
#[derive(Clone)]
pub(super) struct Access {
    /// None: sequential, or a union.
    pub index: Option<u16>,
    /// The arms of an OR, each by an index of its own; then nothing else says which rows are read.
    pub union: Option<Box<Union>>,
    pub equals: Vec<IndexEquality>,
    pub lower: Option<IndexBound>,
    pub upper: Option<IndexBound>,
    pub prefix_of: Option<Pattern>,
    pub backward: bool,
    pub single_row: bool,
    /// Positions of the conditions that the index decides.
    pub used: Vec<usize>,
    /// Rows after all given conditions, and the cost of getting them.
    pub rows: f64,
    pub cost: f64,
    /// The wanted order comes for free.
    pub ordered: bool,
}

/// How the arms of one OR are read.
#[derive(Clone)]
pub(super) struct Union {
    pub or: Expr,
    pub arms: Vec<Arm>,
}

#[derive(Clone)]
pub(super) struct Arm {
    pub access: Access,
    /// The arm itself, taken apart at AND.
    pub own: Vec<Expr>,
    /// Positions among `own` that the arm's index decides.
    pub decided: Vec<usize>,
    /// Conditions beside the OR that it decides, too.
    pub decided_others: Vec<Expr>,
}
