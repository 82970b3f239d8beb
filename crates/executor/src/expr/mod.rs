//! Expressions in the form that is evaluated: `mote_sql::expr::Expr` compiled once per plan.
//!
//! Read in this order: this file (the tree and its evaluation), `compile` (from the plan's form to this one),
//! `comparison` (=, <, IN, ANY, row-wise), `like`, `cast`, `domain`, `array` (ARRAY[], subscripts, rows), `array_assignment`, `jsonb_subscript`, `subplan`, `session_value`,
//! `routine` (calls of users' functions), `numeric` (sums that copy nothing), `fold` (constants, for the planner).
//!
//! Source: PostgreSQL's execExpr.c and execExprInterp.c. Other than there the compiled form is a tree whose commonest nodes are
//! forms of their own, not a list of steps.
//!
//! Promises
//!  1. Three-valued logic and strictness are PostgreSQL's; CASE, COALESCE, AND and OR evaluate no more than they need.
//!  2. Comparison and integer arithmetic on columns, parameters and constants touch no heap and call through no pointer.
//!  3. Nothing here borrows from an index or a row version: a row is a slice of datums that its node owns.
//!
//! Leaves out: how values compare and convert (`value`), bodies of functions (`functions`), which constants are folded (the
//! planner's choice; `fold` evaluates them).

mod array;
mod array_assignment;
mod cast;
mod comparison;
mod compile;
mod domain;
mod fold;
mod jsonb_subscript;
mod like;
mod numeric;
mod routine;
mod session_value;
pub mod subplan;

pub use array_assignment::{Place, assign_element_in, assign_places};
pub use comparison::{Compare, InList};
pub use compile::{compile, compile_all, compile_list, compile_option};
pub use fold::FOLDER;
pub use jsonb_subscript::assign_to_jsonb;
pub use numeric::scaled;
pub use routine::RoutineSite;
pub use session_value::ask_sequence;

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_functions::arithmetic::{IntegerWidth, out_of_range};
use mote_sql::expr::{BooleanTest, SequenceCall, SessionValue};
use mote_types::{ColumnType, Datum, Record, RowType};

use crate::functions::{Body, CallSite};
use crate::runtime::Runtime;
use crate::value::{equal, order};
use cast::Cast;
use comparison::{ArrayComparison, DistinctFrom, NullIf, RowComparison};
use domain::DomainCheck;
use like::Like;
use numeric::NumericOperation;
use subplan::SubPlan;

/// An expression that can be evaluated. Immutable and shared by all executions of a program.
pub enum Expression {
    Constant(Datum),
    /// A column of the input row; also an aggregate's result, which is a column of the aggregate's row.
    Column(usize),
    /// $n, from 0.
    Parameter(usize),
    ExecParameter(usize),
    /// A column of the row proposed for insertion.
    Excluded(usize),
    /// A comparison by a type's default order, without a call through a function table.
    Compare(Box<Compare>),
    Integer(Box<IntegerOperation>),
    Numeric(Box<NumericOperation>),
    Call(Box<Call>),
    Routine(Box<RoutineSite>),
    Cast(Box<Cast>),
    Domain(Box<DomainCheck>),
    And(Box<[Expression]>),
    Or(Box<[Expression]>),
    Not(Box<Expression>),
    IsNull(Box<Expression>),
    IsNotNull(Box<Expression>),
    BooleanTest {
        argument: Box<Expression>,
        test: BooleanTest,
        negated: bool,
    },
    DistinctFrom(Box<DistinctFrom>),
    Case {
        branches: Box<[(Expression, Expression)]>,
        otherwise: Box<Expression>,
    },
    Coalesce(Box<[Expression]>),
    NullIf(Box<NullIf>),
    MinMax {
        arguments: Box<[Expression]>,
        greatest: bool,
    },
    ArrayComparison(Box<ArrayComparison>),
    InList(Box<InList>),
    Like(Box<Like>),
    Array(Box<array::ArrayConstructor>),
    Row {
        fields: Box<[Expression]>,
        ty: Arc<RowType>,
    },
    RowComparison(Box<RowComparison>),
    Subscript(Box<array::Subscripting>),
    SubscriptAssign(Box<array_assignment::SubscriptAssignment>),
    JsonbSubscript(Box<jsonb_subscript::JsonbSubscript>),
    JsonbAssign(Box<jsonb_subscript::JsonbAssignment>),
    Field {
        record: Box<Expression>,
        field: usize,
        ty: ColumnType,
    },
    SubPlan(Box<SubPlan>),
    SessionValue {
        value: SessionValue,
        ty: ColumnType,
    },
    Sequence {
        call: SequenceCall,
        arguments: Box<[Expression]>,
    },
}

