//! The commands of a connection that replicates; the last one gives the socket away.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};

use corosensei::Yielder;
use mote_catalog::cluster::{SlotAnswer, SlotRequest};
use mote_catalog::host::{Host, OutputColumn, WaitEnd, canceled, terminated};
use mote_catalog::tag::CommandTag;
use mote_common::error::{Severity, state};
use mote_common::{SqlError, SqlResult};

use super::Connection;
use crate::cluster::Seat;
use crate::pgwire::backend;
use crate::pgwire::frontend::{Fields, protocol_violation};
use crate::replication::command::{self, Command};
use crate::replication::hub::Hub;
use crate::replication::link::Link;
use crate::replication::promise;
use crate::suspension::Suspend;

/// Between two looks for another thread's answer: about what a write to disk takes.
const LOOK_NS: u64 = 1_000_000;
/// Between two looks whether a slot is used.
const USED_LOOK_NS: u64 = 20_000_000;

impl Connection {
    /// A command of a connection that replicates.
    pub(super) fn replication_command(
        &mut self,
        body: &[u8],
        yielder: &Yielder<(), Suspend>,
    ) -> SqlResult<()> {
        let mut fields = Fields::new(body);
        let text = fields.string()?;
        fields.end()?;
        self.skip_to_sync = false;
        self.wire.result.formats.clear();
        self.end_exported(yielder)?;
        match command::parse(text, self.database_of_replication)? {
            Command::Show | Command::Sql => {
                self.with_host(yielder, true, |session, host| session.query(text, host))?
            }
            Command::IdentifySystem => {
                let database = &self.wire.shared.database;
                let (columns, row) = command::identify_system(database, self.replicated_database());
                self.send_row(&columns, &row, "IDENTIFY_SYSTEM")?;
            }
            Command::TimelineHistory(term) => {
                let history = self.hub()?.history().clone();
                let (columns, row) = command::timeline_history(&history, term);
                self.send_row(&columns, &row, "TIMELINE_HISTORY")?;
            }
            Command::CreateSlot {
                name,
                temporary,
                reserve,
            } => {
                let temporary = self.pid.filter(|_| temporary);
                let lasts = temporary.is_none();
                let (columns, row) = command::slot_created(&name);
                let request = SlotRequest::Create {
                    name,
                    reserve,
                    temporary,
                };
                self.ask_slot(request, yielder)?;
                if lasts {
                    self.await_slots(yielder)?;
                }
                self.send_row(&columns, &row, "CREATE_REPLICATION_SLOT")?;
            }
            Command::CreateLogicalSlot(command, plugin) => {
                self.create_logical_slot(&command, &plugin, yielder)?;
            }
            Command::StartLogical(command) => self.stream_logical(&command, yielder)?,
            Command::DropSlot(name, wait) => {
                self.drop_slot(name, wait, yielder)?;
                self.wire.send(|out| {
                    backend::command_complete(out, CommandTag::Word("DROP_REPLICATION_SLOT"));
                })?;
            }
            Command::ReadSlot(name) => {
                let slots = self.wire.shared.database.cluster().slots();
                let (columns, row) = command::read_slot(slots.iter().find(|slot| slot.name == name))?;
                self.send_row(&columns, &row, "READ_REPLICATION_SLOT")?;
            }
            Command::Promise(ask) => {
                let answer = self.seat()?.ask(ask);
                let answer = self.await_answer(&answer, yielder)?;
                let (columns, row) = promise::answered(&answer);
                self.send_row(&columns, &row, "PROMISE")?;
            }
            Command::Switchover(name) => {
                let begun = self.seat()?.switch_to(name);
                self.await_answer(&begun, yielder)?
                    .map_err(|refused| SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, refused))?;
                self.wire
                    .send(|out| backend::command_complete(out, CommandTag::Word("SWITCHOVER")))?;
            }
            Command::Start => return self.hand_over(yielder),
        }
        self.ready();
        Ok(())
    }

    /// The database of a connection that is to one.
    fn replicated_database(&self) -> Option<&str> {
        let session = self.session.as_ref().filter(|_| self.database_of_replication);
        session.map(|session| session.database_name())
    }

    pub(super) fn hub(&self) -> SqlResult<Arc<Hub>> {
        self.wire.shared.hub.clone().ok_or_else(|| {
            SqlError::unsupported("replication from a server that follows another one")
                .hint("Follow the primary itself.")
        })
    }

    fn seat(&self) -> SqlResult<Arc<Seat>> {
        self.wire.shared.seat.clone().ok_or_else(|| {
            SqlError::new(
                state::OBJECT_NOT_IN_PREREQUISITE_STATE,
                "this server is no node of a cluster",
            )
        })
    }

    /// The hub's thread writes slots to disk.
    pub(super) fn ask_slot(&mut self, request: SlotRequest, yielder: &Yielder<(), Suspend>) -> SlotAnswer {
        let database = self.wire.shared.database.clone();
        let answer = database.cluster().ask_slot(request)?;
        self.await_answer(&answer, yielder)?
    }

    /// A slot that was answered is on every later primary of a cluster.
    pub(super) fn await_slots(&mut self, yielder: &Yielder<(), Suspend>) -> SqlResult<()> {
        let database = self.wire.shared.database.clone();
        let end = self.with_host(yielder, false, |_, host| {
            database.cluster().await_slots(database.engine(), host)
        })?;
        match end {
            WaitEnd::Cancelled => Err(canceled()),
            WaitEnd::Terminated => Err(terminated()),
            WaitEnd::Decided | WaitEnd::Revoked | WaitEnd::TimedOut => Ok(()),
        }
    }

    /// `wait`: until nobody uses the slot.
    fn drop_slot(&mut self, name: String, wait: bool, yielder: &Yielder<(), Suspend>) -> SqlResult<()> {
        let session = self.pid.unwrap_or_default();
        loop {
            let request = SlotRequest::Drop {
                name: name.clone(),
                session,
            };
            match self.ask_slot(request, yielder) {
                Err(error) if wait && error.state() == state::OBJECT_IN_USE => {}
                answer => return answer.map(drop),
            }
            let at = self.wire.shared.now_ns() + USED_LOOK_NS;
            match self.with_host(yielder, false, |_, host| host.sleep_until(at)) {
                WaitEnd::Cancelled => return Err(canceled()),
                WaitEnd::Terminated => return Err(terminated()),
                WaitEnd::Decided | WaitEnd::Revoked | WaitEnd::TimedOut => {}
            }
        }
    }

    /// Another thread's answer, looked for in short pauses.
    fn await_answer<T>(&mut self, answer: &Receiver<T>, yielder: &Yielder<(), Suspend>) -> SqlResult<T> {
        loop {
            match answer.try_recv() {
                Ok(answer) => return Ok(answer),
                Err(TryRecvError::Disconnected) => {
                    return Err(SqlError::internal("nobody answers that any more"));
                }
                Err(TryRecvError::Empty) => {
                    let at = self.wire.shared.now_ns() + LOOK_NS;
                    let slept = self.with_host(yielder, false, |_, host| host.sleep_until(at));
                    // What was asked for may end this session.
                    if let Ok(answer) = answer.try_recv() {
                        return Ok(answer);
                    }
                    match slept {
                        WaitEnd::Cancelled => return Err(canceled()),
                        WaitEnd::Terminated => return Err(terminated()),
                        WaitEnd::Decided | WaitEnd::Revoked | WaitEnd::TimedOut => {}
                    }
                }
            }
        }
    }

    pub(super) fn send_row(
        &mut self,
        columns: &[OutputColumn],
        row: &[Option<String>],
        tag: &'static str,
    ) -> SqlResult<()> {
        // One message each: their texts are converted for clients of other encodings.
        self.wire
            .send(|out| backend::row_description(out, columns, &[]))?;
        self.wire.send(|out| backend::text_row(out, row))?;
        self.wire
            .send(|out| backend::command_complete(out, CommandTag::Word(tag)))
    }

    /// START_REPLICATION: the socket goes to the thread that serves followers, with what encrypts it, and this connection is over.
    fn hand_over(&mut self, yielder: &Yielder<(), Suspend>) -> SqlResult<()> {
        let hub = self.hub()?;
        if !self.wire.input.unread().is_empty() {
            return Err(
                protocol_violation("received data before the answer to START_REPLICATION")
                    .severity(Severity::Fatal),
            );
        }
        backend::copy_both_response(&mut self.wire.output);
        self.wire.flush();
        // Records are numbered: what follows is encrypted behind all that was said here.
        while self.wire.unsent_bytes() > 0 && !self.wire.broken {
            if self.wire.signals.terminated() {
                return Err(terminated());
            }
            self.pause(yielder, None);
        }
        let descriptor = rustix::io::fcntl_dupfd_cloexec(&self.wire.stream, 0);
        let failed = |error| SqlError::internal(format!("the connection could not be handed over: {error}"));
        let descriptor = descriptor.map_err(|error| failed(error).severity(Severity::Fatal))?;
        let link = match self.wire.stream.is_unix() {
            true => Link::unix(descriptor.into()),
            false => Link::tcp(descriptor.into()),
        };
        let link = match self.wire.give_up_channel() {
            Some(channel) => link.encrypted(channel.into_connection()),
            None => link,
        };
        hub.adopt(link);
        self.closing = true;
        Ok(())
    }
}
