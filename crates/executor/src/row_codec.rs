//! Datums to row bytes, key bytes, and back, by the layouts and key columns of the engine.
//!
//! Invariants
//!  1. Column `i` of a relation (attribute number `i + 1`, dropped ones included) is column `i` of its table's layouts.
//!  2. Search keys go through the engine's own `KeyColumn::append`, so that they equal the keys of stored rows.
//!  3. Columns added after a row was written read as the default that the newest layout holds (the engine's `view`).

use mote_common::SqlResult;
use mote_engine::{KeyClass, KeyColumn, KeyValue, RowView, RowWriter, StorageClass};
use mote_sql::catalog::Relation;
use mote_types::datum::without_blanks;
use mote_types::key::write_computed;
use mote_types::{ColumnType, Datum, decode_storage, encode_storage, oid};

use mote_catalog::write_error;

/// The engine's class for a column of this type.
pub fn storage_class(ty: ColumnType) -> StorageClass {
    match mote_types::storage_class(ty) {
        mote_types::StorageClass::Fixed1 => StorageClass::Fixed1,
        mote_types::StorageClass::Fixed2 => StorageClass::Fixed2,
        mote_types::StorageClass::Fixed4 => StorageClass::Fixed4,
        mote_types::StorageClass::Fixed8 => StorageClass::Fixed8,
        mote_types::StorageClass::Fixed16 => StorageClass::Fixed16,
        mote_types::StorageClass::Variable => StorageClass::Variable,
    }
}

/// Reads one column of a relation's rows.
#[derive(Clone, Copy, Debug)]
pub struct ColumnCodec {
    position: usize,
    ty: ColumnType,
    class: StorageClass,
}

impl ColumnCodec {
    pub fn new(position: usize, ty: ColumnType) -> ColumnCodec {
        ColumnCodec {
            position,
            ty,
            class: storage_class(ty),
        }
    }

    /// The position and the type of the column.
    pub fn column(&self) -> (usize, ColumnType) {
        (self.position, self.ty)
    }

    /// The same as `read`, for a column of type `int4`.
    #[inline]
    pub fn read_int4(&self, row: &RowView<'_>) -> Datum {
        let bytes = row.read_fixed(self.position);
        bytes.map_or(Datum::Null, |bytes| Datum::Int4(i32::from_le_bytes(bytes)))
    }

    /// The value of the column; of a row older than the column, its default.
    #[inline]
    pub fn read(&self, row: &RowView<'_>) -> Datum {
        let position = self.position;
        match self.class {
            // int4 and int8 are decoded in place: they are most of what statements read.
            StorageClass::Fixed4 => match row.read_fixed::<4>(position) {
                Some(bytes) if self.ty.oid == oid::INT4 => Datum::Int4(i32::from_le_bytes(bytes)),
                bytes => self.decode(bytes),
            },
            StorageClass::Fixed8 => match row.read_fixed::<8>(position) {
                Some(bytes) if self.ty.oid == oid::INT8 => Datum::Int8(i64::from_le_bytes(bytes)),
                bytes => self.decode(bytes),
            },
            StorageClass::Fixed1 => self.decode(row.read_fixed::<1>(position)),
            StorageClass::Fixed2 => self.decode(row.read_fixed::<2>(position)),
            StorageClass::Fixed16 => self.decode(row.read_fixed::<16>(position)),
            StorageClass::Variable if row.is_null(position) => Datum::Null,
            StorageClass::Variable => decode_storage(self.ty, row.variable(position)),
        }
    }

    #[inline]
    fn decode<const N: usize>(&self, bytes: Option<[u8; N]>) -> Datum {
        bytes.map_or(Datum::Null, |bytes| decode_storage(self.ty, &bytes))
    }

    /// Sets the column in a row that is being written. The value is coerced to the column's type.
    #[inline]
    pub fn write(&self, value: &Datum, writer: &mut RowWriter<'_>, scratch: &mut Vec<u8>) {
        const WIDTH: &str = "a value of a fixed class has its class's width";
        let position = self.position;
        match value {
            Datum::Null => return writer.set_null(position),
            // The commonest types skip the encoding's buffer.
            Datum::Int4(value) | Datum::Date(value) => return writer.set_fixed4(position, *value as u32),
            Datum::Text(value) => return writer.set_variable(position, value.as_bytes()),
            _ => {}
        }
        scratch.clear();
        encode_storage(value, self.ty, scratch);
        match self.class {
            StorageClass::Fixed1 => writer.set_fixed1(position, scratch[0]),
            StorageClass::Fixed2 => {
                writer.set_fixed2(position, u16::from_le_bytes(scratch[..].try_into().expect(WIDTH)))
            }
            StorageClass::Fixed4 => {
                writer.set_fixed4(position, u32::from_le_bytes(scratch[..].try_into().expect(WIDTH)))
            }
            StorageClass::Fixed8 => {
                writer.set_fixed8(position, u64::from_le_bytes(scratch[..].try_into().expect(WIDTH)))
            }
            StorageClass::Fixed16 => writer.set_fixed16(position, scratch[..].try_into().expect(WIDTH)),
            StorageClass::Variable => writer.set_variable(position, scratch),
        }
    }
}

