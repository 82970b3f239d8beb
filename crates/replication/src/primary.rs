//! The side that sends: one stream per follower, the acknowledgements, and the horizon they give.
//!
//! A follower that is up to date gets a flush's bytes out of the ring, before they are written here (`flushing`). One that
//! is not, because its socket is full or it has just come, gets pieces out of the files (`step`) until it is. No queue
//! grows: what a stream holds is one piece and some small messages.
//!
//! In a cluster a follower is told for whom to keep log before it is sent any log, and again before any that is written after
//! that has changed. So whoever has a frame knows of the slots that stood on this node's disk when it was appended: who has
//! made a slot waits until a frame behind it is stable, and finds it on every later primary (docs/design/0061).
//!
//! Who gets a stream is judged in `admission`; what goes to and fro on one beside flushes stands in `telling`.
//!
//! Lives as long as its node leads one term. Leaves out: whether the node may still tell its clients anything (`answered_ns`
//! gives the bound, the caller's clock decides), and the log itself.

use std::io;
use std::net::SocketAddr;

use mote_common::Lsn;
use mote_log::TermMark;
use mote_log::range::LogRanges;

use crate::NodeId;
use crate::gate::Levels;
use crate::history::History;
use crate::message::{Message, Progress};
use crate::quorum::{Quorum, Rule, Standing};
use crate::slots::Slots;
use crate::wire::{PIECE_BYTES_MAX, Wire};

mod admission;
mod telling;

const BLOCK_BYTES: u64 = mote_log::frame::BLOCK_BYTES;

/// How long news of the horizon may wait for the next flush to carry them, where nobody waits for what followers apply. A message
/// of its own for each flush costs a send here, and wakes the follower once more.
pub const TELL_DELAY_NS: u64 = 5_000_000;

/// What there is of the log from a position on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogPiece {
    /// So much of it was read, whole blocks.
    Bytes(usize),
    /// It is being fetched: a later step gets it.
    Later,
    /// It is not here any more.
    Gone,
}

/// Reads log that is written, for followers that are behind. Waits for nothing but this machine's disk.
pub trait LogSource {
    /// Fills `buffer` from `from` on, as far as one piece goes.
    fn read(&mut self, from: Lsn, buffer: &mut [u8]) -> io::Result<LogPiece>;
}

impl LogSource for LogRanges {
    fn read(&mut self, from: Lsn, buffer: &mut [u8]) -> io::Result<LogPiece> {
        Ok(match LogRanges::read(self, from, buffer)? {
            Some(bytes) => LogPiece::Bytes(bytes),
            None => LogPiece::Gone,
        })
    }
}

#[derive(Clone, Debug)]
pub struct PrimaryConfig {
    pub system_id: u64,
    pub id: NodeId,
    /// In a cluster: its name there. Followers then keep log for one another, and for this node.
    pub member: Option<String>,
    pub heartbeat_ns: u64,
    /// A follower that says nothing for so long is given up.
    pub silence_ns: u64,
    /// Log bytes in one message, whole blocks.
    pub piece_bytes: usize,
}

/// One follower's stream.
struct Sending {
    wire: Wire,
    id: NodeId,
    name: String,
    number: u64,
    /// The next byte to send.
    position: Lsn,
    /// It knew this to be stable when it came: so it is.
    knew_stable: Lsn,
    /// The horizon it was told last, and when it was told anything.
    told: Lsn,
    /// Since when the horizon is above that.
    untold_ns: Option<u64>,
    beat_ns: u64,
    heard_ns: u64,
    /// Whether it reports each change at once, as it was told.
    told_eager: bool,
    /// The slots as it was told of them; `None`: not yet.
    told_slots: Option<(u64, bool)>,
}

impl Sending {
    /// Whether it was told of the slots as they are; `None`: it is told of none.
    fn knows(&self, slots: Option<(u64, bool)>) -> bool {
        slots.is_none() || self.told_slots == slots
    }
}

/// One follower's stream, as others may know it.
pub struct StreamState<'a> {
    pub id: NodeId,
    pub name: &'a str,
    /// `None`: it is on this machine.
    pub peer: Option<SocketAddr>,
    pub sent: Lsn,
    /// It has what is written here; else it is sent older log.
    pub streaming: bool,
    pub progress: Progress,
    pub standing: Standing,
}

pub struct Primary {
    config: PrimaryConfig,
    began: TermMark,
    history: History,
    /// The oldest log that is here.
    log_start: Lsn,
    /// From here up to that the source has it nevertheless, out of an archive.
    archived_from: Lsn,
    /// What was told of, written here or not: flushing has begun up to here.
    end: Lsn,
    /// What can be read out of files.
    written: Lsn,
    quorum: Quorum,
    slots: Slots,
    streams: Vec<Sending>,
    next_stream: u64,
    outbid: Option<u32>,
    /// Somebody waits for what followers have received or applied.
    eager: bool,
    /// What commits could count on when the last step ended.
    stepped: Levels,
    /// The last step left a stream before all was heard, or all sent that its socket would take.
    unfinished: bool,
    /// A flush that takes longer silences this node.
    flush_limit_ns: u64,
    /// What was written when a flush was first seen under way, and when that was.
    flush_seen: Option<(Lsn, u64)>,
    piece: Vec<u8>,
}

