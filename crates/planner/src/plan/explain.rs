//! Plans as text, in the form of PostgreSQL's EXPLAIN.
//!
//! Costs and rows are guessed again from the nodes, with the same few rules as the optimiser's; they order plans and
//! explain choices, nothing more. What ran (EXPLAIN ANALYZE) is added by the executor through `annotate`.
//! Leaves out: the other output formats.

use std::fmt::Write;
use std::sync::Arc;

use mote_common::Oid;
use mote_types::format_type;
use mote_types::{Datum, FormatSettings};

use super::QueryPlan;
use super::node::*;
use mote_sql::builtin::function::{AggregateId, FunctionId};
use mote_sql::builtin::operator::operators_of_function;
use mote_sql::catalog::{IndexKeyTarget, Relation};
use mote_sql::clause::{ConflictAction, SetOperationKind};
use mote_sql::expr::*;

/// What to show.
#[derive(Clone, Copy)]
pub struct ExplainOptions<'a> {
    pub costs: bool,
    /// Appended to a node's line: actual rows, times, loops.
    pub annotate: Option<&'a dyn Fn(&Node) -> Option<String>>,
}

impl Default for ExplainOptions<'_> {
    fn default() -> Self {
        ExplainOptions {
            costs: true,
            annotate: None,
        }
    }
}

/// The lines of EXPLAIN.
pub fn explain(plan: &QueryPlan, options: &ExplainOptions<'_>) -> Vec<String> {
    let mut printer = Printer {
        plan,
        options,
        lines: Vec::new(),
    };
    printer.node(&plan.root, 0, "");
    for (number, cte) in plan.ctes.iter().enumerate() {
        printer.heading(&format!("CTE {}", cte.name), number);
        printer.node(&cte.node, 2, "->  ");
    }
    for (number, node) in plan.subplans.iter().enumerate() {
        printer.heading(&format!("SubPlan {}", number + 1), number);
        printer.node(node, 2, "->  ");
    }
    printer.lines
}

struct Printer<'a> {
    plan: &'a QueryPlan,
    options: &'a ExplainOptions<'a>,
    lines: Vec<String>,
}

/// Rows and cost as shown.
#[derive(Clone, Copy)]
struct Guess {
    rows: f64,
    cost: f64,
}

