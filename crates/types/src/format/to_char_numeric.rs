//! `to_char(number, template)`: digits by picture.
//!
//! The number becomes a string of digits with as many decimals as the picture has places for; the picture's parts
//! then take from it one by one. `9` is a digit or a blank, `0` a digit, `S`/`MI`/`PL`/`SG`/`PR` place the sign, `FM`
//! drops the filling, `EEEE` is scientific, `V` shifts the point, `RN` is Roman, `TH` an ordinal's ending.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

use super::number_picture::{Anchor, Part, Picture};
use crate::numeric::Numeric;

/// A number to show. Floats show as many digits as their type holds.
#[derive(Clone, Copy)]
pub enum Number<'a> {
    Numeric(&'a Numeric),
    Float4(f32),
    Float8(f64),
}

/// Roman numbers go to 3999; what is beyond fills their width.
const ROMAN_WIDTH: usize = 15;

pub fn to_char(value: Number<'_>, template: &str) -> SqlResult<String> {
    let mut picture = Picture::parse(template)?;
    if picture.scientific {
        return Ok(scientific(value, &picture));
    }
    if picture.roman {
        let number = match value {
            Number::Numeric(value) => value.round(0).to_i32()?,
            Number::Float4(value) => value.round_ties_even() as i32,
            Number::Float8(value) => value.round_ties_even() as i32,
        };
        let roman = Picture {
            parts: picture.parts,
            fill_off: picture.fill_off,
            roman: true,
            ..Picture::default()
        };
        return Layout::new(&roman, roman_digits(number), 0, false).render();
    }
    let shown = digits(value, &mut picture)?;
    let (negative, mut digits) = match shown.strip_prefix('-') {
        Some(digits) => (true, digits.to_string()),
        None => (false, shown),
    };
    let whole = digits.find('.').unwrap_or(digits.len());
    let missing = picture.whole.saturating_sub(whole);
    if whole > picture.whole {
        digits = format!("{}.{}", "#".repeat(picture.whole), "#".repeat(picture.decimals));
    }
    Layout::new(&picture, digits, missing, negative).render()
}

/// The number in decimal, rounded to the picture's places. A `V` multiplies it by its places' power of ten.
fn digits(value: Number<'_>, picture: &mut Picture) -> SqlResult<String> {
    if picture.shift {
        picture.whole += picture.shifted;
    }
    let power = 10f64.powi(picture.shifted as i32);
    let (value, precision) = match value {
        Number::Numeric(value) => {
            let power = Numeric::parse(&format!("1e{}", picture.shifted))?;
            let shifted = if picture.shift {
                value.mul(&power)?
            } else {
                value.clone()
            };
            return Ok(shifted.round(picture.decimals as i32).to_string());
        }
        Number::Float4(value) if picture.shift => ((value * power as f32) as f64, f32::DIGITS),
        Number::Float4(value) => (value as f64, f32::DIGITS),
        Number::Float8(value) if picture.shift => (value * power, f64::DIGITS),
        Number::Float8(value) => (value, f64::DIGITS),
    };
    let name = (!value.is_finite()).then(|| float_name(value));
    let whole = name.map_or_else(
        || format!("{:.0}", value.abs()).len(),
        |name| name.trim_start_matches('-').len(),
    );
    picture.decimals = picture.decimals.min((precision as usize).saturating_sub(whole));
    Ok(name.map_or_else(|| format!("{:.*}", picture.decimals, value), str::to_string))
}

fn float_name(value: f64) -> &'static str {
    match value.is_nan() {
        true => "NaN",
        false if value < 0.0 => "-Infinity",
        false => "Infinity",
    }
}

fn scientific(value: Number<'_>, picture: &Picture) -> String {
    let (is_finite, shown) = match value {
        Number::Numeric(value) => (value.is_finite(), numeric_scientific(value, picture.decimals)),
        Number::Float4(value) => (
            value.is_finite(),
            float_scientific(value as f64, picture.decimals),
        ),
        Number::Float8(value) => (value.is_finite(), float_scientific(value, picture.decimals)),
    };
    if !is_finite {
        // The sign's place, the digits and the point, and as much as the shortest exponent takes.
        return format!(
            " {}.{}",
            "#".repeat(picture.whole),
            "#".repeat(picture.decimals + 4)
        );
    }
    match shown.starts_with('-') {
        true => shown,
        false => format!(" {shown}"),
    }
}

fn float_scientific(value: f64, decimals: usize) -> String {
    let shown = format!("{value:.decimals$e}");
    let (mantissa, exponent) = shown.split_once('e').unwrap_or((&shown, "0"));
    with_exponent(mantissa, exponent.parse().unwrap_or(0))
}

