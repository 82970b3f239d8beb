//! Starting to write: takes over the files that recovery has read, and begins a term.
//!
//! Recovery has found where the log ends. What it read may still stand only in the operating system's cache, so the
//! files are synced first. The new term begins on the next block border - the block of the end is not written again -
//! with a TERM frame that names the end, and nothing else is admitted before that frame is durable.

use mote_common::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::io;
use std::sync::Arc;

use mote_common::Lsn;
use mote_common::env::{Disk, Env};
use mote_common::prng::Prng;
use mote_common::sync::{Mutex, RwLock};

use super::buffer::Buffer;
use super::flush::{Bell, Flusher};
use super::frame::{BLOCK_BYTES, FrameKind};
use super::pins::{Pin, PinOwner, Pins};
use super::reader::{TermStart, cannot};
use super::retention::Retention;
use super::scan::TermMark;
use super::segment::{LOG_DIRECTORY, Segment, Segments, parse_segment_name, segment_path};
use super::{FailStop, FlushOutcome, Inner, Log, LogConfig, LogError};

/// The term of a new database.
pub const FIRST_TERM: u32 = 1;

/// Where and as what the log goes on.
#[derive(Clone, Debug)]
pub struct LogPosition {
    pub system_id: u64,
    /// Higher than that of every frame in the files.
    pub term: u32,
    /// The manifest's, or lower where somebody else needs older log: files below are recycled.
    pub log_start: Lsn,
    /// The end of the last frame that counts.
    pub end: Lsn,
    /// What unfinished and recently finished transactions need of the old log.
    pub pins: Vec<(PinOwner, Pin)>,
}

impl LogPosition {
    /// Of a database that has no log yet. Positions start at one segment, so that none is zero.
    pub fn fresh(system_id: u64, segment_bytes: u64) -> LogPosition {
        let start = Lsn(segment_bytes);
        LogPosition {
            system_id,
            term: FIRST_TERM,
            log_start: start,
            end: start,
            pins: Vec::new(),
        }
    }
}

impl Log {
    /// Opens the log for writing. `config.segment_bytes` is the manifest's.
    pub fn open(env: &Env, config: LogConfig, position: LogPosition, fail_stop: FailStop) -> io::Result<Log> {
        Log::open_agreed(env, config, position, Lsn(u64::MAX), fail_stop)
    }

    /// The same for a node whose commits wait for others: `agreed` is what they are known to have. What lies between that
    /// and the end is not stable before they have the new term's first frame, too.
    pub fn open_agreed(
        env: &Env,
        config: LogConfig,
        position: LogPosition,
        agreed: Lsn,
        fail_stop: FailStop,
    ) -> io::Result<Log> {
        env.disk.create_dir_all(LOG_DIRECTORY)?;
        let (live, free) = adopt_files(&*env.disk, &config, &position)?;
        let segments = Segments::new(
            env.disk.clone(),
            position.system_id,
            config.segment_bytes,
            live,
            free,
        );
        segments
            .sync_all()
            .map_err(|e| cannot("the log files could not be synced", e))?;
        env.disk.sync_dir(LOG_DIRECTORY)?;
        let log = Log::around(env, config, position, segments, agreed, false, fail_stop);
        while log.prepare_step() {}
        log.begin_term()?;
        Ok(log)
    }

