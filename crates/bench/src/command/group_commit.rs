//! `mote bench groupcommit`: what commits cost beside what the disk alone can do, and what not waiting for it would gain.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use super::args::GroupCommitArgs;
use super::quiet::Quiet;
use super::restart::{Place, load_settings, starter, with_terminals};
use super::{default_driver_threads, tpcc as tpcc_command};
use crate::report::charts;
use crate::report::html::{self, Plain, PlainTable};
use crate::report::page::{self, Rendered};
use crate::report::{Summary, json, table};
use crate::server::EmbeddedServer;
use mote_driver::{Admin, Target};
use mote_measure::cpu::ProcessTree;
use mote_measure::disk;
use mote_workload::closed_loop::LoopPlan;
use mote_workload::commit;
use mote_workload::tpcc::{self, DISCLAIMER, LoadMode};

/// Share of the throughput without waiting for the disk that durable commits should keep.
const TARGET_DURABLE: f64 = 0.9;

/// The raw disk: one block written and synced at a time.
#[derive(Clone, Copy, Debug, Serialize)]
struct RawDisk {
    syncs_per_s: f64,
    p50_us: f64,
    p99_us: f64,
}

#[derive(Clone, Debug, Serialize)]
struct Step {
    connections: usize,
    commits_per_s: f64,
    p50_ms: f64,
    p99_ms: f64,
    /// Commits for each write and sync that the disk could have done one after the other.
    commits_per_raw_sync: f64,
    driver_saturation: f64,
}

/// Order entry with and without waiting for the disk.
#[derive(Clone, Copy, Debug, Serialize)]
struct Durability {
    connections: usize,
    durable_nopm: f64,
    off_nopm: f64,
}

pub fn run(args: &GroupCommitArgs, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    let mut own = None;
    let starter = starter(&args.server, embedded, &mut own);
    let observer = Quiet::new(args.output.quiet);
    let place = Place::new(args.server.data.as_deref())?;
    observer.say("writing and syncing single blocks");
    let before = raw_disk(&place)?;
    let server = starter.start(Some(&place.data()), &args.server.serve_option)?;
    let remarks = server.remarks().to_vec();
    let target = Target::parse(server.url())?;
    let processes = ProcessTree::new(server.pid());
    let most = args.connections.iter().copied().max().unwrap_or(1);
    commit::set_up(&target, most).map_err(|error| format!("cannot set up the table: {error}"))?;
    let mut steps = Vec::new();
    for &connections in &args.connections {
        observer.say(&format!("commits on {connections} connections"));
        steps.push(commits(args, &target, processes, connections.max(1), before)?);
    }
    let stored = commit::counted(&target).map_err(|error| format!("cannot count the updates: {error}"))?;
    let durability = if args.no_tpcc {
        None
    } else {
        Some(with_and_without(args, &target, processes, &observer)?)
    };
    let after = raw_disk(&place)?;
    server.stop()?;
    print!("{}", text(before, after, &steps));
    let acknowledged: f64 = steps.iter().map(|step| step.commits_per_s * args.duration).sum();
    let complete = stored as f64 >= acknowledged;
    println!(
        "{} {} updates stored, {} acknowledged in the measured times",
        table::pass(complete),
        table::grouped(stored as f64),
        table::grouped(acknowledged)
    );
    let mut pass = complete;
    if let Some(figures) = &durability {
        let share = figures.durable_nopm / figures.off_nopm;
        pass &= share >= TARGET_DURABLE;
        println!(
            "{} order entry on {} connections: {} NOPM durable, {} with synchronous_commit = off: {:.0} % (at least {:.0} %)",
            table::pass(share >= TARGET_DURABLE),
            figures.connections,
            table::grouped(figures.durable_nopm),
            table::grouped(figures.off_nopm),
            100.0 * share,
            100.0 * TARGET_DURABLE
        );
        println!("{DISCLAIMER}");
    }
    for remark in &remarks {
        println!("WARNING: {remark}");
    }
    let document = json!({
        "experiment": "groupcommit",
        "disclaimer": DISCLAIMER,
        "environment": json::environment(),
        "settings": {"connections": args.connections, "warmup_s": args.warmup, "duration_s": args.duration,
            "warehouses": args.warehouses, "tpcc_connections": args.tpcc_connections,
            "serve_options": args.server.serve_option},
        "raw_disk_before": before,
        "raw_disk_after": after,
        "steps": steps,
        "durability": durability,
        "remarks": remarks,
        "pass": pass,
    });
    if let Some(path) = &args.output.json {
        json::write(path, &document)?;
    }
    if page::is_wanted(&args.html) {
        page_of(&document, [before, after], &steps, durability, complete, &remarks).deliver(&args.html)?;
    }
    Ok(pass)
}

