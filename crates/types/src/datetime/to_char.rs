//! The template language of `to_char` and `to_timestamp` for dates, times and intervals, and what `to_char` writes by it.
//!
//! A template is cut into nodes once; keywords are matched longest first, letters in any case, and the case of a
//! name's keyword sets the case of the name. Quoted text and anything that is no keyword stands for itself.

use super::civil::{self, Civil, civil_from_days, split_timestamp};
use super::names::{month_name, weekday_name};
use super::output::write_padded;
use super::*;
use crate::datum::{Datum, Interval};
use mote_common::error::state;
use mote_common::work::Meter;
use mote_common::{SqlError, SqlResult};

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Node {
    Literal(char),
    /// In quotes.
    Text(char),
    /// FX: says something of reading alone.
    Exact,
    Field {
        key: &'static str,
        style: Case,
        fill: bool,
        ordinal: Option<Case>,
    },
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Case {
    Upper,
    Capital,
    Lower,
}

/// Longest first among those with a common beginning.
const KEYWORDS: &[&str] = &[
    "Y,YYY", "SSSSS", "MONTH", "A.D.", "A.M.", "B.C.", "P.M.", "HH12", "HH24", "IDDD", "IYYY", "SSSS",
    "YYYY", "DAY", "DDD", "FF1", "FF2", "FF3", "FF4", "FF5", "FF6", "IYY", "MON", "TZH", "TZM", "YYY", "AD",
    "AM", "BC", "CC", "DD", "DY", "HH", "ID", "IW", "IY", "MI", "MM", "MS", "OF", "PM", "RM", "SS", "TZ",
    "US", "WW", "YY", "D", "I", "J", "Q", "W", "Y",
];

/// What one character of a template costs: it is tried as the beginning of every keyword.
const TEMPLATE_COST: usize = 256;

fn starts_with(text: &str, key: &str) -> bool {
    text.len() >= key.len() && text.as_bytes()[..key.len()].eq_ignore_ascii_case(key.as_bytes())
}

pub(super) fn compile(template: &str) -> SqlResult<Vec<Node>> {
    let mut nodes = Vec::new();
    let mut meter = Meter::default();
    let mut rest = template;
    let mut fill = true;
    while let Some(c) = rest.chars().next() {
        meter.keep(TEMPLATE_COST, 2 * size_of::<Node>())?;
        if starts_with(rest, "FM") {
            fill = false;
            rest = &rest[2..];
            continue;
        }
        if starts_with(rest, "FX") {
            nodes.push(Node::Exact);
            rest = &rest[2..];
            continue;
        }
        if let Some(key) = KEYWORDS.iter().find(|key| starts_with(rest, key)) {
            let style = match rest.as_bytes() {
                [a, ..] if a.is_ascii_lowercase() => Case::Lower,
                [_, b, ..] if b.is_ascii_lowercase() => Case::Capital,
                _ => Case::Upper,
            };
            rest = &rest[key.len()..];
            let ordinal = match rest.get(..2) {
                Some("TH") => Some(Case::Upper),
                Some("th") => Some(Case::Lower),
                _ => None,
            };
            if ordinal.is_some() {
                rest = &rest[2..];
            }
            nodes.push(Node::Field {
                key,
                style,
                fill,
                ordinal,
            });
            fill = true;
            continue;
        }
        if c == '"' {
            rest = quoted(&rest[1..], &mut nodes);
            continue;
        }
        let c = match (c, rest.chars().nth(1)) {
            ('\\', Some('"')) => {
                rest = &rest[1..];
                '"'
            }
            _ => c,
        };
        nodes.push(Node::Literal(c));
        rest = &rest[c.len_utf8()..];
    }
    Ok(nodes)
}

/// Text up to the closing quote; a backslash protects what follows it.
fn quoted<'a>(text: &'a str, nodes: &mut Vec<Node>) -> &'a str {
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return &text[at + 1..],
            '\\' => nodes.extend(chars.next().map(|(_, escaped)| Node::Text(escaped))),
            _ => nodes.push(Node::Text(c)),
        }
    }
    ""
}

/// What the fields of a template are taken from.
struct Source {
    date: Civil,
    days: i64,
    us: i64,
    /// Offset and abbreviation; timestamps without a zone have none.
    zone: Option<(i32, String)>,
    is_interval: bool,
}

