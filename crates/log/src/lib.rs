//! The redo log: the one order of all commits, and the only thing a commit waits for.
//!
//! Read in this order:
//!  1. `record`: operations and payloads; with `varint` and `patch`; `told`: what they tell subscribers beside the rows.
//!  2. `frame`: the unit that is checksummed and positioned.
//!  3. `buffer`: the ring and the protocol of its writers; `horizon`: what is told to whom.
//!  4. `segment`, `flush`, `gather`: files, how the ring gets there, and when; `pins`: which old log recovery still needs; `retention`:
//!     who else does; `room`: space that is set aside ahead; `unavailable`: why the log takes nothing; `open`: how writing begins.
//!  5. `reader`: frames back from files, torn tail or damage; `stream`: frames out of bytes that pass by.
//!  6. `tap`, `range`: the log's bytes for other nodes, as they are flushed and out of files; `scan`, `intake`: the log of
//!     a node that takes them; `following`: what its readers and checkpoints see of that; `cut`: how such a log loses what
//!     its leader does not have; `leading`: how it becomes this node's own.
//!
//! This file has the handle that everybody shares, [`Log`]; `writer` that of whoever commits, [`LogWriter`].
//!
//! Source: a position is reserved by one fetch_add and frames are copied side by side, as in Aether (Johnson et al., VLDB 2010)
//! and ERMIA (Kim et al., SIGMOD 2016), where a commit's timestamp is its position in the log as well. Other than there a writer
//! is admitted before it reserves, so that reserving cannot fail; and one that is slow is found by the position that it has
//! published. PostgreSQL (xlog.c) shares eight insertion locks instead.
//!
//! Promises: what lies below `stable` is on disk, on the quorum's too where there is one, and will be found by the reader;
//! positions are never used twice.
//! Leaves out: what commits mean (`mote_engine::txn`), what is replayed where (`mote_engine::recovery`), from where images still
//! need the log (`mote_engine::checkpoint`).

use mote_common::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};
use std::sync::Arc;

use mote_common::Lsn;
use mote_common::env::Clock;
use mote_common::sync::{Mutex, RwLock};

mod buffer;
mod cut;
mod flush;
mod following;
pub mod frame;
mod gather;
mod horizon;
pub mod intake;
mod leading;
mod open;
pub mod patch;
mod pins;
pub mod range;
pub mod reader;
pub mod record;
mod retention;
mod room;
pub mod scan;
pub mod segment;
pub mod stream;
mod tap;
pub mod told;
mod unavailable;
mod writer;
#[cfg(test)]
mod tests;
pub mod varint;

pub use cut::cut_log;
pub use flush::{FlushOutcome, FlushedTo, LogThreads};
pub use frame::FrameKind;
pub use gather::Company;
pub use horizon::{Agreed, Awaited, HorizonListener, Horizons, LEVELS, Level, Moved};
pub use open::{FIRST_TERM, LogPosition};
pub use pins::{Pin, PinOwner};
pub use record::{Mark, Operation, RedoBuffer, SequenceState, TooManyRollbacks};
pub use retention::LogHold;
pub use room::SetAside;
pub use scan::TermMark;
pub use tap::LogTap;
pub use unavailable::LogUnavailable;
pub use writer::LowerFrames;
pub use writer::{Admission, LogWriter};

use buffer::{Buffer, Shortage};
use flush::{Bell, Flusher};
use frame::{FrameHeader, frame_bytes};
use pins::Pins;
use retention::Retention;
use segment::Segments;

/// Writers that can exist at once, unless configured otherwise.
pub const LOG_WRITERS_MAX: usize = 128;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogConfig {
    /// Log bytes in one file. Fixed when the database is created.
    pub segment_bytes: u64,
    /// Memory between writers and flusher.
    pub ring_bytes: u64,
    /// Segments kept prepared beyond the one being written.
    pub segments_ahead: u64,
    pub writers_max: usize,
    /// Log that is kept because of one open transaction. One that needs more can only roll back.
    pub kept_bytes_max: u64,
    /// Log beyond what the quorum has, where commits wait for one: no further segment is prepared above that.
    pub unagreed_bytes_max: u64,
}

