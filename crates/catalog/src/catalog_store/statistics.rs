//! What ANALYZE found out about a table's columns, as an object of the catalog: committed, rolled back, recovered and
//! followed with it (docs/design/0049).
//!
//! An object of its own, beside the relation: ANALYZE and a GRANT on the same table do not wait for each other. Its OID is
//! the table's with a bit that no other object's has. What it says is for columns that still have the type they had.
//! Leaves out: gathering it (`mote_commands`), and what the planner makes of it.

use std::sync::{Arc, OnceLock};

use mote_common::error::{SqlState, state};
use mote_common::{Oid, RowId};
use mote_sql::catalog::statistics::{ColumnStatistics, TableStatistics};
use mote_types::ColumnType;

use super::object::Object;
use super::revision::Revision;
use super::stored::{StoredColumn, StoredColumnStatistics, StoredObject, StoredStatistics};

const STATISTICS: u32 = 1 << 31;

/// The OID of what is known of a table's columns.
pub fn statistics_oid(table: Oid) -> Oid {
    Oid(table.0 | STATISTICS)
}

/// The table whose statistics have this OID.
pub fn analyzed_table(statistics: Oid) -> Option<Oid> {
    (statistics.0 & STATISTICS != 0).then_some(Oid(statistics.0 & !STATISTICS))
}

/// A table's statistics: their stored form, and what the planner reads.
pub struct StatisticsEntry {
    pub stored: StoredStatistics,
    pub row: RowId,
    own: Vec<Arc<ColumnStatistics>>,
    inherited: Vec<Arc<ColumnStatistics>>,
}

impl StatisticsEntry {
    pub fn new(stored: StoredStatistics, row: RowId) -> StatisticsEntry {
        StatisticsEntry {
            own: stored.columns.iter().map(described).collect(),
            inherited: stored.inherited.iter().map(described).collect(),
            stored,
            row,
        }
    }

    /// What is known of the columns of a table that has these now.
    pub fn of_columns(&self, columns: &[StoredColumn], inherited: bool) -> TableStatistics {
        let (stored, known) = match inherited {
            true => (&self.stored.inherited, &self.inherited),
            false => (&self.stored.columns, &self.own),
        };
        let mut found = vec![None; columns.len()];
        for (stored, known) in stored.iter().zip(known) {
            let position = usize::from(stored.position);
            let same = |column: &&StoredColumn| !column.dropped && column.type_oid == stored.type_oid;
            if columns.get(position).filter(same).is_some() {
                found[position] = Some(known.clone());
            }
        }
        TableStatistics { columns: found }
    }
}

fn described(stored: &StoredColumnStatistics) -> Arc<ColumnStatistics> {
    Arc::new(ColumnStatistics {
        ty: ColumnType::new(Oid(stored.type_oid)),
        null_fraction: stored.null_fraction,
        width: stored.width,
        distinct: stored.distinct,
        common: stored.common.clone(),
        frequencies: stored.frequencies.clone(),
        histogram: stored.histogram.clone(),
        correlation: stored.correlation,
        values: OnceLock::new(),
    })
}

impl Object for StoredStatistics {
    fn oid(&self) -> Oid {
        statistics_oid(Oid(self.table))
    }

    fn stored(&self) -> StoredObject {
        StoredObject::Statistics(self.clone())
    }

    fn noun(&self) -> &'static str {
        "statistics"
    }

    fn undefined(&self) -> SqlState {
        state::UNDEFINED_OBJECT
    }

    /// They are found by their table.
    fn name(&self) -> &str {
        ""
    }

    fn revision(&self) -> Revision {
        self.revision
    }

    fn renew(&mut self) {
        self.revision = Revision::default();
    }

    /// They go with their table, and keep nothing from going.
    fn uses(&self, _: &mut dyn FnMut(Oid)) {}
}
