//! `mote bench shards`: order entry over one, two and more servers, each with a part of the warehouses.

use std::path::Path;

use serde::Serialize;
use serde_json::json;

use super::args::{FaultArgs, ShardsArgs, TargetArgs};
use super::quiet::Quiet;
use super::tpcc::{ScratchLedger, summarize};
use super::victim::Patient;
use super::{Subject, default_driver_threads};
use crate::report::html::{self, ShardsStep};
use crate::report::{Summary, json, page, table};
use crate::server::EmbeddedServer;
use mote_driver::Target;
use mote_measure::cpu::ProcessTree;
use mote_workload::condition::ConditionVerdict;
use mote_workload::tpcc::{self, DISCLAIMER, Experiment, Observer, Settings, ShardsReport};

/// Order entry over so many servers.
#[derive(Serialize)]
pub struct Step {
    pub servers: usize,
    pub summary: Summary,
    /// `None` over one server.
    pub shards: Option<ShardsReport>,
    pub conditions: Vec<ConditionVerdict>,
    pub pass: bool,
}

impl Step {
    fn of(servers: usize, experiment: &Experiment) -> Result<Step, String> {
        let outcome = experiment.outcome.as_ref().ok_or("nothing was measured")?;
        Ok(Step {
            servers,
            summary: summarize(outcome),
            shards: experiment.shards,
            conditions: experiment.conditions.clone(),
            pass: experiment.pass(),
        })
    }

    /// Of the committed transactions, those that were prepared on some server.
    pub fn distributed_percent(&self) -> f64 {
        let counts = self.shards.unwrap_or_default().counts;
        100.0 * counts.distributed as f64 / counts.committed.max(1) as f64
    }
}

/// The servers of a step; dropping it stops those of its own.
pub(super) struct Fleet {
    subjects: Vec<Subject>,
}

impl Fleet {
    /// Starts servers; each has its directory below `data`.
    pub fn start(
        count: usize,
        data: Option<&Path>,
        options: &[String],
        embedded: &dyn EmbeddedServer,
    ) -> Result<Fleet, String> {
        let subjects = (1..=count).map(|number| {
            let args = TargetArgs {
                target: None,
                data: data.map(|data| data.join(format!("{count}-{number}"))),
                serve_option: options.to_vec(),
                ..TargetArgs::server("")
            };
            Subject::new(&args, embedded)
        });
        Ok(Fleet {
            subjects: subjects.collect::<Result<_, _>>()?,
        })
    }

    fn named(urls: &[String], embedded: &dyn EmbeddedServer) -> Result<Fleet, String> {
        let subjects = urls
            .iter()
            .map(|url| Subject::new(&TargetArgs::server(url), embedded));
        Ok(Fleet {
            subjects: subjects.collect::<Result<_, _>>()?,
        })
    }

    fn targets(&self) -> Vec<Target> {
        self.subjects
            .iter()
            .map(|subject| subject.target.clone())
            .collect()
    }

    /// All processes; `None` unless every server's are known.
    fn processes(&self) -> Option<ProcessTree> {
        let trees: Option<Vec<u32>> = self
            .subjects
            .iter()
            .map(|subject| subject.processes.and_then(|tree| tree.pids().first().copied()))
            .collect();
        ProcessTree::of(&trees?)
    }

    pub fn measure(&self, settings: Settings, observer: &mut dyn Observer) -> Result<Step, String> {
        let experiment = tpcc::experiment_over(settings, &self.targets(), self.processes(), observer, None)?;
        Step::of(self.subjects.len(), &experiment)
    }

    pub fn stop(self) -> Result<(), String> {
        self.subjects.into_iter().try_for_each(Subject::stop)
    }
}

pub fn run(args: &ShardsArgs, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    if args.connections == 0 || args.servers.contains(&0) {
        return Err("--connections and --servers need numbers of at least 1".into());
    }
    let mut quiet = Quiet::new(args.output.quiet);
    let mut steps = Vec::new();
    let counts = match args.target.is_empty() {
        true => args.servers.clone(),
        false => vec![args.target.len()],
    };
    for count in counts {
        let mut fleet = match args.target.is_empty() {
            true => Fleet::start(count, args.data.as_deref(), &args.serve_option, embedded)?,
            false => Fleet::named(&args.target, embedded)?,
        };
        quiet.say(&format!("{count} server(s)"));
        let (step, said) = one(args, &mut fleet, &mut quiet)?;
        print!("{said}");
        steps.push(step);
        fleet.stop()?;
    }
    let pass = steps.iter().all(|step| step.pass);
    println!("\n{}", table::table(&HEADER, &rows(&steps)));
    println!("{} {DISCLAIMER}", table::pass(pass));
    let document = json!({
        "experiment": "shards",
        "disclaimer": DISCLAIMER,
        "environment": json::environment(),
        "settings": settings(args),
        "steps": steps,
        "pass": pass,
    });
    if let Some(path) = &args.output.json {
        json::write(path, &document)?;
    }
    if page::is_wanted(&args.html) {
        let shown: Vec<ShardsStep<'_>> = steps
            .iter()
            .map(|step| ShardsStep {
                servers: step.servers,
                summary: &step.summary,
                distributed_percent: step.distributed_percent(),
                proven: step.pass,
            })
            .collect();
        html::shards(&document, &shown).deliver(&args.html)?;
    }
    Ok(pass)
}

