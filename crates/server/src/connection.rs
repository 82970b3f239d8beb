//! One client's conversation, in blocking style inside a coroutine: `log_in`, then messages until its input is used up.
//!
//! Replies gather in `Wire::output` and leave in one write when the input is used up. `Wire::gate` holds them back
//! while they tell of a transaction that is not safe yet; the conversation itself goes on meanwhile.
//!
//! Read in this order: `log_in` with `proof`, this file (the loop over messages, the simple query), `extended` (Parse to
//! Sync), `function_call`, `replication` (the commands of a follower).
//!
//! Source: PostgreSQL's backend startup and main loop (postmaster.c, auth.c, PostgresMain in postgres.c). Promises: what a client sends
//! gives a reply or ends its own connection. Leaves out: bytes of messages (`pgwire`), sockets (`wire`), SQL (`mote_exec`).

mod extended;
mod function_call;
mod log_in;
mod logical;
mod proof;
mod replication;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use corosensei::Yielder;
use mote_catalog::activity::IdleStatus;
use mote_catalog::directory::Nudge;
use mote_catalog::host::terminated;
use mote_common::error::{Severity, state};
use mote_common::{SqlError, SqlResult, work};
use mote_engine::Awaited;
use mote_exec::session::Session;

use crate::half_open::Pass;
use crate::host::{FiberPayer, WireHost};
use crate::pgwire::frontend::{Fields, MESSAGE_BYTES_MAX, protocol_violation};
use crate::pgwire::{backend, recode};
use crate::registry::Place;
use crate::shared::Shared;
use crate::socket::Stream;
use crate::suspension::{Reason, Suspend, suspend};
use crate::waker::SessionWaker;
use crate::wire::{BUFFER_KEPT_BYTES, OUTPUT_LOW_WATER_BYTES, Wire};

/// Unsent bytes at which a client gets no further notifications: they stay in the queue.
const NOTIFICATIONS_HIGH_WATER_BYTES: usize = 64 << 10;
/// A connection that is over waits this long for its client to take what was said last.
const LINGER_NS: u64 = 10_000_000_000;

/// What the worker has to know when a connection gives its stack back.
#[derive(Clone, Copy, Debug)]
pub enum Served {
    Closed,
    Idle { gate: Awaited, deadline_ns: Option<u64> },
}

pub struct Connection {
    wire: Wire,
    session: Option<Session>,
    pid: Option<u32>,
    /// Its place among the connections that have not authenticated, until it has.
    pass: Option<Pass>,
    /// Its place among the sessions, afterwards.
    place: Option<Place>,
    /// After an error in the extended protocol messages are skipped until Sync.
    skip_to_sync: bool,
    closing: bool,
    /// When a connection that is over is given up though its client has not taken everything.
    linger_until_ns: Option<u64>,
    /// The message being handled; its buffer is used again.
    message: Vec<u8>,
    /// The last that was said is ReadyForQuery: the client has the word.
    is_ready: bool,
    /// When the session is ended if its client goes on saying nothing.
    idle_deadline_ns: Option<u64>,
    /// It speaks the replication protocol.
    replicates: bool,
    /// Of a database: it takes SQL as well.
    database_of_replication: bool,
    /// The transaction that is open holds a snapshot which the last command has exported.
    exports: bool,
}

impl Connection {
    pub fn new(stream: Stream, shared: Arc<Shared>, waker: Arc<SessionWaker>, pass: Pass) -> Connection {
        pass.arrived(waker.clone());
        Connection {
            wire: Wire::new(stream, shared, waker),
            session: None,
            pid: None,
            pass: Some(pass),
            place: None,
            skip_to_sync: false,
            closing: false,
            linger_until_ns: None,
            message: Vec::new(),
            is_ready: false,
            idle_deadline_ns: None,
            replicates: false,
            database_of_replication: false,
            exports: false,
        }
    }

    pub fn stream(&mut self) -> &mut Stream {
        &mut self.wire.stream
    }

    pub fn waker(&self) -> &SessionWaker {
        &self.wire.waker
    }

    /// Sends the replies of an idle connection: those held back, and those that [`Connection::serve`] left.
    pub fn send_pending(&mut self) {
        self.wire.flush();
        self.wire.rest();
        self.go_on_notifying();
    }

