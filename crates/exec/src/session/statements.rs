//! PREPARE, EXECUTE, DEALLOCATE, DISCARD: statements about the session's own objects.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_grammar::ast;
use mote_grammar::ast::{Deallocate, Discard, ParsedStatement, Prepare, Statement};
use mote_planner::plan::{OutputColumn, PlanBody};
use mote_types::Datum;

use super::Session;
use mote_catalog::host::Host;
use mote_catalog::tag::CommandTag;
use mote_executor::plans::planning::discard_cached_plans;
use mote_executor::plans::{CachedPlan, Prepared};
use mote_portals::{Collect, Portal, query_tag};

impl Session {
    /// PREPARE: planned at once, as the message Parse is, so that errors come now.
    pub(crate) fn prepare_statement(
        &mut self,
        prepare: &Prepare,
        text: &Arc<str>,
        host: &mut dyn Host,
    ) -> SqlResult<CommandTag> {
        if self.statements.contains_key(&*prepare.name) {
            return Err(SqlError::new(
                state::DUPLICATE_PREPARED_STATEMENT,
                format!("prepared statement \"{}\" already exists", prepare.name),
            ));
        }
        let mut types = Vec::with_capacity(prepare.types.len());
        for name in &prepare.types {
            let ty = mote_sql::resolve_type_name(name, &self.state.catalog)
                .map_err(|error| error.at(name.location.position(text)))?;
            types.push(ty.oid);
        }
        // The text is the whole PREPARE: positions count in it.
        let statement = ParsedStatement {
            statement: prepare.statement.clone(),
            range: 0..text.len(),
            warnings: Vec::new(),
        };
        let prepared = self
            .state
            .plan_prepared(text.clone(), Some(Arc::new(statement)), &types, host)?;
        let named = self.named_statement(&prepare.name, prepared, true)?;
        self.statements.insert((&*prepare.name).into(), named);
        Ok(CommandTag::Word("PREPARE"))
    }

    /// A statement by its name, without counting a run of it.
    fn named(&self, name: &str) -> SqlResult<Arc<Prepared>> {
        self.statement(name).cloned()
    }

    pub(crate) fn describe_execute(&self, execute: &ast::Execute) -> SqlResult<Option<Arc<[OutputColumn]>>> {
        // As in PostgreSQL a statement that is not there yet is missed when it is executed.
        match self.named(&execute.name) {
            Ok(prepared) => self.output_of(&prepared.current().plan),
            Err(_) => Ok(None),
        }
    }

    /// EXECUTE: the rows go to the client as those of this statement, whose tag is the inner one's.
    pub(crate) fn execute_statement(
        &mut self,
        execute: &ast::Execute,
        text: &str,
        host: &mut dyn Host,
    ) -> SqlResult<CommandTag> {
        let (prepared, plan, parameters) = self.execution(execute, text, host)?;
        let mut portal = Portal::new(prepared, plan, parameters, self.state.savepoint_depth);
        let counted = self.begin_counting(&portal.prepared, host);
        let tag = self.run_portal_to_end(&mut portal, host)?;
        if let Some(run) = counted {
            self.end_counting(&run, &portal, tag, host);
        }
        Ok(tag)
    }

    /// What EXECUTE runs: the prepared statement, its plan of now and the values of its parameters.
    pub(super) fn execution(
        &mut self,
        execute: &ast::Execute,
        text: &str,
        host: &mut dyn Host,
    ) -> SqlResult<(Arc<Prepared>, Arc<CachedPlan>, Vec<Datum>)> {
        let prepared = self.statement_to_run(&execute.name)?;
        if let Some(statement) = &prepared.statement {
            // The statement of the name may not be allowed where EXECUTE is.
            self.check_allowed(&statement.statement)?;
        }
        let plan = self.state.validate(&prepared, host)?;
        let wanted = plan.plan.parameters.len();
        // PostgreSQL: EvaluateParams (prepare.c), whose arguments are expressions without columns.
        if execute.parameters.len() != wanted {
            return Err(SqlError::new(
                state::SYNTAX_ERROR,
                format!(
                    "wrong number of parameters for prepared statement \"{}\"",
                    execute.name
                ),
            )
            .detail(format!(
                "Expected {wanted} parameters but got {}.",
                execute.parameters.len()
            )));
        }
        let mut parameters = Vec::with_capacity(wanted);
        for (number, (expression, ty)) in (1..).zip(execute.parameters.iter().zip(&plan.plan.parameters)) {
            mote_sql::check_execute_argument(expression, number, *ty, text, &self.state.catalog)?;
            // By way of its text. CAST converts all that an assignment does.
            let query = format!(
                "SELECT CAST({} AS {})",
                ast::deparse::expression(expression),
                ty.name()
            );
            // Places in the query above say nothing to the client.
            let value = self
                .evaluate(&query, host)
                .map_err(|error| error.moved_to(expression.location.position(text)))?;
            parameters.push(value);
        }
        Ok((prepared, plan, parameters))
    }

