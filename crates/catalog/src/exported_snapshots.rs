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

#[derive(Default)]
struct Shared {
    /// By identifier.
    exported: HashMap<String, Exported>,
    /// Sessions that read through an imported snapshot, and under which session that is registered: both must give it up
    /// when it is revoked.
    imported: HashMap<u32, u32>,
}

/// The exports of one database directory, and who has imported them.
#[derive(Default)]
pub struct ExportedSnapshots {
    shared: Mutex<Shared>,
    /// How many entries there are: the end of a transaction takes no lock where nobody exports.
    count: AtomicUsize,
}

impl ExportedSnapshots {
    /// Answers the identifier that others name.
    pub fn export(&self, pid: u32, database: Oid, transaction: &Transaction, snapshot: &Snapshot) -> String {
        let mut shared = self.shared.lock();
        let earlier = shared.exported.values().filter(|other| other.pid == pid).count();
        // As PostgreSQL's: the transaction, of which eight digits are told, then a number.
        let id = format!("{pid:08X}-{:08X}-{}", transaction.id().0 as u32, earlier + 1);
        let entry = Exported {
            pid,
            database,
            isolation: transaction.isolation(),
            read_only: transaction.is_read_only(),
            snapshot: snapshot.clone(),
        };
        shared.exported.insert(id.clone(), entry);
        self.count_entries(&shared);
        id
    }

    /// Has `transaction` of session `pid`, which has read nothing yet, read through the snapshot `id`.
    pub fn import(&self, id: &str, pid: u32, database: Oid, transaction: &Transaction) -> SqlResult<()> {
        // Under the lock: the exporter's registration covers the versions until ours is there.
        let mut shared = self.shared.lock();
        let Some(source) = shared.exported.get(id) else {
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
        let registered_for = source.snapshot.session();
        shared.imported.insert(pid, registered_for);
        self.count_entries(&shared);
        Ok(())
    }

    /// Sessions that read through a snapshot which is registered under session `pid`.
    pub fn importers(&self, pid: u32) -> Vec<u32> {
        let shared = self.shared.lock();
        let importers = shared.imported.iter().filter(|(_, of)| **of == pid);
        importers.map(|(importer, _)| *importer).collect()
    }

    /// Whether the session's transaction has exported something.
    pub fn has_exported(&self, pid: u32) -> bool {
        self.count.load(Ordering::Relaxed) > 0
            && self.shared.lock().exported.values().any(|other| other.pid == pid)
    }

    /// The session's transaction is over.
    pub fn end(&self, pid: u32) {
        if self.count.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut shared = self.shared.lock();
        shared.exported.retain(|_, other| other.pid != pid);
        shared.imported.remove(&pid);
        self.count_entries(&shared);
    }

    fn count_entries(&self, shared: &Shared) {
        // Relaxed: a session asks for its own entries, which it has made itself.
        let count = shared.exported.len() + shared.imported.len();
        self.count.store(count, Ordering::Relaxed);
    }
}
