//! Bulk load: a tree from sorted entries, leaf by leaf, without a single search.
//!
//! Leaves may be made by several threads, each for a part of the key space; what stands above them is made by one. Each level has an open node that fills; when the next entry would pass the fill limit, the node is stored and its
//! parent gets it together with the separator to its left. What never overflowed is the root.

use super::list::{EntryList, RunningSize, separator};
use super::node::{CAPACITY, NodeId};
use super::search::Key;
use super::{OrderedIndex, ROOT};
use crate::index::{IndexError, MAX_KEY_BYTES, MAX_ROW_ID, RowId};
use crate::memory::MemoryAccount;
use std::cmp::Ordering;
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

/// Leaves in order, for a part of the key space: what one thread makes of it. Become a tree in
/// [`OrderedIndex::hang_leaves`].
pub struct LeafRun<'a> {
    index: &'a OrderedIndex,
    open: OpenNode,
    /// Stored leaves with the separators to their left; the run's first one has none yet.
    stored: Vec<(Option<Separator>, NodeId)>,
    /// The first key of all.
    first: Separator,
    entries: u64,
}

impl LeafRun<'_> {
    /// Adds an entry behind all others. An entry given twice counts once.
    ///
    /// # Panics
    /// When the entries are not sorted: a bug of the caller that no search would survive.
    pub fn push(&mut self, bytes: &[u8], row: RowId) -> Result<(), IndexError> {
        assert!(row.0 <= MAX_ROW_ID, "row ids have 48 bits");
        if bytes.len() > MAX_KEY_BYTES {
            return Err(IndexError::KeyTooLong {
                key_bytes: bytes.len(),
                maximum_bytes: MAX_KEY_BYTES,
            });
        }
        let key = Key { bytes, row: row.0 };
        match self.last().map(|last| last.cmp(&key)) {
            Some(Ordering::Equal) => return Ok(()),
            Some(order) => assert!(order == Ordering::Less, "bulk load wants sorted entries"),
            None => self.first = (bytes.to_vec(), row.0),
        }
        self.entries += 1;
        if self.open.try_push(key, 0) {
            return Ok(());
        }
        let last = self.open.list.key(self.open.list.len() - 1);
        let cut = separator(last, key);
        let cut = (cut.bytes.to_vec(), cut.row);
        let id = self.index.store(&self.open.list, 0)?;
        self.stored.push((self.open.left.take(), id));
        self.open.reopen(0, Some(cut));
        let pushed = self.open.try_push(key, 0);
        debug_assert!(pushed, "an empty node takes every key");
        Ok(())
    }

    fn last(&self) -> Option<Key<'_>> {
        let count = self.open.list.len();
        (count > 0).then(|| self.open.list.key(count - 1))
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
        let mut run = index.begin_leaves();
        for (bytes, row) in entries {
            run.push(bytes.as_ref(), row)?;
        }
        index.hang_leaves([run])?;
        Ok(index)
    }

    /// Several threads may make leaves of an empty index at the same time, each for its own part of the key space.
    pub fn begin_leaves(&self) -> LeafRun<'_> {
        LeafRun {
            index: self,
            open: OpenNode::new(0),
            stored: Vec::new(),
            first: Separator::default(),
            entries: 0,
        }
    }

    /// Makes the leaves of all runs, which are in ascending order, the contents of this index, which was empty.
    ///
    /// # Panics
    /// When the runs are not in order.
    pub fn hang_leaves<'a>(&self, runs: impl IntoIterator<Item = LeafRun<'a>>) -> Result<(), IndexError> {
        let mut runs: Vec<LeafRun<'_>> = runs.into_iter().filter(|run| run.entries > 0).collect();
        if let [run] = runs.as_slice()
            && run.stored.is_empty()
        {
            let list = &run.open.list;
            self.latch_unlinked(ROOT).write(&list.image(0..list.len(), 0));
            self.entries.add(run.entries as i64);
            return Ok(());
        }
        let mut levels = Vec::new();
        let mut before: Option<Separator> = None;
        for run in &mut runs {
            assert!(std::ptr::eq(run.index, self), "leaves of another index");
            let mut left = before.as_ref().map(|(bytes, row)| {
                let (low, high) = (
                    Key { bytes, row: *row },
                    Key {
                        bytes: &run.first.0,
                        row: run.first.1,
                    },
                );
                assert!(low < high, "runs of leaves come in order");
                let cut = separator(low, high);
                (cut.bytes.to_vec(), cut.row)
            });
            before = run.last().map(|last| (last.bytes.to_vec(), last.row));
            let last = self.store(&run.open.list, 0)?;
            run.stored.push((run.open.left.take(), last));
            for (cut, leaf) in run.stored.drain(..) {
                self.add_child(&mut levels, 1, cut.or_else(|| left.take()), leaf)?;
            }
            self.entries.add(run.entries as i64);
        }
        self.close(&mut levels)
    }

    /// Hangs a stored node into the open node of `level`. `levels` begins with level 1.
    fn add_child(
        &self,
        levels: &mut Vec<OpenNode>,
        level: usize,
        left: Option<Separator>,
        child: NodeId,
    ) -> Result<(), IndexError> {
        if level > levels.len() {
            levels.push(OpenNode::new(level as u8));
        }
        let open = &mut levels[level - 1];
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

    /// Stores the open nodes from level 1 up; the topmost becomes the root. No leaf at all: the root stays empty.
    fn close(&self, levels: &mut Vec<OpenNode>) -> Result<(), IndexError> {
        for level in 1.. {
            let top = levels.len();
            let Some(open) = levels.get_mut(level - 1) else {
                break;
            };
            let first_child = open.list.first_child();
            let left = open.left.take();
            let image = open.list.image(0..open.list.len(), first_child);
            if level == top {
                self.latch_unlinked(ROOT).write(&image);
                break;
            }
            let id = self.arena.allocate()?;
            self.latch_unlinked(id).write(&image);
            self.add_child(levels, level + 1, left, id)?;
        }
        Ok(())
    }

    fn store(&self, list: &EntryList, first_child: NodeId) -> Result<NodeId, IndexError> {
        let id = self.arena.allocate()?;
        self.latch_unlinked(id)
            .write(&list.image(0..list.len(), first_child));
        Ok(id)
    }
}
