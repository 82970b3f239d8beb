//! LANGUAGE sql: statements run one after the other; the last one's rows are the result.
//!
//! Promises: parameters go by number and by name, columns first; the result is what the last statement yields,
//! converted by assignment; errors carry CONTEXT as PostgreSQL's do. Leaves out: inlining. PostgreSQL: functions.c,
//! whose sql_fn_resolve_param_name finds names as `Names` does.

use crate::routine::Holdings;
use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_grammar::ast;
use mote_grammar::ast::Name;
use mote_grammar::plpgsql::tree::NameConflict;
use mote_planner::plan::PlanBody;
use mote_sql::ParameterNames;
use mote_sql::access::Command;
use mote_sql::bind::ParameterReference;
use mote_sql::catalog::CatalogView;
use mote_sql::routine::Routine;
use mote_types::catalog::polymorphism;
use mote_types::catalog::user::is_composite;
use mote_types::{ColumnType, Datum, oid};
use parking_lot::Mutex;

use super::Language;
use super::nested::{self, Statement};
use super::result::Conversion;
use super::state::CompiledKey;
use crate::utility::BodyContext;
use mote_executor::context::StatementContext;
use mote_executor::context::calls::{Returned, RoutineCall};
use mote_executor::memory::KeptRows;
use mote_executor::plans::CachedPlan;

/// The language's entry in the table of languages.
pub struct Sql;

/// A body's statements.
struct Compiled {
    statements: Vec<Statement>,
    /// How the last statement's rows become the result, for the plan it was made for.
    conversion: Mutex<Option<(Arc<CachedPlan>, Arc<Conversion>)>>,
    /// [`row_versions`] as they were.
    rows: Vec<Option<u64>>,
}

impl Language for Sql {
    fn name(&self) -> &'static str {
        "sql"
    }

    fn validate(&self, routine: &Arc<Routine>, context: &mut StatementContext<'_>) -> SqlResult<()> {
        // An error with a place in the body needs no further word.
        check(routine, context).map_err(|error| match error.fields().position {
            Some(_) => error,
            None => error.context(format!("SQL function \"{}\"", routine.name)),
        })
    }

    fn call(&self, call: &RoutineCall<'_>, body: &mut BodyContext<'_, '_>) -> SqlResult<Returned> {
        body.with(|context| run(call, context))
    }

    fn run_block(&self, _: &str, _: &mut BodyContext<'_, '_>) -> SqlResult<()> {
        Err(SqlError::new(
            state::FEATURE_NOT_SUPPORTED,
            "language \"sql\" does not support inline code execution",
        ))
    }
}

/// Runs a body in the context of the calling statement: a body in SQL never ends its transaction.
fn run(call: &RoutineCall<'_>, context: &mut StatementContext<'_>) -> SqlResult<Returned> {
    let name = &call.routine.name;
    let compiled = compiled_for(call, context).map_err(|error| {
        error
            // The position would count in the body, which the client did not send.
            .moved_to(0)
            .context(format!("SQL function \"{name}\" during startup"))
    })?;
    // Of an empty body no number is the last.
    let last = compiled.statements.len().wrapping_sub(1);
    let mut returned = KeptRows::default();
    for (number, statement) in compiled.statements.iter().enumerate() {
        let result = run_one(statement, number == last, &compiled, call, context, &mut returned);
        result.map_err(|error| {
            let line = format!("SQL function \"{name}\" statement {}", number + 1);
            error.moved_to(0).context(line)
        })?;
    }
    if call.routine.returns_set {
        return Ok(Returned::Rows(returned));
    }
    // No row: NULL, as for a sub-query.
    let Some(row) = returned.rows.into_iter().next() else {
        return Ok(Returned::Value(Datum::Null));
    };
    Ok(Returned::Value(super::result::one_value(row, call.columns)))
}

/// CREATE FUNCTION: plans all statements, and compares the last one with the declared result.
fn check(routine: &Arc<Routine>, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let polymorphic = routine
        .arguments
        .iter()
        .any(|argument| polymorphism(argument.ty.ty.oid).is_some());
    let types: Vec<ColumnType> = routine.inputs().map(|input| input.ty.ty).collect();
    // With the declared types. A polymorphic one is none that a statement could be planned for: only the grammar
    // looks.
    let compiled = compile(routine, &types, context)?;
    if polymorphic {
        return Ok(());
    }
    // A body that uses what an earlier statement of it creates is refused here: nothing runs yet.
    for statement in &compiled.statements {
        statement.plan(context)?;
    }
    let columns = super::result_columns(routine, context);
    let call = RoutineCall {
        routine,
        arguments: &[],
        types: &types,
        result: routine.result.ty,
        columns: columns.as_deref(),
        trigger: None,
    };
    conversion(&compiled, &call, context).map(|_| ())
}

