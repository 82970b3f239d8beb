//! CREATE, ALTER and DROP PUBLICATION (docs/design/0061).

use std::collections::BTreeSet;
use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::TableLockMode;
use mote_grammar::ast::{
    AlterPublication, CreatePublication, DefinitionOption, Drop, Name, ObjectReference, OptionValue,
    PublicationChange, PublicationObject, PublicationTable,
};

use super::{dropping, schema};
use crate::utility::{Command, Issued};
use mote_catalog::catalog_store::stored::{
    StoredObject, StoredOperations, StoredPublication, StoredPublished, StoredRelation,
};
use mote_catalog::catalog_store::{RelationEntry, publishable};
use mote_catalog::privileges;
use mote_catalog::tag::CommandTag;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

/// The name space of publications among the reserved ones: names are unique in a database.
const PUBLICATION_NAMES: Oid = Oid(6104);

impl Command for CreatePublication {
    fn name(&self) -> &'static str {
        "CREATE PUBLICATION"
    }

    fn run(&self, issued: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        create(self, issued.text, context)
    }
}

impl Command for AlterPublication {
    fn name(&self) -> &'static str {
        "ALTER PUBLICATION"
    }

    fn run(&self, issued: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        alter(self, issued.text, context)
    }
}

fn create(
    create: &CreatePublication,
    text: &str,
    context: &mut StatementContext<'_>,
) -> SqlResult<CommandTag> {
    let name = &*create.name;
    require_create(context)?;
    if create.all_tables && !context.session.identity().superuser {
        let message = "must be superuser to create FOR ALL TABLES publication";
        return Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message));
    }
    reserve_name(name, context)?;
    refuse_taken(name, context)?;
    let mut stored = StoredPublication {
        revision: Default::default(),
        oid: context.database.catalog().allocate_oid().0,
        database: context.session.catalog.database.0,
        name: name.to_string(),
        owner: context.session.identity().user_oid.0,
        all_tables: create.all_tables,
        tables: Vec::new(),
        operations: StoredOperations::ALL,
        via_root: false,
        comment: None,
    };
    set_options(&create.options, text, &mut stored)?;
    for table in named_tables(&create.objects, context)? {
        add(table, &mut stored, context)?;
    }
    refuse_lists_of_partitioned(&stored, context)?;
    write::put(StoredObject::Publication(stored), context)?;
    Ok(CommandTag::Word("CREATE PUBLICATION"))
}

fn alter(alter: &AlterPublication, text: &str, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    let mut stored = to_change(&alter.name, context)?;
    match &alter.change {
        PublicationChange::Options(options) => {
            set_options(options, text, &mut stored)?;
            if let Some(table) = listed_partitioned(&stored, context) {
                return Err(cannot_unset_root(&stored, &table));
            }
        }
        PublicationChange::Add(objects) => {
            refuse_all_tables(&stored)?;
            for table in named_tables(objects, context)? {
                add(table, &mut stored, context)?;
            }
        }
        PublicationChange::Drop(objects) => {
            refuse_all_tables(&stored)?;
            for table in named_tables(objects, context)? {
                take_out(&table, &mut stored)?;
            }
        }
        PublicationChange::Set(objects) => {
            refuse_all_tables(&stored)?;
            set(named_tables(objects, context)?, &mut stored, context)?;
        }
    }
    refuse_lists_of_partitioned(&stored, context)?;
    context.transaction.tell_no_more();
    write::put(StoredObject::Publication(stored), context)?;
    Ok(CommandTag::Word("ALTER PUBLICATION"))
}

/// Who makes a publication, or is given one, must be allowed to create in the database.
fn require_create(context: &StatementContext<'_>) -> SqlResult<()> {
    let catalog = &context.session.catalog;
    let identity = context.session.identity();
    if identity.superuser || privileges::may_create_schemas(catalog, catalog.database, identity.user_oid) {
        return Ok(());
    }
    let message = format!("permission denied for database {}", catalog.database_name);
    Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message))
}

