//! Which followers a commit waits for, as PostgreSQL's `synchronous_standby_names` says it.
//!
//! `FIRST n (a, b)`, `n (a, b)`, `a, b` (FIRST 1), `ANY n (a, b)`; `*` is every name; names are compared without regard to
//! case; words need quotes where they are no identifiers.

use std::iter::Peekable;
use std::str::CharIndices;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// The first `count` of those that are connected, in the order of the list.
    First,
    /// Any `count` of the list.
    Any,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SyncNames {
    pub method: Method,
    pub count: usize,
    pub names: Vec<String>,
}

/// Why a text is no such list: the detail of PostgreSQL's message (22023, or 42601 for `Grammar`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NamesError {
    Grammar(String),
    Count(i32),
}

impl SyncNames {
    /// `None`: the text is empty, commits wait for nobody.
    pub fn parse(text: &str) -> Result<Option<SyncNames>, NamesError> {
        if text.is_empty() {
            return Ok(None);
        }
        let mut parser = Parser::new(text);
        let (method, count) = parser.head()?;
        let bracketed = count.is_some();
        let names = parser.list()?;
        if bracketed {
            parser.expect(Token::Close)?;
        }
        parser.expect(Token::End)?;
        let count = count.as_deref().unwrap_or("1");
        match count_of(count) {
            count if count <= 0 => Err(NamesError::Count(count)),
            count => Ok(Some(SyncNames {
                method,
                count: count as usize,
                names,
            })),
        }
    }

    /// The place of `name` in the list, the first being preferred; `None`: a commit does not wait for it.
    pub fn priority(&self, name: &str) -> Option<usize> {
        self.names
            .iter()
            .position(|listed| listed == "*" || listed.eq_ignore_ascii_case(name))
    }
}

/// As C's `atoi` on the platforms that PostgreSQL runs on: a `long`, cut to an `int`.
fn count_of(digits: &str) -> i32 {
    digits.parse::<i64>().unwrap_or(i64::MAX) as i32
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Token {
    Any,
    First,
    Name(String),
    Number(String),
    Comma,
    Open,
    Close,
    End,
    Junk,
}

struct Parser<'a> {
    text: &'a str,
    rest: Peekable<CharIndices<'a>>,
    token: Token,
    /// Where the token's text is, for messages.
    span: (usize, usize),
    unterminated: bool,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Parser<'a> {
        let mut parser = Parser {
            text,
            rest: text.char_indices().peekable(),
            token: Token::End,
            span: (0, 0),
            unterminated: false,
        };
        parser.advance();
        parser
    }

    /// Method and count in front of a list in brackets; no count: the list is all there is.
    fn head(&mut self) -> Result<(Method, Option<String>), NamesError> {
        let method = match self.token {
            Token::Any => Method::Any,
            Token::First => Method::First,
            Token::Number(_) if self.brackets_follow() => Method::First,
            _ => return Ok((Method::First, None)),
        };
        if matches!(self.token, Token::Any | Token::First) {
            self.advance();
        }
        let Token::Number(count) = &self.token else {
            return Err(self.fault());
        };
        let count = count.clone();
        self.advance();
        self.expect(Token::Open)?;
        Ok((method, Some(count)))
    }

    fn brackets_follow(&self) -> bool {
        let mut rest = self.rest.clone();
        rest.find(|(_, c)| !is_space(*c)).is_some_and(|(_, c)| c == '(')
    }

    fn list(&mut self) -> Result<Vec<String>, NamesError> {
        let mut names = Vec::new();
        loop {
            match &self.token {
                Token::Name(name) | Token::Number(name) => names.push(name.clone()),
                _ => return Err(self.fault()),
            }
            self.advance();
            if self.token != Token::Comma {
                return Ok(names);
            }
            self.advance();
        }
    }

    fn expect(&mut self, token: Token) -> Result<(), NamesError> {
        if self.token != token {
            return Err(self.fault());
        }
        self.advance();
        Ok(())
    }

    fn fault(&self) -> NamesError {
        let near = &self.text[self.span.0..self.span.1];
        let what = match self.unterminated {
            true => "unterminated quoted identifier",
            false => "syntax error",
        };
        NamesError::Grammar(match near {
            "" => format!("{what} at end of input"),
            near => format!("{what} at or near \"{near}\""),
        })
    }

    fn advance(&mut self) {
        while self.rest.next_if(|(_, c)| is_space(*c)).is_some() {}
        let Some((from, first)) = self.rest.next() else {
            self.span = (self.text.len(), self.text.len());
            self.token = Token::End;
            return;
        };
        let token = match first {
            '"' => self.quoted(),
            c if starts_word(c) => Some(self.word(from)),
            c if c.is_ascii_digit() => {
                while self.rest.next_if(|(_, c)| c.is_ascii_digit()).is_some() {}
                Some(Token::Number(self.text[from..self.place()].into()))
            }
            '*' => Some(Token::Name("*".into())),
            ',' => Some(Token::Comma),
            '(' => Some(Token::Open),
            ')' => Some(Token::Close),
            _ => Some(Token::Junk),
        };
        self.span = (from, self.place());
        // PostgreSQL's scanner has nothing in hand any more when a quote does not end.
        if token.is_none() {
            self.unterminated = true;
            self.span = (self.text.len(), self.text.len());
        }
        self.token = token.unwrap_or(Token::Junk);
    }

    fn word(&mut self, from: usize) -> Token {
        let inside = |c: char| starts_word(c) || c.is_ascii_digit() || c == '$';
        while self.rest.next_if(|(_, c)| inside(*c)).is_some() {}
        let word = &self.text[from..self.place()];
        if word.eq_ignore_ascii_case("any") {
            Token::Any
        } else if word.eq_ignore_ascii_case("first") {
            Token::First
        } else {
            Token::Name(word.into())
        }
    }

    /// Behind the opening quote; `None`: there is no closing one.
    fn quoted(&mut self) -> Option<Token> {
        let mut name = String::new();
        loop {
            match self.rest.next()?.1 {
                '"' if self.rest.next_if(|(_, c)| *c == '"').is_some() => name.push('"'),
                '"' => return Some(Token::Name(name)),
                c => name.push(c),
            }
        }
    }

    fn place(&mut self) -> usize {
        self.rest.peek().map_or(self.text.len(), |(at, _)| *at)
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}' | '\u{b}')
}

