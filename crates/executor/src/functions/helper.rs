//! What stands behind other features and may be called by name: `int4larger`, `timestamp_smaller`, `numeric(x, typmod)`.

use std::cmp::Ordering;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::typmod::{coerce_typmod, padded_to_length};
use mote_types::{ColumnType, Datum};

use super::{Body, boolean, int4, oid};
use crate::value::order;

pub fn body(name: &str) -> Option<Body> {
    Some(match name {
        // Those of enums have an order of their own.
        _ if name.starts_with("enum_") => return None,
        // A number below 0 stands for one of the upper half.
        "xideqint4" => Body::Pure(|a| Ok(Datum::Bool(oid(&a[0]) == int4(&a[1]) as u32))),
        "xidneqint4" => Body::Pure(|a| Ok(Datum::Bool(oid(&a[0]) != int4(&a[1]) as u32))),
        // Of equal ones, which may differ in their blanks, the first.
        "bpchar_larger" => Body::Pure(|a| Ok(a[usize::from(order(&a[0], &a[1]) == Ordering::Less)].clone())),
        "bpchar_smaller" => {
            Body::Pure(|a| Ok(a[usize::from(order(&a[0], &a[1]) == Ordering::Greater)].clone()))
        }
        _ if name.ends_with("larger") => {
            Body::Pure(|a| Ok(a[usize::from(order(&a[0], &a[1]) != Ordering::Greater)].clone()))
        }
        _ if name.ends_with("smaller") => {
            Body::Pure(|a| Ok(a[usize::from(order(&a[0], &a[1]) != Ordering::Less)].clone()))
        }
        "bpchar" | "varchar" | "interval_scale" | "timestamp_scale" | "timestamptz_scale" | "time_scale"
        | "numeric" => Body::Typed(|_, site, a| {
            let ty = ColumnType {
                oid: site.result.oid,
                typmod: int4(&a[1]),
            };
            // Called by name the conversion is implicit unless the third argument says otherwise.
            let explicit = a.get(2).is_some_and(boolean);
            check_precision(&a[0], ty.typmod)?;
            // Nothing will tell the length of what a function returns.
            padded_to_length(coerce_typmod(a[0].clone(), ty, explicit)?, ty)
        }),
        _ => return None,
    })
}

/// Of a timestamp. The other types read what is no precision as none.
fn check_precision(value: &Datum, typmod: i32) -> SqlResult<()> {
    let finite = match value {
        Datum::Timestamp(us) | Datum::TimestampTz(us) => mote_types::datetime::is_finite_timestamp(*us),
        _ => return Ok(()),
    };
    if !finite || typmod == -1 || (0..=6).contains(&typmod) {
        return Ok(());
    }
    Err(SqlError::new(
        state::INVALID_PARAMETER_VALUE,
        format!("timestamp({typmod}) precision must be between 0 and 6"),
    ))
}
