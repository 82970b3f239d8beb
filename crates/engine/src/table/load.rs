//! Indexes of a table that was just recovered: keys of all rows, sorted and loaded by several threads.
//!
//! A sample of the keys cuts the key space into buckets of about the same size. Threads walk over the rows and throw each
//! key into its bucket; then each bucket is sorted and made into leaves by one thread, and the leaves of all buckets
//! become one tree. Sorting works on 32-byte entries that hold the first 16 bytes of the key, which for most keys is all
//! of it.
//!
//! Memory beside the index while it is loaded: 32 bytes an entry, and the whole key where it is longer than 16 bytes.
//! Leaves out: indexes of tables that others use meanwhile (`txn/ddl`).

use super::definition::IndexDefinition;
use super::key_program::{KeyOutcome, KeyProgram};
use super::store::{Table, TableIndex, row_of_ordinal};
use super::version::Version;
use crate::index::{IndexError, LeafRun, OrderedIndex};
use crate::memory::IndexAccount;
use crate::parallel;
use crate::recovery::ApplyError;
use mote_common::{Lsn, RowId};
use std::cmp::Ordering;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

/// Segments a thread walks over at once.
const PIECE_SEGMENTS: u32 = 16;
/// Buckets for each thread, so that one that got more than its share delays nobody for long.
const BUCKETS_PER_THREAD: usize = 4;
/// Sampled keys for each bucket.
const SAMPLES_PER_BUCKET: usize = 64;
/// For fewer entries threads are not worth their start.
const SHARED_ENTRIES: usize = 10_000;

/// Bytes of a key that an entry holds itself.
const HEAD_BYTES: usize = 16;
const ROW_BITS: u32 = 48;
/// Bits of a place in a bucket's key bytes; above them stands the thread whose bytes they are.
const OFFSET_BITS: u32 = 40;

/// A key on its way into an index.
#[derive(Clone, Copy)]
struct Entry {
    /// The key's first bytes, as a number; zeros behind a shorter key.
    head: u128,
    /// Row id, and above it the key's length.
    row: u64,
    /// Where the whole key stands, if it is longer than `head`.
    place: u64,
}

impl Entry {
    fn new(key: &[u8], row: RowId, place: u64) -> Entry {
        debug_assert!(key.len() < 1 << (u64::BITS - ROW_BITS) && row.0 >> ROW_BITS == 0);
        Entry {
            head: head(key),
            row: row.0 | (key.len() as u64) << ROW_BITS,
            place,
        }
    }

    fn row(&self) -> RowId {
        RowId(self.row & ((1 << ROW_BITS) - 1))
    }

    fn key_bytes(&self) -> usize {
        (self.row >> ROW_BITS) as usize
    }

