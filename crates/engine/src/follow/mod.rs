//! A node that follows: another node's log, applied beside this node's readers.
//!
//! Read in this order: this file (from where, and how far), `apply` (what frames do).
//!
//! One thread calls [`Replay::advance`] with positions that the quorum has agreed to and that are durable here; nothing
//! above is applied, so that a cut of the log never meets what readers have seen. The bytes come out of the log's files,
//! which are in the cache: whoever takes them from the network (`log::intake`) waits for nobody here, and acknowledges
//! what it has synced however long a commit takes to apply.
//!
//! Source: PostgreSQL's startup process on a standby (xlogrecovery.c, standby.c). Other than there versions are added beside those
//! that readers see, so that replay of rows conflicts with no query.
//!
//! Promises: commits count in the order of the log, each whole; readers see a state that the node which wrote the log had
//! at a border of a flush. Readers never stop replay. Leaves out: sockets (`mote_replication::receiver`), which thread
//! calls, what is above the engine's own tables (told by [`FollowedCatalog`]). Replay is one thread's work; recovery's
//! partitions (`recovery::replay`) replace versions in place, which readers forbid. Tests: `txn/tests/following`.

mod apply;

use std::fmt;
use std::io;
use std::sync::Arc;

use mote_common::Lsn;
use mote_common::env::{Disk, Env};

use crate::checkpoint::Manifest;
use crate::recovery::{ApplyError, Recovered, RecoveryError};
use crate::txn::{EngineCore, PreparedWrite};
use apply::Applier;
use mote_log::frame::BLOCK_BYTES;
use mote_log::range::LogRanges;
use mote_log::scan::{LogScan, scan_log};
use mote_log::stream::{FrameFault, FrameStream};
use mote_log::{FailStop, Log, LogConfig, LogPosition, TermMark};

/// Log read from the files at a time.
const PIECE_BYTES: usize = 256 << 10;

/// What is described in rows of the SQL catalog, above the engine.
pub trait FollowedCatalog: Send + Sync {
    /// A transaction that wrote these rows of the SQL catalog is about to commit. What is answered is called when it has,
    /// with its timestamp; meanwhile nobody takes the old state for the current one.
    fn changes<'a>(&'a self, writes: Vec<PreparedWrite>) -> Result<Option<Published<'a>>, String>;
}

/// Makes a change of the catalog known that has committed.
pub type Published<'a> = Box<dyn FnOnce(Lsn) + 'a>;

/// Why replay cannot go on.
#[derive(Debug)]
pub enum ReplayError {
    Io(io::Error),
    /// The log from here on is not in the files.
    Gone(Lsn),
    /// No frame stands where one should.
    Fault(FrameFault),
    /// A frame does not fit the tables.
    Apply {
        lsn: Lsn,
        error: ApplyError,
    },
    /// There is no memory for a commit now. Nothing of it is in the tables: it may be tried again.
    NoMemory(Lsn),
    /// A frame does not fit the catalog.
    Catalog {
        lsn: Lsn,
        what: String,
    },
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayError::Io(error) => write!(f, "the log could not be read: {error}"),
            ReplayError::Gone(lsn) => write!(f, "the log from {lsn} on is not here any more"),
            ReplayError::Fault(fault) => write!(f, "no frame of the log at {}: {}", fault.lsn, fault.what),
            ReplayError::Apply { lsn, error } => {
                write!(f, "the frame at {lsn} does not fit the tables: {error}")
            }
            ReplayError::NoMemory(lsn) => write!(f, "there is no memory for the commit at {lsn}"),
            ReplayError::Catalog { lsn, what } => {
                write!(f, "the frame at {lsn} does not fit the catalog: {what}")
            }
        }
    }
}

impl std::error::Error for ReplayError {}

/// The followed log as it is in the files, before recovery.
pub(crate) struct FollowedLog {
    scan: LogScan,
    /// What is known to be stable: recovery loads no more.
    pub upto: Lsn,
}

impl FollowedLog {
    pub fn find(env: &Env, manifest: &Manifest) -> Result<FollowedLog, RecoveryError> {
        env.disk
            .create_dir_all(mote_log::segment::LOG_DIRECTORY)
            .map_err(|error| RecoveryError::Io {
                what: "directory log".into(),
                error,
            })?;
        let scan = scan_log(
            &*env.disk,
            manifest.system_id,
            manifest.segment_bytes,
            manifest.log_start,
        )?;
        let upto = scan.durable.max(manifest.stable);
        Ok(FollowedLog { scan, upto })
    }
}

/// Where replay goes on behind recovery.
pub(crate) struct ReplayStart {
    scan: LogScan,
    /// The end of the last frame that recovery loaded, and its term.
    position: Lsn,
    term: Option<u32>,
    open: Vec<(u64, Lsn)>,
    visible: Lsn,
}

impl ReplayStart {
    pub fn new(log: FollowedLog, recovered: &Recovered, manifest: &Manifest) -> ReplayStart {
        // No frame ends between the last one that was loaded and the bound.
        let visible = match recovered.cut_short {
            true => log.upto,
            false => recovered.end,
        };
        ReplayStart {
            position: recovered.end,
            term: (recovered.end > manifest.log_start).then_some(recovered.last_term),
            open: recovered.open.clone(),
            visible,
            scan: log.scan,
        }
    }

    pub fn open_log(&self, env: &Env, config: LogConfig, position: LogPosition, fail_stop: FailStop) -> Log {
        let term = self.term.unwrap_or(0);
        // The last one that has begun, whether its frames are here still or not: a manifest must not forget it.
        let position = LogPosition {
            term: position.term - 1,
            ..position
        };
        let log = Log::open_following(env, config, position, self.visible, fail_stop);
        for &(transaction, first) in &self.open {
            log.keep_fragments(term, transaction, first);
        }
        log
    }

