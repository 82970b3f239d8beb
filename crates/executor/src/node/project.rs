//! New columns from the input's.

use std::sync::Arc;

use mote_common::SqlResult;
use mote_planner::plan::measured::Observed;
use mote_planner::plan::node::Node;
use mote_sql::expr::Expr;
use mote_types::Datum;

use super::{NodeProgram, Operator, compile_node};
use crate::expr::{Expression, compile_all};
use crate::runtime::Runtime;

/// Compiled columns over the input's row.
pub struct Program {
    input: NodeProgram,
    columns: Box<[Expression]>,
    /// They are the input's own, from the first on: nothing has to be made.
    is_prefix: bool,
}

impl Program {
    pub fn compile(input: &Node, columns: &[Expr]) -> SqlResult<Arc<Program>> {
        let columns = compile_all(columns)?;
        let mut numbered = columns.iter().enumerate();
        Ok(Arc::new(Program {
            input: compile_node(input)?,
            // Nothing is copied then: a projection that only drops trailing columns is a slice of the input's row.
            is_prefix: numbered.all(|(at, column)| matches!(column, Expression::Column(from) if *from == at)),
            columns,
        }))
    }
}

pub struct State {
    program: Arc<Program>,
    input: Box<dyn Operator>,
    row: Vec<Datum>,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        State {
            input: program.input.instantiate(),
            row: Vec::with_capacity(program.columns.len()),
            program,
        }
    }
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        // No fuel here: the input burns for the row.
        if !self.input.next(runtime)? {
            return Ok(false);
        }
        if self.program.is_prefix {
            return Ok(true);
        }
        self.row.clear();
        for column in &self.program.columns {
            self.row.push(column.evaluate(self.input.row(), runtime)?);
        }
        Ok(true)
    }

    fn row(&self) -> &[Datum] {
        if self.program.is_prefix {
            return &self.input.row()[..self.program.columns.len()];
        }
        &self.row
    }

    fn reset(&mut self) {
        self.input.reset();
    }

    /// A projection and the node below it are one line of EXPLAIN.
    fn observe(&self, observed: &mut Observed) {
        self.input.observe(observed);
    }
}
