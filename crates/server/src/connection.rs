//! One client's conversation, in blocking style inside a coroutine: start-up, then messages until its input is used up.
//!
//! Replies gather in `Wire::output` and leave in one write when the input is used up. `Wire::gate` holds them back
//! while they tell of a transaction that is not safe yet; the conversation itself goes on meanwhile.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use corosensei::Yielder;
use mio::net::TcpStream;
use mote_common::error::{Severity, state};
use mote_common::{Lsn, SqlError, SqlResult};
use mote_exec::session::{Activity, ExecuteEnd, Nudge, Session, SessionIdentity, SessionSignals};
use mote_types::{ColumnType, Datum, input_binary, input_text};

use crate::auth::{AuthMethod, scram};
use crate::host::{WireHost, connection_lost, terminated};
use crate::net::fiber::{Reason, Suspend, suspend};
use crate::net::waker::SessionWaker;
use crate::pgwire::backend;
use crate::pgwire::frontend::{
    self, Bind, Fields, MESSAGE_BYTES_MAX, Parse, ReadBuffer, STARTUP_BYTES_MAX, protocol_violation,
};
use crate::server::Shared;

/// Read at least this much at a time.
const READ_BYTES: usize = 16 << 10;
/// Buffers larger than this are given back when they are empty.
const BUFFER_KEPT_BYTES: usize = 256 << 10;
/// Unsent bytes behind a gate at which a pipelining client is no longer read.
const PIPELINE_HIGH_WATER_BYTES: usize = 4 << 20;
/// Unsent bytes at which a client gets no further notifications: they stay in the queue.
const NOTIFICATIONS_HIGH_WATER_BYTES: usize = 64 << 10;
/// A client has this long to authenticate.
const AUTHENTICATION_TIMEOUT_NS: u64 = 60_000_000_000;

/// The socket, its buffers, and what the session's host needs.
pub struct Wire {
    pub stream: TcpStream,
    pub shared: Arc<Shared>,
    pub waker: Arc<SessionWaker>,
    pub signals: Arc<SessionSignals>,
    pub activity: Arc<Activity>,
    pub input: ReadBuffer,
    pub output: Vec<u8>,
    /// How much of `output` was sent.
    sent: usize,
    /// No unsent byte leaves before the stable horizon reaches this.
    pub gate: Lsn,
    /// Unsent bytes hold something that no statement under way may keep back: a ReadyForQuery, a notice.
    pub due: bool,
    /// The shape of the rows under way; here so that its memory is used again.
    pub result: ResultShape,
    /// The socket had nothing more when it was last read: only an event changes that.
    pub drained: bool,
    /// The client is gone.
    pub broken: bool,
}

/// How the rows of the running statement go out.
#[derive(Default)]
pub struct ResultShape {
    /// Formats of the result columns, as Bind asked for them; empty = text.
    pub formats: Vec<i16>,
    pub columns: Vec<ColumnType>,
}

