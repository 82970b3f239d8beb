//! The one place where outcomes of the engine become SQL errors.

use mote_common::SqlError;
use mote_common::error::state;
use mote_engine::{
    BeginError, CommitError, DeadlockEdge, DeadlockReport, LockTag, LogUnavailable, RowTooLarge, WriteError,
};
use mote_sql::catalog::Relation;

use crate::host::snapshot_too_old;

const CONCURRENT_UPDATE: &str = "could not serialize access due to concurrent update";
pub const MOVED: &str = "tuple to be locked was already moved to another partition due to concurrent update";
const CONCURRENT_DELETE: &str = "could not serialize access due to concurrent delete";

/// A write or row lock on `relation` that failed for good.
#[cold]
pub fn sql_error(error: WriteError, relation: &Relation) -> SqlError {
    match error {
        WriteError::Changed | WriteError::Serialization => serialization_failure(false),
        WriteError::Deleted => serialization_failure(true),
        WriteError::SelfModified => modified_inside("updated"),
        WriteError::WouldBlock => SqlError::new(
            state::LOCK_NOT_AVAILABLE,
            format!("could not obtain lock on row in relation \"{}\"", relation.name),
        ),
        WriteError::Duplicate { .. } => SqlError::new(
            state::UNIQUE_VIOLATION,
            "duplicate key value violates unique constraint",
        )
        .table(relation.schema.as_str(), relation.name.as_str()),
        WriteError::KeyTooLong {
            index,
            key_bytes,
            maximum_bytes,
        } => {
            let name = relation.indexes.iter().find(|candidate| candidate.index == index);
            let name = name.map_or("", |index| index.name.as_str());
            key_too_long((key_bytes, maximum_bytes), name, &relation.schema, &relation.name)
        }
        WriteError::RowTooLarge {
            row_bytes,
            maximum_bytes,
        } => too_large(row_bytes, maximum_bytes),
        other => lock_error(other),
    }
}

/// 54000: a key of so many bytes, where an index takes fewer.
#[cold]
pub fn key_too_long(
    (key_bytes, maximum_bytes): (usize, usize),
    index: &str,
    schema: &str,
    table: &str,
) -> SqlError {
    SqlError::new(
        state::PROGRAM_LIMIT_EXCEEDED,
        format!(
            "index row size {key_bytes} exceeds btree version 4 maximum {maximum_bytes} for index \"{index}\""
        ),
    )
    .hint(
        "Values larger than 1/3 of a buffer page cannot be indexed.\n\
         Consider a function index of an MD5 hash of the value, or use full text indexing.",
    )
    .table(schema, table)
    .constraint(index)
}

/// A table lock, or anything that does not concern a particular row, that failed for good.
#[cold]
pub fn lock_error(error: WriteError) -> SqlError {
    match error {
        WriteError::MustWait(_) => not_waited(),
        WriteError::WouldBlock => SqlError::new(state::LOCK_NOT_AVAILABLE, "could not obtain lock"),
        WriteError::Deadlock(report) => deadlock(&report),
        WriteError::ReadConflict => read_conflict("during write"),
        WriteError::OutOfMemory => out_of_memory(),
        WriteError::Expression(error) => error,
        WriteError::SnapshotRevoked => snapshot_too_old(),
        WriteError::LostTable => conflict_with_recovery(),
        WriteError::ReadOnly => SqlError::new(
            state::READ_ONLY_SQL_TRANSACTION,
            "cannot execute the statement in a read-only transaction",
        ),
        WriteError::LogUnavailable(reason) => log_unavailable(reason),
        WriteError::Exhausted(what) => SqlError::new(
            state::PROGRAM_LIMIT_EXCEEDED,
            format!("no more {what} can be made"),
        ),
        WriteError::Changed | WriteError::Serialization => serialization_failure(false),
        WriteError::Deleted => serialization_failure(true),
        WriteError::RowTooLarge {
            row_bytes,
            maximum_bytes,
        } => too_large(row_bytes, maximum_bytes),
        WriteError::SelfModified | WriteError::Duplicate { .. } | WriteError::KeyTooLong { .. } => {
            SqlError::internal("the engine refused a row where no row was written")
        }
    }
}

/// An answer that is not final came where only final ones do.
#[cold]
pub fn not_waited() -> SqlError {
    SqlError::internal("a wait was not waited for")
}

/// 40001 of a follower: what the transaction has read was dropped or replaced on the primary.
#[cold]
pub fn conflict_with_recovery() -> SqlError {
    SqlError::new(
        state::SERIALIZATION_FAILURE,
        "canceling statement due to conflict with recovery",
    )
    .detail("User was holding a relation lock for too long.")
}

/// A function or trigger of the command has written the row that the command is about to write.
#[cold]
pub fn modified_inside(what: &str) -> SqlError {
    SqlError::new(
        state::TRIGGERED_DATA_CHANGE_VIOLATION,
        format!("tuple to be {what} was already modified by an operation triggered by the current command"),
    )
    .hint("Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes to other rows.")
}

/// 40001 of REPEATABLE READ.
#[cold]
pub fn serialization_failure(deleted: bool) -> SqlError {
    SqlError::new(
        state::SERIALIZATION_FAILURE,
        if deleted {
            CONCURRENT_DELETE
        } else {
            CONCURRENT_UPDATE
        },
    )
}

/// 40001 at every level: the row that was waited for went to another partition, where nobody follows it.
#[cold]
pub fn moved_row() -> SqlError {
    SqlError::new(state::SERIALIZATION_FAILURE, MOVED)
}

/// A SERIALIZABLE transaction that is found out before its commit.
#[cold]
pub fn refused_early(when: &str) -> impl FnOnce(WriteError) -> SqlError + '_ {
    move |error| match error {
        WriteError::ReadConflict => read_conflict(when),
        other => lock_error(other),
    }
}

