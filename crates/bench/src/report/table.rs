//! Text tables for the terminal. Columns are as wide as their widest cell; numbers are right-aligned.

use std::fmt::Write;

use super::summary::{KindSummary, Summary};
use mote_measure::faults::Recoveries;
use mote_measure::statistics::{self, Metric};
use mote_workload::condition::ConditionVerdict;
use mote_workload::loader;
use mote_workload::tpcc::input_audit::Verdict;
use mote_workload::tpcc::ledger::LedgerVerdict;
use mote_workload::tpcc::shards::decisions::Recovered;

/// Lays out rows under a header; the first column is text, the others are numbers.
pub fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = header.iter().map(|title| title.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = String::new();
    let mut line = |cells: Vec<&str>| {
        for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            let pad = " ".repeat(width - cell.chars().count());
            let separator = if column == 0 { "" } else { " | " };
            if column == 0 {
                out.push_str(&format!("{cell}{pad}"))
            } else {
                out.push_str(&format!("{separator}{pad}{cell}"))
            }
        }
        out.push('\n');
    };
    line(header.to_vec());
    let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
    line(rules.iter().map(String::as_str).collect());
    for row in rows {
        line(row.iter().map(String::as_str).collect());
    }
    out
}

/// A number with thousands separated.
pub fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut out = String::new();
    if value < 0.0 {
        out.push('-');
    }
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Milliseconds with as many decimals as are worth reading.
pub fn milliseconds(value: f64) -> String {
    match value {
        v if v.is_nan() => "-".to_string(),
        v if v >= 1000.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.3}"),
    }
}

/// The table in BenchmarkSQL's form: one line per type.
pub fn latency_table(summary: &Summary) -> String {
    let header = [
        "type",
        "count",
        "share %",
        "mean ms",
        "p50",
        "p90",
        "p95",
        "p99",
        "p99.9",
        "max",
        "rollbacks",
        "skipped",
        "errors",
        "retries",
        "round trips",
        "bytes out",
        "bytes in",
    ];
    let rows: Vec<Vec<String>> = summary.kinds.iter().map(kind_row).collect();
    table(&header, &rows)
}

fn kind_row(kind: &KindSummary) -> Vec<String> {
    vec![
        kind.name.to_string(),
        grouped(kind.count as f64),
        if kind.share_percent == 0.0 {
            "-".into()
        } else {
            format!("{:.2}", kind.share_percent)
        },
        milliseconds(kind.mean_ms),
        milliseconds(kind.p50_ms),
        milliseconds(kind.p90_ms),
        milliseconds(kind.p95_ms),
        milliseconds(kind.p99_ms),
        milliseconds(kind.p999_ms),
        milliseconds(kind.max_ms),
        kind.rollbacks.to_string(),
        kind.skipped.to_string(),
        kind.errors.to_string(),
        kind.retries.to_string(),
        format!("{:.1}", kind.round_trips_per_transaction),
        grouped(kind.bytes_sent_per_transaction),
        grouped(kind.bytes_received_per_transaction),
    ]
}

/// An open loop's two clocks side by side: from when transactions were due, and from when they were begun.
pub fn open_loop_lines(summary: &Summary) -> String {
    let Some(open_loop) = &summary.open_loop else {
        return String::new();
    };
    let header = [
        "type",
        "response p50",
        "p99",
        "p99.9 ms",
        "service p50",
        "p99",
        "p99.9 ms",
        "begun late p50",
        "p99 ms",
    ];
    let shown = |value: Option<f64>| value.map_or("-".to_string(), milliseconds);
    let rows: Vec<Vec<String>> = summary
        .kinds
        .iter()
        .filter(|kind| kind.service_p50_ms.is_some())
        .map(|kind| {
            let mut row = vec![kind.name.to_string()];
            row.extend([kind.p50_ms, kind.p99_ms, kind.p999_ms].map(milliseconds));
            row.extend([kind.service_p50_ms, kind.service_p99_ms, kind.service_p999_ms].map(shown));
            row.extend([kind.delay_p50_ms, kind.delay_p99_ms].map(shown));
            row
        })
        .collect();
    format!(
        "{}\noffered {:.1} a second, achieved {:.1}, which is {:.2} %\n",
        table(&header, &rows),
        open_loop.offered_per_s,
        open_loop.achieved_per_s,
        100.0 * open_loop.achieved_share
    )
}

/// Errors by SQLSTATE, or one line that there were none.
pub fn error_table(summary: &Summary) -> String {
    if summary.errors.is_empty() {
        return "no errors, no retries\n".to_string();
    }
    let rows: Vec<Vec<String>> = summary
        .errors
        .iter()
        .map(|error| {
            let example = error.example.clone().unwrap_or_default();
            vec![
                error.sqlstate.clone(),
                error.failed.to_string(),
                error.retried.to_string(),
                example,
            ]
        })
        .collect();
    table(&["SQLSTATE", "failed", "retried", "first message"], &rows)
}

