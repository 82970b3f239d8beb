//! Accounting of rows kept by sorts, hash tables and their kin against `work_mem`.
//!
//! Beyond the limit the statement fails with 53200: nothing spills yet, and nothing grows without a bound.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::Datum;

use crate::query::runtime::Runtime;

/// What one node keeps, in bytes.
#[derive(Default)]
pub struct WorkMemory {
    used_bytes: usize,
}

impl WorkMemory {
    /// Accounts for a kept row.
    pub fn charge_row(&mut self, row: &[Datum], runtime: &Runtime<'_, '_>) -> SqlResult<()> {
        let heap: usize = row.iter().map(Datum::heap_bytes).sum();
        self.charge(size_of::<Vec<Datum>>() + size_of_val(row) + heap, runtime)
    }

    pub fn charge(&mut self, bytes: usize, runtime: &Runtime<'_, '_>) -> SqlResult<()> {
        self.used_bytes += bytes;
        let limit = runtime.work_memory_bytes();
        if self.used_bytes <= limit {
            return Ok(());
        }
        Err(SqlError::new(state::OUT_OF_MEMORY, "out of memory")
            .detail(format!(
                "A sort or hash operation of the statement needs more than {} kB.",
                limit / 1024
            ))
            .hint("Increase work_mem, or make the statement process fewer rows at a time."))
    }

    pub fn clear(&mut self) {
        self.used_bytes = 0;
    }
}
