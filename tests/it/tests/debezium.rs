//! Debezium as a subscriber: its engine with the connector for PostgreSQL and the plugin pgoutput, unmodified.
//!
//! What it tells of mote, also after it was stopped and changes were made meanwhile, is what it tells of a PostgreSQL 15 to which
//! the same was done.

mod debezium {
    pub mod engine;
}

use std::path::Path;

use debezium::engine::{Engine, Event};
use mote_it::TestServer;
use mote_it::clients::psql_strict;
use mote_it::nodes::value;
use mote_it::postgres::PostgresServer;
use mote_it::server::TemporaryDirectory;
use serde_json::Value;

/// How it gets at a server, with its place in `directory`; `more` properties are `NAME=VALUE`.
fn properties(port: u16, directory: &Path, more: &[&str]) -> Vec<String> {
    let offsets = directory.join(format!("offsets-{port}"));
    let fixed = [
        "name=it",
        "connector.class=io.debezium.connector.postgresql.PostgresConnector",
        "offset.storage=org.apache.kafka.connect.storage.FileOffsetBackingStore",
        "offset.flush.interval.ms=100",
        "topic.prefix=it",
        "database.hostname=127.0.0.1",
        "database.user=postgres",
        "database.password=",
        "database.dbname=postgres",
        "plugin.name=pgoutput",
        "slot.name=debezium",
        "publication.name=debezium",
        // It leaves out TRUNCATE unless it is told not to.
        "skipped.operations=none",
        "retriable.restart.connector.wait.ms=200",
    ];
    let mut properties: Vec<String> = fixed.iter().chain(more).map(|&one| one.into()).collect();
    properties.push(format!("database.port={port}"));
    properties.push(format!("offset.storage.file.filename={}", offsets.display()));
    properties
}

fn count_of(events: &[Event], table: &str) -> usize {
    events.iter().filter(|event| event.is_of(table)).count()
}

/// The ids that a table's created rows have, in the order in which they were told.
fn created(events: &[Event], table: &str) -> Vec<i64> {
    let of_table = events.iter().filter(|event| event.is_of(table));
    let created = of_table.filter(|event| matches!(event.operation(), "c" | "r"));
    created
        .map(|event| event.after("id").as_i64().expect("an id"))
        .collect()
}

/// Everything was told that was committed before this.
fn has_mark(number: i64) -> impl FnMut(&[Event]) -> bool {
    move |events| {
        events
            .iter()
            .any(|event| event.is_of("mark") && event.after("n") == number)
    }
}

const TABLES: &str = "
    create table mark (n int primary key);
    create type mood as enum ('sad', 'fine', 'glad');
    create type pair as (a int, b text);
    create domain positive as int check (value > 0);
    create extension hstore; create extension citext;
    create table kinds (id int primary key, small smallint, large bigint, yes boolean, r real, d double precision,
        n numeric, n2 numeric(12,3), money money, c char(5), v varchar(10) default 'none' not null, t text, ci citext,
        bytes bytea, day date, tt time, ttz timetz, ts timestamp, ts3 timestamp(3), tz timestamptz, i interval,
        j json, jb jsonb, u uuid, ip inet, net cidr, bits bit(3), range int4range, o oid, h hstore,
        m mood, p positive, pair pair, li int[], lt text[], ln numeric(5,2)[], lu uuid[], ltz timestamptz[], lm mood[]);
    create table doubled (id int primary key, twice int generated always as (id * 2) stored);
    create table whole (a int, b text); alter table whole replica identity full;
    create table other_key (a int, b int not null unique, c text);
    alter table other_key replica identity using index other_key_b_key;
    create table parted (id int primary key, v text) partition by range (id);
    create table parted_low partition of parted for values from (0) to (100);
    create table parted_high partition of parted for values from (100) to (1000);";

