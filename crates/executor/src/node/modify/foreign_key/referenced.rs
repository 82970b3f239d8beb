//! The end that a constraint points at: what happens to the rows that refer to a key that is gone.

use std::sync::{Arc, OnceLock};

use mote_common::error::state;
use mote_common::{Oid, RowId, SqlError, SqlResult};
use mote_engine::index::{Cursor, Direction, KeyRange};
use mote_engine::{Access, Isolation, RowLockStrength, RowVersion, Snapshot, TableIndex, Transaction};
use mote_sql::catalog::{
    ConstraintKind, ForeignKey, IndexDescription, IndexKeyTarget, ReferentialAction, Relation,
};
use mote_types::Datum;
use mote_types::key::{KeyBound, key_bound};

use super::cascade;
use super::children::Referencing;
use super::key_rows::{is_enforced, key_text, lock_any, read, same_key};
use super::partitions::{columns_in, reported};
use super::referencing::OwnKey;
use crate::memory::heap_bytes;
use crate::node::modify::after::{self, AfterEvent, Deferral};
use crate::node::modify::disclosure::may_read;
use crate::node::modify::write_error;
use crate::row_codec::append_key;
use crate::runtime::{Runtime, find_index};
use crate::value::equal_rows;

/// A foreign key of another relation that points at the written one.
pub(super) struct ReferencingKey {
    pub relation: Oid,
    pub constraint: Oid,
    /// The written relation: what the key points at, or a partition of it.
    pub written: Oid,
    pub resolved: OnceLock<Referencing>,
}

/// A referenced key that is gone.
pub(super) struct Gone {
    key: Arc<ReferencingKey>,
    deferral: Option<Deferral>,
    parent: Arc<Relation>,
    old: Vec<Datum>,
    /// The key the row has now; None if it was deleted.
    new: Option<Vec<Datum>>,
    /// The row went to another partition: an update of the partitioned table, not of the partition it was in.
    moved: bool,
}

impl ReferencingKey {
    /// Looks the other relation up, once per plan: a plan ends when either relation changes.
    pub fn resolve(&self, runtime: &Runtime<'_, '_>) -> SqlResult<&Referencing> {
        if let Some(resolved) = self.resolved.get() {
            return Ok(resolved);
        }
        let relation = runtime.relation(self.relation)?;
        let constraint = relation
            .constraints
            .iter()
            .find(|constraint| constraint.oid == self.constraint);
        let found = constraint.and_then(|constraint| match &constraint.kind {
            ConstraintKind::ForeignKey(key) => Some((constraint, key)),
            _ => None,
        });
        let Some((constraint, key)) = found else {
            return Err(SqlError::internal(format!(
                "cache lookup failed for constraint {}",
                self.constraint
            )));
        };
        let written = runtime.relation(self.written)?;
        let referenced_columns = columns_in(key, &written, runtime)?;
        let reported = reported(&relation, constraint, key, &written, runtime)?;
        let (deferral, inherited) = (Deferral::of(constraint), constraint.parent.is_some());
        let key = key.clone();
        let table = runtime.table(relation.table)?;
        let found = relation
            .indexes
            .iter()
            .find_map(|index| prefix_order(index, &key).map(|order| (index, order)));
        let index = match found {
            Some((description, order)) => Some((find_index(&table, description.index)?, order)),
            None => None,
        };
        // Another session may have been faster: both found the same.
        Ok(self.resolved.get_or_init(|| Referencing {
            relation,
            key,
            referenced_columns,
            reported,
            inherited,
            deferral,
            table,
            index,
        }))
    }

    /// Queues the check or the action for a key that a row had and has no longer. `new`: the key it got instead.
    pub fn note_gone(
        self: &Arc<ReferencingKey>,
        parent: &Arc<Relation>,
        old: Vec<Datum>,
        new: Option<Vec<Datum>>,
        moved: bool,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<()> {
        // A key with a null is never referenced.
        if old.iter().any(Datum::is_null) || !is_enforced(parent, runtime) {
            return Ok(());
        }
        let referencing = self.resolve(runtime)?;
        let action = match new {
            Some(_) => referencing.key.on_update,
            None => referencing.key.on_delete,
        };
        let gone = Gone {
            key: Arc::clone(self),
            // RESTRICT and what changes the children is never put off.
            deferral: referencing
                .deferral
                .filter(|_| action == ReferentialAction::NoAction),
            parent: Arc::clone(parent),
            old,
            new,
            moved,
        };
        after::push(gone, runtime)
    }
}

/// The foreign key's columns in the order in which an index begins with them.
fn prefix_order(index: &IndexDescription, key: &ForeignKey) -> Option<Vec<usize>> {
    // An invalid index may lack rows, a partial one has not all, and a hash has no prefixes.
    let searchable = index.method.abilities().ordered && index.predicate.is_none() && index.valid;
    if !searchable || index.keys.len() < key.columns.len() {
        return None;
    }
    let order = index.keys[..key.columns.len()]
        .iter()
        .map(|part| match &part.target {
            IndexKeyTarget::Column(column) => key.columns.iter().position(|other| other == column),
            IndexKeyTarget::Expression(..) => None,
        });
    order.collect()
}

impl AfterEvent for Gone {
    fn constraint(&self) -> Option<(Oid, Oid)> {
        Some((self.key.relation, self.key.constraint))
    }

