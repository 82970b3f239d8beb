//! Latencies and outcomes by transaction type, for one driver thread and mergeable.
//!
//! Two sets of histograms: the run's (three significant digits, 1 us to 1 h) takes only what ends in the measured
//! window; the interval's (two digits) takes everything and is handed over each second for the series over time.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use mote_driver::session::Traffic;

/// Answers are counted in stretches of this length: finer than any recovery, coarser than a busy client's pause.
pub const BEAT_NS: u64 = 10_000_000;
const HIGHEST_NS: u64 = 3_600_000_000_000;

/// A run's histogram: nanoseconds, resolved to 1 us or 0.1 %.
pub fn run_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1_000, HIGHEST_NS, 3).expect("constant bounds are valid")
}

/// An interval's histogram: smaller, since there is one per type and second.
pub fn interval_histogram() -> Histogram<u32> {
    Histogram::new_with_bounds(1_000, HIGHEST_NS, 2).expect("constant bounds are valid")
}

/// A transaction that ended as the workload wants it to: committed, or rolled back on purpose.
pub struct Sample {
    pub kind: usize,
    /// From when it was due to its last answer.
    pub latency_ns: u64,
    /// From when it was begun, where transactions are due whether or not somebody is free to begin them.
    pub service_ns: Option<u64>,
    pub rolled_back: bool,
    /// Deliveries that found no order, for instance.
    pub skipped: u32,
    pub retries: u32,
    pub traffic: Traffic,
}

#[derive(Clone)]
pub struct KindTotals {
    pub latency: Histogram<u64>,
    /// Empty in a closed loop, where it would say the same.
    pub service: Histogram<u64>,
    /// From when it was due to when it was begun; empty as `service` is.
    pub delay: Histogram<u64>,
    pub rolled_back: u64,
    pub skipped: u64,
    /// Transactions that skipped something.
    pub skipping: u64,
    pub retries: u64,
    pub errors: u64,
    pub traffic: Traffic,
}

/// What happened within one tick, over all types.
pub struct Interval {
    pub tick: u64,
    /// When the interval ended, on the run's clock.
    pub at_ns: u64,
    pub latency: Vec<Histogram<u32>>,
    /// Failed transactions, and attempts that were run again, by SQLSTATE.
    pub errors: BTreeMap<String, u64>,
    pub retries: BTreeMap<String, u64>,
}

impl Interval {
    pub fn new(kinds: usize) -> Interval {
        let latency = (0..kinds).map(|_| interval_histogram()).collect();
        Interval {
            tick: 0,
            at_ns: 0,
            latency,
            errors: BTreeMap::new(),
            retries: BTreeMap::new(),
        }
    }

    pub fn merge(&mut self, other: &Interval) {
        for (mine, theirs) in self.latency.iter_mut().zip(&other.latency) {
            mine.add(theirs)
                .expect("all interval histograms have the same bounds");
        }
        add_counts(&mut self.errors, &other.errors);
        add_counts(&mut self.retries, &other.retries);
        self.at_ns = self.at_ns.max(other.at_ns);
    }
}

pub struct Collector {
    pub kinds: Vec<KindTotals>,
    /// Failed transactions by SQLSTATE.
    pub errors: BTreeMap<String, u64>,
    /// One message per SQLSTATE, so that a report says what the code meant.
    pub examples: BTreeMap<String, String>,
    /// Attempts that were run again, by SQLSTATE.
    pub retried: BTreeMap<String, u64>,
    pub reconnects: u64,
    /// Answers of committed transactions in stretches of [`BEAT_NS`] of the run's clock.
    pub beats: Vec<u32>,
    interval: Interval,
}

impl Collector {
    pub fn new(kinds: usize) -> Collector {
        let empty = KindTotals {
            latency: run_histogram(),
            service: run_histogram(),
            delay: run_histogram(),
            rolled_back: 0,
            skipped: 0,
            skipping: 0,
            retries: 0,
            errors: 0,
            traffic: Traffic::default(),
        };
        Collector {
            kinds: vec![empty; kinds],
            errors: BTreeMap::new(),
            examples: BTreeMap::new(),
            retried: BTreeMap::new(),
            reconnects: 0,
            beats: Vec::new(),
            interval: Interval::new(kinds),
        }
    }

    pub fn success(&mut self, sample: Sample, measured: bool) {
        self.interval.latency[sample.kind].saturating_record(sample.latency_ns.max(1));
        if !measured {
            return;
        }
        let totals = &mut self.kinds[sample.kind];
        totals.latency.saturating_record(sample.latency_ns.max(1));
        if let Some(service_ns) = sample.service_ns {
            totals.service.saturating_record(service_ns.max(1));
            let delay_ns = sample.latency_ns.saturating_sub(service_ns);
            totals.delay.saturating_record(delay_ns.max(1));
        }
        totals.rolled_back += sample.rolled_back as u64;
        totals.skipped += sample.skipped as u64;
        totals.skipping += (sample.skipped > 0) as u64;
        totals.retries += sample.retries as u64;
        totals.traffic.add(sample.traffic);
    }

