//! What the experiments with a primary and a standby found: ratios of runs in turn, distances, fail-overs, and verdicts.

use serde::Serialize;

use super::table::{grouped, milliseconds};
use mote_measure::statistics::BLOCKS_MIN;

/// One figure without and with a standby, a pair for each round.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Paired {
    /// Medians over the rounds.
    pub alone: f64,
    pub with: f64,
    /// with / alone, the median of the rounds' ratios, and the lowest and highest of them: n ratios hold the true median between
    /// them with a chance of 1 - 2^(1-n).
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
    pub rounds: usize,
}

impl Paired {
    /// `None` without a round.
    pub fn of(rounds: &[(f64, f64)]) -> Option<Paired> {
        let of = |value: &dyn Fn(&(f64, f64)) -> f64| sorted(rounds.iter().map(value));
        let ratios = of(&|(alone, with)| with / alone);
        Some(Paired {
            alone: median(&of(&|round| round.0))?,
            with: median(&of(&|round| round.1))?,
            ratio: median(&ratios)?,
            low: *ratios.first()?,
            high: *ratios.last()?,
            rounds: rounds.len(),
        })
    }
}

/// Chance that the lowest and the highest of so many ratios hold the true median between them.
pub fn confidence(rounds: u32) -> f64 {
    1.0 - 0.5_f64.powi(rounds as i32 - 1)
}

/// How far a standby was behind, in milliseconds, over all looks of all rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Behind {
    pub looks: usize,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub max_ms: f64,
}

impl Behind {
    pub fn of(looks_ms: &[f64]) -> Option<Behind> {
        let all = sorted(looks_ms.iter().copied());
        let share = |share: f64| all[((all.len() - 1) as f64 * share).round() as usize];
        (!all.is_empty()).then(|| Behind {
            looks: all.len(),
            p50_ms: share(0.5),
            p99_ms: share(0.99),
            max_ms: share(1.0),
        })
    }
}

/// What a standby costs a system at a number of connections.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    pub system: String,
    pub connections: usize,
    pub nopm: Paired,
    pub new_order_p99_ms: Paired,
    /// Of the primary's processes for a transaction; `None` where they cannot be seen.
    pub cpu_us: Option<Paired>,
    pub behind: Option<Behind>,
}

impl Cost {
    pub const HEADER: [&str; 11] = [
        "system",
        "NOPM alone",
        "with a standby",
        "with / alone",
        "interval",
        "CPU us/txn alone",
        "with",
        "with / alone",
        "new-order p99 ms, alone",
        "with",
        "behind p50 / p99 / max, ms",
    ];

    pub fn row(&self) -> Vec<String> {
        let cpu = |value: &dyn Fn(&Paired) -> String| self.cpu_us.as_ref().map_or("-".to_string(), value);
        vec![
            format!("{} at {}", self.system, self.connections),
            grouped(self.nopm.alone),
            grouped(self.nopm.with),
            format!("{:.3}", self.nopm.ratio),
            format!("{:.3} to {:.3}", self.nopm.low, self.nopm.high),
            cpu(&|cpu| format!("{:.0}", cpu.alone)),
            cpu(&|cpu| format!("{:.0}", cpu.with)),
            cpu(&|cpu| format!("{:.3} ({:.3} to {:.3})", cpu.ratio, cpu.low, cpu.high)),
            milliseconds(self.new_order_p99_ms.alone),
            milliseconds(self.new_order_p99_ms.with),
            self.behind.map_or("-".to_string(), |behind| {
                let [p50, p99, max] = [behind.p50_ms, behind.p99_ms, behind.max_ms].map(milliseconds);
                format!("{p50} / {p99} / {max}")
            }),
        ]
    }
}

/// All cycles of one kind on one system. Seconds; `None` where a run ended before.
#[derive(Clone, Debug, Serialize)]
pub struct TakeOver {
    pub system: String,
    pub fault: &'static str,
    /// From the last answer before to the first after, cycle by cycle.
    pub silent_s: Vec<Option<f64>>,
    pub after_decision_worst_s: Option<f64>,
    pub recovered_worst_s: Option<f64>,
    pub acknowledged: usize,
    pub missing: usize,
}

impl TakeOver {
    pub const HEADER: [&str; 7] = [
        "system and fault",
        "cycles",
        "silent, median s",
        "silent, worst s",
        "after the decision or the healing, worst s",
        "90 % of before, worst s",
        "orders lost",
    ];

    pub fn row(&self) -> Vec<String> {
        let seconds = |value: Option<f64>| {
            value.map_or("not within the run".to_string(), |value| format!("{value:.2}"))
        };
        vec![
            format!("{}, {}", self.system, self.fault),
            self.silent_s.len().to_string(),
            seconds(self.silent_median_s()),
            seconds(self.silent_worst_s()),
            seconds(self.after_decision_worst_s),
            seconds(self.recovered_worst_s),
            format!("{} of {}", self.missing, self.acknowledged),
        ]
    }

    pub fn silent_median_s(&self) -> Option<f64> {
        // One that never ended is longer than all others.
        let all = sorted(self.silent_s.iter().map(|one| one.unwrap_or(f64::INFINITY)));
        median(&all).filter(|median| median.is_finite())
    }

    pub fn silent_worst_s(&self) -> Option<f64> {
        worst(self.silent_s.iter().copied())
    }
}

