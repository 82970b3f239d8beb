//! Foreign keys: what a write owes to the tables it references, and to those that reference it.
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
//! Leaves out: MATCH PARTIAL.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use mote_common::error::state;
use mote_common::{Oid, RowId, SqlError, SqlResult};
use mote_engine::index::{Cursor, Direction, KeyRange};
use mote_engine::{
    Access, Isolation, RowLockStrength, RowVersion, Snapshot, Table, TableIndex, Transaction, WaitPolicy,
};
use mote_sql::catalog::{
    ConstraintKind, ForeignKey, IndexDescription, IndexKeyTarget, ReferentialAction, Relation,
};
use mote_types::key::{KeyBound, key_bound};
use mote_types::{ColumnType, Datum};

use super::after::{self, Deferral, DeferredEvents, Event};
use super::disclosure::may_read;
use super::referenced_partition::{ReferencedPartitions, columns_in, reported};
use super::{cascade, full_text, update, write_error};
use crate::node::index_scan::has_key;
use crate::row_codec::{ColumnCodec, append_key};
use crate::runtime::{Runtime, find_index};
use crate::value::{convert, equal, equal_rows};

/// Most keys fit; a longer one grows.
const KEY_BYTES_USUAL: usize = 64;

/// The foreign keys that a written relation takes part in.
pub struct ForeignKeys {
    own: Vec<Arc<OwnKey>>,
    referenced_by: Vec<Arc<ReferencingKey>>,
}

/// A foreign key of the written relation.
struct OwnKey {
    name: String,
    key: ForeignKey,
    types: Vec<ColumnType>,
    deferral: Option<Deferral>,
    /// Resolved when first needed. A plan ends when either relation changes.
    referenced: OnceLock<ReferencedTable>,
}

/// Where the referenced rows are.
enum ReferencedTable {
    One(Referenced),
    Partitions(ReferencedPartitions),
}

/// The referenced table and the unique index that proves existence.
pub(super) struct Referenced {
    pub relation: Arc<Relation>,
    pub table: Arc<Table>,
    pub index: Arc<TableIndex>,
    /// For each key of the index: position in the foreign key's columns, and the key's type.
    pub keys: Vec<(usize, ColumnType)>,
}

/// A foreign key of another relation that points at the written one.
pub(super) struct ReferencingKey {
    relation: Oid,
    constraint: Oid,
    /// The written relation: what the key points at, or a partition of it.
    written: Oid,
    resolved: OnceLock<Referencing>,
}

pub(super) struct Referencing {
    pub relation: Arc<Relation>,
    pub key: ForeignKey,
    /// The referenced columns as they stand in the written relation.
    pub referenced_columns: Vec<u16>,
    /// The table and the constraint that violations name.
    reported: (Arc<Relation>, String),
    /// A partition's part of a foreign key: the action is that of the key above.
    inherited: bool,
    deferral: Option<Deferral>,
    table: Arc<Table>,
    /// An index that begins with the foreign key's columns, and for each of them the position in the key.
    index: Option<(Arc<TableIndex>, Vec<usize>)>,
}

/// A row whose referenced key was not there, or was not looked for.
pub struct Missing {
    key: Arc<OwnKey>,
    relation: Arc<Relation>,
    row: RowId,
    values: Vec<Datum>,
}

/// A referenced key that is gone.
pub struct Gone {
    key: Arc<ReferencingKey>,
    deferral: Option<Deferral>,
    parent: Arc<Relation>,
    old: Vec<Datum>,
    /// The key the row has now; None if it was deleted.
    new: Option<Vec<Datum>>,
    /// The row went to another partition: an update of the partitioned table, not of the partition it was in.
    moved: bool,
}

pub(super) fn heap_bytes(values: &[Datum]) -> usize {
    size_of_val(values) + values.iter().map(Datum::heap_bytes).sum::<usize>()
}

impl ForeignKeys {
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

    pub fn is_referenced(&self) -> bool {
        !self.referenced_by.is_empty()
    }

