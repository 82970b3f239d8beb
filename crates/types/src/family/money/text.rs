//! Amounts as text, under `lc_monetary = C`, which is what mote obeys: `-$1,234.56`; and in words.

use crate::input_errors::invalid_syntax;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

const CURRENCY: u8 = b'$';
const POINT: u8 = b'.';
const GROUP: u8 = b',';
/// Digits behind the point.
const DECIMALS: usize = 2;

/// What is left of a text, one byte after the other.
struct Rest<'t>(&'t [u8]);

impl Rest<'_> {
    fn peek(&self) -> Option<u8> {
        self.0.first().copied()
    }

    fn advance(&mut self) {
        self.0 = &self.0[1..];
    }

    fn skip(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.advance();
        }
        found
    }

    fn skip_blanks(&mut self) {
        // What C's isspace takes: the vertical tab, too.
        while matches!(self.peek(), Some(b' ' | b'\t'..=b'\r')) {
            self.advance();
        }
    }

    fn digit(&self) -> Option<i64> {
        self.peek()
            .filter(u8::is_ascii_digit)
            .map(|byte| i64::from(byte - b'0'))
    }
}

/// Cents. As PostgreSQL reads them: signs, parentheses and the currency before or behind, commas anywhere among the digits.
pub fn parse(text: &str) -> SqlResult<i64> {
    let out_of_range = || {
        let message = format!("value \"{text}\" is out of range for type money");
        SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, message)
    };
    let mut rest = Rest(text.as_bytes());
    rest.skip_blanks();
    rest.skip(CURRENCY);
    rest.skip_blanks();
    let mut is_negative = rest.skip(b'-') || rest.skip(b'(');
    if !is_negative {
        rest.skip(b'+');
    }
    rest.skip_blanks();
    rest.skip(CURRENCY);
    rest.skip_blanks();
    let below_zero = digits(&mut rest).ok_or_else(out_of_range)?;
    while rest.digit().is_some() {
        rest.advance();
    }
    while let Some(byte) = rest.peek() {
        match byte {
            b' ' | b'\t'..=b'\r' | b')' | b'+' | CURRENCY => {}
            b'-' => is_negative = true,
            _ => return Err(invalid_syntax("money", text)),
        }
        rest.advance();
    }
    match is_negative {
        true => Ok(below_zero),
        false => below_zero.checked_neg().ok_or_else(out_of_range),
    }
}

/// The amount as a negative number, of which there is one more than of positive ones; rounded by the digit behind the last that
/// counts. None: out of range.
fn digits(rest: &mut Rest<'_>) -> Option<i64> {
    let (mut value, mut decimals, mut has_point) = (0i64, 0, false);
    while let Some(byte) = rest.peek() {
        match rest.digit() {
            Some(digit) if decimals < DECIMALS => {
                value = value.checked_mul(10)?.checked_sub(digit)?;
                decimals += usize::from(has_point);
            }
            None if byte == POINT && !has_point => has_point = true,
            None if byte == GROUP => {}
            _ => break,
        }
        rest.advance();
    }
    if rest.digit().is_some_and(|digit| digit >= 5) {
        value = value.checked_sub(1)?;
    }
    (decimals..DECIMALS).try_fold(value, |value, _| value.checked_mul(10))
}

pub fn write(cents: i64, out: &mut Vec<u8>) {
    if cents < 0 {
        out.push(b'-');
    }
    out.push(CURRENCY);
    let amount = cents.unsigned_abs();
    let whole = (amount / 100).to_string();
    for (place, digit) in whole.bytes().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            out.push(GROUP);
        }
        out.push(digit);
    }
    out.extend_from_slice(format!(".{:02}", amount % 100).as_bytes());
}

const SMALL: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 10] = [
    "", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
];
/// With the cents that one of each is.
const LARGE: [(u64, &str); 5] = [
    (100_000_000_000_000_000, " quadrillion "),
    (100_000_000_000_000, " trillion "),
    (100_000_000_000, " billion "),
    (100_000_000, " million "),
    (100_000, " thousand "),
];

/// A number below 1,000.
fn number_in_words(value: u64) -> String {
    let small = |value: u64| SMALL[value as usize];
    let (hundreds, rest) = (value / 100, value % 100);
    let below_hundred = match (rest / 10, rest % 10) {
        (0 | 1, _) => small(rest).to_string(),
        (tens, 0) => TENS[tens as usize].to_string(),
        (tens, ones) => format!("{} {}", TENS[tens as usize], small(ones)),
    };
    match (hundreds, rest) {
        (0, _) => below_hundred,
        (_, 0) => format!("{} hundred", small(hundreds)),
        // "one hundred and five", but "one hundred twenty five".
        (_, 1..=19) => format!("{} hundred and {below_hundred}", small(hundreds)),
        _ => format!("{} hundred {below_hundred}", small(hundreds)),
    }
}

/// As PostgreSQL's cash_words tells it, with two blanks behind a thousand that nothing follows.
pub fn in_words(cents: i64) -> String {
    let amount = cents.unsigned_abs();
    let mut words = String::new();
    for (one, name) in LARGE {
        let count = amount / one % 1_000;
        if count > 0 {
            words.push_str(&number_in_words(count));
            words.push_str(name);
        }
    }
    let whole = amount / 100 % 1_000;
    if whole > 0 {
        words.push_str(&number_in_words(whole));
    }
    if words.is_empty() {
        words.push_str("zero");
    }
    words.push_str(if amount / 100 == 1 {
        " dollar and "
    } else {
        " dollars and "
    });
    words.push_str(&number_in_words(amount % 100));
    words.push_str(if amount % 100 == 1 { " cent" } else { " cents" });
    let sign = if cents < 0 { "minus " } else { "" };
    let mut all = format!("{sign}{words}");
    all[..1].make_ascii_uppercase();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(cents: i64) -> String {
        let mut out = Vec::new();
        write(cents, &mut out);
        String::from_utf8(out).expect("it is text")
    }

    #[test]
    fn amounts_are_read_and_written() {
        for (text, cents) in [
            ("12", 1_200),
            (" $ 1,234.567 ", 123_457),
            ("(1)", -100),
            ("-$.5", -50),
            ("3$-", -300),
            ("", 0),
            ("-92233720368547758.08", i64::MIN),
        ] {
            assert_eq!(parse(text).ok(), Some(cents), "{text}");
        }
        for text in [
            "1.2.3",
            "x",
            "1 2",
            "$$$1",
            "92233720368547758.08",
            "-92233720368547758.085",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(written(-123_456_789), "-$1,234,567.89");
        assert_eq!(written(5), "$0.05");
        assert_eq!(written(i64::MIN), "-$92,233,720,368,547,758.08");
    }

    #[test]
    fn amounts_are_told_in_words() {
        assert_eq!(
            in_words(12_345),
            "One hundred twenty three dollars and forty five cents"
        );
        assert_eq!(in_words(-101), "Minus one dollar and one cent");
        assert_eq!(in_words(0), "Zero dollars and zero cents");
        assert_eq!(
            in_words(11_000_000),
            "One hundred and ten thousand  dollars and zero cents"
        );
    }
}
