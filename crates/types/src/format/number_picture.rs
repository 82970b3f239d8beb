//! The template of `to_char(number, ..)` and `to_number`: what it asks for, and what it may not combine.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    Nine,
    Zero,
    /// `.` or `D`: no locale has another mark here.
    Point,
    Comma,
    /// `G`
    Group,
    /// `L`
    Currency,
    /// `MI`
    Minus,
    /// `PL`
    Plus,
    /// `SG`
    AlwaysSign,
    Roman {
        upper: bool,
    },
    Ordinal {
        upper: bool,
    },
    Literal(char),
}

/// Where `S` puts the sign: it is anchored to the digits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Anchor {
    Before,
    Behind,
}

#[derive(Clone, Default, Debug)]
pub(super) struct Picture {
    pub parts: Vec<Part>,
    /// Places for digits before the point, behind it, and behind a `V`.
    pub whole: usize,
    pub decimals: usize,
    pub shifted: usize,
    pub point: bool,
    pub shift: bool,
    /// The place of the first `0` before the point, counted from 0.
    pub first_zero: Option<usize>,
    /// Behind the last `0`, counted from the first place.
    pub zeros_end: usize,
    pub sign: Option<Anchor>,
    /// Places before the `S`.
    pub sign_place: usize,
    pub fill_off: bool,
    pub brackets: bool,
    pub minus: bool,
    pub plus: bool,
    pub roman: bool,
    pub scientific: bool,
    pub blank: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Key {
    Part(Part),
    Blank,
    FillOff,
    Sign,
    Brackets,
    Shift,
    Scientific,
    /// Known, and without effect.
    Nothing,
}

/// Keys in the order in which they are looked for, in upper case. A template has them in one case or the other.
const KEYS: &[(&str, Key)] = &[
    (",", Key::Part(Part::Comma)),
    (".", Key::Part(Part::Point)),
    ("0", Key::Part(Part::Zero)),
    ("9", Key::Part(Part::Nine)),
    ("B", Key::Blank),
    ("C", Key::Nothing),
    ("D", Key::Part(Part::Point)),
    ("EEEE", Key::Scientific),
    ("FM", Key::FillOff),
    ("G", Key::Part(Part::Group)),
    ("L", Key::Part(Part::Currency)),
    ("MI", Key::Part(Part::Minus)),
    ("PL", Key::Part(Part::Plus)),
    ("PR", Key::Brackets),
    ("RN", Key::Part(Part::Roman { upper: true })),
    ("SG", Key::Part(Part::AlwaysSign)),
    ("SP", Key::Nothing),
    ("S", Key::Sign),
    ("TH", Key::Part(Part::Ordinal { upper: true })),
    ("V", Key::Shift),
];

fn key_at(rest: &str) -> Option<(Key, usize)> {
    for &(name, key) in KEYS {
        if rest.starts_with(name) {
            return Some((key, name.len()));
        }
        if rest.starts_with(&name.to_ascii_lowercase()) {
            let key = match key {
                Key::Part(Part::Roman { .. }) => Key::Part(Part::Roman { upper: false }),
                Key::Part(Part::Ordinal { .. }) => Key::Part(Part::Ordinal { upper: false }),
                key => key,
            };
            return Some((key, name.len()));
        }
    }
    None
}

fn refuse(message: &str) -> SqlError {
    SqlError::new(state::SYNTAX_ERROR, message)
}

impl Picture {
    pub fn parse(template: &str) -> SqlResult<Picture> {
        let mut picture = Picture::default();
        let mut rest = template;
        while let Some(c) = rest.chars().next() {
            if let Some((key, length)) = key_at(rest) {
                picture.note(key)?;
                if let Key::Part(part) = key {
                    picture.parts.push(part);
                }
                rest = &rest[length..];
            } else if c == '"' {
                rest = picture.quoted(&rest[1..]);
            } else {
                // Outside quotes a backslash matters before a quote only.
                let literal = match rest.starts_with("\\\"") {
                    true => '"',
                    false => c,
                };
                picture.parts.push(Part::Literal(literal));
                rest = &rest[if rest.starts_with("\\\"") { 2 } else { c.len_utf8() }..];
            }
        }
        Ok(picture)
    }

