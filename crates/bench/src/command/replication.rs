//! `mote bench replication`: order entry without and with a synchronous standby, in turn.

use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::json;

use super::args::ReplicationArgs;
use super::pair::{self, Place, Standby, Way};
use super::quiet::Quiet;
use super::systems::{Present, Systems, remove_data};
use super::tpcc::{processors, summarize};
use crate::report::pairs::{Behind, Cost, Paired, TARGET_HEADER, Target, confidence};
use crate::report::section::{Proof, judgement};
use crate::report::{html, json, page, table};
use crate::server::EmbeddedServer;
use mote_driver::{Admin, DriverResult};
use mote_measure::cpu::ProcessTree;
use mote_measure::distance::{DistanceWatch, Look};
use mote_measure::outcome::SeriesPoint;
use mote_measure::pinning::Processors;
use mote_workload::tpcc::consistency::{self, ConditionVerdict};
use mote_workload::tpcc::{self, DISCLAIMER, Observer, schema};

/// What a system may lose, by connections, and what its standby may be behind.
const NOPM_MIN: [(usize, f64); 2] = [(64, 0.98), (16, 0.95)];
const CPU_MAX: f64 = 1.02;
const BEHIND_P99_MAX_MS: f64 = 50.0;
/// How long a standby may take to show what the primary had when it was asked.
const REPLAY_MAX: Duration = Duration::from_secs(60);

/// One run of one arm.
#[derive(Serialize)]
struct Run {
    system: String,
    round: u32,
    connections: usize,
    with_standby: bool,
    nopm: f64,
    new_order_p99_ms: f64,
    cpu_us: Option<f64>,
    #[serde(skip)]
    behind_ms: Vec<f64>,
}

/// What all rounds have found.
#[derive(Default)]
struct Found {
    runs: Vec<Run>,
    proofs: Vec<Proof>,
}

pub fn run(args: &ReplicationArgs, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    if args.connections.is_empty() || args.connections.contains(&0) {
        return Err("--connections needs numbers of at least 1".into());
    }
    if args.pin {
        // Before anything is started: a server takes as many threads as it sees processors.
        Processors::one(0)
            .keep_this_thread()
            .map_err(|error| format!("--pin: {error}"))?;
    }
    let starter = args.lineup.starter();
    let embedded = starter.as_ref().map_or(embedded, |starter| starter);
    let place = Place::new(&args.common)?;
    let mut quiet = Quiet::new(args.common.output.quiet);
    let mut systems = Systems::start(&args.lineup, &place.directory, embedded, &quiet)?;
    let found = measure(args, &mut systems, &place.directory, embedded, &mut quiet);
    let described = systems.describe();
    let absent = std::mem::take(&mut systems.absent);
    systems.stop();
    remove_data(&place.directory)?;
    let found = found?;
    let costs = costs(args, &found.runs);
    if costs.is_empty() {
        let why: Vec<String> = absent
            .iter()
            .map(|(name, why)| format!("{name}: {why}"))
            .collect();
        return Err(format!("no system could be measured; {}", why.join("; ")));
    }
    let judged = args.lineup.judged();
    let targets = targets(judged, &costs);
    let pass = costs.iter().any(|cost| cost.system == judged)
        && found.proofs.iter().all(|proof| proof.pass)
        && targets.iter().all(Target::is_not_missed);
    print!("{}", text(args, &costs, &targets));
    print!("{}", judgement(&absent, &found.proofs, pass));
    let document = json!({
        "experiment": "replication",
        "disclaimer": DISCLAIMER,
        "environment": json::environment(),
        "settings": settings(args),
        "confidence": confidence(args.rounds),
        "systems": described,
        "costs": costs,
        "targets": targets,
        "runs": found.runs,
        "proofs": found.proofs,
        "pass": pass,
    });
    if let Some(path) = &args.common.output.json {
        json::write(path, &document)?;
    }
    if page::is_wanted(&args.common.html) {
        html::replication(&document, &costs, &targets).deliver(&args.common.html)?;
    }
    Ok(pass)
}

