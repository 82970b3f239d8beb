//! What each experiment makes of the measurements: the published table, ours in the same shape, both ratios.
//!
//! The first system stands where the published page has its memory engine, every other one where it has the disk engine.
//!
//! Here are the ladders and what all sections share; `servers` has those about more servers than one and about restarts,
//! `memory` the one about working sets; `findings` tells what each comes to, for the summary.

mod findings;
mod memory;
mod servers;

use super::super::systems::Systems;
use super::measured::{INGEST_ROWS, Ladder, Measurements, Step};
use super::plan::Plan;
use super::published::Published;
use crate::command::experiments::NAMES;
use crate::report::charts;
use crate::report::section::{Section, Sourced, Table};
use crate::report::{Summary, table};

/// The connections at which X4 reads its latencies, and X11 its report.
const LATENCY_CONNECTIONS: usize = 64;
const REPORT_CONNECTIONS: usize = 20;

/// What sections are made from.
struct Maker<'a> {
    published: &'a Published,
    plan: &'a Plan,
    measured: &'a Measurements,
    systems: Vec<&'a str>,
}

pub fn all(published: &Published, plan: &Plan, systems: &Systems, measured: &Measurements) -> Vec<Section> {
    let maker = Maker {
        published,
        plan,
        measured,
        systems: systems
            .present
            .iter()
            .map(|system| system.name.as_str())
            .collect(),
    };
    NAMES.iter().map(|name| maker.section(name)).collect()
}

fn number(value: Option<f64>) -> String {
    match value {
        Some(value) if value.abs() >= 1_000.0 => table::grouped(value),
        Some(value) if value.abs() >= 100.0 => format!("{value:.0}"),
        Some(value) if value.is_finite() => format!("{value:.2}"),
        _ => "-".to_string(),
    }
}

/// A reason as it is given, with the full stop that it may have.
fn sentence(why: &str) -> String {
    format!("{}.", why.trim_end_matches('.'))
}

fn ratio(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.zip(b).filter(|(_, b)| *b > 0.0).map(|(a, b)| a / b)
}

fn nopm(step: &Step) -> f64 {
    step.summary.first_kind_per_minute()
}

