//! Columns as the engine stores them: bytes of a storage class, with a rule that turns them into key bytes.
//!
//! The engine knows storage classes, not types. Fixed classes are little-endian values of that many bytes; Variable
//! bytes are the engine's to delimit. NULL is a bit of the row and never comes here.
//!
//! | type                       | class    | bytes                                                | key encoding |
//! |----------------------------|----------|------------------------------------------------------|--------------|
//! | bool                       | Fixed1   | 0 or 1                                               | Unsigned     |
//! | int2, int4, date, int8,    | Fixed2-8 | two's complement                                     | Signed       |
//! | time, timestamp(tz)        |          |                                                      |              |
//! | oid, reg*, xid, cid        | Fixed4   | unsigned                                             | Unsigned     |
//! | xid8, pg_lsn, tid          | Fixed8   | unsigned                                             | Unsigned     |
//! | float4, float8             | Fixed4/8 | IEEE bits                                            | Float        |
//! | numeric(p<=18, 0<=s<=18)   | Fixed8   | value * 10^s; NaN is i64::MAX                        | Signed       |
//! | enums                      | Fixed8   | the value's key, signed                              | Signed       |
//! | uuid                       | Fixed16  | as is                                                | Raw16        |
//! | text, varchar, ...         | Variable | UTF-8                                                | Escaped      |
//! | bpchar                     | Variable | UTF-8 (of a declared length: without trailing blanks)| Unpadded     |
//! | bytea                      | Variable | as is                                                | Escaped      |
//! | `Representation::Unsigned8` | Fixed8  | unsigned (`family`)                                  | Unsigned     |
//! | `..::OrderedBytes`         | Variable | as is (`family`)                                     | Escaped      |
//! | `..::FoldedText`           | Variable | key length (u16), key bytes, 0 and the text, or the length of the text as folded (u32 + 1), that and the text | Prefixed |
//! | numeric, interval, ranges  | Variable | key length (u16), key bytes, payload                 | Prefixed     |
//! | jsonb, arrays              | Variable | own formats                                          | none: computed ([`has_computed_key`]) |
//! | json, record               | Variable | UTF-8, own format                                    | none         |

use crate::catalog::ColumnType;
use crate::catalog::range::{is_multirange, is_range, without_range};
use crate::catalog::user::{is_composite, is_enum, row_type};
use std::sync::Arc;

use crate::datum::{Array, Datum, Dimension, FoldedText, Interval, Record, RowType, blank_padded};
use crate::family::{self, Representation};
use crate::json::Json;
use crate::numeric::Numeric;
use crate::oid::{self, Oid};
use crate::ordered_bytes;
use compact_str::CompactString;

/// How many bytes a column takes in a row.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StorageClass {
    Fixed1,
    Fixed2,
    Fixed4,
    Fixed8,
    Fixed16,
    Variable,
}

impl StorageClass {
    /// Bytes of a fixed class.
    pub const fn width(self) -> Option<usize> {
        match self {
            StorageClass::Fixed1 => Some(1),
            StorageClass::Fixed2 => Some(2),
            StorageClass::Fixed4 => Some(4),
            StorageClass::Fixed8 => Some(8),
            StorageClass::Fixed16 => Some(16),
            StorageClass::Variable => None,
        }
    }
}

/// How stored bytes become key bytes without knowing the SQL type. Ascending; DESC inverts every byte.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum KeyEncoding {
    /// Fixed width: reversed to big-endian.
    Unsigned,
    /// Fixed width: big-endian with the sign bit flipped.
    Signed,
    /// Fixed4 or Fixed8 IEEE: -0 made 0, NaN made canonical; negative values inverted, others' sign bit set.
    Float,
    /// Sixteen bytes as they are.
    Raw16,
    /// Variable: every 0x00 becomes 0x00 0xFF, then 0x00 0x00 ends the key.
    Escaped,
    /// Variable: without the blanks at the end, then as Escaped.
    Unpadded,
    /// Variable: a little-endian u16 length, then that many key bytes to copy; the rest is payload.
    Prefixed,
}

/// `numeric(p,s)` that fits an i64 with its scale fixed by the type.
pub(crate) fn fixed_numeric_scale(ty: ColumnType) -> Option<i32> {
    let (precision, scale) = ty.numeric_precision_scale()?;
    (precision <= 18 && (0..=18).contains(&scale)).then_some(scale)
}

