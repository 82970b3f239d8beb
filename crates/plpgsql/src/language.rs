//! The language as the door of routines knows it: bodies are compiled once per session and version, kept, and run.
//!
//! Promises: whatever ends a body with an error, the error's context has one line for this function on its way out.
//! Leaves out: identity, settings, depth and the caller's snapshot, which `mote_commands::routine::call` sets up
//! before.

use mote_commands::routine::Holdings;
use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_grammar::plpgsql::tree;
use mote_sql::builtin::function::Volatility;
use mote_sql::catalog::{CatalogView, Relation};
use mote_sql::routine::{Routine, RoutineKind};
use mote_types::catalog::user::{is_composite, is_row};
use mote_types::{ColumnType, Datum, RowType, format_type, oid};

use crate::code::{Code, Returns, VariableKind};
use crate::compile::{Argument, Source, row_type};
use crate::run::frame::{Frame, record};
use mote_commands::routine::{CompiledKey, Language, place};
use mote_commands::utility::BodyContext;
use mote_executor::context::StatementContext;
use mote_executor::context::calls::{Returned, RoutineCall, TriggerCall};

/// The language's entry in the table of languages; without state, since the session keeps what it compiles.
pub struct PlPgSql;

/// The name that errors give to DO's block.
const INLINE: &str = "inline_code_block";

impl Language for PlPgSql {
    fn name(&self) -> &'static str {
        "plpgsql"
    }

    // With declared types: a polymorphic argument has no actual type yet, and the table of a trigger is not known.
    fn validate(&self, routine: &Arc<Routine>, context: &mut StatementContext<'_>) -> SqlResult<()> {
        let types: Vec<ColumnType> = routine.inputs().map(|argument| argument.ty.ty).collect();
        let source = source(routine, &types, routine.result.ty, None, context);
        let compiled = compiled(&source, true, context);
        // A place in the body becomes one of the statement where that is run.
        compiled
            .map(|_| ())
            .map_err(|error| match error.fields().position {
                Some(_) => error,
                None => place::in_statement(error, &routine.name, &routine.body, None),
            })
    }

    // PostgreSQL: plpgsql_call_handler.
    fn call(&self, call: &RoutineCall<'_>, body: &mut BodyContext<'_, '_>) -> SqlResult<Returned> {
        if call.routine.is_trigger() && call.trigger.is_none() {
            let message = "trigger functions can only be called as triggers";
            let error = SqlError::new(state::FEATURE_NOT_SUPPORTED, message);
            return Err(place::in_statement(
                error,
                &call.routine.name,
                &call.routine.body,
                None,
            ));
        }
        let code = body.with(|context| code_of(call, context))?;
        let volatile = call.routine.volatility == Volatility::Volatile;
        let mut frame = Frame::new(&code, volatile);
        // The caller of a function that returns record tells the columns, by a column definition list for example.
        if let Some(columns) = call.columns {
            let (names, types) = columns
                .iter()
                .map(|(name, ty)| (name.as_str().into(), *ty))
                .unzip();
            frame.columns = Some(Arc::new(RowType::named(types, names)));
        }
        // What an expression of a stable or immutable function sees is the caller's. A volatile one's statements
        // begin snapshots of their own (`nested`), but its simple expressions read no rows and use this one.
        body.with(|context| {
            frame.snapshot = Some(context.transaction.snapshot());
            Ok(())
        })?;
        let result = run(&mut frame, call, body);
        // A frame whose error was raised again has its line in the context already; a second one would name it twice.
        result.map_err(|error| match frame.raised_again {
            true => error,
            false => error.context(frame.place()),
        })
    }

    // PostgreSQL: plpgsql_inline_handler. Nothing is kept: DO is compiled each time.
    fn run_block(&self, text: &str, body: &mut BodyContext<'_, '_>) -> SqlResult<()> {
        let source = Source {
            signature: INLINE.into(),
            label: None,
            body: text,
            arguments: Vec::new(),
            relations: Vec::new(),
            returns: Returns::Nothing,
            procedure: false,
            trigger: None,
        };
        let code = body.with(|context| {
            // Errors of the block's text point into the statement of DO around it.
            let statement = context.session.statement_text.clone();
            let code = compiled(&source, true, context);
            code.map_err(|error| place::in_statement(error, INLINE, text, Some(&statement)))
        })?;
        let mut frame = Frame::new(&code, true);
        // As PostgreSQL outside of an atomic context: a turn may end the transaction, so no rows are read ahead.
        frame.rows_at_a_time = 1;
        frame.set_found(false);
        let result = frame.block(&code.block, body);
        result.map(|_| ()).map_err(|error| match frame.raised_again {
            true => error,
            false => error.context(frame.place()),
        })
    }
}