fn starts_word(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || !c.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> String {
        match SyncNames::parse(text) {
            Ok(None) => "nobody".into(),
            Ok(Some(names)) => format!("{:?} {} {}", names.method, names.count, names.names.join("|")),
            Err(NamesError::Grammar(detail)) => detail,
            Err(NamesError::Count(count)) => format!("count {count}"),
        }
    }

    #[test]
    fn lists_are_read_as_postgres_reads_them() {
        for (text, expected) in [
            ("", "nobody"),
            ("a", "First 1 a"),
            (" A1_$ , \"b \"\"c\" ,*", "First 1 A1_$|b \"c|*"),
            ("2 (a, b)", "First 2 a|b"),
            ("FIRST 3(a,b,c)", "First 3 a|b|c"),
            ("any 2 (s1, 22)", "Any 2 s1|22"),
            ("1", "First 1 1"),
            ("1, 2", "First 1 1|2"),
            ("\"any\"", "First 1 any"),
            ("bücher", "First 1 bücher"),
        ] {
            assert_eq!(told(text), expected, "{text}");
        }
    }

    /// Texts and details are PostgreSQL 15's.
    #[test]
    fn what_is_no_list_is_refused_as_postgres_refuses_it() {
        for (text, expected) in [
            (" ", "syntax error at end of input"),
            ("a b", "syntax error at or near \"b\""),
            ("a,", "syntax error at end of input"),
            ("ANY (a)", "syntax error at or near \"(\""),
            ("ANY 2 a", "syntax error at or near \"a\""),
            ("FIRST 2 (a", "syntax error at end of input"),
            ("any", "syntax error at end of input"),
            ("a-b", "syntax error at or near \"-\""),
            ("2 ()", "syntax error at or near \")\""),
            ("0 (a)", "count 0"),
            ("ANY 4294967297 (a)", "Any 1 a"),
            ("ANY 2147483648 (a)", "count -2147483648"),
            ("ANY 99999999999999999999 (a)", "count -1"),
        ] {
            assert_eq!(told(text), expected, "{text}");
        }
    }

    #[test]
    fn the_first_match_is_the_priority_whatever_the_case() {
        let names = SyncNames::parse("b, A, *").expect("a list").expect("not empty");
        assert_eq!(names.priority("B"), Some(0));
        assert_eq!(names.priority("a"), Some(1));
        assert_eq!(names.priority("zzz"), Some(2));
    }
}
