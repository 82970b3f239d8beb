//! Old versions, dead index entries, deleted rows: taking away what nobody can read.
//!
//! A writer prunes the chain it has just lengthened; the collector comes to rows that nobody writes again. Both unlink
//! versions under the row latch, retire them through the epoch, and then remove index entries: an entry goes, under its
//! leaf's latch, only when no version of the chain (uncommitted ones included) has its key. Writers link a version
//! before they insert its entries, so whoever adds the key again after that look finds the entry gone and inserts it.
//!
//! The collector's queue holds rows with something to take away, in the order of the commits that made it so. A row
//! stands in it once (QUEUED on its newest version). A deleted row goes when its tombstone is older than everything
//! active; its id is free only after its last index entry is gone.

use super::key_program::KeyOutcome;
use super::store::{Table, TableIndex, retire};
use super::version::{KEY_CHANGED, QUEUED, TOMBSTONE, Version};
use super::visibility::{NOBODY, Standing, standing};
use crate::epoch::{self, Guard};
use crate::lock::row::RowLockWord;
use crate::slots::horizon::ActiveView;
use crate::slots::slot::SlotTable;
use mote_common::sync::Mutex;
use mote_common::sync::atomic::{AtomicBool, Ordering};
use mote_common::{Lsn, RowId, TableId};
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::Arc;

/// Removes the index entries of a version that is unlinked but not yet retired, unless another version of the chain has
/// the same key.
pub(crate) fn remove_dead_entries(table: &Table, row: RowId, dead: NonNull<Version>, guard: &Guard) {
    // SAFETY: the caller has not retired it.
    let version = unsafe { dead.as_ref() };
    if version.is_tombstone() {
        return;
    }
    // SAFETY: the caller has not retired it, so its bytes are there as its header is.
    let bytes = unsafe { Version::payload(dead) };
    let mut key = Vec::new();
    for index in table.indexes_pinned(guard) {
        let view = table.view(version.layout(), bytes);
        if !matches!(index.key_program.key(&view, &mut key), Ok(KeyOutcome::Key { .. })) {
            continue;
        }
        let mut scratch = Vec::new();
        index.tree.remove_if(&key, row, || {
            !chain_has_key(table, row, index, &key, &mut scratch)
        });
    }
}

/// Does any version of the row, committed or not, have this key? The caller is pinned.
pub(crate) fn chain_has_key(
    table: &Table,
    row: RowId,
    index: &TableIndex,
    key: &[u8],
    scratch: &mut Vec<u8>,
) -> bool {
    let mut at = table.slot(row).map_or(std::ptr::null(), |slot| slot.head());
    while let Some(version) = NonNull::new(at.cast_mut()) {
        // SAFETY: reached from the head under the caller's pin.
        let (header, bytes) = unsafe { (version.as_ref(), Version::payload(version)) };
        if !header.is_tombstone()
            && index
                .key_program
                .matches(&table.view(header.layout(), bytes), key, scratch)
        {
            return true;
        }
        at = header.previous();
    }
    false
}

/// Unlinks the versions of a chain that `view` says nobody reads, and what goes with them. Answers how many.
pub(crate) fn prune_row(
    table: &Table,
    row: RowId,
    view: &ActiveView,
    slots: &SlotTable,
    guard: &Guard,
) -> usize {
    let Some(slot) = table.slot(row) else { return 0 };
    let mut dead: Vec<NonNull<Version>> = Vec::new();
    let latched = slot.latch();
    // SAFETY: links of the chain change only under the latch, and linked versions are not freed.
    let head = unsafe { latched.head().as_ref() };
    let keys_differ = head.is_some_and(keys_differ);
    unlink_unneeded(latched.head(), view, slots, &mut dead);
    drop(latched);
    bury(table, row, &dead, keys_differ, guard);
    dead.len()
}

/// May some version of the chain have another key than the newest one? Under a tombstone every key may be the last.
pub(crate) fn keys_differ(head: &Version) -> bool {
    head.flags() & (KEY_CHANGED | TOMBSTONE) != 0
}

