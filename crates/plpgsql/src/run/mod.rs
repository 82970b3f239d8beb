//! Statements one after the other: dispatch, conditions, blocks and their exceptions.

mod call;
mod cursor;
pub mod frame;
mod loops;
mod query;
mod raise;
mod returning;

use mote_common::error::{Severity, state};
use mote_common::{SqlError, SqlResult, SqlState};
use mote_engine::SavepointId;
use mote_types::{ColumnType, Datum};

use crate::code::*;
use crate::conditions;
use frame::Frame;
use mote_commands::routine::Holdings;
use mote_commands::utility::BodyContext;
use mote_executor::context::StatementContext;

/// Where to go after a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow<'c> {
    Next,
    /// EXIT, to behind the loop or block of this label; None: the innermost loop.
    Exit(Option<&'c str>),
    Continue(Option<&'c str>),
    Return,
}

const CASE_NOT_FOUND: SqlState = SqlState::new("20000");
const ASSERT_FAILURE: SqlState = SqlState::new("P0004");

impl<'c> Frame<'c> {
    pub fn statements(
        &mut self,
        statements: &'c [Statement],
        body: &mut BodyContext<'_, '_>,
    ) -> SqlResult<Flow<'c>> {
        let outer = self.at;
        for statement in statements {
            self.at = Some(statement);
            body.with(|context| context.burn(1))?;
            let flow = self.statement(statement, body)?;
            if flow != Flow::Next {
                self.at = outer;
                return Ok(flow);
            }
        }
        self.at = outer;
        Ok(Flow::Next)
    }

    fn statement(&mut self, statement: &'c Statement, body: &mut BodyContext<'_, '_>) -> SqlResult<Flow<'c>> {
        match &statement.kind {
            StatementKind::Block(block) => return self.block(block, body),
            StatementKind::If { branches, otherwise } => {
                for (condition, statements) in branches {
                    if body.with(|context| self.truth(condition, context))? == Some(true) {
                        return self.statements(statements, body);
                    }
                }
                return self.statements(otherwise, body);
            }
            StatementKind::Case {
                operand,
                branches,
                otherwise,
            } => {
                if let Some((id, operand)) = operand {
                    body.with(|context| self.case_operand(*id, operand, context))?;
                }
                return self.case(
                    operand.as_ref().map(|(id, _)| *id),
                    branches,
                    otherwise.as_deref(),
                    body,
                );
            }
            StatementKind::Loop(of) => return self.run_loop(of, body),
            StatementKind::Exit {
                leaves,
                label,
                condition,
            } => {
                let taken = match condition {
                    Some(condition) => body.with(|context| self.truth(condition, context))? == Some(true),
                    None => true,
                };
                return Ok(match (taken, leaves) {
                    (false, _) => Flow::Next,
                    (true, true) => Flow::Exit(label.as_deref()),
                    (true, false) => Flow::Continue(label.as_deref()),
                });
            }
            StatementKind::Return(value) => {
                body.with(|context| self.return_value(value.as_ref(), context))?;
                return Ok(Flow::Return);
            }
            StatementKind::Call(call) => self.call(call, body)?,
            StatementKind::Transaction { commit, chain } => {
                // With the snapshot goes the hold on what the transaction saw.
                self.snapshot = None;
                body.end_transaction(*commit, *chain)?;
            }
            other => body.with(|context| self.simple_statement(other, context))?,
        }
        Ok(Flow::Next)
    }

    /// Statements that go on with the next one, in the same transaction.
    fn simple_statement(
        &mut self,
        statement: &'c StatementKind,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<()> {
        match statement {
            StatementKind::Assign { target, value } => self.assignment(target, value, context),
            StatementKind::ReturnNext(value) => self.return_next(value.as_ref(), context),
            StatementKind::ReturnQuery(query) => self.return_query(query, context),
            StatementKind::Raise(raise) => self.raise(raise, context),
            StatementKind::Assert { condition, message } => self.assert(condition, message.as_ref(), context),
            StatementKind::Sql { query, into } => self.sql(query, into.as_ref(), context),
            StatementKind::Perform(query) => self.perform(query, context),
            StatementKind::Execute { query, using, into } => {
                self.execute(query, using, into.as_ref(), context)
            }
            StatementKind::GetDiagnostics { stacked, items } => {
                self.get_diagnostics(*stacked, items, context)
            }
            StatementKind::Open { cursor, how } => self.open(*cursor, how, context),
            StatementKind::Fetch {
                cursor,
                direction,
                into,
            } => self.fetch(*cursor, direction, into.as_ref(), context),
            StatementKind::Close(cursor) => self.close(*cursor, context),
            StatementKind::Null => Ok(()),
            _ => Err(SqlError::internal("a statement with a flow of its own")),
        }
    }

    fn case_operand(
        &mut self,
        id: VariableId,
        operand: &'c crate::code::expression::Expression,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<()> {
        let (value, ty) = self.evaluate(operand, context)?;
        // A literal is a text here.
        let ty = if ty == ColumnType::UNKNOWN {
            ColumnType::TEXT
        } else {
            ty
        };
        self.assign_variable(id, value, ty, context)
    }

    fn assignment(
        &mut self,
        target: &'c Target,
        expression: &'c crate::code::expression::Expression,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<()> {
        let (value, ty) = self.evaluate(expression, context)?;
        if let Some(wanted) = self.part_type(target) {
            // The conversion belongs to the expression, what the subscripts lead to does not.
            let value = self.coerce(value, ty, wanted, context);
            let value = value.map_err(|error| expression.failed(error))?;
            return self.assign(target, value, wanted, context);
        }
        let result = self.assign(target, value, ty, context);
        // In PostgreSQL the conversion is part of the expression: planned with it, or run with the query.
        result.map_err(|error| match expression.known_plan() {
            Some(planned) if planned.converts_apart() && target.steps.is_empty() => error,
            _ if error.state() == state::NULL_VALUE_NOT_ALLOWED => error,
            _ => expression.failed(error),
        })
    }

    fn case(
        &mut self,
        operand: Option<VariableId>,
        branches: &'c [(crate::code::expression::Expression, Vec<Statement>)],
        otherwise: Option<&'c [Statement]>,
        body: &mut BodyContext<'_, '_>,
    ) -> SqlResult<Flow<'c>> {
        let mut taken = otherwise;
        for (condition, statements) in branches {
            if body.with(|context| self.truth(condition, context))? == Some(true) {
                taken = Some(statements);
                break;
            }
        }
        if let Some(id) = operand {
            // What it held may be large.
            self.set(id, Datum::Null);
        }
        match taken {
            Some(statements) => self.statements(statements, body),
            None => {
                Err(SqlError::new(CASE_NOT_FOUND, "case not found")
                    .hint("CASE statement is missing ELSE part."))
            }
        }
    }

    fn assert(
        &mut self,
        condition: &'c crate::code::expression::Expression,
        message: Option<&'c crate::code::expression::Expression>,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<()> {
        if self.truth(condition, context)? == Some(true) {
            return Ok(());
        }
        let message = match message {
            Some(message) => {
                let (value, ty) = self.evaluate(message, context)?;
                (!value.is_null()).then(|| self.text_of(&value, ty, context))
            }
            None => None,
        };
        let message = message.unwrap_or_else(|| "assertion failed".into());
        Err(SqlError::new(ASSERT_FAILURE, message))
    }

    // Blocks

    pub fn block(&mut self, block: &'c Block, body: &mut BodyContext<'_, '_>) -> SqlResult<Flow<'c>> {
        let flow = match &block.exceptions {
            None => {
                body.with(|context| self.initialise(block, context))?;
                self.statements(&block.statements, body)?
            }
            Some(exceptions) => self.guarded(block, exceptions, body)?,
        };
        Ok(match flow {
            Flow::Exit(Some(label)) if block.label.as_deref() == Some(label) => Flow::Next,
            other => other,
        })
    }

    /// Gives the variables of a block their first values.
    fn initialise(&mut self, block: &'c Block, context: &mut StatementContext<'_>) -> SqlResult<()> {
        let (outer, phase) = (self.at, self.phase);
        if !block.variables.is_empty() {
            self.phase = "during statement block local variable initialization";
        }
        for &id in &block.variables {
            let variable = self.variable(id);
            self.line = Some(variable.line);
            self.set(id, Datum::Null);
            if let Some(default) = &variable.default {
                let (value, ty) = self.evaluate(default, context)?;
                // Unlike an assignment it does not tell a literal the type that it should have.
                if matches!(variable.kind, VariableKind::Record(_)) && value.as_str().is_some() {
                    return Err(frame::no_row());
                }
                self.assign_variable(id, value, ty, context)?;
            } else if variable.cursor.is_some() {
                self.set(id, Datum::from(variable.name.as_str()));
            }
        }
        (self.at, self.phase, self.line) = (outer, phase, None);
        Ok(())
    }

    /// A block with an EXCEPTION section: a subtransaction, rolled back before a handler runs.
    fn guarded(
        &mut self,
        block: &'c Block,
        exceptions: &'c Exceptions,
        body: &mut BodyContext<'_, '_>,
    ) -> SqlResult<Flow<'c>> {
        // As in PostgreSQL the declarations run inside, too.
        let (outer, phase) = (self.at, self.phase);
        let subtransaction = body.with(|context| Ok(Subtransaction::begin(context)))?;
        let result = body
            .with(|context| self.initialise(block, context))
            .and_then(|()| self.statements(&block.statements, body));
        let error = match result {
            Ok(flow) => {
                body.with(|context| {
                    subtransaction.release(context);
                    Ok(())
                })?;
                return Ok(flow);
            }
            Err(error) => error,
        };
        body.with(|context| subtransaction.roll_back(context))?;
        let Some(handler) = exceptions
            .handlers
            .iter()
            .find(|handler| catches(handler, &error))
        else {
            return Err(error);
        };
        let error = match std::mem::take(&mut self.raised_again) {
            true => error,
            false => error.context(self.place()),
        };
        (self.at, self.phase, self.line) = (outer, phase, None);
        self.set(exceptions.state, Datum::from(error.state().as_str()));
        self.set(exceptions.message, Datum::from(error.message()));
        self.errors.push(error);
        let flow = self.statements(&handler.statements, body);
        self.errors.pop();
        flow
    }
}

