//! Names of the columns that a node's rows have, for the expressions above it.

use crate::plan::node::*;
use mote_sql::catalog::Relation;
use mote_sql::expr::Expr;

use super::expression::{Names, aggregate_text, shown};
use super::parameters::Parameters;

/// How columns of tables are called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// With their table: where a plan reads more than one, and everywhere under VERBOSE.
    Qualified,
    Bare,
}

/// What a scanned table is called in the statement.
pub(super) fn called<'a>(relation: &'a Relation, alias: &'a Option<Box<str>>) -> &'a str {
    alias.as_deref().unwrap_or(&relation.name)
}

pub(super) fn column_names(node: &Node, style: Style, parameters: &Parameters) -> Vec<String> {
    let all = |exprs: &[Expr], columns: &[String]| -> Vec<String> {
        let names = Names { columns, parameters };
        exprs.iter().map(|expr| shown(expr, names)).collect()
    };
    let below = || {
        let mut names = Vec::new();
        node.for_each_input(&mut |input| names.push(column_names(input, style, parameters)));
        names
    };
    match node {
        Node::SeqScan(scan) => scanned(
            &scan.relation,
            called(&scan.relation, &scan.alias),
            &scan.columns,
            style,
        ),
        Node::VirtualScan(scan) => scanned(&scan.relation, &scan.relation.name, &scan.columns, style),
        Node::IndexScan(scan) => scanned(
            &scan.relation,
            called(&scan.relation, &scan.alias),
            &scan.columns,
            style,
        ),
        Node::Project { input, columns } => {
            let inner = column_names(input, style, parameters);
            all(columns, &inner)
        }
        Node::Result { columns, .. } => all(columns, &[]),
        Node::Aggregate(aggregate) => {
            let columns = &column_names(&aggregate.input, style, parameters);
            let names = Names { columns, parameters };
            let keys = all(&aggregate.group_by, columns).into_iter();
            keys.chain(aggregate.calls.iter().map(|call| aggregate_text(call, names)))
                .collect()
        }
        Node::NestedLoop(join) if !matches!(join.kind, JoinKind::Semi | JoinKind::Anti) => below().concat(),
        Node::HashJoin(join) if !matches!(join.kind, JoinKind::Semi | JoinKind::Anti) => below().concat(),
        Node::FunctionScan(scan) => {
            let name = |column: &str| match style {
                Style::Qualified => format!("{}.{column}", scan.alias),
                Style::Bare => column.to_owned(),
            };
            scan.names.iter().map(|column| name(column)).collect()
        }
        Node::Values { rows } => {
            let width = rows.first().map_or(0, Vec::len);
            (1..=width)
                .map(|position| format!("\"*VALUES*\".column{position}"))
                .collect()
        }
        _ => below().into_iter().next().unwrap_or_default(),
    }
}

fn scanned(relation: &Relation, called: &str, columns: &[ScanColumn], style: Style) -> Vec<String> {
    let name = |column: &ScanColumn| {
        let own = match column {
            ScanColumn::Attribute(position) => relation.columns[*position as usize].name.as_str(),
            ScanColumn::RowMark | ScanColumn::Ctid => "ctid",
            ScanColumn::Xmin => "xmin",
            ScanColumn::TableOid => "tableoid",
            ScanColumn::WholeRow | ScanColumn::WholeRowOf(_) => return format!("{called}.*"),
        };
        match style {
            Style::Qualified => format!("{called}.{own}"),
            Style::Bare => own.to_owned(),
        }
    };
    columns.iter().map(name).collect()
}
