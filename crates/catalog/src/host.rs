//! What a session asks of its host: the wire server, or a Rust program that opened the database in process.
//!
//! A statement runs as plain code; where it must wait it calls the host, which suspends the session's coroutine (server)
//! or blocks the thread (embedded, Miri). No latch, epoch guard or C frame may be alive across such a call.

use std::cell::RefCell;

use corosensei::stack::DefaultStack;
use mote_common::error::{Severity, state};
use mote_common::{SqlError, SqlResult, work};
use mote_engine::{Awaited, Ticket};
pub use mote_planner::plan::OutputColumn;
use mote_types::{Datum, FormatSettings};

use crate::tag::CommandTag;

/// For the grammar and the planner, which recurse. Memory is touched as it is used.
const LARGE_STACK_BYTES: usize = mote_grammar::parser::PARSE_STACK_BYTES + (8 << 20);

/// Runs `task` on a large stack that the calling thread keeps for this purpose. `task` must not suspend.
pub fn run_on_large_stack(task: &mut dyn FnMut()) {
    mote_common::per_thread! {
        static STACK: RefCell<DefaultStack> =
            RefCell::new(DefaultStack::new(LARGE_STACK_BYTES).expect("address space for a stack is available"));
    }
    work::unbroken(|| {
        STACK.with(|stack| match stack.try_borrow_mut() {
            Ok(mut stack) => corosensei::on_stack(&mut *stack, task),
            // Taken: whoever calls stands on it.
            Err(_) => task(),
        })
    });
}

/// What a session is told whose snapshot was revoked because memory ran out.
#[cold]
pub fn snapshot_too_old() -> SqlError {
    SqlError::new(state::SNAPSHOT_TOO_OLD, "snapshot too old")
        .detail("Memory ran out, and this transaction had the oldest snapshot.")
        .hint("Retry the transaction.")
}

/// The user asked for the statement's end.
#[cold]
pub fn canceled() -> SqlError {
    SqlError::new(state::QUERY_CANCELED, "canceling statement due to user request")
}

#[cold]
pub fn statement_timeout() -> SqlError {
    SqlError::new(
        state::QUERY_CANCELED,
        "canceling statement due to statement timeout",
    )
}

/// The server stops, or pg_terminate_backend was called.
#[cold]
pub fn terminated() -> SqlError {
    SqlError::new(
        state::ADMIN_SHUTDOWN,
        "terminating connection due to administrator command",
    )
    .severity(Severity::Fatal)
}

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitEnd {
    /// The ticket was decided: call the engine again.
    Decided,
    /// The user asked to cancel the statement (57014).
    Cancelled,
    /// Memory runs out and the session may hold the oldest snapshot (72000 if it does).
    Revoked,
    /// The server is stopping (57P01).
    Terminated,
    /// The deadline passed: statement_timeout or lock_timeout; the session knows which.
    TimedOut,
}

/// The session's side of a conversation. All methods may suspend unless they say otherwise.
pub trait Host {
    /// Rows with these columns follow. Called at most once per statement, before the first `row`. Does not suspend.
    fn start_rows(&mut self, columns: &[OutputColumn]) -> SqlResult<()>;
    /// One row of the result. May suspend when the client reads slowly.
    fn row(&mut self, row: &[Datum], format: &FormatSettings) -> SqlResult<()>;
    /// COPY TO STDOUT begins: `columns` fields, text or binary overall format.
    fn start_copy_out(&mut self, columns: usize, binary: bool) -> SqlResult<()>;
    fn copy_out(&mut self, data: &[u8]) -> SqlResult<()>;
    fn finish_copy_out(&mut self) -> SqlResult<()>;
    /// COPY FROM STDIN begins; data is then taken with `copy_in`.
    fn start_copy_in(&mut self, columns: usize, binary: bool) -> SqlResult<()>;
    /// Replaces `buffer` with the next piece of COPY data; false at its end. CopyFail is an error (57014).
    fn copy_in(&mut self, buffer: &mut Vec<u8>) -> SqlResult<bool>;
    /// A statement ended well. Does not suspend.
    fn command_complete(&mut self, tag: CommandTag);
    /// Whether a row, a notice, a setting or the end of a statement was sent, or is about to be, since the client was last
    /// told that the session is ready. Does not suspend.
    fn has_answered(&self) -> bool;
    /// The text held no statement. Does not suspend.
    fn empty_query(&mut self);
    /// A transaction ended: nothing that was not sent yet may leave before the log has reached this. Called before the message that tells of the end. Does not suspend: the reply waits, not the session.
    fn gate(&mut self, until: Awaited);
    /// NOTICE, WARNING, INFO. Does not suspend.
    fn notice(&mut self, notice: SqlError);
    /// A setting the client tracks changed (ParameterStatus). Does not suspend.
    fn parameter_status(&mut self, name: &str, value: &str);
    /// Suspends until the ticket is decided, the statement is cancelled or `deadline_ns` (monotonic) passes.
    fn wait(&mut self, ticket: Ticket, deadline_ns: Option<u64>) -> WaitEnd;
    /// Suspends for a time (pg_sleep).
    fn sleep_until(&mut self, deadline_ns: u64) -> WaitEnd;
    /// The statement used up its slice of fuel: lets others run, then reports whether to go on.
    fn yield_now(&mut self) -> WaitEnd;
    /// Waits until the engine's stable horizon reaches `lsn` (used where a result may not be provisional).
    fn wait_stable(&mut self, lsn: mote_common::Lsn) -> WaitEnd;
    /// How deep calls of routines may nest, in bytes of the stack that statements run on.
    fn routine_stack_bytes(&self) -> usize {
        1 << 20
    }
    /// Runs `work` on a stack fit for the parser's recursion (`mote_grammar::parser::PARSE_STACK_BYTES`). Does not suspend.
    fn on_large_stack(&mut self, work: &mut dyn FnMut());
}
