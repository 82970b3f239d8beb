//! What happens to views when what they read gets another name, or loses a column that they do not read.
//!
//! A view's text goes on calling things as it did: a renamed relation gets its old name as an alias, a renamed column stands
//! under its old name in the alias's list of columns. Such a list counts columns from the first, so that one that is
//! dropped must leave it.

use mote_common::{Oid, SqlResult};
use mote_engine::TableLockMode;
use mote_grammar::ast::{Alias, Name, Query, RelationReference, Statement, deparse};
use mote_grammar::rewrite;

use super::{internal, schema, uses};
use mote_catalog::catalog_store::stored::{StoredObject, StoredRelation};
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

/// A relation of any kind gets a new name or schema.
pub(super) fn renamed(
    relation: &StoredRelation,
    new_schema: &str,
    new_name: &str,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let old_name: Name = relation.name.as_str().into();
    rewrite_readers(relation, context, &mut |reference| {
        reference.name.schema = Some(new_schema.into());
        reference.name.name = new_name.into();
        if reference.alias.is_none() && new_name != &*old_name {
            reference.alias = Some(Alias {
                name: old_name.clone(),
                columns: Vec::new(),
            });
        }
        true
    })
}

/// The column at `position` is about to get a new name.
pub(super) fn column_renamed(
    relation: &StoredRelation,
    position: usize,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let known: Vec<Name> = live_names(relation, position + 1);
    rewrite_readers(relation, context, &mut |reference| {
        let alias = reference.alias.get_or_insert_with(|| Alias {
            name: reference.name.name.clone(),
            columns: Vec::new(),
        });
        let missing = known.iter().skip(alias.columns.len());
        let before = alias.columns.len();
        alias.columns.extend(missing.cloned());
        alias.columns.len() > before
    })
}

/// The column at `position` is about to be dropped.
pub(super) fn column_dropped(
    relation: &StoredRelation,
    position: usize,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let place = live_names(relation, position).len();
    rewrite_readers(relation, context, &mut |reference| {
        let listed = reference.alias.as_mut().map(|alias| &mut alias.columns);
        match listed.filter(|columns| columns.len() > place) {
            Some(columns) => {
                columns.remove(place);
                true
            }
            None => false,
        }
    })
}

/// The columns in front of `end`, as the relation calls them.
fn live_names(relation: &StoredRelation, end: usize) -> Vec<Name> {
    let live = relation.columns[..end].iter().filter(|column| !column.dropped);
    live.map(|column| column.name.as_str().into()).collect()
}

/// Changes a reference to the relation; true if something is another now.
type Change<'a> = dyn FnMut(&mut RelationReference) -> bool + 'a;

/// The references to one relation in a query.
struct References<'a> {
    schema: &'a str,
    name: &'a str,
    change: &'a mut Change<'a>,
    changed: bool,
}

impl rewrite::Names for References<'_> {
    fn relation(&mut self, reference: &mut RelationReference) {
        if reference.name.schema.as_deref() == Some(self.schema) && *reference.name.name == *self.name {
            self.changed |= (self.change)(reference);
        }
    }
}

/// Changes the queries of the views that read the relation.
fn rewrite_readers<'a>(
    relation: &'a StoredRelation,
    context: &mut StatementContext<'_>,
    change: &'a mut Change<'a>,
) -> SqlResult<()> {
    let schema = schema::schema_name(relation, context);
    let mut references = References {
        schema: &schema,
        name: &relation.name,
        change,
        changed: false,
    };
    for entry in uses::views::dependents(Oid(relation.oid), context) {
        let Some(text) = &entry.stored.view_query else {
            continue;
        };
        let Statement::Query(mut query) = internal::parse(text, context)?.statement else {
            continue;
        };
        references.changed = false;
        rewrite::query(&mut query, &mut references);
        if references.changed {
            put(&query, Oid(entry.stored.oid), context)?;
        }
    }
    Ok(())
}

/// Gives a view another text for the same query.
fn put(query: &Query, view: Oid, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let Some(entry) = context.session.catalog.entry(view) else {
        return Ok(());
    };
    let Some(entry) = schema::lock_entry(&entry, TableLockMode::AccessExclusive, context)? else {
        return Ok(());
    };
    let view = StoredRelation {
        view_query: Some(deparse::query(query)?),
        ..entry.stored.clone()
    };
    write::put(StoredObject::Relation(view), context)
}
