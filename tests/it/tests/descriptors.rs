//! File descriptors run out: floods of connections that never authenticate, places at their bound, and a limit that falls
//! under a running server. Nothing stops; what cannot be had is reported; afterwards everything works.

use std::io::Read;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use mote_it::TestServer;
use mote_it::clients::{psql, psql_strict};
use mote_it::process::await_that;
use mote_it::server::TemporaryDirectory;
use mote_it::waiting::cancelled;
use mote_it::wire::*;

const OPEN_FILES: u64 = 128;
const LONGEST: Duration = Duration::from_secs(60);
/// Small segments of the log, so that the writers need new ones all the time.
const SMALL_LOG: [&str; 4] = ["--log-segment-size", "4MB", "--checkpoint-log-size", "8MB"];

/// Connections that say nothing. Those that the server hangs up on are replaced.
struct Flood {
    silent: Vec<TcpStream>,
    address: std::net::SocketAddr,
}

impl Flood {
    fn start(server: &TestServer, connections: usize) -> Flood {
        let mut flood = Flood {
            silent: Vec::new(),
            address: server.address,
        };
        flood.rise(connections);
        flood
    }

    /// The kernel takes no more than its queue holds; the rest comes when the server has accepted some.
    fn rise(&mut self, connections: usize) {
        self.silent.retain_mut(|stream| {
            stream.set_nonblocking(true).expect("settable");
            stream.read(&mut [0; 512]).is_err()
        });
        while self.silent.len() < connections {
            match TcpStream::connect_timeout(&self.address, Duration::from_millis(200)) {
                Ok(stream) => self.silent.push(stream),
                Err(_) => return,
            }
        }
    }
}

#[test]
fn silent_connections_keep_nobody_out() {
    let mut server = TestServer::start_limited("silent", &SMALL_LOG, OPEN_FILES);
    server.await_log("open files (ulimit -n)");
    let mut writer = RawClient::connect(&server);
    writer.rows("create table t (id int primary key, v text)");
    let before = server.open_descriptors();
    let mut flood = Flood::start(&server, 1100);
    let mut written = 0;
    for round in 0..6 {
        // A writer that needs segments, a checkpoint, a COPY, and clients that come anew.
        for _ in 0..4 {
            written += 1;
            let insert = format!("insert into t values ({written}, repeat('x', 1000000))");
            assert_eq!(tags(&writer.query(&insert)), ["INSERT 0 1"], "round {round}");
        }
        assert_eq!(tags(&writer.query("checkpoint")), ["CHECKPOINT"], "round {round}");
        let newcomer = psql_strict(&server, "select count(*) from t; copy t (id) to '/dev/null'").good();
        assert_eq!(newcomer.lines().next(), Some(written.to_string().as_str()));
        assert!(server.open_descriptors() <= OPEN_FILES as usize);
        flood.rise(1100);
    }
    // A cancel request is a connection that does not authenticate.
    writer.raw(&query("select pg_sleep(60)"));
    assert_eq!(
        sqlstate(&cancelled(&server, &mut writer)).as_deref(),
        Some("57014")
    );
    drop(flood);
    await_that("the descriptors of the flood are closed", LONGEST, || {
        server.open_descriptors() <= before + 4
    });
    let log = server.log();
    assert!(!log.contains("Too many open files"), "{log}");
    assert_eq!(writer.rows("select count(*) from t"), [written.to_string()]);
    server.assert_unharmed();
}

#[test]
fn places_of_sessions_end_where_they_should() {
    let mut server = TestServer::start_limited("places", &SMALL_LOG, OPEN_FILES);
    let mut superuser = RawClient::connect(&server);
    superuser.rows("create role joe login; create table t (v text); grant all on t to joe");
    let places: usize = superuser.rows("show max_connections")[0]
        .parse()
        .expect("a number");
    assert_eq!(superuser.rows("show superuser_reserved_connections"), ["3"]);
    assert!((20..100).contains(&places), "{places}");
    let connect = |user: &str| {
        let mut client = RawClient::open(&server);
        client.start_up(&[("user", user), ("database", "postgres")]);
        let mut messages = Vec::new();
        while let Some(message) = client.receive() {
            let end = message.kind == b'Z';
            messages.push(message);
            if end {
                break;
            }
        }
        (client, error(&messages))
    };
    let mut joes = Vec::new();
    let refused = loop {
        match connect("joe") {
            (client, None) => joes.push(client),
            (_, Some(error)) => break error,
        }
    };
    let reserved = "53300 remaining connection slots are reserved for non-replication superuser connections";
    assert_eq!(refused, reserved);
    assert_eq!(joes.len(), places - 3 - 1);
    let superusers: Vec<_> = (0..3).map(|_| connect("postgres")).collect();
    assert!(superusers.iter().all(|(_, error)| error.is_none()));
    for user in ["postgres", "joe"] {
        let full = Some("53300 sorry, too many clients already".to_string());
        assert_eq!(connect(user).1, full);
    }
    // All of them work, and so does what needs files.
    for client in &mut joes {
        assert_eq!(
            tags(&client.query("insert into t values (repeat('x', 200000))")),
            ["INSERT 0 1"]
        );
    }
    assert_eq!(tags(&superuser.query("checkpoint")), ["CHECKPOINT"]);
    assert_eq!(tags(&superuser.query("copy t to '/dev/null'")).len(), 1);
    superuser.raw(&query("select pg_sleep(60)"));
    assert_eq!(
        sqlstate(&cancelled(&server, &mut superuser)).as_deref(),
        Some("57014")
    );
    drop((joes, superusers));
    await_that("the places come free", LONGEST, || connect("joe").1.is_none());
    server.assert_unharmed();
}

