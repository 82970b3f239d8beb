//! How information_schema describes types, and says yes.

use mote_common::Oid;
use mote_types::catalog::numeric_precision_scale;
use mote_types::catalog::user::is_user_type;
use mote_types::{ColumnType, format_type, oid, type_info};

use crate::views::facts::Facts;

pub fn yes_or_no(value: bool) -> &'static str {
    if value { "YES" } else { "NO" }
}

/// How information_schema describes a type.
pub struct TypeDescription {
    pub data_type: String,
    pub character_maximum_length: Option<i32>,
    pub character_octet_length: Option<i32>,
    pub numeric_precision: Option<i32>,
    pub numeric_precision_radix: Option<i32>,
    pub numeric_scale: Option<i32>,
    pub datetime_precision: Option<i32>,
    pub interval_type: Option<String>,
    pub udt_schema: String,
    pub udt_name: String,
}

/// Bytes that PostgreSQL allows a string without a length.
const STRING_OCTETS: i32 = 1 << 30;
const UTF8_BYTES_MAX: i32 = 4;

impl TypeDescription {
    pub fn of(ty: ColumnType, facts: &Facts<'_>) -> TypeDescription {
        let bits = matches!(ty.oid, oid::BIT | oid::VARBIT).then_some(ty.typmod);
        let bits = bits.filter(|length| *length > 0);
        let length = ty.max_length().map(|length| length as i32).or(bits);
        let is_string = matches!(ty.oid, oid::TEXT | oid::VARCHAR | oid::BPCHAR);
        let (precision, radix, scale) = match ty.oid {
            oid::NUMERIC => {
                let declared = numeric_precision_scale(ty.typmod);
                (declared.map(|d| d.0), Some(10), declared.map(|d| d.1))
            }
            oid::FLOAT4 => (Some(24), Some(2), None),
            oid::FLOAT8 => (Some(53), Some(2), None),
            other => {
                let bits = integer_precision(other);
                (bits, bits.map(|_| 2), bits.map(|_| 0))
            }
        };
        let (udt_schema, udt_name) = names_of(ty, facts);
        TypeDescription {
            data_type: if ty.is_array() {
                "ARRAY".into()
            } else if is_user_type(ty.oid) {
                "USER-DEFINED".into()
            } else {
                bare_name(ty.oid)
            },
            udt_schema,
            udt_name,
            character_maximum_length: length,
            character_octet_length: is_string
                .then(|| length.map_or(STRING_OCTETS, |length| length.saturating_mul(UTF8_BYTES_MAX))),
            numeric_precision: precision,
            numeric_precision_radix: radix,
            numeric_scale: scale,
            datetime_precision: datetime_precision(ty),
            interval_type: interval_fields(ty),
        }
    }
}

/// Schema and name of a type, as pg_type has them.
fn names_of(ty: ColumnType, facts: &Facts<'_>) -> (String, String) {
    if let Some(info) = type_info(ty.oid) {
        let schema = facts.schema_of_builtin([ty.oid]);
        let schema = schema.and_then(|schema| facts.schema_name(schema));
        return (schema.unwrap_or_default().into(), info.name.into());
    }
    let base = ty.element().unwrap_or(ty).oid;
    let Some(entry) = facts.catalog.user_type(base) else {
        return Default::default();
    };
    let name = &entry.stored.name;
    let name = match base == ty.oid {
        true => name.clone(),
        false => facts.catalog.array_name(Oid(entry.stored.schema), name),
    };
    (entry.described.schema.clone(), name)
}

/// As if nobody had asked for a length: where one is missing, `character` and `bit` have other names.
fn bare_name(ty: Oid) -> String {
    const NOT_ASKED_FOR: i32 = -2;
    format_type(ty, NOT_ASKED_FOR)
}

fn datetime_precision(ty: ColumnType) -> Option<i32> {
    match ty.oid {
        oid::DATE => Some(0),
        oid::TIME | oid::TIMETZ | oid::TIMESTAMP | oid::TIMESTAMPTZ => {
            Some(if ty.typmod < 0 { 6 } else { ty.typmod })
        }
        oid::INTERVAL if ty.typmod < 0 || ty.typmod & 0xffff == 0xffff => Some(6),
        oid::INTERVAL => Some(ty.typmod & 0xffff),
        _ => None,
    }
}

/// The fields that an interval is declared with.
fn interval_fields(ty: ColumnType) -> Option<String> {
    if ty.oid != oid::INTERVAL || ty.typmod < 0 {
        return None;
    }
    let shown = format_type(ty.oid, ty.typmod).to_ascii_uppercase();
    // A precision stands behind the fields, or behind the name where there are none.
    let behind = shown.strip_prefix("INTERVAL")?;
    let fields = behind.trim_start_matches(|c: char| matches!(c, '(' | ')' | '0'..='9'));
    fields.strip_prefix(' ').map(str::to_owned)
}

/// Bits of an integer type.
pub fn integer_precision(ty: Oid) -> Option<i32> {
    match ty {
        oid::INT2 => Some(16),
        oid::INT4 => Some(32),
        oid::INT8 => Some(64),
        _ => None,
    }
}
