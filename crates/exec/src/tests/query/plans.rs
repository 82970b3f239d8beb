//! Plans that stay, and those that EXPLAIN ANALYZE runs.

use super::{database_and_clock, session, shown};

const SECOND_NS: u64 = 1_000_000_000;

#[test]
fn a_prepared_plan_follows_the_rows_of_its_tables() {
    let (database, clock) = database_and_clock();
    let mut session = session(&database);
    for text in [
        "create table steady (id int primary key, g int)",
        "create table growing (id int primary key, g int)",
        "insert into steady select i, i from generate_series(1, 3000) i",
        "insert into growing select i, i from generate_series(1, 10) i",
        "prepare joined as select count(*) from steady, growing where steady.g = growing.g",
    ] {
        session
            .query(text)
            .unwrap_or_else(|error| panic!("{text}: {error:?}"));
    }
    // The hash table is made of the smaller table, which stands last.
    let mut builds_on_growing = || {
        let plan = shown(&mut session, "explain (costs off) execute joined");
        let at = |table: &str| plan.find(table).unwrap_or_else(|| panic!("{plan}"));
        at("on growing") > at("on steady")
    };
    assert!(builds_on_growing());
    let mut other = super::session(&database);
    other
        .query("insert into growing select i, i from generate_series(11, 15000) i")
        .expect("rows go in");
    clock.advance_ns(2 * SECOND_NS);
    assert!(!builds_on_growing(), "growing is the larger one by now");
    assert_eq!(shown(&mut session, "execute joined"), "3000");
    // Within the band the plan stays, although another would be cheaper.
    other
        .query("delete from growing where id > 2500")
        .expect("rows go");
    clock.advance_ns(2 * SECOND_NS);
    let mut stays = || {
        let plan = shown(&mut session, "explain (costs off) execute joined");
        plan.find("on growing") < plan.find("on steady")
    };
    assert!(stays());
}

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

#[test]
fn an_interval_is_read_once_unless_a_setting_reads_its_sign() {
    let (database, _clock) = database_and_clock();
    let mut session = session(&database);
    session
        .query("create table shipped (day date, moment timestamp)")
        .expect("a table");
    let mut plan = |condition: &str| {
        let explain = format!("explain (costs off) select from shipped where {condition}");
        shown(&mut session, &explain)
    };
    // What every row is compared with is worked out when the plan is made.
    for (condition, constant) in [
        (
            "day < date '1994-01-01' + interval '1' year",
            "'1995-01-01 00:00:00'",
        ),
        (
            "day >= date '1998-12-01' - interval '90' day",
            "'1998-09-02 00:00:00'",
        ),
        (
            "moment > timestamp '2024-01-31' + interval '1 mon 2:03'",
            "'2024-02-29 02:03:00'",
        ),
    ] {
        let plan = plan(condition);
        assert!(plan.contains(constant) && !plan.contains("interval"), "{plan}");
    }
    // IntervalStyle decides what the sign is of.
    let signed = plan("moment > timestamp '2024-01-31' + interval '-1 2:03:04'");
    assert!(signed.contains("interval"), "{signed}");
    let mut told = |style: &str| {
        session
            .query(&format!("set intervalstyle = {style}"))
            .expect("a setting");
        shown(&mut session, "select extract(hour from interval '-1 2:03:04')")
    };
    assert_eq!(
        (told("postgres"), told("sql_standard")),
        ("2".into(), "-2".into())
    );
}
