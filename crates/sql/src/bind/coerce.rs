//! Conversions: literals take their type, parameters are inferred, implicit and assignment casts become explicit nodes.
//!
//! Invariants: after binding no expression has the type `unknown`; a conversion between types of one representation
//! (`varchar` to `text`) is a node only where the new type shows.
//! Leaves out: which function or operator wants the conversion (`resolve`).

use std::sync::LazyLock;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_types::catalog::range::without_range;
use mote_types::catalog::user::{is_composite, is_row, knows_objects};
use mote_types::catalog::{category, category_of, is_oid_like, is_preferred, is_reg_type};
use mote_types::settings::DateOrder;
use mote_types::{ColumnType, Datum, FormatSettings, Numeric, oid};

use super::modifier::with_modifier;
use super::pseudo_type::stands_for;
use super::user_cast::any_cast_context;
use super::{Binder, NODE_UNITS, type_label};
use crate::builtin::cast::{CastUse, cast_context};
use crate::catalog::CatalogView;
use crate::expr::Expr;
use mote_grammar::ast::Location;

/// Literals whose meaning does not depend on the session are read with these.
static NEUTRAL: LazyLock<FormatSettings> = LazyLock::new(FormatSettings::default);

/// A cast to a pseudo-type that stands for the value's own changes nothing.
fn is_any_of(source: ColumnType, target: Oid) -> bool {
    stands_for(target, source.oid).unwrap_or(false)
}

/// Can a value of `from` stand where `to` is declared, without being asked for?
pub(super) fn implicitly_coercible(from: Oid, to: Oid, catalog: &dyn CatalogView) -> bool {
    if from == to || from == oid::UNKNOWN {
        return true;
    }
    stands_for(to, from).unwrap_or_else(|| any_cast_context(from, to, catalog) == Some(CastUse::Implicit))
}

/// Both types hold the same variant of `Datum` with the same meaning, in this direction.
fn relabels(from: Oid, to: Oid) -> bool {
    if is_oid_like(from) && is_oid_like(to) {
        return to == oid::OID || from == oid::OID;
    }
    match to {
        oid::TEXT | oid::VARCHAR => {
            matches!(from, oid::TEXT | oid::VARCHAR | oid::NAME | oid::CHAR)
        }
        _ => false,
    }
}

