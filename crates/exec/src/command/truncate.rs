//! TRUNCATE: the table gets new, empty storage; the old one goes when the transaction commits.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult, TableId};
use mote_engine::TableLockMode;
use mote_sql::ast::{DropBehavior, Truncate};

use super::schema;
use crate::catalog_store::stored::{StoredConstraintKind, StoredObject, StoredRelation};
use crate::catalog_store::write;
use crate::context::StatementContext;
use crate::session::CommandTag;

pub(super) fn run(truncate: &Truncate, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    if truncate.behavior == DropBehavior::Cascade {
        return Err(SqlError::unsupported("TRUNCATE CASCADE"));
    }
    if truncate.restart_identity {
        return Err(SqlError::unsupported("TRUNCATE RESTART IDENTITY"));
    }
    let mut tables: Vec<StoredRelation> = Vec::new();
    for target in &truncate.tables {
        let table = schema::table_for_change(&target.name, TableLockMode::AccessExclusive, context)?
            .ok_or_else(|| schema::undefined_table(&target.name))?;
        if !tables.iter().any(|t| t.oid == table.oid) {
            tables.push(table);
        }
    }
    check_references(&tables, context)?;
    for mut table in tables {
        let old = TableId(table.table);
        let fresh = schema::engine_call(context, |transaction| transaction.truncate_table(old))?;
        table.table = fresh.table.0;
        for index in &mut table.indexes {
            let renamed = fresh.indexes.iter().find(|(from, _)| from.0 == index.index);
            let (_, to) = renamed.ok_or_else(|| SqlError::internal("an index was lost in TRUNCATE"))?;
            index.index = to.0;
        }
        write::put(StoredObject::Relation(table), context)?;
    }
    Ok(CommandTag::Word("TRUNCATE TABLE"))
}

/// A table that another one references may only be emptied together with it.
fn check_references(tables: &[StoredRelation], context: &StatementContext<'_>) -> SqlResult<()> {
    let catalog = context.session.catalog.current();
    for relation in catalog.relations() {
        if tables.iter().any(|t| t.oid == relation.stored.oid) {
            continue;
        }
        for constraint in &relation.stored.constraints {
            let StoredConstraintKind::ForeignKey(key) = &constraint.kind else { continue };
            if let Some(table) = tables.iter().find(|t| Oid(t.oid) == Oid(key.referenced)) {
                return Err(SqlError::new(
                    state::FEATURE_NOT_SUPPORTED,
                    "cannot truncate a table referenced in a foreign key constraint",
                )
                .detail(format!("Table \"{}\" references \"{}\".", relation.stored.name, table.name))
                .hint(format!(
                    "Truncate table \"{}\" at the same time, or use TRUNCATE ... CASCADE.",
                    relation.stored.name
                )));
            }
        }
    }
    Ok(())
}
