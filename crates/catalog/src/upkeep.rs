//! When tables were last vacuumed and analyzed, and how often: pg_stat_all_tables.
//!
//! Counted while the process runs, as PostgreSQL's counters are after a crash. Cold: touched once per table that a command
//! looks after.

use std::collections::HashMap;

use mote_common::Oid;
use parking_lot::Mutex;

/// What was done, when last (microseconds since 2000-01-01 UTC) and how often.
#[derive(Clone, Copy, Default, Debug)]
pub struct Done {
    pub last_us: Option<i64>,
    pub times: i64,
}

impl Done {
    fn again(&mut self, at_us: i64) {
        self.last_us = Some(at_us);
        self.times += 1;
    }
}

#[derive(Clone, Copy, Default, Debug)]
pub struct TableUpkeep {
    pub vacuumed: Done,
    pub analyzed: Done,
    /// By nobody's command.
    pub analyzed_by_itself: Done,
}

#[derive(Default)]
pub struct Upkeep {
    tables: Mutex<HashMap<Oid, TableUpkeep>>,
}

impl Upkeep {
    pub fn vacuumed(&self, table: Oid, at_us: i64) {
        self.note(table, |known| known.vacuumed.again(at_us));
    }

    pub fn analyzed(&self, table: Oid, by_itself: bool, at_us: i64) {
        self.note(table, |known| match by_itself {
            true => known.analyzed_by_itself.again(at_us),
            false => known.analyzed.again(at_us),
        });
    }

    fn note(&self, table: Oid, change: impl FnOnce(&mut TableUpkeep)) {
        change(self.tables.lock().entry(table).or_default());
    }

    pub fn of(&self, table: Oid) -> TableUpkeep {
        self.tables.lock().get(&table).copied().unwrap_or_default()
    }

    /// pg_stat_reset, and tables that are no more.
    pub fn forget(&self, forgotten: impl Fn(Oid) -> bool) {
        self.tables.lock().retain(|&table, _| !forgotten(table));
    }
}
