//! A whole plan made executable.

use std::sync::Arc;

use mote_common::{Oid, SqlError, SqlResult};
use mote_planner::plan::measured::{Measurement, Measurements, nodes_of};
use mote_planner::plan::{Plan, PlanBody, QueryPlan};
use mote_sql::access::Command;
use mote_types::Datum;

use super::{NodeProgram, compile_node};
use crate::runtime::{CteState, SubPlanState, Values, WorkTable};

/// A plan made executable: expressions compiled, columns and keys resolved.
pub struct Program {
    pub root: NodeProgram,
    /// By the numbers under which expressions name them.
    pub subplans: Vec<NodeProgram>,
    /// By the numbers under which CteScan and WorkTableScan name them.
    pub ctes: Vec<CteProgram>,
    pub command: Command,
    pub returns_rows: bool,
    /// Columns of a row that the client gets; row marks and sort keys stand behind them.
    pub visible_columns: usize,
    /// `$1` to this one: a run needs a value for each.
    pub parameters: usize,
    /// Values that nodes hand to the nodes and sub-plans below them.
    exec_parameters: usize,
    /// The tables and indexes that it has open while it calls code of users; None if it calls none.
    pub opened: Option<Arc<[Oid]>>,
    /// Of a measured plan: what its run begins to count with.
    run: Option<Measurements>,
}

/// A WITH query.
pub struct CteProgram {
    pub node: NodeProgram,
    /// It writes: its run is finished with the statement even if nobody reads it.
    pub modifies: bool,
}

const _: () = {
    // Sessions on all threads run one program.
    const fn shared<T: Send + Sync>() {}
    shared::<Program>();
};

impl Program {
    /// Compiles a query plan. Utility statements have no program.
    pub fn compile(plan: &Plan) -> SqlResult<Program> {
        let PlanBody::Query(query) = &plan.body else {
            return Err(SqlError::internal("a utility statement has no program"));
        };
        Self::of_query(plan, query)
    }

    /// Compiles the measured form of a plan (`mote_planner::plan::measured`).
    pub fn compile_measured(plan: &Plan, measured: &QueryPlan, timed: bool) -> SqlResult<Program> {
        let mut program = Self::of_query(plan, measured)?;
        program.run = Some(Measurements {
            nodes: vec![Measurement::default(); nodes_of(measured)],
            triggers: Vec::new(),
            timed,
        });
        Ok(program)
    }

    fn of_query(plan: &Plan, query: &QueryPlan) -> SqlResult<Program> {
        let mut root = compile_node(&query.root)?;
        // Before the program is shared. WITH queries that write do not count for the command tag, as in PostgreSQL.
        root.count_affected_rows();
        let subplans = query
            .subplans
            .iter()
            .map(compile_node)
            .collect::<SqlResult<Vec<_>>>()?;
        let mut ctes = Vec::with_capacity(query.ctes.len());
        for cte in &query.ctes {
            ctes.push(CteProgram {
                node: compile_node(&cte.node)?,
                modifies: cte.modifies,
            });
        }
        Ok(Program {
            root,
            subplans,
            ctes,
            command: query.command,
            returns_rows: plan.returns_rows,
            visible_columns: query.visible_columns as usize,
            parameters: plan.parameters.len(),
            exec_parameters: query.exec_parameters as usize,
            opened: query.calls_code.then(|| opened_by(query)),
            run: None,
        })
    }

    #[inline]
    pub fn command(&self) -> Command {
        self.command
    }

    /// Whether a run changes rows, itself or in a WITH query.
    #[inline]
    pub fn writes(&self) -> bool {
        self.command != Command::Select || self.ctes.iter().any(|cte| cte.modifies)
    }

    /// The values of a run, with fresh trees for its sub-plans and WITH queries.
    pub fn values(&self) -> Values {
        let sub_plans = self.subplans.iter().map(NodeProgram::instantiate);
        let ctes = self.ctes.iter().map(|cte| cte.node.instantiate());
        Values {
            exec_parameters: vec![Datum::Null; self.exec_parameters],
            subplans: sub_plans.map(SubPlanState::new).collect(),
            ctes: ctes.map(CteState::new).collect(),
            // One for every WITH query, so that they share its number; those that do not recurse never use theirs.
            work_tables: self.ctes.iter().map(|_| WorkTable::default()).collect(),
            run: self.run.clone().map(Box::new),
            ..Values::default()
        }
    }
}

/// What DDL in a called function must not touch while this plan runs (`context::in_use`).
fn opened_by(query: &QueryPlan) -> Arc<[Oid]> {
    let mut opened = Vec::new();
    query.for_each_opened(&mut |object| opened.push(object));
    opened.into()
}
