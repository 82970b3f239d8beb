//! Removing entries, and merging nodes that have become too empty.
//!
//! A removal latches the leaf alone. When the leaf is left under a quarter full, a merge is tried: latch the parent,
//! then two neighbouring children, by trying; if any step fails, the merge is dropped, for the next removal will ask
//! again. A range without entries shrinks to one leaf per parent, and parents merge likewise, up to the root, which
//! takes in its last child.
//!
//! What stays behind: a node whose merge failed for a race until the next removal near it, and inner nodes whose
//! separators are too long to fit one node together.

use super::latch::Latched;
use super::list::EntryList;
use super::node::{Backoff, CAPACITY, Node, NodeId};
use super::search::{Cut, Key, ReachedParent, Side};
use super::{OrderedIndex, ROOT};
use crate::index::{MAX_ROW_ID, RowId};

/// A node with less than this in use looks for a neighbour to merge with.
const UNDERFULL_BYTES: usize = CAPACITY / 4;
/// Two nodes merge if the result is not fuller than this, so that the next inserts do not split it again.
const MERGED_BYTES: usize = CAPACITY / 8 * 7;
/// An underfull leaf asks for a merge at every so many entries only.
const MERGE_EVERY: usize = 8;

impl OrderedIndex {
    /// Takes an entry out; answers whether it was there.
    pub fn remove(&self, key: &[u8], row: RowId) -> bool {
        self.remove_if(key, row, || true)
    }

    /// Takes an entry out if `still_dead`, asked under the leaf's latch, agrees. Answers whether it did. `still_dead` must
    /// be short, must not wait and must not use this index.
    pub fn remove_if(&self, key: &[u8], row: RowId, still_dead: impl FnOnce() -> bool) -> bool {
        assert!(row.0 <= MAX_ROW_ID, "row ids have 48 bits");
        let key = Key {
            bytes: key,
            row: row.0,
        };
        let mut backoff = Backoff::new();
        loop {
            let (id, node, version) = self.descend_to_key(key);
            let found = node.find(node.header(), key);
            if !found.exact {
                if node.validate(version) {
                    return false;
                }
                continue;
            }
            let Some(mut latched) = node.try_latch(version) else {
                backoff.wait();
                continue;
            };
            if !still_dead() {
                return false;
            }
            latched.remove_at(found.position);
            let merge = id != ROOT && wants_merge(node);
            drop(latched);
            self.entries.add(-1);
            if merge {
                self.merge_around(0, key);
            }
            return true;
        }
    }

    /// Tries to merge the node of `level` that `key` belongs to with a neighbour.
    fn merge_around(&self, level: u8, key: Key<'_>) {
        let Some(reached) = self.descend(level, Cut::Before(key), Side::Above, None) else {
            return;
        };
        let Some(parent) = reached.parent else { return };
        let header = parent.node.header();
        if header.count == 0 {
            // An only child has no neighbour: its parent may find one.
            if parent.node.validate(parent.version) && !parent.is_root {
                self.merge_around(level + 1, key);
            }
            return;
        }
        let left_position = parent.position.min(header.count - 1);
        let pair = (
            parent.node.child(header, left_position),
            parent.node.child(header, left_position + 1),
        );
        if !parent.node.validate(parent.version)
            || !worth_merging(self.arena.node(pair.0), self.arena.node(pair.1))
        {
            return;
        }
        if self.merge_pair(parent, left_position, pair) {
            self.merge_around(level + 1, key);
        }
    }

    /// Merges two neighbouring children; answers whether the parent has become underfull by it.
    fn merge_pair(&self, parent: ReachedParent<'_>, left_position: usize, pair: (NodeId, NodeId)) -> bool {
        let (left_id, right_id) = pair;
        let Some(mut upper) = parent.node.try_latch(parent.version) else {
            return false;
        };
        let Some(mut left) = try_latch_now(self.arena.node(left_id)) else {
            return false;
        };
        let Some(mut right) = try_latch_now(self.arena.node(right_id)) else {
            return false;
        };
        let (mut list, right_list) = (
            EntryList::from_node(left.node()),
            EntryList::from_node(right.node()),
        );
        let limit = if list.len() == 0 || right_list.len() == 0 {
            CAPACITY
        } else {
            MERGED_BYTES
        };
        let upper_list = EntryList::from_node(upper.node());
        if list.level() > 0 {
            list.push(upper_list.key(left_position), right_list.first_child());
        }
        list.append(&right_list);
        if list.packed_bytes(0..list.len()) > limit {
            return false;
        }
        let image = list.image(0..list.len(), list.first_child());
        right.advance_leaf_version();
        drop(right);
        self.arena.free(right_id);
        if parent.is_root && upper_list.len() == 1 {
            upper.write(&image);
            left.advance_leaf_version();
            drop(left);
            self.arena.free(left_id);
            return false;
        }
        left.write(&image);
        upper.remove_at(left_position);
        !parent.is_root && upper.node().used_bytes(upper.node().header()) < UNDERFULL_BYTES
    }
}

fn wants_merge(leaf: &Node) -> bool {
    let header = leaf.header();
    leaf.used_bytes(header) < UNDERFULL_BYTES && header.count.is_multiple_of(MERGE_EVERY)
}

/// A guess from unlatched reads that spares latches: would the two fit into one?
fn worth_merging(left: &Node, right: &Node) -> bool {
    let (left_header, right_header) = (left.header(), right.header());
    let either_empty = left_header.count == 0 || right_header.count == 0;
    either_empty || left.used_bytes(left_header) + right.used_bytes(right_header) <= MERGED_BYTES
}

fn try_latch_now(node: &Node) -> Option<Latched<'_>> {
    node.try_latch(node.version_now()?)
}
