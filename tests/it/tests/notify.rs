//! LISTEN and NOTIFY over the wire: who is told what, when, in which order; idle clients, slow clients, ended clients.

use std::time::{Duration, Instant};

use mote_it::TestServer;
use mote_it::clients::psql_strict;
use mote_it::wire::{Message, RawClient, error, query, sqlstate};

/// Longer than any wake-up takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// "channel payload" of the notifications among messages.
fn told(messages: &[Message]) -> Vec<String> {
    let texts = |message: &Message| {
        let mut parts = message.body[4..].split(|byte| *byte == 0);
        let mut part = || String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
        format!("{} {}", part(), part()).trim_end().to_string()
    };
    messages.iter().filter(|m| m.kind == b'A').map(texts).collect()
}

/// The next notification that comes by itself.
fn next(client: &mut RawClient) -> String {
    let message = client.receive().expect("the server stays");
    assert_eq!(message.kind, b'A');
    told(&[message]).remove(0)
}

#[test]
fn an_idle_listener_is_woken_and_a_busy_one_waits_for_the_end_of_its_transaction() {
    let server = TestServer::start("notify");
    let (mut listener, mut notifier) = (RawClient::connect(&server), RawClient::connect(&server));
    listener.query("LISTEN a");
    listener.query("LISTEN b");
    assert_eq!(listener.rows("SELECT pg_listening_channels()"), ["a", "b"]);
    assert!(told(&notifier.query("NOTIFY a, 'one'; NOTIFY c; NOTIFY b")).is_empty());
    assert_eq!([next(&mut listener), next(&mut listener)], ["a one", "b"]);
    // The process that said it.
    let pid = notifier.rows("SELECT pg_backend_pid()").remove(0);
    notifier.query("NOTIFY a");
    let message = listener.receive().expect("it is there");
    let said_by = i32::from_be_bytes(message.body[..4].try_into().expect("four bytes"));
    assert_eq!(said_by.to_string(), pid);
    listener.query("BEGIN");
    notifier.query("SELECT pg_notify('a', 'later')");
    assert!(told(&listener.query("SELECT 1")).is_empty());
    assert!(listener.is_silent());
    assert_eq!(told(&listener.query("COMMIT")), ["a later"]);
    listener.query("UNLISTEN a");
    notifier.query("NOTIFY a; NOTIFY b, 'still'");
    assert_eq!(next(&mut listener), "b still");
    listener.query("UNLISTEN *");
    notifier.query("NOTIFY b");
    assert!(listener.is_silent());
}

#[test]
fn what_is_said_is_said_at_commit_or_never() {
    let server = TestServer::start("notify");
    let (mut listener, mut notifier) = (RawClient::connect(&server), RawClient::connect(&server));
    listener.query("LISTEN a");
    notifier.query("BEGIN");
    notifier.query("NOTIFY a, 'x'");
    notifier.query("NOTIFY a, 'x'");
    notifier.query("SAVEPOINT s");
    notifier.query("NOTIFY a, 'lost'");
    notifier.query("ROLLBACK TO s");
    assert!(listener.is_silent());
    notifier.query("COMMIT");
    assert_eq!(next(&mut listener), "a x");
    notifier.query("BEGIN; NOTIFY a, 'never'; ROLLBACK");
    notifier.query("SELECT pg_notify('a', 'never'), 1/0");
    // LISTEN takes effect at commit, too, and hears its own transaction.
    let heard = notifier.query("BEGIN; LISTEN own; NOTIFY own, 'self'; NOTIFY a; COMMIT");
    assert_eq!(told(&heard), ["own self"]);
    assert_eq!(next(&mut listener), "a");
    notifier.query("BEGIN; LISTEN gone; ROLLBACK");
    assert_eq!(notifier.rows("SELECT * FROM pg_listening_channels()"), ["own"]);
    notifier.query("DISCARD ALL");
    assert!(notifier.rows("SELECT * FROM pg_listening_channels()").is_empty());
}

