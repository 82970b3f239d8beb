//! EvalPlanQual: what READ COMMITTED does when the row it wanted was changed meanwhile.
//!
//! The newest version is locked first. Then the plan tree below the writing (or locking) node runs once more, in a
//! second instance, with the locked relations' scans replaced by the newest versions and every other marked relation
//! held to the row it had. A row that comes out is the input for the write; none means that the row no longer
//! qualifies. The statement goes on with its next row either way: it is never restarted.

use mote_common::RowId;
use mote_common::{SqlError, SqlResult};
use mote_engine::{Isolation, LockedRow, RowLockStrength, RowVersion, Table, WaitPolicy, WriteError};
use mote_planner::plan::node::{RowMark, ScanId};
use mote_sql::catalog::Relation;
use mote_types::Datum;

use super::write_error;
use crate::node::scan::mark_of;
use crate::node::{NodeProgram, Operator, copy_row};
use crate::runtime::Mark;
use crate::runtime::{Recheck, RecheckRow, Runtime};

/// The second instance of a tree, made when a conflict first happens.
#[derive(Default)]
pub struct Rechecker {
    tree: Option<Box<dyn Operator>>,
}

impl Rechecker {
    /// Runs the tree for one row: `row` is what the first instance yielded, `locked` tells which scans show their
    /// newest version. Answers whether the row still qualifies; if so `row` is replaced by the new input row.
    pub fn run(
        &mut self,
        input: &NodeProgram,
        marks: &[RowMark],
        locked: &dyn Fn(ScanId) -> bool,
        row: &mut Vec<Datum>,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<bool> {
        let rows = marks
            .iter()
            .map(|mark| RecheckRow {
                scan: mark.scan,
                mark: mark_of(&row[mark.mark as usize]),
                newest: locked(mark.scan),
            })
            .collect();
        let tree = self.tree.get_or_insert_with(|| input.instantiate());
        tree.reset();
        // What was in force before is put back, also when the tree fails.
        let outer = runtime.values.recheck.replace(Recheck { rows });
        let result = tree.next(runtime);
        runtime.values.recheck = outer;
        if result? {
            copy_row(tree.row(), row);
            // The first row counts, as in PostgreSQL's EvalPlanQual; what the tree still has open is let go of.
            tree.reset();
            return Ok(true);
        }
        Ok(false)
    }

    pub fn reset(&mut self) {
        if let Some(tree) = &mut self.tree {
            tree.reset();
        }
    }
}

/// How a lock request for a row of a plan ended.
pub enum Locked<'t> {
    /// The row as it was read.
    Unchanged(RowVersion<'t>),
    /// A newer version: EvalPlanQual decides.
    Changed(RowVersion<'t>),
    /// Deleted meanwhile.
    Gone,
    /// An UPDATE has moved it to another partition meanwhile, where nobody follows it.
    Moved,
    /// Written by this very command: not to be written again.
    SelfModified,
    /// SKIP LOCKED, NOWAIT: somebody else has it.
    Busy,
}

/// How an attempt to update or delete one row ended.
pub(super) enum Written<'t> {
    Done,
    /// This very command has written the row before.
    SelfModified,
    /// A BEFORE trigger left the row alone.
    Refused,
    /// Somebody else deleted it meanwhile.
    Gone,
    /// Somebody else changed it meanwhile: this version is the newest and locked now, and nothing is written.
    Changed(RowVersion<'t>),
}

/// Locks a row, waiting where asked to. Above READ COMMITTED a changed row is 40001.
pub fn lock<'c>(
    table: &Table,
    relation: &Relation,
    row: RowId,
    seen: Option<&RowVersion<'_>>,
    strength: RowLockStrength,
    policy: WaitPolicy,
    runtime: &mut Runtime<'_, 'c>,
) -> SqlResult<Locked<'c>> {
    let outcome = runtime.retry(|transaction| transaction.lock_row(table, row, seen, strength, policy))?;
    let strict = runtime.transaction().isolation() != Isolation::ReadCommitted;
    match outcome {
        Ok(LockedRow {
            newest: None, moved, ..
        }) if strict => Err(write_error::serialization_failure(!moved)),
        Err(WriteError::Deleted) if strict => Err(write_error::serialization_failure(true)),
        Ok(LockedRow { moved: true, .. }) => Ok(Locked::Moved),
        // Without `seen` the caller has compared nothing with its snapshot: a newer version is what it asked for.
        Ok(LockedRow { changed: true, .. }) | Err(WriteError::Changed) if strict && seen.is_some() => {
            Err(write_error::serialization_failure(false))
        }
        Ok(LockedRow { newest: None, .. }) | Err(WriteError::Deleted) => Ok(Locked::Gone),
        Err(WriteError::SelfModified) => Ok(Locked::SelfModified),
        Ok(LockedRow {
            newest: Some(version),
            changed: false,
            ..
        }) => Ok(Locked::Unchanged(version)),
        Ok(LockedRow {
            newest: Some(version),
            changed: true,
            ..
        }) => Ok(Locked::Changed(version)),
        Err(WriteError::WouldBlock) => Ok(Locked::Busy),
        Err(WriteError::Serialization) => Err(serialization_error(table, row, runtime)),
        Err(error) => Err(write_error::sql_error(error, relation)),
    }
}

