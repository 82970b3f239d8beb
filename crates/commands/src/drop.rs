//! DROP: the statement, for objects of every kind. Functions and types have files of their own below this one.
//!
//! All that a statement names is locked first, in the order of names (PostgreSQL's dropcmds.c, RemoveRelations in
//! tablecmds.c); then `cascade` takes it away with what depends on it. Leaves out: finding dependents (`uses`), words and
//! changes that every DROP shares (`dropping`).

mod routines;
mod schemas;
mod types;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::TableLockMode;
use mote_grammar::ast::{Drop, DropBehavior, ObjectKind, ObjectReference, QualifiedName, RelationName};
use mote_sql::catalog::CatalogView;

use super::{
    cascade, cast, dropping, extension, extension_members, in_use, inherit, partition, partition_index,
    publication, reindex, schema, sequence, trigger,
};
use crate::utility::{Command, Issued, Steps};
use mote_catalog::catalog_store::stored::{StoredConstraintKind, StoredKind, StoredObject, StoredRelation};
use mote_catalog::tag::CommandTag;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

impl Command for Drop {
    fn name(&self) -> &'static str {
        dropping::command_name(self.kind)
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

/// DROP of anything that has a file or a function here.
pub(super) fn run(drop: &Drop, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    if matches!(
        drop.kind,
        ObjectKind::Function | ObjectKind::Procedure | ObjectKind::Routine
    ) {
        return routines::drop(drop, context);
    }
    if matches!(drop.kind, ObjectKind::Type | ObjectKind::Domain) {
        return types::drop(drop, context);
    }
    let tag = dropping::command_name(drop.kind);
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
    if drop.kind == ObjectKind::Cast {
        return cast::drop(drop, context);
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
            ObjectKind::Schema => match context.session.catalog.schema_oid(name.last()) {
                Some(_) => schemas::drop(name.last(), drop.behavior, context)?,
                None => missing(name, drop, context)?,
            },
            ObjectKind::Index => drop_index(name, drop, context)?,
            ObjectKind::Trigger => trigger::drop(name, drop, context)?,
            _ => relations.extend(find(name, word, drop, context)?),
        }
    }
    // Before anything goes: what an identity or an extension needs stays.
    for relation in &relations {
        refuse_identity(relation, context)?;
        extension_members::refuse_member(relation.oid, || dropping::described(relation, context), context)?;
    }
    if let [first, rest @ ..] = relations.as_slice() {
        let subject = if rest.is_empty() {
            dropping::described(first, context)
        } else {
            dropping::SEVERAL.to_string()
        };
        cascade::relations::drop_all(relations, &subject, Some(Vec::new()), drop.behavior, context)?;
    }
    Ok(CommandTag::Word(tag))
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
        reindex::remove_unread(oid, vec![index], steps);
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
    let place = format!(
        "column {column} of {}",
        dropping::described(&entry.stored, context)
    );
    Err(SqlError::new(
        state::DEPENDENT_OBJECTS_STILL_EXIST,
        format!(
            "cannot drop {} because {place} requires it",
            dropping::described(relation, context)
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
    let found = dropping::find_index(name, context);
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
    if dropping::find_index(name, context) != found {
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
