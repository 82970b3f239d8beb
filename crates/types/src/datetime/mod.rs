//! Dates, times, timestamps and intervals.
//!
//! Read `output`, `parse` with `lexer`, `names`, `written` and `digits`, `interval_output`, `interval_text` with `interval_fields`,
//! `interval_iso` and `interval_sum`, then the computations: `arithmetic`, `conversion`, `fields` (extract, date_trunc, age,
//! justify), `to_char`, `from_char` with `from_char_date`; `zone_setting` (what TimeZone may be set to). `crate::calendar` has the
//! units and the calendar, `crate::time_zone` the offsets.
//!
//! Source: PostgreSQL's datetime.c, timestamp.c, date.c and formatting.c, by behaviour: the field rules of the lexer, the rounding,
//! the messages.
//!
//! Promises: proleptic Gregorian calendar, microseconds, PostgreSQL's ranges and messages. The current time is never
//! read: 'now' is `FormatSettings::now_us`. Leaves out: `time with time zone`
//! but for reading it (`crate::family::time_tz`).

mod output;
mod lexer;
mod names;
mod written;
mod digits;
mod parse;
mod interval_fields;
mod interval_iso;
mod interval_sum;
mod interval_text;
mod interval_output;
mod conversion;
mod zone_setting;
pub mod arithmetic;
pub mod from_char;
mod from_char_date;
pub mod fields;
pub mod to_char;

pub use crate::calendar::*;
pub use crate::time_zone::TimeZone;
pub use conversion::{
    date_to_timestamp, timestamp_to_date, timestamp_to_timestamptz, timestamptz_to_timestamp,
};
pub use interval_output::write_interval;
pub use interval_text::parse_interval;
pub use output::{
    write_date, write_time, write_timestamp, write_timestamptz, write_xsd_date, write_xsd_timestamp,
};
pub use parse::{parse_date, parse_time, parse_time_tz, parse_timestamp, parse_timestamptz};
pub use zone_setting::parse_time_zone;

#[cfg(test)]
mod tests;
