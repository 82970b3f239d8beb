//! What the publications of a database make of one of its tables, for the table's description: under which names, with
//! which columns, and by what its rows are found.

use std::sync::Arc;

use mote_common::{IndexId, Oid};
use mote_sql::catalog::published::{
    DELETES, INSERTS, Published, PublishedAs, PublishedColumn, ReplicaIdentity, TRUNCATES, UPDATES,
};

use super::catalog::Catalog;
use super::stored::{
    StoredIndex, StoredOperations, StoredPublication, StoredRelation, StoredReplicaIdentity,
};

impl StoredOperations {
    fn bits(self) -> u8 {
        let bit = |set: bool, bit: u8| if set { bit } else { 0 };
        bit(self.insert, INSERTS)
            | bit(self.update, UPDATES)
            | bit(self.delete, DELETES)
            | bit(self.truncate, TRUNCATES)
    }
}

/// The name under which one publication tells of a table, and its list of columns.
struct Place<'c> {
    height: usize,
    columns: Option<&'c [u16]>,
}

/// `None`: no publication has the table.
pub(super) fn describe(catalog: &Catalog, stored: &StoredRelation) -> Option<Arc<Published>> {
    if catalog.publications.is_empty() || !stored.is_publishable() {
        return None;
    }
    let database = catalog.schemas.get(&Oid(stored.schema))?.object.database;
    let line = line(catalog, stored);
    let mut published = Published {
        operations: 0,
        uncovered: 0,
        identity: identity(stored),
        views: Vec::new(),
    };
    let mut lists: Vec<(usize, Option<&[u16]>)> = Vec::new();
    for publication in catalog.publications_of(Oid(database)) {
        // A partitioned table has no rows of its own: its partitions are told of instead.
        if stored.partitioning.is_some() && !publication.via_root {
            continue;
        }
        let Some(place) = place(publication, &line) else {
            continue;
        };
        let bits = publication.operations.bits();
        published.operations |= bits;
        if !covers(line[place.height], place.columns) {
            published.uncovered |= bits;
        }
        let key = (place.height, place.columns);
        let at = lists.iter().position(|list| *list == key).unwrap_or_else(|| {
            lists.push(key);
            published
                .views
                .push(view(catalog, stored, line[place.height], &place));
            lists.len() - 1
        });
        published.views[at]
            .publications
            .push((Oid(publication.oid), bits));
    }
    (!published.views.is_empty()).then(|| Arc::new(published))
}

/// The table, then those that it is a partition of, from the nearest up.
fn line<'c>(catalog: &'c Catalog, stored: &'c StoredRelation) -> Vec<&'c StoredRelation> {
    let mut line = vec![stored];
    while let Some(last) = line.last()
        && last.partition.is_some()
        && let Some(parent) = last
            .parents
            .first()
            .and_then(|parent| catalog.relation(Oid(*parent)))
    {
        line.push(&parent.stored);
    }
    line
}

fn place<'c>(publication: &'c StoredPublication, line: &[&StoredRelation]) -> Option<Place<'c>> {
    let top = line.len() - 1;
    if publication.all_tables {
        return Some(Place {
            height: if publication.via_root { top } else { 0 },
            columns: None,
        });
    }
    let named = |height: &usize| publication.member(line[*height].oid).is_some();
    let highest = (0..=top).rev().find(named)?;
    let height = if publication.via_root { highest } else { 0 };
    let member = publication.member(line[height].oid);
    Some(Place {
        height,
        columns: member.and_then(|member| member.columns.as_deref()),
    })
}

fn view(catalog: &Catalog, table: &StoredRelation, named: &StoredRelation, place: &Place<'_>) -> PublishedAs {
    let schema = catalog.schemas.get(&Oid(named.schema));
    let columns = named.columns.iter().zip(0u16..).filter(|(column, at)| {
        let listed = place.columns.is_none_or(|list| list.contains(at));
        listed && !column.dropped && column.generated.is_none()
    });
    let columns = columns.filter_map(|(column, at)| {
        let here = |own: &&super::stored::StoredColumn| !own.dropped && own.name == column.name;
        let position = match place.height {
            0 => at,
            _ => table.columns.iter().position(|own| here(&own))? as u16,
        };
        Some(PublishedColumn {
            name: column.name.clone(),
            position,
            ty: Oid(column.type_oid),
            typmod: column.typmod,
            key: is_key(named, at),
            told_of_old: is_key(table, position),
        })
    });
    PublishedAs {
        oid: Oid(named.oid),
        schema: schema
            .map(|schema| schema.object.name.clone())
            .unwrap_or_default(),
        name: named.name.clone(),
        identity: match named.replica_identity {
            StoredReplicaIdentity::Default => b'd',
            StoredReplicaIdentity::Full => b'f',
            StoredReplicaIdentity::Nothing => b'n',
            StoredReplicaIdentity::Index(_) => b'i',
        },
        height: place.height as u32,
        publications: Vec::new(),
        columns: columns.collect(),
    }
}

/// The index by whose columns rows are found.
pub fn identity_index(stored: &StoredRelation) -> Option<&StoredIndex> {
    let mut valid = stored.indexes.iter().filter(|index| index.valid);
    match stored.replica_identity {
        StoredReplicaIdentity::Default => valid.find(|index| index.primary && !index.deferrable),
        StoredReplicaIdentity::Index(oid) => valid.find(|index| index.oid == oid),
        StoredReplicaIdentity::Full | StoredReplicaIdentity::Nothing => None,
    }
}

fn identity(stored: &StoredRelation) -> ReplicaIdentity {
    match (stored.replica_identity, identity_index(stored)) {
        (StoredReplicaIdentity::Full, _) => ReplicaIdentity::Full,
        (_, Some(index)) => ReplicaIdentity::Key(IndexId(index.index)),
        (_, None) => ReplicaIdentity::Nothing,
    }
}

fn is_key(stored: &StoredRelation, position: u16) -> bool {
    stored.replica_identity == StoredReplicaIdentity::Full
        || identity_index(stored)
            .is_some_and(|index| index.keys.iter().any(|key| key.column == Some(position)))
}

/// Whether a column list has all columns by which rows are found.
fn covers(named: &StoredRelation, list: Option<&[u16]>) -> bool {
    let Some(list) = list else { return true };
    match named.replica_identity {
        StoredReplicaIdentity::Full => false,
        _ => identity_index(named).is_none_or(|index| {
            index
                .keys
                .iter()
                .filter_map(|key| key.column)
                .all(|at| list.contains(&at))
        }),
    }
}
