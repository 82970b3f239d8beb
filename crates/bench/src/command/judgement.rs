//! Figures that are held to targets, as tables and reports have them.

use serde::Serialize;

use super::contenders::median;
use crate::report::table;

/// One line of the verdict.
#[derive(Serialize)]
pub(super) struct Judgement {
    pub what: String,
    pub measured: Option<f64>,
    reference: Option<f64>,
    pub reference_name: &'static str,
    pub ratio: Option<f64>,
    pub target: f64,
    /// Whether the ratio must be at least the target, or at most.
    pub at_least: bool,
    pub pass: Option<bool>,
    /// Judged by itself, not by its ratio to another's figure.
    is_absolute: bool,
}

impl Judgement {
    /// Judges measured / reference.
    pub fn ratio(
        what: impl Into<String>,
        (measured, reference): (Option<f64>, Option<f64>),
        reference_name: &'static str,
        target: f64,
        at_least: bool,
    ) -> Judgement {
        let ratio = measured
            .zip(reference)
            .filter(|(_, reference)| *reference > 0.0)
            .map(|(m, r)| m / r);
        let pass = ratio.map(|ratio| {
            if at_least {
                ratio >= target
            } else {
                ratio <= target
            }
        });
        Judgement {
            what: what.into(),
            measured,
            reference,
            reference_name,
            ratio,
            target,
            at_least,
            pass,
            is_absolute: false,
        }
    }

    /// Judges by the median of the ratios of pairs, which shall not be below the target. The figures beside it are medians of their
    /// own: what a pair shares, as a machine that is slow for some seconds, is in them and not in it.
    pub fn pairs(
        what: impl Into<String>,
        measured: &[f64],
        reference: &[f64],
        reference_name: &'static str,
        target: f64,
    ) -> Judgement {
        let pairs = measured.iter().zip(reference);
        let ratios: Vec<f64> = pairs
            .filter(|(_, reference)| **reference > 0.0)
            .map(|(measured, reference)| measured / reference)
            .collect();
        let ratio = median(&ratios);
        Judgement {
            measured: median(measured),
            reference: median(reference),
            ..Judgement::ratio(what, (ratio, Some(1.0)), reference_name, target, true)
        }
    }

    /// Judges a figure by itself, which shall not be above its target: the ratio is to that.
    pub fn absolute(what: impl Into<String>, measured: Option<f64>, target: f64) -> Judgement {
        let judged = Judgement::ratio(what, (measured, Some(target)), "limit", 1.0, false);
        Judgement {
            reference: None,
            ..judged
        }
        .with_target(target)
    }

    /// Judges a figure by itself, which shall not be below its target; figures of others may stand beside it.
    pub fn at_least(what: impl Into<String>, measured: Option<f64>, target: f64) -> Judgement {
        let judged = Judgement::ratio(what, (measured, Some(target)), "limit", 1.0, true);
        Judgement {
            reference: None,
            ..judged
        }
        .with_target(target)
    }

    /// Shows another's figure beside one that is judged by itself.
    pub fn beside(mut self, reference: Option<f64>, reference_name: &'static str) -> Judgement {
        self.reference = reference;
        self.reference_name = reference_name;
        self
    }

    /// How good it is as a multiple of its target: 1 just meets it, more is better.
    pub fn of_target(&self) -> Option<f64> {
        // Figures that are judged by themselves have their target as the limit already.
        let value = match self.is_absolute {
            true => self.measured?,
            false => self.ratio?,
        };
        Some(if self.at_least {
            value / self.target
        } else {
            self.target / value.max(1e-9)
        })
    }

    fn with_target(mut self, target: f64) -> Judgement {
        self.target = target;
        self.is_absolute = true;
        self
    }
}

/// The table's columns.
pub(super) const HEADER: [&str; 7] = [
    "measurement",
    "mote",
    "reference",
    "which",
    "ratio",
    "target",
    "verdict",
];

/// A row of the table for each figure.
pub(super) fn rows(judgements: &[Judgement]) -> Vec<Vec<String>> {
    let number = |value: Option<f64>| match value {
        Some(value) if value.abs() >= 100.0 => table::grouped(value),
        Some(value) => format!("{value:.2}"),
        None => "-".to_string(),
    };
    judgements
        .iter()
        .map(|judgement| {
            let sign = if judgement.at_least { ">=" } else { "<=" };
            vec![
                judgement.what.clone(),
                number(judgement.measured),
                number(judgement.reference),
                judgement.reference_name.to_string(),
                number(judgement.ratio),
                format!("{sign} {:.2}", judgement.target),
                judgement.pass.map_or("not measured", table::pass).to_string(),
            ]
        })
        .collect()
}

pub(super) fn text(judgements: &[Judgement]) -> String {
    table::table(&HEADER, &rows(judgements))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_judged_by_their_own_ratios() {
        // The machine is slow from the second pair on: each pair says the same all the same.
        let judged = |measured: &[f64], reference: &[f64]| {
            let line = Judgement::pairs("w", measured, reference, "without", 0.9);
            (line.ratio, line.pass)
        };
        assert_eq!(
            judged(&[95.0, 47.5, 46.0], &[100.0, 50.0, 50.0]),
            (Some(0.95), Some(true))
        );
        assert_eq!(
            judged(&[80.0, 47.5, 40.0], &[100.0, 50.0, 50.0]),
            (Some(0.8), Some(false))
        );
        assert_eq!(judged(&[], &[]), (None, None));
    }
}
