//! `mote bench runs` and `mote bench diff`: what a store holds, and how two of its runs differ.

use serde_json::{Value, json};

use super::args::{DiffArgs, RunsArgs};
use crate::report::charts::{self, KindLatency};
use crate::report::html::{self, Plain, PlainTable};
use crate::report::json;
use crate::report::page::{self, Rendered};
use crate::report::store::{RunLine, Store};
use crate::report::table;
use crate::report::table::{COMPARISON_HEADER, comparison_row, utc};
use mote_measure::buckets::Buckets;
use mote_measure::statistics::{self, Block, Metric, Plan, Verdict};

pub fn list(args: &RunsArgs) -> Result<bool, String> {
    let runs = Store::existing(&args.store)?.runs()?;
    let rows: Vec<Vec<String>> = runs.iter().map(line).collect();
    let header = [
        "run",
        "when (UTC)",
        "experiment",
        "per second",
        "durable",
        "verdict",
        "server",
        "target",
    ];
    print!("{}", table::table(&header, &rows));
    Ok(true)
}

fn line(run: &RunLine) -> Vec<String> {
    vec![
        run.id.to_string(),
        utc(run.unix_time_s),
        run.experiment.clone(),
        table::grouped(run.transactions_per_s),
        match run.durable {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "-",
        }
        .to_string(),
        table::pass(run.pass).to_string(),
        run.server_version.clone(),
        run.target.clone(),
    ]
}

/// Compares run B with run A by blocks of seconds. Fails when B is slower in any figure.
pub fn diff(args: &DiffArgs) -> Result<bool, String> {
    let store = Store::existing(&args.store)?;
    let (a, b) = (store.run(args.a)?, store.run(args.b)?);
    for (name, run) in [("A", &a), ("B", &b)] {
        println!(
            "{name}: run {}, {}, {} at {}, {}",
            run.id,
            run.experiment,
            run.server_version,
            run.target,
            utc(run.unix_time_s)
        );
    }
    for difference in differing_settings(&store.settings(a.id)?, &store.settings(b.id)?) {
        println!("setting {difference}");
    }
    let (of_a, of_b) = (store.seconds(a.id)?, store.seconds(b.id)?);
    let plan = Plan {
        confidence: args.confidence,
        paired: false,
        ..Plan::default()
    };
    let metrics = [
        Metric::Throughput,
        Metric::Quantile(0.5),
        Metric::Quantile(0.9),
        Metric::Quantile(0.99),
    ];
    let (mut rows, mut slower) = (Vec::new(), false);
    let (mut ratios, mut latencies) = (Vec::new(), Vec::new());
    for kind in &of_a {
        let Some(other) = of_b.iter().find(|other| other.kind == kind.kind) else {
            return Err(format!(
                "run {} has no {}: these are different experiments",
                b.id, kind.kind
            ));
        };
        let blocks = |seconds: &[Block]| statistics::blocks_of(seconds);
        for one in statistics::compare(&blocks(&kind.seconds), &blocks(&other.seconds), &metrics, plan) {
            slower |= one.verdict == Verdict::Slower;
            ratios.push((
                format!("{}, {}", kind.kind, one.metric),
                one.ratio,
                one.low,
                one.high,
            ));
            rows.push(comparison_row(&kind.kind, &one));
        }
        for (run, seconds) in [("A", &kind.seconds), ("B", &other.seconds)] {
            let latency = Buckets::merge(seconds.iter().map(|second| &second.latency));
            latencies.push((format!("{run}: {}", kind.kind), latency));
        }
    }
    print!("{}", table::table(&COMPARISON_HEADER, &rows));
    println!(
        "Intervals hold with {:.0} % for each type. They know how much each run varied within itself, not what differs from \
         run to run: for that, `mote bench versus` interleaves.",
        100.0 * args.confidence
    );
    if page::is_wanted(&args.html) {
        let runs = [("A", &a), ("B", &b)].map(|(name, run)| {
            vec![
                name.to_string(),
                run.id.to_string(),
                run.experiment.clone(),
                run.server_version.clone(),
                run.target.clone(),
                utc(run.unix_time_s),
            ]
        });
        let differing = differing_settings(&store.settings(a.id)?, &store.settings(b.id)?);
        let page = difference_page(args, runs.to_vec(), differing, rows, &ratios, &latencies, !slower);
        page.deliver(&args.html)?;
    }
    Ok(!slower)
}

type Ratio = (String, f64, f64, f64);

fn difference_page(
    args: &DiffArgs,
    runs: Vec<Vec<String>>,
    differing: Vec<String>,
    rows: Vec<Vec<String>>,
    ratios: &[Ratio],
    latencies: &[(String, Buckets)],
    pass: bool,
) -> Rendered {
    let of = |throughput: bool| -> Vec<Ratio> {
        ratios
            .iter()
            .filter(|(what, ..)| what.ends_with("throughput") == throughput)
            .cloned()
            .collect()
    };
    let kinds: Vec<KindLatency<'_>> = latencies
        .iter()
        .map(|(name, latency)| KindLatency {
            name,
            latency: latency.clone(),
        })
        .collect();
    let document = json!({"environment": json::environment(), "pass": pass,
        "settings": {"store": args.store, "a": args.a, "b": args.b, "confidence": args.confidence}});
    let mut notes = differing
        .iter()
        .map(|difference| format!("setting {difference}"))
        .collect::<Vec<_>>();
    notes.push(format!(
        "Intervals hold with {:.0} % for each type. They know how much each run varied within itself, not what differs from \
         run to run.",
        100.0 * args.confidence
    ));
    html::plain(
        &document,
        Plain {
            title: "Two stored runs",
            lead: format!("Run {} (B) beside run {} (A)", args.b, args.a),
            figures: Vec::new(),
            verdicts: vec![(pass, "B is slower than A in no figure".into())],
            charts: vec![
                charts::whiskers(
                    "Throughput, B / A",
                    "More is better. Where the bar holds 1, nothing is decided.",
                    &of(true),
                ),
                charts::whiskers("Response times, B / A", "Less is better.", &of(false)),
                charts::distribution(&kinds),
                charts::boxes(&kinds),
            ],
            tables: vec![
                PlainTable {
                    title: "Runs",
                    header: &["", "run", "experiment", "server", "target", "when (UTC)"],
                    rows: runs,
                },
                PlainTable {
                    title: "Figures",
                    header: &COMPARISON_HEADER,
                    rows,
                },
            ],
            notes,
            remarks: &[],
            small_print: &[],
        },
    )
}

fn differing_settings(a: &Value, b: &Value) -> Vec<String> {
    let names = [a, b]
        .into_iter()
        .filter_map(Value::as_object)
        .flat_map(|members| members.keys());
    let names: std::collections::BTreeSet<&String> = names.collect();
    let different = names
        .into_iter()
        .filter(|name| a[name.as_str()] != b[name.as_str()]);
    different
        .map(|name| format!("{name}: A {}, B {}", a[name.as_str()], b[name.as_str()]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_differ_are_named() {
        let (a, b) = (json!({"x": 1, "y": 2}), json!({"x": 1, "y": 3, "z": null}));
        assert_eq!(differing_settings(&a, &b), ["y: A 2, B 3"]);
    }
}
