//! Rows that a driver of ODBC hands over, in the driver's own form.
//!
//! Every value is fetched as text, which each driver makes of any type; what is wanted in binary is made of the text, by the type that
//! the column has.

use odbc_api::{Cursor, DataType};

use super::super::error::{DriverResult, ServerError};
use super::super::form;
use super::super::url::System;
use super::super::wire;
use super::error;
use crate::DriverError;

/// Writes all rows; answers how many there were.
pub fn write<C: Cursor>(
    cursor: &mut C,
    is_binary: impl Fn(usize) -> bool,
    system: System,
    out: &mut Vec<u8>,
) -> Result<u64, ServerError> {
    let failed = |error| error::decode(&error, system);
    let columns = cursor.num_result_cols().map_err(failed)? as u16;
    let types: Vec<DataType> = (1..=columns)
        .map(|column| cursor.col_data_type(column))
        .collect::<Result<_, _>>()
        .map_err(failed)?;
    let (mut count, mut text) = (0, Vec::new());
    while let Some(mut row) = cursor.next_row().map_err(failed)? {
        let at = wire::begin(out, b'D');
        wire::put_i16(out, columns as i16);
        for (index, kind) in types.iter().enumerate() {
            text.clear();
            if !row.get_text(index as u16 + 1, &mut text).map_err(failed)? {
                wire::put_i32(out, -1);
                continue;
            }
            let start = out.len();
            wire::put_i32(out, 0);
            if is_binary(index) {
                put_binary(kind, &text, out).map_err(|error| error::refused(&error.to_string()))?;
            } else {
                out.extend_from_slice(&text);
            }
            wire::finish_value(out, start);
        }
        wire::finish(out, at);
        count += 1;
    }
    Ok(count)
}

fn put_binary(kind: &DataType, text: &[u8], out: &mut Vec<u8>) -> DriverResult<()> {
    let words = std::str::from_utf8(text).map_err(|_| DriverError::protocol("a value is not UTF-8"))?;
    match kind {
        DataType::SmallInt | DataType::TinyInt => put(words.parse::<i16>().map(i16::to_be_bytes), words, out),
        DataType::Integer => put(words.parse::<i32>().map(i32::to_be_bytes), words, out),
        DataType::BigInt => put(words.parse::<i64>().map(i64::to_be_bytes), words, out),
        DataType::Double | DataType::Real | DataType::Float { .. } => {
            put(words.parse::<f64>().map(f64::to_be_bytes), words, out)
        }
        DataType::Numeric { .. } | DataType::Decimal { .. } => {
            // Some drivers leave the zero before the point out.
            let bare = words.trim_start_matches('-');
            match bare.starts_with('.') {
                false => form::put_numeric(text, out),
                true => {
                    let sign = if words.starts_with('-') { "-" } else { "" };
                    form::put_numeric(format!("{sign}0{bare}").as_bytes(), out)
                }
            }
        }
        DataType::Timestamp { .. } => {
            form::put_timestamp(time(words)?, out);
            Ok(())
        }
        _ => {
            out.extend_from_slice(text);
            Ok(())
        }
    }
}

fn put<const N: usize, E>(value: Result<[u8; N], E>, text: &str, out: &mut Vec<u8>) -> DriverResult<()> {
    let value =
        value.map_err(|_| DriverError::protocol(format!("\"{text}\" is no number of its column's type")))?;
    out.extend_from_slice(&value);
    Ok(())
}

/// `2026-11-23 01:02:03.456`, from the year to the microsecond.
fn time(text: &str) -> DriverResult<[i64; 7]> {
    let malformed = || DriverError::protocol(format!("\"{text}\" is no timestamp"));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut fields = [0; 7];
    let mut parts = whole.split(['-', ' ', ':', 'T']);
    for field in &mut fields[..6] {
        *field = parts
            .next()
            .and_then(|part| part.parse().ok())
            .ok_or_else(malformed)?;
    }
    let micros: String = fraction.chars().chain("000000".chars()).take(6).collect();
    fields[6] = micros.parse().map_err(|_| malformed())?;
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_values_of_their_column() {
        let binary = |kind, text: &str| {
            let mut out = Vec::new();
            put_binary(&kind, text.as_bytes(), &mut out).map(|()| out)
        };
        assert_eq!(
            binary(DataType::Integer, "-2").ok(),
            Some((-2i32).to_be_bytes().to_vec())
        );
        assert_eq!(
            binary(DataType::BigInt, "7").ok(),
            Some(7i64.to_be_bytes().to_vec())
        );
        let numeric = DataType::Numeric {
            precision: 4,
            scale: 4,
        };
        let tax = binary(numeric, ".1234").expect("a number");
        assert_eq!(wire::decode_numeric(&tax).ok(), Some(0.1234));
        let less = binary(numeric, "-.5").expect("a number");
        assert_eq!(wire::decode_numeric(&less).ok(), Some(-0.5));
        assert!(binary(DataType::Integer, "2.5").is_err());
        let at = time("2001-03-01 12:30:01.5").expect("a time");
        assert_eq!(at, [2001, 3, 1, 12, 30, 1, 500_000]);
        assert!(time("2001-03").is_err());
    }
}
