//! What surrounds a body: depth, identity, settings, the caller's snapshot; all put back whatever happens inside.

use crate::routine::Holdings;
use std::sync::Arc;

use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::Snapshot;
use mote_sql::routine::Routine;

use super::holdings::language;
use super::state::{check_stack, stack_position};
use crate::utility::BodyContext;
use mote_executor::context::StatementContext;
use mote_executor::context::calls::{CallRoutine, Calls, Returned, RoutineCall};

impl Calls for Holdings {
    fn routine(&self) -> CallRoutine {
        call
    }
}

/// Runs a routine for a caller whose own statement reads through `snapshot`. EXECUTE has been checked.
pub fn call(
    call: &RoutineCall<'_>,
    snapshot: &Snapshot,
    context: &mut StatementContext<'_>,
) -> SqlResult<Returned> {
    let runner = language(&call.routine.language, context)?;
    within(snapshot, context, |context| {
        let routine = call.routine;
        if !has_surroundings(routine) {
            return runner.call(call, &mut BodyContext::Statement(context));
        }
        // Without SECURITY DEFINER the caller's identity stays, whatever SET clauses change.
        let owner = routine.security_definer.then_some(routine.owner);
        changed(owner, &routine.settings, context, |context| {
            runner.call(call, &mut BodyContext::Statement(context))
        })
    })
}

/// Identity or settings to put back: such a routine cannot end its transaction.
fn has_surroundings(routine: &Routine) -> bool {
    routine.security_definer || !routine.settings.is_empty()
}

/// CALL, which may allow the body to end its transaction. EXECUTE has been checked.
pub fn call_procedure(call: &RoutineCall<'_>, body: &mut BodyContext<'_, '_>) -> SqlResult<Returned> {
    // The procedure then runs like a function, within a statement: its COMMIT is refused (2D000).
    if body.is_atomic() || has_surroundings(call.routine) {
        return body.with(|context| {
            let snapshot = context.transaction.snapshot();
            self::call(call, &snapshot, context)
        });
    }
    let runner = body.with(|context| language(&call.routine.language, context))?;
    alone(body, |body| runner.call(call, body))
}

/// DO: runs a block of a language.
pub fn run_block(name: &str, text: &str, body: &mut BodyContext<'_, '_>) -> SqlResult<()> {
    let runner = body.with(|context| language(name, context))?;
    if !body.is_atomic() {
        return alone(body, |body| runner.run_block(text, body));
    }
    body.with(|context| {
        let snapshot = context.transaction.snapshot();
        within(&snapshot, context, |context| {
            runner.run_block(text, &mut BodyContext::Statement(context))
        })
    })
}

/// Bounds the depth. No statement waits for the body's end; the session knows when the outermost is over.
fn alone<T>(
    body: &mut BodyContext<'_, '_>,
    work: impl FnOnce(&mut BodyContext<'_, '_>) -> SqlResult<T>,
) -> SqlResult<T> {
    // A depth that was entered here is left by `all_ended`, when the outermost body of the session is over.
    body.with(enter)?;
    work(body)
}

/// One body more within the session; true for the outermost.
fn enter(context: &mut StatementContext<'_>) -> SqlResult<bool> {
    // Each call is a place to yield and to hear of a cancel: recursion has no other.
    context.burn(1)?;
    let outermost = Holdings::of(context.calls).routines.stack_base == 0;
    if outermost {
        // The base is where the outermost body begins: deeper ones are measured by their distance from it.
        Holdings::of(context.calls).routines.stack_base = stack_position();
    } else {
        let limit = context.host.routine_stack_bytes();
        check_stack(Holdings::of(context.calls).routines.stack_base, limit)?;
    }
    Ok(outermost)
}

/// Bounds the depth, and keeps the caller's statement aside while others run.
fn within<T>(
    snapshot: &Snapshot,
    context: &mut StatementContext<'_>,
    work: impl FnOnce(&mut StatementContext<'_>) -> SqlResult<T>,
) -> SqlResult<T> {
    let outermost = enter(context)?;
    // The caller's snapshot is put aside, not ended: its rows must stay readable when the body has returned.
    let suspended = context.transaction.suspend_statement(snapshot);
    let result = work(context);
    // Also after an error, which the caller's block may catch.
    context.transaction.resume_statement(suspended);
    if outermost {
        Holdings::of(context.calls).routines.stack_base = 0;
    }
    result
}

/// CREATE FUNCTION: lets the language look at the body, under the settings that it will run with.
pub fn validate(routine: &Arc<Routine>, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let runner = language(&routine.language, context)?;
    if routine.settings.is_empty() {
        return runner.validate(routine, context);
    }
    changed(None, &routine.settings, context, |context| {
        runner.validate(routine, context)
    })
}

/// With other settings and, where there is an `owner`, in its name: what a routine asks for, or CREATE SCHEMA.
pub fn changed<T>(
    owner: Option<Oid>,
    settings: &[(String, String)],
    context: &mut StatementContext<'_>,
    work: impl FnOnce(&mut StatementContext<'_>) -> SqlResult<T>,
) -> SqlResult<T> {
    let before = match owner {
        Some(owner) => Some(become_role(owner, context)?),
        None => None,
    };
    let mark = context.session.settings.undo_mark();
    let mut former = Vec::new();
    let mut result = Ok(());
    for (name, value) in settings {
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
    if let Some(before) = before {
        before.restore(context);
    }
    context.session.settings_changed();
    result
}

/// In the owner's name, what somebody else may have written: it cannot begin what would go on afterwards as somebody else.
pub fn restricted<T>(
    owner: Oid,
    context: &mut StatementContext<'_>,
    work: impl FnOnce(&mut StatementContext<'_>) -> SqlResult<T>,
) -> SqlResult<T> {
    let mark = context.session.settings.undo_mark();
    context.session.catalog.identity.restricted += 1;
    let result = changed(Some(owner), &[], context, work);
    context.session.catalog.identity.restricted -= 1;
    for reported in context.session.settings.undo_to(mark) {
        context.host.parameter_status(reported.name, &reported.value);
    }
    context.session.settings_changed();
    result
}

/// Who the session was before it acts in another's name.
struct Before {
    user: String,
    user_oid: Oid,
    superuser: bool,
}

fn become_role(role: Oid, context: &mut StatementContext<'_>) -> SqlResult<Before> {
    let catalog = context.session.catalog.current();
    let owner = catalog
        .roles
        .get(&role)
        .ok_or_else(|| SqlError::internal(format!("role {role} does not exist")))?;
    let identity = &mut context.session.catalog.identity;
    identity.definers += 1;
    Ok(Before {
        user: std::mem::replace(&mut identity.user, owner.object.name.clone()),
        user_oid: std::mem::replace(&mut identity.user_oid, role),
        superuser: std::mem::replace(&mut identity.superuser, owner.object.superuser),
    })
}

impl Before {
    fn restore(self, context: &mut StatementContext<'_>) {
        let identity = &mut context.session.catalog.identity;
        identity.user = self.user;
        identity.user_oid = self.user_oid;
        identity.superuser = self.superuser;
        identity.definers -= 1;
    }
}
