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
    Fixed {
        east_s: i32,
    },
    Named(jiff::tz::TimeZone),
    /// What the abbreviation that is the zone's name means at a time.
    Abbreviated(jiff::tz::TimeZone),
}

/// Abbreviations of PostgreSQL's default set that always mean the same, with their offsets in minutes east.
#[rustfmt::skip]
const ABBREVIATIONS: &[(&str, i32)] = &[
    ("acdt", 630), ("acsst", 630), ("acst", 570), ("act", -300), ("acwst", 525), ("adt", -180), ("aedt", 660),
    ("aesst", 660), ("aest", 600), ("aft", 270), ("akdt", -480), ("akst", -540), ("almst", 420), ("almt", 360),
    ("amt", -240), ("ast", -240), ("awsst", 540), ("awst", 480), ("azost", 0), ("azot", -60), ("bdst", 120),
    ("bdt", 360), ("bnt", 480), ("bort", 480), ("bot", -240), ("bra", -180), ("brst", -120), ("brt", -180),
    ("bst", 60), ("btt", 360), ("cadt", 630), ("cast", 570), ("cct", 480), ("cdt", -300), ("cest", 120), ("cet", 60),
    ("cetdst", 120), ("chadt", 825), ("chast", 765), ("chut", 600), ("clst", -180), ("cot", -300), ("cst", -360),
    ("cxt", 420), ("ddut", 600), ("eat", 180), ("edt", -240), ("eest", 180), ("eet", 120), ("eetdst", 180),
    ("egst", 0), ("egt", -60), ("est", -300), ("fet", 180), ("fjst", 780), ("fjt", 720), ("fnst", -60), ("fnt", -120),
    ("galt", -360), ("gamt", -540), ("gft", -180), ("gilt", 720), ("gmt", 0), ("hkt", 480), ("hst", -600),
    ("ict", 420), ("idt", 180), ("irt", 210), ("ist", 120), ("jayt", 540), ("jst", 540), ("kdt", 600), ("kgst", 360),
    ("kst", 540), ("lhst", 630), ("ligt", 600), ("mart", -570), ("mdt", -360), ("mest", 120), ("mesz", 120),
    ("met", 60), ("metdst", 120), ("mez", 60), ("mht", 720), ("mmt", 390), ("mpt", 600), ("msd", 240), ("mst", -420),
    ("must", 300), ("mut", 240), ("mvt", 300), ("myt", 480), ("ndt", -150), ("nft", -210), ("npt", 345), ("nst", -210),
    ("nzdt", 780), ("nzst", 720), ("nzt", 720), ("pdt", -420), ("pet", -300), ("pgt", 600), ("pht", 480),
    ("pkst", 360), ("pkt", 300), ("pmdt", -120), ("pmst", -180), ("pont", 660), ("pst", -480), ("pwt", 540),
    ("pyst", -180), ("ret", 240), ("sadt", 630), ("sast", 120), ("sct", 240), ("taht", -600), ("tft", 300),
    ("tjt", 300), ("tot", 780), ("trut", 600), ("tvt", 720), ("uct", 0), ("ulast", 540), ("ut", 0), ("utc", 0),
    ("uyst", -120), ("uyt", -180), ("uzst", 360), ("uzt", 300), ("vut", 660), ("wadt", 480), ("wakt", 720),
    ("wast", 420), ("wat", 60), ("wdt", 540), ("wet", 0), ("wetdst", 60), ("wft", 720), ("wgst", -120), ("wgt", -180),
    ("xjt", 360), ("yapt", 600), ("yekst", 360), ("z", 0), ("zulu", 0),
];