fn settings(args: &ReplicationArgs) -> serde_json::Value {
    json!({"warehouses": args.common.warehouses, "connections": args.connections, "rounds": args.rounds,
        "warmup_s": args.warmup, "duration_s": args.duration, "seed": args.common.seed, "pinned": args.pin,
        "execution": args.common.terminals.execution, "mix": args.common.terminals.mix.to_string()})
}

fn measure(
    args: &ReplicationArgs,
    systems: &mut Systems,
    directory: &Path,
    embedded: &dyn EmbeddedServer,
    quiet: &mut Quiet,
) -> Result<Found, String> {
    for system in &systems.present {
        pair::load(&args.common, system, quiet)?;
        if let (true, Some(processes)) = (args.pin, system.subject.processes) {
            pin(processes, 0)?;
        }
    }
    let mut found = Found::default();
    for round in 0..args.rounds {
        // Systems and arms change their order, so that none always follows the same; who has no standby is known at once.
        let mut order: Vec<usize> = (0..systems.present.len()).collect();
        let first_with = round % 2 == 0;
        if !first_with {
            order.reverse();
        }
        for index in order {
            let system = &systems.present[index];
            if !systems.takes_part(&system.name) {
                continue;
            }
            for with in [first_with, !first_with] {
                let last = round + 1 == args.rounds;
                let done = arm(args, system, (round, with, last), directory, embedded, &mut found);
                match done {
                    Ok(()) => quiet.say(&format!(
                        "  round {} of {}  {:<10} {} a standby",
                        round + 1,
                        args.rounds,
                        system.name,
                        if with { "with" } else { "without" }
                    )),
                    Err(why) => {
                        quiet.say(&format!("  {:<10} {why}", system.name));
                        // Who never had a standby does not take part; who breaks off has failed.
                        if found.runs.iter().any(|run| run.system == system.name) {
                            found.proofs.push(Proof {
                                says: format!("{}, round {}: {why}", system.name, round + 1),
                                pass: false,
                            });
                        }
                        systems.absent.push((system.name.clone(), why));
                        break;
                    }
                }
            }
        }
    }
    found.runs.retain(|run| systems.takes_part(&run.system));
    Ok(found)
}

fn pin(processes: ProcessTree, processor: usize) -> Result<(), String> {
    processes
        .pin(&Processors::one(processor))
        .map_err(|error| format!("--pin: {error}"))
}

/// One arm of a round at all numbers of connections; after the last with a standby, what is proven of it.
fn arm(
    args: &ReplicationArgs,
    system: &Present,
    (round, with, last): (u32, bool, bool),
    directory: &Path,
    embedded: &dyn EmbeddedServer,
    found: &mut Found,
) -> Result<(), String> {
    let standby = match with {
        true => Some(Standby::start(system, directory, embedded, Way::Direct)?),
        false => None,
    };
    let measure = |found: &mut Found| -> Result<(), String> {
        if let (true, Some(processes)) = (args.pin, standby.as_ref().and_then(Standby::processes)) {
            pin(processes, processors_of_machine() - 1)?;
        }
        for &connections in &args.connections {
            found
                .runs
                .push(one(args, system, standby.as_ref(), round, connections)?);
        }
        if let (true, Some(standby)) = (last, &standby) {
            found.proofs.extend(prove(system, standby)?);
        }
        Ok(())
    };
    let measured = measure(found);
    let stopped = standby.map_or(Ok(()), |standby| standby.stop(system));
    measured.and(stopped)
}

/// All that there are: this process may be held to one of them.
fn processors_of_machine() -> usize {
    let found = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let counted = found.lines().filter(|line| line.starts_with("processor")).count();
    counted.max(processors())
}

/// Notes when the measured window began: a point tells how long ago that was.
struct Window {
    began: Option<Instant>,
}

impl Observer for Window {
    fn phase(&mut self, _: &str) {}

    fn second(&mut self, point: &SeriesPoint) {
        if point.second >= 0.0 && self.began.is_none() {
            self.began = Instant::now().checked_sub(Duration::from_secs_f64(point.second));
        }
    }

    fn condition(&mut self, _: &ConditionVerdict) {}

    fn interactive(&self) -> bool {
        false
    }
}

