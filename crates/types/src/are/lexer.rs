//! The tokens of a pattern, by flavour.

use std::sync::Arc;

use mote_common::SqlResult;

use super::charset::CharSet;
use super::syntax::{Place, Prefer, Quantifier};
use super::{Flavor, Options, syntax_error};

/// The largest count in `{m,n}`.
const COUNT_MAX: u32 = 255;
/// Longer runs of digits in `\x..` and in back references are not read to their end.
const DIGITS_MAX: usize = 255;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Token {
    End,
    Or,
    Open { captures: bool },
    Look { ahead: bool, negative: bool },
    Close,
    Quantifier(Quantifier),
    Place(Place),
    Any,
    Set(Arc<CharSet>),
    Char(char),
    Backreference(usize),
}

pub struct Lexer {
    pattern: Vec<char>,
    at: usize,
    pub options: Options,
    /// The token read last, for what a basic expression reads differently at its start and behind `\(`.
    previous: Option<Token>,
    /// Groups opened so far: a number of several digits refers back only to one of these.
    pub groups: usize,
}

impl Lexer {
    /// Reads what a pattern may begin with: a director (`***`) and embedded options.
    pub fn new(pattern: &str, options: Options) -> SqlResult<Lexer> {
        let mut lexer = Lexer {
            pattern: pattern.chars().collect(),
            at: 0,
            options,
            previous: None,
            groups: 0,
        };
        if lexer.options.flavor != Flavor::Literal {
            lexer.prefixes()?;
        }
        Ok(lexer)
    }

    fn prefixes(&mut self) -> SqlResult<()> {
        if self.looking_at("***") && self.pattern.len() > 3 {
            match self.pattern[3] {
                '=' => {
                    let literal = Options {
                        flavor: Flavor::Literal,
                        ignore_case: self.options.ignore_case,
                        ..Options::default()
                    };
                    self.options = literal;
                    self.at = 4;
                    return Ok(());
                }
                ':' => {
                    self.options.flavor = Flavor::Advanced;
                    self.at = 4;
                }
                '?' => return Err(syntax_error("invalid regexp (reg version 0.8)")),
                _ => return Err(syntax_error("quantifier operand invalid")),
            }
        }
        let letter = self.pattern.get(self.at + 2);
        if self.options.flavor != Flavor::Advanced
            || !self.looking_at("(?")
            || !letter.is_some_and(|c| c.is_alphabetic())
        {
            return Ok(());
        }
        self.at += 2;
        while let Some(letter) = self.peek().filter(|c| c.is_alphabetic()) {
            self.at += 1;
            if !self.options.apply(letter) {
                return Err(syntax_error("invalid embedded option"));
            }
        }
        if !self.eat(')') {
            return Err(syntax_error("invalid embedded option"));
        }
        if self.options.flavor == Flavor::Literal {
            self.options.expanded = false;
            (self.options.newline_stops, self.options.newline_anchors) = (false, false);
        }
        Ok(())
    }

    pub fn next(&mut self) -> SqlResult<Token> {
        let token = self.token()?;
        self.previous = Some(token.clone());
        Ok(token)
    }

    fn token(&mut self) -> SqlResult<Token> {
        loop {
            if self.options.expanded {
                self.skip_blanks();
            }
            let Some(c) = self.bump() else {
                return Ok(Token::End);
            };
            match self.options.flavor {
                Flavor::Literal => return Ok(self.char_token(c)),
                Flavor::Basic => return self.basic(c),
                Flavor::Extended => return self.extended(c),
                Flavor::Advanced if c == '(' && self.looking_at("?#") => {
                    while self.bump().is_some_and(|c| c != ')') {}
                }
                Flavor::Advanced => return self.extended(c),
            }
        }
    }

    fn char_token(&self, c: char) -> Token {
        match self.options.ignore_case {
            false => Token::Char(c),
            true => match CharSet::single(c, true) {
                set if set.ranges() == [(c as u32, c as u32)] => Token::Char(c),
                set => Token::Set(Arc::new(set)),
            },
        }
    }

