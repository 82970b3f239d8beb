//! Time zones: UTC, fixed offsets, abbreviations, and the rules of the tz database through `jiff`.
//!
//! Offsets here are seconds east of Greenwich. A local time that does not exist (clocks sprang forward) is read with
//! the offset before the change; one that exists twice with the offset after it, as PostgreSQL does.

use crate::calendar::{SECOND_US, TIMESTAMP_MIN, UNIX_EPOCH_OFFSET_S, civil};
use jiff::tz::AmbiguousOffset;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use std::sync::Arc;

/// The session's or an expression's time zone. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct TimeZone {
    name: Arc<str>,
    rules: Rules,
}

#[derive(Clone, Debug)]
enum Rules {
    Fixed { east_s: i32 },
    Named(jiff::tz::TimeZone),
}

/// Abbreviations PostgreSQL's default set knows, with their offsets in minutes east.
const ABBREVIATIONS: &[(&str, i32)] = &[
    ("acdt", 630),
    ("acst", 570),
    ("aedt", 660),
    ("aest", 600),
    ("akdt", -480),
    ("akst", -540),
    ("awst", 480),
    ("bst", 60),
    ("cdt", -300),
    ("cest", 120),
    ("cet", 60),
    ("cst", -360),
    ("edt", -240),
    ("eest", 180),
    ("eet", 120),
    ("est", -300),
    ("gmt", 0),
    ("hkt", 480),
    ("hst", -600),
    ("idt", 180),
    ("ist", 120),
    ("jst", 540),
    ("kst", 540),
    ("mdt", -360),
    ("msk", 180),
    ("mst", -420),
    ("ndt", -150),
    ("nst", -210),
    ("nzdt", 780),
    ("nzst", 720),
    ("pdt", -420),
    ("pst", -480),
    ("sast", 120),
    ("uct", 0),
    ("ut", 0),
    ("utc", 0),
    ("wet", 0),
    ("west", 60),
    ("z", 0),
    ("zulu", 0),
];

/// Offsets must stay below 16 hours, as PostgreSQL has it.
pub(crate) const OFFSET_S_END: i32 = 16 * 3600;

impl TimeZone {
    pub fn utc() -> TimeZone {
        TimeZone {
            name: "UTC".into(),
            rules: Rules::Fixed { east_s: 0 },
        }
    }

    pub fn fixed(east_s: i32) -> TimeZone {
        // POSIX names count west of Greenwich, hence the sign behind the bracket.
        let name = format!(
            "<{}>{}",
            offset_text(east_s, '+', '-'),
            offset_text(east_s, '-', '+')
        );
        TimeZone {
            name: name.into(),
            rules: Rules::Fixed { east_s },
        }
    }

    /// A zone's name, hours east of Greenwich, or a POSIX name such as `UTC+3`. `datetime::parse_time_zone` also takes
    /// the intervals of `SET TIME ZONE`.
    pub fn parse(text: &str) -> SqlResult<TimeZone> {
        if let Ok(hours) = text.trim().parse::<f64>()
            && hours.abs() < 168.0
        {
            return Ok(TimeZone::fixed((hours * 3600.0) as i32));
        }
        TimeZone::find(text).ok_or_else(|| {
            let message = format!("invalid value for parameter \"TimeZone\": \"{text}\"");
            SqlError::new(state::INVALID_PARAMETER_VALUE, message)
        })
    }

    /// What `AT TIME ZONE` accepts: an abbreviation, a zone's name, or a POSIX offset, which counts west.
    pub fn parse_for_at(text: &str) -> SqlResult<TimeZone> {
        if let Some(east_s) = abbreviation_offset_s(text) {
            return Ok(TimeZone {
                name: text.into(),
                rules: Rules::Fixed { east_s },
            });
        }
        TimeZone::find(text)
            .or_else(|| posix_offset(text).map(TimeZone::fixed))
            .ok_or_else(|| {
                SqlError::new(
                    state::INVALID_PARAMETER_VALUE,
                    format!("time zone \"{text}\" not recognized"),
                )
            })
    }

