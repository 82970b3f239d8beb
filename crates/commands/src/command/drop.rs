//! DROP of tables, indexes, views, sequences and schemas, and what goes with them.
//!
//! All that a statement names is locked first; then dependents are looked for, refused (RESTRICT) or told (CASCADE)
//! in PostgreSQL's order and words (dependency.c: reportDependentObjects), locked and dropped. Dependencies are not
//! stored as rows: they follow from what descriptions name, found by way of indexes over the catalog
//! (`relations_using`, `naming`).

use std::collections::BTreeSet;
use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult, TableId};
use mote_engine::TableLockMode;
use mote_grammar::ast::{
    Drop, DropBehavior, ObjectKind, ObjectReference, QualifiedName, RelationName, deparse,
};
use mote_sql::catalog::CatalogView;
use mote_types::catalog::user::number_of;

use super::{
    composite_type, default_privileges, extension, in_use, inherit, partition, partition_index, publication,
    routine, schema, sequence, trigger, type_users, user_type, view,
};
use crate::utility::{Command, Issued, Steps};
use mote_catalog::catalog_store::stored::{StoredConstraintKind, StoredKind, StoredObject, StoredRelation};
use mote_catalog::catalog_store::{Catalog, RelationEntry, RoutineEntry};
use mote_catalog::tag::CommandTag;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

impl Command for Drop {
    fn name(&self) -> &'static str {
        command_name(self.kind)
    }

    fn steps(&self, issued: Issued<'_>) -> SqlResult<Option<Steps>> {
        // Only DROP INDEX has it.
        match self.concurrently {
            true => concurrently(self, issued.in_block).map(Some),
            false => Ok(None),
        }
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        run(self, context)
    }
}

/// What PostgreSQL calls the objects of a DROP that names more than one.
pub(super) const SEVERAL: &str = "desired object(s)";

/// The tag, and the name in errors.
pub(super) fn command_name(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Table => "DROP TABLE",
        ObjectKind::View => "DROP VIEW",
        ObjectKind::MaterializedView => "DROP MATERIALIZED VIEW",
        ObjectKind::Index => "DROP INDEX",
        ObjectKind::Schema => "DROP SCHEMA",
        ObjectKind::Sequence => "DROP SEQUENCE",
        ObjectKind::Function => "DROP FUNCTION",
        ObjectKind::Procedure => "DROP PROCEDURE",
        ObjectKind::Routine => "DROP ROUTINE",
        ObjectKind::Trigger => "DROP TRIGGER",
        ObjectKind::Type => "DROP TYPE",
        ObjectKind::Domain => "DROP DOMAIN",
        ObjectKind::Extension => "DROP EXTENSION",
        ObjectKind::Publication => "DROP PUBLICATION",
        _ => "DROP",
    }
}

/// DROP of anything that has a file or a function here.
pub(super) fn run(drop: &Drop, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    if matches!(
        drop.kind,
        ObjectKind::Function | ObjectKind::Procedure | ObjectKind::Routine
    ) {
        return routine::drop(drop, context);
    }
    if matches!(drop.kind, ObjectKind::Type | ObjectKind::Domain) {
        return user_type::drop(drop, context);
    }
    let tag = command_name(drop.kind);
    if drop.kind == ObjectKind::Extension {
        for object in &drop.objects {
            if let ObjectReference::Name(name) = object {
                extension::drop(name, drop, context)?;
            }
        }
        return Ok(CommandTag::Word(tag));
    }
    if drop.kind == ObjectKind::Publication {
        publication::drop(drop, context)?;
        return Ok(CommandTag::Word(tag));
    }
    let word = word_of_kind(drop.kind)?;
    // All are dropped together: references among them do not count.
    let mut relations: Vec<StoredRelation> = Vec::new();
    for object in &drop.objects {
        let ObjectReference::Name(name) = object else {
            return Err(SqlError::internal("an object of DROP has a name"));
        };
        match drop.kind {
            // These are dropped one by one, as they are named.
            ObjectKind::Schema => drop_schema(name, drop, context)?,
            ObjectKind::Index => drop_index(name, drop, context)?,
            ObjectKind::Trigger => trigger::drop(name, drop, context)?,
            _ => relations.extend(find(name, word, drop, context)?),
        }
    }
    // Before anything goes: what an identity or an extension needs stays.
    for relation in &relations {
        refuse_identity(relation, context)?;
        extension::refuse_member(relation.oid, || described(relation, context), context)?;
    }
    if let [first, rest @ ..] = relations.as_slice() {
        let subject = if rest.is_empty() {
            described(first, context)
        } else {
            SEVERAL.to_string()
        };
        drop_all(relations, &subject, Some(Vec::new()), drop.behavior, context)?;
    }
    Ok(CommandTag::Word(tag))
}

