//! The log of a node that follows: it takes another's bytes verbatim, at the same positions, into files of the same form.
//!
//! Every frame is checked before its bytes are written; bytes come without a gap. Frames name how far their writer's log
//! was durable, and a reader takes that for a proof; so before a block is written that vouches for more than is synced
//! here, what is here is synced. A torn tail then never looks like lost commits.
//!
//! One block may be written twice: the one in which this log ended when it was opened, if it ended inside. Nobody was
//! told that this block is durable here, since a flush's range ends on a block border and is told of as a whole.
//!
//! Leaves out: whose bytes may be taken (`mote_replication::receiver`), what frames mean, applying them.

use std::fmt;
use std::io;
use std::sync::Arc;

use mote_common::Lsn;
use mote_common::env::{Env, File};

use super::frame::{BLOCK_BYTES, FRAME_HEADER_BYTES, FrameHeader, FrameKind};
use super::open::adopt_files;
use super::scan::{LogScan, TermMark, term_mark};
use super::segment::{LOG_DIRECTORY, Prepared, Segments};
use super::stream::{FrameFault, FrameStream};
use super::{LogConfig, LogPosition};

/// Why bytes were not taken.
#[derive(Debug)]
pub enum IntakeError {
    /// The state of the disk is unknown: the node must stop.
    Disk(io::Error),
    /// There is no room for them. What stands on the disk is sound: whoever opens it again goes on from there.
    Full,
    /// They do not stand where this log ends, or are no whole blocks.
    Gap { expected: Lsn, got: Lsn },
    /// They are no log.
    Fault(FrameFault),
}

impl fmt::Display for IntakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IntakeError::Disk(error) => write!(f, "the log could not be written: {error}"),
            IntakeError::Full => f.write_str("there is no room for more log on the disk"),
            IntakeError::Gap { expected, got } => {
                write!(f, "log from {got} was sent, but this log ends at {expected}")
            }
            IntakeError::Fault(fault) => {
                write!(
                    f,
                    "what was sent is no log at {}: {}. The primary's log is damaged there, or its archive has another \
                     server's: put a good copy of that segment into the archive, or start this node on an empty directory",
                    fault.lsn, fault.what
                )
            }
        }
    }
}

impl std::error::Error for IntakeError {}

impl From<io::Error> for IntakeError {
    fn from(error: io::Error) -> IntakeError {
        IntakeError::Disk(error)
    }
}

/// A frame that says how far its writer's log was durable, by the block it begins in.
struct Voucher {
    block: Lsn,
    durable: Lsn,
}

/// The segment behind the one that is written, to be made ready before it is needed: its zeros take some tenths of a second, for
/// which commits would wait that wait for this log.
pub struct Ahead {
    segments: Arc<Segments>,
    first: u64,
    until: u64,
    synced: u64,
}

impl Ahead {
    /// Makes it. What cannot be had now is missed by whoever needs it.
    pub fn make(&self) {
        let _ = self.segments.prepare_next(self.until, self.first, self.synced);
    }
}

/// A follower's log, open for one leader's bytes.
pub struct Intake {
    segments: Arc<Segments>,
    segment_bytes: u64,
    touched: Vec<Arc<dyn File>>,
    frames: FrameStream,
    /// Bytes below are written, and those below `synced` are on disk.
    written: Lsn,
    synced: Lsn,
    /// Complete frames that are on disk end here.
    flushed: Lsn,
    /// Nothing of this log was ever written from here on.
    reach: Lsn,
    /// The last write found no room in a segment that is there.
    full: bool,
    /// Terms of the leader that begin behind what is here: where they begin, no frame is looked for before.
    coming: Vec<TermMark>,
    /// Terms that began in what was taken.
    terms: Vec<TermMark>,
}