/// Locks a row as it is now, to be "updated" or "deleted", as errors say. Err: this attempt is over.
pub(super) fn lock_newest<'v, 'c: 'v>(
    seen: &RowVersion<'v>,
    (relation, table): (&Relation, &Table),
    strength: RowLockStrength,
    verb: &str,
    runtime: &mut Runtime<'_, 'c>,
) -> SqlResult<Result<RowVersion<'v>, Written<'v>>> {
    let (row, policy) = (seen.row(), WaitPolicy::Block);
    let locked = lock(table, relation, row, Some(seen), strength, policy, runtime)?;
    Ok(match locked {
        Locked::Unchanged(newest) => Ok(newest),
        Locked::Changed(newest) => Err(Written::Changed(newest)),
        // The row is in another partition by now; PostgreSQL, too, does not follow it and says so.
        Locked::Moved => return Err(write_error::moved_row()),
        Locked::SelfModified => Err(self_modified(verb, table, row, runtime)?),
        Locked::Gone | Locked::Busy => Err(Written::Gone),
    })
}

/// What to make of a row that this very command has written: it is left alone, unless a trigger of the command did it
/// behind the command's back.
#[cold]
pub(super) fn self_modified<'t>(
    verb: &str,
    table: &Table,
    row: RowId,
    runtime: &Runtime<'_, '_>,
) -> SqlResult<Written<'t>> {
    refuse_modified_inside(verb, table, row, runtime)?;
    Ok(Written::SelfModified)
}

/// An error if a trigger of the running command has written the row that the command is about to write.
pub(super) fn refuse_modified_inside(
    verb: &str,
    table: &Table,
    row: RowId,
    runtime: &Runtime<'_, '_>,
) -> SqlResult<()> {
    match runtime.transaction().is_written_later(table, row) {
        true => Err(write_error::modified_inside(verb)),
        false => Ok(()),
    }
}

/// 40001 for a row that was changed after the transaction's snapshot: its message tells a delete from an update.
#[cold]
pub fn serialization_error(table: &Table, row: RowId, runtime: &Runtime<'_, '_>) -> SqlError {
    // KEY SHARE and NOWAIT: the weakest question to ask for the newest state. A failure to get it costs the wording
    // alone.
    let newest =
        runtime
            .transaction()
            .lock_row(table, row, None, RowLockStrength::KeyShare, WaitPolicy::NoWait);
    let deleted = matches!(
        newest,
        Ok(LockedRow {
            newest: None,
            moved: false,
            ..
        })
    );
    write_error::serialization_failure(deleted)
}

/// What a plan's mark column names of the written relation.
#[inline]
pub fn target_row(row: &[Datum], mark: usize) -> SqlResult<Option<Mark>> {
    row.get(mark)
        .map(mark_of)
        .ok_or_else(|| SqlError::internal("the row mark is not among the input's columns"))
}