fn one(
    args: &ReplicationArgs,
    system: &Present,
    standby: Option<&Standby>,
    round: u32,
    connections: usize,
) -> Result<Run, String> {
    let subject = &system.subject;
    let settings = pair::order_entry(&args.common, connections, args.warmup, args.duration);
    let unwatched = |error| format!("the distance cannot be watched: {error}");
    let watch = DistanceWatch::start(&subject.target, standby.map(|standby| &standby.target));
    let watch = watch.map_err(unwatched)?;
    let mut window = Window { began: None };
    let experiment = tpcc::experiment(settings, &subject.target, subject.processes, &mut window);
    let looks = watch.finish().map_err(unwatched);
    let outcome = experiment?.outcome.ok_or("nothing was measured")?;
    let summary = summarize(&outcome);
    Ok(Run {
        system: system.name.clone(),
        round,
        connections,
        with_standby: standby.is_some(),
        nopm: summary.first_kind_per_minute(),
        new_order_p99_ms: summary.kinds[0].p99_ms,
        cpu_us: summary.server_cpu_us_per_transaction,
        behind_ms: within(&looks?, window.began, outcome.measured_s),
    })
}

/// The distances that were seen in the measured window, in milliseconds.
fn within(looks: &[Look], began: Option<Instant>, measured_s: f64) -> Vec<f64> {
    let Some(began) = began else {
        return Vec::new();
    };
    let end = began + Duration::from_secs_f64(measured_s);
    let inside = looks.iter().filter(|look| (began..end).contains(&look.at));
    inside.map(|look| look.behind.as_secs_f64() * 1e3).collect()
}

/// Whether the standby has what the primary has.
fn prove(system: &Present, standby: &Standby) -> Result<[Proof; 2], String> {
    let failed = |error| format!("{} and its standby cannot be compared: {error}", system.name);
    let mut primary = Admin::connect(&system.subject.target).map_err(failed)?;
    let mut copy = Admin::connect(&standby.target).map_err(failed)?;
    await_replay(&mut primary, &mut copy).map_err(failed)?;
    let mut differing = Vec::new();
    for name in schema::TABLES {
        let count = format!("SELECT count(*) FROM {name}");
        let (here, there) = (primary.value(&count), copy.value(&count));
        if here.map_err(failed)? != there.map_err(failed)? {
            differing.push(name);
        }
    }
    let verdicts = consistency::check_all(&mut copy, |_| {});
    let held = verdicts.iter().filter(|verdict| verdict.pass).count();
    Ok([
        Proof {
            says: match differing.as_slice() {
                [] => format!("{}: the standby has as many rows in every table", system.name),
                names => format!(
                    "{}: the standby has other numbers of rows in {}",
                    system.name,
                    names.join(", ")
                ),
            },
            pass: differing.is_empty(),
        },
        Proof {
            says: format!(
                "{}: {held} of {} consistency conditions hold on the standby",
                system.name,
                verdicts.len()
            ),
            pass: held == verdicts.len(),
        },
    ])
}

