//! The page of an experiment that asks one thing: its verdicts, its tables, a chart or two.

use serde_json::Value;

use super::{card, circumstances};
use crate::report::charts::Chart;
use crate::report::page::{Page, Rendered, Tone};
use crate::report::table;

pub struct Plain<'a> {
    pub title: &'a str,
    pub lead: String,
    /// The figures that it is about.
    pub figures: Vec<(String, String)>,
    /// What was proven, or held to a target.
    pub verdicts: Vec<(bool, String)>,
    pub charts: Vec<Chart>,
    pub tables: Vec<PlainTable<'a>>,
    pub notes: Vec<String>,
    /// What spoils the figures.
    pub remarks: &'a [String],
    pub small_print: &'a [&'a str],
}

pub struct PlainTable<'a> {
    pub title: &'a str,
    pub header: &'a [&'a str],
    pub rows: Vec<Vec<String>>,
}

/// `document` is what the JSON report says.
pub fn plain(document: &Value, plain: Plain<'_>) -> Rendered {
    let mut page = Page::new(plain.title, &plain.lead);
    let pass = document["pass"].as_bool().unwrap_or(false);
    let mut cards = vec![(
        "everything that is judged".to_string(),
        table::pass(pass).to_string(),
        Tone::passes(pass),
    )];
    cards.extend(
        plain
            .figures
            .into_iter()
            .map(|(label, value)| card(&label, value)),
    );
    page.cards(&cards);
    plain.remarks.iter().for_each(|remark| page.warning(remark));
    if !plain.charts.is_empty() {
        page.charts(&plain.charts);
    }
    for PlainTable { title, header, rows } in &plain.tables {
        page.heading(title);
        page.table(header, rows);
    }
    plain.notes.iter().for_each(|note| page.note(note));
    if !plain.verdicts.is_empty() {
        page.heading("Verdicts");
        let rows: Vec<Vec<String>> = plain
            .verdicts
            .iter()
            .map(|(pass, says)| vec![says.clone(), table::pass(*pass).to_string()])
            .collect();
        page.table(&["what", "verdict"], &rows);
    }
    circumstances(&mut page, document);
    page.finish(plain.small_print)
}
