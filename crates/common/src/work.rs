//! Work that a value's size decides: who pays for it, in time and in memory, and who may end it.
//!
//! Functions on values know no session. Where what they do grows with a value they [`spend`] units of it, about a byte
//! copied each, and [`reserve`] memory before they take it. When a slice of units is used up the thread's [`Payer`] is
//! asked: a session's lets other sessions run and ends the call where the statement was cancelled or its time is up.
//!
//! Invariants
//!  1. Nothing of the thread's state is borrowed across a call to the payer: it may suspend, and what it suspends may
//!     go on on another thread.
//!  2. A thread without a payer (recovery, checkpoints, tests) spends without end.
//!  3. Small values cost nothing: who calls does so once per [`GRAIN_BYTES`], and never for less than that.
//!
//! Read `memory` for reservations, `pieces` for long values cut into payable parts, `find` for searches in them, `sort`
//! for long lists in order, `unwind` for ending what knows no errors, `discard` for freeing long lists.

mod discard;
mod find;
mod memory;
mod pieces;
mod sort;
mod unwind;

use std::cell::Cell;
use std::ptr::NonNull;

use crate::{SqlError, SqlResult};

pub use discard::{Bulk, discard, discard_holding, free_discarded};
pub use find::{Finder, find};
pub use memory::{
    MemoryLimit, TRIM_INTERVAL, VALUE_BYTES_MAX, invalid_size, limit_memory, reserve, trim_thread,
};
pub use pieces::{
    GRAIN_BYTES, Meter, bytes_buffer, check_length, chunks, grow, grow_bytes, list, make_room,
    make_room_for_bytes, pieces, push, text_buffer,
};
pub use sort::sort_by;
pub use unwind::or_unwound;

/// Units between two questions to the payer: well below a millisecond.
const SLICE_UNITS: usize = 256 << 10;

/// Who answers for the work of a thread.
pub trait Payer {
    /// A slice is used up. Lets others run, where `may_suspend`; an error ends the work.
    fn slice_over(&self, may_suspend: bool) -> SqlResult<()>;
    /// The same of work that cannot fail: what would end it stays for the next question. Answers whether there is such.
    fn pause(&self, may_suspend: bool) -> bool;
}

/// What stands behind a thread's work.
#[derive(Clone, Copy)]
enum Account {
    /// Nobody asks.
    Open,
    /// What is left of the slice is all there is.
    Limited,
    /// The lifetime is that of the [`paid_by`] call which put the pointer here and takes it away again.
    Payer(NonNull<dyn Payer>),
}

/// A thread's state, or what a suspended session takes with it.
struct State {
    left: Cell<usize>,
    account: Cell<Account>,
    unbroken: Cell<bool>,
    /// Slices that [`pass`] has used up: how a caller knows that what it calls is long work.
    passed_slices: Cell<usize>,
    /// Infallible work may be unwound.
    may_unwind: Cell<bool>,
    /// Reserved in portions too small to look at each.
    small_bytes: Cell<usize>,
    /// Part of [`memory`]'s pending bytes that is this session's.
    pending_bytes: Cell<usize>,
}

impl State {
    const fn open() -> State {
        State {
            left: Cell::new(SLICE_UNITS),
            account: Cell::new(Account::Open),
            unbroken: Cell::new(false),
            passed_slices: Cell::new(0),
            may_unwind: Cell::new(false),
            small_bytes: Cell::new(0),
            pending_bytes: Cell::new(0),
        }
    }

    fn swap(&self, other: &State) {
        self.left.swap(&other.left);
        self.account.swap(&other.account);
        self.unbroken.swap(&other.unbroken);
        self.passed_slices.swap(&other.passed_slices);
        self.may_unwind.swap(&other.may_unwind);
        self.small_bytes.swap(&other.small_bytes);
        self.pending_bytes.swap(&other.pending_bytes);
    }
}

crate::per_thread! {
    static STATE: State = const { State::open() };
}

/// Puts the former state back, also when `paid_by` or its kin are unwound.
struct Restored(State);

impl Drop for Restored {
    fn drop(&mut self) {
        STATE.with(|state| state.swap(&self.0));
        // After the swap this is what the ended work was promised.
        let promised = self.0.pending_bytes.take();
        if promised > 0 {
            memory::forget_pending(promised);
        }
    }
}

