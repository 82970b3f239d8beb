//! A session whose statement can be sent, looked at while it runs, and collected later.
//!
//! The order in which messages become visible is libpq's, because the expected output depends on it: a session is busy
//! until its first result is complete; notices appear when they are read; notifications are kept for who asks.
//! Trust authentication only: the server is the test's own.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use mote_driver::url::{Host, Target};
use mote_driver::wire::{self, Frame, Row};

use super::table::Rows;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const LOST: &str = "server closed the connection unexpectedly\n\tThis probably means the server terminated \
                    abnormally\n\tbefore or while processing the request.\n";

/// What one statement of a submission came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// A command without rows, or an empty statement.
    Done,
    Rows(Rows),
    Error(Report),
    /// The connection ended; libpq's words.
    Lost(String),
}

/// An error or a notice.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    pub severity: String,
    pub sqlstate: String,
    pub message: String,
    pub detail: String,
    pub hint: String,
}

impl Report {
    fn decode(body: &[u8]) -> Report {
        let error = wire::decode_error(body);
        Report {
            severity: error.severity,
            sqlstate: error.sqlstate,
            message: error.message,
            detail: error.detail.unwrap_or_default(),
            hint: error.hint.unwrap_or_default(),
        }
    }

    /// libpq's default verbosity, without the position.
    pub fn full(&self) -> String {
        let mut text = format!("{}:  {}\n", self.severity, self.message);
        for (name, part) in [("DETAIL", &self.detail), ("HINT", &self.hint)] {
            if !part.is_empty() {
                text.push_str(&format!("{name}:  {part}\n"));
            }
        }
        text
    }
}

/// A NOTIFY that reached the session.
pub struct Notification {
    pub pid: i32,
    pub channel: String,
    pub payload: String,
}

pub struct Connection {
    stream: TcpStream,
    target: Target,
    input: Vec<u8>,
    pub pid: i32,
    secret: i32,
    silence_max: Duration,
    /// A submission was sent and its ReadyForQuery has not been read.
    active: bool,
    /// The connection has ended: said once, then every submission fails at once.
    lost: bool,
    ready: Option<Outcome>,
    partial: Option<Rows>,
    notices: Vec<Report>,
    notifications: Vec<Notification>,
}

impl Connection {
    /// Connects; the settings go into the start-up packet. A server that owes an answer and says nothing for
    /// `silence_max` counts as lost.
    pub fn open(
        target: &Target,
        settings: &[(&str, &str)],
        silence_max: Duration,
    ) -> Result<Connection, String> {
        let Host::Name(host) = &target.host else {
            return Err("only TCP targets".into());
        };
        let address = (host.as_str(), target.port)
            .to_socket_addrs()
            .map_err(|error| format!("{host}: {error}"))?
            .next()
            .ok_or_else(|| format!("{host} has no address"))?;
        let failed = |error: std::io::Error| format!("{target}: {error}");
        let stream = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        let mut connection = Connection {
            stream,
            target: target.clone(),
            input: Vec::new(),
            pid: 0,
            secret: 0,
            silence_max,
            active: true,
            lost: false,
            ready: None,
            partial: None,
            notices: Vec::new(),
            notifications: Vec::new(),
        };
        let mut options = vec![("user", target.user.as_str()), ("database", &target.database)];
        options.extend_from_slice(settings);
        let mut packet = Vec::new();
        wire::startup(&mut packet, &options);
        connection.send(&packet);
        match connection.next_outcome() {
            None => Ok(connection),
            Some(Outcome::Error(report)) => Err(format!("{target}: {}", report.full())),
            Some(other) => Err(format!("{target}: no session: {other:?}")),
        }
    }

    /// Sends statements as one submission of the simple protocol.
    pub fn submit(&mut self, sql: &str) {
        let mut packet = Vec::new();
        wire::query(&mut packet, sql);
        self.active = true;
        self.send(&packet);
    }

    /// Sends and waits: the last outcome, or the first error.
    pub fn execute(&mut self, sql: &str) -> Outcome {
        self.submit(sql);
        let mut last = Outcome::Done;
        while let Some(outcome) = self.next_outcome() {
            if !matches!(last, Outcome::Error(_)) {
                last = outcome;
            }
        }
        last
    }

    /// Waits a while for bytes; true if some came, or the end of the connection.
    pub fn wait_readable(&mut self, patience: Duration) -> bool {
        self.fill(patience)
    }

    /// Whether the submission's first uncollected result is still incomplete, judged by what has been read.
    pub fn is_busy(&mut self) -> bool {
        self.digest();
        self.active && self.ready.is_none()
    }

    /// The next result of the submission, waiting for it; `None` when the session is idle.
    pub fn next_outcome(&mut self) -> Option<Outcome> {
        loop {
            self.digest();
            if let Some(outcome) = self.ready.take() {
                return Some(outcome);
            }
            if !self.active {
                return None;
            }
            if !self.fill(self.silence_max) {
                self.lost = true;
                self.active = false;
                return Some(Outcome::Lost(format!(
                    "no answer within {:?}\n",
                    self.silence_max
                )));
            }
        }
    }

