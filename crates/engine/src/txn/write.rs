//! Insert, update, delete. The entries of indexes: `entries`.
//!
//! Order within a write: memory, the row's lock, the new version at the head of the chain, its index entries, the redo.
//! A failure after the version is linked unlinks it again, so that an error leaves the row as it was. The caller sees one
//! outcome per call and may call again with the same arguments after `MustWait`.

use super::admission::RowRequest;
use super::error::WriteError;
use super::snapshot::RowVersion;
use super::tell::ToldChange;
use super::transaction::Transaction;
use super::work::{Work, Write, WriteKind};
use crate::epoch::{self, Guard};
use crate::lock::row::RowLockWord;
use crate::lock::{RowLockStrength, WaitPolicy};
use crate::memory::Charge;
use crate::table::prune::{bury, keys_differ, prune_row, remove_dead_entries, unlink_unneeded};
use crate::table::segment::{Latched, Slot};
use crate::table::store::retire;
use crate::table::version::{
    KEY_CHANGED, KEY_LOCK, MOVED, NewVersion, QUEUED, Stamp, TOMBSTONE, Version, allocation_bytes,
};
use crate::table::{RowView, Table, TableIndex};
use mote_common::sync::atomic::Ordering;
use mote_common::{IndexId, Lsn, RowId};
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
}

/// The header of a version that this call has linked and nobody else can unlink.
fn own_header<'a>(version: NonNull<Version>) -> &'a Version {
    // SAFETY: an uncommitted version is unlinked by its own transaction only, which is in this call.
    unsafe { version.as_ref() }
}
