//! Expressions that belong to a relation: defaults, checks, generated columns, index expressions and predicates.
//!
//! They are kept as text in the catalog and bound here, each time they are needed, over the relation's row: column
//! positions are attribute numbers less one. Parsing an expression goes through a `SELECT` around it.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::catalog::user::is_composite;
use mote_types::{ColumnType, Datum, format_type, oid};

use super::Binder;
use super::query::{CTID, FIRST_SYSTEM_COLUMN, ItemKind, TABLE_OID, WHOLE_ROW, XMIN};
use super::scope::{Clause, Level, ScopeItem};
use crate::builtin::cast::CastUse;
use crate::catalog::{CatalogView, Column, Relation};
use crate::expr::Expr;
use mote_grammar::ast;

/// What an expression is for: decides its rules and the words of its errors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RelationExpression {
    /// May not name columns; converted to the column's type by assignment.
    Default,
    Check,
    Generated,
    IndexKey,
    IndexPredicate,
    PartitionKey,
    /// USING of ALTER COLUMN TYPE; converted to the new type by assignment.
    NewValue,
    /// WHERE of COPY FROM.
    CopyFilter,
}

/// Binds `text` over the relation's row. With `target`, the result is converted to that type by assignment.
pub fn bind_expression_over_relation(
    text: &str,
    relation: &Arc<Relation>,
    purpose: RelationExpression,
    target: Option<(&str, ColumnType)>,
    catalog: &dyn CatalogView,
) -> SqlResult<Expr> {
    Binder::new(catalog, "", &[]).stored_expression(text, relation, purpose, target)
}

/// Binds an expression that stands in a statement over the relation's row; errors point into `text`, the statement's.
pub fn bind_written_expression(
    expr: &ast::Expr,
    text: &str,
    relation: &Arc<Relation>,
    purpose: RelationExpression,
    target: Option<(&str, ColumnType)>,
    catalog: &dyn CatalogView,
) -> SqlResult<Expr> {
    let mut binder = Binder::new(catalog, text, &[]);
    binder.relation_expression(expr, relation, purpose, target)
}

/// Binds the default that a statement gives a column.
pub fn bind_default(
    expr: &ast::Expr,
    column: &str,
    ty: ColumnType,
    text: &str,
    catalog: &dyn CatalogView,
) -> SqlResult<Expr> {
    let mut binder = Binder::new(catalog, text, &[]);
    binder.parameters_open = false;
    binder.levels.push(Level::new(Clause::ColumnDefault));
    let bound = binder.expression(expr)?;
    let source = binder.type_of(&bound);
    match binder.try_coerce(bound, ty, CastUse::Assignment, expr.location)? {
        Some(bound) => Ok(bound),
        None => {
            let message = format!(
                "column \"{column}\" is of type {} but default expression is of type {}",
                super::type_label(ty.oid),
                super::type_label(source.oid)
            );
            Err(SqlError::new(state::DATATYPE_MISMATCH, message)
                .hint("You will need to rewrite or cast the expression."))
        }
    }
}

/// Binds a value of a partition bound; None where it cannot become a value of the key's type.
pub fn bind_partition_value(
    expr: &ast::Expr,
    ty: ColumnType,
    text: &str,
    catalog: &dyn CatalogView,
) -> SqlResult<Option<Expr>> {
    let mut binder = Binder::new(catalog, text, &[]);
    binder.parameters_open = false;
    binder.levels.push(Level::new(Clause::PartitionBound));
    let bound = binder.expression(expr)?;
    binder.try_coerce(bound, ty, CastUse::Assignment, expr.location)
}

/// The conversion by assignment of the n-th column of a row, if there is one.
pub fn assignment_cast(
    column: u16,
    from: ColumnType,
    to: ColumnType,
    catalog: &dyn CatalogView,
) -> SqlResult<Option<Expr>> {
    let value = Expr::Column {
        index: column,
        ty: from,
    };
    Binder::new(catalog, "", &[]).try_coerce(value, to, CastUse::Assignment, ast::Location::NONE)
}

/// Binds an expression without any relation.
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

/// Checks one argument of EXECUTE, counted from one, against the type that its parameter has: PostgreSQL's EvaluateParams
/// (prepare.c) converts as an assignment does.
///
/// # Errors
/// 42804 for a value of another type; 0A000 for a sub-query; what binding the expression says.
pub fn check_execute_argument(
    expr: &ast::Expr,
    number: usize,
    ty: ColumnType,
    text: &str,
    catalog: &dyn CatalogView,
) -> SqlResult<()> {
    let mut binder = Binder::new(catalog, text, &[]);
    binder.parameters_open = false;
    binder.levels.push(Level::new(Clause::Execute));
    let bound = binder.expression(expr)?;
    let given = binder.type_of(&bound);
    if given.oid == oid::UNKNOWN
        || binder
            .try_coerce(bound, ty, CastUse::Assignment, expr.location)?
            .is_some()
    {
        return Ok(());
    }
    let message = format!(
        "parameter ${number} of type {} cannot be coerced to the expected type {}",
        format_type(given.oid, -1),
        format_type(ty.oid, -1)
    );
    Err(SqlError::new(state::DATATYPE_MISMATCH, message)
        .hint("You will need to rewrite or cast the expression.")
        .at(expr.location.position(text)))
}

/// Binds the text of an expression without any relation.
pub fn bind_free_text(text: &str, catalog: &dyn CatalogView) -> SqlResult<Expr> {
    bind_free_expression(&parse_expression(text)?, None, "", catalog)
}

