//! A whole experiment, from an empty server to a verdict: load if need be, run, prove.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use mote_common::prng::Prng;
use serde::Serialize;

use super::consistency;
use super::delivery_results::DeliveryResults;
use super::input_audit::{InputAudit, THINK_CLASSES, Verdict};
use super::ledger::{self, Ledger, LedgerVerdict, LedgerWriter};
use super::load::{self, LoadPlan, LoadReport, LoadedDatabase};
use super::mix::{KIND_NAMES, KINDS};
use super::random::NurandConstants;
use super::remote;
use super::run_audit;
use super::settings::{ActiveWarehouses, HomeMode, Settings};
use super::shards::branches::SERVERS_MAX;
use super::shards::decisions::{self, Recovered};
use super::shards::{Counts, Shard, conditions};
use super::terminal::Shared;
use super::terminals::{Crew, TERMINALS_PER_WAREHOUSE};
use super::transactions::{Execution, procedures};
use crate::loader::LoadMode;
use mote_driver::{Admin, DriverError, System, Target};
use mote_measure::cpu::ProcessTree;
use mote_measure::faults::{Faults, Recoveries};
use mote_measure::outcome::SeriesPoint;
use mote_measure::readback;
use mote_measure::run::{self, Role};
use mote_measure::{RunOutcome, RunPlan};

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
    /// Of new orders, by fifths of the mean, where terminals think.
    pub think_times: Option<[u64; THINK_CLASSES]>,
    pub warnings: Vec<String>,
    pub conditions: Vec<consistency::ConditionVerdict>,
    /// The ledger beside the database, where the server was hurt during the run.
    pub kept: Option<LedgerVerdict>,
    /// Where the database lies on several servers.
    pub shards: Option<ShardsReport>,
    /// Memory of the server's processes after load and after the run.
    pub memory_after_load_bytes: Option<u64>,
    pub memory_after_run_bytes: Option<u64>,
}

/// What became of transactions over several servers.
#[derive(Clone, Copy, Default, Debug, Serialize)]
pub struct ShardsReport {
    pub servers: usize,
    pub counts: Counts,
    /// Prepared parts that an earlier run had left, and those of this run that its end left undecided.
    pub left_before: Recovered,
    pub left_behind: Recovered,
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
    experiment_over(settings, std::slice::from_ref(target), server, observer, faults)
}

/// The same over several servers, each of which has a part of the warehouses. `servers` are the processes of all.
pub fn experiment_over(
    settings: Settings,
    targets: &[Target],
    servers: Option<ProcessTree>,
    observer: &mut dyn Observer,
    faults: Option<Faults<'_>>,
) -> Result<Experiment, String> {
    let fail = |what: &str, error: DriverError| format!("{what}: {error}");
    check_servers(&settings, targets)?;
    if !settings.agents.is_empty() {
        remote::check(&settings, targets.len(), faults.is_some())?;
    }
    let mut admins = connect_all(targets)?;
    let mut experiment = Experiment {
        target: targets
            .iter()
            .map(Target::to_string)
            .collect::<Vec<_>>()
            .join(" and "),
        server_version: admins[0].server_version().to_string(),
        server_settings: readback::settings(&mut admins[0]).unwrap_or_default(),
        warehouses: settings.warehouses,
        terminals: 0,
        load: None,
        outcome: None,
        audit: Vec::new(),
        think_times: None,
        warnings: Vec::new(),
        conditions: Vec::new(),
        kept: None,
        shards: None,
        memory_after_load_bytes: None,
        memory_after_run_bytes: None,
        settings,
    };
    let several = targets.len() > 1;
    if several {
        let left_before = decisions::recover(&mut admins)
            .map_err(|error| fail("cannot end what an earlier run has prepared", error))?;
        experiment.shards = Some(ShardsReport {
            servers: targets.len(),
            left_before,
            ..ShardsReport::default()
        });
    }
    let loaded = provide(&mut experiment, targets, &mut admins, observer)?;
    experiment.warehouses = loaded.warehouses;
    experiment.memory_after_load_bytes = servers.map(|tree| tree.memory_bytes());
    let hurt = faults.is_some();
    if experiment.settings.load != LoadMode::Only {
        run_measured(
            &mut experiment,
            targets,
            servers,
            &loaded,
            &mut admins,
            observer,
            faults,
        )?;
        experiment.memory_after_run_bytes = servers.map(|tree| tree.memory_bytes());
    }
    // Fresh connections: the run may have been one in which a server was restarted.
    drop(admins);
    if let Some(shards) = &mut experiment.shards {
        let mut admins = connect_all(targets)?;
        let recovered = decisions::recover(&mut admins);
        shards.left_behind =
            recovered.map_err(|error| fail("cannot end what the run has prepared", error))?;
        decisions::forget(&mut admins).map_err(|error| fail("cannot remove the verdicts", error))?;
    }
    prove(&mut experiment, targets, hurt, observer)?;
    Ok(experiment)
}

