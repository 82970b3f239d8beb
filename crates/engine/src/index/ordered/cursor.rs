//! Reading: point look-ups and cursors.
//!
//! A cursor holds no latch and no guard. It copies a batch of entries out of one leaf, validates, and hands them out;
//! between calls it keeps only where it stands. Why it neither skips nor repeats: each batch is a piece of one leaf's
//! range at one moment, and the next batch begins at the cut where the piece ended: behind its last entry, or at the
//! leaf's fence. The pieces tile the range in order whatever happens to the tree, so an entry that is there all the
//! time is met exactly once.

use super::OrderedIndex;
use super::node::{Backoff, HEAD_BYTES, Node, NodeId};
use super::search::{Cut, Key, OwnedCut, Side};
use crate::index::{Direction, KeyRange, LeafId, LeafVersion, LeafVisit, MAX_ROW_ID, PieceRead, RowId};
use std::ops::Bound;

/// The first batch of a cursor is this small (short ranges are the rule); each further one is twice as big,
const FIRST_BATCH: usize = 16;
/// up to this: more than a leaf holds.
const LARGEST_BATCH: usize = 512;

impl OrderedIndex {
    /// The first row id with exactly this key.
    #[inline]
    pub fn get_first(&self, key: &[u8]) -> Option<RowId> {
        loop {
            let (_, node, version) = self.descend_to_key(Key { bytes: key, row: 0 });
            let header = node.header();
            let found = node.find(header, Key { bytes: key, row: 0 });
            if found.same_key {
                let row = node.row(node.slot(header, found.position));
                if node.validate(version) {
                    return Some(RowId(row));
                }
                continue;
            }
            let in_this_leaf = found.position < header.count;
            if !node.validate(version) {
                continue;
            }
            return if in_this_leaf {
                None
            } else {
                self.first_row_right_of(key, 0)
            };
        }
    }

    /// All row ids with exactly this key, in order, appended to `out`.
    pub fn get_all(&self, key: &[u8], out: &mut Vec<RowId>) {
        let before = out.len();
        let more_from = loop {
            out.truncate(before);
            let (_, node, version) = self.descend_to_key(Key { bytes: key, row: 0 });
            let header = node.header();
            let found = node.find(header, Key { bytes: key, row: 0 });
            let mut position = found.position;
            let mut same_key = found.same_key;
            while same_key {
                out.push(RowId(node.row(node.slot(header, position))));
                position += 1;
                same_key = position < header.count && node.has_key(header, node.slot(header, position), key);
            }
            if node.validate(version) {
                break (position >= header.count).then_some(out[before..].last().map_or(0, |row| row.0 + 1));
            }
        };
        if let Some(row) = more_from {
            let mut cursor = self.rows_of_key(key, row);
            while let Some((_, row)) = cursor.next(self) {
                out.push(row);
            }
        }
    }

    /// The rare end of `get_first`: the key sorts behind the last entry of its leaf.
    #[cold]
    fn first_row_right_of(&self, key: &[u8], row: u64) -> Option<RowId> {
        self.rows_of_key(key, row).next(self).map(|(_, row)| row)
    }

    /// A cursor over the entries of one key from `row` on.
    fn rows_of_key(&self, key: &[u8], row: u64) -> Cursor {
        let (mut low, mut high) = (OwnedCut::lowest(), OwnedCut::highest());
        low.set_before(key, row);
        high.set_before(key, MAX_ROW_ID + 1);
        Cursor::between(low, high, Direction::Forward)
    }

    /// A cursor over a range. It does not borrow the index: pass the index to [`Cursor::next`].
    pub fn cursor(&self, range: KeyRange, direction: Direction) -> Cursor {
        Cursor::new(range, direction)
    }

    /// The present version of a leaf that a cursor of this index visited.
    pub fn leaf_version(&self, leaf: LeafId) -> LeafVersion {
        let node = self
            .arena
            .get(leaf.0)
            .expect("leaf ids come from visits of this index");
        loop {
            let version = node.version();
            let leaf_version = node.leaf_version();
            if node.validate(version) {
                return LeafVersion(leaf_version);
            }
        }
    }
}

/// An entry copied out. Its key is the batch's common prefix, the head, and so much of the cursor's key buffer: most keys
/// end within the head, so that a batch of them is a few words each.
struct Copied {
    row: u64,
    head: u32,
    /// Of head and rest.
    suffix_bytes: u32,
    rest_at: u32,
}

/// A place in a leaf, good as long as the leaf is unchanged.
#[derive(Clone, Copy)]
struct Resume {
    leaf: NodeId,
    version: u64,
    position: usize,
}