/// Drops relations that go with what the statement names.
pub(super) fn members(
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
pub(super) fn quietly(entry: &RelationEntry, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let Some(entry) = schema::lock_entry(entry, TableLockMode::AccessExclusive, context)? else {
        return Ok(());
    };
    let subject = described(&entry.stored, context);
    let relations = vec![entry.stored.clone()];
    drop_all(relations, &subject, None, DropBehavior::Cascade, context)
}

/// DROP INDEX CONCURRENTLY: no statement that begins reads the index any more; it goes when everybody is over who held
/// the table then. Nobody is kept from the table meanwhile.
pub(super) fn concurrently(drop: &Drop, in_block: bool) -> SqlResult<Steps> {
    let unsupported = |what: &str| {
        Err(SqlError::new(
            state::FEATURE_NOT_SUPPORTED,
            format!("DROP INDEX CONCURRENTLY does not support {what}"),
        ))
    };
    let [ObjectReference::Name(name)] = drop.objects.as_slice() else {
        return unsupported("dropping multiple objects");
    };
    if drop.behavior == DropBehavior::Cascade {
        return unsupported("CASCADE");
    }
    // Its two steps are two transactions.
    super::refuse_block("DROP INDEX CONCURRENTLY", in_block)?;
    let (name, drop) = (name.clone(), drop.clone());
    Ok(Steps::first(move |steps, context| {
        let mode = TableLockMode::ShareUpdateExclusive;
        let Some((mut table, at)) = index_to_drop(&name, mode, &drop, context)? else {
            return Ok(());
        };
        // Readers stop using it with the commit of this step; writers go on to fill it until it goes.
        table.indexes[at].valid = false;
        let (oid, index) = (Oid(table.oid), table.indexes[at].oid);
        write::put(StoredObject::Relation(table), context)?;
        // Adds the steps that wait, and drop it.
        super::reindex::remove_unread(oid, vec![index], steps);
        Ok(())
    }))
}

/// How messages name what this file drops.
fn word_of_kind(kind: ObjectKind) -> SqlResult<&'static str> {
    Ok(match kind {
        ObjectKind::Table => "table",
        ObjectKind::View => "view",
        ObjectKind::MaterializedView => "materialized view",
        ObjectKind::Index => "index",
        ObjectKind::Schema => "schema",
        ObjectKind::Sequence => "sequence",
        ObjectKind::Trigger => "trigger",
        _ => return Err(SqlError::unsupported("DROP of this kind of object")),
    })
}

/// What is dropped does not exist: an error of its kind, or a notice with IF EXISTS.
fn missing(name: &QualifiedName, drop: &Drop, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let (word, code) = match drop.kind {
        ObjectKind::Schema => ("schema", state::INVALID_SCHEMA_NAME),
        ObjectKind::Index => ("index", state::UNDEFINED_OBJECT),
        kind => (word_of_kind(kind)?, state::UNDEFINED_TABLE),
    };
    let schema = name
        .qualifier()
        .filter(|schema| !context.session.catalog.schema_exists(schema));
    // A schema that is not there is told before the object in it.
    let (code, message) = match schema {
        Some(schema) => (
            state::INVALID_SCHEMA_NAME,
            format!("schema \"{schema}\" does not exist"),
        ),
        None => (code, format!("{word} \"{}\" does not exist", name.last())),
    };
    if drop.if_exists {
        schema::notice(
            state::SUCCESSFUL_COMPLETION,
            format!("{message}, skipping"),
            context,
        );
        return Ok(());
    }
    Err(SqlError::new(code, message))
}

