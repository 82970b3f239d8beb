//! `mote bench tpcc`: one experiment, from settings to a report.

use std::path::PathBuf;

use super::args::TpccArgs;
use super::find_rate::{self, RateGoal};
use super::victim::Patient;
use super::{Subject, default_driver_threads, properties};
use crate::board;
use crate::report::live::Live;
use crate::report::page;
use crate::report::store::Store;
use crate::report::{Summary, benchmarksql, html, json, table};
use crate::server::EmbeddedServer;
use mote_driver::Admin;
use mote_measure::outcome::SeriesPoint;
use mote_workload::tpcc::consistency::{self, ConditionVerdict};
use mote_workload::tpcc::mix::{KIND_NAMES, Kind, WRITING};
use mote_workload::tpcc::{self, DISCLAIMER, Experiment, Isolation, LoadMode, Observer, Settings};

/// New orders per minute that ten terminals with keying and think times can enter at most.
const CEILING_PER_WAREHOUSE: f64 = 12.86;

pub fn run(args: &TpccArgs, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    let mut args = args.clone();
    let notes = from_properties(&mut args)?;
    let args = &args;
    let mut settings = settings(args)?;
    let mut subject = Subject::new(&args.target, embedded)?;
    let mut console = Console {
        live: Live::new("NOPM", args.output.progress, args.output.quiet),
        quiet: args.output.quiet,
    };
    if let Some(goal) = args.open_loop.find_rate {
        return find_rate(args, goal, settings, subject, &mut console);
    }
    let scratch = args.faults.faults.as_ref().map(|_| ScratchLedger::new());
    if let (None, Some(scratch)) = (&settings.ledger, &scratch) {
        settings.ledger = Some(scratch.0.clone());
    }
    let mut patient = Patient::of(&args.faults, &mut subject, args.duration)?;
    let faults = patient.as_mut().and_then(|patient| patient.faults(&args.faults));
    let experiment =
        tpcc::experiment_with(settings, &subject.target, subject.processes, &mut console, faults)?;
    if let Some(patient) = patient {
        patient.back(&mut subject);
    }
    let connections = experiment.settings.connections;
    let summary = experiment
        .outcome
        .as_ref()
        .map(|outcome| summarize(outcome).with_durability(outcome, &WRITING, connections));
    let remarks: Vec<String> = subject.remarks().into_iter().chain(notes).collect();
    print!("{}", text(&experiment, summary.as_ref(), &remarks));
    let document = json::tpcc(&experiment, summary.as_ref(), &remarks);
    if let Some(path) = &args.output.json {
        json::write(path, &document)?;
    }
    if let (Some(path), Some(summary), Some(outcome)) = (&args.csv, &summary, &experiment.outcome) {
        benchmarksql::write(path, &experiment, summary, outcome)?;
    }
    if let (Some(path), Some(outcome)) = (&args.record.store, &experiment.outcome) {
        let run = Store::open(path)?.save(&document, KIND_NAMES, outcome)?;
        println!("kept as run {run} of {}", path.display());
    }
    if let (true, Some(summary)) = (page::is_wanted(&args.record.html), &summary) {
        let page = html::tpcc(&experiment, summary, &document);
        page.deliver(&args.record.html)?;
    }
    subject.stop()?;
    Ok(experiment.pass())
}

/// Lets a property file say what the command line could have said; answers what in it has no meaning here.
fn from_properties(args: &mut TpccArgs) -> Result<Vec<String>, String> {
    let Some(path) = &args.props else {
        return Ok(Vec::new());
    };
    let properties = properties::read(path)?;
    args.target.target.get_or_insert(properties.url);
    args.warehouses = properties.warehouses;
    args.connections = properties.connections;
    args.load_connections = properties.load_connections;
    (args.warmup, args.duration) = (properties.warmup_s, properties.duration_s);
    (args.terminals.mix, args.terminals.home) = (properties.mix, properties.home);
    args.pace = properties.pace;
    Ok(properties.notes)
}

