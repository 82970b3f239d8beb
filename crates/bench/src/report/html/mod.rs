//! What stands on each page: of a run (`run`), of a comparison (`versus`), of a ladder (`ladder`), of checkpoints (`checkpoint`), of
//! heavy neighbours (`neighbours`), of a primary and its standby (`pairs`), of one thing that was asked (`plain`), of queries
//! (`asked`), of figures and targets (`speed`), of the published experiments (`seeds`); `made_up` makes pages to look at. Here is what
//! several of them show.
//!
//! The order is the same everywhere: verdict and figures, pictures, tables, proofs, then what is needed to judge and to
//! repeat it: settings, machine, command.

mod asked;
mod checkpoint;
mod ladder;
#[cfg(test)]
mod made_up;
mod neighbours;
mod pairs;
mod plain;
mod run;
mod seeds;
mod speed;
mod versus;

use serde_json::Value;

pub use self::asked::{AskedBar, asked};
pub use self::checkpoint::{CheckpointPicture, checkpoint};
pub use self::ladder::{LadderStep, ShardsStep, ladder, shards};
pub use self::neighbours::{NeighbourBar, NeighbourLimits, neighbours};
pub use self::pairs::{failover, replication};
pub use self::plain::{Plain, PlainTable, plain};
pub use self::run::{simple, tpcc};
pub use self::seeds::seeds;
pub use self::speed::speed;
pub use self::versus::versus;
use super::charts::{self, KindLatency, Mark, Series};
pub use super::page::escape;
use super::page::{Page, Tone};
use super::summary::Summary;
use super::table::{self, grouped, milliseconds};
use mote_measure::RunOutcome;
use mote_measure::buckets::Buckets;
use mote_measure::faults::Recoveries;
use mote_measure::readback::TELLING;
use mote_workload::condition::ConditionVerdict;
use mote_workload::tpcc::input_audit::Verdict;
use mote_workload::tpcc::{DEVIATIONS, DISCLAIMER};

type Card = (String, String, Tone);

fn card(label: &str, value: String) -> Card {
    (label.to_string(), value, Tone::Plain)
}

fn cpu_cards(summary: &Summary) -> Vec<Card> {
    let mut cards = Vec::new();
    if let Some(each) = summary.server_cpu_us_per_transaction {
        cards.push(card("server CPU us per transaction", format!("{each:.0}")));
    }
    let failed: u64 = summary.kinds.iter().map(|kind| kind.errors).sum();
    cards.push((
        format!("failed; {} attempts run again", grouped(summary.retries as f64)),
        grouped(failed as f64),
        if failed == 0 { Tone::Plain } else { Tone::Bad },
    ));
    if let Some(durability) = &summary.durability {
        let (word, tone) = match durability.durable {
            Some(true) => ("yes", Tone::Good),
            Some(false) => ("NO", Tone::Bad),
            None => ("unknown", Tone::Plain),
        };
        cards.push(("commits waited for the disk".into(), word.into(), tone));
    }
    if let Some(open_loop) = &summary.open_loop {
        cards.push((
            format!("of {:.0} a second that were due", open_loop.offered_per_s),
            format!("{:.2} %", 100.0 * open_loop.achieved_share),
            Tone::passes(open_loop.achieved_share >= super::summary::ACHIEVED_MIN),
        ));
    }
    cards
}

/// Whether the figures may be believed.
fn validity(page: &mut Page, summary: &Summary, remarks: &Value) {
    if let Some(durability) = &summary.durability {
        if durability.durable == Some(false) {
            page.stamp(&durability.says());
        } else {
            page.note(&durability.says());
        }
    }
    let remarks = remarks.as_array().into_iter().flatten().filter_map(Value::as_str);
    let accused = |warning: &&str| !warning.starts_with("NOT DURABLE");
    for warning in summary
        .warnings
        .iter()
        .map(String::as_str)
        .filter(accused)
        .chain(remarks)
    {
        page.warning(warning);
    }
}

/// What the faults of a run did.
fn recovery(page: &mut Page, recoveries: &Recoveries, outcome: &RunOutcome, marks: &[Mark]) {
    page.heading("Faults and recovery");
    page.table(&table::RECOVERY_HEADER, &table::recovery_rows(recoveries));
    page.note(&format!(
        "Before the first fault: {} commits a second. Whether anything that was acknowledged is gone stands among the proofs.",
        grouped(recoveries.former_per_s)
    ));
    if let Some(chart) = charts::recovery(outcome, marks) {
        page.charts(&[chart]);
    }
}

