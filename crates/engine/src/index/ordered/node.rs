//! A node: 4 KiB of atomic words, its layout, its latch, and the rules under which it is read and written.
//!
//! # Layout (bytes)
//! ```text
//!    0  latch: bit 0 = latched, the rest counts changes; survives recycling
//!    8  header: count 16 | heap_start 16 | prefix_bytes 16 | level 8
//!   16  insert hint: garbage 16 | last_position 16 | run 16      (read by latch holders only)
//!   24  first child (inner nodes)
//!   32  leaf version (see `LeafVersion`)
//!   40  the prefix common to all keys of the node, padded to 8
//!    .  slots, 8 bytes each, in order:  head 32 | suffix_bytes 16 | offset 16
//!    .  free
//!    .  heap, growing down:  row id 6 | child 4 (inner nodes) | suffix bytes after the first four
//! ```
//! `head` is the first four bytes of the suffix, zero-padded, as a big-endian number: most steps of a search compare
//! two integers. An inner entry (separator, child) sends everything >= the separator to its child, the rest goes to the
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

use super::search::Key;
use std::cmp::Ordering as Order;
use std::hint;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::thread;

/// Size of a node.
pub(super) const NODE_BYTES: usize = 4096;
pub(super) const WORDS: usize = NODE_BYTES / 8;
/// Where the prefix begins.
pub(super) const PREFIX_AT: usize = 40;
/// Bytes of a node that prefix, slots and heap share.
pub(super) const CAPACITY: usize = NODE_BYTES - PREFIX_AT;
pub(super) const SLOT_BYTES: usize = 8;
pub(super) const HEAD_BYTES: usize = 4;
const ROW_BYTES: usize = 6;
const CHILD_BYTES: usize = 4;

const LATCH: usize = 0;
pub(super) const HEADER: usize = 1;
pub(super) const HINT: usize = 2;
pub(super) const FIRST_CHILD: usize = 3;
const LEAF_VERSION: usize = 4;

const LATCHED: u64 = 1;
const VERSION_STEP: u64 = 2;

// The longest key fits an empty node of either kind, and offsets fit 16 bits.
const _: () = assert!(CAPACITY >= SLOT_BYTES + ROW_BYTES + CHILD_BYTES + crate::index::MAX_KEY_BYTES + 8);
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
        self.count as u64 | (self.heap_start as u64) << 16 | (self.prefix_bytes as u64) << 32 | (self.level as u64) << 48
    }

    /// Word index of the first slot.
    #[inline]
    pub(super) fn slots(self) -> usize {
        (PREFIX_AT + self.prefix_bytes).div_ceil(8)
    }

    /// Bytes between slots and heap. Meaningless in a torn read, as everything else.
    pub(super) fn free_bytes(self) -> usize {
        self.heap_start.saturating_sub((self.slots() + self.count) * 8)
    }

    /// Bytes of a heap cell before the rest of its suffix.
    #[inline]
    pub(super) fn cell_head(self) -> usize {
        cell_head(self.level)
    }
}

#[inline]
pub(super) fn cell_head(level: u8) -> usize {
    if level == 0 { ROW_BYTES } else { ROW_BYTES + CHILD_BYTES }
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
    if bytes.len() > HEAD_BYTES { high | head_of(&bytes[HEAD_BYTES..]) as u64 } else { high }
}

impl Node {
    #[inline]
    pub(super) fn word(&self, index: usize) -> u64 {
        self.words[index % WORDS].load(Ordering::Relaxed)
    }

    #[inline]
    fn set_word(&self, index: usize, value: u64) {
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
        CAPACITY.saturating_sub(header.free_bytes()).saturating_sub(self.garbage_bytes())
    }

