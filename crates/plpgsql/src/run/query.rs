//! Statements of SQL inside of a body: with INTO, for their effect, computed, and as the source of rows.

use mote_commands::routine::Holdings;
use std::collections::VecDeque;
use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult, SqlState};
use mote_grammar::ast;
use mote_types::{ColumnType, Datum, RowType, oid};

use super::frame::Frame;
use crate::code::expression::{Expression, row_type};
use crate::code::names::Using;
use crate::code::*;
use mote_catalog::tag::CommandTag;
use mote_commands::routine::command_of;
use mote_commands::routine::nested;
use mote_executor::context::StatementContext;
use mote_executor::plans::CachedPlan;

const NO_DATA_FOUND: SqlState = SqlState::new("P0002");
const TOO_MANY_ROWS: SqlState = SqlState::new("P0003");

/// A query whose rows are taken piecemeal.
pub struct Rows {
    running: nested::Running,
    pub row: Arc<RowType>,
}

/// What a computed statement tells of its failure.
pub fn failed(text: &str, error: SqlError) -> SqlError {
    match error.fields().position {
        Some(_) => error.within(text),
        None => error.context(format!("SQL statement \"{text}\"")),
    }
}

impl Rows {
    /// Appends at most so many rows; true at the end.
    pub fn fetch(
        &mut self,
        count: u64,
        rows: &mut VecDeque<Vec<Datum>>,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<bool> {
        let done = self.running.fetch(count, context, &mut |_, row| {
            rows.push_back(row.to_vec());
            Ok(())
        })?;
        Ok(done.finished)
    }

    /// The query is read as far as it will be; its operators go to the next run of it.
    pub fn close(self, context: &mut StatementContext<'_>) {
        self.running.close(context);
    }
}

/// The query of a loop. It stands in the session while the loop runs, where the end of a transaction finds it.
pub struct LoopRows {
    /// Its place among the loops that run, which end in reverse order.
    number: usize,
    pub row: Arc<RowType>,
}

impl LoopRows {
    /// Appends at most so many rows; true at the end.
    pub fn fetch(
        &self,
        count: u64,
        rows: &mut VecDeque<Vec<Datum>>,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<bool> {
        // Taken out while it runs, so that what it calls may have loops of its own. Put back on an error, too:
        // `close` pops it.
        let running = Holdings::of(context.calls).routines.loops[self.number].take();
        let mut running = running.ok_or_else(|| SqlError::internal("a loop's query is read twice"))?;
        let done = running.fetch(count, context, &mut |_, row| {
            rows.push_back(row.to_vec());
            Ok(())
        });
        Holdings::of(context.calls).routines.loops[self.number] = Some(running);
        Ok(done?.finished)
    }

    /// The loop is over; `whole` where no error ended it.
    pub fn close(self, whole: bool, context: &mut StatementContext<'_>) {
        // Popped whatever the outcome. After an error its execution may be in the middle of a row: it is dropped, not
        // kept.
        let running = Holdings::of(context.calls).routines.loops.pop().flatten();
        debug_assert_eq!(Holdings::of(context.calls).routines.loops.len(), self.number);
        if let Some(running) = running.filter(|_| whole) {
            running.close(context);
        }
    }
}

/// What INTO keeps of a statement's rows.
struct First {
    /// The values of the first row.
    row: Vec<Datum>,
    /// How many there were.
    rows: u64,
}

impl First {
    fn new(room: Vec<Datum>) -> First {
        First { row: room, rows: 0 }
    }