impl Default for LogConfig {
    fn default() -> LogConfig {
        LogConfig {
            segment_bytes: 64 << 20,
            ring_bytes: 16 << 20,
            segments_ahead: 1,
            writers_max: LOG_WRITERS_MAX,
            kept_bytes_max: 16 << 30,
            unagreed_bytes_max: 1 << 30,
        }
    }
}

/// Why a frame cannot be appended now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogError {
    /// Try again when `stable` has reached `until` (or, if it has, when the listeners are called next).
    RingFull { until: Lsn },
    /// No space for further segments: SQLSTATE 53100. Goes away when there is space again.
    DiskFull,
    /// No file descriptor for further segments: SQLSTATE 53000. Goes away when there is one again.
    NoDescriptors,
    /// A write or a sync failed earlier, or the log was closed.
    Stopped,
    /// The payload exceeds `PAYLOAD_BYTES_MAX`.
    TooLarge,
    /// The log is another node's: SQLSTATE 25006.
    Following,
    /// The log is not kept for this transaction any more: its first frame lies `kept_bytes` behind the tail.
    /// SQLSTATE 53400.
    KeepsTooMuch { kept_bytes: u64, limit_bytes: u64 },
}

/// Called once, with the reason, when the log must not go on. The default ends the process.
pub type FailStop = Arc<dyn Fn(&str) + Send + Sync>;

/// Reports the reason and ends the process: after a failed write nobody knows what the disk holds.
pub fn abort_process() -> FailStop {
    Arc::new(|reason| {
        eprintln!("mote: {reason}");
        eprintln!(
            "mote: stopping, because the state of the disk is unknown; start again to recover from the log"
        );
        std::process::abort();
    })
}

/// A handle to the log; clones are the same log.
#[derive(Clone)]
pub struct Log {
    inner: Arc<Inner>,
}

struct Inner {
    config: LogConfig,
    clock: Arc<dyn Clock>,
    /// That of the frames written here; of another node's log the last one that was replayed. Relaxed: whoever writes
    /// begins to after it was set.
    term: AtomicU32,
    system_id: u64,
    buffer: Buffer,
    segments: Segments,
    stable: AtomicU64,
    /// Durable here; and on the quorum, `u64::MAX` without one. `horizon` makes `stable` of the two.
    local: AtomicU64,
    agreed: AtomicU64,
    /// What the quorum has received, and shows to its readers; as `agreed`.
    received: AtomicU64,
    applied: AtomicU64,
    /// Highest timestamp acknowledged at a level weaker than stable.
    weakly_acked: AtomicU64,
    /// A session has waited for what others have received or applied.
    eager: AtomicBool,
    listeners: RwLock<Vec<Arc<dyn HorizonListener>>>,
    pins: Pins,
    retention: Arc<Retention>,
    fragmented_transactions: AtomicU64,
    flusher: Mutex<Flusher>,
    flush_bell: Bell,
    prepare_bell: Bell,
    quit: AtomicBool,
    stopped: AtomicBool,
    fail_stop: FailStop,
    began: Mutex<TermMark>,
    /// The log is another node's: nothing is written to it here (`following`). Ends when it comes to lead (`leading`).
    following: AtomicBool,
    /// Where `following`: files below are not needed any more.
    released: AtomicU64,
    /// When the last commit that was replayed was made there; 0: none was.
    replayed_us: AtomicU64,
    /// Read once per flush, by the flusher.
    tap: RwLock<Option<Arc<dyn LogTap>>>,
}

impl Log {
    /// Where the next frame will start: at least every commit timestamp so far.
    pub fn tail(&self) -> Lsn {
        Lsn(self.inner.buffer.tail())
    }

    /// Every frame below is complete in memory and its transaction decided.
    pub fn filled(&self) -> Lsn {
        Lsn(self.inner.buffer.filled())
    }

    /// Every frame below is on disk, and on the quorum's where there is one.
    pub fn stable(&self) -> Lsn {
        self.inner.stable()
    }

    /// Everything acknowledged to anybody is at or below this.
    pub fn acked(&self) -> Lsn {
        self.inner.acked()
    }

    pub fn horizons(&self) -> Horizons {
        self.inner.horizons()
    }

