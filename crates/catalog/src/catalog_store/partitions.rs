//! Describes what is stored about partitions: keys bound, bounds read, all of a table's partitions put in order.
//!
//! The list of a table's partitions is kept by the partitions, not by the table: the scheme is made anew when one of
//! them comes, goes or changes (`Catalog::touched_by`).

use std::sync::Arc;

use mote_common::{Oid, SqlError, SqlResult};
use mote_sql::catalog::partition::{
    Partition, PartitionBound, PartitionKey, PartitionLevel, PartitionScheme, PartitionStrategy, RangeDatum,
};
use mote_sql::catalog::{IndexKeyTarget, Relation};
use mote_sql::expr::Expr;
use mote_sql::{RelationExpression, bind_expression_over_relation};
use mote_types::catalog::user::without;
use mote_types::format::output_to_string;
use mote_types::{ColumnType, Datum, FormatSettings, input_text};

use super::catalog::Catalog;
use super::describe::empty_description;
use super::index_texts::Builtins;
use super::stored::{
    StoredBound, StoredPartitionKey, StoredPartitioning, StoredRangeDatum, StoredRelation, StoredStrategy,
};

/// Fills in what `relation`, described but for this, is partitioned by and what it is a partition of.
pub(super) fn describe(catalog: &Catalog, stored: &StoredRelation, relation: &mut Relation) -> SqlResult<()> {
    if let Some(partitioning) = &stored.partitioning {
        let keys = describe_keys(partitioning, relation)?;
        relation.partitioning = Some(Arc::new(scheme(catalog, stored, partitioning, keys)?));
    }
    if let Some(partition) = &stored.partition {
        let levels = levels(catalog, stored, relation)?;
        // The parent may be gone already where both are dropped.
        let parent = stored
            .parents
            .first()
            .and_then(|parent| catalog.relation(Oid(*parent)));
        if let Some(partitioning) = parent.and_then(|parent| parent.stored.partitioning.as_ref()) {
            let keys = describe_types(partitioning);
            relation.partition_bound = Some(describe_bound(&partition.bound, &keys)?);
        }
        relation.partition_levels = levels;
    }
    Ok(())
}

/// The scheme of a partitioned table, over the row that `keys` are bound over.
fn scheme(
    catalog: &Catalog,
    stored: &StoredRelation,
    partitioning: &StoredPartitioning,
    keys: Vec<PartitionKey>,
) -> SqlResult<PartitionScheme> {
    let mut partitions = Vec::new();
    for child in catalog.children_of(Oid(stored.oid)) {
        if let Some(partition) = catalog.relation(child).and_then(|c| c.stored.partition.as_ref()) {
            let bound = describe_bound(&partition.bound, &keys)?;
            partitions.push(Partition { oid: child, bound });
        }
    }
    Ok(PartitionScheme::new(
        describe_strategy(partitioning.strategy),
        keys,
        partitions,
    ))
}

/// What the rows of a partition must meet, from its parent upwards.
fn levels(
    catalog: &Catalog,
    partition: &StoredRelation,
    relation: &Relation,
) -> SqlResult<Vec<PartitionLevel>> {
    let mut levels = Vec::new();
    let mut child = partition.clone();
    while let (Some(placed), Some(&parent)) = (&child.partition, child.parents.first()) {
        let Some(parent) = catalog.relation(Oid(parent)) else {
            break;
        };
        let parent = &parent.stored;
        let partitioning = parent.partitioning.as_ref().ok_or_else(|| {
            SqlError::internal(format!("\"{}\" has partitions but no partition key", parent.name))
        })?;
        let keys = describe_keys(partitioning, &empty_description(parent))?;
        // In the midst of a change of both, a partition may lack a column of its parent: it is described once more when its
        // own change is applied.
        let Ok(keys) = keys_over(keys, parent, relation) else {
            return Ok(Vec::new());
        };
        // A row that the bound takes is in no other partition: only the default one has to know its siblings.
        let scheme = if placed.bound == StoredBound::Default {
            scheme(catalog, parent, partitioning, keys)?
        } else {
            let bound = describe_bound(&placed.bound, &keys)?;
            let only = Partition {
                oid: Oid(child.oid),
                bound,
            };
            PartitionScheme::new(describe_strategy(partitioning.strategy), keys, vec![only])
        };
        // A partition that is being detached is not among its siblings any more.
        let Some(position) = scheme.position_of(Oid(child.oid)) else {
            break;
        };
        levels.push(PartitionLevel {
            scheme: Arc::new(scheme),
            position,
        });
        child = parent.clone();
    }
    Ok(levels)
}

pub fn describe_strategy(stored: StoredStrategy) -> PartitionStrategy {
    match stored {
        StoredStrategy::List => PartitionStrategy::List,
        StoredStrategy::Range => PartitionStrategy::Range,
        StoredStrategy::Hash => PartitionStrategy::Hash,
    }
}

/// The keys over the rows of the partitioned table itself.
fn describe_keys(stored: &StoredPartitioning, relation: &Relation) -> SqlResult<Vec<PartitionKey>> {
    stored
        .keys
        .iter()
        .map(|key| describe_key(key, relation))
        .collect()
}

