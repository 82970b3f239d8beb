//! ON CONFLICT: what happens to a row whose key is taken.
//!
//! The engine answers `Duplicate` only for a committed (or own) live row; an insert in flight is waited for. The arbiters
//! judge a row first: a row that they let pass and another key refuses is an error, as in PostgreSQL. DO UPDATE
//! then locks the newest version of that row, whether or not the snapshot sees it (PostgreSQL's READ COMMITTED rule), and
//! starts over when the row is gone or its key has changed. At the higher levels a version that the snapshot does not
//! see is a serialization failure, as for every other update.

use mote_common::error::state;
use mote_common::{IndexId, RowId, SqlError, SqlResult};
use mote_engine::{
    Isolation, KeyOutcome, RowLockStrength, RowVersion, RowWriter, Table, WaitPolicy, WriteError,
};
use mote_sql::catalog::{IndexKeyTarget, Relation};
use mote_sql::clause::{ConflictAction, OnConflict};
use mote_types::Datum;

use super::changed_keys::changes_key;
use super::open_table::OpenTable;
use super::recheck::{Locked, lock};
use super::trigger::RowTriggers;
use super::update_target::complete_update;
use super::{Target, ViewChecks, compile_assignments, write_error};
use crate::context::calls::TriggerOperation;
use crate::expr::{Expression, compile_option};
use crate::runtime::{Runtime, find_index};

/// A compiled ON CONFLICT clause over one table.
pub(super) struct Conflict {
    /// They judge a row before all other indexes do; empty: all unique ones arbitrate.
    arbiters: Vec<IndexId>,
    /// An arbiter that cannot be one: its uniqueness is judged too late.
    deferrable: Option<String>,
    /// None: DO NOTHING.
    update: Option<Update>,
}

/// DO UPDATE.
struct Update {
    /// What the views that the statement names show.
    visible: ViewChecks,
    assignments: Box<[(usize, Expression)]>,
    condition: Option<Expression>,
    strength: RowLockStrength,
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

/// What a proposed row has to go through once it is an update: that of the table that it was to be inserted into.
#[derive(Clone, Copy)]
pub(super) struct Proposed<'t> {
    pub target: &'t Target,
    pub triggers: Option<&'t RowTriggers>,
    pub generated: &'t [(usize, Expression)],
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
        let update = match &node.action {
            ConflictAction::Nothing => None,
            ConflictAction::Update {
                visible,
                assignments,
                condition,
            } => {
                let changed =
                    |position: usize| assignments.iter().any(|(other, _)| *other as usize == position);
                Some(Update {
                    strength: match changes_key(relation, &changed) {
                        true => RowLockStrength::Update,
                        false => RowLockStrength::NoKeyUpdate,
                    },
                    visible: ViewChecks::compile(visible, &[])?,
                    assignments: compile_assignments(assignments)?,
                    condition: compile_option(condition)?,
                })
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
            update,
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

    /// Whether a violation of this index is a conflict to resolve rather than an error.
    pub fn arbitrates(&self, index: IndexId) -> bool {
        self.arbiters.is_empty() || self.arbiters.contains(&index)
    }

    /// The indexes that were named; empty: all unique ones.
    pub fn arbiters(&self) -> &[IndexId] {
        &self.arbiters
    }

    /// Resolves a conflict of the row `new` with an existing one. After `Updated`, `new` is the updated row.
    pub fn resolve(
        &self,
        into: Proposed<'_>,
        open: &mut OpenTable<'_, '_>,
        (index, existing): (IndexId, RowId),
        new: &mut Vec<Datum>,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<Resolution> {
        let transaction = runtime.transaction();
        let touched = open.touched.contains(&existing);
        // Above READ COMMITTED the row must be as the snapshot sees it: not newer, and not invisible.
        let seen = if transaction.isolation() == Isolation::ReadCommitted || touched {
            None
        } else {
            let seen = transaction.fetch(open.table, existing, runtime.snapshot());
            Some(seen.ok_or_else(|| write_error::serialization_failure(false))?)
        };
        let Some(update) = &self.update else {
            return Ok(Resolution::Nothing);
        };
        if touched {
            return Err(second_time());
        }
        let version = match lock(
            open.table,
            &into.target.relation,
            existing,
            seen.as_ref(),
            update.strength,
            WaitPolicy::Block,
            runtime,
        )? {
            Locked::Unchanged(version) | Locked::Changed(version) => version,
            // What was in the way is elsewhere now: the row is proposed again.
            Locked::Gone | Locked::Moved | Locked::SelfModified | Locked::Busy => {
                return Ok(Resolution::TryAgain);
            }
        };
        if !same_key(open.table, index, &version, open.writer)? {
            return Ok(Resolution::TryAgain);
        }
        update.write(into, open, version, new, runtime)
    }
}

impl Update {
    /// Updates the locked version, as the proposed row `new` wants it.
    fn write(
        &self,
        into: Proposed<'_>,
        open: &mut OpenTable<'_, '_>,
        version: RowVersion<'_>,
        new: &mut Vec<Datum>,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<Resolution> {
        let Proposed {
            target,
            triggers,
            generated,
        } = into;
        let (table, id) = (open.table, version.row());
        let mut old = Vec::with_capacity(new.len());
        target
            .codec
            .read_row(&table.view(version.layout(), version.bytes()), &mut old);
        // A row that the views do not show is refused before the statement's own condition is asked, as PostgreSQL does.
        // The proposed row is what Excluded reads, for as long as this conflict lasts.
        let outer = std::mem::replace(&mut runtime.values.excluded, std::mem::take(new));
        let updated = self
            .visible
            .require_visible(&old, runtime)
            .and_then(|()| self.assigned(&old, runtime));
        let proposed = std::mem::replace(&mut runtime.values.excluded, outer);
        let Some(mut updated) = updated? else {
            *new = proposed;
            return Ok(Resolution::Nothing);
        };
        let before = triggers.filter(|triggers| triggers.has_before(TriggerOperation::Update));
        if !complete_update((table, id), (before, generated), &old, &mut updated, runtime)? {
            return Ok(Resolution::Nothing);
        }
        if target.leaves_partition(&updated, runtime)? {
            return Err(moves_to_another_partition());
        }
        target.check_row(&updated, runtime)?;
        let bytes = target.codec.write_row(&updated, open.writer, open.scratch)?;
        target.relation.check_updates()?;
        let telling = &target.telling;
        match runtime.retry(|transaction| telling.update(transaction, table, &version, bytes))? {
            Ok(()) => {}
            Err(WriteError::SelfModified) => return Err(second_time()),
            Err(error) => return Err(target.write_error(error, &updated, runtime)),
        }
        open.touched.insert(id);
        target.row_updated(id, (&old, &updated), triggers, runtime)?;
        *new = updated;
        open.updated = true;
        Ok(Resolution::Updated)
    }

    /// The existing row with its assignments, or None where the condition does not hold.
    fn assigned(&self, old: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Option<Vec<Datum>>> {
        if let Some(condition) = &self.condition
            && !condition.holds(old, runtime)?
        {
            return Ok(None);
        }
        let mut updated = old.to_vec();
        for (position, expression) in &self.assignments {
            updated[*position] = expression.evaluate(old, runtime)?;
        }
        Ok(Some(updated))
    }
}

/// An update could move the row, but PostgreSQL's ON CONFLICT does not.
#[cold]
fn moves_to_another_partition() -> SqlError {
    SqlError::new(state::FEATURE_NOT_SUPPORTED, "invalid ON UPDATE specification")
        .detail("The result tuple would appear in a different partition than the original tuple.")
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
