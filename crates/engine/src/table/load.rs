//! Indexes of a table that was just recovered: keys of all rows, sorted and loaded by several threads.
//!
//! A sample of the keys cuts the key space into buckets of about the same size. Threads walk over the rows and throw each
//! key into its bucket; then each bucket is sorted and made into leaves by one thread, and the leaves of all buckets
//! become one tree. Sorting works on 32-byte entries that hold the first 16 bytes of the key, which for most keys is all
//! of it; a bucket of them fits a processor's own cache.
//!
//! Memory beside the index while it is loaded: 32 bytes an entry and up to 4 for blocks that did not fill, and the whole
//! key where it is longer than 16 bytes. It is not charged to the budget and is given back at the end of the start.
//! Leaves out: indexes of tables that others use meanwhile (`txn/ddl`).

mod bucket;
mod entry;

use super::definition::IndexDefinition;
use super::key_program::{KeyOutcome, KeyProgram};
use super::store::{Table, TableIndex, ordinal_of_row, row_of_ordinal};
use super::version::Version;
use crate::index::{IndexError, LeafRun, OrderedIndex};
use crate::memory::IndexAccount;
use crate::memory::scratch::BlockPool;
use crate::parallel;
use crate::recovery::ApplyError;
use bucket::{Buckets, Cuts};
use entry::{Entry, HEAD_BYTES};
use mote_common::{Lsn, RowId};
use std::ops::Range;
use std::sync::Arc;

/// Segments a thread walks over at once.
const PIECE_SEGMENTS: u32 = 16;
/// Entries that a bucket should get from each thread: 1 MiB when there are two.
const BUCKET_ENTRIES: u64 = 16 << 10;
/// Fewest buckets for each of several threads, so that one that got more than its share delays nobody for long.
const BUCKETS_PER_THREAD: usize = 4;
const BUCKETS_MAX: usize = 4096;
/// Sampled keys for each bucket.
const SAMPLES_PER_BUCKET: usize = 64;
/// For fewer entries threads are not worth their start.
const SHARED_ENTRIES: usize = 10_000;
/// Rows that are asked for ahead: a few memory latencies, at some 50 ns a key.
const ROWS_AHEAD: u64 = 8;

/// Memory for entries, to be used for one index after the other.
#[derive(Default)]
pub(crate) struct LoadMemory(BlockPool<Entry>);

impl Table {
    /// After the last operation: row ids without a row are free, rows are counted.
    pub(crate) fn finish_load(&self, threads: usize) {
        let (free, live) = self.free_and_live(threads);
        self.free_lowest_first(free);
        self.count_rows(live);
    }

    /// Of a table that was replayed, where another node knew which row ids are free. Nobody else uses it, and whatever is
    /// rolled back has left its row.
    pub(crate) fn find_free_rows(&self, threads: usize) {
        self.forget_free_rows();
        let (free, _) = self.free_and_live(threads);
        self.free_lowest_first(free);
    }

    /// Row ids without a row, and how many have one.
    fn free_and_live(&self, threads: usize) -> (Vec<RowId>, i64) {
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
        (free, live)
    }

    /// A prepared transaction made the table and has written its rows again; they are not counted before they are
    /// committed.
    pub(crate) fn free_unwritten_rows(&self) {
        let mut free = Vec::new();
        for segment in 0..self.segment_count() {
            self.count_segment(segment, &mut free, &mut 0);
        }
        self.free_lowest_first(free);
    }

