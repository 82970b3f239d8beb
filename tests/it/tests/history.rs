//! Histories of concurrent transactions, checked for anomalies: on mote what a level forbids must not appear, also
//! when statements are cancelled and the server is killed; on PostgreSQL the same checker finds what is allowed there.
//!
//! Each run prints its seed and its command line; threads decide the rest.

use std::process::{Command, Stdio};

use mote_it::clients::{Said, run_with_input};
use mote_it::postgres::PostgresServer;
use mote_it::server::mote_binary;

/// A run that had too little time on a busy machine is run again with more of it.
const DURATIONS_S: [&str; 3] = ["3", "12", "48"];

fn history(duration_s: &str, options: &[&str]) -> Said {
    let seed = (mote_common::env::real::entropy_u64() % 1_000_000).to_string();
    let mut command = Command::new(mote_binary());
    command
        .args(["bench", "history", "--duration", duration_s, "--seed", &seed])
        .args(options)
        .stdin(Stdio::null());
    println!("{command:?}");
    run_with_input(&mut command, "", "the mote binary itself")
}

/// Passes however long it runs, and committed something worth checking.
#[track_caller]
fn holds(options: &[&str]) {
    let mut out = String::new();
    for duration_s in DURATIONS_S {
        out = history(duration_s, options).good();
        let committed = out
            .lines()
            .find_map(|line| line.strip_prefix("committed"))
            .and_then(|rest| rest.trim().parse::<u64>().ok());
        if committed.is_some_and(|count| count > 100) {
            return;
        }
    }
    panic!("{out}");
}

/// An anomaly that the level allows is found in the end.
#[track_caller]
fn shows(anomaly: &str, options: &[&str]) {
    let options = [&["--expect", anomaly], options].concat();
    let missed = |said: &Said| !said.ok && said.out.contains(&format!("FAIL expected to find {anomaly}"));
    let mut said = history(DURATIONS_S[0], &options);
    for duration_s in &DURATIONS_S[1..] {
        if !missed(&said) {
            break;
        }
        said = history(duration_s, &options);
    }
    said.good();
}

#[test]
fn read_committed_holds_under_cancels() {
    holds(&[
        "--isolation",
        "read-committed",
        "--workload",
        "append",
        "--cancel-every",
        "7",
    ]);
    holds(&[
        "--isolation",
        "read-committed",
        "--workload",
        "register",
        "--cancel-every",
        "7",
    ]);
}

#[test]
fn repeatable_read_holds_under_cancels() {
    holds(&[
        "--isolation",
        "repeatable-read",
        "--workload",
        "append",
        "--cancel-every",
        "7",
    ]);
    holds(&[
        "--isolation",
        "repeatable-read",
        "--workload",
        "register",
        "--cancel-every",
        "7",
    ]);
}

/// Transactions that a lock makes serial are so at READ COMMITTED, too: on mote, and on PostgreSQL.
#[test]
fn locks_make_read_committed_serial() {
    let postgres = PostgresServer::start();
    let url = postgres.url();
    for lock in [
        "table",
        "advisory",
        "try-advisory",
        "advisory-session",
        "row",
        "skip-locked",
    ] {
        for workload in ["append", "register"] {
            let options = [
                "--isolation",
                "read-committed",
                "--lock",
                lock,
                "--workload",
                workload,
            ];
            holds(&options);
            if workload == "register" {
                holds(&[&options[..], &["--target", &url]].concat());
            }
        }
    }
    // Statements that are cancelled leave no lock behind, and no word of what never was.
    holds(&[
        "--isolation",
        "read-committed",
        "--lock",
        "table",
        "--cancel-every",
        "7",
    ]);
}

#[test]
fn kills_lose_no_acknowledged_write_and_show_no_anomaly() {
    holds(&[
        "--isolation",
        "read-committed",
        "--workload",
        "append",
        "--kill-every",
        "0.8",
    ]);
    holds(&[
        "--isolation",
        "repeatable-read",
        "--workload",
        "register",
        "--kill-every",
        "0.8",
    ]);
}

#[test]
fn serializable_holds_under_cancels_and_kills() {
    holds(&[
        "--isolation",
        "serializable",
        "--workload",
        "append",
        "--cancel-every",
        "7",
    ]);
    holds(&[
        "--isolation",
        "serializable",
        "--workload",
        "register",
        "--kill-every",
        "0.8",
    ]);
}

/// The control: a checker that finds nothing anywhere proves nothing.
#[test]
fn postgres_shows_what_its_levels_allow() {
    let postgres = PostgresServer::start();
    let url = postgres.url();
    let target = ["--target", &url];
    let at = |level| [&target[..], &["--isolation", level]].concat();
    shows("G2-item", &at("repeatable-read"));
    shows("G-single", &at("read-committed"));
    shows(
        "lost-update",
        &[at("read-committed"), vec!["--workload", "register"]].concat(),
    );
    holds(&at("serializable"));
}
