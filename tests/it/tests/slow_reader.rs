//! Clients that read slowly, or not at all: they cost a fixed buffer, few system calls, and nobody else anything.
//!
//! What the kernel keeps for a connection on loopback, some MiB on both sides together, is not the server's.

use std::time::{Duration, Instant};

use mote_it::TestServer;
use mote_it::process::await_that;
use mote_it::wire::*;

/// Far more than both socket buffers hold.
const RESULT_BYTES: u64 = 64 << 20;
/// What a client that does not read may cost: its buffer, and what others need meanwhile.
const GROWTH_MAX_BYTES: u64 = 24 << 20;
const LONGEST: Duration = Duration::from_secs(60);

/// The server has done what it can for a client that does not read: it waits for it.
fn await_stall(server: &TestServer, watcher: &mut RawClient) {
    let mut last = (0, Instant::now());
    await_that("the server waits for its client", LONGEST, || {
        // Another session is served all the while.
        assert_eq!(watcher.rows("select 1"), ["1"]);
        let calls = server.write_calls();
        let expected = last.0 + 1; // the answer to the watcher
        if calls > expected {
            last = (calls, Instant::now());
        } else {
            last.0 = calls;
        }
        last.1.elapsed() > Duration::from_millis(300)
    });
}

#[test]
fn one_that_does_not_read_costs_a_buffer() {
    let server = TestServer::start_with("slow-rows", &["--workers", "1"]);
    let mut watcher = RawClient::connect(&server);
    let rows = RESULT_BYTES / 64;
    let statements = [
        format!("select repeat('x', 50) from generate_series(1, {rows})"),
        format!(
            "select repeat('y', 100000) from generate_series(1, {})",
            RESULT_BYTES / 100_000
        ),
        format!("copy (select repeat('z', 50) from generate_series(1, {rows})) to stdout"),
    ];
    for statement in statements {
        let mut slow = RawClient::connect(&server);
        let (resident, calls) = (server.resident_bytes(), server.write_calls());
        slow.raw(&query(&statement));
        await_stall(&server, &mut watcher);
        let grown = server.resident_bytes().saturating_sub(resident);
        assert!(grown < GROWTH_MAX_BYTES, "{statement}: {grown} bytes more");
        // Everything arrives once it is read, and is written in large pieces.
        let mut bytes = 0;
        while let Some(message) = slow.receive() {
            bytes += message.body.len() as u64;
            if message.kind == b'Z' {
                break;
            }
        }
        assert!(bytes > RESULT_BYTES / 4 * 3, "{statement}: {bytes} bytes");
        let watched = 2000; // answers to the watcher, wake-ups of the worker
        let calls = server.write_calls() - calls;
        assert!(
            calls < watched + bytes / (16 << 10),
            "{statement}: {calls} writes"
        );
        let grown = server.resident_bytes().saturating_sub(resident);
        assert!(
            grown < GROWTH_MAX_BYTES,
            "{statement}: {grown} bytes more at the end"
        );
    }
}

#[test]
fn one_large_row_comes_and_its_memory_goes() {
    const ROW_BYTES: usize = 48 << 20;
    let server = TestServer::start_with("slow-large", &["--workers", "1"]);
    let mut client = RawClient::connect(&server);
    let resident = server.resident_bytes();
    client.raw(&query(&format!(
        "select repeat('x', {ROW_BYTES}), 1 from generate_series(1, 3)"
    )));
    let messages = client.until(b'Z');
    assert_eq!(kinds(&messages), "TDDDCZ");
    assert_eq!(messages[2].columns()[0].as_ref().map(Vec::len), Some(ROW_BYTES));
    drop(messages);
    assert_eq!(client.rows("select 1"), ["1"]);
    await_that("the memory of the rows is given back", LONGEST, || {
        server.resident_bytes() < resident + GROWTH_MAX_BYTES
    });
}

#[test]
fn notices_wait_for_the_client_too() {
    let server = TestServer::start_with("slow-notices", &["--workers", "1"]);
    let mut watcher = RawClient::connect(&server);
    let mut slow = RawClient::connect(&server);
    let resident = server.resident_bytes();
    let text = "x".repeat(8000);
    slow.raw(&query(&format!(
        "do $$ begin for i in 1..8000 loop raise notice '{text}'; end loop; end $$"
    )));
    await_stall(&server, &mut watcher);
    let grown = server.resident_bytes().saturating_sub(resident);
    assert!(grown < GROWTH_MAX_BYTES, "{grown} bytes more");
    let notices = slow
        .until(b'Z')
        .iter()
        .filter(|message| message.kind == b'N')
        .count();
    assert_eq!(notices, 8000);
}

/// A client that does not read can be cancelled and ended, and its place comes free.
#[test]
fn one_that_does_not_read_can_be_ended() {
    let mut server = TestServer::start_with("slow-ended", &["--workers", "1", "--max-connections", "2"]);
    let mut watcher = RawClient::connect(&server);
    let mut slow = RawClient::connect(&server);
    let endless = query("select repeat('x', 1000) from generate_series(1, 1000000000)");
    slow.raw(&endless);
    await_stall(&server, &mut watcher);
    let cancel = "select pg_cancel_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()";
    assert_eq!(watcher.rows(cancel), ["t"]);
    let messages = slow.until(b'Z');
    assert_eq!(
        error(&messages).as_deref(),
        Some("57014 canceling statement due to user request")
    );
    drop(messages);
    slow.raw(&endless);
    await_stall(&server, &mut watcher);
    let end = "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()";
    assert_eq!(watcher.rows(end), ["t"]);
    // Though it takes nothing, not even that it was ended.
    await_that("the place of the ended session comes free", LONGEST, || {
        let mut other = RawClient::open(&server);
        other.start_up(&[("user", "postgres"), ("database", "postgres")]);
        error(&[other.receive().expect("an answer")]).is_none()
    });
    drop(slow);
    drop(watcher);
    server.assert_unharmed();
}
