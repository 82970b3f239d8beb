//! MERGE: the source joined with the target by the ordinary planner; the node above decides row by row.
//!
//! The join keeps source rows without a match only if some action inserts, as in PostgreSQL. ON is planned twice: as
//! the condition of the join, and as an expression over the joined row, for target rows that changed since they were
//! read.

use std::sync::Arc;

use mote_common::SqlResult;

use super::append::{member_columns, own_columns};
use super::modify::{mark_of, named_checks, without_node};
use super::{Joined, Planner, Slot};
use crate::plan::node::{
    Delete, DeleteTarget, Insert, Merge, MergeAction, MergeBranch, MergeTarget, Node, ScanId, Update,
    UpdateTarget,
};
use mote_sql::bind::query::{BoundMerge, BoundMergeAction, BoundMergeBranch, FromJoin, FromTree, ROW_MARK};
use mote_sql::catalog::Relation;
use mote_sql::clause::{FiredTrigger, Triggers};
use mote_sql::expr::simplify;

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
        let nothing = || Node::Empty { width: 0 };
        let action = match branch.action {
            BoundMergeAction::Nothing => MergeAction::Nothing,
            BoundMergeAction::Delete { mut triggers } => {
                let written = self.written_tables(target, relation).into_iter();
                let targets = written.map(|written| DeleteTarget {
                    triggers: std::mem::take(&mut triggers[written.position]),
                    relation: written.relation,
                    returning: None,
                });
                MergeAction::Delete(Delete {
                    relation: relation.clone(),
                    scan: ScanId(target),
                    input: nothing(),
                    mark,
                    marks: Vec::new(),
                    triggers: Vec::new(),
                    targets: targets.collect(),
                })
            }
            BoundMergeAction::Update { assignments, rows } => {
                let (positions, mut values): (Vec<u16>, Vec<_>) = assignments.into_iter().unzip();
                for value in &mut values {
                    self.resolve(value, layout)?;
                }
                let mut targets = Vec::new();
                for (written, row) in self.written_rows(target, relation, rows)? {
                    targets.push(UpdateTarget {
                        assigned: written.columns(&positions)?,
                        generated: row.generated,
                        checks: named_checks(row.checks),
                        triggers: row.triggers,
                        returning: None,
                        view_checks: Vec::new(),
                        relation: written.relation,
                    });
                }
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
                for value in &mut values {
                    self.resolve(value, layout)?;
                }
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
}
