//! Subscribers of changes: a PostgreSQL 15 by CREATE SUBSCRIPTION, pg_recvlogical, and messages by hand.
//!
//! `random` has the proof: seeded transactions of all kinds, with definitions between them and servers that are killed or
//! hand over, compared row by row.

mod change_data_capture {
    mod definitions;
    mod encodings;
    pub mod random;
    mod several;
    pub mod subscriber;
}

use std::process::{Command, Stdio};
use std::time::Duration;

use change_data_capture::subscriber::Subscriber;
use mote_it::TestServer;
use mote_it::certificates::{Authority, ELLIPTIC};
use mote_it::clients::{client, psql_strict, run_with_input};
use mote_it::nodes::value;
use mote_it::postgres::PostgresServer;
use mote_it::process::await_that;
use mote_it::server::TemporaryDirectory;
use mote_it::wire::{self, RawClient};

const RECVLOGICAL_ADVICE: &str = "install PostgreSQL's client tools";

fn replicating(server: &TestServer) -> RawClient {
    let mut client = RawClient::open(server);
    client.start_up(&[
        ("user", "postgres"),
        ("database", "postgres"),
        ("replication", "database"),
    ]);
    client.until(b'Z');
    client
}

#[test]
fn a_postgresql_subscribes_with_an_initial_copy() {
    let server = TestServer::start("cdc-subscription");
    let postgres = PostgresServer::start();
    let tables = "create type mood as enum ('sad', 'fine', 'glad');
                  create type pair as (a int, b text);
                  create table t (id int primary key, v text, n numeric(12,3), m mood, p pair, l int[], j jsonb);
                  create table whole (a int, b text);
                  alter table whole replica identity full;
                  create table part (id int primary key, v text) partition by range (id);
                  create table part_low partition of part for values from (0) to (100);
                  create table part_high partition of part for values from (100) to (1000);";
    psql_strict(&server, tables).good();
    psql_strict(&server, "create table unpublished (id int)").good();
    postgres.execute(tables);
    psql_strict(
        &server,
        "insert into t select i, 'row ' || i, i / 8.0, 'fine', (i, 'b')::pair, array[i, i + 1], '{\"k\": [1, null]}' \
         from generate_series(1, 500) i;
         insert into whole select i % 10, 'w' from generate_series(1, 50) i;
         insert into part select i, 'p' from generate_series(0, 150) i;
         create publication p for table t, whole, part;",
    )
    .good();
    let subscriber = Subscriber::begin(&postgres, &server, "p");
    subscriber.await_copied();
    let queries = ["t", "whole", "part"];
    subscriber.compare(&server, &queries);
    psql_strict(
        &server,
        "insert into t values (1000, 'new', 1.5, 'glad', (7, null)::pair, '{}', '[]'), (1001, null, null, null, null, null, null);
         update t set v = 'changed', m = 'sad' where id % 3 = 0;
         update t set id = id + 5000 where id < 10;
         delete from t where id between 20 and 30;
         update whole set b = 'x' where a = 3;
         delete from whole where a = 4;
         update part set v = 'q' where id = 5;
         update part set id = 500 where id = 6;
         delete from part where id > 140 and id < 400;
         insert into unpublished values (1);
         begin; insert into t (id) values (2000); savepoint s; insert into t (id) values (2001); rollback to s;
         insert into t (id) values (2002); commit;
         begin; delete from t; rollback;
         insert into t (id, v) select i, repeat('long ', 100) from generate_series(10000, 14000) i;",
    )
    .good();
    subscriber.compare(&server, &queries);
    psql_strict(&server, "truncate whole; insert into whole values (1, 'after')").good();
    subscriber.compare(&server, &queries);
    // What the subscriber has confirmed lets go of log.
    await_that("the slot is confirmed", Duration::from_secs(60), || {
        let behind = "select slot_type, plugin, database, active, confirmed_flush_lsn >= pg_current_wal_lsn() - 100000 \
                      from pg_replication_slots where slot_name = 's'";
        value(&server, behind) == "logical|pgoutput|postgres|t|t"
    });
    // A crash of the publisher: the slot is there, and the subscriber goes on.
    let (data, directory) = server.kill();
    let server = TestServer::open(&data, &[]).expect("it recovers");
    subscriber.connect(&server);
    psql_strict(
        &server,
        "update t set v = 'again' where id < 100; insert into part values (999, 'last')",
    )
    .good();
    subscriber.compare(&server, &queries);
    subscriber.end();
    assert_eq!(value(&server, "select count(*) from pg_replication_slots"), "0");
    drop((server, directory));
}

