//! PostgreSQL's hash of a partition key: `hash_combine64` over the extended hash functions of the types, seeded.
//!
//! The numbers decide where a row lives, and the rows of a dump must live in the partitions of the same bounds here and
//! there. The function is Bob Jenkins' lookup3 with a 64-bit seed; each type hashes the bytes that PostgreSQL hashes on
//! a little-endian machine.
//! Leaves out: types whose hash needs more than their own bytes (arrays, records, jsonb): 0A000 when the table is made.

use mote_types::catalog::extension::CITEXT;
use mote_types::catalog::user::is_enum;
use mote_types::{ColumnType, Datum, oid};

use super::partition::PartitionKey;

const HASH_PARTITION_SEED: u64 = 0x7A5B_2236_7996_DCFD;

/// Hash of a whole key. A NULL leaves the hash as it is.
pub(super) fn hash_key(key: &[Datum], columns: &[PartitionKey]) -> u64 {
    let mut hash = 0u64;
    for (datum, column) in key.iter().zip(columns) {
        if !datum.is_null() {
            hash = combine(hash, hash_datum(datum, column.ty, HASH_PARTITION_SEED));
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
        Datum::Padded(value) => hash_bytes(value.trim_end_matches(' ').as_bytes(), seed),
        Datum::Text(value) if ty.oid == oid::BPCHAR => {
            hash_bytes(value.trim_end_matches(' ').as_bytes(), seed)
        }
        // "char" hashes as a number.
        Datum::Text(value) if ty.oid == oid::CHAR => {
            let byte = value.chars().next().map_or(0, |c| c as u8);
            hash_u32(byte as i8 as i32 as u32, seed)
        }
        Datum::Folded(value) => hash_bytes(value.folded().as_bytes(), seed),
        Datum::Text(value) => hash_bytes(value.as_bytes(), seed),
        Datum::Bytea(value) => hash_bytes(value, seed),
        Datum::Uuid(value) => hash_bytes(value, seed),
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
            hash_bytes(&bytes, seed) ^ top as u64
        }
        other => unreachable!("{} is no type of a hash partition key", other.variant_name()),
    }
}

fn hash_f64(value: f64, seed: u64) -> u64 {
    if value == 0.0 {
        return seed;
    }
    let value = if value.is_nan() { f64::NAN } else { value };
    hash_bytes(&value.to_le_bytes(), seed)
}

/// So that an int4 and an int8 of the same value hash alike.
fn hash_i64(value: i64, seed: u64) -> u64 {
    let (low, high) = (value as u32, (value >> 32) as u32);
    hash_u32(low ^ if value >= 0 { high } else { !high }, seed)
}

/// The state that a key of `length` bytes begins with.
fn start(length: u32, seed: u64) -> [u32; 3] {
    let word = 0x9e37_79b9u32.wrapping_add(length).wrapping_add(3_923_095);
    let mut state = [word; 3];
    if seed != 0 {
        state[0] = state[0].wrapping_add((seed >> 32) as u32);
        state[1] = state[1].wrapping_add(seed as u32);
        mix(&mut state);
    }
    state
}

fn hash_u32(value: u32, seed: u64) -> u64 {
    let mut state = start(4, seed);
    state[0] = state[0].wrapping_add(value);
    finish(&mut state);
    (state[1] as u64) << 32 | state[2] as u64
}

fn hash_bytes(key: &[u8], seed: u64) -> u64 {
    let mut state = start(key.len() as u32, seed);
    let mut chunks = key.chunks_exact(12);
    for chunk in &mut chunks {
        for (word, bytes) in state.iter_mut().zip(chunk.chunks_exact(4)) {
            *word = word.wrapping_add(u32::from_le_bytes(bytes.try_into().expect("chunks of four")));
        }
        mix(&mut state);
    }
    // The last eleven bytes; the lowest byte of the third word is kept for the length.
    for (position, &byte) in chunks.remainder().iter().enumerate() {
        let (word, shift) = if position < 8 {
            (position / 4, position % 4 * 8)
        } else {
            (2, (position - 7) * 8)
        };
        state[word] = state[word].wrapping_add((byte as u32) << shift);
    }
    finish(&mut state);
    (state[1] as u64) << 32 | state[2] as u64
}

fn mix(state: &mut [u32; 3]) {
    for (x, y, z, shift) in [
        (0, 2, 1, 4),
        (1, 0, 2, 6),
        (2, 1, 0, 8),
        (0, 2, 1, 16),
        (1, 0, 2, 19),
        (2, 1, 0, 4),
    ] {
        state[x] = state[x].wrapping_sub(state[y]);
        state[x] ^= state[y].rotate_left(shift);
        state[y] = state[y].wrapping_add(state[z]);
    }
}

fn finish(state: &mut [u32; 3]) {
    for (x, y, shift) in [
        (2, 1, 14),
        (0, 2, 11),
        (1, 0, 25),
        (2, 1, 16),
        (0, 2, 4),
        (1, 0, 14),
        (2, 1, 24),
    ] {
        state[x] ^= state[y];
        state[x] = state[x].wrapping_sub(state[y].rotate_left(shift));
    }
}
