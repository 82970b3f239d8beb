//! COMMENT ON, for every kind of object that can be made: relations and their columns, constraints and triggers; schemas, types,
//! domains and their constraints, routines, roles, databases, extensions, publications, casts, large objects.
//!
//! A comment is part of its object's description. Some kinds take theirs in the file of the kind (`function`, `user_type`, ..).

use mote_common::error::{Severity, state};
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::TableLockMode;
use mote_grammar::ast::{Comment, ObjectKind, ObjectReference, QualifiedName};

use super::{
    cast, composite_type, domain, dropping, extension, function, large_object, privileges, publication, role,
    schema, user_type,
};
use crate::utility::{Command, Issued};
use mote_catalog::catalog_store::stored::{StoredKind, StoredObject, StoredRelation};
use mote_catalog::tag::CommandTag;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

impl Command for Comment {
    fn name(&self) -> &'static str {
        "COMMENT"
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        run(self, context)
    }
}

/// COMMENT ON. A comment belongs to its object's description, and goes with it.
pub(super) fn run(comment: &Comment, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    // An empty text removes the comment, as NULL does.
    let text = comment
        .text
        .as_deref()
        .filter(|text| !text.is_empty())
        .map(str::to_string);
    if function::is_routine(comment.kind) {
        function::comment(&comment.object, comment.kind, text, context)?;
        return Ok(CommandTag::Word("COMMENT"));
    }
    if let ObjectReference::DomainConstraint { domain, name } = &comment.object {
        domain::comment_on_constraint(&domain.name, name, text, context)?;
        return Ok(CommandTag::Word("COMMENT"));
    }
    if matches!(comment.kind, ObjectKind::Type | ObjectKind::Domain) {
        user_type::comment(&comment.object, text, context)?;
        return Ok(CommandTag::Word("COMMENT"));
    }
    if comment.kind == ObjectKind::LargeObject {
        large_object::comment(&comment.object, text, context)?;
        return Ok(CommandTag::Word("COMMENT"));
    }
    if comment.kind == ObjectKind::Cast {
        cast::comment(&comment.object, text, context)?;
        return Ok(CommandTag::Word("COMMENT"));
    }
    let ObjectReference::Name(name) = &comment.object else {
        return Err(SqlError::unsupported("COMMENT ON this kind of object"));
    };
    match comment.kind {
        ObjectKind::Table => on_relation(name, StoredKind::Table, text, context)?,
        ObjectKind::View => on_relation(name, StoredKind::View, text, context)?,
        ObjectKind::MaterializedView => on_relation(name, StoredKind::MaterializedView, text, context)?,
        ObjectKind::Sequence => on_relation(name, StoredKind::Sequence, text, context)?,
        ObjectKind::Column => on_column(name, text, context)?,
        ObjectKind::TableConstraint => on_constraint(name, text, context)?,
        ObjectKind::Trigger => on_trigger(name, text, context)?,
        ObjectKind::Index => on_index(name, text, context)?,
        ObjectKind::Schema => on_schema(name.last(), text, context)?,
        ObjectKind::Role => on_role(name.last(), text, context)?,
        ObjectKind::Database => on_database(name.last(), text, context)?,
        ObjectKind::Extension => extension::comment(name.last(), text, context)?,
        ObjectKind::Publication => publication::comment(name.last(), text, context)?,
        _ => return Err(SqlError::unsupported("COMMENT ON this kind of object")),
    }
    Ok(CommandTag::Word("COMMENT"))
}

/// A relation that the user owns. Readers and writers go on: only its description changes.
fn relation_to_change(
    name: &mote_grammar::ast::RelationName,
    context: &mut StatementContext<'_>,
) -> SqlResult<StoredRelation> {
    let entry = schema::lock_relation(name, TableLockMode::ShareUpdateExclusive, context)?
        .ok_or_else(|| schema::undefined_table(name))?;
    schema::require_owner(&entry.stored, context)?;
    Ok(entry.stored.clone())
}

/// On a relation, whose kind must be the one that is written.
fn on_relation(
    name: &QualifiedName,
    kind: StoredKind,
    text: Option<String>,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let mut relation = relation_to_change(&schema::relation_name(name), context)?;
    if relation.kind != kind {
        return Err(SqlError::new(
            state::WRONG_OBJECT_TYPE,
            format!("\"{}\" is not a {}", relation.name, kind.word()),
        ));
    }
    relation.comment = text;
    write::put(StoredObject::Relation(relation), context)
}

