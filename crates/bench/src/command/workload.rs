//! `mote bench tpcb`, `ycsb`, `tatp` and `smallbank`: any workload of the contract, from its data to a verdict.

use serde_json::json;

use super::args::{SmallBankArgs, TatpArgs, TpcbArgs, WorkloadArgs, YcsbArgs};
use super::simple::{self, Measured, Proofs};
use super::victim::Patient;
use super::{Subject, default_driver_threads, find_rate};
use crate::report::live::Live;
use crate::report::{Summary, table};
use crate::server::EmbeddedServer;
use mote_driver::{Admin, DriverError, Target};
use mote_measure::RunOutcome;
use mote_measure::arrivals::OpenLoop;
use mote_measure::faults::Faults;
use mote_measure::outcome::SeriesPoint;
use mote_workload::contract::{TallyVerdict, Workload};
use mote_workload::crew::{self, CrewPlan};
use mote_workload::loader::{self, LoadMode};
use mote_workload::smallbank::SmallBank;
use mote_workload::tatp::Tatp;
use mote_workload::tpcb::TpcB;
use mote_workload::tpcc::Isolation;
use mote_workload::ycsb::Ycsb;

pub fn tpcb(args: &TpcbArgs, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    let bank = TpcB {
        branches: args.branches,
        accounts_per_branch: args.accounts_per_branch,
    };
    if args.branches.checked_mul(args.accounts_per_branch).is_none() {
        return Err("there are more accounts than an integer can count".into());
    }
    run(&bank, &args.common, embedded)
}

pub fn ycsb(args: &YcsbArgs, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    let seed = args.common.measured.seed;
    let ycsb = Ycsb::new(args.letter, args.records, args.field_bytes, seed);
    run(&ycsb, &args.common, embedded)
}

pub fn tatp(args: &TatpArgs, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    let register = Tatp {
        subscribers: args.subscribers,
        uniform: args.uniform,
        seed: args.common.measured.seed,
    };
    run(&register, &args.common, embedded)
}

pub fn smallbank(args: &SmallBankArgs, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    if args.hot_customers > args.customers {
        return Err("--hot-customers are some of --customers".into());
    }
    let bank = SmallBank {
        customers: args.customers,
        hot_customers: args.hot_customers,
        hot_percent: args.hot_percent,
        seed: args.common.measured.seed,
    };
    run(&bank, &args.common, embedded)
}

/// Loads if need be, runs, proves, reports.
fn run(workload: &dyn Workload, args: &WorkloadArgs, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    check(args)?;
    let mut subject = Subject::new(&args.target, embedded)?;
    let live = Live::new("per min", args.output.progress, args.output.quiet);
    let mut proofs = Proofs::default();
    let data = workload.data();
    let plan = loader::Plan {
        target: &subject.target,
        connections: args.load_connections.unwrap_or(2 * super::tpcc::processors()),
        progress: live.visible(),
        resume: args.load == LoadMode::Resume,
    };
    proofs.load = loader::provide(&plan, &*data, args.load)?;
    println!("{}", workload.title());
    if let Some(load) = &proofs.load {
        print!("{}", table::load_lines(load));
    }
    if args.load == LoadMode::Only {
        let pass = prove(workload, args, &subject.target, None, &mut proofs)?;
        subject.stop()?;
        return Ok(pass);
    }
    let seed = args.measured.seed;
    if let Some(goal) = args.open_loop.find_rate {
        let summarized = |rate: Option<f64>| {
            let open_loop = rate.map(|rate| args.open_loop.at(rate, seed));
            let (outcome, tally) = measure(workload, args, &subject, open_loop, None, &live)?;
            require(tally)?;
            Ok(Summary::new(&outcome, workload.kinds(), None, None))
        };
        let search = find_rate::search(goal, summarized)?;
        return simple::found_rate(workload.name(), search, &args.record, &args.output, subject);
    }
    let open_loop = args.open_loop.open_loop(seed)?;
    let mut patient = Patient::of(&args.faults, &mut subject, args.measured.duration)?;
    let faults = patient.as_mut().and_then(|patient| patient.faults(&args.faults));
    let (outcome, tally) = measure(workload, args, &subject, open_loop, faults, &live)?;
    if let Some(patient) = patient {
        patient.back(&mut subject);
    }
    let summary = Summary::new(&outcome, workload.kinds(), None, None).with_durability(
        &outcome,
        workload.writing(),
        args.connections,
    );
    print!("{}", table::latency_table(&summary));
    println!(
        "\n{:<36} {:>14}",
        "transactions per second",
        table::grouped(summary.transactions_per_s)
    );
    proofs.tally = Some((workload.effect_says(), tally));
    let proven = prove(workload, args, &subject.target, Some(&outcome), &mut proofs)?;
    let settings = settings(workload, args, open_loop);
    let run = Measured {
        name: workload.name(),
        title: workload.title(),
        kinds: workload.kinds(),
        summary: &summary,
        outcome: &outcome,
        settings,
        proofs,
    };
    simple::finish(run, subject, &args.record, &args.output, proven)
}

