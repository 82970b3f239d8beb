//! What a thread holds while it follows shared pointers.
//!
//! The thread-local handle is only a reference to the thread's `Participant`, which lives for ever: a guard kept
//! past the thread's last breath (in another thread-local) is therefore harmless. Such a thread's entry is not
//! handed on, and its pin holds reclamation back.

use super::clock;
use super::limbo::Item;
use super::registry::{self, Participant};
use std::marker::PhantomData;

/// How often `flush` moves the epoch: one grace period plus the step that a concurrent stamp may add.
const FLUSH_ROUNDS: u64 = clock::GRACE + 1;

struct Handle(&'static Participant);

impl Drop for Handle {
    fn drop(&mut self) {
        if self.0.depth.get() != 0 {
            return; // a guard outlives the thread-local: keep the entry, see the module head
        }
        // SAFETY: this is the owning thread, and `drain` runs no foreign code.
        let bags = unsafe { self.0.with_limbo(|limbo| limbo.drain()) };
        registry::release(self.0, bags);
    }
}

mote_common::sync::thread_local! {
    static HANDLE: Handle = Handle(registry::register());
}

/// Keeps shared memory that this thread can reach from being freed. Not `Send`: it belongs to its thread.
pub struct Guard {
    participant: &'static Participant,
    not_send: PhantomData<*mut ()>,
}

/// Pins this thread. The outermost pin costs one store and one fence, a nested one a counter.
///
/// # Panics
/// When called from the destructor of a thread-local after this module's own was destroyed.
#[inline]
pub fn pin() -> Guard {
    let participant = HANDLE.with(|handle| handle.0);
    let depth = participant.depth.get();
    participant.depth.set(depth + 1);
    if depth == 0 {
        participant.enter();
    }
    Guard {
        participant,
        not_send: PhantomData,
    }
}

/// Does this thread hold a guard? Asserted (negated) wherever a coroutine is suspended.
pub fn is_pinned() -> bool {
    HANDLE.with(|handle| handle.0.depth.get() != 0)
}

impl Guard {
    /// Hands over memory that no later reader can reach: `free(pointer, size)` runs, once, on some thread, after
    /// every guard alive now is gone. `size` is passed on and counts towards [`super::MAX_BYTES`].
    ///
    /// # Safety
    /// `pointer` was made unreachable for readers that pin from now on, is handed over once, and `free` is sound to
    /// call with it on any thread at any later time.
    #[inline]
    pub unsafe fn defer_free(&self, free: unsafe fn(*mut u8, usize), pointer: *mut u8, size: usize) {
        let item = Item { free, pointer, size };
        // SAFETY: a guard is not `Send`, so this is the owning thread; `push` runs no foreign code.
        let sealed = unsafe { self.participant.with_limbo(|limbo| limbo.push(item)) };
        if sealed {
            reclaim(self.participant);
        }
    }
}

impl Drop for Guard {
    #[inline]
    fn drop(&mut self) {
        let depth = self.participant.depth.get();
        debug_assert!(depth > 0);
        self.participant.depth.set(depth - 1);
        if depth == 1 {
            self.participant.leave();
        }
    }
}

/// Frees this thread's expired bags; over the bound it tries to move the epoch first.
#[cold]
fn reclaim(participant: &'static Participant) {
    // SAFETY: called by the owning thread only; `over_bound` runs no foreign code.
    if unsafe { participant.with_limbo(|limbo| limbo.over_bound()) } {
        registry::try_advance();
        free_orphans();
    }
    free_expired(participant);
}

fn free_expired(participant: &'static Participant) {
    let now = clock::current();
    // The borrow ends before the bag is freed: `free` may pin and hand over memory itself.
    // SAFETY: called by the owning thread only; `pop_expired` runs no foreign code.
    while let Some(bag) = unsafe { participant.with_limbo(|limbo| limbo.pop_expired(now)) } {
        // SAFETY: `pop_expired` judged it by `now`, which `current` gave.
        unsafe { bag.free() };
    }
}

fn free_orphans() {
    for bag in registry::take_expired_orphans() {
        // SAFETY: `take_expired_orphans` judged it by the current epoch.
        unsafe { bag.free() };
    }
}

pub(super) fn flush_current_thread() {
    let participant = HANDLE.with(|handle| handle.0);
    // SAFETY: the thread-local handle names the entry this thread owns; `seal` runs no foreign code.
    unsafe { participant.with_limbo(|limbo| limbo.seal()) };
    for _ in 0..FLUSH_ROUNDS {
        if !registry::try_advance() {
            break;
        }
    }
    free_expired(participant);
    free_orphans();
}

pub(super) fn pending_items() -> usize {
    let participant = HANDLE.with(|handle| handle.0);
    // SAFETY: the thread-local handle names the entry this thread owns.
    unsafe { participant.with_limbo(|limbo| limbo.pending_items()) }
}
