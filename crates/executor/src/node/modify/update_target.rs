//! A table as rows find it that an UPDATE changes: what is computed and checked of a new form, and how a row is locked for
//! it.

use mote_common::{RowId, SqlResult};
use mote_engine::{RowLockStrength, Table};
use mote_planner::plan::node;
use mote_types::Datum;

use super::changed_keys::{assigned_in_root, changes_key, concerns_partition};
use super::generated::compute_generated;
use super::recheck::refuse_modified_inside;
use super::trigger::RowTriggers;
use super::{Target, ViewChecks, compile_assignments, compile_returning};
use crate::context::calls::TriggerOperation;
use crate::expr::Expression;
use crate::runtime::Runtime;

/// A table whose rows change.
pub(super) struct UpdateTarget {
    pub target: Target,
    /// Positions of the columns that the values go to.
    pub assigned: Box<[usize]>,
    pub generated: Box<[(usize, Expression)]>,
    pub returning: Option<Box<[Expression]>>,
    pub view_checks: ViewChecks,
    /// The whole row is needed as datums.
    pub needs_row: bool,
    /// A key column of a unique index is assigned: the lock must keep KEY SHARE out.
    pub changes_key: bool,
    /// A partition's key is assigned: the new row may belong elsewhere.
    pub may_leave: bool,
    pub triggers: Option<RowTriggers>,
    /// The row is locked first, and its new version shown to triggers.
    pub before_row: bool,
    /// The same for the delete of a row that moves.
    pub before_delete: bool,
}

impl UpdateTarget {
    pub fn compile(update: &node::Update, node: &node::UpdateTarget) -> SqlResult<UpdateTarget> {
        let given = assigned_in_root(update);
        let target = Target::compile(&node.relation, &node.checks)?.named_as(&update.relation, &given);
        let triggers = RowTriggers::compile(&node.relation, &node.triggers)?;
        let before_row = |triggers: &RowTriggers| triggers.has_before(TriggerOperation::Update);
        let before_row = triggers.as_ref().is_some_and(before_row);
        let generated = node.generated.iter().map(|(position, _)| position);
        // Generated columns are written, too, so that their keys and foreign keys count as changed.
        let written: Vec<u16> = node.assigned.iter().chain(generated).copied().collect();
        let changed = |position: usize| written.iter().any(|other| *other as usize == position);
        // A trigger may change any column.
        let may_leave =
            concerns_partition(&node.relation, &changed) || before_row && node.relation.is_partition();
        // Whatever reads the row as datums; without any of these the stored bytes are copied column by column.
        let needs_row = target.has_checks()
            || may_leave
            || !node.generated.is_empty()
            || node.returning.is_some()
            || !node.view_checks.is_empty()
            || triggers.is_some()
            || target.foreign_keys.concern(&changed, &node.relation);
        let before_delete = |triggers: &RowTriggers| triggers.has_before(TriggerOperation::Delete);
        Ok(UpdateTarget {
            before_row,
            before_delete: triggers.as_ref().is_some_and(before_delete),
            triggers,
            needs_row,
            changes_key: changes_key(&node.relation, &changed),
            may_leave,
            target,
            assigned: node.assigned.iter().map(|&position| position as usize).collect(),
            generated: compile_assignments(&node.generated)?,
            returning: compile_returning(&node.returning)?,
            view_checks: ViewChecks::compile(&node.view_checks, &given)?,
        })
    }

    /// As PostgreSQL's ExecUpdateLockMode: FOR NO KEY UPDATE lets others hold FOR KEY SHARE, so that an update of a
    /// parent does not stand in the way of inserts of children.
    pub fn lock_strength(&self) -> RowLockStrength {
        match self.changes_key {
            true => RowLockStrength::Update,
            false => RowLockStrength::NoKeyUpdate,
        }
    }
}

/// What the triggers BEFORE UPDATE, where there are any, and generated columns make of a row's new form. False: a trigger
/// leaves the row as it is.
pub(super) fn complete_update(
    (table, id): (&Table, RowId),
    (before, generated): (Option<&RowTriggers>, &[(usize, Expression)]),
    old: &[Datum],
    new: &mut Vec<Datum>,
    runtime: &mut Runtime<'_, '_>,
) -> SqlResult<bool> {
    if let Some(triggers) = before {
        // Triggers see no value in generated columns: those are computed from what the triggers leave.
        for (position, _) in generated {
            new[*position] = Datum::Null;
        }
        if !triggers.before(TriggerOperation::Update, Some(old), Some(new), runtime)? {
            return Ok(false);
        }
        // The trigger may have updated or deleted this very row: writing over that would lose it.
        refuse_modified_inside("updated", table, id, runtime)?;
    }
    compute_generated(generated, new, runtime)?;
    Ok(true)
}
