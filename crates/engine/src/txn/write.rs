//! Insert, update, delete.
//!
//! Order within a write: memory, the row's lock, the new version at the head of the chain, its index entries, the redo.
//! A failure after the version is linked unlinks it again, so that an error leaves the row as it was. The caller sees one
//! outcome per call and may call again with the same arguments after `MustWait`.
//!
//! Uniqueness is judged on newest versions under the leaf latch of the key: a live row is a duplicate; a row in flight
//! is waited for, since only its transaction's end decides; a dead one does not count. The judge reads chains without
//! their latch: links are only ever taken out, and the newest version is loaded once.

use super::admission::RowRequest;
use super::error::WriteError;
use super::later_entries::Refused;
use super::snapshot::RowVersion;
use super::source::Source;
use super::tell::ToldChange;
use super::transaction::Transaction;
use super::work::{Work, Write, WriteKind};
use crate::epoch::{self, Guard};
use crate::index::{CheckedInsert, IndexError};
use crate::lock::manager::{Acquired, LockRequest};
use crate::lock::owner::Owner;
use crate::lock::row::RowLockWord;
use crate::lock::{LockMode, LockTag, RowLockStrength, WaitPolicy};
use crate::memory::Charge;
use crate::slots::TransactionId;
use crate::slots::slot::TransactionState;
use crate::table::prune::{bury, keys_differ, prune_row, remove_dead_entries, unlink_unneeded};
use crate::table::segment::{Latched, Slot};
use crate::table::store::retire;
use crate::table::version::{
    KEY_CHANGED, KEY_LOCK, MOVED, NewVersion, QUEUED, Stamp, TOMBSTONE, Version, allocation_bytes,
};
use crate::table::visibility::{Standing, standing};
use crate::table::{KeyOutcome, RowView, Table, TableIndex};
use mote_common::sync::atomic::Ordering;
use mote_common::{IndexId, Lsn, RowId};
use std::ops::ControlFlow;
use std::ptr::NonNull;
use std::sync::Arc;

/// A chain longer than the active snapshots account for, by this much, asks for a fresh view of what is active.
const CHAIN_SLACK: usize = 3;

/// An update whose version is on the chain and whose index entries are still missing.
struct LinkedUpdate<'g> {
    version: NonNull<Version>,
    old: &'g Version,
    /// Of the old version; zero for an own one.
    base_ts: Lsn,
    /// Indexes whose key changed, by `changed_bit`.
    changed: u64,
    /// As in [`Write`].
    queues: bool,
}

impl LinkedUpdate<'_> {
    /// Whether the key of this index changed; of one that is not there, yes.
    fn changes(&self, key: IndexId, table: &Table, guard: &Guard) -> bool {
        let mut indexes = table.indexes_pinned(guard).iter();
        let position = indexes.position(|index| index.id == key);
        position.is_none_or(|position| self.changed & changed_bit(position) != 0)
    }
}

/// Indexes beyond the 63rd share a bit: an entry inserted again does no harm.
fn changed_bit(position: usize) -> u64 {
    1 << position.min(63)
}

/// What the judge of a unique key found.
pub(super) enum Conflict {
    Duplicate(RowId),
    InFlight(u32),
}

impl Transaction {
    /// Inserts a row written with the table's newest layout.
    pub fn insert(&self, table: &Table, row: &[u8]) -> Result<RowId, WriteError> {
        self.insert_judged(table, row, &[])
    }

    /// The same, where the indexes of `first` judge the row before all others do: a duplicate there is answered even if
    /// another key is taken as well.
    pub fn insert_judged(&self, table: &Table, row: &[u8], first: &[IndexId]) -> Result<RowId, WriteError> {
        self.check_writable_in(table)?;
        self.make_room(row.len(), Charge::Ordinary)?;
        let Some((id, slot)) = table.allocate_row() else {
            self.engine.budget.release(allocation_bytes(row.len()));
            return Err(WriteError::Exhausted("row ids"));
        };
        self.insert_at(table, id, slot, row, first)?;
        Ok(id)
    }

