//! Any driver of ODBC, behind the same sessions as PostgreSQL's wire.
//!
//! ODBC's calls block, so each connection is a thread of its own, at the other end of a pair of sockets: it reads the session's
//! messages as a server would, does what they say by calls of ODBC, and answers in the driver's own form (`form`). The loop of
//! fibers sees a socket and never blocks.
//!
//! What is measured then is the client: a thread, two switches between threads, and the work of somebody else's driver for each
//! statement. Reports say so.
//!
//! Read in this order: this file (the thread), `rows` (answers), `load` (COPY as INSERT), `error`.
//!
//! Invariants
//!  1. After an error nothing is done until the Sync, and in a transaction nothing until its ROLLBACK: the error may have ended it
//!     in the server, and a COMMIT would keep what came before or after. COMMIT answers ROLLBACK then.
//!  2. Autocommit is off exactly while a transaction is open.

mod error;
mod load;
mod rows;

use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

use odbc_api::handles::StatementImpl;
use odbc_api::parameter::{InputParameter, VarCharBox};
use odbc_api::{Connection, ConnectionOptions, IntoParameter, Prepared, environment};

use self::load::Load;
use super::dialect::{db2, oracle};
use super::error::{DriverError, DriverResult, ServerError};
use super::form::{self, Bound, FLOAT8, INT4, INT8, Parsed, Tag};
use super::mysql::dialect;
use super::url::{Host, System, Target};
use super::wire::{self, Frame};

/// A driver's code needs more than a fiber has.
const STACK_BYTES: usize = 1 << 20;

/// The session's end of a connection, whose other end is connected in the background.
pub fn connect(target: &Target) -> io::Result<UnixStream> {
    let (own, others) = UnixStream::pair()?;
    let target = target.clone();
    std::thread::Builder::new()
        .name("odbc".into())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            // Whoever cannot answer closes, which the session takes for a lost connection.
            let _ = serve(&target, others);
        })?;
    Ok(own)
}

/// As a driver of the system behind it wants to be told.
fn connection_string(target: &Target, driver: &str) -> String {
    let mut text = format!("Driver={{{driver}}};");
    // Braces only where there must be some: psqlodbc takes them for a part of the value.
    let mut put = |name: &str, value: &str| match value.contains([';', '{', '}', '=']) {
        true => text += &format!("{name}={{{}}};", value.replace('}', "}}")),
        false => text += &format!("{name}={value};"),
    };
    let host = match &target.host {
        Host::Name(name) => name.clone(),
        Host::SocketDirectory(directory) => directory.display().to_string(),
    };
    match target.system {
        System::Oracle => put("DBQ", &format!("{host}:{}/{}", target.port, target.database)),
        System::Postgres | System::Mysql | System::Db2 => {
            let server = match target.system {
                System::Db2 => "Hostname",
                _ => "Server",
            };
            put("Port", &target.port.to_string());
            put(server, &host);
            put("Database", &target.database);
        }
    }
    if target.system == System::Db2 {
        put("Protocol", "TCPIP");
    }
    put("Uid", &target.user);
    if let Some(password) = &target.password {
        put("Pwd", password);
    }
    if target.system == System::Postgres {
        // Prepared on the server; what an error ends is this thread's business (no savepoint around each statement).
        text += "UseServerSidePrepare=1;Protocol=7.4-0;UseDeclareFetch=0;Parse=0;";
    }
    text
}

fn serve(target: &Target, stream: UnixStream) -> DriverResult<()> {
    let mut wire = Channel {
        stream,
        input: Vec::new(),
        output: Vec::new(),
    };
    wire.skip_startup()?;
    let driver = target.odbc.as_deref().unwrap_or_default();
    let options = ConnectionOptions {
        login_timeout_sec: u32::try_from(target.connect_timeout.as_secs()).ok(),
        ..ConnectionOptions::default()
    };
    let connected = environment()
        .and_then(|odbc| odbc.connect_with_connection_string(&connection_string(target, driver), options));
    let connection = match connected {
        Ok(connection) => connection,
        Err(error) => {
            let said = ServerError {
                severity: "FATAL".into(),
                ..error::decode(&error, target.system)
            };
            form::write_error(&mut wire.output, &said);
            return wire.flush();
        }
    };
    let mut thread = Thread {
        connection: &connection,
        system: target.system,
        engine: target.engine.clone(),
        statements: Vec::new(),
        state: State::Idle,
        bound: Bound::default(),
    };
    if let Err(error) = thread.begin(&target.settings) {
        form::write_error(&mut wire.output, &error);
        return wire.flush();
    }
    thread.greet(&mut wire);
    wire.flush()?;
    thread.run(&mut wire)
}

