//! ON CONFLICT: what happens to a row whose key is taken.
//!
//! The engine answers `Duplicate` only for a committed (or own) live row; an insert in flight is waited for. DO UPDATE
//! then locks the newest version of that row, whether or not the snapshot sees it (PostgreSQL's READ COMMITTED rule), and
//! starts over when the row is gone or its key has changed. At the higher levels a version that the snapshot does not
//! see is a serialization failure, as for every other update.

use std::collections::HashSet;

use mote_common::error::state;
use mote_common::{IndexId, RowId, SqlError, SqlResult};
use mote_engine::{
    Isolation, KeyOutcome, RowLockStrength, RowVersion, RowWriter, Table, WaitPolicy, WriteError,
};
use mote_sql::catalog::Relation;
use mote_sql::plan::node::{ConflictAction, OnConflict};
use mote_types::Datum;

use super::recheck::{Locked, lock};
use super::update::{changes_key, compile_assignments};
use super::{Target, write_error};
use crate::expr::{Expression, compile_option};
use crate::query::runtime::{Runtime, find_index};

pub(super) struct Conflict {
    /// Positions in `relation.indexes`; empty: all unique ones.
    arbiters: Vec<u16>,
    action: Action,
}

enum Action {
    Nothing,
    Update {
        assignments: Box<[(usize, Expression)]>,
        condition: Option<Expression>,
        strength: RowLockStrength,
    },
}

/// How a conflict ended.
pub(super) enum Resolution {
    Nothing,
    Updated,
    /// The conflicting row went away: insert again.
    TryAgain,
}

impl Conflict {
    pub fn compile(node: &OnConflict, relation: &Relation) -> SqlResult<Conflict> {
        let action = match &node.action {
            ConflictAction::Nothing => Action::Nothing,
            ConflictAction::Update {
                assignments,
                condition,
            } => {
                let changed =
                    |position: usize| assignments.iter().any(|(other, _)| *other as usize == position);
                Action::Update {
                    strength: match changes_key(relation, &changed) {
                        true => RowLockStrength::Update,
                        false => RowLockStrength::NoKeyUpdate,
                    },
                    assignments: compile_assignments(assignments)?,
                    condition: compile_option(condition)?,
                }
            }
        };
        Ok(Conflict {
            arbiters: node.arbiters.clone(),
            action,
        })
    }

    /// Whether a violation of this index is a conflict to resolve rather than an error.
    pub fn arbitrates(&self, relation: &Relation, index: IndexId) -> bool {
        self.arbiters.is_empty()
            || self
                .arbiters
                .iter()
                .any(|&position| relation.indexes[position as usize].index == index)
    }

    /// Resolves a conflict of the row `new` with an existing one. After `Updated`, `new` is the updated row.
    #[allow(clippy::too_many_arguments)]
    pub fn resolve(
        &self,
        target: &Target,
        table: &Table,
        (index, existing): (IndexId, RowId),
        new: &mut Vec<Datum>,
        touched: &mut HashSet<RowId>,
        writer: &mut RowWriter<'_>,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<Resolution> {
        let transaction = runtime.transaction();
        // Above READ COMMITTED the row must be as the snapshot sees it: not newer, and not invisible.
        let seen = if transaction.isolation() == Isolation::ReadCommitted || touched.contains(&existing) {
            None
        } else {
            let seen = transaction.fetch(table, existing, runtime.snapshot());
            Some(seen.ok_or_else(|| write_error::serialization_failure(false))?)
        };
        let Action::Update {
            assignments,
            condition,
            strength,
        } = &self.action
        else {
            return Ok(Resolution::Nothing);
        };
        if touched.contains(&existing) {
            return Err(second_time());
        }
        let version = match lock(
            table,
            &target.relation,
            existing,
            seen.as_ref(),
            *strength,
            WaitPolicy::Block,
            runtime,
        )? {
            Locked::Unchanged(version) | Locked::Changed(version) => version,
            Locked::Gone | Locked::Busy => return Ok(Resolution::TryAgain),
        };
        if !same_key(table, index, &version, writer)? {
            return Ok(Resolution::TryAgain);
        }
        let mut old = Vec::with_capacity(new.len());
        target
            .codec
            .read_row(&table.view(version.layout(), version.bytes()), &mut old);
        // The proposed row is what Excluded reads, for as long as this conflict lasts.
        let outer = std::mem::replace(&mut runtime.values.excluded, std::mem::take(new));
        let updated = update_existing(assignments, condition, &old, runtime);
        let proposed = std::mem::replace(&mut runtime.values.excluded, outer);
        let Some(updated) = updated? else {
            *new = proposed;
            return Ok(Resolution::Nothing);
        };
        target.check_row(&updated, runtime)?;
        let mut scratch = Vec::new();
        let bytes = target.codec.write_row(&updated, writer, &mut scratch)?;
        loop {
            match transaction.update(table, &version, bytes) {
                Ok(()) => break,
                Err(WriteError::MustWait(ticket)) => runtime.context().wait(ticket)?,
                Err(WriteError::SelfModified) => return Err(second_time()),
                Err(error) => return Err(target.write_error(error, &updated, runtime)),
            }
        }
        touched.insert(existing);
        target
            .foreign_keys
            .row_updated(&target.relation, existing, &old, &updated, runtime)?;
        *new = updated;
        Ok(Resolution::Updated)
    }
}

/// The existing row with its assignments, or None where the condition does not hold.
fn update_existing(
    assignments: &[(usize, Expression)],
    condition: &Option<Expression>,
    old: &[Datum],
    runtime: &mut Runtime<'_, '_>,
) -> SqlResult<Option<Vec<Datum>>> {
    if let Some(condition) = condition
        && !condition.holds(old, runtime)?
    {
        return Ok(None);
    }
    let mut updated = old.to_vec();
    for (position, expression) in assignments {
        updated[*position] = expression.evaluate(old, runtime)?;
    }
    Ok(Some(updated))
}

/// Whether the locked version still has the key that the proposed row (in the writer) wants.
fn same_key(
    table: &Table,
    index: IndexId,
    version: &RowVersion<'_>,
    writer: &mut RowWriter<'_>,
) -> SqlResult<bool> {
    let index = find_index(table, index)?;
    let layout = table.newest_layout();
    let proposed = writer.finish().map_err(write_error::row_too_large)?;
    let (mut key, mut scratch) = (Vec::new(), Vec::new());
    let outcome = index
        .key_program
        .key(&mote_engine::RowView::new(layout, proposed), &mut key)?;
    let view = table.view(version.layout(), version.bytes());
    Ok(matches!(outcome, KeyOutcome::Key { .. }) && index.key_program.matches(&view, &key, &mut scratch))
}

fn second_time() -> SqlError {
    SqlError::new(
        state::CARDINALITY_VIOLATION,
        "ON CONFLICT DO UPDATE command cannot affect row a second time",
    )
    .hint(
        "Ensure that no rows proposed for insertion within the same command have duplicate constrained values.",
    )
}
