//! A histogram as the list of its buckets that were hit: small enough to keep one per type and second of a long run, and
//! to write into a report. Histograms of equal precision merge exactly.
//!
//! Invariant: values ascend, and no count is zero.

use std::collections::BTreeMap;

use hdrhistogram::{Counter, Histogram};
use serde::{Deserialize, Serialize};

/// (highest value of the bucket in nanoseconds, how often it was hit). Written as `[[value, count], ...]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Buckets(Vec<(u64, u64)>);

impl Buckets {
    pub fn of<C: Counter>(histogram: &Histogram<C>) -> Buckets {
        let hit = histogram.iter_recorded();
        Buckets(
            hit.map(|bucket| (bucket.value_iterated_to(), bucket.count_since_last_iteration()))
                .collect(),
        )
    }

    pub fn merge<'a>(parts: impl IntoIterator<Item = &'a Buckets>) -> Buckets {
        let mut sum: BTreeMap<u64, u64> = BTreeMap::new();
        for (value, count) in parts.into_iter().flat_map(|part| &part.0) {
            *sum.entry(*value).or_default() += count;
        }
        Buckets(sum.into_iter().collect())
    }

    pub fn entries(&self) -> &[(u64, u64)] {
        &self.0
    }

    pub fn count(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The highest value of the bucket that the largest value fell into; 0 of an empty histogram.
    pub fn max(&self) -> u64 {
        self.0.last().map_or(0, |(value, _)| *value)
    }

    /// The smallest bucket below whose upper end lies at least this share of all values; 0 of an empty histogram.
    pub fn quantile(&self, share: f64) -> u64 {
        let rank = ((share * self.count() as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for (value, count) in &self.0 {
            seen += count;
            if seen >= rank {
                return *value;
            }
        }
        self.max()
    }
}

#[cfg(test)]
mod tests {
    use mote_common::prng::Prng;

    use super::*;
    use crate::collector::{interval_histogram, run_histogram};

    #[test]
    fn says_what_the_histogram_says() {
        let (mut prng, mut histogram) = (Prng::new(7), run_histogram());
        for _ in 0..20_000 {
            let exponent = 3.0 + 6.0 * prng.unit();
            histogram
                .record(10f64.powf(exponent) as u64)
                .expect("below an hour");
        }
        let buckets = Buckets::of(&histogram);
        assert_eq!(buckets.count(), 20_000);
        for share in [0.01, 0.5, 0.9, 0.99, 0.999, 1.0] {
            assert_eq!(
                buckets.quantile(share),
                histogram.value_at_quantile(share),
                "{share}"
            );
        }
        assert_eq!(buckets.max(), histogram.max());
    }

    #[test]
    fn merging_is_exact_and_survives_writing() {
        let (mut prng, mut parts, mut whole) = (Prng::new(8), Vec::new(), interval_histogram());
        for _ in 0..5 {
            let mut part = interval_histogram();
            for _ in 0..1_000 {
                part.record(prng.between(1_000, 90_000_000) as u64)
                    .expect("in range");
            }
            whole.add(&part).expect("equal bounds");
            let text = serde_json::to_string(&Buckets::of(&part)).expect("plain numbers");
            parts.push(serde_json::from_str::<Buckets>(&text).expect("what was written"));
        }
        assert_eq!(Buckets::merge(&parts), Buckets::of(&whole));
        assert_eq!(Buckets::merge([]).quantile(0.99), 0);
    }
}
