//! A node: 4 KiB of atomic words, its layout, its latch, and the rules under which it is read and written.
//!
//! # Layout (bytes)
//! ```text
//!    0  latch: bit 0 = latched, the rest counts changes; survives recycling
//!    8  header: count 16 | heap_start 16 | prefix_bytes 16 | level 8
//!   16  insert hint: garbage 16 | last_position 16 | run 16      (read by latch holders only)
//!   24  first child (inner nodes)
//!   32  leaf version (see `LeafVersion`)
//!   40  hints: 16 heads 32, sampled from the slots at even steps
//!  104  the prefix common to all keys of the node, padded to 8
//!    .  slots, 8 bytes each, in order:  head 32 | suffix_bytes 16 | offset 16
//!    .  free
//!    .  heap, growing down:  row id 6 | child 4 (inner nodes) | suffix bytes after the first four
//! ```
//! `head` is the first four bytes of the suffix, zero-padded, as a big-endian number: most steps of a search compare
//! two integers. The hints narrow a search to a seventeenth of the slots with two cache lines read, where a binary search
//! over all slots would wait for memory at nearly every step. An inner entry (separator, child) sends everything >= the separator to its child, the rest goes to the
//! entry before or to `first child`. Separators are (key, row id) too, cut to the shortest key that separates.
//!
//! # Memory model: optimistic readers beside one latched writer
//! Every access to a node, by anybody, is a `Relaxed` load or store of a whole aligned `AtomicU64`; bytes are
//! assembled from words. So there are no data races in the language's sense, no accesses of mixed size, and no
//! `&mut` into a node. What a racing reader may get is a *mix* of states, so:
//!  - it validates the latch word before it acts on what it read (`validate`), and
//!  - until then it only does what any garbage allows: word indexes are masked into the node, loops are bounded by
//!    16-bit counts. Nothing read is used as an address or a node id before validation.
//!
//! Ordering is that of a sequence lock:
//!  - writer: CAS to latched (Acquire), `fence(Release)` [A], stores, store of the new version (Release) [B];
//!  - reader: load of the version (Acquire) [C], loads, `fence(Acquire)` [D], load of the version.
//!
//! [B]-[C]: a reader that starts at a version sees everything of the writer that published it. [A]-[D]: a reader that
//! saw any store of a later writer sees that writer's latch (or a later value) when it validates, and fails.
//! The writer's CAS (Acquire) pairs with [B] of the writer before.
//!
//! # Recycling
//! Nodes are type-stable: their memory lives as long as the index and the latch word only ever grows. A reader that
//! still holds a recycled node finds a changed version, and one that comes from a stale parent fails the parent's
//! validation, since unlinking changes the parent. So a node can be reused at once, without a grace period, and
//! look-ups need no epoch guard.

use mote_common::sync::atomic::{AtomicU64, Ordering, fence};
use mote_common::sync::{hint, thread};
use std::cmp::Ordering as Order;

/// Size of a node.
pub(super) const NODE_BYTES: usize = 4096;
pub(super) const WORDS: usize = NODE_BYTES / 8;
/// Where the prefix begins.
pub(super) const PREFIX_AT: usize = 8 * HINTS_AT + 4 * HINTS;
/// Bytes of a node that prefix, slots and heap share.
pub(super) const CAPACITY: usize = NODE_BYTES - PREFIX_AT;
pub(super) const SLOT_BYTES: usize = 8;
pub(super) const HEAD_BYTES: usize = 4;
pub(super) const ROW_BYTES: usize = 6;
const CHILD_BYTES: usize = 4;

const LATCH: usize = 0;
pub(super) const HEADER: usize = 1;
pub(super) const HINT: usize = 2;
pub(super) const FIRST_CHILD: usize = 3;
pub(super) const LEAF_VERSION: usize = 4;
pub(super) const HINTS_AT: usize = 5;
/// Two to a word.
pub(super) const HINTS: usize = 16;

const LATCHED: u64 = 1;
pub(super) const VERSION_STEP: u64 = 2;

// The longest key fits an empty node of either kind, and offsets fit 16 bits.
const _: () = assert!(CAPACITY >= SLOT_BYTES + ROW_BYTES + CHILD_BYTES + crate::index::MAX_KEY_BYTES + 7);
const _: () = assert!(NODE_BYTES <= u16::MAX as usize);

/// A node's place in its arena.
pub(super) type NodeId = u32;

