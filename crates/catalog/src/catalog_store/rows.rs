//! The catalog's rows: the engine's table 2, one variable column with an object's JSON.
//!
//! Leaves out: how statements change them (`catalog_change`).

use mote_common::{RowId, SqlResult, TableId};
use mote_engine::{Access, BeginOptions, Engine, RowWriter, SQL_CATALOG_TABLE, Transaction, WriteError};
use std::sync::Arc;

use super::catalog::Catalog;
use super::index_texts::Evaluation;
use super::stored::StoredObject;
use super::{NO_ROW, damaged, predefined_roles};
use crate::write_error;

/// All objects, with the rows that hold them.
pub fn read_all(engine: &Arc<Engine>) -> SqlResult<Vec<(StoredObject, RowId)>> {
    let table = catalog_table(engine)?;
    let transaction = engine
        .begin_with(BeginOptions::default())
        .map_err(write_error::begin_error)?;
    let snapshot = transaction.begin_statement(Access::Write);
    let mut objects = Vec::new();
    let mut scan = table.scan();
    while let Some(row) = scan.next(&table, &transaction, &snapshot) {
        let bytes = table.view(row.layout(), row.bytes()).variable(0);
        let object = StoredObject::decode(bytes).map_err(|error| damaged(&error.to_string()))?;
        objects.push((object, row.row()));
    }
    drop(snapshot);
    transaction.abort();
    Ok(objects)
}

/// Writes the objects that a new database begins with.
pub fn write_first(engine: &Arc<Engine>, objects: &[StoredObject]) -> SqlResult<()> {
    let table = catalog_table(engine)?;
    let transaction = engine
        .begin_with(BeginOptions::default())
        .map_err(write_error::begin_error)?;
    transaction.start_statement(Access::Write);
    for object in objects {
        insert(&transaction, &table, object).map_err(write_error::lock_error)?;
    }
    let receipt = transaction.commit().map_err(write_error::commit_error)?;
    engine.wait_stable(receipt.seen);
    Ok(())
}

/// Makes the catalog of a set of objects.
pub fn build(
    engine: &Engine,
    objects: Vec<(StoredObject, RowId)>,
    evaluation: &'static dyn Evaluation,
) -> SqlResult<Catalog> {
    let mut catalog = Catalog::new(evaluation);
    // A row, if there is one, takes the place of what is built in.
    for role in predefined_roles::all() {
        catalog.put(StoredObject::Role(role), NO_ROW)?;
    }
    let mut described = Vec::new();
    for (object, row) in objects {
        if matches!(
            object,
            StoredObject::Relation(_) | StoredObject::Routine(_) | StoredObject::Type(_)
        ) {
            described.push(object.oid());
        }
        catalog.put(object, row)?;
    }
    for oid in described {
        catalog.bind_indexes(oid)?;
        catalog.describe(oid, 0, |id| {
            engine.table(id).map(|table| table.row_count_estimate() as f64)
        })?;
        catalog.label(oid, engine);
    }
    Ok(catalog)
}

pub fn catalog_table(engine: &Engine) -> SqlResult<Arc<mote_engine::Table>> {
    engine
        .table(SQL_CATALOG_TABLE)
        .ok_or_else(|| damaged("the catalog table is missing"))
}

pub fn insert(
    transaction: &Transaction,
    table: &mote_engine::Table,
    object: &StoredObject,
) -> Result<RowId, WriteError> {
    let mut writer = RowWriter::new(table.newest_layout());
    writer.set_variable(0, &object.encode());
    transaction.insert(table, writer.finish()?)
}

const _: () = assert!(SQL_CATALOG_TABLE.0 == TableId(2).0);
