//! Which record an operation is about: some are far more popular than others, and new ones come.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use mote_common::prng::Prng;

/// How uneven the popularity is; the original's.
pub const THETA: f64 = 0.99;

/// Ranks 0..n, of which the r-th is drawn in proportion to 1 / (r + 1)^θ (Gray and others, 1994: "Quickly generating
/// billion-record synthetic databases").
pub struct Zipf {
    count: u64,
    zeta: f64,
    alpha: f64,
    eta: f64,
}

impl Zipf {
    pub fn new(count: u64) -> Zipf {
        let zeta = zeta(count);
        let share = (2.0 / count.max(1) as f64).powf(1.0 - THETA);
        Zipf {
            count,
            zeta,
            alpha: 1.0 / (1.0 - THETA),
            eta: (1.0 - share) / (1.0 - zeta_of_two() / zeta),
        }
    }

    pub fn rank(&self, prng: &mut Prng) -> u64 {
        let u = prng.unit();
        let at = u * self.zeta;
        if at < 1.0 || self.count < 2 {
            return 0;
        }
        if at < zeta_of_two() {
            return 1;
        }
        let rank = self.count as f64 * (self.eta * u - self.eta + 1.0).powf(self.alpha);
        (rank as u64).min(self.count - 1)
    }

    /// The record of a rank that was drawn: popular ones lie anywhere.
    pub fn scattered(&self, prng: &mut Prng) -> u64 {
        scramble(self.rank(prng)) % self.count
    }
}

fn zeta(count: u64) -> f64 {
    // Past the first ten million the sum is its integral, to some 10^-8.
    const SUMMED: u64 = 10_000_000;
    let summed = count.min(SUMMED);
    let sum: f64 = (1..=summed).map(|rank| (rank as f64).powf(-THETA)).sum();
    let rest = |x: f64| x.powf(1.0 - THETA) / (1.0 - THETA);
    if count > SUMMED {
        sum + rest(count as f64 + 0.5) - rest(summed as f64 + 0.5)
    } else {
        sum
    }
}

fn zeta_of_two() -> f64 {
    1.0 + 0.5f64.powf(THETA)
}

/// The original's hash: FNV-1a over the eight bytes.
pub fn scramble(number: u64) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let bytes = number.to_le_bytes();
    bytes
        .iter()
        .fold(OFFSET, |hash, byte| (hash ^ *byte as u64).wrapping_mul(PRIME))
}

/// Which records there are: all below `readable` have been inserted, or given up.
///
/// Invariant: `readable` is not above any number that is handed out and not settled.
pub struct Frontier {
    next: AtomicU64,
    /// Written under `settled`'s lock, read without it: a reader that sees an old value reads an older record. Relaxed.
    readable: AtomicU64,
    /// Settled numbers that others below them keep waiting.
    settled: Mutex<BTreeSet<u64>>,
}

impl Frontier {
    pub fn new(records: u64) -> Frontier {
        Frontier {
            next: AtomicU64::new(records),
            readable: AtomicU64::new(records),
            settled: Mutex::new(BTreeSet::new()),
        }
    }

    /// Before a run, whose clients start later.
    pub fn begin_at(&self, next: u64) {
        self.next.store(next, Ordering::Relaxed);
        self.readable.store(next, Ordering::Relaxed);
        self.settled.lock().expect("no panic while held").clear();
    }

    /// The number of a new record.
    pub fn next(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    pub fn readable(&self) -> u64 {
        self.readable.load(Ordering::Relaxed)
    }

    pub fn settle(&self, number: u64) {
        let mut settled = self.settled.lock().expect("no panic while held");
        settled.insert(number);
        let mut readable = self.readable();
        while settled.remove(&readable) {
            readable += 1;
        }
        self.readable.store(readable, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_follow_the_power_law() {
        let (zipf, mut prng) = (Zipf::new(1_000), Prng::new(17));
        let mut counts = vec![0u32; 1_000];
        for _ in 0..400_000 {
            counts[zipf.rank(&mut prng) as usize] += 1;
        }
        for rank in [0usize, 1] {
            let expect = 400_000.0 / zipf.zeta / (rank as f64 + 1.0).powf(THETA);
            let off = counts[rank] as f64 / expect - 1.0;
            assert!(off.abs() < 0.03, "rank {rank}: {off}, seed 17");
        }
        // Beyond the first two the generator approximates; whole ranges are right.
        let (head, all): (u32, u32) = (counts[..100].iter().sum(), counts.iter().sum());
        let expect = zeta(100) / zipf.zeta;
        assert!((head as f64 / all as f64 - expect).abs() < 0.02, "seed 17");
    }

    #[test]
    fn sums_meet_their_integral() {
        let direct = (1..=20_000_000u64)
            .map(|rank| (rank as f64).powf(-THETA))
            .sum::<f64>();
        assert!((zeta(20_000_000) / direct - 1.0).abs() < 1e-7);
    }

    #[test]
    fn readers_never_see_past_an_insert_under_way() {
        let frontier = Frontier::new(10);
        let (a, b, c) = (frontier.next(), frontier.next(), frontier.next());
        frontier.settle(c);
        frontier.settle(b);
        assert_eq!(frontier.readable(), 10);
        frontier.settle(a);
        assert_eq!((a, frontier.readable()), (10, 13));
    }
}