impl Intake {
    /// Opens the log that `scan` found, to go on at its end. `coming` are the leader's terms behind that.
    pub fn open(
        env: &Env,
        config: LogConfig,
        system_id: u64,
        log_start: Lsn,
        scan: &LogScan,
        coming: Vec<TermMark>,
    ) -> io::Result<Intake> {
        env.disk.create_dir_all(LOG_DIRECTORY)?;
        let position = LogPosition {
            system_id,
            term: scan.term.unwrap_or(0),
            log_start,
            end: scan.end,
            pins: Vec::new(),
        };
        let (live, free) = adopt_files(&*env.disk, &config, &position)?;
        let segments = Segments::new(env.disk.clone(), system_id, config.segment_bytes, live, free);
        // What recovery read may stand in the cache only, and will be called durable.
        segments.sync_all()?;
        env.disk.sync_dir(LOG_DIRECTORY)?;
        let block = Lsn(scan.end.0 / BLOCK_BYTES * BLOCK_BYTES);
        let mut intake = Intake {
            segments: Arc::new(segments),
            segment_bytes: config.segment_bytes,
            touched: Vec::new(),
            frames: FrameStream::resume(scan.end, scan.term),
            written: block,
            synced: block,
            flushed: scan.end,
            reach: scan.reach,
            full: false,
            coming,
            terms: Vec::new(),
        };
        intake.skip_gap();
        Ok(intake)
    }

    /// Where the next bytes must stand.
    pub fn wants(&self) -> Lsn {
        self.written
    }

    /// Frames that were taken end here; not all of them need be durable.
    pub fn received(&self) -> Lsn {
        self.whole().max(self.flushed)
    }

    /// Where complete frames that are written end. Nothing new is known of bytes that were checked and found no room.
    fn whole(&self) -> Lsn {
        match self.frames_end() {
            end if end <= self.written => end,
            _ => self.flushed,
        }
    }

    /// Where the last frame taken ends. Behind a gap that is before the gap until the next term's first frame is here:
    /// whoever opens this log again finds that end, and must find the log from there at whoever leads.
    fn frames_end(&self) -> Lsn {
        let here = self.frames.position();
        let begins = self.coming.iter().find(|mark| mark.start == here);
        begins.map_or(here, |mark| mark.previous_end)
    }

    /// No header of a frame stands in the files from here on, whatever came of the writes: for who scans them.
    pub fn reach(&self) -> Lsn {
        self.reach
    }

    /// Whether there is room for so many bytes more, which it makes if it can.
    pub fn has_room(&mut self, bytes: u64) -> io::Result<bool> {
        // Behind the block in which the log ends, which may not be written again.
        let from = self.written.0.max(self.flushed.0.next_multiple_of(BLOCK_BYTES));
        if !self.prepare_to(from + bytes)? {
            return Ok(false);
        }
        if !self.full {
            return Ok(true);
        }
        match self.put(Lsn(from), &vec![0; bytes as usize]) {
            Ok(()) => Ok(true),
            Err(IntakeError::Disk(error)) => Err(error),
            Err(_) => Ok(false),
        }
    }

    fn prepare_to(&self, end: u64) -> io::Result<bool> {
        loop {
            match self.segments.prepare_next(end, self.first(), self.synced.0)? {
                Prepared::Already => return Ok(true),
                Prepared::Now => {}
                Prepared::Refused => return Ok(false),
            }
        }
    }

    /// Of the segment that is written.
    fn first(&self) -> u64 {
        self.written.0 / self.segment_bytes * self.segment_bytes
    }

    /// What makes the next segment ready meanwhile, on a thread of its own, where that is to be done now.
    pub fn ahead(&self) -> Option<Ahead> {
        let until = self.first() + 2 * self.segment_bytes;
        let prepared = self.segments.prepared_end();
        prepared.is_none_or(|end| end < until).then(|| Ahead {
            segments: self.segments.clone(),
            first: self.first(),
            until,
            synced: self.synced.0,
        })
    }

    /// Ends what makes a segment ready; this log takes no more.
    pub fn give_up_ahead(&self) {
        self.segments.give_up();
    }

    /// Frames that are durable here end here.
    pub fn flushed(&self) -> Lsn {
        self.flushed
    }

    /// The term of the last frame taken.
    pub fn term(&self) -> Option<u32> {
        self.frames.term()
    }

    /// Terms that began in what was taken since this was asked last.
    pub fn take_terms(&mut self) -> Vec<TermMark> {
        std::mem::take(&mut self.terms)
    }

    /// Takes whole blocks that begin at `from`. Not durable before `sync`.
    pub fn write(&mut self, from: Lsn, bytes: &[u8]) -> Result<(), IntakeError> {
        if from != self.written || !(bytes.len() as u64).is_multiple_of(BLOCK_BYTES) {
            return Err(IntakeError::Gap {
                expected: self.written,
                got: from,
            });
        }
        let vouchers = self.check(bytes)?;
        self.put_by_turns(from, bytes, &vouchers)
    }

