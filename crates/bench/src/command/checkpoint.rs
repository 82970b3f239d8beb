//! `mote bench checkpoint`: what a checkpoint does to the latency of the transactions beside it, second by second.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::json;

use super::args::CheckpointArgs;
use super::quiet::Quiet;
use super::restart::{Place, load_settings, starter, with_terminals};
use crate::report::{html, json, page, table};
use crate::server::EmbeddedServer;
use mote_driver::{Admin, Target};
use mote_measure::cpu::ProcessTree;
use mote_measure::outcome::SeriesPoint;
use mote_workload::tpcc::consistency::ConditionVerdict;
use mote_workload::tpcc::mix::KIND_NAMES;
use mote_workload::tpcc::{self, DISCLAIMER, LoadMode, Observer};

/// How much the 99th percentile of new orders may rise while a checkpoint runs.
const TARGET_RISE: f64 = 0.2;
/// How often the server is asked whether a checkpoint runs.
const SAMPLE: Duration = Duration::from_millis(100);
/// Types with enough transactions in a second for a percentile.
const SHOWN_KINDS: usize = 2;

/// What the server said at one moment.
#[derive(Clone, Copy)]
struct Sample {
    at: Instant,
    running: bool,
    /// Written by the round so far.
    bytes: f64,
    rounds: u64,
}

/// One second of the run.
#[derive(Clone, Debug, Serialize)]
struct Second {
    second: f64,
    /// Share of it in which a checkpoint ran.
    checkpoint: f64,
    new_orders: u64,
    p99_ms: Vec<f64>,
    p50_ms: Vec<f64>,
}

/// An interval so long counts as a whole second.
const WHOLE_SECOND: f64 = 0.9;

/// One type's latencies without and with a checkpoint: medians over the seconds.
#[derive(Clone, Debug, Serialize)]
struct Comparison {
    kind: &'static str,
    quiet_p50_ms: f64,
    during_p50_ms: f64,
    quiet_p99_ms: f64,
    during_p99_ms: f64,
    p99_rise: f64,
}

/// Gathers the series with the time at which each point came.
struct Gatherer {
    quiet: Quiet,
    points: Vec<(Instant, SeriesPoint)>,
}

impl Observer for Gatherer {
    fn phase(&mut self, what: &str) {
        self.quiet.say(what);
    }

    fn second(&mut self, point: &SeriesPoint) {
        self.points.push((Instant::now(), point.clone()));
    }

    fn condition(&mut self, _: &ConditionVerdict) {}

    fn interactive(&self) -> bool {
        self.quiet.interactive()
    }
}

pub fn run(args: &CheckpointArgs, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    let mut own = None;
    let starter = starter(&args.server, embedded, &mut own);
    let place = Place::new(args.server.data.as_deref())?;
    let interval = format!("{}ms", (args.interval * 1e3).max(1.0) as u64);
    let mut options: Vec<String> = ["--checkpoint-log-size", "1000TB", "--checkpoint-interval"]
        .map(String::from)
        .to_vec();
    // With --command the server's own ones shall not come between.
    options.push(if args.command { "1000d".into() } else { interval });
    options.extend(args.server.serve_option.iter().cloned());
    let server = starter.start(Some(&place.data()), &options)?;
    let remarks = server.remarks().to_vec();
    let target = Target::parse(server.url())?;
    let mut gatherer = Gatherer {
        quiet: Quiet::new(args.output.quiet),
        points: Vec::new(),
    };
    let load = load_settings(args.warehouses, args.seed, LoadMode::Only, 0.0, 1);
    tpcc::experiment(load, &target, None, &mut gatherer)?;
    let mut settings = load_settings(
        args.warehouses,
        args.seed,
        LoadMode::Never,
        args.duration,
        args.connections.max(1),
    );
    settings.warmup_s = args.warmup;
    let settings = with_terminals(settings, &args.terminals);
    let samples = Mutex::new(Vec::new());
    let over = AtomicBool::new(false);
    let run = std::thread::scope(|scope| {
        let sampler = scope.spawn(|| sample(&target, &samples, &over));
        let commander = scope.spawn(|| command(args, &target, &over));
        let run = tpcc::experiment(settings, &target, ProcessTree::new(server.pid()), &mut gatherer);
        over.store(true, Ordering::Relaxed); // a flag by itself
        let helpers = [sampler.join(), commander.join()];
        for helper in helpers {
            helper.map_err(|_| "a helper thread panicked".to_string())??;
        }
        run
    });
    run?;
    server.stop()?;
    let samples = samples.into_inner().expect("no panic while held");
    let seconds = classify(&gatherer.points, &samples);
    report(args, &options, &seconds, &samples, &remarks)
}

