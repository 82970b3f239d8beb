//! Servers that follow one another: how tests start them, and wait for what one has of the other.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::TestServer;
use crate::clients::{psql, psql_strict};
use crate::server::TemporaryDirectory;

const TIMEOUT: Duration = Duration::from_secs(60);

pub fn value(server: &TestServer, sql: &str) -> String {
    psql_strict(server, sql).good().trim_end().to_string()
}

/// A server that follows, in a directory of its own.
pub fn follow(primary: &TestServer, data: &TemporaryDirectory, name: &str) -> TestServer {
    follow_url(&primary.url(), data, name).unwrap_or_else(|said| panic!("no follower: {said}"))
}

pub fn follow_url(url: &str, data: &TemporaryDirectory, name: &str) -> Result<TestServer, String> {
    TestServer::open(&place(data), &["--follow", url, "--name", name])
}

pub fn place(data: &TemporaryDirectory) -> PathBuf {
    data.path().join("data")
}

/// Waits until the follower shows everything that the primary has committed.
pub fn await_replay(primary: &TestServer, follower: &TestServer) {
    let flushed = value(primary, "select pg_current_wal_flush_lsn()");
    await_value(
        follower,
        &format!("select pg_last_wal_replay_lsn() >= '{flushed}'"),
        "t",
    );
}

pub fn await_value(server: &TestServer, sql: &str, expected: &str) {
    let since = Instant::now();
    loop {
        let found = psql(server, sql);
        if found.out.trim_end() == expected {
            return;
        }
        assert!(
            since.elapsed() < TIMEOUT,
            "{sql}: {found:?} and not {expected}\n{}",
            server.log()
        );
    }
}

/// The same on both.
#[track_caller]
pub fn compare(primary: &TestServer, follower: &TestServer, queries: &[&str]) {
    await_replay(primary, follower);
    for query in queries {
        assert_eq!(value(follower, query), value(primary, query), "{query}");
    }
}

/// Where the server listens since it became a primary.
pub fn promoted_address(server: &TestServer) -> String {
    const LISTENING: &str = "mote: listening on ";
    server.await_log("becomes a primary");
    let since = Instant::now();
    loop {
        let log = server.log();
        let (_, promoted) = log.split_once("becomes a primary").expect("it was said");
        if let Some(line) = promoted.lines().find_map(|line| line.strip_prefix(LISTENING)) {
            return line.to_string();
        }
        assert!(since.elapsed() < TIMEOUT, "{log}");
        std::thread::yield_now();
    }
}