/// The scale of a numeric type whose values are stored as whole numbers of eight bytes, times ten to that power; NaN is
/// `i64::MAX`.
pub fn stored_numeric_scale(ty: ColumnType) -> Option<i32> {
    fixed_numeric_scale(ty)
}

/// How values of a type with a folder of its own are held.
fn representation(ty: Oid) -> Option<Representation> {
    family::descriptor(ty).map(|described| described.representation)
}

pub fn storage_class(ty: ColumnType) -> StorageClass {
    match ty.oid {
        oid::BOOL => StorageClass::Fixed1,
        oid::INT2 => StorageClass::Fixed2,
        oid::INT4 | oid::DATE | oid::FLOAT4 => StorageClass::Fixed4,
        oid::INT8 | oid::TIMESTAMP | oid::TIMESTAMPTZ | oid::TIME | oid::FLOAT8 => StorageClass::Fixed8,
        oid::XID8 | oid::PG_LSN | oid::TID => StorageClass::Fixed8,
        oid::UUID => StorageClass::Fixed16,
        oid::NUMERIC if fixed_numeric_scale(ty).is_some() => StorageClass::Fixed8,
        other if crate::catalog::is_oid_like(other) => StorageClass::Fixed4,
        other if is_enum(other) => StorageClass::Fixed8,
        other => match representation(other) {
            Some(Representation::Unsigned8) => StorageClass::Fixed8,
            Some(Representation::OrderedBytes | Representation::FoldedText) | None => StorageClass::Variable,
        },
    }
}

/// How a column of this type becomes key bytes; `None` when it cannot be indexed (the caller answers 0A000).
pub fn key_encoding(ty: ColumnType) -> Option<KeyEncoding> {
    match ty.oid {
        oid::BOOL | oid::XID8 | oid::PG_LSN | oid::TID => Some(KeyEncoding::Unsigned),
        oid::INT2 | oid::INT4 | oid::INT8 | oid::DATE => Some(KeyEncoding::Signed),
        oid::TIME | oid::TIMESTAMP | oid::TIMESTAMPTZ => Some(KeyEncoding::Signed),
        oid::FLOAT4 | oid::FLOAT8 => Some(KeyEncoding::Float),
        oid::UUID => Some(KeyEncoding::Raw16),
        oid::NUMERIC if fixed_numeric_scale(ty).is_some() => Some(KeyEncoding::Signed),
        oid::NUMERIC | oid::INTERVAL => Some(KeyEncoding::Prefixed),
        other if is_range(other) || is_multirange(other) => {
            let subtype = without_range(other);
            // Of a user's type, without a dictionary: who made an index of it saw to it that there are keys.
            if subtype == other {
                return Some(KeyEncoding::Prefixed);
            }
            key_encoding(ColumnType::new(subtype)).and(Some(KeyEncoding::Prefixed))
        }
        oid::BYTEA => Some(KeyEncoding::Escaped),
        oid::BPCHAR => Some(KeyEncoding::Unpadded),
        other if !crate::catalog::has_equality(other) => None,
        other if crate::catalog::is_oid_like(other) => Some(KeyEncoding::Unsigned),
        other if crate::catalog::is_text_like(other) => Some(KeyEncoding::Escaped),
        other if is_enum(other) => Some(KeyEncoding::Signed),
        other => representation(other).map(|representation| match representation {
            Representation::Unsigned8 => KeyEncoding::Unsigned,
            Representation::OrderedBytes => KeyEncoding::Escaped,
            Representation::FoldedText => KeyEncoding::Prefixed,
        }),
    }
}

/// Whether values of the type can be keys: made from the stored bytes, or computed.
pub fn has_key(ty: ColumnType) -> bool {
    key_encoding(ty).is_some() || has_computed_key(ty)
}

/// Types whose stored bytes hold no key, so that one is computed from the value (`key::write_computed`): arrays of what
/// has a key, and `jsonb`. A prefix in each stored value, as ranges have it, would double what arrays take.
pub fn has_computed_key(ty: ColumnType) -> bool {
    ty.oid == oid::JSONB || ty.element().is_some_and(has_key)
}

/// Longest key bytes stored in front of a Prefixed value. Longer ones are cut, which is harmless because the
/// engine refuses index keys of that size; the payload is always whole.
const PREFIX_KEY_BYTES_MAX: usize = 60_000;

/// Stored bytes of a `numeric(p,s)` that is NaN: sorts last.
const FIXED_NUMERIC_NAN: i64 = i64::MAX;

