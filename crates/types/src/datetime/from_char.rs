//! Dates and timestamps read by a template: `to_timestamp` and `to_date`.
//!
//! Source: PostgreSQL's DCH_from_char and do_to_timestamp (formatting.c), with its habits: a number runs on until something
//! that is no digit follows in the template, blanks before fields are passed over and stand for as many letters of the
//! template, a separator stands for any other or for none. What the fields come to is in `from_char_date`.

use super::from_char_date::{Field, Fields, Mode};
use super::names::{month_name, weekday_name};
use super::to_char::{Node, compile};
use super::*;
use crate::time_zone::TimeZone;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

/// `to_timestamp(text, template)` as an instant.
pub fn to_timestamp(text: &str, template: &str, zone: &TimeZone) -> SqlResult<i64> {
    let fields = read(text, template)?;
    let moment = fields.moment(text)?;
    let midnight_us = moment.days.checked_mul(DAY_US);
    let local = checked_timestamp(midnight_us.and_then(|us| us.checked_add(moment.us)))?;
    let offset_s = moment.offset_s.unwrap_or_else(|| zone.offset_at_local_s(local));
    let us = checked_timestamp(local.checked_sub(i64::from(offset_s) * SECOND_US))?;
    Ok(match fields.precision {
        Some(precision) => round_to_precision(us, precision),
        None => us,
    })
}

/// `to_date(text, template)`
pub fn to_date(text: &str, template: &str) -> SqlResult<i32> {
    let days = read(text, template)?.moment(text)?.days;
    if !(i64::from(DATE_MIN)..=i64::from(DATE_MAX)).contains(&days) {
        return Err(SqlError::new(
            state::DATETIME_FIELD_OVERFLOW,
            format!("date out of range: \"{text}\""),
        ));
    }
    Ok(days as i32)
}

