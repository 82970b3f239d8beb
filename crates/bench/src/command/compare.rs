//! `mote bench compare`: the same measurements on two systems, interleaved, judged against targets.
//!
//! Order within rounds is mote, PostgreSQL, then PostgreSQL, mote, so that slow drift of the machine hits both alike.
//! A figure is the median over rounds. The canned-bytes server is a child process, so that its processor time is not
//! the driver's.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::json;

use super::args::{CompareArgs, Measurement, TargetArgs};
use super::judgement::{self, Judgement};
use super::{Subject, default_driver_threads};
use crate::board;
use crate::report::charts;
use crate::report::html::{self, Plain, PlainTable};
use crate::report::live::Live;
use crate::report::page::{self, Rendered};
use crate::report::{Summary, json, table};
use crate::server::{EmbeddedServer, ListeningProcess, RunningServer};
use mote_driver::{Admin, Target};
use mote_measure::cpu::ProcessTree;
use mote_measure::outcome::SeriesPoint;
use mote_workload::closed_loop::LoopPlan;
use mote_workload::point;
use mote_workload::tpcc::consistency::ConditionVerdict;
use mote_workload::tpcc::{self, DISCLAIMER, LoadMode, Observer, Settings};

const TPCC_CONNECTIONS: [usize; 2] = [16, 500];
const POINT_CONNECTIONS: [usize; 2] = [64, 500];
const POINT_ROWS: i32 = 100_000;

/// A system under comparison.
struct System {
    name: &'static str,
    subject: Subject,
}

