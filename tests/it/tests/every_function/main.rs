//! Every function, operator and cast that PostgreSQL 15 and mote both have, called on both with odd values of its
//! argument types: NULL, the empty, the extremes, infinities, NaN, long and strange text. Compared are the value, or
//! the SQLSTATE with the message.
//!
//! What is called stands in PostgreSQL's catalog and is taken where mote's catalog has it under the same OID (`calls`);
//! the values are in `values`. Where the two may differ, `allowed.txt` says it with a reason; a line there that matches
//! nothing any more fails the test, so that the list cannot outlive its reasons.
//! The calls of a function follow from a seed and its own name: `MOTE_IT_SEED=7` makes others than the usual ones, `MOTE_IT_CALLS=20` makes more of
//! them per function, `MOTE_IT_FUNCTION=jsonb_set` only those that contain the word.

mod calls;
mod values;

use std::fmt::Write;

use mote_it::TestServer;
use mote_it::allowed::{Allowed, Answer};
use mote_it::postgres::PostgresServer;
use mote_it::wire::{RawClient, query};

use calls::Call;

const SEED: u64 = 15;
/// Calls of one function, operator or cast, where its arguments allow so many.
const CALLS: usize = 5;
/// Sent before the first answer is read: few enough for the buffers of the sockets.
const BATCH: usize = 40;
/// Differences printed before the rest is only counted.
const PRINTED: usize = 60;
/// Too long for one of them: says nothing about the value.
const CANCELED: &str = "57014";

const SET_UP: &[&str] = &[
    "set statement_timeout = '2s'",
    "set timezone = 'UTC'",
    "create type mood as enum ('sad', 'ok', 'happy')",
];

fn number_from(variable: &str, usual: u64) -> u64 {
    let read = |text: String| text.parse().expect("a number");
    std::env::var(variable).map_or(usual, read)
}

fn connect(server: &TestServer) -> RawClient {
    let mut client = RawClient::connect(server);
    for statement in &SET_UP[..2] {
        client.rows(statement);
    }
    client
}

/// The answers of a server, in the order of the calls.
fn answers(server: &TestServer, calls: &[Call]) -> Vec<Answer> {
    let mut answers: Vec<Answer> = Vec::with_capacity(calls.len());
    let mut client = connect(server);
    while answers.len() < calls.len() {
        let rest = &calls[answers.len()..];
        let batch = &rest[..rest.len().min(BATCH)];
        let sent: Vec<u8> = batch.iter().flat_map(|call| query(&call.text)).collect();
        client.try_raw(&sent);
        for _ in batch {
            let answer = Answer::of(&client.until(b'Z'));
            let lost = answer == Answer::Lost;
            answers.push(answer);
            if lost {
                client = connect(server);
                break;
            }
        }
    }
    answers
}

#[test]
fn every_function_answers_as_postgresql_does() {
    let postgres = PostgresServer::start();
    let control = TestServer::in_server(&postgres.url());
    let mote = TestServer::start_with("every-function", &[]);
    for server in [&control, &mote] {
        let mut client = RawClient::connect(server);
        for statement in SET_UP {
            client.rows(statement);
        }
    }
    let seed = number_from("MOTE_IT_SEED", SEED);
    let each = number_from("MOTE_IT_CALLS", CALLS as u64) as usize;
    let mut calls = calls::of_catalogs(&control, &mote, seed, each);
    let word = std::env::var("MOTE_IT_FUNCTION").ok();
    if let Some(word) = &word {
        calls.retain(|call| call.text.contains(word.as_str()));
    }
    let minor = postgres.minor_release();
    println!("seed {seed}, {} calls, PostgreSQL 15.{minor}", calls.len());
    let (got, expected) = std::thread::scope(|scope| {
        let expected = scope.spawn(|| answers(&control, &calls));
        let got = answers(&mote, &calls);
        (got, expected.join().expect("PostgreSQL answers"))
    });
    let mut allowed = Allowed::read(include_str!("allowed.txt"), minor);
    let mut report = String::new();
    let mut differences = 0;
    for ((call, expected), got) in calls.iter().zip(&expected).zip(&got) {
        let slow = expected.is_error(CANCELED) || got.is_error(CANCELED);
        if expected == got || slow || allowed.covers(&call.name, expected, got) {
            continue;
        }
        differences += 1;
        if differences <= number_from("MOTE_IT_PRINTED", PRINTED as u64) as usize {
            let _ = writeln!(
                report,
                "{}\n  {}\n  PostgreSQL: {expected:?}\n  mote:       {got:?}",
                call.name, call.text
            );
        }
    }
    assert!(
        differences == 0,
        "seed {seed}: {differences} answers differ\n{report}"
    );
    // Other calls than the usual ones need not meet every difference.
    if seed == SEED && each == CALLS && word.is_none() {
        let unused = allowed.unused();
        assert!(
            unused.is_empty(),
            "allowed.txt allows what no longer differs: {unused:#?}"
        );
    }
}