    /// The value of a one-row, one-column query that runs on the side.
    fn evaluate(&mut self, text: &str, host: &mut dyn Host) -> SqlResult<Datum> {
        let prepared = self.prepare(text, &[], host)?;
        let plan = self.state.validate(&prepared, host)?;
        let parameters = plan.plan.parameters.len();
        // `EXECUTE p($1)`: the arguments of a client's own message do not reach them.
        if parameters > 0 {
            let message = format!("there is no parameter ${parameters}");
            return Err(SqlError::new(state::UNDEFINED_PARAMETER, message).at(1));
        }
        let mut portal = Portal::new(prepared, plan, Vec::new(), self.state.savepoint_depth);
        let memory = self.state.memory.clone();
        // One row that this session asked for itself: no bound on its size.
        let mut collected = Collect::new(host, true, usize::MAX, memory);
        self.run_portal_to_end(&mut portal, &mut collected)?;
        let row = collected.rows.into_iter().next();
        Ok(row.and_then(|row| row.into_iter().next()).unwrap_or(Datum::Null))
    }

    pub(crate) fn deallocate(&mut self, deallocate: &Deallocate) -> SqlResult<CommandTag> {
        match deallocate {
            Deallocate::All => {
                self.statements.clear();
                Ok(CommandTag::Word("DEALLOCATE ALL"))
            }
            Deallocate::Name(name) => {
                self.named(name)?;
                self.statements.remove(&**name);
                Ok(CommandTag::Word("DEALLOCATE"))
            }
        }
    }

    /// All temporary objects go at once, which no rollback could undo.
    fn discard_temporary(&mut self) -> SqlResult<()> {
        // A rollback would have to bring them back.
        if self.in_block() && self.state.catalog.temporary_schema().is_some() {
            return Err(SqlError::unsupported("DISCARD TEMP in a transaction block"));
        }
        // They may read from what goes.
        self.holdings.portals.clear();
        self.state.catalog.drop_temporary();
        Ok(())
    }

    /// DISCARD. ALL does what PostgreSQL's DiscardAll does: cursors, SET, statements, LISTEN, advisory locks,
    /// temporary tables, sequences.
    pub(crate) fn discard(&mut self, discard: Discard, host: &mut dyn Host) -> SqlResult<CommandTag> {
        match discard {
            // The plans of all workers, which other sessions share: they plan anew once.
            Discard::Plans => discard_cached_plans(),
            Discard::Sequences => self.state.sequences = Default::default(),
            Discard::Temporary => self.discard_temporary()?,
            Discard::All => {
                if self.in_block() {
                    return Err(SqlError::new(
                        state::ACTIVE_SQL_TRANSACTION,
                        "DISCARD ALL cannot run inside a transaction block",
                    ));
                }
                self.holdings.portals.clear();
                self.statements.clear();
                self.state.sequences = Default::default();
                let depth = self.state.savepoint_depth;
                let mut reported = self.state.settings.reset_all(depth);
                // These are left out of RESET ALL, but DISCARD ALL goes back to the user who logged in.
                for name in ["role", "session_authorization"] {
                    reported.extend(self.state.settings.reset(name, depth)?);
                }
                self.settings_changed(reported, host);
                self.unlisten_all();
                self.discard_temporary()?;
                // Advisory locks of the session, and a base backup that it may have begun.
                self.database.release_session(self.state.pid, self.known);
            }
        }
        Ok(CommandTag::Word(match discard {
            Discard::All => "DISCARD ALL",
            Discard::Plans => "DISCARD PLANS",
            Discard::Sequences => "DISCARD SEQUENCES",
            Discard::Temporary => "DISCARD TEMP",
        }))
    }

    /// Runs a portal that nobody else can see to its end.
    fn run_portal_to_end(&mut self, portal: &mut Portal, host: &mut dyn Host) -> SqlResult<CommandTag> {
        match &portal.plan.plan.body {
            PlanBody::Utility(utility) => match &**utility {
                Statement::Transaction(_) => Err(SqlError::unsupported("EXECUTE of a transaction statement")),
                _ => self.run_utility(utility, &portal.prepared.text, host),
            },
            PlanBody::Query(_) => {
                let (outcome, command) = self.run_query(portal, 0, host)?;
                portal.rows = outcome.rows;
                Ok(query_tag(command, outcome.rows))
            }
        }
    }
}
