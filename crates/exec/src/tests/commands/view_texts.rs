//! What pg_get_viewdef shows, beside what PostgreSQL 15.20 has shown for the same views.

use crate::tests::support::session;

/// Statements (`+`), and queries (`>`) each with the text that PostgreSQL shows of a view of it.
const TEXTS: &str = include_str!("view_texts.txt");

#[test]
fn views_are_shown_as_postgresql_shows_them() {
    let mut session = session();
    let mut wrong = String::new();
    let mut views: Vec<(&str, String)> = Vec::new();
    for line in TEXTS.lines() {
        if let Some(statement) = line.strip_prefix("+ ") {
            session.query(statement).expect(statement);
        } else if let Some(query) = line.strip_prefix("> ") {
            views.push((query, String::new()));
        } else if let Some((_, text)) = views.last_mut() {
            text.push_str(line);
            text.push('\n');
        }
    }
    assert!(views.len() > 200);
    for (number, (query, expected)) in views.iter().enumerate() {
        session
            .query(&format!("create view v{number:03} as {query}"))
            .expect(query);
        let asked = format!("select pg_get_viewdef('v{number:03}'::regclass)");
        let rows = session.rows(&asked).expect(query);
        let shown = rows[0][0].clone().unwrap_or_default();
        if shown != expected.trim_end_matches('\n') {
            wrong += &format!("{query}\n{expected}{shown}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// What stands in a deep tree is kept once for each of its levels: beyond a bound, and for long texts, views are shown as they are kept.
#[test]
fn heavy_views_are_shown_as_they_are_kept() {
    let mut session = session();
    session.query("create table t (a int)").expect("it is new");
    let nested = |elements: usize, depth: usize| {
        let list = vec!["a"; elements].join(",");
        let (calls, ends) = ("array_remove(".repeat(depth), ",1)".repeat(depth));
        format!("select {calls}array[{list}]{ends} as x from t")
    };
    let light = nested(100, 20);
    for (view, query, spelled_out) in [
        ("light", light, true),
        ("deep", nested(10_000, 200), false),
        ("long", nested(40_000, 1), false),
    ] {
        session
            .query(&format!("create view {view} as {query}"))
            .expect(view);
        let asked = format!("select pg_get_viewdef('{view}'::regclass)");
        let rows = session.rows(&asked).expect(view);
        let shown = rows[0][0].as_deref().expect(view);
        assert_eq!(shown.contains("t.a"), spelled_out, "{view}: {:.80}", shown);
    }
}
