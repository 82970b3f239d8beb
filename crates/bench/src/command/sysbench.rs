//! `mote bench sysbench`: the transactions of sysbench's OLTP scripts, on several servers in turn.

use serde::Serialize;
use serde_json::json;

use super::args::SysbenchArgs;
use super::contenders::{self, Contender, median};
use super::quiet::Quiet;
use super::tpcc::processors;
use super::{default_driver_threads, workload};
use crate::report::{Summary, json, table};
use crate::server::EmbeddedServer;
use mote_workload::contract::Workload;
use mote_workload::crew::CrewPlan;
use mote_workload::loader::{self, LoadMode};
use mote_workload::sysbench::{Mix, Sysbench};
use mote_workload::tpcc::Observer;

/// What one server did in one step: medians of the rounds.
#[derive(Serialize)]
pub(super) struct Figure {
    system: String,
    pub transactions_per_s: f64,
    p50_ms: f64,
    p95_ms: f64,
    p99_ms: f64,
    /// Transactions that were given up, in all rounds.
    pub failed: u64,
    /// Warnings of the rounds: a driver that was too busy, commits that cannot have been durable.
    warnings: Vec<String>,
    rounds: Vec<Summary>,
}

/// A mix with a number of threads.
#[derive(Serialize)]
pub(super) struct Step {
    mix: Mix,
    threads: u32,
    pub systems: Vec<Figure>,
}

pub fn run(args: &SysbenchArgs, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    if !(args.measured.duration > 0.0 && args.measured.warmup >= 0.0) {
        return Err("--duration must be positive, --warmup at least 0".into());
    }
    let quiet = Quiet::new(args.output.quiet);
    let servers = contenders::open(&args.contenders, embedded, &quiet)?;
    for server in &servers {
        load(args, server, &quiet).map_err(|error| format!("{}: {error}", server.name))?;
    }
    if args.load == LoadMode::Only {
        contenders::stop(servers)?;
        return Ok(true);
    }
    let mut steps = Vec::new();
    for mix in mixes(&args.workload) {
        for &threads in &args.threads {
            steps.push(step(args, mix, threads, &servers, &quiet)?);
        }
    }
    let mut pass = true;
    for server in &servers {
        let all = sysbench(args, Mix::ReadOnly);
        for verdict in workload::conditions(&all, None, &server.subject.target)? {
            pass &= verdict.pass;
            println!("{}: {}", server.name, table::condition_line(&verdict));
        }
    }
    print!("{}", text(&steps, &servers));
    let document = json!({
        "experiment": "sysbench",
        "environment": json::environment(),
        "settings": {"tables": args.tables, "rows": args.rows, "rand": args.rand, "rounds": args.rounds,
            "warmup_s": args.measured.warmup, "duration_s": args.measured.duration, "seed": args.measured.seed,
            "retries_max": args.retries},
        "systems": servers.iter().map(|server| json!({"name": server.name, "server_version": server.version,
            "target": server.subject.target.to_string()})).collect::<Vec<_>>(),
        "steps": steps,
        "pass": pass,
    });
    if let Some(path) = &args.output.json {
        json::write(path, &document)?;
    }
    println!(
        "{} every server holds the rows that it has acknowledged",
        table::pass(pass)
    );
    contenders::stop(servers)?;
    Ok(pass)
}

/// Each once, in an order in which none takes another's rows away.
fn mixes(asked: &[Mix]) -> Vec<Mix> {
    let all = asked.contains(&Mix::All);
    let wanted = |mix: &Mix| all || asked.contains(mix);
    Mix::EACH.into_iter().filter(wanted).collect()
}

fn sysbench(args: &SysbenchArgs, mix: Mix) -> Sysbench {
    Sysbench {
        mix,
        tables: args.tables,
        rows: args.rows,
        draw: args.rand,
        seed: args.measured.seed,
    }
}

pub(super) fn load(args: &SysbenchArgs, server: &Contender, quiet: &Quiet) -> Result<(), String> {
    let plan = loader::Plan {
        target: &server.subject.target,
        connections: 2 * processors(),
        progress: args.output.progress || quiet.interactive(),
        resume: args.load == LoadMode::Resume,
    };
    let data = sysbench(args, Mix::ReadOnly);
    if let Some(report) = loader::provide(&plan, &*data.data(), args.load)? {
        print!("{}: {}", server.name, table::load_lines(&report));
    }
    Ok(())
}

