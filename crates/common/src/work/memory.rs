//! Memory of values: nobody takes a large piece before there is room for it.
//!
//! What is measured is the process: its resident memory, against a limit that whoever runs it has set. Values are freed
//! wherever they happen to be dropped, so an account of its own would drift; and the question is whether the process
//! may grow. Between a promise and the first touch of the memory the bytes are `pending`, lest two sessions are promised
//! the same room.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::discard::free_waiting;
use super::{Account, STATE, limit_reached};
use crate::error::state;
use crate::{SqlError, SqlResult};

/// Bytes of a value that PostgreSQL can allocate.
pub const VALUE_BYTES_MAX: usize = 0x3fff_ffff;
/// Smaller reservations are added up until they come to this.
const LOOKED_AT_BYTES: usize = 1 << 20;

/// What the process may use, and how to learn what it uses.
pub struct MemoryLimit {
    pub limit_bytes: u64,
    /// Bytes resident now, files apart.
    pub resident_bytes: fn() -> u64,
    /// Returns to the system what the allocator keeps for later.
    pub trim: fn(),
    /// Lets go of what the calling thread keeps and nobody wants: what others have freed of its share of the allocator, and
    /// plans that were discarded.
    pub trim_thread: fn(),
}

static LIMIT: OnceLock<MemoryLimit> = OnceLock::new();
/// Promised by [`reserve`] and possibly not resident yet. An estimate that guards no memory: Relaxed.
static PENDING_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Sets the limit of the process, once.
pub fn limit_memory(limit: MemoryLimit) {
    let _ = LIMIT.set(limit);
}

/// How long a thread sleeps before it looks for what others have freed of its memory: a session may end on another thread
/// than the one it began on, and only the owner of a page can give it back.
pub const TRIM_INTERVAL: Duration = Duration::from_secs(4);

/// To be called every [`TRIM_INTERVAL`] by a thread that allocates for sessions and has nothing to do.
pub fn trim_thread() {
    if let Some(limit) = LIMIT.get() {
        (limit.trim_thread)();
    }
}

/// Asks for room before `bytes` are allocated for a value: 53200 where the process has none.
#[inline(never)]
pub fn reserve(bytes: usize) -> SqlResult<()> {
    let (account, wanted) = STATE.with(|state| {
        let wanted = state.small_bytes.get().saturating_add(bytes);
        let is_small = wanted < LOOKED_AT_BYTES;
        state.small_bytes.set(if is_small { wanted } else { 0 });
        (
            if is_small {
                Account::Open
            } else {
                state.account.get()
            },
            wanted,
        )
    });
    match account {
        Account::Open => Ok(()),
        Account::Limited => Err(limit_reached()),
        Account::Payer(_) => {
            // What was promised before is resident by now, or was given up.
            promise(wanted);
            find_room(wanted).inspect_err(|_| promise(0))
        }
    }
}

/// Replaces what the thread's session was promised.
fn promise(bytes: usize) {
    PENDING_BYTES.fetch_add(bytes, Ordering::Relaxed);
    forget_pending(STATE.with(|state| state.pending_bytes.replace(bytes)));
}

pub(super) fn forget_pending(bytes: usize) {
    PENDING_BYTES.fetch_sub(bytes, Ordering::Relaxed);
}

/// The promise counts already as pending.
fn find_room(bytes: usize) -> SqlResult<()> {
    let Some(limit) = LIMIT.get() else {
        return Ok(());
    };
    let fits = || {
        let pending = PENDING_BYTES.load(Ordering::Relaxed) as u64;
        (limit.resident_bytes)() + pending <= limit.limit_bytes
    };
    if fits() {
        return Ok(());
    }
    // What others have discarded or freed may be resident still.
    free_waiting();
    (limit.trim)();
    if fits() {
        return Ok(());
    }
    let error = SqlError::new(state::OUT_OF_MEMORY, "out of memory");
    Err(error.detail(format!(
        "Failed on request of size {bytes}: the server is at its memory limit."
    )))
}

/// What PostgreSQL says of a value beyond 1 GB.
#[cold]
pub fn invalid_size(bytes: usize) -> SqlError {
    SqlError::internal(format!("invalid memory alloc request size {bytes}"))
}
