//! The body as tokens, with places and lines, and the errors that point at them.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

use super::tree::{Fragment, FragmentKind};
use crate::ast::Name;
use crate::lexer::{Lexer, Token, TokenKind};

pub(super) struct Scanner<'t> {
    pub text: &'t str,
    tokens: Vec<Token>,
    /// Of the token to come.
    pub at: usize,
    /// Byte offsets of the ends of lines.
    newlines: Vec<u32>,
    pub depth: u32,
}

/// Words that name no variable unless quoted.
const RESERVED: &[&str] = &[
    "all", "begin", "by", "case", "declare", "else", "end", "execute", "for", "foreach", "from", "if", "in",
    "into", "loop", "not", "null", "or", "strict", "then", "to", "using", "when", "while",
];

impl<'t> Scanner<'t> {
    pub fn new(text: &'t str) -> SqlResult<Scanner<'t>> {
        let mut lexer = Lexer::new(text);
        let mut tokens = Vec::new();
        while let Some(token) = lexer.next_token() {
            match token {
                Ok(token) => tokens.push(token),
                Err(error) => return Err(unreadable(text, error.start)),
            }
        }
        let newlines = memchr::memchr_iter(b'\n', text.as_bytes());
        Ok(Scanner {
            text,
            tokens,
            at: 0,
            newlines: newlines.map(|offset| offset as u32).collect(),
            depth: 0,
        })
    }

    pub fn token(&self, ahead: usize) -> Option<Token> {
        self.tokens.get(self.at + ahead).copied()
    }

    pub fn kind(&self, ahead: usize) -> Option<TokenKind> {
        self.token(ahead).map(|token| token.kind)
    }

    pub fn text_of(&self, token: Token) -> &'t str {
        token.text(self.text)
    }

    /// The byte offset of the token to come, or of the text's end.
    pub fn start(&self) -> u32 {
        self.token(0).map_or(self.text.len(), |token| token.start) as u32
    }

    /// Where the last token taken ends.
    pub fn end_of_last(&self) -> usize {
        match self.at.checked_sub(1) {
            Some(last) => self.tokens[last].end,
            None => 0,
        }
    }

