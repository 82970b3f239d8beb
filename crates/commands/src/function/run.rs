//! CALL and DO.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_grammar::ast::{Do, FunctionCall};
use mote_planner::plan::OutputColumn;
use mote_sql::bind::{BoundCall, CallParameters, bind_call};
use mote_types::Datum;

use super::super::{internal, privileges};
use crate::routine;
use crate::routine::Holdings;
use crate::routine::kept_call::{CompiledCall, is_tree_of};
use crate::utility::{BodyContext, Command, Issued};
use mote_catalog::tag::CommandTag;
use mote_executor::context::calls::{Returned, RoutineCall};
use mote_executor::context::{SessionState, StatementContext, UtilityParameters};
use mote_executor::runtime::{Runtime, Values};

impl Command for Do {
    fn name(&self) -> &'static str {
        "DO"
    }

    /// What it runs is checked statement by statement.
    fn is_read_only(&self) -> bool {
        true
    }

    fn has_body(&self) -> bool {
        true
    }

    fn run_body(&self, body: &mut BodyContext<'_, '_>) -> SqlResult<CommandTag> {
        execute_block(self, body)
    }

    // In a block, and within other bodies: the transaction is not the body's.
    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        execute_block(self, &mut BodyContext::Statement(context))
    }
}

impl Command for FunctionCall {
    fn name(&self) -> &'static str {
        "CALL"
    }

    /// What it runs is checked statement by statement.
    fn is_read_only(&self) -> bool {
        true
    }

    fn has_body(&self) -> bool {
        true
    }

    fn run_body(&self, body: &mut BodyContext<'_, '_>) -> SqlResult<CommandTag> {
        call(self, body)
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        call(self, &mut BodyContext::Statement(context))
    }
}

/// DO. The language is PL/pgSQL unless it is named.
pub(in super::super) fn execute_block(block: &Do, body: &mut BodyContext<'_, '_>) -> SqlResult<CommandTag> {
    let language = block.language.as_deref().unwrap_or("plpgsql").to_lowercase();
    routine::run_block(&language, &block.code, body)?;
    Ok(CommandTag::Word("DO"))
}

/// Finds the procedure; `types` are those of the client's parameters.
fn bind(call: &FunctionCall, text: &str, types: &[Oid], session: &SessionState) -> SqlResult<BoundCall> {
    bind_call(call, text, &session.catalog, CallParameters::Known(types))
}

/// The columns that a CALL yields: the procedure's OUT and INOUT arguments.
fn output(bound: &BoundCall) -> Option<Vec<OutputColumn>> {
    let columns = bound.columns.as_ref()?.iter().map(|(name, ty)| OutputColumn {
        name: name.clone(),
        ty: *ty,
        table: Oid::INVALID,
        attribute: 0,
    });
    Some(columns.collect())
}

/// CALL.
pub(in super::super) fn call(call: &FunctionCall, body: &mut BodyContext<'_, '_>) -> SqlResult<CommandTag> {
    // In a piece of its own: the body may end the transaction in which the arguments were computed.
    let (compiled, arguments) = body.with(|context| compiled_with_arguments(call, context))?;
    let bound = &compiled.bound;
    let returned = routine::call_procedure(
        &RoutineCall {
            routine: &bound.routine,
            arguments: &arguments,
            types: &compiled.types,
            result: bound.ty,
            columns: bound.columns.as_deref(),
            trigger: None,
        },
        body,
    )?;
    if let Some(columns) = output(bound) {
        // OUT and INOUT arguments come back as one row, which the client gets as a result.
        let row = match returned {
            Returned::Value(Datum::Record(record)) => record.fields,
            Returned::Value(Datum::Null) => vec![Datum::Null; columns.len()],
            _ => {
                return Err(SqlError::new(
                    state::INTERNAL_ERROR,
                    "a procedure returned no row",
                ));
            }
        };
        body.with(|context| {
            context.host.start_rows(&columns)?;
            context.host.row(&row, &context.session.settings.effective.format)
        })?;
    }
    Ok(CommandTag::Word("CALL"))
}

/// The procedure that a CALL means, and the values of its arguments.
fn compiled_with_arguments(
    call: &FunctionCall,
    context: &mut StatementContext<'_>,
) -> SqlResult<(Arc<CompiledCall>, Vec<Datum>)> {
    // Of a CALL in the extended protocol, whose arguments may be parameters.
    let UtilityParameters { types, values } = std::mem::take(&mut context.session.utility_parameters);
    let compiled = compiled(call, &types, context)?;
    privileges::check_routine(&context.session.catalog, &compiled.bound.routine)?;
    let mut arguments = Vec::with_capacity(compiled.arguments.len());
    // The arguments see what the CALL itself would see as a query.
    let snapshot = context.transaction.snapshot();
    let mut values = Values {
        parameters: values,
        ..Values::default()
    };
    for argument in &compiled.arguments {
        let mut runtime = Runtime::new(context, &snapshot, &mut values);
        arguments.push(argument.evaluate(&[], &mut runtime)?);
    }
    Ok((compiled, arguments))
}

/// The procedure and its arguments, as they were compiled last if that holds.
fn compiled(
    call: &FunctionCall,
    types: &[Oid],
    context: &mut StatementContext<'_>,
) -> SqlResult<Arc<CompiledCall>> {
    let kept = &Holdings::seen(context.calls).routines.calls;
    if let Some(known) = kept.find(call, types, context.session) {
        return Ok(known);
    }
    let bound = internal::on_large_stack(context, |session| {
        bind(call, &session.statement_text, types, session)
    })?;
    let compiled = Arc::new(CompiledCall::new(bound)?);
    // A CALL within another statement has a tree of its own, which nobody holds.
    let tree = context.session.statement_tree.take();
    if let Some(tree) = tree.filter(|tree| is_tree_of(tree, call)) {
        let kept = &mut Holdings::of(context.calls).routines.calls;
        kept.keep(tree, types, &compiled, context.session);
    }
    Ok(compiled)
}
