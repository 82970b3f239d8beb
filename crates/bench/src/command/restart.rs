//! `mote bench coldstart` and `mote bench replay`: how long a start takes, and what it is made of.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Serialize;
use serde_json::{Value, json};

use super::args::{ColdStartArgs, OwnServerArgs, ReplayArgs, TerminalArgs};
use super::quiet::Quiet;
use super::tpcc as tpcc_command;
use crate::report::charts;
use crate::report::html::{self, Plain, PlainTable};
use crate::report::page::{self, Rendered};
use crate::report::{json, table};
use crate::server::{EmbeddedServer, RunningServer, SpawnedServer, temporary_directory};
use mote_driver::{Admin, Target};
use mote_measure::cpu::ProcessTree;
use mote_measure::disk;
use mote_workload::tpcc::{self, LoadMode, Settings};

/// Checkpoint bytes a second and core that a cold start should reach.
const TARGET_PER_CORE: f64 = 0.4e9;
/// Share of the disk's own rate that it should reach.
const TARGET_OF_DISK: f64 = 0.7;
/// Row changes a second and core that replay should reach.
const TARGET_CHANGES_PER_CORE: f64 = 500_000.0;
/// Keeps the server from checkpoints of its own.
const NO_CHECKPOINTS: [&str; 4] = [
    "--checkpoint-log-size",
    "1000TB",
    "--checkpoint-interval",
    "1000d",
];

/// A directory for one experiment; goes with it.
pub struct Place(PathBuf);

impl Place {
    pub fn new(parent: Option<&Path>) -> Result<Place, String> {
        let path = match parent {
            None => temporary_directory(),
            Some(parent) => {
                let name = temporary_directory();
                parent.join(name.file_name().expect("temporary directories have names"))
            }
        };
        fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Place(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The server's own, beside what else is there.
    pub fn data(&self) -> PathBuf {
        self.0.join("data")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("mote bench: {}: {error}", self.0.display());
        }
    }
}

/// What the server says of its start (mote_stat_recovery).
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct RecoveryFigures {
    pub threads: f64,
    pub image_bytes: f64,
    pub image_rows: f64,
    pub log_bytes: f64,
    pub log_changes: f64,
    pub index_entries: f64,
    pub read_log_s: f64,
    pub load_images_s: f64,
    pub replay_s: f64,
    pub build_indexes_s: f64,
}

impl RecoveryFigures {
    fn read(admin: &mut Admin) -> Result<RecoveryFigures, String> {
        let columns = "threads, image_bytes, image_rows, log_bytes, log_changes, index_entries, read_log_s, \
                       load_images_s, replay_s, build_indexes_s";
        let rows = admin
            .query(&format!("SELECT {columns} FROM mote_stat_recovery"))
            .map_err(|error| format!("cannot read mote_stat_recovery: {error}"))?;
        let mut row = rows
            .first()
            .into_iter()
            .flatten()
            .map(|value| value.as_deref().and_then(|text| text.parse().ok()).unwrap_or(0.0));
        let mut figure = || row.next().ok_or("mote_stat_recovery has other columns");
        // In the order of `columns`.
        Ok(RecoveryFigures {
            threads: figure()?,
            image_bytes: figure()?,
            image_rows: figure()?,
            log_bytes: figure()?,
            log_changes: figure()?,
            index_entries: figure()?,
            read_log_s: figure()?,
            load_images_s: figure()?,
            replay_s: figure()?,
            build_indexes_s: figure()?,
        })
    }
}

/// Starts the server on a directory that the kernel has forgotten; seconds to the first answer, and its own figures.
fn cold_start(
    starter: &dyn EmbeddedServer,
    directory: &Path,
    options: &[String],
) -> Result<(Start, Box<dyn RunningServer>), String> {
    let files = disk::files_below(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    disk::forget(&files).map_err(|error| format!("{}: {error}", directory.display()))?;
    let started = Instant::now();
    let server = starter.start(Some(directory), options)?;
    let target = Target::parse(server.url())?;
    let fail = |error| format!("the first query after the start: {error}");
    let mut admin = Admin::connect(&target).map_err(fail)?;
    let answer = admin
        .value("SELECT i_name FROM bmsql_item WHERE i_id = 1")
        .map_err(fail)?;
    let seconds = started.elapsed().as_secs_f64();
    answer.ok_or("the first query after the start found no row")?;
    let cpu_s = ProcessTree::new(server.pid()).and_then(|tree| tree.cpu_seconds());
    let start = Start {
        seconds,
        cpu_s: cpu_s.ok_or("the server's processor time cannot be read")?,
        figures: RecoveryFigures::read(&mut admin)?,
    };
    Ok((start, server))
}

/// One start.
struct Start {
    seconds: f64,
    cpu_s: f64,
    figures: RecoveryFigures,
}

/// Who starts the experiment's servers.
pub fn starter<'a>(
    args: &OwnServerArgs,
    embedded: &'a dyn EmbeddedServer,
    own: &'a mut Option<SpawnedServer>,
) -> &'a dyn EmbeddedServer {
    match &args.serve_program {
        Some(program) => own.insert(SpawnedServer {
            program: program.clone(),
        }),
        None => embedded,
    }
}

