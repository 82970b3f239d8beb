//! An index built while others write: CREATE INDEX CONCURRENTLY.
//!
//! From the moment the index is in the table's list, every write that begins maintains it. Two kinds of writes do not:
//!  - those under way at that moment, with the old list. They hold an epoch guard, so they are over when the epoch has
//!    moved on twice; the build begins then.
//!  - those of transactions that are still running: their versions are on the chains, without entries. The builder
//!    enters uncommitted versions for them, too. In a unique index only their end can tell what they are worth: the
//!    builder waits for it, unless the entry is there (the writer knew the index, and was judged).
//!
//! An entry can come too late: its version may be pruned, or rolled back, between the look at the chain and the insert.
//! Whoever unlinks a version looks for its entries afterwards; the builder looks at the chain again after its insert, under
//! the leaf's latch. One of the two finds the entry and takes it away.
//!
//! A cursor looks at the key of a row again only where the chain says so (KEY_CHANGED), which writers that did not know
//! the index could not say: the builder does, under the row's latch, where it enters more than one key.

use super::{IndexBuild, Transaction, WriteError};
use crate::epoch::{self, Guard};
use crate::table::KeyOutcome;
use crate::table::prune::chain_has_key;
use crate::table::segment::Slot;
use crate::table::version::{KEY_CHANGED, Version};
use crate::table::visibility::{Standing, standing};
use crate::txn::entries::index_error;
use mote_common::RowId;
use std::ptr::NonNull;

/// A guard that was there when the epoch was E is gone when it is E + 2.
pub(super) const EPOCHS: u8 = 2;

/// A version to be entered.
struct Entry {
    key: Vec<u8>,
    has_null: bool,
    /// Slot of the transaction that wrote it, if that is running.
    writer: Option<u32>,
}

impl IndexBuild {
    /// Is every write over that began without knowing the index?
    pub(super) fn knows_all_writers(&mut self) -> bool {
        while let Some(epochs @ 1..) = self.among_writers {
            if !epoch::try_advance() {
                return false;
            }
            self.among_writers = Some(epochs - 1);
        }
        true
    }
}

impl Transaction {
    pub(super) fn build_row_among_writers(
        &self,
        build: &mut IndexBuild,
        row: RowId,
    ) -> Result<(), WriteError> {
        let table = build.table.clone();
        let Some(slot) = table.slot(row) else {
            return Ok(());
        };
        'again: loop {
            let guard = epoch::pin();
            for entry in self.entries_of(build, slot)? {
                match entry.writer {
                    None => self.enter_key(&table, &build.index, row, &entry.key, entry.has_null)?,
                    Some(_) if !build.index.checks(entry.has_null) => {
                        let entered = build.index.tree.insert(&entry.key, row);
                        entered.map_err(|error| index_error(&build.index, error))?;
                    }
                    Some(writer) => {
                        let mut rows = Vec::new();
                        build.index.tree.get_all(&entry.key, &mut rows);
                        if !rows.contains(&row) {
                            drop(guard);
                            if let Some(error) = self.wait_for_transaction(writer) {
                                return Err(error);
                            }
                            // It is over.
                            continue 'again;
                        }
                    }
                }
                take_back_if_late(build, row, &entry.key, &guard);
            }
            return Ok(());
        }
    }

    /// What of the row must be in the index: its newest committed version, and all newer ones.
    fn entries_of(&self, build: &mut IndexBuild, slot: &Slot) -> Result<Vec<Entry>, WriteError> {
        let latched = slot.latch();
        let mut entries: Vec<Entry> = Vec::new();
        let mut met: Vec<&Version> = Vec::new();
        let mut at = latched.head();
        while let Some(version) = NonNull::new(at.cast_mut()) {
            // SAFETY: linked, under the latch.
            let (header, bytes) = unsafe { (version.as_ref(), Version::payload(version)) };
            at = header.previous();
            let (writer, last) = match standing(header, self.engine.slots, self.slot) {
                Standing::Committed(ts) => {
                    if header.is_tombstone() || !at.is_null() {
                        build.valid_from = build.valid_from.max(ts);
                    }
                    (None, true)
                }
                Standing::InFlight(slot) => (Some(slot), false),
                // A transaction that builds an index this way has written nothing; what is rolled back goes.
                Standing::Own(_) | Standing::Aborted => continue,
            };
            met.push(header);
            if !header.is_tombstone() {
                let view = build.table.view(header.layout(), bytes);
                let mut key = Vec::new();
                if let KeyOutcome::Key { has_null } = build.index.key_program.key(&view, &mut key)? {
                    entries.push(Entry {
                        key,
                        has_null,
                        writer,
                    });
                }
            }
            if last {
                break;
            }
        }
        if entries.windows(2).any(|pair| pair[0].key != pair[1].key) {
            met.iter().for_each(|header| header.set_flags(KEY_CHANGED));
        }
        Ok(entries)
    }
}

/// The version may have gone while its entry was made.
fn take_back_if_late(build: &IndexBuild, row: RowId, key: &[u8], _guard: &Guard) {
    let mut scratch = Vec::new();
    build.index.tree.remove_if(key, row, || {
        !chain_has_key(&build.table, row, &build.index, key, &mut scratch)
    });
}