fn with_exponent(mantissa: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

fn numeric_scientific(value: &Numeric, decimals: usize) -> String {
    let shown = value.abs().to_string();
    let (whole, fraction) = shown.split_once('.').unwrap_or((&shown, ""));
    let significant: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
    let leading = significant.iter().take_while(|&&digit| digit == b'0').count();
    let exponent = match leading == significant.len() {
        true => 0,
        false => whole.len() as i32 - 1 - leading as i32,
    };
    let sign = if value.is_negative() { "-" } else { "" };
    let kept = significant.get(leading..).unwrap_or(&[]);
    let point = match kept.split_first() {
        Some((first, rest)) => {
            // One more digit than are shown, and whether anything follows, decide the rounding.
            let rest = String::from_utf8_lossy(&rest[..rest.len().min(decimals + 1)]).into_owned();
            format!("{}.{rest}", *first as char)
        }
        None => "0".to_string(),
    };
    let rounded = Numeric::parse(&point).map(|mantissa| mantissa.round(decimals as i32));
    let mantissa = rounded.map_or(point, |rounded| rounded.to_string());
    with_exponent(&format!("{sign}{mantissa}"), exponent)
}

fn roman_digits(number: i32) -> String {
    const VALUES: [(i32, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    if !(1..=3999).contains(&number) {
        return "#".repeat(ROMAN_WIDTH);
    }
    let mut left = number;
    let mut out = String::new();
    for (value, name) in VALUES {
        while left >= value {
            out.push_str(name);
            left -= value;
        }
    }
    out
}

/// Digits being laid into a picture.
struct Layout<'a> {
    picture: &'a Picture,
    digits: String,
    /// Places before the first digit.
    missing: usize,
    negative: bool,
    sign: Option<Anchor>,
    brackets: bool,
    sign_done: bool,
    /// The last character that `FM` keeps: trailing zeros of the decimals go.
    last_relevant: Option<usize>,
    /// Places with a digit, the sign's among them.
    places: isize,
    /// The next character of `digits`.
    at: usize,
    place: usize,
    /// The last place had a digit: a group mark follows.
    in_digits: bool,
    out: String,
}

impl<'a> Layout<'a> {
    fn new(picture: &'a Picture, digits: String, missing: usize, negative: bool) -> Layout<'a> {
        let own_sign = picture.plus || picture.minus;
        let silent = !negative && picture.fill_off && picture.sign.is_none();
        let sign_done = match own_sign {
            true => picture.minus,
            false => silent,
        };
        // An S that all digits stand before belongs behind them.
        let sign = match picture.sign {
            Some(Anchor::Before) if !own_sign && picture.whole == picture.sign_place => Some(Anchor::Behind),
            sign => sign,
        };
        let brackets = picture.brackets && (negative || !picture.fill_off);
        let mut last_relevant = None;
        if picture.fill_off && picture.point {
            last_relevant = last_relevant_digit(&digits);
            if let Some(last) = last_relevant.as_mut()
                && picture.zeros_end > missing
            {
                *last = (*last).max((picture.zeros_end - missing).min(digits.len() - 1));
            }
        }
        let places = (picture.decimals + picture.whole) as isize - 1;
        let places = places + isize::from(!sign_done && missing == 0);
        Layout {
            picture,
            digits,
            missing,
            negative,
            sign,
            brackets,
            sign_done,
            last_relevant,
            places,
            at: 0,
            place: 0,
            in_digits: false,
            out: String::new(),
        }
    }

    fn render(mut self) -> SqlResult<String> {
        for part in &self.picture.parts {
            match *part {
                Part::Nine | Part::Zero | Part::Point if self.picture.roman => {}
                Part::Nine | Part::Zero | Part::Point => self.digit_place(*part),
                Part::Comma | Part::Group => match (self.in_digits, self.picture.fill_off) {
                    (true, _) => self.out.push(','),
                    (false, false) => self.out.push(' '),
                    (false, true) => {}
                },
                // The C locale has no currency sign.
                Part::Currency => self.out.push(' '),
                Part::Minus => self.own_sign('-', self.negative),
                Part::Plus => self.own_sign('+', !self.negative),
                Part::AlwaysSign => self.out.push(self.sign_char()),
                Part::Roman { upper } => self.roman(upper),
                Part::Ordinal { upper } => self.ordinal(upper)?,
                Part::Literal(c) => self.out.push(c),
            }
        }
        // A place beyond the digits there are ends the text.
        if let Some(end) = self.out.find('\0') {
            self.out.truncate(end);
        }
        Ok(self.out)
    }

    fn sign_char(&self) -> char {
        match self.negative {
            true => '-',
            false => '+',
        }
    }

    fn own_sign(&mut self, sign: char, shown: bool) {
        match (shown, self.picture.fill_off) {
            (true, _) => self.out.push(sign),
            (false, false) => self.out.push(' '),
            (false, true) => {}
        }
    }

    fn roman(&mut self, upper: bool) {
        let digits = match upper {
            true => self.digits.clone(),
            false => self.digits.to_ascii_lowercase(),
        };
        let width = if self.picture.fill_off { 0 } else { ROMAN_WIDTH };
        self.out.push_str(&format!("{digits:>width$}"));
    }

    fn ordinal(&mut self, upper: bool) -> SqlResult<()> {
        if self.picture.roman || self.digits.starts_with('#') || self.negative || self.picture.point {
            return Ok(());
        }
        let digits = self.digits.as_bytes();
        let last = digits.last().copied().unwrap_or(0);
        if !last.is_ascii_digit() {
            let message = format!("\"{}\" is not a number", self.digits);
            return Err(SqlError::new(state::INVALID_TEXT_REPRESENTATION, message));
        }
        let teen = digits.len() > 1 && digits[digits.len() - 2] == b'1';
        let ending = match last {
            b'1' if !teen => "ST",
            b'2' if !teen => "ND",
            b'3' if !teen => "RD",
            _ => "TH",
        };
        match upper {
            true => self.out.push_str(ending),
            false => self.out.push_str(&ending.to_ascii_lowercase()),
        }
        Ok(())
    }

    fn current(&self) -> Option<u8> {
        self.digits.as_bytes().get(self.at).copied()
    }

    fn ends_in_point(&self) -> bool {
        self.last_relevant
            .is_some_and(|last| self.digits.as_bytes()[last] == b'.')
    }

    /// The zero before the point of a number below one, for which the picture has a blank.
    fn is_blank_zero(&self) -> bool {
        let picture = self.picture;
        picture.first_zero.is_none() && self.at == 0 && self.current() == Some(b'0') && picture.decimals != 0
    }

    fn digit_place(&mut self, part: Part) {
        self.in_digits = false;
        self.lead_with_sign();
        let fill = !self.picture.fill_off;
        let zero_from = self.picture.first_zero.unwrap_or(usize::MAX);
        if self.place < self.missing && zero_from > self.place {
            if fill {
                self.out.push(' ');
            }
        } else if self.place < self.missing {
            self.out.push('0');
            self.in_digits = true;
        } else {
            self.take(part, fill);
        }
        self.close_sign();
        self.place += 1;
    }

    /// Takes the next character of the digits into a place.
    fn take(&mut self, part: Part, fill: bool) {
        match self.current() {
            Some(b'.') => {
                if !self.ends_in_point() || self.picture.fill_off {
                    self.out.push('.');
                }
            }
            _ if self.last_relevant.is_some_and(|last| self.at > last) && part != Part::Zero => {}
            _ if self.is_blank_zero() => {
                if fill {
                    self.out.push(' ');
                } else if self.ends_in_point() {
                    self.out.push('0');
                }
            }
            digit => {
                self.out.push(digit.unwrap_or(0) as char);
                self.in_digits = true;
            }
        }
        self.at += usize::from(self.current().is_some());
    }

    /// Before the first place with something in it, unless the sign has a place of its own.
    fn lead_with_sign(&mut self) {
        let reached = self.place >= self.missing || self.picture.first_zero == Some(self.place);
        if self.sign_done || !reached || self.is_blank_zero() && !self.ends_in_point() {
            return;
        }
        match self.sign {
            Some(Anchor::Before) => self.out.push(self.sign_char()),
            Some(Anchor::Behind) => return,
            None if self.brackets => self.out.push(if self.negative { '<' } else { ' ' }),
            None if self.negative => self.out.push('-'),
            None if !self.picture.fill_off => self.out.push(' '),
            None => {}
        }
        self.sign_done = true;
    }

    /// Behind the last place.
    fn close_sign(&mut self) {
        let end = self.places + isize::from(self.missing > 0) + isize::from(self.picture.point);
        if self.last_relevant == Some(self.at) || self.place as isize + 1 != end {
            return;
        }
        if self.sign_done && self.brackets {
            self.out.push(if self.negative { '>' } else { ' ' });
        } else if self.sign == Some(Anchor::Behind) {
            self.out.push(self.sign_char());
        }
    }
}

/// The last digit behind the point that is no zero, or the point.
fn last_relevant_digit(digits: &str) -> Option<usize> {
    let point = digits.find('.')?;
    let last = digits.as_bytes()[point..]
        .iter()
        .rposition(|&digit| digit != b'0');
    last.map(|last| point + last)
}
