//! Waiting for each kind of lock, and every way to stop: cancel, statement_timeout, lock_timeout, termination, the holder's
//! idle_in_transaction_session_timeout. Whoever stops leaves the queue: the next one is served at once. And whoever waited
//! for a table that changed meanwhile holds the lock of what it is now.
//! Every expectation holds for PostgreSQL 15 too (`MOTE_IT_TARGET`).

use std::time::Duration;

use mote_it::TestServer;
use mote_it::waiting::{await_lock, pid};
use mote_it::wire::*;

/// What holds, what waits for it, what is kind enough to follow.
const LOCKS: [(&str, &str); 4] = [
    (
        "update t set v = 1 where id = 1",
        "update t set v = 2 where id = 1",
    ),
    ("insert into t values (7, 0)", "insert into t values (7, 1)"),
    ("lock table t in access exclusive mode", "select * from t"),
    (
        "select pg_advisory_xact_lock(5)",
        "select pg_advisory_xact_lock(5)",
    ),
];

struct World {
    server: TestServer,
    holder: RawClient,
    waiter: RawClient,
}

fn start(name: &str) -> World {
    let server = TestServer::start(name);
    let mut holder = RawClient::connect(&server);
    holder.rows("create table t (id int primary key, v int); insert into t values (1, 0), (2, 0)");
    let waiter = RawClient::connect(&server);
    World {
        server,
        holder,
        waiter,
    }
}

/// The lock is free for somebody who does not wait long, and nobody is left in a queue.
fn expect_free(server: &TestServer, wanted: &str) {
    let mut next = RawClient::connect(server);
    next.rows("set lock_timeout = '5s'");
    let messages = next.query(&format!("begin; {wanted}; rollback"));
    assert_eq!(error(&messages), None, "{wanted}");
    assert_eq!(
        next.rows("select count(*) from pg_locks where not granted"),
        ["0"]
    );
}

#[test]
fn cancel_ends_every_wait() {
    let World {
        server,
        mut holder,
        mut waiter,
    } = start("waits-cancel");
    let mut observer = RawClient::connect(&server);
    let waiter_pid = pid(&mut waiter);
    for (held, wanted) in LOCKS {
        holder.rows("begin");
        assert_eq!(error(&holder.query(held)), None);
        waiter.rows("begin");
        waiter.raw(&query(wanted));
        await_lock(&mut observer, &waiter_pid);
        assert_eq!(
            observer.rows(&format!("select pg_cancel_backend({waiter_pid})")),
            ["t"]
        );
        assert_eq!(
            error(&waiter.until(b'Z')).as_deref(),
            Some("57014 canceling statement due to user request")
        );
        waiter.rows("rollback");
        holder.rows("rollback");
        expect_free(&server, wanted);
    }
}

#[test]
fn timeouts_end_every_wait() {
    let World {
        server,
        mut holder,
        mut waiter,
    } = start("waits-timeouts");
    let timeouts = [
        ("lock_timeout", "55P03 canceling statement due to lock timeout"),
        (
            "statement_timeout",
            "57014 canceling statement due to statement timeout",
        ),
    ];
    for (held, wanted) in LOCKS {
        for (setting, expected) in timeouts {
            holder.rows("begin");
            assert_eq!(error(&holder.query(held)), None);
            waiter.rows(&format!("begin; set local {setting} = '100ms'"));
            let messages = waiter.query(wanted);
            assert_eq!(error(&messages).as_deref(), Some(expected), "{wanted}");
            assert_eq!(status(&messages), Some('E'));
            waiter.rows("rollback");
            holder.rows("rollback");
            expect_free(&server, wanted);
        }
    }
}

#[test]
fn termination_ends_every_wait() {
    let World {
        server, mut holder, ..
    } = start("waits-terminate");
    let mut observer = RawClient::connect(&server);
    for (held, wanted) in LOCKS {
        holder.rows("begin");
        assert_eq!(error(&holder.query(held)), None);
        let mut waiter = RawClient::connect(&server);
        let waiter_pid = pid(&mut waiter);
        waiter.raw(&query(wanted));
        await_lock(&mut observer, &waiter_pid);
        observer.rows(&format!("select pg_terminate_backend({waiter_pid})"));
        let messages = waiter.until_closed();
        assert_eq!(sqlstate(&messages).as_deref(), Some("57P01"), "{wanted}");
        holder.rows("rollback");
        expect_free(&server, wanted);
    }
}

