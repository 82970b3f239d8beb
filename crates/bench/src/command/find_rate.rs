//! `--find-rate p99=10ms`: the highest rate of an open loop at which a percentile of the response time stays within a
//! limit. Bisection between nothing and a little more than what a closed loop does; every probe is an open loop of its own.

use std::str::FromStr;

use serde::Serialize;
use serde_json::Value;

use crate::report::Summary;
use crate::report::charts;
use crate::report::html::{self, Plain, PlainTable};
use crate::report::page::Rendered;
use crate::report::summary::ACHIEVED_MIN;
use crate::report::table;

/// Halvings of the range: the answer is within 1 % of the closed loop's rate.
const PROBES: usize = 7;
/// An open loop may do a little more than the closed one, whose connections wait for each other's answers.
const ABOVE_CLOSED_LOOP: f64 = 1.1;

/// As in `p99=10ms`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RateGoal {
    /// Of 100.
    pub percentile: f64,
    pub limit_ms: f64,
}

impl FromStr for RateGoal {
    type Err = String;

    fn from_str(text: &str) -> Result<RateGoal, String> {
        let wrong =
            || format!("\"{text}\" is not of the form p99=10ms (p50, p90, p95, p99 or p99.9; us, ms or s)");
        let (percentile, limit) = text.split_once('=').ok_or_else(wrong)?;
        let percentile: f64 = percentile
            .strip_prefix('p')
            .and_then(|number| number.parse().ok())
            .filter(|number| [50.0, 90.0, 95.0, 99.0, 99.9].contains(number))
            .ok_or_else(wrong)?;
        let units = [("us", 1e-3), ("ms", 1.0), ("s", 1e3)];
        let limit_ms = units.iter().find_map(|(unit, factor)| {
            let number: f64 = limit.strip_suffix(unit)?.parse().ok()?;
            Some(number * factor).filter(|limit| *limit > 0.0)
        });
        Ok(RateGoal {
            percentile,
            limit_ms: limit_ms.ok_or_else(wrong)?,
        })
    }
}

impl RateGoal {
    /// The percentile over the worst type; NaN, which is no good, where the loop fell behind.
    fn reached_ms(&self, summary: &Summary) -> f64 {
        let counted = summary.kinds.iter().filter(|kind| kind.count > 0);
        let values = counted.map(|kind| match self.percentile {
            50.0 => kind.p50_ms,
            90.0 => kind.p90_ms,
            95.0 => kind.p95_ms,
            99.0 => kind.p99_ms,
            _ => kind.p999_ms,
        });
        values.fold(
            0.0,
            |worst: f64, value| if value.is_nan() { value } else { worst.max(value) },
        )
    }

    fn keeps(&self, summary: &Summary) -> bool {
        let kept_up = summary
            .open_loop
            .as_ref()
            .is_some_and(|open_loop| open_loop.achieved_share >= ACHIEVED_MIN);
        kept_up && self.reached_ms(summary) <= self.limit_ms
    }
}

/// One rate that was tried.
#[derive(Serialize)]
pub struct Probe {
    pub rate: f64,
    pub achieved_share: f64,
    pub reached_ms: f64,
    pub kept: bool,
}

#[derive(Serialize)]
pub struct Search {
    pub goal: RateGoal,
    pub closed_loop_rate: f64,
    /// The highest rate that was tried and kept; 0 when none was.
    pub rate: f64,
    pub probes: Vec<Probe>,
}

/// Searches with `run`, which measures at a rate, or in a closed loop when it is given none. Answers the summary of the best
/// probe beside the search.
pub fn search(
    goal: RateGoal,
    mut run: impl FnMut(Option<f64>) -> Result<Summary, String>,
) -> Result<Search, String> {
    let closed_loop_rate = run(None)?.transactions_per_s;
    if closed_loop_rate <= 0.0 {
        return Err("the closed loop did nothing, so there is no rate to begin from".into());
    }
    let (mut low, mut high) = (0.0, closed_loop_rate * ABOVE_CLOSED_LOOP);
    let mut probes = Vec::new();
    for _ in 0..PROBES {
        let rate = (low + high) / 2.0;
        let summary = run(Some(rate))?;
        let kept = goal.keeps(&summary);
        let achieved_share = summary
            .open_loop
            .as_ref()
            .map_or(0.0, |open_loop| open_loop.achieved_share);
        probes.push(Probe {
            rate,
            achieved_share,
            reached_ms: goal.reached_ms(&summary),
            kept,
        });
        if kept { low = rate } else { high = rate }
    }
    Ok(Search {
        goal,
        closed_loop_rate,
        rate: low,
        probes,
    })
}

