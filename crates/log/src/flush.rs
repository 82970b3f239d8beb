//! Flushing: from the ring to the files, and the two threads that drive it.
//!
//! One flush pads the tail to a block border, waits until everything below is filled, shows it to the `tap`, writes it with
//! one `pwrite` (one more at the ring's end and at a segment's), syncs, raises `local` and with it `stable` (`horizon`), tells the
//! listeners. Commits that arrive meanwhile share the next flush; `gather` says when that waits for more of them.
//!
//! A failed write or sync stops the log for good: what the disk holds is unknown, and an fsync that is tried again may
//! answer success about pages the kernel has dropped. Leaves out: the ring's protocol (`buffer`), files (`segment`).

use mote_common::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use mote_common::Lsn;
use mote_common::env::File;
use mote_common::sync::{Condvar, Mutex};

use super::frame::{BLOCK_BYTES, FRAME_HEADER_BYTES, FrameKind, pad_bytes};
use super::gather::{Company, Gathering};
use super::{Inner, Log, Moved};

/// How long an idle flusher waits before it looks for frames nobody asked to flush, and seals.
const IDLE_WAIT: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlushOutcome {
    /// Everything was flushed already.
    Idle,
    Flushed {
        /// Durable here up to this, whatever a quorum has agreed to.
        local: Lsn,
        bytes: u64,
    },
    /// The log has stopped: a write or a sync failed, now or earlier.
    Stopped,
}

/// What has become of a request to make a position stable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum FlushedTo {
    Stable,
    /// Durable here, but the quorum does not have it yet; or above the tail.
    NotAgreed,
    /// The log has stopped: a write or a sync failed, now or earlier.
    Stopped,
}

impl FlushedTo {
    pub fn is_stable(self) -> bool {
        self == FlushedTo::Stable
    }
}

/// Held by whoever flushes: one at a time.
pub(super) struct Flusher {
    /// The writer slot its PADs use.
    slot: usize,
    touched: Vec<Arc<dyn File>>,
    /// The stable horizon that a durable frame is known to name: sealed up to here.
    sealed: u64,
}

impl Flusher {
    pub fn new(slot: usize) -> Flusher {
        Flusher {
            slot,
            touched: Vec::new(),
            sealed: 0,
        }
    }
}

/// Puts a thread to sleep and wakes it without a system call while it is awake.
pub(super) struct Bell {
    sleeping: AtomicBool,
    rung: Mutex<bool>,
    signal: Condvar,
}

impl Bell {
    pub fn new() -> Bell {
        Bell {
            sleeping: AtomicBool::new(false),
            rung: Mutex::new(false),
            signal: Condvar::new(),
        }
    }

    /// Call after the work is there.
    pub fn ring(&self) {
        // SeqCst, with the pair in `sleep_unless`: either we see `sleeping`, or the sleeper's last look sees our work.
        mote_common::sync::atomic::fence(SeqCst);
        if self.sleeping.load(SeqCst) && self.sleeping.swap(false, SeqCst) {
            *self.rung.lock() = true;
            self.signal.notify_one();
        }
    }

    /// Sleeps until rung or `timeout`, unless there is work.
    fn sleep_unless(&self, work: impl Fn() -> bool, timeout: Duration) {
        self.sleeping.store(true, SeqCst);
        mote_common::sync::atomic::fence(SeqCst);
        if !work() {
            let mut rung = self.rung.lock();
            if !*rung {
                self.signal.wait_for(&mut rung, timeout);
            }
            *rung = false;
        }
        self.sleeping.store(false, SeqCst);
    }
}

impl Inner {
    pub(super) fn flush_step(&self) -> FlushOutcome {
        let mut flusher = self.flusher.lock();
        self.flush(&mut flusher)
    }