/// Asks again and again whether a checkpoint runs.
fn sample(target: &Target, samples: &Mutex<Vec<Sample>>, over: &AtomicBool) -> Result<(), String> {
    let fail = |error| format!("cannot read mote_stat_checkpoint: {error}");
    let mut admin = Admin::connect(target).map_err(fail)?;
    while !over.load(Ordering::Relaxed) {
        let rows = admin
            .query("SELECT running, bytes_written, checkpoints FROM mote_stat_checkpoint")
            .map_err(fail)?;
        let text = |column: usize| rows.first().and_then(|row| row.get(column)?.as_deref());
        let number = |column: usize| text(column).and_then(|text| text.parse().ok());
        samples.lock().expect("no panic while held").push(Sample {
            at: Instant::now(),
            running: text(0) == Some("t"),
            bytes: number(1).unwrap_or(0.0),
            rounds: number(2).unwrap_or(0.0) as u64,
        });
        std::thread::sleep(SAMPLE);
    }
    Ok(())
}

/// The command CHECKPOINT, again and again, with pauses.
fn command(args: &CheckpointArgs, target: &Target, over: &AtomicBool) -> Result<(), String> {
    if !args.command {
        return Ok(());
    }
    let fail = |error| format!("CHECKPOINT: {error}");
    let mut admin = Admin::connect(target).map_err(fail)?;
    loop {
        let until = Instant::now() + Duration::from_secs_f64(args.interval);
        while Instant::now() < until {
            if over.load(Ordering::Relaxed) {
                return Ok(());
            }
            std::thread::sleep(SAMPLE);
        }
        admin.execute("CHECKPOINT").map_err(fail)?;
    }
}

