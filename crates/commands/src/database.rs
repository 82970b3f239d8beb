//! CREATE, ALTER and DROP DATABASE. A database is a name for schemas of its own; all share one engine and one log.
//!
//! So CREATE DATABASE copies descriptions of schemas where PostgreSQL copies files, and both roll back like any
//! definition; they are refused in a block all the same, as in PostgreSQL. Leaves out: who may connect (the session's
//! `log_in`).

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::TableLockMode;
use mote_grammar::ast::{
    AlterDatabase, AlterDatabaseSet, CreateDatabase, DefinitionOption, DropDatabase, OptionValue,
    RoleSpecification,
};

use super::{acl, cascade, default_privileges, kept_settings, large_object, privileges, schema, user_type};
use crate::utility::{Command, Issued};
use mote_catalog::catalog_store::Revision;
use mote_catalog::catalog_store::stored::{StoredDatabase, StoredObject, StoredSchema};
use mote_catalog::prepared_note::PreparedNote;
use mote_catalog::tag::CommandTag;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

impl Command for CreateDatabase {
    fn name(&self) -> &'static str {
        "CREATE DATABASE"
    }

    fn run(&self, issued: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        create(self, issued.in_block, context)
    }
}

impl Command for DropDatabase {
    fn name(&self) -> &'static str {
        "DROP DATABASE"
    }

    fn run(&self, issued: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        drop(self, issued.in_block, context)
    }
}

impl Command for AlterDatabase {
    fn name(&self) -> &'static str {
        "ALTER DATABASE"
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        alter(self, context)
    }
}

impl Command for AlterDatabaseSet {
    fn name(&self) -> &'static str {
        "ALTER DATABASE"
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        alter_settings(self, context)
    }
}

/// The name space of database names among the reserved ones: PostgreSQL's OID of pg_database stands for it.
const DATABASES: Oid = Oid(1262);

/// CREATE DATABASE: PostgreSQL's createdb (dbcommands.c), without files.
pub(super) fn create(
    create: &CreateDatabase,
    in_block: bool,
    context: &mut StatementContext<'_>,
) -> SqlResult<CommandTag> {
    refuse_block("CREATE DATABASE", in_block)?;
    let session = &*context.session;
    let catalog = session.catalog.current();
    let allowed = catalog
        .roles
        .get(&session.identity().user_oid)
        .is_some_and(|role| role.object.create_database);
    if !session.identity().superuser && !allowed {
        return Err(SqlError::new(
            state::INSUFFICIENT_PRIVILEGE,
            "permission denied to create database",
        ));
    }
    let mut stored = StoredDatabase::new(Oid::INVALID, create.name.to_string(), session.identity().user_oid);
    let mut template = DEFAULT_TEMPLATE.to_owned();
    // What a database can be told is kept; what all databases share must be asked for as it is.
    for option in &create.options {
        if &*option.name == "owner" {
            let owner = owner_of(option, context)?;
            privileges::require_member(&context.session.catalog, owner)?;
            stored.owner = owner.0;
        } else if &*option.name == "template" {
            template = template_name(option)?;
        } else if !apply_option(&mut stored, option)? {
            check_option(option)?;
        }
    }
    // Behind the options: a statement that is refused keeps nobody waiting.
    schema::reserve_name(DATABASES, &create.name, context)?;
    if context
        .session
        .catalog
        .current()
        .database_by_name(&create.name)
        .is_some()
    {
        return Err(SqlError::new(
            state::DUPLICATE_DATABASE,
            format!("database \"{}\" already exists", create.name),
        ));
    }
    // Under the reserved name; the template is kept from changes meanwhile (`named`).
    let schemas = schemas_of_template(&template, &stored, context)?;
    let database = context.database.catalog().allocate_oid().0;
    stored.oid = database;
    write::put(StoredObject::Database(stored), context)?;
    // Schemas have OIDs of their own in each database.
    for schema in schemas {
        let schema = StoredSchema {
            oid: context.database.catalog().allocate_oid().0,
            database,
            revision: Revision::default(),
            ..schema
        };
        write::put(StoredObject::Schema(schema), context)?;
    }
    Ok(CommandTag::Word("CREATE DATABASE"))
}

