//! Comments: pg_description, pg_shdescription, and the look-ups of obj_description and its kin.

use mote_common::{Oid, SqlResult};
use mote_types::Datum;
use mote_types::catalog::user::number_of;

use crate::views::facts::{Facts, Known};
use crate::views::row::row;
use crate::views::rows::extensions;

const CLASS: Oid = Oid(1259);
const NAMESPACE: Oid = Oid(2615);
const DATABASE: Oid = Oid(1262);
const ROLE: Oid = Oid(1260);
const PROCEDURE: Oid = Oid(1255);
const TYPE: Oid = Oid(1247);
const LANGUAGE: Oid = Oid(2612);
const ACCESS_METHOD: Oid = Oid(2601);
const TRIGGER: Oid = Oid(2620);
const CONSTRAINT: Oid = Oid(2606);
const EXTENSION: Oid = Oid(3079);
const CAST: Oid = Oid(2605);
const PUBLICATION: Oid = Oid(6104);

/// Comments on built-in objects that clients show.
const BUILTIN: &[(Oid, Oid, &str)] = &[
    (NAMESPACE, Oid(11), "system catalog schema"),
    (LANGUAGE, Oid(12), "built-in functions"),
    (EXTENSION, Oid(13559), "PL/pgSQL procedural language"),
    (ACCESS_METHOD, Oid(2), "heap table access method"),
    (ACCESS_METHOD, Oid(403), "b-tree index access method"),
];

/// A comment: class of the object, its OID, its column (0 = the object itself), text.
struct Comment<'f> {
    class: Oid,
    object: Oid,
    column: i32,
    text: &'f str,
}

/// Of the object itself.
fn whole(class: Oid, object: u32, text: &Option<String>) -> Option<Comment<'_>> {
    let text = text.as_deref()?;
    Some(Comment {
        class,
        object: Oid(object),
        column: 0,
        text,
    })
}

fn comments<'f>(facts: &'f Facts<'_>) -> Vec<Comment<'f>> {
    let mut comments: Vec<Comment<'f>> = BUILTIN
        .iter()
        .map(|&(class, object, text)| Comment {
            class,
            object,
            column: 0,
            text,
        })
        .collect();
    let schemas = facts.schemas().into_iter();
    comments.extend(schemas.filter_map(|schema| whole(NAMESPACE, schema.oid, &schema.comment)));
    let extensions = extensions::of_database(facts).into_iter();
    comments.extend(extensions.filter_map(|made| whole(EXTENSION, made.oid, &made.comment)));
    let publications = facts.catalog.publications_of(facts.database()).into_iter();
    comments.extend(publications.filter_map(|made| whole(PUBLICATION, made.oid, &made.comment)));
    let casts = facts.catalog.casts_of(facts.database()).into_iter();
    comments.extend(casts.filter_map(|cast| whole(CAST, cast.oid, &cast.comment)));
    let routines = facts.routines().into_iter();
    comments.extend(routines.filter_map(|routine| whole(PROCEDURE, routine.oid.0, &routine.comment)));
    of_types(facts, &mut comments);
    for known in facts.relations() {
        of_relation(known, &mut comments);
    }
    comments
}

/// Comments on types of users, and on the checks of domains.
fn of_types<'f>(facts: &'f Facts<'_>, comments: &mut Vec<Comment<'f>>) {
    for entry in facts.user_types() {
        comments.extend(whole(TYPE, entry.stored.oid, &entry.stored.comment));
        // Those on attributes belong to the relation that a composite type has.
        let attributes = entry.stored.attributes.iter().flatten().zip(1..);
        comments.extend(attributes.filter_map(|(attribute, column)| {
            let text = attribute.comment.as_ref().filter(|_| !attribute.dropped)?;
            Some(Comment {
                class: CLASS,
                object: number_of(Oid(entry.stored.oid)),
                column,
                text,
            })
        }));
        let checks = entry.stored.domain.iter().flat_map(|domain| &domain.checks);
        comments.extend(checks.filter_map(|check| whole(CONSTRAINT, check.oid, &check.comment)));
    }
}

