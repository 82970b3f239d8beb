//! Inserting many entries that ascend: each leaf is found, latched and changed once for all that go into it.
//!
//! The changes of a leaf are those of as many single inserts, but its slots move once. What does not fit a leaf, or not
//! its prefix, is inserted by itself, which splits the leaf; the rest goes on in one of the halves.

use super::OrderedIndex;
use super::insert::{checked_key, shares_prefix};
use super::latch::Placed;
use super::node::{Backoff, Node, entry_bytes};
use super::search::{Cut, OwnedCut, Side};
use crate::index::{IndexError, RowId};

impl OrderedIndex {
    /// Adds entries, given in ascending order; those that are there already, or come twice, count once.
    pub fn insert_sorted(&self, entries: &[(&[u8], RowId)]) -> Result<(), IndexError> {
        debug_assert!(entries.is_sorted());
        let mut fence = OwnedCut::highest();
        let mut placed = Vec::new();
        let mut backoff = Backoff::new();
        let mut rest = entries;
        while let Some(&(bytes, row)) = rest.first() {
            let key = checked_key(bytes, row)?;
            let leaf = self
                .descend(0, Cut::Before(key), Side::Above, Some(&mut fence))
                .expect("level 0 exists in every tree");
            let Some(mut latched) = leaf.node.try_latch(leaf.version) else {
                backoff.wait();
                continue;
            };
            let done = place(leaf.node, rest, fence.as_cut(), &mut placed)?;
            if !placed.is_empty() {
                latched.insert_all(&placed);
                self.entries.add(placed.len() as i64);
            }
            drop(latched);
            if done == 0 {
                self.insert(bytes, row)?;
            }
            rest = &rest[done.max(1)..];
        }
        Ok(())
    }
}

/// Finds the places of the first of `entries` in a latched leaf, as far as they are below its `fence` and fit. Answers how
/// many; those that are there have no place.
fn place<'k>(
    leaf: &Node,
    entries: &[(&'k [u8], RowId)],
    fence: Cut<'_>,
    placed: &mut Vec<Placed<'k>>,
) -> Result<usize, IndexError> {
    placed.clear();
    let header = leaf.header();
    let mut free_bytes = header.free_bytes();
    for (number, &(bytes, row)) in entries.iter().enumerate() {
        let key = checked_key(bytes, row)?;
        if Cut::Before(key) >= fence || !shares_prefix(leaf, bytes) {
            return Ok(number);
        }
        let found = leaf.find(header, key);
        let twice = number > 0 && entries[number - 1] == (bytes, row);
        if found.exact || twice {
            continue;
        }
        let suffix = &bytes[header.prefix_bytes..];
        let entry = entry_bytes(header.level, suffix.len());
        if entry > free_bytes {
            return Ok(number);
        }
        free_bytes -= entry;
        placed.push(Placed {
            position: found.position,
            suffix,
            row: row.0,
        });
    }
    Ok(entries.len())
}
