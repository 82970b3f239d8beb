//! What a run leaves to the next one of the same body: lists with their room, and the plans that its expressions used.
//!
//! A plan that is kept here is used without a lock or a shared counter as long as it holds, which whoever uses it asks each
//! time (`SessionState::is_up_to_date`, and `Planned::assumed`): DDL, another role and another search path are seen there.

use std::sync::Arc;

use mote_executor::plans::Prepared;
use mote_types::{ColumnType, Datum};

use super::expression::Planned;

/// The plan of an expression that a run used last.
pub struct KeptPlan {
    pub planned: Arc<Planned>,
    pub prepared: Arc<Prepared>,
}

/// The lists of a run.
#[derive(Default)]
pub struct Lists {
    /// The values of variables; none between two runs.
    pub values: Vec<Datum>,
    pub types: Vec<ColumnType>,
    /// By the numbers of the expressions; empty until the first one is evaluated.
    pub kept: Vec<Option<KeptPlan>>,
    /// A row on its way into variables; empty between two statements.
    pub row: Vec<Datum>,
}

/// Values that a list may have room for and be kept.
const VALUES_KEPT_MAX: usize = 4096;

impl Lists {
    /// Without the values, and small enough to be kept.
    pub fn emptied(mut self) -> Lists {
        self.values.clear();
        self.row.clear();
        self.values.shrink_to(VALUES_KEPT_MAX);
        self.row.shrink_to(VALUES_KEPT_MAX);
        self
    }
}