    /// (position of the last insert, how many in a row each went right behind the one before).
    pub(super) fn insert_run(&self) -> (usize, usize) {
        let hint = self.word(HINT);
        ((hint >> 16 & 0xffff) as usize, (hint >> 32 & 0xffff) as usize)
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
    pub(super) fn copy_bytes(&self, offset: usize, length: usize, out: &mut Vec<u8>) {
        let length = length.min(NODE_BYTES); // a torn length must not make a long copy
        out.reserve(length + 8);
        let mut at = 0;
        while at < length {
            let chunk = self.big_endian_at(offset + at).to_be_bytes();
            out.extend_from_slice(&chunk[..(length - at).min(8)]);
            at += 8;
        }
    }

    /// Appends the whole key of a slot to `out`.
    pub(super) fn copy_key(&self, header: Header, slot: Slot, out: &mut Vec<u8>) {
        self.copy_bytes(PREFIX_AT, header.prefix_bytes, out);
        self.copy_suffix(header, slot, out);
    }

    /// Appends the key of a slot without the node's prefix to `out`.
    pub(super) fn copy_suffix(&self, header: Header, slot: Slot, out: &mut Vec<u8>) {
        out.extend_from_slice(&slot.head().to_be_bytes()[..slot.suffix_bytes().min(HEAD_BYTES)]);
        self.copy_bytes(slot.offset() + header.cell_head(), slot.rest_bytes(), out);
    }

    /// The version of the node while nobody holds its latch. [C] of the module head.
    #[inline]
    pub(super) fn version(&self) -> u64 {
        let version = self.words[LATCH].load(Ordering::Acquire);
        if version & LATCHED == 0 { version } else { self.wait_for_version() }
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

    /// Takes the latch if the node is still at `version`. Never waits.
    pub(super) fn try_latch(&self, version: u64) -> Option<Latched<'_>> {
        debug_assert!(version & LATCHED == 0);
        self.words[LATCH]
            .compare_exchange(version, version | LATCHED, Ordering::Acquire, Ordering::Relaxed)
            .ok()?;
        fence(Ordering::Release); // [A]
        Some(Latched { node: self, version, changed: false })
    }
}

/// The exclusive right to change a node. Dropping it publishes the changes under a new version.
pub(super) struct Latched<'a> {
    node: &'a Node,
    version: u64,
    changed: bool,
}

impl<'a> Latched<'a> {
    pub(super) fn node(&self) -> &'a Node {
        self.node
    }

    /// Stores an image over the node's contents; the leaf version moves on.
    pub(super) fn write(&mut self, image: &Image) {
        self.changed = true;
        for (index, &word) in image.words.iter().enumerate().skip(HEADER) {
            if index != LEAF_VERSION {
                self.node.set_word(index, word);
            }
        }
        self.advance_leaf_version();
    }

    /// Makes notes of scans over this node stale.
    pub(super) fn advance_leaf_version(&mut self) {
        self.changed = true;
        self.node.set_word(LEAF_VERSION, self.node.leaf_version() + 1);
    }

    /// Puts an entry at `position` if the space between slots and heap takes it.
    pub(super) fn insert_at(&mut self, position: usize, suffix: &[u8], row: u64, child: NodeId) -> bool {
        let mut header = self.node.header();
        debug_assert!(position <= header.count);
        if header.free_bytes() < entry_bytes(header.level, suffix.len()) {
            return false;
        }
        self.changed = true;
        let cell_bytes = entry_bytes(header.level, suffix.len()) - SLOT_BYTES;
        let offset = header.heap_start - cell_bytes;
        self.store_bytes(offset, &row.to_be_bytes()[2..]);
        if header.level > 0 {
            self.store_bytes(offset + ROW_BYTES, &child.to_be_bytes());
        }
        if suffix.len() > HEAD_BYTES {
            self.store_bytes(offset + header.cell_head(), &suffix[HEAD_BYTES..]);
        }
        let slots = header.slots();
        for index in (slots + position..slots + header.count).rev() {
            self.node.set_word(index + 1, self.node.word(index));
        }
        self.node.set_word(slots + position, Slot::new(suffix, offset).0);
        header.count += 1;
        header.heap_start = offset;
        self.node.set_word(HEADER, header.pack());
        self.note_insert(position);
        self.advance_leaf_version();
        true
    }

    /// Takes the entry at `position` out; its cell becomes garbage until the node is rewritten.
    pub(super) fn remove_at(&mut self, position: usize) {
        let mut header = self.node.header();
        debug_assert!(position < header.count);
        self.changed = true;
        let slots = header.slots();
        let slot = self.node.slot(header, position);
        let cell_bytes = entry_bytes(header.level, slot.suffix_bytes()) - SLOT_BYTES;
        for index in slots + position + 1..slots + header.count {
            self.node.set_word(index - 1, self.node.word(index));
        }
        header.count -= 1;
        let (last, run) = self.node.insert_run();
        self.set_hint(self.node.garbage_bytes() + cell_bytes, if position <= last { last.saturating_sub(1) } else { last }, run);
        self.node.set_word(HEADER, header.pack());
    }

    /// Keeps count of inserts that go right behind the one before: the sign of an ascending key.
    pub(super) fn note_insert(&mut self, position: usize) {
        let (last, run) = self.node.insert_run();
        let run = if position == last + 1 { (run + 1).min(u16::MAX as usize) } else { 0 };
        self.set_hint(self.node.garbage_bytes(), position, run);
    }

    /// Carries an ascending run over a rewrite of the node.
    pub(super) fn set_insert_run(&mut self, last: usize, run: usize) {
        self.set_hint(self.node.garbage_bytes(), last, run);
    }

    fn set_hint(&mut self, garbage_bytes: usize, last: usize, run: usize) {
        self.changed = true;
        self.node.set_word(HINT, garbage_bytes as u64 | (last as u64) << 16 | (run as u64) << 32);
    }

    fn store_bytes(&self, offset: usize, bytes: &[u8]) {
        let mut at = 0;
        while at < bytes.len() {
            let within = (offset + at) % 8;
            let length = (8 - within).min(bytes.len() - at);
            let index = (offset + at) / 8;
            let mut word = self.node.word(index).to_ne_bytes();
            word[within..within + length].copy_from_slice(&bytes[at..at + length]);
            self.node.set_word(index, u64::from_ne_bytes(word));
            at += length;
        }
    }
}

