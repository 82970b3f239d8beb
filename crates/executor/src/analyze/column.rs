//! From the sampled values of a column to what is kept of it, by PostgreSQL's rules: the estimator of Haas and Stokes for
//! the number of values (Duj1), common values that are significantly more frequent than the rest, bounds of equal parts.

use crate::value::{equal, order};
use mote_catalog::catalog_store::stored::StoredColumnStatistics;
use mote_common::{SqlResult, work};
use mote_types::Datum;

/// Values of so many bytes are counted, but neither compared nor kept: they would fill the catalog.
pub const COMPARED_BYTES_MAX: usize = 1024;

/// What was met of a column, in the order of the rows.
#[derive(Default)]
pub struct Sample {
    /// Those that are compared, with their places in the sample.
    pub values: Vec<(Datum, u32)>,
    pub rows: usize,
    pub nulls: usize,
    /// Not null, and not compared.
    pub wide: usize,
    /// Of all values that are not null.
    pub bytes: u64,
}

/// How the values of a type are looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Approach {
    /// By their order.
    Ordered,
    /// Ranges: no two are taken to be the same.
    Distinct,
    /// There is no order: only nulls and bytes are counted.
    Counted,
}

/// A value, by where it begins among the sorted ones, and how often it is there.
#[derive(Clone, Copy)]
struct Run {
    first: usize,
    count: usize,
}

/// What the sorted values are made of.
struct Runs {
    distinct: usize,
    /// Values that are there more than once.
    multiple: usize,
    /// Those of them that are there most often, the most frequent first; equally frequent ones in their own order.
    common: Vec<Run>,
}

impl Sample {
    /// One value of the sample, with the bytes it takes. Wide ones are counted and not compared, as in PostgreSQL
    /// (WIDTH_THRESHOLD).
    pub fn push(&mut self, value: Datum, bytes: usize) {
        // The place among the values that are compared: the physical order, for the correlation.
        let place = (self.rows - self.nulls - self.wide) as u32;
        self.rows += 1;
        match value {
            Datum::Null => self.nulls += 1,
            _ => {
                self.bytes += bytes as u64;
                match bytes > COMPARED_BYTES_MAX {
                    true => self.wide += 1,
                    false => self.values.push((value, place)),
                }
            }
        }
    }

    /// Which part of the rows is NULL.
    fn null_fraction(&self) -> f64 {
        self.nulls as f64 / self.rows as f64
    }

    /// `target`: how many common values and parts are kept at most. `total`: the rows of the table.
    pub fn describe(
        mut self,
        approach: Approach,
        target: usize,
        total: f64,
        text: &mut dyn FnMut(&Datum) -> String,
    ) -> SqlResult<StoredColumnStatistics> {
        let met = self.rows - self.nulls;
        let mut found = StoredColumnStatistics {
            null_fraction: self.null_fraction() as f32,
            width: (self.bytes as f64 / met.max(1) as f64) as i32,
            ..StoredColumnStatistics::default()
        };
        if met == 0 || approach == Approach::Counted {
            return Ok(found);
        }
        // Nothing was compared: all values that are not NULL are taken to differ.
        if approach == Approach::Distinct || self.values.is_empty() {
            found.distinct = -(1.0 - found.null_fraction);
            return Ok(found);
        }
        // May be long: it is paid for, and can be cancelled.
        work::sort_by(&mut self.values, |(a, _), (b, _)| order(a, b))?;
        let runs = self.runs(target);
        let distinct = self.distinct(&runs, total);
        found.distinct = distinct as f32;
        let common = self.common(&runs, target, distinct, total);
        found.frequencies = common
            .iter()
            .map(|run| (run.count as f64 / self.rows as f64) as f32)
            .collect();
        found.common = common.iter().map(|run| text(&self.values[run.first].0)).collect();
        found.correlation = self.correlation();
        // A histogram needs two bounds at least.
        let parts = (runs.distinct - common.len()).min(target + 1);
        if parts >= 2 {
            found.histogram = self.bounds(common, parts).into_iter().map(text).collect();
        }
        Ok(found)
    }

