//! The engine's objects: tables, indexes and sequences by id, and where their catalog rows are.
//!
//! Shared by the engine, by recovery (which fills it) and by the checkpointer (which reads it), so that none of them needs
//! the others. Ids are handed out by internal sequences, logged ahead like any, and never used twice: log frames of
//! dropped objects must not meet new ones.

use crate::checkpoint::{COUNTERS, ImageSnapshot, Source, TableSource};
use crate::memory::MemoryBudget;
use crate::parallel;
use crate::recovery::{ApplyError, PreparedTransaction, TableTarget, Target};
use crate::sequence::Sequence;
use crate::slots::TransactionId;
use crate::slots::slot::{SlotTable, SnapshotEntry};
use crate::table::ObjectKey;
use crate::table::load::LoadMemory;
use crate::table::store::{ordinal_of_row, row_of_ordinal};
use crate::table::version::Version;
use crate::table::{
    CATALOG_TABLE, ColumnStorage, Definition, FIRST_USER_TABLE, IndexDefinition, KeyExpressionProvider,
    KeyProgram, KeySource, RowView, SQL_CATALOG_TABLE, SequenceDefinition, SequenceId, StorageClass, Table,
    TableDefinition,
};
use hashbrown::HashMap;
use mote_common::sync::atomic::{AtomicU64, Ordering, fence};
use mote_common::sync::{Mutex, RwLock};
use mote_common::{IndexId, Lsn, RowId, SqlError, TableId};
use mote_log::{Log, Operation, SequenceState};
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

/// Sequences that hand out ids; users' sequences begin behind them.
const TABLE_IDS: SequenceId = SequenceId(1);
const INDEX_IDS: SequenceId = SequenceId(2);
const SEQUENCE_IDS: SequenceId = SequenceId(3);
const FIRST_USER_SEQUENCE: i64 = 16;

/// Indexes of tables with fewer rows are loaded by one thread each, several at once.
const SHARED_INDEX_ROWS: u64 = 20_000;

pub(crate) struct Objects {
    pub(crate) slots: &'static SlotTable,
    pub(crate) budget: Arc<MemoryBudget>,
    expressions: Arc<dyn KeyExpressionProvider>,
    tables: RwLock<HashMap<TableId, Arc<Table>>>,
    /// Which table an index belongs to.
    indexes: RwLock<HashMap<IndexId, TableId>>,
    pub(crate) sequences: RwLock<HashMap<SequenceId, Arc<Sequence>>>,
    /// Catalog rows of objects.
    rows: Mutex<HashMap<ObjectKey, RowId>>,
    /// Tables that are gone, with the tail at that time: transactions begun before may still point at them.
    dropped: Mutex<Vec<(Lsn, Arc<Table>)>>,
    /// Indexes found in the catalog, to be loaded when the rows are there.
    to_load: Mutex<Vec<IndexDefinition>>,
    /// Prepared transactions that recovery found, to be restored by the engine.
    prepared: Mutex<Vec<PreparedTransaction>>,
    /// States of sequences that the catalog does not know: those of prepared transactions are among them.
    unclaimed: Mutex<HashMap<SequenceId, SequenceState>>,
    /// Set when recovery is over.
    log: OnceLock<Log>,
}

fn catalog_layout() -> Vec<ColumnStorage> {
    vec![ColumnStorage::new(StorageClass::Variable, false)]
}

fn id_sequence(id: SequenceId, first: i64) -> Arc<Sequence> {
    Arc::new(Sequence::new(SequenceDefinition {
        id,
        start: first,
        increment: 1,
        minimum: 1,
        maximum: i64::from(u32::MAX - 1),
        cycle: false,
    }))
}

