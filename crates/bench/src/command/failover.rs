//! `mote bench failover`: primaries that are killed, that hang, and that are relieved, again and again.

use std::path::Path;

use serde_json::json;

use super::args::FailOverArgs;
use super::pair::{self, Blow, FailOver, Harm, NoStandby, Place, Standby, fail_over};
use super::quiet::Quiet;
use super::systems::{Present, Systems, remove_data};
use crate::report::charts::{self, Mark};
use crate::report::page::Chart;
use crate::report::pairs::{TARGET_HEADER, TakeOver, Target, worst};
use crate::report::section::{Proof, judgement};
use crate::report::{html, json, page, table};
use crate::server::EmbeddedServer;
use mote_measure::RunOutcome;
use mote_workload::tpcc::DISCLAIMER;

/// What the first system is held to, in seconds.
const SILENT_MAX_S: f64 = 3.0;
const AFTER_DECISION_MAX_S: f64 = 1.0;
const SWITCH_OVER_MAX_S: f64 = 0.5;

/// All cycles of one kind on one system.
struct Series {
    system: String,
    harm: Harm,
    cycles: Vec<FailOver>,
    /// Of the longest silence so far.
    picture: Option<(f64, Chart)>,
    /// Why the next cycle had no standby.
    without: Option<String>,
    /// Why the next cycle did not come to its end.
    failed: Option<String>,
}

pub fn run(args: &FailOverArgs, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    if args.connections == 0 || args.faults.is_empty() {
        return Err("--connections needs a number of at least 1, and --faults a fault".into());
    }
    for (name, seconds) in [("before", args.before), ("after", args.after)] {
        if !(seconds >= 1.0 && seconds.is_finite()) {
            return Err(format!("--{name} needs at least a second"));
        }
    }
    if !(args.decide_after >= 0.0 && args.decide_after.is_finite()) {
        return Err("--decide-after cannot be negative".into());
    }
    if !(args.cut_for > 0.0 && args.cut_for.is_finite()) {
        return Err("--cut-for must be positive".into());
    }
    let starter = args.lineup.starter();
    let embedded = starter.as_ref().map_or(embedded, |starter| starter);
    let place = Place::new(&args.common)?;
    let mut quiet = Quiet::new(args.common.output.quiet);
    let mut systems = Systems::start(&args.lineup, &place.directory, embedded, &quiet)?;
    let series = measure(args, &mut systems, &place.directory, embedded, &mut quiet);
    let described = systems.describe();
    systems.stop();
    remove_data(&place.directory)?;
    let series = series?;
    let taken: Vec<TakeOver> = series.iter().filter_map(Series::taken).collect();
    let judged = args.lineup.judged();
    let targets = targets(judged, &taken);
    let proofs = proofs(&series);
    let pass = taken.iter().any(|one| one.system == judged)
        && proofs.iter().all(|proof| proof.pass)
        && targets.iter().all(Target::is_not_missed);
    print!("{}", text(&taken, &targets));
    print!("{}", judgement(&systems.absent, &proofs, pass));
    let document = json!({
        "experiment": "failover",
        "disclaimer": DISCLAIMER,
        "environment": json::environment(),
        "settings": settings(args),
        "systems": described,
        "cycles": series.iter().flat_map(|one| &one.cycles).collect::<Vec<_>>(),
        "taken_over": taken,
        "targets": targets,
        "proofs": proofs,
        "pass": pass,
    });
    if let Some(path) = &args.common.output.json {
        json::write(path, &document)?;
    }
    if page::is_wanted(&args.common.html) {
        let pictures: Vec<Chart> = series
            .into_iter()
            .filter_map(|one| one.picture.map(|(_, chart)| chart))
            .collect();
        html::failover(&document, &taken, &targets, &pictures).deliver(&args.common.html)?;
    }
    Ok(pass)
}

fn settings(args: &FailOverArgs) -> serde_json::Value {
    json!({"warehouses": args.common.warehouses, "connections": args.connections, "cycles": args.cycles,
        "faults": args.faults, "decide_after_s": args.decide_after, "cut_s": args.cut_for, "before_s": args.before, "after_s": args.after,
        "seed": args.common.seed, "execution": args.common.terminals.execution, "mix": args.common.terminals.mix.to_string()})
}

fn measure(
    args: &FailOverArgs,
    systems: &mut Systems,
    directory: &Path,
    embedded: &dyn EmbeddedServer,
    quiet: &mut Quiet,
) -> Result<Vec<Series>, String> {
    for system in &systems.present {
        pair::load(&args.common, system, quiet)?;
    }
    let mut all = Vec::new();
    for system in &mut systems.present {
        for (number, &harm) in args.faults.iter().enumerate() {
            let series = repeat(args, system, harm, directory, embedded, quiet)?;
            // One that never had a standby does not take part; one that had is to have it again.
            if let (0, true, Some(why)) = (number, series.cycles.is_empty(), &series.without) {
                systems.absent.push((system.name.clone(), why.clone()));
                break;
            }
            all.push(series);
        }
    }
    Ok(all)
}

