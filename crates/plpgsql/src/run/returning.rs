//! What a body gives back: RETURN, RETURN NEXT, RETURN QUERY, OUT arguments.
//!
//! RETURN puts a value aside, which the end of the body turns into the result ([`Frame::returned`]). Sets are gathered
//! whole, as PostgreSQL does, within work_mem.

use std::collections::VecDeque;
use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::{ColumnType, Datum, RowType, oid};

use super::collected::ROWS_AT_A_TIME;
use super::frame::{Frame, record};
use crate::code::expression::Expression;
use crate::code::*;
use mote_executor::context::StatementContext;

impl<'c> Frame<'c> {
    /// RETURN. Without an expression OUT arguments, or nothing, are the result.
    pub fn return_value(
        &mut self,
        value: Option<&'c Expression>,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<()> {
        self.result.returned = true;
        let Some(value) = value else {
            return Ok(());
        };
        let (value, ty) = self.evaluate(value, context)?;
        self.result.value = match self.code.returns {
            // Converted at the end, where PostgreSQL does it.
            Returns::Value(_) => value,
            Returns::Row | Returns::Trigger => self.returned_row(value, context)?,
            // The compiler allows no value there.
            _ => Datum::Null,
        };
        self.result.ty = ty;
        Ok(())
    }

    /// A row that is returned, as one of the structure that the caller wants, where he has told it: by position.
    fn returned_row(&mut self, value: Datum, context: &mut StatementContext<'_>) -> SqlResult<Datum> {
        match (value, self.columns.clone()) {
            (Datum::Null, _) => Ok(Datum::Null),
            (Datum::Record(row), None) => Ok(Datum::Record(row)),
            (Datum::Record(row), Some(columns)) => {
                // Unlike an assignment to a row variable a result has neither missing nor surplus columns.
                if row.fields.len() != columns.types.len() {
                    return Err(mismatch(
                        "returned record type does not match expected record type",
                        format!(
                            "Number of returned columns ({}) does not match expected column count ({}).",
                            row.fields.len(),
                            columns.types.len()
                        ),
                    ));
                }
                self.row_as(row.fields, &row.ty, &columns, context)
            }
            _ => Err(SqlError::new(
                state::DATATYPE_MISMATCH,
                "cannot return non-composite value from function returning composite type",
            )),
        }
    }

    /// The OUT arguments as they are.
    pub fn outputs(&self) -> Vec<Datum> {
        self.code
            .outputs
            .iter()
            .map(|&id| self.value(id).clone())
            .collect()
    }

    /// RETURN NEXT: one more row of the set; without an expression the OUT arguments as they are at this moment.
    pub fn return_next(
        &mut self,
        value: Option<&'c Expression>,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<()> {
        let row = match (value, self.code.returns) {
            (None, _) => self.outputs(),
            (Some(value), Returns::Values(to)) => {
                let (value, ty) = self.evaluate(value, context)?;
                vec![self.coerce(value, ty, to, context)?]
            }
            (Some(value), _) => {
                let (value, _) = self.evaluate(value, context)?;
                match self.returned_row(value, context)? {
                    Datum::Record(row) => row.fields,
                    // NULL as a row is a row of NULLs.
                    _ => {
                        let width = self.columns.as_ref().map_or(1, |columns| columns.types.len());
                        vec![Datum::Null; width]
                    }
                }
            }
        };
        self.result.push(row, context)
    }

