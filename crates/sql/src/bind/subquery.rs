//! Sub-queries in expressions: EXISTS, scalar, IN, ANY, ALL, ARRAY.
//!
//! Invariant: the bound query stands in `subqueries`, its number in the `SubPlanCall`; bindings of correlated columns
//! are made by the optimiser, which knows what can be decorrelated.

use std::cmp::Ordering;
use std::ops::Range;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::ColumnType;

use super::array::is_true_array;
use super::compare::Placed;
use super::query::{
    BoundCteStatement, BoundQuery, BoundTarget, FromTree, ItemColumn, ItemKind, QueryBody, SelectBody,
    visit_called, visit_deep,
};
use super::scope::Clause;
use super::{Binder, type_label};
use crate::builtin::function::FunctionId;
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
        let first = self.ctes.len() as u16;
        let mut bound = self.without_recursion("within a subquery", |this| this.query(query))?;
        bound.with = first..self.ctes.len() as u16;
        Ok(bound)
    }

    /// Visits what sub-queries of these numbers read, in their WITH queries, too. Those of the sub-queries `apart` are left out:
    /// arguments of an aggregate may be written inside of a sub-query and belong to this level.
    pub(super) fn visit_subqueries(
        &mut self,
        called: &[u16],
        apart: &[u16],
        visit: &mut dyn FnMut(&mut Expr),
    ) {
        visit_called(called, &mut self.items, &mut self.subqueries, visit);
        let with = |number: &u16| {
            self.subqueries[*number as usize]
                .as_ref()
                .map(|query| query.with.clone())
        };
        let apart: Vec<Range<u16>> = apart.iter().filter_map(with).collect();
        let inside: Vec<u16> = called.iter().filter_map(with).flatten().collect();
        for cte in inside {
            if apart.iter().any(|range| range.contains(&cte)) {
                continue;
            }
            let mut visit_query =
                |query: &mut BoundQuery| visit_deep(query, &mut self.items, &mut self.subqueries, visit);
            match &mut self.ctes[cte as usize].statement {
                BoundCteStatement::Query(Some(query)) => visit_query(query),
                BoundCteStatement::Recursive(Some(pair), _) => {
                    visit_query(&mut pair.0);
                    visit_query(&mut pair.1);
                }
                _ => {}
            }
        }
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
        if is_true_array(ty) {
            return self.subplan(bound, SubPlanKind::Array { stacked: true }, ty);
        }
        let Some(array) = ty.array_of() else {
            let message = format!("could not find array type for data type {}", type_label(ty.oid));
            return Err(self.error(state::UNDEFINED_OBJECT, location, message));
        };
        self.subplan(bound, SubPlanKind::Array { stacked: false }, array)
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
    ) -> SqlResult<(BoundQuery, Vec<Expr>, Vec<FunctionId>)> {
        let mut bound = self.nested_query(query, location)?;
        let left = self.left_operands(operand)?;
        self.check_columns(left.len(), bound.targets.len(), location)?;
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
        let name = &operator.name;
        if &**name != "=" && matches!(&operand.kind, ExprKind::Row { fields, .. } if fields.len() > 1) {
            let (bound, yes, equal) = self.row_tests(operand, name, query, location)?;
            let (left, functions) = (vec![yes], vec![equal]);
            let kind = match quantifier {
                Quantifier::Any => SubPlanKind::Any {
                    left,
                    functions,
                    negated: false,
                },
                Quantifier::All => SubPlanKind::All { left, functions },
            };
            return self.subplan(bound, kind, ColumnType::BOOL);
        }
        if quantifier == Quantifier::Any {
            return self.any_query(operand, name, query, location);
        }
        let (bound, left, functions) = self.compared_query(operand, &operator.name, query, location)?;
        self.subplan(bound, SubPlanKind::All { left, functions }, ColumnType::BOOL)
    }

    /// A row compared with each row of a query, as a query of booleans: only equality can be told column by column. With
    /// it come `true` and the equality of booleans, which ANY and ALL apply to them.
    fn row_tests(
        &mut self,
        operand: &ast::Expr,
        operator: &str,
        query: &ast::Query,
        location: Location,
    ) -> SqlResult<(BoundQuery, Expr, FunctionId)> {
        let bound = self.nested_query(query, location)?;
        let with = bound.with.clone();
        let left = self.left_operands(operand)?;
        self.check_columns(left.len(), bound.targets.len(), location)?;
        let column = |target: &BoundTarget| ItemColumn {
            name: target.name.clone(),
            ty: target.expr.ty(),
            origin: target.origin,
        };
        let columns: Vec<_> = bound.targets.iter().map(column).collect();
        let count = columns.len();
        let item = self.add_item("".into(), ItemKind::Subquery(Some(Box::new(bound))), columns)?;
        // It is of the query of booleans, not of this one: an aggregate around both may be of a query further out.
        self.item_levels[item as usize] += 1;
        let right = (0..count).map(|position| self.variable(item, position, location));
        let right = right.collect();
        let left = left.into_iter().map(|(expr, _)| expr).collect();
        let test = self.row_comparison_bound(operator, left, right, location)?;
        let body = SelectBody {
            from: vec![FromTree::Item(item)],
            ..SelectBody::default()
        };
        let target = BoundTarget {
            name: "".into(),
            expr: test,
            origin: (mote_common::Oid::INVALID, 0),
            location,
        };
        let mut tests = BoundQuery::new(QueryBody::Select(Box::new(body)), vec![target]);
        tests.with = with;
        tests.compares_rows = true;
        let boolean = mote_types::oid::BOOL;
        let equal = self
            .find_operator("=", Some(boolean), boolean, location)?
            .function;
        let yes = Expr::Constant(mote_types::Datum::Bool(true), ColumnType::BOOL);
        Ok((tests, yes, equal))
    }

    fn check_columns(&self, wanted: usize, columns: usize, location: Location) -> SqlResult<()> {
        let message = match columns.cmp(&wanted) {
            Ordering::Equal => return Ok(()),
            Ordering::Greater => "subquery has too many columns",
            Ordering::Less => "subquery has too few columns",
        };
        Err(self.error(state::SYNTAX_ERROR, location, message))
    }

    /// `(a, b) < (SELECT x, y ..)`: at most one row, and NULL for none.
    pub(super) fn row_query_comparison(
        &mut self,
        operator: &str,
        operand: &ast::Expr,
        query: &ast::Query,
        location: Location,
    ) -> SqlResult<Expr> {
        let (tests, ..) = self.row_tests(operand, operator, query, location)?;
        self.subplan(tests, SubPlanKind::Scalar, ColumnType::BOOL)
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
