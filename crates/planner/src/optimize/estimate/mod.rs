//! Rows and cost before anything has run.
//!
//! Read in this order: this file (rows of a table, values of a column, rows behind an index), `selectivity` (the part of
//! rows that conditions leave), `column` (a column with statistics against a value), `scalar` (values on a line), `groups`.
//!
//! What ANALYZE found out comes first. Without it selectivities are PostgreSQL's defaults, and the number of values of a
//! column is guessed from the unique indexes it is part of. Costs are in units of "one row read". Estimates choose plans;
//! no result depends on them.
//!
//! Source: PostgreSQL's selfuncs.c, clausesel.c and costsize.c: what is kept of a column, how a condition is judged by it.

mod column;
mod groups;
mod scalar;
mod selectivity;

use mote_sql::bind::query::RangeItem;
use mote_sql::catalog::{IndexDescription, IndexKeyTarget, Relation};
use mote_types::oid;

pub use column::known;
pub use groups::{distinct_rows, groups};
pub use selectivity::{all_hold, matched, selectivity};

/// Plans outlive the moment they are made in: a table that is empty now is planned as if it had this many rows.
const ROWS_MIN: f64 = 1000.0;
/// Rows expected of a function in FROM, as PostgreSQL has it for functions without a better word.
pub const FUNCTION_ROWS: f64 = 100.0;
/// Descending an index once.
pub const DESCENT_COST: f64 = 3.0;
/// Fetching a row by an index entry, compared with meeting it in a scan.
pub const FETCH_COST: f64 = 1.5;
/// Putting a row into a hash table, and probing it.
pub const HASH_BUILD_COST: f64 = 2.0;
pub const HASH_PROBE_COST: f64 = 1.2;

/// Rows of a table: those there are if its values are known, too, and not fewer than it may soon have if not.
pub fn table_rows(relation: &Relation) -> f64 {
    match relation.statistics {
        Some(_) => relation.rows.get().max(1.0),
        None => relation.rows.get().max(ROWS_MIN),
    }
}

/// Of reading all rows: those that a table may soon have, so that one that is small today is looked up in by its indexes.
pub fn scan_cost(relation: &Relation) -> f64 {
    relation.rows.get().max(ROWS_MIN)
}

/// Distinct values of a column of a base relation.
pub fn distinct_values(relation: &Relation, column: u16) -> f64 {
    let rows = table_rows(relation);
    if let Some(distinct) = analyzed_values(relation, column, rows) {
        return distinct;
    }
    if !relation.kind.has_rows() {
        return made_values(relation, column, rows);
    }
    let through = |index: &IndexDescription| {
        let contains = index
            .keys
            .iter()
            .any(|key| matches!(key.target, IndexKeyTarget::Column(c) if c == column));
        (index.unique && index.predicate.is_none() && contains)
            .then(|| rows.powf(1.0 / index.keys.len() as f64))
    };
    relation
        .indexes
        .iter()
        .filter_map(through)
        .fold(rows.min(200.0), f64::max)
}

/// Of a catalog, which nobody analyzes: by what its column is for.
fn made_values(relation: &Relation, column: u16, rows: f64) -> f64 {
    const FEW: f64 = 4.0;
    let Some(column) = relation.columns.get(usize::from(column)) else {
        return rows.min(200.0);
    };
    match column.ty.oid {
        _ if *column.name == *"oid" => rows,
        oid::BOOL => 2.0,
        // Kinds, statuses and the like.
        oid::CHAR => FEW,
        // Most of what is there is in a schema or two, and belongs to a role or two.
        _ if ["namespace", "owner", "_schema", "_catalog"]
            .iter()
            .any(|end| column.name.ends_with(end)) =>
        {
            FEW
        }
        _ => rows.min(200.0),
    }
}

/// As ANALYZE found it, unless the column has become a key since.
fn analyzed_values(relation: &Relation, column: u16, rows: f64) -> Option<f64> {
    let is_key = |index: &IndexDescription| {
        index.unique
            && index.predicate.is_none()
            && matches!(index.keys[..], [mote_sql::catalog::IndexKey { target: IndexKeyTarget::Column(key), .. }] if key == column)
    };
    let found = relation.statistics.as_ref()?.columns.get(usize::from(column))?;
    match relation.indexes.iter().any(is_key) {
        true => Some(rows),
        false => found.as_ref()?.distinct_in(rows),
    }
}

/// Rows that an index holds: a predicate leaves some out.
pub fn index_rows(relation: &Relation, index: &IndexDescription, items: &[RangeItem]) -> f64 {
    let rows = table_rows(relation);
    match &index.predicate {
        None => rows,
        Some((_, predicate)) => (rows * selectivity(predicate, items)).max(1.0),
    }
}

/// Rows behind equality on the first `bound` keys of an index that holds `rows`.
pub fn prefix_rows(rows: f64, index: &IndexDescription, bound: usize) -> f64 {
    let keys = index.keys.len() as f64;
    if index.unique && bound == index.keys.len() {
        return 1.0;
    }
    // Duplicates of a whole key are guessed as the fourth root, so that one more bound key is never worse.
    let duplicates = if index.unique { 1.0 } else { rows.powf(0.25) };
    rows.powf((keys - bound as f64) / keys).max(duplicates)
}
