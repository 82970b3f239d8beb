//! The filter of a scan of stored rows: its leading terms are judged on the bytes of a row where they can be, so that a
//! row that does not pass is never decoded.
//!
//! Invariants
//!  1. Terms are judged in the order of the condition: only a leading run of them is judged on bytes, made of IS NOT NULL,
//!     comparisons of a column with a constant, a parameter or another column, and IN lists of constants. None can fail.
//!  2. The first term that is not true ends it, as in PostgreSQL.
//!  3. What columns are compared with is read once a scan, at its start.

use std::sync::Arc;

use mote_common::SqlResult;
use mote_engine::RowView;
use mote_sql::expr::Expr;
use mote_types::datetime::{DAY_US, is_finite_timestamp};
use mote_types::storage::stored_numeric_scale;
use mote_types::{ColumnType, Datum, oid};

use super::scan::ScanColumns;
use crate::expr::{Call, Compare, Expression, InList, compile_option};
use crate::functions::datetime_operation;
use crate::runtime::Runtime;
use crate::value::Operation;

/// How a column's values lie in a row, and what they are compared as.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stored {
    /// Signed numbers of so many bytes, compared as they are.
    Number(Width, Meaning),
    Text,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Width {
    Two,
    Four,
    Eight,
}

/// What a stored number stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Integer,
    Date,
    Timestamp,
    TimestampTz,
    /// Times this power of ten; NaN is the greatest number there is.
    Numeric(i32),
}

impl Stored {
    /// None: terms over such a column are judged after decoding.
    fn of(ty: ColumnType) -> Option<Stored> {
        use Meaning::*;
        Some(match ty.oid {
            oid::INT2 => Stored::Number(Width::Two, Integer),
            oid::INT4 => Stored::Number(Width::Four, Integer),
            oid::INT8 => Stored::Number(Width::Eight, Integer),
            oid::DATE => Stored::Number(Width::Four, Date),
            oid::TIMESTAMP => Stored::Number(Width::Eight, Timestamp),
            oid::TIMESTAMPTZ => Stored::Number(Width::Eight, TimestampTz),
            oid::NUMERIC => Stored::Number(Width::Eight, Numeric(stored_numeric_scale(ty)?)),
            // Text sorts by code point, in every collation; in UTF-8 that is the order of the bytes.
            oid::TEXT | oid::VARCHAR => Stored::Text,
            // Without a length it is stored with blanks that do not count.
            oid::BPCHAR if ty.typmod >= 0 => Stored::Text,
            _ => return None,
        })
    }
}

impl Meaning {
    /// The number that a value is stored as; None: it is of another kind, or stored in no column of this one.
    fn number(self, value: &Datum) -> Option<i64> {
        match (self, value) {
            // Any two widths: both sides are widened to eight bytes.
            (Meaning::Integer, Datum::Int2(_) | Datum::Int4(_) | Datum::Int8(_)) => value.as_i64(),
            (Meaning::Date, Datum::Date(days)) => Some(i64::from(*days)),
            (Meaning::Timestamp, Datum::Timestamp(us)) | (Meaning::TimestampTz, Datum::TimestampTz(us)) => {
                Some(*us)
            }
            // The greatest number stands for NaN.
            (Meaning::Numeric(scale), Datum::Numeric(value)) => {
                value.to_scaled_i64(scale).filter(|scaled| *scaled != i64::MAX)
            }
            _ => None,
        }
    }
}

/// A column that is judged on its bytes.
#[derive(Clone, Copy)]
struct Column {
    position: usize,
    stored: Stored,
}

/// A term that can be judged on bytes.
enum Term {
    NotNull(usize),
    /// With a constant or parameter, which stands on this side of the comparison.
    Value(Column, Operation, Side),
    /// A date with a timestamp, which has no zone.
    DateWithTimestamp(usize, Operation, Side),
    /// Of two columns whose stored numbers mean the same.
    Columns(Number, Operation, Number),
    Numbers {
        column: Number,
        members: Box<[i64]>,
        negated: bool,
    },
    Texts {
        position: usize,
        members: Box<[Box<[u8]>]>,
        negated: bool,
    },
}

