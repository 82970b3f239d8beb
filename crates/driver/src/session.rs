//! One connection: startup, prepared statements, pipelined batches.
//!
//! A round trip is: queue any number of Bind/Execute pairs, [`Session::round_trip`] adds one Sync, writes all with one
//! system call, and reads until ReadyForQuery. The answer is then looked at in place, in the receive buffer.
//!
//! Requests and answers have PostgreSQL's form here. With another system a translator stands between them and the socket.
//!
//! Invariants
//!  1. Between round trips the output buffer is empty, and the input buffer holds only what has been consumed.
//!  2. After an error that is fatal `usable` is false and stays so; the owner opens another session.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::error::{DriverError, DriverResult, ServerError};
use super::fiber::Wait;
use super::mysql::Translator;
use super::reply::Reply;
use super::scram::Exchange;
use super::socket::{Handed, Socket};
use super::statement::{BindWriter, StatementId, StatementSet};
use super::url::{System, Target};
use super::wire::{self, Frame};

const INPUT_BYTES_INITIAL: usize = 4096;

/// What went over the wire, since the session began.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Traffic {
    pub round_trips: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
}

impl Traffic {
    pub fn since(self, earlier: Traffic) -> Traffic {
        Traffic {
            round_trips: self.round_trips - earlier.round_trips,
            bytes_sent: self.bytes_sent - earlier.bytes_sent,
            bytes_received: self.bytes_received - earlier.bytes_received,
        }
    }

    pub fn add(&mut self, other: Traffic) {
        self.round_trips += other.round_trips;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
    }
}

/// What lies between the driver's form and the socket, for systems that do not speak PostgreSQL's.
struct Foreign {
    translator: Translator,
    /// To the server.
    output: Vec<u8>,
    /// From the server; `..filled` has arrived.
    input: Vec<u8>,
    filled: usize,
    /// Translated, and not in the session's buffer yet.
    answer: Vec<u8>,
}

impl Foreign {
    fn of(target: &Target) -> DriverResult<Option<Box<Foreign>>> {
        match target.system {
            // ODBC's thread speaks the driver's form.
            _ if target.odbc.is_some() => Ok(None),
            System::Postgres | System::Oracle | System::Db2 => Ok(None),
            System::Mysql => Ok(Some(Box::new(Foreign {
                translator: Translator::new(target)?,
                output: Vec::new(),
                input: vec![0; INPUT_BYTES_INITIAL],
                filled: 0,
                answer: Vec::new(),
            }))),
        }
    }

    /// Translates what has arrived, until there is nothing whole left of it.
    fn digest(&mut self) -> DriverResult<()> {
        let mut start = 0;
        loop {
            let arrived = &self.input[start..self.filled];
            match self
                .translator
                .digest(arrived, &mut self.output, &mut self.answer)?
            {
                0 => break,
                length => start += length,
            }
        }
        self.input.copy_within(start..self.filled, 0);
        self.filled -= start;
        Ok(())
    }
}

pub struct Session {
    socket: Socket,
    token: Option<usize>,
    system: System,
    statements: Arc<StatementSet>,
    output: Vec<u8>,
    foreign: Option<Box<Foreign>>,
    /// Bytes `consumed..filled` have arrived and are not looked at yet.
    input: Vec<u8>,
    consumed: usize,
    filled: usize,
    /// From the last ReadyForQuery: `I` idle, `T` in a transaction, `E` in a failed one.
    status: u8,
    usable: bool,
    /// How long an answer may take, and until when the one under way may, on the run's clock.
    answer_timeout: Option<Duration>,
    deadline_ns: Option<u64>,
    /// On a thread that blocks: until when the log-in may take; `None` behind it.
    log_in_by: Option<Instant>,
    pub traffic: Traffic,
    server_version: String,
    /// Whether the server said that it takes no writes.
    standby: bool,
}

fn late() -> io::Error {
    io::Error::new(
        io::ErrorKind::TimedOut,
        "the server did not answer within the timeout",
    )
}