/// OTHERS leaves out what ends a statement from outside, and failed assertions.
fn catches(handler: &Handler, error: &SqlError) -> bool {
    let code = error.state();
    if error.fields().severity > Severity::Error || code == state::SNAPSHOT_TOO_OLD {
        return false;
    }
    handler.conditions.iter().any(|condition| match condition {
        Condition::Others => code != state::QUERY_CANCELED && code != ASSERT_FAILURE,
        Condition::State(condition) => conditions::covers(*condition, code),
    })
}

/// A savepoint of the engine around a block.
struct Subtransaction {
    id: SavepointId,
    depth: u32,
}

impl Subtransaction {
    fn begin(context: &mut StatementContext<'_>) -> Subtransaction {
        let id = context.transaction.savepoint();
        context.session.savepoint_depth += 1;
        Subtransaction {
            id,
            depth: context.session.savepoint_depth,
        }
    }

    fn release(self, context: &mut StatementContext<'_>) {
        context.transaction.release(self.id);
        context.session.release_savepoints(self.depth - 1);
    }

    fn roll_back(self, context: &mut StatementContext<'_>) -> SqlResult<()> {
        context.transaction.rollback_to(self.id);
        context.transaction.release(self.id);
        Holdings::of(context.calls)
            .portals
            .retain(|portal| portal.savepoint_depth < self.depth);
        let session = &mut *context.session;
        let reported = session.roll_back_savepoints(self.depth)?;
        session.release_savepoints(self.depth - 1);
        session.settings_changed();
        for setting in reported {
            context.host.parameter_status(setting.name, &setting.value);
        }
        Ok(())
    }
}
