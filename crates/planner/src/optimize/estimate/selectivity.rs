//! The part of rows that satisfies a condition.
//!
//! By what ANALYZE found out where a column is compared with a value; else by PostgreSQL's defaults and unique indexes.

use mote_sql::bind::query::{FIRST_SYSTEM_COLUMN, ItemKind, RangeItem};
use mote_sql::builtin::function::FunctionId;
use mote_sql::builtin::operator::{Comparison, comparison_of};
use mote_sql::expr::{BooleanTest, Expr};
use mote_types::Datum;
use mote_types::are::{Options, Regex};
use mote_types::pattern::{Escape, LikePattern, PatternKind};

use super::column::{Known, UNKNOWN_BOUND, known};
use super::distinct_values;

/// Elements of an array that is not known yet.
const ARRAY_ELEMENTS: i32 = 10;

/// The part of rows that satisfies all of the conditions. They are taken to be independent, but for two bounds of one
/// column.
pub fn all_hold<'e>(conditions: impl IntoIterator<Item = &'e Expr>, items: &[RangeItem]) -> f64 {
    let mut part = 1.0;
    let mut bounds: Vec<Bounds<'_>> = Vec::new();
    for condition in conditions {
        let own = selectivity(condition, items);
        match bound_of(condition, items) {
            Some((column, is_lower)) => {
                let same = |known: &&mut Bounds<'_>| {
                    (known.column.item, known.column.column) == (column.item, column.column)
                };
                let at = match bounds.iter_mut().find(same) {
                    Some(known) => known,
                    None => {
                        bounds.push(Bounds {
                            column,
                            lower: None,
                            upper: None,
                        });
                        bounds.last_mut().expect("one was put there")
                    }
                };
                let side = if is_lower { &mut at.lower } else { &mut at.upper };
                // Of two bounds on one side the narrower one holds.
                *side = Some(side.map_or(own, |known: f64| known.min(own)));
            }
            None => part *= own,
        }
    }
    part * bounds.iter().map(Bounds::part).product::<f64>()
}

/// The part of the rows on the left that have a partner among so many on the right: by how many values there are of the
/// columns that are equal.
pub fn matched(conditions: &[&Expr], right_items: &[u16], right_rows: f64, items: &[RangeItem]) -> f64 {
    let mut parts = conditions.iter().filter_map(|condition| {
        let Expr::Call {
            function, arguments, ..
        } = condition
        else {
            return None;
        };
        let (Comparison::Equal, _) = comparison_of(*function)? else {
            return None;
        };
        let [one, other] = arguments.as_slice() else {
            return None;
        };
        let (one, other) = (known(one, items)?, known(other, items)?);
        let (left, right) = match (right_items.contains(&one.item), right_items.contains(&other.item)) {
            (false, true) => (one, other),
            (true, false) => (other, one),
            _ => return None,
        };
        let present = right.distinct().min(right_rows.max(1.0));
        Some((1.0 - left.nulls()) * (present / left.distinct()).min(1.0))
    });
    let first = parts.next();
    first.map_or(0.5, |first| first * parts.product::<f64>())
}

/// What conditions say of the range of a column with statistics.
struct Bounds<'e> {
    column: Known<'e>,
    lower: Option<f64>,
    upper: Option<f64>,
}

impl Bounds<'_> {
    fn part(&self) -> f64 {
        match (self.lower, self.upper) {
            (Some(lower), Some(upper)) => self.column.between(lower, upper),
            (one, other) => one.or(other).unwrap_or(1.0),
        }
    }
}

/// The column with statistics that a condition bounds, and whether from below.
fn bound_of<'e>(condition: &Expr, items: &'e [RangeItem]) -> Option<(Known<'e>, bool)> {
    let Expr::Call {
        function, arguments, ..
    } = condition
    else {
        return None;
    };
    let (column, comparison, _) = sides(*function, arguments, items)?;
    match comparison {
        Comparison::Greater | Comparison::GreaterOrEqual => Some((column, true)),
        Comparison::Less | Comparison::LessOrEqual => Some((column, false)),
        Comparison::Equal | Comparison::NotEqual => None,
    }
}

/// A comparison of a column with statistics and of something that reads no row, the column on the left.
fn sides<'e, 'x>(
    function: FunctionId,
    arguments: &'x [Expr],
    items: &'e [RangeItem],
) -> Option<(Known<'e>, Comparison, &'x Expr)> {
    let (comparison, _) = comparison_of(function)?;
    let [left, right] = arguments else { return None };
    match (known(left, items), known(right, items)) {
        (Some(column), None) if is_value(right) => Some((column, comparison, right)),
        (None, Some(column)) if is_value(left) => Some((column, comparison.commuted(), left)),
        _ => None,
    }
}

