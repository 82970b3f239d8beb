//! DROP FUNCTION, PROCEDURE, ROUTINE.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlResult};
use mote_grammar::ast::{Drop, DropBehavior};

use super::super::{drop as drop_object, extension, schema, user_type};
use super::dependents::{dependents, described};
use super::find::{look_up_held, missing, require_owner, shown, signature_of, word};
use mote_catalog::catalog_store::RoutineEntry;
use mote_catalog::tag::CommandTag;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

/// DROP FUNCTION, PROCEDURE and ROUTINE. All that are named go together: what they need of one another does not
/// count.
pub(in super::super) fn drop(drop: &Drop, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    let mut dropped: Vec<Arc<RoutineEntry>> = Vec::with_capacity(drop.objects.len());
    for object in &drop.objects {
        let signature = signature_of(object)?;
        // Held as soon as it is found, so that what depends on it is looked for once nobody changes it.
        let Some(entry) = look_up_held(signature, drop.kind, context)? else {
            if !drop.if_exists {
                return Err(missing(signature, drop.kind, context));
            }
            let message = format!(
                "{} {} does not exist, skipping",
                word(drop.kind),
                shown(signature, context)
            );
            schema::notice(state::SUCCESSFUL_COMPLETION, message, context);
            continue;
        };
        require_owner(&entry.stored, context)?;
        extension::refuse_member(entry.stored.oid, || described(&entry, context), context)?;
        user_type::refuse_constructor(entry.stored.oid, || described(&entry, context), context)?;
        dropped.push(entry);
    }
    if let [first, rest @ ..] = dropped.as_slice() {
        let subject = match rest {
            [] => described(first, context),
            _ => "desired object(s)".to_string(),
        };
        drop_all(&dropped, &subject, drop.behavior, context)?;
    }
    Ok(CommandTag::Word(drop_object::command_name(drop.kind)))
}

/// Drops routines and, with CASCADE, what uses them.
pub(in super::super) fn drop_all(
    dropped: &[Arc<RoutineEntry>],
    subject: &str,
    behavior: DropBehavior,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let found = dependents(dropped, context)?;
    let descriptions: Vec<(String, String)> = found
        .iter()
        .map(|(dependent, on)| (dependent.described(context), described(on, context)))
        .collect();
    if !descriptions.is_empty() && behavior == DropBehavior::Restrict {
        return Err(drop_object::refused(subject, &descriptions));
    }
    drop_object::cascade_notice(&descriptions, context);
    // What depends on a routine goes before it.
    for (dependent, _) in found {
        dependent.remove(context)?;
    }
    for entry in dropped {
        let oid = Oid(entry.stored.oid);
        write::hold(oid, context)?;
        // Whom we waited for may have dropped it; what else became of it does not matter.
        if context.session.catalog.current().routine(oid).is_some() {
            write::remove(oid, context)?;
        }
    }
    Ok(())
}
