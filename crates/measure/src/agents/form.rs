//! What was counted, in the form in which it crosses the network: histograms as lists of the buckets that were hit.
//!
//! Promise: a histogram that is written here and read there is the same, and a sum of such is the one that a single driver
//! would have counted. Buckets are named by their highest value, which falls into the same bucket of an equal histogram.

use std::collections::BTreeMap;

use hdrhistogram::{Counter, Histogram};
use serde::{Deserialize, Serialize};

use super::super::buckets::Buckets;
use super::super::collector::{BEAT_NS, Collector, Interval, KindTotals, interval_histogram, run_histogram};
use mote_driver::session::Traffic;

/// One tick of an agent's driver threads, on the agent's clock.
#[derive(Debug, Serialize, Deserialize)]
pub struct IntervalForm {
    tick: u64,
    at_ns: u64,
    latency: Vec<Buckets>,
    errors: BTreeMap<String, u64>,
    retries: BTreeMap<String, u64>,
}

impl IntervalForm {
    pub fn of(interval: &Interval) -> IntervalForm {
        IntervalForm {
            tick: interval.tick,
            at_ns: interval.at_ns,
            latency: interval.latency.iter().map(Buckets::of).collect(),
            errors: interval.errors.clone(),
            retries: interval.retries.clone(),
        }
    }