#[test]
fn what_is_refused() {
    let server = TestServer::start("notify");
    let mut client = RawClient::connect(&server);
    for (statement, state) in [
        ("SELECT pg_notify('', 'x')", "22023"),
        ("SELECT pg_notify(NULL, 'x')", "22023"),
        ("SELECT pg_notify(repeat('c', 64), 'x')", "22023"),
        ("SELECT pg_notify('c', repeat('x', 8000))", "22023"),
        ("BEGIN; LISTEN c; PREPARE TRANSACTION 'p'", "0A000"),
        ("BEGIN; NOTIFY c; PREPARE TRANSACTION 'p'", "0A000"),
    ] {
        let messages = client.query(statement);
        assert_eq!(sqlstate(&messages).as_deref(), Some(state), "{statement}");
        client.query("ROLLBACK");
    }
    let messages = client.query("SELECT pg_notify('c', repeat('x', 7999)), pg_notify(repeat('c', 63), NULL)");
    assert_eq!(error(&messages), None);
}

/// A listener reads what a notification tells of, although its own snapshots may lag behind what is durable.
#[test]
fn a_listener_sees_what_it_is_told_of() {
    let server = TestServer::start("notify");
    let (mut listener, mut notifier) = (RawClient::connect(&server), RawClient::connect(&server));
    notifier.query("CREATE TABLE jobs (id int PRIMARY KEY)");
    listener.query("LISTEN jobs");
    for id in 0..200 {
        notifier.query(&format!(
            "BEGIN; INSERT INTO jobs VALUES ({id}); NOTIFY jobs, '{id}'; COMMIT"
        ));
        assert_eq!(next(&mut listener), format!("jobs {id}"));
        let found = listener.rows(&format!("SELECT count(*) FROM jobs WHERE id = {id}"));
        assert_eq!(found, ["1"]);
    }
}

/// Notifiers on several connections at once: a listener gets the commits of one row in the row's order.
#[test]
fn notifications_come_in_commit_order() {
    const NOTIFIERS: usize = 4;
    const EACH: usize = 100;
    let server = TestServer::start("notify");
    let mut listener = RawClient::connect(&server);
    listener.query("CREATE TABLE counter (n int)");
    listener.query("INSERT INTO counter VALUES (0)");
    listener.query("LISTEN counted");
    std::thread::scope(|scope| {
        for _ in 0..NOTIFIERS {
            scope.spawn(|| {
                let mut client = RawClient::connect(&server);
                for _ in 0..EACH {
                    client.query(
                        "BEGIN; WITH u AS (UPDATE counter SET n = n + 1 RETURNING n)
                         SELECT pg_notify('counted', n::text) FROM u; COMMIT",
                    );
                }
            });
        }
        for n in 1..=NOTIFIERS * EACH {
            assert_eq!(next(&mut listener), format!("counted {n}"));
        }
    });
    assert_eq!(listener.rows("SELECT pg_notification_queue_usage()"), ["0"]);
}

