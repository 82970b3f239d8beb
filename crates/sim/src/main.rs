//! `mote-sim --seeds N [--seed S] [--nodes M] [--lives L] [--steps T] [--trace T] [--jobs J]`: runs seeds S, S+1, ... and stops at the first that
//! fails. With several jobs, which is what `make sim` asks for, each runs in processes of its own.

#![forbid(unsafe_code)]

use std::io::Read;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use mote_sim::{ClusterOptions, ClusterReport, Options, Report, Trace, run, run_cluster};

const USAGE: &str = "usage: mote-sim [--seeds N] [--seed S] [--nodes M] [--lives L] [--steps T] [--trace T] [--jobs J]\n\
                     --seeds N  how many seeds (100; 1 if --seed is given)\n\
                     --seed S   the first (0)\n\
                     --nodes M  1: one engine (1); 3 to 5: a cluster's log, votes and network\n\
                     --lives L  crashes and recoveries of each (3)\n\
                     --steps T  most steps between two of them (600); steps of a cluster before it heals (1500)\n\
                     --trace T  a cluster's troubles follow that trace of docs/design/0023 instead of chance\n\
                     --jobs J   processes at a time; 0: one per core (1)";
/// Seeds of one process among several: long enough that its start does not count.
const CHUNK: u64 = 250;
/// In front of the figures that a process tells its parent.
const FIGURES: &str = "figures:";

struct Arguments {
    first: u64,
    count: u64,
    jobs: u64,
    world: World,
}

/// What a seed is run in.
#[derive(Clone, Copy)]
enum World {
    Engine(Options),
    Cluster(ClusterOptions),
}

/// What the seeds of a world did in all.
enum Total {
    Engine(Report),
    Cluster(ClusterReport),
}

impl World {
    fn total(&self) -> Total {
        match self {
            World::Engine(_) => Total::Engine(Report::default()),
            World::Cluster(_) => Total::Cluster(ClusterReport::default()),
        }
    }

    fn run(&self, seed: u64) -> Result<Total, String> {
        match self {
            World::Engine(options) => run(seed, *options).map(Total::Engine),
            World::Cluster(options) => run_cluster(seed, *options).map(Total::Cluster),
        }
    }

    /// The options that make another process run the same.
    fn words(&self) -> Vec<String> {
        let words = match self {
            World::Engine(options) => format!("--lives {} --steps {}", options.lives, options.steps),
            World::Cluster(options) => {
                let trace = options
                    .trace
                    .map_or(String::new(), |trace| format!(" --trace {}", trace.number()));
                format!("--nodes {} --steps {}{trace}", options.nodes, options.steps)
            }
        };
        words.split(' ').map(String::from).collect()
    }
}

impl Total {
    fn figures(&mut self) -> Vec<(&'static str, &mut u64)> {
        match self {
            Total::Engine(report) => report.figures().into(),
            Total::Cluster(report) => report.figures().into(),
        }
    }

    fn add(&mut self, mut other: Total) {
        for ((_, sum), (_, value)) in self.figures().into_iter().zip(other.figures()) {
            *sum += *value;
        }
    }
}

fn main() -> ExitCode {
    let Some(arguments) = parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let started = Instant::now();
    let total = if arguments.jobs > 1 {
        run_jobs(&arguments)
    } else {
        run_seeds(arguments.first, arguments.count, arguments.world)
    };
    let Some(mut total) = total else {
        return ExitCode::FAILURE;
    };
    let figures: Vec<String> = total
        .figures()
        .into_iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    println!(
        "{} seeds from {} in {:.0} s: all held\n{FIGURES} {}",
        arguments.count,
        arguments.first,
        started.elapsed().as_secs_f64(),
        figures.join(" ")
    );
    ExitCode::SUCCESS
}

