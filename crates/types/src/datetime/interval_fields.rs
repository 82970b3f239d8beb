//! Cuts the text of an interval into fields by their shape, as PostgreSQL's ParseDateTime does.
//!
//! Blanks and signs that mean nothing stand between fields, and nothing else tells where one ends: `1day2hours` is three
//! fields, since letters that a digit follows are a word only if dates know it. Leaves out: what fields mean.

/// What PostgreSQL's buffers hold: the rest of it no interval is.
const FIELDS_MAX: usize = 25;
const BYTES_MAX: usize = 256;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// Digits, or with a point.
    Number,
    /// Digits and a colon.
    Clock,
    /// Digits with another separator, or letters with more than letters.
    Date,
    /// A sign and digits with any separators.
    Signed,
    Word,
    /// A sign and letters.
    SignedWord,
}

/// Lower case.
pub(super) struct Field {
    pub shape: Shape,
    pub text: String,
}

/// The fields, or `None` where a character belongs to none, or where there are too many.
pub(super) fn fields(text: &str) -> Option<Vec<Field>> {
    let mut cutter = Cutter {
        rest: text.as_bytes(),
        field: String::new(),
        room: BYTES_MAX - 1,
    };
    let mut fields = Vec::new();
    while let Some(&byte) = cutter.rest.first() {
        let shape = match byte {
            _ if is_space(byte) => {
                cutter.rest = &cutter.rest[1..];
                continue;
            }
            b'0'..=b'9' => cutter.number()?,
            b'.' => {
                cutter.take()?;
                cutter.take_while(|byte| byte.is_ascii_digit())?;
                Shape::Number
            }
            b'a'..=b'z' | b'A'..=b'Z' => cutter.word()?,
            b'+' | b'-' => cutter.signed()?,
            _ if byte.is_ascii_punctuation() => {
                cutter.rest = &cutter.rest[1..];
                continue;
            }
            _ => return None,
        };
        if fields.len() == FIELDS_MAX {
            return None;
        }
        let text = std::mem::take(&mut cutter.field);
        fields.push(Field { shape, text });
        // Each ends in a zero.
        cutter.room = cutter.room.saturating_sub(1);
    }
    Some(fields)
}

/// Blanks of C's isspace.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

struct Cutter<'a> {
    rest: &'a [u8],
    field: String,
    room: usize,
}

impl Cutter<'_> {
    fn next_is(&self, wanted: impl Fn(u8) -> bool) -> bool {
        self.rest.first().is_some_and(|&byte| wanted(byte))
    }

    fn take(&mut self) -> Option<()> {
        let (&byte, rest) = self.rest.split_first()?;
        self.room = self.room.checked_sub(1)?;
        self.field.push(byte.to_ascii_lowercase() as char);
        self.rest = rest;
        Some(())
    }

    fn take_while(&mut self, wanted: impl Fn(u8) -> bool) -> Option<()> {
        while self.next_is(&wanted) {
            self.take()?;
        }
        Some(())
    }

    fn number(&mut self) -> Option<Shape> {
        let is_digit = |byte: u8| byte.is_ascii_digit();
        self.take_while(is_digit)?;
        let separator = match self.rest.first() {
            Some(b':') => {
                self.take_while(|byte| is_digit(byte) || matches!(byte, b':' | b'.'))?;
                return Some(Shape::Clock);
            }
            Some(&separator @ (b'-' | b'/' | b'.')) => separator,
            _ => return Some(Shape::Number),
        };
        self.take()?;
        if !self.next_is(is_digit) {
            self.take_while(|byte| byte.is_ascii_alphanumeric() || byte == separator)?;
            return Some(Shape::Date);
        }
        self.take_while(is_digit)?;
        if self.next_is(|byte| byte == separator) {
            self.take_while(|byte| is_digit(byte) || byte == separator)?;
            return Some(Shape::Date);
        }
        Some(match separator {
            b'.' => Shape::Number,
            _ => Shape::Date,
        })
    }

    fn word(&mut self) -> Option<Shape> {
        self.take_while(|byte| byte.is_ascii_alphabetic())?;
        let is_date = match self.rest.first() {
            Some(b'-' | b'/' | b'.') => true,
            Some(b'+' | b'0'..=b'9') => !is_date_word(&self.field),
            _ => false,
        };
        if !is_date {
            return Some(Shape::Word);
        }
        self.take_while(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'/' | b'_' | b'.' | b':')
        })?;
        Some(Shape::Date)
    }

    fn signed(&mut self) -> Option<Shape> {
        self.take()?;
        while self.next_is(is_space) {
            self.rest = &self.rest[1..];
        }
        if self.next_is(|byte| byte.is_ascii_digit()) {
            self.take_while(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.' | b'-'))?;
            return Some(Shape::Signed);
        }
        if self.next_is(|byte| byte.is_ascii_alphabetic()) {
            self.take_while(|byte| byte.is_ascii_alphabetic())?;
            return Some(Shape::SignedWord);
        }
        None
    }
}

/// Words of dates and times.
#[rustfmt::skip]
fn is_date_word(lower: &str) -> bool {
    super::names::month_by_name(lower).is_some()
        || super::names::is_weekday(lower)
        || matches!(
            lower,
            "ad" | "allballs" | "am" | "at" | "bc" | "d" | "dow" | "doy" | "dst" | "epoch" | "h" | "infinity" | "isodow"
                | "isoyear" | "j" | "jd" | "julian" | "m" | "mm" | "now" | "on" | "pm" | "s" | "t" | "today" | "tomorrow"
                | "y" | "yesterday"
        )
}