/// Order entry that loads or runs without checks.
pub fn load_settings(
    warehouses: i32,
    seed: u64,
    load: LoadMode,
    duration_s: f64,
    connections: usize,
) -> Settings {
    Settings {
        duration_s,
        seed,
        load,
        check: false,
        ..Settings::closed_loop(warehouses, connections)
    }
}

/// The same with the terminals that were asked for.
pub fn with_terminals(settings: Settings, terminals: &TerminalArgs) -> Settings {
    Settings {
        mix: terminals.mix,
        home: terminals.home,
        isolation: terminals.isolation,
        execution: terminals.execution,
        ..settings
    }
}

/// One size of a cold-start experiment.
#[derive(Clone, Debug, Serialize)]
pub struct ColdStart {
    pub warehouses: i32,
    run: usize,
    /// From the start of the process to the answer of the first query.
    pub seconds: f64,
    /// Processor time of the server until then.
    cpu_s: f64,
    bytes_per_cpu_s: f64,
    disk_bytes_per_s: Option<f64>,
    bytes_per_s: f64,
    bytes_per_s_and_core: f64,
    share_of_disk: Option<f64>,
    pub figures: RecoveryFigures,
}

/// The starts, and what is worth saying about where the data lay.
pub fn measure_cold_starts(
    args: &ColdStartArgs,
    embedded: &dyn EmbeddedServer,
    observer: &mut Quiet,
) -> Result<(Vec<ColdStart>, Vec<String>), String> {
    let mut own = None;
    let starter = starter(&args.server, embedded, &mut own);
    let mut starts = Vec::new();
    let mut remarks = Vec::new();
    for &warehouses in &args.warehouses {
        let place = Place::new(args.server.data.as_deref())?;
        let server = starter.start(Some(&place.0), &args.server.serve_option)?;
        remarks = server.remarks().to_vec();
        let target = Target::parse(server.url())?;
        let settings = load_settings(warehouses, args.seed, LoadMode::Only, 0.0, 1);
        tpcc::experiment(settings, &target, None, observer)?;
        observer.say("writing a checkpoint");
        Admin::connect(&target)
            .and_then(|mut admin| admin.execute("CHECKPOINT"))
            .map_err(|error| format!("CHECKPOINT: {error}"))?;
        server.stop()?;
        for run in 1..=args.runs.max(1) {
            observer.say(&format!("{warehouses} warehouses, start {run}"));
            let files = disk::files_below(&place.0.join("image"))
                .map_err(|error| format!("{}: {error}", place.0.display()))?;
            let threads = tpcc_command::processors();
            let disk = disk::sequential_read(&files, threads)
                .inspect_err(|error| {
                    remarks.push(format!("the disk's own rate could not be measured: {error}"));
                })
                .ok()
                .map(|(bytes, seconds)| bytes as f64 / seconds);
            let (start, server) = cold_start(starter, &place.0, &args.server.serve_option)?;
            server.stop()?;
            starts.push(ColdStart::new(warehouses, run, &start, disk));
        }
    }
    Ok((starts, remarks))
}

