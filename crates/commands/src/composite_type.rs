//! Composite types: CREATE TYPE .. AS (..) and ALTER TYPE .. ATTRIBUTE; what holds values of a row type.
//!
//! A stored row keeps the number of each of its fields (`mote_types::storage`), so that attributes come, go and change their
//! names without a row being touched. Invariant: a number has one type for good while a column has values of the type,
//! or rows would be read as what they are not: ALTER ATTRIBUTE .. TYPE is refused then, as in PostgreSQL.

use std::collections::BTreeSet;
use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::{AdvisoryMode, TableLockMode};
use mote_grammar::ast::{
    AlterTable, AlterTableCommand, ColumnDefinition, CreateCompositeType, DropBehavior, QualifiedName,
    RelationName, Rename,
};
use mote_sql::catalog::CatalogView;
use mote_types::catalog::range::range_of;
use mote_types::catalog::user::{composite_oid, is_composite};
use mote_types::{ColumnType, format_type};

use super::{columns, schema, user_type, uses};
use crate::utility::{Command, Issued};
use mote_catalog::catalog_store::stored::{StoredAttribute, StoredObject, StoredRelation, StoredUserType};
use mote_catalog::catalog_store::{Catalog, RelationEntry};
use mote_catalog::tag::CommandTag;
use mote_executor::catalog_change::{object_locks, write};
use mote_executor::context::StatementContext;

/// As PostgreSQL's MaxTupleAttributeNumber has it.
const ATTRIBUTES_MAX: usize = 1600;

impl Command for CreateCompositeType {
    fn name(&self) -> &'static str {
        "CREATE TYPE"
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        create(self, context)
    }
}

/// CREATE TYPE .. AS.
fn create(create: &CreateCompositeType, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    let name = &create.name;
    let (schema_oid, _) = schema::schema_for_creation(name, context)?;
    if context.session.catalog.is_temporary_schema(schema_oid) {
        return Err(SqlError::unsupported("a type in a temporary schema"));
    }
    user_type::claim_name(schema_oid, &name.name, context)?;
    let mut attributes: Vec<StoredAttribute> = Vec::with_capacity(create.columns.len());
    for column in &create.columns {
        let attribute = attribute_of(column, context)?;
        if attributes.iter().any(|known| known.name == attribute.name) {
            let message = format!("column \"{}\" specified more than once", attribute.name);
            return Err(SqlError::new(state::DUPLICATE_COLUMN, message));
        }
        attributes.push(attribute);
    }
    check_count(&attributes)?;
    let mut ty = user_type::new_type(composite_oid, schema_oid, &name.name, context)?;
    ty.attributes = Some(attributes);
    write::put(StoredObject::Type(ty), context)?;
    Ok(CommandTag::Word("CREATE TYPE"))
}

/// 54011 beyond the bound, dropped attributes included.
fn check_count(attributes: &[StoredAttribute]) -> SqlResult<()> {
    if attributes.len() <= ATTRIBUTES_MAX {
        return Ok(());
    }
    Err(SqlError::new(
        state::TOO_MANY_COLUMNS,
        format!("tables can have at most {ATTRIBUTES_MAX} columns"),
    ))
}

/// An attribute as it is kept.
fn attribute_of(column: &ColumnDefinition, context: &StatementContext<'_>) -> SqlResult<StoredAttribute> {
    if column.collation.is_some() {
        return Err(SqlError::unsupported("COLLATE of an attribute"));
    }
    let Some(type_name) = &column.type_name else {
        return Err(SqlError::internal("an attribute has a type"));
    };
    // PostgreSQL shows no place for the error.
    let ty = mote_sql::resolve_type_name(type_name, &context.session.catalog)?;
    columns::refuse_pseudo_type(&column.name, ty)?;
    Ok(StoredAttribute {
        name: column.name.to_string(),
        type_oid: ty.oid.0,
        typmod: ty.typmod,
        dropped: false,
        comment: None,
    })
}

