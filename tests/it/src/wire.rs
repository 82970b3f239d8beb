//! The wire by hand: for what no well-behaved client sends.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::TestServer;

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
}

/// A connection that sends whatever it is told to.
pub struct RawClient {
    stream: TcpStream,
}

impl RawClient {
    /// Connected, nothing sent.
    pub fn open(server: &TestServer) -> RawClient {
        let stream = TcpStream::connect(server.address).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout can be set");
        stream.set_nodelay(true).expect("an option can be set");
        RawClient { stream }
    }

    /// Connected and past start-up as postgres.
    pub fn connect(server: &TestServer) -> RawClient {
        let mut client = RawClient::open(server);
        client.start_up(&[("user", "postgres"), ("database", "postgres")]);
        client.until(b'Z');
        client
    }

    pub fn start_up(&mut self, parameters: &[(&str, &str)]) {
        let mut body = 196_608u32.to_be_bytes().to_vec();
        for (name, value) in parameters {
            body.extend_from_slice(name.as_bytes());
            body.push(0);
            body.extend_from_slice(value.as_bytes());
            body.push(0);
        }
        body.push(0);
        let mut packet = (body.len() as u32 + 4).to_be_bytes().to_vec();
        packet.extend_from_slice(&body);
        self.raw(&packet);
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

    /// None: the server closed the connection.
    pub fn receive(&mut self) -> Option<Message> {
        let mut head = [0u8; 5];
        self.stream.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize - 4;
        let mut body = vec![0u8; length];
        self.stream.read_exact(&mut body).ok()?;
        Some(Message { kind: head[0], body })
    }

    pub fn read_byte(&mut self) -> Option<u8> {
        let mut byte = [0u8; 1];
        self.stream.read_exact(&mut byte).ok()?;
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
}

/// Type, length, body.
pub fn framed(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut message = vec![kind];
    message.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    message.extend_from_slice(body);
    message
}

/// The kinds of a list of messages, as a string.
pub fn kinds(messages: &[Message]) -> String {
    messages.iter().map(|m| m.kind as char).collect()
}

/// The SQLSTATE of the first error in a list.
pub fn sqlstate(messages: &[Message]) -> Option<String> {
    messages.iter().find(|m| m.kind == b'E').and_then(|m| m.field(b'C'))
}
