//! Conversion between types: which conversions exist (`can_cast`, the facts of `pg_cast`) and doing them (`cast`).
//!
//! The static part works on OIDs for the binder; the runtime part on datums. A length, precision or scale is applied
//! by `typmod::coerce_typmod`, after the conversion of the type itself.
//!
//! Source: PostgreSQL's pg_cast.dat and the functions that it names. Leaves out: which cast a statement may use (the binder),
//! types with a folder of their own (`family`).

use crate::catalog::extension::CITEXT;
use crate::catalog::range::is_multirange;
use crate::catalog::user::{is_row, read_object};
use crate::catalog::{ColumnType, category, category_of, element_type, is_oid_like, is_text_like};
use crate::datetime::{
    self, DAY_US, civil, date_to_timestamp, timestamp_to_date, timestamp_to_timestamptz,
    timestamptz_to_timestamp,
};
use crate::datum::{Array, Datum, ELEMENT_COST, copy_text, without_blanks};
use crate::family::{self, FAMILIES, time_tz};
use crate::format::text::{char_byte, char_text};
use crate::format::{input_text, output_text};
use crate::json::Json;
use crate::numeric::Numeric;
use crate::oid::{self, Oid};
use crate::settings::FormatSettings;
use crate::typmod::{coerce_typmod, padded_to_length};
use compact_str::CompactString;
use mote_common::error::state;
use mote_common::work::{self, Meter};
use mote_common::{SqlError, SqlResult};
use std::collections::HashMap;
use std::sync::LazyLock;

mod table;

pub use crate::signature::{CastContext, CastRow};

/// Every row of `pg_cast`.
pub fn casts() -> impl Iterator<Item = &'static CastRow> {
    let families = FAMILIES.iter().flat_map(|family| family.casts);
    table::CAST_TABLE.iter().chain(families)
}

static BY_PAIR: LazyLock<HashMap<(Oid, Oid), &'static CastRow>> =
    LazyLock::new(|| casts().map(|row| ((row.source, row.target), row)).collect());

/// The `pg_cast` entry for a pair of types.
pub fn find_cast(from: Oid, to: Oid) -> Option<&'static CastRow> {
    BY_PAIR.get(&(from, to)).copied()
}

/// The type whose values these are under another name, and whose operators are used for them: `inet` for `cidr`.
pub fn relabelled(ty: Oid) -> impl Iterator<Item = Oid> {
    casts()
        .filter(move |row| row.source == ty && row.binary && row.context == CastContext::Implicit)
        .map(|row| row.target)
}

/// The least demanding context in which `from` converts to `to`, or `None` where no conversion exists.
///
/// Beyond `pg_cast`: a literal of unknown type becomes anything, arrays convert as their elements do, every type is
/// assigned to text through its text form, and text converts to every type when asked explicitly.
pub fn can_cast(from: Oid, to: Oid) -> Option<CastContext> {
    if from == to || from == oid::UNKNOWN {
        return Some(CastContext::Implicit);
    }
    if let Some(entry) = find_cast(from, to) {
        return Some(entry.context);
    }
    match (from, to) {
        (oid::INT2VECTOR, oid::INT2_ARRAY) | (oid::OIDVECTOR, oid::OID_ARRAY) => {
            return Some(CastContext::Implicit);
        }
        _ => {}
    }
    if let (Some(from), Some(to)) = (element_type(from), element_type(to)) {
        return can_cast(from, to);
    }
    let is_value = |oid| !matches!(category_of(oid), category::PSEUDO | category::UNKNOWN);
    if category_of(to) == category::STRING && (is_value(from) || is_row(from)) {
        return Some(CastContext::Assignment);
    }
    if category_of(from) == category::STRING && is_value(to) {
        return Some(CastContext::Explicit);
    }
    None
}

