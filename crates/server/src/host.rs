//! What a SQL session asks of its connection: rows out, COPY data in, waiting.

use std::sync::Arc;

use corosensei::Yielder;
use mote_catalog::activity::Waiting;
use mote_catalog::host::OutputColumn;
use mote_catalog::host::{Host, WaitEnd, run_on_large_stack, snapshot_too_old, terminated};
use mote_catalog::tag::CommandTag;
use mote_common::error::state;
use mote_common::work::{self, Payer};
use mote_common::{Lsn, SqlError, SqlResult};
use mote_engine::{Awaited, Level, Ticket, epoch};
use mote_types::{Datum, FormatSettings};

use crate::interruption::Interruption;
use crate::pgwire::frontend::{Fields, MESSAGE_BYTES_MAX, protocol_violation, unsupported_format};
use crate::pgwire::{backend, frontend, recode};
use crate::suspension::{Reason, STACK_BYTES, Suspend, suspend};
use crate::wire::{OUTPUT_LOW_WATER_BYTES, Wire};

/// The connection side of one running statement.
pub struct WireHost<'a> {
    pub wire: &'a mut Wire,
    pub yielder: &'a Yielder<(), Suspend>,
    /// The extended protocol describes rows on request only; the simple one always.
    pub describe_rows: bool,
}

/// Lets other sessions run while a function works, and ends it. It knows nothing of the connection's buffers: what is due
/// there leaves with the next suspension of the statement itself.
pub struct FiberPayer<'a> {
    pub yielder: &'a Yielder<(), Suspend>,
    pub interruption: Arc<Interruption>,
}

impl FiberPayer<'_> {
    fn end_of_work(&self) -> SqlResult<()> {
        let Interruption { signals, clock, .. } = &*self.interruption;
        signals.end_of_work(&**clock)
    }
}

impl Payer for FiberPayer<'_> {
    fn slice_over(&self, may_suspend: bool) -> SqlResult<()> {
        // The look comes after the pause: among the long statements that is where one goes home to end.
        self.pause(may_suspend);
        self.end_of_work()
    }

    fn pause(&self, may_suspend: bool) -> bool {
        // Under a guard of the engine nobody else may run.
        if may_suspend && !epoch::is_pinned() {
            suspend(
                self.yielder,
                Suspend {
                    reason: Reason::Yield(self.interruption.clone()),
                    gate: Awaited::NOTHING,
                    deadline_ns: None,
                },
            );
            // Socket events of that time meant this session.
            self.interruption.set_drained(false);
        }
        self.interruption.is_ending()
    }
}

/// Writing such a value pays as it goes, and may be long work.
fn is_of_many_parts(value: &Datum) -> bool {
    match value {
        Datum::Array(_) | Datum::Jsonb(_) | Datum::Record(_) => true,
        // Perhaps a long bit string, which is written bit by bit.
        Datum::Bytea(_) => !value.is_short_output(),
        _ => false,
    }
}

impl WireHost<'_> {
    /// Sends what may be sent, then gives the thread away until something happens.
    fn suspend(&mut self, reason: Reason, deadline_ns: Option<u64>) {
        self.wire.flush();
        // Who waits for the client alone would not hear of it.
        if self.wire.broken {
            return;
        }
        self.rest(reason, deadline_ns, Awaited::NOTHING);
    }

    /// Gives the thread away in the middle of a statement. As in PostgreSQL, the first results of a submission wait for
    /// its last: only what was due before is sent.
    /// `until` asks to be run again when the log is there.
    fn rest(&mut self, reason: Reason, deadline_ns: Option<u64>, until: Awaited) {
        if self.wire.due {
            self.wire.flush();
            // Without a lease for too long: what ends the session is found here, and announced by nobody.
            if self.wire.signals.terminated() {
                return;
            }
        }
        // What is not due is not sent when its horizon comes: no reason to run again.
        self.wire.settle_gate();
        let gate = self.wire.pending_gate().and(until);
        suspend(
            self.yielder,
            Suspend {
                reason,
                gate,
                deadline_ns,
            },
        );
        self.wire.interruption.set_drained(false);
    }

    /// The buffer is full: sends it, and waits for a client that does not take it. Once it waits it does so until the low
    /// water is reached, so that the next rows are written together. `before` is where the last row begins: one that there
    /// is no memory for is taken back.
    #[cold]
    fn wait_for_room(&mut self, before: usize) -> SqlResult<()> {
        if let Err(error) = self.wire.charge_buffers() {
            self.wire.take_back(before);
            return Err(error);
        }
        loop {
            self.wire.flush();
            if self.wire.broken {
                return Err(connection_lost());
            }
            // Only what the socket refused is announced by an event when it has room again.
            if self.wire.unsent_bytes() <= OUTPUT_LOW_WATER_BYTES {
                return Ok(());
            }
            self.suspend(Reason::Wait, None);
            if self.wire.signals.terminated() {
                return Err(terminated());
            }
            // A client that does not read holds the snapshot of its query.
            if self.wire.signals.take_revocation() {
                return Err(snapshot_too_old());
            }
            if self.wire.signals.take_cancel() {
                return Err(cancelled());
            }
        }
    }

    /// As `wait_for_room`, for what cannot fail: takes no signal, and ends at any.
    #[cold]
    fn wait_for_notices(&mut self) {
        self.wire.flush();
        while !self.wire.broken
            && self.wire.unsent_bytes() > OUTPUT_LOW_WATER_BYTES
            && !self.wire.signals.is_raised()
        {
            self.suspend(Reason::Wait, None);
            self.wire.flush();
        }
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
        self.wait_for(deadline_ns, Awaited::NOTHING, done)
    }

    fn wait_for(
        &mut self,
        deadline_ns: Option<u64>,
        until: Awaited,
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
            self.rest(Reason::Wait, deadline_ns, until);
        }
    }
}

