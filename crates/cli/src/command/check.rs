//! `mote check`: is a data directory sound? Offline, and without changing anything in it.
//!
//! Files first; then the database is opened over a disk that keeps all changes in memory, and indexes and rows are
//! compared with what the catalog says of them. Leaves out: the checks themselves (`mote_engine::check`, `mote_exec::check`).

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use mote_catalog::database::{Database, InitialNames};
use mote_common::env::overlay::OverlayDisk;
use mote_common::env::{Env, real};
use mote_engine::EngineConfig;
use mote_engine::check::{Fault, FileReport, check_files, check_indexes};
use mote_exec::check::{SqlFault, check_rows};
use mote_executor::index_keys::EVALUATION;
use serde_json::{Value, json};

use super::backup::is_backup;
use super::progress::{bytes_bar, steps_bar};
use super::serve::{default_memory_bytes, parse_memory};

/// Check a data directory or a backup that no server has open
///
/// Nothing in it is changed. Checked are the checksums and positions of manifest, images and
/// log; then the database is recovered in memory and every index is compared with its table
/// (and unique ones searched for duplicates), every value of every row is read, and NOT NULL
/// and CHECK constraints are asked, with --foreign-keys also foreign keys. That needs as much
/// memory as a server.
///
/// Exit code 0: nothing is wrong. 1: something is, or the check could not run.
///
/// Examples:
///   mote check ./data
///   mote check ./data --foreign-keys --json
///   mote check ./backups/monday --files-only
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct CheckArguments {
    /// The data directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Also ask whether each foreign key's row is there
    #[arg(long)]
    foreign_keys: bool,

    /// Check manifest, images and log only; needs hardly any memory
    #[arg(long, conflicts_with = "foreign_keys")]
    files_only: bool,

    /// Memory for rows and indexes, as in 512MB or 16GB [default: three quarters of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    memory: Option<u64>,

    /// Report as one JSON document on standard output
    #[arg(long)]
    json: bool,

    /// No progress bar and no summary; only faults are told
    #[arg(long)]
    quiet: bool,
}

/// Everything that was found.
#[derive(Default)]
struct Report {
    files: FileReport,
    faults: Vec<Value>,
    notes: Vec<String>,
    tables: u64,
    rows: u64,
    indexes: u64,
    entries: u64,
    constraints: u64,
    /// Whether indexes and rows were looked at.
    complete: bool,
}

pub fn run(arguments: &CheckArguments) -> ExitCode {
    let report = match check(arguments) {
        Ok(report) => report,
        Err(error) => {
            eprintln!("mote: {error}");
            return ExitCode::FAILURE;
        }
    };
    if arguments.json {
        println!("{}", as_json(&report));
    } else {
        tell(&report, arguments);
    }
    if report.faults.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn check(arguments: &CheckArguments) -> Result<Report, String> {
    let directory = &arguments.directory;
    if !directory.is_dir() {
        return Err(format!("{} is no directory", directory.display()));
    }
    // A server must not change what is being read. Nobody opens a backup, and nothing may be added to one.
    let is_data = directory.join("MANIFEST").exists() && !is_backup(directory);
    let _lock = is_data.then(|| lock(directory)).transpose()?;
    let mut report = Report::default();
    let disk = real::read_only_disk(directory);
    let bar = bytes_bar(arguments.quiet || arguments.json);
    bar.set_message("files");
    report.files = check_files(&*disk, &mut |progress| {
        bar.set_length(progress.total);
        bar.set_position(progress.done);
    });
    bar.finish_and_clear();
    report.faults = report.files.faults.iter().map(engine_fault).collect();
    report.notes = report.files.notes.clone();
    // What is damaged is not opened: recovery would say the same, once.
    if report.faults.is_empty() && !arguments.files_only {
        check_database(arguments, &mut report)?;
    }
    Ok(report)
}

fn lock(directory: &Path) -> Result<Box<dyn Send + Sync>, String> {
    real::disk(directory).lock_exclusive("LOCK").map_err(|error| {
        format!(
            "{} is in use by another process: {error}; stop that one first",
            directory.display()
        )
    })
}

fn check_database(arguments: &CheckArguments, report: &mut Report) -> Result<(), String> {
    let below = real::env(&arguments.directory);
    let env = Env {
        disk: Arc::new(OverlayDisk::new(real::read_only_disk(&arguments.directory))),
        ..below
    };
    let config = EngineConfig {
        memory_limit_bytes: arguments.memory.unwrap_or_else(default_memory_bytes),
        ..EngineConfig::default()
    };
    let bar = steps_bar(arguments.quiet || arguments.json);
    bar.set_message("recovery");
    bar.tick();
    let database = match Database::open_in(env, config, &InitialNames::default(), &EVALUATION) {
        Ok(database) => database,
        Err(error) => {
            report
                .faults
                .push(json!({ "kind": "recovery", "what": error.to_string() }));
            return Ok(());
        }
    };
    bar.set_message("indexes of tables");
    let mut pace = |done: usize, total: usize| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    };
    let indexes = check_indexes(database.engine(), &mut pace)
        .map_err(|error| format!("the indexes could not be checked: {error:?}"))?;
    bar.set_message("rows of tables");
    let rows = check_rows(&database, arguments.foreign_keys, &mut pace)
        .map_err(|error| format!("the rows could not be checked: {}", error.message()))?;
    bar.finish_and_clear();
    report.faults.extend(indexes.faults.iter().map(engine_fault));
    report.faults.extend(rows.faults.iter().map(sql_fault));
    report.notes.extend(rows.notes);
    report.tables = rows.tables;
    report.rows = rows.rows;
    report.indexes = indexes.indexes;
    report.entries = indexes.entries;
    report.constraints = rows.constraints;
    report.complete = true;
    database.close();
    Ok(())
}

