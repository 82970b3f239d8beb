//! Statements one after the other: dispatch, conditions, blocks and their exceptions.
//!
//! What runs a statement takes a [`BodyContext`] if other statements run inside of it, which may end the transaction,
//! and a `StatementContext` if it does one thing: the compiler then sees that nothing of the transaction is borrowed
//! where COMMIT can come. PostgreSQL: exec_stmts and its kin in `pl_exec.c`.

mod call;
mod collected;
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
    /// Runs statements until one of them leaves the list.
    pub fn statements(
        &mut self,
        statements: &'c [Statement],
        body: &mut BodyContext<'_, '_>,
    ) -> SqlResult<Flow<'c>> {
        // Put back on success only: after an error `at` still names the statement that failed, for `place`.
        let outer = self.at;
        for statement in statements {
            self.at = Some(statement);
            // A body yields its worker and hears of cancel and time limits between statements, however cheap they
            // are.
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
            // Statements that contain others, or that may end the transaction, take the body; all others a context.
            StatementKind::Block(block) => return self.block(block, body),
            StatementKind::If { branches, otherwise } => {
                for (condition, statements) in branches {
                    // NULL is not true: the next branch is looked at.
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
                    // Once, whatever the number of branches: their conditions read the variable.
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
                    // The flow goes outwards until a loop or block finds its label; the compiler has checked that
                    // there is one.
                    (false, _) => Flow::Next,
                    (true, true) => Flow::Exit(label.as_deref()),
                    (true, false) => Flow::Continue(label.as_deref()),
                });
            }
            StatementKind::Return(value) => {
                body.with(|context| self.return_value(value.as_ref(), context))?;
                return Ok(Flow::Return);
            }
            // Both take the body itself: what they run may end the transaction.
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

    /// Stores what CASE compares in a variable of its own, whose type is that of this value.
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

    /// PostgreSQL: exec_stmt_assign.
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
        // `assign` converts to the target's type. Its errors carry the text of the expression or not, as they do in
        // PostgreSQL.
        let result = self.assign(target, value, ty, context);
        // In PostgreSQL the conversion is part of the expression: planned with it, or run with the query.
        result.map_err(|error| match expression.known_plan() {
            Some(planned) if planned.converts_apart() && target.steps.is_empty() => error,
            _ if error.state() == state::NULL_VALUE_NOT_ALLOWED => error,
            _ => expression.failed(error),
        })
    }

    /// Runs the first branch whose condition is true, else ELSE.
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

    /// ASSERT: a condition that is NULL fails like one that is false. The message is only computed when it is needed.
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

    /// Runs a block. EXIT with its label ends it; other flows go on outwards.
    pub fn block(&mut self, block: &'c Block, body: &mut BodyContext<'_, '_>) -> SqlResult<Flow<'c>> {
        let flow = match &block.exceptions {
            None => {
                body.with(|context| self.initialise(block, context))?;
                self.statements(&block.statements, body)?
            }
            Some(exceptions) => self.guarded(block, exceptions, body)?,
        };
        Ok(match flow {
            // An EXIT without a label is a loop's, and a RETURN the body's.
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
        // In the order of the declarations: a default may read the variables before it.
        for &id in &block.variables {
            let variable = self.variable(id);
            // Errors name the line of the declaration, which is no statement.
            self.line = Some(variable.line);
            // The block may have been entered before, in a loop.
            self.set(id, Datum::Null);
            if let Some(default) = &variable.default {
                let (value, ty) = self.evaluate(default, context)?;
                // Unlike an assignment it does not tell a literal the type that it should have.
                if matches!(variable.kind, VariableKind::Record(_)) && value.as_str().is_some() {
                    return Err(frame::no_row());
                }
                self.assign_variable(id, value, ty, context)?;
            // A bound cursor's portal bears the variable's name.
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
        // Before the declarations: an error in a default is caught by the block's own handlers.
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
        // What the block did is gone before a handler is looked for, and there may be none: then the error goes on
        // outwards.
        body.with(|context| subtransaction.roll_back(context))?;
        let Some(handler) = exceptions
            .handlers
            .iter()
            .find(|handler| catches(handler, &error))
        else {
            return Err(error);
        };
        // The line for this function is added here, where `at` still names the statement that failed:
        // PG_EXCEPTION_CONTEXT shows it. An error that was raised again has it from the first time.
        let error = match std::mem::take(&mut self.raised_again) {
            true => error,
            false => error.context(self.place()),
        };
        // The handler runs as a part of the statement that the block is, not of the one that failed.
        (self.at, self.phase, self.line) = (outer, phase, None);
        // SQLSTATE and SQLERRM are variables of the whole section: a handler sees those of its own error.
        self.set(exceptions.state, Datum::from(error.state().as_str()));
        self.set(exceptions.message, Datum::from(error.message()));
        self.errors.push(error);
        // Outside of the subtransaction: what a handler does stays, and its errors are not caught by its siblings.
        let flow = self.statements(&handler.statements, body);
        self.errors.pop();
        flow
    }
}

/// OTHERS leaves out what ends a statement from outside, and failed assertions.
fn catches(handler: &Handler, error: &SqlError) -> bool {
    let code = error.state();
    // FATAL ends the session. A lost snapshot is the transaction's, and no savepoint brings it back.
    if error.fields().severity > Severity::Error || code == state::SNAPSHOT_TOO_OLD {
        return false;
    }
    handler.conditions.iter().any(|condition| match condition {
        Condition::Others => code != state::QUERY_CANCELED && code != ASSERT_FAILURE,
        Condition::State(condition) => conditions::covers(*condition, code),
    })
}

/// A savepoint of the engine around a block: what BeginInternalSubTransaction is in PostgreSQL's exec_stmt_block.
struct Subtransaction {
    id: SavepointId,
    /// With this one counted: the session tags settings, catalog changes, events and portals with it.
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

    /// What was done inside belongs to the savepoint or transaction around it.
    fn release(self, context: &mut StatementContext<'_>) {
        context.transaction.release(self.id);
        context.session.release_savepoints(self.depth - 1);
    }

    /// Takes everything back: rows and locks first, which the engine undoes, then what the session keeps besides.
    fn roll_back(self, context: &mut StatementContext<'_>) -> SqlResult<()> {
        context.transaction.rollback_to(self.id);
        context.transaction.release(self.id);
        // Cursors that were opened inside read through what is gone.
        Holdings::of(context.calls)
            .portals
            .retain(|portal| portal.savepoint_depth < self.depth);
        let session = &mut *context.session;
        // Settings that the client is told of may have changed back: it is told again.
        let reported = session.roll_back_savepoints(self.depth)?;
        session.release_savepoints(self.depth - 1);
        session.settings_changed();
        for setting in reported {
            context.host.parameter_status(setting.name, &setting.value);
        }
        Ok(())
    }
}