    fn extended(&mut self, c: char) -> SqlResult<Token> {
        let advanced = self.options.flavor == Flavor::Advanced;
        Ok(match c {
            '|' => Token::Or,
            '*' => self.quantifier(0, None),
            '+' => self.quantifier(1, None),
            '?' => self.quantifier(0, Some(1)),
            '{' => {
                if self.options.expanded {
                    self.skip_blanks();
                }
                match self.peek().is_some_and(|c| c.is_ascii_digit()) {
                    true => self.counts()?,
                    false => Token::Char(c),
                }
            }
            '(' if advanced && self.eat('?') => self.special_group()?,
            '(' => Token::Open { captures: true },
            ')' => Token::Close,
            '[' => self.bracket_or_word()?,
            '.' => Token::Any,
            '^' => Token::Place(self.start_place()),
            '$' => Token::Place(self.end_place()),
            '\\' => match (self.peek(), advanced) {
                (None, _) => return Err(syntax_error("invalid escape \\ sequence")),
                (Some(_), true) => self.escape()?,
                (Some(c), false) => {
                    self.at += 1;
                    self.char_token(c)
                }
            },
            c => self.char_token(c),
        })
    }

    fn basic(&mut self, c: char) -> SqlResult<Token> {
        let opening = matches!(self.previous, None | Some(Token::Open { .. }));
        Ok(match c {
            '*' if opening
                || matches!(
                    self.previous,
                    Some(Token::Place(Place::TextStart | Place::LineStart))
                ) =>
            {
                Token::Char(c)
            }
            '*' => self.quantifier(0, None),
            '[' => self.bracket_or_word()?,
            '.' => Token::Any,
            '^' if opening => Token::Place(self.start_place()),
            '$' => {
                if self.options.expanded {
                    self.skip_blanks();
                }
                match self.peek().is_none() || self.looking_at("\\)") {
                    true => Token::Place(self.end_place()),
                    false => Token::Char(c),
                }
            }
            '\\' => match self.bump() {
                None => return Err(syntax_error("invalid escape \\ sequence")),
                Some('{') => self.counts()?,
                Some('(') => Token::Open { captures: true },
                Some(')') => Token::Close,
                Some('<') => Token::Place(Place::WordStart),
                Some('>') => Token::Place(Place::WordEnd),
                Some(digit @ '1'..='9') => Token::Backreference(digit as usize - '0' as usize),
                Some(c) => self.char_token(c),
            },
            c => self.char_token(c),
        })
    }

    fn start_place(&self) -> Place {
        match self.options.newline_anchors {
            true => Place::LineStart,
            false => Place::TextStart,
        }
    }

    fn end_place(&self) -> Place {
        match self.options.newline_anchors {
            true => Place::LineEnd,
            false => Place::TextEnd,
        }
    }

    fn quantifier(&mut self, min: u32, max: Option<u32>) -> Token {
        let prefer = Some(self.preference());
        Token::Quantifier(Quantifier { min, max, prefer })
    }

    /// A `?` behind a quantifier makes it prefer short matches.
    fn preference(&mut self) -> Prefer {
        match self.options.flavor == Flavor::Advanced && self.eat('?') {
            true => Prefer::Short,
            false => Prefer::Long,
        }
    }

    /// What stands behind a `{`.
    fn counts(&mut self) -> SqlResult<Token> {
        let wrong = || syntax_error("invalid repetition count(s)");
        let min = self.count()?;
        let mut max = Some(min);
        let ranged = self.bound_char()? == Some(',');
        if ranged {
            self.at += 1;
            max = match self.bound_char()?.is_some_and(|c| c.is_ascii_digit()) {
                true => Some(self.count()?),
                false => None,
            };
            if max.is_some_and(|max| min > max) {
                return Err(wrong());
            }
        }
        let closing = match self.options.flavor {
            Flavor::Basic => "\\}",
            _ => "}",
        };
        self.bound_char()?;
        if !self.looking_at(closing) {
            return Err(wrong());
        }
        self.at += closing.len();
        let prefer = self.preference();
        Ok(Token::Quantifier(Quantifier {
            min,
            max,
            prefer: ranged.then_some(prefer),
        }))
    }

    /// The next character between braces, which must be there.
    fn bound_char(&mut self) -> SqlResult<Option<char>> {
        if self.options.expanded {
            self.skip_blanks();
        }
        match self.peek() {
            None => Err(syntax_error("braces {} not balanced")),
            found => Ok(found),
        }
    }

    fn count(&mut self) -> SqlResult<u32> {
        let mut value = 0;
        while let Some(digit) = self.bound_char()?.and_then(|c| c.to_digit(10)) {
            self.at += 1;
            value = value * 10 + digit;
            if value > COUNT_MAX {
                return Err(syntax_error("invalid repetition count(s)"));
            }
        }
        Ok(value)
    }

