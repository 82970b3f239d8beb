//! Recovery: from the manifest, the images and the log back to tables in memory.
//!
//! Read in this order:
//!  1. this file: the steps, and what the engine core must offer ([`Target`], [`TableTarget`]).
//!  2. `scan`: the first reading of the log: where it ends, which transactions committed, the catalog's operations.
//!  3. `images`: rows from images, in the order in which they lie on the disk.
//!  4. `replay`: operations, partitioned by (table, segment), applied in log order inside a partition.
//!  5. `error`: what can be wrong, in words that say what to do.
//!
//! Source: redo alone, in parallel by partitions, as SiloR's (Zheng et al., OSDI 2014); the first reading has the place of the
//! analysis of ARIES (Mohan et al., TODS 1992), and there is no undo, since images hold commits only. Other than in SiloR a
//! partition is applied in the order of the log. PostgreSQL (xlogrecovery.c) replays on one process.
//!
//! Promises: after `recover` the tables hold exactly the commits whose frames are in the log or in images, each whole;
//! no constraint is checked. Nothing is written to the disk here except a new database's first manifest.
//! Leaves out: opening the log for writing (`log::Log::open`, with the position found here).

use std::sync::Arc;

use mote_common::env::Env;
use mote_common::{Lsn, RowId, TableId};

use crate::checkpoint::{COUNTERS, Manifest, RowImage};
use mote_log::reader::LogFiles;
use mote_log::segment::{LOG_DIRECTORY, parse_segment_name};
use mote_log::{LogPosition, SequenceState};

mod error;
#[cfg(test)]
mod fuzz;
mod images;
mod replay;
mod scan;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod toy;

pub use error::{ApplyError, RecoveryError};

/// The engine's own catalog: recovered before all other tables.
pub const CATALOG_TABLE: TableId = TableId(1);

/// What recovery fills. Tables must accept calls for different segments from several threads at once.
pub trait Target: Sync {
    /// `None`: no such table in the catalog; its rows and operations are skipped. The catalog table is always there.
    fn table(&self, id: TableId) -> Option<Arc<dyn TableTarget>>;
    /// Table 1 is complete: make the tables, layouts, indexes (empty) and sequences that it names.
    fn catalog_recovered(&self, counters: &[u64; COUNTERS]) -> Result<(), ApplyError>;
    /// States come in log order, so the last one counts. Unknown sequences are skipped.
    fn restore_sequence(&self, state: SequenceState);
    /// A prepared transaction that was neither committed nor rolled back: install it as it was, with its locks.
    fn restore_prepared(&self, prepared: PreparedTransaction) -> Result<(), ApplyError>;
    /// All rows are there: load the indexes, with up to `threads` threads; tells how many of how many entries are there.
    fn build_indexes(&self, threads: usize, progress: &mut dyn FnMut(u64, u64)) -> Result<(), ApplyError>;
}