/// Keys whose types alone count.
fn describe_types(stored: &StoredPartitioning) -> Vec<PartitionKey> {
    let key = |key: &StoredPartitionKey| PartitionKey {
        target: IndexKeyTarget::Column(0),
        ty: ColumnType::with_typmod(Oid(key.type_oid), key.typmod),
    };
    stored.keys.iter().map(key).collect()
}

fn describe_key(stored: &StoredPartitionKey, relation: &Relation) -> SqlResult<PartitionKey> {
    let target = match (stored.column, &stored.expression) {
        (Some(column), _) => IndexKeyTarget::Column(column),
        (None, Some(text)) => {
            let over = Arc::new(relation.clone());
            let purpose = RelationExpression::IndexKey;
            let expr = without(|| bind_expression_over_relation(text, &over, purpose, None, &Builtins))?;
            IndexKeyTarget::Expression(text.clone(), expr)
        }
        (None, None) => {
            let message = format!("a partition key of \"{}\" has no meaning", relation.name);
            return Err(SqlError::internal(message));
        }
    };
    Ok(PartitionKey {
        target,
        ty: ColumnType::with_typmod(Oid(stored.type_oid), stored.typmod),
    })
}

/// Keys of an ancestor over the rows of a partition, whose columns may stand in another order.
pub fn keys_over(
    keys: Vec<PartitionKey>,
    ancestor: &StoredRelation,
    partition: &Relation,
) -> SqlResult<Vec<PartitionKey>> {
    let position = |column: u16| {
        let name = &ancestor.columns[column as usize].name;
        let found = partition
            .columns
            .iter()
            .position(|c| !c.dropped && c.name == *name);
        found.map(|position| position as u16).ok_or_else(|| {
            let message = format!("partition \"{}\" has no column \"{name}\"", partition.name);
            SqlError::internal(message)
        })
    };
    keys.into_iter()
        .map(|key| {
            let target = match key.target {
                IndexKeyTarget::Column(column) => IndexKeyTarget::Column(position(column)?),
                IndexKeyTarget::Expression(text, mut expr) => {
                    let mut missing = None;
                    expr.rewrite(&mut |part| match part {
                        Expr::Column { index, ty } => match position(*index) {
                            Ok(index) => Some(Expr::Column { index, ty: *ty }),
                            Err(error) => {
                                missing = Some(error);
                                None
                            }
                        },
                        _ => None,
                    });
                    if let Some(error) = missing {
                        return Err(error);
                    }
                    IndexKeyTarget::Expression(text, expr)
                }
            };
            Ok(PartitionKey { target, ty: key.ty })
        })
        .collect()
}

/// The description of a table that is not in the catalog yet: its columns, nothing that needs other objects.
pub fn describe_plain(stored: &StoredRelation) -> Relation {
    empty_description(stored)
}

/// Reads a stored bound.
pub fn describe_bound(stored: &StoredBound, keys: &[PartitionKey]) -> SqlResult<PartitionBound> {
    let settings = FormatSettings::default();
    let value = |text: &str, key: Option<&PartitionKey>| {
        let key = key.ok_or_else(|| SqlError::internal("a partition bound has more values than keys"))?;
        without(|| input_text(key.ty, text, &settings))
    };
    let range = |datums: &[StoredRangeDatum]| {
        let datums = datums.iter().enumerate().map(|(position, datum)| {
            Ok(match datum {
                StoredRangeDatum::MinValue => RangeDatum::MinValue,
                StoredRangeDatum::MaxValue => RangeDatum::MaxValue,
                StoredRangeDatum::Value(text) => RangeDatum::Value(value(text, keys.get(position))?),
            })
        });
        datums.collect::<SqlResult<Vec<_>>>()
    };
    Ok(match stored {
        StoredBound::Default => PartitionBound::Default,
        StoredBound::List(values) => {
            let values = values.iter().map(|text| match text {
                Some(text) => value(text, keys.first()),
                None => Ok(Datum::Null),
            });
            PartitionBound::List(values.collect::<SqlResult<_>>()?)
        }
        StoredBound::Range { from, to } => PartitionBound::Range {
            from: range(from)?,
            to: range(to)?,
        },
        StoredBound::Hash { modulus, remainder } => PartitionBound::Hash {
            modulus: *modulus,
            remainder: *remainder,
        },
    })
}

/// The form that is stored.
pub fn store_bound(bound: &PartitionBound, keys: &[PartitionKey]) -> StoredBound {
    let settings = FormatSettings::default();
    let stored = |value: &Datum, ty| without(|| output_to_string(value, ty, &settings));
    let range = |datums: &[RangeDatum]| {
        let datums = datums.iter().zip(keys).map(|(datum, key)| match datum {
            RangeDatum::MinValue => StoredRangeDatum::MinValue,
            RangeDatum::MaxValue => StoredRangeDatum::MaxValue,
            RangeDatum::Value(value) => StoredRangeDatum::Value(stored(value, key.ty)),
        });
        datums.collect()
    };
    match bound {
        PartitionBound::Default => StoredBound::Default,
        PartitionBound::List(values) => StoredBound::List(
            values
                .iter()
                .map(|value| (!value.is_null()).then(|| stored(value, keys[0].ty)))
                .collect(),
        ),
        PartitionBound::Range { from, to } => StoredBound::Range {
            from: range(from),
            to: range(to),
        },
        PartitionBound::Hash { modulus, remainder } => StoredBound::Hash {
            modulus: *modulus,
            remainder: *remainder,
        },
    }
}