/// Whoever does not encrypt is refused: the copy of each table and the stream of changes are encrypted.
#[test]
fn a_postgresql_subscribes_over_tls() {
    let authority = Authority::new("cdc-tls");
    authority.sign("server", "server", ELLIPTIC);
    let rules = authority.path("rules");
    std::fs::write(&rules, "hostssl all,replication all all trust\n").expect("written");
    let (certificate, key) = (authority.file("server.crt"), authority.file("server.key"));
    let options = [
        "--tls-cert",
        &certificate,
        "--tls-key",
        &key,
        "--hba-file",
        &authority.file("rules"),
    ];
    let server = TestServer::start_with("cdc-tls", &options);
    let postgres = PostgresServer::start();
    let table = "create table t (id int primary key, v text)";
    psql_strict(&server, table).good();
    postgres.execute(table);
    psql_strict(
        &server,
        "insert into t select i, 'row ' || i from generate_series(1, 500) i; create publication p for table t",
    )
    .good();
    let encrypted = format!("sslmode=verify-full sslrootcert={}", authority.file("root.crt"));
    let subscriber = Subscriber::begin_with(&postgres, &server, "p", &encrypted);
    subscriber.await_copied();
    subscriber.compare(&server, &["t"]);
    psql_strict(
        &server,
        "insert into t select i, repeat('long ', 200) from generate_series(1000, 8000) i;
         update t set v = 'changed' where id < 100; delete from t where id between 200 and 300",
    )
    .good();
    subscriber.compare(&server, &["t"]);
    subscriber.end();
}

#[test]
fn pg_recvlogical_makes_a_slot_and_reads_it() {
    let server = TestServer::start("cdc-recvlogical");
    psql_strict(
        &server,
        "create table t (id int primary key, v text); create publication p for all tables",
    )
    .good();
    let directory = TemporaryDirectory::new("cdc-recvlogical");
    let file = directory.path().join("changes");
    let recvlogical = |arguments: &[&str]| {
        let mut command = client("pg_recvlogical", &server);
        command.args(["-d", "postgres", "-S", "mine"]).args(arguments);
        command
    };
    let made = run_with_input(
        &mut recvlogical(&["--create-slot", "-P", "pgoutput"]),
        "",
        RECVLOGICAL_ADVICE,
    );
    made.good();
    psql_strict(
        &server,
        "insert into t values (1, 'one'), (2, 'two'); delete from t where id = 1",
    )
    .good();
    let path = file.display().to_string();
    let mut child = recvlogical(&[
        "--start",
        "-f",
        &path,
        "-s",
        "1",
        "-F",
        "1",
        "-o",
        "proto_version=1",
        "-o",
        "publication_names=p",
    ])
    .stdin(Stdio::null())
    .spawn()
    .unwrap_or_else(|error| panic!("{error}: {RECVLOGICAL_ADVICE}"));
    let content = || std::fs::read(&file).unwrap_or_default();
    let has = |words: &str| {
        let bytes = content();
        bytes
            .windows(words.len())
            .any(|window| window == words.as_bytes())
    };
    await_that("the changes", Duration::from_secs(60), || {
        has("one") && has("two") && has("public")
    });
    psql_strict(&server, "insert into t values (3, 'three')").good();
    await_that("a later change", Duration::from_secs(60), || has("three"));
    let busy = run_with_input(&mut recvlogical(&["--drop-slot"]), "", RECVLOGICAL_ADVICE);
    assert!(busy.bad().contains("is active for PID"));
    let pid = child.id().to_string();
    Command::new("kill")
        .args(["-INT", &pid])
        .status()
        .expect("kill is there");
    assert!(child.wait().expect("it ends").success());
    run_with_input(&mut recvlogical(&["--drop-slot"]), "", RECVLOGICAL_ADVICE).good();
    assert_eq!(value(&server, "select count(*) from pg_replication_slots"), "0");
}

