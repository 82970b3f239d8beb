//! The archive: a second place for the log, from which any later moment can be restored.
//!
//! A file `<system id>/<first LSN>.log` of the archive is a whole segment file; `<first LSN>.partial` is the one being
//! written, which grows as the log does. No block of the log is written twice, so a partial file is extended and never
//! written over. A segment is copied, synced and renamed before the log may recycle it.
//!
//! Where the archive fails the log is kept: it grows until its disk is full, and then writers get 53100; readers go on.
//! A failure is told on standard error and in pg_stat_archiver, and tried again. Reads only what is below `stable`.

use mote_common::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use mote_common::Lsn;
use mote_common::env::{Disk, Env, File};
use mote_common::sync::{Condvar, Mutex};

use super::CHUNK_BYTES;
use super::archived::ArchivedLog;
use mote_log::frame::{FRAME_ALIGNMENT, FRAME_HEADER_BYTES, FrameHeader};
use mote_log::segment::{
    LOG_DIRECTORY, SEGMENT_HEADER_BYTES, SegmentHeader, parse_segment_name, segment_path,
};
use mote_log::{Log, LogHold};

/// How often the archiver looks for complete segments.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// After the first failure; doubled with each further one.
const RETRY_FIRST: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(60);
/// A server that stops waits so long for an archive that takes nothing. The next start goes on from there.
const STOP_PATIENCE: Duration = Duration::from_secs(20);

/// Where the archive is.
#[derive(Clone)]
pub struct ArchiveConfig {
    pub disk: Arc<dyn Disk>,
    /// For messages.
    pub name: String,
    /// A segment that is not full goes to the archive after so long; zero: only when it is full or somebody asks.
    pub timeout: Duration,
}

impl fmt::Debug for ArchiveConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArchiveConfig")
            .field("name", &self.name)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// pg_stat_archiver. Times are microseconds since 1970 UTC.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ArchiveReport {
    pub archived_count: u64,
    pub last_archived: Option<(String, i64)>,
    pub failed_count: u64,
    pub last_failed: Option<(String, i64)>,
    /// What the last attempt met, if it failed.
    pub error: Option<String>,
    /// Everything below is in the archive.
    pub archived_to: Lsn,
}

/// The directory of one database in an archive.
pub fn archive_directory(system_id: u64) -> String {
    format!("{system_id:016x}")
}

pub(super) fn archived_path(system_id: u64, start: u64, complete: bool) -> String {
    let kind = if complete { "log" } else { "partial" };
    format!("{}/{start:016x}.{kind}", archive_directory(system_id))
}

/// From where the log is not in the archive yet: there archiving begins, and files from there on must be kept although
/// recovery needs only those from `log_start` on. Warns of a gap.
pub(crate) fn archive_start(
    data: &dyn Disk,
    config: &ArchiveConfig,
    system_id: u64,
    segment_bytes: u64,
    log_start: Lsn,
) -> io::Result<Lsn> {
    let directory = archive_directory(system_id);
    config.disk.create_dir_all(&directory)?;
    config.disk.sync_dir("")?;
    let names = config.disk.list(&directory)?;
    let archived: BTreeSet<u64> = names.iter().filter_map(|name| parse_segment_name(name)).collect();
    let here: BTreeSet<u64> = data
        .list(LOG_DIRECTORY)?
        .iter()
        .filter_map(|name| parse_segment_name(name))
        .collect();
    let needed = log_start.0 / segment_bytes * segment_bytes;
    let mut start = needed;
    // What was freed before a crash may be half there again: only an unbroken run down from the log's start is log.
    while let Some(before) = start.checked_sub(segment_bytes)
        && here.contains(&before)
        && !archived.contains(&before)
    {
        start = before;
    }
    while archived.contains(&start) {
        start += segment_bytes;
    }
    // A server that was promoted, or a copy of one, may find whole segments that another has archived, of which it has its own: these
    // are not passed over. Of those below what recovery needs, files may be half overwritten.
    while let Some(last) = start.checked_sub(segment_bytes)
        && last >= needed
        && (here.last().is_none_or(|newest| last > *newest)
            || is_anothers(data, &*config.disk, system_id, segment_bytes, last)?)
    {
        start = last;
    }
    let reaches = archived
        .range(..start)
        .next_back()
        .map(|last| last + segment_bytes);
    if let Some(end) = reaches.filter(|&end| end < start) {
        eprintln!(
            "mote: warning: the archive {} has a gap from {} to {}: the server ran without it. Take a new base backup; \
             those before the gap cannot be restored beyond it",
            config.name,
            Lsn(end),
            Lsn(start)
        );
    }
    Ok(Lsn(start))
}

