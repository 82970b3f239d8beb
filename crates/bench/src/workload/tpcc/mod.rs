//! The order-entry workload of TPC-C, revision 5.11, over BenchmarkSQL's schema and statements.
//!
//! Read in this order:
//!  1. `random`, `mix`, `input`, `input_audit`, `run_audit`: what terminals ask for, and whether they did.
//!  2. `schema`, `rows`, `load`: the database.
//!  3. `statements`, `transactions`: what goes over the wire.
//!  4. `terminal`: a terminal's life.
//!  5. `consistency`, `ledger`, `acid`: proofs; `delivery_results`: the file of clause 2.7.2.
//!  6. This file: a whole experiment, from an empty server to a verdict.
//!
//! Promises: every deviation from the specification is listed in [`DEVIATIONS`] and stands in every report. Results
//! are NOPM, never the benchmark's own metric, which belongs to audited results.

pub mod random;
pub mod mix;
pub mod input;
pub mod input_audit;
pub mod run_audit;
pub mod schema;
pub mod rows;
pub mod load;
pub mod statements;
pub mod transactions;
pub mod terminal;
pub mod consistency;
pub mod ledger;
pub mod delivery_results;
pub mod acid;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use mote_common::prng::Prng;
use serde::Serialize;

use self::delivery_results::DeliveryResults;
use self::input::Source;
use self::input_audit::{InputAudit, Verdict};
use self::ledger::{Ledger, LedgerVerdict, LedgerWriter};
use self::load::{LoadPlan, LoadReport, LoadedDatabase};
use self::mix::{KIND_NAMES, KINDS, Mix, MixMode};
use self::random::NurandConstants;
use self::terminal::{DeliveryWorker, Runner, Shared, Terminal};
pub use self::transactions::Execution;
use self::transactions::Scratch;
use self::transactions::delivery::Delivered;
use self::transactions::new_order::OrderProgress;
use self::transactions::procedures;
use crate::driver::{Admin, FiberLoop, StatementSet, Target};
use crate::measure::arrivals::OpenLoop;
use crate::measure::cpu::ProcessTree;
use crate::measure::faults::{Faults, Recoveries};
use crate::measure::readback;
use crate::measure::run::{self, SeriesPoint};
use crate::measure::{RunOutcome, RunPlan, ThreadContext, Timeline};
pub use crate::workload::loader::LoadMode;
use crate::workload::pool::Pool;

/// Stands in every report.
pub const DISCLAIMER: &str =
    "Unaudited; derived from the TPC-C specification and not comparable to published TPC results.";

/// Where a run knowingly differs from the specification.
pub const DEVIATIONS: [&str; 9] = [
    "A run lasts as long as it was asked to, not the two hours of clause 5.5.2, and its steady state is not demonstrated.",
    "Without --pace there are as many terminals as connections, not ten per warehouse, and the 9 to 12.86 new orders a \
     minute and warehouse of clause 4.1.3 are exceeded; where terminals do not divide evenly among warehouses, some \
     warehouses have more.",
    "Fewer terminals than warehouses move: each transaction draws its warehouse, and Stock-Level a district of it.",
    "C_SINCE, H_DATE and O_ENTRY_D of loaded rows are one constant date, so that a seed gives the same database.",
    "Delivery searches its order among all undelivered ones of a district, as BenchmarkSQL sends it.",
    "Order lines are sent in the order of warehouse and item, so that concurrent orders lock stock rows in one order.",
    "Terminals have no screens; what they would show is read from the wire and dropped.",
    "Isolation is the server's default (READ COMMITTED on PostgreSQL, REPEATABLE READ on MariaDB), as BenchmarkSQL leaves it, unless a level was asked for.",
    "In the closed loop there is no keying or think time, and a delivery's deferred part runs on the same connection.",
];

/// Background workers for deliveries, per driver thread of a keyed run.
const DELIVERY_WORKERS: usize = 4;
const TERMINALS_PER_WAREHOUSE: usize = 10;

/// SQL's isolation levels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

impl Isolation {
    /// As `default_transaction_isolation` wants it.
    pub fn name(self) -> &'static str {
        match self {
            Isolation::ReadCommitted => "read committed",
            Isolation::RepeatableRead => "repeatable read",
            Isolation::Serializable => "serializable",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HomeMode {
    /// Fixed when there are at least as many terminals as warehouses, any otherwise.
    Auto,
    /// Each terminal stays with one warehouse.
    Fixed,
    /// Each transaction draws its warehouse.
    Any,
}

/// Warehouses that terminals use, of those that are loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct ActiveWarehouses {
    pub first: i32,
    pub last: i32,
}

impl std::str::FromStr for ActiveWarehouses {
    type Err = String;