/// `to_char(value, template)` for date, timestamp, timestamptz and interval. Infinities and NULL give NULL.
pub fn to_char(value: &Datum, template: &str, zone: &TimeZone) -> SqlResult<Option<String>> {
    let at = |us: i64, zone: Option<(i32, String)>| {
        let (days, us) = split_timestamp(us);
        Source {
            date: civil_from_days(days),
            days,
            us,
            zone,
            is_interval: false,
        }
    };
    if template.is_empty() {
        return Ok(None);
    }
    let source = match value {
        Datum::Date(days) if is_finite_date(*days) => at(*days as i64 * DAY_US, None),
        Datum::Timestamp(us) if is_finite_timestamp(*us) => at(*us, None),
        Datum::TimestampTz(us) if is_finite_timestamp(*us) => {
            let offset_s = zone.offset_at_utc_s(*us);
            at(
                us + offset_s as i64 * SECOND_US,
                Some((offset_s, zone.abbreviation_at(*us))),
            )
        }
        Datum::Time(us) => interval_source(&Interval {
            us: *us,
            ..Interval::default()
        }),
        Datum::Interval(interval) => interval_source(interval),
        _ => return Ok(None),
    };
    let mut out = Vec::new();
    for node in compile(template)? {
        match node {
            Node::Exact => {}
            Node::Literal(c) | Node::Text(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            Node::Field {
                key,
                style,
                fill,
                ordinal,
            } => {
                let start = out.len();
                write_field(key, style, fill, &source, &mut out)?;
                if let Some(case) = ordinal {
                    write_ordinal(start, case, &mut out);
                }
            }
        }
    }
    Ok(Some(
        String::from_utf8(out).expect("templates and names are UTF-8"),
    ))
}

fn interval_source(interval: &Interval) -> Source {
    let date = Civil {
        year: interval.months / 12,
        month: interval.months % 12,
        day: interval.days,
    };
    Source {
        date,
        days: interval.days as i64,
        us: interval.us,
        zone: None,
        is_interval: true,
    }
}

fn write_number(value: i64, width: usize, fill: bool, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    write_padded(value.unsigned_abs(), if fill { width } else { 1 }, out);
}

fn write_name(name: &str, style: Case, width: usize, fill: bool, out: &mut Vec<u8>) {
    let start = out.len();
    match style {
        Case::Upper => out.extend(name.bytes().map(|b| b.to_ascii_uppercase())),
        Case::Lower => out.extend(name.bytes()),
        Case::Capital => {
            out.extend(name.bytes());
            out[start].make_ascii_uppercase();
        }
    }
    if fill {
        out.resize((start + width).max(out.len()), b' ');
    }
}

fn invalid_for_interval() -> SqlError {
    SqlError::new(
        state::INVALID_DATETIME_FORMAT,
        "invalid format specification for an interval value",
    )
    .hint("Intervals are not tied to specific calendar dates.")
}

const ROMAN_MONTHS: [&str; 12] = [
    "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii",
];

/// PostgreSQL takes the fields of an interval for those of a date, though month and day may be zero there.
fn iso_year_of_interval(date: Civil) -> i64 {
    let day_number = |year: i64, month: i64, day: i64| {
        let (year, month) = match month > 2 {
            true => (year + 4800, month + 1),
            false => (year + 4799, month + 13),
        };
        let century = year / 100;
        year * 365 - 32_167 + year / 4 - century + century / 4 + 7834 * month / 256 + day
    };
    let first_monday = |year: i64| {
        let fourth = day_number(year, 1, 4);
        fourth - fourth.rem_euclid(7)
    };
    let year = i64::from(date.year);
    let day = day_number(year, date.month.into(), date.day.into());
    match day {
        _ if day < first_monday(year) => year - 1,
        _ if day >= first_monday(year + 1) => year + 1,
        _ => year,
    }
}

fn write_field(key: &str, style: Case, fill: bool, source: &Source, out: &mut Vec<u8>) -> SqlResult<()> {
    let (date, us) = (source.date, source.us);
    let calendar_only = matches!(
        key,
        "MONTH"
            | "MON"
            | "DAY"
            | "DY"
            | "D"
            | "ID"
            | "TZ"
            | "TZH"
            | "TZM"
            | "OF"
            | "AD"
            | "BC"
            | "A.D."
            | "B.C."
    );
    if source.is_interval && calendar_only {
        return Err(invalid_for_interval());
    }
    let year = if source.is_interval || date.year > 0 {
        date.year
    } else {
        1 - date.year
    } as i64;
    let iso_year = || {
        if source.is_interval {
            return iso_year_of_interval(date);
        }
        let year = civil::iso_week(source.days).0 as i64;
        if year > 0 { year } else { 1 - year }
    };
    // PostgreSQL makes room for a sign by the year of the calendar.
    let iso_width = |width: usize| width - usize::from(iso_year() < 0 && date.year >= 0);
    let hour = us / HOUR_US;
    let weekday = || civil::day_of_week(source.days);
    let number = |value, width, out: &mut Vec<u8>| write_number(value, width, fill, out);
    match key {
        "HH" | "HH12" => number(if hour % 12 == 0 { 12 } else { hour % 12 }, 2, out),
        "HH24" => number(hour, 2, out),
        "MI" => number(us / MINUTE_US % 60, 2, out),
        "SS" => number(us / SECOND_US % 60, 2, out),
        "SSSS" | "SSSSS" => number(us / SECOND_US, 1, out),
        "MS" => write_number(us % SECOND_US / 1_000, 3, true, out),
        "US" => write_number(us % SECOND_US, 6, true, out),
        "FF1" | "FF2" | "FF3" | "FF4" | "FF5" | "FF6" => {
            let digits = (key.as_bytes()[2] - b'0') as usize;
            write_number(us % SECOND_US / 10i64.pow(6 - digits as u32), digits, true, out)
        }
        "AM" | "PM" => write_name(if hour % 24 >= 12 { "pm" } else { "am" }, style, 0, false, out),
        "A.M." | "P.M." => write_name(
            if hour % 24 >= 12 { "p.m." } else { "a.m." },
            style,
            0,
            false,
            out,
        ),
        "AD" | "BC" => write_name(if date.year <= 0 { "bc" } else { "ad" }, style, 0, false, out),
        "A.D." | "B.C." => write_name(if date.year <= 0 { "b.c." } else { "a.d." }, style, 0, false, out),
        "Y,YYY" => {
            write_number(year / 1_000, 1, true, out);
            out.push(b',');
            write_number(year % 1_000, 3, true, out);
        }
        "YYYY" => number(year, 4, out),
        "YYY" => number(year % 1_000, 3, out),
        "YY" => number(year % 100, 2, out),
        "Y" => number(year % 10, 1, out),
        "IYYY" => number(iso_year(), iso_width(4), out),
        "IYY" => number(iso_year() % 1_000, iso_width(3), out),
        "IY" => number(iso_year() % 100, iso_width(2), out),
        "I" => number(iso_year() % 10, 1, out),
        "MM" => number(date.month as i64, 2, out),
        "MONTH" => write_name(month_name(date.month), style, 9, fill, out),
        "MON" => write_name(&month_name(date.month)[..3], style, 3, false, out),
        "DAY" => write_name(weekday_name(weekday()), style, 9, fill, out),
        "DY" => write_name(&weekday_name(weekday())[..3], style, 3, false, out),
        "DD" => number(date.day as i64, 2, out),
        "DDD" if source.is_interval => number(
            date.year as i64 * 365 + date.month as i64 * 30 + source.days,
            3,
            out,
        ),
        "DDD" => number(civil::day_of_year(date) as i64, 3, out),
        "IDDD" => {
            let (year, _) = civil::iso_week(source.days);
            number(source.days - civil::iso_week_start(year, 1) + 1, 3, out)
        }
        "D" => number(weekday() as i64 + 1, 1, out),
        "ID" => number((weekday() as i64 + 6) % 7 + 1, 1, out),
        "WW" => number((civil::day_of_year(date) as i64 - 1) / 7 + 1, 2, out),
        "W" => number((date.day as i64 - 1) / 7 + 1, 1, out),
        "IW" => number(civil::iso_week(source.days).1 as i64, 2, out),
        "CC" if source.is_interval => number(date.year as i64 / 100, 2, out),
        "CC" => {
            let year = date.year as i64;
            number(
                if year > 0 {
                    (year - 1) / 100 + 1
                } else {
                    year / 100 - 1
                },
                2,
                out,
            )
        }
        "J" => number(civil::julian_day(source.days), 1, out),
        "Q" => number((date.month as i64 - 1) / 3 + 1, 1, out),
        "RM" => {
            // Intervals count months back from the year's end, and have none only where they have no years either.
            let slot = match date.month {
                0 if !source.is_interval || date.year == 0 => None,
                0 => Some(if date.year > 0 { 11 } else { 0 }),
                month @ ..0 => Some(12 + month),
                month => Some(month - 1),
            };
            if let Some(slot) = slot {
                write_name(ROMAN_MONTHS[slot.clamp(0, 11) as usize], style, 4, fill, out);
            }
        }
        _ => write_zone(key, style, source, out),
    }
    Ok(())
}

/// TZ, TZH, TZM and OF; nothing for values without a zone, whose offset counts as zero.
fn write_zone(key: &str, style: Case, source: &Source, out: &mut Vec<u8>) {
    let (offset_s, name) = source
        .zone
        .as_ref()
        .map_or((0, ""), |(offset_s, name)| (*offset_s, name.as_str()));
    let sign = if offset_s < 0 { b'-' } else { b'+' };
    let s = offset_s.unsigned_abs() as u64;
    match key {
        "TZ" if style == Case::Lower => out.extend(name.bytes().map(|b| b.to_ascii_lowercase())),
        "TZ" => out.extend_from_slice(name.as_bytes()),
        "TZM" => write_padded(s / 60 % 60, 2, out),
        _ => {
            out.push(sign);
            write_padded(s / 3_600, 2, out);
            if key == "OF" && !s.is_multiple_of(3_600) {
                out.push(b':');
                write_padded(s / 60 % 60, 2, out);
            }
        }
    }
}

fn write_ordinal(start: usize, case: Case, out: &mut Vec<u8>) {
    let digits = &out[start..];
    let teen = digits.len() > 1 && digits[digits.len() - 2] == b'1';
    let suffix: &[u8] = match (digits.last(), teen) {
        (Some(b'1'), false) => b"st",
        (Some(b'2'), false) => b"nd",
        (Some(b'3'), false) => b"rd",
        _ => b"th",
    };
    let suffix: Vec<u8> = suffix
        .iter()
        .map(|b| {
            if case == Case::Upper {
                b.to_ascii_uppercase()
            } else {
                *b
            }
        })
        .collect();
    out.extend_from_slice(&suffix);
}