/// The charts of a run.
fn pictures(page: &mut Page, kinds: &[&str], hidden: Option<usize>, outcome: &RunOutcome) {
    let marks = Mark::all_of(outcome);
    if let Some(recoveries) = &outcome.recoveries {
        recovery(page, recoveries, outcome, &marks);
    }
    let series = Series {
        kinds,
        points: &outcome.series,
        hidden,
        marks: &marks,
    };
    let latencies: Vec<KindLatency<'_>> = kinds
        .iter()
        .zip(&outcome.totals.kinds)
        .enumerate()
        .filter(|(index, (_, totals))| Some(*index) != hidden && !totals.latency.is_empty())
        .map(|(_, (name, totals))| KindLatency {
            name,
            latency: Buckets::of(&totals.latency),
        })
        .collect();
    page.heading("Over time");
    let mut over_time = vec![
        series.throughput(),
        series.bands(),
        series.heat_map(),
        series.tails(),
    ];
    over_time.extend(series.errors());
    page.charts(&over_time);
    page.heading("Response times by type");
    page.charts(&[
        charts::distribution(&latencies),
        charts::boxes(&latencies),
        charts::frequency(&latencies),
    ]);
    page.heading("The machine");
    page.charts(&charts::machine(&outcome.system, &marks));
}

fn tables(page: &mut Page, summary: &Summary) {
    page.heading("Figures by type, in milliseconds");
    let header = [
        "type",
        "count",
        "share %",
        "mean",
        "p50",
        "p90",
        "p95",
        "p99",
        "p99.9",
        "max",
        "rollbacks",
        "skipped",
        "errors",
        "retries",
        "round trips",
    ];
    let rows: Vec<Vec<String>> = summary
        .kinds
        .iter()
        .map(|kind| {
            let latencies = [
                kind.mean_ms,
                kind.p50_ms,
                kind.p90_ms,
                kind.p95_ms,
                kind.p99_ms,
                kind.p999_ms,
                kind.max_ms,
            ];
            let mut row = vec![
                kind.name.to_string(),
                grouped(kind.count as f64),
                format!("{:.2}", kind.share_percent),
            ];
            row.extend(latencies.map(milliseconds));
            row.extend(
                [kind.rollbacks, kind.skipped, kind.errors, kind.retries].map(|number| number.to_string()),
            );
            row.push(format!("{:.1}", kind.round_trips_per_transaction));
            row
        })
        .collect();
    page.table(&header, &rows);
    if summary.open_loop.is_some() {
        page.heading("From when it was due, and from when it was begun");
        let shown = |value: Option<f64>| value.map_or("-".to_string(), milliseconds);
        let with_service = summary.kinds.iter().filter(|kind| kind.service_p50_ms.is_some());
        let rows: Vec<Vec<String>> = with_service
            .map(|kind| {
                let mut row = vec![kind.name.to_string()];
                row.extend([kind.p50_ms, kind.p99_ms, kind.p999_ms].map(milliseconds));
                row.extend([kind.service_p50_ms, kind.service_p99_ms, kind.service_p999_ms].map(shown));
                row.extend([kind.delay_p50_ms, kind.delay_p99_ms].map(shown));
                row
            })
            .collect();
        let header = [
            "type",
            "response p50",
            "p99",
            "p99.9",
            "service p50",
            "p99",
            "p99.9",
            "begun late p50",
            "p99",
        ];
        page.table(&header, &rows);
    }
    if !summary.errors.is_empty() {
        page.heading("Errors by SQLSTATE");
        let rows: Vec<Vec<String>> = summary
            .errors
            .iter()
            .map(|error| {
                vec![
                    error.sqlstate.clone(),
                    error.failed.to_string(),
                    error.retried.to_string(),
                    error.example.clone().unwrap_or_default(),
                ]
            })
            .collect();
        page.table(&["SQLSTATE", "failed", "run again", "first message"], &rows);
    }
}

fn conditions(page: &mut Page, heading: &str, conditions: &[ConditionVerdict]) {
    if conditions.is_empty() {
        return;
    }
    page.heading(heading);
    let rows: Vec<Vec<String>> = conditions
        .iter()
        .map(|condition| {
            vec![
                format!("{}. {}", condition.number, condition.says),
                table::pass(condition.pass).to_string(),
                condition
                    .violations
                    .map_or("-".to_string(), |number| number.to_string()),
                format!("{:.2}", condition.seconds),
            ]
        })
        .collect();
    page.table(&["condition", "verdict", "violations", "seconds"], &rows);
}

