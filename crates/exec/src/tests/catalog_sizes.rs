//! Sizes of tables are those of their rows.

use crate::tests::support::session;

#[test]
fn a_table_of_long_rows_is_as_large_as_they_are() {
    let mut session = session();
    session
        .query("create table t (id int primary key, filler text, more text)")
        .unwrap();
    session
        .query("insert into t select i, repeat('x', 1000), null from generate_series(1, 2000) i")
        .unwrap();
    session.query("analyze t").unwrap();
    let mut bytes = |function: &str| -> f64 {
        let rows = session.rows(&format!("select {function}('t')")).unwrap();
        rows[0][0].as_deref().unwrap().parse().unwrap()
    };
    let table = bytes("pg_table_size");
    assert!((2.0e6..2.4e6).contains(&table), "{table}");
    assert_eq!(bytes("pg_relation_size"), table);
    assert!(bytes("pg_total_relation_size") > table);
}
