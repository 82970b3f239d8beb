//! Finding things: cuts, the search inside a node, and the optimistic descent.
//!
//! A *cut* is a place between entries: just before (key, row id), or one of the ends. Ranges, fences and cursor
//! positions are all cuts, so inclusive and exclusive bounds need no cases: the row id just above [`MAX_ROW_ID`]
//! cuts behind all entries of a key.
//!
//! The descent couples versions: read the child's version, then validate the parent. From there on the child was
//! reached at that version, whatever happens to the parent. A failed validation starts again at the root, which
//! never moves (node 0).

use super::node::{Backoff, HEAD_BYTES, Header, Node, NodeId, PREFIX_AT, Slot, head_of};
use super::{OrderedIndex, ROOT};
use crate::index::MAX_ROW_ID;
use std::cmp::Ordering as Order;
use std::ops::Bound;

/// An entry's place in the order. `row` may be one above [`MAX_ROW_ID`], for a cut behind all rows of the key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Key<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) row: u64,
}

/// A place between entries: at an end, or just before an entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Cut<'a> {
    Lowest,
    Before(Key<'a>),
    Highest,
}

/// A cut that owns its key and keeps the buffer over changes.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnedCut {
    kind: CutKind,
    bytes: Vec<u8>,
    row: u64,
}

#[derive(Clone, Copy, Debug, Default)]
enum CutKind {
    #[default]
    Lowest,
    Before,
    Highest,
}

impl OwnedCut {
    pub(super) fn lowest() -> OwnedCut {
        OwnedCut::default()
    }

    pub(super) fn highest() -> OwnedCut {
        OwnedCut {
            kind: CutKind::Highest,
            ..OwnedCut::default()
        }
    }

    /// The cut where a range with this lower bound begins.
    pub(super) fn from_lower(bound: Bound<Vec<u8>>) -> OwnedCut {
        match bound {
            Bound::Unbounded => OwnedCut::lowest(),
            Bound::Included(bytes) => OwnedCut {
                kind: CutKind::Before,
                bytes,
                row: 0,
            },
            Bound::Excluded(bytes) => OwnedCut {
                kind: CutKind::Before,
                bytes,
                row: MAX_ROW_ID + 1,
            },
        }
    }

    /// The cut where a range with this upper bound ends.
    pub(super) fn from_upper(bound: Bound<Vec<u8>>) -> OwnedCut {
        match bound {
            Bound::Unbounded => OwnedCut::highest(),
            Bound::Included(bytes) => OwnedCut {
                kind: CutKind::Before,
                bytes,
                row: MAX_ROW_ID + 1,
            },
            Bound::Excluded(bytes) => OwnedCut {
                kind: CutKind::Before,
                bytes,
                row: 0,
            },
        }
    }

    /// A lower bound that leaves out nothing above the cut.
    pub(super) fn as_lower(&self) -> Bound<Vec<u8>> {
        match self.kind {
            CutKind::Before => Bound::Included(self.bytes.clone()),
            CutKind::Lowest | CutKind::Highest => Bound::Unbounded,
        }
    }

    /// An upper bound that leaves out nothing below the cut.
    pub(super) fn as_upper(&self) -> Bound<Vec<u8>> {
        match self.kind {
            CutKind::Before if self.row == 0 => Bound::Excluded(self.bytes.clone()),
            CutKind::Before => Bound::Included(self.bytes.clone()),
            CutKind::Lowest | CutKind::Highest => Bound::Unbounded,
        }
    }

    pub(super) fn as_cut(&self) -> Cut<'_> {
        match self.kind {
            CutKind::Lowest => Cut::Lowest,
            CutKind::Before => Cut::Before(Key {
                bytes: &self.bytes,
                row: self.row,
            }),
            CutKind::Highest => Cut::Highest,
        }
    }

    pub(super) fn set_before(&mut self, key: &[u8], row: u64) {
        self.kind = CutKind::Before;
        self.bytes.clear();
        self.bytes.extend_from_slice(key);
        self.row = row;
    }

    pub(super) fn set_lowest(&mut self) {
        self.kind = CutKind::Lowest;
    }

    pub(super) fn set_highest(&mut self) {
        self.kind = CutKind::Highest;
    }

    fn set_from_entry(&mut self, node: &Node, header: Header, position: usize) {
        let slot = node.slot(header, position);
        self.kind = CutKind::Before;
        self.bytes.clear();
        node.copy_key(header, slot, &mut self.bytes);
        self.row = node.row(slot);
    }
}

