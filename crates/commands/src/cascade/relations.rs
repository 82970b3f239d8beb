//! Relations with what depends on them: found, refused (RESTRICT) or told (CASCADE) in PostgreSQL's order and words
//! (dependency.c, reportDependentObjects), locked and dropped.

use std::collections::BTreeSet;
use std::sync::Arc;

use mote_common::{Oid, SqlResult, TableId};
use mote_engine::TableLockMode;
use mote_grammar::ast::DropBehavior;
use mote_types::catalog::user::composite_oid;

use crate::{cascade, composite_type, dropping, in_use, inherit, publication, schema, sequence, uses, view};
use mote_catalog::catalog_store::stored::{StoredCast, StoredConstraintKind, StoredKind, StoredRelation};
use mote_catalog::catalog_store::{Catalog, RelationEntry, RoutineEntry};
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

/// Drops relations that go with what the statement names.
pub(crate) fn members(
    entries: &[Arc<RelationEntry>],
    subject: &str,
    behavior: DropBehavior,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let mut relations = Vec::with_capacity(entries.len());
    for entry in entries {
        let locked = schema::lock_entry(entry, TableLockMode::AccessExclusive, context)?;
        relations.extend(locked.map(|entry| entry.stored.clone()));
    }
    drop_all(relations, subject, Some(Vec::new()), behavior, context)
}

/// Drops a relation with all that depends on it, and does not tell.
pub(crate) fn quietly(entry: &RelationEntry, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let Some(entry) = schema::lock_entry(entry, TableLockMode::AccessExclusive, context)? else {
        return Ok(());
    };
    let subject = dropping::described(&entry.stored, context);
    let relations = vec![entry.stored.clone()];
    drop_all(relations, &subject, None, DropBehavior::Cascade, context)
}

/// What goes, or must go, together with relations that are dropped.
#[derive(Default)]
struct Dependents {
    /// (relation with the constraint, constraint, table that it references).
    foreign_keys: Vec<(Arc<RelationEntry>, String, String)>,
    views: Vec<(Arc<RelationEntry>, String)>,
    /// Routines that take or return rows of what is dropped.
    routines: Vec<(Arc<RoutineEntry>, String)>,
    /// Casts from and to rows of what is dropped.
    casts: Vec<(StoredCast, String)>,
    /// (table, position of the column, row type that it has).
    columns: Vec<(Arc<RelationEntry>, usize, String)>,
    /// (table, position of the column, sequence that its default reads).
    defaults: Vec<(Arc<RelationEntry>, usize, String)>,
    /// (table, position of the column) that owns a sequence: the sequence depends on it, not it on the sequence.
    owners: Vec<(Arc<RelationEntry>, usize)>,
}

