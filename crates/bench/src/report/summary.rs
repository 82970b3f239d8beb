//! The figures of a run, computed once and shown in every form.

use std::collections::BTreeMap;

use serde::Serialize;

use mote_measure::RunOutcome;
use mote_measure::collector::KindTotals;
use mote_measure::durability::Durability;

/// One transaction type. Latencies in milliseconds; NaN, null in JSON, where the run cannot say (see [`OpenLoopSummary`]).
#[derive(Clone, Debug, Serialize)]
pub struct KindSummary {
    pub name: &'static str,
    pub count: u64,
    pub share_percent: f64,
    pub mean_ms: f64,
    pub p50_ms: f64,
    pub p90_ms: f64,
    pub p95_ms: f64,
    pub p99_ms: f64,
    pub p999_ms: f64,
    pub max_ms: f64,
    /// From when it was begun, in an open loop; all else counts from when it was due.
    pub service_p50_ms: Option<f64>,
    pub service_p99_ms: Option<f64>,
    pub service_p999_ms: Option<f64>,
    /// From when it was due to when it was begun, in an open loop.
    pub delay_p50_ms: Option<f64>,
    pub delay_p99_ms: Option<f64>,
    pub rollbacks: u64,
    pub skipped: u64,
    pub errors: u64,
    pub retries: u64,
    pub round_trips_per_transaction: f64,
    pub bytes_sent_per_transaction: f64,
    pub bytes_received_per_transaction: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct ErrorSummary {
    pub sqlstate: String,
    /// Transactions given up.
    pub failed: u64,
    /// Attempts that were run again.
    pub retried: u64,
    pub example: Option<String>,
}

/// What an open loop asked for and got.
#[derive(Clone, Debug, Serialize)]
pub struct OpenLoopSummary {
    pub offered_per_s: f64,
    pub achieved_per_s: f64,
    /// Below [`ACHIEVED_MIN`] a queue grew to the end of the run: its tail would be longer in a longer run, so that tail
    /// percentiles say nothing and are left out.
    pub achieved_share: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    pub measured_s: f64,
    pub kinds: Vec<KindSummary>,
    /// Transactions of all types per second. A delivery counts once, when it is done.
    pub transactions_per_s: f64,
    pub open_loop: Option<OpenLoopSummary>,
    pub durability: Option<Durability>,
    pub errors: Vec<ErrorSummary>,
    pub retries: u64,
    pub reconnects: u64,
    pub abandoned: usize,
    pub server_cpu_s: Option<f64>,
    pub server_cpu_us_per_transaction: Option<f64>,
    pub first_kind_per_server_cpu_s: Option<f64>,
    pub driver_cpu_s: f64,
    pub driver_saturation: f64,
    pub round_trips_per_transaction: f64,
    pub bytes_per_transaction: f64,
    pub warnings: Vec<String>,
}

/// Above this share of its threads' time the driver may be what limits the run.
const SATURATION_MAX: f64 = 0.8;
/// An open loop that does less of what was due than this did not keep up.
pub const ACHIEVED_MIN: f64 = 0.99;

impl Summary {
    /// `queued` names a type whose transactions are done under another name (queueing a delivery): it does not
    /// count as work done. `done_later` is that other name: it does not count as a terminal's transaction.
    pub fn new(
        outcome: &RunOutcome,
        names: &'static [&'static str],
        queued: Option<usize>,
        done_later: Option<usize>,
    ) -> Summary {
        let totals = &outcome.totals;
        let count_without = |left_out: Option<usize>| -> u64 {
            let kept = totals
                .kinds
                .iter()
                .enumerate()
                .filter(|(index, _)| Some(*index) != left_out);
            kept.map(|(_, kind)| kind.latency.len()).sum()
        };
        let asked = count_without(done_later).max(1) as f64;
        let done = count_without(queued).max(1) as f64;
        let kinds: Vec<KindSummary> = names
            .iter()
            .zip(&totals.kinds)
            .enumerate()
            .map(|(index, (name, kind))| {
                let share = if Some(index) == done_later {
                    0.0
                } else {
                    100.0 * kind.latency.len() as f64 / asked
                };
                KindSummary::new(name, kind, share)
            })
            .collect();
        let all_traffic = totals.kinds.iter().fold((0u64, 0u64), |(trips, bytes), kind| {
            let traffic = kind.traffic;
            (
                trips + traffic.round_trips,
                bytes + traffic.bytes_sent + traffic.bytes_received,
            )
        });
        let first = totals.kinds.first().map_or(0, |kind| kind.latency.len()) as f64;
        let mut summary = Summary {
            measured_s: outcome.measured_s,
            kinds,
            transactions_per_s: if outcome.measured_s > 0.0 {
                count_without(queued) as f64 / outcome.measured_s
            } else {
                0.0
            },
            open_loop: None,
            durability: None,
            errors: errors(totals),
            retries: totals.retried.values().sum(),
            reconnects: totals.reconnects,
            abandoned: outcome.abandoned,
            server_cpu_s: outcome.server_cpu_s,
            server_cpu_us_per_transaction: outcome.server_cpu_s.map(|seconds| seconds * 1e6 / done),
            first_kind_per_server_cpu_s: outcome
                .server_cpu_s
                .filter(|s| *s > 0.0)
                .map(|seconds| first / seconds),
            driver_cpu_s: outcome.driver_cpu_s,
            driver_saturation: outcome.driver_saturation,
            round_trips_per_transaction: all_traffic.0 as f64 / done,
            bytes_per_transaction: all_traffic.1 as f64 / done,
            warnings: Vec::new(),
        };
        if let Some(offered) = outcome.offered {
            summary.judge_open_loop(offered as f64, asked, outcome.measured_s);
        }
        summary.warn();
        summary
    }