fn raw_disk(place: &Place) -> Result<RawDisk, String> {
    let latencies = disk::durable_writes(place.path(), Duration::from_secs(3))
        .map_err(|error| format!("{}: {error}", place.path().display()))?;
    Ok(RawDisk {
        syncs_per_s: 1e9 / latencies.mean().max(1.0),
        p50_us: latencies.value_at_quantile(0.5) as f64 / 1e3,
        p99_us: latencies.value_at_quantile(0.99) as f64 / 1e3,
    })
}

fn commits(
    args: &GroupCommitArgs,
    target: &Target,
    server: Option<ProcessTree>,
    connections: usize,
    raw: RawDisk,
) -> Result<Step, String> {
    let plan = LoopPlan {
        target,
        server,
        connections,
        driver_threads: args
            .driver_threads
            .unwrap_or_else(default_driver_threads)
            .clamp(1, connections),
        warmup_s: args.warmup,
        duration_s: args.duration,
        kinds: commit::KINDS,
        statements: commit::statements(),
        open_loop: None,
    };
    let outcome = commit::run(&plan)?;
    let summary = Summary::new(&outcome, commit::KINDS, None, None);
    if let Some(error) = summary.errors.first() {
        return Err(format!("commits failed with {}", error.sqlstate));
    }
    Ok(Step {
        connections,
        commits_per_s: summary.transactions_per_s,
        p50_ms: summary.kinds[0].p50_ms,
        p99_ms: summary.kinds[0].p99_ms,
        commits_per_raw_sync: summary.transactions_per_s / raw.syncs_per_s,
        driver_saturation: summary.driver_saturation,
    })
}

/// On, off, off, on: what drifts on the machine meets both alike.
fn with_and_without(
    args: &GroupCommitArgs,
    target: &Target,
    server: Option<ProcessTree>,
    observer: &Quiet,
) -> Result<Durability, String> {
    let connections = args.tpcc_connections.max(1);
    let mut observer = observer.clone();
    let (mut on, mut off) = (0.0, 0.0);
    for (turn, level) in ["on", "off", "off", "on"].into_iter().enumerate() {
        set_level(target, level)?;
        observer.say(&format!(
            "order entry on {connections} connections, synchronous_commit = {level}"
        ));
        let load = if turn == 0 {
            LoadMode::Always
        } else {
            LoadMode::Auto
        };
        let mut settings = load_settings(args.warehouses, 1, load, args.duration, connections);
        settings.warmup_s = args.warmup;
        let settings = with_terminals(settings, &args.terminals);
        let experiment = tpcc::experiment(settings, target, server, &mut observer)?;
        let outcome = experiment.outcome.as_ref().ok_or("the experiment did not run")?;
        let nopm = tpcc_command::summarize(outcome).first_kind_per_minute();
        let sum = if level == "on" { &mut on } else { &mut off };
        *sum += nopm / 2.0;
    }
    set_level(target, "on")?;
    Ok(Durability {
        connections,
        durable_nopm: on,
        off_nopm: off,
    })
}

