//! Is what is on disk sound? The engine's part of `mote check`.
//!
//! Read in this order:
//!  1. this file: a fault, with everything that is known of its place.
//!  2. `files`: manifest, images and log as bytes, without a database in memory.
//!  3. `indexes`: every index against its table, once the database is open.
//!
//! Source: the questions are those of PostgreSQL's pg_checksums and amcheck (verify_nbtree.c); all are asked at once of a server
//! that is down.
//!
//! Promises: nothing is written; every fault that can be found is told, not only the first. Leaves out: recovery (the
//! caller opens the database over a disk that keeps changes in memory) and everything that SQL knows (`mote_exec::check`).

mod files;
mod indexes;
#[cfg(test)]
mod tests;

use std::fmt;

use mote_common::{IndexId, RowId, TableId};

pub use files::{FileReport, check_files};
pub use indexes::{IndexReport, check_indexes};

/// Something that is wrong, and where.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fault {
    /// Relative to the data directory.
    pub path: Option<String>,
    pub offset: Option<u64>,
    pub table: Option<TableId>,
    pub index: Option<IndexId>,
    pub segment: Option<u32>,
    pub row: Option<RowId>,
    pub what: String,
}

impl Fault {
    fn in_file(path: impl Into<String>, offset: u64, what: impl Into<String>) -> Fault {
        Fault {
            path: Some(path.into()),
            offset: Some(offset),
            what: what.into(),
            ..Fault::default()
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut places = Vec::new();
        if let Some(path) = &self.path {
            places.push(format!("file {path}"));
        }
        if let Some(offset) = self.offset {
            places.push(format!("byte {offset}"));
        }
        if let Some(table) = self.table {
            places.push(format!("table {}", table.0));
        }
        if let Some(index) = self.index {
            places.push(format!("index {}", index.0));
        }
        if let Some(segment) = self.segment {
            places.push(format!("segment {segment}"));
        }
        if let Some(row) = self.row {
            places.push(format!("row ({},{})", row.segment(), row.offset()));
        }
        if !places.is_empty() {
            write!(f, "{}: ", places.join(", "))?;
        }
        f.write_str(&self.what)
    }
}
