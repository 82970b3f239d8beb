//! From the plan's expressions to evaluable ones: functions resolved to their bodies, hot operators specialised.

use std::sync::Arc;

use mote_common::work::Meter;
use mote_common::{SqlError, SqlResult};
use mote_functions::arithmetic::IntegerWidth;
use mote_sql::builtin::function::{FUNCTIONS, FunctionId};
use mote_sql::expr::{DomainExpr, DomainRule, Expr, RoutineExpr, SubPlanCall, SubPlanKind, Subscript};
use mote_types::catalog::user::is_composite;
use mote_types::pattern::{Escape, LikePattern};
use mote_types::{ColumnType, Datum, Oid, RowType, oid};

use super::array::{ArrayConstructor, SubscriptTerm, Subscripting};
use super::array_assignment::SubscriptAssignment;
use super::cast::Cast;
use super::comparison::{
    ArrayComparison, Compare, DistinctFrom, InList, NullIf, PairOrder, Predicate, RowComparison,
};
use super::domain::{DomainCheck, Rule};
use super::jsonb_subscript::{JsonbAssignment, JsonbSubscript};
use super::like::{self, Like};
use super::numeric::{self, NumericOperation};
use super::subplan::{Kind, Quantified, SubPlan};
use super::{Call, Expression, IntegerOperation, IntegerOperator, RoutineSite};
use crate::functions::{self, CallSite, comparison_operation};

/// What an expression costs to compile, in units of `work`.
const NODE_UNITS: usize = 256;

/// Compiles a list of its own, paying for the work as it goes.
pub fn compile_all(list: &[Expr]) -> SqlResult<Box<[Expression]>> {
    compile_list(list, &mut Meter::default())
}

/// Compiles a list that is one of many: together they are paid for.
pub fn compile_list(list: &[Expr], work: &mut Meter) -> SqlResult<Box<[Expression]>> {
    let mut compiled = Vec::with_capacity(list.len());
    for expr in list {
        work.tick(NODE_UNITS)?;
        compiled.push(compile(expr)?);
    }
    Ok(compiled.into())
}

/// Compiles what may be missing.
pub fn compile_option(expr: &Option<Expr>) -> SqlResult<Option<Expression>> {
    expr.as_ref().map(compile).transpose()
}

/// Compiles one expression.
pub fn compile(expr: &Expr) -> SqlResult<Expression> {
    Ok(match expr {
        Expr::Constant(value, _) => Expression::Constant(value.clone()),
        Expr::Column { index, .. } | Expr::AggregateResult { index, .. } => {
            Expression::Column(*index as usize)
        }
        Expr::Parameter { index, .. } => Expression::Parameter(*index as usize),
        Expr::ExecParameter { id, .. } => Expression::ExecParameter(id.0 as usize),
        Expr::Excluded { index, .. } => Expression::Excluded(*index as usize),
        // The binder's form of a column; the planner has turned each into a position of its node's row.
        Expr::Variable { .. } => return Err(SqlError::internal("a column was not placed by the planner")),
        Expr::Call {
            function,
            arguments,
            variadic,
            ty,
            ..
        } => compile_call(*function, arguments, *variadic, *ty)?,
        Expr::Routine(call) => Expression::Routine(Box::new(RoutineSite::compile(call)?)),
        Expr::Cast {
            argument,
            from,
            ty,
            explicit,
            ..
        } => Cast::compile(compile(argument)?, *from, *ty, *explicit),
        Expr::Domain(domain) => Expression::Domain(Box::new(DomainCheck::compile(domain)?)),
        // Terms keep their order: which of two failing ones is met first depends on it.
        Expr::And(terms) => Expression::And(compile_all(terms)?),
        Expr::Or(terms) => Expression::Or(compile_all(terms)?),
        Expr::Not(argument) => Expression::Not(Box::new(compile(argument)?)),
        Expr::IsNull(argument) => Expression::IsNull(Box::new(compile(argument)?)),
        Expr::IsNotNull(argument) => Expression::IsNotNull(Box::new(compile(argument)?)),
        Expr::BooleanTest {
            argument,
            test,
            negated,
        } => Expression::BooleanTest {
            argument: Box::new(compile(argument)?),
            test: *test,
            negated: *negated,
        },
        Expr::DistinctFrom { .. }
        | Expr::NullIf { .. }
        | Expr::ArrayComparison { .. }
        | Expr::InList { .. }
        | Expr::RowComparison { .. } => compile_comparison(expr)?,
        Expr::Case {
            branches, otherwise, ..
        } => compile_case(branches, otherwise.as_deref())?,
        Expr::Coalesce { arguments, .. } => Expression::Coalesce(compile_all(arguments)?),
        Expr::MinMax {
            arguments, greatest, ..
        } => Expression::MinMax {
            arguments: compile_all(arguments)?,
            greatest: *greatest,
        },
        Expr::Array { .. }
        | Expr::Row { .. }
        | Expr::SubscriptAssign { .. }
        | Expr::Subscript { .. }
        | Expr::FieldSelect { .. } => compile_container(expr)?,
        // The tree is compiled with the program; here stands its number and what it is asked.
        Expr::SubPlan(call) => compile_subplan(call)?,
        Expr::SessionValue { value, ty } => Expression::SessionValue {
            value: *value,
            ty: *ty,
        },
        Expr::Sequence { call, arguments, .. } => Expression::Sequence {
            call: *call,
            arguments: compile_all(arguments)?,
        },
    })
}

