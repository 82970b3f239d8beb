//! What a SQL session asks of its connection: rows out, COPY data in, waiting.

use corosensei::Yielder;
use mote_common::error::state;
use mote_common::{Lsn, SqlError, SqlResult};
use mote_engine::Ticket;
use mote_exec::host::{Host, WaitEnd, run_on_large_stack, snapshot_too_old};
use mote_exec::session::{CommandTag, Waiting};
use mote_sql::plan::OutputColumn;
use mote_types::{Datum, FormatSettings};

use crate::connection::Wire;
use crate::net::fiber::{Reason, STACK_BYTES, Suspend, suspend};
use crate::pgwire::backend;
use crate::pgwire::frontend::{Fields, MESSAGE_BYTES_MAX, protocol_violation};

/// Bytes of unsent rows at which a statement waits for its client.
const OUTPUT_HIGH_WATER_BYTES: usize = 1 << 20;

/// The connection side of one running statement.
pub struct WireHost<'a> {
    pub wire: &'a mut Wire,
    pub yielder: &'a Yielder<(), Suspend>,
    /// The extended protocol describes rows on request only; the simple one always.
    pub describe_rows: bool,
}

impl WireHost<'_> {
    /// Sends what may be sent, then gives the thread away until something happens.
    fn suspend(&mut self, reason: Reason, deadline_ns: Option<u64>) {
        self.wire.flush();
        self.rest(reason, deadline_ns, None);
    }

    /// Gives the thread away in the middle of a statement. As in PostgreSQL, the first results of a submission wait for
    /// its last: only what was due before is sent.
    /// `until` asks to be run again when the horizon is there.
    fn rest(&mut self, reason: Reason, deadline_ns: Option<u64>, until: Option<Lsn>) {
        if self.wire.due {
            self.wire.flush();
        }
        // What is not due is not sent when its horizon comes: no reason to run again.
        self.wire.settle_gate();
        let gate = self.wire.pending_gate().max(until);
        suspend(
            self.yielder,
            Suspend {
                reason,
                gate,
                deadline_ns,
            },
        );
        self.wire.drained = false;
    }

    /// Waits until the unsent bytes are few enough.
    fn wait_for_room(&mut self) -> SqlResult<()> {
        loop {
            self.wire.flush();
            if self.wire.broken {
                return Err(connection_lost());
            }
            // Only what the socket refused is announced by an event when it has room again.
            if self.wire.unsent_bytes() < OUTPUT_HIGH_WATER_BYTES {
                break;
            }
            self.suspend(Reason::Wait, None);
            if self.wire.signals.terminated() {
                return Err(terminated());
            }
            // A client that does not read holds the snapshot of its query.
            if self.wire.signals.take_revocation() {
                return Err(snapshot_too_old());
            }
        }
        Ok(())
    }

    fn signals(&self) -> Option<WaitEnd> {
        if self.wire.signals.terminated() {
            Some(WaitEnd::Terminated)
        } else if self.wire.signals.take_cancel() {
            Some(WaitEnd::Cancelled)
        } else if self.wire.signals.take_revocation() {
            Some(WaitEnd::Revoked)
        } else {
            None
        }
    }

    /// Runs `done` whenever something happened, until it says so, a signal comes or the deadline passes.
    fn wait_until(&mut self, deadline_ns: Option<u64>, done: impl Fn(&Wire) -> bool) -> WaitEnd {
        self.wait_for(deadline_ns, None, done)
    }

    fn wait_for(
        &mut self,
        deadline_ns: Option<u64>,
        horizon: Option<Lsn>,
        done: impl Fn(&Wire) -> bool,
    ) -> WaitEnd {
        loop {
            if done(self.wire) {
                return WaitEnd::Decided;
            }
            if let Some(end) = self.signals() {
                return end;
            }
            if deadline_ns.is_some_and(|deadline| self.wire.shared.now_ns() >= deadline) {
                return WaitEnd::TimedOut;
            }
            self.rest(Reason::Wait, deadline_ns, horizon);
        }
    }
}