impl Printer<'_> {
    fn heading(&mut self, text: &str, _: usize) {
        self.lines.push(format!("  {text}"));
    }

    fn node(&mut self, node: &Node, indent: usize, arrow: &str) {
        // A projection is part of the node below it, as PostgreSQL has it.
        if let Node::Project { input, .. } = node
            && self.options.annotate.is_none()
        {
            return self.node(input, indent, arrow);
        }
        let guess = guess(node);
        let mut line = format!("{}{arrow}{}", " ".repeat(indent), self.title(node));
        if self.options.costs {
            let _ = write!(
                line,
                "  (cost=0.00..{:.2} rows={:.0} width=0)",
                guess.cost / 100.0,
                guess.rows.max(1.0)
            );
        }
        if let Some(extra) = self.options.annotate.and_then(|annotate| annotate(node)) {
            let _ = write!(line, " ({extra})");
        }
        self.lines.push(line);
        let inner = indent + arrow.len() + 2;
        for detail in self.details(node) {
            self.lines.push(format!("{}{detail}", " ".repeat(inner)));
        }
        let mut inputs = Vec::new();
        node.for_each_input(&mut |input| inputs.push(input));
        for input in inputs {
            self.node(input, inner, "->  ");
        }
    }

    fn title(&self, node: &Node) -> String {
        match node {
            Node::Result { .. } | Node::Empty { .. } => "Result".to_owned(),
            Node::Values { .. } => "Values Scan on \"*VALUES*\"".to_owned(),
            Node::SeqScan(scan) => format!("Seq Scan on {}", scanned(&scan.relation, &scan.alias)),
            Node::VirtualScan(scan) => format!("Seq Scan on {}", scan.relation.name),
            Node::IndexScan(scan) => {
                let direction = if scan.backward { " Backward" } else { "" };
                let index = &scan.relation.indexes[scan.index as usize].name;
                let table = scanned(&scan.relation, &scan.alias);
                format!("Index Scan{direction} using {index} on {table}")
            }
            Node::FunctionScan(scan) => match scan.calls.first() {
                Some(Expr::Call { function, .. }) => {
                    format!("Function Scan on {}", function.signature().name)
                }
                Some(Expr::Routine(call)) => format!("Function Scan on {}", call.routine.name),
                _ => "Function Scan".to_owned(),
            },
            Node::CteScan { cte, .. } => format!("CTE Scan on {}", self.plan.ctes[*cte as usize].name),
            Node::WorkTableScan { cte } => {
                format!("WorkTable Scan on {}", self.plan.ctes[*cte as usize].name)
            }
            Node::Filter { .. } => "Result".to_owned(),
            Node::Project { .. } => "Project".to_owned(),
            Node::ProjectSet { .. } => "ProjectSet".to_owned(),
            Node::NestedLoop(join) => format!("Nested Loop{}", join_suffix(join.kind)),
            Node::HashJoin(join) => match join.kind {
                JoinKind::Inner => "Hash Join".to_owned(),
                kind => format!("Hash{} Join", join_suffix(kind).trim_end_matches(" Join")),
            },
            Node::Sort { .. } => "Sort".to_owned(),
            Node::Limit { .. } => "Limit".to_owned(),
            Node::Distinct { on: None, .. } => "HashAggregate".to_owned(),
            Node::Distinct { .. } => "Unique".to_owned(),
            Node::Aggregate(aggregate) if aggregate.group_by.is_empty() => "Aggregate".to_owned(),
            Node::Aggregate(_) => "HashAggregate".to_owned(),
            Node::Window(_) => "WindowAgg".to_owned(),
            Node::Append(append) if append.merge.is_empty() => "Append".to_owned(),
            Node::Append(_) => "Merge Append".to_owned(),
            Node::SetOperation { kind, all, .. } => {
                let word = match kind {
                    SetOperationKind::Union => "Union",
                    SetOperationKind::Intersect => "Intersect",
                    SetOperationKind::Except => "Except",
                };
                format!("HashSetOp {word}{}", if *all { " All" } else { "" })
            }
            Node::RecursiveUnion { .. } => "Recursive Union".to_owned(),
            Node::LockRows { .. } => "LockRows".to_owned(),
            Node::Insert(insert) => format!("Insert on {}", insert.relation.name),
            Node::Update(update) => format!("Update on {}", update.relation.name),
            Node::Delete(delete) => format!("Delete on {}", delete.relation.name),
            Node::Merge(merge) => format!("Merge on {}", merge.relation.name),
        }
    }

    fn details(&self, node: &Node) -> Vec<String> {
        let mut details = Vec::new();
        let own = column_names(node);
        let mut below: Vec<Vec<String>> = Vec::new();
        node.for_each_input(&mut |input| below.push(column_names(input)));
        let input = below.first().map_or(&[] as &[String], Vec::as_slice);
        let mut add = |label: &str, text: String| details.push(format!("{label}: {text}"));
        match node {
            Node::Empty { .. } => add("One-Time Filter", "false".to_owned()),
            Node::Result {
                filter: Some(filter), ..
            } => add("One-Time Filter", top(filter, &[])),
            Node::SeqScan(scan) => scan
                .filter
                .iter()
                .for_each(|filter| add("Filter", top(filter, &own))),
            Node::VirtualScan(scan) => scan
                .filter
                .iter()
                .for_each(|filter| add("Filter", top(filter, &own))),
            Node::FunctionScan(scan) => scan
                .filter
                .iter()
                .for_each(|filter| add("Filter", top(filter, &own))),
            Node::CteScan {
                filter: Some(filter), ..
            } => add("Filter", top(filter, &own)),
            Node::IndexScan(scan) => {
                let condition = index_condition(scan);
                if !condition.is_empty() {
                    add("Index Cond", condition);
                }
                scan.filter
                    .iter()
                    .for_each(|filter| add("Filter", top(filter, &own)));
            }
            Node::Filter { condition, .. } => add("Filter", top(condition, input)),
            Node::NestedLoop(join) => {
                join.condition
                    .iter()
                    .for_each(|filter| add("Join Filter", top(filter, &below.concat())));
            }
            Node::HashJoin(join) => {
                let right = below.get(1).map_or(&[] as &[String], Vec::as_slice);
                let pair = |(a, b): &(Expr, Expr)| format!("({} = {})", show(a, input), show(b, right));
                add("Hash Cond", all_of(join.keys.iter().map(pair).collect()));
                join.condition
                    .iter()
                    .for_each(|filter| add("Join Filter", top(filter, &below.concat())));
            }
            Node::Sort { keys, .. } => add("Sort Key", sort_keys(keys, input)),
            Node::Append(append) if !append.merge.is_empty() => {
                add("Sort Key", sort_keys(&append.merge, input));
            }
            Node::Update(update) if update.is_over_members() => {
                let targets = update.targets.iter().map(|target| &target.relation);
                details.extend(written_members("Update", &update.relation, targets));
            }
            Node::Delete(delete) if delete.is_over_members() => {
                let targets = delete.targets.iter().map(|target| &target.relation);
                details.extend(written_members("Delete", &delete.relation, targets));
            }
            Node::Merge(merge) if merge.is_over_members() => {
                let targets = merge.targets.iter().map(|target| &target.relation);
                details.extend(written_members("Merge", &merge.relation, targets));
            }
            Node::Distinct { on: None, .. } => add("Group Key", input.join(", ")),
            Node::Aggregate(aggregate) if !aggregate.group_by.is_empty() => {
                let keys: Vec<String> = aggregate.group_by.iter().map(|key| show(key, input)).collect();
                add("Group Key", keys.join(", "));
            }
            Node::Insert(insert) => {
                if let Some(conflict) = &insert.on_conflict {
                    let nothing = matches!(conflict.action, ConflictAction::Nothing);
                    add(
                        "Conflict Resolution",
                        if nothing { "NOTHING" } else { "UPDATE" }.to_owned(),
                    );
                    let names: Vec<&str> = conflict
                        .arbiters
                        .iter()
                        .map(|index| insert.relation.indexes[*index as usize].name.as_str())
                        .collect();
                    if !names.is_empty() {
                        add("Conflict Arbiter Indexes", names.join(", "));
                    }
                }
            }
            _ => {}
        }
        details
    }
}