/// The error for a pair without a conversion.
pub fn cannot_cast(from: ColumnType, to: ColumnType) -> SqlError {
    let message = format!(
        "cannot cast type {} to {}",
        ColumnType::new(from.oid).name(),
        ColumnType::new(to.oid).name()
    );
    SqlError::new(state::CANNOT_COERCE, message)
}

/// Converts a value, modifier included. NULL stays NULL. Explicit casts cut strings to length where assignment
/// refuses; an implicit cast applies no modifier of its own, but gets `to.typmod` applied like an assignment.
pub fn cast(
    datum: &Datum,
    from: ColumnType,
    to: ColumnType,
    context: CastContext,
    settings: &FormatSettings,
) -> SqlResult<Datum> {
    if datum.is_null() {
        return Ok(Datum::Null);
    }
    let explicit = context == CastContext::Explicit;
    if from.oid == to.oid {
        let coerced = coerce_typmod(datum.try_clone()?, to, explicit)?;
        return match to.typmod < 0 {
            true => padded_to_length(coerced, from),
            false => Ok(coerced),
        };
    }
    let converted = convert(datum, from, to, explicit, settings)?;
    coerce_typmod(converted, to, explicit)
}

fn convert(
    datum: &Datum,
    from: ColumnType,
    to: ColumnType,
    explicit: bool,
    settings: &FormatSettings,
) -> SqlResult<Datum> {
    if let Datum::Text(value) = datum {
        let shows_blanks = from.oid == oid::BPCHAR && from.typmod >= 0 && !drops_blanks(to);
        if shows_blanks && let Datum::Padded(value) = padded_to_length(datum.try_clone()?, from)? {
            return convert_text(&value.into(), from, to, settings);
        }
        return convert_text(value, from, to, settings);
    }
    if let Datum::Padded(value) = datum {
        return match drops_blanks(to) {
            true => convert_text(&without_blanks(value).into(), from, to, settings),
            false => convert_text(&value.as_ref().into(), from, to, settings),
        };
    }
    if let Datum::Folded(value) = datum {
        return convert_text(&copy_text(value.shown())?, from, to, settings);
    }
    if let Datum::Array(array) = datum
        && let Some(element) = to.element()
    {
        return convert_array(array, from, element, explicit, settings);
    }
    if let Some(converted) = family::convert(datum, from, to) {
        return converted;
    }
    match to.oid {
        oid::JSON | oid::JSONB if matches!(datum, Datum::Jsonb(_)) || is_text_like(from.oid) => {}
        other if is_text_like(other) || other == CITEXT => return to_text(datum, from, to, settings),
        _ => {}
    }
    match datum {
        Datum::Bool(value) if to.oid == oid::INT4 => Ok(Datum::Int4(*value as i32)),
        // The low half of a 64-bit transaction number.
        Datum::Unsigned8(value) if to.oid == oid::XID => Ok(Datum::Oid(*value as u32)),
        Datum::Int2(_) | Datum::Int4(_) | Datum::Int8(_) | Datum::Oid(_) => convert_integer(datum, from, to),
        Datum::Float4(value) => convert_float4(*value, from, to),
        Datum::Float8(value) => convert_float8(*value, from, to),
        Datum::Numeric(value) => convert_numeric(value, from, to),
        Datum::Date(_)
        | Datum::Time(_)
        | Datum::Timestamp(_)
        | Datum::TimestampTz(_)
        | Datum::Interval(_) => convert_datetime(datum, from, to, settings),
        Datum::Jsonb(value) => convert_json(value, from, to),
        Datum::Range(_) if is_multirange(to.oid) => family::range::multirange(datum),
        // What binds a conversion between rows takes them apart; here only the name of the type changes.
        Datum::Record(_) if to.oid == oid::RECORD => datum.try_clone(),
        _ => Err(cannot_cast(from, to)),
    }
}

/// `bpchar` loses its blanks on the way to other strings, but not where it is written as text to be read again.
fn drops_blanks(to: ColumnType) -> bool {
    matches!(to.oid, oid::TEXT | oid::VARCHAR | oid::NAME | CITEXT)
}

