//! Which module of a crate uses which, read from the sources, and the order they are meant to have.
//!
//! `modules` reads every file of a crate and finds the paths it names: those of `use` and those in the code that begin
//! with `crate` or `super`. What a module only re-exports counts as the module's that it comes from. `arrows` are those
//! between first-level modules, `circles` those of siblings at every depth below. `order` reads `layers.txt`: the intended
//! layers of each crate, the arrows that still run up, and the circles that have a reason. `crates` reads manifests: which crate
//! uses which, and that none grows too large. `documents` finds what the documents name and nobody has; `habits` who forbids
//! `unsafe` and which functions are too wide. `tests/order.rs` holds all this against the code and draws the picture in
//! ARCHITECTURE.md.
//!
//! Tokens come from proc-macro2, so that comments, strings and macros' bodies are told apart from code. Leaves out:
//! modules for tests (`#[cfg(test)]`, folders and files named `tests`), uses through macros by example, and methods, which
//! no path names. That
//! crates form no circle is cargo's to refuse.

#![forbid(unsafe_code)]

pub mod arrows;
pub mod circles;
pub mod crates;
pub mod documents;
pub mod habits;
pub mod modules;
pub mod order;
pub mod paths;
