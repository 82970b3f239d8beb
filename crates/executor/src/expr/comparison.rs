//! Comparison: the six operators, IN lists, ANY and ALL over arrays, row-wise comparison; order and hash of rows.
//!
//! Invariant: equality, order and hash agree with each other and with the key bytes of indexes
//! (`mote_types::{compare, equal, hash}`), integers of different widths included.

use std::cmp::Ordering;
use std::hash::Hasher;

use hashbrown::HashTable;
use mote_common::SqlResult;
use mote_sql::expr::RowOperator;
use mote_types::Datum;
use mote_types::compare::check_alike;

use super::Expression;
use crate::functions::{Body, CallSite};
use crate::runtime::Runtime;

/// One of the six comparisons of a type's default order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Operation {
    #[inline]
    pub fn accepts(self, ordering: Ordering) -> bool {
        match self {
            Operation::Equal => ordering.is_eq(),
            Operation::NotEqual => ordering.is_ne(),
            Operation::Less => ordering.is_lt(),
            Operation::LessOrEqual => ordering.is_le(),
            Operation::Greater => ordering.is_gt(),
            Operation::GreaterOrEqual => ordering.is_ge(),
        }
    }

    /// The operation with its sides changed over.
    pub fn flipped(self) -> Operation {
        match self {
            Operation::Equal | Operation::NotEqual => self,
            Operation::Less => Operation::Greater,
            Operation::LessOrEqual => Operation::GreaterOrEqual,
            Operation::Greater => Operation::Less,
            Operation::GreaterOrEqual => Operation::LessOrEqual,
        }
    }

    #[inline]
    pub fn holds(self, left: &Datum, right: &Datum) -> bool {
        match self {
            Operation::Equal => equal(left, right),
            Operation::NotEqual => !equal(left, right),
            _ => self.accepts(order(left, right)),
        }
    }
}

/// Order of two values, neither null, of one type or of two integer or float types.
#[inline]
pub fn order(left: &Datum, right: &Datum) -> Ordering {
    match (left, right) {
        (Datum::Int4(a), Datum::Int4(b)) => a.cmp(b),
        (Datum::Int8(a), Datum::Int8(b)) => a.cmp(b),
        (Datum::Text(a), Datum::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Datum::Float4(a), Datum::Float8(b)) => {
            mote_types::compare(&Datum::Float8(*a as f64), &Datum::Float8(*b))
        }
        (Datum::Float8(a), Datum::Float4(b)) => {
            mote_types::compare(&Datum::Float8(*a), &Datum::Float8(*b as f64))
        }
        (
            Datum::Int2(_) | Datum::Int4(_) | Datum::Int8(_),
            Datum::Int2(_) | Datum::Int4(_) | Datum::Int8(_),
        ) => left.as_i64().cmp(&right.as_i64()),
        _ => mote_types::compare(left, right),
    }
}

/// Equality of two values, neither null; types as for [`order`].
#[inline]
pub fn equal(left: &Datum, right: &Datum) -> bool {
    order(left, right).is_eq()
}

/// Whether two rows are the same for grouping: nulls are equal to each other.
pub fn equal_rows(left: &[Datum], right: &[Datum]) -> bool {
    left.iter()
        .zip(right)
        .all(|(a, b)| match (a.is_null(), b.is_null()) {
            (false, false) => equal(a, b),
            (a, b) => a == b,
        })
}

/// Hash that agrees with [`equal_rows`]. Integers of all widths hash alike.
pub fn hash_row(row: &[Datum]) -> u64 {
    let mut hasher = RowHasher(0x9e37_79b9_7f4a_7c15);
    for value in row {
        match value {
            Datum::Null => hasher.write_u64(0x5bd1_e995),
            Datum::Int2(_) | Datum::Int4(_) | Datum::Int8(_) => {
                hasher.write_u64(value.as_i64().unwrap_or_default() as u64)
            }
            other => mote_types::hash(other, &mut hasher),
        }
    }
    hasher.finish()
}

/// Multiply-and-fold over eight-byte words. Only for tables that live as long as a statement.
struct RowHasher(u64);

impl RowHasher {
    #[inline]
    fn fold(&mut self, word: u64) {
        let product = (self.0 ^ word) as u128 * 0x9fb2_1c65_1e98_df25_u128;
        self.0 = (product >> 64) as u64 ^ product as u64;
        self.0 = self.0.rotate_left(23).wrapping_add(0x2545_f491_4f6c_dd1d);
    }
}

impl Hasher for RowHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0u8; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.fold(u64::from_le_bytes(word) ^ (chunk.len() as u64) << 56);
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.fold(word);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// `left operation right`.
pub struct Compare {
    pub operation: Operation,
    pub left: Expression,
    pub right: Expression,
}

