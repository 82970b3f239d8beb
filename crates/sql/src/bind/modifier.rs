//! Lengths and precisions: the nodes that apply them, and the blanks of a `character(n)` whose length will not be known.

use mote_grammar::ast::Location;
use mote_types::{ColumnType, Datum, oid};

use crate::builtin::cast::CastUse;
use crate::expr::Expr;

/// Applies a length or precision, unless the value has it already.
pub(super) fn with_modifier(expr: Expr, target: ColumnType, context: CastUse, location: Location) -> Expr {
    let source = expr.ty();
    let forgets_length = target.typmod == -1 && source.oid == oid::BPCHAR && source.typmod >= 0;
    if forgets_length {
        return spelled_out(expr, location);
    }
    if target.typmod == -1 || source.typmod == target.typmod {
        return expr;
    }
    if matches!(expr, Expr::Constant(Datum::Null, _)) {
        return Expr::Constant(Datum::Null, target);
    }
    if context == CastUse::Implicit {
        return expr;
    }
    Expr::Cast {
        argument: Box::new(expr),
        from: source,
        ty: target,
        explicit: context == CastUse::Explicit,
        location: location.0,
    }
}

/// A `character(n)` for where its length will not be known: its blanks become part of the value.
pub(super) fn spelled_out(expr: Expr, location: Location) -> Expr {
    let source = expr.ty();
    if source.oid != oid::BPCHAR || source.typmod < 0 {
        return expr;
    }
    Expr::Cast {
        argument: Box::new(expr),
        from: source,
        ty: ColumnType::new(oid::BPCHAR),
        explicit: false,
        location: location.0,
    }
}