/// So many cycles of one kind. An error is a system that is left as nobody could use it.
fn repeat(
    args: &FailOverArgs,
    system: &mut Present,
    harm: Harm,
    directory: &Path,
    embedded: &dyn EmbeddedServer,
    quiet: &mut Quiet,
) -> Result<Series, String> {
    let mut series = Series {
        system: system.name.clone(),
        harm,
        cycles: Vec::new(),
        picture: None,
        without: None,
        failed: None,
    };
    for number in 1..=args.cycles {
        let standby = match Standby::start(system, directory, embedded, harm.way()) {
            Ok(standby) => standby,
            Err(none) => {
                match &none {
                    NoStandby::Unknown(why) => series.without = Some(why.clone()),
                    NoStandby::Failed(why) => series.failed = Some(why.clone()),
                }
                quiet.say(&format!("  {:<10} {}", system.name, String::from(none)));
                break;
            }
        };
        let found = cycle(args, system, &standby, harm, directory);
        // Its own primary runs again, alone, and with what it had: the standby's later orders go with the standby.
        if harm.ends_primary() {
            system
                .start_again()
                .map_err(|error| format!("{}: {error}", system.name))?;
        }
        standby.stop(system)?;
        match found {
            Ok((found, outcome)) => {
                quiet.say(&format!(
                    "  {:<10} {} {number} of {}: silent for {} s",
                    system.name,
                    harm.word(),
                    args.cycles,
                    found
                        .recovery
                        .outage_s
                        .map_or("more than all the rest".to_string(), |silent| format!(
                            "{silent:.2}"
                        ))
                ));
                series.note(found, &outcome);
            }
            Err(why) => {
                quiet.say(&format!("  {:<10} {} {number}: {why}", system.name, harm.word()));
                series.failed = Some(why);
                break;
            }
        }
    }
    Ok(series)
}

fn cycle(
    args: &FailOverArgs,
    system: &mut Present,
    standby: &Standby,
    harm: Harm,
    directory: &Path,
) -> Result<(FailOver, RunOutcome), String> {
    let waited = match harm {
        Harm::SwitchOver => 0.0,
        Harm::Cut => args.cut_for,
        Harm::Kill | Harm::Stop => args.decide_after,
    };
    let blow = Blow {
        harm,
        at_s: args.before,
        decided_after_s: waited,
    };
    let duration_s = args.before + waited + args.after;
    let settings = pair::order_entry(&args.common, args.connections, 0.0, duration_s);
    fail_over(settings, system, standby, blow, directory)
}

impl Series {
    fn note(&mut self, found: FailOver, outcome: &RunOutcome) {
        let silent = found.recovery.outage_s.unwrap_or(f64::INFINITY);
        if self.picture.as_ref().is_none_or(|(longest, _)| silent > *longest) {
            let marks = Mark::all_of(outcome);
            self.picture = charts::recovery(outcome, &marks).map(|mut chart| {
                chart.title = format!("{}, {}: {}", self.system, self.harm.word(), chart.title);
                (silent, chart)
            });
        }
        self.cycles.push(found);
    }

    fn taken(&self) -> Option<TakeOver> {
        let each = || self.cycles.iter();
        (!self.cycles.is_empty()).then(|| TakeOver {
            system: self.system.clone(),
            fault: self.harm.word(),
            silent_s: each().map(|one| one.recovery.outage_s).collect(),
            after_decision_worst_s: worst(each().map(|one| one.after_decision_s)),
            recovered_worst_s: worst(each().map(|one| one.recovery.recovered_s)),
            acknowledged: each().map(|one| one.acknowledged).sum(),
            missing: each().map(|one| one.missing).sum(),
        })
    }
}

fn proofs(series: &[Series]) -> Vec<Proof> {
    let of = |one: &Series| {
        let (name, harm) = (&one.system, one.harm.word());
        let held = Proof {
            says: format!(
                "{name}, {} times {harm}: {} of {} acknowledged orders are missing, the twelve conditions held {} times",
                one.cycles.len(),
                one.cycles.iter().map(|cycle| cycle.missing).sum::<usize>(),
                one.cycles.iter().map(|cycle| cycle.acknowledged).sum::<usize>(),
                one.cycles.iter().filter(|cycle| cycle.conditions_hold).count(),
            ),
            pass: one.cycles.iter().all(FailOver::holds),
        };
        let not_done = one.without.as_ref().or(one.failed.as_ref()).map(|why| Proof {
            says: format!("{name}, {harm} number {}: {why}", one.cycles.len() + 1),
            pass: false,
        });
        (!one.cycles.is_empty())
            .then_some(held)
            .into_iter()
            .chain(not_done)
    };
    series.iter().flat_map(of).collect()
}

fn targets(judged: &str, taken: &[TakeOver]) -> Vec<Target> {
    let mut targets = Vec::new();
    for one in taken.iter().filter(|one| one.system == judged) {
        let named = |what: &str| format!("{judged}, {}: {what}", one.fault);
        if one.fault == Harm::SwitchOver.word() {
            targets.push(Target::below(
                named("longest silence, s"),
                one.silent_worst_s(),
                SWITCH_OVER_MAX_S,
            ));
            continue;
        }
        if one.fault == Harm::Cut.word() {
            targets.push(Target::below(
                named("after the network was healed, s"),
                one.after_decision_worst_s,
                AFTER_DECISION_MAX_S,
            ));
            continue;
        }
        targets.push(Target::below(
            named("longest silence, s"),
            one.silent_worst_s(),
            SILENT_MAX_S,
        ));
        targets.push(Target::below(
            named("after the decision, s"),
            one.after_decision_worst_s,
            AFTER_DECISION_MAX_S,
        ));
    }
    targets
}

fn text(taken: &[TakeOver], targets: &[Target]) -> String {
    let rows: Vec<Vec<String>> = taken.iter().map(TakeOver::row).collect();
    let mut out = format!("\n{}", table::table(&TakeOver::HEADER, &rows));
    if !targets.is_empty() {
        let rows: Vec<Vec<String>> = targets.iter().map(Target::row).collect();
        out += &format!("\n{}", table::table(&TARGET_HEADER, &rows));
    }
    out
}
