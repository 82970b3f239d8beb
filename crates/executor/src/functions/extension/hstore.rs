//! What hstore has to do with rows: its pairs as rows, a record as pairs, and pairs put into a record. The type and the rest of
//! its functions are in `mote_types::family::hstore`.

use mote_common::error::state;
use mote_common::work::{self, Meter};
use mote_common::{Oid, SqlError, SqlResult};
use mote_sql::catalog::CatalogView;
use mote_types::catalog::user::{is_composite, number_of, row_type};
use mote_types::datum::{ELEMENT_COST, Record};
use mote_types::family::hstore::pairs::{Pairs, of_pairs};
use mote_types::family::hstore::texts;
use mote_types::{ColumnType, Datum, format_type};

use super::super::row_source::{list, rows};
use super::super::{Body, CallSite, SetFunction};
use crate::runtime::Runtime;
use crate::value::convert;
use mote_types::lookup3::hash_any;

pub(super) fn body(name: &str) -> Option<Body> {
    Some(match name {
        "hstore_from_record" => Body::Runtime(from_record),
        "hstore_populate_record" => Body::Runtime(populate),
        "hstore_hash" => Body::Pure(|a| Ok(Datum::Int4(hash_any(&Pairs::of(&a[0]).image()?) as i32))),
        _ => return None,
    })
}

pub(super) fn set_body(name: &str) -> Option<SetFunction> {
    Some(match name {
        "hstore_skeys" => |_, _, a| Ok(list(texts(&a[0], |(key, _)| [Some(key)])?)),
        "hstore_svals" => |_, _, a| Ok(list(texts(&a[0], |(_, value)| [value])?)),
        "hstore_each" => |_, _, a| {
            let both = texts(&a[0], |(key, value)| [Some(key), value])?;
            let mut all = work::list(both.len() / 2)?;
            let mut both = both.into_iter();
            while let (Some(key), Some(value)) = (both.next(), both.next()) {
                all.push(vec![key, value]);
            }
            Ok(rows(all))
        },
        _ => return None,
    })
}

/// The row, or one of NULLs where there is none but the type of one is known.
fn row_of(datum: &Datum, ty: ColumnType) -> SqlResult<Record> {
    if let Datum::Record(record) = datum {
        return Ok((**record).clone());
    }
    let Some(ty) = row_type(ty.oid) else {
        let message = "record type has not been registered";
        return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
    };
    let fields = vec![Datum::Null; ty.types.len()];
    Ok(Record { ty, fields })
}

/// Each field under its name, as text.
fn from_record(runtime: &mut Runtime<'_, '_>, site: &CallSite, a: &[Datum]) -> SqlResult<Datum> {
    let record = row_of(&a[0], site.arguments[0])?;
    let mut values = work::list(record.fields.len())?;
    for (field, ty) in record.fields.iter().zip(&record.ty.types) {
        let text = convert(
            runtime,
            field,
            *ty,
            ColumnType::new(mote_types::oid::CSTRING),
            true,
        )?;
        values.push(text);
    }
    let name = |position: usize| match record.ty.names.get(position) {
        Some(name) => name.to_string(),
        None => format!("f{}", position + 1),
    };
    let names: Vec<String> = (0..values.len()).map(name).collect();
    of_pairs(
        names
            .iter()
            .zip(&values)
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect(),
    )
}

/// Rules of domains are not looked at where a text is read as a field.
fn refuse_domains(ty: Oid, runtime: &Runtime<'_, '_>) -> SqlResult<()> {
    let relation = runtime
        .session()
        .catalog
        .relation(number_of(ty))
        .filter(|_| is_composite(ty));
    let mut columns = relation.iter().flat_map(|relation| &relation.columns);
    match columns.any(|column| column.domain.is_some() && !column.dropped) {
        true => Err(SqlError::unsupported(format_args!(
            "populate_record of type {}, which has columns of domains",
            format_type(ty, -1)
        ))),
        false => Ok(()),
    }
}

/// The record with the values of the keys that are names of its fields, each read as the field's type.
fn populate(runtime: &mut Runtime<'_, '_>, site: &CallSite, a: &[Datum]) -> SqlResult<Datum> {
    if a[1].is_null() {
        return a[0].try_clone();
    }
    let given = Pairs::of(&a[1]);
    if given.len() == 0 && !a[0].is_null() {
        return a[0].try_clone();
    }
    let mut record = row_of(&a[0], site.arguments[0])?;
    refuse_domains(record.ty.of, runtime)?;
    let mut meter = Meter::default();
    for (position, ty) in record.ty.types.iter().enumerate() {
        meter.tick(ELEMENT_COST)?;
        let Some(found) = record.ty.names.get(position).and_then(|name| given.find(name)) else {
            continue;
        };
        record.fields[position] = match found {
            None => Datum::Null,
            Some(text) => convert(runtime, &Datum::from(text), ColumnType::TEXT, *ty, true)?,
        };
    }
    Ok(Datum::Record(Box::new(record)))
}
