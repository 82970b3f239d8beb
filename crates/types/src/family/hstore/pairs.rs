//! A value of `hstore`: pairs of a key and a text or NULL, in the order of the keys' lengths, then of their bytes.
//!
//! The bytes compare as PostgreSQL's `hstore_cmp` does, and say the value: keys and values one behind the other, 0, the number
//! of pairs, and for each key and each value where it ends, times two, plus one for a NULL (all u32, big-endian). Nothing
//! at all is the empty hstore.

use std::cmp::Ordering;

use crate::datum::{Datum, ELEMENT_COST};
use mote_common::SqlResult;
use mote_common::work::{self, Meter};

/// A pair of texts that live elsewhere.
pub type Pair<'p> = (&'p str, Option<&'p str>);

/// The value in a datum.
#[derive(Clone, Copy)]
pub struct Pairs<'d> {
    text: &'d str,
    ends: &'d [u8],
}

/// Of a number in the list of ends.
const END_BYTES: usize = 4;

impl<'d> Pairs<'d> {
    pub fn of(datum: &'d Datum) -> Pairs<'d> {
        let Datum::Bytea(bytes) = datum else {
            panic!("{} is no hstore", datum.variant_name());
        };
        let Some(last) = bytes.len().checked_sub(END_BYTES) else {
            return Pairs { text: "", ends: &[] };
        };
        let length = (number(&bytes[last..]) >> 1) as usize;
        let text = std::str::from_utf8(&bytes[..length]).expect("an hstore is made of texts");
        Pairs {
            text,
            ends: &bytes[length + 1 + END_BYTES..],
        }
    }

    pub fn len(self) -> usize {
        self.ends.len() / (2 * END_BYTES)
    }

    fn end(self, entry: usize) -> (usize, bool) {
        let number = number(&self.ends[entry * END_BYTES..]);
        ((number >> 1) as usize, number & 1 == 1)
    }

    pub fn get(self, position: usize) -> Pair<'d> {
        let start = match position {
            0 => 0,
            _ => self.end(2 * position - 1).0,
        };
        let (middle, _) = self.end(2 * position);
        let (end, is_null) = self.end(2 * position + 1);
        let value = &self.text[middle..end];
        (&self.text[start..middle], (!is_null).then_some(value))
    }

    pub fn iter(self) -> impl Iterator<Item = Pair<'d>> {
        (0..self.len()).map(move |position| self.get(position))
    }

    /// The value of a key, which may be NULL; None: there is no such key.
    pub fn find(self, key: &str) -> Option<Option<&'d str>> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            let (found, value) = self.get(middle);
            match key_order(found, key) {
                Ordering::Equal => return Some(value),
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// As PostgreSQL holds it in memory, without the length in front: what its hash is of.
    pub fn image(self) -> SqlResult<Vec<u8>> {
        const NEW_VERSION: u32 = 0x8000_0000;
        const FIRST: u32 = 0x8000_0000;
        const NULL: u32 = 0x4000_0000;
        let mut out = work::bytes_buffer(self.ends.len() + self.text.len() + END_BYTES)?;
        out.extend_from_slice(&(self.len() as u32 | NEW_VERSION).to_le_bytes());
        let mut meter = Meter::default();
        for entry in 0..2 * self.len() {
            meter.tick(ELEMENT_COST)?;
            let (end, is_null) = self.end(entry);
            let flags = if entry == 0 { FIRST } else { 0 } | if is_null { NULL } else { 0 };
            out.extend_from_slice(&(end as u32 | flags).to_le_bytes());
        }
        work::grow_bytes(&mut out, self.text.as_bytes())?;
        Ok(out)
    }
}

fn number(bytes: &[u8]) -> u32 {
    u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

pub fn key_order(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.as_bytes().cmp(b.as_bytes()))
}

/// The value with these pairs; of those with one key the first stays.
pub fn of_pairs(mut pairs: Vec<Pair<'_>>) -> SqlResult<Datum> {
    work::sort_by(&mut pairs, |a, b| key_order(a.0, b.0))?;
    pairs.dedup_by(|later, first| later.0 == first.0);
    of_sorted(&pairs)
}

/// The same for pairs that are in order and have different keys.
pub fn of_sorted(pairs: &[Pair<'_>]) -> SqlResult<Datum> {
    if pairs.is_empty() {
        return Ok(Datum::bytea(Vec::new()));
    }
    let lengths = pairs
        .iter()
        .map(|(key, value)| key.len() + value.map_or(0, str::len));
    let text: usize = lengths.sum();
    work::check_length(text)?;
    let mut out = work::bytes_buffer(text + 1 + END_BYTES * (1 + 2 * pairs.len()))?;
    let mut meter = Meter::default();
    for (key, value) in pairs {
        meter.tick(ELEMENT_COST)?;
        work::grow_bytes(&mut out, key.as_bytes())?;
        work::grow_bytes(&mut out, value.unwrap_or_default().as_bytes())?;
    }
    out.push(0);
    out.extend_from_slice(&(pairs.len() as u32).to_be_bytes());
    let mut end = 0;
    for (key, value) in pairs {
        meter.tick(ELEMENT_COST)?;
        end += key.len() as u32;
        out.extend_from_slice(&(end << 1).to_be_bytes());
        end += value.map_or(0, str::len) as u32;
        out.extend_from_slice(&(end << 1 | u32::from(value.is_none())).to_be_bytes());
    }
    Ok(Datum::bytea(out))
}

/// The pairs of both, in order; where both have a key, that of `second`.
pub fn merged<'d>(first: Pairs<'d>, second: Pairs<'d>) -> SqlResult<Vec<Pair<'d>>> {
    let mut all = work::list(first.len() + second.len())?;
    let mut meter = Meter::default();
    let (mut left, mut right) = (first.iter().peekable(), second.iter().peekable());
    loop {
        meter.tick(ELEMENT_COST)?;
        let order = match (left.peek(), right.peek()) {
            (Some(a), Some(b)) => key_order(a.0, b.0),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return Ok(all),
        };
        if order != Ordering::Greater {
            let pair = left.next();
            all.extend(pair.filter(|_| order == Ordering::Less));
        }
        if order != Ordering::Less {
            all.extend(right.next());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::compare;

    #[test]
    fn pairs_come_back_in_order_and_once() {
        let made = of_pairs(vec![
            ("bb", Some("1")),
            ("a", None),
            ("c", Some("")),
            ("a", Some("later")),
        ]);
        let made = made.unwrap();
        let pairs: Vec<Pair<'_>> = Pairs::of(&made).iter().collect();
        assert_eq!(pairs, [("a", None), ("c", Some("")), ("bb", Some("1"))]);
        assert_eq!(Pairs::of(&made).find("bb"), Some(Some("1")));
        assert_eq!(Pairs::of(&made).find("a"), Some(None));
        assert_eq!(Pairs::of(&made).find("b"), None);
    }

    #[test]
    fn values_sort_by_their_text_then_by_where_it_is_cut() {
        let value = |pairs: &[Pair<'_>]| of_pairs(pairs.to_vec()).unwrap();
        let sorted = [
            value(&[]),
            value(&[("", Some("ab"))]),
            value(&[("a", Some("b"))]),
            value(&[("ab", Some(""))]),
            value(&[("ab", None)]),
            value(&[("a", Some("bc"))]),
            value(&[("b", None)]),
        ];
        for pair in sorted.windows(2) {
            assert_eq!(compare(&pair[0], &pair[1]), Ordering::Less);
        }
    }
}
