//! What ANALYZE found out about the values of columns.
//!
//! Fractions and frequencies are of all rows, nulls included, as in pg_statistic. Values are kept as their canonical texts
//! and read when a plan first asks for them: most columns are never asked about. Leaves out: who samples, who estimates.

use std::sync::{Arc, OnceLock};

use mote_types::catalog::user::without;
use mote_types::{ColumnType, Datum, FormatSettings, input_text};

/// Of one table, or of a table with all those below it.
#[derive(Debug, Default)]
pub struct TableStatistics {
    /// By position; None where nothing was gathered.
    pub columns: Vec<Option<Arc<ColumnStatistics>>>,
}

#[derive(Debug)]
pub struct ColumnStatistics {
    pub ty: ColumnType,
    pub null_fraction: f32,
    /// Bytes of a value, on average.
    pub width: i32,
    /// A count; below zero, minus the part of all rows; zero where it is not known.
    pub distinct: f32,
    pub common: Vec<String>,
    /// Of the common values, which come in this order: the most common first.
    pub frequencies: Vec<f32>,
    /// Bounds of parts with equally many of the values that are not common.
    pub histogram: Vec<String>,
    /// Between the order of the values and that of the rows.
    pub correlation: Option<f32>,
    pub values: OnceLock<Values>,
}

/// The values that the texts stand for, once somebody has asked.
#[derive(Debug, Default)]
pub struct Values {
    common: Vec<Datum>,
    histogram: Vec<Datum>,
}

impl ColumnStatistics {
    /// The most common values, each with the part of the rows that has it.
    pub fn common_values(&self) -> impl Iterator<Item = (&Datum, f64)> {
        let frequencies = self.frequencies.iter().map(|&frequency| f64::from(frequency));
        self.values().common.iter().zip(frequencies)
    }

    /// In ascending order.
    pub fn bounds(&self) -> &[Datum] {
        &self.values().histogram
    }

    /// How many values there are in a table of so many rows; None where it is not known.
    pub fn distinct_in(&self, rows: f64) -> Option<f64> {
        let distinct = f64::from(self.distinct);
        match () {
            () if distinct > 0.0 => Some(distinct.min(rows).max(1.0)),
            () if distinct < 0.0 => Some((-distinct * rows).max(1.0)),
            () => None,
        }
    }

    fn values(&self) -> &Values {
        self.values.get_or_init(|| Values {
            common: read(&self.common, self.ty),
            histogram: read(&self.histogram, self.ty),
        })
    }
}

/// Texts that a type no longer reads say nothing: estimates do without them.
fn read(texts: &[String], ty: ColumnType) -> Vec<Datum> {
    let settings = FormatSettings::default();
    let plain = ColumnType::new(ty.oid);
    let values: Result<Vec<Datum>, _> = without(|| {
        texts
            .iter()
            .map(|text| input_text(plain, text, &settings))
            .collect()
    });
    values.unwrap_or_default()
}