/// What a DROP of a relation names, locked and owned; None where IF EXISTS is content without it.
fn find(
    name: &QualifiedName,
    word: &str,
    drop: &Drop,
    context: &mut StatementContext<'_>,
) -> SqlResult<Option<StoredRelation>> {
    let relation = schema::relation_name(name);
    // The parent first: locks go from the top down, as in queries.
    lock_parent(&relation, context)?;
    let Some(entry) = schema::lock_relation(&relation, TableLockMode::AccessExclusive, context)? else {
        missing(name, drop, context)?;
        return Ok(None);
    };
    let kind = entry.stored.kind.word();
    if kind != word {
        return Err(SqlError::new(
            state::WRONG_OBJECT_TYPE,
            format!("\"{}\" is not a {word}", entry.stored.name),
        )
        .hint(format!("Use DROP {} to remove a {kind}.", kind.to_uppercase())));
    }
    schema::require_owner(&entry.stored, context)?;
    Ok(Some(entry.stored.clone()))
}

/// A partition goes with its place in the parent, which nobody may use meanwhile, and what the default partition takes
/// changes with it: both are locked first.
fn lock_parent(name: &RelationName, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let Some(entry) = schema::find_relation(name, context)? else {
        return Ok(());
    };
    let parent = entry.stored.partition.as_ref().and(entry.stored.parents.first());
    let Some(parent) = parent.and_then(|parent| context.session.catalog.entry(Oid(*parent))) else {
        return Ok(());
    };
    // Asked before the lock on the parent, of which the user need not be the owner.
    schema::require_owner(&entry.stored, context)?;
    let parent = schema::lock_entry(&parent, TableLockMode::AccessExclusive, context)?;
    if let Some(scheme) = parent
        .as_ref()
        .and_then(|parent| parent.described.partitioning.as_ref())
    {
        partition::lock_default(scheme, context)?;
    }
    Ok(())
}

/// What goes, or must go, together with relations that are dropped.
#[derive(Default)]
struct Dependents {
    /// (relation with the constraint, constraint, table that it references).
    foreign_keys: Vec<(Arc<RelationEntry>, String, String)>,
    views: Vec<(Arc<RelationEntry>, String)>,
    /// Routines that take or return rows of what is dropped.
    routines: Vec<(Arc<RoutineEntry>, String)>,
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
                        described(target, context),
                    ));
                }
            }
            // A view may read another one that goes.
            let known = found.views.iter().map(|(view, _)| &view.stored).chain(dropped);
            if let Some(read) = view::read_directly(&entry.stored, known) {
                found.views.push((entry.clone(), described(read, context)));
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
                        found
                            .defaults
                            .push((entry.clone(), position, described(sequence, context)));
                    }
                }
            }
        }
        let oids: Vec<u32> = dropped.iter().map(|relation| relation.oid).collect();
        for (routine, relation) in routine::users_of_rows(&oids, context) {
            let read = dropped.iter().find(|d| d.oid == relation).expect("one of them");
            // A routine depends on the row type of the table, which has its name.
            let on = described(read, context).replacen(read.kind.word(), "type", 1);
            found.routines.push((routine, on));
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
                    format!("constraint {constraint} on {}", described(&entry.stored, context)),
                    target.clone(),
                )
            });
        let views = self
            .views
            .iter()
            .map(|(entry, read)| (described(&entry.stored, context), read.clone()));
        let defaults = self.defaults.iter().map(|(entry, position, sequence)| {
            let column = &entry.stored.columns[*position].name;
            let table = described(&entry.stored, context);
            (
                format!("default value for column {column} of {table}"),
                sequence.clone(),
            )
        });
        let columns = self.columns.iter().map(|(entry, position, on)| {
            let column = &entry.stored.columns[*position].name;
            let table = described(&entry.stored, context);
            (format!("column {column} of {table}"), on.clone())
        });
        let routines = self.routines.iter();
        let routines = routines.map(|(entry, on)| (routine::described(entry, context), on.clone()));
        let mut all: Vec<(String, String)> = defaults
            .chain(columns)
            .chain(views)
            .chain(keys)
            .chain(routines)
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

