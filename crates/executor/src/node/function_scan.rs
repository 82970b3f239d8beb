//! Set-returning functions in FROM, several of them side by side (ROWS FROM), WITH ORDINALITY.
//!
//! A function that yields fewer rows than its neighbours is padded with nulls. A scalar function is a set of one row.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_planner::plan::measured::Observed;
use mote_planner::plan::node;
use mote_sql::builtin::function::{FUNCTIONS, record_columns};
use mote_sql::expr::Expr;
use mote_types::catalog::user::is_row;
use mote_types::{ColumnType, Datum, Record, RowType, oid};

use super::Operator;
use crate::expr::{Expression, RoutineSite, compile, compile_all, compile_option};
use crate::functions::{self, CallSite, RowSource, SetFunction};
use crate::runtime::Runtime;

/// A call that yields rows.
pub enum SetCall {
    Set {
        function: SetFunction,
        strict: bool,
        arguments: Box<[Expression]>,
        site: CallSite,
        /// What the fields of its records are of, for a function that makes records.
        fields: Arc<RowType>,
    },
    /// A user's function, of one value or of a set.
    Routine(RoutineSite),
    /// A scalar: its value, expanded when the function scan wants several columns.
    Scalar(Expression),
}

impl SetCall {
    /// A call of a set-returning function; anything else becomes a set of one row.
    pub fn compile(expr: &Expr) -> SqlResult<SetCall> {
        if let Expr::Routine(call) = expr {
            return Ok(SetCall::Routine(RoutineSite::compile(call)?));
        }
        let Expr::Call {
            function,
            arguments,
            ty,
            ..
        } = expr
        else {
            return Ok(SetCall::Scalar(compile(expr)?));
        };
        let signature = &FUNCTIONS[function.0 as usize];
        if !signature.returns_set {
            return Ok(SetCall::Scalar(compile(expr)?));
        }
        let function = functions::set_body(signature.body)
            .ok_or_else(|| SqlError::unsupported(format!("function {}", signature.name)))?;
        let site = CallSite {
            name: signature.name,
            arguments: arguments.iter().map(Expr::ty).collect(),
            result: *ty,
        };
        // Without a result of several columns these are none, and `value` takes the one datum as it is.
        let fields = record_columns(signature.body, &site.arguments).unwrap_or_default();
        Ok(SetCall::Set {
            function,
            strict: signature.strict,
            arguments: compile_all(arguments)?,
            site,
            fields: Arc::new(RowType::named(
                fields.iter().map(|(_, ty)| *ty).collect(),
                fields.iter().map(|(name, _)| (*name).into()).collect(),
            )),
        })
    }

    /// A produced row as the one value that a SELECT list wants of it.
    pub fn value(&self, produced: &mut Vec<Datum>) -> Datum {
        match self {
            SetCall::Set { fields, .. } if produced.len() > 1 => Datum::Record(Box::new(Record {
                ty: fields.clone(),
                fields: std::mem::take(produced),
            })),
            SetCall::Routine(site) => site.value(produced),
            _ => produced.pop().unwrap_or_default(),
        }
    }

    /// Starts the call; None yields no row.
    pub fn open(
        &self,
        row: &[Datum],
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<Option<Box<dyn RowSource>>> {
        match self {
            SetCall::Routine(site) => {
                // The routine has run to its end by then: its rows are kept, and charged to the session.
                let rows = site.rows(row, runtime)?;
                Ok(Some(functions::row_source::kept_rows(rows)))
            }
            SetCall::Scalar(expression) => {
                let value = expression.evaluate(row, runtime)?;
                Ok(Some(functions::row_source::single(value)))
            }
            SetCall::Set {
                function,
                strict,
                arguments,
                site,
                ..
            } => {
                let mut values = Vec::with_capacity(arguments.len());
                for argument in arguments {
                    values.push(argument.evaluate(row, runtime)?);
                }
                // As PostgreSQL's ExecMakeFunctionResultSet: a strict function is not called with a null, and its set
                // is empty.
                if *strict && values.iter().any(Datum::is_null) {
                    return Ok(None);
                }
                function(runtime, site, &values).map(Some)
            }
        }
    }
}

/// The calls of ROWS FROM, or the one call that stands alone.
pub struct Program {
    calls: Vec<SetCall>,
    /// The columns of each call.
    columns: Vec<Vec<ColumnType>>,
    /// WITH ORDINALITY: an int8 from 1 stands behind the columns of all calls.
    ordinality: bool,
    filter: Option<Expression>,
}

impl Program {
    pub fn compile(node: &node::FunctionScan) -> SqlResult<Arc<Program>> {
        Ok(Arc::new(Program {
            calls: node
                .calls
                .iter()
                .map(SetCall::compile)
                .collect::<SqlResult<_>>()?,
            columns: node.columns.clone(),
            ordinality: node.ordinality,
            filter: compile_option(&node.filter)?,
        }))
    }
}

/// The calls at work: opened with the first row.
pub struct State {
    program: Arc<Program>,
    /// For each call what still yields rows. The inner None: no row, or none any more.
    sources: Option<Vec<Option<Box<dyn RowSource>>>>,
    row: Vec<Datum>,
    produced: Vec<Datum>,
    ordinal: i64,
    removed: u64,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        State {
            program,
            sources: None,
            row: Vec::new(),
            produced: Vec::new(),
            ordinal: 0,
            removed: 0,
        }
    }

