//! A follower whose memory is less than what it replays: old versions, for which the collector has had no time yet, do not end
//! the replay.

use mote_it::TestServer;
use mote_it::nodes::{await_replay, await_value, compare, place, value};
use mote_it::server::TemporaryDirectory;

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
