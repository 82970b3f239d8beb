//! CREATE VIEW, and what happens to views when a relation they read is renamed.
//!
//! A view is the text of its query. Names in it are completed with their schemas when the view is made, so that it means
//! the same under every search_path; the relations it reads are noted, so that none of them is dropped under it.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::TableLockMode;
use mote_sql::ast::{
    Alias, CreateView, Name, ParsedStatement, Persistence, RelationReference, Statement, ViewCheckOption,
    deparse,
};
use mote_sql::catalog::CatalogView;
use mote_sql::plan::{OutputColumn, Plan};
use mote_types::oid;

use super::{internal, rewrite, schema};
use crate::catalog_store::stored::{StoredColumn, StoredKind, StoredObject, StoredRelation};
use crate::catalog_store::{RelationEntry, SessionCatalog, write};
use crate::context::StatementContext;
use crate::session::CommandTag;

const TAG: CommandTag = CommandTag::Word("CREATE VIEW");

pub(super) fn create(
    create: &CreateView,
    text: &str,
    context: &mut StatementContext<'_>,
) -> SqlResult<CommandTag> {
    refuse_unsupported(create)?;
    let (schema_oid, _) = schema::schema_for_creation(&create.name, context)?;
    schema::reserve_name(schema_oid, &create.name.name, context)?;
    let mut query = create.query.clone();
    let catalog = &context.session.catalog;
    rewrite::query(&mut query, &mut Qualify { catalog });
    let statement = ParsedStatement { statement: Statement::Query(create.query.clone()), range: 0..text.len() };
    let plan = internal::plan(&statement, text, context)?;
    let columns = columns_of(&plan.output, &create.columns)?;
    let depends_on = dependencies(&plan);
    let query_text = deparse::query(&query)?;
    let catalog = context.session.catalog.current();
    let existing = catalog.name(schema_oid, &create.name.name);
    let Some(existing) = existing else {
        let owner = context.session.user_oid.0;
        let mut view =
            schema::new_relation(schema_oid, &create.name.name, StoredKind::View, owner, columns, context);
        view.view_query = Some(query_text);
        view.depends_on = depends_on;
        write::put(StoredObject::Relation(view), context)?;
        return Ok(TAG);
    };
    if !create.or_replace {
        return Err(schema::already_exists(&create.name.name));
    }
    let not_a_view =
        || SqlError::new(state::WRONG_OBJECT_TYPE, format!("\"{}\" is not a view", create.name.name));
    let entry = catalog.relation(existing).ok_or_else(not_a_view)?;
    if entry.stored.kind != StoredKind::View {
        return Err(not_a_view());
    }
    schema::require_owner(&entry.stored, context)?;
    schema::lock_entry(entry, TableLockMode::AccessExclusive, context)?;
    check_replacement(&entry.stored.columns, &columns)?;
    if depends_on.contains(&existing.0) {
        return Err(SqlError::new(
            state::INVALID_OBJECT_DEFINITION,
            format!("infinite recursion detected in rules for relation \"{}\"", create.name.name),
        ));
    }
    let mut view = entry.stored.clone();
    view.columns = columns;
    view.view_query = Some(query_text);
    view.depends_on = depends_on;
    write::put(StoredObject::Relation(view), context)?;
    Ok(TAG)
}

fn refuse_unsupported(create: &CreateView) -> SqlResult<()> {
    if create.persistence == Persistence::Temporary {
        return Err(SqlError::unsupported("CREATE TEMPORARY VIEW"));
    }
    if create.check_option != ViewCheckOption::None {
        return Err(SqlError::unsupported("WITH CHECK OPTION"));
    }
    if !create.options.is_empty() {
        return Err(SqlError::unsupported("options of CREATE VIEW"));
    }
    Ok(())
}

/// Columns of a view or of CREATE TABLE AS: the query's, renamed as far as names are given.
pub(super) fn columns_of(output: &[OutputColumn], names: &[Name]) -> SqlResult<Vec<StoredColumn>> {
    let mut columns: Vec<StoredColumn> = Vec::with_capacity(output.len());
    for (position, column) in output.iter().enumerate() {
        let name = names.get(position).map_or(column.name.as_str(), |name| name);
        if columns.iter().any(|known| known.name == name) {
            return Err(SqlError::new(
                state::DUPLICATE_COLUMN,
                format!("column \"{name}\" specified more than once"),
            ));
        }
        let pseudo = column.ty.oid == oid::RECORD || column.ty.oid == oid::VOID;
        if pseudo {
            return Err(SqlError::new(
                state::INVALID_TABLE_DEFINITION,
                format!("column \"{name}\" has pseudo-type {}", column.ty.name()),
            ));
        }
        let ty = if column.ty.oid == oid::UNKNOWN { mote_types::ColumnType::new(oid::TEXT) } else { column.ty };
        columns.push(StoredColumn {
            name: name.to_string(),
            type_oid: ty.oid.0,
            typmod: ty.typmod,
            not_null: false,
            dropped: false,
            default: None,
            identity_always: None,
            generated: None,
            owned_sequence: None,
            comment: None,
        });
    }
    Ok(columns)
}