    /// What stands behind `(?`.
    fn special_group(&mut self) -> SqlResult<Token> {
        let invalid = || syntax_error("quantifier operand invalid");
        Ok(match self.bump().ok_or_else(invalid)? {
            ':' => Token::Open { captures: false },
            c @ ('=' | '!') => Token::Look {
                ahead: true,
                negative: c == '!',
            },
            '<' => match self.bump().ok_or_else(invalid)? {
                c @ ('=' | '!') => Token::Look {
                    ahead: false,
                    negative: c == '!',
                },
                _ => return Err(invalid()),
            },
            _ => return Err(invalid()),
        })
    }

    fn bracket_or_word(&mut self) -> SqlResult<Token> {
        for (written, place) in [("[:<:]]", Place::WordStart), ("[:>:]]", Place::WordEnd)] {
            if self.looking_at(written) {
                self.at += written.len();
                return Ok(Token::Place(place));
            }
        }
        let negated = self.eat('^');
        let mut set = self.bracket()?;
        if negated {
            if self.options.newline_stops {
                set = set.union(&CharSet::single('\n', false));
            }
            set = set.complement();
        }
        Ok(Token::Set(Arc::new(set)))
    }

    /// The members of a bracket expression, to its closing bracket.
    fn bracket(&mut self) -> SqlResult<CharSet> {
        let unbalanced = || syntax_error("brackets [] not balanced");
        let mut set = CharSet::default();
        let first = self.at;
        loop {
            let at = self.at;
            let c = self.bump().ok_or_else(unbalanced)?;
            let start = match c {
                ']' if at > first => return Ok(set),
                '-' if at > first && self.peek() != Some(']') => {
                    return Err(syntax_error("invalid character range"));
                }
                '[' if self.eat(':') => {
                    let name = self.bracket_name(':', "invalid character class")?;
                    let class = CharSet::class(&name, self.options.ignore_case);
                    set = set.union(class.ok_or_else(|| syntax_error("invalid character class"))?);
                    continue;
                }
                '[' if self.eat('=') => {
                    let member = self.element('=')?;
                    set = set.union(&CharSet::single(member, self.options.ignore_case));
                    continue;
                }
                '[' if self.eat('.') => self.element('.')?,
                '\\' if self.options.flavor == Flavor::Advanced => match self.bracket_escape()? {
                    Token::Set(class) => {
                        set = set.union(&class);
                        continue;
                    }
                    Token::Char(c) => c,
                    _ => return Err(syntax_error("invalid escape \\ sequence")),
                },
                c => c,
            };
            let end = match self.peek() == Some('-') && self.pattern.get(self.at + 1) != Some(&']') {
                true => self.range_end()?,
                false => start,
            };
            if start > end {
                return Err(syntax_error("invalid character range"));
            }
            set = set.union(&CharSet::range(
                start as u32,
                end as u32,
                self.options.ignore_case,
            ));
        }
    }

    /// The end of a range in brackets, from its `-` on.
    fn range_end(&mut self) -> SqlResult<char> {
        self.at += 1;
        let c = self
            .bump()
            .ok_or_else(|| syntax_error("brackets [] not balanced"))?;
        match c {
            '[' if self.eat('.') => self.element('.'),
            '[' if matches!(self.peek(), Some(':' | '=')) => Err(syntax_error("invalid character range")),
            '\\' if self.options.flavor == Flavor::Advanced => match self.bracket_escape()? {
                Token::Char(c) => Ok(c),
                Token::Set(_) => Err(syntax_error("invalid character range")),
                _ => Err(syntax_error("invalid escape \\ sequence")),
            },
            c => Ok(c),
        }
    }

    /// An escape in brackets. A character comes as it is: the range it may begin handles case.
    fn bracket_escape(&mut self) -> SqlResult<Token> {
        if self.peek().is_none() {
            return Err(syntax_error("invalid escape \\ sequence"));
        }
        let ignore_case = std::mem::replace(&mut self.options.ignore_case, false);
        let token = self.escape();
        self.options.ignore_case = ignore_case;
        token
    }