    /// A commit at `ts` was acknowledged before it was stable.
    pub fn raise_acked(&self, ts: Lsn) {
        // Release pairs with the Acquire in `acked`: who reads at this timestamp sees what its reply told.
        self.inner.weakly_acked.fetch_max(ts.0, AcqRel);
    }

    pub fn on_horizon(&self, listener: Arc<dyn HorizonListener>) {
        self.inner.listeners.write().push(listener);
    }

    /// The listener wants no more news; it is not called when this returns.
    pub fn forget_listener(&self, listener: &Arc<dyn HorizonListener>) {
        self.inner
            .listeners
            .write()
            .retain(|other| !Arc::ptr_eq(other, listener));
    }

    /// Wakes the flusher if it sleeps and there is something to flush. Call after appending, before waiting.
    pub fn request_flush(&self) {
        if self.inner.is_following() {
            return;
        }
        // A worker asks once a turn, whether it committed or not: an idle log must not cost it a system call. What the
        // caller itself appended is seen by its own load of the tail.
        if self.inner.buffer.tail() != self.inner.buffer.flushed() {
            self.inner.flush_bell.ring();
        }
    }

    /// Flushes everything appended so far, once.
    pub fn flush_step(&self) -> FlushOutcome {
        self.inner.flush_step()
    }

    /// For a quiet log: one PAD that vouches for the last flush.
    pub fn seal_step(&self) -> FlushOutcome {
        self.inner.seal_step()
    }

    /// Prepares one segment if it is time; answers whether it did.
    pub fn prepare_step(&self) -> bool {
        self.inner.prepare_step()
    }

    /// Flushes until `lsn` is stable, as far as that is this node's to do.
    pub fn flush_to(&self, lsn: Lsn) -> FlushedTo {
        while self.durable() < lsn {
            match self.flush_step() {
                FlushOutcome::Flushed { .. } => {}
                // Idle: the quorum lacks it, or `lsn` lies above the tail, where nothing was promised.
                FlushOutcome::Idle if self.durable() < lsn => return FlushedTo::NotAgreed,
                FlushOutcome::Idle => {}
                FlushOutcome::Stopped => return FlushedTo::Stopped,
            }
        }
        FlushedTo::Stable
    }

    pub fn flush_and_seal(&self) {
        if self.flush_to(self.tail()) == FlushedTo::Stable {
            self.seal_step();
        }
    }

    pub fn term(&self) -> u32 {
        self.inner.term()
    }

    pub fn system_id(&self) -> u64 {
        self.inner.system_id
    }

    /// Where this log's term begins.
    pub fn began(&self) -> TermMark {
        *self.inner.began.lock()
    }

    /// The quorum has everything below: for a log that was opened to wait for it.
    pub fn raise_agreed(&self, lsn: Lsn) {
        self.inner.raise_agreed(lsn);
    }

    /// What enough others have: commits wait for it at their level. `None`: they wait for nobody else.
    pub fn set_agreed(&self, agreed: Option<Agreed>) {
        self.inner.set_agreed(agreed);
    }

    /// A session waits for what others have received or applied, so they are to tell of it at once for a while.
    pub fn wait_eagerly(&self) {
        // Relaxed, both: a hint, which nothing is ordered by. Looked at first: all sessions share the line.
        if !self.inner.eager.load(Relaxed) {
            self.inner.eager.store(true, Relaxed);
        }
    }

    /// Whether a session has asked so since this was asked last.
    pub fn take_eager(&self) -> bool {
        self.inner.eager.load(Relaxed) && self.inner.eager.swap(false, Relaxed)
    }

    /// Commits at `on` wait for others.
    pub fn has_quorum(&self) -> bool {
        self.inner.has_quorum()
    }

    /// How far the log is at this level. A rule for followers that begins can make it fall, from `RemoteWrite` up but for
    /// `On`: who waits then waits for the rule.
    pub fn reached(&self, level: Level) -> Lsn {
        self.inner.reached(level)
    }

    /// From the next flush on, `tap` gets what is flushed before it is written here; `None` ends that.
    pub fn set_tap(&self, tap: Option<Arc<dyn LogTap>>) {
        *self.inner.tap.write() = tap;
    }

