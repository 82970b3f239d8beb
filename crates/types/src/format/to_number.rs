//! `to_number(text, template)`: the digits that a picture has places for.
//!
//! The text is read along the picture's parts. A part that finds nothing of its kind passes by, and what is no part
//! skips one character, whatever it is.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

use super::number_picture::{Anchor, Part, Picture};
use crate::numeric::Numeric;

pub fn to_number(text: &str, template: &str) -> SqlResult<Numeric> {
    let picture = Picture::parse(template)?;
    if picture.scientific || picture.roman {
        let name = if picture.scientific { "EEEE" } else { "RN" };
        let message = format!("\"{name}\" not supported for input");
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
    }
    let mut reader = Reader {
        text: text.chars().collect(),
        picture: &picture,
        at: 0,
        negative: None,
        number: String::new(),
        decimals: 0,
        point: false,
    };
    reader.read();
    let digits = reader.number.trim_end_matches('.');
    let sign = match reader.negative {
        Some(true) => "-",
        Some(false) => "+",
        None => " ",
    };
    let value = Numeric::parse(&format!("{sign}{digits}"))?;
    let precision = picture.whole + picture.shifted + reader.decimals;
    let value = value.apply_typmod(((precision << 16 | reader.decimals) + 4) as i32)?;
    match picture.shift {
        true => value.mul(&Numeric::from(10).power(&Numeric::from(-(picture.shifted as i32)))?),
        false => Ok(value),
    }
}

struct Reader<'a> {
    text: Vec<char>,
    picture: &'a Picture,
    at: usize,
    /// The sign, once there was one.
    negative: Option<bool>,
    number: String,
    /// Digits read behind the point.
    decimals: usize,
    point: bool,
}

impl Reader<'_> {
    fn read(&mut self) {
        let picture = self.picture;
        for part in &picture.parts {
            if self.current().is_none() {
                return;
            }
            match part {
                Part::Nine | Part::Zero | Part::Point => {
                    self.digit_place(*part);
                    self.at += 1;
                }
                Part::Comma | Part::Group => {
                    self.at += usize::from(!picture.fill_off && self.current() == Some(','));
                }
                Part::Currency => self.skip_others(1),
                Part::Ordinal { .. } if picture.point || self.negative == Some(true) => {}
                Part::Ordinal { .. } => self.skip_others(2),
                Part::Minus if self.current() == Some('-') => self.take_sign(),
                Part::Plus if self.current() == Some('+') => self.take_sign(),
                Part::AlwaysSign if matches!(self.current(), Some('-' | '+')) => self.take_sign(),
                Part::Minus | Part::Plus | Part::AlwaysSign => self.skip_others(1),
                Part::Roman { .. } | Part::Literal(_) => self.at += 1,
            }
        }
    }

    fn current(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn take_sign(&mut self) {
        self.negative = Some(matches!(self.current(), Some('-' | '<')));
        self.at += 1;
    }

    /// Skips characters that cannot be part of a number.
    fn skip_others(&mut self, count: usize) {
        for _ in 0..count {
            if self.current().is_some_and(|c| !"0123456789.,+-".contains(c)) {
                self.at += 1;
            }
        }
    }

    fn has_digits(&self) -> bool {
        self.number.bytes().any(|byte| byte.is_ascii_digit())
    }

    /// Reads a digit or the point, and the sign before the first or behind the last. The caller steps over it.
    fn digit_place(&mut self, part: Part) {
        let picture = self.picture;
        if self.current() == Some(' ') {
            self.at += 1;
        }
        if self.negative.is_none() && part != Part::Point && !self.has_digits() {
            let brackets = picture.brackets && picture.sign != Some(Anchor::Before);
            match self.current() {
                Some('-' | '+') => self.take_sign(),
                Some('<') if brackets => self.take_sign(),
                _ => {}
            }
        }
        let Some(c) = self.current() else {
            return;
        };
        let mut was_read = false;
        if c.is_ascii_digit() {
            if self.point && self.decimals == picture.decimals {
                return;
            }
            self.number.push(c);
            self.decimals += usize::from(self.point);
            was_read = true;
        } else if picture.point && !self.point && c == '.' {
            self.number.push('.');
            self.point = true;
            was_read = true;
        }
        if self.negative.is_none() && self.has_digits() {
            self.trailing_sign(c, was_read);
        }
    }

    /// A sign behind the last digit: where the picture has one, its place cannot be told from the digits' before.
    fn trailing_sign(&mut self, c: char, was_read: bool) {
        let picture = self.picture;
        if picture.sign.is_some() && was_read {
            if let Some(sign @ ('-' | '+')) = self.text.get(self.at + 1) {
                self.negative = Some(*sign == '-');
                self.at += 1;
            }
        } else if !was_read
            && picture.sign.is_none()
            && (picture.plus || picture.minus)
            && matches!(c, '-' | '+')
        {
            self.negative = Some(c == '-');
        }
    }
}
