//! CREATE, ALTER and DROP EXTENSION. PostgreSQL: extension.c.
//!
//! An extension's objects are the functions and views that its script makes, and the types that it brings along
//! (`mote_types::catalog::extension`); they are members of it: dropped and moved with it alone.

use std::collections::BTreeSet;
use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::Access;
use mote_grammar::ast::{
    AlterExtension, AlterObjectSchema, CreateExtension, DefinitionOption, Drop, ObjectReference, OptionValue,
    QualifiedName, RelationName, deparse,
};

use super::{cascade, function, moving, privileges, schema, user_type};
use crate::routine::call;
use crate::utility::{Command, Issued};
use mote_catalog::catalog_store::stored::{StoredExtension, StoredObject};
use mote_catalog::catalog_store::{RelationEntry, RoutineEntry};
use mote_catalog::database::builtin::SUPERUSER;
use mote_catalog::extensions::{self, EXTENSIONS, Extension};
use mote_catalog::tag::CommandTag;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;
use mote_executor::plans::planning::parse_text;
use mote_types::catalog::extension::{EXTENSION_TYPES, ExtensionType};

/// The name space of extensions among the reserved ones: names are unique in a database, whatever the schema.
const EXTENSION_NAMES: Oid = Oid(3079);

impl Command for CreateExtension {
    fn name(&self) -> &'static str {
        "CREATE EXTENSION"
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        create(self, context)
    }
}

impl Command for AlterExtension {
    fn name(&self) -> &'static str {
        "ALTER EXTENSION"
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        update(self, context)
    }
}

/// CREATE EXTENSION: runs the script, and remembers what it made as members.
fn create(create: &CreateExtension, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    const TAG: CommandTag = CommandTag::Word("CREATE EXTENSION");
    let name = &*create.name;
    let reserved = format!("{}.{name}", context.session.catalog.database);
    schema::reserve_name(EXTENSION_NAMES, &reserved, context)?;
    // Some are built in: there for everybody, and never made.
    let builtin = extensions::find(name).is_some_and(|known| known.builtin.is_some());
    if builtin || installed(name, context).is_some() {
        let message = format!("extension \"{name}\" already exists");
        if create.if_not_exists {
            schema::notice(state::DUPLICATE_OBJECT, format!("{message}, skipping"), context);
            return Ok(TAG);
        }
        return Err(SqlError::new(state::DUPLICATE_OBJECT, message));
    }
    // The list is compiled in: there is no directory of control files.
    let known = extensions::find(name).ok_or_else(|| unavailable(name))?;
    if let Some(version) = option(&create.options, "new_version").filter(|version| *version != known.version)
    {
        let message = format!(
            "extension \"{name}\" has no installation script nor update path for version \"{version}\""
        );
        return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
    }
    let target = target_schema(&create.options, context)?;
    require_creator(known, context)?;
    let mut stored = StoredExtension {
        revision: Default::default(),
        oid: context.database.catalog().allocate_oid().0,
        database: context.session.catalog.database.0,
        name: name.to_string(),
        owner: context.session.identity().user_oid.0,
        schema: target.0,
        version: known.version.to_string(),
        members: Vec::new(),
        comment: Some(known.comment.to_string()),
    };
    refuse_taken_types(known, target, context)?;
    // Its types are there for the script.
    write::put(StoredObject::Extension(stored.clone()), context)?;
    stored.members = install(known, target, context)?;
    if !stored.members.is_empty() {
        write::put(StoredObject::Extension(stored), context)?;
    }
    Ok(TAG)
}

/// 58P01, as for a control file that PostgreSQL does not find.
/// The types of an extension go where no other type has their name.
fn refuse_taken_types(known: &Extension, target: Oid, context: &mut StatementContext<'_>) -> SqlResult<()> {
    for ty in types_of(known.name) {
        user_type::claim_name(target, ty.name, context)?;
    }
    Ok(())
}

fn types_of(name: &str) -> impl Iterator<Item = &'static ExtensionType> {
    EXTENSION_TYPES.iter().filter(move |ty| ty.extension == name)
}

fn unavailable(name: &str) -> SqlError {
    let known: Vec<&str> = EXTENSIONS.iter().map(|extension| extension.name).collect();
    SqlError::new(
        state::UNDEFINED_FILE,
        format!("extension \"{name}\" is not available"),
    )
    .hint(format!("Available extensions are {}.", known.join(", ")))
}

