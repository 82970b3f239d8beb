//! A table while a statement writes new rows to it.

use std::collections::HashSet;
use std::sync::Arc;

use mote_common::RowId;
use mote_engine::{RowWriter, Table};

/// A table that rows are being written to, with what is kept from one row to the next.
pub struct OpenTable<'o, 'l> {
    pub table: &'o Arc<Table>,
    pub writer: &'o mut RowWriter<'l>,
    pub scratch: &'o mut Vec<u8>,
    /// Rows this statement inserted or updated: ON CONFLICT DO UPDATE must not touch one twice.
    pub touched: &'o mut HashSet<RowId>,
    /// The last row was there already, and ON CONFLICT has updated it.
    pub updated: bool,
}
