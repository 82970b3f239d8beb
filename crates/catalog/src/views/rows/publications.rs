//! pg_publication, pg_publication_rel, pg_publication_tables.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_types::Datum;

use crate::catalog_store::published::identity_index;
use crate::catalog_store::stored::{StoredPublication, StoredPublished};
use crate::views::facts::{Facts, Known};
use crate::views::row::{NULL, int2_vector, name_array, row};

pub fn publications(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let publications = facts.catalog.publications_of(facts.database()).into_iter();
    let row = |publication: &StoredPublication| {
        let published = publication.operations;
        row![
            Oid(publication.oid),
            &publication.name,
            Oid(publication.owner),
            publication.all_tables,
            published.insert,
            published.update,
            published.delete,
            published.truncate,
            publication.via_root,
        ]
    };
    Ok(publications.map(row).collect())
}

pub fn members(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let mut rows = Vec::new();
    for publication in facts.catalog.publications_of(facts.database()) {
        for member in &publication.tables {
            let columns = member.columns.as_ref();
            let columns = columns.map_or(NULL, |list| int2_vector(list.iter().map(|at| *at as i16 + 1)));
            rows.push(row![
                Oid(member.oid),
                Oid(publication.oid),
                Oid(member.relation),
                NULL,
                columns
            ]);
        }
    }
    Ok(rows)
}

/// As subscribers see it: partitioned tables stand for their leaves, or for all below them.
pub fn tables(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let mut rows = Vec::new();
    for publication in facts.catalog.publications_of(facts.database()) {
        for (relation, member) in published(facts, publication) {
            let Some(known) = facts.relation(relation) else {
                continue;
            };
            let columns = known.relation.columns.iter().zip(0u16..);
            let listed = |at: &u16| {
                let list = member.and_then(|member| member.columns.as_ref());
                list.is_none_or(|list| list.contains(at))
            };
            let shown = columns.filter(|(column, at)| !column.dropped && listed(at));
            let names: Vec<&str> = shown.map(|(column, _)| &*column.name).collect();
            let names = if names.is_empty() { NULL } else { name_array(names) };
            let schema = &known.relation.schema;
            rows.push(row![&publication.name, schema, &known.relation.name, names, NULL]);
        }
    }
    Ok(rows)
}

/// `pg_get_publication_tables`: relation, positions of its columns, the row filter, which there is none of.
pub fn tables_of(name: &str, facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let publication = facts.catalog.publication_by_name(facts.database(), name);
    let publication = publication.ok_or_else(|| {
        let message = format!("publication \"{name}\" does not exist");
        SqlError::new(state::UNDEFINED_OBJECT, message)
    })?;
    let mut rows = Vec::new();
    for (relation, member) in published(facts, publication) {
        let Some(known) = facts.relation(relation) else {
            continue;
        };
        let list = member.and_then(|member| member.columns.as_ref());
        let columns = known.relation.columns.iter().zip(0u16..);
        let shown = columns.filter(|(column, at)| match list {
            Some(list) => list.contains(at),
            None => !column.dropped && column.generated.is_none(),
        });
        let numbers: Vec<i16> = shown.map(|(_, at)| at as i16 + 1).collect();
        let columns = if numbers.is_empty() {
            NULL
        } else {
            int2_vector(numbers)
        };
        rows.push(row![relation, columns, NULL]);
    }
    Ok(rows)
}

/// The index by which subscribers find a table's rows: `pg_get_replica_identity_index`.
pub fn identity_index_of(relation: Oid, facts: &Facts<'_>) -> Option<Oid> {
    let known = facts.relation(relation)?;
    identity_index(known.stored).map(|index| Oid(index.oid))
}

/// The tables that changes are told of, each with its own entry in the publication, by OID.
fn published<'p>(
    facts: &Facts<'_>,
    publication: &'p StoredPublication,
) -> Vec<(Oid, Option<&'p StoredPublished>)> {
    let mut found: Vec<Oid> = Vec::new();
    if publication.all_tables {
        let relations = facts.relations().into_iter();
        let shown = relations.filter(|known| {
            is_publishable(*known)
                && match publication.via_root {
                    true => known.stored.partition.is_none(),
                    false => known.stored.partitioning.is_none(),
                }
        });
        found.extend(shown.map(|known| known.relation.oid));
    } else {
        let named = |oid: Oid| publication.member(oid.0).is_some();
        for member in &publication.tables {
            let oid = Oid(member.relation);
            let Some(known) = facts.relation(oid) else {
                continue;
            };
            match known.stored.partitioning.is_some() && !publication.via_root {
                true => found.extend(leaves(facts, oid)),
                // A partition is told of by the table above it, where that is published as well.
                false if publication.via_root && above(facts, known).into_iter().any(named) => {}
                false => found.push(oid),
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
        .into_iter()
        .map(|oid| (oid, publication.member(oid.0)))
        .collect()
}

fn leaves(facts: &Facts<'_>, oid: Oid) -> Vec<Oid> {
    let below = facts.catalog.descendants_of(oid).into_iter();
    let is_leaf = |oid: &Oid| {
        facts
            .relation(*oid)
            .is_some_and(|known| known.stored.partitioning.is_none())
    };
    below.filter(is_leaf).collect()
}

/// The tables that one is a partition of, from the nearest up.
fn above(facts: &Facts<'_>, known: Known<'_>) -> Vec<Oid> {
    let mut found = Vec::new();
    let mut stored = known.stored;
    while stored.partition.is_some()
        && let Some(&parent) = stored.parents.first()
        && let Some(parent) = facts.relation(Oid(parent))
    {
        found.push(parent.relation.oid);
        stored = parent.stored;
    }
    found
}

/// Whether changes of a relation can be published at all: `pg_relation_is_publishable`.
pub fn is_publishable(known: Known<'_>) -> bool {
    known.stored.is_publishable()
}
