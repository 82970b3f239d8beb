//! What follows from conditions: whether a partial index holds every row that a query, or ON CONFLICT, can mean.
//!
//! A prover as modest as PostgreSQL's: parts that are the same; NOT NULL, where a condition is never true of NULL;
//! comparisons of one expression with constants; lists as alternatives; booleans in their several spellings. What it does
//! not see counts as not implied: then the index is not used. Parameters are unknown when a plan is made.

use std::cmp::Ordering;

use mote_types::{Datum, compare};

use crate::builtin::operator::{Comparison, comparison_of};
use crate::expr::{BooleanTest, Expr};

/// Is `wanted` true of every row of which all `conditions` are true?
pub fn implied(wanted: &Expr, conditions: &[&Expr]) -> bool {
    match wanted {
        Expr::And(parts) => parts.iter().all(|part| implied(part, conditions)),
        Expr::Or(parts) if parts.iter().any(|part| implied(part, conditions)) => true,
        _ => conditions.iter().any(|condition| implies(condition, wanted)),
    }
}

fn implies(condition: &Expr, wanted: &Expr) -> bool {
    if condition.same(wanted) {
        return true;
    }
    match condition {
        Expr::And(parts) => implied(wanted, &parts.iter().collect::<Vec<_>>()),
        Expr::Or(parts) => parts.iter().all(|part| implied(wanted, &[part])),
        _ => {
            let ranges = Comparisons::of(condition).zip(Comparisons::of(wanted));
            ranges.is_some_and(|(condition, wanted)| condition.implies(&wanted))
                || same_truth(truth(condition), truth(wanted))
                || matches!(wanted, Expr::IsNotNull(inner) if rejects_null(condition, inner))
        }
    }
}

/// One expression compared with constants: true if any of the comparisons is.
struct Comparisons<'e> {
    operand: &'e Expr,
    /// The type whose order is meant.
    ty: mote_common::Oid,
    alternatives: Vec<(Comparison, &'e Datum)>,
}

impl<'e> Comparisons<'e> {
    fn of(expr: &'e Expr) -> Option<Comparisons<'e>> {
        let constant = |expr: &'e Expr| match expr {
            Expr::Constant(value, _) if !value.is_null() => Some(value),
            _ => None,
        };
        match expr {
            Expr::Call {
                function, arguments, ..
            } => {
                let [left, right] = arguments.as_slice() else {
                    return None;
                };
                let (comparison, operator) = comparison_of(*function)?;
                let (operand, comparison, value, ty) = match (constant(left), constant(right)) {
                    (None, Some(value)) => (left, comparison, value, operator.left),
                    (Some(value), None) => (right, comparison.commuted(), value, operator.right),
                    _ => return None,
                };
                Some(Comparisons {
                    operand,
                    ty,
                    alternatives: vec![(comparison, value)],
                })
            }
            Expr::InList {
                function,
                argument,
                list,
                negated: false,
            } => {
                let (_, operator) = comparison_of(*function)?;
                let equal = |value| Some((Comparison::Equal, constant(value)?));
                Some(Comparisons {
                    operand: argument,
                    ty: operator.left,
                    alternatives: list.iter().map(equal).collect::<Option<_>>()?,
                })
            }
            // IN as the catalog writes it.
            Expr::ArrayComparison {
                function,
                argument,
                array,
                all: false,
            } => {
                let (comparison, operator) = comparison_of(*function)?;
                let Datum::Array(array) = constant(array)? else {
                    return None;
                };
                // No element that is NULL makes it true.
                let elements = array.elements.iter().filter(|element| !element.is_null());
                Some(Comparisons {
                    operand: argument,
                    ty: operator.left,
                    alternatives: elements.map(|element| (comparison, element)).collect(),
                })
            }
            _ => None,
        }
    }