/// From a string type: the same bytes for another string, `"char"` and `name` cut, anything else read as input.
fn convert_text(
    value: &CompactString,
    from: ColumnType,
    to: ColumnType,
    settings: &FormatSettings,
) -> SqlResult<Datum> {
    match (from.oid, to.oid) {
        (oid::CHAR, oid::INT4) => Ok(Datum::Int4(char_byte(value) as i8 as i32)),
        (oid::CHAR, _) if char_byte(value) > 0x7f => {
            let mut shown = Vec::new();
            output_text(&Datum::Text(value.clone()), from, settings, &mut shown);
            let shown = String::from_utf8(shown).expect("an octal number is ASCII");
            input_text(ColumnType::new(to.oid), &shown, settings)
        }
        (_, oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::UNKNOWN | oid::CSTRING) => {
            copy_text(value).map(Datum::Text)
        }
        // A name, where the text form may be a number.
        (oid::TEXT | oid::VARCHAR, oid::REGCLASS) => {
            read_object(oid::REGCLASS, value).map(|relation| Datum::Oid(relation.0))
        }
        (oid::JSON, oid::JSONB) => Ok(Datum::Jsonb(Box::new(Json::parse(value)?))),
        // The modifier of the target waits for the caller, except that intervals need it while reading.
        (_, oid::INTERVAL) => input_text(to, value, settings),
        _ => input_text(ColumnType::new(to.oid), value, settings),
    }
}

fn to_text(datum: &Datum, from: ColumnType, to: ColumnType, settings: &FormatSettings) -> SqlResult<Datum> {
    if let (Datum::Bool(value), oid::TEXT | oid::VARCHAR | oid::BPCHAR) = (datum, to.oid) {
        return Ok(Datum::Text(CompactString::const_new(if *value {
            "true"
        } else {
            "false"
        })));
    }
    if let (Datum::Int4(value), oid::CHAR) = (datum, to.oid) {
        let byte = i8::try_from(*value)
            .map_err(|_| SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "\"char\" out of range"))?
            as u8;
        return Ok(Datum::Text(char_text(byte)));
    }
    let mut out = Vec::new();
    reserve_for_text(datum.heap_bytes())?;
    work::or_unwound(|| output_text(datum, from, settings, &mut out))?;
    work::check_length(out.len())?;
    let text = CompactString::from(String::from_utf8(out).expect("text output is UTF-8"));
    match to.oid {
        oid::NAME | oid::CHAR | oid::JSON | CITEXT => input_text(ColumnType::new(to.oid), &text, settings),
        _ => Ok(Datum::Text(text)),
    }
}

/// Room for the text of a value with this much on the heap: writing it cannot fail.
fn reserve_for_text(heap_bytes: usize) -> SqlResult<()> {
    match heap_bytes < work::GRAIN_BYTES {
        true => Ok(()),
        false => work::reserve(heap_bytes),
    }
}

fn convert_array(
    array: &Array,
    from: ColumnType,
    element: ColumnType,
    explicit: bool,
    settings: &FormatSettings,
) -> SqlResult<Datum> {
    let context = if explicit {
        CastContext::Explicit
    } else {
        CastContext::Assignment
    };
    let from = ColumnType {
        oid: array.element,
        typmod: from.typmod,
    };
    let mut elements = work::list(array.elements.len())?;
    let mut meter = Meter::default();
    for item in &array.elements {
        let converted = cast(item, from, element, context, settings)?;
        meter.keep(2 * ELEMENT_COST, converted.heap_bytes().min(work::GRAIN_BYTES))?;
        elements.push(converted);
    }
    Ok(Datum::Array(Box::new(Array {
        element: element.oid,
        dims: array.dims.clone(),
        elements: elements.into(),
    })))
}