/// Where a stored number is.
#[derive(Clone, Copy)]
struct Number {
    position: usize,
    width: Width,
}

/// Where the constant or parameter of a comparison stands.
#[derive(Clone, Copy)]
enum Side {
    Left,
    Right,
}

/// An IN list of more members is hashed, and judged after decoding.
const MEMBERS_MAX: usize = 16;

/// A scan's filter, its terms joined by AND.
pub struct StoredFilter {
    /// All of the condition.
    terms: Box<[Expression]>,
    /// The leading ones that can be judged on bytes.
    leading: Arc<[Term]>,
}

/// The leading terms with their values, for one run of a scan.
#[derive(Default)]
pub struct BoundFilter {
    tests: Vec<Test>,
    /// For tests that look at lists, which stand in the program.
    program: Option<Arc<[Term]>>,
}

/// True of rows whose column is not null and compares so.
enum Test {
    NotNull(usize),
    Number(Number, Operation, i64),
    Text {
        position: usize,
        operation: Operation,
        value: Box<[u8]>,
    },
    Columns(Number, Operation, Number),
    /// The list of this leading term.
    List(usize),
    /// Of no row: compared with null.
    Never,
}

impl StoredFilter {
    pub fn compile(filter: &Option<Expr>, columns: &ScanColumns) -> SqlResult<StoredFilter> {
        let terms = match compile_option(filter)? {
            None => Box::default(),
            Some(Expression::And(terms)) => terms,
            Some(term) => Box::new([term]) as Box<[Expression]>,
        };
        // Only a leading run: a term behind one that can fail must not be judged before it.
        let leading = terms.iter().map_while(|term| Term::of(term, columns));
        Ok(StoredFilter {
            leading: leading.collect(),
            terms,
        })
    }

    /// Reads the values of the leading terms.
    pub fn bind(&self, bound: &mut BoundFilter, runtime: &Runtime<'_, '_>) {
        bound.tests.clear();
        for (number, (term, expression)) in self.leading.iter().zip(&self.terms).enumerate() {
            match term.test(number, expression, runtime) {
                Some(test) => bound.tests.push(test),
                // A value of another kind than the column's: this term and those behind it are for `holds`.
                None => break,
            }
        }
        if bound.program.is_none() && bound.tests.iter().any(|test| matches!(test, Test::List(_))) {
            bound.program = Some(Arc::clone(&self.leading));
        }
    }

    /// The terms that `bound` has not judged, on the decoded row.
    #[inline]
    pub fn holds(
        &self,
        bound: &BoundFilter,
        row: &[Datum],
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<bool> {
        all_hold(&self.terms[bound.tests.len()..], row, runtime)
    }

    /// All terms, for a row that `bound` has not seen.
    pub fn holds_whole(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        all_hold(&self.terms, row, runtime)
    }
}

#[inline]
fn all_hold(terms: &[Expression], row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
    for term in terms {
        if !term.holds(row, runtime)? {
            return Ok(false);
        }
    }
    Ok(true)
}

impl Term {
    fn of(term: &Expression, columns: &ScanColumns) -> Option<Term> {
        match term {
            Expression::IsNotNull(argument) => Some(Term::NotNull(Column::of(argument, columns)?.position)),
            Expression::Compare(compare) => Term::comparing(compare, columns),
            Expression::Call(call) => Term::calling(call, columns),
            Expression::InList(list) => Term::listing(list, columns),
            _ => None,
        }
    }

