//! A subscriber whose `client_encoding` is not UTF-8, as one in a database of another encoding is.

use std::time::Duration;

use mote_it::TestServer;
use mote_it::clients::{client, psql_strict, run_with_input};
use mote_it::nodes::{await_value, value};
use mote_it::postgres::PostgresServer;
use mote_it::process::await_that;
use mote_it::wire::{self, RawClient};

/// A machine that does much else at the same time.
const TIMEOUT: Duration = Duration::from_secs(120);
/// In front of what pgoutput says: the kind of message, two positions and a time.
const HEADER_BYTES: usize = 25;

fn replicating(server: &TestServer, encoding: &str) -> RawClient {
    let mut client = RawClient::open(server);
    client.start_up(&[
        ("user", "postgres"),
        ("database", "postgres"),
        ("replication", "database"),
        ("client_encoding", encoding),
    ]);
    client.until(b'Z');
    client
}

fn stream(server: &TestServer, encoding: &str, publication: &[u8]) -> RawClient {
    let mut client = replicating(server, encoding);
    let before = b"START_REPLICATION SLOT l LOGICAL 0/0 (proto_version '1', publication_names '\"";
    client.send(b'Q', &[&before[..], publication, b"\"')\0"].concat());
    client
}

fn has(told: &[u8], bytes: &[u8]) -> bool {
    told.windows(bytes.len()).any(|window| window == bytes)
}

/// Of pgoutput, up to where `end` stands.
fn told_up_to(client: &mut RawClient, end: &[u8]) -> Vec<u8> {
    let mut told = Vec::new();
    while !has(&told, end) {
        let message = client.receive().expect("the stream goes on");
        assert_ne!(message.kind, b'E', "{:?}", message.field(b'M'));
        if message.kind == b'd' && message.body[0] == b'w' {
            told.extend_from_slice(&message.body[HEADER_BYTES..]);
        }
    }
    told
}

#[test]
fn a_subscriber_is_told_in_its_encoding_or_that_it_lacks_a_character() {
    let server = TestServer::start("cdc-encoding");
    psql_strict(
        &server,
        "create type straße as enum ('süß', 'fein');
         create table größe (id int primary key, länge text, s straße); create publication öffentlich for all tables;
         select pg_create_logical_replication_slot('l', 'pgoutput');
         insert into größe values (1, 'Maß', 'süß'), (2, 'end', null)",
    )
    .good();
    let mut client = stream(&server, "LATIN1", b"\xf6ffentlich");
    let told = told_up_to(&mut client, b"end");
    for expected in [
        &b"gr\xf6\xdfe\0"[..],
        b"l\xe4nge\0",
        b"stra\xdfe\0",
        b"\0\0\0\x03Ma\xdf",
        b"\0\0\0\x03s\xfc\xdf",
    ] {
        assert!(has(&told, expected), "{expected:?} in {told:?}");
    }
    psql_strict(&server, "insert into größe values (3, '17 €', null)").good();
    let rest = client.until(b'E');
    assert_eq!(wire::sqlstate(&rest).as_deref(), Some("22P05"), "{rest:?}");
    drop(client);
    // It is there for whoever can show it.
    let mut client = stream(&server, "UTF8", "öffentlich".as_bytes());
    told_up_to(&mut client, "17 €".as_bytes());
}

/// A PostgreSQL in a database of another encoding makes its slot with such a connection.
#[test]
fn commands_of_the_protocol_are_answered_in_other_encodings_too() {
    let server = TestServer::start("cdc-encoding-commands");
    let mut client = replicating(&server, "LATIN1");
    for (command, kinds) in [
        ("IDENTIFY_SYSTEM", "TDCZ"),
        (
            "CREATE_REPLICATION_SLOT s LOGICAL pgoutput (SNAPSHOT 'nothing')",
            "TDCZ",
        ),
        ("DROP_REPLICATION_SLOT s", "CZ"),
    ] {
        let answer = client.query(command);
        assert_eq!(wire::kinds(&answer), kinds, "{command}: {answer:?}");
    }
}

/// PostgreSQL's words, as it says them as a publisher.
const LACKS: &str = r#"character with byte sequence 0xe2 0x82 0xac in encoding "UTF8" has no equivalent in encoding "LATIN1""#;

const TABLES: &str = "create table größe (id int primary key, länge text, l text[], j jsonb);
                      create table ganz (straße text, n int); alter table ganz replica identity full;
                      create table kopie (id int primary key, v text)";

/// With its initial copy, in a database that is not in UTF-8.
struct Latin<'p>(&'p PostgresServer);

