//! ALTER .. RENAME, ALTER .. OWNER TO and ALTER .. SET SCHEMA.
//!
//! Expressions and queries of the catalog are kept as text, so that a new name must be written into every text that
//! bears the old one: views (`view_follow`), defaults with nextval (`refresh_defaults`), checks, keys and triggers of
//! the table (`rename_in_texts`). A relation that moves into another schema is `moving`'s. PostgreSQL keeps trees with OIDs, which a rename does not touch.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::TableLockMode;
use mote_grammar::ast::{
    AlterObjectSchema, AlterOwner, Name, ObjectKind, ObjectReference, QualifiedName, RelationName, Rename,
};
use mote_grammar::rewrite;

use super::acl;
use super::alter_children::passes_down;
use super::{
    composite_type, create_table, domain, dropping, extension, function, index_keys, inherit, internal,
    large_object, moving, privileges, publication, role, schema, sequence, trigger, user_type, view_columns,
    view_follow,
};
use crate::utility::{Command, Issued};
use mote_catalog::catalog_store::stored::{StoredConstraintKind, StoredKind, StoredObject, StoredRelation};
use mote_catalog::tag::CommandTag;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

impl Command for Rename {
    fn name(&self) -> &'static str {
        "ALTER RENAME"
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        run(self, context)
    }
}

impl Command for AlterOwner {
    fn name(&self) -> &'static str {
        "ALTER OWNER"
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        owner(self, context)
    }
}

impl Command for AlterObjectSchema {
    fn name(&self) -> &'static str {
        "ALTER SET SCHEMA"
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        set_schema(self, context)
    }
}

/// RENAME of anything. Kinds with files of their own are handed on.
pub(super) fn run(rename: &Rename, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    if function::is_routine(rename.kind) {
        return function::rename(rename, context);
    }
    if matches!(rename.kind, ObjectKind::Type | ObjectKind::Domain) {
        return user_type::rename(rename, context);
    }
    if rename.kind == ObjectKind::Attribute {
        let old = rename.part.as_deref().unwrap_or_default();
        return composite_type::rename_attribute(rename, old, context);
    }
    if rename.kind == ObjectKind::DomainConstraint {
        let old = rename.part.as_deref().unwrap_or_default();
        return domain::rename_constraint(user_type::named(&rename.object)?, old, &rename.new_name, context);
    }
    let ObjectReference::Name(name) = &rename.object else {
        return Err(SqlError::unsupported("RENAME of this kind of object"));
    };
    // The grammar does not say of which kind of relation a constraint is: only tables have any.
    let container = if rename.kind == ObjectKind::TableConstraint {
        ObjectKind::Table
    } else {
        rename.container_kind
    };
    let tag = tag_of(container)?;
    match rename.kind {
        ObjectKind::Table | ObjectKind::View | ObjectKind::MaterializedView | ObjectKind::Sequence => {
            let relation = schema::relation_name(name);
            if let Some(relation) = find(&relation, rename.kind, rename.if_exists, context)? {
                rename_relation(relation, &rename.new_name, context)?;
            }
        }
        ObjectKind::Index => rename_index(name, rename, context)?,
        ObjectKind::Trigger => {
            let old_name = rename.part.as_deref().unwrap_or_default();
            trigger::rename(&schema::relation_name(name), old_name, &rename.new_name, context)?;
            return Ok(CommandTag::Word("ALTER TRIGGER"));
        }
        ObjectKind::Column | ObjectKind::TableConstraint => rename_part(name, container, rename, context)?,
        ObjectKind::Schema => rename_schema(name.last(), &rename.new_name, context)?,
        ObjectKind::Role => rename_role(name.last(), &rename.new_name, context)?,
        ObjectKind::Publication => publication::rename(name.last(), &rename.new_name, context)?,
        ObjectKind::Database => rename_database(name.last(), &rename.new_name, context)?,
        _ => return Err(SqlError::unsupported("RENAME of this kind of object")),
    }
    Ok(tag)
}