/// A scanned table's name, and what one of a parent's tables is called besides.
fn scanned(relation: &Relation, alias: &Option<Box<str>>) -> String {
    match alias {
        Some(alias) => format!("{} {alias}", relation.name),
        None => relation.name.clone(),
    }
}

/// The tables below a parent that a statement changes, a line each.
fn written_members<'a>(
    verb: &str,
    parent: &Relation,
    targets: impl Iterator<Item = &'a Arc<Relation>>,
) -> Vec<String> {
    let line = |(position, target): (usize, &Arc<Relation>)| {
        format!("{verb} on {} {}_{}", target.name, parent.name, position + 1)
    };
    targets.enumerate().map(line).collect()
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

fn all_of(parts: Vec<String>) -> String {
    match parts.as_slice() {
        [one] => one.clone(),
        _ => format!("({})", parts.join(" AND ")),
    }
}

/// Conditions of an index scan, by the names of its keys.
fn index_condition(scan: &IndexScan) -> String {
    let index = &scan.relation.indexes[scan.index as usize];
    let key_name = |position: usize| match &index.keys[position].target {
        IndexKeyTarget::Column(column) => scan.relation.columns[*column as usize].name.clone(),
        IndexKeyTarget::Expression(text, _) => text.clone(),
    };
    let mut parts = Vec::new();
    for (position, equality) in scan.equals.iter().enumerate() {
        let key = key_name(position);
        parts.push(match equality {
            IndexEquality::Value(value) => format!("({key} = {})", show(value, &[])),
            IndexEquality::IsNull => format!("({key} IS NULL)"),
            IndexEquality::AnyOf(AnyOf::Array(array)) => format!("({key} = ANY ({}))", show(array, &[])),
            IndexEquality::AnyOf(AnyOf::List(list)) => {
                let values: Vec<String> = list.iter().map(|value| show(value, &[])).collect();
                format!("({key} = ANY ({{{}}}))", values.join(","))
            }
        });
    }
    let bounds = [(&scan.lower, ">"), (&scan.upper, "<")];
    for (bound, sign) in bounds {
        if let Some(bound) = bound {
            let equal = if bound.inclusive { "=" } else { "" };
            parts.push(format!(
                "({} {sign}{equal} {})",
                key_name(scan.equals.len()),
                show(&bound.value, &[])
            ));
        }
    }
    if let Some(pattern) = &scan.prefix_of {
        parts.push(format!(
            "({} ~~ {})",
            key_name(scan.equals.len()),
            show(pattern, &[])
        ));
    }
    if parts.is_empty() {
        String::new()
    } else {
        all_of(parts)
    }
}

fn sort_keys(keys: &[SortKey], names: &[String]) -> String {
    let key = |key: &SortKey| {
        let mut text = show(&key.expr, names);
        if key.descending {
            text.push_str(" DESC");
        }
        if key.nulls_first != key.descending {
            text.push_str(if key.nulls_first {
                " NULLS FIRST"
            } else {
                " NULLS LAST"
            });
        }
        text
    };
    keys.iter().map(key).collect::<Vec<_>>().join(", ")
}

/// Names of the columns of a node's row, for the expressions above it.
fn column_names(node: &Node) -> Vec<String> {
    let scanned = |relation: &Relation, columns: &[ScanColumn]| {
        let name = |column: &ScanColumn| match column {
            ScanColumn::Attribute(position) => {
                format!("{}.{}", relation.name, relation.columns[*position as usize].name)
            }
            ScanColumn::RowMark | ScanColumn::Ctid => format!("{}.ctid", relation.name),
            ScanColumn::Xmin => format!("{}.xmin", relation.name),
            ScanColumn::TableOid => format!("{}.tableoid", relation.name),
            ScanColumn::WholeRow | ScanColumn::WholeRowOf(_) => format!("{}.*", relation.name),
        };
        columns.iter().map(name).collect::<Vec<_>>()
    };
    let below = || {
        let mut names = Vec::new();
        node.for_each_input(&mut |input| names.push(column_names(input)));
        names
    };
    match node {
        // A scan's own filter reads its columns without the table's name, as PostgreSQL shows it.
        Node::SeqScan(scan) => bare(scanned(&scan.relation, &scan.columns)),
        Node::VirtualScan(scan) => bare(scanned(&scan.relation, &scan.columns)),
        Node::IndexScan(scan) => bare(scanned(&scan.relation, &scan.columns)),
        Node::Project { input, columns } => {
            let inner = column_names(input);
            columns.iter().map(|column| show(column, &inner)).collect()
        }
        Node::Aggregate(aggregate) => {
            let inner = column_names(&aggregate.input);
            let keys = aggregate.group_by.iter().map(|key| show(key, &inner));
            keys.chain(aggregate.calls.iter().map(|call| aggregate_text(call, &inner)))
                .collect()
        }
        Node::NestedLoop(join) if !matches!(join.kind, JoinKind::Semi | JoinKind::Anti) => below().concat(),
        Node::HashJoin(join) if !matches!(join.kind, JoinKind::Semi | JoinKind::Anti) => below().concat(),
        Node::Values { rows } => {
            let width = rows.first().map_or(0, Vec::len);
            (1..=width)
                .map(|position| format!("\"*VALUES*\".column{position}"))
                .collect()
        }
        _ => below().into_iter().next().unwrap_or_default(),
    }
}

fn bare(names: Vec<String>) -> Vec<String> {
    let strip = |name: String| {
        name.split_once('.')
            .map(|(_, column)| column.to_owned())
            .unwrap_or(name)
    };
    names.into_iter().map(strip).collect()
}

fn aggregate_text(call: &AggregateCall, names: &[String]) -> String {
    let AggregateId(_) = call.aggregate;
    let signature = call.aggregate.signature();
    let arguments: Vec<String> = call
        .arguments
        .iter()
        .map(|argument| show(argument, names))
        .collect();
    let distinct = if call.distinct { "DISTINCT " } else { "" };
    let inside = if arguments.is_empty() {
        "*".to_owned()
    } else {
        arguments.join(", ")
    };
    format!("{}({distinct}{inside})", signature.name)
}

/// A condition with PostgreSQL's outer parentheses.
fn top(expr: &Expr, names: &[String]) -> String {
    let text = show(expr, names);
    if text.starts_with('(') {
        text
    } else {
        format!("({text})")
    }
}

fn list(exprs: &[Expr], names: &[String]) -> String {
    exprs
        .iter()
        .map(|expr| show(expr, names))
        .collect::<Vec<_>>()
        .join(", ")
}

/// An expression as text; columns by the names given.
pub fn show(expr: &Expr, names: &[String]) -> String {
    let sub = |expr: &Expr| show(expr, names);
    match expr {
        Expr::Constant(datum, ty) => constant(datum, ty.oid, *ty),
        Expr::Variable { relation, column, .. } => format!("v{relation}.{column}"),
        Expr::Column { index, .. } => names
            .get(*index as usize)
            .cloned()
            .unwrap_or_else(|| format!("column{}", index + 1)),
        Expr::Parameter { index, .. } => format!("${}", index + 1),
        Expr::ExecParameter { id, .. } => format!("$:{}", id.0),
        Expr::Call {
            function, arguments, ..
        } => call_text(*function, arguments, names),
        Expr::Routine(call) => {
            let arguments: Vec<String> = call.arguments.iter().map(|a| top(a, names)).collect();
            format!("{}({})", call.routine.name, arguments.join(", "))
        }
        Expr::Cast { argument, ty, .. } => {
            let inner = sub(argument);
            let simple =
                inner.starts_with('(') || matches!(**argument, Expr::Parameter { .. } | Expr::Constant(..));
            if simple {
                format!("{inner}::{}", ty.name())
            } else {
                format!("({inner})::{}", ty.name())
            }
        }
        Expr::Domain(domain) => {
            format!(
                "({})::{}",
                sub(&domain.argument),
                format_type(domain.rules.domain, -1)
            )
        }
        Expr::And(parts) => format!(
            "({})",
            parts
                .iter()
                .map(|p| top(p, names))
                .collect::<Vec<_>>()
                .join(" AND ")
        ),
        Expr::Or(parts) => format!(
            "({})",
            parts
                .iter()
                .map(|p| top(p, names))
                .collect::<Vec<_>>()
                .join(" OR ")
        ),
        Expr::Not(inner) => format!("(NOT {})", sub(inner)),
        Expr::IsNull(inner) => format!("({} IS NULL)", sub(inner)),
        Expr::IsNotNull(inner) => format!("({} IS NOT NULL)", sub(inner)),
        Expr::BooleanTest {
            argument,
            test,
            negated,
        } => {
            let word = match test {
                BooleanTest::True => "TRUE",
                BooleanTest::False => "FALSE",
                BooleanTest::Unknown => "UNKNOWN",
            };
            format!(
                "({} IS {}{word})",
                sub(argument),
                if *negated { "NOT " } else { "" }
            )
        }
        Expr::DistinctFrom {
            left, right, negated, ..
        } => {
            let word = if *negated {
                "IS NOT DISTINCT FROM"
            } else {
                "IS DISTINCT FROM"
            };
            format!("({} {word} {})", sub(left), sub(right))
        }
        Expr::Case {
            branches, otherwise, ..
        } => {
            let mut text = String::from("CASE");
            for (condition, result) in branches {
                let _ = write!(text, " WHEN {} THEN {}", sub(condition), sub(result));
            }
            if let Some(otherwise) = otherwise {
                let _ = write!(text, " ELSE {}", sub(otherwise));
            }
            text + " END"
        }
        Expr::Coalesce { arguments, .. } => format!("COALESCE({})", list(arguments, names)),
        Expr::NullIf { left, right, .. } => format!("NULLIF({}, {})", sub(left), sub(right)),
        Expr::MinMax {
            arguments, greatest, ..
        } => {
            format!(
                "{}({})",
                if *greatest { "GREATEST" } else { "LEAST" },
                list(arguments, names)
            )
        }
        Expr::ArrayComparison {
            function,
            argument,
            array,
            all,
        } => {
            let word = if *all { "ALL" } else { "ANY" };
            format!(
                "({} {} {word} ({}))",
                sub(argument),
                operator_name(*function).unwrap_or("="),
                sub(array)
            )
        }
        Expr::InList {
            argument,
            list: values,
            negated,
            ..
        } => {
            let (operator, word) = if *negated { ("<>", "ALL") } else { ("=", "ANY") };
            format!(
                "({} {operator} {word} ({{{}}}))",
                sub(argument),
                list(values, names)
            )
        }
        Expr::Array { elements, .. } => format!("ARRAY[{}]", list(elements, names)),
        Expr::Row { fields, .. } => format!("ROW({})", list(fields, names)),
        Expr::RowComparison {
            operator,
            left,
            right,
            ..
        } => {
            let sign = match operator {
                RowOperator::Equal => "=",
                RowOperator::NotEqual => "<>",
                RowOperator::Less => "<",
                RowOperator::LessOrEqual => "<=",
                RowOperator::Greater => ">",
                RowOperator::GreaterOrEqual => ">=",
            };
            format!("(ROW({}) {sign} ROW({}))", list(left, names), list(right, names))
        }
        Expr::SubscriptAssign { container, value, .. } => format!("({} := {})", sub(container), sub(value)),
        Expr::Subscript {
            array, subscripts, ..
        } => {
            let mut text = sub(array);
            for subscript in subscripts {
                let inside = match subscript {
                    Subscript::Element(expr) => sub(expr),
                    Subscript::Slice(lower, upper) => {
                        let side = |expr: &Option<Expr>| expr.as_ref().map(sub).unwrap_or_default();
                        format!("{}:{}", side(lower), side(upper))
                    }
                };
                let _ = write!(text, "[{inside}]");
            }
            text
        }
        Expr::FieldSelect { record, field, .. } => {
            let row = mote_types::catalog::user::row_type(record.ty().oid);
            match row.as_ref().and_then(|row| row.names.get(*field as usize)) {
                Some(name) => format!(
                    "({}).{}",
                    sub(record),
                    mote_grammar::ast::deparse::identifier(name)
                ),
                None => format!("({}).f{}", sub(record), field + 1),
            }
        }
        Expr::SubPlan(call) => match &call.kind {
            SubPlanKind::Scalar if call.bindings.is_empty() => format!("(InitPlan {})", call.plan + 1),
            SubPlanKind::Any { negated: true, .. } => format!("(NOT (hashed SubPlan {}))", call.plan + 1),
            _ => format!("(SubPlan {})", call.plan + 1),
        },
        Expr::SessionValue { value, .. } => session_text(*value).to_owned(),
        Expr::Sequence { call, arguments, .. } => {
            let name = match call {
                SequenceCall::NextValue | SequenceCall::NextIdentity => "nextval",
                SequenceCall::CurrentValue => "currval",
                SequenceCall::LastValue => "lastval",
                SequenceCall::SetValue => "setval",
            };
            format!("{name}({})", list(arguments, names))
        }
        Expr::AggregateResult { index, .. } => format!("aggregate{}", index + 1),
        Expr::Excluded { index, .. } => format!("excluded.{}", index + 1),
    }
}

fn session_text(value: SessionValue) -> &'static str {
    match value {
        SessionValue::CurrentDate => "CURRENT_DATE",
        SessionValue::CurrentTime => "CURRENT_TIME",
        SessionValue::TransactionTimestamp => "now()",
        SessionValue::LocalTime => "LOCALTIME",
        SessionValue::LocalTimestamp => "LOCALTIMESTAMP",
        SessionValue::StatementTimestamp => "statement_timestamp()",
        SessionValue::ClockTimestamp => "clock_timestamp()",
        SessionValue::CurrentUser => "CURRENT_USER",
        SessionValue::SessionUser => "SESSION_USER",
        SessionValue::CurrentSchema => "CURRENT_SCHEMA",
        SessionValue::CurrentCatalog => "CURRENT_CATALOG",
    }
}

