//! pg_get_viewdef: a view's query as PostgreSQL shows it.
//!
//! The catalog keeps what was written, completed with schemas. It is spelled out when somebody asks
//! (`mote_sql::query_text`), and the result must bind to the same columns and come to rest: what it is spelled out to says of
//! itself what it says. (The first text need not: PostgreSQL, too, shows a list of strings otherwise once it was restored.)
//! What does not is shown as it is kept; so is what is long, or too much to trace, since nobody else's statement gets a turn
//! meanwhile.

use mote_grammar::ast::{Query, Statement, deparse};
use mote_sql::catalog::Relation;
use mote_sql::query_text;
use mote_types::ColumnType;

use super::text::shown_relations;
use crate::catalog_store::SessionCatalog;
use crate::host::run_on_large_stack;

/// Of a kept text. It is parsed and bound three times: some 30 ms.
const SPELLED_BYTES_MAX: usize = 64 << 10;

/// How a definition is laid out.
#[derive(Clone, Copy)]
pub enum Layout {
    Plain,
    Pretty,
    /// Pretty, with lines of this width.
    Wrapped(usize),
}

/// The definition with its semicolon; None for what is no view.
pub fn view_definition(relation: &Relation, catalog: &SessionCatalog, layout: Layout) -> Option<String> {
    let kept = relation.view_query.as_ref()?;
    let mut shown = None;
    run_on_large_stack(&mut || shown = spelled_out(kept, relation, catalog, layout));
    let text = shown.as_deref().unwrap_or(kept);
    // PostgreSQL's text begins with the blank that its deparser puts before every clause.
    let space = if text.starts_with([' ', '(']) { "" } else { " " };
    Some(format!("{space}{};", text.trim_end_matches(';')))
}

/// pg_get_ruledef: a view is its rule `_RETURN`.
pub fn rule_definition(
    name: &str,
    relation: &Relation,
    catalog: &SessionCatalog,
    layout: Layout,
) -> Option<String> {
    let query = view_definition(relation, catalog, layout)?;
    Some(format!(
        "CREATE RULE \"_RETURN\" AS\n    ON SELECT TO {name} DO INSTEAD {query}"
    ))
}

fn spelled_out(kept: &str, relation: &Relation, catalog: &SessionCatalog, layout: Layout) -> Option<String> {
    if kept.len() > SPELLED_BYTES_MAX {
        return None;
    }
    let live = relation.columns.iter().filter(|column| !column.dropped);
    let columns: Vec<(&str, ColumnType)> = live.map(|column| (column.name.as_str(), column.ty)).collect();
    let spell = |text: &str| query_text::spelled_out(&parsed(text)?, &columns, catalog);
    let written = |text: &str| {
        let query = spell(text)?;
        let written = match layout {
            Layout::Plain => deparse::spelled_out(&query, false),
            Layout::Pretty => deparse::spelled_out(&query, true),
            Layout::Wrapped(width) => deparse::wrapped(&query, width),
        };
        written.ok()
    };
    let text = written(kept)?;
    let again = written(&text)?;
    let rests = again == text || written(&again)? == again;
    rests.then(|| shown_relations(catalog, &text))
}

fn parsed(text: &str) -> Option<Query> {
    let statement = mote_grammar::parser::parse(text)
        .ok()?
        .into_iter()
        .next()?
        .statement;
    match statement {
        Statement::Query(query) => Some(*query),
        _ => None,
    }
}