    /// Text in quotes, where a backslash quotes one character; gives what stands behind.
    fn quoted<'a>(&mut self, text: &'a str) -> &'a str {
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            let literal = match c {
                '"' => break,
                '\\' => chars.next().unwrap_or('\\'),
                c => c,
            };
            self.parts.push(Part::Literal(literal));
        }
        chars.as_str()
    }

    /// Counts a key and refuses it where it does not fit what came before.
    fn note(&mut self, key: Key) -> SqlResult<()> {
        if self.scientific && key != Key::Scientific {
            return Err(refuse("\"EEEE\" must be the last pattern used"));
        }
        match key {
            Key::Part(part) => self.note_part(part)?,
            Key::Blank => self.blank |= self.whole == 0 && self.decimals == 0 && self.first_zero.is_none(),
            Key::FillOff => self.fill_off = true,
            Key::Sign => self.note_sign()?,
            Key::Brackets => {
                if self.sign.is_some() || self.plus || self.minus {
                    return Err(refuse(
                        "cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together",
                    ));
                }
                self.brackets = true;
            }
            Key::Shift => {
                if self.point {
                    return Err(refuse("cannot use \"V\" and decimal point together"));
                }
                self.shift = true;
            }
            Key::Scientific => self.note_scientific()?,
            Key::Nothing => {}
        }
        Ok(())
    }

    fn note_part(&mut self, part: Part) -> SqlResult<()> {
        let with_sign = |name: &str| refuse(&format!("cannot use \"S\" and \"{name}\" together"));
        match part {
            Part::Nine | Part::Zero if self.brackets => {
                let digit = if part == Part::Nine { '9' } else { '0' };
                return Err(refuse(&format!("\"{digit}\" must be ahead of \"PR\"")));
            }
            Part::Nine if self.shift => self.shifted += 1,
            Part::Nine if self.point => self.decimals += 1,
            Part::Nine => self.whole += 1,
            Part::Zero => {
                if self.point {
                    self.decimals += 1;
                } else {
                    self.first_zero.get_or_insert(self.whole);
                    self.whole += 1;
                }
                self.zeros_end = self.whole + self.decimals;
            }
            Part::Point if self.point => return Err(refuse("multiple decimal points")),
            Part::Point if self.shift => {
                return Err(refuse("cannot use \"V\" and decimal point together"));
            }
            Part::Point => self.point = true,
            Part::Minus if self.sign.is_some() => return Err(with_sign("MI")),
            Part::Minus => self.minus = true,
            Part::Plus if self.sign.is_some() => return Err(with_sign("PL")),
            Part::Plus => self.plus = true,
            Part::AlwaysSign if self.sign.is_some() => return Err(with_sign("SG")),
            Part::AlwaysSign => (self.minus, self.plus) = (true, true),
            Part::Roman { .. } => self.roman = true,
            Part::Comma | Part::Group | Part::Currency | Part::Ordinal { .. } | Part::Literal(_) => {}
        }
        Ok(())
    }

    fn note_sign(&mut self) -> SqlResult<()> {
        if self.sign.is_some() {
            return Err(refuse("cannot use \"S\" twice"));
        }
        if self.plus || self.minus || self.brackets {
            return Err(refuse(
                "cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together",
            ));
        }
        self.sign = Some(match self.point {
            true => Anchor::Behind,
            false => Anchor::Before,
        });
        self.sign_place = self.whole;
        Ok(())
    }

    fn note_scientific(&mut self) -> SqlResult<()> {
        if self.scientific {
            return Err(refuse("cannot use \"EEEE\" twice"));
        }
        let others = self.blank || self.fill_off || self.brackets || self.minus || self.plus || self.roman;
        if others || self.shift || self.sign.is_some() {
            let detail = "\"EEEE\" may only be used together with digit and decimal point patterns.";
            return Err(refuse("\"EEEE\" is incompatible with other formats").detail(detail));
        }
        self.scientific = true;
        Ok(())
    }
}
