//! What every DROP shares: names and words of messages, and changes of relations that lose a part.
//!
//! Leaves out: finding dependents (`uses`), taking them away (`cascade`), the statements (`drop`).

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::TableLockMode;
use mote_grammar::ast::{ObjectKind, QualifiedName, deparse};
use mote_sql::catalog::CatalogView;

use crate::schema;
use mote_catalog::catalog_store::RelationEntry;
use mote_catalog::catalog_store::stored::{StoredConstraintKind, StoredObject, StoredRelation};
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

/// What PostgreSQL calls the objects of a DROP that names more than one.
pub(crate) const SEVERAL: &str = "desired object(s)";

/// The tag, and the name in errors.
pub(crate) fn command_name(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Table => "DROP TABLE",
        ObjectKind::View => "DROP VIEW",
        ObjectKind::MaterializedView => "DROP MATERIALIZED VIEW",
        ObjectKind::Index => "DROP INDEX",
        ObjectKind::Schema => "DROP SCHEMA",
        ObjectKind::Sequence => "DROP SEQUENCE",
        ObjectKind::Function => "DROP FUNCTION",
        ObjectKind::Procedure => "DROP PROCEDURE",
        ObjectKind::Routine => "DROP ROUTINE",
        ObjectKind::Trigger => "DROP TRIGGER",
        ObjectKind::Type => "DROP TYPE",
        ObjectKind::Domain => "DROP DOMAIN",
        ObjectKind::Extension => "DROP EXTENSION",
        ObjectKind::Publication => "DROP PUBLICATION",
        ObjectKind::Cast => "DROP CAST",
        _ => "DROP",
    }
}

/// `table t`, as PostgreSQL names a relation in messages about dependencies: with its schema where the search path does
/// not lead to it.
pub(crate) fn described(relation: &StoredRelation, context: &StatementContext<'_>) -> String {
    let visible = context.session.catalog.relation_by_name(None, &relation.name);
    let name = if visible.is_some_and(|found| found.oid.0 == relation.oid) {
        deparse::identifier(&relation.name)
    } else {
        schema::qualified_name(relation, context)
    };
    format!("{} {name}", relation.kind.word())
}

/// Changes a relation as it is by now: it may have been changed a moment ago.
pub(crate) fn change(
    entry: &RelationEntry,
    context: &mut StatementContext<'_>,
    work: impl FnOnce(&mut StoredRelation),
) -> SqlResult<()> {
    let Some(current) = context.session.catalog.entry(Oid(entry.stored.oid)) else {
        return Ok(());
    };
    let mut relation = current.stored.clone();
    work(&mut relation);
    write::put(StoredObject::Relation(relation), context)
}

/// 2BP01 with one line per dependent.
#[cold]
pub(crate) fn refused(subject: &str, descriptions: &[(String, String)]) -> SqlError {
    let lines: Vec<String> = descriptions
        .iter()
        .map(|(what, on)| format!("{what} depends on {on}"))
        .collect();
    let them = if subject == SEVERAL { "them" } else { "it" };
    SqlError::new(
        state::DEPENDENT_OBJECTS_STILL_EXIST,
        format!("cannot drop {subject} because other objects depend on {them}"),
    )
    .detail(lines.join("\n"))
    .hint("Use DROP ... CASCADE to drop the dependent objects too.")
}

/// The NOTICE of CASCADE: one line, or a count with the lines as its detail.
pub(crate) fn cascade_notice(descriptions: &[(String, String)], context: &mut StatementContext<'_>) {
    let lines: Vec<String> = descriptions
        .iter()
        .map(|(what, _)| format!("drop cascades to {what}"))
        .collect();
    match lines.len() {
        0 => {}
        1 => schema::notice(state::SUCCESSFUL_COMPLETION, lines[0].clone(), context),
        count => {
            let notice = SqlError::new(
                state::SUCCESSFUL_COMPLETION,
                format!("drop cascades to {count} other objects"),
            );
            schema::send_notice(notice.detail(lines.join("\n")), context);
        }
    }
}

/// Foreign keys that an index of `target` serves: (table, name of the constraint). The table's own are not among them.
pub(crate) fn foreign_keys_to(
    index: u32,
    target: &StoredRelation,
    context: &StatementContext<'_>,
) -> Vec<(Arc<RelationEntry>, String)> {
    let catalog = context.session.catalog.current();
    let mut found = Vec::new();
    let users = catalog.relations_using(Oid(index));
    for entry in users.filter(|entry| entry.stored.oid != target.oid) {
        for constraint in &entry.stored.constraints {
            if matches!(&constraint.kind, StoredConstraintKind::ForeignKey(key) if key.referenced_index == index)
            {
                found.push((entry.clone(), constraint.name.clone()));
            }
        }
    }
    // An order that does not depend on how the catalog finds them.
    found.sort_by(|a, b| (a.0.stored.oid, &a.1).cmp(&(b.0.stored.oid, &b.1)));
    found
}

/// Drops the foreign keys that an index of `target` serves, the table's own included.
pub(crate) fn drop_foreign_keys_to(
    index: u32,
    target: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    for (entry, name) in foreign_keys_to(index, target, context) {
        schema::lock_entry(&entry, TableLockMode::AccessExclusive, context)?;
        change(&entry, context, |relation| {
            relation.constraints.retain(|c| c.name != name)
        })?;
    }
    target.constraints.retain(
        |c| !matches!(&c.kind, StoredConstraintKind::ForeignKey(key) if key.referenced_index == index),
    );
    Ok(())
}

/// (table, index) for the name of an index.
pub(crate) fn find_index(name: &QualifiedName, context: &StatementContext<'_>) -> Option<(Oid, Oid)> {
    let catalog = context.session.catalog.current();
    let schemas = match name.qualifier() {
        Some(schema) => vec![schema.to_string()],
        None => context.session.catalog.search_path(),
    };
    schemas.iter().find_map(|schema| {
        let schema = context.session.catalog.schema_oid(schema)?;
        let oid = catalog.name(schema, name.last())?;
        Some((catalog.index_owner(oid)?, oid))
    })
}