#[repr(C, align(64))]
pub(super) struct Node {
    words: [AtomicU64; WORDS],
}

/// The header word, unpacked. One store writes it, so its fields always belong together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) count: usize,
    pub(super) heap_start: usize,
    pub(super) prefix_bytes: usize,
    pub(super) level: u8,
}

impl Header {
    #[inline]
    fn unpack(word: u64) -> Header {
        Header {
            count: (word & 0xffff) as usize,
            heap_start: (word >> 16 & 0xffff) as usize,
            prefix_bytes: (word >> 32 & 0xffff) as usize,
            level: (word >> 48) as u8,
        }
    }

    pub(super) fn pack(self) -> u64 {
        self.count as u64
            | (self.heap_start as u64) << 16
            | (self.prefix_bytes as u64) << 32
            | (self.level as u64) << 48
    }

    /// Slots between two hints; 0: too few slots for hints.
    #[inline]
    pub(super) fn hint_step(self) -> usize {
        if self.count < 2 * (HINTS + 1) {
            0
        } else {
            self.count / (HINTS + 1)
        }
    }

    /// Word index of the first slot.
    #[inline]
    pub(super) fn slots(self) -> usize {
        (PREFIX_AT + self.prefix_bytes).div_ceil(8)
    }

    /// Bytes between slots and heap, as if the prefix had the largest padding. Meaningless in a torn read, as everything
    /// else.
    pub(super) fn free_bytes(self) -> usize {
        let slots_end = PREFIX_AT + prefix_area(self.prefix_bytes) + self.count * SLOT_BYTES;
        self.heap_start.saturating_sub(slots_end)
    }

    /// Bytes of a heap cell before the rest of its suffix.
    #[inline]
    pub(super) fn cell_head(self) -> usize {
        cell_head(self.level)
    }
}

#[inline]
pub(super) fn cell_head(level: u8) -> usize {
    if level == 0 {
        ROW_BYTES
    } else {
        ROW_BYTES + CHILD_BYTES
    }
}

/// Bytes to count for a prefix: padding counts as the largest, so that a longer prefix never costs more than it saves
/// just because of its padding, and every part of a node fits a node.
pub(super) fn prefix_area(prefix_bytes: usize) -> usize {
    prefix_bytes + 7
}

/// Slot and heap bytes of an entry whose suffix has this many bytes.
pub(super) fn entry_bytes(level: u8, suffix_bytes: usize) -> usize {
    SLOT_BYTES + cell_head(level) + suffix_bytes.saturating_sub(HEAD_BYTES)
}

/// A slot word: `head` stands highest, so slots with different heads compare as numbers.
#[derive(Clone, Copy)]
pub(super) struct Slot(pub(super) u64);

impl Slot {
    pub(super) fn new(suffix: &[u8], offset: usize) -> Slot {
        Slot((head_of(suffix) as u64) << 32 | (suffix.len() as u64) << 16 | offset as u64)
    }

    #[inline]
    pub(super) fn head(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline]
    pub(super) fn suffix_bytes(self) -> usize {
        (self.0 >> 16 & 0xffff) as usize
    }

    #[inline]
    pub(super) fn offset(self) -> usize {
        (self.0 & 0xffff) as usize
    }

    #[inline]
    pub(super) fn rest_bytes(self) -> usize {
        self.suffix_bytes().saturating_sub(HEAD_BYTES)
    }
}

/// The first four bytes as a big-endian number, zero-padded.
#[inline]
pub(super) fn head_of(suffix: &[u8]) -> u32 {
    match suffix {
        [a, b, c, d, ..] => u32::from_be_bytes([*a, *b, *c, *d]),
        [a, b, c] => u32::from_be_bytes([*a, *b, *c, 0]),
        [a, b] => u32::from_be_bytes([*a, *b, 0, 0]),
        [a] => u32::from_be_bytes([*a, 0, 0, 0]),
        [] => 0,
    }
}

/// The first eight bytes as a big-endian number; what a shorter slice lacks is zero.
#[inline]
fn big_endian(bytes: &[u8]) -> u64 {
    if let Some(eight) = bytes.first_chunk::<8>() {
        return u64::from_be_bytes(*eight);
    }
    let high = (head_of(bytes) as u64) << 32;
    if bytes.len() > HEAD_BYTES {
        high | head_of(&bytes[HEAD_BYTES..]) as u64
    } else {
        high
    }
}

