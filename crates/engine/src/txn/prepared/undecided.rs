//! What whoever decides a prepared transaction may look at: who prepared it, and what it has written to a table. The SQL
//! layer learns so what becomes of its catalog, also after a restart.

use crate::table::version::Version;
use crate::txn::dormant::{Dormant, PreparedInfo};
use crate::txn::engine_core::EngineCore;
use crate::txn::work::{Write, WriteKind};
use mote_common::{RowId, TableId};
use std::ptr::NonNull;

/// A prepared transaction that cannot be decided by anybody else for as long as this is looked at.
pub struct Undecided<'a> {
    pub info: &'a PreparedInfo,
    pub(super) dormant: &'a Dormant,
}

/// One write of a prepared transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PreparedWrite {
    pub row: RowId,
    /// The row was deleted: what follows is what it was.
    pub deleted: bool,
    pub layout: u8,
    pub bytes: Vec<u8>,
}

impl Undecided<'_> {
    /// What the transaction has written to a table, in the order in which it did; what a savepoint took back is not there.
    pub fn writes_to(&self, table: TableId) -> Vec<PreparedWrite> {
        writes_to(&self.dormant.work.writes, table)
    }
}

/// Of a transaction that nobody ends meanwhile.
pub(in crate::txn) fn writes_to(writes: &[Write], table: TableId) -> Vec<PreparedWrite> {
    let writes = writes.iter().filter(|write| {
        // SAFETY: tables outlive the transactions that wrote them.
        unsafe { &*write.table }.id() == table
    });
    writes.map(prepared_write).collect()
}

fn prepared_write(write: &Write) -> PreparedWrite {
    let deleted = write.kind == WriteKind::Delete;
    let mut version = write.version;
    if deleted {
        // SAFETY: uncommitted versions stay until the decision, which whoever holds `Undecided` excludes.
        let below = unsafe { version.as_ref() }.previous();
        version = NonNull::new(below.cast_mut()).expect("a version was deleted");
    }
    // SAFETY: the version is uncommitted, or directly below one, which keeps it; both stay until the decision, which
    // whoever holds `Undecided` excludes.
    let (layout, bytes) = unsafe { (version.as_ref().layout(), Version::payload(version)) };
    PreparedWrite {
        row: write.row,
        deleted,
        layout,
        bytes: bytes.to_vec(),
    }
}

impl EngineCore {
    /// What each prepared transaction has written to a table.
    pub fn prepared_writes_to(&self, table: TableId) -> Vec<Vec<PreparedWrite>> {
        let mut writes = Vec::new();
        for entry in self.prepared.ready() {
            if let Some(dormant) = entry.dormant.lock().as_ref() {
                let info = &entry.info;
                writes.push(Undecided { info, dormant }.writes_to(table));
            }
        }
        writes
    }
}
