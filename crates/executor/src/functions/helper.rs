//! What stands behind other features and may be called by name: `int4larger`, `timestamp_smaller`, `numeric(x, typmod)`.

use std::cmp::Ordering;

use mote_types::ColumnType;
use mote_types::typmod::coerce_typmod;

use super::{Body, boolean, int4};
use crate::expr::order;

pub fn body(name: &str) -> Option<Body> {
    Some(match name {
        // Those of enums have an order of their own.
        _ if name.starts_with("enum_") => return None,
        _ if name.ends_with("larger") => {
            Body::Pure(|a| Ok(a[usize::from(order(&a[0], &a[1]) != Ordering::Greater)].clone()))
        }
        _ if name.ends_with("smaller") => {
            Body::Pure(|a| Ok(a[usize::from(order(&a[0], &a[1]) != Ordering::Less)].clone()))
        }
        "bpchar" | "varchar" | "interval_scale" | "timestamp_scale" | "timestamptz_scale" | "time_scale"
        | "numeric" => Body::Runtime(|_, site, a| {
            let ty = ColumnType {
                oid: site.result.oid,
                typmod: int4(&a[1]),
            };
            let explicit = a.get(2).is_some_and(boolean);
            coerce_typmod(a[0].clone(), ty, explicit)
        }),
        _ => return None,
    })
}
