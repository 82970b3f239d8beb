//! Rows of the input that satisfy a condition.

use std::sync::Arc;

use mote_common::SqlResult;
use mote_planner::plan::measured::Observed;
use mote_planner::plan::node::Node;
use mote_sql::expr::Expr;
use mote_types::Datum;

use super::{NodeProgram, Operator, compile_node};
use crate::expr::{Expression, compile};
use crate::runtime::Runtime;

/// A compiled condition that no scan or join below could take.
pub struct Program {
    input: NodeProgram,
    condition: Expression,
}

impl Program {
    pub fn compile(input: &Node, condition: &Expr) -> SqlResult<Arc<Program>> {
        Ok(Arc::new(Program {
            input: compile_node(input)?,
            condition: compile(condition)?,
        }))
    }
}

pub struct State {
    program: Arc<Program>,
    input: Box<dyn Operator>,
    /// For EXPLAIN ANALYZE; counted in every run, as it costs one addition.
    removed: u64,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        State {
            input: program.input.instantiate(),
            program,
            removed: 0,
        }
    }
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        while self.input.next(runtime)? {
            // NULL does not hold. No fuel is burnt here: the input burns for every row it yields.
            if self.program.condition.holds(self.input.row(), runtime)? {
                return Ok(true);
            }
            self.removed += 1;
        }
        Ok(false)
    }

    fn row(&self) -> &[Datum] {
        self.input.row()
    }

    fn reset(&mut self) {
        self.input.reset();
    }

    fn observe(&self, observed: &mut Observed) {
        // A filter and the node below it are one line of EXPLAIN.
        self.input.observe(observed);
        observed.removed_by_filter += self.removed;
    }
}
