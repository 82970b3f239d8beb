//! What stands on each page: of a run, of a comparison, of a ladder, of checkpoints.
//!
//! The order is the same everywhere: verdict and figures, pictures, tables, proofs, then what is needed to judge and to
//! repeat it: settings, machine, command.

use serde_json::Value;

use super::charts::{self, KindLatency, Mark, Series};
pub use super::page::escape;
use super::page::{Page, Rendered, Tone};
use super::proofs::Proofs;
use super::section::Section;
use super::summary::Summary;
use super::table::{self, grouped, milliseconds};
use super::versus::{Outcome, System};
use crate::measure::buckets::Buckets;
use crate::measure::faults::Recoveries;
use crate::measure::readback::TELLING;
use crate::measure::{RunOutcome, statistics};
use crate::workload::condition::ConditionVerdict;
use crate::workload::tpcc::input_audit::Verdict;
use crate::workload::tpcc::mix::{KIND_NAMES, Kind};
use crate::workload::tpcc::{DEVIATIONS, DISCLAIMER, Experiment};

type Card = (String, String, Tone);

fn card(label: &str, value: String) -> Card {
    (label.to_string(), value, Tone::Plain)
}

/// The page of a TPC-C experiment. `document` is what the JSON report says.
pub fn tpcc(experiment: &Experiment, summary: &Summary, document: &Value) -> Rendered {
    let lead = format!(
        "{} at {}: {} warehouses, {} terminals on {} connections, {:.0} s measured",
        experiment.server_version,
        experiment.target,
        experiment.warehouses,
        experiment.terminals,
        experiment.settings.connections,
        summary.measured_s
    );
    let mut page = Page::new("Order entry (TPC-C derived)", &lead);
    let mut cards = vec![
        (
            "everything proven".to_string(),
            table::pass(experiment.pass()).to_string(),
            Tone::passes(experiment.pass()),
        ),
        card(
            "new orders per minute (NOPM)",
            grouped(summary.first_kind_per_minute()),
        ),
        card(
            "transactions per minute",
            grouped(summary.transactions_per_s * 60.0),
        ),
        card("new order, p99 in ms", milliseconds(summary.kinds[0].p99_ms)),
    ];
    cards.extend(cpu_cards(summary));
    if let Some(rate) = summary.first_kind_per_server_cpu_s {
        cards.push(card("new orders per server CPU second", grouped(rate)));
    }
    page.cards(&cards);
    validity(&mut page, summary, &document["remarks"]);
    if let Some(outcome) = &experiment.outcome {
        pictures(&mut page, KIND_NAMES, Some(Kind::Delivery as usize), outcome);
    }
    tables(&mut page, summary);
    if let Some(kept) = &experiment.kept {
        page.heading("What was acknowledged");
        let lost = kept.missing.len() + kept.reissued.len();
        page.table(
            &[
                "orders acknowledged",
                "of them lost",
                "answers lost",
                "half orders",
                "verdict",
            ],
            &[vec![
                grouped(kept.acknowledged as f64),
                lost.to_string(),
                (kept.unknown_committed + kept.unknown_absent).to_string(),
                kept.half.len().to_string(),
                table::pass(kept.pass()).to_string(),
            ]],
        );
    }
    conditions(
        &mut page,
        "Consistency conditions (clause 3.3.2)",
        &experiment.conditions,
    );
    audit(
        &mut page,
        "Inputs and shares (clauses 5.2 and 9.2.2.5)",
        &experiment.audit,
    );
    circumstances(&mut page, document);
    let mut small_print = vec![
        DISCLAIMER,
        "Where a run knowingly differs from the specification:",
    ];
    small_print.extend(DEVIATIONS);
    page.finish(&small_print)
}

