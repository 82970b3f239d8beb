//! Values on a line: which of two comes first, and how far between two others one is.

use std::cmp::Ordering;

use mote_types::Datum;

/// Letters of a text that are looked at: further ones are below the precision of a float.
const LETTERS: usize = 8;

/// The order of two values of one type, or of two types of numbers or of times. None: they do not compare.
pub fn compare(left: &Datum, right: &Datum) -> Option<Ordering> {
    let alike = std::mem::discriminant(left) == std::mem::discriminant(right);
    match (left.as_str(), right.as_str()) {
        (Some(_), Some(_)) => Some(mote_types::compare(left, right)),
        _ if alike => Some(mote_types::compare(left, right)),
        _ => number(left)?.partial_cmp(&number(right)?),
    }
}

/// How far `value` is on the way from `low` to `high`, between 0 and 1; the middle where that cannot be said.
pub fn position(value: &Datum, low: &Datum, high: &Datum) -> f64 {
    const MIDDLE: f64 = 0.5;
    let numbers = match (low.as_str(), value.as_str(), high.as_str()) {
        (Some(low), Some(value), Some(high)) => Some(text_numbers(low, value, high)),
        _ => number(low)
            .zip(number(value))
            .zip(number(high))
            .map(|((low, value), high)| (low, value, high)),
    };
    match numbers {
        Some((low, value, high)) if high > low && (high - low).is_finite() => {
            let part = (value - low) / (high - low);
            if part.is_nan() {
                MIDDLE
            } else {
                part.clamp(0.0, 1.0)
            }
        }
        _ => MIDDLE,
    }
}

/// Numbers as they are; times in microseconds since 2000, so that dates and timestamps are on one line.
fn number(value: &Datum) -> Option<f64> {
    const DAY_US: f64 = 86_400_000_000.0;
    const MONTH_US: f64 = 30.0 * DAY_US;
    Some(match value {
        Datum::Bool(value) => f64::from(u8::from(*value)),
        Datum::Unsigned8(value) => *value as f64,
        Datum::Float4(value) => f64::from(*value),
        Datum::Float8(value) => *value,
        Datum::Numeric(value) => value.to_f64(),
        Datum::Date(days) => f64::from(*days) * DAY_US,
        Datum::Time(us) | Datum::Timestamp(us) | Datum::TimestampTz(us) => *us as f64,
        Datum::Interval(span) => {
            f64::from(span.months) * MONTH_US + f64::from(span.days) * DAY_US + span.us as f64
        }
        Datum::Uuid(bytes) => digits(bytes, 0, u8::MAX),
        other => other.as_i64()? as f64,
    })
}

/// Texts as fractions in the base of the letters that they use, behind what all three begin with.
fn text_numbers(low: &str, value: &str, high: &str) -> (f64, f64, f64) {
    let texts = [low.as_bytes(), value.as_bytes(), high.as_bytes()];
    let same = |at: &usize| {
        let letter = texts[0].get(*at);
        letter.is_some() && texts.iter().all(|text| text.get(*at) == letter)
    };
    let shared = (0..).take_while(same).count();
    let texts = texts.map(|text| &text[shared..]);
    let (mut first, mut last) = (u8::MAX, 0);
    for &letter in texts.iter().flat_map(|text| text.iter().take(LETTERS)) {
        (first, last) = (first.min(letter), last.max(letter));
    }
    // Who uses one digit, capital or small letter uses all of them.
    for (from, to) in [(b'0', b'9'), (b'A', b'Z'), (b'a', b'z')] {
        if first <= to && last >= from {
            (first, last) = (first.min(from), last.max(to));
        }
    }
    let [low, value, high] = texts.map(|text| digits(text, first, last));
    (low, value, high)
}

/// Bytes as a fraction with a digit for each; what ends is before what goes on.
fn digits(bytes: &[u8], first: u8, last: u8) -> f64 {
    let base = f64::from(last.saturating_sub(first)) + 2.0;
    let (mut sum, mut unit) = (0.0, 1.0 / base);
    for &byte in bytes.iter().take(LETTERS) {
        sum += (f64::from(byte.saturating_sub(first)) + 1.0) * unit;
        unit /= base;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_different_types_are_on_one_line() {
        let (day, later) = (Datum::Date(1), Datum::Timestamp(129_600_000_000));
        assert_eq!(compare(&day, &later), Some(Ordering::Less));
        assert_eq!(
            compare(&Datum::Int4(5), &Datum::Float8(4.5)),
            Some(Ordering::Greater)
        );
        assert_eq!(compare(&Datum::Int4(5), &Datum::from("5")), None);
        assert_eq!(position(&later, &day, &Datum::Date(2)), 0.5);
    }

    #[test]
    fn texts_lie_between_each_other() {
        let at = |low: &str, value: &str, high: &str| {
            position(&Datum::from(value), &Datum::from(low), &Datum::from(high))
        };
        assert_eq!(at("v", "v", "w"), 0.0);
        assert!((at("order-000", "order-500", "order-999") - 0.5).abs() < 0.05);
        let (near, far) = (at("a", "c", "z"), at("a", "m", "z"));
        assert!(0.0 < near && near < far && far < 0.6, "{near} {far}");
        assert_eq!(at("same", "same", "same"), 0.5);
    }
}
