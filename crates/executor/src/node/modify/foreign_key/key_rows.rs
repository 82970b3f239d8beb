//! Keys out of rows and rows by their keys, as both ends of a foreign key need them.

use mote_common::{RowId, SqlResult};
use mote_engine::{RowLockStrength, RowVersion, Table, WaitPolicy, WriteError};
use mote_sql::catalog::Relation;
use mote_types::{ColumnType, Datum, encode_storage};

use crate::node::modify::{full_text, write_error};
use crate::row_codec::ColumnCodec;
use crate::runtime::Runtime;
use crate::value::{equal, equal_rows};

/// Whether foreign keys are looked after at this end: not under `session_replication_role = replica`, unless ENABLE
/// TRIGGER ALL says so.
pub(super) fn is_enforced(relation: &Relation, runtime: &Runtime<'_, '_>) -> bool {
    let replica = runtime.session().settings.effective.replica;
    relation.foreign_key_firing.fires(replica)
}

/// The key out of a row, in the foreign key's order.
pub(super) fn pick(row: &[Datum], columns: &[u16]) -> Vec<Datum> {
    columns
        .iter()
        .map(|&column| row[column as usize].clone())
        .collect()
}

/// The same out of a stored version.
pub(super) fn read(
    table: &Table,
    version: &RowVersion<'_>,
    relation: &Relation,
    columns: &[u16],
) -> Vec<Datum> {
    let view = table.view(version.layout(), version.bytes());
    let read =
        |&column: &u16| ColumnCodec::new(column as usize, relation.columns[column as usize].ty).read(&view);
    columns.iter().map(read).collect()
}

/// Whether a row has the key; one with a null in it has none.
pub(super) fn same_key(row: &[Datum], values: &[Datum]) -> bool {
    row.iter()
        .zip(values)
        .all(|(a, b)| !a.is_null() && !b.is_null() && equal(a, b))
}

/// Equal, and shown alike: what refers to a key follows it also to a value that only looks different (1.0 and 1.00, or the
/// two cases of a citext).
pub(super) fn look_alike(old: &[Datum], new: &[Datum], types: impl Iterator<Item = ColumnType>) -> bool {
    let stored = |value: &Datum, ty: ColumnType| {
        let mut bytes = Vec::new();
        if !value.is_null() {
            encode_storage(value, ty, &mut bytes);
        }
        bytes
    };
    let mut pairs = old.iter().zip(new).zip(types);
    equal_rows(old, new) && pairs.all(|((old, new), ty)| stored(old, ty) == stored(new, ty))
}

/// `(a, b)=(1, 2)`.
pub(super) fn key_text(
    relation: &Relation,
    columns: &[u16],
    values: &[Datum],
    runtime: &Runtime<'_, '_>,
) -> String {
    let columns = columns.iter().map(|&column| &relation.columns[column as usize]);
    let names: Vec<&str> = columns.clone().map(|column| column.name.as_str()).collect();
    let shown: Vec<String> = columns
        .zip(values)
        .map(|(column, value)| full_text(value, column.ty, runtime.format()))
        .collect();
    format!("({})=({})", names.join(", "), shown.join(", "))
}

/// Locks the newest version of a row, whatever it is; None if the row is gone. Also tells whether it is a version that
/// the running command wrote.
pub(super) fn lock_any<'c>(
    table: &Table,
    relation: &Relation,
    row: RowId,
    strength: RowLockStrength,
    runtime: &mut Runtime<'_, 'c>,
) -> SqlResult<Option<(RowVersion<'c>, bool)>> {
    let locked =
        runtime.retry(|transaction| transaction.lock_row(table, row, None, strength, WaitPolicy::Block))?;
    match locked {
        Ok(locked) if locked.moved => {
            // Found by way of an index that still knows it. What had left before the snapshot is not missed here.
            let _pause = runtime.transaction().pause_tracking();
            let seen = runtime.transaction().fetch(table, row, runtime.snapshot());
            match seen {
                Some(_) => Err(write_error::moved_row()),
                None => Ok(None),
            }
        }
        Ok(locked) => Ok(locked.newest.map(|version| (version, false))),
        Err(WriteError::Deleted) => Ok(None),
        // The engine locks no version that the running command wrote; nobody else can change it anyway.
        Err(WriteError::SelfModified) => {
            let newest = runtime.transaction().fetch_newest(table, row);
            Ok(newest.map(|version| (version, true)))
        }
        Err(error) => Err(write_error::sql_error(error, relation)),
    }
}