pub fn cold_starts(args: &ColdStartArgs, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    let mut observer = Quiet::new(args.output.quiet);
    let (starts, remarks) = measure_cold_starts(args, embedded, &mut observer)?;
    print!("{}", cold_start_table(&starts));
    println!(
        "\nGB/s: bytes of checkpoint over the time from the start of the process to the first answer, indexes included; \
         per CPU s: over the processor time of that, whatever else the machine was busy with."
    );
    let pass = starts
        .iter()
        .map(ColdStart::verdict)
        .fold(true, |all, (met, line)| {
            println!("{} {line}", table::pass(met));
            all && met
        });
    for remark in &remarks {
        println!("WARNING: {remark}");
    }
    let document = json!({
        "experiment": "coldstart",
        "environment": json::environment(),
        "settings": {"warehouses": args.warehouses, "runs": args.runs, "seed": args.seed,
            "serve_options": args.server.serve_option},
        "starts": starts,
        "remarks": remarks,
        "pass": pass,
    });
    if let Some(path) = &args.output.json {
        json::write(path, &document)?;
    }
    if page::is_wanted(&args.html) {
        cold_start_page(&document, &starts, &remarks).deliver(&args.html)?;
    }
    Ok(pass)
}

fn cold_start_page(document: &Value, starts: &[ColdStart], remarks: &[String]) -> Rendered {
    let line = |of: &dyn Fn(&ColdStart) -> f64| -> Vec<(f64, f64)> {
        starts
            .iter()
            .map(|start| (start.figures.image_bytes / 1e9, of(start)))
            .collect()
    };
    let chart = |title, unit, lines: &[(String, Vec<(f64, f64)>)]| {
        let mut chart = charts::ladder(title, "GB of checkpoint", unit, lines);
        chart.option["xAxis"]["type"] = "value".into();
        chart
    };
    let best = starts
        .iter()
        .map(|start| start.bytes_per_s / 1e9)
        .fold(0.0, f64::max);
    html::plain(
        document,
        Plain {
            title: "Cold starts",
            lead: "From the start of the process to the first answer, of a database that the kernel has forgotten".into(),
            figures: vec![("GB of checkpoint a second, the fastest start".into(), format!("{best:.2}"))],
            verdicts: starts.iter().map(ColdStart::verdict).collect(),
            charts: vec![
                chart("Seconds to the first answer", "s", &[("measured".into(), line(&|start| start.seconds))]),
                chart("Rate, indexes included", "GB/s", &[("measured".into(), line(&|start| start.bytes_per_s / 1e9))]),
            ],
            tables: vec![PlainTable { title: "Starts", header: &COLD_START_HEADER, rows: cold_start_rows(starts) }],
            notes: vec!["Published for a comparable engine: 50 / 100 / 150 / 250 GB in 20 / 40 / 61 / 109 s.".into()],
            remarks,
            small_print: &[],
        },
    )
}

impl ColdStart {
    fn new(warehouses: i32, run: usize, start: &Start, disk: Option<f64>) -> ColdStart {
        let &Start {
            seconds,
            cpu_s,
            figures,
        } = start;
        let bytes_per_s = figures.image_bytes / seconds;
        ColdStart {
            warehouses,
            run,
            seconds,
            cpu_s,
            bytes_per_cpu_s: figures.image_bytes / cpu_s.max(0.01),
            disk_bytes_per_s: disk,
            bytes_per_s,
            bytes_per_s_and_core: bytes_per_s / figures.threads.max(1.0),
            share_of_disk: disk.map(|disk| bytes_per_s / disk),
            figures,
        }
    }