    /// What stands between `[:` and `:]`, or the like.
    fn bracket_name(&mut self, mark: char, empty: &str) -> SqlResult<String> {
        let mut name = String::new();
        loop {
            match self.bump() {
                None => return Err(syntax_error("brackets [] not balanced")),
                Some(c) if c == mark && self.eat(']') => break,
                Some(c) => name.push(c),
            }
        }
        match name.is_empty() {
            true => Err(syntax_error(empty)),
            false => Ok(name),
        }
    }

    /// The character that a collating element or an equivalence class names.
    fn element(&mut self, mark: char) -> SqlResult<char> {
        let invalid = || syntax_error("invalid collating element");
        let name = self.bracket_name(mark, "invalid collating element")?;
        let mut chars = name.chars();
        if let (Some(single), None) = (chars.next(), chars.next()) {
            return Ok(single);
        }
        let named = ELEMENT_NAMES
            .iter()
            .find(|(_, names)| names.contains(&name.as_str()));
        named.map(|(c, _)| *c).ok_or_else(invalid)
    }

    /// An escape of an advanced expression, behind its backslash.
    fn escape(&mut self) -> SqlResult<Token> {
        let invalid = || syntax_error("invalid escape \\ sequence");
        let c = self.bump().ok_or_else(invalid)?;
        let class = |name: &str| CharSet::class(name, false).expect("a class of the table").clone();
        let set = |set: CharSet| Token::Set(Arc::new(set));
        let plain = match c {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'B' => '\\',
            'e' => '\u{1b}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'c' => char::from_u32(self.bump().ok_or_else(invalid)? as u32 & 0o37).ok_or_else(invalid)?,
            'u' => self.code(16, 4, 4)?,
            'U' => self.code(16, 8, 8)?,
            'x' => self.code(16, 1, DIGITS_MAX)?,
            '0' => self.octal()?,
            'A' => return Ok(Token::Place(Place::TextStart)),
            'Z' => return Ok(Token::Place(Place::TextEnd)),
            'm' => return Ok(Token::Place(Place::WordStart)),
            'M' => return Ok(Token::Place(Place::WordEnd)),
            'y' => return Ok(Token::Place(Place::WordBoundary)),
            'Y' => return Ok(Token::Place(Place::NoWordBoundary)),
            'd' => return Ok(set(class("digit"))),
            's' => return Ok(set(class("space"))),
            'w' => return Ok(set(class("word"))),
            'D' => return Ok(set(class("digit").complement())),
            'S' => return Ok(set(class("space").complement())),
            'W' => return Ok(set(class("word").complement())),
            '1'..='9' => match self.backreference() {
                Some(group) => return Ok(Token::Backreference(group)),
                None => self.octal()?,
            },
            c if c.is_ascii_alphanumeric() => return Err(invalid()),
            c => c,
        };
        Ok(self.char_token(plain))
    }

    /// A decimal number is a reference when it has one digit or there is such a group.
    fn backreference(&mut self) -> Option<usize> {
        let first = self.at - 1;
        let digits = self.pattern[first..]
            .iter()
            .take_while(|c| c.is_ascii_digit())
            .count();
        let number = self.pattern[first..first + digits]
            .iter()
            .try_fold(0usize, |value, c| {
                value.checked_mul(10)?.checked_add(c.to_digit(10)? as usize)
            })?;
        let refers = digits == 1 || number <= self.groups;
        refers.then(|| {
            self.at = first + digits;
            number
        })
    }

    /// Up to three octal digits, of which the first was read.
    fn octal(&mut self) -> SqlResult<char> {
        self.at -= 1;
        let first = self.at;
        let value = self.digits(8, 1, 3)?;
        if value <= 0xff {
            return Ok(value as u8 as char);
        }
        // A byte has no room for the third digit, which then stands for itself.
        self.at = first + 2;
        Ok((value >> 3) as u8 as char)
    }

    fn code(&mut self, base: u32, min: usize, max: usize) -> SqlResult<char> {
        let value = self.digits(base, min, max)?;
        char::from_u32(value).ok_or_else(|| syntax_error("invalid escape \\ sequence"))
    }

    /// A number of `min` to `max` digits; one that is too large for a character saturates.
    fn digits(&mut self, base: u32, min: usize, max: usize) -> SqlResult<u32> {
        let mut value = 0u32;
        let mut length = 0;
        while length < max
            && let Some(digit) = self.peek().and_then(|c| c.to_digit(base))
        {
            value = value.saturating_mul(base).saturating_add(digit);
            self.at += 1;
            length += 1;
        }
        match length < min {
            true => Err(syntax_error("invalid escape \\ sequence")),
            false => Ok(value),
        }
    }

