//! Enums: the first value, the last, a range of them; the smaller and the larger of two.

use mote_common::SqlResult;
use mote_types::catalog::user::{check_usable, enum_keys};
use mote_types::{ColumnType, Datum, compare};

use crate::{Body, CallSite};

pub fn body(name: &str) -> Option<Body> {
    Some(match name {
        "enum_cmp" => Body::Pure(|a| Ok(Datum::Int4(compare(&a[0], &a[1]) as i32))),
        "enum_smaller" => Body::Pure(|a| {
            Ok(if compare(&a[0], &a[1]).is_lt() {
                &a[0]
            } else {
                &a[1]
            }
            .clone())
        }),
        "enum_larger" => Body::Pure(|a| {
            Ok(if compare(&a[0], &a[1]).is_gt() {
                &a[0]
            } else {
                &a[1]
            }
            .clone())
        }),
        "enum_first" => Body::Typed(|_, site, _| usable(site, enum_keys(site.result.oid).first())),
        "enum_last" => Body::Typed(|_, site, _| usable(site, enum_keys(site.result.oid).last())),
        "enum_range_bounds" => Body::Typed(|_, site, a| range(site, Some(&a[0]), Some(&a[1]))),
        "enum_range_all" => Body::Typed(|_, site, _| range(site, None, None)),
        _ => return None,
    })
}

/// A value of an enum; 55P04 for one that this very transaction has added.
fn usable(site: &CallSite, key: Option<&i64>) -> SqlResult<Datum> {
    let Some(key) = key else { return Ok(Datum::Null) };
    check_usable(site.result.oid, *key)?;
    Ok(Datum::Enum(*key))
}

/// The values from one bound to another; a bound that is NULL is none.
fn range(site: &CallSite, from: Option<&Datum>, to: Option<&Datum>) -> SqlResult<Datum> {
    let element = site.result.element().unwrap_or(ColumnType::TEXT).oid;
    let bound = |bound: Option<&Datum>, none: i64| match bound {
        Some(Datum::Enum(key)) => *key,
        _ => none,
    };
    let (from, to) = (bound(from, i64::MIN), bound(to, i64::MAX));
    let mut values = Vec::new();
    for key in enum_keys(element) {
        if (from..=to).contains(&key) {
            check_usable(element, key)?;
            values.push(Datum::Enum(key));
        }
    }
    Ok(Datum::array(element, values))
}
