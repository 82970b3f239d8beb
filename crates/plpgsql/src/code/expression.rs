//! SQL of a body: parsed once, planned when it is first needed, and planned again when what it was planned for has changed.
//!
//! An expression that reads nothing but variables is *simple*: it is evaluated over the frame's variables directly, which
//! are its parameters, without a run of its own. Everything else is a statement inside of a statement
//! (`mote_commands::routine::nested`).

use std::sync::{Arc, OnceLock};

use mote_common::SqlError;
use mote_common::SqlResult;
use mote_common::error::state;
use mote_grammar::ast::ParsedStatement;
use mote_grammar::plpgsql::tree::{Fragment, FragmentKind};
use mote_planner::plan::node::Node;
use mote_planner::plan::{OutputColumn, PlanBody};
use mote_sql::access::Command;
use mote_types::{ColumnType, RowType};
use parking_lot::Mutex;

use super::VariableId;
use super::names::{Names, Scope};
use mote_commands::routine::nested;
use mote_executor::context::StatementContext;
use mote_executor::expr;
use mote_executor::plans::CachedPlan;

/// A piece of SQL at its place in a body. Shared by all runs of the body within a session; its plan is the newest
/// one, so a run that holds another `Arc<Planned>` goes on with that.
pub struct Expression {
    fragment: Fragment,
    /// Within its body.
    pub number: usize,
    /// What it sees: nothing that is declared behind it.
    pub scope: Scope,
    /// The tree depends on nothing but the text, and is kept for good. CREATE FUNCTION and DO fill it at once.
    parsed: OnceLock<ParsedStatement>,
    planned: Mutex<Option<Arc<Planned>>>,
}

/// A plan with what it depends on besides the catalog.
pub struct Planned {
    pub statement: nested::Statement,
    pub plan: Arc<CachedPlan>,
    pub form: Form,
    /// The variables that the binder met in it, sorted. A name that is no variable is a column's, and does not stand
    /// here.
    pub used: Vec<VariableId>,
    /// Types of variables that have none of their own, and structures of rows, as they were.
    pub assumed: Vec<(VariableId, ColumnType, Option<Arc<RowType>>)>,
    /// The structure of its rows.
    pub row: Arc<RowType>,
}

/// How an expression runs. PostgreSQL's exec_simple_check_plan (pl_exec.c) decides the like.
pub enum Form {
    /// Compiled, with the type of its value. It reads no rows, so that any snapshot will do.
    Simple(expr::Expression, ColumnType),
    /// One computed value, with calls of users' functions: run as a query, and to PostgreSQL as simple as the others.
    Calls,
    /// Whatever else: a run of the executor, with locks and a snapshot of its own.
    Query,
}

impl Planned {
    /// Whether a value is computed from variables alone, and converted by whoever wants it of another type.
    pub fn converts_apart(&self) -> bool {
        matches!(self.form, Form::Calls) || (matches!(self.form, Form::Simple(..)) && !self.used.is_empty())
    }
}

impl Expression {
    pub fn new(fragment: &Fragment, scope: Scope, number: usize) -> Expression {
        Expression {
            number,
            fragment: fragment.clone(),
            scope,
            parsed: OnceLock::new(),
            planned: Mutex::new(None),
        }
    }

    /// As errors show it.
    pub fn text(&self) -> &str {
        &self.fragment.text
    }

    /// The tree of its one statement.
    pub fn parsed(&self, context: &mut StatementContext<'_>) -> SqlResult<&ParsedStatement> {
        if let Some(parsed) = self.parsed.get() {
            return Ok(parsed);
        }
        let mut result = None;
        context.host.on_large_stack(&mut || result = Some(self.parse()));
        result.expect("the host runs the work")
    }

    /// The same on a stack that suits the grammar.
    pub fn parse(&self) -> SqlResult<&ParsedStatement> {
        let (sql, _) = self.fragment.sql();
        let mut statements = mote_grammar::parser::parse(&sql)?;
        if statements.len() != 1 {
            // An expression that is two statements, `1; 2`, has passed the scanner; the grammar finds both here.
            let message = format!("query \"{}\" is not one statement", self.text());
            return Err(SqlError::new(state::SYNTAX_ERROR, message));
        }
        Ok(self.parsed.get_or_init(|| statements.remove(0)))
    }