/// A walk over a range. Holds nothing of the index and may be kept across suspensions.
pub struct Cursor {
    direction: Direction,
    /// What is still to be read lies between these; the end the cursor walks away from moves.
    low: OwnedCut,
    high: OwnedCut,
    /// The end of the current leaf's range in walking direction.
    fence: OwnedCut,
    /// The prefix that all keys of the batch begin with, then of each what its head does not hold. Most readers want rows
    /// only: whole keys are put together when they are asked for.
    keys: Vec<u8>,
    prefix_bytes: usize,
    /// A key put together.
    key: Vec<u8>,
    batch: Vec<Copied>,
    next: usize,
    batch_limit: usize,
    /// Where the batch stopped inside its leaf.
    resume: Option<Resume>,
    done: bool,
    pieces: Option<Vec<PieceRead>>,
}

impl Cursor {
    pub fn new(range: KeyRange, direction: Direction) -> Cursor {
        Cursor::between(
            OwnedCut::from_lower(range.lower),
            OwnedCut::from_upper(range.upper),
            direction,
        )
    }

    fn between(low: OwnedCut, high: OwnedCut, direction: Direction) -> Cursor {
        let done = low.as_cut() >= high.as_cut();
        Cursor {
            direction,
            low,
            high,
            fence: OwnedCut::lowest(),
            keys: Vec::new(),
            prefix_bytes: 0,
            key: Vec::new(),
            batch: Vec::new(),
            next: 0,
            batch_limit: FIRST_BATCH,
            resume: None,
            done,
            pieces: None,
        }
    }

    /// Starts over with another range, keeping buffers: the inner side of a nested loop. Pieces already noted stay.
    pub fn restart(&mut self, range: KeyRange, direction: Direction) {
        self.direction = direction;
        self.low = OwnedCut::from_lower(range.lower);
        self.high = OwnedCut::from_upper(range.upper);
        self.done = self.low.as_cut() >= self.high.as_cut();
        self.batch.clear();
        self.next = 0;
        self.batch_limit = FIRST_BATCH;
        self.resume = None;
    }

    /// Makes the cursor note every piece of the range that it reads, for phantom validation.
    pub fn record_pieces(mut self) -> Cursor {
        self.set_recording(true);
        self
    }

    /// Notes pieces from now on, or no longer; what was noted before is forgotten.
    #[inline]
    pub fn set_recording(&mut self, on: bool) {
        match &mut self.pieces {
            Some(pieces) if on => pieces.clear(),
            pieces => *pieces = on.then(Vec::new),
        }
    }

    /// Is there anything for `take_pieces`?
    #[inline]
    pub(crate) fn has_pieces(&self) -> bool {
        self.pieces.as_ref().is_some_and(|pieces| !pieces.is_empty())
    }

