//! Checkpoints: images of segments on disk, so that the log behind them can go.
//!
//! Read in this order:
//!  1. `image`: the bytes of one segment as of one timestamp.
//!  2. `manifest`: which images are alive, and from where the log is needed.
//!  3. `round`: one walk over the segments that changed.
//!  4. this file: [`Checkpointer`], its thread, and CHECKPOINT.
//!  5. `hold`: the files of one manifest, kept for a base backup.
//!
//! There is no moment at which everything is written: each image has its own short snapshot, not above `stable`, and
//! replaces its predecessor alone. A round begins by reading `stable` (its start) and then looks for segments changed
//! since their image; when all of those have new images, everything committed up to the round's start is in images.
//!
//! Source: fuzzy checkpoints of a main-memory database with a redo log, as SiloR's (Zheng et al., OSDI 2014). Other than there only
//! segments that changed are written, each in a snapshot of its own that is not above `stable`. PostgreSQL (checkpointer.c) writes
//! dirty pages and needs full-page images in its log; here an image never holds a change that the log may lose.
//!
//! Promises: no image holds a commit above `stable`; the manifest on disk and the log from its `log_start` together
//! always give every stable commit. Leaves out: versions and snapshots (the engine core is the [`Source`]).

use mote_common::sync::atomic::{AtomicBool, Ordering::*};
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use mote_common::env::Env;
use mote_common::sync::{Condvar, Mutex};
use mote_common::{Lsn, TableId};

use mote_log::{FlushedTo, Log, SequenceState};

mod hold;
pub mod image;
pub mod manifest;
mod round;
#[cfg(test)]
mod tests;

pub use hold::BackupHold;
pub use image::RowImage;
pub use manifest::{COUNTERS, ImageEntry, Manifest, ManifestError, SegmentKey};

use round::State;

/// What checkpoints read: the tables and numbers of the engine.
pub trait Source: Send + Sync {
    /// At least every table whose creation committed at or below `stable` and whose removal did not commit at all.
    fn tables(&self) -> Vec<Arc<dyn TableSource>>;
    /// A snapshot at `stable` as it is now. Versions visible to it stay until it is dropped.
    fn image_snapshot(&self) -> Box<dyn ImageSnapshot>;
    fn sequences(&self) -> Vec<SequenceState>;
    /// Numbers that must never be handed out again: not below anything in use.
    fn counters(&self) -> [u64; COUNTERS];
}

pub trait ImageSnapshot {
    fn lsn(&self) -> Lsn;
}

