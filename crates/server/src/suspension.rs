//! How a running session gives its thread back, and why.

use std::sync::Arc;

use corosensei::Yielder;
use mote_common::{heap, work};
use mote_engine::Awaited;
use mote_types::catalog::user::without;

use crate::interruption::Interruption;

/// Stack of a running statement, parser excluded. Memory is touched as it is used; below it lies a guard page.
pub const STACK_BYTES: usize = 4 << 20;

/// Why a coroutine gave the thread back.
pub struct Suspend {
    pub reason: Reason,
    /// What unsent replies wait for.
    pub gate: Awaited,
    /// Run again at this monotonic time at the latest.
    pub deadline_ns: Option<u64>,
}

pub enum Reason {
    /// A socket event, a wake-up, the horizon or the deadline.
    Wait,
    /// The slice is used up: run again soon. Who runs it looks here whether the statement is to end.
    Yield(Arc<Interruption>),
    /// What follows takes long without giving the thread back: cryptography of a log-in. Run on among the long statements.
    Aside(Arc<Interruption>),
    /// A slice was used up among the long statements, and the statement is to end: run again at once. No session suspends
    /// itself with this.
    End,
}

/// Gives the thread to others. The dictionary of the session's types, who pays for its work, and the count of what it
/// has allocated stay with the session.
pub fn suspend(yielder: &Yielder<(), Suspend>, why: Suspend) {
    debug_assert!(
        !mote_engine::epoch::is_pinned(),
        "an epoch guard belongs to its thread; the session may go on on another one"
    );
    heap::set_aside(|| work::set_aside(|| without(|| yielder.suspend(why))));
}