    /// Equal values stand side by side by now.
    fn runs(&self, target: usize) -> Runs {
        let mut runs = Runs {
            distinct: 0,
            multiple: 0,
            common: Vec::new(),
        };
        let mut first = 0;
        for end in 1..=self.values.len() {
            if end < self.values.len() && equal(&self.values[first].0, &self.values[end].0) {
                continue;
            }
            let run = Run {
                first,
                count: end - first,
            };
            runs.distinct += 1;
            if run.count > 1 {
                runs.multiple += 1;
                runs.common.push(run);
            }
            first = end;
        }
        // Stable: equally frequent values stay in their order.
        runs.common.sort_by_key(|run| std::cmp::Reverse(run.count));
        runs.common.truncate(target);
        runs
    }

    /// As in `pg_statistic.stadistinct`: a count, or minus a part of the rows where it grows with them.
    fn distinct(&self, runs: &Runs, total: f64) -> f64 {
        let not_null = 1.0 - self.null_fraction();
        // Each value was met once: the column is taken for unique.
        if runs.multiple == 0 {
            return -not_null;
        }
        // Each was met more than once: it is unlikely that others exist.
        let distinct = match self.wide == 0 && runs.multiple == runs.distinct {
            true => runs.distinct as f64,
            false => {
                // The estimator of Haas and Stokes, as PostgreSQL uses it (compute_scalar_stats).
                // n * d / (n - f1 + f1 * n / N); f1 is the number of values met once.
                let once = (runs.distinct - runs.multiple + self.wide) as f64;
                let met = once + runs.multiple as f64;
                let sampled = (self.rows - self.nulls) as f64;
                let all = total * not_null;
                let estimated = match all > 0.0 {
                    true => sampled * met / (sampled - once + once * sampled / all),
                    false => 0.0,
                };
                (estimated.min(all).max(met) + 0.5).floor()
            }
        };
        // PostgreSQL's rule: a tenth of the rows and more grows with the table.
        match distinct > 0.1 * total {
            true => -(distinct / total),
            false => distinct,
        }
    }

