//! Tokens of a path. The longest reading wins; of equally long ones a number before a word.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A word without quotes; keywords are words, since each may also be a key.
    Word(Box<str>),
    String(Box<str>),
    Variable(Box<str>),
    Integer(Box<str>),
    /// A number that is no integer.
    Decimal(Box<str>),
    /// `$`, `@`, brackets, and operators of one or two characters.
    Sign(&'static str),
    End,
}

pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// The end of the last token as PostgreSQL's scanner shows it in messages.
    shown: &'a str,
}

const SIGNS: [&str; 31] = [
    "&&", "||", "!=", "<>", "<=", ">=", "==", "**", "<", ">", "!", "?", "%", "$", ".", "[", "]", "{", "}",
    "(", ")", "|", "&", "=", "@", "#", ",", "*", ":", "-", "+",
];

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c)
}

fn is_special(byte: u8) -> bool {
    byte == b'/' || b"?%$.[]{}()|&!=<>@#,*:-+".contains(&byte)
}

/// Neither special nor blank, and neither quote nor backslash.
fn is_other(byte: u8) -> bool {
    !is_special(byte) && !is_blank(byte) && byte != b'"' && byte != b'\\'
}

fn syntax(message: &str, shown: &str) -> SqlError {
    let message = match shown.is_empty() {
        true => format!("{message} at end of jsonpath input"),
        false => format!("{message} at or near \"{shown}\" of jsonpath input"),
    };
    SqlError::new(state::SYNTAX_ERROR, message)
}

fn surrogates(detail: &str) -> SqlError {
    SqlError::new(
        state::INVALID_TEXT_REPRESENTATION,
        "invalid input syntax for type jsonpath",
    )
    .detail(detail)
}

fn digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn integer(bytes: &[u8]) -> usize {
    match bytes.first() {
        Some(b'0') => 1,
        _ => digits(bytes),
    }
}