/// On `[schema.]relation.column`; an attribute is a column of its composite type.
fn on_column(
    name: &QualifiedName,
    text: Option<String>,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let owner = schema::relation_of_part(name);
    let missing = || {
        // The relation as it is written, with its schema.
        let owner = name.parts[..name.parts.len() - 1].join(".");
        let message = format!(
            "column \"{}\" of relation \"{owner}\" does not exist",
            name.last()
        );
        SqlError::new(state::UNDEFINED_COLUMN, message)
    };
    if let Some(mut ty) = composite_type::to_comment_on(&owner, context)? {
        let mut attributes = ty.attributes.iter_mut().flatten();
        let attribute = attributes.find(|attribute| !attribute.dropped && attribute.name == name.last());
        attribute.ok_or_else(missing)?.comment = text;
        return write::put(StoredObject::Type(ty), context);
    }
    let mut relation = relation_to_change(&owner, context)?;
    let column = relation
        .columns
        .iter_mut()
        .find(|column| !column.dropped && column.name == name.last());
    column.ok_or_else(missing)?.comment = text;
    write::put(StoredObject::Relation(relation), context)
}

/// On a constraint of a table.
fn on_constraint(
    name: &QualifiedName,
    text: Option<String>,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let mut relation = relation_to_change(&schema::relation_of_part(name), context)?;
    let owner = relation.name.clone();
    let constraint = relation
        .constraints
        .iter_mut()
        .find(|constraint| constraint.name == name.last());
    let constraint = constraint.ok_or_else(|| {
        SqlError::new(
            state::UNDEFINED_OBJECT,
            format!(
                "constraint \"{}\" for table \"{owner}\" does not exist",
                name.last()
            ),
        )
    })?;
    constraint.comment = text;
    write::put(StoredObject::Relation(relation), context)
}

/// On a trigger of a table.
fn on_trigger(
    name: &QualifiedName,
    text: Option<String>,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let mut relation = relation_to_change(&schema::relation_of_part(name), context)?;
    let owner = relation.name.clone();
    let mut triggers = relation.triggers.iter_mut();
    let trigger = triggers.find(|trigger| trigger.name == name.last());
    let trigger = trigger.ok_or_else(|| {
        let message = format!("trigger \"{}\" for table \"{owner}\" does not exist", name.last());
        SqlError::new(state::UNDEFINED_OBJECT, message)
    })?;
    trigger.comment = text;
    write::put(StoredObject::Relation(relation), context)
}

/// On an index; its table's owner may.
fn on_index(name: &QualifiedName, text: Option<String>, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let undefined = || {
        SqlError::new(
            state::UNDEFINED_TABLE,
            format!("relation \"{}\" does not exist", name.last()),
        )
    };
    let (table, index) = dropping::find_index(name, context).ok_or_else(undefined)?;
    let entry = context.session.catalog.entry(table).ok_or_else(undefined)?;
    schema::require_owner(&entry.stored, context)?;
    let entry = schema::lock_entry(&entry, TableLockMode::ShareUpdateExclusive, context)?;
    let entry = entry.ok_or_else(undefined)?;
    let mut relation = entry.stored.clone();
    let stored = relation
        .indexes
        .iter_mut()
        .find(|stored| stored.oid == index.0)
        .ok_or_else(undefined)?;
    stored.comment = text;
    write::put(StoredObject::Relation(relation), context)
}

/// On a schema of this database.
fn on_schema(name: &str, text: Option<String>, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let mut stored = schema::schema_to_change(name, context)?;
    stored.comment = text;
    write::put(StoredObject::Schema(stored), context)
}

fn on_role(name: &str, text: Option<String>, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let catalog = context.session.catalog.current();
    let entry = catalog
        .role_by_name(name)
        .ok_or_else(|| SqlError::new(state::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist")))?;
    // Everybody may comment on himself.
    if Oid(entry.object.oid) != context.session.identity().user_oid {
        role::require_role_admin("must have CREATEROLE privilege", context)?;
    }
    let mut stored = entry.object.clone();
    stored.comment = text;
    write::put(StoredObject::Role(stored), context)
}

fn on_database(name: &str, text: Option<String>, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let catalog = context.session.catalog.current();
    let Some(entry) = catalog.database_by_name(name) else {
        // A warning only: dumps name the database that they were taken from.
        let message = format!("database \"{name}\" does not exist");
        let warning = SqlError::new(state::INVALID_CATALOG_NAME, message).severity(Severity::Warning);
        context.host.notice(warning);
        return Ok(());
    };
    if !privileges::is_member(&context.session.catalog, Oid(entry.object.owner)) {
        return Err(SqlError::new(
            state::INSUFFICIENT_PRIVILEGE,
            format!("must be owner of database {name}"),
        ));
    }
    let mut stored = entry.object.clone();
    stored.comment = text;
    write::put(StoredObject::Database(stored), context)
}
