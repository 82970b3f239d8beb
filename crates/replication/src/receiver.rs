//! The side that takes: asks for the log, checks who answers, writes, syncs and reports.
//!
//! Refuses by itself what a primary must not ask for: another system's log, a term below its promise, a cut below what it
//! knows to be stable. Everything it reports is true at the moment it is said, and stays true: what it calls flushed
//! is on its disk, in the order of the log.
//!
//! What is synced is reported at once, since commits wait for it. What is received or applied waits for the next such report,
//! `REPORT_DELAY_NS` at most, unless the primary has said that somebody waits for it: a report costs the primary a wake-up.

use std::io;

use mote_common::Lsn;
use mote_log::intake::{Intake, IntakeError};

use crate::message::{Hello, KeptFor, Message, Progress, Refusal, Start};
use crate::wire::Wire;

/// How long a change may stay unsaid that nobody waits for.
pub const REPORT_DELAY_NS: u64 = 10_000_000;
/// Reads of 64 KiB in one step. A primary that sends log faster than this disk takes it would else keep a step for as long as
/// it does: nothing would be synced or reported meanwhile, nor would the node's word be given.
const READS_MAX: usize = 128;

/// The follower's own log.
pub trait FollowerLog {
    /// Whole blocks at `from`.
    fn write(&mut self, from: Lsn, bytes: &[u8]) -> Result<(), IntakeError>;
    fn sync(&mut self) -> io::Result<()>;
    fn received(&self) -> Lsn;
    fn flushed(&self) -> Lsn;
    /// Commits are visible to readers here up to this.
    fn applied(&self) -> Lsn;
}

impl FollowerLog for Intake {
    fn write(&mut self, from: Lsn, bytes: &[u8]) -> Result<(), IntakeError> {
        Intake::write(self, from, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        Intake::sync(self).map(|_| ())
    }

    fn received(&self) -> Lsn {
        Intake::received(self)
    }

    fn flushed(&self) -> Lsn {
        Intake::flushed(self)
    }

    /// Nothing is replayed here.
    fn applied(&self) -> Lsn {
        Lsn::ZERO
    }
}

/// What came of a step.
#[derive(Debug)]
pub enum Outcome {
    Nothing,
    /// The primary was heard, or its log taken.
    Heard,
    /// The caller cuts its log at `cut`, opens it for the terms of `marks`, and goes on with `begin`.
    Begin(Start),
    Refused(Refusal),
    /// The stream is over; connect again.
    Lost(String),
    /// The state of the disk is unknown: the node must stop.
    Disk(io::Error),
}

enum State {
    /// Has asked.
    Asked,
    /// Has been answered; the caller cuts its log.
    Cutting,
    Streaming,
    Over,
}

pub struct Receiver {
    wire: Wire,
    hello: Hello,
    state: State,
    term: u32,
    /// What the primary has told of, at least.
    stable: Lsn,
    /// The heartbeat to answer.
    beat_ns: u64,
    told: Progress,
    /// Somebody waits for what is received or applied, as the primary has said last.
    eager: bool,
    /// Since when something is true that was not reported.
    unsaid_ns: Option<u64>,
    /// For whom to keep log, if that was told since it was asked last.
    kept: Option<Vec<KeptFor>>,
    /// What came behind that is looked at by the next step.
    stopped: bool,
    /// Something of the primary's own term is stable, as it has told.
    agreed: bool,
    handed_over: bool,
}

impl Receiver {
    pub fn new(mut wire: Wire, hello: Hello) -> io::Result<Receiver> {
        wire.say(&Message::Hello(hello.clone()))?;
        Ok(Receiver {
            wire,
            stable: hello.stable,
            hello,
            state: State::Asked,
            term: 0,
            beat_ns: 0,
            told: Progress::default(),
            eager: true,
            unsaid_ns: None,
            kept: None,
            stopped: false,
            agreed: false,
            handed_over: false,
        })
    }

    /// Of the primary; 0 before it has answered.
    pub fn term(&self) -> u32 {
        self.term
    }

    /// The highest horizon it has told of.
    pub fn stable(&self) -> Lsn {
        self.stable
    }

    /// For whom this node is to keep log, if the primary has told since this was asked last. The caller writes it down before
    /// the next step: log that came behind it is taken only then.
    pub fn take_kept(&mut self) -> Option<Vec<KeptFor>> {
        self.kept.take()
    }

    /// Something of the primary's term is stable: what it tells of slots is what counts. Before, it may know less than others
    /// have told, and nothing is let go of by that.
    pub fn is_agreed(&self) -> bool {
        self.agreed
    }

    /// The primary has let another node lead.
    pub fn handed_over(&self) -> bool {
        self.handed_over
    }

    /// The log was cut where the primary said, and `log` of `step` goes on there.
    pub fn begin(&mut self) {
        self.state = State::Streaming;
    }

    /// When `step` is to be called even if nothing arrives. A report that the socket does not take waits for the socket.
    pub fn due_ns(&self) -> Option<u64> {
        if self.stopped {
            return Some(0);
        }
        let unsaid_ns = self.unsaid_ns.filter(|_| self.wire.is_idle())?;
        Some(unsaid_ns + REPORT_DELAY_NS)
    }

