//! Commits that wait for followers: which level waits for what, and what is left when the primary dies.
//!
//! "Waits" is read from pg_stat_activity, never from a clock.

use mote_it::TestServer;
use mote_it::clients::{psql, psql_strict};
use mote_it::nodes::{await_replay, await_value, compare, follow, promoted_address, value};
use mote_it::server::TemporaryDirectory;
use mote_it::waiting::pid;
use mote_it::wire::{self, RawClient};
use rustix::process::Signal;

const WAITING: &str = "select count(*) from pg_stat_activity where wait_event_type = 'IPC' and wait_event = 'SyncRep' \
                       and state = 'active'";

/// A primary whose commits wait as `names` say, and a follower `b`.
fn pair(test: &str, names: &str) -> (TestServer, TestServer, TemporaryDirectory) {
    let primary = TestServer::start_with(test, &["--synchronous-standby-names", names]);
    let data = TemporaryDirectory::new(&format!("{test}-b"));
    let follower = follow(&primary, &data, "b");
    await_streaming(&primary, 1);
    value(&primary, "create table t (a int primary key)");
    (primary, follower, data)
}

fn await_streaming(primary: &TestServer, followers: u32) {
    let streaming =
        "select count(*) from pg_stat_replication where state = 'streaming' and flush_lsn is not null";
    await_value(primary, streaming, &followers.to_string());
}

/// A session at this level.
fn session(server: &TestServer, level: &str) -> RawClient {
    let mut client = RawClient::connect(server);
    client.query(&format!("set synchronous_commit = {level}"));
    client
}

/// Sends a statement and waits until `waiting` sessions wait for followers.
fn begin_waiting(primary: &TestServer, client: &mut RawClient, sql: &str, waiting: u32) {
    client.raw(&wire::query(sql));
    await_value(primary, WAITING, &waiting.to_string());
    assert!(client.is_silent(), "{sql} was answered");
}

fn answered(client: &mut RawClient, tag: &str) {
    let messages = client.until(b'Z');
    assert_eq!(wire::tags(&messages), [tag], "{messages:?}");
}

#[test]
fn each_level_waits_for_what_it_names() {
    let (primary, follower, _data) = pair("synchronous-levels", "FIRST 1 (b, c)");
    assert_eq!(
        value(&primary, "show synchronous_standby_names"),
        "FIRST 1 (b, c)"
    );
    assert_eq!(
        value(
            &primary,
            "select setting, context from pg_settings where name = 'synchronous_standby_names'"
        ),
        "FIRST 1 (b, c)|sighup"
    );
    let standing = "select application_name, sync_priority, sync_state from pg_stat_replication";
    await_value(&primary, standing, "b|1|sync");
    follower.signal(Signal::STOP);
    let mut sessions: Vec<RawClient> = ["remote_write", "on", "remote_apply"]
        .iter()
        .map(|level| session(&primary, level))
        .collect();
    for (number, client) in (1..).zip(&mut sessions) {
        begin_waiting(
            &primary,
            client,
            &format!("insert into t values ({number})"),
            number,
        );
    }
    // Nobody else waits, and nobody sees what is not agreed yet.
    let mut weak = ["off", "local"].map(|level| session(&primary, level));
    assert_eq!(weak[0].rows("select count(*) from t"), ["0"]);
    for (number, client) in (11..).zip(&mut weak) {
        let inserted = client.query(&format!("insert into t values ({number})"));
        assert_eq!(wire::tags(&inserted), ["INSERT 0 1"]);
        assert_eq!(
            client.rows(&format!("select count(*) from t where a = {number}")),
            ["1"]
        );
    }
    // Who reads at `on` what `local` has told waits for it; other rows are read at once.
    let mut reader = session(&primary, "on");
    assert_eq!(
        reader.rows("select count(*) from pg_class where relname = 't'"),
        ["1"]
    );
    begin_waiting(&primary, &mut reader, "select a from t where a = 12", 4);
    assert!(sessions.iter().all(RawClient::is_silent));
    follower.signal(Signal::CONT);
    for client in &mut sessions {
        answered(client, "INSERT 0 1");
    }
    answered(&mut reader, "SELECT 1");
    assert_eq!(value(&primary, WAITING), "0");
    compare(&primary, &follower, &["select count(*), sum(a) from t"]);
}

#[test]
fn what_remote_apply_has_told_is_read_on_the_follower() {
    let (primary, follower, _data) = pair("synchronous-apply", "b");
    let mut writer = session(&primary, "remote_apply");
    let mut reader = RawClient::connect(&follower);
    await_replay(&primary, &follower);
    for number in 1..=200 {
        let inserted = writer.query(&format!("insert into t values ({number})"));
        assert_eq!(wire::tags(&inserted), ["INSERT 0 1"]);
        assert_eq!(reader.rows("select max(a) from t"), [number.to_string()]);
    }
}

#[test]
fn whoever_is_cancelled_or_terminated_is_told_nothing_early() {
    let (primary, follower, _data) = pair("synchronous-cancel", "ANY 1 (b)");
    await_value(
        &primary,
        "select sync_priority, sync_state from pg_stat_replication",
        "1|quorum",
    );
    follower.signal(Signal::STOP);
    let (mut cancelled, mut terminated) = (session(&primary, "on"), session(&primary, "on"));
    let (first, second) = (pid(&mut cancelled), pid(&mut terminated));
    begin_waiting(&primary, &mut cancelled, "insert into t values (1)", 1);
    begin_waiting(&primary, &mut terminated, "insert into t values (2)", 2);
    assert_eq!(
        value(&primary, &format!("select pg_cancel_backend({first})")),
        "t"
    );
    assert_eq!(
        value(&primary, &format!("select pg_terminate_backend({second})")),
        "t"
    );
    let last = terminated.until_closed();
    assert_eq!(wire::tags(&last), [""; 0], "{last:?}");
    await_value(&primary, WAITING, "1");
    assert!(cancelled.is_silent());
    assert_eq!(value(&primary, "select count(*) from t"), "0");
    follower.signal(Signal::CONT);
    answered(&mut cancelled, "INSERT 0 1");
    // The other one was committed, too; nobody was told.
    await_value(&primary, "select count(*) from t", "2");
    compare(&primary, &follower, &["select count(*), sum(a) from t"]);
}

