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