    fn open(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        let mut sources = Vec::with_capacity(self.program.calls.len());
        for call in &self.program.calls {
            // Arguments are evaluated without a row: LATERAL ones read parameters that the nested loop has bound.
            sources.push(call.open(&[], runtime)?);
        }
        self.sources = Some(sources);
        self.ordinal = 0;
        Ok(())
    }

    /// Asks every source for its next row; false when none has one.
    fn gather(&mut self) -> SqlResult<bool> {
        let mut any = false;
        self.row.clear();
        for (source, columns) in self.sources.iter_mut().flatten().zip(&self.program.columns) {
            self.produced.clear();
            let produced = match source {
                Some(running) => running.next(&mut self.produced)?,
                None => false,
            };
            if !produced {
                // Dropped at its end: it must not be asked again.
                *source = None;
                self.row.extend(std::iter::repeat_n(Datum::Null, columns.len()));
                continue;
            }
            any = true;
            spread(&mut self.produced, columns, &mut self.row)?;
        }
        self.ordinal += 1;
        if self.program.ordinality {
            self.row.push(Datum::Int8(self.ordinal));
        }
        Ok(any)
    }
}

/// Puts a produced row into its columns: a lone record is taken apart, unless it is the value of a column itself.
fn spread(produced: &mut Vec<Datum>, columns: &[ColumnType], row: &mut Vec<Datum>) -> SqlResult<()> {
    let is_value = |ty: &RowType| match (columns, ty.types.as_slice()) {
        ([column], [field]) if field.oid == column.oid => false,
        ([column], _) => is_row(column.oid),
        _ => false,
    };
    match produced.as_mut_slice() {
        [Datum::Record(record)] if !is_value(&record.ty) => {
            check_structure(&record.ty.types, columns)?;
            row.append(&mut record.fields);
        }
        // A null where a record was expected: all its columns are null.
        [_] if columns.len() != 1 => row.extend(std::iter::repeat_n(Datum::Null, columns.len())),
        _ => row.append(produced),
    }
    Ok(())
}

/// A function that answers `record` promises no columns: what it yields is compared with the definition list of the
/// query (tupledesc_match of execSRF.c).
fn check_structure(returned: &[ColumnType], expected: &[ColumnType]) -> SqlResult<()> {
    let differ = |detail: String| {
        let message = "function return row and query-specified return row do not match";
        Err(SqlError::new(state::DATATYPE_MISMATCH, message).detail(detail))
    };
    if returned.len() != expected.len() {
        let plural = if returned.len() == 1 { "" } else { "s" };
        return differ(format!(
            "Returned row contains {} attribute{plural}, but query expects {}.",
            returned.len(),
            expected.len()
        ));
    }
    for (position, (returned, expected)) in returned.iter().zip(expected).enumerate() {
        // A literal of a row constructor is the text that it was written as.
        let text = returned.oid == oid::UNKNOWN && expected.oid == oid::TEXT;
        if returned.oid != expected.oid && !text {
            return differ(format!(
                "Returned type {} at ordinal position {}, but query expects {}.",
                ColumnType::new(returned.oid).name(),
                position + 1,
                ColumnType::new(expected.oid).name()
            ));
        }
    }
    Ok(())
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        if self.sources.is_none() {
            self.open(runtime)?;
        }
        while self.gather()? {
            runtime.burn(1)?;
            match &self.program.filter {
                Some(filter) if !filter.holds(&self.row, runtime)? => self.removed += 1,
                _ => return Ok(true),
            }
        }
        Ok(false)
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    fn reset(&mut self) {
        self.sources = None;
    }

    fn observe(&self, observed: &mut Observed) {
        observed.removed_by_filter += self.removed;
    }
}