    fn from_str(text: &str) -> Result<ActiveWarehouses, String> {
        let wrong = || format!("\"{text}\" is not of the form A..B, as in 1..10: first and last");
        let (first, last) = text.split_once("..").ok_or_else(wrong)?;
        let number = |text: &str| text.parse::<i32>().map_err(|_| wrong());
        let (first, last) = (number(first)?, number(last)?);
        match 1 <= first && first <= last {
            true => Ok(ActiveWarehouses { first, last }),
            false => Err(wrong()),
        }
    }
}

impl ActiveWarehouses {
    fn count(self) -> i32 {
        self.last - self.first + 1
    }
}

/// Every setting of an experiment; goes into the JSON report as it is.
#[derive(Clone, Debug, Serialize)]
pub struct Settings {
    pub warehouses: i32,
    pub connections: usize,
    pub driver_threads: usize,
    pub warmup_s: f64,
    pub duration_s: f64,
    pub seed: u64,
    pub mix: MixMode,
    pub home: HomeMode,
    /// Which warehouses terminals use; all, if none are named.
    pub active: Option<ActiveWarehouses>,
    /// True terminals: ten per warehouse with keying and think times times this factor.
    pub pace: Option<f64>,
    /// Transactions are due at times of their own; None: when the last one has ended.
    pub open_loop: Option<OpenLoop>,
    /// Of the terminals' transactions; None: the server's default.
    pub isolation: Option<Isolation>,
    /// How transactions reach the server.
    pub execution: Execution,
    pub retries_max: u32,
    pub load: LoadMode,
    pub load_connections: usize,
    pub foreign_keys: bool,
    pub check: bool,
    pub ledger: Option<PathBuf>,
    pub delivery_results: Option<PathBuf>,
}

impl Settings {
    /// A closed loop with everything as the command line has it by default.
    pub fn closed_loop(warehouses: i32, connections: usize) -> Settings {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Settings {
            warehouses,
            connections,
            driver_threads: (processors / 2).clamp(1, connections.max(1)),
            warmup_s: 0.0,
            duration_s: 0.0,
            seed: 1,
            mix: mix::DEFAULT_WEIGHTS,
            home: HomeMode::Auto,
            active: None,
            pace: None,
            open_loop: None,
            isolation: None,
            execution: Execution::Interactive,
            retries_max: 10,
            load: LoadMode::Auto,
            load_connections: 2 * processors,
            foreign_keys: true,
            check: true,
            ledger: None,
            delivery_results: None,
        }
    }
}

/// Everything that an experiment found out.
pub struct Experiment {
    pub settings: Settings,
    pub target: String,
    pub server_version: String,
    /// As the server says them, by name; empty where it says none.
    pub server_settings: BTreeMap<String, String>,
    pub warehouses: i32,
    pub terminals: usize,
    pub load: Option<LoadReport>,
    pub outcome: Option<RunOutcome>,
    pub audit: Vec<Verdict>,
    pub warnings: Vec<String>,
    pub conditions: Vec<consistency::ConditionVerdict>,
    /// The ledger beside the database, where the server was hurt during the run.
    pub kept: Option<LedgerVerdict>,
    /// Memory of the server's processes after load and after the run.
    pub memory_after_load_bytes: Option<u64>,
    pub memory_after_run_bytes: Option<u64>,
}

/// Whether a type's 90th percentile keeps the response time of clause 5.2.5.7.
#[derive(Clone, Debug, Serialize)]
pub struct LimitVerdict {
    pub kind: &'static str,
    pub p90_s: f64,
    pub limit_s: f64,
    pub pass: bool,
}

impl Experiment {
    /// The specification's limits, which are meant for true terminals only.
    pub fn limits(&self) -> Vec<LimitVerdict> {
        let (Some(outcome), Some(_)) = (&self.outcome, self.settings.pace) else {
            return Vec::new();
        };
        let verdicts =
            KINDS
                .iter()
                .zip(KIND_NAMES)
                .zip(&outcome.totals.kinds)
                .map(|((kind, name), totals)| {
                    let (p90_s, limit_s) =
                        (totals.latency.value_at_quantile(0.9) as f64 / 1e9, kind.limit_s());
                    LimitVerdict {
                        kind: name,
                        p90_s,
                        limit_s,
                        pass: p90_s <= limit_s,
                    }
                });
        verdicts.collect()
    }

