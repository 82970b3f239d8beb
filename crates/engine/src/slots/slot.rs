//! Transaction slots: the words that say what became of a transaction, and which snapshots it holds.
//!
//! A version of a running transaction names its slot; commit and abort are one store into `state`. A slot is taken at
//! begin and given back when every stamp that names it has been replaced, so whoever finds the same stamp before and
//! after looking at `state` knows that the state belonged to the stamp's transaction (see `table/visibility.rs`).
//!
//! Snapshots are registered in the slot, exactly: a timestamp each, or a lower bound while it is being chosen. The
//! protocol that lets pruning trust what it reads is argued in `horizon`.
//!
//! The table of slots is never freed, only handed to the next engine of the process: snapshots and waiters may hold
//! references for as long as they like.

use crate::memory::stripe;
use mote_common::Lsn;
use mote_common::sync::Mutex;
use mote_common::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use mote_common::sync::hint::spin_loop;
use std::fmt;

/// A transaction's name: unique while the engine runs, given at begin, never stored.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TransactionId(pub u64);

impl fmt::Display for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Distinct snapshots a transaction can have registered exactly; further ones share a conservative range.
pub(crate) const SNAPSHOTS: usize = 6;
/// Tables a transaction can lock by the fast path.
pub(crate) const FAST_LOCKS: usize = 12;

const COMMITTED: u64 = 1 << 63;
/// Without COMMITTED: the timestamp is reserved, the outcome open.
const VALIDATING: u64 = 1 << 62;
const STATE_FREE: u64 = 0;
const STATE_ACTIVE: u64 = 1;
const STATE_PRECOMMITTING: u64 = 2;
const STATE_ABORTED: u64 = 3;
/// The transaction is over, a snapshot of it is not.
const STATE_LEFT: u64 = 4;

/// What a slot's transaction is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TransactionState {
    Free,
    Active,
    /// Between the decision to commit and its timestamp: nanoseconds.
    Precommitting,
    /// SERIALIZABLE only: commits at this timestamp if what it read still holds there, else goes on as `Active` and is
    /// rolled back or tries again. Microseconds; see `validate`.
    Validating(Lsn),
    Committed(Lsn),
    Aborted,
}

/// A registered snapshot: all versions it may see are kept.
#[derive(Default)]
pub(crate) struct SnapshotEntry {
    /// 0 = none; else a timestamp + 1, with RANGE: everything from the timestamp on.
    word: AtomicU64,
    /// Clones of the snapshot; CLOSING while the last one goes. The session's thread makes the first one, any thread that
    /// holds one makes and drops others.
    references: AtomicU32,
}

const CLOSING: u32 = 1 << 31;

/// The timestamp is a lower bound: keep everything from there on.
const RANGE: u64 = 1 << 63;
/// Its session was asked to give it up. It counts until that has happened.
const REVOKED: u64 = 1 << 62;
const FLAGS: u64 = RANGE | REVOKED;

impl SnapshotEntry {
    /// The first half of a registration, before the timestamp is known; a fence follows (`horizon`). Release, as in `clear`:
    /// a walk may load this word, or that of `settle`, instead of the zero that stood here in between.
    pub(crate) fn announce(&self, lower_bound: Lsn) {
        self.word.store((lower_bound.0 + 1) | RANGE, Ordering::Release);
    }

    /// Release: see `announce`. A walk that does not see it yet keeps everything from the lower bound on.
    pub(crate) fn settle(&self, ts: Lsn) {
        self.word.store(ts.0 + 1, Ordering::Release);
    }

    fn clear(&self) {
        // Release: reads of rows come before; pairs with the SeqCst load in `kept`.
        self.word.store(0, Ordering::Release);
    }

    /// The timestamp, and whether it is a range.
    pub(crate) fn kept(&self) -> Option<(Lsn, bool)> {
        let word = self.word.load(Ordering::SeqCst);
        (word != 0).then(|| (Lsn((word & !FLAGS) - 1), word & RANGE != 0))
    }

    pub(crate) fn is_revoked(&self) -> bool {
        self.word.load(Ordering::SeqCst) & REVOKED != 0
    }

