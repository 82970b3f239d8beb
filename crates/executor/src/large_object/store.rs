//! The two tables of a database: one row per large object, and one per page of its bytes.
//!
//! ```text
//! objects   oid, owner, privileges, comment     unique by oid
//! pages     object, number, bytes               unique by (object, number)
//! ```
//! They are the engine's tables without a relation of SQL above them. The first object of a database makes them; its
//! catalog row says which they are (`StoredLargeObjects`), and they go with the database.

use std::sync::Arc;

use mote_catalog::catalog_store::stored::{StoredLargeObjects, StoredObject};
use mote_catalog::write_error;
use mote_common::{IndexId, RowId, SqlError, SqlResult, TableId};
use mote_engine::index::KeyRange;
use mote_engine::{
    AdvisoryMode, BuildProgress, ColumnStorage, Engine, IndexDefinition, IndexMethod, Isolation, KeyClass,
    KeyColumn, RowLockStrength, RowVersion, RowView, RowWriter, Snapshot, StorageClass, Table,
    TableDefinition, TableIndex, Transaction, WaitPolicy, WriteError,
};

use crate::catalog_change::object_locks::lock_name;
use crate::catalog_change::write;
use crate::context::StatementContext;
use crate::runtime::find_index;

/// Columns of the table of objects.
pub mod object_column {
    pub const OID: usize = 0;
    pub const OWNER: usize = 1;
    pub const PRIVILEGES: usize = 2;
    pub const COMMENT: usize = 3;
}

/// Columns of the table of pages.
pub mod page_column {
    pub const OBJECT: usize = 0;
    pub const NUMBER: usize = 1;
    pub const BYTES: usize = 2;
}

/// A database's large objects.
pub struct Store {
    pub objects: IndexedTable,
    pub pages: IndexedTable,
}

/// A table with the index that finds its rows.
pub struct IndexedTable {
    pub table: Arc<Table>,
    pub index: Arc<TableIndex>,
}

impl Store {
    /// None: the database never had one.
    pub fn existing(context: &StatementContext<'_>) -> SqlResult<Option<Store>> {
        let catalog = context.session.catalog.current();
        let database = catalog.databases.get(&context.session.catalog.database);
        let stored = database.and_then(|entry| entry.object.large_objects);
        stored
            .map(|stored| Store::open(context.database.engine(), stored))
            .transpose()
    }

    /// By what the database's catalog row says.
    pub fn open(engine: &Engine, stored: StoredLargeObjects) -> SqlResult<Store> {
        Ok(Store {
            objects: IndexedTable::open(engine, stored.objects, stored.objects_key)?,
            pages: IndexedTable::open(engine, stored.pages, stored.pages_key)?,
        })
    }

    /// Makes the tables where there are none.
    pub fn make(context: &mut StatementContext<'_>) -> SqlResult<Store> {
        if let Some(store) = Store::existing(context)? {
            return Ok(store);
        }
        // Who was first makes them; the others find them when his transaction has ended.
        let database = context.session.catalog.database;
        lock_name(database, "large objects", AdvisoryMode::Exclusive, context)?;
        if let Some(store) = Store::existing(context)? {
            return Ok(store);
        }
        let catalog = context.session.catalog.current();
        let entry = catalog.databases.get(&database);
        let mut stored = entry
            .map(|entry| entry.object.clone())
            .ok_or_else(|| SqlError::internal(format!("cache lookup failed for database {database}")))?;
        let oid = || ColumnStorage::new(StorageClass::Fixed4, false);
        let bytes = |nullable| ColumnStorage::new(StorageClass::Variable, nullable);
        let key = |column: usize, class| KeyColumn::ascending(column as u16, class, false);
        let (objects, objects_key) = make_table(
            vec![oid(), oid(), bytes(false), bytes(true)],
            vec![key(object_column::OID, KeyClass::Unsigned4)],
            context,
        )?;
        let (pages, pages_key) = make_table(
            vec![oid(), oid(), bytes(false)],
            vec![
                key(page_column::OBJECT, KeyClass::Unsigned4),
                key(page_column::NUMBER, KeyClass::Unsigned4),
            ],
            context,
        )?;
        let made = StoredLargeObjects {
            objects: objects.0,
            objects_key: objects_key.0,
            pages: pages.0,
            pages_key: pages_key.0,
        };
        stored.large_objects = Some(made);
        // The catalog row is part of the transaction: after a rollback the tables are gone and the row names none.
        write::put(StoredObject::Database(stored), context)?;
        Store::open(context.database.engine(), made)
    }
}

/// An empty table with a unique index over it, in the statement's transaction.
fn make_table(
    columns: Vec<ColumnStorage>,
    key: Vec<KeyColumn>,
    context: &mut StatementContext<'_>,
) -> SqlResult<(TableId, IndexId)> {
    let definition = TableDefinition::new(columns);
    let table = context.engine_call(|transaction| transaction.create_table(&definition))?;
    let definition = IndexDefinition {
        id: IndexId(0),
        table,
        method: IndexMethod::Ordered,
        columns: key,
        unique: true,
        deferrable: false,
        nulls_not_distinct: false,
        expressions: None,
    };
    let mut build = context.engine_call(|transaction| transaction.create_index(&definition))?;
    // The table is empty and seen by nobody else: the build is done in a few steps.
    while context.engine_call(|transaction| transaction.build_index(&mut build, 1))? != BuildProgress::Done {}
    Ok((table, build.id()))
}

