//! PostgreSQL's hash of a partition key: `hash_combine64` over the extended hash functions of the types, seeded.
//!
//! The numbers decide where a row lives, and the rows of a dump must live in the partitions of the same bounds here and
//! there. The function is lookup3 with a 64-bit seed; each type hashes the bytes that PostgreSQL hashes on a little-endian
//! machine.
//! Leaves out: types whose hash needs more than their own bytes (arrays, records, jsonb): 0A000 when the table is made.

use mote_types::catalog::extension::CITEXT;
use mote_types::catalog::user::is_enum;
use mote_types::lookup3::hash_any_extended;
use mote_types::{ColumnType, Datum, oid};

const HASH_PARTITION_SEED: u64 = 0x7A5B_2236_7996_DCFD;

/// Hash of a whole key. A NULL leaves the hash as it is.
pub(super) fn hash_key(key: &[Datum], types: impl Iterator<Item = ColumnType>) -> u64 {
    let mut hash = 0u64;
    for (datum, ty) in key.iter().zip(types) {
        if !datum.is_null() {
            hash = combine(hash, hash_datum(datum, ty, HASH_PARTITION_SEED));
        }
    }
    hash
}

pub(super) fn supports_hash(ty: ColumnType) -> bool {
    let numbers = [
        oid::BOOL,
        oid::INT2,
        oid::INT4,
        oid::INT8,
        oid::FLOAT4,
        oid::FLOAT8,
        oid::NUMERIC,
        oid::OID,
    ];
    let times = [
        oid::DATE,
        oid::TIME,
        oid::TIMESTAMP,
        oid::TIMESTAMPTZ,
        oid::INTERVAL,
    ];
    let strings = [
        oid::TEXT,
        oid::VARCHAR,
        oid::BPCHAR,
        oid::NAME,
        oid::CHAR,
        oid::BYTEA,
        oid::UUID,
        CITEXT,
    ];
    is_enum(ty.oid) || numbers.contains(&ty.oid) || times.contains(&ty.oid) || strings.contains(&ty.oid)
}

fn combine(a: u64, b: u64) -> u64 {
    a ^ b
        .wrapping_add(0x49a0_f4dd_15e5_a8e3)
        .wrapping_add(a << 54)
        .wrapping_add(a >> 7)
}

fn hash_datum(datum: &Datum, ty: ColumnType, seed: u64) -> u64 {
    match datum {
        Datum::Bool(value) => hash_u32(*value as u32, seed),
        Datum::Int2(value) => hash_u32(*value as i32 as u32, seed),
        Datum::Int4(value) => hash_u32(*value as u32, seed),
        Datum::Date(value) => hash_u32(*value as u32, seed),
        Datum::Oid(value) => hash_u32(*value, seed),
        Datum::Unsigned8(value) => hash_i64(*value as i64, seed),
        Datum::Int8(value)
        | Datum::Enum(value)
        | Datum::Time(value)
        | Datum::Timestamp(value)
        | Datum::TimestampTz(value) => hash_i64(*value, seed),
        Datum::Float4(value) => hash_f64(*value as f64, seed),
        Datum::Float8(value) => hash_f64(*value, seed),
        Datum::Padded(value) => hash_any_extended(value.trim_end_matches(' ').as_bytes(), seed),
        Datum::Text(value) if ty.oid == oid::BPCHAR => {
            hash_any_extended(value.trim_end_matches(' ').as_bytes(), seed)
        }
        // "char" hashes as a number.
        Datum::Text(value) if ty.oid == oid::CHAR => {
            let byte = value.chars().next().map_or(0, |c| c as u8);
            hash_u32(byte as i8 as i32 as u32, seed)
        }
        Datum::Folded(value) => hash_any_extended(value.folded().as_bytes(), seed),
        Datum::Text(value) => hash_any_extended(value.as_bytes(), seed),
        Datum::Bytea(value) => hash_any_extended(value, seed),
        Datum::Uuid(value) => hash_any_extended(value, seed),
        // The low 64 bits of the span.
        Datum::Interval(value) => hash_i64(mote_types::compare::interval_span(value) as i64, seed),
        Datum::Numeric(value) => {
            if !value.is_finite() {
                return seed;
            }
            if value.is_zero() {
                return seed.wrapping_sub(1);
            }
            // Base 10,000 digits without leading and trailing zeros; the display scale leaves no trace.
            let (mut bytes, mut top) = (Vec::new(), 0i64);
            value.with_digits(|weight, digits| {
                let zeros = digits.iter().take_while(|digit| **digit == 0).count();
                let end = digits.len() - digits.iter().rev().take_while(|digit| **digit == 0).count();
                top = weight as i64 - zeros as i64;
                for digit in &digits[zeros..end] {
                    bytes.extend_from_slice(&(*digit as i16).to_le_bytes());
                }
            });
            hash_any_extended(&bytes, seed) ^ top as u64
        }
        other => unreachable!("{} is no type of a hash partition key", other.variant_name()),
    }
}

fn hash_f64(value: f64, seed: u64) -> u64 {
    if value == 0.0 {
        return seed;
    }
    let value = if value.is_nan() { f64::NAN } else { value };
    hash_any_extended(&value.to_le_bytes(), seed)
}

/// So that an int4 and an int8 of the same value hash alike.
fn hash_i64(value: i64, seed: u64) -> u64 {
    let (low, high) = (value as u32, (value >> 32) as u32);
    hash_u32(low ^ if value >= 0 { high } else { !high }, seed)
}

fn hash_u32(value: u32, seed: u64) -> u64 {
    hash_any_extended(&value.to_le_bytes(), seed)
}
