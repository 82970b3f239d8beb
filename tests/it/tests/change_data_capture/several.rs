//! Several subscribers of one server at once, and one that stays away for longer than its slot keeps the log.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use mote_it::TestServer;
use mote_it::clients::{client, psql_strict};
use mote_it::nodes::{await_value, value};
use mote_it::process::await_that;
use mote_it::server::TemporaryDirectory;
use mote_it::wire;

const TIMEOUT: Duration = Duration::from_secs(60);

/// pg_recvlogical, which is killed with the value.
struct Reader(Child);

impl Reader {
    fn start(server: &TestServer, slot: &str, file: &Path) -> Reader {
        let file = file.display().to_string();
        let mut command = client("pg_recvlogical", server);
        command.args([
            "-d", "postgres", "-S", slot, "--start", "-f", &file, "-s", "1", "-F", "1",
        ]);
        command.args(["-o", "proto_version=1", "-o", "publication_names=p"]);
        let child = command.stdin(Stdio::null()).spawn();
        Reader(child.unwrap_or_else(|error| panic!("{error}: install PostgreSQL's client tools")))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // It may have ended.
        let _ = (self.0.kill(), self.0.wait());
    }
}

#[test]
fn two_read_the_same_and_one_that_stays_away_loses_its_slot() {
    let options = ["--log-segment-size", "4MB", "--max-slot-log", "12MB"];
    let server = TestServer::start_with("cdc-several", &options);
    psql_strict(
        &server,
        "create table t (id int primary key, v text); create publication p for table t;
         select pg_create_logical_replication_slot(s, 'pgoutput') from unnest(array['one', 'two', 'away']) s",
    )
    .good();
    let directory = TemporaryDirectory::new("cdc-several");
    let files = ["one", "two"].map(|name| directory.path().join(name));
    let readers =
        [("one", &files[0]), ("two", &files[1])].map(|(slot, file)| Reader::start(&server, slot, file));
    await_value(
        &server,
        "select count(*) from pg_replication_slots where active",
        "2",
    );
    // Each portion is confirmed before the next: a reader that is there loses nothing.
    for portion in 0..6 {
        let insert = format!(
            "insert into t select g, repeat('x', 1000) from generate_series({}, {}) g",
            portion * 3000 + 1,
            (portion + 1) * 3000
        );
        psql_strict(&server, &insert).good();
        let end = value(&server, "select pg_current_wal_flush_lsn()");
        let confirmed = format!(
            "select count(*) from pg_replication_slots where active and confirmed_flush_lsn >= '{end}'"
        );
        await_value(&server, &confirmed, "2");
        value(&server, "checkpoint");
    }
    let status = "select slot_name, wal_status from pg_replication_slots where slot_name = 'away'";
    await_value(&server, status, "away|lost");
    psql_strict(&server, "insert into t values (0, 'the end of it')").good();
    let read = || {
        files
            .each_ref()
            .map(|file| std::fs::read(file).unwrap_or_default())
    };
    await_that("both have read to the end", TIMEOUT, || {
        let end = b"the end of it";
        read()
            .iter()
            .all(|told| told.windows(end.len()).any(|window| window == end))
    });
    drop(readers);
    let [one, two] = read();
    assert!(one == two, "{} bytes and {}", one.len(), two.len());
    assert!(one.len() > 18_000 * 1000, "{} bytes", one.len());
    // The one that was away hears why, and what it missed is never skipped.
    let mut late = crate::replicating(&server);
    let start = "START_REPLICATION SLOT away LOGICAL 0/0 (proto_version '1', publication_names 'p')";
    let refused = late.query(start);
    assert_eq!(wire::sqlstate(&refused).as_deref(), Some("55000"), "{refused:?}");
    value(&server, "select pg_drop_replication_slot('away')");
    await_value(
        &server,
        "select count(*), bool_and(wal_status <> 'lost') from pg_replication_slots",
        "2|t",
    );
}

/// A slot that is lost, of which no log has gone yet, and a server that is started with a higher bound: as with PostgreSQL's
/// `max_slot_wal_keep_size`, nothing was missed.
#[test]
fn a_lost_slot_goes_on_where_the_bound_was_raised_in_time() {
    let options = |bound| {
        [
            "--log-segment-size",
            "4MB",
            "--checkpoint-log-size",
            "1GB",
            "--max-slot-log",
            bound,
        ]
    };
    let server = TestServer::start_with("cdc-raised", &options("12MB"));
    psql_strict(
        &server,
        "create table t (id int primary key, v text); create publication p for table t;
         select pg_create_logical_replication_slot('away', 'pgoutput');
         insert into t select g, repeat('x', 1000) from generate_series(1, 20000) g",
    )
    .good();
    let status = "select wal_status from pg_replication_slots";
    await_value(&server, status, "lost");
    let mut late = crate::replicating(&server);
    let start = "START_REPLICATION SLOT away LOGICAL 0/0 (proto_version '1', publication_names 'p')";
    let refused = late.query(start);
    assert_eq!(wire::sqlstate(&refused).as_deref(), Some("55000"), "{refused:?}");
    let (data, directory) = server.kill();
    let server = TestServer::open(&data, &options("1GB")).expect("it starts");
    let server = server.keeping(directory.expect("the test's own"));
    assert_ne!(value(&server, status), "lost");
    psql_strict(&server, "insert into t values (0, 'the end of it')").good();
    let file = server.data().join("told");
    let _reader = Reader::start(&server, "away", &file);
    await_that("all is told", TIMEOUT, || {
        let end = b"the end of it";
        let told = std::fs::read(&file).unwrap_or_default();
        told.len() > 20_000 * 1000 && told.windows(end.len()).any(|window| window == end)
    });
}
