//! The loader of every workload: COPY over several connections, then keys and statistics; it can be interrupted anywhere.
//!
//! The work is a list of steps: units of rows, taken from one counter so that connections stay busy to the end, then
//! statements one after the other. What is loaded does not depend on who loads it.
//!
//! Invariant: a step and its mark in `bench_load` are one transaction. So a step whose answer was lost is looked up and not
//! guessed, by the same loader once the server is back, or by a later one (`--load resume`): nothing is loaded twice and
//! nothing is left out.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use mote_driver::{Admin, DriverError, DriverResult, Target};
use mote_measure::halt;

use crate::definitions::Definitions;

/// How long a lost server is waited for.
const PATIENCE: Duration = Duration::from_secs(120);
const RECONNECT_PAUSE: Duration = Duration::from_millis(200);
/// The step that says of which data the other steps are, and the one that says that nothing is missing.
const BEGUN: &str = "of ";
const COMPLETE: &str = "complete";

/// Whether to load.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadMode {
    /// Load unless the server has a complete database of this size.
    Auto,
    /// Drop and load.
    Always,
    /// Go on where an interrupted load of the same data has ended; load all if there is none.
    Resume,
    /// Use what is there, of whatever size.
    Never,
    /// Drop, load, check, and stop.
    Only,
}

/// Appends one row to COPY's data at each call, or none when there are no more; answers how many.
pub type RowSource = Box<dyn FnMut(&mut Vec<u8>) -> u64>;

pub use crate::definitions::Phase;

/// What a workload loads.
pub trait Data: Sync {
    /// Under which name its steps are kept.
    fn workload(&self) -> &'static str;
    /// Everything that decides the rows: a load is only resumed with the same.
    fn description(&self) -> String;
    /// All tables, referencing ones first: the order in which they can be dropped.
    fn tables(&self) -> &'static [&'static str];
    fn create(&self) -> Vec<String>;
    fn units(&self) -> usize;
    fn copy_statement(&self, unit: usize) -> String;
    /// How many rows the unit has, or about.
    fn rows_expected(&self, unit: usize) -> u64;
    fn rows(&self, unit: usize) -> RowSource;
    fn phases(&self) -> Vec<Phase>;
    /// Whether an indexed column that is not NOT NULL ever holds NULL; some systems have no index over such.
    fn holds_null(&self, _column: &str) -> bool {
        false
    }
    /// What says in the data itself that nothing is missing; one transaction with the last mark.
    fn finish(&self) -> Vec<String> {
        Vec::new()
    }
}

pub struct Plan<'a> {
    pub target: &'a Target,
    pub connections: usize,
    pub progress: bool,
    /// Keep the steps of an interrupted load of the same data.
    pub resume: bool,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    pub connections: usize,
    pub rows: u64,
    pub bytes: u64,
    pub copy_s: f64,
    pub rows_per_s: f64,
    pub mb_per_s: f64,
    /// Seconds of each phase.
    pub phases: Vec<(&'static str, f64)>,
    pub analyze_s: f64,
    /// Units that an earlier load had done.
    pub resumed_units: usize,
    pub units: usize,
    pub reconnects: u64,
    /// What the server would not do and the experiment can do without.
    pub notes: Vec<String>,
}

impl Report {
    /// A load of another server that came after this one.
    pub fn add(&mut self, other: &Report) {
        self.connections = self.connections.max(other.connections);
        self.rows += other.rows;
        self.bytes += other.bytes;
        self.copy_s += other.copy_s;
        self.rows_per_s = self.rows as f64 / self.copy_s;
        self.mb_per_s = self.bytes as f64 / 1e6 / self.copy_s;
        for ((_, seconds), (_, others)) in self.phases.iter_mut().zip(&other.phases) {
            *seconds += others;
        }
        self.analyze_s += other.analyze_s;
        self.resumed_units += other.resumed_units;
        self.units += other.units;
        self.reconnects += other.reconnects;
        self.notes.extend(other.notes.iter().cloned());
    }
}

