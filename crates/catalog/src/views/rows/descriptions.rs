//! Comments: pg_description, pg_shdescription, and the look-ups of obj_description and its kin.

use mote_common::{Oid, SqlResult};
use mote_types::Datum;

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
    for schema in facts.schemas() {
        if let Some(text) = &schema.comment {
            comments.push(Comment {
                class: NAMESPACE,
                object: Oid(schema.oid),
                column: 0,
                text,
            });
        }
    }
    for extension in extensions::of_database(facts) {
        if let Some(text) = &extension.comment {
            comments.push(Comment {
                class: EXTENSION,
                object: Oid(extension.oid),
                column: 0,
                text,
            });
        }
    }
    for publication in facts.catalog.publications_of(facts.database()) {
        if let Some(text) = &publication.comment {
            comments.push(Comment {
                class: PUBLICATION,
                object: Oid(publication.oid),
                column: 0,
                text,
            });
        }
    }
    for cast in facts.catalog.casts_of(facts.database()) {
        if let Some(text) = &cast.comment {
            comments.push(Comment {
                class: CAST,
                object: Oid(cast.oid),
                column: 0,
                text,
            });
        }
    }
    for routine in facts.routines() {
        if let Some(text) = &routine.comment {
            comments.push(Comment {
                class: PROCEDURE,
                object: routine.oid,
                column: 0,
                text,
            });
        }
    }
    for entry in facts.user_types() {
        if let Some(text) = &entry.stored.comment {
            comments.push(Comment {
                class: TYPE,
                object: Oid(entry.stored.oid),
                column: 0,
                text,
            });
        }
    }
    for known in facts.relations() {
        of_relation(known, &mut comments);
    }
    comments
}

/// Comments on a relation, its columns, indexes, constraints and triggers.
fn of_relation<'f>(known: Known<'f>, comments: &mut Vec<Comment<'f>>) {
    let object = known.relation.oid;
    if let Some(text) = &known.stored.comment {
        comments.push(Comment {
            class: CLASS,
            object,
            column: 0,
            text,
        });
    }
    let indexes = known.stored.indexes.iter();
    let indexes = indexes.map(|index| (CLASS, index.oid, &index.comment));
    let constraints = known.stored.constraints.iter();
    let constraints = constraints.map(|constraint| (CONSTRAINT, constraint.oid, &constraint.comment));
    comments.extend(indexes.chain(constraints).filter_map(|(class, oid, text)| {
        Some(Comment {
            class,
            object: Oid(oid),
            column: 0,
            text: text.as_deref()?,
        })
    }));
    for trigger in &known.relation.triggers {
        if let Some(text) = &trigger.comment {
            comments.push(Comment {
                class: TRIGGER,
                object: trigger.oid,
                column: 0,
                text,
            });
        }
    }
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
    let databases = databases.map(|database| (DATABASE, database.oid, &database.comment));
    let roles = facts.catalog.roles.values().map(|entry| &entry.object);
    let roles = roles.map(|role| (ROLE, role.oid, &role.comment));
    let mut comments: Vec<Comment<'f>> = databases
        .chain(roles)
        .filter_map(|(class, oid, text)| {
            Some(Comment {
                class,
                object: Oid(oid),
                column: 0,
                text: text.as_deref()?,
            })
        })
        .collect();
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
            if let Some(known) = owner(facts, class, object) {
                of_relation(known, &mut candidates);
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
