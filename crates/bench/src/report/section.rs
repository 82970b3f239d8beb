//! An experiment as a page shows it: the published tables with their sources, ours, remarks and charts.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::page::Chart;
use super::table;
use mote_workload::tpcc::DISCLAIMER;

/// Something that was proven or not.
#[derive(Serialize)]
pub struct Proof {
    pub says: String,
    pub pass: bool,
}

/// How an experiment over several systems ends on the terminal: who did not take part and why, what was proven, and
/// whether all of it passes.
pub fn judgement<'a>(
    absent: &[(String, String)],
    proofs: impl IntoIterator<Item = &'a Proof>,
    pass: bool,
) -> String {
    let absent = absent
        .iter()
        .map(|(system, why)| format!("{system} does not take part: {why}\n"));
    let proofs = proofs
        .into_iter()
        .map(|proof| format!("{} {}\n", table::pass(proof.pass), proof.says));
    let verdict = format!("\n{} {DISCLAIMER}\n", table::pass(pass));
    absent.chain(proofs).chain([verdict]).collect()
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Table {
    pub title: String,
    #[serde(rename = "columns")]
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// One experiment on the page.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Section {
    pub name: String,
    pub title: String,
    /// The published tables with their sources, then ours.
    pub published: Vec<Sourced>,
    #[serde(rename = "measured")]
    pub ours: Vec<Table>,
    pub notes: Vec<String>,
    pub charts: Vec<Chart>,
}

impl Section {
    pub fn text(&self) -> String {
        let mut out = format!("\n{} {}\n", self.name, self.title);
        let published = self.published.iter().map(|one| (&one.table, Some(&one.source)));
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
        json!(self)
    }

    /// What `json` has made; `None` if it is something else.
    pub fn of_json(value: &Value) -> Option<Section> {
        Section::deserialize(value).ok()
    }
}

/// A published table with its source.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Sourced {
    pub table: Table,
    pub source: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_read_as_it_was_written() {
        let table = Table {
            title: "ladder".into(),
            header: vec!["connections".into()],
            rows: vec![vec!["32".into()]],
        };
        let section = Section {
            name: "X3".into(),
            title: "Throughput".into(),
            published: vec![Sourced {
                table: table.clone(),
                source: "a page".into(),
            }],
            ours: vec![table],
            notes: vec!["scaled".into()],
            charts: vec![Chart {
                title: "NOPM".into(),
                note: String::new(),
                option: json!({"series": [1, 2.5]}),
            }],
        };
        assert_eq!(Section::of_json(&section.json()), Some(section));
        assert_eq!(Section::of_json(&json!({"name": "X3"})), None);
    }
}
