//! DROP of tables, indexes, views and schemas.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult, TableId};
use mote_engine::TableLockMode;
use mote_sql::ast::{Drop, DropBehavior, ObjectKind, ObjectReference, QualifiedName, RelationName};

use super::schema;
use crate::catalog_store::stored::{StoredConstraintKind, StoredKind, StoredObject, StoredRelation};
use crate::catalog_store::write;
use crate::context::StatementContext;
use crate::session::CommandTag;

pub(super) fn run(drop: &Drop, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    let (tag, word) = match drop.kind {
        ObjectKind::Table => ("DROP TABLE", "table"),
        ObjectKind::View => ("DROP VIEW", "view"),
        ObjectKind::Index => ("DROP INDEX", "index"),
        ObjectKind::Schema => ("DROP SCHEMA", "schema"),
        ObjectKind::Sequence => ("DROP SEQUENCE", "sequence"),
        _ => return Err(SqlError::unsupported("DROP of this kind of object")),
    };
    // All are dropped together: references among them do not count.
    let mut relations: Vec<StoredRelation> = Vec::new();
    for object in &drop.objects {
        let ObjectReference::Name(name) = object else {
            return Err(SqlError::internal("an object of DROP has a name"));
        };
        match drop.kind {
            ObjectKind::Schema => drop_schema(name, drop, context)?,
            ObjectKind::Index => drop_index(name, drop, context)?,
            _ => relations.extend(find(name, word, drop, context)?),
        }
    }
    refuse_dependents(&relations, drop.behavior, context)?;
    for relation in &relations {
        drop_relation(relation, context)?;
    }
    Ok(CommandTag::Word(tag))
}

fn relation_name(name: &QualifiedName) -> RelationName {
    RelationName {
        catalog: None,
        schema: name.qualifier().map(Into::into),
        name: name.last().into(),
        location: name.location,
    }
}

fn shown(name: &QualifiedName) -> String {
    name.parts.iter().map(|p| &**p).collect::<Vec<_>>().join(".")
}

fn missing(
    word: &str,
    name: &QualifiedName,
    drop: &Drop,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let message = format!("{word} \"{}\" does not exist", shown(name));
    if drop.if_exists {
        schema::notice(state::SUCCESSFUL_COMPLETION, format!("{message}, skipping"), context);
        return Ok(());
    }
    let code = if word == "schema" {
        state::INVALID_SCHEMA_NAME
    } else if word == "index" {
        state::UNDEFINED_OBJECT
    } else {
        state::UNDEFINED_TABLE
    };
    Err(SqlError::new(code, message))
}

fn find(
    name: &QualifiedName,
    word: &str,
    drop: &Drop,
    context: &mut StatementContext<'_>,
) -> SqlResult<Option<StoredRelation>> {
    let relation = relation_name(name);
    let Some(entry) = schema::lock_relation(&relation, TableLockMode::AccessExclusive, context)? else {
        missing(word, name, drop, context)?;
        return Ok(None);
    };
    let kind = match entry.stored.kind {
        StoredKind::Table => "table",
        StoredKind::View => "view",
        StoredKind::Sequence => "sequence",
    };
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

/// Foreign keys of other tables: refused, or with CASCADE dropped.
fn refuse_dependents(
    dropped: &[StoredRelation],
    behavior: DropBehavior,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let catalog = context.session.catalog.current();
    for relation in catalog.relations() {
        if dropped.iter().any(|d| d.oid == relation.stored.oid) {
            continue;
        }
        let points_here = |kind: &StoredConstraintKind| match kind {
            StoredConstraintKind::ForeignKey(key) => dropped.iter().find(|d| d.oid == key.referenced),
            _ => None,
        };
        let Some((constraint, target)) =
            relation.stored.constraints.iter().find_map(|c| points_here(&c.kind).map(|t| (c, t)))
        else {
            continue;
        };
        if behavior == DropBehavior::Restrict {
            return Err(SqlError::new(
                state::DEPENDENT_OBJECTS_STILL_EXIST,
                format!("cannot drop table {} because other objects depend on it", target.name),
            )
            .detail(format!(
                "constraint {} on table {} depends on table {}",
                constraint.name, relation.stored.name, target.name
            ))
            .hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        let mut changed = relation.stored.clone();
        changed.constraints.retain(|c| points_here(&c.kind).is_none());
        let message = format!("drop cascades to constraint {} on table {}", constraint.name, changed.name);
        schema::lock_entry(relation, TableLockMode::AccessExclusive, context)?;
        write::put(StoredObject::Relation(changed), context)?;
        schema::notice(state::SUCCESSFUL_COMPLETION, message, context);
    }
    Ok(())
}

fn drop_relation(relation: &StoredRelation, context: &mut StatementContext<'_>) -> SqlResult<()> {
    if relation.table != 0 {
        let table = TableId(relation.table);
        schema::engine_call(context, |transaction| transaction.drop_table(table))?;
    }
    write::remove(Oid(relation.oid), context)
}

fn drop_index(name: &QualifiedName, drop: &Drop, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let found = find_index(name, context);
    let Some((table_oid, index_oid)) = found else { return missing("index", name, drop, context) };
    let entry = context.session.catalog.entry(table_oid).ok_or_else(|| SqlError::internal("an index has a table"))?;
    schema::require_owner(&entry.stored, context)?;
    schema::lock_entry(&entry, TableLockMode::AccessExclusive, context)?;
    let Some(entry) = context.session.catalog.entry(table_oid) else {
        return missing("index", name, drop, context);
    };
    let mut table = entry.stored.clone();
    let Some(at) = table.indexes.iter().position(|i| i.oid == index_oid.0) else {
        return missing("index", name, drop, context);
    };
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
    let index = table.indexes.remove(at);
    let id = mote_common::IndexId(index.index);
    schema::engine_call(context, |transaction| transaction.drop_index(id))?;
    write::put(StoredObject::Relation(table), context)
}

/// (table, index) for the name of an index.
fn find_index(name: &QualifiedName, context: &StatementContext<'_>) -> Option<(Oid, Oid)> {
    use mote_sql::catalog::CatalogView;
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

fn drop_schema(name: &QualifiedName, drop: &Drop, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let Some(oid) = context.session.catalog.schema_oid(name.last()) else {
        return missing("schema", name, drop, context);
    };
    let catalog = context.session.catalog.current();
    let inside: Vec<StoredRelation> =
        catalog.relations().filter(|r| r.stored.schema == oid.0).map(|r| r.stored.clone()).collect();
    if !inside.is_empty() && drop.behavior == DropBehavior::Restrict {
        return Err(SqlError::new(
            state::DEPENDENT_OBJECTS_STILL_EXIST,
            format!("cannot drop schema {} because other objects depend on it", name.last()),
        )
        .detail(format!("table {}.{} depends on schema {}", name.last(), inside[0].name, name.last()))
        .hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    for relation in &inside {
        let entry = context.session.catalog.entry(Oid(relation.oid));
        if let Some(entry) = entry {
            schema::lock_entry(&entry, TableLockMode::AccessExclusive, context)?;
        }
    }
    refuse_dependents(&inside, drop.behavior, context)?;
    for relation in &inside {
        drop_relation(relation, context)?;
    }
    write::remove(oid, context)
}
