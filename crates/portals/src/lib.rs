//! Portals: plans with parameters under way, whoever runs them.
//!
//! Read in this order: this file (what a portal is), `run` (its query, from where it stands), `cursor` (the portals that
//! DECLARE makes, and how FETCH moves them), `collect` (rows kept instead of sent), `portals` (those of a session by name).
//!
//! Source: PostgreSQL's portalmem.c and pquery.c.
//!
//! Leaves out: when a portal begins and ends (`mote_exec::session`), and locks and privileges of its plan
//! (`mote_executor::plans::locking`).

#![forbid(unsafe_code)]

mod collect;
pub mod cursor;
mod portals;
mod run;

use std::sync::Arc;

use mote_common::Oid;
use mote_engine::MemoryCharge;
use mote_executor::plans::{CachedPlan, Prepared};
use mote_executor::query::Execution;
use mote_types::Datum;

pub use collect::{Collect, collect};
pub use cursor::Cursor;
pub use portals::Portals;
pub use run::{modifies, query_tag, run_started};

/// Where a portal stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PortalState {
    Ready,
    /// Rows were fetched and more may come.
    Suspended,
    Done,
}

/// A client's wish per column: 0 text, 1 binary.
#[derive(Clone, Debug)]
pub enum ResultFormats {
    All(i16),
    Each(Box<[i16]>),
}

impl ResultFormats {
    pub const TEXT: ResultFormats = ResultFormats::All(0);
    pub const BINARY: ResultFormats = ResultFormats::All(1);

    /// One for all columns, or one for each.
    #[inline]
    pub fn as_slice(&self) -> &[i16] {
        match self {
            ResultFormats::All(format) => std::slice::from_ref(format),
            ResultFormats::Each(formats) => formats,
        }
    }
}

/// As Bind lists them: none means text, a single one is for all columns.
impl FromIterator<i16> for ResultFormats {
    #[inline]
    fn from_iter<I: IntoIterator<Item = i16>>(formats: I) -> ResultFormats {
        let mut formats = formats.into_iter();
        match (formats.next(), formats.next()) {
            (None, _) => ResultFormats::TEXT,
            (Some(all), None) => ResultFormats::All(all),
            (Some(first), Some(second)) => {
                ResultFormats::Each([first, second].into_iter().chain(formats).collect())
            }
        }
    }
}

/// A plan with its parameters, and how far it has run. It holds its plan and statement by itself: closing the
/// statement does not end it.
pub struct Portal {
    /// What the plan was made from.
    pub prepared: Arc<Prepared>,
    /// The plan of Bind; the locks of its start may replace it by a newer one.
    pub plan: Arc<CachedPlan>,
    /// Until the start, which moves them into the execution.
    pub parameters: Vec<Datum>,
    /// The client's wish per column: the host's business, kept here because it belongs to the portal.
    pub result_formats: ResultFormats,
    pub state: PortalState,
    /// The query's operators and its snapshot, from its start to its end. None for commands.
    pub execution: Option<Box<Execution>>,
    /// Savepoint depth it was made at: rolled back with it.
    pub savepoint_depth: u32,
    /// Made by DECLARE, or fetched from.
    pub cursor: Option<Box<Cursor>>,
    /// When it was made, microseconds since 2000-01-01 UTC.
    pub made_us: i64,
    /// Rows so far.
    pub rows: u64,
    /// What its runs took that did not end it, if somebody counts.
    pub spent_ns: u64,
    /// What it keeps itself; the unnamed portal is not charged.
    pub charge: Option<MemoryCharge>,
    /// What its statement takes, which may be closed before it.
    pub statement_charge: Option<Arc<MemoryCharge>>,
}

impl Portal {
    /// Ready to run.
    pub fn new(
        prepared: Arc<Prepared>,
        plan: Arc<CachedPlan>,
        parameters: Vec<Datum>,
        savepoint_depth: u32,
    ) -> Box<Portal> {
        Box::new(Portal {
            prepared,
            plan,
            parameters,
            result_formats: ResultFormats::TEXT,
            state: PortalState::Ready,
            execution: None,
            savepoint_depth,
            cursor: None,
            made_us: 0,
            rows: 0,
            spent_ns: 0,
            charge: None,
            statement_charge: None,
        })
    }
    /// Whether it stands before or between rows with the table or index open; a held one has all its rows.
    pub fn has_open(&self, object: Oid) -> bool {
        let is_held = self.cursor.as_ref().is_some_and(|cursor| cursor.held);
        let is_over = self.state == PortalState::Done && self.cursor.is_none();
        // For DDL on the object: it is refused while a query of this very session stands open in it.
        !is_held && !is_over && self.plan.stays_open_with(object)
    }
}