/// What is said of a server that takes no writes where they are wanted, in PostgreSQL's terms: it cannot be connected to now.
fn is_standby(target: &Target) -> DriverError {
    DriverError::Server(Box::new(ServerError {
        severity: "FATAL".into(),
        sqlstate: "57P03".into(),
        message: format!("{target} is a standby"),
        detail: None,
        hint: None,
    }))
}

impl Session {
    /// Connects, authenticates and prepares all statements of the set; of several servers on the first that takes writes.
    pub fn open(target: &Target, statements: Arc<StatementSet>, wait: &Wait<'_>) -> DriverResult<Session> {
        let mut others = target.others().peekable();
        let alone = others.peek().is_none();
        let mut error = match Session::open_one(target, &statements, wait) {
            Ok(session) if alone || !session.standby => return Ok(session),
            Ok(_) => is_standby(target),
            Err(error) => error,
        };
        for other in others {
            error = match Session::open_one(&other, &statements, wait) {
                Ok(session) if !session.standby => return Ok(session),
                Ok(_) => is_standby(&other),
                Err(error) => error,
            };
        }
        Err(error)
    }

    fn open_one(target: &Target, statements: &Arc<StatementSet>, wait: &Wait<'_>) -> DriverResult<Session> {
        let (socket, token) = Socket::connect(target, wait)?;
        let mut session = Session {
            socket,
            token,
            system: target.system,
            statements: Arc::clone(statements),
            output: Vec::with_capacity(1024),
            foreign: Foreign::of(target)?,
            input: vec![0; INPUT_BYTES_INITIAL],
            consumed: 0,
            filled: 0,
            status: b'I',
            usable: true,
            answer_timeout: target.answer_timeout,
            deadline_ns: wait.deadline(Some(target.connect_timeout)),
            log_in_by: matches!(wait, Wait::Blocking).then(|| Instant::now() + target.connect_timeout),
            traffic: Traffic::default(),
            server_version: String::new(),
            standby: false,
        };
        session.start_up(target, wait)?;
        if session.log_in_by.take().is_some() {
            session.socket.set_read_timeout(session.answer_timeout)?;
        }
        if !session.statements.is_empty() {
            let statements = Arc::clone(&session.statements);
            statements.write_parses(&mut session.output);
            session.round_trip(wait)?;
        }
        Ok(session)
    }

    fn start_up(&mut self, target: &Target, wait: &Wait<'_>) -> DriverResult<()> {
        let mut options = vec![
            ("user", target.user.as_str()),
            ("database", target.database.as_str()),
            ("client_encoding", "UTF8"),
            ("DateStyle", "ISO"),
            ("TimeZone", "UTC"),
            ("application_name", "mote bench"),
        ];
        options.extend(
            target
                .settings
                .iter()
                .map(|(name, value)| (*name, value.as_str())),
        );
        // Other systems speak first.
        if self.foreign.is_none() {
            wire::startup(&mut self.output, &options);
            self.flush(wait)?;
        }
        let mut exchange = None;
        loop {
            let frame = self.next_frame(wait)?;
            let (kind, body) = (frame.kind, frame.body.to_vec());
            match kind {
                b'R' => self.authenticate(target, &body, &mut exchange, wait)?,
                b'S' => {
                    if let Some(version) = body.strip_prefix(b"server_version\0") {
                        self.server_version = String::from_utf8_lossy(version)
                            .trim_end_matches('\0')
                            .to_string();
                    }
                    self.standby |= body == b"in_hot_standby\0on\0";
                }
                b'E' => return Err(DriverError::Server(Box::new(wire::decode_error(&body)))),
                b'K' | b'N' => {}
                b'Z' => return Ok(()),
                _ => {
                    return Err(DriverError::protocol(format!(
                        "message '{}' during startup",
                        kind as char
                    )));
                }
            }
        }
    }