/// The composite type that a statement changes. Other names are looked up among relations, as PostgreSQL does.
fn to_change(name: &RelationName, context: &mut StatementContext<'_>) -> SqlResult<StoredUserType> {
    let qualified = QualifiedName {
        parts: name.schema.iter().chain([&name.name]).cloned().collect(),
        location: name.location,
    };
    let is_relation = context
        .session
        .catalog
        .relation_by_name(name.schema.as_deref(), &name.name)
        .is_some();
    let found = match is_relation {
        false => user_type::to_change(&qualified, context),
        true => Err(not_composite(&name.name)),
    };
    match found {
        Ok(ty) if ty.attributes.is_some() => Ok(ty),
        Err(error)
            if error.state() != state::UNDEFINED_OBJECT && error.state() != state::WRONG_OBJECT_TYPE =>
        {
            Err(error)
        }
        Err(error) if is_relation => Err(error),
        _ => Err(SqlError::new(
            state::UNDEFINED_TABLE,
            format!("relation \"{}\" does not exist", qualified.parts.join(".")),
        )),
    }
}

/// The composite type of this name, for its owner, where no relation bears it: COMMENT speaks of it as of a relation.
pub(super) fn to_comment_on(
    name: &RelationName,
    context: &mut StatementContext<'_>,
) -> SqlResult<Option<StoredUserType>> {
    let catalog = &context.session.catalog;
    let schema = name.schema.as_deref();
    let found = mote_sql::bind::named_type(schema, &name.name, catalog);
    let is_relation = catalog.relation_by_name(schema, &name.name).is_some();
    if is_relation || !found.is_some_and(is_composite) {
        return Ok(None);
    }
    let found = to_change(name, context);
    found.map(Some).map_err(|error| match error.state() {
        state::INSUFFICIENT_PRIVILEGE => {
            let message = format!("must be owner of relation {}", name.name);
            SqlError::new(state::INSUFFICIENT_PRIVILEGE, message)
        }
        _ => error,
    })
}

/// 42809 for a relation that is no composite type.
fn not_composite(name: &str) -> SqlError {
    SqlError::new(
        state::WRONG_OBJECT_TYPE,
        format!("\"{name}\" is not a composite type"),
    )
}

/// ALTER TYPE .. ADD, DROP and ALTER ATTRIBUTE.
pub(super) fn alter(alter: &AlterTable, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    let mut ty = to_change(&alter.name, context)?;
    // Nobody makes a column or a routine of the type meanwhile.
    object_locks::lock_type(Oid(ty.oid), AdvisoryMode::Exclusive, context)?;
    for command in &alter.commands {
        change(&mut ty, command, context)?;
        // After each command, which the next one is looked at with.
        write::put(StoredObject::Type(ty.clone()), context)?;
    }
    Ok(CommandTag::Word("ALTER TYPE"))
}

/// One command of ALTER TYPE.
fn change(
    ty: &mut StoredUserType,
    command: &AlterTableCommand,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let attributes = ty.attributes.as_deref().unwrap_or_default();
    let place = |name: &str| {
        attributes
            .iter()
            .position(|known| !known.dropped && known.name == name)
    };
    let required = |name: &str| place(name).ok_or_else(|| missing(name, &ty.name));
    match command {
        AlterTableCommand::AddColumn { column, .. } => {
            let new = attribute_of(column, context)?;
            if place(&new.name).is_some() {
                return Err(taken(&new.name, &ty.name));
            }
            refuse_itself(ty, &new, context)?;
            // Rows that exist have no field of this number: they read NULL.
            ty.attributes.get_or_insert_default().push(new);
            check_count(ty.attributes.as_deref().unwrap_or_default())
        }
        AlterTableCommand::DropColumn {
            column,
            if_exists,
            behavior,
        } => {
            let Some(at) = place(column) else {
                let error = missing(column, &ty.name);
                if !if_exists {
                    return Err(error);
                }
                let message = format!("{}, skipping", error.message());
                schema::notice(state::SUCCESSFUL_COMPLETION, message, context);
                return Ok(());
            };
            if *behavior == DropBehavior::Cascade {
                return Err(SqlError::unsupported("DROP ATTRIBUTE .. CASCADE"));
            }
            user_type::refuse_users_of_attribute(ty, column, "DROP ATTRIBUTE", context)?;
            // Writers of rows with the type must be over: they hold the old structure.
            lock_holders(Oid(ty.oid), context)?;
            // The number stays taken, so that stored fields are not read as something else.
            ty.attributes.get_or_insert_default()[at].dropped = true;
            Ok(())
        }
        AlterTableCommand::SetType {
            column,
            type_name,
            using,
            collation,
        } => {
            let at = required(column)?;
            if using.is_some() || collation.is_some() {
                return Err(SqlError::unsupported("COLLATE of an attribute"));
            }
            let to = mote_sql::resolve_type_name(type_name, &context.session.catalog)?;
            columns::refuse_pseudo_type(column, to)?;
            // Stored fields have the old type.
            refuse_holders(Oid(ty.oid), "type", &ty.name, context)?;
            user_type::refuse_users_of_attribute(ty, column, "ALTER ATTRIBUTE", context)?;
            let attribute = &mut ty.attributes.get_or_insert_default()[at];
            (attribute.type_oid, attribute.typmod) = (to.oid.0, to.typmod);
            let changed = attribute.clone();
            refuse_itself(ty, &changed, context)
        }
        _ => Err(SqlError::unsupported("this command of ALTER TYPE")),
    }
}

