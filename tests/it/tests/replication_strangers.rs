//! Who has the right to replicate and means no good: streams that say more than can be heard, take more than can be read, or
//! say nothing at all. Others go on, and nothing grows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mote_common::Lsn;
use mote_it::TestServer;
use mote_it::nodes::{await_replay, await_value, follow, value};
use mote_it::process::await_that;
use mote_it::server::TemporaryDirectory;
use mote_it::wire::{self, RawClient, framed, query};
use mote_log::TermMark;
use mote_replication::NodeId;
use mote_replication::message::{Hello, Message, PROTOCOL_VERSION, Progress};

const TIMEOUT: Duration = Duration::from_secs(60);
/// A slow machine that does much else needs less for one statement.
const PATIENCE: Duration = Duration::from_secs(10);

fn replicating(server: &TestServer, how: &str) -> RawClient {
    let mut client = RawClient::open(server);
    client.start_up(&[
        ("user", server.user()),
        ("database", server.database()),
        ("replication", how),
    ]);
    client.until(b'Z');
    client
}

/// What a follower with this server's whole log says.
fn hello(server: &TestServer, name: &str, id: u64) -> Hello {
    let mut client = replicating(server, "true");
    let system = client.rows("IDENTIFY_SYSTEM")[0].clone();
    let (system, end) = (system.split('|').next(), system.split('|').nth(2));
    let system_id = system
        .and_then(|id| id.parse().ok())
        .expect("the system's number");
    let end: Lsn = Lsn(end
        .map(|end| end.split_once('/').expect("a position"))
        .map(|(high, low)| {
            let half = |text| u64::from_str_radix(text, 16).expect("hexadecimal");
            half(high) << 32 | half(low)
        })
        .expect("a position"));
    let history = client.rows("TIMELINE_HISTORY 9").concat();
    let marks = history.lines().filter_map(|line| {
        let line = line.rsplit('|').next()?;
        let numbers: Vec<u64> = line.split('\t').map_while(|number| number.parse().ok()).collect();
        let [term, start, before, nonce] = numbers[..] else {
            return None;
        };
        Some(TermMark {
            term: term as u32,
            start: Lsn(start),
            previous_end: Lsn(before),
            nonce,
        })
    });
    Hello {
        version: PROTOCOL_VERSION,
        system_id,
        id: NodeId(id),
        name: name.into(),
        promised: 0,
        end,
        stable: Lsn::ZERO,
        marks: marks.collect(),
    }
}

/// A follower's stream that has begun.
fn begin(server: &TestServer, name: &str, id: u64) -> RawClient {
    let hello = Message::Hello(hello(server, name, id)).encode();
    let mut client = replicating(server, "true");
    client.raw(&query("START_REPLICATION PHYSICAL 0/0"));
    client.until(b'W');
    client.raw(&framed(b'd', &hello));
    let answer = client.receive().expect("the stream stands");
    assert_eq!(
        answer.body[0],
        b's',
        "{:?}",
        String::from_utf8_lossy(&answer.body)
    );
    client
}

/// Sends the bytes again and again, until it is told to stop or the server hangs up.
fn flood(client: &RawClient, bytes: Vec<u8>, over: &Arc<AtomicBool>) -> JoinHandle<()> {
    let (mut client, over) = (client.duplicate(), over.clone());
    std::thread::spawn(move || {
        while !over.load(Ordering::Relaxed) {
            client.try_raw(&bytes);
        }
    })
}

fn in_time(what: &str, run: impl FnOnce()) {
    let since = Instant::now();
    run();
    assert!(since.elapsed() < PATIENCE, "{what}: {:?}", since.elapsed());
}