/// After the row latch: index entries and memory of versions that `unlink_unneeded` took out.
pub(crate) fn bury(table: &Table, row: RowId, dead: &[NonNull<Version>], keys_differ: bool, guard: &Guard) {
    if keys_differ {
        dead.iter()
            .for_each(|&version| remove_dead_entries(table, row, version, guard));
    }
    for &version in dead {
        // SAFETY: unlinked by the caller alone, who hands them over once.
        unsafe { retire(version, table.budget(), guard) };
    }
}

/// Under the row latch: walks the chain, keeps the newest committed version and all that `view` needs. Answers how many
/// versions are left, uncommitted ones included.
pub(crate) fn unlink_unneeded(
    head: *const Version,
    view: &ActiveView,
    slots: &SlotTable,
    dead: &mut Vec<NonNull<Version>>,
) -> usize {
    let mut remaining = 0;
    // The last version that stays, and the timestamp of the last committed one met (kept or not: what supersedes a
    // version is its next newer neighbour).
    let mut kept: Option<&Version> = None;
    let mut newer: Option<Lsn> = None;
    let mut at = NonNull::new(head.cast_mut());
    while let Some(pointer) = at {
        // SAFETY: as in `prune_row`.
        let version = unsafe { pointer.as_ref() };
        at = NonNull::new(version.previous().cast_mut());
        let ts = match standing(version, slots, NOBODY) {
            Standing::Committed(ts) => Some(ts),
            _ => None,
        };
        let needed = match (ts, newer) {
            (Some(ts), Some(newer)) => ts < newer && view.needs(ts, newer),
            _ => true,
        };
        newer = ts.or(newer);
        if needed {
            remaining += 1;
            kept = Some(version);
        } else if let Some(kept) = kept {
            kept.set_previous(version.previous());
            dead.push(pointer);
        }
    }
    remaining
}

/// Something to take away.
#[derive(Clone, Copy)]
struct Item {
    /// Due once everything active is at or above this.
    ts: Lsn,
    table: TableId,
    row: RowId,
    kind: ItemKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ItemKind {
    /// A row with old versions, or with a tombstone.
    Versions,
    /// An id whose insert was rolled back.
    FreedRow,
}

/// Rows with something to take away.
#[derive(Default)]
pub(crate) struct Collector {
    /// On a node that follows the log says which row ids are used: none is given out here.
    keeps_row_ids: AtomicBool,
    queue: Mutex<VecDeque<Item>>,
}

/// What a step of the collector did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Collected {
    /// Entries looked at.
    pub examined: usize,
    pub versions: usize,
    pub rows: usize,
    /// Entries left in the queue.
    pub waiting: usize,
}

impl Collector {
    /// Rows that a commit at `ts` gave an old version or a tombstone.
    pub(crate) fn queue_rows(&self, ts: Lsn, rows: impl IntoIterator<Item = (TableId, RowId)>) {
        self.queue_items(ts, rows, ItemKind::Versions);
    }

    /// Ids whose inserts were rolled back when the tail was `ts`.
    pub(crate) fn queue_freed_rows(&self, ts: Lsn, rows: impl IntoIterator<Item = (TableId, RowId)>) {
        self.queue_items(ts, rows, ItemKind::FreedRow);
    }

    fn queue_items(&self, ts: Lsn, rows: impl IntoIterator<Item = (TableId, RowId)>, kind: ItemKind) {
        let mut rows = rows.into_iter().peekable();
        if rows.peek().is_some() {
            self.queue
                .lock()
                .extend(rows.map(|(table, row)| Item { ts, table, row, kind }));
        }
    }

    /// From now on row ids that become free are not given out again.
    pub(crate) fn keep_row_ids(&self) {
        // Relaxed: set before anybody else has the engine.
        self.keeps_row_ids.store(true, Ordering::Relaxed);
    }

    /// The node leads from now on: ids that become free are given out again. Those that were freed before are found by
    /// whoever looks for rows without a version ([`Table::find_free_rows`]), and are not to be freed twice.
    pub(crate) fn give_row_ids(&self) {
        self.queue.lock().retain(|item| item.kind != ItemKind::FreedRow);
        // Relaxed: nobody else has the engine.
        self.keeps_row_ids.store(false, Ordering::Relaxed);
    }

