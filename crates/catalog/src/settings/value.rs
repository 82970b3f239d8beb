//! Values of settings: what is accepted, and the form in which SHOW prints them.

use mote_common::{SqlError, SqlResult, error::state};
use mote_types::datetime::parse_time_zone;
use mote_types::encoding::Encoding;

use super::setting::{Kind, Setting};

/// Checks a value and brings it to the form that SHOW prints. `name` is how the setting was called.
pub(super) fn canonical(setting: &Setting, name: &str, value: &str) -> SqlResult<String> {
    let shown = match setting.kind {
        Kind::String if setting.name == "client_encoding" => client_encoding(value)?,
        Kind::String if setting.name == "restrict_nonsystem_relation_kind" => relation_kinds(value)?,
        Kind::String if setting.name == "default_text_search_config" => text_search(name, value)?,
        Kind::String if setting.name.starts_with("lc_") => locale(name, value)?,
        Kind::String if setting.name == "TimeZone" => parse_time_zone(value)?.name().to_string(),
        Kind::String => value.to_string(),
        Kind::Bool => switch(name, value)?.to_string(),
        Kind::Enum(words) => word(words, value)
            .ok_or_else(|| invalid(name, value).hint(format!("Available values: {}.", words.join(", "))))?,
        Kind::Integer(low, high, unit) => integer_in(name, value, (low, high), unit)?,
        Kind::Real(low, high, unit) => real_in(name, value, (low, high), unit)?,
    };
    let known = setting.supported;
    if !known.is_empty() && !known.iter().any(|word| word.eq_ignore_ascii_case(&shown)) {
        return Err(SqlError::unsupported(format_args!("{} = {shown}", setting.name)));
    }
    Ok(shown)
}

fn invalid(name: &str, value: &str) -> SqlError {
    SqlError::new(
        state::INVALID_PARAMETER_VALUE,
        format!("invalid value for parameter \"{name}\": \"{value}\""),
    )
}

fn switch(name: &str, value: &str) -> SqlResult<&'static str> {
    match parse_bool(value) {
        Some(true) => Ok("on"),
        Some(false) => Ok("off"),
        None => Err(SqlError::new(
            state::INVALID_PARAMETER_VALUE,
            format!("parameter \"{name}\" requires a Boolean value"),
        )),
    }
}

/// One of the words; where on and off are among them, their other spellings too. Levels of messages have two that no list
/// shows.
fn word(words: &[&str], value: &str) -> Option<String> {
    let find = |wanted: &str| words.iter().find(|word| word.eq_ignore_ascii_case(wanted));
    let alias = match value.to_ascii_lowercase().as_str() {
        "true" | "yes" | "1" => "on",
        "false" | "no" | "0" => "off",
        "debug" => "debug2",
        "info" if words.contains(&"debug5") => return Some("info".into()),
        _ => value,
    };
    find(value).or_else(|| find(alias)).map(|word| word.to_string())
}

/// What PostgreSQL 15 has of these, all in pg_catalog.
const TEXT_SEARCH_CONFIGURATIONS: &str = "arabic armenian basque catalan danish dutch english finnish french german \
    greek hindi hungarian indonesian irish italian lithuanian nepali norwegian portuguese romanian russian serbian \
    simple spanish swedish tamil turkish yiddish";