impl Dependents {
    // Only what uses one of them is looked at; what is dropped anyway does not count.
    fn of(dropped: &[StoredRelation], context: &StatementContext<'_>) -> Dependents {
        let catalog = context.session.catalog.current();
        let mut found = Dependents::default();
        for oid in possible_dependents(dropped, &catalog) {
            let Some(entry) = catalog
                .relation(oid)
                .filter(|_| dropped.iter().all(|d| d.oid != oid.0))
            else {
                continue;
            };
            for constraint in &entry.stored.constraints {
                if let StoredConstraintKind::ForeignKey(key) = &constraint.kind
                    && let Some(target) = dropped.iter().find(|d| answers_for(d, key.referenced, context))
                {
                    found.foreign_keys.push((
                        entry.clone(),
                        constraint.name.clone(),
                        dropping::described(target, context),
                    ));
                }
            }
            // A view may read another one that goes.
            let known = found.views.iter().map(|(view, _)| &view.stored).chain(dropped);
            if let Some(read) = view::read_directly(&entry.stored, known) {
                found
                    .views
                    .push((entry.clone(), dropping::described(read, context)));
            }
            if entry.stored.kind == StoredKind::Table {
                for (position, on) in composite_type::columns_of_rows(&entry.stored, dropped) {
                    found.columns.push((entry.clone(), position, on));
                }
            }
            for sequence in dropped.iter().filter(|d| d.kind == StoredKind::Sequence) {
                for (position, column) in entry.stored.columns.iter().enumerate() {
                    if column.owned_sequence == Some(sequence.oid) {
                        found.owners.push((entry.clone(), position));
                    }
                    let default = column.default.as_deref();
                    let reads = default.is_some_and(|text| names_sequence(text, sequence, context))
                        && schema::is_in_this_database(entry.stored.schema, context);
                    if reads && !column.dropped {
                        found.defaults.push((
                            entry.clone(),
                            position,
                            dropping::described(sequence, context),
                        ));
                    }
                }
            }
        }
        let oids: Vec<u32> = dropped.iter().map(|relation| relation.oid).collect();
        // Routines and casts depend on the row type of the table, which has its name.
        let row_type =
            |read: &StoredRelation| dropping::described(read, context).replacen(read.kind.word(), "type", 1);
        for (routine, relation) in uses::texts::users_of_rows(&oids, context) {
            let read = dropped.iter().find(|d| d.oid == relation).expect("one of them");
            found.routines.push((routine, row_type(read)));
        }
        for read in dropped {
            let ty = composite_oid(Oid(read.oid)).map(|ty| ty.0);
            let casts = uses::casts::of_types(ty.as_slice(), context).into_iter();
            found.casts.extend(casts.map(|(cast, _)| (cast, row_type(read))));
        }
        found
    }

    /// (what depends, what it depends on).
    fn descriptions(&self, context: &StatementContext<'_>) -> Vec<(String, String)> {
        // A partition's part of a foreign key goes with the key.
        let own = |(entry, constraint, _): &&(Arc<RelationEntry>, String, String)| {
            let mut constraints = entry.stored.constraints.iter();
            constraints.any(|known| known.name == *constraint && known.parent.is_none())
        };
        let keys = self
            .foreign_keys
            .iter()
            .filter(own)
            .map(|(entry, constraint, target)| {
                (
                    format!(
                        "constraint {constraint} on {}",
                        dropping::described(&entry.stored, context)
                    ),
                    target.clone(),
                )
            });
        let views = self
            .views
            .iter()
            .map(|(entry, read)| (dropping::described(&entry.stored, context), read.clone()));
        let defaults = self.defaults.iter().map(|(entry, position, sequence)| {
            let column = &entry.stored.columns[*position].name;
            let table = dropping::described(&entry.stored, context);
            (
                format!("default value for column {column} of {table}"),
                sequence.clone(),
            )
        });
        let columns = self.columns.iter().map(|(entry, position, on)| {
            let column = &entry.stored.columns[*position].name;
            let table = dropping::described(&entry.stored, context);
            (format!("column {column} of {table}"), on.clone())
        });
        let routines = self.routines.iter().map(|(entry, on)| {
            let what = uses::texts::described(entry, context);
            (entry.stored.oid, what, on)
        });
        let casts = self.casts.iter();
        let casts = casts.map(|(cast, on)| (cast.oid, uses::casts::described(cast), on));
        let mut of_rows: Vec<_> = routines.chain(casts).collect();
        of_rows.sort();
        let of_rows = of_rows.into_iter().map(|(_, what, on)| (what, on.clone()));
        let mut all: Vec<(String, String)> = defaults
            .chain(columns)
            .chain(views)
            .chain(keys)
            .chain(of_rows)
            .collect();
        // One view may read two of them; it is told once.
        all.dedup();
        all
    }
}

