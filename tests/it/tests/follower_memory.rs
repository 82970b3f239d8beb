//! A follower whose memory is less than what it replays: old versions, for which the collector has had no time yet, do not end
//! the replay.

use std::time::{Duration, Instant};

use mote_it::TestServer;
use mote_it::clients::psql_strict;
use mote_it::nodes::{await_replay, await_value, place, value};
use mote_it::server::TemporaryDirectory;
use mote_it::wire::{self, RawClient};

/// How long versions that nobody reads may stay.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The same on both. A reader that finds the follower's memory taken by versions that the collector has had no time for is
/// told so (53200) and asks again.
#[track_caller]
fn compare(primary: &TestServer, follower: &TestServer, queries: &[&str]) {
    await_replay(primary, follower);
    for query in queries {
        let since = Instant::now();
        let found = loop {
            let said = psql_strict(follower, query);
            if !said.err.contains("ERROR:  out of memory") || since.elapsed() >= TIMEOUT {
                break said;
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        assert_eq!(found.good().trim_end(), value(primary, query), "{query}");
    }
}

/// Of a paused follower with little memory.
fn replays_much_at_once(name: &str, setup: &str, changes: &str, state: &[&str]) {
    let primary = TestServer::start_with(name, &["--log-segment-size", "4MB"]);
    value(&primary, setup);
    let data = TemporaryDirectory::new(&format!("{name}-b"));
    let options = ["--follow", &primary.url(), "--name", "b", "--memory", "64MB"];
    let follower =
        TestServer::open(&place(&data), &options).unwrap_or_else(|said| panic!("no follower: {said}"));
    await_replay(&primary, &follower);
    value(&follower, "select pg_wal_replay_pause()");
    await_value(&follower, "select pg_get_wal_replay_pause_state()", "paused");
    value(&primary, changes);
    value(&follower, "select pg_wal_replay_resume()");
    await_replay(&primary, &follower);
    compare(&primary, &follower, state);
    assert!(!follower.log().contains("replay has stopped"));
    follower.stop();
}

#[test]
fn commits_that_supersede_one_another() {
    replays_much_at_once(
        "follower-memory-rows",
        "create table t (id int primary key, v text); insert into t select g, '' from generate_series(1, 20) g",
        "do $$ begin for i in 1 .. 1500 loop
           update t set v = repeat(md5(i::text), 6000) where id = 1 + i % 20; commit;
         end loop; end $$",
        &["select id, md5(v) from t order by id"],
    );
}

/// Each definition of a table has all layouts that its rows may have.
#[test]
fn definitions_that_supersede_one_another() {
    replays_much_at_once(
        "follower-memory-definitions",
        "create table t (id int primary key); insert into t values (1)",
        "do $$ begin for i in 1 .. 140 loop
           execute format('alter table t add column c%s text default %L', i, repeat('x', 700)); commit;
         end loop; end $$",
        &["select md5(t::text) from t"],
    );
}

/// What is gone gives its memory back here as there.
#[test]
fn tables_that_are_emptied_rebuilt_and_dropped() {
    replays_much_at_once(
        "follower-memory-tables",
        "create table kept (id int primary key, v text); create table rebuilt (id int primary key, v text);
         insert into rebuilt select g, repeat(md5(g::text), 20) from generate_series(1, 5000) g;
         create table changed (id int primary key, v text); create index on changed (v)",
        "do $$ begin for i in 1 .. 30 loop
           truncate kept; commit;
           insert into kept select g, repeat(md5(g::text), 20) from generate_series(1, 5000) g; commit;
           execute format('create table dropped%s as select * from kept', i); commit;
           execute format('drop table dropped%s', i); commit;
           execute format('alter table rebuilt alter column id type %s', (array['int', 'bigint'])[1 + i % 2]); commit;
           delete from changed; commit;
           insert into changed select g, md5((g * i)::text) from generate_series(1, 20000) g; commit;
           update changed set v = md5(v); commit;
         end loop; end $$",
        &[
            "select count(*), sum(id), md5(string_agg(v, '' order by id)) from kept",
            "select count(*), sum(id) from rebuilt",
            "select count(*), sum(id), md5(string_agg(v, '' order by id)) from changed",
        ],
    );
}

/// A follower with less memory than its primary's rows take waits for room: a smaller table there, or more memory and a new start.
#[test]
fn rows_for_which_there_is_no_room() {
    let primary = TestServer::start_with("follower-memory-full", &["--log-segment-size", "4MB"]);
    value(
        &primary,
        "create table kept (id int primary key, v text); create table large (id int, v text)",
    );
    let data = TemporaryDirectory::new("follower-memory-full-b");
    let url = primary.url();
    let options = |memory| ["--follow", &url, "--name", "b", "--memory", memory].map(String::from);
    let open = |memory| {
        let options = options(memory);
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        TestServer::open(&place(&data), &options).unwrap_or_else(|said| panic!("no follower: {said}"))
    };
    let follower = open("64MB");
    await_replay(&primary, &follower);
    value(&primary, "insert into kept values (1, 'before')");
    await_replay(&primary, &follower);
    value(
        &primary,
        "do $$ begin for i in 1 .. 30 loop
           insert into large select g, repeat(md5(g::text), 80) from generate_series(1, 1000) g; commit;
         end loop; end $$",
    );
    value(&primary, "insert into kept values (2, 'behind')");
    follower.await_log("waits for memory");
    // Readers go on with what was applied.
    assert_eq!(value(&follower, "select v from kept where id = 1"), "before");
    // A new start with as little memory ends as it began, and one with more goes on.
    follower.stop();
    let follower = open("256MB");
    compare(
        &primary,
        &follower,
        &[
            "select count(*), sum(id) from large",
            "select string_agg(v, ',' order by id) from kept",
        ],
    );
    follower.stop();
}

/// A patch of some bytes makes a version of the whole row, however long that is: a commit of such is not begun where its
/// versions have no room. An old reader, who keeps those that it could take the room of, is told so.
#[test]
fn patches_of_long_rows_wait_for_the_memory_of_their_versions() {
    waits_beside_an_old_reader(
        "follower-memory-patches",
        "do $$ begin for i in 2 .. 3 loop update wide set n = i; commit; end loop; end $$",
    );
}

/// The replay of a PREPARE is begun again, too.
#[test]
fn a_prepared_transaction_waits_for_the_memory_of_its_versions() {
    waits_beside_an_old_reader(
        "follower-memory-prepared",
        "update wide set n = 2; begin; update wide set n = 3; prepare transaction 'p'; commit prepared 'p';
         update wide set n = 4 where id = 1",
    );
}

fn waits_beside_an_old_reader(name: &str, changes: &str) {
    let primary = TestServer::start_with(name, &["--log-segment-size", "4MB"]);
    // 38 MB that stay, and 8 MB of which there is room for three versions: those that were shown last, and those of two
    // commits of one block behind them; but not for those of an old reader, too.
    value(
        &primary,
        "create table kept (id int, v text); create table wide (id int primary key, n int, v text);
         insert into kept select g, repeat(md5(g::text), 31250) from generate_series(1, 38) g;
         insert into wide select g, 0, repeat(md5(g::text), 10000) from generate_series(1, 25) g",
    );
    let data = TemporaryDirectory::new(&format!("{name}-b"));
    let options = ["--follow", &primary.url(), "--name", "b", "--memory", "64MB"];
    let follower =
        TestServer::open(&place(&data), &options).unwrap_or_else(|said| panic!("no follower: {said}"));
    await_replay(&primary, &follower);
    let mut reader = RawClient::connect(&follower);
    reader.query("begin isolation level repeatable read");
    assert_eq!(reader.rows("select count(*) from wide where n = 0"), ["25"]);
    value(&primary, "update wide set n = 1");
    await_replay(&primary, &follower);
    value(&follower, "select pg_wal_replay_pause()");
    await_value(&follower, "select pg_get_wal_replay_pause_state()", "paused");
    value(&primary, changes);
    value(&follower, "select pg_wal_replay_resume()");
    compare(
        &primary,
        &follower,
        &["select id, n, md5(v) from wide order by id"],
    );
    assert!(!follower.log().contains("replay has stopped"));
    // Whose snapshot kept the old versions has given it up.
    let said = reader.query("select count(*) from wide where n = 0");
    assert_eq!(wire::sqlstate(&said).as_deref(), Some("72000"), "{said:?}");
    follower.stop();
}