/// What only one server can do.
fn check_servers(settings: &Settings, targets: &[Target]) -> Result<(), String> {
    if targets.len() == 1 {
        return Ok(());
    }
    if targets.len() > SERVERS_MAX {
        return Err(format!("at most {SERVERS_MAX} servers can share a database"));
    }
    if settings.execution != Execution::Interactive {
        return Err(
            "over several servers transactions are --execution interactive: a batch or a function runs on one server".into(),
        );
    }
    if targets
        .iter()
        .any(|target| target.system != System::Postgres || target.odbc.is_some())
    {
        return Err("PREPARE TRANSACTION is PostgreSQL's: the servers must speak its protocol".into());
    }
    if settings.warehouses < targets.len() as i32 && settings.load != LoadMode::Never {
        return Err(format!(
            "{} warehouses leave some of {} servers without any",
            settings.warehouses,
            targets.len()
        ));
    }
    Ok(())
}

fn connect_all(targets: &[Target]) -> Result<Vec<Admin>, String> {
    let one = |target| Admin::connect(target).map_err(|error| format!("cannot connect to {target}: {error}"));
    targets.iter().map(one).collect()
}

/// Loads unless the servers have what is asked for; tells what they have.
fn provide(
    experiment: &mut Experiment,
    targets: &[Target],
    admins: &mut [Admin],
    observer: &mut dyn Observer,
) -> Result<LoadedDatabase, String> {
    let settings = &experiment.settings;
    let loaded = inspect_all(admins)?;
    let wanted = match settings.load {
        LoadMode::Always | LoadMode::Only => true,
        LoadMode::Auto | LoadMode::Resume => {
            loaded.is_none_or(|loaded| loaded.warehouses != settings.warehouses)
        }
        LoadMode::Never => false,
    };
    if !wanted {
        return loaded.ok_or_else(|| "the server has no complete database; run with --load auto".into());
    }
    for (number, target) in targets.iter().enumerate() {
        observer.phase(&match targets.len() {
            1 => format!("loading {} warehouses into {target}", settings.warehouses),
            of => format!(
                "loading part {} of {of} of {} warehouses into {target}",
                number + 1,
                settings.warehouses
            ),
        });
        let plan = LoadPlan {
            target,
            warehouses: settings.warehouses,
            shard: Shard {
                number,
                of: targets.len(),
            },
            connections: settings.load_connections,
            seed: settings.seed,
            foreign_keys: settings.foreign_keys,
            progress: observer.interactive(),
            resume: settings.load == LoadMode::Resume,
        };
        let report = load::load(&plan).map_err(|error| format!("loading failed: {error}"))?;
        match &mut experiment.load {
            None => experiment.load = Some(report),
            Some(load) => load.load.add(&report.load),
        }
    }
    inspect_all(admins)?.ok_or_else(|| "the loaded database is not complete".into())
}

/// What the servers have, if each has the part that its place asks for, of one database.
fn inspect_all(admins: &mut [Admin]) -> Result<Option<LoadedDatabase>, String> {
    let (of, mut first) = (admins.len(), None);
    for (number, admin) in admins.iter_mut().enumerate() {
        let found =
            load::inspect(admin).map_err(|error| format!("cannot look for a loaded database: {error}"))?;
        let Some(found) = found.filter(|found| found.shard == Shard { number, of }) else {
            return Ok(None);
        };
        let one = LoadedDatabase {
            shard: Shard::WHOLE,
            ..found
        };
        if *first.get_or_insert(one) != one {
            return Ok(None);
        }
    }
    Ok(first)
}

