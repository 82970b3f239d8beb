//! Tests of crates below this one that need sessions.

mod catalog;
mod views;
