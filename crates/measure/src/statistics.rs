//! How sure a comparison of two systems is: bootstrap intervals for ratios, and verdicts.
//!
//! The units that are drawn again are blocks of seconds that belong together: a whole round of a comparison, or several
//! seconds of one long run. Seconds of one run resemble each other, so drawing them one by one would promise too much.
//! Rounds are paired: a round's disturbance hits both systems and is drawn together. Few units make percentile intervals
//! too narrow; they are widened as Student's distribution widens the normal one (Hesterberg 2014, "expanded percentile").
//!
//! Leaves out: whether a difference matters. It says whether one is there.

use mote_common::prng::Prng;
use serde::Serialize;

use super::buckets::Buckets;

/// What one system did in one block: how long, and the latencies of what it completed.
#[derive(Clone, Debug, Default)]
pub struct Block {
    pub seconds: f64,
    pub latency: Buckets,
}

/// A figure that is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    Throughput,
    /// A latency's quantile.
    Quantile(f64),
}

impl Metric {
    pub fn name(self) -> String {
        match self {
            Metric::Throughput => "throughput".to_string(),
            Metric::Quantile(share) => {
                let percent = format!("{:.2}", share * 100.0);
                format!("p{}", percent.trim_end_matches('0').trim_end_matches('.'))
            }
        }
    }

    fn more_is_better(self) -> bool {
        self == Metric::Throughput
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Faster,
    Slower,
    Undecided,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Undecided => "undecided",
        }
    }
}

/// One figure of two systems.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    pub metric: String,
    pub base: f64,
    pub other: f64,
    /// other / base, and its interval.
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
    pub verdict: Verdict,
}

/// How two series of blocks are compared.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Chance that the interval holds the truth, over all metrics together.
    pub confidence: f64,
    pub resamples: usize,
    pub seed: u64,
    /// Block i of one system belongs to block i of the other.
    pub paired: bool,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            confidence: 0.99,
            resamples: 2_000,
            seed: 1,
            paired: true,
        }
    }
}

/// Fewer blocks say nothing about how much they vary.
pub const BLOCKS_MIN: usize = 4;

/// One system's blocks in a form that is quick to draw from: quantiles of a sum of blocks are found by bisection.
struct Sample {
    seconds: Vec<f64>,
    /// All values of all blocks, ascending.
    values: Vec<u64>,
    /// By block and value: how many of the block are at most as large.
    at_most: Vec<Vec<u64>>,
}

impl Sample {
    fn new(blocks: &[Block]) -> Sample {
        let all = Buckets::merge(blocks.iter().map(|block| &block.latency));
        let values: Vec<u64> = all.entries().iter().map(|(value, _)| *value).collect();
        let cumulate = |block: &Block| {
            let (mut entries, mut sum) = (block.latency.entries().iter().peekable(), 0);
            let sums = values.iter().map(|value| {
                while let Some((_, count)) = entries.next_if(|(entry, _)| entry <= value) {
                    sum += count;
                }
                sum
            });
            sums.collect()
        };
        Sample {
            seconds: blocks.iter().map(|block| block.seconds).collect(),
            at_most: blocks.iter().map(cumulate).collect(),
            values,
        }
    }

    /// The figure of the drawn blocks taken together; quantiles in milliseconds.
    fn figure(&self, metric: Metric, drawn: &[usize]) -> f64 {
        let at_most = |place: usize| -> u64 { drawn.iter().map(|block| self.at_most[*block][place]).sum() };
        let Some(last) = self.values.len().checked_sub(1) else {
            return 0.0;
        };
        let count = at_most(last);
        match metric {
            Metric::Throughput => {
                count as f64
                    / drawn
                        .iter()
                        .map(|block| self.seconds[*block])
                        .sum::<f64>()
                        .max(1e-9)
            }
            Metric::Quantile(share) => {
                let rank = ((share * count as f64).ceil() as u64).max(1);
                let (mut low, mut high) = (0, last);
                while low < high {
                    let middle = (low + high) / 2;
                    if at_most(middle) < rank {
                        low = middle + 1
                    } else {
                        high = middle
                    }
                }
                self.values[low] as f64 / 1e6
            }
        }
    }