    fn deferral(&self) -> Option<Deferral> {
        self.deferral
    }

    fn relation(&self) -> Oid {
        self.parent.oid
    }

    fn heap_bytes(&self) -> usize {
        heap_bytes(&self.old) + self.new.as_deref().map_or(0, heap_bytes)
    }

    /// Carries out ON DELETE or ON UPDATE, at the end of the statement or of the transaction.
    fn fire(&self, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        let referencing = self.key.resolve(runtime)?;
        let action = match self.new {
            Some(_) => referencing.key.on_update,
            None => referencing.key.on_delete,
        };
        match action {
            ReferentialAction::NoAction if self.key_is_back(referencing, runtime)? => Ok(()),
            ReferentialAction::NoAction | ReferentialAction::Restrict => {
                self.refuse_if_referenced(referencing, runtime)
            }
            ReferentialAction::Cascade | ReferentialAction::SetNull | ReferentialAction::SetDefault => {
                // One action on the partitioned table reaches all its partitions; a partition's own part would run it
                // again.
                if !referencing.inherited {
                    cascade::run(
                        referencing,
                        action,
                        &self.old,
                        self.new.as_deref(),
                        &self.parent,
                        runtime,
                    )?;
                }
                // What the snapshot of REPEATABLE READ did not show to the action must not be orphaned by it. SET
                // DEFAULT may also have put back the very key that is gone.
                // A new key that only looks different keeps its children.
                let kept = self.new.as_ref().is_some_and(|new| equal_rows(&self.old, new));
                let snapshot_may_miss =
                    !kept && runtime.transaction().isolation() != Isolation::ReadCommitted;
                if action == ReferentialAction::SetDefault {
                    return self.refuse_if_referenced(referencing, runtime);
                }
                if snapshot_may_miss && referencing.has_children(&self.old, &self.parent, runtime)? {
                    return Err(write_error::serialization_failure(false));
                }
                Ok(())
            }
        }
    }
}

impl Gone {
    /// NO ACTION: another row may have taken over the key within the statement.
    fn key_is_back(&self, referencing: &Referencing, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        let types = referencing.referenced_columns.iter();
        // A child's view of it: the probe locks the row that has the key FOR KEY SHARE, so that it stays.
        let probe = OwnKey {
            name: referencing.reported.1.clone(),
            key: referencing.key.clone(),
            types: types
                .map(|&column| self.parent.columns[column as usize].ty)
                .collect(),
            deferral: None,
            referenced: OnceLock::new(),
        };
        probe.probe(&self.old, runtime)
    }

    fn refuse_if_referenced(
        &self,
        referencing: &Referencing,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<()> {
        if !referencing.has_children(&self.old, &self.parent, runtime)? {
            return Ok(());
        }
        let columns = &referencing.referenced_columns;
        let key = match may_read(self.parent.oid, runtime) {
            true => format!("Key {}", key_text(&self.parent, columns, &self.old, runtime)),
            false => "Key".to_string(),
        };
        let (parent, (relation, name)) = match self.moved {
            true => {
                let root = runtime.relation(referencing.key.referenced)?;
                let reported = referencing.reported_for(self.key.constraint, &root, runtime)?;
                (root, reported)
            }
            false => (Arc::clone(&self.parent), referencing.reported.clone()),
        };
        Err(SqlError::new(
            state::FOREIGN_KEY_VIOLATION,
            format!(
                "update or delete on table \"{}\" violates foreign key constraint \"{}\" on table \"{}\"",
                parent.name, name, relation.name
            ),
        )
        .detail(format!(
            "{key} is still referenced from table \"{}\".",
            relation.name
        ))
        .table(relation.schema.as_str(), relation.name.as_str())
        .constraint(name.as_str()))
    }
}

impl Referencing {
    /// The table and the constraint that a violation by a write to `written` names.
    fn reported_for(
        &self,
        constraint: Oid,
        written: &Relation,
        runtime: &Runtime<'_, '_>,
    ) -> SqlResult<(Arc<Relation>, String)> {
        let constraint = self.relation.constraints.iter().find(|c| c.oid == constraint);
        let constraint = constraint.ok_or_else(|| SqlError::internal("a foreign key lost its constraint"))?;
        reported(&self.relation, constraint, &self.key, written, runtime)
    }

