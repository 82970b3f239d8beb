//! Operators and comparisons: of values, of rows, with lists, with arrays.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_types::catalog::extension::EXTENSION_TYPES;
use mote_types::{ColumnType, oid};

use super::polymorphic::resolve_polymorphic;
use super::resolve::{Choice, choose_operator};
use super::{Binder, type_label};
use crate::builtin::function::FunctionId;
use crate::builtin::operator::Operator;
use crate::expr::{Expr, RowOperator};
use mote_grammar::ast;
use mote_grammar::ast::{ExprKind, Location, OperatorName, Quantifier};

/// A bound expression with its place in the text.
pub(super) type Placed = (Expr, Location);

impl Binder<'_> {
    pub(super) fn operator_expression(
        &mut self,
        name: &OperatorName,
        left: Option<&ast::Expr>,
        right: &ast::Expr,
        location: Location,
    ) -> SqlResult<Expr> {
        self.check_operator_schema(name, location)?;
        if let Some(left) = left
            && let (ExprKind::Row { fields: left, .. }, ExprKind::Row { fields: right, .. }) =
                (&left.kind, &right.kind)
            && row_operator(&name.name).is_some()
        {
            return self.row_comparison(&name.name, left, right, location);
        }
        // `= NULL` inside a row comparison with a sub-query on one side is a sub-query comparison.
        if let Some(left) = left
            && let (ExprKind::Row { fields, .. }, ExprKind::ScalarQuery(query)) = (&left.kind, &right.kind)
            && fields.len() > 1
        {
            return self.row_query_comparison(&name.name, left, query, location);
        }
        let left = match left {
            Some(left) => Some((self.expression(left)?, left.location)),
            None => None,
        };
        let right = (self.expression(right)?, right.location);
        self.operator(&name.name, left, right, location)
    }

    fn check_operator_schema(&self, name: &OperatorName, location: Location) -> SqlResult<()> {
        match name.schema.as_deref() {
            None | Some("pg_catalog") => Ok(()),
            Some(schema) if !self.catalog.schema_exists(schema) => {
                let message = format!("schema \"{schema}\" does not exist");
                Err(self.error(state::INVALID_SCHEMA_NAME, location, message))
            }
            Some(schema) if self.has_operators(schema) => Ok(()),
            Some(schema) => {
                let message = format!("operator does not exist: {schema}.{}", name.name);
                Err(self.error(state::UNDEFINED_FUNCTION, location, message))
            }
        }
    }

    /// Does an extension have its operators there? A built-in one of the name is then found there, too.
    fn has_operators(&self, schema: &str) -> bool {
        let mut types = EXTENSION_TYPES.iter();
        types.any(|ty| self.catalog.has_extension_type(ty.oid, Some(schema)))
    }

    /// Resolves and applies an operator.
    pub(super) fn operator(
        &mut self,
        name: &str,
        left: Option<Placed>,
        right: Placed,
        location: Location,
    ) -> SqlResult<Expr> {
        let left_type = left.as_ref().map(|left| self.type_of(&left.0).oid);
        let right_type = self.type_of(&right.0).oid;
        let (left, right) = match (left, right) {
            // Two rows that were not written as such (whole-row references) compare field by field all the same.
            (
                Some((Expr::Row { fields: a, ty, .. }, _)),
                (
                    Expr::Row {
                        fields: b, ty: other, ..
                    },
                    _,
                ),
            ) if ty == ColumnType::RECORD && other == ty => {
                return self.row_comparison_bound(name, a, b, location);
            }
            other => other,
        };
        let operator = self.find_operator(name, left_type, right_type, location)?;
        let (left_declared, right_declared, result) =
            self.operator_types(operator, left_type.unwrap_or(Oid::INVALID), right_type);
        let mut arguments = Vec::with_capacity(2);
        if let Some((expr, place)) = left {
            arguments.push(self.coerce_argument(expr, left_declared, place)?);
        }
        arguments.push(self.coerce_argument(right.0, right_declared, right.1)?);
        let ty = ColumnType::new(result);
        Ok(Expr::Call {
            function: operator.function,
            arguments,
            variadic: false,
            ty,
            location: location.0,
        })
    }

    fn operator_types(&self, operator: &Operator, left: Oid, right: Oid) -> (Oid, Oid, Oid) {
        match resolve_polymorphic(&[operator.left, operator.right], &[left, right], operator.result) {
            Ok((types, result)) => (types[0], types[1], result),
            Err(_) => (operator.left, operator.right, operator.result),
        }
    }

    /// The operator for these operand types, or PostgreSQL's complaint.
    pub(super) fn find_operator(
        &self,
        name: &str,
        left: Option<Oid>,
        right: Oid,
        location: Location,
    ) -> SqlResult<&'static Operator> {
        let described = || match left {
            Some(left) => format!("{} {name} {}", type_label(left), type_label(right)),
            None => format!("{name} {}", type_label(right)),
        };
        match choose_operator(name, left.unwrap_or(Oid::INVALID), right, self.catalog) {
            Choice::One(operator) => Ok(operator),
            Choice::None => Err(self
                .error(
                    state::UNDEFINED_FUNCTION,
                    location,
                    format!("operator does not exist: {}", described()),
                )
                .hint(match left {
                    Some(_) => {
                        "No operator matches the given name and argument types. \
                         You might need to add explicit type casts."
                    }
                    None => {
                        "No operator matches the given name and argument type. \
                         You might need to add an explicit type cast."
                    }
                })),
            Choice::Ambiguous => Err(self
                .error(
                    state::AMBIGUOUS_FUNCTION,
                    location,
                    format!("operator is not unique: {}", described()),
                )
                .hint(
                    "Could not choose a best candidate operator. You might need to add explicit type casts.",
                )),
        }
    }

    /// `left = right` of unbound operands, rows included.
    pub(super) fn equality(
        &mut self,
        left: &ast::Expr,
        right: &ast::Expr,
        location: Location,
    ) -> SqlResult<Expr> {
        let name = OperatorName {
            schema: None,
            name: "=".into(),
        };
        self.operator_expression(&name, Some(left), right, location)
    }

    fn row_comparison(
        &mut self,
        name: &str,
        left: &[ast::Expr],
        right: &[ast::Expr],
        location: Location,
    ) -> SqlResult<Expr> {
        let mut a = Vec::with_capacity(left.len());
        let mut b = Vec::with_capacity(right.len());
        for expr in left {
            a.push(self.expression(expr)?);
        }
        for expr in right {
            b.push(self.expression(expr)?);
        }
        self.row_comparison_bound(name, a, b, location)
    }

    pub(super) fn row_comparison_bound(
        &mut self,
        name: &str,
        left: Vec<Expr>,
        right: Vec<Expr>,
        location: Location,
    ) -> SqlResult<Expr> {
        if left.len() != right.len() {
            let message = "unequal number of entries in row expressions";
            return Err(self.error(state::SYNTAX_ERROR, location, message));
        }
        if left.is_empty() {
            let message = "cannot compare rows of zero length";
            return Err(self.error(state::FEATURE_NOT_SUPPORTED, location, message));
        }
        let Some(operator) = row_operator(name) else {
            for (a, b) in left.iter().zip(&right) {
                let types = (self.type_of(a).oid, self.type_of(b).oid);
                self.find_operator(name, Some(types.0), types.1, location)?;
            }
            let message = format!("could not determine interpretation of row comparison operator {name}");
            return Err(self.error(state::FEATURE_NOT_SUPPORTED, location, message));
        };
        if matches!(operator, RowOperator::Equal | RowOperator::NotEqual) {
            let mut tests = Vec::with_capacity(left.len());
            for (a, b) in left.into_iter().zip(right) {
                tests.push(self.operator(name, Some((a, location)), (b, location), location)?);
            }
            if tests.len() == 1 {
                return Ok(tests.remove(0));
            }
            return Ok(if operator == RowOperator::Equal {
                Expr::And(tests)
            } else {
                Expr::Or(tests)
            });
        }
        let (mut equals, mut less) = (Vec::new(), Vec::new());
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for (left, right) in left.into_iter().zip(right) {
            let smaller = self.operator("<", Some((left, location)), (right, location), location)?;
            let Expr::Call {
                function, arguments, ..
            } = smaller
            else {
                return Err(SqlError::internal("an operator binds to a call"));
            };
            let signature = function.signature();
            let (x, y) = (signature.arguments[0], signature.arguments[1]);
            equals.push(self.find_operator("=", Some(x), y, location)?.function);
            less.push(function);
            let mut operands = arguments.into_iter();
            a.extend(operands.next());
            b.extend(operands.next());
        }
        Ok(Expr::RowComparison {
            operator,
            left: a,
            right: b,
            equals,
            less,
        })
    }

    pub(super) fn is_distinct(
        &mut self,
        left: &ast::Expr,
        right: &ast::Expr,
        negated: bool,
        location: Location,
    ) -> SqlResult<Expr> {
        if let (ExprKind::Row { fields: a, .. }, ExprKind::Row { fields: b, .. }) = (&left.kind, &right.kind)
        {
            if a.len() != b.len() {
                let message = "unequal number of entries in row expressions";
                return Err(self.error(state::SYNTAX_ERROR, location, message));
            }
            let mut tests = Vec::with_capacity(a.len());
            for (x, y) in a.iter().zip(b) {
                tests.push(self.is_distinct(x, y, negated, location)?);
            }
            return Ok(if negated {
                Expr::And(tests)
            } else {
                Expr::Or(tests)
            });
        }
        let equality = self.equality(left, right, location)?;
        let Expr::Call {
            function, arguments, ..
        } = equality
        else {
            let message = "IS DISTINCT FROM requires = operator to yield boolean";
            return Err(self.error(state::DATATYPE_MISMATCH, location, message));
        };
        let mut operands = arguments.into_iter();
        match (operands.next(), operands.next()) {
            (Some(left), Some(right)) => Ok(Expr::DistinctFrom {
                equals: function,
                left: Box::new(left),
                right: Box::new(right),
                negated,
            }),
            _ => Err(SqlError::internal("equality has two operands")),
        }
    }

    pub(super) fn in_list(
        &mut self,
        operand: &ast::Expr,
        list: &[ast::Expr],
        negated: bool,
        location: Location,
    ) -> SqlResult<Expr> {
        let is_row = matches!(operand.kind, ExprKind::Row { .. });
        if !is_row && list.len() > 1 {
            let bound = self.expression(operand)?;
            let mut values = Vec::with_capacity(list.len());
            for item in list {
                values.push((self.expression(item)?, item.location));
            }
            let simple = |expr: &Expr| matches!(expr, Expr::Constant(..) | Expr::Parameter { .. });
            if values.iter().all(|(expr, _)| {
                simple(expr) || !expr.any(&mut |e| matches!(e, Expr::Variable { .. } | Expr::SubPlan(_)))
            }) && let Some(test) =
                self.simple_in_list((bound, operand.location), values, negated, location)?
            {
                return Ok(test);
            }
        }
        let name = if negated { "<>" } else { "=" };
        let name = OperatorName {
            schema: None,
            name: name.into(),
        };
        let mut tests = Vec::with_capacity(list.len());
        for item in list {
            tests.push(self.operator_expression(&name, Some(operand), item, location)?);
        }
        if tests.len() == 1 {
            return Ok(tests.remove(0));
        }
        Ok(if negated {
            Expr::And(tests)
        } else {
            Expr::Or(tests)
        })
    }

    /// A list of values without columns: one common type, one equality. `None` where there is no such type.
    fn simple_in_list(
        &mut self,
        operand: Placed,
        values: Vec<Placed>,
        negated: bool,
        location: Location,
    ) -> SqlResult<Option<Expr>> {
        let mut types = vec![(self.type_of(&operand.0), operand.1)];
        types.extend(values.iter().map(|(expr, place)| (self.type_of(expr), *place)));
        let Ok(common) = self.common_type(&types, "IN") else {
            return Ok(None);
        };
        let common = ColumnType::new(common.oid);
        let operand_type = self.type_of(&operand.0).oid;
        let left = if operand_type == oid::UNKNOWN {
            common.oid
        } else {
            operand_type
        };
        let operator = self.find_operator("=", Some(left), common.oid, location)?;
        let (left_declared, right_declared, _) = self.operator_types(operator, left, common.oid);
        let argument = Box::new(self.coerce_argument(operand.0, left_declared, operand.1)?);
        let mut list = Vec::with_capacity(values.len());
        for (expr, place) in values {
            let expr = self.coerce_common(expr, common, "IN", place)?;
            list.push(self.coerce_argument(expr, right_declared, place)?);
        }
        Ok(Some(Expr::InList {
            function: operator.function,
            argument,
            list: Arc::new(list),
            negated,
        }))
    }

    pub(super) fn quantified_array(
        &mut self,
        operand: &ast::Expr,
        operator: &OperatorName,
        quantifier: Quantifier,
        array: &ast::Expr,
        location: Location,
    ) -> SqlResult<Expr> {
        self.check_operator_schema(operator, location)?;
        let left = self.expression(operand)?;
        let mut right = self.expression(array)?;
        let left_type = self.type_of(&left);
        if self.type_of(&right).oid == oid::UNKNOWN {
            let element = if left_type.oid == oid::UNKNOWN {
                ColumnType::TEXT
            } else {
                left_type
            };
            let wanted = ColumnType::new(element.oid)
                .array_of()
                .unwrap_or(ColumnType::new(oid::TEXT_ARRAY));
            right = self.coerce_explicit(right, wanted, array.location)?;
        }
        let array_type = self.type_of(&right);
        let Some(element) = array_type.element() else {
            return Err(self.error(
                state::WRONG_OBJECT_TYPE,
                location,
                "op ANY/ALL (array) requires array on right side",
            ));
        };
        let found = self.find_operator(&operator.name, Some(left_type.oid), element.oid, location)?;
        if found.result != oid::BOOL {
            return Err(self.error(
                state::WRONG_OBJECT_TYPE,
                location,
                "op ANY/ALL (array) requires operator to yield boolean",
            ));
        }
        let (left_declared, right_declared, _) = self.operator_types(found, left_type.oid, element.oid);
        let argument = Box::new(self.coerce_argument(left, left_declared, operand.location)?);
        let wanted = ColumnType::new(right_declared)
            .array_of()
            .map_or(array_type.oid, |array| array.oid);
        let vector = matches!(array_type.oid, oid::INT2VECTOR | oid::OIDVECTOR);
        let same_form = mote_types::catalog::is_text_like(element.oid) && right_declared == oid::TEXT;
        let array = match vector || same_form {
            true => right,
            false => self.coerce_explicit(right, ColumnType::new(wanted), array.location)?,
        };
        let all = quantifier == Quantifier::All;
        Ok(Expr::ArrayComparison {
            function: found.function,
            argument,
            array: Arc::new(array),
            all,
        })
    }

    /// The equality function between two types, for IN and = ANY over queries.
    pub(super) fn comparison_functions(
        &mut self,
        name: &str,
        left: Vec<Placed>,
        right: &[ColumnType],
        location: Location,
    ) -> SqlResult<(Vec<Expr>, Vec<FunctionId>, Vec<Oid>)> {
        let mut converted = Vec::with_capacity(left.len());
        let mut functions = Vec::with_capacity(left.len());
        let mut wanted = Vec::with_capacity(left.len());
        for ((expr, place), right) in left.into_iter().zip(right) {
            let left_type = self.type_of(&expr).oid;
            let operator = self.find_operator(name, Some(left_type), right.oid, location)?;
            let (left_declared, right_declared, _) = self.operator_types(operator, left_type, right.oid);
            converted.push(self.coerce_argument(expr, left_declared, place)?);
            functions.push(operator.function);
            wanted.push(right_declared);
        }
        Ok((converted, functions, wanted))
    }
}

fn row_operator(name: &str) -> Option<RowOperator> {
    Some(match name {
        "=" => RowOperator::Equal,
        "<>" => RowOperator::NotEqual,
        "<" => RowOperator::Less,
        "<=" => RowOperator::LessOrEqual,
        ">" => RowOperator::Greater,
        ">=" => RowOperator::GreaterOrEqual,
        _ => return None,
    })
}