/// Appends a value's stored bytes. The datum is not NULL and has been coerced to `ty`, modifier included.
#[inline]
pub fn encode_storage(datum: &Datum, ty: ColumnType, out: &mut Vec<u8>) {
    match datum {
        Datum::Int4(value) | Datum::Date(value) => out.extend_from_slice(&value.to_le_bytes()),
        Datum::Unsigned8(value) => out.extend_from_slice(&value.to_le_bytes()),
        Datum::Int8(value)
        | Datum::Enum(value)
        | Datum::Timestamp(value)
        | Datum::TimestampTz(value)
        | Datum::Time(value) => out.extend_from_slice(&value.to_le_bytes()),
        Datum::Text(value) => out.extend_from_slice(value.as_bytes()),
        Datum::Padded(value) => out.extend_from_slice(value.as_bytes()),
        Datum::Numeric(value) => encode_numeric(value, ty, out),
        Datum::Bool(value) => out.push(*value as u8),
        Datum::Int2(value) => out.extend_from_slice(&value.to_le_bytes()),
        Datum::Oid(value) => out.extend_from_slice(&value.to_le_bytes()),
        Datum::Float4(value) => out.extend_from_slice(&value.to_bits().to_le_bytes()),
        Datum::Float8(value) => out.extend_from_slice(&value.to_bits().to_le_bytes()),
        Datum::Uuid(value) => out.extend_from_slice(value),
        Datum::Folded(value) => encode_folded(value, out),
        Datum::Bytea(value) => out.extend_from_slice(value),
        Datum::Interval(value) => encode_interval(value, out),
        Datum::Jsonb(value) => value.write_storage(out),
        Datum::Array(value) => encode_array(value, out),
        Datum::Record(value) => encode_record(value, ty, out),
        Datum::Range(value) => range::encode(datum, value, out),
        Datum::Multirange(value) => range::encode_multirange(datum, value, out),
        Datum::Null => unreachable!("NULL is a bit of the row, not stored bytes"),
    }
}

fn encode_numeric(value: &Numeric, ty: ColumnType, out: &mut Vec<u8>) {
    if let Some(scale) = fixed_numeric_scale(ty) {
        let scaled = if value.is_nan() {
            FIXED_NUMERIC_NAN
        } else {
            fixed_numeric(value, scale)
        };
        out.extend_from_slice(&scaled.to_le_bytes());
        return;
    }
    prefixed(out, |out| ordered_bytes::write_numeric(value, out));
    value.write_binary(out);
}

fn fixed_numeric(value: &Numeric, scale: i32) -> i64 {
    value
        .to_scaled_i64(scale)
        .expect("the value was coerced to numeric(p,s) with p <= 18")
}

fn encode_interval(value: &Interval, out: &mut Vec<u8>) {
    prefixed(out, |out| ordered_bytes::write_interval(value, out));
    out.extend_from_slice(&value.months.to_le_bytes());
    out.extend_from_slice(&value.days.to_le_bytes());
    out.extend_from_slice(&value.us.to_le_bytes());
}

/// The folded text stands whole behind the key, which may be cut: it is not folded again when it is read.
fn encode_folded(value: &FoldedText, out: &mut Vec<u8>) {
    prefixed(out, |out| {
        ordered_bytes::write_escaped(value.folded().as_bytes(), out)
    });
    let folded = Some(value.folded()).filter(|folded| *folded != value.shown());
    let length = folded.map_or(0, |folded| folded.len() as u32 + 1);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(folded.unwrap_or_default().as_bytes());
    out.extend_from_slice(value.shown().as_bytes());
}

/// Writes key bytes behind their length.
fn prefixed(out: &mut Vec<u8>, write_key: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0, 0]);
    write_key(out);
    out.truncate(out.len().min(start + 2 + PREFIX_KEY_BYTES_MAX));
    let length = (out.len() - start - 2) as u16;
    out[start..start + 2].copy_from_slice(&length.to_le_bytes());
}

/// Element OID, dimensions, then per element a length (u32::MAX for NULL) and its stored bytes.
fn encode_array(array: &Array, out: &mut Vec<u8>) {
    out.extend_from_slice(&array.element.0.to_le_bytes());
    out.push(array.dims.len() as u8);
    for dim in &array.dims {
        out.extend_from_slice(&dim.length.to_le_bytes());
        out.extend_from_slice(&dim.lower_bound.to_le_bytes());
    }
    for element in &array.elements {
        encode_delimited(element, ColumnType::new(array.element), out);
    }
}