impl Drop for Latched<'_> {
    fn drop(&mut self) {
        // Unchanged: readers that started before may go on. Release: [B] of the module head.
        let version = if self.changed { self.version + VERSION_STEP } else { self.version };
        self.node.words[LATCH].store(version, Ordering::Release);
    }
}

/// The contents of a node, built privately and then stored over one. Entries are pushed in order.
pub(super) struct Image {
    words: [u64; WORDS],
    header: Header,
}

impl Image {
    pub(super) fn new(level: u8, first_child: NodeId, prefix: &[u8]) -> Image {
        let mut image = Image {
            words: [0; WORDS],
            header: Header { count: 0, heap_start: NODE_BYTES, prefix_bytes: prefix.len(), level },
        };
        image.words[FIRST_CHILD] = first_child as u64;
        image.put(PREFIX_AT, prefix);
        image.words[HEADER] = image.header.pack();
        image
    }

    /// Appends an entry. The caller has computed that it fits.
    pub(super) fn push(&mut self, suffix: &[u8], row: u64, child: NodeId) {
        let header = self.header;
        assert!(header.free_bytes() >= entry_bytes(header.level, suffix.len()), "entry does not fit its node image");
        let offset = header.heap_start + SLOT_BYTES - entry_bytes(header.level, suffix.len());
        self.put(offset, &row.to_be_bytes()[2..]);
        if header.level > 0 {
            self.put(offset + ROW_BYTES, &child.to_be_bytes());
        }
        if suffix.len() > HEAD_BYTES {
            self.put(offset + header.cell_head(), &suffix[HEAD_BYTES..]);
        }
        self.words[header.slots() + header.count] = Slot::new(suffix, offset).0;
        self.header.count += 1;
        self.header.heap_start = offset;
        self.words[HEADER] = self.header.pack();
    }

    fn put(&mut self, offset: usize, bytes: &[u8]) {
        for (at, &byte) in bytes.iter().enumerate() {
            let index = (offset + at) / 8;
            let mut word = self.words[index].to_ne_bytes();
            word[(offset + at) % 8] = byte;
            self.words[index] = u64::from_ne_bytes(word);
        }
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

/// Orders the entry in `slot` against `key`; the flag says that the key bytes are equal.
#[inline]
pub(super) fn compare_entry(node: &Node, header: Header, slot: Slot, suffix: &[u8], key: Key<'_>) -> (Order, bool) {
    let rest = suffix.get(HEAD_BYTES..).unwrap_or(&[]);
    let bytes = node
        .compare(slot.offset() + header.cell_head(), slot.rest_bytes(), rest)
        .then(slot.suffix_bytes().cmp(&suffix.len()));
    match bytes {
        Order::Equal => (node.row(slot).cmp(&key.row), true),
        unequal => (unequal, false),
    }
}
