//! A table as new rows find it, and the one way into it: for INSERT, MERGE and COPY, for rows that are routed to a
//! partition and rows that an UPDATE moves to one.
//!
//! `complete` is all that comes before a row is stored: BEFORE triggers, generated columns, checks. `insert` stores it,
//! or resolves its conflict, and does what follows from it.

use mote_common::SqlResult;
use mote_engine::WriteError;
use mote_types::Datum;

use super::Target;
use super::generated::compute_generated;
use super::on_conflict::{Conflict, Proposed, Resolution};
use super::open_table::OpenTable;
use super::trigger::RowTriggers;
use crate::context::calls::TriggerOperation;
use crate::expr::Expression;
use crate::runtime::Runtime;

/// What a new row of one table has to go through. Immutable: part of a program, or of a routed leaf.
pub struct InsertTarget {
    pub target: Target,
    triggers: Option<RowTriggers>,
    generated: Box<[(usize, Expression)]>,
    on_conflict: Option<Conflict>,
    /// Before a row is written it is shown to triggers.
    before_row: bool,
    /// Its rows were routed: they belong here, unless a trigger changes them.
    routed: bool,
}

impl InsertTarget {
    pub fn new(target: Target, generated: Box<[(usize, Expression)]>) -> InsertTarget {
        InsertTarget {
            target,
            triggers: None,
            generated,
            on_conflict: None,
            before_row: false,
            routed: false,
        }
    }

    /// Row triggers of the table. Which kinds there are is asked once here, not per row.
    pub fn firing(self, triggers: Option<RowTriggers>) -> InsertTarget {
        let before_row = |triggers: &RowTriggers| triggers.has_before(TriggerOperation::Insert);
        InsertTarget {
            before_row: triggers.as_ref().is_some_and(before_row),
            triggers,
            ..self
        }
    }

    /// With ON CONFLICT; the conflict names indexes of this very table.
    pub(super) fn resolving(self, on_conflict: Option<Conflict>) -> InsertTarget {
        InsertTarget { on_conflict, ..self }
    }

    fn proposed(&self) -> Proposed<'_> {
        Proposed {
            target: &self.target,
            triggers: self.triggers.as_ref(),
            generated: &self.generated,
        }
    }

    /// Of a leaf that a router picked: the bound need not be tested again for rows that no trigger has changed.
    pub(super) fn routed(self) -> InsertTarget {
        InsertTarget { routed: true, ..self }
    }

    /// All that comes before a row is stored. False: a trigger leaves the row out.
    #[inline]
    pub fn complete(&self, row: &mut Vec<Datum>, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        if let Some(triggers) = self.triggers.as_ref().filter(|_| self.before_row)
            && !triggers.before(TriggerOperation::Insert, None, Some(row), runtime)?
        {
            return Ok(false);
        }
        compute_generated(&self.generated, row, runtime)?;
        self.target.check_row(row, runtime)?;
        // Checked last, as in ExecInsert: a row that breaks NOT NULL or CHECK as well reports those.
        if self.before_row || !self.routed {
            self.target.check_partition(row, runtime)?;
        }
        Ok(true)
    }

    /// Inserts `new`, a complete row, or resolves its conflict. Answers whether a row was written: then `new` is that row.
    #[inline]
    pub fn insert(
        &self,
        open: &mut OpenTable<'_, '_>,
        new: &mut Vec<Datum>,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<bool> {
        let target = &self.target;
        let conflict = self.on_conflict.as_ref();
        if let Some(conflict) = conflict {
            conflict.require_arbiters(&target.relation)?;
        }
        let arbiters = conflict.map_or(&[][..], Conflict::arbiters);
        loop {
            // Written anew in each turn: resolving a conflict may have used the writer for the row that stood in the
            // way.
            let bytes = target.codec.write_row(new, open.writer, open.scratch)?;
            let table = open.table;
            target.telling.inserts(runtime.transaction(), table);
            match (
                runtime.retry(|transaction| transaction.insert_judged(table, bytes, arbiters))?,
                conflict,
            ) {
                (Ok(id), _) => {
                    // Only ON CONFLICT asks for these, so that a plain INSERT of many rows keeps no set of their ids.
                    if conflict.is_some() {
                        open.touched.insert(id);
                    }
                    target.row_inserted(id, new, self.triggers.as_ref(), runtime)?;
                    return Ok(true);
                }
                (Err(WriteError::Duplicate { index, existing }), Some(conflict))
                    if conflict.arbitrates(index) =>
                {
                    match conflict.resolve(self.proposed(), open, (index, existing), new, runtime)? {
                        Resolution::Updated => return Ok(true),
                        Resolution::Nothing => return Ok(false),
                        Resolution::TryAgain => {}
                    }
                }
                // Among these a duplicate in an index that does not arbitrate: an error, as in PostgreSQL.
                (Err(error), _) => return Err(target.write_error(error, new, runtime)),
            }
        }
    }
}
