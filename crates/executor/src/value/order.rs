//! Order, equality and hash of values and rows.
//!
//! Invariant: the three agree with each other and with the key bytes of indexes (`mote_types::{compare, equal, hash}`),
//! integers of different widths included.

use std::cmp::Ordering;
use std::hash::Hasher;

use mote_types::Datum;
use mote_types::datum::without_blanks;

/// One of the six comparisons of a type's default order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Operation {
    /// Whether an ordering of left to right makes the comparison true.
    #[inline]
    pub fn accepts(self, ordering: Ordering) -> bool {
        match self {
            Operation::Equal => ordering.is_eq(),
            Operation::NotEqual => ordering.is_ne(),
            Operation::Less => ordering.is_lt(),
            Operation::LessOrEqual => ordering.is_le(),
            Operation::Greater => ordering.is_gt(),
            Operation::GreaterOrEqual => ordering.is_ge(),
        }
    }

    /// The operation with its sides changed over.
    pub fn flipped(self) -> Operation {
        match self {
            Operation::Equal | Operation::NotEqual => self,
            Operation::Less => Operation::Greater,
            Operation::LessOrEqual => Operation::GreaterOrEqual,
            Operation::Greater => Operation::Less,
            Operation::GreaterOrEqual => Operation::LessOrEqual,
        }
    }

    /// Whether two values, neither null, compare so.
    #[inline]
    pub fn holds(self, left: &Datum, right: &Datum) -> bool {
        match self {
            Operation::Equal => equal(left, right),
            Operation::NotEqual => !equal(left, right),
            _ => self.accepts(order(left, right)),
        }
    }
}

/// Order of two values, neither null, of one type or of two integer or float types.
#[inline]
pub fn order(left: &Datum, right: &Datum) -> Ordering {
    match (left, right) {
        (Datum::Int4(a), Datum::Int4(b)) => a.cmp(b),
        (Datum::Int8(a), Datum::Int8(b)) => a.cmp(b),
        // By code point, which in UTF-8 is the order of the bytes.
        (Datum::Text(a), Datum::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Datum::Date(a), Datum::Date(b)) => a.cmp(b),
        (Datum::Float4(a), Datum::Float8(b)) => {
            mote_types::compare(&Datum::Float8(*a as f64), &Datum::Float8(*b))
        }
        (Datum::Float8(a), Datum::Float4(b)) => {
            mote_types::compare(&Datum::Float8(*a), &Datum::Float8(*b as f64))
        }
        (
            Datum::Int2(_) | Datum::Int4(_) | Datum::Int8(_),
            Datum::Int2(_) | Datum::Int4(_) | Datum::Int8(_),
        ) => left.as_i64().cmp(&right.as_i64()),
        _ => mote_types::compare(left, right),
    }
}

/// Equality of two values, neither null; types as for [`order`].
#[inline]
pub fn equal(left: &Datum, right: &Datum) -> bool {
    match (left, right) {
        // Lengths first.
        (Datum::Text(a), Datum::Text(b)) => a.as_bytes() == b.as_bytes(),
        _ => order(left, right).is_eq(),
    }
}

/// Whether two rows are the same for grouping: nulls are equal to each other.
pub fn equal_rows(left: &[Datum], right: &[Datum]) -> bool {
    left.iter().zip(right).all(|(a, b)| same(a, b))
}

/// Whether two values are the same for grouping: nulls are equal to each other.
#[inline]
pub fn same(left: &Datum, right: &Datum) -> bool {
    match (left, right) {
        (Datum::Int4(a), Datum::Int4(b)) => a == b,
        _ => match (left.is_null(), right.is_null()) {
            (false, false) => equal(left, right),
            (a, b) => a == b,
        },
    }
}

/// Hash that agrees with [`equal_rows`]. Integers of all widths hash alike.
pub fn hash_row(row: &[Datum]) -> u64 {
    hash_values(row)
}

/// [`hash_row`] of a row whose values stand in several places.
#[inline]
pub fn hash_values<'v>(values: impl IntoIterator<Item = &'v Datum>) -> u64 {
    let mut hasher = RowHasher(0x9e37_79b9_7f4a_7c15);
    for value in values {
        match value {
            Datum::Int4(value) => hasher.fold(*value as i64 as u64),
            Datum::Text(value) => hasher.text(value.as_bytes()),
            other => hash_other(other, &mut hasher),
        }
    }
    hasher.finish()
}

fn hash_other(value: &Datum, hasher: &mut RowHasher) {
    match value {
        Datum::Null => hasher.fold(0x5bd1_e995),
        Datum::Int2(_) | Datum::Int8(_) => hasher.fold(value.as_i64().unwrap_or_default() as u64),
        Datum::Date(days) => hasher.fold(*days as u64),
        // As a text of the same characters, to which it is equal.
        Datum::Padded(value) => hasher.text(without_blanks(value).as_bytes()),
        other => mote_types::hash(other, hasher),
    }
}

/// Multiply-and-fold over eight-byte words. Only for tables that live as long as a statement.
struct RowHasher(u64);

impl RowHasher {
    #[inline]
    fn fold(&mut self, word: u64) {
        let product = (self.0 ^ word) as u128 * 0x9fb2_1c65_1e98_df25_u128;
        self.0 = (product >> 64) as u64 ^ product as u64;
        self.0 = self.0.rotate_left(23).wrapping_add(0x2545_f491_4f6c_dd1d);
    }
}

impl RowHasher {
    /// Eight bytes at a time; what is left over in one word or two that overlap. The length goes in as well: "a" and
    /// "a\0" must not share a word.
    #[inline]
    fn text(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some((word, behind)) = rest.split_first_chunk::<8>() {
            self.fold(u64::from_le_bytes(*word));
            rest = behind;
        }
        let tail = match rest {
            [] => 0,
            [a] => u64::from(*a),
            [a, .., b] if rest.len() < 4 => {
                u64::from(*a) | u64::from(rest[rest.len() / 2]) << 8 | u64::from(*b) << 16
            }
            _ => {
                let half =
                    |four: Option<&[u8; 4]>| four.map_or(0, |four| u64::from(u32::from_le_bytes(*four)));
                half(rest.first_chunk()) | half(rest.last_chunk()) << 32
            }
        };
        self.fold(tail ^ (bytes.len() as u64) << 56);
    }
}

impl Hasher for RowHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.text(bytes);
    }

    fn write_u64(&mut self, word: u64) {
        self.fold(word);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
