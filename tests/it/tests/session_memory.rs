//! What sessions keep beside rows counts against `--memory`: whoever asks for too much gets 53200, and nobody else does.

use mote_it::TestServer;
use mote_it::clients::psql_strict;
use mote_it::process::await_that;
use mote_it::wire::*;
use std::time::Duration;

/// A quarter of it is for sessions, half of that for one.
const MEMORY: [&str; 4] = ["--memory", "64MB", "--workers", "1"];
const ONE_SESSION_BYTES: u64 = 8 << 20;
/// What a process of tests may grow by: the session's part and what is not charged.
const GROWTH_MAX_BYTES: u64 = 48 << 20;
const LONGEST: Duration = Duration::from_secs(60);

/// Sends what `step` makes, which ends in one ReadyForQuery, until the session is refused; answers how often it was not.
#[track_caller]
fn until_refused(client: &mut RawClient, what: &str, step: impl Fn(usize) -> Vec<u8>) -> usize {
    for number in 0..100_000 {
        let messages = client.exchange(&[step(number)]);
        let Some(error) = error(&messages) else { continue };
        assert_eq!(error, "53200 out of memory", "{what}, number {number}");
        let refused = messages
            .iter()
            .find(|message| message.kind == b'E')
            .expect("an error");
        let detail = refused.field(b'D').expect("a detail");
        assert!(
            detail.starts_with("Failed on request of size"),
            "{what}: {detail}"
        );
        return number;
    }
    panic!("{what}: never refused");
}

/// Others sort, prepare and write meanwhile.
#[track_caller]
fn others_work(server: &TestServer) {
    let said = psql_strict(
        server,
        "prepare p as select count(*) from t; execute p; create temp table s (id int); insert into s select generate_series(1, 1000);
         select count(*) from (select id, repeat('x', 100) v from s order by v, id offset 0) o; insert into t values (1)",
    );
    assert!(said.good().contains("1000"));
}

#[test]
fn the_session_that_keeps_too_much_is_refused() {
    let mut server = TestServer::start_with("offender", &MEMORY);
    psql_strict(&server, "create table t (id int)").good();
    let resident = server.resident_bytes();
    let statement = |n: usize| format!("select {n} + id, id as c{n} from t where id > {n}");
    type Step<'a> = Box<dyn Fn(usize) -> Vec<u8> + 'a>;
    let by_sql = |what: &'static str, make: fn(usize, String) -> String| -> (&str, Step<'_>) {
        (what, Box::new(move |n| query(&make(n, statement(n)))))
    };
    let cases = [
        (
            "prepared statements",
            Box::new(|n| [parse(&format!("s{n}"), &statement(n), &[]), sync()].concat()) as Step<'_>,
        ),
        by_sql("prepared statements of SQL", |n, select| {
            format!("prepare q{n} as {select}")
        }),
        by_sql("cursors", |n, select| format!("declare c{n} cursor for {select}")),
        by_sql("rows of cursors", |n, _| {
            let rows = "select repeat('x', 1000) from generate_series(1, 500)";
            format!("declare h{n} cursor with hold for {rows}; commit; begin")
        }),
    ];
    for (what, step) in cases {
        let mut offender = RawClient::connect(&server);
        offender.rows("begin");
        let kept = until_refused(&mut offender, what, step);
        assert!(kept > 10, "{what}: {kept}");
        let grown = server.resident_bytes().saturating_sub(resident);
        assert!(grown < GROWTH_MAX_BYTES, "{what}: {kept} took {grown} bytes");
        others_work(&server);
        // Who lets go may go on.
        offender.query("rollback");
        assert_eq!(error(&offender.query("discard all")), None, "{what}");
        assert_eq!(
            error(&offender.query("prepare again as select 1")),
            None,
            "{what}"
        );
    }
    server.assert_unharmed();
}

#[test]
fn portals_and_their_parameters_count() {
    let mut server = TestServer::start_with("portals", &MEMORY);
    psql_strict(&server, "create table t (id int)").good();
    let mut offender = RawClient::connect(&server);
    offender.rows("begin");
    assert_eq!(
        kinds(&offender.exchange(&[parse("s", "select $1::text", &[]), sync()])),
        "1Z"
    );
    let value = "x".repeat(50_000);
    let mut bound = 0;
    let refused = loop {
        offender.raw(&[bind(&format!("p{bound}"), "s", &[&value]), flush()].concat());
        match offender.receive().expect("an answer") {
            message if message.kind == b'2' => bound += 1,
            message => break message,
        }
    };
    assert_eq!(refused.field(b'C').as_deref(), Some("53200"));
    let most = ONE_SESSION_BYTES as usize / value.len();
    assert!((most / 2..=most).contains(&bound), "{bound} of {most}");
    offender.raw(&sync());
    offender.until(b'Z');
    others_work(&server);
    offender.rows("rollback");
    assert_eq!(offender.rows("select 1"), ["1"]);
    server.assert_unharmed();
}