/// Runs one statement of the body; the rows of the last one go to `returned`.
fn run_one(
    statement: &Statement,
    is_last: bool,
    compiled: &Compiled,
    call: &RoutineCall<'_>,
    context: &mut StatementContext<'_>,
    returned: &mut KeptRows,
) -> SqlResult<()> {
    use mote_sql::builtin::function::Volatility;
    let volatile = call.routine.volatility == Volatility::Volatile;
    let parameters = call.arguments.to_vec();
    if !is_last || call.result.oid == oid::VOID {
        nested::run(statement, parameters, volatile, 0, context, &mut |_, _| Ok(()))?;
        return Ok(());
    }
    // Here and not at compilation: the last statement is planned when those before it have run.
    let (conversion, is_select) = conversion(compiled, call, context)?;
    let set = call.routine.returns_set;
    // Of a query for one value no more than the first row is computed.
    let max_rows = if set || !is_select { 0 } else { 1 };
    nested::run(
        statement,
        parameters,
        volatile,
        max_rows,
        context,
        &mut |context, row| {
            // INSERT .. RETURNING and its kin run to their end, though only the first row counts.
            if set || returned.rows.is_empty() {
                let row = conversion.convert(row, context)?;
                super::result::keep_row(&mut returned.kept, &row, context)?;
                returned.rows.push(row);
            }
            Ok(())
        },
    )?;
    Ok(())
}

/// How the last statement's rows become the result; whether it is a plain query.
fn conversion(
    compiled: &Compiled,
    call: &RoutineCall<'_>,
    context: &mut StatementContext<'_>,
) -> SqlResult<(Arc<Conversion>, bool)> {
    let Some(last) = compiled.statements.last() else {
        if call.result.oid == oid::VOID {
            return Ok((Arc::new(Conversion::default()), false));
        }
        return Err(super::result::no_final_query(call));
    };
    if call.result.oid == oid::VOID {
        return Ok((Arc::new(Conversion::default()), false));
    }
    let plan = last.plan(context)?;
    let is_select = matches!(&plan.plan.body, PlanBody::Query(query) if query.command == Command::Select);
    // The plan changes with the catalog; its columns, and so the conversion, may have changed with it.
    if let Some((known, conversion)) = &*compiled.conversion.lock()
        && Arc::ptr_eq(known, &plan)
    {
        return Ok((conversion.clone(), is_select));
    }
    // A SELECT, or a statement with RETURNING. EXPLAIN and the like have rows, but none that PostgreSQL would return.
    if !plan.plan.returns_rows || matches!(plan.plan.body, PlanBody::Utility(_)) {
        return Err(super::result::no_final_query(call));
    }
    let made = Arc::new(Conversion::plan(&plan.plan.output, call, context)?);
    *compiled.conversion.lock() = Some((plan, made.clone()));
    Ok((made, is_select))
}

/// A function's transaction is its caller's, and the client waits for the caller's answer, not for rows of a COPY.
fn refuse_outside_of_bodies(statement: &ast::Statement) -> SqlResult<()> {
    use ast::TransactionStatement::*;
    let control = match statement {
        ast::Statement::Transaction(control) => control,
        ast::Statement::Copy(copy) if copy.target == ast::CopyTarget::Client => {
            return Err(SqlError::new(
                state::FEATURE_NOT_SUPPORTED,
                "cannot COPY to/from client in an SQL function",
            ));
        }
        _ => return Ok(()),
    };
    let word = match control {
        Begin { .. } => "BEGIN",
        Commit { .. } => "COMMIT",
        Rollback { .. } => "ROLLBACK",
        Savepoint { .. } => "SAVEPOINT",
        Release { .. } => "RELEASE SAVEPOINT",
        RollbackTo { .. } => "ROLLBACK TO SAVEPOINT",
        PrepareTransaction { .. } => "PREPARE TRANSACTION",
        CommitPrepared { .. } => "COMMIT PREPARED",
        RollbackPrepared { .. } => "ROLLBACK PREPARED",
    };
    Err(SqlError::new(
        state::FEATURE_NOT_SUPPORTED,
        format!("{word} is not allowed in an SQL function"),
    ))
}