    /// RETURN QUERY. ROW_COUNT and FOUND tell of its rows alone, not of the whole set.
    pub fn return_query(&mut self, query: &'c Query, context: &mut StatementContext<'_>) -> SqlResult<()> {
        let mut running = self.open_query(query, context)?;
        // Checked before the first row, so that a query without rows of the wrong structure fails, too.
        let expected = match (self.code.returns, &self.columns) {
            (Returns::Values(ty), _) => Some(Arc::new(RowType::anonymous(vec![ty]))),
            (_, columns) => columns.clone(),
        };
        if let Some(expected) = &expected {
            check_structure(&running.row, expected).map_err(|error| match query {
                Query::Static(query) => query.failed(error),
                Query::Dynamic { .. } => error,
            })?;
        }
        let mut batch = VecDeque::new();
        let mut count = 0;
        loop {
            let finished = running.fetch(ROWS_AT_A_TIME, &mut batch, context)?;
            count += batch.len() as u64;
            // Each row is charged to the set as it comes: the batch is small.
            for row in batch.drain(..) {
                self.result.push(row, context)?;
            }
            if finished {
                break;
            }
        }
        running.close(context);
        self.row_count = count;
        self.set_found(count > 0);
        Ok(())
    }

    /// What the caller gets where the body ended.
    pub fn returned(&mut self, context: &mut StatementContext<'_>) -> SqlResult<Datum> {
        let has_outputs = !self.code.outputs.is_empty();
        match self.code.returns {
            // With OUT arguments the variables are the result, RETURN or not.
            Returns::Value(_) if has_outputs => Ok(self.outputs().swap_remove(0)),
            Returns::Row if has_outputs => {
                let fields = self.outputs();
                let ty = match &self.columns {
                    Some(columns) => columns.clone(),
                    None => {
                        let of = |&id: &VariableId| {
                            let variable = self.variable(id);
                            (variable.name.as_str().into(), variable.kind.ty())
                        };
                        let (names, types) = self.code.outputs.iter().map(of).unzip();
                        Arc::new(RowType::named(types, names))
                    }
                };
                Ok(record(fields, &ty))
            }
            // 2F005: the body ended without RETURN. In PostgreSQL a function that returns void needs none, either.
            Returns::Value(_) | Returns::Row | Returns::Trigger if !self.result.returned => {
                Err(SqlError::new(
                    mote_common::SqlState::new("2F005"),
                    "control reached end of function without RETURN",
                ))
            }
            Returns::Value(to) => {
                // Not put back: the frame's run is over, and an error of the conversion tells this phase.
                self.phase = "while casting return value to function's return type";
                let value = std::mem::take(&mut self.result.value);
                self.coerce(value, self.result.ty, to, context)
            }
            // As in PostgreSQL void is a value, and shown as nothing.
            Returns::Nothing => Ok(Datum::text("")),
            _ => Ok(std::mem::take(&mut self.result.value)),
        }
    }
}

/// RETURN QUERY wants the very types.
fn check_structure(found: &RowType, expected: &RowType) -> SqlResult<()> {
    const MESSAGE: &str = "structure of query does not match function result type";
    if found.types.len() != expected.types.len() {
        return Err(mismatch(
            MESSAGE,
            format!(
                "Number of returned columns ({}) does not match expected column count ({}).",
                found.types.len(),
                expected.types.len()
            ),
        ));
    }
    // A modifier, which only attributes of composite types and columns have, is part of the type.
    let same = |a: &ColumnType, b: &ColumnType| {
        // A literal in the query passes for every type.
        a.oid == oid::UNKNOWN || a.oid == b.oid && (b.typmod < 0 || a.typmod == b.typmod)
    };
    let shown = |ty: ColumnType| match ty.typmod {
        ..0 => mote_types::format_type(ty.oid, -2),
        typmod => mote_types::format_type(ty.oid, typmod),
    };
    let differs = found
        .types
        .iter()
        .zip(&expected.types)
        .position(|(a, b)| !same(a, b));
    match differs {
        None => Ok(()),
        Some(place) => Err(mismatch(
            MESSAGE,
            format!(
                "Returned type {} does not match expected type {} in column {}.",
                shown(found.types[place]),
                shown(expected.types[place]),
                place + 1
            ),
        )),
    }
}

fn mismatch(message: &str, detail: String) -> SqlError {
    SqlError::new(state::DATATYPE_MISMATCH, message).detail(detail)
}
