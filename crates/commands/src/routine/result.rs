//! From the rows of a body's last statement to what the routine is declared to return.

use std::sync::Arc;

use mote_catalog::privileges;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_planner::plan::OutputColumn;
use mote_sql::expr::Expr;
use mote_types::catalog::polymorphism;
use mote_types::catalog::user::is_row;
use mote_types::{ColumnType, Datum, Record, RowType};

use mote_executor::context::StatementContext;
use mote_executor::context::calls::RoutineCall;
use mote_executor::expr::{Expression, compile};
use mote_executor::memory::{Kept, row_bytes};
use mote_executor::runtime::{Runtime, Values};

/// How a row of the last statement becomes a row of the result.
#[derive(Default)]
pub(super) struct Conversion {
    /// The row's only column is a record, whose fields are the columns.
    unpack: bool,
    /// A conversion per column; None passes it as it is. Empty: all pass.
    casts: Vec<Option<Expression>>,
    /// The columns make one record that nobody described.
    pack: Option<Arc<RowType>>,
}

impl Conversion {
    /// Compares the columns of a statement with what the routine returns.
    pub fn plan(
        output: &[OutputColumn],
        call: &RoutineCall<'_>,
        context: &StatementContext<'_>,
    ) -> SqlResult<Conversion> {
        // PostgreSQL: check_sql_stmt_retval. The last statement may yield the columns, or one column that is the
        // whole row.
        let one_record = matches!(output, [only] if is_row(only.ty.oid));
        let wanted: Vec<ColumnType> = match call.columns {
            Some(columns) => columns.iter().map(|(_, ty)| *ty).collect(),
            // Nobody says what the columns are: one record goes out as it is, several columns become one.
            None if is_row(call.result.oid) => {
                let pack = (!one_record).then(|| row_type(output));
                return Ok(Conversion {
                    pack: pack.map(Arc::new),
                    ..Conversion::default()
                });
            }
            None => vec![call.result],
        };
        let has_columns = call.columns.is_some();
        // One column that is a row, where several are wanted: its fields are the columns, unconverted.
        if has_columns && one_record && !matches!(wanted.as_slice(), [only] if is_row(only.oid)) {
            return Ok(Conversion {
                unpack: true,
                ..Conversion::default()
            });
        }
        check_count(output.len(), wanted.len(), has_columns, call)?;
        let mut casts = Vec::with_capacity(wanted.len());
        for (position, (have, want)) in output.iter().zip(&wanted).enumerate() {
            // The modifiers of a composite type's attributes hold for a row that a function returns.
            if have.ty.oid == want.oid && (want.typmod < 0 || have.ty.typmod == want.typmod) {
                casts.push(None);
                continue;
            }
            let catalog = &context.session.catalog;
            // An assignment cast, bound over the row of the statement.
            let Some(cast) = mote_sql::bind::assignment_cast(position as u16, have.ty, *want, catalog)?
            else {
                return Err(wrong_column(position, have.ty, *want, has_columns, call));
            };
            check_routines(&cast, context)?;
            casts.push(Some(compile(&cast)?));
        }
        // Nothing to convert: rows pass without an expression being run.
        if casts.iter().all(Option::is_none) {
            casts.clear();
        }
        Ok(Conversion {
            casts,
            ..Conversion::default()
        })
    }

    /// One row of the last statement as a row of the result.
    pub fn convert(&self, row: &[Datum], context: &mut StatementContext<'_>) -> SqlResult<Vec<Datum>> {
        if let Some(ty) = &self.pack {
            let record = Record {
                ty: ty.clone(),
                fields: row.to_vec(),
            };
            return Ok(vec![Datum::Record(Box::new(record))]);
        }
        if self.unpack {
            return Ok(match row {
                // A NULL record has no fields: the row stays empty, which `one_value` knows.
                [Datum::Record(record)] => record.fields.clone(),
                _ => Vec::new(),
            });
        }
        if self.casts.is_empty() {
            return Ok(row.to_vec());
        }
        // Casts of domains and of users' types may run functions, which want a snapshot.
        let snapshot = context.transaction.snapshot();
        let mut values = Values::default();
        let mut runtime = Runtime::new(context, &snapshot, &mut values);
        let convert = |(value, cast): (&Datum, &Option<Expression>)| match cast {
            None => Ok(value.clone()),
            Some(cast) => cast.evaluate(row, &mut runtime),
        };
        row.iter().zip(&self.casts).map(convert).collect()
    }
}

