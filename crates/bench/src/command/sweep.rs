//! `mote bench sweep`: order entry over a ladder of connections, on one system or two side by side.

use serde::Serialize;
use serde_json::json;

use super::args::{SweepArgs, TargetArgs};
use super::tpcc::summarize;
use super::{Subject, default_driver_threads};
use crate::board;
use crate::report::html::{self, LadderStep};
use crate::report::live::Live;
use crate::report::page;
use crate::report::{Summary, json, table};
use crate::server::EmbeddedServer;
use mote_measure::outcome::SeriesPoint;
use mote_workload::tpcc::consistency::ConditionVerdict;
use mote_workload::tpcc::{self, DISCLAIMER, LoadMode, Observer, Settings};

/// One step of the ladder on one system.
#[derive(Serialize)]
struct Step {
    system: &'static str,
    connections: usize,
    nopm: f64,
    total_per_minute: f64,
    summary: Summary,
}

pub fn run(args: &SweepArgs, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    if args.connections.is_empty() || args.connections.contains(&0) {
        return Err("--connections needs numbers of at least 1".into());
    }
    let mut systems = vec![("mote", Subject::new(&args.target, embedded)?)];
    if let Some(url) = &args.postgres {
        systems.push(("postgres", Subject::new(&TargetArgs::server(url), embedded)?));
    }
    let mut watcher = Watcher {
        live: Live::new("NOPM", args.output.progress, args.output.quiet),
        quiet: args.output.quiet,
    };
    let (mut steps, mut consistent) = (Vec::new(), true);
    for (index, &connections) in args.connections.iter().enumerate() {
        // Every step after the first runs on what the earlier ones left; the last one is followed by the proof.
        let load = if index == 0 {
            LoadMode::Auto
        } else {
            LoadMode::Never
        };
        let check = index + 1 == args.connections.len();
        for (system, subject) in &systems {
            let settings = settings(args, connections, load, check);
            let experiment = tpcc::experiment(settings, &subject.target, subject.processes, &mut watcher)
                .map_err(|error| format!("{system} at {connections} connections: {error}"))?;
            consistent &= experiment.conditions.iter().all(|verdict| verdict.pass);
            let Some(outcome) = &experiment.outcome else {
                continue;
            };
            let summary = summarize(outcome);
            let (nopm, total_per_minute) =
                (summary.first_kind_per_minute(), summary.transactions_per_s * 60.0);
            watcher.phase(&format!("  {system:<9} NOPM {:>12}", table::grouped(nopm)));
            steps.push(Step {
                system,
                connections,
                nopm,
                total_per_minute,
                summary,
            });
        }
    }
    print!("{}", text(&steps));
    println!(
        "\n{} the twelve consistency conditions after the last step. {DISCLAIMER}",
        table::pass(consistent)
    );
    let document = json!({
        "experiment": "sweep",
        "disclaimer": DISCLAIMER,
        "environment": json::environment(),
        "settings": settings(args, 0, LoadMode::Auto, true),
        "steps": steps,
        "pass": consistent,
    });
    if let Some(path) = &args.output.json {
        json::write(path, &document)?;
    }
    if page::is_wanted(&args.html) {
        let steps: Vec<LadderStep<'_>> = steps
            .iter()
            .map(|step| LadderStep {
                system: step.system,
                connections: step.connections,
                summary: &step.summary,
            })
            .collect();
        let page = html::ladder(&document, &steps);
        page.deliver(&args.html)?;
    }
    for (_, subject) in systems {
        subject.stop()?;
    }
    Ok(consistent)
}

fn settings(args: &SweepArgs, connections: usize, load: LoadMode, check: bool) -> Settings {
    Settings {
        driver_threads: args
            .measured
            .driver_threads
            .unwrap_or_else(default_driver_threads)
            .clamp(1, connections.max(1)),
        warmup_s: args.measured.warmup,
        duration_s: args.measured.duration,
        seed: args.measured.seed,
        mix: args.terminals.mix,
        home: args.terminals.home,
        isolation: args.terminals.isolation,
        execution: args.terminals.execution,
        load,
        check,
        ..Settings::closed_loop(args.warehouses, connections)
    }
}

struct Watcher {
    live: Live,
    quiet: bool,
}

impl Observer for Watcher {
    fn phase(&mut self, what: &str) {
        board::says(what);
        if !self.quiet {
            eprintln!("{what}");
        }
    }

    fn second(&mut self, point: &SeriesPoint) {
        self.live.second(point);
    }

    fn condition(&mut self, _: &ConditionVerdict) {}

    fn interactive(&self) -> bool {
        self.live.visible()
    }
}

/// One line per step; with two systems the second line of a step shows the first one's multiple of it.
fn text(steps: &[Step]) -> String {
    let header = [
        "connections",
        "system",
        "NOPM",
        "total/min",
        "new-order p50",
        "p90",
        "p99",
        "max ms",
        "CPU us/txn",
        "retries",
        "errors",
        "ratio",
    ];
    let rows: Vec<Vec<String>> = steps
        .iter()
        .map(|step| {
            let first = &step.summary.kinds[0];
            let errors: u64 = step.summary.kinds.iter().map(|kind| kind.errors).sum();
            let other = steps
                .iter()
                .find(|other| other.connections == step.connections && other.system == "mote");
            let ratio = match other {
                Some(other) if step.system != "mote" && step.nopm > 0.0 => {
                    format!("{:.2}", other.nopm / step.nopm)
                }
                _ => String::new(),
            };
            vec![
                step.connections.to_string(),
                step.system.to_string(),
                table::grouped(step.nopm),
                table::grouped(step.total_per_minute),
                table::milliseconds(first.p50_ms),
                table::milliseconds(first.p90_ms),
                table::milliseconds(first.p99_ms),
                table::milliseconds(first.max_ms),
                step.summary
                    .server_cpu_us_per_transaction
                    .map_or("-".into(), |each| format!("{each:.0}")),
                step.summary.retries.to_string(),
                errors.to_string(),
                ratio,
            ]
        })
        .collect();
    table::table(&header, &rows)
}
