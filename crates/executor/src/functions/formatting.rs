//! Values made text for people and for SQL: to_char and to_number, quoting, format(), hexadecimal.

use compact_str::CompactString;
use mote_common::error::state;
use mote_common::work::{self, Meter};
use mote_common::{SqlError, SqlResult};
use mote_functions::pattern::text_array;
use mote_functions::text::{append_repeated, as_text, char_count};
use mote_grammar::ast::deparse::identifier;
use mote_types::format::to_char_numeric::{self, Number};
use mote_types::format::to_number::to_number;
use mote_types::{ColumnType, Datum, FormatSettings, Numeric, datetime, oid};

use super::{Body, CallSite, float8, int4, int8, numeric, text};

pub fn body(name: &str) -> Option<Body> {
    Some(match name {
        "numeric_to_char" => Body::Pure(|a| number_to_char(Number::Numeric(numeric(&a[0])), text(&a[1]))),
        "int4_to_char" => {
            Body::Pure(|a| number_to_char(Number::Numeric(&Numeric::from(int4(&a[0]))), text(&a[1])))
        }
        "int8_to_char" => {
            Body::Pure(|a| number_to_char(Number::Numeric(&Numeric::from(int8(&a[0]))), text(&a[1])))
        }
        "float4_to_char" | "float8_to_char" => Body::Pure(|a| match &a[0] {
            Datum::Float4(value) => number_to_char(Number::Float4(*value), text(&a[1])),
            value => number_to_char(Number::Float8(float8(value)), text(&a[1])),
        }),
        // An empty template answers NULL, as in PostgreSQL.
        "numeric_to_number" => Body::Pure(|a| match text(&a[1]) {
            "" => Ok(Datum::Null),
            template => to_number(text(&a[0]), template).map(Datum::Numeric),
        }),
        "timestamp_to_char" | "timestamptz_to_char" | "interval_to_char" => Body::Typed(|format, _, a| {
            let shown = datetime::to_char::to_char(&a[0], text(&a[1]), &format.time_zone)?;
            Ok(shown.map_or(Datum::Null, Datum::from))
        }),
        "to_timestamp" => Body::Typed(|format, _, a| {
            datetime::from_char::to_timestamp(text(&a[0]), text(&a[1]), &format.time_zone)
                .map(Datum::TimestampTz)
        }),
        "to_date" => Body::Pure(|a| datetime::from_char::to_date(text(&a[0]), text(&a[1])).map(Datum::Date)),
        "to_hex32" => Body::Pure(|a| Ok(Datum::from(format!("{:x}", int4(&a[0]))))),
        "to_hex64" => Body::Pure(|a| Ok(Datum::from(format!("{:x}", int8(&a[0]))))),
        "parse_ident" => Body::Pure(|a| {
            let strict = a.get(1).and_then(Datum::as_bool).unwrap_or(true);
            parse_identifier(text(&a[0]), strict).map(text_array)
        }),
        "quote_ident" => Body::Pure(|a| Ok(Datum::from(identifier(text(&a[0]))))),
        "quote_literal" => Body::Pure(|a| quoted(text(&a[0]))),
        "quote_nullable" => Body::Pure(|a| match &a[0] {
            Datum::Null => Ok(Datum::from("NULL")),
            value => quoted(text(value)),
        }),
        "quote_literal_anyelement" => Body::Typed(|format, site, a| {
            let shown = as_text(format, &a[0], site.arguments[0])?;
            quoted(&shown)
        }),
        "quote_nullable_anyelement" => Body::Typed(|format, site, a| match &a[0] {
            Datum::Null => Ok(Datum::from("NULL")),
            value => quoted(&as_text(format, value, site.arguments[0])?),
        }),
        "text_format" | "text_format_nv" => Body::Typed(format),
        _ => return None,
    })
}

/// to_char of a number, of whatever type.
fn number_to_char(value: Number<'_>, template: &str) -> SqlResult<Datum> {
    to_char_numeric::to_char(value, template).map(Datum::from)
}