    pub fn begin(self, engine: &Arc<EngineCore>, env: &Env) -> (Replay, LogScan) {
        let term = self.term.unwrap_or(0);
        let open = self.open.into_iter();
        let replay = Replay {
            disk: env.disk.clone(),
            ranges: LogRanges::new(
                env.disk.clone(),
                engine.log.system_id(),
                engine.log.segment_bytes(),
            ),
            frames: FrameStream::resume(self.position, self.term),
            applier: Applier::new(
                engine,
                &env.disk,
                open.map(|(number, first)| ((term, number), first)).collect(),
            ),
            piece: vec![0; PIECE_BYTES],
            broken: None,
        };
        (replay, self.scan)
    }
}

/// How far a node has followed: its log ends at `end`, all of it durable here, and has begun `terms`. Whoever took the log is
/// gone.
pub struct Followed {
    pub replay: Replay,
    pub end: Lsn,
    pub terms: Vec<TermMark>,
}

/// Applies a log that grows. One for each engine that follows.
pub struct Replay {
    disk: Arc<dyn Disk>,
    ranges: LogRanges,
    frames: FrameStream,
    applier: Applier,
    piece: Vec<u8>,
    /// The frame that could not be applied: it may be in the tables in part.
    broken: Option<Lsn>,
}

impl Replay {
    /// Frames up to here count for readers.
    pub fn applied(&self) -> Lsn {
        self.applier.log().stable()
    }

    /// The log was cut above what is applied: files may be others.
    pub fn files_changed(&mut self) {
        let log = self.applier.log();
        self.ranges = LogRanges::new(self.disk.clone(), log.system_id(), log.segment_bytes());
        // What was fed and not used may stand above the cut. Frames below it are read again.
        self.frames = FrameStream::resume(self.frames.position(), self.frames.term());
        self.applier.files_changed();
    }

    /// Applies every frame that ends below `until`, rounded down to a block border, and shows that to readers. The log is
    /// durable here up to there, and stable. `terms` are the terms it has begun.
    pub fn advance(
        &mut self,
        until: Lsn,
        terms: &[TermMark],
        catalog: &dyn FollowedCatalog,
    ) -> Result<(), ReplayError> {
        let until = Lsn(until.0 / BLOCK_BYTES * BLOCK_BYTES);
        if until <= self.applied() {
            return Ok(());
        }
        self.apply_to(until, terms, catalog)?;
        self.applier.log().show(until);
        Ok(())
    }

    /// Where the next frame to be applied begins.
    pub(crate) fn position(&self) -> Lsn {
        self.frames.position()
    }

    /// Applies every frame up to `end`, where the last one ends, and shows none of them: for a node that comes to lead.
    /// What is open there is aborted, since whoever wrote it does not go on.
    pub(crate) fn finish(
        mut self,
        end: Lsn,
        terms: &[TermMark],
        catalog: &dyn FollowedCatalog,
    ) -> Result<(), ReplayError> {
        self.apply_to(end, terms, catalog)?;
        if self.position() < end {
            return Err(ReplayError::Gone(self.position()));
        }
        self.applier.abort_open();
        Ok(())
    }

    /// Applies the frames that end at or below `until`.
    fn apply_to(
        &mut self,
        until: Lsn,
        terms: &[TermMark],
        catalog: &dyn FollowedCatalog,
    ) -> Result<(), ReplayError> {
        let applied = self.apply_pieces(until, terms, catalog);
        self.applier.rest();
        applied
    }

    fn apply_pieces(
        &mut self,
        until: Lsn,
        terms: &[TermMark],
        catalog: &dyn FollowedCatalog,
    ) -> Result<(), ReplayError> {
        loop {
            self.apply_fed(terms, catalog)?;
            let from = self.frames.fed_to();
            if from >= until {
                return Ok(());
            }
            let length = self.piece.len().min((until.0 - from.0) as usize);
            match self.ranges.read(from, &mut self.piece[..length]) {
                Ok(Some(read)) => self.frames.feed(&self.piece[..read]),
                Ok(None) => return Err(ReplayError::Gone(from)),
                Err(error) => return Err(ReplayError::Io(error)),
            }
        }
    }

    fn apply_fed(&mut self, terms: &[TermMark], catalog: &dyn FollowedCatalog) -> Result<(), ReplayError> {
        if let Some(lsn) = self.broken {
            let error = ApplyError::Other("replay has stopped there before".into());
            return Err(ReplayError::Apply { lsn, error });
        }
        loop {
            // Behind a torn end the next term begins on the next border: as `Intake` does.
            let here = self.frames.position();
            if let Some(mark) = terms.iter().find(|mark| mark.previous_end == here) {
                self.frames.skip_to(mark.start);
            }
            let before = (self.frames.position(), self.frames.term());
            let Some(frame) = self.frames.next_frame().map_err(ReplayError::Fault)? else {
                return Ok(());
            };
            let lsn = frame.header.lsn;
            match self.applier.apply(&frame, catalog) {
                Ok(()) => self.applier.note_memory(true),
                Err(ReplayError::NoMemory(lsn)) => {
                    self.applier.note_memory(false);
                    // It is read again.
                    self.frames = FrameStream::resume(before.0, before.1);
                    return Err(ReplayError::NoMemory(lsn));
                }
                Err(error) => {
                    self.broken = Some(lsn);
                    return Err(error);
                }
            }
        }
    }
}
