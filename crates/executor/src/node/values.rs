//! VALUES lists; no list at all is the plan that yields no row.

use std::sync::Arc;

use mote_common::SqlResult;
use mote_common::work::Meter;
use mote_sql::expr::Expr;
use mote_types::Datum;

use super::Operator;
use crate::expr::{Expression, compile_list};
use crate::runtime::Runtime;

/// Compiled rows of one width.
pub struct Program {
    rows: Vec<Box<[Expression]>>,
    width: usize,
}

impl Program {
    pub fn compile(rows: &[Vec<Expr>]) -> SqlResult<Arc<Program>> {
        // The binder has seen to it that all rows are of one width.
        let width = rows.first().map_or(0, Vec::len);
        // One meter for all rows: an INSERT of many thousand rows gives way to others while it is compiled.
        let mut work = Meter::default();
        let rows = rows
            .iter()
            .map(|row| compile_list(row, &mut work))
            .collect::<SqlResult<_>>()?;
        Ok(Arc::new(Program { rows, width }))
    }

    /// Yields no row, and tells nodes above how wide it would be.
    pub fn empty(width: usize) -> Arc<Program> {
        Arc::new(Program {
            rows: Vec::new(),
            width,
        })
    }
}

pub struct State {
    program: Arc<Program>,
    position: usize,
    row: Vec<Datum>,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        let row = Vec::with_capacity(program.width);
        State {
            program,
            position: 0,
            row,
        }
    }
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        let Some(expressions) = self.program.rows.get(self.position) else {
            return Ok(false);
        };
        self.position += 1;
        runtime.burn(1)?;
        // Row by row: of INSERT .. VALUES with many rows only one is held as datums.
        self.row.clear();
        for expression in expressions {
            self.row.push(expression.evaluate(&[], runtime)?);
        }
        Ok(true)
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    fn reset(&mut self) {
        self.position = 0;
    }
}