/// The name of a text search configuration, with its schema.
fn text_search(name: &str, value: &str) -> SqlResult<String> {
    let parts: Vec<&str> = value.split('.').collect();
    let is_word = |part: &&str| {
        let mut bytes = part.bytes();
        let begins = bytes
            .next()
            .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
        begins && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    if !parts.iter().all(is_word) {
        return Err(SqlError::new(state::INVALID_NAME, "invalid name syntax"));
    }
    let bare = value
        .strip_prefix("pg_catalog.")
        .unwrap_or(value)
        .to_ascii_lowercase();
    let mut known = TEXT_SEARCH_CONFIGURATIONS.split_whitespace();
    match known.any(|configuration| configuration == bare) {
        true => Ok(format!("pg_catalog.{bare}")),
        false => Err(invalid(name, value)),
    }
}

/// The name of a locale: those that every system has, and what looks like one that it may have. None of them changes
/// what mote answers.
fn locale(name: &str, value: &str) -> SqlResult<String> {
    let (language, encoding) = value.split_once('.').unwrap_or((value, ""));
    let encoding = encoding.to_ascii_lowercase();
    let (tongue, country) = language.split_once('_').unwrap_or((language, ""));
    let letters = |text: &str, upper: bool| {
        let fits = |byte: u8| {
            if upper {
                byte.is_ascii_uppercase()
            } else {
                byte.is_ascii_lowercase()
            }
        };
        (2..=3).contains(&text.len()) && text.bytes().all(fits)
    };
    let everywhere = match language {
        "C" => matches!(encoding.as_str(), "" | "utf8" | "utf-8"),
        "POSIX" => encoding.is_empty(),
        // That of the server.
        "" => name != "lc_messages" && encoding.is_empty(),
        _ => false,
    };
    let elsewhere =
        letters(tongue, false) && letters(country, true) && matches!(encoding.as_str(), "utf8" | "utf-8");
    match everywhere || elsewhere {
        true => Ok(value.to_string()),
        false => Err(invalid(name, value)),
    }
}

/// A list of kinds of relations.
fn relation_kinds(value: &str) -> SqlResult<String> {
    let named = super::parse_name_list(value);
    match named
        .iter()
        .find(|kind| !["view", "foreign-table"].contains(&kind.as_str()))
    {
        None => Ok(value.to_string()),
        Some(other) => Err(invalid("restrict_nonsystem_relation_kind", value)
            .detail(format!("Unrecognized key word: \"{other}\"."))),
    }
}

/// The name of an encoding that text can be converted to.
fn client_encoding(value: &str) -> SqlResult<String> {
    let encoding = Encoding::from_name(value).ok_or_else(|| invalid("client_encoding", value))?;
    if encoding.converter().is_err() {
        return Err(SqlError::unsupported(format_args!("client_encoding = {value}")));
    }
    // Drivers ask for this spelling and want to see it again.
    Ok(if value == "UNICODE" {
        value
    } else {
        encoding.name()
    }
    .to_string())
}

fn integer_in(name: &str, value: &str, (low, high): (i64, i64), unit: &'static str) -> SqlResult<String> {
    let number = number(value, unit)
        .map_err(|hint| with_hint(invalid(name, value), hint))?
        .round_ties_even();
    if !(i32::MIN as f64..=i32::MAX as f64).contains(&number) {
        return Err(invalid(name, value).hint("Value exceeds integer range."));
    }
    let number = number as i64;
    if (low..=high).contains(&number) {
        return Ok(show_integer(number, unit));
    }
    Err(outside(
        name,
        &number.to_string(),
        unit,
        &low.to_string(),
        &high.to_string(),
    ))
}

fn real_in(name: &str, value: &str, (low, high): (f64, f64), unit: &'static str) -> SqlResult<String> {
    let number = number(value, unit).map_err(|hint| with_hint(invalid(name, value), hint))?;
    if (low..=high).contains(&number) {
        return Ok(show_real(number, unit));
    }
    Err(outside(
        name,
        &general(number),
        unit,
        &general(low),
        &general(high),
    ))
}

fn with_hint(error: SqlError, hint: Option<&'static str>) -> SqlError {
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

fn outside(name: &str, number: &str, unit: &str, low: &str, high: &str) -> SqlError {
    let space = if unit.is_empty() { "" } else { " " };
    SqlError::new(
        state::INVALID_PARAMETER_VALUE,
        format!(
            "{number}{space}{unit} is outside the valid range for parameter \"{name}\" ({low} .. {high})"
        ),
    )
}

/// PostgreSQL's words for true and false, unique prefixes included.
pub fn parse_bool(value: &str) -> Option<bool> {
    let value = value.trim().to_ascii_lowercase();
    let prefix_of = |word: &str, least: usize| value.len() >= least && word.starts_with(value.as_str());
    if prefix_of("true", 1) || prefix_of("yes", 1) || value == "on" || value == "1" {
        Some(true)
    } else if prefix_of("false", 1) || prefix_of("no", 1) || prefix_of("off", 2) || value == "0" {
        Some(false)
    } else {
        None
    }
}

const MEMORY_HINT: &str = "Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\".";
const TIME_HINT: &str =
    "Valid units for this parameter are \"us\", \"ms\", \"s\", \"min\", \"h\", and \"d\".";

/// Units, largest first, in bytes or in microseconds.
const MEMORY_UNITS: [(&str, i64); 5] = [
    ("TB", 1 << 40),
    ("GB", 1 << 30),
    ("MB", 1 << 20),
    ("kB", 1 << 10),
    ("B", 1),
];
const TIME_UNITS: [(&str, i64); 6] = [
    ("d", 86_400_000_000),
    ("h", 3_600_000_000),
    ("min", 60_000_000),
    ("s", 1_000_000),
    ("ms", 1_000),
    ("us", 1),
];

/// The units that a setting's values may have, and how many of the smallest make up its own.
fn units(unit: &str) -> (&'static [(&'static str, i64)], i64) {
    match unit {
        "B" => (&MEMORY_UNITS, 1),
        "kB" => (&MEMORY_UNITS, 1 << 10),
        "8kB" => (&MEMORY_UNITS, 8 << 10),
        "ms" => (&TIME_UNITS, 1_000),
        "s" => (&TIME_UNITS, 1_000_000),
        _ => (&[], 1),
    }
}