/// OR REPLACE may add columns at the end and change nothing else about them.
fn check_replacement(old: &[StoredColumn], new: &[StoredColumn]) -> SqlResult<()> {
    let invalid = |message: String| Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message));
    if new.len() < old.len() {
        return invalid("cannot drop columns from view".into());
    }
    for (old, new) in old.iter().zip(new) {
        if old.name != new.name {
            return invalid(format!(
                "cannot change name of view column \"{}\" to \"{}\"",
                old.name, new.name
            ))
            .map_err(|error: SqlError| {
                error.hint("Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.")
            });
        }
        if (old.type_oid, old.typmod) != (new.type_oid, new.typmod) {
            let name = |column: &StoredColumn| {
                mote_types::ColumnType::with_typmod(Oid(column.type_oid), column.typmod).name()
            };
            return invalid(format!(
                "cannot change data type of view column \"{}\" from {} to {}",
                old.name,
                name(old),
                name(new)
            ));
        }
    }
    Ok(())
}

fn dependencies(plan: &Plan) -> Vec<u32> {
    let users = plan.dependencies.iter().map(|dependency| dependency.object);
    users.filter(|object| *object >= Oid::FIRST_USER).map(|object| object.0).collect()
}

/// Completes names of relations with the schema they are found in.
struct Qualify<'a> {
    catalog: &'a SessionCatalog,
}

impl rewrite::Names for Qualify<'_> {
    fn relation(&mut self, reference: &mut RelationReference) {
        if reference.name.schema.is_none()
            && let Some(relation) = self.catalog.relation_by_name(None, &reference.name.name)
        {
            reference.name.schema = Some(relation.schema.as_str().into());
        }
    }
}

/// Gives a relation another name in a view's query; columns go on being named by the old one, as its alias.
struct RenameRelation<'a> {
    schema: &'a str,
    name: &'a str,
    new_schema: &'a str,
    new_name: &'a str,
}

impl rewrite::Names for RenameRelation<'_> {
    fn relation(&mut self, reference: &mut RelationReference) {
        if reference.name.schema.as_deref() != Some(self.schema) || *reference.name.name != *self.name {
            return;
        }
        reference.name.schema = Some(self.new_schema.into());
        reference.name.name = self.new_name.into();
        if reference.alias.is_none() && self.new_name != self.name {
            reference.alias = Some(Alias { name: self.name.into(), columns: Vec::new() });
        }
    }
}

/// Views that read the relation, directly or through other views.
pub(super) fn dependents(relation: Oid, context: &StatementContext<'_>) -> Vec<Arc<RelationEntry>> {
    let catalog = context.session.catalog.current();
    catalog.relations().filter(|entry| entry.stored.depends_on.contains(&relation.0)).cloned().collect()
}

/// A relation of any kind gets a new name or schema: the views that read it follow.
pub(super) fn follow_rename(
    relation: &StoredRelation,
    new_schema: &str,
    new_name: &str,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let catalog = context.session.catalog.current();
    let schema = catalog.schemas.get(&Oid(relation.schema)).map(|s| s.object.name.clone()).unwrap_or_default();
    for entry in dependents(Oid(relation.oid), context) {
        let Some(text) = &entry.stored.view_query else { continue };
        let parsed = internal::parse(text, context)?;
        let Statement::Query(mut query) = parsed.statement else { continue };
        let mut names = RenameRelation { schema: &schema, name: &relation.name, new_schema, new_name };
        rewrite::query(&mut query, &mut names);
        schema::lock_entry(&entry, TableLockMode::AccessExclusive, context)?;
        let view = StoredRelation { view_query: Some(deparse::query(&query)?), ..entry.stored.clone() };
        write::put(StoredObject::Relation(view), context)?;
    }
    Ok(())
}

/// Tables and views in a query, for whoever must refuse a change below a view.
pub(super) fn refuse_dependents(
    relation: &StoredRelation,
    what: &str,
    context: &StatementContext<'_>,
) -> SqlResult<()> {
    match dependents(Oid(relation.oid), context).first() {
        None => Ok(()),
        Some(view) => Err(SqlError::unsupported(format_args!(
            "{what} of \"{}\", which view \"{}\" reads,",
            relation.name, view.stored.name
        ))),
    }
}

