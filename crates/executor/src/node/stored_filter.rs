//! The filter of a scan of stored rows: its leading terms are judged on the bytes of a row where they can be, so that a
//! row that does not pass is never decoded.
//!
//! Invariants
//!  1. Terms are judged in the order of the condition: only a leading run of comparisons of an integer or text column with
//!     a constant or parameter, and of IS NOT NULL, is judged on bytes. None of them can fail.
//!  2. The first term that is not true ends it, as in PostgreSQL.
//!  3. What columns are compared with is read once a scan, at its start.

use mote_common::SqlResult;
use mote_engine::RowView;
use mote_sql::expr::Expr;
use mote_types::{ColumnType, Datum, oid};

use super::scan::ScanColumns;
use crate::expr::{Expression, compile_option};
use crate::runtime::Runtime;
use crate::value::Operation;

/// How a column's values lie in a row.
#[derive(Clone, Copy)]
enum Stored {
    Int2,
    Int4,
    Int8,
    Text,
}

impl Stored {
    /// None: terms over such a column are judged after decoding.
    fn of(ty: ColumnType) -> Option<Stored> {
        match ty.oid {
            oid::INT2 => Some(Stored::Int2),
            oid::INT4 => Some(Stored::Int4),
            oid::INT8 => Some(Stored::Int8),
            // Text sorts by code point, in every collation; in UTF-8 that is the order of the bytes.
            oid::TEXT | oid::VARCHAR => Some(Stored::Text),
            // Without a length it is stored with blanks that do not count.
            oid::BPCHAR if ty.typmod >= 0 => Some(Stored::Text),
            _ => None,
        }
    }
}

/// A term that can be judged on bytes.
#[derive(Clone, Copy)]
struct Term {
    position: usize,
    stored: Stored,
    /// None is IS NOT NULL.
    comparison: Option<(Operation, Side)>,
}

/// Where the constant or parameter of a comparison stands.
#[derive(Clone, Copy)]
enum Side {
    Left,
    Right,
}

/// A scan's filter, its terms joined by AND.
pub struct StoredFilter {
    /// All of the condition.
    terms: Box<[Expression]>,
    /// The leading ones that can be judged on bytes.
    leading: Box<[Term]>,
}

/// The leading terms with their values, for one run of a scan.
#[derive(Default)]
pub struct BoundFilter {
    tests: Vec<Test>,
}

/// True of rows whose column is not null and compares so.
enum Test {
    NotNull(usize),
    Integer {
        position: usize,
        stored: Stored,
        operation: Operation,
        value: i64,
    },
    Text {
        position: usize,
        operation: Operation,
        value: Box<[u8]>,
    },
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
        for (term, expression) in self.leading.iter().zip(&self.terms) {
            match term.test(expression, runtime) {
                Some(test) => bound.tests.push(test),
                // A value of another kind than the column's: this term and those behind it are for `holds`.
                None => break,
            }
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
        let (column, comparison) = match term {
            Expression::IsNotNull(argument) => (&**argument, None),
            Expression::Compare(compare) if is_value(&compare.right) => {
                (&compare.left, Some((compare.operation, Side::Right)))
            }
            Expression::Compare(compare) if is_value(&compare.left) => {
                // `5 < x` is judged as `x > 5`.
                (&compare.right, Some((compare.operation.flipped(), Side::Left)))
            }
            _ => return None,
        };
        let Expression::Column(column) = column else {
            return None;
        };
        let (position, ty) = columns.attribute(*column)?;
        Some(Term {
            position,
            stored: Stored::of(ty)?,
            comparison,
        })
    }

    /// The term with the value of this run; None: the value is of another kind, and the term is judged on the decoded
    /// row.
    fn test(&self, expression: &Expression, runtime: &Runtime<'_, '_>) -> Option<Test> {
        let position = self.position;
        let Some((operation, side)) = self.comparison else {
            return Some(Test::NotNull(position));
        };
        let Expression::Compare(compare) = expression else {
            return None;
        };
        let value = match side {
            Side::Left => &compare.left,
            Side::Right => &compare.right,
        };
        match (self.stored, value.borrow(&[], runtime)?) {
            (_, Datum::Null) => Some(Test::Never),
            (Stored::Text, Datum::Text(value)) => Some(Test::Text {
                position,
                operation,
                value: value.as_bytes().into(),
            }),
            (
                Stored::Int2 | Stored::Int4 | Stored::Int8,
                // Any two widths: both sides are widened to eight bytes.
                value @ (Datum::Int2(_) | Datum::Int4(_) | Datum::Int8(_)),
            ) => Some(Test::Integer {
                position,
                stored: self.stored,
                operation,
                value: value.as_i64()?,
            }),
            _ => None,
        }
    }
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
            if !test.holds(row) {
                return false;
            }
        }
        true
    }
}

impl Test {
    #[inline]
    fn holds(&self, row: &RowView<'_>) -> bool {
        match self {
            Test::NotNull(position) => !row.is_null(*position),
            Test::Integer {
                position,
                stored,
                operation,
                value,
            } => integer(*stored, *position, row).is_some_and(|stored| operation.accepts(stored.cmp(value))),
            Test::Text {
                position,
                operation,
                value,
            } => !row.is_null(*position) && operation.accepts(row.variable(*position).cmp(value)),
            Test::Never => false,
        }
    }
}

#[inline]
fn integer(stored: Stored, position: usize, row: &RowView<'_>) -> Option<i64> {
    match stored {
        Stored::Int2 => row
            .read_fixed(position)
            .map(|bytes| i16::from_le_bytes(bytes) as i64),
        Stored::Int4 => row
            .read_fixed(position)
            .map(|bytes| i32::from_le_bytes(bytes) as i64),
        Stored::Int8 => row.read_fixed(position).map(i64::from_le_bytes),
        Stored::Text => None,
    }
}