fn reserve_name(name: &str, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let reserved = format!("{}.{name}", context.session.catalog.database);
    schema::reserve_name(PUBLICATION_NAMES, &reserved, context)
}

fn refuse_taken(name: &str, context: &StatementContext<'_>) -> SqlResult<()> {
    match find(name, context) {
        None => Ok(()),
        Some(_) => Err(SqlError::new(
            state::DUPLICATE_OBJECT,
            format!("publication \"{name}\" already exists"),
        )),
    }
}

fn find(name: &str, context: &StatementContext<'_>) -> Option<StoredPublication> {
    let catalog = context.session.catalog.current();
    let database = context.session.catalog.database;
    catalog.publication_by_name(database, name).cloned()
}

/// The publication of that name, to be changed by its owner.
fn to_change(name: &str, context: &mut StatementContext<'_>) -> SqlResult<StoredPublication> {
    let missing = || {
        let message = format!("publication \"{name}\" does not exist");
        SqlError::new(state::UNDEFINED_OBJECT, message)
    };
    let found = find(name, context).ok_or_else(missing)?;
    if !privileges::is_member(&context.session.catalog, Oid(found.owner)) {
        let message = format!("must be owner of publication {name}");
        return Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message));
    }
    write::hold(Oid(found.oid), context)?;
    // Dropped, renamed or changed while we waited.
    find(name, context).ok_or_else(missing)
}

fn refuse_all_tables(publication: &StoredPublication) -> SqlResult<()> {
    if !publication.all_tables {
        return Ok(());
    }
    let message = format!(
        "publication \"{}\" is defined as FOR ALL TABLES",
        publication.name
    );
    Err(SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        .detail("Tables cannot be added to or dropped from FOR ALL TABLES publications."))
}

// Options

/// WITH (..) of CREATE and SET (..) of ALTER; what is not named stays.
fn set_options(
    options: &[DefinitionOption],
    text: &str,
    publication: &mut StoredPublication,
) -> SqlResult<()> {
    for (at, option) in options.iter().enumerate() {
        if !matches!(&*option.name, "publish" | "publish_via_partition_root") {
            let message = format!("unrecognized publication parameter: \"{}\"", option.name);
            return Err(SqlError::new(state::SYNTAX_ERROR, message));
        }
        if options[..at].iter().any(|earlier| earlier.name == option.name) {
            let error = SqlError::new(state::SYNTAX_ERROR, "conflicting or redundant options");
            return Err(error.at(option.location.position(text)));
        }
        match &*option.name {
            "publish" => publication.operations = operations(option)?,
            _ => publication.via_root = option.flag()?,
        }
    }
    Ok(())
}

/// `publish = 'insert, update'`.
fn operations(option: &DefinitionOption) -> SqlResult<StoredOperations> {
    let list = option_text(option)?;
    let invalid = || {
        SqlError::new(
            state::SYNTAX_ERROR,
            "invalid list syntax in parameter \"publish\"",
        )
    };
    let mut published = StoredOperations::NONE;
    if list.trim().is_empty() {
        return Ok(published);
    }
    for word in list.split(',') {
        let word = word.trim();
        let word = match word.strip_prefix('"') {
            Some(quoted) => quoted.strip_suffix('"').ok_or_else(invalid)?.to_string(),
            None if word.is_empty() || word.contains(|c: char| c.is_whitespace() || c == '"') => {
                return Err(invalid());
            }
            None => word.to_lowercase(),
        };
        let flag = match &*word {
            "insert" => &mut published.insert,
            "update" => &mut published.update,
            "delete" => &mut published.delete,
            "truncate" => &mut published.truncate,
            _ => {
                let message = format!("unrecognized value for publication option \"publish\": \"{word}\"");
                return Err(SqlError::new(state::SYNTAX_ERROR, message));
            }
        };
        *flag = true;
    }
    Ok(published)
}

