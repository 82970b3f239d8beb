//! Estimates of an analyzed table.
//!
//! `ticket` has 10,000 rows: `id` a key of 1 to 10,000; `state` open (nine of ten), closed (one of eleven), and a hundred
//! others; `price` 0 to 1,000, null in a tenth; `seen` the days of 2020; `done` true in a fifth; `owner` of 50 values.

use std::sync::{Arc, OnceLock};

use mote_sql::catalog::Relation;
use mote_sql::catalog::statistics::{ColumnStatistics, TableStatistics};

use super::{explained, plan};
use crate::plan::PlanBody;
use crate::plan::explain::{About, ExplainOptions, explain};

/// What the fixture knows of the columns of `ticket`, in their order.
pub(super) fn of_tickets(relation: &Relation) -> TableStatistics {
    let parts = |from: i64, to: i64| -> Vec<String> {
        (0..=100)
            .map(|part| (from + (to - from) * part / 100).to_string())
            .collect()
    };
    let states = (0..=100).map(|part| format!("s{part:03}")).collect();
    let days = (0..=10).map(|part| format!("2020-{:02}-01", 1 + part)).collect();
    let owners: Vec<(String, f32)> = (1..=50).map(|owner| (owner.to_string(), 0.02)).collect();
    let common = |values: &[(&str, f32)]| -> Vec<(String, f32)> {
        values
            .iter()
            .map(|(value, part)| (value.to_string(), *part))
            .collect()
    };
    let found = [
        (-1.0, 0.0, Vec::new(), parts(1, 10_001)),
        (102.0, 0.0, common(&[("open", 0.9), ("closed", 0.09)]), states),
        (-0.5, 0.1, Vec::new(), parts(0, 1000)),
        (366.0, 0.0, Vec::new(), days),
        (2.0, 0.0, common(&[("f", 0.8), ("t", 0.2)]), Vec::new()),
        (50.0, 0.0, owners, Vec::new()),
    ];
    let columns = found.into_iter().zip(&relation.columns);
    let columns = columns.map(|((distinct, null_fraction, common, histogram), column)| {
        let (common, frequencies) = common.into_iter().unzip();
        Some(Arc::new(ColumnStatistics {
            ty: column.ty,
            null_fraction,
            width: 4,
            distinct,
            common,
            frequencies,
            histogram,
            correlation: None,
            values: OnceLock::new(),
        }))
    });
    TableStatistics {
        columns: columns.collect(),
    }
}

/// The rows that the topmost node is expected to yield.
fn rows_of(sql: &str) -> u64 {
    let plan = plan(sql).unwrap_or_else(|error| panic!("{sql}\n{error:?}"));
    let PlanBody::Query(query) = plan.body else {
        panic!("{sql} is no query")
    };
    let options = ExplainOptions {
        costs: true,
        ..ExplainOptions::default()
    };
    let lines = explain(&query, &options, &About::default());
    let rows = lines[0]
        .split_once("rows=")
        .and_then(|(_, rest)| rest.split_once(' '));
    rows.unwrap_or_else(|| panic!("{lines:?}"))
        .0
        .parse()
        .expect("a number of rows")
}

#[track_caller]
fn expect(condition: &str, expected: std::ops::RangeInclusive<u64>) {
    let rows = rows_of(&format!("SELECT price FROM ticket WHERE {condition}"));
    assert!(expected.contains(&rows), "{condition}: {rows}, not {expected:?}");
}

#[test]
fn common_values_have_their_frequencies_and_others_share_the_rest() {
    expect("state = 'open'", 9000..=9000);
    expect("'closed' = state", 900..=900);
    expect("state = 's050'", 1..=1);
    expect("state = 'nowhere'", 1..=1);
    expect("state <> 'open'", 1000..=1000);
    expect("state IN ('open', 'closed')", 9900..=9900);
    expect("state NOT IN ('open', 'closed')", 100..=100);
    expect("state = ANY (ARRAY['closed', 's001'])", 900..=902);
    expect("owner = 7", 200..=200);
    expect("owner::bigint = 7", 200..=200);
    expect("id = 17", 1..=1);
    expect("state IS NULL", 1..=1);
    expect("price IS NULL", 1000..=1000);
    expect("price IS NOT NULL", 9000..=9000);
    expect("price = 3", 1..=3);
    expect("done", 2000..=2000);
    expect("NOT done", 8000..=8000);
    expect("done IS TRUE", 2000..=2000);
    expect("done IS NOT TRUE", 8000..=8000);
}