    fn authenticate(
        &mut self,
        target: &Target,
        body: &[u8],
        exchange: &mut Option<Exchange>,
        wait: &Wait<'_>,
    ) -> DriverResult<()> {
        let malformed = || DriverError::protocol("malformed authentication request");
        let (method, rest) = body.split_first_chunk::<4>().ok_or_else(malformed)?;
        let password = || {
            target
                .password
                .as_deref()
                .ok_or_else(|| DriverError::protocol("the server asks for a password"))
        };
        match i32::from_be_bytes(*method) {
            0 => return Ok(()),
            3 => {
                let password = password()?;
                wire::message(&mut self.output, b'p', |out| wire::put_string(out, password));
            }
            10 => {
                if !rest.split(|&byte| byte == 0).any(|name| name == b"SCRAM-SHA-256") {
                    return Err(DriverError::protocol("the server offers no SCRAM-SHA-256"));
                }
                let started = Exchange::new()?;
                let first = started.client_first();
                wire::message(&mut self.output, b'p', |out| {
                    wire::put_string(out, "SCRAM-SHA-256");
                    wire::put_i32(out, first.len() as i32);
                    out.extend_from_slice(first.as_bytes());
                });
                *exchange = Some(started);
            }
            11 => {
                let server_first = std::str::from_utf8(rest).map_err(|_| malformed())?;
                let answer = exchange
                    .as_mut()
                    .ok_or_else(malformed)?
                    .client_final(password()?, server_first)?;
                wire::message(&mut self.output, b'p', |out| {
                    out.extend_from_slice(answer.as_bytes())
                });
            }
            12 => {
                let server_final = std::str::from_utf8(rest).map_err(|_| malformed())?;
                return exchange
                    .as_ref()
                    .ok_or_else(malformed)?
                    .verify_server(server_final);
            }
            other => {
                return Err(DriverError::protocol(format!(
                    "authentication method {other} is not supported (trust, password and scram-sha-256 are)"
                )));
            }
        }
        self.flush(wait)
    }

    /// Hands the connection over to whoever goes on with other messages than SQL's.
    pub fn hand_over(mut self) -> DriverResult<Handed> {
        if self.consumed < self.filled {
            return Err(DriverError::protocol("the server sent more than its answer"));
        }
        // No goodbye: the connection goes on.
        self.usable = false;
        let handed = self.foreign.is_none().then(|| self.socket.hand_over());
        handed
            .flatten()
            .ok_or_else(|| DriverError::protocol("this needs PostgreSQL's protocol"))
    }

    /// Sends text as a simple query; its answer is read frame by frame (`next_frame`).
    pub fn send_simple(&mut self, text: &str, wait: &Wait<'_>) -> DriverResult<()> {
        wire::message(&mut self.output, b'Q', |out| wire::put_string(out, text));
        self.flush(wait)
    }

    pub fn system(&self) -> System {
        self.system
    }

    pub fn server_version(&self) -> &str {
        &self.server_version
    }

    /// False once the connection is lost.
    pub fn is_usable(&self) -> bool {
        self.usable
    }

    /// Whether a transaction block is open, failed or not.
    pub fn in_transaction(&self) -> bool {
        self.status != b'I'
    }

