//! Casts in expressions: the common ones as nodes of their own, the rest through `value::convert`.

use mote_common::SqlResult;
use mote_types::catalog::is_oid_like;
use mote_types::{ColumnType, Datum, Numeric, oid};

use super::Expression;
use crate::runtime::Runtime;
use crate::value::convert;

/// A conversion that changes the value; relabellings compile to nothing.
pub struct Cast {
    argument: Expression,
    from: ColumnType,
    to: ColumnType,
    /// Written as a cast: a value that is too long is cut rather than refused.
    explicit: bool,
    kind: Kind,
}

/// Widenings of integers cannot fail and need no settings; everything else goes the general way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    ToInt4,
    ToInt8,
    IntegerToNumeric,
    General,
}

impl Cast {
    /// A cast, or the bare argument where the datum stays the same.
    pub(super) fn compile(
        argument: Expression,
        from: ColumnType,
        to: ColumnType,
        explicit: bool,
    ) -> Expression {
        if is_relabelling(from, to) {
            return argument;
        }
        let narrow = matches!(from.oid, oid::INT2 | oid::INT4);
        let kind = match to.oid {
            oid::INT4 if from.oid == oid::INT2 => Kind::ToInt4,
            oid::INT8 if narrow => Kind::ToInt8,
            // With a precision the value may be rounded or refused.
            oid::NUMERIC if to.typmod < 0 && (narrow || from.oid == oid::INT8) => Kind::IntegerToNumeric,
            _ => Kind::General,
        };
        Expression::Cast(Box::new(Cast {
            argument,
            from,
            to,
            explicit,
            kind,
        }))
    }

    /// The integer that this makes a numeric of, where it stands somewhere already.
    #[inline]
    pub(super) fn integer(&self, row: &[Datum], runtime: &Runtime<'_, '_>) -> Option<i64> {
        match self.kind {
            Kind::IntegerToNumeric => self.argument.borrow(row, runtime)?.as_i64(),
            _ => None,
        }
    }

    pub(super) fn evaluate(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Datum> {
        let value = self.argument.evaluate(row, runtime)?;
        match (self.kind, value.as_i64()) {
            (_, None) if value.is_null() => Ok(Datum::Null),
            (Kind::ToInt4, Some(value)) => Ok(Datum::Int4(value as i32)),
            (Kind::ToInt8, Some(value)) => Ok(Datum::Int8(value)),
            (Kind::IntegerToNumeric, Some(value)) => Ok(Datum::Numeric(Numeric::from(value))),
            _ => convert(runtime, &value, self.from, self.to, self.explicit),
        }
    }
}

/// Whether a value of one type is one of the other, byte for byte.
fn is_relabelling(from: ColumnType, to: ColumnType) -> bool {
    if from.oid == to.oid {
        // `bpchar` has the blanks that `character(n)` stands for.
        let spells_out = from.oid == oid::BPCHAR && from.typmod >= 0;
        return to.typmod < 0 && !spells_out || from.typmod == to.typmod;
    }
    // A length on the way in does not matter: the value already keeps to it.
    let strings = |oid| matches!(oid, oid::TEXT | oid::VARCHAR);
    if strings(from.oid) && strings(to.oid) {
        return to.typmod < 0;
    }
    // oid and the reg* types among each other.
    is_oid_like(from.oid) && is_oid_like(to.oid) && to.typmod < 0
}
