//! The entries that a write makes in indexes, and whether their keys are free.
//!
//! Uniqueness is judged on newest versions under the leaf latch of the key: a live row is a duplicate; a row in flight
//! is waited for, since only its transaction's end decides; a dead one does not count. The judge reads chains without
//! their latch: links are only ever taken out, and the newest version is loaded once.
//!
//! Replay makes entries that were judged where the log was written, those of long transactions later (`later_entries`).

use super::error::WriteError;
use super::later_entries::Refused;
use super::source::Source;
use super::transaction::Transaction;
use crate::epoch::Guard;
use crate::index::{CheckedInsert, IndexError};
use crate::lock::manager::{Acquired, LockRequest};
use crate::lock::owner::Owner;
use crate::lock::{LockMode, LockTag, WaitPolicy};
use crate::slots::TransactionId;
use crate::slots::slot::TransactionState;
use crate::table::version::Version;
use crate::table::visibility::{Standing, standing};
use crate::table::{KeyOutcome, RowView, Table, TableIndex};
use mote_common::{Lsn, RowId};
use std::ops::ControlFlow;
use std::ptr::NonNull;
use std::sync::Arc;

/// What the judge of a unique key found.
pub(super) enum Conflict {
    Duplicate(RowId),
    InFlight(u32),
}

impl Transaction {
    /// Inserts the row's entry into an index, judging uniqueness.
    pub(super) fn insert_entry(
        &self,
        table: &Table,
        index: &Arc<TableIndex>,
        row: RowId,
        view: &RowView<'_>,
        guard: &Guard,
    ) -> Result<(), WriteError> {
        let mut key = self.key.take();
        let result = self.insert_entry_with(table, index, row, view, &mut key, guard);
        self.key.set(key);
        result
    }

    fn insert_entry_with(
        &self,
        table: &Table,
        index: &Arc<TableIndex>,
        row: RowId,
        view: &RowView<'_>,
        key: &mut Vec<u8>,
        _guard: &Guard,
    ) -> Result<(), WriteError> {
        let KeyOutcome::Key { has_null } = index.key_program.key(view, key)? else {
            return Ok(());
        };
        self.enter_key(table, index, row, key, has_null)
    }

    /// The same for a key that is at hand. The caller is pinned.
    pub(super) fn enter_key(
        &self,
        table: &Table,
        index: &Arc<TableIndex>,
        row: RowId,
        key: &[u8],
        has_null: bool,
    ) -> Result<(), WriteError> {
        let failed = |error| match error {
            IndexError::OutOfMemory => self.no_memory(),
            error => index_error(index, error),
        };
        if self.source.get() == Source::Replay {
            let added = self.work.borrow_mut().later_entries.add(index, key, row);
            return added.map_err(refused);
        }
        if self.source.get().is_log() || !index.checks(has_null) {
            index.tree.insert(key, row).map_err(failed)?;
            return Ok(());
        }
        if index.definition.deferrable {
            return self.enter_deferrable_key(table, index, row, key).map_err(failed);
        }
        loop {
            let judged = index.tree.insert_checked(key, row, |other| {
                if other == row {
                    return ControlFlow::Continue(());
                }
                self.judge_key(table, index, other, key)
            });
            match judged.map_err(failed)? {
                CheckedInsert::Added(_) | CheckedInsert::Existed => return Ok(()),
                CheckedInsert::Stopped(Conflict::Duplicate(existing)) => {
                    self.note_newest(table, existing)?;
                    return Err(WriteError::Duplicate {
                        index: index.id,
                        existing,
                    });
                }
                CheckedInsert::Stopped(Conflict::InFlight(slot)) => {
                    if let Some(error) = self.wait_for_transaction(slot) {
                        return Err(error);
                    }
                }
            }
        }
    }