impl Binder<'_> {
    /// The type an expression has by now: parameters may have learnt theirs since they were bound.
    pub(super) fn type_of(&self, expr: &Expr) -> ColumnType {
        match expr {
            Expr::Parameter { index, ty } if ty.oid == oid::UNKNOWN => self.parameters[*index as usize],
            _ => expr.ty(),
        }
    }

    /// Gives a quoted literal its type.
    fn literal(
        &mut self,
        text: &str,
        target: ColumnType,
        context: CastUse,
        location: Location,
    ) -> SqlResult<Expr> {
        self.depend_on_type(target);
        // What a number without a unit means in an interval is said by the modifier.
        let base = match target.oid {
            oid::INTERVAL => target,
            other => ColumnType::new(other),
        };
        let expr = if depends_on_session(text, target.oid) {
            self.check_datetime(text, base, location)?;
            self.check_row(text, base, location)?;
            self.check_object(text, base, location)?;
            Expr::Cast {
                argument: Box::new(Expr::Constant(Datum::text(text), ColumnType::UNKNOWN)),
                from: ColumnType::UNKNOWN,
                ty: base,
                explicit: context == CastUse::Explicit,
                location: location.0,
            }
        } else {
            let value = if matches!(target.oid, oid::TEXT | oid::VARCHAR) {
                Datum::text(text)
            } else {
                mote_types::input_text(base, text, &NEUTRAL)
                    .map_err(|error| error.at(self.position(location)))?
            };
            Expr::Constant(value, base)
        };
        Ok(with_modifier(expr, target, context, location))
    }

    /// A date or time that no session can read is refused where it stands.
    fn check_datetime(&self, text: &str, ty: ColumnType, location: Location) -> SqlResult<()> {
        let is_datetime = matches!(
            without_range(ty.oid),
            oid::DATE | oid::TIME | oid::TIMETZ | oid::TIMESTAMP | oid::TIMESTAMPTZ | oid::INTERVAL
        );
        if !is_datetime {
            return Ok(());
        }
        let mut first = None;
        for date_order in [DateOrder::Mdy, DateOrder::Dmy, DateOrder::Ymd] {
            let settings = FormatSettings {
                date_order,
                ..FormatSettings::default()
            };
            match mote_types::input_text(ty, text, &settings) {
                Ok(_) => return Ok(()),
                Err(error) => first = first.or(Some(error)),
            }
        }
        first.map_or(Ok(()), |error| Err(error.at(self.position(location))))
    }

    /// A row that no session can read is refused where it stands.
    fn check_row(&self, text: &str, ty: ColumnType, location: Location) -> SqlResult<()> {
        let element = ty.element().unwrap_or(ty);
        if !is_composite(element.oid) || self.holds_times(element.oid) {
            return Ok(());
        }
        let read = mote_types::input_text(ty, text, &NEUTRAL);
        read.map(|_| ())
            .map_err(|error| error.at(self.position(location)))
    }

    /// The name of an object that there is not is refused where it stands.
    fn check_object(&self, text: &str, ty: ColumnType, location: Location) -> SqlResult<()> {
        let element = ty.element().unwrap_or(ty);
        // Texts that the catalog keeps are also bound where no session is.
        if !is_reg_type(element.oid) || !knows_objects() {
            return Ok(());
        }
        let read = mote_types::input_text(ty, text, &NEUTRAL);
        read.map(|_| ())
            .map_err(|error| error.at(self.position(location)))
    }

    /// Converts `expr` to `target`, or says that no conversion leads there in this context.
    pub(super) fn try_coerce(
        &mut self,
        expr: Expr,
        target: ColumnType,
        context: CastUse,
        location: Location,
    ) -> SqlResult<Option<Expr>> {
        let source = self.type_of(&expr);
        if source.oid == oid::UNKNOWN {
            return self.coerce_unknown(expr, target, context, location).map(Some);
        }
        if source.oid == target.oid {
            let expr = match expr {
                Expr::Parameter { index, .. } => Expr::Parameter { index, ty: source },
                other => other,
            };
            return Ok(Some(with_modifier(expr, target, context, location)));
        }
        if let Some(cast) = self.catalog.cast(source.oid, target.oid) {
            return self.coerce_by_users(expr, cast, target, context, location);
        }
        if is_composite(target.oid) && is_row(source.oid) {
            return self.coerce_row(expr, target, context, location);
        }
        match self.elements_by_users(source, target)? {
            Some(needed) if needed <= context => {}
            Some(_) => return Ok(None),
            None => match cast_context(source.oid, target.oid) {
                Some(needed) if needed <= context => {}
                _ => return Ok(None),
            },
        }
        if let Some(folded) = fold_integer(&expr, target) {
            return Ok(Some(with_modifier(folded, target, context, location)));
        }
        let expr = match expr {
            Expr::Parameter { index, .. } => Expr::Parameter { index, ty: source },
            other => other,
        };
        Ok(Some(Expr::Cast {
            argument: Box::new(expr),
            from: source,
            ty: target,
            explicit: context == CastUse::Explicit,
            location: location.0,
        }))
    }

    /// A literal or a parameter without a type.
    fn coerce_unknown(
        &mut self,
        expr: Expr,
        target: ColumnType,
        context: CastUse,
        location: Location,
    ) -> SqlResult<Expr> {
        match expr {
            Expr::Constant(Datum::Null, _) => Ok(Expr::Constant(Datum::Null, target)),
            Expr::Constant(Datum::Text(text), _) => self.literal(&text, target, context, location),
            Expr::Parameter { index, .. } => {
                let base = ColumnType::new(target.oid);
                self.parameters[index as usize] = base;
                Ok(with_modifier(
                    Expr::Parameter { index, ty: base },
                    target,
                    context,
                    location,
                ))
            }
            other => Ok(Expr::Cast {
                argument: Box::new(other),
                from: ColumnType::UNKNOWN,
                ty: target,
                explicit: context == CastUse::Explicit,
                location: location.0,
            }),
        }
    }

    /// Converts an argument to what a function declares; types of one representation pass as they are.
    pub(super) fn coerce_argument(
        &mut self,
        expr: Expr,
        declared: Oid,
        location: Location,
    ) -> SqlResult<Expr> {
        let source = self.type_of(&expr).oid;
        if source == declared || relabels(source, declared) || declared == oid::ANY {
            if let Expr::Parameter { index, .. } = expr {
                return Ok(Expr::Parameter {
                    index,
                    ty: self.parameters[index as usize],
                });
            }
            if source != oid::UNKNOWN {
                return Ok(expr);
            }
        }
        if declared == oid::ANY {
            return self.settle_unknown(expr, location);
        }
        match self.try_coerce(expr, ColumnType::new(declared), CastUse::Implicit, location)? {
            Some(expr) => Ok(expr),
            None => Err(self.cannot_cast(ColumnType::new(source), ColumnType::new(declared), location)),
        }
    }

    /// `CAST(expr AS target)`.
    pub(super) fn coerce_explicit(
        &mut self,
        expr: Expr,
        target: ColumnType,
        location: Location,
    ) -> SqlResult<Expr> {
        let source = self.type_of(&expr);
        if source.oid != oid::UNKNOWN && is_any_of(source, target.oid) {
            return Ok(expr);
        }
        match self.try_coerce(expr, target, CastUse::Explicit, location)? {
            Some(expr) => Ok(expr),
            None => Err(self.cannot_cast(source, target, location)),
        }
    }

    fn cannot_cast(&self, source: ColumnType, target: ColumnType, location: Location) -> SqlError {
        let (from, to) = (type_label(source.oid), type_label(target.oid));
        self.error(
            state::CANNOT_COERCE,
            location,
            format!("cannot cast type {from} to {to}"),
        )
    }

    /// A value on its way into a column.
    pub(super) fn coerce_assignment(
        &mut self,
        expr: Expr,
        column: &str,
        target: ColumnType,
        location: Location,
    ) -> SqlResult<Expr> {
        let source = self.type_of(&expr);
        match self.try_coerce(expr, target, CastUse::Assignment, location)? {
            Some(expr) => Ok(expr),
            None => Err(self
                .error(
                    state::DATATYPE_MISMATCH,
                    location,
                    format!(
                        "column \"{column}\" is of type {} but expression is of type {}",
                        type_label(target.oid),
                        type_label(source.oid)
                    ),
                )
                .hint("You will need to rewrite or cast the expression.")),
        }
    }

    /// The operand of AND, WHERE, CASE WHEN ...
    pub(super) fn coerce_boolean(
        &mut self,
        expr: Expr,
        construct: &str,
        location: Location,
    ) -> SqlResult<Expr> {
        let source = self.type_of(&expr);
        if source.oid != oid::BOOL && source.oid != oid::UNKNOWN {
            return Err(self.error(
                state::DATATYPE_MISMATCH,
                location,
                format!(
                    "argument of {construct} must be type boolean, not type {}",
                    type_label(source.oid)
                ),
            ));
        }
        let coerced = self.try_coerce(expr, ColumnType::BOOL, CastUse::Implicit, location)?;
        Ok(coerced.expect("boolean and unknown convert to boolean"))
    }

    /// The count of LIMIT and OFFSET.
    pub(super) fn coerce_count(
        &mut self,
        expr: Expr,
        construct: &str,
        location: Location,
    ) -> SqlResult<Expr> {
        let source = self.type_of(&expr);
        match self.try_coerce(expr, ColumnType::INT8, CastUse::Assignment, location)? {
            Some(expr) if category_of(source.oid) != category::STRING => Ok(expr),
            _ => Err(self.error(
                state::DATATYPE_MISMATCH,
                location,
                format!(
                    "argument of {construct} must be type bigint, not type {}",
                    type_label(source.oid)
                ),
            )),
        }
    }

    /// What nothing has given a type becomes text.
    pub(super) fn settle_unknown(&mut self, expr: Expr, location: Location) -> SqlResult<Expr> {
        let ty = self.type_of(&expr);
        if ty.oid == oid::UNKNOWN {
            return self.coerce_unknown(expr, ColumnType::TEXT, CastUse::Implicit, location);
        }
        match expr {
            Expr::Parameter { index, .. } => Ok(Expr::Parameter { index, ty }),
            other => Ok(other),
        }
    }

    /// The type that UNION, CASE, VALUES and their kin give to several expressions.
    pub(super) fn common_type(
        &self,
        types: &[(ColumnType, Location)],
        context: &str,
    ) -> SqlResult<ColumnType> {
        let mut chosen = ColumnType::UNKNOWN;
        for (ty, location) in types {
            if ty.oid == oid::UNKNOWN || ty.oid == chosen.oid {
                continue;
            }
            if chosen.oid == oid::UNKNOWN {
                chosen = *ty;
                continue;
            }
            if category_of(chosen.oid) != category_of(ty.oid) {
                return Err(self.error(
                    state::DATATYPE_MISMATCH,
                    *location,
                    format!(
                        "{context} types {} and {} cannot be matched",
                        type_label(chosen.oid),
                        type_label(ty.oid)
                    ),
                ));
            }
            let forth = implicitly_coercible(chosen.oid, ty.oid, self.catalog);
            if !is_preferred(chosen.oid) && forth && !implicitly_coercible(ty.oid, chosen.oid, self.catalog) {
                chosen = *ty;
            }
        }
        if chosen.oid == oid::UNKNOWN {
            return Ok(ColumnType::TEXT);
        }
        // The modifier survives where all agree on it.
        let agreed = types.iter().all(|(ty, _)| *ty == chosen);
        Ok(if agreed {
            chosen
        } else {
            ColumnType::new(chosen.oid)
        })
    }

    /// Converts to the common type found before.
    pub(super) fn coerce_common(
        &mut self,
        expr: Expr,
        target: ColumnType,
        context: &str,
        location: Location,
    ) -> SqlResult<Expr> {
        let source = self.type_of(&expr);
        match self.try_coerce(expr, target, CastUse::Implicit, location)? {
            Some(expr) => Ok(expr),
            None => Err(self.error(
                state::CANNOT_COERCE,
                location,
                format!(
                    "{context} could not convert type {} to {}",
                    type_label(source.oid),
                    type_label(target.oid)
                ),
            )),
        }
    }

    /// Finds the common type of expressions and converts them all.
    pub(super) fn unify(
        &mut self,
        exprs: Vec<(Expr, Location)>,
        context: &str,
    ) -> SqlResult<(Vec<Expr>, ColumnType)> {
        let types: Vec<_> = exprs
            .iter()
            .map(|(expr, location)| (self.type_of(expr), *location))
            .collect();
        let common = self.common_type(&types, context)?;
        let mut converted = Vec::with_capacity(exprs.len());
        for (expr, location) in exprs {
            self.work.tick(NODE_UNITS)?;
            converted.push(self.coerce_common(expr, common, context, location)?);
        }
        Ok((converted, common))
    }
}

