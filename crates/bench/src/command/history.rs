//! `mote bench history`: run, kill now and then, and judge what the clients saw.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Subject;
use super::args::HistoryArgs;
use crate::report::charts;
use crate::report::html::{self, Plain, PlainTable};
use crate::report::page::{self, Rendered};
use crate::report::{json, table};
use crate::server::{EmbeddedServer, RunningServer};
use mote_driver::Target;
use mote_workload::anomalies::check::{Anomaly, Level, Verdict, check};
use mote_workload::history::{Plan, Record, Stage, run as run_workload, set_up};

pub fn run(args: &HistoryArgs, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    let plan = Plan {
        workload: args.workload,
        level: args.isolation,
        exclusion: args.lock,
        connections: args.connections.max(1),
        keys: args.keys,
        operations_max: args.operations,
        duration: Duration::from_secs_f64(args.duration),
        seed: args.seed,
        cancel_every: args.cancel_every.map(|ms| Duration::from_millis(ms.max(1))),
    };
    println!(
        "history: {:?} at {}{}, {} connections{} on {} keys, {:.0} s, seed {}",
        plan.workload,
        plan.level.sql(),
        plan.exclusion
            .map_or(String::new(), |lock| format!(" under {lock:?} locks")),
        plan.connections,
        match args.reader.len() {
            0 => String::new(),
            followers => format!(" to the server and {followers} followers"),
        },
        plan.keys,
        args.duration,
        plan.seed
    );
    let (record, kills, target) = match args.kill_every {
        Some(seconds) => with_kills(args, &plan, embedded, Duration::from_secs_f64(seconds))?,
        None => {
            let subject = Subject::new(&args.target, embedded)?;
            let readers = readers(args)?;
            prepare(&plan, &subject.target, &readers)?;
            let stage = Stage::new(&plan, subject.target.clone(), readers);
            let record = run_workload(&plan, &stage, |_| Ok(()))?;
            let target = subject.target.to_string();
            subject.stop()?;
            (record, 0, target)
        }
    };
    let verdict = check(&record.history, plan.judged_level());
    print!("{}", outcome_lines(&record, kills, &verdict));
    print!("{}", anomaly_lines(&verdict, plan.judged_level()));
    let internal: u64 = record
        .errors
        .iter()
        .filter(|(state, _)| state.starts_with("XX"))
        .map(|(_, count)| count)
        .sum();
    let expected = args.expect.as_deref().map(expected_anomaly).transpose()?;
    let pass = internal == 0
        && verdict.committed > 1
        && match expected {
            Some(anomaly) => verdict.has(anomaly),
            None => verdict.holds(),
        };
    match expected {
        Some(anomaly) => println!("\n{} expected to find {anomaly}", table::pass(pass)),
        None => println!(
            "\n{} nothing that {} forbids",
            table::pass(pass),
            plan.judged_level().sql()
        ),
    }
    let document = json!({
        "experiment": "history",
        "environment": json::environment(),
        "settings": {"workload": plan.workload, "isolation": plan.level, "lock": plan.exclusion,
            "connections": plan.connections,
            "keys": plan.keys, "operations_max": plan.operations_max, "duration_s": args.duration,
            "seed": plan.seed, "cancel_every_ms": args.cancel_every, "kill_every_s": args.kill_every,
            "expect": args.expect},
        "target": target,
        "readers": readers(args)?.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "errors": record.errors,
        "connections_lost": record.connections_lost,
        "cancels": record.cancels,
        "kills": kills,
        "verdict": verdict,
        "pass": pass,
    });
    if let Some(path) = &args.json {
        json::write(path, &document)?;
    }
    if page::is_wanted(&args.html) {
        page_of(&document, plan.judged_level(), &record, kills, &verdict).deliver(&args.html)?;
    }
    Ok(pass)
}

fn readers(args: &HistoryArgs) -> Result<Vec<Target>, String> {
    let parsed = args.reader.iter().map(|url| Target::parse(url));
    parsed
        .collect::<Result<_, _>>()
        .map_err(|error| format!("--reader: {error}"))
}

fn prepare(plan: &Plan, target: &Target, readers: &[Target]) -> Result<(), String> {
    set_up(plan, target, readers).map_err(|error| format!("cannot create the tables: {error}"))
}

fn expected_anomaly(name: &str) -> Result<Anomaly, String> {
    let found = Anomaly::ALL
        .into_iter()
        .find(|anomaly| anomaly.name().eq_ignore_ascii_case(name));
    found.ok_or_else(|| {
        let names: Vec<&str> = Anomaly::ALL.iter().map(|anomaly| anomaly.name()).collect();
        format!("--expect {name}: there are {}", names.join(", "))
    })
}

/// A directory that outlives the servers that are killed on it.
struct DataDirectory(PathBuf);

