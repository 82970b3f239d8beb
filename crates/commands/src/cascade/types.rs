//! Types of users with what uses them (`uses::types`), and columns that go along.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::AdvisoryMode;
use mote_grammar::ast::{DropBehavior, deparse};
use mote_types::catalog::user::user_multirange_of;
use mote_types::format_type;

use crate::uses::types::User;
use crate::utility::Issued;
use crate::{cascade, composite_type, dropping, internal, schema, uses};
use mote_catalog::catalog_store::stored::{StoredExtension, StoredObject};
use mote_catalog::catalog_store::{RelationEntry, TypeEntry};
use mote_executor::catalog_change::{object_locks, write};
use mote_executor::context::StatementContext;

/// Drops types and, with CASCADE, what uses them.
pub(crate) fn drop_all(
    types: &[Arc<TypeEntry>],
    subject: &str,
    behavior: DropBehavior,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let named: Vec<u32> = types.iter().map(|entry| entry.stored.oid).collect();
    let mut oids = named.clone();
    let multiranges = oids.iter().filter_map(|&oid| user_multirange_of(Oid(oid)));
    let multiranges: Vec<u32> = multiranges.map(|oid| oid.0).collect();
    oids.extend(&multiranges);
    oids.sort_unstable();
    oids.dedup();
    for &oid in &oids {
        // Nobody makes anything of the types from here on, and nobody changes them.
        object_locks::lock_type(Oid(oid), AdvisoryMode::Exclusive, context)?;
        schema::reserve_name(Oid(oid), "change", context)?;
        if context.session.catalog.current().user_type(Oid(oid)).is_none() {
            let message = format!("type with OID {oid} does not exist");
            return Err(SqlError::new(state::UNDEFINED_OBJECT, message));
        }
    }
    // Multiranges stand in front, where they are told with their ranges.
    let found = uses::types::users(&[multiranges, named].concat(), context)?;
    drop_found(found, subject, behavior, context)?;
    let catalog = context.session.catalog.current();
    let ranges = oids
        .iter()
        .filter_map(|&oid| catalog.user_type(Oid(oid))?.stored.range.clone());
    let constructors: Vec<u32> = ranges
        .flat_map(|range| range.all_constructors().collect::<Vec<_>>())
        .collect();
    for oid in oids {
        write::remove(Oid(oid), context)?;
    }
    for oid in constructors {
        write::hold(Oid(oid), context)?;
        if context.session.catalog.current().routine(Oid(oid)).is_some() {
            write::remove(Oid(oid), context)?;
        }
    }
    Ok(())
}

/// Drops what uses the types of an extension, but its members, where CASCADE says so.
pub(crate) fn drop_users(
    types: &[u32],
    extension: &StoredExtension,
    subject: &str,
    behavior: DropBehavior,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    for &oid in types {
        object_locks::lock_type(Oid(oid), AdvisoryMode::Exclusive, context)?;
    }
    let mut found = uses::types::users(types, context)?;
    let catalog = context.session.catalog.current();
    // The types are those of all databases.
    let here = |schema: u32| {
        let schema = catalog.schemas.get(&Oid(schema));
        schema.is_some_and(|schema| schema.object.database == extension.database)
    };
    found.retain(|(user, _)| match user {
        User::Column(entry, _) | User::View(entry) => here(entry.stored.schema),
        User::Routine(entry) => here(entry.stored.schema) && !extension.members.contains(&entry.stored.oid),
        User::Domain(entry) | User::Attribute(entry, _) => here(entry.stored.schema),
        User::Cast(cast) => cast.database == extension.database,
        User::Expression(dependent) => here(dependent.schema()),
    });
    drop_found(found, subject, behavior, context)
}

/// Drops a column with what depends on it, unless it went already.
pub(crate) fn remove_column(
    entry: &RelationEntry,
    position: usize,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let current = context.session.catalog.current();
    let Some(now) = current.relation(Oid(entry.stored.oid)) else {
        return Ok(());
    };
    if now.stored.columns[position].dropped {
        return Ok(());
    }
    // By way of ALTER TABLE, which knows all that depends on a column.
    let text = format!(
        "ALTER TABLE {} DROP COLUMN {} CASCADE",
        schema::qualified_name(&now.stored, context),
        deparse::identifier(&now.stored.columns[position].name)
    );
    let parsed = internal::parse(&text, context)?;
    let issued = Issued {
        text: &text.into(),
        in_block: true,
    };
    crate::of(&parsed.statement).run(issued, context).map(|_| ())
}

/// Takes users of types away with CASCADE, and refuses otherwise.
pub(crate) fn drop_found(
    found: Vec<(User, u32)>,
    subject: &str,
    behavior: DropBehavior,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let descriptions: Vec<(String, String)> = found
        .iter()
        .map(|(user, ty)| {
            let on = format!("type {}", format_type(Oid(*ty), -1));
            (user.described(context), on)
        })
        .collect();
    if !descriptions.is_empty() && behavior == DropBehavior::Restrict {
        return Err(dropping::refused(subject, &descriptions));
    }
    dropping::cascade_notice(&descriptions, context);
    // What is made of others before what it is made of.
    for (user, _) in found.into_iter().rev() {
        remove_user(user, context)?;
    }
    Ok(())
}

/// Takes it away, as CASCADE does, unless it went with something else.
pub(crate) fn remove_user(user: User, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let current = context.session.catalog.current();
    match user {
        User::Column(entry, position) => remove_column(&entry, position, context),
        User::View(entry) => match current.relation(Oid(entry.stored.oid)) {
            Some(_) => cascade::relations::remove_view(Oid(entry.stored.oid), context),
            None => Ok(()),
        },
        User::Routine(entry) => match current.routine(Oid(entry.stored.oid)).cloned() {
            Some(entry) => {
                let subject = uses::texts::described(&entry, context);
                cascade::routines::drop_all(&[entry], &subject, DropBehavior::Cascade, context)
            }
            None => Ok(()),
        },
        User::Expression(dependent) => cascade::routines::remove_dependent(dependent, context),
        User::Cast(cast) => cascade::routines::remove_cast(Oid(cast.oid), context),
        User::Attribute(entry, position) => {
            let Some(now) = current.user_type(Oid(entry.stored.oid)) else {
                return Ok(());
            };
            let mut ty = now.stored.clone();
            composite_type::lock_holders(Oid(ty.oid), context)?;
            ty.attributes.get_or_insert_default()[position].dropped = true;
            write::put(StoredObject::Type(ty), context)
        }
        User::Domain(entry) => match current.user_type(Oid(entry.stored.oid)) {
            Some(_) => drop_all(&[entry], "", DropBehavior::Cascade, context),
            None => Ok(()),
        },
    }
}