/// Whoever may not call the function of a cast may not have it called.
fn check_routines(cast: &Expr, context: &StatementContext<'_>) -> SqlResult<()> {
    let mut checked = Ok(());
    cast.visit(&mut |part| {
        if let (Expr::Routine(call), true) = (part, checked.is_ok()) {
            checked = privileges::check_routine(&context.session.catalog, &call.routine);
        }
    });
    checked
}

/// A result row as one value.
pub(super) fn one_value(mut row: Vec<Datum>, columns: Option<&[(String, ColumnType)]>) -> Datum {
    match columns {
        // A row that was taken apart from a null record.
        Some(_) if row.is_empty() => Datum::Null,
        Some(columns) => Datum::Record(Box::new(Record {
            ty: Arc::new(RowType::named(
                columns.iter().map(|(_, ty)| *ty).collect(),
                columns.iter().map(|(name, _)| name.as_str().into()).collect(),
            )),
            fields: row,
        })),
        None => row.pop().unwrap_or_default(),
    }
}

/// The structure of a statement's rows.
fn row_type(output: &[OutputColumn]) -> RowType {
    RowType::named(
        output.iter().map(|column| column.ty).collect(),
        output.iter().map(|column| column.name.as_str().into()).collect(),
    )
}

/// 42P13, with the declared type as CREATE FUNCTION was told it, or as the call replaces a polymorphic one.
fn mismatch(call: &RoutineCall<'_>, detail: impl Into<String>) -> SqlError {
    let declared = match call.routine.result.row_of {
        _ if polymorphism(call.routine.result.ty.oid).is_none() => {
            mote_catalog::routine_text::type_text(call.routine.result)
        }
        _ => call.result.name(),
    };
    SqlError::new(
        state::INVALID_FUNCTION_DEFINITION,
        format!("return type mismatch in function declared to return {declared}"),
    )
    .detail(detail)
}

/// The body ends with something that yields no rows, or is empty.
pub(super) fn no_final_query(call: &RoutineCall<'_>) -> SqlError {
    mismatch(
        call,
        "Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING.",
    )
}

fn check_count(have: usize, want: usize, is_row: bool, call: &RoutineCall<'_>) -> SqlResult<()> {
    let detail = match have.cmp(&want) {
        std::cmp::Ordering::Equal => return Ok(()),
        _ if !is_row => "Final statement must return exactly one column.",
        std::cmp::Ordering::Greater => "Final statement returns too many columns.",
        std::cmp::Ordering::Less => "Final statement returns too few columns.",
    };
    Err(mismatch(call, detail))
}

fn wrong_column(
    position: usize,
    have: ColumnType,
    want: ColumnType,
    is_row: bool,
    call: &RoutineCall<'_>,
) -> SqlError {
    // Without their modifiers.
    let (have, want) = (ColumnType::new(have.oid).name(), ColumnType::new(want.oid).name());
    let detail = match is_row {
        true => format!(
            "Final statement returns {have} instead of {want} at column {}.",
            position + 1
        ),
        false => format!("Actual return type is {have}."),
    };
    mismatch(call, detail)
}

/// Accounts for a row of a set: as much as work_mem allows one operator, of the session's memory.
pub fn keep_row(kept: &mut Kept, row: &[Datum], context: &StatementContext<'_>) -> SqlResult<()> {
    let session = &context.session;
    kept.add(row_bytes(row), &session.memory, "the rows of a function")?;
    match kept.bytes() <= session.settings.effective.work_mem_bytes {
        true => Ok(()),
        false => Err(no_room()),
    }
}

#[cold]
fn no_room() -> SqlError {
    SqlError::new(state::OUT_OF_MEMORY, "out of memory")
        .detail("The rows that a function returns need more than work_mem.")
        .hint("Increase work_mem.")
}