/// Whether the archive's whole segment is of another history than the one here.
fn is_anothers(
    data: &dyn Disk,
    archive: &dyn Disk,
    system_id: u64,
    segment_bytes: u64,
    start: u64,
) -> io::Result<bool> {
    let theirs = archive.open(&archived_path(system_id, start, true))?;
    let ours = data.open(&segment_path(start))?;
    // Its end is enough: behind the place where two histories part no frame is the same, if only for its term.
    let from = SEGMENT_HEADER_BYTES + segment_bytes.saturating_sub(CHUNK_BYTES as u64);
    holds_other_history(&*theirs, &*ours, start, from)
}

/// The segment being copied.
struct Open {
    source: Arc<dyn File>,
    target: Arc<dyn File>,
    /// In the archive, synced.
    copied: u64,
}

struct State {
    /// First position of the segment in work.
    start: u64,
    open: Option<Open>,
    last_copy_ns: u64,
    failures_in_a_row: u32,
}

pub(crate) struct Archiver {
    env: Env,
    config: ArchiveConfig,
    log: Log,
    hold: LogHold,
    /// Held while files are read and written, which may take as long as the archive's disk likes.
    state: Mutex<State>,
    /// What sessions ask for: never locked while a file is touched.
    report: Mutex<ArchiveReport>,
    quit: AtomicBool,
    /// Pieces that the archive has taken: whether it answers. Relaxed: a count.
    pieces: AtomicU64,
    /// A server that stops has waited in vain, and its thread may hang in a call for ever.
    given_up: AtomicBool,
    /// Somebody wants what is stable to be archived now.
    asked: Mutex<bool>,
    wake: Condvar,
}

impl Archiver {
    /// `start` is the answer of `archive_start`.
    pub fn new(env: &Env, config: ArchiveConfig, log: &Log, start: Lsn) -> Archiver {
        Archiver {
            env: env.clone(),
            config,
            log: log.clone(),
            hold: log.hold_from(start),
            state: Mutex::new(State {
                start: start.0,
                open: None,
                last_copy_ns: env.clock.monotonic_ns(),
                failures_in_a_row: 0,
            }),
            report: Mutex::new(ArchiveReport {
                archived_to: start,
                ..ArchiveReport::default()
            }),
            quit: AtomicBool::new(false),
            pieces: AtomicU64::new(0),
            given_up: AtomicBool::new(false),
            asked: Mutex::new(false),
            wake: Condvar::new(),
        }
    }

    /// What it has copied, to be read.
    pub fn archived_log(&self) -> ArchivedLog {
        let system_id = self.log.system_id();
        ArchivedLog::new(
            self.config.disk.clone(),
            self.config.name.clone(),
            archive_directory(system_id),
            system_id,
            self.log.segment_bytes(),
        )
    }

    pub fn report(&self) -> ArchiveReport {
        self.report.lock().clone()
    }

    /// What is stable now goes to the archive soon, also from a segment that is not full.
    pub fn request(&self) {
        *self.asked.lock() = true;
        self.wake.notify_one();
    }

    /// Copies what is due; with `all` everything that is stable. Answers how long to wait after a failure.
    pub fn step(&self, all: bool) -> Result<(), Duration> {
        let mut state = self.state.lock();
        match self.copy_due(&mut state, all) {
            Ok(()) => {
                if state.failures_in_a_row > 0 {
                    eprintln!("mote: the archive {} takes log again", self.config.name);
                }
                state.failures_in_a_row = 0;
                self.report.lock().error = None;
                Ok(())
            }
            Err(error) => Err(self.note_failure(&mut state, &error)),
        }
    }

    fn note_failure(&self, state: &mut State, error: &io::Error) -> Duration {
        // What the file holds after a failed write or sync is unknown: it is compared again.
        state.open = None;
        let name = format!("{:016x}", state.start);
        eprintln!(
            "mote: warning: log segment {name} could not be archived to {}: {error}; the log is kept and grows until this \
             is mended",
            self.config.name
        );
        let mut report = self.report.lock();
        report.failed_count += 1;
        report.last_failed = Some((name, self.env.clock.wall_us()));
        report.error = Some(error.to_string());
        drop(report);
        let pause = RETRY_FIRST.saturating_mul(1 << state.failures_in_a_row.min(6));
        state.failures_in_a_row += 1;
        pause.min(RETRY_MAX)
    }