impl Objects {
    pub(crate) fn new(
        slots: &'static SlotTable,
        budget: Arc<MemoryBudget>,
        expressions: Arc<dyn KeyExpressionProvider>,
    ) -> Objects {
        let objects = Objects {
            slots,
            budget,
            expressions,
            tables: RwLock::default(),
            indexes: RwLock::default(),
            sequences: RwLock::default(),
            rows: Mutex::default(),
            dropped: Mutex::default(),
            to_load: Mutex::default(),
            prepared: Mutex::default(),
            unclaimed: Mutex::default(),
            log: OnceLock::new(),
        };
        for id in [CATALOG_TABLE, SQL_CATALOG_TABLE] {
            objects.add_table(&TableDefinition {
                id,
                ..TableDefinition::new(catalog_layout())
            });
        }
        let firsts = [
            (TABLE_IDS, i64::from(FIRST_USER_TABLE.0)),
            (INDEX_IDS, 1),
            (SEQUENCE_IDS, FIRST_USER_SEQUENCE),
        ];
        for (id, first) in firsts {
            objects.sequences.write().insert(id, id_sequence(id, first));
        }
        objects
    }

    pub(crate) fn set_log(&self, log: Log) {
        assert!(self.log.set(log).is_ok(), "the log is opened once");
    }

    pub(crate) fn id_sequence(&self, key: fn() -> SequenceId) -> Arc<Sequence> {
        self.sequences
            .read()
            .get(&key())
            .expect("the id sequences are always there")
            .clone()
    }

    pub(crate) fn table_ids() -> SequenceId {
        TABLE_IDS
    }

    pub(crate) fn index_ids() -> SequenceId {
        INDEX_IDS
    }

    pub(crate) fn sequence_ids() -> SequenceId {
        SEQUENCE_IDS
    }

    pub(crate) fn table(&self, id: TableId) -> Option<Arc<Table>> {
        self.tables.read().get(&id).cloned()
    }

    /// By their ids: what is done with all tables is done in an order that a simulated run repeats.
    pub(crate) fn all_tables(&self) -> Vec<Arc<Table>> {
        let mut tables: Vec<_> = self.tables.read().values().cloned().collect();
        tables.sort_unstable_by_key(|table| table.id());
        tables
    }

    pub(crate) fn add_table(&self, definition: &TableDefinition) {
        self.insert_table(definition, false);
    }

    /// A table that no log, image or catalog row speaks of.
    pub(crate) fn add_temporary_table(&self, definition: &TableDefinition) {
        self.insert_table(definition, true);
    }

    fn insert_table(&self, definition: &TableDefinition, temporary: bool) {
        let table = Table::new(definition, self.budget.clone(), self.slots, temporary);
        self.tables.write().insert(definition.id, Arc::new(table));
    }

    /// The table is out of reach from now on and freed when nobody can point at it.
    pub(crate) fn remove_table(&self, id: TableId, tail: Lsn) {
        if let Some(table) = self.tables.write().remove(&id) {
            let mut owners = self.indexes.write();
            for index in table.indexes() {
                owners.remove(&index.id);
            }
            drop(owners);
            self.dropped.lock().push((tail, table));
        }
        self.rows.lock().remove(&ObjectKey::Table(id));
    }

    /// Frees tables dropped before every running transaction began.
    pub(crate) fn forget_dropped(&self, tail: Lsn) {
        if self.dropped.lock().is_empty() {
            return;
        }
        // Tail first: a transaction not met in the walk began later than that.
        let oldest = self
            .slots
            .walk()
            .filter_map(|(_, slot)| slot.begin_tail())
            .fold(tail, Lsn::min);
        let freed: Vec<_> = {
            let mut dropped = self.dropped.lock();
            let (freed, kept) = dropped.drain(..).partition(|(at, _)| *at < oldest);
            *dropped = kept;
            freed
        };
        drop::<Vec<(Lsn, Arc<Table>)>>(freed);
    }

    pub(crate) fn take_prepared(&self) -> Vec<PreparedTransaction> {
        std::mem::take(&mut *self.prepared.lock())
    }

    /// The last state that the log or the manifest tells of a sequence which no committed row names.
    pub(crate) fn unclaimed_state(&self, id: SequenceId) -> Option<SequenceState> {
        self.unclaimed.lock().get(&id).copied()
    }