/// The body from the session's store, or compiled for these types. Before the first run what no function, or none of
/// its volatility, may do is refused, wherever in the body it stands.
fn compiled_for(call: &RoutineCall<'_>, context: &mut StatementContext<'_>) -> SqlResult<Arc<Compiled>> {
    let key = CompiledKey {
        routine: call.routine.oid,
        version: call.routine.version,
        types: call.types.into(),
        relation: None,
    };
    let known = Holdings::of(context.calls).routines.compiled::<Compiled>(&key);
    if let Some(compiled) = known.filter(|known| known.rows == row_versions(call, context)) {
        return Ok(compiled);
    }
    let mut compiled = compile(call.routine, call.types, context)?;
    compiled.rows = row_versions(call, context);
    let compiled = Arc::new(compiled);
    for statement in &compiled.statements {
        refuse_outside_of_bodies(&statement.parsed.statement)?;
        nested::check_allowed(&statement.parsed.statement, call.routine.volatility, context)?;
    }
    Holdings::of(context.calls).routines.keep(key, compiled.clone());
    Ok(compiled)
}

/// The versions of the types of rows among the arguments: what fields they have is compiled in.
fn row_versions(call: &RoutineCall<'_>, context: &StatementContext<'_>) -> Vec<Option<u64>> {
    let inputs = call.routine.inputs().map(|input| input.ty.ty.oid);
    let rows = inputs.filter(|&ty| is_composite(ty));
    rows.map(|ty| context.session.catalog.version_of(ty)).collect()
}

/// Parses the body. Its statements share the text and the names; each is planned when it is first needed.
fn compile(
    routine: &Arc<Routine>,
    types: &[ColumnType],
    context: &mut StatementContext<'_>,
) -> SqlResult<Compiled> {
    let text = super::standard_body::executable(routine);
    let parsed = nested::parse(&text, context)?;
    let text: Arc<str> = text.into();
    let names: Arc<dyn ParameterNames> = Arc::new(Names::new(routine, types, context));
    let statement = |parsed| Statement::new(text.clone(), parsed, names.clone());
    Ok(Compiled {
        statements: parsed.into_iter().map(statement).collect(),
        conversion: Mutex::new(None),
        rows: Vec::new(),
    })
}

/// Arguments by name: `a`, `f.a`, and fields of arguments that are rows: `a.field`, `f.a.field`.
struct Names {
    routine: String,
    types: Vec<ColumnType>,
    /// One per input; empty where it has none.
    names: Vec<String>,
    /// The columns of inputs that are rows.
    columns: Vec<Option<Vec<(Name, ColumnType)>>>,
}

impl Names {
    fn new(routine: &Routine, types: &[ColumnType], context: &StatementContext<'_>) -> Names {
        let catalog = &context.session.catalog;
        let columns = routine.inputs().map(|input| {
            let columns = mote_sql::bind::row_columns(input.ty.ty.oid, catalog)?.into_iter();
            Some(
                columns
                    .map(|(name, ty)| (Name::from(name.as_str()), ty))
                    .collect(),
            )
        });
        Names {
            routine: routine.name.clone(),
            types: types.to_vec(),
            names: routine.inputs().map(|input| input.name.clone()).collect(),
            columns: columns.collect(),
        }
    }

    /// An argument by its name.
    fn argument(&self, name: &str) -> Option<ParameterReference> {
        let index = self
            .names
            .iter()
            .position(|known| !known.is_empty() && known == name)?;
        Some(ParameterReference {
            index: index as u16,
            field: None,
        })
    }

    /// A field of an argument that is a row.
    fn field(&self, argument: &str, field: &str) -> Option<ParameterReference> {
        let found = self.argument(argument)?;
        let columns = self.columns[found.index as usize].as_ref()?;
        let position = columns.iter().position(|(name, _)| **name == *field)?;
        Some(ParameterReference {
            field: Some((position as u16, columns[position].1)),
            ..found
        })
    }
}

impl ParameterNames for Names {
    fn types(&self) -> &[ColumnType] {
        &self.types
    }

    fn resolve(&self, parts: &[Name]) -> SqlResult<Option<ParameterReference>> {
        Ok(match parts {
            // As in PostgreSQL: a qualified name is tried as `function.argument` first, then as `argument.field`.
            [name] => self.argument(name),
            [first, second] if **first == *self.routine => {
                self.argument(second).or_else(|| self.field(first, second))
            }
            [first, second] => self.field(first, second),
            [routine, argument, field] if **routine == *self.routine => self.field(argument, field),
            _ => None,
        })
    }

    // `$1` is the first input.
    fn numbered(&self, number: u32) -> Option<u16> {
        let index = u16::try_from(number.checked_sub(1)?).ok()?;
        (usize::from(index) < self.types.len()).then_some(index)
    }

    fn fields(&self, index: u16) -> SqlResult<Option<Vec<(Name, ColumnType)>>> {
        Ok(self.columns.get(usize::from(index)).cloned().flatten())
    }

    // A column of that name wins, unlike in PL/pgSQL, where both is an error.
    fn conflict(&self) -> NameConflict {
        NameConflict::Column
    }

    fn kind(&self) -> &'static str {
        "function argument"
    }
}
