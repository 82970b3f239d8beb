//! `mote bench versus`: any number of systems under the same work, interleaved, with intervals and verdicts.
//!
//! Every round is one block of the bootstrap: the systems of a round are paired, since they share what the machine did.

use serde_json::{Value, json};

use super::args::{TargetArgs, VersusArgs, VersusWorkload};
use super::quiet::Quiet;
use super::tpcc::{processors, summarize};
use super::{Subject, default_driver_threads, workload};
use crate::report::table::{COMPARISON_HEADER, comparison_row};
use crate::report::versus::{Outcome, System};
use crate::report::{Summary, html, json, page, table};
use crate::server::EmbeddedServer;
use mote_driver::Admin;
use mote_measure::RunOutcome;
use mote_measure::arrivals::OpenLoop;
use mote_measure::buckets::Buckets;
use mote_measure::readback;
use mote_measure::statistics::{self, BLOCKS_MIN, Block, Metric, Plan, Verdict};
use mote_workload::closed_loop::LoopPlan;
use mote_workload::condition::ConditionVerdict;
use mote_workload::contract::Workload;
use mote_workload::crew::CrewPlan;
use mote_workload::tpcc::consistency;
use mote_workload::tpcc::mix::WRITING;
use mote_workload::tpcc::{self, DISCLAIMER, LoadMode, Settings};
use mote_workload::{loader, point};

const METRICS: [Metric; 4] = [
    Metric::Throughput,
    Metric::Quantile(0.5),
    Metric::Quantile(0.9),
    Metric::Quantile(0.99),
];

/// A system under comparison: how it is reached, and what it did.
struct Contender {
    system: System,
    subject: Subject,
    conditions: Vec<ConditionVerdict>,
}

pub fn run(args: &VersusArgs, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    let mut contenders = contenders(args, embedded)?;
    let mut quiet = Quiet::new(args.output.quiet);
    if !args.no_load {
        for contender in &contenders {
            prepare(args, contender, &mut quiet)?;
        }
    }
    let orders = statistics::balanced_orders(contenders.len());
    let rounds = args.rounds.max(BLOCKS_MIN).next_multiple_of(orders.len());
    for round in 0..rounds {
        for &system in &orders[round % orders.len()] {
            let (block, summary) = measure(args, &contenders[system], &mut quiet)?;
            let contender = &mut contenders[system];
            quiet.say(&format!(
                "round {} of {rounds}  {:<12} {:>12} a second",
                round + 1,
                contender.system.name,
                table::grouped(summary.transactions_per_s)
            ));
            contender.system.blocks.push(block);
            contender.system.summary = Some(summary);
        }
    }
    for contender in &mut contenders {
        contender.conditions = conditions(args, contender)?;
    }
    let results = judge(&contenders, args.confidence);
    let pass = passes(&contenders, &results);
    print!("{}", text(args, &contenders, &results, rounds));
    println!("\n{} {DISCLAIMER}", table::pass(pass));
    report(args, &contenders, &results, rounds, pass)?;
    for contender in contenders {
        contender.subject.stop()?;
    }
    Ok(pass)
}

fn contenders(args: &VersusArgs, embedded: &dyn EmbeddedServer) -> Result<Vec<Contender>, String> {
    if args.system.len() < 2 {
        return Err("a comparison needs two systems at least: --system OLD=URL --system NEW=URL".into());
    }
    let each = args.system.iter().map(|text| {
        let (name, url) = text
            .split_once('=')
            .filter(|(name, _)| !name.is_empty() && !name.contains(':'))
            .ok_or_else(|| format!("\"{text}\" is not of the form NAME=URL"))?;
        let subject = Subject::new(&TargetArgs::server(url), embedded)?;
        let admin = Admin::connect(&subject.target).map_err(|error| format!("{name}: {error}"))?;
        Ok(Contender {
            system: System {
                name: name.to_string(),
                server_version: admin.server_version().to_string(),
                blocks: Vec::new(),
                summary: None,
            },
            subject,
            conditions: Vec::new(),
        })
    });
    each.collect()
}

/// The workload of the contract, as a system sees it: what clients know of its data is not another's.
fn known(args: &VersusArgs) -> Option<Box<dyn Workload>> {
    let known = args.workload.known()?;
    Some(known.build(args.size, args.measured.seed))
}

fn conditions(args: &VersusArgs, contender: &Contender) -> Result<Vec<ConditionVerdict>, String> {
    let named = |error: String| format!("{}: {error}", contender.system.name);
    let target = &contender.subject.target;
    if let Some(workload) = known(args) {
        return workload::conditions(&*workload, args.terminals.isolation, target).map_err(named);
    }
    match args.workload {
        VersusWorkload::Tpcc => {
            let mut admin = Admin::connect(target).map_err(|error| named(error.to_string()))?;
            Ok(consistency::check_all(&mut admin, |_| {}))
        }
        _ => Ok(Vec::new()),
    }
}