/// The length of `1.5`, `1.` or `.5`, 0 where there is none.
fn decimal(bytes: &[u8]) -> usize {
    let whole = integer(bytes);
    if bytes.get(whole) != Some(&b'.') {
        return 0;
    }
    let fraction = digits(&bytes[whole + 1..]);
    if whole + fraction == 0 {
        0
    } else {
        whole + 1 + fraction
    }
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Scanner<'a> {
        Scanner {
            text,
            at: 0,
            shown: "",
        }
    }

    /// "syntax error" at the token that was read last.
    pub(super) fn unexpected(&self) -> SqlError {
        syntax("syntax error", self.shown)
    }

    pub(super) fn next(&mut self) -> SqlResult<Token> {
        loop {
            self.take_while(is_blank);
            let rest = self.rest();
            let Some(&first) = rest.as_bytes().first() else {
                self.shown = "";
                return Ok(Token::End);
            };
            if rest.starts_with("/*") {
                self.comment()?;
                continue;
            }
            if first == b'"' {
                self.at += 1;
                return self.quoted().map(Token::String);
            }
            if first == b'$' {
                if rest.as_bytes().get(1) == Some(&b'"') {
                    self.at += 2;
                    return self.quoted().map(Token::Variable);
                }
                if rest.as_bytes().get(1).copied().is_some_and(is_other) {
                    self.at += 1;
                    let name = self.take_while(is_other);
                    self.shown = &self.text[self.at - name.len() - 1..self.at];
                    return Ok(Token::Variable(name.into()));
                }
            }
            if let Some(number) = self.number()? {
                return Ok(number);
            }
            if first == b'/' {
                self.at += 1;
                self.shown = "/";
                return Ok(Token::Sign("/"));
            }
            if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                self.at += sign.len();
                self.shown = sign;
                return Ok(Token::Sign(sign));
            }
            if let Some(word) = self.word()? {
                return Ok(word);
            }
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn take_while(&mut self, belongs: fn(u8) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.bytes().take_while(|byte| belongs(*byte)).count();
        self.at += length;
        &rest[..length]
    }

    fn comment(&mut self) -> SqlResult<()> {
        match self.rest()[2..].find("*/") {
            Some(length) => {
                self.at += 2 + length + 2;
                Ok(())
            }
            None => Err(syntax("unexpected end of comment", "")),
        }
    }

    /// A number, if none of the other readings is longer.
    fn number(&mut self) -> SqlResult<Option<Token>> {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let (integer, decimal) = (integer(bytes), decimal(bytes));
        let mantissa = integer.max(decimal);
        if mantissa == 0 {
            return Ok(None);
        }
        // An exponent may follow the integer as well as the decimal: the longer mantissa that has one counts.
        let exponent = |mantissa: usize| {
            let tail = &bytes[mantissa..];
            if mantissa == 0 || !matches!(tail.first(), Some(b'e' | b'E')) {
                return (0, 0);
            }
            let sign = usize::from(matches!(tail.get(1), Some(b'+' | b'-')));
            match digits(&tail[1 + sign..]) {
                0 if sign == 1 => (0, mantissa + 2),
                0 => (0, 0),
                count => (mantissa + 1 + sign + count, 0),
            }
        };
        let (of_integer, of_decimal) = (exponent(integer), exponent(decimal));
        let real = of_integer.0.max(of_decimal.0);
        let failed = of_integer.1.max(of_decimal.1);
        let word = bytes.iter().take_while(|byte| is_other(**byte)).count();
        let junk = |length: usize| match bytes.get(length).copied() {
            Some(byte) if length > 0 && is_other(byte) => length + 1,
            _ => 0,
        };
        let junk = junk(integer).max(junk(decimal)).max(junk(real));
        let number = real.max(mantissa);
        let longest = number.max(failed).max(junk).max(word);
        if longest == number {
            self.at += number;
            self.shown = &rest[..number];
            let text: Box<str> = rest[..number].into();
            return Ok(Some(match number == integer {
                true => Token::Integer(text),
                false => Token::Decimal(text),
            }));
        }
        if longest == failed {
            return Err(syntax("invalid numeric literal", &rest[..failed]));
        }
        if longest == junk {
            let end = (junk..).find(|end| rest.is_char_boundary(*end)).unwrap_or(junk);
            return Err(syntax("trailing junk after numeric literal", &rest[..end]));
        }
        Ok(None)
    }

    /// A word; None where a comment swallows it.
    fn word(&mut self) -> SqlResult<Option<Token>> {
        let mut word = String::new();
        loop {
            word.push_str(self.take_while(is_other));
            let rest = self.rest();
            match rest.as_bytes().first() {
                None => {
                    self.shown = "";
                    break;
                }
                Some(b'\\') => self.escape(&mut word)?,
                Some(b'/') if rest.starts_with("/*") => {
                    self.comment()?;
                    return Ok(None);
                }
                Some(byte) if is_blank(*byte) => {
                    self.shown = self.take_while(is_blank);
                    break;
                }
                Some(_) => {
                    self.shown = "";
                    break;
                }
            }
        }
        Ok(Some(Token::Word(word.into())))
    }

    /// The rest of a string in quotes.
    fn quoted(&mut self) -> SqlResult<Box<str>> {
        let mut string = String::new();
        loop {
            string.push_str(self.take_while(|byte| byte != b'"' && byte != b'\\'));
            match self.rest().as_bytes().first() {
                None => return Err(syntax("unexpected end of quoted string", "")),
                Some(b'"') => {
                    self.at += 1;
                    self.shown = "\"";
                    return Ok(string.into());
                }
                Some(_) => self.escape(&mut string)?,
            }
        }
    }

    /// A backslash and what it stands for.
    fn escape(&mut self, out: &mut String) -> SqlResult<()> {
        let rest = self.rest();
        let Some(escaped) = rest[1..].chars().next() else {
            return Err(syntax("unexpected end after backslash", "\\"));
        };
        let plain = match escaped {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'x' => return self.hexadecimal(out),
            'u' => return self.unicode(out),
            other => other,
        };
        out.push(plain);
        self.at += 1 + escaped.len_utf8();
        Ok(())
    }

    fn hexadecimal(&mut self, out: &mut String) -> SqlResult<()> {
        let rest = self.rest();
        let count = rest
            .bytes()
            .skip(2)
            .take(2)
            .take_while(u8::is_ascii_hexdigit)
            .count();
        if count < 2 {
            return Err(syntax("invalid hex character sequence", &rest[..2 + count]));
        }
        let code = u32::from_str_radix(&rest[2..4], 16).unwrap_or_default();
        push_code(code, out)?;
        self.at += 4;
        Ok(())
    }

    /// All `\u` that follow each other: two may be one character.
    fn unicode(&mut self, out: &mut String) -> SqlResult<()> {
        let start = self.at;
        let mut high: Option<u32> = None;
        while self.rest().starts_with("\\u") {
            let (code, length) = unicode_escape(self.rest())
                .map_err(|length| syntax("invalid unicode sequence", &self.text[start..self.at + length]))?;
            self.at += length;
            match (high, code) {
                (Some(_), 0xD800..=0xDBFF) => {
                    return Err(surrogates(
                        "Unicode high surrogate must not follow a high surrogate.",
                    ));
                }
                (None, 0xD800..=0xDBFF) => high = Some(code),
                (Some(first), 0xDC00..=0xDFFF) => {
                    high = None;
                    push_code(0x10000 + ((first & 0x3FF) << 10) + (code & 0x3FF), out)?;
                }
                (Some(_), _) | (None, 0xDC00..=0xDFFF) => return Err(low_without_high()),
                (None, code) => push_code(code, out)?,
            }
        }
        match high {
            Some(_) => Err(low_without_high()),
            None => Ok(()),
        }
    }
}

fn low_without_high() -> SqlError {
    surrogates("Unicode low surrogate must follow a high surrogate.")
}

/// `\u1234` or `\u{12345}`: its code and length. What is none tells how much of it could have been one.
fn unicode_escape(text: &str) -> Result<(u32, usize), usize> {
    let braced = text[2..].starts_with('{');
    let start = 2 + usize::from(braced);
    let most = if braced { 6 } else { 4 };
    let count = text
        .bytes()
        .skip(start)
        .take(most)
        .take_while(u8::is_ascii_hexdigit)
        .count();
    let whole = match braced {
        true => count > 0 && text[start + count..].starts_with('}'),
        false => count == 4,
    };
    if !whole {
        return Err(start + count);
    }
    let code = u32::from_str_radix(&text[start..start + count], 16).unwrap_or_default();
    Ok((code, start + count + usize::from(braced)))
}

fn push_code(code: u32, out: &mut String) -> SqlResult<()> {
    if code == 0 {
        return Err(SqlError::new(
            state::UNTRANSLATABLE_CHARACTER,
            "unsupported Unicode escape sequence",
        )
        .detail("\\u0000 cannot be converted to text."));
    }
    match char::from_u32(code) {
        Some(character) => {
            out.push(character);
            Ok(())
        }
        None => Err(SqlError::new(state::SYNTAX_ERROR, "invalid Unicode code point")),
    }
}
