//! The page of point selects beside heavy statements.

use serde_json::Value;

use super::{card, circumstances};
use crate::report::charts;
use crate::report::page::{Page, Rendered, Tone};
use crate::report::table;

/// One heavy statement on one system.
pub struct NeighbourBar<'a> {
    pub system: &'a str,
    pub statement: &'a str,
    pub p99_ms: f64,
    pub cancel_ms: Option<f64>,
    pub timeout_ms: Option<f64>,
    pub peak_memory_bytes: Option<u64>,
}

/// What the verdict judges, in words and as the highest time that a cancel or a timeout may take.
pub struct NeighbourLimits<'a> {
    pub says: &'a str,
    pub deaf_max_ms: f64,
}

/// `header` and `rows` are the table of the terminal.
pub fn neighbours(
    document: &Value,
    bars: &[NeighbourBar<'_>],
    alone: &[(&str, f64)],
    limits: &NeighbourLimits<'_>,
    header: &[&str],
    rows: &[Vec<String>],
) -> Rendered {
    let pass = document["pass"].as_bool().unwrap_or(false);
    let mut systems: Vec<&str> = Vec::new();
    let mut statements: Vec<&str> = Vec::new();
    for bar in bars {
        if !systems.contains(&bar.system) {
            systems.push(bar.system);
        }
        if !statements.contains(&bar.statement) {
            statements.push(bar.statement);
        }
    }
    let mut page = Page::new("Point selects beside heavy statements", &systems.join(" and "));
    let mut cards = vec![(
        limits.says.to_string(),
        table::pass(pass).to_string(),
        Tone::passes(pass),
    )];
    for (system, p99_ms) in alone {
        cards.push(card(
            &format!("{system}: p99 of the selects alone, ms"),
            table::milliseconds(*p99_ms),
        ));
    }
    page.cards(&cards);
    let by_system = |value: &dyn Fn(&NeighbourBar<'_>) -> Option<f64>| -> Vec<(String, Vec<Option<f64>>)> {
        let of = |system: &&str| {
            let values = statements.iter().map(|statement| {
                let bar = bars
                    .iter()
                    .find(|bar| bar.system == *system && bar.statement == *statement);
                bar.and_then(value)
            });
            (system.to_string(), values.collect())
        };
        systems.iter().map(of).collect()
    };
    page.charts(&[
        charts::bars(
            "p99 of the selects beside it",
            "ms",
            &statements,
            &by_system(&|bar| Some(bar.p99_ms)),
            None,
        ),
        charts::bars(
            "Time to hear of a cancel",
            "ms",
            &statements,
            &by_system(&|bar| bar.cancel_ms),
            Some(limits.deaf_max_ms),
        ),
        charts::bars(
            "Time beyond a statement timeout",
            "ms",
            &statements,
            &by_system(&|bar| bar.timeout_ms),
            Some(limits.deaf_max_ms),
        ),
        charts::bars(
            "Most memory of the server meanwhile",
            "MB",
            &statements,
            &by_system(&|bar| bar.peak_memory_bytes.map(|bytes| bytes as f64 / 1e6)),
            None,
        ),
    ]);
    page.table(header, rows);
    circumstances(&mut page, document);
    page.finish(&[])
}