fn compile_case(branches: &[(Expr, Expr)], otherwise: Option<&Expr>) -> SqlResult<Expression> {
    let branches = branches
        .iter()
        .map(|(condition, result)| Ok((compile(condition)?, compile(result)?)))
        .collect::<SqlResult<_>>()?;
    // CASE without ELSE answers NULL.
    let otherwise = match otherwise {
        Some(otherwise) => compile(otherwise)?,
        None => Expression::Constant(Datum::Null),
    };
    Ok(Expression::Case {
        branches,
        otherwise: Box::new(otherwise),
    })
}

/// Comparisons that SQL writes in words or over lists, each by the functions that the binder found for its operands.
fn compile_comparison(expr: &Expr) -> SqlResult<Expression> {
    Ok(match expr {
        Expr::DistinctFrom {
            equals,
            left,
            right,
            negated,
        } => Expression::DistinctFrom(Box::new(DistinctFrom {
            equal: predicate(*equals)?,
            left: compile(left)?,
            right: compile(right)?,
            negated: *negated,
        })),
        Expr::NullIf {
            equals, left, right, ..
        } => Expression::NullIf(Box::new(NullIf {
            equal: predicate(*equals)?,
            left: compile(left)?,
            right: compile(right)?,
        })),
        Expr::ArrayComparison {
            function,
            argument,
            array,
            all,
        } => Expression::ArrayComparison(Box::new(ArrayComparison {
            predicate: predicate(*function)?,
            argument: compile(argument)?,
            array: compile(array)?,
            all: *all,
        })),
        // Constants are hashed here, once per plan.
        Expr::InList {
            function,
            argument,
            list,
            negated,
        } => Expression::InList(Box::new(InList::new(
            predicate(*function)?,
            compile(argument)?,
            compile_all(list)?.into_vec(),
            *negated,
        ))),
        Expr::RowComparison {
            operator,
            left,
            right,
            equals,
            less,
        } => Expression::RowComparison(Box::new(RowComparison {
            operator: *operator,
            left: compile_all(left)?,
            right: compile_all(right)?,
            orders: equals
                .iter()
                .zip(less)
                .map(|(&equal, &less)| pair_order(equal, less))
                .collect::<SqlResult<_>>()?,
        })),
        _ => {
            return Err(SqlError::internal(
                "an expression of another kind is no comparison",
            ));
        }
    })
}

/// Arrays, rows and `jsonb`: made of parts, and the parts of them.
fn compile_container(expr: &Expr) -> SqlResult<Expression> {
    Ok(match expr {
        Expr::Array {
            elements,
            ty,
            multidimensional,
        } => Expression::Array(Box::new(ArrayConstructor {
            elements: compile_all(elements)?,
            element: element_of(*ty),
            multidimensional: *multidimensional,
        })),
        Expr::Row { fields, names, ty } => Expression::Row {
            ty: row_type_of(fields, names, *ty),
            fields: compile_all(fields)?,
        },
        Expr::SubscriptAssign {
            container,
            subscripts,
            value,
            ty,
        } if ty.oid == oid::JSONB => Expression::JsonbAssign(Box::new(JsonbAssignment {
            container: compile(container)?,
            subscripts: compile_elements(subscripts)?,
            value: compile(value)?,
        })),
        Expr::SubscriptAssign {
            container,
            subscripts,
            value,
            ty,
        } => Expression::SubscriptAssign(Box::new(SubscriptAssignment {
            container: compile(container)?,
            subscripts: compile_subscripts(subscripts)?,
            value: compile(value)?,
            element: element_of(*ty),
        })),
        Expr::Subscript {
            array, subscripts, ..
        } if array.ty().oid == oid::JSONB => Expression::JsonbSubscript(Box::new(JsonbSubscript {
            container: compile(array)?,
            subscripts: compile_elements(subscripts)?,
        })),
        Expr::Subscript {
            array, subscripts, ..
        } => Expression::Subscript(Box::new(Subscripting {
            array: compile(array)?,
            subscripts: compile_subscripts(subscripts)?,
        })),
        Expr::FieldSelect { record, field, ty } => Expression::Field {
            record: Box::new(compile(record)?),
            field: *field as usize,
            ty: *ty,
        },
        _ => return Err(SqlError::internal("an expression of another kind has no parts")),
    })
}