/// A table, as images see it.
pub trait TableSource: Send + Sync {
    fn id(&self) -> TableId;
    fn segment_count(&self) -> u32;
    /// Not below the timestamp of any commit that changed the segment, from the moment that commit's frame is filled
    /// (`Lsn::ZERO`: never changed). Too high only costs an image; too low loses data.
    fn segment_last_change(&self, segment: u32) -> Lsn;
    /// Visits every row of the segment visible at `snapshot`.
    fn visit_segment(&self, segment: u32, snapshot: Lsn, visit: &mut dyn FnMut(RowImage<'_>));
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CheckpointConfig {
    /// A round begins when this much log lies behind the last one.
    pub log_bytes: u64,
    /// Or when this much time has passed and something changed.
    pub interval: Duration,
    /// Bytes of images per second that the background writes; CHECKPOINT is not held back.
    pub bytes_per_s: u64,
    /// Threads that write images for CHECKPOINT; the background has one.
    pub threads: usize,
    /// Image files are closed when they reach this.
    pub file_bytes: u64,
    /// Long rounds write a manifest after so many bytes of images, so that log goes meanwhile.
    pub manifest_bytes: u64,
}

impl Default for CheckpointConfig {
    fn default() -> CheckpointConfig {
        CheckpointConfig {
            log_bytes: 1 << 30,
            interval: Duration::from_secs(300),
            bytes_per_s: 100 << 20,
            threads: std::thread::available_parallelism().map_or(1, |count| count.get()),
            file_bytes: 64 << 20,
            manifest_bytes: 1 << 30,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckpointOutcome {
    /// Nothing changed since the last round.
    Idle,
    /// A round began, with so many segments to write.
    Started {
        segments: usize,
    },
    Imaged {
        bytes: u64,
    },
    /// The quorum lacks log that the round's end would tell of: to be tried again.
    Waits,
    /// The round's images count. Log below `log_start` is gone.
    Finished {
        covered: Lsn,
        log_start: Lsn,
    },
    /// The log has stopped.
    Stopped,
}

/// Figures for people. Sums count from the opening of the database.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CheckpointReport {
    pub rounds: u64,
    pub images: u64,
    pub image_bytes: u64,
    /// Failed attempts; each was given up and repeated later.
    pub failures: u64,
    /// Why the last attempt failed, if it did.
    pub last_error: Option<String>,
    /// A round is under way; the figures below are its, or those of the last one.
    pub running: bool,
    pub segments_total: u64,
    pub segments_done: u64,
    pub round_bytes: u64,
    /// Wall clock, microseconds since 1970.
    pub started_us: Option<i64>,
    pub finished_us: Option<i64>,
    /// Bytes of images that count, of all tables.
    pub live_bytes: u64,
    pub covered: Lsn,
    pub log_start: Lsn,
    /// The last step ended because a quorum lacks log that a manifest would tell of.
    pub waits_for_quorum: bool,
}

pub struct Checkpointer {
    env: Env,
    log: Log,
    source: Arc<dyn Source>,
    config: CheckpointConfig,
    state: Mutex<State>,
    /// As of the last step, for whoever must not wait for the disk.
    report: Mutex<CheckpointReport>,
    quit: AtomicBool,
    wake: (Mutex<bool>, Condvar),
}

impl Checkpointer {
    /// `manifest` is the one on disk, which recovery has read.
    pub fn new(
        env: &Env,
        log: &Log,
        source: Arc<dyn Source>,
        manifest: Manifest,
        config: CheckpointConfig,
    ) -> Checkpointer {
        let state = State::new(manifest, env.clock.monotonic_ns());
        Checkpointer {
            env: env.clone(),
            log: log.clone(),
            source,
            config,
            report: Mutex::new(state.report()),
            state: Mutex::new(state),
            quit: AtomicBool::new(false),
            wake: (Mutex::new(false), Condvar::new()),
        }
    }

    /// One piece of work: begins a round, writes one image, or finishes the round. After an error the images since the
    /// last manifest are given up; the next step begins anew.
    pub fn step(&self) -> io::Result<CheckpointOutcome> {
        self.step_with(1)
    }

    fn step_with(&self, threads: usize) -> io::Result<CheckpointOutcome> {
        let mut state = self.state.lock();
        let result = self.advance(&mut state, threads);
        if let Err(error) = &result {
            state.give_up(error);
        }
        let mut report = state.report();
        report.waits_for_quorum = matches!(result, Ok(CheckpointOutcome::Waits));
        *self.report.lock() = report;
        result
    }

    /// CHECKPOINT: a whole round that begins after the call, as fast as the disk takes it.
    pub fn run(&self) -> io::Result<()> {
        self.run_unless(|| false)
    }

    /// The same, unless `given_up`: it can wait for a quorum for ever.
    pub fn run_unless(&self, given_up: impl Fn() -> bool) -> io::Result<()> {
        let over = || given_up() || self.quit.load(Acquire);
        // A round that is under way began before the call: finish it first.
        while self.state.lock().in_round() {
            let outcome = self.step_with(self.config.threads)?;
            if outcome == CheckpointOutcome::Stopped || over() {
                return Err(stopped());
            }
        }
        let tail = self.log.tail();
        while self.await_stable(tail) != FlushedTo::Stable {
            self.report.lock().waits_for_quorum = true;
            if self.log.is_stopped() || over() {
                return Err(stopped());
            }
        }
        loop {
            match self.step_with(self.config.threads)? {
                CheckpointOutcome::Finished { .. } | CheckpointOutcome::Idle => return Ok(()),
                CheckpointOutcome::Stopped => return Err(stopped()),
                _ if over() => return Err(stopped()),
                CheckpointOutcome::Started { .. }
                | CheckpointOutcome::Imaged { .. }
                | CheckpointOutcome::Waits => {}
            }
        }
    }

    /// Flushes up to `lsn`, and waits a while for a quorum to have it. Not for a worker.
    fn await_stable(&self, lsn: Lsn) -> FlushedTo {
        const LOOKS: u32 = 100;
        for _ in 0..LOOKS {
            match self.log.flush_to(lsn) {
                FlushedTo::NotAgreed => std::thread::sleep(Duration::from_millis(1)),
                other => return other,
            }
        }
        FlushedTo::NotAgreed
    }

    pub fn report(&self) -> CheckpointReport {
        self.report.lock().clone()
    }

    /// Whether log or time call for a round.
    fn is_due(&self) -> bool {
        let state = self.state.lock();
        let stable = self.log.stable().0;
        let elapsed_ns = self
            .env
            .clock
            .monotonic_ns()
            .saturating_sub(state.last_round_ns());
        state.in_round()
            || stable.saturating_sub(state.covered().0) >= self.config.log_bytes
            || elapsed_ns >= self.config.interval.as_nanos() as u64
    }

    fn background_loop(&self) {
        while !self.quit.load(Acquire) {
            let pause = if self.is_due() {
                self.background_step()
            } else {
                Duration::from_secs(1)
            };
            self.pause(pause);
        }
    }

    /// Answers how long to pause, so that images take no more than their share of the disk.
    fn background_step(&self) -> Duration {
        match self.step() {
            Ok(CheckpointOutcome::Imaged { bytes }) => {
                Duration::from_nanos(bytes.saturating_mul(1_000_000_000) / self.config.bytes_per_s.max(1))
            }
            Ok(CheckpointOutcome::Idle | CheckpointOutcome::Stopped) => Duration::from_secs(1),
            Ok(CheckpointOutcome::Waits) => Duration::from_millis(100),
            Ok(CheckpointOutcome::Started { .. } | CheckpointOutcome::Finished { .. }) => Duration::ZERO,
            Err(error) => {
                eprintln!("mote: checkpoint given up, will be tried again: {error}");
                Duration::from_secs(10)
            }
        }
    }

    fn pause(&self, duration: Duration) {
        if duration.is_zero() {
            return;
        }
        let (lock, signal) = &self.wake;
        let mut rung = lock.lock();
        if !*rung {
            signal.wait_for(&mut rung, duration);
        }
        *rung = false;
    }
}

fn stopped() -> io::Error {
    io::Error::other("the log has stopped")
}

/// The background thread of a checkpointer.
pub struct CheckpointThread {
    checkpointer: Arc<Checkpointer>,
    thread: Option<JoinHandle<()>>,
}

impl CheckpointThread {
    pub fn start(checkpointer: &Arc<Checkpointer>) -> io::Result<CheckpointThread> {
        checkpointer.quit.store(false, Release);
        let worker = checkpointer.clone();
        let thread = std::thread::Builder::new()
            .name("mote-checkpoint".into())
            .spawn(move || worker.background_loop())?;
        Ok(CheckpointThread {
            checkpointer: checkpointer.clone(),
            thread: Some(thread),
        })
    }
}

impl Drop for CheckpointThread {
    fn drop(&mut self) {
        self.checkpointer.quit.store(true, Release); // pairs with the Acquire in `background_loop`
        *self.checkpointer.wake.0.lock() = true;
        self.checkpointer.wake.1.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported by the hook; here we only wait for its end.
            let _ = thread.join();
        }
    }
}