/// The parts of a dotted name, folded to lower case where they are not quoted.
fn parse_identifier(value: &str, strict: bool) -> SqlResult<Vec<String>> {
    let invalid = || {
        let message = format!("string is not a valid identifier: \"{value}\"");
        SqlError::new(state::INVALID_PARAMETER_VALUE, message)
    };
    let mut parts = Vec::new();
    let mut rest = value.trim_start();
    loop {
        let after_dot = !parts.is_empty();
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut part = String::new();
            let mut inner = quoted;
            rest = loop {
                let Some(end) = inner.find('"') else {
                    return Err(invalid().detail("String has unclosed double quotes."));
                };
                part.push_str(&inner[..end]);
                match inner[end + 1..].strip_prefix('"') {
                    Some(more) => {
                        part.push('"');
                        inner = more;
                    }
                    None => break &inner[end + 1..],
                }
            };
            if part.is_empty() {
                return Err(invalid().detail("Quoted identifier must not be empty."));
            }
            parts.push(part);
        } else {
            // As an identifier of the grammar: any character beyond ASCII is a letter.
            let starts = |c: char| c.is_alphabetic() || c == '_' || !c.is_ascii();
            let continues = |c: char| starts(c) || c.is_ascii_digit() || c == '$';
            if !rest.starts_with(starts) {
                let detail = match (rest.starts_with('.'), after_dot) {
                    (true, _) => "No valid identifier before \".\".",
                    (false, true) => "No valid identifier after \".\".",
                    (false, false) => return Err(invalid()),
                };
                return Err(invalid().detail(detail));
            }
            let end = rest.find(|c| !continues(c)).unwrap_or(rest.len());
            parts.push(rest[..end].to_ascii_lowercase());
            rest = &rest[end..];
        }
        rest = rest.trim_start();
        match rest.strip_prefix('.') {
            Some(more) => rest = more.trim_start(),
            // Not strict: what follows the name is ignored.
            None if rest.is_empty() || !strict => return Ok(parts),
            None => return Err(invalid()),
        }
    }
}

/// The text as a literal, in the escape form where it has backslashes: it is read alike under every setting.
pub fn quote_literal(value: &str) -> String {
    let quoted = value.replace('\'', "''");
    if value.contains('\\') {
        format!("E'{}'", quoted.replace('\\', "\\\\"))
    } else {
        format!("'{quoted}'")
    }
}

/// [`quote_literal`] of a value of any length.
fn quoted(value: &str) -> SqlResult<Datum> {
    if value.len() < work::GRAIN_BYTES {
        return Ok(Datum::from(quote_literal(value)));
    }
    // PostgreSQL takes room for the worst case.
    work::check_length(2 * value.len() + 3)?;
    let mut out = String::new();
    work::grow(
        &mut out,
        if work::find(value.as_bytes(), b"\\")?.is_some() {
            "E'"
        } else {
            "'"
        },
    )?;
    let mut meter = Meter::default();
    for part in value.split_inclusive(['\'', '\\']) {
        meter.tick(part.len() + 8)?;
        work::grow(&mut out, part)?;
        match part.as_bytes().last() {
            Some(b'\'') => work::grow(&mut out, "'")?,
            Some(b'\\') => work::grow(&mut out, "\\")?,
            _ => {}
        }
    }
    work::grow(&mut out, "'")?;
    Ok(Datum::from(out))
}

/// format(template, ...): %s, %I, %L, %%, with positions (`%1$s`), widths and the flag `-`.
fn format(settings: &FormatSettings, site: &CallSite, arguments: &[Datum]) -> SqlResult<Datum> {
    if arguments[0].is_null() {
        return Ok(Datum::Null);
    }
    let template = text(&arguments[0]).to_string();
    let mut out = work::text_buffer(template.len())?;
    let mut characters = template.chars().peekable();
    let mut next_argument = 1;
    let mut meter = Meter::default();
    while let Some(c) = characters.next() {
        meter.tick(4)?;
        if c != '%' {
            work::grow(&mut out, c.encode_utf8(&mut [0; 4]))?;
            continue;
        }
        if characters.peek() == Some(&'%') {
            characters.next();
            work::grow(&mut out, "%")?;
            continue;
        }
        let specifier = Specifier::parse(&mut characters)?;
        let width = match specifier.width {
            Width::None => 0,
            Width::Fixed(width) => width,
            Width::Argument(position) => {
                let position = position.unwrap_or(next_argument);
                next_argument = position + 1;
                argument(arguments, position)?.as_i64().unwrap_or(0)
            }
        };
        // An explicit position also sets where the following ones go on.
        let position = specifier.position.unwrap_or(next_argument);
        next_argument = position + 1;
        let value = argument(arguments, position)?;
        let ty = site.arguments.get(position).copied().unwrap_or(ColumnType::TEXT);
        let shown = specifier.show(settings, value, ty)?;
        // A negative width turns the value to the left.
        let left = specifier.left || width < 0;
        let padding = (width.unsigned_abs() as usize).saturating_sub(char_count(&shown)?);
        work::make_room(&mut out, padding)?;
        if !left {
            append_repeated(&mut out, " ", padding)?;
        }
        work::grow(&mut out, &shown)?;
        if left {
            work::make_room(&mut out, padding)?;
            append_repeated(&mut out, " ", padding)?;
        }
    }
    Ok(Datum::from(out))
}