#[test]
fn a_stream_of_reports_without_end_starves_nobody() {
    let mut server = TestServer::start("strangers-flood");
    value(&server, "create table t (a int)");
    let data = TemporaryDirectory::new("strangers-flood-b");
    let follower = follow(&server, &data, "b");
    await_replay(&server, &follower);
    value(
        &server,
        "alter system set synchronous_standby_names = 'b'; select pg_reload_conf()",
    );
    await_value(&server, "show synchronous_standby_names", "b");
    let stranger = begin(&server, "stranger", 7);
    let report = Message::Report {
        progress: Progress::default(),
        beat_ns: 0,
    };
    let over = Arc::new(AtomicBool::new(false));
    let sending = flood(&stranger, framed(b'd', &report.encode()).repeat(4000), &over);
    for number in 0..5 {
        in_time("a slot is made", || {
            value(
                &server,
                &format!("select pg_create_physical_replication_slot('s{number}')"),
            );
        });
        in_time("a commit that waits for another follower", || {
            value(&server, &format!("insert into t values ({number})"));
        });
    }
    over.store(true, Ordering::Relaxed);
    drop(stranger);
    sending.join().expect("it ends");
    await_replay(&server, &follower);
    assert_eq!(value(&follower, "select count(*) from t"), "5");
    server.assert_unharmed();
}

#[test]
fn those_who_ask_for_the_log_and_say_nothing_are_few() {
    let mut server = TestServer::start("strangers-silent");
    value(&server, "create table t (a int)");
    let before = server.open_descriptors();
    let silent: Vec<RawClient> = (0..600)
        .map(|_| {
            let mut client = replicating(&server, "true");
            client.raw(&query("START_REPLICATION PHYSICAL 0/0"));
            client.until(b'W');
            client
        })
        .collect();
    // Sooner than by the time that there is for a hello.
    await_that("the oldest are closed", Duration::from_secs(3), || {
        server.open_descriptors() < before + 200
    });
    let data = TemporaryDirectory::new("strangers-silent-b");
    let follower = follow(&server, &data, "b");
    value(&server, "insert into t values (1)");
    await_replay(&server, &follower);
    drop(silent);
    await_that("and the others in time", TIMEOUT, || {
        server.open_descriptors() < before + 20
    });
    server.assert_unharmed();
}

fn status(position: u64, reply: bool) -> Vec<u8> {
    let mut body = vec![b'r'];
    for number in [position, position, position, 0] {
        body.extend_from_slice(&number.to_be_bytes());
    }
    body.push(u8::from(reply));
    framed(b'd', &body)
}

const START: &str = "START_REPLICATION SLOT s LOGICAL 0/0 (proto_version '1', publication_names 'p')";

/// With one table that is published, and a slot.
fn published(name: &str) -> TestServer {
    let server = TestServer::start(name);
    value(
        &server,
        "create table t (a int primary key, b text); create publication p for table t; \
         select pg_create_logical_replication_slot('s', 'pgoutput')",
    );
    server
}

fn stream(server: &TestServer) -> RawClient {
    let mut client = replicating(server, "database");
    client.raw(&query(START));
    let answer = client.until(b'W');
    assert_eq!(wire::kinds(&answer), "W", "{answer:?}");
    client
}

#[test]
fn what_a_subscriber_says_is_short() {
    let mut server = published("strangers-giant");
    let mut client = stream(&server);
    let before = server.resident_bytes();
    client.raw(&[&b"d"[..], &(200_u32 << 20).to_be_bytes()].concat());
    for _ in 0..100 {
        client.try_raw(&[0; 1 << 20]);
    }
    let grown = server.resident_bytes().saturating_sub(before);
    assert!(grown < 20 << 20, "{grown} bytes");
    let answer = client.until_closed();
    // The server may hang up before the answer is read.
    let state = wire::sqlstate(&answer);
    assert!(state.is_none() || state.as_deref() == Some("08P01"), "{answer:?}");
    drop(stream(&server));
    server.assert_unharmed();
}

