//! The laboratory's own proofs, as a user runs them: the tests of TPC-C's clause 3 on mote and on PostgreSQL, and a short run
//! with what the specification asks of it.

use std::process::Command;

use mote_it::clients::{Said, run_with_input};
use mote_it::postgres::PostgresServer;
use mote_it::server::mote_binary;

fn bench(arguments: &[&str]) -> Said {
    let mut command = Command::new(mote_binary());
    command.arg("bench").args(arguments);
    run_with_input(&mut command, "", "the mote binary itself")
}

/// The tests by their names, with PASS, FAIL or NOTE.
fn verdicts(out: &str) -> Vec<(&str, &str)> {
    let words = out
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    words
        .filter(|words| words.len() > 2 && words[1].len() == 2 && words[1].starts_with(['A', 'I']))
        .map(|words| (words[1], words[0]))
        .collect()
}

const ALL: [&str; 11] = ["A1", "A2", "I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8", "I9"];

#[test]
fn mote_passes_atomicity_and_isolation() {
    for level in ["repeatable-read", "serializable"] {
        let out = bench(&["acid", "-w", "1", "-q", "--isolation", level]).good();
        let passed: Vec<_> = ALL.iter().map(|name| (*name, "PASS")).collect();
        assert_eq!(verdicts(&out), passed, "{out}");
    }
}

#[test]
fn postgres_shows_what_read_committed_allows() {
    let postgres = PostgresServer::start();
    let out = bench(&[
        "acid",
        "-w",
        "1",
        "-q",
        "--isolation",
        "read-committed",
        "--target",
        &postgres.url(),
    ])
    .good();
    for (name, word) in verdicts(&out) {
        let expected = if matches!(name, "I7" | "I8" | "I9") {
            "NOTE"
        } else {
            "PASS"
        };
        assert_eq!(word, expected, "{name}: {out}");
    }
    assert_eq!(verdicts(&out).len(), ALL.len(), "{out}");
}

#[test]
fn a_run_has_the_mix_it_was_asked_for_and_a_delivery_result_file() {
    let results = std::env::temp_dir().join(format!("mote-it-deliveries-{}", std::process::id()));
    let path = results.display().to_string();
    let out = bench(&[
        "tpcc",
        "-w",
        "1",
        "-c",
        "4",
        "-d",
        "3",
        "--warmup",
        "0",
        "-q",
        "--mix",
        "50,0,0,50,0",
        "--delivery-results",
        &path,
    ])
    .good();
    let text = std::fs::read_to_string(&results).expect("the file was written");
    std::fs::remove_file(&results).expect("it is ours");
    // 900 orders wait in each of ten districts, and a delivery takes ten of them; few are entered beside.
    let delivered: usize = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').skip(4).filter(|order| !order.is_empty()).count())
        .sum();
    assert!(delivered >= 10, "{delivered} orders:\n{out}");
    assert!(out.contains("NOTE payments of all transactions"), "{out}");
}