    pub fn pass(&self) -> bool {
        let in_time = self.limits().iter().all(|limit| limit.pass);
        let ran = self
            .outcome
            .as_ref()
            .is_none_or(|outcome| !outcome.totals.kinds[0].latency.is_empty());
        let recoveries = self
            .outcome
            .as_ref()
            .and_then(|outcome| outcome.recoveries.as_ref());
        ran && in_time
            && recoveries.is_none_or(Recoveries::all_answered)
            && self.kept.as_ref().is_none_or(LedgerVerdict::pass)
            && self.conditions.iter().all(|verdict| verdict.pass)
            && self.audit.iter().all(Verdict::holds)
    }
}

/// What an experiment tells while it runs.
pub trait Observer {
    fn phase(&mut self, what: &str);
    fn second(&mut self, point: &SeriesPoint);
    fn condition(&mut self, verdict: &consistency::ConditionVerdict);
    /// Whether progress bars make sense.
    fn interactive(&self) -> bool;
}

/// Loads if need be, runs, proves.
pub fn experiment(
    settings: Settings,
    target: &Target,
    server: Option<ProcessTree>,
    observer: &mut dyn Observer,
) -> Result<Experiment, String> {
    experiment_with(settings, target, server, observer, None)
}

/// The same, while the server suffers.
pub fn experiment_with(
    settings: Settings,
    target: &Target,
    server: Option<ProcessTree>,
    observer: &mut dyn Observer,
    faults: Option<Faults<'_>>,
) -> Result<Experiment, String> {
    let fail = |what: &str, error: crate::driver::DriverError| format!("{what}: {error}");
    let mut admin =
        Admin::connect(target).map_err(|error| fail(&format!("cannot connect to {target}"), error))?;
    let mut experiment = Experiment {
        target: target.to_string(),
        server_version: admin.server_version().to_string(),
        server_settings: readback::settings(&mut admin).unwrap_or_default(),
        warehouses: settings.warehouses,
        terminals: 0,
        load: None,
        outcome: None,
        audit: Vec::new(),
        warnings: Vec::new(),
        conditions: Vec::new(),
        kept: None,
        memory_after_load_bytes: None,
        memory_after_run_bytes: None,
        settings,
    };
    let settings = &experiment.settings;
    let mut loaded =
        load::inspect(&mut admin).map_err(|error| fail("cannot look for a loaded database", error))?;
    let wanted = match settings.load {
        LoadMode::Always | LoadMode::Only => true,
        LoadMode::Auto | LoadMode::Resume => {
            loaded.is_none_or(|loaded| loaded.warehouses != settings.warehouses)
        }
        LoadMode::Never => false,
    };
    if wanted {
        observer.phase(&format!(
            "loading {} warehouses into {target}",
            settings.warehouses
        ));
        let plan = LoadPlan {
            target,
            warehouses: settings.warehouses,
            connections: settings.load_connections,
            seed: settings.seed,
            foreign_keys: settings.foreign_keys,
            progress: observer.interactive(),
            resume: settings.load == LoadMode::Resume,
        };
        experiment.load = Some(load::load(&plan).map_err(|error| fail("loading failed", error))?);
        loaded = load::inspect(&mut admin).map_err(|error| fail("cannot read the loaded database", error))?;
    }
    let loaded = loaded.ok_or("the server has no complete database; run with --load auto")?;
    experiment.warehouses = loaded.warehouses;
    experiment.memory_after_load_bytes = server.map(|tree| tree.memory_bytes());
    let hurt = faults.is_some();
    if experiment.settings.load != LoadMode::Only {
        run_measured(
            &mut experiment,
            target,
            server,
            &loaded,
            &mut admin,
            observer,
            faults,
        )?;
        experiment.memory_after_run_bytes = server.map(|tree| tree.memory_bytes());
    }
    if let (true, Some(path)) = (hurt, &experiment.settings.ledger) {
        observer.phase("comparing the ledger with the database");
        let ledger = Ledger::read(path)?;
        let kept = Admin::connect(target).and_then(|mut admin| ledger::verify(&ledger, &mut admin));
        experiment.kept = Some(kept.map_err(|error| fail("cannot read the orders", error))?);
    }
    if experiment.settings.check {
        observer.phase("checking the twelve consistency conditions");
        // A fresh connection: the run may have been one in which the server was restarted.
        let mut admin = Admin::connect(target)
            .map_err(|error| fail("cannot connect for the consistency conditions", error))?;
        experiment.conditions = consistency::check_all(&mut admin, |verdict| observer.condition(verdict));
    }
    Ok(experiment)
}

fn run_measured(
    experiment: &mut Experiment,
    target: &Target,
    server: Option<ProcessTree>,
    loaded: &LoadedDatabase,
    admin: &mut Admin,
    observer: &mut dyn Observer,
    faults: Option<Faults<'_>>,
) -> Result<(), String> {
    let settings = &experiment.settings;
    if settings.execution == Execution::Procedures {
        let installed = procedures::install(admin);
        installed.map_err(|error| format!("cannot make the transactions' functions: {error}"))?;
    }
    let all = ActiveWarehouses {
        first: 1,
        last: loaded.warehouses,
    };
    let active = settings.active.unwrap_or(all);
    if active.last > loaded.warehouses {
        return Err(format!(
            "--active-warehouses ends at {}, and there are {}",
            active.last, loaded.warehouses
        ));
    }
    let warehouses = active.count();
    let ledger = open_ledger(settings, admin)?;
    let terminals = match settings.pace {
        Some(_) => warehouses as usize * TERMINALS_PER_WAREHOUSE,
        None => settings.connections,
    };
    let home_fixed = match settings.home {
        HomeMode::Fixed => true,
        HomeMode::Any => false,
        HomeMode::Auto => settings.pace.is_some() || terminals >= warehouses as usize,
    };
    let delivery_results = match &settings.delivery_results {
        None => None,
        Some(path) => {
            Some(DeliveryResults::create(path).map_err(|error| format!("{}: {error}", path.display()))?)
        }
    };
    let shared = Arc::new(Shared {
        retries_max: settings.retries_max,
        execution: settings.execution,
        pace: settings.pace,
        home_fixed,
        ledger,
        delivery_results,
        audit: Mutex::new(InputAudit::default()),
    });
    let nanoseconds = |seconds: f64| (seconds * 1e9) as u64;
    let timeline = Arc::new(Timeline::new(
        terminals,
        nanoseconds(settings.warmup_s),
        nanoseconds(settings.duration_s),
    ));
    observer.phase(&format!(
        "{terminals} terminals on {} connections: {} s warm-up, {} s measured",
        settings.connections, settings.warmup_s, settings.duration_s
    ));
    let crew = Crew {
        target,
        statements: Arc::new(settings.execution.statement_set()),
        settings,
        shared: Arc::clone(&shared),
        terminals,
        first_warehouse: active.first,
        warehouses,
        constants: NurandConstants::for_run(&mut Prng::fork(settings.seed, 1), loaded.load_c_last),
    };
    let mut watch = |point: &SeriesPoint| {
        if let Some(ledger) = &shared.ledger {
            ledger.flush();
        }
        observer.second(point);
    };
    let plan = RunPlan {
        threads: settings.driver_threads,
        timeline,
        kinds: KIND_NAMES,
        server,
        open_loop: settings.open_loop,
        faults,
        watch: &mut watch,
    };
    let outcome = run::execute(plan, |context, fibers| crew.populate(context, fibers))?;
    if let Some(ledger) = &shared.ledger {
        ledger
            .finish(outcome.abandoned)
            .map_err(|error| format!("the ledger could not be written: {error}"))?;
    }
    if let Some(results) = &shared.delivery_results {
        results
            .finish()
            .map_err(|error| format!("the delivery results could not be written: {error}"))?;
    }
    experiment.audit = shared
        .audit
        .lock()
        .expect("no panic while held")
        .verdicts(warehouses);
    experiment.audit.extend(run_audit::verdicts(
        &outcome,
        settings.mix,
        settings.pace.is_some(),
    ));
    if home_fixed && !terminals.is_multiple_of(warehouses as usize) {
        experiment.warnings.push(format!(
            "{terminals} terminals do not divide evenly among {warehouses} warehouses: some warehouses get more work"
        ));
    }
    experiment.terminals = terminals;
    experiment.outcome = Some(outcome);
    Ok(())
}

/// Starts the ledger with the first order number that each district will give.
fn open_ledger(settings: &Settings, admin: &mut Admin) -> Result<Option<LedgerWriter>, String> {
    let Some(path) = &settings.ledger else {
        return Ok(None);
    };
    let rows = admin
        .query("SELECT d_w_id, d_id, d_next_o_id FROM bmsql_district ORDER BY d_w_id, d_id")
        .map_err(|error| format!("cannot read the districts: {error}"))?;
    let number = |value: &Option<String>| value.as_deref().and_then(|text| text.parse::<i32>().ok());
    let first_orders: Option<Vec<(i32, i32, i32)>> = rows
        .iter()
        .map(|row| Some((number(&row[0])?, number(&row[1])?, number(&row[2])?)))
        .collect();
    let first_orders = first_orders.ok_or("a district's numbers are not numbers")?;
    let ledger = LedgerWriter::create(path, &first_orders);
    ledger
        .map(Some)
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// Makes the terminals of each driver thread.
struct Crew<'a> {
    target: &'a Target,
    statements: Arc<StatementSet>,
    settings: &'a Settings,
    shared: Arc<Shared>,
    terminals: usize,
    first_warehouse: i32,
    warehouses: i32,
    constants: NurandConstants,
}

impl Crew<'_> {
    fn populate(&self, context: &ThreadContext, fibers: &mut FiberLoop) -> std::io::Result<()> {
        let keyed = self.settings.pace.is_some();
        let deliveries = keyed.then(|| Rc::new(RefCell::new(VecDeque::new())));
        let sessions = self.settings.connections.div_ceil(context.threads).max(1);
        let common_pool = Rc::new(self.pool(sessions));
        for number in (context.thread..self.terminals).step_by(context.threads) {
            let pool = if keyed {
                Rc::clone(&common_pool)
            } else {
                Rc::new(self.pool(1))
            };
            let terminal = Terminal {
                runner: self.runner(context, pool),
                source: Source {
                    prng: Prng::fork(self.settings.seed, 1_000 + number as u64),
                    constants: self.constants,
                    first: self.first_warehouse,
                    warehouses: self.warehouses,
                },
                mix: Mix::new(self.settings.mix),
                warehouse: self.first_warehouse + (number % self.warehouses as usize) as i32,
                district: home_district(number, self.warehouses as usize),
                deliveries: deliveries.clone(),
            };
            fibers.spawn(move |wait| terminal.run(wait))?;
        }
        for _ in 0..DELIVERY_WORKERS {
            let Some(queue) = deliveries.clone() else { break };
            let worker = DeliveryWorker {
                runner: self.runner(context, Rc::clone(&common_pool)),
                queue,
            };
            fibers.spawn(move |wait| worker.run(wait))?;
        }
        Ok(())
    }

