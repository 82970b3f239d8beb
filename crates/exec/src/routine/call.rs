//! What surrounds a body: depth, identity, settings, the caller's snapshot; all put back whatever happens inside.

use std::sync::Arc;

use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::Snapshot;
use mote_sql::catalog::routine::Routine;

use super::state::{check_stack, stack_position};
use super::{Returned, RoutineCall, language};
use crate::context::StatementContext;

/// Runs a routine for a caller whose own statement reads through `snapshot`. EXECUTE has been checked.
pub fn call(
    call: &RoutineCall<'_>,
    snapshot: &Snapshot,
    context: &mut StatementContext<'_>,
) -> SqlResult<Returned> {
    let runner = language(&call.routine.language)?;
    within(snapshot, context, |context| {
        let routine = call.routine;
        if !routine.security_definer && routine.settings.is_empty() {
            return runner.call(call, context);
        }
        changed(routine, routine.security_definer, context, |context| {
            runner.call(call, context)
        })
    })
}

/// DO: runs a block of a language.
pub fn run_block(name: &str, text: &str, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let runner = language(name)?;
    let snapshot = context.transaction.snapshot();
    within(&snapshot, context, |context| runner.run_block(text, context))
}

/// Bounds the depth, and keeps the caller's statement aside while others run.
fn within<T>(
    snapshot: &Snapshot,
    context: &mut StatementContext<'_>,
    work: impl FnOnce(&mut StatementContext<'_>) -> SqlResult<T>,
) -> SqlResult<T> {
    context.burn(1)?;
    let outermost = context.session.routines.stack_base == 0;
    if outermost {
        context.session.routines.stack_base = stack_position();
    } else {
        let limit = context.host.routine_stack_bytes();
        check_stack(context.session.routines.stack_base, limit)?;
    }
    let suspended = context.transaction.suspend_statement(snapshot);
    let result = work(context);
    context.transaction.resume_statement(suspended);
    if outermost {
        context.session.routines.stack_base = 0;
    }
    result
}

/// CREATE FUNCTION: lets the language look at the body, under the settings that it will run with.
pub fn validate(routine: &Arc<Routine>, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let runner = language(&routine.language)?;
    if routine.settings.is_empty() {
        return runner.validate(routine, context);
    }
    changed(routine, false, context, |context| {
        runner.validate(routine, context)
    })
}

/// With the routine's own settings and, for SECURITY DEFINER, in its owner's name.
fn changed<T>(
    routine: &Arc<Routine>,
    as_owner: bool,
    context: &mut StatementContext<'_>,
    work: impl FnOnce(&mut StatementContext<'_>) -> SqlResult<T>,
) -> SqlResult<T> {
    let identity = match as_owner {
        true => Some(become_owner(routine, context)?),
        false => None,
    };
    let mark = context.session.settings.undo_mark();
    let mut former = Vec::new();
    let mut result = Ok(());
    for (name, value) in &routine.settings {
        match context.session.settings.swap(name, value) {
            Ok(old) => former.push((name, old)),
            Err(error) => {
                result = Err(error);
                break;
            }
        }
    }
    context.session.settings_changed();
    let result = result.and_then(|()| work(context));
    for (name, old) in former.into_iter().rev() {
        context.session.settings.swap_back(name, old, mark);
    }
    if let Some(identity) = identity {
        identity.restore(context);
    }
    context.session.settings_changed();
    result
}

/// Who the session was before a SECURITY DEFINER routine.
struct Identity {
    user: String,
    user_oid: Oid,
    superuser: bool,
}

fn become_owner(routine: &Arc<Routine>, context: &mut StatementContext<'_>) -> SqlResult<Identity> {
    let catalog = context.session.catalog.current();
    let owner = catalog
        .roles
        .get(&routine.owner)
        .ok_or_else(|| SqlError::internal(format!("role {} does not exist", routine.owner)))?;
    let session = &mut *context.session;
    let before = Identity {
        user: std::mem::replace(&mut session.user, owner.object.name.clone()),
        user_oid: std::mem::replace(&mut session.user_oid, routine.owner),
        superuser: std::mem::replace(&mut session.superuser, owner.object.superuser),
    };
    session.catalog.user.clone_from(&session.user);
    session.catalog.user_oid = session.user_oid;
    session.routines.definers += 1;
    Ok(before)
}

impl Identity {
    fn restore(self, context: &mut StatementContext<'_>) {
        let session = &mut *context.session;
        session.catalog.user.clone_from(&self.user);
        session.catalog.user_oid = self.user_oid;
        session.user = self.user;
        session.user_oid = self.user_oid;
        session.superuser = self.superuser;
        session.routines.definers -= 1;
    }
}