/// How images and log operations get into a table. The standby and the simulator use the same code.
///
/// `base_ts` names the version that is changed; when it is another one, the answer is `ApplyError::BaseMismatch`.
pub trait TableTarget: Send + Sync {
    /// Rows of one segment, which was empty. An error names the row by its place in `rows`.
    fn load_image(&self, rows: &[RowImage<'_>]) -> Result<(), (usize, ApplyError)>;
    fn apply_insert(&self, row: RowId, layout: u8, ts: Lsn, bytes: &[u8]) -> Result<(), ApplyError>;
    fn apply_update_whole(
        &self,
        row: RowId,
        layout: u8,
        base_ts: Lsn,
        ts: Lsn,
        bytes: &[u8],
    ) -> Result<(), ApplyError>;
    /// `log::patch::apply` makes the new row of the old one.
    fn apply_patch(
        &self,
        row: RowId,
        layout: u8,
        base_ts: Lsn,
        ts: Lsn,
        patch: &[u8],
    ) -> Result<(), ApplyError>;
    fn apply_delete(&self, row: RowId, base_ts: Lsn, ts: Lsn) -> Result<(), ApplyError>;
}

/// A transaction between PREPARE and its decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PreparedTransaction {
    pub gid: Vec<u8>,
    /// What its owner logged to restore the locks.
    pub state: Vec<u8>,
    /// In order; `log::Operation::decode` reads each.
    pub operations: Vec<Vec<u8>>,
    /// It also has operations for subscribers.
    pub tells: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Bytes of log.
    ReadLog,
    /// Bytes of images.
    LoadImages,
    /// Bytes of log.
    Replay,
    /// Entries of indexes.
    BuildIndexes,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    pub phase: Phase,
    pub done: u64,
    pub total: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecoveryOptions {
    /// 1 replays on the calling thread: the simulator.
    pub threads: usize,
    /// The log counts up to here; `None`: to its end.
    pub upto: Option<Lsn>,
}

/// What was found, and how to go on.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// For `Log::open`; the term is already the next one.
    pub position: LogPosition,
    /// Everything committed: the first snapshots read here.
    pub end: Lsn,
    /// There is log behind `end`, which was not asked for.
    pub cut_short: bool,
    /// Of the last frame that counts; 0: there is none.
    pub last_term: u32,
    /// Transactions of that term that have sent fragments and are not over: number and first fragment.
    pub open: Vec<(u64, Lsn)>,
    pub stats: RecoveryStats,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RecoveryStats {
    pub threads: usize,
    pub image_bytes: u64,
    pub image_rows: u64,
    pub transactions: u64,
    pub operations: u64,
    /// Already in an image, or of a dropped table.
    pub operations_skipped: u64,
    pub log_bytes: u64,
    pub prepared: u64,
    pub index_entries: u64,
    /// How long each phase took.
    pub read_log_ns: u64,
    pub load_images_ns: u64,
    pub replay_ns: u64,
    pub build_indexes_ns: u64,
}

impl RecoveryStats {
    pub fn total_ns(&self) -> u64 {
        self.read_log_ns + self.load_images_ns + self.replay_ns + self.build_indexes_ns
    }
}

/// Reads the manifest, or makes that of a new database. `segment_bytes` is used for a new one only.
pub fn open_manifest(env: &Env, segment_bytes: u64) -> Result<Manifest, RecoveryError> {
    if let Some(manifest) = Manifest::read(&*env.disk)? {
        return Ok(manifest);
    }
    let io = |what: &str| {
        let what = what.to_string();
        move |error| RecoveryError::Io { what, error }
    };
    env.disk
        .create_dir_all(LOG_DIRECTORY)
        .map_err(io("directory log"))?;
    let names = env.disk.list(LOG_DIRECTORY).map_err(io("directory log"))?;
    if names.iter().any(|name| parse_segment_name(name).is_some()) {
        return Err(RecoveryError::ManifestMissing);
    }
    let system_id = mote_common::prng::Prng::fork(env.seed, env.clock.wall_us() as u64).next_u64();
    let manifest = Manifest::new(system_id, segment_bytes);
    manifest.write(&*env.disk).map_err(io("file MANIFEST"))?;
    Ok(manifest)
}

/// Fills `target`. On an error the target is in pieces and must be dropped.
pub fn recover(
    env: &Env,
    manifest: &Manifest,
    target: &dyn Target,
    options: RecoveryOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Recovered, RecoveryError> {
    let mut stopwatch = Stopwatch::start(env);
    let files = open_log(env, manifest)?;
    let upto = options.upto.unwrap_or(Lsn(u64::MAX));
    let scan = scan::scan(&files, manifest, upto, progress)?;
    let mut stats = RecoveryStats {
        threads: options.threads.max(1),
        log_bytes: scan.end.0 - manifest.log_start.0,
        ..RecoveryStats::default()
    };
    replay::catalog(env, manifest, &scan, target, &mut stats)?;
    target
        .catalog_recovered(&manifest.counters)
        .map_err(RecoveryError::Catalog)?;
    stats.read_log_ns = stopwatch.lap();
    let data = |table| table != CATALOG_TABLE;
    images::load(env, manifest, target, data, stats.threads, &mut stats, progress)?;
    stats.load_images_ns = stopwatch.lap();
    replay::tables(manifest, &files, &scan, target, &mut stats, progress)?;
    for &state in manifest.sequences.iter().chain(&scan.sequences) {
        target.restore_sequence(state);
    }
    stats.replay_ns = stopwatch.lap();
    let phase = Phase::BuildIndexes;
    target
        .build_indexes(stats.threads, &mut |done, total| {
            stats.index_entries = done;
            progress(Progress { phase, done, total })
        })
        .map_err(RecoveryError::Indexes)?;
    stats.build_indexes_ns = stopwatch.lap();
    let position = LogPosition {
        system_id: manifest.system_id,
        term: scan.term.max(manifest.term) + 1,
        log_start: manifest.log_start,
        end: scan.end,
        pins: scan.pins(),
    };
    Ok(Recovered {
        position,
        end: scan.end,
        cut_short: scan.cut_short,
        last_term: scan.term,
        open: scan.open.into_iter().collect(),
        stats,
    })
}

/// How long things take.
struct Stopwatch<'a> {
    env: &'a Env,
    since_ns: u64,
}

impl Stopwatch<'_> {
    fn start(env: &Env) -> Stopwatch<'_> {
        Stopwatch {
            env,
            since_ns: env.clock.monotonic_ns(),
        }
    }

    /// Since the last call.
    fn lap(&mut self) -> u64 {
        let now = self.env.clock.monotonic_ns();
        now - std::mem::replace(&mut self.since_ns, now)
    }
}

fn open_log(env: &Env, manifest: &Manifest) -> Result<LogFiles, RecoveryError> {
    env.disk
        .create_dir_all(LOG_DIRECTORY)
        .map_err(|error| RecoveryError::Io {
            what: "directory log".into(),
            error,
        })?;
    Ok(LogFiles::open(
        &*env.disk,
        manifest.system_id,
        manifest.segment_bytes,
    )?)
}