    /// False: it is not the snapshot of that timestamp any more.
    fn revoke(&self, ts: Lsn) -> bool {
        let revoked = self
            .word
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |word| {
                (word != 0 && (word & !FLAGS) - 1 == ts.0).then_some(word | REVOKED)
            });
        revoked.is_ok()
    }

    pub(crate) fn is_free(&self) -> bool {
        self.references.load(Ordering::SeqCst) == 0
    }

    /// More than one clone.
    pub(crate) fn is_shared(&self) -> bool {
        self.references.load(Ordering::SeqCst) > 1
    }

    /// The first clone of an entry that was free and is announced. Only the session's own thread makes it, and of a free
    /// entry nobody holds a clone: no other thread writes the count meanwhile. Relaxed: the clone is handed on by whatever
    /// gives it to another thread.
    pub(crate) fn begin(&self) {
        debug_assert!(self.is_free());
        self.references.store(1, Ordering::Relaxed);
    }

    /// Another clone, by somebody who holds one.
    pub(crate) fn acquire(&self) {
        self.references.fetch_add(1, Ordering::Relaxed);
    }

    /// Another snapshot in an entry that has a range: registered by whoever is there already, or announced. Only the
    /// session's own thread calls this; a clone of another thread may go meanwhile, even the last one.
    pub(crate) fn join(&self, lower_bound: Lsn) {
        loop {
            match self.references.load(Ordering::SeqCst) {
                0 => {
                    self.announce(lower_bound);
                    return self.begin();
                }
                CLOSING => spin_loop(),
                others => {
                    let joined = self.references.compare_exchange(
                        others,
                        others + 1,
                        Ordering::SeqCst,
                        Ordering::Relaxed,
                    );
                    if joined.is_ok() {
                        return;
                    }
                }
            }
        }
    }

    /// Drops a clone.
    pub(crate) fn release(&self) {
        self.drop_clone(false);
    }

    /// The same for an entry that the session's thread may `join` at the same moment: it finds either the word or no
    /// reference.
    pub(crate) fn release_joinable(&self) {
        self.drop_clone(true);
    }

    /// The last one takes the word away first: a free entry has none. SeqCst: see `SlotTable::finish`.
    fn drop_clone(&self, joinable: bool) {
        let mut references = self.references.load(Ordering::SeqCst);
        loop {
            let last = references == 1;
            if !last || joinable {
                let left = if last { CLOSING } else { references - 1 };
                let exchanged =
                    self.references
                        .compare_exchange(references, left, Ordering::SeqCst, Ordering::SeqCst);
                if let Err(now) = exchanged {
                    references = now;
                    continue;
                }
            }
            if last {
                self.clear();
                self.references.store(0, Ordering::SeqCst);
            }
            return;
        }
    }

    /// The transaction ends but somebody keeps the snapshot: its own writes are now commits above the timestamp.
    pub(crate) fn widen(&self) {
        // A registered entry only: a released one must stay 0.
        let _ = self
            .word
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |word| {
                (word != 0).then_some(word | RANGE)
            });
    }
}

/// One transaction's place. Two cache lines for what others read often, then the locks.
#[repr(align(128))]
#[derive(Default)]
pub(crate) struct TransactionSlot {
    state: AtomicU64,
    id: AtomicU64,
    /// The log's tail when the transaction began, + 1; 0 = none. Tables dropped before may be freed.
    begin: AtomicU64,
    session: AtomicU32,
    /// The lock table knows this transaction: its end must go there. See `lock/manager.rs`.
    contended: AtomicU32,
    pub(crate) snapshots: [SnapshotEntry; SNAPSHOTS],
    /// Weak table locks: table id << 16 | mode bits, 0 = free.
    pub(crate) fast_locks: [AtomicU64; FAST_LOCKS],
}

impl TransactionSlot {
    #[inline]
    pub(crate) fn state(&self) -> TransactionState {
        match self.state.load(Ordering::SeqCst) {
            STATE_FREE | STATE_LEFT => TransactionState::Free,
            STATE_ACTIVE => TransactionState::Active,
            STATE_PRECOMMITTING => TransactionState::Precommitting,
            STATE_ABORTED => TransactionState::Aborted,
            word if word & COMMITTED != 0 => TransactionState::Committed(Lsn(word & !COMMITTED)),
            word => TransactionState::Validating(Lsn(word & !VALIDATING)),
        }
    }

    /// SeqCst: before the `fetch_add` on the log's tail in the order in which a reader loads the tail, then this.
    /// Also one half of the handshake with waiters (`lock/manager.rs`), as are the two below.
    pub(crate) fn precommit(&self) {
        self.state.store(STATE_PRECOMMITTING, Ordering::SeqCst);
    }

