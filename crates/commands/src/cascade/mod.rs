//! What goes along with what is dropped: relations, routines, types, each with all that depends on it.
//!
//! Read in this order: `relations`, `routines`, `types`. The three call one another, as dependencies lead from one kind to
//! another. Follows performMultipleDeletions (PostgreSQL's dependency.c): all dependents are found and told first, then each is
//! locked just before it goes, from what depends to what it depends on; RESTRICT refuses with one line per dependent.
//! Leaves out: finding users (`uses`), the statement (`drop`).

pub(crate) mod relations;
pub(crate) mod routines;
pub(crate) mod types;
