//! Comparisons of a column with a value, by what ANALYZE found out about it. The rules are PostgreSQL's.

use std::cmp::Ordering;
use std::sync::Arc;

use mote_sql::bind::query::{FIRST_SYSTEM_COLUMN, ItemKind, RangeItem};
use mote_sql::builtin::operator::Comparison;
use mote_sql::catalog::Relation;
use mote_sql::catalog::statistics::ColumnStatistics;
use mote_sql::expr::Expr;
use mote_types::Datum;
use mote_types::key::widens;

use super::scalar::{compare, position};
use super::{distinct_values, table_rows};

/// A bound of which nothing is known.
pub const UNKNOWN_BOUND: f64 = 1.0 / 3.0;
/// Two bounds that cannot both be right, or of which nothing is known.
const UNKNOWN_RANGE: f64 = 0.005;
/// What of a pattern's matches a letter behind its prefix leaves, and a wildcard brings back.
const LETTER_LEAVES: f64 = 0.2;
const ANY_BRINGS: f64 = 5.0;
/// From so many bounds on a histogram is a sample of its own.
const BOUNDS_TELL: usize = 100;

/// A column with statistics.
#[derive(Clone, Copy)]
pub struct Known<'e> {
    pub found: &'e ColumnStatistics,
    pub relation: &'e Arc<Relation>,
    pub item: u16,
    pub column: u16,
}

/// The column of a table that an expression is, as it is or in a wider type, and its statistics.
pub fn known<'e>(expr: &Expr, items: &'e [RangeItem]) -> Option<Known<'e>> {
    match expr {
        Expr::Variable { relation, column, .. } if *column < FIRST_SYSTEM_COLUMN => {
            let ItemKind::Relation(table) = &items[usize::from(*relation)].kind else {
                return None;
            };
            let found = table.statistics.as_ref()?.columns.get(usize::from(*column))?;
            Some(Known {
                found: found.as_deref()?,
                relation: table,
                item: *relation,
                column: *column,
            })
        }
        Expr::Cast {
            argument, from, ty, ..
        } if from.oid == ty.oid || widens(from.oid, ty.oid) => known(argument, items),
        _ => None,
    }
}

