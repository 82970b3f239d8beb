//! Backslashes in strings by the session's settings: `standard_conforming_strings`, `backslash_quote`,
//! `escape_string_warning`.
//!
//! The grammar reads by the standard only. A text in which a backslash escapes in every string is written anew before it is
//! parsed, with an `E` in front of each plain string; positions are led back to the text that came.
//! Leaves out: bodies of routines and texts that they execute, which are parsed without a session's settings.

use std::borrow::Cow;

use mote_common::error::{Severity, state};
use mote_common::{SqlError, SqlResult, SqlState};

use super::{Lexer, Token, TokenKind};

const NONSTANDARD_USE_OF_ESCAPE_CHARACTER: SqlState = SqlState::new("22P06");

/// How a session reads strings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StringRules {
    /// In a plain string a backslash is a backslash.
    pub conforming: bool,
    /// `\'` may stand for a quote where backslashes escape.
    pub escaped_quotes: bool,
    /// Each plain string with an escape is warned of.
    pub warns: bool,
}

impl StringRules {
    /// The grammar reads texts of such a session as they are.
    pub fn are_standard(self) -> bool {
        self.conforming && self.escaped_quotes
    }
}

/// A text as the grammar reads it.
#[derive(Debug)]
pub struct Written<'t> {
    pub text: Cow<'t, str>,
    /// What was put in: where in the new text, and how much, in characters.
    inserted: Vec<(u32, u32)>,
    pub warnings: Vec<SqlError>,
}

impl Written<'_> {
    /// An error, or a notice, with its position in the text that came.
    pub fn led_back(&self, error: SqlError) -> SqlError {
        let Some(position) = error.fields().position else {
            return error;
        };
        let before = self.inserted.iter().filter(|(at, _)| at + 1 < position);
        let shift: u32 = before.map(|(_, length)| length).sum();
        // A token that is quoted from the text that was read shows the E which was put in front of it.
        let quoted = self.inserted.iter().any(|(at, _)| at + 1 == position);
        let error = match error.message().split_once(" at or near \"E'") {
            Some((what, rest)) if quoted => {
                let message = format!("{what} at or near \"'{rest}");
                SqlError::new(error.state(), message).at(position)
            }
            _ => error,
        };
        error.moved_to(position - shift)
    }
}

/// Reads a text by the rules of its session.
pub fn written(text: &str, rules: StringRules) -> SqlResult<Written<'_>> {
    let mut reader = Reader {
        text,
        rules,
        out: String::new(),
        copied: 0,
        inserted: Vec::new(),
        warnings: Vec::new(),
        literal: 0,
        warned: false,
    };
    let mut lexer = match rules.conforming {
        true => Lexer::new(text),
        false => Lexer::with_escapes(text),
    };
    let mut previous: Option<Token> = None;
    // What the lexer cannot read, the grammar refuses in PostgreSQL's words; by the standard it could read a string that
    // does not end here.
    while let Some(token) = lexer.next_token() {
        match token {
            Ok(token) => {
                reader.token(token, previous)?;
                previous = Some(token);
            }
            Err(error) => {
                if !rules.conforming && text[error.start..].starts_with('\'') {
                    reader.insert(error.start, "E");
                }
                break;
            }
        }
    }
    reader.out.push_str(&text[reader.copied..]);
    Ok(Written {
        text: match reader.inserted.is_empty() {
            true => Cow::Borrowed(text),
            false => Cow::Owned(reader.out),
        },
        inserted: reader.inserted,
        warnings: reader.warnings,
    })
}

struct Reader<'t> {
    text: &'t str,
    rules: StringRules,
    out: String,
    /// So far `out` holds the text.
    copied: usize,
    inserted: Vec<(u32, u32)>,
    warnings: Vec<SqlError>,
    /// Where the string at hand begins, of which this may be a later piece.
    literal: usize,
    /// It was warned of.
    warned: bool,
}

