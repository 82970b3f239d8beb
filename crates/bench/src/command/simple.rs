//! `mote bench point`, `ingest` and `canned`: experiments of one statement.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::json;

use super::args::{CannedArgs, IngestArgs, MeasuredArgs, OutputArgs, PointArgs};
use super::{Subject, default_driver_threads};
use crate::driver::StatementSet;
use crate::measure::RunOutcome;
use crate::measure::run::SeriesPoint;
use crate::report::live::Live;
use crate::report::{Summary, json, table};
use crate::server::EmbeddedServer;
use crate::workload::canned::CannedServer;
use crate::workload::closed_loop::LoopPlan;
use crate::workload::{ingest, point};

pub fn point(args: &PointArgs, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    let subject = Subject::new(&args.target, embedded)?;
    if !args.no_load {
        point::set_up(&subject.target, args.rows)
            .map_err(|error| format!("cannot set up the table: {error}"))?;
    }
    let plan = closed_loop(
        &subject,
        args.connections,
        &args.measured,
        point::KINDS,
        point::shared_statements(),
    );
    let live = Live::new("per min", args.output.progress, args.output.quiet);
    let outcome = point::run(
        &plan,
        args.rows,
        args.measured.seed,
        &mut |second: &SeriesPoint| live.second(second),
    )?;
    let summary = Summary::new(&outcome, point::KINDS, None, None);
    print!("{}", table::latency_table(&summary));
    println!(
        "\n{:<36} {:>14}",
        "selects per second",
        table::grouped(summary.transactions_per_s)
    );
    let settings = json!({"connections": args.connections, "rows": args.rows, "seed": args.measured.seed,
        "warmup_s": plan.warmup_s, "duration_s": plan.duration_s, "driver_threads": plan.driver_threads});
    finish("point", subject, &args.output, &summary, &outcome, settings, true)
}

pub fn ingest(args: &IngestArgs, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    if !(1..=ingest::ROWS_MAX).contains(&args.rows) {
        return Err(format!("--rows must be between 1 and {}", ingest::ROWS_MAX));
    }
    let subject = Subject::new(&args.target, embedded)?;
    ingest::set_up(&subject.target).map_err(|error| format!("cannot create the table: {error}"))?;
    let plan = closed_loop(
        &subject,
        args.connections,
        &args.measured,
        ingest::KINDS,
        ingest::shared_statements(args.rows),
    );
    let live = Live::new("per min", args.output.progress, args.output.quiet);
    let outcome = ingest::run(
        &plan,
        args.rows,
        args.measured.seed,
        &mut |second: &SeriesPoint| live.second(second),
    )?;
    let summary = Summary::new(&outcome, ingest::KINDS, None, None);
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
        "warmup_s": plan.warmup_s, "duration_s": plan.duration_s, "driver_threads": plan.driver_threads});
    finish(
        "ingest",
        subject,
        &args.output,
        &summary,
        &outcome,
        settings,
        complete,
    )
}

fn closed_loop<'a>(
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
    }
}

/// The common end: errors, resources, JSON, stopping the server.
fn finish(
    name: &str,
    subject: Subject,
    output: &OutputArgs,
    summary: &Summary,
    outcome: &RunOutcome,
    settings: serde_json::Value,
    proven: bool,
) -> Result<bool, String> {
    print!(
        "{}\n{}",
        table::resource_lines(summary),
        table::error_table(summary)
    );
    let remarks = subject.remarks();
    for remark in &remarks {
        println!("WARNING: {remark}");
    }
    let pass = proven && summary.kinds[0].count > 0 && summary.errors.is_empty();
    if let Some(path) = &output.json {
        let document = json!({
            "experiment": name,
            "environment": json::environment(),
            "settings": settings,
            "target": subject.target.to_string(),
            "summary": summary,
            "series": outcome.series,
            "remarks": remarks,
            "pass": pass,
        });
        json::write(path, &document)?;
    }
    subject.stop()?;
    Ok(pass)
}

pub fn canned(args: &CannedArgs) -> Result<bool, String> {
    let server = CannedServer::bind(args.listen).map_err(|error| format!("{}: {error}", args.listen))?;
    eprintln!("mote: listening on {}", server.address());
    let never = AtomicBool::new(false); // this server ends with its process
    server.serve(&never).map_err(|error| format!("epoll: {error}"))?;
    Ok(true)
}
