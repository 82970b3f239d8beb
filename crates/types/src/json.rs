//! JSON: a strict parser that serves both types, and the tree behind `jsonb`.
//!
//! `json` keeps its text and is only checked (`check_text`). `jsonb` keeps a tree: object keys are unique (the last
//! one wins) and ordered by length, then bytes; numbers are `numeric`. Nesting is limited, since parser and printer
//! recurse. Leaves out: operators and functions on documents.

use crate::numeric::Numeric;
use compact_str::CompactString;
use mote_common::error::state;
use mote_common::work::{self, Bulk, Meter};
use mote_common::{SqlError, SqlResult};
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// A `jsonb` value.
#[derive(Clone, Debug)]
pub enum Json {
    Null,
    Bool(bool),
    Number(Numeric),
    String(CompactString),
    Array(Bulk<Json>),
    /// Ordered by key length, then key bytes; keys are unique.
    Object(Bulk<(CompactString, Json)>),
}

/// Deepest nesting accepted: each level costs a stack frame of the parser.
pub const DEPTH_MAX: usize = 512;

impl Json {
    /// Reads one document.
    pub fn parse(text: &str) -> SqlResult<Json> {
        Parser::new(text, true).document()
    }

    /// Makes an object of pairs in any order; of equal keys the last wins.
    pub fn object(mut pairs: Vec<(CompactString, Json)>) -> Json {
        // Stable, so the last of equal keys stays last and survives below.
        pairs.sort_by(|a, b| key_order(&a.0, &b.0));
        let mut kept: Vec<(CompactString, Json)> = Vec::with_capacity(pairs.len());
        for pair in pairs {
            match kept.last_mut() {
                Some(last) if last.0 == pair.0 => *last = pair,
                _ => kept.push(pair),
            }
        }
        Json::Object(kept.into())
    }

    /// The member of an object.
    pub fn get(&self, key: &str) -> Option<&Json> {
        let Json::Object(pairs) = self else { return None };
        Json::find(pairs, key).ok().map(|slot| &pairs[slot].1)
    }

    /// Where the member of this key is among the members of an object; Err: where it would be.
    pub fn find(members: &[(CompactString, Json)], key: &str) -> Result<usize, usize> {
        members.binary_search_by(|member| key_order(&member.0, key))
    }

    /// How many arrays and objects stand inside each other at most; a scalar is 0 deep.
    pub fn depth(&self) -> SqlResult<usize> {
        self.depth_metered(&mut Meter::default())
    }

    fn depth_metered(&self, meter: &mut Meter) -> SqlResult<usize> {
        let mut deepest = 0;
        match self {
            Json::Array(items) => {
                for item in items {
                    meter.tick(ITEM_COST)?;
                    deepest = deepest.max(item.depth_metered(meter)?);
                }
            }
            Json::Object(pairs) => {
                for (_, value) in pairs {
                    meter.tick(ITEM_COST)?;
                    deepest = deepest.max(value.depth_metered(meter)?);
                }
            }
            _ => return Ok(0),
        }
        Ok(deepest + 1)
    }

    /// Refuses what would be `depth` levels deep where that is deeper than a document can be read back.
    pub fn check_depth(depth: usize) -> SqlResult<()> {
        match depth > DEPTH_MAX {
            true => Err(nests_too_deep()),
            false => Ok(()),
        }
    }

    /// Whether it has many members or a long string, at the top level at least.
    pub fn is_long(&self) -> bool {
        match self {
            Json::Array(items) => items.len() >= 256 || matches!(&items[..], [only] if only.is_long()),
            Json::Object(pairs) => pairs.len() >= 256 || matches!(&pairs[..], [only] if only.1.is_long()),
            Json::String(value) => value.len() >= work::GRAIN_BYTES,
            _ => false,
        }
    }

    /// A copy that is paid for.
    pub fn try_clone(&self) -> SqlResult<Json> {
        self.clone_metered(&mut Meter::default())
    }

    fn clone_metered(&self, meter: &mut Meter) -> SqlResult<Json> {
        Ok(match self {
            Json::String(value) => Json::String(copy_text(value, meter)?),
            Json::Array(items) => {
                let mut copies = work::list(items.len())?;
                for item in items {
                    meter.tick(ITEM_COST)?;
                    copies.push(item.clone_metered(meter)?);
                }
                Json::Array(copies.into())
            }
            Json::Object(pairs) => {
                let mut copies = work::list(pairs.len())?;
                for (key, value) in pairs {
                    meter.tick(ITEM_COST)?;
                    copies.push((copy_text(key, meter)?, value.clone_metered(meter)?));
                }
                Json::Object(copies.into())
            }
            plain => plain.clone(),
        })
    }