/// The thread's end of the pair.
struct Channel {
    stream: UnixStream,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl Channel {
    fn flush(&mut self) -> DriverResult<()> {
        self.stream.write_all(&self.output)?;
        self.output.clear();
        Ok(())
    }

    fn fill(&mut self) -> DriverResult<()> {
        let mut buffer = [0; 16 * 1024];
        let count = self.stream.read(&mut buffer)?;
        if count == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        self.input.extend_from_slice(&buffer[..count]);
        Ok(())
    }

    /// The first message has no kind; what it asks for stands in the target.
    fn skip_startup(&mut self) -> DriverResult<()> {
        loop {
            if let Some(length) = self.input.first_chunk::<4>() {
                let length = u32::from_be_bytes(*length) as usize;
                if self.input.len() >= length {
                    self.input.drain(..length);
                    return Ok(());
                }
            }
            self.fill()?;
        }
    }

    /// Takes the next message; answers are sent before the thread waits for one.
    fn next(&mut self) -> DriverResult<(u8, Vec<u8>)> {
        loop {
            if let Some((Frame { kind, body }, length)) = wire::frame(&self.input)? {
                let message = (kind, body.to_vec());
                self.input.drain(..length);
                return Ok(message);
            }
            self.flush()?;
            self.fill()?;
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Idle,
    /// A transaction is open.
    Open,
    /// An error has ended it, or will have.
    Failed,
}

struct Statement<'c> {
    parsed: Parsed,
    /// `None` for what begins and ends transactions.
    prepared: Option<Prepared<StatementImpl<'c>>>,
}

struct Thread<'c> {
    connection: &'c Connection<'static>,
    system: System,
    engine: Option<String>,
    statements: Vec<Statement<'c>>,
    state: State,
    bound: Bound,
}

/// What a statement of the server said.
type Said<T> = Result<T, ServerError>;

impl<'c> Thread<'c> {
    /// Brings the session into the state that the driver promises.
    fn begin(&mut self, wanted: &[(&'static str, String)]) -> Said<()> {
        let settings = match self.system {
            System::Postgres => {
                let asked = wanted
                    .iter()
                    .map(|(name, value)| format!("SET {name} = '{}'", value.replace('\'', "''")));
                let mut all = vec![
                    "SET TimeZone = 'UTC'".to_string(),
                    "SET DateStyle = 'ISO'".to_string(),
                ];
                all.extend(asked);
                all
            }
            System::Mysql => dialect::settings(wanted).map_err(|error| error::refused(&error.to_string()))?,
            System::Oracle => oracle::settings(wanted).map_err(|what| error::refused(&what))?,
            System::Db2 => db2::settings(wanted).map_err(|what| error::refused(&what))?,
        };
        settings.iter().try_for_each(|text| self.plain(text))
    }

    fn greet(&self, wire: &mut Channel) {
        let version = self.connection.database_management_system_name();
        wire::message(&mut wire.output, b'R', |out| wire::put_i32(out, 0));
        wire::message(&mut wire.output, b'S', |out| {
            wire::put_string(out, "server_version");
            wire::put_string(out, &format!("{} through ODBC", version.unwrap_or_default()));
        });
        self.ready(&mut wire.output);
    }

    fn ready(&self, out: &mut Vec<u8>) {
        let status = match self.state {
            State::Idle => b'I',
            State::Open => b'T',
            State::Failed => b'E',
        };
        wire::message(out, b'Z', |out| out.push(status));
    }

    fn run(&mut self, wire: &mut Channel) -> DriverResult<()> {
        loop {
            let (kind, body) = wire.next()?;
            let done = match kind {
                b'P' => self.prepare(&body),
                b'B' => self.execute(&body, &mut wire.output),
                b'E' => Ok(()),
                b'S' => {
                    self.ready(&mut wire.output);
                    Ok(())
                }
                b'Q' => {
                    let done = self.simple(&body, wire)?;
                    if let Err(error) = done {
                        self.fail(&error, &mut wire.output);
                    }
                    self.ready(&mut wire.output);
                    Ok(())
                }
                b'X' => return Ok(()),
                kind => {
                    return Err(DriverError::protocol(format!(
                        "message '{}' has no counterpart in ODBC",
                        kind as char
                    )));
                }
            };
            if let Err(error) = done {
                self.fail(&error, &mut wire.output);
                while wire.next()?.0 != b'S' {}
                self.ready(&mut wire.output);
            }
        }
    }

    fn fail(&mut self, error: &ServerError, out: &mut Vec<u8>) {
        if self.state == State::Open {
            self.state = State::Failed;
        }
        form::write_error(out, error);
    }

    fn said<T>(&self, result: Result<T, odbc_api::Error>) -> Said<T> {
        result.map_err(|error| error::decode(&error, self.system))
    }

    fn plain(&self, text: &str) -> Said<()> {
        self.said(self.connection.execute(text, (), None)).map(|_| ())
    }

    fn prepare(&mut self, body: &[u8]) -> Said<()> {
        let parsed = Parsed::read(body).map_err(|error| error::refused(&error.to_string()))?;
        let prepared = match parsed.tag.control() {
            Some(_) => None,
            None => {
                let text = self.prepared_text(&parsed.text)?;
                Some(self.said(self.connection.prepare(&text))?)
            }
        };
        self.statements.push(Statement { parsed, prepared });
        Ok(())
    }

    /// Statements of MySQL are generic SQL before they are prepared.
    fn prepared_text<'a>(&self, text: &'a str) -> Said<Cow<'a, str>> {
        match self.system {
            System::Postgres | System::Mysql => Ok(Cow::Borrowed(text)),
            System::Oracle => oracle::translate(text).map_err(|what| error::refused(&what)),
            System::Db2 => db2::translate(text).map_err(|what| error::refused(&what)),
        }
    }