    fn copy_due(&self, state: &mut State, all: bool) -> io::Result<()> {
        let size = self.log.segment_bytes();
        let stable = self.log.stable().0;
        while state.start + size <= stable {
            self.copy_to(state, state.start + size)?;
            self.complete(state)?;
        }
        let waited = self.env.clock.monotonic_ns().saturating_sub(state.last_copy_ns);
        let due = !self.config.timeout.is_zero() && waited >= self.config.timeout.as_nanos() as u64;
        // A copy ends where frames end, so that it can be read to its end.
        if (all || due) && stable > self.report.lock().archived_to.0 {
            self.copy_to(state, stable)?;
            self.note_success(state, format!("{:016x}.partial", state.start));
        }
        Ok(())
    }

    fn note_success(&self, state: &mut State, name: String) {
        let mut report = self.report.lock();
        report.archived_count += 1;
        report.last_archived = Some((name, self.env.clock.wall_us()));
        drop(report);
        state.last_copy_ns = self.env.clock.monotonic_ns();
    }

    fn copy_to(&self, state: &mut State, end: u64) -> io::Result<()> {
        let start = state.start;
        let open = match &mut state.open {
            Some(open) => open,
            None => state.open.insert(self.open(start)?),
        };
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut at = open.copied;
        while at < end {
            let part = (end - at).min(CHUNK_BYTES as u64) as usize;
            let offset = SEGMENT_HEADER_BYTES + at - start;
            if open.source.read_at(&mut chunk[..part], offset)? != part {
                return Err(io::Error::other("the log's own file ends early"));
            }
            open.target.write_all_at(&chunk[..part], offset)?;
            self.pieces.fetch_add(1, Relaxed);
            at += part as u64;
        }
        open.target.sync_data()?;
        open.copied = end;
        self.report.lock().archived_to = Lsn(end.max(start));
        Ok(())
    }

    /// Opens the segment, and its partial file, which must be a piece of it.
    fn open(&self, start: u64) -> io::Result<Open> {
        let system_id = self.log.system_id();
        let whole = archived_path(system_id, start, true);
        if self.config.disk.exists(&whole)? {
            return Err(other_history(&whole));
        }
        let source = self.env.disk.open(&segment_path(start))?;
        let path = archived_path(system_id, start, false);
        let header = SegmentHeader {
            system_id,
            start: Lsn(start),
            segment_bytes: self.log.segment_bytes(),
        }
        .encode();
        let target = if self.config.disk.exists(&path)? {
            self.config.disk.open(&path)?
        } else {
            let target = self.config.disk.create(&path)?;
            self.config.disk.sync_dir(&archive_directory(system_id))?;
            target
        };
        target.write_all_at(&header, 0)?;
        if holds_other_history(&*target, &*source, start, SEGMENT_HEADER_BYTES)? {
            return Err(other_history(&path));
        }
        // It is copied anew, since what a crash left of it is unknown.
        Ok(Open {
            source,
            target,
            copied: start,
        })
    }

    fn complete(&self, state: &mut State) -> io::Result<()> {
        let system_id = self.log.system_id();
        let (partial, whole) = (
            archived_path(system_id, state.start, false),
            archived_path(system_id, state.start, true),
        );
        self.config.disk.rename(&partial, &whole)?;
        self.config.disk.sync_dir(&archive_directory(system_id))?;
        state.open = None;
        self.note_success(state, format!("{:016x}.log", state.start));
        state.start += self.log.segment_bytes();
        let mut report = self.report.lock();
        report.archived_to = report.archived_to.max(Lsn(state.start));
        drop(report);
        self.hold.move_to(Lsn(state.start));
        Ok(())
    }

    /// The last of the log, too, where no thread does it. A failure has been told, and the next start goes on from there.
    pub fn finish(&self) {
        if !self.log.is_stopped() && !self.given_up.load(Acquire) {
            let _ = self.step(true);
        }
    }

    fn background_loop(&self) {
        while !self.quit.load(Acquire) {
            let all = std::mem::take(&mut *self.asked.lock());
            let pause = match self.step(all) {
                Ok(()) => LOOK_AGAIN,
                Err(pause) => {
                    // The wish outlives the failure.
                    *self.asked.lock() |= all;
                    self.sleep(pause, true);
                    continue;
                }
            };
            self.sleep(pause, false);
        }
        self.finish();
    }