    fn skip_blanks(&mut self) {
        loop {
            while self.peek().is_some_and(char::is_whitespace) {
                self.at += 1;
            }
            if self.peek() != Some('#') {
                return;
            }
            while self.peek().is_some_and(|c| c != '\n') {
                self.at += 1;
            }
        }
    }

    fn looking_at(&self, expected: &str) -> bool {
        let rest = &self.pattern[self.at..];
        expected.chars().count() <= rest.len() && expected.chars().zip(rest).all(|(a, b)| a == *b)
    }

    fn eat(&mut self, expected: char) -> bool {
        let found = self.peek() == Some(expected);
        self.at += found as usize;
        found
    }

    fn peek(&self) -> Option<char> {
        self.pattern.get(self.at).copied()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        Some(c)
    }
}

/// POSIX's names of characters, for `[.name.]`.
const ELEMENT_NAMES: &[(char, &[&str])] = &[
    ('\u{0}', &["NUL"]),
    ('\u{1}', &["SOH"]),
    ('\u{2}', &["STX"]),
    ('\u{3}', &["ETX"]),
    ('\u{4}', &["EOT"]),
    ('\u{5}', &["ENQ"]),
    ('\u{6}', &["ACK"]),
    ('\u{7}', &["BEL", "alert"]),
    ('\u{8}', &["BS", "backspace"]),
    ('\t', &["HT", "tab"]),
    ('\n', &["LF", "newline"]),
    ('\u{b}', &["VT", "vertical-tab"]),
    ('\u{c}', &["FF", "form-feed"]),
    ('\r', &["CR", "carriage-return"]),
    ('\u{e}', &["SO"]),
    ('\u{f}', &["SI"]),
    ('\u{10}', &["DLE"]),
    ('\u{11}', &["DC1"]),
    ('\u{12}', &["DC2"]),
    ('\u{13}', &["DC3"]),
    ('\u{14}', &["DC4"]),
    ('\u{15}', &["NAK"]),
    ('\u{16}', &["SYN"]),
    ('\u{17}', &["ETB"]),
    ('\u{18}', &["CAN"]),
    ('\u{19}', &["EM"]),
    ('\u{1a}', &["SUB"]),
    ('\u{1b}', &["ESC"]),
    ('\u{1c}', &["IS4", "FS"]),
    ('\u{1d}', &["IS3", "GS"]),
    ('\u{1e}', &["IS2", "RS"]),
    ('\u{1f}', &["IS1", "US"]),
    (' ', &["space"]),
    ('!', &["exclamation-mark"]),
    ('"', &["quotation-mark"]),
    ('#', &["number-sign"]),
    ('$', &["dollar-sign"]),
    ('%', &["percent-sign"]),
    ('&', &["ampersand"]),
    ('\'', &["apostrophe"]),
    ('(', &["left-parenthesis"]),
    (')', &["right-parenthesis"]),
    ('*', &["asterisk"]),
    ('+', &["plus-sign"]),
    (',', &["comma"]),
    ('-', &["hyphen", "hyphen-minus"]),
    ('.', &["period", "full-stop"]),
    ('/', &["slash", "solidus"]),
    ('0', &["zero"]),
    ('1', &["one"]),
    ('2', &["two"]),
    ('3', &["three"]),
    ('4', &["four"]),
    ('5', &["five"]),
    ('6', &["six"]),
    ('7', &["seven"]),
    ('8', &["eight"]),
    ('9', &["nine"]),
    (':', &["colon"]),
    (';', &["semicolon"]),
    ('<', &["less-than-sign"]),
    ('=', &["equals-sign"]),
    ('>', &["greater-than-sign"]),
    ('?', &["question-mark"]),
    ('@', &["commercial-at"]),
    ('[', &["left-square-bracket"]),
    ('\\', &["backslash", "reverse-solidus"]),
    (']', &["right-square-bracket"]),
    ('^', &["circumflex", "circumflex-accent"]),
    ('_', &["underscore", "low-line"]),
    ('`', &["grave-accent"]),
    ('{', &["left-brace", "left-curly-bracket"]),
    ('|', &["vertical-line"]),
    ('}', &["right-brace", "right-curly-bracket"]),
    ('~', &["tilde"]),
    ('\u{7f}', &["DEL"]),
];
