//! Text input of date, time, timestamp and timestamptz: meaning for the lexer's tokens.
//!
//! ISO input takes a short path without tokens. Everything else fills `Fields` (`written`); which number is day, month or year (`digits`)
//! follows from its width, from month names, and from the DateOrder setting.

use super::civil::{self, days_from_civil, days_in_month};
use super::digits::{decode_julian, decode_labelled, decode_number, decode_packed_time, decode_time};
use super::lexer::{Token, tokenize};
use super::names::{is_weekday, month_by_name};
use super::written::{
    Decoded, Failure, Fields, Label, Special, Zone, number, set_day_of_year, set_once, set_year,
};
use super::*;
use crate::settings::{DateOrder, FormatSettings};
use crate::time_zone::{OFFSET_S_END, TimeZone, abbreviation_offset_s};
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

fn error(failure: Failure, type_name: &str, text: &str) -> SqlError {
    let overflow = || {
        let message = format!("date/time field value out of range: \"{text}\"");
        SqlError::new(state::DATETIME_FIELD_OVERFLOW, message)
    };
    match failure {
        Failure::Syntax => {
            let message = format!("invalid input syntax for type {type_name}: \"{text}\"");
            SqlError::new(state::INVALID_DATETIME_FORMAT, message)
        }
        Failure::FieldOverflow => overflow(),
        Failure::MonthOrDay => overflow().hint("Perhaps you need a different \"datestyle\" setting."),
        Failure::ZoneOverflow => SqlError::new(
            state::INVALID_TIME_ZONE_DISPLACEMENT_VALUE,
            format!("time zone displacement out of range: \"{text}\""),
        ),
        Failure::UnknownZone(name) => SqlError::new(
            state::INVALID_PARAMETER_VALUE,
            format!("time zone \"{name}\" not recognized"),
        ),
    }
}

/// A moment as written: on which clock is in `zone`.
struct Moment {
    date: Option<i64>,
    time_us: Option<i64>,
    zone: Option<Zone>,
    special: Option<Special>,
}

pub fn parse_date(text: &str, settings: &FormatSettings) -> SqlResult<i32> {
    if let Some((days, rest)) = iso_date(text.as_bytes())
        && rest.is_empty()
    {
        return Ok(days as i32);
    }
    let moment = decode(text, settings, false).map_err(|failure| error(failure, "date", text))?;
    let days = match moment.special {
        Some(Special::Infinity) => return Ok(DATE_INFINITY),
        Some(Special::NegativeInfinity) => return Ok(DATE_NEGATIVE_INFINITY),
        Some(Special::Epoch) => days_from_civil(1970, 1, 1),
        Some(Special::Now) => civil::split_timestamp(settings.time_zone.to_local_us(settings.now_us)).0,
        None => moment.date.ok_or_else(|| error(Failure::Syntax, "date", text))?,
    };
    if !(DATE_MIN as i64..=DATE_MAX as i64).contains(&days) {
        return Err(SqlError::new(
            state::DATETIME_FIELD_OVERFLOW,
            format!("date out of range: \"{text}\""),
        ));
    }
    Ok(days as i32)
}

pub fn parse_time(text: &str, settings: &FormatSettings) -> SqlResult<i64> {
    let moment = decode(text, settings, true).map_err(|failure| error(failure, "time", text))?;
    let refused = || error(Failure::Syntax, "time", text);
    let us = match moment.special {
        Some(Special::Now) => {
            return Ok(civil::split_timestamp(settings.time_zone.to_local_us(settings.now_us)).1);
        }
        None => moment.time_us.ok_or_else(refused)?,
        Some(_) => return Err(refused()),
    };
    match &moment.zone {
        // It is read and ignored; but one that changes its offset says nothing without a date.
        Some(Zone::Rules(rules)) if moment.date.is_none() => {
            rules.offset_without_date_s(us).map(|_| us).ok_or_else(refused)
        }
        _ => Ok(us),
    }
}