    fn verdict(&self) -> (bool, String) {
        let per_core = self.bytes_per_s_and_core >= TARGET_PER_CORE;
        let of_disk = self.share_of_disk.is_none_or(|share| share >= TARGET_OF_DISK);
        let line = format!(
            "{} warehouses, start {}: {:.2} GB/s and core (at least {:.1}), {} of the disk's rate (at least {:.0} %)",
            self.warehouses,
            self.run,
            self.bytes_per_s_and_core / 1e9,
            TARGET_PER_CORE / 1e9,
            percent(self.share_of_disk),
            100.0 * TARGET_OF_DISK
        );
        (per_core && of_disk, line)
    }
}

fn percent(share: Option<f64>) -> String {
    share.map_or("unknown".into(), |share| format!("{:.0} %", 100.0 * share))
}

const COLD_START_HEADER: [&str; 16] = [
    "warehouses",
    "start",
    "checkpoint MB",
    "rows",
    "index entries",
    "log s",
    "images s",
    "replay s",
    "indexes s",
    "first answer s",
    "CPU s",
    "GB/s",
    "GB/s/core",
    "GB/CPU s",
    "disk GB/s",
    "of disk",
];

fn cold_start_table(starts: &[ColdStart]) -> String {
    table::table(&COLD_START_HEADER, &cold_start_rows(starts))
}

fn cold_start_rows(starts: &[ColdStart]) -> Vec<Vec<String>> {
    starts
        .iter()
        .map(|start| {
            let figures = &start.figures;
            vec![
                start.warehouses.to_string(),
                start.run.to_string(),
                table::grouped(figures.image_bytes / 1e6),
                table::grouped(figures.image_rows),
                table::grouped(figures.index_entries),
                format!("{:.2}", figures.read_log_s),
                format!("{:.2}", figures.load_images_s),
                format!("{:.2}", figures.replay_s),
                format!("{:.2}", figures.build_indexes_s),
                format!("{:.2}", start.seconds),
                format!("{:.2}", start.cpu_s),
                format!("{:.2}", start.bytes_per_s / 1e9),
                format!("{:.2}", start.bytes_per_s_and_core / 1e9),
                format!("{:.2}", start.bytes_per_cpu_s / 1e9),
                start
                    .disk_bytes_per_s
                    .map_or("-".into(), |rate| format!("{:.2}", rate / 1e9)),
                percent(start.share_of_disk),
            ]
        })
        .collect()
}

/// One run of a replay experiment.
#[derive(Clone, Debug, Serialize)]
struct Replay {
    run: usize,
    seconds: f64,
    changes_per_s: f64,
    changes_per_s_and_core: f64,
    log_bytes_per_s: f64,
    figures: RecoveryFigures,
}

