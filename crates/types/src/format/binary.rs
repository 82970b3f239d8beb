//! The binary wire format of every type: big-endian, as PostgreSQL's send and receive functions have it.

use super::array::too_many_dimensions;
use super::{range, record, utf8};
use crate::catalog::range::{is_multirange, is_range};
use crate::catalog::user::{is_composite, is_enum, read_label, write_label};
use crate::catalog::{ColumnType, is_geometric, is_oid_like, is_text_like};
use crate::datetime;
use crate::typmod::coerce_typmod;
use std::sync::Arc;

use crate::datum::{Array, Datum, Dimension, RowType};
use crate::family;
use crate::geometry;
use crate::json::{self, Json};
use crate::jsonpath::Path;
use crate::numeric::Numeric;
use crate::oid::{self, Oid};
use compact_str::CompactString;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

/// Version byte in front of binary `jsonb`.
const JSONB_VERSION: u8 = 1;
const JSONPATH_VERSION: u8 = 1;

#[cold]
pub(super) fn insufficient() -> SqlError {
    SqlError::new(state::PROTOCOL_VIOLATION, "insufficient data left in message")
}

#[cold]
fn incorrect(message: impl Into<String>) -> SqlError {
    SqlError::new(state::INVALID_BINARY_REPRESENTATION, message)
}

pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn take(&mut self, length: usize) -> SqlResult<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(length).ok_or_else(insufficient)?;
        self.0 = rest;
        Ok(head)
    }

    pub(super) fn array<const N: usize>(&mut self) -> SqlResult<[u8; N]> {
        Ok(self.take(N)?.try_into().expect("take gave N bytes"))
    }

    pub(super) fn i32(&mut self) -> SqlResult<i32> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    fn i64(&mut self) -> SqlResult<i64> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}

/// Reads a binary parameter or COPY field; the caller has dealt with NULL.
pub fn input_binary(ty: ColumnType, bytes: &[u8]) -> SqlResult<Datum> {
    let mut reader = Reader(bytes);
    let datum = read(ty, &mut reader)?;
    if !reader.0.is_empty() {
        return Err(incorrect("incorrect binary data format"));
    }
    coerce_typmod(datum, ty, false)
}