    /// The last token taken; empty at the start.
    pub fn text_before(&self) -> &'t str {
        match self.at.checked_sub(1) {
            Some(last) => self.text_of(self.tokens[last]),
            None => "",
        }
    }

    pub fn line(&self) -> u32 {
        self.line_at(self.start())
    }

    pub fn line_at(&self, start: u32) -> u32 {
        self.newlines.partition_point(|&newline| newline < start) as u32 + 1
    }

    /// Whether a token is this keyword; quoted names never are.
    pub fn is_at(&self, ahead: usize, keyword: &str) -> bool {
        self.token(ahead).is_some_and(|token| {
            token.kind == TokenKind::Identifier && self.text_of(token).eq_ignore_ascii_case(keyword)
        })
    }

    pub fn is(&self, keyword: &str) -> bool {
        self.is_at(0, keyword)
    }

    pub fn is_any(&self, keywords: &[&str]) -> bool {
        keywords.iter().any(|keyword| self.is(keyword))
    }

    pub fn is_kind(&self, kind: TokenKind) -> bool {
        self.kind(0) == Some(kind)
    }

    pub fn is_symbol(&self, ahead: usize, symbol: &str) -> bool {
        self.token(ahead).is_some_and(|token| {
            !matches!(token.kind, TokenKind::Identifier | TokenKind::QuotedIdentifier)
                && self.text_of(token) == symbol
        })
    }

    /// `:=` or `=`.
    pub fn is_assignment(&self, ahead: usize) -> bool {
        self.is_symbol(ahead, ":=") || self.is_symbol(ahead, "=")
    }

    pub fn take_keyword(&mut self, keyword: &str) -> bool {
        let found = self.is(keyword);
        self.at += usize::from(found);
        found
    }

    pub fn take_symbol(&mut self, symbol: &str) -> bool {
        let found = self.is_symbol(0, symbol);
        self.at += usize::from(found);
        found
    }

    pub fn expect_keyword(&mut self, keyword: &str) -> SqlResult<()> {
        if self.take_keyword(keyword) {
            return Ok(());
        }
        Err(self.syntax_error())
    }

    pub fn expect_symbol(&mut self, symbol: &str) -> SqlResult<()> {
        if self.take_symbol(symbol) {
            return Ok(());
        }
        Err(self.syntax_error())
    }

    pub fn expect_semicolon(&mut self) -> SqlResult<()> {
        self.expect_symbol(";")
    }

    /// A name: unquoted ones are folded and must not be reserved.
    pub fn name(&mut self) -> SqlResult<Name> {
        let Some(token) = self.token(0) else {
            return Err(self.syntax_error());
        };
        let text = self.text_of(token);
        let name = match token.kind {
            TokenKind::Identifier => {
                let folded = text.to_ascii_lowercase();
                if RESERVED.contains(&&*folded) {
                    return Err(self.syntax_error());
                }
                folded
            }
            TokenKind::QuotedIdentifier if text.starts_with('"') => {
                text[1..text.len() - 1].replace("\"\"", "\"")
            }
            _ => return Err(self.syntax_error()),
        };
        self.at += 1;
        Ok(name.as_str().into())
    }

    pub fn is_name(&self, ahead: usize) -> bool {
        match self.token(ahead) {
            Some(token) if token.kind == TokenKind::Identifier => {
                let text = self.text_of(token);
                !RESERVED.iter().any(|word| word.eq_ignore_ascii_case(text))
            }
            Some(token) => token.kind == TokenKind::QuotedIdentifier,
            None => false,
        }
    }

    /// The value of a string constant.
    pub fn string(&mut self) -> SqlResult<String> {
        let Some(token) = self.token(0) else {
            return Err(self.syntax_error());
        };
        let value = string_value(self.text_of(token), token.kind).ok_or_else(|| self.syntax_error())?;
        self.at += 1;
        Ok(value)
    }

    /// Cuts out SQL up to a delimiter outside of brackets; the delimiter stays. `expected` is for the error.
    pub fn fragment_until(
        &mut self,
        kind: FragmentKind,
        expected: &str,
        ends: impl Fn(&Scanner<'_>) -> bool,
    ) -> SqlResult<Fragment> {
        let first = self.at;
        let mut open = 0usize;
        loop {
            let Some(token) = self.token(0) else {
                return Err(self.unfinished(kind, expected, open));
            };
            if open == 0 && ends(self) {
                break;
            }
            match token.kind {
                TokenKind::Open => open += 1,
                TokenKind::Close => match open.checked_sub(1) {
                    Some(left) => open = left,
                    None => return Err(self.near_error("mismatched parentheses")),
                },
                TokenKind::Semicolon => return Err(self.unfinished(kind, expected, open)),
                _ => {}
            }
            self.at += 1;
        }
        if self.at == first && kind == FragmentKind::Assignment {
            // An error when it runs.
            let start = self.start();
            return Ok(Fragment {
                text: "".into(),
                skip: 0,
                start: Some(start),
                kind,
            });
        }
        if self.at == first {
            let missing = match kind {
                FragmentKind::Statement => "missing SQL statement",
                _ => "missing expression",
            };
            return Err(self.error_here(missing));
        }
        Ok(self.fragment_from(first, kind))
    }

    fn unfinished(&self, kind: FragmentKind, expected: &str, open: usize) -> SqlError {
        if self.token(0).is_none() {
            return self.syntax_error();
        }
        if open > 0 {
            return self.near_error("mismatched parentheses");
        }
        let what = match kind {
            FragmentKind::Statement => "statement",
            _ => "expression",
        };
        self.error_here(format!("missing \"{expected}\" at end of SQL {what}"))
    }

    /// The tokens taken since number `first`, as they were written.
    pub fn fragment_from(&self, first: usize, kind: FragmentKind) -> Fragment {
        let start = self.tokens[first].start;
        Fragment {
            text: self.text[start..self.end_of_last()].into(),
            skip: 0,
            start: Some(start as u32),
            kind,
        }
    }

    /// An error at the token to come.
    #[cold]
    pub fn error_here(&self, message: impl Into<String>) -> SqlError {
        self.error_at(self.start(), message)
    }

    #[cold]
    pub fn error_at(&self, start: u32, message: impl Into<String>) -> SqlError {
        SqlError::new(state::SYNTAX_ERROR, message).at(character(self.text, start))
    }

    /// The words of PostgreSQL's parser: a message, and the token to come.
    #[cold]
    pub fn near_error(&self, message: &str) -> SqlError {
        match self.token(0) {
            Some(token) => self.error_here(format!("{message} at or near \"{}\"", self.text_of(token))),
            None => self.error_here(format!("{message} at end of input")),
        }
    }

    #[cold]
    pub fn syntax_error(&self) -> SqlError {
        self.near_error("syntax error")
    }
}

/// The 1-based character at a byte offset.
pub(super) fn character(text: &str, start: u32) -> u32 {
    crate::ast::Location(start as i32).position(text)
}

fn unreadable(text: &str, start: usize) -> SqlError {
    let rest = &text[start..];
    let what = match rest.as_bytes().first() {
        Some(b'"') => "unterminated quoted identifier",
        Some(b'\'') => "unterminated quoted string",
        Some(b'$') => "unterminated dollar-quoted string",
        Some(b'/') => "unterminated /* comment",
        _ => "syntax error",
    };
    let near = match what {
        "syntax error" => rest.chars().next().map(String::from).unwrap_or_default(),
        _ => rest.to_string(),
    };
    let message = format!("{what} at or near \"{near}\"");
    SqlError::new(state::SYNTAX_ERROR, message).at(character(text, start as u32))
}

/// What a string constant stands for; None for tokens that are none.
fn string_value(text: &str, kind: TokenKind) -> Option<String> {
    match kind {
        TokenKind::String => Some(text[1..text.len() - 1].replace("''", "'")),
        TokenKind::SpecialString if text.starts_with('$') => {
            let tag = text[1..].find('$')? + 2;
            Some(text[tag..text.len() - tag].to_string())
        }
        TokenKind::SpecialString if text.starts_with(['e', 'E']) => Some(unescape(&text[2..text.len() - 1])),
        _ => None,
    }
}

/// E'..': the escapes that messages use.
fn unescape(text: &str) -> String {
    let mut value = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\'' => {
                characters.next();
                value.push('\'');
            }
            '\\' => match characters.next() {
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some('r') => value.push('\r'),
                Some('b') => value.push('\u{8}'),
                Some('f') => value.push('\u{c}'),
                Some(other) => value.push(other),
                None => {}
            },
            other => value.push(other),
        }
    }
    value
}
