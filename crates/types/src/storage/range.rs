//! Stored ranges: key bytes behind their length, then the subtype's OID, flags and the bounds that there are. A multirange has a
//! number of spans behind the OID, then flags and bounds of each.
//!
//! A bound of a type of fixed width is stored as it is, one of varying width behind its length. The subtype stands with the
//! value, so that a range of a type that a user made is read without a catalog.

use super::{Reader, decode_storage, encode_storage, payload, prefixed, storage_class};
use crate::catalog::ColumnType;
use crate::datum::{Bound, Datum, Multirange, Range, Span};
use crate::oid::Oid;
use crate::ordered_bytes;

const EMPTY: u8 = 0x01;
const LOWER_INCLUSIVE: u8 = 0x02;
const UPPER_INCLUSIVE: u8 = 0x04;
const HAS_LOWER: u8 = 0x08;
const HAS_UPPER: u8 = 0x10;

/// The key, if values of the type can have one, and the subtype.
fn encode_head(datum: &Datum, subtype: Oid, out: &mut Vec<u8>) {
    prefixed(out, |out| {
        if ordered_bytes::is_ordered(datum) {
            ordered_bytes::write(datum, out);
        }
    });
    out.extend_from_slice(&subtype.0.to_le_bytes());
}

/// `datum` holds the range.
pub(super) fn encode(datum: &Datum, range: &Range, out: &mut Vec<u8>) {
    encode_head(datum, range.subtype, out);
    match &range.span {
        Some(span) => encode_span(span, ColumnType::new(range.subtype), out),
        None => out.push(EMPTY),
    }
}

/// `datum` holds the multirange.
pub(super) fn encode_multirange(datum: &Datum, multirange: &Multirange, out: &mut Vec<u8>) {
    encode_head(datum, multirange.subtype, out);
    out.extend_from_slice(&(multirange.spans.len() as u32).to_le_bytes());
    for span in &multirange.spans {
        encode_span(span, ColumnType::new(multirange.subtype), out);
    }
}

fn encode_span(span: &Span, subtype: ColumnType, out: &mut Vec<u8>) {
    let flag = |is: bool, flag: u8| if is { flag } else { 0 };
    out.push(
        flag(span.lower.inclusive, LOWER_INCLUSIVE)
            | flag(span.upper.inclusive, UPPER_INCLUSIVE)
            | flag(span.lower.value.is_some(), HAS_LOWER)
            | flag(span.upper.value.is_some(), HAS_UPPER),
    );
    let is_fixed = storage_class(subtype).width().is_some();
    for value in [&span.lower.value, &span.upper.value].into_iter().flatten() {
        let start = out.len();
        if !is_fixed {
            out.extend_from_slice(&[0; 4]);
        }
        encode_storage(value, subtype, out);
        if !is_fixed {
            let length = (out.len() - start - 4) as u32;
            out[start..start + 4].copy_from_slice(&length.to_le_bytes());
        }
    }
}

pub(super) fn decode(bytes: &[u8]) -> Range {
    let mut reader = Reader(payload(bytes));
    let subtype = Oid(reader.i32() as u32);
    Range {
        subtype,
        span: decode_span(ColumnType::new(subtype), &mut reader),
    }
}

pub(super) fn decode_multirange(bytes: &[u8]) -> Multirange {
    let mut reader = Reader(payload(bytes));
    let subtype = Oid(reader.i32() as u32);
    let count = reader.i32() as u32;
    let spans = (0..count).filter_map(|_| decode_span(ColumnType::new(subtype), &mut reader));
    Multirange {
        subtype,
        spans: spans.collect(),
    }
}

fn decode_span(subtype: ColumnType, reader: &mut Reader<'_>) -> Option<Span> {
    let flags = reader.take(1)[0];
    if flags & EMPTY != 0 {
        return None;
    }
    let width = storage_class(subtype).width();
    let mut bound = |has: u8, inclusive: u8| match flags & has {
        0 => Bound::NONE,
        _ => {
            let width = width.unwrap_or_else(|| reader.i32() as u32 as usize);
            let value = decode_storage(subtype, reader.take(width));
            Bound::new(value, flags & inclusive != 0)
        }
    };
    Some(Span {
        lower: bound(HAS_LOWER, LOWER_INCLUSIVE),
        upper: bound(HAS_UPPER, UPPER_INCLUSIVE),
    })
}
