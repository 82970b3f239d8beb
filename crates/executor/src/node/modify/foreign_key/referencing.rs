//! The end that has the constraint: a new key is looked up among the referenced rows.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use mote_common::error::state;
use mote_common::{Oid, RowId, SqlError, SqlResult};
use mote_engine::{Isolation, RowLockStrength};
use mote_sql::catalog::{ForeignKey, IndexKeyTarget, Relation};
use mote_types::key::{KeyBound, key_bound};
use mote_types::{ColumnType, Datum};

use super::key_rows::{is_enforced, key_text, lock_any, pick, read};
use super::partitions::{Referenced, ReferencedPartitions};
use crate::memory::heap_bytes;
use crate::node::index_scan::has_key;
use crate::node::modify::after::{self, AfterEvent, Deferral, DeferredEvents};
use crate::node::modify::disclosure::may_read;
use crate::node::modify::write_error;
use crate::row_codec::append_key;
use crate::runtime::{Runtime, find_index};
use crate::value::{convert, equal_rows};

/// Most keys fit; a longer one grows.
const KEY_BYTES_USUAL: usize = 64;

/// A row whose referenced key was not there, or was not looked for.
pub(super) struct Missing {
    key: Arc<OwnKey>,
    relation: Arc<Relation>,
    row: RowId,
    values: Vec<Datum>,
}

/// A foreign key of the written relation.
pub(super) struct OwnKey {
    pub name: String,
    pub key: ForeignKey,
    pub types: Vec<ColumnType>,
    pub deferral: Option<Deferral>,
    /// Resolved when first needed. A plan ends when either relation changes.
    pub referenced: OnceLock<ReferencedTable>,
}

/// Where the referenced rows are.
pub(super) enum ReferencedTable {
    One(Referenced),
    Partitions(ReferencedPartitions),
}

impl AfterEvent for Missing {
    fn deferral(&self) -> Option<Deferral> {
        self.key.deferral
    }

    fn relation(&self) -> Oid {
        self.relation.oid
    }

    fn constraint(&self) -> Option<(Oid, Oid)> {
        Some((self.relation.oid, self.key.deferral?.constraint))
    }

    fn heap_bytes(&self) -> usize {
        heap_bytes(&self.values)
    }

    /// Looks for the key again, now that the statement or the transaction is through.
    fn fire(&self, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        let (key, relation) = (&self.key, &self.relation);
        if key.still_refers(relation, self.row, &self.values, runtime)?
            && !key.probe(&self.values, runtime)?
        {
            return Err(key.violation(relation, &self.values, runtime));
        }
        Ok(())
    }
}

