//! Savepoints: marks in the lists of what a transaction has done.

use super::transaction::Transaction;
use super::undo::ROLLING_BACK;
use super::work::{Savepoint, SavepointId};
use mote_common::critical::AbortOnPanic;

impl Transaction {
    pub fn savepoint(&self) -> SavepointId {
        let mut work = self.work.borrow_mut();
        work.next_savepoint += 1;
        let savepoint = Savepoint {
            id: SavepointId(work.next_savepoint),
            writes: work.writes.len(),
            rows: work.rows.len(),
            tables: work.tables.len(),
            ddl: work.ddl.len(),
            redo: work.redo.mark(),
        };
        let id = savepoint.id;
        work.savepoints.push(savepoint);
        id
    }

    /// Takes back everything since the savepoint, which stays; later savepoints are gone. Locks taken since are given
    /// back, and a lock that was strengthened since is as weak as it was.
    pub fn rollback_to(&self, id: SavepointId) {
        let (writes, rows, tables, ddl) = {
            let mut work = self.work.borrow_mut();
            let Some(position) = work.savepoints.iter().position(|savepoint| savepoint.id == id) else {
                return;
            };
            work.savepoints.truncate(position + 1);
            let savepoint = &work.savepoints[position];
            let marks = (savepoint.writes, savepoint.rows, savepoint.tables, savepoint.ddl);
            let redo = savepoint.redo;
            work.redo.truncate(redo);
            work.told.values_mut().for_each(|told| *told = None);
            marks
        };
        self.note_undone(writes, rows);
        let critical = AbortOnPanic(ROLLING_BACK);
        // Writes first, as in a whole rollback.
        let contended = self.undo_writes(writes, true);
        self.undo_ddl(ddl);
        std::mem::forget(critical);
        let released = self.work.borrow_mut().rows.split_off(rows);
        for (table, row) in released
            .iter()
            .map(|held| (held.table, held.row))
            .chain(contended)
        {
            // SAFETY: tables outlive the transactions that locked or wrote their rows.
            self.settle_row_lock(unsafe { &*table }, row);
        }
        self.release_tables_from(tables);
    }

    /// Forgets the savepoint and later ones; what was done since stays.
    pub fn release(&self, id: SavepointId) {
        let mut work = self.work.borrow_mut();
        if let Some(position) = work.savepoints.iter().position(|savepoint| savepoint.id == id) {
            work.savepoints.truncate(position);
        }
    }
}