fn option_text(option: &DefinitionOption) -> SqlResult<String> {
    match &option.value {
        Some(OptionValue::String(text)) => Ok(text.to_string()),
        Some(OptionValue::Integer(number)) => Ok(number.to_string()),
        Some(OptionValue::Number(number)) => Ok(number.to_string()),
        Some(OptionValue::Boolean(value)) => Ok(value.to_string()),
        _ => {
            let message = format!("{} requires a parameter", option.name);
            Err(SqlError::new(state::SYNTAX_ERROR, message))
        }
    }
}

// Tables

/// A table that a statement names, locked and owned.
struct NamedTable {
    table: StoredRelation,
    columns: Option<Vec<Name>>,
    filtered: bool,
}

/// The tables in the order of the list, each once, children behind their parents.
fn named_tables(
    objects: &[PublicationObject],
    context: &mut StatementContext<'_>,
) -> SqlResult<Vec<NamedTable>> {
    let mut found: Vec<NamedTable> = Vec::new();
    // Those in `found`, and what is named of it once more is refused or says nothing new.
    let mut seen: BTreeSet<u32> = BTreeSet::new();
    for object in objects {
        let PublicationObject::Table(named) = object else {
            return Err(SqlError::unsupported("FOR TABLES IN SCHEMA"));
        };
        if context.session.identity().superuser {
            publishable::refuse_system(&context.session.catalog, &named.relation)?;
        }
        let entry = schema::lock_relation(&named.relation, TableLockMode::ShareUpdateExclusive, context)?
            .ok_or_else(|| schema::undefined_table(&named.relation))?;
        if !seen.insert(entry.stored.oid) {
            refuse_second(named, entry.stored.oid, &found)?;
            continue;
        }
        let below = match named.only || entry.stored.partitioning.is_some() {
            true => Vec::new(),
            false => context
                .session
                .catalog
                .current()
                .descendants_of(Oid(entry.stored.oid)),
        };
        found.push(NamedTable {
            table: entry.stored.clone(),
            columns: named.columns.clone(),
            filtered: named.filtered,
        });
        for child in below {
            let Some(child) = context.session.catalog.entry(child) else {
                continue;
            };
            let Some(child) = schema::lock_entry(&child, TableLockMode::ShareUpdateExclusive, context)?
            else {
                continue;
            };
            if !seen.insert(child.stored.oid) {
                refuse_second(named, child.stored.oid, &found)?;
                continue;
            }
            found.push(NamedTable {
                table: child.stored.clone(),
                columns: named.columns.clone(),
                filtered: named.filtered,
            });
        }
    }
    Ok(found)
}

/// A table named twice, itself or as a child of `named`, is added once, unless it is not clear how.
fn refuse_second(named: &PublicationTable, table: u32, found: &[NamedTable]) -> SqlResult<()> {
    let earlier = found.iter().find(|earlier| earlier.table.oid == table);
    let what = if named.filtered || earlier.is_some_and(|earlier| earlier.filtered) {
        "WHERE clauses"
    } else if named.columns.is_some() || earlier.is_some_and(|earlier| earlier.columns.is_some()) {
        "column lists"
    } else {
        return Ok(());
    };
    let name = &named.relation.name;
    let message = format!("conflicting or redundant {what} for table \"{name}\"");
    Err(SqlError::new(state::DUPLICATE_OBJECT, message))
}

fn add(
    named: NamedTable,
    publication: &mut StoredPublication,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    schema::require_owner(&named.table, context)?;
    let (table, name) = (&named.table, &publication.name);
    if publication.member(table.oid).is_some() {
        let message = format!(
            "relation \"{}\" is already member of publication \"{name}\"",
            table.name
        );
        return Err(SqlError::new(state::DUPLICATE_OBJECT, message));
    }
    table.check_publishable()?;
    if named.filtered {
        return Err(SqlError::unsupported("WHERE of a publication"));
    }
    let columns = named
        .columns
        .map(|names| table.published_columns(&names))
        .transpose()?;
    publication.tables.push(StoredPublished {
        oid: context.database.catalog().allocate_oid().0,
        relation: table.oid,
        columns,
    });
    Ok(())
}

