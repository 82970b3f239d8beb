//! Extensions: those that a database has and those that it could have.

use mote_common::{Oid, SqlResult};
use mote_types::Datum;

use crate::catalog_store::stored::StoredExtension;
use crate::extensions::{EXTENSIONS, Extension};
use crate::system_schemas::CATALOG_SCHEMA;
use crate::views::builtin::BOOTSTRAP_ROLE;
use crate::views::facts::Facts;
use crate::views::row::{NULL, row};

pub fn of_database<'f>(facts: &'f Facts<'_>) -> Vec<&'f StoredExtension> {
    let all = facts.catalog.extensions.values().map(|entry| &entry.object);
    let mut all: Vec<_> = all
        .filter(|extension| Oid(extension.database) == facts.database())
        .collect();
    all.sort_by_key(|extension| extension.oid);
    all
}

pub fn installed(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let builtin = EXTENSIONS.iter().filter_map(|known| {
        let schema = CATALOG_SCHEMA;
        let oid = known.builtin?;
        Some(row![
            oid,
            known.name,
            BOOTSTRAP_ROLE,
            schema,
            known.relocatable,
            known.version,
            NULL,
            NULL
        ])
    });
    let mut rows: Vec<Vec<Datum>> = builtin.collect();
    for extension in of_database(facts) {
        rows.push(row![
            Oid(extension.oid),
            &extension.name,
            Oid(extension.owner),
            Oid(extension.schema),
            true,
            &extension.version,
            NULL,
            NULL
        ]);
    }
    Ok(rows)
}

/// The version that the database has, if it has the extension.
fn installed_version<'f>(facts: &'f Facts<'_>, known: &'f Extension) -> Option<&'f str> {
    let stored = of_database(facts)
        .into_iter()
        .find(|extension| extension.name == known.name);
    let builtin = known.builtin.map(|_| known.version);
    stored.map(|extension| extension.version.as_str()).or(builtin)
}

pub fn available(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let row = |known: &Extension| {
        row![
            known.name,
            known.version,
            installed_version(facts, known),
            known.comment
        ]
    };
    Ok(EXTENSIONS.iter().map(row).collect())
}

pub fn versions(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let row = |known: &Extension| {
        row![
            known.name,
            known.version,
            installed_version(facts, known).is_some(),
            true,
            known.trusted,
            known.relocatable,
            known.builtin.map(|_| "pg_catalog"),
            NULL,
            known.comment
        ]
    };
    Ok(EXTENSIONS.iter().map(row).collect())
}
