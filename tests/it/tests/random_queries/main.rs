//! Random queries on mote and on a real PostgreSQL 15: the same rows, the same SQLSTATEs.
//!
//! A query follows from its seed (`generator`). `MOTE_IT_SEEDS=1000..2000` runs others than the usual ones; a failure
//! prints the seed, the query and both answers.

mod generator;

use std::fmt::Write;
use std::ops::Range;

use mote_it::TestServer;
use mote_it::postgres::PostgresServer;
use mote_it::wire::RawClient;

use generator::{Generator, TABLES};

const SEEDS: Range<u64> = 0..150;
/// Failures printed before the run is given up.
const FAILURES_MAX: usize = 20;
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

fn connect(server: &TestServer) -> RawClient {
    let mut client = RawClient::connect(server);
    client.rows(TIMEOUT);
    client.rows(TIME_ZONE);
    client
}

fn ask(client: &mut RawClient, server: &TestServer, query: &str) -> Answer {
    let messages = client.query(query);
    if messages.last().is_none_or(|message| message.kind != b'Z') {
        // A panic ends the session.
        *client = connect(server);
    }
    if let Some(error) = messages.iter().find(|message| message.kind == b'E') {
        let field = |code| error.field(code).unwrap_or_default();
        return Answer::Error(field(b'C'), field(b'M'));
    }
    let row = |message: &mote_it::wire::Message| {
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
struct At<'a>(u64, &'a str);

impl Drop for At<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("at seed {}\n{};", self.0, self.1);
        }
    }
}

#[test]
fn agree_with_postgresql() {
    let postgres = PostgresServer::start();
    let oracle = TestServer::in_server(&postgres.url());
    let mut server = TestServer::start("random-queries");
    let mut clients = [connect(&oracle), connect(&server)];
    for client in &mut clients {
        client.rows(TABLES);
    }
    let [expecting, getting] = &mut clients;
    let mut report = String::new();
    let (mut failures, mut errors, mut empty, mut slow) = (0, 0, 0, 0);
    let seeds = seeds();
    for seed in seeds.clone() {
        let query = Generator::new(seed).statement();
        let _at = At(seed, &query);
        let expected = ask(expecting, &oracle, &query);
        match &expected {
            Answer::Error(state, _) if state == QUERY_CANCELED => {
                slow += 1;
                continue;
            }
            Answer::Error(..) => errors += 1,
            Answer::Rows(rows) if rows.is_empty() => empty += 1,
            Answer::Rows(_) => {}
        }
        let got = ask(getting, &server, &query);
        if matches!(&got, Answer::Error(state, _) if state == QUERY_CANCELED) {
            slow += 1;
            continue;
        }
        if got != expected {
            let _ = write!(
                report,
                "\n=== seed {seed}\n{query};\nPostgreSQL: {expected:?}\nmote:       {got:?}\n"
            );
            failures += 1;
            if failures == FAILURES_MAX {
                break;
            }
        }
    }
    assert!(failures == 0, "{failures} queries{report}");
    println!("seeds {seeds:?}: {errors} errors, {empty} empty, {slow} too slow");
    // Else the generator compares nothing.
    let count = seeds.end - seeds.start;
    assert!(errors * 10 < count && empty * 2 < count && slow * 10 < count);
    server.assert_unharmed();
}