impl Known<'_> {
    pub fn nulls(&self) -> f64 {
        f64::from(self.found.null_fraction)
    }

    pub fn distinct(&self) -> f64 {
        distinct_values(self.relation, self.column)
    }

    fn common_sum(&self) -> f64 {
        self.found.frequencies.iter().map(|&part| f64::from(part)).sum()
    }

    /// The part of rows with this value.
    pub fn equals(&self, value: &Datum) -> f64 {
        if value.is_null() {
            return 0.0;
        }
        let mut common = self.found.common_values();
        if let Some((_, part)) = common.find(|(known, _)| compare(known, value) == Some(Ordering::Equal)) {
            return part;
        }
        let others = self.distinct() - self.found.frequencies.len() as f64;
        let rest = (1.0 - self.common_sum() - self.nulls()).clamp(0.0, 1.0);
        let part = if others > 1.0 { rest / others } else { rest };
        // What is not common is not more frequent than the last that is.
        let least = self.found.frequencies.last().map_or(1.0, |&part| f64::from(part));
        part.min(least)
    }

    /// With a value that is not known yet.
    pub fn equals_unknown(&self) -> f64 {
        let part = (1.0 - self.nulls()) / self.distinct();
        let most = self
            .found
            .frequencies
            .first()
            .map_or(1.0, |&part| f64::from(part));
        part.min(most)
    }

    pub fn differs(&self, equal: f64) -> f64 {
        (1.0 - equal - self.nulls()).clamp(0.0, 1.0)
    }

    /// The part of rows on one side of a value.
    pub fn bounded(&self, comparison: Comparison, value: &Datum) -> f64 {
        if value.is_null() {
            return 0.0;
        }
        let holds =
            |known: &Datum| compare(known, value).is_some_and(|ordering| accepts(comparison, ordering));
        let common: f64 = (self.found.common_values())
            .filter(|(known, _)| holds(known))
            .map(|(_, part)| part)
            .sum();
        let rest = (1.0 - self.common_sum() - self.nulls()).clamp(0.0, 1.0);
        let of_rest = self.histogram_part(comparison, value).unwrap_or(0.5);
        (common + rest * of_rest).clamp(0.0, 1.0)
    }

    /// Of the values that are not common.
    fn histogram_part(&self, comparison: Comparison, value: &Datum) -> Option<f64> {
        let bounds = self.found.bounds();
        if bounds.len() < 2 {
            return None;
        }
        let above = matches!(comparison, Comparison::Greater | Comparison::GreaterOrEqual);
        let with_equal = matches!(comparison, Comparison::LessOrEqual | Comparison::GreaterOrEqual);
        // Bounds that are on the lower side; for `>` and `<=` those that are equal count as well.
        let lower = bounds.partition_point(|bound| match compare(bound, value) {
            Some(Ordering::Less) => true,
            Some(Ordering::Equal) => above != with_equal,
            _ => false,
        });
        let parts = (bounds.len() - 1) as f64;
        let below = match lower {
            0 => 0.0,
            lower if lower == bounds.len() => 1.0,
            lower => {
                let others = self.distinct() - self.found.frequencies.len() as f64;
                let equal = if others > 1.0 { 1.0 / others } else { 0.0 };
                let inside = position(value, &bounds[lower - 1], &bounds[lower]);
                let mut below = ((lower - 1) as f64 + inside) / parts;
                // The lowest bound itself is a value, which no part lies below.
                if lower == 1 {
                    below += equal * (1.0 - inside);
                }
                if above == with_equal {
                    below -= equal;
                }
                below
            }
        };
        let part = if above { 1.0 - below } else { below };
        // The ends are those of a sample.
        let least = 0.01 / parts;
        Some(part.clamp(least, 1.0 - least))
    }

    /// The part of rows between two bounds that each leave so much.
    pub fn between(&self, lower: f64, upper: f64) -> f64 {
        if lower == UNKNOWN_BOUND || upper == UNKNOWN_BOUND {
            return UNKNOWN_RANGE;
        }
        let part = lower + upper - 1.0 + self.nulls();
        match part {
            part if part > 0.0 => part,
            // Bounds that nearly meet; others are not of one column's values.
            part if part >= -0.01 => 1.0e-10,
            _ => UNKNOWN_RANGE,
        }
    }

    /// The part of rows that match a pattern, which begins with `prefix` and has `rest` letters and wildcards behind it.
    pub fn matches(&self, prefix: &str, rest: &str, matches: &dyn Fn(&str) -> bool) -> f64 {
        let holds = |value: &Datum| value.as_str().is_some_and(matches);
        let common: f64 = (self.found.common_values())
            .filter(|(known, _)| holds(known))
            .map(|(_, part)| part)
            .sum();
        let others = (1.0 - self.common_sum() - self.nulls()).clamp(0.0, 1.0);
        let bounds = self.found.bounds();
        let met = bounds.iter().filter(|bound| holds(bound)).count() as f64 / bounds.len().max(1) as f64;
        let guessed = self.prefixed(prefix) * pattern_part(rest);
        let weight = (bounds.len() as f64 / BOUNDS_TELL as f64).min(1.0);
        let part = met * weight + guessed * (1.0 - weight);
        (common + others * part.clamp(1.0e-4, 0.9999)).clamp(0.0, 1.0)
    }

    /// Of the values that are not common those that begin so.
    fn prefixed(&self, prefix: &str) -> f64 {
        if prefix.is_empty() {
            return 1.0;
        }
        let from = self.histogram_part(Comparison::GreaterOrEqual, &Datum::from(prefix));
        let mut behind = prefix.to_string();
        behind.push(char::MAX);
        let to = self.histogram_part(Comparison::Less, &Datum::from(behind.as_str()));
        match from.zip(to) {
            Some((from, to)) => (from + to - 1.0).max(1.0 / self.distinct().max(1.0)),
            None => UNKNOWN_RANGE,
        }
    }

    /// Rows of the table that the statistics are of.
    pub fn rows(&self) -> f64 {
        table_rows(self.relation)
    }
}

/// What letters and wildcards leave of the matches of what stands before them.
fn pattern_part(rest: &str) -> f64 {
    let part = rest.chars().fold(1.0, |part, letter| match letter {
        '%' => part * ANY_BRINGS,
        '_' => part * 0.9,
        _ => part * LETTER_LEAVES,
    });
    part.min(1.0)
}

fn accepts(comparison: Comparison, ordering: Ordering) -> bool {
    match comparison {
        Comparison::Equal => ordering.is_eq(),
        Comparison::NotEqual => ordering.is_ne(),
        Comparison::Less => ordering.is_lt(),
        Comparison::LessOrEqual => ordering.is_le(),
        Comparison::Greater => ordering.is_gt(),
        Comparison::GreaterOrEqual => ordering.is_ge(),
    }
}