    /// `offset_ns` is what the own clock shows more than the agent's.
    pub fn interval(self, kinds: usize, offset_ns: i64) -> Result<Interval, String> {
        let mut interval = Interval::new(kinds);
        if self.latency.len() != kinds {
            return Err("it counts other types of transactions".into());
        }
        for (histogram, buckets) in interval.latency.iter_mut().zip(&self.latency) {
            *histogram = histogram_of(interval_histogram(), buckets)?;
        }
        interval.tick = self.tick;
        interval.at_ns = self.at_ns.saturating_add_signed(offset_ns);
        (interval.errors, interval.retries) = (self.errors, self.retries);
        Ok(interval)
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct KindForm {
    latency: Buckets,
    service: Buckets,
    delay: Buckets,
    rolled_back: u64,
    skipped: u64,
    skipping: u64,
    retries: u64,
    errors: u64,
    round_trips: u64,
    bytes_sent: u64,
    bytes_received: u64,
}

/// All that an agent's terminals have counted.
#[derive(Debug, Serialize, Deserialize)]
pub struct CollectorForm {
    kinds: Vec<KindForm>,
    errors: BTreeMap<String, u64>,
    examples: BTreeMap<String, String>,
    retried: BTreeMap<String, u64>,
    reconnects: u64,
    beats: Vec<u32>,
}

impl CollectorForm {
    pub fn of(collector: &Collector) -> CollectorForm {
        let kinds = collector.kinds.iter().map(|kind| KindForm {
            latency: Buckets::of(&kind.latency),
            service: Buckets::of(&kind.service),
            delay: Buckets::of(&kind.delay),
            rolled_back: kind.rolled_back,
            skipped: kind.skipped,
            skipping: kind.skipping,
            retries: kind.retries,
            errors: kind.errors,
            round_trips: kind.traffic.round_trips,
            bytes_sent: kind.traffic.bytes_sent,
            bytes_received: kind.traffic.bytes_received,
        });
        CollectorForm {
            kinds: kinds.collect(),
            errors: collector.errors.clone(),
            examples: collector.examples.clone(),
            retried: collector.retried.clone(),
            reconnects: collector.reconnects,
            beats: collector.beats.clone(),
        }
    }

    /// As if it had been counted here, with the beats on the own clock.
    pub fn collector(self, kinds: usize, offset_ns: i64) -> Result<Collector, String> {
        if self.kinds.len() != kinds {
            return Err("it counts other types of transactions".into());
        }
        let mut collector = Collector::new(kinds);
        for (totals, form) in collector.kinds.iter_mut().zip(self.kinds) {
            *totals = form.totals()?;
        }
        (collector.errors, collector.examples, collector.retried) =
            (self.errors, self.examples, self.retried);
        collector.reconnects = self.reconnects;
        collector.beats = shifted(self.beats, (offset_ns as f64 / BEAT_NS as f64).round() as i64);
        Ok(collector)
    }
}

impl KindForm {
    fn totals(self) -> Result<KindTotals, String> {
        Ok(KindTotals {
            latency: histogram_of(run_histogram(), &self.latency)?,
            service: histogram_of(run_histogram(), &self.service)?,
            delay: histogram_of(run_histogram(), &self.delay)?,
            rolled_back: self.rolled_back,
            skipped: self.skipped,
            skipping: self.skipping,
            retries: self.retries,
            errors: self.errors,
            traffic: Traffic {
                round_trips: self.round_trips,
                bytes_sent: self.bytes_sent,
                bytes_received: self.bytes_received,
            },
        })
    }
}

/// `empty` has the bounds that the histogram had from which the buckets were taken.
fn histogram_of<C: Counter>(mut empty: Histogram<C>, buckets: &Buckets) -> Result<Histogram<C>, String> {
    for (value, count) in buckets.entries() {
        let count = C::from_u64(*count).ok_or("a count is too large")?;
        empty
            .record_n(*value, count)
            .map_err(|error| format!("its histograms are of another kind: {error}"))?;
    }
    Ok(empty)
}

/// Beats so many places later; those from before the own clock began are dropped, as nobody was measured then.
fn shifted(beats: Vec<u32>, places: i64) -> Vec<u32> {
    if places < 0 {
        return beats.into_iter().skip(places.unsigned_abs() as usize).collect();
    }
    // Both clocks begin when a run is set up: a shift of more than that takes is no clock's.
    let mut later = vec![0; (places as usize).min(super::SHIFT_MAX)];
    later.extend(beats);
    later
}

#[cfg(test)]
mod tests {
    use mote_common::prng::Prng;

    use super::*;
    use crate::Sample;

    fn sample(prng: &mut Prng) -> Sample {
        Sample {
            kind: prng.between(0, 1) as usize,
            latency_ns: 10f64.powf(3.0 + 6.0 * prng.unit()) as u64,
            service_ns: (prng.between(0, 1) == 1).then_some(40_000),
            rolled_back: prng.between(0, 9) == 0,
            skipped: prng.between(0, 2) as u32,
            retries: prng.between(0, 2) as u32,
            traffic: Traffic {
                round_trips: 7,
                bytes_sent: 100,
                bytes_received: 1_000,
            },
        }
    }

    fn there_and_back(collector: &Collector) -> Collector {
        let text = serde_json::to_string(&CollectorForm::of(collector)).expect("plain numbers");
        let form: CollectorForm = serde_json::from_str(&text).expect("what was written");
        form.collector(2, 0).expect("the same kinds")
    }

    #[test]
    fn the_sum_of_what_agents_send_is_what_one_driver_counts() {
        let mut whole = Collector::new(2);
        let mut parts = [Collector::new(2), Collector::new(2)];
        let mut prng = Prng::new(5);
        for number in 0..20_000u64 {
            let drawn = prng.clone();
            whole.success(sample(&mut prng), true);
            parts[(number % 2) as usize].success(sample(&mut drawn.clone()), true);
            for collector in [&mut whole, &mut parts[(number % 2) as usize]] {
                collector.beat(number * 1_000_000);
                if number % 100 == 0 {
                    collector.failure(1, "40P01", || "deadlock".into(), true);
                    collector.retry("40001", true);
                }
            }
        }
        let mut sum = Collector::new(2);
        for part in &parts {
            sum.merge(&there_and_back(part));
        }
        for (one, other) in sum.kinds.iter().zip(&whole.kinds) {
            assert_eq!(one.latency, other.latency);
            assert_eq!(one.service, other.service);
            assert_eq!(one.delay, other.delay);
            assert_eq!(one.latency.max(), other.latency.max());
            assert_eq!(
                (
                    one.rolled_back,
                    one.skipped,
                    one.skipping,
                    one.retries,
                    one.errors
                ),
                (
                    other.rolled_back,
                    other.skipped,
                    other.skipping,
                    other.retries,
                    other.errors
                )
            );
            assert_eq!(one.traffic, other.traffic);
        }
        assert_eq!((&sum.errors, &sum.retried), (&whole.errors, &whole.retried));
        assert_eq!((&sum.beats, &sum.examples), (&whole.beats, &whole.examples));
    }

    #[test]
    fn intervals_arrive_on_the_own_clock() {
        let mut collector = Collector::new(2);
        let mut prng = Prng::new(6);
        for _ in 0..1_000 {
            collector.success(sample(&mut prng), true);
        }
        let interval = collector.take_interval(3, 3_000_000_500);
        let form = IntervalForm::of(&interval);
        assert!(form.interval(3, 0).is_err());
        let read = IntervalForm::of(&interval)
            .interval(2, -500)
            .expect("equal kinds");
        assert_eq!((read.tick, read.at_ns), (3, 3_000_000_000));
        assert_eq!(read.latency, interval.latency);
    }

    #[test]
    fn beats_are_shifted_and_a_foreign_histogram_is_refused() {
        assert_eq!(shifted(vec![1, 2, 3], 2), [0, 0, 1, 2, 3]);
        assert_eq!(shifted(vec![1, 2, 3], -2), [3]);
        assert_eq!(shifted(vec![1, 2, 3], -9), [0; 0]);
        let foreign: Buckets = serde_json::from_str("[[18446744073709551615, 1]]").expect("a list");
        assert!(histogram_of(run_histogram(), &foreign).is_err());
    }
}
