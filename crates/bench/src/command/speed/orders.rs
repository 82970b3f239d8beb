//! Order entry: interactive, as procedures, over TLS, and with statistics of statements.

use super::{Laboratory, REFERENCE};
use crate::command::contenders::{Contender, median};
use crate::command::default_driver_threads;
use crate::command::judgement::Judgement;
use crate::command::tpcc::summarize;
use crate::report::table;
use mote_driver::{Admin, Target};
use mote_workload::loader::LoadMode;
use mote_workload::tpcc::{self, ActiveWarehouses, Execution, Settings};

const FEW: usize = 16;
const MANY: usize = 500;
const INTERACTIVE: [(usize, f64); 2] = [(FEW, 3.5), (MANY, 8.0)];
const PROCEDURES: f64 = 3.0;
/// What is left of the throughput.
const WITH_TLS: f64 = 0.85;
const WITH_STATISTICS: f64 = 0.99;
/// Runs are a tenth apart on a machine that others share: what takes a hundredth needs more of them than what is a multiple.
const PAIRS_PER_ROUND: u32 = 3;

/// One way of order entry.
#[derive(Clone, Copy)]
struct Way {
    connections: usize,
    execution: Execution,
    /// On the first warehouse alone.
    one_warehouse: bool,
}

const PLAIN: Way = Way {
    connections: FEW,
    execution: Execution::Interactive,
    one_warehouse: false,
};

