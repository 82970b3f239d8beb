//! Triggers that a statement can fire, and their WHEN conditions.
//!
//! A condition is an expression over two rows of the relation, `old` and `new`; bound, it reads one row that is the old
//! one with the new one behind it.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::Datum;

use super::Binder;
use super::query::{FIRST_SYSTEM_COLUMN, ItemKind, TABLE_OID, WHOLE_ROW};
use super::relation_expression::{parse_expression, whole_row};
use super::scope::{Clause, Level, ScopeItem};
use crate::catalog::trigger::{TriggerEvents, TriggerTiming};
use crate::catalog::{CatalogView, Relation};
use crate::clause::{FiredTrigger, Triggers};
use crate::expr::Expr;
use mote_grammar::ast;
use mote_grammar::ast::Location;

/// What the WHEN condition of a new trigger may read.
#[derive(Clone, Copy, Debug)]
pub struct TriggerCondition {
    pub for_each_row: bool,
    pub timing: TriggerTiming,
    pub events: TriggerEvents,
}

/// Checks the WHEN condition that CREATE TRIGGER gives; errors point into `text`, the statement's.
pub fn bind_trigger_condition(
    condition: &ast::Expr,
    trigger: TriggerCondition,
    text: &str,
    relation: &Arc<Relation>,
    catalog: &dyn CatalogView,
) -> SqlResult<()> {
    let mut binder = Binder::new(catalog, text, &[]);
    binder.parameters_open = false;
    let (old, new, bound) = binder.trigger_condition(condition, relation)?;
    let mut result = Ok(());
    bound.any(&mut |inner| {
        if let Expr::Variable {
            relation: item,
            column,
            location,
            ..
        } = inner
            && result.is_ok()
            && let Some((code, message)) = refused(trigger, *item == old, *item == new, *column, relation)
        {
            let error = binder.error(code, Location(*location), message);
            let generated = relation
                .columns
                .get(*column as usize)
                .filter(|_| message == NEW_GENERATED);
            result = Err(match generated {
                Some(column) => error.detail(format!("Column \"{}\" is a generated column.", column.name)),
                None => error,
            });
        }
        false
    });
    result
}

/// The triggers that rows fire which come into a table without an INSERT: COPY.
pub fn bind_insert_triggers(relation: &Arc<Relation>, catalog: &dyn CatalogView) -> SqlResult<Triggers> {
    let mut binder = Binder::new(catalog, "", &[]);
    let events = TriggerEvents::INSERT;
    Ok(Triggers {
        statement: binder.fired_triggers(relation, events, false, &|_| true)?,
        row: binder.fired_triggers(relation, events, true, &|_| true)?,
    })
}

/// The row triggers of a partition that a routed row meets: those of its INSERT, and with `updated`, the columns that ON
/// CONFLICT DO UPDATE sets, those of that UPDATE.
pub fn bind_routed_triggers(
    relation: &Arc<Relation>,
    updated: Option<&[u16]>,
    catalog: &dyn CatalogView,
) -> SqlResult<Vec<FiredTrigger>> {
    let events = TriggerEvents {
        update: updated.is_some(),
        ..TriggerEvents::INSERT
    };
    let assigned = |column| updated.is_some_and(|updated| updated.contains(&column));
    Binder::new(catalog, "", &[]).fired_triggers(relation, events, true, &assigned)
}

/// Those of TRUNCATE.
pub fn bind_truncate_triggers(
    relation: &Arc<Relation>,
    catalog: &dyn CatalogView,
) -> SqlResult<Vec<FiredTrigger>> {
    Binder::new(catalog, "", &[]).fired_triggers(relation, TriggerEvents::TRUNCATE, false, &|_| true)
}

/// A condition from the catalog, over the old row followed by the new one.
pub fn bind_stored_trigger_condition(
    text: &str,
    relation: &Arc<Relation>,
    catalog: &dyn CatalogView,
) -> SqlResult<Expr> {
    Binder::new(catalog, "", &[]).stored_trigger_condition(text, relation)
}

/// The columns that a condition from the catalog names, by position. One that compares whole rows names none.
pub fn trigger_condition_columns(
    text: &str,
    relation: &Arc<Relation>,
    catalog: &dyn CatalogView,
) -> SqlResult<Vec<u16>> {
    let mut binder = Binder::new(catalog, "", &[]);
    let (old, new, bound) = binder.trigger_condition(&parse_expression(text)?, relation)?;
    let mut columns = Vec::new();
    bound.any(&mut |inner| {
        if let Expr::Variable {
            relation: item,
            column,
            ..
        } = inner
            && (*item == old || *item == new)
            && *column < FIRST_SYSTEM_COLUMN
        {
            columns.push(*column);
        }
        false
    });
    Ok(columns)
}

const NEW_GENERATED: &str = "BEFORE trigger's WHEN condition cannot reference NEW generated columns";