/// What the server has of the data.
pub enum State {
    Nothing,
    /// Steps of an interrupted load of the same data.
    Part(BTreeSet<String>),
    /// Of data with this description, complete or not.
    Other(String),
    Complete,
}

pub fn state(admin: &mut Admin, data: &dyn Data) -> DriverResult<State> {
    let steps = match admin.query(&format!(
        "SELECT step FROM bench_load WHERE workload = '{}'",
        data.workload()
    )) {
        Ok(rows) => rows,
        Err(error) if is_missing(&error) => return Ok(State::Nothing),
        Err(error) => return Err(error),
    };
    let steps: BTreeSet<String> = steps.into_iter().flatten().flatten().collect();
    let Some(begun) = steps.iter().find_map(|step| step.strip_prefix(BEGUN)) else {
        return Ok(State::Nothing);
    };
    // Somebody may have dropped a table since.
    for table in data.tables() {
        match admin.execute(&format!("SELECT 1 FROM {table} LIMIT 0")) {
            Ok(()) => {}
            Err(error) if is_missing(&error) => return Ok(State::Nothing),
            Err(error) => return Err(error),
        }
    }
    Ok(match begun == data.description() {
        false => State::Other(begun.to_string()),
        true if steps.contains(COMPLETE) => State::Complete,
        true => State::Part(steps),
    })
}

fn is_missing(error: &DriverError) -> bool {
    matches!(error.sqlstate(), "42P01" | "3F000")
}

/// Brings the data to what `mode` asks for; `None` if it is used as it is.
pub fn provide(plan: &Plan<'_>, data: &dyn Data, mode: LoadMode) -> Result<Option<Report>, String> {
    let failed = |error: DriverError| format!("cannot look for loaded data: {error}");
    let mut admin = Admin::connect(plan.target).map_err(failed)?;
    let state = state(&mut admin, data).map_err(failed)?;
    let wanted = match mode {
        LoadMode::Always | LoadMode::Only => true,
        LoadMode::Auto | LoadMode::Resume => !matches!(state, State::Complete),
        LoadMode::Never => match state {
            State::Nothing => return Err("the server has no such data; run with --load auto".into()),
            State::Other(other) => return Err(format!("the server has other data: {other}")),
            State::Part(_) => return Err("the server's data is not complete; --load resume goes on".into()),
            State::Complete => false,
        },
    };
    if !wanted {
        return Ok(None);
    }
    let report = load(plan, data).map_err(|error| format!("loading failed: {error}"))?;
    Ok(Some(report))
}

pub fn load(plan: &Plan<'_>, data: &dyn Data) -> DriverResult<Report> {
    let lost = AtomicU64::new(0);
    let said = Definitions {
        create: data.create(),
        phases: data.phases(),
        notes: Vec::new(),
    };
    let definitions = Definitions::on(plan.target, said, |column| data.holds_null(column));
    let mut worker = Worker::new(plan.target, data, &lost);
    let done = match (plan.resume, state(worker.connected()?, data)?) {
        (true, State::Part(steps)) => steps,
        (true, State::Other(other)) => {
            return Err(DriverError::protocol(format!(
                "there is an interrupted load of something else ({other}); --load always drops it"
            )));
        }
        (true, State::Complete) => {
            return Ok(Report::default());
        }
        _ => {
            begin(plan.target, worker.connected()?, data, &definitions.create)?;
            BTreeSet::new()
        }
    };
    let started = Instant::now();
    let resumed_units = (0..data.units())
        .filter(|unit| done.contains(&unit_step(*unit)))
        .count();
    let (rows, bytes) = copy_all(plan, data, &done, &lost)?;
    let copy_s = started.elapsed().as_secs_f64();
    let mut report = Report {
        connections: plan.connections,
        rows,
        bytes,
        copy_s,
        rows_per_s: rows as f64 / copy_s,
        mb_per_s: bytes as f64 / 1e6 / copy_s,
        resumed_units,
        units: data.units(),
        notes: definitions.notes,
        ..Report::default()
    };
    for phase in &definitions.phases {
        let seconds = run_phase(plan, &mut worker, phase, &done)?;
        report.phases.push((phase.name, seconds));
    }
    let analyzed = Instant::now();
    match worker.connected()?.execute("VACUUM ANALYZE") {
        Ok(()) => report.analyze_s = analyzed.elapsed().as_secs_f64(),
        Err(DriverError::Server(error)) => report.notes.push(format!("VACUUM ANALYZE: {}", error.message)),
        Err(error) => return Err(error),
    }
    worker.step(COMPLETE, |admin| {
        data.finish()
            .iter()
            .try_for_each(|statement| admin.execute(statement))
    })?;
    report.reconnects = lost.load(Ordering::Relaxed);
    Ok(report)
}

