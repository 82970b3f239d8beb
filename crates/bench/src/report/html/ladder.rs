//! Pages of one figure over another: by connections, by servers.

use serde_json::Value;

use super::{card, circumstances, small_print};
use crate::report::charts;
use crate::report::page::{Page, Rendered, Tone};
use crate::report::summary::Summary;
use crate::report::table::{self, grouped, milliseconds};

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
        charts::against_throughput(
            "New order: p90 against throughput",
            "ms",
            &against(steps, &systems),
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
    page.finish(&small_print())
}

/// Each system's steps as points of throughput and the 90th percentile.
fn against(steps: &[LadderStep<'_>], systems: &[&str]) -> Vec<(String, Vec<(f64, f64)>)> {
    let of = systems.iter().map(|system| {
        let own = steps.iter().filter(|step| step.system == *system);
        let points = own.map(|step| (step.summary.first_kind_per_minute(), step.summary.kinds[0].p90_ms));
        (system.to_string(), points.collect())
    });
    of.collect()
}

/// Order entry over a number of servers.
pub struct ShardsStep<'a> {
    pub servers: usize,
    pub summary: &'a Summary,
    /// Of the committed transactions, those that were prepared on some server.
    pub distributed_percent: f64,
    pub proven: bool,
}

/// The page of a ladder of servers.
pub fn shards(document: &Value, steps: &[ShardsStep<'_>]) -> Rendered {
    let pass = document["pass"].as_bool().unwrap_or(false);
    let mut page = Page::new(
        "Order entry over several servers",
        "Warehouses dealt out among the servers; what changes rows on two of them commits in two phases",
    );
    let mut cards = vec![(
        "proven over all servers".to_string(),
        table::pass(pass).to_string(),
        Tone::passes(pass),
    )];
    for step in steps {
        cards.push(card(
            &format!("NOPM over {} server(s)", step.servers),
            grouped(step.summary.first_kind_per_minute()),
        ));
    }
    page.cards(&cards);
    let line = |name: &str, value: &dyn Fn(&ShardsStep<'_>) -> f64| {
        let points = steps.iter().map(|step| (step.servers as f64, value(step)));
        (name.to_string(), points.collect::<Vec<_>>())
    };
    let chart =
        |title, unit, lines: &[(String, Vec<(f64, f64)>)]| charts::ladder(title, "servers", unit, lines);
    page.charts(&[
        chart(
            "New orders per minute",
            "NOPM",
            &[line("measured", &|step| step.summary.first_kind_per_minute())],
        ),
        chart(
            "90th percentile",
            "ms",
            &[
                line("new order", &|step| step.summary.kinds[0].p90_ms),
                line("payment", &|step| step.summary.kinds[1].p90_ms),
            ],
        ),
        chart(
            "Server CPU per transaction, all servers",
            "us",
            &[line("measured", &|step| {
                step.summary.server_cpu_us_per_transaction.unwrap_or(f64::NAN)
            })],
        ),
    ]);
    let one = steps.first().map(|step| step.summary.first_kind_per_minute());
    let rows: Vec<Vec<String>> = steps
        .iter()
        .map(|step| {
            let (new_order, payment) = (&step.summary.kinds[0], &step.summary.kinds[1]);
            let nopm = step.summary.first_kind_per_minute();
            vec![
                step.servers.to_string(),
                grouped(nopm),
                one.filter(|one| *one > 0.0)
                    .map_or("-".into(), |one| format!("{:.2}", nopm / one)),
                format!("{:.1}", step.distributed_percent),
                milliseconds(new_order.p50_ms),
                milliseconds(new_order.p90_ms),
                milliseconds(new_order.p99_ms),
                milliseconds(payment.p90_ms),
                step.summary.retries.to_string(),
                table::pass(step.proven).to_string(),
            ]
        })
        .collect();
    let header = [
        "servers",
        "NOPM",
        "of the first",
        "in two phases, %",
        "new-order p50 ms",
        "p90",
        "p99",
        "payment p90",
        "retries",
        "proofs",
    ];
    page.table(&header, &rows);
    page.note(
        "Servers that share one machine share its processors and its disk: the ladder then shows what two phases cost. Each of them \
         waits for two flushes more than a commit on one server.",
    );
    circumstances(&mut page, document);
    page.finish(&small_print())
}
