//! The loader: COPY over several connections, then keys, indexes and foreign keys.
//!
//! Units of work are (table, warehouse), taken from one counter, so that connections stay busy to the end. What is
//! loaded does not depend on who loads it (see `rows`).

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mote_common::prng::Prng;
use serde::Serialize;

use super::random::NurandConstants;
use super::rows::{Table, row_source};
use super::schema;
use crate::driver::{Admin, DriverError, DriverResult, Target};

pub struct LoadPlan<'a> {
    pub target: &'a Target,
    pub warehouses: i32,
    pub connections: usize,
    pub seed: u64,
    /// Foreign keys as BenchmarkSQL has them.
    pub foreign_keys: bool,
    pub progress: bool,
}

/// How long the load took, phase by phase.
#[derive(Clone, Debug, Serialize)]
pub struct LoadReport {
    pub warehouses: i32,
    pub connections: usize,
    pub rows: u64,
    pub bytes: u64,
    pub copy_s: f64,
    pub rows_per_s: f64,
    pub mb_per_s: f64,
    pub keys_s: f64,
    pub foreign_keys_s: f64,
    pub analyze_s: f64,
    /// What the server would not do and the experiment can do without.
    pub notes: Vec<String>,
}

/// What a loaded database says about itself, in bmsql_config.
#[derive(Clone, Copy, Debug)]
pub struct LoadedDatabase {
    pub warehouses: i32,
    pub load_c_last: i64,
}

/// The description of a complete load, or `None` where there is none.
pub fn inspect(admin: &mut Admin) -> DriverResult<Option<LoadedDatabase>> {
    let rows = match admin.query("SELECT cfg_name, cfg_value FROM bmsql_config") {
        Ok(rows) => rows,
        Err(error) if matches!(error.sqlstate(), "42P01" | "3F000") => return Ok(None),
        Err(error) => return Err(error),
    };
    let value = |name: &str| {
        let row = rows
            .iter()
            .find(|row| row.first().and_then(Option::as_deref) == Some(name))?;
        row.get(1)?.as_deref()?.parse::<i64>().ok()
    };
    // "loaded" is written last: a load that was interrupted does not count.
    Ok(
        match (value("warehouses"), value("nURandCLast"), value("loaded")) {
            (Some(warehouses), Some(load_c_last), Some(1)) => Some(LoadedDatabase {
                warehouses: warehouses as i32,
                load_c_last,
            }),
            _ => None,
        },
    )
}

pub fn load(plan: &LoadPlan<'_>) -> DriverResult<LoadReport> {
    let mut admin = Admin::connect(plan.target)?;
    for table in schema::TABLES {
        admin.execute(&format!("DROP TABLE IF EXISTS {table}"))?;
    }
    for statement in schema::CREATE_TABLES {
        admin.execute(statement)?;
    }
    let constants = NurandConstants::for_load(&mut Prng::fork(plan.seed, 0));
    for (name, value) in [
        ("warehouses", plan.warehouses as i64),
        ("nURandCLast", constants.c_last),
        ("nURandCC_ID", constants.c_id),
        ("nURandCI_ID", constants.ol_i_id),
    ] {
        admin.execute(&format!(
            "INSERT INTO bmsql_config (cfg_name, cfg_value) VALUES ('{name}', '{value}')"
        ))?;
    }
    let started = Instant::now();
    let (rows, bytes) = copy_all(plan, constants)?;
    let copy_s = started.elapsed().as_secs_f64();
    let mut report = LoadReport {
        warehouses: plan.warehouses,
        connections: plan.connections,
        rows,
        bytes,
        copy_s,
        rows_per_s: rows as f64 / copy_s,
        mb_per_s: bytes as f64 / 1e6 / copy_s,
        keys_s: 0.0,
        foreign_keys_s: 0.0,
        analyze_s: 0.0,
        notes: Vec::new(),
    };
    report.keys_s = timed(plan, &mut admin, "keys and indexes", &schema::CREATE_KEYS)?;
    if plan.foreign_keys {
        report.foreign_keys_s = timed(plan, &mut admin, "foreign keys", &schema::CREATE_FOREIGN_KEYS)?;
    }
    match timed(plan, &mut admin, "statistics", &["VACUUM ANALYZE"]) {
        Ok(seconds) => report.analyze_s = seconds,
        Err(DriverError::Server(error)) => report.notes.push(format!("VACUUM ANALYZE: {}", error.message)),
        Err(error) => return Err(error),
    }
    admin.execute("INSERT INTO bmsql_config (cfg_name, cfg_value) VALUES ('loaded', '1')")?;
    Ok(report)
}

/// Runs statements one after the other behind a spinner.
fn timed(plan: &LoadPlan<'_>, admin: &mut Admin, what: &str, statements: &[&str]) -> DriverResult<f64> {
    let started = Instant::now();
    let bar = bar(
        plan.progress,
        statements.len() as u64,
        "{spinner} {msg} {pos}/{len} [{elapsed}]",
    );
    bar.set_message(what.to_string());
    for statement in statements {
        bar.tick();
        admin.execute(statement)?;
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

/// Fills all tables; returns rows and bytes.
fn copy_all(plan: &LoadPlan<'_>, constants: NurandConstants) -> DriverResult<(u64, u64)> {
    let mut units = vec![(Table::Item, 0)];
    for table in Table::PER_WAREHOUSE {
        units.extend((1..=plan.warehouses).map(|warehouse| (table, warehouse)));
    }
    let expected: u64 = units.iter().map(|(table, _)| table.rows()).sum();
    let template = "loading [{elapsed}] {wide_bar} {human_pos}/{human_len} rows, {per_sec}, {eta} left";
    let bar = bar(plan.progress, expected, template);
    let next = AtomicUsize::new(0); // hands out units; Relaxed: each number is taken once, nothing else is ordered
    let (rows, bytes) = (AtomicU64::new(0), AtomicU64::new(0));
    let failure = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..plan.connections.clamp(1, units.len()) {
            scope.spawn(|| {
                let worker = || -> DriverResult<()> {
                    let mut admin = Admin::connect(plan.target)?;
                    while let Some(&(table, warehouse)) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let (unit_rows, unit_bytes) =
                            copy_unit(&mut admin, plan.seed, table, warehouse, constants, &bar)?;
                        rows.fetch_add(unit_rows, Ordering::Relaxed);
                        bytes.fetch_add(unit_bytes, Ordering::Relaxed);
                    }
                    Ok(())
                };
                if let Err(error) = worker() {
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

fn copy_unit(
    admin: &mut Admin,
    seed: u64,
    table: Table,
    warehouse: i32,
    constants: NurandConstants,
    bar: &ProgressBar,
) -> DriverResult<(u64, u64)> {
    let mut source = row_source(table, seed, warehouse, constants);
    let (mut rows, mut shown) = (0, 0);
    let bytes = admin.copy_in(table.copy_statement(), |out| {
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