    pub(super) fn around(
        env: &Env,
        config: LogConfig,
        position: LogPosition,
        segments: Segments,
        agreed: Lsn,
        following: bool,
        fail_stop: FailStop,
    ) -> Log {
        assert!(config.segment_bytes.is_multiple_of(BLOCK_BYTES) && config.segments_ahead >= 1);
        let start = position.end.0.next_multiple_of(BLOCK_BYTES);
        let prepared = segments
            .prepared_end()
            .unwrap_or(start / config.segment_bytes * config.segment_bytes);
        let buffer = Buffer::new(config.ring_bytes, config.writers_max + 1, start, prepared);
        assert!(
            config.ring_bytes >= buffer.reserve() + (1 << 20),
            "the ring is too small for its writers"
        );
        let slot = buffer.take_slot().expect("a new table has free slots");
        let began = mark_of(env, position.term, position.end);
        Log {
            inner: Arc::new(Inner {
                config,
                clock: env.clock.clone(),
                term: AtomicU32::new(position.term),
                began: Mutex::new(began),
                system_id: position.system_id,
                buffer,
                segments,
                stable: AtomicU64::new(position.end.0.min(agreed.0)),
                local: AtomicU64::new(position.end.0),
                agreed: AtomicU64::new(agreed.0),
                received: AtomicU64::new(agreed.0),
                applied: AtomicU64::new(agreed.0),
                weakly_acked: AtomicU64::new(0),
                eager: AtomicBool::new(false),
                listeners: RwLock::new(Vec::new()),
                pins: Pins::new(position.pins),
                retention: Arc::new(Retention::default()),
                fragmented_transactions: AtomicU64::new(0),
                flusher: Mutex::new(Flusher::new(slot)),
                flush_bell: Bell::new(),
                prepare_bell: Bell::new(),
                quit: AtomicBool::new(false),
                stopped: AtomicBool::new(false),
                fail_stop,
                following: AtomicBool::new(following),
                released: AtomicU64::new(0),
                replayed_us: AtomicU64::new(0),
                tap: RwLock::new(None),
            }),
        }
    }

    /// Appends the term's first frame and flushes it. A segment with room for it is prepared.
    pub(super) fn begin_term(&self) -> io::Result<()> {
        let began = self.began();
        let payload = TermStart {
            previous_end: began.previous_end,
            system_id: self.system_id(),
            nonce: began.nonce,
        }
        .encode();
        let writer = self.writer();
        let admission = writer.admit(payload.len()).map_err(|error| match error {
            LogError::Stopped => io::Error::other("the log could not be prepared for writing"),
            LogError::NoDescriptors => io::Error::from(rustix::io::Errno::MFILE),
            _ => io::Error::new(
                io::ErrorKind::StorageFull,
                "no space for the next log segment; free some and start again",
            ),
        })?;
        writer.append(admission, FrameKind::Term, &payload, |_| {});
        match self.flush_step() {
            FlushOutcome::Flushed { .. } => Ok(()),
            _ => Err(io::Error::other(
                "the first frame of the new term could not be written to the log",
            )),
        }
    }
}

/// Of a term that this node begins behind `end`.
pub(super) fn mark_of(env: &Env, term: u32, end: Lsn) -> TermMark {
    TermMark {
        term,
        start: Lsn(end.0.next_multiple_of(BLOCK_BYTES)),
        previous_end: end,
        nonce: Prng::fork(env.seed, term.into()).next_u64(),
    }
}

/// Sorts the directory's files into segments in use and free ones; removes what a crash left half made.
pub(super) fn adopt_files(
    disk: &dyn Disk,
    config: &LogConfig,
    position: &LogPosition,
) -> io::Result<(Vec<Segment>, Vec<String>)> {
    let (mut live, mut free) = (Vec::<Segment>::new(), Vec::new());
    for name in disk.list(LOG_DIRECTORY)? {
        let path = format!("{LOG_DIRECTORY}/{name}");
        if name.ends_with(".new") {
            disk.remove(&path)?;
        } else if name.ends_with(".free") {
            free.push(path);
        } else if let Some(start) = parse_segment_name(&name) {
            let end = start + config.segment_bytes;
            // Behind a hole nothing can be: the reader has searched it. Such a file was prepared and may go.
            let hole = live
                .last()
                .is_some_and(|last| last.start + config.segment_bytes != start)
                || live.is_empty() && start > position.end.0;
            if end <= position.log_start.0 || hole {
                let freed = format!("{LOG_DIRECTORY}/{start:016x}.free");
                disk.rename(&path, &freed)?;
                free.push(freed);
            } else {
                let file = disk.open(&segment_path(start))?;
                // What a crash left in the cache must be durable; below the end nothing is written any more.
                let written = end > position.end.0;
                if !written {
                    file.sync_data()
                        .map_err(|e| cannot("the log files could not be synced", e))?;
                }
                let file = written.then_some(file);
                live.push(Segment { start, file });
            }
        }
    }
    Ok((live, free))
}