fn read(ty: ColumnType, reader: &mut Reader<'_>) -> SqlResult<Datum> {
    Ok(match ty.oid {
        oid::INT4 => Datum::Int4(reader.i32()?),
        oid::INT8 => Datum::Int8(reader.i64()?),
        oid::XID8 | oid::PG_LSN => Datum::Unsigned8(reader.i64()? as u64),
        oid::INT2 => Datum::Int2(i16::from_be_bytes(reader.array()?)),
        oid::BOOL => Datum::Bool(reader.array::<1>()?[0] != 0),
        oid::FLOAT4 => Datum::Float4(f32::from_bits(reader.i32()? as u32)),
        oid::FLOAT8 => Datum::Float8(f64::from_bits(reader.i64()? as u64)),
        oid::NUMERIC => Datum::Numeric(Numeric::read_binary(reader.rest())?),
        oid::BYTEA => Datum::Bytea(reader.rest().into()),
        oid::CHAR => Datum::Text(super::text::char_text(reader.array::<1>()?[0])),
        oid::DATE => Datum::Date(read_date(reader.i32()?)?),
        oid::TIME => Datum::Time(read_time(reader.i64()?)?),
        oid::TIMESTAMP => Datum::Timestamp(read_timestamp(reader.i64()?)?),
        oid::TIMESTAMPTZ => Datum::TimestampTz(read_timestamp(reader.i64()?)?),
        oid::INTERVAL => {
            let (us, days, months) = (reader.i64()?, reader.i32()?, reader.i32()?);
            Datum::interval(months, days, us)
        }
        oid::UUID => Datum::Uuid(reader.array()?),
        oid::TID => {
            let (block, offset) = (reader.i32()? as u32, u16::from_be_bytes(reader.array()?));
            Datum::Int8((block as i64) << 16 | offset as i64)
        }
        oid::JSON => {
            let text = utf8(reader.rest())?;
            json::check_text(text)?;
            Datum::Text(CompactString::new(text))
        }
        oid::JSONB => match reader.array::<1>()?[0] {
            JSONB_VERSION => Datum::Jsonb(Box::new(Json::parse(utf8(reader.rest())?)?)),
            version => {
                return Err(SqlError::internal(format!(
                    "unsupported jsonb version number {version}"
                )));
            }
        },
        other if is_geometric(other) => {
            let shape = geometry::read_binary(other, reader.rest())?;
            Datum::Text(geometry::canonical(&shape).into())
        }
        oid::JSONPATH => match reader.array::<1>()?[0] {
            JSONPATH_VERSION => Datum::Text(Path::parse(utf8(reader.rest())?)?.to_string().into()),
            version => {
                return Err(SqlError::internal(format!(
                    "unsupported jsonpath version number: {version}"
                )));
            }
        },
        oid::NAME => Datum::Text(read_name(reader.rest())?),
        oid::VOID => Datum::Text(CompactString::default()),
        oid::RECORD => read_record(reader)?,
        other if is_composite(other) => read_composite(ty, reader)?,
        other if is_oid_like(other) => Datum::Oid(reader.i32()? as u32),
        other if is_text_like(other) => Datum::Text(CompactString::new(utf8(reader.rest())?)),
        other if is_enum(other) => Datum::Enum(read_label(other, utf8(reader.rest())?)?),
        oid::INT2VECTOR | oid::OIDVECTOR => read_vector(ty, reader)?,
        _ if ty.is_array() => read_array(ty, reader)?,
        other if is_range(other) => range::receive(ty, reader)?,
        other if is_multirange(other) => range::receive_multirange(ty, reader)?,
        other => match family::descriptor(other) {
            Some(described) => (described.receive)(reader.rest())?,
            None => {
                let message = format!("no binary input function available for type {}", ty.name());
                return Err(SqlError::new(state::UNDEFINED_FUNCTION, message));
            }
        },
    })
}

fn read_name(bytes: &[u8]) -> SqlResult<CompactString> {
    if bytes.len() > 63 {
        return Err(SqlError::new(state::NAME_TOO_LONG, "identifier too long")
            .detail("Identifier must be less than 64 characters."));
    }
    Ok(CompactString::new(utf8(bytes)?))
}

fn read_date(days: i32) -> SqlResult<i32> {
    let valid = !datetime::is_finite_date(days) || (datetime::DATE_MIN..=datetime::DATE_MAX).contains(&days);
    if valid {
        Ok(days)
    } else {
        Err(datetime::date_out_of_range())
    }
}

fn read_time(us: i64) -> SqlResult<i64> {
    if (0..=datetime::DAY_US).contains(&us) {
        Ok(us)
    } else {
        Err(SqlError::new(state::DATETIME_FIELD_OVERFLOW, "time out of range"))
    }
}

fn read_timestamp(us: i64) -> SqlResult<i64> {
    if datetime::is_finite_timestamp(us) {
        datetime::checked_timestamp(Some(us))
    } else {
        Ok(us)
    }
}

