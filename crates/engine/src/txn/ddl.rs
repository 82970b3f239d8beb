//! Tables, layouts, indexes and sequences: changes of the engine's objects within a transaction.
//!
//! Each object is a row of the catalog table, written like any row, so that rollback and recovery need nothing special. The
//! object in memory appears at once (its id is unknown to everybody else) and is taken back by a rollback; a removal
//! takes effect at commit. The caller holds the table locks that keep others away: AccessExclusive to drop or to add a
//! layout, Share to make an index, ShareUpdateExclusive to make one while others write (`among_writers`).

use super::entries::index_error;
use super::error::WriteError;
use super::transaction::Transaction;
use super::work::DdlAction;
use crate::epoch;
use crate::index::IndexError;
use crate::lock::{RowLockStrength, WaitPolicy};
use crate::sequence::Sequence;
use crate::table::ObjectKey;
use crate::table::store::row_of_ordinal;
use crate::table::version::{KEY_CHANGED, Version};
use crate::table::visibility::{Standing, standing};
use crate::table::{
    CATALOG_TABLE, ColumnStorage, Definition, IndexDefinition, KeyOutcome, KeyProgram, Layout, RowWriter,
    SequenceDefinition, SequenceId, Table, TableDefinition, TableIndex,
};
use mote_common::{IndexId, Lsn, RowId, TableId};
use std::ptr::NonNull;
use std::sync::Arc;

/// Indexes a table can have.
const INDEXES_MAX: usize = 256;

mod among_writers;

/// What TRUNCATE made: the new table, and each old index with the new one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TruncatedTable {
    pub table: TableId,
    pub indexes: Vec<(IndexId, IndexId)>,
}

/// An index that is being filled; see `Transaction::build_index`.
pub struct IndexBuild {
    table: Arc<Table>,
    index: Arc<TableIndex>,
    next: u64,
    end: u64,
    /// Commits whose older versions have no entry.
    valid_from: Lsn,
    /// Others write meanwhile. How often the epoch must move on before no write is under way that does not know the
    /// index.
    among_writers: Option<u8>,
}

impl IndexBuild {
    pub fn id(&self) -> IndexId {
        self.index.id
    }

    pub fn rows_done(&self) -> u64 {
        self.next
    }

    pub fn rows_total(&self) -> u64 {
        self.end
    }
}

/// How far a build is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BuildProgress {
    /// Call again; others may run in between.
    More,
    Done,
}

impl Transaction {
    // Tables

    /// Makes a table; the id in the definition is ignored.
    pub fn create_table(&self, definition: &TableDefinition) -> Result<TableId, WriteError> {
        self.create_table_with(definition, false)
    }

    /// Makes a table that is gone after a crash: neither it nor its rows are logged.
    pub fn create_temporary_table(&self, definition: &TableDefinition) -> Result<TableId, WriteError> {
        self.create_table_with(definition, true)
    }

    fn create_table_with(
        &self,
        definition: &TableDefinition,
        temporary: bool,
    ) -> Result<TableId, WriteError> {
        let id = self.engine.next_table_id(self.own_wake().as_ref())?;
        let definition = TableDefinition {
            id,
            layouts: definition.layouts.clone(),
        };
        if temporary {
            self.engine.add_temporary_table(&definition);
        } else {
            self.insert_definition(&Definition::Table(definition.clone()))?;
            self.engine.add_table(&definition);
        }
        self.push_ddl(DdlAction::CreatedTable(id));
        Ok(id)
    }

    /// Drops a table with its indexes, at commit.
    pub fn drop_table(&self, id: TableId) -> Result<(), WriteError> {
        let table = self.existing(id)?;
        for index in table.indexes().iter().filter(|index| !index.is_dropped()) {
            self.drop_index(index.id)?;
        }
        if !table.is_temporary() {
            self.delete_definition(ObjectKey::Table(id))?;
        }
        self.push_ddl(DdlAction::DroppedTable(id));
        Ok(())
    }

