//! ON CONFLICT: which unique indexes arbitrate, and what happens to the row that is there.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

use super::Binder;
use super::query::ItemKind;
use super::relation_expression::RelationExpression;
use super::scope::{Clause, ScopeItem};
use super::updatable_view::UpdatableView;
use crate::catalog::{ConstraintKind, IndexDescription, IndexKey, IndexKeyTarget, Relation};
use crate::clause::{Check, ConflictAction, OnConflict};
use crate::expr::Expr;
use crate::expr::implication::implied;
use crate::expr::simplify;
use mote_grammar::ast;
use mote_grammar::ast::{ConflictTarget, ExprKind};

impl Binder<'_> {
    /// The clause, and the item whose columns are those of the row proposed for insertion.
    pub(super) fn on_conflict(
        &mut self,
        conflict: &ast::OnConflict,
        relation: &Arc<Relation>,
        target: u16,
        view: Option<&UpdatableView>,
    ) -> SqlResult<(OnConflict, u16)> {
        let behind;
        let conflict = match view {
            None => conflict,
            Some(view) => {
                behind = view.conflict_behind(conflict, self)?;
                &behind
            }
        };
        let mut excluded = target;
        let arbiters = match &conflict.target {
            None => Vec::new(),
            Some(ConflictTarget::Constraint(name)) => vec![self.constraint_index(name, relation)?],
            Some(ConflictTarget::Index {
                elements,
                filter,
                location,
            }) => self.infer_arbiters(elements, filter.as_ref(), relation, *location)?,
        };
        let action = match &conflict.action {
            ast::ConflictAction::Nothing => ConflictAction::Nothing,
            ast::ConflictAction::Update { assignments, filter } => {
                if arbiters.is_empty() {
                    let message = "ON CONFLICT DO UPDATE requires inference specification or constraint name";
                    return Err(self
                        .error(state::SYNTAX_ERROR, conflict.location, message)
                        .hint("For example, ON CONFLICT (column_name)."));
                }
                let name: ast::Name = "excluded".into();
                let kind = ItemKind::Relation(relation.clone());
                excluded = self.add_item(name.clone(), kind, Vec::new())?;
                self.level().items.push(match view {
                    None => ScopeItem::item(name, excluded),
                    Some(view) => view.scope_of(name, excluded),
                });
                let assignments = self.in_clause(Clause::Update, |this| {
                    this.assignments(assignments, relation, target)
                })?;
                let condition = match filter {
                    Some(filter) => {
                        Some(self.in_clause(Clause::Where, |this| this.condition(filter, "WHERE"))?)
                    }
                    None => None,
                };
                self.level().items.pop();
                let conditions = view.map(|view| view.conditions.clone()).unwrap_or_default();
                let visible = conditions.into_iter();
                ConflictAction::Update {
                    visible: visible
                        .map(|(name, condition)| Check { name, condition })
                        .collect(),
                    assignments,
                    condition,
                }
            }
        };
        Ok((OnConflict { arbiters, action }, excluded))
    }

    fn constraint_index(&self, name: &str, relation: &Relation) -> SqlResult<u16> {
        let index = relation
            .constraints
            .iter()
            .find(|constraint| constraint.name == name)
            .and_then(|constraint| match constraint.kind {
                ConstraintKind::PrimaryKey { index } | ConstraintKind::Unique { index } => Some(index),
                ConstraintKind::Check(_) | ConstraintKind::ForeignKey(_) => None,
            });
        let position = relation.indexes.iter().position(|known| Some(known.oid) == index);
        position.map(|position| position as u16).ok_or_else(|| {
            let message = format!(
                "constraint \"{name}\" for table \"{}\" does not exist",
                relation.name
            );
            SqlError::new(state::UNDEFINED_OBJECT, message)
        })
    }

    /// Unique indexes over exactly the named columns and expressions.
    fn infer_arbiters(
        &mut self,
        elements: &[ast::ConflictElement],
        filter: Option<&ast::Expr>,
        relation: &Arc<Relation>,
        location: ast::Location,
    ) -> SqlResult<Vec<u16>> {
        let mut columns: Vec<u16> = Vec::new();
        let mut exprs: Vec<Expr> = Vec::new();
        for element in elements {
            let name = match &element.value.kind {
                ExprKind::Column(reference) => Self::bare_name(&element.value).or(reference.parts.last()),
                _ => None,
            };
            match name {
                Some(name) => {
                    let found = relation
                        .columns
                        .iter()
                        .position(|c| !c.dropped && *c.name == **name);
                    let Some(position) = found else {
                        let message = format!("column \"{name}\" does not exist");
                        return Err(self.error(state::UNDEFINED_COLUMN, location, message));
                    };
                    columns.push(position as u16);
                }
                None => exprs.push(self.relation_expression(
                    &element.value,
                    relation,
                    RelationExpression::IndexKey,
                    None,
                )?),
            }
        }
        let mut filter = match filter {
            Some(filter) => {
                Some(self.relation_expression(filter, relation, RelationExpression::IndexPredicate, None)?)
            }
            None => None,
        };
        // The catalog's expressions are folded as those of a query: so must these be.
        let folder = self.folder;
        exprs
            .iter_mut()
            .chain(&mut filter)
            .for_each(|expr| simplify(expr, folder));
        let filter: Vec<&Expr> = filter.iter().collect();
        let matches = |index: &&IndexDescription| {
            let has_column = |wanted: &u16| {
                index
                    .keys
                    .iter()
                    .any(|key| matches!(key.target, IndexKeyTarget::Column(column) if column == *wanted))
            };
            let has_expression = |wanted: &Expr| {
                index.keys.iter().any(
                    |key| matches!(&key.target, IndexKeyTarget::Expression(_, expr) if expr.same(wanted)),
                )
            };
            let is_named = |key: &IndexKey| match &key.target {
                IndexKeyTarget::Column(column) => columns.contains(column),
                IndexKeyTarget::Expression(_, expr) => exprs.iter().any(|wanted| wanted.same(expr)),
            };
            let covers = match &index.predicate {
                None => true,
                Some((_, predicate)) => implied(predicate, &filter),
            };
            index.unique
                && index.valid
                && covers
                && index.keys.iter().all(is_named)
                && columns.iter().all(has_column)
                && exprs.iter().all(has_expression)
        };
        let found = relation
            .indexes
            .iter()
            .enumerate()
            .filter(|(_, index)| matches(index));
        let found: Vec<u16> = found.map(|(position, _)| position as u16).collect();
        if found.is_empty() {
            let message = "there is no unique or exclusion constraint matching the ON CONFLICT specification";
            return Err(SqlError::new(state::INVALID_COLUMN_REFERENCE, message));
        }
        Ok(found)
    }
}
