//! LIMIT, OFFSET, FETCH FIRST ... WITH TIES.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_planner::plan::node::Node;
use mote_sql::expr::{Expr, SortKey};
use mote_types::Datum;

use super::sort::{Key, compare_keys, compile_keys};
use super::{NodeProgram, Operator, compile_node};
use crate::expr::{Expression, compile_option};
use crate::runtime::Runtime;

/// Compiled counts. Neither reads a column.
pub struct Program {
    input: NodeProgram,
    count: Option<Expression>,
    offset: Option<Expression>,
    /// The keys of the ORDER BY that decides what a tie is.
    with_ties: Option<Box<[Key]>>,
}

impl Program {
    pub fn compile(
        input: &Node,
        count: &Option<Expr>,
        offset: &Option<Expr>,
        with_ties: &Option<Vec<SortKey>>,
    ) -> SqlResult<Arc<Program>> {
        Ok(Arc::new(Program {
            input: compile_node(input)?,
            count: compile_option(count)?,
            offset: compile_option(offset)?,
            with_ties: with_ties.as_deref().map(compile_keys).transpose()?,
        }))
    }
}

/// How many rows are still allowed.
pub struct State {
    program: Arc<Program>,
    input: Box<dyn Operator>,
    /// The counts are evaluated and the offset is skipped.
    started: bool,
    /// Rows still allowed; None: all.
    left: Option<u64>,
    /// Key values of the last row within the limit.
    tie: Vec<Datum>,
    finished: bool,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        let input = program.input.instantiate();
        State {
            program,
            input,
            started: false,
            left: None,
            tie: Vec::new(),
            finished: false,
        }
    }

    /// Evaluates the counts and skips the offset. Answers whether a row may follow.
    fn start(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        self.started = true;
        let offset = bound(
            &self.program.offset,
            runtime,
            SqlError::new(
                state::INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE,
                "OFFSET must not be negative",
            ),
        )?;
        self.left = bound(
            &self.program.count,
            runtime,
            SqlError::new(
                state::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE,
                "LIMIT must not be negative",
            ),
        )?;
        // LIMIT 0 runs nothing of its input, not even the offset.
        if self.left == Some(0) {
            return Ok(false);
        }
        for _ in 0..offset.unwrap_or(0) {
            if !self.input.next(runtime)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The values of the ORDER BY keys in the input's current row.
    fn tie_of(&self, runtime: &mut Runtime<'_, '_>, into: &mut Vec<Datum>) -> SqlResult<()> {
        into.clear();
        for key in self.program.with_ties.iter().flatten() {
            into.push(key.expression.evaluate(self.input.row(), runtime)?);
        }
        Ok(())
    }
}

/// A NULL count is no limit; a NULL offset is none.
fn bound(
    expression: &Option<Expression>,
    runtime: &mut Runtime<'_, '_>,
    negative: SqlError,
) -> SqlResult<Option<u64>> {
    let Some(expression) = expression else {
        return Ok(None);
    };
    // Evaluated once per run: a count may be a parameter or an uncorrelated sub-query.
    match expression.evaluate(&[], runtime)?.as_i64() {
        None => Ok(None),
        Some(value) => u64::try_from(value).map(Some).map_err(|_| negative),
    }
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        if self.finished {
            return Ok(false);
        }
        if !self.started && !self.start(runtime)? {
            self.finished = true;
            return Ok(false);
        }
        // None, no limit, is always within.
        let within = self.left != Some(0);
        // The input is not asked for a row that would not go out: a modifying or locking input below must not act on
        // it.
        if !within && self.program.with_ties.is_none() {
            self.finished = true;
            return Ok(false);
        }
        if !self.input.next(runtime)? {
            self.finished = true;
            return Ok(false);
        }
        if within {
            self.left = self.left.map(|left| left - 1);
            // The last row within the limit: those that follow go out as long as they are its peers.
            if self.left == Some(0) && self.program.with_ties.is_some() {
                let mut tie = std::mem::take(&mut self.tie);
                self.tie_of(runtime, &mut tie)?;
                self.tie = tie;
            }
            return Ok(true);
        }
        let mut tie = Vec::new();
        self.tie_of(runtime, &mut tie)?;
        let keys = self.program.with_ties.as_deref().unwrap_or_default();
        self.finished = compare_keys(keys, &self.tie, &tie).is_ne();
        Ok(!self.finished)
    }

    fn row(&self) -> &[Datum] {
        self.input.row()
    }

    fn reset(&mut self) {
        self.input.reset();
        self.started = false;
        self.finished = false;
        self.left = None;
    }
}