/// Those that have meant different things at different times, with the zones that tell what.
#[rustfmt::skip]
const CHANGING_ABBREVIATIONS: &[(&str, &str)] = &[
    ("amst", "Asia/Yerevan"), ("anast", "Asia/Anadyr"), ("anat", "Asia/Anadyr"),
    ("arst", "America/Argentina/Buenos_Aires"), ("art", "America/Argentina/Buenos_Aires"), ("azst", "Asia/Baku"),
    ("azt", "Asia/Baku"), ("ckt", "Pacific/Rarotonga"), ("clt", "America/Santiago"), ("davt", "Antarctica/Davis"),
    ("easst", "Pacific/Easter"), ("east", "Pacific/Easter"), ("fkst", "Atlantic/Stanley"), ("fkt", "Atlantic/Stanley"),
    ("gest", "Asia/Tbilisi"), ("get", "Asia/Tbilisi"), ("gyt", "America/Guyana"), ("iot", "Indian/Chagos"),
    ("irkst", "Asia/Irkutsk"), ("irkt", "Asia/Irkutsk"), ("kgt", "Asia/Bishkek"), ("kost", "Pacific/Kosrae"),
    ("krast", "Asia/Krasnoyarsk"), ("krat", "Asia/Krasnoyarsk"), ("lhdt", "Australia/Lord_Howe"),
    ("lint", "Pacific/Kiritimati"), ("lkt", "Asia/Colombo"), ("magst", "Asia/Magadan"), ("magt", "Asia/Magadan"),
    ("mawt", "Antarctica/Mawson"), ("msk", "Europe/Moscow"), ("novst", "Asia/Novosibirsk"),
    ("novt", "Asia/Novosibirsk"), ("nut", "Pacific/Niue"), ("omsst", "Asia/Omsk"), ("omst", "Asia/Omsk"),
    ("petst", "Asia/Kamchatka"), ("pett", "Asia/Kamchatka"), ("pyt", "America/Asuncion"), ("sgt", "Asia/Singapore"),
    ("tkt", "Pacific/Fakaofo"), ("tmt", "Asia/Ashgabat"), ("ulat", "Asia/Ulaanbaatar"), ("vet", "America/Caracas"),
    ("vlast", "Asia/Vladivostok"), ("vlat", "Asia/Vladivostok"), ("volt", "Europe/Volgograd"),
    ("yakst", "Asia/Yakutsk"), ("yakt", "Asia/Yakutsk"), ("yekt", "Asia/Yekaterinburg"),
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
        let invalid = || {
            let message = format!("invalid value for parameter \"TimeZone\": \"{text}\"");
            SqlError::new(state::INVALID_PARAMETER_VALUE, message)
        };
        if let Ok(hours) = text.trim().parse::<f64>() {
            return match hours.abs() < 168.0 {
                true => Ok(TimeZone::fixed((hours * 3600.0) as i32)),
                false => Err(invalid().detail("UTC timezone offset is out of range.")),
            };
        }
        let zone = TimeZone::named(text).ok_or_else(invalid)?;
        match zone.rules {
            Rules::Fixed { east_s } if east_s % 60 != 0 => Err(SqlError::new(
                state::INVALID_PARAMETER_VALUE,
                format!("time zone \"{text}\" appears to use leap seconds"),
            )
            .detail("PostgreSQL does not support leap seconds.")),
            _ => Ok(zone),
        }
    }

    /// The zone that bears this name, as [`TimeZone::name`] gives it.
    pub fn named(text: &str) -> Option<TimeZone> {
        TimeZone::find(text).or_else(|| TimeZone::posix(text))
    }

    /// A POSIX name that no timestamp may end with: of one or two letters, with other signs, or with the rules of summer
    /// time (`CET-1CEST,M3.5.0,M10.5.0/3`). They have no case.
    fn posix(text: &str) -> Option<TimeZone> {
        let name: Arc<str> = text.to_ascii_uppercase().into();
        let standard = name.find(|c: char| c.is_ascii_digit() || matches!(c, ',' | '-' | '+'))?;
        let rules = match posix_offset(&name[standard..]) {
            Some(east_s) => Rules::Fixed { east_s },
            None => Rules::Named(jiff::tz::TimeZone::posix(&name).ok()?),
        };
        Some(TimeZone { name, rules })
    }

    /// An abbreviation, in any case.
    pub fn abbreviated(text: &str) -> Option<TimeZone> {
        let rules = match abbreviation_offset_s(text) {
            Some(east_s) => Rules::Fixed { east_s },
            None => {
                let lower = text.to_ascii_lowercase();
                let slot = CHANGING_ABBREVIATIONS.binary_search_by_key(&lower.as_str(), |entry| entry.0);
                let zone = jiff::tz::db().get(CHANGING_ABBREVIATIONS[slot.ok()?].1);
                Rules::Abbreviated(zone.ok()?)
            }
        };
        Some(TimeZone {
            name: text.into(),
            rules,
        })
    }

    /// What `make_timestamptz` accepts: as [`TimeZone::parse_for_at`], but a number counts east and needs its sign.
    pub fn parse_for_constructor(text: &str) -> SqlResult<TimeZone> {
        if text.starts_with(|first: char| first.is_ascii_digit()) {
            let message = format!("invalid input syntax for type numeric time zone: \"{text}\"");
            return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message)
                .hint("Numeric time zones must have \"-\" or \"+\" as first character."));
        }
        match numeric_offset(text) {
            None => TimeZone::parse_for_at(text),
            Some(east_s) if east_s.abs() < OFFSET_S_END => Ok(TimeZone::fixed(east_s)),
            Some(_) => Err(SqlError::new(
                state::INVALID_PARAMETER_VALUE,
                format!("numeric time zone \"{text}\" out of range"),
            )),
        }
    }

    /// What `AT TIME ZONE` accepts: an abbreviation, a zone's name, or a POSIX name, whose offset counts west.
    pub fn parse_for_at(text: &str) -> SqlResult<TimeZone> {
        TimeZone::abbreviated(text)
            .or_else(|| TimeZone::named(text))
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
        // No name of a zone has a case from here on.
        let text = text.to_ascii_uppercase();
        let name_bytes = match text.strip_prefix('<') {
            // The form that a fixed offset is shown in.
            Some(rest) => rest.find('>')? + 2,
            // The name may be missing, or shorter than POSIX has it.
            None => text.find(|c: char| !c.is_ascii_alphabetic())?,
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
            Rules::Abbreviated(zone) => meaning_at(&self.name, zone, instant(utc_us)),
        }
    }

    /// Where only a time of day is known: that of a zone whose offset never changes, or of an abbreviation as of a time
    /// that is current.
    pub fn offset_without_date_s(&self, current_local_us: i64) -> Option<i32> {
        let changes = match &self.rules {
            Rules::Fixed { .. } | Rules::Abbreviated(_) => false,
            Rules::Named(zone) => {
                let epoch = jiff::Timestamp::UNIX_EPOCH;
                zone.preceding(epoch).next().is_some() || zone.following(epoch).next().is_some()
            }
        };
        (!changes).then(|| self.offset_at_local_s(current_local_us))
    }

    /// Seconds east that turn a local time into an instant.
    pub fn offset_at_local_s(&self, local_us: i64) -> i32 {
        match &self.rules {
            Rules::Fixed { east_s } => *east_s,
            Rules::Named(zone) => local_offset_s(zone, local_us),
            Rules::Abbreviated(zone) => {
                let utc_us = local_us.saturating_sub(local_offset_s(zone, local_us) as i64 * SECOND_US);
                meaning_at(&self.name, zone, instant(utc_us))
            }
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
                // Nor has `+02:00` one.
                None if self.name.starts_with(|first: char| !first.is_ascii_alphabetic()) => String::new(),
                None => {
                    let sign = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+');
                    self.name[..self.name.find(sign).unwrap_or(self.name.len())].to_string()
                }
            },
            Rules::Named(zone) => zone.to_offset_info(instant(utc_us)).abbreviation().to_owned(),
            Rules::Abbreviated(_) => self.name.to_string(),
        }
    }
}

