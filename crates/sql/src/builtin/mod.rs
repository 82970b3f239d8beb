//! What every database has: the signatures of built-in functions, operators and casts, constants of the binary.
//!
//! Source: PostgreSQL 15's pg_proc.dat, pg_operator.dat, pg_aggregate.dat, pg_cast.dat.
//!
//! Leaves out: their bodies (the crates `functions` and `executor`), what users define (`crate::routine`, `crate::catalog`).

pub mod cast;
pub mod function;
pub mod operator;