fn operator_name(function: FunctionId) -> Option<&'static str> {
    operators_of_function(function)
        .next()
        .map(|operator| operator.name)
}

fn call_text(function: FunctionId, arguments: &[Expr], names: &[String]) -> String {
    match (operator_name(function), arguments) {
        (Some(name), [left, right]) => format!("({} {name} {})", show(left, names), show(right, names)),
        (Some(name), [operand]) => format!("({name} {})", show(operand, names)),
        _ => format!("{}({})", function.signature().name, list(arguments, names)),
    }
}

fn constant(datum: &Datum, oid: Oid, ty: mote_types::ColumnType) -> String {
    use mote_types::oid;
    if datum.is_null() {
        return format!("NULL::{}", ty.name());
    }
    let mut bytes = Vec::new();
    mote_types::output_text(datum, ty, &FormatSettings::default(), &mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    match oid {
        oid::INT4 | oid::BOOL if !text.starts_with('-') => match oid {
            oid::BOOL => if text == "t" { "true" } else { "false" }.to_owned(),
            _ => text,
        },
        _ => format!("'{}'::{}", text.replace('\'', "''"), ty.name()),
    }
}

/// Rows and cost of a node and all below it.
fn guess(node: &Node) -> Guess {
    let mut inputs = Vec::new();
    node.for_each_input(&mut |input| inputs.push(guess(input)));
    let first = inputs.first().copied().unwrap_or(Guess { rows: 1.0, cost: 0.0 });
    let second = inputs.get(1).copied().unwrap_or(first);
    let filtered = |rows: f64, filter: &Option<Expr>| {
        if filter.is_some() {
            (rows * 0.1).max(1.0)
        } else {
            rows
        }
    };
    match node {
        Node::SeqScan(scan) => {
            let rows = scan.relation.row_estimate.max(1.0);
            Guess {
                rows: filtered(rows, &scan.filter),
                cost: rows,
            }
        }
        Node::VirtualScan(scan) => {
            let rows = scan.relation.row_estimate.max(1.0);
            Guess {
                rows: filtered(rows, &scan.filter),
                cost: rows,
            }
        }
        Node::IndexScan(scan) => {
            let rows = scan.relation.row_estimate.max(1.0);
            let keys = scan.relation.indexes[scan.index as usize].keys.len() as f64;
            let visited = match scan.single_row {
                true => 1.0,
                false => rows
                    .powf((keys - scan.equals.len() as f64).max(0.5) / keys)
                    .max(1.0),
            };
            Guess {
                rows: filtered(visited, &scan.filter),
                cost: 3.0 + visited * 1.5,
            }
        }
        Node::Values { rows } => Guess {
            rows: rows.len() as f64,
            cost: rows.len() as f64,
        },
        Node::FunctionScan(_) | Node::CteScan { .. } | Node::WorkTableScan { .. } => Guess {
            rows: 100.0,
            cost: 100.0,
        },
        Node::NestedLoop(_) => Guess {
            rows: (first.rows * second.rows).max(1.0),
            cost: first.cost + first.rows * second.cost,
        },
        Node::HashJoin(_) => Guess {
            rows: first.rows.max(second.rows),
            cost: first.cost + second.cost + first.rows + second.rows,
        },
        Node::Sort { .. } => Guess {
            rows: first.rows,
            cost: first.cost + first.rows * (first.rows + 1.0).log2() * 0.2,
        },
        Node::Limit {
            count: Some(Expr::Constant(Datum::Int8(count), _)),
            ..
        } => Guess {
            rows: first.rows.min(*count as f64),
            cost: first.cost,
        },
        Node::Aggregate(aggregate) => {
            let rows = if aggregate.group_by.is_empty() {
                1.0
            } else {
                (first.rows / 10.0).max(1.0)
            };
            Guess {
                rows,
                cost: first.cost + first.rows,
            }
        }
        _ => Guess {
            rows: first.rows,
            cost: inputs.iter().map(|input| input.cost).sum::<f64>() + first.rows * 0.1,
        },
    }
}
