//! Loops: over conditions, integers, rows, cursors and arrays.

use mote_commands::routine::Holdings;
use std::collections::VecDeque;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::{Array, ColumnType, Datum, Dimension};

use super::Flow;
use super::collected::ROWS_AT_A_TIME;
use super::cursor::pin;
use super::frame::{Frame, NULL_NOT_ALLOWED};
use super::query::LoopRows;
use crate::code::expression::Expression;
use crate::code::*;
use mote_commands::utility::BodyContext;
use mote_executor::context::StatementContext;

/// What a loop does after a turn.
enum Turn<'c> {
    Again,
    Leave(Flow<'c>),
}

/// What the outcome of a loop's statements means for the loop.
fn turn<'c>(flow: Flow<'c>, label: Option<&str>) -> Turn<'c> {
    let is_mine = |wanted: Option<&str>| wanted.is_none() || wanted == label;
    match flow {
        Flow::Next => Turn::Again,
        Flow::Continue(wanted) if is_mine(wanted) => Turn::Again,
        Flow::Exit(wanted) if is_mine(wanted) => Turn::Leave(Flow::Next),
        other => Turn::Leave(other),
    }
}

impl<'c> Frame<'c> {
    /// Runs a loop until it is left. FOUND is set at the end of the loops that have rows or values.
    pub fn run_loop(&mut self, of: &'c Loop, body: &mut BodyContext<'_, '_>) -> SqlResult<Flow<'c>> {
        match &of.kind {
            LoopKind::Endless => loop {
                // Once per turn, besides the statements: an empty loop must not keep its worker.
                body.with(|context| context.burn(1))?;
                if let Turn::Leave(flow) = self.turn(of, body)? {
                    return Ok(flow);
                }
            },
            LoopKind::While(condition) => {
                while body.with(|context| self.truth(condition, context))? == Some(true) {
                    body.with(|context| context.burn(1))?;
                    if let Turn::Leave(flow) = self.turn(of, body)? {
                        return Ok(flow);
                    }
                }
                Ok(Flow::Next)
            }
            LoopKind::Integer {
                variable,
                reverse,
                low,
                high,
                step,
            } => self.integers(of, *variable, *reverse, (low, high, step.as_ref()), body),
            LoopKind::Query { targets, query } => self.query_loop(of, targets, query, body),
            LoopKind::Cursor {
                row,
                cursor,
                arguments,
            } => self.cursor_loop(of, *row, *cursor, arguments.as_ref(), body),
            LoopKind::Array {
                targets,
                slice,
                array,
            } => self.elements(of, targets, *slice, array, body),
        }
    }

    /// The statements of one turn, and whether another one follows.
    fn turn(&mut self, of: &'c Loop, body: &mut BodyContext<'_, '_>) -> SqlResult<Turn<'c>> {
        let flow = self.statements(&of.statements, body)?;
        Ok(turn(flow, of.label.as_deref()))
    }

    /// A bound or a step: converted to integer as an assignment would; NULL is an error.
    fn bound(
        &mut self,
        what: &str,
        bound: &'c Expression,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<i32> {
        match self.evaluate_as(bound, ColumnType::INT4, context)? {
            Datum::Int4(value) => Ok(value),
            _ => {
                let message = format!("{what} of FOR loop cannot be null");
                Err(SqlError::new(NULL_NOT_ALLOWED, message))
            }
        }
    }

    fn integers(
        &mut self,
        of: &'c Loop,
        variable: VariableId,
        reverse: bool,
        (low, high, step): (&'c Expression, &'c Expression, Option<&'c Expression>),
        body: &mut BodyContext<'_, '_>,
    ) -> SqlResult<Flow<'c>> {
        // PostgreSQL's exec_stmt_fori: all three before the first turn, in this order, and never again.
        let mut value = body.with(|context| self.bound("lower bound", low, context))?;
        let last = body.with(|context| self.bound("upper bound", high, context))?;
        let step = match step {
            Some(step) => body.with(|context| self.bound("BY value", step, context))?,
            None => 1,
        };
        // REVERSE counts down by a positive step.
        if step <= 0 {
            let message = "BY value of FOR loop must be greater than zero";
            return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
        }
        // The count is the loop's own: an assignment to the variable in the body lasts until the turn ends.
        let mut found = false;
        let mut flow = Flow::Next;
        while if reverse { value >= last } else { value <= last } {
            found = true;
            body.with(|context| context.burn(1))?;
            self.set(variable, Datum::Int4(value));
            if let Turn::Leave(left) = self.turn(of, body)? {
                flow = left;
                break;
            }
            // A bound near the end of the type: the count would overflow, and the loop is over.
            let next = match reverse {
                true => value.checked_sub(step),
                false => value.checked_add(step),
            };
            match next {
                Some(next) => value = next,
                None => break,
            }
        }
        self.set_found(found);
        Ok(flow)
    }

    /// FOR over the rows of a query.
    fn query_loop(
        &mut self,
        of: &'c Loop,
        targets: &'c [Target],
        query: &'c Query,
        body: &mut BodyContext<'_, '_>,
    ) -> SqlResult<Flow<'c>> {
        let rows = body.with(|context| self.open_loop(query, context))?;
        // Closed in any case: the list of the session's loops stays in step with the loops that run.
        let flow = self.rows(of, targets, &rows, body);
        body.with(|context| {
            rows.close(flow.is_ok(), context);
            Ok(())
        })?;
        flow
    }

    /// Takes rows in batches and runs a turn for each.
    fn rows(
        &mut self,
        of: &'c Loop,
        targets: &'c [Target],
        rows: &LoopRows,
        body: &mut BodyContext<'_, '_>,
    ) -> SqlResult<Flow<'c>> {
        let mut found = false;
        let mut flow = Flow::Next;
        // Rows in the batch were read ahead: a turn does not see what they would be after its own changes. The query
        // has the snapshot that it began with, and so would not see them either; functions that it calls could.
        let mut batch = VecDeque::new();
        let mut finished = false;
        let mut count = self.rows_at_a_time;
        loop {
            if batch.is_empty() {
                if finished {
                    break;
                }
                finished = body.with(|context| rows.fetch(count, &mut batch, context))?;
                // Few at first, for loops that are left early.
                count = if count == 1 { 1 } else { ROWS_AT_A_TIME };
                continue;
            }
            let row = batch.pop_front();
            found = true;
            body.with(|context| self.assign_row(targets, row, &rows.row, context))?;
            if let Turn::Leave(left) = self.turn(of, body)? {
                flow = left;
                break;
            }
        }
        // No row: the targets become NULL, and a record gets its structure.
        if !found {
            body.with(|context| self.assign_row(targets, None, &rows.row, context))?;
        }
        self.set_found(found);
        Ok(flow)
    }

