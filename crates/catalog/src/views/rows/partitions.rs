//! pg_partitioned_table, and what the functions about partitions answer.

use mote_common::{Oid, SqlResult};
use mote_sql::catalog::index_method::IndexMethod;
use mote_sql::catalog::partition::{PartitionKey, PartitionScheme, PartitionStrategy};
use mote_sql::catalog::{IndexKeyTarget, Relation};
use mote_types::Datum;

use crate::catalog_store::Catalog;
use crate::views::builtin::default_operator_class;
use crate::views::facts::{Facts, collation_of};
use crate::views::partition_text;
use crate::views::row::{int2_vector, oid_vector, row};

pub fn partitioned_tables(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let mut rows = Vec::new();
    for known in facts.tables() {
        let Some(scheme) = &known.relation.partitioning else {
            continue;
        };
        let letter = match scheme.strategy {
            PartitionStrategy::List => 'l',
            PartitionStrategy::Range => 'r',
            PartitionStrategy::Hash => 'h',
        };
        let default = scheme
            .default
            .map_or(Oid::INVALID, |at| scheme.partitions[at].oid);
        let expressions: Vec<&str> = scheme
            .keys
            .iter()
            .filter_map(|key| match &key.target {
                IndexKeyTarget::Column(_) => None,
                IndexKeyTarget::Expression(text, _) => Some(text.as_str()),
            })
            .collect();
        let method = match scheme.strategy {
            PartitionStrategy::Hash => IndexMethod::Hash,
            PartitionStrategy::List | PartitionStrategy::Range => IndexMethod::Btree,
        };
        let class_of = |key: &PartitionKey| default_operator_class(method, key.ty.oid);
        rows.push(row![
            known.relation.oid,
            letter,
            scheme.keys.len() as i16,
            default,
            int2_vector(key_numbers(scheme)),
            oid_vector(scheme.keys.iter().map(class_of)),
            oid_vector(scheme.keys.iter().map(|key| collation_of(key.ty))),
            (!expressions.is_empty()).then(|| expressions.join(", ")),
        ]);
    }
    Ok(rows)
}

/// Attribute numbers of the key, 0 for an expression.
fn key_numbers(scheme: &PartitionScheme) -> impl Iterator<Item = i16> + '_ {
    scheme.keys.iter().map(|key| match key.target {
        IndexKeyTarget::Column(position) => position as i16 + 1,
        IndexKeyTarget::Expression(..) => 0,
    })
}

/// `relpartbound`.
pub fn bound_text(facts: &Facts<'_>, relation: &Relation) -> Option<String> {
    let bound = relation.partition_bound.as_ref()?;
    let parent = facts.relation(*relation.parents.first()?)?;
    let keys = &parent.relation.partitioning.as_ref()?.keys;
    Some(partition_text::bound(bound, keys, facts.format()))
}

/// `pg_get_partkeydef`.
pub fn key_definition(facts: &Facts<'_>, relation: Oid) -> Option<String> {
    let known = facts.relation(relation)?;
    let scheme = known.relation.partitioning.as_ref()?;
    Some(partition_text::partition_key(known.relation, scheme))
}

/// `pg_get_partition_constraintdef`.
pub fn constraint_definition(facts: &Facts<'_>, relation: Oid) -> Option<String> {
    let known = facts.relation(relation)?;
    let above = ancestors(&facts.catalog, relation);
    partition_text::constraint(known.relation, above.get(1..)?, facts.format())
}

/// A partition, or the index of one, and what it is part of, up to the root. Empty: neither partition nor partitioned.
pub fn ancestors(catalog: &Catalog, oid: Oid) -> Vec<Oid> {
    let mut found = Vec::new();
    let mut next = is_in_tree(catalog, oid).then_some(oid);
    while let Some(oid) = next {
        found.push(oid);
        next = parent_of(catalog, oid);
    }
    found
}

/// (relation or index, parent, whether it is a leaf, level): the tree below `oid`, level by level.
pub fn tree(catalog: &Catalog, oid: Oid) -> Vec<(Oid, Option<Oid>, bool, i32)> {
    if !is_in_tree(catalog, oid) {
        return Vec::new();
    }
    let mut found = vec![(oid, parent_of(catalog, oid), false, 0)];
    let mut next = 0;
    while next < found.len() {
        let (parent, _, _, level) = found[next];
        for child in children_of(catalog, parent) {
            found.push((child, Some(parent), false, level + 1));
        }
        found[next].2 = !is_partitioned(catalog, parent);
        next += 1;
    }
    found
}

/// A partitioned table, a partition, or an index of one of them.
fn is_in_tree(catalog: &Catalog, oid: Oid) -> bool {
    let table = catalog.index_owner(oid).unwrap_or(oid);
    catalog.relation(table).is_some_and(|entry| {
        let stored = &entry.stored;
        let index = stored.indexes.iter().find(|index| index.oid == oid.0);
        match index {
            Some(index) => stored.partitioning.is_some() || index.parent.is_some(),
            None => stored.partitioning.is_some() || stored.partition.is_some(),
        }
    })
}

fn is_partitioned(catalog: &Catalog, oid: Oid) -> bool {
    let table = catalog.index_owner(oid).unwrap_or(oid);
    let entry = catalog.relation(table);
    entry.is_some_and(|entry| entry.stored.partitioning.is_some())
}

fn parent_of(catalog: &Catalog, oid: Oid) -> Option<Oid> {
    match catalog.index_owner(oid) {
        Some(table) => {
            let indexes = &catalog.relation(table)?.stored.indexes;
            let index = indexes.iter().find(|index| index.oid == oid.0)?;
            index.parent.map(Oid)
        }
        None => {
            let stored = &catalog.relation(oid)?.stored;
            // One that is being detached stands alone already.
            stored.partition.as_ref().filter(|place| !place.detach_pending)?;
            stored.parents.first().map(|parent| Oid(*parent))
        }
    }
}

/// Partitions, or the indexes attached to an index, in the order of their OIDs.
fn children_of(catalog: &Catalog, oid: Oid) -> Vec<Oid> {
    let Some(table) = catalog.index_owner(oid) else {
        return match is_partitioned(catalog, oid) {
            true => catalog.children_of(oid),
            false => Vec::new(),
        };
    };
    let attached = |child: Oid| {
        let indexes = &catalog.relation(child)?.stored.indexes;
        let index = indexes.iter().find(|index| index.parent == Some(oid.0))?;
        Some(Oid(index.oid))
    };
    let mut found: Vec<Oid> = catalog.all_children_of(table).filter_map(attached).collect();
    found.sort();
    found
}
