//! What a session may not do to others: calls that cannot be interrupted, long statements, long planning. Beside all of
//! them logins, point selects, waits and cancel requests go on.
//!
//! Times here are bounds for a crowded machine, far below what the heavy statements themselves take.

use std::time::{Duration, Instant};

use mote_it::TestServer;
use mote_it::waiting::{await_lock, pid};
use mote_it::wire::*;

/// An answer beside heavy statements comes within this; the heavy statements take minutes.
const SOON: Duration = Duration::from_secs(4);
const LOOPS: &str = "2";
/// More than there are event loops and threads for long statements.
const HEAVY: usize = 5;
/// One call of one function, over a few megabytes.
const CALL: &str = "select length(regexp_replace(repeat('ab', 20000000), '(a)(b)', '\\2\\1', 'g'))";
/// Rows without end, in slices.
const SLICES: &str = "select count(*) from generate_series(1, 1000000000000)";

struct World {
    server: TestServer,
    heavy: Vec<RawClient>,
    others: Vec<RawClient>,
}

/// Sessions that are connected, spread over the event loops, before anything heavy begins.
fn start(name: &str) -> World {
    let server = TestServer::start_with(name, &["--workers", LOOPS]);
    let mut first = RawClient::connect(&server);
    first.rows("create table t (id int primary key, v int); insert into t select g, g from generate_series(1, 100) g");
    let connect = |_| RawClient::connect(&server);
    let heavy = (0..HEAVY).map(connect).collect();
    let others = (0..6).map(connect).collect();
    World {
        server,
        heavy,
        others,
    }
}

impl World {
    fn begin(&mut self, text: &str) {
        for client in &mut self.heavy {
            client.raw(&query(text));
        }
        let running = format!(
            "select count(*) from pg_stat_activity where state = 'active' and query = '{}'",
            text.replace('\'', "''")
        );
        let began = Instant::now();
        while self.others[0].rows(&running) != [HEAVY.to_string()] {
            assert!(began.elapsed() < 10 * SOON, "the heavy statements do not begin");
        }
    }

    /// Point selects of everybody else, and a login.
    fn all_are_served(&mut self, round: i32) {
        for client in &mut self.others {
            let answer = timed("a point select", || {
                client.rows(&format!("select v from t where id = {round}"))
            });
            assert_eq!(answer, [round.to_string()]);
        }
        let server = &self.server;
        let answer = timed("a login", || RawClient::connect(server).rows("select 1"));
        assert_eq!(answer, ["1"]);
    }

    /// They were busy all the time: else the rest of the test has shown nothing.
    fn are_still_busy(&self) {
        assert!(
            self.heavy.iter().all(RawClient::is_silent),
            "a heavy statement has ended"
        );
    }
}

#[track_caller]
fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let result = work();
    assert!(began.elapsed() < SOON, "{what} took {:?}", began.elapsed());
    result
}

#[test]
fn a_call_that_cannot_be_interrupted_stops_nobody_else() {
    let mut world = start("neighbours-call");
    // Sessions that are suspended in the middle of a statement when the calls begin, on every event loop.
    let mut holder = RawClient::connect(&world.server);
    holder.rows("begin; update t set v = v where id = 50");
    let mut waiters: Vec<RawClient> = (0..4).map(|_| RawClient::connect(&world.server)).collect();
    let mut pids = Vec::new();
    for waiter in &mut waiters {
        let pid = pid(waiter);
        waiter.raw(&query("update t set v = v + 1 where id = 50"));
        await_lock(&mut world.others[0], &pid);
        pids.push(pid);
    }
    world.begin(CALL);
    for round in 1..=5 {
        world.all_are_served(round);
    }
    let cancelled = timed("a cancel request", || {
        world.others[1].rows(&format!("select pg_cancel_backend({})", pids[0]));
        waiters[0].until(b'Z')
    });
    assert_eq!(sqlstate(&cancelled).as_deref(), Some("57014"));
    timed("a termination", || {
        world.others[1].rows(&format!("select pg_terminate_backend({})", pids[1]));
        waiters[1].until_closed()
    });
    holder.rows("commit");
    for waiter in &mut waiters[2..] {
        let answer = timed("a lock that was handed over", || waiter.until(b'Z'));
        assert_eq!(tags(&answer), ["UPDATE 1"]);
    }
    world.are_still_busy();
    drop(world.server.kill());
}

