//! How the values of one type compare: seven functions and six operators that every type with an order has, differing in
//! their numbers and names alone.
//!
//! Leaves out: comparisons of different types, and of other orders than the type's own (`citext_pattern_lt`), which stand in
//! the tables of their types; operator classes.

use super::{Routine, listed, routine};
use crate::compare::compare;
use crate::datum::Datum;
use crate::oid::{BOOL, INT4, Oid};
use crate::signature::{OperatorRow, function, operator};
use mote_common::SqlResult;

/// The rows of one type, each in this order: `<`, `<=`, `=`, `>=`, `>`, `<>`; last the function that B-trees order by.
pub struct Comparisons {
    pub functions: [Routine; Comparisons::FUNCTIONS],
    pub operators: [OperatorRow; 6],
}

/// The name of a function and that of its body.
type Names = (&'static str, &'static str);

impl Comparisons {
    pub const FUNCTIONS: usize = 7;

    /// `pair`: the type twice. [`comparisons`] writes the names.
    pub const fn new(
        pair: &'static [Oid; 2],
        names: [Names; Comparisons::FUNCTIONS],
        functions: [u32; Comparisons::FUNCTIONS],
        operators: [u32; 6],
    ) -> Comparisons {
        const fn comparison(oid: u32, names: Names, pair: &'static [Oid; 2]) -> Routine {
            listed(function(oid, names.0, names.1, pair, BOOL))
        }
        let [lt, le, eq, ge, gt, ne] = operators;
        let f = functions;
        let ty = pair[0];
        Comparisons {
            functions: [
                comparison(f[0], names[0], pair),
                comparison(f[1], names[1], pair),
                comparison(f[2], names[2], pair),
                comparison(f[3], names[3], pair),
                comparison(f[4], names[4], pair),
                comparison(f[5], names[5], pair),
                routine(function(f[6], names[6].0, names[6].1, pair, INT4), order),
            ],
            operators: [
                operator(lt, "<", ty, ty, BOOL, f[0], gt, ge),
                operator(le, "<=", ty, ty, BOOL, f[1], ge, gt),
                operator(eq, "=", ty, ty, BOOL, f[2], eq, ne),
                operator(ge, ">=", ty, ty, BOOL, f[3], le, lt),
                operator(gt, ">", ty, ty, BOOL, f[4], lt, le),
                operator(ne, "<>", ty, ty, BOOL, f[5], ne, eq),
            ],
        }
    }

    /// With other names for the operators of the order: `<`, `<=`, `>=`, `>`.
    pub const fn ordered_by(mut self, names: [&'static str; 4]) -> Comparisons {
        self.operators[0].name = names[0];
        self.operators[1].name = names[1];
        self.operators[3].name = names[2];
        self.operators[4].name = names[3];
        self
    }
}

/// [`Comparisons`] of a type: how the names of its functions begin (and those of their bodies, if otherwise), the OIDs of the
/// functions, and those of the operators.
macro_rules! comparisons {
    ($ty:expr, $name:literal, $functions:expr, $operators:expr) => {
        comparisons!($ty, $name as $name, $functions, $operators)
    };
    ($ty:expr, $name:literal as $body:literal, $functions:expr, $operators:expr) => {
        $crate::family::comparisons::Comparisons::new(
            &[$ty, $ty],
            [
                (concat!($name, "lt"), concat!($body, "lt")),
                (concat!($name, "le"), concat!($body, "le")),
                (concat!($name, "eq"), concat!($body, "eq")),
                (concat!($name, "ge"), concat!($body, "ge")),
                (concat!($name, "gt"), concat!($body, "gt")),
                (concat!($name, "ne"), concat!($body, "ne")),
                (concat!($name, "cmp"), concat!($body, "cmp")),
            ],
            $functions,
            $operators,
        )
    };
}
pub(super) use comparisons;

/// -1, 0 or 1, in the order of the type.
pub(super) fn order(arguments: &[Datum]) -> SqlResult<Datum> {
    Ok(Datum::Int4(compare(&arguments[0], &arguments[1]) as i32))
}
