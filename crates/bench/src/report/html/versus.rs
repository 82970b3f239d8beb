//! The page of an interleaved comparison.

use serde_json::Value;

use super::{circumstances, server_settings};
use crate::report::charts::{self, KindLatency};
use crate::report::page::{Page, Rendered, Tone};
use crate::report::table;
use crate::report::versus::{Outcome, System};
use mote_measure::buckets::Buckets;
use mote_measure::statistics;
use mote_workload::tpcc::DISCLAIMER;

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
