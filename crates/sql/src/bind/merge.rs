//! MERGE: the source, the join condition, and what each WHEN clause sees and does.
//!
//! Invariant: ON and WHEN MATCHED see both sides, WHEN NOT MATCHED sees the source alone, the source nothing of the target.
//! Leaves out what PostgreSQL 15 does not have: RETURNING, WHEN NOT MATCHED BY SOURCE.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

use super::Binder;
use super::modify::positions_given;
use super::query::{
    BoundMerge, BoundMergeAction, BoundMergeBranch, BoundModify, BoundRow, FromTree, ModifyKind,
};
use super::scope::{Clause, Level, ScopeItem};
use super::select::conjuncts;
use crate::access::{Command, RelationLock, privilege};
use crate::catalog::trigger::TriggerEvents;
use crate::catalog::{Relation, RelationKind};
use crate::clause::FiredTrigger;
use crate::expr::Expr;
use mote_grammar::ast;
use mote_grammar::ast::{MergeAction, MergeBranch, MergeMatch};

impl Binder<'_> {
    pub(super) fn merge(&mut self, merge: &ast::Merge) -> SqlResult<BoundModify> {
        if merge.returning.is_some() {
            return Err(SqlError::unsupported("RETURNING of MERGE"));
        }
        let known = self.cte_names.len();
        if let Some(with) = &merge.with {
            if with.recursive {
                let message = "WITH RECURSIVE is not supported for MERGE statement";
                return Err(SqlError::new(state::SYNTAX_ERROR, message));
            }
            self.with_clause(with)?;
        }
        let privileges = branch_privileges(&merge.branches)?;
        let relation = self.merged_relation(&merge.table, privileges)?;
        let (target, alias) = self.target_item(&merge.table, &relation)?;
        self.levels.push(Level::new(Clause::From));
        let source = self.merge_source(&merge.source, &alias)?;
        self.level().items.push(ScopeItem::item(alias, target));
        let on = self.in_clause(Clause::JoinOn, |this| this.condition(&merge.condition, "JOIN/ON"))?;
        let mut branches = Vec::with_capacity(merge.branches.len());
        for branch in &merge.branches {
            branches.push(self.merge_branch(branch, merge, &relation, target)?);
        }
        self.levels.pop();
        self.cte_names.truncate(known);
        let mut bound = BoundMerge {
            source,
            on: conjuncts(on),
            branches,
        };
        let mut reads = false;
        bound.for_each_expr_mut(&mut |root| {
            reads |=
                root.any(&mut |expr| matches!(expr, Expr::Variable { relation, .. } if *relation == target));
        });
        if reads {
            self.access(&relation, RelationLock::RowExclusive, privilege::SELECT);
        }
        let triggers = self.merge_triggers(&merge.branches, &relation)?;
        Ok(BoundModify {
            command: Command::Merge,
            target,
            relation,
            kind: ModifyKind::Merge(bound),
            triggers,
            returning: None,
            view_checks: Vec::new(),
        })
    }

    /// Triggers that fire once, for each kind of action there is.
    fn merge_triggers(
        &mut self,
        branches: &[MergeBranch],
        relation: &Arc<Relation>,
    ) -> SqlResult<Vec<FiredTrigger>> {
        let mut events = TriggerEvents::NONE;
        let mut assigned = Vec::new();
        for branch in branches {
            match &branch.action {
                MergeAction::Insert { .. } => events.insert = true,
                MergeAction::Update(assignments) => {
                    events.update = true;
                    assigned.extend(super::modify::assigned_columns(assignments, relation));
                }
                MergeAction::Delete => events.delete = true,
                MergeAction::DoNothing => {}
            }
        }
        self.fired_triggers(relation, events, false, &|column| assigned.contains(&column))
    }

    /// The target, which must store rows of its own.
    fn merged_relation(
        &mut self,
        reference: &ast::RelationReference,
        privileges: u32,
    ) -> SqlResult<Arc<Relation>> {
        let is_cte = reference.name.schema.is_none()
            && self
                .cte_names
                .iter()
                .any(|(name, _)| *name == reference.name.name);
        if !is_cte {
            let relation = self.find_relation(&reference.name)?;
            let kind = match relation.kind {
                RelationKind::View => Some("views"),
                RelationKind::MaterializedView => Some("materialized views"),
                RelationKind::Sequence => Some("sequences"),
                _ => None,
            };
            if let Some(kind) = kind {
                let message = format!("cannot execute MERGE on relation \"{}\"", relation.name);
                return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message)
                    .detail(format!("This operation is not supported for {kind}.")));
            }
        }
        self.modified_relation(reference, privileges)
    }

    fn merge_source(&mut self, source: &ast::FromItem, target_alias: &str) -> SqlResult<FromTree> {
        let mut trees = self.from_clause(std::slice::from_ref(source))?;
        let tree = trees
            .pop()
            .ok_or_else(|| SqlError::internal("MERGE without a source"))?;
        if let FromTree::Item(item) = &tree
            && *self.items[*item as usize].alias == *target_alias
        {
            let message = format!("name \"{target_alias}\" specified more than once");
            return Err(SqlError::new(state::DUPLICATE_ALIAS, message)
                .detail("The name is used both as MERGE target table and data source."));
        }
        Ok(tree)
    }

    fn merge_branch(
        &mut self,
        branch: &MergeBranch,
        merge: &ast::Merge,
        relation: &Arc<Relation>,
        target: u16,
    ) -> SqlResult<BoundMergeBranch> {
        let matched = branch.when == MergeMatch::Matched;
        // WHEN NOT MATCHED has no target row to speak of: the target stands last in the level.
        if !matched {
            let level = self.level();
            level.hidden = level.items.pop();
        }
        let condition = match &branch.condition {
            None => None,
            Some(condition) => {
                Some(self.in_clause(Clause::MergeWhen, |this| this.condition(condition, "WHEN"))?)
            }
        };
        let action = self.merge_action(&branch.action, merge, relation, target)?;
        let level = self.level();
        level.items.extend(level.hidden.take());
        Ok(BoundMergeBranch {
            matched,
            condition,
            action,
        })
    }

    fn merge_action(
        &mut self,
        action: &MergeAction,
        merge: &ast::Merge,
        relation: &Arc<Relation>,
        target: u16,
    ) -> SqlResult<BoundMergeAction> {
        Ok(match action {
            MergeAction::DoNothing => BoundMergeAction::Nothing,
            MergeAction::Delete => BoundMergeAction::Delete {
                triggers: self.deleted_rows(target, relation)?,
            },
            MergeAction::Update(assignments) => {
                let assignments = self.in_clause(Clause::Update, |this| {
                    this.assignments(assignments, relation, target)
                })?;
                let assigned: Vec<u16> = assignments.iter().map(|(position, _)| *position).collect();
                let rows = self.updated_rows(target, relation, &assigned)?;
                let given = assignments.into_iter();
                BoundMergeAction::Update {
                    assignments: given
                        .filter(|(position, _)| relation.columns[*position as usize].generated.is_none())
                        .collect(),
                    rows,
                }
            }
            MergeAction::Insert {
                columns,
                overriding,
                values,
            } => {
                let insert = ast::Insert {
                    with: None,
                    table: merge.table.clone(),
                    columns: columns.clone(),
                    overriding: *overriding,
                    source: ast::InsertSource::DefaultValues,
                    on_conflict: None,
                    returning: None,
                };
                let (values, assigned) = self.merge_values(&insert, values, relation)?;
                BoundMergeAction::Insert {
                    values,
                    assigned,
                    row: BoundRow {
                        generated: self.generated_columns(relation, &|_| true)?,
                        checks: self.checks(relation)?,
                        triggers: self.fired_triggers(relation, TriggerEvents::INSERT, true, &|_| true)?,
                    },
                }
            }
        })
    }

    /// One expression per column of the relation, and which columns are given. No list of values: DEFAULT VALUES.
    fn merge_values(
        &mut self,
        insert: &ast::Insert,
        values: &[ast::Expr],
        relation: &Arc<Relation>,
    ) -> SqlResult<(Vec<Expr>, Vec<u16>)> {
        let columns = self.insert_columns(insert, relation)?;
        let mut given: Vec<Option<Expr>> = vec![None; relation.columns.len()];
        if !values.is_empty() {
            let row = self.values_row(values, insert, relation, &columns)?;
            self.give(row, insert, relation, &columns, &mut given)?;
        }
        let assigned = positions_given(&given);
        let complete = given
            .into_iter()
            .enumerate()
            .map(|(position, value)| match value {
                Some(expr) => Ok(expr),
                None => self.default_value(relation, position),
            });
        Ok((complete.collect::<SqlResult<_>>()?, assigned))
    }
}

/// What the actions need on the target. A clause behind an unconditional one of its kind is never reached.
fn branch_privileges(branches: &[MergeBranch]) -> SqlResult<u32> {
    let (mut privileges, mut matched_done, mut unmatched_done) = (0, false, false);
    for branch in branches {
        privileges |= match branch.action {
            MergeAction::Insert { .. } => privilege::INSERT,
            MergeAction::Update(_) => privilege::UPDATE,
            MergeAction::Delete => privilege::DELETE,
            MergeAction::DoNothing => 0,
        };
        let done = match branch.when {
            MergeMatch::Matched => &mut matched_done,
            MergeMatch::NotMatchedByTarget => &mut unmatched_done,
            MergeMatch::NotMatchedBySource => {
                return Err(SqlError::unsupported("WHEN NOT MATCHED BY SOURCE"));
            }
        };
        if *done {
            let message = "unreachable WHEN clause specified after unconditional WHEN clause";
            return Err(SqlError::new(state::SYNTAX_ERROR, message));
        }
        *done = branch.condition.is_none();
    }
    Ok(privileges)
}
