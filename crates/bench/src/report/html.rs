//! One self-contained HTML page: figures, charts drawn as SVG, settings, proofs. No script, no external file.

use serde_json::Value;

use super::chart::chart;
use super::summary::Summary;
use super::table::{self, grouped, milliseconds};
use crate::measure::run::{SeriesKind, SeriesPoint};
use crate::workload::tpcc::mix::KIND_NAMES;
use crate::workload::tpcc::{DEVIATIONS, DISCLAIMER, Experiment};

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;\
color:#1b1f24;background:#fff}h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}table{border-collapse:collapse;\
font-variant-numeric:tabular-nums;display:block;overflow-x:auto}th,td{padding:.25rem .6rem;text-align:right;\
border-bottom:1px solid #d0d7de;white-space:nowrap}th:first-child,td:first-child{text-align:left}\
.big{display:flex;gap:2.5rem;flex-wrap:wrap}.big div{font-size:1.7rem;font-weight:600}.big small{display:block;\
font-size:.8rem;font-weight:400;color:#59636e}.pass{color:#1a7f37}.fail{color:#cf222e;font-weight:600}\
svg{width:100%;height:auto}svg text{font:11px system-ui,sans-serif;fill:#59636e}.warn{color:#9a6700}\
footer{margin-top:2rem;color:#59636e;font-size:.85rem}@media(prefers-color-scheme:dark){body{color:#e6edf3;\
background:#0d1117}th,td{border-color:#30363d}.big small,footer,svg text{color:#8d96a0;fill:#8d96a0}}";

/// The page of a TPC-C experiment.
pub fn tpcc(experiment: &Experiment, summary: &Summary, remarks: &[String]) -> String {
    let mut page = Page::new("Order entry (TPC-C derived)");
    page.put(&format!(
        "<p>{} on {}, {} warehouses, {} terminals</p>",
        escape(&experiment.server_version),
        escape(&experiment.target),
        experiment.warehouses,
        experiment.terminals
    ));
    let mut big = vec![
        (
            "new orders per minute (NOPM)",
            grouped(summary.first_kind_per_minute()),
        ),
        (
            "transactions per minute",
            grouped(summary.transactions_per_s * 60.0),
        ),
    ];
    if let Some(rate) = summary.first_kind_per_server_cpu_s {
        big.push(("new orders per server CPU second", grouped(rate)));
    }
    if let Some(each) = summary.server_cpu_us_per_transaction {
        big.push(("server CPU us per transaction", format!("{each:.0}")));
    }
    page.big(&big);
    for warning in summary.warnings.iter().chain(&experiment.warnings).chain(remarks) {
        page.put(&format!("<p class=warn>{}</p>", escape(warning)));
    }
    page.heading("Latency by type, in milliseconds");
    page.latencies(summary);
    if let Some(outcome) = &experiment.outcome {
        page.series(&outcome.series);
    }
    page.errors(summary);
    page.proofs(experiment);
    page.heading("Settings");
    page.settings(&serde_json::to_value(&experiment.settings).unwrap_or(Value::Null));
    page.put("<footer><p>");
    page.put(&escape(DISCLAIMER));
    page.put("</p><ul>");
    for deviation in DEVIATIONS {
        page.put(&format!("<li>{}</li>", escape(deviation)));
    }
    page.put("</ul></footer>");
    page.finish()
}

/// What the page of a checkpoint experiment shows.
pub struct CheckpointPicture {
    /// Latencies of new orders in milliseconds, and new orders a minute, by second.
    pub p99: Vec<(f64, f64)>,
    pub p50: Vec<(f64, f64)>,
    pub new_orders: Vec<(f64, f64)>,
    /// Above zero while a checkpoint runs.
    pub running: Vec<(f64, f64)>,
    pub rise_percent: f64,
    pub rows: Vec<Vec<String>>,
}

/// The page of a checkpoint experiment.
pub fn checkpoint(picture: &CheckpointPicture, settings: &Value) -> String {
    let mut page = Page::new("Latency while checkpoints run");
    page.big(&[(
        "99th percentile of new orders while a checkpoint runs",
        format!("{:+.0} %", picture.rise_percent),
    )]);
    let header = [
        "",
        "quiet p50 ms",
        "with p50",
        "quiet p99 ms",
        "with p99",
        "p99 rise",
    ];
    page.rows(&header, &picture.rows);
    page.heading("New orders, ms; the last line is high while a checkpoint runs");
    let lines = [
        ("p99", picture.p99.clone()),
        ("p50", picture.p50.clone()),
        ("checkpoint", picture.running.clone()),
    ];
    page.put(&chart(&lines, false));
    page.heading("New orders per minute");
    page.put(&chart(&[("NOPM", picture.new_orders.clone())], false));
    page.heading("Settings");
    page.settings(settings);
    page.put(&format!("<footer><p>{}</p></footer>", escape(DISCLAIMER)));
    page.finish()
}

struct Page(String);

impl Page {
    fn new(title: &str) -> Page {
        let title = escape(title);
        Page(format!(
            "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>\
             <title>{title}</title><style>{STYLE}</style><h1>{title}</h1>\n"
        ))
    }

    fn put(&mut self, html: &str) {
        self.0.push_str(html);
    }

    fn finish(mut self) -> String {
        self.put("\n</html>\n");
        self.0
    }

    fn heading(&mut self, text: &str) {
        self.put(&format!("\n<h2>{}</h2>\n", escape(text)));
    }

    fn big(&mut self, figures: &[(&str, String)]) {
        self.put("<div class=big>");
        for (label, value) in figures {
            self.put(&format!(
                "<div>{}<small>{}</small></div>",
                escape(value),
                escape(label)
            ));
        }
        self.put("</div>");
    }

    fn rows(&mut self, header: &[&str], rows: &[Vec<String>]) {
        self.put("<table><tr>");
        for title in header {
            self.put(&format!("<th>{}</th>", escape(title)));
        }
        self.put("</tr>");
        for row in rows {
            self.put("<tr>");
            for cell in row {
                let class = match cell.as_str() {
                    "PASS" => " class=pass",
                    "FAIL" => " class=fail",
                    _ => "",
                };
                self.put(&format!("<td{class}>{}</td>", escape(cell)));
            }
            self.put("</tr>\n");
        }
        self.put("</table>");
    }

    fn latencies(&mut self, summary: &Summary) {
        let header = [
            "type",
            "count",
            "share %",
            "mean",
            "p50",
            "p90",
            "p95",
            "p99",
            "p99.9",
            "max",
            "rollbacks",
            "errors",
            "retries",
            "round trips",
        ];
        let rows: Vec<Vec<String>> = summary
            .kinds
            .iter()
            .map(|kind| {
                let latencies = [
                    kind.mean_ms,
                    kind.p50_ms,
                    kind.p90_ms,
                    kind.p95_ms,
                    kind.p99_ms,
                    kind.p999_ms,
                    kind.max_ms,
                ];
                let mut row = vec![
                    kind.name.to_string(),
                    grouped(kind.count as f64),
                    format!("{:.2}", kind.share_percent),
                ];
                row.extend(latencies.iter().map(|latency| milliseconds(*latency)));
                row.extend(
                    [kind.rollbacks, kind.errors, kind.retries]
                        .iter()
                        .map(u64::to_string),
                );
                row.push(format!("{:.1}", kind.round_trips_per_transaction));
                row
            })
            .collect();
        self.rows(&header, &rows);
    }

    fn series(&mut self, series: &[SeriesPoint]) {
        let rate = |point: &SeriesPoint| point.kinds[0].count as f64 * 60.0 / point.seconds.max(1e-9);
        self.heading("New orders per minute, over time");
        let nopm = series.iter().map(|point| (point.second, rate(point))).collect();
        self.put(&chart(&[("NOPM", nopm)], false));
        let percentile = |kind: usize, value: fn(&SeriesKind) -> f64| -> Vec<(f64, f64)> {
            let with_work = series.iter().filter(|point| point.kinds[kind].count > 0);
            with_work
                .map(|point| (point.second, value(&point.kinds[kind]) / 1e3))
                .collect()
        };
        // Queueing a delivery takes no time; its line would only stretch the scale.
        let kinds = [0, 1, 2, 3, 5];
        for (title, value) in [
            (
                "99th percentile by type, ms (logarithmic)",
                (|kind| kind.p99_us) as fn(&SeriesKind) -> f64,
            ),
            ("Median by type, ms (logarithmic)", |kind| kind.p50_us),
        ] {
            self.heading(title);
            let lines: Vec<(&str, Vec<(f64, f64)>)> = kinds
                .iter()
                .map(|&kind| (KIND_NAMES[kind], percentile(kind, value)))
                .collect();
            self.put(&chart(&lines, true));
        }
    }

    fn errors(&mut self, summary: &Summary) {
        if summary.errors.is_empty() {
            return;
        }
        self.heading("Errors by SQLSTATE");
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
        self.rows(&["SQLSTATE", "failed", "retried", "first message"], &rows);
    }

    fn proofs(&mut self, experiment: &Experiment) {
        let verdict = |pass: bool| if pass { "PASS" } else { "FAIL" }.to_string();
        if !experiment.conditions.is_empty() {
            self.heading("Consistency conditions (clause 3.3.2)");
            let rows: Vec<Vec<String>> = experiment
                .conditions
                .iter()
                .map(|condition| {
                    let violations = condition
                        .violations
                        .map_or("-".to_string(), |number| number.to_string());
                    let says = format!("{}. {}", condition.number, condition.says);
                    vec![
                        says,
                        verdict(condition.pass),
                        violations,
                        format!("{:.2}", condition.seconds),
                    ]
                })
                .collect();
            self.rows(&["condition", "verdict", "violations", "seconds"], &rows);
        }
        if !experiment.audit.is_empty() {
            self.heading("Inputs and shares (clauses 5.2 and 9.2.2.5)");
            let rows: Vec<Vec<String>> = experiment
                .audit
                .iter()
                .map(|line| {
                    vec![
                        line.what.to_string(),
                        if line.pass == line.holds() {
                            verdict(line.pass)
                        } else {
                            "note".to_string()
                        },
                        format!("{:.3}", line.value),
                        format!("{} {}", table::bounds(line), line.unit),
                    ]
                })
                .collect();
            self.rows(&["input", "verdict", "value", "allowed"], &rows);
        }
    }

    fn settings(&mut self, settings: &Value) {
        let rows: Vec<Vec<String>> = settings
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, value)| vec![name.replace('_', " "), value.to_string()])
            .collect();
        self.rows(&["setting", "value"], &rows);
    }
}

/// Text as HTML shows it.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}
