//! Random queries on mote and on a real PostgreSQL 15: the same rows, the same SQLSTATEs.
//!
//! A query follows from its seed (`generator`). `MOTE_IT_SEEDS=1000..2000` runs others than the usual ones, `MOTE_IT_SESSIONS=2` on so
//! many pairs of sessions; a failure prints the seed, the query and both answers.
//!
//! Queries are sent by the batch to both servers at once, so that neither waits for the test or for the other one.

mod compound;
mod generator;

use std::fmt::Write;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use mote_it::TestServer;
use mote_it::ledger::from_environment;
use mote_it::postgres::PostgresServer;
use mote_it::wire::{Message, RawClient, query};

use generator::{Generator, TABLES};

const SEEDS: Range<u64> = 0..150;
/// Failures printed before the run is given up.
const FAILURES_MAX: usize = 20;
/// Queries under way at a time. Small enough that requests and answers fit the sockets' buffers.
const BATCH: u64 = 24;
/// PostgreSQL gives up on a query after so long, and it is left out.
const TIMEOUT: &str = "set statement_timeout = '2s'";
/// One that leaves readings of the clock out and has others twice: times with and without a zone are compared.
const TIME_ZONE: &str = "set timezone = 'Europe/Berlin'";
/// Too long for one of them: says nothing about the rows.
const QUERY_CANCELED: &str = "57014";

fn seeds() -> Range<u64> {
    let Ok(range) = std::env::var("MOTE_IT_SEEDS") else {
        return SEEDS;
    };
    let (from, to) = range.split_once("..").expect("MOTE_IT_SEEDS=from..to");
    let number = |text: &str| text.parse().expect("a seed is a number");
    number(from)..number(to)
}

/// Rows as a sorted multiset, or the error.
#[derive(PartialEq, Debug)]
enum Answer {
    Rows(Vec<String>),
    Error(String, String),
}

/// One session on one of the servers.
struct Side<'s> {
    server: &'s TestServer,
    client: RawClient,
}

impl Side<'_> {
    fn new(server: &TestServer) -> Side<'_> {
        let mut client = RawClient::connect(server);
        client.rows(TIMEOUT);
        client.rows(TIME_ZONE);
        Side { server, client }
    }

    fn send(&mut self, queries: &[String]) {
        let messages: Vec<Vec<u8>> = queries.iter().map(|text| query(text)).collect();
        self.client.raw(&messages.concat());
    }

    fn answers(&mut self, queries: &[String]) -> Vec<Answer> {
        let mut answers = Vec::with_capacity(queries.len());
        while answers.len() < queries.len() {
            let messages = self.client.until(b'Z');
            answers.push(answer(&messages));
            // A panic ends the session.
            if messages.last().is_none_or(|message| message.kind != b'Z') {
                *self = Side::new(self.server);
                self.send(&queries[answers.len()..]);
            }
        }
        answers
    }
}

fn answer(messages: &[Message]) -> Answer {
    if let Some(error) = messages.iter().find(|message| message.kind == b'E') {
        let field = |code| error.field(code).unwrap_or_default();
        return Answer::Error(field(b'C'), field(b'M'));
    }
    if messages.last().is_none_or(|message| message.kind != b'Z') {
        return Answer::Error(String::new(), "the session ended".to_string());
    }
    let row = |message: &Message| {
        let columns = message.columns();
        let shown = columns.iter().map(|column| match column {
            Some(bytes) => format!("'{}'", String::from_utf8_lossy(bytes)),
            None => "null".to_string(),
        });
        shown.collect::<Vec<_>>().join(", ")
    };
    let mut rows: Vec<String> = messages.iter().filter(|m| m.kind == b'D').map(row).collect();
    rows.sort();
    Answer::Rows(rows)
}

/// Says where the test was if a server falls silent.
struct At<'a>(u64, &'a [String]);

impl Drop for At<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("behind seed {}\n{};", self.0, self.1.join(";\n"));
        }
    }
}

/// What was found.
#[derive(Default)]
struct Tally {
    report: String,
    failures: usize,
    errors: u64,
    empty: u64,
    slow: u64,
}

impl Tally {
    fn note(&mut self, seed: u64, query: &str, expected: &Answer, got: &Answer) {
        let is_slow = |answer: &Answer| matches!(answer, Answer::Error(state, _) if state == QUERY_CANCELED);
        match expected {
            _ if is_slow(expected) || is_slow(got) => {
                self.slow += 1;
                return;
            }
            Answer::Error(..) => self.errors += 1,
            Answer::Rows(rows) if rows.is_empty() => self.empty += 1,
            Answer::Rows(_) => {}
        }
        if got != expected {
            let _ = write!(
                self.report,
                "\n=== seed {seed}\n{query};\nPostgreSQL: {expected:?}\nmote:       {got:?}\n"
            );
            self.failures += 1;
        }
    }
}

/// Takes batches of seeds until there are no more, or enough has failed.
fn compare(oracle: &TestServer, server: &TestServer, next: &AtomicU64, end: u64, tally: &Mutex<Tally>) {
    let (mut expecting, mut getting) = (Side::new(oracle), Side::new(server));
    loop {
        let first = next.fetch_add(BATCH, Ordering::Relaxed);
        if first >= end || tally.lock().expect("no panic held it").failures >= FAILURES_MAX {
            return;
        }
        let seeds = first..end.min(first + BATCH);
        let queries: Vec<String> = seeds
            .clone()
            .map(|seed| Generator::new(seed).statement())
            .collect();
        let _at = At(first, &queries);
        getting.send(&queries);
        expecting.send(&queries);
        let (expected, got) = (expecting.answers(&queries), getting.answers(&queries));
        let mut tally = tally.lock().expect("no panic held it");
        for (((seed, query), expected), got) in seeds.zip(&queries).zip(&expected).zip(&got) {
            tally.note(seed, query, expected, got);
        }
    }
}

#[test]
fn agree_with_postgresql() {
    let postgres = PostgresServer::start();
    let oracle = TestServer::in_server(&postgres.url());
    let mut server = TestServer::start("random-queries");
    for server in [&oracle, &server] {
        RawClient::connect(server).rows(TABLES);
    }
    let seeds = seeds();
    let (next, tally) = (AtomicU64::new(seeds.start), Mutex::new(Tally::default()));
    std::thread::scope(|scope| {
        for _ in 0..from_environment("MOTE_IT_SESSIONS", 1) {
            scope.spawn(|| compare(&oracle, &server, &next, seeds.end, &tally));
        }
    });
    let Tally {
        report,
        failures,
        errors,
        empty,
        slow,
    } = tally.into_inner().expect("no panic held it");
    assert!(failures == 0, "{failures} queries{report}");
    println!("seeds {seeds:?}: {errors} errors, {empty} empty, {slow} too slow");
    // Else the generator compares nothing.
    let count = seeds.end - seeds.start;
    assert!(errors * 10 < count && empty * 2 < count && slow * 10 < count);
    server.assert_unharmed();
}
