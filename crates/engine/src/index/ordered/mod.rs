//! The ordered index: a concurrent B+tree with optimistic lock coupling.
//!
//! Read in this order:
//!  1. `node`: the 4 KiB node, its layout, its latch, and the memory-model argument everything rests on;
//!     then `latch`, the only code that changes a node;
//!  2. `search`: cuts, the search in a node, the optimistic descent;
//!  3. `cursor`: look-ups and range scans;
//!  4. `insert`, `split`: inserts, checked inserts, making room; `insert_sorted`: many at once;
//!  5. `remove`: removals and merges;
//!  6. `list`, `image`: nodes unpacked and packed again, for all rewriting;
//!  7. `bulk`: trees from sorted entries;
//!  8. `arena`: where nodes live and are recycled;
//!  9. `check`: the full structural check.
//!
//! Invariants
//!  - Node 0 is the root for ever; the tree grows and shrinks by moving the root's contents.
//!  - There are no sibling links: neighbours are found by descending to a fence, so a split or a merge concerns a
//!    parent and its children only.
//!  - A node is changed under its latch only; whoever changes links latches the parent first. Latches are tried, never
//!    awaited, except leaves from left to right in `insert_checked`: no deadlock.
//!  - A leaf may be empty and an inner node may have a single child; a full one can always be split.
//!
//! Source: optimistic lock coupling (Leis, Haubenschild, Neumann: Optimistic Lock Coupling, IEEE Data Engineering Bulletin
//! 2019) on a B+tree with common prefixes and shortest separators (Bayer, Unterauer: Prefix B-Trees, TODS 1977). Other than there
//! all bytes of a node are atomic words, so that a torn read is a wrong value and no race; leaves count their changes, for scans
//! of SERIALIZABLE (as Silo's nodes do: Tu et al., SOSP 2013). Other than in PostgreSQL's nbtree (Lehman and Yao) nodes have no
//! links to their right.
//!
//! Leaves out: prefix B-tree tricks beyond common prefix and shortest separator; shrinking the arena.

mod arena;
mod bulk;
mod check;
mod cursor;
mod image;
mod insert;
mod insert_sorted;
mod latch;
mod list;
mod node;
mod remove;
mod search;
mod split;

#[cfg(test)]
mod tests;

pub use bulk::LeafRun;
pub use cursor::Cursor;

use crate::index::IndexError;
use crate::memory::MemoryAccount;
use arena::Arena;
use mote_common::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use node::{NODE_BYTES, NodeId};
use std::cell::Cell;
use std::sync::Arc;

/// The root's node id.
const ROOT: NodeId = 0;

/// A concurrent ordered set of (key, row id). All methods take `&self`; share it by reference or `Arc`.
pub struct OrderedIndex {
    arena: Arena,
    entries: StripedCount,
}

impl OrderedIndex {
    /// An empty index, or [`IndexError::OutOfMemory`] if the account refuses its first node.
    pub fn new(memory: Arc<dyn MemoryAccount>) -> Result<OrderedIndex, IndexError> {
        let index = OrderedIndex {
            arena: Arena::new(memory),
            entries: StripedCount::default(),
        };
        let root = index.arena.allocate()?;
        assert_eq!(root, ROOT, "the first node of an arena is the root");
        index
            .latch_unlinked(ROOT)
            .write(&list::EntryList::new(0, 0).image(0..0, 0));
        Ok(index)
    }

    /// Entries now, give or take what other threads are about to count.
    pub fn len_estimate(&self) -> usize {
        self.entries.sum()
    }

    /// Levels: 1 for a single leaf.
    pub fn height(&self) -> usize {
        self.arena.node(ROOT).header().level as usize + 1
    }

    /// Bytes of nodes in use.
    pub fn memory_bytes(&self) -> usize {
        self.arena.nodes_in_use() * NODE_BYTES
    }
}

/// A counter that threads do not fight over: each adds to its own stripe.
#[derive(Default)]
struct StripedCount {
    stripes: [Stripe; StripedCount::STRIPES],
}

/// Its own cache line.
#[derive(Default)]
#[repr(align(64))]
struct Stripe(AtomicI64);

impl StripedCount {
    const STRIPES: usize = 8;

    /// Relaxed: a statistic, nothing is ordered by it.
    fn add(&self, change: i64) {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        mote_common::sync::thread_local! {
            static STRIPE: Cell<usize> = const { Cell::new(usize::MAX) };
        }
        let stripe = STRIPE.with(|stripe| {
            if stripe.get() == usize::MAX {
                stripe.set(NEXT.fetch_add(1, Ordering::Relaxed) % Self::STRIPES);
            }
            stripe.get()
        });
        self.stripes[stripe].0.fetch_add(change, Ordering::Relaxed);
    }

    fn sum(&self) -> usize {
        let sum: i64 = self
            .stripes
            .iter()
            .map(|stripe| stripe.0.load(Ordering::Relaxed))
            .sum();
        sum.max(0) as usize
    }
}
