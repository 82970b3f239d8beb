//! A set of rows with dense numbers: what DISTINCT, set operations, hash aggregation and hash joins are built on.
//!
//! Two nulls are the same here, as in GROUP BY and DISTINCT.

use hashbrown::HashTable;
use mote_common::SqlResult;
use mote_types::Datum;

use crate::runtime::Runtime;
use crate::runtime::WorkMemory;
use crate::value::{equal_rows, hash_row};

#[derive(Default)]
pub struct RowSet {
    rows: Vec<Box<[Datum]>>,
    table: HashTable<(u64, u32)>,
    memory: WorkMemory,
}

impl RowSet {
    /// The number of `row`, and whether it is new.
    pub fn insert(&mut self, row: &[Datum], runtime: &Runtime<'_, '_>) -> SqlResult<(usize, bool)> {
        let hash = hash_row(row);
        if let Some(number) = self.find_hashed(hash, row) {
            return Ok((number, false));
        }
        self.memory.charge_row(row, runtime)?;
        let number = self.rows.len();
        self.rows.push(row.into());
        self.table
            .insert_unique(hash, (hash, number as u32), |entry| entry.0);
        Ok((number, true))
    }

    pub fn find(&self, row: &[Datum]) -> Option<usize> {
        self.find_hashed(hash_row(row), row)
    }

    fn find_hashed(&self, hash: u64, row: &[Datum]) -> Option<usize> {
        let found = self.table.find(hash, |&(other, number)| {
            other == hash && equal_rows(&self.rows[number as usize], row)
        });
        found.map(|&(_, number)| number as usize)
    }

    pub fn row(&self, number: usize) -> &[Datum] {
        &self.rows[number]
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn memory(&mut self) -> &mut WorkMemory {
        &mut self.memory
    }

    pub fn clear(&mut self) {
        self.rows.clear();
        self.table.clear();
        self.memory.clear();
    }
}
