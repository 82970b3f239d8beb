//! An experiment as a page shows it: the published tables with their sources, ours, remarks and charts.

use serde::Serialize;
use serde_json::{Value, json};

use super::page::Chart;
use super::table;
use crate::workload::tpcc::DISCLAIMER;

/// Something that was proven or not.
#[derive(Serialize)]
pub struct Proof {
    pub says: String,
    pub pass: bool,
}

/// How an experiment over several systems ends on the terminal: who did not take part and why, what was proven, and
/// whether all of it passes.
pub fn judgement(absent: &[(String, String)], proofs: &[Proof], pass: bool) -> String {
    let absent = absent
        .iter()
        .map(|(system, why)| format!("{system} does not take part: {why}\n"));
    let proofs = proofs
        .iter()
        .map(|proof| format!("{} {}\n", table::pass(proof.pass), proof.says));
    let verdict = format!("\n{} {DISCLAIMER}\n", table::pass(pass));
    absent.chain(proofs).chain([verdict]).collect()
}

pub struct Table {
    pub title: String,
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// One experiment on the page.
pub struct Section {
    pub name: &'static str,
    pub title: &'static str,
    /// The published tables with their sources, then ours.
    pub published: Vec<(Table, String)>,
    pub ours: Vec<Table>,
    pub notes: Vec<String>,
    pub charts: Vec<Chart>,
}

impl Section {
    pub fn text(&self) -> String {
        let mut out = format!("\n{} {}\n", self.name, self.title);
        let published = self.published.iter().map(|(one, source)| (one, Some(source)));
        for (one, source) in published.chain(self.ours.iter().map(|one| (one, None))) {
            let header: Vec<&str> = one.header.iter().map(String::as_str).collect();
            let from = source.map_or(String::new(), |source| format!(" (published: {source})"));
            out += &format!("{}{from}\n{}", one.title, table::table(&header, &one.rows));
        }
        for note in &self.notes {
            out += &format!("{note}\n");
        }
        out
    }

    pub fn json(&self) -> Value {
        let of = |one: &Table| json!({"title": one.title, "columns": one.header, "rows": one.rows});
        json!({
            "name": self.name,
            "title": self.title,
            "published": self.published.iter().map(|(one, source)| json!({"source": source, "table": of(one)})).collect::<Vec<_>>(),
            "measured": self.ours.iter().map(of).collect::<Vec<_>>(),
            "notes": self.notes,
        })
    }
}
