//! Conversion of a value from one type to another.
//!
//! Leaves out: what a conversion does (`mote_types::cast`), and casts as parts of an expression (`expr::cast`).

use mote_common::SqlResult;
use mote_types::{CastContext, ColumnType, Datum, cast};

use crate::runtime::Runtime;

/// Converts a value between types.
pub fn convert(
    runtime: &mut Runtime<'_, '_>,
    value: &Datum,
    from: ColumnType,
    to: ColumnType,
    explicit: bool,
) -> SqlResult<Datum> {
    if value.is_null() {
        return Ok(Datum::Null);
    }
    // An assignment refuses a text that is too long, an explicit cast cuts it.
    let context = if explicit {
        CastContext::Explicit
    } else {
        CastContext::Assignment
    };
    cast(value, from, to, context, runtime.format())
}