fn rows(search: &Search) -> Vec<Vec<String>> {
    search
        .probes
        .iter()
        .map(|probe| {
            vec![
                table::grouped(probe.rate),
                format!("{:.2}", 100.0 * probe.achieved_share),
                table::milliseconds(probe.reached_ms),
                if probe.kept { "yes" } else { "no" }.to_string(),
            ]
        })
        .collect()
}

/// The page of a search: what the percentile becomes as the rate grows.
pub fn page(name: &str, document: &Value, search: &Search) -> Rendered {
    let mut probes: Vec<&Probe> = search.probes.iter().collect();
    probes.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    let known = probes.iter().filter(|probe| probe.reached_ms.is_finite());
    let measured: Vec<(f64, f64)> = known.map(|probe| (probe.rate, probe.reached_ms)).collect();
    let goal = probes
        .iter()
        .map(|probe| (probe.rate, search.goal.limit_ms))
        .collect();
    let percentile = format!("p{}", search.goal.percentile);
    let lines = [(percentile.clone(), measured), ("goal".to_string(), goal)];
    let mut chart = charts::ladder(
        "Response time against the rate",
        "transactions a second",
        "ms",
        &lines,
    );
    chart.option["xAxis"]["type"] = "value".into();
    let header = ["rate", "achieved %", &format!("{percentile} ms"), "kept"];
    html::plain(
        document,
        Plain {
            title: &format!("The highest rate of {name}"),
            lead: format!("{percentile} within {} ms, in an open loop", search.goal.limit_ms),
            figures: vec![
                ("a second, kept".into(), table::grouped(search.rate)),
                ("a second in a closed loop".into(), table::grouped(search.closed_loop_rate)),
            ],
            verdicts: vec![(search.rate > 0.0, "some rate keeps the goal".into())],
            charts: vec![chart],
            tables: vec![PlainTable { title: "Rates that were tried", header: &header, rows: rows(search) }],
            notes: vec!["A rate of which less than 99 % was achieved has no percentile: it would tell how long the run was.".into()],
            remarks: &[],
            small_print: &[],
        },
    )
}

pub fn text(search: &Search) -> String {
    let rows = rows(search);
    let percentile = format!("p{} ms", search.goal.percentile);
    format!(
        "closed loop: {} a second\n\n{}\n{:<36} {:>14}\n",
        table::grouped(search.closed_loop_rate),
        table::table(&["rate", "achieved %", &percentile, "kept"], &rows),
        format!(
            "rate with p{} <= {} ms",
            search.goal.percentile, search.goal.limit_ms
        ),
        table::grouped(search.rate)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use mote_driver::session::Traffic;
    use mote_measure::{Collector, RunOutcome, Sample};

    #[test]
    fn goals_are_read() {
        let goal = |text: &str| text.parse::<RateGoal>();
        assert_eq!(
            goal("p99.9=250us"),
            Ok(RateGoal {
                percentile: 99.9,
                limit_ms: 0.25
            })
        );
        assert_eq!(goal("p50=2s").map(|goal| goal.limit_ms), Ok(2_000.0));
        for wrong in ["p99", "99=1ms", "p42=1ms", "p99=1", "p99=-1ms", "p99=0ms"] {
            assert!(goal(wrong).is_err(), "{wrong}");
        }
    }

    /// A made-up server of one line: it takes 1 ms and the more the fuller it is, and falls behind above 1,000 a second.
    fn made_up(rate: Option<f64>) -> Result<Summary, String> {
        let offered = rate.unwrap_or(1_000.0);
        let done = offered.min(1_000.0);
        let latency_ms = 1.0 / (1.0 - (done / 1_000.0).min(0.999));
        let mut totals = Collector::new(1);
        for _ in 0..done as u64 {
            totals.success(
                Sample {
                    kind: 0,
                    latency_ns: (latency_ms * 1e6) as u64,
                    service_ns: Some(1_000_000),
                    rolled_back: false,
                    skipped: 0,
                    retries: 0,
                    traffic: Traffic::default(),
                },
                true,
            );
        }
        let outcome = RunOutcome {
            offered: rate.map(|rate| rate as u64),
            ..RunOutcome::of(totals)
        };
        Ok(Summary::new(&outcome, &["A"], None, None))
    }

    #[test]
    fn finds_the_rate_of_a_made_up_server() {
        let found = search("p99=10ms".parse().expect("a goal"), made_up).expect("it answers");
        assert!((found.rate - 900.0).abs() <= 10.0, "{}", found.rate);
        assert!(found.probes.iter().any(|probe| !probe.kept));
        assert!(text(&found).contains("rate with p99 <= 10 ms"));
    }
}