/// `table t`, as PostgreSQL names a relation in messages about dependencies: with its schema where the search path does
/// not lead to it.
pub(super) fn described(relation: &StoredRelation, context: &StatementContext<'_>) -> String {
    let visible = context.session.catalog.relation_by_name(None, &relation.name);
    let name = if visible.is_some_and(|found| found.oid.0 == relation.oid) {
        deparse::identifier(&relation.name)
    } else {
        schema::qualified_name(relation, context)
    };
    format!("{} {name}", relation.kind.word())
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
fn drop_all(
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
        return Err(refused(subject, &descriptions));
    }
    if let Some(mut listed) = listed {
        listed.extend(descriptions);
        cascade_notice(&listed, context);
    }
    // From what depends to what it depends on. Each is locked just before it changes; `change` takes it as it is
    // then.
    for (entry, constraint, _) in &dependents.foreign_keys {
        schema::lock_entry(entry, TableLockMode::AccessExclusive, context)?;
        change(entry, context, |relation| {
            relation.constraints.retain(|c| c.name != *constraint)
        })?;
    }
    for (entry, position, _) in &dependents.defaults {
        schema::lock_entry(entry, TableLockMode::AccessExclusive, context)?;
        change(entry, context, |relation| {
            relation.columns[*position].default = None;
        })?;
    }
    for (entry, position, _) in &dependents.columns {
        type_users::remove_column(entry, *position, context)?;
    }
    for (entry, position) in &dependents.owners {
        schema::lock_entry(entry, TableLockMode::AccessExclusive, context)?;
        change(entry, context, |relation| {
            relation.columns[*position].owned_sequence = None;
        })?;
    }
    for (entry, _) in &dependents.views {
        if let Some(view) = schema::lock_entry(entry, TableLockMode::AccessExclusive, context)? {
            remove_relation(&view.stored, context)?;
        }
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
        routine::drop_all(&routines, subject, DropBehavior::Cascade, context)?;
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
                descriptions.push((described(&table, context), parent));
            }
            dropped.push(table.clone());
        }
        let mut children = inherit::locked_children(table.oid, TableLockMode::AccessExclusive, context)?;
        children.extend(pending_partitions(&table, context)?);
        let children = children.into_iter().rev();
        open.extend(children.map(|child| (child, Some(described(&table, context)))));
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

/// Changes a relation as it is by now: it may have been changed a moment ago.
pub(super) fn change(
    entry: &RelationEntry,
    context: &mut StatementContext<'_>,
    work: impl FnOnce(&mut StoredRelation),
) -> SqlResult<()> {
    let Some(current) = context.session.catalog.entry(Oid(entry.stored.oid)) else {
        return Ok(());
    };
    let mut relation = current.stored.clone();
    work(&mut relation);
    write::put(StoredObject::Relation(relation), context)
}

/// 2BP01 with one line per dependent.
#[cold]
pub(super) fn refused(subject: &str, descriptions: &[(String, String)]) -> SqlError {
    let lines: Vec<String> = descriptions
        .iter()
        .map(|(what, on)| format!("{what} depends on {on}"))
        .collect();
    let them = if subject == SEVERAL { "them" } else { "it" };
    SqlError::new(
        state::DEPENDENT_OBJECTS_STILL_EXIST,
        format!("cannot drop {subject} because other objects depend on {them}"),
    )
    .detail(lines.join("\n"))
    .hint("Use DROP ... CASCADE to drop the dependent objects too.")
}