/// Positions of the past, of the future, of nowhere: the slot goes neither back nor beyond what was told.
#[test]
fn positions_that_a_subscriber_cannot_have_move_nothing() {
    let mut server = published("strangers-positions");
    let confirmed = "select confirmed_flush_lsn from pg_replication_slots";
    let start = value(&server, confirmed);
    let mut client = stream(&server);
    for position in [0, 1, u64::MAX, u64::MAX / 2, 1 << 40] {
        client.raw(&status(position, true));
        assert_eq!(client.until(b'd').last().map(|m| m.body[0]), Some(b'k'));
    }
    drop(client);
    await_value(&server, "select active from pg_replication_slots", "f");
    let end = value(&server, "select pg_current_wal_flush_lsn()");
    value(&server, "insert into t values (1, 'told')");
    assert_eq!(
        value(
            &server,
            &format!(
                "select '{start}' <= confirmed_flush_lsn and confirmed_flush_lsn <= '{end}' from pg_replication_slots"
            )
        ),
        "t"
    );
    let mut client = stream(&server);
    let mut told = Vec::new();
    while !told.windows(4).any(|window| window == b"told") {
        told = client
            .until(b'd')
            .last()
            .expect("the stream goes on")
            .body
            .clone();
    }
    server.assert_unharmed();
}

#[test]
fn subscribers_that_ask_without_end_and_never_read_cost_others_nothing() {
    let mut server = published("strangers-askers");
    for number in 0..7 {
        value(
            &server,
            &format!("select pg_create_logical_replication_slot('s{number}', 'pgoutput')"),
        );
    }
    let over = Arc::new(AtomicBool::new(false));
    let mut floods = Vec::new();
    let mut clients = Vec::new();
    for number in 0..7 {
        let mut client = replicating(&server, "database");
        client.raw(&query(&START.replace("SLOT s", &format!("SLOT s{number}"))));
        client.until(b'W');
        floods.push(flood(
            &client,
            status(1, true).repeat(if number == 0 { 1 } else { 1000 }),
            &over,
        ));
        clients.push(client);
    }
    let before = server.resident_bytes();
    let since = Instant::now();
    let mut other = RawClient::connect(&server);
    let mut worst = Duration::ZERO;
    while since.elapsed() < Duration::from_secs(8) {
        let asked = Instant::now();
        other.rows("select 1");
        worst = worst.max(asked.elapsed());
        std::thread::sleep(Duration::from_millis(5));
    }
    let grown = server.resident_bytes().saturating_sub(before);
    println!("worst {worst:?}, grown {grown}");
    assert!(worst < Duration::from_secs(2), "{worst:?}");
    assert!(grown < 16 << 20, "{grown} bytes");
    over.store(true, Ordering::Relaxed);
    drop(clients);
    floods
        .into_iter()
        .for_each(|flood| flood.join().expect("it ends"));
    server.assert_unharmed();
}

/// CopyDone, a cancel and pg_terminate_backend in the midst of a long transaction, each answered in time.
#[test]
fn a_stream_ends_in_the_midst_of_a_long_transaction_when_it_is_to() {
    let mut server = published("strangers-ends");
    value(
        &server,
        "insert into t select g, repeat(md5(g::text), 20) from generate_series(1, 60000) g",
    );
    // CopyDone: what was sent before is read, then the end, and the session goes on.
    let mut client = stream(&server);
    client.until(b'd');
    client.raw(&framed(b'c', b""));
    let rest = client.until(b'Z');
    assert_eq!(
        wire::tags(&rest),
        ["COPY 0", "START_REPLICATION"],
        "{:?}",
        rest.len()
    );
    assert_eq!(client.rows("select 1"), ["1"]);
    // A cancel changes nothing: PostgreSQL's ends the stream.
    drop(client);
    let mut client = stream(&server);
    client.until(b'd');
    await_value(
        &server,
        "select count(*) from pg_stat_activity a join pg_replication_slots s on s.active_pid = a.pid",
        "1",
    );
    value(
        &server,
        "select pg_terminate_backend(active_pid) from pg_replication_slots",
    );
    let rest = client.until_closed();
    assert_eq!(wire::sqlstate(&rest).as_deref(), Some("57P01"));
    await_value(&server, "select active from pg_replication_slots", "f");
    server.assert_unharmed();
}