impl DomainCheck {
    fn compile(expr: &DomainExpr) -> SqlResult<DomainCheck> {
        let rule = |rule: &DomainRule| {
            Ok(match rule {
                DomainRule::NotNull => Rule::NotNull,
                DomainRule::Check { name, condition } => Rule::Check {
                    name: name.clone(),
                    condition: compile(condition)?,
                },
            })
        };
        Ok(DomainCheck {
            argument: compile(&expr.argument)?,
            domain: expr.rules.domain,
            schema: expr.rules.schema.clone(),
            name: expr.rules.name.clone(),
            rules: expr.rules.rules.iter().map(rule).collect::<SqlResult<_>>()?,
            is_test: expr.is_test,
        })
    }
}

impl RoutineSite {
    pub fn compile(call: &RoutineExpr) -> SqlResult<RoutineSite> {
        Ok(RoutineSite {
            routine: call.routine.clone(),
            arguments: compile_all(&call.arguments)?,
            types: call.arguments.iter().map(Expr::ty).collect(),
            result: call.ty,
            columns: call.columns.clone(),
        })
    }
}

/// Subscripts where the binder lets no slices through.
fn compile_elements(subscripts: &[Subscript]) -> SqlResult<Box<[Expression]>> {
    let element = |subscript: &Subscript| match subscript {
        Subscript::Element(expr) => compile(expr),
        Subscript::Slice(..) => Err(SqlError::internal("a slice of jsonb")),
    };
    subscripts.iter().map(element).collect()
}

fn compile_subscripts(subscripts: &[Subscript]) -> SqlResult<Box<[SubscriptTerm]>> {
    let term = |subscript: &Subscript| {
        Ok(match subscript {
            Subscript::Element(expr) => SubscriptTerm::Element(compile(expr)?),
            Subscript::Slice(from, to) => SubscriptTerm::Slice(compile_option(from)?, compile_option(to)?),
        })
    };
    subscripts.iter().map(term).collect()
}

/// The type of a row's value. An anonymous record has none of its own: its fields' types are taken from the expressions.
fn row_type_of(fields: &[Expr], names: &[Box<str>], ty: ColumnType) -> Arc<RowType> {
    let types = fields.iter().map(Expr::ty).collect();
    let names = names.iter().map(|name| (&**name).into()).collect();
    Arc::new(RowType {
        of: match is_composite(ty.oid) {
            true => ty.oid,
            false => Oid::INVALID,
        },
        ..RowType::named(types, names)
    })
}

/// A call of a built-in function. Comparisons and arithmetic of integers and numeric become nodes of their own.
fn compile_call(
    function: FunctionId,
    arguments: &[Expr],
    variadic: bool,
    ty: ColumnType,
) -> SqlResult<Expression> {
    let signature = &FUNCTIONS[function.0 as usize];
    if let [left, right] = arguments {
        if let Some(operation) = comparison_operation(signature.body) {
            let (left, right) = (compile(left)?, compile(right)?);
            return Ok(Expression::Compare(Box::new(Compare {
                operation,
                left,
                right,
            })));
        }
        if let Some((operator, width)) = integer_operation(signature.body) {
            let (left, right) = (compile(left)?, compile(right)?);
            return Ok(Expression::Integer(Box::new(IntegerOperation {
                operator,
                width,
                left,
                right,
            })));
        }
    }
    if let ([left, right], Some(operator)) = (arguments, numeric::operation(signature.body)) {
        let (left, right) = (compile(left)?, compile(right)?);
        return Ok(Expression::Numeric(Box::new(NumericOperation::new(
            operator, left, right,
        ))));
    }
    if let [argument, Expr::Constant(Datum::Text(pattern), _)] = arguments
        && let Some(negated) = like::is_negated(signature.body)
        // One that cannot be compiled fails when it is called.
        && let Ok(pattern) = LikePattern::new(pattern, Escape::default())
    {
        return Ok(Expression::Like(Box::new(Like {
            argument: compile(argument)?,
            pattern,
            negated,
        })));
    }
    let body = functions::scalar_body(signature.body)
        .ok_or_else(|| SqlError::unsupported(format!("function {}", signature.name)))?;
    Ok(Expression::Call(Box::new(Call {
        // VARIADIC: the last argument is an array, whose elements are the arguments from there on.
        body: if variadic { body.spreading() } else { body },
        strict: signature.strict,
        arguments: compile_all(arguments)?,
        site: CallSite {
            name: signature.name,
            arguments: arguments.iter().map(Expr::ty).collect(),
            result: ty,
        },
    })))
}

