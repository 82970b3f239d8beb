//! Hash functions under their names, with PostgreSQL's values: applications make keys of advisory locks of them.

use mote_types::lookup3::{hash_any, hash_any_extended};
use mote_types::{Datum, Interval};

use crate::Body;
use crate::argument::{int4, int8, interval, oid, text};

pub(super) fn body(name: &str) -> Option<Body> {
    Some(match name {
        "hashtext" => Body::Pure(|a| Ok(hashed(text(&a[0]).as_bytes()))),
        "hashtextextended" => Body::Pure(|a| Ok(seeded(text(&a[0]).as_bytes(), &a[1]))),
        "hashint4" => Body::Pure(|a| Ok(hashed(&int4(&a[0]).to_ne_bytes()))),
        "hashint4extended" => Body::Pure(|a| Ok(seeded(&int4(&a[0]).to_ne_bytes(), &a[1]))),
        "hashint8" => Body::Pure(|a| Ok(hashed(&folded(int8(&a[0]))))),
        "hashint8extended" => Body::Pure(|a| Ok(seeded(&folded(int8(&a[0])), &a[1]))),
        "hashoid" => Body::Pure(|a| Ok(hashed(&oid(&a[0]).to_ne_bytes()))),
        "hashoidextended" => Body::Pure(|a| Ok(seeded(&oid(&a[0]).to_ne_bytes(), &a[1]))),
        "interval_hash" => Body::Pure(|a| Ok(hashed(&folded(span(interval(&a[0])))))),
        "interval_hash_extended" => Body::Pure(|a| Ok(seeded(&folded(span(interval(&a[0]))), &a[1]))),
        _ => return None,
    })
}

fn hashed(bytes: &[u8]) -> Datum {
    Datum::Int4(hash_any(bytes) as i32)
}

fn seeded(bytes: &[u8], seed: &Datum) -> Datum {
    Datum::Int8(hash_any_extended(bytes, int8(seed) as u64) as i64)
}

/// What is hashed of an int8: small ones as the int4 of their value.
fn folded(value: i64) -> [u8; 4] {
    let (low, high) = (value as u32, (value >> 32) as u32);
    let high = if value >= 0 { high } else { !high };
    (low ^ high).to_ne_bytes()
}

/// What intervals are ordered by, in 64 bits: a month has 30 days, and a day 24 hours.
fn span(interval: &Interval) -> i64 {
    const DAY_US: i128 = 86_400_000_000;
    let days = i128::from(interval.months) * 30 + i128::from(interval.days);
    (i128::from(interval.us) + days * DAY_US) as i64
}