    /// Gives the table a layout to write with from now on: its columns so far, then new ones.
    pub fn add_layout(&self, id: TableId, columns: Vec<ColumnStorage>) -> Result<Arc<Layout>, WriteError> {
        let table = self.existing(id)?;
        let number = table
            .next_layout_number()
            .ok_or(WriteError::Exhausted("layouts"))?;
        let previous = table.newest_layout().clone();
        let mut layouts = table.all_layouts();
        let layout = Layout::new(number, columns);
        layouts.push(layout.clone());
        if !table.is_temporary() {
            self.update_definition(&Definition::Table(TableDefinition { id, layouts }))?;
        }
        table.add_layout(layout);
        let added = table.layout(number).clone();
        // Subscribers know the rows by the layout before, also where they are told of the same columns as ever.
        self.work
            .borrow_mut()
            .told
            .entry(id)
            .and_modify(|told| *told = None);
        self.push_ddl(DdlAction::AddedLayout { table, previous });
        Ok(added)
    }

    /// Makes an empty copy of the table and of its indexes, and drops the table at commit.
    pub fn truncate_table(&self, id: TableId) -> Result<TruncatedTable, WriteError> {
        let old = self.existing(id)?;
        let layouts = old.all_layouts();
        let fresh = self.create_table_with(&TableDefinition { id, layouts }, old.is_temporary())?;
        let mut indexes = Vec::new();
        for index in old.indexes().iter().filter(|index| !index.is_dropped()) {
            let definition = IndexDefinition {
                table: fresh,
                ..index.definition.clone()
            };
            let program = index.key_program.clone();
            let mut build = self.begin_index(&definition, program, None)?;
            while self.build_index(&mut build, usize::MAX)? == BuildProgress::More {}
            indexes.push((index.id, build.id()));
        }
        self.drop_table(id)?;
        Ok(TruncatedTable {
            table: fresh,
            indexes,
        })
    }

    // Indexes

    /// Makes an index, still empty; writers maintain it from now on. `build_index` fills it.
    pub fn create_index(&self, definition: &IndexDefinition) -> Result<IndexBuild, WriteError> {
        let program = self.engine.key_program(definition)?;
        self.begin_index(definition, program, None)
    }

    /// The same while others write: CREATE INDEX CONCURRENTLY.
    pub fn create_index_among_writers(&self, definition: &IndexDefinition) -> Result<IndexBuild, WriteError> {
        let program = self.engine.key_program(definition)?;
        self.begin_index(definition, program, Some(among_writers::EPOCHS))
    }

    fn begin_index(
        &self,
        definition: &IndexDefinition,
        program: KeyProgram,
        among_writers: Option<u8>,
    ) -> Result<IndexBuild, WriteError> {
        let table = self.existing(definition.table)?;
        if table.indexes().len() >= INDEXES_MAX {
            return Err(WriteError::Exhausted("indexes"));
        }
        let definition = IndexDefinition {
            id: self.engine.next_index_id(self.own_wake().as_ref())?,
            ..definition.clone()
        };
        if !table.is_temporary() {
            self.insert_definition(&Definition::Index(definition.clone()))?;
        }
        self.install_index(table, definition, program, among_writers)
    }

    /// Its row stands in the catalog.
    pub(super) fn install_index(
        &self,
        table: Arc<Table>,
        definition: IndexDefinition,
        program: KeyProgram,
        among_writers: Option<u8>,
    ) -> Result<IndexBuild, WriteError> {
        let id = definition.id;
        let index =
            TableIndex::new(definition, program, &self.engine.budget).map_err(|error| match error {
                IndexError::OutOfMemory => WriteError::OutOfMemory,
                IndexError::KeyTooLong {
                    key_bytes,
                    maximum_bytes,
                } => WriteError::KeyTooLong {
                    index: id,
                    key_bytes,
                    maximum_bytes,
                },
            })?;
        let index = Arc::new(index);
        table.add_index(index.clone());
        self.engine.note_index(id, table.id());
        self.push_ddl(DdlAction::CreatedIndex {
            table: table.clone(),
            index: id,
        });
        let end = table.ordinals_end();
        Ok(IndexBuild {
            table,
            index,
            next: 0,
            end,
            valid_from: Lsn::ZERO,
            among_writers,
        })
    }

