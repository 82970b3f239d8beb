//! Partition keys and bounds as the SQL that would make them, and what a bound means as a condition.
//!
//! As PostgreSQL prints them: `FOR VALUES FROM (1) TO (MAXVALUE)`, `RANGE (a, lower(b))`,
//! `((a IS NOT NULL) AND (a >= 1))`; values as the session's DateStyle, IntervalStyle and TimeZone have them.

use mote_common::Oid;
use mote_sql::catalog::partition::{
    PartitionBound, PartitionKey, PartitionScheme, PartitionStrategy, RangeDatum,
};
use mote_sql::catalog::{IndexKeyTarget, Relation};
use mote_types::format::output_to_string;
use mote_types::{ColumnType, Datum, FormatSettings, oid};

use crate::catalog_store::index_texts::is_call;

/// `pg_get_partkeydef`.
pub fn partition_key(relation: &Relation, scheme: &PartitionScheme) -> String {
    let strategy = scheme.strategy.name().to_uppercase();
    let keys = scheme.keys.iter().map(|key| match &key.target {
        IndexKeyTarget::Column(column) => {
            mote_grammar::ast::deparse::identifier(&relation.columns[*column as usize].name)
        }
        IndexKeyTarget::Expression(text, _) if is_call(text) => text.clone(),
        IndexKeyTarget::Expression(text, _) => format!("({text})"),
    });
    format!("{strategy} ({})", keys.collect::<Vec<_>>().join(", "))
}

/// `pg_get_expr` of `relpartbound`.
pub fn bound(bound: &PartitionBound, keys: &[PartitionKey], settings: &FormatSettings) -> String {
    match bound {
        PartitionBound::Default => "DEFAULT".into(),
        PartitionBound::List(values) => {
            let values: Vec<String> = values
                .iter()
                .map(|value| bare(value, keys[0].ty, settings))
                .collect();
            format!("FOR VALUES IN ({})", values.join(", "))
        }
        PartitionBound::Range { from, to } => {
            format!(
                "FOR VALUES FROM {} TO {}",
                range(from, keys, settings),
                range(to, keys, settings)
            )
        }
        PartitionBound::Hash { modulus, remainder } => {
            format!("FOR VALUES WITH (modulus {modulus}, remainder {remainder})")
        }
    }
}

/// `(1, MINVALUE)`.
pub fn range(datums: &[RangeDatum], keys: &[PartitionKey], settings: &FormatSettings) -> String {
    let shown = datums.iter().zip(keys).map(|(datum, key)| match datum {
        RangeDatum::MinValue => "MINVALUE".into(),
        RangeDatum::MaxValue => "MAXVALUE".into(),
        RangeDatum::Value(value) => bare(value, key.ty, settings),
    });
    format!("({})", shown.collect::<Vec<_>>().join(", "))
}

/// A constant without a cast: what a bound gives it is the key's type.
fn bare(value: &Datum, ty: ColumnType, settings: &FormatSettings) -> String {
    let text = output_to_string(value, ty, settings);
    match ty.oid {
        _ if value.is_null() => "NULL".into(),
        oid::BOOL if text == "t" => "true".into(),
        oid::BOOL => "false".into(),
        oid::INT4 if !text.starts_with('-') => text,
        oid::NUMERIC if is_decimal(&text) => text,
        _ => quoted(&text),
    }
}

/// A constant of its own type.
fn typed(value: &Datum, ty: ColumnType, settings: &FormatSettings) -> String {
    let shown = bare(value, ty, settings);
    let plain = match ty.oid {
        oid::BOOL => true,
        oid::INT4 => !shown.starts_with('\''),
        oid::NUMERIC => !shown.starts_with('\'') && ty.typmod < 0,
        _ => false,
    };
    if plain {
        return shown;
    }
    format!("{shown}::{}", ty.name())
}

fn is_decimal(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit()) && text.contains(['e', 'E', '.'])
}