/// 42703 for an attribute, in the words that PostgreSQL has for relations.
fn missing(attribute: &str, ty: &str) -> SqlError {
    SqlError::new(
        state::UNDEFINED_COLUMN,
        format!("column \"{attribute}\" of relation \"{ty}\" does not exist"),
    )
}

/// 42701 for an attribute.
fn taken(attribute: &str, ty: &str) -> SqlError {
    SqlError::new(
        state::DUPLICATE_COLUMN,
        format!("column \"{attribute}\" of relation \"{ty}\" already exists"),
    )
}

/// Refuses a column of a relation whose values would hold rows of that relation.
pub(super) fn refuse_own_rows(relation: u32, column: Oid, context: &StatementContext<'_>) -> SqlResult<()> {
    match composite_oid(Oid(relation)) {
        Some(row) if holds(column, row, context) => Err(member_of_itself(row)),
        _ => Ok(()),
    }
}

/// 42P16: the type would hold itself.
fn member_of_itself(ty: Oid) -> SqlError {
    SqlError::new(
        state::INVALID_TABLE_DEFINITION,
        format!(
            "composite type {} cannot be made a member of itself",
            format_type(ty, -1)
        ),
    )
}

/// A row that held itself would have no end.
fn refuse_itself(
    ty: &StoredUserType,
    attribute: &StoredAttribute,
    context: &StatementContext<'_>,
) -> SqlResult<()> {
    match holds(Oid(attribute.type_oid), Oid(ty.oid), context) {
        false => Ok(()),
        true => Err(member_of_itself(Oid(ty.oid))),
    }
}

/// Is a value of type `ty` one of `wanted`, or does it have one within?
fn holds(ty: Oid, wanted: Oid, context: &StatementContext<'_>) -> bool {
    let base = ColumnType::new(ty).element().map_or(ty, |element| element.oid);
    let row = || context.session.catalog.row_type(base);
    let range = range_of(base).unwrap_or(base);
    let subtype = || context.session.catalog.user_type(range)?.subtype;
    base == wanted
        || subtype().is_some_and(|subtype| holds(subtype, wanted, context))
        || row().is_some_and(|row| {
            row.types
                .iter()
                .any(|attribute| attribute.oid != ty && holds(attribute.oid, wanted, context))
        })
}

/// ALTER TYPE .. RENAME ATTRIBUTE. Stored rows have numbers, and follow.
pub(super) fn rename_attribute(
    rename: &Rename,
    attribute: &str,
    context: &mut StatementContext<'_>,
) -> SqlResult<CommandTag> {
    let named = user_type::named(&rename.object)?;
    let name = RelationName {
        catalog: None,
        schema: named.qualifier().map(Into::into),
        name: named.last().into(),
        location: named.location,
    };
    let mut ty = to_change(&name, context)?;
    object_locks::lock_type(Oid(ty.oid), AdvisoryMode::Exclusive, context)?;
    let attributes = ty.attributes.as_deref().unwrap_or_default();
    let place = |name: &str| {
        attributes
            .iter()
            .position(|known| !known.dropped && known.name == name)
    };
    let Some(at) = place(attribute) else {
        let message = format!("column \"{attribute}\" does not exist");
        return Err(SqlError::new(state::UNDEFINED_COLUMN, message));
    };
    if place(&rename.new_name).is_some() {
        return Err(taken(&rename.new_name, &ty.name));
    }
    user_type::refuse_users_of_attribute(&ty, attribute, "RENAME ATTRIBUTE", context)?;
    ty.attributes.get_or_insert_default()[at].name = rename.new_name.to_string();
    write::put(StoredObject::Type(ty), context)?;
    Ok(CommandTag::Word("ALTER TYPE"))
}