    /// Is the newest version of `row` live with this key? The caller is pinned.
    pub(super) fn judge_key(
        &self,
        table: &Table,
        index: &TableIndex,
        row: RowId,
        key: &[u8],
    ) -> ControlFlow<Conflict> {
        let mut at = table.slot(row).map_or(std::ptr::null(), |slot| slot.head());
        let mut scratch = Vec::new();
        let mut in_flight = None;
        while let Some(version) = NonNull::new(at.cast_mut()) {
            // SAFETY: reached from the head under the caller's pin.
            let (header, bytes) = unsafe { (version.as_ref(), Version::payload(version)) };
            let has_key = !header.is_tombstone()
                && index
                    .key_program
                    .matches(&table.view(header.layout(), bytes), key, &mut scratch);
            match standing(header, self.engine.slots, self.slot) {
                // Its end decides which of its versions, or the committed one below, counts.
                Standing::InFlight(slot) => {
                    if has_key {
                        return ControlFlow::Break(Conflict::InFlight(slot));
                    }
                    in_flight = Some(slot);
                }
                Standing::Aborted => {}
                Standing::Committed(ts) if !has_key => {
                    // Whoever gave the key up. One that left no version behind did so below all snapshots.
                    self.note_seen(ts);
                    return ControlFlow::Continue(());
                }
                Standing::Own(_) if !has_key => return ControlFlow::Continue(()),
                Standing::Own(_) => return ControlFlow::Break(Conflict::Duplicate(row)),
                Standing::Committed(ts) => {
                    self.note_seen(ts);
                    let conflict = in_flight.map_or(Conflict::Duplicate(row), Conflict::InFlight);
                    return ControlFlow::Break(conflict);
                }
            }
            at = header.previous();
        }
        ControlFlow::Continue(())
    }

    /// Waits until another transaction, one of [`Engine::lockers_of`], has ended.
    pub fn wait_for_end(&self, other: TransactionId) -> Result<(), WriteError> {
        self.note_lock();
        loop {
            let found = self.engine.slots.walk().find(|(_, slot)| {
                slot.id() == other && slot.state() == TransactionState::Active && other != self.id()
            });
            let Some((slot, _)) = found else {
                return Ok(());
            };
            if let Some(error) = self.wait_for_transaction(slot) {
                return Err(error);
            }
        }
    }

    /// Queues for the end of the transaction in `slot`; `None` if it has ended meanwhile.
    pub(super) fn wait_for_transaction(&self, slot: u32) -> Option<WriteError> {
        let other = self.engine.slots.get(slot);
        self.wait_for_owner(Owner {
            id: other.id(),
            session: other.session(),
            slot,
        })
    }

    /// The same for a transaction that was met before: its slot may be another's by now.
    pub(super) fn wait_for_owner(&self, holder: Owner) -> Option<WriteError> {
        self.note_lock();
        let wake = self.wake();
        let acquired = self.engine.locks.acquire(
            LockRequest {
                owner: self.owner(),
                tag: LockTag::Transaction(holder.id),
                mode: LockMode::Transaction { exclusive: false },
                policy: WaitPolicy::Block,
                wake: &wake,
                known: Lsn::ZERO,
            },
            &[(holder, LockMode::Transaction { exclusive: true })],
        );
        match acquired {
            Acquired::Wait(ticket) => Some(WriteError::MustWait(ticket)),
            Acquired::Deadlock(report) => Some(WriteError::Deadlock(self.engine.labelled(report))),
            Acquired::WouldBlock(_) => Some(WriteError::WouldBlock),
            Acquired::Granted(_) | Acquired::HolderGone => {
                mote_common::sync::hint::spin_loop();
                None
            }
        }
    }
}

#[cold]
pub(super) fn refused(refused: Refused) -> WriteError {
    index_error(&refused.index, refused.error)
}

#[cold]
pub(super) fn index_error(index: &TableIndex, error: IndexError) -> WriteError {
    match error {
        IndexError::OutOfMemory => WriteError::OutOfMemory,
        IndexError::KeyTooLong {
            key_bytes,
            maximum_bytes,
        } => WriteError::KeyTooLong {
            index: index.id,
            key_bytes,
            maximum_bytes,
        },
    }
}
