//! START_REPLICATION .. LOGICAL: the connection in copy-both mode, until either side ends it; and the making of slots for
//! subscribers, with the snapshot at which their stream begins.

use std::collections::VecDeque;

use corosensei::Yielder;
use mote_catalog::activity::IdleStatus;
use mote_catalog::cluster::{SlotFacts, SlotRequest};
use mote_catalog::host::{Host, terminated};
use mote_catalog::tag::CommandTag;
use mote_common::error::{Severity, state};
use mote_common::{Lsn, Oid, SqlError, SqlResult};
use mote_types::calendar::POSTGRES_EPOCH_UNIX_US;

use super::Connection;
use crate::pgwire::backend;
use crate::pgwire::frontend::protocol_violation;
use crate::replication::command::slot_created;
use crate::replication::logical::options;
use crate::replication::logical::output::Output;
use crate::replication::logical::rows::TextForm;
use crate::replication::logical::source::{Order, Source};
use crate::replication::logical::syntax::{CreateSlot, StartLogical, redundant};
use crate::suspension::Suspend;
use crate::wire::OUTPUT_LOW_WATER_BYTES;

/// A subscriber that has not confirmed what it was sent is told the position, so that it can, this often.
const TELL_NS: u64 = 100_000_000;
/// A subscriber that says nothing is asked after this, and given up after twice as much: half of `wal_sender_timeout`.
const SILENCE_NS: u64 = 30_000_000_000;
/// Positions for which it is known from where the log must be read. Beyond that every second one is forgotten: the slot
/// then keeps somewhat more than it must.
const MARKS_MAX: usize = 1024;
/// What a subscriber says is some dozen bytes long.
const SAID_BYTES_MAX: usize = 64 << 10;
/// Reads from a subscriber that says more and more, before others have the thread.
const READS_MAX: usize = 16;
/// The only plugin there is.
const PLUGIN: &str = "pgoutput";

/// What happens with the snapshot at which a slot begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SnapshotUse {
    Export,
    /// The session's transaction reads through it.
    Use,
    Nothing,
}

/// A stream to one subscriber.
struct Streaming {
    slot: String,
    source: Source,
    /// All up to here is in the output.
    told: Lsn,
    /// The subscriber was told so.
    announced: Lsn,
    announced_ns: u64,
    /// What the subscriber has.
    confirmed: Lsn,
    /// For a subscriber that has everything up to `.0`, the log is needed from `.1` on; ascending.
    marks: VecDeque<(Lsn, Lsn)>,
    heard_ns: u64,
    asked: bool,
    /// It wants to be told the position at once.
    wants_reply: bool,
    /// CopyDone was received.
    over: bool,
}

impl Connection {
    /// CREATE_REPLICATION_SLOT .. LOGICAL.
    pub(super) fn create_logical_slot(
        &mut self,
        command: &CreateSlot,
        plugin: &str,
        yielder: &Yielder<(), Suspend>,
    ) -> SqlResult<()> {
        let what = self.snapshot_use(command)?;
        self.require_database()?;
        if plugin != PLUGIN {
            return Err(SqlError::unsupported(format!("output plugin \"{plugin}\"")));
        }
        self.check_snapshot_use(what)?;
        let (session, database) = self.logical_session()?;
        let request = SlotRequest::CreateLogical {
            name: command.name.clone(),
            database,
            session,
        };
        let position = self.ask_slot(request, yielder)?.unwrap_or(Lsn::ZERO);
        let made = self.settle_slot(command, what, position, yielder);
        let (confirmed, snapshot) = match made {
            Ok(made) => made,
            Err(error) => {
                let name = command.name.clone();
                // Best effort: the session's end drops it, too.
                let _ = self.ask_slot(SlotRequest::Drop { name, session }, yielder);
                return Err(error);
            }
        };
        let (columns, mut row) = slot_created(&command.name);
        row[1] = Some(confirmed.to_string());
        row[2] = snapshot;
        row[3] = Some(plugin.into());
        self.send_row(&columns, &row, "CREATE_REPLICATION_SLOT")
    }

