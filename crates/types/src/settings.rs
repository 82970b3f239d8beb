//! The session settings that input and output of values depend on.
//!
//! One `FormatSettings` belongs to a session and is passed by reference; `now_us` is set at transaction start,
//! so that `'now'::timestamptz` is stable within a transaction.

use std::sync::LazyLock;

use crate::time_zone::TimeZone;

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

/// Settings for operations that do not depend on any.
pub static PLAIN_SETTINGS: LazyLock<FormatSettings> = LazyLock::new(FormatSettings::default);

/// How dates and times are printed; where day and month stand follows [`DateOrder`] in two of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DateStyle {
    /// `1997-12-17 07:37:16-08`
    Iso,
    /// `12/17/1997 07:37:16 PST`
    Sql,
    /// `Wed Dec 17 07:37:16 1997 PST`
    Postgres,
    /// `17.12.1997 07:37:16 PST`
    German,
}

/// How an ambiguous `1/2/2003` is read, and in which order SQL's and Postgres's styles print.
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
    /// `@ 1 year 2 mons 3 days 4 hours 5 mins 6 secs`
    PostgresVerbose,
    /// `+1-2 +3 +4:05:06`; on input, a sign in front counts for all fields.
    SqlStandard,
    /// `P1Y2M3DT4H5M6S`
    Iso8601,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ByteaOutput {
    Hex,
    Escape,
}