    /// Notices read since the last call.
    pub fn take_notices(&mut self) -> Vec<Report> {
        std::mem::take(&mut self.notices)
    }

    /// Notifications that have arrived by now.
    pub fn take_notifications(&mut self) -> Vec<Notification> {
        if !self.lost {
            self.fill(Duration::from_millis(1));
        }
        self.digest();
        std::mem::take(&mut self.notifications)
    }

    /// Asks the server to cancel what the session runs.
    pub fn cancel(&self) -> std::io::Result<()> {
        let mut packet = Vec::new();
        wire::put_i32(&mut packet, 16);
        wire::put_i32(&mut packet, wire::CANCEL_REQUEST);
        wire::put_i32(&mut packet, self.pid);
        wire::put_i32(&mut packet, self.secret);
        let mut other = TcpStream::connect(self.stream.peer_addr()?)?;
        other.write_all(&packet)
    }

    fn send(&mut self, packet: &[u8]) {
        // A broken pipe shows as the end of the stream when the answer is read, after whatever the server still said.
        let _ = self.stream.write_all(packet);
    }

    /// One read. False when nothing came in time.
    fn fill(&mut self, patience: Duration) -> bool {
        if self.lost {
            return true;
        }
        let deadline = Instant::now() + patience;
        let mut buffer = [0; 16 * 1024];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            self.stream
                .set_read_timeout(Some(left))
                .expect("a positive time is a valid time-out");
            match self.stream.read(&mut buffer) {
                Ok(0) => self.lost = true,
                Ok(count) => self.input.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => continue,
                Err(_) => self.lost = true,
            }
            return true;
        }
    }

    /// Takes messages from what has been read, until a result is complete.
    fn digest(&mut self) {
        while self.ready.is_none() {
            let input = std::mem::take(&mut self.input);
            let Ok(Some((frame, length))) = wire::frame(&input) else {
                self.input = input;
                if self.lost && self.active {
                    self.active = false;
                    self.ready = Some(Outcome::Lost(LOST.to_string()));
                }
                return;
            };
            self.take(frame);
            self.input = input[length..].to_vec();
        }
    }

    fn take(&mut self, frame: Frame<'_>) {
        match frame.kind {
            b'Z' => self.active = false,
            b'C' | b'I' => self.ready = Some(self.partial.take().map_or(Outcome::Done, Outcome::Rows)),
            b'E' => {
                self.partial = None;
                self.ready = Some(Outcome::Error(Report::decode(frame.body)));
            }
            b'N' => self.notices.push(Report::decode(frame.body)),
            b'T' => {
                self.partial = Some(Rows {
                    columns: column_names(frame.body),
                    rows: Vec::new(),
                })
            }
            b'D' => {
                if let Some(partial) = &mut self.partial {
                    let cells = values(frame.body, partial.columns.len());
                    partial.rows.push(cells);
                }
            }
            b'A' => self.notifications.extend(notification(frame.body)),
            b'K' if frame.body.len() >= 8 => {
                let int = |at: usize| {
                    i32::from_be_bytes(frame.body[at..at + 4].try_into().expect("a range of four"))
                };
                (self.pid, self.secret) = (int(0), int(4));
            }
            b'R' if frame.body != [0, 0, 0, 0] => {
                let message = format!("{} wants a password; only trust is supported", self.target);
                self.ready = Some(Outcome::Lost(message));
                self.active = false;
            }
            _ => {}
        }
    }
}

/// The names in a RowDescription: each is followed by 18 bytes.
fn column_names(body: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = body.get(2..).unwrap_or(&[]);
    while let Some(end) = rest.iter().position(|&byte| byte == 0) {
        names.push(String::from_utf8_lossy(&rest[..end]).into_owned());
        rest = rest.get(end + 19..).unwrap_or(&[]);
    }
    names
}

fn values(body: &[u8], columns: usize) -> Vec<Option<String>> {
    let mut row = Row::new(body);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (0..columns)
        .map(|_| row.bytes().ok().flatten().map(text))
        .collect()
}

fn notification(body: &[u8]) -> Option<Notification> {
    let (pid, rest) = body.split_first_chunk::<4>()?;
    let mut texts = rest
        .split(|&byte| byte == 0)
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    Some(Notification {
        pid: i32::from_be_bytes(*pid),
        channel: texts.next()?,
        payload: texts.next()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_rows_and_notifications() {
        let mut description = vec![0, 2];
        for name in ["id", "name"] {
            wire::put_string(&mut description, name);
            description.extend_from_slice(&[0; 18]);
        }
        assert_eq!(column_names(&description), ["id", "name"]);
        let row = [0, 2, 0, 0, 0, 1, b'7', 255, 255, 255, 255];
        assert_eq!(values(&row, 2), [Some("7".to_string()), None]);
        let told = notification(b"\0\0\0\x09c1\0payload\0").expect("well formed");
        assert_eq!(
            (told.pid, told.channel.as_str(), told.payload.as_str()),
            (9, "c1", "payload")
        );
    }
}
