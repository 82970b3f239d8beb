//! What an old snapshot may cost: above 90 % of the memory limit its session gets 72000, and nobody else gets anything.

use mote_it::TestServer;
use mote_it::wire::*;

const TOO_OLD: &str = "72000 snapshot too old";
const ROWS: u32 = 20_000;

/// A table that fills half of the memory limit.
fn start(name: &str) -> (TestServer, RawClient) {
    let server = TestServer::start_with(name, &["--memory", "64MB"]);
    let mut client = RawClient::connect(&server);
    client.rows("create table t (id int primary key, v int, filler text)");
    client.rows(&format!(
        "insert into t select g, 0, repeat('x', 1500) from generate_series(1, {ROWS}) g"
    ));
    (server, client)
}

/// Updates every row until `is_over` says so. Writers must not notice anything.
fn update_until(writer: &mut RawClient, mut is_over: impl FnMut(&mut RawClient) -> bool) {
    for _ in 0..40 {
        for first in (1..=ROWS).step_by(1000) {
            let text = format!(
                "update t set v = v + 1 where id between {first} and {}",
                first + 999
            );
            let messages = writer.query(&text);
            assert_eq!(tags(&messages), ["UPDATE 1000"], "{:?}", error(&messages));
        }
        if is_over(writer) {
            return;
        }
    }
    panic!("the old snapshot was never revoked");
}

fn is_asked(server: &TestServer) -> bool {
    server.log().contains("has the oldest snapshot")
}

#[test]
fn an_idle_transaction_loses_its_old_snapshot_and_others_go_on() {
    let (server, mut writer) = start("snapshot-idle");
    let mut old = RawClient::connect(&server);
    assert_eq!(
        old.rows("begin isolation level repeatable read; select sum(v) from t"),
        ["0"]
    );
    old.rows("savepoint s");
    // Idle too, but it holds no snapshot.
    let mut idle = RawClient::connect(&server);
    idle.rows("begin; select sum(v) from t");
    update_until(&mut writer, |_| is_asked(&server));
    let messages = old.query("select sum(v) from t");
    assert_eq!(error(&messages).as_deref(), Some(TOO_OLD));
    assert_eq!(status(&messages), Some('E'));
    assert_eq!(sqlstate(&old.query("select 1")).as_deref(), Some("25P02"));
    assert_eq!(sqlstate(&old.query("rollback to s")).as_deref(), Some("3B001"));
    assert_eq!(tags(&old.query("rollback")), ["ROLLBACK"]);
    // It may begin again, and the idle one never noticed.
    let sum: u64 = old.rows("select sum(v) from t")[0].parse().expect("a number");
    assert_eq!(sum % u64::from(ROWS), 0);
    assert_eq!(idle.rows("select sum(v) from t"), [sum.to_string()]);
    assert_eq!(tags(&idle.query("commit")), ["COMMIT"]);
}

#[test]
fn commit_says_that_the_transaction_was_lost() {
    let (server, mut writer) = start("snapshot-commit");
    let mut old = RawClient::connect(&server);
    old.rows("create table own (a int)");
    old.rows("begin isolation level repeatable read; insert into own values (1); select sum(v) from t");
    update_until(&mut writer, |_| is_asked(&server));
    // Its locks are gone already.
    assert_eq!(
        tags(&writer.query("set lock_timeout = '5s'; drop table own")),
        ["SET", "DROP TABLE"]
    );
    assert_eq!(error(&old.query("commit")).as_deref(), Some(TOO_OLD));
    assert_eq!(tags(&old.query("rollback")), ["ROLLBACK"]);
    assert_eq!(old.rows("select 1"), ["1"]);
}

#[test]
fn a_cursor_and_a_running_query_lose_theirs() {
    let (server, mut writer) = start("snapshot-running");
    let mut cursor = RawClient::connect(&server);
    cursor.rows("begin; declare c cursor for select id from t order by id; fetch c");
    update_until(&mut writer, |_| is_asked(&server));
    assert_eq!(error(&cursor.query("fetch c")).as_deref(), Some(TOO_OLD));
    cursor.rows("rollback");
    // Long enough to be still running when memory runs out again.
    let mut running = RawClient::connect(&server);
    running.raw(&query(
        "select count(*) from t, generate_series(1, 1000000) g where t.id + g < 0",
    ));
    let asked_before = server.log().matches("has the oldest snapshot").count();
    update_until(&mut writer, |_| {
        server.log().matches("has the oldest snapshot").count() > asked_before
    });
    let messages = running.until(b'Z');
    assert_eq!(error(&messages).as_deref(), Some(TOO_OLD));
    assert_eq!(running.rows("select 1"), ["1"]);
    // One that waits for a lock.
    let mut waiting = RawClient::connect(&server);
    writer.rows("create table l (a int)");
    let mut holder = RawClient::connect(&server);
    holder.rows("begin; lock table l");
    waiting.rows("begin isolation level repeatable read; select sum(v) from t");
    waiting.raw(&query("select * from l"));
    update_until(&mut writer, |_| {
        server.log().matches("has the oldest snapshot").count() > asked_before + 1
    });
    assert_eq!(error(&waiting.until(b'Z')).as_deref(), Some(TOO_OLD));
    holder.rows("commit");
}

#[test]
fn who_has_imported_the_oldest_snapshot_loses_it_too() {
    let (server, mut writer) = start("snapshot-imported");
    let mut exporter = RawClient::connect(&server);
    exporter.rows("begin isolation level repeatable read");
    let id = exporter.rows("select pg_export_snapshot()").remove(0);
    let mut importers = [RawClient::connect(&server), RawClient::connect(&server)];
    for importer in &mut importers {
        let text = format!("begin isolation level repeatable read; set transaction snapshot '{id}'");
        importer.query(&text);
        assert_eq!(importer.rows("select sum(v) from t"), ["0"]);
    }
    // The snapshot outlives the transaction that has exported it.
    exporter.rows("commit");
    let [idle, running] = &mut importers;
    running.raw(&query(
        "select count(*) from t, generate_series(1, 1000000) g where t.id + g < 0",
    ));
    // Once its transaction is over the snapshot keeps all versions since, not one of each row: writers wait at the end of
    // memory until all who read through it have let go.
    update_until(&mut writer, |_| {
        server.log().matches("has the oldest snapshot").count() > 1
    });
    assert_eq!(error(&running.until(b'Z')).as_deref(), Some(TOO_OLD));
    assert_eq!(
        error(&idle.query("select sum(v) from t")).as_deref(),
        Some(TOO_OLD)
    );
    assert_eq!(tags(&idle.query("rollback")), ["ROLLBACK"]);
    assert_eq!(exporter.rows("select 1"), ["1"]);
}