    /// Takes the snapshot at which the slot's stream begins; answers its position, and its name where it is exported.
    fn settle_slot(
        &mut self,
        command: &CreateSlot,
        what: SnapshotUse,
        position: Lsn,
        yielder: &Yielder<(), Suspend>,
    ) -> SqlResult<(Lsn, Option<String>)> {
        let log = self.wire.shared.database.engine().log().clone();
        // What is kept from `position` on may have gone before the slot kept it.
        if log.oldest() > position {
            let message = "requested WAL segment has already been removed";
            return Err(SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
        }
        let mut exported = None;
        let confirmed = match what {
            SnapshotUse::Nothing => log.stable(),
            SnapshotUse::Use => {
                self.with_host(yielder, false, |session, host| session.slot_snapshot(host))?
            }
            SnapshotUse::Export => {
                self.begin_exported(yielder)?;
                let at = self.with_host(yielder, false, |session, host| session.slot_snapshot(host))?;
                exported = Some(self.with_host(yielder, false, |session, _| session.export_snapshot())?);
                at
            }
        };
        // Whoever copies tables through the snapshot must not have seen what another leader cuts off.
        self.with_host(yielder, false, |_, host| host.wait_stable(confirmed));
        if log.stable() < confirmed {
            return Err(terminated());
        }
        let request = SlotRequest::Settle {
            name: command.name.clone(),
            confirmed,
            temporary: command.temporary,
        };
        self.ask_slot(request, yielder)?;
        if !command.temporary {
            self.await_slots(yielder)?;
        }
        Ok((confirmed, exported))
    }

    /// A transaction of the connection's own, which holds the exported snapshot until the next command.
    fn begin_exported(&mut self, yielder: &Yielder<(), Suspend>) -> SqlResult<()> {
        self.run_silently("BEGIN READ ONLY ISOLATION LEVEL REPEATABLE READ", yielder)?;
        self.exports = true;
        Ok(())
    }

    /// Before each command: the snapshot that the last one exported is given up.
    pub(super) fn end_exported(&mut self, yielder: &Yielder<(), Suspend>) -> SqlResult<()> {
        match std::mem::take(&mut self.exports) {
            true => self.run_silently("ROLLBACK", yielder),
            false => Ok(()),
        }
    }

    /// A statement that the client does not hear of.
    fn run_silently(&mut self, text: &str, yielder: &Yielder<(), Suspend>) -> SqlResult<()> {
        let before = self.wire.output.len();
        self.with_host(yielder, false, |session, host| session.query(text, host))?;
        self.wire.output.truncate(before);
        Ok(())
    }

    fn snapshot_use(&self, command: &CreateSlot) -> SqlResult<SnapshotUse> {
        let mut what = SnapshotUse::Export;
        for (at, option) in command.options.iter().enumerate() {
            if command.options[..at]
                .iter()
                .any(|earlier| earlier.name == option.name)
            {
                return Err(redundant());
            }
            match &*option.name {
                "snapshot" => {
                    what = match option.text()? {
                        "export" => SnapshotUse::Export,
                        "use" => SnapshotUse::Use,
                        "nothing" => SnapshotUse::Nothing,
                        other => {
                            let message = format!(
                                "unrecognized value for CREATE_REPLICATION_SLOT option \"snapshot\": \"{other}\""
                            );
                            return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
                        }
                    }
                }
                "two_phase" if option.flag()? => {
                    return Err(SqlError::unsupported("TWO_PHASE of replication slots"));
                }
                "two_phase" => {}
                "reserve_wal" => return Err(redundant()),
                other => return Err(SqlError::internal(format!("unrecognized option: {other}"))),
            }
        }
        Ok(what)
    }

    fn check_snapshot_use(&self, what: SnapshotUse) -> SqlResult<()> {
        let session = self.session.as_ref();
        let status = session.map_or(IdleStatus::Outside, |session| session.status());
        let refused = |why: &str| Err(SqlError::internal(format!("CREATE_REPLICATION_SLOT ... {why}")));
        match what {
            SnapshotUse::Export if status != IdleStatus::Outside => {
                refused("(SNAPSHOT 'export') must not be called inside a transaction")
            }
            SnapshotUse::Use if status != IdleStatus::InBlock => {
                refused("(SNAPSHOT 'use') must be called inside a transaction")
            }
            _ => Ok(()),
        }
    }

    fn require_database(&self) -> SqlResult<()> {
        if self.database_of_replication {
            return Ok(());
        }
        let message = "logical decoding requires a database connection";
        Err(SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message))
    }

    fn logical_session(&self) -> SqlResult<(u32, Oid)> {
        let session = self.session.as_ref();
        let session = session.ok_or_else(|| SqlError::internal("there is no session"))?;
        Ok((session.pid(), session.database_oid()))
    }