    /// After `precommit` and the reservation, by a transaction that may still fail.
    pub(crate) fn validate(&self, ts: Lsn) {
        debug_assert!(ts.0 < VALIDATING);
        self.state.store(VALIDATING | ts.0, Ordering::SeqCst);
    }

    /// Validation failed: who waited for the outcome sees a running transaction again, whose next timestamp, if it gets
    /// one, is above every snapshot that was taken so far.
    pub(crate) fn resume(&self) {
        self.state.store(STATE_ACTIVE, Ordering::SeqCst);
    }

    pub(crate) fn commit(&self, ts: Lsn) {
        self.state.store(COMMITTED | ts.0, Ordering::SeqCst);
    }

    pub(crate) fn abort(&self) {
        self.state.store(STATE_ABORTED, Ordering::SeqCst);
    }

    pub(crate) fn id(&self) -> TransactionId {
        TransactionId(self.id.load(Ordering::SeqCst))
    }

    pub(crate) fn session(&self) -> u32 {
        self.session.load(Ordering::Relaxed)
    }

    /// The transaction goes on without its session. Under the lock table's mutex, where locks get their owners.
    pub(crate) fn leave_session(&self) {
        self.session.store(0, Ordering::Relaxed);
    }

    pub(crate) fn begin_tail(&self) -> Option<Lsn> {
        self.begin.load(Ordering::SeqCst).checked_sub(1).map(Lsn)
    }

    pub(crate) fn set_contended(&self) {
        self.contended.store(1, Ordering::SeqCst);
    }

    pub(crate) fn is_contended(&self) -> bool {
        self.contended.load(Ordering::SeqCst) != 0
    }
}

/// All slots of an engine, and which are taken.
pub(crate) struct SlotTable {
    slots: Box<[TransactionSlot]>,
    /// One bit per slot: taken. Walks look at set bits only.
    taken: Box<[AtomicU64]>,
}

/// Tables of engines that are gone, for the next one.
static RETIRED: Mutex<Vec<&'static SlotTable>> = Mutex::new(Vec::new());