#[test]
fn whoever_does_not_authenticate_in_time_is_told() {
    let mut server = TestServer::start_with("late", &["--authentication-timeout", "3s"]);
    let started = Instant::now();
    let mut silent = RawClient::open(&server);
    let messages = silent.until_closed();
    assert_eq!(
        error(&messages).as_deref(),
        Some("57014 canceling authentication due to timeout")
    );
    assert!(started.elapsed() >= Duration::from_millis(2900));
    assert_eq!(psql(&server, "show authentication_timeout").good().trim(), "3s");
    server.assert_unharmed();
}

/// The limit falls below what is open: nothing more can be opened at all.
#[test]
fn a_server_without_descriptors_waits_for_some() {
    let mut server = TestServer::start_limited("none-left", &SMALL_LOG, OPEN_FILES);
    let mut writer = RawClient::connect(&server);
    let mut reader = RawClient::connect(&server);
    writer.rows("create table t (id int primary key, v text)");
    server.limit_descriptors(3); // the standard streams, which are always open
    // Writers are refused once the prepared segments are used up.
    let mut written = 0;
    let refused = loop {
        let insert = format!("insert into t values ({}, repeat('x', 1000000))", written + 1);
        match error(&writer.query(&insert)) {
            None => written += 1,
            Some(error) => break error,
        }
        assert!(written < 100, "segments come from nowhere");
    };
    assert_eq!(
        refused,
        "53000 out of file descriptors: Too many open files; release and retry"
    );
    server.await_log("no further log segment can be prepared: Too many open files");
    let checkpoint = reader.query("checkpoint");
    assert_eq!(error(&checkpoint).as_deref(), Some("58030 checkpoint failed"));
    let detail = checkpoint[0].field(b'D').expect("why it failed");
    assert!(detail.contains("Too many open files"), "{detail}");
    let copy = error(&reader.query("copy t to '/tmp/mote-it-none-left'")).expect("a COPY needs a file");
    assert!(copy.contains("Too many open files"), "{copy}");
    let waiting = TcpStream::connect(server.address).expect("the kernel's queue has room");
    server.await_log("no connection can be accepted, will be tried again");
    assert_eq!(reader.rows("select count(*) from t"), [written.to_string()]);
    // Secrets need no descriptor.
    assert_eq!(reader.rows("select length(gen_random_uuid()::text)"), ["36"]);
    // There are some again.
    server.limit_descriptors(OPEN_FILES);
    await_that("writing goes on", LONGEST, || {
        let insert = format!("insert into t values ({}, repeat('y', 1000000))", written + 1);
        tags(&writer.query(&insert)) == ["INSERT 0 1"]
    });
    server.await_log("log segments can be prepared again");
    server.await_log("connections are accepted again");
    assert_eq!(tags(&reader.query("checkpoint")), ["CHECKPOINT"]);
    drop(waiting);
    server.assert_unharmed();
    // What was acknowledged is there.
    let (data, directory) = server.kill();
    let server = TestServer::open_limited(&data, &[], OPEN_FILES).expect("it recovers");
    assert_eq!(
        psql(&server, "select count(*) from t").good().trim(),
        (written + 1).to_string()
    );
    drop((server, directory));
}

/// More log and images than there may be open files.
#[test]
fn recovery_reads_more_files_than_it_may_open() {
    let directory = TemporaryDirectory::new("many-files");
    let data = directory.path().join("data");
    let options = ["--log-segment-size", "4MB", "--checkpoint-log-size", "100GB"];
    let server = TestServer::open(&data, &options).expect("it starts");
    // 400 MB of log.
    psql_strict(
        &server,
        "create table t (id int, v text); insert into t select g, repeat(md5(g::text), 31250) from generate_series(1, 400) g",
    )
    .good();
    drop(server.kill());
    let files = std::fs::read_dir(data.join("log")).expect("a log").count();
    assert!(files > 80, "{files} segments");
    let server = TestServer::open_limited(&data, &[], 80).expect("it recovers");
    assert_eq!(psql(&server, "select count(*) from t").good().trim(), "400");
    assert!(
        server.open_descriptors() < 40,
        "{} are open",
        server.open_descriptors()
    );
}

#[test]
fn what_cannot_be_had_is_refused_at_the_start() {
    let directory = TemporaryDirectory::new("too-few");
    let data = directory.path().join("data");
    let said = |options: &[&str], open_files| match TestServer::open_limited(&data, options, open_files) {
        Ok(_) => panic!("it starts"),
        Err(said) => said,
    };
    let many = said(&["--max-connections", "1000"], OPEN_FILES);
    assert!(
        many.contains("1000 connections need") && many.contains("lower --max-connections"),
        "{many}"
    );
    let none = said(&[], 24);
    assert!(
        none.contains("may have 24 open files, and a server needs"),
        "{none}"
    );
}