/// 40001 of SERIALIZABLE. PostgreSQL's reason codes name its own algorithm's findings; these are the nearest.
#[cold]
fn read_conflict(when: &str) -> SqlError {
    SqlError::new(
        state::SERIALIZATION_FAILURE,
        "could not serialize access due to read/write dependencies among transactions",
    )
    .detail(format!(
        "Reason code: Canceled on identification as a pivot, {when}."
    ))
    .hint("The transaction might succeed if retried.")
}

/// What a node that follows refuses whatever the transaction.
#[cold]
pub fn recovery_error(command: &str) -> SqlError {
    SqlError::new(
        state::READ_ONLY_SQL_TRANSACTION,
        format!("cannot execute {command} during recovery"),
    )
}

#[cold]
pub fn read_only_error(command: &str) -> SqlError {
    SqlError::new(
        state::READ_ONLY_SQL_TRANSACTION,
        format!("cannot execute {command} in a read-only transaction"),
    )
}

#[cold]
pub fn begin_error(error: BeginError) -> SqlError {
    match error {
        BeginError::TooManyTransactions { maximum } => SqlError::new(
            state::CONFIGURATION_LIMIT_EXCEEDED,
            format!("too many transactions: at most {maximum} can run at a time"),
        ),
        BeginError::Unsupported(what) => SqlError::unsupported(what),
        BeginError::Stopped => {
            SqlError::new(state::CANNOT_CONNECT_NOW, "the database system is shutting down")
        }
    }
}

#[cold]
pub fn commit_error(error: CommitError) -> SqlError {
    match error {
        CommitError::LogUnavailable { reason, .. } => log_unavailable(reason),
        CommitError::ReadConflict { .. } => read_conflict("during commit attempt"),
    }
}

#[cold]
pub fn row_too_large(error: RowTooLarge) -> SqlError {
    too_large(error.row_bytes, error.maximum_bytes)
}

fn too_large(row_bytes: usize, maximum_bytes: usize) -> SqlError {
    SqlError::new(
        state::PROGRAM_LIMIT_EXCEEDED,
        format!("row is too big: size {row_bytes}, maximum size {maximum_bytes}"),
    )
}

fn out_of_memory() -> SqlError {
    SqlError::new(state::OUT_OF_MEMORY, "out of memory")
        .detail("The memory limit of the database is reached: rows cannot be added or changed.")
        .hint("Delete rows, end old transactions, or raise the memory limit.")
}

/// The log takes nothing now.
#[cold]
pub fn log_unavailable(reason: LogUnavailable) -> SqlError {
    match reason {
        LogUnavailable::DiskFull => SqlError::new(
            state::DISK_FULL,
            "could not extend the log: No space left on device",
        )
        .hint("Check free disk space."),
        LogUnavailable::NoDescriptors => SqlError::new(
            state::INSUFFICIENT_RESOURCES,
            "out of file descriptors: Too many open files; release and retry",
        )
        .detail("The log cannot be extended."),
        LogUnavailable::Stopped => {
            SqlError::new(state::ADMIN_SHUTDOWN, "the database system is shutting down")
        }
        LogUnavailable::Following => SqlError::new(
            state::READ_ONLY_SQL_TRANSACTION,
            "cannot write to the log during recovery",
        ),
        LogUnavailable::TooLarge => SqlError::new(
            state::PROGRAM_LIMIT_EXCEEDED,
            "the transaction's changes are too large for the log",
        ),
        LogUnavailable::KeepsTooMuch {
            kept_bytes,
            limit_bytes,
        } => SqlError::new(
            state::CONFIGURATION_LIMIT_EXCEEDED,
            "the log is not kept any longer for this transaction",
        )
        .detail(format!(
            "Its first change lies {} MB behind the end of the log; an open transaction may keep {} MB.",
            kept_bytes >> 20,
            limit_bytes >> 20
        ))
        .hint("Divide the transaction into smaller ones, end it sooner, or start the server with a larger --max-log-kept."),
    }
}

fn deadlock(report: &DeadlockReport) -> SqlError {
    let lines: Vec<String> = report
        .cycle
        .iter()
        .map(|edge| {
            let (mode, object) = waited_for(edge);
            format!(
                "Process {} waits for {mode} on {object}; blocked by process {}.",
                edge.session, edge.blocked_by_session,
            )
        })
        .collect();
    SqlError::new(state::DEADLOCK_DETECTED, "deadlock detected")
        .detail(lines.join("\n"))
        .hint("See server log for query details.")
}

/// Mode and object, as PostgreSQL names them. There, who waits for a row waits for the transaction that holds it, and only
/// those further back in the queue wait for the row itself.
fn waited_for(edge: &DeadlockEdge) -> (&'static str, String) {
    let (database, relation) = (edge.label >> 32, edge.label as u32);
    let object = match edge.tag {
        LockTag::Table(_) => format!("relation {relation} of database {database}"),
        LockTag::Row(..) if edge.blocker_holds => {
            return (
                "ShareLock",
                format!("transaction {}", edge.blocked_by_transaction),
            );
        }
        LockTag::Row(_, row) => format!(
            "tuple ({},{}) of relation {relation} of database {database}",
            row.segment(),
            row.offset()
        ),
        LockTag::Transaction(transaction) => format!("transaction {transaction}"),
        LockTag::Advisory(key) => {
            let kind = if key.two_parts { 2 } else { 1 };
            format!(
                "advisory lock [{},{},{},{kind}]",
                key.database,
                key.key >> 32,
                key.key as u32
            )
        }
    };
    (edge.mode.name(), object)
}
