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
    /// What it says of the first system beside each other one, for the summary.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// What in it cannot be compared, and why, for the summary.
    #[serde(default)]
    pub limits: Vec<String>,
}

/// A figure of the first system beside that of another one.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Finding {
    pub what: String,
    /// The other one.
    pub system: String,
    /// The published ratio in the same sense, if there is one.
    pub published: Option<f64>,
    /// How many times as good the first system's figure is; below 1 the other's is better.
    pub times: f64,
    /// Where that lies with 99 %; `None` where a figure was measured once and does not tell how it varies.
    pub interval: Option<(f64, f64)>,
}

/// An interval that reaches so far has no end: too little was measured.
pub const UNBOUNDED: f64 = 1e9;

/// What a finding comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Better,
    Worse,
    Undecided,
    /// There is no interval.
    Once,
}

impl Finding {
    pub fn verdict(&self) -> Verdict {
        match self.interval {
            None => Verdict::Once,
            Some((low, _)) if low > 1.0 => Verdict::Better,
            Some((_, high)) if high < 1.0 => Verdict::Worse,
            Some(_) => Verdict::Undecided,
        }
    }

    /// As a cell of the summary.
    pub fn says(&self) -> String {
        let digits = |value: f64| match value {
            value if value >= 100.0 => format!("{value:.0}"),
            value if value >= 10.0 => format!("{value:.1}"),
            value => format!("{value:.2}"),
        };
        let word = match self.verdict() {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::Undecided => "undecided",
            Verdict::Once => "once",
        };
        let times = digits(self.times);
        match self.interval {
            Some((low, high)) if high < UNBOUNDED => {
                format!("{word} {times} ({} to {})", digits(low), digits(high))
            }
            Some(_) => format!("{word} {times} (too short to tell)"),
            None => format!("{word} {times}"),
        }
    }
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
    fn a_finding_says_who_is_better_and_how_sure_that_is() {
        let finding = |times: f64, interval: Option<(f64, f64)>| Finding {
            what: String::new(),
            system: String::new(),
            published: None,
            times,
            interval,
        };
        assert_eq!(
            finding(3.0, Some((2.75, 3.25))).says(),
            "better 3.00 (2.75 to 3.25)"
        );
        assert_eq!(
            finding(0.5, Some((0.25, 0.75))).says(),
            "worse 0.50 (0.25 to 0.75)"
        );
        assert_eq!(
            finding(12.345, Some((0.9, 120.0))).says(),
            "undecided 12.3 (0.90 to 120)"
        );
        assert_eq!(
            finding(2.0, Some((0.0, UNBOUNDED))).says(),
            "undecided 2.00 (too short to tell)"
        );
        assert_eq!(finding(2.0, None).says(), "once 2.00");
    }

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
            findings: vec![Finding {
                what: "NOPM".into(),
                system: "pg15".into(),
                published: Some(2.5),
                times: 3.0,
                interval: Some((2.75, 3.25)),
            }],
            limits: vec!["scaled".into()],
        };
        assert_eq!(Section::of_json(&section.json()), Some(section));
        assert_eq!(Section::of_json(&json!({"name": "X3"})), None);
    }
}