    /// Whether any newest row refers to the key.
    fn has_children(
        &self,
        values: &[Datum],
        parent: &Relation,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<bool> {
        // A key that the referencing columns cannot hold is in none of their rows.
        let Some(values) = self.own_values(values, parent, runtime) else {
            return Ok(false);
        };
        match &self.index {
            Some((index, order)) => self.search_index(index, order, &values, runtime),
            None => self.search_table(&values, runtime),
        }
    }

    fn search_index(
        &self,
        index: &TableIndex,
        order: &[usize],
        values: &[Datum],
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<bool> {
        let (mut key, mut scratch) = (Vec::new(), Vec::new());
        for (column, &position) in index.key_program.columns().iter().zip(order) {
            let ty = self.relation.columns[self.key.columns[position] as usize].ty;
            // A value between two of the column's values, or beyond all of them, stands in no index entry.
            if key_bound(&values[position], ty) != KeyBound::Exact {
                return Ok(false);
            }
            append_key(column, ty, &values[position], &mut key, &mut scratch);
        }
        let mut latest = None;
        let mut cursor = Cursor::new(KeyRange::prefix(&key), Direction::Forward);
        while let Some((_, row)) = cursor.next(&index.tree) {
            runtime.burn(1)?;
            // The snapshots are taken when the first entry is met: a key without entries, the usual case, costs none.
            if latest.is_none() {
                latest = Some(Latest::begin(runtime)?);
            }
            let latest = latest.as_ref().expect("just made");
            // Judged by snapshots first, and only then locked: a lock would wait for rows that do not count.
            if self.is_child(row, values, latest, runtime) && self.row_refers(row, values, runtime)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a committed row, or an own one, refers to the key. One that somebody else is about to write does not
    /// count: he looks for the key after us, and finds it gone.
    fn is_child(&self, row: RowId, values: &[Datum], latest: &Latest, runtime: &Runtime<'_, '_>) -> bool {
        let transaction = runtime.transaction();
        let _pause = latest.other.is_some().then(|| transaction.pause_tracking());
        latest.readers(transaction).any(|(reader, snapshot)| {
            reader
                .fetch(&self.table, row, snapshot)
                .is_some_and(|version| self.has_values(&version, values))
        })
    }

    fn has_values(&self, version: &RowVersion<'_>, values: &[Datum]) -> bool {
        let row = read(&self.table, version, &self.relation, &self.key.columns);
        same_key(&row, values)
    }

    /// Without an index all rows are looked at, in a snapshot taken now.
    fn search_table(&self, values: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        let transaction = runtime.transaction();
        let latest = Latest::begin(runtime)?;
        let mut candidates = Vec::new();
        for (reader, snapshot) in latest.readers(transaction) {
            // Whoever wants to add a row that refers to the key waits for us, so there is nothing to validate.
            let _pause = latest.other.is_some().then(|| transaction.pause_tracking());
            let mut scan = self.table.scan();
            while let Some(version) = scan.next(&self.table, reader, snapshot) {
                if self.has_values(&version, values) {
                    candidates.push(version.row());
                }
            }
        }
        // Locked behind the scan: a scan must not stand open while this session waits.
        for row in candidates {
            runtime.burn(1)?;
            if self.row_refers(row, values, runtime)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Locks a row and looks whether its newest version has the key.
    fn row_refers(&self, row: RowId, values: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        let version = lock_any(
            &self.table,
            &self.relation,
            row,
            RowLockStrength::KeyShare,
            runtime,
        )?;
        let refers = version.is_some_and(|(version, _)| self.has_values(&version, values));
        if refers {
            let told = runtime.transaction().note_newest(&self.table, row);
            told.map_err(|error| write_error::sql_error(error, &self.relation))?;
        }
        Ok(refers)
    }
}

/// What is committed by now, and what this transaction itself wrote. Above READ COMMITTED the own snapshot is old: another
/// transaction's shows the commits, but not the own rows.
struct Latest {
    own: Snapshot,
    other: Option<(Transaction, Snapshot)>,
}

impl Latest {
    fn begin(runtime: &Runtime<'_, '_>) -> SqlResult<Latest> {
        let transaction = runtime.transaction();
        if transaction.isolation() == Isolation::ReadCommitted {
            let own = transaction.begin_statement(Access::Write);
            return Ok(Latest { own, other: None });
        }
        let engine = runtime.database().engine();
        let other = engine.begin(Isolation::ReadCommitted, true);
        let other = other.map_err(write_error::begin_error)?;
        let snapshot = other.begin_statement(Access::Write);
        Ok(Latest {
            own: transaction.advance_command(),
            other: Some((other, snapshot)),
        })
    }

    fn readers<'a>(&'a self, own: &'a Transaction) -> impl Iterator<Item = (&'a Transaction, &'a Snapshot)> {
        let other = self.other.as_ref().map(|(reader, snapshot)| (reader, snapshot));
        other.into_iter().chain([(own, &self.own)])
    }
}
