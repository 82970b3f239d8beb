//! Readers of a follower while the primary drops, empties and rewrites what they read, and while replay stands still.

use mote_it::TestServer;
use mote_it::clients::{mote, psql_strict};
use mote_it::nodes::{await_replay, await_value, compare, follow, value};
use mote_it::server::TemporaryDirectory;
use mote_it::wire::{self, RawClient};

fn pair(test: &str) -> (TestServer, TestServer, TemporaryDirectory) {
    let primary = TestServer::start(test);
    let data = TemporaryDirectory::new(&format!("{test}-b"));
    let follower = follow(&primary, &data, "b");
    (primary, follower, data)
}

/// PostgreSQL's standby waits with the change, up to `max_standby_streaming_delay`, then cancels who has read the table.
#[test]
fn who_has_read_a_table_that_is_dropped_emptied_or_rewritten_is_told() {
    let (primary, follower, _data) = pair("readers-conflict");
    value(
        &primary,
        "create table emptied (a int); insert into emptied values (1), (2);
         create table rewritten (a int); insert into rewritten values (1);
         create table dropped (a int); insert into dropped values (1);
         create table kept (a int); insert into kept values (1);
         create table parts (a int) partition by list (a);
         create table part1 partition of parts for values in (1); insert into parts values (1)",
    );
    await_replay(&primary, &follower);
    for isolation in ["read committed", "repeatable read", "serializable"] {
        let mut readers: Vec<(RawClient, &str)> = Vec::new();
        for table in ["emptied", "rewritten", "dropped", "kept", "parts"] {
            let mut reader = RawClient::connect(&follower);
            reader.query(&format!("begin isolation level {isolation} read only"));
            let rows = reader.rows(&format!("select count(*) from {table} where a = 1"));
            assert_eq!(rows, ["1"], "{table}");
            readers.push((reader, table));
        }
        value(
            &primary,
            "truncate emptied; insert into emptied values (1), (5), (6); alter table rewritten alter a type text;
             alter table rewritten alter a type int using a::int; drop table dropped",
        );
        await_replay(&primary, &follower);
        for (reader, table) in &mut readers {
            let statement = format!("select count(*) from {table} where a = 1");
            if ["kept", "parts"].contains(table) {
                assert_eq!(reader.rows(&statement), ["1"], "{table}");
                continue;
            }
            let said = reader.query(&statement);
            assert_eq!(
                wire::sqlstate(&said).as_deref(),
                Some("40001"),
                "{isolation}, {table}: {said:?}"
            );
            let said = wire::error(&said).unwrap_or_default();
            assert!(
                said.contains("canceling statement due to conflict with recovery"),
                "{said}"
            );
            assert_eq!(wire::tags(&reader.query("rollback")), ["ROLLBACK"]);
        }
        assert_eq!(value(&follower, "select count(*) from emptied"), "3");
        value(
            &primary,
            "create table dropped (a int); insert into dropped values (1)",
        );
        await_replay(&primary, &follower);
    }
}

/// The index knows the transaction's rows where it was built; here it must, too, before they are decided.
#[test]
fn an_index_built_among_writers_has_the_rows_of_a_prepared_transaction() {
    let (primary, follower, _data) = pair("readers-concurrent-index");
    value(
        &primary,
        "create table t (a int, b int); insert into t select g, g from generate_series(1, 20000) g; analyze t;
         begin; insert into t values (-1, -1); prepare transaction 'before'",
    );
    let mut builder = RawClient::connect(&primary);
    builder.raw(&wire::query("create index concurrently tb on t (b)"));
    await_value(
        &primary,
        "select count(*) from pg_stat_activity where query like 'create index%' and wait_event_type = 'Lock'",
        "1",
    );
    value(
        &primary,
        "begin; insert into t values (-2, -2); update t set b = -5 where a = 7; delete from t where a = 8;
         prepare transaction 'among'",
    );
    value(&primary, "commit prepared 'before'");
    let built = builder.until(b'Z');
    assert_eq!(wire::tags(&built), ["CREATE INDEX"], "{built:?}");
    let found = "set enable_seqscan = off; select * from t where b in (-5, -2, -1, 7, 8) order by b";
    compare(&primary, &follower, &[found]);
    value(&primary, "commit prepared 'among'");
    compare(&primary, &follower, &[found]);
    let plan = value(
        &follower,
        "set enable_seqscan = off; explain select * from t where b = -2",
    );
    assert!(plan.contains("tb"), "{plan}");
    assert_eq!(
        value(&follower, found)
            .split_whitespace()
            .skip(1)
            .collect::<Vec<_>>(),
        ["7|-5", "-2|-2", "-1|-1"]
    );
    // A build that fails leaves nothing behind, neither here nor there.
    value(&primary, "insert into t values (-9, -1)");
    let said = psql_strict(&primary, "create unique index concurrently tu on t (b)").bad();
    assert!(said.contains("could not create unique index"), "{said}");
    let indexes =
        "select indexrelid::regclass, indisvalid, indisready from pg_index where indrelid = 't'::regclass";
    compare(&primary, &follower, &[indexes, found]);
}