/// The page of any experiment but TPC-C.
pub fn simple(
    document: &Value,
    kinds: &[&str],
    summary: &Summary,
    outcome: &RunOutcome,
    proven: &Proofs,
) -> Rendered {
    let text = |name: &str| document[name].as_str().unwrap_or_default().to_string();
    let pass = document["pass"].as_bool().unwrap_or(false);
    let lead = format!(
        "{} at {}: {:.0} s measured",
        text("server_version"),
        text("target"),
        summary.measured_s
    );
    let title = match document["title"].as_str() {
        Some(title) => title.to_string(),
        None => format!("Experiment: {}", text("experiment")),
    };
    let mut page = Page::new(&title, &lead);
    let mut cards = vec![
        (
            "everything proven".to_string(),
            table::pass(pass).to_string(),
            Tone::passes(pass),
        ),
        card("transactions per second", grouped(summary.transactions_per_s)),
    ];
    let busiest = summary.kinds.iter().max_by_key(|kind| kind.count);
    if let Some(kind) = busiest {
        cards.push(card(
            &format!("{}, p50 in ms", kind.name),
            milliseconds(kind.p50_ms),
        ));
        cards.push(card(
            &format!("{}, p99 in ms", kind.name),
            milliseconds(kind.p99_ms),
        ));
    }
    cards.extend(cpu_cards(summary));
    page.cards(&cards);
    validity(&mut page, summary, &document["remarks"]);
    pictures(&mut page, kinds, None, outcome);
    tables(&mut page, summary);
    if let Some((of, tally)) = &proven.tally {
        page.heading("What was acknowledged");
        page.table(
            &["what", "verdict", "found"],
            &[vec![
                of.to_string(),
                table::pass(tally.pass()).to_string(),
                tally.says(),
            ]],
        );
    }
    conditions(&mut page, "Conditions on the data", &proven.conditions);
    audit(&mut page, "Shares that are expected", &proven.audit);
    circumstances(&mut page, document);
    page.finish(&[])
}

/// The page of an interleaved comparison.
pub fn versus(document: &Value, contenders: &[&System], results: &[Outcome]) -> Rendered {
    let base = &contenders[0];
    let workload = document["workload"].as_str().unwrap_or_default();
    let lead = format!(
        "{workload}: {} systems in turn, {} rounds; every figure is compared with {}",
        contenders.len(),
        document["rounds"],
        base.name
    );
    let mut page = Page::new("Systems side by side", &lead);
    let mut cards = Vec::new();
    for result in results {
        for figure in result
            .figures
            .iter()
            .filter(|figure| figure.metric == "throughput" || figure.metric == "p99")
        {
            let tone = match figure.verdict {
                statistics::Verdict::Faster => Tone::Good,
                statistics::Verdict::Slower => Tone::Bad,
                statistics::Verdict::Undecided => Tone::Warn,
            };
            let label = format!(
                "{}, {}: {:.3} of {} ({:.3} to {:.3})",
                result.system, figure.metric, figure.ratio, base.name, figure.low, figure.high
            );
            cards.push((label, figure.verdict.word().to_string(), tone));
        }
    }
    page.cards(&cards);
    for contender in contenders {
        for warning in contender.summary.iter().flat_map(|summary| &summary.warnings) {
            page.warning(&format!("{}: {warning}", contender.name));
        }
    }
    page.heading("How sure");
    let rows = |metric: &str| -> Vec<(String, f64, f64, f64)> {
        let of = results.iter().flat_map(|result| {
            let figures = result.figures.iter().filter(|figure| figure.metric == metric);
            figures.map(|figure| (result.system.clone(), figure.ratio, figure.low, figure.high))
        });
        of.collect()
    };
    page.charts(&[
        charts::whiskers(
            "Throughput, multiples of the base",
            "More is better. Where the bar holds 1, nothing is decided.",
            &rows("throughput"),
        ),
        charts::whiskers("p50, multiples of the base", "Less is better.", &rows("p50")),
        charts::whiskers("p99, multiples of the base", "Less is better.", &rows("p99")),
    ]);
    let all = results.iter().flat_map(|result| {
        result
            .figures
            .iter()
            .map(|one| table::comparison_row(&result.system, one))
    });
    page.table(
        &[
            "system", "figure", "base", "system", "ratio", "interval", "verdict",
        ],
        &all.collect::<Vec<_>>(),
    );
    page.note(&format!(
        "Intervals come from drawing rounds again and hold together with {} of certainty.",
        document["confidence"]
    ));
    page.heading("Rounds and response times");
    let rates: Vec<(String, Vec<(f64, f64)>)> = contenders
        .iter()
        .map(|contender| {
            let each = contender.blocks.iter().enumerate();
            let each = each.map(|(round, block)| {
                (
                    round as f64 + 1.0,
                    block.latency.count() as f64 / block.seconds.max(1e-9),
                )
            });
            (contender.name.clone(), each.collect())
        })
        .collect();
    let mut by_round = charts::ladder("Throughput by round", "round", "per second", &rates);
    by_round.option["xAxis"]["type"] = "value".into();
    by_round.option["xAxis"]["minInterval"] = 1.into();
    let latencies: Vec<KindLatency<'_>> = contenders
        .iter()
        .map(|contender| KindLatency {
            name: &contender.name,
            latency: Buckets::merge(contender.blocks.iter().map(|block| &block.latency)),
        })
        .collect();
    page.charts(&[
        by_round,
        charts::distribution(&latencies),
        charts::boxes(&latencies),
    ]);
    page.heading("Systems");
    let rows: Vec<Vec<String>> = contenders
        .iter()
        .map(|contender| {
            let durability = contender
                .summary
                .as_ref()
                .and_then(|summary| summary.durability.as_ref());
            vec![
                contender.name.clone(),
                contender.server_version.clone(),
                durability.map_or("-".to_string(), |durability| durability.says()),
            ]
        })
        .collect();
    page.table(&["system", "version", "durability, last round"], &rows);
    for system in document["systems"].as_array().into_iter().flatten() {
        server_settings(
            &mut page,
            system["name"].as_str().unwrap_or_default(),
            &system["server_settings"],
        );
    }
    circumstances(&mut page, document);
    page.finish(&[DISCLAIMER])
}