/// The ledger, where a server was hurt, and the conditions.
fn prove(
    experiment: &mut Experiment,
    targets: &[Target],
    hurt: bool,
    observer: &mut dyn Observer,
) -> Result<(), String> {
    let mut admins = connect_all(targets)?;
    if let (true, Some(path)) = (hurt, &experiment.settings.ledger) {
        observer.phase("comparing the ledger with the database");
        let ledger = Ledger::read(path)?;
        let kept = ledger::verify(&ledger, &mut admins);
        experiment.kept = Some(kept.map_err(|error| format!("cannot read the orders: {error}"))?);
    }
    if experiment.settings.check {
        observer.phase("checking the consistency conditions");
        experiment.conditions = match admins.as_mut_slice() {
            [only] => consistency::check_all(only, |verdict| observer.condition(verdict)),
            several => conditions::check_all(several, experiment.warehouses, |verdict| {
                observer.condition(verdict)
            }),
        };
    }
    Ok(())
}

fn run_measured(
    experiment: &mut Experiment,
    targets: &[Target],
    server: Option<ProcessTree>,
    loaded: &LoadedDatabase,
    admins: &mut [Admin],
    observer: &mut dyn Observer,
    faults: Option<Faults<'_>>,
) -> Result<(), String> {
    let settings = &experiment.settings;
    if settings.execution == Execution::Procedures {
        let installed = procedures::install(&mut admins[0]);
        installed.map_err(|error| format!("cannot make the transactions' functions: {error}"))?;
    }
    let active = active_warehouses(settings, loaded)?;
    let warehouses = active.count();
    let ledger = open_ledger(settings, admins)?;
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
        counts: Mutex::new(Counts::default()),
    });
    observer.phase(&format!(
        "{terminals} terminals on {} connections: {} s warm-up, {} s measured",
        settings.connections, settings.warmup_s, settings.duration_s
    ));
    let crew = Crew {
        targets,
        statements: Arc::new(settings.execution.statement_set()),
        settings,
        shared: Arc::clone(&shared),
        terminals,
        first_warehouse: active.first,
        warehouses,
        constants: NurandConstants::for_run(&mut Prng::fork(settings.seed, 1), loaded.load_c_last),
        run: mote_common::env::real::entropy_u64(),
    };
    let agents = remote::agents(&crew, home_fixed, loaded.load_c_last)?;
    let (timeline, role) = match agents.len() {
        0 => (crew.timeline(terminals), Role::Alone),
        some => (crew.timeline(some), Role::Leads(agents)),
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
        role,
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
    if let Some(shards) = &mut experiment.shards {
        shards.counts = *shared.counts.lock().expect("no panic while held");
    }
    let mut audit = *shared.audit.lock().expect("no panic while held");
    for report in &outcome.reports {
        audit.merge(&remote::audit(report)?);
    }
    experiment.audit = audit.verdicts(warehouses);
    experiment.think_times = audit.think_times();
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

/// The warehouses that terminals use.
fn active_warehouses(settings: &Settings, loaded: &LoadedDatabase) -> Result<ActiveWarehouses, String> {
    let all = ActiveWarehouses {
        first: 1,
        last: loaded.warehouses,
    };
    let active = settings.active.unwrap_or(all);
    match active.last <= loaded.warehouses {
        true => Ok(active),
        false => Err(format!(
            "--active-warehouses ends at {}, and there are {}",
            active.last, loaded.warehouses
        )),
    }
}

/// Starts the ledger with the first order number that each district will give.
fn open_ledger(settings: &Settings, admins: &mut [Admin]) -> Result<Option<LedgerWriter>, String> {
    let Some(path) = &settings.ledger else {
        return Ok(None);
    };
    let mut rows = Vec::new();
    for admin in admins {
        let districts =
            admin.query("SELECT d_w_id, d_id, d_next_o_id FROM bmsql_district ORDER BY d_w_id, d_id");
        rows.extend(districts.map_err(|error| format!("cannot read the districts: {error}"))?);
    }
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