impl Node {
    #[inline]
    pub(super) fn word(&self, index: usize) -> u64 {
        self.words[index % WORDS].load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn set_word(&self, index: usize, value: u64) {
        self.words[index % WORDS].store(value, Ordering::Relaxed);
    }

    /// Eight bytes from any offset, as a big-endian number.
    #[inline]
    fn big_endian_at(&self, offset: usize) -> u64 {
        let shift = (offset % 8) * 8;
        let first = u64::from_be(self.word(offset / 8));
        let second = u64::from_be(self.word(offset / 8 + 1));
        first << shift | second >> 1 >> (63 - shift)
    }

    #[inline]
    pub(super) fn header(&self) -> Header {
        Header::unpack(self.word(HEADER))
    }

    #[inline]
    pub(super) fn slot(&self, header: Header, position: usize) -> Slot {
        Slot(self.word(header.slots() + position))
    }

    #[inline]
    pub(super) fn row(&self, slot: Slot) -> u64 {
        self.big_endian_at(slot.offset()) >> 16
    }

    /// The child at `position` of 0..=count.
    #[inline]
    pub(super) fn child(&self, header: Header, position: usize) -> NodeId {
        if position == 0 {
            return self.word(FIRST_CHILD) as NodeId;
        }
        let slot = self.slot(header, position - 1);
        (self.big_endian_at(slot.offset() + ROW_BYTES) >> 32) as NodeId
    }

    pub(super) fn leaf_version(&self) -> u64 {
        self.word(LEAF_VERSION)
    }

    /// Bytes in the heap that removed entries left behind.
    pub(super) fn garbage_bytes(&self) -> usize {
        (self.word(HINT) & 0xffff) as usize
    }

    /// Bytes in use by prefix, slots and live heap cells.
    pub(super) fn used_bytes(&self, header: Header) -> usize {
        CAPACITY
            .saturating_sub(header.free_bytes())
            .saturating_sub(self.garbage_bytes())
    }

    /// (position of the last insert, how many in a row each went right behind the one before).
    pub(super) fn insert_run(&self) -> (usize, usize) {
        let hint = self.word(HINT);
        ((hint >> 16 & 0xffff) as usize, (hint >> 32 & 0xffff) as usize)
    }

    /// A range of slots that holds the end of those with heads below `head`: narrowed by the hints, hint i being the head
    /// of slot (i + 1) * step.
    #[inline]
    pub(super) fn narrow(&self, header: Header, head: u32) -> (usize, usize) {
        let step = header.hint_step();
        if step == 0 {
            return (0, header.count);
        }
        let mut below = 0;
        for index in 0..HINTS / 2 {
            let pair = self.word(HINTS_AT + index);
            below += ((pair as u32) < head) as usize + (((pair >> 32) as u32) < head) as usize;
        }
        (
            below * step,
            if below < HINTS {
                (below + 1) * step
            } else {
                header.count
            },
        )
    }

    /// Do the hints agree with the slots?
    pub(super) fn hints_hold(&self, header: Header) -> bool {
        let step = header.hint_step();
        step == 0
            || (0..HINTS).all(|hint| {
                let pair = self.word(HINTS_AT + hint / 2);
                (pair >> (32 * (hint % 2))) as u32 == self.slot(header, (hint + 1) * step).head()
            })
    }

    /// Compares `length` bytes of the node from `offset` with `other`.
    #[inline]
    pub(super) fn compare(&self, offset: usize, length: usize, other: &[u8]) -> Order {
        let common = length.min(other.len());
        let mut at = 0;
        while at < common {
            let mask = u64::MAX << (64 - 8 * (common - at).min(8));
            let mine = self.big_endian_at(offset + at) & mask;
            let theirs = big_endian(&other[at..]) & mask;
            if mine != theirs {
                return mine.cmp(&theirs);
            }
            at += 8;
        }
        length.cmp(&other.len())
    }

    /// Has the entry in `slot` exactly this key?
    pub(super) fn has_key(&self, header: Header, slot: Slot, key: &[u8]) -> bool {
        let prefix_bytes = header.prefix_bytes;
        if key.len() != prefix_bytes + slot.suffix_bytes() {
            return false;
        }
        let (prefix, suffix) = key.split_at(prefix_bytes);
        slot.head() == head_of(suffix)
            && self.compare(PREFIX_AT, prefix_bytes, prefix) == Order::Equal
            && self.compare(
                slot.offset() + header.cell_head(),
                slot.rest_bytes(),
                suffix.get(HEAD_BYTES..).unwrap_or(&[]),
            ) == Order::Equal
    }

    /// Appends `length` bytes from `offset` to `out`.
    #[inline]
    pub(super) fn copy_bytes(&self, offset: usize, length: usize, out: &mut Vec<u8>) {
        let length = length.min(NODE_BYTES); // a torn length must not make a long copy
        out.reserve(length + 8);
        let end = out.len() + length;
        let mut at = 0;
        // Whole words, the surplus cut off: a copy of known length is one store, one of unknown length a call.
        while at < length {
            out.extend_from_slice(&self.big_endian_at(offset + at).to_be_bytes());
            at += 8;
        }
        out.truncate(end);
    }

    /// Appends the whole key of a slot to `out`.
    pub(super) fn copy_key(&self, header: Header, slot: Slot, out: &mut Vec<u8>) {
        self.copy_prefix(header, out);
        self.copy_suffix(header, slot, out);
    }

    /// Appends what all keys of the node begin with to `out`.
    pub(super) fn copy_prefix(&self, header: Header, out: &mut Vec<u8>) {
        self.copy_bytes(PREFIX_AT, header.prefix_bytes, out);
    }

    /// Appends the key of a slot without the node's prefix to `out`.
    #[inline]
    pub(super) fn copy_suffix(&self, header: Header, slot: Slot, out: &mut Vec<u8>) {
        let end = out.len() + slot.suffix_bytes().min(HEAD_BYTES);
        out.extend_from_slice(&slot.head().to_be_bytes());
        out.truncate(end);
        self.copy_rest(header, slot, out);
    }

    /// Appends what the key of a slot has beyond the node's prefix and the slot's head to `out`.
    #[inline]
    pub(super) fn copy_rest(&self, header: Header, slot: Slot, out: &mut Vec<u8>) {
        let length = slot.rest_bytes();
        if length > 0 {
            self.copy_bytes(slot.offset() + header.cell_head(), length, out);
        }
    }

    /// The version of the node while nobody holds its latch. [C] of the module head.
    #[inline]
    pub(super) fn version(&self) -> u64 {
        let version = self.words[LATCH].load(Ordering::Acquire);
        if version & LATCHED == 0 {
            version
        } else {
            self.wait_for_version()
        }
    }

    /// The version, or `None` while somebody holds the latch. Never waits. [C] of the module head.
    pub(super) fn version_now(&self) -> Option<u64> {
        let version = self.words[LATCH].load(Ordering::Acquire);
        (version & LATCHED == 0).then_some(version)
    }

    #[cold]
    fn wait_for_version(&self) -> u64 {
        let mut backoff = Backoff::new();
        loop {
            backoff.wait();
            let version = self.words[LATCH].load(Ordering::Acquire); // [C]
            if version & LATCHED == 0 {
                return version;
            }
        }
    }

    /// Is everything read since `version` one state? [D] of the module head.
    #[inline]
    pub(super) fn validate(&self, version: u64) -> bool {
        fence(Ordering::Acquire);
        self.words[LATCH].load(Ordering::Relaxed) == version
    }

    /// Ends a latch: everything stored under it becomes visible with this version. [B] of the module head.
    pub(super) fn publish(&self, version: u64) {
        self.words[LATCH].store(version, Ordering::Release);
    }

    /// Sets the latch if the node is still at `version`: for `try_latch`, which makes a `Latched` of it.
    #[inline]
    pub(super) fn set_latch(&self, version: u64) -> bool {
        debug_assert!(version & LATCHED == 0);
        let set = self.words[LATCH]
            .compare_exchange(version, version | LATCHED, Ordering::Acquire, Ordering::Relaxed)
            .is_ok();
        if set {
            fence(Ordering::Release); // [A]
        }
        set
    }
}

/// Waiting for a latch: spin a little, then let the holder run.
pub(super) struct Backoff {
    round: u32,
}

impl Backoff {
    /// Rounds of doubling spins before the thread yields: about 130 pauses, a few microseconds.
    const SPIN_ROUNDS: u32 = 7;

    pub(super) fn new() -> Backoff {
        Backoff { round: 0 }
    }

    pub(super) fn wait(&mut self) {
        if self.round < Self::SPIN_ROUNDS {
            for _ in 0..1 << self.round {
                hint::spin_loop();
            }
            self.round += 1;
        } else {
            thread::yield_now();
        }
    }
}