    /// A zone of the tz database (any case), or a POSIX name without rules: letters, then hours west.
    pub fn find(text: &str) -> Option<TimeZone> {
        if matches!(
            text.to_ascii_lowercase().as_str(),
            "utc" | "gmt" | "uct" | "zulu" | "z"
        ) {
            let name = text.to_ascii_uppercase();
            return Some(TimeZone {
                name: name.into(),
                rules: Rules::Fixed { east_s: 0 },
            });
        }
        if let Ok(zone) = jiff::tz::db().get(text) {
            let name = zone.iana_name().unwrap_or(text).into();
            return Some(TimeZone {
                name,
                rules: Rules::Named(zone),
            });
        }
        let name_bytes = match text.strip_prefix('<') {
            // The form that a fixed offset is shown in.
            Some(rest) => rest.find('>')? + 2,
            None => text
                .find(|c: char| !c.is_ascii_alphabetic())
                .filter(|letters| *letters >= 3)?,
        };
        let east_s = posix_offset(&text[name_bytes..])?;
        Some(TimeZone {
            name: text.into(),
            rules: Rules::Fixed { east_s },
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Seconds east in force at an instant.
    pub fn offset_at_utc_s(&self, utc_us: i64) -> i32 {
        match &self.rules {
            Rules::Fixed { east_s } => *east_s,
            Rules::Named(zone) => zone.to_offset(instant(utc_us)).seconds(),
        }
    }

    /// Seconds east that turn a local time into an instant.
    pub fn offset_at_local_s(&self, local_us: i64) -> i32 {
        match &self.rules {
            Rules::Fixed { east_s } => *east_s,
            Rules::Named(zone) => match zone.to_ambiguous_timestamp(local_datetime(local_us)).offset() {
                AmbiguousOffset::Unambiguous { offset } => offset.seconds(),
                AmbiguousOffset::Gap { before, .. } => before.seconds(),
                AmbiguousOffset::Fold { after, .. } => after.seconds(),
            },
        }
    }

    /// The local clock's reading at an instant, as a timestamp without time zone.
    pub fn to_local_us(&self, utc_us: i64) -> i64 {
        utc_us.saturating_add(self.offset_at_utc_s(utc_us) as i64 * SECOND_US)
    }

    /// The instant of a local clock's reading; `None` where it leaves the range.
    pub fn to_utc_us(&self, local_us: i64) -> Option<i64> {
        local_us
            .checked_sub(self.offset_at_local_s(local_us) as i64 * SECOND_US)
            .filter(|&us| us >= TIMESTAMP_MIN)
    }

    /// What `to_char`'s TZ shows: `CET`, `UTC`, `+02`.
    pub fn abbreviation_at(&self, utc_us: i64) -> String {
        match &self.rules {
            // Of a POSIX name its first part: FOO of `FOO+3`, +02 of `<+02>-02`.
            Rules::Fixed { .. } => match self.name.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
                Some((bracketed, _)) => bracketed.to_string(),
                None => {
                    let letters = self
                        .name
                        .find(|c: char| !c.is_ascii_alphabetic())
                        .filter(|end| *end >= 3);
                    self.name[..letters.unwrap_or(self.name.len())].to_string()
                }
            },
            Rules::Named(zone) => zone.to_offset_info(instant(utc_us)).abbreviation().to_owned(),
        }
    }
}

/// Seconds east of an abbreviation, in any case.
pub(crate) fn abbreviation_offset_s(text: &str) -> Option<i32> {
    let lower = text.to_ascii_lowercase();
    let slot = ABBREVIATIONS
        .binary_search_by_key(&lower.as_str(), |entry| entry.0)
        .ok()?;
    Some(ABBREVIATIONS[slot].1 * 60)
}

/// `[+-]hh[:mm[:ss]]` counting west, as seconds east.
fn posix_offset(text: &str) -> Option<i32> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => (1, &text[1..]),
        b'+' => (-1, &text[1..]),
        _ => (-1, text),
    };
    let mut seconds = 0;
    let mut unit = 3600;
    for part in digits.split(':') {
        let value: i32 = part
            .parse()
            .ok()
            .filter(|_| part.len() <= 3 && part.bytes().all(|b| b.is_ascii_digit()))?;
        seconds += value * unit;
        unit /= 60;
    }
    (seconds <= 167 * 3600).then_some(sign * seconds)
}

fn offset_text(east_s: i32, plus: char, minus: char) -> String {
    let (sign, s) = (if east_s >= 0 { plus } else { minus }, east_s.abs());
    let mut text = format!("{sign}{:02}", s / 3600);
    if s % 3600 != 0 {
        text.push_str(&format!(":{:02}", s / 60 % 60));
    }
    text
}

/// The rules repeat with the calendar, every 400 years: later instants than jiff has are taken back by as much. Earlier ones
/// get the offset of its first.
fn instant(utc_us: i64) -> jiff::Timestamp {
    let second = utc_us.div_euclid(SECOND_US) + UNIX_EPOCH_OFFSET_S;
    let (first, last) = (jiff::Timestamp::MIN.as_second(), jiff::Timestamp::MAX.as_second());
    const CALENDAR_S: i64 = 146_097 * 86_400;
    let periods = (second - last).max(0).div_euclid(CALENDAR_S) + i64::from(second > last);
    jiff::Timestamp::from_second((second - periods * CALENDAR_S).max(first)).expect("within jiff's range")
}

fn local_datetime(local_us: i64) -> jiff::civil::DateTime {
    let (days, us) = civil::split_timestamp(local_us);
    let date = civil::civil_from_days(days);
    // Outside jiff's years the calendar repeats every 400 years; only the offset matters here.
    let year = if (-9000..=9000).contains(&date.year) {
        date.year
    } else {
        8000 + date.year.rem_euclid(400)
    };
    let s = us / SECOND_US;
    jiff::civil::DateTime::new(
        year as i16,
        date.month as i8,
        date.day as i8,
        (s / 3600) as i8,
        (s / 60 % 60) as i8,
        (s % 60) as i8,
        0,
    )
    .expect("a valid civil date and time of day")
}
