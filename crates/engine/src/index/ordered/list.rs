//! A node's entries with whole keys, for everything that rewrites nodes: growing a key range, splits, merges, bulk load.
//!
//! Rewriting is rare (a few times in the life of a leaf of some 200 entries), so clarity goes before speed: unpack,
//! change the list, compute the size, pack into an image.

use super::image::Image;
use super::node::{CAPACITY, FIRST_CHILD, HEAD_BYTES, Node, NodeId, entry_bytes, prefix_area};
use super::search::Key;
use std::ops::Range;

/// The fullest a node of many entries may be after a rewrite.
const REWRITTEN_BYTES: usize = CAPACITY - CAPACITY / 32;
const FEW_ENTRIES: usize = 8;

#[derive(Clone, Copy)]
struct Entry {
    start: usize,
    end: usize,
    row: u64,
    child: NodeId,
}

/// Entries in order. In a list of a leaf children mean nothing.
pub(super) struct EntryList {
    level: u8,
    first_child: NodeId,
    keys: Vec<u8>,
    entries: Vec<Entry>,
}

impl EntryList {
    pub(super) fn new(level: u8, first_child: NodeId) -> EntryList {
        EntryList {
            level,
            first_child,
            keys: Vec::new(),
            entries: Vec::new(),
        }
    }

    /// Unpacks a node whose latch the caller holds.
    pub(super) fn from_node(node: &Node) -> EntryList {
        let header = node.header();
        let mut list = EntryList::new(header.level, node.word(FIRST_CHILD) as NodeId);
        list.keys.reserve(2 * CAPACITY);
        list.entries.reserve(header.count + 1);
        for position in 0..header.count {
            let slot = node.slot(header, position);
            let start = list.keys.len();
            node.copy_key(header, slot, &mut list.keys);
            let child = if header.level > 0 {
                node.child(header, position + 1)
            } else {
                0
            };
            list.entries.push(Entry {
                start,
                end: list.keys.len(),
                row: node.row(slot),
                child,
            });
        }
        list
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn level(&self) -> u8 {
        self.level
    }

    pub(super) fn first_child(&self) -> NodeId {
        self.first_child
    }

    pub(super) fn key(&self, position: usize) -> Key<'_> {
        let entry = self.entries[position];
        Key {
            bytes: &self.keys[entry.start..entry.end],
            row: entry.row,
        }
    }

    pub(super) fn child(&self, position: usize) -> NodeId {
        self.entries[position].child
    }

    pub(super) fn insert(&mut self, position: usize, key: Key<'_>, child: NodeId) {
        let start = self.keys.len();
        self.keys.extend_from_slice(key.bytes);
        self.entries.insert(
            position,
            Entry {
                start,
                end: self.keys.len(),
                row: key.row,
                child,
            },
        );
    }

    pub(super) fn remove(&mut self, position: usize) {
        self.entries.remove(position);
    }

    pub(super) fn push(&mut self, key: Key<'_>, child: NodeId) {
        self.insert(self.entries.len(), key, child);
    }

    pub(super) fn append(&mut self, other: &EntryList) {
        for position in 0..other.len() {
            self.push(other.key(position), other.child(position));
        }
    }

    /// Starts over, keeping buffers.
    pub(super) fn reset(&mut self, first_child: NodeId) {
        self.first_child = first_child;
        self.keys.clear();
        self.entries.clear();
    }

    /// The best prefix for a range: what its keys have in common (they are sorted, so the ends decide), but no more than
    /// saves heap bytes: suffixes that fit their heads take none. With it the range takes the fewest bytes possible, so
    /// whatever part of a node's entries is packed, it fits a node.
    fn prefix(&self, range: &Range<usize>) -> &[u8] {
        let Some(longest) = self.entries[range.clone()]
            .iter()
            .map(|entry| entry.end - entry.start)
            .max()
        else {
            return &[];
        };
        let first = self.key(range.start).bytes;
        let common = common_prefix(first, self.key(range.end - 1).bytes);
        &first[..common.min(longest.saturating_sub(HEAD_BYTES))]
    }

    /// Bytes the range takes in a node; beyond [`CAPACITY`] it does not fit one.
    pub(super) fn packed_bytes(&self, range: Range<usize>) -> usize {
        let prefix_bytes = self.prefix(&range).len();
        let entries: usize = range
            .map(|at| entry_bytes(self.level, self.key(at).bytes.len() - prefix_bytes))
            .sum();
        prefix_area(prefix_bytes) + entries
    }

    /// Does the list fit a node, so that a rewrite is worth it? A rewrite that leaves hardly any room would be followed by
    /// the next one at once; such a node counts as full, unless it has too few entries to be choosy.
    pub(super) fn fits_node(&self) -> bool {
        let limit = if self.len() <= FEW_ENTRIES {
            CAPACITY
        } else {
            REWRITTEN_BYTES
        };
        self.packed_bytes(0..self.len()) <= limit
    }

    /// The range as a node's contents. The caller has made sure that it fits.
    pub(super) fn image(&self, range: Range<usize>, first_child: NodeId) -> Image {
        let prefix = self.prefix(&range);
        let mut image = Image::new(self.level, first_child, prefix);
        for position in range {
            let entry = self.entries[position];
            image.push(
                &self.keys[entry.start + prefix.len()..entry.end],
                entry.row,
                entry.child,
            );
        }
        image
    }
}

/// How many leading bytes two keys share.
pub(super) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let words = a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0);
    let mut same = 0;
    for (x, y) in words {
        let differ = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if differ != 0 {
            return same + differ.trailing_zeros() as usize / 8;
        }
        same += 8;
    }
    same + a[same..]
        .iter()
        .zip(&b[same..])
        .take_while(|(x, y)| x == y)
        .count()
}

/// The shortest separator between neighbours: above `low`, at most `high`. With equal key bytes the row id separates;
/// otherwise row id 0 stands for "all rows from here".
pub(super) fn separator<'a>(low: Key<'_>, high: Key<'a>) -> Key<'a> {
    debug_assert!(low < high);
    if low.bytes == high.bytes {
        return high;
    }
    let common = common_prefix(low.bytes, high.bytes);
    // `low` sorts first and differs, so `high` is longer than what they share.
    Key {
        bytes: &high.bytes[..common + 1],
        row: 0,
    }
}

/// Keeps the packed size of a list that grows at its end (or a few bytes more: it takes all of the common prefix).
pub(super) struct RunningSize {
    prefix_bytes: usize,
    entry_bytes: usize,
}

impl RunningSize {
    pub(super) fn new() -> RunningSize {
        RunningSize {
            prefix_bytes: 0,
            entry_bytes: 0,
        }
    }

    /// The size of `list` with `key` behind it.
    pub(super) fn with(&self, list: &EntryList, key: &[u8]) -> RunningSize {
        let prefix_bytes = match list.len() {
            0 => key.len(),
            _ => common_prefix(&list.key(0).bytes[..self.prefix_bytes], key),
        };
        let old = if prefix_bytes == self.prefix_bytes || list.len() == 0 {
            self.entry_bytes
        } else {
            (0..list.len())
                .map(|at| entry_bytes(list.level, list.key(at).bytes.len() - prefix_bytes))
                .sum()
        };
        RunningSize {
            prefix_bytes,
            entry_bytes: old + entry_bytes(list.level, key.len() - prefix_bytes),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        prefix_area(self.prefix_bytes) + self.entry_bytes
    }
}
