//! DROP CAST and COMMENT ON CAST.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_grammar::ast::{Drop, ObjectReference, TypeName};

use super::{described, exists, find, is_builtin, meanings, of_range, require_owner, resolve, written};
use crate::uses::casts;
use crate::{schema, uses};
use mote_catalog::catalog_store::stored::{StoredCast, StoredObject};
use mote_catalog::tag::CommandTag;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

/// DROP CAST. Nothing depends on a cast: what it converted calls its function.
pub(crate) fn drop(drop: &Drop, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    for object in &drop.objects {
        let (source, target) = sides(object)?;
        if drop.if_exists
            && let Some(message) = absent(source, target, context)?
        {
            schema::notice(
                state::SUCCESSFUL_COMPLETION,
                format!("{message}, skipping"),
                context,
            );
            continue;
        }
        let stored = to_change(source, target, "drop", context)?;
        meanings::keep("DROP CAST", context, |context| {
            write::remove(Oid(stored.oid), context)
        })?;
    }
    Ok(CommandTag::Word("DROP CAST"))
}

pub(crate) fn comment(
    object: &ObjectReference,
    text: Option<String>,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let (source, target) = sides(object)?;
    let mut stored = to_change(source, target, "comment on", context)?;
    stored.comment = text;
    write::put(StoredObject::Cast(stored), context)
}

fn sides(object: &ObjectReference) -> SqlResult<(&TypeName, &TypeName)> {
    match object {
        ObjectReference::Cast { source, target } => Ok((source, target)),
        _ => Err(SqlError::internal("a cast is named by its types")),
    }
}

/// What there is not, as IF EXISTS tells it.
fn absent(source: &TypeName, target: &TypeName, context: &StatementContext<'_>) -> SqlResult<Option<String>> {
    let mut types = Vec::with_capacity(2);
    for name in [source, target] {
        match resolve(name, context) {
            Ok(ty) => types.push(ty),
            Err(error) if error.state() == state::UNDEFINED_OBJECT => {
                return Ok(Some(format!("type \"{}\" does not exist", written(name))));
            }
            Err(error) if error.state() == state::INVALID_SCHEMA_NAME => {
                return Ok(Some(error.message().to_string()));
            }
            Err(error) => return Err(error),
        }
    }
    let (from, to) = (types[0], types[1]);
    Ok((!exists(from, to, context)).then(|| {
        let (source, target) = (written(source), written(target));
        format!("cast from type {source} to type {target} does not exist")
    }))
}

/// The cast between two types, to be changed by who owns one of them.
fn to_change(
    source: &TypeName,
    target: &TypeName,
    what: &str,
    context: &mut StatementContext<'_>,
) -> SqlResult<StoredCast> {
    let (source, target) = (resolve(source, context)?, resolve(target, context)?);
    let missing = || {
        let message = format!("{} does not exist", described(source, target));
        SqlError::new(state::UNDEFINED_OBJECT, message)
    };
    let Some(found) = find(source, target, context) else {
        if !is_builtin(source, target) && !of_range(source, target, context) {
            return Err(missing());
        }
        require_owner(source, target, context)?;
        return Err(refused(source, target, what, context));
    };
    require_owner(source, target, context)?;
    write::hold(Oid(found.oid), context)?;
    // Dropped while we waited.
    find(source, target, context).ok_or_else(missing)
}

/// What came with the database, or with a range type, stays.
fn refused(source: Oid, target: Oid, what: &str, context: &StatementContext<'_>) -> SqlError {
    let cast = casts::between(source, target);
    if what != "drop" {
        return SqlError::unsupported(format_args!("a comment on {cast}"));
    }
    let catalog = &context.session.catalog;
    let constructor = catalog.current().user_type(source).and_then(|entry| {
        let range = entry.stored.range.as_ref()?;
        let routine = *range.multirange_constructors.get(1)?;
        catalog.current().routine(Oid(routine)).cloned()
    });
    match constructor {
        Some(entry) => {
            let function = uses::texts::described(&entry, context);
            let message = format!("cannot drop {cast} because {function} requires it");
            SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, message)
                .hint(format!("You can drop {function} instead."))
        }
        None => {
            let message = format!("cannot drop {cast} because it is required by the database system");
            SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, message)
        }
    }
}
