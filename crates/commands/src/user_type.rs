//! Types of users as objects: their names, owners and comments, and what refuses a change of them.
//!
//! A type is locked by its OID (`object_locks::lock_type`): shared by who makes something of it, exclusively by DROP. Columns,
//! arguments and results depend on a type by OID; expressions are kept as text and bound again to see (`uses`).
//! PostgreSQL: typecmds.c. Leaves out: what is inside of a type (`enum_type`, `composite_type`, ..), and DROP (`drop`).

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult, SqlState};
use mote_grammar::ast::{
    AlterObjectSchema, AlterOwner, ObjectKind, ObjectReference, QualifiedName, Rename, TypeName, deparse,
};
use mote_sql::access::privilege;
use mote_sql::catalog::CatalogView;
use mote_sql::catalog::array_names::element_of_array_named;
use mote_sql::expr::Expr;
use mote_types::catalog::extension::extension_type;
use mote_types::catalog::user::{is_user_type, user_multirange_of, user_range_of};
use mote_types::{ColumnType, Datum, format_type, type_by_name};

use super::acl::AclKind;
use super::{acl, dropping, new_privileges, ownership, privileges, schema, uses};
use crate::uses::texts::Search;
use crate::uses::types::User;
use mote_catalog::catalog_store::stored::{StoredKind, StoredLabel, StoredObject, StoredUserType};
use mote_catalog::catalog_store::{RelationEntry, Revision, TypeEntry};
use mote_catalog::tag::CommandTag;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

const INVALID_GRANT_OPERATION: SqlState = SqlState::new("0LP01");

/// The tag of an ALTER about a type.
fn alter_tag(kind: ObjectKind) -> CommandTag {
    CommandTag::Word(match kind {
        ObjectKind::Domain => "ALTER DOMAIN",
        _ => "ALTER TYPE",
    })
}

/// A statement about domains is about nothing else.
pub(super) fn require_kind(kind: ObjectKind, ty: &StoredUserType) -> SqlResult<()> {
    if kind == ObjectKind::Domain && ty.domain.is_none() {
        let message = format!("\"{}\" is not a domain", ty.name);
        return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
    }
    Ok(())
}

/// Reserves the name of a new type. Tables share the name space: their rows have types too.
pub(super) fn claim_name(schema: Oid, name: &str, context: &mut StatementContext<'_>) -> SqlResult<()> {
    schema::reserve_name(schema, name, context)?;
    if is_taken(schema, name, context) {
        let message = format!("type \"{name}\" already exists");
        return Err(SqlError::new(state::DUPLICATE_OBJECT, message));
    }
    displace_array(schema, name, context)
}

/// The array type that is called so takes another name, unless a text that is kept calls it by this one.
fn displace_array(schema: Oid, name: &str, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let catalog = context.session.catalog.current();
    match element_of_array_named(name, |name| catalog.type_named(schema, name)) {
        Some(element) => refuse_named_users(element, name, "a new type in the place", &[], context),
        None => Ok(()),
    }
}

/// A type of the current user that is nothing yet: an enum, a domain or a composite type by what its command adds. `number`
/// turns the number of an object into the OID of a type of that kind, of which there are fewer.
pub(super) fn new_type(
    number: fn(Oid) -> Option<Oid>,
    schema: Oid,
    name: &str,
    context: &StatementContext<'_>,
) -> SqlResult<StoredUserType> {
    let oid = number(context.session.catalog.store().allocate_oid()).ok_or_else(|| {
        SqlError::new(
            state::PROGRAM_LIMIT_EXCEEDED,
            "there are no numbers left for types",
        )
    })?;
    Ok(StoredUserType {
        revision: Revision::default(),
        oid: oid.0,
        schema: schema.0,
        name: name.to_string(),
        owner: context.session.identity().user_oid.0,
        labels: Vec::new(),
        domain: None,
        attributes: None,
        range: None,
        acl: new_privileges::of_new(
            AclKind::Type,
            context.session.identity().user_oid.0,
            schema,
            context,
        ),
        comment: None,
    })
}

/// Whether a type of the name is there, or a relation whose rows have it.
fn is_taken(schema: Oid, name: &str, context: &StatementContext<'_>) -> bool {
    let catalog = context.session.catalog.current();
    let has_rows = |relation: &Arc<RelationEntry>| relation.stored.kind != StoredKind::Sequence;
    let relation = catalog.name(schema, name).and_then(|oid| catalog.relation(oid));
    relation.is_some_and(has_rows)
        || catalog.extension_type_named(schema, name).is_some()
        || catalog.user_type_named(schema, name).is_some()
}

/// A user's type by its name.
pub(super) fn find(name: &QualifiedName, context: &StatementContext<'_>) -> Option<Arc<TypeEntry>> {
    let catalog = &context.session.catalog;
    let found = catalog.user_type_named(name.qualifier(), name.last())?;
    catalog.current().user_type(found.oid).cloned()
}

