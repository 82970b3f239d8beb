//! The open loop: transactions are due at times of their own, whether or not the server has answered the last ones.
//!
//! Each driver thread has one schedule that its free terminals draw from in order: the next due time belongs to the
//! terminal that asks next, which waits for it or, if it has passed, is late. So the terminals are the servers of one
//! queue, and no due time is ever skipped: what a stalled server delays shows in full (no coordinated omission).
//!
//! Invariant: due times ascend; each is handed out once.

use mote_common::prng::Prng;
use serde::{Deserialize, Serialize};

/// How due times follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArrivalKind {
    /// Independent of each other, as those of many users are: exponential gaps
    Poisson,
    /// Equal gaps
    Constant,
}

/// What an open loop is asked to do.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct OpenLoop {
    /// Transactions a second, over all driver threads.
    pub rate: f64,
    pub arrivals: ArrivalKind,
    pub seed: u64,
}

/// One driver thread's due times, as offsets from the begin of the run.
pub struct Arrivals {
    mean_gap_ns: f64,
    arrivals: ArrivalKind,
    prng: Prng,
    /// The next due time. A fraction of a nanosecond is kept, so that the rate does not drift.
    next_ns: f64,
    begin_ns: Option<u64>,
    window: Option<(u64, u64)>,
    within_window: u64,
}

impl Arrivals {
    /// The share of thread number `thread` of `threads`; constant gaps of the threads interleave.
    pub fn new(open_loop: OpenLoop, thread: usize, threads: usize) -> Arrivals {
        let gap_ns = 1e9 / open_loop.rate;
        let mut arrivals = Arrivals {
            mean_gap_ns: gap_ns * threads as f64,
            arrivals: open_loop.arrivals,
            prng: Prng::fork(open_loop.seed, 500_000 + thread as u64),
            next_ns: gap_ns * thread as f64,
            begin_ns: None,
            window: None,
            within_window: 0,
        };
        if open_loop.arrivals == ArrivalKind::Poisson {
            arrivals.next_ns = arrivals.gap_ns();
        }
        arrivals
    }

    /// Takes the next due time on the run's clock, which began at `begin_ns` and measures within `window`.
    pub fn take(&mut self, begin_ns: u64, window: (u64, u64)) -> u64 {
        (self.begin_ns, self.window) = (Some(begin_ns), Some(window));
        let due_ns = begin_ns + self.next_ns as u64;
        self.next_ns += self.gap_ns();
        self.within_window += (window.0..window.1).contains(&due_ns) as u64;
        due_ns
    }

    /// How many were due within the window: those that were taken, and those that nobody was free to take.
    pub fn offered_within(&mut self, window: (u64, u64)) -> u64 {
        if let Some(begin_ns) = self.begin_ns {
            while self.take(begin_ns, window) < window.1 {}
        }
        self.within_window
    }

    fn gap_ns(&mut self) -> f64 {
        match self.arrivals {
            ArrivalKind::Constant => self.mean_gap_ns,
            ArrivalKind::Poisson => -(1.0 - self.prng.unit()).ln() * self.mean_gap_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_loop(arrivals: ArrivalKind) -> OpenLoop {
        OpenLoop {
            rate: 1_000.0,
            arrivals,
            seed: 3,
        }
    }

    #[test]
    fn threads_share_the_rate() {
        let window = (1_000_000_000, 11_000_000_000);
        for (kind, tolerance) in [(ArrivalKind::Constant, 2), (ArrivalKind::Poisson, 400)] {
            let mut total = 0;
            for thread in 0..3 {
                let mut arrivals = Arrivals::new(open_loop(kind), thread, 3);
                assert!(arrivals.take(500_000_000, window) >= 500_000_000);
                total += arrivals.offered_within(window);
            }
            assert!((10_000i64 - total as i64).abs() <= tolerance, "{kind:?} {total}");
        }
    }

    #[test]
    fn constant_gaps_interleave_and_poisson_gaps_vary() {
        let window = (0, u64::MAX);
        let mut threads = [0, 1].map(|thread| Arrivals::new(open_loop(ArrivalKind::Constant), thread, 2));
        let due: Vec<u64> = (0..6).map(|turn| threads[turn % 2].take(0, window)).collect();
        assert_eq!(due, [0, 1_000_000, 2_000_000, 3_000_000, 4_000_000, 5_000_000]);
        let mut arrivals = Arrivals::new(open_loop(ArrivalKind::Poisson), 0, 1);
        let due: Vec<f64> = (0..20_000).map(|_| arrivals.take(0, window) as f64).collect();
        let gaps: Vec<f64> = due.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean / 1e6 - 1.0).abs() < 0.03, "{mean}");
        assert!(
            (variance.sqrt() / mean - 1.0).abs() < 0.05,
            "exponential gaps vary as much as their mean"
        );
    }
}