impl Wire {
    /// Reads once. True if bytes arrived.
    pub fn fill(&mut self) -> bool {
        if self.drained || self.broken {
            return false;
        }
        let space = self.input.space(READ_BYTES);
        let room = space.capacity() - space.len();
        loop {
            match rustix::io::read(&self.stream, rustix::buffer::spare_capacity(space)) {
                Ok(0) => {
                    self.broken = true;
                    return false;
                }
                Ok(n) => {
                    // A short read empties a socket; the next byte raises a new event.
                    self.drained = n < room;
                    return true;
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => {
                    self.drained = true;
                    return false;
                }
                Err(_) => {
                    self.broken = true;
                    return false;
                }
            }
        }
    }

    /// Sends what the gate and the socket allow.
    pub fn flush(&mut self) {
        self.settle_gate();
        if self.output.is_empty() || self.gate > Lsn::ZERO {
            return;
        }
        while !self.broken && self.sent < self.output.len() {
            match rustix::io::write(&self.stream, &self.output[self.sent..]) {
                Ok(n) => self.sent += n,
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return,
                Err(_) => self.broken = true,
            }
        }
        self.output.clear();
        self.due = false;
        self.sent = 0;
        if self.output.capacity() > BUFFER_KEPT_BYTES {
            self.output.shrink_to(READ_BYTES);
        }
    }

    pub fn unsent_bytes(&self) -> usize {
        self.output.len() - self.sent
    }

    /// Lifts the gate if the horizon has reached it.
    pub fn settle_gate(&mut self) {
        if self.gate > Lsn::ZERO && self.gate <= self.shared.stable() {
            self.gate = Lsn::ZERO;
        }
    }

    /// The horizon this connection waits for, if any. The horizon is not looked at again: it may have moved since the
    /// last flush kept the bytes back, and then somebody still has to send them.
    pub fn pending_gate(&self) -> Option<Lsn> {
        (self.gate > Lsn::ZERO).then_some(self.gate)
    }
}

/// What the worker has to know when a connection gives its stack back.
#[derive(Clone, Copy, Debug)]
pub enum Served {
    Closed,
    Idle {
        gate: Option<Lsn>,
        deadline_ns: Option<u64>,
    },
}

pub struct Connection {
    wire: Wire,
    session: Option<Session>,
    pid: Option<u32>,
    /// After an error in the extended protocol messages are skipped until Sync.
    skip_to_sync: bool,
    closing: bool,
    /// The message being handled; its buffer is used again.
    message: Vec<u8>,
    /// When an idle session in a transaction is ended.
    idle_deadline_ns: Option<u64>,
}

impl Connection {
    pub fn new(stream: TcpStream, shared: Arc<Shared>, waker: Arc<SessionWaker>) -> Connection {
        shared.registry.connection_opened();
        Connection {
            wire: Wire {
                stream,
                shared,
                waker,
                signals: Arc::new(SessionSignals::default()),
                activity: Arc::default(),
                input: ReadBuffer::default(),
                output: Vec::new(),
                sent: 0,
                gate: Lsn::ZERO,
                due: false,
                result: ResultShape::default(),
                drained: false,
                broken: false,
            },
            session: None,
            pid: None,
            skip_to_sync: false,
            closing: false,
            message: Vec::new(),
            idle_deadline_ns: None,
        }
    }

    pub fn stream(&mut self) -> &mut TcpStream {
        &mut self.wire.stream
    }

    /// Sends held-back replies of an idle connection.
    pub fn send_pending(&mut self) {
        self.wire.flush();
        if self.wire.signals.is_notified() {
            // Notifications that waited for room.
            self.wire.waker.nudge();
        }
    }

    pub fn served(&self) -> Served {
        if self.wire.broken || (self.closing && self.wire.unsent_bytes() == 0) {
            return Served::Closed;
        }
        Served::Idle {
            gate: self.wire.pending_gate(),
            deadline_ns: self.idle_deadline_ns,
        }
    }

    /// Runs until the input is used up or the connection is over. A panic ends this session, not the worker.
    pub fn serve(&mut self, yielder: &Yielder<(), Suspend>) {
        self.wire.drained = false;
        let result = std::panic::catch_unwind(AssertUnwindSafe(|| self.converse(yielder)));
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
            backend::error_response(&mut self.wire.output, &error);
            self.closing = true;
        }
        // Here, where it holds nobody up, and not when the connection is dropped: it may have much to roll back.
        if (self.closing || self.wire.broken)
            && let Some(mut session) = self.session.take()
        {
            session.close();
        }
        self.wire.flush();
    }

