//! Deferrable unique keys: written at once, judged later.
//!
//! A write enters its key whether or not it is taken, and notes that it was. When the statement or the transaction is
//! through the layer above asks again with [`Transaction::check_key`]. Nobody escapes: an entry stands in the index before
//! its writer looks around, so that of two writers of one key the later one sees the entry of the earlier one, notes it,
//! and waits for the other's end when it checks.
//! Leaves out: when to check, and what a violation is called (the layer above).

use super::entries::Conflict;
use super::error::WriteError;
use super::transaction::Transaction;
use crate::epoch;
use crate::index::IndexError;
use crate::table::{KeyOutcome, Table, TableIndex};
use mote_common::{IndexId, RowId};
use std::ops::ControlFlow;

impl Transaction {
    /// The caller is pinned.
    pub(super) fn enter_deferrable_key(
        &self,
        table: &Table,
        index: &TableIndex,
        row: RowId,
        key: &[u8],
    ) -> Result<(), IndexError> {
        let mut taken = false;
        index.tree.insert_checked::<()>(key, row, |other| {
            taken |= other != row && self.judge_key(table, index, other, key).is_break();
            ControlFlow::Continue(())
        })?;
        if taken {
            self.work.borrow_mut().unchecked_keys.push((index.id, row));
        }
        Ok(())
    }

    /// The keys that were taken when the last writes entered them. The caller sees to it that each is checked.
    pub fn take_unchecked_keys(&self) -> Vec<(IndexId, RowId)> {
        std::mem::take(&mut self.work.borrow_mut().unchecked_keys)
    }

    /// Is a row, which this transaction has written, the only one with its key? `Duplicate` if not; waits for whoever is
    /// about to decide it. A row that is gone again has no key.
    pub fn check_key(&self, table: &Table, index: &TableIndex, row: RowId) -> Result<(), WriteError> {
        let Some(version) = self.fetch_newest(table, row) else {
            return Ok(());
        };
        let mut key = Vec::new();
        let view = table.view(version.layout(), version.bytes());
        let KeyOutcome::Key { has_null } = index.key_program.key(&view, &mut key)? else {
            return Ok(());
        };
        if !index.checks(has_null) {
            return Ok(());
        }
        let _guard = epoch::pin();
        let mut others = Vec::new();
        index.tree.get_all(&key, &mut others);
        for other in others.into_iter().filter(|&other| other != row) {
            while let ControlFlow::Break(conflict) = self.judge_key(table, index, other, &key) {
                match conflict {
                    Conflict::Duplicate(existing) => {
                        self.note_newest(table, existing)?;
                        return Err(WriteError::Duplicate {
                            index: index.id,
                            existing,
                        });
                    }
                    Conflict::InFlight(slot) => {
                        if let Some(error) = self.wait_for_transaction(slot) {
                            return Err(error);
                        }
                    }
                }
            }
        }
        Ok(())
    }
}