fn engine_fault(fault: &Fault) -> Value {
    json!({
        "kind": if fault.index.is_some() { "index" } else { "file" },
        "file": fault.path,
        "offset": fault.offset,
        "table_id": fault.table.map(|id| id.0),
        "index_id": fault.index.map(|id| id.0),
        "segment": fault.segment,
        "rows": fault.row.map(|row| vec![format!("({},{})", row.segment(), row.offset())]),
        "what": fault.what,
        "text": fault.to_string(),
    })
}

fn sql_fault(fault: &SqlFault) -> Value {
    let rows = match fault.rows.as_slice() {
        [] => String::new(),
        rows => format!(" (rows {})", rows.join(" ")),
    };
    json!({
        "kind": "row",
        "table": fault.table,
        "table_id": fault.id.0,
        "rows": fault.rows,
        "what": fault.what,
        "text": format!("table {}: {}{rows}", fault.table, fault.what),
    })
}

fn as_json(report: &Report) -> Value {
    json!({
        "sound": report.faults.is_empty(),
        "complete": report.complete,
        "system_id": format!("{:016x}", report.files.system_id),
        "images": report.files.images,
        "image_rows": report.files.image_rows,
        "log_frames": report.files.frames,
        "log_start": report.files.log_start.to_string(),
        "log_end": report.files.log_end.to_string(),
        "tables": report.tables,
        "rows": report.rows,
        "indexes": report.indexes,
        "index_entries": report.entries,
        "constraints": report.constraints,
        "faults": report.faults,
        "notes": report.notes,
    })
}

fn tell(report: &Report, arguments: &CheckArguments) {
    for fault in &report.faults {
        let text = fault["text"].as_str().or_else(|| fault["what"].as_str());
        eprintln!("mote: {}", text.unwrap_or_default());
    }
    if arguments.quiet {
        return;
    }
    for note in &report.notes {
        println!("note: {note}");
    }
    let files = &report.files;
    println!(
        "{} images with {} rows, {} log frames from {} to {}",
        files.images, files.image_rows, files.frames, files.log_start, files.log_end
    );
    if report.complete {
        println!(
            "{} tables with {} rows, {} indexes with {} entries, {} constraints",
            report.tables, report.rows, report.indexes, report.entries, report.constraints
        );
    }
    match report.faults.len() {
        0 => println!("sound"),
        1 => println!("1 fault"),
        count => println!("{count} faults"),
    }
}