    /// The newest plan, whether it still holds or not: see `Frame::planned`.
    pub fn known_plan(&self) -> Option<Arc<Planned>> {
        self.planned.lock().clone()
    }

    /// Plans it for the names of now.
    pub fn plan(&self, names: Names, context: &mut StatementContext<'_>) -> SqlResult<Arc<Planned>> {
        // The binder resolves names by asking `names`, which notes every variable that it meets.
        let parsed = self.parsed(context)?.clone();
        let (sql, _) = self.fragment.sql();
        let names = Arc::new(names);
        let statement = nested::Statement::new(sql.into(), parsed, names.clone());
        let plan = statement.plan(context)?;
        let mut used = names.used.lock().clone();
        used.sort_unstable();
        // Only these can differ between two runs of the same code: a record takes any structure, and the operand of a
        // CASE any type. Variables with a declared type cannot make the plan stale.
        let changes = |id: &&VariableId| {
            let ty = names.types[**id as usize];
            ty == ColumnType::RECORD || names.variables[**id as usize].kind.ty() == ColumnType::UNKNOWN
        };
        let assumed = used.iter().filter(changes);
        let assumed = assumed.map(|&id| (id, names.types[id as usize], names.rows[id as usize].clone()));
        let planned = Arc::new(Planned {
            form: form(&plan)?,
            row: row_type(&plan.plan.output),
            assumed: assumed.collect(),
            used,
            statement,
            plan,
        });
        *self.planned.lock() = Some(planned.clone());
        Ok(planned)
    }

    /// The error for a query of other than one column.
    #[cold]
    pub fn wrong_width(&self, columns: usize) -> SqlError {
        let plural = if columns == 1 { "" } else { "s" };
        if self.fragment.kind == FragmentKind::Assignment {
            let message = format!("assignment source returned {columns} column{plural}");
            return self.failed(SqlError::new(state::SYNTAX_ERROR, message));
        }
        SqlError::new(
            state::SYNTAX_ERROR,
            format!("query returned {columns} column{plural}"),
        )
        .context(format!("query: {}", self.text()))
    }

    /// Adds what PostgreSQL tells of a failure inside of this piece of SQL: its text, or the place in it.
    #[cold]
    pub fn failed(&self, error: SqlError) -> SqlError {
        let text = self.text();
        if let Some(position) = error.fields().position {
            let (_, added) = self.fragment.sql();
            let position = position.saturating_sub(added) + self.fragment.skipped_characters();
            return error.moved_to(position).within(text);
        }
        let kind = match self.fragment.kind {
            FragmentKind::Statement => "SQL statement",
            FragmentKind::Expression => "SQL expression",
            FragmentKind::Assignment => "PL/pgSQL assignment",
        };
        error.context(format!("{kind} \"{text}\""))
    }
}

/// The structure of a query's rows: names as in the output, dropped columns are not among them.
pub fn row_type(output: &[OutputColumn]) -> Arc<RowType> {
    let (names, types) = output
        .iter()
        .map(|column| (column.name.as_str().into(), column.ty))
        .unzip();
    Arc::new(RowType::named(types, names))
}

/// Whether a plan is one computed value and nothing else.
fn form(plan: &CachedPlan) -> SqlResult<Form> {
    let PlanBody::Query(query) = &plan.plan.body else {
        return Ok(Form::Query);
    };
    // No table, sub-query or CTE: then nothing in it depends on a snapshot, and no lock is to be taken.
    let alone = query.command == Command::Select
        && !query.writes
        && query.subplans.is_empty()
        && query.ctes.is_empty()
        && plan.plan.relations.is_empty();
    match &query.root {
        Node::Result {
            columns,
            filter: None,
        } if alone && columns.len() == 1 => {
            // A user's function may run statements, which want a snapshot and locks: not the caller's bare
            // evaluation.
            if !plan.plan.routines.is_empty() {
                return Ok(Form::Calls);
            }
            let ty = columns[0].ty();
            Ok(Form::Simple(expr::compile(&columns[0])?, ty))
        }
        _ => Ok(Form::Query),
    }
}
