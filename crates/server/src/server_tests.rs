//! What clients hear of a node with a lease, over real sockets and by a clock that stands where it is put.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use mote_common::env::sim::{SimClock, SimDisk, env};
use mote_executor::index_keys::EVALUATION;

use super::*;
use crate::lease::Lease;

/// What the lease is good for, and the patience.
const PATIENCE: Duration = Duration::from_millis(100);
const PATIENCE_NS: u64 = PATIENCE.as_nanos() as u64;
/// So long nothing may come.
const SILENCE: Duration = Duration::from_millis(150);
const START: &[u8] = b"\0\0\0\x17\0\x03\0\0user\0postgres\0\0";
const START_REPLICATION: &[u8] = b"\0\0\0\x26\0\x03\0\0user\0postgres\0replication\0on\0\0";

struct Node {
    server: Server,
    database: Arc<Database>,
    lease: Arc<Lease>,
    clock: Arc<SimClock>,
}

impl Node {
    /// Its lease is good for a patience.
    fn start() -> Node {
        let (env, clock) = env(&SimDisk::new(1), 1);
        clock.advance_ns(1_000_000_000);
        let config = ServerConfig {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            workers: 2,
            ..ServerConfig::default()
        };
        let database = Database::open_in(env, Default::default(), &Default::default(), &EVALUATION)
            .expect("the disk is whole");
        database.engine().start_background().expect("threads start");
        let lease = Arc::new(Lease::with_patience(PATIENCE));
        let door = Starting::listen(&config).expect("a port is free");
        let server =
            Server::start_under(database.clone(), config, door, lease.clone(), None).expect("threads start");
        let node = Node {
            server,
            database,
            lease,
            clock,
        };
        node.renew();
        node
    }

    fn renew(&self) {
        self.lease.extend_to(self.server.shared.now_ns() + PATIENCE_NS);
    }

    /// Patiences pass without an answer of the voters.
    fn pass(&self, patiences: u64) {
        self.clock.advance_ns(patiences * PATIENCE_NS);
    }

    fn connect(&self, start: &[u8]) -> Client {
        let mut stream = TcpStream::connect(self.server.address()).expect("it listens");
        stream.write_all(start).expect("sent");
        Client { stream }
    }

    fn log_in(&self) -> Client {
        let mut client = self.connect(START);
        client.expect_ready();
        client
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.server.stop();
        self.database.close();
    }
}

struct Client {
    stream: TcpStream,
}

impl Client {
    fn ask(&mut self, query: &str) {
        let length = (4 + query.len() + 1) as u32;
        let mut message = vec![b'Q'];
        message.extend_from_slice(&length.to_be_bytes());
        message.extend_from_slice(query.as_bytes());
        message.push(0);
        self.stream.write_all(&message).expect("sent");
    }

    fn wait(&mut self, longest: Duration) {
        self.stream.set_read_timeout(Some(longest)).expect("settable");
    }

    /// One message: its type and its body.
    fn message(&mut self) -> (u8, Vec<u8>) {
        self.wait(Duration::from_secs(20));
        let mut head = [0; 5];
        self.stream.read_exact(&mut head).expect("a message");
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
        let mut body = vec![0; length as usize - 4];
        self.stream.read_exact(&mut body).expect("its body");
        (head[0], body)
    }

    /// Messages up to ReadyForQuery: how many rows, and how many errors, were among them.
    fn expect_ready(&mut self) -> (usize, usize) {
        let (mut rows, mut errors) = (0, 0);
        loop {
            let (kind, body) = self.message();
            match kind {
                b'D' => rows += 1,
                b'E' => {
                    errors += 1;
                    eprintln!("{}", String::from_utf8_lossy(&body));
                }
                b'Z' => return (rows, errors),
                _ => {}
            }
        }
    }

    #[track_caller]
    fn expect_silence(&mut self) {
        self.wait(SILENCE);
        let said = self.stream.read(&mut [0; 64]);
        let timed_out =
            |error: &std::io::Error| matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
        assert!(said.as_ref().is_err_and(timed_out), "{said:?}");
    }

