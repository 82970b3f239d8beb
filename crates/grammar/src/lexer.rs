//! PostgreSQL's tokens, and the fingerprint of a statement: its text without its literals.
//!
//! Reading order: this file (tokens), then `fingerprint`, and `escapes` (settings that change what a backslash is).
//!
//! The lexer knows what ends a token and no more: it does not fold case, resolve escapes or know keywords, and it
//! accepts some tokens that the grammar then refuses. It never accepts a text in which it sees a token boundary where
//! PostgreSQL sees none: with that, a key built from tokens cannot be taken for another statement's.
//!
//! Source: PostgreSQL's scan.l; the fingerprint replaces literals as pg_stat_statements does.

mod escapes;
mod fingerprint;

#[cfg(test)]
mod tests;

pub use escapes::{StringRules, Written, written};
pub use fingerprint::{Fingerprint, Literal, LiteralKind, MAX_FINGERPRINT_BYTES, MAX_LITERALS};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A word: identifier or keyword.
    Identifier,
    /// `"name"` or `U&"name"`.
    QuotedIdentifier,
    /// `'text'`.
    String,
    /// `E'text'`, `U&'text'`, `N'text'`, `$tag$text$tag$`.
    SpecialString,
    /// `B'101'`, `X'1F'`.
    BitString,
    /// Decimal digits alone.
    Integer,
    /// Any other number: fraction, exponent, other base, underscores.
    Number,
    /// `$1`.
    Parameter,
    Operator,
    /// `::`.
    Cast,
    /// `(` or `[`.
    Open,
    /// `)` or `]`.
    Close,
    Comma,
    Semicolon,
    /// `.` or `..`.
    Dot,
    /// `:` or `:=`.
    Colon,
}

/// A token as a byte range of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: TokenKind,
    pub start: usize,
    pub end: usize,
}

impl Token {
    pub fn text<'t>(&self, text: &'t str) -> &'t str {
        &text[self.start..self.end]
    }
}

/// The text ends inside a token, or holds a byte that starts none. The grammar has the words for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LexError {
    /// Byte offset of the token's start.
    pub start: usize,
}

#[derive(Clone, Copy, Debug)]
pub struct Lexer<'t> {
    text: &'t str,
    at: usize,
    /// A backslash escapes in every string.
    escapes: bool,
}

