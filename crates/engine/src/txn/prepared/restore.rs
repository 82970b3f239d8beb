//! Prepared transactions after a crash: written again, locked again, before the first session.
//!
//! Recovery has put every commit into the tables and hands over the operations of the undecided. They go through the
//! ordinary write path, so that chains, index entries and locks come to be what they were; only the log is left out,
//! where they stand already. Order between prepared transactions does not matter: none has touched what another locked.
//! Writes to the catalog are followed by what they say of the engine's objects: see `objects`.

use super::damage::{damaged, gone};
use super::objects::InsertedRows;
use super::state::State;
use crate::lock::{AdvisoryScope, WaitPolicy};
use crate::memory::Charge;
use crate::recovery::{ApplyError, PreparedTransaction};
use crate::table::store::ordinal_of_row;
use crate::table::version::allocation_bytes;
use crate::table::{CATALOG_TABLE, Table};
use crate::txn::dormant::{Entry, PreparedInfo, insert};
use crate::txn::engine_core::EngineCore;
use crate::txn::source::Source;
use crate::txn::transaction::{Isolation, Transaction};
use crate::txn::work::WriteKind;
use crate::txn::{RowVersion, WriteError};
use mote_common::{Lsn, RowId};
use mote_log::{Operation, patch};
use std::sync::Arc;

impl EngineCore {
    /// Before anybody else has a transaction.
    pub(crate) fn restore_prepared(
        self: &Arc<EngineCore>,
        undecided: Vec<PreparedTransaction>,
    ) -> Result<(), ApplyError> {
        self.install_prepared(undecided)?;
        // On a node that follows, those of transactions that are still to commit are among them.
        if !self.log.is_following() {
            self.objects().forget_unclaimed_states();
        }
        Ok(())
    }

    /// Nobody else writes meanwhile.
    pub(super) fn install_prepared(
        self: &Arc<EngineCore>,
        undecided: Vec<PreparedTransaction>,
    ) -> Result<(), ApplyError> {
        let inserted = self.reserve_rows(&undecided)?;
        // All that was written first, then locks: see `lock_again`.
        let (mut written, mut patched) = (Vec::with_capacity(undecided.len()), Vec::new());
        for prepared in undecided {
            let gid = String::from_utf8(prepared.gid).map_err(|_| damaged("its name is not text"))?;
            let state = State::decode(&prepared.state).ok_or_else(|| damaged("its locks are malformed"))?;
            let transaction = self
                .begin(Isolation::ReadCommitted, false)
                .map_err(|error| ApplyError::Other(format!("\"{gid}\": {error:?}")))?;
            transaction.source.set(Source::Prepared);
            for body in &prepared.operations {
                let operation =
                    Operation::decode(body).ok_or_else(|| damaged("an operation is malformed"))?;
                let table = self.table(operation.table());
                let table = table.ok_or_else(|| gone(operation.table()))?;
                transaction.write_again(&table, operation, &mut patched, &inserted)?;
            }
            transaction.free_unwritten_rows();
            transaction.work.borrow_mut().tells = prepared.tells;
            written.push((gid, state, transaction));
        }
        for (gid, state, transaction) in written {
            transaction
                .lock_again(&state)
                .map_err(|error| ApplyError::Other(format!("\"{gid}\": a lock was refused: {error:?}")))?;
            self.adopt(gid, state.note, transaction);
        }
        Ok(())
    }

    fn adopt(&self, gid: String, note: Vec<u8>, transaction: Transaction) {
        let info = PreparedInfo {
            gid,
            transaction: transaction.id(),
            note,
        };
        let entry: Arc<Entry> = insert(&mut self.prepared.entries.lock(), info);
        entry.settle(transaction.into_dormant());
    }

    /// Their inserts have row ids that look free. Tables that they make themselves have none yet to be given out.
    fn reserve_rows(&self, undecided: &[PreparedTransaction]) -> Result<InsertedRows, ApplyError> {
        let mut reserved = InsertedRows::new();
        for body in undecided.iter().flat_map(|prepared| &prepared.operations) {
            let operation = Operation::decode(body).ok_or_else(|| damaged("an operation is malformed"))?;
            if let Operation::Insert { table, row, .. } = operation {
                reserved.entry(table).or_default().insert(row);
            }
        }
        for (table, rows) in &reserved {
            if let Some(table) = self.table(*table) {
                table.reserve_rows(rows);
            }
        }
        Ok(reserved)
    }
}