    fn comparing(compare: &Compare, columns: &ScanColumns) -> Option<Term> {
        let (left, right) = (&compare.left, &compare.right);
        if is_value(right) {
            return Some(Term::Value(
                Column::of(left, columns)?,
                compare.operation,
                Side::Right,
            ));
        }
        if is_value(left) {
            // `5 < x` is judged as `x > 5`.
            return Some(Term::Value(
                Column::of(right, columns)?,
                compare.operation.flipped(),
                Side::Left,
            ));
        }
        let (left, right) = (Column::of(left, columns)?, Column::of(right, columns)?);
        let (Stored::Number(_, left_means), Stored::Number(_, right_means)) = (left.stored, right.stored)
        else {
            return None;
        };
        (left_means == right_means).then_some(Term::Columns(
            left.number()?,
            compare.operation,
            right.number()?,
        ))
    }

    /// `date < timestamp` and its kin, which are functions.
    fn calling(call: &Call, columns: &ScanColumns) -> Option<Term> {
        let [left, right] = &*call.arguments else {
            return None;
        };
        let (column, operation, side) = match datetime_operation(call.site.name)? {
            ("date", operation, "timestamp") if is_value(right) => (left, operation, Side::Right),
            ("timestamp", operation, "date") if is_value(left) => (right, operation.flipped(), Side::Left),
            _ => return None,
        };
        let column = Column::of(column, columns)?;
        let is_date = matches!(column.stored, Stored::Number(_, Meaning::Date));
        is_date.then_some(Term::DateWithTimestamp(column.position, operation, side))
    }

    /// An IN list of constants that the column can hold. With a null among them it is never false: not for bytes.
    fn listing(list: &InList, columns: &ScanColumns) -> Option<Term> {
        let (argument, members, negated) = list.equalities()?;
        let column = Column::of(argument, columns)?;
        if members.len() > MEMBERS_MAX {
            return None;
        }
        let values = members.iter().map(|member| match member {
            Expression::Constant(value) => Some(value),
            _ => None,
        });
        match column.stored {
            Stored::Text => Some(Term::Texts {
                position: column.position,
                members: values
                    .map(|value| match value? {
                        Datum::Text(text) => Some(text.as_bytes().into()),
                        _ => None,
                    })
                    .collect::<Option<_>>()?,
                negated,
            }),
            Stored::Number(_, means) => Some(Term::Numbers {
                column: column.number()?,
                members: values.map(|value| means.number(value?)).collect::<Option<_>>()?,
                negated,
            }),
        }
    }

    /// The term with the value of this run; None: the value is of another kind, and the term is judged on the decoded
    /// row.
    fn test(&self, number: usize, expression: &Expression, runtime: &Runtime<'_, '_>) -> Option<Test> {
        match self {
            Term::NotNull(position) => Some(Test::NotNull(*position)),
            Term::Columns(left, operation, right) => Some(Test::Columns(*left, *operation, *right)),
            Term::Numbers { .. } | Term::Texts { .. } => Some(Test::List(number)),
            Term::Value(column, operation, side) => {
                let Expression::Compare(compare) = expression else {
                    return None;
                };
                let value = side.of(&compare.left, &compare.right).borrow(&[], runtime)?;
                column.test(*operation, value)
            }
            Term::DateWithTimestamp(position, operation, side) => {
                let Expression::Call(call) = expression else {
                    return None;
                };
                let [left, right] = &*call.arguments else {
                    return None;
                };
                match side.of(left, right).borrow(&[], runtime)? {
                    Datum::Null => Some(Test::Never),
                    Datum::Timestamp(us) => days_test(*position, *operation, *us),
                    _ => None,
                }
            }
        }
    }
}

impl Side {
    fn of<'e>(self, left: &'e Expression, right: &'e Expression) -> &'e Expression {
        match self {
            Side::Left => left,
            Side::Right => right,
        }
    }
}

impl Column {
    fn of(expression: &Expression, columns: &ScanColumns) -> Option<Column> {
        let Expression::Column(column) = expression else {
            return None;
        };
        let (position, ty) = columns.attribute(*column)?;
        Some(Column {
            position,
            stored: Stored::of(ty)?,
        })
    }