/// What clients of a hurt server were told, where nobody wants to keep it.
pub(super) struct ScratchLedger(pub(super) PathBuf);

impl ScratchLedger {
    pub(super) fn new() -> ScratchLedger {
        let name = format!("mote-bench-ledger-{}", std::process::id());
        ScratchLedger(std::env::temp_dir().join(name))
    }
}

impl Drop for ScratchLedger {
    fn drop(&mut self) {
        // There is none if the run did not come so far.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Loads once, then probes rate after rate; the conditions are checked after the last.
fn find_rate(
    args: &TpccArgs,
    goal: RateGoal,
    settings: Settings,
    subject: Subject,
    console: &mut Console,
) -> Result<bool, String> {
    if settings.load == LoadMode::Only || args.record.store.is_some() || args.csv.is_some() {
        return Err("--find-rate makes many runs: it takes none of --load only, --store and --csv".into());
    }
    let mut consistent = Vec::new();
    let mut load = settings.load;
    let search = find_rate::search(goal, |rate| {
        let probe = Settings {
            open_loop: rate.map(|rate| args.open_loop.at(rate, settings.seed)),
            load: std::mem::replace(&mut load, LoadMode::Never),
            check: false,
            ..settings.clone()
        };
        let experiment = tpcc::experiment(probe, &subject.target, subject.processes, console)?;
        experiment
            .outcome
            .as_ref()
            .map(summarize)
            .ok_or_else(|| "nothing was measured".to_string())
    })?;
    if settings.check {
        let mut admin = Admin::connect(&subject.target)
            .map_err(|error| format!("cannot connect for the consistency conditions: {error}"))?;
        consistent = consistency::check_all(&mut admin, |verdict| console.condition(verdict));
    }
    let pass = search.rate > 0.0 && consistent.iter().all(|verdict| verdict.pass);
    print!("{}", find_rate::text(&search));
    println!("\n{} {DISCLAIMER}", table::pass(pass));
    let document = serde_json::json!({"experiment": "tpcc find-rate", "disclaimer": DISCLAIMER,
        "environment": json::environment(), "settings": settings, "search": search, "consistency": consistent,
        "pass": pass});
    if let Some(path) = &args.output.json {
        json::write(path, &document)?;
    }
    if page::is_wanted(&args.record.html) {
        find_rate::page("order entry", &document, &search).deliver(&args.record.html)?;
    }
    subject.stop()?;
    Ok(pass)
}

/// The figures of a TPC-C run: deliveries are queued as one type and done as another.
pub fn summarize(outcome: &mote_measure::RunOutcome) -> Summary {
    let (queued, done) = (Kind::Delivery as usize, Kind::DeliveryBackground as usize);
    Summary::new(outcome, KIND_NAMES, Some(queued), Some(done))
}

pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn settings(args: &TpccArgs) -> Result<Settings, String> {
    if args.connections == 0 {
        return Err("--connections must be at least 1".into());
    }
    if !(args.duration > 0.0 && args.warmup >= 0.0 && args.pace.is_none_or(|pace| pace > 0.0)) {
        return Err("--duration and --pace must be positive, --warmup at least 0".into());
    }
    Ok(Settings {
        warehouses: args.warehouses,
        connections: args.connections,
        driver_threads: args
            .driver_threads
            .unwrap_or_else(default_driver_threads)
            .clamp(1, args.connections),
        agents: args.agent.clone(),
        warmup_s: args.warmup,
        duration_s: args.duration,
        seed: args.seed,
        mix: args.terminals.mix,
        home: args.terminals.home,
        active: args.active_warehouses,
        pace: args.pace,
        open_loop: args.open_loop.open_loop(args.seed)?,
        isolation: args.terminals.isolation,
        execution: args.terminals.execution,
        retries_max: args.retries,
        load: args.load,
        load_connections: args.load_connections.unwrap_or(2 * processors()).max(1),
        foreign_keys: !args.no_foreign_keys,
        check: !args.no_check,
        ledger: args.ledger.clone(),
        delivery_results: args.delivery_results.clone(),
    })
}

/// Progress on standard error.
struct Console {
    live: Live,
    quiet: bool,
}

impl Observer for Console {
    fn phase(&mut self, what: &str) {
        board::says(what);
        if !self.quiet {
            eprintln!("{what}");
        }
    }

    fn second(&mut self, point: &SeriesPoint) {
        self.live.second(point);
    }

    fn condition(&mut self, verdict: &ConditionVerdict) {
        if self.live.visible() {
            eprintln!("{}", table::condition_line(verdict));
        }
    }

    fn interactive(&self) -> bool {
        self.live.visible()
    }
}

/// The report on standard output.
fn text(experiment: &Experiment, summary: Option<&Summary>, remarks: &[String]) -> String {
    let mut out = format!("server {} at {}\n", experiment.server_version, experiment.target);
    if let Some(load) = &experiment.load {
        out += &table::load_lines(&load.load);
    }
    if experiment.load.is_none() {
        out += "database reused as earlier runs left it\n";
    }
    if let (Some(after), Some(load)) = (experiment.memory_after_load_bytes, &experiment.load) {
        let each = after as f64 / 1e6 / load.warehouses as f64;
        out += &format!(
            "server memory after load: {:.0} MB, {each:.1} MB per warehouse\n",
            after as f64 / 1e6
        );
    }
    if let Some(summary) = summary {
        out += &format!(
            "\n{} warehouses, {} terminals, {} connections, {}, {:.1} s measured\n\n",
            experiment.warehouses,
            experiment.terminals,
            experiment.settings.connections,
            experiment
                .settings
                .isolation
                .map_or("the server's isolation level", Isolation::name),
            summary.measured_s
        );
        out += &table::latency_table(summary);
        out += "\n";
        out += &table::open_loop_lines(summary);
        out += &table::error_table(summary);
        out += "\n";
        out += &headline(experiment, summary);
        out += &table::resource_lines(summary);
        out += "\n";
        out += &table::audit_lines(&experiment.audit);
        for limit in experiment.limits() {
            let (p90_s, limit_s) = (limit.p90_s, limit.limit_s);
            let verdict = table::pass(limit.pass);
            out += &format!(
                "{verdict} {:<12} 90th percentile {p90_s:.3} s (at most {limit_s:.0} s)\n",
                limit.kind
            );
        }
    }
    let outcome = experiment.outcome.as_ref();
    if let Some(recoveries) = outcome.and_then(|outcome| outcome.recoveries.as_ref()) {
        out += &table::recovery_lines(recoveries);
    }
    if let Some(kept) = &experiment.kept {
        out += &table::ledger_lines(kept);
    }
    for verdict in &experiment.conditions {
        out += &table::condition_line(verdict);
        out += "\n";
    }
    for remark in experiment.warnings.iter().chain(remarks) {
        out += &format!("WARNING: {remark}\n");
    }
    out + &format!("\n{} {DISCLAIMER}\n", table::pass(experiment.pass()))
}

fn headline(experiment: &Experiment, summary: &Summary) -> String {
    let nopm = summary.first_kind_per_minute();
    let mut out = format!(
        "{:<36} {:>14}\n",
        "new orders per minute (NOPM)",
        table::grouped(nopm)
    );
    if experiment.settings.pace == Some(1.0) {
        let share = 100.0 * nopm / (CEILING_PER_WAREHOUSE * experiment.warehouses as f64);
        out += &format!("{:<36} {share:>14.1}\n", "of the terminals' ceiling, %");
    }
    out += &format!(
        "{:<36} {:>14}\n",
        "transactions per minute",
        table::grouped(summary.transactions_per_s * 60.0)
    );
    if let Some(rate) = summary.first_kind_per_server_cpu_s {
        out += &format!(
            "{:<36} {:>14}\n",
            "new orders per server CPU second",
            table::grouped(rate)
        );
    }
    out
}
