//! The laboratory's commands: what a user types, and what happens then.
//!
//! Read in this order: `args` (the command line, whose help is the manual), `tpcc`, `properties` (BenchmarkSQL's files), `workload`
//! (TPC-B, YCSB, TATP, SmallBank), `acid`, `verify`, `history` (anomalies), `simple` (point, ingest, canned), `agent` (terminals for
//! another host), `victim` (whom faults hurt), `find_rate`, `quiet` (an observer that says nothing each second), `versus` (any systems, with
//! intervals), `systems` and `cluster_file` (how they are named and started), `pair` (a primary and its standby, hurt by a `harm`)
//! with `replication` and `failover`, `seeds` (the published `experiments`), `runs` (what a store holds), `compare`, `sweep`, `hotrow`,
//! `neighbours` (heavy statements beside small ones), `shards` (several servers at once), `restart` (coldstart, replay),
//! `checkpoint`, `group_commit`, `contenders` (several servers that do the same in turn) with `asked` (questions), `tpch`, `ch`,
//! `sysbench` and `speed` (all of them against targets, `judgement`).
//!
//! Each command returns whether everything it proves holds; an `Err` is a failure to run at all.

pub mod args;
mod harm;
mod experiments;
pub(crate) mod tpcc;
mod agent;
mod acid;
mod verify;
mod victim;
mod systems;
mod cluster_file;
pub(crate) mod pair;
mod replication;
mod failover;
mod workload;
mod simple;
mod judgement;
mod compare;
mod sweep;
mod shards;
mod history;
mod hotrow;
mod neighbours;
mod contenders;
mod asked;
mod tpch;
mod ch;
mod speed;
mod sysbench;
mod restart;
mod checkpoint;
mod group_commit;
mod quiet;
mod find_rate;
mod properties;
pub mod seeds;
pub mod versus;
pub mod runs;

use std::process::ExitCode;

use self::args::{BenchCommand, Experiment, TargetArgs};
use crate::report::json;
use crate::server::{EmbeddedServer, RunningServer, SpawnedServer};
use crate::web::Web;
use mote_driver::Target;
use mote_driver::url::Host;
use mote_measure::cpu::{self, ProcessTree};
use mote_measure::pinning::Processors;

/// Runs a command; servers of its own are child processes of this same binary.
pub fn run(command: BenchCommand) -> ExitCode {
    match SpawnedServer::this_binary() {
        Ok(embedded) => run_with(command, &embedded),
        Err(error) => {
            eprintln!("mote bench: cannot find this program's own binary: {error}");
            ExitCode::from(2)
        }
    }
}

/// Runs a command with servers from `embedded`. Exit code 0: done and proven; 1: a proof or a target failed; 2: the
/// experiment could not be run.
pub fn run_with(command: BenchCommand, embedded: &dyn EmbeddedServer) -> ExitCode {
    let web = match command.web.map(|port| Web::open(&title(), port)).transpose() {
        Ok(web) => web,
        Err(error) => {
            eprintln!("mote bench: {error}");
            return ExitCode::from(2);
        }
    };
    let result = one(command.experiment, embedded);
    if let Some(web) = web {
        web.end(result == Ok(true));
    }
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("mote bench: {error}");
            ExitCode::from(2)
        }
    }
}

/// The command as it was typed, without where the program lies.
fn title() -> String {
    let words = json::command();
    words.get(1..).unwrap_or_default().join(" ")
}

