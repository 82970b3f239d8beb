//! Ranges and multiranges of any type that has an order: `int4range`, `int4multirange` and their kin.
//!
//! Read `span` (making ranges, how two of them lie), `span_set` (sets of them), then `functions`; `table` registers what SQL calls,
//! which is polymorphic. The facts are PostgreSQL 15's `rangetypes.c`, `multirangetypes.c` and catalogs; docs/design/0037 has
//! the decisions.
//! Leaves out: which types there are (`catalog::range`), their values (`datum`) and order (`compare`), text and wire
//! (`format::range`), constructors and aggregates, which know the type of the call (`mote_functions::range`); what GiST and
//! SP-GiST classes need.

mod functions;
mod span;
mod span_set;
mod table;
#[cfg(test)]
mod tests;

pub use functions::{intersection, multirange, spans};
pub use span::make;
pub use span_set::normalized;

use super::TypeFamily;

pub const FAMILY: TypeFamily = TypeFamily {
    types: &[],
    compared: &["range", "multirange"],
    comparisons: table::COMPARISONS,
    routines: table::ROUTINES,
    input_output: &[],
    operators: table::OPERATORS,
    aggregates: &[],
    casts: &[],
    classes: table::CLASSES,
    hash_classes: table::HASH_CLASSES,
};
