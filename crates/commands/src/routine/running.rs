//! A query of a body under way: what of it the session holds on to. How it goes on: `nested`.

use std::collections::VecDeque;
use std::sync::Arc;

use mote_types::Datum;

use super::statement::Statement;
use mote_executor::context::StatementContext;
use mote_executor::memory::Kept;
use mote_executor::plans::{CachedPlan, CountedRun, Prepared};
use mote_executor::query::Execution;

/// A query under way: what FOR loops and cursors of a language pull from.
pub struct Running {
    pub(super) plan: Arc<CachedPlan>,
    pub(super) execution: Option<Box<Execution>>,
    /// What is left of the rows, once its transaction has ended.
    pub(super) held: Option<VecDeque<Vec<Datum>>>,
    /// What the held rows take.
    pub(super) kept: Kept,
    pub(super) counted: Option<Box<Counted>>,
}

/// A run that pg_stat_statements is going to show.
pub(super) struct Counted {
    pub(super) run: CountedRun,
    prepared: Arc<Prepared>,
    /// In its own fetches: what happens between them is not its.
    pub(super) spent_ns: u64,
    pub(super) rows: u64,
}

impl Counted {
    pub(super) fn begin(statement: &Statement, context: &StatementContext<'_>) -> Option<Counted> {
        // pg_stat_statements.track = all counts what bodies run; otherwise nothing is measured.
        let run = context.session.begin_counting(false)?;
        let prepared = statement.known()?;
        Some(Counted {
            run,
            prepared,
            spent_ns: 0,
            rows: 0,
        })
    }

    pub(super) fn end(&self, context: &mut StatementContext<'_>) {
        let statistics = context.database.statement_statistics();
        let (session, host) = (&*context.session, &mut *context.host);
        session.count_run(
            &self.run,
            self.spent_ns,
            self.rows,
            &self.prepared,
            statistics,
            host,
        );
    }
}
