//! mote: server and laboratory in one binary.
//!
//! One file per sub-command under `command`. Leaves out: everything but the command line itself.

mod allocator;
mod command;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// mote: a memory-optimized SQL database on PostgreSQL's wire protocol, and the laboratory that measures it.
///
/// Start a server and connect with any PostgreSQL client:
///
///     mote serve --data ./data
///     psql -h 127.0.0.1 -U postgres
///
/// Keep the data safe, and look whether it is sound:
///
///     mote backup --to ./backups/monday
///     mote restore --backup ./backups/monday --data ./restored
///     mote check ./data
///
/// Have a second server that can take its place:
///
///     mote serve --data ./second --listen 127.0.0.1:5433 --follow postgres://postgres@127.0.0.1:5432/postgres
///     mote promote --url postgres://postgres@127.0.0.1:5433/postgres
///
/// Measure it, or any other server of that wire, honestly:
///
///     mote bench tpcc
///     mote bench tpcc --target postgres://user@host:5432/database
#[derive(Parser)]
#[command(name = "mote", version, verbatim_doc_comment, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// The commands; their texts stand on their argument structures, in short and long form.
#[derive(Subcommand)]
enum Command {
    Serve(command::serve::ServeArguments),
    Backup(command::backup::BackupArguments),
    Restore(command::restore::RestoreArguments),
    Check(command::check::CheckArguments),
    Promote(command::promote::PromoteArguments),
    Switchover(command::switchover::SwitchoverArguments),
    Cluster(command::cluster::ClusterArguments),
    /// Measure a server: TPC-C, point selects, ingest, comparisons; check its isolation
    Bench(mote_bench::BenchCommand),
}

fn main() -> ExitCode {
    // For all commands: a check reads as many files as a server, a bench opens as many connections.
    mote_common::env::descriptors::raise_limit();
    match Arguments::parse().command {
        Command::Serve(arguments) => command::serve::run(&arguments),
        Command::Backup(arguments) => command::backup::run(&arguments),
        Command::Restore(arguments) => command::restore::run(&arguments),
        Command::Check(arguments) => command::check::run(&arguments),
        Command::Promote(arguments) => command::promote::run(&arguments),
        Command::Switchover(arguments) => command::switchover::run(&arguments),
        Command::Cluster(arguments) => command::cluster::run(&arguments),
        Command::Bench(bench) => mote_bench::run(bench),
    }
}