impl OwnKey {
    /// After the write of a row with a new key: looks for the referenced row, and notes a miss. As RI_FKey_check.
    pub fn check(
        self: &Arc<OwnKey>,
        relation: &Arc<Relation>,
        row: RowId,
        new: &[Datum],
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<()> {
        if !is_enforced(relation, runtime) {
            return Ok(());
        }
        let values = pick(new, &self.key.columns);
        let nulls = values.iter().filter(|value| value.is_null()).count();
        // MATCH SIMPLE: a null anywhere refers to nothing.
        if nulls == values.len() || nulls > 0 && !self.key.match_full {
            return Ok(());
        }
        if nulls > 0 {
            return Err(self
                .error(relation)
                .detail("MATCH FULL does not allow mixing of null and nonnull key values."));
        }
        let put_off = self
            .deferral
            .is_some_and(|deferral| DeferredEvents::defer(runtime.session(), deferral));
        // A miss is no error yet: a later row of the same statement may be the one referred to.
        if put_off || !self.probe(&values, runtime)? {
            let missing = Missing {
                key: Arc::clone(self),
                relation: Arc::clone(relation),
                row,
                values,
            };
            return after::push(missing, runtime);
        }
        Ok(())
    }

    /// Finds table and index, once per plan.
    fn resolve(&self, runtime: &Runtime<'_, '_>) -> SqlResult<&ReferencedTable> {
        if let Some(referenced) = self.referenced.get() {
            return Ok(referenced);
        }
        let relation = runtime.relation(self.key.referenced)?;
        if relation.is_partitioned() {
            let partitions = ReferencedPartitions::new(relation, &self.key);
            return Ok(self
                .referenced
                .get_or_init(|| ReferencedTable::Partitions(partitions)));
        }
        let description = relation
            .indexes
            .iter()
            .find(|index| index.oid == self.key.referenced_index)
            .ok_or_else(|| {
                SqlError::internal(format!("foreign key \"{}\" has no index to probe", self.name))
            })?;
        // The index may have the key's columns in another order than the constraint names them.
        let keys = description.keys.iter().map(|key| match &key.target {
            IndexKeyTarget::Column(column) => {
                let position = self
                    .key
                    .referenced_columns
                    .iter()
                    .position(|other| other == column);
                position.map(|position| (position, key.ty))
            }
            IndexKeyTarget::Expression(..) => None,
        });
        let keys = keys.collect::<Option<Vec<_>>>().ok_or_else(|| {
            SqlError::internal(format!("the index behind \"{}\" has other columns", self.name))
        })?;
        let table = runtime.table(relation.table)?;
        let index = find_index(&table, description.index)?;
        Ok(self.referenced.get_or_init(|| {
            ReferencedTable::One(Referenced {
                relation,
                table,
                index,
                keys,
            })
        }))
    }

    /// Looks for a live row with the key and locks it FOR KEY SHARE.
    pub fn probe(&self, values: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        match self.resolve(runtime)? {
            ReferencedTable::One(referenced) => self.probe_in(referenced, values, true, runtime),
            ReferencedTable::Partitions(partitions) => match partitions.leaf(values, &self.types, runtime)? {
                // PostgreSQL looks for a partition's row with a snapshot of its own.
                Some(referenced) => self.probe_in(&referenced, values, false, runtime),
                None => Ok(false),
            },
        }
    }

    fn probe_in(
        &self,
        referenced: &Referenced,
        values: &[Datum],
        by_snapshot: bool,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<bool> {
        let (mut key, mut scratch, mut rows) = (Vec::with_capacity(KEY_BYTES_USUAL), Vec::new(), Vec::new());
        for (column, &(position, ty)) in referenced
            .index
            .key_program
            .columns()
            .iter()
            .zip(&referenced.keys)
        {
            let own = self.types[position];
            let value = match own.oid == ty.oid {
                true => Cow::Borrowed(&values[position]),
                // A value that the referenced type cannot hold is nobody's key.
                false => match convert(runtime, &values[position], own, ColumnType::new(ty.oid), false) {
                    Ok(value) => Cow::Owned(value),
                    Err(_) => return Ok(false),
                },
            };
            // 1.005 is in no numeric(12,2) column.
            if key_bound(&value, ty) != KeyBound::Exact {
                return Ok(false);
            }
            append_key(column, ty, &value, &mut key, &mut scratch);
        }
        let transaction = runtime.transaction();
        let by_snapshot = by_snapshot && transaction.isolation() != Isolation::ReadCommitted;
        let (table, index) = (&referenced.table, &referenced.index);
        transaction.rows_with_key(table, index, &key, runtime.snapshot(), &mut rows);
        for &row in &rows {
            let (table, relation) = (&referenced.table, &referenced.relation);
            let strength = RowLockStrength::KeyShare;
            let Some((version, just_written)) = lock_any(table, relation, row, strength, runtime)? else {
                // Deleted by somebody else, or a moment ago by this transaction itself.
                if transaction.isolation() != Isolation::ReadCommitted
                    && transaction.changed_since_snapshot(table, row)
                    && let Some(seen) = transaction.fetch(table, row, runtime.snapshot())
                    && has_key(table, index, &seen, &key, &mut scratch)
                {
                    return Err(write_error::serialization_failure(false));
                }
                continue;
            };
            // The entry led to a row that has had the key: its newest version has another one.
            if !has_key(table, &referenced.index, &version, &key, &mut scratch) {
                continue;
            }
            // Above READ COMMITTED the referenced row has to be there for this transaction, too. That it stays is what
            // the lock says: for SERIALIZABLE this is no read of the rest of the row.
            let _pause = transaction.pause_tracking();
            return Ok(!by_snapshot
                || just_written
                || transaction.fetch(table, row, runtime.snapshot()).is_some());
        }
        Ok(false)
    }

    /// Whether the row is still there with these values: it may have been changed again by the same statement.
    fn still_refers(
        &self,
        relation: &Relation,
        row: RowId,
        values: &[Datum],
        runtime: &Runtime<'_, '_>,
    ) -> SqlResult<bool> {
        let table = runtime.table(relation.table)?;
        let Some(version) = runtime.transaction().fetch_newest(&table, row) else {
            return Ok(false);
        };
        Ok(equal_rows(
            &read(&table, &version, relation, &self.key.columns),
            values,
        ))
    }

    /// 23503 in the words for this end, without its detail.
    fn error(&self, relation: &Relation) -> SqlError {
        SqlError::new(
            state::FOREIGN_KEY_VIOLATION,
            format!(
                "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
                relation.name, self.name
            ),
        )
        .table(relation.schema.as_str(), relation.name.as_str())
        .constraint(self.name.as_str())
    }

    #[cold]
    fn violation(&self, relation: &Relation, values: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlError {
        let referenced = match self.resolve(runtime) {
            Ok(ReferencedTable::One(referenced)) => referenced.relation.name.clone(),
            Ok(ReferencedTable::Partitions(partitions)) => partitions.root.name.clone(),
            Err(error) => return error,
        };
        let key = match may_read(relation.oid, runtime) {
            true => format!("Key {}", key_text(relation, &self.key.columns, values, runtime)),
            false => "Key".to_string(),
        };
        self.error(relation)
            .detail(format!("{key} is not present in table \"{referenced}\"."))
    }
}