impl Compare {
    #[inline]
    pub(super) fn evaluate(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Option<bool>> {
        if let (Some(left), Some(right)) = (self.left.borrow(row, runtime), self.right.borrow(row, runtime)) {
            return self.judge(left, right);
        }
        let left = self.left.evaluate(row, runtime)?;
        if let Some(right) = self.right.borrow(row, runtime) {
            return self.judge(&left, right);
        }
        let right = self.right.evaluate(row, runtime)?;
        self.judge(&left, &right)
    }

    #[inline]
    fn judge(&self, left: &Datum, right: &Datum) -> SqlResult<Option<bool>> {
        if left.is_null() || right.is_null() {
            return Ok(None);
        }
        if let (Datum::Record(left), Datum::Record(right)) = (left, right) {
            check_alike(left, right)?;
        }
        Ok(Some(self.operation.holds(left, right)))
    }
}

/// A boolean operator of two arguments: a comparison, or any function (`~~`, `@>`, ...).
pub enum Predicate {
    Operation(Operation),
    Function(Body, CallSite),
}

impl Predicate {
    pub fn judge(
        &self,
        left: &Datum,
        right: &Datum,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<Option<bool>> {
        if left.is_null() || right.is_null() {
            return Ok(None);
        }
        match self {
            Predicate::Operation(operation) => {
                if let (Datum::Record(left), Datum::Record(right)) = (left, right) {
                    check_alike(left, right)?;
                }
                Ok(Some(operation.holds(left, right)))
            }
            Predicate::Function(body, site) => Ok(body
                .call(runtime, site, &[left.clone(), right.clone()])?
                .as_bool()),
        }
    }
}

/// `argument operator ANY/ALL (array)`.
pub struct ArrayComparison {
    pub predicate: Predicate,
    pub argument: Expression,
    pub array: Expression,
    pub all: bool,
}

impl ArrayComparison {
    pub(super) fn evaluate(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Option<bool>> {
        let argument = self.argument.evaluate(row, runtime)?;
        let Datum::Array(array) = self.array.evaluate(row, runtime)? else {
            return Ok(None);
        };
        let mut result = Some(self.all);
        for element in &array.elements {
            match self.predicate.judge(&argument, element, runtime)? {
                Some(value) if value != self.all => return Ok(Some(value)),
                Some(_) => {}
                None => result = None,
            }
        }
        Ok(result)
    }
}

/// From this many constants an IN list is hashed.
const HASHED_LIST_MIN: usize = 9;

/// `argument [NOT] IN (list)`.
pub struct InList {
    predicate: Predicate,
    argument: Expression,
    list: Box<[Expression]>,
    negated: bool,
    /// Positions in `list`, when all its members are constants and `predicate` is equality.
    hashed: Option<HashTable<usize>>,
    has_null: bool,
}

impl InList {
    pub fn new(predicate: Predicate, argument: Expression, list: Vec<Expression>, negated: bool) -> InList {
        let constant = list
            .iter()
            .all(|member| matches!(member, Expression::Constant(_)));
        let equality = matches!(predicate, Predicate::Operation(Operation::Equal));
        let has_null = list
            .iter()
            .any(|member| matches!(member, Expression::Constant(Datum::Null)));
        let hashed = (constant && equality && list.len() >= HASHED_LIST_MIN).then(|| {
            let mut table = HashTable::with_capacity(list.len());
            for (position, member) in list.iter().enumerate() {
                let Expression::Constant(value) = member else {
                    continue;
                };
                if value.is_null() {
                    continue;
                }
                table.insert_unique(hash_row(std::slice::from_ref(value)), position, |&other| {
                    constant_hash(&list, other)
                });
            }
            table
        });
        InList {
            predicate,
            argument,
            list: list.into(),
            negated,
            hashed,
            has_null,
        }
    }

    pub(super) fn evaluate(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Option<bool>> {
        let argument = self.argument.evaluate(row, runtime)?;
        if argument.is_null() {
            return Ok(None);
        }
        if let Some(hashed) = &self.hashed {
            let hash = hash_row(std::slice::from_ref(&argument));
            let found = hashed.find(hash, |&position| match &self.list[position] {
                Expression::Constant(value) => equal(value, &argument),
                _ => false,
            });
            let unknown = found.is_none() && self.has_null;
            return Ok((!unknown).then_some(found.is_some() != self.negated));
        }
        let mut result = Some(self.negated);
        for member in &self.list {
            let value = member.evaluate(row, runtime)?;
            match self.predicate.judge(&argument, &value, runtime)? {
                Some(true) => return Ok(Some(!self.negated)),
                Some(false) => {}
                None => result = None,
            }
        }
        Ok(result)
    }
}

fn constant_hash(list: &[Expression], position: usize) -> u64 {
    match &list[position] {
        Expression::Constant(value) => hash_row(std::slice::from_ref(value)),
        _ => 0,
    }
}

/// `(a, b) < (c, d)`: the first pair that differs decides; a null met before that makes the result unknown.
pub struct RowComparison {
    pub operator: RowOperator,
    pub left: Box<[Expression]>,
    pub right: Box<[Expression]>,
}

impl RowComparison {
    pub(super) fn evaluate(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Option<bool>> {
        let equality = matches!(self.operator, RowOperator::Equal | RowOperator::NotEqual);
        let mut unknown = false;
        for (left, right) in self.left.iter().zip(&self.right) {
            let left = left.evaluate(row, runtime)?;
            let right = right.evaluate(row, runtime)?;
            if left.is_null() || right.is_null() {
                if !equality {
                    return Ok(None);
                }
                unknown = true;
                continue;
            }
            let ordering = order(&left, &right);
            if ordering.is_ne() {
                return Ok(Some(match self.operator {
                    RowOperator::Equal => false,
                    RowOperator::NotEqual => true,
                    RowOperator::Less | RowOperator::LessOrEqual => ordering.is_lt(),
                    RowOperator::Greater | RowOperator::GreaterOrEqual => ordering.is_gt(),
                }));
            }
        }
        Ok((!unknown).then_some(matches!(
            self.operator,
            RowOperator::Equal | RowOperator::LessOrEqual | RowOperator::GreaterOrEqual
        )))
    }
}
