//! The laboratory without the server binary: `cargo run -p mote-bench --example bench -- bench tpcc --target ...`.
//! Experiments that start a server of their own need the `mote` binary.

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
enum Cli {
    Bench(mote_bench::BenchCommand),
}

fn main() -> ExitCode {
    let Cli::Bench(command) = Cli::parse();
    mote_bench::run(command)
}