/// Relations of which any may depend on what is dropped, in the order of their OIDs.
fn possible_dependents(dropped: &[StoredRelation], catalog: &Catalog) -> BTreeSet<Oid> {
    let mut found = BTreeSet::new();
    for relation in dropped {
        found.extend(catalog.users_of(Oid(relation.oid)));
        if relation.kind == StoredKind::Sequence {
            // Defaults name sequences in a text, which the catalog has an index over.
            found.extend(catalog.naming(&relation.name));
        }
        // A key that references a partitioned table references its partitions.
        let mut above = relation.partition.as_ref().and(relation.parents.first().copied());
        while let Some(parent) = above.and_then(|above| catalog.relation(Oid(above))) {
            found.extend(catalog.users_of(Oid(parent.stored.oid)));
            above = parent
                .stored
                .partition
                .as_ref()
                .and(parent.stored.parents.first().copied());
        }
    }
    found
}

/// Whether foreign keys to `referenced` rest on rows of a relation: itself, or a partition of it.
fn answers_for(dropped: &StoredRelation, referenced: u32, context: &StatementContext<'_>) -> bool {
    let catalog = context.session.catalog.current();
    let mut at = dropped.clone();
    loop {
        if at.oid == referenced {
            return true;
        }
        let above = at.partition.as_ref().and(at.parents.first());
        match above.and_then(|above| catalog.relation(Oid(*above))) {
            Some(above) => at = above.stored.clone(),
            None => return false,
        }
    }
}

/// Whether a default's text names the sequence.
fn names_sequence(text: &str, sequence: &StoredRelation, context: &StatementContext<'_>) -> bool {
    // As in `nextval('schema.name'::regclass)`, which is how defaults are kept (`create_table::default_text`).
    let quoted = |name: &str| text.contains(&format!("'{}'", name.replace('\'', "''")));
    quoted(&sequence.name) || quoted(&schema::qualified_name(sequence, context))
}

/// Drops relations with the sequences that their columns own and, with CASCADE, with all that depends on them.
/// `subject` is what the statement names, `listed` what a CASCADE has found to go already, None where
/// nobody is to be told: both for messages.
pub(crate) fn drop_all(
    mut dropped: Vec<StoredRelation>,
    subject: &str,
    listed: Option<Vec<(String, String)>>,
    behavior: DropBehavior,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    // Children and owned sequences join what is dropped; children count as dependents.
    let below = add_children(&mut dropped, context)?;
    let tables: Vec<Oid> = dropped.iter().map(|relation| Oid(relation.oid)).collect();
    for table in tables {
        for entry in sequence::owned_by_table(table, context) {
            if dropped.iter().all(|known| known.oid != entry.stored.oid) {
                dropped.push(entry.stored.clone());
            }
        }
    }
    let oids: Vec<u32> = dropped.iter().map(|relation| relation.oid).collect();
    // A column elsewhere that holds rows of these tables inside of another type cannot go.
    composite_type::refuse_types_of_rows(&oids, behavior, context)?;
    let dependents = Dependents::of(&dropped, context);
    let mut descriptions = below;
    descriptions.extend(dependents.descriptions(context));
    if !descriptions.is_empty() && behavior == DropBehavior::Restrict {
        return Err(dropping::refused(subject, &descriptions));
    }
    if let Some(mut listed) = listed {
        listed.extend(descriptions);
        dropping::cascade_notice(&listed, context);
    }
    // From what depends to what it depends on. Each is locked just before it changes; `change` takes it as it is
    // then.
    for (entry, constraint, _) in &dependents.foreign_keys {
        schema::lock_entry(entry, TableLockMode::AccessExclusive, context)?;
        dropping::change(entry, context, |relation| {
            relation.constraints.retain(|c| c.name != *constraint)
        })?;
    }
    for (entry, position, _) in &dependents.defaults {
        schema::lock_entry(entry, TableLockMode::AccessExclusive, context)?;
        dropping::change(entry, context, |relation| {
            relation.columns[*position].default = None;
        })?;
    }
    for (entry, position, _) in &dependents.columns {
        cascade::types::remove_column(entry, *position, context)?;
    }
    for (entry, position) in &dependents.owners {
        schema::lock_entry(entry, TableLockMode::AccessExclusive, context)?;
        dropping::change(entry, context, |relation| {
            relation.columns[*position].owned_sequence = None;
        })?;
    }
    for (entry, _) in &dependents.views {
        if let Some(view) = schema::lock_entry(entry, TableLockMode::AccessExclusive, context)? {
            remove_relation(&view.stored, context)?;
        }
    }
    for (cast, _) in &dependents.casts {
        cascade::routines::remove_cast(Oid(cast.oid), context)?;
    }
    let routines: Vec<_> = dependents
        .routines
        .iter()
        .map(|(entry, _)| entry.clone())
        .collect();
    for relation in &dropped {
        remove_relation(relation, context)?;
    }
    // Behind the relations: their own dependents are told by themselves.
    if !routines.is_empty() {
        cascade::routines::drop_all(&routines, subject, DropBehavior::Cascade, context)?;
    }
    Ok(())
}