fn open_loop(args: &VersusArgs) -> Option<OpenLoop> {
    args.open_loop.rate.map(|rate| OpenLoop {
        rate,
        arrivals: args.open_loop.arrivals,
        seed: args.measured.seed,
    })
}

fn settings(args: &VersusArgs, load: LoadMode) -> Settings {
    let threads = args
        .measured
        .driver_threads
        .unwrap_or_else(default_driver_threads);
    Settings {
        driver_threads: threads.clamp(1, args.connections.max(1)),
        warmup_s: args.measured.warmup,
        duration_s: args.measured.duration,
        seed: args.measured.seed,
        mix: args.terminals.mix,
        home: args.terminals.home,
        isolation: args.terminals.isolation,
        execution: args.terminals.execution,
        open_loop: open_loop(args),
        load,
        check: false,
        ..Settings::closed_loop(args.warehouses, args.connections.max(1))
    }
}

fn prepare(args: &VersusArgs, contender: &Contender, quiet: &mut Quiet) -> Result<(), String> {
    let named = |error: String| format!("{}: {error}", contender.system.name);
    let target = &contender.subject.target;
    match args.workload {
        // Every system begins from the same database, not from what an earlier comparison left to one of them.
        VersusWorkload::Tpcc => {
            let settings = settings(args, LoadMode::Only);
            tpcc::experiment(settings, target, contender.subject.processes, quiet).map_err(named)?;
        }
        VersusWorkload::Point => {
            point::set_up(target, args.rows).map_err(|error| named(error.to_string()))?
        }
        _ => {
            let workload = known(args).ok_or("this workload has no data")?;
            let plan = loader::Plan {
                target,
                connections: 2 * processors(),
                progress: false,
                resume: false,
            };
            quiet.say(&format!("loading {} into {target}", workload.title()));
            loader::provide(&plan, &*workload.data(), LoadMode::Only).map_err(named)?;
        }
    }
    Ok(())
}

/// One system's part of a round.
fn measure(args: &VersusArgs, contender: &Contender, quiet: &mut Quiet) -> Result<(Block, Summary), String> {
    let named = |error: String| format!("{}: {error}", contender.system.name);
    let subject = &contender.subject;
    match args.workload {
        VersusWorkload::Tpcc => {
            // What each round says of itself is noise beside the comparison.
            let mut silent = Quiet::new(true);
            let settings = settings(args, LoadMode::Never);
            let experiment =
                tpcc::experiment(settings, &subject.target, subject.processes, &mut silent).map_err(named)?;
            let outcome = experiment
                .outcome
                .ok_or_else(|| named("nothing was measured".into()))?;
            let summary = summarize(&outcome).with_durability(&outcome, &WRITING, args.connections);
            // New orders stand for the mix, whose shares are fixed.
            Ok((block(&outcome), summary))
        }
        VersusWorkload::Point => {
            let plan = LoopPlan {
                target: &subject.target,
                server: subject.processes,
                connections: args.connections.max(1),
                driver_threads: settings(args, LoadMode::Never).driver_threads,
                warmup_s: args.measured.warmup,
                duration_s: args.measured.duration,
                kinds: point::KINDS,
                statements: point::shared_statements(),
                open_loop: open_loop(args),
            };
            let outcome = point::run(&plan, args.rows, args.measured.seed, &mut |_| {}).map_err(named)?;
            if let Some((state, number)) = outcome.totals.errors.first_key_value() {
                quiet.say(&format!(
                    "{}: {number} selects failed with {state}",
                    contender.system.name
                ));
            }
            let summary = Summary::new(&outcome, point::KINDS, None, None);
            Ok((block(&outcome), summary))
        }
        _ => measure_known(args, contender),
    }
}

/// All types of the contract's workload together: their shares are fixed.
fn measure_known(args: &VersusArgs, contender: &Contender) -> Result<(Block, Summary), String> {
    let named = |error: String| format!("{}: {error}", contender.system.name);
    let workload = known(args).ok_or("this workload is not of the contract")?;
    let plan = CrewPlan {
        target: &contender.subject.target,
        server: contender.subject.processes,
        connections: args.connections.max(1),
        driver_threads: settings(args, LoadMode::Never).driver_threads,
        warmup_s: args.measured.warmup,
        duration_s: args.measured.duration,
        seed: args.measured.seed,
        isolation: args.terminals.isolation,
        retries_max: args.retries,
        open_loop: open_loop(args),
    };
    let (outcome, tally) = workload::measured(&*workload, &plan, None, &mut |_| {}).map_err(named)?;
    workload::require(tally).map_err(named)?;
    let summary = Summary::new(&outcome, workload.kinds(), None, None).with_durability(
        &outcome,
        workload.writing(),
        args.connections,
    );
    let kinds: Vec<Buckets> = outcome
        .totals
        .kinds
        .iter()
        .map(|kind| Buckets::of(&kind.latency))
        .collect();
    let block = Block {
        seconds: outcome.measured_s,
        latency: Buckets::merge(kinds.iter()),
    };
    Ok((block, summary))
}