/// What stands where an attribute has been dropped.
const DROPPED: ColumnType = ColumnType::new(Oid::INVALID);

/// Fields in the order of their attribute numbers, with a NULL of no type for each number that is left out, so that a
/// field's place is its number for good.
fn encode_record(record: &Record, ty: ColumnType, out: &mut Vec<u8>) {
    // Who makes rows knows types and names of their fields, not always their numbers.
    let described = match is_composite(ty.oid) && record.ty.numbers.is_empty() {
        true => row_type(ty.oid).filter(|row| row.types.len() == record.fields.len()),
        false => None,
    };
    let numbered = described.as_ref().unwrap_or(&record.ty);
    let count = record
        .fields
        .len()
        .checked_sub(1)
        .map_or(0, |last| numbered.number(last));
    out.extend_from_slice(&u32::from(count.unsigned_abs()).to_le_bytes());
    let mut written = 0;
    for (position, (field, ty)) in record.fields.iter().zip(&record.ty.types).enumerate() {
        while written + 1 < numbered.number(position) {
            out.extend_from_slice(&DROPPED.oid.0.to_le_bytes());
            out.extend_from_slice(&DROPPED.typmod.to_le_bytes());
            encode_delimited(&Datum::Null, DROPPED, out);
            written += 1;
        }
        written += 1;
        out.extend_from_slice(&ty.oid.0.to_le_bytes());
        out.extend_from_slice(&ty.typmod.to_le_bytes());
        encode_delimited(field, *ty, out);
    }
}

fn encode_delimited(datum: &Datum, ty: ColumnType, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&u32::MAX.to_le_bytes());
    if !datum.is_null() {
        encode_storage(datum, ty, out);
        let length = (out.len() - start - 4) as u32;
        out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    }
}

/// Reads a value back. The bytes are what `encode_storage` wrote for the same type: anything else is broken
/// storage, which panics rather than inventing a value.
#[inline]
pub fn decode_storage(ty: ColumnType, bytes: &[u8]) -> Datum {
    match ty.oid {
        oid::INT4 => Datum::Int4(i32::from_le_bytes(fixed(bytes))),
        oid::INT8 | oid::TID => Datum::Int8(i64::from_le_bytes(fixed(bytes))),
        oid::XID8 | oid::PG_LSN => Datum::Unsigned8(u64::from_le_bytes(fixed(bytes))),
        oid::TEXT | oid::VARCHAR => Datum::Text(stored_text(bytes)),
        oid::BPCHAR => blank_padded(stored_text(bytes)),
        oid::NUMERIC => decode_numeric(ty, bytes),
        oid::TIMESTAMP => Datum::Timestamp(i64::from_le_bytes(fixed(bytes))),
        oid::TIMESTAMPTZ => Datum::TimestampTz(i64::from_le_bytes(fixed(bytes))),
        oid::BOOL => Datum::Bool(fixed::<1>(bytes)[0] != 0),
        oid::INT2 => Datum::Int2(i16::from_le_bytes(fixed(bytes))),
        oid::DATE => Datum::Date(i32::from_le_bytes(fixed(bytes))),
        oid::TIME => Datum::Time(i64::from_le_bytes(fixed(bytes))),
        oid::FLOAT4 => Datum::Float4(f32::from_bits(u32::from_le_bytes(fixed(bytes)))),
        oid::FLOAT8 => Datum::Float8(f64::from_bits(u64::from_le_bytes(fixed(bytes)))),
        oid::UUID => Datum::Uuid(fixed(bytes)),
        oid::BYTEA => Datum::Bytea(bytes.into()),
        oid::INTERVAL => decode_interval(bytes),
        oid::JSONB => Datum::Jsonb(Box::new(Json::read_storage(bytes))),
        oid::RECORD => Datum::Record(Box::new(decode_record(bytes))),
        other if is_composite(other) => Datum::Record(Box::new(decode_composite(other, bytes))),
        other if crate::catalog::is_oid_like(other) => Datum::Oid(u32::from_le_bytes(fixed(bytes))),
        other if is_enum(other) => Datum::Enum(i64::from_le_bytes(fixed(bytes))),
        _ if ty.is_array() => Datum::Array(Box::new(decode_array(bytes))),
        other if is_range(other) => Datum::Range(Box::new(range::decode(bytes))),
        other if is_multirange(other) => Datum::Multirange(Box::new(range::decode_multirange(bytes))),
        other => match representation(other) {
            Some(Representation::Unsigned8) => Datum::Unsigned8(u64::from_le_bytes(fixed(bytes))),
            Some(Representation::OrderedBytes) => Datum::Bytea(bytes.into()),
            Some(Representation::FoldedText) => Datum::Folded(Box::new(decode_folded(bytes))),
            None => Datum::Text(stored_text(bytes)),
        },
    }
}

