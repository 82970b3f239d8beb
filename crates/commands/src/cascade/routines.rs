//! Routines with what uses them (`uses::texts`).

use std::sync::Arc;

use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::TableLockMode;
use mote_grammar::ast::DropBehavior;

use crate::uses::texts::Dependent;
use crate::{cascade, dropping, schema, trigger_clones, uses};
use mote_catalog::catalog_store::RoutineEntry;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

/// Drops routines and, with CASCADE, what uses them.
pub(crate) fn drop_all(
    dropped: &[Arc<RoutineEntry>],
    subject: &str,
    behavior: DropBehavior,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let found = uses::texts::dependents(dropped, context)?;
    let descriptions: Vec<(String, String)> = found
        .iter()
        .map(|(dependent, on)| (dependent.described(context), uses::texts::described(on, context)))
        .collect();
    if !descriptions.is_empty() && behavior == DropBehavior::Restrict {
        return Err(dropping::refused(subject, &descriptions));
    }
    dropping::cascade_notice(&descriptions, context);
    // What depends on a routine goes before it.
    for (dependent, _) in found {
        remove_dependent(dependent, context)?;
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

/// Takes it away, as CASCADE does.
pub(crate) fn remove_dependent(dependent: Dependent, context: &mut StatementContext<'_>) -> SqlResult<()> {
    match dependent {
        Dependent::View(entry) => cascade::relations::remove_view(Oid(entry.stored.oid), context),
        Dependent::Routine(entry) => write::remove(Oid(entry.stored.oid), context),
        Dependent::Type(entry) => cascade::types::drop_all(&[entry], "", DropBehavior::Cascade, context),
        Dependent::Cast(cast) => remove_cast(Oid(cast.oid), context),
        // The column would have to go with all that depends on it.
        Dependent::Generated(..) => Err(SqlError::unsupported(
            "DROP FUNCTION .. CASCADE of a function that a generated column calls",
        )),
        Dependent::Default(entry, position) => {
            // Each table is locked when its turn comes; `change` takes it as it is then.
            schema::lock_entry(&entry, TableLockMode::AccessExclusive, context)?;
            dropping::change(&entry, context, |relation| {
                relation.columns[position].default = None
            })
        }
        Dependent::Trigger(entry, name) => {
            schema::lock_entry(&entry, TableLockMode::AccessExclusive, context)?;
            dropping::change(&entry, context, |relation| {
                relation.triggers.retain(|trigger| trigger.name != name)
            })?;
            let mut triggers = entry.described.triggers.iter();
            let dropped = triggers.find(|trigger| trigger.name == name);
            let dropped: Vec<u32> = dropped.map(|trigger| trigger.oid.0).into_iter().collect();
            // With its clones in partitions.
            trigger_clones::drop(&dropped, entry.stored.oid, context)
        }
        Dependent::Check(entry, name) => {
            schema::lock_entry(&entry, TableLockMode::AccessExclusive, context)?;
            dropping::change(&entry, context, |relation| {
                relation.constraints.retain(|constraint| constraint.name != name)
            })
        }
    }
}

/// Drops a cast, unless it went with something else.
pub(crate) fn remove_cast(cast: Oid, context: &mut StatementContext<'_>) -> SqlResult<()> {
    write::hold(cast, context)?;
    match context.session.catalog.current().cast(cast) {
        Some(_) => write::remove(cast, context),
        None => Ok(()),
    }
}