    /// All prepared transactions are restored.
    pub(crate) fn forget_unclaimed_states(&self) {
        *self.unclaimed.lock() = HashMap::new();
    }

    pub(crate) fn note_index(&self, index: IndexId, table: TableId) {
        self.indexes.write().insert(index, table);
    }

    pub(crate) fn table_of_index(&self, index: IndexId) -> Option<Arc<Table>> {
        let table = *self.indexes.read().get(&index)?;
        self.table(table)
    }

    pub(crate) fn note_definition(&self, key: ObjectKey, row: RowId) {
        self.rows.lock().insert(key, row);
    }

    pub(crate) fn definition_row(&self, key: ObjectKey) -> Option<RowId> {
        self.rows.lock().get(&key).copied()
    }

    pub(crate) fn key_program(&self, definition: &IndexDefinition) -> Result<KeyProgram, SqlError> {
        let expressions = match &definition.expressions {
            Some(bytes) => Some(self.expressions.compile(bytes)?),
            None => None,
        };
        let needs = definition
            .columns
            .iter()
            .any(|c| matches!(c.source, KeySource::Expression(_)));
        if needs && expressions.is_none() {
            return Err(SqlError::internal(
                "an index has expression columns but no expressions",
            ));
        }
        let program = KeyProgram::new(definition.columns.clone(), expressions);
        Ok(program.with_method(definition.method))
    }

    fn load_index(
        &self,
        definition: IndexDefinition,
        memory: &LoadMemory,
        threads: usize,
        loaded: &(dyn Fn(u64) + Sync),
        between: &mut dyn FnMut(),
    ) -> Result<(), ApplyError> {
        let Some(table) = self.table(definition.table) else {
            return Ok(());
        };
        let program = self
            .key_program(&definition)
            .map_err(|error| ApplyError::Other(error.message().to_string()))?;
        let id = definition.id;
        let index = table.load_index(definition, program, memory, threads, loaded, between)?;
        table.add_index(index);
        self.note_index(id, table.id());
        Ok(())
    }

    /// Reads the catalog's rows: replay of table 1 is over.
    fn read_catalog(&self) -> Result<(), ApplyError> {
        let catalog = self.table(CATALOG_TABLE).expect("every engine has its catalog");
        for ordinal in 0..catalog.ordinals_end() {
            let row = row_of_ordinal(ordinal);
            let Some(version) = catalog
                .slot(row)
                .and_then(|slot| NonNull::new(slot.head().cast_mut()))
            else {
                continue;
            };
            // SAFETY: nobody changes the row during replay.
            let (layout, bytes) = unsafe { (version.as_ref().layout(), Version::payload(version)) };
            let view = RowView::new(catalog.layout(layout), bytes);
            let definition = Definition::decode(view.variable(0))
                .map_err(|error| ApplyError::Other(format!("a catalog row is damaged: {}", error.0)))?;
            self.note_definition(definition.key(), row);
            match definition {
                Definition::Table(table) => self.add_table(&table),
                Definition::Index(index) => self.to_load.lock().push(index),
                Definition::Sequence(sequence) => {
                    self.sequences
                        .write()
                        .insert(sequence.id, Arc::new(Sequence::new(sequence)));
                }
            }
        }
        Ok(())
    }
}

impl Target for Objects {
    fn table(&self, id: TableId) -> Option<Arc<dyn TableTarget>> {
        Some(self.table(id)?)
    }

    fn catalog_recovered(&self, _counters: &[u64; COUNTERS]) -> Result<(), ApplyError> {
        // Ids come from sequences, so that the manifest's counters are not needed.
        self.read_catalog()
    }

    fn restore_sequence(&self, state: SequenceState) {
        let id = SequenceId(state.id);
        match self.sequences.read().get(&id) {
            Some(sequence) => sequence.restore(state),
            None => _ = self.unclaimed.lock().insert(id, state),
        }
    }