/// What the page of a checkpoint experiment shows.
pub struct CheckpointPicture {
    pub seconds: Vec<f64>,
    /// Latencies of new orders in milliseconds, and new orders a minute, by second.
    pub p99: Vec<f64>,
    pub p50: Vec<f64>,
    pub new_orders: Vec<f64>,
    /// When checkpoints began.
    pub begun: Vec<f64>,
    pub rise_percent: f64,
    pub rows: Vec<Vec<String>>,
}

/// The page of a checkpoint experiment.
pub fn checkpoint(picture: &CheckpointPicture, settings: &Value) -> Rendered {
    let mut page = Page::new(
        "Latency while checkpoints run",
        "Seconds with a checkpoint beside seconds without one",
    );
    page.cards(&[card(
        "99th percentile of new orders while a checkpoint runs",
        format!("{:+.0} %", picture.rise_percent),
    )]);
    let header = [
        "",
        "quiet p50 ms",
        "with p50",
        "quiet p99 ms",
        "with p99",
        "p99 rise",
    ];
    page.table(&header, &picture.rows);
    let marks: Vec<Mark> = picture
        .begun
        .iter()
        .map(|second| Mark {
            second: *second,
            what: "checkpoint".into(),
        })
        .collect();
    page.charts(&[
        charts::lines(
            "New orders: response time",
            "ms",
            &picture.seconds,
            &[("p99", picture.p99.clone()), ("p50", picture.p50.clone())],
            &marks,
        ),
        charts::lines(
            "New orders per minute",
            "NOPM",
            &picture.seconds,
            &[("NOPM", picture.new_orders.clone())],
            &marks,
        ),
    ]);
    page.heading("Settings");
    members(&mut page, settings);
    page.finish(&[DISCLAIMER])
}

/// A step of a ladder on one system.
pub struct LadderStep<'a> {
    pub system: &'a str,
    pub connections: usize,
    pub summary: &'a Summary,
}