    /// Notifications that waited for room which there is now: the next run sends them, after the others have run. Nothing else
    /// tells: to an empty socket no event comes. A client that does not read has no room, and a transaction that is open hears
    /// of them at its end; a nudge there would come back for ever.
    fn go_on_notifying(&self) {
        if self.can_notify() {
            self.wire.waker.nudge();
        }
    }

    /// The client waits, has something to hear, and reads.
    fn can_notify(&self) -> bool {
        let idle = |session: &Session| session.status() == IdleStatus::Outside;
        self.wire.signals.is_notified()
            && !self.closing
            && !self.wire.broken
            && self.wire.unsent_bytes() <= NOTIFICATIONS_HIGH_WATER_BYTES
            && self.session.as_ref().is_some_and(idle)
    }

    /// Lets go of what the session keeps for the next run of its statements.
    pub fn forget_operators(&mut self) {
        if let Some(session) = &mut self.session {
            session.forget_operators();
        }
    }

    /// Whether replies stand in the buffer that nothing holds back.
    pub fn has_unsent(&self) -> bool {
        self.wire.unsent_bytes() > 0 && self.wire.pending_gate().is_nothing()
    }

    pub fn served(&self) -> Served {
        let deadline_ns = self.idle_deadline_ns.or(self.linger_until_ns);
        let taken = self.wire.unsent_bytes() == 0;
        let given_up = || deadline_ns.is_some_and(|deadline| self.wire.shared.now_ns() >= deadline);
        if self.wire.broken || (self.closing && (taken || given_up())) {
            return Served::Closed;
        }
        Served::Idle {
            gate: self.wire.pending_gate(),
            deadline_ns,
        }
    }

