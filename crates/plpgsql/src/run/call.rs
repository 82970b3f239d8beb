//! CALL inside of a body: variables are arguments, and take what OUT and INOUT arguments give back.
//!
//! PostgreSQL: exec_stmt_call and make_callstmt_target (`pl_exec.c`). What CALL runs may end the transaction if this
//! body may (`utility::BodyContext`): nothing of the context is held across it, and the frame's snapshot goes before.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_engine::Access;
use mote_grammar::ast;
use mote_grammar::ast::{ExprKind, FunctionCall};
use mote_sql::bind::{BoundCall, CallParameters, bind_call};
use mote_types::{ColumnType, Datum};

use super::frame::Frame;
use crate::code::expression::Expression;
use crate::code::*;
use mote_catalog::privileges;
use mote_commands::routine::command_of;
use mote_commands::routine::{self, nested};
use mote_commands::utility::BodyContext;
use mote_executor::context::StatementContext;
use mote_executor::context::calls::{Returned, RoutineCall};
use mote_executor::expr::compile;
use mote_executor::runtime::Runtime;

impl<'c> Frame<'c> {
    /// CALL and DO of a body: the grammar tells which of them it is.
    pub fn call(&mut self, expression: &'c Expression, body: &mut BodyContext<'_, '_>) -> SqlResult<()> {
        let parsed = body
            .with(|context| expression.parsed(context))
            .map_err(|error| expression.failed(error))?;
        let ast::Statement::Call(call) = &parsed.statement else {
            return self.inner_block(expression, &parsed.statement, body);
        };
        // A function that is not volatile may not write, and nobody knows whether a procedure does.
        if !self.volatile {
            let error = SqlError::new(
                state::FEATURE_NOT_SUPPORTED,
                "CALL is not allowed in a non-volatile function",
            );
            return Err(expression.failed(error));
        }
        self.call_procedure(expression, call, body)
    }

    /// DO: a block of its own, without the variables of this one.
    fn inner_block(
        &mut self,
        expression: &'c Expression,
        statement: &ast::Statement,
        body: &mut BodyContext<'_, '_>,
    ) -> SqlResult<()> {
        // In a function DO is a statement like others. In a procedure its block may end the transaction, so that it
        // runs in the same body, with its text in place of the outer one: errors point into it.
        let done = if body.is_atomic() {
            body.with(|context| {
                let planned = self.planned(expression, context)?;
                let statement = &planned.statement;
                nested::run(statement, Vec::new(), self.volatile, 0, context, &mut |_, _| {
                    Ok(())
                })
                .map(|_| ())
            })
        } else {
            self.snapshot = None;
            let outer = body.with(|context| {
                let text = expression.text().into();
                Ok(std::mem::replace(&mut context.session.statement_text, text))
            })?;
            let command = body.with(|context| Ok(command_of(statement, context)))?;
            let done = command.run_body(body).map(|_| ());
            body.with(|context| {
                context.session.statement_text = outer;
                Ok(())
            })?;
            done
        };
        done.map_err(|error| expression.failed(error))
    }

    fn call_procedure(
        &mut self,
        expression: &'c Expression,
        call: &FunctionCall,
        body: &mut BodyContext<'_, '_>,
    ) -> SqlResult<()> {
        // Bound anew at each call: nothing of it is kept.
        let bound = body.with(|context| self.bind_call(expression, call, context));
        let bound = bound.map_err(|error| expression.failed(error))?;
        // Before the call: an argument that cannot be assigned to must not let the procedure write first.
        let targets = self.output_targets(expression, call, &bound)?;
        let returned = self.run_procedure(&bound, body);
        let row = match returned.map_err(|error| expression.failed(error))? {
            Returned::Value(Datum::Record(record)) => record.fields,
            // A procedure without output leaves no row, and then there are no targets either.
            _ => vec![Datum::Null; targets.len()],
        };
        let types: Vec<ColumnType> = bound.columns.iter().flatten().map(|(_, ty)| *ty).collect();
        for ((target, value), ty) in targets.iter().zip(row).zip(types) {
            body.with(|context| self.assign(target, value, ty, context))?;
        }
        Ok(())
    }