    /// Everything below is written and synced here, whatever others have.
    pub fn flushed(&self) -> Lsn {
        Lsn(self.inner.buffer.flushed())
    }

    pub fn is_stopped(&self) -> bool {
        self.inner.is_stopped()
    }

    /// From where the log must be kept if the images on disk need it from `images`. Open transactions for which more
    /// than the limit would have to be kept are given up.
    pub fn keep_from(&self, images: Lsn) -> Lsn {
        self.inner.pins.keep_from(images, self.inner.oldest_kept())
    }

    /// From where the log must be read to get every transaction whole that ends above `end`, which is stable.
    pub fn read_from(&self, end: Lsn) -> Lsn {
        self.inner.pins.open_from(end).unwrap_or(end).min(end)
    }

    /// Keeps the files from `lsn` on, although recovery may not need them, as long as the hold lives. Files below the
    /// last `release_below` may be gone already.
    pub fn hold_from(&self, lsn: Lsn) -> LogHold {
        LogHold::new(&self.inner.retention, lsn)
    }

    /// The lowest of `lsn` and all holds: nobody needs the log below.
    pub fn needed_from(&self, lsn: Lsn) -> Lsn {
        self.inner.retention.lowest(lsn)
    }

    /// Where the oldest file of this node's own log begins; of another node's log the files are the intake's.
    pub fn oldest(&self) -> Lsn {
        Lsn(self.inner.segments.oldest().unwrap_or(0))
    }

    /// Log bytes in each file.
    pub fn segment_bytes(&self) -> u64 {
        self.inner.config.segment_bytes
    }

    /// From where an undecided prepared transaction keeps the log.
    pub fn kept_by_prepared(&self, gid: &[u8]) -> Option<Lsn> {
        self.inner.pins.prepared(gid)
    }

    /// A prepared transaction was written again from `first` on, and that is stable.
    pub fn prepared_moved(&self, gid: &[u8], first: Lsn) {
        debug_assert!(first <= self.stable());
        self.inner.pins.moved(gid, first);
    }

    /// Frees files below `lsn`, unless somebody holds them; the manifest on disk no longer needs them.
    pub fn release_below(&self, lsn: Lsn) -> std::io::Result<usize> {
        let lowest = self.inner.retention.lowest(lsn);
        if self.inner.is_following() {
            self.inner.note_released(lowest);
            return Ok(0);
        }
        let released = self.inner.segments.release_below(lowest.0)?;
        self.inner.prepare_bell.ring();
        Ok(released)
    }

    /// Bytes of log files on disk.
    pub fn disk_bytes(&self) -> u64 {
        self.inner.segments.live_bytes()
    }

    fn next_fragmented_transaction(&self) -> u64 {
        self.inner.fragmented_transactions.fetch_add(1, Relaxed) + 1
    }
}

impl Inner {
    fn term(&self) -> u32 {
        self.term.load(Relaxed)
    }

    #[inline]
    fn is_following(&self) -> bool {
        // Acquire pairs with the Release in `Log::lead`: the term, and where the log goes on, are known.
        self.following.load(Acquire)
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Acquire)
    }

    fn stop_for(&self, reason: &str) {
        if !self.stopped.swap(true, AcqRel) {
            (self.fail_stop)(reason);
        }
    }

    /// Below this the log is not kept because of an open transaction.
    fn oldest_kept(&self) -> Lsn {
        Lsn(self.buffer.tail().saturating_sub(self.config.kept_bytes_max))
    }

    fn keeps_too_much(&self, first: Lsn) -> LogError {
        LogError::KeepsTooMuch {
            kept_bytes: self.buffer.tail().saturating_sub(first.0),
            limit_bytes: self.config.kept_bytes_max,
        }
    }

    /// Everything but the positions.
    fn header(&self, kind: FrameKind, payload_bytes: usize, payload_crc: u32) -> FrameHeader {
        FrameHeader {
            kind,
            tells: false,
            payload_bytes: payload_bytes as u32,
            lsn: Lsn::ZERO,
            durable: Lsn::ZERO,
            wall_us: self.clock.wall_us(),
            term: self.term(),
            payload_crc,
        }
    }
}
