//! The page of queries that several systems were asked.

use serde_json::Value;

use super::{card, circumstances};
use crate::report::charts;
use crate::report::page::{Page, Rendered, Tone};
use crate::report::table;

/// One query on one system.
pub struct AskedBar<'a> {
    pub query: usize,
    pub system: &'a str,
    /// `None` where there was no answer.
    pub seconds: Option<f64>,
}

/// `title` names the queries, `header` and `rows` are the table of the terminal, `means` the first system's times over another's.
pub fn asked(
    title: &str,
    document: &Value,
    bars: &[AskedBar<'_>],
    means: &[(String, Option<f64>)],
    header: &[String],
    rows: &[Vec<String>],
) -> Rendered {
    let pass = document["pass"].as_bool().unwrap_or(false);
    let mut systems: Vec<&str> = Vec::new();
    let mut queries: Vec<usize> = Vec::new();
    for bar in bars {
        if !systems.contains(&bar.system) {
            systems.push(bar.system);
        }
        if !queries.contains(&bar.query) {
            queries.push(bar.query);
        }
    }
    let mut page = Page::new(title, &systems.join(" and "));
    let mut cards = vec![(
        "every query is answered, and all answers are the same".to_string(),
        table::pass(pass).to_string(),
        Tone::passes(pass),
    )];
    for (name, mean) in means {
        let mean = mean.map_or("-".to_string(), |mean| format!("{mean:.2}"));
        let base = systems.first().unwrap_or(&"");
        cards.push(card(
            &format!("times of {base} over those of {name}, geometric mean"),
            mean,
        ));
    }
    page.cards(&cards);
    let names: Vec<String> = queries.iter().map(|query| format!("Q{query}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let by_system: Vec<(String, Vec<Option<f64>>)> = systems
        .iter()
        .map(|system| {
            let of = |query: &usize| {
                let bar = bars
                    .iter()
                    .find(|bar| bar.system == *system && bar.query == *query);
                bar.and_then(|bar| bar.seconds).map(|seconds| 1e3 * seconds)
            };
            (system.to_string(), queries.iter().map(of).collect())
        })
        .collect();
    page.charts(&[charts::bars(
        "Time of each query, median",
        "ms",
        &names,
        &by_system,
        None,
    )]);
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    page.table(&header, rows);
    page.note(
        "The rows are the laboratory's own: these figures are not comparable to published TPC results.",
    );
    circumstances(&mut page, document);
    page.finish(&[])
}