/// A type of an extension goes with that alone.
pub(super) fn refuse_extended(
    name: &QualifiedName,
    what: &str,
    context: &StatementContext<'_>,
) -> SqlResult<()> {
    let catalog = &context.session.catalog;
    let Some(found) = catalog.user_type_named(name.qualifier(), name.last()) else {
        return Ok(());
    };
    let Some(ty) = extension_type(found.oid) else {
        return Ok(());
    };
    let (extension, name) = (ty.extension, format_type(ty.oid, -1));
    match what {
        "drop" => {
            let message = format!("cannot drop type {name} because extension {extension} requires it");
            Err(SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, message)
                .hint(format!("You can drop extension {extension} instead.")))
        }
        _ => Err(SqlError::unsupported(format_args!(
            "a {what} of type {name} of an extension"
        ))),
    }
}

pub(super) fn missing(name: &QualifiedName) -> SqlError {
    SqlError::new(
        state::UNDEFINED_OBJECT,
        format!("type \"{}\" does not exist", name.parts.join(".")),
    )
}

/// The type of this name, for its owner, locked against other changes.
pub(super) fn to_change(
    name: &QualifiedName,
    context: &mut StatementContext<'_>,
) -> SqlResult<StoredUserType> {
    let Some(entry) = find(name, context) else {
        // A type of the system is told as what it is not, rather than as unknown.
        refuse_extended(name, "change", context)?;
        let builtin = match name.qualifier() {
            None | Some("pg_catalog") => type_by_name(name.last()),
            Some(_) => None,
        };
        return Err(match builtin {
            Some(ty) => SqlError::new(
                state::WRONG_OBJECT_TYPE,
                format!("{} is not an enum", format_type(ty, -1)),
            ),
            None => missing(name),
        });
    };
    let oid = Oid(entry.stored.oid);
    // Whoever changes it after us must see what we made of it.
    schema::reserve_name(oid, "change", context)?;
    let catalog = context.session.catalog.current();
    let entry = catalog.user_type(oid).ok_or_else(|| missing(name))?;
    require_owner(&entry.stored, context)?;
    Ok(entry.stored.clone())
}

/// The type of this name, whose privileges are to be changed, locked against other changes.
pub(super) fn to_grant_on(
    name: &QualifiedName,
    kind: ObjectKind,
    context: &mut StatementContext<'_>,
) -> SqlResult<StoredUserType> {
    let type_of = |last: &str| mote_sql::bind::named_type(name.qualifier(), last, &context.session.catalog);
    // Arrays over types of users bear no name that is looked up.
    let own = type_of(name.last());
    let element = || mote_sql::bind::array_element(name.qualifier(), name.last(), &context.session.catalog);
    let found = own.or_else(element).ok_or_else(|| missing(name))?;
    if own.is_none() || ColumnType::new(found).element().is_some() {
        return Err(
            SqlError::new(INVALID_GRANT_OPERATION, "cannot set privileges of array types")
                .hint("Set the privileges of the element type instead."),
        );
    }
    schema::reserve_name(found, "change", context)?;
    let catalog = context.session.catalog.current();
    let Some(entry) = catalog.user_type(found) else {
        return Err(match is_user_type(found) {
            true => SqlError::unsupported("GRANT on the row type of a table"),
            false => SqlError::unsupported("GRANT on a built-in type"),
        });
    };
    require_kind(kind, &entry.stored)?;
    Ok(entry.stored.clone())
}

/// 42501 for whoever is not a member of the type's owner.
pub(super) fn require_owner(ty: &StoredUserType, context: &StatementContext<'_>) -> SqlResult<()> {
    if privileges::is_member(&context.session.catalog, Oid(ty.owner)) {
        return Ok(());
    }
    Err(SqlError::new(
        state::INSUFFICIENT_PRIVILEGE,
        format!("must be owner of type {}", format_type(Oid(ty.oid), -1)),
    ))
}

/// The name in a statement about a type.
pub(super) fn named(object: &ObjectReference) -> SqlResult<&QualifiedName> {
    match object {
        ObjectReference::Name(name) => Ok(name),
        ObjectReference::Type(TypeName { name, .. }) => Ok(name),
        _ => Err(SqlError::internal("a type has a name")),
    }
}

/// ALTER TYPE .. RENAME TO.
pub(super) fn rename(rename: &Rename, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    let mut ty = to_change(named(&rename.object)?, context)?;
    require_kind(rename.kind, &ty)?;
    claim_name(Oid(ty.schema), &rename.new_name, context)?;
    refuse_named_users(Oid(ty.oid), &ty.name, "RENAME", &[], context)?;
    ty.name = rename.new_name.to_string();
    write::put(StoredObject::Type(ty), context)?;
    Ok(alter_tag(rename.kind))
}

