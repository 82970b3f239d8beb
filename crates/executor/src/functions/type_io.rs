//! Functions by which types are read and written, called by name: `int4in`, `int4out`, `int4send`, `numerictypmodin`.

use mote_common::{SqlError, error::state};
use mote_sql::builtin::function::type_io;
use mote_types::format::output_to_string;
use mote_types::typmod::padded_to_length;
use mote_types::{ColumnType, Datum, format_type, oid, output_binary, parse_type};

use super::{Body, array_of, int4};
use crate::value::convert;

pub fn body(name: &str) -> Option<Body> {
    let signature = type_io().find(|signature| signature.body == name)?;
    Some(match (signature.arguments, signature.result) {
        // typmodin: the modifiers are read by the type's own parser.
        (&[oid::CSTRING_ARRAY], _) => Body::Typed(|format, site, a| {
            let array = array_of(&a[0]);
            if array.dims.len() != 1 {
                let message = "typmod array must be one-dimensional";
                return Err(SqlError::new(state::ARRAY_SUBSCRIPT_ERROR, message));
            }
            if array.elements.iter().any(Datum::is_null) {
                let message = "typmod array must not contain nulls";
                return Err(SqlError::new(state::NULL_VALUE_NOT_ALLOWED, message));
            }
            let parts = array.elements.iter();
            let parts: Vec<String> = parts
                .map(|part| output_to_string(part, ColumnType::TEXT, format))
                .collect();
            let ty = modified_type(site.name);
            Ok(Datum::Int4(
                parse_type(&format!("{ty}({})", parts.join(",")))?.typmod,
            ))
        }),
        (&[oid::INT4], oid::CSTRING) if name.ends_with("typmodout") => Body::Typed(|_, site, a| {
            let ty = parse_type(modified_type(site.name))?.oid;
            let (plain, modified) = (format_type(ty, -2), format_type(ty, int4(&a[0])));
            // Between the words of `timestamp(3) without time zone`, or behind the name.
            let modifier = modified.find('(').and_then(|open| {
                let close = modified[open..].find(')')? + open;
                Some(modified[open..=close].to_string())
            });
            let modifier = modifier.filter(|_| plain != modified).unwrap_or_default();
            // What stands behind a modifier of these is part of it.
            let zone = match ty {
                oid::TIMESTAMP | oid::TIME => " without time zone",
                oid::TIMESTAMPTZ | oid::TIMETZ => " with time zone",
                _ => "",
            };
            Ok(Datum::from(format!("{modifier}{zone}")))
        }),
        // The type's input function: a text, the element type, the modifier.
        (&[oid::CSTRING, ..], _) => Body::Runtime(|runtime, site, a| {
            let to = ColumnType {
                oid: site.result.oid,
                // All that is below 0 stands for none.
                typmod: a.get(2).map_or(-1, int4).max(-1),
            };
            let value = convert(runtime, &a[0], ColumnType::new(oid::CSTRING), to, false)?;
            // Nothing will tell the length of what a function returns.
            padded_to_length(value, to)
        }),
        // The type's send function.
        (_, oid::BYTEA) => Body::Typed(|_, site, a| {
            let mut out = Vec::new();
            output_binary(&a[0], site.arguments[0], &mut out);
            Ok(Datum::bytea(out))
        }),
        // The type's output function.
        _ => Body::Runtime(|runtime, site, a| {
            convert(
                runtime,
                &a[0],
                site.arguments[0],
                ColumnType::new(oid::CSTRING),
                true,
            )
        }),
    })
}

/// The type that a function of modifiers is about.
fn modified_type(function: &str) -> &str {
    let name = function.split("typmod").next().unwrap_or(function);
    match name {
        "bpchar" => "character",
        other => other,
    }
}