/// The NOTICE of CASCADE: one line, or a count with the lines as its detail.
pub(super) fn cascade_notice(descriptions: &[(String, String)], context: &mut StatementContext<'_>) {
    let lines: Vec<String> = descriptions
        .iter()
        .map(|(what, _)| format!("drop cascades to {what}"))
        .collect();
    match lines.len() {
        0 => {}
        1 => schema::notice(state::SUCCESSFUL_COMPLETION, lines[0].clone(), context),
        count => {
            let notice = SqlError::new(
                state::SUCCESSFUL_COMPLETION,
                format!("drop cascades to {count} other objects"),
            );
            schema::send_notice(notice.detail(lines.join("\n")), context);
        }
    }
}

/// Removes a relation from engine and catalog. The caller has locked it and dealt with what depends on it.
pub(super) fn remove_relation(
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

/// Foreign keys that an index of `target` serves: (table, name of the constraint). The table's own are not among them.
pub(super) fn foreign_keys_to(
    index: u32,
    target: &StoredRelation,
    context: &StatementContext<'_>,
) -> Vec<(Arc<RelationEntry>, String)> {
    let catalog = context.session.catalog.current();
    let mut found = Vec::new();
    let users = catalog.relations_using(Oid(index));
    for entry in users.filter(|entry| entry.stored.oid != target.oid) {
        for constraint in &entry.stored.constraints {
            if matches!(&constraint.kind, StoredConstraintKind::ForeignKey(key) if key.referenced_index == index)
            {
                found.push((entry.clone(), constraint.name.clone()));
            }
        }
    }
    // An order that does not depend on how the catalog finds them.
    found.sort_by(|a, b| (a.0.stored.oid, &a.1).cmp(&(b.0.stored.oid, &b.1)));
    found
}

/// Drops the foreign keys that an index of `target` serves, the table's own included.
pub(super) fn drop_foreign_keys_to(
    index: u32,
    target: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    for (entry, name) in foreign_keys_to(index, target, context) {
        schema::lock_entry(&entry, TableLockMode::AccessExclusive, context)?;
        change(&entry, context, |relation| {
            relation.constraints.retain(|c| c.name != name)
        })?;
    }
    target.constraints.retain(
        |c| !matches!(&c.kind, StoredConstraintKind::ForeignKey(key) if key.referenced_index == index),
    );
    Ok(())
}

/// Removes a view that a change below takes along.
pub(super) fn remove_view(view: Oid, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let Some(entry) = context.session.catalog.entry(view) else {
        return Ok(());
    };
    match schema::lock_entry(&entry, TableLockMode::AccessExclusive, context)? {
        Some(entry) => remove_relation(&entry.stored, context),
        None => Ok(()),
    }
}

/// The sequence of an identity column goes with the column only.
fn refuse_identity(relation: &StoredRelation, context: &StatementContext<'_>) -> SqlResult<()> {
    if relation.kind != StoredKind::Sequence || !sequence::is_identity(relation, context) {
        return Ok(());
    }
    let owner = relation.sequence.as_ref().and_then(|sequence| sequence.owned_by);
    let Some((table, position)) = owner else {
        return Ok(());
    };
    let Some(entry) = context.session.catalog.entry(Oid(table)) else {
        return Ok(());
    };
    let column = &entry.stored.columns[position as usize].name;
    let place = format!("column {column} of {}", described(&entry.stored, context));
    Err(SqlError::new(
        state::DEPENDENT_OBJECTS_STILL_EXIST,
        format!(
            "cannot drop {} because {place} requires it",
            described(relation, context)
        ),
    )
    .hint(format!("You can drop {place} instead.")))
}

fn drop_index(name: &QualifiedName, drop: &Drop, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let mode = TableLockMode::AccessExclusive;
    let Some((mut table, at)) = index_to_drop(name, mode, drop, context)? else {
        return Ok(());
    };
    let table_oid = Oid(table.oid);
    let index = table.indexes.remove(at);
    in_use::refuse("DROP INDEX", index.oid, &index.name, context)?;
    let id = mote_common::IndexId(index.index);
    context.engine_call(|transaction| transaction.drop_index(id))?;
    write::put(StoredObject::Relation(table), context)?;
    // Indexes of partitions that stood for this one go as well.
    partition_index::sweep(table_oid, context)
}

/// The table, locked, and the position of its index of this name; None where the statement is content without it.
fn index_to_drop(
    name: &QualifiedName,
    mode: TableLockMode,
    drop: &Drop,
    context: &mut StatementContext<'_>,
) -> SqlResult<Option<(StoredRelation, usize)>> {
    let found = find_index(name, context);
    let Some((table_oid, index_oid)) = found else {
        return missing(name, drop, context).map(|()| None);
    };
    let entry = context
        .session
        .catalog
        .entry(table_oid)
        .ok_or_else(|| SqlError::internal("an index has a table"))?;
    schema::require_index_owner(&entry.stored, name.last(), context)?;
    schema::lock_entry(&entry, mode, context)?;
    // An index of a partitioned table goes together with those of its partitions.
    inherit::locked_inheritors(table_oid.0, mode, context)?;
    let Some(entry) = context.session.catalog.entry(table_oid) else {
        return missing(name, drop, context).map(|()| None);
    };
    if drop.concurrently && entry.stored.partitioning.is_some() {
        let message = format!("cannot drop partitioned index \"{}\" concurrently", name.last());
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
    }
    // Whom we waited for may have dropped, renamed or moved it.
    if find_index(name, context) != found {
        return missing(name, drop, context).map(|()| None);
    }
    let table = entry.stored.clone();
    let Some(at) = table.indexes.iter().position(|i| i.oid == index_oid.0) else {
        return missing(name, drop, context).map(|()| None);
    };
    // An index behind a key goes with the constraint only.
    let owner = table.constraints.iter().find(|c| {
        matches!(c.kind, StoredConstraintKind::PrimaryKey { index } | StoredConstraintKind::Unique { index } if index == index_oid.0)
    });
    if let Some(constraint) = owner {
        return Err(SqlError::new(
            state::DEPENDENT_OBJECTS_STILL_EXIST,
            format!(
                "cannot drop index {} because constraint {} on table {} requires it",
                name.last(),
                constraint.name,
                table.name
            ),
        )
        .hint(format!(
            "You can drop constraint {} on table {} instead.",
            constraint.name, table.name
        )));
    }
    // The index of a partition goes with the index above.
    if let Some(above) = table.indexes[at].parent {
        let catalog = context.session.catalog.current();
        let owner = catalog
            .index_owner(Oid(above))
            .and_then(|owner| catalog.relation(owner));
        let above = owner.and_then(|owner| owner.stored.indexes.iter().find(|index| index.oid == above));
        let above = above.map(|index| index.name.clone()).unwrap_or_default();
        return Err(SqlError::new(
            state::DEPENDENT_OBJECTS_STILL_EXIST,
            format!(
                "cannot drop index {} because index {above} requires it",
                name.last()
            ),
        )
        .hint(format!("You can drop index {above} instead.")));
    }
    Ok(Some((table, at)))
}

/// (table, index) for the name of an index.
pub(super) fn find_index(name: &QualifiedName, context: &StatementContext<'_>) -> Option<(Oid, Oid)> {
    let catalog = context.session.catalog.current();
    let schemas = match name.qualifier() {
        Some(schema) => vec![schema.to_string()],
        None => context.session.catalog.search_path(),
    };
    schemas.iter().find_map(|schema| {
        let schema = context.session.catalog.schema_oid(schema)?;
        let oid = catalog.name(schema, name.last())?;
        Some((catalog.index_owner(oid)?, oid))
    })
}

/// DROP SCHEMA: with CASCADE all that is in it.
fn drop_schema(name: &QualifiedName, drop: &Drop, context: &mut StatementContext<'_>) -> SqlResult<()> {
    if context.session.catalog.schema_oid(name.last()).is_none() {
        return missing(name, drop, context);
    }
    let stored = schema::schema_to_change(name.last(), context)?;
    // From here on nobody makes anything in it, and who did has committed: what is inside is complete.
    schema::lock_schema_for_drop(Oid(stored.oid), context)?;
    let catalog = context.session.catalog.current();
    let inside = catalog.relations_using(Oid(stored.oid));
    let inside: Vec<Arc<RelationEntry>> = inside
        .filter(|r| r.stored.schema == stored.oid)
        .cloned()
        .collect();
    let subject = format!("schema {}", stored.name);
    let routines = catalog.routines_using(Oid(stored.oid));
    let mut routines: Vec<Arc<RoutineEntry>> = routines
        .filter(|entry| entry.stored.schema == stored.oid)
        .cloned()
        .collect();
    let mut types = user_type::in_schema(stored.oid, context);
    let extensions = extension::in_schema(stored.oid, context);
    let is_member = |oid: u32| {
        extensions
            .iter()
            .any(|extension| extension.members.contains(&oid))
    };
    // In the order they were made. What a table owns is not named, nor is a partition of one that is: they are parts.
    let is_part = |entry: &&Arc<RelationEntry>| {
        let owned = entry
            .stored
            .sequence
            .as_ref()
            .is_some_and(|s| s.owned_by.is_some());
        let parent = entry.stored.partition.as_ref().and(entry.stored.parents.first());
        owned || parent.is_some_and(|parent| inside.iter().any(|known| known.stored.oid == *parent))
    };
    let mut named: Vec<(u32, String)> = Vec::new();
    named.extend(
        inside
            .iter()
            .filter(|entry| !is_part(entry) && !is_member(entry.stored.oid))
            .map(|entry| (entry.stored.oid, described(&entry.stored, context))),
    );
    named.extend(
        routines
            .iter()
            .filter(|entry| !is_member(entry.stored.oid))
            .filter(|entry| !user_type::is_part_of_range(entry.stored.oid, context))
            .map(|entry| (entry.stored.oid, routine::described(entry, context))),
    );
    named.extend(
        types
            .iter()
            .filter(|entry| !user_type::is_part_of_range(entry.stored.oid, context))
            .map(|entry| (number_of(Oid(entry.stored.oid)).0, user_type::described(entry))),
    );
    named.extend(
        extensions
            .iter()
            .map(|extension| (extension.oid, format!("extension {}", extension.name))),
    );
    named.sort();
    let descriptions: Vec<(String, String)> = named
        .into_iter()
        .map(|(_, what)| (what, subject.clone()))
        .collect();
    if !descriptions.is_empty() && drop.behavior == DropBehavior::Restrict {
        return Err(refused(&subject, &descriptions));
    }
    let mut relations = Vec::with_capacity(inside.len());
    for entry in &inside {
        let locked = schema::lock_entry(entry, TableLockMode::AccessExclusive, context)?;
        relations.extend(locked.map(|entry| entry.stored.clone()));
    }
    drop_all(
        relations,
        &subject,
        Some(descriptions),
        DropBehavior::Cascade,
        context,
    )?;
    let current = context.session.catalog.current();
    // Some went with the relations that they depended on.
    routines.retain(|entry| current.routine(Oid(entry.stored.oid)).is_some());
    routine::drop_all(&routines, &subject, DropBehavior::Cascade, context)?;
    let current = context.session.catalog.current();
    // And some types with the tables or routines.
    types.retain(|entry| current.user_type(Oid(entry.stored.oid)).is_some());
    user_type::drop_all(&types, &subject, DropBehavior::Cascade, context)?;
    for extension in &extensions {
        write::remove(Oid(extension.oid), context)?;
    }
    // ALTER DEFAULT PRIVILEGES IN SCHEMA.
    default_privileges::forget_schema(Oid(stored.oid), context)?;
    write::remove(Oid(stored.oid), context)
}