    fn number(self) -> Option<Number> {
        match self.stored {
            Stored::Number(width, _) => Some(Number {
                position: self.position,
                width,
            }),
            Stored::Text => None,
        }
    }

    fn test(self, operation: Operation, value: &Datum) -> Option<Test> {
        match (self.stored, value) {
            (_, Datum::Null) => Some(Test::Never),
            (Stored::Text, Datum::Text(value)) => Some(Test::Text {
                position: self.position,
                operation,
                value: value.as_bytes().into(),
            }),
            (Stored::Text, _) => None,
            (Stored::Number(_, means), value) => {
                Some(Test::Number(self.number()?, operation, means.number(value)?))
            }
        }
    }
}

/// A date compared with a time of a day: a date is its midnight. None: with an infinite one.
fn days_test(position: usize, operation: Operation, us: i64) -> Option<Test> {
    if !is_finite_timestamp(us) {
        return None;
    }
    let column = Number {
        position,
        width: Width::Four,
    };
    let (day, is_midnight) = (us.div_euclid(DAY_US), us.rem_euclid(DAY_US) == 0);
    Some(match operation {
        _ if is_midnight => Test::Number(column, operation, day),
        // Between two midnights.
        Operation::Less | Operation::LessOrEqual => Test::Number(column, Operation::LessOrEqual, day),
        Operation::Greater | Operation::GreaterOrEqual => Test::Number(column, Operation::Greater, day),
        Operation::Equal => Test::Never,
        Operation::NotEqual => Test::NotNull(position),
    })
}

/// Is it the same for all rows of a scan?
fn is_value(expression: &Expression) -> bool {
    matches!(
        expression,
        Expression::Constant(_) | Expression::Parameter(_) | Expression::ExecParameter(_)
    )
}

impl BoundFilter {
    /// Do the leading terms hold for a stored row? A plain loop: `all` with a closure stays a call.
    #[inline(always)]
    pub fn passes(&self, row: &RowView<'_>) -> bool {
        for test in &self.tests {
            let holds = match test {
                Test::List(number) => self.is_listed(*number, row),
                test => test.holds(row),
            };
            if !holds {
                return false;
            }
        }
        true
    }

    #[inline(never)]
    fn is_listed(&self, number: usize, row: &RowView<'_>) -> bool {
        match self.program.as_deref().and_then(|terms| terms.get(number)) {
            Some(Term::Numbers {
                column,
                members,
                negated,
            }) => column
                .read(row)
                .is_some_and(|value| members.contains(&value) != *negated),
            Some(Term::Texts {
                position,
                members,
                negated,
            }) => {
                let value = row.variable(*position);
                !row.is_null(*position) && members.iter().any(|member| **member == *value) != *negated
            }
            // Who binds a test of a list keeps the list.
            _ => false,
        }
    }
}

impl Test {
    #[inline]
    fn holds(&self, row: &RowView<'_>) -> bool {
        match self {
            Test::NotNull(position) => !row.is_null(*position),
            Test::Number(column, operation, value) => column
                .read(row)
                .is_some_and(|stored| operation.accepts(stored.cmp(value))),
            Test::Text {
                position,
                operation,
                value,
            } => !row.is_null(*position) && operation.accepts(row.variable(*position).cmp(value)),
            Test::Columns(left, operation, right) => match (left.read(row), right.read(row)) {
                (Some(left), Some(right)) => operation.accepts(left.cmp(&right)),
                _ => false,
            },
            Test::List(_) | Test::Never => false,
        }
    }
}

impl Number {
    #[inline]
    fn read(self, row: &RowView<'_>) -> Option<i64> {
        let position = self.position;
        match self.width {
            Width::Two => row
                .read_fixed(position)
                .map(|bytes| i16::from_le_bytes(bytes) as i64),
            Width::Four => row
                .read_fixed(position)
                .map(|bytes| i32::from_le_bytes(bytes) as i64),
            Width::Eight => row.read_fixed(position).map(i64::from_le_bytes),
        }
    }
}
