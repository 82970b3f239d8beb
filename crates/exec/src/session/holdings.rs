//! What a session keeps for the layers above the executor: portals, operators' states, compiled routines.
//!
//! The session owns it and reaches it as a field. A statement carries it as `Calls`, from which code that stands above the
//! executor takes it back by its type: a comparison of type ids, made for cursors and bodies of routines, never per row.

use std::any::Any;

use mote_executor::context::calls::{CallRoutine, Calls};
use mote_executor::query::Execution;

use super::portals::Portals;
use crate::routine::{self, RoutineState};

/// Operator states kept for statements that run again.
pub(super) const SPARE_EXECUTIONS: usize = 64;

#[derive(Default)]
pub(crate) struct Holdings {
    pub portals: Portals,
    /// Operator states that wait for the next run of their statement. Boxed: they wander between here and portals for
    /// every statement, and are 600 bytes long.
    #[allow(clippy::vec_box)]
    pub spare: Vec<Box<Execution>>,
    /// Compiled bodies of routines, and how deep their calls are nested.
    pub routines: RoutineState,
}

impl Calls for Holdings {
    fn routine(&self) -> CallRoutine {
        routine::call
    }
}

const OTHER_CALLS: &str = "the statements of a session carry what the session keeps";

impl Holdings {
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

    /// Keeps the operators of a run that is over for the next run of the same statement.
    pub fn keep(&mut self, mut execution: Box<Execution>) {
        if self.spare.len() < SPARE_EXECUTIONS && execution.is_worth_keeping() {
            execution.reset();
            self.spare.push(execution);
        }
    }
}