/// Bind takes any codes; PostgreSQL refuses them, too, when there is something to send.
fn check_formats(formats: &[i16]) -> SqlResult<()> {
    match formats.iter().find(|format| !matches!(format, 0 | 1)) {
        None => Ok(()),
        Some(format) => Err(unsupported_format(*format)),
    }
}

impl Host for WireHost<'_> {
    fn start_rows(&mut self, columns: &[OutputColumn]) -> SqlResult<()> {
        let result = &mut self.wire.result;
        check_formats(&result.formats)?;
        result.columns.clear();
        result.columns.extend(columns.iter().map(|c| c.ty));
        if self.describe_rows {
            let formats = std::mem::take(&mut result.formats);
            let sent = self
                .wire
                .send(|out| backend::row_description(out, columns, &formats));
            self.wire.result.formats = formats;
            return sent;
        }
        Ok(())
    }

    fn row(&mut self, row: &[Datum], format: &FormatSettings) -> SqlResult<()> {
        let is_short = row.iter().all(Datum::is_short_output);
        if !is_short {
            row.iter().try_for_each(Datum::reserve_output)?;
        }
        let Wire {
            result,
            output,
            answered,
            converter,
            ..
        } = &mut *self.wire;
        let before = output.len();
        *answered = true;
        let mut write = || backend::data_row(output, row, &result.columns, &result.formats, format);
        let written = match !is_short && row.iter().any(is_of_many_parts) {
            true => work::or_unwound(write),
            false => {
                write();
                Ok(())
            }
        };
        if let Err(error) = written {
            self.wire.take_back(before);
            return Err(error);
        }
        if let Some(converter) = *converter {
            recode::sent_row(output, before, &result.columns, &result.formats, converter)?;
        }
        if result.of_call {
            backend::row_as_function_result(output, before);
        }
        if self.wire.is_over_high_water() {
            self.wait_for_room(before)?;
        }
        Ok(())
    }

    fn start_copy_out(&mut self, columns: usize, binary: bool) -> SqlResult<()> {
        backend::copy_out_response(&mut self.wire.output, columns, binary);
        Ok(())
    }

    fn copy_out(&mut self, data: &[u8]) -> SqlResult<()> {
        let before = self.wire.output.len();
        self.wire.answered = true;
        backend::copy_data(&mut self.wire.output, data);
        if self.wire.is_over_high_water() {
            self.wait_for_room(before)?;
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
                        let reason = Fields::new(body).raw_string().unwrap_or(&[]);
                        let reason = match self.wire.converter {
                            None => frontend::utf8(reason).map(str::to_string),
                            Some(converter) => converter.decode(reason).map(|text| text.into_owned()),
                        };
                        let reason = reason.unwrap_or_default();
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
                self.wire.charge_buffers()?;
                continue;
            }
            if self.wire.broken {
                return Err(connection_lost());
            }
            if let Some(end) = self.signals() {
                return Err(match end {
                    WaitEnd::Cancelled => cancelled(),
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
        self.wire.answered = true;
        if self.wire.result.of_call {
            // FunctionCallResponse says it all.
            return;
        }
        backend::command_complete(&mut self.wire.output, tag);
    }

    fn has_answered(&self) -> bool {
        self.wire.answered
    }

    fn empty_query(&mut self) {
        backend::empty_query(&mut self.wire.output);
    }

    fn gate(&mut self, until: Awaited) {
        self.wire.hold_back(until);
    }

    fn notice(&mut self, notice: SqlError) {
        self.wire
            .send_or_warn(|out| backend::error_response(out, &notice));
        self.wire.due = true;
        self.wire.answered = true;
        if self.wire.is_over_high_water() {
            // A statement of nothing but notices waits for its client, too. Why a wait ended it learns where it looks
            // next: a lost client and a termination stay, the others are left for it.
            self.wait_for_notices();
        }
    }

    fn parameter_status(&mut self, name: &str, value: &str) {
        self.wire.answered = true;
        self.wire.note_parameter_status(name, value);
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
        // As in `slice_over`, the look comes after the pause.
        self.rest(
            Reason::Yield(self.wire.interruption.clone()),
            None,
            Awaited::NOTHING,
        );
        self.signals().unwrap_or(WaitEnd::Decided)
    }

    fn wait_stable(&mut self, lsn: Lsn) -> WaitEnd {
        self.wire.shared.engine().request_flush();
        let until = Awaited {
            level: Level::On,
            lsn,
        };
        self.wait_for(None, until, |wire| wire.shared.reached(Level::On) >= lsn)
    }

    /// What remains is for whatever called the outermost routine and for what the innermost one runs.
    fn routine_stack_bytes(&self) -> usize {
        STACK_BYTES - (1 << 20)
    }

    fn on_large_stack(&mut self, work: &mut dyn FnMut()) {
        run_on_large_stack(work);
    }
}

fn cancelled() -> SqlError {
    SqlError::new(state::QUERY_CANCELED, "canceling statement due to user request")
}

pub fn connection_lost() -> SqlError {
    SqlError::new(state::CONNECTION_FAILURE, "connection to client lost")
        .severity(mote_common::error::Severity::Fatal)
}
