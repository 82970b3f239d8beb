//! `macaddr` and `macaddr8`: bits and conversions. Comparisons are those of numbers.

use mote_common::SqlResult;
use mote_types::{Datum, mac_address};

use super::{Body, unsigned8};

pub fn body(name: &str) -> Option<Body> {
    Some(match name {
        "macaddr_not" => Body::Pure(|a| one(a, |address| mac_address::inverted(address, false))),
        "macaddr8_not" => Body::Pure(|a| one(a, |address| mac_address::inverted(address, true))),
        "macaddr_and" | "macaddr8_and" => {
            Body::Pure(|a| Ok(Datum::Unsigned8(unsigned8(&a[0]) & unsigned8(&a[1]))))
        }
        "macaddr_or" | "macaddr8_or" => {
            Body::Pure(|a| Ok(Datum::Unsigned8(unsigned8(&a[0]) | unsigned8(&a[1]))))
        }
        "macaddr_trunc" => Body::Pure(|a| one(a, |address| mac_address::manufacturer(address, false))),
        "macaddr8_trunc" => Body::Pure(|a| one(a, |address| mac_address::manufacturer(address, true))),
        "macaddr8_set7bit" => Body::Pure(|a| one(a, mac_address::with_seventh_bit)),
        "macaddrtomacaddr8" => Body::Pure(|a| one(a, mac_address::widened)),
        "macaddr8tomacaddr" => Body::Pure(|a| mac_address::narrowed(unsigned8(&a[0])).map(Datum::Unsigned8)),
        _ => return None,
    })
}

fn one(arguments: &[Datum], work: fn(u64) -> u64) -> SqlResult<Datum> {
    Ok(Datum::Unsigned8(work(unsigned8(&arguments[0]))))
}