/// ALTER TYPE .. OWNER TO.
pub(super) fn owner(alter: &AlterOwner, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    let mut ty = to_change(named(&alter.object)?, context)?;
    require_kind(alter.kind, &ty)?;
    let new = schema::role_oid(&alter.owner, context)?;
    if ty.owner != new.0 {
        privileges::require_member(&context.session.catalog, new)?;
        ownership::require_schema(ty.schema, new, context)?;
        acl::change_owner(&mut ty.acl, ty.owner, new.0);
        ty.owner = new.0;
        let multirange = user_multirange_of(Oid(ty.oid));
        write::put(StoredObject::Type(ty), context)?;
        // The owner of a range owns its multirange.
        if let Some(mut multirange) = multirange
            .and_then(|oid| held(oid, context).transpose())
            .transpose()?
        {
            acl::change_owner(&mut multirange.acl, multirange.owner, new.0);
            multirange.owner = new.0;
            write::put(StoredObject::Type(multirange), context)?;
        }
    }
    Ok(alter_tag(alter.kind))
}

/// A type once nobody else can change it, if it is there.
fn held(oid: Oid, context: &mut StatementContext<'_>) -> SqlResult<Option<StoredUserType>> {
    schema::reserve_name(oid, "change", context)?;
    let catalog = context.session.catalog.current();
    Ok(catalog.user_type(oid).map(|entry| entry.stored.clone()))
}

/// ALTER TYPE .. SET SCHEMA.
pub(super) fn set_schema(
    alter: &AlterObjectSchema,
    context: &mut StatementContext<'_>,
) -> SqlResult<CommandTag> {
    let mut ty = to_change(named(&alter.object)?, context)?;
    require_kind(alter.kind, &ty)?;
    let target = context.session.catalog.schema_oid(&alter.schema).ok_or_else(|| {
        SqlError::new(
            state::INVALID_SCHEMA_NAME,
            format!("schema \"{}\" does not exist", alter.schema),
        )
    })?;
    privileges::require_schema(&context.session.catalog, target, privilege::CREATE)?;
    if ty.schema == target.0 {
        return Ok(alter_tag(alter.kind));
    }
    schema::reserve_name(target, &ty.name, context)?;
    let catalog = context.session.catalog.current();
    // Only CREATE and RENAME make an array step aside.
    let array = element_of_array_named(&ty.name, |name| catalog.type_named(target, name));
    if array.is_some() || is_taken(target, &ty.name, context) {
        let message = format!(
            "type \"{}\" already exists in schema \"{}\"",
            ty.name, alter.schema
        );
        return Err(SqlError::new(state::DUPLICATE_OBJECT, message));
    }
    // Texts that are kept name the type with its schema.
    refuse_named_users(Oid(ty.oid), &ty.name, "SET SCHEMA", &[], context)?;
    ty.schema = target.0;
    write::put(StoredObject::Type(ty), context)?;
    Ok(alter_tag(alter.kind))
}

/// COMMENT ON TYPE and DOMAIN.
pub(super) fn comment(
    object: &ObjectReference,
    text: Option<String>,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let mut ty = to_change(named(object)?, context)?;
    ty.comment = text;
    write::put(StoredObject::Type(ty), context)
}

// What depends on a type

/// Refuses a change after which texts that are kept would name the type in vain. `members` go with the type.
pub(super) fn refuse_named_users(
    ty: Oid,
    type_name: &str,
    what: &str,
    members: &[u32],
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let quoted = deparse::identifier(type_name);
    let names = |text: &str| text.contains(&quoted);
    // By the index over names that stand in texts, then by what is bound.
    let oid = ty.0;
    let catalog = context.session.catalog.current();
    let found = uses::texts::in_expressions(
        &Search {
            may_name: &names,
            find: &|expr| uses::types::part_of(expr, &[oid]).then_some(()),
        },
        &catalog.naming(type_name).into_iter().collect(),
        context,
    )?;
    let refused = |user: String| {
        Err(SqlError::unsupported(format_args!(
            "{what} of type {type_name} that {user} names"
        )))
    };
    if let Some((dependent, ())) = found.first() {
        return refused(dependent.described(context));
    }
    for entry in uses::views::dependents(ty, context) {
        if entry.stored.view_query.as_deref().is_some_and(names) {
            return refused(dropping::described(&entry.stored, context));
        }
    }
    // Bodies in SQL's own syntax are kept as text, too.
    let naming = catalog.naming(type_name);
    let naming = naming.iter().filter(|oid| !members.contains(&oid.0));
    for entry in naming.filter_map(|&oid| catalog.routine(oid)) {
        if entry.stored.standard_body && names(&entry.stored.body) {
            return refused(uses::texts::described(entry, context));
        }
    }
    Ok(())
}