/// Empty tables, and the mark of what will be in them: last, so that a load that was interrupted before begins anew.
fn begin(target: &Target, admin: &mut Admin, data: &dyn Data, create: &[String]) -> DriverResult<()> {
    let steps = "CREATE TABLE IF NOT EXISTS bench_load (workload varchar(32), step varchar(200), PRIMARY KEY (workload, step))";
    admin.execute(&Definitions::table(target, steps))?;
    admin.execute(&format!(
        "DELETE FROM bench_load WHERE workload = '{}'",
        data.workload()
    ))?;
    for table in data.tables() {
        admin.execute(&Definitions::drop_table(target, table))?;
    }
    for statement in create {
        admin.execute(statement)?;
    }
    admin.execute(&mark(data, &format!("{BEGUN}{}", data.description())))
}

fn mark(data: &dyn Data, step: &str) -> String {
    format!(
        "INSERT INTO bench_load (workload, step) VALUES ('{}', '{step}')",
        data.workload()
    )
}

fn unit_step(unit: usize) -> String {
    format!("unit {unit}")
}

/// A connection that comes back when it is lost, and does each step once.
struct Worker<'a> {
    target: &'a Target,
    data: &'a dyn Data,
    admin: Option<Admin>,
    /// How often a connection was lost, over all workers; a lone counter: Relaxed.
    lost: &'a AtomicU64,
}