impl Reader<'_> {
    fn token(&mut self, token: Token, previous: Option<Token>) -> SqlResult<()> {
        let written = token.text(self.text);
        let first = written.as_bytes()[0];
        let plain = !self.rules.conforming && token.kind == TokenKind::String;
        // The grammar reads a piece of a string as it reads the first one.
        let goes_on = previous.is_some_and(|previous| self.goes_on(previous, token));
        if !goes_on {
            self.literal = token.start;
            self.warned = false;
        }
        match (token.kind, first) {
            (TokenKind::SpecialString, b'u' | b'U') if !self.rules.conforming => {
                let message = "unsafe use of string constant with Unicode escapes";
                return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message)
                    .detail(
                        "String constants with Unicode escapes cannot be used when \
                         standard_conforming_strings is off.",
                    )
                    .at(self.position(token.start)));
            }
            (TokenKind::SpecialString, b'n' | b'N') if !self.rules.conforming => {
                self.insert(token.start + 1, "char E");
                // PostgreSQL takes the N for a word of its own.
                self.literal = token.start + 1;
            }
            (TokenKind::SpecialString, b'e' | b'E') => return self.check_quotes(token),
            _ if !plain => return Ok(()),
            _ if goes_on => {}
            _ => self.insert(token.start, "E"),
        }
        self.check_quotes(token)?;
        self.warn(token);
        Ok(())
    }

    /// Two strings with a line's end between them are one.
    fn goes_on(&self, previous: Token, token: Token) -> bool {
        let is_string = matches!(previous.kind, TokenKind::String | TokenKind::SpecialString);
        is_string && self.text[previous.end..token.start].contains(['\n', '\r'])
    }

    fn insert(&mut self, at: usize, what: &str) {
        self.out.push_str(&self.text[self.copied..at]);
        self.copied = at;
        let position = self.out.chars().count() as u32;
        self.out.push_str(what);
        self.inserted.push((position, what.len() as u32));
    }

    /// As errors count: characters, from 1.
    fn position(&self, byte: usize) -> u32 {
        self.text[..byte].chars().count() as u32 + 1
    }

    fn check_quotes(&self, token: Token) -> SqlResult<()> {
        if self.rules.escaped_quotes || !escapes(token.text(self.text)).any(|escaped| escaped == b'\'') {
            return Ok(());
        }
        let message = "unsafe use of \\' in a string literal";
        Err(SqlError::new(NONSTANDARD_USE_OF_ESCAPE_CHARACTER, message)
            .hint("Use '' to write quotes in strings. \\' is insecure in client-only encodings.")
            .at(self.position(self.literal)))
    }

    /// Warns of the first escape.
    fn warn(&mut self, token: Token) {
        let first = escapes(token.text(self.text)).next();
        let Some(escaped) = first.filter(|_| self.rules.warns && !self.warned) else {
            return;
        };
        self.warned = true;
        let (what, hint) = match escaped {
            b'\'' => (
                "\\'",
                "Use '' to write quotes in strings, or use the escape string syntax (E'...').",
            ),
            b'\\' => (
                "\\\\",
                "Use the escape string syntax for backslashes, e.g., E'\\\\'.",
            ),
            _ => (
                "escape",
                "Use the escape string syntax for escapes, e.g., E'\\r\\n'.",
            ),
        };
        let message = format!("nonstandard use of {what} in a string literal");
        let warning = SqlError::new(NONSTANDARD_USE_OF_ESCAPE_CHARACTER, message)
            .severity(Severity::Warning)
            .hint(hint)
            .at(self.position(self.literal));
        self.warnings.push(warning);
    }
}

/// The bytes that stand behind backslashes.
fn escapes(string: &str) -> impl Iterator<Item = u8> {
    let bytes = string.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        at += memchr::memchr(b'\\', bytes.get(at..)?)?;
        let escaped = bytes.get(at + 1).copied();
        at += 2;
        escaped
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFF: StringRules = StringRules {
        conforming: false,
        escaped_quotes: true,
        warns: true,
    };

    #[test]
    fn plain_strings_get_an_e() {
        for (text, expected) in [
            ("select 'a\\'b', 1", "select E'a\\'b', 1"),
            (
                "select 'a', e'\\n', $$\\$$, \"x\\\"",
                "select E'a', e'\\n', $$\\$$, \"x\\\"",
            ),
            ("select 'a'\n  'b\\\\'", "select E'a'\n  'b\\\\'"),
            ("select 'a' -- it's\n, 'b'", "select E'a' -- it's\n, E'b'"),
            ("select N'a\\n', x'1f'", "select Nchar E'a\\n', x'1f'"),
            ("select 'open", "select E'open"),
        ] {
            assert_eq!(written(text, OFF).unwrap().text, expected);
        }
    }

    #[test]
    fn positions_are_those_of_the_text_that_came() {
        let text = "select 'ä', n'b', nothing";
        let read = written(text, OFF).unwrap();
        let place = |text: &str, what: &str| text[..text.find(what).unwrap()].chars().count() as u32 + 1;
        for (new, own) in [
            ("select", "select"),
            ("E'ä'", "'ä'"),
            ("nchar", "n'b'"),
            ("nothing", "nothing"),
        ] {
            let error = SqlError::internal("x").at(place(&read.text, new));
            assert_eq!(read.led_back(error).fields().position, Some(place(text, own)));
        }
    }

    #[test]
    fn warnings_and_refusals() {
        let read = written("select 'a\\'', 'b\\\\c', 'd\\ne\\'', 'f'", OFF).unwrap();
        let said: Vec<_> = read
            .warnings
            .iter()
            .map(|warning| warning.message().to_string())
            .collect();
        assert_eq!(
            said,
            [
                "nonstandard use of \\' in a string literal",
                "nonstandard use of \\\\ in a string literal",
                "nonstandard use of escape in a string literal"
            ]
        );
        let strict = StringRules {
            conforming: true,
            escaped_quotes: false,
            warns: true,
        };
        assert!(
            written("select 'a\\', e'b\\n'", strict)
                .unwrap()
                .warnings
                .is_empty()
        );
        let refused = written("select e'a\\'b'", strict).unwrap_err();
        assert_eq!(
            (refused.fields().state.as_str(), refused.fields().position),
            ("22P06", Some(8))
        );
        let refused = written("select u&'a'", OFF).unwrap_err();
        assert_eq!(refused.fields().state, state::FEATURE_NOT_SUPPORTED);
    }
}
