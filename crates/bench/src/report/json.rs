//! Everything about an experiment as one JSON document: settings, machine, figures, series, proofs.

use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};

use super::summary::Summary;
use mote_measure::RunOutcome;
use mote_measure::buckets::Buckets;
use mote_workload::tpcc::mix::KIND_NAMES;
use mote_workload::tpcc::{DEVIATIONS, DISCLAIMER, Experiment};

/// The machine and the moment, so that a figure can be told from one of another machine.
pub fn environment() -> Value {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo
        .lines()
        .find(|line| line.starts_with("model name"))
        .and_then(|line| line.split(':').nth(1));
    let memory = read("/proc/meminfo")
        .lines()
        .next()
        .unwrap_or_default()
        .to_string();
    let started = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    json!({
        "driver_version": env!("CARGO_PKG_VERSION"),
        "unix_time_s": started.as_secs(),
        "cpu_model": model.unwrap_or_default().trim(),
        "cpus": std::thread::available_parallelism().map_or(0, usize::from),
        "memory": memory,
        "kernel": read("/proc/sys/kernel/osrelease").trim(),
        "command": command(),
    })
}

/// The command line as a report may show it: a report is shared, and a password in a URL is not.
pub fn command() -> Vec<String> {
    std::env::args_os()
        .map(|word| without_password(&word.to_string_lossy()))
        .collect()
}

fn without_password(word: &str) -> String {
    let hidden = || {
        let (scheme, rest) = word.split_once("://")?;
        let place = rest.find(['/', '?']).unwrap_or(rest.len());
        let (user, hosts) = rest[..place].rsplit_once('@')?;
        let (user, _) = user.split_once(':')?;
        Some(format!("{scheme}://{user}:***@{hosts}{}", &rest[place..]))
    };
    hidden().unwrap_or_else(|| word.to_string())
}

pub fn tpcc(experiment: &Experiment, summary: Option<&Summary>, remarks: &[String]) -> Value {
    json!({
        "experiment": "tpcc",
        "disclaimer": DISCLAIMER,
        "deviations": DEVIATIONS,
        "environment": environment(),
        "settings": experiment.settings,
        "target": experiment.target,
        "server_version": experiment.server_version,
        "warehouses": experiment.warehouses,
        "terminals": experiment.terminals,
        "load": experiment.load,
        "memory_after_load_bytes": experiment.memory_after_load_bytes,
        "memory_after_run_bytes": experiment.memory_after_run_bytes,
        "nopm": summary.map(Summary::first_kind_per_minute),
        "total_per_minute": summary.map(|summary| summary.transactions_per_s * 60.0),
        "new_orders_per_server_cpu_s": summary.and_then(|summary| summary.first_kind_per_server_cpu_s),
        "summary": summary,
        "server_settings": experiment.server_settings,
        "series": experiment.outcome.as_ref().map(|outcome| &outcome.series),
        "system": experiment.outcome.as_ref().map(|outcome| &outcome.system),
        "histograms": experiment.outcome.as_ref().map(|outcome| histograms(KIND_NAMES, outcome)),
        "input_audit": experiment.audit,
        "response_time_limits": experiment.limits(),
        "consistency": experiment.conditions,
        "events": experiment.outcome.as_ref().map(|outcome| &outcome.events),
        "recoveries": experiment.outcome.as_ref().and_then(|outcome| outcome.recoveries.as_ref()),
        "ledger": experiment.kept,
        "remarks": remarks.iter().chain(&experiment.warnings).collect::<Vec<_>>(),
        "pass": experiment.pass(),
    })
}

/// The measured window's latencies by type, as lists of [nanoseconds, count].
pub fn histograms(kinds: &[&str], outcome: &RunOutcome) -> Value {
    let each = kinds.iter().zip(&outcome.totals.kinds).map(|(kind, totals)| {
        json!({
            "kind": kind,
            "latency": Buckets::of(&totals.latency),
            "service": Buckets::of(&totals.service),
            "delay": Buckets::of(&totals.delay),
        })
    });
    each.collect()
}

pub fn write(path: &Path, value: &impl Serialize) -> Result<(), String> {
    let text = serde_json::to_string_pretty(value).map_err(|error| format!("{}: {error}", path.display()))?;
    std::fs::write(path, text + "\n").map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_no_part_of_a_report() {
        let shown = without_password("pg=postgres://me:se@cret@h:1,i:2/d?x=a@b:c");
        assert_eq!(shown, "pg=postgres://me:***@h:1,i:2/d?x=a@b:c");
        for plain in ["postgres://me@h/d", "postgres:///d?host=/tmp", "--rate", "a:b@c"] {
            assert_eq!(without_password(plain), plain);
        }
    }
}
