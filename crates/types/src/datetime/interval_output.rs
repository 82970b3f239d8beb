//! Intervals as text, in every IntervalStyle.

use super::output::{write_fraction, write_padded};
use super::*;
use crate::datum::Interval;
use crate::integer_text::write_int;
use crate::settings::IntervalStyle;

pub fn write_interval(value: &Interval, style: IntervalStyle, out: &mut Vec<u8>) {
    match style {
        IntervalStyle::Postgres => write_postgres(value, out),
        IntervalStyle::PostgresVerbose => write_verbose(value, out),
        IntervalStyle::SqlStandard => write_sql_standard(value, out),
        IntervalStyle::Iso8601 => write_iso8601(value, out),
    }
}

/// `1 year 2 mons -3 days +04:05:06.7`: a positive field behind a negative one shows its sign.
fn write_postgres(value: &Interval, out: &mut Vec<u8>) {
    let mut is_first = true;
    let mut after_negative = false;
    let fields = [
        (value.months / 12, "year"),
        (value.months % 12, "mon"),
        (value.days, "day"),
    ];
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
fn write_iso8601(value: &Interval, out: &mut Vec<u8>) {
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

/// `@ 1 year 2 mons -3 days 4 hours 5 mins 6.7 secs ago`: the first field decides whether it is ago, and the others' signs
/// are against it.
fn write_verbose(value: &Interval, out: &mut Vec<u8>) {
    out.push(b'@');
    let fields = [
        ((value.months / 12) as i64, "year"),
        ((value.months % 12) as i64, "mon"),
        (value.days as i64, "day"),
        (value.us / HOUR_US, "hour"),
        (value.us / MINUTE_US % 60, "min"),
    ];
    let seconds_us = value.us % MINUTE_US;
    let first = fields
        .iter()
        .map(|field| field.0)
        .chain([seconds_us])
        .find(|amount| *amount != 0);
    let Some(first) = first else {
        return out.extend_from_slice(b" 0");
    };
    let ago = first < 0;
    for (amount, unit) in fields {
        if amount == 0 {
            continue;
        }
        let amount = if ago { -amount } else { amount };
        out.push(b' ');
        write_int(amount, out);
        out.push(b' ');
        out.extend_from_slice(unit.as_bytes());
        if amount != 1 {
            out.push(b's');
        }
    }
    if seconds_us != 0 {
        out.push(b' ');
        if (seconds_us < 0) != ago {
            out.push(b'-');
        }
        write_seconds(seconds_us, 1, out);
        out.extend_from_slice(if seconds_us.abs() == SECOND_US {
            b" sec"
        } else {
            b" secs"
        });
    }
    if ago {
        out.extend_from_slice(b" ago");
    }
}

/// `1-2`, `3 4:05:06`, or where months stand beside days or signs differ, all of it with signs: `+1-2 -3 +4:05:06`.
fn write_sql_standard(value: &Interval, out: &mut Vec<u8>) {
    let Interval { months, days, us } = *value;
    let negative = months < 0 || days < 0 || us < 0;
    let positive = months > 0 || days > 0 || us > 0;
    if !negative && !positive {
        return out.push(b'0');
    }
    let standard = !(negative && positive) && (months == 0 || (days == 0 && us == 0));
    let year_month = |out: &mut Vec<u8>| {
        write_int(months.unsigned_abs() as i64 / 12, out);
        out.push(b'-');
        write_int(months.unsigned_abs() as i64 % 12, out);
    };
    let clock = |out: &mut Vec<u8>| {
        let magnitude = us.unsigned_abs();
        write_padded(magnitude / HOUR_US as u64, 1, out);
        out.push(b':');
        write_padded(magnitude / MINUTE_US as u64 % 60, 2, out);
        out.push(b':');
        write_seconds(us, 2, out);
    };
    let sign = |negative: bool| if negative { b'-' } else { b'+' };
    if !standard {
        out.push(sign(months < 0));
        year_month(out);
        out.extend_from_slice(&[b' ', sign(days < 0)]);
        write_int((days as i64).abs(), out);
        out.extend_from_slice(&[b' ', sign(us < 0)]);
        return clock(out);
    }
    if negative {
        out.push(b'-');
    }
    if months != 0 {
        return year_month(out);
    }
    if days != 0 {
        write_int((days as i64).abs(), out);
        out.push(b' ');
    }
    clock(out);
}

/// Seconds within a minute and their fraction, without a sign.
fn write_seconds(us: i64, width: usize, out: &mut Vec<u8>) {
    let magnitude = (us % MINUTE_US).unsigned_abs();
    write_padded(magnitude / SECOND_US as u64, width, out);
    write_fraction(magnitude % SECOND_US as u64, out);
}