impl Host for WireHost<'_> {
    fn start_rows(&mut self, columns: &[OutputColumn]) -> SqlResult<()> {
        let Wire { result, output, .. } = &mut *self.wire;
        result.columns.clear();
        result.columns.extend(columns.iter().map(|c| c.ty));
        if self.describe_rows {
            backend::row_description(output, columns, &result.formats);
        }
        Ok(())
    }

    fn row(&mut self, row: &[Datum], format: &FormatSettings) -> SqlResult<()> {
        let Wire { result, output, .. } = &mut *self.wire;
        backend::data_row(output, row, &result.columns, &result.formats, format);
        if self.wire.output.len() >= OUTPUT_HIGH_WATER_BYTES {
            self.wait_for_room()?;
        }
        Ok(())
    }

    fn start_copy_out(&mut self, columns: usize, binary: bool) -> SqlResult<()> {
        backend::copy_out_response(&mut self.wire.output, columns, binary);
        Ok(())
    }

    fn copy_out(&mut self, data: &[u8]) -> SqlResult<()> {
        backend::copy_data(&mut self.wire.output, data);
        if self.wire.output.len() >= OUTPUT_HIGH_WATER_BYTES {
            self.wait_for_room()?;
        }
        Ok(())
    }

    fn finish_copy_out(&mut self) -> SqlResult<()> {
        backend::copy_done(&mut self.wire.output);
        Ok(())
    }

    fn start_copy_in(&mut self, columns: usize, binary: bool) -> SqlResult<()> {
        backend::copy_in_response(&mut self.wire.output, columns, binary);
        self.wire.flush();
        Ok(())
    }

    fn copy_in(&mut self, buffer: &mut Vec<u8>) -> SqlResult<bool> {
        buffer.clear();
        loop {
            while let Some((kind, body)) = self.wire.input.peek(MESSAGE_BYTES_MAX)? {
                let end = body.end;
                let body = &self.wire.input.unread()[body];
                let outcome = match kind {
                    b'd' => {
                        buffer.extend_from_slice(body);
                        Some(Ok(true))
                    }
                    b'c' => Some(Ok(false)),
                    b'f' => {
                        let reason = Fields::new(body).string().unwrap_or("").to_string();
                        Some(Err(SqlError::new(
                            state::QUERY_CANCELED,
                            format!("COPY from stdin failed: {reason}"),
                        )))
                    }
                    // Flush and Sync may come early from clients that pipeline; PostgreSQL ignores them here.
                    b'H' | b'S' => None,
                    other => Some(Err(protocol_violation(format!(
                        "unexpected message type 0x{other:02X} during COPY from stdin"
                    )))),
                };
                self.wire.input.consume(end);
                if let Some(outcome) = outcome {
                    return outcome;
                }
            }
            if self.wire.fill() {
                continue;
            }
            if self.wire.broken {
                return Err(connection_lost());
            }
            if let Some(end) = self.signals() {
                return Err(match end {
                    WaitEnd::Cancelled => {
                        SqlError::new(state::QUERY_CANCELED, "canceling statement due to user request")
                    }
                    WaitEnd::Revoked => snapshot_too_old(),
                    _ => terminated(),
                });
            }
            self.wire
                .activity
                .wait(Waiting::Client, self.wire.shared.database.now_us());
            self.suspend(Reason::Wait, None);
            self.wire.activity.waited();
        }
    }

    fn command_complete(&mut self, tag: CommandTag) {
        backend::command_complete(&mut self.wire.output, tag);
    }

    fn empty_query(&mut self) {
        backend::empty_query(&mut self.wire.output);
    }

    fn gate(&mut self, lsn: Lsn) {
        self.wire.gate = self.wire.gate.max(lsn);
    }

    fn notice(&mut self, notice: SqlError) {
        backend::error_response(&mut self.wire.output, &notice);
        self.wire.due = true;
    }

    fn parameter_status(&mut self, name: &str, value: &str) {
        backend::parameter_status(&mut self.wire.output, name, value);
    }

    fn wait(&mut self, ticket: Ticket, deadline_ns: Option<u64>) -> WaitEnd {
        self.wait_until(deadline_ns, |wire| wire.waker.is_decided(ticket))
    }

    fn sleep_until(&mut self, deadline_ns: u64) -> WaitEnd {
        match self.wait_until(Some(deadline_ns), |_| false) {
            WaitEnd::TimedOut => WaitEnd::Decided,
            other => other,
        }
    }

    fn yield_now(&mut self) -> WaitEnd {
        if let Some(end) = self.signals() {
            return end;
        }
        self.rest(Reason::Yield, None, None);
        self.signals().unwrap_or(WaitEnd::Decided)
    }

    fn wait_stable(&mut self, lsn: Lsn) -> WaitEnd {
        self.wire.shared.engine().request_flush();
        self.wait_for(None, Some(lsn), |wire| wire.shared.stable() >= lsn)
    }

    /// What remains is for whatever called the outermost routine and for what the innermost one runs.
    fn routine_stack_bytes(&self) -> usize {
        STACK_BYTES - (1 << 20)
    }

    fn on_large_stack(&mut self, work: &mut dyn FnMut()) {
        run_on_large_stack(work);
    }
}

pub fn connection_lost() -> SqlError {
    SqlError::new(state::CONNECTION_FAILURE, "connection to client lost")
        .severity(mote_common::error::Severity::Fatal)
}

pub fn terminated() -> SqlError {
    SqlError::new(
        state::ADMIN_SHUTDOWN,
        "terminating connection due to administrator command",
    )
    .severity(mote_common::error::Severity::Fatal)
}
