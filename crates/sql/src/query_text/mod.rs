//! A query's tree as PostgreSQL prints it: with all in it that only binding knows.
//!
//! Columns stand behind the names of their FROM items, stars are written out, literals and conversions show their types, `IN`,
//! `BETWEEN` and `LIKE` are the operators they stand for, positions and output names in ORDER BY and GROUP BY are what they point
//! at, and a relation bears its schema only where its bare name would not find it. The result is a tree again, which
//! `grammar::ast::deparse` turns into text.
//!
//! Reading order: this file, `names` (who is called what), `query`, `expr` and beside it `operators` and `call`, `constant`.
//!
//! Source: what PostgreSQL's parse analysis does to a tree, and what its ruleutils.c makes of that.
//!
//! Leaves out: layout and parentheses (`deparse`). What it cannot say as PostgreSQL does, it does not say at all (None): joins
//! with aliases of their own, data-modifying WITH.

mod call;
mod constant;
mod expr;
mod names;
mod operators;
mod query;

use mote_grammar::ast;
use mote_types::ColumnType;

use crate::bind::{Trace, trace_query};
use crate::catalog::{CatalogView, Relation};
use names::Names;

/// The query of a view with `columns`, spelled out. None: it does not bind, or PostgreSQL's form of it is not known here.
pub fn spelled_out(
    query: &ast::Query,
    columns: &[(&str, ColumnType)],
    catalog: &dyn CatalogView,
) -> Option<ast::Query> {
    let trace = trace_query(query, catalog).ok()??;
    // A literal in the query is a text in the view; beyond that they agree, or somebody has changed what the view reads.
    let agree = trace.output.len() == columns.len()
        && trace
            .output
            .iter()
            .zip(columns)
            .all(|(ty, column)| ty.oid == column.1.oid);
    if !agree {
        return None;
    }
    let mut writer = Writer {
        trace: &trace,
        catalog,
        names: Names::default(),
    };
    let names: Vec<ast::Name> = columns.iter().map(|column| column.0.into()).collect();
    let types: Vec<ColumnType> = columns.iter().map(|column| column.1).collect();
    let shown = query::Shown {
        names: Some(&names),
        types: Some(&types),
        always_named: true,
    };
    writer.query(query, &shown)
}

/// An expression without columns, as it is converted to `ty`: a column's default.
pub fn spelled_out_expression(
    expr: &ast::Expr,
    ty: ColumnType,
    catalog: &dyn CatalogView,
) -> Option<ast::Expr> {
    let query = select_of(expr, Vec::new());
    let trace = trace_query(&query, catalog).ok()??;
    let mut writer = Writer {
        trace: &trace,
        catalog,
        names: Names::default(),
    };
    let untyped = trace.expr(expr)?.ty().oid == mote_types::oid::UNKNOWN;
    writer.expr_of(expr, untyped.then(|| ColumnType::new(ty.oid)))
}

/// Where the relation of a condition stands: before everything else.
const PLACE: ast::Location = ast::Location(0);

/// A condition over a relation's row, whose columns stand under their bare names: a CHECK.
pub fn spelled_out_condition(
    expr: &ast::Expr,
    relation: &Relation,
    catalog: &dyn CatalogView,
) -> Option<ast::Expr> {
    let from = ast::FromItem::Relation(ast::RelationReference {
        name: ast::RelationName {
            catalog: None,
            schema: Some(relation.schema.as_str().into()),
            name: relation.name.as_str().into(),
            location: PLACE,
        },
        only: false,
        alias: None,
        sample: None,
    });
    let trace = trace_query(&select_of(expr, vec![from]), catalog).ok()??;
    let mut names = Names::default();
    // The one item there is has no name to stand behind.
    names.enter(&[(trace.item(PLACE)?, "".into())]);
    let mut writer = Writer {
        trace: &trace,
        catalog,
        names,
    };
    writer.expr_of(expr, Some(ColumnType::BOOL))
}

/// The query that selects an expression.
fn select_of(expr: &ast::Expr, from: Vec<ast::FromItem>) -> ast::Query {
    let select = ast::Select {
        distinct: None,
        targets: vec![ast::Target {
            name: None,
            value: expr.clone(),
            location: expr.location,
        }],
        from,
        filter: None,
        group_by: Vec::new(),
        group_distinct: false,
        having: None,
        windows: Vec::new(),
    };
    ast::Query {
        with: None,
        body: ast::QueryBody::Select(Box::new(select)),
        order_by: Vec::new(),
        limit: None,
        offset: None,
        locking: Vec::new(),
        location: expr.location,
    }
}

/// What makes one tree of another.
struct Writer<'a> {
    trace: &'a Trace,
    catalog: &'a dyn CatalogView,
    names: Names,
}