/// Parses and compiles a body.
fn compiled(source: &Source<'_>, check: bool, context: &mut StatementContext<'_>) -> SqlResult<Code> {
    let catalog = &context.session.catalog;
    let mut result = None;
    // Parser, compiler and grammar recurse with the body's nesting; nothing in here suspends.
    context.host.on_large_stack(&mut || {
        let code = mote_grammar::plpgsql::parse(source.body);
        result =
            Some(code.and_then(|body: tree::Body| crate::compile::compile(source, &body, catalog, check)));
    });
    result.expect("the host runs the work")
}

/// The compiled body of a call, from the session's store.
///
/// The key and `is_current` decide together: the key follows the routine, its actual types and the trigger's table;
/// the tables and types of declarations (`%ROWTYPE`, composite types) are only known once the body is compiled.
fn code_of(call: &RoutineCall<'_>, context: &mut StatementContext<'_>) -> SqlResult<Arc<Code>> {
    let routine = call.routine;
    let key = CompiledKey {
        routine: routine.oid,
        version: routine.version,
        types: call.types.into(),
        relation: call
            .trigger
            .map(|trigger| (trigger.relation.oid, trigger.relation.version)),
    };
    let known = Holdings::of(context.calls).routines.compiled::<Code>(&key);
    // A stale body stays under its key until the new one replaces it below.
    if let Some(code) = known.filter(|code| is_current(code, &context.session.catalog)) {
        return Ok(code);
    }
    let source = source(routine, call.types, call.result, call.trigger, context);
    let code = compiled(&source, false, context);
    let code = code.map_err(|error| place::in_statement(error, &routine.name, &routine.body, None))?;
    let code = Arc::new(code);
    Holdings::of(context.calls).routines.keep(key, code.clone());
    Ok(code)
}

/// Whether the tables that variables are rows of are as they were.
fn is_current(code: &Code, catalog: &dyn CatalogView) -> bool {
    // A table that was dropped and made again under its name has another OID, and is not found under this one.
    let same = |(oid, version): &(Oid, u64)| {
        let relation = catalog.relation(*oid);
        relation.is_some_and(|relation| relation.version == *version)
    };
    code.relations.iter().all(same)
}

/// What a routine's body is compiled for, with the actual types of its inputs.
fn source<'a>(
    routine: &'a Routine,
    types: &[ColumnType],
    result: ColumnType,
    trigger: Option<&TriggerCall<'_>>,
    context: &StatementContext<'_>,
) -> Source<'a> {
    let catalog = &context.session.catalog;
    let mut actual = types.iter();
    let arguments = routine.arguments.iter().map(|argument| {
        // `types` are those of the call's arguments, one per input in order: they differ from the declaration's where
        // that is polymorphic.
        let ty = match argument.mode.is_input() {
            true => *actual.next().unwrap_or(&argument.ty.ty),
            // What a polymorphic output becomes follows from the inputs; only its first row tells here.
            false => argument.ty.ty,
        };
        Argument {
            name: argument.name.clone(),
            kind: kind_of(ty, catalog),
            input: argument.mode.is_input(),
            output: argument.mode.is_output(),
        }
    });
    let procedure = routine.kind == RoutineKind::Procedure;
    let types = routine.arguments.iter().map(|argument| argument.ty.ty.oid);
    // Arguments of composite types are rows with the attributes of this moment.
    let rows = types.filter(|ty| is_composite(*ty));
    let relations = rows.filter_map(|ty| Some((ty, catalog.version_of(ty)?)));
    Source {
        signature: signature(routine, catalog).into(),
        label: Some(&routine.name),
        body: &routine.body,
        arguments: arguments.collect(),
        relations: relations.collect(),
        returns: returns(routine, result),
        procedure,
        // Outer Some: a trigger function. Inner None: its table is not known, as in CREATE FUNCTION.
        trigger: routine
            .is_trigger()
            .then(|| trigger.map(|trigger| row_type(trigger.relation))),
    }
}

/// A composite type makes a row variable, bare `record` one without a structure.
fn kind_of(ty: ColumnType, catalog: &dyn CatalogView) -> VariableKind {
    match (ty.oid, catalog.row_type(ty.oid)) {
        (_, Some(row)) => VariableKind::Record(Some(row)),
        (oid::RECORD, None) => VariableKind::Record(None),
        _ => VariableKind::Scalar(ty),
    }
}

