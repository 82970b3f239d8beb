//! The wire by hand: for what no well-behaved client sends, and for the order of answers.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use crate::TestServer;

/// A server that says nothing for so long hangs, and the test fails.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// A message from the server.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub kind: u8,
    pub body: Vec<u8>,
}

impl Message {
    /// A field of an ErrorResponse or NoticeResponse.
    pub fn field(&self, code: u8) -> Option<String> {
        self.body
            .split(|&b| b == 0)
            .find(|part| part.first() == Some(&code))
            .map(|part| String::from_utf8_lossy(&part[1..]).into_owned())
    }

    /// The columns of a DataRow, as bytes.
    pub fn columns(&self) -> Vec<Option<Vec<u8>>> {
        assert_eq!(self.kind, b'D', "not a DataRow");
        let count = u16::from_be_bytes([self.body[0], self.body[1]]) as usize;
        let mut rest = &self.body[2..];
        let mut columns = Vec::with_capacity(count);
        for _ in 0..count {
            let length = i32::from_be_bytes(rest[..4].try_into().expect("four bytes"));
            rest = &rest[4..];
            if length < 0 {
                columns.push(None);
            } else {
                columns.push(Some(rest[..length as usize].to_vec()));
                rest = &rest[length as usize..];
            }
        }
        assert!(rest.is_empty(), "bytes after the last column");
        columns
    }

    /// (name, type OID, type size, modifier, format) of a RowDescription's columns.
    pub fn described(&self) -> Vec<(String, u32, i16, i32, i16)> {
        assert_eq!(self.kind, b'T', "not a RowDescription");
        let mut fields = Vec::new();
        let mut rest = &self.body[2..];
        while let Some(end) = rest.iter().position(|&b| b == 0) {
            let name = String::from_utf8_lossy(&rest[..end]).into_owned();
            let head: &[u8; 18] = rest[end + 1..end + 19].try_into().expect("eighteen bytes");
            let int = |at: usize| i32::from_be_bytes(head[at..at + 4].try_into().expect("four bytes"));
            let short = |at: usize| i16::from_be_bytes(head[at..at + 2].try_into().expect("two bytes"));
            fields.push((name, int(6) as u32, short(10), int(12), short(16)));
            rest = &rest[end + 19..];
        }
        fields
    }
}

/// 3.0.
pub const PROTOCOL: u32 = 196_608;
pub const SSL_REQUEST: u32 = 80_877_103;

/// A connection that sends whatever it is told to.
pub struct RawClient {
    stream: TcpStream,
    /// From BackendKeyData: process and key, for a CancelRequest.
    pub key_data: Vec<u8>,
}

impl RawClient {
    /// Connected, nothing sent.
    pub fn open(server: &TestServer) -> RawClient {
        let stream = TcpStream::connect(server.address).expect("the server listens");
        stream
            .set_read_timeout(Some(READ_TIMEOUT))
            .expect("a timeout can be set");
        stream.set_nodelay(true).expect("an option can be set");
        RawClient {
            stream,
            key_data: Vec::new(),
        }
    }

    /// Connected and past start-up.
    pub fn connect(server: &TestServer) -> RawClient {
        let mut client = RawClient::open(server);
        client.start_up(&[("user", server.user()), ("database", server.database())]);
        let messages = client.until(b'Z');
        assert_eq!(
            messages.last().map(|m| m.kind),
            Some(b'Z'),
            "no session: {messages:?}"
        );
        let key = messages.iter().find(|m| m.kind == b'K').expect("BackendKeyData");
        client.key_data = key.body.clone();
        client
    }

    /// A start-up packet of protocol 3.0.
    pub fn start_up(&mut self, parameters: &[(&str, &str)]) {
        self.start_up_version(PROTOCOL, parameters);
    }

    pub fn start_up_version(&mut self, version: u32, parameters: &[(&str, &str)]) {
        self.raw(&start_up(version, parameters));
    }