    /// START_REPLICATION SLOT .. LOGICAL: streams until the subscriber or the server ends it.
    pub(super) fn stream_logical(
        &mut self,
        command: &StartLogical,
        yielder: &Yielder<(), Suspend>,
    ) -> SqlResult<()> {
        self.require_database()?;
        if self
            .session
            .as_ref()
            .is_some_and(|session| session.status() != IdleStatus::Outside)
        {
            let message = "START_REPLICATION cannot run inside a transaction block";
            return Err(SqlError::new(state::ACTIVE_SQL_TRANSACTION, message));
        }
        let (session, database) = self.logical_session()?;
        let request = SlotRequest::Acquire {
            name: command.slot.clone(),
            session,
        };
        self.ask_slot(request, yielder)?;
        let begun = self.begin_stream(command, database);
        let result = begun.and_then(|mut stream| {
            backend::copy_both_response(&mut self.wire.output);
            self.run_stream(&mut stream, yielder)
        });
        let name = command.slot.clone();
        // Before the answer: whoever hears it finds the slot free.
        let released = self.ask_slot(SlotRequest::Release { name }, yielder);
        result?;
        released?;
        self.wire.send(backend::copy_done)?;
        self.wire
            .send(|out| backend::command_complete(out, CommandTag::Copy(0)))?;
        self.wire
            .send(|out| backend::command_complete(out, CommandTag::Word("START_REPLICATION")))
    }

    fn begin_stream(&mut self, command: &StartLogical, database: Oid) -> SqlResult<Streaming> {
        let asked = options::read(&command.options)?;
        let shared = self.wire.shared.clone();
        let slots = shared.database.cluster().slots();
        let slot = slots.iter().find(|slot| slot.name == command.slot);
        let (from, confirmed) = usable(slot, &command.slot, database)?;
        let start = confirmed.max(command.start);
        if from > start {
            return Err(lost(&command.slot));
        }
        let session = self.session.as_ref();
        let session = session.ok_or_else(|| SqlError::internal("there is no session"))?;
        let mut output = Output::new(
            shared.database.catalog().clone(),
            database,
            asked.publications,
            TextForm {
                format: session.format().clone(),
                converter: self.wire.converter,
            },
        );
        output.look_up()?;
        let order = Order {
            engine: shared.database.engine().clone(),
            history: self.hub()?.history().clone(),
            from,
            start,
            output,
            store: shared.database.catalog().clone(),
            database,
            search_path: session.search_path().to_vec(),
        };
        let source = Source::start(order, self.wire.waker.clone());
        let source =
            source.map_err(|error| SqlError::internal(format!("no thread could be started: {error}")))?;
        let now_ns = shared.now_ns();
        Ok(Streaming {
            slot: command.slot.clone(),
            source,
            told: start,
            announced: Lsn::ZERO,
            announced_ns: now_ns,
            confirmed,
            marks: VecDeque::new(),
            heard_ns: now_ns,
            asked: false,
            wants_reply: false,
            over: false,
        })
    }

    fn run_stream(&mut self, stream: &mut Streaming, yielder: &Yielder<(), Suspend>) -> SqlResult<()> {
        let mut reads = 0;
        loop {
            self.hear(stream)?;
            if stream.over {
                return Ok(());
            }
            if self.wire.broken {
                return Err(
                    SqlError::new(state::CONNECTION_FAILURE, "the subscriber has gone")
                        .severity(Severity::Fatal),
                );
            }
            if self.wire.signals.terminated() {
                return Err(terminated());
            }
            // A cancel is for a statement, of which there is none.
            self.wire.signals.take_cancel();
            while self.wire.unsent_bytes() <= OUTPUT_LOW_WATER_BYTES
                && let Some(piece) = stream.source.take()?
            {
                self.wire.output.extend_from_slice(&piece.messages);
                stream.told = stream.told.max(piece.position);
                if let Some(from) = piece.needs {
                    stream.mark(piece.position, from);
                }
                self.wire.due = true;
                self.wire.flush();
            }
            self.keep_alive(stream)?;
            self.wire.due = true;
            self.wire.flush();
            if !self.wire.fill() {
                let at = self.wire.shared.now_ns() + TELL_NS;
                self.pause(yielder, Some(at));
                reads = 0;
            } else if reads == READS_MAX {
                self.with_host(yielder, false, |_, host| host.yield_now());
                reads = 0;
            } else {
                reads += 1;
            }
        }
    }

    /// Messages of the subscriber.
    fn hear(&mut self, stream: &mut Streaming) -> SqlResult<()> {
        let fatal = |error: SqlError| error.severity(Severity::Fatal);
        while let Some((kind, body)) = self.wire.input.peek(SAID_BYTES_MAX).map_err(fatal)? {
            let end = body.end;
            let body = &self.wire.input.unread()[body];
            let confirmed = match kind {
                b'd' => stream.status(body)?,
                b'c' => {
                    stream.over = true;
                    None
                }
                b'X' => {
                    self.closing = true;
                    stream.over = true;
                    None
                }
                b'H' | b'S' => None,
                other => {
                    let message = format!("unexpected message type 0x{other:02X} during replication");
                    return Err(protocol_violation(message).severity(Severity::Fatal));
                }
            };
            self.wire.input.consume(end);
            stream.heard_ns = self.wire.shared.now_ns();
            stream.asked = false;
            if let Some(confirmed) = confirmed {
                self.confirm(stream, confirmed)?;
            }
            if stream.over {
                break;
            }
        }
        Ok(())
    }

