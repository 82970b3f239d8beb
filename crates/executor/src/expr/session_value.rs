//! Values of the session and the statement, and the calls that move sequences.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult, SqlState};
use mote_engine::{Sequence, SequenceError, SequenceId, TableLockMode, Transaction, WaitPolicy, WriteError};
use mote_sql::access::privilege;
use mote_sql::expr::{SequenceCall, SessionValue};
use mote_types::family::time_tz;
use mote_types::{ColumnType, Datum, datetime};

use super::Expression;
use crate::context::StatementContext;
use crate::runtime::Runtime;
use mote_catalog::catalog_store::sequence_lock;
use mote_catalog::catalog_store::stored::StoredSequence;
use mote_catalog::privileges::check_sequence;
use mote_catalog::write_error;

/// CURRENT_TIMESTAMP and its kin stand still for a transaction, statement_timestamp for a statement; clock_timestamp
/// alone reads the clock.
pub(super) fn evaluate(
    value: SessionValue,
    ty: ColumnType,
    runtime: &mut Runtime<'_, '_>,
) -> SqlResult<Datum> {
    let session = runtime.session();
    let zone = &session.settings.effective.format.time_zone;
    // The transaction's start on the session's clock: what a date or a time without a zone is taken from.
    let local_us = zone.to_local_us(session.transaction_start_us);
    let precise = |us: i64| datetime::round_to_precision(us, ty.typmod);
    Ok(match value {
        // Euclidean, so that moments before 2000 fall into their own day.
        SessionValue::CurrentDate => Datum::Date(local_us.div_euclid(datetime::DAY_US) as i32),
        SessionValue::LocalTime => Datum::Time(precise(local_us.rem_euclid(datetime::DAY_US))),
        SessionValue::CurrentTime => {
            let zone = &session.settings.effective.format.time_zone;
            let now = time_tz::of_instant(session.transaction_start_us, zone)?;
            mote_types::typmod::coerce_typmod(now, ty, false)?
        }
        SessionValue::TransactionTimestamp => Datum::TimestampTz(precise(session.transaction_start_us)),
        SessionValue::LocalTimestamp => Datum::Timestamp(precise(local_us)),
        SessionValue::StatementTimestamp => Datum::TimestampTz(session.statement_start_us),
        SessionValue::ClockTimestamp => Datum::TimestampTz(session.clock_us()),
        SessionValue::CurrentUser => Datum::from(session.identity().user.as_str()),
        SessionValue::SessionUser => Datum::from(session.identity().session_user.as_str()),
        // NULL where nothing of search_path exists.
        SessionValue::CurrentSchema => session.catalog.first_schema().map_or(Datum::Null, Datum::from),
        SessionValue::CurrentCatalog => Datum::from(session.catalog.database_name.as_str()),
    })
}

/// nextval, currval, lastval, setval.
pub(super) fn sequence(
    call: SequenceCall,
    arguments: &[Expression],
    row: &[Datum],
    runtime: &mut Runtime<'_, '_>,
) -> SqlResult<Datum> {
    if call == SequenceCall::LastValue {
        // setval of this sequence counts; a sequence that is gone has no last value.
        let session = runtime.session();
        let known = session.sequences.last.and_then(|oid| {
            let entry = session.catalog.entry(oid)?;
            Some((entry, *session.sequences.current.get(&oid)?))
        });
        return match known {
            Some((entry, value)) => {
                check_sequence(
                    &session.catalog,
                    &entry.described,
                    privilege::SELECT | privilege::USAGE,
                )?;
                Ok(Datum::Int8(value))
            }
            None => Err(SqlError::new(
                state::OBJECT_NOT_IN_PREREQUISITE_STATE,
                "lastval is not yet defined in this session",
            )),
        };
    }
    let mut values = Vec::with_capacity(arguments.len());
    for argument in arguments {
        // The functions are strict.
        let value = argument.evaluate(row, runtime)?;
        if value.is_null() {
            return Ok(Datum::Null);
        }
        values.push(value);
    }
    // The binder has cast the name to regclass: what comes here is the OID.
    let Some(Datum::Oid(oid)) = values.first() else {
        return Err(SqlError::internal("a sequence call without a sequence"));
    };
    let oid = Oid(*oid);
    // An OID that is no sequence is refused before anything is locked.
    describe(oid, runtime)?;
    lock_sequence(oid, runtime)?;
    // As it is now: it may have been changed, or dropped, by whom we waited for.
    let (name, sequence) = describe(oid, runtime)?;
    check_privileges(call, oid, runtime)?;
    let changes = match call {
        SequenceCall::NextValue | SequenceCall::NextIdentity => Some("nextval()"),
        SequenceCall::SetValue => Some("setval()"),
        SequenceCall::CurrentValue | SequenceCall::LastValue => None,
    };
    if let Some(function) =
        // Temporary sequences may move in a read-only transaction, as in PostgreSQL.
        changes.filter(|_| runtime.transaction().is_read_only() && !is_temporary(oid, runtime))
    {
        return Err(write_error::read_only_error(function));
    }
    match call {
        SequenceCall::NextValue | SequenceCall::NextIdentity => next_value(oid, &name, &sequence, runtime),
        SequenceCall::SetValue => set_value(oid, &name, &sequence, &values, runtime),
        SequenceCall::CurrentValue | SequenceCall::LastValue => runtime
            .session()
            .sequences
            .current
            .get(&oid)
            .map(|&value| Datum::Int8(value))
            .ok_or_else(|| {
                SqlError::new(
                    state::OBJECT_NOT_IN_PREREQUISITE_STATE,
                    format!("currval of sequence \"{name}\" is not yet defined in this session"),
                )
            }),
    }
}