    /// Enters up to `rows` more rows. `Duplicate` ends a unique index; `MustWait` asks to be called again.
    pub fn build_index(&self, build: &mut IndexBuild, rows: usize) -> Result<BuildProgress, WriteError> {
        if !build.knows_all_writers() {
            return Ok(BuildProgress::More);
        }
        let stop = build.end.min(build.next.saturating_add(rows as u64));
        while build.next < stop {
            let row = row_of_ordinal(build.next);
            match build.among_writers {
                None => self.build_row(build, row)?,
                Some(_) => self.build_row_among_writers(build, row)?,
            }
            build.next += 1;
        }
        if build.next < build.end {
            return Ok(BuildProgress::More);
        }
        build.index.set_built(build.valid_from);
        Ok(BuildProgress::Done)
    }

    fn build_row(&self, build: &mut IndexBuild, row: RowId) -> Result<(), WriteError> {
        let Some(slot) = build.table.slot(row) else {
            return Ok(());
        };
        let guard = epoch::pin();
        let mut at = slot.head();
        while let Some(version) = NonNull::new(at.cast_mut()) {
            // SAFETY: reached from the head under the pin.
            let (header, bytes) = unsafe { (version.as_ref(), Version::payload(version)) };
            let older = header.previous();
            match standing(header, self.engine.slots, self.slot) {
                Standing::Committed(ts) => {
                    if header.is_tombstone() || !older.is_null() {
                        build.valid_from = build.valid_from.max(ts);
                    }
                }
                // Our own change: what is below it is committed and has no entry of its own.
                Standing::Own(_) if header.is_tombstone() || !older.is_null() => build.valid_from = Lsn::MAX,
                Standing::Own(_) => {}
                // A prepared transaction that knew an index which was built among writers: it was judged where the log
                // was written, and nothing enters its version later.
                Standing::InFlight(_) if self.engine.log.is_following() => {
                    enter_undecided(build, row, header, bytes)?;
                    at = older;
                    continue;
                }
                // Rolled back, or a writer that our table lock should have kept away; it sees the index and
                // enters its version itself.
                Standing::Aborted | Standing::InFlight(_) => {
                    at = older;
                    continue;
                }
            }
            if header.is_tombstone() {
                return Ok(());
            }
            let view = build.table.view(header.layout(), bytes);
            return self.insert_entry(&build.table, &build.index, row, &view, &guard);
        }
        Ok(())
    }

    /// Drops an index, at commit.
    pub fn drop_index(&self, id: IndexId) -> Result<(), WriteError> {
        let table = self.engine.table_of_index(id).ok_or(WriteError::Deleted)?;
        let index = table.index(id).ok_or(WriteError::Deleted)?;
        if !table.is_temporary() {
            self.delete_definition(ObjectKey::Index(id))?;
        }
        self.push_dropped_index(table, index);
        Ok(())
    }

    /// The index is gone at commit; until then its keys bind this transaction no more.
    pub(super) fn push_dropped_index(&self, table: Arc<Table>, index: Arc<TableIndex>) {
        index.set_dropped(true);
        self.push_ddl(DdlAction::DroppedIndex { table, index });
    }

    // Sequences

    /// Makes a sequence; the id in the definition is ignored.
    pub fn create_sequence(&self, definition: &SequenceDefinition) -> Result<SequenceId, WriteError> {
        let id = self.engine.next_sequence_id(self.own_wake().as_ref())?;
        let definition = SequenceDefinition { id, ..*definition };
        self.insert_definition(&Definition::Sequence(definition))?;
        self.add_sequence(Sequence::new(definition));
        Ok(id)
    }

    /// Makes a sequence that is gone after a crash.
    pub fn create_temporary_sequence(
        &self,
        definition: &SequenceDefinition,
    ) -> Result<SequenceId, WriteError> {
        let id = self.engine.next_sequence_id(self.own_wake().as_ref())?;
        self.add_sequence(Sequence::temporary(SequenceDefinition { id, ..*definition }));
        Ok(id)
    }