    fn converse(&mut self, yielder: &Yielder<(), Suspend>) -> SqlResult<()> {
        if self.closing {
            return Ok(());
        }
        if self.session.is_none() && !self.start_up(yielder)? {
            self.closing = true;
            return Ok(());
        }
        let session = self.session.as_ref();
        let _types = session.map(|session| session.state.catalog.enter_types());
        loop {
            while !self.closing && self.next_message()? {
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
            self.wire.flush();
            // A client that does not read its notifications gets no more of them for now.
            if self.wire.signals.is_notified() && self.wire.unsent_bytes() <= NOTIFICATIONS_HIGH_WATER_BYTES {
                self.notify();
                self.wire.flush();
            }
            if !self.wire.fill() {
                self.wire.input.shrink(BUFFER_KEPT_BYTES);
                return Ok(());
            }
            self.idle_deadline_ns = None;
        }
    }

    /// A client that pipelines but does not read waits until it has read.
    fn wait_for_room(&mut self, yielder: &Yielder<(), Suspend>) {
        while self.wire.unsent_bytes() > PIPELINE_HIGH_WATER_BYTES && !self.wire.broken {
            self.wire.flush();
            // Only what the socket refused is announced by an event when it has room again.
            if self.wire.unsent_bytes() > PIPELINE_HIGH_WATER_BYTES {
                self.pause(yielder, None);
            }
        }
    }

    /// Gives the thread away until something happens.
    fn pause(&mut self, yielder: &Yielder<(), Suspend>, deadline_ns: Option<u64>) {
        self.wire.flush();
        let gate = self.wire.pending_gate();
        suspend(
            yielder,
            Suspend {
                reason: Reason::Wait,
                gate,
                deadline_ns,
            },
        );
        self.wire.drained = false;
    }

    fn check_idle_timeout(&mut self) -> SqlResult<()> {
        let Some(session) = &self.session else {
            return Ok(());
        };
        let timeout_ms = session.state.settings.effective.idle_in_transaction_timeout_ms;
        if timeout_ms == 0 || session.status() == b'I' {
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
            Some(_) => Err(SqlError::new(
                state::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
                "terminating connection due to idle-in-transaction timeout",
            )
            .severity(Severity::Fatal)),
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
        let (kind, body) = (message[0], &message[1..]);
        let result = match kind {
            b'X' => {
                self.closing = true;
                Ok(())
            }
            b'S' => {
                self.skip_to_sync = false;
                self.sync(yielder)
            }
            _ if self.skip_to_sync && kind != b'Q' => Ok(()),
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
            b'F' => Err(SqlError::unsupported("function call protocol")),
            other => Err(
                protocol_violation(format!("invalid frontend message type {other}"))
                    .severity(Severity::Fatal),
            ),
        };
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

    /// Reports a statement's failure; the transaction block follows.
    fn failed(&mut self, kind: u8, error: SqlError, yielder: &Yielder<(), Suspend>) {
        self.with_host(yielder, false, |session, host| session.statement_failed(host));
        backend::error_response(&mut self.wire.output, &error);
        match kind {
            b'Q' | b'S' | b'F' => self.ready(),
            _ => self.skip_to_sync = true,
        }
    }

    /// NOTIFY: what the session's channels have for an idle client, as far as it reads.
    fn notify(&mut self) {
        let Some(session) = self.session.as_mut().filter(|session| session.status() == b'I') else {
            return;
        };
        self.wire.signals.clear_notified();
        while let Some(batch) = session.next_notifications() {
            let own = batch.notifications.iter();
            for notification in own.filter(|notification| session.listens_to(&notification.channel)) {
                let (channel, payload) = (&notification.channel, &notification.payload);
                backend::notification(&mut self.wire.output, batch.pid, channel, payload);
            }
            self.wire.gate = self.wire.gate.max(batch.gate);
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
        let status = self.session.as_mut().map_or(b'I', Session::ready);
        backend::ready_for_query(&mut self.wire.output, status);
        self.wire.due = true;
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

    fn sync(&mut self, yielder: &Yielder<(), Suspend>) -> SqlResult<()> {
        self.with_host(yielder, false, |session, host| session.sync(host))?;
        self.ready();
        Ok(())
    }

    fn parse(&mut self, body: &[u8], yielder: &Yielder<(), Suspend>) -> SqlResult<()> {
        let parse = Parse::read(body)?;
        let types = parse.types();
        self.with_host(yielder, false, |session, host| {
            session.parse(parse.name, parse.text, &types, host)
        })?;
        backend::parse_complete(&mut self.wire.output);
        Ok(())
    }

    fn bind(&mut self, body: &[u8], yielder: &Yielder<(), Suspend>) -> SqlResult<()> {
        let bind = Bind::read(body)?;
        self.with_host(yielder, false, |session, host| {
            let target = session.bind_target(bind.statement, host)?;
            let types = target.parameters();
            if types.len() != bind.parameter_count {
                return Err(protocol_violation(format!(
                    "bind message supplies {} parameters, but prepared statement \"{}\" requires {}",
                    bind.parameter_count,
                    bind.statement,
                    types.len()
                )));
            }
            let mut parameters = session.parameter_buffer();
            let settings = &session.state.settings.effective.format;
            for ((value, format), ty) in bind.parameters().zip(types) {
                parameters.push(match (value, format) {
                    (None, _) => Datum::Null,
                    (Some(bytes), 0) => input_text(*ty, frontend::utf8(bytes)?, settings)?,
                    (Some(bytes), 1) => {
                        input_binary(*ty, bytes).map_err(|error| in_parameter(error, parameters.len()))?
                    }
                    (Some(_), other) => {
                        return Err(SqlError::new(
                            state::INVALID_PARAMETER_VALUE,
                            format!("unsupported format code: {other}"),
                        ));
                    }
                });
            }
            session.bind(bind.portal, target, parameters, bind.result_formats().collect())
        })?;
        backend::bind_complete(&mut self.wire.output);
        Ok(())
    }

    fn describe(&mut self, body: &[u8], yielder: &Yielder<(), Suspend>) -> SqlResult<()> {
        let mut fields = Fields::new(body);
        let kind = fields.u8()?;
        let name = fields.string()?;
        match kind {
            b'S' => {
                let (types, columns) = self.with_host(yielder, false, |session, host| {
                    session.describe_statement(name, host)
                })?;
                backend::parameter_description(&mut self.wire.output, &types);
                match columns {
                    Some(columns) => backend::row_description(&mut self.wire.output, &columns, &[]),
                    None => backend::no_data(&mut self.wire.output),
                }
            }
            b'P' => {
                let (columns, formats) =
                    self.with_host(yielder, false, |session, _| session.describe_portal(name))?;
                match columns {
                    Some(columns) => backend::row_description(&mut self.wire.output, &columns, &formats),
                    None => backend::no_data(&mut self.wire.output),
                }
            }
            other => {
                return Err(protocol_violation(format!(
                    "invalid DESCRIBE message subtype {other}"
                )));
            }
        }
        Ok(())
    }

    fn execute(&mut self, body: &[u8], yielder: &Yielder<(), Suspend>) -> SqlResult<()> {
        let mut fields = Fields::new(body);
        let name = fields.string()?;
        // Zero and below mean no limit.
        let max_rows = fields.i32()?.max(0) as u64;
        fields.end()?;
        let session = self
            .session
            .as_ref()
            .expect("messages are handled after start-up");
        let shape = &mut self.wire.result;
        shape.formats.clear();
        shape
            .formats
            .extend_from_slice(&session.portal(name)?.result_formats);
        let end = self.with_host(yielder, false, |session, host| {
            session.execute(name, max_rows, host)
        })?;
        if end == ExecuteEnd::Suspended {
            backend::portal_suspended(&mut self.wire.output);
        }
        Ok(())
    }

    fn close_object(&mut self, body: &[u8]) -> SqlResult<()> {
        let mut fields = Fields::new(body);
        let kind = fields.u8()?;
        let name = fields.string()?;
        let session = self
            .session
            .as_mut()
            .expect("messages are handled after start-up");
        match kind {
            b'S' => session.close_statement(name),
            b'P' => session.close_portal(name),
            other => {
                return Err(protocol_violation(format!(
                    "invalid CLOSE message subtype {other}"
                )));
            }
        }
        backend::close_complete(&mut self.wire.output);
        Ok(())
    }
}

/// Says which parameter had bytes that are no value of its type.
fn in_parameter(error: SqlError, index: usize) -> SqlError {
    if error.state() == state::INVALID_BINARY_REPRESENTATION
        && error.message() == "incorrect binary data format"
    {
        return SqlError::new(
            error.state(),
            format!("{} in bind parameter {}", error.message(), index + 1),
        );
    }
    error
}

/// What a start-up packet asks for.
#[derive(Default)]
struct StartUp {
    user: String,
    database: String,
    settings: Vec<(String, String)>,
    newer_minor: bool,
    unknown_options: Vec<String>,
}

/// Start-up and authentication.
impl Connection {
    /// False: the connection has served its purpose (a cancel request) or the client went away.
    fn start_up(&mut self, yielder: &Yielder<(), Suspend>) -> SqlResult<bool> {
        let fatal = |e: SqlError| e.severity(Severity::Fatal);
        let deadline = self.wire.shared.now_ns() + AUTHENTICATION_TIMEOUT_NS;
        let Some(packet) = self.read_start_up(yielder, deadline).map_err(fatal)? else {
            return Ok(false);
        };
        let start = parse_start_up(&packet).map_err(fatal)?;
        if self.wire.shared.registry_full() {
            return Err(fatal(SqlError::new(
                state::TOO_MANY_CONNECTIONS,
                "sorry, too many clients already",
            )));
        }
        if start.newer_minor || !start.unknown_options.is_empty() {
            let unknown: Vec<&str> = start.unknown_options.iter().map(String::as_str).collect();
            backend::negotiate_protocol_version(&mut self.wire.output, &unknown);
        }
        if self.wire.shared.config.auth == AuthMethod::ScramSha256 {
            self.authenticate(&start.user, yielder, deadline).map_err(fatal)?;
        }
        backend::authentication_ok(&mut self.wire.output);
        self.open_session(start).map_err(fatal)?;
        Ok(true)
    }

    /// Waits for more input; an error when the deadline passes, false when the client went away.
    fn more(&mut self, yielder: &Yielder<(), Suspend>, deadline_ns: u64) -> SqlResult<bool> {
        loop {
            if self.wire.fill() {
                return Ok(true);
            }
            if self.wire.broken {
                return Ok(false);
            }
            if self.wire.signals.terminated() {
                return Err(terminated());
            }
            if self.wire.shared.now_ns() >= deadline_ns {
                return Err(SqlError::new(
                    state::QUERY_CANCELED,
                    "canceling authentication due to timeout",
                ));
            }
            self.pause(yielder, Some(deadline_ns));
        }
    }

    /// The start-up packet's body, after answering requests for encryption.
    fn read_start_up(&mut self, yielder: &Yielder<(), Suspend>, deadline: u64) -> SqlResult<Option<Vec<u8>>> {
        loop {
            let Some(body) = self.wire.input.peek_startup()? else {
                if !self.more(yielder, deadline)? {
                    return Ok(None);
                }
                continue;
            };
            let packet = self.wire.input.unread()[body.clone()].to_vec();
            self.wire.input.consume(body.end);
            match Fields::new(&packet).i32()? as u32 {
                frontend::SSL_REQUEST | frontend::GSSENC_REQUEST => {
                    // Bytes sent along with the request would have been meant for the encrypted stream.
                    if !self.wire.input.unread().is_empty() {
                        return Err(protocol_violation("received unencrypted data after SSL request"));
                    }
                    self.wire.output.push(b'N');
                    self.wire.flush();
                }
                frontend::CANCEL_REQUEST => {
                    let mut fields = Fields::new(&packet[4..]);
                    let (pid, key) = (fields.i32()? as u32, fields.i32()? as u32);
                    self.wire.shared.database.sessions().cancel_with_key(pid, key);
                    return Ok(None);
                }
                _ => return Ok(Some(packet)),
            }
        }
    }

    fn authenticate(&mut self, user: &str, yielder: &Yielder<(), Suspend>, deadline: u64) -> SqlResult<()> {
        let (verifier, real) = self.wire.shared.verifier(user);
        backend::authentication_sasl(&mut self.wire.output);
        let first = self.password_message(yielder, deadline)?;
        let mut fields = Fields::new(&first);
        let mechanism = fields.string()?;
        if mechanism != "SCRAM-SHA-256" {
            return Err(protocol_violation(
                "client selected an invalid SASL authentication mechanism",
            ));
        }
        let length = fields.i32()?;
        let client_first = frontend::utf8(fields.bytes(length.max(0) as usize)?)?;
        let (exchange, server_first) = scram::Exchange::start(client_first, verifier)?;
        backend::authentication_sasl_continue(&mut self.wire.output, server_first.as_bytes());
        let second = self.password_message(yielder, deadline)?;
        let server_final = exchange.finish(frontend::utf8(&second)?, user)?;
        if !real {
            return Err(scram::wrong_password(user));
        }
        backend::authentication_sasl_final(&mut self.wire.output, server_final.as_bytes());
        Ok(())
    }

    fn password_message(&mut self, yielder: &Yielder<(), Suspend>, deadline: u64) -> SqlResult<Vec<u8>> {
        self.wire.flush();
        loop {
            if let Some((kind, body)) = self.wire.input.peek(STARTUP_BYTES_MAX)? {
                if kind != b'p' {
                    return Err(protocol_violation(format!(
                        "expected SASL response, got message type {kind}"
                    )));
                }
                let message = self.wire.input.unread()[body.clone()].to_vec();
                self.wire.input.consume(body.end);
                return Ok(message);
            }
            if !self.more(yielder, deadline)? {
                return Err(connection_lost());
            }
        }
    }

    fn open_session(&mut self, start: StartUp) -> SqlResult<()> {
        let shared = self.wire.shared.clone();
        let key = mote_common::env::real::entropy_u64() as u32;
        let client = self.wire.stream.peer_addr().ok();
        let activity = Arc::new(Activity::new(client, shared.database.now_us()));
        self.wire.activity = activity.clone();
        let pid = shared.database.sessions().register(
            key,
            self.wire.signals.clone(),
            self.wire.waker.clone(),
            activity.clone(),
        );
        self.pid = Some(pid);
        let database = if start.database.is_empty() {
            start.user.clone()
        } else {
            start.database
        };
        let identity = SessionIdentity {
            user: start.user,
            database,
            pid,
            signals: self.wire.signals.clone(),
            activity,
            wake: self.wire.waker.clone(),
        };
        let mut session = Session::new(&shared.database, identity)?;
        for (name, value) in &start.settings {
            session.set_initial(name, value)?;
        }
        for setting in session.state.settings.all_reported() {
            backend::parameter_status(&mut self.wire.output, setting.name, &setting.value);
        }
        backend::backend_key_data(&mut self.wire.output, pid, key);
        self.session = Some(session);
        self.ready();
        Ok(())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.session.take();
        if let Some(pid) = self.pid.take() {
            self.wire.shared.database.sessions().unregister(pid);
        }
        self.wire.shared.registry.connection_closed();
    }
}

fn parse_start_up(packet: &[u8]) -> SqlResult<StartUp> {
    let mut fields = Fields::new(packet);
    let version = fields.i32()? as u32;
    let (major, minor) = (version >> 16, version & 0xffff);
    if major != 3 {
        return Err(SqlError::new(
            state::FEATURE_NOT_SUPPORTED,
            format!("unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.0"),
        ));
    }
    let mut start = StartUp {
        newer_minor: minor > 0,
        ..StartUp::default()
    };
    loop {
        let name = fields.string()?;
        if name.is_empty() {
            break;
        }
        let value = fields.string()?;
        match name {
            "user" => start.user = value.to_string(),
            "database" => start.database = value.to_string(),
            "options" => parse_options(value, &mut start.settings)?,
            "replication" => {
                if !matches!(value, "false" | "off" | "no" | "0") {
                    return Err(SqlError::unsupported("the replication protocol"));
                }
            }
            _ if name.starts_with("_pq_.") => start.unknown_options.push(name.to_string()),
            _ => start.settings.push((name.to_string(), value.to_string())),
        }
    }
    fields.end()?;
    if start.user.is_empty() {
        return Err(SqlError::new(
            state::INVALID_AUTHORIZATION_SPECIFICATION,
            "no PostgreSQL user name specified in startup packet",
        ));
    }
    Ok(start)
}

/// `-c name=value` and `--name=value`, separated by spaces that a backslash can protect.
fn parse_options(text: &str, settings: &mut Vec<(String, String)>) -> SqlResult<()> {
    let mut words: Vec<String> = vec![String::new()];
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        let last = words.last_mut().expect("never empty");
        match c {
            '\\' => last.extend(characters.next()),
            c if c.is_whitespace() => words.push(String::new()),
            c => last.push(c),
        }
    }
    let mut words = words.into_iter().filter(|w| !w.is_empty());
    while let Some(word) = words.next() {
        let assignment = if word == "-c" {
            words.next().unwrap_or_default()
        } else if let Some(rest) = word.strip_prefix("--").or_else(|| word.strip_prefix("-c")) {
            rest.to_string()
        } else {
            return Err(SqlError::new(
                state::SYNTAX_ERROR,
                format!("invalid command-line argument for server process: {word}"),
            ));
        };
        let Some((name, value)) = assignment.split_once('=') else {
            return Err(SqlError::new(
                state::SYNTAX_ERROR,
                format!("-c {assignment} requires a value"),
            ));
        };
        settings.push((name.replace('-', "_"), value.to_string()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(parts: &[&str]) -> Vec<u8> {
        let mut bytes = frontend::PROTOCOL_3_0.to_be_bytes().to_vec();
        for part in parts {
            bytes.extend_from_slice(part.as_bytes());
            bytes.push(0);
        }
        bytes.push(0);
        bytes
    }

    #[test]
    fn start_up_packets() {
        let start = parse_start_up(&packet(&[
            "user",
            "joe",
            "database",
            "shop",
            "options",
            "-c a=b\\ c --work-mem=1MB",
            "DateStyle",
            "ISO",
        ]))
        .unwrap();
        assert_eq!((start.user.as_str(), start.database.as_str()), ("joe", "shop"));
        let expect = [("a", "b c"), ("work_mem", "1MB"), ("DateStyle", "ISO")];
        assert_eq!(
            start.settings,
            expect.map(|(a, b)| (a.to_string(), b.to_string()))
        );
        assert!(parse_start_up(&packet(&["database", "x"])).is_err());
        assert!(parse_start_up(&[0, 2, 0, 0, 0]).is_err());
        assert!(parse_start_up(&packet(&["user", "x", "replication", "true"])).is_err());
    }
}