impl Primary {
    /// For a term that has begun: `began` is the last mark of `history`, its first frame is flushed, and ends at `written`
    /// or before.
    pub fn new(
        config: PrimaryConfig,
        history: History,
        log_start: Lsn,
        written: Lsn,
        quorum: Quorum,
        slots: Slots,
    ) -> Primary {
        let began = *history.marks().last().expect("a primary has begun a term");
        assert!(
            config.piece_bytes <= PIECE_BYTES_MAX
                && (config.piece_bytes as u64).is_multiple_of(BLOCK_BYTES)
                && config.piece_bytes > 0
        );
        let mut primary = Primary {
            piece: vec![0; config.piece_bytes],
            config,
            began,
            history,
            log_start,
            archived_from: Lsn(u64::MAX),
            end: written,
            written,
            quorum,
            slots,
            streams: Vec::new(),
            next_stream: 1,
            outbid: None,
            eager: false,
            stepped: Levels::default(),
            unfinished: false,
            flush_limit_ns: u64::MAX,
            flush_seen: None,
        };
        primary.quorum.flushed_here(written);
        primary
    }

    pub fn term(&self) -> u32 {
        self.began.term
    }

    /// How far commits count; `filled` is the log's to say.
    pub fn levels(&self) -> Levels {
        self.quorum.levels()
    }

    /// What commits that wait for others can count on.
    fn agreed(&self) -> Levels {
        let local = Lsn::ZERO;
        Levels {
            local,
            ..self.levels()
        }
    }

    /// Commits wait for somebody.
    pub fn waits(&self) -> bool {
        self.quorum.waits()
    }

    pub fn set_rules(&mut self, rules: Vec<Rule>) {
        self.quorum.set_rules(rules);
    }

    /// Whether followers are to report at once what they have received and applied. What they have synced they always
    /// report at once; the rest otherwise comes with that, or a little later, which saves two of three wake-ups a flush.
    pub fn set_eager(&mut self, eager: bool) {
        self.eager = eager;
    }

    /// The next step has something to do that no socket tells of.
    pub fn is_behind(&self) -> bool {
        let lacks = |stream: &Sending| {
            (stream.wire.is_idle() && stream.position < self.written) || stream.told_eager != self.eager
        };
        self.stepped != self.agreed() || self.streams.iter().any(lacks)
    }

    /// When the next step has something to do, unless a flush or a socket asks for it before.
    pub fn due_ns(&self) -> Option<u64> {
        if self.unfinished {
            return Some(0);
        }
        let untold = self.streams.iter().filter(|stream| stream.wire.is_idle());
        let since_ns = untold.filter_map(|stream| stream.untold_ns).min()?;
        Some(since_ns + TELL_DELAY_NS)
    }

    /// Heartbeats stop while a flush takes longer than this: a node whose disk hangs shall be replaced, though its network
    /// works. Without a call, never.
    pub fn limit_flush(&mut self, limit_ns: u64) {
        self.flush_limit_ns = limit_ns;
    }

    /// Enough voters answered a heartbeat that was sent then, by this node's clock: none of them promises anything before
    /// their patience is over, counted from there.
    pub fn answered_ns(&self) -> Option<u64> {
        self.quorum.answered_ns()
    }

    /// A follower has promised itself to this higher term: it is time to ask the coordinator who leads.
    pub fn outbid(&self) -> Option<u32> {
        self.outbid
    }

    pub fn quorum(&self) -> &Quorum {
        &self.quorum
    }

    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    pub fn slots_mut(&mut self) -> &mut Slots {
        &mut self.slots
    }

    /// Where a slot begins that is made now: everything that is not written yet is kept from then on.
    pub fn reserved_now(&self) -> Lsn {
        block_of(self.written)
    }

    /// Flushing has begun up to here.
    pub fn end(&self) -> Lsn {
        self.end
    }

