//! Replication slots: made, read and dropped by command and by function, kept over restarts, bounded.

use std::process::{Command, Stdio};

use mote_it::TestServer;
use mote_it::clients::{psql_as, psql_strict};
use mote_it::nodes::{await_replay, await_value, follow, follow_url, place, value};
use mote_it::process::await_standstill;
use mote_it::server::{TemporaryDirectory, mote_binary};
use mote_it::valve::Valve;
use mote_it::wire::{self, RawClient};
use rustix::process::{Pid, Signal, kill_process};

const SLOTS: &str = "select slot_name, slot_type, temporary, active, restart_lsn is null, wal_status from pg_replication_slots \
                     order by 1";

/// Of a clone of several megabytes.
const HALFWAY_BYTES: usize = 200_000;

/// A connection that speaks the replication protocol.
fn replicating(server: &TestServer) -> RawClient {
    let mut client = RawClient::open(server);
    client.start_up(&[("user", "postgres"), ("replication", "true")]);
    client.until(b'Z');
    client
}

fn refused(messages: &[wire::Message], code: &str, words: &str) {
    assert_eq!(wire::sqlstate(messages).as_deref(), Some(code), "{messages:?}");
    let said = wire::error(messages).unwrap_or_default();
    assert!(said.contains(words), "{said}");
}

#[test]
fn commands_of_the_replication_protocol() {
    let server = TestServer::start("slots-commands");
    let mut client = replicating(&server);
    let made = client.query("CREATE_REPLICATION_SLOT plain PHYSICAL");
    assert_eq!(wire::tags(&made), ["CREATE_REPLICATION_SLOT"], "{made:?}");
    let names: Vec<String> = made[0].described().into_iter().map(|column| column.0).collect();
    assert_eq!(
        names,
        ["slot_name", "consistent_point", "snapshot_name", "output_plugin"]
    );
    client.query("CREATE_REPLICATION_SLOT kept PHYSICAL (RESERVE_WAL)");
    client.query("CREATE_REPLICATION_SLOT gone TEMPORARY PHYSICAL RESERVE_WAL");
    assert_eq!(
        value(&server, SLOTS),
        "gone|physical|t|t|f|reserved\nkept|physical|f|f|f|reserved\nplain|physical|f|f|t|"
    );
    assert_eq!(
        value(
            &server,
            "select active_pid > 0, safe_wal_size > 0, two_phase from pg_replication_slots where slot_name = 'gone'"
        ),
        "t|t|f"
    );
    let read = client.rows("READ_REPLICATION_SLOT kept");
    assert!(
        read[0].starts_with("physical|0/") && read[0].ends_with("|1"),
        "{read:?}"
    );
    assert_eq!(client.rows("READ_REPLICATION_SLOT plain"), ["physical|~|~"]);
    assert_eq!(client.rows("READ_REPLICATION_SLOT absent"), ["~|~|~"]);
    for (command, code, words) in [
        (
            "CREATE_REPLICATION_SLOT kept PHYSICAL",
            "42710",
            "replication slot \"kept\" already exists",
        ),
        (
            "CREATE_REPLICATION_SLOT \"No\" PHYSICAL",
            "42602",
            "contains invalid character",
        ),
        (
            "DROP_REPLICATION_SLOT absent",
            "42704",
            "replication slot \"absent\" does not exist",
        ),
        (
            "CREATE_REPLICATION_SLOT l LOGICAL pgoutput",
            "55000",
            "logical decoding requires a database connection",
        ),
    ] {
        refused(&client.query(command), code, words);
    }
    let mut other = replicating(&server);
    refused(
        &other.query("DROP_REPLICATION_SLOT gone"),
        "55006",
        "replication slot \"gone\" is active for PID",
    );
    let dropped = other.query("DROP_REPLICATION_SLOT plain");
    assert_eq!(wire::tags(&dropped), ["DROP_REPLICATION_SLOT"]);
    drop(client);
    await_value(&server, SLOTS, "kept|physical|f|f|f|reserved");
    let (data, directory) = server.kill();
    let server = TestServer::open(&data, &[]).expect("it recovers");
    assert_eq!(value(&server, SLOTS), "kept|physical|f|f|f|reserved");
    drop((server, directory));
}