    fn execute(&mut self, bind: &[u8], out: &mut Vec<u8>) -> Said<()> {
        let malformed = |error: DriverError| error::refused(&error.to_string());
        let number = form::statement_number(bind).map_err(malformed)?;
        let unknown = || error::refused("a statement that was never prepared is executed");
        let tag = self.statements.get(number).ok_or_else(unknown)?.parsed.tag;
        if tag.control().is_some() {
            return self.control(tag, out);
        }
        self.alive()?;
        self.bound.read(bind).map_err(malformed)?;
        let (system, bound) = (self.system, &self.bound);
        let Statement { parsed, prepared } = &mut self.statements[number];
        let values = parsed.order.iter().map(|&param| {
            let value = bound.value(bind, param)?;
            parameter(parsed.types[param], value)
        });
        let values = values
            .collect::<DriverResult<Vec<Box<dyn InputParameter>>>>()
            .map_err(malformed)?;
        let prepared = prepared.as_mut().ok_or_else(unknown)?;
        let failed = |error| error::decode(&error, system);
        let mut count = 0;
        if let Some(mut cursor) = prepared.execute(values.as_slice()).map_err(failed)? {
            count = rows::write(&mut cursor, |column| bound.is_binary(column), system, out)?;
        }
        if parsed.tag != Tag::Select {
            count = prepared.row_count().map_err(failed)?.unwrap_or(0) as u64;
        }
        complete(parsed.tag, count, out);
        Ok(())
    }

    /// Nothing is done in a transaction that has failed.
    fn alive(&self) -> Said<()> {
        match self.state {
            State::Failed => Err(error::in_failed_transaction()),
            _ => Ok(()),
        }
    }

