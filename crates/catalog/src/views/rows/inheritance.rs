//! pg_inherits.

use mote_common::{Oid, SqlResult};
use mote_types::Datum;

use crate::views::facts::Facts;
use crate::views::row::row;

/// A row for each parent of each table, numbered as the parents were named, and for each index that is attached to one
/// of a partitioned table.
pub fn inherits(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let mut rows = Vec::new();
    for known in facts.tables() {
        let partition = known.stored.partition.as_ref();
        let pending = partition.is_some_and(|partition| partition.detach_pending);
        for (position, &parent) in known.stored.parents.iter().enumerate() {
            rows.push(row![
                known.relation.oid,
                Oid(parent),
                position as i32 + 1,
                pending
            ]);
        }
    }
    for known in facts.indexes() {
        if let Some(parent) = known.index.parent {
            rows.push(row![known.index.oid, parent, 1, false]);
        }
    }
    Ok(rows)
}
