//! `mote bench neighbours`: point selects beside heavy statements, on one system or two.

use serde::Serialize;
use serde_json::json;

use super::args::{NeighboursArgs, TargetArgs};
use super::{Subject, default_driver_threads};
use crate::report::html::{self, NeighbourBar, NeighbourLimits};
use crate::report::{json, page, table};
use crate::server::EmbeddedServer;
use mote_workload::closed_loop::LoopPlan;
use mote_workload::neighbours::{self, Beside, HEAVY, Heavy};
use mote_workload::point;

/// Rows that the selects choose from.
const POINT_ROWS: i32 = 100_000;
/// Latency that nobody minds, however short it is alone.
const P99_FLOOR_MS: f64 = 5.0;
const P99_RATIO_MAX: f64 = 2.0;
/// How long a cancel or a timeout may stay unheard.
const DEAF_MAX_MS: f64 = 100.0;

/// One heavy statement on one system.
#[derive(Serialize)]
struct Line {
    system: &'static str,
    statement: &'static str,
    beside: Beside,
    /// Whether the targets are kept: p99 of the selects, cancel, timeout.
    pass: bool,
}

impl Line {
    fn bar(&self) -> NeighbourBar<'_> {
        let beside = &self.beside;
        NeighbourBar {
            system: self.system,
            statement: self.statement,
            p99_ms: beside.p99_ms,
            cancel_ms: beside.cancel_ms,
            timeout_ms: beside.timeout_ms,
            peak_memory_bytes: beside.peak_memory_bytes,
        }
    }
}

const HEADER: [&str; 12] = [
    "beside",
    "system",
    "selects/s",
    "p50 ms",
    "p99",
    "max",
    "heavy runs",
    "its error",
    "cancel ms",
    "timeout + ms",
    "peak MB",
    "verdict",
];

pub fn run(args: &NeighboursArgs, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    let chosen: Vec<&Heavy> = HEAVY
        .iter()
        .filter(|heavy| args.only.is_empty() || args.only.iter().any(|name| name == heavy.name))
        .collect();
    if chosen.is_empty() {
        let names: Vec<&str> = HEAVY.iter().map(|heavy| heavy.name).collect();
        return Err(format!("--only names none of: {}", names.join(", ")));
    }
    let mut systems = vec![("mote", Subject::new(&args.target, embedded)?)];
    if let Some(url) = &args.postgres {
        systems.push(("postgres", Subject::new(&TargetArgs::server(url), embedded)?));
    }
    let mut alone = Vec::new();
    for (system, subject) in &systems {
        neighbours::set_up(&subject.target, POINT_ROWS)
            .map_err(|error| format!("{system}: cannot set up the tables: {error}"))?;
        alone.push(measure(args, subject, None).map_err(|error| format!("{system} alone: {error}"))?);
    }
    let mut lines = Vec::new();
    for heavy in chosen {
        for ((system, subject), alone) in systems.iter().zip(&alone) {
            if !args.output.quiet {
                eprintln!("{system}: beside {}", heavy.name);
            }
            let beside = measure(args, subject, Some(heavy))
                .map_err(|error| format!("{system} beside {}: {error}", heavy.name))?;
            lines.push(Line {
                system,
                statement: heavy.name,
                pass: keeps_targets(&beside, alone),
                beside,
            });
        }
    }
    let pass = lines
        .iter()
        .filter(|line| line.system == "mote")
        .all(|line| line.pass);
    for ((system, _), alone) in systems.iter().zip(&alone) {
        println!(
            "{system} alone: {} selects/s, p50 {} ms, p99 {} ms",
            table::grouped(alone.selects_per_s),
            table::milliseconds(alone.p50_ms),
            table::milliseconds(alone.p99_ms)
        );
    }
    let rows = rows(&lines);
    println!("\n{}", table::table(&HEADER, &rows));
    let says = format!(
        "p99 at most {P99_RATIO_MAX} times its value alone or {P99_FLOOR_MS} ms, cancel and timeout within {DEAF_MAX_MS} ms"
    );
    println!("{} {says}", table::pass(pass));
    let document = json!({
        "experiment": "neighbours",
        "environment": json::environment(),
        "settings": {"connections": args.connections, "heavy_sessions": heavy_sessions(args),
            "warmup_s": args.measured.warmup, "duration_s": args.measured.duration, "seed": args.measured.seed},
        "alone": alone,
        "beside": lines,
        "pass": pass,
    });
    if let Some(path) = &args.output.json {
        json::write(path, &document)?;
    }
    if page::is_wanted(&args.html) {
        let bars: Vec<NeighbourBar<'_>> = lines.iter().map(Line::bar).collect();
        let alone: Vec<(&str, f64)> = systems
            .iter()
            .zip(&alone)
            .map(|((system, _), alone)| (*system, alone.p99_ms))
            .collect();
        let limits = NeighbourLimits {
            says: &says,
            deaf_max_ms: DEAF_MAX_MS,
        };
        html::neighbours(&document, &bars, &alone, &limits, &HEADER, &rows).deliver(&args.html)?;
    }
    for (_, subject) in systems {
        subject.stop()?;
    }
    Ok(pass)
}

