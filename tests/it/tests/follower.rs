//! Two servers and one log: what is committed on the first is read on the second, whoever dies meanwhile.

use mote_it::TestServer;
use mote_it::clients::{psql, psql_as, psql_strict};
use mote_it::nodes::{await_replay, await_value, compare, follow, place, promoted_address, value};
use mote_it::server::TemporaryDirectory;

#[test]
fn everything_that_can_be_committed_arrives() {
    let primary = TestServer::start_with("follower-all", &["--log-segment-size", "4MB"]);
    value(
        &primary,
        "create table before (id int primary key, v text); insert into before select g, 'v' || g \
         from generate_series(1, 1000) g; create sequence numbers; select nextval('numbers')",
    );
    let data = TemporaryDirectory::new("follower-all-b");
    let follower = follow(&primary, &data, "b");
    assert_eq!(value(&follower, "select pg_is_in_recovery()"), "t");
    let state = [
        "select count(*), sum(id), min(v), max(v) from before",
        "select * from made order by a",
        "select count(*), sum(a) from large",
        "select last_value from numbers",
        "select gid from pg_prepared_xacts order by 1",
        "select e from typed order by e",
        "select twice(a) from made order by a",
        "select e::int, e + 1 from typed order by e",
        "select relname from pg_class where relnamespace = 'public'::regnamespace order by 1",
    ];
    value(
        &primary,
        "create table made (a int primary key, b text); create index on made (b);
         insert into made values (1, 'one'), (2, 'two'); update made set b = 'zwei' where a = 2;
         alter table made add column c int default 7; insert into made values (3, 'three');
         delete from made where a = 1; insert into made values (4, 'four');
         create table emptied (a int); insert into emptied values (1); truncate emptied;
         create type colour as enum ('red'); alter type colour add value 'blue';
         create table typed (e colour); insert into typed values ('blue'), ('red');
         create function twice(int) returns int language sql as 'select 2 * $1';
         create function number_of(colour) returns int language sql as 'select length($1::text)';
         create cast (colour as int) with function number_of(colour) as implicit;
         create table large (a int primary key, t text);
         select setval('numbers', 100); drop table if exists gone",
    );
    // More than fits into one frame of the log.
    value(
        &primary,
        "insert into large select g, repeat('x', 100) from generate_series(1, 40000) g",
    );
    value(
        &primary,
        "begin; insert into before values (5000, 'yes'); prepare transaction 'yes';
         begin; insert into before values (5001, 'no'); prepare transaction 'no'",
    );
    compare(&primary, &follower, &state);
    value(&primary, "commit prepared 'yes'");
    value(&primary, "rollback prepared 'no'");
    value(&primary, "drop table emptied; vacuum; checkpoint");
    compare(&primary, &follower, &state);
    value(&follower, "checkpoint");
    let who = "select application_name, state from pg_stat_replication";
    await_value(&primary, who, "b|streaming");
    assert_eq!(
        value(&primary, "select slot_name, active from pg_replication_slots"),
        "b|t"
    );
    assert_eq!(
        value(&follower, "select status, slot_name from pg_stat_wal_receiver"),
        "streaming|b"
    );
}

#[test]
fn a_follower_reads_and_does_not_write() {
    let primary = TestServer::start_with("follower-reads", &[]);
    value(
        &primary,
        "create table t (a int primary key); insert into t values (1), (2), (3); create sequence s",
    );
    let data = TemporaryDirectory::new("follower-reads-b");
    let follower = follow(&primary, &data, "b");
    await_replay(&primary, &follower);
    for (statement, expected) in [
        (
            "insert into t values (9)",
            "cannot execute INSERT in a read-only transaction",
        ),
        (
            "update t set a = 9",
            "cannot execute UPDATE in a read-only transaction",
        ),
        (
            "delete from t",
            "cannot execute DELETE in a read-only transaction",
        ),
        (
            "select * from t for update",
            "cannot execute SELECT FOR UPDATE in a read-only transaction",
        ),
        (
            "create table u (a int)",
            "cannot execute CREATE TABLE in a read-only transaction",
        ),
        (
            "create temp table u (a int)",
            "cannot execute CREATE TABLE in a read-only transaction",
        ),
        (
            "truncate t",
            "cannot execute TRUNCATE TABLE in a read-only transaction",
        ),
        (
            "select nextval('s')",
            "cannot execute nextval() in a read-only transaction",
        ),
        (
            "select setval('s', 5)",
            "cannot execute setval() in a read-only transaction",
        ),
        ("listen a", "cannot execute LISTEN during recovery"),
        ("notify a", "cannot execute NOTIFY during recovery"),
        ("vacuum", "cannot execute VACUUM during recovery"),
        (
            "begin; lock t in exclusive mode",
            "cannot execute LOCK TABLE during recovery",
        ),
        ("analyze t", "cannot execute ANALYZE during recovery"),
        ("reindex table t", "cannot execute REINDEX during recovery"),
        ("cluster t using t_pkey", "cannot execute CLUSTER during recovery"),
        (
            "begin; prepare transaction 'x'",
            "cannot execute PREPARE TRANSACTION during recovery",
        ),
        (
            "rollback prepared 'x'",
            "cannot execute ROLLBACK PREPARED during recovery",
        ),
        (
            "begin; lock t in share update exclusive mode",
            "cannot execute LOCK TABLE during recovery",
        ),
        (
            "grant select on t to public",
            "cannot execute GRANT in a read-only transaction",
        ),
        (
            "revoke select on t from public",
            "cannot execute REVOKE in a read-only transaction",
        ),
        (
            "drop table t",
            "cannot execute DROP TABLE in a read-only transaction",
        ),
        (
            "alter table t add b int",
            "cannot execute ALTER TABLE in a read-only transaction",
        ),
        (
            "select pg_current_xact_id()",
            "cannot execute pg_current_xact_id() during recovery",
        ),
        (
            "select pg_notify('a', 'b')",
            "cannot execute NOTIFY during recovery",
        ),
        ("select pg_switch_wal()", "recovery is in progress"),
        ("select pg_create_restore_point('x')", "recovery is in progress"),
        (
            "select pg_create_physical_replication_slot('x')",
            "replication slots on a server that follows another one",
        ),
        (
            "begin read write",
            "cannot set transaction read-write mode during recovery",
        ),
        (
            "commit prepared 'x'",
            "cannot execute COMMIT PREPARED during recovery",
        ),
    ] {
        let said = psql_strict(&follower, statement).bad();
        assert!(said.contains(expected), "{statement}: {said}");
    }
    let reads = "show in_hot_standby; show transaction_read_only;
         prepare p as select a from t where a > $1 order by a; execute p(1);
         begin; declare c cursor for select a from t order by a; fetch 2 from c; commit;
         copy t to stdout; begin isolation level repeatable read; select count(*) from t; commit";
    assert_eq!(
        value(&follower, reads).replace('\n', " "),
        "on on PREPARE 2 3 BEGIN DECLARE CURSOR 1 2 COMMIT 1 2 3 BEGIN 3 COMMIT"
    );
}

