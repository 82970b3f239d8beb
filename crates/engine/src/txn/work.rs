//! What a transaction has done so far, in lists that grow while it runs and are lent to the next one: what it wrote, locked and
//! defined, its redo, and the marks of its savepoints.

use super::later_entries::LaterEntries;
use super::lent::Lent;
use super::reads::ReadSet;
use super::told::Told;
use crate::lock::{RowLockStrength, TableLockMode};
use crate::table::version::Version;
use crate::table::{Layout, SequenceId, Table, TableIndex};
use mote_common::{IndexId, RowId, TableId};
use mote_log::{Mark, RedoBuffer};
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::Arc;

/// One version this transaction put on a chain.
#[derive(Clone, Copy)]
pub(crate) struct Write {
    pub(super) table: *const Table,
    pub(super) row: RowId,
    pub(super) version: NonNull<Version>,
    pub(super) kind: WriteKind,
    /// The version is marked QUEUED, and its row is still to be queued.
    pub(super) queues: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WriteKind {
    Insert,
    Update,
    Delete,
}

/// A change of the engine's objects, to be kept or taken back with the transaction.
pub(crate) enum DdlAction {
    CreatedTable(TableId),
    DroppedTable(TableId),
    /// The layout that was the newest before.
    AddedLayout {
        table: Arc<Table>,
        previous: Arc<Layout>,
    },
    CreatedIndex {
        table: Arc<Table>,
        index: IndexId,
    },
    DroppedIndex {
        table: Arc<Table>,
        index: Arc<TableIndex>,
    },
    CreatedSequence(SequenceId),
    DroppedSequence(SequenceId),
}

/// Names a savepoint within its transaction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SavepointId(pub u32);

/// How much there was of everything when the savepoint was set.
pub(crate) struct Savepoint {
    pub(super) id: SavepointId,
    pub(super) writes: usize,
    pub(super) rows: usize,
    pub(super) tables: usize,
    pub(super) ddl: usize,
    pub(super) redo: Mark,
}

/// A row lock this transaction took explicitly.
pub(crate) struct HeldRow {
    pub(super) table: *const Table,
    pub(super) row: RowId,
    pub(super) strength: RowLockStrength,
}

/// What grows while the transaction runs.
#[derive(Default)]
pub(crate) struct Work {
    pub(super) writes: Vec<Write>,
    pub(crate) redo: RedoBuffer,
    pub(super) rows: Vec<HeldRow>,
    /// Table locks in the order they were taken.
    pub(super) tables: Vec<(TableId, TableLockMode)>,
    /// Tables whose lock stands in the slot.
    pub(super) fast_tables: Vec<TableId>,
    pub(super) savepoints: Vec<Savepoint>,
    pub(super) ddl: Vec<DdlAction>,
    /// Published tables that were described to subscribers; `None`: not as they are now, or that may have been taken back.
    pub(super) told: BTreeMap<TableId, Option<Arc<Told>>>,
    /// The PREPARE has operations for subscribers, which the versions do not show.
    pub(super) tells: bool,
    /// Versions unlinked by ROLLBACK TO; readers of this transaction may still hold them.
    pub(super) undone: Vec<NonNull<Version>>,
    pub(super) next_savepoint: u32,
    /// Deferrable keys that were taken when this transaction wrote them; see `deferred_keys`.
    pub(super) unchecked_keys: Vec<(IndexId, RowId)>,
    /// Index entries that replay makes later.
    pub(super) later_entries: LaterEntries,
    /// Emptied; only lends its memory to the next transaction that notes its reads. Not there while that goes on.
    pub(super) reads: Lent<ReadSet>,
}

impl Work {
    /// Makes the buffers fit for the next transaction.
    pub(crate) fn reset(&mut self) {
        debug_assert!(self.undone.is_empty());
        self.writes.clear();
        self.rows.clear();
        self.tables.clear();
        self.fast_tables.clear();
        self.savepoints.clear();
        self.ddl.clear();
        self.unchecked_keys.clear();
        self.later_entries.forget();
        self.told.clear();
        self.tells = false;
        self.writes.shrink_to(WRITES_KEEP);
        self.rows.shrink_to(WRITES_KEEP);
    }
}

/// List entries a pooled buffer keeps.
const WRITES_KEEP: usize = 1024;

// SAFETY: the raw pointers name tables and versions, which the engine keeps alive for as long as their transaction has
// its slot, whatever thread it is on. Everything else is Send by itself.
unsafe impl Send for Work {}
