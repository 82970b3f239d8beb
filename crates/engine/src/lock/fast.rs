//! Weak table locks without the lock table.
//!
//! AccessShare, RowShare and RowExclusive never conflict with each other, so a transaction notes them in its own slot and
//! looks at one counter, which says whether the lock table has any entry for the table. Whoever makes such an entry
//! raises the counter, then walks all slots and moves the notes it finds into the entry. Both sides are SeqCst (note,
//! then counter; counter, then notes): of the two, at least one sees the other.
//!
//! Whoever let go of a strong lock has left behind, beside the counter, what it knew (`released`): a weak lock that is granted
//! here tells of it at the price of one more load from the same line. What holders of weak locks knew is not kept: a strong
//! lock is granted behind everything there is (`txn/known.rs`).
//!
//! Invariant: a note is taken away by one compare-exchange, by its owner (released, or withdrawn) or by the mover.

use super::mode::TableLockMode;
use super::owner::Owner;
use super::released::Released;
use crate::slots::slot::{SlotTable, TransactionSlot};
use mote_common::sync::atomic::{AtomicU32, Ordering};
use mote_common::{Lsn, TableId};

/// Tables share gates by hash; a shared one only costs a detour.
const GATES: usize = 1024;
const MODE_BITS: u32 = 16;

/// What stands in the way of weak locks on some tables, and what did.
#[derive(Default)]
struct Gate {
    /// Entries of the lock table.
    strong: AtomicU32,
    released: Released,
}

pub(super) struct FastPath {
    gates: Box<[Gate]>,
}

fn note(id: TableId, modes: u16) -> u64 {
    (id.0 as u64) << MODE_BITS | modes as u64
}

fn note_table(note: u64) -> TableId {
    TableId((note >> MODE_BITS) as u32)
}

/// Whether a transaction has noted a lock as statements take it that write. One that was moved into the lock table is not seen.
pub(super) fn notes_a_write(slot: &TransactionSlot) -> bool {
    let mut words = slot.fast_locks.iter().map(|word| word.load(Ordering::Relaxed));
    words.any(|word| word as u16 & TableLockMode::RowExclusive.bit() != 0)
}

impl FastPath {
    pub(super) fn new() -> FastPath {
        FastPath {
            gates: (0..GATES).map(|_| Gate::default()).collect(),
        }
    }

    fn gate(&self, id: TableId) -> &Gate {
        &self.gates[(id.0.wrapping_mul(0x9e37_79b9) >> 22) as usize % GATES]
    }

    /// Notes a weak lock in the transaction's own slot and answers what those knew who had it closed; `None`: the lock
    /// table must be asked.
    pub(super) fn try_lock(&self, slot: &TransactionSlot, id: TableId, mode: TableLockMode) -> Option<Lsn> {
        debug_assert!(mode.is_weak());
        let gate = self.gate(id);
        let counter = &gate.strong;
        if counter.load(Ordering::SeqCst) != 0 {
            return None;
        }
        let mine = |word: u64| word != 0 && note_table(word) == id;
        let words = &slot.fast_locks;
        let place = words
            .iter()
            .position(|word| mine(word.load(Ordering::Relaxed)))
            .or_else(|| words.iter().position(|word| word.load(Ordering::Relaxed) == 0));
        let place = place?;
        let old = words[place].load(Ordering::Relaxed);
        let new = note(id, old as u16 | mode.bit());
        // Only a mover changes our words: the note is in the lock table then.
        if words[place]
            .compare_exchange(old, new, Ordering::SeqCst, Ordering::Relaxed)
            .is_err()
        {
            return None;
        }
        if counter.load(Ordering::SeqCst) == 0 {
            // Whose `fetch_sub` made the counter 0 had raised the number before.
            return Some(gate.released.get());
        }
        // A walk may have missed the new mode: withdraw it. If that fails it was moved: granted there.
        let _ = words[place].compare_exchange(new, old, Ordering::SeqCst, Ordering::Relaxed);
        None
    }

    /// A lock on the table that stands in the lock table is about to be let go by somebody who knew that much.
    pub(super) fn raise_released(&self, id: TableId, known: Lsn) {
        self.gate(id).released.raise(known);
    }

    /// What those knew who have let go of the table in the lock table.
    pub(super) fn released(&self, id: TableId) -> Lsn {
        self.gate(id).released.get()
    }

    /// Releases all notes of a transaction; true if some had been moved into the lock table.
    pub(super) fn release_all(slot: &TransactionSlot, noted: usize) -> bool {
        let mut found = 0;
        for word in &slot.fast_locks {
            if word.load(Ordering::Relaxed) != 0 && word.swap(0, Ordering::SeqCst) != 0 {
                found += 1;
            }
        }
        found < noted
    }

    /// Takes `modes` out of a note; true if there was one.
    pub(super) fn release(slot: &TransactionSlot, id: TableId, keep: u16) -> bool {
        for word in &slot.fast_locks {
            let old = word.load(Ordering::Relaxed);
            if old != 0 && note_table(old) == id {
                let modes = old as u16 & keep;
                let new = if modes == 0 { 0 } else { note(id, modes) };
                return word
                    .compare_exchange(old, new, Ordering::SeqCst, Ordering::Relaxed)
                    .is_ok();
            }
        }
        false
    }

    /// The lock table gets an entry for `id`: moves all notes there. Under the lock table's mutex.
    pub(super) fn close(&self, id: TableId, slots: &SlotTable, mut hold: impl FnMut(Owner, u16)) {
        self.gate(id).strong.fetch_add(1, Ordering::SeqCst);
        for (number, slot) in slots.walk() {
            for word in &slot.fast_locks {
                loop {
                    let old = word.load(Ordering::SeqCst);
                    if old == 0 || note_table(old) != id {
                        break;
                    }
                    if word
                        .compare_exchange(old, 0, Ordering::SeqCst, Ordering::Relaxed)
                        .is_ok()
                    {
                        // The owner has not released it, so the slot is still the owner's; its end will find fewer
                        // notes than it made and come to the lock table.
                        slot.set_contended();
                        hold(
                            Owner {
                                id: slot.id(),
                                session: slot.session(),
                                slot: number,
                            },
                            old as u16,
                        );
                        break;
                    }
                }
            }
        }
    }

    /// The lock table's entry for `id` is gone.
    pub(super) fn open(&self, id: TableId) {
        self.gate(id).strong.fetch_sub(1, Ordering::SeqCst);
    }

    /// Every note, for pg_locks.
    pub(super) fn for_each(&self, slots: &SlotTable, mut visit: impl FnMut(TableId, Owner, u16)) {
        for (number, slot) in slots.walk() {
            for word in &slot.fast_locks {
                let word = word.load(Ordering::Relaxed);
                if word != 0 {
                    let owner = Owner {
                        id: slot.id(),
                        session: slot.session(),
                        slot: number,
                    };
                    visit(note_table(word), owner, word as u16);
                }
            }
        }
    }
}