/// A resolved call of a scalar function.
pub struct Call {
    pub body: Body,
    /// A null argument makes the result null, and the body is not called.
    pub strict: bool,
    pub arguments: Box<[Expression]>,
    pub site: CallSite,
}

/// Integer arithmetic that overflows into an error: +, -, * on operands of at most the result's width.
pub struct IntegerOperation {
    pub operator: IntegerOperator,
    pub width: IntegerWidth,
    pub left: Expression,
    pub right: Expression,
}

/// Operators whose results need no more than a check of the range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IntegerOperator {
    Add,
    Subtract,
    Multiply,
}

impl Expression {
    /// The value for `row`.
    pub fn evaluate(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Datum> {
        match self {
            // A copy of a long value is paid for, and may fail for want of memory.
            Expression::Constant(value) => value.try_clone(),
            Expression::Column(index) => row[*index].try_clone(),
            Expression::Parameter(index) => runtime.values.parameters[*index].try_clone(),
            Expression::ExecParameter(id) => runtime.values.exec_parameters[*id].try_clone(),
            Expression::Excluded(index) => runtime.values.excluded[*index].try_clone(),
            Expression::Compare(compare) => Ok(boolean(compare.evaluate(row, runtime)?)),
            Expression::Integer(operation) => operation.evaluate(row, runtime),
            Expression::Numeric(operation) => operation.evaluate(row, runtime),
            Expression::Call(call) => call.evaluate(row, runtime),
            Expression::Routine(site) => site.evaluate(row, runtime),
            Expression::Cast(cast) => cast.evaluate(row, runtime),
            Expression::IsNull(argument) => Ok(Datum::Bool(argument.test(is_null, row, runtime)?)),
            Expression::IsNotNull(argument) => Ok(Datum::Bool(argument.test(is_not_null, row, runtime)?)),
            Expression::Case { branches, otherwise } => {
                for (condition, result) in branches {
                    if condition.holds(row, runtime)? {
                        return result.evaluate(row, runtime);
                    }
                }
                otherwise.evaluate(row, runtime)
            }
            Expression::Coalesce(arguments) => {
                for argument in arguments {
                    let value = argument.evaluate(row, runtime)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Ok(Datum::Null)
            }
            Expression::NullIf(test) => test.evaluate(row, runtime),
            Expression::MinMax { arguments, greatest } => min_max(arguments, *greatest, row, runtime),
            Expression::Array(constructor) => constructor.evaluate(row, runtime),
            Expression::Row { fields, ty } => array::make_record(fields, ty, row, runtime),
            Expression::Subscript(subscripting) => subscripting.evaluate(row, runtime),
            Expression::SubscriptAssign(assignment) => assignment.evaluate(row, runtime),
            Expression::JsonbSubscript(subscript) => subscript.evaluate(row, runtime),
            Expression::JsonbAssign(assignment) => assignment.evaluate(row, runtime),
            Expression::Field { record, field, ty } => {
                // Without a copy of the other fields, where the record stands somewhere already.
                if let Some(record) = record.borrow(row, runtime) {
                    return Ok(match record {
                        Datum::Record(record) => record.fields[field_place(record, *field, *ty)?].clone(),
                        _ => Datum::Null,
                    });
                }
                match record.evaluate(row, runtime)? {
                    Datum::Record(mut record) => {
                        let place = field_place(&record, *field, *ty)?;
                        Ok(std::mem::take(&mut record.fields[place]))
                    }
                    _ => Ok(Datum::Null),
                }
            }
            Expression::SubPlan(subplan) => subplan.evaluate(row, runtime),
            Expression::Domain(domain) => domain.evaluate(row, runtime),
            Expression::SessionValue { value, ty } => session_value::evaluate(*value, *ty, runtime),
            Expression::Sequence { call, arguments } => {
                session_value::sequence(*call, arguments, row, runtime)
            }
            // Boolean operators have their rules in `truth` alone.
            Expression::And(_)
            | Expression::Or(_)
            | Expression::Not(_)
            | Expression::BooleanTest { .. }
            | Expression::DistinctFrom(_)
            | Expression::ArrayComparison(_)
            | Expression::InList(_)
            | Expression::Like(_)
            | Expression::RowComparison(_) => Ok(boolean(self.truth(row, runtime)?)),
        }
    }

    /// The value of a boolean expression: `None` is unknown.
    pub fn truth(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Option<bool>> {
        match self {
            Expression::Compare(compare) => compare.evaluate(row, runtime),
            Expression::And(terms) => {
                let mut result = Some(true);
                for term in terms {
                    // Unknown does not end it: a later term that is false decides, or fails, as in PostgreSQL.
                    match term.truth(row, runtime)? {
                        Some(true) => {}
                        Some(false) => return Ok(Some(false)),
                        None => result = None,
                    }
                }
                Ok(result)
            }
            Expression::Or(terms) => {
                let mut result = Some(false);
                for term in terms {
                    match term.truth(row, runtime)? {
                        Some(false) => {}
                        Some(true) => return Ok(Some(true)),
                        None => result = None,
                    }
                }
                Ok(result)
            }
            Expression::Not(argument) => Ok(argument.truth(row, runtime)?.map(|value| !value)),
            Expression::BooleanTest {
                argument,
                test,
                negated,
            } => {
                let value = argument.truth(row, runtime)?;
                let passed = match test {
                    BooleanTest::True => value == Some(true),
                    BooleanTest::False => value == Some(false),
                    BooleanTest::Unknown => value.is_none(),
                };
                Ok(Some(passed != *negated))
            }
            Expression::DistinctFrom(test) => test.evaluate(row, runtime),
            Expression::ArrayComparison(comparison) => comparison.evaluate(row, runtime),
            Expression::InList(list) => list.evaluate(row, runtime),
            Expression::Like(like) => like.evaluate(row, runtime),
            Expression::RowComparison(comparison) => comparison.evaluate(row, runtime),
            // Anything else of type boolean: NULL becomes unknown.
            other => Ok(other.evaluate(row, runtime)?.as_bool()),
        }
    }

    /// Whether a row passes this condition: neither false nor unknown.
    #[inline]
    pub fn holds(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        Ok(self.truth(row, runtime)? == Some(true))
    }

    /// Judges a value without copying it where it stands somewhere already.
    #[inline]
    fn test(
        &self,
        test: fn(&Datum) -> bool,
        row: &[Datum],
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<bool> {
        match self.borrow(row, runtime) {
            Some(value) => Ok(test(value)),
            None => Ok(test(&self.evaluate(row, runtime)?)),
        }
    }

    /// The value without a copy, where it stands somewhere already.
    #[inline]
    pub fn borrow<'v>(&'v self, row: &'v [Datum], runtime: &'v Runtime<'_, '_>) -> Option<&'v Datum> {
        match self {
            Expression::Column(index) => Some(&row[*index]),
            Expression::Constant(value) => Some(value),
            Expression::Parameter(index) => Some(&runtime.values.parameters[*index]),
            Expression::ExecParameter(id) => Some(&runtime.values.exec_parameters[*id]),
            Expression::Excluded(index) => Some(&runtime.values.excluded[*index]),
            _ => None,
        }
    }
}

/// Where a field is in a record. A row whose type changed since the statement was planned may have others, or none.
#[inline]
fn field_place(record: &Record, field: usize, ty: ColumnType) -> SqlResult<usize> {
    match record.ty.types.get(field) {
        Some(known) if known.oid == ty.oid => Ok(field),
        _ => Err(changed_row(record, field, ty)),
    }
}

#[cold]
fn changed_row(record: &Record, field: usize, ty: ColumnType) -> SqlError {
    let message = match record.ty.types.get(field) {
        None => format!("row has no attribute {}", field + 1),
        Some(_) => format!(
            "attribute {} of type {} has wrong type",
            field + 1,
            record.ty.ty().name()
        ),
    };
    let error = SqlError::new(state::DATATYPE_MISMATCH, message);
    match record.ty.types.get(field) {
        Some(known) => error.detail(format!(
            "Table has type {}, but query expects {}.",
            known.name(),
            ty.name()
        )),
        None => error,
    }
}

/// IS NULL of a row value asks whether all its fields are null. A field that is a row is not null, whatever is in it.
fn is_null(value: &Datum) -> bool {
    match value {
        Datum::Null => true,
        Datum::Record(record) => record.fields.iter().all(Datum::is_null),
        _ => false,
    }
}

/// IS NOT NULL of a row value asks whether none of its fields is null, which is more than NOT IS NULL.
fn is_not_null(value: &Datum) -> bool {
    match value {
        Datum::Null => false,
        Datum::Record(record) => !record.fields.iter().any(Datum::is_null),
        _ => true,
    }
}

#[inline]
fn boolean(value: Option<bool>) -> Datum {
    value.map_or(Datum::Null, Datum::Bool)
}

/// GREATEST or LEAST: nulls are skipped; of equal values the first stays.
fn min_max(
    arguments: &[Expression],
    greatest: bool,
    row: &[Datum],
    runtime: &mut Runtime<'_, '_>,
) -> SqlResult<Datum> {
    let mut best = Datum::Null;
    for argument in arguments {
        let value = argument.evaluate(row, runtime)?;
        if value.is_null() {
            continue;
        }
        let replace = best.is_null() || (order(&value, &best).is_gt() == greatest && !equal(&value, &best));
        if replace {
            best = value;
        }
    }
    Ok(best)
}

impl Call {
    /// Evaluates the arguments on the stack up to three of them: what nearly every operator and function has.
    fn evaluate(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Datum> {
        match &*self.arguments {
            [] => self.body.call(runtime, &self.site, &[]),
            [a] => {
                let a = a.evaluate(row, runtime)?;
                self.apply(runtime, &[a])
            }
            [a, b] => {
                let a = a.evaluate(row, runtime)?;
                let b = b.evaluate(row, runtime)?;
                self.apply(runtime, &[a, b])
            }
            [a, b, c] => {
                let a = a.evaluate(row, runtime)?;
                let b = b.evaluate(row, runtime)?;
                let c = c.evaluate(row, runtime)?;
                self.apply(runtime, &[a, b, c])
            }
            many => {
                let mut values = Vec::with_capacity(many.len());
                for argument in many {
                    values.push(argument.evaluate(row, runtime)?);
                }
                self.apply(runtime, &values)
            }
        }
    }

    #[inline]
    fn apply(&self, runtime: &mut Runtime<'_, '_>, arguments: &[Datum]) -> SqlResult<Datum> {
        if self.strict && arguments.iter().any(Datum::is_null) {
            return Ok(Datum::Null);
        }
        self.body.call(runtime, &self.site, arguments)
    }
}

impl IntegerOperation {
    fn evaluate(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Datum> {
        let Some(left) = integer(&self.left, row, runtime)? else {
            return Ok(Datum::Null);
        };
        let Some(right) = integer(&self.right, row, runtime)? else {
            return Ok(Datum::Null);
        };
        // Operands are widened to eight bytes, so that only int8 can overflow here; `narrowed` finds the rest.
        let result = match self.operator {
            IntegerOperator::Add => left.checked_add(right),
            IntegerOperator::Subtract => left.checked_sub(right),
            IntegerOperator::Multiply => left.checked_mul(right),
        };
        let narrowed = match self.width {
            IntegerWidth::Two => result
                .and_then(|value| i16::try_from(value).ok())
                .map(Datum::Int2),
            IntegerWidth::Four => result
                .and_then(|value| i32::try_from(value).ok())
                .map(Datum::Int4),
            IntegerWidth::Eight => result.map(Datum::Int8),
        };
        narrowed.ok_or_else(|| out_of_range(self.width))
    }
}

/// An integer operand of any width; `None` is NULL.
#[inline]
fn integer(operand: &Expression, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Option<i64>> {
    if let Some(value) = operand.borrow(row, runtime) {
        return Ok(value.as_i64());
    }
    Ok(operand.evaluate(row, runtime)?.as_i64())
}