fn within<T>(state: State, work: impl FnOnce() -> T) -> T {
    STATE.with(|current| current.swap(&state));
    let _restored = Restored(state);
    work()
}

/// Runs `work` at a payer's expense.
pub fn paid_by<T>(payer: &dyn Payer, work: impl FnOnce() -> T) -> T {
    let payer = NonNull::from(payer);
    // SAFETY: only the lifetime changes. The pointer leaves the thread's state before this function is left, by return
    // or unwinding; `set_aside` moves it to the suspended stack, on which this frame stands too.
    let payer =
        unsafe { std::mem::transmute::<NonNull<dyn Payer + '_>, NonNull<dyn Payer + 'static>>(payer) };
    let state = State::open();
    state.account.set(Account::Payer(payer));
    within(state, work)
}

/// Runs `work` that may take at most `units` and no large memory: what it spends beyond them is refused.
pub fn limited<T>(units: usize, work: impl FnOnce() -> T) -> T {
    let state = State::open();
    state.account.set(Account::Limited);
    state.left.set(units);
    within(state, work)
}

/// Runs `work` that must not be suspended, though it may be ended: a frame of foreign code, or another stack.
pub fn unbroken<T>(work: impl FnOnce() -> T) -> T {
    struct Former(bool);
    impl Drop for Former {
        fn drop(&mut self) {
            STATE.with(|state| state.unbroken.set(self.0));
        }
    }
    let _former = Former(STATE.with(|state| state.unbroken.replace(true)));
    work()
}

/// Runs `suspend`, which gives the thread to others: they find it without a payer. The session may come back on another
/// thread and finds its payer there.
pub fn set_aside<T>(suspend: impl FnOnce() -> T) -> T {
    struct Aside(State);
    impl Drop for Aside {
        fn drop(&mut self) {
            STATE.with(|state| state.swap(&self.0));
        }
    }
    let aside = Aside(State::open());
    STATE.with(|state| state.swap(&aside.0));
    suspend()
}

/// Pays for work before it is done. Out of line, so that no caller keeps the thread's address across a suspension.
#[inline(never)]
pub fn spend(units: usize) -> SqlResult<()> {
    let account = STATE.with(|state| match state.left.get().checked_sub(units) {
        Some(left) => {
            state.left.set(left);
            None
        }
        None => Some((state.account.get(), state.unbroken.get())),
    });
    match account {
        None => Ok(()),
        Some((account, unbroken)) => slice_over(account, unbroken),
    }
}

#[cold]
#[inline(never)]
fn slice_over(account: Account, unbroken: bool) -> SqlResult<()> {
    match account {
        Account::Open => {}
        Account::Limited => return Err(limit_reached()),
        // SAFETY: `paid_by` has not returned, see there.
        Account::Payer(payer) => unsafe { payer.as_ref() }.slice_over(!unbroken)?,
    }
    // The thread may be another one by now.
    STATE.with(|state| state.left.set(SLICE_UNITS));
    Ok(())
}

/// Pays for work that cannot fail, such as comparing and writing: others run, and the next [`spend`] tells of its end.
#[inline(never)]
pub fn pass(units: usize) {
    let account = STATE.with(|state| {
        let left = state.left.get().checked_sub(units);
        state.left.set(left.unwrap_or(SLICE_UNITS));
        left.is_none().then(|| {
            state.passed_slices.set(state.passed_slices.get().wrapping_add(1));
            (state.account.get(), state.unbroken.get())
        })
    });
    let ends = match account {
        None | Some((Account::Open, _)) => false,
        // Nothing is left for what can fail.
        Some((Account::Limited, _)) => true,
        // SAFETY: `paid_by` has not returned, see there.
        Some((Account::Payer(payer), unbroken)) => unsafe { payer.as_ref() }.pause(!unbroken),
    };
    if ends {
        end_soon();
    }
}

/// The next question is not to wait for a slice; what may be unwound does not even wait for that.
#[cold]
#[inline(never)]
fn end_soon() {
    let may_unwind = STATE.with(|state| {
        state.left.set(0);
        state.may_unwind.get()
    });
    if may_unwind && let Err(error) = spend(1) {
        unwind::unwind(error);
    }
}

/// Nobody reads it: who limits work takes any error for "not here".
fn limit_reached() -> SqlError {
    SqlError::internal("the work is too long to be done here")
}

#[cfg(test)]
mod tests;
