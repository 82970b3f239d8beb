//! Results as people and programs read them.
//!
//! Read in this order: `summary` (figures computed once from a run), `table` (text for the terminal), `live` (one line
//! per second), `json` (everything, for programs), `store` (runs in SQLite), `benchmarksql` (that program's result files),
//! `section`, `versus`, `pairs` and `proofs` (what an experiment, a comparison, a pair of servers and a run found and proved),
//! `page` (what every page is made of), `charts` (what is drawn), `html` (what stands on which page).
//! Promises: all forms show the same figures, from the same `Summary`.

pub mod summary;
pub mod table;
pub mod live;
pub mod json;
pub mod store;
pub mod benchmarksql;
pub mod page;
pub mod section;
pub mod proofs;
pub mod versus;
pub mod pairs;
pub mod charts;
pub mod html;

pub use proofs::Proofs;
pub use summary::Summary;
