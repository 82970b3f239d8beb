//! Expressions that belong to a relation: defaults, checks, generated columns, index expressions and predicates.
//!
//! They are kept as text in the catalog and bound here, each time they are needed, over the relation's row: column
//! positions are attribute numbers less one. Parsing an expression goes through a `SELECT` around it.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::ColumnType;

use super::Binder;
use super::query::{FIRST_SYSTEM_COLUMN, ItemKind};
use super::scope::{Clause, Level, ScopeItem};
use crate::ast;
use crate::catalog::{CatalogView, Relation};
use crate::plan::expr::Expr;

/// What an expression is for: decides its rules and the words of its errors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RelationExpression {
    /// May not name columns; converted to the column's type by assignment.
    Default,
    Check,
    Generated,
    IndexKey,
    IndexPredicate,
}

/// Binds `text` over the relation's row. With `target`, the result is converted to that type by assignment.
pub fn bind_expression_over_relation(
    text: &str,
    relation: &Arc<Relation>,
    purpose: RelationExpression,
    target: Option<(&str, ColumnType)>,
    catalog: &dyn CatalogView,
) -> SqlResult<Expr> {
    let parsed = parse_expression(text)?;
    let mut binder = Binder::new(catalog, "", &[]);
    binder.relation_expression(&parsed, relation, purpose, target)
}

/// Binds an expression without any relation: arguments of EXECUTE and CALL, and the like.
pub fn bind_free_expression(
    expr: &ast::Expr,
    target: Option<ColumnType>,
    text: &str,
    catalog: &dyn CatalogView,
) -> SqlResult<Expr> {
    let mut binder = Binder::new(catalog, text, &[]);
    binder.parameters_open = false;
    binder.levels.push(Level::new(Clause::Other));
    let bound = binder.expression(expr)?;
    let bound = match target {
        Some(ty) => binder.coerce_assignment(bound, "?column?", ty, expr.location)?,
        None => binder.settle_unknown(bound, expr.location)?,
    };
    if bound.contains_subplan() {
        return Err(SqlError::new(
            state::FEATURE_NOT_SUPPORTED,
            "cannot use subquery in this context",
        ));
    }
    Ok(bound)
}

/// An expression's tree from its text.
pub(super) fn parse_expression(text: &str) -> SqlResult<ast::Expr> {
    let mut parsed = crate::parser::parse(&format!("SELECT {text}"))?;
    if parsed.len() == 1
        && let Some(ast::ParsedStatement {
            statement: ast::Statement::Query(query),
            ..
        }) = parsed.pop()
        && let ast::QueryBody::Select(select) = query.body
        && select.targets.len() == 1
        && let Some(target) = select.targets.into_iter().next()
    {
        return Ok(target.value);
    }
    Err(SqlError::internal(format!(
        "stored expression \"{text}\" is not one expression"
    )))
}

impl Binder<'_> {
    /// Binds over the row of `relation`; columns come back as `Expr::Column`.
    pub(super) fn relation_expression(
        &mut self,
        expr: &ast::Expr,
        relation: &Arc<Relation>,
        purpose: RelationExpression,
        target: Option<(&str, ColumnType)>,
    ) -> SqlResult<Expr> {
        let clause = match purpose {
            RelationExpression::Default => Clause::ColumnDefault,
            RelationExpression::Check => Clause::Check,
            RelationExpression::Generated => Clause::Generated,
            RelationExpression::IndexKey => Clause::IndexExpression,
            RelationExpression::IndexPredicate => Clause::IndexPredicate,
        };
        let levels = std::mem::take(&mut self.levels);
        let text = std::mem::take(&mut self.text);
        self.levels.push(Level::new(clause));
        let result = self.relation_expression_in_level(expr, relation, purpose, target);
        self.levels = levels;
        self.text = text;
        let mut bound = result?;
        let (item, mut bound) = (bound.0, std::mem::replace(&mut bound.1, Expr::And(Vec::new())));
        bound.rewrite(&mut |inner| match inner {
            Expr::Variable {
                relation, column, ty, ..
            } if *relation == item && *column < FIRST_SYSTEM_COLUMN => Some(Expr::Column {
                index: *column,
                ty: *ty,
            }),
            _ => None,
        });
        Ok(bound)
    }

    fn relation_expression_in_level(
        &mut self,
        expr: &ast::Expr,
        relation: &Arc<Relation>,
        purpose: RelationExpression,
        target: Option<(&str, ColumnType)>,
    ) -> SqlResult<(u16, Expr)> {
        let alias: ast::Name = relation.name.as_str().into();
        let item = self.add_item(alias.clone(), ItemKind::Relation(relation.clone()), Vec::new())?;
        self.level().items.push(ScopeItem::item(alias, item));
        let bound = match purpose {
            RelationExpression::Check => self.condition(expr, "CHECK")?,
            RelationExpression::IndexPredicate => self.condition(expr, "WHERE")?,
            _ => self.expression(expr)?,
        };
        let bound = match target {
            Some((column, ty)) => self.coerce_assignment(bound, column, ty, expr.location)?,
            None => self.settle_unknown(bound, expr.location)?,
        };
        if bound.contains_subplan() {
            let message = match purpose {
                RelationExpression::Default => "cannot use subquery in DEFAULT expression",
                RelationExpression::Check => "cannot use subquery in check constraint",
                RelationExpression::Generated => "cannot use subquery in column generation expression",
                RelationExpression::IndexKey => "cannot use subquery in index expression",
                RelationExpression::IndexPredicate => "cannot use subquery in index predicate",
            };
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        }
        let names_column = bound.any(&mut |inner| matches!(inner, Expr::Variable { .. }));
        if purpose == RelationExpression::Default && names_column {
            let message = "cannot use column reference in DEFAULT expression";
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        }
        Ok((item, bound))
    }
}