impl Latin<'_> {
    const DATABASE: &'static str = "latin";

    fn begin<'p>(postgres: &'p PostgresServer, server: &TestServer) -> Latin<'p> {
        let create = "create database latin encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0";
        postgres.execute(create);
        postgres.execute_in(Latin::DATABASE, TABLES);
        let port = server.address.port();
        postgres.execute_in(
            Latin::DATABASE,
            &format!(
                "create subscription s connection 'host=127.0.0.1 port={port} user=postgres dbname=postgres' \
                 publication öffentlich"
            ),
        );
        Latin(postgres)
    }

    #[track_caller]
    fn awaits(&self, sql: &str, expected: &str) {
        let mut found = String::new();
        let reached = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            await_that(sql, TIMEOUT, || {
                found = self.0.value_in(Latin::DATABASE, sql);
                found == expected
            });
        }));
        assert!(
            reached.is_ok(),
            "{sql}: {found} and not {expected}\n{}",
            self.0.log()
        );
    }

    fn awaits_state_of(&self, server: &TestServer, tables: &[&str]) {
        for table in tables {
            let rows = format!(
                "select count(*), md5(coalesce(string_agg(q, '/' order by q), '')) \
                 from (select quoted(t::text) collate \"C\" as q from {table} t) x"
            );
            let expected = value(server, &rows);
            self.awaits(&rows, &expected);
        }
    }
}

/// A text in letters that all encodings have: md5 hashes bytes, which are those of UTF-8 on one side only.
const QUOTED: &str = "create function quoted(text) returns text language sql immutable as \
                      $$ select encode(convert_to($1, 'UTF8'), 'hex') $$";

/// Somebody in UTF-8 reads the slot up to there.
fn leave_out(server: &TestServer, end: &str) {
    let mut command = client("pg_recvlogical", server);
    command.args([
        "-d",
        "dbname=postgres client_encoding=UTF8",
        "-S",
        "s",
        "--start",
        "-f",
        "/dev/null",
    ]);
    command.args(["--no-loop", "--endpos", end, "-o", "proto_version=1"]);
    command.args(["-o", "publication_names=\"öffentlich\""]);
    run_with_input(&mut command, "", "install PostgreSQL's client tools").good();
}

#[test]
fn a_slot_survives_what_its_subscriber_cannot_be_told() {
    let server = TestServer::start("cdc-latin1-lacks");
    let postgres = PostgresServer::start_with("-c wal_retrieve_retry_interval=500ms");
    psql_strict(&server, TABLES).good();
    psql_strict(&server, QUOTED).good();
    psql_strict(
        &server,
        "create publication öffentlich for table größe, ganz, kopie",
    )
    .good();
    let latin = Latin::begin(&postgres, &server);
    postgres.execute_in(Latin::DATABASE, QUOTED);
    latin.awaits(
        "select count(*) from pg_subscription_rel where srsubstate <> 'r'",
        "0",
    );
    psql_strict(
        &server,
        "insert into kopie values (1, 'Maß'), (2, '17 €'), (3, 'in one transaction')",
    )
    .good();
    await_that("PostgreSQL is told why, again and again", TIMEOUT, || {
        postgres.log().matches(LACKS).count() >= 3
    });
    psql_strict(&server, "insert into kopie values (4, 'größer')").good();
    let slot = "select slot_name, wal_status, confirmed_flush_lsn < pg_current_wal_flush_lsn() from pg_replication_slots";
    assert_eq!(value(&server, slot), "s|reserved|t");
    assert_eq!(
        postgres.value_in(Latin::DATABASE, "select count(*) from kopie"),
        "0",
        "nothing in part"
    );
    // It survives a restart, too; and whoever decides to leave the transaction out can.
    let address = server.address.to_string();
    let (data, kept) = server.kill();
    let server = TestServer::open(&data, &["--listen", &address]).expect("it recovers");
    assert_eq!(
        value(&server, "select slot_name, wal_status from pg_replication_slots"),
        "s|reserved"
    );
    postgres.execute_in(Latin::DATABASE, "alter subscription s disable");
    await_value(&server, "select active from pg_replication_slots", "f");
    let end = value(&server, "select pg_current_wal_flush_lsn()");
    psql_strict(
        &server,
        "delete from kopie; insert into kopie values (5, 'weiter: ÿ')",
    )
    .good();
    leave_out(&server, &end);
    postgres.execute_in(Latin::DATABASE, "alter subscription s enable");
    latin.awaits_state_of(&server, &["kopie"]);
    drop((server, kept));
}
