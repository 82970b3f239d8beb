//! The session settings that input and output of values depend on.
//!
//! One `FormatSettings` belongs to a session and is passed by reference; `now_us` is set at transaction start,
//! so that `'now'::timestamptz` is stable within a transaction.

use crate::datetime::TimeZone;

/// Settings of a session that shape how values are read and written.
#[derive(Clone, Debug)]
pub struct FormatSettings {
    pub time_zone: TimeZone,
    pub date_style: DateStyle,
    pub date_order: DateOrder,
    pub interval_style: IntervalStyle,
    pub bytea_output: ByteaOutput,
    /// 1 or more: shortest digits that read back the same. 0 or less: that many digits fewer than the type's own.
    pub extra_float_digits: i32,
    /// The transaction's start in microseconds since 2000-01-01 UTC: what 'now' and 'today' mean.
    pub now_us: i64,
}

impl Default for FormatSettings {
    fn default() -> FormatSettings {
        FormatSettings {
            time_zone: TimeZone::utc(),
            date_style: DateStyle::Iso,
            date_order: DateOrder::Mdy,
            interval_style: IntervalStyle::Postgres,
            bytea_output: ByteaOutput::Hex,
            extra_float_digits: 1,
            now_us: 0,
        }
    }
}

/// How dates are printed. The other styles of PostgreSQL are refused where the setting is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DateStyle {
    Iso,
}

/// How an ambiguous `1/2/2003` is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DateOrder {
    Ymd,
    Dmy,
    Mdy,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IntervalStyle {
    /// `1 year 2 mons 3 days 04:05:06`
    Postgres,
    /// `P1Y2M3DT4H5M6S`
    Iso8601,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ByteaOutput {
    Hex,
    Escape,
}
