//! Memory that statements and sessions keep beside rows and indexes, charged to the session's account: the one seam to
//! the engine's budget.
//!
//! What is kept holds a `MemoryCharge`; what grows row by row uses [`Kept`], which asks the account once for 64 KiB and
//! never for its first 16 KiB, so that the small sorts and sets of ordinary statements cost two additions. Refusals are
//! PostgreSQL's 53200. Leaves out: `work_mem`, which bounds single operators (`runtime::work_memory`).

use std::sync::Arc;

use mote_common::error::state;
use mote_common::work::Bulk;
use mote_common::{SqlError, SqlResult};
use mote_engine::{MemoryCharge, MemoryRefused, SessionMemory};
use mote_types::Datum;

/// What is kept may take so much before it is charged.
const FREE_BYTES: usize = 16 << 10;
/// Afterwards it is charged in such pieces.
const PIECE_BYTES: usize = 64 << 10;

/// Charges `bytes` for `what`, as in "a prepared statement".
pub fn charge(memory: &Arc<SessionMemory>, bytes: usize, what: &str) -> SqlResult<MemoryCharge> {
    memory
        .charge(bytes)
        .map_err(|refused| out_of_memory(&refused, what))
}

/// Changes what a charge holds, which may be nothing yet.
pub fn resize(
    held: &mut Option<MemoryCharge>,
    bytes: usize,
    memory: &Arc<SessionMemory>,
    what: &str,
) -> SqlResult<()> {
    let resized = match held {
        _ if bytes == 0 => {
            *held = None;
            Ok(())
        }
        Some(held) => held.resize(bytes),
        None => memory.charge(bytes).map(|charge| *held = Some(charge)),
    };
    resized.map_err(|refused| out_of_memory(&refused, what))
}

#[cold]
fn out_of_memory(refused: &MemoryRefused, what: &str) -> SqlError {
    SqlError::new(state::OUT_OF_MEMORY, "out of memory")
        .detail(format!(
            "Failed on request of size {} for {what}: this session holds {} kB, all sessions hold {} kB of the {} kB that \
             they may have.",
            refused.wanted_bytes,
            refused.session_bytes / 1024,
            refused.sessions_bytes / 1024,
            refused.sessions_limit_bytes / 1024
        ))
        .hint("Let go of prepared statements and cursors, lower work_mem, or start the server with more --memory.")
}

/// Bytes that a kept row takes.
pub fn row_bytes(row: &[Datum]) -> usize {
    size_of::<Vec<Datum>>() + heap_bytes(row)
}

/// What kept values take, the list itself included.
pub fn heap_bytes(values: &[Datum]) -> usize {
    size_of_val(values) + values.iter().map(Datum::heap_bytes).sum::<usize>()
}

/// Rows that are kept, and what they take.
#[derive(Default)]
pub struct KeptRows {
    pub rows: Bulk<Vec<Datum>>,
    pub kept: Kept,
}

/// Bytes that are kept and grow.
#[derive(Default)]
pub struct Kept {
    used_bytes: usize,
    charge: Option<MemoryCharge>,
}

impl Kept {
    /// What is kept, charged or not.
    pub fn bytes(&self) -> usize {
        self.used_bytes
    }

    /// Counts bytes that are about to be kept; `what` is for the error's detail.
    #[inline]
    pub fn add(&mut self, bytes: usize, memory: &Arc<SessionMemory>, what: &str) -> SqlResult<()> {
        match self.note(bytes) {
            true => self.grow(memory, what),
            false => Ok(()),
        }
    }

    /// The first half of `add`, for callers who do not have the account at hand: true if `grow` must follow.
    #[inline]
    #[must_use]
    pub fn note(&mut self, bytes: usize) -> bool {
        self.used_bytes += bytes;
        self.used_bytes > self.charge.as_ref().map_or(FREE_BYTES, MemoryCharge::bytes)
    }

    /// Some of it has gone; what is charged stays for what comes next, until all has gone.
    pub fn shrink_to(&mut self, bytes: usize) {
        self.used_bytes = bytes;
        if bytes == 0 {
            self.charge = None;
        }
    }

    /// The second half of `add`: charges for all that is noted, in whole pieces. Fails with 53200.
    #[cold]
    pub fn grow(&mut self, memory: &Arc<SessionMemory>, what: &str) -> SqlResult<()> {
        let wanted = self.used_bytes.next_multiple_of(PIECE_BYTES);
        resize(&mut self.charge, wanted, memory, what)
    }

    pub fn clear(&mut self) {
        self.used_bytes = 0;
        self.charge = None;
    }
}
