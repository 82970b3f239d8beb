//! A server that answers constant bytes: the ceiling of the wire on this machine.
//!
//! One epoll loop, no parsing of SQL, no storage. It knows just enough of the protocol for pgbench's select-only
//! script and for `mote bench point`: every execution returns one row with one int4; and it knows order entry's statements by
//! their texts (`order_entry`). What a real server reaches of its figure is what remains for parsing, planning, executing and
//! committing; what a driver uses against it is the driver's own.
//! Leaves out: everything else. Nothing that it answers is true.

mod order_entry;
mod socket;

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mio::{Events, Interest, Poll, Token};

use self::order_entry::{ANSWERS, Answer};
use self::socket::{Listener, Stream};
use mote_driver::wire::{self, CANCEL_REQUEST, Frame, GSS_REQUEST, SSL_REQUEST, frame};

/// Larger messages than this are not from a benchmark.
const INPUT_BYTES_MAX: usize = 1 << 20;

pub struct CannedServer {
    /// Theirs are the first tokens, and the connections' those behind.
    listeners: Vec<Listener>,
    address: SocketAddr,
}

impl CannedServer {
    pub fn bind(address: SocketAddr) -> io::Result<CannedServer> {
        let listener = Listener::tcp(address)?;
        let address = listener.address().unwrap_or(address);
        Ok(CannedServer {
            listeners: vec![listener],
            address,
        })
    }

    /// Listens at a Unix socket, too: PostgreSQL's name for the same port, in that directory.
    pub fn also_in(mut self, directory: &Path) -> io::Result<CannedServer> {
        self.listeners
            .push(Listener::unix(directory, self.address.port())?);
        Ok(self)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is set. The flag stands alone, so Relaxed suffices; it is looked at every 200 ms.
    pub fn serve(mut self, stop: &AtomicBool) -> io::Result<()> {
        let mut poll = Poll::new()?;
        for (number, listener) in self.listeners.iter_mut().enumerate() {
            poll.registry()
                .register(listener.source(), Token(number), Interest::READABLE)?;
        }
        let first = self.listeners.len();
        let mut events = Events::with_capacity(1024);
        // By token less that of the first. Places of closed connections are taken again, so events find theirs by index.
        let mut connections: Vec<Option<Connection>> = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            match poll.poll(&mut events, Some(Duration::from_millis(200))) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            for event in &events {
                if let Some(listener) = self.listeners.get(event.token().0) {
                    while let Some(mut stream) = listener.accept()? {
                        let free = connections.iter().position(Option::is_none);
                        let place = free.unwrap_or_else(|| {
                            connections.push(None);
                            connections.len() - 1
                        });
                        let interest = Interest::READABLE | Interest::WRITABLE;
                        poll.registry()
                            .register(stream.source(), Token(place + first), interest)?;
                        connections[place] = Some(Connection::new(stream));
                    }
                    continue;
                }
                let connection = &mut connections[event.token().0 - first];
                // A client that breaks the protocol or goes away costs its connection, nothing else. An event that
                // was meant for a predecessor in the same place is harmless: it finds nothing to read.
                let over = match connection {
                    Some(connection) => !connection.advance().unwrap_or(false),
                    None => false,
                };
                if over {
                    *connection = None;
                }
            }
        }
        Ok(())
    }
}

struct Connection {
    stream: Stream,
    input: Vec<u8>,
    filled: usize,
    output: Vec<u8>,
    responder: Responder,
}

impl Connection {
    fn new(stream: Stream) -> Connection {
        let output = Vec::with_capacity(1024);
        Connection {
            stream,
            input: vec![0; 4096],
            filled: 0,
            output,
            responder: Responder::default(),
        }
    }