#[test]
fn long_statements_leave_the_event_loops_to_short_ones() {
    let mut world = start("neighbours-slices");
    world.begin(SLICES);
    for round in 1..=5 {
        world.all_are_served(round);
    }
    world.are_still_busy();
    // They end when they are told to, or when their time is up.
    let mut hasty = RawClient::connect(&world.server);
    hasty.rows("set statement_timeout = 300");
    let ended = timed("a statement with a timeout", || hasty.query(SLICES));
    assert_eq!(sqlstate(&ended).as_deref(), Some("57014"));
    let observer = &mut world.others[0];
    let text = "select pg_cancel_backend(pid) from pg_stat_activity where state = 'active' and query like '%generate_series(1, 1000000000000)' and pid <> pg_backend_pid()";
    assert_eq!(observer.rows(text).len(), HEAVY);
    for client in &mut world.heavy {
        let answer = timed("a cancelled statement", || client.until(b'Z'));
        assert_eq!(sqlstate(&answer).as_deref(), Some("57014"));
        assert_eq!(client.rows("select 1"), ["1"]);
    }
    // And whoever hangs up in the middle of one leaves nothing behind.
    for client in &mut world.heavy {
        client.raw(&query(SLICES));
    }
    world.heavy.clear();
    let began = Instant::now();
    let left =
        "select count(*) from pg_stat_activity where query like 'select count(*) from generate_series%'";
    while world.others[0].rows(left) != ["0"] {
        assert!(
            began.elapsed() < 10 * SOON,
            "statements of clients that are gone go on"
        );
        world.others[0].rows("select pg_terminate_backend(pid) from pg_stat_activity where query like 'select count(*) from generate_series%'");
    }
    world.server.stop();
}

/// As in PostgreSQL 15: the statement itself ends, not the next one.
#[test]
fn a_session_can_cancel_and_terminate_itself() {
    let server = TestServer::start("neighbours-self");
    let mut client = RawClient::connect(&server);
    let answer = client.query("select pg_cancel_backend(pg_backend_pid())");
    assert_eq!(sqlstate(&answer).as_deref(), Some("57014"));
    assert_eq!(
        error(&answer).as_deref(),
        Some("57014 canceling statement due to user request")
    );
    assert_eq!(client.rows("select 1"), ["1"]);
    client.raw(&query("select pg_terminate_backend(pg_backend_pid())"));
    let last = client.until_closed();
    assert_eq!(sqlstate(&last).as_deref(), Some("57P01"));
    assert!(text_rows(&last).is_empty());
}

#[test]
fn planning_many_joins_is_bounded() {
    let server = TestServer::start("neighbours-joins");
    let mut client = RawClient::connect(&server);
    let names: Vec<String> = (0..30).map(|number| format!("j{number}")).collect();
    for name in &names {
        client.rows(&format!("create table {name} (k int primary key, of_{name} int)"));
    }
    let using = names[1..].iter().map(|name| format!("join {name} using (k)"));
    let left = names[1..]
        .iter()
        .map(|name| format!("left join {name} on {name}.k = j0.of_j0"));
    let equal = names
        .windows(2)
        .map(|pair| format!("{}.k = {}.of_{}", pair[0], pair[1], pair[1]));
    let froms = [
        names.join(" natural join "),
        names.join(" natural full join "),
        format!("j0 {}", using.collect::<Vec<_>>().join(" ")),
        format!("j0 {}", left.collect::<Vec<_>>().join(" ")),
        format!(
            "{} where {}",
            names.join(", "),
            equal.collect::<Vec<_>>().join(" and ")
        ),
        names[..12].join(", "),
    ];
    for from in froms {
        let rows = timed(&from, || {
            client.rows(&format!("explain select count(*) from {from}"))
        });
        assert!(rows.len() > 12, "{rows:?}");
    }
}