    /// The subscriber has everything up to `confirmed`: the slot lets go of log. Nobody waits for that to be written.
    fn confirm(&mut self, stream: &mut Streaming, confirmed: Lsn) -> SqlResult<()> {
        // What it was not told it cannot have.
        let confirmed = confirmed.min(stream.told);
        if confirmed <= stream.confirmed {
            return Ok(());
        }
        stream.confirmed = confirmed;
        let request = SlotRequest::Confirm {
            name: stream.slot.clone(),
            confirmed,
            position: stream.needed_from(confirmed),
        };
        let database = self.wire.shared.database.clone();
        database.cluster().ask_slot(request).map(drop)
    }

    /// Tells the subscriber how far the log was read, where nothing else does.
    fn keep_alive(&mut self, stream: &mut Streaming) -> SqlResult<()> {
        let now_ns = self.wire.shared.now_ns();
        let silent_ns = now_ns.saturating_sub(stream.heard_ns);
        if silent_ns >= 2 * SILENCE_NS {
            let message = "terminating walsender process due to replication timeout";
            return Err(SqlError::new(state::CONNECTION_FAILURE, message).severity(Severity::Fatal));
        }
        let asks = silent_ns >= SILENCE_NS && !stream.asked;
        let lags = stream.told > stream.confirmed && stream.told > stream.announced;
        let due = lags && now_ns >= stream.announced_ns + TELL_NS;
        // Who reads nothing is not answered, however often it asks.
        let answers = stream.wants_reply && self.wire.unsent_bytes() <= OUTPUT_LOW_WATER_BYTES;
        if !(asks || due || answers) {
            return Ok(());
        }
        stream.asked |= asks;
        stream.wants_reply = false;
        (stream.announced, stream.announced_ns) = (stream.told, now_ns);
        let now_us = self.wire.shared.database.now_us() - POSTGRES_EPOCH_UNIX_US;
        let mut message = vec![b'k'];
        message.extend_from_slice(&stream.told.0.to_be_bytes());
        message.extend_from_slice(&now_us.to_be_bytes());
        message.push(asks as u8);
        backend::copy_data(&mut self.wire.output, &message);
        Ok(())
    }
}

impl Streaming {
    /// A message of the subscriber; answers what it has flushed, if it says so.
    fn status(&mut self, body: &[u8]) -> SqlResult<Option<Lsn>> {
        let malformed =
            || protocol_violation("a message of the subscriber is malformed").severity(Severity::Fatal);
        match body.first() {
            // Written, flushed, applied, the time, whether it wants an answer.
            Some(b'r') if body.len() == 34 => {
                let flushed = body[9..17].try_into().map(u64::from_be_bytes).unwrap_or_default();
                self.wants_reply |= body[33] != 0;
                Ok(Some(Lsn(flushed)))
            }
            // Of hot standbys.
            Some(b'h') => Ok(None),
            _ => Err(malformed()),
        }
    }

    fn mark(&mut self, position: Lsn, from: Lsn) {
        self.marks.push_back((position, from));
        if self.marks.len() > MARKS_MAX {
            let mut number = 0;
            self.marks.retain(|_| {
                number += 1;
                number % 2 == 0
            });
        }
    }

    /// From where the log is needed by a subscriber with everything up to `confirmed`; zero: as before.
    fn needed_from(&mut self, confirmed: Lsn) -> Lsn {
        let mut needed = Lsn::ZERO;
        while let Some(&(position, from)) = self.marks.front()
            && position <= confirmed
        {
            needed = from;
            self.marks.pop_front();
        }
        needed
    }
}

/// From where the slot's log is read, and what its subscriber has.
fn usable(slot: Option<&SlotFacts>, name: &str, database: Oid) -> SqlResult<(Lsn, Lsn)> {
    let refused = |message: String| Err(SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
    let Some(slot) = slot else {
        let message = format!("replication slot \"{name}\" does not exist");
        return Err(SqlError::new(state::UNDEFINED_OBJECT, message));
    };
    let Some((of, confirmed)) = slot.logical else {
        return refused("cannot use physical replication slot for logical decoding".into());
    };
    if of != database {
        return refused(format!(
            "replication slot \"{name}\" was not created in this database"
        ));
    }
    match slot.status {
        Some("lost") => Err(lost(name)),
        _ => Ok((slot.position, confirmed)),
    }
}

fn lost(name: &str) -> SqlError {
    let message = format!("can no longer get changes from replication slot \"{name}\"");
    SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        .detail("This slot has been invalidated because it exceeded the maximum reserved size.")
}
