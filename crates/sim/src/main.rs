//! `mote-sim --seeds N [--seed S] [--lives L] [--steps T]`: runs seeds S, S+1, ... and stops at the first that fails.

use std::process::ExitCode;

use mote_sim::{Options, Report, run};

const USAGE: &str = "usage: mote-sim [--seeds N] [--seed S] [--lives L] [--steps T]";

fn main() -> ExitCode {
    let (mut first, mut count, mut options) = (0u64, 100u64, Options::default());
    let mut arguments = std::env::args().skip(1);
    let mut only_seed = false;
    let mut seeds_given = false;
    while let Some(name) = arguments.next() {
        let Some(value) = arguments.next().and_then(|value| value.parse::<u64>().ok()) else {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        };
        match name.as_str() {
            "--seeds" => (count, seeds_given) = (value, true),
            "--seed" => (first, only_seed) = (value, true),
            "--lives" => options.lives = value as u32,
            "--steps" => options.steps = value,
            _ => {
                eprintln!("{USAGE}");
                return ExitCode::from(2);
            }
        }
    }
    if only_seed && !seeds_given {
        count = 1;
    }
    run_seeds(first, count, options)
}

fn run_seeds(first: u64, count: u64, options: Options) -> ExitCode {
    let mut total = Report::default();
    for seed in first..first.saturating_add(count) {
        // A panic inside must still name the seed.
        let result = std::panic::catch_unwind(|| run(seed, options))
            .unwrap_or_else(|_| Err("a panic, see above".into()));
        match result {
            Ok(report) => total.add(&report),
            Err(error) => {
                eprintln!("seed {seed}: {error}");
                eprintln!(
                    "repeat with: cargo run -p mote-sim -- --seed {seed} --lives {} --steps {}",
                    options.lives, options.steps
                );
                return ExitCode::FAILURE;
            }
        }
    }
    println!("{count} seeds from {first}: {total:?}");
    ExitCode::SUCCESS
}
