//! `mote bench hotrow`: what a contended row costs, on one system or two side by side.

use serde::Serialize;
use serde_json::{Value, json};

use super::args::{HotRowArgs, TargetArgs};
use super::{Subject, default_driver_threads};
use crate::report::charts;
use crate::report::html::{self, Plain, PlainTable};
use crate::report::live::Live;
use crate::report::page::{self, Rendered};
use crate::report::{Summary, json, table};
use crate::server::EmbeddedServer;
use mote_measure::outcome::SeriesPoint;
use mote_workload::closed_loop::LoopPlan;
use mote_workload::hot_row;
use mote_workload::lock_latency::{self, Latency};

/// mote's updates per second over PostgreSQL's.
const RATIO_TARGET: f64 = 10.0;
const HANDOVER_TARGET_US: f64 = 20.0;
const DEADLOCK_TARGET_US: f64 = 1_000.0;
/// Of the system under test, and of a reference that takes a second for each.
const DEADLOCKS: usize = 50;
const REFERENCE_DEADLOCKS: usize = 3;

/// One round on one system.
#[derive(Serialize)]
struct Round {
    system: &'static str,
    updates_per_s: f64,
    p50_ms: f64,
    p99_ms: f64,
    latency: Latency,
    acknowledged: u64,
    stored: u64,
    errors: usize,
}

pub fn run(args: &HotRowArgs, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    let mut systems = vec![("mote", Subject::new(&args.target, embedded)?, DEADLOCKS)];
    if let Some(url) = &args.postgres {
        let reference = Subject::new(&TargetArgs::server(url), embedded)?;
        systems.push(("PostgreSQL", reference, REFERENCE_DEADLOCKS));
    }
    let mut rounds = Vec::new();
    for number in 0..args.rounds.max(1) {
        // mote, PostgreSQL, PostgreSQL, mote: drift of the machine hits both alike.
        let mut order: Vec<usize> = (0..systems.len()).collect();
        if number % 2 == 1 {
            order.reverse();
        }
        for position in order {
            let (name, subject, deadlocks) = &systems[position];
            rounds.push(round(args, name, subject, *deadlocks)?);
        }
    }
    print!("{}", round_table(&rounds));
    let judged = judgements(&rounds);
    println!("\n{}", judgement_table(&judged));
    let complete = rounds
        .iter()
        .all(|round| round.stored >= round.acknowledged && round.errors == 0 && round.acknowledged > 0);
    println!(
        "{} every acknowledged update is in the row, and none failed",
        table::pass(complete)
    );
    let pass = complete && judged.iter().all(|judgement| judgement.pass);
    let targets = systems
        .iter()
        .map(|(name, subject, _)| json!({"system": name, "target": subject.target.to_string()}));
    let document = json!({
        "experiment": "hotrow",
        "environment": json::environment(),
        "settings": {"connections": args.connections, "rounds": args.rounds, "warmup_s": args.warmup,
            "duration_s": args.duration, "lock_rounds": args.lock_rounds},
        "targets": targets.collect::<Vec<_>>(),
        "rounds": rounds,
        "judgements": judged,
        "pass": pass,
    });
    if let Some(path) = &args.output.json {
        json::write(path, &document)?;
    }
    if page::is_wanted(&args.html) {
        page_of(&document, &rounds, &judged, complete).deliver(&args.html)?;
    }
    for (_, subject, _) in systems {
        for remark in subject.remarks() {
            println!("WARNING: {remark}");
        }
        subject.stop()?;
    }
    Ok(pass)
}

fn round(
    args: &HotRowArgs,
    system: &'static str,
    subject: &Subject,
    deadlocks: usize,
) -> Result<Round, String> {
    let failed = |error| format!("{system}: {error}");
    hot_row::set_up(&subject.target).map_err(failed)?;
    let connections = args.connections.max(1);
    let threads = args.driver_threads.unwrap_or_else(default_driver_threads);
    let plan = LoopPlan {
        target: &subject.target,
        server: subject.processes,
        connections,
        driver_threads: threads.clamp(1, connections),
        warmup_s: args.warmup,
        duration_s: args.duration,
        kinds: hot_row::KINDS,
        statements: hot_row::shared_statements(),
        open_loop: None,
    };
    let live = Live::new("per min", args.output.progress, args.output.quiet);
    let outcome = hot_row::run(&plan, &mut |second: &SeriesPoint| live.second(second))?;
    let summary = Summary::new(&outcome, hot_row::KINDS, None, None);
    let stored = hot_row::count(&subject.target).map_err(failed)?;
    let latency = lock_latency::run(&subject.target, args.lock_rounds.max(1), deadlocks).map_err(failed)?;
    Ok(Round {
        system,
        updates_per_s: summary.transactions_per_s,
        p50_ms: summary.kinds[0].p50_ms,
        p99_ms: summary.kinds[0].p99_ms,
        latency,
        acknowledged: summary.kinds[0].count,
        stored,
        errors: summary.errors.len(),
    })
}