#[test]
fn a_holder_that_idles_too_long_is_ended_and_those_behind_it_go_on() {
    let World {
        server,
        mut holder,
        mut waiter,
    } = start("waits-idle");
    for (held, wanted) in LOCKS {
        holder.rows("set idle_in_transaction_session_timeout = '300ms'");
        holder.rows("begin");
        assert_eq!(error(&holder.query(held)), None);
        assert_eq!(error(&waiter.query(wanted)), None, "{wanted}");
        let messages = holder.until_closed();
        assert_eq!(
            error(&messages).as_deref(),
            Some("25P03 terminating connection due to idle-in-transaction timeout")
        );
        waiter.rows("delete from t where id = 7");
        holder = RawClient::connect(&server);
    }
    // A failed block is idle in a transaction, too; a session outside a block is not.
    holder.rows("set idle_in_transaction_session_timeout = '200ms'");
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(holder.rows("select 1"), ["1"]);
    holder.rows("begin");
    holder.query("select 1/0");
    assert_eq!(sqlstate(&holder.until_closed()).as_deref(), Some("25P03"));
}

#[test]
fn a_session_that_idles_too_long_is_ended() {
    let World {
        server, mut holder, ..
    } = start("waits-idle-session");
    let ended = Some("57P05 terminating connection due to idle-session timeout");
    holder.rows("set idle_session_timeout = '2s'");
    // It is for sessions that wait for a statement, outside of a block.
    holder.rows("select pg_sleep(3)");
    holder.rows("begin");
    std::thread::sleep(Duration::from_secs(3));
    holder.rows("commit");
    for _ in 0..8 {
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(holder.rows("select 1"), ["1"]);
    }
    assert_eq!(error(&holder.until_closed()).as_deref(), ended);
    // A client in the middle of its messages is not idle.
    let mut other = RawClient::connect(&server);
    other.rows("set idle_session_timeout = '2s'");
    other.raw(&parse("", "select 1", &[]));
    std::thread::sleep(Duration::from_secs(3));
    other.raw(&sync());
    assert_eq!(kinds(&other.until(b'Z')), "1Z");
    assert_eq!(error(&other.until_closed()).as_deref(), ended);
}

/// TRUNCATE gives a table new storage, DROP and CREATE give its name to another table: the waiter's lock must be that of
/// what it then works on, or somebody else would write there at the same time.
#[test]
fn who_waited_for_a_table_has_the_lock_of_what_it_became() {
    let replacing = [
        "truncate t",
        "alter table t rename to t_before; create table t (id int primary key, v int)",
    ];
    let wanted = [
        "lock table t in access exclusive mode",
        "truncate t",
        "alter table t add column w int",
        "create index on t (v)",
    ];
    for (case, (replaced, wanted)) in replacing
        .iter()
        .flat_map(|replaced| wanted.map(|wanted| (replaced, wanted)))
        .enumerate()
    {
        let World {
            server,
            mut holder,
            mut waiter,
        } = start(&format!("waits-replaced-{case}"));
        let waiter_pid = pid(&mut waiter);
        assert_eq!(error(&holder.query(&format!("begin; {replaced}"))), None);
        waiter.rows("begin");
        waiter.raw(&query(wanted));
        let mut observer = RawClient::connect(&server);
        await_lock(&mut observer, &waiter_pid);
        holder.rows("commit");
        assert_eq!(error(&waiter.until(b'Z')), None, "{replaced}; {wanted}");
        observer.rows("set lock_timeout = '200ms'");
        assert_eq!(
            sqlstate(&observer.query("insert into t values (9, 9)")).as_deref(),
            Some("55P03"),
            "{replaced}; {wanted}: somebody else may write meanwhile"
        );
        waiter.rows("commit");
        assert_eq!(
            error(&observer.query("insert into t (id, v) values (9, 9)")),
            None
        );
    }
}

/// The functions that an extension's script makes are found by what came into the schema: what somebody else made there
/// while the script waited is not among them.
#[test]
fn what_others_make_meanwhile_does_not_belong_to_an_extension() {
    let World {
        server,
        mut holder,
        mut waiter,
    } = start("waits-extension");
    let waiter_pid = pid(&mut waiter);
    let digest = "create function digest(text, text) returns bytea language sql as 'select null::bytea'";
    assert_eq!(error(&holder.query(&format!("begin; {digest}"))), None);
    waiter.raw(&query("create extension pgcrypto"));
    let mut other = RawClient::connect(&server);
    await_lock(&mut other, &waiter_pid);
    other.rows("create function mine() returns int language sql as 'select 1'");
    holder.rows("rollback");
    assert_eq!(error(&waiter.until(b'Z')), None);
    waiter.rows("drop extension pgcrypto");
    assert_eq!(other.rows("select mine()"), ["1"]);
}
