//! Conditions and defaults that the catalog keeps as they were written, shown as PostgreSQL shows them: with the casts that the
//! analysis added, and with columns by their bare names.
//!
//! Leaves out: which objects have conditions (`text`, `rows/domains`), how expressions are written (`mote_planner::plan::deparse`).

use std::sync::Arc;

use mote_common::{Oid, SqlResult};
use mote_grammar::ast;
use mote_grammar::ast::{QueryBody, Statement, deparse};
use mote_sql::catalog::{CatalogView, Relation};
use mote_sql::expr::Expr;
use mote_sql::query_text;
use mote_sql::{
    RelationExpression, bind_domain_condition, bind_expression_over_relation, bind_stored_trigger_condition,
};
use mote_types::ColumnType;

use super::facts::Facts;
use crate::host::run_on_large_stack;

/// The expression of a table's CHECK. None: it cannot be shown so.
pub fn of_table(facts: &Facts<'_>, table: Oid, text: &str, pretty: bool) -> Option<String> {
    let catalog = facts.session.catalog;
    let relation: Arc<Relation> = catalog.relation(table)?;
    let spelled = |text: &str, pretty: bool| {
        let spelled = query_text::spelled_out_condition(&parsed(text)?, &relation, catalog)?;
        Some(deparse::spelled_out_expression(&spelled, pretty))
    };
    let mut found = None;
    run_on_large_stack(&mut || {
        // PostgreSQL, too, shows the conversion of a list otherwise once it has read it again, and then no more.
        let settled = |once: &String| {
            let again = spelled(once, false)?;
            Some(spelled(&again, false)? == again)
        };
        let plain = spelled(text, false).filter(|once| settled(once) == Some(true));
        found = plain.and_then(|plain| match pretty {
            true => spelled(text, true),
            false => Some(plain),
        });
    });
    let bind =
        |text: &str| bind_expression_over_relation(text, &relation, RelationExpression::Check, None, catalog);
    found.or_else(|| shown(text, &relation.quoted_column_names(), pretty, &bind))
}

/// The expression of a domain's CHECK.
pub fn of_domain(facts: &Facts<'_>, base: ColumnType, text: &str, pretty: bool) -> Option<String> {
    let bind = |text: &str| bind_domain_condition(text, base, facts.session.catalog);
    shown(text, &["VALUE".to_string()], pretty, &bind)
}

/// The expression of a generated column.
pub fn of_generated(facts: &Facts<'_>, table: Oid, text: &str) -> Option<String> {
    let catalog = facts.session.catalog;
    let relation: Arc<Relation> = catalog.relation(table)?;
    let purpose = RelationExpression::Generated;
    let bind = |text: &str| bind_expression_over_relation(text, &relation, purpose, None, catalog);
    shown(text, &relation.quoted_column_names(), false, &bind)
}

/// WHEN of a trigger, over the old row and the new one behind it.
pub fn of_trigger(facts: &Facts<'_>, table: Oid, text: &str, pretty: bool) -> Option<String> {
    // Whole rows come out of binding as their fields.
    if text.contains(".*") {
        return None;
    }
    let catalog = facts.session.catalog;
    let relation: Arc<Relation> = catalog.relation(table)?;
    let bind = |text: &str| bind_stored_trigger_condition(text, &relation, catalog);
    let columns = relation.quoted_column_names();
    let of_row = |row: &str| {
        columns
            .iter()
            .map(|column| format!("{row}.{column}"))
            .collect::<Vec<_>>()
    };
    shown(text, &[of_row("old"), of_row("new")].concat(), pretty, &bind)
}

/// A default, of which the column makes a value of `ty`.
pub fn of_default(facts: &Facts<'_>, ty: ColumnType, text: &str) -> Option<String> {
    let catalog = facts.session.catalog;
    let written = |text: &str| {
        let spelled = query_text::spelled_out_expression(&parsed(text)?, ty, catalog)?;
        Some(deparse::spelled_out_expression(&spelled, false))
    };
    let mut found = None;
    run_on_large_stack(&mut || {
        found = written(text).filter(|once| written(once).as_ref() == Some(once));
    });
    found
}

fn parsed(text: &str) -> Option<ast::Expr> {
    let mut statements = mote_grammar::parser::parse(&format!("SELECT {text}"))
        .ok()?
        .into_iter();
    let Statement::Query(query) = statements.next()?.statement else {
        return None;
    };
    let QueryBody::Select(select) = query.body else {
        return None;
    };
    let mut targets = select.targets.into_iter();
    let only = targets.next().filter(|target| target.name.is_none());
    only.filter(|_| targets.next().is_none() && select.from.is_empty())
        .map(|target| target.value)
}

/// An expression that stands in the plain form, in the pretty one.
pub fn pretty(plain: &str) -> Option<String> {
    let mut found = None;
    run_on_large_stack(&mut || {
        found = parsed(plain)
            .filter(|expr| deparse::spelled_out_expression(expr, false) == plain)
            .map(|expr| deparse::spelled_out_expression(&expr, true));
    });
    found
}

/// What is shown must mean the same when it is read again, as a dump is: whatever does not come to rest is not shown. The
/// first text need not come out as it went in: PostgreSQL, too, shows a list of strings otherwise once it was restored.
/// Binding leaves collations away.
fn shown(
    text: &str,
    columns: &[String],
    pretty: bool,
    bind: &dyn Fn(&str) -> SqlResult<Expr>,
) -> Option<String> {
    if text.contains(" COLLATE ") {
        return None;
    }
    let written = |text: &str| {
        Some(mote_planner::plan::deparse::deparse(
            &bind(text).ok()?,
            columns,
            pretty,
        ))
    };
    let mut found = None;
    run_on_large_stack(&mut || {
        found = written(text).filter(|once| {
            let again = written(once);
            again.as_ref() == Some(once) || again.as_deref().and_then(written) == again && again.is_some()
        });
    });
    found
}
