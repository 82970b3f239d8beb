//! UPDATE: the new rows, and what each table below the target computes for its own.

use std::sync::Arc;

use mote_common::SqlResult;

use super::Changed;
use crate::access::{Command, RelationLock, privilege};
use crate::bind::Binder;
use crate::bind::query::{BoundModify, BoundRow, ModifyKind};
use crate::bind::scope::{Clause, Level};
use crate::bind::updatable_view::Change;
use crate::catalog::Relation;
use crate::catalog::inheritance::Member;
use crate::catalog::trigger::TriggerEvents;
use crate::expr::Expr;
use mote_grammar::ast;

impl Binder<'_> {
    pub(in crate::bind) fn update(&mut self, update: &ast::Update) -> SqlResult<BoundModify> {
        let known = self.cte_names.len();
        if let Some(with) = &update.with {
            self.with_clause(with)?;
        }
        let Changed {
            relation,
            target,
            scope,
            view,
        } = self.changed(&update.table, Change::Update, privilege::UPDATE)?;
        self.levels.push(Level::new(Clause::Update));
        self.level().items.push(scope);
        let mut from = self.modify_from(target, &update.from)?;
        let assignments = match &view {
            None => self.assignments(&update.assignments, &relation, target)?,
            Some((_, view)) => {
                let behind = view.assignments_behind("update", &update.assignments, self)?;
                self.assignments(&behind, &relation, target)?
            }
        };
        from.filter = self.modify_filter(update.filter.as_ref())?;
        let named = view.as_ref().map_or(&relation, |(view, _)| view).clone();
        let reads = !from.filter.is_empty()
            || assignments.iter().any(|(_, expr)| {
                expr.any(&mut |e| matches!(e, Expr::Variable { relation, .. } if *relation == target))
            });
        if reads {
            self.access(&named, RelationLock::RowExclusive, privilege::SELECT);
        }
        let mut view_checks = Vec::new();
        if let Some((_, mut view)) = view {
            view_checks = std::mem::take(&mut view.checks);
            from.filter.extend(view.into_filter());
        }
        let assigned: Vec<u16> = assignments.iter().map(|(position, _)| *position).collect();
        let assignments = assignments
            .into_iter()
            .filter(|(p, _)| relation.columns[*p as usize].generated.is_none())
            .collect();
        let rows = self.updated_rows(target, &relation, &assigned)?;
        let is_assigned = |column: u16| assigned.contains(&column);
        let triggers = self.fired_triggers(&relation, TriggerEvents::UPDATE, false, &is_assigned)?;
        let returning = self.returning(update.returning.as_ref(), &named)?;
        self.levels.pop();
        self.cte_names.truncate(known);
        let kind = ModifyKind::Update {
            from,
            assignments,
            rows,
        };
        Ok(BoundModify {
            command: Command::Update,
            target,
            relation,
            kind,
            triggers,
            returning,
            view_checks,
        })
    }

    /// What each table that an UPDATE changes computes and checks; `assigned` are columns of the relation it names.
    pub(in crate::bind) fn updated_rows(
        &mut self,
        target: u16,
        relation: &Arc<Relation>,
        assigned: &[u16],
    ) -> SqlResult<Vec<BoundRow>> {
        let Some(expansion) = self.items[target as usize].expansion.clone() else {
            return Ok(vec![self.updated_row(relation, assigned)?]);
        };
        let row = |member: &Member| {
            let assigned: Vec<u16> = assigned
                .iter()
                .filter_map(|position| member.map.get(*position))
                .collect();
            self.updated_row(&member.relation, &assigned)
        };
        expansion.members.iter().map(row).collect()
    }

    fn updated_row(&mut self, relation: &Arc<Relation>, assigned: &[u16]) -> SqlResult<BoundRow> {
        let events = TriggerEvents::UPDATE;
        // A trigger may change any column.
        let any = relation.has_before_row_triggers(events);
        let generated = self.generated_columns(relation, &|column| any || assigned.contains(&column))?;
        // A row that moves to another partition is deleted here.
        let fired = TriggerEvents {
            delete: relation.is_partition(),
            ..events
        };
        let changed = |column: u16| {
            assigned.contains(&column) || generated.iter().any(|(position, _)| *position == column)
        };
        Ok(BoundRow {
            checks: self.checks(relation)?,
            triggers: self.fired_triggers(relation, fired, true, &changed)?,
            generated,
        })
    }
}