/// A change that is told as one of a leaf cannot have the columns of the table above it: a partitioned table with a list.
fn listed_partitioned(
    publication: &StoredPublication,
    context: &StatementContext<'_>,
) -> Option<Arc<RelationEntry>> {
    let mut lists = publication
        .tables
        .iter()
        .filter(|member| member.columns.is_some());
    lists.find_map(|member| {
        let entry = context.session.catalog.entry(Oid(member.relation));
        entry.filter(|entry| !publication.via_root && entry.stored.partitioning.is_some())
    })
}

fn refuse_lists_of_partitioned(
    publication: &StoredPublication,
    context: &StatementContext<'_>,
) -> SqlResult<()> {
    let Some(table) = listed_partitioned(publication, context) else {
        return Ok(());
    };
    let message = format!(
        "cannot use column list for relation \"{}.{}\" in publication \"{}\"",
        table.described.schema, table.stored.name, publication.name
    );
    Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message).detail(
        "Column lists cannot be specified for partitioned tables when publish_via_partition_root is false.",
    ))
}

fn cannot_unset_root(publication: &StoredPublication, table: &RelationEntry) -> SqlError {
    let message = format!(
        "cannot set parameter \"publish_via_partition_root\" to false for publication \"{}\"",
        publication.name
    );
    SqlError::new(state::INVALID_PARAMETER_VALUE, message).detail(format!(
        "The publication contains a column list for partitioned table \"{}\", which is not allowed when \
         \"publish_via_partition_root\" is false.",
        table.stored.name
    ))
}

fn take_out(named: &NamedTable, publication: &mut StoredPublication) -> SqlResult<()> {
    if named.columns.is_some() {
        let message = "column list must not be specified in ALTER PUBLICATION ... DROP";
        return Err(SqlError::new(state::SYNTAX_ERROR, message));
    }
    let before = publication.tables.len();
    publication
        .tables
        .retain(|member| member.relation != named.table.oid);
    if publication.tables.len() == before {
        let message = format!("relation \"{}\" is not part of the publication", named.table.name);
        return Err(SqlError::new(state::UNDEFINED_OBJECT, message));
    }
    if named.filtered {
        let message = "cannot use a WHERE clause when removing a table from a publication";
        return Err(SqlError::new(state::SYNTAX_ERROR, message));
    }
    Ok(())
}

/// SET: members that stay as they are keep their OIDs.
fn set(
    named: Vec<NamedTable>,
    publication: &mut StoredPublication,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let before = std::mem::take(&mut publication.tables);
    for table in named {
        let oid = table.table.oid;
        add(table, publication, context)?;
        let kept = before.iter().find(|member| member.relation == oid);
        if let (Some(kept), Some(added)) = (kept, publication.tables.last_mut())
            && kept.columns == added.columns
        {
            added.oid = kept.oid;
        }
    }
    Ok(())
}

// What else concerns publications

/// DROP PUBLICATION.
pub(super) fn drop(statement: &Drop, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let mut dropped = Vec::new();
    for object in &statement.objects {
        let ObjectReference::Name(name) = object else {
            return Err(SqlError::internal("a publication has a name"));
        };
        if statement.if_exists && find(name.last(), context).is_none() {
            let message = format!("publication \"{}\" does not exist, skipping", name.last());
            schema::notice(state::SUCCESSFUL_COMPLETION, message, context);
            continue;
        }
        dropped.push(to_change(name.last(), context)?.oid);
    }
    dropped.sort_unstable();
    dropped.dedup();
    context.transaction.tell_no_more();
    dropped
        .into_iter()
        .try_for_each(|oid| write::remove(Oid(oid), context))
}