    fn restore_prepared(&self, prepared: PreparedTransaction) -> Result<(), ApplyError> {
        // Row ids of its inserts are in use; the rest waits until there are transactions and locks.
        for body in &prepared.operations {
            let operation = Operation::decode(body)
                .ok_or_else(|| ApplyError::Other("an operation is malformed".into()))?;
            if let (Operation::Insert { row, .. }, Some(table)) = (operation, self.table(operation.table())) {
                table.raise_ordinals_end(ordinal_of_row(row) + 1);
            }
        }
        self.prepared.lock().push(prepared);
        Ok(())
    }

    fn build_indexes(&self, threads: usize, progress: &mut dyn FnMut(u64, u64)) -> Result<(), ApplyError> {
        for table in self.all_tables() {
            table.finish_load(threads);
        }
        let rows = |definition: &IndexDefinition| {
            let table = self.table(definition.table);
            table.map_or(0, |table| table.row_count_estimate())
        };
        let (large, small): (Vec<_>, Vec<_>) = std::mem::take(&mut *self.to_load.lock())
            .into_iter()
            .partition(|definition| rows(definition) >= SHARED_INDEX_ROWS);
        let total: u64 = large.iter().chain(&small).map(rows).sum();
        let done = AtomicU64::new(0); // a figure for people: Relaxed
        let loaded = |entries: u64| _ = done.fetch_add(entries, Ordering::Relaxed);
        let mut between = || progress(done.load(Ordering::Relaxed).min(total), total);
        between();
        let memory = LoadMemory::default();
        let load_small = |(): &mut (), definition: &IndexDefinition| {
            self.load_index(definition.clone(), &memory, 1, &loaded, &mut || {})
        };
        parallel::share(threads, &small, || (), load_small, &mut between)?;
        for definition in large {
            self.load_index(definition, &memory, threads, &loaded, &mut between)?;
        }
        between();
        Ok(())
    }
}

impl Source for Objects {
    fn tables(&self) -> Vec<Arc<dyn TableSource>> {
        self.all_tables()
            .into_iter()
            .filter(|table| !table.is_temporary())
            .map(|table| table as Arc<dyn TableSource>)
            .collect()
    }

    fn image_snapshot(&self) -> Box<dyn ImageSnapshot> {
        let log = self.log.get().expect("checkpoints begin after recovery");
        Box::new(StableSnapshot::take(log, self.slots))
    }

    fn sequences(&self) -> Vec<SequenceState> {
        self.sequences
            .read()
            .values()
            .filter(|sequence| !sequence.is_temporary())
            .map(|sequence| sequence.logged())
            .collect()
    }

    fn counters(&self) -> [u64; COUNTERS] {
        [0; COUNTERS]
    }
}

/// A registered snapshot at `stable`, without a transaction around it.
struct StableSnapshot {
    slots: &'static SlotTable,
    slot: u32,
    ts: Lsn,
}

impl StableSnapshot {
    fn take(log: &Log, slots: &'static SlotTable) -> StableSnapshot {
        // Checkpoints may wait: transactions end.
        let slot = loop {
            match slots.take(|| TransactionId(u64::MAX), 0, log.tail()) {
                Some(slot) => break slot,
                None => mote_common::sync::thread::yield_now(),
            }
        };
        let entry = &slots.get(slot).snapshots[0];
        entry.announce(log.stable());
        entry.acquire();
        // As in `Transaction::register`: announce, then read.
        fence(Ordering::SeqCst);
        let ts = log.stable();
        entry.settle(ts);
        StableSnapshot { slots, slot, ts }
    }

    fn entry(&self) -> &SnapshotEntry {
        &self.slots.get(self.slot).snapshots[0]
    }
}

impl ImageSnapshot for StableSnapshot {
    fn lsn(&self) -> Lsn {
        self.ts
    }
}

impl Drop for StableSnapshot {
    fn drop(&mut self) {
        self.entry().release();
        self.slots.give(self.slot);
    }
}