/// A number in the setting's own unit, or the hint to give.
fn number(value: &str, unit: &str) -> Result<f64, Option<&'static str>> {
    let value = value.trim();
    let hexadecimal = value.strip_prefix("0x").or_else(|| value.strip_prefix("0X"));
    let (number, suffix) = match hexadecimal {
        Some(digits) => {
            let end = digits
                .find(|c: char| !c.is_ascii_hexdigit())
                .unwrap_or(digits.len());
            let number = i64::from_str_radix(&digits[..end], 16).map_err(|_| None)?;
            (number as f64, digits[end..].trim())
        }
        None => {
            let named = ["infinity", "inf", "-infinity", "-inf"];
            let is_named = named.iter().any(|word| value.eq_ignore_ascii_case(word));
            let end = if is_named {
                value.len()
            } else {
                decimal_length(value)
            };
            let number: f64 = value[..end].parse().map_err(|_| None)?;
            // Digits beyond all doubles.
            if number.is_infinite() && !is_named {
                return Err(None);
            }
            (number, value[end..].trim())
        }
    };
    let (units, own) = units(unit);
    if suffix.is_empty() {
        return Ok(number);
    }
    let hint = match unit {
        "" => None,
        "ms" | "s" => Some(TIME_HINT),
        _ => Some(MEMORY_HINT),
    };
    let at = units.iter().position(|(name, _)| *name == suffix).ok_or(hint)?;
    let smallest = number * units[at].1 as f64;
    // A fraction is rounded to whole ones of the next smaller unit.
    let step = units.get(at + 1).map(|(_, size)| *size as f64);
    let rounded = step.map_or(smallest, |step| (smallest / step).round_ties_even() * step);
    Ok(rounded / own as f64)
}

/// How much of a text is a decimal number: `-1.5e3`.
fn decimal_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let sign = |at: usize| at + usize::from(matches!(bytes.get(at), Some(b'-' | b'+')));
    let mut end = digits(sign(0));
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let exponent = sign(end + 1);
        if digits(exponent) > exponent {
            end = digits(exponent);
        }
    }
    end
}

