//! Objects put into the catalog and taken out of it, in a statement's transaction and in its session's view.

use mote_common::error::state;
use mote_common::{Oid, RowId, SqlError, SqlResult};
use mote_engine::{
    AdvisoryMode, RowLockStrength, RowVersion, RowWriter, Transaction, WaitPolicy, WriteError,
};
use mote_grammar::lexer::{Lexer, TokenKind};
use mote_sql::catalog::CatalogView;
use mote_types::ColumnType;
use mote_types::catalog::extension::is_extension_type;
use mote_types::catalog::user::{is_composite, is_user_type, number_of};

use super::object_locks::lock_type;
use crate::context::StatementContext;
use mote_catalog::catalog_store::rows::{catalog_table, insert};
use mote_catalog::catalog_store::statistics::statistics_oid;
use mote_catalog::catalog_store::stored::StoredObject;
use mote_catalog::catalog_store::{NO_ROW, PG_TEMP};
use mote_catalog::privileges;

/// Inserts or replaces an object in the statement's transaction and in the session's view.
pub fn put(mut object: StoredObject, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let oid = object.oid();
    let depth = context.session.savepoint_depth;
    // First, so that a type which is being dropped makes the statement wait before anything is written.
    hold_types(&object, context)?;
    if is_temporary(&object, context) {
        // Temporary objects live in the session's view alone; a crash leaves nothing of them.
        return context.session.catalog.record(oid, Some((object, NO_ROW)), depth);
    }
    refuse_temporary_schema(oid, context)?;
    crate::catalog_change::write::refuse_permanent_dependent(&object, context)?;
    let table = catalog_table(context.database.engine())?;
    let existing = row_of(oid, context);
    let row = match existing {
        None => context.engine_call(|transaction| insert(transaction, &table, &object))?,
        Some(row) => {
            let known = known(oid, context);
            let own = context.session.catalog.has_changed(oid);
            if known
                .as_ref()
                // The caller read the object earlier; another transaction's change that committed since would be
                // undone.
                .is_some_and(|known| !own && known.revision() != object.revision())
            {
                return Err(concurrently("updated"));
            }
            let known = known.map(|known| known.encode());
            // A revision of its own, so that who compares revisions sees this change.
            object.renew();
            let outcome = context
                .engine_call(|transaction| replace(transaction, &table, row, &object, known.as_deref()))?;
            match outcome {
                Replaced::Done => row,
                Replaced::Gone => return Err(gone(&object)),
                Replaced::ChangedMeanwhile => return Err(concurrently("updated")),
            }
        }
    };
    // The view only after the row: on an error the session still sees what is stored.
    context.session.catalog.record(oid, Some((object, row)), depth)
}

/// Waits until nobody else is changing an object, and keeps others from it: what is read of it now stands.
pub fn hold(oid: Oid, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let Some(row) = row_of(oid, context).filter(|&row| row != NO_ROW) else {
        return Ok(());
    };
    let table = catalog_table(context.database.engine())?;
    context.engine_call(|transaction| {
        transaction.lock_row(&table, row, None, RowLockStrength::Update, WaitPolicy::Block)?;
        Ok(())
    })
}