    /// A message without a type byte: start-up, SSLRequest, CancelRequest.
    pub fn untyped(&mut self, body: &[u8]) {
        self.raw(&untyped(body));
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the server reads");
    }

    /// Like `raw`, for bytes that may make the server hang up.
    pub fn try_raw(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    pub fn send(&mut self, kind: u8, body: &[u8]) {
        self.raw(&framed(kind, body));
    }

    pub fn query(&mut self, text: &str) -> Vec<Message> {
        self.send(b'Q', &[text.as_bytes(), &[0]].concat());
        self.until(b'Z')
    }

    /// A simple query that must succeed: its rows as text, one line per row, columns separated by `|`.
    #[track_caller]
    pub fn rows(&mut self, text: &str) -> Vec<String> {
        let messages = self.query(text);
        assert_eq!(
            error(&messages),
            None,
            "{}",
            text.chars().take(1000).collect::<String>()
        );
        text_rows(&messages)
    }

    /// Sends a group of messages at once and reads up to ReadyForQuery.
    pub fn exchange(&mut self, messages: &[Vec<u8>]) -> Vec<Message> {
        self.raw(&messages.concat());
        self.until(b'Z')
    }

    /// None: the server closed the connection. Panics if it says nothing for long.
    pub fn receive(&mut self) -> Option<Message> {
        let mut head = [0u8; 5];
        self.read(&mut head)?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize - 4;
        let mut body = vec![0u8; length];
        self.read(&mut body)?;
        Some(Message { kind: head[0], body })
    }

    fn read(&mut self, into: &mut [u8]) -> Option<()> {
        match self.stream.read_exact(into) {
            Ok(()) => Some(()),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                panic!("the server said nothing for {READ_TIMEOUT:?}")
            }
            Err(_) => None,
        }
    }

    /// Whether nothing has arrived that was not read yet.
    pub fn is_silent(&self) -> bool {
        self.stream.set_nonblocking(true).expect("an option can be set");
        let peeked = self.stream.peek(&mut [0]);
        self.stream.set_nonblocking(false).expect("an option can be set");
        matches!(peeked, Err(error) if error.kind() == ErrorKind::WouldBlock)
    }

    pub fn read_byte(&mut self) -> Option<u8> {
        let mut byte = [0u8; 1];
        self.read(&mut byte)?;
        Some(byte[0])
    }

    /// Messages up to and including the first of a kind, or the end of the connection.
    pub fn until(&mut self, kind: u8) -> Vec<Message> {
        let mut messages = Vec::new();
        while let Some(message) = self.receive() {
            let last = message.kind == kind;
            messages.push(message);
            if last {
                break;
            }
        }
        messages
    }

    /// Whatever is left until the server hangs up.
    pub fn until_closed(&mut self) -> Vec<Message> {
        self.until(0)
    }

