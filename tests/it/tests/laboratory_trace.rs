//! What the laboratory's order entry sends to PostgreSQL 15, as the server's log has it, beside what BenchmarkSQL sends
//! (`benchmarksql_trace.txt`): the same statements in the same order for each type of transaction, rollback included.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use mote_it::clients::run_with_input;
use mote_it::postgres::PostgresServer;
use mote_it::server::mote_binary;

const BENCHMARKSQL: &str = include_str!("benchmarksql_trace.txt");
/// One order in a hundred is rolled back; on a slow machine a run may have none.
const RUNS_MAX: usize = 20;

/// The words of a statement, without punctuation and parameters.
fn words(sql: &str) -> String {
    let lower = sql.to_ascii_lowercase();
    let words = lower.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$'));
    let words: Vec<&str> = words
        .filter(|word| !word.is_empty() && !word.starts_with('$'))
        .collect();
    words.join(" ")
}

/// Names by the words of statements, and types by what they send.
fn benchmarksql() -> (
    BTreeMap<&'static str, &'static str>,
    BTreeMap<&'static str, &'static str>,
) {
    let mut known = (BTreeMap::new(), BTreeMap::new());
    for line in BENCHMARKSQL.lines() {
        let mut parts = line.splitn(3, ' ');
        match (parts.next(), parts.next(), parts.next()) {
            (Some("statement"), Some(name), Some(words)) => known.0.insert(words, name),
            (Some("transaction"), Some(name), Some(sent)) => known.1.insert(sent, name),
            _ => None,
        };
    }
    known
}

/// Puts what follows itself at least once into brackets.
fn folded(mut names: Vec<String>) -> String {
    for length in 1..=8 {
        let mut at = 0;
        while at + 2 * length <= names.len() {
            let pattern = names[at..at + length].to_vec();
            let times = names[at..]
                .chunks(length)
                .take_while(|chunk| *chunk == pattern)
                .count();
            if times > 1 {
                names.splice(at..at + times * length, [format!("({})*", pattern.join(" "))]);
            }
            at += 1;
        }
    }
    names.join(" ")
}

/// The finished transactions of all sessions in a log with `%c|` before each line.
fn transactions(log: &str, names: &BTreeMap<&str, &str>) -> BTreeSet<String> {
    let mut open: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut sent = BTreeSet::new();
    for line in log.lines() {
        let Some((session, statement)) = line
            .split_once("|LOG:  execute ")
            .and_then(|(session, rest)| Some((session, rest.split_once(": ")?.1)))
        else {
            continue;
        };
        let words = words(statement);
        let name = names.get(words.as_str());
        let name = name.unwrap_or_else(|| panic!("BenchmarkSQL does not send \"{statement}\""));
        let transaction = open.entry(session).or_default();
        transaction.push(name.to_string());
        if matches!(*name, "commit" | "rollback") {
            sent.insert(folded(std::mem::take(transaction)));
        }
    }
    sent
}

fn tpcc(url: &str, load: &str, seed: usize) {
    let mut command = Command::new(mote_binary());
    let seed = seed.to_string();
    command.args([
        "bench", "tpcc", "-w", "1", "-c", "1", "-d", "4", "--warmup", "0.1", "-q",
    ]);
    command.args([
        "--mix",
        "45,43,4,4,4",
        "--load",
        load,
        "--seed",
        &seed,
        "--target",
        url,
    ]);
    // A short run may miss a share of the mix, which is no matter here.
    let said = run_with_input(&mut command, "", "the mote binary itself");
    assert!(said.out.contains("NOPM"), "{} {}", said.out, said.err);
}

#[test]
fn order_entry_sends_what_benchmarksql_sends() {
    let (names, types) = benchmarksql();
    let postgres = PostgresServer::start_with("-c log_line_prefix='%c|'");
    let url = postgres.url();
    {
        // The load, which BenchmarkSQL does otherwise, is not logged.
        let mut load = Command::new(mote_binary());
        load.args([
            "bench", "tpcc", "-w", "1", "-c", "2", "-q", "--load", "only", "--target", &url,
        ]);
        run_with_input(&mut load, "", "the mote binary itself").good();
    }
    postgres.execute("ALTER SYSTEM SET log_statement = 'all'");
    postgres.execute("SELECT pg_reload_conf()");
    let mut seen = BTreeSet::new();
    for run in 1..=RUNS_MAX {
        tpcc(&url, "never", run);
        seen = transactions(&postgres.log(), &names);
        if types.keys().all(|sent| seen.contains(*sent)) {
            break;
        }
    }
    for sent in &seen {
        assert!(
            types.contains_key(sent.as_str()),
            "BenchmarkSQL has no transaction that sends {sent}"
        );
    }
    for (sent, name) in &types {
        assert!(seen.contains(*sent), "no {name} was sent: {sent}");
    }
}