    fn free_lowest_first(&self, mut free: Vec<RowId>) {
        // Handed out from the end.
        free.sort_unstable_by(|a, b| b.cmp(a));
        self.free_rows(free);
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
        memory: &LoadMemory,
        threads: usize,
        loaded: &(dyn Fn(u64) + Sync),
        between: &mut dyn FnMut(),
    ) -> Result<Arc<TableIndex>, ApplyError> {
        let cuts = self.cuts(&program, threads)?;
        let found = self.scatter(&program, &cuts, memory, threads, between)?;
        let tree = self.tree(&found, cuts.buckets(), threads, loaded, between)?;
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
        let (header, bytes) = unsafe { (version.as_ref(), Version::payload(version)) };
        let view = self.view(header.layout(), bytes);
        let outcome = program.key(&view, key);
        let outcome = outcome.map_err(|error| ApplyError::Other(error.message().to_string()))?;
        Ok(matches!(outcome, KeyOutcome::Key { .. }))
    }

    /// Cuts the key space into parts of about the same size.
    fn cuts(&self, program: &KeyProgram, threads: usize) -> Result<Cuts, ApplyError> {
        let fewest = if threads > 1 {
            threads * BUCKETS_PER_THREAD
        } else {
            1
        };
        let buckets = (self.row_count_estimate() / (BUCKET_ENTRIES * threads.max(1) as u64)) as usize;
        let buckets = buckets.clamp(fewest.min(BUCKETS_MAX), BUCKETS_MAX);
        if buckets == 1 {
            return Ok(Cuts::default());
        }
        let (end, mut key) = (self.ordinals_end(), Vec::new());
        let step = (end / (buckets * SAMPLES_PER_BUCKET) as u64).max(1);
        let mut samples = Vec::new();
        for ordinal in (0..end).step_by(step as usize) {
            if self.loaded_key(program, row_of_ordinal(ordinal), &mut key)? {
                samples.push(key.clone());
            }
        }
        Ok(Cuts::new(samples, buckets))
    }

    /// All keys, in buckets; one set of buckets for each thread.
    fn scatter<'a>(
        &self,
        program: &KeyProgram,
        cuts: &'a Cuts,
        memory: &'a LoadMemory,
        threads: usize,
        between: &mut dyn FnMut(),
    ) -> Result<Vec<Buckets<'a>>, ApplyError> {
        let found = parallel::share(
            threads,
            &self.pieces(),
            || (Buckets::new(&memory.0, cuts), Vec::new()),
            |(buckets, key), piece| {
                for segment in piece.clone() {
                    for offset in 0..self.rows_in(segment) {
                        let row = RowId::new(segment, offset);
                        self.prefetch_version(row_of_ordinal(ordinal_of_row(row) + ROWS_AHEAD));
                        if self.loaded_key(program, row, key)? {
                            buckets.push(key, row);
                        }
                    }
                }
                Ok(())
            },
            between,
        )?;
        Ok(found.into_iter().map(|(buckets, _)| buckets).collect())
    }

    fn tree(
        &self,
        found: &[Buckets<'_>],
        buckets: usize,
        threads: usize,
        loaded: &(dyn Fn(u64) + Sync),
        between: &mut dyn FnMut(),
    ) -> Result<OrderedIndex, ApplyError> {
        let failed = |error: IndexError| ApplyError::Other(error.to_string());
        let account = Arc::new(IndexAccount(self.budget().clone()));
        let total: usize = found.iter().map(Buckets::entries).sum();
        let threads = if total < SHARED_ENTRIES { 1 } else { threads };
        let numbers: Vec<usize> = (0..buckets).collect();
        let tree = OrderedIndex::new(account).map_err(failed)?;
        let runs = parallel::share(
            threads,
            &numbers,
            || (Vec::new(), Vec::new()),
            |(runs, entries), &bucket| {
                let long = bucket::sort(found, bucket, entries);
                let mut run = tree.begin_leaves();
                for entry in entries.iter() {
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
        let mut runs: Vec<_> = runs.into_iter().flat_map(|(runs, _)| runs).collect();
        runs.sort_by_key(|(bucket, _)| *bucket);
        let runs: Vec<LeafRun<'_>> = runs.into_iter().map(|(_, run)| run).collect();
        tree.hang_leaves(runs).map_err(failed)?;
        Ok(tree)
    }
}
