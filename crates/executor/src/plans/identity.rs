//! Which statement a statement is, whatever its constants: its number (`compute_query_id`) and its text without them.
//!
//! Worked out when somebody first asks, from the text that came; a statement that nobody counts pays nothing.

use std::sync::Arc;

use mote_catalog::host::Host;
use mote_catalog::settings::{QueryIds, Track};
use mote_catalog::statement_statistics::{StatementKey, StatementStatistics};
use mote_grammar::ast::Statement;
use mote_grammar::parser::normalized::{Normalized, normalized, verbatim};
use mote_planner::plan::{Plan, PlanBody};

use super::Prepared;
use crate::context::SessionState;

/// As much of a text as is kept.
const TEXT_BYTES_MAX: usize = 256 << 10;

/// A statement's number and the text that stands for all statements of that number.
#[derive(Debug)]
pub struct StatementIdentity {
    pub query_id: i64,
    pub text: Arc<str>,
}

/// A run under way that is going to be counted.
pub struct CountedRun {
    begun_ns: u64,
    top_level: bool,
}

impl Prepared {
    /// None for an empty statement.
    pub fn identity(&self, host: &mut dyn Host) -> Option<&Arc<StatementIdentity>> {
        let range = self.statement.as_ref()?.range.clone();
        let text = self.text[range].trim_end_matches(|c: char| c == ';' || c.is_ascii_whitespace());
        Some(self.identity_by(text, host))
    }

    /// The same where `text` is what the client sent, of which `self.text` was made.
    pub fn identity_by(&self, text: &str, host: &mut dyn Host) -> &Arc<StatementIdentity> {
        self.identity
            .get_or_init(|| Arc::new(identify(text, &self.current().plan, host)))
    }
}

#[cold]
fn identify(text: &str, plan: &Plan, host: &mut dyn Host) -> StatementIdentity {
    let Normalized {
        mut text,
        fingerprint,
    } = match &plan.body {
        // Utilities are told apart by their whole text.
        PlanBody::Utility(_) => verbatim(text),
        PlanBody::Query(_) => {
            let mut found = None;
            // The grammar runs once more.
            host.on_large_stack(&mut || found = normalized(text));
            found.unwrap_or_else(|| verbatim(text))
        }
    };
    text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
    // One name in two schemas is two tables. The order that a plan names them in may change with the plan.
    let mut relations: Vec<u32> = plan.relations.iter().map(|access| access.relation.0).collect();
    relations.sort_unstable();
    relations.dedup();
    let stirred = relations.into_iter().fold(fingerprint, |hash, relation| {
        (hash.rotate_left(5) ^ u64::from(relation)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    });
    StatementIdentity {
        // 0 stands for none.
        query_id: stirred.max(1) as i64,
        text: text.into(),
    }
}

impl SessionState {
    /// Whether statements get a number.
    #[inline]
    pub fn identifies_statements(&self) -> bool {
        match self.settings.effective.statements.query_ids {
            QueryIds::Auto { .. } => self.catalog.store().counts_statements(),
            QueryIds::On => true,
            QueryIds::Off => false,
        }
    }

    /// Whether EXPLAIN VERBOSE tells the number.
    pub fn tells_query_ids(&self) -> bool {
        let hidden = QueryIds::Auto { shown: false };
        self.identifies_statements() && self.settings.effective.statements.query_ids != hidden
    }

    /// Whether somebody wants to know how long planning takes.
    pub(super) fn times_planning(&self) -> bool {
        self.settings.effective.statements.planning && self.catalog.store().counts_statements()
    }

    /// A statement begins: is it to be counted? One branch where no database has pg_stat_statements.
    #[inline]
    pub fn begin_counting(&self, top_level: bool) -> Option<CountedRun> {
        match self.catalog.store().counts_statements() {
            false => None,
            true => self.begin_counting_here(top_level),
        }
    }

    fn begin_counting_here(&self, top_level: bool) -> Option<CountedRun> {
        let settings = &self.settings.effective.statements;
        let wanted = match top_level {
            true => Track::Top,
            false => Track::All,
        };
        let counted = settings.track >= wanted && settings.query_ids != QueryIds::Off;
        counted.then(|| CountedRun {
            begun_ns: self.clock.monotonic_ns(),
            top_level,
        })
    }

    /// Whether a statement of this kind is counted that is no query.
    pub fn counts_utility(&self, statement: &Statement) -> bool {
        // What they run is counted, under the text that was prepared.
        let stands_for_another = matches!(
            statement,
            Statement::Execute(_) | Statement::Prepare(_) | Statement::Deallocate(_)
        );
        self.settings.effective.statements.utility && !stands_for_another
    }

    /// How long a run has taken.
    pub fn counted_ns(&self, run: &CountedRun) -> u64 {
        self.clock.monotonic_ns().saturating_sub(run.begun_ns)
    }

    /// The run has ended well.
    pub fn count_run(
        &self,
        run: &CountedRun,
        spent_ns: u64,
        rows: u64,
        prepared: &Prepared,
        statistics: &StatementStatistics,
        host: &mut dyn Host,
    ) {
        let Some(identity) = prepared.identity(host) else {
            return;
        };
        let key = StatementKey {
            user: self.identity().user_oid,
            database: self.catalog.database,
            query_id: identity.query_id,
            top_level: run.top_level,
        };
        // Planning is counted with the first run behind it; a cached plan's later runs add nothing.
        let planned_ns = prepared.current().take_planning_ns();
        let statements_max = self.settings.effective.statements.statements_max;
        statistics.count(key, &identity.text, statements_max, |counters| {
            if let Some(ns) = planned_ns {
                counters.plans.add(ns);
            }
            counters.runs.add(spent_ns);
            counters.rows += rows;
        });
    }
}
