//! DROP TYPE and DROP DOMAIN.

use mote_common::error::state;
use mote_common::{Oid, SqlResult};
use mote_grammar::ast::{Drop, ObjectReference};
use mote_sql::catalog::CatalogView;
use mote_types::catalog::user::user_range_of;

use crate::{cascade, dropping, schema, user_type, uses};
use mote_catalog::catalog_store::TypeEntry;
use mote_catalog::tag::CommandTag;
use mote_executor::context::StatementContext;

/// DROP TYPE and DROP DOMAIN.
pub(crate) fn drop(drop: &Drop, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    let mut types = Vec::with_capacity(drop.objects.len());
    for object in &drop.objects {
        let name = user_type::named(object)?;
        let Some(entry) = user_type::find(name, context) else {
            user_type::refuse_extended(name, "drop", context)?;
            if !drop.if_exists {
                return Err(user_type::missing(name));
            }
            let message = match name.qualifier() {
                Some(schema) if !context.session.catalog.schema_exists(schema) => {
                    format!("schema \"{schema}\" does not exist, skipping")
                }
                _ => format!("{}, skipping", user_type::missing(name).message()),
            };
            schema::notice(state::SUCCESSFUL_COMPLETION, message, context);
            continue;
        };
        user_type::require_kind(drop.kind, &entry.stored)?;
        user_type::require_owner(&entry.stored, context)?;
        refuse_multirange(&entry, &drop.objects, context)?;
        types.push(entry);
    }
    if let [first, rest @ ..] = types.as_slice() {
        let subject = match rest {
            [] => uses::types::described(first),
            _ => dropping::SEVERAL.to_string(),
        };
        cascade::types::drop_all(&types, &subject, drop.behavior, context)?;
    }
    Ok(CommandTag::Word(dropping::command_name(drop.kind)))
}

/// A multirange type goes with its range type only.
fn refuse_multirange(
    entry: &TypeEntry,
    dropped: &[ObjectReference],
    context: &StatementContext<'_>,
) -> SqlResult<()> {
    let Some(range) = user_range_of(Oid(entry.stored.oid)) else {
        return Ok(());
    };
    let mut named = dropped
        .iter()
        .filter_map(|object| user_type::find(user_type::named(object).ok()?, context));
    if named.any(|entry| entry.stored.oid == range.0) {
        return Ok(());
    }
    Err(user_type::required_by(&uses::types::described(entry), range))
}
