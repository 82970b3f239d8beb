//! Sequences: counters outside of transactions.
//!
//! Values are logged ahead: a SEQUENCE frame says up to which value numbers may have been handed out, and 32 follow
//! without another. After a crash the sequence goes on behind the logged value, so up to 32 numbers are skipped and none
//! is handed out twice. Whoever takes a value has *seen* the frame that covers it: the reply waits for it.
//!
//! Creation and removal are rows of the catalog; RESTART and changes of parameters make a new sequence (a new id) with the
//! transaction that wants them, which the SQL layer swaps in.

use crate::lock::{MayWait, Ticket, Wake};
use crate::table::SequenceDefinition;
use mote_common::Lsn;
use mote_common::sync::Mutex;
use mote_log::{LogUnavailable, SequenceState};
use std::sync::Arc;

/// Values covered by one frame.
const LOGGED_AHEAD: u64 = 32;

/// Why there is no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SequenceError {
    /// "nextval: reached maximum value of sequence" (2200H).
    MaximumReached(i64),
    MinimumReached(i64),
    /// setval with a value outside of the bounds.
    OutOfBounds {
        value: i64,
        minimum: i64,
        maximum: i64,
    },
    LogUnavailable(LogUnavailable),
    /// The log has no room now: wait for the ticket, then call again.
    MustWait(Ticket),
}

impl MayWait for SequenceError {
    fn ticket(&self) -> Option<Ticket> {
        match self {
            SequenceError::MustWait(ticket) => Some(*ticket),
            _ => None,
        }
    }
}

/// Numbers that a call has taken out of a sequence: the first, and how many follow at the sequence's increment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DrawnNumbers {
    pub first: i64,
    /// Including the first.
    pub count: u64,
}

/// Where a sequence writes down how far it may have got.
pub(crate) trait SequenceLog {
    /// Logs the state and answers where it stands. Whoever has a `wake` is asked to wait where the log has no room.
    fn log_sequence(&self, state: SequenceState, wake: Option<&Arc<dyn Wake>>) -> Result<Lsn, SequenceError>;
}

/// A counter.
pub struct Sequence {
    definition: SequenceDefinition,
    /// One session's own: nothing of it is logged.
    temporary: bool,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    value: i64,
    /// `value` was handed out: the next one is behind it.
    is_called: bool,
    /// What the log says, and where it says so.
    logged: SequenceState,
    logged_at: Lsn,
    /// Values that can still be handed out under that frame.
    ahead: u64,
}

impl Sequence {
    pub(crate) fn new(definition: SequenceDefinition) -> Sequence {
        Sequence::with(definition, false)
    }

    pub(crate) fn temporary(definition: SequenceDefinition) -> Sequence {
        Sequence::with(definition, true)
    }

    pub(crate) fn is_temporary(&self) -> bool {
        self.temporary
    }

    fn with(definition: SequenceDefinition, temporary: bool) -> Sequence {
        let start = definition.start;
        Sequence {
            definition,
            temporary,
            state: Mutex::new(State {
                value: start,
                is_called: false,
                logged: SequenceState {
                    id: definition.id.0,
                    logged_value: start,
                    is_called: false,
                },
                logged_at: Lsn::ZERO,
                ahead: 0,
            }),
        }
    }

    pub fn definition(&self) -> &SequenceDefinition {
        &self.definition
    }

    /// `last_value` and `is_called`, as a SELECT from the sequence shows them.
    pub fn peek(&self) -> (i64, bool) {
        let state = self.state.lock();
        (state.value, state.is_called)
    }

    /// What the manifest keeps: values up to here may have been handed out.
    pub(crate) fn logged(&self) -> SequenceState {
        self.state.lock().logged
    }

    pub(crate) fn restore(&self, logged: SequenceState) {
        let mut state = self.state.lock();
        state.value = logged.logged_value;
        state.is_called = logged.is_called;
        state.logged = logged;
        state.ahead = 0;
    }

    /// The value after `value`, or `None` at the end without CYCLE.
    fn after(&self, value: i64) -> Option<i64> {
        let d = &self.definition;
        match value.checked_add(d.increment) {
            Some(next) if (d.minimum..=d.maximum).contains(&next) => Some(next),
            _ if d.cycle => Some(if d.increment > 0 { d.minimum } else { d.maximum }),
            _ => None,
        }
    }

    pub(crate) fn next(
        &self,
        log: &impl SequenceLog,
        wake: Option<&Arc<dyn Wake>>,
    ) -> Result<(i64, Lsn), SequenceError> {
        self.draw(log, 1, wake)
            .map(|(drawn, logged_at)| (drawn.first, logged_at))
    }

    /// Draws up to `count` numbers in a row; fewer where the sequence ends, or begins again, before.
    pub(crate) fn draw(
        &self,
        log: &impl SequenceLog,
        count: u64,
        wake: Option<&Arc<dyn Wake>>,
    ) -> Result<(DrawnNumbers, Lsn), SequenceError> {
        let d = &self.definition;
        let mut state = self.state.lock();
        let first = if state.is_called {
            self.after(state.value)
        } else {
            Some(state.value)
        };
        let first = first.ok_or(if d.increment > 0 {
            SequenceError::MaximumReached(d.maximum)
        } else {
            SequenceError::MinimumReached(d.minimum)
        })?;
        let more = self.room_behind(first, count.max(1) - 1);
        let last = self.advanced(first, more);
        let drawn = DrawnNumbers {
            first,
            count: more + 1,
        };
        if self.temporary {
            // A restart ends it: nothing is drawn ahead.
        } else if state.ahead < drawn.count {
            // With CYCLE the frame may not run past the end: then it covers up to the end only.
            let beyond = self.room_behind(last, LOGGED_AHEAD - 1);
            let logged = SequenceState {
                id: d.id.0,
                logged_value: self.advanced(last, beyond),
                is_called: true,
            };
            state.logged_at = log.log_sequence(logged, wake)?;
            state.logged = logged;
            state.ahead = beyond;
        } else {
            state.ahead -= drawn.count;
        }
        state.value = last;
        state.is_called = true;
        Ok((drawn, state.logged_at))
    }

    /// How many of the next `wanted` numbers behind `value` lie within the bounds.
    fn room_behind(&self, value: i64, wanted: u64) -> u64 {
        let d = &self.definition;
        let bound = if d.increment > 0 { d.maximum } else { d.minimum };
        let steps = bound.abs_diff(value) / d.increment.unsigned_abs().max(1);
        steps.min(wanted)
    }

    /// `value` and that many steps, which the bounds have room for.
    fn advanced(&self, value: i64, steps: u64) -> i64 {
        value.wrapping_add(self.definition.increment.wrapping_mul(steps as i64))
    }

    pub(crate) fn set(
        &self,
        log: &impl SequenceLog,
        value: i64,
        is_called: bool,
        wake: Option<&Arc<dyn Wake>>,
    ) -> Result<Lsn, SequenceError> {
        let d = &self.definition;
        if !(d.minimum..=d.maximum).contains(&value) {
            return Err(SequenceError::OutOfBounds {
                value,
                minimum: d.minimum,
                maximum: d.maximum,
            });
        }
        let mut state = self.state.lock();
        let logged = SequenceState {
            id: d.id.0,
            logged_value: value,
            is_called,
        };
        let logged_at = match self.temporary {
            true => Lsn::ZERO,
            false => log.log_sequence(logged, wake)?,
        };
        *state = State {
            value,
            is_called,
            logged,
            logged_at,
            ahead: 0,
        };
        Ok(logged_at)
    }
}