    fn blocks(&self) -> usize {
        self.seconds.len()
    }
}

/// Compares `other` with `base`. Each metric's interval is as wide as it takes for all of them to hold at once.
pub fn compare(base: &[Block], other: &[Block], metrics: &[Metric], plan: Plan) -> Vec<Comparison> {
    let level = 1.0 - (1.0 - plan.confidence) / metrics.len().max(1) as f64;
    let (base, other) = (Sample::new(base), Sample::new(other));
    let whole = |sample: &Sample, metric| sample.figure(metric, &(0..sample.blocks()).collect::<Vec<_>>());
    let each = metrics.iter().map(|&metric| {
        let (at_base, at_other) = (whole(&base, metric), whole(&other, metric));
        let (low, high) = interval(&base, &other, metric, level, plan);
        let better = if metric.more_is_better() {
            low > 1.0
        } else {
            high < 1.0
        };
        let worse = if metric.more_is_better() {
            high < 1.0
        } else {
            low > 1.0
        };
        Comparison {
            metric: metric.name(),
            base: at_base,
            other: at_other,
            ratio: ratio(at_other, at_base),
            low,
            high,
            verdict: match (better, worse) {
                (true, _) => Verdict::Faster,
                (_, true) => Verdict::Slower,
                _ => Verdict::Undecided,
            },
        }
    });
    each.collect()
}

fn ratio(other: f64, base: f64) -> f64 {
    if base > 0.0 { other / base } else { f64::NAN }
}

fn interval(base: &Sample, other: &Sample, metric: Metric, level: f64, plan: Plan) -> (f64, f64) {
    let units = base.blocks().min(other.blocks());
    if units < BLOCKS_MIN {
        return (0.0, f64::INFINITY);
    }
    let mut prng = Prng::new(plan.seed);
    let mut draw =
        |count: usize| -> Vec<usize> { (0..count).map(|_| prng.below(count as u64) as usize).collect() };
    let mut ratios: Vec<f64> = (0..plan.resamples)
        .map(|_| {
            let of_base = draw(if plan.paired { units } else { base.blocks() });
            let of_other = if plan.paired {
                of_base.clone()
            } else {
                draw(other.blocks())
            };
            ratio(other.figure(metric, &of_other), base.figure(metric, &of_base))
        })
        .filter(|ratio| ratio.is_finite())
        .collect();
    if ratios.is_empty() {
        return (0.0, f64::INFINITY);
    }
    ratios.sort_by(f64::total_cmp);
    let tail = expanded_tail((1.0 - level) / 2.0, units);
    let at = |share: f64| ratios[((share * ratios.len() as f64) as usize).min(ratios.len() - 1)];
    (at(tail), at(1.0 - tail))
}

/// The share to cut off at each end so that percentiles of `units` drawn again are as wide as Student's interval.
fn expanded_tail(tail: f64, units: usize) -> f64 {
    let n = units as f64;
    normal_cdf(-(n / (n - 1.0)).sqrt() * student_quantile(1.0 - tail, n - 1.0))
}

/// Student's quantile from the normal one (Cornish-Fisher): within 2 % from five degrees of freedom on up to 99.5 %, and
/// within 4 % for three, the fewest that [`BLOCKS_MIN`] lets through.
fn student_quantile(share: f64, freedom: f64) -> f64 {
    let z = normal_quantile(share);
    let (z3, z5, z7) = (z.powi(3), z.powi(5), z.powi(7));
    z + (z3 + z) / (4.0 * freedom)
        + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * freedom.powi(2))
        + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * freedom.powi(3))
}

/// By bisection of the distribution: called a few times per comparison.
fn normal_quantile(share: f64) -> f64 {
    let (mut low, mut high) = (-10.0, 10.0);
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        if normal_cdf(middle) < share {
            low = middle
        } else {
            high = middle
        }
    }
    (low + high) / 2.0
}