// What holds values of a row type

/// Columns of tables that hold values of the type, alone, in arrays or within other rows.
fn holders(ty: Oid, context: &StatementContext<'_>) -> Vec<(Arc<RelationEntry>, usize)> {
    let catalog = context.session.catalog.current();
    let mut found = Vec::new();
    let tables = relations_with_rows_of(ty, &catalog).into_iter();
    for entry in tables.filter_map(|oid| catalog.relation(oid)) {
        if !entry.stored.kind.has_rows() {
            continue;
        }
        for (position, column) in entry.stored.columns.iter().enumerate() {
            if !column.dropped && holds(Oid(column.type_oid), ty, context) {
                found.push((entry.clone(), position));
            }
        }
    }
    found
}

/// Relations that have the type among their columns' types, or among the attributes of those, and so on: found by who
/// uses whom, not by looking at all.
fn relations_with_rows_of(ty: Oid, catalog: &Catalog) -> BTreeSet<Oid> {
    let mut relations = BTreeSet::new();
    let mut reached = BTreeSet::from([ty]);
    let mut open = vec![ty];
    while let Some(next) = open.pop() {
        for user in catalog.users_of(next) {
            let row = match catalog.relation(user) {
                Some(_) => {
                    relations.insert(user);
                    composite_oid(user)
                }
                None => catalog.user_type(user).map(|_| user),
            };
            open.extend(row.filter(|&row| reached.insert(row)));
        }
    }
    relations
}

/// Refuses a change that would make stored rows mean something else.
pub(super) fn refuse_holders(
    ty: Oid,
    word: &str,
    name: &str,
    context: &StatementContext<'_>,
) -> SqlResult<()> {
    match holders(ty, context).first() {
        None => Ok(()),
        Some((entry, position)) => Err(SqlError::new(
            state::FEATURE_NOT_SUPPORTED,
            format!(
                "cannot alter {word} \"{name}\" because column \"{}.{}\" uses it",
                entry.stored.name, entry.stored.columns[*position].name
            ),
        )),
    }
}

/// Waits for the statements that read values of the type by the places of their fields, and keeps others away until the
/// change is in force: they plan anew then.
pub(super) fn lock_holders(ty: Oid, context: &mut StatementContext<'_>) -> SqlResult<()> {
    for (entry, _) in holders(ty, context) {
        schema::lock_entry(&entry, TableLockMode::AccessExclusive, context)?;
    }
    Ok(())
}

/// Live columns of a table that have the row type of one of the relations, with the type as messages name it.
pub(super) fn columns_of_rows(table: &StoredRelation, relations: &[StoredRelation]) -> Vec<(usize, String)> {
    let columns = table.columns.iter().enumerate();
    let live = columns.filter(|(_, column)| !column.dropped);
    live.rev()
        .filter_map(|(position, column)| {
            let ty = ColumnType::new(Oid(column.type_oid));
            let base = ty.element().unwrap_or(ty).oid;
            let is_row = |relation: &StoredRelation| composite_oid(Oid(relation.oid)) == Some(base);
            relations
                .iter()
                .any(is_row)
                .then(|| (position, format!("type {}", ty.name())))
        })
        .collect()
}

/// Refuses to drop a relation while types are made of its rows.
pub(super) fn refuse_types_of_rows(
    relations: &[u32],
    behavior: DropBehavior,
    context: &StatementContext<'_>,
) -> SqlResult<()> {
    let catalog = context.session.catalog.current();
    for &relation in relations {
        let Some(row) = composite_oid(Oid(relation)) else {
            continue;
        };
        let Some(user) = catalog.users_of(row).find_map(|user| catalog.user_type(user)) else {
            continue;
        };
        let (name, user) = (format_type(row, -1), uses::types::described(user));
        if behavior == DropBehavior::Cascade {
            return Err(SqlError::unsupported(format_args!(
                "DROP .. CASCADE of {name}, of whose rows {user} is made"
            )));
        }
        let message = format!("cannot drop table {name} because other objects depend on it");
        return Err(SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, message)
            .detail(format!("{user} depends on type {name}"))
            .hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    Ok(())
}