impl IndexedTable {
    fn open(engine: &Engine, table: u32, index: u32) -> SqlResult<IndexedTable> {
        let missing = || SqlError::internal(format!("storage table {table} does not exist"));
        let table = engine.table(TableId(table)).ok_or_else(missing)?;
        let index = find_index(&table, IndexId(index))?;
        Ok(IndexedTable { table, index })
    }

    /// A version's columns, at the positions of the `*_column` modules.
    pub fn view<'v>(&'v self, version: &RowVersion<'v>) -> RowView<'v> {
        self.table.view(version.layout(), version.bytes())
    }

    /// The row with a key that a snapshot sees.
    pub fn find<'s>(
        &self,
        key: &[u8],
        snapshot: &'s Snapshot,
        transaction: &'s Transaction,
    ) -> Option<RowVersion<'s>> {
        let mut rows = Vec::new();
        // Several rows at most while one replaces another under the same key.
        transaction.rows_with_key(&self.table, &self.index, key, snapshot, &mut rows);
        rows.into_iter()
            .find_map(|row| transaction.fetch(&self.table, row, snapshot))
    }

    /// The rows of a range of keys that a snapshot sees, one after the other.
    pub fn rows(&self, range: KeyRange, backward: bool, transaction: &Transaction) -> Rows {
        use mote_engine::index::Direction::{Backward, Forward};
        let direction = if backward { Backward } else { Forward };
        Rows {
            cursor: transaction.cursor(range, direction),
        }
    }

    /// Locks the row with a key in its newest version: None where there is none.
    pub fn lock<'t>(
        &self,
        key: &[u8],
        strength: RowLockStrength,
        context: &mut StatementContext<'t>,
    ) -> SqlResult<Option<RowVersion<'t>>> {
        // A command of its own: what this transaction has written to the row before is seen, and may be written again.
        let snapshot = context.transaction.advance_command();
        let mut rows = Vec::new();
        context
            .transaction
            .rows_with_key(&self.table, &self.index, key, &snapshot, &mut rows);
        for row in rows {
            let locked = self.lock_row(row, strength, &snapshot, context)?;
            if locked.is_some() {
                return Ok(locked);
            }
        }
        Ok(None)
    }

    /// Locks a row in its newest version. Above READ COMMITTED that must be the one which the transaction sees.
    pub fn lock_row<'t>(
        &self,
        row: RowId,
        strength: RowLockStrength,
        snapshot: &Snapshot,
        context: &mut StatementContext<'t>,
    ) -> SqlResult<Option<RowVersion<'t>>> {
        let mut seen = false;
        let outcome = context.retry(|transaction| {
            // In the loop: after a wait the row is looked at as of the same snapshot, and locked against that.
            let version = transaction.fetch(&self.table, row, snapshot);
            seen = version.is_some();
            transaction.lock_row(&self.table, row, version.as_ref(), strength, WaitPolicy::Block)
        })?;
        let newest = match outcome {
            Ok(locked) => locked.newest,
            Err(WriteError::Deleted) => None,
            Err(error) => return Err(write_error::lock_error(error)),
        };
        if newest.is_some() != seen && context.transaction.isolation() != Isolation::ReadCommitted {
            return Err(write_error::lock_error(WriteError::Serialization));
        }
        Ok(newest)
    }

    /// Inserts a row; false: its key is taken.
    pub fn insert(&self, writer: &mut RowWriter<'_>, context: &mut StatementContext<'_>) -> SqlResult<bool> {
        context.transaction.advance_command();
        let row = writer
            .finish()
            .map_err(|error| write_error::lock_error(error.into()))?;
        context.engine_call(|transaction| match transaction.insert(&self.table, row) {
            Ok(_) => Ok(true),
            Err(WriteError::Duplicate { .. }) => Ok(false),
            Err(error) => Err(error),
        })
    }

    /// Replaces a row that is locked.
    pub fn update(
        &self,
        locked: &RowVersion<'_>,
        writer: &mut RowWriter<'_>,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<()> {
        let row = writer
            .finish()
            .map_err(|error| write_error::lock_error(error.into()))?;
        context.engine_call(|transaction| transaction.update(&self.table, locked, row))
    }

    /// Deletes a row that is locked.
    pub fn delete(&self, locked: &RowVersion<'_>, context: &mut StatementContext<'_>) -> SqlResult<()> {
        context.engine_call(|transaction| transaction.delete(&self.table, locked))
    }
}

/// A walk over the rows of a range of keys. It may be suspended between two rows.
pub struct Rows {
    cursor: mote_engine::index::Cursor,
}

impl Rows {
    /// The next row that the snapshot sees.
    pub fn next<'s>(
        &mut self,
        of: &IndexedTable,
        snapshot: &'s Snapshot,
        transaction: &'s Transaction,
    ) -> Option<RowVersion<'s>> {
        loop {
            let row = transaction.next_entry(&of.table, &of.index, &mut self.cursor)?;
            if let Some(version) = transaction.fetch(&of.table, row, snapshot) {
                return Some(version);
            }
        }
    }
}