fn parse(mut words: impl Iterator<Item = String>) -> Option<Arguments> {
    let mut arguments = Arguments {
        first: 0,
        count: 100,
        jobs: 1,
        world: World::Engine(Options::default()),
    };
    let (mut options, mut cluster) = (Options::default(), ClusterOptions::default());
    let (mut one, mut many, mut nodes) = (false, false, 1);
    while let Some(name) = words.next() {
        let value: u64 = words.next()?.parse().ok()?;
        match name.as_str() {
            "--seeds" => (arguments.count, many) = (value, true),
            "--seed" => (arguments.first, one) = (value, true),
            "--nodes" => nodes = value,
            "--lives" => options.lives = u32::try_from(value).ok()?,
            "--steps" => (options.steps, cluster.steps) = (value, value),
            "--trace" => cluster.trace = Some(Trace::numbered(value)?),
            "--jobs" => arguments.jobs = value,
            _ => return None,
        }
    }
    arguments.world = match nodes {
        1 => World::Engine(options),
        3..=5 => World::Cluster(ClusterOptions { nodes, ..cluster }),
        _ => return None,
    };
    if one && !many {
        arguments.count = 1;
    }
    if arguments.jobs == 0 {
        arguments.jobs = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    }
    Some(arguments)
}

/// `None`: a seed failed, which has been told.
fn run_seeds(first: u64, count: u64, world: World) -> Option<Total> {
    let mut total = world.total();
    for seed in first..first.saturating_add(count) {
        // A panic inside must still name the seed.
        let result =
            std::panic::catch_unwind(|| world.run(seed)).unwrap_or_else(|_| Err("a panic, see above".into()));
        match result {
            Ok(report) => total.add(report),
            Err(error) => {
                eprintln!("seed {seed}: {error}");
                eprintln!(
                    "repeat with: cargo run --profile sim -p mote-sim -- --seed {seed} {}",
                    world.words().join(" ")
                );
                return None;
            }
        }
    }
    Some(total)
}

/// Runs chunks of the seeds in processes, several at a time.
fn run_jobs(arguments: &Arguments) -> Option<Total> {
    let end = arguments.first.saturating_add(arguments.count);
    let next = AtomicU64::new(arguments.first); // hands out seeds: Relaxed
    let outcome = Mutex::new(Some(arguments.world.total()));
    std::thread::scope(|scope| {
        for _ in 0..arguments.jobs {
            scope.spawn(|| {
                loop {
                    let first = next.fetch_add(CHUNK, Ordering::Relaxed);
                    if first >= end {
                        return;
                    }
                    let report = run_process(first, CHUNK.min(end - first), arguments.world);
                    let mut outcome = outcome.lock().unwrap_or_else(|poison| poison.into_inner());
                    match (report, outcome.as_mut()) {
                        (Some(report), Some(total)) => total.add(report),
                        _ => {
                            // The others end after their chunk.
                            *outcome = None;
                            next.store(u64::MAX - CHUNK * arguments.jobs, Ordering::Relaxed);
                            return;
                        }
                    }
                }
            });
        }
    });
    outcome.into_inner().unwrap_or_else(|poison| poison.into_inner())
}

fn run_process(first: u64, count: u64, world: World) -> Option<Total> {
    let program = std::env::current_exe().ok()?;
    let mut child = Command::new(program)
        .args(["--seed", &first.to_string(), "--seeds", &count.to_string()])
        .args(world.words())
        .stdout(Stdio::piped())
        .spawn()
        .inspect_err(|error| eprintln!("a process could not be started: {error}"))
        .ok()?;
    let mut said = String::new();
    let read = child.stdout.take()?.read_to_string(&mut said);
    let ended = child.wait();
    if read.is_err() || !ended.is_ok_and(|status| status.success()) {
        eprintln!("the seeds from {first} to {} did not all hold", first + count - 1);
        return None;
    }
    let mut report = world.total();
    let figures = said.lines().find_map(|line| line.strip_prefix(FIGURES))?;
    for (name, value) in figures.split_whitespace().filter_map(|word| word.split_once('=')) {
        for (known, total) in report.figures() {
            if known == name {
                *total = value.parse().ok()?;
            }
        }
    }
    Some(report)
}
