//! Guesses of rows and cost from the little that is known: row counts and uniqueness.
//!
//! There are no histograms. Selectivities are PostgreSQL's defaults where it has none either; the number of distinct
//! values of a column is guessed from the unique indexes it is part of. Costs are in units of "one row read".

use mote_sql::bind::query::{FIRST_SYSTEM_COLUMN, ItemKind, RangeItem};
use mote_sql::builtin::operator::{Comparison, comparison_of};
use mote_sql::catalog::{IndexDescription, IndexKeyTarget, Relation};
use mote_sql::expr::Expr;

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

pub fn table_rows(relation: &Relation) -> f64 {
    relation.rows.get().max(ROWS_MIN)
}

/// Distinct values of a column of a base relation.
pub fn distinct_values(relation: &Relation, column: u16) -> f64 {
    let rows = table_rows(relation);
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

/// The part of rows that satisfies a condition.
pub fn selectivity(expr: &Expr, items: &[RangeItem]) -> f64 {
    match expr {
        Expr::Constant(mote_types::Datum::Bool(value), _) => f64::from(u8::from(*value)),
        Expr::And(list) => list.iter().map(|inner| selectivity(inner, items)).product(),
        Expr::Or(list) => {
            let missed: f64 = list.iter().map(|inner| 1.0 - selectivity(inner, items)).product();
            1.0 - missed
        }
        Expr::Not(inner) => 1.0 - selectivity(inner, items),
        Expr::IsNull(_) => 0.01,
        Expr::IsNotNull(_) => 0.99,
        Expr::InList {
            argument,
            list,
            negated,
            ..
        } => {
            let part = (equality(argument, items) * list.len() as f64).min(1.0);
            if *negated { 1.0 - part } else { part }
        }
        Expr::ArrayComparison { argument, all, .. } => {
            if *all {
                0.5
            } else {
                (equality(argument, items) * 10.0).min(0.5)
            }
        }
        Expr::Call {
            function, arguments, ..
        } => match comparison_of(*function) {
            Some((Comparison::Equal, _)) => arguments
                .iter()
                .map(|argument| equality(argument, items))
                .fold(1.0, f64::min),
            Some((Comparison::NotEqual, _)) => 0.995,
            Some(_) => 1.0 / 3.0,
            None => 0.1,
        },
        Expr::RowComparison { .. } => 1.0 / 3.0,
        _ => 0.5,
    }
}

/// The part of rows in which an expression has one particular value.
fn equality(expr: &Expr, items: &[RangeItem]) -> f64 {
    match expr {
        Expr::Variable { relation, column, .. } if *column < FIRST_SYSTEM_COLUMN => {
            match &items[*relation as usize].kind {
                ItemKind::Relation(relation) => 1.0 / distinct_values(relation, *column),
                _ => 0.005,
            }
        }
        Expr::Variable { .. } => 0.001,
        // A constant says nothing about how often it occurs.
        Expr::Constant(..) | Expr::Parameter { .. } | Expr::ExecParameter { .. } => 1.0,
        _ => 0.005,
    }
}