    /// The pieces read since the last call. Together they cover what the cursor has handed out, what it has read ahead,
    /// and the gaps between.
    pub fn take_pieces(&mut self) -> impl Iterator<Item = PieceRead> + '_ {
        self.pieces.iter_mut().flat_map(|pieces| pieces.drain(..))
    }

    /// The next entry of the range. Always pass the same index.
    #[allow(clippy::should_implement_trait)] // lends from the cursor's buffer, which `Iterator` cannot say
    pub fn next(&mut self, index: &OrderedIndex) -> Option<(&[u8], RowId)> {
        let row = self.next_row(index)?;
        Some((self.key(), row))
    }

    /// The row of the next entry. Always pass the same index.
    #[inline]
    pub fn next_row(&mut self, index: &OrderedIndex) -> Option<RowId> {
        while self.next == self.batch.len() {
            if self.done {
                return None;
            }
            self.refill(index);
        }
        self.next += 1;
        Some(RowId(self.batch[self.next - 1].row))
    }

    /// The key of the entry handed out last; empty before the first.
    pub fn key(&mut self) -> &[u8] {
        self.compose_key(self.next.checked_sub(1));
        &self.key
    }

    /// Puts the key of an entry of the batch together in `self.key`.
    fn compose_key(&mut self, entry: Option<usize>) {
        self.key.clear();
        if let Some(copied) = entry.and_then(|entry| self.batch.get(entry)) {
            self.key.extend_from_slice(&self.keys[..self.prefix_bytes]);
            let suffix_bytes = copied.suffix_bytes as usize;
            let head_bytes = suffix_bytes.min(HEAD_BYTES);
            self.key
                .extend_from_slice(&copied.head.to_be_bytes()[..head_bytes]);
            let rest = &self.keys[copied.rest_at as usize..][..suffix_bytes - head_bytes];
            self.key.extend_from_slice(rest);
        }
    }

    /// The row of the entry that `next` will hand out after `ahead` more, if it was read already.
    #[inline]
    pub fn peek_row(&self, ahead: usize) -> Option<RowId> {
        self.batch.get(self.next + ahead).map(|copied| RowId(copied.row))
    }

    /// Reads the next batch: from the same leaf if it stopped inside it, else from the leaf at the moved end. The batch may
    /// be empty (an empty leaf) without the cursor being done.
    fn refill(&mut self, index: &OrderedIndex) {
        let resume = self.resume.take();
        if resume.is_some() {
            self.move_behind_last();
            self.batch_limit = (self.batch_limit * 2).min(LARGEST_BATCH);
        }
        if let Some(resume) = resume {
            let node = index.arena.node(resume.leaf);
            if node.validate(resume.version)
                && self.read_leaf(node, resume.leaf, resume.version, Some(resume.position))
            {
                return;
            }
        }
        let mut backoff = Backoff::new();
        loop {
            let (cut, side) = match self.direction {
                Direction::Forward => (self.low.as_cut(), Side::Above),
                Direction::Backward => (self.high.as_cut(), Side::Below),
            };
            let leaf = index
                .descend(0, cut, side, Some(&mut self.fence))
                .expect("level 0 exists in every tree");
            if self.read_leaf(leaf.node, leaf.id, leaf.version, None) {
                return;
            }
            backoff.wait();
        }
    }

    /// Moves the end of the remaining range behind the last entry handed out.
    fn move_behind_last(&mut self) {
        self.compose_key(self.batch.len().checked_sub(1));
        let Some(last) = self.batch.last() else { return };
        match self.direction {
            Direction::Forward => self.low.set_before(&self.key, last.row + 1),
            Direction::Backward => self.high.set_before(&self.key, last.row),
        }
    }

    /// Copies a batch from a leaf at `version`, beginning at a known position or by search. `false`: the leaf changed
    /// meanwhile, nothing was read.
    fn read_leaf(&mut self, node: &Node, leaf: NodeId, version: u64, known: Option<usize>) -> bool {
        self.batch.clear();
        self.keys.clear();
        self.next = 0;
        let header = node.header();
        let (start, end) = match (self.direction, known) {
            (Direction::Forward, Some(start)) => (start, node.entries_below(header, self.high.as_cut())),
            (Direction::Backward, Some(end)) => (node.entries_below(header, self.low.as_cut()), end),
            (_, None) => {
                let start = node.entries_below(header, self.low.as_cut());
                (start, node.entries_below(header, self.high.as_cut()))
            }
        };
        let take = end.saturating_sub(start).min(self.batch_limit);
        node.copy_prefix(header, &mut self.keys);
        self.prefix_bytes = self.keys.len();
        let keys = &mut self.keys;
        let copy = |position| {
            let slot = node.slot(header, position);
            let rest_at = keys.len() as u32;
            node.copy_rest(header, slot, keys);
            Copied {
                row: node.row(slot),
                head: slot.head(),
                suffix_bytes: slot.suffix_bytes() as u32,
                rest_at,
            }
        };
        // `take` is at most the batch's limit, so that a torn header cannot make a large reservation.
        match self.direction {
            Direction::Forward => self.batch.extend((start..start + take).map(copy)),
            Direction::Backward => self.batch.extend((end.saturating_sub(take)..end).rev().map(copy)),
        }
        let leaf_version = node.leaf_version();
        if !node.validate(version) {
            self.batch.clear();
            return false;
        }
        let more = take < end.saturating_sub(start);
        if self.pieces.is_some() {
            let visit = LeafVisit {
                leaf: LeafId(leaf),
                version: LeafVersion(leaf_version),
            };
            self.note_piece(visit, more);
        }
        let position = match self.direction {
            Direction::Forward => start + take,
            Direction::Backward => end.saturating_sub(take),
        };
        if more {
            self.resume = Some(Resume {
                leaf,
                version,
                position,
            });
        } else {
            self.leave_leaf();
        }
        true
    }

    /// The leaf holds no more of the range: go on at its fence, unless the range ends before.
    fn leave_leaf(&mut self) {
        let moved = match self.direction {
            Direction::Forward => &mut self.low,
            Direction::Backward => &mut self.high,
        };
        std::mem::swap(moved, &mut self.fence);
        let ended = matches!(
            (self.direction, moved.as_cut()),
            (Direction::Forward, Cut::Highest) | (Direction::Backward, Cut::Lowest)
        );
        self.done = ended || self.low.as_cut() >= self.high.as_cut();
        self.batch_limit = (self.batch_limit * 2).min(LARGEST_BATCH);
    }

    /// Notes the piece that was just read, before the moving end moves: up to the last entry copied if the leaf holds
    /// more of the range, else up to the leaf's fence or the range's own end.
    fn note_piece(&mut self, visit: LeafVisit, more: bool) {
        self.compose_key(self.batch.len().checked_sub(1));
        let last = (more && !self.batch.is_empty()).then(|| Bound::Included(self.key.clone()));
        let range = match self.direction {
            Direction::Forward => KeyRange {
                lower: self.low.as_lower(),
                upper: last.unwrap_or_else(|| {
                    let fence_first = self.fence.as_cut() < self.high.as_cut();
                    if fence_first { &self.fence } else { &self.high }.as_upper()
                }),
            },
            Direction::Backward => KeyRange {
                lower: last.unwrap_or_else(|| {
                    let fence_first = self.fence.as_cut() > self.low.as_cut();
                    if fence_first { &self.fence } else { &self.low }.as_lower()
                }),
                upper: self.high.as_upper(),
            },
        };
        if let Some(pieces) = &mut self.pieces {
            pieces.push(PieceRead { visit, range });
        }
    }
}