    fn free_row(&self, table: &Table, row: RowId) {
        if !self.keeps_row_ids.load(Ordering::Relaxed) {
            table.free_rows([row]);
        }
    }

    pub(crate) fn waiting(&self) -> usize {
        self.queue.lock().len()
    }

    /// Takes away what is due, at most `limit` entries. Rows of tables that are gone went with them.
    pub(crate) fn step(
        &self,
        view: &ActiveView,
        slots: &SlotTable,
        limit: usize,
        find: impl Fn(TableId) -> Option<Arc<Table>>,
    ) -> Collected {
        let mut done = Collected::default();
        let oldest = view.oldest();
        let guard = epoch::pin();
        let mut last: Option<(TableId, Option<Arc<Table>>)> = None;
        while done.examined < limit {
            let mut queue = self.queue.lock();
            if queue.front().is_none_or(|item| item.ts > oldest) {
                break;
            }
            let Some(item) = queue.pop_front() else { break };
            drop(queue);
            done.examined += 1;
            if last.as_ref().is_none_or(|(id, _)| *id != item.table) {
                last = Some((item.table, find(item.table)));
            }
            let Some((_, Some(table))) = &last else { continue };
            match item.kind {
                ItemKind::FreedRow => {
                    self.free_row(table, item.row);
                    done.rows += 1;
                }
                ItemKind::Versions => self.collect_row(table, item, view, slots, &guard, &mut done),
            }
        }
        done.waiting = self.waiting();
        done
    }

    fn collect_row(
        &self,
        table: &Table,
        item: Item,
        view: &ActiveView,
        slots: &SlotTable,
        guard: &Guard,
        done: &mut Collected,
    ) {
        done.versions += prune_row(table, item.row, view, slots, guard);
        match take_deleted(table, item.row, view.oldest(), slots, guard) {
            Deleted::Gone(versions) => {
                self.free_row(table, item.row);
                done.versions += versions;
                done.rows += 1;
            }
            Deleted::Settled => {}
            Deleted::Later(ts) => self.queue.lock().push_back(Item { ts, ..item }),
        }
    }
}

enum Deleted {
    /// The row is gone; so many versions with it.
    Gone(usize),
    /// Nothing left to take away; no longer queued.
    Settled,
    /// There will be, once everything active is later than this.
    Later(Lsn),
}

/// Takes a deleted row away if everything active is later than its tombstone, or takes a clean row off the queue.
fn take_deleted(table: &Table, row: RowId, oldest: Lsn, slots: &SlotTable, guard: &Guard) -> Deleted {
    let Some(slot) = table.slot(row) else {
        return Deleted::Settled;
    };
    let mut latched = slot.latch();
    // SAFETY: linked, under the latch.
    let Some(head) = (unsafe { latched.head().as_ref() }) else {
        return Deleted::Settled;
    };
    let Standing::Committed(ts) = standing(head, slots, NOBODY) else {
        // Its writer inherited QUEUED and does not queue the row again: look once it is over.
        return Deleted::Later(Lsn(oldest.0 + 1));
    };
    if head.is_tombstone() {
        let free = RowLockWord(head.lock.load(Ordering::SeqCst)) == RowLockWord::NONE;
        if ts > oldest || !free {
            return Deleted::Later(ts.max(Lsn(oldest.0 + 1)));
        }
        let mut at = latched.head();
        latched.set_head(std::ptr::null());
        drop(latched);
        let mut versions = Vec::new();
        while let Some(version) = NonNull::new(at.cast_mut()) {
            versions.push(version);
            // SAFETY: unlinked by us, retired below.
            at = unsafe { version.as_ref() }.previous();
        }
        versions
            .iter()
            .for_each(|&version| remove_dead_entries(table, row, version, guard));
        for &version in &versions {
            // SAFETY: unreachable since the head was cleared; ours alone.
            unsafe { retire(version, table.budget(), guard) };
        }
        return Deleted::Gone(versions.len());
    }
    if head.previous().is_null() {
        head.clear_flags(QUEUED);
        return Deleted::Settled;
    }
    Deleted::Later(ts.max(Lsn(oldest.0 + 1)))
}