    #[inline]
    fn note(&mut self, row: &[Datum]) {
        if self.rows == 0 {
            self.row.extend_from_slice(row);
        }
        self.rows += 1;
    }
}

fn too_many_rows() -> SqlError {
    SqlError::new(TOO_MANY_ROWS, "query returned more than one row")
}

/// A computed statement, ready to run.
pub struct Computed {
    pub text: String,
    pub statement: nested::Statement,
    pub parameters: Vec<Datum>,
}

impl<'c> Frame<'c> {
    /// A statement of SQL that stands in the body: PostgreSQL's exec_stmt_execsql.
    pub fn sql(
        &mut self,
        query: &'c Expression,
        into: Option<&'c Destination>,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<()> {
        refuse_outside_of_bodies(
            &query
                .parsed(context)
                .map_err(|error| query.failed(error))?
                .statement,
        )?;
        let kept = self.take_kept(query, context)?;
        let planned = &kept.planned;
        let returns_rows = planned.plan.plan.returns_rows;
        let modifies = !matches!(query.parsed(context)?.statement, ast::Statement::Query(_));
        // How many rows are fetched decides what the statement does: SELECT INTO stops at the first; a second row is
        // needed where it is an error; a statement without INTO runs to its end.
        let limit = match into {
            Some(into) if into.strict || modifies => 2,
            Some(_) => 1,
            None => 0,
        };
        // Before it runs: what is refused must not have written.
        if into.is_none() && returns_rows {
            let error = SqlError::new(state::SYNTAX_ERROR, "query has no destination for result data");
            return Err(match modifies {
                true => error,
                false => error.hint("If you want to discard the results of a SELECT, use PERFORM instead."),
            });
        }
        if into.is_some() && !returns_rows {
            return Err(SqlError::new(
                state::SYNTAX_ERROR,
                "INTO used with a command that cannot return data",
            ));
        }
        let mut first = First::new(self.take_row());
        let done = self
            .run_kept(&kept, limit, context, &mut |_, row| {
                first.note(row);
                Ok(())
            })
            .map_err(|error| query.failed(error))?;
        // ROW_COUNT and FOUND hold before INTO may fail, so that a handler sees them.
        self.count(done.tag, done.rows);
        // DDL and the like leave FOUND as it is.
        if counts(done.tag) {
            self.set_found(done.rows > 0);
        }
        let result = match into {
            None => Ok(()),
            Some(into) => {
                let result = self.into(into, &mut first, modifies, &planned.row, context);
                result.map_err(|error| {
                    match self.code.print_strict_params && into.strict && !planned.used.is_empty() {
                        true => error.detail(self.shown_parameters(&planned.used, context)),
                        false => error,
                    }
                })
            }
        };
        self.put_row(first.row);
        self.keep(query, kept);
        result
    }

    /// `parameters: a = '1', b = NULL`.
    fn shown_parameters(&self, used: &[VariableId], context: &StatementContext<'_>) -> String {
        let shown = used.iter().map(|&id| {
            let name = &self.variable(id).name;
            match self.value(id) {
                Datum::Null => format!("{name} = NULL"),
                value => {
                    let text = self.text_of(value, self.types[id as usize], context);
                    format!("{name} = '{}'", text.replace('\'', "''"))
                }
            }
        });
        format!("parameters: {}", shown.collect::<Vec<_>>().join(", "))
    }

    /// Sets ROW_COUNT; a statement that has no rows sets it to 0.
    fn count(&mut self, tag: CommandTag, rows: u64) {
        self.row_count = if counts(tag) { rows } else { 0 };
    }

