//! Lengths and positions, the same for texts and byte strings.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::Datum;

/// 22011, for texts, byte strings and bit strings.
pub fn negative_substring() -> SqlError {
    SqlError::new(state::SUBSTRING_ERROR, "negative substring length not allowed")
}

/// The half-open range of positions (from 0) that `substring(... from start for length)` takes.
pub fn substring_range(start: i32, length: Option<i32>) -> SqlResult<(usize, usize)> {
    // A start before the text counts towards the length: substring('abc' from -1 for 3) is 'a'.
    let from = start as i64 - 1;
    let to = match length {
        None => i64::MAX,
        Some(length) if length < 0 => return Err(negative_substring()),
        Some(length) => from + length as i64,
    };
    let (from, to) = (from.max(0), to.max(0));
    Ok((from as usize, (to.max(from)) as usize))
}

/// 22003 from 256 MiB on.
pub fn bit_length(length_bytes: usize) -> SqlResult<Datum> {
    let bits = i32::try_from(length_bytes * 8);
    bits.map(Datum::Int4)
        .map_err(|_| SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "integer out of range"))
}
