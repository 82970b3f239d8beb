//! Arithmetic of numeric whose operands are read where they stand: a sum over millions of rows copies and drops none of them.
//!
//! Leaves out: division, whose errors and scale are the function's own, and whatever is not `numeric operator numeric`.

use mote_common::SqlResult;
use mote_types::Datum;

use super::Expression;
use super::IntegerOperator as Operator;
use crate::runtime::Runtime;

/// `left operator right`.
pub struct NumericOperation {
    pub operator: Operator,
    pub left: Expression,
    pub right: Expression,
}

impl NumericOperation {
    pub(super) fn evaluate(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Datum> {
        // Both, and the left one first: of two errors the left one is told, and a null hides none.
        let left = computed(&self.left, row, runtime)?;
        let right = computed(&self.right, row, runtime)?;
        let left = left.as_ref().or_else(|| self.left.borrow(row, runtime));
        let right = right.as_ref().or_else(|| self.right.borrow(row, runtime));
        // What is no numeric is null: the binder has given both operands the type.
        let (Some(Datum::Numeric(left)), Some(Datum::Numeric(right))) = (left, right) else {
            return Ok(Datum::Null);
        };
        let result = match self.operator {
            Operator::Add => left.add(right),
            Operator::Subtract => left.sub(right),
            Operator::Multiply => left.mul(right),
        };
        result.map(Datum::Numeric)
    }
}

/// The value of an operand that stands nowhere yet.
#[inline]
fn computed(operand: &Expression, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Option<Datum>> {
    match operand.borrow(row, runtime) {
        Some(_) => Ok(None),
        None => operand.evaluate(row, runtime).map(Some),
    }
}

/// By the name of PostgreSQL's function.
pub(super) fn operation(body: &str) -> Option<Operator> {
    match body {
        "numeric_add" => Some(Operator::Add),
        "numeric_sub" => Some(Operator::Subtract),
        "numeric_mul" => Some(Operator::Multiply),
        _ => None,
    }
}
