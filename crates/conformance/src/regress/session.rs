//! psql as pg_regress runs it, fed one statement at a time.
//!
//! Behind each statement goes an `\echo` of a marker; what psql prints up to it is the statement's answer. Standard
//! output and standard error share a pipe: psql flushes one before it writes to the other.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use super::proxy::{Event, Proxy};
use super::script::Statement;

/// How long a cancelled statement may take to notice.
const CANCEL_PATIENCE: Duration = Duration::from_secs(5);
/// How long to wait for a COPY that neither asks for data nor ends: psql itself refused it.
const COPY_PATIENCE: Duration = Duration::from_secs(2);
const NO_COMMAND: &str = "invalid command \\.\n";
const MARKER: &str = "@@mote-conformance@@";

/// What a statement came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub text: String,
    /// SQLSTATE and message, in order.
    pub errors: Vec<(String, String)>,
    pub end: End,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum End {
    Answered,
    /// Cancelled after its time; the session goes on.
    Cancelled,
    /// Not even a cancel request was answered.
    Hung,
    /// psql ended because its connection did.
    Lost,
    /// psql ended because it was told to.
    Quit,
}

/// What a session needs to know of its server and of the suite.
pub struct Place<'a> {
    pub server: SocketAddr,
    pub file: &'a str,
    /// Where psql runs and results go.
    pub build: &'a Path,
    pub source: &'a Path,
    pub libraries: &'a Path,
}

pub struct Session {
    psql: Child,
    proxy: Proxy,
    /// To the thread that writes to psql: a full pipe must not stop who reads psql's output.
    input: Sender<Vec<u8>>,
    events: Receiver<Event>,
    output: Vec<u8>,
    errors: Vec<(String, String)>,
    /// The session's standard_conforming_strings.
    pub conforming: bool,
    marks: usize,
}

