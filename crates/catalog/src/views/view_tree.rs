//! pg_rewrite.ev_action: a view's query as a tree of nodes.
//!
//! Of PostgreSQL's tree only what clients read out of it: the list of targets, each with its column of the view and the column
//! that it shows. So PostgREST finds the keys that reach through a view. Who wants the query has pg_get_viewdef.

use std::fmt::Write;

use mote_common::Oid;
use mote_sql::bind::view_origins;
use mote_sql::catalog::Relation;

use crate::catalog_store::SessionCatalog;

/// The tree of a view. Binding recurses: callers see to a stack that suits it.
pub fn action(view: &Relation, catalog: &SessionCatalog) -> String {
    // A view whose query does not bind any more still has its columns; nobody can say what they show.
    let origins = view_origins(view, catalog).unwrap_or_default();
    let mut text = String::from("({QUERY :commandType 1 :querySource 0 :canSetTag true :targetList (");
    let live = view.columns.iter().filter(|column| !column.dropped);
    for (position, column) in live.enumerate() {
        let (relation, attribute) = origins.get(position).copied().unwrap_or((Oid::INVALID, 0));
        let separator = if position == 0 { "" } else { " " };
        let _ = write!(
            text,
            "{separator}{{TARGETENTRY :resno {} :resname {} :resorigtbl {} :resorigcol {attribute} :resjunk false}}",
            position + 1,
            token(&column.name),
            relation.0,
        );
    }
    text.push_str(")})");
    text
}

/// A string as a node's field: what would end it, or begin something else, stands behind a backslash.
fn token(name: &str) -> String {
    if name.is_empty() {
        return "\"\"".into();
    }
    let mut text = String::with_capacity(name.len());
    let number_begins = |c: char| c.is_ascii_digit() || c == '<' || c == '"' || c == '+' || c == '-';
    if name.starts_with(number_begins) {
        text.push('\\');
    }
    for c in name.chars() {
        if matches!(c, ' ' | '\n' | '\t' | '(' | ')' | '{' | '}' | '\\') {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::token;

    #[test]
    fn names_are_fields() {
        assert_eq!(token("plain"), "plain");
        assert_eq!(token("Odd (name) {x}\\"), r"Odd\ \(name\)\ \{x\}\\");
        assert_eq!(token("1st"), r"\1st");
        assert_eq!(token("-"), r"\-");
    }
}
