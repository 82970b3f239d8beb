//! The functions of information_schema: how a type with a modifier is described.

use mote_catalog::views::{TypeDescription, attribute_numbers};
use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_types::{ColumnType, Datum};

use super::catalog_text::facts;
use super::{Body, int4, oid as oid_value};
use crate::runtime::Runtime;

pub fn body(name: &str) -> Option<Body> {
    Some(match name {
        "_pg_index_position" => Body::Runtime(|runtime, _, a| Ok(index_position(runtime, a))),
        "_pg_truetypid" => Body::Pure(|a| true_type(a, "_pg_truetypid", "typbasetype", "atttypid")),
        "_pg_truetypmod" => Body::Pure(|a| true_type(a, "_pg_truetypmod", "typtypmod", "atttypmod")),
        "_pg_char_max_length" => {
            Body::Runtime(|runtime, _, a| Ok(number(described(runtime, a).character_maximum_length)))
        }
        "_pg_char_octet_length" => {
            Body::Runtime(|runtime, _, a| Ok(number(described(runtime, a).character_octet_length)))
        }
        "_pg_numeric_precision" => {
            Body::Runtime(|runtime, _, a| Ok(number(described(runtime, a).numeric_precision)))
        }
        "_pg_numeric_precision_radix" => {
            Body::Runtime(|runtime, _, a| Ok(number(described(runtime, a).numeric_precision_radix)))
        }
        "_pg_numeric_scale" => Body::Runtime(|runtime, _, a| Ok(number(described(runtime, a).numeric_scale))),
        "_pg_datetime_precision" => {
            Body::Runtime(|runtime, _, a| Ok(number(described(runtime, a).datetime_precision)))
        }
        "_pg_interval_type" => Body::Runtime(|runtime, _, a| {
            let fields = described(runtime, a).interval_type;
            Ok(fields.map_or(Datum::Null, Datum::from))
        }),
        _ => return None,
    })
}

/// What information_schema says of the type in the first argument with the modifier in the second.
fn described(runtime: &Runtime<'_, '_>, a: &[Datum]) -> TypeDescription {
    let ty = ColumnType {
        oid: Oid(oid_value(&a[0])),
        typmod: int4(&a[1]),
    };
    TypeDescription::of(ty, &facts(runtime))
}

fn number(value: Option<i32>) -> Datum {
    value.map_or(Datum::Null, Datum::Int4)
}

/// Of a column of a domain what the domain says of its base type, of another what the column says: of a row of pg_attribute
/// and the row of pg_type of its type.
fn true_type(a: &[Datum], name: &str, of_domain: &str, of_column: &str) -> SqlResult<Datum> {
    let (Datum::Record(column), Datum::Record(ty)) = (&a[0], &a[1]) else {
        return Err(no_such_function(name));
    };
    let field = |record: &mote_types::Record, name: &str| {
        let position = record.ty.names.iter().position(|field| field == name)?;
        record.fields.get(position).cloned()
    };
    let found = match field(ty, "typtype") {
        Some(Datum::Text(kind)) if kind == "d" => field(ty, of_domain),
        Some(_) => field(column, of_column),
        None => None,
    };
    found.ok_or_else(|| no_such_function(name))
}

/// Records that are no rows of the two catalogs: PostgreSQL, where the rows have types, has no function of these.
fn no_such_function(name: &str) -> SqlError {
    let message = format!("function {name}(record, record) does not exist");
    SqlError::new(state::UNDEFINED_FUNCTION, message)
}

/// The place of a column among those of an index.
fn index_position(runtime: &Runtime<'_, '_>, a: &[Datum]) -> Datum {
    let facts = facts(runtime);
    let (Some(known), Datum::Int2(column)) = (facts.index(Oid(oid_value(&a[0]))), &a[1]) else {
        return Datum::Null;
    };
    let place = attribute_numbers(known.index).position(|number| number == *column);
    number(place.map(|place| place as i32 + 1))
}
