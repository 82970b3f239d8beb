//! The forms of `hstore`: text (`"a"=>"1", "b"=>NULL`), wire, and JSON.

use super::pairs::{Pair, Pairs, of_pairs};
use crate::datum::{Datum, ELEMENT_COST};
use crate::json::{Json, write_quoted};
use mote_common::error::state;
use mote_common::work::{self, Meter};
use mote_common::{SqlError, SqlResult};

/// Most pairs that PostgreSQL takes at once.
pub const PAIRS_MAX: usize = 0x3fff_ffff / 40;

/// Reads a text form. Of a key or value without quotes everything belongs to it up to a blank; a backslash takes the
/// character behind it as it is.
pub fn parse(text: &str) -> SqlResult<Datum> {
    let mut reader = Reader {
        text,
        at: 0,
        meter: Meter::default(),
    };
    let mut found: Vec<(String, Option<String>)> = Vec::new();
    while let Some((key, _)) = reader.word(Role::Key)? {
        reader.expect_arrow()?;
        let (value, quoted) = reader.word(Role::Value)?.ok_or_else(unexpected_end)?;
        let is_null = !quoted && value.eq_ignore_ascii_case("null");
        work::push(&mut found, (key, (!is_null).then_some(value)))?;
        reader.skip_blanks()?;
        match reader.peek() {
            None => break,
            Some(',') => reader.at += 1,
            Some(_) => return Err(reader.unexpected()),
        }
    }
    of_pairs(
        found
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_deref()))
            .collect(),
    )
}

struct Reader<'t> {
    text: &'t str,
    /// In bytes.
    at: usize,
    meter: Meter,
}

/// Which sign ends a word without quotes: `=` a key, `,` a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Key,
    Value,
}

fn unexpected_end() -> SqlError {
    SqlError::new(state::INTERNAL_ERROR, "Unexpected end of string")
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t'..='\r')
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> SqlResult<Option<char>> {
        self.meter.tick(1)?;
        let next = self.peek();
        self.at += next.map_or(0, char::len_utf8);
        Ok(next)
    }

    fn skip_blanks(&mut self) -> SqlResult<()> {
        while self.peek().is_some_and(is_blank) {
            self.next()?;
        }
        Ok(())
    }

    /// At the character that comes now.
    fn unexpected(&self) -> SqlError {
        let c = self.peek().map_or(String::new(), |c| c.to_string());
        let message = format!("Syntax error near \"{c}\" at position {}", self.at);
        SqlError::new(state::INTERNAL_ERROR, message)
    }

    /// A key or value, and whether it was in quotes; None at the end.
    fn word(&mut self, role: Role) -> SqlResult<Option<(String, bool)>> {
        self.skip_blanks()?;
        let quoted = match self.peek() {
            None => return Ok(None),
            Some('=') if role == Role::Key => return Err(self.unexpected()),
            Some('"') => true,
            Some(_) => false,
        };
        let mut word = String::new();
        let mut buffer = [0; 4];
        if quoted {
            self.at += 1;
        }
        // A word of a value may begin with a comma.
        let mut is_first = true;
        loop {
            let ends = match self.peek() {
                None if quoted => return Err(unexpected_end()),
                None => true,
                Some('"') if quoted => {
                    self.at += 1;
                    return Ok(Some((word, true)));
                }
                Some(_) if quoted => false,
                Some('=') => role == Role::Key,
                Some(',') => role == Role::Value && !is_first,
                Some(c) => is_blank(c),
            };
            if ends {
                return Ok(Some((word, false)));
            }
            is_first = false;
            let c = match self.next()? {
                Some('\\') => self.next()?,
                other => other,
            };
            let c = c.ok_or_else(unexpected_end)?;
            work::grow(&mut word, c.encode_utf8(&mut buffer))?;
        }
    }

    fn expect_arrow(&mut self) -> SqlResult<()> {
        self.skip_blanks()?;
        for wanted in ['=', '>'] {
            match self.peek() {
                None => return Err(unexpected_end()),
                Some(c) if c == wanted => self.at += 1,
                Some(_) => return Err(self.unexpected()),
            }
        }
        Ok(())
    }
}

pub fn write(value: &Datum, out: &mut Vec<u8>) {
    for (position, (key, value)) in Pairs::of(value).iter().enumerate() {
        if position > 0 {
            out.extend_from_slice(b", ");
        }
        write_word(key, out);
        out.extend_from_slice(b"=>");
        match value {
            Some(value) => write_word(value, out),
            None => out.extend_from_slice(b"NULL"),
        }
    }
}