/// The tag of an ALTER of this kind.
fn tag_of(kind: ObjectKind) -> SqlResult<CommandTag> {
    Ok(CommandTag::Word(match kind {
        ObjectKind::Table => "ALTER TABLE",
        ObjectKind::View => "ALTER VIEW",
        ObjectKind::MaterializedView => "ALTER MATERIALIZED VIEW",
        ObjectKind::Sequence => "ALTER SEQUENCE",
        ObjectKind::Index => "ALTER INDEX",
        ObjectKind::Schema => "ALTER SCHEMA",
        ObjectKind::Role => "ALTER ROLE",
        ObjectKind::Database => "ALTER DATABASE",
        ObjectKind::Publication => "ALTER PUBLICATION",
        _ => return Err(SqlError::unsupported("ALTER of this kind of object")),
    }))
}

/// A relation locked for a change of its name, place or owner. ALTER TABLE may be said of all kinds.
fn find(
    name: &RelationName,
    kind: ObjectKind,
    if_exists: bool,
    context: &mut StatementContext<'_>,
) -> SqlResult<Option<StoredRelation>> {
    let Some(entry) = schema::lock_relation(name, TableLockMode::AccessExclusive, context)? else {
        if if_exists {
            let message = format!("relation \"{}\" does not exist, skipping", name.name);
            schema::notice(state::SUCCESSFUL_COMPLETION, message, context);
            return Ok(None);
        }
        return Err(schema::undefined_table(name));
    };
    schema::require_owner(&entry.stored, context)?;
    let wanted = match kind {
        ObjectKind::View => StoredKind::View,
        ObjectKind::MaterializedView => StoredKind::MaterializedView,
        ObjectKind::Sequence => StoredKind::Sequence,
        _ => return Ok(Some(entry.stored.clone())),
    };
    match entry.stored.kind == wanted {
        true => Ok(Some(entry.stored.clone())),
        false => Err(schema::wrong_kind(&entry.stored.name, wanted.word())),
    }
}

/// Another name for a relation whose lock is held.
fn rename_relation(
    mut relation: StoredRelation,
    new_name: &str,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let schema_oid = Oid(relation.schema);
    // The new name is reserved, the old one stays ours by the lock of the relation.
    schema::reserve_name(schema_oid, new_name, context)?;
    if schema::relation_exists(schema_oid, new_name, context) {
        return Err(schema::already_exists(new_name));
    }
    // Sequences have no row type.
    if relation.kind != StoredKind::Sequence {
        schema::require_free_row_type(schema_oid, new_name, context)?;
    }
    let schema_name = schema_name(relation.schema, context);
    // How defaults wrote it until now; the new text needs the new name in the catalog.
    let old = sequence::constant(&relation, context);
    // Views that read it are written anew, with the old name as an alias.
    view_follow::renamed(&relation, &schema_name, new_name, context)?;
    let old_name = std::mem::replace(&mut relation.name, new_name.to_string());
    write::put(StoredObject::Relation(relation.clone()), context)?;
    if relation.kind == StoredKind::Sequence {
        moving::refresh_defaults(&relation, &old_name, &old, context)?;
    }
    Ok(())
}

/// A schema's name by its OID.
fn schema_name(oid: u32, context: &StatementContext<'_>) -> String {
    let catalog = context.session.catalog.current();
    catalog
        .schemas
        .get(&Oid(oid))
        .map(|schema| schema.object.name.clone())
        .unwrap_or_default()
}

