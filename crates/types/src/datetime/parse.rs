//! Text input of dates and times (interim).
use crate::settings::FormatSettings;
use mote_common::{SqlError, SqlResult};
pub fn parse_date(_text: &str, _s: &FormatSettings) -> SqlResult<i32> { Err(SqlError::unsupported("date input")) }
pub fn parse_time(_text: &str, _s: &FormatSettings) -> SqlResult<i64> { Err(SqlError::unsupported("time input")) }
pub fn parse_timestamp(_text: &str, _s: &FormatSettings) -> SqlResult<i64> { Err(SqlError::unsupported("timestamp input")) }
pub fn parse_timestamptz(_text: &str, _s: &FormatSettings) -> SqlResult<i64> { Err(SqlError::unsupported("timestamptz input")) }
