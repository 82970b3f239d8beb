//! One run of a body: its variables and what else it has. `evaluate` reads them in expressions, `assign` changes them.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlState};
use mote_engine::Snapshot;
use mote_types::{ColumnType, Datum, Record, RowType};

use super::collected::{Collected, ROWS_AT_FIRST};
use crate::code::spare::{KeptPlan, Lists};
use crate::code::*;
use mote_executor::runtime::Values;

mod assign;
mod evaluate;

pub const NULL_NOT_ALLOWED: SqlState = state::NULL_VALUE_NOT_ALLOWED;

/// The state of a run.
pub struct Frame<'c> {
    pub code: &'c Code,
    /// The variables are the parameters of all expressions.
    pub values: Values,
    /// By variable. Differs from the declared types for operands of CASE alone.
    pub types: Vec<ColumnType>,
    /// What expressions see that are evaluated here: the caller's; taken anew after the end of a transaction.
    pub snapshot: Option<Snapshot>,
    /// Of the function: decides whether its statements begin snapshots of their own, and may write.
    pub volatile: bool,
    /// GET DIAGNOSTICS ROW_COUNT: of the last statement of SQL.
    pub row_count: u64,
    /// Errors whose handlers are running, innermost last.
    pub errors: Vec<SqlError>,
    /// The statement at work, for the context of errors.
    pub at: Option<&'c Statement>,
    /// What is done besides statements, and the line of the variable that it is done for.
    pub phase: &'static str,
    pub line: Option<u32>,
    /// How many rows a loop takes from its query at first: one where it may see what a later turn does.
    pub rows_at_a_time: u64,
    /// The error on its way tells of this function already.
    pub raised_again: bool,
    pub result: Collected,
    /// The columns of the result where the caller knows them.
    pub columns: Option<Arc<RowType>>,
    /// By the numbers of the expressions; empty until the first one is evaluated.
    kept: Vec<Option<KeptPlan>>,
    /// Room for a row on its way into variables.
    row: Vec<Datum>,
}

impl Drop for Frame<'_> {
    fn drop(&mut self) {
        let lists = Lists {
            values: std::mem::take(&mut self.values.parameters),
            types: std::mem::take(&mut self.types),
            kept: std::mem::take(&mut self.kept),
            row: std::mem::take(&mut self.row),
        };
        // Of nested runs of one body the outermost ends last.
        *self.code.spare.lock() = Some(lists.emptied());
    }
}

impl<'c> Frame<'c> {
    /// A run before its first statement: all variables are NULL. The caller fills arguments and the special
    /// variables.
    pub fn new(code: &'c Code, volatile: bool) -> Frame<'c> {
        let Lists {
            values: mut parameters,
            mut types,
            kept,
            row,
        } = code.spare.lock().take().unwrap_or_default();
        parameters.resize(code.variables.len(), Datum::Null);
        types.clear();
        types.extend(code.variables.iter().map(initial_type));
        let values = Values {
            parameters,
            ..Values::default()
        };
        Frame {
            code,
            values,
            types,
            snapshot: None,
            volatile,
            row_count: 0,
            errors: Vec::new(),
            at: None,
            phase: "",
            line: None,
            rows_at_a_time: ROWS_AT_FIRST,
            raised_again: false,
            result: Default::default(),
            columns: None,
            kept,
            row,
        }
    }

    /// The value that a variable holds; a record is one datum.
    pub fn value(&self, id: VariableId) -> &Datum {
        &self.values.parameters[id as usize]
    }

    /// Stores a value of the variable's type, unchecked: see [`assign_variable`](Self::assign_variable).
    pub fn set(&mut self, id: VariableId, value: Datum) {
        self.values.parameters[id as usize] = value;
    }

    pub fn set_found(&mut self, found: bool) {
        self.set(self.code.found, Datum::Bool(found));
    }

    /// The declaration. Borrowed from the code, not from the frame, so that values may change beside it.
    pub fn variable(&self, id: VariableId) -> &'c Variable {
        &self.code.variables[id as usize]
    }

    /// The structure of a row variable as it is now. What it holds counts before what it was declared as: a NULL
    /// record has its declared structure, if any.
    pub fn row_of(&self, id: VariableId) -> Option<Arc<RowType>> {
        match (self.value(id), &self.variable(id).kind) {
            (Datum::Record(record), _) => Some(record.ty.clone()),
            (_, VariableKind::Record(row)) => row.clone(),
            _ => None,
        }
    }

    /// A line of the context of errors: PostgreSQL's plpgsql_exec_error_callback.
    pub fn place(&self) -> String {
        let signature = &self.code.signature;
        // A phase covers what is no statement: entry, declarations, the conversion of the result.
        if self.phase.is_empty() {
            return match self.at {
                Some(at) => format!("PL/pgSQL function {signature} line {} at {}", at.line, at.name()),
                None => format!("PL/pgSQL function {signature}"),
            };
        }
        match self.line.or(self.at.map(|at| at.line)) {
            Some(line) => format!("PL/pgSQL function {signature} line {line} {}", self.phase),
            None => format!("PL/pgSQL function {signature} {}", self.phase),
        }
    }
}

#[cold]
pub fn no_row() -> SqlError {
    SqlError::new(
        state::DATATYPE_MISMATCH,
        "cannot assign non-composite value to a record variable",
    )
}

/// What a CASE compares has no type before its first value.
fn initial_type(variable: &Variable) -> ColumnType {
    match variable.kind.ty() {
        ColumnType::UNKNOWN => ColumnType::TEXT,
        ty => ty,
    }
}

/// A row as a datum. There are as many fields as the structure has.
pub fn record(fields: Vec<Datum>, ty: &Arc<RowType>) -> Datum {
    Datum::Record(Box::new(Record {
        ty: ty.clone(),
        fields,
    }))
}
