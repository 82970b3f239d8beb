//! A follower becomes the primary in the process that it is: nothing is loaded again, and everything goes on.

use mote_it::TestServer;
use mote_it::clients::psql;
use mote_it::nodes::{await_replay, await_value, compare, follow, place, promoted_address, value};
use mote_it::server::TemporaryDirectory;

const ROWS: u32 = 20_000;

fn promote(follower: &mut TestServer) {
    // Its sessions end with it, this one perhaps before it has its answer.
    psql(follower, "select pg_promote()");
    let address = promoted_address(follower);
    assert_eq!(address.parse(), Ok(follower.address), "clients know the address");
    await_value(follower, "select pg_is_in_recovery()", "f");
}

#[test]
fn a_table_that_is_in_memory_is_not_loaded_again() {
    let primary = TestServer::start_with("promotion-large", &[]);
    let made = format!(
        "create table t (a int primary key, b text); insert into t select g, 'row ' || g \
         from generate_series(1, {ROWS}) g"
    );
    value(&primary, &made);
    let data = TemporaryDirectory::new("promotion-large-b");
    let mut follower = follow(&primary, &data, "b");
    // Row ids that the primary frees and gives out again, where the follower has rows of its copy.
    value(&primary, "delete from t where a % 10 = 0");
    value(
        &primary,
        "insert into t select g, 'again ' || g from generate_series(10, 1000, 10) g",
    );
    let began = "select pg_postmaster_start_time()";
    let found = "select count(*), sum(a), min(b), max(b) from t";
    compare(&primary, &follower, &[found]);
    let (before, rows) = (value(&follower, began), value(&follower, found));
    let (_, directory) = primary.kill();
    promote(&mut follower);
    assert_eq!(value(&follower, began), before);
    assert_eq!(value(&follower, found), rows);
    value(
        &follower,
        "insert into t select g, 'new ' || g from generate_series(1010, 20000, 10) g",
    );
    assert_eq!(
        value(&follower, "select count(*), count(distinct a), max(a) from t"),
        format!("{ROWS}|{ROWS}|{ROWS}")
    );
    value(&follower, "checkpoint");
    let log = follower.log();
    let (_, promoted) = log.split_once("becomes a primary").expect("it was said");
    assert!(!promoted.contains("recovered with"), "{promoted}");
    drop(directory);
}

#[test]
fn definitions_sequences_and_prepared_transactions_go_on() {
    let primary = TestServer::start_with("promotion-objects", &[]);
    value(
        &primary,
        "create table t (a serial primary key, b text); insert into t (b) values ('one'), ('two'), ('three');
         create table gone (a int); create view v as select b from t",
    );
    let data = TemporaryDirectory::new("promotion-objects-b");
    let mut follower = follow(&primary, &data, "b");
    value(
        &primary,
        "create index on t (b); create table late (a int primary key); insert into late values (1);
         create type colour as enum ('red'); create function twice(int) returns int language sql as 'select 2 * $1';
         begin; insert into t (b) values ('four'); prepare transaction 'yes';
         begin; update t set b = 'none' where a = 1; create table never (a int); prepare transaction 'no'",
    );
    await_replay(&primary, &follower);
    let highest = value(&primary, "select max(oid::int) from pg_class");
    let (old, directory) = primary.kill();
    promote(&mut follower);
    value(&follower, "commit prepared 'yes'; rollback prepared 'no'");
    value(
        &follower,
        "insert into t (b) values ('five'); drop table gone; alter table late add column b colour default 'red';
         alter type colour add value 'blue'; insert into late values (2, 'blue'); create table never (a int primary key);
         update t set b = upper(b) where b = 'two'; insert into never select twice(a) from late",
    );
    let state = [
        "select string_agg(b, ' ' order by a) from t",
        "select count(*), count(distinct a) from t",
        "select string_agg(a || ':' || b, ' ' order by a) from late",
        "select sum(a) from never",
        "select relname from pg_class where relnamespace = 'public'::regnamespace order by 1",
    ];
    assert_eq!(value(&follower, state[0]), "one TWO three four five");
    assert_eq!(value(&follower, state[1]), "5|5");
    assert_eq!(value(&follower, state[2]), "1:red 2:blue");
    let made = format!("select 'never'::regclass::oid::int > {highest}");
    assert_eq!(value(&follower, &made), "t");
    // The old primary takes the log of the new one, and so does a copy.
    let since = TestServer::open(&old, &["--follow", &follower.url(), "--name", "a"]).expect("it follows");
    compare(&follower, &since, &state);
    let expected: Vec<String> = state.iter().map(|query| value(&follower, query)).collect();
    drop(since);
    drop(follower.kill());
    let again = TestServer::open(&place(&data), &[]).expect("it is a primary's directory");
    for (query, expected) in state.iter().zip(expected) {
        assert_eq!(value(&again, query), expected, "{query}");
    }
    drop(directory);
}