fn local_offset_s(zone: &jiff::tz::TimeZone, local_us: i64) -> i32 {
    match zone.to_ambiguous_timestamp(local_datetime(local_us)).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset.seconds(),
        AmbiguousOffset::Gap { before, .. } => before.seconds(),
        AmbiguousOffset::Fold { after, .. } => after.seconds(),
    }
}

/// Changes of a zone that are looked at for an abbreviation: rules of today go on for ever.
const CHANGES_MAX: usize = 400;

/// Seconds east that an abbreviation means in a zone at a time: those of its last use until then, or else of the next
/// one. Where the zone has never used it, the zone's own.
fn meaning_at(abbreviation: &str, zone: &jiff::tz::TimeZone, at: jiff::Timestamp) -> i32 {
    let now = zone.to_offset_info(at);
    if now.abbreviation().eq_ignore_ascii_case(abbreviation) {
        return now.offset().seconds();
    }
    let uses =
        |change: &jiff::tz::TimeZoneTransition<'_>| change.abbreviation().eq_ignore_ascii_case(abbreviation);
    let before = zone.preceding(at).take(CHANGES_MAX).find(uses);
    let found = before.or_else(|| zone.following(at).take(CHANGES_MAX).find(uses));
    found.map_or(now.offset(), |change| change.offset()).seconds()
}

/// Seconds east of an abbreviation, in any case.
pub(crate) fn abbreviation_offset_s(text: &str) -> Option<i32> {
    let lower = text.to_ascii_lowercase();
    let slot = ABBREVIATIONS
        .binary_search_by_key(&lower.as_str(), |entry| entry.0)
        .ok()?;
    Some(ABBREVIATIONS[slot].1 * 60)
}

/// `+hh`, `+hhmm` or `+hh:mm:ss` counting east, as PostgreSQL reads zones that are numbers; parts may be empty.
fn numeric_offset(text: &str) -> Option<i32> {
    let digits = text.strip_prefix(['+', '-'])?;
    if !digits.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let part = |text: &str| match text.bytes().all(|byte| byte.is_ascii_digit()) && text.len() <= 6 {
        true if text.is_empty() => Some(0),
        true => text.parse::<i32>().ok(),
        false => None,
    };
    let mut parts = digits.splitn(3, ':');
    let mut hours = part(parts.next()?)?;
    let mut minutes = 0;
    let rest = parts.next();
    match rest {
        Some(rest) => minutes = part(rest)?,
        None if text.len() > 3 => (hours, minutes) = (hours / 100, hours % 100),
        None => {}
    }
    let seconds = parts.next().map_or(Some(0), part)?;
    // What does not fit is out of range, not of another form.
    let fits = hours <= 15 && minutes < 60 && seconds < 60;
    let total = if fits {
        hours * 3600 + minutes * 60 + seconds
    } else {
        OFFSET_S_END
    };
    Some(if text.starts_with('-') { -total } else { total })
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
            .filter(|_| part.len() <= 3 && part.bytes().all(|b| b.is_ascii_digit()))
            .filter(|value| unit == 3600 || *value < 60)?;
        seconds += value * unit;
        unit /= 60;
    }
    (seconds < 168 * 3600).then_some(sign * seconds)
}

fn offset_text(east_s: i32, plus: char, minus: char) -> String {
    let (sign, s) = (if east_s >= 0 { plus } else { minus }, east_s.abs());
    let mut text = format!("{sign}{:02}", s / 3600);
    if s % 3600 != 0 {
        text.push_str(&format!(":{:02}", s / 60 % 60));
    }
    if s % 60 != 0 {
        text.push_str(&format!(":{:02}", s % 60));
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
