//! Who gets a stream: what a follower says of itself, whether its log fits this one, and from where on it is sent.

use std::io;

use mote_common::Lsn;

use super::{Primary, Sending, block_of};
use crate::message::{Hello, MARKS_MAX, Message, PROTOCOL_VERSION, Reason, Refusal, Start};
use crate::slots::SlotError;
use crate::wire::Wire;

/// A follower answers each heartbeat; one that was heard within so many of them is there.
const SPEAKS_BEATS: u64 = 4;

impl Primary {
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
    pub(super) fn judge(&self, hello: &Hello, now_ns: u64) -> Result<Lsn, (Reason, String)> {
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
}

fn refuse(mut wire: Wire, refusal: Refusal) {
    // A stream that does not even take that is over anyway.
    let _ = wire.say(&Message::Refused(refusal));
    wire.close();
}
