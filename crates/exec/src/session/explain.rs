//! EXPLAIN for the client. With ANALYZE the statement runs as its client would run it, with its privileges, locks and
//! effects; its rows go nowhere.

use std::sync::Arc;

use mote_catalog::host::Host;
use mote_catalog::tag::CommandTag;
use mote_common::{SqlError, SqlResult};
use mote_executor::context::UtilityParameters;
use mote_executor::plans::explain::{MeasuredPlan, not_explained, query_explained, read_options};
use mote_executor::plans::{CachedPlan, Prepared};
use mote_executor::query::Execution;
use mote_grammar::ast::{Explain, ParsedStatement, Statement};
use mote_grammar::parser::normalized::explained;
use mote_planner::plan::explain::{About, ExplainOptions};
use mote_planner::plan::measured::Measurements;
use mote_planner::plan::{PlanBody, explained_column};
use mote_types::Datum;

use super::Session;
use mote_portals::{Collect, Portal, run_started};

impl Session {
    /// EXPLAIN of a client; that of a body is `routine::explain`.
    pub(crate) fn explain(
        &mut self,
        statement: &Explain,
        text: &Arc<str>,
        host: &mut dyn Host,
    ) -> SqlResult<CommandTag> {
        let options = read_options(statement, text)?;
        let begun_ns = self.state.clock.monotonic_ns();
        let (prepared, plan, parameters) = self.explained(&statement.statement, text, host)?;
        let planning_ns = match statement.statement {
            // What it takes to come by the plan, with the computation of its arguments.
            Statement::Execute(_) => self.state.clock.monotonic_ns().saturating_sub(begun_ns),
            _ => plan.planning_ns,
        };
        let mut about = About {
            planning_ns,
            ..About::default()
        };
        let PlanBody::Query(query) = &plan.plan.body else {
            return Err(not_explained());
        };
        if self.state.tells_query_ids() {
            // compute_query_id: the number is that of the explained statement, not of EXPLAIN.
            about.query_id = Some(prepared.identity_by(explained(&prepared.text), host).query_id);
        }
        let rows = if options.analyze {
            let mut portal = Portal::new(prepared, plan.clone(), parameters, self.state.savepoint_depth);
            let begun_ns = self.state.clock.monotonic_ns();
            let (measured, run) = self.run_measured(&mut portal, &options, host)?;
            about.execution_ns = self.state.clock.monotonic_ns().saturating_sub(begun_ns);
            about.run = Some(&run);
            let plan = &portal.plan.plan;
            self.state.explanation(plan, &measured.query, &options, about)?
        } else {
            self.state.explanation(&plan.plan, query, &options, about)?
        };
        self.answer(statement, rows, host)?;
        Ok(CommandTag::Word("EXPLAIN"))
    }

    fn answer(&self, statement: &Explain, rows: Vec<Datum>, host: &mut dyn Host) -> SqlResult<()> {
        host.start_rows(&[explained_column(statement)])?;
        let format = self.state.settings.effective.format.clone();
        rows.into_iter().try_for_each(|row| host.row(&[row], &format))
    }

    /// The statement as it would run: what it was prepared from, its plan and the values of its parameters.
    fn explained(
        &mut self,
        explained: &Statement,
        text: &Arc<str>,
        host: &mut dyn Host,
    ) -> SqlResult<(Arc<Prepared>, Arc<CachedPlan>, Vec<Datum>)> {
        // Taken whatever the statement is: EXECUTE has values of its own.
        let UtilityParameters { types, values } = std::mem::take(&mut self.state.utility_parameters);
        if let Statement::Execute(execute) = explained {
            return self.execution(execute, text, host);
        }
        let statement = ParsedStatement {
            statement: query_explained(explained).clone(),
            range: 0..text.len(),
            warnings: Vec::new(),
        };
        let prepared = self
            .state
            .plan_prepared(text.clone(), Some(Arc::new(statement)), &types, host)?;
        let plan = prepared.current();
        Ok((prepared, plan, values))
    }

    /// Starts the statement as its client would, then runs it with operators that count and measure.
    fn run_measured(
        &mut self,
        portal: &mut Portal,
        options: &ExplainOptions,
        host: &mut dyn Host,
    ) -> SqlResult<(MeasuredPlan, Measurements)> {
        // `start_query` moves the portal's values away; the second execution needs them again.
        let mut parameters = portal.parameters.clone();
        self.start_query(portal, host)?;
        // The plan is the one that the locks hold for only now.
        let measured = MeasuredPlan::of(&portal.plan, options.timing)?;
        let restartable = portal.plan.query()?.restartable;
        let memory = self.state.memory.clone();
        // Rows are computed and dropped, without their text.
        let mut unseen = Collect::new(host, false, 0, memory);
        let mut context = self.context(&mut unseen);
        let mut execution = Box::new(Execution::new(measured.program.clone()));
        execution.start(&mut parameters, &context)?;
        // Takes the place of the execution that `start_query` made, under the same snapshot.
        portal.execution = Some(execution);
        let start = match restartable {
            true => context.transaction.statement_start(),
            false => None,
        };
        run_started(portal, 0, start, &mut context)?;
        context.transaction.end_statement();
        let execution = portal.execution.take();
        let mut execution = execution.ok_or_else(|| SqlError::internal("a run has lost its execution"))?;
        Ok((measured, execution.take_measurements()?))
    }
}