const ROWS: &str = r#"
    insert into kinds values (1, -3, 9007199254740993, true, 1.5, 1e100, 12345678901234567890.0123456789, 1.5, '$3.50',
        'ab', 'v', 'text ä €', 'Ci', '\x00ff', '2024-02-29', '12:34:56.789', '12:34:56+02', '2024-01-02 03:04:05.678901',
        '2024-01-02 03:04:05.678', '2024-01-02 03:04:05.678901+02', '1 year 2 days 03:04', '{"a": 1}', '{"b": [1, null]}',
        'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '10.0.0.1/8', '10.0.0.0/8', b'101', '[1,5)', 7, 'a=>1,b=>null',
        'sad', 3, row(1, 'b'), '{1,null,3}', '{a,"b c",null}', '{1.5,2}', '{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}',
        '{2024-01-02 03:04:05+00}', '{sad,glad}');
    insert into kinds (id, n, d, r, tz, day, ts) values (2, 'NaN', 'NaN', '-Infinity', 'infinity', '0001-01-01', '-infinity');
    insert into doubled values (1);
    insert into whole values (1, 'one'), (1, 'one'), (2, null);
    insert into other_key values (1, 10, 'x');
    insert into parted select i, 'p' || i from generate_series(98, 101) i;"#;

const CHANGES: &str = r#"
    insert into kinds select 3, small, large, yes, r, d, n, n2, money, c, v, t, ci, bytes, day, tt, ttz, ts, ts3, tz, i, j, jb, u,
        ip, net, bits, range, o, h, m, p, pair, li, lt, ln, lu, ltz, lm from kinds where id = 1;
    insert into kinds (id, n, d, tz, li, jb) values (4, 1e30, '-Infinity', '-infinity', '{}', 'null');
    update kinds set n2 = -0.001, jb = jb || '{"c": "d"}', li = li || 4, m = 'glad', tz = tz + '1 day' where id = 1;
    update kinds set id = 20 where id = 2;
    delete from kinds where id = 3;
    insert into doubled values (2), (3);
    update whole set b = 'two' where a = 2; delete from whole where a = 1;
    update other_key set b = 11; update other_key set c = 'y'; delete from other_key;
    update parted set v = 'q' where id < 100; update parted set id = 500 where id = 98; delete from parted where id = 101;
    begin; insert into mark values (-1); savepoint s; insert into mark values (-2); rollback to s;
    insert into mark values (-3); commit;
    begin; delete from kinds; rollback;
    alter table doubled add column added text default 'added';
    insert into doubled values (4);
    truncate whole, doubled;
    insert into doubled (id, added) values (5, 'after')"#;

/// While nobody listens.
const MORE: &str = "
    insert into kinds (id, t) select i, 'row ' || i from generate_series(100, 400) i;
    update kinds set t = t || '!' where id between 150 and 200;
    delete from kinds where id > 390;
    alter table whole drop column b;
    insert into whole values (3);
    begin; truncate parted; insert into parted values (7, 'seven'); commit";

/// One server, by what runs scripts there.
type Script<'s> = &'s dyn Fn(&str);

/// What it tells of a server: rows that were there, changes, and, after it was stopped in good order, what happened meanwhile.
fn told_of(port: u16, run: Script<'_>, directory: &Path) -> Vec<Event> {
    run(TABLES);
    run(ROWS);
    let tables = "table.include.list=public.kinds,public.doubled,public.whole,public.other_key,public.parted,public.mark";
    let more = [
        "publication.autocreate.mode=filtered",
        "publish.via.partition.root=true",
        "include.unknown.datatypes=true",
        tables,
    ];
    let properties = properties(port, directory, &more);
    let mut engine = Engine::start(&properties, 0);
    engine.await_events("the rows", |events| {
        count_of(events, "parted") == 4 && events.len() == 11
    });
    run(CHANGES);
    run("insert into mark values (1)");
    engine.await_events("the changes", has_mark(1));
    let mut told = engine.stop();
    run(MORE);
    run("insert into mark values (2)");
    let mut engine = Engine::start(&properties, 0);
    engine.await_events("what happened meanwhile", has_mark(2));
    run("insert into mark values (3)");
    engine.await_events("the last change", has_mark(3));
    told.extend(engine.stop());
    told
}

/// Without what says where and when.
fn comparable(mut event: Event) -> Event {
    let Some(payload) = event.value.get_mut("payload").and_then(Value::as_object_mut) else {
        return event;
    };
    payload.retain(|name, _| !name.starts_with("ts_"));
    if let Some(source) = payload.get_mut("source").and_then(Value::as_object_mut) {
        let kept = ["db", "schema", "table", "snapshot"];
        source.retain(|name, _| kept.contains(&name.as_str()));
    }
    event
}