const DEFAULT_TEMPLATE: &str = "template1";
const EMPTY_TEMPLATE: &str = "template0";

/// TEMPLATE, or the default of CREATE DATABASE.
fn template_name(option: &DefinitionOption) -> SqlResult<String> {
    match &option.value {
        None => Ok(DEFAULT_TEMPLATE.to_owned()),
        Some(OptionValue::String(name)) => Ok(name.to_string()),
        Some(_) => Err(SqlError::new(
            state::SYNTAX_ERROR,
            "template requires a database name",
        )),
    }
}

/// The schemas that a new database begins with: those of its template, which may hold nothing but schemas.
fn schemas_of_template(
    name: &str,
    new: &StoredDatabase,
    context: &mut StatementContext<'_>,
) -> SqlResult<Vec<StoredSchema>> {
    let catalog = context.session.catalog.current();
    if catalog.database_by_name(name).is_none() {
        // Directories of earlier releases have no templates.
        if matches!(name, DEFAULT_TEMPLATE | EMPTY_TEMPLATE) {
            return Ok(vec![public_schema(new.owner)]);
        }
        let message = format!("template database \"{name}\" does not exist");
        return Err(SqlError::new(state::INVALID_CATALOG_NAME, message));
    }
    let template = named(name, context)?;
    // As in PostgreSQL: a template is for everybody, any other database for its owner.
    if !template.is_template && !privileges::is_member(&context.session.catalog, Oid(template.owner)) {
        let message = format!("permission denied to copy database \"{name}\"");
        return Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message));
    }
    let catalog = context.session.catalog.current();
    let inside = catalog.schemas.values().map(|entry| &entry.object);
    let inside = inside.filter(|schema| schema.database == template.oid);
    let mut schemas: Vec<StoredSchema> = inside.cloned().collect();
    // In the order they were made, in which the copies get their OIDs.
    schemas.sort_by_key(|schema| schema.oid);
    let is_used = |schema: &StoredSchema| {
        let oid = Oid(schema.oid);
        catalog.relations_using(oid).next().is_some()
            || catalog.routines_using(oid).next().is_some()
            || catalog.types_using(oid).next().is_some()
    };
    let holds_lists = catalog.default_acls_using(Oid(template.oid)).next().is_some();
    let mut extensions = catalog.extensions.values();
    let holds_extensions = extensions.any(|extension| extension.object.database == template.oid);
    let holds_publications = !catalog.publications_of(Oid(template.oid)).is_empty();
    if holds_lists || holds_extensions || holds_publications || schemas.iter().any(is_used) {
        return Err(
            SqlError::unsupported(format_args!("copying what is in template database \"{name}\""))
                .hint("Use TEMPLATE template0 for an empty database."),
        );
    }
    for schema in &mut schemas {
        // It belongs to the owner of its database, unless somebody else was given it.
        if schema.name == privileges::PUBLIC_SCHEMA && schema.owner == template.owner {
            acl::change_owner(&mut schema.acl, schema.owner, new.owner);
            schema.owner = new.owner;
        }
    }
    Ok(schemas)
}

/// The schema public as a new database has it.
fn public_schema(owner: u32) -> StoredSchema {
    StoredSchema {
        revision: Revision::default(),
        oid: Oid::INVALID.0,
        database: Oid::INVALID.0,
        name: privileges::PUBLIC_SCHEMA.into(),
        owner,
        acl: Vec::new(),
        comment: Some("standard public schema".into()),
    }
}

/// OWNER; without a value the user himself.
fn owner_of(option: &DefinitionOption, context: &StatementContext<'_>) -> SqlResult<Oid> {
    match &option.value {
        None => Ok(context.session.identity().user_oid),
        Some(OptionValue::String(name)) => {
            let role = RoleSpecification::Name {
                name: name.clone(),
                location: option.location,
            };
            schema::role_oid(&role, context)
        }
        Some(_) => Err(SqlError::new(state::SYNTAX_ERROR, "owner requires a role name")),
    }
}

