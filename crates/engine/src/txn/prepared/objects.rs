//! Changes of the engine's objects by prepared transactions, after a crash.
//!
//! The catalog's rows say all there is to know: a row that comes is a new object, one that changes is a table with one
//! layout more, one that goes is a dropped object. `restore` writes them again in their order among all other
//! operations, so that each row finds the layout and the indexes it was written with, and each index is built over the
//! rows that were there. What this leaves in `ddl` is what the transaction had there when it was prepared: the decision
//! ends it as any other.

use super::damage::{damaged, gone};
use crate::epoch;
use crate::recovery::ApplyError;
use crate::sequence::Sequence;
use crate::table::ObjectKey;
use crate::table::store::ordinal_of_row;
use crate::table::version::Version;
use crate::table::{Definition, IndexDefinition, SequenceDefinition, Table, TableDefinition};
use crate::txn::ddl::BuildProgress;
use crate::txn::transaction::Transaction;
use crate::txn::work::{DdlAction, WriteKind};
use mote_common::{RowId, TableId};
use std::collections::{HashMap, HashSet};
use std::ptr::NonNull;

/// Row ids that undecided transactions insert under, by table.
pub(crate) type InsertedRows = HashMap<TableId, HashSet<RowId>>;

impl Transaction {
    /// Did it make objects that nobody has after a crash?
    pub(super) fn has_temporary_objects(&self) -> bool {
        let engine = &self.engine;
        self.work.borrow().ddl.iter().any(|action| match action {
            DdlAction::CreatedTable(id) | DdlAction::DroppedTable(id) => {
                engine.table(*id).is_some_and(|table| table.is_temporary())
            }
            DdlAction::AddedLayout { table, .. }
            | DdlAction::CreatedIndex { table, .. }
            | DdlAction::DroppedIndex { table, .. } => table.is_temporary(),
            DdlAction::CreatedSequence(id) | DdlAction::DroppedSequence(id) => engine
                .sequence(*id)
                .is_some_and(|sequence| sequence.is_temporary()),
        })
    }

    /// The catalog's row was just written again: does with the object what was done with it.
    pub(super) fn change_object_again(
        &self,
        catalog: &Table,
        row: RowId,
        kind: WriteKind,
        inserted: &InsertedRows,
    ) -> Result<(), ApplyError> {
        let definition = written_definition(catalog, row, kind)?;
        match (kind, definition) {
            (WriteKind::Insert, definition) => {
                self.engine.note_definition(definition.key(), row);
                self.make_again(definition, inserted)
            }
            (WriteKind::Update, Definition::Table(table)) => self.add_layouts_again(table),
            (WriteKind::Update, _) => Err(damaged("an index or a sequence was changed")),
            (WriteKind::Delete, definition) => self.drop_again(definition.key()),
        }
    }

    fn make_again(&self, definition: Definition, inserted: &InsertedRows) -> Result<(), ApplyError> {
        match definition {
            Definition::Table(definition) => {
                self.engine.add_table(&definition);
                let table = self.engine.table(definition.id).expect("added above");
                let last = inserted.get(&definition.id).and_then(|rows| rows.iter().max());
                if let Some(last) = last {
                    table.raise_ordinals_end(ordinal_of_row(*last) + 1);
                }
                self.push_ddl(DdlAction::CreatedTable(definition.id));
                Ok(())
            }
            Definition::Index(definition) => self.build_again(definition),
            Definition::Sequence(definition) => {
                self.make_sequence_again(definition);
                Ok(())
            }
        }
    }

    /// Over the rows as they are now: nobody but this transaction has changed them since the index was made.
    fn build_again(&self, definition: IndexDefinition) -> Result<(), ApplyError> {
        let other = |what: String| ApplyError::Other(format!("index {}: {what}", definition.id.0));
        let table = self
            .engine
            .table(definition.table)
            .ok_or_else(|| gone(definition.table))?;
        let program = self
            .engine
            .key_program(&definition)
            .map_err(|error| other(error.message().to_string()))?;
        let mut build = self
            .install_index(table, definition.clone(), program, None)
            .map_err(|error| other(format!("{error:?}")))?;
        loop {
            match self.build_index(&mut build, usize::MAX) {
                Ok(BuildProgress::Done) => return Ok(()),
                Ok(BuildProgress::More) => {}
                Err(error) => return Err(other(format!("{error:?}"))),
            }
        }
    }

    fn make_sequence_again(&self, definition: SequenceDefinition) {
        let sequence = Sequence::new(definition);
        // What was drawn from it was logged before the PREPARE.
        if let Some(state) = self.engine.objects().unclaimed_state(definition.id) {
            sequence.restore(state);
        }
        self.add_sequence(sequence);
    }

    fn add_layouts_again(&self, definition: TableDefinition) -> Result<(), ApplyError> {
        let table = self
            .engine
            .table(definition.id)
            .ok_or_else(|| gone(definition.id))?;
        let previous = table.newest_layout().clone();
        // Those it has stay as they are; the last one is the one to write with.
        for layout in definition.layouts {
            table.add_layout(layout);
        }
        self.push_ddl(DdlAction::AddedLayout { table, previous });
        Ok(())
    }

    fn drop_again(&self, key: ObjectKey) -> Result<(), ApplyError> {
        match key {
            ObjectKey::Table(id) => self.push_ddl(DdlAction::DroppedTable(id)),
            ObjectKey::Sequence(id) => self.push_ddl(DdlAction::DroppedSequence(id)),
            ObjectKey::Index(id) => {
                let missing = || ApplyError::Other(format!("index {} is gone", id.0));
                let table = self.engine.table_of_index(id).ok_or_else(missing)?;
                let index = table.index(id).ok_or_else(missing)?;
                self.push_dropped_index(table, index);
            }
        }
        Ok(())
    }

    /// All operations were written again: what the transaction's tables have no rows for is free.
    pub(super) fn free_unwritten_rows(&self) {
        for action in &self.work.borrow().ddl {
            if let DdlAction::CreatedTable(id) = action
                && let Some(table) = self.engine.table(*id)
            {
                table.free_unwritten_rows();
            }
        }
    }
}

/// What the newest version of a catalog row says; of a deleted one, what it said before.
fn written_definition(catalog: &Table, row: RowId, kind: WriteKind) -> Result<Definition, ApplyError> {
    let missing = || damaged("a row of the catalog is missing");
    let slot = catalog.slot(row).ok_or_else(missing)?;
    let _guard = epoch::pin();
    let mut version = NonNull::new(slot.head().cast_mut()).ok_or_else(missing)?;
    if kind == WriteKind::Delete {
        // SAFETY: found under the pin.
        let below = unsafe { version.as_ref() }.previous();
        version = NonNull::new(below.cast_mut()).ok_or_else(missing)?;
    }
    // SAFETY: linked below what was found under the pin.
    let (layout, bytes) = unsafe { (version.as_ref().layout(), Version::payload(version)) };
    Definition::decode(catalog.view(layout, bytes).variable(0))
        .map_err(|error| ApplyError::Other(format!("a catalog row is damaged: {}", error.0)))
}