/// The largest; `None` if one of them is not known.
pub fn worst(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let all: Option<Vec<f64>> = values.collect();
    all?.into_iter().reduce(f64::max)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reached {
    Met,
    Missed,
    Undecided,
}

impl Reached {
    pub fn word(self) -> &'static str {
        match self {
            Reached::Met => "met",
            Reached::Missed => "MISSED",
            Reached::Undecided => "undecided",
        }
    }
}

/// A figure that was held to a limit.
#[derive(Clone, Debug, Serialize)]
pub struct Target {
    pub what: String,
    pub measured: Option<f64>,
    pub limit: f64,
    pub at_least: bool,
    pub reached: Reached,
}

impl Target {
    /// Met or missed when the whole interval says so, and there are rounds enough for an interval to say something.
    pub fn ratio(what: String, paired: &Paired, limit: f64, at_least: bool) -> Target {
        let meets = |value: f64| if at_least { value >= limit } else { value <= limit };
        Target {
            what,
            measured: Some(paired.ratio),
            limit,
            at_least,
            reached: match (meets(paired.low), meets(paired.high)) {
                _ if paired.rounds < BLOCKS_MIN => Reached::Undecided,
                (true, true) => Reached::Met,
                (false, false) => Reached::Missed,
                _ => Reached::Undecided,
            },
        }
    }

    /// What must stay below a limit; what is not known has not.
    pub fn below(what: String, measured: Option<f64>, limit: f64) -> Target {
        let reached = match measured {
            Some(measured) if measured < limit => Reached::Met,
            _ => Reached::Missed,
        };
        Target {
            what,
            measured,
            limit,
            at_least: false,
            reached,
        }
    }

    pub fn is_not_missed(&self) -> bool {
        self.reached != Reached::Missed
    }

    /// Figure, measured, limit and verdict, as a table shows them.
    pub fn row(&self) -> Vec<String> {
        vec![
            self.what.clone(),
            self.measured
                .map_or("never".to_string(), |measured| format!("{measured:.3}")),
            format!(
                "{} {}",
                if self.at_least { "at least" } else { "at most" },
                self.limit
            ),
            self.reached.word().to_string(),
        ]
    }
}

pub const TARGET_HEADER: [&str; 4] = ["target", "measured", "limit", "verdict"];

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut all: Vec<f64> = values.collect();
    all.sort_by(f64::total_cmp);
    all
}

fn median(sorted: &[f64]) -> Option<f64> {
    let (high, low) = (sorted.get(sorted.len() / 2)?, sorted.get((sorted.len() - 1) / 2)?);
    // Not through their sum where they are the same: two infinities have no mean.
    Some(if high == low { *high } else { (low + high) / 2.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_those_of_rounds() {
        // The machine was half as fast in the second round, which hits both arms.
        let paired = Paired::of(&[(100.0, 98.0), (50.0, 50.0), (110.0, 99.0)]).expect("rounds");
        assert_eq!((paired.alone, paired.with), (100.0, 98.0));
        assert_eq!((paired.ratio, paired.low, paired.high), (0.98, 0.9, 1.0));
        assert_eq!(Paired::of(&[]), None);
        assert_eq!(confidence(5), 0.9375);
    }

    #[test]
    fn a_target_is_decided_by_the_whole_interval() {
        let of = |low, high, rounds| {
            let paired = Paired {
                rounds,
                alone: 1.0,
                with: 1.0,
                ratio: (low + high) / 2.0,
                low,
                high,
            };
            Target::ratio("x".into(), &paired, 0.95, true).reached
        };
        let target = |low, high| of(low, high, BLOCKS_MIN);
        assert_eq!(of(0.5, 0.5, BLOCKS_MIN - 1), Reached::Undecided);
        assert_eq!(target(0.96, 1.0), Reached::Met);
        assert_eq!(target(0.90, 0.94), Reached::Missed);
        assert_eq!(target(0.90, 0.99), Reached::Undecided);
        let below = |measured| Target::below("x".into(), measured, 3.0).reached;
        assert_eq!(below(Some(2.9)), Reached::Met);
        assert_eq!(below(Some(3.0)), Reached::Missed);
        assert_eq!(below(None), Reached::Missed);
    }

    #[test]
    fn a_fail_over_that_never_ends_is_the_worst() {
        let mut taken = TakeOver {
            system: "a".into(),
            fault: "kill",
            silent_s: vec![Some(1.0), Some(3.0), Some(2.0)],
            after_decision_worst_s: None,
            recovered_worst_s: None,
            acknowledged: 1,
            missing: 0,
        };
        assert_eq!(
            (taken.silent_median_s(), taken.silent_worst_s()),
            (Some(2.0), Some(3.0))
        );
        taken.silent_s.push(None);
        assert_eq!(
            (taken.silent_median_s(), taken.silent_worst_s()),
            (Some(2.5), None)
        );
        taken.silent_s = vec![None, None];
        assert_eq!(taken.silent_median_s(), None);
    }

    #[test]
    fn distances_have_their_percentiles() {
        let looks: Vec<f64> = (0..=100).rev().map(f64::from).collect();
        let behind = Behind::of(&looks).expect("looks");
        assert_eq!((behind.p50_ms, behind.p99_ms, behind.max_ms), (50.0, 99.0, 100.0));
        assert_eq!(Behind::of(&[]), None);
    }
}