/// What the processors did.
pub fn resource_lines(summary: &Summary) -> String {
    let mut out = String::new();
    let mut line = |label: &str, value: String| {
        writeln!(out, "{label:<36} {value:>14}").expect("writing to a String cannot fail");
    };
    if let (Some(seconds), Some(each)) = (summary.server_cpu_s, summary.server_cpu_us_per_transaction) {
        line("server CPU, s", format!("{seconds:.2}"));
        line("server CPU per transaction, us", format!("{each:.1}"));
    }
    line("driver CPU, s", format!("{:.2}", summary.driver_cpu_s));
    line(
        "driver threads busy, %",
        format!("{:.0}", 100.0 * summary.driver_saturation),
    );
    line(
        "round trips per transaction",
        format!("{:.1}", summary.round_trips_per_transaction),
    );
    line("bytes per transaction", grouped(summary.bytes_per_transaction));
    if let Some(durability) = summary
        .durability
        .as_ref()
        .filter(|one| one.durable != Some(false))
    {
        writeln!(out, "durability: {}", durability.says()).expect("writing to a String cannot fail");
    }
    for warning in &summary.warnings {
        writeln!(out, "WARNING: {warning}").expect("writing to a String cannot fail");
    }
    out
}

pub fn pass(pass: bool) -> &'static str {
    if pass { "PASS" } else { "FAIL" }
}

/// What clients saw of the faults of a run.
pub fn recovery_lines(recoveries: &Recoveries) -> String {
    format!(
        "\n{}before the first fault: {} commits per second\n",
        table(&RECOVERY_HEADER, &recovery_rows(recoveries)),
        grouped(recoveries.former_per_s)
    )
}

pub fn recovery_rows(recoveries: &Recoveries) -> Vec<Vec<String>> {
    let shown = |seconds: Option<f64>| seconds.map_or("never".to_string(), |seconds| format!("{seconds:.2}"));
    let each = recoveries.faults.iter().map(|fault| {
        vec![
            fault.fault.to_string(),
            format!("{:.2}", fault.second),
            shown(fault.outage_s),
            shown(fault.first_answer_s),
            shown(fault.recovered_s),
        ]
    });
    each.collect()
}

pub const RECOVERY_HEADER: [&str; 5] = [
    "fault",
    "at, s",
    "no answer for, s",
    "first answer after, s",
    "90 % of before after, s",
];

pub fn load_lines(load: &loader::Report) -> String {
    let mut out = format!(
        "loaded {} rows, {:.0} MB in {:.1} s ({} rows/s, {:.0} MB/s)",
        grouped(load.rows as f64),
        load.bytes as f64 / 1e6,
        load.copy_s,
        grouped(load.rows_per_s),
        load.mb_per_s,
    );
    for (phase, seconds) in &load.phases {
        out += &format!("; {phase} {seconds:.1} s");
    }
    out += &format!("; statistics {:.1} s\n", load.analyze_s);
    if load.resumed_units > 0 {
        out += &format!(
            "resumed: {} of {} units were there\n",
            load.resumed_units, load.units
        );
    }
    if load.reconnects > 0 {
        out += &format!("the server was lost {} times and came back\n", load.reconnects);
    }
    for note in &load.notes {
        out += &format!("note: {note}\n");
    }
    out
}

/// What was left prepared by somebody who did not finish it.
pub fn recovered_line(recovered: Recovered) -> String {
    format!(
        "prepared and left behind: {} committed, {} rolled back",
        recovered.committed, recovered.rolled_back
    )
}

pub fn condition_line(verdict: &ConditionVerdict) -> String {
    let remark = match (&verdict.error, verdict.violations) {
        (Some(error), _) => format!("  {error}"),
        (None, Some(0)) => String::new(),
        (None, violations) => format!("  {} violations", violations.unwrap_or(-1)),
    };
    let ConditionVerdict {
        number,
        says,
        seconds,
        ..
    } = verdict;
    format!(
        "{} condition {number:>2}  {says:<72} {seconds:>7.2} s{remark}",
        pass(verdict.pass)
    )
}

/// PASS, FAIL, or NOTE for what fails nothing.
pub fn verdict_word(verdict: &Verdict) -> &'static str {
    if verdict.pass == verdict.holds() {
        pass(verdict.pass)
    } else {
        "NOTE"
    }
}

