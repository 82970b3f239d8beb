//! BenchmarkSQL's result files, for those who have programs that read them.
//!
//! Of version 5: `runInfo.csv` and `tx_summary.csv`. Of version 6: `summary.csv`, `histogram.csv` and `result.csv`, whose
//! intervals are seconds here. Times are milliseconds. Version 5's `result.csv` has a line for every transaction and is not
//! written: what is recorded here are histograms.

use std::fmt::Write;
use std::path::Path;

use super::summary::{KindSummary, Summary};
use mote_measure::RunOutcome;
use mote_measure::buckets::Buckets;
use mote_workload::tpcc::Experiment;
use mote_workload::tpcc::mix::{KIND_NAMES, KINDS};

/// Writes the files into a directory, which is made if need be.
pub fn write(
    directory: &Path,
    experiment: &Experiment,
    summary: &Summary,
    outcome: &RunOutcome,
) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
    std::fs::create_dir_all(directory).map_err(failed)?;
    for (name, text) in [
        ("runInfo.csv", run_info(experiment)),
        ("tx_summary.csv", transaction_summary(summary)),
        ("summary.csv", short_summary(summary)),
        ("histogram.csv", histogram(outcome)),
        ("result.csv", result(outcome)),
    ] {
        std::fs::write(directory.join(name), text).map_err(failed)?;
    }
    Ok(())
}

fn run_info(experiment: &Experiment) -> String {
    let settings = &experiment.settings;
    let started = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
        - settings.duration_s
        - settings.warmup_s;
    let pace = settings.pace.unwrap_or(0.0);
    format!(
        "run,driver,driverVersion,db,sessionStart,runMins,loadWarehouses,runWarehouses,numSUTThreads,limitTxnsPerMin,\
         thinkTimeMultiplier,keyingTimeMultiplier\n0,mote bench,{},postgres,{},{},{w},{w},{},0,{pace},{pace}\n",
        env!("CARGO_PKG_VERSION"),
        super::table::utc(started as i64),
        settings.duration_s / 60.0,
        settings.connections,
        w = experiment.warehouses,
    )
}

fn transaction_summary(summary: &Summary) -> String {
    let mut out =
        "tx_name,tx_count,tx_percent,tx_90th,tx_max,tx_limit,tx_rbk,tx_error,tx_dskipped\n".to_string();
    for (kind, one) in KINDS.iter().zip(&summary.kinds) {
        let KindSummary {
            name,
            count,
            share_percent,
            rollbacks,
            errors,
            skipped,
            ..
        } = one;
        line(
            &mut out,
            format_args!(
                "{name},{count},{share_percent:.3},{:.3},{:.3},{:.1},{rollbacks},{errors},{skipped}",
                one.p90_ms / 1e3,
                one.max_ms / 1e3,
                kind.limit_s()
            ),
        );
    }
    let nopm = summary.first_kind_per_minute();
    // Version 5 names the rows after a metric that belongs to audited results; programs look for these names.
    line(&mut out, format_args!("tpmC,{nopm:.2},,,,,,,"));
    line(
        &mut out,
        format_args!("tpmTotal,{:.2},,,,,,,", summary.transactions_per_s * 60.0),
    );
    out
}

fn short_summary(summary: &Summary) -> String {
    let mut out = "ttype,count,percent,mean,max,rollbacks,errors\n".to_string();
    for kind in &summary.kinds {
        line(
            &mut out,
            format_args!(
                "{},{},{:.3},{:.3},{:.3},{},{}",
                kind.name,
                kind.count,
                kind.share_percent,
                kind.mean_ms,
                kind.max_ms,
                kind.rollbacks,
                kind.errors
            ),
        );
    }
    out
}

/// Only the classes that were hit.
fn histogram(outcome: &RunOutcome) -> String {
    let mut out = "ttype,edge,numtrans\n".to_string();
    for (kind, totals) in KIND_NAMES.iter().zip(&outcome.totals.kinds) {
        for (edge, count) in Buckets::of(&totals.latency).entries() {
            line(&mut out, format_args!("{kind},{:.3},{count}", *edge as f64 / 1e6));
        }
    }
    out
}

/// A delay is how long a transaction that was due waited to be begun; it is within the latency here and not told apart.
fn result(outcome: &RunOutcome) -> String {
    let mut out =
        "ttype,second,numtrans,sumlatencyms,minlatencyms,maxlatencyms,sumdelayms,mindelayms,maxdelayms\n"
            .to_string();
    for point in outcome.series.iter().filter(|point| point.second > 0.0) {
        for (kind, of_kind) in KIND_NAMES
            .iter()
            .zip(&point.kinds)
            .filter(|(_, of_kind)| of_kind.count > 0)
        {
            let entries = of_kind.latency.entries();
            let sum: f64 = entries
                .iter()
                .map(|(value, count)| *value as f64 / 1e6 * *count as f64)
                .sum();
            let least = entries.first().map_or(0.0, |(value, _)| *value as f64 / 1e6);
            line(
                &mut out,
                format_args!(
                    "{kind},{:.0},{},{sum:.3},{least:.3},{:.3},0,0,0",
                    point.second,
                    of_kind.count,
                    of_kind.max_us / 1e3
                ),
            );
        }
    }
    out
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("writing to a String cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;
    use mote_measure::Collector;

    #[test]
    fn every_line_has_the_columns_of_its_header() {
        let mut totals = Collector::new(KIND_NAMES.len());
        for (number, kind) in totals.kinds.iter_mut().enumerate() {
            kind.latency
                .record_n(2_000_000, 10 + number as u64)
                .expect("in range");
            kind.skipped = 3;
        }
        let outcome = RunOutcome::of(totals);
        let summary = Summary::new(
            &outcome,
            KIND_NAMES,
            Some(mote_workload::tpcc::mix::Kind::Delivery as usize),
            Some(mote_workload::tpcc::mix::Kind::DeliveryBackground as usize),
        );
        for text in [
            transaction_summary(&summary),
            short_summary(&summary),
            histogram(&outcome),
        ] {
            let columns = text.lines().map(|line| line.split(',').count());
            let columns: std::collections::BTreeSet<usize> = columns.collect();
            assert_eq!(columns.len(), 1, "{text}");
        }
        let text = transaction_summary(&summary);
        assert!(
            text.contains("\nDELIVERY_BG,15,0.000,0.002,0.002,80.0,0,0,3\n"),
            "{text}"
        );
        assert!(text.contains("\ntpmC,600.00,"), "{text}");
    }
}
