//! Numbers of bytes as people write them: `pg_size_pretty` and `pg_size_bytes`.
//!
//! Source: PostgreSQL's dbsize.c, by behaviour.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::{Datum, Numeric};

use crate::Body;
use crate::argument::{int8, numeric, text};

pub(super) fn body(name: &str) -> Option<Body> {
    Some(match name {
        "pg_size_pretty" => Body::Pure(|a| Ok(Datum::from(size_pretty(int8(&a[0]) as i128)))),
        "pg_size_pretty_numeric" => Body::Pure(|a| size_pretty_numeric(numeric(&a[0])).map(Datum::from)),
        "pg_size_bytes" => Body::Pure(|a| size_bytes(text(&a[0])).map(Datum::Int8)),
        _ => return None,
    })
}

/// A blank as C's `isspace` knows it.
fn is_blank(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\x0b'
}

/// A number with a unit, as a number of bytes.
fn size_bytes(written: &str) -> SqlResult<i64> {
    const UNITS: [(&str, u32); 6] = [
        ("bytes", 0),
        ("kB", 10),
        ("MB", 20),
        ("GB", 30),
        ("TB", 40),
        ("PB", 50),
    ];
    let invalid = || {
        let message = format!("invalid size: \"{written}\"");
        SqlError::new(state::INVALID_PARAMETER_VALUE, message)
    };
    let trimmed = written.trim_start_matches(is_blank);
    let end = number_end(trimmed).ok_or_else(invalid)?;
    let (number, unit) = trimmed.split_at(end);
    let number = Numeric::parse(number)?;
    let unit = unit.trim_matches(is_blank);
    if unit.is_empty() {
        return number.to_i64();
    }
    let known = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
    let Some((_, bits)) = known else {
        return Err(invalid()
            .detail(format!("Invalid size unit: \"{unit}\"."))
            .hint("Valid units are \"bytes\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\"."));
    };
    number.mul(&Numeric::from_scaled_i128(1 << bits, 0))?.to_i64()
}

/// Where the number ends that a text begins with; None: it begins with none.
fn number_end(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let sign = |at: usize| usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
    let digits = |at: usize| {
        bytes[at..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let mut end = sign(0);
    let whole = digits(end);
    end += whole;
    let mut fraction = 0;
    if bytes.get(end) == Some(&b'.') {
        end += 1;
        fraction = digits(end);
        end += fraction;
    }
    if whole + fraction == 0 {
        return None;
    }
    // Without digits the letter belongs to the unit.
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let start = end + 1 + sign(end + 1);
        let exponent = bytes.get(start..).map_or(0, |_| digits(start));
        if exponent > 0 {
            end = start + exponent;
        }
    }
    Some(end)
}

/// As `size_pretty`, for any number of bytes; fractions show below the first unit.
fn size_pretty_numeric(bytes: &Numeric) -> SqlResult<String> {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if bytes.abs() < Numeric::from(10 * 1024) {
        return Ok(format!("{bytes} bytes"));
    }
    // One bit more than the unit is kept for the rounding.
    let mut halves = bytes.div_trunc(&Numeric::from(512))?;
    let mut unit = 0;
    while unit + 1 < UNITS.len() && halves.abs() >= Numeric::from(20 * 1024 - 1) {
        halves = halves.div_trunc(&Numeric::from(1024))?;
        unit += 1;
    }
    let step = Numeric::from(if halves.is_negative() { -1 } else { 1 });
    let rounded = halves.add(&step)?.div_trunc(&Numeric::from(2))?;
    Ok(format!("{rounded} {}", UNITS[unit]))
}

/// Powers of 1024, each up to ten of the next, rounded half away from zero.
fn size_pretty(bytes: i128) -> String {
    const UNITS: [&str; 6] = ["bytes", "kB", "MB", "GB", "TB", "PB"];
    let (mut value, mut unit) = (bytes, 0);
    if value.abs() < 10 * 1024 {
        return format!("{value} bytes");
    }
    // One bit more than the unit is kept for the rounding.
    value /= 512;
    unit += 1;
    while unit + 1 < UNITS.len() && value.abs() >= 20 * 1024 - 1 {
        value /= 1024;
        unit += 1;
    }
    let rounded = if value >= 0 {
        (value + 1) / 2
    } else {
        (value - 1) / 2
    };
    format!("{rounded} {}", UNITS[unit])
}
