//! DROP FUNCTION, PROCEDURE, ROUTINE.

use std::sync::Arc;

use mote_common::SqlResult;
use mote_common::error::state;
use mote_grammar::ast::Drop;

use crate::{cascade, dropping, extension_members, function, schema, user_type, uses};
use mote_catalog::catalog_store::RoutineEntry;
use mote_catalog::tag::CommandTag;
use mote_executor::context::StatementContext;

/// DROP FUNCTION, PROCEDURE and ROUTINE. All that are named go together: what they need of one another does not
/// count.
pub(crate) fn drop(drop: &Drop, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    let mut dropped: Vec<Arc<RoutineEntry>> = Vec::with_capacity(drop.objects.len());
    for object in &drop.objects {
        let signature = function::find::signature_of(object)?;
        // Held as soon as it is found, so that what depends on it is looked for once nobody changes it.
        let Some(entry) = function::find::look_up_held(signature, drop.kind, context)? else {
            if !drop.if_exists {
                return Err(function::find::missing(signature, drop.kind, context));
            }
            let message = format!(
                "{} {} does not exist, skipping",
                function::find::word(drop.kind),
                function::find::shown(signature, context)
            );
            schema::notice(state::SUCCESSFUL_COMPLETION, message, context);
            continue;
        };
        function::find::require_owner(&entry.stored, context)?;
        extension_members::refuse_member(
            entry.stored.oid,
            || uses::texts::described(&entry, context),
            context,
        )?;
        user_type::refuse_constructor(
            entry.stored.oid,
            || uses::texts::described(&entry, context),
            context,
        )?;
        dropped.push(entry);
    }
    if let [first, rest @ ..] = dropped.as_slice() {
        let subject = match rest {
            [] => uses::texts::described(first, context),
            _ => "desired object(s)".to_string(),
        };
        cascade::routines::drop_all(&dropped, &subject, drop.behavior, context)?;
    }
    Ok(CommandTag::Word(dropping::command_name(drop.kind)))
}
