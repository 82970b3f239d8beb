//! Casts of users in expressions: the call of their function, or the text of one type read as another.
//!
//! A pair of types has a cast of users or a built-in one, never both. PostgreSQL: find_coercion_pathway and
//! build_coercion_expression (parse_coerce.c). Leaves out: making casts (`mote_commands::cast`).

use mote_common::{Oid, SqlError, SqlResult};
use mote_grammar::ast::Location;
use mote_types::cast::find_cast;
use mote_types::catalog::user::{is_composite, is_domain, is_enum};
use mote_types::catalog::{polymorphism, type_shape};
use mote_types::{ColumnType, Datum, oid};

use super::Binder;
use super::modifier::{spelled_out, with_modifier};
use super::pseudo_type::stands_for;
use crate::builtin::cast::{CastUse, cast_context};
use crate::catalog::{CatalogView, UserCast};
use crate::expr::{Expr, RoutineExpr};

/// The weakest context in which `source` converts to `target`, casts of users included.
pub(super) fn any_cast_context(source: Oid, target: Oid, catalog: &dyn CatalogView) -> Option<CastUse> {
    match catalog.cast(source, target) {
        Some(cast) => Some(cast.context),
        None => cast_context(source, target),
    }
}

impl Binder<'_> {
    /// Converts as a cast of users says; None where it is not for this context.
    pub(super) fn coerce_by_users(
        &mut self,
        expr: Expr,
        cast: UserCast,
        target: ColumnType,
        context: CastUse,
        location: Location,
    ) -> SqlResult<Option<Expr>> {
        if cast.context > context {
            return Ok(None);
        }
        // A parameter that has learnt its type.
        let source = self.type_of(&expr);
        let expr = match expr {
            Expr::Parameter { index, .. } => Expr::Parameter { index, ty: source },
            other => other,
        };
        match cast.function {
            Some(function) => self.cast_by_function(expr, function, target, context, location),
            None => Ok(with_modifier(
                by_text(expr, target, context, location),
                target,
                context,
                location,
            )),
        }
        .map(Some)
    }

    fn cast_by_function(
        &mut self,
        expr: Expr,
        function: Oid,
        target: ColumnType,
        context: CastUse,
        location: Location,
    ) -> SqlResult<Expr> {
        let missing = || SqlError::internal("the function of a cast is there as long as the cast");
        let routine = self.catalog.routine(function).ok_or_else(missing)?;
        let declared: Vec<Oid> = routine.inputs().map(|input| input.ty.ty.oid).collect();
        let first = match declared.first() {
            Some(&first) if polymorphism(first).is_none() => self.coerce_argument(expr, first, location)?,
            _ => expr,
        };
        let mut arguments = vec![spelled_out(first, location)];
        if declared.len() > 1 {
            arguments.push(Expr::Constant(Datum::Int4(target.typmod), ColumnType::INT4));
        }
        if declared.len() > 2 {
            let explicit = context == CastUse::Explicit;
            arguments.push(Expr::Constant(Datum::Bool(explicit), ColumnType::BOOL));
        }
        self.note_routine(&routine);
        let result = ColumnType::new(match polymorphism(routine.result.ty.oid) {
            Some(_) => target.oid,
            None => routine.result.ty.oid,
        });
        let columns = self.catalog.row_type(result.oid).map(|row| {
            let named = row.names.iter().zip(&row.types);
            named.map(|(name, ty)| (name.to_string(), *ty)).collect()
        });
        let takes_modifier = declared.len() > 1;
        let called = Expr::Routine(Box::new(RoutineExpr {
            routine,
            arguments,
            ty: result,
            columns,
            location: location.0,
        }));
        // What it answers may have the target's values under another name.
        let plain = ColumnType::new(target.oid);
        let converted = match result.oid == target.oid {
            true => called,
            false => conversion(called, plain, context, location),
        };
        Ok(match takes_modifier {
            true => converted,
            false => with_modifier(converted, target, context, location),
        })
    }

    /// The context in which arrays convert whose elements have a cast of users; None where they have none.
    pub(super) fn elements_by_users(
        &self,
        source: ColumnType,
        target: ColumnType,
    ) -> SqlResult<Option<CastUse>> {
        let element = |ty: ColumnType| ColumnType::new(ty.oid).element().map(|element| element.oid);
        let (Some(from), Some(to)) = (element(source), element(target)) else {
            return Ok(None);
        };
        let Some(cast) = self.catalog.cast(from, to) else {
            return Ok(None);
        };
        match cast.function.is_some() || cast_context(from, to).is_none() {
            true => Err(SqlError::unsupported(
                "a conversion of arrays whose elements have a cast of users",
            )),
            false => Ok(Some(cast.context)),
        }
    }
}

/// The text of a value, read as a value of the other type.
fn by_text(expr: Expr, target: ColumnType, context: CastUse, location: Location) -> Expr {
    let (source, plain) = (expr.ty().oid, ColumnType::new(target.oid));
    // From strings and to strings all types convert by their text.
    if cast_context(source, plain.oid).is_some() {
        return conversion(expr, plain, context, location);
    }
    // The output function calls true `t`, the cast to text does not.
    let text = match source {
        oid::BOOL => oid::CSTRING,
        _ => oid::TEXT,
    };
    let shown = conversion(expr, ColumnType::new(text), context, location);
    conversion(shown, plain, context, location)
}

fn conversion(argument: Expr, ty: ColumnType, context: CastUse, location: Location) -> Expr {
    Expr::Cast {
        from: argument.ty(),
        argument: Box::new(argument),
        ty,
        explicit: context == CastUse::Explicit,
        location: location.0,
    }
}

/// What the values of a type are: those of a domain are of its base type.
fn without_domain(ty: Oid, catalog: &dyn CatalogView) -> Oid {
    let found = is_domain(ty).then(|| catalog.user_type(ty)).flatten();
    let base = found.and_then(|found| found.domain.as_ref().map(|domain| domain.base.oid));
    base.unwrap_or(ty)
}

/// Is a value of the one type one of the other as it is? IsBinaryCoercible.
pub fn is_same_value(from: Oid, to: Oid, catalog: &dyn CatalogView) -> bool {
    let base = without_domain(from, catalog);
    if from == to || base == to {
        return true;
    }
    if let Some(stands) = stands_for(to, base) {
        return stands;
    }
    let relabels = find_cast(base, to).is_some_and(|row| row.binary && row.context == CastUse::Implicit);
    relabels || (is_composite(base) && to == oid::RECORD)
}

/// Why a cast WITHOUT FUNCTION cannot be between two types, where PostgreSQL says so.
pub fn why_not_binary(source: Oid, target: Oid, catalog: &dyn CatalogView) -> Option<&'static str> {
    let shape = |ty: Oid| {
        let shape = type_shape(without_domain(ty, catalog));
        shape.map(|info| (info.len, info.by_value, info.align))
    };
    let either = |is: fn(Oid) -> bool| is(source) || is(target);
    if shape(source) != shape(target) {
        Some("source and target data types are not physically compatible")
    } else if either(is_composite) {
        Some("composite data types are not binary-compatible")
    } else if either(is_enum) {
        Some("enum data types are not binary-compatible")
    } else if either(|ty| ColumnType::new(ty).is_array()) {
        Some("array data types are not binary-compatible")
    } else {
        either(is_domain).then_some("domain data types must not be marked binary-compatible")
    }
}