#[test]
fn what_subscribers_are_refused() {
    let server = TestServer::start("cdc-refused");
    psql_strict(
        &server,
        "create table t (id int primary key); create publication p for table t; create role plain login;
         select pg_create_logical_replication_slot('l', 'pgoutput');
         select pg_create_physical_replication_slot('physical');
         create database other;",
    )
    .good();
    let mut client = replicating(&server);
    let stream = |slot: &str, options: &str| format!("START_REPLICATION SLOT {slot} LOGICAL 0/0 ({options})");
    for (command, code) in [
        (
            stream("absent", "proto_version '1', publication_names 'p'"),
            "42704",
        ),
        (
            stream("physical", "proto_version '1', publication_names 'p'"),
            "55000",
        ),
        (stream("l", "proto_version '4', publication_names 'p'"), "0A000"),
        (
            stream("l", "proto_version '1', publication_names 'absent'"),
            "42704",
        ),
        (stream("l", "proto_version '1'"), "22023"),
        (
            stream("l", "proto_version '1', publication_names 'p', binary 'true'"),
            "0A000",
        ),
        (
            stream("l", "proto_version '3', publication_names 'p', two_phase 'on'"),
            "0A000",
        ),
        ("CREATE_REPLICATION_SLOT x LOGICAL test_decoding".into(), "0A000"),
        (
            "CREATE_REPLICATION_SLOT x LOGICAL pgoutput TWO_PHASE".into(),
            "0A000",
        ),
        (
            "CREATE_REPLICATION_SLOT x LOGICAL pgoutput USE_SNAPSHOT".into(),
            "XX000",
        ),
        ("CREATE_REPLICATION_SLOT l LOGICAL pgoutput".into(), "42710"),
        ("READ_REPLICATION_SLOT l".into(), "0A000"),
        ("CREATE PUBLICATION w FOR TABLE t WHERE (id > 1)".into(), "0A000"),
    ] {
        let answer = client.query(&command);
        assert_eq!(
            wire::sqlstate(&answer).as_deref(),
            Some(code),
            "{command}: {answer:?}"
        );
    }
    // SQL goes over the same connection.
    assert_eq!(client.rows("select count(*) from pg_publication"), ["1"]);
    // A slot is of its database.
    let mut other = RawClient::open(&server);
    other.start_up(&[
        ("user", "postgres"),
        ("database", "other"),
        ("replication", "database"),
    ]);
    other.until(b'Z');
    let answer = other.query(&stream("l", "proto_version '1', publication_names 'p'"));
    assert_eq!(wire::sqlstate(&answer).as_deref(), Some("55000"), "{answer:?}");
    let mut plain = RawClient::open(&server);
    plain.start_up(&[
        ("user", "plain"),
        ("database", "postgres"),
        ("replication", "database"),
    ]);
    let refused = plain.until_closed();
    assert_eq!(wire::sqlstate(&refused).as_deref(), Some("42501"), "{refused:?}");
}

#[test]
fn a_row_that_no_subscriber_could_find_is_not_changed() {
    let server = TestServer::start("cdc-identity");
    psql_strict(
        &server,
        "create table bare (a int, b text); insert into bare values (1, 'x');
         create table listed (id int primary key, a int); create publication l for table listed (a);
         create publication p for table bare;",
    )
    .good();
    let mut client = RawClient::connect(&server);
    for (sql, code, words) in [
        (
            "update bare set b = 'y'",
            "55000",
            "cannot update table \"bare\" because it does not have a replica identity and publishes updates",
        ),
        (
            "delete from bare",
            "55000",
            "cannot delete from table \"bare\" because it does not have a replica identity and publishes deletes",
        ),
        (
            "update listed set a = 1",
            "42P10",
            "cannot update table \"listed\"",
        ),
    ] {
        let answer = client.query(sql);
        assert_eq!(
            wire::sqlstate(&answer).as_deref(),
            Some(code),
            "{sql}: {answer:?}"
        );
        let said = wire::error(&answer).unwrap_or_default();
        assert!(said.contains(words), "{said}");
    }
    psql_strict(
        &server,
        "insert into bare values (2, 'y');
         alter table bare replica identity full; update bare set b = 'z'; alter table bare replica identity default;
         alter publication p set (publish = 'insert'); update bare set b = 'w'; delete from bare;
         drop publication p; insert into bare values (3, 'z'); update bare set b = 'v'",
    )
    .good();
}
