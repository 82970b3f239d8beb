//! May this transaction write, or lock, this row now?
//!
//! Asked under the row latch. What stands in the way, in this order:
//!  1. an uncommitted newest version of somebody else: an implicit lock (FOR UPDATE strength if it deletes the row or
//!     changes a unique key, else FOR NO KEY UPDATE);
//!  2. explicit locks: in the version's lock word, or in the lock table;
//!  3. a newest version that is not the one the caller has seen.
//!
//! A free row costs two loads. A conflict moves every lock on the row into the lock table, where the caller queues.

use super::error::WriteError;
use super::transaction::{Isolation, Transaction};
use super::work::HeldRow;
use crate::lock::manager::{Acquired, LockRequest};
use crate::lock::owner::Owner;
use crate::lock::row::RowLockWord;
use crate::lock::{LockMode, LockTag, RowLockStrength, WaitPolicy};
use crate::table::Table;
use crate::table::segment::Latched;
use crate::table::version::{KEY_LOCK, TOMBSTONE, Version};
use crate::table::visibility::{Standing, standing};
use mote_common::sync::atomic::Ordering;
use mote_common::{Lsn, RowId};
use std::ptr::NonNull;

/// What was admitted.
pub(super) struct Admitted<'a> {
    /// The newest version; for a lock that an uncommitted version of somebody else tolerates, the newest below it.
    pub(super) head: &'a Version,
    /// The same as it was allocated: its row is read through this pointer.
    pub(super) found: NonNull<Version>,
    /// Its timestamp; `None` for an own one.
    pub(super) ts: Option<Lsn>,
    /// The lock table knows the row, and this transaction as a holder of the strength asked for.
    pub(super) in_table: bool,
}

/// A row, latched, and what is wanted of it.
pub(super) struct RowRequest<'a> {
    pub(super) table: &'a Table,
    pub(super) row: RowId,
    pub(super) strength: RowLockStrength,
    pub(super) policy: WaitPolicy,
}

/// The strength of the lock that an uncommitted version is.
fn implicit_strength(version: &Version) -> RowLockStrength {
    if version.flags() & (KEY_LOCK | TOMBSTONE) != 0 {
        RowLockStrength::Update
    } else {
        RowLockStrength::NoKeyUpdate
    }
}