fn is_value(expr: &Expr) -> bool {
    !expr.any(&mut |inner| matches!(inner, Expr::Variable { .. } | Expr::SubPlan(_)))
}

pub fn selectivity(expr: &Expr, items: &[RangeItem]) -> f64 {
    match expr {
        Expr::Constant(Datum::Bool(value), _) => f64::from(u8::from(*value)),
        Expr::Constant(Datum::Null, _) => 0.0,
        Expr::And(list) => all_hold(list, items),
        Expr::Or(list) => {
            let missed: f64 = list.iter().map(|inner| 1.0 - selectivity(inner, items)).product();
            1.0 - missed
        }
        Expr::Not(inner) => not(inner, items),
        Expr::IsNull(inner) => known(inner, items).map_or(0.01, |column| column.nulls()),
        Expr::IsNotNull(inner) => known(inner, items).map_or(0.99, |column| 1.0 - column.nulls()),
        Expr::Variable { .. } => known(expr, items).map_or(0.5, |column| column.equals(&Datum::Bool(true))),
        Expr::BooleanTest {
            argument,
            test,
            negated,
        } => boolean_test(argument, *test, *negated, items),
        Expr::InList {
            argument,
            list,
            negated,
            ..
        } => in_list(argument, list, *negated, items),
        Expr::ArrayComparison {
            function,
            argument,
            array,
            all,
        } => array_comparison(*function, argument, array, *all, items),
        Expr::Call {
            function, arguments, ..
        } => call(*function, arguments, items),
        Expr::RowComparison { .. } => UNKNOWN_BOUND,
        _ => 0.5,
    }
}

/// Nulls satisfy neither a condition nor its opposite.
fn not(inner: &Expr, items: &[RangeItem]) -> f64 {
    if let Some(column) = known(inner, items) {
        return column.equals(&Datum::Bool(false));
    }
    1.0 - selectivity(inner, items)
}

fn boolean_test(argument: &Expr, test: BooleanTest, negated: bool, items: &[RangeItem]) -> f64 {
    let part = match (known(argument, items), test) {
        (Some(column), BooleanTest::True) => column.equals(&Datum::Bool(true)),
        (Some(column), BooleanTest::False) => column.equals(&Datum::Bool(false)),
        (Some(column), BooleanTest::Unknown) => column.nulls(),
        (None, BooleanTest::Unknown) => 0.01,
        (None, BooleanTest::True) => selectivity(argument, items),
        (None, BooleanTest::False) => 1.0 - selectivity(argument, items),
    };
    if negated { 1.0 - part } else { part }
}

fn in_list(argument: &Expr, list: &[Expr], negated: bool, items: &[RangeItem]) -> f64 {
    let part = match known(argument, items) {
        Some(column) => {
            let parts = list.iter().map(|value| column_equals(column, value));
            parts.sum::<f64>().min(1.0 - column.nulls())
        }
        None => (equality(argument, items) * list.len() as f64).min(1.0),
    };
    match negated {
        true => known(argument, items).map_or(1.0 - part, |column| column.differs(part)),
        false => part,
    }
}

fn column_equals(column: Known<'_>, value: &Expr) -> f64 {
    match value {
        Expr::Constant(value, _) => column.equals(value),
        _ => column.equals_unknown(),
    }
}

fn array_comparison(
    function: FunctionId,
    argument: &Expr,
    array: &Expr,
    all: bool,
    items: &[RangeItem],
) -> f64 {
    let Some((column, (comparison, _))) = known(argument, items).zip(comparison_of(function)) else {
        return match all {
            true => 0.5,
            false => (equality(argument, items) * f64::from(ARRAY_ELEMENTS)).min(0.5),
        };
    };
    let parts: Vec<f64> = match array {
        Expr::Constant(Datum::Array(array), _) => {
            let parts = array
                .elements
                .iter()
                .map(|element| compared(column, comparison, Some(element)));
            parts.collect()
        }
        Expr::Array { elements, .. } => {
            let parts = elements
                .iter()
                .map(|element| compared(column, comparison, constant(element)));
            parts.collect()
        }
        _ => vec![compared(column, comparison, None); ARRAY_ELEMENTS as usize],
    };
    match (all, comparison) {
        (true, _) => parts.iter().product(),
        // A value is equal to one element at most.
        (false, Comparison::Equal) => parts.iter().sum::<f64>().min(1.0 - column.nulls()),
        (false, _) => 1.0 - parts.iter().map(|part| 1.0 - part).product::<f64>(),
    }
}

