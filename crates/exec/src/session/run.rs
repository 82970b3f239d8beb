//! Executing: portals of the extended protocol, and whole texts of the simple one.
//!
//! Both end in `run_query` for queries and in `run_utility` for all other statements. Leaves out: when the
//! transaction ends (`ending`), EvalPlanQual and restarts (`mote_executor`), the rows' way to the client, which
//! is the host's.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::Access;
use mote_grammar::ast::{ParsedStatement, Statement};
use mote_planner::plan::{PlanBody, QueryPlan};
use mote_sql::access::Command;
use mote_types::Datum;

use super::block::BlockState;
use super::{ExecuteEnd, Session};
use mote_catalog::host::Host;
use mote_catalog::tag::CommandTag;
use mote_catalog::write_error::{self, read_only_error};
use mote_commands::utility::{Issued, SessionContext};
use mote_executor::context::UtilityParameters;
use mote_executor::context::{FUEL_SLICE, StatementContext};
use mote_executor::plans::Prepared;
use mote_executor::plans::locking::lock_relations;
use mote_executor::plans::planning::parse_text;
use mote_executor::query::RunOutcome;
use mote_portals::{Portal, PortalState, modifies, query_tag, run_started};

impl Session {
    /// Execute of the extended protocol. `max_rows` 0 = all.
    pub fn execute(&mut self, name: &str, max_rows: u64, host: &mut dyn Host) -> SqlResult<ExecuteEnd> {
        // The portal is taken out while it runs, so that what it calls may use the session.
        let Some(mut portal) = self.holdings.portals.take(name) else {
            return Err(self.no_portal(name));
        };
        self.follow_server_settings(host)?;
        self.start_statement(&portal.prepared.text);
        let result = self.execute_portal(name, &mut portal, max_rows, host);
        // Of a portal that was only suspended the next rows have the time that is left.
        if !matches!(result, Ok(ExecuteEnd::Suspended)) {
            self.state.end_messages();
        }
        // What ran may have made another portal of this name, or ended the transaction that this one reads through.
        if result.is_ok() && !self.holdings.portals.contains(name) && self.portal_survives(&portal) {
            self.holdings.portals.put(name, portal);
        } else {
            if result.is_err() {
                // Its name is remembered for the rest of a failed block, which answers 25P02 for it, not 34000.
                self.holdings.portals.lose(name);
            }
            self.retire(&mut portal);
        }
        result
    }

    /// Notes the start of a statement, for itself and for others to see.
    pub(super) fn start_statement(&mut self, text: &str) {
        self.state.start_statement();
        let goes_on = self.block.state != BlockState::Idle;
        let transaction = goes_on.then_some(self.state.transaction_start_us);
        self.state
            .activity
            .begin(text, self.state.statement_start_us, transaction);
    }

    /// A portal ends with its transaction.
    fn portal_survives(&self, portal: &Portal) -> bool {
        // A portal without an execution reads through no snapshot.
        self.block.state != BlockState::Idle || portal.execution.is_none()
    }