impl Transaction {
    /// Gets the row's lock, or says why not. Does not compare with what the caller has seen.
    pub(super) fn admit_row<'a>(
        &self,
        request: &RowRequest<'_>,
        latched: &Latched<'a>,
    ) -> Result<Admitted<'a>, WriteError> {
        let admitted = self.ask_for_row(request, latched);
        match &admitted {
            // Whoever locked the row before has left no word of what it committed.
            Ok(_) => self.note_lock(),
            // Whoever is in the way had got here.
            Err(_) => self.note_view(),
        }
        admitted
    }

    #[inline(always)]
    fn ask_for_row<'a>(
        &self,
        request: &RowRequest<'_>,
        latched: &Latched<'a>,
    ) -> Result<Admitted<'a>, WriteError> {
        loop {
            let Some(found) = NonNull::new(latched.head().cast_mut()) else {
                return Err(WriteError::Deleted);
            };
            // SAFETY: the head cannot be unlinked while we hold the row latch.
            let head: &'a Version = unsafe { found.as_ref() };
            let (ts, writer) = match standing(head, self.engine.slots, self.slot) {
                Standing::Committed(ts) => {
                    self.note_seen(ts);
                    (Some(ts), None)
                }
                Standing::Own(_) => (None, None),
                Standing::InFlight(slot) => (None, Some(slot)),
                // Rolled back, and about to be unlinked by whoever waits for our latch.
                Standing::Aborted => {
                    unreachable!("a rolled back version is unlinked before its state changes")
                }
            };
            let word = RowLockWord(head.lock.load(Ordering::SeqCst));
            let alone = word.owner().is_none_or(|(slot, _)| slot == self.slot);
            if writer.is_none() && !word.in_table() && alone {
                return Ok(Admitted {
                    head,
                    found,
                    ts,
                    in_table: false,
                });
            }
            match self.ask_lock_table(request, head, word, writer) {
                Acquired::Granted(_) => {
                    // Noted, so that ROLLBACK TO gives it back.
                    self.work.borrow_mut().rows.push(HeldRow {
                        table: request.table,
                        row: request.row,
                        strength: request.strength,
                    });
                    return Ok(match writer {
                        None => Admitted {
                            head,
                            found,
                            ts,
                            in_table: true,
                        },
                        Some(_) => self.admitted_below(found),
                    });
                }
                Acquired::Wait(ticket) => return Err(WriteError::MustWait(ticket)),
                Acquired::WouldBlock(_) => return Err(WriteError::WouldBlock),
                Acquired::Deadlock(report) => {
                    return Err(WriteError::Deadlock(self.engine.labelled(report)));
                }
                Acquired::HolderGone => mote_common::sync::hint::spin_loop(),
            }
        }
    }

    /// The newest committed version below an uncommitted one whose writer tolerates our lock.
    fn admitted_below<'a>(&self, newest: NonNull<Version>) -> Admitted<'a> {
        let mut found = newest;
        loop {
            // SAFETY: links change under the row latch only, which we hold, and what is linked is not freed.
            let head: &'a Version = unsafe { found.as_ref() };
            if let Standing::Committed(ts) = standing(head, self.engine.slots, self.slot) {
                self.note_seen(ts);
                return Admitted {
                    head,
                    found,
                    ts: Some(ts),
                    in_table: true,
                };
            }
            // An update that changes no key has a committed version below it; an insert tolerates nobody.
            found = NonNull::new(head.previous().cast_mut()).expect("an update has an older version");
        }
    }

    /// Moves the row's locks into the lock table and asks there.
    #[cold]
    fn ask_lock_table(
        &self,
        request: &RowRequest<'_>,
        head: &Version,
        word: RowLockWord,
        writer: Option<u32>,
    ) -> Acquired {
        let mut implicit = Vec::new();
        if let Some(slot) = writer {
            self.collect_writer_locks(head, slot, &mut implicit);
        }
        if let Some((slot, strength)) = word.owner() {
            implicit.push((self.owner_of(slot), LockMode::Row(strength)));
        }
        let tag = LockTag::Row(request.table.id(), request.row);
        // The word says so before the lock table is told: a lone owner that ends now finds its word gone.
        if !word.in_table()
            && head
                .lock
                .compare_exchange(word.0, RowLockWord::TABLE.0, Ordering::SeqCst, Ordering::SeqCst)
                .is_err()
        {
            return Acquired::HolderGone;
        }
        let wake = self.wake();
        let acquired = self.engine.locks.acquire(
            LockRequest {
                owner: self.owner(),
                tag,
                mode: LockMode::Row(request.strength),
                policy: request.policy,
                wake: &wake,
                known: Lsn::ZERO,
            },
            &implicit,
        );
        if matches!(acquired, Acquired::HolderGone) && !word.in_table() {
            // An owner that is ending finds nothing to clear; what it held is over.
            head.lock.store(RowLockWord::NONE.0, Ordering::SeqCst);
        }
        if matches!(acquired, Acquired::WouldBlock(_) | Acquired::Deadlock(_))
            && !self.engine.locks.knows(tag)
        {
            head.lock.store(RowLockWord::NONE.0, Ordering::SeqCst);
        }
        acquired
    }

    /// What the writer in `slot` holds by its uncommitted versions, and by its own lock word below them.
    fn collect_writer_locks(&self, head: &Version, slot: u32, implicit: &mut Vec<(Owner, LockMode)>) {
        let owner = self.owner_of(slot);
        let mut at = Some(head);
        while let Some(version) = at {
            let is_writers = matches!(standing(version, self.engine.slots, self.slot),
                Standing::InFlight(other) if other == slot);
            if is_writers {
                implicit.push((owner, LockMode::Row(implicit_strength(version))));
            }
            if let Some((_, strength)) = RowLockWord(version.lock.load(Ordering::SeqCst))
                .owner()
                .filter(|&(other, _)| other == slot)
            {
                implicit.push((owner, LockMode::Row(strength)));
            }
            if !is_writers {
                return;
            }
            // SAFETY: links change under the row latch only, which we hold.
            at = unsafe { version.previous().as_ref() };
        }
    }

    fn owner_of(&self, slot: u32) -> Owner {
        let other = self.engine.slots.get(slot);
        Owner {
            id: other.id(),
            session: other.session(),
            slot,
        }
    }

    /// Compares the newest version with the one the caller has seen, for a write.
    pub(super) fn check_seen(&self, admitted: &Admitted<'_>, seen: *const Version) -> Result<(), WriteError> {
        let same = std::ptr::eq(admitted.head, seen);
        if admitted.ts.is_none() {
            // Our own version: written by this command, or by a later one than the caller's snapshot.
            let current = admitted.head.stamp().command() >= self.command().0;
            return match current || !same {
                true => Err(WriteError::SelfModified),
                false => Ok(()),
            };
        }
        if same {
            return Ok(());
        }
        Err(if self.isolation() != Isolation::ReadCommitted {
            self.refuse_changed()
        } else if admitted.head.is_tombstone() {
            WriteError::Deleted
        } else {
            WriteError::Changed
        })
    }
}