/// In the largest unit that leaves a whole number; what is not above zero has none.
pub fn show_integer(number: i64, unit: &str) -> String {
    let (units, own) = units(unit);
    let whole = number.checked_mul(own).filter(|_| number > 0);
    let fits = whole.and_then(|whole| Some((whole, units.iter().find(|(_, size)| whole % size == 0)?)));
    match fits {
        Some((whole, (name, size))) => format!("{}{name}", whole / size),
        None => number.to_string(),
    }
}

fn show_real(number: f64, unit: &str) -> String {
    let (units, own) = units(unit);
    let whole = number * own as f64;
    let fits = units
        .iter()
        .find(|(_, size)| (whole / *size as f64).fract() == 0.0);
    match fits.filter(|_| number > 0.0) {
        Some((name, size)) => format!("{}{name}", general(whole / *size as f64)),
        None => general(number),
    }
}

/// As C's `%g` prints it.
pub fn general(number: f64) -> String {
    const DIGITS: i32 = 6;
    if number == 0.0 {
        return "0".into();
    }
    if !number.is_finite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.into();
    }
    let scientific = format!("{number:.*e}", DIGITS as usize - 1);
    let (mantissa, exponent) = scientific.split_once('e').expect("{:e} has an exponent");
    let exponent: i32 = exponent.parse().expect("an exponent is a number");
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text.to_string(),
    };
    if (-4..DIGITS).contains(&exponent) {
        trimmed(&format!("{number:.*}", (DIGITS - 1 - exponent) as usize))
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs())
    }
}

/// A canonical value in the setting's own unit, without the unit's name.
pub fn in_own_unit(value: &str, unit: &str) -> String {
    number(value, unit).map_or_else(|_| value.to_string(), general_integer)
}

/// Whole numbers with all their digits.
fn general_integer(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 1e15 {
        (number as i64).to_string()
    } else {
        general(number)
    }
}

/// A canonical value as a number of kB, ms, or what else its unit is.
pub(super) fn integer(value: &str, unit: &str) -> Option<i64> {
    number(value, unit).ok().map(|number| number as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units() {
        assert_eq!(number("1.5GB", "kB"), Ok(1_572_864.0));
        assert_eq!(number("512kB", "8kB"), Ok(64.0));
        assert_eq!(number("0.0001 d", "ms"), Ok(0.0));
        assert_eq!(number("0x10", ""), Ok(16.0));
        assert_eq!(number(" 2 min ", "ms"), Ok(120_000.0));
        assert_eq!(number("1e3", "s"), Ok(1000.0));
        assert_eq!(number("3 parsecs", "ms"), Err(Some(TIME_HINT)));
        assert_eq!(number("3kB", ""), Err(None));
        assert_eq!(number("", ""), Err(None));
    }

    #[test]
    fn values_are_shown_in_large_units() {
        assert_eq!(show_integer(64, "8kB"), "512kB");
        assert_eq!(show_integer(524_288, "8kB"), "4GB");
        assert_eq!(show_integer(-1, "ms"), "-1");
        assert_eq!(show_integer(90_000, "ms"), "90s");
        assert_eq!(show_real(0.5, "ms"), "500us");
        assert_eq!(show_real(2.0, "ms"), "2ms");
        assert_eq!(in_own_unit("64MB", "kB"), "65536");
        assert_eq!(in_own_unit("-1", "kB"), "-1");
        assert_eq!(in_own_unit("500us", "ms"), "0.5");
    }

    #[test]
    fn reals_are_shown_as_c_shows_them() {
        for (number, shown) in [
            (0.0025, "0.0025"),
            (100_000.0, "100000"),
            (1e6, "1e+06"),
            (1e-5, "1e-05"),
            (f64::MAX, "1.79769e+308"),
            (2.5, "2.5"),
            (0.1 + 0.2, "0.3"),
        ] {
            assert_eq!(general(number), shown);
        }
    }
}
