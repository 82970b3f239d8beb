//! What a command does in several transactions: VACUUM and REINDEX of many tables, CLUSTER, what is CONCURRENTLY.
//!
//! Leaves out: the transactions themselves (`session::steps`).

use std::collections::VecDeque;

use mote_common::SqlResult;
use mote_executor::context::StatementContext;

/// One of them. It may add others.
pub type Step = Box<dyn FnOnce(&mut Steps, &mut StatementContext<'_>) -> SqlResult<()>>;

/// What is still to be done. A step may add others.
#[derive(Default)]
pub struct Steps {
    queue: VecDeque<Step>,
}

impl Steps {
    /// Steps that begin with this one.
    pub fn first(
        step: impl FnOnce(&mut Steps, &mut StatementContext<'_>) -> SqlResult<()> + 'static,
    ) -> Steps {
        let mut steps = Steps::default();
        steps.add(step);
        steps
    }

    /// Behind all others.
    pub fn add(
        &mut self,
        step: impl FnOnce(&mut Steps, &mut StatementContext<'_>) -> SqlResult<()> + 'static,
    ) {
        self.queue.push_back(Box::new(step));
    }

    /// Before all others.
    pub fn add_next(
        &mut self,
        step: impl FnOnce(&mut Steps, &mut StatementContext<'_>) -> SqlResult<()> + 'static,
    ) {
        self.queue.push_front(Box::new(step));
    }

    /// The one to run now.
    pub fn take_next(&mut self) -> Option<Step> {
        self.queue.pop_front()
    }

    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}
