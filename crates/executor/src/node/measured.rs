//! A node of a measured plan: counts the rows and the time of the one it holds (docs/design/0042).
//!
//! What EvalPlanQual runs again is not counted: it is no part of the plan's own run.

use std::sync::Arc;

use mote_common::SqlResult;
use mote_planner::plan::measured::{Measurement, Observed};
use mote_planner::plan::node::Measured;
use mote_types::Datum;

use super::{NodeProgram, Operator, compile_node};
use crate::runtime::Runtime;

/// A node of the plan with the place where it is counted.
pub struct Program {
    pub input: NodeProgram,
    /// Of the node in `Measurements::nodes`.
    number: usize,
    /// False for EXPLAIN (ANALYZE, TIMING OFF): the clock is not read.
    timed: bool,
}

impl Program {
    pub fn compile(node: &Measured) -> SqlResult<Arc<Program>> {
        Ok(Arc::new(Program {
            input: compile_node(&node.input)?,
            number: node.number as usize,
            timed: node.timed,
        }))
    }
}

/// The node at work. What is counted stands in `Values::run`.
pub struct State {
    program: Arc<Program>,
    input: Box<dyn Operator>,
    /// A row has been asked for since the last reset.
    in_loop: bool,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        State {
            input: program.input.instantiate(),
            program,
            in_loop: false,
        }
    }

    fn now_ns(&self, runtime: &Runtime<'_, '_>) -> u64 {
        match self.program.timed {
            true => runtime.session().clock.monotonic_ns(),
            false => 0,
        }
    }
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        if runtime.values.recheck.is_some() {
            return self.input.next(runtime);
        }
        let begun_ns = self.now_ns(runtime);
        let found = self.input.next(runtime)?;
        let passed_ns = self.now_ns(runtime).saturating_sub(begun_ns);
        let begins = !std::mem::replace(&mut self.in_loop, true);
        let run = runtime.values.run.as_mut();
        let Some(counted) = run.and_then(|run| run.nodes.get_mut(self.program.number)) else {
            return Ok(found);
        };
        count(counted, begins, found, passed_ns);
        // What the node has counted since it was made replaces what was noted; the memory alone is the greatest of all
        // loops.
        let mut observed = Observed {
            memory_bytes: counted.observed.memory_bytes,
            ..Observed::default()
        };
        self.input.observe(&mut observed);
        counted.observed = observed;
        Ok(found)
    }

    fn row(&self) -> &[Datum] {
        self.input.row()
    }

    fn reset(&mut self) {
        self.in_loop = false;
        self.input.reset();
    }
}

fn count(counted: &mut Measurement, begins: bool, found: bool, passed_ns: u64) {
    if begins {
        // The time to the first row of every loop, as PostgreSQL's InstrEndLoop sums it up.
        counted.loops += 1;
        counted.startup_ns += passed_ns;
    }
    counted.rows += u64::from(found);
    counted.total_ns += passed_ns;
}
