//! Images into tables: in the order in which they lie on the disk, by several threads.
//!
//! Neighbours in a file are read together, a few megabytes at a time, past the operating system's cache where that can be
//! (docs/performance.md says what it gains); there some threads more than processors keep the disk busy while rows are
//! built, elsewhere each thread announces what will be read next. Images of one run may belong to any tables: rows of different segments
//! never meet. Leaves out: which images are alive (the manifest), and the log on top of them (`replay`).

use mote_common::sync::atomic::{AtomicU64, Ordering};
use std::collections::HashMap;
use std::sync::Arc;

use mote_common::env::{Env, File};
use mote_common::{Lsn, RowId, TableId};

use super::error::RecoveryError;
use super::{ApplyError, Phase, Progress, RecoveryStats, TableTarget, Target};
use crate::checkpoint::image::{decode_image, open_image_file, read_images};
use crate::checkpoint::{ImageEntry, Manifest, RowImage, SegmentKey};
use crate::parallel;

/// Images read at once.
const RUN_BYTES: u64 = 4 << 20;
/// Dead bytes between two images that are cheaper to read than to skip.
const GAP_BYTES: u64 = 128 << 10;
/// Threads beyond those that were asked for: so many wait for the disk while the others build rows.
const WAITING_THREADS: usize = 2;
/// Runs announced ahead of each thread.
const RUNS_AHEAD: usize = 2;

/// An image that is to be loaded.
struct Piece<'a> {
    key: SegmentKey,
    entry: &'a ImageEntry,
    table: Arc<dyn TableTarget>,
}

/// Neighbours, read with one call.
struct Run<'a> {
    number: usize,
    file: Arc<dyn File>,
    start: u64,
    end: u64,
    images: Vec<Piece<'a>>,
}

/// Loads the images of the tables that `wanted` chooses and that the target has.
pub(super) fn load(
    env: &Env,
    manifest: &Manifest,
    target: &dyn Target,
    wanted: impl Fn(TableId) -> bool,
    threads: usize,
    stats: &mut RecoveryStats,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), RecoveryError> {
    let runs = runs(env, manifest, target, wanted)?;
    let total: u64 = runs.iter().map(|run| run.end - run.start).sum();
    let done = AtomicU64::new(0); // a figure for people: Relaxed
    let mut reported = 0;
    let mut report = |done: u64| {
        if done >= reported {
            progress(Progress {
                phase: Phase::LoadImages,
                done,
                total,
            });
            reported = done + total.div_ceil(100);
        }
    };
    report(0);
    for run in runs.iter().take(RUNS_AHEAD * threads) {
        run.announce();
    }
    // Reads past the cache wait for the disk themselves. One thread stays one: a simulated run is to be repeatable.
    let threads = if threads > 1 { threads + WAITING_THREADS } else { 1 };
    let loaders = parallel::share(
        threads,
        &runs,
        Loader::default,
        |loader, run| {
            if let Some(ahead) = runs.get(run.number + RUNS_AHEAD * threads) {
                ahead.announce();
            }
            loader.load(run)?;
            done.fetch_add(run.end - run.start, Ordering::Relaxed);
            Ok::<(), RecoveryError>(())
        },
        &mut || report(done.load(Ordering::Relaxed)),
    )?;
    stats.image_rows += loaders.iter().map(|loader| loader.rows).sum::<u64>();
    stats.image_bytes += loaders.iter().map(|loader| loader.bytes).sum::<u64>();
    Ok(())
}

/// What there is to read, in the disk's order.
fn runs<'a>(
    env: &Env,
    manifest: &'a Manifest,
    target: &dyn Target,
    wanted: impl Fn(TableId) -> bool,
) -> Result<Vec<Run<'a>>, RecoveryError> {
    let mut tables: HashMap<TableId, Option<Arc<dyn TableTarget>>> = HashMap::new();
    let mut pieces = Vec::new();
    for (&key, entry) in &manifest.images {
        if entry.file == 0 || !wanted(key.table) {
            continue;
        }
        let table = tables.entry(key.table).or_insert_with(|| target.table(key.table));
        if let Some(table) = table.clone() {
            pieces.push(Piece { key, entry, table });
        }
    }
    pieces.sort_by_key(|piece| (piece.entry.file, piece.entry.offset));
    let mut runs: Vec<Run<'a>> = Vec::new();
    let mut number = 0;
    for piece in pieces {
        let (start, end) = (
            piece.entry.offset,
            piece.entry.offset.saturating_add(piece.entry.bytes),
        );
        let same_file = number == piece.entry.file;
        match runs.last_mut() {
            Some(run) if same_file && run.takes(start, end) => {
                run.end = run.end.max(end);
                run.images.push(piece);
            }
            last => {
                let file = match last {
                    Some(run) if same_file => run.file.clone(),
                    _ => open_image_file(&*env.disk, piece.entry.file, manifest.system_id)?,
                };
                number = piece.entry.file;
                runs.push(Run {
                    number: runs.len(),
                    file,
                    start,
                    end,
                    images: vec![piece],
                });
            }
        }
    }
    Ok(runs)
}

impl Run<'_> {
    fn takes(&self, start: u64, end: u64) -> bool {
        start <= self.end.saturating_add(GAP_BYTES) && end.saturating_sub(self.start) <= RUN_BYTES
    }

    fn announce(&self) {
        self.file.will_read(self.start, self.end - self.start);
    }
}

/// One thread's part.
#[derive(Default)]
struct Loader {
    buffer: Vec<u8>,
    rows: u64,
    bytes: u64,
}

impl Loader {
    fn load(&mut self, run: &Run<'_>) -> Result<(), RecoveryError> {
        let first = (run.images[0].key, run.images[0].entry);
        let read = read_images(&*run.file, (run.start, run.end), first, &mut self.buffer)?;
        for piece in &run.images {
            let (key, entry) = (piece.key, piece.entry);
            let from = (entry.offset - run.start) as usize;
            let bytes = &read[from..from + entry.bytes as usize];
            let rows = decode_image(bytes, key, entry)?;
            piece
                .table
                .load_image(&rows)
                .map_err(|(row, error)| failure(key, rows.get(row), error))?;
            self.rows += rows.len() as u64;
            self.bytes += entry.bytes;
        }
        Ok(())
    }
}

fn failure(key: SegmentKey, row: Option<&RowImage<'_>>, error: ApplyError) -> RecoveryError {
    RecoveryError::Apply {
        table: key.table,
        row: row.map_or(RowId::new(key.segment, 0), |row| row.row),
        ts: row.map_or(Lsn::ZERO, |row| row.commit_ts),
        error,
    }
}
