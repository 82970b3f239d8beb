//! Conditions that the catalog keeps as they were written, shown as PostgreSQL shows them: with the casts that the analysis
//! added, and with columns by their bare names.
//!
//! Leaves out: which objects have conditions (`text`, `rows/domains`), how expressions are written (`mote_planner::plan::deparse`).

use std::sync::Arc;

use mote_common::{Oid, SqlResult};
use mote_planner::plan::deparse::deparse;
use mote_sql::catalog::{CatalogView, Relation};
use mote_sql::expr::Expr;
use mote_sql::{RelationExpression, bind_domain_condition, bind_expression_over_relation};
use mote_types::ColumnType;

use super::facts::Facts;
use crate::host::run_on_large_stack;

/// The expression of a table's CHECK. None: it cannot be shown so.
pub fn of_table(facts: &Facts<'_>, table: Oid, text: &str, pretty: bool) -> Option<String> {
    let catalog = facts.session.catalog;
    let relation: Arc<Relation> = catalog.relation(table)?;
    let bind =
        |text: &str| bind_expression_over_relation(text, &relation, RelationExpression::Check, None, catalog);
    shown(text, &relation.quoted_column_names(), pretty, &bind)
}

/// The expression of a domain's CHECK.
pub fn of_domain(facts: &Facts<'_>, base: ColumnType, text: &str, pretty: bool) -> Option<String> {
    let bind = |text: &str| bind_domain_condition(text, base, facts.session.catalog);
    shown(text, &["VALUE".to_string()], pretty, &bind)
}

/// What is shown must mean the same when it is read again, as a dump is: whatever does not come out of that as it went in
/// is not shown. Binding leaves collations away.
fn shown(
    text: &str,
    columns: &[String],
    pretty: bool,
    bind: &dyn Fn(&str) -> SqlResult<Expr>,
) -> Option<String> {
    if text.contains(" COLLATE ") {
        return None;
    }
    let written = |text: &str| Some(deparse(&bind(text).ok()?, columns, pretty));
    let mut found = None;
    run_on_large_stack(&mut || {
        found = written(text).filter(|once| written(once).as_ref() == Some(once));
    });
    found
}