impl Drop for DataDirectory {
    fn drop(&mut self) {
        // What cannot be removed is the temporary directory's business.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn with_kills(
    args: &HistoryArgs,
    plan: &Plan,
    embedded: &dyn EmbeddedServer,
    period: Duration,
) -> Result<(Record, u64, String), String> {
    if args.target.target.is_some() {
        return Err("--kill-every is for the experiment's own server, not for --target".into());
    }
    let temporary = std::env::temp_dir().join(format!("mote-bench-history-{}", std::process::id()));
    let (_removed, data) = match &args.target.data {
        Some(data) => (None, data.clone()),
        None => (Some(DataDirectory(temporary.clone())), temporary),
    };
    let start = |data: &Path| embedded.start(Some(data), &args.target.serve_option);
    let mut server: Option<Box<dyn RunningServer>> = Some(start(&data)?);
    let url = |server: &Option<Box<dyn RunningServer>>| {
        Target::parse(server.as_ref().expect("there is one between kills").url())
    };
    let target = url(&server)?;
    prepare(plan, &target, &[])?;
    let stage = Stage::new(plan, target, Vec::new());
    let mut kills = 0;
    let record = run_workload(plan, &stage, |deadline| {
        while Instant::now() + period < deadline {
            std::thread::sleep(period);
            server.take().map_or(Ok(()), RunningServer::kill)?;
            kills += 1;
            server = Some(start(&data)?);
            stage.moved(url(&server)?);
        }
        Ok(())
    })?;
    let target = stage.target().to_string();
    server.map_or(Ok(()), RunningServer::stop)?;
    Ok((record, kills, target))
}

fn outcome_lines(record: &Record, kills: u64, verdict: &Verdict) -> String {
    let [ww, wr, rw] = verdict.dependencies;
    let errors: Vec<String> = record
        .errors
        .iter()
        .map(|(state, count)| format!("{state} {count}"))
        .collect();
    let errors = if errors.is_empty() {
        "none".to_string()
    } else {
        errors.join(", ")
    };
    format!(
        "{:<36} {:>14}\n{:<36} {:>14}\n{:<36} {:>14}\n{:<36} {}\n{:<36} {} kills, {} cancels, {} connections lost\n",
        "attempts",
        verdict.transactions,
        "committed",
        verdict.committed,
        "dependencies ww / wr / rw",
        format!("{ww} / {wr} / {rw}"),
        "errors by SQLSTATE",
        errors,
        "faults",
        kills,
        record.cancels,
        record.connections_lost,
    )
}

fn page_of(document: &Value, level: Level, record: &Record, kills: u64, verdict: &Verdict) -> Rendered {
    let [ww, wr, rw] = verdict.dependencies;
    let found = verdict.found.iter().map(|found| {
        let judged = if found.forbidden { "forbidden" } else { "allowed" };
        vec![
            format!("{} ({})", found.anomaly, found.anomaly.meaning()),
            judged.to_string(),
            found.count.to_string(),
        ]
    });
    let counts: Vec<Vec<String>> = record
        .errors
        .iter()
        .map(|(state, count)| vec![state.clone(), count.to_string()])
        .collect();
    let names: Vec<&str> = verdict.found.iter().map(|found| found.anomaly.name()).collect();
    let seen = verdict
        .found
        .iter()
        .map(|found| Some(found.count as f64))
        .collect();
    html::plain(
        document,
        Plain {
            title: "What clients saw, checked for anomalies",
            lead: format!("Every transaction at {}", level.sql()),
            figures: vec![
                (
                    "transactions committed".into(),
                    table::grouped(verdict.committed as f64),
                ),
                ("dependencies ww / wr / rw".into(), format!("{ww} / {wr} / {rw}")),
                (
                    "kills; cancels; connections lost".into(),
                    format!("{kills}; {}; {}", record.cancels, record.connections_lost),
                ),
            ],
            verdicts: vec![(verdict.holds(), format!("nothing that {} forbids", level.sql()))],
            charts: match names.is_empty() {
                true => Vec::new(),
                false => vec![charts::bars(
                    "Anomalies",
                    "at least so often",
                    &names,
                    &[("seen".into(), seen)],
                    None,
                )],
            },
            tables: vec![
                PlainTable {
                    title: "Anomalies",
                    header: &["anomaly", "the level", "seen at least"],
                    rows: found.collect(),
                },
                PlainTable {
                    title: "Errors by SQLSTATE",
                    header: &["SQLSTATE", "attempts"],
                    rows: counts,
                },
            ],
            notes: Vec::new(),
            remarks: &[],
            small_print: &[],
        },
    )
}

fn anomaly_lines(verdict: &Verdict, level: Level) -> String {
    if verdict.found.is_empty() {
        return "anomalies                            none\n".to_string();
    }
    let mut text = String::new();
    for found in &verdict.found {
        let judgement = if found.forbidden {
            format!("FORBIDDEN at {}", level.sql())
        } else {
            format!("allowed at {}", level.sql())
        };
        text.push_str(&format!(
            "\n{} ({}): {judgement}; seen at least {} times\n",
            found.anomaly,
            found.anomaly.meaning(),
            found.count
        ));
        if let Some(example) = found.examples.first() {
            for line in example.steps.iter().chain(&example.transactions) {
                text.push_str(&format!("    {line}\n"));
            }
        }
    }
    text
}
