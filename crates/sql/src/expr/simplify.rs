//! Expressions made smaller before planning: constant folding, boolean algebra.
//!
//! Nothing is evaluated here: a [`ConstantFolder`] of the layer above computes immutable calls over constants. Folding
//! is best effort: what fails to fold fails again, with its error, when it is executed.

use mote_types::catalog::user::is_row;
use mote_types::{ColumnType, Datum, oid};

use crate::builtin::function::{FunctionId, Volatility};
use crate::builtin::operator::{operator_by_oid, operators_of_function};
use crate::expr::Expr;

/// Evaluates immutable expressions over constants. `None`: leave it as it is (also for errors).
pub trait ConstantFolder {
    fn fold(&self, expr: &Expr) -> Option<Datum>;
}

/// Simplifies an expression in place.
pub fn simplify(expr: &mut Expr, folder: Option<&dyn ConstantFolder>) {
    // Most expressions are these, and a step leaves them as they are.
    if let Expr::Variable { .. } | Expr::Column { .. } | Expr::Constant(..) | Expr::Parameter { .. } = expr {
        return;
    }
    expr.for_each_child_mut(&mut |child| simplify(child, folder));
    let taken = std::mem::replace(expr, Expr::And(Vec::new()));
    *expr = step(taken, folder);
}

fn truth(value: bool) -> Expr {
    Expr::Constant(Datum::Bool(value), ColumnType::BOOL)
}

fn constant(expr: &Expr) -> Option<&Datum> {
    match expr {
        Expr::Constant(datum, _) => Some(datum),
        _ => None,
    }
}

fn step(expr: Expr, folder: Option<&dyn ConstantFolder>) -> Expr {
    match expr {
        Expr::And(list) => junction(list, true),
        Expr::Or(list) => junction(list, false),
        Expr::Not(inner) => negation(*inner),
        Expr::IsNull(inner) if is_flat_row(&inner) => field_tests(*inner, Expr::IsNull),
        Expr::IsNotNull(inner) if is_flat_row(&inner) => field_tests(*inner, Expr::IsNotNull),
        Expr::IsNull(inner) if constant(&inner).is_some() => {
            truth(constant(&inner).is_some_and(Datum::is_null))
        }
        Expr::IsNotNull(inner) if constant(&inner).is_some() => {
            truth(!constant(&inner).is_some_and(Datum::is_null))
        }
        Expr::InList {
            function,
            argument,
            list,
            negated,
        } => Expr::InList {
            argument: Box::new(as_declared(*argument, function, 0)),
            function,
            list,
            negated,
        },
        Expr::ArrayComparison {
            function,
            argument,
            array,
            all,
        } => Expr::ArrayComparison {
            argument: Box::new(as_declared(*argument, function, 0)),
            function,
            array,
            all,
        },
        Expr::Call {
            function,
            mut arguments,
            variadic,
            ty,
            location,
        } => {
            let signature = function.signature();
            for (position, argument) in arguments.iter_mut().enumerate() {
                let taken = std::mem::replace(argument, Expr::And(Vec::new()));
                *argument = as_declared(taken, function, position);
            }
            let some_null =
                signature.strict && arguments.iter().any(|a| constant(a).is_some_and(Datum::is_null));
            if some_null && !signature.returns_set && signature.volatility != Volatility::Volatile {
                return Expr::Constant(Datum::Null, ty);
            }
            let foldable = signature.volatility == Volatility::Immutable
                && !signature.returns_set
                && arguments.iter().all(|argument| constant(argument).is_some());
            fold(
                Expr::Call {
                    function,
                    arguments,
                    variadic,
                    ty,
                    location,
                },
                foldable,
                folder,
            )
        }
        Expr::Cast {
            argument,
            from,
            ty,
            explicit,
            location,
        } => {
            if constant(&argument).is_some_and(Datum::is_null) {
                return Expr::Constant(Datum::Null, ty);
            }
            let foldable = constant(&argument).is_some();
            fold(
                Expr::Cast {
                    argument,
                    from,
                    ty,
                    explicit,
                    location,
                },
                foldable,
                folder,
            )
        }
        Expr::Coalesce { mut arguments, ty } => {
            arguments.retain(|argument| !constant(argument).is_some_and(Datum::is_null));
            if let Some(first) = arguments.iter().position(|argument| constant(argument).is_some()) {
                arguments.truncate(first + 1);
            }
            match arguments.len() {
                0 => Expr::Constant(Datum::Null, ty),
                1 => arguments.remove(0),
                _ => Expr::Coalesce { arguments, ty },
            }
        }
        Expr::Array {
            elements,
            ty,
            multidimensional,
        } => {
            let foldable = elements.iter().all(|element| constant(element).is_some());
            fold(
                Expr::Array {
                    elements,
                    ty,
                    multidimensional,
                },
                foldable,
                folder,
            )
        }
        other => other,
    }
}