fn write_word(word: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in word.bytes() {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out.push(b'"');
}

/// The number of pairs, and each text behind its length; the length of a NULL is -1.
pub fn send(value: &Datum, out: &mut Vec<u8>) {
    let pairs = Pairs::of(value);
    out.extend_from_slice(&(pairs.len() as i32).to_be_bytes());
    for text in pairs.iter().flat_map(|(key, value)| [Some(key), value]) {
        let length = text.map_or(-1, |text| text.len() as i32);
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(text.unwrap_or_default().as_bytes());
    }
}

pub fn receive(bytes: &[u8]) -> SqlResult<Datum> {
    let mut rest = bytes;
    let count = take_number(&mut rest)?;
    if !usize::try_from(count).is_ok_and(|count| count <= PAIRS_MAX) {
        return Err(too_many(count.into()));
    }
    // Each pair has two lengths at least, of which a NULL's is all that it has.
    let mut found: Vec<Pair<'_>> = work::list((count as usize).min(rest.len() / 8))?;
    let mut meter = Meter::default();
    for _ in 0..count {
        meter.tick(ELEMENT_COST)?;
        let length = take_number(&mut rest)?;
        let key = take_text(&mut rest, usize::try_from(length).map_err(|_| null_key())?)?;
        let value = match usize::try_from(take_number(&mut rest)?) {
            Ok(length) => Some(take_text(&mut rest, length)?),
            Err(_) => None,
        };
        found.push((key, value));
    }
    if !rest.is_empty() {
        let message = "incorrect binary data format";
        return Err(SqlError::new(state::INVALID_BINARY_REPRESENTATION, message));
    }
    of_pairs(found)
}

fn take<'b>(rest: &mut &'b [u8], length: usize) -> SqlResult<&'b [u8]> {
    let missing = || SqlError::new(state::PROTOCOL_VIOLATION, "insufficient data left in message");
    let (front, behind) = rest.split_at_checked(length).ok_or_else(missing)?;
    *rest = behind;
    Ok(front)
}

fn take_number(rest: &mut &[u8]) -> SqlResult<i32> {
    let bytes = take(rest, 4)?;
    Ok(i32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

fn take_text<'b>(rest: &mut &'b [u8], length: usize) -> SqlResult<&'b str> {
    let text = std::str::from_utf8(take(rest, length)?).ok();
    text.filter(|text| !text.contains('\0')).ok_or_else(|| {
        let message = "invalid byte sequence for encoding \"UTF8\"";
        SqlError::new(state::CHARACTER_NOT_IN_REPERTOIRE, message)
    })
}

pub fn too_many(count: i64) -> SqlError {
    let message = format!("number of pairs ({count}) exceeds the maximum allowed ({PAIRS_MAX})");
    SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, message)
}

pub fn null_key() -> SqlError {
    SqlError::new(
        state::NULL_VALUE_NOT_ALLOWED,
        "null value not allowed for hstore key",
    )
}

/// As an object of JSON. `loose`: what looks like a number or a boolean becomes one.
pub fn to_json(value: &Datum, loose: bool) -> SqlResult<String> {
    let mut out = work::bytes_buffer(2)?;
    let mut meter = Meter::default();
    out.push(b'{');
    for (position, (key, value)) in Pairs::of(value).iter().enumerate() {
        meter.tick(ELEMENT_COST)?;
        if position > 0 {
            work::grow_bytes(&mut out, b", ")?;
        }
        write_quoted(key, &mut out)?;
        work::grow_bytes(&mut out, b": ")?;
        match value {
            None => work::grow_bytes(&mut out, b"null")?,
            Some("t") if loose => work::grow_bytes(&mut out, b"true")?,
            Some("f") if loose => work::grow_bytes(&mut out, b"false")?,
            Some(number) if loose && is_number(number) => work::grow_bytes(&mut out, number.as_bytes())?,
            Some(text) => write_quoted(text, &mut out)?,
        }
    }
    work::grow_bytes(&mut out, b"}")?;
    String::from_utf8(out).map_err(|_| SqlError::internal("JSON of texts is a text"))
}

/// A number as JSON writes it, without blanks around it.
fn is_number(text: &str) -> bool {
    let begins = text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    let ends = text.ends_with(|c: char| c.is_ascii_digit());
    begins && ends && matches!(Json::parse(text), Ok(Json::Number(_)))
}