    /// Adds the evidence that commits waited for a disk; `writing` are the types that write.
    pub fn with_durability(mut self, outcome: &RunOutcome, writing: &[usize], connections: usize) -> Summary {
        let durability = Durability::of(outcome, writing, connections);
        if durability.durable == Some(false) {
            self.warnings.push(durability.says());
        }
        self.durability = Some(durability);
        self
    }

    fn judge_open_loop(&mut self, offered: f64, achieved: f64, measured_s: f64) {
        let achieved_share = achieved / offered.max(1.0);
        self.open_loop = Some(OpenLoopSummary {
            offered_per_s: offered / measured_s.max(1e-9),
            achieved_per_s: achieved / measured_s.max(1e-9),
            achieved_share,
        });
        if achieved_share < ACHIEVED_MIN {
            self.warnings.push(format!(
                "only {:.1} % of what was due was done: the queue grew to the end, so that percentiles above p90 would only \
                 tell how long the run was, and are left out",
                100.0 * achieved_share
            ));
            for kind in &mut self.kinds {
                for tail in [
                    &mut kind.p95_ms,
                    &mut kind.p99_ms,
                    &mut kind.p999_ms,
                    &mut kind.max_ms,
                ] {
                    *tail = f64::NAN;
                }
            }
        }
    }

    fn warn(&mut self) {
        if self.driver_saturation > SATURATION_MAX {
            self.warnings.push(format!(
                "the driver's threads were busy {:.0} % of the time: these figures may measure the driver; use more \
                 --driver-threads or another machine",
                100.0 * self.driver_saturation
            ));
        }
        if self.abandoned > 0 {
            self.warnings.push(format!(
                "{} terminals got no answer at the end and were abandoned",
                self.abandoned
            ));
        }
        if self.server_cpu_s.is_none() {
            self.warnings.push("the server's processor time is unknown: it runs elsewhere, was restarted, or --server-pid is needed".to_string());
        }
    }

    /// Per minute.
    pub fn first_kind_per_minute(&self) -> f64 {
        let count = self.kinds.first().map_or(0, |kind| kind.count);
        if self.measured_s > 0.0 {
            count as f64 * 60.0 / self.measured_s
        } else {
            0.0
        }
    }
}

impl KindSummary {
    fn new(name: &'static str, totals: &KindTotals, share_percent: f64) -> KindSummary {
        let latency = &totals.latency;
        let count = latency.len();
        let at = |quantile: f64| latency.value_at_quantile(quantile) as f64 / 1e6;
        let (service, delay) = (&totals.service, &totals.delay);
        let service_at =
            |quantile: f64| (!service.is_empty()).then(|| service.value_at_quantile(quantile) as f64 / 1e6);
        let delay_at =
            |quantile: f64| (!delay.is_empty()).then(|| delay.value_at_quantile(quantile) as f64 / 1e6);
        let per_transaction = |number: u64| number as f64 / count.max(1) as f64;
        KindSummary {
            name,
            count,
            share_percent,
            mean_ms: if count == 0 { 0.0 } else { latency.mean() / 1e6 },
            p50_ms: at(0.5),
            p90_ms: at(0.9),
            p95_ms: at(0.95),
            p99_ms: at(0.99),
            p999_ms: at(0.999),
            max_ms: if count == 0 {
                0.0
            } else {
                latency.max() as f64 / 1e6
            },
            service_p50_ms: service_at(0.5),
            service_p99_ms: service_at(0.99),
            service_p999_ms: service_at(0.999),
            delay_p50_ms: delay_at(0.5),
            delay_p99_ms: delay_at(0.99),
            rollbacks: totals.rolled_back,
            skipped: totals.skipped,
            errors: totals.errors,
            retries: totals.retries,
            round_trips_per_transaction: per_transaction(totals.traffic.round_trips),
            bytes_sent_per_transaction: per_transaction(totals.traffic.bytes_sent),
            bytes_received_per_transaction: per_transaction(totals.traffic.bytes_received),
        }
    }
}

