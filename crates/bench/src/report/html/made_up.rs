//! Pages of made-up figures that are the same each time, so that their pictures can be compared with kept ones
//! (`scripts/screenshots.sh -c`): `MOTE_PAGES=DIR` writes them there.

use std::collections::BTreeMap;
use std::path::Path;

use mote_common::prng::Prng;
use serde_json::{Value, json};

use super::*;
use crate::report::page::Rendered;
use crate::report::proofs::Proofs;
use crate::report::section::{Finding, Section, Sourced, Table};
use crate::report::versus::{Outcome, System};
use mote_driver::session::Traffic;
use mote_measure::collector::interval_histogram;
use mote_measure::faults::Event;
use mote_measure::outcome::{SeriesKind, SeriesPoint};
use mote_measure::statistics::{self, Block, Metric, Plan};
use mote_measure::system::SystemPoint;
use mote_measure::{Collector, Sample};

const KINDS: &[&str] = &["READ", "UPDATE", "SCAN"];
const SECONDS: i32 = 60;

/// A latency in nanoseconds: a shifted exponential, longer for later types.
fn latency_ns(prng: &mut Prng, kind: usize) -> u64 {
    (3e5 * (kind + 1) as f64 * (0.3 - (1.0 - prng.unit()).ln())) as u64
}

/// A minute in which a server was stopped for two seconds.
fn run() -> RunOutcome {
    let mut prng = Prng::new(5);
    let mut totals = Collector::new(KINDS.len());
    let (mut series, mut system) = (Vec::new(), Vec::new());
    for second in -4..=SECONDS {
        let is_stopped = (30..32).contains(&second);
        let kinds = (0..KINDS.len()).map(|kind| {
            let mut latency = interval_histogram();
            for _ in 0..if is_stopped { 0 } else { 400 / (kind + 1) } {
                let latency_ns = latency_ns(&mut prng, kind);
                latency.saturating_record(latency_ns);
                let sample = Sample {
                    kind,
                    latency_ns,
                    service_ns: None,
                    rolled_back: false,
                    skipped: 0,
                    retries: 0,
                    traffic: Traffic::default(),
                };
                totals.success(sample, second > 0);
            }
            let us = |share: f64| latency.value_at_quantile(share) as f64 / 1e3;
            SeriesKind {
                count: latency.len(),
                p50_us: us(0.5),
                p95_us: us(0.95),
                p99_us: us(0.99),
                max_us: us(1.0),
                latency: Buckets::of(&latency),
            }
        });
        let kinds: Vec<SeriesKind> = kinds.collect();
        let errors = BTreeMap::from([("08006".to_string(), if second == 31 { 16 } else { 0 })]);
        series.push(SeriesPoint {
            second: f64::from(second),
            seconds: 1.0,
            kinds,
            errors: errors["08006"],
            retries: 2,
            errors_by_sqlstate: errors,
            retries_by_sqlstate: BTreeMap::from([("40001".to_string(), 2)]),
        });
        let busy = if is_stopped { 0.1 } else { 1.5 + 0.2 * prng.unit() };
        system.push(SystemPoint {
            second: f64::from(second),
            seconds: 1.0,
            cpu_busy: busy,
            cpu_waiting: 0.05,
            cpus: 2.0,
            server_cpu: Some(busy * 0.7),
            driver_cpu: busy * 0.3,
            server_memory_bytes: Some(400_000_000 + 1_000_000 * (second + 4) as u64),
            available_memory_bytes: 8_000_000_000,
            disk_written_bytes: (4e6 * busy) as u64,
            disk_writes: 900,
            disk_flushes: 800,
            loopback_bytes: 3_000_000,
            ..SystemPoint::default()
        });
    }
    RunOutcome {
        series,
        system,
        measured_s: f64::from(SECONDS),
        server_cpu_s: Some(63.0),
        driver_cpu_s: 27.0,
        driver_saturation: 0.45,
        events: vec![Event {
            second: 30.0,
            what: "stop",
            harm: true,
            at_ns: 0,
        }],
        ..RunOutcome::of(totals)
    }
}

fn document() -> Value {
    json!({"experiment": "made-up", "title": "A made-up run", "target": "postgres://h:1/d", "server_version": "1.0", "pass": true,
        "environment": {"cpus": 2, "cpu_model": "made up", "memory": "MemTotal: 1 kB", "kernel": "1", "driver_version": "1",
            "unix_time_s": 1_700_000_000, "command": ["mote", "bench", "made-up"]},
        "settings": {"connections": 16, "seed": 5, "warehouses": 10, "processors": 2}, "remarks": ["a remark that warns of something"],
        "systems": [{"name": "mote", "version": "1.0", "server_settings": {"fsync": "on", "default_transaction_isolation": "read committed"}},
            {"name": "other", "version": "2.0", "server_settings": {"tx_isolation": "REPEATABLE-READ"}},
            {"name": "third", "absent": "it is not installed"}],
        "proofs": [{"says": "mote: 12 of 12 consistency conditions hold", "pass": true}],
        "workload": "tpcc", "rounds": 8, "confidence": 0.99})
}

