//! Relations that move into another schema, with the texts that name them.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};

use crate::{schema, sequence, view_follow};
use mote_catalog::catalog_store::stored::{StoredKind, StoredObject, StoredRelation};
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

/// Defaults name their sequences: those that name this one are written anew. Until now it had the name `old_name`, and
/// was written as `old`.
pub(super) fn refresh_defaults(
    relation: &StoredRelation,
    old_name: &str,
    old: &str,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let new = sequence::constant(relation, context);
    // By the text of the constant, with its quotes: a column of that name is none.
    let names_it = |text: &Option<String>| text.as_deref().is_some_and(|text| text.contains(old));
    let catalog = context.session.catalog.current();
    let naming = catalog.naming(old_name);
    let tables: Vec<StoredRelation> = naming
        .iter()
        .filter_map(|&oid| catalog.relation(oid))
        .filter(|entry| {
            let mut columns = entry.stored.columns.iter();
            columns.any(|column| names_it(&column.default))
                && schema::is_in_this_database(entry.stored.schema, context)
        })
        .map(|entry| entry.stored.clone())
        .collect();
    for mut table in tables {
        for column in table
            .columns
            .iter_mut()
            .filter(|column| names_it(&column.default))
        {
            column.default = column.default.as_ref().map(|text| text.replace(old, &new));
        }
        write::put(StoredObject::Relation(table), context)?;
    }
    Ok(())
}

/// Moves one relation, with its indexes, into a schema that is kept.
pub(crate) fn move_to(
    mut relation: StoredRelation,
    schema_oid: Oid,
    schema_name: &str,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let names: Vec<String> = relation
        .indexes
        .iter()
        .map(|index| index.name.clone())
        .chain([relation.name.clone()])
        .collect();
    // Index names live in the schema as well: all must be free.
    for name in &names {
        schema::reserve_name(schema_oid, name, context)?;
        if schema::relation_exists(schema_oid, name, context) {
            return Err(SqlError::new(
                state::DUPLICATE_TABLE,
                format!("relation \"{name}\" already exists in schema \"{schema_name}\""),
            ));
        }
    }
    let old = sequence::constant(&relation, context);
    view_follow::renamed(&relation, schema_name, &relation.name, context)?;
    relation.schema = schema_oid.0;
    write::put(StoredObject::Relation(relation.clone()), context)?;
    if relation.kind == StoredKind::Sequence {
        refresh_defaults(&relation, &relation.name, &old, context)?;
    }
    Ok(())
}