    /// A commit was answered.
    pub fn beat(&mut self, at_ns: u64) {
        let beat = (at_ns / BEAT_NS) as usize;
        if self.beats.len() <= beat {
            self.beats.resize(beat + 1, 0);
        }
        self.beats[beat] += 1;
    }

    /// A transaction that was given up.
    pub fn failure(&mut self, kind: usize, sqlstate: &str, message: impl FnOnce() -> String, measured: bool) {
        count(&mut self.interval.errors, sqlstate);
        if !self.examples.contains_key(sqlstate) {
            self.examples.insert(sqlstate.to_string(), message());
        }
        if measured {
            self.kinds[kind].errors += 1;
            count(&mut self.errors, sqlstate);
        }
    }

    /// An attempt that failed in a way that invites another one.
    pub fn retry(&mut self, sqlstate: &str, measured: bool) {
        count(&mut self.interval.retries, sqlstate);
        if measured {
            count(&mut self.retried, sqlstate);
        }
    }

    /// Hands over what happened since the last call.
    pub fn take_interval(&mut self, tick: u64, at_ns: u64) -> Interval {
        let fresh = Interval::new(self.kinds.len());
        let mut interval = std::mem::replace(&mut self.interval, fresh);
        interval.tick = tick;
        interval.at_ns = at_ns;
        interval
    }

    pub fn merge(&mut self, other: &Collector) {
        for (mine, theirs) in self.kinds.iter_mut().zip(&other.kinds) {
            for (mine, theirs) in [
                (&mut mine.latency, &theirs.latency),
                (&mut mine.service, &theirs.service),
                (&mut mine.delay, &theirs.delay),
            ] {
                mine.add(theirs).expect("all run histograms have the same bounds");
            }
            mine.rolled_back += theirs.rolled_back;
            mine.skipped += theirs.skipped;
            mine.skipping += theirs.skipping;
            mine.retries += theirs.retries;
            mine.errors += theirs.errors;
            mine.traffic.add(theirs.traffic);
        }
        add_counts(&mut self.errors, &other.errors);
        add_counts(&mut self.retried, &other.retried);
        for (sqlstate, message) in &other.examples {
            self.examples
                .entry(sqlstate.clone())
                .or_insert_with(|| message.clone());
        }
        self.reconnects += other.reconnects;
        if self.beats.len() < other.beats.len() {
            self.beats.resize(other.beats.len(), 0);
        }
        for (mine, theirs) in self.beats.iter_mut().zip(&other.beats) {
            *mine += theirs;
        }
    }
}

fn add_counts(map: &mut BTreeMap<String, u64>, from: &BTreeMap<String, u64>) {
    for (sqlstate, number) in from {
        *map.entry(sqlstate.clone()).or_default() += number;
    }
}

fn count(map: &mut BTreeMap<String, u64>, sqlstate: &str) {
    match map.get_mut(sqlstate) {
        Some(number) => *number += 1,
        None => {
            map.insert(sqlstate.to_string(), 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(latency_ns: u64) -> Sample {
        Sample {
            kind: 0,
            latency_ns,
            service_ns: None,
            rolled_back: false,
            skipped: 0,
            retries: 1,
            traffic: Traffic::default(),
        }
    }

    #[test]
    fn merging_equals_recording_in_one() {
        let (mut left, mut right, mut whole) = (Collector::new(1), Collector::new(1), Collector::new(1));
        for i in 1..=10_000u64 {
            let latency_ns = i * 7_919 % 50_000_000;
            if i % 3 == 0 {
                left.success(sample(latency_ns), true)
            } else {
                right.success(sample(latency_ns), true)
            }
            whole.success(sample(latency_ns), true);
        }
        left.merge(&right);
        assert_eq!(left.kinds[0].latency, whole.kinds[0].latency);
        assert_eq!(left.kinds[0].retries, 10_000);
    }

    #[test]
    fn the_warm_up_reaches_only_the_series() {
        let mut collector = Collector::new(1);
        collector.success(sample(5_000), false);
        collector.failure(0, "40001", || "serialization".into(), false);
        assert_eq!(collector.kinds[0].latency.len(), 0);
        assert!(collector.errors.is_empty());
        let interval = collector.take_interval(3, 0);
        assert_eq!((interval.tick, interval.latency[0].len()), (3, 1));
        assert_eq!(interval.errors, BTreeMap::from([("40001".to_string(), 1)]));
        assert_eq!(collector.take_interval(4, 0).latency[0].len(), 0);
    }

    #[test]
    fn precision_is_three_digits_above_a_microsecond() {
        let mut histogram = run_histogram();
        histogram.record(123_456_789).expect("in range");
        let error = histogram.max() as f64 / 123_456_789.0 - 1.0;
        assert!(error.abs() < 0.001, "{error}");
    }
}
