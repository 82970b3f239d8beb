//! Extensions: those that a database has and those that it could have.

use mote_common::{Oid, SqlResult};
use mote_sql::access::AclItem;
use mote_sql::builtin::cast::casts;
use mote_sql::builtin::function::{AGGREGATES, FUNCTIONS};
use mote_sql::builtin::operator::OPERATORS;
use mote_types::Datum;
use mote_types::catalog::extension::{EXTENSION_TYPES, of_extension};

use crate::catalog_store::stored::StoredExtension;
use crate::extensions::{EXTENSIONS, Extension, find};
use crate::system_schemas::CATALOG_SCHEMA;
use crate::views::builtin::BOOTSTRAP_ROLE;
use crate::views::facts::Facts;
use crate::views::row::{NULL, row};
use crate::views::rows::acl::acl;
use crate::views::rows::types::classes;
use crate::views::text::default_acl;

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

/// What an extension has beside the objects that its script makes, each with its class: types, and what is built in over
/// them.
pub fn builtin_members(extension: &StoredExtension) -> impl Iterator<Item = (Oid, Oid)> {
    const TYPE: Oid = Oid(1247);
    const PROCEDURE: Oid = Oid(1255);
    const OPERATOR: Oid = Oid(2617);
    const CAST: Oid = Oid(2605);
    const CLASS: Oid = Oid(2616);
    const FAMILY: Oid = Oid(2753);
    let name = extension.name.clone();
    let own = move |types: &[Oid]| of_extension(types.iter().copied()).is_some_and(|ty| ty.extension == name);
    let mut members = Vec::new();
    if EXTENSION_TYPES.iter().all(|ty| ty.extension != extension.name) {
        return members.into_iter();
    }
    members.extend(
        EXTENSION_TYPES
            .iter()
            .filter(|ty| own(&[ty.oid]))
            .map(|ty| (TYPE, ty.oid)),
    );
    for function in FUNCTIONS {
        if own(&[function.arguments, &[function.result]].concat()) {
            members.push((PROCEDURE, function.oid));
        }
    }
    let aggregates = AGGREGATES.iter().filter(|aggregate| own(aggregate.arguments));
    members.extend(aggregates.map(|aggregate| (PROCEDURE, aggregate.oid)));
    let operators = OPERATORS.iter().filter(|known| own(&[known.left, known.right]));
    members.extend(operators.map(|known| (OPERATOR, known.oid)));
    let casts = casts().filter(|cast| own(&[cast.source, cast.target]));
    members.extend(casts.map(|cast| (CAST, cast.oid)));
    for (_, class) in classes().filter(|(_, class)| own(&[class.input])) {
        members.extend([(CLASS, class.oid), (FAMILY, class.family)]);
    }
    members.sort_unstable();
    members.dedup();
    members.into_iter()
}

/// Rows of pg_init_privs: the privileges that members have from their extension, which a dump leaves out.
pub fn initial_privileges(facts: &Facts<'_>) -> Vec<Vec<Datum>> {
    const CLASS: Oid = Oid(1259);
    const PROCEDURE: Oid = Oid(1255);
    let mut rows = Vec::new();
    for extension in of_database(facts) {
        let said = find(&extension.name).map_or(&[][..], |known| known.privileges);
        for member in extension.members.iter().map(|&member| Oid(member)) {
            let routine = facts.routine(member);
            let relation = facts.relation(member);
            let (class, kind, name, owner) = match (&routine, &relation) {
                (Some(routine), _) => (PROCEDURE, "f", &*routine.name, routine.owner),
                (_, Some(known)) => (CLASS, "r", &*known.relation.name, known.relation.owner),
                _ => continue,
            };
            let mut said = said.iter();
            if let Some((_, _, public)) = said.find(|said| (said.0, said.1) == (kind, name)) {
                rows.push(row![member, class, 0, 'e', granted(facts, kind, owner, *public)]);
            }
        }
    }
    rows
}

/// The owner's privileges, and what everybody has.
fn granted(facts: &Facts<'_>, kind: &str, owner: Oid, public: u32) -> Datum {
    let mut items = default_acl(kind, owner).unwrap_or_default();
    items.retain(|item| item.grantee != Oid::INVALID);
    items.extend((public != 0).then_some(AclItem {
        grantee: Oid::INVALID,
        grantor: owner,
        privileges: public,
        grant_options: 0,
    }));
    acl(facts, &items)
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
