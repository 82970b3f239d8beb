//! Threads, the global epoch, and when it moves.
//!
//! Each thread owns a `Participant` in a grow-only list; entries of exited threads are taken over by new ones and
//! never freed, so the list is walked without protection.
//!
//! Why two epochs are enough. A bag is stamped with the global epoch E read *after* its items were unlinked and is
//! freed when the global epoch is at least E + 2. Let a reader hold a guard and have found one of the items. Two
//! `SeqCst` fences order the parties: the reader's (F1, between publishing its epoch and its first load) and the
//! sealer's (F2, between unlinking and reading E).
//!  - F1 before F2: the reader published some R <= E. Whoever moves the epoch from E + 1 to E + 2 read E + 1 before its
//!    own fence (F3); had F3 come before F2, the sealer would have read E + 1, not E. So F3 comes after F2 and F1, the
//!    scan sees R, which is not E + 1, and the epoch stays below E + 2 until the reader unpins.
//!  - F2 before F1: every load of the reader comes after the unlinking stores; it cannot find the item.
//!
//! The reader's unpin, or its next pin (Release stores), pairs with the Acquire load of the scan in `try_advance`: all its
//! reads happen before the epoch moves, and the mover's Release CAS pairs with the Acquire load by which a bag is judged
//! expired, so reads happen before the free.

use super::clock::{GLOBAL, current};
use super::limbo::{Bag, Limbo};
use mote_common::sync::Mutex;
use mote_common::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering, fence};
use std::cell::{Cell, UnsafeCell};
use std::ptr;

/// Head of the list of participants.
static PARTICIPANTS: AtomicPtr<Participant> = AtomicPtr::new(ptr::null_mut());

/// Sealed bags of threads that have exited.
static ORPHANS: Mutex<Vec<Bag>> = Mutex::new(Vec::new());

/// `Participant::state` of a thread that holds no guard.
const QUIESCENT: u64 = 0;

/// One thread's place in the scheme. Aligned to two cache lines, since the adjacent-line prefetcher pairs them.
#[repr(align(128))]
pub(super) struct Participant {
    /// `QUIESCENT`, or the epoch (never 0) the thread was pinned in.
    state: AtomicU64,
    /// A live thread owns this entry. The owner alone touches `depth` and `limbo`.
    owned: AtomicBool,
    /// Set before the entry is published, never changed.
    next: AtomicPtr<Participant>,
    /// How many guards the owner holds.
    pub(super) depth: Cell<u32>,
    /// The owner's garbage.
    limbo: UnsafeCell<Limbo>,
}

// SAFETY: `state`, `owned` and `next` are atomics. `depth` and `limbo` are touched only by the thread that won `owned`
// (Acquire CAS in `register`, paired with the Release store in `release`), so ownership hands them over.
unsafe impl Sync for Participant {}

impl Participant {
    /// Publishes the epoch for the outermost guard. The fence is F1 of the module head.
    #[inline]
    pub(super) fn enter(&self) {
        let epoch = GLOBAL.load(Ordering::Relaxed);
        // Release, like `leave`: a scan may read this store instead of the one with which the last guard ended, and what
        // was read under that guard comes before this one, too.
        self.state.store(epoch, Ordering::Release);
        fence(Ordering::SeqCst);
    }

    /// Ends the outermost guard. Release: pairs with the Acquire load in `try_advance`.
    #[inline]
    pub(super) fn leave(&self) {
        self.state.store(QUIESCENT, Ordering::Release);
    }

    /// Runs `work` on the owner's limbo.
    ///
    /// # Safety
    /// The caller is the owning thread, and `work` does not come back here (it runs no foreign code).
    pub(super) unsafe fn with_limbo<R>(&self, work: impl FnOnce(&mut Limbo) -> R) -> R {
        // SAFETY: one owner, and no re-entry by the caller's promise: the reference is unique.
        work(unsafe { &mut *self.limbo.get() })
    }
}

/// Takes over an entry of an exited thread or adds one.
pub(super) fn register() -> &'static Participant {
    let mut cursor = PARTICIPANTS.load(Ordering::Acquire);
    while !cursor.is_null() {
        // SAFETY: entries are leaked boxes: valid for ever. Acquire above and below pairs with the publishing CAS.
        let participant = unsafe { &*cursor };
        let taken = participant
            .owned
            .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_ok();
        if taken {
            return participant;
        }
        cursor = participant.next.load(Ordering::Acquire);
    }
    let fresh: &'static Participant = Box::leak(Box::new(Participant {
        state: AtomicU64::new(QUIESCENT),
        owned: AtomicBool::new(true),
        next: AtomicPtr::new(ptr::null_mut()),
        depth: Cell::new(0),
        limbo: UnsafeCell::new(Limbo::new()),
    }));
    let mut head = PARTICIPANTS.load(Ordering::Relaxed);
    loop {
        fresh.next.store(head, Ordering::Relaxed);
        // Release: pairs with the Acquire loads of the walkers, which must see the fields above.
        let swap = PARTICIPANTS.compare_exchange_weak(
            head,
            ptr::from_ref(fresh).cast_mut(),
            Ordering::Release,
            Ordering::Relaxed,
        );
        match swap {
            Ok(_) => return fresh,
            Err(seen) => head = seen,
        }
    }
}

/// Gives the entry back when its thread exits; sealed bags become orphans.
pub(super) fn release(participant: &'static Participant, bags: Vec<Bag>) {
    if !bags.is_empty() {
        ORPHANS.lock().extend(bags);
    }
    // Release: pairs with the Acquire CAS in `register`; the next owner sees `depth` and `limbo` as left here.
    participant.owned.store(false, Ordering::Release);
}

/// Moves the global epoch on by one unless a thread is pinned in an older one.
pub(super) fn try_advance() -> bool {
    let epoch = GLOBAL.load(Ordering::Relaxed);
    // F3 of the module head: orders this scan after every pin whose fence came before.
    fence(Ordering::SeqCst);
    let mut cursor = PARTICIPANTS.load(Ordering::Acquire);
    while !cursor.is_null() {
        // SAFETY: entries are leaked boxes: valid for ever; Acquire pairs with the publishing CAS.
        let participant = unsafe { &*cursor };
        // Acquire: pairs with the Release stores in `enter` and `leave`.
        let state = participant.state.load(Ordering::Acquire);
        if state != QUIESCENT && state != epoch {
            return false;
        }
        cursor = participant.next.load(Ordering::Acquire);
    }
    GLOBAL
        .compare_exchange(epoch, epoch + 1, Ordering::Release, Ordering::Relaxed)
        .is_ok()
}

/// Takes the orphaned bags that have expired. Skips the work if another thread is at it.
pub(super) fn take_expired_orphans() -> Vec<Bag> {
    let Some(mut orphans) = ORPHANS.try_lock() else {
        return Vec::new();
    };
    if orphans.is_empty() {
        return Vec::new();
    }
    let epoch = current();
    let (expired, kept) = std::mem::take(&mut *orphans)
        .into_iter()
        .partition(|bag| bag.expired(epoch));
    *orphans = kept;
    expired
}