/// Reads and writes whole rows of a relation.
pub struct RowCodec {
    columns: Box<[ColumnCodec]>,
    dropped: Box<[bool]>,
}

impl RowCodec {
    pub fn new(relation: &Relation) -> RowCodec {
        let columns = relation.columns.iter().enumerate();
        RowCodec {
            columns: columns
                .map(|(position, column)| ColumnCodec::new(position, column.ty))
                .collect(),
            dropped: relation.columns.iter().map(|column| column.dropped).collect(),
        }
    }

    /// The codec of a column, by attribute position.
    pub fn column(&self, position: usize) -> &ColumnCodec {
        &self.columns[position]
    }

    /// Columns of the relation, dropped ones included.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// Appends all columns; dropped ones read as null.
    pub fn read_row(&self, view: &RowView<'_>, into: &mut Vec<Datum>) {
        for (column, dropped) in self.columns.iter().zip(&self.dropped) {
            into.push(if *dropped { Datum::Null } else { column.read(view) });
        }
    }

    /// Writes all columns and hands the bytes on.
    pub fn write_row<'w>(
        &self,
        row: &[Datum],
        writer: &'w mut RowWriter<'_>,
        scratch: &mut Vec<u8>,
    ) -> SqlResult<&'w [u8]> {
        writer.clear();
        for (column, value) in self.columns.iter().zip(row) {
            // `clear` has made every column NULL.
            if !value.is_null() {
                column.write(value, writer, scratch);
            }
        }
        writer.finish().map_err(write_error::row_too_large)
    }
}

/// Appends a value to a key as the engine would, had it been stored. Answers whether it is null.
/// The value is a possible value of the column (`mote_types::key::key_bound` is `Exact`).
pub fn append_key(
    column: &KeyColumn,
    ty: ColumnType,
    value: &Datum,
    key: &mut Vec<u8>,
    scratch: &mut Vec<u8>,
) -> bool {
    // A class may take several kinds of datums: an arm for one class stands before the arm of the same datum for all
    // others.
    let value = match (column.class, value) {
        (_, Datum::Null) => KeyValue::Null,
        (KeyClass::Bool, Datum::Bool(value)) => KeyValue::Bool(*value),
        (_, Datum::Bool(value)) => KeyValue::Unsigned(*value as u64),
        (_, Datum::Date(value)) => KeyValue::Signed(*value as i64),
        (_, Datum::Time(value) | Datum::Timestamp(value) | Datum::TimestampTz(value)) => {
            KeyValue::Signed(*value)
        }
        (KeyClass::Unsigned8, Datum::Int8(value)) => KeyValue::Unsigned(*value as u64),
        (_, Datum::Unsigned8(value)) => KeyValue::Unsigned(*value),
        (_, Datum::Oid(value)) => KeyValue::Unsigned(*value as u64),
        (_, Datum::Int2(_) | Datum::Int4(_) | Datum::Int8(_)) => {
            KeyValue::Signed(value.as_i64().expect("an integer"))
        }
        (_, Datum::Float4(value)) => KeyValue::Float(*value as f64),
        (_, Datum::Float8(value)) => KeyValue::Float(*value),
        (_, Datum::Enum(key)) => KeyValue::Signed(*key),
        (_, Datum::Uuid(value)) => KeyValue::Raw16(*value),
        (_, Datum::Text(value)) => KeyValue::Bytes(value.as_bytes()),
        (_, Datum::Padded(value)) => KeyValue::Bytes(without_blanks(value).as_bytes()),
        (_, Datum::Bytea(value)) => KeyValue::Bytes(value),
        // Datums whose key comes out of their stored form.
        (_, Datum::Array(_) | Datum::Jsonb(_)) => {
            scratch.clear();
            write_computed(value, scratch);
            KeyValue::Bytes(scratch)
        }
        (class, other) => {
            scratch.clear();
            encode_storage(other, ty, scratch);
            match class {
                KeyClass::PrefixedVariable => {
                    let length = u16::from_le_bytes([scratch[0], scratch[1]]) as usize;
                    KeyValue::Bytes(&scratch[2..2 + length])
                }
                // numeric(p,s) as a scaled integer.
                _ => KeyValue::Signed(i64::from_le_bytes(
                    scratch[..]
                        .try_into()
                        .expect("a fixed numeric is stored in eight bytes"),
                )),
            }
        }
    };
    column.append(value, key)
}