impl Laboratory<'_> {
    pub(super) fn interactive(&mut self, servers: &mut [Contender]) -> Result<Vec<Judgement>, String> {
        let mut lines = Vec::new();
        for (connections, target) in INTERACTIVE {
            let way = Way { connections, ..PLAIN };
            let what = format!("order entry at {connections} connections, NOPM");
            lines.push(self.compared(what, way, servers, target)?);
        }
        Ok(lines)
    }

    pub(super) fn procedures(&mut self, servers: &mut [Contender]) -> Result<Vec<Judgement>, String> {
        let way = Way {
            execution: Execution::Procedures,
            ..PLAIN
        };
        let everywhere = self.compared(
            "procedures on all warehouses, NOPM".into(),
            way,
            servers,
            PROCEDURES,
        )?;
        let way = Way {
            one_warehouse: true,
            ..way
        };
        let on_one = self.compared(
            "procedures on one warehouse, NOPM".into(),
            way,
            servers,
            PROCEDURES,
        )?;
        Ok(vec![everywhere, on_one])
    }

    pub(super) fn tls(&mut self, servers: &mut [Contender]) -> Result<Vec<Judgement>, String> {
        let what = "order entry over TLS, NOPM beside that without";
        let encrypted = servers[0].subject.target.over_tls();
        let encrypted = match encrypted.and_then(|target| match Admin::connect(&target) {
            Ok(_) => Ok(target),
            Err(error) => Err(error.to_string()),
        }) {
            Ok(target) => target,
            Err(error) => {
                self.remarks.push(format!("{what}: not measured: {error}"));
                return Ok(vec![Judgement::ratio(
                    what,
                    (None, None),
                    "without",
                    WITH_TLS,
                    true,
                )]);
            }
        };
        self.load(&servers[0])?;
        let plain = servers[0].subject.target.clone();
        let line = self.price(what, WITH_TLS, |laboratory, is_with| {
            let target = if is_with { &encrypted } else { &plain };
            laboratory.nopm(PLAIN, &servers[0], target, LoadMode::Never)
        })?;
        Ok(vec![line])
    }

    pub(super) fn statistics(&mut self, servers: &mut [Contender]) -> Result<Vec<Judgement>, String> {
        let what = "order entry with pg_stat_statements, NOPM beside that without";
        self.load(&servers[0])?;
        let target = servers[0].subject.target.clone();
        let command = |sql: &str| {
            let done = Admin::connect(&target).and_then(|mut admin| admin.execute(sql));
            done.map_err(|error| format!("{sql}: {error}"))
        };
        let line = self.price(what, WITH_STATISTICS, |laboratory, is_with| {
            command(match is_with {
                true => "CREATE EXTENSION IF NOT EXISTS pg_stat_statements",
                false => "DROP EXTENSION IF EXISTS pg_stat_statements",
            })?;
            laboratory.nopm(PLAIN, &servers[0], &target, LoadMode::Never)
        })?;
        command("DROP EXTENSION IF EXISTS pg_stat_statements")?;
        Ok(vec![line])
    }

    /// What something takes: runs with it beside runs without, judged by the median of what pairs of neighbours say.
    fn price(
        &mut self,
        what: &str,
        target: f64,
        mut run: impl FnMut(&mut Self, bool) -> Result<f64, String>,
    ) -> Result<Judgement, String> {
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for round in 0..2 * PAIRS_PER_ROUND * self.args.rounds {
            // ABBA: drift hits both alike.
            let is_with = matches!(round % 4, 1 | 2);
            let nopm = run(self, is_with)?;
            let figures = if is_with { &mut with } else { &mut without };
            figures.push(nopm);
        }
        Ok(Judgement::pairs(what, &with, &without, "without", target))
    }

    /// The same on all servers, in an order that turns. Each run begins with tables as they are loaded: orders and their lines
    /// stay, so that the faster system would soon have the larger tables, and its scans more to read.
    fn compared(
        &mut self,
        what: String,
        way: Way,
        servers: &[Contender],
        target: f64,
    ) -> Result<Judgement, String> {
        let mut rounds: Vec<Vec<f64>> = servers.iter().map(|_| Vec::new()).collect();
        for round in 0..self.args.rounds as usize {
            for place in 0..servers.len() {
                let at = (place + round) % servers.len();
                let server = &servers[at];
                let nopm = self.nopm(way, server, &server.subject.target, LoadMode::Always)?;
                self.quiet
                    .say(&format!("{what}: {} {}", server.name, table::grouped(nopm)));
                rounds[at].push(nopm);
            }
        }
        let of = |at: usize| rounds.get(at).and_then(|figures| median(figures));
        Ok(Judgement::ratio(what, (of(0), of(1)), REFERENCE, target, true))
    }

    fn load(&mut self, server: &Contender) -> Result<(), String> {
        let settings = Settings {
            duration_s: 0.01,
            check: false,
            ..self.settings(PLAIN, LoadMode::Auto)
        };
        self.experiment(settings, server, &server.subject.target)?;
        Ok(())
    }

    fn nopm(&mut self, way: Way, server: &Contender, target: &Target, load: LoadMode) -> Result<f64, String> {
        self.experiment(self.settings(way, load), server, target)
    }

    fn settings(&self, way: Way, load: LoadMode) -> Settings {
        let measured = &self.args.measured;
        Settings {
            driver_threads: measured
                .driver_threads
                .unwrap_or_else(default_driver_threads)
                .clamp(1, way.connections),
            warmup_s: measured.warmup,
            duration_s: measured.duration,
            seed: measured.seed,
            execution: way.execution,
            active: way
                .one_warehouse
                .then_some(ActiveWarehouses { first: 1, last: 1 }),
            load,
            check: true,
            ..Settings::closed_loop(self.args.warehouses, way.connections)
        }
    }

    fn experiment(&mut self, settings: Settings, server: &Contender, target: &Target) -> Result<f64, String> {
        let failed = |error: String| format!("{}: {error}", server.name);
        let done =
            tpcc::experiment(settings, target, server.subject.processes, &mut self.quiet).map_err(failed)?;
        for verdict in done.conditions.iter().filter(|verdict| !verdict.pass) {
            self.proven = false;
            self.remarks
                .push(format!("{}: {}", server.name, table::condition_line(verdict)));
        }
        let outcome = done.outcome.as_ref().ok_or("nothing was measured")?;
        Ok(summarize(outcome).first_kind_per_minute())
    }
}
