//! Snapshots that transactions have exported (`pg_export_snapshot`), for others to read through (`SET TRANSACTION
//! SNAPSHOT`): `pg_dump -j` lets several sessions see one state.
//!
//! An export is a clone of the exporter's registered snapshot: the versions it sees stay until the last clone is gone,
//! whoever holds it. It can be imported until its transaction ends; who has imported it keeps it for as long as needed.
//! Leaves out: what a snapshot sees (`mote_engine::Snapshot`).

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use mote_common::{Oid, SqlError, SqlResult, error::state};
use mote_engine::{Isolation, Snapshot, Transaction};
use parking_lot::Mutex;

struct Exported {
    /// The exporting session.
    pid: u32,
    database: Oid,
    isolation: Isolation,
    read_only: bool,
    snapshot: Snapshot,
}

/// The exports of one database directory, by identifier.
#[derive(Default)]
pub struct ExportedSnapshots {
    exported: Mutex<HashMap<String, Exported>>,
    /// How many there are: the end of a transaction takes no lock where nobody exports.
    count: AtomicUsize,
}

impl ExportedSnapshots {
    /// Answers the identifier that others name.
    pub fn export(&self, pid: u32, database: Oid, transaction: &Transaction, snapshot: &Snapshot) -> String {
        let mut exported = self.exported.lock();
        let earlier = exported.values().filter(|other| other.pid == pid).count();
        // As PostgreSQL's: the transaction, then a number.
        let id = format!("{pid:08X}-{:08X}-{}", transaction.id().0, earlier + 1);
        let entry = Exported {
            pid,
            database,
            isolation: transaction.isolation(),
            read_only: transaction.is_read_only(),
            snapshot: snapshot.clone(),
        };
        exported.insert(id.clone(), entry);
        // Relaxed: a session asks for its own exports, which it has made itself.
        self.count.store(exported.len(), Ordering::Relaxed);
        id
    }

    /// Has `transaction`, which has read nothing yet, read through the snapshot `id`.
    pub fn import(&self, id: &str, database: Oid, transaction: &Transaction) -> SqlResult<()> {
        // Under the lock: the exporter's registration covers the versions until ours is there.
        let exported = self.exported.lock();
        let Some(source) = exported.get(id) else {
            return Err(SqlError::new(
                state::INVALID_PARAMETER_VALUE,
                format!("invalid snapshot identifier: \"{id}\""),
            ));
        };
        let refuse = |message: &str| Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        if transaction.isolation() == Isolation::Serializable {
            if source.isolation != Isolation::Serializable {
                return refuse(
                    "a serializable transaction cannot import a snapshot from a non-serializable transaction",
                );
            }
            if source.read_only && !transaction.is_read_only() {
                return refuse(
                    "a non-read-only serializable transaction cannot import a snapshot from a read-only transaction",
                );
            }
            if !transaction.is_read_only() {
                return Err(SqlError::unsupported(
                    "SET TRANSACTION SNAPSHOT in a serializable transaction that may write",
                ));
            }
        }
        if source.database != database {
            return refuse("cannot import a snapshot from a different database");
        }
        transaction.import_snapshot(&source.snapshot);
        Ok(())
    }

    /// Whether the session's transaction has exported something.
    pub fn has_exported(&self, pid: u32) -> bool {
        self.count.load(Ordering::Relaxed) > 0 && self.exported.lock().values().any(|other| other.pid == pid)
    }

    /// The session's transaction is over.
    pub fn end(&self, pid: u32) {
        if self.count.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut exported = self.exported.lock();
        exported.retain(|_, other| other.pid != pid);
        self.count.store(exported.len(), Ordering::Relaxed);
    }
}