/// By the name of PostgreSQL's function. Division is not among them: it has an error of its own.
fn integer_operation(body: &str) -> Option<(IntegerOperator, IntegerWidth)> {
    use IntegerOperator::*;
    use IntegerWidth::*;
    Some(match body {
        "int2pl" => (Add, Two),
        "int2mi" => (Subtract, Two),
        "int2mul" => (Multiply, Two),
        "int4pl" | "int24pl" | "int42pl" => (Add, Four),
        "int4mi" | "int24mi" | "int42mi" => (Subtract, Four),
        "int4mul" | "int24mul" | "int42mul" => (Multiply, Four),
        "int8pl" | "int28pl" | "int82pl" | "int48pl" | "int84pl" => (Add, Eight),
        "int8mi" | "int28mi" | "int82mi" | "int48mi" | "int84mi" => (Subtract, Eight),
        "int8mul" | "int28mul" | "int82mul" | "int48mul" | "int84mul" => (Multiply, Eight),
        _ => return None,
    })
}

/// The body of a boolean operator as IN, ANY and ALL use it.
fn predicate(function: FunctionId) -> SqlResult<Predicate> {
    let signature = &FUNCTIONS[function.0 as usize];
    if let Some(operation) = comparison_operation(signature.body) {
        return Ok(Predicate::Operation(operation));
    }
    let body = functions::scalar_body(signature.body)
        .ok_or_else(|| SqlError::unsupported(format!("function {}", signature.name)))?;
    // The declared types: operands are cast to these, whatever types the list's members were written with.
    let site = CallSite {
        name: signature.name,
        arguments: signature
            .arguments
            .iter()
            .map(|&ty| ColumnType::new(ty))
            .collect(),
        result: ColumnType::BOOL,
    };
    Ok(Predicate::Function(body, site))
}

fn pair_order(equal: FunctionId, less: FunctionId) -> SqlResult<PairOrder> {
    Ok(match (predicate(equal)?, predicate(less)?) {
        (Predicate::Operation(_), Predicate::Operation(_)) => PairOrder::Direct,
        (equal, less) => PairOrder::Called { equal, less },
    })
}

fn compile_subplan(call: &SubPlanCall) -> SqlResult<Expression> {
    let quantified = |left: &[Expr], functions: &[FunctionId], all, negated| -> SqlResult<Kind> {
        Ok(Kind::Quantified(Quantified {
            left: compile_all(left)?,
            predicates: functions
                .iter()
                .map(|&function| predicate(function))
                .collect::<SqlResult<_>>()?,
            all,
            negated,
        }))
    };
    let kind = match &call.kind {
        SubPlanKind::Exists => Kind::Exists,
        SubPlanKind::Scalar => Kind::Scalar,
        SubPlanKind::Array { stacked } => Kind::Array {
            element: element_of(call.ty),
            stacked: *stacked,
        },
        SubPlanKind::Any {
            left,
            functions,
            negated,
        } => quantified(left, functions, false, *negated)?,
        // NOT IN does not come here: it is a negated ANY.
        SubPlanKind::All { left, functions } => quantified(left, functions, true, false)?,
    };
    let bindings = call
        .bindings
        .iter()
        .map(|(id, expr)| Ok((id.0 as usize, compile(expr)?)))
        .collect::<SqlResult<_>>()?;
    Ok(Expression::SubPlan(Box::new(SubPlan {
        plan: call.plan as usize,
        kind,
        bindings,
    })))
}

/// The innermost element type of an array type.
fn element_of(array: ColumnType) -> Oid {
    array.element().map_or(oid::TEXT, |element| element.oid)
}