fn quoted(text: &str) -> String {
    let escape = if text.contains('\\') { "E" } else { "" };
    format!("{escape}'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// `pg_get_partition_constraintdef`: what the rows of a partition meet, its ancestors' bounds first.
pub fn constraint(partition: &Relation, ancestors: &[Oid], settings: &FormatSettings) -> Option<String> {
    let mut conditions = Vec::new();
    for (level, parent) in partition.partition_levels.iter().zip(ancestors).rev() {
        let scheme = &level.scheme;
        let bound = &scheme.partitions[level.position].bound;
        conditions.extend(conditions_of(bound, scheme, partition, *parent, settings));
    }
    (!conditions.is_empty()).then(|| all(conditions))
}

fn conditions_of(
    bound: &PartitionBound,
    scheme: &PartitionScheme,
    relation: &Relation,
    parent: Oid,
    settings: &FormatSettings,
) -> Vec<String> {
    let names: Vec<String> = scheme
        .keys
        .iter()
        .map(|key| match &key.target {
            IndexKeyTarget::Column(column) => {
                mote_grammar::ast::deparse::identifier(&relation.columns[*column as usize].name)
            }
            IndexKeyTarget::Expression(text, _) => text.clone(),
        })
        .collect();
    match bound {
        PartitionBound::Default => {
            let others = scheme
                .partitions
                .iter()
                .filter(|p| !matches!(p.bound, PartitionBound::Default));
            let taken: Vec<String> = match scheme.strategy {
                PartitionStrategy::List => {
                    let values = others.flat_map(|partition| match &partition.bound {
                        PartitionBound::List(values) => values.clone(),
                        _ => Vec::new(),
                    });
                    let values: Vec<Datum> = values.collect();
                    match values.is_empty() {
                        true => Vec::new(),
                        false => vec![all(list(&values, &names, scheme, settings))],
                    }
                }
                _ => others
                    .filter_map(|partition| match &partition.bound {
                        PartitionBound::Range { from, to } => {
                            Some(all(range_conditions(from, to, &names, scheme, settings)))
                        }
                        _ => None,
                    })
                    .collect(),
            };
            match scheme.strategy {
                _ if taken.is_empty() => Vec::new(),
                PartitionStrategy::Range => {
                    let not_null = all(not_null(&names));
                    vec![format!("(NOT ({not_null} AND {}))", any(taken))]
                }
                _ => vec![format!("(NOT {})", any(taken))],
            }
        }
        PartitionBound::List(values) => list(values, &names, scheme, settings),
        PartitionBound::Range { from, to } => {
            let mut conditions = not_null(&names);
            conditions.extend(range_conditions(from, to, &names, scheme, settings));
            conditions
        }
        PartitionBound::Hash { modulus, remainder } => vec![format!(
            "satisfies_hash_partition('{}'::oid, {modulus}, {remainder}, {})",
            parent.0,
            names.join(", ")
        )],
    }
}

fn not_null(names: &[String]) -> Vec<String> {
    names.iter().map(|name| format!("({name} IS NOT NULL)")).collect()
}

fn list(
    values: &[Datum],
    names: &[String],
    scheme: &PartitionScheme,
    settings: &FormatSettings,
) -> Vec<String> {
    let (name, ty) = (&names[0], scheme.keys[0].ty);
    let shown: Vec<String> = values
        .iter()
        .filter(|value| !value.is_null())
        .map(|value| typed(value, ty, settings))
        .collect();
    let among = match shown.as_slice() {
        [] => None,
        [one] => Some(format!("({name} = {one})")),
        several => Some(format!("({name} = ANY (ARRAY[{}]))", several.join(", "))),
    };
    match (shown.len() < values.len(), among) {
        (true, Some(among)) => vec![format!("(({name} IS NULL) OR {among})")],
        (true, None) => vec![format!("({name} IS NULL)")],
        (false, Some(among)) => vec![format!("({name} IS NOT NULL)"), among],
        (false, None) => Vec::new(),
    }
}

/// Row-wise comparison with both bounds; columns whose two bounds are equal become equations.
fn range_conditions(
    from: &[RangeDatum],
    to: &[RangeDatum],
    names: &[String],
    scheme: &PartitionScheme,
    settings: &FormatSettings,
) -> Vec<String> {
    let mut conditions = Vec::new();
    let mut first = 0;
    while let (Some(RangeDatum::Value(low)), Some(RangeDatum::Value(high))) = (from.get(first), to.get(first))
        && first + 1 < names.len()
        && mote_types::equal(low, high)
    {
        conditions.push(format!(
            "({} = {})",
            names[first],
            typed(low, scheme.keys[first].ty, settings)
        ));
        first += 1;
    }
    conditions.extend(one_side(from, first, (">", ">="), names, scheme, settings));
    conditions.extend(one_side(to, first, ("<", "<"), names, scheme, settings));
    conditions
}

/// `(a > 1) OR ((a = 1) AND (b >= 2))`: one alternative per column up to the first unbounded one.
fn one_side(
    datums: &[RangeDatum],
    first: usize,
    (strict, last): (&str, &str),
    names: &[String],
    scheme: &PartitionScheme,
    settings: &FormatSettings,
) -> Option<String> {
    let mut alternatives = Vec::new();
    let mut equal: Vec<String> = Vec::new();
    // What lies beyond: everything for `from`'s MINVALUE and `to`'s MAXVALUE, nothing for the others.
    let open = |datum: &RangeDatum| match datum {
        RangeDatum::MinValue => strict == ">",
        RangeDatum::MaxValue => strict == "<",
        RangeDatum::Value(_) => false,
    };
    for position in first..datums.len() {
        let RangeDatum::Value(value) = &datums[position] else {
            if open(&datums[position]) && !equal.is_empty() {
                alternatives.push(all(equal));
            }
            break;
        };
        let next = datums.get(position + 1);
        let ends = next.is_none();
        // A next column without a bound widens this comparison to include equality.
        let widened = next.is_some_and(open);
        let operator = match (ends, widened) {
            (true, _) => last.to_owned(),
            (false, true) => format!("{strict}="),
            (false, false) => strict.to_owned(),
        };
        let shown = typed(value, scheme.keys[position].ty, settings);
        let mut alternative = equal.clone();
        alternative.push(format!("({} {operator} {shown})", names[position]));
        alternatives.push(all(alternative));
        if widened {
            break;
        }
        equal.push(format!("({} = {shown})", names[position]));
    }
    (!alternatives.is_empty()).then(|| any(alternatives))
}

fn all(mut conditions: Vec<String>) -> String {
    match conditions.len() {
        1 => conditions.remove(0),
        _ => format!("({})", conditions.join(" AND ")),
    }
}

fn any(mut conditions: Vec<String>) -> String {
    match conditions.len() {
        1 => conditions.remove(0),
        _ => format!("({})", conditions.join(" OR ")),
    }
}
