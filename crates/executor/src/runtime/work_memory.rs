//! Accounting of rows kept by sorts, hash tables and their kin: against `work_mem`, and against the session's memory.
//!
//! Beyond either the statement fails with 53200: nothing spills yet, and nothing grows without a bound.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::Datum;

use super::Runtime;
use crate::memory::{Kept, row_bytes};

/// What one node keeps.
#[derive(Default)]
pub struct WorkMemory(Kept);

impl WorkMemory {
    /// Accounts for a kept row.
    pub fn charge_row(&mut self, row: &[Datum], runtime: &Runtime<'_, '_>) -> SqlResult<()> {
        self.charge(row_bytes(row), runtime)
    }

    /// Accounts for bytes kept. 53200 beyond work_mem or the session's memory; then they count as kept until `clear`.
    pub fn charge(&mut self, bytes: usize, runtime: &Runtime<'_, '_>) -> SqlResult<()> {
        self.0
            .add(bytes, &runtime.session().memory, "the rows of a sort or hash")?;
        let limit = runtime.work_memory_bytes();
        if self.0.bytes() <= limit {
            return Ok(());
        }
        Err(SqlError::new(state::OUT_OF_MEMORY, "out of memory")
            .detail(format!(
                "A sort or hash operation of the statement needs more than {} kB.",
                limit / 1024
            ))
            .hint("Increase work_mem, or make the statement process fewer rows at a time."))
    }

    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// The node has let go of everything.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