#[cold]
pub(crate) fn integer_out_of_range(name: &str) -> SqlError {
    SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, format!("{name} out of range"))
}

fn convert_integer(datum: &Datum, from: ColumnType, to: ColumnType) -> SqlResult<Datum> {
    let value = datum.as_i64().expect("only integers come here");
    Ok(match to.oid {
        oid::INT2 => Datum::Int2(i16::try_from(value).map_err(|_| integer_out_of_range("smallint"))?),
        // An oid is the same 32 bits as an integer.
        oid::INT4 if matches!(datum, Datum::Oid(_)) => Datum::Int4(value as i32),
        oid::INT4 => Datum::Int4(i32::try_from(value).map_err(|_| integer_out_of_range("integer"))?),
        oid::INT8 => Datum::Int8(value),
        oid::FLOAT4 => Datum::Float4(value as f32),
        oid::FLOAT8 => Datum::Float8(value as f64),
        oid::NUMERIC => Datum::Numeric(Numeric::from(value)),
        oid::BOOL if matches!(datum, Datum::Int4(_)) => Datum::Bool(value != 0),
        other if is_oid_like(other) => match datum {
            Datum::Int8(_) => Datum::Oid(u32::try_from(value).map_err(|_| integer_out_of_range("OID"))?),
            _ => Datum::Oid(value as u32),
        },
        _ => return Err(cannot_cast(from, to)),
    })
}

/// Half to even, as C's `rint`.
fn float_to_integer(value: f64, name: &str, min: f64, end: f64) -> SqlResult<i64> {
    let rounded = value.round_ties_even();
    // NaN fails both comparisons.
    if rounded >= min && rounded < end {
        Ok(rounded as i64)
    } else {
        Err(integer_out_of_range(name))
    }
}

fn float_to_integer_datum(value: f64, to: Oid) -> Option<SqlResult<Datum>> {
    Some(match to {
        oid::INT2 => float_to_integer(value, "smallint", -32_768.0, 32_768.0).map(|v| Datum::Int2(v as i16)),
        oid::INT4 => float_to_integer(value, "integer", -2_147_483_648.0, 2_147_483_648.0)
            .map(|v| Datum::Int4(v as i32)),
        oid::INT8 => {
            const END: f64 = 9_223_372_036_854_775_808.0;
            float_to_integer(value, "bigint", -END, END).map(Datum::Int8)
        }
        _ => return None,
    })
}

fn convert_float4(value: f32, from: ColumnType, to: ColumnType) -> SqlResult<Datum> {
    match to.oid {
        oid::FLOAT8 => Ok(Datum::Float8(value as f64)),
        oid::NUMERIC => Ok(Datum::Numeric(Numeric::from_f32(value))),
        other => float_to_integer_datum(value as f64, other).unwrap_or_else(|| Err(cannot_cast(from, to))),
    }
}

fn convert_float8(value: f64, from: ColumnType, to: ColumnType) -> SqlResult<Datum> {
    match to.oid {
        oid::FLOAT4 => float8_to_float4(value).map(Datum::Float4),
        oid::NUMERIC => Ok(Datum::Numeric(Numeric::from_f64(value))),
        other => float_to_integer_datum(value, other).unwrap_or_else(|| Err(cannot_cast(from, to))),
    }
}

fn float8_to_float4(value: f64) -> SqlResult<f32> {
    let narrow = value as f32;
    if narrow.is_infinite() && value.is_finite() {
        return Err(SqlError::new(
            state::NUMERIC_VALUE_OUT_OF_RANGE,
            "value out of range: overflow",
        ));
    }
    if narrow == 0.0 && value != 0.0 {
        return Err(SqlError::new(
            state::NUMERIC_VALUE_OUT_OF_RANGE,
            "value out of range: underflow",
        ));
    }
    Ok(narrow)
}

