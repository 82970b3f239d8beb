//! What sessions see of each other: pg_stat_activity, pg_locks, who blocks whom, advisory locks, cancelling and ending.
//! Every expectation holds for PostgreSQL 15 too (`MOTE_IT_TARGET`), except where a test says what differs.

use std::time::{Duration, Instant};

use mote_it::TestServer;
use mote_it::server::is_oracle;
use mote_it::waiting::pid;
use mote_it::wire::*;

const PATIENCE: Duration = Duration::from_secs(60);

fn named(server: &TestServer, name: &str) -> RawClient {
    let mut client = RawClient::open(server);
    client.start_up(&[
        ("user", server.user()),
        ("database", server.database()),
        ("application_name", name),
    ]);
    client.until(b'Z');
    client
}

/// Asks until the answer is the expected one.
#[track_caller]
fn eventually(client: &mut RawClient, query: &str, expected: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let found = client.rows(query).join("\n");
        if found == expected {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "{query}\nexpected {expected}\nfound {found}"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn blocked(watcher: &mut RawClient, waiting: &str, by: &[&str]) {
    let by = by.join(",");
    eventually(
        watcher,
        &format!("select pg_blocking_pids({waiting})"),
        &format!("{{{by}}}"),
    );
}

#[test]
fn what_sessions_do() {
    let server = TestServer::start("activity");
    let (mut watcher, mut other) = (named(&server, "watcher"), named(&server, "other"));
    let other_pid = pid(&mut other);
    let show = |columns: &str| format!("select {columns} from pg_stat_activity where pid = {other_pid}");
    assert_eq!(
        watcher.rows(&show(
            "datname = current_database(), usename, application_name, state, query, backend_type"
        )),
        [format!(
            "t|{}|other|idle|select pg_backend_pid()|client backend",
            server.user()
        )]
    );
    assert_eq!(
        watcher.rows(&show(
            "wait_event_type, wait_event, xact_start is null, client_port > 0, client_addr is not null"
        )),
        ["Client|ClientRead|t|t|t"]
    );
    assert_eq!(
        watcher.rows(&show(
            "backend_start <= query_start and query_start <= state_change and state_change <= now()"
        )),
        ["t"]
    );
    assert_eq!(
        watcher.rows(
            "select state, wait_event is null, query ~ '^select state', xact_start = now(), query_start = \
                      statement_timestamp() from pg_stat_activity where pid = pg_backend_pid()"
        ),
        ["active|t|t|t|t"]
    );
    other.rows("begin");
    other.rows("select 1 as one");
    assert_eq!(
        watcher.rows(&show(
            "state, query, xact_start < query_start, xact_start is not null"
        )),
        ["idle in transaction|select 1 as one|t|t"]
    );
    other.query("select 1/0");
    assert_eq!(watcher.rows(&show("state")), ["idle in transaction (aborted)"]);
    other.rows("rollback");
    other.rows("set application_name = 'renamed'");
    assert_eq!(
        watcher.rows(&show("state, application_name, xact_start is null")),
        ["idle|renamed|t"]
    );
    // The extended protocol: the text as it was parsed.
    other.exchange(&[
        parse("", "select $1::int + 40", &[]),
        bind("", "", &["2"]),
        execute("", 0),
        sync(),
    ]);
    assert_eq!(watcher.rows(&show("query")), ["select $1::int + 40"]);
    other.send(b'Q', b"select pg_sleep(30)\0");
    eventually(
        &mut watcher,
        &show("state, wait_event_type, wait_event"),
        "active|Timeout|PgSleep",
    );
    assert_eq!(
        watcher.rows(&format!("select pg_cancel_backend({other_pid})")),
        ["t"]
    );
    let ended = other.until(b'Z');
    assert_eq!(
        error(&ended).as_deref(),
        Some("57014 canceling statement due to user request")
    );
    // A long statement is cut.
    other.rows(&format!("select '{}'", "x".repeat(5000)));
    assert_eq!(watcher.rows(&show("length(query)")), ["1023"]);
    drop(other);
    eventually(&mut watcher, &show("count(*)"), "0");
}

#[test]
fn others_statements_are_theirs() {
    let server = TestServer::start("activity-hidden");
    let mut owner = named(&server, "owner");
    owner.query("create role activity_guest login");
    let owner_pid = pid(&mut owner);
    let mut guest = RawClient::open(&server);
    guest.start_up(&[("user", "activity_guest"), ("database", server.database())]);
    guest.until(b'Z');
    assert_eq!(
        guest.rows(&format!(
            "select application_name, query, state is null, client_port is null from pg_stat_activity where pid = {owner_pid}"
        )),
        ["owner|<insufficient privilege>|t|t"]
    );
    for (function, message) in [
        (
            "pg_cancel_backend",
            "42501 must be a superuser to cancel superuser query",
        ),
        (
            "pg_terminate_backend",
            "42501 must be a superuser to terminate superuser process",
        ),
    ] {
        let refused = guest.query(&format!("select {function}({owner_pid})"));
        assert_eq!(error(&refused).as_deref(), Some(message));
    }
    drop(guest);
    eventually(
        &mut owner,
        "select count(*) from pg_stat_activity where usename = 'activity_guest'",
        "0",
    );
    owner.rows("drop role activity_guest");
}

#[test]
fn nobody_there() {
    let server = TestServer::start("activity-nobody");
    let mut client = named(&server, "lonely");
    for function in ["pg_cancel_backend", "pg_terminate_backend"] {
        let messages = client.query(&format!("select {function}(2147483646)"));
        let warning = messages
            .iter()
            .find(|m| m.kind == b'N')
            .and_then(|m| m.field(b'M'));
        assert_eq!(
            warning.as_deref(),
            Some("PID 2147483646 is not a PostgreSQL backend process")
        );
        assert_eq!(text_rows(&messages), ["f"]);
    }
    assert_eq!(
        client.rows("select pg_blocking_pids(2147483646), pg_safe_snapshot_blocking_pids(1)"),
        ["{}|{}"]
    );
}

#[test]
fn rows_and_tables_that_are_waited_for() {
    let server = TestServer::start("blocking");
    let mut watcher = named(&server, "watcher");
    watcher.rows("create table t (id int primary key, v int)");
    watcher.rows("insert into t values (1, 1), (2, 2)");
    let (mut first, mut second, mut third) = (named(&server, "1"), named(&server, "2"), named(&server, "3"));
    let (one, two, three) = (pid(&mut first), pid(&mut second), pid(&mut third));
    first.rows("begin");
    first.rows("update t set v = 2 where id = 1");
    assert_eq!(
        watcher.rows(&format!(
            "select pg_isolation_test_session_is_blocked({two}, '{{{one}}}')"
        )),
        ["f"]
    );
    second.send(b'Q', b"update t set v = 3 where id = 1\0");
    blocked(&mut watcher, &two, &[&one]);
    let is_blocked = |by: &str| format!("select pg_isolation_test_session_is_blocked({two}, '{{{by}}}')");
    assert_eq!(watcher.rows(&is_blocked(&one)), ["t"]);
    assert_eq!(watcher.rows(&is_blocked(&format!("{three},{one}"))), ["t"]);
    assert_eq!(watcher.rows(&is_blocked(&three)), ["f"]);
    assert_eq!(watcher.rows(&is_blocked("")), ["f"]);
    // PostgreSQL's first waiter waits for the other transaction, mote's for the row.
    let event = if is_oracle() { "transactionid" } else { "tuple" };
    assert_eq!(
        watcher.rows(&format!(
            "select state, wait_event_type, wait_event from pg_stat_activity where pid = {two}"
        )),
        [format!("active|Lock|{event}")]
    );
    assert_eq!(
        watcher.rows(&format!(
            "select locktype, waitstart is not null and waitstart <= now() from pg_locks where pid = {two} and not granted"
        )),
        [format!("{event}|t")]
    );
    assert_eq!(
        watcher.rows(&format!(
            "select relation::regclass, mode, granted, waitstart is null from pg_locks
             where pid = {one} and locktype = 'relation' and relation = 't'::regclass"
        )),
        ["t|RowExclusiveLock|t|t"]
    );
    assert_eq!(
        watcher.rows(&format!(
            "select mode, granted, virtualxid = virtualtransaction from pg_locks where pid = {one} and locktype = 'virtualxid'"
        )),
        ["ExclusiveLock|t|t"]
    );
    third.send(b'Q', b"lock table t in access exclusive mode\0");
    third.until(b'Z');
    third.rows("begin");
    third.send(b'Q', b"lock table t in access exclusive mode\0");
    eventually(
        &mut watcher,
        &format!("select wait_event_type, wait_event from pg_stat_activity where pid = {three}"),
        "Lock|relation",
    );
    let mut both = [one.clone(), two.clone()];
    both.sort_by_key(|pid| pid.parse::<u32>().expect("a number"));
    eventually(
        &mut watcher,
        &format!("select array_agg(b order by b) from unnest(pg_blocking_pids({three})) b"),
        &format!("{{{}}}", both.join(",")),
    );
    first.rows("commit");
    second.until(b'Z');
    third.until(b'Z');
    third.rows("rollback");
    assert_eq!(
        watcher.rows("select count(*) from pg_locks where not granted"),
        ["0"]
    );
}

#[test]
fn advisory_locks() {
    let server = TestServer::start("advisory");
    let (mut first, mut second) = (named(&server, "first"), named(&server, "second"));
    let (one, two) = (pid(&mut first), pid(&mut second));
    let held = "select classid, objid, objsubid, mode, granted from pg_locks where locktype = 'advisory' \
                and database = (select oid from pg_database where datname = current_database()) order by 1, 2, 3, 4";
    first.rows("select pg_advisory_lock(4294967298), pg_advisory_lock_shared(7, -1)");
    assert_eq!(
        first.rows(held),
        ["1|2|1|ExclusiveLock|t", "7|4294967295|2|ShareLock|t"]
    );
    assert_eq!(
        second.rows("select pg_try_advisory_lock(4294967298), pg_try_advisory_lock_shared(4294967298), \
                     pg_try_advisory_lock(1, 2), pg_try_advisory_lock_shared(7, -1), pg_try_advisory_lock(7, -1)"),
        ["f|f|t|t|f"]
    );
    // Counted: as many unlocks as locks.
    first.rows("select pg_advisory_lock(4294967298)");
    assert_eq!(first.rows("select pg_advisory_unlock(4294967298)"), ["t"]);
    assert_eq!(second.rows("select pg_try_advisory_lock(4294967298)"), ["f"]);
    second.send(b'Q', b"select pg_advisory_lock(4294967298)\0");
    blocked(&mut first, &two, &[&one]);
    assert_eq!(
        first.rows(&format!(
            "select wait_event_type, wait_event from pg_stat_activity where pid = {two}"
        )),
        ["Lock|advisory"]
    );
    assert_eq!(first.rows("select pg_advisory_unlock(4294967298)"), ["t"]);
    second.until(b'Z');
    let messages = first.query("select pg_advisory_unlock(4294967298), pg_advisory_unlock_shared(99)");
    let warnings: Vec<String> = messages
        .iter()
        .filter(|m| m.kind == b'N')
        .filter_map(|m| m.field(b'M'))
        .collect();
    assert_eq!(
        warnings,
        [
            "you don't own a lock of type ExclusiveLock",
            "you don't own a lock of type ShareLock"
        ]
    );
    assert_eq!(text_rows(&messages), ["f|f"]);
    // A transaction's locks end with it, a session's do not.
    first.rows("begin");
    first.rows("select pg_advisory_xact_lock(50), pg_advisory_xact_lock_shared(51), pg_advisory_xact_lock(5, 2), pg_advisory_lock(53)");
    assert_eq!(
        first.rows("select pg_try_advisory_xact_lock(54), pg_try_advisory_xact_lock_shared(5, 5)"),
        ["t|t"]
    );
    assert_eq!(
        first.rows("select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()"),
        ["7"]
    );
    let messages = first.query("select pg_advisory_unlock(50)");
    assert_eq!(text_rows(&messages), ["f"]);
    first.rows("rollback");
    assert_eq!(
        first.rows(
            "select objid from pg_locks where locktype = 'advisory' and pid = pg_backend_pid() order by 1"
        ),
        ["53", "4294967295"]
    );
    first.rows("select pg_advisory_unlock_all()");
    assert_eq!(
        first.rows("select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()"),
        ["0"]
    );
    // The end of a session lets go.
    drop(second);
    eventually(
        &mut first,
        "select count(*) from pg_locks where locktype = 'advisory'",
        "0",
    );
}

#[test]
fn sessions_are_ended() {
    let server = TestServer::start("terminate");
    let (mut watcher, mut victim) = (named(&server, "watcher"), named(&server, "victim"));
    watcher.rows("create table t (id int)");
    let victim_pid = pid(&mut victim);
    victim.rows("begin");
    victim.rows("insert into t values (1)");
    assert_eq!(
        watcher.rows(&format!("select pg_terminate_backend({victim_pid}, 10000)")),
        ["t"]
    );
    let last = victim.until_closed();
    assert_eq!(
        error(&last).as_deref(),
        Some("57P01 terminating connection due to administrator command")
    );
    eventually(
        &mut watcher,
        &format!("select count(*) from pg_stat_activity where pid = {victim_pid}"),
        "0",
    );
    assert_eq!(watcher.rows("select count(*) from t"), ["0"]);
}

/// Transactions and sessions count for the database that they were in, also when they are over.
#[test]
fn transactions_and_sessions_of_a_database() {
    let server = TestServer::start("database_counts");
    let mut watcher = RawClient::connect(&server);
    watcher.query("create database counted");
    let mut counted = RawClient::open(&server);
    counted.start_up(&[("user", server.user()), ("database", "counted")]);
    counted.until(b'Z');
    for text in [
        "select 1",
        "create table t ()",
        "begin; select 1; commit",
        "select 1 / 0",
    ] {
        counted.query(text);
    }
    // PostgreSQL counts what it does for itself, too.
    let so_far = "select xact_commit between 3 and 20, xact_rollback, sessions, stats_reset is null \
                  from pg_stat_database where datname = 'counted'";
    eventually(&mut watcher, so_far, "t|1|1|t");
    counted.send(b'X', b"");
    counted.until_closed();
    eventually(&mut watcher, so_far, "t|1|1|t");
    let mut again = RawClient::open(&server);
    again.start_up(&[("user", server.user()), ("database", "counted")]);
    again.until(b'Z');
    again.query("select pg_stat_reset()");
    let since = "select xact_commit <= 3, xact_rollback, stats_reset <= now() from pg_stat_database where datname = 'counted'";
    eventually(&mut watcher, since, "t|0|t");
    watcher.query("create role reader");
    watcher.query("set role reader");
    assert_eq!(
        sqlstate(&watcher.query("select pg_stat_reset()")).as_deref(),
        Some("42501")
    );
}