// ShareUpdateExclusive is enough: no plan depends on the name of an index.
fn rename_index(name: &QualifiedName, rename: &Rename, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let Some((table, index)) = dropping::find_index(name, context) else {
        if rename.if_exists {
            let message = format!("relation \"{}\" does not exist, skipping", name.last());
            schema::notice(state::SUCCESSFUL_COMPLETION, message, context);
            return Ok(());
        }
        return Err(schema::undefined_table(&schema::relation_name(name)));
    };
    let gone = || schema::undefined_table(&schema::relation_name(name));
    let entry = context.session.catalog.entry(table).ok_or_else(gone)?;
    schema::require_index_owner(&entry.stored, name.last(), context)?;
    let entry = schema::lock_entry(&entry, TableLockMode::ShareUpdateExclusive, context)?;
    let mut relation = entry.ok_or_else(gone)?.stored.clone();
    // Whom we waited for may have dropped, renamed or moved it.
    if dropping::find_index(name, context) != Some((table, index)) {
        return Err(gone());
    }
    rename_index_of(&mut relation, index.0, &rename.new_name, context)?;
    write::put(StoredObject::Relation(relation), context)
}

/// An index and the key constraint that it serves bear one name.
fn rename_index_of(
    relation: &mut StoredRelation,
    index: u32,
    new_name: &str,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let schema_oid = Oid(relation.schema);
    schema::reserve_name(schema_oid, new_name, context)?;
    if schema::relation_exists(schema_oid, new_name, context) {
        return Err(schema::already_exists(new_name));
    }
    for stored in relation.indexes.iter_mut().filter(|stored| stored.oid == index) {
        stored.name = new_name.to_string();
    }
    for constraint in &mut relation.constraints {
        if let StoredConstraintKind::PrimaryKey { index: own } | StoredConstraintKind::Unique { index: own } =
            constraint.kind
            && own == index
        {
            constraint.name = new_name.to_string();
        }
    }
    Ok(())
}

/// RENAME COLUMN and RENAME CONSTRAINT.
fn rename_part(
    name: &QualifiedName,
    container: ObjectKind,
    rename: &Rename,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let relation = schema::relation_name(name);
    let Some(mut relation) = find(&relation, container, rename.if_exists, context)? else {
        return Ok(());
    };
    let part: &Name = rename
        .part
        .as_ref()
        .ok_or_else(|| SqlError::internal("RENAME of a part names the part"))?;
    // Those below first: the table itself is written last, by this function.
    follow_down(&relation, rename, part, context)?;
    if rename.kind == ObjectKind::Column {
        rename_column(&mut relation, part, &rename.new_name, context)?;
    } else {
        rename_constraint(&mut relation, part, &rename.new_name, context)?;
    }
    write::put(StoredObject::Relation(relation), context)
}

/// Columns and CHECK constraints bear one name in a parent and in all tables below it.
fn follow_down(
    relation: &StoredRelation,
    rename: &Rename,
    part: &str,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let is_column = rename.kind == ObjectKind::Column;
    let parents_of = |relation: &StoredRelation| match is_column {
        true => {
            let mut columns = relation.columns.iter();
            let found = columns.find(|column| !column.dropped && column.name == *part)?;
            Some(found.inheritance.parents)
        }
        false => {
            let mut constraints = relation.constraints.iter();
            let found = constraints.find(|constraint| constraint.name == *part)?;
            // Keys and foreign keys of children have names of their own.
            passes_down(found).then_some(found.inheritance.parents)
        }
    };
    let Some(parents) = parents_of(relation) else {
        return Ok(());
    };
    let what = if is_column { "column" } else { "constraint" };
    let invalid = |message: String| Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message));
    let inherited = || invalid(format!("cannot rename inherited {what} \"{part}\""));
    // ONLY would leave two names for one column.
    if rename.only && inherit::has_children(relation, context) {
        return invalid(format!(
            "inherited {what} \"{part}\" must be renamed in child tables too"
        ));
    }
    if parents > 0 {
        return inherited();
    }
    let children = inherit::locked_inheritors(relation.oid, TableLockMode::AccessExclusive, context)?;
    for (mut child, expected) in children {
        // A parent outside of this tree has it under the old name.
        if parents_of(&child).is_some_and(|parents| parents > expected) {
            return inherited();
        }
        match is_column {
            true => rename_column(&mut child, part, &rename.new_name, context)?,
            false => rename_constraint(&mut child, part, &rename.new_name, context)?,
        }
        inherit::put(child, context)?;
    }
    Ok(())
}

