//! Inserting entries: plain, and checked against the entries of the same key.
//!
//! An insert descends without latches, latches the leaf at the version it has read, and changes it. Only a full leaf
//! leads to `split`. `insert_checked` additionally holds every leaf in which an equal key could stand, from the leaf of
//! the key's lower bound to the right: any other checked insert of the key begins by latching that first leaf, so
//! between check and insert nobody can slip in.
//!
//! Latch order: leaves from left to right, and only here does anybody wait while holding a latch. Splits and merges
//! take latches by trying, so nobody waits for a leaf while holding an inner node.

use super::OrderedIndex;
use super::latch::Latched;
use super::list::EntryList;
use super::node::{Backoff, Node, NodeId, PREFIX_AT};
use super::search::{Cut, Found, Key, OwnedCut, Side};
use crate::index::{
    CheckedInsert, IndexError, Inserted, LeafChange, LeafId, LeafVersion, MAX_KEY_BYTES, MAX_ROW_ID, RowId,
};
use std::cmp::Ordering as Order;
use std::ops::ControlFlow;

impl OrderedIndex {
    /// Adds an entry; answers [`Inserted::Existed`] if it was there.
    pub fn insert(&self, key: &[u8], row: RowId) -> Result<Inserted, IndexError> {
        let key = checked_key(key, row)?;
        let mut backoff = Backoff::new();
        loop {
            let (id, node, version) = self.descend_to_key(key);
            let header = node.header();
            let found = node.find(header, key);
            if found.exact {
                if node.validate(version) {
                    return Ok(Inserted::Existed);
                }
                continue;
            }
            let Some(mut latched) = node.try_latch(version) else {
                backoff.wait();
                continue;
            };
            if let Some(change) = self.add(&mut latched, id, found.position, key) {
                return Ok(Inserted::Added(change));
            }
            drop(latched);
            self.make_room(0, key)?;
        }
    }

    /// Adds an entry unless `check`, shown the row id of every entry with the same key (this very entry included),
    /// stops it. Check and insert are one step towards every other checked insert of the key.
    ///
    /// `check` runs under leaf latches: it must be short, must not wait and must not use this index. When the tree
    /// changes underneath it may be shown the same row ids again.
    pub fn insert_checked<T>(
        &self,
        key: &[u8],
        row: RowId,
        mut check: impl FnMut(RowId) -> ControlFlow<T>,
    ) -> Result<CheckedInsert<T>, IndexError> {
        let key = checked_key(key, row)?;
        let first = Key {
            bytes: key.bytes,
            row: 0,
        };
        let mut backoff = Backoff::new();
        loop {
            let (id, node, version) = self.descend_to_key(first);
            let found = node.find(node.header(), first);
            if run_reaches_end(node, found, key.bytes) {
                if let Some(outcome) = self.insert_checked_across_leaves(key, &mut check)? {
                    return Ok(outcome);
                }
                continue;
            }
            let Some(mut latched) = node.try_latch(version) else {
                backoff.wait();
                continue;
            };
            let place = match check_leaf(&latched, found, key, &mut check) {
                ControlFlow::Break(stop) => return Ok(CheckedInsert::Stopped(stop)),
                ControlFlow::Continue(place) => place,
            };
            if place.exact {
                return Ok(CheckedInsert::Existed);
            }
            if let Some(change) = self.add(&mut latched, id, place.position, key) {
                return Ok(CheckedInsert::Added(change));
            }
            drop(latched);
            self.make_room(0, key)?;
        }
    }

    /// The rare form: entries of the key may go on in the leaves to the right. `None`: start again.
    fn insert_checked_across_leaves<T>(
        &self,
        key: Key<'_>,
        check: &mut impl FnMut(RowId) -> ControlFlow<T>,
    ) -> Result<Option<CheckedInsert<T>>, IndexError> {
        let first = Key {
            bytes: key.bytes,
            row: 0,
        };
        let mut held: Vec<Latched<'_>> = Vec::new();
        let mut target: Option<(usize, NodeId, Place)> = None;
        let mut from = OwnedCut::lowest();
        from.set_before(key.bytes, 0);
        let mut fence = OwnedCut::highest();
        loop {
            let (id, latched) = self.latch_leaf(from.as_cut(), &mut fence);
            let found = latched.node().find(latched.node().header(), first);
            let place = match check_leaf(&latched, found, key, check) {
                ControlFlow::Break(stop) => return Ok(Some(CheckedInsert::Stopped(stop))),
                ControlFlow::Continue(place) => place,
            };
            if target.is_none() && Cut::Before(key) < fence.as_cut() {
                target = Some((held.len(), id, place));
            }
            held.push(latched);
            match fence.as_cut() {
                Cut::Before(next) if next.bytes == key.bytes => std::mem::swap(&mut from, &mut fence),
                _ => break,
            }
        }
        let (index, id, place) = target.expect("the last leaf's range ends above every row of the key");
        if place.exact {
            return Ok(Some(CheckedInsert::Existed));
        }
        if let Some(change) = self.add(&mut held[index], id, place.position, key) {
            return Ok(Some(CheckedInsert::Added(change)));
        }
        drop(held);
        self.make_room(0, key)?;
        Ok(None)
    }

