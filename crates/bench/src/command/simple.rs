//! `mote bench point`, `ingest` and `canned`: experiments of one statement.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::{Value, json};

use super::args::{CannedArgs, IngestArgs, MeasuredArgs, OutputArgs, PointArgs, RecordArgs};
use super::{Subject, default_driver_threads, find_rate};
pub use crate::report::Proofs;
use crate::report::live::Live;
use crate::report::page;
use crate::report::store::Store;
use crate::report::{Summary, html, json, table};
use crate::server::EmbeddedServer;
use mote_driver::{Admin, StatementSet};
use mote_measure::outcome::SeriesPoint;
use mote_measure::{RunOutcome, readback};
use mote_workload::canned::CannedServer;
use mote_workload::closed_loop::LoopPlan;
use mote_workload::{ingest, point};

pub fn point(args: &PointArgs, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    let subject = Subject::new(&args.target, embedded)?;
    if !args.no_load {
        point::set_up(&subject.target, args.rows)
            .map_err(|error| format!("cannot set up the table: {error}"))?;
    }
    let plan = plan(
        &subject,
        args.connections,
        &args.measured,
        point::KINDS,
        point::shared_statements(),
    );
    let live = Live::new("per min", args.output.progress, args.output.quiet);
    let seed = args.measured.seed;
    let run = |open_loop| {
        let plan = LoopPlan {
            open_loop,
            ..plan.clone()
        };
        point::run(&plan, args.rows, seed, &mut |second: &SeriesPoint| {
            live.second(second)
        })
    };
    if let Some(goal) = args.open_loop.find_rate {
        let summarized = |rate: Option<f64>| {
            let outcome = run(rate.map(|rate| args.open_loop.at(rate, seed)))?;
            Ok(Summary::new(&outcome, point::KINDS, None, None))
        };
        return found_rate(
            "point",
            find_rate::search(goal, summarized)?,
            &args.record,
            &args.output,
            subject,
        );
    }
    let open_loop = args.open_loop.open_loop(seed)?;
    let outcome = run(open_loop)?;
    let summary = Summary::new(&outcome, point::KINDS, None, None);
    print!("{}", table::latency_table(&summary));
    println!(
        "\n{:<36} {:>14}",
        "selects per second",
        table::grouped(summary.transactions_per_s)
    );
    let settings = json!({"connections": args.connections, "rows": args.rows, "seed": args.measured.seed,
        "warmup_s": plan.warmup_s, "duration_s": plan.duration_s, "driver_threads": plan.driver_threads, "open_loop": open_loop});
    let run = Measured {
        name: "point",
        title: "One-row selects by key".to_string(),
        kinds: point::KINDS,
        summary: &summary,
        outcome: &outcome,
        settings,
        proofs: Proofs::default(),
    };
    finish(run, subject, &args.record, &args.output, true)
}

pub fn ingest(args: &IngestArgs, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    if !(1..=ingest::ROWS_MAX).contains(&args.rows) {
        return Err(format!("--rows must be between 1 and {}", ingest::ROWS_MAX));
    }
    let subject = Subject::new(&args.target, embedded)?;
    ingest::set_up(&subject.target).map_err(|error| format!("cannot create the table: {error}"))?;
    let plan = plan(
        &subject,
        args.connections,
        &args.measured,
        ingest::KINDS,
        ingest::shared_statements(args.rows),
    );
    let live = Live::new("per min", args.output.progress, args.output.quiet);
    let seed = args.measured.seed;
    let run = |open_loop| {
        let plan = LoopPlan {
            open_loop,
            ..plan.clone()
        };
        ingest::run(&plan, args.rows, seed, &mut |second: &SeriesPoint| {
            live.second(second)
        })
    };
    if let Some(goal) = args.open_loop.find_rate {
        let summarized = |rate: Option<f64>| {
            let outcome = run(rate.map(|rate| args.open_loop.at(rate, seed)))?;
            Ok(Summary::new(&outcome, ingest::KINDS, None, None))
        };
        return found_rate(
            "ingest",
            find_rate::search(goal, summarized)?,
            &args.record,
            &args.output,
            subject,
        );
    }
    let open_loop = args.open_loop.open_loop(seed)?;
    let outcome = run(open_loop)?;
    let summary =
        Summary::new(&outcome, ingest::KINDS, None, None).with_durability(&outcome, &[0], args.connections);
    let acknowledged = summary.kinds[0].count * args.rows as u64;
    let stored = ingest::count(&subject.target).map_err(|error| format!("cannot count the rows: {error}"))?;
    let complete = stored >= acknowledged;
    print!("{}", table::latency_table(&summary));
    let rows_per_s = summary.transactions_per_s * args.rows as f64;
    println!("\n{:<36} {:>14}", "rows per second", table::grouped(rows_per_s));
    println!(
        "{} {stored} rows stored, {acknowledged} acknowledged in the measured time",
        table::pass(complete)
    );
    let settings = json!({"connections": args.connections, "rows_per_insert": args.rows, "seed": args.measured.seed,
        "warmup_s": plan.warmup_s, "duration_s": plan.duration_s, "driver_threads": plan.driver_threads, "open_loop": open_loop});
    let run = Measured {
        name: "ingest",
        title: format!("Inserts of {} rows", args.rows),
        kinds: ingest::KINDS,
        summary: &summary,
        outcome: &outcome,
        settings,
        proofs: Proofs::default(),
    };
    finish(run, subject, &args.record, &args.output, complete)
}