    /// FOR over a bound cursor: opened by the loop, closed behind it.
    fn cursor_loop(
        &mut self,
        of: &'c Loop,
        row: VariableId,
        cursor: VariableId,
        arguments: Option<&'c Expression>,
        body: &mut BodyContext<'_, '_>,
    ) -> SqlResult<Flow<'c>> {
        let name = body.with(|context| {
            let name = self.open_bound(cursor, arguments, context)?;
            // Pinned: if a turn ends the transaction, the portal is held as a WITH HOLD cursor is.
            pin(&name, context);
            Ok(name)
        })?;
        let target = Target {
            variable: row,
            steps: Vec::new(),
        };
        let flow = self.cursor_rows(of, &target, &name, body);
        let closed = body.with(|context| match flow.is_ok() {
            true => self.close_named(&name, context),
            false => {
                // One that a procedure's COMMIT held would outlive the failure.
                Holdings::of(context.calls).portals.take(&name);
                Ok(())
            }
        });
        let flow = flow?;
        closed?;
        Ok(flow)
    }

    /// / One row at a time, as PostgreSQL's exec_stmt_forc: a turn may move the cursor by itself.
    fn cursor_rows(
        &mut self,
        of: &'c Loop,
        target: &Target,
        name: &str,
        body: &mut BodyContext<'_, '_>,
    ) -> SqlResult<Flow<'c>> {
        let targets = std::slice::from_ref(target);
        let mut found = false;
        let mut flow = Flow::Next;
        loop {
            let more = body.with(|context| {
                let (fetched, ty) = self.fetch_one(name, context)?;
                match fetched {
                    None => Ok(false),
                    row => self.assign_row(targets, row, &ty, context).map(|()| true),
                }
            })?;
            if !more {
                break;
            }
            found = true;
            if let Turn::Leave(left) = self.turn(of, body)? {
                flow = left;
                break;
            }
        }
        self.set_found(found);
        Ok(flow)
    }

    /// FOREACH over an array, or its slices.
    fn elements(
        &mut self,
        of: &'c Loop,
        targets: &'c [Target],
        slice: u32,
        array: &'c Expression,
        body: &mut BodyContext<'_, '_>,
    ) -> SqlResult<Flow<'c>> {
        // Computed once; a turn that changes the variable does not change what is left of the loop.
        let (value, ty) = body.with(|context| self.evaluate(array, context))?;
        let array = match value {
            Datum::Null => {
                return Err(SqlError::new(
                    NULL_NOT_ALLOWED,
                    "FOREACH expression must not be null",
                ));
            }
            Datum::Array(array) => *array,
            _ => {
                let message = format!("FOREACH expression must yield an array, not type {}", ty.name());
                return Err(SqlError::new(state::DATATYPE_MISMATCH, message));
            }
        };
        let dims = array.dims.len() as u32;
        if slice > dims {
            let message = format!("slice dimension ({slice}) is out of the valid range 0..{dims}");
            return Err(SqlError::new(state::ARRAY_SUBSCRIPT_ERROR, message));
        }
        // A slice is an array of the same type with fewer dimensions.
        let element = ty.element().unwrap_or(ColumnType::TEXT);
        let piece_ty = if slice == 0 { element } else { ty };
        let mut found = false;
        let mut flow = Flow::Next;
        for piece in pieces(array, slice as usize) {
            found = true;
            body.with(|context| context.burn(1))?;
            match (targets, piece) {
                ([target], piece) => body.with(|context| self.assign(target, piece, piece_ty, context))?,
                (targets, Datum::Record(record)) => {
                    let row = Some(record.fields);
                    body.with(|context| self.assign_row(targets, row, &record.ty, context))?;
                }
                _ => return Err(SqlError::unsupported("FOREACH over several variables")),
            }
            if let Turn::Leave(left) = self.turn(of, body)? {
                flow = left;
                break;
            }
        }
        self.set_found(found);
        Ok(flow)
    }
}

/// The elements of an array, or its slices of so many dimensions.
fn pieces(array: Array, slice: usize) -> Vec<Datum> {
    if slice == 0 {
        return array.elements.into_vec();
    }
    let inner: Vec<Dimension> = array.dims[array.dims.len() - slice..].to_vec();
    let length: usize = inner.iter().map(|dim| dim.length as usize).product();
    // An empty array has no elements to cut, and chunks of zero would panic.
    let chunks = array.elements.chunks(length.max(1));
    let piece = |elements: &[Datum]| {
        Datum::Array(Box::new(Array {
            element: array.element,
            dims: inner.clone(),
            elements: elements.to_vec().into(),
        }))
    };
    chunks.map(piece).collect()
}