    /// Finds the procedure and its arguments, with the body's variables in sight; checks EXECUTE.
    fn bind_call(
        &mut self,
        expression: &Expression,
        call: &FunctionCall,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<BoundCall> {
        let names = self.names(expression);
        let catalog = &context.session.catalog;
        let mut bound = None;
        context.host.on_large_stack(&mut || {
            bound = Some(bind_call(
                call,
                expression.text(),
                catalog,
                CallParameters::Named(&names),
            ));
        });
        let bound = bound.expect("the host runs the work")?;
        privileges::check_routine(&context.session.catalog, &bound.routine)?;
        Ok(bound)
    }

    fn run_procedure(&mut self, bound: &BoundCall, body: &mut BodyContext<'_, '_>) -> SqlResult<Returned> {
        let types: Vec<_> = bound.arguments.iter().map(mote_sql::expr::Expr::ty).collect();
        let arguments = body.with(|context| {
            // The arguments are read as by a statement of their own: at READ COMMITTED they see what was committed before.
            context.transaction.start_statement(Access::Read);
            let snapshot = context.transaction.snapshot();
            let mut arguments = Vec::with_capacity(bound.arguments.len());
            for argument in &bound.arguments {
                let compiled = compile(argument)?;
                let mut runtime = Runtime::new(context, &snapshot, &mut self.values);
                arguments.push(compiled.evaluate(&[], &mut runtime)?);
            }
            Ok(arguments)
        })?;
        if !body.is_atomic() {
            // The procedure may end the transaction.
            self.snapshot = None;
        }
        let call = RoutineCall {
            routine: &bound.routine,
            arguments: &arguments,
            types: &types,
            result: bound.ty,
            columns: bound.columns.as_deref(),
            trigger: None,
        };
        routine::call_procedure(&call, body)
    }

    /// The variables in the places of OUT and INOUT arguments, in the procedure's order.
    fn output_targets(
        &self,
        expression: &Expression,
        call: &FunctionCall,
        bound: &BoundCall,
    ) -> SqlResult<Vec<Target>> {
        let mut targets = Vec::new();
        for (position, parameter) in bound.routine.arguments.iter().enumerate() {
            if !parameter.mode.is_output() {
                continue;
            }
            // By name first: positions count only for arguments in front of the named ones.
            let named = call
                .arguments
                .iter()
                .find(|argument| argument.name.as_deref() == Some(&parameter.name));
            let given = named.or_else(|| {
                call.arguments
                    .get(position)
                    .filter(|argument| argument.name.is_none())
            });
            // OUT arguments are not evaluated, but they are written in the call: only a variable can stand there.
            let target = given.and_then(|argument| self.variable_named(expression, &argument.value));
            match target {
                Some(target) => targets.push(target),
                None => {
                    let message = format!(
                        "procedure parameter \"{}\" is an output parameter but corresponding argument is not writable",
                        parameter.name
                    );
                    return Err(SqlError::new(state::SYNTAX_ERROR, message));
                }
            }
        }
        Ok(targets)
    }

    /// The variable, or the field of one, that an expression is.
    fn variable_named(&self, expression: &Expression, value: &ast::Expr) -> Option<Target> {
        let ExprKind::Column(reference) = &value.kind else {
            return None;
        };
        let parts: Vec<&str> = reference.parts.iter().map(|part| &**part).collect();
        let (variable, taken) = self.code.arena.find(expression.scope, &parts)?;
        // A constant is no place to write to: it gives the same error as an expression.
        if self.variable(variable).constant {
            return None;
        }
        let steps = parts[taken..].iter().map(|field| Step::Field(field.to_string()));
        Some(Target {
            variable,
            steps: steps.collect(),
        })
    }
}