/// Abramowitz and Stegun 26.2.17 on the far side keeps small tails exact enough: absolute error below 1e-7.
fn normal_cdf(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.2316419 * z.abs());
    let series = [0.319381530, -0.356563782, 1.781477937, -1.821255978, 1.330274429];
    let polynomial = series.iter().rev().fold(0.0, |sum, term| (sum + term) * t);
    let tail = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * polynomial;
    if z < 0.0 { tail } else { 1.0 - tail }
}

/// The order of systems in each round: every system stands equally often at each place, and follows each other one
/// equally often (a Williams design). With an odd number of systems two squares take turns.
pub fn balanced_orders(systems: usize) -> Vec<Vec<usize>> {
    if systems < 2 {
        return vec![(0..systems).collect()];
    }
    let first: Vec<usize> = (0..systems)
        .map(|place| {
            if place % 2 == 1 {
                place.div_ceil(2)
            } else {
                (systems - place / 2) % systems
            }
        })
        .collect();
    let mut orders = Vec::new();
    for shift in 0..systems {
        let order: Vec<usize> = first.iter().map(|system| (system + shift) % systems).collect();
        if systems % 2 == 1 {
            orders.push(order.iter().rev().copied().collect());
        }
        orders.push(order);
    }
    orders
}

/// Cuts a series of seconds into blocks long enough that they hardly depend on each other.
pub fn blocks_of(seconds: &[Block]) -> Vec<Block> {
    blocks_of_length(seconds, (seconds.len() as f64).sqrt().ceil() as usize)
}

/// The same of a run so short that blocks of that length would be too few to tell anything: at least five, if there are five seconds.
/// Shorter blocks resemble their neighbours more, so that their intervals promise a little too much.
pub fn blocks_of_short(seconds: &[Block]) -> Vec<Block> {
    const BLOCKS: usize = 5;
    let length = (seconds.len() as f64).sqrt().ceil() as usize;
    blocks_of_length(seconds, length.min(seconds.len() / BLOCKS))
}