/// An expression's tree from its text.
pub(super) fn parse_expression(text: &str) -> SqlResult<ast::Expr> {
    let mut parsed = mote_grammar::parser::parse(&format!("SELECT {text}"))?;
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
    /// Binds an expression that the catalog keeps as text: its places are not those of the statement.
    pub(super) fn stored_expression(
        &mut self,
        text: &str,
        relation: &Arc<Relation>,
        purpose: RelationExpression,
        target: Option<(&str, ColumnType)>,
    ) -> SqlResult<Expr> {
        let parsed = parse_expression(text)?;
        let outer = std::mem::take(&mut self.text);
        let (names, trace) = (self.names.take(), self.trace.take());
        let bound = self.relation_expression(&parsed, relation, purpose, target);
        (self.names, self.trace) = (names, trace);
        self.text = outer;
        bound
    }

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
            RelationExpression::PartitionKey => Clause::PartitionKey,
            RelationExpression::NewValue => Clause::Transform,
            RelationExpression::CopyFilter => Clause::CopyWhere,
        };
        let levels = std::mem::take(&mut self.levels);
        self.levels.push(Level::new(clause));
        let result = self.relation_expression_in_level(expr, relation, purpose, target);
        self.levels = levels;
        let mut bound = result?;
        let (item, mut bound) = (bound.0, std::mem::replace(&mut bound.1, Expr::And(Vec::new())));
        if let Some(error) = self.refused_reference(&bound, item, purpose) {
            return Err(error);
        }
        // Keys and conditions of indexes and partitions are no expressions over a row in hand: what reads more of them
        // than the columns is refused by who stores them.
        let over_row = !matches!(
            purpose,
            RelationExpression::IndexKey
                | RelationExpression::IndexPredicate
                | RelationExpression::PartitionKey
        );
        if !over_row && bound.any(&mut reads_attribute) {
            return Err(SqlError::unsupported(
                "a part of a composite value in an index or a partition key",
            ));
        }
        bound.rewrite(&mut |inner| match inner {
            Expr::Variable {
                relation: of,
                column,
                ty,
                ..
            } if *of == item => match *column {
                column if column < FIRST_SYSTEM_COLUMN => Some(Expr::Column {
                    index: column,
                    ty: *ty,
                }),
                WHOLE_ROW if over_row => Some(whole_row(relation, 0, *ty)),
                TABLE_OID if over_row => Some(Expr::Constant(Datum::oid(relation.oid), *ty)),
                _ => None,
            },
            _ => None,
        });
        Ok(bound)
    }

    /// The error for a system column, or the whole row, where the purpose forbids it: the row is not yet stored, and a
    /// generated column would depend on itself.
    fn refused_reference(&self, bound: &Expr, item: u16, purpose: RelationExpression) -> Option<SqlError> {
        let mut refused = None;
        bound.any(&mut |inner| {
            let Expr::Variable {
                relation,
                column,
                location,
                ..
            } = inner
            else {
                return false;
            };
            let name = match *column {
                _ if *relation != item => return false,
                CTID => "ctid",
                XMIN => "xmin",
                WHOLE_ROW => "*",
                _ => return false,
            };
            let location = ast::Location(*location);
            refused = match purpose {
                RelationExpression::Generated if *column == WHOLE_ROW => {
                    let message = "cannot use whole-row variable in column generation expression";
                    let error = self.error(state::INVALID_OBJECT_DEFINITION, location, message);
                    Some(error.detail("This would cause the generated column to depend on its own value."))
                }
                _ if *column == WHOLE_ROW => None,
                RelationExpression::Generated => {
                    let message =
                        format!("cannot use system column \"{name}\" in column generation expression");
                    Some(self.error(state::INVALID_COLUMN_REFERENCE, location, message))
                }
                RelationExpression::Check => {
                    let message =
                        format!("system column \"{name}\" reference in check constraint is invalid");
                    Some(self.error(state::INVALID_COLUMN_REFERENCE, location, message))
                }
                RelationExpression::NewValue | RelationExpression::CopyFilter => {
                    let place = if purpose == RelationExpression::NewValue {
                        "USING"
                    } else {
                        "WHERE of COPY"
                    };
                    let what = format!("system column \"{name}\" in {place}");
                    Some(SqlError::unsupported(what))
                }
                _ => None,
            };
            refused.is_some()
        });
        refused
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
            RelationExpression::IndexPredicate | RelationExpression::CopyFilter => {
                self.condition(expr, "WHERE")?
            }
            _ => self.expression(expr)?,
        };
        let bound = match target {
            Some((column, ty)) => self.coerce_assignment(bound, column, ty, expr.location)?,
            None => self.settle_unknown(bound, expr.location)?,
        };
        Ok((item, bound))
    }
}

/// The row whose columns begin at `first`, as a record.
pub(super) fn whole_row(relation: &Relation, first: u16, ty: ColumnType) -> Expr {
    let live = || {
        relation
            .columns
            .iter()
            .enumerate()
            .filter(|(_, column)| !column.dropped)
    };
    let field = |(position, column): (usize, &Column)| Expr::Column {
        index: first + position as u16,
        ty: column.ty,
    };
    Expr::Row {
        fields: live().map(field).collect(),
        names: live().map(|(_, column)| column.name.as_str().into()).collect(),
        ty,
    }
}

/// A field of a value of a composite type: what is read of it depends on the catalog, which whoever keeps an index up does
/// not have.
fn reads_attribute(expr: &Expr) -> bool {
    matches!(expr, Expr::FieldSelect { record, .. } if is_composite(record.ty().oid))
}