/// What a value has to lie in.
pub fn bounds(verdict: &Verdict) -> String {
    match verdict.high.is_finite() {
        true => format!("in {:.2} to {:.2}", verdict.low, verdict.high),
        false => format!("at least {:.2}", verdict.low),
    }
}

pub fn audit_lines(verdicts: &[Verdict]) -> String {
    let lines = verdicts.iter().map(|verdict| {
        let Verdict {
            what,
            value,
            unit,
            sample,
            ..
        } = verdict;
        format!(
            "{} {what:<62} {value:>8.3} {unit:<1} ({}, n = {sample})\n",
            verdict_word(verdict),
            bounds(verdict)
        )
    });
    lines.collect()
}

pub fn ledger_lines(verdict: &LedgerVerdict) -> String {
    let mut out = String::new();
    let mut line = |ok: bool, what: String, orders: &[(i32, i32, i32)]| {
        let examples: Vec<String> = orders
            .iter()
            .take(5)
            .map(|(w, d, o)| format!("{w}/{d}/{o}"))
            .collect();
        let shown = if examples.is_empty() {
            String::new()
        } else {
            format!(": {} ...", examples.join(", "))
        };
        writeln!(out, "{} {what}{shown}", pass(ok)).expect("writing to a String cannot fail");
    };
    let LedgerVerdict {
        missing,
        reissued,
        different,
        half,
        unaccounted,
        ..
    } = verdict;
    line(
        missing.is_empty(),
        format!(
            "{} of {} acknowledged orders are missing",
            missing.len(),
            verdict.acknowledged
        ),
        missing,
    );
    line(
        reissued.is_empty(),
        format!(
            "{} order numbers were acknowledged twice: the first order is lost",
            reissued.len()
        ),
        reissued,
    );
    line(
        different.is_empty(),
        format!("{} acknowledged orders are stored differently", different.len()),
        different,
    );
    line(
        half.is_empty(),
        format!("{} orders are half there", half.len()),
        half,
    );
    let allowed = match verdict.unaccounted_allowed {
        Some(allowed) => format!("at most {allowed} could be"),
        None => "the driver was killed, so this proves nothing".to_string(),
    };
    line(
        verdict
            .unaccounted_allowed
            .is_none_or(|allowed| unaccounted.len() <= allowed),
        format!(
            "{} orders are in the database that nobody has a record of ({allowed})",
            unaccounted.len()
        ),
        unaccounted,
    );
    let (committed, absent) = (verdict.unknown_committed, verdict.unknown_absent);
    writeln!(
        out,
        "     {} orders had lost their answer: {committed} exist, {absent} do not",
        committed + absent
    )
    .expect("writing to a String cannot fail");
    out
}

pub const COMPARISON_HEADER: [&str; 7] = ["type", "figure", "A", "B", "B / A", "interval", "verdict"];

/// A line of a table of comparisons. Latencies are in milliseconds.
pub fn comparison_row(kind: &str, one: &statistics::Comparison) -> Vec<String> {
    let value = |value: f64| {
        if one.metric == Metric::Throughput.name() {
            grouped(value)
        } else {
            milliseconds(value)
        }
    };
    vec![
        kind.to_string(),
        one.metric.clone(),
        value(one.base),
        value(one.other),
        format!("{:.3}", one.ratio),
        if one.high.is_finite() {
            format!("{:.3} to {:.3}", one.low, one.high)
        } else {
            "too little to tell".to_string()
        },
        one.verdict.word().to_string(),
    ]
}

/// Seconds since 1970 as a date and a time.
pub fn utc(unix_time_s: i64) -> String {
    jiff::Timestamp::from_second(unix_time_s).map_or_else(
        |_| format!("second {unix_time_s}"),
        |moment| moment.strftime("%Y-%m-%d %H:%M").to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(utc(0), "1970-01-01 00:00");
        assert_eq!(utc(951_825_540), "2000-02-29 11:59");
        assert_eq!(utc(1_735_689_599), "2024-12-31 23:59");
    }

    #[test]
    fn columns_line_up() {
        let text = table(
            &["a", "number"],
            &[
                vec!["long name".into(), "1".into()],
                vec!["b".into(), "12345678".into()],
            ],
        );
        let lengths: Vec<usize> = text.lines().map(|line| line.chars().count()).collect();
        assert!(lengths.windows(2).all(|pair| pair[0] == pair[1]), "{text}");
    }

    #[test]
    fn numbers() {
        assert_eq!(grouped(1_234_567.0), "1,234,567");
        assert_eq!(grouped(999.0), "999");
        assert_eq!(grouped(-1000.0), "-1,000");
        assert_eq!(milliseconds(0.0123), "0.012");
        assert_eq!(milliseconds(12.34), "12.3");
        assert_eq!(milliseconds(12345.6), "12346");
    }
}
