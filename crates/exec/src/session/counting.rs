//! What a client's statements cost, for pg_stat_statements; and their numbers, for pg_stat_activity.

use mote_catalog::host::Host;
use mote_catalog::tag::CommandTag;
use mote_executor::plans::{CountedRun, Prepared};
use mote_grammar::ast::ParsedStatement;
use mote_planner::plan::PlanBody;

use super::Session;
use mote_portals::Portal;

impl Session {
    /// A statement of the client begins. None: nobody counts it.
    #[inline]
    pub(super) fn begin_counting(&self, prepared: &Prepared, host: &mut dyn Host) -> Option<CountedRun> {
        if !self.state.identifies_statements() {
            return None;
        }
        self.note_number(prepared, host);
        self.state.begin_counting(true)
    }

    fn note_number(&self, prepared: &Prepared, host: &mut dyn Host) {
        if let Some(identity) = prepared.identity(host) {
            self.state.activity.note_query_id(identity.query_id);
        }
    }

    /// The statement of a portal has ended well.
    pub(super) fn end_counting(
        &self,
        run: &CountedRun,
        portal: &Portal,
        tag: CommandTag,
        host: &mut dyn Host,
    ) {
        let is_counted = |statement: &ParsedStatement| self.state.counts_utility(&statement.statement);
        let rows = match &portal.plan.plan.body {
            PlanBody::Query(_) => portal.rows,
            PlanBody::Utility(_) if portal.prepared.statement.as_deref().is_some_and(is_counted) => {
                tag.rows()
            }
            PlanBody::Utility(_) => return,
        };
        let spent_ns = portal.spent_ns + self.state.counted_ns(run);
        let statistics = self.database.statement_statistics();
        self.state
            .count_run(run, spent_ns, rows, &portal.prepared, statistics, host);
    }
}