/// Any of PostgreSQL's: USAGE or UPDATE to draw, USAGE or SELECT to look, UPDATE to set.
fn check_privileges(call: SequenceCall, oid: Oid, runtime: &Runtime<'_, '_>) -> SqlResult<()> {
    use privilege::{SELECT, UPDATE, USAGE};
    let wanted = match call {
        // An identity column draws on behalf of the table: INSERT on it is privilege enough.
        SequenceCall::NextIdentity => return Ok(()),
        SequenceCall::NextValue => USAGE | UPDATE,
        SequenceCall::SetValue => UPDATE,
        SequenceCall::CurrentValue | SequenceCall::LastValue => USAGE | SELECT,
    };
    let session = runtime.session();
    match session.identity().superuser {
        true => Ok(()),
        false => session.catalog.entry(oid).map_or(Ok(()), |entry| {
            check_sequence(&session.catalog, &entry.described, wanted)
        }),
    }
}

fn is_temporary(sequence: Oid, runtime: &Runtime<'_, '_>) -> bool {
    let entry = runtime.session().catalog.entry(sequence);
    entry.is_some_and(|entry| entry.stored.temporary)
}

/// The sequence as the catalog has it, by its name and its parameters.
fn describe(oid: Oid, runtime: &Runtime<'_, '_>) -> SqlResult<(String, StoredSequence)> {
    let entry = runtime.session().catalog.entry(oid);
    let Some(entry) = entry else {
        return Err(SqlError::new(
            state::UNDEFINED_TABLE,
            format!("could not open relation with OID {oid}"),
        ));
    };
    match &entry.stored.sequence {
        Some(sequence) => Ok((entry.stored.name.clone(), sequence.clone())),
        None => Err(SqlError::new(
            state::WRONG_OBJECT_TYPE,
            format!("\"{}\" is not a sequence", entry.stored.name),
        )),
    }
}

/// Until the end of the transaction, against ALTER and DROP; those who draw numbers do not wait for each other.
fn lock_sequence(oid: Oid, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
    let lock = sequence_lock(oid);
    runtime.context().engine_call(|transaction| {
        transaction.lock_table(lock, TableLockMode::RowExclusive, WaitPolicy::Block)
    })
}

fn engine_sequence(stored: &StoredSequence, runtime: &Runtime<'_, '_>) -> SqlResult<Arc<Sequence>> {
    let found = runtime.database().engine().sequence(SequenceId(stored.id));
    found.ok_or_else(|| SqlError::internal(format!("storage sequence {} does not exist", stored.id)))
}

/// Asks a sequence, waiting where the log has no room.
pub fn ask_sequence<T>(
    context: &mut StatementContext<'_>,
    name: &str,
    call: impl FnMut(&Transaction) -> Result<T, SequenceError>,
) -> SqlResult<T> {
    context.retry(call)?.map_err(|error| sequence_error(error, name))
}

#[cold]
fn sequence_error(error: SequenceError, name: &str) -> SqlError {
    let exhausted = |edge: &str, bound: i64| {
        SqlError::new(
            SqlState::new("2200H"),
            format!("nextval: reached {edge} value of sequence \"{name}\" ({bound})"),
        )
    };
    match error {
        SequenceError::MaximumReached(bound) => exhausted("maximum", bound),
        SequenceError::MinimumReached(bound) => exhausted("minimum", bound),
        SequenceError::OutOfBounds {
            value,
            minimum,
            maximum,
        } => SqlError::new(
            state::NUMERIC_VALUE_OUT_OF_RANGE,
            format!("setval: value {value} is out of bounds for sequence \"{name}\" ({minimum}..{maximum})"),
        ),
        SequenceError::LogUnavailable(reason) => write_error::lock_error(WriteError::LogUnavailable(reason)),
        SequenceError::MustWait(ticket) => write_error::lock_error(WriteError::MustWait(ticket)),
    }
}

/// The next number, from those that this session has drawn ahead (CACHE) if any is left.
fn next_value(
    oid: Oid,
    name: &str,
    stored: &StoredSequence,
    runtime: &mut Runtime<'_, '_>,
) -> SqlResult<Datum> {
    // Drawn numbers are not given back, neither by ROLLBACK nor at the session's end: sequences have gaps.
    let value = match runtime.context().session.sequences.take(oid, stored) {
        Some(value) => value,
        None => {
            let sequence = engine_sequence(stored, runtime)?;
            let drawn = ask_sequence(runtime.context(), name, |transaction| {
                transaction.sequence_draw(&sequence, stored.cache as u64)
            })?;
            let sequences = &mut runtime.context().session.sequences;
            sequences.keep(oid, stored, drawn);
            drawn.first
        }
    };
    let sequences = &mut runtime.context().session.sequences;
    sequences.current.insert(oid, value);
    sequences.last = Some(oid);
    Ok(Datum::Int8(value))
}

/// Sets the next number. `is_called` false: the value itself is the next one.
fn set_value(
    oid: Oid,
    name: &str,
    stored: &StoredSequence,
    values: &[Datum],
    runtime: &mut Runtime<'_, '_>,
) -> SqlResult<Datum> {
    let value = values.get(1).and_then(Datum::as_i64).unwrap_or(0);
    let is_called = values.get(2).and_then(Datum::as_bool).unwrap_or(true);
    let sequence = engine_sequence(stored, runtime)?;
    ask_sequence(runtime.context(), name, |transaction| {
        transaction.sequence_set(&sequence, value, is_called)
    })?;
    // What was drawn ahead here is void. Other sessions use up what they have.
    runtime.context().session.sequences.forget(oid);
    // Without `is_called`, currval stays as it was, as in do_setval.
    if is_called {
        let sequences = &mut runtime.context().session.sequences;
        sequences.current.insert(oid, value);
    }
    Ok(Datum::Int8(value))
}
