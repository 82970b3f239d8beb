//! What a session keeps for the layers above the executor: portals, operators' states, compiled routines; and where it says
//! which commands and languages there are.
//!
//! The session owns it and reaches it as a field. A statement carries it as `Calls`, from which code that stands above the
//! executor takes it back by its type: a comparison of type ids, made for cursors and bodies of routines, never per row.

use std::any::Any;
use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_executor::context::StatementContext;
use mote_executor::context::calls::Calls;
use mote_executor::node::Program;
use mote_executor::plans::CachedPlan;
use mote_executor::query::Execution;
use mote_grammar::ast::{Fetch, Statement};

use super::{Language, RoutineState};
use crate::utility::{Command, FindCommand};
use mote_portals::{Portals, cursor};

/// Operator states kept for statements that run again.
const SPARE_EXECUTIONS: usize = 64;

/// What stands above routines, and is called by them: a body runs commands, and a call runs a body of any language.
pub struct Above {
    pub command: FindCommand,
    pub languages: &'static [&'static dyn Language],
}

/// Operator states that wait for the next run of their statement. Boxed: they wander between here and portals for every
/// statement, and are 600 bytes long.
///
/// The address of its program stands beside each: an application that runs its statements in turn finds the next one
/// among the oldest, and the search would touch cold lines of all that lie in between.
#[derive(Default)]
struct SpareExecutions(Vec<(usize, Box<Execution>)>);

impl SpareExecutions {
    /// One that ran this program before.
    fn take(&mut self, program: &Arc<Program>) -> Option<Box<Execution>> {
        let address = Arc::as_ptr(program).addr();
        // An execution keeps its program alive: no other one has come to lie there.
        let at = self.0.iter().rposition(|(of, _)| *of == address)?;
        Some(self.0.swap_remove(at).1)
    }

    /// The oldest makes room: it belongs to a statement that 64 others have followed.
    fn put(&mut self, execution: Box<Execution>) {
        if self.0.len() >= SPARE_EXECUTIONS {
            self.0.remove(0);
        }
        self.0.push((Arc::as_ptr(execution.program()).addr(), execution));
    }
}

pub struct Holdings {
    above: &'static Above,
    pub portals: Portals,
    spare: SpareExecutions,
    /// Compiled bodies of routines, and how deep their calls are nested.
    pub routines: RoutineState,
}

const OTHER_CALLS: &str = "the statements of a session carry what the session keeps";

impl Holdings {
    pub fn new(above: &'static Above) -> Holdings {
        Holdings {
            above,
            portals: Portals::default(),
            spare: SpareExecutions::default(),
            routines: RoutineState::default(),
        }
    }

    /// Takes them back from a statement's context.
    #[inline]
    pub fn of<'h>(calls: &'h mut (dyn Calls + 'static)) -> &'h mut Holdings {
        let calls: &mut dyn Any = calls;
        calls.downcast_mut().expect(OTHER_CALLS)
    }

    /// The same to look at.
    #[inline]
    pub fn seen<'h>(calls: &'h (dyn Calls + 'static)) -> &'h Holdings {
        let calls: &dyn Any = calls;
        calls.downcast_ref().expect(OTHER_CALLS)
    }

    /// Operator state for a plan: one that ran before, or a new one.
    pub fn execution_for(&mut self, plan: &CachedPlan) -> SqlResult<Box<Execution>> {
        let program = plan
            .program
            .as_ref()
            .ok_or_else(|| SqlError::internal("a query without a program"))?;
        if let Some(spare) = self.spare.take(program) {
            return Ok(spare);
        }
        Ok(Box::new(Execution::new(program.clone())))
    }

    /// Keeps the operators of a run that is over for the next run of the same statement.
    pub fn keep(&mut self, mut execution: Box<Execution>) {
        // A reset execution holds no snapshot and no rows, only what its operators have allocated.
        if execution.is_worth_keeping() {
            execution.reset();
            self.spare.put(execution);
        }
    }

    /// Lets go of the operators kept for the next runs.
    pub fn forget_operators(&mut self) {
        self.spare = SpareExecutions::default();
    }

    /// 34000 if there is no cursor or portal of this name.
    pub fn require_cursor(&self, name: &str) -> SqlResult<()> {
        if self.portals.contains(name) {
            return Ok(());
        }
        Err(SqlError::new(
            state::INVALID_CURSOR_NAME,
            format!("cursor \"{name}\" does not exist"),
        ))
    }
}

/// The description of a command that a body runs.
pub fn command_of<'s>(statement: &'s Statement, context: &StatementContext<'_>) -> &'s dyn Command {
    (Holdings::seen(context.calls).above.command)(statement)
}

/// The language of this name.
pub fn language(name: &str, context: &StatementContext<'_>) -> SqlResult<&'static dyn Language> {
    let known = Holdings::seen(context.calls).above.languages;
    let found = known.iter().find(|language| language.name() == name);
    found.copied().ok_or_else(|| {
        SqlError::new(
            state::UNDEFINED_OBJECT,
            format!("language \"{name}\" does not exist"),
        )
    })
}

/// FETCH and MOVE from a cursor of the session, the rows to the host; answers how many there were.
pub fn fetch_from(fetch: &Fetch, context: &mut StatementContext<'_>) -> SqlResult<u64> {
    Holdings::seen(context.calls).require_cursor(&fetch.cursor)?;
    // Taken out while it runs, so that what it calls may use the session.
    let portal = Holdings::of(context.calls).portals.take(&fetch.cursor);
    let mut portal = portal.expect("looked up above");
    let rows = cursor::fetch(&mut portal, fetch, context);
    Holdings::of(context.calls).portals.put(&fetch.cursor, portal);
    rows
}