    /// Appends the text form `jsonb` prints: one blank behind `:` and `,`. Cannot fail: others run meanwhile, and what
    /// ends the statement is met behind it.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut meter = Meter::default();
        let passed: SqlResult<()> = self.write_paid(out, &mut |units| {
            meter.pass(units);
            Ok(())
        });
        passed.expect("nobody refuses what is passed");
    }

    /// The same, ended when the statement is.
    pub fn try_write(&self, out: &mut Vec<u8>) -> SqlResult<()> {
        let mut meter = Meter::default();
        self.write_paid(out, &mut |units| meter.tick(units))
    }

    fn write_paid(&self, out: &mut Vec<u8>, pay: Pay<'_>) -> SqlResult<()> {
        match self {
            Json::Null => out.extend_from_slice(b"null"),
            Json::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
            Json::Number(value) => value.write(out),
            Json::String(value) => return write_quoted_paid(value, out, pay),
            Json::Array(items) => {
                out.push(b'[');
                for (slot, item) in items.iter().enumerate() {
                    if slot > 0 {
                        out.extend_from_slice(b", ");
                    }
                    pay(ITEM_COST)?;
                    item.write_paid(out, pay)?;
                }
                out.push(b']');
            }
            Json::Object(pairs) => {
                out.push(b'{');
                for (slot, (key, value)) in pairs.iter().enumerate() {
                    if slot > 0 {
                        out.extend_from_slice(b", ");
                    }
                    pay(ITEM_COST)?;
                    write_quoted_paid(key, out, pay)?;
                    out.extend_from_slice(b": ");
                    value.write_paid(out, pay)?;
                }
                out.push(b'}');
            }
        }
        Ok(())
    }

    /// The place of its kind in the order of `jsonb`.
    pub(crate) fn rank(&self) -> u8 {
        match self {
            Json::Null => 0,
            Json::String(_) => 1,
            Json::Number(_) => 2,
            Json::Bool(_) => 3,
            Json::Array(_) => 4,
            Json::Object(_) => 5,
        }
    }

    /// The order of `jsonb`'s btree operators: by kind, then by size, then by content.
    pub fn compare(&self, other: &Json) -> Ordering {
        // PostgreSQL keeps a scalar document as an array of one, which is longer than an empty one.
        let is_empty = |json: &Json| matches!(json, Json::Array(elements) if elements.is_empty());
        let is_scalar = |json: &Json| !matches!(json, Json::Array(_) | Json::Object(_));
        match (self, other) {
            (a, b) if is_empty(a) && is_scalar(b) => return Ordering::Less,
            (a, b) if is_scalar(a) && is_empty(b) => return Ordering::Greater,
            _ => {}
        }
        self.compare_metered(other, &mut Meter::default())
    }

    fn compare_metered(&self, other: &Json, meter: &mut Meter) -> Ordering {
        meter.pass(ITEM_COST);
        match (self, other) {
            (Json::Bool(a), Json::Bool(b)) => a.cmp(b),
            (Json::Number(a), Json::Number(b)) => a.cmp(b),
            (Json::String(a), Json::String(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Json::Array(a), Json::Array(b)) => a.len().cmp(&b.len()).then_with(|| {
                let pairs = a.iter().zip(b);
                pairs
                    .map(|(x, y)| x.compare_metered(y, meter))
                    .find(|order| order.is_ne())
                    .unwrap_or(Ordering::Equal)
            }),
            (Json::Object(a), Json::Object(b)) => a.len().cmp(&b.len()).then_with(|| {
                let pairs = a.iter().zip(b);
                pairs
                    .map(|(x, y)| {
                        x.0.as_bytes()
                            .cmp(y.0.as_bytes())
                            .then_with(|| x.1.compare_metered(&y.1, meter))
                    })
                    .find(|order| order.is_ne())
                    .unwrap_or(Ordering::Equal)
            }),
            _ => self.rank().cmp(&other.rank()),
        }
    }

    pub fn hash_into<H: Hasher>(&self, state: &mut H) {
        self.rank().hash(state);
        match self {
            Json::Null => {}
            Json::Bool(value) => value.hash(state),
            Json::Number(value) => value.hash(state),
            Json::String(value) => value.as_bytes().hash(state),
            Json::Array(items) => items.iter().for_each(|item| item.hash_into(state)),
            Json::Object(pairs) => pairs.iter().for_each(|(key, value)| {
                key.as_bytes().hash(state);
                value.hash_into(state);
            }),
        }
    }

    pub fn heap_bytes(&self) -> usize {
        match self {
            Json::Array(items) => items
                .iter()
                .map(|item| size_of::<Json>() + item.heap_bytes())
                .sum(),
            Json::Object(pairs) => pairs
                .iter()
                .map(|(key, value)| size_of::<(CompactString, Json)>() + key.len() + value.heap_bytes())
                .sum(),
            Json::String(value) if value.is_heap_allocated() => value.capacity(),
            Json::Number(value) => value.heap_bytes(),
            _ => 0,
        }
    }

    /// Stored as its text: reading it back is parsing it, and the format needs no version.
    pub fn write_storage(&self, out: &mut Vec<u8>) {
        self.write(out);
    }

    pub fn read_storage(bytes: &[u8]) -> Json {
        let text = std::str::from_utf8(bytes).expect("stored jsonb is UTF-8");
        Json::parse(text).expect("stored jsonb is well formed")
    }
}