fn classify(points: &[(Instant, SeriesPoint)], samples: &[Sample]) -> Vec<Second> {
    // Counts of the last second, which ends with the run, would not compare with those of whole ones.
    let measured = points
        .iter()
        .filter(|(_, point)| point.second > 0.0 && point.seconds >= WHOLE_SECOND);
    measured
        .map(|(at, point)| {
            let from = at
                .checked_sub(Duration::from_secs_f64(point.seconds))
                .unwrap_or(*at);
            let inside: Vec<&Sample> = samples
                .iter()
                .filter(|sample| sample.at > from && sample.at <= *at)
                .collect();
            let running = inside.iter().filter(|sample| sample.running).count();
            Second {
                second: point.second,
                checkpoint: running as f64 / inside.len().max(1) as f64,
                new_orders: point.kinds[0].count,
                p99_ms: point.kinds.iter().map(|kind| kind.p99_us / 1e3).collect(),
                p50_ms: point.kinds.iter().map(|kind| kind.p50_us / 1e3).collect(),
            }
        })
        .collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn compare(seconds: &[Second]) -> Vec<Comparison> {
    // Seconds that saw both belong to neither.
    let of = |running: bool, value: &dyn Fn(&Second) -> f64| {
        let chosen = seconds.iter().filter(|second| {
            if running {
                second.checkpoint >= 0.95
            } else {
                second.checkpoint == 0.0
            }
        });
        median(chosen.map(value).collect())
    };
    (0..SHOWN_KINDS)
        .map(|kind| {
            let p50 = |second: &Second| second.p50_ms[kind];
            let p99 = |second: &Second| second.p99_ms[kind];
            let (quiet, during) = (of(false, &p99), of(true, &p99));
            Comparison {
                kind: KIND_NAMES[kind],
                quiet_p50_ms: of(false, &p50),
                during_p50_ms: of(true, &p50),
                quiet_p99_ms: quiet,
                during_p99_ms: during,
                p99_rise: during / quiet - 1.0,
            }
        })
        .collect()
}

fn report(
    args: &CheckpointArgs,
    options: &[String],
    seconds: &[Second],
    samples: &[Sample],
    remarks: &[String],
) -> Result<bool, String> {
    let comparisons = compare(seconds);
    let during = seconds.iter().filter(|second| second.checkpoint >= 0.95).count();
    let quiet = seconds.iter().filter(|second| second.checkpoint == 0.0).count();
    if during == 0 || quiet == 0 {
        return Err(format!(
            "{during} seconds with a checkpoint, {quiet} without: choose another --interval or a longer --duration"
        ));
    }
    let rounds = samples.last().map_or(0, |last| last.rounds);
    let largest = samples.iter().map(|sample| sample.bytes).fold(0.0, f64::max);
    print!("{}", text(&comparisons, seconds));
    println!(
        "\n{quiet} seconds without a checkpoint, {during} with one; {rounds} checkpoints ended, the largest wrote {:.0} MB",
        largest / 1e6
    );
    let rise = comparisons[0].p99_rise;
    let pass = rise <= TARGET_RISE;
    println!(
        "{} 99th percentile of new orders while a checkpoint runs: {:+.0} % (at most +{:.0} %)",
        table::pass(pass),
        100.0 * rise,
        100.0 * TARGET_RISE
    );
    println!("{DISCLAIMER}");
    for remark in remarks {
        println!("WARNING: {remark}");
    }
    let settings = json!({"warehouses": args.warehouses, "connections": args.connections, "warmup_s": args.warmup,
        "duration_s": args.duration, "interval_s": args.interval, "command": args.command, "seed": args.seed,
        "serve_options": options});
    if let Some(path) = &args.output.json {
        let document = json!({
            "experiment": "checkpoint",
            "disclaimer": DISCLAIMER,
            "environment": json::environment(),
            "settings": settings,
            "comparisons": comparisons,
            "seconds": seconds,
            "checkpoints": rounds,
            "remarks": remarks,
            "pass": pass,
        });
        json::write(path, &document)?;
    }
    if page::is_wanted(&args.html) {
        let page = html::checkpoint(&picture(seconds, &comparisons, rise), &settings);
        page.deliver(&args.html)?;
    }
    Ok(pass)
}

fn picture(seconds: &[Second], comparisons: &[Comparison], rise: f64) -> html::CheckpointPicture {
    let line = |value: &dyn Fn(&Second) -> f64| -> Vec<f64> { seconds.iter().map(value).collect() };
    let begins = seconds
        .windows(2)
        .filter(|pair| pair[0].checkpoint < 0.5 && pair[1].checkpoint >= 0.5);
    html::CheckpointPicture {
        seconds: line(&|second| second.second),
        p99: line(&|second| second.p99_ms[0]),
        p50: line(&|second| second.p50_ms[0]),
        begun: begins.map(|pair| pair[1].second).collect(),
        new_orders: line(&|second| second.new_orders as f64 * 60.0),
        rise_percent: 100.0 * rise,
        rows: rows(comparisons, seconds),
    }
}

const HEADER: [&str; 6] = [
    "",
    "quiet p50 ms",
    "with p50",
    "quiet p99 ms",
    "with p99",
    "p99 rise",
];

fn rows(comparisons: &[Comparison], seconds: &[Second]) -> Vec<Vec<String>> {
    let rate = |running: bool| {
        let chosen = seconds.iter().filter(|second| {
            if running {
                second.checkpoint >= 0.95
            } else {
                second.checkpoint == 0.0
            }
        });
        median(chosen.map(|second| second.new_orders as f64 * 60.0).collect())
    };
    let mut rows: Vec<Vec<String>> = comparisons
        .iter()
        .map(|comparison| {
            vec![
                comparison.kind.to_string(),
                table::milliseconds(comparison.quiet_p50_ms),
                table::milliseconds(comparison.during_p50_ms),
                table::milliseconds(comparison.quiet_p99_ms),
                table::milliseconds(comparison.during_p99_ms),
                format!("{:+.0} %", 100.0 * comparison.p99_rise),
            ]
        })
        .collect();
    rows.push(vec![
        "new orders a minute".into(),
        table::grouped(rate(false)),
        table::grouped(rate(true)),
        String::new(),
        String::new(),
        format!("{:+.0} %", 100.0 * (rate(true) / rate(false) - 1.0)),
    ]);
    rows
}

fn text(comparisons: &[Comparison], seconds: &[Second]) -> String {
    table::table(&HEADER, &rows(comparisons, seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(checkpoint: f64, p99_ms: f64) -> Second {
        Second {
            second: 1.0,
            checkpoint,
            new_orders: 10,
            p99_ms: vec![p99_ms; 6],
            p50_ms: vec![1.0; 6],
        }
    }

    #[test]
    fn seconds_that_saw_both_count_for_neither() {
        let seconds = [
            second(0.0, 10.0),
            second(0.0, 12.0),
            second(0.0, 90.0),
            second(0.5, 500.0),
            second(1.0, 15.0),
        ];
        let comparison = &compare(&seconds)[0];
        assert_eq!((comparison.quiet_p99_ms, comparison.during_p99_ms), (12.0, 15.0));
        assert!((comparison.p99_rise - 0.25).abs() < 1e-9);
        assert!(text(&compare(&seconds), &seconds).contains("+25 %"));
    }
}