    fn flush(&self, flusher: &mut Flusher) -> FlushOutcome {
        if self.is_stopped() {
            return FlushOutcome::Stopped;
        }
        if self.is_following() {
            return FlushOutcome::Idle;
        }
        let from = self.buffer.flushed();
        let to = self.pad_tail(flusher.slot);
        if to == from {
            return FlushOutcome::Idle;
        }
        self.wait_until_filled(to);
        if let Some(tap) = &*self.tap.read() {
            tap.flushing(Lsn(from), self.buffer.read(from, to));
        }
        if let Err(error) = self.write_and_sync(flusher, from, to) {
            self.stop_for(&format!("the log could not be written at {}: {error}", Lsn(from)));
            return FlushOutcome::Stopped;
        }
        self.buffer.set_flushed(to);
        self.raise_local(Lsn(to));
        if self.needs_segment() {
            self.prepare_bell.ring();
        }
        FlushOutcome::Flushed {
            local: Lsn(to),
            bytes: to - from,
        }
    }

    /// Fills the tail's block with a PAD; answers the border below which everything is to be flushed.
    fn pad_tail(&self, slot: usize) -> u64 {
        loop {
            let tail = self.buffer.tail();
            let size = pad_bytes(tail);
            if size == 0 || self.append_pad(slot, tail, size) {
                return tail + size;
            }
        }
    }

    fn append_pad(&self, slot: usize, start: u64, size: u64) -> bool {
        const ZEROS: [u8; 2 * BLOCK_BYTES as usize] = [0; 2 * BLOCK_BYTES as usize];
        let payload = &ZEROS[..size as usize - FRAME_HEADER_BYTES];
        let mut header = self.header(FrameKind::Pad, payload.len(), crc32fast::hash(payload));
        header.lsn = Lsn(start);
        header.durable = self.stable();
        self.buffer.append_at(slot, start, size, |filling| {
            filling.put(0, &header.encode());
            filling.zero_from(FRAME_HEADER_BYTES);
        })
    }

    /// A writer between reservation and filled takes nanoseconds, unless it lost its processor.
    fn wait_until_filled(&self, to: u64) {
        let mut spins = 0;
        while self.buffer.filled() < to {
            spins += 1;
            if spins < 200 {
                mote_common::sync::hint::spin_loop()
            } else {
                mote_common::sync::thread::yield_now()
            }
        }
    }

    fn write_and_sync(&self, flusher: &mut Flusher, from: u64, to: u64) -> std::io::Result<()> {
        flusher.touched.clear();
        let mut at = from;
        for piece in self.buffer.read(from, to) {
            self.segments.write(at, piece, &mut flusher.touched)?;
            at += piece.len() as u64;
        }
        flusher.touched.iter().try_for_each(|file| file.sync_data())
    }

    /// Writes one more PAD when the log is quiet, so that a frame on disk vouches for the last flush. Without it,
    /// damage to the last flush could not be told from a torn tail.
    pub(super) fn seal_step(&self) -> FlushOutcome {
        let mut flusher = self.flusher.lock();
        let flushed = self.buffer.flushed();
        let room = self.buffer.tail() + self.buffer.reserve() <= self.buffer.prepared();
        if flusher.sealed >= flushed || !room || self.is_stopped() || self.is_following() {
            return FlushOutcome::Idle;
        }
        // It would vouch for less than was flushed; later, when the quorum has that.
        if self.stable().0 < flushed {
            return FlushOutcome::Idle;
        }
        // Somebody appended: not quiet, and that frame will do.
        if !self.append_pad(flusher.slot, flushed, BLOCK_BYTES) {
            return FlushOutcome::Idle;
        }
        let outcome = self.flush(&mut flusher);
        if let FlushOutcome::Flushed { local, .. } = outcome {
            flusher.sealed = local.0;
        }
        outcome
    }