    /// The whole key. `head` is room for a short one.
    fn key<'a>(&self, long: &[&'a [u8]], head: &'a mut [u8; HEAD_BYTES]) -> &'a [u8] {
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
    fn compare(&self, other: &Entry, long: &[&[u8]]) -> Ordering {
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

/// Keys of one bucket that one thread found.
struct Bucket {
    entries: Vec<Entry>,
    long: Vec<u8>,
}

impl Bucket {
    fn with_room(entries: usize) -> Bucket {
        Bucket {
            entries: Vec::with_capacity(entries),
            long: Vec::new(),
        }
    }

    fn push(&mut self, key: &[u8], row: RowId) {
        let place = self.long.len() as u64;
        if key.len() > HEAD_BYTES {
            self.long.extend_from_slice(key);
        }
        self.entries.push(Entry::new(key, row, place));
    }
}

/// A key's first bytes, as a number that compares like them.
fn head(key: &[u8]) -> u128 {
    let mut head = [0; HEAD_BYTES];
    let length = key.len().min(HEAD_BYTES);
    head[..length].copy_from_slice(&key[..length]);
    u128::from_be_bytes(head)
}

/// The keys between the buckets, ascending.
#[derive(Default)]
struct Cuts(Vec<(u128, Vec<u8>)>);

impl Cuts {
    fn bucket(&self, key: &[u8]) -> usize {
        let head = head(key);
        self.0
            .partition_point(|(cut_head, cut)| *cut_head < head || *cut_head == head && cut.as_slice() <= key)
    }
}

impl Table {
    /// After the last operation: row ids without a row are free, rows are counted.
    pub(crate) fn finish_load(&self, threads: usize) {
        let pieces = self.pieces();
        let found: Result<Vec<(Vec<RowId>, i64)>, ()> = parallel::share(
            threads,
            &pieces,
            Default::default,
            |(free, live), piece| {
                for segment in piece.clone() {
                    self.count_segment(segment, free, live);
                }
                Ok(())
            },
            &mut || {},
        );
        let (mut free, mut live) = (Vec::new(), 0);
        for (rows, count) in found.unwrap_or_default() {
            free.extend(rows);
            live += count;
        }
        // Handed out from the end: the lowest first.
        free.sort_unstable_by(|a: &RowId, b| b.cmp(a));
        self.free_rows(free);
        self.count_rows(live);
    }

    fn count_segment(&self, segment: u32, free: &mut Vec<RowId>, live: &mut i64) {
        let slots = self.directory.ensure(segment);
        for offset in 0..self.rows_in(segment) {
            if slots.slot(offset).head().is_null() {
                free.push(RowId::new(segment, offset));
            } else {
                *live += 1;
            }
        }
    }

    /// Row ids of a segment that were given out.
    fn rows_in(&self, segment: u32) -> u16 {
        let rows = RowId::SEGMENT_ROWS as u64;
        let before = segment as u64 * rows;
        self.ordinals_end().saturating_sub(before).min(rows) as u16
    }

    fn pieces(&self) -> Vec<Range<u32>> {
        let end = self.segment_count();
        (0..end.div_ceil(PIECE_SEGMENTS))
            .map(|piece| piece * PIECE_SEGMENTS..((piece + 1) * PIECE_SEGMENTS).min(end))
            .collect()
    }

    /// Loads an index of all rows. Replay is over and nobody writes yet. `loaded` is told how many entries were added.
    pub(crate) fn load_index(
        &self,
        definition: IndexDefinition,
        program: KeyProgram,
        threads: usize,
        loaded: &(dyn Fn(u64) + Sync),
        between: &mut dyn FnMut(),
    ) -> Result<Arc<TableIndex>, ApplyError> {
        let cuts = if threads > 1 {
            self.cuts(&program, threads * BUCKETS_PER_THREAD)?
        } else {
            Cuts::default()
        };
        let scattered = self.scatter(&program, &cuts, threads, between)?;
        let tree = self.tree(&scattered, cuts.0.len() + 1, threads, loaded, between)?;
        let index = Arc::new(TableIndex::with_tree(definition, program, tree));
        index.set_built(Lsn::ZERO);
        Ok(index)
    }

    /// The key of a row, if there is a row and it has one.
    fn loaded_key(&self, program: &KeyProgram, row: RowId, key: &mut Vec<u8>) -> Result<bool, ApplyError> {
        let Some(version) = self.loaded(row) else {
            return Ok(false);
        };
        // SAFETY: nobody changes the row meanwhile.
        let bytes = unsafe { Version::payload(NonNull::from(version)) };
        let view = self.view(version.layout(), bytes);
        let outcome = program.key(&view, key);
        let outcome = outcome.map_err(|error| ApplyError::Other(error.message().to_string()))?;
        Ok(matches!(outcome, KeyOutcome::Key { .. }))
    }

    /// Cuts the key space into about `buckets` parts of the same size.
    fn cuts(&self, program: &KeyProgram, buckets: usize) -> Result<Cuts, ApplyError> {
        let (end, mut key) = (self.ordinals_end(), Vec::new());
        let step = (end / (buckets * SAMPLES_PER_BUCKET) as u64).max(1);
        let mut samples = Vec::new();
        for ordinal in (0..end).step_by(step as usize) {
            if self.loaded_key(program, row_of_ordinal(ordinal), &mut key)? {
                samples.push(key.clone());
            }
        }
        samples.sort_unstable();
        let mut cuts: Vec<Vec<u8>> = (1..buckets)
            .filter_map(|bucket| samples.get(samples.len() * bucket / buckets).cloned())
            .collect();
        cuts.dedup();
        Ok(Cuts(cuts.into_iter().map(|cut| (head(&cut), cut)).collect()))
    }

    /// All keys, in buckets; one set of buckets for each thread.
    fn scatter(
        &self,
        program: &KeyProgram,
        cuts: &Cuts,
        threads: usize,
        between: &mut dyn FnMut(),
    ) -> Result<Vec<Vec<Bucket>>, ApplyError> {
        let buckets = cuts.0.len() + 1;
        // A little more than each gets when all are alike.
        let room = self.row_count_estimate() as usize / (buckets * threads.max(1)) * 9 / 8;
        let empty = || -> Vec<Bucket> { (0..buckets).map(|_| Bucket::with_room(room)).collect() };
        let scattered = parallel::share(
            threads,
            &self.pieces(),
            || (empty(), Vec::new()),
            |(buckets, key), piece| {
                for segment in piece.clone() {
                    for offset in 0..self.rows_in(segment) {
                        let row = RowId::new(segment, offset);
                        if self.loaded_key(program, row, key)? {
                            buckets[cuts.bucket(key)].push(key, row);
                        }
                    }
                }
                Ok(())
            },
            between,
        )?;
        Ok(scattered.into_iter().map(|(buckets, _)| buckets).collect())
    }

    fn tree(
        &self,
        scattered: &[Vec<Bucket>],
        buckets: usize,
        threads: usize,
        loaded: &(dyn Fn(u64) + Sync),
        between: &mut dyn FnMut(),
    ) -> Result<OrderedIndex, ApplyError> {
        let failed = |error: IndexError| ApplyError::Other(error.to_string());
        let account = Arc::new(IndexAccount(self.budget().clone()));
        let total: usize = scattered
            .iter()
            .flatten()
            .map(|bucket| bucket.entries.len())
            .sum();
        let threads = if total < SHARED_ENTRIES { 1 } else { threads };
        let numbers: Vec<usize> = (0..buckets).collect();
        let tree = OrderedIndex::new(account).map_err(failed)?;
        let runs = parallel::share(
            threads,
            &numbers,
            Vec::new,
            |runs, &bucket| {
                let (entries, long) = sorted(scattered, bucket);
                let mut run = tree.begin_leaves();
                for entry in &entries {
                    let mut head = [0; HEAD_BYTES];
                    run.push(entry.key(&long, &mut head), entry.row())
                        .map_err(failed)?;
                }
                runs.push((bucket, run));
                loaded(entries.len() as u64);
                Ok(())
            },
            between,
        )?;
        let mut runs: Vec<_> = runs.into_iter().flatten().collect();
        runs.sort_by_key(|(bucket, _)| *bucket);
        let runs: Vec<LeafRun<'_>> = runs.into_iter().map(|(_, run)| run).collect();
        tree.hang_leaves(runs).map_err(failed)?;
        Ok(tree)
    }
}

/// A bucket's entries from all threads, in order, and where their long keys are.
fn sorted(scattered: &[Vec<Bucket>], bucket: usize) -> (Vec<Entry>, Vec<&[u8]>) {
    let parts = || scattered.iter().map(|buckets| &buckets[bucket]);
    let long: Vec<&[u8]> = parts().map(|part| part.long.as_slice()).collect();
    let mut entries = Vec::with_capacity(parts().map(|part| part.entries.len()).sum());
    for (thread, part) in parts().enumerate() {
        let place = (thread as u64) << OFFSET_BITS;
        entries.extend(part.entries.iter().map(|entry| Entry {
            place: entry.place | place,
            ..*entry
        }));
    }
    // Stable, because that one makes use of what is in order already: each thread met rows in row-id order.
    entries.sort_by(|a, b| a.compare(b, &long));
    (entries, long)
}
