//! A host that keeps the rows of a query.
//!
//! For cursors that keep rows, FETCH in a body, EXPLAIN ANALYZE, arguments of EXECUTE. Everything but rows goes on to
//! the session's host: notices, waits, COPY.

use std::sync::Arc;

use mote_catalog::host::Host;
use mote_catalog::tag::CommandTag;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_engine::SessionMemory;
use mote_executor::context::StatementContext;
use mote_executor::memory::{Kept, row_bytes};
use mote_planner::plan::OutputColumn;
use mote_types::Datum;

/// Runs `work` with a host that keeps the rows; answers with them.
pub fn collect<T>(
    context: &mut StatementContext<'_>,
    keeps: bool,
    room_bytes: usize,
    work: impl FnOnce(&mut StatementContext<'_>) -> SqlResult<T>,
) -> SqlResult<Vec<Vec<Datum>>> {
    let memory = context.session.memory.clone();
    // The context is taken apart and put together with another host; all else in it stays the caller's.
    let mut collected = Collect::new(&mut *context.host, keeps, room_bytes, memory);
    let mut inner = StatementContext {
        transaction: context.transaction,
        session: &mut *context.session,
        calls: &mut *context.calls,
        database: context.database,
        host: &mut collected,
        fuel: context.fuel,
    };
    let result = work(&mut inner);
    // The caller goes on with what is left of the slice.
    let fuel = inner.fuel;
    let rows = collected.rows;
    context.fuel = fuel;
    result.map(|_| rows)
}

/// A host that keeps rows instead of sending them, and passes everything else on.
pub struct Collect<'a> {
    pub host: &'a mut dyn Host,
    pub rows: Vec<Vec<Datum>>,
    /// False: rows are let go of.
    pub keeps: bool,
    /// How many bytes of rows may be kept.
    pub room_bytes: usize,
    memory: Arc<SessionMemory>,
    /// What the rows take.
    pub kept: Kept,
}

impl<'a> Collect<'a> {
    pub fn new(
        host: &'a mut dyn Host,
        keeps: bool,
        room_bytes: usize,
        memory: Arc<SessionMemory>,
    ) -> Collect<'a> {
        Collect {
            host,
            rows: Vec::new(),
            keeps,
            room_bytes,
            memory,
            kept: Kept::default(),
        }
    }
}

#[cold]
fn no_room() -> SqlError {
    SqlError::new(state::OUT_OF_MEMORY, "out of memory")
        .detail("The rows that a cursor keeps need more than work_mem.")
        .hint("Increase work_mem, or declare the cursor without SCROLL and WITH HOLD.")
}

impl Host for Collect<'_> {
    // The description of the rows would reach the client, who does not get them.
    fn start_rows(&mut self, _: &[OutputColumn]) -> SqlResult<()> {
        Ok(())
    }

    fn row(&mut self, row: &[Datum], _: &mote_types::FormatSettings) -> SqlResult<()> {
        if self.keeps {
            let bytes = row_bytes(row);
            // `usize::MAX` is no bound; the session's memory is asked in any case.
            self.room_bytes = self.room_bytes.checked_sub(bytes).ok_or_else(no_room)?;
            self.kept.add(bytes, &self.memory, "the rows of a cursor")?;
            self.rows.push(row.to_vec());
        }
        Ok(())
    }

    fn start_copy_out(&mut self, columns: usize, binary: bool) -> SqlResult<()> {
        self.host.start_copy_out(columns, binary)
    }

    fn copy_out(&mut self, data: &[u8]) -> SqlResult<()> {
        self.host.copy_out(data)
    }

    fn finish_copy_out(&mut self) -> SqlResult<()> {
        self.host.finish_copy_out()
    }

    fn start_copy_in(&mut self, columns: usize, binary: bool) -> SqlResult<()> {
        self.host.start_copy_in(columns, binary)
    }

    fn copy_in(&mut self, buffer: &mut Vec<u8>) -> SqlResult<bool> {
        self.host.copy_in(buffer)
    }

    fn command_complete(&mut self, tag: CommandTag) {
        self.host.command_complete(tag);
    }

    fn has_answered(&self) -> bool {
        self.host.has_answered()
    }

    fn empty_query(&mut self) {
        self.host.empty_query();
    }

    fn gate(&mut self, until: mote_engine::Awaited) {
        self.host.gate(until);
    }

    fn notice(&mut self, notice: SqlError) {
        self.host.notice(notice);
    }

    fn parameter_status(&mut self, name: &str, value: &str) {
        self.host.parameter_status(name, value);
    }

    fn wait(&mut self, ticket: mote_engine::Ticket, deadline_ns: Option<u64>) -> mote_catalog::host::WaitEnd {
        self.host.wait(ticket, deadline_ns)
    }

    fn sleep_until(&mut self, deadline_ns: u64) -> mote_catalog::host::WaitEnd {
        self.host.sleep_until(deadline_ns)
    }

    fn yield_now(&mut self) -> mote_catalog::host::WaitEnd {
        self.host.yield_now()
    }

    fn wait_stable(&mut self, lsn: mote_common::Lsn) -> mote_catalog::host::WaitEnd {
        self.host.wait_stable(lsn)
    }

    fn routine_stack_bytes(&self) -> usize {
        self.host.routine_stack_bytes()
    }

    fn on_large_stack(&mut self, work: &mut dyn FnMut()) {
        self.host.on_large_stack(work);
    }
}
