//! One row without input, if its filter holds.

use std::sync::Arc;

use mote_common::SqlResult;
use mote_sql::expr::Expr;
use mote_types::Datum;

use super::Operator;
use crate::expr::{Expression, compile_all, compile_option};
use crate::runtime::Runtime;

/// Columns without a table, as of `SELECT 1`.
pub struct Program {
    columns: Box<[Expression]>,
    /// A condition without columns: a constant or parameters.
    filter: Option<Expression>,
}

impl Program {
    pub fn compile(columns: &[Expr], filter: &Option<Expr>) -> SqlResult<Arc<Program>> {
        Ok(Arc::new(Program {
            columns: compile_all(columns)?,
            filter: compile_option(filter)?,
        }))
    }
}

pub struct State {
    program: Arc<Program>,
    row: Vec<Datum>,
    done: bool,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        State {
            program,
            row: Vec::new(),
            done: false,
        }
    }
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(false);
        }
        if let Some(filter) = &self.program.filter
            && !filter.holds(&[], runtime)?
        {
            return Ok(false);
        }
        // After the filter: columns of a row that does not come are not evaluated, and cannot fail.
        self.row.clear();
        for column in &self.program.columns {
            self.row.push(column.evaluate(&[], runtime)?);
        }
        Ok(true)
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    fn reset(&mut self) {
        self.done = false;
    }
}