    fn control(&mut self, tag: Tag, out: &mut Vec<u8>) -> Said<()> {
        let mut done = tag;
        match (tag, self.state) {
            (Tag::Begin, State::Idle) => {
                self.said(self.connection.set_autocommit(false))?;
                self.state = State::Open;
            }
            (Tag::Begin, _) | (_, State::Idle) => {}
            (Tag::Commit, State::Open) => {
                // Whatever comes of it, the transaction has ended.
                let committed = self.connection.commit();
                self.end()?;
                self.said(committed)?;
            }
            _ => {
                done = Tag::Rollback;
                let ended = self.connection.rollback();
                self.end()?;
                self.said(ended)?;
            }
        }
        complete(done, 0, out);
        Ok(())
    }

    fn end(&mut self) -> Said<()> {
        self.state = State::Idle;
        self.said(self.connection.set_autocommit(true))
    }

    /// A text of SQL. The outer error is the channel's.
    fn simple(&mut self, body: &[u8], wire: &mut Channel) -> DriverResult<Said<()>> {
        let text = body.strip_suffix(&[0]).unwrap_or(body);
        let text = std::str::from_utf8(text).map_err(|_| DriverError::protocol("SQL is not UTF-8"))?;
        if let Some(rest) = text.strip_prefix("COPY ") {
            return self.copy(rest, wire);
        }
        let tag = Tag::of(text);
        if tag.control().is_some() {
            return Ok(self.control(tag, &mut wire.output));
        }
        Ok(self.text(text, tag, &mut wire.output))
    }

    fn text(&mut self, text: &str, tag: Tag, out: &mut Vec<u8>) -> Said<()> {
        self.alive()?;
        let translated = match self.system {
            System::Postgres => text.into(),
            System::Mysql => {
                dialect::translate(text, self.engine.as_deref()).map_err(|what| error::refused(&what))?
            }
            System::Oracle | System::Db2 => self.prepared_text(text)?,
        };
        let mut count = 0;
        if let Some(mut cursor) = self.said(self.connection.execute(&translated, (), None))? {
            count = rows::write(&mut cursor, |_| false, self.system, out)?;
        }
        complete(tag, count, out);
        Ok(())
    }

    /// ODBC has no COPY: its rows become INSERTs of many rows.
    fn copy(&mut self, rest: &str, wire: &mut Channel) -> DriverResult<Said<()>> {
        let mut load = match self.alive().and_then(|()| Load::into_table(rest, self.system)) {
            Ok(load) => load,
            Err(error) => return Ok(Err(error)),
        };
        wire::message(&mut wire.output, b'G', |out| {
            out.push(0);
            wire::put_i16(out, 0);
        });
        let mut done = Ok(());
        loop {
            let (kind, body) = wire.next()?;
            match kind {
                // After an error the rest is read and dropped.
                b'd' if done.is_ok() => done = load.take(&body, |insert| self.plain(insert)),
                b'd' => {}
                b'c' => break,
                _ => return Err(DriverError::protocol("only rows can follow a COPY")),
            }
        }
        let done = done.and_then(|()| load.finish(|insert| self.plain(insert)));
        Ok(done.map(|rows| complete(Tag::Copy, rows, &mut wire.output)))
    }
}

fn complete(tag: Tag, rows: u64, out: &mut Vec<u8>) {
    wire::message(out, b'C', |out| {
        tag.write(rows, out);
        out.push(0);
    });
}

/// A value of a Bind message as ODBC takes it.
fn parameter(kind: u32, value: Option<&[u8]>) -> DriverResult<Box<dyn InputParameter>> {
    let Some(value) = value else {
        return Ok(Box::new(VarCharBox::null()));
    };
    let malformed = || DriverError::protocol("a parameter is not as long as its type");
    Ok(match kind {
        INT4 => Box::new(i32::from_be_bytes(value.try_into().map_err(|_| malformed())?)),
        INT8 => Box::new(i64::from_be_bytes(value.try_into().map_err(|_| malformed())?)),
        FLOAT8 => Box::new(f64::from_be_bytes(value.try_into().map_err(|_| malformed())?)),
        _ => Box::new(String::from_utf8_lossy(value).into_owned().into_parameter()),
    })
}
