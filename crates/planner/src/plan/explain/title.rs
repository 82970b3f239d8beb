//! What a node is called: a line in the text form, and the same in pieces for the others.

use mote_sql::catalog::Relation;
use mote_sql::clause::SetOperationKind;
use mote_sql::expr::Expr;

use crate::plan::QueryPlan;
use crate::plan::node::*;

use super::names::called;
use super::shown::Value;

type Attributes = Vec<(&'static str, Value)>;

pub(super) fn title(plan: &QueryPlan, verbose: bool, node: &Node) -> (String, Attributes) {
    match node {
        Node::SeqScan(scan) => table_scan("Seq Scan", &scan.relation, &scan.alias, verbose),
        Node::VirtualScan(scan) => table_scan("Seq Scan", &scan.relation, &None, verbose),
        Node::IndexScan(scan) => index_scan(scan, verbose),
        Node::IndexUnion(union) => table_scan("Index Union", &union.relation, &union.alias, verbose),
        Node::FunctionScan(scan) => function_scan(scan),
        Node::CteScan { cte, .. } => {
            let name = plan.ctes[*cte as usize].name.clone();
            named_scan("CTE Scan", "CTE Name", Some(name))
        }
        Node::WorkTableScan { cte } => {
            let name = plan.ctes[*cte as usize].name.clone();
            named_scan("WorkTable Scan", "CTE Name", Some(name))
        }
        Node::Values { .. } => {
            let mut attributes = kind("Values Scan");
            attributes.push(("Alias", text("*VALUES*")));
            ("Values Scan on \"*VALUES*\"".to_owned(), attributes)
        }
        Node::NestedLoop(join) => {
            let line = format!("Nested Loop{}", join_suffix(join.kind));
            (line, join_attributes("Nested Loop", join.kind))
        }
        Node::HashJoin(join) => {
            let line = match join.kind {
                JoinKind::Inner => "Hash Join".to_owned(),
                kind => format!("Hash{}", join_suffix(kind)),
            };
            (line, join_attributes("Hash Join", join.kind))
        }
        Node::Aggregate(aggregate) if aggregate.group_by.is_empty() => {
            ("Aggregate".to_owned(), strategy("Aggregate", "Plain"))
        }
        Node::Aggregate(_) | Node::Distinct { on: None, .. } => {
            ("HashAggregate".to_owned(), strategy("Aggregate", "Hashed"))
        }
        Node::SetOperation { kind, all, .. } => set_operation(*kind, *all),
        Node::Insert(insert) => modify("Insert", &insert.relation, verbose),
        Node::Update(update) => modify("Update", &update.relation, verbose),
        Node::Delete(delete) => modify("Delete", &delete.relation, verbose),
        Node::Merge(merge) => modify("Merge", &merge.relation, verbose),
        Node::Result { .. } | Node::Empty { .. } | Node::Filter { .. } => plain("Result"),
        Node::Project { .. } => plain("Project"),
        Node::ProjectSet { .. } => plain("ProjectSet"),
        Node::Sort { .. } => plain("Sort"),
        Node::Limit { .. } => plain("Limit"),
        Node::Distinct { .. } => plain("Unique"),
        Node::Window(_) => plain("WindowAgg"),
        Node::Append(append) if append.merge.is_empty() => plain("Append"),
        Node::Append(_) => plain("Merge Append"),
        Node::RecursiveUnion { .. } => plain("Recursive Union"),
        Node::LockRows { .. } => plain("LockRows"),
        Node::Measured(measured) => title(plan, verbose, &measured.input),
    }
}

fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

fn kind(name: &str) -> Attributes {
    vec![("Node Type", text(name))]
}

fn plain(name: &str) -> (String, Attributes) {
    (name.to_owned(), kind(name))
}

fn strategy(name: &str, strategy: &str) -> Attributes {
    let mut attributes = kind(name);
    attributes.push(("Strategy", text(strategy)));
    if name == "Aggregate" {
        attributes.push(("Partial Mode", text("Simple")));
    }
    attributes
}

fn relation(attributes: &mut Attributes, relation: &Relation, alias: &Option<Box<str>>, verbose: bool) {
    attributes.push(("Relation Name", text(&relation.name)));
    if verbose {
        attributes.push(("Schema", text(&relation.schema)));
    }
    attributes.push(("Alias", text(called(relation, alias))));
}

fn table_scan(name: &str, table: &Relation, alias: &Option<Box<str>>, verbose: bool) -> (String, Attributes) {
    let mut attributes = kind(name);
    relation(&mut attributes, table, alias, verbose);
    (
        format!("{name} on {}", scanned(table, alias, verbose)),
        attributes,
    )
}

fn function_scan(scan: &FunctionScan) -> (String, Attributes) {
    // Several in ROWS FROM are told by the alias alone.
    let name = match &scan.calls[..] {
        [Expr::Call { function, .. }] => Some(function.signature().name.to_owned()),
        [Expr::Routine(call)] => Some(call.routine.name.clone()),
        _ => None,
    };
    let mut attributes = kind("Function Scan");
    attributes.extend(name.iter().map(|name| ("Function Name", text(name))));
    attributes.push(("Alias", text(&scan.alias)));
    let line = match name {
        Some(name) if *name == *scan.alias => format!("Function Scan on {name}"),
        Some(name) => format!("Function Scan on {name} {}", scan.alias),
        None => format!("Function Scan on {}", scan.alias),
    };
    (line, attributes)
}

fn set_operation(kind: SetOperationKind, all: bool) -> (String, Attributes) {
    let word = match kind {
        SetOperationKind::Union => "Union",
        SetOperationKind::Intersect => "Intersect",
        SetOperationKind::Except => "Except",
    };
    let command = format!("{word}{}", if all { " All" } else { "" });
    let mut attributes = strategy("SetOp", "Hashed");
    attributes.push(("Command", text(&command)));
    (format!("HashSetOp {command}"), attributes)
}

fn index_scan(scan: &IndexScan, verbose: bool) -> (String, Attributes) {
    let index = &scan.relation.indexes[scan.index as usize].name;
    let table = scanned(&scan.relation, &scan.alias, verbose);
    let backward = if scan.backward { " Backward" } else { "" };
    let line = format!("Index Scan{backward} using {index} on {table}");
    let mut attributes = kind("Index Scan");
    let direction = if scan.backward { "Backward" } else { "Forward" };
    attributes.push(("Scan Direction", text(direction)));
    attributes.push(("Index Name", text(index)));
    relation(&mut attributes, &scan.relation, &scan.alias, verbose);
    (line, attributes)
}

fn named_scan(name: &str, what: &'static str, of: Option<String>) -> (String, Attributes) {
    let mut attributes = kind(name);
    let Some(of) = of else {
        return (name.to_owned(), attributes);
    };
    attributes.push((what, text(&of)));
    attributes.push(("Alias", text(&of)));
    (format!("{name} on {of}"), attributes)
}

fn join_suffix(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "",
        JoinKind::Left => " Left Join",
        JoinKind::Right => " Right Join",
        JoinKind::Full => " Full Join",
        JoinKind::Semi => " Semi Join",
        JoinKind::Anti => " Anti Join",
    }
}

fn join_attributes(name: &str, join: JoinKind) -> Attributes {
    let mut attributes = kind(name);
    let word = match join {
        JoinKind::Inner => "Inner",
        other => join_suffix(other).trim_end_matches(" Join").trim_start(),
    };
    attributes.push(("Join Type", text(word)));
    attributes
}

fn modify(word: &str, target: &Relation, verbose: bool) -> (String, Attributes) {
    let mut attributes = kind("ModifyTable");
    attributes.push(("Operation", text(word)));
    relation(&mut attributes, target, &None, verbose);
    (format!("{word} on {}", named(target, verbose)), attributes)
}

/// A scanned table as the text form names it.
fn scanned(relation: &Relation, alias: &Option<Box<str>>, verbose: bool) -> String {
    let name = named(relation, verbose);
    match alias {
        Some(alias) => format!("{name} {}", called(relation, &Some(alias.clone()))),
        None => name,
    }
}

/// A table's name, under VERBOSE with its schema.
fn named(relation: &Relation, verbose: bool) -> String {
    match verbose {
        true => format!("{}.{}", relation.schema, relation.name),
        false => relation.name.clone(),
    }
}
