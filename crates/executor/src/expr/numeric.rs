//! Arithmetic of numeric whose operands are read where they stand: a sum over millions of rows copies and drops none of them.
//!
//! A tree of such operations is computed in eight bytes as far as its operands and results fit (`scaled`), without a value
//! in between; where one does not, the whole is computed the general way. Both give the same number with the same scale.
//!
//! Leaves out: division, whose errors and scale are the function's own, and whatever is not `numeric operator numeric`.

use mote_common::SqlResult;
use mote_types::{Datum, Numeric};

use super::Expression;
use super::IntegerOperator as Operator;
use crate::runtime::Runtime;

/// `left operator right`.
pub struct NumericOperation {
    operator: Operator,
    left: Expression,
    right: Expression,
    /// The tree is so flat that trying `scaled` in vain on each of its levels costs little.
    is_flat: bool,
}

/// Operations one within the other that are still tried in eight bytes.
const FLAT_DEPTH: usize = 8;

/// The longest decimals of eight bytes.
const SCALE_MAX: u8 = 18;

impl NumericOperation {
    pub(super) fn new(operator: Operator, left: Expression, right: Expression) -> NumericOperation {
        NumericOperation {
            operator,
            is_flat: depth(&left).max(depth(&right)) < FLAT_DEPTH,
            left,
            right,
        }
    }

    /// The value and its scale, where all that it is made of fits eight bytes.
    #[inline]
    fn scaled(&self, row: &[Datum], runtime: &Runtime<'_, '_>) -> Option<(i64, u8)> {
        let (left, left_scale) = scaled(&self.left, row, runtime)?;
        let (right, right_scale) = scaled(&self.right, row, runtime)?;
        if self.operator == Operator::Multiply {
            let scale = left_scale + right_scale;
            let product = left.checked_mul(right)?;
            return (scale <= SCALE_MAX).then_some((product, scale));
        }
        let scale = left_scale.max(right_scale);
        let left = aligned(left, scale - left_scale)?;
        let right = aligned(right, scale - right_scale)?;
        let result = match self.operator {
            Operator::Add => left.checked_add(right)?,
            _ => left.checked_sub(right)?,
        };
        Some((result, scale))
    }

    pub(super) fn evaluate(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Datum> {
        if self.is_flat
            && let Some((value, scale)) = self.scaled(row, runtime)
        {
            return Ok(Datum::Numeric(Numeric::from_scaled_i64(value, i32::from(scale))));
        }
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

/// The value of a numeric expression and its scale, if it is a column, a constant, an integer made numeric or an operation on
/// such, and fits eight bytes. None says nothing else: neither that it is null nor that it is too long.
#[inline]
pub fn scaled(expression: &Expression, row: &[Datum], runtime: &Runtime<'_, '_>) -> Option<(i64, u8)> {
    let value = match expression {
        Expression::Numeric(operation) if operation.is_flat => return operation.scaled(row, runtime),
        Expression::Cast(cast) => return Some((cast.integer(row, runtime)?, 0)),
        other => other.borrow(row, runtime)?,
    };
    match value {
        Datum::Numeric(value) => value.to_small(),
        _ => None,
    }
}

/// Times ten to this power.
#[inline]
fn aligned(value: i64, power: u8) -> Option<i64> {
    match power {
        0 => Some(value),
        1 => value.checked_mul(10),
        2 => value.checked_mul(100),
        _ => value.checked_mul(10i64.checked_pow(u32::from(power))?),
    }
}

fn depth(expression: &Expression) -> usize {
    match expression {
        Expression::Numeric(operation) if !operation.is_flat => FLAT_DEPTH,
        Expression::Numeric(operation) => 1 + depth(&operation.left).max(depth(&operation.right)),
        _ => 0,
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
