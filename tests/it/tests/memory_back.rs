//! Memory that is free goes back to the system, a few seconds after it became free.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use mote_it::TestServer;
use mote_it::process::await_that;
use mote_it::wire::*;

const LONGEST: Duration = Duration::from_secs(60);
const ROWS: usize = 40_000;
/// Rows of 3,000 bytes: pages of the engine's own, not the allocator's.
const ROWS_BYTES: u64 = ROWS as u64 * 3000;

/// What the process has once it has stopped growing and shrinking: threads that have just started still fill their caches.
fn settled_bytes(server: &TestServer) -> u64 {
    let mut last = server.resident_bytes();
    let mut same = 0;
    while same < 10 {
        std::thread::sleep(Duration::from_millis(100));
        let now = server.resident_bytes();
        same = if now == last { same + 1 } else { 0 };
        last = now;
    }
    last
}

/// Runs `use_it`, which must grow the server by `bytes`, then `let_go`; waits until most of that is the system's again.
#[track_caller]
fn comes_back(server: &TestServer, bytes: u64, use_it: impl FnOnce(), let_go: impl FnOnce()) {
    let before = settled_bytes(server);
    use_it();
    let used = server.resident_bytes().saturating_sub(before);
    assert!(
        used > bytes / 2,
        "{used} bytes used, {bytes} expected: the test shows nothing"
    );
    let_go();
    let since = Instant::now();
    loop {
        let left = server.resident_bytes().saturating_sub(before);
        if left < used / 3 {
            return;
        }
        assert!(
            since.elapsed() < LONGEST,
            "{left} of {used} bytes have not come back"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn after_rows_are_gone() {
    let mut server = TestServer::start_with("rows-gone", &[]);
    for let_go in ["drop table t", "truncate t", "delete from t"] {
        let mut client = RawClient::connect(&server);
        client.rows("drop table if exists t; create table t (id int primary key, v text)");
        let fill = format!("insert into t select g, repeat('x', 3000) from generate_series(1, {ROWS}) g");
        let mut other = RawClient::connect(&server);
        comes_back(
            &server,
            ROWS_BYTES,
            || _ = client.rows(&fill),
            || _ = other.rows(let_go),
        );
    }
    server.assert_unharmed();
}

#[test]
fn after_a_large_sort() {
    let mut server = TestServer::start_with("sort-gone", &["--workers", "1"]);
    let mut client = RawClient::connect(&server);
    client.rows("set work_mem = '400MB'");
    let before = server.resident_bytes();
    let sorted = "select count(*) from (select g, repeat('x', 1000) v from generate_series(1, 60000) g order by v, g offset 0) s";
    assert_eq!(client.rows(sorted), ["60000"]);
    // The session stays, and so does its statement.
    await_that("the memory of the sort comes back", LONGEST, || {
        server.resident_bytes() < before + (24 << 20)
    });
    server.assert_unharmed();
}

const STATEMENTS: usize = 5000;
const DROP_ALL: &str = "deallocate all; discard plans";

/// Parse of `count` statements, each with a text of its own, and Sync.
#[test]
fn after_large_results_of_idle_sessions() {
    const SESSIONS: usize = 100;
    const KEPT_BYTES: u64 = 64 << 10; // by a session, of a result of 10 MB
    let server = TestServer::start("back-results");
    let mut clients: Vec<RawClient> = (0..SESSIONS).map(|_| RawClient::connect(&server)).collect();
    let read = |client: &mut RawClient, bytes: usize| {
        client.raw(&query(&format!(
            "select repeat('x', 1000) from generate_series(1, {})",
            bytes / 1000
        )));
        while client.receive().expect("the server answers").kind != b'Z' {}
    };
    clients.iter_mut().for_each(|client| read(client, 1000));
    let before = settled_bytes(&server);
    clients.iter_mut().for_each(|client| read(client, 10_000_000));
    let grown = settled_bytes(&server).saturating_sub(before);
    assert!(grown < SESSIONS as u64 * KEPT_BYTES, "{grown} bytes");
}

fn prepare(count: usize) -> Vec<Vec<u8>> {
    let one = |n: usize| {
        let text = format!("select a + {n}, b, c from t where a = $1 and b > {n} order by c");
        parse(&format!("s{n}"), &text, &[])
    };
    vec![(0..count).flat_map(one).collect(), sync()]
}

#[test]
fn after_many_prepared_statements() {
    let mut server = TestServer::start_with("prepared-gone", &["--workers", "1"]);
    let client = RefCell::new(RawClient::connect(&server));
    client.borrow_mut().rows("create table t (a int, b int, c text)");
    // What a session, its worker and the catalog keep for good, they have after this.
    assert_eq!(
        error(&client.borrow_mut().exchange(&prepare(STATEMENTS / 10))),
        None
    );
    client.borrow_mut().rows(DROP_ALL);
    comes_back(
        &server,
        STATEMENTS as u64 * 8000,
        || assert_eq!(error(&client.borrow_mut().exchange(&prepare(STATEMENTS))), None),
        || _ = client.borrow_mut().rows(DROP_ALL),
    );
    server.assert_unharmed();
}

/// Memory that is not back yet is room for the next statements.
#[test]
fn many_prepared_statements_take_the_same_memory_again() {
    const ROUNDS: usize = 6;
    let mut server = TestServer::start_with("prepared-again", &["--workers", "1"]);
    let mut client = RawClient::connect(&server);
    client.rows("create table t (a int, b int, c text)");
    let all = prepare(STATEMENTS);
    let before = settled_bytes(&server);
    let mut peaks = Vec::new();
    for _ in 0..ROUNDS {
        assert_eq!(error(&client.exchange(&all)), None);
        peaks.push(server.resident_bytes().saturating_sub(before));
        client.rows(DROP_ALL);
    }
    assert!(
        peaks[0] > STATEMENTS as u64 * 4000,
        "{peaks:?}: the test shows nothing"
    );
    // A session may be moved to another thread once more, which takes memory of its own.
    assert!(peaks[ROUNDS - 1] < peaks[0] * 3, "{peaks:?}");
    server.assert_unharmed();
}
