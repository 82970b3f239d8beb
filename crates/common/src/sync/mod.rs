//! Everything by which threads of the engine and the log meet: atomics, locks, thread-local state, pauses. In one place, so that a
//! model checker can stand between them.
//!
//! An ordinary build names the real things and nothing else. Built with `--cfg mote_shuttle`, each operation is a point
//! at which the checker may let another thread go on (`stepping`); atomics keep their size, because versions and index
//! nodes lie in raw memory. The tests that use it are in `model`; `make model-check` builds and runs them.
//!
//! Source: the checker is shuttle; its second kind of schedule is PCT (Burckhardt et al., ASPLOS 2010).
//!
//! Promises: no code of the engine or the log uses `std::sync::atomic`, `parking_lot` or `thread_local!`, with
//! the exceptions of background threads and of what only tests share.
//! Leaves out: weak memory. The checker's steps are sequentially consistent; orderings are argued where they stand.

#[cfg(mote_shuttle)]
mod stepping;

#[cfg(not(mote_shuttle))]
pub mod atomic {
    pub use std::sync::atomic::{
        AtomicBool, AtomicI64, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
}

#[cfg(mote_shuttle)]
pub use stepping::{Condvar, Local, Mutex, RwLock, atomic, hint, thread, thread_local};
#[cfg(mote_shuttle)]
pub use stepping::{model, shuttle};
#[cfg(not(mote_shuttle))]
pub use {
    crate::per_thread as thread_local,
    parking_lot::{Condvar, Mutex, RwLock},
};

/// Pauses of loops that wait for another thread.
#[cfg(not(mote_shuttle))]
pub mod hint {
    pub use std::hint::spin_loop;
}

#[cfg(not(mote_shuttle))]
pub mod thread {
    pub use std::thread::yield_now;
}