pub(super) fn rename(name: &str, new: &str, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let mut stored = to_change(name, context)?;
    require_create(context)?;
    reserve_name(new, context)?;
    refuse_taken(new, context)?;
    stored.name = new.to_string();
    write::put(StoredObject::Publication(stored), context)
}

pub(super) fn change_owner(name: &str, new: Oid, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let mut stored = to_change(name, context)?;
    if stored.owner == new.0 {
        return Ok(());
    }
    if !context.session.identity().superuser {
        require_new_owner(&stored, new, context)?;
    }
    stored.owner = new.0;
    write::put(StoredObject::Publication(stored), context)
}

/// Whether the current user may give the publication to a role.
fn require_new_owner(
    publication: &StoredPublication,
    new: Oid,
    context: &StatementContext<'_>,
) -> SqlResult<()> {
    let catalog = &context.session.catalog;
    privileges::require_member(catalog, new)?;
    let refused = |message| SqlError::new(state::INSUFFICIENT_PRIVILEGE, message);
    if !privileges::may_create_schemas(catalog, catalog.database, new) {
        let name = &catalog.database_name;
        return Err(refused(format!("permission denied for database {name}")));
    }
    let roles = catalog.current();
    let superuser = roles.roles.get(&new).is_some_and(|role| role.object.superuser);
    if publication.all_tables && !superuser {
        let name = &publication.name;
        let message = format!("permission denied to change owner of publication \"{name}\"");
        return Err(refused(message).hint("The owner of a FOR ALL TABLES publication must be a superuser."));
    }
    Ok(())
}

/// COMMENT ON PUBLICATION.
pub(super) fn comment(name: &str, text: Option<String>, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let mut stored = to_change(name, context)?;
    stored.comment = text;
    write::put(StoredObject::Publication(stored), context)
}

/// A table that is dropped leaves its publications without a word.
pub(super) fn forget_relation(relation: u32, context: &mut StatementContext<'_>) -> SqlResult<()> {
    forget(relation, |_| true, context)
}

/// Publications that name the column in a list: (what they have, in the words of dependencies).
pub(super) fn listing(position: u16, table: &StoredRelation, context: &StatementContext<'_>) -> Vec<String> {
    let catalog = context.session.catalog.current();
    let of = dropping::described(table, context);
    let publications = catalog.publications_naming(Oid(table.oid));
    let listing = publications.filter(|publication| lists(publication.member(table.oid), position));
    listing
        .map(|publication| format!("publication of {of} in publication {}", publication.name))
        .collect()
}

/// DROP COLUMN .. CASCADE takes the table out of publications that list the column.
pub(super) fn forget_lists(
    position: u16,
    relation: u32,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    forget(relation, |member| lists(Some(member), position), context)
}

fn lists(member: Option<&StoredPublished>, position: u16) -> bool {
    let columns = member.and_then(|member| member.columns.as_ref());
    columns.is_some_and(|columns| columns.contains(&position))
}

fn forget(
    relation: u32,
    goes: impl Fn(&StoredPublished) -> bool,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let catalog = context.session.catalog.current();
    let naming = catalog.publications_naming(Oid(relation));
    let naming: Vec<u32> = naming.map(|publication| publication.oid).collect();
    for oid in naming {
        write::hold(Oid(oid), context)?;
        let catalog = context.session.catalog.current();
        let Some(entry) = catalog.publications.get(&Oid(oid)) else {
            continue;
        };
        let mut stored = entry.object.clone();
        stored
            .tables
            .retain(|member| member.relation != relation || !goes(member));
        if stored.tables.len() != entry.object.tables.len() {
            context.transaction.tell_no_more();
            write::put(StoredObject::Publication(stored), context)?;
        }
    }
    Ok(())
}
