//! Rows in text and binary form: `(1,"a b",)`, and a count with type, length and bytes of each field.
//!
//! A row of a composite type is read with the attributes that the type has now; a `record` has no type that could say how
//! to read its text.
//! Leaves out: stored rows (`storage`).

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

use super::text::{input_text, output_text};
use crate::catalog::ColumnType;
use crate::catalog::user::row_type;
use crate::datum::{Datum, Record, RowType};
use crate::settings::FormatSettings;

/// The attributes of a composite type; an error where there is no catalog at hand.
pub(super) fn attributes(ty: ColumnType) -> SqlResult<Arc<RowType>> {
    row_type(ty.oid).ok_or_else(|| {
        SqlError::new(
            state::UNDEFINED_OBJECT,
            format!("type {} does not exist", ty.name()),
        )
    })
}

pub(super) fn row(ty: Arc<RowType>, fields: Vec<Datum>) -> Datum {
    Datum::Record(Box::new(Record { ty, fields }))
}

/// Reads the text form of a row of a composite type.
pub(super) fn parse(ty: ColumnType, text: &str, settings: &FormatSettings) -> SqlResult<Datum> {
    let row_type = attributes(ty)?;
    let malformed = |detail: &str| {
        SqlError::new(
            state::INVALID_TEXT_REPRESENTATION,
            format!("malformed record literal: \"{text}\""),
        )
        .detail(detail.to_owned())
    };
    let mut rest = text.trim_ascii_start();
    rest = rest
        .strip_prefix('(')
        .ok_or_else(|| malformed("Missing left parenthesis."))?;
    let mut fields = Vec::with_capacity(row_type.types.len());
    for (position, ty) in row_type.types.iter().enumerate() {
        if position > 0 {
            rest = rest
                .strip_prefix(',')
                .ok_or_else(|| malformed("Too few columns."))?;
        }
        if rest.starts_with([',', ')']) {
            fields.push(Datum::Null);
            continue;
        }
        let (field, after) =
            unquoted(rest, &[',', ')']).ok_or_else(|| malformed("Unexpected end of input."))?;
        fields.push(input_text(*ty, &field, settings)?);
        rest = after;
    }
    rest = rest
        .strip_prefix(')')
        .ok_or_else(|| malformed("Too many columns."))?;
    if !rest.trim_ascii_start().is_empty() {
        return Err(malformed("Junk after right parenthesis."));
    }
    Ok(row(row_type, fields))
}

/// The text up to one of the characters that end a field, without its quotes, and what follows it; None if the text ends
/// within. A bound of a range is written in the same way.
pub(super) fn unquoted<'t>(text: &'t str, ends: &[char]) -> Option<(String, &'t str)> {
    let mut field = String::new();
    let mut quoted = false;
    let mut characters = text.char_indices().peekable();
    loop {
        let (at, character) = characters.next()?;
        match character {
            end if !quoted && ends.contains(&end) => return Some((field, &text[at..])),
            '\\' => field.push(characters.next()?.1),
            '"' if quoted && characters.next_if(|(_, next)| *next == '"').is_some() => field.push('"'),
            '"' => quoted = !quoted,
            other => field.push(other),
        }
    }
}

/// Appends `(1,"a b",)`: NULL is nothing, quotes and backslashes are doubled.
pub(super) fn write(record: &Record, settings: &FormatSettings, out: &mut Vec<u8>) {
    out.push(b'(');
    for (slot, (field, ty)) in record.fields.iter().zip(&record.ty.types).enumerate() {
        if slot > 0 {
            out.push(b',');
        }
        if field.is_null() {
            continue;
        }
        let start = out.len();
        output_text(field, *ty, settings, out);
        quote_from(start, b"(),", out);
    }
    out.push(b')');
}

/// Puts what has been written since `start` between quotes, if it is empty or has a special character.
pub(super) fn quote_from(start: usize, special: &[u8], out: &mut Vec<u8>) {
    let value = &out[start..];
    let is_special =
        |byte: &u8| matches!(byte, b'"' | b'\\' | b' ' | b'\t'..=b'\r') || special.contains(byte);
    if !value.is_empty() && !value.iter().any(is_special) {
        return;
    }
    let value = value.to_vec();
    out.truncate(start);
    out.push(b'"');
    for byte in value {
        if matches!(byte, b'"' | b'\\') {
            out.push(byte);
        }
        out.push(byte);
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::unquoted;

    #[test]
    fn a_field_ends_outside_of_quotes() {
        let read = |text| unquoted(text, &[',', ')']).map(|(field, rest)| (field, rest.to_owned()));
        let is = |field: &str, rest: &str| Some((field.to_owned(), rest.to_owned()));
        assert_eq!(read("a b,c)"), is("a b", ",c)"));
        assert_eq!(read("\"a,\"\"b\\\\\" c)x"), is("a,\"b\\ c", ")x"));
        assert_eq!(read("\"\")"), is("", ")"));
        assert_eq!(read("\"a)"), None);
        assert_eq!(read("a\\"), None);
    }
}