impl<'a> Worker<'a> {
    fn new(target: &'a Target, data: &'a dyn Data, lost: &'a AtomicU64) -> Worker<'a> {
        Worker {
            target,
            data,
            admin: None,
            lost,
        }
    }

    fn connected(&mut self) -> DriverResult<&mut Admin> {
        if self.admin.is_none() {
            self.admin = Some(Admin::connect(self.target)?);
        }
        Ok(self.admin.as_mut().expect("it was just made"))
    }

    /// Does the step and its mark as one transaction, again and again while the server is lost and may come back.
    fn step(&mut self, step: &str, mut work: impl FnMut(&mut Admin) -> DriverResult<()>) -> DriverResult<()> {
        let mut lost_at = None;
        loop {
            halt::here().check().map_err(DriverError::protocol)?;
            let error = match self.attempt(step, lost_at.is_some(), &mut work) {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            let since = *lost_at.get_or_insert_with(Instant::now);
            if !may_come_back(&error) || since.elapsed() > PATIENCE {
                return Err(error);
            }
            self.lost
                .fetch_add(self.admin.take().is_some() as u64, Ordering::Relaxed);
            std::thread::sleep(RECONNECT_PAUSE);
        }
    }

    fn attempt(
        &mut self,
        step: &str,
        doubtful: bool,
        work: &mut impl FnMut(&mut Admin) -> DriverResult<()>,
    ) -> DriverResult<()> {
        let (data, mark) = (self.data, mark(self.data, step));
        let admin = self.connected()?;
        let look = format!(
            "SELECT 1 FROM bench_load WHERE workload = '{}' AND step = '{step}'",
            data.workload()
        );
        if doubtful && admin.value(&look)?.is_some() {
            return Ok(());
        }
        admin.execute("BEGIN")?;
        work(admin)?;
        admin.execute(&mark)?;
        admin.execute("COMMIT")
    }
}

/// A lost connection, or a server that is starting, stopping or full.
fn may_come_back(error: &DriverError) -> bool {
    match error {
        DriverError::Io(_) => true,
        DriverError::Protocol(_) => false,
        DriverError::Server(error) => matches!(
            error.sqlstate.as_str(),
            "57P01" | "57P02" | "57P03" | "53300" | "08006"
        ),
    }
}

/// Runs statements one after the other behind a spinner.
fn run_phase(
    plan: &Plan<'_>,
    worker: &mut Worker<'_>,
    phase: &Phase,
    done: &BTreeSet<String>,
) -> DriverResult<f64> {
    let started = Instant::now();
    let bar = bar(
        plan.progress,
        phase.statements.len() as u64,
        "{spinner} {msg} {pos}/{len} [{elapsed}]",
    );
    bar.set_message(phase.name);
    for (number, statement) in phase.statements.iter().enumerate() {
        bar.tick();
        let step = format!("{} {number}", phase.name);
        if !done.contains(&step) {
            worker.step(&step, |admin| admin.execute(statement))?;
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(started.elapsed().as_secs_f64())
}

fn bar(visible: bool, length: u64, template: &str) -> ProgressBar {
    let target = if visible {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let style = ProgressStyle::with_template(template).expect("constant templates are valid");
    ProgressBar::with_draw_target(Some(length), target).with_style(style)
}

/// Fills all tables but for the units that are done; returns rows and bytes.
fn copy_all(
    plan: &Plan<'_>,
    data: &dyn Data,
    done: &BTreeSet<String>,
    lost: &AtomicU64,
) -> DriverResult<(u64, u64)> {
    let units: Vec<usize> = (0..data.units())
        .filter(|unit| !done.contains(&unit_step(*unit)))
        .collect();
    let expected: u64 = units.iter().map(|unit| data.rows_expected(*unit)).sum();
    let template = "loading [{elapsed}] {wide_bar} {human_pos}/{human_len} rows, {per_sec}, {eta} left";
    let bar = bar(plan.progress, expected, template);
    let next = AtomicUsize::new(0); // hands out units; Relaxed: each number is taken once, nothing else is ordered
    let (rows, bytes) = (AtomicU64::new(0), AtomicU64::new(0));
    let failure = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..plan.connections.clamp(1, units.len().max(1)) {
            scope.spawn(|| {
                let mut worker = Worker::new(plan.target, data, lost);
                let mut work = || -> DriverResult<()> {
                    while let Some(&unit) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let mut copied = (0, 0);
                        worker.step(&unit_step(unit), |admin| {
                            copied = copy_unit(admin, data, unit, &bar)?;
                            Ok(())
                        })?;
                        rows.fetch_add(copied.0, Ordering::Relaxed);
                        bytes.fetch_add(copied.1, Ordering::Relaxed);
                    }
                    Ok(())
                };
                if let Err(error) = work() {
                    next.store(usize::MAX / 2, Ordering::Relaxed); // the others stop after their unit
                    failure.lock().expect("no panic while held").get_or_insert(error);
                }
            });
        }
    });
    bar.finish_and_clear();
    match failure.into_inner().expect("no panic while held") {
        Some(error) => Err(error),
        None => Ok((rows.into_inner(), bytes.into_inner())),
    }
}

fn copy_unit(admin: &mut Admin, data: &dyn Data, unit: usize, bar: &ProgressBar) -> DriverResult<(u64, u64)> {
    let mut source = data.rows(unit);
    let (mut rows, mut shown) = (0, 0);
    let bytes = admin.copy_in(&data.copy_statement(unit), |out| {
        let count = source(out);
        rows += count;
        if rows - shown >= 1_000 || count == 0 {
            bar.inc(rows - shown);
            shown = rows;
        }
        count > 0
    })?;
    Ok((rows, bytes))
}

/// Calls `put` with 1..=count.
pub fn counted(count: u64, mut put: impl FnMut(&mut Vec<u8>, u64) + 'static) -> RowSource {
    let mut number = 0;
    Box::new(move |out| {
        if number == count {
            return 0;
        }
        number += 1;
        put(out, number);
        1
    })
}
