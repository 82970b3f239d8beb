//! Values as text and as wire bytes, both ways.
//!
//! Read `text` (dispatch and the simple types), `bytea`, `array`, `record`, `range`, then `binary`; `number_picture` is the template
//! language for numbers, which `to_char_numeric` writes by and `to_number` reads by. Output appends to the caller's buffer;
//! input answers with PostgreSQL's messages.
//!
//! Source: the input, output, send and receive functions of PostgreSQL's types (utils/adt).
//!
//! Leaves out: `reg*` names (their text form here is the number; names need the catalog), COPY's formats.

pub mod text;
pub mod bytea;
pub mod array;
pub mod binary;
mod range;
mod record;
mod number_picture;
pub mod to_char_numeric;
pub mod to_number;

pub use binary::{input_binary, output_binary};
pub use text::{input_text, input_text_with_length_check, output_text, output_to_string};

pub use crate::float_text as float;
pub(crate) use crate::input_errors::{invalid_syntax, trim_blanks};
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

/// Checks bytes from a client or a file as UTF-8 without NUL.
#[inline]
pub fn utf8(bytes: &[u8]) -> SqlResult<&str> {
    match bytes {
        // Most names in messages: the unnamed portal's.
        [] => Ok(""),
        _ => checked_utf8(bytes),
    }
}

fn checked_utf8(bytes: &[u8]) -> SqlResult<&str> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return Err(invalid_utf8(&bytes[error.valid_up_to()..])),
    };
    if has_nul(bytes) {
        return Err(invalid_utf8(&[0]));
    }
    Ok(text)
}

#[inline]
fn has_nul(bytes: &[u8]) -> bool {
    /// Up to here a plain loop, which becomes a few vector instructions, is quicker than a call that begins a search.
    const SHORT_BYTES: usize = 64;
    match bytes.len() {
        ..SHORT_BYTES => bytes.iter().fold(false, |found, &byte| found | (byte == 0)),
        _ => memchr::memchr(0, bytes).is_some(),
    }
}

#[cold]
fn invalid_utf8(bytes: &[u8]) -> SqlError {
    let expected = match bytes.first().copied().unwrap_or(0) {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => 1,
    };
    let shown: Vec<String> = bytes
        .iter()
        .take(expected)
        .map(|byte| format!("0x{byte:02x}"))
        .collect();
    SqlError::new(
        state::CHARACTER_NOT_IN_REPERTOIRE,
        format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" ")),
    )
}

#[cold]
pub(crate) fn out_of_range(type_name: &str, text: &str) -> SqlError {
    SqlError::new(
        state::NUMERIC_VALUE_OUT_OF_RANGE,
        format!("value \"{text}\" is out of range for type {type_name}"),
    )
}

#[cfg(test)]
mod tests;
