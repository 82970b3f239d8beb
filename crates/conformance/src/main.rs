//! PostgreSQL's own test suites, run against mote: development only, no part of the product.
//!
//! `isolation`: two or more sessions, their steps interleaved, and everything they print compared with what PostgreSQL
//! prints. `regress`: single sessions, statement by statement beside a live PostgreSQL. The suites' files are fetched by
//! `scripts/postgres15_source.sh` and are not part of this repository. Design: `docs/design/0009-conformance.md`.
#![forbid(unsafe_code)]

mod isolation;
mod regress;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Runs PostgreSQL's test suites against a server.
///
/// Exit code 0: every difference is a known one. 1: something differs that should not, or no longer differs. 2: the
/// suite could not be run.
#[derive(Parser)]
#[command(name = "mote-conformance", arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    suite: Suite,
}

#[derive(Subcommand)]
enum Suite {
    /// src/test/isolation: sessions that interleave, wait for each other and deadlock
    Isolation(isolation::suite::IsolationArguments),
    /// src/test/regress: every statement beside a live PostgreSQL 15
    Regress(regress::suite::RegressArguments),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().suite {
        Suite::Isolation(arguments) => isolation::suite::run(&arguments),
        Suite::Regress(arguments) => regress::suite::run(&arguments),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("mote-conformance: {error}");
            ExitCode::from(2)
        }
    }
}