#[test]
fn its_events_are_those_of_postgresql() {
    let directory = TemporaryDirectory::new("debezium");
    let server = TestServer::start("debezium");
    let mote = told_of(
        server.address.port(),
        &|script| _ = psql_strict(&server, script).good(),
        directory.path(),
    );
    let postgres = PostgresServer::start_with("-c wal_level=logical");
    let oracle = told_of(
        postgres.port(),
        &|script| postgres.execute(script),
        directory.path(),
    );
    for (number, (told, expected)) in mote.iter().zip(&oracle).enumerate() {
        let (told, expected) = (comparable(told.clone()), comparable(expected.clone()));
        assert_eq!(
            (&told.topic, &told.key, told.payload()),
            (&expected.topic, &expected.key, expected.payload()),
            "event {number}"
        );
        assert!(told == expected, "event {number}: {told:#?}\n{expected:#?}");
    }
    assert_eq!(mote.len(), oracle.len());
    // A few values by hand, so that a comparison of nothing with nothing would show.
    let first = mote.iter().find(|event| event.is_of("kinds"));
    let first = first.expect("a row");
    assert_eq!(first.operation(), "r");
    assert_eq!(first.after("tz"), "2024-01-02T01:04:05.678901Z");
    assert_eq!(first.after("u"), "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11");
    assert_eq!(first.after("jb"), r#"{"b": [1, null]}"#);
    assert_eq!(first.after("li"), &serde_json::json!([1, null, 3]));
    let truncated = mote.iter().filter(|event| event.operation() == "t").count();
    assert_eq!(truncated, 3, "whole, doubled, parted");
    let seen = created(&mote, "kinds");
    assert_eq!(seen.iter().filter(|id| **id >= 100).count(), 301);
    assert_eq!(
        value(
            &server,
            "select count(*) from pg_replication_slots where not active"
        ),
        "1"
    );
}

/// Of one transaction.
const LONG_ROWS: i64 = 8000;
/// Told before the engine is killed, at least.
const LONG_TOLD: usize = 500;

/// What is told of one long transaction before the engine is killed in the midst of it, and after its next start.
fn told_around_a_kill(port: u16, run: Script<'_>, directory: &Path) -> (Vec<i64>, Vec<i64>) {
    run(
        "create table mark (n int primary key); create table long (id int primary key, v text); insert into mark values (0)",
    );
    let more = [
        "publication.autocreate.mode=filtered",
        "table.include.list=public.long,public.mark",
        // Small, so that it notes where it is many times within the transaction.
        "max.batch.size=100",
        "max.queue.size=200",
    ];
    let properties = properties(port, directory, &more);
    let mut engine = Engine::start(&properties, 0);
    engine.await_events("the row that was there", has_mark(0));
    run(&format!(
        "begin; insert into long select i, repeat('x', 100) from generate_series(1, {0}) i; savepoint s;
         insert into long select i, 'taken back' from generate_series({0} + 1, {0} + 100) i; rollback to s; commit",
        LONG_ROWS
    ));
    engine.await_events("a part of it", |events| count_of(events, "long") >= LONG_TOLD);
    let before = created(&engine.kill(), "long");
    run("insert into mark values (1)");
    let mut engine = Engine::start(&properties, 0);
    engine.await_events("all of it", has_mark(1));
    (before, created(&engine.stop(), "long"))
}

/// Nothing is left out and nothing out of order; what was told twice is what had not been noted when the engine was killed.
fn assert_whole(server: &str, (before, after): &(Vec<i64>, Vec<i64>)) {
    println!(
        "{server}: {} before, from {:?} on after",
        before.len(),
        after.first()
    );
    let told = before.len() as i64;
    assert!(told < LONG_ROWS, "{server}: it was killed too late");
    assert!(before.iter().copied().eq(1..=told), "{server}: {before:?}");
    let first = *after.first().expect("the rest");
    assert!(
        first <= told + 1,
        "{server}: rows {} to {first} are lost",
        told + 1
    );
    assert!(after.iter().copied().eq(first..=LONG_ROWS), "{server}: {after:?}");
}

#[test]
fn killed_in_the_midst_of_a_transaction_it_tells_the_rest_as_of_postgresql() {
    let directory = TemporaryDirectory::new("debezium-killed");
    let server = TestServer::start("debezium-killed");
    let mote = told_around_a_kill(
        server.address.port(),
        &|script| _ = psql_strict(&server, script).good(),
        directory.path(),
    );
    let postgres = PostgresServer::start_with("-c wal_level=logical");
    let oracle = told_around_a_kill(
        postgres.port(),
        &|script| postgres.execute(script),
        directory.path(),
    );
    assert_whole("mote", &mote);
    assert_whole("PostgreSQL", &oracle);
}