/// Figures by name and system, one value per round.
#[derive(Default)]
struct Figures(BTreeMap<(String, &'static str), Vec<f64>>);

impl Figures {
    fn add(&mut self, figure: impl Into<String>, system: &'static str, value: f64) {
        self.0.entry((figure.into(), system)).or_default().push(value);
    }

    fn median(&self, figure: &str, system: &'static str) -> Option<f64> {
        let mut values = self.0.get(&(figure.to_string(), system))?.clone();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        Some(if values.len() % 2 == 1 {
            values[middle]
        } else {
            (values[middle - 1] + values[middle]) / 2.0
        })
    }
}

pub fn run(args: &CompareArgs, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    let mut systems = vec![System {
        name: "mote",
        subject: Subject::new(&args.target, embedded)?,
    }];
    if let Some(url) = &args.postgres {
        systems.push(System {
            name: "postgres",
            subject: Subject::new(&TargetArgs::server(url), embedded)?,
        });
    }
    let canned = args
        .only
        .contains(&Measurement::Point)
        .then(start_canned)
        .transpose()?;
    let mut laboratory = Laboratory {
        args,
        figures: Figures::default(),
        conditions: Vec::new(),
        live: Live::new("per min", args.output.progress, args.output.quiet),
        quiet: args.output.quiet,
    };
    let needs_database = args.only.contains(&Measurement::Tpcc) || args.only.contains(&Measurement::Memory);
    for system in &systems {
        if needs_database {
            laboratory.load(system)?;
        }
        if args.only.contains(&Measurement::Point) {
            point::set_up(&system.subject.target, POINT_ROWS)
                .map_err(|error| format!("{}: {error}", system.name))?;
        }
    }
    for round in 0..args.rounds.max(1) {
        let last = round + 1 == args.rounds.max(1);
        laboratory.say(&format!("round {} of {}", round + 1, args.rounds.max(1)));
        if args.only.contains(&Measurement::Tpcc) {
            for (index, connections) in TPCC_CONNECTIONS.into_iter().enumerate() {
                let check = last && index + 1 == TPCC_CONNECTIONS.len();
                for system in in_turn(&systems, round) {
                    laboratory.tpcc(system, connections, check)?;
                }
            }
        }
        if let Some(canned) = &canned {
            let target = Target::parse(canned.url())?;
            for connections in POINT_CONNECTIONS {
                for system in in_turn(&systems, round) {
                    let processes = system.subject.processes;
                    laboratory.point(system.name, &system.subject.target, processes, connections)?;
                }
                laboratory.point("canned", &target, ProcessTree::new(canned.pid()), connections)?;
            }
        }
    }
    let judgements = laboratory.judge();
    print!("{}", text(&judgements, &laboratory.conditions));
    let consistent = laboratory.conditions.iter().all(|(_, verdict)| verdict.pass);
    let pass = consistent && judgements.iter().all(|judgement| judgement.pass != Some(false));
    println!("\n{} {DISCLAIMER}", table::pass(pass));
    if let Some(path) = &args.output.json {
        json::write(path, &laboratory.document(&systems, &judgements, pass))?;
    }
    if page::is_wanted(&args.html) {
        let document = laboratory.document(&systems, &judgements, pass);
        laboratory.page(&document, &judgements).deliver(&args.html)?;
    }
    for system in systems {
        system.subject.stop()?;
    }
    Ok(pass)
}

/// ABBA: every other round in the opposite order.
fn in_turn(systems: &[System], round: usize) -> Vec<&System> {
    let mut order: Vec<&System> = systems.iter().collect();
    if round % 2 == 1 {
        order.reverse();
    }
    order
}

fn start_canned() -> Result<ListeningProcess, String> {
    let program =
        std::env::current_exe().map_err(|error| format!("cannot find this program's binary: {error}"))?;
    let mut command = Command::new(program);
    command.args(["bench", "canned", "--listen", "127.0.0.1:0"]);
    ListeningProcess::spawn(command)
}

struct Laboratory<'a> {
    args: &'a CompareArgs,
    figures: Figures,
    conditions: Vec<(&'static str, ConditionVerdict)>,
    live: Live,
    quiet: bool,
}

impl Observer for Laboratory<'_> {
    fn phase(&mut self, what: &str) {
        self.say(what);
    }

    fn second(&mut self, point: &SeriesPoint) {
        self.live.second(point);
    }

    fn condition(&mut self, _: &ConditionVerdict) {}

    fn interactive(&self) -> bool {
        self.live.visible()
    }
}

impl Laboratory<'_> {
    fn say(&self, what: &str) {
        board::says(what);
        if !self.quiet {
            eprintln!("{what}");
        }
    }

    fn settings(&self, connections: usize, load: LoadMode, check: bool) -> Settings {
        let terminals = &self.args.terminals;
        Settings {
            driver_threads: self.args.driver_threads.unwrap_or_else(default_driver_threads),
            warmup_s: self.args.warmup,
            duration_s: self.args.duration,
            seed: self.args.seed,
            mix: terminals.mix,
            home: terminals.home,
            isolation: terminals.isolation,
            execution: terminals.execution,
            load,
            check,
            ..Settings::closed_loop(self.args.warehouses, connections)
        }
    }

    fn load(&mut self, system: &System) -> Result<(), String> {
        let before = server_memory(system);
        let settings = self.settings(1, LoadMode::Only, false);
        let warehouses = settings.warehouses as f64;
        let experiment = tpcc::experiment(settings, &system.subject.target, system.subject.processes, self)
            .map_err(|error| format!("{}: {error}", system.name))?;
        if let Some(load) = &experiment.load {
            self.figures.add("load rows/s", system.name, load.load.rows_per_s);
        }
        if let (Some(before), Some(after)) = (before, server_memory(system)) {
            self.figures.add(
                "memory MB per warehouse",
                system.name,
                (after - before) / 1e6 / warehouses,
            );
        }
        Ok(())
    }

    fn tpcc(&mut self, system: &System, connections: usize, check: bool) -> Result<(), String> {
        let settings = self.settings(connections, LoadMode::Never, check);
        let experiment = tpcc::experiment(settings, &system.subject.target, system.subject.processes, self)
            .map_err(|error| format!("{} at {connections} connections: {error}", system.name))?;
        let Some(outcome) = &experiment.outcome else {
            return Ok(());
        };
        let summary = super::tpcc::summarize(outcome);
        let nopm = summary.first_kind_per_minute();
        self.say(&format!(
            "  {:<9} tpcc  {connections:>4} connections  NOPM {:>12}",
            system.name,
            table::grouped(nopm)
        ));
        self.figures
            .add(format!("NOPM at {connections}"), system.name, nopm);
        if let Some(each) = summary.server_cpu_us_per_transaction {
            self.figures.add(
                format!("CPU us per transaction at {connections}"),
                system.name,
                each,
            );
        }
        self.conditions.extend(
            experiment
                .conditions
                .into_iter()
                .map(|verdict| (system.name, verdict)),
        );
        Ok(())
    }

    fn point(
        &mut self,
        name: &'static str,
        target: &Target,
        server: Option<ProcessTree>,
        connections: usize,
    ) -> Result<(), String> {
        let plan = LoopPlan {
            target,
            server,
            connections,
            driver_threads: self.args.driver_threads.unwrap_or_else(default_driver_threads),
            warmup_s: self.args.warmup.min(2.0),
            duration_s: self.args.duration.min(10.0),
            kinds: point::KINDS,
            statements: point::shared_statements(),
            open_loop: None,
        };
        let live = &self.live;
        let outcome = point::run(&plan, POINT_ROWS, self.args.seed, &mut |second| {
            live.second(second)
        })
        .map_err(|error| format!("{name} at {connections} connections: {error}"))?;
        let rate = Summary::new(&outcome, point::KINDS, None, None).transactions_per_s;
        self.say(&format!(
            "  {name:<9} point {connections:>4} connections  per s {:>10}",
            table::grouped(rate)
        ));
        self.figures
            .add(format!("selects/s at {connections}"), name, rate);
        Ok(())
    }

    fn judge(&self) -> Vec<Judgement> {
        let both = |figure: &str, reference| {
            (
                self.figures.median(figure, "mote"),
                self.figures.median(figure, reference),
            )
        };
        let mut judgements = Vec::new();
        if self.args.only.contains(&Measurement::Tpcc) {
            for (connections, target) in TPCC_CONNECTIONS.into_iter().zip([4.0, 8.0]) {
                let figure = format!("NOPM at {connections}");
                judgements.push(Judgement::ratio(
                    &figure,
                    both(&figure, "postgres"),
                    "postgres",
                    target,
                    true,
                ));
            }
            let figure = format!("CPU us per transaction at {}", TPCC_CONNECTIONS[0]);
            judgements.push(Judgement::ratio(
                &figure,
                both(&figure, "postgres"),
                "postgres",
                1.0 / 6.0,
                false,
            ));
        }
        if self.args.only.contains(&Measurement::Point) {
            let [few, many] = POINT_CONNECTIONS.map(|connections| format!("selects/s at {connections}"));
            judgements.push(Judgement::ratio(&few, both(&few, "canned"), "canned", 0.7, true));
            let own = (
                self.figures.median(&many, "mote"),
                self.figures.median(&few, "mote"),
            );
            judgements.push(Judgement::ratio(&many, own, "mote at 64", 0.9, true));
        }
        if self.args.only.contains(&Measurement::Memory) {
            let figure = "memory MB per warehouse";
            judgements.push(Judgement::absolute(
                figure,
                self.figures.median(figure, "mote"),
                110.0,
            ));
        }
        judgements
    }

    fn page(&self, document: &serde_json::Value, judgements: &[Judgement]) -> Rendered {
        let mut names: Vec<&str> = judgements.iter().map(|one| one.what.as_str()).collect();
        names.dedup();
        let of_target = judgements.iter().map(Judgement::of_target).collect();
        let figures = self.figures.0.iter().map(|((figure, system), values)| {
            let shown: Vec<String> = values.iter().map(|value| table::grouped(*value)).collect();
            let median = self
                .figures
                .median(figure, system)
                .map_or("-".into(), table::grouped);
            vec![figure.clone(), system.to_string(), median, shown.join(", ")]
        });
        let conditions = self.conditions.iter();
        html::plain(
            document,
            Plain {
                title: "Two systems against targets",
                lead: format!(
                    "{} rounds in turn; a figure is the median over them",
                    self.args.rounds.max(1)
                ),
                figures: judgements
                    .iter()
                    .filter_map(|one| {
                        Some((
                            format!("{}, of {}", one.what, one.reference_name),
                            format!("{:.2}", one.ratio?),
                        ))
                    })
                    .collect(),
                verdicts: conditions
                    .map(|(system, verdict)| {
                        (verdict.pass, format!("{system}: condition {}", verdict.number))
                    })
                    .collect(),
                charts: vec![charts::bars(
                    "Multiples of the target, more is better",
                    "",
                    &names,
                    &[("mote".into(), of_target)],
                    Some(1.0),
                )],
                tables: vec![
                    PlainTable {
                        title: "Targets",
                        header: &judgement::HEADER,
                        rows: judgement::rows(judgements),
                    },
                    PlainTable {
                        title: "Figures",
                        header: &["figure", "system", "median", "rounds"],
                        rows: figures.collect(),
                    },
                ],
                notes: Vec::new(),
                remarks: &[],
                small_print: &[DISCLAIMER],
            },
        )
    }

    fn document(&self, systems: &[System], judgements: &[Judgement], pass: bool) -> serde_json::Value {
        let figures: Vec<_> = self
            .figures
            .0
            .iter()
            .map(|((figure, system), values)| {
                let median = self.figures.median(figure, system);
                json!({"figure": figure, "system": system, "rounds": values, "median": median})
            })
            .collect();
        let targets: BTreeMap<_, _> = systems
            .iter()
            .map(|system| (system.name, system.subject.target.to_string()))
            .collect();
        json!({
            "experiment": "compare",
            "disclaimer": DISCLAIMER,
            "environment": json::environment(),
            "settings": self.settings(0, LoadMode::Only, true),
            "rounds": self.args.rounds,
            "targets": targets,
            "figures": figures,
            "judgements": judgements,
            "consistency": self.conditions,
            "pass": pass,
        })
    }
}