    pub(super) fn add_sequence(&self, sequence: Sequence) {
        let id = sequence.definition().id;
        self.engine.sequences().write().insert(id, Arc::new(sequence));
        self.push_ddl(DdlAction::CreatedSequence(id));
    }

    /// Drops a sequence, at commit.
    pub fn drop_sequence(&self, id: SequenceId) -> Result<(), WriteError> {
        let sequence = self.engine.sequences().read().get(&id).cloned();
        if !sequence.is_some_and(|sequence| sequence.is_temporary()) {
            self.delete_definition(ObjectKey::Sequence(id))?;
        }
        self.push_ddl(DdlAction::DroppedSequence(id));
        Ok(())
    }

    // The catalog's rows

    fn existing(&self, id: TableId) -> Result<Arc<Table>, WriteError> {
        self.engine.table(id).ok_or(WriteError::Deleted)
    }

    pub(super) fn push_ddl(&self, action: DdlAction) {
        let mut work = self.work.borrow_mut();
        // Temporary objects log nothing themselves.
        work.redo.note_unlogged();
        work.ddl.push(action);
    }

    fn catalog(&self) -> Arc<Table> {
        self.engine
            .table(CATALOG_TABLE)
            .expect("every engine has its catalog")
    }

    fn insert_definition(&self, definition: &Definition) -> Result<(), WriteError> {
        self.check_writable()?;
        let catalog = self.catalog();
        let layout = catalog.newest_layout().clone();
        let mut writer = RowWriter::new(&layout);
        writer.set_variable(0, &definition.encode());
        let row = self.without_sending(|| self.insert(&catalog, writer.finish()?))?;
        // Also after a rollback: the id is never used again, and the row it names is gone.
        self.engine.note_definition(definition.key(), row);
        Ok(())
    }

    fn update_definition(&self, definition: &Definition) -> Result<(), WriteError> {
        let catalog = self.catalog();
        let row = self
            .engine
            .definition_row(definition.key())
            .ok_or(WriteError::Deleted)?;
        // Changes of one statement to one object are commands of their own.
        self.next_command();
        let locked = self.lock_row(
            &catalog,
            row,
            None,
            RowLockStrength::NoKeyUpdate,
            WaitPolicy::Block,
        )?;
        let newest = locked.newest.ok_or(WriteError::Deleted)?;
        let layout = catalog.newest_layout().clone();
        let mut writer = RowWriter::new(&layout);
        writer.set_variable(0, &definition.encode());
        self.without_sending(|| self.update(&catalog, &newest, writer.finish()?))
    }

    fn delete_definition(&self, key: ObjectKey) -> Result<(), WriteError> {
        let catalog = self.catalog();
        let row = self.engine.definition_row(key).ok_or(WriteError::Deleted)?;
        self.next_command();
        let locked = self.lock_row(&catalog, row, None, RowLockStrength::Update, WaitPolicy::Block)?;
        let newest = locked.newest.ok_or(WriteError::Deleted)?;
        self.without_sending(|| self.delete(&catalog, &newest))
    }
}

/// A version that is not decided yet, on a node that follows.
fn enter_undecided(build: &IndexBuild, row: RowId, header: &Version, bytes: &[u8]) -> Result<(), WriteError> {
    // A cursor must look at the row's key again, whichever entry leads it here.
    header.set_flags(KEY_CHANGED);
    // SAFETY: linked below `header`, which its caller found under its pin.
    if let Some(older) = unsafe { header.previous().as_ref() } {
        older.set_flags(KEY_CHANGED);
    }
    if header.is_tombstone() {
        return Ok(());
    }
    let view = build.table.view(header.layout(), bytes);
    let mut key = Vec::new();
    if let KeyOutcome::Key { .. } = build.index.key_program.key(&view, &mut key)? {
        let entered = build.index.tree.insert(&key, row);
        entered.map_err(|error| index_error(&build.index, error))?;
    }
    Ok(())
}