#[test]
fn whoever_is_killed_goes_on_where_it_stopped() {
    let primary = TestServer::start_with("follower-kill", &["--log-segment-size", "4MB"]);
    value(&primary, "create table t (a int primary key, b int)");
    let data = TemporaryDirectory::new("follower-kill-b");
    let follower = follow(&primary, &data, "b");
    let fill = |server: &TestServer, from: u32| {
        let to = from + 999;
        value(
            server,
            &format!("insert into t select g, {from} from generate_series({from}, {to}) g"),
        );
    };
    let rows = ["select count(*), sum(a), sum(b) from t"];
    fill(&primary, 0);
    compare(&primary, &follower, &rows);
    follower.kill();
    fill(&primary, 1000);
    value(
        &primary,
        "delete from t where a < 500; update t set b = -1 where a > 1500; checkpoint",
    );
    let follower = follow(&primary, &data, "b");
    compare(&primary, &follower, &rows);
    // The primary dies and comes back, in another term and at another port.
    let (place, directory) = primary.kill();
    follower.await_log("does not follow");
    assert_eq!(value(&follower, "select count(*) from t"), "1500");
    let primary = TestServer::open(&place, &[]).expect("it recovers");
    fill(&primary, 2000);
    follower.kill();
    let follower = follow(&primary, &data, "b");
    compare(&primary, &follower, &rows);
    drop((primary, directory));
}

#[test]
fn a_follower_becomes_the_primary_and_the_old_one_follows_it() {
    let primary = TestServer::start_with("follower-promote", &[]);
    value(
        &primary,
        "create table t (a serial primary key, b text); insert into t (b) values ('one')",
    );
    let data = TemporaryDirectory::new("follower-promote-b");
    let mut follower = follow(&primary, &data, "b");
    await_replay(&primary, &follower);
    let (old, directory) = primary.stop();
    // Its sessions end with it, this one perhaps before it has its answer.
    psql(&follower, "select pg_promote()");
    let promoted = promoted_address(&follower);
    follower.address = promoted.parse().expect("an address");
    assert_eq!(value(&follower, "select pg_is_in_recovery()"), "f");
    value(&follower, "insert into t (b) values ('two')");
    let since = TestServer::open(&old, &["--follow", &follower.url(), "--name", "a"]).expect("it follows");
    compare(&follower, &since, &["select count(*), min(b), max(b) from t"]);
    drop(since);
    let refused = TestServer::open(&old, &[])
        .err()
        .expect("it follows another server");
    assert!(refused.contains("follows another server"), "{refused}");
    drop(directory);
}

#[test]
fn strangers_are_refused_and_told_why() {
    let primary = TestServer::start_with("follower-refused", &[]);
    value(&primary, "create table t (a int); create role reader login");
    let data = TemporaryDirectory::new("follower-refused-b");
    let follower = follow(&primary, &data, "b");
    await_replay(&primary, &follower);
    // A second node of one name.
    let twin = TemporaryDirectory::new("follower-refused-c");
    let twin = follow(&primary, &twin, "b");
    twin.await_log("another node named \"b\" is connected; give this one another --name");
    // Another system's directory.
    let other = TemporaryDirectory::new("follower-refused-d");
    TestServer::open(&place(&other), &[])
        .expect("a new database")
        .stop();
    let stranger = follow(&primary, &other, "d");
    stranger.await_log("start it on an empty directory");
    assert_eq!(value(&stranger, "select pg_is_in_recovery()"), "t");
    // A role without REPLICATION, and a follower of a follower.
    let replicate = |server: &TestServer, user: &str| {
        let conninfo = format!(
            "\\c \"port={} user={user} replication=true\"\nIDENTIFY_SYSTEM;",
            server.port()
        );
        psql_as(server, user, "", &conninfo)
    };
    let said = replicate(&primary, "reader").bad();
    assert!(
        said.contains("must be superuser or replication role to start walsender"),
        "{said}"
    );
    let said = replicate(&primary, "postgres").good();
    assert_eq!(said.trim_end().split('|').count(), 4, "{said}");
}