/// Another name for a column, in the relation and in what reads it.
fn rename_column(
    relation: &mut StoredRelation,
    old: &str,
    new: &str,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let position = relation
        .columns
        .iter()
        .position(|column| !column.dropped && column.name == old);
    // 42703 in the words of RENAME COLUMN, which names no relation.
    let position = position.ok_or_else(|| {
        SqlError::new(
            state::UNDEFINED_COLUMN,
            format!("column \"{old}\" does not exist"),
        )
    })?;
    // Views have no system columns.
    if relation.kind != StoredKind::View {
        create_table::refuse_system_name(new)?;
    }
    if relation
        .columns
        .iter()
        .any(|column| !column.dropped && column.name == new)
    {
        return Err(SqlError::new(
            state::DUPLICATE_COLUMN,
            format!(
                "column \"{new}\" of relation \"{}\" already exists",
                relation.name
            ),
        ));
    }
    view_follow::column_renamed(relation, position, context)?;
    relation.columns[position].name = new.to_string();
    // A view's column is a name of its query's output.
    if relation.kind.has_query() {
        return view_columns::follow(relation, context);
    }
    internal::on_large_stack(context, |_| rename_in_texts(relation, old, new))
}

/// Writes the new name of a column into all texts of its table.
fn rename_in_texts(relation: &mut StoredRelation, old: &str, new: &str) -> SqlResult<()> {
    let generated = relation
        .columns
        .iter_mut()
        .filter_map(|column| column.generated.as_mut());
    let checks = relation
        .constraints
        .iter_mut()
        .filter_map(|constraint| match &mut constraint.kind {
            StoredConstraintKind::Check { expression } => Some(expression),
            _ => None,
        });
    // Keys that are columns stand by position; only expressions have names in them.
    let partition_keys = relation.partitioning.iter_mut().flat_map(|partitioning| {
        let keys = partitioning.keys.iter_mut();
        keys.filter_map(|key| key.expression.as_mut())
    });
    let triggers = relation.triggers.iter_mut();
    let conditions = triggers.filter_map(|trigger| trigger.condition.as_mut());
    for text in generated.chain(checks).chain(partition_keys).chain(conditions) {
        *text = rewrite::rename_column(text, old, new)?;
    }
    // Index expressions are kept bound, by positions; only their texts follow.
    index_keys::refresh_texts(relation);
    Ok(())
}

/// Another name for a constraint; that of a key is its index's, too.
fn rename_constraint(
    relation: &mut StoredRelation,
    old: &str,
    new: &str,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let at = relation
        .constraints
        .iter()
        .position(|constraint| constraint.name == old)
        .ok_or_else(|| {
            SqlError::new(
                state::UNDEFINED_OBJECT,
                format!(
                    "constraint \"{old}\" for table \"{}\" does not exist",
                    relation.name
                ),
            )
        })?;
    if relation
        .constraints
        .iter()
        .any(|constraint| constraint.name == new)
    {
        return Err(SqlError::new(
            state::DUPLICATE_OBJECT,
            format!(
                "constraint \"{new}\" for relation \"{}\" already exists",
                relation.name
            ),
        ));
    }
    match relation.constraints[at].kind {
        StoredConstraintKind::PrimaryKey { index } | StoredConstraintKind::Unique { index } => {
            rename_index_of(relation, index, new, context)
        }
        _ => {
            relation.constraints[at].name = new.to_string();
            Ok(())
        }
    }
}