/// Comments on a relation, its columns, indexes, constraints and triggers.
fn of_relation<'f>(known: Known<'f>, comments: &mut Vec<Comment<'f>>) {
    let object = known.relation.oid;
    comments.extend(whole(CLASS, object.0, &known.stored.comment));
    let indexes = known.stored.indexes.iter();
    comments.extend(indexes.filter_map(|index| whole(CLASS, index.oid, &index.comment)));
    let constraints = known.stored.constraints.iter();
    comments.extend(constraints.filter_map(|made| whole(CONSTRAINT, made.oid, &made.comment)));
    let triggers = known.relation.triggers.iter();
    comments.extend(triggers.filter_map(|trigger| whole(TRIGGER, trigger.oid.0, &trigger.comment)));
    for (position, column) in known.stored.columns.iter().enumerate() {
        if let Some(text) = column.comment.as_ref().filter(|_| !column.dropped) {
            comments.push(Comment {
                class: CLASS,
                object,
                column: position as i32 + 1,
                text,
            });
        }
    }
}

/// Comments on objects that all databases share.
fn shared_comments<'f>(facts: &'f Facts<'_>) -> Vec<Comment<'f>> {
    let databases = facts.catalog.databases.values().map(|entry| &entry.object);
    let databases = databases.filter_map(|database| whole(DATABASE, database.oid, &database.comment));
    let roles = facts.catalog.roles.values().map(|entry| &entry.object);
    let roles = roles.filter_map(|role| whole(ROLE, role.oid, &role.comment));
    let mut comments: Vec<Comment<'f>> = databases.chain(roles).collect();
    comments.sort_by_key(|comment| comment.object);
    comments
}

pub fn description(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let rows = comments(facts);
    Ok(rows
        .iter()
        .map(|c| row![c.object, c.class, c.column, c.text])
        .collect())
}

pub fn shdescription(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let rows = shared_comments(facts);
    Ok(rows.iter().map(|c| row![c.object, c.class, c.text]).collect())
}

/// The comment on an object, its class given by the name of its catalog or, as in the old form of obj_description, not.
pub fn find(facts: &Facts<'_>, object: Oid, class: Option<&str>, column: i32) -> Option<String> {
    let class = match class {
        Some(name) => Some(crate::views::relation_by_name("pg_catalog", name)?.oid),
        None => None,
    };
    let fits = |c: &&Comment<'_>| {
        c.object == object && c.column == column && class.is_none_or(|class| class == c.class)
    };

    // Clients ask for all of their relations, one by one: looking through all comments, the time would grow with the square
    // of their number.
    let candidates = match class {
        Some(class @ (CLASS | CONSTRAINT | TRIGGER)) => {
            let mut candidates = Vec::new();
            match owner(facts, class, object) {
                Some(known) => of_relation(known, &mut candidates),
                None => of_types(facts, &mut candidates),
            }
            candidates
        }
        _ => comments(facts),
    };
    candidates
        .iter()
        .find(fits)
        .map(|comment| comment.text.to_string())
}

/// The relation of this database that an object is, or is a part of.
fn owner<'f>(facts: &'f Facts<'_>, class: Oid, object: Oid) -> Option<Known<'f>> {
    if class != CLASS {
        return facts.relation_with_part(object);
    }
    let known = facts.relation(facts.catalog.index_owner(object).unwrap_or(object))?;
    let schema = facts.catalog.schemas.get(&Oid(known.stored.schema))?;
    (schema.object.database == facts.database().0).then_some(known)
}

pub fn find_shared(facts: &Facts<'_>, object: Oid, class: &str) -> Option<String> {
    let class = crate::views::relation_by_name("pg_catalog", class)?.oid;
    let comments = shared_comments(facts);
    let found = comments
        .iter()
        .find(|comment| comment.object == object && comment.class == class);
    found.map(|comment| comment.text.to_string())
}
