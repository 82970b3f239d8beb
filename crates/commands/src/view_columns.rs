//! Names of a view's columns, written into its query: the text alone must tell them, since pg_get_viewdef and so
//! pg_dump show nothing else.

use mote_common::SqlResult;
use mote_grammar::ast::{
    Alias, ColumnReference, Distinct, Expr, ExprKind, FromItem, GroupingElement, Name, Query, QueryBody,
    Select, Statement, Target, deparse,
};

use super::internal;
use mote_catalog::catalog_store::stored::StoredRelation;
use mote_executor::context::StatementContext;

/// What the query is called where it becomes a derived table.
const WRAPPED: &str = "q";

/// Gives the query's columns these names. All that `*` stands for has been written out.
pub(super) fn name(query: &mut Query, names: &[&str]) {
    // A name that ORDER BY and the like refer to cannot just be changed: they would mean another column, or none.
    let wrap = match leftmost(query) {
        Some(select) => order_depends_on_names(query, select, names),
        None => true,
    };
    if wrap {
        return as_derived_table(query, names);
    }
    let Some(select) = leftmost_mut(query) else { return };
    for (target, name) in select.targets.iter_mut().zip(names) {
        // A column that bears the name already needs no AS, and stays as it was written.
        if shown_name(target) != Some(name) {
            target.name = Some((*name).into());
        }
    }
}

/// The names of a view's columns have changed: the query follows.
pub(super) fn follow(view: &mut StoredRelation, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let Some(text) = &view.view_query else {
        return Ok(());
    };
    let parsed = internal::parse(text, context)?;
    if let Statement::Query(mut query) = parsed.statement {
        let names: Vec<&str> = view.columns.iter().map(|column| column.name.as_str()).collect();
        name(&mut query, &names);
        view.view_query = Some(deparse::query(&query)?);
    }
    Ok(())
}

/// The SELECT that names the columns; None where VALUES does.
fn leftmost(query: &Query) -> Option<&Select> {
    match &query.body {
        QueryBody::Select(select) => Some(select),
        QueryBody::SetOperation { first, .. } => leftmost(first),
        QueryBody::Values(_) => None,
    }
}

/// The same to be changed.
fn leftmost_mut(query: &mut Query) -> Option<&mut Select> {
    match &mut query.body {
        QueryBody::Select(select) => Some(select),
        QueryBody::SetOperation { first, .. } => leftmost_mut(first),
        QueryBody::Values(_) => None,
    }
}

/// The name that a target has by what is written, where that is plain to see.
fn shown_name(target: &Target) -> Option<&str> {
    match (&target.name, &target.value.kind) {
        (Some(name), _) => Some(name),
        (None, ExprKind::Column(column)) => column.parts.last().map(|name| &**name),
        _ => None,
    }
}

/// Whether ORDER BY, DISTINCT ON or GROUP BY has a bare name that may mean an output column, now or with the new names.
fn order_depends_on_names(query: &Query, select: &Select, names: &[&str]) -> bool {
    let depends = |expr: &Expr| match &expr.kind {
        ExprKind::Column(ColumnReference { parts, .. }) => match parts.as_slice() {
            [name] => {
                names.contains(&&**name)
                    || select
                        .targets
                        .iter()
                        .any(|target| target.name.as_ref() == Some(name))
            }
            _ => false,
        },
        _ => false,
    };
    let distinct_on = match &select.distinct {
        Some(Distinct::On(list)) => list.as_slice(),
        _ => &[],
    };
    let grouped = select.group_by.iter().any(|element| match element {
        GroupingElement::Expr(expr) => depends(expr),
        GroupingElement::Empty => false,
        // Rare enough not to be looked into.
        GroupingElement::Rollup(_) | GroupingElement::Cube(_) | GroupingElement::Sets(_) => true,
    });
    grouped || query.order_by.iter().any(|key| depends(&key.value)) || distinct_on.iter().any(depends)
}

/// `SELECT q.x, q.y FROM (query) q(x, y)`.
fn as_derived_table(query: &mut Query, names: &[&str]) {
    // Places have no meaning in a text that is put together.
    let location = query.location;
    let named = |kind| Expr { kind, location };
    let targets = names.iter().map(|&name| Target {
        name: None,
        value: named(ExprKind::Column(ColumnReference {
            parts: vec![WRAPPED.into(), name.into()],
            star: false,
        })),
        location,
    });
    let select = Select {
        distinct: None,
        targets: targets.collect(),
        from: Vec::new(),
        filter: None,
        group_by: Vec::new(),
        group_distinct: false,
        having: None,
        windows: Vec::new(),
    };
    let outside = Query {
        with: None,
        body: QueryBody::Select(Box::new(select)),
        order_by: Vec::new(),
        limit: None,
        offset: None,
        locking: Vec::new(),
        location,
    };
    let inside = std::mem::replace(query, outside);
    let columns: Vec<Name> = names.iter().map(|&name| name.into()).collect();
    let item = FromItem::Subquery {
        query: Box::new(inside),
        lateral: false,
        alias: Some(Alias {
            name: WRAPPED.into(),
            columns,
        }),
        location,
    };
    if let QueryBody::Select(select) = &mut query.body {
        select.from.push(item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str, names: &[&str]) -> String {
        let mut parsed = mote_grammar::parser::parse(text).expect("a query");
        let Some(Statement::Query(mut query)) = parsed.pop().map(|parsed| parsed.statement) else {
            panic!("no query: {text}");
        };
        name(&mut query, names);
        let text = deparse::query(&query).expect("it can be written");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn targets_get_the_names_that_they_do_not_have() {
        assert_eq!(
            named("select a, b from t", &["a", "x"]),
            "SELECT a, b AS x FROM t"
        );
        assert_eq!(named("select a + 1 from t", &["n"]), "SELECT (a + 1) AS n FROM t");
        assert_eq!(named("select a as b from t", &["c"]), "SELECT a AS c FROM t");
        let union = named("select a from t union select b from u", &["x"]);
        assert_eq!(union, "SELECT a AS x FROM t UNION SELECT b FROM u");
        assert_eq!(
            named("select a, b from t order by a", &["x", "b"]),
            "SELECT a AS x, b FROM t ORDER BY a"
        );
    }

    #[test]
    fn a_query_that_its_own_names_order_becomes_a_derived_table() {
        for (text, names) in [
            ("values (1), (2)", &["n"][..]),
            ("select a as b from t order by b", &["c"]),
            ("select a from t order by b", &["b"]),
            ("select a as b, count(*) as n from t group by b", &["c", "n"]),
            ("select distinct on (b) a as b from t", &["c"]),
            ("select a, count(*) as n from t group by rollup (a)", &["x", "n"]),
        ] {
            let shown = named(text, names);
            let columns: Vec<String> = names.iter().map(|name| format!("q.{name}")).collect();
            assert!(
                shown.starts_with(&format!("SELECT {} FROM (", columns.join(", "))),
                "{shown}"
            );
            assert!(shown.ends_with(&format!(") q({})", names.join(", "))), "{shown}");
            assert_eq!(named(&shown, names), shown, "nothing is left to be named");
        }
    }
}