/// The first type of transaction within the measured window.
fn block(outcome: &RunOutcome) -> Block {
    Block {
        seconds: outcome.measured_s,
        latency: Buckets::of(&outcome.totals.kinds[0].latency),
    }
}

fn judge(contenders: &[Contender], confidence: f64) -> Vec<Outcome> {
    let plan = Plan {
        confidence,
        ..Plan::default()
    };
    let (base, others) = contenders.split_first().expect("at least two systems");
    let each = others.iter().map(|other| Outcome {
        system: other.system.name.clone(),
        figures: statistics::compare(&base.system.blocks, &other.system.blocks, &METRICS, plan),
    });
    each.collect()
}

fn passes(contenders: &[Contender], results: &[Outcome]) -> bool {
    let figures = results.iter().flat_map(|result| &result.figures);
    let mut conditions = contenders.iter().flat_map(|contender| &contender.conditions);
    conditions.all(|verdict| verdict.pass) && !figures.into_iter().any(|one| one.verdict == Verdict::Slower)
}

fn text(args: &VersusArgs, contenders: &[Contender], results: &[Outcome], rounds: usize) -> String {
    let base = &contenders[0];
    let mut out = format!(
        "base: {} ({}), {rounds} rounds of {} s, {:.0} % sure of all figures of a comparison together\n\n",
        base.system.name,
        base.system.server_version,
        args.measured.duration,
        100.0 * args.confidence
    );
    let mut header = COMPARISON_HEADER;
    (header[0], header[2], header[3], header[4]) = ("system", "base", "system", "ratio");
    let rows: Vec<Vec<String>> = results
        .iter()
        .flat_map(|result| {
            result
                .figures
                .iter()
                .map(|one| comparison_row(&result.system, one))
        })
        .collect();
    out += &table::table(&header, &rows);
    for contender in contenders {
        for verdict in contender.conditions.iter().filter(|verdict| !verdict.pass) {
            out += &format!("{}: {}\n", contender.system.name, table::condition_line(verdict));
        }
        for warning in contender
            .system
            .summary
            .iter()
            .flat_map(|summary| &summary.warnings)
        {
            out += &format!("WARNING: {}: {warning}\n", contender.system.name);
        }
    }
    out
}

fn title(args: &VersusArgs) -> String {
    match args.workload {
        VersusWorkload::Tpcc => "order entry, new orders".to_string(),
        VersusWorkload::Point => "one-row selects".to_string(),
        _ => known(args).map_or_else(String::new, |workload| workload.title()),
    }
}

fn reported_settings(args: &VersusArgs) -> Value {
    let Some(workload) = known(args) else {
        return json!(settings(args, LoadMode::Never));
    };
    let mut all = workload.settings();
    let common = json!({"connections": args.connections, "warmup_s": args.measured.warmup,
        "duration_s": args.measured.duration, "seed": args.measured.seed, "retries_max": args.retries,
        "isolation": args.terminals.isolation, "open_loop": open_loop(args)});
    if let (Some(all), Some(common)) = (all.as_object_mut(), common.as_object()) {
        all.extend(common.clone());
    }
    all
}

fn report(
    args: &VersusArgs,
    contenders: &[Contender],
    results: &[Outcome],
    rounds: usize,
    pass: bool,
) -> Result<(), String> {
    if args.output.json.is_none() && !page::is_wanted(&args.html) {
        return Ok(());
    }
    let systems: Vec<_> = contenders
        .iter()
        .map(|contender| {
            let settings = Admin::connect(&contender.subject.target)
                .and_then(|mut admin| readback::settings(&mut admin))
                .unwrap_or_default();
            json!({
                "name": contender.system.name,
                "target": contender.subject.target.to_string(),
                "server_version": contender.system.server_version,
                "server_settings": settings,
                "rounds": contender.system.blocks.iter().map(|block| json!({
                    "seconds": block.seconds, "latency": block.latency})).collect::<Vec<_>>(),
                "last_round": contender.system.summary,
                "consistency": contender.conditions,
            })
        })
        .collect();
    let document = json!({
        "experiment": "versus",
        "disclaimer": DISCLAIMER,
        "environment": json::environment(),
        "workload": title(args),
        "confidence": args.confidence,
        "rounds": rounds,
        "settings": reported_settings(args),
        "systems": systems,
        "comparisons": results,
        "pass": pass,
    });
    if let Some(path) = &args.output.json {
        json::write(path, &document)?;
    }
    if page::is_wanted(&args.html) {
        let systems: Vec<&System> = contenders.iter().map(|contender| &contender.system).collect();
        let page = html::versus(&document, &systems, results);
        page.deliver(&args.html)?;
    }
    Ok(())
}