/// Adds the tables below those that are dropped. Partitions are part of their table; a table that inherits depends on
/// its parent: (what depends, what it depends on).
fn add_children(
    dropped: &mut Vec<StoredRelation>,
    context: &mut StatementContext<'_>,
) -> SqlResult<Vec<(String, String)>> {
    let mut descriptions = Vec::new();
    // Depth first, as PostgreSQL lists them: tables still to be looked at, with the parent that led to them.
    let mut open: Vec<(StoredRelation, Option<String>)> =
        dropped.iter().rev().map(|table| (table.clone(), None)).collect();
    while let Some((table, parent)) = open.pop() {
        if let Some(parent) = parent {
            // Reached by two parents.
            if dropped.iter().any(|known| known.oid == table.oid) {
                continue;
            }
            // A partition is a part of its table, and not told.
            if table.partition.is_none() {
                descriptions.push((dropping::described(&table, context), parent));
            }
            dropped.push(table.clone());
        }
        let mut children = inherit::locked_children(table.oid, TableLockMode::AccessExclusive, context)?;
        children.extend(pending_partitions(&table, context)?);
        let children = children.into_iter().rev();
        open.extend(children.map(|child| (child, Some(dropping::described(&table, context)))));
    }
    Ok(descriptions)
}

/// Partitions whose DETACH was interrupted go with the table, too.
fn pending_partitions(
    table: &StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<Vec<StoredRelation>> {
    let catalog = context.session.catalog.current();
    let attached = catalog.children_of(Oid(table.oid));
    let mut pending = Vec::new();
    for oid in catalog
        .all_children_of(Oid(table.oid))
        .filter(|oid| !attached.contains(oid))
    {
        if let Some(entry) = context.session.catalog.entry(oid) {
            let locked = schema::lock_entry(&entry, TableLockMode::AccessExclusive, context)?;
            pending.extend(locked.map(|entry| entry.stored.clone()));
        }
    }
    Ok(pending)
}

/// Removes a relation from engine and catalog. The caller has locked it and dealt with what depends on it.
pub(crate) fn remove_relation(
    relation: &StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    in_use::refuse_table("DROP TABLE", relation, context)?;
    if relation.kind == StoredKind::Sequence {
        return sequence::remove(relation, context);
    }
    // Views have no storage.
    if relation.table != 0 {
        let table = TableId(relation.table);
        context.engine_call(|transaction| transaction.drop_table(table))?;
    }
    publication::forget_relation(relation.oid, context)?;
    write::remove(Oid(relation.oid), context)
}

/// Removes a view that a change below takes along.
pub(crate) fn remove_view(view: Oid, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let Some(entry) = context.session.catalog.entry(view) else {
        return Ok(());
    };
    match schema::lock_entry(&entry, TableLockMode::AccessExclusive, context)? {
        Some(entry) => remove_relation(&entry.stored, context),
        None => Ok(()),
    }
}
