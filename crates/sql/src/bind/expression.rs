//! Expressions: one function per form of the grammar.
//!
//! Leaves out: comparisons of rows and lists (`compare`), function calls (`call`), sub-queries (`subquery`).

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_types::family::bits::Bits;
use mote_types::{ColumnType, Datum, oid};

use super::scope::Clause;
use super::subscript::leading_subscripts;
use super::{Binder, type_label};
use crate::expr::{BooleanTest, Expr, SessionValue};
use mote_grammar::ast;
use mote_grammar::ast::{
    Constant, ExprKind, IndirectionStep, LikeForm, Location, SqlValueFunction, TruthValue,
};

impl Binder<'_> {
    /// Binds an expression; literals and parameters may come back without a type.
    pub(super) fn expression(&mut self, expr: &ast::Expr) -> SqlResult<Expr> {
        let bound = self.deeper(|this| this.expression_kind(expr))?;
        if self.trace.is_some() {
            self.trace_expression(expr, &bound);
        }
        Ok(bound)
    }

    /// Binds an expression whose type must be settled.
    pub(super) fn settled(&mut self, expr: &ast::Expr) -> SqlResult<Expr> {
        let bound = self.expression(expr)?;
        self.settle_unknown(bound, expr.location)
    }

    /// Binds a condition.
    pub(super) fn condition(&mut self, expr: &ast::Expr, construct: &str) -> SqlResult<Expr> {
        let bound = self.expression(expr)?;
        self.coerce_boolean(bound, construct, expr.start())
    }

    fn expression_kind(&mut self, expr: &ast::Expr) -> SqlResult<Expr> {
        let location = expr.location;
        match &expr.kind {
            ExprKind::Constant(constant) => self
                .constant(constant)
                .map_err(|error| error.at(self.position(location))),
            ExprKind::Parameter(number) => self.parameter(*number, location),
            ExprKind::Column(reference) if reference.star => match reference.parts.last() {
                // Where one value is wanted, `t.*` is the row.
                Some(qualifier) => self.whole_row_of(qualifier, location),
                None => Err(self.error(
                    state::SYNTAX_ERROR,
                    location,
                    "row expansion via \"*\" is not supported here",
                )),
            },
            ExprKind::Column(reference) => {
                if self.clause() == Some(Clause::ColumnDefault) {
                    let message = "cannot use column reference in DEFAULT expression";
                    return Err(self.error(state::FEATURE_NOT_SUPPORTED, location, message));
                }
                if self.clause() == Some(Clause::PartitionBound) {
                    let message = "cannot use column reference in partition bound expression";
                    return Err(self.error(state::INVALID_COLUMN_REFERENCE, location, message));
                }
                self.column_reference(reference, location)
            }
            ExprKind::Indirection { base, steps } => self.indirection(base, steps, location),
            ExprKind::Operator { name, left, right } => {
                self.operator_expression(name, left.as_deref(), right, location)
            }
            ExprKind::And(list) => Ok(Expr::And(self.conditions(list, "AND")?)),
            ExprKind::Or(list) => Ok(Expr::Or(self.conditions(list, "OR")?)),
            ExprKind::Not(operand) => Ok(Expr::Not(Box::new(self.condition(operand, "NOT")?))),
            ExprKind::IsNull { operand, negated } => self.is_null(operand, *negated),
            ExprKind::BooleanTest {
                operand,
                value,
                negated,
            } => self.boolean_test(operand, *value, *negated),
            ExprKind::IsDistinctFrom { left, right, negated } => {
                self.is_distinct(left, right, *negated, location)
            }
            ExprKind::InList {
                operand,
                list,
                negated,
            } => self.in_list(operand, list, *negated, location),
            ExprKind::InQuery { operand, query } => self.in_query(operand, query, location),
            ExprKind::QuantifiedArray {
                operand,
                operator,
                quantifier,
                array,
            } => self.quantified_array(operand, operator, *quantifier, array, location),
            ExprKind::QuantifiedQuery {
                operand,
                operator,
                quantifier,
                query,
            } => self.quantified_query(operand, operator, *quantifier, query, location),
            ExprKind::Between {
                operand,
                low,
                high,
                symmetric,
                negated,
            } => self.between(operand, low, high, *symmetric, *negated, location),
            ExprKind::Like {
                form,
                operand,
                pattern,
                escape,
                negated,
            } => self.like(*form, operand, pattern, escape.as_deref(), *negated, location),
            ExprKind::Case {
                operand,
                branches,
                otherwise,
            } => self.without_sets("CASE", |this| {
                this.case(operand.as_deref(), branches, otherwise.as_deref(), location)
            }),
            ExprKind::Coalesce(arguments) => {
                let (arguments, ty) =
                    self.without_sets("COALESCE", |this| this.unified(arguments, "COALESCE"))?;
                Ok(Expr::Coalesce { arguments, ty })
            }
            ExprKind::Greatest(arguments) => {
                let (arguments, ty) = self.unified(arguments, "GREATEST")?;
                Ok(Expr::MinMax {
                    arguments,
                    greatest: true,
                    ty,
                })
            }
            ExprKind::Least(arguments) => {
                let (arguments, ty) = self.unified(arguments, "LEAST")?;
                Ok(Expr::MinMax {
                    arguments,
                    greatest: false,
                    ty,
                })
            }
            ExprKind::NullIf(left, right) => self.null_if(left, right, location),
            ExprKind::Function(call) => self.function_call(call),
            ExprKind::Cast { operand, target } => self.cast(operand, target, location),
            ExprKind::Row { fields, .. } => self.row(fields),
            ExprKind::Array(elements) => self.array(elements, None, location),
            ExprKind::Exists(query) => self.exists(query, location),
            ExprKind::ScalarQuery(query) => self.scalar_query(query, location),
            ExprKind::ArrayQuery(query) => self.array_query(query, location),
            ExprKind::Collate { operand, collation } => self.collate(operand, collation, location),
            ExprKind::SqlValue { function, precision } => Ok(sql_value(*function, *precision, location)),
            ExprKind::Grouping(arguments) => self.grouping_call(arguments, location),
            ExprKind::Default => Err(self.error(
                state::SYNTAX_ERROR,
                location,
                "DEFAULT is not allowed in this context",
            )),
            ExprKind::CurrentOf(_) => Err(mote_common::SqlError::unsupported("WHERE CURRENT OF")),
            ExprKind::MergeAction => Err(mote_common::SqlError::unsupported("MERGE")),
        }
    }

    fn constant(&self, constant: &Constant) -> SqlResult<Expr> {
        Ok(match constant {
            Constant::Null => Expr::Constant(Datum::Null, ColumnType::UNKNOWN),
            Constant::Boolean(value) => Expr::Constant(Datum::Bool(*value), ColumnType::BOOL),
            Constant::Integer(value) => Expr::Constant(Datum::Int4(*value), ColumnType::INT4),
            Constant::Number(digits) => number(digits)?,
            Constant::String(text) => Expr::Constant(Datum::text(&**text), ColumnType::UNKNOWN),
            Constant::BitString(digits) => bits(&format!("b{digits}"))?,
            Constant::HexString(digits) => bits(&format!("x{digits}"))?,
        })
    }

    fn parameter(&mut self, number: u32, location: Location) -> SqlResult<Expr> {
        if let Some(variable) = self.numbered_variable(number, location)? {
            return Ok(variable);
        }
        let missing = || format!("there is no parameter ${number}");
        let index = number.checked_sub(1).and_then(|index| u16::try_from(index).ok());
        let Some(index) = index else {
            return Err(self.error(state::UNDEFINED_PARAMETER, location, missing()));
        };
        if self.parameters.len() <= index as usize {
            if !self.parameters_open {
                return Err(self.error(state::UNDEFINED_PARAMETER, location, missing()));
            }
            self.parameters.resize(index as usize + 1, ColumnType::UNKNOWN);
        }
        Ok(Expr::Parameter {
            index,
            ty: self.parameters[index as usize],
        })
    }

    fn conditions(&mut self, list: &[ast::Expr], construct: &str) -> SqlResult<Vec<Expr>> {
        list.iter().map(|expr| self.condition(expr, construct)).collect()
    }

    /// Several expressions of one type.
    fn unified(&mut self, list: &[ast::Expr], context: &str) -> SqlResult<(Vec<Expr>, ColumnType)> {
        let mut bound = Vec::with_capacity(list.len());
        for expr in list {
            bound.push((self.expression(expr)?, expr.start()));
        }
        self.unify(bound, context)
    }

    fn is_null(&mut self, operand: &ast::Expr, negated: bool) -> SqlResult<Expr> {
        let bound = self.expression(operand)?;
        // A parameter learns nothing here: unless another place gives it a type, that is an error (42P18).
        let bound = match bound {
            Expr::Parameter { .. } => bound,
            other => self.settle_unknown(other, operand.location)?,
        };
        let bound = Box::new(bound);
        Ok(if negated {
            Expr::IsNotNull(bound)
        } else {
            Expr::IsNull(bound)
        })
    }

    fn boolean_test(&mut self, operand: &ast::Expr, value: TruthValue, negated: bool) -> SqlResult<Expr> {
        let (test, word) = match value {
            TruthValue::True => (BooleanTest::True, "TRUE"),
            TruthValue::False => (BooleanTest::False, "FALSE"),
            TruthValue::Unknown => (BooleanTest::Unknown, "UNKNOWN"),
        };
        let construct = if negated {
            format!("IS NOT {word}")
        } else {
            format!("IS {word}")
        };
        let argument = Box::new(self.condition(operand, &construct)?);
        Ok(Expr::BooleanTest {
            argument,
            test,
            negated,
        })
    }

    fn between(
        &mut self,
        operand: &ast::Expr,
        low: &ast::Expr,
        high: &ast::Expr,
        symmetric: bool,
        negated: bool,
        location: Location,
    ) -> SqlResult<Expr> {
        let mut range = |low: &ast::Expr, high: &ast::Expr| -> SqlResult<Expr> {
            let value = self.expression(operand)?;
            let bound = self.expression(low)?;
            let above = self.operator(
                ">=",
                Some((value, operand.location)),
                (bound, low.location),
                location,
            )?;
            let value = self.expression(operand)?;
            let bound = self.expression(high)?;
            let below = self.operator(
                "<=",
                Some((value, operand.location)),
                (bound, high.location),
                location,
            )?;
            Ok(Expr::And(vec![above, below]))
        };
        let inside = match symmetric {
            true => Expr::Or(vec![range(low, high)?, range(high, low)?]),
            false => range(low, high)?,
        };
        Ok(if negated {
            Expr::Not(Box::new(inside))
        } else {
            inside
        })
    }

    fn like(
        &mut self,
        form: LikeForm,
        operand: &ast::Expr,
        pattern: &ast::Expr,
        escape: Option<&ast::Expr>,
        negated: bool,
        location: Location,
    ) -> SqlResult<Expr> {
        let name = match (form, negated) {
            (LikeForm::Like, false) => "~~",
            (LikeForm::Like, true) => "!~~",
            (LikeForm::ILike, false) => "~~*",
            (LikeForm::ILike, true) => "!~~*",
            (LikeForm::SimilarTo, false) => "~",
            (LikeForm::SimilarTo, true) => "!~",
        };
        let value = self.expression(operand)?;
        let mut wanted = self.expression(pattern)?;
        let transform = match form {
            LikeForm::SimilarTo => Some("similar_to_escape"),
            LikeForm::Like | LikeForm::ILike => escape.map(|_| "like_escape"),
        };
        if let Some(function) = transform {
            let mut arguments = vec![(wanted, pattern.location)];
            if let Some(escape) = escape {
                arguments.push((self.expression(escape)?, escape.location));
            }
            wanted = self.named_call(function, arguments, location)?;
        }
        self.operator(
            name,
            Some((value, operand.location)),
            (wanted, pattern.location),
            location,
        )
    }

    fn case(
        &mut self,
        operand: Option<&ast::Expr>,
        branches: &[ast::CaseBranch],
        otherwise: Option<&ast::Expr>,
        location: Location,
    ) -> SqlResult<Expr> {
        let mut conditions = Vec::with_capacity(branches.len());
        // PostgreSQL unifies the ELSE first, so its type leads.
        let mut results = Vec::with_capacity(branches.len() + 1);
        for branch in branches {
            let condition = match operand {
                None => self.condition(&branch.condition, "CASE/WHEN")?,
                Some(operand) => self.equality(operand, &branch.condition, branch.location)?,
            };
            conditions.push(condition);
        }
        let default = match otherwise {
            Some(expr) => (self.expression(expr)?, expr.start()),
            None => (Expr::Constant(Datum::Null, ColumnType::UNKNOWN), location),
        };
        results.push(default);
        for branch in branches {
            results.push((self.expression(&branch.result)?, branch.result.start()));
        }
        let (mut results, ty) = self.unify(results, "CASE")?;
        let default = results.remove(0);
        let otherwise = otherwise.is_some().then(|| Box::new(default));
        Ok(Expr::Case {
            branches: conditions.into_iter().zip(results).collect(),
            otherwise,
            ty,
        })
    }

    fn null_if(&mut self, left: &ast::Expr, right: &ast::Expr, location: Location) -> SqlResult<Expr> {
        let equality = self.equality(left, right, location)?;
        let Expr::Call {
            function, arguments, ..
        } = equality
        else {
            return Err(self.error(
                state::DATATYPE_MISMATCH,
                location,
                "NULLIF requires = operator to yield boolean",
            ));
        };
        let [left, right]: [Expr; 2] = arguments
            .try_into()
            .map_err(|_| mote_common::SqlError::internal("equality has two operands"))?;
        // Texts of any kind are compared as texts, and so is what comes out.
        let ty = match (function.signature().arguments.first(), left.ty().oid) {
            (Some(&oid::TEXT), oid::VARCHAR) => ColumnType::TEXT,
            _ => left.ty(),
        };
        Ok(Expr::NullIf {
            equals: function,
            left: Box::new(left),
            right: Box::new(right),
            ty,
        })
    }

    fn cast(&mut self, operand: &ast::Expr, target: &ast::TypeName, location: Location) -> SqlResult<Expr> {
        let (ty, domain) = self.declared_type(target)?;
        let Some(domain) = domain else {
            return self.cast_to_type(operand, ty, location);
        };
        let unknown = self.unknown_parameter(operand);
        let bound = self.cast_to_type(operand, ty, location);
        let bound = bound.map_err(|error| self.about_domain(error, ty, domain, location))?;
        self.parameter_domains
            .extend(unknown.map(|index| (index, domain)));
        self.into_domain(bound, domain)
    }

    /// Where no conversion leads to what a domain is made of, the domain is named.
    fn about_domain(&self, error: SqlError, base: ColumnType, domain: Oid, location: Location) -> SqlError {
        let base = type_label(base.oid);
        let message = error.fields().message.to_string();
        match message.strip_suffix(&*base) {
            Some(front) if error.state() == state::CANNOT_COERCE && front.ends_with(" to ") => {
                let message = format!("{front}{}", type_label(domain));
                self.error(state::CANNOT_COERCE, location, message)
            }
            _ => error,
        }
    }

    /// The place of a parameter that has no type so far.
    fn unknown_parameter(&self, operand: &ast::Expr) -> Option<u16> {
        let ast::ExprKind::Parameter(number) = operand.kind else {
            return None;
        };
        let index = u16::try_from(number.checked_sub(1)?).ok()?;
        let known = self.parameters.get(usize::from(index));
        (self.parameters_open && known.is_none_or(|ty| ty.oid == oid::UNKNOWN)).then_some(index)
    }

    fn cast_to_type(&mut self, operand: &ast::Expr, ty: ColumnType, location: Location) -> SqlResult<Expr> {
        if let ExprKind::Array(elements) = &operand.kind
            && let Some(element) = ty.element()
        {
            return self.array(elements, Some(element), operand.location);
        }
        let bound = self.expression(operand)?;
        // An error of the literal points at the literal, one of the conversion at the cast.
        let place = if self.type_of(&bound).oid == oid::UNKNOWN {
            operand.location
        } else {
            location
        };
        if let Some(constant) = self.regclass_literal(&bound, ty)? {
            return Ok(constant);
        }
        self.coerce_explicit(bound, ty, place)
    }

    fn row(&mut self, fields: &[ast::Expr]) -> SqlResult<Expr> {
        let mut bound = Vec::with_capacity(fields.len());
        for field in fields {
            match &field.kind {
                ExprKind::Column(reference) if reference.star => {
                    let qualifier = reference.parts.last().map(|name| &**name);
                    let columns = self.star_columns(qualifier, field.location)?;
                    bound.extend(columns.into_iter().map(|(_, expr)| expr));
                }
                _ => bound.push(self.settled(field)?),
            }
        }
        Ok(Expr::Row {
            fields: bound,
            names: Vec::new(),
            ty: ColumnType::RECORD,
        })
    }

    fn indirection(
        &mut self,
        base: &ast::Expr,
        steps: &[IndirectionStep],
        location: Location,
    ) -> SqlResult<Expr> {
        let mut expr = self.settled(base)?;
        let mut rest = steps;
        while let Some(step) = rest.first() {
            match step {
                IndirectionStep::Field(name) => {
                    expr = self.field(expr, name, location)?;
                    rest = &rest[1..];
                }
                IndirectionStep::Star => {
                    return Err(self.error(
                        state::SYNTAX_ERROR,
                        location,
                        "row expansion via \"*\" is not supported here",
                    ));
                }
                IndirectionStep::Subscript(_) | IndirectionStep::Slice { .. } => {
                    let (subscripts, behind) = leading_subscripts(rest);
                    expr = self.subscripts(expr, subscripts, base.start())?;
                    rest = behind;
                }
            }
        }
        Ok(expr)
    }

    fn collate(
        &mut self,
        operand: &ast::Expr,
        collation: &ast::QualifiedName,
        location: Location,
    ) -> SqlResult<Expr> {
        let bound = self.settled(operand)?;
        match collation.last() {
            "default" | "C" | "POSIX" | "C.UTF-8" | "ucs_basic" => Ok(bound),
            name => {
                let message = format!("collation \"{name}\" for encoding \"UTF8\" does not exist");
                Err(self.error(state::UNDEFINED_OBJECT, location, message))
            }
        }
    }

    /// COLLATION FOR (x COLLATE y) is y, quoted where it has to be.
    pub(super) fn written_collation(&self, name: &str, call: &ast::FunctionCall) -> Option<String> {
        let [argument] = call.arguments.as_slice() else {
            return None;
        };
        let ExprKind::Collate { collation, .. } = &argument.value.kind else {
            return None;
        };
        let (is_asked, collation) = (name == "pg_collation_for", collation.last());
        let is_plain = collation
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        is_asked.then(|| match is_plain && collation != "default" {
            true => collation.to_string(),
            false => format!("\"{collation}\""),
        })
    }
}