fn blocks(prng: &mut Prng, speed: f64) -> Vec<Block> {
    let block = |_| {
        let mut latency = interval_histogram();
        let count = (2_000.0 * speed * (0.98 + 0.04 * prng.unit())) as usize;
        for _ in 0..count {
            latency.saturating_record((latency_ns(prng, 0) as f64 / speed) as u64);
        }
        Block {
            seconds: 5.0,
            latency: Buckets::of(&latency),
        }
    };
    (0..8).map(block).collect()
}

fn compared() -> Rendered {
    let mut prng = Prng::new(6);
    let systems: Vec<System> = [("old", 1.0), ("new", 1.3), ("same", 1.0)]
        .map(|(name, speed)| System {
            name: name.into(),
            server_version: "1.0".into(),
            blocks: blocks(&mut prng, speed),
            summary: None,
        })
        .into();
    let metrics = [
        Metric::Throughput,
        Metric::Quantile(0.5),
        Metric::Quantile(0.9),
        Metric::Quantile(0.99),
    ];
    let outcomes: Vec<Outcome> = systems[1..]
        .iter()
        .map(|system| Outcome {
            system: system.name.clone(),
            figures: statistics::compare(&systems[0].blocks, &system.blocks, &metrics, Plan::default()),
        })
        .collect();
    versus(&document(), &systems.iter().collect::<Vec<_>>(), &outcomes)
}

fn experiments() -> Rendered {
    let table = |title: &str, value: &str| Table {
        title: title.into(),
        header: ["connections", "mote, NOPM", "other, NOPM", "mote / other"]
            .map(String::from)
            .to_vec(),
        rows: [32, 64, 128, 256]
            .map(|step| vec![step.to_string(), value.into(), "56,318".into(), "3.16".into()])
            .to_vec(),
    };
    let finding = |what: &str, times: f64, width: Option<f64>| Finding {
        what: what.into(),
        system: "other".into(),
        published: (times > 3.0).then_some(2.5),
        times,
        interval: width.map(|width| (times - width, times + width)),
    };
    let line = |peak: f64| {
        [1.0, 2.0, 4.0, 8.0]
            .map(|step: f64| (32.0 * step, peak * step / (1.0 + step)))
            .to_vec()
    };
    let section = |name: &str, title: &str, findings: Vec<Finding>| Section {
        name: name.into(),
        title: title.into(),
        published: vec![Sourced {
            table: table("ladder", "4,240,000"),
            source: "A page; a figure. https://example.org".into(),
        }],
        ours: vec![table("measured here: the same ladder", "178,078")],
        notes: vec!["Scaled to this machine: 2 processors.".into()],
        charts: vec![charts::ladder(
            "New orders per minute",
            "connections",
            "NOPM",
            &[
                ("mote".into(), line(178e3)),
                ("other".into(), line(56e3)),
                ("published, ARM".into(), line(4e6)),
            ],
        )],
        findings,
        limits: vec!["other has no figure at 768 connections: max_connections is 500".into()],
    };
    let sections = [
        section(
            "X1",
            "Throughput",
            vec![finding("highest NOPM, single node", 3.2, Some(0.2))],
        ),
        section(
            "X3",
            "Throughput by number of connections",
            vec![finding("NOPM at 768 connections", 6.9, Some(0.9))],
        ),
        section(
            "X4",
            "Latency by type",
            vec![finding("new order, p90", 1.02, Some(0.08))],
        ),
        section("X6", "Cold start", vec![finding("restart, seconds", 0.6, None)]),
        section(
            "X9",
            "What a standby costs",
            vec![finding("throughput kept", 0.8, Some(0.1))],
        ),
    ];
    seeds(&document(), &sections.iter().collect::<Vec<_>>())
}

fn pages() -> Vec<(&'static str, Rendered)> {
    let outcome = run();
    let summary = Summary::new(&outcome, KINDS, None, None);
    let steps: Vec<LadderStep<'_>> = [1, 4, 16]
        .map(|connections| LadderStep {
            system: "mote",
            connections,
            summary: &summary,
        })
        .into();
    vec![
        (
            "run",
            simple(&document(), KINDS, &summary, &outcome, &Proofs::default()),
        ),
        ("versus", compared()),
        ("ladder", ladder(&document(), &steps)),
        ("seeds", experiments()),
    ]
}

#[test]
fn pages_of_made_up_figures_are_the_same_each_time() {
    let (first, second) = (pages(), pages());
    for ((name, page), (_, again)) in first.iter().zip(&second) {
        assert!(page.html == again.html, "{name}");
        assert!(page.html.len() < 2_000_000, "{name}: {} bytes", page.html.len());
    }
    if let Some(directory) = std::env::var_os("MOTE_PAGES") {
        for (name, page) in &first {
            let path = Path::new(&directory).join(format!("{name}.html"));
            std::fs::write(path, &page.html).expect("the directory is there");
        }
    }
}

#[test]
fn the_page_of_experiments_says_who_is_better_and_how_sure_that_is() {
    let page = experiments();
    for says in [
        "better 3.20 (3.00 to 3.40)",
        "undecided 1.02 (0.94 to 1.10)",
        "worse 0.80 (0.70 to 0.90)",
        "once 0.60",
        "2 : 1",
        "read committed",
        "max_connections is 500",
        "it is not installed",
    ] {
        assert!(page.html.contains(says), "{says}");
    }
}