    /// Runs a portal that has been taken out of the session, from its start or from where it was suspended.
    fn execute_portal(
        &mut self,
        name: &str,
        portal: &mut Portal,
        max_rows: u64,
        host: &mut dyn Host,
    ) -> SqlResult<ExecuteEnd> {
        let Some(statement) = &portal.prepared.statement else {
            host.empty_query();
            return Ok(ExecuteEnd::Empty);
        };
        // Bind has asked; the block may have failed since, as messages of a pipeline come one by one.
        self.check_allowed(&statement.statement)?;
        if portal.state == PortalState::Done {
            return self.execute_again(name, portal, host);
        }
        // Of a cursor DECLARE and FETCH count, which are statements of their own.
        let counted = match portal.cursor {
            Some(_) => None,
            None => self.begin_counting(&portal.prepared, host),
        };
        if portal.cursor.is_some() {
            let rows = self.execute_cursor(portal, max_rows, host)?;
            if max_rows > 0 && rows == max_rows {
                return Ok(ExecuteEnd::Suspended);
            }
            host.command_complete(CommandTag::Select(rows));
            return Ok(ExecuteEnd::Complete);
        }
        let tag = match &portal.plan.plan.body {
            // A utility has no rows to be suspended between: it runs to its end whatever the limit of Execute.
            PlanBody::Utility(utility) => {
                // DECLARE CURSOR, EXPLAIN and their kin hand the portal's values on to the query inside.
                if utility.takes_parameters() {
                    self.state.utility_parameters = UtilityParameters {
                        types: portal.plan.plan.parameters.iter().map(|ty| ty.oid).collect(),
                        values: std::mem::take(&mut portal.parameters),
                    };
                }
                let tag = self.run_utility(utility, &portal.prepared.text, host);
                // Also after an error: the next statement must not find them.
                self.state.utility_parameters = UtilityParameters::default();
                tag?
            }
            PlanBody::Query(_) => {
                let (outcome, command) = self.run_query(portal, max_rows, host)?;
                portal.rows += outcome.rows;
                if !outcome.finished {
                    // The tag comes with the last part, and tells the rows of that part alone.
                    portal.state = PortalState::Suspended;
                    if let Some(run) = &counted {
                        portal.spent_ns += self.state.counted_ns(run);
                    }
                    return Ok(ExecuteEnd::Suspended);
                }
                query_tag(command, outcome.rows)
            }
        };
        if let Some(run) = counted {
            self.end_counting(&run, portal, tag, host);
        }
        portal.state = PortalState::Done;
        host.command_complete(tag);
        Ok(ExecuteEnd::Complete)
    }

    /// Execute of a portal that already ended: no rows for a query, an error for anything else.
    fn execute_again(&self, name: &str, portal: &Portal, host: &mut dyn Host) -> SqlResult<ExecuteEnd> {
        match &portal.plan.plan.body {
            PlanBody::Query(query) if query.command == Command::Select => {
                host.start_rows(&portal.plan.plan.output)?;
                host.command_complete(CommandTag::Select(0));
                Ok(ExecuteEnd::Complete)
            }
            _ => Err(SqlError::new(
                state::OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("portal \"{name}\" cannot be run"),
            )),
        }
    }

    /// Locks, checks and starts a query: from here on its snapshot stands.
    pub(super) fn start_query(&mut self, portal: &mut Portal, host: &mut dyn Host) -> SqlResult<()> {
        // Locks come before the snapshot: what their holders have committed meanwhile must be seen.
        self.ensure_transaction()?;
        // SET TRANSACTION comes too late from here on, even if the query fails.
        self.block.started = true;
        lock_relations(
            &portal.prepared,
            &mut portal.plan,
            Some(&mut portal.parameters),
            &mut self.context(host),
        )?;
        // READ ONLY does not forbid writes into temporary tables.
        let writes_permanent = self.state.note_temporary(&portal.plan.plan);
        let query = portal.plan.query()?;
        if writes_permanent {
            self.check_read_only(query)?;
        }
        // pg_cursors and its kin are shown as they were when the statement began.
        if portal.plan.reads_objects {
            self.gather_objects();
        }
        let mut execution = self.holdings.execution_for(&portal.plan)?;
        let transaction = self.transaction.as_ref().expect("ensured above");
        // A SERIALIZABLE transaction whose reads do not hold any more is refused before its first write waits for
        // anything.
        if modifies(query) {
            transaction
                .check_before_writing()
                .map_err(write_error::refused_early("during write"))?;
        }
        // A statement that writes reads up to the log's tail, one that reads up to what has been acknowledged.
        transaction.start_statement(if query.writes { Access::Write } else { Access::Read });
        // Replay may have come between the locks and the snapshot.
        if transaction.has_lost_table() {
            return Err(write_error::conflict_with_recovery());
        }
        let context = self.context(host);
        // The parameters move into the execution.
        execution.start(&mut portal.parameters, &context)?;
        portal.execution = Some(execution);
        Ok(())
    }