#[test]
fn bounds_are_found_in_the_histogram() {
    expect("id < 2501", 2490..=2510);
    expect("id > 2501", 7490..=7510);
    expect("2501 > id", 2490..=2510);
    expect("id <= 5000.5", 4990..=5010);
    expect("id BETWEEN 1000 AND 1999", 990..=1010);
    expect("id > 1000 AND id < 1100 AND state = 'open'", 80..=100);
    expect("id > 20000", 1..=1);
    expect("id < 0", 1..=1);
    expect("price >= 900", 880..=920);
    expect("price < 500 OR price >= 900", 4950..=5040);
    expect("seen < '2020-06-01'", 4900..=5100);
    expect("seen < '2020-06-01 12:00'::timestamp", 4900..=5100);
    expect("state LIKE 's0%'", 80..=110);
    expect("state LIKE 'op%'", 9000..=9020);
    expect("state LIKE 'closed'", 900..=900);
    expect("state NOT LIKE 'open%'", 980..=1000);
    expect("NOT id < 2501", 7490..=7510);
}

#[test]
fn values_that_are_not_known_yet_get_the_average() {
    expect("state = $1", 98..=98);
    expect("owner = $1", 200..=200);
    expect("id > $1", 3333..=3334);
    expect("id BETWEEN $1 AND $2", 50..=50);
    expect("owner = ANY ($1::int[])", 2000..=2000);
}

#[test]
fn joins_and_groups_follow_the_number_of_values() {
    let join = rows_of("SELECT 1 FROM ticket a JOIN ticket b ON a.owner = b.owner WHERE a.state = 's001'");
    assert!((190..=210).contains(&join), "{join}");
    assert_eq!(rows_of("SELECT owner, count(*) FROM ticket GROUP BY owner"), 50);
    assert_eq!(
        rows_of("SELECT owner, done, count(*) FROM ticket GROUP BY 1, 2"),
        100
    );
    assert_eq!(
        rows_of("SELECT owner, count(*) FROM ticket GROUP BY GROUPING SETS (owner, ())"),
        51
    );
    let few = rows_of("SELECT seen, count(*) FROM ticket WHERE state = 'closed' GROUP BY seen");
    assert!((300..=366).contains(&few), "{few}");
    let all = rows_of(
        "SELECT 1 FROM ticket a WHERE EXISTS (SELECT 1 FROM ticket b WHERE b.owner = a.owner AND b.done)",
    );
    assert_eq!(all, 10_000);
}

#[test]
fn a_frequent_value_is_scanned_and_a_rare_one_looked_up() {
    let plan_of = |state: &str| explained(&format!("SELECT * FROM ticket WHERE state = '{state}'"));
    assert!(plan_of("open").starts_with("Seq Scan"), "{}", plan_of("open"));
    assert!(plan_of("s007").starts_with("Index Scan"), "{}", plan_of("s007"));
    let narrow = explained("SELECT * FROM ticket WHERE seen = '2020-03-01' AND state = 'open'");
    assert!(narrow.starts_with("Seq Scan"), "{narrow}");
}

#[test]
fn literals_matter_where_many_rows_are_read() {
    let matters = |condition: &str| {
        let sql = format!("SELECT * FROM ticket WHERE {condition}");
        plan(&sql)
            .map(|plan| plan.constants_matter)
            .expect("it is planned")
    };
    assert!(matters("id > $1"));
    assert!(!matters("id = $1"));
    assert!(!matters("id BETWEEN $1 AND $2"));
    assert!(!matters("state = $1"));
}