    /// Takes what has arrived. `promised`: the lowest term that this node still takes anything of.
    pub fn step(&mut self, promised: u32, now_ns: u64, log: &mut dyn FollowerLog) -> Outcome {
        match self.state {
            State::Asked => self
                .await_start(promised)
                .unwrap_or_else(|error| self.lost(error)),
            State::Streaming if promised > self.term => {
                let promised = format!("this node has promised itself to term {promised}");
                self.lost(io::Error::other(promised))
            }
            State::Streaming => self.take(now_ns, log).unwrap_or_else(|error| self.lost(error)),
            State::Cutting | State::Over => Outcome::Nothing,
        }
    }

    fn note_stable(&mut self, stable: Lsn) {
        self.agreed |= stable > Lsn::ZERO;
        self.stable = self.stable.max(stable);
    }

    fn lost(&mut self, error: io::Error) -> Outcome {
        self.state = State::Over;
        self.wire.close();
        Outcome::Lost(error.to_string())
    }

    fn await_start(&mut self, promised: u32) -> io::Result<Outcome> {
        self.wire.flush()?;
        self.wire.fill()?;
        let start = match self.wire.next_message()? {
            None => return Ok(Outcome::Nothing),
            Some(Message::Start(start)) => start,
            Some(Message::Refused(refusal)) => {
                self.state = State::Over;
                return Ok(Outcome::Refused(refusal));
            }
            Some(_) => return Err(invalid("the primary's first message is no answer")),
        };
        if start.system_id != self.hello.system_id {
            return Err(invalid("the primary is of another system"));
        }
        if start.term < promised {
            return Err(invalid("the primary's term is below what this node has promised"));
        }
        // What it knows to be stable and does not have yet it will get.
        if start.cut < self.stable.min(self.hello.end) || start.cut > self.hello.end {
            return Err(invalid(
                "the primary lacks commits that this node knows to be acknowledged",
            ));
        }
        self.term = start.term;
        self.note_stable(start.stable);
        self.state = State::Cutting;
        Ok(Outcome::Begin(start))
    }

    fn take(&mut self, now_ns: u64, log: &mut dyn FollowerLog) -> io::Result<Outcome> {
        let (mut heard, mut wrote, mut reads) = (false, false, 0);
        self.stopped = false;
        // Messages may have come with the answer already; and the end of the stream shows behind the last of them.
        'stream: loop {
            while let Some(message) = self.wire.next_message()? {
                heard = true;
                match message {
                    Message::Wal {
                        from, stable, bytes, ..
                    } => {
                        match log.write(from, bytes) {
                            Ok(()) => {}
                            Err(IntakeError::Disk(error)) => return Ok(Outcome::Disk(error)),
                            Err(error) => return Err(io::Error::other(error.to_string())),
                        }
                        self.note_stable(stable);
                        wrote = true;
                    }
                    Message::Beat {
                        stable,
                        beat_ns,
                        eager,
                    } => {
                        self.note_stable(stable);
                        self.beat_ns = self.beat_ns.max(beat_ns);
                        self.eager = eager;
                    }
                    // Its stream ends with it.
                    Message::HandedOver => self.handed_over = true,
                    Message::Keep(kept) => {
                        (self.kept, self.stopped) = (Some(kept), true);
                        break 'stream;
                    }
                    _ => return Err(invalid("a primary does not say that")),
                }
            }
            if reads == READS_MAX {
                self.stopped = true;
                break;
            }
            if !self.wire.fill()? {
                break;
            }
            reads += 1;
        }
        if !self.stopped {
            self.wire.expect_open()?;
        }
        if wrote {
            // Commits at `remote_write` need not wait for the disk.
            if self.eager {
                self.report(now_ns, log)?;
            }
            if let Err(error) = log.sync() {
                return Ok(Outcome::Disk(error));
            }
        }
        if self.handed_over {
            return Err(io::Error::other("the primary has let another node lead"));
        }
        self.report(now_ns, log)?;
        Ok(if heard { Outcome::Heard } else { Outcome::Nothing })
    }

    /// Says how far this node is, unless that was said or may wait.
    fn report(&mut self, now_ns: u64, log: &mut dyn FollowerLog) -> io::Result<()> {
        self.wire.flush()?;
        let progress = Progress {
            received: log.received(),
            flushed: log.flushed(),
            applied: log.applied(),
        };
        if progress == self.told && self.beat_ns == 0 {
            return Ok(());
        }
        let waited_for = self.eager || self.beat_ns > 0 || progress.flushed > self.told.flushed;
        let unsaid_ns = *self.unsaid_ns.get_or_insert(now_ns);
        if !waited_for && now_ns < unsaid_ns + REPORT_DELAY_NS {
            return Ok(());
        }
        let beat_ns = std::mem::take(&mut self.beat_ns);
        match self.wire.say(&Message::Report { progress, beat_ns })? {
            true => (self.told, self.unsaid_ns) = (progress, None),
            // Said again when there is room.
            false => self.beat_ns = beat_ns,
        }
        Ok(())
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
#[path = "receiver_tests.rs"]
mod tests;