#[test]
fn any_one_of_two_is_enough_and_the_rule_changes_at_a_reload() {
    let primary = TestServer::start_with("synchronous-any", &[]);
    value(&primary, "create table t (a int primary key)");
    let (data_b, data_c) = (
        TemporaryDirectory::new("synchronous-any-b"),
        TemporaryDirectory::new("synchronous-any-c"),
    );
    let (b, c) = (follow(&primary, &data_b, "b"), follow(&primary, &data_c, "c"));
    await_streaming(&primary, 2);
    let states = "select string_agg(application_name || sync_priority || sync_state, ' ' order by application_name) \
                  from pg_stat_replication";
    let rule = |names: &str, expected: &str| {
        value(
            &primary,
            &format!("alter system set synchronous_standby_names = '{names}'"),
        );
        value(&primary, "select pg_reload_conf()");
        await_value(&primary, states, expected);
        assert_eq!(value(&primary, "show synchronous_standby_names"), names);
    };
    assert_eq!(value(&primary, states), "b0async c0async");
    rule("FIRST 1 (c, b)", "b2potential c1sync");
    rule("FIRST 2 (*)", "b1sync c1sync");
    rule("ANY 1 (b, c)", "b1quorum c1quorum");
    b.signal(Signal::STOP);
    value(&primary, "insert into t values (1)");
    c.signal(Signal::STOP);
    let mut client = session(&primary, "on");
    begin_waiting(&primary, &mut client, "insert into t values (2)", 1);
    b.signal(Signal::CONT);
    answered(&mut client, "INSERT 0 1");
    rule("ANY 2 (b, c)", "b1quorum c1quorum");
    begin_waiting(&primary, &mut client, "insert into t values (3)", 1);
    // Nobody is waited for any more.
    value(
        &primary,
        "alter system reset synchronous_standby_names; select pg_reload_conf()",
    );
    answered(&mut client, "INSERT 0 1");
    for (wrong, why) in [
        (
            "ANY (b)",
            "invalid value for parameter \"synchronous_standby_names\": \"ANY (b)\"\nDETAIL:  syntax error at",
        ),
        (
            "0 (b)",
            "number of synchronous standbys (0) must be greater than zero",
        ),
    ] {
        let refused = psql(
            &primary,
            &format!("alter system set synchronous_standby_names = '{wrong}'"),
        );
        assert!(refused.err.contains(why), "{refused:?}");
    }
    c.signal(Signal::CONT);
    compare(&primary, &c, &["select count(*), sum(a) from t"]);
}

#[test]
fn a_checkpoint_waits_and_says_why() {
    let (primary, follower, _data) = pair("synchronous-checkpoint", "b");
    follower.signal(Signal::STOP);
    let mut writer = session(&primary, "local");
    writer.query("insert into t values (1)");
    let mut client = RawClient::connect(&primary);
    client.raw(&wire::query("checkpoint"));
    let notice = client.receive().expect("a notice");
    assert_eq!(
        (notice.kind, notice.field(b'M').as_deref()),
        (b'N', Some("CHECKPOINT waits for synchronous followers"))
    );
    assert!(client.is_silent());
    follower.signal(Signal::CONT);
    answered(&mut client, "CHECKPOINT");
    follower.signal(Signal::STOP);
    writer.query("insert into t values (2)");
    // Nor does a stop wait for those who are away.
    let (place, directory) = primary.stop();
    let primary = TestServer::open(&place, &[]).expect("it recovers");
    assert_eq!(value(&primary, "select count(*) from t"), "2");
    follower.signal(Signal::CONT);
    drop(directory);
}

#[test]
fn what_was_acknowledged_is_on_the_promoted_follower_when_the_primary_dies() {
    let (primary, mut follower, _data) = pair("synchronous-kill", "b");
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let mut client = RawClient::connect(&primary);
            std::thread::spawn(move || {
                let mut acknowledged = Vec::new();
                for number in 0.. {
                    let key = number * 4 + writer;
                    client.try_raw(&wire::query(&format!("insert into t values ({key})")));
                    let messages = client.until(b'Z');
                    if !messages.iter().any(|message| message.kind == b'C') {
                        break;
                    }
                    acknowledged.push(key);
                }
                acknowledged
            })
        })
        .collect();
    await_value(&primary, "select count(*) > 500 from t", "t");
    let (_place, directory) = primary.kill();
    let acknowledged: Vec<i32> = writers
        .into_iter()
        .flat_map(|writer| writer.join().expect("a writer"))
        .collect();
    assert!(acknowledged.len() >= 500);
    psql(&follower, "select pg_promote()");
    follower.address = promoted_address(&follower).parse().expect("an address");
    let rows = psql_strict(&follower, "select a from t").good();
    let found: std::collections::BTreeSet<i32> =
        rows.lines().map(|row| row.parse().expect("a key")).collect();
    let lost: Vec<&i32> = acknowledged.iter().filter(|key| !found.contains(key)).collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    drop(directory);
}