const HEADER: [&str; 8] = [
    "each round",
    "updates/s",
    "p50 ms",
    "p99 ms",
    "round trip us",
    "after a rest us",
    "hand-over us",
    "deadlock us",
];

fn round_table(rounds: &[Round]) -> String {
    table::table(&HEADER, &rows(rounds))
}

fn rows(rounds: &[Round]) -> Vec<Vec<String>> {
    let row = |round: &Round| {
        vec![
            round.system.to_string(),
            table::grouped(round.updates_per_s),
            table::milliseconds(round.p50_ms),
            table::milliseconds(round.p99_ms),
            format!("{:.0}", round.latency.warm_round_trip_us),
            format!("{:.0}", round.latency.round_trip_us),
            format!("{:.0}", round.latency.handover_us),
            table::grouped(round.latency.deadlock_us),
        ]
    };
    rounds.iter().map(row).collect()
}

fn page_of(document: &Value, rounds: &[Round], judged: &[Judgement], complete: bool) -> Rendered {
    let mut verdicts = vec![(
        complete,
        "every acknowledged update is in the row, and none failed".to_string(),
    )];
    verdicts.extend(judged.iter().map(|one| {
        (
            one.pass,
            format!("{}: {:.1} ({})", one.what, one.measured, one.target),
        )
    }));
    let mut lines: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for round in rounds {
        let at = lines
            .iter()
            .position(|(system, _)| system == round.system)
            .unwrap_or_else(|| {
                lines.push((round.system.to_string(), Vec::new()));
                lines.len() - 1
            });
        let number = lines[at].1.len() as f64 + 1.0;
        lines[at].1.push((number, round.updates_per_s));
    }
    let mut chart = charts::ladder("Updates of one row", "round", "per second", &lines);
    chart.option["xAxis"]["type"] = "value".into();
    chart.option["xAxis"]["minInterval"] = 1.into();
    html::plain(
        document,
        Plain {
            title: "A row that everybody updates",
            lead: format!(
                "{} rounds, every update a durable transaction",
                lines.first().map_or(0, |(_, points)| points.len())
            ),
            figures: judged
                .iter()
                .map(|one| (one.what.to_string(), format!("{:.1}", one.measured)))
                .collect(),
            verdicts,
            charts: vec![chart],
            tables: vec![PlainTable {
                title: "Rounds",
                header: &HEADER,
                rows: rows(rounds),
            }],
            notes: vec![
                "Hand-over and deadlock include a round trip; the judged figures are beyond it.".into(),
            ],
            remarks: &[],
            small_print: &[],
        },
    )
}

#[derive(Serialize)]
struct Judgement {
    what: &'static str,
    measured: f64,
    target: String,
    pass: bool,
}

fn judgements(rounds: &[Round]) -> Vec<Judgement> {
    let median = |system: &str, figure: fn(&Round) -> f64| {
        let mut values: Vec<f64> = rounds
            .iter()
            .filter(|round| round.system == system)
            .map(figure)
            .collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    };
    let mut judged = Vec::new();
    let updates = |round: &Round| round.updates_per_s;
    if let (Some(own), Some(reference)) = (median("mote", updates), median("PostgreSQL", updates)) {
        let ratio = if reference > 0.0 { own / reference } else { 0.0 };
        judged.push(Judgement {
            what: "updates/s of one row, times PostgreSQL",
            measured: ratio,
            target: format!(">= {RATIO_TARGET}"),
            pass: ratio >= RATIO_TARGET,
        });
    }
    let mut limit = |what, measured: Option<f64>, limit: f64| {
        let measured = measured.unwrap_or(f64::INFINITY);
        judged.push(Judgement {
            what,
            measured,
            target: format!("< {limit} us"),
            pass: measured < limit,
        });
    };
    limit(
        "hand-over beyond a round trip, us",
        median("mote", |round| round.latency.handover_net_us()),
        HANDOVER_TARGET_US,
    );
    limit(
        "deadlock found beyond a round trip, us",
        median("mote", |round| round.latency.deadlock_net_us()),
        DEADLOCK_TARGET_US,
    );
    judged
}

fn judgement_table(judged: &[Judgement]) -> String {
    let row = |judgement: &Judgement| {
        vec![
            judgement.what.to_string(),
            format!("{:.1}", judgement.measured),
            judgement.target.clone(),
            table::pass(judgement.pass).to_string(),
        ]
    };
    table::table(
        &["medians over rounds", "measured", "target", "verdict"],
        &judged.iter().map(row).collect::<Vec<_>>(),
    )
}