impl Maker<'_> {
    fn section(&self, name: &'static str) -> Section {
        let (title, make): (&'static str, fn(&Self, &mut Section)) = match name {
            "X1" => ("Throughput, in memory against on disk", Self::x1),
            "X2" => ("Throughput per core", Self::x2),
            "X3" => ("Throughput by number of connections", Self::x3),
            "X4" => ("Latency by type", Self::x4),
            "X5" => ("Fail-over", Self::x5),
            "X6" => ("Cold start", Self::x6),
            "X7" => ("Use of the processors", Self::x7),
            "X8" => ("Ingest", Self::x8),
            "X9" => ("What a standby costs", Self::x9),
            "X10" => ("Two systems side by side by concurrency", Self::x10),
            "X11" => ("BenchmarkSQL's report", Self::x11),
            "X12" => ("A data set larger than the fast memory", Self::x12),
            _ => ("Scale-out", Self::x13),
        };
        let tables = self.published.tables(name).map(|one| {
            let shown = Table {
                title: one.title.clone(),
                header: one.header().into_iter().map(str::to_string).collect(),
                rows: one.text(),
            };
            Sourced {
                table: shown,
                source: self.published.source(one),
            }
        });
        let mut section = Section {
            name: name.to_string(),
            title: title.to_string(),
            published: tables.collect(),
            ours: Vec::new(),
            notes: Vec::new(),
            charts: Vec::new(),
            findings: Vec::new(),
            limits: Vec::new(),
        };
        make(self, &mut section);
        self.conclude(&mut section);
        section
    }

    fn first(&self) -> &str {
        self.systems[0]
    }

    fn table(&self, section: &mut Section, title: &str, header: &[&str], rows: Vec<Vec<String>>) {
        section.ours.push(Table {
            title: format!("measured here: {title}"),
            header: header.iter().map(|text| text.to_string()).collect(),
            rows,
        });
    }

    fn not_run(&self, section: &mut Section, ran: bool) -> bool {
        if !ran {
            section.notes.push("Not run this time (--only).".into());
        }
        !ran
    }

    fn scale(&self, section: &mut Section, published: &str) {
        section.notes.push(format!(
            "Scaled to this machine: {} processors, {} warehouse(s), {:.0} s a step; published: {published}.",
            self.plan.processors, self.plan.warehouses, self.plan.duration_s
        ));
    }

    fn failures(&self, section: &mut Section, connections: &[usize]) {
        for (system, at, why) in &self.measured.failures {
            if connections.contains(at) {
                section
                    .notes
                    .push(format!("{system} did not run at {at} connections: {why}."));
            }
        }
    }

    fn peak(&self, system: &str) -> Option<f64> {
        self.measured.peak(Ladder::Connections, system).map(nopm)
    }

    fn x1(&self, section: &mut Section) {
        if self.not_run(section, !self.plan.ladder.is_empty()) {
            return;
        }
        let first = self.peak(self.first());
        let published = self.published.table("X1").number(0, 3);
        let rows = self.systems.iter().map(|system| {
            let own = self.peak(system);
            let connections = self
                .measured
                .peak(Ladder::Connections, system)
                .map(|step| step.connections as f64);
            vec![
                system.to_string(),
                number(own),
                connections.map_or("-".into(), |connections| format!("{connections:.0}")),
                if *system == self.first() {
                    "-".into()
                } else {
                    number(ratio(first, own))
                },
                if *system == self.first() {
                    "-".into()
                } else {
                    number(published)
                },
            ]
        });
        let over = format!("{} / system", self.first());
        self.table(
            section,
            "highest NOPM of the ladder, single node",
            &["system", "NOPM", "at connections", &over, "published ratio"],
            rows.collect(),
        );
        section
            .notes
            .push("With a standby: X9, at one number of connections.".into());
        self.scale(section, "128 cores");
    }

    fn x2(&self, section: &mut Section) {
        if self.not_run(section, !self.plan.ladder.is_empty()) {
            return;
        }
        let rows = self.systems.iter().filter_map(|system| {
            let step = self.measured.peak(Ladder::Connections, system)?;
            let per_core = nopm(step) / self.plan.processors as f64;
            let per_server_core = step.summary.first_kind_per_server_cpu_s.map(|rate| rate * 60.0);
            Some(vec![
                system.to_string(),
                number(Some(per_core)),
                number(per_server_core),
                number(per_server_core.map(|rate| rate / 30_000.0)),
                number(per_server_core.map(|rate| rate / 40_000.0)),
            ])
        });
        let header = [
            "system",
            "NOPM per core",
            "NOPM per core that the server used",
            "of 30 k (ARM)",
            "of 40 k (x86)",
        ];
        self.table(section, "per core", &header, rows.collect());
        section.notes.push(
            "The driver runs on the same processors, so the second column is the one to compare. The published 40 k divide by \
             96 cores; another page of the same engine speaks of 192 threads at nearly 100 %, which would make it 20 k."
                .into(),
        );
    }

    fn x3(&self, section: &mut Section) {
        if self.not_run(section, !self.plan.ladder.is_empty()) {
            return;
        }
        let published = self.published.table("X3");
        let best = published
            .rows
            .iter()
            .filter_map(|row| row[1].as_f64())
            .fold(0.0, f64::max);
        let at = |row: usize| published.number(row, 1).map(|value| 100.0 * value / best);
        let rows = self.plan.ladder.iter().enumerate().map(|(row, &connections)| {
            let mut cells = vec![connections.to_string(), number(at(row))];
            let of_first = self
                .measured
                .step(Ladder::Connections, self.first(), connections)
                .map(nopm);
            for system in &self.systems {
                let own = self
                    .measured
                    .step(Ladder::Connections, system, connections)
                    .map(nopm);
                cells.push(number(own));
                cells.push(number(ratio(own, self.peak(system)).map(|share| 100.0 * share)));
                if *system != self.first() {
                    cells.push(number(ratio(of_first, own)));
                }
            }
            cells
        });
        let mut header = vec!["connections".to_string(), "published, % of its peak".to_string()];
        for system in &self.systems {
            header.push(format!("{system}, NOPM"));
            header.push("% of its peak".into());
            if *system != self.first() {
                header.push(format!("{} / {system}", self.first()));
            }
        }
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        self.table(section, "the same ladder", &header, rows.collect());
        self.ladder_charts(section, Ladder::Connections, &[("published, ARM 256 cores", 1)]);
        self.scale(section, "256 cores");
        self.failures(section, &self.plan.ladder);
    }

    /// NOPM, and the shape of the curve beside the published one.
    fn ladder_charts(&self, section: &mut Section, ladder: Ladder, published: &[(&str, usize)]) {
        let mut lines: Vec<(String, Vec<(f64, f64)>)> = self
            .systems
            .iter()
            .map(|system| {
                let points = self
                    .measured
                    .of(ladder, system)
                    .map(|step| (step.connections as f64, nopm(step)));
                (system.to_string(), points.collect())
            })
            .collect();
        section.charts.push(charts::ladder(
            "New orders per minute",
            "connections",
            "NOPM",
            &lines,
        ));
        let from = self.published.table(&section.name);
        for (name, column) in published {
            let points = (0..from.rows.len())
                .filter_map(|row| Some((from.number(row, 0)?, from.number(row, *column)?)));
            lines.push((name.to_string(), points.collect()));
        }
        for (_, points) in &mut lines {
            let best = points.iter().map(|point| point.1).fold(0.0, f64::max).max(1e-9);
            points.iter_mut().for_each(|point| point.1 *= 100.0 / best);
        }
        section.charts.push(charts::ladder(
            "Shape: share of the own peak",
            "connections",
            "%",
            &lines,
        ));
    }

    fn x4(&self, section: &mut Section) {
        if self.not_run(section, !self.plan.ladder.is_empty()) {
            return;
        }
        let published = self.published.table("X4");
        let step = |system: &str| {
            self.measured
                .step(Ladder::Connections, system, LATENCY_CONNECTIONS)
        };
        let kinds = published.rows.iter().enumerate().map(|(row, cells)| {
            let kind = cells[0].as_str().unwrap_or_default().to_string();
            let published_ratio = ratio(published.number(row, 2), published.number(row, 1));
            let own = |system: &str| step(system).and_then(|step| p90(&step.summary, &kind));
            let mut line = vec![kind.clone(), number(published_ratio)];
            for system in &self.systems {
                line.push(number(own(system)));
                if *system != self.first() {
                    line.push(number(ratio(own(system), own(self.first()))));
                }
            }
            line
        });
        let mut header = vec!["type".to_string(), "published, disk / memory".to_string()];
        for system in &self.systems {
            header.push(format!("{system}, ms"));
            if *system != self.first() {
                header.push(format!("{system} / {}", self.first()));
            }
        }
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        let title = format!("90th percentile at {LATENCY_CONNECTIONS} connections");
        self.table(section, &title, &header, kinds.collect());
        self.scale(section, "number of connections not told");
    }

    fn x7(&self, section: &mut Section) {
        if self.not_run(section, !self.plan.ladder.is_empty()) {
            return;
        }
        let share = |step: &Step, spent: f64| {
            100.0 * spent / (step.outcome.measured_s.max(1e-9) * self.plan.processors as f64)
        };
        let row = |step: &Step| {
            vec![
                format!("{} at {}", step.system, step.connections),
                number(Some(nopm(step))),
                number(step.summary.server_cpu_s.map(|spent| share(step, spent))),
                number(Some(share(step, step.summary.driver_cpu_s))),
                number(step.summary.server_cpu_us_per_transaction),
            ]
        };
        let header = [
            "system at connections",
            "NOPM",
            "server, % of all processors",
            "driver, %",
            "server CPU us per transaction",
        ];
        let peaks = self
            .systems
            .iter()
            .filter_map(|system| self.measured.peak(Ladder::Connections, system));
        self.table(section, "at its peak", &header, peaks.map(row).collect());
        let all = self
            .systems
            .iter()
            .flat_map(|system| self.measured.of(Ladder::Connections, system));
        self.table(
            section,
            "at each number of connections",
            &header,
            all.map(row).collect(),
        );
        for system in &self.systems {
            if let Some(step) = self.measured.peak(Ladder::Connections, system)
                && let Some(mut chart) = charts::machine(&step.outcome.system, &[]).into_iter().next()
            {
                chart.title = format!("{system} at {} connections: processors", step.connections);
                section.charts.push(chart);
            }
        }
        section.notes.push(
            "Driver and server share the processors here; the published server had them for itself.".into(),
        );
    }

    fn x8(&self, section: &mut Section) {
        if self.not_run(section, self.plan.ingest_connections > 0) {
            return;
        }
        const ROW_BYTES: f64 = 200.0;
        let cores = self.plan.processors as f64;
        let published = self.published.table("X8");
        let rows = self.systems.iter().filter_map(|system| {
            let step = self.measured.of(Ladder::Ingest, system).next()?;
            let rows_per_s = step.summary.transactions_per_s * INGEST_ROWS as f64;
            let per_core = rows_per_s / cores;
            Some(vec![
                system.to_string(),
                number(Some(rows_per_s)),
                number(Some(per_core)),
                number(Some(per_core * ROW_BYTES / 1e6)),
                number(Some(step.summary.kinds[0].mean_ms)),
                number(ratio(Some(per_core), published.number(0, 1))),
            ])
        });
        let header = [
            "system",
            "rows/s",
            "rows per core and second",
            "MB per core and second",
            "ms per insert, mean",
            "of the published rows",
        ];
        let title = format!(
            "{} connections, inserts of 10 rows, each durable",
            self.plan.ingest_connections
        );
        self.table(section, &title, &header, rows.collect());
        self.copied(section);
        self.scale(
            section,
            "500 connections x 2,000 rounds; here as long as a step lasts",
        );
        self.failures(section, &[self.plan.ingest_connections]);
    }

    fn x10(&self, section: &mut Section) {
        if self.not_run(section, !self.plan.side_by_side.is_empty()) {
            return;
        }
        for (published, ladder) in self
            .published
            .tables("X10")
            .zip(["first ladder", "second ladder"])
        {
            self.ladder_beside(section, published, ladder);
        }
        self.ladder_charts(
            section,
            Ladder::SideBySide,
            &[("published, Klustron", 1), ("published, Oracle", 2)],
        );
        self.scale(section, "50 and 500 warehouses on 16 cores");
        section.notes.push(format!(
            "Both ladders run here over the same {} warehouse(s): 500 would be 50 GB on each system, and are loaded neither in the \
             memory nor in the time that they share. So the second ladder shows what more connections do, not what more data \
             does; X12 shows that.",
            self.plan.warehouses
        ));
        self.failures(section, &self.plan.side_by_side);
    }

    /// A published ladder beside the same connections here.
    fn ladder_beside(&self, section: &mut Section, published: &super::published::Table, name: &str) {
        let steps =
            (0..published.rows.len()).filter_map(|row| Some((row, published.number(row, 0)? as usize)));
        let rows = steps.map(|(row, connections)| {
            let published_ratio = ratio(published.number(row, 2), published.number(row, 1));
            let mut line = vec![connections.to_string(), number(published_ratio)];
            let of = |system: &str| self.measured.step(Ladder::SideBySide, system, connections);
            let first = of(self.first()).map(nopm);
            for system in &self.systems {
                line.push(number(of(system).map(nopm)));
                line.push(number(
                    of(system).map(|step| step.summary.transactions_per_s * 60.0),
                ));
                if *system != self.first() {
                    line.push(number(ratio(first, of(system).map(nopm))));
                }
            }
            line
        });
        let mut header = vec![
            "connections".to_string(),
            "published, Oracle / Klustron".to_string(),
        ];
        for system in &self.systems {
            header.push(format!("{system}, NOPM"));
            header.push("all per minute".into());
            if *system != self.first() {
                header.push(format!("{} / {system}", self.first()));
            }
        }
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        self.table(
            section,
            &format!("{name}, weights 45/43/4/4/4, terminals change their warehouse"),
            &header,
            rows.collect(),
        );
    }

    fn x11(&self, section: &mut Section) {
        if self.not_run(section, !self.plan.side_by_side.is_empty()) {
            return;
        }
        for system in &self.systems {
            let Some(step) = self.measured.step(Ladder::SideBySide, system, REPORT_CONNECTIONS) else {
                continue;
            };
            let rows = step.summary.kinds.iter().map(|kind| {
                vec![
                    kind.name.to_string(),
                    table::milliseconds(kind.p90_ms),
                    table::milliseconds(kind.max_ms),
                    table::grouped(kind.count as f64),
                    format!("{:.2}", kind.share_percent),
                    kind.rollbacks.to_string(),
                    kind.errors.to_string(),
                    kind.skipped.to_string(),
                ]
            });
            let header = [
                "type",
                "90th %, ms",
                "maximum",
                "count",
                "percent",
                "rollback",
                "errors",
                "skipped deliveries",
            ];
            let title = format!(
                "{system}, {REPORT_CONNECTIONS} terminals: NOPM {}, all per minute {}",
                number(Some(nopm(step))),
                number(Some(step.summary.transactions_per_s * 60.0))
            );
            self.table(section, &title, &header, rows.collect());
            let wanted = ["Processors", "Disks: bytes", "Network"];
            for mut chart in charts::machine(&step.outcome.system, &[]) {
                if wanted.contains(&chart.title.as_str()) {
                    chart.title = format!("{system}: {}", chart.title.to_lowercase());
                    section.charts.push(chart);
                }
            }
        }
        self.scale(section, "50 warehouses");
    }
}

/// The 90th percentile of a type; `weighted` is the mean of all, weighted by how often each occurred.
fn p90(summary: &Summary, kind: &str) -> Option<f64> {
    if kind != "weighted" {
        return summary
            .kinds
            .iter()
            .find(|one| one.name == kind)
            .map(|one| one.p90_ms);
    }
    // Queueing a delivery is not a type of the published table.
    let counted = || summary.kinds.iter().filter(|one| one.name != "DELIVERY");
    let total: u64 = counted().map(|one| one.count).sum();
    let sum: f64 = counted().map(|one| one.p90_ms * one.count as f64).sum();
    (total > 0).then(|| sum / total as f64)
}