/// Every round measures all servers, in an order that turns.
pub(super) fn step(
    args: &SysbenchArgs,
    mix: Mix,
    threads: u32,
    servers: &[Contender],
    quiet: &Quiet,
) -> Result<Step, String> {
    let mut rounds: Vec<Vec<Summary>> = servers.iter().map(|_| Vec::new()).collect();
    for round in 0..args.rounds as usize {
        for place in 0..servers.len() {
            let at = (place + round) % servers.len();
            let server = &servers[at];
            let summary =
                measure(args, mix, threads, server).map_err(|error| format!("{}: {error}", server.name))?;
            quiet.say(&format!(
                "{} {threads} threads  {:<12} {:>12} a second",
                mix.name(),
                server.name,
                table::grouped(summary.transactions_per_s)
            ));
            rounds[at].push(summary);
        }
    }
    let systems = servers
        .iter()
        .zip(rounds)
        .map(|(server, rounds)| figure(server, rounds));
    Ok(Step {
        mix,
        threads,
        systems: systems.collect(),
    })
}

fn measure(args: &SysbenchArgs, mix: Mix, threads: u32, server: &Contender) -> Result<Summary, String> {
    let (workload, connections) = (sysbench(args, mix), threads as usize);
    let driver_threads = args
        .measured
        .driver_threads
        .unwrap_or_else(default_driver_threads);
    let plan = CrewPlan {
        target: &server.subject.target,
        server: server.subject.processes,
        connections,
        driver_threads: driver_threads.clamp(1, connections),
        warmup_s: args.measured.warmup,
        duration_s: args.measured.duration,
        seed: args.measured.seed,
        isolation: None,
        retries_max: args.retries,
        open_loop: None,
    };
    let (outcome, tally) = workload::measured(&workload, &plan, None, &mut |_| {})?;
    workload::require(tally)?;
    Ok(
        Summary::new(&outcome, workload.kinds(), None, None).with_durability(
            &outcome,
            workload.writing(),
            connections,
        ),
    )
}

fn figure(server: &Contender, rounds: Vec<Summary>) -> Figure {
    let middle = |of: &dyn Fn(&Summary) -> f64| {
        let values: Vec<f64> = rounds.iter().map(of).collect();
        median(&values).unwrap_or(f64::NAN)
    };
    Figure {
        system: server.name.clone(),
        transactions_per_s: middle(&|round| round.transactions_per_s),
        p50_ms: middle(&|round| round.kinds[0].p50_ms),
        p95_ms: middle(&|round| round.kinds[0].p95_ms),
        p99_ms: middle(&|round| round.kinds[0].p99_ms),
        failed: rounds.iter().map(|round| round.kinds[0].errors).sum(),
        warnings: rounds.iter().flat_map(|round| round.warnings.clone()).collect(),
        rounds,
    }
}

fn text(steps: &[Step], servers: &[Contender]) -> String {
    let base = &servers[0].name;
    let ratio = format!("x {base}");
    let header = [
        "workload", "threads", "system", "a second", &ratio, "p50 ms", "p95", "p99", "failed",
    ];
    let mut rows = Vec::new();
    for step in steps {
        for figure in &step.systems {
            let own = figure.transactions_per_s / step.systems[0].transactions_per_s;
            rows.push(vec![
                step.mix.name().to_string(),
                step.threads.to_string(),
                figure.system.clone(),
                table::grouped(figure.transactions_per_s),
                format!("{own:.2}"),
                table::milliseconds(figure.p50_ms),
                table::milliseconds(figure.p95_ms),
                table::milliseconds(figure.p99_ms),
                figure.failed.to_string(),
            ]);
        }
    }
    let mut out = table::table(&header, &rows);
    for (step, figure) in steps
        .iter()
        .flat_map(|step| step.systems.iter().map(move |figure| (step, figure)))
    {
        for warning in &figure.warnings {
            out += &format!(
                "WARNING: {} {} threads, {}: {warning}\n",
                step.mix.name(),
                step.threads,
                figure.system
            );
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deletes_come_last_and_all_is_each() {
        assert_eq!(
            mixes(&[Mix::Delete, Mix::PointSelect]),
            [Mix::PointSelect, Mix::Delete]
        );
        assert_eq!(mixes(&[Mix::All]), Mix::EACH);
    }
}
