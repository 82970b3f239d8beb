//! Expressions of plans as EXPLAIN shows them; columns by the names that are handed in.
//!
//! Leaves out: which names a node's columns have (`names`), and the text that reads back as the same expression (`deparse`).

use std::fmt::Write;

use mote_common::Oid;
use mote_types::{ColumnType, Datum, FormatSettings, format_type};

use crate::plan::node::*;
use mote_sql::builtin::function::{AggregateId, FunctionId};
use mote_sql::builtin::operator::operators_of_function;
use mote_sql::catalog::IndexKeyTarget;
use mote_sql::expr::*;

use super::parameters::Parameters;

/// What expressions refer to is called.
#[derive(Clone, Copy)]
pub(super) struct Names<'a> {
    pub columns: &'a [String],
    pub parameters: &'a Parameters,
}

pub(super) fn all_of(parts: Vec<String>) -> String {
    match parts.as_slice() {
        [one] => one.clone(),
        _ => format!("({})", parts.join(" AND ")),
    }
}

/// Conditions of an index scan, by the names of its keys.
pub(super) fn index_condition(scan: &IndexScan, names: Names<'_>) -> String {
    let index = &scan.relation.indexes[scan.index as usize];
    let key_name = |position: usize| match &index.keys[position].target {
        IndexKeyTarget::Column(column) => scan.relation.columns[*column as usize].name.clone(),
        IndexKeyTarget::Expression(text, _) => text.clone(),
    };
    let mut parts = Vec::new();
    for (position, equality) in scan.equals.iter().enumerate() {
        let key = key_name(position);
        parts.push(match equality {
            IndexEquality::Value(value) => format!("({key} = {})", shown(value, names)),
            IndexEquality::IsNull => format!("({key} IS NULL)"),
            IndexEquality::AnyOf(AnyOf::Array(array)) => format!("({key} = ANY ({}))", shown(array, names)),
            IndexEquality::AnyOf(AnyOf::List(list)) => {
                let values: Vec<String> = list.iter().map(|value| shown(value, names)).collect();
                format!("({key} = ANY ({{{}}}))", values.join(","))
            }
        });
    }
    let bounds = [(&scan.lower, ">"), (&scan.upper, "<")];
    for (bound, sign) in bounds {
        if let Some(bound) = bound {
            let equal = if bound.inclusive { "=" } else { "" };
            let first = scan.equals.len();
            parts.push(match bound.further.is_empty() {
                true => format!(
                    "({} {sign}{equal} {})",
                    key_name(first),
                    shown(&bound.value, names)
                ),
                false => {
                    let keys: Vec<String> = (first..=first + bound.further.len()).map(key_name).collect();
                    let values = std::iter::once(&bound.value).chain(&bound.further);
                    let values: Vec<String> = values.map(|value| shown(value, names)).collect();
                    format!(
                        "(ROW({}) {sign}{equal} ROW({}))",
                        keys.join(", "),
                        values.join(", ")
                    )
                }
            });
        }
    }
    if let Some(pattern) = &scan.prefix_of {
        parts.push(format!(
            "({} {} {})",
            key_name(scan.equals.len()),
            pattern.kind.operator(),
            shown(&pattern.value, names)
        ));
    }
    if parts.is_empty() {
        String::new()
    } else {
        all_of(parts)
    }
}