fn read_array(ty: ColumnType, reader: &mut Reader<'_>) -> SqlResult<Datum> {
    let expected = ty.element().expect("only array types come here");
    let dimensions = reader.i32()?;
    if dimensions < 0 {
        return Err(incorrect(format!("invalid number of dimensions: {dimensions}")));
    }
    if dimensions as usize > super::array::DIMENSIONS_MAX {
        return Err(too_many_dimensions(dimensions as usize));
    }
    let flags = reader.i32()?;
    if !matches!(flags, 0 | 1) {
        return Err(incorrect("invalid array flags"));
    }
    let element = Oid(reader.i32()? as u32);
    if element != expected.oid {
        let message = format!(
            "binary data has array element type {} ({}) instead of expected {} ({})",
            element,
            crate::format_type(element, -1),
            expected.oid,
            expected.name(),
        );
        return Err(SqlError::new(state::DATATYPE_MISMATCH, message));
    }
    let mut dims = Vec::with_capacity(dimensions as usize);
    let mut count = 1usize;
    for _ in 0..dimensions {
        let dim = Dimension {
            length: reader.i32()?,
            lower_bound: reader.i32()?,
        };
        let length = usize::try_from(dim.length).map_err(|_| incorrect("invalid array dimension"))?;
        count = count
            .checked_mul(length)
            .filter(|&count| count <= super::array::ELEMENTS_MAX)
            .ok_or_else(|| {
                let message = format!(
                    "array size exceeds the maximum allowed ({})",
                    super::array::ELEMENTS_MAX
                );
                SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, message)
            })?;
        dims.push(dim);
    }
    Dimension::check_bounds(&dims)?;
    if dims.is_empty() || count == 0 {
        return Ok(Datum::Array(Box::new(Array {
            element,
            dims: Vec::new(),
            elements: Vec::new().into(),
        })));
    }
    // Each element has a length word at least, so a lying count cannot make a large allocation.
    let mut elements = Vec::with_capacity(count.min(reader.0.len() / 4));
    for _ in 0..count {
        elements.push(read_delimited(expected, reader)?);
    }
    Ok(Datum::Array(Box::new(Array {
        element,
        dims,
        elements: elements.into(),
    })))
}

fn read_delimited(ty: ColumnType, reader: &mut Reader<'_>) -> SqlResult<Datum> {
    match reader.i32()? {
        -1 => Ok(Datum::Null),
        length => {
            let length = usize::try_from(length).map_err(|_| insufficient())?;
            input_binary(ty, reader.take(length)?)
        }
    }
}

fn read_record(reader: &mut Reader<'_>) -> SqlResult<Datum> {
    let count = usize::try_from(reader.i32()?).map_err(|_| insufficient())?;
    let (mut types, mut fields) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let ty = ColumnType::new(Oid(reader.i32()? as u32));
        fields.push(read_delimited(ty, reader)?);
        types.push(ty);
    }
    Ok(record::row(Arc::new(RowType::anonymous(types)), fields))
}

/// A row of a composite type, which must have its fields in number and types.
fn read_composite(ty: ColumnType, reader: &mut Reader<'_>) -> SqlResult<Datum> {
    let row_type = record::attributes(ty)?;
    let mismatch = |message: String| Err(SqlError::new(state::DATATYPE_MISMATCH, message));
    let (count, expected) = (reader.i32()?, row_type.types.len());
    if usize::try_from(count) != Ok(expected) {
        return mismatch(format!("wrong number of columns: {count}, expected {expected}"));
    }
    let mut fields = Vec::with_capacity(expected);
    for (position, ty) in row_type.types.iter().enumerate() {
        let given = Oid(reader.i32()? as u32);
        if given != ty.oid {
            return mismatch(format!(
                "binary data has type {given} ({}) instead of expected {} ({}) in record column {}",
                crate::format_type(given, -1),
                ty.oid,
                crate::format_type(ty.oid, -1),
                position + 1,
            ));
        }
        fields.push(read_delimited(*ty, reader)?);
    }
    Ok(record::row(row_type, fields))
}

/// `int2vector` and `oidvector`, which have one dimension from 0 and no NULLs. One without elements is none to PostgreSQL, though it
/// sends such.
fn read_vector(ty: ColumnType, reader: &mut Reader<'_>) -> SqlResult<Datum> {
    let datum = read_array(ty, reader)?;
    let is_sound = match &datum {
        Datum::Array(array) => {
            matches!(*array.dims, [Dimension { lower_bound: 0, .. }])
                && !array.elements.iter().any(Datum::is_null)
        }
        _ => false,
    };
    match is_sound {
        true => Ok(datum),
        false => Err(incorrect(format!("invalid {} data", ty.name()))),
    }
}