/// From the type of this call's result, in which polymorphic types are replaced.
fn returns(routine: &Routine, result: ColumnType) -> Returns {
    match (result.oid, routine.returns_set) {
        (oid::TRIGGER, _) => Returns::Trigger,
        (oid::VOID, false) => Returns::Nothing,
        (ty, true) if is_row(ty) => Returns::Rows,
        (_, true) => Returns::Values(result),
        (ty, false) if is_row(ty) => Returns::Row,
        (_, false) => Returns::Value(result),
    }
}

/// As errors name a function: qualified where the search path does not find it.
fn signature(routine: &Routine, catalog: &dyn CatalogView) -> String {
    let types = routine.inputs().map(|argument| match argument.ty.row_of {
        Some(relation) => catalog
            .relation(relation)
            .map_or_else(String::new, |relation| relation.name.clone()),
        None => format_type(argument.ty.ty.oid, -2),
    });
    let types = types.collect::<Vec<_>>().join(",");
    // PostgreSQL's format_procedure asks whether the name finds this routine; here another one of the same signature
    // further ahead in the path does not count.
    let visible = catalog.search_path().contains(&routine.schema);
    match visible {
        true => format!("{}({types})", routine.name),
        false => format!("{}.{}({types})", routine.schema, routine.name),
    }
}

/// Arguments in, the outermost block, the result out. The caller adds the context of errors.
fn run<'c>(
    frame: &mut Frame<'c>,
    call: &RoutineCall<'_>,
    body: &mut BodyContext<'_, '_>,
) -> SqlResult<Returned> {
    let code = frame.code;
    body.with(|context| enter(frame, call, context))?;
    frame.block(&code.block, body)?;
    // A set is what RETURN NEXT and RETURN QUERY gathered; reaching the end of the body is no error.
    if code.returns.is_set() {
        return Ok(Returned::Rows(std::mem::take(&mut frame.result.rows)));
    }
    let value = body.with(|context| frame.returned(context))?;
    // NULL from a BEFORE or INSTEAD OF trigger for rows means: leave this row alone.
    match call.trigger {
        Some(trigger) => Ok(Returned::Trigger(match value {
            Datum::Record(row) => Some(whole_row(row.fields, trigger.relation)),
            _ => None,
        })),
        None => Ok(Returned::Value(value)),
    }
}

/// Gives the variables that the caller fills their values.
fn enter(frame: &mut Frame<'_>, call: &RoutineCall<'_>, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let code = frame.code;
    frame.phase = "while storing call arguments into local variables";
    // Conversions may fail (a typmod, a domain): hence the phase, which the error's context tells.
    for ((&id, value), ty) in code.arguments.iter().zip(call.arguments).zip(call.types) {
        frame.assign_variable(id, value.clone(), *ty, context)?;
    }
    frame.phase = "during function entry";
    // INSERT has no OLD and DELETE no NEW; such a variable is NULL, as it is in statement triggers.
    if let (Some(variables), Some(trigger)) = (&code.trigger, call.trigger) {
        let relation = trigger.relation;
        for (id, row) in [(variables.new, trigger.new), (variables.old, trigger.old)] {
            let value = match (row, frame.row_of(id)) {
                (Some(row), Some(ty)) => record(live_fields(row, relation), &ty),
                _ => Datum::Null,
            };
            frame.set(id, value);
        }
        for (&id, value) in variables.others.iter().zip(crate::trigger::values(trigger)) {
            frame.set(id, value);
        }
    }
    // FOUND is false until a statement of the function sets it.
    frame.set_found(false);
    frame.phase = "";
    Ok(())
}

/// A stored row without its dropped columns.
fn live_fields(row: &[Datum], relation: &Relation) -> Vec<Datum> {
    let live = relation
        .columns
        .iter()
        .zip(row)
        .filter(|(column, _)| !column.dropped);
    live.map(|(_, value)| value.clone()).collect()
}

/// The way back: by attribute position. Dropped columns are NULL in rows that are written, whatever they were in the
/// one that was read.
fn whole_row(fields: Vec<Datum>, relation: &Relation) -> Vec<Datum> {
    let mut fields = fields.into_iter();
    let columns = relation.columns.iter();
    columns
        .map(|column| match column.dropped {
            true => Datum::Null,
            false => fields.next().unwrap_or_default(),
        })
        .collect()
}
