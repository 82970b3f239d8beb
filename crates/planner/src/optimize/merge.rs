//! MERGE: the source joined with the target by the ordinary planner; the node above decides row by row.
//!
//! The join keeps source rows without a match only if some action inserts, as in PostgreSQL. ON is planned twice: as
//! the condition of the join, and as an expression over the joined row, for target rows that changed since they were
//! read.

use std::sync::Arc;

use mote_common::SqlResult;

use super::append::{member_columns, own_columns};
use super::modify::{WrittenTable, mark_of, named_checks, without_node};
use super::{Joined, Planner, Slot};
use crate::plan::node::{
    Delete, DeleteTarget, Insert, Merge, MergeAction, MergeBranch, MergeTarget, Node, ScanId, Update,
    UpdateTarget,
};
use mote_sql::bind::query::{
    BoundMerge, BoundMergeAction, BoundMergeBranch, BoundRow, FromJoin, FromTree, ROW_MARK,
};
use mote_sql::catalog::Relation;
use mote_sql::clause::{FiredTrigger, Triggers};
use mote_sql::expr::{Expr, simplify};

/// The rows of all actions come from the node above.
fn nothing() -> Node {
    Node::Empty { width: 0 }
}

impl Planner<'_> {
    pub(super) fn merge(
        &mut self,
        target: u16,
        relation: Arc<Relation>,
        mut merge: BoundMerge,
        triggers: Vec<FiredTrigger>,
    ) -> SqlResult<Joined> {
        let folder = self.folder;
        merge.for_each_expr_mut(&mut |expr| {
            simplify(expr, folder);
            self.need(expr);
        });
        self.needed[target as usize].push(ROW_MARK);
        let inserts = merge
            .branches
            .iter()
            .any(|branch| matches!(branch.action, BoundMergeAction::Insert { .. }));
        let join = FromTree::Join {
            kind: if inserts { FromJoin::Left } else { FromJoin::Inner },
            left: Box::new(merge.source),
            right: Box::new(FromTree::Item(target)),
            condition: merge.on.clone(),
        };
        let input = self.joins(vec![join], Vec::new(), &[], false)?;
        let mark = mark_of(&input.layout, target)?;
        let mut branches = Vec::with_capacity(merge.branches.len());
        for branch in merge.branches {
            branches.push(self.merge_branch(branch, target, &relation, &input.layout, mark)?);
        }
        let places = input.layout.iter().enumerate();
        let own = places.filter(|(_, slot)| slot.0 == target);
        let (positions, slots): (Vec<u16>, Vec<Slot>) =
            own.map(|(position, slot)| (position as u16, *slot)).unzip();
        let written = self.written_tables(target, &relation).into_iter();
        let targets = written.map(|written| MergeTarget {
            columns: match &written.map {
                None => own_columns(&slots),
                Some(map) => member_columns(map, &slots),
            },
            relation: written.relation,
        });
        let node = Merge {
            mark,
            target_positions: positions,
            targets: targets.collect(),
            on: self.conjunction(merge.on, &input.layout)?,
            relation,
            input: input.node,
            branches,
            triggers,
        };
        Ok(Joined {
            node: Node::Merge(Box::new(node)),
            ..without_node(input.rows, input.cost)
        })
    }

    fn merge_branch(
        &mut self,
        branch: BoundMergeBranch,
        target: u16,
        relation: &Arc<Relation>,
        layout: &[Slot],
        mark: u16,
    ) -> SqlResult<MergeBranch> {
        let condition = self.conjunction(branch.condition.into_iter().collect(), layout)?;
        let action = match branch.action {
            BoundMergeAction::Nothing => MergeAction::Nothing,
            BoundMergeAction::Delete { triggers } => {
                MergeAction::Delete(self.merge_delete(triggers, target, relation, mark))
            }
            BoundMergeAction::Update { assignments, rows } => {
                let (assigned, mut values): (Vec<u16>, Vec<_>) = assignments.into_iter().unzip();
                self.resolve_all(&mut values, layout)?;
                let targets = self.merge_targets(target, relation, rows, &assigned)?;
                MergeAction::Update(Update {
                    moved_returning: None,
                    moved_view_checks: Vec::new(),
                    relation: relation.clone(),
                    scan: ScanId(target),
                    input: nothing(),
                    mark,
                    marks: Vec::new(),
                    values,
                    triggers: Vec::new(),
                    targets,
                })
            }
            BoundMergeAction::Insert {
                mut values,
                assigned,
                row,
            } => {
                self.resolve_all(&mut values, layout)?;
                MergeAction::Insert(Insert {
                    relation: relation.clone(),
                    assigned,
                    input: nothing(),
                    values,
                    generated: row.generated,
                    triggers: Triggers {
                        statement: Vec::new(),
                        row: row.triggers,
                    },
                    checks: named_checks(row.checks),
                    on_conflict: None,
                    returning: None,
                    view_checks: Vec::new(),
                })
            }
        };
        Ok(MergeBranch {
            matched: branch.matched,
            condition,
            action,
        })
    }

    fn resolve_all(&mut self, values: &mut [Expr], layout: &[Slot]) -> SqlResult<()> {
        values
            .iter_mut()
            .try_for_each(|value| self.resolve(value, layout))
    }

    /// What DELETE does in the table and in each that inherits from it.
    fn merge_delete(
        &self,
        mut triggers: Vec<Vec<FiredTrigger>>,
        target: u16,
        relation: &Arc<Relation>,
        mark: u16,
    ) -> Delete {
        let written = self.written_tables(target, relation).into_iter();
        let targets = written.map(|written| DeleteTarget {
            triggers: std::mem::take(&mut triggers[written.position]),
            relation: written.relation,
            returning: None,
        });
        Delete {
            targets: targets.collect(),
            relation: relation.clone(),
            scan: ScanId(target),
            input: nothing(),
            mark,
            marks: Vec::new(),
            triggers: Vec::new(),
        }
    }

    /// What UPDATE does in the table and in each that inherits from it.
    fn merge_targets(
        &self,
        target: u16,
        relation: &Arc<Relation>,
        rows: Vec<BoundRow>,
        assigned: &[u16],
    ) -> SqlResult<Vec<UpdateTarget>> {
        let written = self.written_rows(target, relation, rows)?.into_iter();
        let target = |(written, row): (WrittenTable, BoundRow)| {
            Ok(UpdateTarget {
                assigned: written.columns(assigned)?,
                generated: row.generated,
                checks: named_checks(row.checks),
                triggers: row.triggers,
                returning: None,
                view_checks: Vec::new(),
                relation: written.relation,
            })
        };
        written.map(target).collect()
    }
}
