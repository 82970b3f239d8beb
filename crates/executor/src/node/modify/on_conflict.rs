//! ON CONFLICT: what happens to a row whose key is taken.
//!
//! The engine answers `Duplicate` only for a committed (or own) live row; an insert in flight is waited for. The arbiters
//! judge a row first: a row that they let pass and another key refuses is an error, as in PostgreSQL. DO UPDATE
//! then locks the newest version of that row, whether or not the snapshot sees it (PostgreSQL's READ COMMITTED rule), and
//! starts over when the row is gone or its key has changed. At the higher levels a version that the snapshot does not
//! see is a serialization failure, as for every other update.

use std::collections::HashSet;

use mote_common::error::state;
use mote_common::{IndexId, RowId, SqlError, SqlResult};
use mote_engine::{
    Isolation, KeyOutcome, RowLockStrength, RowVersion, RowWriter, Table, WaitPolicy, WriteError,
};
use mote_sql::catalog::{IndexKeyTarget, Relation};
use mote_sql::clause::{ConflictAction, OnConflict};
use mote_types::Datum;

use super::insert::compute_generated;
use super::recheck::{Locked, lock, refuse_modified_inside};
use super::trigger::RowTriggers;
use super::update::{changes_key, compile_assignments};
use super::{Target, ViewChecks, write_error};
use crate::context::calls::TriggerOperation;
use crate::expr::{Expression, compile_option};
use crate::runtime::{Runtime, find_index};

pub(super) struct Conflict {
    /// They judge a row before all other indexes do; empty: all unique ones arbitrate.
    arbiters: Vec<IndexId>,
    /// An arbiter that cannot be one: its uniqueness is judged too late.
    deferrable: Option<String>,
    action: Action,
    /// Of a partition, on the behalf of the partitioned table.
    routed: bool,
}

enum Action {
    Nothing,
    Update {
        /// What the views that the statement names show.
        visible: ViewChecks,
        assignments: Box<[(usize, Expression)]>,
        condition: Option<Expression>,
        strength: RowLockStrength,
    },
}

/// While REINDEX CONCURRENTLY waits, the index it replaced is still there, invalid, and finds duplicates too: where its
/// twin arbitrates, so does it.
fn with_twins(arbiters: &[u16], relation: &Relation) -> Vec<u16> {
    let mut all = arbiters.to_vec();
    for (position, index) in relation.indexes.iter().enumerate() {
        let twin = |arbiter: &&u16| {
            let keys = &relation.indexes[**arbiter as usize].keys;
            let pairs = || keys.iter().zip(&index.keys);
            keys.len() == index.keys.len() && pairs().all(|(a, b)| same_target(&a.target, &b.target))
        };
        if index.unique && !index.valid && arbiters.iter().any(|arbiter| twin(&arbiter)) {
            all.push(position as u16);
        }
    }
    all
}