impl Transaction {
    /// What the log says was written to `table`. `patched` is scratch.
    pub(in crate::txn) fn write_again(
        &self,
        table: &Table,
        operation: Operation<'_>,
        patched: &mut Vec<u8>,
        inserted: &InsertedRows,
    ) -> Result<(), ApplyError> {
        debug_assert!(self.source.get().is_log());
        // Each a command of its own: a later one may change what an earlier one wrote.
        self.next_command();
        let written = match operation {
            Operation::Insert {
                row, layout, bytes, ..
            } => {
                self.check_layout(table, layout)?;
                self.check_vacant(table, row)?;
                self.insert_again(table, row, bytes)
            }
            Operation::Update {
                row,
                layout,
                base_ts,
                patch,
                ..
            } => {
                self.check_layout(table, layout)?;
                let base = self.base(table, row, base_ts)?;
                patch::apply(base.bytes(), patch, patched)
                    .map_err(|_| damaged("a patch does not fit its row"))?;
                self.update_again(table, &base, patched)
            }
            Operation::UpdateWhole {
                row,
                layout,
                base_ts,
                bytes,
                ..
            } => {
                self.check_layout(table, layout)?;
                let base = self.base(table, row, base_ts)?;
                self.update_again(table, &base, bytes)
            }
            Operation::Delete { row, base_ts, .. } => {
                let base = self.base(table, row, base_ts)?;
                self.charge(0)
                    .and_then(|()| self.delete_charged(table, &base, 0, None))
            }
        };
        written.map_err(|error| match error {
            WriteError::OutOfMemory => ApplyError::OutOfMemory,
            other => ApplyError::Other(format!("row {:?}: {other:?}", operation.row())),
        })?;
        if table.id() != CATALOG_TABLE {
            return Ok(());
        }
        let kind = match operation {
            Operation::Insert { .. } => WriteKind::Insert,
            Operation::Update { .. } | Operation::UpdateWhole { .. } => WriteKind::Update,
            Operation::Delete { .. } => WriteKind::Delete,
        };
        self.change_object_again(table, operation.row(), kind, inserted)
    }

    /// Nobody can have changed the layout of a table that a prepared transaction has locked.
    fn check_layout(&self, table: &Table, layout: u8) -> Result<(), ApplyError> {
        if table.newest_layout().number() == layout {
            return Ok(());
        }
        Err(damaged("it was written with another layout than its table has"))
    }

    /// The version that an operation changes; zero stands for one of the transaction itself.
    fn base<'t>(&'t self, table: &Table, row: RowId, base_ts: Lsn) -> Result<RowVersion<'t>, ApplyError> {
        let newest = self
            .fetch_newest(table, row)
            .ok_or(ApplyError::BaseMismatch { found: None })?;
        let found = newest.header().stamp().timestamp();
        let expected = match base_ts {
            Lsn::ZERO => self.source.get().own_timestamp(),
            base_ts => Some(base_ts),
        };
        if found == expected {
            Ok(newest)
        } else {
            Err(ApplyError::BaseMismatch { found })
        }
    }

    /// What was prepared must come back, also where new rows would be refused.
    fn charge(&self, row_bytes: usize) -> Result<(), WriteError> {
        if self
            .engine
            .budget
            .charge(allocation_bytes(row_bytes), Charge::Essential)
        {
            Ok(())
        } else {
            Err(WriteError::OutOfMemory)
        }
    }

    fn insert_again(&self, table: &Table, row: RowId, bytes: &[u8]) -> Result<(), WriteError> {
        self.charge(bytes.len())?;
        table.raise_ordinals_end(ordinal_of_row(row) + 1);
        let slot = table.directory.ensure(row.segment()).slot(row.offset());
        if slot.head().is_null() {
            return self.insert_at(table, row, slot, bytes, &[]);
        }
        // The row that had this id is deleted, and the node that wrote the log had done with it; readers here may not.
        self.insert_over(table, row, slot, bytes)
    }

    fn update_again(&self, table: &Table, base: &RowVersion<'_>, bytes: &[u8]) -> Result<(), WriteError> {
        self.charge(bytes.len())?;
        self.update_charged(table, base, bytes, None)
    }

    fn lock_again(&self, state: &State) -> Result<(), WriteError> {
        for &(table, mode) in &state.tables {
            self.lock_table(table, mode, WaitPolicy::NoWait)?;
        }
        self.next_command();
        for lock in &state.rows {
            let Some(table) = self.engine.table(lock.table) else {
                continue;
            };
            match self.lock_row(&table, lock.row(), None, lock.strength, WaitPolicy::NoWait) {
                // Two prepared transactions never held conflicting locks on one row. So this lock was on a row that had
                // gone and whose id was another row's when that was changed: frames of older versions name such locks.
                Ok(_) | Err(WriteError::WouldBlock) => {}
                Err(error) => return Err(error),
            }
        }
        for &(key, mode) in &state.advisory {
            self.lock_advisory(key, mode, AdvisoryScope::Transaction, WaitPolicy::NoWait)?;
        }
        Ok(())
    }
}
