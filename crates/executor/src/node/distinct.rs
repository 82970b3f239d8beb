//! DISTINCT by hashing, and DISTINCT ON over sorted input.

use std::sync::Arc;

use mote_common::SqlResult;
use mote_planner::plan::measured::Observed;
use mote_planner::plan::node::Node;
use mote_sql::expr::Expr;
use mote_types::Datum;

use super::grouping::RowSet;
use super::{NodeProgram, Operator, compile_node};
use crate::expr::{Expression, compile_all};
use crate::runtime::Runtime;
use crate::value::equal_rows;

/// A compiled DISTINCT or DISTINCT ON.
pub struct Program {
    input: NodeProgram,
    /// DISTINCT ON; None: DISTINCT over the whole row.
    on: Option<Box<[Expression]>>,
}

impl Program {
    pub fn compile(input: &Node, on: &Option<Vec<Expr>>) -> SqlResult<Arc<Program>> {
        let on = on.as_deref().map(compile_all).transpose()?;
        Ok(Arc::new(Program {
            input: compile_node(input)?,
            on,
        }))
    }
}

/// What tells repeated rows: all of them, or the last values of the ON expressions.
pub struct State {
    program: Arc<Program>,
    input: Box<dyn Operator>,
    /// The rows that went out, for DISTINCT without ON: all of them are kept until the end.
    seen: RowSet,
    /// Values of the ON expressions in the last row that went out.
    last: Option<Vec<Datum>>,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        let input = program.input.instantiate();
        State {
            program,
            input,
            seen: RowSet::default(),
            last: None,
        }
    }
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        while self.input.next(runtime)? {
            runtime.burn(1)?;
            let Some(on) = &self.program.on else {
                if self.seen.insert(self.input.row(), runtime)?.1 {
                    return Ok(true);
                }
                continue;
            };
            let mut values = Vec::with_capacity(on.len());
            for expression in on {
                values.push(expression.evaluate(self.input.row(), runtime)?);
            }
            // The planner has sorted by the ON expressions, so that equal ones follow each other; the first row of them
            // counts.
            if self.last.as_ref().is_none_or(|last| !equal_rows(last, &values)) {
                self.last = Some(values);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The input's row: nothing is changed, only left out.
    fn row(&self) -> &[Datum] {
        self.input.row()
    }

    fn reset(&mut self) {
        self.input.reset();
        self.seen.clear();
        self.last = None;
    }

    fn observe(&self, observed: &mut Observed) {
        observed.memory_bytes = observed.memory_bytes.max(self.seen.bytes());
    }
}