    /// Queues one execution of a prepared statement.
    pub fn send(&mut self, id: StatementId, values: impl FnOnce(BindWriter<'_>) -> BindWriter<'_>) {
        let writer = values(self.statements.bind(&mut self.output, id));
        self.statements.end_bind(id, writer);
    }

    /// The raw output buffer, for messages that are not executions of prepared statements.
    pub fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    /// Sends what is queued and a Sync; returns the complete answer, or the first error in it.
    pub fn round_trip(&mut self, wait: &Wait<'_>) -> DriverResult<Reply<'_>> {
        wire::sync(&mut self.output);
        self.exchange(wait)
    }

    /// Sends what is queued, which must make the server end with one ReadyForQuery.
    pub fn exchange(&mut self, wait: &Wait<'_>) -> DriverResult<Reply<'_>> {
        self.deadline_ns = wait.deadline(self.answer_timeout);
        self.flush(wait)?;
        self.traffic.round_trips += 1;
        self.rewind();
        // The answer cannot be there yet: reading would only find that out. A deadline is looked at after reading.
        let _ = wait.socket(self.token, self.deadline_ns);
        let mut scanned = 0;
        let mut error: Option<Box<ServerError>> = None;
        loop {
            while let Some((frame, length)) = wire::frame(&self.input[scanned..self.filled])? {
                match frame.kind {
                    b'E' if error.is_none() => error = Some(Box::new(wire::decode_error(frame.body))),
                    b'Z' => {
                        self.status = frame.body.first().copied().unwrap_or(b'I');
                        self.consumed = scanned + length;
                        return match error {
                            Some(error) => Err(DriverError::Server(error)),
                            None => Ok(Reply {
                                bytes: &self.input[..self.consumed],
                            }),
                        };
                    }
                    _ => {}
                }
                scanned += length;
            }
            if let Err(lost) = self.fill(wait) {
                // A server that shuts down says why before it closes.
                return Err(error.map_or(lost, DriverError::Server));
            }
        }
    }

    /// The next message, whatever it is; for exchanges that are not request and ReadyForQuery.
    pub fn next_frame(&mut self, wait: &Wait<'_>) -> DriverResult<Frame<'_>> {
        let length = loop {
            match wire::frame(&self.input[self.consumed..self.filled])? {
                Some((_, length)) => break length,
                None => self.fill(wait)?,
            }
        };
        let start = self.consumed;
        self.consumed += length;
        let frame = Frame {
            kind: self.input[start],
            body: &self.input[start + 5..start + length],
        };
        if frame.kind == b'Z' {
            self.status = frame.body.first().copied().unwrap_or(b'I');
        }
        Ok(frame)
    }

    /// Moves unread bytes to the front.
    fn rewind(&mut self) {
        self.input.copy_within(self.consumed..self.filled, 0);
        self.filled -= self.consumed;
        self.consumed = 0;
    }

    /// Waits for the socket; an answer that takes too long loses the connection.
    fn await_socket(&mut self, wait: &Wait<'_>) -> DriverResult<()> {
        // A socket that blocks has waited for as long as it may.
        if !matches!(wait, Wait::Blocking) && wait.socket(self.token, self.deadline_ns) {
            return Ok(());
        }
        self.usable = false;
        Err(late().into())
    }

    /// Each read of a log-in has the time that is left of the whole of it.
    fn bound_log_in(&mut self) -> DriverResult<()> {
        let Some(by) = self.log_in_by else {
            return Ok(());
        };
        let left = by.saturating_duration_since(Instant::now());
        if left.is_zero() {
            self.usable = false;
            return Err(late().into());
        }
        Ok(self.socket.set_read_timeout(Some(left))?)
    }

    /// More of the answer, waiting for it if need be.
    fn fill(&mut self, wait: &Wait<'_>) -> DriverResult<()> {
        match self.foreign.take() {
            None => self.fill_own(wait),
            Some(mut foreign) => {
                let filled = self.fill_translated(&mut foreign, wait);
                self.foreign = Some(foreign);
                if filled.is_err() {
                    self.usable = false;
                }
                filled
            }
        }
    }

    fn fill_own(&mut self, wait: &Wait<'_>) -> DriverResult<()> {
        if self.filled == self.input.len() {
            if self.consumed > 0 {
                self.rewind();
            } else {
                self.input.resize(self.input.len() * 2, 0);
            }
        }
        let mut input = std::mem::take(&mut self.input);
        let count = self.read(&mut input[self.filled..], wait);
        self.input = input;
        self.filled += count?;
        Ok(())
    }

    /// Reads and translates until there is something to look at. What the server must be told meanwhile is a round trip more.
    fn fill_translated(&mut self, foreign: &mut Foreign, wait: &Wait<'_>) -> DriverResult<()> {
        while foreign.answer.is_empty() {
            if foreign.filled == foreign.input.len() {
                foreign.input.resize(foreign.input.len() * 2, 0);
            }
            foreign.filled += self.read(&mut foreign.input[foreign.filled..], wait)?;
            foreign.digest()?;
            if !foreign.output.is_empty() {
                self.traffic.round_trips += 1;
                self.write(&mut foreign.output, wait)?;
            }
        }
        let end = self.filled + foreign.answer.len();
        if end > self.input.len() {
            self.input.resize(end.next_power_of_two(), 0);
        }
        self.input[self.filled..end].copy_from_slice(&foreign.answer);
        self.filled = end;
        foreign.answer.clear();
        Ok(())
    }

    /// One successful read.
    fn read(&mut self, buffer: &mut [u8], wait: &Wait<'_>) -> DriverResult<usize> {
        loop {
            self.bound_log_in()?;
            match self.socket.read(buffer) {
                Ok(0) => {
                    self.usable = false;
                    let closed =
                        io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection");
                    return Err(closed.into());
                }
                Ok(count) => {
                    self.traffic.bytes_received += count as u64;
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.await_socket(wait)?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.usable = false;
                    return Err(error.into());
                }
            }
        }
    }

    /// Writes everything that is queued.
    pub fn flush(&mut self, wait: &Wait<'_>) -> DriverResult<()> {
        let mut output = std::mem::take(&mut self.output);
        let written = match self.foreign.take() {
            None => self.write(&mut output, wait),
            Some(mut foreign) => {
                let Foreign {
                    translator,
                    output: translated,
                    answer,
                    ..
                } = &mut *foreign;
                let accepted = translator.accept(&output, translated, answer);
                output.clear();
                let written = accepted.and_then(|()| self.write(translated, wait));
                self.foreign = Some(foreign);
                written
            }
        };
        self.output = output;
        written
    }

    fn write(&mut self, output: &mut Vec<u8>, wait: &Wait<'_>) -> DriverResult<()> {
        let mut written = 0;
        while written < output.len() {
            match self.socket.write(&output[written..]) {
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.await_socket(wait)?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.usable = false;
                    return Err(error.into());
                }
            }
        }
        self.traffic.bytes_sent += written as u64;
        output.clear();
        Ok(())
    }

    /// Whether something is queued.
    pub fn has_output(&self) -> bool {
        !self.output.is_empty()
    }

    /// Forgets what was queued but not sent.
    pub fn discard_output(&mut self) {
        self.output.clear();
    }

    /// Marks the session as lost, after an error that the caller judged fatal.
    pub fn abandon(&mut self) {
        self.usable = false;
    }
}

impl Drop for Session {
    /// Terminate, as far as the socket takes it; a lost connection needs no goodbye.
    fn drop(&mut self) {
        if self.usable {
            let mut goodbye = Vec::new();
            match self.foreign {
                None => wire::message(&mut goodbye, b'X', |_| {}),
                Some(_) => Translator::goodbye(&mut goodbye),
            }
            let _ = self.socket.write(&goodbye);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;

    /// Opens a session at a server that accepts, says `greeting` every 20 ms, and nothing else.
    fn log_in_at(greeting: &'static [u8]) -> (DriverResult<Session>, Duration) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("somebody connects");
            let since = Instant::now();
            while since.elapsed() < Duration::from_secs(20) && stream.write_all(greeting).is_ok() {
                std::thread::sleep(Duration::from_millis(20));
                let mut said = [0; 1000];
                stream.set_nonblocking(true).expect("it is open");
                if matches!(io::Read::read(&mut stream, &mut said), Ok(0)) {
                    return;
                }
            }
        });
        let mut target = Target::parse(&format!("postgres://a@127.0.0.1:{port}/a")).expect("it is sound");
        target.connect_timeout = Duration::from_millis(300);
        let began = Instant::now();
        let opened = Session::open(&target, Arc::new(StatementSet::new(Vec::new())), &Wait::Blocking);
        let lasted = began.elapsed();
        server.join().expect("no panic");
        (opened, lasted)
    }

    #[test]
    fn a_server_that_accepts_and_stands_still_is_given_up() {
        // The second one says something all the time, but does not let anybody in.
        for greeting in [&b""[..], b"N\0\0\0\x05\0"] {
            let (opened, lasted) = log_in_at(greeting);
            let error = opened.err().expect("nobody is let in").to_string();
            assert!(error.contains("did not answer within the timeout"), "{error}");
            assert!(lasted < Duration::from_secs(10), "{lasted:?}");
        }
    }
}