/// For all sessions to come, and proves that they have it.
fn set_level(target: &Target, level: &str) -> Result<(), String> {
    let fail = |error| format!("cannot set synchronous_commit = {level}: {error}");
    let mut admin = Admin::connect(target).map_err(fail)?;
    let role = admin
        .value("SELECT current_user")
        .map_err(fail)?
        .unwrap_or_default();
    admin
        .execute(&format!("ALTER ROLE \"{role}\" SET synchronous_commit = {level}"))
        .map_err(fail)?;
    let shown = Admin::connect(target)
        .and_then(|mut admin| admin.value("SHOW synchronous_commit"))
        .map_err(fail)?;
    if shown.as_deref() == Some(level) {
        Ok(())
    } else {
        Err(format!(
            "new sessions have synchronous_commit = {shown:?}, not {level}"
        ))
    }
}

fn text(before: RawDisk, after: RawDisk, steps: &[Step]) -> String {
    let mut out = String::new();
    for (when, raw) in [("before", before), ("after", after)] {
        out += &format!(
            "the disk alone {when}: {} writes of 4 KiB with fdatasync a second, p50 {:.0} us, p99 {:.0} us\n",
            table::grouped(raw.syncs_per_s),
            raw.p50_us,
            raw.p99_us
        );
    }
    out + "\n" + &table::table(&HEADER, &rows(steps)) + "\n"
}

const HEADER: [&str; 6] = [
    "connections",
    "commits/s",
    "p50 ms",
    "p99 ms",
    "per raw sync",
    "driver busy %",
];

fn rows(steps: &[Step]) -> Vec<Vec<String>> {
    steps
        .iter()
        .map(|step| {
            vec![
                step.connections.to_string(),
                table::grouped(step.commits_per_s),
                table::milliseconds(step.p50_ms),
                table::milliseconds(step.p99_ms),
                format!("{:.2}", step.commits_per_raw_sync),
                format!("{:.0}", 100.0 * step.driver_saturation),
            ]
        })
        .collect()
}

fn page_of(
    document: &Value,
    raw: [RawDisk; 2],
    steps: &[Step],
    durability: Option<Durability>,
    complete: bool,
    remarks: &[String],
) -> Rendered {
    let mut verdicts = vec![(complete, "no acknowledged update is missing".to_string())];
    let mut figures = vec![(
        "writes with fdatasync a second, the disk alone".to_string(),
        table::grouped(raw[0].syncs_per_s),
    )];
    if let Some(figures_of) = durability {
        let share = figures_of.durable_nopm / figures_of.off_nopm;
        figures.push((
            "durable order entry, of the throughput without waiting".into(),
            format!("{:.0} %", 100.0 * share),
        ));
        let says = format!(
            "durable order entry keeps at least {:.0} %",
            100.0 * TARGET_DURABLE
        );
        verdicts.push((share >= TARGET_DURABLE, says));
    }
    let points = steps
        .iter()
        .map(|step| (step.connections as f64, step.commits_per_s));
    let alone = steps
        .iter()
        .map(|step| (step.connections as f64, raw[0].syncs_per_s));
    let lines = [
        ("commits".to_string(), points.collect()),
        ("the disk alone".to_string(), alone.collect()),
    ];
    let disk = ["before", "after"].iter().zip(raw).map(|(when, raw)| {
        vec![
            when.to_string(),
            table::grouped(raw.syncs_per_s),
            format!("{:.0}", raw.p50_us),
            format!("{:.0}", raw.p99_us),
        ]
    });
    html::plain(
        document,
        Plain {
            title: "Group commit",
            lead: "Durable commits beside what the disk alone can sync".into(),
            figures,
            verdicts,
            charts: vec![charts::ladder(
                "Durable commits",
                "connections",
                "per second",
                &lines,
            )],
            tables: vec![
                PlainTable {
                    title: "Commits by number of connections",
                    header: &HEADER,
                    rows: rows(steps),
                },
                PlainTable {
                    title: "The disk alone: 4 KiB written and synced",
                    header: &["when", "a second", "p50 us", "p99 us"],
                    rows: disk.collect(),
                },
            ],
            notes: Vec::new(),
            remarks,
            small_print: &[DISCLAIMER],
        },
    )
}
