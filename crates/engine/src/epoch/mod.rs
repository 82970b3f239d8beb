//! Epoch-based memory reclamation: when may memory that was unlinked be freed?
//!
//! Read in this order:
//!  1. this file: the contract and the free functions;
//!  2. `registry`: threads, the advance rule and the argument why it is safe; `clock`: the global epoch;
//!  3. `limbo`: bags of unlinked memory on their way to the allocator;
//!  4. `guard`: what a thread holds while it reads;
//!
//! Atomics and locks come from `mote_common::sync`, where a model checker can replace them.
//!
//! Contract
//!  - A thread that follows pointers to shared memory holds a [`Guard`]. Pins nest; only the outermost costs a
//!    store and a fence.
//!  - Memory is handed over with [`Guard::defer_free`] *after* it was made unreachable for later readers. It is
//!    freed once every guard that was alive at that moment is gone.
//!  - A guard never lives across the suspension of a coroutine: `Guard` is not `Send`, and a scheduler asserts
//!    `!is_pinned()` where it switches.
//!  - Garbage is bounded per thread ([`limbo::MAX_ITEMS`], [`limbo::MAX_BYTES`]) as long as no guard stays: beyond
//!    the bound each hand-over tries to advance and to free. A guard that never ends stops all reclamation, which
//!    is the price of readers that write nothing shared.
//!
//! Source: Fraser (Practical Lock-Freedom, 2004), with bags and the advance rule as in crossbeam-epoch. Other than there a bag is
//! bounded in bytes too, and what a bag frees may hand over more.
//!
//! Leaves out: snapshots. Row versions that a *registered snapshot* may see are kept by the snapshot horizon of the
//! transaction manager; epochs only cover what is unlinked already.

mod clock;
mod guard;
mod limbo;
mod registry;

#[cfg(test)]
mod tests;

pub use guard::{Guard, is_pinned, pin};
pub use limbo::{MAX_BYTES, MAX_ITEMS};

/// Moves the global epoch on if every pinned thread has seen the current one. Answers whether it moved.
pub fn try_advance() -> bool {
    registry::try_advance()
}

/// Frees what can be freed now: closes this thread's open bag, advances as far as other threads allow, frees this
/// thread's expired bags and those of threads that have exited. Meant for idle moments and shutdown; call it
/// unpinned, since a thread's own pin holds the epoch back.
pub fn flush() {
    guard::flush_current_thread();
}

/// Items this thread has handed over that are not freed yet.
pub fn pending_items() -> usize {
    guard::pending_items()
}