impl<'t> Lexer<'t> {
    pub fn new(text: &'t str) -> Lexer<'t> {
        Lexer {
            text,
            at: 0,
            escapes: false,
        }
    }

    /// Of a text for which `standard_conforming_strings` is off.
    pub fn with_escapes(text: &'t str) -> Lexer<'t> {
        Lexer {
            escapes: true,
            ..Lexer::new(text)
        }
    }

    /// The byte at `offset` from here, or NUL at the end: no token contains NUL.
    fn peek(&self, offset: usize) -> u8 {
        self.text.as_bytes().get(self.at + offset).copied().unwrap_or(0)
    }

    /// The next token, past space and comments. After an error the lexer is at its end.
    pub fn next_token(&mut self) -> Option<Result<Token, LexError>> {
        match self.skip_space() {
            Ok(()) => {}
            Err(error) => return Some(Err(self.stop(error))),
        }
        let start = self.at;
        if start >= self.text.len() {
            return None;
        }
        Some(match self.scan() {
            Some(kind) => Ok(Token {
                kind,
                start,
                end: self.at,
            }),
            None => Err(self.stop(LexError { start })),
        })
    }

    fn stop(&mut self, error: LexError) -> LexError {
        self.at = self.text.len();
        error
    }

    fn skip_space(&mut self) -> Result<(), LexError> {
        loop {
            match (self.peek(0), self.peek(1)) {
                (b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C, _) => self.at += 1,
                (b'-', b'-') => {
                    let rest = &self.text.as_bytes()[self.at..];
                    self.at += memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
                }
                (b'/', b'*') => self.skip_block_comment()?,
                _ => return Ok(()),
            }
        }
    }

    /// Block comments nest.
    fn skip_block_comment(&mut self) -> Result<(), LexError> {
        let start = self.at;
        let mut depth = 0usize;
        loop {
            match (self.peek(0), self.peek(1)) {
                (b'/', b'*') => {
                    depth += 1;
                    self.at += 2;
                }
                (b'*', b'/') => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                _ if self.at >= self.text.len() => return Err(LexError { start }),
                _ => self.at += 1,
            }
        }
    }

    /// Scans one token from a byte that is no space. None: unterminated or no token.
    fn scan(&mut self) -> Option<TokenKind> {
        let first = self.peek(0);
        match (first, self.peek(1), self.peek(2)) {
            (b'\'', ..) => self.quoted(0, b'\'', self.escapes, TokenKind::String),
            (b'"', ..) => self.quoted(0, b'"', false, TokenKind::QuotedIdentifier),
            (b'e' | b'E', b'\'', _) => self.quoted(1, b'\'', true, TokenKind::SpecialString),
            (b'n' | b'N', b'\'', _) => self.quoted(1, b'\'', self.escapes, TokenKind::SpecialString),
            (b'b' | b'B' | b'x' | b'X', b'\'', _) => self.quoted(1, b'\'', false, TokenKind::BitString),
            (b'u' | b'U', b'&', b'\'') => self.quoted(2, b'\'', false, TokenKind::SpecialString),
            (b'u' | b'U', b'&', b'"') => self.quoted(2, b'"', false, TokenKind::QuotedIdentifier),
            (b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80.., ..) => self.word(),
            (b'0'..=b'9', ..) => self.number(),
            (b'.', b'0'..=b'9', _) => self.number(),
            (b'.', b'.', _) => {
                self.at += 2;
                Some(TokenKind::Dot)
            }
            (b'$', ..) => self.dollar(),
            (b'(' | b'[', ..) => self.single(TokenKind::Open),
            (b')' | b']', ..) => self.single(TokenKind::Close),
            (b',', ..) => self.single(TokenKind::Comma),
            (b';', ..) => self.single(TokenKind::Semicolon),
            (b'.', ..) => self.single(TokenKind::Dot),
            (b':', b':', _) => {
                self.at += 2;
                Some(TokenKind::Cast)
            }
            (b':', b'=', _) => {
                self.at += 2;
                Some(TokenKind::Colon)
            }
            (b':', ..) => self.single(TokenKind::Colon),
            _ if is_operator_byte(first) => self.operator(),
            _ => None,
        }
    }

    fn single(&mut self, kind: TokenKind) -> Option<TokenKind> {
        self.at += 1;
        Some(kind)
    }

    /// From `prefix` bytes before the opening quote to the closing one; a doubled quote stands for itself.
    fn quoted(&mut self, prefix: usize, quote: u8, backslash: bool, kind: TokenKind) -> Option<TokenKind> {
        let bytes = self.text.as_bytes();
        let mut at = self.at + prefix + 1;
        loop {
            let found = if backslash {
                memchr::memchr2(quote, b'\\', &bytes[at..])
            } else {
                memchr::memchr(quote, &bytes[at..])
            };
            at += found?;
            if bytes[at] == b'\\' {
                // The escaped byte may be a quote; past the end it is an unterminated string.
                at += 2;
                if at > bytes.len() {
                    return None;
                }
            } else if bytes.get(at + 1) == Some(&quote) {
                at += 2;
            } else {
                self.at = at + 1;
                return Some(kind);
            }
        }
    }

    fn word(&mut self) -> Option<TokenKind> {
        while is_word_byte(self.peek(0)) || self.peek(0) == b'$' {
            self.at += 1;
        }
        Some(TokenKind::Identifier)
    }

    /// A number must not run into a word: `123abc` is an error since PostgreSQL 15.
    fn number(&mut self) -> Option<TokenKind> {
        let mut kind = TokenKind::Integer;
        if self.peek(0) == b'0' && matches!(self.peek(1), b'x' | b'X' | b'o' | b'O' | b'b' | b'B') {
            self.at += 2;
            while self.peek(0).is_ascii_hexdigit() || self.peek(0) == b'_' {
                self.at += 1;
            }
            kind = TokenKind::Number;
        } else {
            kind = self.digits(kind);
            // Two dots are no fraction: `1..10` is a range in PL/pgSQL.
            if self.peek(0) == b'.' && self.peek(1) != b'.' {
                self.at += 1;
                self.digits(kind);
                kind = TokenKind::Number;
            }
            let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
            if matches!(self.peek(0), b'e' | b'E') && self.peek(1 + sign).is_ascii_digit() {
                self.at += 1 + sign;
                self.digits(kind);
                kind = TokenKind::Number;
            }
        }
        if is_word_byte(self.peek(0)) {
            None
        } else {
            Some(kind)
        }
    }

    fn digits(&mut self, mut kind: TokenKind) -> TokenKind {
        while self.peek(0).is_ascii_digit() || (self.peek(0) == b'_' && self.peek(1).is_ascii_digit()) {
            if self.peek(0) == b'_' {
                kind = TokenKind::Number;
            }
            self.at += 1;
        }
        kind
    }

    /// `$1`, or a dollar-quoted string.
    fn dollar(&mut self) -> Option<TokenKind> {
        if self.peek(1).is_ascii_digit() {
            self.at += 1;
            while self.peek(0).is_ascii_digit() {
                self.at += 1;
            }
            return if is_word_byte(self.peek(0)) {
                None
            } else {
                Some(TokenKind::Parameter)
            };
        }
        let mut tag_length = 1;
        while is_word_byte(self.peek(tag_length)) {
            tag_length += 1;
        }
        if self.peek(tag_length) != b'$' {
            return None;
        }
        let bytes = self.text.as_bytes();
        let tag = &bytes[self.at..=self.at + tag_length];
        let body = self.at + tag.len();
        let length = memchr::memmem::find(&bytes[body..], tag)?;
        self.at = body + length + tag.len();
        Some(TokenKind::SpecialString)
    }

    /// The longest run of operator characters that starts no comment. A run of more than one character ends in + or -
    /// only if it holds a character that no SQL operator has, so that `a=-1` is what it looks like.
    fn operator(&mut self) -> Option<TokenKind> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut end = start;
        while end < bytes.len() && is_operator_byte(bytes[end]) {
            let pair = (bytes[end], bytes.get(end + 1).copied().unwrap_or(0));
            if end > start && matches!(pair, (b'-', b'-') | (b'/', b'*')) {
                break;
            }
            end += 1;
        }
        let special = |byte: &u8| {
            matches!(
                byte,
                b'~' | b'!' | b'@' | b'#' | b'^' | b'&' | b'|' | b'`' | b'?' | b'%'
            )
        };
        if !bytes[start..end].iter().any(special) {
            while end - start > 1 && matches!(bytes[end - 1], b'+' | b'-') {
                end -= 1;
            }
        }
        self.at = end;
        Some(TokenKind::Operator)
    }
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn is_operator_byte(byte: u8) -> bool {
    matches!(
        byte,
        b'~' | b'!'
            | b'@'
            | b'#'
            | b'^'
            | b'&'
            | b'|'
            | b'`'
            | b'?'
            | b'+'
            | b'-'
            | b'*'
            | b'/'
            | b'%'
            | b'<'
            | b'>'
            | b'='
    )
}