fn read(text: &str, template: &str) -> SqlResult<Fields> {
    let nodes = compile(template)?;
    let mut reader = Reader {
        text,
        at: 0,
        nodes: &nodes,
        slot: 0,
        skipped: 0,
        exact: false,
        fields: Fields::default(),
    };
    // What the text does not reach says nothing.
    while reader.slot < nodes.len() && !reader.rest().is_empty() {
        reader.node()?;
        reader.slot += 1;
    }
    Ok(reader.fields)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    nodes: &'a [Node],
    slot: usize,
    /// Characters of the text that were passed over beyond those that the template has for them; less than none where the
    /// template's separators have met none.
    skipped: i64,
    /// FX: nothing is passed over.
    exact: bool,
    fields: Fields,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) -> i64 {
        let blanks = self.rest().chars().take_while(|c| is_blank(*c)).count();
        self.at += blanks;
        blanks as i64
    }

    fn skip_character(&mut self) {
        self.at += self.rest().chars().next().map_or(0, char::len_utf8);
    }

    fn node(&mut self) -> SqlResult<()> {
        let nodes = self.nodes;
        let node = &nodes[self.slot];
        if !self.exact
            && (self.slot == 0 || matches!(node, Node::Field { .. }))
            && !matches!(node, Node::Exact)
        {
            self.skipped += self.skip_blanks();
        }
        match node {
            Node::Exact => self.exact = true,
            Node::Literal(c) if is_separator(*c) || is_blank(*c) => self.separator(),
            Node::Literal(_) | Node::Text(_) => match self.exact || self.skipped <= 0 {
                true => self.skip_character(),
                false => self.skipped -= 1,
            },
            Node::Field {
                key,
                style,
                fill,
                ordinal,
            } => {
                let field = Field {
                    key,
                    style: *style,
                    runs_on: !fill || self.ends_number(ordinal.is_some()),
                };
                self.field(&field)?;
                if ordinal.is_some() && takes_ordinal(key) {
                    self.skip_character();
                    self.skip_character();
                }
            }
        }
        if !self.exact && matches!(node, Node::Field { .. }) {
            self.skipped = self.skip_blanks();
        }
        Ok(())
    }

    fn separator(&mut self) {
        if self.exact {
            return self.skip_character();
        }
        match self.rest().chars().next() {
            Some(c) if is_separator(c) || is_blank(c) => self.at += 1,
            _ => self.skipped -= 1,
        }
    }

    /// What follows the field in the template is no digit, so its digits run on.
    fn ends_number(&self, has_ordinal: bool) -> bool {
        has_ordinal
            || match self.nodes.get(self.slot + 1) {
                None => true,
                Some(Node::Field { key, .. }) => !is_number(key),
                Some(Node::Literal(c) | Node::Text(c)) => !c.is_ascii_digit(),
                Some(Node::Exact) => true,
            }
    }

    fn field(&mut self, field: &Field) -> SqlResult<()> {
        match field.key {
            "MONTH" | "MON" => self.month(field),
            "RM" => {
                self.fields.set_mode(Mode::Gregorian)?;
                let month = self.word(field, &ROMAN)?;
                self.fields.month.set(12 - month as i32, field)
            }
            "DAY" | "DY" => {
                let names = (0..7).map(|day| shortened(weekday_name(day), field.key == "DY"));
                let day = self.word(field, &names.collect::<Vec<_>>())?;
                self.fields.weekday.set(day as i32 + 1, field)
            }
            "AM" | "PM" | "A.M." | "P.M." => {
                let half = self.word(field, &halves(field.key, "am", "pm"))?;
                self.fields.is_pm.set(half as i32, field)?;
                self.fields.twelve_hours = true;
                Ok(())
            }
            "AD" | "BC" | "A.D." | "B.C." => {
                let era = self.word(field, &halves(field.key, "ad", "bc"))?;
                self.fields.is_bc.set(era as i32, field)
            }
            "TZ" | "OF" => {
                let message = format!(
                    "formatting field \"{}\" is only supported in to_char",
                    field.name()
                );
                Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message))
            }
            "TZH" => self.zone_hours(field),
            "Y,YYY" => self.millennia(field),
            key => self.number_field(key, field),
        }
    }

    fn number_field(&mut self, key: &str, field: &Field) -> SqlResult<()> {
        self.fields.set_mode(mode_of(key))?;
        let (value, length) = self.integer(field, digits_of(key))?;
        let fields = &mut self.fields;
        let subsecond =
            |unit: i32| value.saturating_mul(10i32.pow(unit.saturating_sub(length as i32).max(0) as u32));
        match key {
            "HH" | "HH12" => {
                fields.twelve_hours = true;
                fields.hour.set(value, field)
            }
            "HH24" => fields.hour.set(value, field),
            "MI" => fields.minute.set(value, field),
            "SS" => fields.second.set(value, field),
            "MS" => fields.ms.set_scaled(value, subsecond(3), field),
            "SSSS" | "SSSSS" => fields.second_of_day.set(value, field),
            "TZM" => {
                fields.zone_sign = Some(fields.zone_sign.unwrap_or(1));
                fields.zone_minutes.set(value, field)
            }
            "MM" => fields.month.set(value, field),
            "DDD" | "IDDD" => fields.day_of_year.set(value, field),
            "DD" => fields.day.set(value, field),
            "D" => fields.weekday.set(value, field),
            // Counted from Monday; 1 is Sunday.
            "ID" => fields
                .weekday
                .set_scaled(value, if value >= 7 { 1 } else { value + 1 }, field),
            "WW" | "IW" => fields.week.set(value, field),
            "W" => fields.week_of_month.set(value, field),
            "CC" => fields.century.set(value, field),
            "J" => fields.julian.set(value, field),
            // Which day of the quarter is meant, it does not say.
            "Q" => Ok(()),
            "YYYY" | "IYYY" => {
                fields.year_digits = 4;
                fields.year.set(value, field)
            }
            "YYY" | "YY" | "Y" | "IYY" | "IY" | "I" => {
                fields.year_digits = digits_of(key);
                let whole = match length < 4 {
                    true => near_2020(value),
                    false => value,
                };
                fields.year.set_scaled(value, whole, field)
            }
            _ => {
                if key != "US" {
                    fields.precision = Some(digits_of(key) as i32);
                }
                fields.us.set_scaled(value, subsecond(6), field)
            }
        }
    }

    fn month(&mut self, field: &Field) -> SqlResult<()> {
        self.fields.set_mode(Mode::Gregorian)?;
        let names = (1..=12).map(|month| shortened(month_name(month), field.key == "MON"));
        let month = self.word(field, &names.collect::<Vec<_>>())?;
        self.fields.month.set(month as i32 + 1, field)
    }

    /// A minus may have been passed over as a separator: it counts if more was passed over than the template has.
    fn zone_hours(&mut self, field: &Field) -> SqlResult<()> {
        let sign = match self.rest().as_bytes().first() {
            Some(&sign @ (b'+' | b'-' | b' ')) => {
                self.at += 1;
                sign
            }
            _ if self.skipped > 0 && self.text[..self.at].ends_with('-') => b'-',
            _ => b'+',
        };
        self.fields.zone_sign = Some(if sign == b'-' { -1 } else { 1 });
        let (value, _) = self.integer(field, 2)?;
        self.fields.zone_hours.set(value, field)
    }

    /// `Y,YYY`
    fn millennia(&mut self, field: &Field) -> SqlResult<()> {
        self.fields.set_mode(Mode::Gregorian)?;
        let invalid = || {
            let message = "invalid input string for \"Y,YYY\"";
            SqlError::new(state::INVALID_DATETIME_FORMAT, message)
        };
        let (millennia, behind) = leading_integer(self.rest(), usize::MAX);
        let years = behind.strip_prefix(',').filter(|_| millennia.is_some());
        let (years, behind) = leading_integer(years.ok_or_else(invalid)?, 3);
        let (millennia, years) = (millennia.ok_or_else(invalid)?, years.ok_or_else(invalid)?);
        let year = millennia
            .checked_mul(1_000)
            .and_then(|year| year.checked_add(years));
        let year = year.and_then(|year| i32::try_from(year).ok()).ok_or_else(|| {
            let message = "value for \"Y,YYY\" in source string is out of range";
            SqlError::new(state::DATETIME_FIELD_OVERFLOW, message)
        })?;
        self.at = self.text.len() - behind.len();
        self.fields.year_digits = 4;
        self.fields.year.set(year, field)
    }

    /// The position of the word that the text goes on with.
    fn word(&mut self, field: &Field, words: &[&str]) -> SqlResult<usize> {
        let rest = self.rest().as_bytes();
        let is_next = |word: &&str| {
            let begin = rest.get(..word.len());
            begin.is_some_and(|begin| begin.eq_ignore_ascii_case(word.as_bytes()))
        };
        if let Some(position) = words.iter().position(is_next) {
            self.at += words[position].len();
            return Ok(position);
        }
        let end = self.rest().find(is_blank);
        let shown = &self.rest()[..end.unwrap_or(self.rest().len())];
        let message = format!("invalid value \"{shown}\" for \"{}\"", field.name());
        Err(SqlError::new(state::INVALID_DATETIME_FORMAT, message)
            .detail("The given value did not match any of the allowed values for this field."))
    }

    /// A number with or without a sign, and how many characters it took with the blanks before it.
    fn integer(&mut self, field: &Field, width: usize) -> SqlResult<(i32, usize)> {
        let before = self.at;
        self.skip_blanks();
        let rest = self.rest();
        let shown = beginning(rest, width);
        let invalid = || {
            let message = format!("invalid value \"{shown}\" for \"{}\"", field.name());
            SqlError::new(state::INVALID_DATETIME_FORMAT, message)
        };
        let hint = "If your source string is not fixed-width, try using the \"FM\" modifier.";
        if !field.runs_on && rest.len() < width {
            let message = format!(
                "source string too short for \"{}\" formatting field",
                field.name()
            );
            let detail = format!(
                "Field requires {width} characters, but only {} remain.",
                rest.len()
            );
            return Err(SqlError::new(state::INVALID_DATETIME_FORMAT, message)
                .detail(detail)
                .hint(hint));
        }
        let (value, behind) = match field.runs_on {
            true => leading_integer(rest, usize::MAX),
            false => leading_integer(shown, usize::MAX),
        };
        let used = match field.runs_on {
            true => rest.len() - behind.len(),
            false => shown.len() - behind.len(),
        };
        let Some(value) = value else {
            return Err(invalid().detail("Value must be an integer."));
        };
        if !field.runs_on && used < width {
            let detail = format!("Field requires {width} characters, but only {used} could be parsed.");
            return Err(invalid().detail(detail).hint(hint));
        }
        self.at += used;
        let value = i32::try_from(value).map_err(|_| {
            let message = format!("value for \"{}\" in source string is out of range", field.name());
            SqlError::new(state::DATETIME_FIELD_OVERFLOW, message).detail(format!(
                "Value must be in the range {} to {}.",
                i32::MIN,
                i32::MAX
            ))
        })?;
        Ok((value, self.at - before))
    }
}