impl SlotTable {
    /// A table of at least `count` slots.
    pub(crate) fn obtain(count: usize) -> &'static SlotTable {
        let words = count.div_ceil(64);
        let mut retired = RETIRED.lock();
        if let Some(found) = retired.iter().position(|table| table.taken.len() == words) {
            return retired.swap_remove(found);
        }
        drop(retired);
        Box::leak(Box::new(SlotTable {
            slots: (0..words * 64).map(|_| TransactionSlot::default()).collect(),
            taken: (0..words).map(|_| AtomicU64::new(0)).collect(),
        }))
    }

    /// Hands the table on. One that still has a slot taken or a snapshot registered is left alone for ever.
    pub(crate) fn retire(&'static self) {
        let idle = self.taken.iter().all(|word| word.load(Ordering::SeqCst) == 0)
            && self
                .slots
                .iter()
                .flat_map(|slot| &slot.snapshots)
                .all(|entry| entry.is_free());
        if idle {
            RETIRED.lock().push(self);
        }
    }

    /// Tables of `count` slots that wait for an engine.
    #[cfg(test)]
    pub(crate) fn retired(count: usize) -> usize {
        let words = count.div_ceil(64);
        let retired = RETIRED.lock();
        retired.iter().filter(|table| table.taken.len() == words).count()
    }

    pub(crate) fn capacity(&self) -> usize {
        self.slots.len()
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> &TransactionSlot {
        &self.slots[number as usize]
    }

    /// Takes a slot for a transaction, which draws its id then: who finds an id given also finds the slot taken
    /// (`txn/running`). Threads begin at different words, so that they do not meet on one line.
    pub(crate) fn take(&self, id: impl FnOnce() -> TransactionId, session: u32, tail: Lsn) -> Option<u32> {
        let words = self.taken.len();
        let first = stripe::current() % words;
        for step in 0..words {
            let word_index = (first + step) % words;
            let word = &self.taken[word_index];
            let mut seen = word.load(Ordering::Relaxed);
            while seen != u64::MAX {
                let bit = (!seen).trailing_zeros();
                // SeqCst: before the registrations of this transaction, in the order a walk reads them.
                match word.compare_exchange(seen, seen | 1 << bit, Ordering::SeqCst, Ordering::Relaxed) {
                    Ok(_) => {
                        let number = (word_index * 64) as u32 + bit;
                        self.open(number, id(), session, tail);
                        return Some(number);
                    }
                    Err(now) => seen = now,
                }
            }
        }
        None
    }

    fn open(&self, number: u32, id: TransactionId, session: u32, tail: Lsn) {
        let slot = self.get(number);
        // Relaxed: whoever meets this transaction (by a stamp, a lock, a table it holds) does so through something
        // that was published after the store of `state` below.
        slot.begin.store(tail.0 + 1, Ordering::Relaxed);
        slot.session.store(session, Ordering::Relaxed);
        slot.contended.store(0, Ordering::Relaxed);
        slot.id.store(id.0, Ordering::Relaxed);
        slot.state.store(STATE_ACTIVE, Ordering::SeqCst);
    }

    /// Gives a slot back: no stamp names it any more, no lock stands in it. With a snapshot still registered it is
    /// given back by whoever drops that.
    pub(crate) fn give(&self, number: u32) {
        let slot = self.get(number);
        slot.snapshots.iter().for_each(SnapshotEntry::widen);
        slot.begin.store(0, Ordering::Relaxed);
        slot.id.store(0, Ordering::Relaxed);
        if slot.snapshots.iter().all(SnapshotEntry::is_free) {
            // Only the session's own thread, this one, makes the first clone of a free entry: none is left that could be
            // released later, so nobody else gives the slot back. Release: the stamps that named it were replaced before.
            slot.state.store(STATE_FREE, Ordering::Release);
            return self.put_back(number);
        }
        slot.state.store(STATE_LEFT, Ordering::SeqCst);
        self.finish(number);
    }

    /// After a snapshot of the slot was released.
    pub(crate) fn snapshot_released(&self, number: u32) {
        if self.get(number).state.load(Ordering::SeqCst) == STATE_LEFT {
            self.finish(number);
        }
    }

    fn finish(&self, number: u32) {
        let slot = self.get(number);
        // SeqCst on both sides (`state`, `references`): of `give` and the last release, the later one sees both.
        let idle = slot.snapshots.iter().all(SnapshotEntry::is_free);
        if idle
            && slot
                .state
                .compare_exchange(STATE_LEFT, STATE_FREE, Ordering::SeqCst, Ordering::Relaxed)
                .is_ok()
        {
            self.put_back(number);
        }
    }

    fn put_back(&self, number: u32) {
        // Release through SeqCst: pairs with the CAS in `take`.
        self.taken[number as usize / 64].fetch_and(!(1 << (number % 64)), Ordering::SeqCst);
    }

    /// Chooses the oldest snapshot of a session below `below` to be given up, and marks it. `None`: there is none, or
    /// the one chosen before is still there.
    pub(crate) fn revoke_oldest(&self, below: Lsn) -> Option<u32> {
        let mut oldest: Option<(Lsn, &TransactionSlot, &SnapshotEntry)> = None;
        for (_, slot) in self.walk() {
            for entry in &slot.snapshots {
                if entry.is_revoked() {
                    return None;
                }
                let Some((ts, _)) = entry.kept() else { continue };
                let older = oldest.is_none_or(|(oldest, ..)| ts < oldest);
                if slot.session() != 0 && ts < below && older {
                    oldest = Some((ts, slot, entry));
                }
            }
        }
        let (ts, slot, entry) = oldest?;
        let session = slot.session();
        entry.revoke(ts).then_some(session)
    }

    /// Taken, and neither a transaction's nor a snapshot's: its owner is just coming or going.
    pub(crate) fn is_opening(&self, number: u32) -> bool {
        let taken = self.taken[number as usize / 64].load(Ordering::SeqCst) & (1 << (number % 64)) != 0;
        taken && self.get(number).state.load(Ordering::SeqCst) == STATE_FREE
    }

    /// Every taken slot.
    pub(crate) fn walk(&self) -> impl Iterator<Item = (u32, &TransactionSlot)> {
        self.taken.iter().enumerate().flat_map(move |(index, word)| {
            let mut bits = word.load(Ordering::SeqCst);
            std::iter::from_fn(move || {
                if bits == 0 {
                    return None;
                }
                let bit = bits.trailing_zeros();
                bits &= bits - 1;
                let number = (index * 64) as u32 + bit;
                Some((number, self.get(number)))
            })
        })
    }
}