/// A literal of bits; its digits are behind the letter of their base.
fn bits(digits: &str) -> SqlResult<Expr> {
    let bits = Bits::parse(digits)?;
    Ok(Expr::Constant(bits.to_datum(), ColumnType::new(oid::BIT)))
}

/// A literal that the lexer took for too large: integer after all (the sign belongs to it), else bigint or numeric.
fn number(digits: &str) -> SqlResult<Expr> {
    let plain: String = digits.chars().filter(|c| *c != '_').collect();
    let lower = plain.to_ascii_lowercase();
    let radix = [("0x", 16), ("0o", 8), ("0b", 2)]
        .into_iter()
        .find(|(prefix, _)| lower.starts_with(prefix));
    let whole = match radix {
        Some((prefix, radix)) => i64::from_str_radix(&lower[prefix.len()..], radix).ok(),
        None => lower.parse::<i64>().ok(),
    };
    if let Some(value) = whole {
        if let Ok(value) = i32::try_from(value) {
            return Ok(Expr::Constant(Datum::Int4(value), ColumnType::INT4));
        }
        return Ok(Expr::Constant(Datum::Int8(value), ColumnType::INT8));
    }
    let settings = mote_types::FormatSettings::default();
    let value = mote_types::input_text(ColumnType::NUMERIC, &plain, &settings)?;
    Ok(Expr::Constant(value, ColumnType::NUMERIC))
}