const ROMAN: [&str; 12] = [
    "xii", "xi", "x", "ix", "viii", "vii", "vi", "v", "iv", "iii", "ii", "i",
];

/// The two words of a field, with points if it has them.
fn halves(key: &str, first: &'static str, second: &'static str) -> [&'static str; 2] {
    let with_points = |word| match word {
        "am" => "a.m.",
        "pm" => "p.m.",
        "ad" => "a.d.",
        _ => "b.c.",
    };
    match key.contains('.') {
        true => [with_points(first), with_points(second)],
        false => [first, second],
    }
}

fn shortened(name: &'static str, short: bool) -> &'static str {
    if short { &name[..3] } else { name }
}

/// Digits of a field's number.
fn digits_of(key: &str) -> usize {
    match key {
        "HH24" | "HH12" => 2,
        "MS" => 3,
        "US" => 6,
        "ID" => 1,
        "IDDD" => 3,
        _ if key.starts_with("FF") => usize::from(key.as_bytes()[2] - b'0'),
        _ if key.starts_with("TZ") => 2,
        other => other.len(),
    }
}

/// Its text is digits.
fn is_number(key: &str) -> bool {
    !matches!(
        key,
        "MONTH"
            | "MON"
            | "DAY"
            | "DY"
            | "AM"
            | "PM"
            | "A.M."
            | "P.M."
            | "AD"
            | "BC"
            | "A.D."
            | "B.C."
            | "RM"
            | "TZ"
            | "TZH"
            | "OF"
    ) && !key.starts_with("FF")
}

/// PostgreSQL passes over TH and th behind numbers alone.
fn takes_ordinal(key: &str) -> bool {
    key != "TZM" && (is_number(key) || key.starts_with("FF"))
}

fn mode_of(key: &str) -> Mode {
    match key {
        "IDDD" | "ID" | "IW" | "IYYY" | "IYY" | "IY" | "I" => Mode::IsoWeek,
        "DDD" | "DD" | "D" | "MM" | "WW" | "W" | "YYYY" | "YYY" | "YY" | "Y" => Mode::Gregorian,
        _ => Mode::None,
    }
}

/// C's isspace.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t'..='\r')
}

fn is_separator(c: char) -> bool {
    c.is_ascii_punctuation()
}

/// At most so many bytes, of whole characters.
fn beginning(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// C's strtol: the number at the beginning, if there is one, and what follows it. Too large ones become the largest.
fn leading_integer(text: &str, digits_max: usize) -> (Option<i64>, &str) {
    let number = text.trim_start_matches(is_blank);
    let unsigned = number.strip_prefix(['+', '-']).unwrap_or(number);
    let digits = unsigned
        .bytes()
        .take(digits_max)
        .take_while(u8::is_ascii_digit)
        .count();
    if digits == 0 {
        return (None, text);
    }
    let value = unsigned[..digits].parse::<i64>().unwrap_or(i64::MAX);
    let value = if number.starts_with('-') { -value } else { value };
    (Some(value), &unsigned[digits..])
}

/// Years of fewer than four digits lie near 2020.
fn near_2020(year: i32) -> i32 {
    match year {
        i32::MIN..=69 => year + 2000,
        70..=99 => year + 1900,
        100..=519 => year + 2000,
        520..=999 => year + 1000,
        _ => year,
    }
}