    fn pool(&self, capacity: usize) -> Pool {
        let mut target = self.target.clone();
        let level = self.settings.isolation.map(|level| level.name().to_string());
        target
            .settings
            .extend(level.map(|level| ("default_transaction_isolation", level)));
        Pool::new(target, Arc::clone(&self.statements), capacity)
    }

    fn runner(&self, context: &ThreadContext, pool: Rc<Pool>) -> Runner {
        Runner {
            context: context.clone(),
            shared: Arc::clone(&self.shared),
            pool,
            scratch: Scratch::default(),
            progress: OrderProgress::default(),
            delivered: Delivered::default(),
            audit: InputAudit::default(),
        }
    }
}

/// The terminals of one warehouse have different districts, ten of them all; those of the next warehouse begin with the
/// next one, so that few terminals do not all look at the first district.
fn home_district(terminal: usize, warehouses: usize) -> i32 {
    let (round, warehouse) = (terminal / warehouses, terminal % warehouses);
    ((round + warehouse) % TERMINALS_PER_WAREHOUSE) as i32 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_terminals_of_a_warehouse_have_ten_districts() {
        for warehouses in [1, 3, 10, 17] {
            for warehouse in 0..warehouses {
                let districts =
                    (0..10).map(|round| home_district(round * warehouses + warehouse, warehouses));
                let districts: std::collections::BTreeSet<i32> = districts.collect();
                assert_eq!(
                    districts.into_iter().collect::<Vec<_>>(),
                    (1..=10).collect::<Vec<_>>()
                );
            }
        }
        let few: std::collections::BTreeSet<i32> = (0..16).map(|number| home_district(number, 20)).collect();
        assert_eq!(few.len(), 10);
    }
}