fn measure(args: &NeighboursArgs, subject: &Subject, heavy: Option<&Heavy>) -> Result<Beside, String> {
    let connections = args.connections.max(1);
    let plan = LoopPlan {
        target: &subject.target,
        server: subject.processes,
        connections,
        driver_threads: args
            .measured
            .driver_threads
            .unwrap_or_else(default_driver_threads)
            .clamp(1, connections),
        warmup_s: args.measured.warmup,
        duration_s: args.measured.duration,
        kinds: point::KINDS,
        statements: point::shared_statements(),
        open_loop: None,
    };
    neighbours::measure(&plan, POINT_ROWS, args.measured.seed, heavy, heavy_sessions(args))
}

fn heavy_sessions(args: &NeighboursArgs) -> usize {
    args.heavy_sessions.unwrap_or_else(super::tpcc::processors)
}

fn keeps_targets(beside: &Beside, alone: &Beside) -> bool {
    beside.p99_ms <= (P99_RATIO_MAX * alone.p99_ms).max(P99_FLOOR_MS)
        && beside.cancel_ms.is_none_or(|took| took <= DEAF_MAX_MS)
        && beside.timeout_ms.is_none_or(|beyond| beyond <= DEAF_MAX_MS)
}

fn rows(lines: &[Line]) -> Vec<Vec<String>> {
    let shown = |value: Option<f64>| value.map_or("-".to_string(), |value| format!("{value:.0}"));
    lines
        .iter()
        .map(|line| {
            let beside = &line.beside;
            vec![
                line.statement.to_string(),
                line.system.to_string(),
                table::grouped(beside.selects_per_s),
                table::milliseconds(beside.p50_ms),
                table::milliseconds(beside.p99_ms),
                table::milliseconds(beside.max_ms),
                beside.heavy_runs.to_string(),
                beside.heavy_error.clone().unwrap_or_else(|| "-".into()),
                shown(beside.cancel_ms),
                shown(beside.timeout_ms),
                shown(beside.peak_memory_bytes.map(|bytes| bytes as f64 / 1e6)),
                table::pass(line.pass).to_string(),
            ]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_targets() {
        let alone = Beside {
            p99_ms: 1.0,
            ..Beside::default()
        };
        let beside = |p99_ms, cancel_ms, timeout_ms| Beside {
            p99_ms,
            cancel_ms,
            timeout_ms,
            ..Beside::default()
        };
        assert!(keeps_targets(&beside(5.0, Some(100.0), None), &alone));
        assert!(!keeps_targets(&beside(5.1, None, None), &alone));
        assert!(!keeps_targets(&beside(1.0, Some(101.0), None), &alone));
        assert!(!keeps_targets(&beside(1.0, None, Some(101.0)), &alone));
    }
}
