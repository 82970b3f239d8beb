//! Rows on their way through a body: what it has returned so far, and how many a loop takes at a time.

use mote_common::SqlResult;
use mote_types::{ColumnType, Datum};

use mote_commands::routine::keep_row;
use mote_executor::context::StatementContext;
use mote_executor::memory::KeptRows;

/// Rows that a loop takes from its query at first, and then at a time.
pub const ROWS_AT_FIRST: u64 = 10;
pub const ROWS_AT_A_TIME: u64 = 50;

/// What was returned so far.
pub struct Collected {
    /// Of the last RETURN with an expression.
    pub value: Datum,
    /// Of `value`, as it was computed.
    pub ty: ColumnType,
    /// RETURN was reached.
    pub returned: bool,
    /// Of a function that returns a set: what RETURN NEXT and RETURN QUERY gave.
    pub rows: KeptRows,
}

impl Default for Collected {
    fn default() -> Collected {
        Collected {
            value: Datum::Null,
            ty: ColumnType::UNKNOWN,
            returned: false,
            rows: KeptRows::default(),
        }
    }
}

impl Collected {
    /// A row of a set, within work_mem.
    pub fn push(&mut self, row: Vec<Datum>, context: &StatementContext<'_>) -> SqlResult<()> {
        keep_row(&mut self.rows.kept, &row, context)?;
        self.rows.rows.push(row);
        Ok(())
    }
}