/// Small integer constants change width here, so that `bigint_column = 5` compares like with like.
fn fold_integer(expr: &Expr, target: ColumnType) -> Option<Expr> {
    let Expr::Constant(Datum::Int4(value), _) = expr else {
        return None;
    };
    let base = ColumnType::new(target.oid);
    let datum = match target.oid {
        oid::INT8 => Datum::Int8(i64::from(*value)),
        oid::INT2 => Datum::Int2(i16::try_from(*value).ok()?),
        oid::FLOAT8 => Datum::Float8(f64::from(*value)),
        oid::NUMERIC => Datum::Numeric(Numeric::from(*value)),
        oid::OID => Datum::Oid(*value as u32),
        _ => return None,
    };
    Some(Expr::Constant(datum, base))
}

/// What a quoted literal is as a value of the type. None: each session reads it for itself, or it is no such value.
pub fn literal_value(text: &str, ty: ColumnType) -> Option<Datum> {
    if depends_on_session(text, ty.oid) {
        return None;
    }
    match ty.oid {
        oid::TEXT | oid::VARCHAR => Some(Datum::text(text)),
        _ => mote_types::input_text(ty, text, &NEUTRAL).ok(),
    }
}

/// True if the text form of a value may mean different things in different sessions or at different times.
fn depends_on_session(text: &str, target: Oid) -> bool {
    let target = ColumnType::new(target)
        .element()
        .map_or(target, |element| element.oid);
    let subtype = without_range(target);
    if subtype != target {
        let mut bounds = text.split(['{', '[', '(', '"', ',', ')', ']', '}']);
        return bounds.any(|bound| !bound.is_empty() && depends_on_session(bound, subtype));
    }
    if is_reg_type(target) {
        return true;
    }
    match target {
        oid::TIMESTAMPTZ => true,
        // What has its offset in digits asks neither the session's zone nor the day's.
        oid::TIMETZ => {
            let of_time = |byte: u8| byte.is_ascii_digit() || matches!(byte, b':' | b'.');
            let parts = text.split_once(['+', '-']);
            !parts.is_some_and(|(local, offset)| {
                local.contains(':') && local.bytes().chain(offset.bytes()).all(of_time)
            })
        }
        oid::DATE | oid::TIMESTAMP => {
            let plain = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'-' | b':' | b'.' | b' ' | b'T');
            let bytes = text.as_bytes();
            let iso = bytes.len() > 4 && bytes[..4].iter().all(u8::is_ascii_digit) && bytes[4] == b'-';
            !(iso && bytes.iter().copied().all(plain))
        }
        oid::TIME => text.bytes().any(|byte| byte.is_ascii_alphabetic()),
        // IntervalStyle says what a leading sign counts for, and nothing else of what is read.
        oid::INTERVAL => text.contains('-'),
        other => is_row(other),
    }
}
