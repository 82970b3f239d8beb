//! What can be done with values alone, whether an expression asks or the body of a function: `order` (order, equality,
//! hash), `convert` (between types), `array` (arrays of arrays).
//!
//! Source: PostgreSQL finds what compares and converts by OID (typcache.c, fmgr.c); here the variant of a value decides.
//!
//! Leaves out: expressions (`expr`), bodies (`functions`), and what a type says of itself (`mote_types`).

mod array;
mod convert;
mod order;

pub use array::{accumulate_arrays, stack_arrays};
pub use convert::convert;
pub use order::{Operation, equal, equal_rows, hash_row, hash_values, order, same};
