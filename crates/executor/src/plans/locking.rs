//! Table locks of a plan, and the question that follows them: is it still the plan of what was locked?
//!
//! A plan names the tables that it locks; whoever waits for one of them may find it altered, dropped or replaced. Then the
//! statement is planned again and the new plan's locks are taken, too, until nothing has changed meanwhile.

use std::sync::Arc;

use mote_common::{SqlError, SqlResult};
use mote_engine::WaitPolicy;
use mote_types::Datum;

use super::{CachedPlan, Prepared};
use crate::context::StatementContext;

/// Counts how often a plan was made anew because a table had changed before its lock was had.
#[derive(Default)]
pub struct PlanningRounds(u32);

/// Every round is the DDL of another session that committed meanwhile, and tables that are locked by now change no more.
const PLANNING_ROUNDS_MAX: u32 = 1_000;

impl PlanningRounds {
    /// Lets others run and hears of a cancel before the next round. A plan that never settles is a defect; it ends its
    /// statement instead of taking the worker.
    pub fn another(&mut self, context: &mut StatementContext<'_>) -> SqlResult<()> {
        self.0 += 1;
        if self.0 > PLANNING_ROUNDS_MAX {
            return Err(SqlError::internal("the plan of a statement does not settle"));
        }
        context.give_way()
    }
}

/// Takes the locks of a statement's plan, and replaces the plan until it describes the tables that are locked. Of
/// partitions that parameters choose, all are locked where the parameters are not known.
pub fn lock_relations(
    prepared: &Arc<Prepared>,
    plan: &mut Arc<CachedPlan>,
    mut parameters: Option<&mut Vec<Datum>>,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let mut rounds = PlanningRounds::default();
    loop {
        mote_catalog::privileges::check_plan(&context.session.catalog, &plan.plan)?;
        take_locks(plan, parameters.as_deref_mut(), context)?;
        if context.session.still_holds(prepared, plan)? {
            return Ok(());
        }
        // A table changed while this statement waited for its lock.
        rounds.another(context)?;
        *plan = context.session.validate(prepared, context.host)?;
    }
}

/// In the order in which the plan names its relations, then the partitions that parameters choose.
fn take_locks(
    plan: &CachedPlan,
    parameters: Option<&mut Vec<Datum>>,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    // A lock that this transaction has already costs a look into its own array.
    let mut take = |(table, mode)| {
        context.engine_call(|transaction| transaction.lock_table(table, mode, WaitPolicy::Block))
    };
    plan.locks.iter().copied().try_for_each(&mut take)?;
    match (&plan.partition_locks, parameters) {
        (None, _) => Ok(()),
        (Some(partitions), Some(parameters)) => partitions.select(parameters)?.into_iter().try_for_each(take),
        (Some(partitions), None) => partitions.all().try_for_each(take),
    }
}