fn same_target(left: &IndexKeyTarget, right: &IndexKeyTarget) -> bool {
    match (left, right) {
        (IndexKeyTarget::Column(a), IndexKeyTarget::Column(b)) => a == b,
        (IndexKeyTarget::Expression(a, _), IndexKeyTarget::Expression(b, _)) => a == b,
        _ => false,
    }
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
                visible,
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
                    visible: ViewChecks::compile(visible, &[])?,
                    assignments: compile_assignments(assignments)?,
                    condition: compile_option(condition)?,
                }
            }
        };
        let arbitrates =
            |position: usize| node.arbiters.is_empty() || node.arbiters.contains(&(position as u16));
        let mut unique = relation
            .indexes
            .iter()
            .enumerate()
            .filter(|(_, index)| index.unique);
        let deferrable = unique.find(|(position, index)| !index.immediate && arbitrates(*position));
        Ok(Conflict {
            arbiters: with_twins(&node.arbiters, relation)
                .into_iter()
                .map(|position| relation.indexes[position as usize].index)
                .collect(),
            deferrable: deferrable.map(|(_, index)| index.name.clone()),
            action,
            routed: false,
        })
    }

    /// Before the first row is inserted.
    pub fn require_arbiters(&self, relation: &Relation) -> SqlResult<()> {
        match &self.deferrable {
            None => Ok(()),
            Some(name) => Err(SqlError::new(
                state::OBJECT_NOT_IN_PREREQUISITE_STATE,
                "ON CONFLICT does not support deferrable unique constraints/exclusion constraints as arbiters",
            )
            .table(relation.schema.as_str(), relation.name.as_str())
            .constraint(name.as_str())),
        }
    }

    /// The conflict of a partition, by a statement about the table above.
    pub fn routed(self) -> Conflict {
        Conflict { routed: true, ..self }
    }

    /// Whether a violation of this index is a conflict to resolve rather than an error.
    pub fn arbitrates(&self, index: IndexId) -> bool {
        self.arbiters.is_empty() || self.arbiters.contains(&index)
    }

    /// The indexes that were named; empty: all unique ones.
    pub fn arbiters(&self) -> &[IndexId] {
        &self.arbiters
    }

    /// The updated row belongs to another partition. A row that was routed could be moved, but PostgreSQL does not.
    #[cold]
    fn partition_error(&self, target: &Target, row: &[Datum], runtime: &Runtime<'_, '_>) -> SqlError {
        if !self.routed {
            return target.partition_violation(row, runtime);
        }
        SqlError::new(state::FEATURE_NOT_SUPPORTED, "invalid ON UPDATE specification")
            .detail("The result tuple would appear in a different partition than the original tuple.")
    }

    /// Resolves a conflict of the row `new` with an existing one. After `Updated`, `new` is the updated row.
    #[allow(clippy::too_many_arguments)]
    pub fn resolve(
        &self,
        (target, triggers): (&Target, Option<&RowTriggers>),
        generated: &[(usize, Expression)],
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
            visible,
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
            // What was in the way is elsewhere now: the row is proposed again.
            Locked::Gone | Locked::Moved | Locked::SelfModified | Locked::Busy => {
                return Ok(Resolution::TryAgain);
            }
        };
        if !same_key(table, index, &version, writer)? {
            return Ok(Resolution::TryAgain);
        }
        let mut old = Vec::with_capacity(new.len());
        target
            .codec
            .read_row(&table.view(version.layout(), version.bytes()), &mut old);
        // A row that the views do not show is refused before the statement's own condition is asked, as PostgreSQL does.
        // The proposed row is what Excluded reads, for as long as this conflict lasts.
        let outer = std::mem::replace(&mut runtime.values.excluded, std::mem::take(new));
        let updated = visible
            .require_visible(&old, runtime)
            .and_then(|()| update_existing(assignments, condition, &old, runtime));
        let proposed = std::mem::replace(&mut runtime.values.excluded, outer);
        let Some(mut updated) = updated? else {
            *new = proposed;
            return Ok(Resolution::Nothing);
        };
        let update = TriggerOperation::Update;
        if let Some(triggers) = triggers.filter(|triggers| triggers.has_before(update)) {
            // They come behind the triggers, which do not see what they were.
            for (position, _) in generated {
                updated[*position] = Datum::Null;
            }
            if !triggers.before(update, Some(&old), Some(&mut updated), runtime)? {
                return Ok(Resolution::Nothing);
            }
            refuse_modified_inside("updated", table, existing, runtime)?;
        }
        compute_generated(generated, &mut updated, runtime)?;
        target.check_row(&updated, runtime)?;
        if target.leaves_partition(&updated, runtime)? {
            return Err(self.partition_error(target, &updated, runtime));
        }
        let mut scratch = Vec::new();
        let bytes = target.codec.write_row(&updated, writer, &mut scratch)?;
        match runtime.retry(|transaction| transaction.update(table, &version, bytes))? {
            Ok(()) => {}
            Err(WriteError::SelfModified) => return Err(second_time()),
            Err(error) => return Err(target.write_error(error, &updated, runtime)),
        }
        touched.insert(existing);
        target.deferrable_keys.row_written(&target.relation, runtime)?;
        target
            .foreign_keys
            .row_updated(&target.relation, existing, &old, &updated, runtime)?;
        if let Some(triggers) = triggers {
            triggers.after(update, Some(&old), Some(&updated), runtime)?;
        }
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
