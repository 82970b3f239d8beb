//! Text to tree: a strict parser, which serves `json` (checked only) and `jsonb` (built), with PostgreSQL's errors
//! (src/common/jsonapi.c). It recurses, so nesting is limited.

use super::{ITEM_COST, Json, STRING_BYTES_MAX, copy_text, string_too_long};
use crate::numeric::Numeric;
use compact_str::CompactString;
use mote_common::error::state;
use mote_common::work::{self, Meter};
use mote_common::{SqlError, SqlResult};

/// Checks that a text is one JSON document, as input of type `json` must be.
pub fn check_text(text: &str) -> SqlResult<()> {
    Parser::new(text, false).document().map(|_| ())
}

pub(super) struct Parser<'a> {
    text: &'a str,
    position: usize,
    depth: usize,
    /// Build the tree; otherwise only check (and accept `\u0000`, which `jsonb` cannot hold).
    build: bool,
    meter: Meter,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, build: bool) -> Parser<'a> {
        Parser {
            text,
            position: 0,
            depth: 0,
            build,
            meter: Meter::default(),
        }
    }

    pub(super) fn document(mut self) -> SqlResult<Json> {
        let value = self.value()?;
        match self.peek() {
            None => Ok(value),
            Some(_) => Err(self.expected("Expected end of input, but found")),
        }
    }

    /// The next byte behind blanks.
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(self.position), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.position += 1;
        }
        bytes.get(self.position).copied()
    }

    fn value(&mut self) -> SqlResult<Json> {
        match self.peek() {
            Some(b'{') => self.nested(Parser::members),
            Some(b'[') => self.nested(Parser::items),
            Some(b'"') => Ok(Json::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => self.word(),
            None => Err(self.error("The input string ended unexpectedly.".to_owned())),
        }
    }

    fn nested(&mut self, inner: fn(&mut Self) -> SqlResult<Json>) -> SqlResult<Json> {
        self.depth += 1;
        Json::check_depth(self.depth)?;
        self.position += 1;
        let value = inner(self);
        self.depth -= 1;
        value
    }

    fn items(&mut self) -> SqlResult<Json> {
        let mut items = Vec::new();
        if self.peek() == Some(b']') {
            self.position += 1;
            return Ok(Json::Array(items.into()));
        }
        loop {
            let item = self.value()?;
            self.meter.tick(ITEM_COST)?;
            if self.build {
                work::push(&mut items, item)?;
            }
            match self.peek() {
                Some(b',') => self.position += 1,
                Some(b']') => {
                    self.position += 1;
                    return Ok(Json::Array(items.into()));
                }
                _ => return Err(self.expected("Expected \",\" or \"]\", but found")),
            }
        }
    }

    fn members(&mut self) -> SqlResult<Json> {
        let mut pairs = Vec::new();
        let mut any = false;
        if self.peek() == Some(b'}') {
            self.position += 1;
            return Ok(Json::Object(pairs.into()));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.expected(if !any {
                    "Expected string or \"}\", but found"
                } else {
                    "Expected string, but found"
                }));
            }
            let key = self.string()?;
            if self.peek() != Some(b':') {
                return Err(self.expected("Expected \":\", but found"));
            }
            self.position += 1;
            let value = self.value()?;
            self.meter.tick(ITEM_COST)?;
            if self.build {
                work::push(&mut pairs, (key, value))?;
            }
            any = true;
            match self.peek() {
                Some(b',') => self.position += 1,
                Some(b'}') => {
                    self.position += 1;
                    return Ok(if self.build {
                        Json::object(pairs)
                    } else {
                        Json::Null
                    });
                }
                _ => return Err(self.expected("Expected \",\" or \"}\", but found")),
            }
        }
    }

    fn word(&mut self) -> SqlResult<Json> {
        let rest = &self.text[self.position..];
        for (word, value) in [
            ("true", Json::Bool(true)),
            ("false", Json::Bool(false)),
            ("null", Json::Null),
        ] {
            if self.token() == word {
                self.position += word.len();
                return Ok(value);
            }
        }
        let is_word = rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        if is_word {
            return Err(self.error(format!("Token \"{}\" is invalid.", self.token())));
        }
        Err(self.expected("Expected JSON value, but found"))
    }

    fn number(&mut self) -> SqlResult<Json> {
        let bytes = self.text.as_bytes();
        let start = self.position;
        let mut at = start + (bytes[start] == b'-') as usize;
        let digits = |at: &mut usize| {
            let first = *at;
            while bytes.get(*at).is_some_and(u8::is_ascii_digit) {
                *at += 1;
            }
            *at > first
        };
        let mut good = if bytes.get(at) == Some(&b'0') {
            at += 1;
            true
        } else {
            digits(&mut at)
        };
        if good && bytes.get(at) == Some(&b'.') {
            at += 1;
            good = digits(&mut at);
        }
        if good && matches!(bytes.get(at), Some(b'e' | b'E')) {
            at += 1;
            if matches!(bytes.get(at), Some(b'+' | b'-')) {
                at += 1;
            }
            good = digits(&mut at);
        }
        let followed = self.text[at..].starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.');
        if !good || followed {
            return Err(self.error(format!("Token \"{}\" is invalid.", self.token())));
        }
        self.position = at;
        if !self.build {
            return Ok(Json::Null);
        }
        Ok(Json::Number(Numeric::parse(&self.text[start..at])?))
    }

    fn string(&mut self) -> SqlResult<CompactString> {
        self.position += 1;
        let bytes = self.text.as_bytes();
        let mut out = String::new();
        // Whether anything but a plain run up to the closing quote was met.
        let mut pieces = 0;
        loop {
            let start = self.position;
            let rest = &bytes[start..];
            for chunk in rest.chunks(work::GRAIN_BYTES) {
                let plain = chunk.iter().position(|&b| b < 0x20 || b == b'"' || b == b'\\');
                self.position += plain.unwrap_or(chunk.len());
                if plain.is_some() {
                    break;
                }
                work::spend(chunk.len())?;
            }
            let plain = &self.text[start..self.position];
            if self.build && out.len() + plain.len() > STRING_BYTES_MAX {
                return Err(string_too_long());
            }
            self.meter.tick(plain.len())?;
            pieces += 1;
            if pieces == 1 && bytes.get(self.position) == Some(&b'"') {
                self.position += 1;
                return match self.build {
                    true => copy_text(plain, &mut self.meter),
                    false => Ok(CompactString::default()),
                };
            }
            if self.build {
                work::grow(&mut out, plain)?;
            }
            match bytes.get(self.position) {
                Some(b'"') => {
                    self.position += 1;
                    return Ok(out.into());
                }
                Some(b'\\') => {
                    let escaped = self.escape()?;
                    if self.build {
                        work::grow(&mut out, escaped.encode_utf8(&mut [0; 4]))?;
                    }
                }
                Some(byte) => {
                    let detail = format!("Character with value 0x{byte:02x} must be escaped.");
                    return Err(self.error(detail));
                }
                None => {
                    return Err(self.error(format!(
                        "Token \"{}\" is invalid.",
                        &self.text[start.saturating_sub(1)..]
                    )));
                }
            }
        }
    }

    fn escape(&mut self) -> SqlResult<char> {
        let code = self.text.as_bytes().get(self.position + 1).copied();
        self.position += 2;
        Ok(match code {
            Some(byte @ (b'"' | b'\\' | b'/')) => byte as char,
            Some(b'b') => '\x08',
            Some(b'f') => '\x0c',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            _ => {
                let rest = self.text.get(self.position - 1..).unwrap_or("");
                let shown: String = rest.chars().take(1).collect();
                return Err(self.error(format!("Escape sequence \"\\{shown}\" is invalid.")));
            }
        })
    }

    fn unicode_escape(&mut self) -> SqlResult<char> {
        let first = self.hex4()?;
        if first == 0 && self.build {
            let error = SqlError::new(
                state::UNTRANSLATABLE_CHARACTER,
                "unsupported Unicode escape sequence",
            );
            let error = error.detail("\\u0000 cannot be converted to text.");
            return Err(error.context(self.context(self.position)));
        }
        if !self.build {
            // The text type `json` leaves surrogates unpaired; the character is only a stand-in.
            return Ok(char::REPLACEMENT_CHARACTER);
        }
        if (0xdc00..0xe000).contains(&first) {
            return Err(self.lone_surrogate(self.position));
        }
        if !(0xd800..0xdc00).contains(&first) {
            return Ok(char::from_u32(first).expect("not a surrogate"));
        }
        let rest = &self.text[self.position..];
        if !rest.starts_with("\\u") {
            let shown = rest.chars().next().map_or(0, char::len_utf8);
            return Err(self.lone_surrogate(self.position + shown));
        }
        self.position += 2;
        let second = self.hex4()?;
        if !(0xdc00..0xe000).contains(&second) {
            return Err(self.lone_surrogate(self.position));
        }
        let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        Ok(char::from_u32(code).expect("a surrogate pair is a code point"))
    }

    fn hex4(&mut self) -> SqlResult<u32> {
        let digits = self.text.get(self.position..self.position + 4);
        let digits = digits.filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        let Some(digits) = digits else {
            // The message shows the text up to what is no digit.
            let rest = &self.text[self.position..];
            let bad = rest.find(|c: char| !c.is_ascii_hexdigit());
            self.position += bad.unwrap_or(rest.len());
            return Err(self.error("\"\\u\" must be followed by four hexadecimal digits.".to_owned()));
        };
        self.position += 4;
        Ok(u32::from_str_radix(digits, 16).expect("checked as hexadecimal"))
    }

    /// What stands at the position: a word, or one character.
    fn token(&self) -> &'a str {
        let rest = &self.text[self.position..];
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '+' | '.');
        let length = match rest.find(|c| !is_word(c)) {
            Some(0) => rest.chars().next().map_or(0, char::len_utf8),
            Some(length) => length,
            None => rest.len(),
        };
        &rest[..length]
    }

    fn expected(&self, what: &str) -> SqlError {
        match self.token() {
            "" => self.error("The input string ended unexpectedly.".to_owned()),
            token if !is_token(token) => self.error(format!("Token \"{token}\" is invalid.")),
            token => self.error(format!("{what} \"{token}\".")),
        }
    }

    fn error(&self, detail: String) -> SqlError {
        self.error_shown_to(self.position + self.token().len(), detail)
    }

    fn lone_surrogate(&self, end: usize) -> SqlError {
        self.error_shown_to(
            end,
            "Unicode low surrogate must follow a high surrogate.".to_owned(),
        )
    }

    fn error_shown_to(&self, end: usize, detail: String) -> SqlError {
        let error = SqlError::new(
            state::INVALID_TEXT_REPRESENTATION,
            "invalid input syntax for type json",
        );
        error.detail(detail).context(self.context(end))
    }

    /// The line up to `end`.
    fn context(&self, end: usize) -> String {
        let end = end.min(self.text.len());
        let line_start = self.text[..self.position.min(end)]
            .rfind('\n')
            .map_or(0, |at| at + 1);
        let line = self.text[..line_start].matches('\n').count() + 1;
        let rest = if end < self.text.len() { "..." } else { "" };
        format!("JSON data, line {line}: {}{rest}", &self.text[line_start..end])
    }
}

/// Is a piece of text one of JSON's tokens, wherever it may stand?
fn is_token(text: &str) -> bool {
    let first = text.bytes().next();
    let begins_one = first.is_some_and(|byte| {
        matches!(
            byte,
            b'{' | b'}' | b'[' | b']' | b',' | b':' | b'"' | b'-' | b'0'..=b'9'
        )
    });
    begins_one || matches!(text, "true" | "false" | "null")
}
