//! What ANALYZE learns of a table: `sample` (which rows, and their values), `column` (what values tell).
//!
//! Leaves out: which columns are asked for, and what the catalog keeps (`mote_commands::analyze`).

pub mod column;
pub mod sample;
