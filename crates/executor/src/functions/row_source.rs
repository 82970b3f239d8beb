//! Rows that a function has made at once, as a set that is read row by row.

use mote_common::SqlResult;
use mote_types::Datum;

use super::RowSource;
use crate::memory::{Kept, KeptRows};

/// Rows that were made at once.
struct Rows {
    rows: std::vec::IntoIter<Vec<Datum>>,
    /// What they take, until the last one is gone.
    _kept: Kept,
}

impl RowSource for Rows {
    fn next(&mut self, row: &mut Vec<Datum>) -> SqlResult<bool> {
        let Some(mut next) = self.rows.next() else {
            return Ok(false);
        };
        row.append(&mut next);
        Ok(true)
    }
}

/// Rows that are not charged to the session.
pub fn rows(rows: Vec<Vec<Datum>>) -> Box<dyn RowSource> {
    kept_rows(KeptRows {
        rows: rows.into(),
        ..KeptRows::default()
    })
}

/// The same for rows that were accounted for.
pub fn kept_rows(rows: KeptRows) -> Box<dyn RowSource> {
    Box::new(Rows {
        rows: rows.rows.into_iter(),
        _kept: rows.kept,
    })
}

/// Rows of one column that were made at once.
struct List(std::vec::IntoIter<Datum>);

impl RowSource for List {
    fn next(&mut self, row: &mut Vec<Datum>) -> SqlResult<bool> {
        let Some(value) = self.0.next() else {
            return Ok(false);
        };
        row.push(value);
        Ok(true)
    }
}

pub fn list(values: Vec<Datum>) -> Box<dyn RowSource> {
    Box::new(List(values.into_iter()))
}

/// A scalar as a set of one row.
pub fn single(value: Datum) -> Box<dyn RowSource> {
    list(vec![value])
}