/// Where a search in a node ended: the first entry not below the key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) position: usize,
    /// The entry at `position` has the key's bytes (and a row id not below the key's).
    pub(super) same_key: bool,
    /// The entry at `position` is the very one.
    pub(super) exact: bool,
}

impl Node {
    /// The first entry not below `key`. Safe on a node that changes meanwhile; the caller validates.
    #[inline]
    pub(super) fn find(&self, header: Header, key: Key<'_>) -> Found {
        let nothing_at = |position| Found {
            position,
            same_key: false,
            exact: false,
        };
        let prefix_bytes = header.prefix_bytes;
        if prefix_bytes > 0 {
            let compared = &key.bytes[..prefix_bytes.min(key.bytes.len())];
            match self.compare(PREFIX_AT, prefix_bytes, compared) {
                Order::Less => return nothing_at(header.count),
                Order::Greater => return nothing_at(0),
                Order::Equal => {}
            }
        }
        let suffix = &key.bytes[prefix_bytes..];
        let head = head_of(suffix);
        let position = self.first_with_head(header, head);
        if position >= header.count {
            return nothing_at(position);
        }
        let slot = self.slot(header, position);
        if slot.head() != head {
            return nothing_at(position);
        }
        match compare_entry(self, header, slot, suffix, key) {
            (Order::Less, _) => self.find_among_equal_heads(header, position + 1, suffix, key),
            (order, same_key) => Found {
                position,
                same_key,
                exact: order == Order::Equal,
            },
        }
    }

    /// The first slot whose head is not below `head`. Without branches on what is compared: the outcome of each step is
    /// a coin toss that a predictor would lose.
    #[inline]
    fn first_with_head(&self, header: Header, head: u32) -> usize {
        let slots = header.slots();
        let bound = (head as u64) << 32;
        let (mut base, end) = self.narrow(header, head);
        let mut size = end - base;
        while size > 1 {
            let half = size / 2;
            let below = self.word(slots + base + half - 1) < bound;
            base = if below { base + half } else { base };
            size -= half;
        }
        base + (size == 1 && self.word(slots + base) < bound) as usize
    }

    fn find_among_equal_heads(&self, header: Header, from: usize, suffix: &[u8], key: Key<'_>) -> Found {
        let head = head_of(suffix);
        let mut low = from;
        let mut found = Found {
            position: header.count,
            same_key: false,
            exact: false,
        };
        while low < found.position {
            let middle = (low + found.position) / 2;
            let slot = self.slot(header, middle);
            if slot.head() != head {
                found = Found {
                    position: middle,
                    same_key: false,
                    exact: false,
                };
                continue;
            }
            match compare_entry(self, header, slot, suffix, key) {
                (Order::Less, _) => low = middle + 1,
                (order, same_key) => {
                    found = Found {
                        position: middle,
                        same_key,
                        exact: order == Order::Equal,
                    };
                }
            }
        }
        found
    }

    /// How many entries lie below the cut.
    pub(super) fn entries_below(&self, header: Header, cut: Cut<'_>) -> usize {
        match cut {
            Cut::Lowest => 0,
            Cut::Before(key) => self.find(header, key).position,
            Cut::Highest => header.count,
        }
    }
}

/// Orders the entry in `slot` against `key`; the flag says that the key bytes are equal.
#[inline]
fn compare_entry(node: &Node, header: Header, slot: Slot, suffix: &[u8], key: Key<'_>) -> (Order, bool) {
    let rest = suffix.get(HEAD_BYTES..).unwrap_or(&[]);
    let bytes = node
        .compare(slot.offset() + header.cell_head(), slot.rest_bytes(), rest)
        .then(slot.suffix_bytes().cmp(&suffix.len()));
    match bytes {
        Order::Equal => (node.row(slot).cmp(&key.row), true),
        unequal => (unequal, false),
    }
}