    /// Puts a row at an id that is ours, into an empty slot; its memory is charged.
    pub(super) fn insert_at(
        &self,
        table: &Table,
        id: RowId,
        slot: &Slot,
        row: &[u8],
        first: &[IndexId],
    ) -> Result<(), WriteError> {
        let layout = table.newest_layout();
        let version = Version::allocate(NewVersion {
            stamp: self.new_stamp(),
            previous: std::ptr::null(),
            layout: layout.number(),
            flags: KEY_LOCK,
            revision: 1,
            row,
        });
        let guard = epoch::pin();
        slot.publish(version.as_ptr());
        let view = RowView::new(layout, row);
        let indexes = table.indexes_pinned(&guard).iter();
        let leads = |index: &&Arc<TableIndex>| first.contains(&index.id);
        let leading = indexes.clone().filter(|index| !first.is_empty() && leads(index));
        for index in leading.chain(indexes.clone().filter(|index| !leads(index))) {
            if let Err(error) = self.insert_entry(table, index, id, &view, &guard) {
                self.unlink(table, id, version, std::ptr::null(), &guard);
                // The id has been in indexes: others may have met it.
                self.engine
                    .collector
                    .queue_freed_rows(self.engine.log.tail(), [(table.id(), id)]);
                return Err(error);
            }
        }
        // That a key is free may be somebody's commit.
        if indexes.clone().any(|index| index.unique) {
            self.note_lock();
        }
        let mut work = self.work.borrow_mut();
        work.writes.push(Write {
            table,
            row: id,
            version,
            kind: WriteKind::Insert,
            queues: false,
        });
        if self.keeps_redo(table, &mut work) {
            work.redo.insert(table.id(), id, layout.number(), row);
        }
        Ok(())
    }

    /// Replaces the version `seen` by a row written with the table's newest layout.
    pub fn update(&self, table: &Table, seen: &RowVersion<'_>, row: &[u8]) -> Result<(), WriteError> {
        self.update_with(table, seen, row, None)
    }

    pub(super) fn update_with(
        &self,
        table: &Table,
        seen: &RowVersion<'_>,
        row: &[u8],
        told: Option<&ToldChange<'_>>,
    ) -> Result<(), WriteError> {
        self.check_writable_in(table)?;
        self.make_room(row.len(), Charge::Ordinary)?;
        self.update_charged(table, seen, row, told)
    }

    /// The same once memory is charged.
    pub(super) fn update_charged(
        &self,
        table: &Table,
        seen: &RowVersion<'_>,
        row: &[u8],
        told: Option<&ToldChange<'_>>,
    ) -> Result<(), WriteError> {
        let guard = epoch::pin();
        let linked = self.link_update(table, seen, row, &guard).inspect_err(|_| {
            self.engine.budget.release(allocation_bytes(row.len()));
        })?;
        let id = seen.row();
        let layout = table.newest_layout();
        let new_view = RowView::new(layout, row);
        for (position, index) in table.indexes_pinned(&guard).iter().enumerate() {
            if linked.changed & changed_bit(position) == 0 {
                continue;
            }
            if let Err(error) = self.insert_entry(table, index, id, &new_view, &guard) {
                self.unlink_update(table, id, linked.version, linked.old, &guard);
                return Err(error);
            }
        }
        let mut work = self.work.borrow_mut();
        work.writes.push(Write {
            table,
            row: id,
            version: linked.version,
            kind: WriteKind::Update,
            queues: linked.queues,
        });
        if let Some(told) = told {
            told.tell_old(&mut work, table, id, |key| linked.changes(key, table, &guard));
            // Whole: who is told of it has no row before it to patch.
            work.redo
                .update_whole(table.id(), id, layout.number(), linked.base_ts, row);
        } else if !self.keeps_redo(table, &mut work) {
            return Ok(());
        } else if seen.layout() == layout.number() {
            // SAFETY: linked by us and uncommitted: it stays.
            let new_bytes = unsafe { Version::payload(linked.version) };
            work.redo.update(
                table.id(),
                id,
                layout.number(),
                linked.base_ts,
                seen.bytes(),
                new_bytes,
            );
        } else {
            work.redo
                .update_whole(table.id(), id, layout.number(), linked.base_ts, row);
        }
        Ok(())
    }

