//! What every database has: the signatures of built-in functions, operators and casts, constants of the binary.
//!
//! Leaves out: their bodies (`executor::functions`), what users define (`crate::routine`, `crate::catalog`).

pub mod cast;
pub mod function;
pub mod operator;
