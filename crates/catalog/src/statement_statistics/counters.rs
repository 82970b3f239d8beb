//! What is counted of a statement.

/// Times of one kind: their number, sum, bounds, mean and spread, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Times {
    pub count: u64,
    pub total_ms: f64,
    pub min_ms: f64,
    pub max_ms: f64,
    pub mean_ms: f64,
    /// Sum of the squared distances to the mean (Welford): a sum of squares would lose all digits of short times.
    squares: f64,
}

impl Times {
    #[inline]
    pub fn add(&mut self, ns: u64) {
        let ms = ns as f64 / 1e6;
        self.combine(&Times {
            count: 1,
            total_ms: ms,
            min_ms: ms,
            max_ms: ms,
            mean_ms: ms,
            squares: 0.0,
        });
    }

    /// As if all times of the other had been added (Chan, Golub, LeVeque).
    pub fn combine(&mut self, other: &Times) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        let count = self.count + other.count;
        let distance = other.mean_ms - self.mean_ms;
        let share = other.count as f64 / count as f64;
        self.squares += other.squares + distance * distance * self.count as f64 * share;
        self.mean_ms += distance * share;
        self.count = count;
        self.total_ms += other.total_ms;
        self.min_ms = self.min_ms.min(other.min_ms);
        self.max_ms = self.max_ms.max(other.max_ms);
    }

    /// The standard deviation of the population; 0 for one time.
    pub fn deviation_ms(&self) -> f64 {
        match self.count {
            0 | 1 => 0.0,
            count => (self.squares / count as f64).sqrt(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    pub plans: Times,
    pub runs: Times,
    pub rows: u64,
}

impl Counters {
    pub fn combine(&mut self, other: &Counters) {
        self.plans.combine(&other.plans);
        self.runs.combine(&other.runs);
        self.rows += other.rows;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_halves_are_the_whole() {
        let all: Vec<u64> = (1..=40).map(|n| n * n * 1_000_003).collect();
        let of = |times: &[u64]| {
            let mut sum = Times::default();
            times.iter().for_each(|ns| sum.add(*ns));
            sum
        };
        let mut halves = of(&all[..13]);
        halves.combine(&of(&all[13..]));
        halves.combine(&Times::default());
        let whole = of(&all);
        assert_eq!(
            (halves.count, halves.min_ms, halves.max_ms),
            (40, whole.min_ms, whole.max_ms)
        );
        let mean = all.iter().sum::<u64>() as f64 / 40e6;
        let variance = all
            .iter()
            .map(|ns| (*ns as f64 / 1e6 - mean).powi(2))
            .sum::<f64>()
            / 40.0;
        for (got, expected) in [
            (halves.mean_ms, mean),
            (whole.mean_ms, mean),
            (halves.deviation_ms(), variance.sqrt()),
            (whole.deviation_ms(), variance.sqrt()),
            (halves.total_ms, mean * 40.0),
        ] {
            assert!((got - expected).abs() < 1e-9 * expected, "{got} {expected}");
        }
    }

    #[test]
    fn one_time_does_not_deviate() {
        let mut one = Times::default();
        assert_eq!(one.deviation_ms(), 0.0);
        one.add(1_500_000);
        assert_eq!((one.mean_ms, one.deviation_ms()), (1.5, 0.0));
    }
}