fn audit(page: &mut Page, heading: &str, audit: &[Verdict]) {
    if audit.is_empty() {
        return;
    }
    page.heading(heading);
    let rows: Vec<Vec<String>> = audit
        .iter()
        .map(|line| {
            vec![
                line.what.to_string(),
                table::verdict_word(line).to_string(),
                format!("{:.3}", line.value),
                format!("{} {}", table::bounds(line), line.unit),
            ]
        })
        .collect();
    page.table(&["input", "verdict", "value", "allowed"], &rows);
}

/// What stands below every page about order entry.
fn small_print() -> Vec<&'static str> {
    let differs = "Where a run knowingly differs from the specification:";
    [DISCLAIMER, differs].into_iter().chain(DEVIATIONS).collect()
}

/// What it takes to judge and to repeat the run.
fn circumstances(page: &mut Page, document: &Value) {
    let environment = &document["environment"];
    page.heading("Machine");
    let text = |name: &str| match &environment[name] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let when = environment["unix_time_s"]
        .as_i64()
        .map_or_else(String::new, table::utc);
    let rows = [
        ("processor", format!("{} x {}", text("cpus"), text("cpu_model"))),
        (
            "memory",
            text("memory").replace("MemTotal:", "").trim().to_string(),
        ),
        ("kernel", text("kernel")),
        ("laboratory", text("driver_version")),
        ("when (UTC)", when),
    ];
    let rows: Vec<Vec<String>> = rows.map(|(name, value)| vec![name.to_string(), value]).to_vec();
    page.table(&["", "value"], &rows);
    server_settings(page, "the server", &document["server_settings"]);
    page.heading("Settings");
    members(page, &document["settings"]);
    page.heading("The same again");
    let words = environment["command"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    page.command(&words.map(quoted).collect::<Vec<_>>().join(" "));
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=,@%+".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Which systems were there, and why others were not.
fn takes_part(page: &mut Page, systems: &[&Value]) {
    let rows: Vec<Vec<String>> = systems
        .iter()
        .map(|system| {
            let text = |name: &str| system[name].as_str().unwrap_or_default().to_string();
            let what = match system["absent"].as_str() {
                Some(why) => format!("does not take part: {why}"),
                None => text("version"),
            };
            vec![text("name"), what]
        })
        .collect();
    page.table(&["system", "version"], &rows);
}

/// What was proven, each with its verdict.
fn proven<'a>(page: &mut Page, proofs: impl Iterator<Item = &'a Value>) {
    page.heading("Proofs");
    let rows: Vec<Vec<String>> = proofs
        .map(|proof| {
            vec![
                proof["says"].as_str().unwrap_or_default().to_string(),
                table::pass(proof["pass"].as_bool().unwrap_or(false)).to_string(),
            ]
        })
        .collect();
    page.table(&["what", "verdict"], &rows);
}

/// The settings of each system that took part.
fn settings_of(page: &mut Page, systems: &[&Value]) {
    for system in systems {
        server_settings(
            page,
            system["name"].as_str().unwrap_or_default(),
            &system["server_settings"],
        );
    }
}

/// The settings that decide most, and behind a fold all of them.
fn server_settings(page: &mut Page, of: &str, settings: &Value) {
    let Some(settings) = settings.as_object().filter(|settings| !settings.is_empty()) else {
        return;
    };
    let row =
        |name: &str, value: &Value| vec![name.to_string(), value.as_str().unwrap_or_default().to_string()];
    let telling: Vec<Vec<String>> = TELLING
        .iter()
        .filter_map(|name| settings.get(*name).map(|value| row(name, value)))
        .collect();
    page.heading(&format!("Settings of {of}, as it says them"));
    page.table(&["setting", "value"], &telling);
    let all: Vec<Vec<String>> = settings.iter().map(|(name, value)| row(name, value)).collect();
    page.folded_table(
        &format!("all {} settings", all.len()),
        &["setting", "value"],
        &all,
    );
}

fn members(page: &mut Page, settings: &Value) {
    let rows: Vec<Vec<String>> = settings
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| {
            let shown = match value {
                Value::Null => "-".to_string(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            vec![name.replace('_', " "), shown]
        })
        .collect();
    page.table(&["setting", "value"], &rows);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_pasted() {
        assert_eq!(quoted("--target=postgres://h:1/d"), "--target=postgres://h:1/d");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }
}
