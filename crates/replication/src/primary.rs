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
use crate::message::{
    Hello, KeptFor, MARKS_MAX, Message, PROTOCOL_VERSION, Progress, Reason, Refusal, Start,
};
use crate::quorum::{Quorum, Rule, Standing};
use crate::slots::{SLOTS_MAX, SlotError, Slots};
use crate::wire::{PIECE_BYTES_MAX, Wire};

const BLOCK_BYTES: u64 = mote_log::frame::BLOCK_BYTES;

/// How long news of the horizon may wait for the next flush to carry them, where nobody waits for what followers apply. A message
/// of its own for each flush costs a send here, and wakes the follower once more.
pub const TELL_DELAY_NS: u64 = 5_000_000;
/// Reads from one stream, and pieces of older log for it, in one step. One that says more than can be judged, or takes log
/// as fast as it can be read, has its turn again when the others have had theirs.
const READS_MAX: usize = 4;
/// A follower answers each heartbeat; one that was heard within so many of them is there.
const SPEAKS_BEATS: u64 = 4;
const PIECES_MAX: usize = 8;

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

    /// Somebody asks for the log. An error is the disk's; a follower that does not get its answer asks again.
    pub fn accept(&mut self, wire: Wire, hello: &Hello, now_ns: u64) -> io::Result<()> {
        self.end_closed(hello, now_ns);
        match self.judge(hello, now_ns) {
            Ok(cut) => self.begin(wire, hello, cut, now_ns),
            Err((reason, text)) => {
                if reason == Reason::TermTooLow {
                    self.outbid = self.outbid.max(Some(hello.promised));
                }
                let term = self.term();
                refuse(wire, Refusal { reason, term, text });
                Ok(())
            }
        }
    }

    /// Of the follower's earlier streams, those that it has closed: it may have come back before that was looked at.
    fn end_closed(&mut self, hello: &Hello, now_ns: u64) {
        let of_it = |stream: &Sending| stream.name == hello.name || stream.id == hello.id;
        let mut ended = Vec::new();
        for index in 0..self.streams.len() {
            if of_it(&self.streams[index]) && self.hear(index, now_ns).is_err() {
                ended.push(self.streams[index].number);
            }
        }
        self.end_streams(|stream| ended.contains(&stream.number));
    }

    /// Why the follower's directory is taken for a copy of one that is connected: both have its number. A follower that comes
    /// back has one stream that nobody speaks on any more; that one ends when the new one begins.
    fn twin_of(&self, hello: &Hello, now_ns: u64) -> Option<String> {
        let speaks = |stream: &Sending| {
            now_ns.saturating_sub(stream.heard_ns) <= SPEAKS_BEATS * self.config.heartbeat_ns
        };
        let twin = self
            .streams
            .iter()
            .find(|stream| stream.id == hello.id && speaks(stream))?;
        Some(format!(
            "the follower's directory is a copy of that of \"{}\", which is connected: one of both must be stopped, and start on \
             an empty directory",
            twin.name
        ))
    }

    /// Where the follower's log is to be cut, or why it gets none.
    fn judge(&self, hello: &Hello, now_ns: u64) -> Result<Lsn, (Reason, String)> {
        let (ours, name) = (self.term(), &hello.name);
        if hello.version != PROTOCOL_VERSION {
            let text = format!(
                "this primary speaks version {PROTOCOL_VERSION} of the protocol, the follower {}; upgrade followers first",
                hello.version
            );
            return Err((Reason::Version, text));
        }
        if hello.system_id != self.config.system_id {
            let text = format!(
                "this is system {:016x}, the follower's directory is of system {:016x}; start it on an empty directory",
                self.config.system_id, hello.system_id
            );
            return Err((Reason::WrongSystem, text));
        }
        if hello.id == self.config.id {
            let text =
                "the follower's directory is a copy of the primary's own, made past the clone; clone it anew";
            return Err((Reason::SameDirectory, text.into()));
        }
        if let Some(text) = self.twin_of(hello, now_ns) {
            return Err((Reason::SameDirectory, text));
        }
        if hello.promised > ours {
            let text = format!(
                "term {ours} is over: the follower has promised itself to term {}",
                hello.promised
            );
            return Err((Reason::TermTooLow, text));
        }
        if self
            .streams
            .iter()
            .any(|stream| stream.name == *name && stream.id != hello.id)
        {
            let text = format!("another node named \"{name}\" is connected; give this one another --name");
            return Err((Reason::NameTaken, text));
        }
        // Each of a cluster's terms was recorded for one node; a lone pair has nobody who would see to that.
        if self.config.member.is_some()
            && let Some(term) = self.history.twin(&hello.marks)
        {
            let text = format!(
                "term {term} was begun by two nodes: the cluster's record was set back to an older one meanwhile. Decide \
                 which of both logs is the right one, and start the other node on an empty directory"
            );
            return Err((Reason::Diverged, text));
        }
        let Some(cut) = self.history.common_end(self.end, &hello.marks, hello.end) else {
            let text =
                "the follower's log has no term in common with this one; start it on an empty directory";
            return Err((Reason::Diverged, text.into()));
        };
        // What it knows of and does not have yet, this log must have.
        if cut < hello.stable.min(hello.end) || self.end < hello.stable {
            let text = format!(
                "the follower knows of commits up to {}, but its log and this one part at {cut}; this primary lacks \
                 acknowledged commits: do not let it serve",
                hello.stable
            );
            return Err((Reason::WouldLose, text));
        }
        if block_of(cut) < self.log_start.min(self.archived_from) {
            let text = format!(
                "the log from {cut} on is not here any more (the oldest is {}), nor in an archive of this server; start \
                 the follower on an empty directory",
                self.log_start.min(self.archived_from)
            );
            return Err((Reason::MissingPosition, text));
        }
        Ok(cut)
    }

    fn begin(&mut self, mut wire: Wire, hello: &Hello, cut: Lsn, now_ns: u64) -> io::Result<()> {
        // Its log may be cut again, down to what is stable. Before the term's first frame is, the follower knows of some
        // that is; what it shares with this log beyond may be neither's in the next term.
        let needs = cut.min(self.levels().stable.max(hello.stable));
        match self
            .slots
            .begin(&hello.name, block_of(needs).max(block_of(self.log_start)))
        {
            Ok(()) => {}
            Err(SlotError::Disk(error)) => return Err(error),
            Err(SlotError::TooMany | SlotError::Exists) => {
                let text = "this primary keeps log for as many followers as it can; drop a slot";
                let (reason, term, text) = (Reason::MissingPosition, self.term(), text.into());
                refuse(wire, Refusal { reason, term, text });
                return Ok(());
            }
        }
        let marks = self
            .history
            .marks()
            .iter()
            .filter(|mark| mark.previous_end >= cut);
        let start = Start {
            system_id: self.config.system_id,
            id: self.config.id,
            term: self.term(),
            cut,
            stable: self.levels().stable,
            marks: marks.copied().take(MARKS_MAX).collect(),
        };
        // What the last stream of this directory still brings does not count any more.
        self.end_streams(|stream| stream.id == hello.id);
        let number = self.next_stream;
        self.next_stream += 1;
        self.quorum.opened(hello.id, &hello.name, number);
        // A broken stream is found, and ended, by the next step.
        let _ = wire.say(&Message::Start(start));
        self.streams.push(Sending {
            wire,
            id: hello.id,
            name: hello.name.clone(),
            number,
            position: block_of(cut),
            knew_stable: hello.stable,
            told: self.levels().stable,
            untold_ns: None,
            beat_ns: now_ns,
            heard_ns: now_ns,
            // Until it is told.
            told_eager: true,
            told_slots: None,
        });
        Ok(())
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

    fn hear(&mut self, index: usize, now_ns: u64) -> io::Result<()> {
        let stream = &mut self.streams[index];
        let (mut drained, mut reads) = (false, 0);
        loop {
            while let Some(message) = stream.wire.next_message()? {
                let Message::Report { progress, beat_ns } = message else {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "not a report"));
                };
                // It cannot have what it was not sent, nor have answered what was not asked.
                let most = progress.received.max(progress.flushed).max(progress.applied);
                if most > stream.position.max(self.end) || beat_ns > now_ns {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "an impossible report"));
                }
                self.quorum.reported(stream.id, stream.number, progress, beat_ns);
                // A slot that cannot be saved keeps more log than it must: reason enough to end the stream, no more.
                // What is not stable may yet be cut off its log: it needs the log from there, then.
                let needs = progress.flushed.min(self.quorum.levels().stable);
                self.slots.advance(&stream.name, block_of(needs))?;
                // Lost while it read the archive.
                if self.archived_from < Lsn(u64::MAX) && block_of(needs) >= self.log_start {
                    self.slots.revive(&stream.name, block_of(needs), self.end)?;
                }
            }
            if drained {
                break;
            }
            if reads == READS_MAX {
                self.unfinished = true;
                break;
            }
            if !stream.wire.fill()? {
                break;
            }
            reads += 1;
            stream.heard_ns = now_ns;
            // To ask once more would answer "nothing", mostly; its end, if that came behind, is seen by the next heartbeat.
            drained = stream.wire.was_drained();
        }
        stream.wire.expect_open()?;
        match now_ns.saturating_sub(stream.heard_ns) > self.config.silence_ns {
            true => Err(io::ErrorKind::TimedOut.into()),
            false => Ok(()),
        }
    }

    /// Whether the same flush is under way for longer than it may be.
    fn flush_hangs(&mut self, now_ns: u64) -> bool {
        if self.end <= self.written {
            self.flush_seen = None;
            return false;
        }
        match self.flush_seen {
            Some((written, since_ns)) if written == self.written => {
                now_ns.saturating_sub(since_ns) > self.flush_limit_ns
            }
            _ => {
                self.flush_seen = Some((self.written, now_ns));
                false
            }
        }
    }

    fn beat_is_due(&self, index: usize, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.streams[index].beat_ns) >= self.config.heartbeat_ns
    }

    /// The horizon when it moved: at once if commits at `remote_apply` wait for that, else when no flush has carried it for a
    /// while. Else a heartbeat now and then. Not to be called while a flush hangs.
    fn tell(&mut self, index: usize, now_ns: u64, stable: Lsn) -> io::Result<()> {
        let due = self.beat_is_due(index, now_ns);
        let stream = &mut self.streams[index];
        let since_ns = match stable > stream.told {
            true => Some(*stream.untold_ns.get_or_insert(now_ns)),
            false => None,
        };
        stream.untold_ns = since_ns;
        let moved = since_ns.is_some_and(|since_ns| self.eager || now_ns >= since_ns + TELL_DELAY_NS);
        let news = moved || self.eager != stream.told_eager;
        if (due || news) && stream.wire.is_idle() {
            let beat = Message::Beat {
                stable,
                beat_ns: now_ns,
                eager: self.eager,
            };
            if stream.wire.say(&beat)? {
                (stream.told, stream.beat_ns) = (stable, now_ns);
                (stream.told_eager, stream.untold_ns) = (self.eager, None);
            }
        }
        Ok(())
    }

    /// What a follower must have been told of before it gets more log, and whether something of this term was stable by
    /// then; `None`: nothing.
    fn slots_to_tell(&self) -> Option<(u64, bool)> {
        let agreed = self.levels().stable > Lsn::ZERO;
        let member = self.config.member.as_ref();
        member.map(|_| (self.slots.changes(), agreed))
    }

    /// In a cluster: for whom the follower is to keep log, if that has changed. This node is among them: its successor's log
    /// and its own part behind what is stable, of which the follower knows some before anything of this term is; what is
    /// not here any more was stable, too. Not to be called while a flush hangs.
    fn tell_slots(&mut self, index: usize, stable: Lsn) -> io::Result<()> {
        let told = self.slots_to_tell();
        let Some(member) = &self.config.member else {
            return Ok(());
        };
        let stream = &mut self.streams[index];
        if stream.knows(told) || !stream.wire.is_idle() {
            return Ok(());
        }
        let others = self.slots.kept_for().filter(|kept| kept.name != *member);
        let mut kept: Vec<KeptFor> = others.take(SLOTS_MAX).collect();
        kept.push(KeptFor {
            name: member.clone(),
            position: block_of(stable.max(stream.knew_stable).max(self.log_start)),
            lost: false,
            logical: None,
        });
        if stream.wire.say(&Message::Keep(kept))? {
            stream.told_slots = told;
        }
        Ok(())
    }

    /// Sends pieces out of files while the socket takes them. False: the stream is over.
    fn catch_up(&mut self, index: usize, wall_us: i64, source: &mut dyn LogSource) -> io::Result<bool> {
        let (stable, slots) = (self.levels().stable, self.slots_to_tell());
        let stream = &mut self.streams[index];
        let mut pieces = 0;
        while stream.knows(slots) && stream.wire.is_idle() && stream.position < self.written {
            if pieces == PIECES_MAX {
                self.unfinished = true;
                break;
            }
            pieces += 1;
            let length = (self.written.0 - stream.position.0).min(self.piece.len() as u64) as usize;
            let read = match source.read(stream.position, &mut self.piece[..length])? {
                LogPiece::Bytes(read) => read,
                LogPiece::Later => break,
                LogPiece::Gone => return Ok(false),
            };
            let sent = stream
                .wire
                .send_log(stream.position, stable, wall_us, [&self.piece[..read], &[]]);
            if sent.is_err() {
                return Ok(false);
            }
            stream.position = Lsn(stream.position.0 + read as u64);
            (stream.told, stream.untold_ns) = (stable, None);
        }
        Ok(true)
    }
}

fn refuse(mut wire: Wire, refusal: Refusal) {
    // A stream that does not even take that is over anyway.
    let _ = wire.say(&Message::Refused(refusal));
    wire.close();
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