/// Appends a value's binary form without a length word; NULL appends nothing.
pub fn output_binary(datum: &Datum, ty: ColumnType, out: &mut Vec<u8>) {
    match datum {
        Datum::Null => {}
        Datum::Int4(value) | Datum::Date(value) => out.extend_from_slice(&value.to_be_bytes()),
        Datum::Unsigned8(value) => match family::descriptor(ty.oid) {
            Some(described) => (described.send)(datum, out),
            None => out.extend_from_slice(&value.to_be_bytes()),
        },
        Datum::Int8(value) if ty.oid == oid::TID => {
            out.extend_from_slice(&((value >> 16) as u32).to_be_bytes());
            out.extend_from_slice(&(*value as u16).to_be_bytes());
        }
        Datum::Int8(value) | Datum::Time(value) | Datum::Timestamp(value) | Datum::TimestampTz(value) => {
            out.extend_from_slice(&value.to_be_bytes())
        }
        Datum::Text(value) if ty.oid == oid::CHAR => out.push(super::text::char_byte(value)),
        Datum::Text(value) if is_geometric(ty.oid) => {
            if let Ok(shape) = geometry::parse(ty.oid, value) {
                geometry::write_binary(&shape, out);
            }
        }
        Datum::Text(value) => {
            if ty.oid == oid::JSONPATH {
                out.push(JSONPATH_VERSION);
            }
            out.extend_from_slice(value.as_bytes());
            if ty.oid == oid::BPCHAR
                && let Some(length) = ty.max_length()
            {
                out.resize(out.len() + length.saturating_sub(value.chars().count()), b' ');
            }
        }
        Datum::Padded(value) => out.extend_from_slice(value.as_bytes()),
        Datum::Folded(value) => out.extend_from_slice(value.shown().as_bytes()),
        Datum::Numeric(value) => value.write_binary(out),
        Datum::Bool(value) => out.push(*value as u8),
        Datum::Int2(value) => out.extend_from_slice(&value.to_be_bytes()),
        Datum::Oid(value) => out.extend_from_slice(&value.to_be_bytes()),
        Datum::Float4(value) => out.extend_from_slice(&value.to_bits().to_be_bytes()),
        Datum::Float8(value) => out.extend_from_slice(&value.to_bits().to_be_bytes()),
        Datum::Bytea(value) => match family::descriptor(ty.oid) {
            Some(described) => (described.send)(datum, out),
            None => out.extend_from_slice(value),
        },
        Datum::Interval(value) => {
            out.extend_from_slice(&value.us.to_be_bytes());
            out.extend_from_slice(&value.days.to_be_bytes());
            out.extend_from_slice(&value.months.to_be_bytes());
        }
        Datum::Enum(key) => write_label(ty.oid, *key, out),
        Datum::Uuid(value) => out.extend_from_slice(value),
        Datum::Jsonb(value) => {
            out.push(JSONB_VERSION);
            value.write(out);
        }
        Datum::Array(value) => write_array(value, ty, out),
        Datum::Range(value) => range::send(value, out),
        Datum::Multirange(value) => range::send_multirange(value, out),
        Datum::Record(value) => {
            out.extend_from_slice(&(value.fields.len() as i32).to_be_bytes());
            for (field, ty) in value.fields.iter().zip(&value.ty.types) {
                out.extend_from_slice(&ty.oid.0.to_be_bytes());
                write_delimited(field, *ty, out);
            }
        }
    }
}

fn write_array(array: &Array, ty: ColumnType, out: &mut Vec<u8>) {
    let element = ColumnType {
        oid: array.element,
        typmod: ty.typmod,
    };
    out.extend_from_slice(&(array.dims.len() as i32).to_be_bytes());
    out.extend_from_slice(&(array.elements.iter().any(Datum::is_null) as i32).to_be_bytes());
    out.extend_from_slice(&array.element.0.to_be_bytes());
    for dim in &array.dims {
        out.extend_from_slice(&dim.length.to_be_bytes());
        out.extend_from_slice(&dim.lower_bound.to_be_bytes());
    }
    for item in &array.elements {
        write_delimited(item, element, out);
    }
}

fn write_delimited(datum: &Datum, ty: ColumnType, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&(-1i32).to_be_bytes());
    if !datum.is_null() {
        output_binary(datum, ty, out);
        let length = (out.len() - start - 4) as i32;
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }
}
