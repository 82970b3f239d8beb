//! PREPARE, EXECUTE, DEALLOCATE, DISCARD: statements about the session's own objects.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_engine::SessionMemory;
use mote_grammar::ast;
use mote_grammar::ast::{Deallocate, Discard, ParsedStatement, Prepare, Statement};
use mote_planner::plan::{OutputColumn, PlanBody};
use mote_types::Datum;

use super::portal::PortalState;
use super::{Portal, Session};
use mote_catalog::host::Host;
use mote_catalog::tag::CommandTag;
use mote_executor::memory::{Kept, row_bytes};
use mote_executor::plans::planning::discard_cached_plans;
use mote_executor::plans::{CachedPlan, Prepared};

impl Session {
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
        let statement = ParsedStatement {
            statement: prepare.statement.clone(),
            range: 0..text.len(),
        };
        let prepared = self
            .state
            .plan_prepared(text.clone(), Some(Arc::new(statement)), &types, host)?;
        let named = self.named_statement(&prepare.name, prepared, true)?;
        self.statements.insert(prepare.name.to_string(), named);
        Ok(CommandTag::Word("PREPARE"))
    }

    fn named(&self, name: &str) -> SqlResult<Arc<Prepared>> {
        self.statement(name).cloned()
    }

    pub(crate) fn describe_execute(&self, execute: &ast::Execute) -> SqlResult<Option<Arc<[OutputColumn]>>> {
        let prepared = self.named(&execute.name)?;
        self.output_of(&prepared.current().plan)
    }

    pub(crate) fn execute_statement(
        &mut self,
        execute: &ast::Execute,
        text: &str,
        host: &mut dyn Host,
    ) -> SqlResult<CommandTag> {
        let (prepared, plan, parameters) = self.execution(execute, text, host)?;
        let mut portal = new_portal(prepared, plan, parameters, self.state.savepoint_depth);
        self.run_portal_to_end(&mut portal, host)
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
            self.check_allowed(&statement.statement)?;
        }
        let plan = self.state.validate(&prepared, host)?;
        let wanted = plan.plan.parameters.len();
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
        for (expression, ty) in execute.parameters.iter().zip(&plan.plan.parameters) {
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
        let mut portal = new_portal(prepared, plan, Vec::new(), self.state.savepoint_depth);
        let memory = self.state.memory.clone();
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
        if self.in_block() && self.state.catalog.temporary_schema().is_some() {
            return Err(SqlError::unsupported("DISCARD TEMP in a transaction block"));
        }
        self.holdings.portals.clear();
        self.state.catalog.drop_temporary();
        Ok(())
    }

    pub(crate) fn discard(&mut self, discard: Discard, host: &mut dyn Host) -> SqlResult<CommandTag> {
        match discard {
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
                for name in ["role", "session_authorization"] {
                    reported.extend(self.state.settings.reset(name, false, depth)?);
                }
                self.settings_changed(reported, host);
                self.unlisten_all();
                self.discard_temporary()?;
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
                Ok(super::run::query_tag(command, outcome.rows))
            }
        }
    }
}

pub(super) fn new_portal(
    prepared: Arc<Prepared>,
    plan: Arc<CachedPlan>,
    parameters: Vec<Datum>,
    savepoint_depth: u32,
) -> Portal {
    Portal {
        prepared,
        plan,
        parameters,
        result_formats: Vec::new(),
        state: PortalState::Ready,
        execution: None,
        savepoint_depth,
        cursor: None,
        made_us: 0,
        charge: None,
        statement_charge: None,
    }
}

/// A host that keeps rows instead of sending them, and passes everything else on.
pub(super) struct Collect<'a> {
    pub(super) host: &'a mut dyn Host,
    pub(super) rows: Vec<Vec<Datum>>,
    /// False: rows are let go of.
    pub(super) keeps: bool,
    /// How many bytes of rows may be kept.
    pub(super) room_bytes: usize,
    memory: Arc<SessionMemory>,
    /// What the rows take.
    pub(super) kept: Kept,
}

impl<'a> Collect<'a> {
    pub(super) fn new(
        host: &'a mut dyn Host,
        keeps: bool,
        room_bytes: usize,
        memory: Arc<SessionMemory>,
    ) -> Collect<'a> {
        Collect {
            host,
            rows: Vec::new(),
            keeps,
            room_bytes,
            memory,
            kept: Kept::default(),
        }
    }
}

#[cold]
fn no_room() -> SqlError {
    SqlError::new(state::OUT_OF_MEMORY, "out of memory")
        .detail("The rows that a cursor keeps need more than work_mem.")
        .hint("Increase work_mem, or declare the cursor without SCROLL and WITH HOLD.")
}

impl Host for Collect<'_> {
    fn start_rows(&mut self, _: &[OutputColumn]) -> SqlResult<()> {
        Ok(())
    }

    fn row(&mut self, row: &[Datum], _: &mote_types::FormatSettings) -> SqlResult<()> {
        if self.keeps {
            let bytes = row_bytes(row);
            self.room_bytes = self.room_bytes.checked_sub(bytes).ok_or_else(no_room)?;
            self.kept.add(bytes, &self.memory, "the rows of a cursor")?;
            self.rows.push(row.to_vec());
        }
        Ok(())
    }

    fn start_copy_out(&mut self, columns: usize, binary: bool) -> SqlResult<()> {
        self.host.start_copy_out(columns, binary)
    }

    fn copy_out(&mut self, data: &[u8]) -> SqlResult<()> {
        self.host.copy_out(data)
    }

    fn finish_copy_out(&mut self) -> SqlResult<()> {
        self.host.finish_copy_out()
    }

    fn start_copy_in(&mut self, columns: usize, binary: bool) -> SqlResult<()> {
        self.host.start_copy_in(columns, binary)
    }

    fn copy_in(&mut self, buffer: &mut Vec<u8>) -> SqlResult<bool> {
        self.host.copy_in(buffer)
    }

    fn command_complete(&mut self, tag: CommandTag) {
        self.host.command_complete(tag);
    }

    fn has_answered(&self) -> bool {
        self.host.has_answered()
    }

    fn empty_query(&mut self) {
        self.host.empty_query();
    }

    fn gate(&mut self, lsn: mote_common::Lsn) {
        self.host.gate(lsn);
    }

    fn notice(&mut self, notice: SqlError) {
        self.host.notice(notice);
    }

    fn parameter_status(&mut self, name: &str, value: &str) {
        self.host.parameter_status(name, value);
    }

    fn wait(&mut self, ticket: mote_engine::Ticket, deadline_ns: Option<u64>) -> mote_catalog::host::WaitEnd {
        self.host.wait(ticket, deadline_ns)
    }

    fn sleep_until(&mut self, deadline_ns: u64) -> mote_catalog::host::WaitEnd {
        self.host.sleep_until(deadline_ns)
    }

    fn yield_now(&mut self) -> mote_catalog::host::WaitEnd {
        self.host.yield_now()
    }

    fn wait_stable(&mut self, lsn: mote_common::Lsn) -> mote_catalog::host::WaitEnd {
        self.host.wait_stable(lsn)
    }

    fn routine_stack_bytes(&self) -> usize {
        self.host.routine_stack_bytes()
    }

    fn on_large_stack(&mut self, work: &mut dyn FnMut()) {
        self.host.on_large_stack(work);
    }
}