    /// Prepares the next segment if fewer than the configured number lie ahead. Answers whether it did something.
    pub(super) fn prepare_step(&self) -> bool {
        if self.is_stopped() || self.is_following() || !self.needs_segment() {
            return false;
        }
        let end = self.buffer.prepared();
        if self.runs_ahead(end) {
            return false;
        }
        match self.segments.prepare(end, self.buffer.flushed()) {
            Ok(true) => {
                self.buffer.set_prepared(end + self.config.segment_bytes);
                self.call_listeners(Moved::default());
                true
            }
            Ok(false) => {
                // No space or no descriptor: who waits for the segment is to hear of it.
                self.call_listeners(Moved::default());
                false
            }
            Err(error) => {
                self.stop_for(&format!(
                    "the log segment at {} could not be prepared: {error}",
                    Lsn(end)
                ));
                false
            }
        }
    }

    fn needs_segment(&self) -> bool {
        let ahead = self.config.segments_ahead * self.config.segment_bytes + self.buffer.reserve();
        self.buffer.prepared() < self.buffer.tail() + ahead
    }

    fn flusher_loop(&self, mut gathering: Gathering) {
        while !self.quit.load(Acquire) {
            self.gather(&mut gathering);
            if self.flush_step() == FlushOutcome::Idle {
                // Not asked for by anybody until the bell rings, so the tail may have moved without a request.
                self.flush_bell.sleep_unless(|| self.has_work(), IDLE_WAIT);
                if !self.has_work() {
                    self.seal_step();
                }
            } else if self.is_stopped() {
                return;
            }
        }
    }

    /// Before a flush: waits for more commits, where these are on their way.
    fn gather(&self, gathering: &mut Gathering) {
        let (flushed, tail) = (self.buffer.flushed(), self.buffer.tail());
        if tail == flushed || self.quit.load(Acquire) {
            return;
        }
        let pause_ns = gathering.pause_ns(self.clock.monotonic_ns(), flushed, tail);
        if pause_ns > 0 {
            std::thread::sleep(Duration::from_nanos(pause_ns));
        }
    }

    fn has_work(&self) -> bool {
        self.buffer.tail() != self.buffer.flushed() || self.quit.load(Acquire)
    }

    fn prepare_loop(&self) {
        while !self.quit.load(Acquire) {
            if !self.prepare_step() {
                // Also comes back by itself: a full disk may have space again.
                self.prepare_bell
                    .sleep_unless(|| self.quit.load(Acquire), IDLE_WAIT);
            }
        }
    }
}

/// The flusher and the thread that prepares segments.
pub struct LogThreads {
    log: Log,
    threads: Vec<JoinHandle<()>>,
}

impl LogThreads {
    /// `company` knows of commits that are worth a pause; without it each flush begins as soon as it can.
    pub fn start(log: &Log, company: Option<Arc<dyn Company>>) -> std::io::Result<LogThreads> {
        log.inner.quit.store(false, Release);
        let gathering = Gathering::new(company);
        let mut started = LogThreads {
            log: log.clone(),
            threads: Vec::new(),
        };
        started.spawn("mote-flusher", move |inner| inner.flusher_loop(gathering))?;
        started.spawn("mote-log-segments", Inner::prepare_loop)?;
        Ok(started)
    }

    fn spawn(&mut self, name: &str, run: impl FnOnce(&Inner) + Send + 'static) -> std::io::Result<()> {
        let inner = self.log.inner.clone();
        let named = std::thread::Builder::new().name(name.into());
        self.threads.push(named.spawn(move || run(&inner))?);
        Ok(())
    }

    /// Ends the threads, then flushes and seals what is left.
    pub fn stop(mut self) {
        self.join();
        self.log.flush_and_seal();
    }

    fn join(&mut self) {
        self.log.inner.quit.store(true, Release); // pairs with the Acquire loads in the loops
        self.log.inner.flush_bell.ring();
        self.log.inner.prepare_bell.ring();
        for thread in self.threads.drain(..) {
            // A panic of such a thread was reported by the hook; here we only wait for its end.
            let _ = thread.join();
        }
    }
}

impl Drop for LogThreads {
    fn drop(&mut self) {
        self.join();
    }
}