    /// Those who have a stream.
    pub fn streams(&self) -> impl Iterator<Item = StreamState<'_>> {
        self.streams.iter().map(|stream| StreamState {
            id: stream.id,
            name: &stream.name,
            peer: stream.wire.peer(),
            sent: stream.position,
            streaming: stream.position >= self.written,
            progress: self.quorum.progress(stream.id).unwrap_or_default(),
            standing: self.quorum.standing(stream.id),
        })
    }

    /// From where on followers need the log. Slots that keep more than they may are given up first, on disk; a restart
    /// finds the same.
    pub fn keep_from(&mut self) -> io::Result<Lsn> {
        self.slots.enforce(self.end)?;
        Ok(self.slots.keep_from().unwrap_or(self.end).min(self.end))
    }

    /// The log below is not here any more.
    pub fn released_below(&mut self, lsn: Lsn) {
        self.log_start = self.log_start.max(lsn);
    }

    /// The oldest log that is here.
    pub fn log_start(&self) -> Lsn {
        self.log_start
    }

    /// Below that the source has the log from `lsn` on, out of an archive, as far as is known.
    pub fn archived_from(&mut self, lsn: Lsn) {
        self.archived_from = lsn;
    }

    /// A flush begins: whoever is up to date gets its bytes now.
    pub fn flushing(&mut self, from: Lsn, parts: [&[u8]; 2], wall_us: i64) {
        let length = parts[0].len() + parts[1].len();
        self.end = self.end.max(Lsn(from.0 + length as u64));
        let (stable, most) = (self.levels().stable, self.config.piece_bytes);
        let slots = self.slots_to_tell();
        let up_to_date = |stream: &&mut Sending| stream.position == from && stream.knows(slots);
        for stream in self.streams.iter_mut().filter(up_to_date) {
            let mut done = 0;
            while done < length && stream.wire.is_idle() {
                let to = length.min(done + most);
                let at = Lsn(from.0 + done as u64);
                // A broken stream is found, and ended, by the next step.
                if stream
                    .wire
                    .send_log(at, stable, wall_us, between(parts, done, to))
                    .is_err()
                {
                    break;
                }
                done = to;
                stream.position = Lsn(from.0 + done as u64);
                (stream.told, stream.untold_ns) = (stable, None);
            }
        }
    }

    /// A flush has begun up to there; for one that could not be told of at once.
    pub fn flush_begun(&mut self, end: Lsn) {
        self.end = self.end.max(end);
    }

    /// Everything below is written and synced here.
    pub fn flushed(&mut self, lsn: Lsn) {
        self.written = self.written.max(lsn);
        self.end = self.end.max(lsn);
        self.quorum.flushed_here(lsn);
    }

    /// Hears what followers have to say, and sends what they lack. An error is the disk's, not a stream's.
    pub fn step(&mut self, now_ns: u64, wall_us: i64, source: &mut dyn LogSource) -> io::Result<()> {
        let mut ended = Vec::new();
        self.unfinished = false;
        for index in 0..self.streams.len() {
            if self.hear(index, now_ns).is_err() {
                ended.push(self.streams[index].number);
            }
        }
        let stable = self.levels().stable;
        let hangs = self.flush_hangs(now_ns);
        for index in 0..self.streams.len() {
            let number = self.streams[index].number;
            if ended.contains(&number) {
                continue;
            }
            // A heartbeat goes before log that may fill the socket. News of the horizon goes behind it: the log tells of that,
            // too.
            let beats = !hangs && self.beat_is_due(index, now_ns);
            let stands = self.streams[index].wire.flush().is_ok()
                && (!beats || self.tell(index, now_ns, stable).is_ok())
                && (hangs || self.tell_slots(index, stable).is_ok())
                && self.catch_up(index, wall_us, source)?
                && (hangs || self.tell(index, now_ns, stable).is_ok());
            if !stands {
                ended.push(number);
            }
        }
        self.end_streams(|stream| ended.contains(&stream.number));
        self.stepped = self.agreed();
        Ok(())
    }

    /// Another node has been recorded as the leader: whoever follows looks for it now. Nothing depends on it; a stream that is
    /// full ends without having been told.
    pub fn hand_over(&mut self) {
        for stream in &mut self.streams {
            let _ = stream.wire.say(&Message::HandedOver);
        }
    }

    /// Gives up every stream: the node leads no more.
    pub fn close(mut self) -> Slots {
        self.end_streams(|_| true);
        self.slots
    }

    fn end_streams(&mut self, which: impl Fn(&Sending) -> bool) {
        let quorum = &mut self.quorum;
        self.streams.retain_mut(|stream| {
            let over = which(stream);
            if over {
                quorum.closed(stream.id, stream.number);
                stream.wire.close();
            }
            !over
        });
    }
}

fn block_of(lsn: Lsn) -> Lsn {
    Lsn(lsn.0 / BLOCK_BYTES * BLOCK_BYTES)
}

/// The bytes `[from, to)` of two parts that follow one another.
fn between(parts: [&[u8]; 2], from: usize, to: usize) -> [&[u8]; 2] {
    let first = parts[0].len();
    let (head, tail) = (from.min(first)..to.min(first), from.max(first)..to.max(first));
    [&parts[0][head], &parts[1][tail.start - first..tail.end - first]]
}

#[cfg(test)]
#[path = "primary_tests.rs"]
mod tests;
