//! Which statements a hash index serves.

use crate::tests::support::session;

fn plan(session: &mut crate::embedded::LocalSession, query: &str) -> String {
    let rows = session.rows(&format!("explain (costs off) {query}")).unwrap();
    let lines = rows.iter().filter_map(|row| row[0].as_deref());
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn equality_reads_a_hash_index_and_nothing_else_does() {
    let mut session = session();
    session.query("create table t (id int, word text)").unwrap();
    session
        .query("insert into t select i, 'word ' || i from generate_series(1, 500) i")
        .unwrap();
    session
        .query("create index by_word on t using hash (word)")
        .unwrap();
    session.query("analyze t").unwrap();
    for served in [
        "select id from t where word = 'word 7'",
        "select id from t where word in ('word 7', 'word 8')",
        "select id from t where word = any (array['word 7'])",
    ] {
        assert!(plan(&mut session, served).contains("using by_word"), "{served}");
        assert!(!session.rows(served).unwrap().is_empty(), "{served}");
    }
    for not_served in [
        "select id from t where word > 'word 7'",
        "select id from t where word is null",
        "select id from t where word like 'word 7%'",
        "select id from t order by word limit 1",
        "select max(word) from t",
    ] {
        let plan = plan(&mut session, not_served);
        assert!(!plan.contains("by_word"), "{not_served}: {plan}");
    }
}
