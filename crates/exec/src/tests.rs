//! Tests of crates below this one that need sessions.

mod catalog;
mod expr;
pub(crate) mod query;
mod views;