/// An option's text, by its name.
fn option<'o>(options: &'o [DefinitionOption], name: &str) -> Option<&'o str> {
    let found = options.iter().find(|option| &*option.name == name)?;
    match &found.value {
        Some(OptionValue::String(text)) => Some(text),
        _ => None,
    }
}

/// The schema that the statement names, or the one that new objects go to.
fn target_schema(options: &[DefinitionOption], context: &mut StatementContext<'_>) -> SqlResult<Oid> {
    match option(options, "schema") {
        Some(name) => schema::schema_to_move_to(name, false, context),
        None => {
            let anything = RelationName {
                catalog: None,
                schema: None,
                name: "extension".into(),
                location: mote_grammar::ast::Location::NONE,
            };
            schema::schema_for_creation(&anything, context).map(|(oid, _)| oid)
        }
    }
}

/// Superusers; for a trusted extension whoever may create schemas in the database.
fn require_creator(known: &Extension, context: &StatementContext<'_>) -> SqlResult<()> {
    let catalog = &context.session.catalog;
    let identity = context.session.identity();
    let may = known.trusted && privileges::may_create_schemas(catalog, catalog.database, identity.user_oid);
    if identity.superuser || may {
        return Ok(());
    }
    let message = format!("permission denied to create extension \"{}\"", known.name);
    Err(
        SqlError::new(state::INSUFFICIENT_PRIVILEGE, message).hint(match known.trusted {
            true => "Must have CREATE privilege on current database to create this extension.",
            false => "Must be superuser to create this extension.",
        }),
    )
}

/// Runs the script as the first superuser; answers what it made.
fn install(known: &Extension, target: Oid, context: &mut StatementContext<'_>) -> SqlResult<Vec<u32>> {
    let name = schema_name(target, context);
    // Only the target schema: the script must not find objects of users by their names.
    let path = format!("{}, pg_temp", deparse::identifier(&name));
    let settings = [
        ("search_path".to_string(), path),
        ("client_min_messages".to_string(), "warning".to_string()),
    ];
    // What is there after the script, was not before, and was changed by this transaction is a member.
    let before = objects_in(target, context);
    let statements = parse_text(known.script, context.host)?;
    let text: Arc<str> = known.script.into();
    // Its functions belong to the superuser, whoever installs it.
    call::changed(Some(SUPERUSER), &settings, context, |context| {
        for parsed in &statements {
            // Each statement sees what those before have made.
            context.transaction.start_statement(Access::Write);
            let issued = Issued {
                text: &text,
                in_block: true,
            };
            super::of(&parsed.statement).run(issued, context)?;
        }
        Ok(())
    })?;
    // Others may have made objects in the schema meanwhile.
    let after = objects_in(target, context);
    let own = |oid: &&Oid| context.session.catalog.has_changed(**oid);
    Ok(after.difference(&before).filter(own).map(|oid| oid.0).collect())
}

/// Routines and relations.
fn objects_in(schema: Oid, context: &StatementContext<'_>) -> BTreeSet<Oid> {
    let catalog = context.session.catalog.current();
    let routines = catalog
        .routines_using(schema)
        .map(|entry| (&entry.stored.oid, entry.stored.schema));
    let relations = catalog
        .relations_using(schema)
        .map(|entry| (&entry.stored.oid, entry.stored.schema));
    let inside = routines.chain(relations).filter(|(_, own)| *own == schema.0);
    inside.map(|(oid, _)| Oid(*oid)).collect()
}

/// A schema's name by its OID.
fn schema_name(oid: Oid, context: &StatementContext<'_>) -> String {
    let catalog = context.session.catalog.current();
    catalog
        .schemas
        .get(&oid)
        .map_or(String::new(), |entry| entry.object.name.clone())
}

/// The extension of that name in the session's database.
fn installed(name: &str, context: &StatementContext<'_>) -> Option<StoredExtension> {
    let database = context.session.catalog.database.0;
    let catalog = context.session.catalog.current();
    let mut all = catalog.extensions.values().map(|entry| &entry.object);
    all.find(|extension| extension.database == database && extension.name == name)
        .cloned()
}