impl Session {
    pub fn start(place: &Place<'_>) -> Result<Session, String> {
        let (sender, events) = channel();
        let proxy = Proxy::start(place.server, sender.clone())?;
        let mut psql = command(place, proxy.port)
            .spawn()
            .map_err(|error| format!("psql: {error}"))?;
        let mut output = psql.stdout.take().expect("standard output is piped");
        std::thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while let Ok(count @ 1..) = output.read(&mut buffer) {
                let _ = sender.send(Event::Output(buffer[..count].to_vec())); // The session may have been given up.
            }
            let _ = sender.send(Event::OutputEnd);
        });
        let mut stdin = psql.stdin.take().expect("standard input is piped");
        let (input, texts) = channel::<Vec<u8>>();
        std::thread::spawn(move || {
            // Ends with the session, or with psql, which the reading thread notices.
            while texts
                .recv()
                .is_ok_and(|text| stdin.write_all(&text).and_then(|()| stdin.flush()).is_ok())
            {}
        });
        Ok(Session {
            psql,
            proxy,
            input,
            events,
            output: Vec::new(),
            errors: Vec::new(),
            conforming: true,
            marks: 0,
        })
    }

    /// Sends a statement and waits for its answer. `data` gives a COPY its lines when the server asks for them.
    pub fn execute(
        &mut self,
        statement: &Statement,
        patience: Duration,
        mut data: impl FnMut() -> String,
    ) -> Answer {
        self.output.clear();
        self.errors.clear();
        let deadline = Instant::now() + patience;
        if !sets_echo(statement.body()) {
            self.write(format!("{}\n", statement.text.trim_end_matches('\n')));
        }
        let refused = match statement.copies_in() {
            0 => 0,
            copies => copies - self.feed_copy(deadline, &mut data).min(copies),
        };
        // psql reads over the data of a COPY that failed, or takes this for a command that it does not know.
        self.write("\\.\n".repeat(refused));
        self.marks += 1;
        let marker = format!("{MARKER}{}\n", self.marks);
        self.write(format!("\\echo {marker}"));
        let mut end = self.wait_for(&marker, deadline);
        if end == End::Hung {
            self.proxy.cancel();
            end = match self.wait_for(&marker, Instant::now() + CANCEL_PATIENCE) {
                End::Answered => End::Cancelled,
                end => end,
            };
        }
        let text = String::from_utf8_lossy(&self.output);
        Answer {
            text: text
                .strip_suffix(&marker)
                .unwrap_or(&text)
                .replacen(NO_COMMAND, "", refused),
            errors: std::mem::take(&mut self.errors),
            end,
        }
    }

    /// How many times the server asked for data.
    fn feed_copy(&mut self, deadline: Instant, data: &mut impl FnMut() -> String) -> usize {
        let mut fed = 0;
        let deadline = deadline.min(Instant::now() + COPY_PATIENCE);
        loop {
            match self.next(deadline) {
                Some(Event::CopyIn) => {
                    self.write(data());
                    fed += 1;
                }
                Some(Event::Ready | Event::OutputEnd) | None => return fed,
                Some(_) => {}
            }
        }
    }

    fn wait_for(&mut self, marker: &str, deadline: Instant) -> End {
        loop {
            if self.output.ends_with(marker.as_bytes()) {
                return End::Answered;
            }
            match self.next(deadline) {
                Some(Event::OutputEnd) => return self.ended(),
                Some(_) => {}
                None => return End::Hung,
            }
        }
    }

    /// The next event, with what it says already taken in; `None` when the time is over.
    fn next(&mut self, deadline: Instant) -> Option<Event> {
        let left = deadline.saturating_duration_since(Instant::now());
        let event = match self.events.recv_timeout(left) {
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout) => return None,
            // All senders are gone only after psql's output ended.
            Err(RecvTimeoutError::Disconnected) => Event::OutputEnd,
        };
        match &event {
            Event::Output(bytes) => self.output.extend_from_slice(bytes),
            Event::Error(sqlstate, message) => self.errors.push((sqlstate.clone(), message.clone())),
            Event::Setting(name, value) if name == "standard_conforming_strings" => {
                self.conforming = value == "on"
            }
            _ => {}
        }
        Some(event)
    }

    fn ended(&mut self) -> End {
        // psql's exit code for a lost connection is 2.
        match self.psql.wait().ok().and_then(|status| status.code()) {
            Some(0) => End::Quit,
            _ => End::Lost,
        }
    }

    fn write(&self, text: String) {
        let _ = self.input.send(text.into_bytes()); // A psql that has ended says so by the end of its output.
    }
}

/// Whether psql would be told to repeat what it reads, or no longer to: it is never to repeat anything here, where what
/// this program writes would stand among the answers.
fn sets_echo(body: &str) -> bool {
    let mut words = body.split_whitespace();
    matches!(words.next(), Some("\\set" | "\\unset")) && words.next() == Some("ECHO")
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.psql.kill(); // It may have ended by itself.
        let _ = self.psql.wait();
    }
}

/// psql with pg_regress's options and environment.
fn command(place: &Place<'_>, port: u16) -> Command {
    let psql = "exec psql -X -q -d regression -v HIDE_TABLEAM=on -v HIDE_TOAST_COMPRESSION=on 2>&1";
    let mut command = Command::new("sh");
    command
        .args(["-c", psql])
        .current_dir(place.build)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PG") || name.to_string_lossy().starts_with("LC_") {
            command.env_remove(name);
        }
    }
    for name in ["LANG", "LANGUAGE"] {
        command.env_remove(name);
    }
    command
        .env("LC_MESSAGES", "C")
        .env("PGHOST", "127.0.0.1")
        .env("PGPORT", port.to_string())
        .env("PGUSER", "postgres")
        .env("PGSSLMODE", "disable")
        .env("PGGSSENCMODE", "disable")
        .env("PGAPPNAME", format!("pg_regress/{}", place.file))
        .env("PGTZ", "America/Los_Angeles")
        .env("PGDATESTYLE", "Postgres, MDY")
        .env("PGOPTIONS", "-c intervalstyle=postgres_verbose")
        .env("PG_ABS_SRCDIR", place.source)
        .env("PG_ABS_BUILDDIR", place.build)
        .env("PG_LIBDIR", place.libraries)
        .env("PG_DLSUFFIX", ".so");
    command
}