    /// The first row goes into the targets; PostgreSQL's rules on how many there may be.
    fn into(
        &mut self,
        into: &'c Destination,
        first: &mut First,
        modifies: bool,
        row: &Arc<RowType>,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<()> {
        if first.rows == 0 {
            if into.strict {
                return Err(SqlError::new(NO_DATA_FOUND, "query returned no rows"));
            }
            return self.assign_row(&into.targets, None, row, context);
        }
        // INSERT .. RETURNING and its kin may return one row at most, even without STRICT.
        if first.rows > 1 && (into.strict || modifies) {
            return Err(too_many_rows().hint("Make sure the query returns a single row, or use LIMIT 1."));
        }
        self.move_row(&into.targets, Some(&mut first.row), row, context)
    }

    /// PERFORM: a query run to its end for its effect. FOUND tells whether it had rows.
    pub fn perform(&mut self, query: &'c Expression, context: &mut StatementContext<'_>) -> SqlResult<()> {
        let kept = self.take_kept(query, context)?;
        let done = self
            .run_kept(&kept, 0, context, &mut |_, _| Ok(()))
            .map_err(|error| query.failed(error))?;
        self.keep(query, kept);
        self.row_count = done.rows;
        self.set_found(done.rows > 0);
        Ok(())
    }

    // Computed statements

    /// The statements of EXECUTE: all but the last run for their effect.
    fn compute(
        &mut self,
        text: &'c Expression,
        using: &'c [Expression],
        context: &mut StatementContext<'_>,
    ) -> SqlResult<Vec<Computed>> {
        let (value, ty) = self.evaluate(text, context)?;
        if value.is_null() {
            return Err(SqlError::new(
                state::NULL_VALUE_NOT_ALLOWED,
                "query string argument of EXECUTE is null",
            ));
        }
        let text = self.text_of(&value, ty, context);
        let (mut parameters, mut types) = (Vec::new(), Vec::new());
        for argument in using {
            let (value, ty) = self.evaluate(argument, context)?;
            // A literal is a text.
            let ty = if ty.oid == oid::UNKNOWN {
                ColumnType::TEXT
            } else {
                ty
            };
            parameters.push(value);
            // Without the modifier: `$1` is declared by its type alone.
            types.push(ColumnType::new(ty.oid));
        }
        let parsed = nested::parse(&text, context).map_err(|error| failed(&text, error))?;
        let mut computed = Vec::with_capacity(parsed.len());
        // Planned when its turn comes, one after the other: a later statement may use what an earlier one creates.
        for statement in parsed {
            let names = Arc::new(Using { types: types.clone() });
            computed.push(Computed {
                text: text.clone(),
                statement: nested::Statement::new(text.as_str().into(), statement, names),
                parameters: parameters.clone(),
            });
        }
        Ok(computed)
    }

    /// EXECUTE: all statements of the text, INTO from the last one. FOUND stays as it is, as in PostgreSQL.
    pub fn execute(
        &mut self,
        query: &'c Expression,
        using: &'c [Expression],
        into: Option<&'c Destination>,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<()> {
        let computed = self.compute(query, using, context)?;
        let count = computed.len();
        self.row_count = 0;
        for (number, computed) in computed.into_iter().enumerate() {
            refuse_computed(&computed.statement.parsed.statement)?;
            // The grammar makes CREATE TABLE AS of SELECT .. INTO; the first word tells them apart. It would make a
            // table, where SELECT .. INTO of a body assigns variables.
            if matches!(
                computed.statement.parsed.statement,
                ast::Statement::CreateTableAs(_)
            ) && computed
                .text
                .trim_start()
                .get(..6)
                .is_some_and(|word| word.eq_ignore_ascii_case("select"))
            {
                return Err(SqlError::new(
                    state::FEATURE_NOT_SUPPORTED,
                    "EXECUTE of SELECT ... INTO is not implemented",
                )
                .hint("You might want to use EXECUTE ... INTO or EXECUTE CREATE TABLE ... AS instead."));
            }
            let into = into.filter(|_| number + 1 == count);
            self.execute_one(computed, into, context)?;
        }
        Ok(())
    }

    /// One statement of EXECUTE.
    fn execute_one(
        &mut self,
        computed: Computed,
        into: Option<&'c Destination>,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<()> {
        let Computed {
            text,
            statement,
            parameters,
        } = computed;
        let plan = statement.plan(context).map_err(|error| failed(&text, error))?;
        if into.is_some() && !plan.plan.returns_rows {
            return Err(SqlError::new(
                state::SYNTAX_ERROR,
                "INTO used with a command that cannot return data",
            ));
        }
        // Unlike a statement of the body this one runs to its end whatever becomes of its rows, and only STRICT minds a
        // second one.
        let mut first = First::new(Vec::new());
        let done = nested::run(
            &statement,
            parameters,
            self.volatile,
            0,
            context,
            &mut |_, row| {
                if into.is_some() {
                    first.note(row);
                }
                Ok(())
            },
        )
        .map_err(|error| failed(&text, error))?;
        self.count(done.tag, done.rows);
        match into {
            Some(into) if into.strict && first.rows > 1 => Err(too_many_rows()),
            Some(into) => self.into(into, &mut first, false, &row_type(&plan.plan.output), context),
            None => Ok(()),
        }
    }

    /// A query whose rows are taken piecemeal.
    pub fn open_query(&mut self, query: &'c Query, context: &mut StatementContext<'_>) -> SqlResult<Rows> {
        let running = match query {
            Query::Static(expression) => {
                let planned = self.planned(expression, context)?;
                check_returns_rows(&planned.statement, &planned.plan, context)?;
                let parameters = self.parameters(&planned);
                let running = nested::open(&planned.statement, parameters, self.volatile, context);
                running.map_err(|error| expression.failed(error))?
            }
            Query::Dynamic { text, using } => {
                let computed = self.only_statement(text, using, context)?;
                let plan = computed.statement.plan(context);
                let plan = plan.map_err(|error| failed(&computed.text, error))?;
                check_returns_rows(&computed.statement, &plan, context)?;
                let running = nested::open(&computed.statement, computed.parameters, self.volatile, context);
                running.map_err(|error| failed(&computed.text, error))?
            }
        };
        Ok(Rows {
            row: row_type(running.output()),
            running,
        })
    }

    /// Opens the query of a loop in the session's list. [`LoopRows::close`] must follow, whatever the loop does.
    pub fn open_loop(&mut self, query: &'c Query, context: &mut StatementContext<'_>) -> SqlResult<LoopRows> {
        let Rows { running, row } = self.open_query(query, context)?;
        let loops = &mut Holdings::of(context.calls).routines.loops;
        loops.push(Some(running));
        Ok(LoopRows {
            number: loops.len() - 1,
            row,
        })
    }

    /// The one statement of a text that is opened: a cursor has no place for others.
    pub fn only_statement(
        &mut self,
        text: &'c Expression,
        using: &'c [Expression],
        context: &mut StatementContext<'_>,
    ) -> SqlResult<Computed> {
        let mut computed = self.compute(text, using, context)?;
        match computed.len() {
            1 => Ok(computed.remove(0)),
            _ => Err(SqlError::new(
                state::INVALID_CURSOR_DEFINITION,
                "cannot open multi-query plan as cursor",
            )),
        }
    }
}

/// Only what yields rows can be opened.
pub fn check_returns_rows(
    statement: &nested::Statement,
    plan: &CachedPlan,
    context: &StatementContext<'_>,
) -> SqlResult<()> {
    if plan.plan.returns_rows {
        return Ok(());
    }
    let word = command_of(&statement.parsed.statement, context).name();
    Err(SqlError::new(
        state::INVALID_CURSOR_DEFINITION,
        format!("cannot open {word} query as cursor"),
    ))
}

/// Tags that tell how many rows there were.
fn counts(tag: CommandTag) -> bool {
    !matches!(tag, CommandTag::Word(_) | CommandTag::Copy(_))
}

/// What EXECUTE cannot run, in PostgreSQL's words.
fn refuse_computed(statement: &ast::Statement) -> SqlResult<()> {
    match statement {
        ast::Statement::Transaction(_) => Err(SqlError::new(
            state::FEATURE_NOT_SUPPORTED,
            "EXECUTE of transaction commands is not implemented",
        )),
        other => refuse_outside_of_bodies(other),
    }
}

/// What a body cannot run. COMMIT and ROLLBACK that stand in it are statements of the language, so that what gets
/// here is BEGIN, SAVEPOINT and the like. The client waits for the answer to its own statement, not for rows of a COPY.
fn refuse_outside_of_bodies(statement: &ast::Statement) -> SqlResult<()> {
    let message = match statement {
        ast::Statement::Transaction(_) => "unsupported transaction command in PL/pgSQL",
        ast::Statement::Copy(copy) if copy.target == ast::CopyTarget::Client => {
            "cannot COPY to/from client in PL/pgSQL"
        }
        _ => return Ok(()),
    };
    Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message))
}