fn convert_numeric(value: &Numeric, from: ColumnType, to: ColumnType) -> SqlResult<Datum> {
    Ok(match to.oid {
        oid::INT2 => Datum::Int2(value.to_i16()?),
        oid::INT4 => Datum::Int4(value.to_i32()?),
        oid::INT8 => Datum::Int8(value.to_i64()?),
        oid::FLOAT4 => Datum::Float4(value.to_f32_checked()?),
        oid::FLOAT8 => Datum::Float8(value.to_f64_checked()?),
        _ => return Err(cannot_cast(from, to)),
    })
}

fn convert_datetime(
    datum: &Datum,
    from: ColumnType,
    to: ColumnType,
    settings: &FormatSettings,
) -> SqlResult<Datum> {
    let zone = &settings.time_zone;
    Ok(match (datum, to.oid) {
        (Datum::Date(days), oid::TIMESTAMP) => Datum::Timestamp(date_to_timestamp(*days)?),
        (Datum::Date(days), oid::TIMESTAMPTZ) => {
            Datum::TimestampTz(timestamp_to_timestamptz(date_to_timestamp(*days)?, zone)?)
        }
        (Datum::Timestamp(us), oid::DATE) => Datum::Date(timestamp_to_date(*us)),
        (Datum::Timestamp(us), oid::TIME) => timestamp_to_time(*us),
        (Datum::Timestamp(us), oid::TIMESTAMPTZ) => Datum::TimestampTz(timestamp_to_timestamptz(*us, zone)?),
        (Datum::TimestampTz(us), oid::TIMESTAMP) => Datum::Timestamp(timestamptz_to_timestamp(*us, zone)?),
        (Datum::TimestampTz(us), oid::DATE) => {
            Datum::Date(timestamp_to_date(timestamptz_to_timestamp(*us, zone)?))
        }
        (Datum::TimestampTz(us), oid::TIME) => timestamp_to_time(timestamptz_to_timestamp(*us, zone)?),
        (Datum::Time(us), oid::TIMETZ) => time_tz::of_local_time(*us, zone, settings.now_us)?,
        (Datum::TimestampTz(us), oid::TIMETZ) => time_tz::of_instant(*us, zone)?,
        (Datum::Time(us), oid::INTERVAL) => Datum::interval(0, 0, *us),
        (Datum::Interval(interval), oid::TIME) => Datum::Time(interval.us.rem_euclid(DAY_US)),
        _ => return Err(cannot_cast(from, to)),
    })
}

fn timestamp_to_time(us: i64) -> Datum {
    if datetime::is_finite_timestamp(us) {
        Datum::Time(civil::split_timestamp(us).1)
    } else {
        Datum::Null
    }
}

fn convert_json(value: &Json, from: ColumnType, to: ColumnType) -> SqlResult<Datum> {
    let target = ColumnType::new(to.oid);
    let mismatch = |kind: &str| {
        let message = format!("cannot cast jsonb {kind} to type {}", target.name());
        Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message))
    };
    if to.oid == oid::JSON {
        let mut out = Vec::new();
        reserve_for_text(value.heap_bytes())?;
        value.try_write(&mut out)?;
        work::check_length(out.len())?;
        return Ok(Datum::Text(
            CompactString::from_utf8(out).expect("json output is UTF-8"),
        ));
    }
    match value {
        Json::Bool(value) if to.oid == oid::BOOL => Ok(Datum::Bool(*value)),
        Json::Number(value) if to.oid == oid::NUMERIC => Ok(Datum::Numeric(value.clone())),
        Json::Number(value) if to.oid != oid::BOOL => convert_numeric(value, from, to),
        Json::Null => mismatch("null"),
        Json::String(_) => mismatch("string"),
        Json::Number(_) => mismatch("numeric"),
        Json::Bool(_) => mismatch("boolean"),
        Json::Array(_) => mismatch("array"),
        Json::Object(_) => mismatch("object"),
    }
}

#[cfg(test)]
mod tests;