#[test]
fn functions() {
    let server = TestServer::start("slots-functions");
    let said = value(
        &server,
        "select slot_name, lsn is null from pg_create_physical_replication_slot('one');
         select slot_name, lsn is null from pg_create_physical_replication_slot('two', true);
         select slot_name, lsn is null from pg_create_physical_replication_slot('three', immediately_reserve => true, \
         temporary => true);
         select slot_name, lsn = (select restart_lsn from pg_replication_slots where slot_name = 'two') \
         from pg_copy_physical_replication_slot('two', 'four');
         select slot_name, lsn is null from pg_copy_physical_replication_slot('two', 'five', true);
         select slot_name, temporary from pg_replication_slots order by 1",
    );
    assert_eq!(
        said,
        "one|t\ntwo|f\nthree|f\nfour|t\nfive|f\nfive|t\nfour|f\none|f\nthree|t\ntwo|f"
    );
    // The session is over.
    await_value(
        &server,
        "select string_agg(slot_name, ',' order by slot_name) from pg_replication_slots",
        "four,one,two",
    );
    value(
        &server,
        "create role plain login; create role replicator login replication",
    );
    for (statement, code, words) in [
        (
            "select pg_create_physical_replication_slot('one')",
            "42710",
            "already exists",
        ),
        (
            "select pg_create_physical_replication_slot('')",
            "42602",
            "is too short",
        ),
        (
            "select pg_drop_replication_slot('absent')",
            "42704",
            "does not exist",
        ),
        (
            "select pg_copy_physical_replication_slot('absent', 'x')",
            "42704",
            "does not exist",
        ),
        (
            "select pg_copy_physical_replication_slot('one', 'x')",
            "55000",
            "cannot copy a replication slot that doesn't reserve WAL",
        ),
    ] {
        let mut client = RawClient::connect(&server);
        refused(&client.query(statement), code, words);
    }
    let said = psql_as(&server, "plain", "", "select pg_drop_replication_slot('one')").bad();
    assert!(
        said.contains("must be superuser or replication role to use replication slots"),
        "{said}"
    );
    psql_as(
        &server,
        "replicator",
        "",
        "select pg_drop_replication_slot('one')",
    )
    .good();
    value(
        &server,
        "select count(*) from generate_series(1, 62) g, lateral pg_create_physical_replication_slot(('s' || g)::name)",
    );
    let said = psql_strict(&server, "select pg_create_physical_replication_slot('more')").bad();
    assert!(said.contains("all replication slots are in use"), "{said}");
    assert!(
        said.contains("Free one or increase max_replication_slots."),
        "{said}"
    );
}

/// Writes more log than one segment of 4 MB, and lets go of what a restart does not need.
fn write_and_checkpoint(server: &TestServer) {
    value(
        server,
        "insert into t select repeat('x', 1000) from generate_series(1, 9000); checkpoint; truncate t; checkpoint",
    );
}

#[test]
fn a_slot_keeps_log_up_to_the_bound_and_is_lost_then() {
    let options = ["--log-segment-size", "4MB", "--max-slot-log", "12MB"];
    let server = TestServer::start_with("slots-bound", &options);
    value(
        &server,
        "create table t (a text); select pg_create_physical_replication_slot('s', true)",
    );
    let status = "select wal_status from pg_replication_slots";
    write_and_checkpoint(&server);
    await_value(&server, status, "extended");
    let kept =
        "select restart_lsn > (select log_start_lsn from mote_stat_checkpoint) from pg_replication_slots";
    write_and_checkpoint(&server);
    await_value(&server, status, "lost");
    assert_eq!(value(&server, kept), "f");
    assert_eq!(
        value(&server, "select safe_wal_size is null from pg_replication_slots"),
        "t"
    );
    value(&server, "select pg_drop_replication_slot('s')");
    assert_eq!(value(&server, "select count(*) from pg_replication_slots"), "0");
}

#[test]
fn a_clone_keeps_the_log_that_it_needs_until_its_first_stream() {
    let server = TestServer::start_with("slots-clone", &["--log-segment-size", "4MB"]);
    value(&server, "create table t (a text); create table kept (a int)");
    let fill = "insert into t select repeat('x', 1000) from generate_series(1, 9000)";
    value(&server, fill);
    let temporary = "select count(*) from pg_replication_slots where temporary and wal_status is not null";
    let start = |data: &TemporaryDirectory, valve: &Valve| {
        let url = format!("postgres://postgres@{}/postgres", valve.address);
        Command::new(mote_binary())
            .args([
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--follow",
                &url,
                "--name",
                "b",
                "--data",
            ])
            .arg(place(data))
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts")
    };
    let signal = |child: &std::process::Child, signal| {
        let pid = Pid::from_raw(child.id() as i32).expect("a process");
        kill_process(pid, signal).expect("it runs");
    };
    let data = TemporaryDirectory::new("slots-clone-b");
    let valve = Valve::before(server.address, HALFWAY_BYTES);
    let mut child = start(&data, &valve);
    valve.await_stop();
    await_value(&server, temporary, "1");
    // In the middle of its copy; the log from here on is its.
    signal(&child, Signal::STOP);
    await_standstill(child.id());
    valve.open();
    write_and_checkpoint(&server);
    write_and_checkpoint(&server);
    value(&server, "insert into kept values (1)");
    signal(&child, Signal::CONT);
    await_value(
        &server,
        "select application_name, state from pg_stat_replication",
        "b|streaming",
    );
    await_value(&server, temporary, "0");
    assert_eq!(
        value(&server, "select slot_name, temporary from pg_replication_slots"),
        "b|f"
    );
    child.kill().expect("it runs");
    child.wait().expect("it ended");
    let follower = follow(&server, &data, "b");
    await_replay(&server, &follower);
    assert_eq!(value(&follower, "select count(*) from kept"), "1");
    // Who dies on the way lets go.
    value(&server, fill);
    let second = TemporaryDirectory::new("slots-clone-c");
    let valve = Valve::before(server.address, HALFWAY_BYTES);
    let mut child = start(&second, &valve);
    valve.await_stop();
    await_value(&server, temporary, "1");
    child.kill().expect("it runs");
    child.wait().expect("it ended");
    await_value(&server, temporary, "0");
}