    /// Tells the server that nothing more comes; its answers can still be read.
    pub fn finish_writing(&self) {
        // A server that has hung up already has closed both directions.
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// A connection for the same bytes in both directions: one thread may write while another reads.
    pub fn duplicate(&self) -> RawClient {
        let stream = self.stream.try_clone().expect("a socket can be duplicated");
        RawClient {
            stream,
            key_data: self.key_data.clone(),
        }
    }
}

/// Length, body.
pub fn untyped(body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

pub fn start_up(version: u32, parameters: &[(&str, &str)]) -> Vec<u8> {
    let mut body = version.to_be_bytes().to_vec();
    for (name, value) in parameters {
        body.extend(string(name));
        body.extend(string(value));
    }
    body.push(0);
    untyped(&body)
}

/// Type, length, body.
pub fn framed(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut message = vec![kind];
    message.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    message.extend_from_slice(body);
    message
}

fn string(text: &str) -> Vec<u8> {
    [text.as_bytes(), &[0]].concat()
}

fn shorts(values: &[i16]) -> Vec<u8> {
    let mut bytes = (values.len() as i16).to_be_bytes().to_vec();
    values
        .iter()
        .for_each(|v| bytes.extend_from_slice(&v.to_be_bytes()));
    bytes
}

/// Simple query.
pub fn query(text: &str) -> Vec<u8> {
    framed(b'Q', &string(text))
}

pub fn parse(name: &str, text: &str, types: &[u32]) -> Vec<u8> {
    let mut body = [string(name), string(text)].concat();
    body.extend_from_slice(&(types.len() as i16).to_be_bytes());
    types
        .iter()
        .for_each(|t| body.extend_from_slice(&t.to_be_bytes()));
    framed(b'P', &body)
}

/// Bind with any formats: `parameters` as bytes, None for NULL.
pub fn bind_with(
    portal: &str,
    statement: &str,
    formats: &[i16],
    parameters: &[Option<&[u8]>],
    result_formats: &[i16],
) -> Vec<u8> {
    let mut body = [string(portal), string(statement), shorts(formats)].concat();
    body.extend_from_slice(&(parameters.len() as i16).to_be_bytes());
    for parameter in parameters {
        match parameter {
            None => body.extend_from_slice(&(-1i32).to_be_bytes()),
            Some(bytes) => {
                body.extend_from_slice(&(bytes.len() as i32).to_be_bytes());
                body.extend_from_slice(bytes);
            }
        }
    }
    body.extend_from_slice(&shorts(result_formats));
    framed(b'B', &body)
}

/// Bind with everything as text.
pub fn bind(portal: &str, statement: &str, parameters: &[&str]) -> Vec<u8> {
    let parameters: Vec<Option<&[u8]>> = parameters.iter().map(|p| Some(p.as_bytes())).collect();
    bind_with(portal, statement, &[], &parameters, &[])
}

/// `kind` is `b'S'` or `b'P'`.
pub fn describe(kind: u8, name: &str) -> Vec<u8> {
    framed(b'D', &[vec![kind], string(name)].concat())
}

pub fn close(kind: u8, name: &str) -> Vec<u8> {
    framed(b'C', &[vec![kind], string(name)].concat())
}

/// `max_rows` 0: all.
pub fn execute(portal: &str, max_rows: i32) -> Vec<u8> {
    framed(b'E', &[string(portal), max_rows.to_be_bytes().to_vec()].concat())
}

pub fn sync() -> Vec<u8> {
    framed(b'S', &[])
}

pub fn flush() -> Vec<u8> {
    framed(b'H', &[])
}

/// The kinds of a list of messages, as a string.
pub fn kinds(messages: &[Message]) -> String {
    messages.iter().map(|m| m.kind as char).collect()
}

/// The SQLSTATE of the first error in a list.
pub fn sqlstate(messages: &[Message]) -> Option<String> {
    messages
        .iter()
        .find(|m| m.kind == b'E')
        .and_then(|m| m.field(b'C'))
}

/// The first error in a list: SQLSTATE and message.
pub fn error(messages: &[Message]) -> Option<String> {
    let error = messages.iter().find(|m| m.kind == b'E')?;
    Some(format!("{} {}", error.field(b'C')?, error.field(b'M')?))
}

/// The command tags in a list.
pub fn tags(messages: &[Message]) -> Vec<String> {
    let complete = messages.iter().filter(|m| m.kind == b'C');
    complete
        .map(|m| String::from_utf8_lossy(&m.body[..m.body.len() - 1]).into_owned())
        .collect()
}

/// The rows in a list as text: columns separated by `|`, NULL as `~`.
pub fn text_rows(messages: &[Message]) -> Vec<String> {
    let column = |c: Option<Vec<u8>>| c.map_or("~".into(), |b| String::from_utf8_lossy(&b).into_owned());
    let row = |m: &Message| m.columns().into_iter().map(column).collect::<Vec<_>>().join("|");
    messages.iter().filter(|m| m.kind == b'D').map(row).collect()
}

/// The transaction status of the last ReadyForQuery.
pub fn status(messages: &[Message]) -> Option<char> {
    messages
        .iter()
        .rev()
        .find(|m| m.kind == b'Z')
        .map(|m| m.body[0] as char)
}
