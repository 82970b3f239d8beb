//! Calls of users' functions from expressions.

use std::sync::Arc;

use mote_common::{SqlError, SqlResult};
use mote_sql::routine::Routine;
use mote_types::{ColumnType, Datum, Record, RowType};

use super::Expression;
use crate::context::calls::{Returned, RoutineCall};
use crate::memory::KeptRows;
use crate::runtime::Runtime;

/// A call of a user's function as it stands in one expression.
pub struct RoutineSite {
    pub(super) routine: Arc<Routine>,
    pub(super) arguments: Box<[Expression]>,
    pub(super) types: Box<[ColumnType]>,
    pub(super) result: ColumnType,
    /// Of a function whose rows are spread over columns; None: it answers one value.
    pub(super) columns: Option<Vec<(String, ColumnType)>>,
}

impl RoutineSite {
    /// Calls the routine. None: it is strict, and an argument is null.
    pub fn call(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Option<Returned>> {
        let mut arguments = Vec::with_capacity(self.arguments.len());
        for argument in &self.arguments {
            arguments.push(argument.evaluate(row, runtime)?);
        }
        if self.routine.strict && arguments.iter().any(Datum::is_null) {
            return Ok(None);
        }
        let call = RoutineCall {
            routine: &self.routine,
            arguments: &arguments,
            types: &self.types,
            result: self.result,
            columns: self.columns.as_deref(),
            trigger: None,
        };
        // The caller's snapshot: an immutable or stable function sees the data as the calling statement does.
        let snapshot = runtime.snapshot();
        let context = runtime.context();
        let run = context.calls.routine();
        run(&call, snapshot, context).map(Some)
    }

    /// The one value of the call.
    pub fn evaluate(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Datum> {
        match self.call(row, runtime)? {
            None => Ok(Datum::Null),
            Some(Returned::Value(value)) => Ok(value),
            // The binder lets a set-returning function stand only where `rows` is called.
            Some(_) => Err(SqlError::internal("a function for one value returned rows")),
        }
    }

    /// All rows of the call, each spread over its columns.
    pub fn rows(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<KeptRows> {
        let one = |row| KeptRows {
            rows: vec![row].into(),
            ..KeptRows::default()
        };
        Ok(match self.call(row, runtime)? {
            // A strict function is not called with a null: a set is empty then, anything else is one null row.
            None if self.routine.returns_set => KeptRows::default(),
            None => one(self.spread(Datum::Null)),
            Some(Returned::Rows(rows)) => rows,
            Some(Returned::Value(value)) => one(self.spread(value)),
            Some(Returned::Trigger(_)) => return Err(SqlError::internal("a trigger function in a query")),
        })
    }

    fn spread(&self, value: Datum) -> Vec<Datum> {
        match (&self.columns, value) {
            (Some(_), Datum::Record(record)) => record.fields,
            (Some(columns), _) => vec![Datum::Null; columns.len()],
            (None, value) => vec![value],
        }
    }

    /// A row of `rows` as one value.
    pub fn value(&self, produced: &mut Vec<Datum>) -> Datum {
        match &self.columns {
            None => produced.pop().unwrap_or_default(),
            Some(columns) => Datum::Record(Box::new(Record {
                ty: Arc::new(RowType::named(
                    columns.iter().map(|(_, ty)| *ty).collect(),
                    columns.iter().map(|(name, _)| name.as_str().into()).collect(),
                )),
                fields: std::mem::take(produced),
            })),
        }
    }
}
