//! How many different rows there are.

use mote_sql::bind::query::RangeItem;
use mote_sql::expr::Expr;

use super::column::known;

/// Without statistics: one group for so many rows.
const ROWS_PER_GROUP: f64 = 10.0;

/// Groups of `rows` rows by these keys; constants make none.
pub fn groups(keys: &[Expr], rows: f64, items: &[RangeItem]) -> f64 {
    let keys = keys.iter().filter(|key| !matches!(key, Expr::Constant(..)));
    let mut groups = 1.0;
    for key in keys {
        let Some(column) = known(key, items) else {
            return (rows / ROWS_PER_GROUP).max(1.0);
        };
        let all = column.rows();
        let distinct = column.found.distinct_in(all).unwrap_or(all / ROWS_PER_GROUP);
        groups *= met(
            distinct + if column.nulls() > 0.0 { 1.0 } else { 0.0 },
            rows.min(all),
            all,
        );
    }
    groups.min(rows).max(1.0)
}

/// Different rows among so many with these columns.
pub fn distinct_rows(columns: &[Expr], rows: f64, items: &[RangeItem]) -> f64 {
    let is_known = |expr: &Expr| matches!(expr, Expr::Constant(..)) || known(expr, items).is_some();
    match columns.iter().all(is_known) {
        true => groups(columns, rows, items),
        false => (rows / 2.0).max(1.0),
    }
}

/// How many of `distinct` values, equally frequent among `all` rows, are met in `rows` of them.
fn met(distinct: f64, rows: f64, all: f64) -> f64 {
    if rows >= all || distinct <= 1.0 {
        return distinct;
    }
    distinct * (1.0 - ((all - rows) / all).powf(all / distinct))
}