    /// Whether an update of these columns can concern a foreign key.
    pub fn concern(&self, changed: &dyn Fn(usize) -> bool, relation: &Relation) -> bool {
        let own = self
            .own
            .iter()
            .any(|own| own.key.columns.iter().any(|&column| changed(column as usize)));
        own || self.is_referenced() && update::changes_key(relation, changed)
    }

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
            let (old, new) = (pick(old, columns), pick(new, columns));
            if !equal_rows(&old, &new) {
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

/// Whether foreign keys are looked after at this end: not under `session_replication_role = replica`, unless ENABLE
/// TRIGGER ALL says so.
fn is_enforced(relation: &Relation, runtime: &Runtime<'_, '_>) -> bool {
    let replica = runtime.session().settings.effective.replica;
    relation.foreign_key_firing.fires(replica)
}

fn pick(row: &[Datum], columns: &[u16]) -> Vec<Datum> {
    columns
        .iter()
        .map(|&column| row[column as usize].clone())
        .collect()
}

impl Missing {
    pub fn deferral(&self) -> Option<Deferral> {
        self.key.deferral
    }

    pub fn relation(&self) -> Oid {
        self.relation.oid
    }

    pub fn heap_bytes(&self) -> usize {
        heap_bytes(&self.values)
    }

    pub fn fire(&self, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
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
    fn check(
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
        if put_off || !self.probe(&values, runtime)? {
            let missing = Missing {
                key: Arc::clone(self),
                relation: Arc::clone(relation),
                row,
                values,
            };
            return after::push(Event::Missing(missing), runtime);
        }
        Ok(())
    }

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
    fn probe(&self, values: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
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

/// `(a, b)=(1, 2)`.
fn key_text(relation: &Relation, columns: &[u16], values: &[Datum], runtime: &Runtime<'_, '_>) -> String {
    let columns = columns.iter().map(|&column| &relation.columns[column as usize]);
    let names: Vec<&str> = columns.clone().map(|column| column.name.as_str()).collect();
    let shown: Vec<String> = columns
        .zip(values)
        .map(|(column, value)| full_text(value, column.ty, runtime.format()))
        .collect();
    format!("({})=({})", names.join(", "), shown.join(", "))
}

fn read(table: &Table, version: &RowVersion<'_>, relation: &Relation, columns: &[u16]) -> Vec<Datum> {
    let view = table.view(version.layout(), version.bytes());
    let read =
        |&column: &u16| ColumnCodec::new(column as usize, relation.columns[column as usize].ty).read(&view);
    columns.iter().map(read).collect()
}

/// Locks the newest version of a row, whatever it is; None if the row is gone. Also tells whether it is a version that
/// the running command wrote.
fn lock_any<'c>(
    table: &Table,
    relation: &Relation,
    row: RowId,
    strength: RowLockStrength,
    runtime: &mut Runtime<'_, 'c>,
) -> SqlResult<Option<(RowVersion<'c>, bool)>> {
    loop {
        match runtime
            .transaction()
            .lock_row(table, row, None, strength, WaitPolicy::Block)
        {
            Ok(locked) if locked.moved => {
                // Found by way of an index that still knows it. What had left before the snapshot is not missed here.
                let _pause = runtime.transaction().pause_tracking();
                let seen = runtime.transaction().fetch(table, row, runtime.snapshot());
                return match seen {
                    Some(_) => Err(write_error::moved_row()),
                    None => Ok(None),
                };
            }
            Ok(locked) => return Ok(locked.newest.map(|version| (version, false))),
            Err(mote_engine::WriteError::Deleted) => return Ok(None),
            Err(mote_engine::WriteError::MustWait(ticket)) => runtime.context().wait(ticket)?,
            Err(mote_engine::WriteError::SelfModified) => {
                let newest = runtime.transaction().fetch_newest(table, row);
                return Ok(newest.map(|version| (version, true)));
            }
            Err(error) => return Err(write_error::sql_error(error, relation)),
        }
    }
}

impl ReferencingKey {
    fn resolve(&self, runtime: &Runtime<'_, '_>) -> SqlResult<&Referencing> {
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

    fn note_gone(
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
        after::push(Event::Gone(gone), runtime)
    }
}

/// The foreign key's columns in the order in which an index begins with them.
fn prefix_order(index: &IndexDescription, key: &ForeignKey) -> Option<Vec<usize>> {
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

impl Gone {
    /// The constraint, behind the table that has it.
    pub fn constraint(&self) -> (Oid, Oid) {
        (self.key.relation, self.key.constraint)
    }

    pub fn deferral(&self) -> Option<Deferral> {
        self.deferral
    }

    pub fn relation(&self) -> Oid {
        self.parent.oid
    }

    pub fn heap_bytes(&self) -> usize {
        heap_bytes(&self.old) + self.new.as_deref().map_or(0, heap_bytes)
    }

    pub fn fire(&self, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
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
                let snapshot_may_miss = runtime.transaction().isolation() != Isolation::ReadCommitted;
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

    /// NO ACTION: another row may have taken over the key within the statement.
    fn key_is_back(&self, referencing: &Referencing, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        let types = referencing.referenced_columns.iter();
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

    /// The old key in the types of the referencing columns; None if one of them cannot hold it.
    pub fn own_values(
        &self,
        values: &[Datum],
        parent: &Relation,
        runtime: &mut Runtime<'_, '_>,
    ) -> Option<Vec<Datum>> {
        let columns = self.key.columns.iter().zip(&self.referenced_columns);
        let mut converted = Vec::with_capacity(values.len());
        for ((&own, &referenced), value) in columns.zip(values) {
            let own = self.relation.columns[own as usize].ty;
            let from = parent.columns[referenced as usize].ty;
            let value = if own.oid == from.oid {
                value.clone()
            } else {
                convert(runtime, value, from, ColumnType::new(own.oid), false).ok()?
            };
            converted.push(value);
        }
        Some(converted)
    }

    /// Whether any newest row refers to the key.
    fn has_children(
        &self,
        values: &[Datum],
        parent: &Relation,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<bool> {
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
            if key_bound(&values[position], ty) != KeyBound::Exact {
                return Ok(false);
            }
            append_key(column, ty, &values[position], &mut key, &mut scratch);
        }
        let mut latest = None;
        let mut cursor = Cursor::new(KeyRange::prefix(&key), Direction::Forward);
        while let Some((_, row)) = cursor.next(&index.tree) {
            runtime.burn(1)?;
            if latest.is_none() {
                latest = Some(Latest::begin(runtime)?);
            }
            let latest = latest.as_ref().expect("just made");
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

fn same_key(row: &[Datum], values: &[Datum]) -> bool {
    row.iter()
        .zip(values)
        .all(|(a, b)| !a.is_null() && !b.is_null() && equal(a, b))
}