#[test]
fn replay_stands_still_when_it_is_told_to() {
    let (primary, follower, _data) = pair("readers-pause");
    value(&primary, "create table t (a int); insert into t values (1)");
    await_replay(&primary, &follower);
    for (statement, expected) in [
        ("select pg_is_wal_replay_paused()", "f"),
        ("select pg_get_wal_replay_pause_state()", "not paused"),
        (
            "select pg_last_xact_replay_timestamp() between now() - interval '1 h' and now()",
            "t",
        ),
        ("select pg_wal_replay_pause()", ""),
        ("select pg_is_wal_replay_paused()", "t"),
    ] {
        assert_eq!(value(&follower, statement), expected, "{statement}");
    }
    await_value(&follower, "select pg_get_wal_replay_pause_state()", "paused");
    value(&primary, "insert into t values (2)");
    let flushed = value(&primary, "select pg_current_wal_flush_lsn()");
    // It is here, and not shown.
    await_value(
        &follower,
        &format!("select pg_last_wal_receive_lsn() >= '{flushed}'"),
        "t",
    );
    assert_eq!(value(&follower, "select count(*) from t"), "1");
    value(&follower, "select pg_wal_replay_resume()");
    compare(
        &primary,
        &follower,
        &["select count(*) from t", "select sum(a) from t"],
    );
    assert_eq!(
        value(&follower, "select pg_get_wal_replay_pause_state()"),
        "not paused"
    );
    for function in [
        "pg_wal_replay_pause()",
        "pg_wal_replay_resume()",
        "pg_is_wal_replay_paused()",
        "pg_get_wal_replay_pause_state()",
        "pg_promote()",
    ] {
        let said = psql_strict(&primary, &format!("select {function}")).bad();
        assert!(said.contains("recovery is not in progress"), "{function}: {said}");
    }
    assert_eq!(
        value(&primary, "select pg_last_xact_replay_timestamp() is null"),
        "t"
    );
    let said = psql_strict(&follower, "select pg_promote(true, 0)").bad();
    assert!(
        said.contains("\"wait_seconds\" must not be negative or zero"),
        "{said}"
    );
}

#[test]
fn a_command_promotes_a_follower_that_runs_and_one_that_does_not() {
    let (primary, follower, _data) = pair("readers-promote");
    value(&primary, "create table t (a int); insert into t values (1)");
    await_replay(&primary, &follower);
    let said = mote(&["promote", "--url", &primary.url()]).bad();
    assert!(said.contains("it is a primary already"), "{said}");
    let second = TemporaryDirectory::new("readers-promote-c");
    let stopped = follow(&primary, &second, "c");
    await_replay(&primary, &stopped);
    let said = mote(&["promote", "--data", &stopped.data().display().to_string()]).bad();
    assert!(said.contains("promote that with --url"), "{said}");
    let (directory, _) = stopped.stop();
    drop(primary);
    // Its port is the system's choice, and stays.
    let said = mote(&["promote", "--url", &follower.url()]).good();
    assert!(said.contains("is a primary and takes writes"), "{said}");
    assert_eq!(
        value(&follower, "insert into t values (2) returning a"),
        "2\nINSERT 0 1"
    );
    let shown = directory.display().to_string();
    let said = mote(&["promote", "--data", &shown]).good();
    assert!(said.contains("follows nobody any more"), "{said}");
    let said = mote(&["promote", "--data", &shown]).bad();
    assert!(said.contains("it is a primary's already"), "{said}");
    let alone = TestServer::open(&directory, &[]).expect("a primary");
    assert_eq!(
        value(&alone, "insert into t values (3) returning a"),
        "3\nINSERT 0 1"
    );
}
