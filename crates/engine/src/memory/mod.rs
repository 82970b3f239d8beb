//! Memory: where versions live and who may take how much.
//!
//! Read in this order:
//!  1. `budget`: the limit, the reserve and the credits;
//!     `account`: how an index asks for its share;
//!  2. `session`: the accounts of sessions, for what they keep beside rows and indexes;
//!  3. `slab`: size classes of 8 bytes for versions, with a cache per thread; free pages go back to the system;
//!  4. `mapping`: large pieces from the system, on huge pages;
//!  5. `scratch`: blocks of such pieces for work that is thrown away;
//!  6. `stripe`: which of several counters a thread uses.
//!
//! Source: size classes after Bonwick (The Slab Allocator, USENIX 1994), with a list of free blocks for each thread as in mimalloc;
//! blocks carry no header, and any thread frees them.
//!
//! Promises: nothing is allocated for a row before the budget agreed; returning memory never fails and never waits.
//! Leaves out: index nodes (they ask the budget through `MemoryAccount`), the log's ring.

mod account;
mod budget;
pub(crate) mod mapping;
pub(crate) mod scratch;
mod session;
pub(crate) mod slab;
pub(crate) mod stripe;

pub use account::{MemoryAccount, UnlimitedMemory};
pub(crate) use budget::{Charge, IndexAccount};
pub use budget::{MemoryBudget, MemoryReport};
pub use session::{MemoryCharge, MemoryRefused, SessionMemory};
pub use slab::give_memory_back;