pub fn replay(args: &ReplayArgs, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    let mut own = None;
    let starter = starter(&args.server, embedded, &mut own);
    let mut observer = Quiet::new(args.output.quiet);
    let place = Place::new(args.server.data.as_deref())?;
    let mut options: Vec<String> = NO_CHECKPOINTS.iter().map(|option| option.to_string()).collect();
    options.extend(args.server.serve_option.iter().cloned());
    let server = starter.start(Some(&place.0), &options)?;
    let remarks = server.remarks().to_vec();
    let target = Target::parse(server.url())?;
    let settings = load_settings(
        args.warehouses,
        args.seed,
        LoadMode::Always,
        args.duration,
        args.connections.max(1),
    );
    let settings = with_terminals(settings, &args.terminals);
    observer.say("loading and running order entry; everything stays in the log");
    tpcc::experiment(settings, &target, None, &mut observer)?;
    server.kill()?;
    let mut runs = Vec::new();
    for run in 1..=args.runs.max(1) {
        observer.say(&format!("start {run}"));
        let (start, server) = cold_start(starter, &place.0, &options)?;
        let Start { seconds, figures, .. } = start;
        server.kill()?;
        let log_s = figures.read_log_s + figures.replay_s;
        runs.push(Replay {
            run,
            seconds,
            changes_per_s: figures.log_changes / log_s,
            changes_per_s_and_core: figures.log_changes / log_s / figures.threads.max(1.0),
            log_bytes_per_s: figures.log_bytes / log_s,
            figures,
        });
    }
    print!("{}", replay_table(&runs));
    println!(
        "\nchanges/s: row changes over the time of both readings of the log; indexes are built afterwards."
    );
    let mut pass = true;
    for run in &runs {
        let met = run.changes_per_s_and_core >= TARGET_CHANGES_PER_CORE;
        pass &= met;
        println!(
            "{} start {}: {} changes a second and core (at least {})",
            table::pass(met),
            run.run,
            table::grouped(run.changes_per_s_and_core),
            table::grouped(TARGET_CHANGES_PER_CORE)
        );
    }
    for remark in &remarks {
        println!("WARNING: {remark}");
    }
    let document = json!({
        "experiment": "replay",
        "environment": json::environment(),
        "settings": {"warehouses": args.warehouses, "connections": args.connections, "duration_s": args.duration,
            "runs": args.runs, "seed": args.seed, "serve_options": options},
        "starts": runs,
        "remarks": remarks,
        "pass": pass,
    });
    if let Some(path) = &args.output.json {
        json::write(path, &document)?;
    }
    if page::is_wanted(&args.html) {
        replay_page(&document, &runs, &remarks).deliver(&args.html)?;
    }
    Ok(pass)
}

fn replay_page(document: &Value, runs: &[Replay], remarks: &[String]) -> Rendered {
    let verdict = |run: &Replay| {
        let says = format!(
            "start {}: at least {} changes a second and core",
            run.run,
            table::grouped(TARGET_CHANGES_PER_CORE)
        );
        (run.changes_per_s_and_core >= TARGET_CHANGES_PER_CORE, says)
    };
    let rates: Vec<Option<f64>> = runs.iter().map(|run| Some(run.changes_per_s_and_core)).collect();
    let names: Vec<String> = runs.iter().map(|run| format!("start {}", run.run)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let best = runs
        .iter()
        .map(|run| run.changes_per_s_and_core)
        .fold(0.0, f64::max);
    html::plain(
        document,
        Plain {
            title: "Replay of the log",
            lead: "A killed server that begins again from its log alone".into(),
            figures: vec![(
                "row changes a second and core, the fastest start".into(),
                table::grouped(best),
            )],
            verdicts: runs.iter().map(verdict).collect(),
            charts: vec![charts::bars(
                "Row changes a second and core",
                "per second",
                &names,
                &[("measured".into(), rates)],
                None,
            )],
            tables: vec![PlainTable {
                title: "Starts",
                header: &REPLAY_HEADER,
                rows: replay_rows(runs),
            }],
            notes: vec![
                "Row changes over the time of both readings of the log; indexes are built afterwards.".into(),
            ],
            remarks,
            small_print: &[],
        },
    )
}

const REPLAY_HEADER: [&str; 10] = [
    "start",
    "log MB",
    "changes",
    "read s",
    "replay s",
    "indexes s",
    "first answer s",
    "log MB/s",
    "changes/s",
    "changes/s/core",
];

fn replay_table(runs: &[Replay]) -> String {
    table::table(&REPLAY_HEADER, &replay_rows(runs))
}

fn replay_rows(runs: &[Replay]) -> Vec<Vec<String>> {
    runs.iter()
        .map(|run| {
            let figures = &run.figures;
            vec![
                run.run.to_string(),
                table::grouped(figures.log_bytes / 1e6),
                table::grouped(figures.log_changes),
                format!("{:.2}", figures.read_log_s),
                format!("{:.2}", figures.replay_s),
                format!("{:.2}", figures.build_indexes_s),
                format!("{:.2}", run.seconds),
                table::grouped(run.log_bytes_per_s / 1e6),
                table::grouped(run.changes_per_s),
                table::grouped(run.changes_per_s_and_core),
            ]
        })
        .collect()
}
