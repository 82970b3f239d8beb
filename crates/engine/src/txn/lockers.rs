//! Waiting for those who hold a table, without standing in anybody's way: what CONCURRENTLY does.
//!
//! Who locks the table after the look is not waited for: by then the catalog must say what newcomers have to know.

use super::error::WriteError;
use super::transaction::Transaction;
use crate::lock::TableLockMode;
use crate::lock::owner::Owner;
use mote_common::TableId;

/// The transactions that held a table when [`Transaction::lockers`] looked, prepared ones included.
pub struct Lockers {
    holders: Vec<Owner>,
}

impl Lockers {
    pub fn count(&self) -> usize {
        self.holders.len()
    }
}

impl Transaction {
    /// Who holds the table in a mode that conflicts with `mode`.
    pub fn lockers(&self, table: TableId, mode: TableLockMode) -> Lockers {
        Lockers {
            holders: self.engine.locks.conflicting_holders(&self.owner(), table, mode),
        }
    }

    /// Until all of them are over; `MustWait` asks to be called again.
    pub fn wait_for_lockers(&self, lockers: &mut Lockers) -> Result<(), WriteError> {
        while let Some(holder) = lockers.holders.last() {
            if let Some(error) = self.wait_for_owner(*holder) {
                return Err(error);
            }
            lockers.holders.pop();
        }
        Ok(())
    }
}
