//! Making room: splits of leaves, inner nodes and the root.
//!
//! A split is an operation of its own; it does not insert the entry that asked for it. It latches the parent, then
//! the node, by trying: whoever fails starts again from the root. If the parent has no room for the separator, the
//! parent is split first, in the same way. The root keeps its id: its contents move into two new children.
//!
//! Where to cut. Usually in the middle, by bytes. When the last inserts each went right behind the one before (an
//! ascending key, at the end of the tree or of a district within it), the cut goes where the next will land: the
//! full part stays full. When the new key alone destroys a long common prefix, it is cut off.

use super::insert::{insert_into, shares_prefix};
use super::latch::Latched;
use super::list::{EntryList, common_prefix, separator};
use super::node::{CAPACITY, Node, NodeId, entry_bytes};
use super::search::{Cut, Key, Reached, ReachedParent, Side};
use super::{OrderedIndex, ROOT};
use crate::index::IndexError;

/// So many inserts in a row behind each other make an ascending run (fewer in a node of few entries). More than the
/// lines of one order, so that orders arriving at random do not look ascending.
const ASCENDING_RUN: usize = 20;

/// A decision: entries below `at` stay left. In an inner node the entry `at` itself moves up.
struct Split<'a> {
    at: usize,
    separator: Key<'a>,
    /// The insert run to carry over to the left node.
    left_run: Option<(usize, usize)>,
}

/// On which side of the cut the new key must land.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Landing {
    Either,
    Left,
    Right,
}

impl OrderedIndex {
    /// Brings the node of `level` that `key` belongs to nearer to having room for it: at most one split. The caller tries
    /// its insert again, whatever happened here.
    pub(super) fn make_room(&self, level: u8, key: Key<'_>) -> Result<(), IndexError> {
        let Some(reached) = self.descend(level, Cut::Before(key), Side::Above, None) else {
            return Ok(());
        };
        match reached.parent {
            Some(parent) => self.split_child(reached, parent, key),
            None => self.split_root(reached, key),
        }
    }

    fn split_child(
        &self,
        reached: Reached<'_>,
        parent: ReachedParent<'_>,
        key: Key<'_>,
    ) -> Result<(), IndexError> {
        let Some(mut upper) = parent.node.try_latch(parent.version) else {
            return Ok(());
        };
        let Some(mut left) = reached.node.try_latch(reached.version) else {
            return Ok(());
        };
        let position = left.node().find(left.node().header(), key).position;
        let Some(list) = unpack_full(left.node(), position, key) else {
            return Ok(());
        };
        let split = choose(left.node(), &list, position, key);
        let right_id = self.arena.allocate()?;
        let upper_position = upper.node().find(upper.node().header(), split.separator).position;
        if !insert_into(&mut upper, upper_position, split.separator, right_id) {
            self.arena.free(right_id);
            let upper_level = list.level() + 1;
            drop((left, upper));
            return self.make_room(upper_level, split.separator);
        }
        self.write_right(right_id, &list, &split);
        write_left(&mut left, &list, &split);
        Ok(())
    }

    fn split_root(&self, reached: Reached<'_>, key: Key<'_>) -> Result<(), IndexError> {
        debug_assert!(reached.id == ROOT);
        let Some(mut root) = reached.node.try_latch(reached.version) else {
            return Ok(());
        };
        let position = root.node().find(root.node().header(), key).position;
        let Some(list) = unpack_full(root.node(), position, key) else {
            return Ok(());
        };
        let split = choose(root.node(), &list, position, key);
        let left_id = self.arena.allocate()?;
        let right_id = match self.arena.allocate() {
            Ok(id) => id,
            Err(refused) => {
                self.arena.free(left_id);
                return Err(refused);
            }
        };
        self.write_right(right_id, &list, &split);
        write_left(&mut self.latch_unlinked(left_id), &list, &split);
        let mut top = EntryList::new(list.level() + 1, left_id);
        top.push(split.separator, right_id);
        root.write(&top.image(0..1, left_id));
        Ok(())
    }

    fn write_right(&self, right_id: NodeId, list: &EntryList, split: &Split<'_>) {
        let mut right = self.latch_unlinked(right_id);
        if list.level() == 0 {
            right.write(&list.image(split.at..list.len(), 0));
        } else {
            right.write(&list.image(split.at + 1..list.len(), list.child(split.at)));
        }
    }