    /// Runs a portal's query, from its start or from where it stopped. Answers with the command too: a plan made anew
    /// may have been the first to know it.
    pub(super) fn run_query(
        &mut self,
        portal: &mut Portal,
        max_rows: u64,
        host: &mut dyn Host,
    ) -> SqlResult<(RunOutcome, Command)> {
        let is_new = portal.execution.is_none();
        if is_new {
            self.start_query(portal, host)?;
        }
        let mut context = self.context(host);
        // A SERIALIZABLE statement may begin again with a later snapshot, as long as the client has seen none of its
        // rows (`run_started`): so only the first Execute of a portal may.
        let start = match is_new && portal.plan.query()?.restartable {
            true => context.transaction.statement_start(),
            false => None,
        };
        let (outcome, command) = run_started(portal, max_rows, start, &mut context)?;
        if outcome.finished {
            // An open block holds no version between its statements (READ COMMITTED).
            context.transaction.end_statement();
            // A cursor may want to go back.
            if portal.cursor.is_none()
                && let Some(execution) = portal.execution.take()
            {
                self.holdings.keep(execution);
            }
        }
        Ok((outcome, command))
    }

    /// What statements of the open transaction run in.
    pub(super) fn context<'s>(&'s mut self, host: &'s mut dyn Host) -> StatementContext<'s> {
        StatementContext {
            transaction: self
                .transaction
                .as_ref()
                .expect("a statement runs in a transaction"),
            session: &mut self.state,
            calls: &mut self.holdings,
            database: &self.database,
            host,
            fuel: FUEL_SLICE,
        }
    }

    /// READ ONLY, in the words of PostgreSQL's PreventCommandIfReadOnly.
    fn check_read_only(&self, query: &QueryPlan) -> SqlResult<()> {
        if self.state.settings.transaction.read_only && query.command != Command::Select {
            let word = match query.command {
                Command::Insert => "INSERT",
                Command::Update => "UPDATE",
                Command::Delete => "DELETE",
                _ => "MERGE",
            };
            return Err(read_only_error(word));
        }
        // A SELECT that writes is one with FOR UPDATE, which changes row locks, or with a modifying CTE.
        if self.state.settings.transaction.read_only && query.writes {
            return Err(read_only_error(if modifies(query) {
                "SELECT"
            } else {
                "SELECT FOR UPDATE"
            }));
        }
        Ok(())
    }

    /// Runs a statement that is not a query. Transaction control acts on the session, the rest within a transaction.
    pub(super) fn run_utility(
        &mut self,
        statement: &Arc<Statement>,
        text: &Arc<str>,
        host: &mut dyn Host,
    ) -> SqlResult<CommandTag> {
        if let Statement::Transaction(transaction) = &**statement {
            return self.transaction_statement(transaction, host);
        }
        let command = mote_commands::of(statement);
        // Refused ahead of READ ONLY, which a node that follows has as well: this message tells why.
        if self.database.is_following() && !command.runs_in_recovery() {
            return Err(write_error::recovery_error(command.name()));
        }
        let issued = Issued {
            text,
            in_block: self.in_block_or_query_of_several(),
        };
        let own = SessionContext {
            issued,
            session: self,
            host,
        };
        // The four ways of a command (`utility::Command`), in the order in which it is asked.
        if let Some(tag) = command.run_on_session(own)? {
            return Ok(tag);
        }
        if let Some(steps) = command.steps(issued)? {
            self.run_steps(steps, text, host)?;
            return Ok(CommandTag::Word(command.name()));
        }
        self.state.statement_tree = command.has_body().then(|| statement.clone());
        // In a block the transaction is the client's: the body runs as a statement, and its COMMIT is refused.
        if command.has_body() && !issued.in_block {
            return self.run_procedure(command, text, host);
        }
        self.ensure_transaction()?;
        let takes_snapshot = command.takes_snapshot();
        self.block.started |= takes_snapshot;
        if self.state.settings.transaction.read_only && !command.is_read_only() {
            return Err(read_only_error(command.name()));
        }
        let transaction = self.transaction.as_ref().expect("ensured above");
        if takes_snapshot {
            // Write, whatever the command: the catalog and rows that it reads decide what it writes.
            transaction.start_statement(Access::Write);
        }
        self.state.statement_text = text.clone();
        let mut context = self.context(host);
        // On an error the statement's snapshot goes with the transaction, or with `statement_failed`.
        let tag = command.run(issued, &mut context)?;
        context.transaction.end_statement();
        Ok(tag)
    }