/// Refuses to rename a value whose label stands in a text that is kept.
pub(super) fn refuse_users_of_value(
    ty: &StoredUserType,
    value: &StoredLabel,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let literal = value.label.replace('\'', "''");
    let names = |text: &str| text.contains(&literal);
    let (oid, key) = (ty.oid, value.key);
    let is_value = |datum: &Datum| matches!(datum, Datum::Enum(known) if *known == key);
    let find = |expr: &Expr| {
        let mut found = false;
        expr.visit(&mut |part| {
            found |= match part {
                Expr::Constant(Datum::Array(array), _) => {
                    array.element.0 == oid && array.elements.iter().any(is_value)
                }
                Expr::Constant(datum, known) => known.oid.0 == oid && is_value(datum),
                // A text that is read as a value when it runs.
                Expr::Cast { ty, .. } => uses::types::is_or_holds(ty.oid, &[oid]),
                _ => false,
            };
        });
        found.then_some(())
    };
    let search = Search {
        may_name: &names,
        find: &find,
    };
    let refused = |user: String| {
        Err(SqlError::unsupported(format_args!(
            "RENAME VALUE of \"{}\", which {user} names",
            value.label
        )))
    };
    let naming = context.session.catalog.current().naming(&value.label);
    let candidates = naming.into_iter().collect();
    if let Some((dependent, ())) = uses::texts::in_expressions(&search, &candidates, context)?.first() {
        return refused(dependent.described(context));
    }
    // A view depends on every type whose values it names.
    for entry in uses::views::dependents(Oid(oid), context) {
        if entry.stored.view_query.as_deref().is_some_and(names) {
            return refused(dropping::described(&entry.stored, context));
        }
    }
    Ok(())
}

/// Refuses a change of an attribute that a text names which is kept. PostgreSQL would make views follow a new name.
pub(super) fn refuse_users_of_attribute(
    ty: &StoredUserType,
    attribute: &str,
    what: &str,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let quoted = deparse::identifier(attribute);
    let names = |text: &str| text.contains(&quoted);
    let refused = |user: String| {
        Err(SqlError::unsupported(format_args!(
            "{what} of {attribute}, which {user} may name"
        )))
    };
    for entry in uses::views::dependents(Oid(ty.oid), context) {
        if entry.stored.view_query.as_deref().is_some_and(names) {
            return refused(dropping::described(&entry.stored, context));
        }
    }
    for (user, _) in uses::types::other_users(&[ty.oid], context)? {
        match &user {
            User::Expression(_) => return refused(user.described(context)),
            User::Routine(entry) if entry.stored.standard_body && names(&entry.stored.body) => {
                return refused(user.described(context));
            }
            User::View(entry) if entry.stored.view_query.as_deref().is_some_and(names) => {
                return refused(user.described(context));
            }
            _ => {}
        }
    }
    Ok(())
}

/// 2BP01 for what goes with a type only.
pub(super) fn required_by(what: &str, ty: Oid) -> SqlError {
    let ty = format_type(ty, -1);
    let message = format!("cannot drop {what} because type {ty} requires it");
    SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, message)
        .hint(format!("You can drop type {ty} instead."))
}

/// The functions that make values of a range type, or of its multirange type, go with the type.
pub(super) fn refuse_constructor(
    routine: u32,
    described: impl FnOnce() -> String,
    context: &StatementContext<'_>,
) -> SqlResult<()> {
    match uses::types::type_of_constructor(routine, &context.session.catalog.current()) {
        Some(ty) => Err(required_by(&described(), ty)),
        None => Ok(()),
    }
}

/// What DROP SCHEMA and DROP OWNED do not name: it goes with a range type.
pub(super) fn is_part_of_range(oid: u32, context: &StatementContext<'_>) -> bool {
    user_range_of(Oid(oid)).is_some()
        || uses::types::type_of_constructor(oid, &context.session.catalog.current()).is_some()
}

/// The types of a schema, in order of making.
pub(super) fn in_schema(schema: u32, context: &StatementContext<'_>) -> Vec<Arc<TypeEntry>> {
    let catalog = context.session.catalog.current();
    let types = catalog.types_using(Oid(schema));
    types
        .filter(|entry| entry.stored.schema == schema)
        .cloned()
        .collect()
}

/// Views name types with their schema.
pub(super) fn refuse_renamed_schema(schema: u32, context: &mut StatementContext<'_>) -> SqlResult<()> {
    for entry in in_schema(schema, context) {
        let (oid, name) = (Oid(entry.stored.oid), &entry.stored.name);
        refuse_named_users(oid, name, "RENAME of the schema", &[], context)?;
    }
    Ok(())
}
