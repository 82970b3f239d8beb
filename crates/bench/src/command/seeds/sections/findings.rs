//! What each experiment comes to: the first system beside each other one, how many times as good, and how sure that is.
//!
//! An interval comes from drawing blocks of the compared steps' seconds again (`mote_measure::statistics`): it knows how a step
//! varied within itself, not what differs from run to run. Figures that are one number of one run have none.

use super::super::measured::{Ladder, Step};
use super::{LATENCY_CONNECTIONS, Maker, REPORT_CONNECTIONS, ratio};
use crate::report::section::{Finding, Section, Table, UNBOUNDED};
use mote_measure::statistics::{self, Block, Metric, Plan};

/// In all `Summary`s of order entry and of ingest the type that is compared.
const FIRST_KIND: usize = 0;

impl Maker<'_> {
    /// Adds the section's findings and limits.
    pub(super) fn conclude(&self, section: &mut Section) {
        let name = section.name.clone();
        let others = || self.systems.iter().skip(1).copied();
        for other in others() {
            let found = match name.as_str() {
                "X1" => self.throughput("highest NOPM, single node", other, |system| {
                    self.measured.peak(Ladder::Connections, system)
                }),
                "X2" => self.once("NOPM per core that the server used", other, |system| {
                    self.measured
                        .peak(Ladder::Connections, system)?
                        .summary
                        .first_kind_per_server_cpu_s
                }),
                "X3" => self.throughput(&self.at_most_connections(&self.plan.ladder), other, |system| {
                    self.measured
                        .step(Ladder::Connections, system, *self.plan.ladder.last()?)
                }),
                "X4" => self.p90(LATENCY_CONNECTIONS, other, Ladder::Connections),
                "X5" => self.once("seconds without an answer after a kill", other, |system| {
                    let found = self
                        .measured
                        .fail_overs
                        .iter()
                        .find(|found| found.system == system)?;
                    Some(1.0 / found.recovery.first_answer_s?)
                }),
                "X6" => self.once("restart, seconds until every row was read", other, |system| {
                    let found = self
                        .measured
                        .restarts
                        .iter()
                        .find(|found| found.system == system)?;
                    Some(1.0 / found.all_read_s)
                }),
                "X7" => self.once("server CPU per transaction, at the peak", other, |system| {
                    let peak = self.measured.peak(Ladder::Connections, system)?;
                    Some(1.0 / peak.summary.server_cpu_us_per_transaction?)
                }),
                "X8" => self.throughput("rows a second, inserts of 10", other, |system| {
                    self.measured.of(Ladder::Ingest, system).next()
                }),
                "X9" => self.once("throughput kept with a standby", other, |system| {
                    let nopm = |ladder| Some(super::nopm(self.measured.of(ladder, system).next()?));
                    ratio(nopm(Ladder::WithStandby), nopm(Ladder::Alone))
                }),
                "X10" => self.throughput(
                    &self.at_most_connections(&self.plan.side_by_side),
                    other,
                    |system| {
                        self.measured
                            .step(Ladder::SideBySide, system, *self.plan.side_by_side.last()?)
                    },
                ),
                "X11" => self.p90(REPORT_CONNECTIONS, other, Ladder::SideBySide),
                "X12" => self.once("throughput kept in the whole data set", other, |system| {
                    self.kept_outside(system)
                }),
                _ => None,
            };
            let published = self.published_times(&name);
            section
                .findings
                .extend(found.map(|found| Finding { published, ..found }));
            let copied = (name == "X8")
                .then(|| self.once("rows a second, COPY", other, |system| self.copy_rate(system)));
            section.findings.extend(copied.flatten());
        }
        self.limits(section);
    }

    /// The published memory engine beside the disk engine, where that is what we compare.
    fn published_times(&self, name: &str) -> Option<f64> {
        let table = self.published.table(name);
        match name {
            "X1" => table.number(0, 3),
            "X4" => ratio(table.number(0, 2), table.number(0, 1)),
            // Lost are 7 % in memory, 20 % on disk.
            "X9" => ratio(
                table.number(0, 1).map(|lost| 100.0 - lost),
                table.number(0, 2).map(|lost| 100.0 - lost),
            ),
            _ => None,
        }
    }

    fn at_most_connections(&self, ladder: &[usize]) -> String {
        format!("NOPM at {} connections", ladder.last().copied().unwrap_or(0))
    }

    fn throughput<'s>(
        &'s self,
        what: &str,
        other: &str,
        step: impl Fn(&str) -> Option<&'s Step>,
    ) -> Option<Finding> {
        self.compared(what, other, step, Metric::Throughput)
    }

    fn p90(&self, connections: usize, other: &str, ladder: Ladder) -> Option<Finding> {
        let what = format!("new order, p90 at {connections} connections");
        let step = |system: &str| self.measured.step(ladder, system, connections);
        self.compared(&what, other, step, Metric::Quantile(0.9))
    }

    fn compared<'s>(
        &'s self,
        what: &str,
        other: &str,
        step: impl Fn(&str) -> Option<&'s Step>,
        metric: Metric,
    ) -> Option<Finding> {
        let (own, others) = (blocks(step(self.first())?), blocks(step(other)?));
        let plan = Plan {
            paired: false,
            ..Plan::default()
        };
        // More is better of throughput, less of a latency: `times` is always how good the first system is.
        let (base, compared) = match metric {
            Metric::Throughput => (&others, &own),
            Metric::Quantile(_) => (&own, &others),
        };
        let found = statistics::compare(base, compared, &[metric], plan)
            .into_iter()
            .next()?;
        found.ratio.is_finite().then(|| Finding {
            what: what.to_string(),
            system: other.to_string(),
            published: None,
            times: found.ratio,
            // JSON has no infinity, and a run that goes on reads it again.
            interval: Some((found.low, found.high.min(UNBOUNDED))),
        })
    }

    /// Of a figure that is better the larger it is.
    fn once(&self, what: &str, other: &str, of: impl Fn(&str) -> Option<f64>) -> Option<Finding> {
        Some(Finding {
            what: what.to_string(),
            system: other.to_string(),
            published: None,
            times: ratio(of(self.first()), of(other)).filter(|times| times.is_finite())?,
            interval: None,
        })
    }

    /// X12: throughput in all warehouses over that in few.
    fn kept_outside(&self, system: &str) -> Option<f64> {
        let mean = |window: i32| {
            let steps = self.measured.of(Ladder::Window, system);
            let own: Vec<f64> = steps
                .filter(|step| step.connections == window as usize)
                .map(super::nopm)
                .collect();
            (!own.is_empty()).then(|| own.iter().sum::<f64>() / own.len() as f64)
        };
        let (few, all) = (self.plan.window_warehouses(), self.plan.warehouses);
        (few < all).then(|| ratio(mean(all), mean(few)))?
    }

    fn copy_rate(&self, system: &str) -> Option<f64> {
        let copied = self
            .measured
            .copies
            .iter()
            .find(|copied| copied.system == system)?;
        Some(copied.rows as f64 / copied.seconds.max(1e-9))
    }

    /// What X8 has by COPY.
    pub(super) fn copied(&self, section: &mut Section) {
        let cores = self.plan.processors as f64;
        let rows = self.measured.copies.iter().map(|copied| {
            let rate = copied.rows as f64 / copied.seconds.max(1e-9);
            let megabytes = copied.bytes as f64 / copied.seconds.max(1e-9) / 1e6;
            vec![
                copied.system.clone(),
                super::number(Some(rate)),
                super::number(Some(rate / cores)),
                super::number(Some(megabytes / cores)),
                super::number(Some(copied.rows as f64)),
            ]
        });
        let rows: Vec<Vec<String>> = rows.collect();
        let Some(first) = self.measured.copies.first() else {
            return;
        };
        section.ours.push(Table {
            title: format!(
                "measured here: the same rows by COPY (MariaDB: LOAD DATA), {} connections",
                first.connections
            ),
            header: [
                "system",
                "rows/s",
                "rows per core and second",
                "MB per core and second",
                "rows",
            ]
            .map(String::from)
            .to_vec(),
            rows,
        });
    }

    /// What cannot be compared in a section.
    fn limits(&self, section: &mut Section) {
        let mut limit = |what: String| section.limits.push(what);
        for (system, at, why) in &self.measured.failures {
            let is_ours = match section.name.as_str() {
                "X3" => self.plan.ladder.contains(at),
                "X8" => self.plan.ingest_connections == *at,
                "X10" => self.plan.side_by_side.contains(at),
                _ => false,
            };
            if is_ours {
                limit(format!("{system} has no figure at {at} connections: {why}"));
            }
        }
        let (missing, what) = match section.name.as_str() {
            "X5" => (&self.measured.not_failed_over, "did not fail over"),
            "X6" => (&self.measured.not_restarted, "was not started anew"),
            "X9" => (&self.measured.no_standby, "has no standby here"),
            _ => (&Vec::new(), ""),
        };
        for (system, why) in missing {
            limit(format!("{system} {what}: {why}"));
        }
        if section.name == "X13" && self.plan.shard_connections > 0 {
            limit("mote alone, over 1, 2 and 4 servers on one machine: they share its processors, so nothing can grow".into());
        }
    }
}

/// A step's seconds of its first type, in blocks that hardly depend on each other.
fn blocks(step: &Step) -> Vec<Block> {
    let measured = step.outcome.series.iter().filter(|point| point.second > 0.0);
    let seconds: Vec<Block> = measured
        .map(|point| Block {
            seconds: point.seconds,
            latency: point.kinds[FIRST_KIND].latency.clone(),
        })
        .collect();
    statistics::blocks_of_short(&seconds)
}
