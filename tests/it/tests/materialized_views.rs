//! Materialized views among sessions: who waits for a REFRESH, what old snapshots read, a killed server, a follower.

use mote_it::TestServer;
use mote_it::nodes::{await_replay, follow, value};
use mote_it::server::TemporaryDirectory;
use mote_it::waiting::{await_lock, pid};
use mote_it::wire::{RawClient, error, query, sqlstate};

const SETUP: &str = "create table t (id int primary key, v int);
     insert into t select g, g from generate_series(1, 1000) g;
     create materialized view m as select id, v from t;
     create unique index m_id on m (id)";
const CHANGE: &str =
    "update t set v = -v where id <= 10; delete from t where id > 990; insert into t values (5000, 1)";
const LOOK: &str = "select count(*) || ' ' || sum(v) from m";
const OLD: &str = "1000 500500";

fn new() -> String {
    let (changed, gone): (i64, i64) = ((1..=10).sum(), (991..=1000).sum());
    format!("991 {}", 500_500 - 2 * changed - gone + 1)
}

fn start(name: &str) -> (TestServer, RawClient) {
    let server = TestServer::start(name);
    let mut client = RawClient::connect(&server);
    assert_eq!(error(&client.query(SETUP)), None);
    (server, client)
}

/// A plain REFRESH waits for readers, and they for it; one that is CONCURRENT lets them read.
#[test]
fn who_waits_for_whom() {
    let (server, mut writer) = start("matview-locks");
    let mut reader = RawClient::connect(&server);
    let mut observer = RawClient::connect(&server);
    let pid = pid(&mut writer);
    writer.query(CHANGE);
    assert_eq!(reader.rows(&format!("begin; {LOOK}")), [OLD]);
    writer.raw(&query("refresh materialized view m"));
    await_lock(&mut observer, &pid);
    reader.rows("commit");
    assert_eq!(error(&writer.until(b'Z')), None);
    assert_eq!(reader.rows(LOOK), [new()]);

    writer.query("update t set v = 0");
    writer.query("begin; refresh materialized view concurrently m");
    reader.rows("set lock_timeout = '100ms'");
    assert_eq!(reader.rows(LOOK), [new()]);
    let second = reader.query("refresh materialized view concurrently m");
    assert_eq!(sqlstate(&second).as_deref(), Some("55P03"));
    writer.query("commit");
    assert_eq!(reader.rows(LOOK), ["991 0"]);
}

/// The rows are replaced as rows: whoever began before goes on seeing the old ones, however they were replaced.
#[test]
fn old_snapshots_keep_the_old_rows() {
    let (server, mut writer) = start("matview-snapshots");
    for (round, refresh) in [
        "refresh materialized view m",
        "refresh materialized view concurrently m",
    ]
    .iter()
    .enumerate()
    {
        for isolation in ["repeatable read", "serializable"] {
            writer.query("delete from t; insert into t select g, g from generate_series(1, 1000) g");
            writer.query("refresh materialized view m");
            let mut reader = RawClient::connect(&server);
            // The snapshot is there; the view has not been looked at.
            reader.query(&format!("begin isolation level {isolation} read only; select 1"));
            assert_eq!(error(&writer.query(CHANGE)), None);
            assert_eq!(error(&writer.query(refresh)), None);
            assert_eq!(writer.rows(LOOK), [new()], "{round}");
            assert_eq!(reader.rows(LOOK), [OLD], "{isolation}, {refresh}");
            assert_eq!(
                reader.rows("select v from m where id = 5"),
                ["5"],
                "{isolation}, {refresh}"
            );
            assert_eq!(error(&reader.query("commit")), None);
            assert_eq!(reader.rows(LOOK), [new()]);
        }
    }
}

#[test]
fn a_killed_server_comes_back_with_what_was_committed() {
    let (server, mut client) = start("matview-kill");
    client.query("create materialized view empty as select 1 as a with no data");
    client.query("create materialized view was_filled as select 1 as a; refresh materialized view was_filled with no data");
    client.query(CHANGE);
    assert_eq!(error(&client.query("refresh materialized view m")), None);
    client.query("checkpoint; update t set v = v + 1 where id = 20");
    assert_eq!(
        error(&client.query("refresh materialized view concurrently m")),
        None
    );
    let wanted = value(&server, LOOK);
    assert_eq!(
        error(&client.query("begin; delete from t; refresh materialized view m")),
        None
    );
    let (data, _directory) = server.kill();
    let mut server = TestServer::open(&data, &[]).expect("it recovers");
    assert_eq!(value(&server, LOOK), wanted);
    assert_eq!(value(&server, "select v from m where id = 20"), "21");
    let populated = "select string_agg(matviewname || ' ' || ispopulated::text, ', ' order by matviewname) from pg_matviews";
    assert_eq!(value(&server, populated), "empty false, m true, was_filled false");
    let mut client = RawClient::connect(&server);
    for view in ["empty", "was_filled"] {
        let said = client.query(&format!("select * from {view}"));
        assert_eq!(sqlstate(&said).as_deref(), Some("55000"), "{view}");
        assert_eq!(
            error(&client.query(&format!("refresh materialized view {view}"))),
            None
        );
        assert_eq!(client.rows(&format!("select * from {view}")), ["1"]);
    }
    server.assert_unharmed();
    server.stop();
}

/// A REFRESH of rows that a follower's reader looks at does not end the reader.
#[test]
fn a_follower_has_the_rows_and_its_readers_keep_theirs() {
    let (primary, mut writer) = start("matview-primary");
    let data = TemporaryDirectory::new("matview-follower");
    let follower = follow(&primary, &data, "b");
    await_replay(&primary, &follower);
    let mut reader = RawClient::connect(&follower);
    assert_eq!(
        reader.rows(&format!("begin isolation level repeatable read; {LOOK}")),
        [OLD]
    );
    writer.query(CHANGE);
    assert_eq!(error(&writer.query("refresh materialized view m")), None);
    await_replay(&primary, &follower);
    assert_eq!(reader.rows(LOOK), [OLD]);
    reader.rows("commit");
    assert_eq!(reader.rows(LOOK), [new()]);
    let refused = reader.query("refresh materialized view m");
    assert_eq!(sqlstate(&refused).as_deref(), Some("25006"));
    writer.query("refresh materialized view m with no data");
    await_replay(&primary, &follower);
    assert_eq!(sqlstate(&reader.query(LOOK)).as_deref(), Some("55000"));
}