/// A time of day and the offset of its clock, seconds east. Without one it is the session's: on the date that is written,
/// else on the current one.
pub fn parse_time_tz(text: &str, settings: &FormatSettings) -> SqlResult<(i64, i32)> {
    let name = "time with time zone";
    let failed = |failure| error(failure, name, text);
    let moment = decode(text, settings, true).map_err(failed)?;
    let session = &settings.time_zone;
    let now_us = session.to_local_us(settings.now_us);
    let (today, time_now_us) = civil::split_timestamp(now_us);
    match moment.special {
        Some(Special::Now) => return Ok((time_now_us, session.offset_at_utc_s(settings.now_us))),
        Some(_) => return Err(failed(Failure::Syntax)),
        None => {}
    }
    let us = moment.time_us.ok_or_else(|| failed(Failure::Syntax))?;
    let local_us = moment
        .date
        .unwrap_or(today)
        .saturating_mul(DAY_US)
        .saturating_add(us);
    let east_s = match &moment.zone {
        Some(Zone::Offset(east_s)) => *east_s,
        Some(Zone::Rules(rules)) if moment.date.is_some() => rules.offset_at_local_s(local_us),
        // A zone that changes its offset says nothing without a date.
        Some(Zone::Rules(rules)) => rules
            .offset_without_date_s(local_us)
            .ok_or_else(|| failed(Failure::Syntax))?,
        None => session.offset_at_local_s(local_us),
    };
    Ok((us, east_s))
}

pub fn parse_timestamp(text: &str, settings: &FormatSettings) -> SqlResult<i64> {
    if let Some((us, rest)) = iso_timestamp(text.as_bytes())
        && rest.is_empty()
    {
        return Ok(us);
    }
    let name = "timestamp";
    let moment = decode(text, settings, false).map_err(|failure| error(failure, name, text))?;
    match moment.special {
        Some(Special::Now) => Ok(settings.time_zone.to_local_us(settings.now_us)),
        Some(Special::Epoch) => Ok(-UNIX_EPOCH_OFFSET_S * SECOND_US),
        Some(Special::Infinity) => Ok(TIMESTAMP_INFINITY),
        Some(Special::NegativeInfinity) => Ok(TIMESTAMP_NEGATIVE_INFINITY),
        // A zone is read and ignored: the type has none.
        None => local_us(&moment, name, text),
    }
}

pub fn parse_timestamptz(text: &str, settings: &FormatSettings) -> SqlResult<i64> {
    let name = "timestamp with time zone";
    let out_of_range = || {
        SqlError::new(
            state::DATETIME_FIELD_OVERFLOW,
            format!("timestamp out of range: \"{text}\""),
        )
    };
    let (local, zone) = match iso_timestamp(text.as_bytes()) {
        Some((us, [])) => (us, None),
        Some((us, rest)) if iso_offset(rest).is_some() => (us, iso_offset(rest).map(Zone::Offset)),
        _ => {
            let moment = decode(text, settings, false).map_err(|failure| error(failure, name, text))?;
            match moment.special {
                Some(Special::Now) => return Ok(settings.now_us),
                Some(Special::Epoch) => return Ok(-UNIX_EPOCH_OFFSET_S * SECOND_US),
                Some(Special::Infinity) => return Ok(TIMESTAMP_INFINITY),
                Some(Special::NegativeInfinity) => return Ok(TIMESTAMP_NEGATIVE_INFINITY),
                None => (
                    unchecked_local_us(&moment, name, text)?.ok_or_else(out_of_range)?,
                    moment.zone,
                ),
            }
        }
    };
    let east_s = match zone {
        Some(Zone::Offset(east_s)) => east_s,
        Some(Zone::Rules(rules)) => rules.offset_at_local_s(local),
        None => settings.time_zone.offset_at_local_s(local),
    };
    checked_timestamp(local.checked_sub(east_s as i64 * SECOND_US)).map_err(|_| out_of_range())
}

fn local_us(moment: &Moment, name: &str, text: &str) -> SqlResult<i64> {
    checked_timestamp(unchecked_local_us(moment, name, text)?).map_err(|_| {
        SqlError::new(
            state::DATETIME_FIELD_OVERFLOW,
            format!("timestamp out of range: \"{text}\""),
        )
    })
}

/// The clock's reading, which the zone may still bring into range; `None` where 64 bits cannot hold it.
fn unchecked_local_us(moment: &Moment, name: &str, text: &str) -> SqlResult<Option<i64>> {
    let days = moment.date.ok_or_else(|| error(Failure::Syntax, name, text))?;
    Ok(days
        .checked_mul(DAY_US)
        .and_then(|us| us.checked_add(moment.time_us.unwrap_or(0))))
}