/// Waits until the standby shows what the primary has now; one that does not will differ.
fn await_replay(primary: &mut Admin, standby: &mut Admin) -> DriverResult<()> {
    let position = primary
        .value("SELECT pg_current_wal_flush_lsn()")?
        .unwrap_or_default();
    let shown = format!("SELECT pg_last_wal_replay_lsn() >= '{position}'");
    let deadline = Instant::now() + REPLAY_MAX;
    while standby.value(&shown)?.as_deref() != Some("t") && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn costs(args: &ReplicationArgs, runs: &[Run]) -> Vec<Cost> {
    let mut systems: Vec<&str> = Vec::new();
    for run in runs {
        if !systems.contains(&run.system.as_str()) {
            systems.push(&run.system);
        }
    }
    let each = systems.iter().flat_map(|system| {
        let at = move |connections: &usize| {
            let own = runs
                .iter()
                .filter(|run| run.system == *system && run.connections == *connections);
            cost(&own.collect::<Vec<_>>())
        };
        args.connections.iter().filter_map(at)
    });
    each.collect()
}

/// Of one system at one number of connections.
fn cost(runs: &[&Run]) -> Option<Cost> {
    let paired = |value: &dyn Fn(&Run) -> Option<f64>| {
        let of = |with: bool, round: u32| {
            let run = runs
                .iter()
                .find(|run| run.with_standby == with && run.round == round);
            run.and_then(|run| value(run))
        };
        let rounds = runs.iter().filter(|run| run.with_standby).map(|run| run.round);
        let pairs: Vec<(f64, f64)> = rounds
            .filter_map(|round| of(false, round).zip(of(true, round)))
            .collect();
        Paired::of(&pairs)
    };
    let looks: Vec<f64> = runs
        .iter()
        .flat_map(|run| run.behind_ms.iter().copied())
        .collect();
    let first = runs.first()?;
    Some(Cost {
        system: first.system.clone(),
        connections: first.connections,
        nopm: paired(&|run| Some(run.nopm))?,
        new_order_p99_ms: paired(&|run| Some(run.new_order_p99_ms))?,
        cpu_us: paired(&|run| run.cpu_us),
        behind: Behind::of(&looks),
    })
}

/// What the first system is held to.
fn targets(judged: &str, costs: &[Cost]) -> Vec<Target> {
    let mut targets = Vec::new();
    for cost in costs.iter().filter(|cost| cost.system == judged) {
        let at = format!("{judged} at {} connections", cost.connections);
        let limit = NOPM_MIN
            .iter()
            .find(|(connections, _)| *connections == cost.connections);
        let Some((_, limit)) = limit else {
            continue;
        };
        targets.push(Target::ratio(
            format!("{at}: NOPM with / without"),
            &cost.nopm,
            *limit,
            true,
        ));
        if let Some(cpu) = &cost.cpu_us {
            targets.push(Target::ratio(
                format!("{at}: processor time of the primary with / without"),
                cpu,
                CPU_MAX,
                false,
            ));
        }
        targets.push(Target::below(
            format!("{at}: behind, p99, ms"),
            cost.behind.map(|behind| behind.p99_ms),
            BEHIND_P99_MAX_MS,
        ));
    }
    targets
}

fn text(args: &ReplicationArgs, costs: &[Cost], targets: &[Target]) -> String {
    let rows: Vec<Vec<String>> = costs.iter().map(Cost::row).collect();
    let mut out = format!("\n{}", table::table(&Cost::HEADER, &rows));
    out += &format!(
        "medians of {} round(s); intervals hold the true median of ratios with {:.1} %\n",
        args.rounds,
        100.0 * confidence(args.rounds)
    );
    if !targets.is_empty() {
        let rows: Vec<Vec<String>> = targets.iter().map(Target::row).collect();
        out += &format!("\n{}", table::table(&TARGET_HEADER, &rows));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(round: u32, with_standby: bool, nopm: f64) -> Run {
        Run {
            system: "a".into(),
            round,
            connections: 64,
            with_standby,
            nopm,
            new_order_p99_ms: 1.0,
            cpu_us: None,
            behind_ms: if with_standby { vec![1.0, 2.0] } else { Vec::new() },
        }
    }

    #[test]
    fn runs_of_one_round_belong_together_in_whichever_order_they_came() {
        let runs = [
            run(0, false, 100.0),
            run(0, true, 99.0),
            run(1, true, 49.0),
            run(1, false, 50.0),
            // Its other arm failed.
            run(2, false, 1.0),
        ];
        let cost = cost(&runs.iter().collect::<Vec<_>>()).expect("two rounds");
        assert_eq!((cost.nopm.low, cost.nopm.high), (0.98, 0.99));
        assert_eq!(cost.cpu_us, None);
        assert_eq!(cost.behind.map(|behind| behind.looks), Some(4));
        let targets = targets("a", std::slice::from_ref(&cost));
        assert_eq!(targets.len(), 2, "no processor time was seen: {targets:?}");
        assert!(targets.iter().all(Target::is_not_missed));
    }

    #[test]
    fn only_what_was_seen_in_the_window_counts() {
        let began = Instant::now();
        let look = |ms: u64, behind: u64| Look {
            at: began + Duration::from_millis(ms),
            behind: Duration::from_millis(behind),
        };
        let looks = [look(0, 1), look(999, 2), look(1_000, 3)];
        assert_eq!(within(&looks, Some(began), 1.0), [1.0, 2.0]);
        assert!(within(&looks, None, 1.0).is_empty());
    }
}