/// What a session at the bound may be told: configuration_limit_exceeded.
const NO_PLACE: &str = "53400";

/// Makes and drops slots of its own, of all kinds; answers how often there was no place.
fn make_and_drop(server: &TestServer, session: usize) -> usize {
    let mut client = RawClient::open(server);
    client.start_up(&[
        ("user", "postgres"),
        ("database", "postgres"),
        ("replication", "database"),
    ]);
    client.until(b'Z');
    let mut refused = 0;
    for round in 0..6 {
        let mut made = Vec::new();
        for number in 0..12 {
            let name = format!("s{session}_{number}");
            let kind = [
                "PHYSICAL RESERVE_WAL",
                "PHYSICAL",
                "LOGICAL pgoutput (SNAPSHOT 'nothing')",
            ][(number + round) % 3];
            let answer = client.query(&format!("CREATE_REPLICATION_SLOT {name} {kind}"));
            match wire::sqlstate(&answer).as_deref() {
                None => made.push(name),
                Some(NO_PLACE) => refused += 1,
                Some(_) => panic!("{name}: {answer:?}"),
            }
        }
        for name in made {
            let answer = client.query(&format!("DROP_REPLICATION_SLOT {name}"));
            assert_eq!(wire::sqlstate(&answer), None, "{name}: {answer:?}");
        }
    }
    refused
}

#[test]
fn at_the_bound_each_is_answered_and_followers_go_on() {
    let mut server = TestServer::start_with("slots-crowd", &[]);
    value(&server, "create table t (a int)");
    let data = TemporaryDirectory::new("slots-crowd-b");
    let follower = follow(&server, &data, "b");
    await_replay(&server, &follower);
    let refused: usize = std::thread::scope(|scope| {
        let sessions: Vec<_> = (0..8)
            .map(|session| {
                let server = &server;
                scope.spawn(move || make_and_drop(server, session))
            })
            .collect();
        for _ in 0..10 {
            value(&server, "insert into t select g from generate_series(1, 100) g");
            await_replay(&server, &follower);
        }
        sessions
            .into_iter()
            .map(|session| session.join().expect("it is answered"))
            .sum()
    });
    assert!(refused > 0, "the bound was not met");
    await_value(
        &server,
        "select string_agg(slot_name, ',') from pg_replication_slots",
        "b",
    );
    // One place is left: it is enough for a follower that is copied first.
    let make = "select count(*) from generate_series(1, 62) g, lateral pg_create_physical_replication_slot(('s' || g)::name, true)";
    value(&server, make);
    let second = TemporaryDirectory::new("slots-crowd-c");
    let other = follow(&server, &second, "c");
    await_value(
        &server,
        "select count(*) from pg_stat_replication where state = 'streaming'",
        "2",
    );
    // None is left: who comes is told, and nobody else notices.
    let third = TemporaryDirectory::new("slots-crowd-d");
    let said = follow_url(&server.url(), &third, "d")
        .err()
        .expect("there is no place");
    assert!(said.contains("all replication slots are in use"), "{said}");
    value(&server, "insert into t values (0)");
    await_replay(&server, &other);
    // A place for its copy; what the first attempt has left is no obstacle.
    value(&server, "select pg_drop_replication_slot('s1')");
    let late = follow(&server, &third, "d");
    await_replay(&server, &late);
    assert_eq!(value(&late, "select count(*) from t"), "1001");
    server.assert_unharmed();
}

/// Killed in the midst of its copy, and begun again on the same directory.
#[test]
fn a_copy_that_was_killed_is_begun_anew() {
    let server = TestServer::start_with("slots-killed", &[]);
    value(&server, "create table t (a text)");
    value(
        &server,
        "insert into t select repeat('x', 1000) from generate_series(1, 9000)",
    );
    let data = TemporaryDirectory::new("slots-killed-b");
    for bytes in [HALFWAY_BYTES, 5 * HALFWAY_BYTES, 20 * HALFWAY_BYTES] {
        let valve = Valve::before(server.address, bytes);
        let url = format!("postgres://postgres@{}/postgres", valve.address);
        let mut child = Command::new(mote_binary())
            .args([
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--follow",
                &url,
                "--name",
                "b",
                "--data",
            ])
            .arg(place(&data))
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        valve.await_stop();
        child.kill().expect("it runs");
        child.wait().expect("it ended");
    }
    // Without saying whom to follow it is nobody's directory.
    let said = TestServer::open(&place(&data), &[])
        .err()
        .expect("it has no database");
    assert!(said.contains("unfinished copy"), "{said}");
    let follower = follow(&server, &data, "b");
    await_replay(&server, &follower);
    assert_eq!(value(&follower, "select count(*) from t"), "9000");
    assert!(!place(&data).join("COPYING").exists());
    follower.stop();
}