fn refused(
    trigger: TriggerCondition,
    is_old: bool,
    is_new: bool,
    column: u16,
    relation: &Relation,
) -> Option<(mote_common::SqlState, &'static str)> {
    const INVALID: mote_common::SqlState = state::INVALID_OBJECT_DEFINITION;
    if !trigger.for_each_row && (is_old || is_new) {
        return Some((
            INVALID,
            "statement trigger's WHEN condition cannot reference column values",
        ));
    }
    if is_old && trigger.events.insert {
        return Some((
            INVALID,
            "INSERT trigger's WHEN condition cannot reference OLD values",
        ));
    }
    if is_new && trigger.events.delete {
        return Some((
            INVALID,
            "DELETE trigger's WHEN condition cannot reference NEW values",
        ));
    }
    if is_new && trigger.timing == TriggerTiming::Before {
        if column == WHOLE_ROW {
            return None;
        }
        if column >= FIRST_SYSTEM_COLUMN {
            return Some((
                state::FEATURE_NOT_SUPPORTED,
                "BEFORE trigger's WHEN condition cannot reference NEW system columns",
            ));
        }
        if relation.columns[column as usize].generated.is_some() {
            return Some((INVALID, NEW_GENERATED));
        }
    }
    None
}

impl Binder<'_> {
    /// The triggers of a relation that these changes can fire, in their order. `assigned` tells the columns that an
    /// UPDATE sets.
    pub(super) fn fired_triggers(
        &mut self,
        relation: &Arc<Relation>,
        events: TriggerEvents,
        for_each_row: bool,
        assigned: &dyn Fn(u16) -> bool,
    ) -> SqlResult<Vec<FiredTrigger>> {
        let mut fired = Vec::new();
        if for_each_row && relation.is_partitioned() {
            // It has no rows: those of its partitions fire their own triggers.
            return Ok(fired);
        }
        for trigger in relation.triggers_of(events, for_each_row) {
            let mut events = trigger.events.and(events);
            let spared =
                !trigger.columns.is_empty() && !trigger.columns.iter().any(|column| assigned(*column));
            events.update &= !spared;
            if events == TriggerEvents::NONE {
                continue;
            }
            let condition = match &trigger.condition {
                None => None,
                Some(text) => Some(self.stored_trigger_condition(text, relation)?),
            };
            fired.push(FiredTrigger {
                trigger: Arc::clone(trigger),
                events,
                condition,
            });
        }
        Ok(fired)
    }

    /// A condition from the catalog, over the old row followed by the new one.
    fn stored_trigger_condition(&mut self, text: &str, relation: &Arc<Relation>) -> SqlResult<Expr> {
        let parsed = parse_expression(text)?;
        let (outer, names) = (std::mem::take(&mut self.text), self.names.take());
        let bound = self.trigger_condition(&parsed, relation);
        (self.text, self.names) = (outer, names);
        let (old, new, mut bound) = bound?;
        let mut unknown = false;
        bound.rewrite(&mut |inner| {
            let Expr::Variable {
                relation: item,
                column,
                ty,
                ..
            } = inner
            else {
                return None;
            };
            let first = match *item {
                item if item == old => 0,
                item if item == new => relation.columns.len() as u16,
                _ => return None,
            };
            match *column {
                column if column < FIRST_SYSTEM_COLUMN => Some(Expr::Column {
                    index: first + column,
                    ty: *ty,
                }),
                WHOLE_ROW => Some(whole_row(relation, first, *ty)),
                TABLE_OID => Some(Expr::Constant(Datum::oid(relation.oid), *ty)),
                _ => {
                    unknown = true;
                    None
                }
            }
        });
        match unknown {
            false => Ok(bound),
            true => Err(SqlError::unsupported("system columns in WHEN of a trigger")),
        }
    }

    /// Binds over two items that stand for the old and the new row.
    fn trigger_condition(
        &mut self,
        expr: &ast::Expr,
        relation: &Arc<Relation>,
    ) -> SqlResult<(u16, u16, Expr)> {
        let levels = std::mem::take(&mut self.levels);
        self.levels.push(Level::new(Clause::TriggerWhen));
        let result = self.trigger_condition_in_level(expr, relation);
        self.levels = levels;
        result
    }

    fn trigger_condition_in_level(
        &mut self,
        expr: &ast::Expr,
        relation: &Arc<Relation>,
    ) -> SqlResult<(u16, u16, Expr)> {
        let mut items = [0; 2];
        for (item, alias) in items.iter_mut().zip(["old", "new"]) {
            let alias: ast::Name = alias.into();
            *item = self.add_item(alias.clone(), ItemKind::Relation(relation.clone()), Vec::new())?;
            self.level().items.push(ScopeItem::item(alias, *item));
        }
        let bound = self.condition(expr, "WHEN")?;
        Ok((items[0], items[1], bound))
    }
}
