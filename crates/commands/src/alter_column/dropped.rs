//! DROP COLUMN, and who depends on a column.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{IndexId, Oid, SqlError, SqlResult};
use mote_engine::TableLockMode;
use mote_grammar::ast::DropBehavior;
use mote_sql::{RelationExpression, bind_expression_over_relation};

use crate::{
    cascade, columns, dropping, internal, publication, schema, sequence, trigger, uses, view_follow,
};
use mote_catalog::catalog_store::RelationEntry;
use mote_catalog::catalog_store::stored::{
    StoredColumn, StoredConstraintKind, StoredIndex, StoredInheritance, StoredKind, StoredObject,
    StoredRelation,
};
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

/// DROP COLUMN of one table. Whoever depends on the column goes with CASCADE, or keeps it: views, triggers, generated
/// columns, foreign keys that rest on an index of it. Indexes, checks and foreign keys of the table itself go in any
/// case.
pub(crate) fn drop_column(
    name: &str,
    if_exists: bool,
    behavior: DropBehavior,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let position = match columns::existing(table, name) {
        Ok(position) => position as u16,
        Err(error) if if_exists => {
            schema::notice(
                state::SUCCESSFUL_COMPLETION,
                format!("{}, skipping", error.message()),
                context,
            );
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let subject = format!("column {name} of {}", dropping::described(table, context));
    let users = ColumnUsers::find(table, position, context)?;
    let named = users.named(table, context).into_iter();
    let descriptions: Vec<(String, String)> = named.map(|what| (what, subject.clone())).collect();
    if !descriptions.is_empty() && behavior == DropBehavior::Restrict {
        return Err(dropping::refused(&subject, &descriptions));
    }
    dropping::cascade_notice(&descriptions, context);
    if !users.listing.is_empty() {
        publication::forget_lists(position, table.oid, context)?;
    }
    // From what depends to what it depends on: views first, then indexes with the keys that rest on them.
    for view in &users.views {
        cascade::relations::remove_view(Oid(view.oid), context)?;
    }
    for index in users.indexes {
        dropping::drop_foreign_keys_to(index, table, context)?;
        remove_index(index, table, context)?;
    }
    drop_constraints_on(position, table, context)?;
    table
        .triggers
        .retain(|trigger| !users.triggers.contains(&trigger.name));
    for column in users.generated.into_iter().chain([position]) {
        // A serial's or identity's sequence belongs to the column.
        if let Some(sequence) = table.columns[column as usize].owned_sequence
            && let Some(entry) = context.session.catalog.entry(Oid(sequence))
            && let Some(entry) = schema::lock_entry(&entry, TableLockMode::AccessExclusive, context)?
        {
            sequence::remove(&entry.stored, context)?;
        }
        forget(&mut table.columns[column as usize], column);
    }
    Ok(())
}

/// Who depends on a column.
struct ColumnUsers {
    /// Generated columns of the same table.
    generated: Vec<u16>,
    views: Vec<StoredRelation>,
    /// Publications that list it, in words.
    listing: Vec<String>,
    /// Names of triggers.
    triggers: Vec<String>,
    /// OIDs of indexes.
    indexes: Vec<u32>,
}

impl ColumnUsers {
    /// Asked while the column is there: the expressions would not bind without it.
    fn find(
        table: &StoredRelation,
        position: u16,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<ColumnUsers> {
        let generated = generated_from(table, position, context)?;
        // An index goes with any of its columns, those included and those of expressions among them.
        let uses_it = |index: &&StoredIndex| {
            let is_key = index.keys.iter().any(|key| key.column == Some(position));
            is_key || index.include.contains(&position) || index.bound.reads(position)
        };
        let indexes = table
            .indexes
            .iter()
            .filter(uses_it)
            .map(|index| index.oid)
            .collect();
        // Lists of column names in views count from the first column: the dropped one must leave them.
        view_follow::column_dropped(table, position as usize, context)?;
        Ok(ColumnUsers {
            generated,
            views: views_reading(table, position, context)?,
            listing: publication::listing(position, table, context),
            triggers: trigger::reading(table, position, context)?,
            indexes,
        })
    }

    /// All that goes with the column only under CASCADE, in words.
    fn named(&self, table: &StoredRelation, context: &StatementContext<'_>) -> Vec<String> {
        let of = dropping::described(table, context);
        let column = |other: &u16| format!("column {} of {of}", table.columns[*other as usize].name);
        let mut named: Vec<String> = self.generated.iter().map(column).collect();
        named.extend(self.views.iter().map(|view| dropping::described(view, context)));
        named.extend(self.listing.iter().cloned());
        named.extend(self.triggers.iter().map(|name| format!("trigger {name} on {of}")));
        for &index in &self.indexes {
            let keys = dropping::foreign_keys_to(index, table, context).into_iter();
            named.extend(keys.map(|(entry, key)| {
                format!(
                    "constraint {key} on {}",
                    dropping::described(&entry.stored, context)
                )
            }));
        }
        named
    }
}

/// What remains of a dropped column: its place and its storage.
fn forget(column: &mut StoredColumn, position: u16) {
    *column = StoredColumn {
        // The name PostgreSQL gives to dropped columns: no identifier that anybody would write.
        name: format!("........pg.dropped.{}........", position + 1),
        // The type stays: rows that exist hold values of it.
        type_oid: column.type_oid,
        typmod: column.typmod,
        domain: None,
        not_null: false,
        dropped: true,
        default: None,
        identity_always: None,
        generated: None,
        owned_sequence: None,
        comment: None,
        inheritance: StoredInheritance::default(),
        statistics_target: None,
        storage: None,
    };
}

/// Removes an index, and the key constraint that it serves.
fn remove_index(index: u32, table: &mut StoredRelation, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let Some(at) = table.indexes.iter().position(|stored| stored.oid == index) else {
        return Ok(());
    };
    let removed = table.indexes.remove(at);
    context.engine_call(|transaction| transaction.drop_index(IndexId(removed.index)))?;
    table.constraints.retain(|constraint| {
        !matches!(constraint.kind, StoredConstraintKind::PrimaryKey { index: own } | StoredConstraintKind::Unique { index: own } if own == index)
    });
    Ok(())
}

/// CHECK constraints and foreign keys that the column takes part in go with it.
fn drop_constraints_on(
    position: u16,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let mut kept = Vec::with_capacity(table.constraints.len());
    for constraint in std::mem::take(&mut table.constraints) {
        let concerned = match &constraint.kind {
            StoredConstraintKind::Check { expression } => {
                columns_of_text(expression, RelationExpression::Check, table, context)?.contains(&position)
            }
            StoredConstraintKind::ForeignKey(key) => key.columns.contains(&position),
            _ => false,
        };
        if !concerned {
            kept.push(constraint);
        }
    }
    table.constraints = kept;
    Ok(())
}

/// Columns that a stored expression of the table reads. The table is in the catalog as it was before the statement.
fn columns_of_text(
    text: &str,
    purpose: RelationExpression,
    table: &StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<Vec<u16>> {
    let relation = context
        .relation(Oid(table.oid))
        .ok_or_else(|| SqlError::internal("a table is in the catalog"))?;
    let bound = internal::on_large_stack(context, |session| {
        bind_expression_over_relation(text, &relation, purpose, None, &session.catalog)
    })?;
    Ok(columns::columns_of(&bound))
}

/// Generated columns that are computed from the column.
pub(crate) fn generated_from(
    table: &StoredRelation,
    position: u16,
    context: &mut StatementContext<'_>,
) -> SqlResult<Vec<u16>> {
    let mut found = Vec::new();
    for (other, column) in table.columns.iter().enumerate() {
        if let Some(text) = &column.generated
            && columns_of_text(text, RelationExpression::Generated, table, context)?.contains(&position)
        {
            found.push(other as u16);
        }
    }
    Ok(found)
}

/// Views that cannot do without the column: their query does not bind any more once it is gone.
pub(crate) fn views_reading(
    table: &StoredRelation,
    position: u16,
    context: &mut StatementContext<'_>,
) -> SqlResult<Vec<StoredRelation>> {
    let dependents = uses::views::dependents(Oid(table.oid), context);
    if dependents.is_empty() {
        return Ok(Vec::new());
    }
    // The only sure answer: the table without the column is put into the transaction's catalog for a moment, and each
    // dependent is planned.
    let mut without = table.clone();
    forget(&mut without.columns[position as usize], position);
    write::put(StoredObject::Relation(without), context)?;
    let mut reading = Vec::new();
    for entry in &dependents {
        // What a materialized view holds can be read as long as it stands: its query tells.
        let text = match (entry.stored.kind, &entry.stored.view_query) {
            (StoredKind::MaterializedView, Some(query)) => query.clone(),
            _ => format!("SELECT * FROM {}", schema::qualified_name(&entry.stored, context)),
        };
        let statement = internal::parse(&text, context)?;
        if internal::plan(&statement, &text, context).is_err() {
            reading.push(entry.stored.clone());
        }
    }
    // Back to the table as it is, before anything is decided.
    write::put(StoredObject::Relation(table.clone()), context)?;
    add_readers_of_materialized(&mut reading, &dependents);
    Ok(reading)
}

/// What reads a materialized view among `reading` binds without the column and goes with the view all the same.
fn add_readers_of_materialized(reading: &mut Vec<StoredRelation>, dependents: &[Arc<RelationEntry>]) {
    let mut next = 0;
    while let Some(view) = reading.get(next).cloned() {
        next += 1;
        if view.kind != StoredKind::MaterializedView {
            continue;
        }
        let mut place = next;
        for entry in dependents {
            let known = reading.iter().any(|known| known.oid == entry.stored.oid);
            if !known && entry.stored.depends_on.contains(&view.oid) {
                reading.insert(place, entry.stored.clone());
                place += 1;
            }
        }
    }
}