/// What mote says it uses; `None` for a server that has no such function.
fn server_memory(system: &System) -> Option<f64> {
    let mut admin = Admin::connect(&system.subject.target).ok()?;
    admin.value("SELECT mote_memory_bytes()").ok()??.parse().ok()
}

fn text(judgements: &[Judgement], conditions: &[(&'static str, ConditionVerdict)]) -> String {
    let mut out = judgement::text(judgements);
    for (system, verdict) in conditions.iter().filter(|(_, verdict)| !verdict.pass) {
        out += &format!("{system}: {}\n", table::condition_line(verdict));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_verdicts() {
        let mut figures = Figures::default();
        for value in [30.0, 10.0, 20.0] {
            figures.add("x", "mote", value);
        }
        figures.add("x", "postgres", 4.0);
        figures.add("x", "postgres", 6.0);
        assert_eq!(figures.median("x", "mote"), Some(20.0));
        assert_eq!(figures.median("x", "postgres"), Some(5.0));
        let pair = (figures.median("x", "mote"), figures.median("x", "postgres"));
        assert_eq!(
            Judgement::ratio("x", pair, "postgres", 4.0, true).pass,
            Some(true)
        );
        assert_eq!(
            Judgement::ratio("x", pair, "postgres", 4.1, true).pass,
            Some(false)
        );
        assert_eq!(
            Judgement::ratio("x", (pair.0, None), "postgres", 4.0, true).pass,
            None
        );
        assert_eq!(Judgement::absolute("m", Some(111.0), 110.0).pass, Some(false));
        assert_eq!(Judgement::absolute("m", Some(90.0), 110.0).target, 110.0);
    }
}
