//! What the expressions of stored objects mean, before and after a cast comes or goes.
//!
//! PostgreSQL stores expressions bound: a new cast changes none of them, and DROP CAST is not kept from anything. Here they are bound
//! anew from their texts, so a cast that one of them would be bound differently for is refused. All expressions of the
//! database are bound twice for that, as for no other statement; casts are made rarely.
//! Leaves out: bodies of routines, which PostgreSQL binds anew as well, but for those in SQL-standard form (COMPAT.md).

use std::collections::BTreeSet;

use mote_common::{Oid, SqlError, SqlResult};
use mote_grammar::rewrite::parse_expression;
use mote_sql::bind::PlanSettings;
use mote_sql::bind::query::{Bound, BoundCteStatement, BoundStatement, visit_deep};
use mote_sql::expr::Expr;

use crate::uses::texts::{self, Search};
use crate::{dropping, internal, schema, uses};
use mote_executor::context::StatementContext;

/// Makes the change, unless it makes something that is stored mean something else.
pub(super) fn keep(
    statement: &str,
    context: &mut StatementContext<'_>,
    change: impl FnOnce(&mut StatementContext<'_>) -> SqlResult<()>,
) -> SqlResult<()> {
    let before = all(context)?;
    change(context)?;
    let after = all(context)?;
    for (object, meaning) in before {
        // What could not be bound before cannot be spoilt.
        if !after.contains(&(object.clone(), meaning)) {
            return Err(SqlError::unsupported(format_args!(
                "{statement} of a cast that changes what {object} means"
            )));
        }
    }
    Ok(())
}

/// What has a text that can be bound, as messages name it, with what its text means.
fn all(context: &mut StatementContext<'_>) -> SqlResult<BTreeSet<(String, String)>> {
    let catalog = context.session.catalog.current();
    let relations = catalog.relations().map(|entry| Oid(entry.stored.oid));
    let routines = catalog.routines().map(|entry| Oid(entry.stored.oid));
    let candidates: BTreeSet<Oid> = relations.chain(routines).collect();
    let search = Search {
        may_name: &|_| true,
        find: &|expr| Some(format!("{expr:?}")),
    };
    let expressions = texts::in_expressions(&search, &candidates, context)?;
    let mut found: BTreeSet<(String, String)> = BTreeSet::new();
    for (dependent, meaning) in expressions {
        found.insert((dependent.described(context), meaning));
    }
    for entry in catalog.relations() {
        let here = schema::is_in_this_database(entry.stored.schema, context);
        if let Some(text) = entry.stored.view_query.as_ref().filter(|_| here)
            && let Some(meaning) = of_query(text, context)?
        {
            found.insert((dropping::described(&entry.stored, context), meaning));
        }
    }
    for entry in catalog.user_types() {
        let here = schema::is_in_this_database(entry.stored.schema, context);
        let Some(domain) = entry.stored.domain.as_ref().filter(|_| here) else {
            continue;
        };
        let base = mote_types::ColumnType::with_typmod(Oid(domain.type_oid), domain.typmod);
        let bound = internal::on_large_stack(context, |session| {
            let catalog = &session.catalog;
            let checks = domain.checks.iter();
            let checks =
                checks.map(|check| mote_sql::bind_domain_condition(&check.expression, base, catalog));
            let default = domain.default.iter().map(|text| {
                mote_sql::bind_free_expression(&parse_expression(text)?, Some(base), "", catalog)
            });
            Ok(checks.chain(default).flatten().collect::<Vec<Expr>>())
        })?;
        let bound = bound.iter().map(|expr| format!("{expr:?}"));
        found.extend(bound.map(|meaning| (uses::types::described(entry), meaning)));
    }
    Ok(found)
}

/// None: it cannot be bound, whatever casts there are.
fn of_query(text: &str, context: &mut StatementContext<'_>) -> SqlResult<Option<String>> {
    let Ok(parsed) = internal::parse(text, context) else {
        return Ok(None);
    };
    internal::on_large_stack(context, |session| {
        let settings = PlanSettings::default();
        let bound = mote_sql::bind::bind_statement(&parsed.statement, &[], &session.catalog, &settings);
        Ok(bound.ok().map(expressions_of))
    })
}

/// All expressions of a view's query, those of the views that it reads included.
fn expressions_of(mut bound: Bound) -> String {
    let mut found = String::new();
    let mut note = |expr: &mut Expr| found.push_str(&format!("{expr:?};"));
    let (items, subqueries) = (&mut bound.items, &mut bound.subqueries);
    if let BoundStatement::Query(query) = &mut bound.statement {
        visit_deep(query, items, subqueries, &mut note);
    }
    for cte in &mut bound.ctes {
        match &mut cte.statement {
            BoundCteStatement::Query(Some(query)) => visit_deep(query, items, subqueries, &mut note),
            BoundCteStatement::Recursive(Some(parts), _) => {
                visit_deep(&mut parts.0, items, subqueries, &mut note);
                visit_deep(&mut parts.1, items, subqueries, &mut note);
            }
            _ => {}
        }
    }
    found
}
