//! Sub-queries in expressions: EXISTS, scalar, IN, ANY, ALL, ARRAY.
//!
//! Invariant: the bound query stands in `subqueries`, its number in the `SubPlanCall`; bindings of correlated columns
//! are made by the optimiser, which knows what can be decorrelated.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::ColumnType;

use super::compare::Placed;
use super::query::BoundQuery;
use super::scope::Clause;
use super::{Binder, type_label};
use crate::expr::{Expr, SubPlanCall, SubPlanKind};
use mote_grammar::ast;
use mote_grammar::ast::{ExprKind, Location, OperatorName, Quantifier};

impl Binder<'_> {
    pub(super) fn subplan(
        &mut self,
        query: BoundQuery,
        kind: SubPlanKind,
        ty: ColumnType,
    ) -> SqlResult<Expr> {
        let plan = u16::try_from(self.subqueries.len())
            .map_err(|_| SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, "too many sub-queries"))?;
        self.subqueries.push(Some(query));
        Ok(Expr::SubPlan(Box::new(SubPlanCall {
            plan,
            kind,
            bindings: Vec::new(),
            ty,
        })))
    }

    fn nested_query(&mut self, query: &ast::Query, location: Location) -> SqlResult<BoundQuery> {
        if let Some(place) = self.clause().and_then(Clause::forbids_subqueries) {
            let message = format!("cannot use subquery in {place}");
            return Err(self.error(state::FEATURE_NOT_SUPPORTED, location, message));
        }
        self.without_recursion("within a subquery", |this| this.query(query))
    }

    pub(super) fn exists(&mut self, query: &ast::Query, location: Location) -> SqlResult<Expr> {
        let bound = self.nested_query(query, location)?;
        self.subplan(bound, SubPlanKind::Exists, ColumnType::BOOL)
    }

    fn single_column(
        &mut self,
        query: &ast::Query,
        location: Location,
    ) -> SqlResult<(BoundQuery, ColumnType)> {
        let bound = self.nested_query(query, location)?;
        match bound.targets.as_slice() {
            [target] => {
                let ty = target.expr.ty();
                Ok((bound, ty))
            }
            _ => Err(self.error(
                state::SYNTAX_ERROR,
                location,
                "subquery must return only one column",
            )),
        }
    }

    pub(super) fn scalar_query(&mut self, query: &ast::Query, location: Location) -> SqlResult<Expr> {
        let (bound, ty) = self.single_column(query, location)?;
        self.subplan(bound, SubPlanKind::Scalar, ty)
    }

    pub(super) fn array_query(&mut self, query: &ast::Query, location: Location) -> SqlResult<Expr> {
        let (bound, ty) = self.single_column(query, location)?;
        let Some(array) = ty.array_of() else {
            let message = format!("could not find array type for data type {}", type_label(ty.oid));
            return Err(self.error(state::UNDEFINED_OBJECT, location, message));
        };
        self.subplan(bound, SubPlanKind::Array, array)
    }

    /// The operands on the left of IN and ANY.
    fn left_operands(&mut self, operand: &ast::Expr) -> SqlResult<Vec<Placed>> {
        match &operand.kind {
            ExprKind::Row { fields, .. } => {
                let mut bound = Vec::with_capacity(fields.len());
                for field in fields {
                    bound.push((self.expression(field)?, field.location));
                }
                Ok(bound)
            }
            _ => Ok(vec![(self.expression(operand)?, operand.location)]),
        }
    }

    pub(super) fn in_query(
        &mut self,
        operand: &ast::Expr,
        query: &ast::Query,
        location: Location,
    ) -> SqlResult<Expr> {
        self.any_query(operand, "=", query, location)
    }

    fn any_query(
        &mut self,
        operand: &ast::Expr,
        operator: &str,
        query: &ast::Query,
        location: Location,
    ) -> SqlResult<Expr> {
        let (bound, left, functions) = self.compared_query(operand, operator, query, location)?;
        let kind = SubPlanKind::Any {
            left,
            functions,
            negated: false,
        };
        self.subplan(bound, kind, ColumnType::BOOL)
    }

    /// Binds both sides and makes their columns comparable.
    fn compared_query(
        &mut self,
        operand: &ast::Expr,
        operator: &str,
        query: &ast::Query,
        location: Location,
    ) -> SqlResult<(BoundQuery, Vec<Expr>, Vec<crate::builtin::function::FunctionId>)> {
        let mut bound = self.nested_query(query, location)?;
        let left = self.left_operands(operand)?;
        if left.len() < bound.targets.len() {
            return Err(self.error(state::SYNTAX_ERROR, location, "subquery has too many columns"));
        }
        if left.len() > bound.targets.len() {
            return Err(self.error(state::SYNTAX_ERROR, location, "subquery has too few columns"));
        }
        let types: Vec<_> = bound.targets.iter().map(|target| target.expr.ty()).collect();
        let (left, functions, wanted) = self.comparison_functions(operator, left, &types, location)?;
        let plain = !matches!(bound.body, super::query::QueryBody::SetOperation { .. });
        for (position, ty) in wanted.iter().enumerate() {
            let target = &bound.targets[position];
            if target.expr.ty().oid == *ty || (!plain && bound.distinct.is_some()) {
                continue;
            }
            let expr = target.expr.clone();
            bound.targets[position].expr = self.coerce_argument(expr, *ty, location)?;
        }
        Ok((bound, left, functions))
    }

    pub(super) fn quantified_query(
        &mut self,
        operand: &ast::Expr,
        operator: &OperatorName,
        quantifier: Quantifier,
        query: &ast::Query,
        location: Location,
    ) -> SqlResult<Expr> {
        if quantifier == Quantifier::Any {
            return self.any_query(operand, &operator.name, query, location);
        }
        let (bound, left, functions) = self.compared_query(operand, &operator.name, query, location)?;
        self.subplan(bound, SubPlanKind::All { left, functions }, ColumnType::BOOL)
    }

    /// `(a, b) = (SELECT x, y ..)`: at most one row, which is ANY over a query that checks its row count.
    pub(super) fn row_query_comparison(
        &mut self,
        operator: &str,
        operand: &ast::Expr,
        query: &ast::Query,
        location: Location,
    ) -> SqlResult<Expr> {
        if operator != "=" {
            return Err(SqlError::unsupported(
                "row comparison with a sub-query other than by =",
            ));
        }
        self.any_query(operand, operator, query, location)
    }

    /// `'name'::regclass`, where the name is known now: a constant, so that look-ups by OID use it.
    pub(super) fn regclass_literal(&mut self, expr: &Expr, target: ColumnType) -> SqlResult<Option<Expr>> {
        let Expr::Constant(mote_types::Datum::Text(text), ty) = expr else {
            return Ok(None);
        };
        if target.oid != mote_types::oid::REGCLASS || ty.oid != mote_types::oid::UNKNOWN {
            return Ok(None);
        }
        if text.contains('"') || text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(None);
        }
        let lower = text.to_ascii_lowercase();
        let (schema, name) = match lower.split_once('.') {
            Some((schema, name)) => (Some(schema), name),
            None => (None, &*lower),
        };
        let Some(relation) = self.catalog.relation_by_name(schema, name) else {
            return Ok(None);
        };
        let known = self.dependencies.iter().any(|known| known.object == relation.oid);
        if !known {
            let dependency = crate::access::Dependency {
                object: relation.oid,
                version: relation.version,
            };
            self.dependencies.push(dependency);
        }
        Ok(Some(Expr::Constant(mote_types::Datum::oid(relation.oid), target)))
    }
}
