//! The atomics of `epoch`, in one place: a build under a model checker (loom, shuttle) replaces this file's names
//! and nothing else. Everything in `epoch` that is shared between threads goes through here.

pub use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering, fence};