/// The common end of a search for a rate.
pub fn found_rate(
    name: &str,
    search: find_rate::Search,
    record: &RecordArgs,
    output: &OutputArgs,
    subject: Subject,
) -> Result<bool, String> {
    if record.store.is_some() {
        return Err("--find-rate makes many runs: it takes no --store".into());
    }
    print!("{}", find_rate::text(&search));
    let document = json!({"experiment": format!("{name} find-rate"), "environment": json::environment(),
        "target": subject.target.to_string(), "search": search, "pass": search.rate > 0.0});
    if let Some(path) = &output.json {
        json::write(path, &document)?;
    }
    if page::is_wanted(&record.html) {
        find_rate::page(name, &document, &search).deliver(&record.html)?;
    }
    subject.stop()?;
    Ok(search.rate > 0.0)
}

fn plan<'a>(
    subject: &'a Subject,
    connections: usize,
    measured: &MeasuredArgs,
    kinds: &'static [&'static str],
    statements: Arc<StatementSet>,
) -> LoopPlan<'a> {
    let connections = connections.max(1);
    LoopPlan {
        target: &subject.target,
        server: subject.processes,
        connections,
        driver_threads: measured
            .driver_threads
            .unwrap_or_else(default_driver_threads)
            .clamp(1, connections),
        warmup_s: measured.warmup,
        duration_s: measured.duration,
        kinds,
        statements,
        open_loop: None,
    }
}

/// What an experiment found out.
pub struct Measured<'a> {
    pub name: &'static str,
    pub title: String,
    pub kinds: &'static [&'static str],
    pub summary: &'a Summary,
    pub outcome: &'a RunOutcome,
    pub settings: Value,
    pub proofs: Proofs,
}

/// The common end: errors, resources, the record in every form, stopping the server.
pub fn finish(
    run: Measured<'_>,
    subject: Subject,
    record: &RecordArgs,
    output: &OutputArgs,
    proven: bool,
) -> Result<bool, String> {
    let Measured { summary, outcome, .. } = run;
    print!(
        "{}{}\n{}",
        table::open_loop_lines(summary),
        table::resource_lines(summary),
        table::error_table(summary)
    );
    let remarks = subject.remarks();
    for remark in &remarks {
        println!("WARNING: {remark}");
    }
    let ran = summary.kinds.iter().any(|kind| kind.count > 0);
    // Whoever hurts the server sees errors; what counts then is what the proofs say, and that it came back.
    let well = match &outcome.recoveries {
        Some(recoveries) => recoveries.all_answered(),
        None => summary.errors.iter().all(|error| error.failed == 0),
    };
    let pass = proven && ran && well;
    let mut admin =
        Admin::connect(&subject.target).map_err(|error| format!("cannot read the settings: {error}"))?;
    let document = json!({
        "experiment": run.name,
        "title": run.title,
        "environment": json::environment(),
        "settings": run.settings,
        "target": subject.target.to_string(),
        "server_version": admin.server_version(),
        "server_settings": readback::settings(&mut admin).unwrap_or_default(),
        "summary": summary,
        "series": outcome.series,
        "system": outcome.system,
        "histograms": json::histograms(run.kinds, outcome),
        "load": run.proofs.load,
        "input_audit": run.proofs.audit,
        "acknowledged": run.proofs.tally.as_ref().map(|(of, tally)| json!({"of": of, "tally": tally})),
        "consistency": run.proofs.conditions,
        "events": outcome.events,
        "recoveries": outcome.recoveries,
        "remarks": remarks,
        "pass": pass,
    });
    if let Some(path) = &output.json {
        json::write(path, &document)?;
    }
    if let Some(path) = &record.store {
        let number = Store::open(path)?.save(&document, run.kinds, outcome)?;
        println!("kept as run {number} of {}", path.display());
    }
    if page::is_wanted(&record.html) {
        let page = html::simple(&document, run.kinds, summary, outcome, &run.proofs);
        page.deliver(&record.html)?;
    }
    subject.stop()?;
    Ok(pass)
}

pub fn canned(args: &CannedArgs) -> Result<bool, String> {
    let server = CannedServer::bind(args.listen).map_err(|error| format!("{}: {error}", args.listen))?;
    let server = match &args.socket_dir {
        None => server,
        Some(directory) => server
            .also_in(directory)
            .map_err(|error| format!("{}: {error}", directory.display()))?,
    };
    eprintln!("mote: listening on {}", server.address());
    let never = AtomicBool::new(false); // this server ends with its process
    server.serve(&never).map_err(|error| format!("epoll: {error}"))?;
    Ok(true)
}
