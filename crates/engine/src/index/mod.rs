//! Indexes: ordered maps from key bytes to row ids.
//!
//! Read in this order:
//!  1. this file: the contract that every caller codes against;
//!  2. `method`: how the key of a row becomes that of its entry, and `hash`, the method that keeps a hash;
//!  3. `ordered`: the B+tree that holds the entries of all methods, whose own head gives the order of its files.
//!
//! Contract
//!  - Keys are *memcomparable* bytes: comparing them as unsigned bytes, the shorter of two equal prefixes first,
//!    is comparing the values. Who encodes them is not this module's business.
//!  - An entry is (key, row id). Entries are ordered by key, then row id, and are a set: duplicates of a key differ
//!    in row id. Unique indexes use the same structure; whether an equal key is a violation is the caller's verdict
//!    ([`OrderedIndex::insert_checked`]).
//!  - The index knows nothing of versions: an entry says that *some* version of the row may have the key.
//!  - Readers write nothing shared and take no latch. Cursors hold nothing between calls and survive suspension.
//!  - No call waits for anything but another thread's short latch.
//!
//! Leaves out: logging (indexes are rebuilt by bulk load), visibility, key encoding.

mod hash;
mod method;
pub mod ordered;

pub use method::IndexMethod;
pub use mote_common::RowId;
pub use ordered::{Cursor, LeafRun, OrderedIndex};

use std::fmt;
use std::ops::Bound;

/// Longest key, in bytes: no less than PostgreSQL's B-tree takes on 8 KiB pages.
pub const MAX_KEY_BYTES: usize = 2_704;

/// Row ids have 48 bits.
pub const MAX_ROW_ID: u64 = (1 << 48) - 1;

/// Why an entry could not be stored. The index is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexError {
    /// PostgreSQL's "index row size %zu exceeds btree version %u maximum %zu" (54000).
    KeyTooLong { key_bytes: usize, maximum_bytes: usize },
    /// The memory account refused a node.
    OutOfMemory,
}

impl fmt::Display for IndexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IndexError::KeyTooLong {
                key_bytes,
                maximum_bytes,
            } => {
                write!(f, "index row size {key_bytes} exceeds maximum {maximum_bytes}")
            }
            IndexError::OutOfMemory => f.write_str("out of memory for index node"),
        }
    }
}

impl std::error::Error for IndexError {}

/// Names a leaf for phantom validation. Leaves are recycled; the version tells.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LeafId(pub u32);

/// Counts what may put a new entry into a leaf's key range: inserts, splits, merges, recycling. Removals do not
/// count: they cannot create a phantom. Never goes back, also when the leaf is recycled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LeafVersion(pub u64);

/// A leaf as a scan or an insert met it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LeafVisit {
    pub leaf: LeafId,
    pub version: LeafVersion,
}

/// A piece of a range, read from one leaf at one moment. The range may be a little wider than what was read (all row ids
/// of a key instead of some), never narrower.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PieceRead {
    pub visit: LeafVisit,
    pub range: KeyRange,
}

/// How an insert changed its leaf. A transaction that scanned the leaf at `before` may move its note to `after`, so
/// that its own insert does not look like a phantom; after a split the versions do not meet and the note is stale.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeafChange {
    pub leaf: LeafId,
    pub before: LeafVersion,
    pub after: LeafVersion,
}

/// Outcome of [`OrderedIndex::insert`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inserted {
    Added(LeafChange),
    /// This very (key, row id) was there.
    Existed,
}

/// Outcome of [`OrderedIndex::insert_checked`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckedInsert<T> {
    Added(LeafChange),
    /// This very (key, row id) was there, and no check stopped.
    Existed,
    /// A check stopped with this; nothing was inserted.
    Stopped(T),
}

/// A range of keys, each bound with all its row ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    pub lower: Bound<Vec<u8>>,
    pub upper: Bound<Vec<u8>>,
}

impl KeyRange {
    pub fn all() -> KeyRange {
        KeyRange {
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
        }
    }

    /// All row ids of one key.
    pub fn exactly(key: &[u8]) -> KeyRange {
        KeyRange {
            lower: Bound::Included(key.to_vec()),
            upper: Bound::Included(key.to_vec()),
        }
    }

    /// All keys that begin with `prefix`.
    pub fn prefix(prefix: &[u8]) -> KeyRange {
        // The least key above all that have the prefix: the last byte that can grow, grown; none: no upper bound.
        let keep = prefix.iter().rposition(|&byte| byte != u8::MAX);
        let upper = match keep {
            Some(last) => {
                let mut key = prefix[..=last].to_vec();
                key[last] += 1;
                Bound::Excluded(key)
            }
            None => Bound::Unbounded,
        };
        KeyRange {
            lower: Bound::Included(prefix.to_vec()),
            upper,
        }
    }
}

/// The way a cursor walks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    Forward,
    Backward,
}
