//! Every index against its table: the tree's own structure, each entry's key against its row, each row's entry, and
//! whether a unique index holds a key twice.
//!
//! For a database that was just recovered and that nobody writes to: then each index has exactly one entry for each row
//! that it covers, and one for each version that a prepared transaction may still make the row.

use std::sync::Arc;

use mote_common::{RowId, SqlError};

use super::Fault;
use crate::engine::Engine;
use crate::epoch;
use crate::index::{Direction, KeyRange};
use crate::table::{KeyOutcome, Table, TableIndex, visibility};
use crate::txn::{Access, BeginError, BeginOptions, Snapshot, Transaction};

/// Faults that are told of one index; more of them say nothing new.
const FAULTS_MAX: usize = 20;

/// What was read, and what was wrong with it.
#[derive(Clone, Debug, Default)]
pub struct IndexReport {
    pub tables: u64,
    pub rows: u64,
    pub indexes: u64,
    pub entries: u64,
    pub faults: Vec<Fault>,
}

/// Checks all indexes. `pace` is told how many tables of how many are done.
pub fn check_indexes(
    engine: &Arc<Engine>,
    pace: &mut dyn FnMut(usize, usize),
) -> Result<IndexReport, BeginError> {
    let transaction = engine.begin_with(BeginOptions::default())?;
    let snapshot = transaction.begin_statement(Access::Write);
    let mut report = IndexReport::default();
    let mut tables = engine.tables();
    tables.sort_by_key(|table| table.id());
    for (done, table) in tables.iter().enumerate() {
        pace(done, tables.len());
        report.tables += 1;
        let rows = count_rows(table, &transaction, &snapshot);
        report.rows += rows;
        for index in table.indexes() {
            let mut check = IndexCheck {
                engine,
                table,
                index: &index,
                transaction: &transaction,
                snapshot: &snapshot,
                entries: 0,
                faults: Vec::new(),
            };
            check.run();
            report.indexes += 1;
            report.entries += check.entries;
            report.faults.append(&mut check.faults);
        }
    }
    pace(tables.len(), tables.len());
    drop(snapshot);
    transaction.abort();
    Ok(report)
}

fn count_rows(table: &Table, transaction: &Transaction, snapshot: &Snapshot) -> u64 {
    let mut scan = table.scan();
    let mut rows = 0;
    while scan.next(table, transaction, snapshot).is_some() {
        rows += 1;
    }
    rows
}

struct IndexCheck<'a> {
    engine: &'a Engine,
    table: &'a Table,
    index: &'a TableIndex,
    transaction: &'a Transaction,
    snapshot: &'a Snapshot,
    entries: u64,
    faults: Vec<Fault>,
}

impl IndexCheck<'_> {
    fn run(&mut self) {
        if let Err(what) = self.index.tree.check() {
            self.fault(None, what);
        }
        self.entries_against_rows();
        self.rows_against_entries();
        if !self.engine.prepared().is_empty() {
            self.prepared_against_entries();
        }
    }

    fn fault(&mut self, row: Option<RowId>, what: String) {
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(Fault {
                table: Some(self.table.id()),
                index: Some(self.index.id),
                row,
                what,
                ..Fault::default()
            });
        }
    }

    /// The key that a row has in this index; `None` when the index does not cover it. With whether it has a NULL.
    fn key_of(&self, layout: u8, bytes: &[u8], key: &mut Vec<u8>) -> Result<Option<bool>, SqlError> {
        let view = self.table.view(layout, bytes);
        Ok(match self.index.key_program.key(&view, key)? {
            KeyOutcome::Key { has_null } => Some(has_null),
            KeyOutcome::NotCovered => None,
        })
    }

    fn entries_against_rows(&mut self) {
        let mut cursor = self.index.tree.cursor(KeyRange::all(), Direction::Forward);
        let (mut key, mut last) = (Vec::new(), None::<(Vec<u8>, RowId)>);
        while let Some((entry, row)) = cursor.next(&self.index.tree) {
            self.entries += 1;
            let has_null = match self.judge(entry, row, &mut key) {
                Ok(has_null) => has_null,
                Err(what) => {
                    if !self.is_prepared(entry, row, &mut key) {
                        self.fault(Some(row), what);
                    }
                    continue;
                }
            };
            if let Some((before, other)) = &last
                && self.index.checks(has_null)
                && before == entry
            {
                let (segment, offset) = (other.segment(), other.offset());
                let what = format!("duplicate key in a unique index: row ({segment},{offset}) has it, too");
                self.fault(Some(row), what);
            }
            last = Some((entry.to_vec(), row));
        }
    }

    /// Whether the visible row is what the entry says; with whether its key has a NULL.
    fn judge(&self, entry: &[u8], row: RowId, key: &mut Vec<u8>) -> Result<bool, String> {
        let Some(version) = self.transaction.fetch(self.table, row, self.snapshot) else {
            return Err("the index has an entry for a row that is not there".into());
        };
        match self.key_of(version.layout(), version.bytes(), key) {
            Ok(Some(has_null)) if key == entry => Ok(has_null),
            Ok(Some(_)) => Err("the index has the row under another key".into()),
            Ok(None) => Err("the index has an entry for a row that its predicate leaves out".into()),
            Err(error) => Err(format!("the row's key cannot be computed: {}", error.message())),
        }
    }

    /// Whether the entry is that of a version which a prepared transaction wrote.
    fn is_prepared(&self, entry: &[u8], row: RowId, key: &mut Vec<u8>) -> bool {
        let guard = epoch::pin();
        let versions = visibility::in_flight(self.table, row, self.engine.slots, &guard);
        versions
            .iter()
            .any(|(layout, bytes)| matches!(self.key_of(*layout, bytes, key), Ok(Some(_))) && key == entry)
    }

    /// What a prepared transaction wrote is found by its key as soon as it commits.
    fn prepared_against_entries(&mut self) {
        let (mut key, mut found) = (Vec::new(), Vec::new());
        for segment in 0..self.table.segment_count() {
            for offset in 0..RowId::SEGMENT_ROWS as u16 {
                let row = RowId::new(segment, offset);
                let guard = epoch::pin();
                for (layout, bytes) in visibility::in_flight(self.table, row, self.engine.slots, &guard) {
                    if matches!(self.key_of(layout, bytes, &mut key), Ok(Some(_))) {
                        found.clear();
                        self.index.tree.get_all(&key, &mut found);
                        if !found.contains(&row) {
                            let what = "the row, as a prepared transaction wrote it, is missing in the index";
                            self.fault(Some(row), what.into());
                        }
                    }
                }
            }
        }
    }

    fn rows_against_entries(&mut self) {
        let (mut key, mut found) = (Vec::new(), Vec::new());
        let mut scan = self.table.scan();
        while let Some(version) = scan.next(self.table, self.transaction, self.snapshot) {
            match self.key_of(version.layout(), version.bytes(), &mut key) {
                Ok(None) => {}
                Ok(Some(_)) => {
                    found.clear();
                    self.index.tree.get_all(&key, &mut found);
                    if !found.contains(&version.row()) {
                        let what = "the row is missing in the index";
                        self.fault(Some(version.row()), what.into());
                    }
                }
                Err(error) => {
                    let what = format!("the row's key cannot be computed: {}", error.message());
                    self.fault(Some(version.row()), what);
                }
            }
        }
    }
}
