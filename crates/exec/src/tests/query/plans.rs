//! Plans that EXPLAIN ANALYZE runs.

use super::{database_and_clock, session, shown};

#[test]
fn a_measured_run_counts_what_its_nodes_did() {
    let (database, _clock) = database_and_clock();
    let mut session = session(&database);
    for text in [
        "create table t (id int primary key, g int)",
        "insert into t select i, i % 10 from generate_series(1, 100) i",
    ] {
        session
            .query(text)
            .unwrap_or_else(|error| panic!("{text}: {error:?}"));
    }
    let explain = "explain (analyze, costs off, timing off, summary off)";
    let plan = |session: &mut _, query: &str| shown(session, &format!("{explain} {query}"));
    // A loop for each outer row; an inner side that nothing asks for never ran.
    let found = plan(
        &mut session,
        "select (select count(*) from t b where b.g = a.g) from t a where a.id <= 3",
    );
    assert!(found.contains("(actual rows=1 loops=3)"), "{found}");
    assert!(found.contains("Rows Removed by Filter: 90"), "{found}");
    let found = plan(
        &mut session,
        "select * from t a, t b where a.g = b.g and a.id > 1000",
    );
    assert!(
        found.contains("never executed") || found.contains("rows=0 loops=1"),
        "{found}"
    );
    // A sort that keeps the best says so, and what it kept.
    let found = plan(&mut session, "select * from t order by g");
    assert!(found.contains("Sort Method: merge sort  Memory: "), "{found}");
    // What it wrote is there.
    let found = plan(&mut session, "delete from t where g = 1");
    assert!(
        found.starts_with("Delete on t (actual rows=0 loops=1)"),
        "{found}"
    );
    assert_eq!(shown(&mut session, "select count(*) from t"), "90");
    // The same statement plainly run is none the wiser.
    assert_eq!(shown(&mut session, "select count(*) from t where g = 2"), "10");
}