/// The page of a ladder of connections.
pub fn ladder(document: &Value, steps: &[LadderStep<'_>]) -> Rendered {
    let mut systems: Vec<&str> = Vec::new();
    for step in steps {
        if !systems.contains(&step.system) {
            systems.push(step.system);
        }
    }
    let lines = |value: &dyn Fn(&Summary) -> f64| -> Vec<(String, Vec<(f64, f64)>)> {
        let of = systems.iter().map(|system| {
            let own = steps.iter().filter(|step| step.system == *system);
            let points = own.map(|step| (step.connections as f64, value(step.summary)));
            (system.to_string(), points.collect())
        });
        of.collect()
    };
    let mut page = Page::new("Order entry by number of connections", &systems.join(" and "));
    let pass = document["pass"].as_bool().unwrap_or(false);
    let mut cards = vec![(
        "consistency conditions after the last step".to_string(),
        table::pass(pass).to_string(),
        Tone::passes(pass),
    )];
    for system in &systems {
        let own = steps.iter().filter(|step| step.system == *system);
        let best = own.max_by(|a, b| {
            a.summary
                .first_kind_per_minute()
                .total_cmp(&b.summary.first_kind_per_minute())
        });
        if let Some(best) = best {
            cards.push(card(
                &format!("{system}: highest NOPM, at {} connections", best.connections),
                grouped(best.summary.first_kind_per_minute()),
            ));
        }
    }
    page.cards(&cards);
    page.charts(&[
        charts::ladder(
            "New orders per minute",
            "connections",
            "NOPM",
            &lines(&Summary::first_kind_per_minute),
        ),
        charts::ladder(
            "New order, p99",
            "connections",
            "ms",
            &lines(&|summary| summary.kinds[0].p99_ms),
        ),
        charts::ladder(
            "Server CPU per transaction",
            "connections",
            "us",
            &lines(&|summary| summary.server_cpu_us_per_transaction.unwrap_or(f64::NAN)),
        ),
    ]);
    let rows: Vec<Vec<String>> = steps
        .iter()
        .map(|step| {
            let first = &step.summary.kinds[0];
            vec![
                format!("{} at {}", step.system, step.connections),
                grouped(step.summary.first_kind_per_minute()),
                grouped(step.summary.transactions_per_s * 60.0),
                milliseconds(first.p50_ms),
                milliseconds(first.p90_ms),
                milliseconds(first.p99_ms),
                milliseconds(first.max_ms),
                step.summary.retries.to_string(),
            ]
        })
        .collect();
    let header = [
        "step",
        "NOPM",
        "all/min",
        "new-order p50 ms",
        "p90",
        "p99",
        "max",
        "retries",
    ];
    page.table(&header, &rows);
    circumstances(&mut page, document);
    page.finish(&[DISCLAIMER])
}

/// The page of the published experiments.
pub fn seeds(document: &Value, sections: &[&Section]) -> Rendered {
    let systems: Vec<&Value> = document["systems"].as_array().into_iter().flatten().collect();
    let names: Vec<&str> = systems
        .iter()
        .filter_map(|system| system["name"].as_str())
        .collect();
    let lead = format!("Measured here beside what was published: {}", names.join(", "));
    let mut page = Page::new("Published experiments, repeated", &lead);
    let proofs: Vec<&Value> = document["proofs"].as_array().into_iter().flatten().collect();
    let pass = document["pass"].as_bool().unwrap_or(false);
    page.cards(&[
        (
            "proofs".to_string(),
            table::pass(pass).to_string(),
            Tone::passes(pass),
        ),
        card(
            "experiments with figures of this machine",
            format!(
                "{} of {}",
                sections.iter().filter(|section| !section.ours.is_empty()).count(),
                sections.len()
            ),
        ),
        card("warehouses", document["settings"]["warehouses"].to_string()),
        card("processors", document["settings"]["processors"].to_string()),
    ]);
    page.note(
        "Published figures come from other and larger machines: compare ratios and shapes, not heights. One pass, without \
         intervals; `mote bench versus` tells how sure a difference is.",
    );
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
    for section in sections {
        page.heading(&format!("{}  {}", section.name, section.title));
        page.beside(
            |page| {
                for (published, source) in &section.published {
                    page.subheading(&format!("published: {}", published.title));
                    let header: Vec<&str> = published.header.iter().map(String::as_str).collect();
                    page.table(&header, &published.rows);
                    page.note(source);
                }
            },
            |page| {
                for ours in &section.ours {
                    page.subheading(&ours.title);
                    let header: Vec<&str> = ours.header.iter().map(String::as_str).collect();
                    page.table(&header, &ours.rows);
                }
                for note in &section.notes {
                    page.note(note);
                }
            },
        );
        if !section.charts.is_empty() {
            page.charts(&section.charts);
        }
    }
    page.heading("Proofs");
    let rows: Vec<Vec<String>> = proofs
        .iter()
        .map(|proof| {
            vec![
                proof["says"].as_str().unwrap_or_default().to_string(),
                table::pass(proof["pass"].as_bool().unwrap_or(false)).to_string(),
            ]
        })
        .collect();
    page.table(&["what", "verdict"], &rows);
    for system in &systems {
        server_settings(
            &mut page,
            system["name"].as_str().unwrap_or_default(),
            &system["server_settings"],
        );
    }
    circumstances(&mut page, document);
    page.finish(&[DISCLAIMER])
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
    let marks: Vec<Mark> = outcome
        .events
        .iter()
        .map(|event| Mark {
            second: event.second,
            what: event.what.to_string(),
        })
        .collect();
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
            let shown = value.as_str().map_or_else(|| value.to_string(), str::to_string);
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
