//! A set of rows with dense numbers: what DISTINCT, set operations, hash aggregation and hash joins are built on.
//!
//! Two nulls are the same here, as in GROUP BY and DISTINCT.

use mote_common::SqlResult;
use mote_common::work::Bulk;
use mote_types::Datum;

use super::hash_index::HashIndex;
use crate::runtime::Runtime;
use crate::runtime::WorkMemory;
use crate::value::{equal_rows, hash_row, hash_values, same};

/// Rows by number, in the order in which they came first, each of them once.
#[derive(Default)]
pub struct RowSet {
    rows: Bulk<Box<[Datum]>>,
    index: HashIndex,
    memory: WorkMemory,
}

impl RowSet {
    /// The number of `row`, and whether it is new.
    pub fn insert(&mut self, row: &[Datum], runtime: &Runtime<'_, '_>) -> SqlResult<(usize, bool)> {
        let hash = hash_row(row);
        if let Some(number) = self.find_hashed(hash, row) {
            return Ok((number, false));
        }
        self.insert_new(hash, row.into(), runtime)
    }

    /// [`RowSet::insert`] of a row whose values stand in several places: copied only if it is new.
    #[inline]
    pub fn insert_values<'v>(
        &mut self,
        values: impl Iterator<Item = &'v Datum> + Clone,
        runtime: &Runtime<'_, '_>,
    ) -> SqlResult<(usize, bool)> {
        let hash = hash_values(values.clone());
        let found = self.index.find(hash, |number| {
            let row = &self.rows[number];
            row.iter().zip(values.clone()).all(|(a, b)| same(a, b))
        });
        match found {
            Some(number) => Ok((number, false)),
            None => self.insert_new(hash, values.cloned().collect(), runtime),
        }
    }

    #[cold]
    fn insert_new(
        &mut self,
        hash: u64,
        row: Box<[Datum]>,
        runtime: &Runtime<'_, '_>,
    ) -> SqlResult<(usize, bool)> {
        // Charged before it is kept: what work_mem refuses does not stay.
        self.memory.charge_row(&row, runtime)?;
        let number = self.rows.len();
        self.rows.push(row);
        self.index.insert(hash, number);
        Ok((number, true))
    }

    /// The number of a row that is there.
    pub fn find(&self, row: &[Datum]) -> Option<usize> {
        self.find_hashed(hash_row(row), row)
    }

    fn find_hashed(&self, hash: u64, row: &[Datum]) -> Option<usize> {
        self.index
            .find(hash, |number| equal_rows(&self.rows[number], row))
    }

    pub fn row(&self, number: usize) -> &[Datum] {
        &self.rows[number]
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// For what a node keeps beside the rows themselves: one account for both.
    pub fn memory(&mut self) -> &mut WorkMemory {
        &mut self.memory
    }

    /// What the rows take.
    pub fn bytes(&self) -> usize {
        self.memory.bytes()
    }

    pub fn clear(&mut self) {
        self.rows.clear();
        self.index.clear();
        self.memory.clear();
    }
}
