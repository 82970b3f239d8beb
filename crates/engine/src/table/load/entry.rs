//! An index entry on its way into a tree: 32 bytes that sort like key and row id.

use mote_common::RowId;
use std::cmp::Ordering;

/// Bytes of a key that an entry holds itself.
pub(super) const HEAD_BYTES: usize = 16;
const ROW_BITS: u32 = 48;
/// Bits of a place in a bucket's key bytes; above them stands the thread whose bytes they are.
const OFFSET_BITS: u32 = 40;

/// A key on its way into an index.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    /// The key's first bytes, as a number; zeros behind a shorter key.
    head: u128,
    /// Row id, and above it the key's length.
    row: u64,
    /// Where the whole key stands, if it is longer than `head`.
    place: u64,
}

impl Entry {
    pub(super) fn new(key: &[u8], row: RowId, place: u64) -> Entry {
        debug_assert!(key.len() < 1 << (u64::BITS - ROW_BITS) && row.0 >> ROW_BITS == 0);
        Entry {
            head: head(key),
            row: row.0 | (key.len() as u64) << ROW_BITS,
            place,
        }
    }

    pub(super) fn row(&self) -> RowId {
        RowId(self.row & ((1 << ROW_BITS) - 1))
    }

    /// The same, its bytes being those of thread `thread`.
    pub(super) fn of_thread(self, thread: usize) -> Entry {
        Entry {
            place: self.place | (thread as u64) << OFFSET_BITS,
            ..self
        }
    }

    fn key_bytes(&self) -> usize {
        (self.row >> ROW_BITS) as usize
    }

    /// The whole key. `head` is room for a short one.
    pub(super) fn key<'a>(&self, long: &[&'a [u8]], head: &'a mut [u8; HEAD_BYTES]) -> &'a [u8] {
        let length = self.key_bytes();
        if length <= HEAD_BYTES {
            *head = self.head.to_be_bytes();
            return &head[..length];
        }
        let from = (self.place & ((1 << OFFSET_BITS) - 1)) as usize;
        &long[(self.place >> OFFSET_BITS) as usize][from..from + length]
    }

    /// What a long key has behind its head.
    fn tail<'a>(&self, long: &[&'a [u8]]) -> &'a [u8] {
        let from = (self.place & ((1 << OFFSET_BITS) - 1)) as usize;
        &long[(self.place >> OFFSET_BITS) as usize][from + HEAD_BYTES..from + self.key_bytes()]
    }

    /// By key bytes, then row id.
    pub(super) fn compare(&self, other: &Entry, long: &[&[u8]]) -> Ordering {
        self.head
            .cmp(&other.head)
            .then_with(|| {
                let (mine, theirs) = (self.key_bytes(), other.key_bytes());
                if mine <= HEAD_BYTES || theirs <= HEAD_BYTES {
                    // Equal heads: the shorter key is the other's beginning, maybe but for zeros, which sort behind it.
                    return mine.cmp(&theirs);
                }
                self.tail(long).cmp(other.tail(long))
            })
            .then_with(|| self.row().cmp(&other.row()))
    }
}

/// A key's first bytes, as a number that compares like them.
pub(super) fn head(key: &[u8]) -> u128 {
    let mut head = [0; HEAD_BYTES];
    let length = key.len().min(HEAD_BYTES);
    head[..length].copy_from_slice(&key[..length]);
    u128::from_be_bytes(head)
}