/// CURRENT_TIMESTAMP and its kin.
fn sql_value(function: SqlValueFunction, precision: Option<i32>, location: Location) -> Expr {
    let (value, ty) = match function {
        SqlValueFunction::CurrentDate => (SessionValue::CurrentDate, ColumnType::DATE),
        SqlValueFunction::CurrentTime => (SessionValue::CurrentTime, ColumnType::new(oid::TIMETZ)),
        SqlValueFunction::CurrentTimestamp => (SessionValue::TransactionTimestamp, ColumnType::TIMESTAMPTZ),
        SqlValueFunction::LocalTime => (SessionValue::LocalTime, ColumnType::TIME),
        SqlValueFunction::LocalTimestamp => (SessionValue::LocalTimestamp, ColumnType::TIMESTAMP),
        SqlValueFunction::CurrentRole | SqlValueFunction::CurrentUser | SqlValueFunction::User => {
            (SessionValue::CurrentUser, ColumnType::NAME)
        }
        SqlValueFunction::SessionUser => (SessionValue::SessionUser, ColumnType::NAME),
        SqlValueFunction::CurrentCatalog => (SessionValue::CurrentCatalog, ColumnType::NAME),
        SqlValueFunction::CurrentSchema => (SessionValue::CurrentSchema, ColumnType::NAME),
    };
    let expr = Expr::SessionValue { value, ty };
    match precision {
        Some(precision) => {
            let target = ColumnType::with_typmod(ty.oid, precision.clamp(0, 6));
            Expr::Cast {
                argument: Box::new(expr),
                from: ty,
                ty: target,
                explicit: true,
                location: location.0,
            }
        }
        None => expr,
    }
}