/// Which side of a cut a descent is after, and therefore where it goes when a separator equals the cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    /// The leaf of the first entry above; the fence is the upper end of the leaf's range.
    Above,
    /// The leaf of the last entry below; the fence is the lower end of the leaf's range.
    Below,
}

/// A node reached by a descent, at a version at which it was linked.
#[derive(Clone, Copy)]
pub(super) struct Reached<'a> {
    pub(super) id: NodeId,
    pub(super) node: &'a Node,
    pub(super) version: u64,
    pub(super) parent: Option<ReachedParent<'a>>,
}

/// The parent the descent came through, and the position of the child in it.
#[derive(Clone, Copy)]
pub(super) struct ReachedParent<'a> {
    pub(super) node: &'a Node,
    pub(super) version: u64,
    pub(super) position: usize,
    pub(super) is_root: bool,
}

impl OrderedIndex {
    /// The leaf whose range holds `key`: the fast path of every point operation.
    #[inline]
    pub(super) fn descend_to_key(&self, key: Key<'_>) -> (NodeId, &Node, u64) {
        let mut backoff = Backoff::new();
        'restart: loop {
            let mut id = ROOT;
            let mut node = self.arena.node(id);
            let mut version = node.version();
            loop {
                let header = node.header();
                if header.level == 0 {
                    // A torn level is harmless: the caller validates against `version`.
                    return (id, node, version);
                }
                let found = node.find(header, key);
                let child_id = node.child(header, found.position + found.exact as usize);
                if !node.validate(version) {
                    backoff.wait();
                    continue 'restart;
                }
                let child = self.arena.node(child_id);
                let child_version = child.version();
                if !node.validate(version) {
                    backoff.wait();
                    continue 'restart;
                }
                (id, node, version) = (child_id, child, child_version);
            }
        }
    }

    /// The node of `level` next to `cut` on the given side. `fence`, if asked for, becomes the end of that node's range
    /// on that side. `None`: the tree is not that high (any more).
    pub(super) fn descend(
        &self,
        level: u8,
        cut: Cut<'_>,
        side: Side,
        mut fence: Option<&mut OwnedCut>,
    ) -> Option<Reached<'_>> {
        let mut backoff = Backoff::new();
        'restart: loop {
            if let Some(fence) = fence.as_deref_mut() {
                match side {
                    Side::Above => fence.set_highest(),
                    Side::Below => fence.set_lowest(),
                }
            }
            let root = self.arena.node(ROOT);
            let mut reached = Reached {
                id: ROOT,
                node: root,
                version: root.version(),
                parent: None,
            };
            loop {
                let Reached {
                    id, node, version, ..
                } = reached;
                let header = node.header();
                if header.level <= level {
                    let reachable = header.level == level;
                    if !node.validate(version) {
                        backoff.wait();
                        continue 'restart;
                    }
                    return reachable.then_some(reached);
                }
                let position = child_position(node, header, cut, side);
                let child_id = node.child(header, position);
                if let Some(fence) = fence.as_deref_mut() {
                    match side {
                        Side::Above if position < header.count => {
                            fence.set_from_entry(node, header, position)
                        }
                        Side::Below if position > 0 => fence.set_from_entry(node, header, position - 1),
                        _ => {}
                    }
                }
                if !node.validate(version) {
                    backoff.wait();
                    continue 'restart;
                }
                let child = self.arena.node(child_id);
                let child_version = child.version();
                if !node.validate(version) {
                    backoff.wait();
                    continue 'restart;
                }
                let parent = ReachedParent {
                    node,
                    version,
                    position,
                    is_root: id == ROOT,
                };
                reached = Reached {
                    id: child_id,
                    node: child,
                    version: child_version,
                    parent: Some(parent),
                };
            }
        }
    }
}

/// Which child holds the entries next to `cut` on the given side.
fn child_position(node: &Node, header: Header, cut: Cut<'_>, side: Side) -> usize {
    match cut {
        Cut::Lowest => 0,
        Cut::Highest => header.count,
        Cut::Before(key) => {
            let found = node.find(header, key);
            found.position + (side == Side::Above && found.exact) as usize
        }
    }
}