    /// Runs until the input is used up or the connection is over. A panic ends this session, not the worker.
    ///
    /// The last replies stay in the buffer: the event loop sends them together with those of other connections
    /// ([`Connection::send_pending`]).
    pub fn serve(&mut self, yielder: &Yielder<(), Suspend>) {
        self.wire.interruption.set_drained(false);
        let payer = FiberPayer {
            yielder,
            interruption: self.wire.interruption.clone(),
        };
        let converse = || work::paid_by(&payer, || self.converse(yielder));
        let result = std::panic::catch_unwind(AssertUnwindSafe(converse));
        let fatal = match result {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error),
            Err(_) => Some(
                SqlError::internal("the server met an unexpected condition and ended this session")
                    .severity(Severity::Fatal)
                    .hint("Please report this with the server's log."),
            ),
        };
        if let Some(error) = fatal {
            self.wire.send_error(&error);
            self.closing = true;
        }
        if self.wire.take_orderly_end() {
            self.closing = true;
        }
        if self.closing && self.linger_until_ns.is_none() {
            self.idle_deadline_ns = None;
            self.linger_until_ns = Some(self.wire.shared.now_ns() + LINGER_NS);
        }
        // Here, where it holds nobody up, and not when the connection is dropped: it may have much to roll back.
        if (self.closing || self.wire.broken)
            && let Some(mut session) = self.session.take()
        {
            session.close();
        }
        if self.closing {
            self.wire.end();
        }
        // What a large result needed goes here where it has left already, and in `send_pending` where something is left to send.
        if self.wire.unsent_bytes() == 0 {
            self.wire.rest();
        }
    }

    fn converse(&mut self, yielder: &Yielder<(), Suspend>) -> SqlResult<()> {
        if self.closing {
            return Ok(());
        }
        if self.session.is_none() && !self.log_in(yielder)? {
            self.closing = true;
            return Ok(());
        }
        let session = self.session.as_ref();
        let _types = session.map(|session| session.enter_types());
        loop {
            while !self.closing && self.next_message()? {
                // A cancel that came while the client was waited for is for no statement: what it meant has ended.
                self.wire.signals.take_cancel();
                self.handle(yielder)?;
                self.wait_for_room(yielder);
            }
            if self.closing || self.wire.broken {
                return Ok(());
            }
            if self.wire.signals.terminated() {
                return Err(terminated());
            }
            if self.wire.signals.take_revocation()
                && let Some(session) = &mut self.session
            {
                session.give_up_revoked();
            }
            self.check_idle_timeout()?;
            if self.wire.interruption.is_drained() && !self.wire.signals.is_notified() {
                // Here, not when they are sent: behind a gate that is reached already they would stand in the queue of
                // their level, behind replies that wait for others.
                self.wire.settle_gate();
                return Ok(());
            }
            self.wire.flush();
            // A client that does not read its notifications gets no more of them for now.
            if self.can_notify() {
                self.notify();
                self.wire.flush();
                self.go_on_notifying();
            }
            if !self.wire.fill() {
                return Ok(());
            }
            self.idle_deadline_ns = None;
            self.wire
                .charge_buffers()
                .map_err(|e| e.severity(Severity::Fatal))?;
        }
    }

    /// A client that pipelines but does not read waits until it has read.
    fn wait_for_room(&mut self, yielder: &Yielder<(), Suspend>) {
        if !self.wire.is_over_high_water() {
            return;
        }
        self.wire.flush();
        while self.wire.unsent_bytes() > OUTPUT_LOW_WATER_BYTES
            && !self.wire.broken
            && !self.wire.signals.terminated()
        {
            // Only what the socket refused is announced by an event when it has room again.
            self.pause(yielder, None);
        }
    }

    /// Gives the thread away until something happens.
    fn pause(&mut self, yielder: &Yielder<(), Suspend>, deadline_ns: Option<u64>) {
        self.wire.flush();
        if self.wire.broken {
            return;
        }
        let gate = self.wire.pending_gate();
        suspend(
            yielder,
            Suspend {
                reason: Reason::Wait,
                gate,
                deadline_ns,
            },
        );
        self.wire.interruption.set_drained(false);
    }

    fn check_idle_timeout(&mut self) -> SqlResult<()> {
        let Some(session) = &self.session else {
            return Ok(());
        };
        let outside = session.status() == IdleStatus::Outside;
        let timeout_ms = match outside {
            true => session.idle_session_timeout_ms(),
            false => session.idle_in_transaction_timeout_ms(),
        };
        if timeout_ms == 0 || !self.is_ready {
            self.idle_deadline_ns = None;
            return Ok(());
        }
        let now = self.wire.shared.now_ns();
        match self.idle_deadline_ns {
            None => {
                self.idle_deadline_ns = Some(now + timeout_ms * 1_000_000);
                Ok(())
            }
            Some(deadline) if now < deadline => Ok(()),
            Some(_) => {
                let (state, message) = match outside {
                    true => (
                        state::IDLE_SESSION_TIMEOUT,
                        "terminating connection due to idle-session timeout",
                    ),
                    false => (
                        state::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
                        "terminating connection due to idle-in-transaction timeout",
                    ),
                };
                Err(SqlError::new(state, message).severity(Severity::Fatal))
            }
        }
    }

    /// Moves the next complete message to `self.message`: its type, then its body.
    fn next_message(&mut self) -> SqlResult<bool> {
        let fatal = |e: SqlError| e.severity(Severity::Fatal);
        let Some((kind, body)) = self.wire.input.peek(MESSAGE_BYTES_MAX).map_err(fatal)? else {
            return Ok(false);
        };
        self.message.clear();
        self.message.push(kind);
        self.message
            .extend_from_slice(&self.wire.input.unread()[body.clone()]);
        self.wire.input.consume(body.end);
        Ok(true)
    }

    fn handle(&mut self, yielder: &Yielder<(), Suspend>) -> SqlResult<()> {
        let message = std::mem::take(&mut self.message);
        self.is_ready = false;
        // That of the last statement: Parse and Bind have none.
        self.wire.signals.set_deadline(None);
        let kind = message[0];
        let result = self.dispatch(kind, &message[1..], yielder);
        self.message = message;
        if self.message.capacity() > BUFFER_KEPT_BYTES {
            self.message = Vec::new();
        }
        match result {
            Ok(()) => Ok(()),
            Err(error) if error.fields().severity >= Severity::Fatal => Err(error),
            Err(error) => {
                self.failed(kind, error, yielder);
                Ok(())
            }
        }
    }

    fn dispatch(&mut self, kind: u8, body: &[u8], yielder: &Yielder<(), Suspend>) -> SqlResult<()> {
        let skipped = self.skip_to_sync && kind != b'Q';
        let recoded = match self.wire.converter {
            Some(converter) if !skipped => recode::received(kind, body, converter)?,
            _ => None,
        };
        let body = recoded.as_deref().unwrap_or(body);
        if matches!(kind, b'P' | b'B' | b'D' | b'E') && !skipped {
            self.begin_message()?;
        }
        match kind {
            b'X' => {
                self.closing = true;
                Ok(())
            }
            b'S' => {
                self.skip_to_sync = false;
                self.sync(yielder)
            }
            _ if skipped => Ok(()),
            b'Q' if self.replicates => self.replication_command(body, yielder),
            b'P' | b'B' | b'D' | b'E' | b'C' | b'F' if self.replicates => Err(protocol_violation(
                "extended query protocol not supported in a replication connection",
            )),
            b'Q' => self.simple_query(body, yielder),
            b'P' => self.parse(body, yielder),
            b'B' => self.bind(body, yielder),
            b'D' => self.describe(body, yielder),
            b'E' => self.execute(body, yielder),
            b'C' => self.close_object(body),
            b'H' => {
                self.wire.flush();
                Ok(())
            }
            // Left over from a COPY that failed: the client did not know yet.
            b'd' | b'c' | b'f' => Ok(()),
            b'F' => self.function_call(body, yielder),
            other => Err(
                protocol_violation(format!("invalid frontend message type {other}"))
                    .severity(Severity::Fatal),
            ),
        }
    }

    /// Reports a statement's failure; the transaction block follows.
    fn failed(&mut self, kind: u8, error: SqlError, yielder: &Yielder<(), Suspend>) {
        // A client_encoding that the failed transaction has set holds for its error still.
        let converter = self.wire.converter;
        self.with_host(yielder, false, |session, host| {
            session.statement_failed(&error, host)
        });
        let converter = std::mem::replace(&mut self.wire.converter, converter);
        self.wire.send_error(&error);
        self.wire.converter = converter;
        match kind {
            b'Q' | b'S' | b'F' => self.ready(),
            _ => self.skip_to_sync = true,
        }
    }

    /// NOTIFY: what the session's channels have for an idle client, as far as it reads. Breaks off where there is no room;
    /// [`Connection::go_on_notifying`] sees to the rest.
    fn notify(&mut self) {
        let Some(session) = self
            .session
            .as_mut()
            .filter(|session| session.status() == IdleStatus::Outside)
        else {
            return;
        };
        self.wire.signals.clear_notified();
        while let Some(batch) = session.next_notifications() {
            let own = batch.notifications.iter();
            for notification in own.filter(|notification| session.listens_to(&notification.channel)) {
                let (channel, payload) = (&notification.channel, &notification.payload);
                self.wire
                    .send_or_warn(|out| backend::notification(out, batch.pid, channel, payload));
            }
            self.wire.hold_back(batch.gate);
            self.wire.due = true;
            if self.wire.unsent_bytes() > NOTIFICATIONS_HIGH_WATER_BYTES {
                // The rest when this has been read.
                self.wire.signals.notify();
                break;
            }
        }
    }

    fn ready(&mut self) {
        if self.wire.signals.is_notified() {
            self.notify();
        }
        let status = self.session.as_mut().map_or(IdleStatus::Outside, Session::ready);
        // That one is none of the client's.
        let status = if self.exports { IdleStatus::Outside } else { status };
        self.wire.send_changed_settings();
        backend::ready_for_query(&mut self.wire.output, status);
        self.is_ready = true;
        self.wire.due = true;
        self.wire.answered = false;
    }

    fn with_host<T>(
        &mut self,
        yielder: &Yielder<(), Suspend>,
        describe_rows: bool,
        run: impl FnOnce(&mut Session, &mut WireHost<'_>) -> T,
    ) -> T {
        let session = self
            .session
            .as_mut()
            .expect("messages are handled after start-up");
        let mut host = WireHost {
            wire: &mut self.wire,
            yielder,
            describe_rows,
        };
        run(session, &mut host)
    }

    fn simple_query(&mut self, body: &[u8], yielder: &Yielder<(), Suspend>) -> SqlResult<()> {
        let mut fields = Fields::new(body);
        let text = fields.string()?;
        fields.end()?;
        self.skip_to_sync = false;
        self.wire.result.formats.clear();
        self.with_host(yielder, true, |session, host| session.query(text, host))?;
        self.ready();
        Ok(())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.session.take();
        if let Some(pid) = self.pid.take() {
            self.wire.shared.database.sessions().unregister(pid);
            self.wire.shared.database.cluster().session_ended(pid);
        }
    }
}