/// Another name for a schema. Everything in it is written anew, since descriptions and texts hold the name.
fn rename_schema(old: &str, new: &str, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let mut stored = schema::schema_to_change(old, context)?;
    schema::check_schema_name(new)?;
    schema::reserve_name(context.session.catalog.database, new, context)?;
    if context.session.catalog.schema_oid(new).is_some() {
        return Err(SqlError::new(
            state::DUPLICATE_SCHEMA,
            format!("schema \"{new}\" already exists"),
        ));
    }
    let catalog = context.session.catalog.current();
    // Listed before the schema is written, by its OID: the name is about to change.
    let inside: Vec<StoredRelation> = catalog
        .relations_using(Oid(stored.oid))
        .filter(|relation| relation.stored.schema == stored.oid)
        .map(|relation| relation.stored.clone())
        .collect();
    user_type::refuse_renamed_schema(stored.oid, context)?;
    for relation in &inside {
        view_follow::renamed(relation, new, &relation.name, context)?;
    }
    // How defaults wrote each of them until the new name is in force.
    let old: Vec<String> = (inside.iter())
        .map(|relation| sequence::constant(relation, context))
        .collect();
    let types = user_type::in_schema(stored.oid, context);
    stored.name = new.to_string();
    write::put(StoredObject::Schema(stored), context)?;
    // Descriptions of types hold the schema's name, too.
    for entry in types {
        write::put(StoredObject::Type(entry.stored.clone()), context)?;
    }
    // Read anew: rewriting views may have changed a relation since it was listed.
    for (relation, old) in inside.iter().zip(&old) {
        // The descriptions of relations hold their schema's name.
        let current = context
            .session
            .catalog
            .entry(Oid(relation.oid))
            .map(|entry| entry.stored.clone());
        if let Some(current) = current {
            write::put(StoredObject::Relation(current), context)?;
        }
        if relation.kind == StoredKind::Sequence {
            moving::refresh_defaults(relation, &relation.name, old, context)?;
        }
    }
    Ok(())
}

/// Another name for a role.
fn rename_role(old: &str, new: &str, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let catalog = context.session.catalog.current();
    let entry = catalog
        .role_by_name(old)
        .ok_or_else(|| SqlError::new(state::UNDEFINED_OBJECT, format!("role \"{old}\" does not exist")))?;
    if entry.object.superuser && !context.session.identity().superuser {
        let message = "must be superuser to rename superusers";
        return Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message));
    }
    role::require_role_admin("permission denied to rename role", context)?;
    role::check_name(new)?;
    role::check_name(old)?;
    let mut stored = entry.object.clone();
    // Its own name, and that of the one who logged in, are held by the session.
    if Oid(stored.oid) == context.session.identity().user_oid
        || stored.name == context.session.identity().session_user
    {
        return Err(SqlError::new(
            state::FEATURE_NOT_SUPPORTED,
            "session user cannot be renamed",
        ));
    }
    if catalog.role_by_name(new).is_some() {
        return Err(SqlError::new(
            state::DUPLICATE_OBJECT,
            format!("role \"{new}\" already exists"),
        ));
    }
    stored.name = new.to_string();
    write::put(StoredObject::Role(stored), context)
}

fn rename_database(old: &str, new: &str, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let catalog = context.session.catalog.current();
    let entry = catalog.database_by_name(old).ok_or_else(|| {
        SqlError::new(
            state::INVALID_CATALOG_NAME,
            format!("database \"{old}\" does not exist"),
        )
    })?;
    let mut stored = entry.object.clone();
    if !privileges::is_member(&context.session.catalog, Oid(stored.owner)) {
        return Err(SqlError::new(
            state::INSUFFICIENT_PRIVILEGE,
            format!("must be owner of database {old}"),
        ));
    }
    if Oid(stored.oid) == context.session.catalog.database {
        return Err(SqlError::new(
            state::FEATURE_NOT_SUPPORTED,
            "current database cannot be renamed",
        ));
    }
    if catalog.database_by_name(new).is_some() {
        return Err(SqlError::new(
            state::DUPLICATE_DATABASE,
            format!("database \"{new}\" already exists"),
        ));
    }
    stored.name = new.to_string();
    write::put(StoredObject::Database(stored), context)
}