fn blocks_of_length(seconds: &[Block], length: usize) -> Vec<Block> {
    let length = length.max(1);
    let whole = seconds.chunks(length).filter(|chunk| chunk.len() == length);
    whole
        .map(|chunk| Block {
            seconds: chunk.iter().map(|block| block.seconds).sum(),
            latency: Buckets::merge(chunk.iter().map(|block| &block.latency)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collector::run_histogram;

    /// Rounds of a made-up system: throughput and latency wander from round to round by `noise`, and drift over time.
    fn rounds(prng: &mut Prng, count: usize, slowdown: f64, noise: f64) -> Vec<Block> {
        let each = (0..count).map(|round| {
            let gauss: f64 = (0..12).map(|_| prng.unit()).sum::<f64>() - 6.0;
            let speed = (1.0 + noise * gauss) * (1.0 - 0.002 * round as f64) / slowdown;
            let mut latency = run_histogram();
            for _ in 0..(2_000.0 * speed) as usize {
                let latency_ns = 1e6 / speed * (0.2 - (1.0 - prng.unit()).ln());
                latency.saturating_record(latency_ns as u64);
            }
            Block {
                seconds: 5.0,
                latency: Buckets::of(&latency),
            }
        });
        each.collect()
    }

    const METRICS: [Metric; 3] = [Metric::Throughput, Metric::Quantile(0.5), Metric::Quantile(0.9)];

    fn plan(seed: u64) -> Plan {
        Plan {
            resamples: 400,
            seed,
            ..Plan::default()
        }
    }

    #[test]
    fn of_twenty_comparisons_with_itself_at_most_one_decides() {
        let mut decided = 0;
        for seed in 0..20 {
            let mut prng = Prng::fork(11, seed);
            let (base, other) = (rounds(&mut prng, 8, 1.0, 0.02), rounds(&mut prng, 8, 1.0, 0.02));
            let verdicts = compare(&base, &other, &METRICS, plan(seed));
            decided += verdicts.iter().any(|one| one.verdict != Verdict::Undecided) as u32;
        }
        assert!(decided <= 1, "{decided} of 20 decided, seed 11");
    }

    #[test]
    fn five_percent_slower_is_found_in_nineteen_of_twenty() {
        let mut found = 0;
        for seed in 0..20 {
            let mut prng = Prng::fork(12, seed);
            let (base, other) = (
                rounds(&mut prng, 10, 1.0, 0.01),
                rounds(&mut prng, 10, 1.05, 0.01),
            );
            let verdicts = compare(&base, &other, &METRICS, plan(seed));
            assert!(verdicts.iter().all(|one| one.verdict != Verdict::Faster));
            found += (verdicts[0].verdict == Verdict::Slower) as u32;
        }
        assert!(found >= 19, "{found} of 20 found, seed 12");
    }

    #[test]
    fn few_rounds_decide_nothing() {
        let mut prng = Prng::new(1);
        let (base, other) = (rounds(&mut prng, 3, 1.0, 0.0), rounds(&mut prng, 3, 3.0, 0.0));
        let verdicts = compare(&base, &other, &METRICS, plan(1));
        assert!(verdicts.iter().all(|one| one.verdict == Verdict::Undecided));
        assert!((verdicts[0].ratio - 1.0 / 3.0).abs() < 0.02);
    }

    #[test]
    fn distributions_have_their_table_values() {
        for (z, share) in [(0.0, 0.5), (1.0, 0.841345), (-1.959964, 0.025), (-3.0, 0.001350)] {
            assert!((normal_cdf(z) - share).abs() < 1e-6, "{z}");
        }
        assert!((normal_quantile(0.975) - 1.959964).abs() < 1e-4);
        for (share, freedom, t) in [(0.975, 9.0, 2.262), (0.995, 7.0, 3.499), (0.975, 5.0, 2.571)] {
            assert!(
                (student_quantile(share, freedom) / t - 1.0).abs() < 0.02,
                "{freedom}"
            );
        }
    }

    #[test]
    fn every_system_stands_equally_often_everywhere_and_after_every_other() {
        for systems in 2..7 {
            let orders = balanced_orders(systems);
            let mut followed = std::collections::BTreeMap::new();
            for place in 0..systems {
                let mut there: Vec<usize> = orders.iter().map(|order| order[place]).collect();
                there.sort_unstable();
                let each = orders.len() / systems;
                assert!(
                    (0..systems).all(|system| there.iter().filter(|one| **one == system).count() == each)
                );
            }
            for order in &orders {
                order
                    .windows(2)
                    .for_each(|pair| *followed.entry((pair[0], pair[1])).or_insert(0) += 1);
            }
            assert_eq!(followed.len(), systems * (systems - 1), "{systems}");
            assert!(
                followed
                    .values()
                    .all(|count| Some(count) == followed.values().next())
            );
        }
        assert_eq!(balanced_orders(2), [[0, 1], [1, 0]]);
    }

    #[test]
    fn blocks_hold_whole_stretches() {
        let second = |count: u64| Block {
            seconds: 1.0,
            latency: serde_json::from_str(&format!("[[1000000, {count}]]")).expect("buckets"),
        };
        let blocks = blocks_of(&(0..11).map(|_| second(5)).collect::<Vec<_>>());
        assert_eq!(blocks.len(), 2);
        assert_eq!((blocks[0].seconds, blocks[0].latency.count()), (4.0, 20));
        for (count, short) in [(2, 2), (5, 5), (12, 6), (16, 5), (36, 6), (100, 10)] {
            let seconds: Vec<Block> = (0..count).map(|_| second(5)).collect();
            assert_eq!(blocks_of_short(&seconds).len(), short, "{count}");
        }
        assert_eq!(Metric::Quantile(0.999).name(), "p99.9");
        assert_eq!(Metric::Quantile(0.5).name(), "p50");
    }
}
