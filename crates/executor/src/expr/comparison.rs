//! Comparison in expressions: the six operators, IN lists, ANY and ALL over arrays, row-wise comparison.
//!
//! Leaves out: how two values compare (`value::order`).

use std::cmp::Ordering;

use hashbrown::HashTable;
use mote_common::SqlResult;
use mote_sql::expr::RowOperator;
use mote_types::Datum;
use mote_types::compare::check_alike;

use super::Expression;
use crate::functions::{Body, CallSite};
use crate::runtime::Runtime;
use crate::value::{Operation, equal, hash_row, order};

/// `left operation right`.
pub struct Compare {
    pub operation: Operation,
    pub left: Expression,
    pub right: Expression,
}

impl Compare {
    #[inline]
    pub(super) fn evaluate(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Option<bool>> {
        // Columns and constants, the usual case, are compared where they stand.
        if let (Some(left), Some(right)) = (self.left.borrow(row, runtime), self.right.borrow(row, runtime)) {
            return self.judge(left, right);
        }
        // Left before right, so that of two failing sides the left one's error is answered.
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
        // Records without a declared type can be compared only if their columns are alike (record_eq, record_cmp).
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
    /// The answer for two values; None is unknown. The operators that reach this are strict.
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

/// `left IS [NOT] DISTINCT FROM right`: nulls are equal to each other.
pub struct DistinctFrom {
    pub equal: Predicate,
    pub left: Expression,
    pub right: Expression,
    pub negated: bool,
}

impl DistinctFrom {
    pub(super) fn evaluate(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Option<bool>> {
        let left = self.left.evaluate(row, runtime)?;
        let right = self.right.evaluate(row, runtime)?;
        let both_null = left.is_null() && right.is_null();
        let same = both_null || self.equal.judge(&left, &right, runtime)? == Some(true);
        Ok(Some(same == self.negated))
    }
}

/// `NULLIF(left, right)`.
pub struct NullIf {
    pub equal: Predicate,
    pub left: Expression,
    pub right: Expression,
}

impl NullIf {
    pub(super) fn evaluate(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Datum> {
        let left = self.left.evaluate(row, runtime)?;
        let right = self.right.evaluate(row, runtime)?;
        let same = self.equal.judge(&left, &right, runtime)? == Some(true);
        Ok(if same { Datum::Null } else { left })
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
        // A null array makes the answer unknown, an empty one `all`.
        let Datum::Array(array) = self.array.evaluate(row, runtime)? else {
            return Ok(None);
        };
        let mut result = Some(self.all);
        for element in &array.elements {
            match self.predicate.judge(&argument, element, runtime)? {
                // ANY ends at the first true, ALL at the first false.
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
                // Members that repeat stand in it twice; one of them is found.
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

    /// The argument and the members, none of them null, that it may equal; None: something else is asked.
    pub fn equalities(&self) -> Option<(&Expression, &[Expression], bool)> {
        let is_equality = matches!(self.predicate, Predicate::Operation(Operation::Equal));
        (is_equality && !self.has_null).then_some((&self.argument, &*self.list, self.negated))
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
            // A null among the members leaves it open whether the argument is one of them.
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
    /// How each pair compares.
    pub orders: Box<[PairOrder]>,
}

/// The order of the two values of a pair.
pub enum PairOrder {
    /// Of one type, or of types whose values compare with each other.
    Direct,
    /// Of types that only functions compare: `timestamp` with `timestamptz` by the session's time zone.
    Called { equal: Predicate, less: Predicate },
}

impl PairOrder {
    /// `None`: the functions do not say.
    fn order(
        &self,
        left: &Datum,
        right: &Datum,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<Option<Ordering>> {
        let PairOrder::Called { equal, less } = self else {
            return Ok(Some(order(left, right)));
        };
        Ok(match equal.judge(left, right, runtime)? {
            None => None,
            Some(true) => Some(Ordering::Equal),
            Some(false) => less
                .judge(left, right, runtime)?
                .map(|less| if less { Ordering::Less } else { Ordering::Greater }),
        })
    }
}

impl RowComparison {
    /// Pairs are evaluated only as far as they are needed.
    pub(super) fn evaluate(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Option<bool>> {
        let equality = matches!(self.operator, RowOperator::Equal | RowOperator::NotEqual);
        let mut unknown = false;
        for (position, (left, right)) in self.left.iter().zip(&self.right).enumerate() {
            let left = left.evaluate(row, runtime)?;
            let right = right.evaluate(row, runtime)?;
            let ordering = match left.is_null() || right.is_null() {
                true => None,
                false => self.orders[position].order(&left, &right, runtime)?,
            };
            let Some(ordering) = ordering else {
                if !equality {
                    return Ok(None);
                }
                unknown = true;
                continue;
            };
            if ordering.is_ne() {
                return Ok(Some(match self.operator {
                    RowOperator::Equal => false,
                    RowOperator::NotEqual => true,
                    RowOperator::Less | RowOperator::LessOrEqual => ordering.is_lt(),
                    RowOperator::Greater | RowOperator::GreaterOrEqual => ordering.is_gt(),
                }));
            }
        }
        // All pairs are equal.
        Ok((!unknown).then_some(matches!(
            self.operator,
            RowOperator::Equal | RowOperator::LessOrEqual | RowOperator::GreaterOrEqual
        )))
    }
}