/// ALTER .. OWNER TO of what is not a table.
pub(super) fn owner(alter: &AlterOwner, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    if function::is_routine(alter.kind) {
        return function::owner(alter, context);
    }
    if matches!(alter.kind, ObjectKind::Type | ObjectKind::Domain) {
        return user_type::owner(alter, context);
    }
    if alter.kind == ObjectKind::LargeObject {
        return large_object::owner(alter, context);
    }
    let ObjectReference::Name(name) = &alter.object else {
        return Err(SqlError::unsupported("ALTER OWNER of this kind of object"));
    };
    let new = schema::role_oid(&alter.owner, context)?;
    match alter.kind {
        ObjectKind::Publication => publication::change_owner(name.last(), new, context)?,
        ObjectKind::Schema => {
            let mut stored = schema::schema_to_change(name.last(), context)?;
            privileges::require_member(&context.session.catalog, new)?;
            acl::change_owner(&mut stored.acl, stored.owner, new.0);
            stored.owner = new.0;
            write::put(StoredObject::Schema(stored), context)?;
        }
        ObjectKind::Database => {
            let catalog = context.session.catalog.current();
            let entry = catalog.database_by_name(name.last()).ok_or_else(|| {
                SqlError::new(
                    state::INVALID_CATALOG_NAME,
                    format!("database \"{}\" does not exist", name.last()),
                )
            })?;
            let mut stored = entry.object.clone();
            privileges::require_member(&context.session.catalog, Oid(stored.owner))?;
            privileges::require_member(&context.session.catalog, new)?;
            acl::change_owner(&mut stored.acl, stored.owner, new.0);
            stored.owner = new.0;
            write::put(StoredObject::Database(stored), context)?;
        }
        _ => return Err(SqlError::unsupported("ALTER OWNER of this kind of object")),
    }
    tag_of(alter.kind)
}

/// ALTER .. SET SCHEMA: a relation moves with its indexes and owned sequences.
pub(super) fn set_schema(
    alter: &AlterObjectSchema,
    context: &mut StatementContext<'_>,
) -> SqlResult<CommandTag> {
    if function::is_routine(alter.kind) {
        return function::set_schema(alter, context);
    }
    if matches!(alter.kind, ObjectKind::Type | ObjectKind::Domain) {
        return user_type::set_schema(alter, context);
    }
    if alter.kind == ObjectKind::Extension {
        return extension::set_schema(alter, context);
    }
    let tag = tag_of(alter.kind)?;
    let ObjectReference::Name(name) = &alter.object else {
        return Err(SqlError::unsupported("SET SCHEMA of this kind of object"));
    };
    if !matches!(
        alter.kind,
        ObjectKind::Table | ObjectKind::View | ObjectKind::MaterializedView | ObjectKind::Sequence
    ) {
        return Err(SqlError::unsupported("SET SCHEMA of this kind of object"));
    }
    let relation = schema::relation_name(name);
    let Some(relation) = find(&relation, alter.kind, alter.if_exists, context)? else {
        return Ok(tag);
    };
    if relation
        .sequence
        .as_ref()
        .is_some_and(|sequence| sequence.owned_by.is_some())
    {
        return Err(SqlError::new(
            state::FEATURE_NOT_SUPPORTED,
            "cannot move an owned sequence into another schema",
        )
        .detail(format!("Sequence \"{}\" is linked to a table.", relation.name)));
    }
    // Temporary objects stay where they are.
    let target = schema::schema_to_move_to(&alter.schema, relation.temporary, context)?;
    if relation.schema == target.0 {
        return Ok(tag);
    }
    // Listed before the move.
    let owned = sequence::owned_by_table(Oid(relation.oid), context);
    moving::move_to(relation, target, &alter.schema, context)?;
    for entry in owned {
        moving::move_to(entry.stored.clone(), target, &alter.schema, context)?;
    }
    Ok(tag)
}
