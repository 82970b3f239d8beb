//! Which expressions depend on nothing but their row: what indexes and generated columns may hold.
//!
//! As in PostgreSQL, a conversion is as immutable as the function that makes it: those that read the time zone, the date
//! style or the catalog are not, and text forms of numbers are, though a setting may shorten them.

use mote_common::Oid;
use mote_types::cast::find_cast;
use mote_types::catalog::range::{is_multirange, is_range};
use mote_types::catalog::user::{is_enum, is_row};
use mote_types::catalog::{category, category_of, is_reg_type};
use mote_types::family::FAMILIES;
use mote_types::{ColumnType, oid::*, type_info};

use crate::builtin::function::{FunctionSignature, Volatility};
use crate::expr::Expr;

impl Expr {
    /// Does its value depend on the row alone?
    pub fn is_immutable(&self) -> bool {
        !self.any(&mut |part| match part {
            Expr::Call { function, .. } => function.signature().volatility != Volatility::Immutable,
            Expr::Routine(call) => call.routine.volatility != Volatility::Immutable,
            // A literal of any type is read once, whatever the settings were.
            Expr::Cast { argument, from, .. }
                if from.oid == UNKNOWN && matches!(**argument, Expr::Constant(..)) =>
            {
                false
            }
            Expr::Cast { from, ty, .. } => !is_immutable_cast(*from, *ty),
            // The rules may change.
            Expr::Domain(_) => true,
            Expr::SessionValue { .. } | Expr::Sequence { .. } | Expr::SubPlan(_) => true,
            _ => false,
        })
    }
}

fn is_immutable_cast(from: ColumnType, to: ColumnType) -> bool {
    if from.oid == to.oid {
        return true;
    }
    if let Some(row) = find_cast(from.oid, to.oid)
        && (row.binary || row.function != Oid::INVALID)
    {
        return !is_stable_function(from.oid, to.oid)
            && !said_to_be_stable(|known| known.oid == row.function);
    }
    if let (Some(from), Some(to)) = (from.element(), to.element()) {
        return is_immutable_cast(from, to);
    }
    // Through the text form.
    let string = |ty: Oid| ty == UNKNOWN || category_of(ty) == category::STRING;
    match (string(from.oid), string(to.oid)) {
        (true, true) => true,
        (true, false) => !has_stable_input(to),
        _ => !has_stable_output(from),
    }
}

/// Rows of pg_cast whose function is stable.
fn is_stable_function(from: Oid, to: Oid) -> bool {
    match to {
        REGCLASS => category_of(from) == category::STRING,
        TIMESTAMPTZ => matches!(from, DATE | TIMESTAMP),
        DATE | TIME | TIMESTAMP => from == TIMESTAMPTZ,
        TIMETZ => matches!(from, TIME | TIMESTAMPTZ),
        _ => false,
    }
}

/// Whether the families of types say that this function is no immutable one.
fn said_to_be_stable(wanted: impl Fn(&FunctionSignature) -> bool) -> bool {
    let signatures = FAMILIES.iter().flat_map(|family| {
        let routines = family.routines.iter().map(|routine| &routine.signature);
        routines.chain(family.input_output)
    });
    signatures
        .filter(|signature| wanted(signature))
        .any(|signature| signature.volatility != Volatility::Immutable)
}

fn has_stable_input(ty: ColumnType) -> bool {
    ty.is_array()
        || type_info(ty.oid).is_some_and(|info| said_to_be_stable(|known| known.name == info.input))
        || is_reg_type(ty.oid)
        || is_enum(ty.oid)
        || is_range(ty.oid)
        || is_multirange(ty.oid)
        || matches!(ty.oid, DATE | TIME | TIMESTAMP | TIMESTAMPTZ | INTERVAL)
        || is_row(ty.oid)
}

fn has_stable_output(ty: ColumnType) -> bool {
    ty.is_array()
        || type_info(ty.oid).is_some_and(|info| said_to_be_stable(|known| known.name == info.output))
        || is_reg_type(ty.oid)
        || is_enum(ty.oid)
        || is_range(ty.oid)
        || is_multirange(ty.oid)
        || matches!(ty.oid, DATE | TIMESTAMP | TIMESTAMPTZ)
        || is_row(ty.oid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_are_what_their_functions_are() {
        let cast = |from, to| is_immutable_cast(ColumnType::new(from), ColumnType::new(to));
        assert!(cast(VARCHAR, TEXT) && cast(INT4, TEXT) && cast(FLOAT8, TEXT) && cast(TEXT, INT4));
        assert!(cast(DATE, TIMESTAMP) && cast(TIMESTAMP, DATE) && cast(INT4_ARRAY, INT8_ARRAY));
        // What a type's own folder says.
        assert!(!cast(TEXT, TIMETZ) && cast(TIMETZ, TEXT) && cast(TIMETZ, TIME) && cast(TEXT, MACADDR));
        assert!(!cast(DATE, TIMESTAMPTZ) && !cast(TIMESTAMPTZ, DATE) && !cast(TIMESTAMP, TEXT));
        assert!(
            !cast(TEXT, DATE) && !cast(TEXT, INT4_ARRAY) && !cast(REGCLASS, TEXT) && !cast(TEXT, REGCLASS)
        );
    }
}