    /// Everything of an update up to its index entries. An error means that the charge was not used.
    fn link_update<'g>(
        &self,
        table: &Table,
        seen: &RowVersion<'_>,
        row: &[u8],
        guard: &'g Guard,
    ) -> Result<LinkedUpdate<'g>, WriteError> {
        let id = seen.row();
        let layout = table.newest_layout();
        let (old_view, new_view) = (table.view(seen.layout(), seen.bytes()), RowView::new(layout, row));
        // Judged against `seen`: if that is not the newest version, nothing is written.
        let mut changed = 0;
        let mut flags = 0;
        for (position, index) in table.indexes_pinned(guard).iter().enumerate() {
            if !index.key_program.surely_same(&old_view, &new_view) {
                changed |= changed_bit(position);
                // Foreign keys lean on plain unique keys only.
                let is_key = index.unique && !index.key_program.has_expressions();
                flags |= KEY_CHANGED | if is_key { KEY_LOCK } else { 0 };
            }
        }
        let strength = if flags & KEY_LOCK != 0 {
            RowLockStrength::Update
        } else {
            RowLockStrength::NoKeyUpdate
        };
        let slot = table.slot(id).expect("a row that was read has a slot");
        let mut latched = slot.latch();
        let request = RowRequest {
            table,
            row: id,
            strength,
            policy: WaitPolicy::Block,
        };
        let admitted = self.admit_row(&request, &latched)?;
        self.check_seen(&admitted, seen.version.as_ptr())?;
        let old: *const Version = admitted.head;
        // SAFETY: found under the guard.
        let old = unsafe { &*old };
        let base_ts = admitted.ts.unwrap_or(Lsn::ZERO);
        // An older key change still matters while its version is there.
        if old.flags() & KEY_CHANGED != 0 && !old.previous().is_null() {
            flags |= KEY_CHANGED;
        }
        let queues = self.source.get().queues(old);
        flags |= if queues { QUEUED } else { 0 };
        let version = self.link(&mut latched, old, row, layout.number(), flags);
        let mut dead = Vec::new();
        let too_long = self.prune_latched(&latched, old, &mut dead, guard);
        drop(latched);
        bury(table, id, &dead, keys_differ(own_header(version)), guard);
        if too_long {
            self.prune_with_fresh_view(table, id, guard);
        }
        Ok(LinkedUpdate {
            version,
            old,
            base_ts,
            changed,
            queues,
        })
    }

    /// Deletes the row whose version `seen` is.
    pub fn delete(&self, table: &Table, seen: &RowVersion<'_>) -> Result<(), WriteError> {
        self.delete_with(table, seen, false, None)
    }

    /// Deletes a row that the transaction writes to another table: who waited for it is told so
    /// ([`LockedRow::moved`](super::LockedRow)) instead of finding no row.
    pub fn delete_moved(&self, table: &Table, seen: &RowVersion<'_>) -> Result<(), WriteError> {
        self.delete_with(table, seen, true, None)
    }

    pub(super) fn delete_with(
        &self,
        table: &Table,
        seen: &RowVersion<'_>,
        moved: bool,
        told: Option<&ToldChange<'_>>,
    ) -> Result<(), WriteError> {
        self.check_writable_in(table)?;
        self.make_room(0, Charge::Essential)?;
        let flags = if moved { MOVED } else { 0 };
        let result = self.delete_charged(table, seen, flags, told);
        if result.is_err() {
            self.engine.budget.release(allocation_bytes(0));
        }
        result
    }

    pub(super) fn delete_charged(
        &self,
        table: &Table,
        seen: &RowVersion<'_>,
        flags: u8,
        told: Option<&ToldChange<'_>>,
    ) -> Result<(), WriteError> {
        let id = seen.row();
        let guard = epoch::pin();
        let slot = table.slot(id).expect("a row that was read has a slot");
        let mut latched = slot.latch();
        let request = RowRequest {
            table,
            row: id,
            strength: RowLockStrength::Update,
            policy: WaitPolicy::Block,
        };
        let admitted = self.admit_row(&request, &latched)?;
        self.check_seen(&admitted, seen.version.as_ptr())?;
        let head = admitted.head;
        let base_ts = admitted.ts.unwrap_or(Lsn::ZERO);
        let queues = self.source.get().queues(head);
        let queued = if queues { QUEUED } else { 0 };
        let flags = flags | queued | TOMBSTONE | head.flags() & KEY_CHANGED;
        let version = self.link(&mut latched, head, &[], head.layout(), flags);
        let mut dead = Vec::new();
        self.prune_latched(&latched, head, &mut dead, &guard);
        drop(latched);
        bury(table, id, &dead, true, &guard);
        let mut work = self.work.borrow_mut();
        work.writes.push(Write {
            table,
            row: id,
            version,
            kind: WriteKind::Delete,
            queues,
        });
        if let Some(told) = told {
            told.tell_old(&mut work, table, id, |_| true);
        }
        if self.keeps_redo(table, &mut work) {
            work.redo.delete(table.id(), id, base_ts);
        }
        Ok(())
    }

    pub(super) fn new_stamp(&self) -> Stamp {
        self.source.get().stamp(self.slot, self.command().0)
    }

    fn keeps_redo(&self, table: &Table, work: &mut Work) -> bool {
        self.source.get().keeps_redo(table.is_temporary(), &mut work.redo)
    }

    /// Puts a new version in front of `head`.
    fn link(
        &self,
        latched: &mut Latched<'_>,
        head: &Version,
        row: &[u8],
        layout: u8,
        flags: u8,
    ) -> NonNull<Version> {
        let version = Version::allocate(NewVersion {
            stamp: self.new_stamp(),
            previous: head,
            layout,
            flags: flags | head.flags() & QUEUED,
            revision: head.revision().wrapping_add(1),
            row,
        });
        let word = RowLockWord(head.lock.load(Ordering::SeqCst));
        if word.in_table() {
            own_header(version).lock.store(word.0, Ordering::SeqCst);
        }
        latched.set_head(version.as_ptr());
        version
    }

    /// Prunes behind a version just linked, with the view at hand. Answers whether a fresh one might do better.
    fn prune_latched(
        &self,
        latched: &Latched<'_>,
        old: &Version,
        dead: &mut Vec<NonNull<Version>>,
        guard: &Guard,
    ) -> bool {
        if old.previous().is_null() {
            return false;
        }
        let view = self.engine.views.get(guard);
        let remaining = unlink_unneeded(latched.head(), view, self.engine.slots, dead);
        remaining > CHAIN_SLACK + view.active_count()
    }

    #[cold]
    fn prune_with_fresh_view(&self, table: &Table, row: RowId, guard: &Guard) {
        let engine = &*self.engine;
        let view = engine.views.refresh(&engine.log, engine.slots);
        prune_row(table, row, &view, engine.slots, guard);
    }

    /// Takes a version of this call off its chain again.
    fn unlink(
        &self,
        table: &Table,
        row: RowId,
        version: NonNull<Version>,
        previous: *const Version,
        guard: &Guard,
    ) {
        let slot = table.slot(row).expect("the row was linked just now");
        let mut latched = slot.latch();
        debug_assert!(std::ptr::eq(latched.head(), version.as_ptr()));
        latched.set_head(previous);
        own_header(version).set_stamp(Stamp::ABORTED);
        drop(latched);
        remove_dead_entries(table, row, version, guard);
        // SAFETY: unlinked above; handed over once.
        unsafe { retire(version, table.budget(), guard) };
    }

    fn unlink_update(
        &self,
        table: &Table,
        row: RowId,
        version: NonNull<Version>,
        old: &Version,
        guard: &Guard,
    ) {
        let new = own_header(version);
        // As in a rollback: cursors may have met entries of the version that goes, and somebody may have queued.
        old.set_flags(KEY_CHANGED);
        let word = RowLockWord(new.lock.load(Ordering::SeqCst));
        if word.in_table() {
            old.lock.store(word.0, Ordering::SeqCst);
        }
        self.unlink(table, row, version, old, guard);
        if self.slot().is_contended() {
            self.settle_row_lock(table, row);
        }
    }

    // Index entries

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

/// The header of a version that this call has linked and nobody else can unlink.
fn own_header<'a>(version: NonNull<Version>) -> &'a Version {
    // SAFETY: an uncommitted version is unlinked by its own transaction only, which is in this call.
    unsafe { version.as_ref() }
}