fn check(args: &WorkloadArgs) -> Result<(), String> {
    let many_runs = args.open_loop.find_rate.is_some();
    if many_runs && args.load == LoadMode::Only {
        return Err("--find-rate measures, and --load only does not".into());
    }
    let reports = args.output.json.is_some() || args.record.html.is_some() || args.record.store.is_some();
    if reports && args.load == LoadMode::Only {
        return Err("--load only measures nothing: it takes none of --json, --html and --store".into());
    }
    if args.connections == 0 {
        return Err("--connections must be at least 1".into());
    }
    if !(args.measured.duration > 0.0 && args.measured.warmup >= 0.0) {
        return Err("--duration must be positive, --warmup at least 0".into());
    }
    Ok(())
}

fn settings(workload: &dyn Workload, args: &WorkloadArgs, open_loop: Option<OpenLoop>) -> serde_json::Value {
    let mut settings = workload.settings();
    let common = json!({"connections": args.connections, "seed": args.measured.seed,
        "warmup_s": args.measured.warmup, "duration_s": args.measured.duration, "retries_max": args.retries,
        "isolation": args.isolation, "open_loop": open_loop,
        "faults": args.faults.faults.as_ref().map(ToString::to_string)});
    if let (Some(settings), Some(common)) = (settings.as_object_mut(), common.as_object()) {
        settings.extend(common.clone());
    }
    settings
}

pub fn plan<'a>(args: &'a WorkloadArgs, subject: &'a Subject, open_loop: Option<OpenLoop>) -> CrewPlan<'a> {
    let threads = args.measured.driver_threads;
    CrewPlan {
        target: &subject.target,
        server: subject.processes,
        connections: args.connections,
        driver_threads: threads
            .unwrap_or_else(default_driver_threads)
            .clamp(1, args.connections),
        warmup_s: args.measured.warmup,
        duration_s: args.measured.duration,
        seed: args.measured.seed,
        isolation: args.isolation,
        retries_max: args.retries,
        open_loop,
    }
}

fn measure(
    workload: &dyn Workload,
    args: &WorkloadArgs,
    subject: &Subject,
    open_loop: Option<OpenLoop>,
    faults: Option<Faults<'_>>,
    live: &Live,
) -> Result<(RunOutcome, TallyVerdict), String> {
    let plan = plan(args, subject, open_loop);
    measured(workload, &plan, faults, &mut |second| live.second(second))
}

/// One run between two readings of what it changes.
pub fn measured(
    workload: &dyn Workload,
    plan: &CrewPlan<'_>,
    faults: Option<Faults<'_>>,
    watch: &mut dyn FnMut(&SeriesPoint),
) -> Result<(RunOutcome, TallyVerdict), String> {
    let failed = |error: DriverError| format!("cannot read what {} changes: {error}", workload.name());
    let effect = || Admin::connect(plan.target).and_then(|mut admin| workload.effect(&mut admin));
    Admin::connect(plan.target)
        .and_then(|mut admin| workload.prepare(&mut admin))
        .map_err(failed)?;
    let before = effect().map_err(failed)?;
    let (outcome, tally) = crew::run(plan, workload, faults, watch)?;
    let after = effect().map_err(failed)?;
    Ok((outcome, tally.compare(before, after)))
}

/// For runs that report nothing of themselves.
pub fn require(tally: TallyVerdict) -> Result<(), String> {
    if tally.pass() { Ok(()) } else { Err(tally.says()) }
}

/// Checks and prints what the run proves.
fn prove(
    workload: &dyn Workload,
    args: &WorkloadArgs,
    target: &Target,
    outcome: Option<&RunOutcome>,
    proofs: &mut Proofs,
) -> Result<bool, String> {
    if let Some(outcome) = outcome {
        proofs.audit = workload.audit(outcome);
        print!("{}", table::audit_lines(&proofs.audit));
    }
    if let Some(recoveries) = outcome.and_then(|outcome| outcome.recoveries.as_ref()) {
        print!("{}", table::recovery_lines(recoveries));
    }
    if let Some((of, tally)) = &proofs.tally {
        println!("{} {of}: {}", table::pass(tally.pass()), tally.says());
    }
    if !args.no_check {
        proofs.conditions = conditions(workload, args.isolation, target)?;
        for verdict in &proofs.conditions {
            println!("{}", table::condition_line(verdict));
        }
    }
    Ok(proofs.hold())
}

pub fn conditions(
    workload: &dyn Workload,
    isolation: Option<Isolation>,
    target: &Target,
) -> Result<Vec<mote_workload::condition::ConditionVerdict>, String> {
    // A fresh connection: the run may have been one in which the server was restarted.
    let failed = |error: DriverError| format!("cannot connect for the conditions: {error}");
    let mut admin = Admin::connect(target).map_err(failed)?;
    let repeatable = match isolation {
        Some(level) => level != Isolation::ReadCommitted,
        None => {
            let default = admin
                .value("SHOW default_transaction_isolation")
                .map_err(failed)?;
            default.is_some_and(|level| level.starts_with("repeatable") || level == "serializable")
        }
    };
    Ok(workload.conditions(&mut admin, repeatable))
}