    /// The connection ends, and not a byte comes before.
    #[track_caller]
    fn expect_silent_end(&mut self) {
        self.wait(Duration::from_secs(20));
        let said = self.stream.read(&mut [0; 64]);
        let is_reset = |error: &std::io::Error| error.kind() == ErrorKind::ConnectionReset;
        assert!(
            matches!(said, Ok(0)) || said.as_ref().is_err_and(is_reset),
            "{said:?}"
        );
    }
}

#[test]
fn without_a_lease_replies_are_kept_and_leave_when_it_is_back() {
    let node = Node::start();
    let (mut reader, mut writer) = (node.log_in(), node.log_in());
    writer.ask("CREATE TABLE t AS SELECT 1 AS a");
    assert_eq!(writer.expect_ready(), (0, 0));
    node.pass(1);
    reader.ask("SELECT a FROM t");
    reader.expect_silence();
    writer.ask("INSERT INTO t VALUES (2)");
    let mut comes = node.connect(START);
    for client in [&mut reader, &mut writer, &mut comes] {
        client.expect_silence();
    }
    node.renew();
    assert_eq!(reader.expect_ready(), (1, 0));
    assert_eq!(writer.expect_ready(), (0, 0));
    comes.expect_ready();
    comes.ask("SELECT a FROM t");
    assert_eq!(comes.expect_ready(), (2, 0));
}

/// More than the output buffer holds: the statement waits within, and goes on.
#[test]
fn a_large_result_waits_within_its_buffer() {
    let node = Node::start();
    let mut clients = [node.log_in(), node.log_in()];
    let rows = 100_000;
    node.pass(1);
    clients[0].ask(&format!("SELECT repeat('x', 20) FROM generate_series(1, {rows})"));
    clients[1].ask(&format!(
        "COPY (SELECT repeat('x', 20) FROM generate_series(1, {rows})) TO STDOUT"
    ));
    for client in &mut clients {
        client.expect_silence();
    }
    node.renew();
    assert_eq!(clients[0].expect_ready(), (rows, 0));
    let mut copied = 0;
    while let (kind, _) = clients[1].message()
        && kind != b'Z'
    {
        copied += usize::from(kind == b'd');
    }
    assert_eq!(copied, rows);
}

#[test]
fn after_two_patiences_all_connections_end_without_a_byte() {
    let node = Node::start();
    let (mut idle, mut asking, mut waiting) = (node.log_in(), node.log_in(), node.log_in());
    for query in ["CREATE TABLE t (a int)", "BEGIN; LOCK t"] {
        idle.ask(query);
        assert_eq!(idle.expect_ready(), (0, 0));
    }
    node.pass(1);
    asking.ask("SELECT 1");
    waiting.ask("SELECT * FROM t");
    asking.expect_silence();
    node.pass(2);
    for client in [&mut idle, &mut asking, &mut waiting] {
        client.expect_silent_end();
    }
    node.connect(START).expect_silent_end();
    // The voters answer again: the node leads still, and what its sessions have held is free.
    node.renew();
    let mut next = node.log_in();
    next.ask("SELECT * FROM t");
    assert_eq!(next.expect_ready(), (0, 0));
}

#[test]
fn a_deposed_node_tells_nobody_anything() {
    let node = Node::start();
    let (mut idle, mut waiting, mut asking) = (node.log_in(), node.log_in(), node.log_in());
    for query in ["CREATE TABLE t (a int)", "BEGIN; LOCK t"] {
        idle.ask(query);
        assert_eq!(idle.expect_ready(), (0, 0));
    }
    waiting.ask("INSERT INTO t VALUES (1)");
    waiting.expect_silence();
    let mut replicating = node.connect(START_REPLICATION);
    replicating.expect_ready();
    node.pass(1);
    asking.ask("SELECT 1");
    asking.expect_silence();
    node.lease.depose();
    for client in [&mut idle, &mut waiting, &mut asking, &mut replicating] {
        client.expect_silent_end();
    }
    node.renew();
    node.connect(START).expect_silent_end();
}

/// The lease comes of what followers answer, so they can come before there is one.
#[test]
fn followers_are_answered_without_a_lease() {
    let node = Node::start();
    node.pass(1);
    let mut follower = node.connect(START_REPLICATION);
    follower.expect_ready();
    follower.ask("IDENTIFY_SYSTEM");
    assert_eq!(follower.expect_ready(), (1, 0));
    node.pass(5);
    let mut later = node.connect(START_REPLICATION);
    later.expect_ready();
}