    /// Latches the leaf of the first entry above `cut`; `fence` becomes the upper end of its range, which cannot change
    /// while the latch is held.
    fn latch_leaf(&self, cut: Cut<'_>, fence: &mut OwnedCut) -> (NodeId, Latched<'_>) {
        let mut backoff = Backoff::new();
        loop {
            let leaf = self
                .descend(0, cut, Side::Above, Some(fence))
                .expect("level 0 exists in every tree");
            match leaf.node.try_latch(leaf.version) {
                Some(latched) => return (leaf.id, latched),
                None => backoff.wait(),
            }
        }
    }

    /// Puts the entry into its latched leaf and counts it; `None` if the leaf is full.
    fn add(&self, leaf: &mut Latched<'_>, id: NodeId, position: usize, key: Key<'_>) -> Option<LeafChange> {
        let before = LeafVersion(leaf.node().leaf_version());
        if !insert_into(leaf, position, key, 0) {
            return None;
        }
        self.entries.add(1);
        let after = LeafVersion(leaf.node().leaf_version());
        Some(LeafChange {
            leaf: LeafId(id),
            before,
            after,
        })
    }
}

pub(super) fn checked_key(bytes: &[u8], row: RowId) -> Result<Key<'_>, IndexError> {
    assert!(row.0 <= MAX_ROW_ID, "row ids have 48 bits");
    if bytes.len() > MAX_KEY_BYTES {
        return Err(IndexError::KeyTooLong {
            key_bytes: bytes.len(),
            maximum_bytes: MAX_KEY_BYTES,
        });
    }
    Ok(Key { bytes, row: row.0 })
}

/// Where an entry stands in a leaf, or would.
#[derive(Clone, Copy)]
struct Place {
    position: usize,
    exact: bool,
}

/// Might entries of the key found at `found` go on in the next leaf? (Read without a latch: a wrong answer is found out
/// by the failing latch.)
fn run_reaches_end(node: &Node, found: Found, key: &[u8]) -> bool {
    let header = node.header();
    if found.position >= header.count {
        return true;
    }
    found.same_key
        && node
            .find(
                header,
                Key {
                    bytes: key,
                    row: MAX_ROW_ID + 1,
                },
            )
            .position
            >= header.count
}

/// Shows `check` the entries of the key in this leaf, and finds the entry's own place.
fn check_leaf<T>(
    leaf: &Latched<'_>,
    found: Found,
    key: Key<'_>,
    check: &mut impl FnMut(RowId) -> ControlFlow<T>,
) -> ControlFlow<T, Place> {
    let node = leaf.node();
    let header = node.header();
    let mut position = found.position;
    let mut place = Place {
        position,
        exact: false,
    };
    let mut same_key = found.same_key;
    while same_key {
        let row = node.row(node.slot(header, position));
        check(RowId(row))?;
        match row.cmp(&key.row) {
            Order::Less => place.position = position + 1,
            Order::Equal => {
                place = Place {
                    position,
                    exact: true,
                }
            }
            Order::Greater => {}
        }
        position += 1;
        same_key = position < header.count && node.has_key(header, node.slot(header, position), key.bytes);
    }
    ControlFlow::Continue(place)
}

/// Puts an entry into a latched node at its position, rewriting the node if that makes room. `false`: the node is full
/// and unchanged.
pub(super) fn insert_into(latched: &mut Latched<'_>, position: usize, key: Key<'_>, child: NodeId) -> bool {
    let node = latched.node();
    let header = node.header();
    if shares_prefix(node, key.bytes) {
        let suffix = &key.bytes[header.prefix_bytes..];
        if latched.insert_at(position, suffix, key.row, child) {
            return true;
        }
    }
    let mut list = EntryList::from_node(node);
    list.insert(position, key, child);
    if !list.fits_node() {
        return false;
    }
    let (last, run) = node.insert_run();
    latched.write(&list.image(0..list.len(), list.first_child()));
    latched.set_insert_run(last, run);
    latched.note_insert(position);
    true
}

/// Does the key begin with the node's prefix?
pub(super) fn shares_prefix(node: &Node, key: &[u8]) -> bool {
    let prefix_bytes = node.header().prefix_bytes;
    key.len() >= prefix_bytes && node.compare(PREFIX_AT, prefix_bytes, &key[..prefix_bytes]) == Order::Equal
}
