//! Expressions of plans as EXPLAIN shows them; columns by the names that are handed in.
//!
//! Leaves out: which names a node's columns have (`names`), and the text that reads back as the same expression (`deparse`).

use std::fmt::Write;

use mote_common::Oid;
use mote_types::format_type;
use mote_types::{Datum, FormatSettings};

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
        Expr::Column { index, .. } => names
            .columns
            .get(*index as usize)
            .cloned()
            .unwrap_or_else(|| format!("column{}", index + 1)),
        Expr::Parameter { index, .. } => format!("${}", index + 1),
        Expr::ExecParameter { id, .. } => names.parameters.text(*id),
        Expr::Call {
            function, arguments, ..
        } => call_text(*function, arguments, names),
        Expr::Routine(call) => {
            let arguments: Vec<String> = call.arguments.iter().map(sub).collect();
            format!("{}({})", call.routine.name, arguments.join(", "))
        }
        Expr::Cast { argument, ty, .. } => {
            let inner = sub(argument);
            // A literal that is read when the statement runs, since its value depends on the session.
            let inner = match inner.strip_suffix("::unknown") {
                Some(literal) => literal.to_owned(),
                None => inner,
            };
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
        Expr::And(parts) => format!("({})", parts.iter().map(sub).collect::<Vec<_>>().join(" AND ")),
        Expr::Or(parts) => format!("({})", parts.iter().map(sub).collect::<Vec<_>>().join(" OR ")),
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
            SubPlanKind::Scalar if call.bindings.is_empty() => names.parameters.result_of(call.plan),
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

fn call_text(function: FunctionId, arguments: &[Expr], names: Names<'_>) -> String {
    match (operator_name(function), arguments) {
        (Some(name), [left, right]) => format!("({} {name} {})", shown(left, names), shown(right, names)),
        (Some(name), [operand]) => format!("({name} {})", shown(operand, names)),
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