/// Exactly two digits.
#[inline]
fn two(bytes: &[u8]) -> Option<i64> {
    match bytes {
        [a @ b'0'..=b'9', b @ b'0'..=b'9'] => Some((a - b'0') as i64 * 10 + (b - b'0') as i64),
        _ => None,
    }
}

/// `YYYY-MM-DD` and what follows it; anything unusual is left to the tokens.
#[inline]
fn iso_date(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let (date, rest) = bytes.split_at_checked(10)?;
    if date[4] != b'-' || date[7] != b'-' || rest.first().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let year = two(&date[0..2])? * 100 + two(&date[2..4])?;
    let (month, day) = (two(&date[5..7])?, two(&date[8..10])?);
    let valid = year > 0 && (1..=12).contains(&month) && day >= 1;
    if !valid || day > days_in_month(year as i32, month as i32) as i64 {
        return None;
    }
    Some((days_from_civil(year as i32, month as i32, day as i32), rest))
}

/// `YYYY-MM-DD hh:mm:ss[.ffffff]` (blank or T) and what follows it.
#[inline]
fn iso_timestamp(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let (days, rest) = iso_date(bytes)?;
    let (time, mut rest) = rest.split_at_checked(9)?;
    if !matches!(time[0], b' ' | b'T') || time[3] != b':' || time[6] != b':' {
        return None;
    }
    let (hour, minute, second) = (two(&time[1..3])?, two(&time[4..6])?, two(&time[7..9])?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut us = ((hour * 60 + minute) * 60 + second) * SECOND_US;
    if let [b'.', digits @ ..] = rest {
        let length = digits.iter().take_while(|b| b.is_ascii_digit()).count();
        if length == 0 || length > 6 {
            return None;
        }
        let fraction = digits[..length]
            .iter()
            .fold(0i64, |value, b| value * 10 + (b - b'0') as i64);
        us += fraction * 10i64.pow(6 - length as u32);
        rest = &digits[length..];
    } else if rest.first().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    Some((days * DAY_US + us, rest))
}

/// `Z`, `+hh`, `+hh:mm` to the end.
fn iso_offset(bytes: &[u8]) -> Option<i32> {
    let (sign, digits) = match bytes {
        [b'Z'] => return Some(0),
        [b'+', digits @ ..] => (1, digits),
        [b'-', digits @ ..] => (-1, digits),
        _ => return None,
    };
    let s = match digits {
        [_, _] => two(digits)? * 3600,
        [_, _, b':', minutes @ ..] => two(&digits[..2])? * 3600 + two(minutes).filter(|&m| m < 60)? * 60,
        _ => return None,
    };
    (s < OFFSET_S_END as i64).then_some(sign * s as i32)
}

fn decode(text: &str, settings: &FormatSettings, time_only: bool) -> Decoded<Moment> {
    let tokens = tokenize(text)
        .filter(|tokens| !tokens.is_empty())
        .ok_or(Failure::Syntax)?;
    let mut fields = Fields {
        time_only,
        ..Fields::default()
    };
    for (slot, token) in tokens.iter().enumerate() {
        match token {
            Token::Word(word) => decode_word(word, tokens.get(slot + 1), &mut fields, settings)?,
            Token::Date(..) if fields.time_us.is_some() => return Err(Failure::Syntax),
            // `hhmmss-zz` behind a date.
            Token::Date(parts, b'-') if fields.has_day() && parts.len() == 2 => {
                decode_packed_time(parts[0], "", &mut fields)?;
                set_once(
                    &mut fields.zone,
                    Zone::Offset(decode_offset(&format!("-{}", parts[1]))?),
                )?;
            }
            Token::Date(parts, _) => decode_date(parts, &mut fields, settings.date_order)?,
            Token::Time(time) => set_once(&mut fields.time_us, decode_time(time)?)?,
            Token::Offset(offset) => set_once(&mut fields.zone, Zone::Offset(decode_offset(offset)?))?,
            Token::Julian(number) => decode_julian(number, &mut fields)?,
            Token::ZoneName(name) => {
                // In front of the date, or of the time, it would be a date.
                let comes_first = match time_only {
                    true => slot == 0 && matches!(tokens.get(1), Some(Token::Time(_))),
                    false => !fields.has_day(),
                };
                if comes_first {
                    return Err(Failure::Syntax);
                }
                let zone =
                    TimeZone::find(name).ok_or_else(|| Failure::UnknownZone(name.to_ascii_lowercase()))?;
                set_once(&mut fields.zone, Zone::Rules(zone))?;
            }
            Token::Number(number) => match fields.label.take() {
                Some(label) => decode_labelled(label, number, &mut fields)?,
                None => decode_number(number, &mut fields, settings.date_order)?,
            },
        }
    }
    finish(fields)
}

fn decode_word(
    word: &str,
    next: Option<&Token>,
    fields: &mut Fields,
    settings: &FormatSettings,
) -> Decoded<()> {
    if let Some(month) = month_by_name(word) {
        // `1 Jan 2024`: a number taken for the month was the day.
        if let (Some(number), None, false) = (fields.month, fields.day, fields.month_by_name) {
            fields.day = Some(number);
            fields.month = None;
        }
        fields.month_by_name = true;
        return set_once(&mut fields.month, month);
    }
    let today = || civil::split_timestamp(settings.time_zone.to_local_us(settings.now_us)).0;
    match word {
        "now" => set_once(&mut fields.special, Special::Now),
        "epoch" => set_once(&mut fields.special, Special::Epoch),
        "infinity" | "inf" => set_once(&mut fields.special, Special::Infinity),
        "-infinity" | "-inf" => set_once(&mut fields.special, Special::NegativeInfinity),
        "today" => set_once(&mut fields.days, today()),
        "tomorrow" => set_once(&mut fields.days, today() + 1),
        "yesterday" => set_once(&mut fields.days, today() - 1),
        "allballs" => {
            fields.zone = Some(Zone::Offset(0));
            set_once(&mut fields.time_us, 0)
        }
        "am" | "pm" => set_once(&mut fields.is_pm, word == "pm"),
        "bc" => {
            fields.is_bc = true;
            Ok(())
        }
        "ad" | "at" | "on" => Ok(()),
        "t" if matches!(next, Some(Token::Time(_) | Token::Number(_) | Token::Date(..))) => Ok(()),
        _ if matches!(next, Some(Token::Number(_))) && Label::of(word).is_some() => {
            fields.label = Label::of(word);
            Ok(())
        }
        _ if is_weekday(word) => Ok(()),
        _ => decode_zone_word(word, fields),
    }
}

fn decode_zone_word(word: &str, fields: &mut Fields) -> Decoded<()> {
    if let Some(east_s) = abbreviation_offset_s(word) {
        return set_once(&mut fields.zone, Zone::Offset(east_s));
    }
    if let Some(zone) = TimeZone::abbreviated(word) {
        return set_once(&mut fields.zone, Zone::Rules(zone));
    }
    // Only words of some length: the tz database has no shorter names that are not abbreviations.
    match TimeZone::find(word).filter(|_| word.len() >= 3) {
        Some(zone) => set_once(&mut fields.zone, Zone::Rules(zone)),
        None => Err(Failure::Syntax),
    }
}

fn decode_date(parts: &[&str], fields: &mut Fields, order: DateOrder) -> Decoded<()> {
    if let Some(slot) = parts.iter().position(|part| !part.as_bytes()[0].is_ascii_digit()) {
        let month = month_by_name(&parts[slot].to_ascii_lowercase()).ok_or(Failure::Syntax)?;
        fields.month_by_name = true;
        set_once(&mut fields.month, month)?;
        let mut rest: Vec<&str> = parts.to_vec();
        rest.remove(slot);
        return match rest[..] {
            [a, b] if a.len() > 2 || (order == DateOrder::Ymd && b.len() <= 2) => {
                set_year(a, fields)?;
                set_once(&mut fields.day, number(b)?)
            }
            [a, b] => {
                set_once(&mut fields.day, number(a)?)?;
                set_year(b, fields)
            }
            _ => Err(Failure::Syntax),
        };
    }
    let [a, b, c] = parts[..] else {
        return match parts[..] {
            [year, day] if year.len() >= 4 && day.len() == 3 => set_day_of_year(year, day, fields),
            _ => Err(Failure::Syntax),
        };
    };
    let (year, month, day) = match order {
        _ if a.len() > 2 => (a, b, c),
        DateOrder::Ymd => (a, b, c),
        DateOrder::Mdy => (c, a, b),
        DateOrder::Dmy => (c, b, a),
    };
    set_year(year, fields)?;
    set_once(&mut fields.month, number(month)?)?;
    set_once(&mut fields.day, number(day)?)
}

/// `+h`, `+hh`, `+hhmm`, `+hh:mm[:ss]` as seconds east.
fn decode_offset(text: &str) -> Decoded<i32> {
    let (sign, digits) = text.split_at(1);
    let parts: Vec<&str> = match digits {
        _ if digits.contains(':') => digits.split(':').collect(),
        _ if digits.len() > 4 => vec![
            &digits[..digits.len() - 4],
            &digits[digits.len() - 4..digits.len() - 2],
            &digits[digits.len() - 2..],
        ],
        _ if digits.len() > 2 => vec![&digits[..digits.len() - 2], &digits[digits.len() - 2..]],
        _ => vec![digits],
    };
    if parts.len() > 3 || parts.iter().any(|part| part.is_empty()) {
        return Err(Failure::Syntax);
    }
    let mut seconds = 0i64;
    for (slot, part) in parts.iter().enumerate() {
        let value: i64 = part.parse().map_err(|_| Failure::ZoneOverflow)?;
        if slot > 0 && value > 59 {
            return Err(Failure::ZoneOverflow);
        }
        seconds += value.min(100_000) * 60i64.pow(2 - slot as u32);
    }
    if seconds >= OFFSET_S_END as i64 {
        return Err(Failure::ZoneOverflow);
    }
    Ok(if sign == "-" {
        -seconds as i32
    } else {
        seconds as i32
    })
}

fn finish(mut fields: Fields) -> Decoded<Moment> {
    if fields.clock.iter().any(Option::is_some) {
        if fields.time_only && fields.clock.iter().any(Option::is_none) {
            return Err(Failure::Syntax);
        }
        let us = fields.clock.iter().flatten().sum();
        set_once(&mut fields.time_us, us)?;
    }
    let mut time_us = fields.time_us;
    if fields.time_only && time_us.is_none() && fields.special.is_none() {
        return Err(Failure::Syntax);
    }
    if let Some(is_pm) = fields.is_pm {
        let us = time_us.ok_or(Failure::Syntax)?;
        if us >= 13 * HOUR_US {
            return Err(Failure::FieldOverflow);
        }
        let past_twelve = us % (12 * HOUR_US);
        time_us = Some(if is_pm {
            past_twelve + 12 * HOUR_US
        } else {
            past_twelve
        });
    }
    let date = match (fields.days, fields.year, fields.month, fields.day) {
        (Some(days), None, None, None) => Some(days),
        (None, Some(_), Some(_), Some(_)) => Some(finish_date(&fields)?),
        (None, None, None, None) => None,
        _ => return Err(why_no_date(&fields)),
    };
    let takes_time = fields.special == Some(Special::Epoch);
    if fields.special.is_some() && (date.is_some() || time_us.is_some() && !takes_time) {
        return Err(Failure::Syntax);
    }
    Ok(Moment {
        date,
        time_us,
        zone: fields.zone,
        special: fields.special,
    })
}

/// Why parts of a date are none: as PostgreSQL, which looks at what is there before it misses the rest.
fn why_no_date(fields: &Fields) -> Failure {
    if fields.time_only {
        return Failure::Syntax;
    }
    let counts_from_one = fields.is_bc || !fields.short_year;
    if counts_from_one && fields.year.is_some_and(|year| year <= 0) {
        return Failure::FieldOverflow;
    }
    let fits = |part: Option<i32>, last| part.is_none_or(|part| (1..=last).contains(&part));
    match fits(fields.month, 12) && fits(fields.day, 31) {
        true => Failure::Syntax,
        false => Failure::MonthOrDay,
    }
}

fn finish_date(fields: &Fields) -> Decoded<i64> {
    let (Some(mut year), Some(month), Some(day)) = (fields.year, fields.month, fields.day) else {
        return Err(Failure::Syntax);
    };
    if fields.is_bc {
        if year == 0 {
            return Err(Failure::FieldOverflow);
        }
        year = 1 - year;
    } else if fields.short_year {
        year += if year < 70 { 2000 } else { 1900 };
    } else if year == 0 {
        return Err(Failure::FieldOverflow);
    }
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return Err(Failure::MonthOrDay);
    }
    if day > days_in_month(year, month) {
        return Err(Failure::FieldOverflow);
    }
    Ok(days_from_civil(year, month, day))
}