/// Who does not read keeps its notifications in the queue and nobody else waiting; when it is gone they go.
#[test]
fn a_slow_listener_bounds_nobody_else() {
    let server = TestServer::start("notify");
    let (mut slow, mut quick) = (RawClient::connect(&server), RawClient::connect(&server));
    let mut notifier = RawClient::connect(&server);
    slow.query("LISTEN flood");
    quick.query("LISTEN flood");
    let payload = "x".repeat(7000);
    for round in 0..400 {
        let messages = notifier.query(&format!(
            "SELECT pg_notify('flood', '{round} ' || n || '{payload}') FROM generate_series(1, 5) n"
        ));
        assert_eq!(error(&messages), None);
        for _ in 0..5 {
            assert!(next(&mut quick).starts_with(&format!("flood {round} ")));
        }
    }
    let used: f64 = notifier.rows("SELECT pg_notification_queue_usage()")[0]
        .parse()
        .expect("a number");
    assert!(used > 0.05, "{used}");
    drop(slow);
    let deadline = Instant::now() + PATIENCE;
    while notifier.rows("SELECT pg_notification_queue_usage()") != ["0"] {
        assert!(Instant::now() < deadline, "the queue is not emptied");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What gathered while the listener was in a transaction comes by itself at its end, however much it is.
#[test]
fn nothing_stays_behind_when_a_listener_has_read() {
    let server = TestServer::start("notify");
    let (mut listener, mut notifier) = (RawClient::connect(&server), RawClient::connect(&server));
    listener.query("LISTEN c");
    for (count, bytes) in [(200, 7900), (10_000, 10)] {
        listener.query("BEGIN");
        let payload = "x".repeat(bytes);
        for number in 0..count {
            notifier.query(&format!("SELECT pg_notify('c', '{number} {payload}')"));
        }
        listener.raw(&query("COMMIT"));
        let mut heard = Vec::new();
        while heard.len() < count {
            let message = listener.receive().expect("the server goes on telling");
            heard.extend(told(&[message]));
        }
        for (number, said) in heard.iter().enumerate() {
            assert!(said.starts_with(&format!("c {number} ")), "{number}: {said:.20}");
        }
        assert!(listener.is_silent());
        assert_eq!(listener.rows("SELECT 1"), ["1"]);
    }
}

/// Who does not read, and who is in a transaction, costs no processor time.
#[test]
fn a_listener_that_does_not_read_is_waited_for() {
    let server = TestServer::start("notify");
    let mut notifier = RawClient::connect(&server);
    let mut listeners: Vec<RawClient> = (0..3).map(|_| RawClient::connect(&server)).collect();
    for listener in &mut listeners {
        listener.query("LISTEN c");
    }
    listeners[0].query("BEGIN");
    for _ in 0..10 {
        let flood = "SELECT count(pg_notify('c', n || repeat('x', 7900))) FROM generate_series(1, 100) n";
        assert_eq!(error(&notifier.query(flood)), None);
    }
    // The sockets take what they can.
    std::thread::sleep(Duration::from_millis(500));
    let before = server.processor_time();
    std::thread::sleep(Duration::from_secs(2));
    let spent = server.processor_time() - before;
    assert!(spent < Duration::from_millis(300), "{spent:?} of two seconds");
    // One of them is told to end, and does not hear of it either.
    let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid()";
    notifier.query(end);
    let before = server.processor_time();
    std::thread::sleep(Duration::from_secs(2));
    let spent = server.processor_time() - before;
    assert!(spent < Duration::from_millis(300), "{spent:?} of two seconds");
    assert_eq!(notifier.rows("SELECT 1"), ["1"]);
}

/// At its end the queue refuses notifiers, in PostgreSQL's words, and goes on when the listener has read.
#[test]
fn the_queue_has_a_bound() {
    let server = TestServer::start("notify");
    let (mut listener, mut notifier) = (RawClient::connect(&server), RawClient::connect(&server));
    listener.query("LISTEN c");
    listener.query("BEGIN");
    let flood = "SELECT count(pg_notify('c', n || repeat('x', 7900))) FROM generate_series(1, 2000) n";
    let mut refused = None;
    for round in 0..10 {
        let messages = notifier.query(&format!("{flood} WHERE {round} >= 0"));
        if let Some(state) = sqlstate(&messages) {
            refused = Some((round, state));
            break;
        }
    }
    assert_eq!(refused, Some((4, "54000".to_string())));
    listener.query("UNLISTEN *");
    assert_eq!(told(&listener.query("COMMIT")).len(), 0);
    assert_eq!(error(&notifier.query("NOTIFY c")), None);
}

#[test]
fn psql_shows_notifications() {
    let server = TestServer::start("notify");
    let said = psql_strict(
        &server,
        "LISTEN news;\nNOTIFY news, 'hello';\nSELECT pg_notify('news', 'again');\n",
    )
    .good();
    let shown: Vec<&str> = said
        .lines()
        .filter(|line| line.starts_with("Asynchronous"))
        .collect();
    assert_eq!(shown.len(), 2, "{said}");
    assert!(shown[0].starts_with(
        "Asynchronous notification \"news\" with payload \"hello\" received from server process"
    ));
    assert!(shown[1].contains("\"again\""));
}
