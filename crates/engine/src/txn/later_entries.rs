//! Index entries that replay makes later, many at once.
//!
//! A long transaction of the log changes rows in an order that has nothing to do with that of an index: each entry would be
//! a walk down the tree through memory that the processor's caches do not hold. Nobody needs the entries before the
//! transaction commits. So they are gathered, and made in the order of their keys: one after another they meet the same
//! nodes.

use crate::index::IndexError;
use crate::table::TableIndex;
use mote_common::{IndexId, RowId};
use std::sync::Arc;

/// Entries of one index that are made at once: some six for each leaf of an index over a million rows.
const ENTRIES_MAX: usize = 1 << 16;
const KEY_BYTES_MAX: usize = 4 << 20;

#[derive(Default)]
pub(crate) struct LaterEntries {
    of: Vec<OfIndex>,
}

struct OfIndex {
    index: Arc<TableIndex>,
    keys: Vec<u8>,
    entries: Vec<Entry>,
}

#[derive(Clone, Copy)]
struct Entry {
    /// The first bytes of the key, as a number of the same order.
    head: u64,
    start: u32,
    bytes: u32,
    row: RowId,
}

/// An entry could not be made.
pub(super) struct Refused {
    pub index: Arc<TableIndex>,
    pub error: IndexError,
}

impl LaterEntries {
    /// To be made with the next turn at the latest; takes it if it is time.
    pub(super) fn add(&mut self, index: &Arc<TableIndex>, key: &[u8], row: RowId) -> Result<(), Refused> {
        let of = self.of_index(index);
        if of.entries.len() == ENTRIES_MAX || of.keys.len() + key.len() > KEY_BYTES_MAX {
            of.make()?;
        }
        let mut head = [0; 8];
        let shared = key.len().min(head.len());
        head[..shared].copy_from_slice(&key[..shared]);
        of.entries.push(Entry {
            head: u64::from_be_bytes(head),
            start: of.keys.len() as u32,
            bytes: key.len() as u32,
            row,
        });
        of.keys.extend_from_slice(key);
        Ok(())
    }

    fn of_index(&mut self, index: &Arc<TableIndex>) -> &mut OfIndex {
        let id: IndexId = index.id;
        let position = match self.of.iter().position(|of| of.index.id == id) {
            Some(position) => position,
            None => {
                self.of.push(OfIndex {
                    index: index.clone(),
                    keys: Vec::new(),
                    entries: Vec::new(),
                });
                self.of.len() - 1
            }
        };
        &mut self.of[position]
    }

    /// Nobody wants them any more.
    pub(super) fn forget(&mut self) {
        self.of.clear();
    }

    /// Makes all that are left.
    pub(super) fn make(&mut self) -> Result<(), Refused> {
        self.of.iter_mut().try_for_each(OfIndex::make)
    }
}

impl OfIndex {
    fn make(&mut self) -> Result<(), Refused> {
        let OfIndex { index, keys, entries } = self;
        let key = |entry: &Entry| &keys[entry.start as usize..(entry.start + entry.bytes) as usize];
        entries.sort_unstable_by(|a, b| {
            a.head
                .cmp(&b.head)
                .then_with(|| key(a).cmp(key(b)))
                .then(a.row.cmp(&b.row))
        });
        let sorted: Vec<(&[u8], RowId)> = entries.iter().map(|entry| (key(entry), entry.row)).collect();
        index.tree.insert_sorted(&sorted).map_err(|error| Refused {
            index: index.clone(),
            error,
        })?;
        entries.clear();
        keys.clear();
        Ok(())
    }
}
