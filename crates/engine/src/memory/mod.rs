//! Memory: where versions live and who may take how much.
//!
//! Read in this order:
//!  1. `budget`: the limit, the reserve and the credits;
//!  2. `slab`: size classes of 8 bytes for versions, with a cache per thread;
//!  3. `mapping`: large pieces from the system, on huge pages;
//!  4. `scratch`: blocks of such pieces for work that is thrown away;
//!  5. `stripe`: which of several counters a thread uses.
//!
//! Promises: nothing is allocated for a row before the budget agreed; returning memory never fails and never waits.
//! Leaves out: index nodes (they ask the budget through `index::MemoryAccount`), the log's ring, memory of statements.

mod budget;
pub(crate) mod mapping;
pub(crate) mod scratch;
pub(crate) mod slab;
pub(crate) mod stripe;

pub(crate) use budget::{Charge, IndexAccount};
pub use budget::{MemoryBudget, MemoryReport};
