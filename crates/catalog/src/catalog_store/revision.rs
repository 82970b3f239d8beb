//! Which state of an object a statement began with.
//!
//! DDL reads an object, makes another of it and writes that one over the first. In between it may wait, and the object
//! may become another one: whoever writes then would take back what others did. So every state of an object has a number
//! of its own, which its clones carry; `write::put` compares it with that of the state it is about to replace.

use std::sync::atomic::{AtomicU64, Ordering};

/// Number of a state of an object, within this process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Revision(u64);

impl Default for Revision {
    /// A number that no other state has: a state that was just made, or just read.
    fn default() -> Revision {
        static LAST: AtomicU64 = AtomicU64::new(0);
        // Relaxed: only that each is another number matters.
        Revision(LAST.fetch_add(1, Ordering::Relaxed))
    }
}