/// Whether everything holds that the experiment proves; an error is that it could not be run.
fn one(experiment: Experiment, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    match experiment {
        Experiment::Tpcc(args) => tpcc::run(&args, embedded),
        Experiment::Tpcb(args) => workload::tpcb(&args, embedded),
        Experiment::Ycsb(args) => workload::ycsb(&args, embedded),
        Experiment::Tatp(args) => workload::tatp(&args, embedded),
        Experiment::SmallBank(args) => workload::smallbank(&args, embedded),
        Experiment::Acid(args) => acid::run(&args, embedded),
        Experiment::Verify(args) => verify::run(&args),
        Experiment::Point(args) => simple::point(&args, embedded),
        Experiment::Ingest(args) => simple::ingest(&args, embedded),
        Experiment::Agent(args) => agent::run(&args),
        Experiment::Canned(args) => simple::canned(&args),
        Experiment::Compare(args) => compare::run(&args, embedded),
        Experiment::Sweep(args) => sweep::run(&args, embedded),
        Experiment::Shards(args) => shards::run(&args, embedded),
        Experiment::History(args) => history::run(&args, embedded),
        Experiment::HotRow(args) => hotrow::run(&args, embedded),
        Experiment::Neighbours(args) => neighbours::run(&args, embedded),
        Experiment::Coldstart(args) => restart::cold_starts(&args, embedded),
        Experiment::Replay(args) => restart::replay(&args, embedded),
        Experiment::Checkpoint(args) => checkpoint::run(&args, embedded),
        Experiment::Replication(args) => replication::run(&args, embedded),
        Experiment::FailOver(args) => failover::run(&args, embedded),
        Experiment::TpcH(args) => tpch::run(&args, embedded),
        Experiment::Ch(args) => ch::run(&args, embedded),
        Experiment::Speed(args) => speed::run(&args, embedded),
        Experiment::Sysbench(args) => sysbench::run(&args, embedded),
        Experiment::Versus(args) => versus::run(&args, embedded),
        Experiment::Seeds(args) => seeds::run(&args, embedded),
        Experiment::Runs(args) => runs::list(&args),
        Experiment::Diff(args) => runs::diff(&args),
        Experiment::Groupcommit(args) => group_commit::run(&args, embedded),
    }
}

/// The server that an experiment runs against: named by the user, or started for it.
struct Subject {
    target: Target,
    processes: Option<ProcessTree>,
    /// Kept alive for the experiment.
    own: Option<Box<dyn RunningServer>>,
    /// Its processors, where it shall not run on all of them.
    kept_on: Option<Processors>,
}

impl Subject {
    fn new(args: &TargetArgs, embedded: &dyn EmbeddedServer) -> Result<Subject, String> {
        let Some(pins) = &args.pin else {
            return Subject::open(args, embedded);
        };
        let failed = |error: std::io::Error| format!("--pin: {error}");
        // Before it is started: a server makes as many threads as it sees processors, and sees those of who starts it.
        pins.server.keep_this_thread().map_err(failed)?;
        let mut subject = Subject::open(args, embedded)?;
        if args.target.is_some() {
            let there = subject
                .processes
                .ok_or("--pin needs a server whose processes are on this machine")?;
            there.pin(&pins.server).map_err(failed)?;
        }
        // Driver threads are made by this one.
        pins.driver.keep_this_thread().map_err(failed)?;
        subject.kept_on = Some(pins.server.clone());
        Ok(subject)
    }

    fn open(args: &TargetArgs, embedded: &dyn EmbeddedServer) -> Result<Subject, String> {
        let Some(url) = &args.target else {
            let other = args
                .serve_program
                .clone()
                .map(|program| SpawnedServer { program });
            let starter = other.as_ref().map_or(embedded, |other| other);
            let own = starter.start(args.data.as_deref(), &args.serve_option)?;
            let target = Target::parse(own.url())?;
            return Ok(Subject {
                target,
                processes: ProcessTree::new(own.pid()),
                own: Some(own),
                kept_on: None,
            });
        };
        if args.data.is_some() || args.serve_program.is_some() || !args.serve_option.is_empty() {
            return Err(
                "--data, --serve-program and --serve-option are for the experiment's own server, not for --target".into(),
            );
        }
        let target = Target::parse(url)?;
        let pid = args.server_pid.or_else(|| local_server(&target));
        let processes = pid.and_then(ProcessTree::new);
        if args.server_pid.is_some() && processes.is_none() {
            return Err(format!("there is no process {}", pid.unwrap_or(0)));
        }
        Ok(Subject {
            target,
            processes,
            own: None,
            kept_on: None,
        })
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.own.as_ref().map_or(Vec::new(), |own| own.remarks().to_vec());
        if let Some(driver) = &self.target.odbc {
            remarks.push(format!(
                "client-bound: through ODBC ({driver}) each connection is a thread that blocks; figures are those of that driver"
            ));
        }
        remarks
    }

    fn stop(self) -> Result<(), String> {
        self.own.map_or(Ok(()), RunningServer::stop)
    }
}

/// The process behind a local TCP address, when this user may look.
fn local_server(target: &Target) -> Option<u32> {
    match &target.host {
        Host::Name(_) if target.is_local() => cpu::listener_of(target.port),
        _ => None,
    }
}

/// Driver threads when the user does not say: one per processor, so that whichever is free at the moment can be used. They
/// do not interrupt a server (`mote_common::courtesy`).
fn default_driver_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