    /// What was taken is on disk when this returns.
    pub fn sync(&mut self) -> io::Result<Lsn> {
        self.sync_files()?;
        self.flushed = self.flushed.max(self.whole());
        Ok(self.flushed)
    }

    /// Frees files below `lsn`, which nobody needs.
    pub fn release_below(&self, lsn: Lsn) -> io::Result<usize> {
        self.segments.release_below(lsn.0)
    }

    /// Checks the frames in the next bytes; answers those that vouch for more than the ones before.
    fn check(&mut self, bytes: &[u8]) -> Result<Vec<Voucher>, IntakeError> {
        let mut vouchers: Vec<Voucher> = Vec::new();
        let mut note = |header: &FrameHeader| {
            if vouchers.last().is_none_or(|last| last.durable < header.durable) {
                vouchers.push(Voucher {
                    block: Lsn(header.lsn.0 / BLOCK_BYTES * BLOCK_BYTES),
                    durable: header.durable,
                });
            }
        };
        self.frames.feed(bytes);
        loop {
            self.skip_gap();
            let Some(frame) = self.frames.next_frame().map_err(IntakeError::Fault)? else {
                break;
            };
            // Log that another server wrote under a former term is whole by itself, and yet none of this leader's.
            let begun = self
                .coming
                .iter()
                .rev()
                .find(|mark| mark.start <= frame.header.lsn);
            if let Some(mark) = begun.filter(|mark| frame.header.term < mark.term) {
                return Err(IntakeError::Fault(FrameFault {
                    lsn: frame.header.lsn,
                    what: format!(
                        "the frame is of term {}, and that of the primary's log is {}",
                        frame.header.term, mark.term
                    ),
                }));
            }
            note(&frame.header);
            if frame.header.kind == FrameKind::Term {
                let header = frame.header;
                self.terms
                    .extend(term_mark(header.term, header.lsn, frame.payload));
            }
        }
        // A header vouches as soon as it stands on disk, whether its payload does or not.
        if let Some(bytes) = self.frames.rest().first_chunk::<FRAME_HEADER_BYTES>()
            && let Ok(header) = FrameHeader::decode(bytes)
        {
            note(&header);
        }
        Ok(vouchers)
    }

    /// Writes the bytes, and syncs what lies below a frame before that frame is written, if it vouches for it. One message
    /// may hold several flushes of its writer, each of which vouches for the one before.
    fn put_by_turns(&mut self, from: Lsn, bytes: &[u8], vouchers: &[Voucher]) -> Result<(), IntakeError> {
        let end = Lsn(from.0 + bytes.len() as u64);
        let part = |from_lsn: Lsn, to: Lsn| &bytes[(from_lsn.0 - from.0) as usize..(to.0 - from.0) as usize];
        for voucher in vouchers {
            if voucher.durable > self.synced {
                let to = voucher.block.max(self.written);
                self.put(self.written, part(self.written, to))?;
                self.written = to;
                self.sync_files()?;
            }
        }
        self.put(self.written, part(self.written, end))?;
        self.written = end;
        Ok(())
    }

    /// Behind a torn end the leader's next term begins on the next border.
    fn skip_gap(&mut self) {
        let here = self.frames.position();
        if let Some(mark) = self.coming.iter().find(|mark| mark.previous_end == here) {
            self.frames.skip_to(mark.start);
        }
    }

    fn put(&mut self, from: Lsn, bytes: &[u8]) -> Result<(), IntakeError> {
        if !self.prepare_to(from.0 + bytes.len() as u64)? {
            return Err(IntakeError::Full);
        }
        // Before it is tried: a write that fails may have written a part.
        self.reach = self.reach.max(Lsn(from.0 + bytes.len() as u64));
        // A segment that was copied may be shorter than one that was prepared: its blocks get their place when they are written.
        let written = self.segments.write(from.0, bytes, &mut self.touched);
        self.full = written.as_ref().is_err_and(is_for_want_of_room);
        match written {
            Err(error) if !self.full => Err(IntakeError::Disk(error)),
            Err(_) => Err(IntakeError::Full),
            Ok(()) => Ok(()),
        }
    }

    fn sync_files(&mut self) -> io::Result<()> {
        self.touched.drain(..).try_for_each(|file| file.sync_data())?;
        self.synced = self.written;
        Ok(())
    }
}

/// A write that was refused before it was taken: what stands there is known.
fn is_for_want_of_room(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

#[cfg(test)]
#[path = "intake_tests.rs"]
mod tests;