    /// Query of the simple protocol: any number of statements, one implicit transaction around those outside a block.
    pub fn query(&mut self, text: &str, host: &mut dyn Host) -> SqlResult<()> {
        self.follow_server_settings(host)?;
        self.start_statement(text);
        // Query ends the unnamed statement and portal, as PostgreSQL's exec_simple_query does.
        self.close_portal("");
        self.close_statement("");
        self.read(text, host, |session, text, host| session.query_text(text, host))
    }

    fn query_text(&mut self, text: &str, host: &mut dyn Host) -> SqlResult<()> {
        // Three ways, cheapest first: the text itself is known; the text without its literals is; neither.
        if let Some(Some(prepared)) = self.state.cached(text, &[]) {
            return self.query_prepared(prepared, Vec::new(), true, host);
        }
        if let Some((prepared, literals)) = self.stripped(text, host) {
            return self.query_prepared(prepared, literals, true, host);
        }
        let mut statements = parse_text(text, host)?;
        match statements.len() {
            0 => host.empty_query(),
            1 => {
                let prepared = self.plan_and_cache(text, statements.pop(), &[], host)?;
                return self.query_prepared(prepared, Vec::new(), true, host);
            }
            count => {
                // One implicit transaction: what cannot run in a block is refused, and CALL may not commit.
                self.block.several = true;
                let result = self.query_several(text, statements, count, host);
                self.block.several = false;
                return result;
            }
        }
        Ok(())
    }

    fn query_several(
        &mut self,
        text: &str,
        statements: Vec<ParsedStatement>,
        count: usize,
        host: &mut dyn Host,
    ) -> SqlResult<()> {
        // Positions count in the whole text, so that every statement has all of it.
        let source: Arc<str> = text.into();
        for (i, statement) in statements.into_iter().enumerate() {
            self.state.start_statement();
            self.query_one(&source, statement, i + 1 == count, host)?;
        }
        Ok(())
    }

    fn query_one(
        &mut self,
        source: &Arc<str>,
        statement: ParsedStatement,
        last: bool,
        host: &mut dyn Host,
    ) -> SqlResult<()> {
        // Before it is planned: in a failed block names are not looked up.
        self.check_allowed(&statement.statement)?;
        self.warn_of_precisions(&statement, source, host);
        // Not from the cache, whose key is a text of one statement.
        let prepared =
            self.state
                .plan_prepared(source.clone(), Some(Arc::new(statement)), &[] as &[Oid], host)?;
        self.query_prepared(prepared, Vec::new(), last, host)
    }

    /// Runs a statement to its end; `parameters` are literals that were taken out of its text. The last one of a text commits before it is reported.
    pub(super) fn query_prepared(
        &mut self,
        prepared: Arc<Prepared>,
        parameters: Vec<Datum>,
        last: bool,
        host: &mut dyn Host,
    ) -> SqlResult<()> {
        let Some(statement) = &prepared.statement else {
            host.empty_query();
            return Ok(());
        };
        self.check_allowed(&statement.statement)?;
        let plan = self.state.validate(&prepared, host)?;
        if plan.plan.parameters.len() != parameters.len() {
            // A parameter cannot stand in a simple query.
            return Err(SqlError::new(
                state::UNDEFINED_PARAMETER,
                "there is no parameter $1",
            ));
        }
        // On the stack of this call: nobody can FETCH from a statement of the simple protocol.
        let mut portal = Portal::new(prepared, plan, parameters, self.state.savepoint_depth);
        portal.made_us = self.state.statement_start_us;
        let counted = self.begin_counting(&portal.prepared, host);
        let tag = match &portal.plan.plan.body {
            PlanBody::Utility(utility) => self.run_utility(utility, &portal.prepared.text, host)?,
            PlanBody::Query(_) => {
                let (outcome, command) = self.run_query(&mut portal, 0, host)?;
                portal.rows = outcome.rows;
                query_tag(command, outcome.rows)
            }
        };
        if let Some(run) = counted {
            self.end_counting(&run, &portal, tag, host);
        }
        // Before the commit: operators that are kept hold no snapshot of it.
        self.retire(&mut portal);
        // CommandComplete is sent behind the commit: a client that reads it may rely on it.
        if last {
            self.sync(host)?;
        }
        host.command_complete(tag);
        Ok(())
    }
}