/// The same, to be changed by its owner.
fn to_change(name: &str, context: &mut StatementContext<'_>) -> SqlResult<StoredExtension> {
    if extensions::find(name).is_some_and(|known| known.builtin.is_some()) {
        return Err(SqlError::unsupported(format_args!(
            "a change of extension \"{name}\""
        )));
    }
    let missing = || {
        let message = format!("extension \"{name}\" does not exist");
        SqlError::new(state::UNDEFINED_OBJECT, message)
    };
    let found = installed(name, context).ok_or_else(missing)?;
    if !privileges::is_member(&context.session.catalog, Oid(found.owner)) {
        let message = format!("must be owner of extension {name}");
        return Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message));
    }
    schema::reserve_name(Oid(found.oid), "", context)?;
    // Dropped, or moved, while we waited.
    installed(name, context).ok_or_else(missing)
}

/// The member routines that are still there.
fn routines_of(extension: &StoredExtension, context: &StatementContext<'_>) -> Vec<Arc<RoutineEntry>> {
    let catalog = context.session.catalog.current();
    let members = extension.members.iter();
    members
        .filter_map(|&oid| catalog.routine(Oid(oid)).cloned())
        .collect()
}

/// The member relations that are still there.
fn relations_of(extension: &StoredExtension, context: &StatementContext<'_>) -> Vec<Arc<RelationEntry>> {
    let catalog = context.session.catalog.current();
    let members = extension.members.iter();
    members
        .filter_map(|&oid| catalog.relation(Oid(oid)).cloned())
        .collect()
}

/// DROP EXTENSION, with its members.
pub(super) fn drop(name: &QualifiedName, drop: &Drop, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let name = name.last();
    let builtin = extensions::find(name).is_some_and(|known| known.builtin.is_some());
    if drop.if_exists && !builtin && installed(name, context).is_none() {
        let message = format!("extension \"{name}\" does not exist, skipping");
        schema::notice(state::SUCCESSFUL_COMPLETION, message, context);
        return Ok(());
    }
    let stored = to_change(name, context)?;
    let subject = format!("extension {name}");
    let types: Vec<u32> = types_of(&stored.name).map(|ty| ty.oid.0).collect();
    if !types.is_empty() {
        cascade::types::drop_users(&types, &stored, &subject, drop.behavior, context)?;
    }
    // Views first: they use the functions.
    cascade::relations::members(&relations_of(&stored, context), &subject, drop.behavior, context)?;
    cascade::routines::drop_all(&routines_of(&stored, context), &subject, drop.behavior, context)?;
    write::remove(Oid(stored.oid), context)
}

/// ALTER EXTENSION .. SET SCHEMA.
pub(super) fn set_schema(
    alter: &AlterObjectSchema,
    context: &mut StatementContext<'_>,
) -> SqlResult<CommandTag> {
    let ObjectReference::Name(name) = &alter.object else {
        return Err(SqlError::internal("an extension has a name"));
    };
    let mut stored = to_change(name.last(), context)?;
    let target = schema::schema_to_move_to(&alter.schema, false, context)?;
    if stored.schema != target.0 {
        // Members move with it.
        let types: Vec<_> = types_of(&stored.name).collect();
        for ty in types {
            user_type::claim_name(target, ty.name, context)?;
            user_type::refuse_named_users(ty.oid, ty.name, "SET SCHEMA", &stored.members, context)?;
        }
        for member in routines_of(&stored, context) {
            function::move_to_schema(&member, target, context)?;
        }
        for member in relations_of(&stored, context) {
            moving::move_to(member.stored.clone(), target, &alter.schema, context)?;
        }
        stored.schema = target.0;
        write::put(StoredObject::Extension(stored), context)?;
    }
    Ok(CommandTag::Word("ALTER EXTENSION"))
}

/// ALTER EXTENSION .. UPDATE: there is one version of each.
fn update(alter: &AlterExtension, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    let stored = to_change(&alter.name, context)?;
    let (name, version) = (&stored.name, &stored.version);
    match option(&alter.options, "new_version").filter(|wanted| wanted != version) {
        None => {
            let message = format!("version \"{version}\" of extension \"{name}\" is already installed");
            schema::notice(state::SUCCESSFUL_COMPLETION, message, context);
            Ok(CommandTag::Word("ALTER EXTENSION"))
        }
        Some(wanted) => {
            let message = format!(
                "extension \"{name}\" has no update path from version \"{version}\" to version \"{wanted}\""
            );
            Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message))
        }
    }
}

/// COMMENT ON EXTENSION.
pub(super) fn comment(name: &str, text: Option<String>, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let mut stored = to_change(name, context)?;
    stored.comment = text;
    write::put(StoredObject::Extension(stored), context)
}
