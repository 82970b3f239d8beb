//! Deferrable unique and primary keys: a row may have a key that is taken, until the check.
//!
//! The engine tells which rows met an equal key when they were written; only they are checked, at the end of the
//! statement or of the transaction. A row that is gone by then, or has another key, has nothing to answer for.

use std::sync::Arc;

use mote_common::{IndexId, Oid, RowId, SqlResult};
use mote_engine::WriteError;
use mote_sql::catalog::{ConstraintKind, Relation};

use super::after::{self, AfterEvent, Deferral};
use super::{unique_violation, write_error};
use crate::row_codec::RowCodec;
use crate::runtime::{Runtime, find_index};

/// The deferrable keys of a written relation.
pub struct DeferrableKeys(Box<[(IndexId, Deferral)]>);

/// A row that was written under a key that another row had.
struct KeyTaken {
    relation: Arc<Relation>,
    index: IndexId,
    deferral: Deferral,
    row: RowId,
}

impl DeferrableKeys {
    /// The keys of a relation that may be checked late; empty for most.
    pub fn of(relation: &Relation) -> DeferrableKeys {
        let keys = relation.constraints.iter().filter_map(|constraint| {
            let deferral = Deferral::of(constraint)?;
            let (ConstraintKind::PrimaryKey { index } | ConstraintKind::Unique { index }) = constraint.kind
            else {
                return None;
            };
            let description = relation.indexes.iter().find(|candidate| candidate.oid == index)?;
            Some((description.index, deferral))
        });
        DeferrableKeys(keys.collect())
    }

    /// After a write: the keys that it found taken are checked later.
    #[inline]
    pub fn row_written(&self, relation: &Arc<Relation>, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        // Taken, not looked at: what stays would count against the next write.
        for (index, row) in runtime.transaction().take_unchecked_keys() {
            let known = self.0.iter().find(|(candidate, _)| *candidate == index);
            let Some(&(index, deferral)) = known else {
                // Of a write to another table that failed halfway.
                continue;
            };
            let relation = Arc::clone(relation);
            let taken = KeyTaken {
                relation,
                index,
                deferral,
                row,
            };
            after::push(taken, runtime)?;
        }
        Ok(())
    }
}

impl AfterEvent for KeyTaken {
    fn deferral(&self) -> Option<Deferral> {
        Some(self.deferral)
    }

    fn relation(&self) -> Oid {
        self.relation.oid
    }

    fn constraint(&self) -> Option<(Oid, Oid)> {
        Some((self.relation.oid, self.deferral.constraint))
    }

    fn heap_bytes(&self) -> usize {
        0
    }

    /// Looks again at the row's newest version: 23505 if another live row has its key.
    fn fire(&self, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        let table = runtime.table(self.relation.table)?;
        let index = find_index(&table, self.index)?;
        match runtime.retry(|transaction| transaction.check_key(&table, &index, self.row))? {
            Ok(()) => return Ok(()),
            Err(WriteError::Duplicate { .. }) => {}
            Err(error) => return Err(write_error::sql_error(error, &self.relation)),
        }
        let mut row = Vec::new();
        if let Some(version) = runtime.transaction().fetch_newest(&table, self.row) {
            let view = table.view(version.layout(), version.bytes());
            RowCodec::new(&self.relation).read_row(&view, &mut row);
        }
        Err(unique_violation(&self.relation, self.index, &row, runtime))
    }
}
