//! Foreign keys to and from partitioned tables: which partition a key is in, and what a partition's key is called.
//!
//! The unique key behind a foreign key names all columns of the partition key, so that a key is in one partition or
//! nowhere: it is looked up as a row is routed, and then probed there. A partition answers for the references to its
//! ancestors (`Relation::referenced_by` has them), its columns may stand elsewhere.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::{Table, TableIndex, TableLockMode};
use mote_sql::catalog::{Constraint, ForeignKey, IndexKeyTarget, Relation};
use mote_types::{ColumnType, Datum};

use crate::node::modify::partition::{index_descends_from, lock_partition};
use crate::runtime::{Runtime, find_index};
use crate::value::convert;

/// The referenced table and the unique index that proves existence.
pub(super) struct Referenced {
    pub relation: Arc<Relation>,
    pub table: Arc<Table>,
    pub index: Arc<TableIndex>,
    /// For each key of the index: position in the foreign key's columns, and the key's type.
    pub keys: Vec<(usize, ColumnType)>,
}

/// A referenced table that is partitioned.
pub(super) struct ReferencedPartitions {
    pub root: Arc<Relation>,
    /// Names of the key's columns at the root, in the foreign key's order.
    columns: Vec<String>,
    index: Oid,
    /// By OID and version of the leaf: an index that was replaced is not used again.
    leaves: Mutex<HashMap<(Oid, u64), Arc<Referenced>>>,
}

impl ReferencedPartitions {
    pub fn new(root: Arc<Relation>, key: &ForeignKey) -> ReferencedPartitions {
        let name = |&column: &u16| root.columns[column as usize].name.clone();
        ReferencedPartitions {
            columns: key.referenced_columns.iter().map(name).collect(),
            index: key.referenced_index,
            leaves: Mutex::new(HashMap::new()),
            root,
        }
    }

    /// The partition, locked, that has the key if any has it.
    pub fn leaf(
        &self,
        values: &[Datum],
        types: &[ColumnType],
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<Option<Arc<Referenced>>> {
        // Looked up anew per key: ATTACH and DETACH since the plan was made are met here.
        let mut relation = runtime.relation(self.root.oid)?;
        let mut key = Vec::new();
        let mut scratch = Vec::new();
        while let Some(scheme) = relation.partitioning.clone() {
            key.clear();
            for part in &scheme.keys {
                let IndexKeyTarget::Column(column) = part.target else {
                    return Err(SqlError::internal("a unique key spans partitions by expression"));
                };
                let name = &relation.columns[column as usize].name;
                let position = self.columns.iter().position(|own| own == name);
                let position = position.ok_or_else(|| {
                    SqlError::internal("a referenced key lacks a column of the partition key")
                })?;
                let (value, own) = (&values[position], types[position]);
                key.push(match own.oid == part.ty.oid {
                    true => value.clone(),
                    // A value that the referenced type cannot hold is nobody's key.
                    false => match convert(runtime, value, own, ColumnType::new(part.ty.oid), false) {
                        Ok(value) => value,
                        Err(_) => return Ok(None),
                    },
                });
            }
            // No partition takes the key, so no row can have it.
            let Some(found) = scheme.find(&key, &mut scratch) else {
                return Ok(None);
            };
            // Locked as a SELECT FOR KEY SHARE of the partition locks it, until the transaction's end.
            relation = lock_partition(scheme.partitions[found].oid, TableLockMode::RowShare, runtime)?;
        }
        self.referenced(relation, runtime).map(Some)
    }

    /// The leaf's own index of the referenced key: partitions have one each, below the root's.
    fn referenced(&self, leaf: Arc<Relation>, runtime: &Runtime<'_, '_>) -> SqlResult<Arc<Referenced>> {
        let known = (leaf.oid, leaf.version);
        if let Some(referenced) = self.leaves.lock().get(&known) {
            return Ok(Arc::clone(referenced));
        }
        let catalog = &runtime.session().catalog;
        let mut indexes = leaf.indexes.iter();
        let description = indexes.find(|index| index_descends_from(index.parent, self.index, catalog));
        let description = description.ok_or_else(|| {
            SqlError::internal(format!("partition \"{}\" lacks a referenced key", leaf.name))
        })?;
        let keys = description.keys.iter().map(|key| match key.target {
            IndexKeyTarget::Column(column) => {
                let name = &leaf.columns[column as usize].name;
                let position = self.columns.iter().position(|own| own == name)?;
                Some((position, key.ty))
            }
            IndexKeyTarget::Expression(..) => None,
        });
        let keys = keys.collect::<Option<Vec<_>>>().ok_or_else(|| {
            SqlError::internal(format!(
                "the referenced key of \"{}\" has other columns",
                leaf.name
            ))
        })?;
        let table = runtime.table(leaf.table)?;
        let referenced = Arc::new(Referenced {
            index: find_index(&table, description.index)?,
            relation: leaf,
            table,
            keys,
        });
        self.leaves.lock().insert(known, Arc::clone(&referenced));
        Ok(referenced)
    }
}

/// The referenced columns as `written`, the referenced table or one below it, has them.
pub(super) fn columns_in(
    key: &ForeignKey,
    written: &Relation,
    runtime: &Runtime<'_, '_>,
) -> SqlResult<Vec<u16>> {
    if key.referenced == written.oid {
        return Ok(key.referenced_columns.clone());
    }
    let root = runtime.relation(key.referenced)?;
    key.referenced_columns
        .iter()
        .map(|&column| {
            let name = &root.columns[column as usize].name;
            let found = written.columns.iter().position(|c| !c.dropped && c.name == *name);
            found.map(|position| position as u16).ok_or_else(|| {
                SqlError::internal(format!("partition \"{}\" has no column \"{name}\"", written.name))
            })
        })
        .collect()
}

/// The table and the name that a violation of a referencing table's constraint is reported under: partitions do not
/// show, and the key of a referenced partition has a number behind its name.
pub(super) fn reported(
    relation: &Arc<Relation>,
    constraint: &Constraint,
    key: &ForeignKey,
    written: &Relation,
    runtime: &Runtime<'_, '_>,
) -> SqlResult<(Arc<Relation>, String)> {
    let (mut relation, mut constraint) = (Arc::clone(relation), constraint.clone());
    // From the referencing partition up to the table on which the constraint was declared.
    while let (Some(above), Some(&parent)) = (constraint.parent, relation.parents.first()) {
        relation = runtime.relation(parent)?;
        let found = relation.constraints.iter().find(|known| known.oid == above);
        constraint = found
            .cloned()
            .ok_or_else(|| SqlError::internal("an inherited foreign key has no parent"))?;
    }
    if key.referenced == written.oid {
        return Ok((relation, constraint.name));
    }
    let catalog = &runtime.session().catalog;
    let below = catalog.current().descendants_of(key.referenced);
    // The name that PostgreSQL gives to the constraint's copy for a referenced partition: numbered, here by the
    // partition's position.
    let number = below.iter().position(|oid| *oid == written.oid).unwrap_or(0) + 1;
    let columns = key_columns(&relation, &constraint);
    let name = format!("{}_{}_fkey{number}", relation.name, columns.join("_"));
    Ok((relation, name))
}

fn key_columns(relation: &Relation, constraint: &Constraint) -> Vec<String> {
    match &constraint.kind {
        mote_sql::catalog::ConstraintKind::ForeignKey(key) => {
            let columns = key.columns.iter();
            columns
                .map(|&column| relation.columns[column as usize].name.clone())
                .collect()
        }
        _ => Vec::new(),
    }
}
