//! Portals: a plan with parameters under way.

use std::sync::Arc;

use mote_engine::MemoryCharge;
use mote_types::{ColumnType, Datum};

use super::cursor::Cursor;
use mote_executor::plans::{CachedPlan, Prepared};
use mote_executor::query::Execution;

/// A statement about to be bound, with the plan that its parameters are read for.
pub struct BindTarget {
    pub(super) prepared: Arc<Prepared>,
    pub(super) plan: Arc<CachedPlan>,
    pub(super) charge: Option<Arc<MemoryCharge>>,
}

impl BindTarget {
    pub fn parameters(&self) -> &[ColumnType] {
        &self.plan.plan.parameters
    }
}

/// Where a portal stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PortalState {
    Ready,
    /// Rows were fetched and more may come.
    Suspended,
    Done,
}

pub struct Portal {
    pub prepared: Arc<Prepared>,
    pub plan: Arc<CachedPlan>,
    pub parameters: Vec<Datum>,
    /// The client's wish per column: the host's business, kept here because it belongs to the portal.
    pub result_formats: Vec<i16>,
    pub state: PortalState,
    pub execution: Option<Box<Execution>>,
    /// Savepoint depth it was made at: rolled back with it.
    pub savepoint_depth: u32,
    /// Made by DECLARE, or fetched from.
    pub cursor: Option<Box<Cursor>>,
    /// When it was made, microseconds since 2000-01-01 UTC.
    pub made_us: i64,
    /// What it keeps itself; the unnamed portal is not charged.
    pub charge: Option<MemoryCharge>,
    /// What its statement takes, which may be closed before it.
    pub statement_charge: Option<Arc<MemoryCharge>>,
}
