//! What a write to a published table leaves in the log for subscribers (docs/design/0061).
//!
//! A RELATION before the first change of a table, again when the table or its publications have changed meanwhile; the
//! old row before an update or a delete, where subscribers find the row by it. The engine is handed what to say, and
//! knows no publications.
//!
//! Invariant: an operation for subscribers stands before the one that it belongs to, and both are taken back by the same
//! savepoint. So ROLLBACK TO forgets how tables were described: the next write describes them anew.

use std::borrow::Cow;
use std::sync::Arc;

use super::error::WriteError;
use super::snapshot::RowVersion;
use super::told::{OldRow, Told};
use super::transaction::Transaction;
use super::work::Work;
use crate::table::{RowWriter, StorageClass, Table};
use mote_common::{IndexId, Oid, RowId, TableId};
use mote_log::told::{ToldRelation, ToldStorage};

/// Marks the OID of a partitioned table among the numbers of tables, which stay below.
const PARTITIONED: u32 = 1 << 31;

impl Transaction {
    /// Describes a published table to subscribers, if this transaction has not done so. Before each change of it.
    pub fn tell(&self, table: &Table, told: &Arc<Told>) {
        let layout = table.newest_layout();
        let storage = layout.columns().iter().map(|column| ToldStorage {
            class: column.class.code(),
            nullable: column.nullable,
        });
        self.describe(table.id(), told, || (layout.number(), storage.collect()));
    }

    /// The same for a partitioned table, which stores no rows: it is named by its OID. Answers what it is called in
    /// [`tell_truncate`](Self::tell_truncate).
    pub fn tell_partitioned(&self, oid: Oid, told: &Arc<Told>) -> TableId {
        let table = TableId(oid.0 | PARTITIONED);
        let columns = told.views.iter().flat_map(|view| &view.columns);
        let width = columns.map(|column| column.position + 1).max().unwrap_or(0);
        let storage = ToldStorage {
            class: StorageClass::Variable.code(),
            nullable: true,
        };
        self.describe(table, told, || (0, vec![storage; width as usize]));
        table
    }

    fn describe(&self, table: TableId, told: &Arc<Told>, layout: impl FnOnce() -> (u8, Vec<ToldStorage>)) {
        let mut work = self.work.borrow_mut();
        if let Some(Some(known)) = work.told.get_mut(&table) {
            if Arc::ptr_eq(known, told) {
                return;
            }
            // Of another plan, which mostly says the same.
            if known == told {
                *known = told.clone();
                return;
            }
        }
        let (layout, storage) = layout();
        let relation = ToldRelation {
            layout,
            storage,
            views: told.views.clone(),
        };
        work.redo.relation(table, &relation.encode());
        work.told.insert(table, Some(told.clone()));
    }

    /// Publications change: of tables that were described nobody is told any more, unless they are described anew.
    pub fn tell_no_more(&self) {
        let mut work = self.work.borrow_mut();
        for table in std::mem::take(&mut work.told).into_keys() {
            work.redo.relation(table, &ToldRelation::default().encode());
        }
    }

    /// Tells subscribers that these tables, which were described, lose their rows.
    pub fn tell_truncate(&self, options: u8, tables: &[TableId]) {
        self.work.borrow_mut().redo.truncated(options, tables);
    }

    /// [`update`](Self::update) of a table that [`tell`](Self::tell) has described.
    pub fn update_told(
        &self,
        table: &Table,
        seen: &RowVersion<'_>,
        row: &[u8],
        told: &Told,
    ) -> Result<(), WriteError> {
        self.update_with(table, seen, row, Some(&ToldChange::of(table, seen, told)?))
    }

    /// [`delete`](Self::delete), or with `moved` [`delete_moved`](Self::delete_moved), of a table that was described.
    pub fn delete_told(
        &self,
        table: &Table,
        seen: &RowVersion<'_>,
        told: &Told,
        moved: bool,
    ) -> Result<(), WriteError> {
        self.delete_with(table, seen, moved, Some(&ToldChange::of(table, seen, told)?))
    }
}

/// A change of a published table, with the row as it was, in the table's newest layout.
pub(super) struct ToldChange<'a> {
    told: &'a Told,
    old: Cow<'a, [u8]>,
}

impl<'a> ToldChange<'a> {
    /// Before anything is written: a row that columns added since make too long cannot be told of.
    pub fn of(table: &Table, seen: &'a RowVersion<'_>, told: &'a Told) -> Result<ToldChange<'a>, WriteError> {
        let newest = table.newest_layout();
        let old = match told.old {
            OldRow::Nothing => Cow::Borrowed(&[][..]),
            _ if seen.layout() == newest.number() => Cow::Borrowed(seen.bytes()),
            _ => Cow::Owned(as_of_today(table, seen)?),
        };
        Ok(ToldChange { told, old })
    }

    /// `changes`: whether the key of an index does.
    pub fn tell_old(&self, work: &mut Work, table: &Table, row: RowId, changes: impl Fn(IndexId) -> bool) {
        let needed = match self.told.old {
            OldRow::Nothing => false,
            OldRow::Whole => true,
            OldRow::Key(key) => changes(key),
        };
        if needed {
            work.redo.old_row(table.id(), row, &self.old);
        }
    }
}

fn as_of_today(table: &Table, seen: &RowVersion<'_>) -> Result<Vec<u8>, WriteError> {
    let newest = table.newest_layout();
    let old = table.view(seen.layout(), seen.bytes());
    let mut writer = RowWriter::new(newest);
    writer.clear();
    (0..newest.column_count()).for_each(|column| writer.set_from(column, &old));
    match writer.finish() {
        Ok(bytes) => Ok(bytes.to_vec()),
        Err(too_large) => Err(WriteError::RowTooLarge {
            row_bytes: too_large.row_bytes,
            maximum_bytes: too_large.maximum_bytes,
        }),
    }
}
