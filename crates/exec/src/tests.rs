//! Tests of crates below this one that need sessions.

mod catalog;
mod catalog_sizes;
mod commands;
mod copy;
mod embedded;
mod expr;
pub(crate) mod query;
mod routines;
mod running_routines;
pub(crate) mod support;
mod views;
