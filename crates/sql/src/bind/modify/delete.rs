//! DELETE: which rows go, and the triggers of the tables they are in.

use std::sync::Arc;

use mote_common::SqlResult;

use super::Changed;
use crate::access::{Command, RelationLock, privilege};
use crate::bind::Binder;
use crate::bind::query::{BoundModify, ModifyKind};
use crate::bind::scope::{Clause, Level};
use crate::bind::updatable_view::Change;
use crate::catalog::Relation;
use crate::catalog::trigger::TriggerEvents;
use crate::clause::FiredTrigger;
use mote_grammar::ast;

impl Binder<'_> {
    pub(in crate::bind) fn delete(&mut self, delete: &ast::Delete) -> SqlResult<BoundModify> {
        let known = self.cte_names.len();
        if let Some(with) = &delete.with {
            self.with_clause(with)?;
        }
        let Changed {
            relation,
            target,
            scope,
            view,
        } = self.changed(&delete.table, Change::Delete, privilege::DELETE)?;
        let named = view.as_ref().map_or(&relation, |(view, _)| view).clone();
        self.levels.push(Level::new(Clause::Where));
        self.level().items.push(scope);
        let mut from = self.modify_from(target, &delete.using)?;
        from.filter = self.modify_filter(delete.filter.as_ref())?;
        if !from.filter.is_empty() {
            self.access(&named, RelationLock::RowExclusive, privilege::SELECT);
        }
        if let Some((_, view)) = view {
            from.filter.extend(view.into_filter());
        }
        let returning = self.returning(delete.returning.as_ref(), &named)?;
        self.levels.pop();
        self.cte_names.truncate(known);
        let fired = self.deleted_rows(target, &relation)?;
        let events = TriggerEvents::DELETE;
        let triggers = self.fired_triggers(&relation, events, false, &|_| true)?;
        let kind = ModifyKind::Delete {
            from,
            triggers: fired,
        };
        Ok(BoundModify {
            command: Command::Delete,
            target,
            relation,
            kind,
            triggers,
            returning,
            view_checks: Vec::new(),
        })
    }

    /// The triggers of each table that a DELETE takes rows from.
    pub(in crate::bind) fn deleted_rows(
        &mut self,
        target: u16,
        relation: &Arc<Relation>,
    ) -> SqlResult<Vec<Vec<FiredTrigger>>> {
        let members = match &self.items[target as usize].expansion {
            None => vec![relation.clone()],
            Some(expansion) => {
                let members = expansion.members.iter();
                members.map(|member| member.relation.clone()).collect()
            }
        };
        let fired = |member| self.fired_triggers(member, TriggerEvents::DELETE, true, &|_| true);
        members.iter().map(fired).collect()
    }
}
