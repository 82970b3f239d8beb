//! `mote cluster`: several servers with one log, seen from outside.
//!
//! `status` reads what etcd has recorded, asks every node (`nodes`), and says in words what the next failure costs
//! (`report`). `sync` says whom commits shall wait for; `record` brings a lost record back. `demo` starts an etcd and three nodes as its children (`children`). Leaves out: a node's own part in its
//! cluster (`mote serve --cluster`).

mod children;
pub mod demo;
mod nodes;
pub mod record;
mod report;
pub mod status;
pub mod sync;

use std::process::ExitCode;

use clap::{Args, Subcommand};

/// Look at a cluster of servers, or try one out
///
/// A cluster is a primary and those who follow it; they elect another one when it fails. docs/operations.md tells how to
/// run one.
#[derive(Args)]
pub struct ClusterArguments {
    #[command(subcommand)]
    command: ClusterCommand,
}

#[derive(Subcommand)]
enum ClusterCommand {
    Status(status::StatusArguments),
    Sync(sync::SyncArguments),
    Record(record::RecordArguments),
    Demo(demo::DemoArguments),
    #[command(hide = true)]
    Child(children::ChildArguments),
}

pub fn run(arguments: &ClusterArguments) -> ExitCode {
    match &arguments.command {
        ClusterCommand::Status(arguments) => status::run(arguments),
        ClusterCommand::Sync(arguments) => sync::run(arguments),
        ClusterCommand::Record(arguments) => record::run(arguments),
        ClusterCommand::Demo(arguments) => demo::run(arguments),
        ClusterCommand::Child(arguments) => children::become_child(arguments),
    }
}
