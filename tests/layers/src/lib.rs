//! Which module of a crate uses which, read from the sources, and the order they are meant to have.
//!
//! `arrows` reads every file of a crate and finds the paths it names: those of `use` and those in the code that begin
//! with `crate` or `super`. An arrow goes from one first-level module to another; what a crate's root re-exports counts
//! as a use of the module it comes from. `order` reads `layers.txt`, the intended layers of each crate and the arrows
//! that still run up. `crates` reads manifests: which crate uses which, and that none grows too large. `documents` finds what
//! the documents name and nobody has; `habits` who forbids `unsafe` and which functions are too wide. `tests/order.rs` holds all this against the code and draws the picture in
//! ARCHITECTURE.md.
//!
//! Tokens come from proc-macro2, so that comments, strings and macros' bodies are told apart from code. Leaves out:
//! modules for tests (`#[cfg(test)]`, folders and files named `tests`) and uses through macros by example. That
//! crates form no circle is cargo's to refuse.

#![forbid(unsafe_code)]

pub mod arrows;
pub mod crates;
pub mod documents;
pub mod habits;
pub mod order;
pub mod paths;
