//! One line per second on a terminal, while a run lasts.

use std::io::{self, IsTerminal};

use super::table::{grouped, milliseconds};
use mote_measure::outcome::SeriesPoint;

/// Prints progress to standard error if somebody is watching, or if asked to.
pub struct Live {
    visible: bool,
    /// What the first transaction type's rate per minute is called.
    label: &'static str,
}

impl Live {
    pub fn new(label: &'static str, force: bool, quiet: bool) -> Live {
        Live {
            visible: !quiet && (force || io::stderr().is_terminal()),
            label,
        }
    }

    pub fn visible(&self) -> bool {
        self.visible
    }

    pub fn second(&self, point: &SeriesPoint) {
        if self.visible {
            eprintln!("{}", line(point, self.label));
        }
    }
}

fn line(point: &SeriesPoint, label: &str) -> String {
    let seconds = point.seconds.max(1e-9);
    let total: u64 = point.kinds.iter().map(|kind| kind.count).sum();
    let first = &point.kinds[0];
    let phase = if point.second <= 0.0 { "warm-up" } else { "       " };
    format!(
        "{:>7.0} s {phase}  {label} {:>11}  all/s {:>9}  p50 {:>8} ms  p99 {:>8} ms  max {:>8} ms  errors {:>4}  retries {:>4}",
        point.second,
        grouped(first.count as f64 / seconds * 60.0),
        grouped(total as f64 / seconds),
        milliseconds(first.p50_us / 1e3),
        milliseconds(first.p99_us / 1e3),
        milliseconds(first.max_us / 1e3),
        point.errors,
        point.retries,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use mote_measure::outcome::SeriesKind;

    #[test]
    fn rates_are_per_time_not_per_interval() {
        let kind = SeriesKind {
            count: 500,
            p50_us: 1500.0,
            p95_us: 0.0,
            p99_us: 2500.0,
            max_us: 9000.0,
            latency: Default::default(),
        };
        let point = SeriesPoint {
            second: 3.0,
            seconds: 0.5,
            kinds: vec![kind],
            errors: 0,
            retries: 2,
            errors_by_sqlstate: Default::default(),
            retries_by_sqlstate: Default::default(),
        };
        let text = line(&point, "NOPM");
        assert!(text.contains("60,000"), "{text}");
        assert!(text.contains("1,000"), "{text}");
    }
}