fn settings(args: &ShardsArgs) -> Settings {
    Settings {
        driver_threads: args
            .measured
            .driver_threads
            .unwrap_or_else(default_driver_threads)
            .clamp(1, args.connections.max(1)),
        warmup_s: args.measured.warmup,
        duration_s: args.measured.duration,
        seed: args.measured.seed,
        mix: args.terminals.mix,
        home: args.terminals.home,
        isolation: args.terminals.isolation,
        execution: args.terminals.execution,
        load: args.load,
        ledger: args.ledger.clone(),
        ..Settings::closed_loop(args.warehouses, args.connections)
    }
}

/// One step, and what is to be said of it beside its line of the table.
fn one(args: &ShardsArgs, fleet: &mut Fleet, observer: &mut Quiet) -> Result<(Step, String), String> {
    let mut settings = settings(args);
    let scratch = ScratchLedger::new();
    let hurt = FaultArgs {
        faults: args.faults.clone(),
        restart_with: args.restart_with.clone(),
    };
    if hurt.faults.is_some() {
        settings.ledger.get_or_insert_with(|| scratch.0.clone());
    }
    let (targets, processes) = (fleet.targets(), fleet.processes());
    let last = fleet.subjects.last_mut().ok_or("there is no server")?;
    let mut patient = Patient::of(&hurt, last, args.measured.duration)?;
    let faults = patient.as_mut().and_then(|patient| patient.faults(&hurt));
    let experiment = tpcc::experiment_over(settings, &targets, processes, observer, faults);
    if let Some(patient) = patient {
        patient.back(last);
    }
    let experiment = experiment?;
    let step = Step::of(targets.len(), &experiment)?;
    let mut said = table::error_table(&step.summary);
    if let Some(shards) = &step.shards {
        let counts = shards.counts;
        said += &format!(
            "{} of {} transactions committed in two phases ({:.1} %); {} were prepared and rolled back, {} parts finished late\n",
            counts.distributed,
            counts.committed,
            step.distributed_percent(),
            counts.undone,
            counts.finished_late
        );
        said += &format!(
            "from an earlier run: {}\n",
            table::recovered_line(shards.left_before)
        );
        said += &format!(
            "by this run's end: {}\n",
            table::recovered_line(shards.left_behind)
        );
    }
    let recoveries = experiment
        .outcome
        .as_ref()
        .and_then(|outcome| outcome.recoveries.as_ref());
    said += &recoveries.map_or(String::new(), table::recovery_lines);
    said += &experiment
        .kept
        .as_ref()
        .map_or(String::new(), table::ledger_lines);
    for verdict in &step.conditions {
        said += &format!("{}\n", table::condition_line(verdict));
    }
    for remark in &experiment.warnings {
        said += &format!("WARNING: {remark}\n");
    }
    Ok((step, said))
}

const HEADER: [&str; 12] = [
    "servers",
    "NOPM",
    "of the first",
    "total/min",
    "two phases %",
    "new-order p50",
    "p90",
    "p99",
    "payment p90 ms",
    "CPU us/txn",
    "retries",
    "errors",
];

fn rows(steps: &[Step]) -> Vec<Vec<String>> {
    let first = steps.first().map(|step| step.summary.first_kind_per_minute());
    steps
        .iter()
        .map(|step| {
            let (summary, new_order) = (&step.summary, &step.summary.kinds[0]);
            let nopm = summary.first_kind_per_minute();
            let errors: u64 = summary.kinds.iter().map(|kind| kind.errors).sum();
            let of_first = first.filter(|first| *first > 0.0).map(|first| nopm / first);
            vec![
                step.servers.to_string(),
                table::grouped(nopm),
                of_first.map_or("-".into(), |ratio| format!("{ratio:.2}")),
                table::grouped(summary.transactions_per_s * 60.0),
                format!("{:.1}", step.distributed_percent()),
                table::milliseconds(new_order.p50_ms),
                table::milliseconds(new_order.p90_ms),
                table::milliseconds(new_order.p99_ms),
                table::milliseconds(summary.kinds[1].p90_ms),
                summary
                    .server_cpu_us_per_transaction
                    .map_or("-".into(), |each| format!("{each:.0}")),
                summary.retries.to_string(),
                errors.to_string(),
            ]
        })
        .collect()
}