/// What handling one member or element costs besides its bytes.
const ITEM_COST: usize = 32;

/// Bytes that PostgreSQL's `jsonb` has for the length of a string.
const STRING_BYTES_MAX: usize = 0x0fff_ffff;

fn copy_text(value: &str, meter: &mut Meter) -> SqlResult<CompactString> {
    if value.len() < work::GRAIN_BYTES {
        meter.keep(value.len(), value.len())?;
        return Ok(CompactString::new(value));
    }
    let mut copy = work::text_buffer(value.len())?;
    work::grow(&mut copy, value)?;
    Ok(copy.into())
}

#[cold]
fn nests_too_deep() -> SqlError {
    let error = SqlError::new(state::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded");
    error.detail(format!("JSON nests deeper than {DEPTH_MAX} levels."))
}

#[cold]
fn string_too_long() -> SqlError {
    let message = "string too long to represent as jsonb string";
    SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, message).detail(format!(
        "Due to an implementation restriction, jsonb strings cannot exceed {STRING_BYTES_MAX} bytes."
    ))
}

fn key_order(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.as_bytes().cmp(b.as_bytes()))
}

/// Who pays for what is written, by units.
type Pay<'a> = &'a mut dyn FnMut(usize) -> SqlResult<()>;

/// Appends a string as a JSON string literal.
pub fn write_quoted(text: &str, out: &mut Vec<u8>) -> SqlResult<()> {
    work::grow_bytes(out, b"\"")?;
    for chunk in work::chunks(text.as_bytes()) {
        let chunk = chunk?;
        work::make_room_for_bytes(out, ESCAPED_BYTES_MAX * chunk.len() + 1)?;
        write_escaped(chunk, out);
    }
    work::grow_bytes(out, b"\"")
}

/// What a byte becomes at most: `\\u0001`.
const ESCAPED_BYTES_MAX: usize = 6;

fn write_quoted_paid(text: &str, out: &mut Vec<u8>, pay: Pay<'_>) -> SqlResult<()> {
    out.reserve(text.len() + 2);
    out.push(b'"');
    for chunk in text.as_bytes().chunks(work::GRAIN_BYTES) {
        pay(chunk.len())?;
        write_escaped(chunk, out);
    }
    out.push(b'"');
    Ok(())
}

fn write_escaped(bytes: &[u8], out: &mut Vec<u8>) {
    let mut plain = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[plain..at]);
        plain = at + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0c => out.extend_from_slice(b"\\f"),
            _ => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        }
    }
    out.extend_from_slice(&bytes[plain..]);
}

/// Checks that a text is one JSON document, as input of type `json` must be.
pub fn check_text(text: &str) -> SqlResult<()> {
    Parser::new(text, false).document().map(|_| ())
}

struct Parser<'a> {
    text: &'a str,
    position: usize,
    depth: usize,
    /// Build the tree; otherwise only check (and accept `\u0000`, which `jsonb` cannot hold).
    build: bool,
    meter: Meter,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, build: bool) -> Parser<'a> {
        Parser {
            text,
            position: 0,
            depth: 0,
            build,
            meter: Meter::default(),
        }
    }

    fn document(mut self) -> SqlResult<Json> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(text: &str) -> String {
        let mut out = Vec::new();
        Json::parse(text).expect(text).write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn prints_as_jsonb_does() {
        let cases = [
            (
                r#" {"bb":1,"a":[1,2.50,{"x":null}],"bb":2} "#,
                r#"{"a": [1, 2.50, {"x": null}], "bb": 2}"#,
            ),
            ("[]", "[]"),
            ("1e3", "1000"),
            (r#""\u00e9\ud83d\ude00\n\/""#, "\"\u{e9}\u{1f600}\\n/\""),
            ("true", "true"),
        ];
        for (text, expect) in cases {
            assert_eq!(printed(text), expect);
        }
    }

    #[test]
    fn rejects_what_is_not_json() {
        for text in [
            "",
            "{",
            "[1,]",
            "{\"a\"}",
            "01",
            "1.",
            "tru",
            "\"\u{1}\"",
            "\"\\x\"",
            "1 2",
            "{\"a\":1,}",
            "-",
        ] {
            assert_eq!(Json::parse(text).unwrap_err().state().as_str(), "22P02", "{text}");
            assert!(check_text(text).is_err());
        }
        assert_eq!(
            Json::parse("nope").unwrap_err().fields().detail.as_deref(),
            Some("Token \"nope\" is invalid.")
        );
        assert!(Json::parse(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn orders_kinds_as_postgresql_does() {
        let sorted = [
            // The array without elements comes first, as if it had been forgotten in the order of kinds.
            "[]",
            "null",
            "\"a\"",
            "1",
            "false",
            "true",
            "[1]",
            "[0, 0]",
            "{}",
            "{\"a\": 1}",
        ];
        for pair in sorted.windows(2) {
            let (a, b) = (Json::parse(pair[0]).unwrap(), Json::parse(pair[1]).unwrap());
            assert_eq!(a.compare(&b), Ordering::Less, "{pair:?}");
        }
    }
}