#[test]
fn sorts_results_and_messages_count() {
    let mut server = TestServer::start_with("results", &MEMORY);
    psql_strict(&server, "create table t (id int)").good();
    let mut offender = RawClient::connect(&server);
    offender.rows("set work_mem = '1GB'");
    let statements = [
        "select count(*) from (select g, repeat('x', 1000) v from generate_series(1, 100000) g order by v, g offset 0) s",
        "select count(*) from (select distinct repeat('x', 1000) || g from generate_series(1, 100000) g) s",
        "select repeat('x', 30000000)",
        "copy (select repeat('x', 30000000)) to stdout",
    ];
    for statement in statements {
        let messages = offender.query(statement);
        assert_eq!(
            error(&messages).as_deref(),
            Some("53200 out of memory"),
            "{statement}"
        );
        assert_eq!(offender.rows("select 1"), ["1"]);
    }
    others_work(&server);
    // A message that there is no memory for ends the connection.
    offender.try_raw(&query(&format!("select length('{}')", "x".repeat(30_000_000))));
    // What the server said last may be lost with what it has not read.
    let said = sqlstate(&offender.until_closed());
    assert!(said.as_deref().is_none_or(|state| state == "53200"), "{said:?}");
    await_that("all of it is given back", LONGEST, || {
        let mut client = RawClient::connect(&server);
        client.rows("set work_mem = '1GB'");
        let six_mb = "select count(*) from (select repeat('x', 1000) || g v from generate_series(1, 5000) g order by v offset 0) s";
        error(&client.query(six_mb)).is_none()
    });
    server.assert_unharmed();
}

/// What waits for the end of a statement or transaction, and what a function or a portal has for later.
#[test]
fn events_and_rows_of_functions_count() {
    let mut server = TestServer::start_with("events", &MEMORY);
    psql_strict(
        &server,
        "create table t (id int); create table p (id int primary key);
         create table c (id int references p deferrable initially deferred);
         create table noted (id int); create table counted (v text); create table wide (id int);
         create function nothing() returns trigger language plpgsql as 'begin return null; end';
         create constraint trigger later after insert on noted deferrable initially deferred
           for each row execute function nothing();
         create trigger all_of_it after insert on counted referencing new table as rows
           for each statement execute function nothing();
         create function many() returns setof text language plpgsql as
           'begin for i in 1..100000 loop return next repeat(''x'', 1000); end loop; end';
         create function many_sql() returns setof text volatile language sql as
           'select repeat(''x'', 1000) from generate_series(1, 100000)'",
    )
    .good();
    let mut offender = RawClient::connect(&server);
    offender.rows("set work_mem = '1GB'");
    let series = "select g from generate_series(1, 150000) g";
    let returning = "insert into wide select g from generate_series(1, 20000) g returning repeat('x', 1000)";
    let piecemeal = [
        parse("", returning, &[]),
        bind("", "", &[]),
        execute("", 1),
        sync(),
    ]
    .concat();
    let cases = [
        ("deferred foreign keys", query(&format!("insert into c {series}"))),
        ("deferred triggers", query(&format!("insert into noted {series}"))),
        (
            "transition tables",
            query("insert into counted select repeat('x', 1000) from generate_series(1, 20000)"),
        ),
        ("RETURN NEXT", query("select count(*) from many()")),
        ("rows of a SQL function", query("select count(*) from many_sql()")),
        ("rows of a portal", piecemeal),
    ];
    for (what, message) in cases {
        assert_eq!(
            until_refused(&mut offender, what, |_| message.clone()),
            0,
            "{what}"
        );
        assert_eq!(offender.rows("select 1"), ["1"]);
        others_work(&server);
    }
    server.assert_unharmed();
}

/// Full tables leave sessions room to work.
#[test]
fn sessions_work_while_the_tables_are_full() {
    let mut server = TestServer::start_with("full-tables", &MEMORY);
    let mut client = RawClient::connect(&server);
    client.rows("create table t (id int primary key, v text); create table small as select generate_series(1, 2000) id");
    let mut id = 0;
    loop {
        let insert = format!(
            "insert into t select g, repeat('x', 1000) from generate_series({}, {}) g",
            id + 1,
            id + 500
        );
        match error(&client.query(&insert)) {
            None => id += 500,
            Some(error) => {
                assert_eq!(error, "53200 out of memory");
                break;
            }
        }
    }
    assert!(id > 10_000, "{id} rows of 1,000 bytes in 64 MB");
    let mut other = RawClient::connect(&server);
    assert_eq!(
        other.rows("prepare p as select count(*) from t; execute p"),
        [id.to_string()]
    );
    assert_eq!(
        other.rows(
            "select count(*) from (select id, repeat('x', 200) v from small order by v, id offset 0) s"
        ),
        ["2000"]
    );
    other.rows("delete from t where id % 2 = 0");
    server.assert_unharmed();
}

/// A deadline that every message puts off costs one timer, not one for each message until the first is due.
#[test]
fn an_idle_timeout_that_is_put_off_all_the_time_costs_nothing() {
    let server = TestServer::start_with("session-memory-timers", &MEMORY);
    let mut client = RawClient::connect(&server);
    client.rows("set idle_in_transaction_session_timeout = '1h'; begin");
    let mut talk = |messages: usize| {
        for _ in 0..messages {
            client.exchange(&[sync()]);
        }
    };
    talk(5_000);
    let resident = server.resident_bytes();
    // At 24 bytes each, in a list that grows by doubling, 3 MB.
    talk(100_000);
    let grown = server.resident_bytes().saturating_sub(resident);
    assert!(grown < 1 << 20, "grown by {grown} bytes");
}