fn constant(expr: &Expr) -> Option<&Datum> {
    match expr {
        Expr::Constant(value, _) => Some(value),
        _ => None,
    }
}

/// A column with statistics against a value, which may be unknown yet.
fn compared(column: Known<'_>, comparison: Comparison, value: Option<&Datum>) -> f64 {
    let equal = || value.map_or_else(|| column.equals_unknown(), |value| column.equals(value));
    match (comparison, value) {
        (_, Some(Datum::Null)) => 0.0,
        (Comparison::Equal, _) => equal(),
        (Comparison::NotEqual, _) => column.differs(equal()),
        (bound, Some(value)) => column.bounded(bound, value),
        (_, None) => UNKNOWN_BOUND,
    }
}

fn call(function: FunctionId, arguments: &[Expr], items: &[RangeItem]) -> f64 {
    if let Some((column, comparison, value)) = sides(function, arguments, items) {
        return compared(column, comparison, constant(value));
    }
    match comparison_of(function) {
        Some((Comparison::Equal, _)) => arguments
            .iter()
            .map(|argument| equality(argument, items))
            .fold(1.0, f64::min),
        Some((Comparison::NotEqual, _)) => 0.995,
        Some(_) => UNKNOWN_BOUND,
        None => {
            (like(function, arguments, items).or_else(|| begun(function, arguments, items))).unwrap_or(0.1)
        }
    }
}

/// LIKE and NOT LIKE of a column with statistics.
fn like(function: FunctionId, arguments: &[Expr], items: &[RangeItem]) -> Option<f64> {
    let negated = match function.signature().body {
        "textlike" | "namelike" | "bpcharlike" => false,
        "textnlike" | "namenlike" | "bpcharnlike" => true,
        _ => return None,
    };
    let [argument, Expr::Constant(Datum::Text(pattern), _)] = arguments else {
        return None;
    };
    let column = known(argument, items)?;
    let parsed = LikePattern::new(pattern, Escape::default()).ok()?;
    let prefix = PatternKind::Like.prefix(pattern);
    let part = match parsed.is_exact() {
        true => column.equals(&Datum::from(prefix.as_str())),
        false => {
            // Escapes in the prefix are few, and count as letters behind it.
            let rest = pattern.get(prefix.len()..).unwrap_or_default();
            column.matches(&prefix, rest, &|text| parsed.matches(text).unwrap_or(false))
        }
    };
    Some(if negated { column.differs(part) } else { part })
}

/// `~` with a fixed beginning and `^@` of a column with statistics: what follows the beginning is taken to be anything.
fn begun(function: FunctionId, arguments: &[Expr], items: &[RangeItem]) -> Option<f64> {
    let [argument, Expr::Constant(Datum::Text(pattern), _)] = arguments else {
        return None;
    };
    let (kind, regex) = match function.signature().body {
        "textregexeq" | "nameregexeq" => {
            let regex = Regex::new(pattern, Options::default()).ok()?;
            (PatternKind::Regex, Some(regex))
        }
        "text_starts_with" => (PatternKind::StartsWith, None),
        _ => return None,
    };
    let prefix = kind.prefix(pattern);
    if prefix.is_empty() {
        return None;
    }
    let matches = |text: &str| match &regex {
        Some(regex) => regex.is_match(text).unwrap_or(false),
        None => text.starts_with(&prefix),
    };
    Some(known(argument, items)?.matches(&prefix, "%", &matches))
}

/// The part of rows in which an expression has one particular value, of which nothing is known.
fn equality(expr: &Expr, items: &[RangeItem]) -> f64 {
    match expr {
        Expr::Variable { relation, column, .. } if *column < FIRST_SYSTEM_COLUMN => {
            match &items[*relation as usize].kind {
                ItemKind::Relation(relation) => 1.0 / distinct_values(relation, *column),
                _ => 0.005,
            }
        }
        Expr::Variable { .. } => 0.001,
        // A constant says nothing about how often it occurs.
        Expr::Constant(..) | Expr::Parameter { .. } | Expr::ExecParameter { .. } => 1.0,
        expr => known(expr, items).map_or(0.005, |column| column.equals_unknown()),
    }
}