fn argument(arguments: &[Datum], position: usize) -> SqlResult<&Datum> {
    arguments
        .get(position)
        .ok_or_else(|| SqlError::new(state::INVALID_PARAMETER_VALUE, "too few arguments for format()"))
}

enum Width {
    None,
    Fixed(i64),
    /// `*` or `*n$`.
    Argument(Option<usize>),
}

/// One `%` of a template: `%[position$][-][width]conversion`.
struct Specifier {
    position: Option<usize>,
    left: bool,
    width: Width,
    conversion: char,
}

impl Specifier {
    fn parse(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> SqlResult<Specifier> {
        let invalid = |message: &str| SqlError::new(state::INVALID_PARAMETER_VALUE, message);
        let unterminated =
            || invalid("unterminated format() type specifier").hint("For a single \"%\" use \"%%\".");
        let mut specifier = Specifier {
            position: None,
            left: false,
            width: Width::None,
            conversion: 's',
        };
        // A position if `$` follows, else the width already.
        let number = digits(characters);
        match (number, characters.peek()) {
            (Some(number), Some('$')) => {
                characters.next();
                if number == 0 {
                    return Err(invalid(
                        "format specifies argument 0, but arguments are numbered from 1",
                    ));
                }
                specifier.position = Some(number as usize);
            }
            (Some(number), _) => specifier.width = Width::Fixed(number),
            (None, _) => {}
        }
        while characters.peek() == Some(&'-') {
            characters.next();
            specifier.left = true;
        }
        if characters.peek() == Some(&'*') {
            characters.next();
            let position = digits(characters);
            if position == Some(0) {
                return Err(invalid(
                    "format specifies argument 0, but arguments are numbered from 1",
                ));
            }
            if position.is_some() && characters.next() != Some('$') {
                return Err(invalid("width argument position must be ended by \"$\""));
            }
            specifier.width = Width::Argument(position.map(|position| position as usize));
        } else if let Some(width) = digits(characters) {
            specifier.width = Width::Fixed(width);
        }
        specifier.conversion = characters.next().ok_or_else(unterminated)?;
        if !matches!(specifier.conversion, 's' | 'I' | 'L') {
            let message = format!(
                "unrecognized format() type specifier \"{}\"",
                specifier.conversion
            );
            return Err(invalid(&message).hint("For a single \"%\" use \"%%\"."));
        }
        Ok(specifier)
    }

    /// The value as the conversion wants it: plain, as an identifier, as a literal.
    fn show(&self, settings: &FormatSettings, value: &Datum, ty: ColumnType) -> SqlResult<CompactString> {
        if value.is_null() {
            return match self.conversion {
                's' => Ok(CompactString::default()),
                'L' => Ok(CompactString::const_new("NULL")),
                _ => Err(SqlError::new(
                    state::NULL_VALUE_NOT_ALLOWED,
                    "null values cannot be formatted as an SQL identifier",
                )),
            };
        }
        let shown = if ty.oid == oid::BOOL {
            CompactString::const_new(if value.as_bool() == Some(true) { "t" } else { "f" })
        } else {
            as_text(settings, value, ty)?
        };
        Ok(match self.conversion {
            's' => shown,
            'I' => identifier(&shown).into(),
            _ => text(&quoted(&shown)?).into(),
        })
    }
}

/// The number that comes next, saturating; None: no digit comes.
fn digits(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<i64> {
    let mut number = None;
    while let Some(digit) = characters.peek().and_then(|c| c.to_digit(10)) {
        characters.next();
        number = Some(
            number
                .unwrap_or(0i64)
                .saturating_mul(10)
                .saturating_add(digit as i64),
        );
    }
    number
}