/// Nobody drops a type while there is about to be something of it, and who makes that must be allowed to use the type. Of
/// what an object is made already nothing is asked.
fn hold_types(object: &StoredObject, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let types = types_of(object);
    if types.is_empty() {
        return Ok(());
    }
    let before = known(object.oid(), context).map_or(Vec::new(), |known| types_of(&known));
    for ty in types {
        lock_type(ty, AdvisoryMode::Shared, context)?;
        // Looked at behind the lock: whoever held it exclusively may have dropped the type.
        let catalog = &context.session.catalog;
        let is_row = is_composite(ty) && catalog.relation(number_of(ty)).is_some();
        // Types of extensions have no entry of their own, and everybody may use them.
        let is_extended = is_extension_type(ty) && CatalogView::user_type(catalog, ty).is_some();
        match catalog.current().user_type(ty) {
            Some(entry) if !before.contains(&ty) => {
                privileges::require_type(catalog, &entry.stored)?;
            }
            None if !is_row && !is_extended => {
                let message = format!("type with OID {ty} does not exist");
                return Err(SqlError::new(state::UNDEFINED_OBJECT, message));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The types of users that an object is made of; instead of arrays their elements.
fn types_of(object: &StoredObject) -> Vec<Oid> {
    let types: Vec<u32> = match object {
        StoredObject::Relation(relation) => {
            let columns = relation.columns.iter().filter(|column| !column.dropped);
            columns
                .flat_map(|column| [Some(column.type_oid), column.domain])
                .flatten()
                .collect()
        }
        StoredObject::Routine(routine) => {
            let arguments = routine.arguments.iter().map(|argument| argument.ty.oid);
            arguments.chain([routine.result.oid]).collect()
        }
        StoredObject::Type(ty) => {
            let domain = ty.domain.as_ref();
            let domain = domain.map_or(Vec::new(), |domain| vec![domain.type_oid, domain.of]);
            let attributes = ty.live_attributes().map(|(_, attribute)| attribute.type_oid);
            let subtype = ty.range.as_ref().map(|range| range.subtype);
            domain.into_iter().chain(attributes).chain(subtype).collect()
        }
        StoredObject::Cast(cast) => vec![cast.source, cast.target],
        _ => Vec::new(),
    };
    let types = types.into_iter().map(Oid).filter(|ty| is_user_type(*ty));
    types
        .map(|ty| ColumnType::new(ty).element().map_or(ty, |element| element.oid))
        .collect()
}

/// Of the session alone: no row holds it.
fn is_temporary(object: &StoredObject, context: &StatementContext<'_>) -> bool {
    match object {
        StoredObject::Relation(relation) => relation.temporary,
        StoredObject::Statistics(statistics) => {
            let table = context.session.catalog.entry(Oid(statistics.table));
            table.is_some_and(|table| table.stored.temporary)
        }
        StoredObject::Routine(routine) => {
            let catalog = &context.session.catalog;
            catalog.is_temporary_schema(Oid(routine.schema))
        }
        _ => false,
    }
}

/// Deletes an object, and what is known of its columns if it is a table.
pub fn remove(oid: Oid, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let depth = context.session.savepoint_depth;
    let entry = context.session.catalog.entry(oid);
    let is_temporary = entry.as_ref().is_some_and(|entry| entry.stored.temporary);
    if is_temporary || context.session.catalog.is_temporary_routine(oid) {
        return context.session.catalog.record(oid, None, depth);
    }
    if entry.is_some() && context.session.catalog.current().statistics_of(oid).is_some() {
        remove(statistics_oid(oid), context)?;
    }
    refuse_temporary_schema(oid, context)?;
    let table = catalog_table(context.database.engine())?;
    match row_of(oid, context) {
        Some(row) => remove_row(oid, row, &table, context)?,
        // Dropped by this very transaction.
        None if context.session.catalog.has_changed(oid) => {}
        None => return Err(concurrently("deleted")),
    }
    context.session.catalog.record(oid, None, depth)
}

fn remove_row(
    oid: Oid,
    row: RowId,
    table: &mote_engine::Table,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let known = known(oid, context).map(|known| known.encode());
    let outcome = context.engine_call(|transaction| {
        // The statement may have written the object before.
        transaction.advance_command();
        let locked = transaction.lock_row(table, row, None, RowLockStrength::Update, WaitPolicy::Block)?;
        let Some(newest) = locked.newest else {
            return Ok(Replaced::Gone);
        };
        if !stands(table, &newest, known.as_deref()) {
            return Ok(Replaced::ChangedMeanwhile);
        }
        transaction.delete(table, &newest)?;
        Ok(Replaced::Done)
    })?;
    match outcome {
        Replaced::Done => Ok(()),
        Replaced::Gone => Err(concurrently("deleted")),
        Replaced::ChangedMeanwhile => Err(concurrently("updated")),
    }
}

/// The temporary schema comes and goes with its session.
fn refuse_temporary_schema(oid: Oid, context: &StatementContext<'_>) -> SqlResult<()> {
    match context.session.catalog.is_temporary_schema(oid) {
        true => Err(SqlError::unsupported("a change of a temporary schema")),
        false => Ok(()),
    }
}

/// How the replacement of an object ended.
enum Replaced {
    Done,
    /// Another transaction deleted it while this one waited.
    Gone,
    /// Another transaction changed it since `known`: what this one made of `known` would undo that.
    ChangedMeanwhile,
}

/// `known`: the object as this session knew it when it decided what to make of it.
fn replace(
    transaction: &Transaction,
    table: &mote_engine::Table,
    row: RowId,
    object: &StoredObject,
    known: Option<&[u8]>,
) -> Result<Replaced, WriteError> {
    // A statement may write an object more than once: each write is a command of its own.
    transaction.advance_command();
    let locked = transaction.lock_row(table, row, None, RowLockStrength::NoKeyUpdate, WaitPolicy::Block)?;
    let Some(newest) = locked.newest else {
        return Ok(Replaced::Gone);
    };
    if !stands(table, &newest, known) {
        return Ok(Replaced::ChangedMeanwhile);
    }
    let mut writer = RowWriter::new(table.newest_layout());
    writer.set_variable(0, &object.encode());
    transaction.update(table, &newest, writer.finish()?)?;
    Ok(Replaced::Done)
}

/// Is the object in the row as it was known?
fn stands(table: &mote_engine::Table, newest: &RowVersion<'_>, known: Option<&[u8]>) -> bool {
    // Decoded and encoded again: an older release may have written it with fewer fields.
    let bytes = table.view(newest.layout(), newest.bytes()).variable(0);
    let stands = StoredObject::decode(bytes).map(|object| object.encode());
    !known.is_some_and(|known| stands.is_ok_and(|stands| stands != known))
}

/// PostgreSQL's XX000 for two sessions that change one catalog row (`simple_heap_update`).
fn concurrently(what: &str) -> SqlError {
    SqlError::new(state::INTERNAL_ERROR, format!("tuple concurrently {what}"))
}

/// PostgreSQL locks an object before it looks at it again; here the wait is for its row, with the same answer.
fn gone(object: &StoredObject) -> SqlError {
    let object = object.object();
    let message = format!("{} \"{}\" does not exist", object.noun(), object.name());
    SqlError::new(object.undefined(), message)
}

/// An object as the session sees it.
fn known(oid: Oid, context: &StatementContext<'_>) -> Option<StoredObject> {
    let catalog = context.session.catalog.current();
    Some(catalog.object(oid)?.0.stored())
}

/// Where the object is stored, as the session sees it.
fn row_of(oid: Oid, context: &StatementContext<'_>) -> Option<RowId> {
    let catalog = context.session.catalog.current();
    Some(catalog.object(oid)?.1)
}

/// What others read must not lean on what only this session has: PostgreSQL takes it along at the session's end, which a
/// crash would not do here (COMPAT.md).
pub fn refuse_permanent_dependent(object: &StoredObject, context: &StatementContext<'_>) -> SqlResult<()> {
    let catalog = &context.session.catalog;
    let unsupported = |what: &str| Err(SqlError::unsupported(what));
    if calls_temporary_routine(object, context) {
        return unsupported("a function of a temporary schema in a permanent object");
    }
    match object {
        StoredObject::Routine(routine) => {
            let types = routine.arguments.iter().map(|argument| argument.ty);
            let mut rows = types.chain([routine.result]).filter_map(|ty| ty.row_number());
            let is_temporary = |oid| {
                catalog
                    .entry(Oid(oid))
                    .is_some_and(|entry| entry.stored.temporary)
            };
            if rows.any(is_temporary) {
                return unsupported("a function over rows of a temporary table");
            }
        }
        StoredObject::Relation(relation) => {
            let Some((_, own)) = catalog.temporary_schema() else {
                return Ok(());
            };
            // Defaults are kept as text: a sequence's name stands in it as a literal of regclass.
            let own = format!("'{own}.");
            let mut defaults = relation
                .columns
                .iter()
                .filter_map(|column| column.default.as_deref());
            if defaults.any(|text| text.contains(&own)) {
                return unsupported("a default of a permanent table that reads a temporary sequence");
            }
        }
        StoredObject::Type(ty) if catalog.is_temporary_schema(Oid(ty.schema)) => {
            return unsupported("a type in a temporary schema");
        }
        StoredObject::Type(_)
        | StoredObject::Database(_)
        | StoredObject::Extension(_)
        | StoredObject::Publication(_)
        | StoredObject::Cast(_)
        | StoredObject::DefaultAcl(_)
        | StoredObject::ClusterSettings(_)
        | StoredObject::Statistics(_)
        | StoredObject::Schema(_)
        | StoredObject::Role(_) => {}
    }
    Ok(())
}

/// Whether a definition names a routine of the session's own: by its OID, as triggers do, or in a text.
fn calls_temporary_routine(object: &StoredObject, context: &StatementContext<'_>) -> bool {
    let catalog = &context.session.catalog;
    let Some((_, own)) = catalog.temporary_schema() else {
        return false;
    };
    let mut found = false;
    object
        .object()
        .uses(&mut |used| found |= catalog.is_temporary_routine(used));
    let mut look = |text: &str| found |= names_schema(text, &[own, PG_TEMP]);
    object.object().texts(&mut look);
    if let StoredObject::Relation(relation) = object {
        relation.view_query.iter().for_each(|text| look(text));
    }
    found
}

/// Whether a name in a text stands behind one of these schemas; what literals hold names nothing.
fn names_schema(text: &str, schemas: &[&str]) -> bool {
    let mut lexer = Lexer::new(text);
    let mut is_schema = false;
    while let Some(Ok(token)) = lexer.next_token() {
        if is_schema && token.kind == TokenKind::Dot {
            return true;
        }
        let is_name = matches!(token.kind, TokenKind::Identifier | TokenKind::QuotedIdentifier);
        is_schema = is_name && schemas.contains(&token.text(text).trim_matches('"'));
    }
    false
}