#[inline]
fn fixed<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("a stored value has its class's width")
}

#[inline]
fn stored_text(bytes: &[u8]) -> CompactString {
    CompactString::from_utf8(bytes).expect("text was checked as UTF-8 when it was stored")
}

fn decode_folded(bytes: &[u8]) -> FoldedText {
    let key = u16::from_le_bytes(fixed(&bytes[..2])) as usize;
    let (length, texts) = bytes[2 + key..].split_at(4);
    match (u32::from_le_bytes(fixed(length)) as usize).checked_sub(1) {
        None => FoldedText::of_parts(stored_text(texts), stored_text(texts)),
        Some(folded) => {
            let (folded, shown) = texts.split_at(folded);
            FoldedText::of_parts(stored_text(shown), stored_text(folded))
        }
    }
}

fn decode_numeric(ty: ColumnType, bytes: &[u8]) -> Datum {
    Datum::Numeric(match fixed_numeric_scale(ty) {
        Some(scale) => match i64::from_le_bytes(fixed(bytes)) {
            FIXED_NUMERIC_NAN => Numeric::NAN,
            value => Numeric::from_scaled_i64(value, scale),
        },
        None => Numeric::read_binary(payload(bytes)).expect("a stored numeric is well formed"),
    })
}

fn decode_interval(bytes: &[u8]) -> Datum {
    let mut reader = Reader(payload(bytes));
    Datum::interval(reader.i32(), reader.i32(), i64::from_le_bytes(fixed(reader.0)))
}

/// What follows the key bytes of a Prefixed value.
fn payload(bytes: &[u8]) -> &[u8] {
    let length = u16::from_le_bytes(fixed(&bytes[..2])) as usize;
    &bytes[2 + length..]
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> &'a [u8] {
        let (head, rest) = self.0.split_at(length);
        self.0 = rest;
        head
    }

    fn i32(&mut self) -> i32 {
        i32::from_le_bytes(fixed(self.take(4)))
    }

    fn delimited(&mut self, ty: ColumnType) -> Datum {
        match self.i32() as u32 {
            u32::MAX => Datum::Null,
            length => decode_storage(ty, self.take(length as usize)),
        }
    }
}

fn decode_array(bytes: &[u8]) -> Array {
    let mut reader = Reader(bytes);
    let element = Oid(reader.i32() as u32);
    let dims: Vec<Dimension> = (0..reader.take(1)[0])
        .map(|_| Dimension {
            length: reader.i32(),
            lower_bound: reader.i32(),
        })
        .collect();
    let mut elements = Vec::new();
    while !reader.0.is_empty() {
        elements.push(reader.delimited(ColumnType::new(element)));
    }
    Array {
        element,
        dims,
        elements: elements.into(),
    }
}

fn decode_record(bytes: &[u8]) -> Record {
    let mut reader = Reader(bytes);
    let count = reader.i32() as usize;
    let mut types = Vec::with_capacity(count);
    let mut fields = Vec::with_capacity(count);
    for _ in 0..count {
        let ty = ColumnType {
            oid: Oid(reader.i32() as u32),
            typmod: reader.i32(),
        };
        types.push(ty);
        fields.push(reader.delimited(ty));
    }
    let ty = Arc::new(RowType::anonymous(types));
    Record { ty, fields }
}

/// A row of a composite type with the attributes that the type has now: one that was added later is NULL, one that was
/// dropped is gone. Where nobody knows the type (`mote check`) the row is as it was written.
fn decode_composite(ty: Oid, bytes: &[u8]) -> Record {
    let mut stored = decode_record(bytes);
    let Some(now) = row_type(ty) else {
        return stored;
    };
    let fields = now.types.iter().enumerate().map(|(position, ty)| {
        let place = now.number(position) as usize - 1;
        // The type of an attribute does not change while a column has values of it.
        match stored.ty.types.get(place) {
            Some(known) if known.oid == ty.oid => std::mem::take(&mut stored.fields[place]),
            _ => Datum::Null,
        }
    });
    Record {
        fields: fields.collect(),
        ty: now,
    }
}

mod range;
#[cfg(test)]
mod tests;
