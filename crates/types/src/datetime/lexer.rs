//! Cuts date and time input into tokens: what each part is by its shape, not yet by its meaning.
//!
//! Date input is not a grammar but a habit: fields come in any order, with any of several separators. The shapes
//! follow PostgreSQL: digits with `:` are a time, digits with `-`, `/` or `.` twice a date, a sign with digits a zone
//! offset, letters a word or a zone's name.

use super::names::month_by_name;

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token<'a> {
    /// Digits, perhaps with a fraction: `20240102`, `030405.678`.
    Number(&'a str),
    /// Two or three fields with this separator; month names allowed.
    Date(Vec<&'a str>, u8),
    /// `hh:mm[:ss[.fraction]]`
    Time(&'a str),
    /// `+hh[[:]mm[[:]ss]]` with its sign.
    Offset(&'a str),
    /// `J2451545`, perhaps with a fraction
    Julian(&'a str),
    /// Lower case; a sign in front belongs to it (`-infinity`).
    Word(String),
    /// A zone's name that is more than letters: `Europe/Berlin`, `EST5EDT`.
    ZoneName(&'a str),
}

/// The tokens, or `None` where a character fits nowhere.
pub(super) fn tokenize(text: &str) -> Option<Vec<Token<'_>>> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    while let Some(byte) = lexer.peek(0) {
        match byte {
            b' ' | b'\t'..=b'\r' => lexer.at += 1,
            b'0'..=b'9' => tokens.push(lexer.number()),
            b'a'..=b'z' | b'A'..=b'Z' => tokens.push(lexer.word()),
            b'+' | b'-' => tokens.push(lexer.signed()?),
            b'.' => return None,
            // Other punctuation parts fields and says nothing.
            mark if mark.is_ascii_punctuation() => lexer.at += 1,
            _ => return None,
        }
    }
    Some(tokens)
}

/// A short word that a number may follow, in lower case.
fn is_mark(word: &str) -> bool {
    matches!(
        word,
        "y" | "m" | "d" | "h" | "mm" | "s" | "t" | "j" | "jd" | "z" | "am" | "pm" | "bc" | "ad" | "at" | "on"
    )
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    fn take_while(&mut self, wanted: impl Fn(u8) -> bool) -> &'a str {
        let start = self.at;
        while self.peek(0).is_some_and(&wanted) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    fn number(&mut self) -> Token<'a> {
        let start = self.at;
        let digits = self.take_while(|b| b.is_ascii_digit());
        match self.peek(0) {
            Some(b':') => {
                self.take_while(|b| b.is_ascii_digit() || b == b':');
                if self.peek(0) == Some(b'.') {
                    self.at += 1;
                    self.take_while(|b| b.is_ascii_digit());
                }
                Token::Time(&self.text[start..self.at])
            }
            Some(b'.') if self.is_fraction() => {
                self.at += 1;
                self.take_while(|b| b.is_ascii_digit());
                Token::Number(&self.text[start..self.at])
            }
            Some(separator @ (b'-' | b'/' | b'.'))
                if self.peek(1).is_some_and(|b| b.is_ascii_alphanumeric()) =>
            {
                self.date(digits, separator)
            }
            _ => Token::Number(digits),
        }
    }

    /// True where a point is followed by digits and those by no second point.
    fn is_fraction(&self) -> bool {
        let rest = &self.text.as_bytes()[self.at + 1..];
        let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        rest.get(digits) != Some(&b'.') && !rest.first().is_some_and(u8::is_ascii_alphabetic)
    }

    /// The fields of a date, the first already taken. A field is digits or letters, so `02T03` ends behind `02`.
    fn date(&mut self, first: &'a str, separator: u8) -> Token<'a> {
        let mut fields = vec![first];
        while fields.len() < 3
            && self.peek(0) == Some(separator)
            && self.peek(1).is_some_and(|b| b.is_ascii_alphanumeric())
        {
            self.at += 1;
            let is_number = self.peek(0).is_some_and(|b| b.is_ascii_digit());
            fields.push(self.take_while(|b| {
                if is_number {
                    b.is_ascii_digit()
                } else {
                    b.is_ascii_alphabetic()
                }
            }));
        }
        Token::Date(fields, separator)
    }

    fn word(&mut self) -> Token<'a> {
        let start = self.at;
        let letters = self.take_while(|b| b.is_ascii_alphabetic());
        let lower = letters.to_ascii_lowercase();
        let next = self.peek(0);
        let digit_follows = next.is_some_and(|b| b.is_ascii_digit());
        if lower == "j" && digit_follows {
            let start = self.at;
            self.take_while(|b| b.is_ascii_digit());
            if self.peek(0) == Some(b'.') {
                self.at += 1;
                self.take_while(|b| b.is_ascii_digit());
            }
            return Token::Julian(&self.text[start..self.at]);
        }
        if month_by_name(&lower).is_some() {
            if let Some(separator @ (b'-' | b'/' | b'.')) = next
                && self.peek(1).is_some_and(|b| b.is_ascii_digit())
            {
                return self.date(letters, separator);
            }
            return Token::Word(lower);
        }
        let signed_digit =
            matches!(next, Some(b'+' | b'-')) && self.peek(1).is_some_and(|b| b.is_ascii_digit());
        let names_zone = (digit_follows || signed_digit) && (letters.len() >= 3 || !is_mark(&lower));
        if matches!(next, Some(b'/' | b'_')) || names_zone {
            self.take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'_' | b'+' | b'-' | b':'));
            return Token::ZoneName(&self.text[start..self.at]);
        }
        Token::Word(lower)
    }

    fn signed(&mut self) -> Option<Token<'a>> {
        let start = self.at;
        let sign = self.peek(0)?;
        self.at += 1;
        if self.peek(0)?.is_ascii_digit() {
            self.take_while(|b| b.is_ascii_digit() || b == b':');
            return Some(Token::Offset(&self.text[start..self.at]));
        }
        self.take_while(|b| b == b' ');
        let letters = self.take_while(|b| b.is_ascii_alphabetic()).to_ascii_lowercase();
        match sign {
            _ if letters.is_empty() => None,
            b'-' => Some(Token::Word(format!("-{letters}"))),
            _ => Some(Token::Word(letters)),
        }
    }
}