/// The keys of a sort, one text each.
pub(super) fn sort_keys(keys: &[SortKey], names: Names<'_>) -> Vec<String> {
    let key = |key: &SortKey| {
        let mut text = shown(&key.expr, names);
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
    keys.iter().map(key).collect()
}

pub(super) fn aggregate_text(call: &AggregateCall, names: Names<'_>) -> String {
    let AggregateId(_) = call.aggregate;
    let signature = call.aggregate.signature();
    let arguments: Vec<String> = call
        .arguments
        .iter()
        .map(|argument| shown(argument, names))
        .collect();
    let distinct = if call.distinct { "DISTINCT " } else { "" };
    let inside = if arguments.is_empty() {
        "*".to_owned()
    } else {
        arguments.join(", ")
    };
    format!("{}({distinct}{inside})", signature.name)
}

pub(super) fn list(exprs: &[Expr], names: Names<'_>) -> String {
    exprs
        .iter()
        .map(|expr| shown(expr, names))
        .collect::<Vec<_>>()
        .join(", ")
}

/// An expression as text; columns by the names given. Values that the plan's own nodes hand on have numbers.
pub fn show(expr: &Expr, columns: &[String]) -> String {
    let parameters = Parameters::default();
    shown(
        expr,
        Names {
            columns,
            parameters: &parameters,
        },
    )
}

pub(super) fn shown(expr: &Expr, names: Names<'_>) -> String {
    let sub = |expr: &Expr| shown(expr, names);
    match expr {
        Expr::Constant(datum, ty) => constant(datum, ty.oid, *ty),
        Expr::Variable { relation, column, .. } => format!("v{relation}.{column}"),
        Expr::Column { index, .. } => match names.columns.get(*index as usize) {
            Some(name) => name.clone(),
            None => format!("column{}", index + 1),
        },
        Expr::Parameter { index, .. } => format!("${}", index + 1),
        Expr::ExecParameter { id, .. } => names.parameters.text(*id),
        Expr::Call {
            function, arguments, ..
        } => call_text(*function, arguments, names),
        Expr::Routine(call) => format!("{}({})", call.routine.name, list(&call.arguments, names)),
        Expr::Cast { argument, ty, .. } => cast_text(argument, *ty, names),
        Expr::Domain(domain) => domain_text(domain, names),
        Expr::And(parts) => chain(parts, " AND ", names),
        Expr::Or(parts) => chain(parts, " OR ", names),
        Expr::Not(inner) => format!("(NOT {})", sub(inner)),
        Expr::IsNull(inner) => format!("({} IS NULL)", sub(inner)),
        Expr::IsNotNull(inner) => format!("({} IS NOT NULL)", sub(inner)),
        Expr::BooleanTest {
            argument,
            test,
            negated,
        } => format!("({} {})", sub(argument), test.words(*negated)),
        Expr::DistinctFrom {
            left, right, negated, ..
        } => distinct_text(left, right, *negated, names),
        Expr::Case {
            branches, otherwise, ..
        } => case_text(branches, otherwise.as_deref(), names),
        Expr::Coalesce { arguments, .. } => format!("COALESCE({})", list(arguments, names)),
        Expr::NullIf { left, right, .. } => format!("NULLIF({}, {})", sub(left), sub(right)),
        Expr::MinMax {
            arguments, greatest, ..
        } => {
            let word = if *greatest { "GREATEST" } else { "LEAST" };
            format!("{word}({})", list(arguments, names))
        }
        Expr::ArrayComparison {
            function,
            argument,
            array,
            all,
        } => array_comparison_text(*function, argument, array, *all, names),
        Expr::InList {
            argument,
            list,
            negated,
            ..
        } => in_list_text(argument, list, *negated, names),
        Expr::Array { elements, .. } => format!("ARRAY[{}]", list(elements, names)),
        Expr::Row { fields, .. } => format!("ROW({})", list(fields, names)),
        Expr::RowComparison {
            operator,
            left,
            right,
            ..
        } => row_comparison_text(*operator, left, right, names),
        Expr::SubscriptAssign { container, value, .. } => format!("({} := {})", sub(container), sub(value)),
        Expr::Subscript {
            array, subscripts, ..
        } => subscript_text(array, subscripts, names),
        Expr::FieldSelect { record, field, .. } => field_text(record, *field as usize, names),
        Expr::SubPlan(call) => subplan_text(call, names),
        Expr::SessionValue { value, .. } => session_text(*value).to_owned(),
        Expr::Sequence { call, arguments, .. } => sequence_text(*call, arguments, names),
        Expr::AggregateResult { index, .. } => format!("aggregate{}", index + 1),
        Expr::Excluded { index, .. } => format!("excluded.{}", index + 1),
    }
}

fn chain(parts: &[Expr], word: &str, names: Names<'_>) -> String {
    let parts: Vec<String> = parts.iter().map(|part| shown(part, names)).collect();
    format!("({})", parts.join(word))
}

fn cast_text(argument: &Expr, ty: ColumnType, names: Names<'_>) -> String {
    let inner = shown(argument, names);
    // A literal that is read when the statement runs, since its value depends on the session.
    let inner = match inner.strip_suffix("::unknown") {
        Some(literal) => literal.to_owned(),
        None => inner,
    };
    let simple = inner.starts_with('(') || matches!(argument, Expr::Parameter { .. } | Expr::Constant(..));
    match simple {
        true => format!("{inner}::{}", ty.name()),
        false => format!("({inner})::{}", ty.name()),
    }
}

fn domain_text(domain: &DomainExpr, names: Names<'_>) -> String {
    let name = format_type(domain.rules.domain, -1);
    format!("({})::{name}", shown(&domain.argument, names))
}

fn distinct_text(left: &Expr, right: &Expr, negated: bool, names: Names<'_>) -> String {
    let words = match negated {
        true => "IS NOT DISTINCT FROM",
        false => "IS DISTINCT FROM",
    };
    format!("({} {words} {})", shown(left, names), shown(right, names))
}

fn case_text(branches: &[(Expr, Expr)], otherwise: Option<&Expr>, names: Names<'_>) -> String {
    let mut text = String::from("CASE");
    for (condition, result) in branches {
        let (condition, result) = (shown(condition, names), shown(result, names));
        let _ = write!(text, " WHEN {condition} THEN {result}");
    }
    if let Some(otherwise) = otherwise {
        let _ = write!(text, " ELSE {}", shown(otherwise, names));
    }
    text + " END"
}

fn array_comparison_text(
    function: FunctionId,
    argument: &Expr,
    array: &Expr,
    all: bool,
    names: Names<'_>,
) -> String {
    let operator = operator_name(function).unwrap_or("=");
    let word = if all { "ALL" } else { "ANY" };
    let (argument, array) = (shown(argument, names), shown(array, names));
    format!("({argument} {operator} {word} ({array}))")
}

fn in_list_text(argument: &Expr, values: &[Expr], negated: bool, names: Names<'_>) -> String {
    let (operator, word) = if negated { ("<>", "ALL") } else { ("=", "ANY") };
    let argument = shown(argument, names);
    format!("({argument} {operator} {word} ({{{}}}))", list(values, names))
}

fn row_comparison_text(operator: RowOperator, left: &[Expr], right: &[Expr], names: Names<'_>) -> String {
    let (left, right) = (list(left, names), list(right, names));
    format!("(ROW({left}) {} ROW({right}))", operator.sign())
}

fn subscript_text(array: &Expr, subscripts: &[Subscript], names: Names<'_>) -> String {
    let mut text = shown(array, names);
    let side = |expr: &Option<Expr>| expr.as_ref().map(|expr| shown(expr, names)).unwrap_or_default();
    for subscript in subscripts {
        let inside = match subscript {
            Subscript::Element(expr) => shown(expr, names),
            Subscript::Slice(lower, upper) => format!("{}:{}", side(lower), side(upper)),
        };
        let _ = write!(text, "[{inside}]");
    }
    text
}

fn field_text(record: &Expr, field: usize, names: Names<'_>) -> String {
    let row = mote_types::catalog::user::row_type(record.ty().oid);
    let record = shown(record, names);
    match row.as_ref().and_then(|row| row.names.get(field)) {
        Some(name) => format!("({record}).{}", mote_grammar::ast::deparse::identifier(name)),
        None => format!("({record}).f{}", field + 1),
    }
}

fn subplan_text(call: &SubPlanCall, names: Names<'_>) -> String {
    match &call.kind {
        SubPlanKind::Scalar if call.bindings.is_empty() => names.parameters.result_of(call.plan),
        SubPlanKind::Any { negated: true, .. } => format!("(NOT (hashed SubPlan {}))", call.plan + 1),
        _ => format!("(SubPlan {})", call.plan + 1),
    }
}

fn sequence_text(call: SequenceCall, arguments: &[Expr], names: Names<'_>) -> String {
    let function = match call {
        SequenceCall::NextValue | SequenceCall::NextIdentity => "nextval",
        SequenceCall::CurrentValue => "currval",
        SequenceCall::LastValue => "lastval",
        SequenceCall::SetValue => "setval",
    };
    format!("{function}({})", list(arguments, names))
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

fn call_text(function: FunctionId, arguments: &[Expr], names: Names<'_>) -> String {
    match (operator_name(function), arguments) {
        (Some(name), [left, right]) => format!("({} {name} {})", shown(left, names), shown(right, names)),
        (Some(name), [operand]) => format!("({name} {})", shown(operand, names)),
        _ => format!("{}({})", function.signature().name, list(arguments, names)),
    }
}

fn constant(datum: &Datum, oid: Oid, ty: ColumnType) -> String {
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
