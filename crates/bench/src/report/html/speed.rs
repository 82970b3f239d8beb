//! The page of figures that are held to targets.

use serde_json::Value;

use super::circumstances;
use crate::report::charts;
use crate::report::page::{Page, Rendered, Tone};
use crate::report::table;
use mote_workload::tpcc::DISCLAIMER;

/// `bars` are how good a line is as a multiple of its target, more being better; `header` and `rows` the table of the terminal.
pub fn speed(
    document: &Value,
    bars: &[(&str, Option<f64>)],
    header: &[&str],
    rows: &[Vec<String>],
    remarks: &[String],
) -> Rendered {
    let pass = document["pass"].as_bool().unwrap_or(false);
    let names: Vec<&str> = document["systems"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|system| system["name"].as_str())
        .collect();
    let mut page = Page::new("How fast", &names.join(" and "));
    let met = bars
        .iter()
        .filter(|(_, of)| of.is_some_and(|of| of >= 1.0))
        .count();
    let open = bars.iter().filter(|(_, of)| of.is_none()).count();
    let mut cards = vec![(
        format!("{met} of {} targets met", bars.len()),
        table::pass(pass).to_string(),
        Tone::passes(pass),
    )];
    if open > 0 {
        cards.push(("not measured".into(), open.to_string(), Tone::Warn));
    }
    page.cards(&cards);
    let lines: Vec<&str> = bars.iter().map(|(name, _)| *name).collect();
    let values = bars.iter().map(|(_, of)| *of).collect();
    page.charts(&[charts::bars(
        "Multiples of the target, more is better",
        "",
        &lines,
        &[(names.first().unwrap_or(&"").to_string(), values)],
        Some(1.0),
    )]);
    page.table(header, rows);
    for remark in remarks {
        page.note(remark);
    }
    circumstances(&mut page, document);
    page.finish(&[DISCLAIMER])
}