    /// All values, if they are few and known; else those that are there significantly more often than the average of the
    /// rest.
    fn common<'r>(&self, runs: &'r Runs, target: usize, distinct: f64, total: f64) -> &'r [Run] {
        let complete = runs.common.len() == runs.distinct && self.wide == 0 && distinct > 0.0;
        let kept = match complete && runs.common.len() <= target {
            true => runs.common.len(),
            false => self.significant(&runs.common, distinct, total),
        };
        &runs.common[..kept]
    }

    /// How many of these are more frequent than the rest by two standard deviations of a hypergeometric distribution.
    fn significant(&self, common: &[Run], distinct: f64, total: f64) -> usize {
        let sampled = self.rows as f64;
        // The whole table was looked at: frequencies are exact.
        if sampled == total || total <= 1.0 {
            return common.len();
        }
        let distinct = if distinct < 0.0 {
            -distinct * total
        } else {
            distinct
        };
        let mut others: usize = common.iter().rev().skip(1).map(|run| run.count).sum();
        // From the rarest up: the first one that stands out decides, since all before it are more frequent.
        for kept in (1..=common.len()).rev() {
            let rest = distinct - (kept - 1) as f64;
            let part = (1.0 - others as f64 / sampled - self.null_fraction()).clamp(0.0, 1.0);
            let part = if rest > 1.0 { part / rest } else { part };
            let count = common[kept - 1].count as f64;
            let in_all = total * count / sampled;
            let variance =
                sampled * in_all * (total - in_all) * (total - sampled) / (total * total * (total - 1.0));
            if count > part * sampled + 2.0 * variance.sqrt() + 0.5 {
                return kept;
            }
            others -= if kept >= 2 { common[kept - 2].count } else { 0 };
        }
        0
    }

    /// Bounds of `bounds - 1` parts with equally many of the values that are not common.
    fn bounds(&self, common: &[Run], bounds: usize) -> Vec<&Datum> {
        let mut left_out: Vec<Run> = common.to_vec();
        left_out.sort_by_key(|run| run.first);
        let mut rest = Vec::with_capacity(self.values.len());
        let mut at = 0;
        for run in left_out {
            rest.extend(&self.values[at..run.first]);
            at = run.first + run.count;
        }
        rest.extend(&self.values[at..]);
        let place = |number: usize| number * (rest.len() - 1) / (bounds - 1);
        (0..bounds).map(|number| &rest[place(number)].0).collect()
    }

    /// Of the order of values with that of rows; both are 0, 1, 2 ..
    fn correlation(&self) -> Option<f32> {
        let count = self.values.len() as f64;
        if count <= 1.0 {
            return None;
        }
        let products: f64 = (self.values.iter().enumerate())
            .map(|(place, (_, row))| place as f64 * f64::from(*row))
            .sum();
        let sum = (count - 1.0) * count / 2.0;
        let squares = (count - 1.0) * count * (2.0 * count - 1.0) / 6.0;
        Some(((count * products - sum * sum) / (count * squares - sum * sum)) as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(values: impl IntoIterator<Item = Option<i32>>, total: f64) -> StoredColumnStatistics {
        let mut sample = Sample::default();
        for value in values {
            sample.push(value.map_or(Datum::Null, Datum::Int4), 4);
        }
        let text = &mut |value: &Datum| value.as_i64().expect("a number").to_string();
        sample
            .describe(Approach::Ordered, 10, total, text)
            .expect("nobody cancels it")
    }

    #[test]
    fn unique_values_are_a_part_of_the_rows() {
        let found = described((0..1000).map(Some), 1000.0);
        assert_eq!((found.distinct, found.correlation), (-1.0, Some(1.0)));
        assert!(found.common.is_empty());
        let bounds: Vec<String> = [0, 99, 199, 299, 399, 499, 599, 699, 799, 899, 999]
            .map(|bound: i32| bound.to_string())
            .into();
        assert_eq!(found.histogram, bounds);
    }

    #[test]
    fn few_values_are_all_kept_with_their_frequencies() {
        let found = described((0..100).map(|row| (row % 10 != 0).then_some(row % 4)), 100_000.0);
        assert_eq!((found.null_fraction, found.distinct), (0.1, 4.0));
        assert_eq!(found.common, ["1", "3", "0", "2"]);
        assert_eq!(found.frequencies, [0.25, 0.25, 0.2, 0.2]);
        assert!(found.histogram.is_empty());
    }

    #[test]
    fn values_met_once_tell_of_those_not_met() {
        // 900 values once, 50 twice, of 100,000 rows: n d / (n - f1 + f1 n / N).
        let values = (0..900).chain((1000..1050).flat_map(|value| [value, value]));
        let found = described(values.map(Some), 100_000.0);
        let estimated = (1000.0 * 950.0 / (1000.0 - 900.0 + 900.0 * 1000.0 / 100_000.0) + 0.5_f64).floor();
        assert_eq!(found.distinct, estimated as f32);
        // Twice in a sample of a hundredth is chance.
        assert!(found.common.is_empty() && found.histogram.len() == 11);
    }

    #[test]
    fn a_frequent_value_stands_out_and_leaves_the_histogram() {
        let values = (0..1000).map(|row| Some(if row % 2 == 0 { 7 } else { row }));
        let found = described(values, 1_000_000.0);
        assert_eq!(
            (found.common, found.frequencies),
            (vec!["7".to_string()], vec![0.501])
        );
        assert_eq!((found.histogram[0].as_str(), found.histogram.len()), ("1", 11));
    }

    #[test]
    fn nulls_alone_and_wide_values() {
        let nulls = described([None, None], 2.0);
        assert_eq!((nulls.null_fraction, nulls.distinct, nulls.width), (1.0, 0.0, 0));
        let mut sample = Sample::default();
        sample.push(Datum::Null, 0);
        sample.push(Datum::Int4(1), COMPARED_BYTES_MAX + 1);
        let found = sample.describe(Approach::Ordered, 10, 2.0, &mut |_| String::new());
        assert_eq!(found.map(|found| found.distinct).ok(), Some(-0.5));
    }
}