    /// Whatever makes one of these true makes one of the wanted ones true.
    fn implies(&self, wanted: &Comparisons<'_>) -> bool {
        let covered = |given: &(Comparison, &Datum)| {
            let (comparison, value) = *given;
            wanted
                .alternatives
                .iter()
                .any(|(other, limit)| comparison_implies(comparison, value, *other, limit))
        };
        self.ty == wanted.ty && self.operand.same(wanted.operand) && self.alternatives.iter().all(covered)
    }
}

/// Does `x given value` imply `x wanted limit`?
fn comparison_implies(given: Comparison, value: &Datum, wanted: Comparison, limit: &Datum) -> bool {
    use Comparison::*;
    let Some(order) = order(value, limit) else {
        return false;
    };
    match (given, wanted) {
        (Equal, Equal) | (NotEqual, NotEqual) => order.is_eq(),
        (Equal, NotEqual) => order.is_ne(),
        (Equal, Less) => order.is_lt(),
        (Equal, LessOrEqual) => order.is_le(),
        (Equal, Greater) => order.is_gt(),
        (Equal, GreaterOrEqual) => order.is_ge(),
        (Less, Less | LessOrEqual | NotEqual) | (LessOrEqual, LessOrEqual) => order.is_le(),
        (LessOrEqual, Less | NotEqual) => order.is_lt(),
        (Greater, Greater | GreaterOrEqual | NotEqual) | (GreaterOrEqual, GreaterOrEqual) => order.is_ge(),
        (GreaterOrEqual, Greater | NotEqual) => order.is_gt(),
        _ => false,
    }
}

/// The order of two constants, where they are of types that compare.
fn order(left: &Datum, right: &Datum) -> Option<Ordering> {
    let integers = left.as_i64().is_some() && right.as_i64().is_some();
    let comparable = integers || left.variant_name() == right.variant_name();
    comparable.then(|| compare::compare(left, right))
}

/// What a boolean condition says: of which expression, and that it is true or false.
fn truth(condition: &Expr) -> (&Expr, bool) {
    match condition {
        // NOT of a test is true of NULL, too.
        Expr::Not(inner) if !matches!(**inner, Expr::BooleanTest { .. }) => {
            let (expr, value) = truth(inner);
            (expr, !value)
        }
        Expr::BooleanTest {
            argument,
            test: test @ (BooleanTest::True | BooleanTest::False),
            negated: false,
        } => (argument, *test == BooleanTest::True),
        Expr::Call {
            function, arguments, ..
        } if matches!(comparison_of(*function), Some((Comparison::Equal, _))) => match arguments.as_slice() {
            [expr, Expr::Constant(Datum::Bool(value), _)] | [Expr::Constant(Datum::Bool(value), _), expr] => {
                (expr, *value)
            }
            _ => (condition, true),
        },
        _ => (condition, true),
    }
}

fn same_truth((given, a): (&Expr, bool), (wanted, b): (&Expr, bool)) -> bool {
    a == b && given.same(wanted)
}

/// True if the condition cannot be true where `inner` is NULL.
fn rejects_null(condition: &Expr, inner: &Expr) -> bool {
    match condition {
        Expr::IsNotNull(argument) => null_follows(argument, inner),
        Expr::BooleanTest {
            argument,
            test,
            negated,
        } => (*negated == (*test == BooleanTest::Unknown)) && null_follows(argument, inner),
        // An empty list makes ANY false and ALL true, whatever is compared.
        Expr::ArrayComparison {
            argument, all: false, ..
        } => null_follows(argument, inner),
        other => null_follows(other, inner),
    }
}

/// Is `expr` NULL wherever `inner` is?
fn null_follows(expr: &Expr, inner: &Expr) -> bool {
    if expr.same(inner) {
        return true;
    }
    match expr {
        Expr::Call {
            function, arguments, ..
        } => function.signature().strict && arguments.iter().any(|argument| null_follows(argument, inner)),
        Expr::Cast { argument, .. } | Expr::Not(argument) | Expr::InList { argument, .. } => {
            null_follows(argument, inner)
        }
        _ => false,
    }
}