    /// Reads, answers and writes what is possible now. False when the connection is over.
    fn advance(&mut self) -> io::Result<bool> {
        self.write()?;
        loop {
            if self.filled == self.input.len() {
                if self.input.len() >= INPUT_BYTES_MAX {
                    return Ok(false);
                }
                self.input.resize(self.input.len() * 2, 0);
            }
            let full = match self.stream.read(&mut self.input[self.filled..]) {
                Ok(0) => return Ok(false),
                Ok(count) => {
                    self.filled += count;
                    self.filled == self.input.len()
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let Some(used) = self
                .responder
                .respond(&self.input[..self.filled], &mut self.output)
            else {
                self.write()?;
                return Ok(false);
            };
            self.input.copy_within(used..self.filled, 0);
            self.filled -= used;
            self.write()?;
            // A read that did not fill the buffer emptied the socket: the next bytes bring a new edge.
            if !full {
                return Ok(true);
            }
        }
    }

    fn write(&mut self) -> io::Result<()> {
        let mut written = 0;
        while written < self.output.len() {
            match self.stream.write(&self.output[written..]) {
                Ok(count) => written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.output.drain(..written);
        Ok(())
    }
}

/// The protocol's state, apart from the socket.
#[derive(Default)]
struct Responder {
    started: bool,
    /// The last Bind asked for its one result column in binary.
    binary: bool,
    /// Order entry's statements by the names that this client gave them.
    statements: HashMap<Vec<u8>, &'static Answer>,
    /// What the last Bind was about, if it was one of them; and whether it asked for an item that does not exist.
    bound: Option<(&'static Answer, bool)>,
    /// A transaction is open.
    in_block: bool,
}

impl Responder {
    /// Answers all complete messages; returns the bytes used, or `None` when the connection shall end.
    fn respond(&mut self, input: &[u8], output: &mut Vec<u8>) -> Option<usize> {
        let mut used = 0;
        while !self.started {
            let rest = &input[used..];
            let Some(header) = rest.first_chunk::<8>() else {
                return Some(used);
            };
            let length = i32::from_be_bytes([header[0], header[1], header[2], header[3]]);
            let code = i32::from_be_bytes([header[4], header[5], header[6], header[7]]);
            if !(8..=10_000).contains(&length) || code == CANCEL_REQUEST {
                return None;
            }
            if rest.len() < length as usize {
                return Some(used);
            }
            used += length as usize;
            if code == SSL_REQUEST || code == GSS_REQUEST {
                output.push(b'N');
            } else {
                self.started = true;
                greet(output);
            }
        }
        while let Some((frame, length)) = frame(&input[used..]).ok()? {
            used += length;
            if frame.kind == b'X' {
                return None;
            }
            self.answer(frame, output);
        }
        Some(used)
    }

    fn answer(&mut self, frame: Frame<'_>, output: &mut Vec<u8>) {
        match frame.kind {
            b'P' => {
                if let Some((name, rest)) = until_zero(frame.body)
                    && let Some((sql, _)) = until_zero(rest)
                    && let Some(answer) = std::str::from_utf8(sql).ok().and_then(|sql| ANSWERS.get(sql))
                {
                    self.statements.insert(name.to_vec(), answer);
                }
                output.extend_from_slice(b"1\0\0\0\x04");
            }
            b'B' => {
                let named = until_zero(frame.body).and_then(|(_, rest)| until_zero(rest));
                self.bound = named.and_then(|(name, values)| {
                    let answer = *self.statements.get(name)?;
                    Some((answer, answer.of_item && order_entry::is_unused_item(values)))
                });
                // The message ends with the result formats: "one format, binary" is the only one that matters.
                self.binary = frame.body.ends_with(&[0, 1, 0, 1]);
                output.extend_from_slice(b"2\0\0\0\x04");
            }
            b'D' => {
                if frame.body.first() == Some(&b'S') {
                    wire::message(output, b't', |out| {
                        wire::put_i16(out, 1);
                        wire::put_i32(out, 23);
                    });
                }
                row_description(output, &["abalance"]);
            }
            b'E' => match self.bound {
                Some((answer, is_missing)) => {
                    output.extend_from_slice(if is_missing {
                        order_entry::NO_ROW
                    } else {
                        &answer.bytes
                    });
                    self.in_block = answer.status.map_or(self.in_block, |status| status == b'T');
                }
                None => {
                    output.extend_from_slice(if self.binary { ROW_BINARY } else { ROW_TEXT });
                    output.extend_from_slice(SELECT_ONE);
                }
            },
            b'C' => output.extend_from_slice(b"3\0\0\0\x04"),
            b'S' => output.extend_from_slice(if self.in_block { READY_IN_BLOCK } else { READY }),
            b'Q' => simple_query(frame.body, output),
            _ => {} // Flush asks for nothing that is not sent anyway
        }
    }
}

/// What stands before a zero, and what behind it.
fn until_zero(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

const READY_IN_BLOCK: &[u8] = b"Z\0\0\0\x05T";
const READY: &[u8] = b"Z\0\0\0\x05I";
const ROW_TEXT: &[u8] = b"D\0\0\0\x0b\0\x01\0\0\0\x010";
const ROW_BINARY: &[u8] = b"D\0\0\0\x0e\0\x01\0\0\0\x04\0\0\0\0";
const SELECT_ONE: &[u8] = b"C\0\0\0\x0dSELECT 1\0";

fn greet(output: &mut Vec<u8>) {
    wire::message(output, b'R', |out| wire::put_i32(out, 0));
    for (name, value) in [
        ("server_version", "18.0 (canned bytes)"),
        ("server_encoding", "UTF8"),
        ("client_encoding", "UTF8"),
        ("DateStyle", "ISO, MDY"),
        ("integer_datetimes", "on"),
        ("standard_conforming_strings", "on"),
        ("TimeZone", "UTC"),
    ] {
        wire::message(output, b'S', |out| {
            wire::put_string(out, name);
            wire::put_string(out, value);
        });
    }
    wire::message(output, b'K', |out| {
        wire::put_i32(out, 1);
        wire::put_i32(out, 1);
    });
    output.extend_from_slice(READY);
}

fn row_description(output: &mut Vec<u8>, columns: &[&str]) {
    wire::message(output, b'T', |out| {
        wire::put_i16(out, columns.len() as i16);
        for column in columns {
            wire::put_string(out, column);
            wire::put_i32(out, 0); // no table
            wire::put_i16(out, 0);
            wire::put_i32(out, 23); // int4
            wire::put_i16(out, 4);
            wire::put_i32(out, -1);
            wire::put_i16(out, 0);
        }
    });
}

fn text_row(output: &mut Vec<u8>, values: &[Option<&str>]) {
    wire::message(output, b'D', |out| {
        wire::put_i16(out, values.len() as i16);
        for value in values {
            match value {
                Some(text) => {
                    wire::put_i32(out, text.len() as i32);
                    out.extend_from_slice(text.as_bytes());
                }
                None => wire::put_i32(out, -1),
            }
        }
    });
}

fn simple_query(body: &[u8], output: &mut Vec<u8>) {
    let text = String::from_utf8_lossy(body.strip_suffix(&[0]).unwrap_or(body)).to_ascii_lowercase();
    let word: String = text
        .trim_start()
        .chars()
        .take_while(|letter| letter.is_ascii_alphabetic())
        .collect();
    if word != "select" {
        let tag = if word.is_empty() {
            "OK".to_string()
        } else {
            word.to_ascii_uppercase()
        };
        wire::message(output, b'C', |out| wire::put_string(out, &tag));
    } else if text.contains("partstrat") {
        // pgbench asks where its accounts table is and whether it is partitioned: first schema, not partitioned.
        row_description(output, &["n", "partstrat", "count"]);
        text_row(output, &[Some("1"), None, Some("0")]);
        output.extend_from_slice(SELECT_ONE);
    } else if text.contains("bmsql_config") {
        row_description(output, &["cfg_name", "cfg_value"]);
        for (name, value) in order_entry::CONFIG {
            text_row(output, &[Some(name), Some(value)]);
        }
        output.extend_from_slice(SELECT_ONE);
    } else {
        // For pgbench a count of branches, which is its scale; for everything else a row.
        row_description(output, &["abalance"]);
        text_row(output, &[Some("1")]);
        output.extend_from_slice(SELECT_ONE);
    }
    output.extend_from_slice(READY);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::point;
    use crate::tpcc::consistency::ConditionVerdict;
    use crate::tpcc::mix::Kind;
    use crate::tpcc::schema::ITEMS;
    use crate::tpcc::statements as st;
    use crate::tpcc::{self, Observer, Settings};
    use mote_driver::{Session, Target, Wait};
    use mote_measure::outcome::SeriesPoint;

    struct Silent;

    impl Observer for Silent {
        fn phase(&mut self, _: &str) {}
        fn second(&mut self, _: &SeriesPoint) {}
        fn condition(&mut self, _: &ConditionVerdict) {}
        fn interactive(&self) -> bool {
            false
        }
    }

    #[test]
    fn an_item_that_does_not_exist_has_no_row_and_a_block_is_open_until_it_ends() {
        let server = CannedServer::bind("127.0.0.1:0".parse().expect("an address")).expect("bound");
        let address = server.address();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| server.serve(&stop).expect("serves"));
            let target = Target::parse(&format!("postgres://{address}/x")).expect("valid");
            let (wait, statements) = (Wait::Blocking, Arc::new(st::statement_set()));
            let mut session = Session::open(&target, statements, &wait).expect("startup");
            session.send(st::BEGIN, |none| none);
            for (item, is_there) in [(1, true), (ITEMS, true), (ITEMS + 1, false), (2, true)] {
                session.send(st::NEW_ORDER_ITEM, |v| v.int(item));
                let reply = session.round_trip(&wait).expect("an answer");
                assert_eq!(reply.first_row().is_some(), is_there, "{item}");
                assert!(session.in_transaction());
            }
            session.send(st::ROLLBACK, |none| none);
            assert!(
                session
                    .round_trip(&wait)
                    .expect("an answer")
                    .ended_with(b"ROLLBACK\0")
            );
            assert!(!session.in_transaction());
            stop.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn order_entry_goes_through() {
        let server = CannedServer::bind("127.0.0.1:0".parse().expect("an address")).expect("bound");
        let address = server.address();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| server.serve(&stop).expect("serves"));
            let target = Target::parse(&format!("postgres://{address}/x")).expect("valid");
            let settings = Settings {
                warmup_s: 0.0,
                duration_s: 1.0,
                load: tpcc::LoadMode::Never,
                check: false,
                ..Settings::closed_loop(10, 8)
            };
            let done = tpcc::experiment(settings, &target, None, &mut Silent).expect("it runs");
            stop.store(true, Ordering::Relaxed);
            let totals = done.outcome.expect("it was measured").totals;
            assert!(totals.errors.is_empty(), "{:?}", totals.errors);
            for kind in [
                Kind::NewOrder,
                Kind::Payment,
                Kind::OrderStatus,
                Kind::StockLevel,
                Kind::DeliveryBackground,
            ] {
                assert!(!totals.kinds[kind as usize].latency.is_empty(), "{kind:?}");
            }
            let orders = &totals.kinds[Kind::NewOrder as usize];
            assert!(orders.rolled_back * 20 <= orders.latency.len().max(20));
        });
    }

    #[test]
    fn the_driver_is_content() {
        let server = CannedServer::bind("127.0.0.1:0".parse().expect("an address")).expect("bound");
        let address = server.address();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| server.serve(&stop).expect("serves"));
            let target = Target::parse(&format!("postgres://{address}/x")).expect("valid");
            let wait = Wait::Blocking;
            let mut session = Session::open(&target, point::shared_statements(), &wait).expect("startup");
            for _ in 0..100 {
                session.send(mote_driver::StatementId(0), |v| v.int(1));
                let reply = session.round_trip(&wait).expect("an answer");
                assert_eq!(reply.row("a row").expect("one row").int().expect("an int4"), 0);
            }
            assert_eq!(session.traffic.round_trips, 101);
            stop.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn answers_pgbench_before_its_run() {
        let mut responder = Responder {
            started: true,
            ..Responder::default()
        };
        let (mut input, mut output) = (Vec::new(), Vec::new());
        wire::query(
            &mut input,
            "select o.n, p.partstrat, pg_catalog.count(i.inhparent) from pg_catalog.pg_class",
        );
        assert_eq!(responder.respond(&input, &mut output), Some(input.len()));
        let kinds: Vec<u8> = wire::Frames(&output).map(|frame| frame.kind).collect();
        assert_eq!(kinds, b"TDCZ");
        assert_eq!(responder.respond(b"X\0\0\0\x04", &mut output), None);
    }
}