fn errors(totals: &mote_measure::Collector) -> Vec<ErrorSummary> {
    let mut by_state: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (sqlstate, number) in &totals.errors {
        by_state.entry(sqlstate).or_default().0 += number;
    }
    for (sqlstate, number) in &totals.retried {
        by_state.entry(sqlstate).or_default().1 += number;
    }
    let entries = by_state
        .into_iter()
        .map(|(sqlstate, (failed, retried))| ErrorSummary {
            sqlstate: sqlstate.to_string(),
            failed,
            retried,
            example: totals.examples.get(sqlstate).cloned(),
        });
    entries.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mote_driver::session::Traffic;
    use mote_measure::{Collector, Sample};

    #[test]
    fn shares_rates_and_traffic() {
        let mut totals = Collector::new(3);
        let traffic = Traffic {
            round_trips: 4,
            bytes_sent: 100,
            bytes_received: 300,
        };
        for (kind, count) in [(0, 60), (1, 40), (2, 40)] {
            for _ in 0..count {
                let sample = Sample {
                    kind,
                    latency_ns: 2_000_000,
                    service_ns: None,
                    rolled_back: false,
                    skipped: 0,
                    retries: 0,
                    traffic,
                };
                totals.success(sample, true);
            }
        }
        totals.failure(0, "40001", || "serialization".into(), true);
        let outcome = RunOutcome {
            server_cpu_s: Some(2.0),
            driver_cpu_s: 9.0,
            driver_saturation: 0.9,
            measured_s: 10.0,
            ..RunOutcome::of(totals)
        };
        let summary = Summary::new(&outcome, &["A", "QUEUED", "DONE"], Some(1), Some(2));
        assert_eq!(summary.kinds[0].share_percent, 60.0);
        assert_eq!(summary.transactions_per_s, 10.0);
        assert_eq!(summary.first_kind_per_minute(), 360.0);
        assert_eq!(summary.server_cpu_us_per_transaction, Some(20_000.0));
        assert!((summary.kinds[0].p99_ms - 2.0).abs() < 0.01);
        assert_eq!(summary.kinds[0].bytes_received_per_transaction, 300.0);
        assert_eq!(summary.errors[0].failed, 1);
        assert_eq!(summary.warnings.len(), 1);
    }

    #[test]
    fn an_open_loop_that_falls_behind_tells_no_tail() {
        let summary = |offered: u64| {
            let mut totals = Collector::new(1);
            for _ in 0..980 {
                let sample = Sample {
                    kind: 0,
                    latency_ns: 5_000_000,
                    service_ns: Some(2_000_000),
                    rolled_back: false,
                    skipped: 0,
                    retries: 0,
                    traffic: Traffic::default(),
                };
                totals.success(sample, true);
            }
            let outcome = RunOutcome {
                offered: Some(offered),
                ..RunOutcome::of(totals)
            };
            Summary::new(&outcome, &["A"], None, None)
        };
        let (kept, behind) = (summary(985), summary(1_000));
        assert!((kept.kinds[0].p999_ms - 5.0).abs() < 0.01);
        assert!(
            kept.kinds[0]
                .service_p99_ms
                .is_some_and(|ms| (ms - 2.0).abs() < 0.01)
        );
        let delay = kept.kinds[0].delay_p99_ms.expect("an open loop");
        assert!((delay - 3.0).abs() < 0.01, "{delay}");
        assert!(behind.kinds[0].p99_ms.is_nan() && (behind.kinds[0].p50_ms - 5.0).abs() < 0.01);
        let open_loop = behind.open_loop.expect("it was one");
        assert_eq!(
            (open_loop.offered_per_s, open_loop.achieved_share),
            (1_000.0, 0.98)
        );
    }
}