/// Takes up an option that a database is stored with; false: it is another one.
fn apply_option(stored: &mut StoredDatabase, option: &DefinitionOption) -> SqlResult<bool> {
    match &*option.name {
        "allow_connections" => stored.allow_connections = option.flag()?,
        "is_template" => stored.is_template = option.flag()?,
        "connection_limit" => {
            stored.connection_limit = match option.value {
                None => -1,
                Some(OptionValue::Integer(limit)) if limit >= -1 => limit,
                Some(OptionValue::Integer(limit)) => {
                    let message = format!("invalid connection limit: {limit}");
                    return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
                }
                _ => {
                    let message = "connection_limit requires an integer value";
                    return Err(SqlError::new(state::SYNTAX_ERROR, message));
                }
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// The database that a statement names, which nobody else changes until this transaction ends.
pub(super) fn named(name: &str, context: &mut StatementContext<'_>) -> SqlResult<StoredDatabase> {
    let missing = || {
        SqlError::new(
            state::INVALID_CATALOG_NAME,
            format!("database \"{name}\" does not exist"),
        )
    };
    let catalog = context.session.catalog.current();
    let oid = Oid(catalog.database_by_name(name).ok_or_else(missing)?.object.oid);
    schema::reserve_name(oid, "", context)?;
    let catalog = context.session.catalog.current();
    // Dropped while we waited.
    Ok(catalog.databases.get(&oid).ok_or_else(missing)?.object.clone())
}

/// The same, for those who may change it.
pub(super) fn to_change(name: &str, context: &mut StatementContext<'_>) -> SqlResult<StoredDatabase> {
    let stored = named(name, context)?;
    if !privileges::is_member(&context.session.catalog, Oid(stored.owner)) {
        let message = format!("must be owner of database {name}");
        return Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message));
    }
    Ok(stored)
}

/// ALTER DATABASE with options.
pub(super) fn alter(alter: &AlterDatabase, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    let mut stored = to_change(&alter.name, context)?;
    for option in &alter.options {
        let known = apply_option(&mut stored, option)?;
        if !known && &*option.name == "tablespace" {
            check_option(option)?;
        } else if !known {
            let message = format!("option \"{}\" not recognized", option.name);
            let at = option.location.position(&context.session.statement_text);
            return Err(SqlError::new(state::SYNTAX_ERROR, message).at(at));
        }
    }
    // Nobody could come back to allow them again.
    if !stored.allow_connections && Oid(stored.oid) == context.session.catalog.database {
        let message = "cannot disallow connections for current database";
        return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
    }
    write::put(StoredObject::Database(stored), context)?;
    Ok(CommandTag::Word("ALTER DATABASE"))
}

/// ALTER DATABASE .. SET: settings that the database's sessions begin with.
pub(super) fn alter_settings(
    alter: &AlterDatabaseSet,
    context: &mut StatementContext<'_>,
) -> SqlResult<CommandTag> {
    let mut stored = to_change(&alter.name, context)?;
    kept_settings::change_settings(&mut stored.settings, &alter.setting.action, context)?;
    write::put(StoredObject::Database(stored), context)?;
    Ok(CommandTag::Word("ALTER DATABASE"))
}

/// There is one encoding and one collation; asking for exactly these is fine.
fn check_option(option: &DefinitionOption) -> SqlResult<()> {
    let text = match &option.value {
        None => return Ok(()),
        Some(OptionValue::String(text)) => text.to_ascii_lowercase(),
        Some(OptionValue::Integer(number)) => number.to_string(),
        Some(OptionValue::Boolean(flag)) => flag.to_string(),
        Some(_) => String::new(),
    };
    let fine = match &*option.name {
        "encoding" => matches!(text.as_str(), "utf8" | "utf-8" | "unicode" | "6"),
        "lc_collate" | "lc_ctype" | "locale" => matches!(text.as_str(), "c" | "posix" | "c.utf-8" | "c.utf8"),
        "locale_provider" => text == "libc",
        "tablespace" => text == "pg_default",
        other => {
            return Err(SqlError::new(
                state::SYNTAX_ERROR,
                format!("option \"{other}\" not recognized"),
            ));
        }
    };
    if fine {
        Ok(())
    } else {
        Err(SqlError::unsupported(format_args!(
            "{} \"{text}\"",
            option.name.to_uppercase()
        )))
    }
}

/// 25001 within a block.
fn refuse_block(command: &str, in_block: bool) -> SqlResult<()> {
    if in_block {
        return Err(SqlError::new(
            state::ACTIVE_SQL_TRANSACTION,
            format!("{command} cannot run inside a transaction block"),
        ));
    }
    Ok(())
}

/// A prepared transaction could not be decided any more.
fn refuse_prepared(database: &StoredDatabase, context: &StatementContext<'_>) -> SqlResult<()> {
    let prepared = context.database.engine().prepared();
    let count = prepared
        .iter()
        .filter_map(PreparedNote::of)
        .filter(|note| note.database == Oid(database.oid))
        .count();
    if count == 0 {
        return Ok(());
    }
    let detail = match count {
        1 => "There is 1 prepared transaction using the database.".to_string(),
        _ => format!("There are {count} prepared transactions using the database."),
    };
    Err(SqlError::new(
        state::OBJECT_IN_USE,
        format!("database \"{}\" is being accessed by other users", database.name),
    )
    .detail(detail))
}

/// DROP DATABASE, with all that is in it.
pub(super) fn drop(
    statement: &DropDatabase,
    in_block: bool,
    context: &mut StatementContext<'_>,
) -> SqlResult<CommandTag> {
    const TAG: CommandTag = CommandTag::Word("DROP DATABASE");
    refuse_block("DROP DATABASE", in_block)?;
    if !statement.options.is_empty() {
        return Err(SqlError::unsupported("DROP DATABASE WITH (FORCE)"));
    }
    schema::reserve_name(DATABASES, &statement.name, context)?;
    let catalog = context.session.catalog.current();
    let Some(entry) = catalog.database_by_name(&statement.name) else {
        let message = format!("database \"{}\" does not exist", statement.name);
        if statement.if_exists {
            schema::notice(
                state::SUCCESSFUL_COMPLETION,
                format!("{message}, skipping"),
                context,
            );
            return Ok(TAG);
        }
        return Err(SqlError::new(state::INVALID_CATALOG_NAME, message));
    };
    let database = &entry.object;
    if !privileges::is_member(&context.session.catalog, Oid(database.owner)) {
        return Err(SqlError::new(
            state::INSUFFICIENT_PRIVILEGE,
            format!("must be owner of database {}", database.name),
        ));
    }
    if Oid(database.oid) == context.session.catalog.database {
        return Err(SqlError::new(
            state::OBJECT_IN_USE,
            "cannot drop the currently open database",
        ));
    }
    if database.is_template {
        let message = "cannot drop a template database";
        return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
    }
    refuse_prepared(database, context)?;
    for schema in catalog
        .schemas
        .values()
        .filter(|schema| schema.object.database == database.oid)
    {
        let oid = schema.object.oid;
        let relations = catalog.relations_using(Oid(oid));
        for relation in relations.filter(|relation| relation.stored.schema == oid) {
            // One by one: whoever uses a table of it is waited for.
            if let Some(relation) = schema::lock_entry(relation, TableLockMode::AccessExclusive, context)? {
                cascade::relations::remove_relation(&relation.stored, context)?;
            }
        }
        let routines = catalog.routines_using(Oid(oid));
        for routine in routines.filter(|routine| routine.stored.schema == oid) {
            write::remove(Oid(routine.stored.oid), context)?;
        }
        // Types behind what is made of them: they have owners and privileges of their own, which would outlive the database.
        for ty in user_type::in_schema(oid, context) {
            write::remove(Oid(ty.stored.oid), context)?;
        }
        write::remove(Oid(schema.object.oid), context)?;
    }
    let extensions = catalog.extensions.values();
    for extension in extensions.filter(|extension| extension.object.database == database.oid) {
        write::remove(Oid(extension.object.oid), context)?;
    }
    for publication in catalog.publications_of(Oid(database.oid)) {
        write::remove(Oid(publication.oid), context)?;
    }
    // What belongs to the database and to no schema of it.
    default_privileges::forget_database(Oid(database.oid), context)?;
    large_object::drop_all(database, context)?;
    write::remove(Oid(database.oid), context)?;
    Ok(TAG)
}