    /// The latch of a node that is not linked in. Old readers may still look at it, hence the latch.
    pub(super) fn latch_unlinked(&self, id: NodeId) -> Latched<'_> {
        let node = self.arena.node(id);
        node.try_latch(node.version())
            .expect("only its allocator latches an unlinked node")
    }
}

fn write_left(left: &mut Latched<'_>, list: &EntryList, split: &Split<'_>) {
    left.write(&list.image(0..split.at, list.first_child()));
    if let Some((last, run)) = split.left_run {
        left.set_insert_run(last, run);
    }
}

/// The node's entries, unless it would take the key after all (because somebody else made room).
fn unpack_full(node: &Node, position: usize, key: Key<'_>) -> Option<EntryList> {
    let mut list = EntryList::from_node(node);
    list.insert(position, key, 0);
    if list.fits_node() {
        return None;
    }
    list.remove(position);
    Some(list)
}

fn choose<'a>(node: &Node, list: &'a EntryList, position: usize, key: Key<'a>) -> Split<'a> {
    let count = list.len();
    assert!(count > 0, "an empty node has room for every key");
    let (last, run) = node.insert_run();
    let ascending = position == last + 1 && run >= ASCENDING_RUN.min(count / 4).max(2);
    let at_edge = position == 0 || position == count;
    let landing = if ascending && position < count / 2 {
        Landing::Left
    } else if ascending || count == 1 && position == 1 {
        Landing::Right
    } else if count == 1 {
        Landing::Left
    } else if at_edge && !half_would_do(node, list, key) {
        if position == 0 {
            Landing::Left
        } else {
            Landing::Right
        }
    } else {
        Landing::Either
    };
    let left_run = (ascending && landing == Landing::Left).then_some((last, run));
    if list.level() > 0 {
        choose_inner(list, position, landing, left_run)
    } else {
        choose_leaf(list, position, key, landing, left_run)
    }
}

fn choose_leaf<'a>(
    list: &'a EntryList,
    position: usize,
    key: Key<'a>,
    landing: Landing,
    left_run: Option<(usize, usize)>,
) -> Split<'a> {
    let (at, separator) = match landing {
        // At the right edge nothing is left to separate from: the key itself opens the right node.
        Landing::Left if position < list.len() => (position, separator(key, list.key(position))),
        Landing::Right if position > 0 => (position, separator(list.key(position - 1), key)),
        _ => {
            let at = middle(list).clamp(1, list.len() - 1);
            (at, separator(list.key(at - 1), list.key(at)))
        }
    };
    Split {
        at,
        separator,
        left_run,
    }
}

/// In an inner node an entry moves up; it separates the halves as it is.
fn choose_inner(
    list: &EntryList,
    position: usize,
    landing: Landing,
    left_run: Option<(usize, usize)>,
) -> Split<'_> {
    let last = list.len() - 1;
    let at = match landing {
        Landing::Left => position.min(last),
        Landing::Right => position.saturating_sub(1).min(last),
        Landing::Either => middle(list).min(last),
    };
    Split {
        at,
        separator: list.key(at),
        left_run,
    }
}

/// The position that halves the bytes.
fn middle(list: &EntryList) -> usize {
    let size = |at| entry_bytes(list.level(), list.key(at).bytes.len());
    let total: usize = (0..list.len()).map(size).sum();
    let mut below = 0;
    (0..list.len())
        .find(|&at| {
            below += size(at);
            below * 2 >= total
        })
        .unwrap_or(0)
        .max(1)
}

/// Would a half of the node take the key? Not if it loses a long common prefix by it.
fn half_would_do(node: &Node, list: &EntryList, key: Key<'_>) -> bool {
    if shares_prefix(node, key.bytes) {
        return true;
    }
    let header = node.header();
    let lost = header.prefix_bytes - common_prefix(list.key(0).bytes, key.bytes).min(header.prefix_bytes);
    let half = node.used_bytes(header) / 2 + list.len() / 2 * lost;
    half + entry_bytes(list.level(), key.bytes.len()) <= CAPACITY
}
