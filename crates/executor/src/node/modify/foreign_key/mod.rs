//! Foreign keys: what a write owes to the tables it references, and to those that reference it.
//!
//! Read in this order: this file (which keys a written row concerns), `referencing` (the end that has the constraint),
//! `referenced` with `children` and `cascade` (the end it points at), `partitions` (partitioned tables at either end), `key_rows` (what
//! both ends do with rows and keys).
//!
//! Referencing side: the referenced key is probed with the write and its row locked FOR KEY SHARE; a miss is looked at
//! again at the end of the statement, since a later row of the same statement may supply the key.
//! Referenced side: at the end of the statement the old key's referencing rows are searched among the *newest* rows.
//! CASCADE, SET NULL and SET DEFAULT run as statements of their own, so that checks, generated columns, conflicts and
//! further foreign keys are nobody's special case; what they leave to check goes to the same queue, which keeps the
//! stack flat however long a chain of cascades is.
//!
//! Why no child escapes: the deleted or re-keyed parent is locked FOR UPDATE, which KEY SHARE conflicts with; so every
//! insert of a child either ended before, and is found, or waits and finds no parent.
//! A deferred check is queued without a probe: nobody is locked or waited for before it fires (`after`).
//!
//! Source: PostgreSQL's ri_triggers.c. Other than there a key is checked by probes of the index, not by queries; only actions are
//! statements.
//!
//! Leaves out: MATCH PARTIAL.

mod cascade;
mod children;
mod key_rows;
mod partitions;
mod referenced;
mod referencing;

use std::sync::{Arc, OnceLock};

use mote_common::error::state;
use mote_common::{Oid, RowId, SqlError, SqlResult};
use mote_sql::catalog::{ConstraintKind, Relation};
use mote_types::Datum;

use super::after::Deferral;
use super::changed_keys::changes_key;
use crate::runtime::Runtime;
use crate::value::equal_rows;
use key_rows::{look_alike, pick};
use referenced::ReferencingKey;
use referencing::OwnKey;

/// The foreign keys that a written relation takes part in.
pub struct ForeignKeys {
    own: Vec<Arc<OwnKey>>,
    referenced_by: Vec<Arc<ReferencingKey>>,
}

impl ForeignKeys {
    /// Both ends: the keys that the relation has, and those that refer to it or to a table above it.
    pub fn of(relation: &Relation) -> ForeignKeys {
        let own = relation
            .constraints
            .iter()
            .filter_map(|constraint| match &constraint.kind {
                ConstraintKind::ForeignKey(key) => Some(Arc::new(OwnKey {
                    name: constraint.name.clone(),
                    key: key.clone(),
                    types: key
                        .columns
                        .iter()
                        .map(|&column| relation.columns[column as usize].ty)
                        .collect(),
                    deferral: Deferral::of(constraint),
                    referenced: OnceLock::new(),
                })),
                _ => None,
            });
        let written = relation.oid;
        let referenced_by = relation.referenced_by.iter().map(|&(relation, constraint)| {
            Arc::new(ReferencingKey {
                relation,
                constraint,
                written,
                resolved: OnceLock::new(),
            })
        });
        ForeignKeys {
            own: own.collect(),
            referenced_by: referenced_by.collect(),
        }
    }

    /// Whether deletes and changes of keys concern any other table.
    pub fn is_referenced(&self) -> bool {
        !self.referenced_by.is_empty()
    }

    /// Whether an update of these columns can concern a foreign key.
    pub fn concern(&self, changed: &dyn Fn(usize) -> bool, relation: &Relation) -> bool {
        let own = self
            .own
            .iter()
            .any(|own| own.key.columns.iter().any(|&column| changed(column as usize)));
        own || self.is_referenced() && changes_key(relation, changed)
    }

    /// After the write of a new row: its references are looked up, or noted for later.
    pub fn row_inserted(
        &self,
        relation: &Arc<Relation>,
        row: RowId,
        new: &[Datum],
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<()> {
        for own in &self.own {
            own.check(relation, row, new, runtime)?;
        }
        Ok(())
    }

    /// After an update: only keys whose values have changed are looked at.
    pub fn row_updated(
        &self,
        relation: &Arc<Relation>,
        row: RowId,
        old: &[Datum],
        new: &[Datum],
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<()> {
        for own in &self.own {
            if !equal_rows(&pick(old, &own.key.columns), &pick(new, &own.key.columns)) {
                own.check(relation, row, new, runtime)?;
            }
        }
        for referencing in &self.referenced_by {
            let columns = &referencing.resolve(runtime)?.referenced_columns;
            let types = columns.iter().map(|&column| relation.columns[column as usize].ty);
            let (old, new) = (pick(old, columns), pick(new, columns));
            if !look_alike(&old, &new, types) {
                referencing.note_gone(relation, old, Some(new), false, runtime)?;
            }
        }
        Ok(())
    }

    /// A row that went from one partition to another: to keys that refer to the partitioned table as a whole it was
    /// updated. Its own references are checked where it was inserted.
    pub fn row_moved(
        &self,
        relation: &Arc<Relation>,
        old: &[Datum],
        new: &[Datum],
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<()> {
        for referencing in &self.referenced_by {
            let resolved = referencing.resolve(runtime)?;
            let referenced = resolved.key.referenced;
            let columns = &resolved.referenced_columns;
            if referenced == relation.oid {
                // To keys that refer to this partition alone the row is gone.
                referencing.note_gone(relation, pick(old, columns), None, false, runtime)?;
                continue;
            }
            let (old, new) = (pick(old, columns), pick(new, columns));
            refuse_inner_reference(relation, referenced, runtime)?;
            if !equal_rows(&old, &new) {
                referencing.note_gone(relation, old, Some(new), true, runtime)?;
            }
        }
        Ok(())
    }

    /// After a delete: the keys that the row had are noted as gone.
    pub fn row_deleted(
        &self,
        relation: &Arc<Relation>,
        old: &[Datum],
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<()> {
        for referencing in &self.referenced_by {
            let old = pick(old, &referencing.resolve(runtime)?.referenced_columns);
            referencing.note_gone(relation, old, None, false, runtime)?;
        }
        Ok(())
    }
}

/// Only what refers to the topmost table still finds a row that moves among its partitions.
fn refuse_inner_reference(
    relation: &Arc<Relation>,
    referenced: Oid,
    runtime: &Runtime<'_, '_>,
) -> SqlResult<()> {
    let mut root = Arc::clone(relation);
    while let Some(parent) = root.parents.first() {
        root = runtime.relation(*parent)?;
    }
    if root.oid == referenced {
        return Ok(());
    }
    let ancestor = runtime.relation(referenced)?;
    Err(SqlError::new(
        state::FEATURE_NOT_SUPPORTED,
        "cannot move tuple across partitions when a non-root ancestor of the source partition is directly referenced in a foreign key",
    )
    .detail(format!(
        "A foreign key points to ancestor \"{}\" but not the root ancestor \"{}\".",
        ancestor.name, root.name
    ))
    .hint(format!("Consider defining the foreign key on table \"{}\".", root.name)))
}