    /// Sleeps until asked, unless `through`.
    fn sleep(&self, pause: Duration, through: bool) {
        let mut asked = self.asked.lock();
        if (!*asked || through) && !self.quit.load(Acquire) {
            self.wake.wait_for(&mut asked, pause);
        }
    }
}

fn other_history(path: &str) -> io::Error {
    io::Error::other(format!(
        "the archive's file {path} holds another history of this database: does a copy of the data directory write there, or \
         has this server taken another's place? Give each its own archive"
    ))
}

/// Whether `target` has an intact frame where `source` has another or none, at `from` in the files or behind: then its log is
/// somebody else's. What is torn there is none, and is written again.
fn holds_other_history(target: &dyn File, source: &dyn File, start: u64, from: u64) -> io::Result<bool> {
    let end = target.len()?;
    let (mut theirs, mut ours) = (vec![0; CHUNK_BYTES], vec![0; CHUNK_BYTES]);
    let mut at = from;
    while at < end {
        let read = target.read_at(&mut theirs, at)?;
        let known = source.read_at(&mut ours[..read], at)?;
        if read == 0 {
            break;
        }
        if known != read || theirs[..read] != ours[..read] {
            ours[known..read].fill(0);
            let first = start + at - SEGMENT_HEADER_BYTES;
            if differs_in_a_frame(&theirs[..read], &ours[..read], first) {
                return Ok(true);
            }
        }
        at += read as u64;
    }
    Ok(false)
}

fn differs_in_a_frame(theirs: &[u8], ours: &[u8], first_lsn: u64) -> bool {
    let places = (0..theirs.len()).step_by(FRAME_ALIGNMENT as usize);
    places
        .take_while(|at| at + FRAME_HEADER_BYTES <= theirs.len())
        .any(|at| {
            let header = &theirs[at..at + FRAME_HEADER_BYTES];
            let intact = header.first_chunk().is_some_and(
                |bytes| matches!(FrameHeader::decode(bytes), Ok(h) if h.lsn.0 == first_lsn + at as u64),
            );
            intact && header != &ours[at..at + FRAME_HEADER_BYTES]
        })
}

/// The thread of an archiver.
pub(crate) struct ArchiveThread {
    archiver: Arc<Archiver>,
    thread: Option<JoinHandle<()>>,
}

impl ArchiveThread {
    pub fn start(archiver: &Arc<Archiver>) -> io::Result<ArchiveThread> {
        archiver.quit.store(false, Release);
        let worker = archiver.clone();
        let thread = std::thread::Builder::new()
            .name("mote-archiver".into())
            .spawn(move || worker.background_loop())?;
        Ok(ArchiveThread {
            archiver: archiver.clone(),
            thread: Some(thread),
        })
    }
}

impl Drop for ArchiveThread {
    fn drop(&mut self) {
        self.archiver.quit.store(true, Release); // pairs with the Acquire in `background_loop`
        self.archiver.request();
        if let Some(thread) = self.thread.take() {
            self.await_end(thread);
        }
    }
}

impl ArchiveThread {
    /// While the archive takes anything.
    fn await_end(&self, thread: JoinHandle<()>) {
        const LOOK: Duration = Duration::from_millis(5);
        let (archiver, clock) = (&self.archiver, &self.archiver.env.clock);
        let (mut pieces, mut since) = (archiver.pieces.load(Relaxed), clock.monotonic_ns());
        while !thread.is_finished() {
            let now = clock.monotonic_ns();
            let taken = archiver.pieces.load(Relaxed);
            if taken != pieces {
                (pieces, since) = (taken, now);
            }
            if now - since > STOP_PATIENCE.as_nanos() as u64 {
                archiver.given_up.store(true, Release); // pairs with the Acquire in `finish`
                eprintln!(
                    "mote: warning: the archive {} has taken nothing for {} s: the server stops without it. The log from {} on goes \
                     there after the next start",
                    archiver.config.name,
                    STOP_PATIENCE.as_secs(),
                    archiver.report().archived_to
                );
                return;
            }
            std::thread::sleep(LOOK);
        }
        // A panic of the thread was reported by the hook; here we only wait for its end.
        let _ = thread.join();
    }
}