/// NOT, as far in as it goes: a comparison becomes its negator, which has an index to look into (PostgreSQL's negate_clause).
fn negation(expr: Expr) -> Expr {
    match expr {
        Expr::Constant(Datum::Bool(value), _) => truth(!value),
        Expr::Not(twice) => *twice,
        Expr::And(list) => junction(list.into_iter().map(negation).collect(), false),
        Expr::Or(list) => junction(list.into_iter().map(negation).collect(), true),
        Expr::InList {
            function,
            argument,
            list,
            negated,
        } => Expr::InList {
            function,
            argument,
            list,
            negated: !negated,
        },
        Expr::ArrayComparison {
            function,
            argument,
            array,
            all,
        } if negator(function).is_some() => Expr::ArrayComparison {
            function: negator(function).unwrap_or(function),
            argument,
            array,
            all: !all,
        },
        Expr::Call {
            function,
            arguments,
            variadic,
            ty,
            location,
        } if negator(function).is_some() => Expr::Call {
            function: negator(function).unwrap_or(function),
            arguments,
            variadic,
            ty,
            location,
        },
        Expr::BooleanTest {
            argument,
            test,
            negated,
        } => Expr::BooleanTest {
            argument,
            test,
            negated: !negated,
        },
        // A row may be neither.
        Expr::IsNull(argument) if !is_row(argument.ty().oid) => Expr::IsNotNull(argument),
        Expr::IsNotNull(argument) if !is_row(argument.ty().oid) => Expr::IsNull(argument),
        other => Expr::Not(Box::new(other)),
    }
}

/// The function that is true where this one is false, and null where it is null.
fn negator(function: FunctionId) -> Option<FunctionId> {
    let mut negators =
        operators_of_function(function).filter_map(|operator| operator_by_oid(operator.negator));
    negators.next().map(|negator| negator.function)
}

/// A row whose fields may be tested for null one by one. A field that is a row itself is not looked into by the test of
/// the row around it, but would be by its own.
fn is_flat_row(expr: &Expr) -> bool {
    matches!(expr, Expr::Row { fields, .. } if fields.iter().all(|field| !is_row(field.ty().oid)))
}

/// A row is null when all fields are, and not null when none is: two questions, not one and its opposite.
fn field_tests(row: Expr, test: fn(Box<Expr>) -> Expr) -> Expr {
    let Expr::Row { fields, .. } = row else {
        return test(Box::new(row));
    };
    let tests = fields.into_iter().map(|field| step(test(Box::new(field)), None));
    junction(tests.collect(), true)
}

/// An argument without a conversion that changes nothing: strings of other types pass for text as they are. Stored
/// expressions write such conversions out; taken away, they and those of a query look alike, and an index on the string
/// serves both.
fn as_declared(argument: Expr, function: FunctionId, position: usize) -> Expr {
    let declared = function.signature().arguments.get(position);
    match argument {
        Expr::Cast {
            argument, from, ty, ..
        } if declared == Some(&oid::TEXT)
            && ty.oid == oid::TEXT
            && ty.typmod < 0
            && matches!(from.oid, oid::VARCHAR | oid::NAME) =>
        {
            *argument
        }
        other => other,
    }
}

fn fold(expr: Expr, foldable: bool, folder: Option<&dyn ConstantFolder>) -> Expr {
    if !foldable {
        return expr;
    }
    let ty = expr.ty();
    match folder.and_then(|folder| folder.fold(&expr)) {
        Some(datum) => Expr::Constant(datum, ty),
        None => expr,
    }
}

/// AND (`conjunction`) or OR of simplified operands.
fn junction(list: Vec<Expr>, conjunction: bool) -> Expr {
    let mut flat = Vec::with_capacity(list.len());
    for operand in list {
        match operand {
            Expr::Constant(Datum::Bool(value), _) if value == conjunction => {}
            Expr::Constant(Datum::Bool(value), _) => return truth(value),
            Expr::And(inner) if conjunction => flat.extend(inner),
            Expr::Or(inner) if !conjunction => flat.extend(inner),
            other => flat.push(other),
        }
    }
    match flat.len() {
        0 => truth(conjunction),
        1 => flat.remove(0),
        _ if conjunction => Expr::And(flat),
        _ => Expr::Or(flat),
    }
}
