//! What goes to and fro on a stream beside the flushes: what the follower has, how far the log is stable, which slots there are,
//! and the log that it lacks.

use std::io;

use mote_common::Lsn;

use super::{LogPiece, LogSource, Primary, TELL_DELAY_NS, block_of};
use crate::message::{KeptFor, Message};
use crate::slots::SLOTS_MAX;

/// Reads from one stream, and pieces of older log for it, in one step. One that says more than can be judged, or takes log
/// as fast as it can be read, has its turn again when the others have had theirs.
pub(super) const READS_MAX: usize = 4;
pub(super) const PIECES_MAX: usize = 8;

impl Primary {
    pub(super) fn hear(&mut self, index: usize, now_ns: u64) -> io::Result<()> {
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
    pub(super) fn flush_hangs(&mut self, now_ns: u64) -> bool {
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

    pub(super) fn beat_is_due(&self, index: usize, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.streams[index].beat_ns) >= self.config.heartbeat_ns
    }

    /// The horizon when it moved: at once if commits at `remote_apply` wait for that, else when no flush has carried it for a
    /// while. Else a heartbeat now and then. Not to be called while a flush hangs.
    pub(super) fn tell(&mut self, index: usize, now_ns: u64, stable: Lsn) -> io::Result<()> {
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
    pub(super) fn slots_to_tell(&self) -> Option<(u64, bool)> {
        let agreed = self.levels().stable > Lsn::ZERO;
        let member = self.config.member.as_ref();
        member.map(|_| (self.slots.changes(), agreed))
    }

    /// In a cluster: for whom the follower is to keep log, if that has changed. This node is among them: its successor's log
    /// and its own part behind what is stable, of which the follower knows some before anything of this term is; what is
    /// not here any more was stable, too. Not to be called while a flush hangs.
    pub(super) fn tell_slots(&mut self, index: usize, stable: Lsn) -> io::Result<()> {
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
    pub(super) fn catch_up(
        &mut self,
        index: usize,
        wall_us: i64,
        source: &mut dyn LogSource,
    ) -> io::Result<bool> {
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
