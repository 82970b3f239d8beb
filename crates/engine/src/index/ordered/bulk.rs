//! Bulk load: a tree from sorted entries, leaf by leaf, without a single search.
//!
//! Each level has an open node that fills; when the next entry would pass the fill limit, the node is stored and its
//! parent gets it together with the separator to its left. What never overflowed is the root.

use super::list::{EntryList, RunningSize, separator};
use super::node::{CAPACITY, NodeId};
use super::search::Key;
use super::{OrderedIndex, ROOT};
use crate::index::{IndexError, MAX_KEY_BYTES, MAX_ROW_ID, MemoryAccount, RowId};
use std::sync::Arc;

/// Nodes are filled so far: room for a few inserts before the first splits.
const FILL_BYTES: usize = CAPACITY / 100 * 95;

/// A separator that owns its key.
type Separator = (Vec<u8>, u64);

/// One level of the growing tree.
struct OpenNode {
    list: EntryList,
    size: RunningSize,
    /// The separator to the left of this node. `None` for the first of the level.
    left: Option<Separator>,
}

impl OpenNode {
    fn new(level: u8) -> OpenNode {
        OpenNode {
            list: EntryList::new(level, 0),
            size: RunningSize::new(),
            left: None,
        }
    }

    /// Appends an entry if the node is empty or stays below the limit.
    fn try_push(&mut self, key: Key<'_>, child: NodeId) -> bool {
        let size = self.size.with(&self.list, key.bytes);
        if self.list.len() > 0 && size.bytes() > FILL_BYTES {
            return false;
        }
        self.list.push(key, child);
        self.size = size;
        true
    }

    fn reopen(&mut self, first_child: NodeId, left: Option<Separator>) {
        self.list.reset(first_child);
        self.size = RunningSize::new();
        self.left = left;
    }
}

impl OrderedIndex {
    /// An index of these entries, which come in ascending order of (key, row id). An entry given twice counts once.
    ///
    /// # Panics
    /// When the entries are not sorted: a bug of the caller that no search would survive.
    pub fn bulk_load<K: AsRef<[u8]>>(
        entries: impl IntoIterator<Item = (K, RowId)>,
        memory: Arc<dyn MemoryAccount>,
    ) -> Result<OrderedIndex, IndexError> {
        let index = OrderedIndex::new(memory)?;
        let mut levels = vec![OpenNode::new(0)];
        let mut count = 0;
        for (bytes, row) in entries {
            let bytes = bytes.as_ref();
            assert!(row.0 <= MAX_ROW_ID, "row ids have 48 bits");
            if bytes.len() > MAX_KEY_BYTES {
                return Err(IndexError::KeyTooLong {
                    key_bytes: bytes.len(),
                    maximum_bytes: MAX_KEY_BYTES,
                });
            }
            let key = Key { bytes, row: row.0 };
            let leaf = &mut levels[0];
            if leaf.list.len() > 0 {
                let last = leaf.list.key(leaf.list.len() - 1);
                assert!(last <= key, "bulk load wants sorted entries");
                if last == key {
                    continue;
                }
            }
            count += 1;
            if leaf.try_push(key, 0) {
                continue;
            }
            let cut = separator(leaf.list.key(leaf.list.len() - 1), key);
            let cut = (cut.bytes.to_vec(), cut.row);
            let id = index.store(&leaf.list, 0)?;
            let left = leaf.left.take();
            leaf.reopen(0, Some(cut));
            let pushed = leaf.try_push(key, 0);
            debug_assert!(pushed, "an empty node takes every key");
            index.add_child(&mut levels, 1, left, id)?;
        }
        index.close(&mut levels)?;
        index.entries.add(count);
        Ok(index)
    }

    /// Hangs a stored node into the open node of `level`.
    fn add_child(
        &self,
        levels: &mut Vec<OpenNode>,
        level: usize,
        left: Option<Separator>,
        child: NodeId,
    ) -> Result<(), IndexError> {
        if level == levels.len() {
            levels.push(OpenNode::new(level as u8));
        }
        let open = &mut levels[level];
        let Some((bytes, row)) = left else {
            debug_assert!(
                open.list.len() == 0,
                "only the first child of a level has nothing to its left"
            );
            open.reopen(child, None);
            return Ok(());
        };
        if open.try_push(Key { bytes: &bytes, row }, child) {
            return Ok(());
        }
        let id = self.store(&open.list, open.list.first_child())?;
        let upper_left = open.left.take();
        open.reopen(child, Some((bytes, row)));
        self.add_child(levels, level + 1, upper_left, id)
    }

    /// Stores the open nodes from the leaves up; the topmost becomes the root.
    fn close(&self, levels: &mut Vec<OpenNode>) -> Result<(), IndexError> {
        let mut level = 0;
        loop {
            let open = &mut levels[level];
            let first_child = open.list.first_child();
            let left = open.left.take();
            let image = open.list.image(0..open.list.len(), first_child);
            if level + 1 == levels.len() {
                self.latch_unlinked(ROOT).write(&image);
                return Ok(());
            }
            let id = self.arena.allocate()?;
            self.latch_unlinked(id).write(&image);
            self.add_child(levels, level + 1, left, id)?;
            level += 1;
        }
    }

    fn store(&self, list: &EntryList, first_child: NodeId) -> Result<NodeId, IndexError> {
        let id = self.arena.allocate()?;
        self.latch_unlinked(id)
            .write(&list.image(0..list.len(), first_child));
        Ok(id)
    }
}
