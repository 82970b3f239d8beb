//! What all definitions share: finding and locking what they name, writing what they make; and CREATE SCHEMA.
//!
//! Two kinds of locks keep definitions apart. Whoever makes a name reserves it (`reserve_name`), so that two
//! transactions cannot both make it; whoever changes a relation locks its storage, or its OID where it has none
//! (`lock_entry`). A lock may have been waited for: what was read before it is looked up again behind it, here, so
//! that callers get what is true under the lock. PostgreSQL: RangeVarGetRelidExtended and its callbacks
//! (namespace.c), schemacmds.c.

use std::sync::Arc;

use mote_common::error::{Severity, state};
use mote_common::{Oid, SqlError, SqlResult, TableId};
use mote_engine::{AdvisoryMode, TableDefinition, TableLockMode, WaitPolicy, WriteError};
use mote_grammar::ast::{CreateSchema, Persistence, QualifiedName, RelationName, RoleSpecification, deparse};
use mote_sql::access::privilege;
use mote_sql::catalog::CatalogView;

use super::acl::AclKind;
use super::{new_privileges, privileges, schema_elements};
use crate::utility::{Command, Issued};
use mote_catalog::catalog_store::Revision;
use mote_catalog::catalog_store::stored::{
    StoredColumn, StoredKind, StoredObject, StoredOnCommit, StoredRelation, StoredReplicaIdentity,
    StoredSchema,
};
use mote_catalog::catalog_store::{PG_TEMP, RelationEntry, sequence_lock};
use mote_catalog::system_schemas::is_system_schema;
use mote_catalog::tag::CommandTag;
use mote_catalog::write_error;
use mote_executor::catalog_change::object_locks;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

impl Command for CreateSchema {
    fn name(&self) -> &'static str {
        "CREATE SCHEMA"
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        create(self, context)
    }
}

/// Stands for a schema as a whole among its names: no object has this one.
const IN_USE: &str = "\0";

/// The schema that a new object of this name goes to: the session's own for a temporary one.
pub(super) fn schema_for_new(
    name: &RelationName,
    persistence: Persistence,
    context: &mut StatementContext<'_>,
) -> SqlResult<(Oid, String)> {
    let catalog = &context.session.catalog;
    // The session's temporary schema has a name of its own besides pg_temp; both mean it.
    let own = catalog.temporary_schema().map(|(_, own)| own);
    let is_own = |schema: &str| schema == PG_TEMP || Some(schema) == own;
    match name.schema.as_deref() {
        Some(schema) if is_own(schema) && persistence == Persistence::Unlogged => {
            return Err(SqlError::new(
                state::INVALID_TABLE_DEFINITION,
                "only temporary relations may be created in temporary schemas",
            )
            .at(name.location.position(&context.session.statement_text)));
        }
        // A permanent table in the temporary schema is temporary.
        Some(schema) if is_own(schema) => {}
        None if persistence == Persistence::Temporary => {}
        Some(_) if persistence == Persistence::Temporary => {
            return Err(SqlError::new(
                state::INVALID_TABLE_DEFINITION,
                "cannot create temporary relation in non-temporary schema",
            )
            .at(name.location.position(&context.session.statement_text)));
        }
        _ => return schema_for_creation(name, context),
    }
    // What is done in another's name must leave nothing behind in the session.
    context.session.require_unrestricted("create temporary table")?;
    mote_catalog::privileges::require_temporary(&context.session.catalog)?;
    let pid = context.session.pid;
    // Made at the first temporary object of the session.
    Ok(context.session.catalog.make_temporary_schema(pid))
}

/// The engine's table behind a relation.
pub(super) fn make_storage(
    relation: &StoredRelation,
    definition: &TableDefinition,
    context: &mut StatementContext<'_>,
) -> SqlResult<TableId> {
    context.engine_call(|transaction| match relation.temporary {
        true => transaction.create_temporary_table(definition),
        false => transaction.create_table(definition),
    })
}

/// The schema that a new permanent object of this name goes to. It stays for as long as the transaction lasts.
pub(super) fn schema_for_creation(
    name: &RelationName,
    context: &mut StatementContext<'_>,
) -> SqlResult<(Oid, String)> {
    // The name may lead elsewhere by the time the schema is kept: then the other one is asked about, privileges
    // included.
    loop {
        let (oid, schema) = named_schema_for_creation(name, context)?;
        privileges::require_schema(&context.session.catalog, oid, privilege::CREATE)?;
        if keep_schema(oid, context)? {
            return Ok((oid, schema));
        }
    }
}

/// The schema that ALTER .. SET SCHEMA of an object names. It stays for as long as the transaction lasts.
pub(super) fn schema_to_move_to(
    name: &str,
    temporary: bool,
    context: &mut StatementContext<'_>,
) -> SqlResult<Oid> {
    let undefined = || {
        SqlError::new(
            state::INVALID_SCHEMA_NAME,
            format!("schema \"{name}\" does not exist"),
        )
    };
    let oid = context.session.catalog.schema_oid(name).ok_or_else(undefined)?;
    if temporary || context.session.catalog.is_temporary_schema(oid) {
        return Err(SqlError::new(
            state::FEATURE_NOT_SUPPORTED,
            "cannot move objects into or out of temporary schemas",
        ));
    }
    // Behind the question whether it exists, as in PostgreSQL.
    privileges::require_schema(&context.session.catalog, oid, privilege::CREATE)?;
    match keep_schema(oid, context)? {
        true => Ok(oid),
        false => Err(undefined()),
    }
}

/// The schema of this name, which stays for as long as the transaction lasts.
pub(super) fn kept_schema(name: &str, context: &mut StatementContext<'_>) -> SqlResult<Oid> {
    let undefined = || {
        SqlError::new(
            state::INVALID_SCHEMA_NAME,
            format!("schema \"{name}\" does not exist"),
        )
    };
    let oid = context.session.catalog.schema_oid(name).ok_or_else(undefined)?;
    match keep_schema(oid, context)? {
        true => Ok(oid),
        false => Err(undefined()),
    }
}

/// Keeps a schema from being dropped until the transaction is over; false if it was dropped while we waited.
fn keep_schema(schema: Oid, context: &mut StatementContext<'_>) -> SqlResult<bool> {
    // Shared: many may make objects in it at once. DROP SCHEMA takes it exclusively.
    object_locks::lock_name(schema, IN_USE, AdvisoryMode::Shared, context)?;
    Ok(context.session.catalog.current().schemas.contains_key(&schema))
}

/// Waits until nobody makes objects in a schema, and keeps others from beginning to.
pub(super) fn lock_schema_for_drop(schema: Oid, context: &mut StatementContext<'_>) -> SqlResult<()> {
    object_locks::lock_name(schema, IN_USE, AdvisoryMode::Exclusive, context)
}

/// The schema that a name tells, or the first of the path that is there; not yet kept.
fn named_schema_for_creation(
    name: &RelationName,
    context: &StatementContext<'_>,
) -> SqlResult<(Oid, String)> {
    let catalog = &context.session.catalog;
    let Some(schema) = &name.schema else {
        return catalog.creation_schema().ok_or_else(|| {
            SqlError::new(
                state::INVALID_SCHEMA_NAME,
                "no schema has been selected to create in",
            )
        });
    };
    if is_system_schema(schema) {
        return Err(SqlError::new(
            state::INSUFFICIENT_PRIVILEGE,
            format!("permission denied to create \"{schema}.{}\"", name.name),
        )
        .detail("System catalog modifications are currently disallowed."));
    }
    let oid = catalog.schema_oid(schema).ok_or_else(|| {
        SqlError::new(
            state::INVALID_SCHEMA_NAME,
            format!("schema \"{schema}\" does not exist"),
        )
    })?;
    Ok((oid, schema.to_string()))
}

/// Takes a name for the rest of the transaction: whoever else wants to make an object of this name waits.
pub(super) fn reserve_name(schema: Oid, name: &str, context: &mut StatementContext<'_>) -> SqlResult<()> {
    object_locks::lock_name(schema, name, AdvisoryMode::Exclusive, context)
}

/// A relation without storage and constraints yet, under a new OID, with the privileges that it has by default.
pub(super) fn new_relation(
    schema: Oid,
    name: &str,
    kind: StoredKind,
    owner: u32,
    columns: Vec<StoredColumn>,
    context: &StatementContext<'_>,
) -> StoredRelation {
    let privileged = match kind {
        StoredKind::Sequence => AclKind::Sequence,
        StoredKind::Table | StoredKind::View | StoredKind::MaterializedView => AclKind::Table,
    };
    StoredRelation {
        revision: Revision::default(),
        // OIDs do not roll back: one that was not used stays unused.
        oid: context.database.catalog().allocate_oid().0,
        schema: schema.0,
        name: name.to_string(),
        kind,
        owner,
        // The engine's number comes with the storage (`make_storage`).
        table: 0,
        columns,
        indexes: Vec::new(),
        constraints: Vec::new(),
        view_query: None,
        populated: true,
        triggers: Vec::new(),
        foreign_key_firing: None,
        depends_on: Vec::new(),
        sequence: None,
        // ALTER DEFAULT PRIVILEGES decides as it stands now.
        acl: new_privileges::of_new(privileged, owner, schema, context),
        comment: None,
        options: Vec::new(),
        temporary: context.session.catalog.is_temporary_schema(schema),
        unlogged: false,
        on_commit: StoredOnCommit::default(),
        replica_identity: StoredReplicaIdentity::default(),
        parents: Vec::new(),
        partitioning: None,
        partition: None,
    }
}

/// Is the schema in the session's database? The catalog holds all of them, and what a text names without a database is in
/// that of the text.
pub(super) fn is_in_this_database(schema: u32, context: &StatementContext<'_>) -> bool {
    let catalog = context.session.catalog.current();
    let schema = catalog.schemas.get(&Oid(schema));
    schema.is_none_or(|schema| Oid(schema.object.database) == context.session.catalog.database)
}

/// `schema.relation`, quoted where needed.
pub(super) fn qualified_name(relation: &StoredRelation, context: &StatementContext<'_>) -> String {
    format!(
        "{}.{}",
        deparse::identifier(&schema_name(relation, context)),
        deparse::identifier(&relation.name)
    )
}

/// A table as FROM reads the rows that are in it, those of the tables below it left out.
pub(super) fn own_rows(relation: &StoredRelation, context: &StatementContext<'_>) -> String {
    format!("ONLY {}", qualified_name(relation, context))
}

/// The name of a relation's schema.
pub(super) fn schema_name(relation: &StoredRelation, context: &StatementContext<'_>) -> String {
    let catalog = context.session.catalog.current();
    let schema = catalog.schemas.get(&Oid(relation.schema));
    schema.map(|s| s.object.name.clone()).unwrap_or_default()
}

/// `[schema.]name` as the name of a relation.
pub(super) fn relation_name(name: &QualifiedName) -> RelationName {
    let parts = &name.parts;
    let part = |from_end: usize| parts.len().checked_sub(from_end).map(|at| parts[at].clone());
    RelationName {
        catalog: part(3),
        schema: part(2),
        name: name.last().into(),
        location: name.location,
    }
}

/// The relation in `[schema.]relation.part`.
pub(super) fn relation_of_part(name: &QualifiedName) -> RelationName {
    let count = name.parts.len().saturating_sub(1);
    relation_name(&QualifiedName {
        parts: name.parts[..count].to_vec(),
        location: name.location,
    })
}

/// OID of an existing role.
pub(super) fn role_oid(role: &RoleSpecification, context: &StatementContext<'_>) -> SqlResult<Oid> {
    let session = &context.session;
    let name = match role {
        RoleSpecification::Name { name, .. } => &**name,
        RoleSpecification::CurrentRole | RoleSpecification::CurrentUser => {
            return Ok(session.identity().user_oid);
        }
        RoleSpecification::SessionUser => &session.identity().session_user,
        // PUBLIC is no role, but the grammar lets it stand where one may.
        RoleSpecification::Public => {
            return Err(SqlError::new(
                state::UNDEFINED_OBJECT,
                "role \"public\" does not exist",
            ));
        }
    };
    let catalog = session.catalog.current();
    let role = catalog.role_by_name(name).map(|role| Oid(role.object.oid));
    role.ok_or_else(|| SqlError::new(state::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist")))
}

/// Whether a relation, an index or a composite type bears the name: they share one space of names. Exact only once
/// the name is reserved.
pub(super) fn relation_exists(schema: Oid, name: &str, context: &StatementContext<'_>) -> bool {
    let catalog = context.session.catalog.current();
    // A composite type is a relation without rows.
    let composite = || {
        catalog
            .user_type_named(schema, name)
            .is_some_and(|ty| ty.stored.attributes.is_some())
    };
    catalog.name(schema, name).is_some() || composite()
}

/// Refuses a relation whose row type would have the name of a type that is there.
pub(super) fn require_free_row_type(
    schema: Oid,
    name: &str,
    context: &StatementContext<'_>,
) -> SqlResult<()> {
    let catalog = context.session.catalog.current();
    let made = catalog.user_type_named(schema, name).is_some();
    if !made && catalog.extension_type_named(schema, name).is_none() {
        return Ok(());
    }
    let message = format!("type \"{name}\" already exists");
    Err(SqlError::new(state::DUPLICATE_OBJECT, message).hint(
        "A relation has an associated type of the same name, so you must use a name that doesn't conflict with any existing type.",
    ))
}

pub(super) fn already_exists(name: &str) -> SqlError {
    SqlError::new(
        state::DUPLICATE_TABLE,
        format!("relation \"{name}\" already exists"),
    )
}

/// A message that does not end the statement, unless the client does not want to hear it.
pub(super) fn send_notice(notice: SqlError, context: &mut StatementContext<'_>) {
    // Asked here, so that nobody builds a message for a client that does not want it.
    if context.session.settings.effective.client_min_messages <= Severity::Notice {
        context.host.notice(notice.severity(Severity::Notice));
    }
}

/// A schema of this database, its name reserved and its owner asked for, ready to be changed.
pub(super) fn schema_to_change(name: &str, context: &mut StatementContext<'_>) -> SqlResult<StoredSchema> {
    let undefined = || {
        SqlError::new(
            state::INVALID_SCHEMA_NAME,
            format!("schema \"{name}\" does not exist"),
        )
    };
    let oid = context.session.catalog.schema_oid(name).ok_or_else(undefined)?;
    // By its OID: the name may change while others wait.
    reserve_name(oid, "", context)?;
    let catalog = context.session.catalog.current();
    let entry = catalog.schemas.get(&oid).ok_or_else(undefined)?;
    if !privileges::is_member(&context.session.catalog, Oid(entry.object.owner)) {
        return Err(SqlError::new(
            state::INSUFFICIENT_PRIVILEGE,
            format!("must be owner of schema {name}"),
        ));
    }
    Ok(entry.object.clone())
}

/// A WARNING, unless the client does not want to hear it.
pub(super) fn warning(code: mote_common::SqlState, message: String, context: &mut StatementContext<'_>) {
    if context.session.settings.effective.client_min_messages <= Severity::Warning {
        let warning = SqlError::new(code, message);
        context.host.notice(warning.severity(Severity::Warning));
    }
}

/// A DEBUG message, for a client that wants to hear so much.
pub(super) fn debug(message: String, context: &mut StatementContext<'_>) {
    if context.session.settings.effective.client_min_messages <= Severity::Debug {
        let debug = SqlError::new(state::SUCCESSFUL_COMPLETION, message);
        context.host.notice(debug.severity(Severity::Debug));
    }
}

/// Whether the current user owns the database that the session is connected to.
pub(super) fn owns_database(context: &StatementContext<'_>) -> bool {
    let catalog = context.session.catalog.current();
    let database = catalog.databases.get(&context.session.catalog.database);
    database
        .is_some_and(|database| privileges::is_member(&context.session.catalog, Oid(database.object.owner)))
}

/// The tables and materialized views of this database, oldest first.
pub(super) fn all_tables(context: &StatementContext<'_>) -> Vec<Arc<RelationEntry>> {
    let session = &context.session.catalog;
    let catalog = session.current();
    let here = |entry: &&Arc<RelationEntry>| {
        let schema = catalog.schemas.get(&Oid(entry.stored.schema));
        entry.stored.kind.has_rows()
            && schema.is_some_and(|schema| schema.object.database == session.database.0)
    };
    let mut tables: Vec<_> = catalog.relations().filter(here).cloned().collect();
    tables.sort_by_key(|entry| entry.stored.oid);
    tables
}

/// The partitions of a table at all levels, the table itself not among them.
pub(super) fn partitions_of(table: Oid, context: &StatementContext<'_>) -> Vec<Oid> {
    let catalog = context.session.catalog.current();
    let mut found = vec![table];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        next += 1;
        // Tables that inherit without being partitions are no part of it. Detached halfway, a partition still counts.
        let is_partition = |child: &Oid| {
            let child = catalog.relation(*child);
            child.is_some_and(|child| child.stored.partition.is_some())
        };
        found.extend(catalog.all_children_of(parent).filter(is_partition));
    }
    found.split_off(1)
}

/// Waits for everybody who holds the table in a mode that conflicts with `mode`, and keeps nobody out meanwhile.
pub(super) fn wait_for_lockers(
    table: TableId,
    mode: TableLockMode,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let mut lockers = context.transaction.lockers(table, mode);
    context.engine_call(|transaction| transaction.wait_for_lockers(&mut lockers))
}

/// 42939 for names that are the system's.
pub(super) fn check_schema_name(name: &str) -> SqlResult<()> {
    if name.starts_with("pg_") {
        return Err(SqlError::new(
            state::RESERVED_NAME,
            format!("unacceptable schema name \"{name}\""),
        )
        .detail("The prefix \"pg_\" is reserved for system schemas."));
    }
    Ok(())
}

/// The NOTICE of IF NOT EXISTS and IF EXISTS.
pub(super) fn notice(code: mote_common::SqlState, message: String, context: &mut StatementContext<'_>) {
    send_notice(SqlError::new(code, message), context);
}

/// A name as it was written, without quotes.
pub(super) fn shown_name(name: &RelationName) -> String {
    match &name.schema {
        Some(schema) => format!("{schema}.{}", name.name),
        None => name.name.to_string(),
    }
}

/// 42P01, with the name as it was written.
pub(super) fn undefined_table(name: &RelationName) -> SqlError {
    let shown = shown_name(name);
    SqlError::new(
        state::UNDEFINED_TABLE,
        format!("relation \"{shown}\" does not exist"),
    )
}

/// The same, where the name may be that of something that has no rows: `"i" is an index`.
pub(super) fn no_rows_there(name: &RelationName, context: &StatementContext<'_>) -> SqlError {
    match rowless(name, context) {
        Some(kind) => SqlError::new(state::WRONG_OBJECT_TYPE, format!("\"{}\" is {kind}", name.name)),
        None => undefined_table(name),
    }
}

/// What has the name, and no rows.
pub(super) fn rowless(name: &RelationName, context: &StatementContext<'_>) -> Option<&'static str> {
    let catalog = &context.session.catalog;
    catalog.rowless_by_name(name.schema.as_deref(), &name.name)
}

/// A relation by name, or None. Objects made by code have no entry and are refused.
pub(super) fn find_relation(
    name: &RelationName,
    context: &StatementContext<'_>,
) -> SqlResult<Option<Arc<RelationEntry>>> {
    // `database.schema.table`: the first part may only be the database of the session.
    if let Some(catalog) = &name.catalog
        && **catalog != context.session.catalog.database_name
    {
        return Err(SqlError::unsupported(format_args!(
            "cross-database reference \"{catalog}.{}.{}\"",
            name.schema.as_deref().unwrap_or(""),
            name.name
        )));
    }
    let catalog = &context.session.catalog;
    loop {
        let Some(relation) = catalog.relation_by_name(name.schema.as_deref(), &name.name) else {
            return Ok(None);
        };
        match catalog.entry(relation.oid) {
            Some(entry) => return Ok(Some(entry)),
            // Dropped between the two looks: the name may belong to another relation by now.
            None if relation.oid >= Oid::FIRST_USER => {}
            None => {
                return Err(SqlError::new(
                    state::INSUFFICIENT_PRIVILEGE,
                    format!("permission denied: \"{}\" is a system catalog", name.name),
                ));
            }
        }
    }
}

/// Locks a table of the given name and returns its description as of *after* the lock.
pub(super) fn lock_relation(
    name: &RelationName,
    mode: TableLockMode,
    context: &mut StatementContext<'_>,
) -> SqlResult<Option<Arc<RelationEntry>>> {
    lock_named(name, mode, WaitPolicy::Block, |_, _| Ok(()), context)
}

/// The same, if `check` has nothing against it: whoever may not have the lock shall not make others wait behind him, and
/// what the name stands for after the lock may be something else. 55P03 where `policy` says not to wait.
pub(super) fn lock_named(
    name: &RelationName,
    mode: TableLockMode,
    policy: WaitPolicy,
    check: impl Fn(&RelationEntry, &StatementContext<'_>) -> SqlResult<()>,
    context: &mut StatementContext<'_>,
) -> SqlResult<Option<Arc<RelationEntry>>> {
    let oid = |entry: &Arc<RelationEntry>| entry.stored.oid;
    let mut found = find_relation(name, context)?;
    while let Some(entry) = &found {
        // Before the lock: who has no right to it must not queue, since others would queue behind him.
        check(entry, context)?;
        let locked = lock_entry_with(entry, mode, policy, context)?;
        // The name may belong to another relation since.
        let named = find_relation(name, context)?;
        // Under the lock the name still means this relation, or is gone altogether.
        if named.as_ref().map(oid) == locked.as_ref().map(oid) {
            if let Some(entry) = &named {
                // Owner and kind may have changed while we waited.
                check(entry, context)?;
            }
            return Ok(named);
        }
        found = named;
    }
    Ok(None)
}

/// Locks a relation and returns its description as of *after* the lock; None: it was dropped while we waited.
pub(super) fn lock_entry(
    entry: &RelationEntry,
    mode: TableLockMode,
    context: &mut StatementContext<'_>,
) -> SqlResult<Option<Arc<RelationEntry>>> {
    lock_entry_with(entry, mode, WaitPolicy::Block, context)
}

/// The same; 55P03 where `policy` says not to wait.
///
/// The engine's lock of a table belongs to its storage, and TRUNCATE gives it another one: who waited for the old one
/// has to take the new one, too, or would change a table that others read.
pub(super) fn lock_entry_with(
    entry: &RelationEntry,
    mode: TableLockMode,
    policy: WaitPolicy,
    context: &mut StatementContext<'_>,
) -> SqlResult<Option<Arc<RelationEntry>>> {
    // A transaction that has touched temporary objects cannot be prepared.
    if entry.stored.temporary {
        context.session.catalog.note_temporary_use();
    }
    let oid = Oid(entry.stored.oid);
    let mut tag = lock_tag(entry);
    loop {
        match tag {
            Some(table) => lock_storage(table, entry, mode, policy, context)?,
            // Views have no storage of rows: their name stands for them.
            None => reserve_name(oid, "", context)?,
        }
        // Both may have changed while the lock was waited for: TRUNCATE gives another storage, DROP none at all.
        let current = context.session.catalog.entry(oid);
        match current.as_deref().map(lock_tag) {
            Some(other) if other != tag => tag = other,
            _ => return Ok(current),
        }
    }
}

fn lock_storage(
    table: TableId,
    entry: &RelationEntry,
    mode: TableLockMode,
    policy: WaitPolicy,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    if policy == WaitPolicy::Block {
        return context.engine_call(|transaction| transaction.lock_table(table, mode, WaitPolicy::Block));
    }
    // With NOWAIT and SKIP LOCKED there is no wait that could be suspended.
    context
        .transaction
        .lock_table(table, mode, policy)
        .map_err(|error| match error {
            WriteError::WouldBlock => SqlError::new(
                state::LOCK_NOT_AVAILABLE,
                format!("could not obtain lock on relation \"{}\"", entry.stored.name),
            ),
            error => write_error::lock_error(error),
        })
}

/// What the engine's lock of a relation is about; None for what has no storage.
fn lock_tag(entry: &RelationEntry) -> Option<TableId> {
    match (entry.described.table, entry.stored.kind) {
        // A sequence's values live outside of tables: its lock has a number of its own.
        (_, StoredKind::Sequence) => Some(sequence_lock(Oid(entry.stored.oid))),
        (TableId(0), _) => None,
        (table, _) => Some(table),
    }
}

/// A relation of any kind that the user owns, locked for a change of its definition. None: there is none of the name.
pub(super) fn relation_for_change(
    name: &RelationName,
    mode: TableLockMode,
    context: &mut StatementContext<'_>,
) -> SqlResult<Option<StoredRelation>> {
    let Some(entry) = lock_relation(name, mode, context)? else {
        return Ok(None);
    };
    require_owner(&entry.stored, context)?;
    Ok(Some(entry.stored.clone()))
}

/// `"v" is not a table`.
pub(super) fn wrong_kind(name: &str, wanted: &str) -> SqlError {
    let message = format!("\"{name}\" is not a {wanted}");
    SqlError::new(state::WRONG_OBJECT_TYPE, message)
}

/// 42501 for whoever is not a member of the owner.
pub(super) fn require_owner(relation: &StoredRelation, context: &StatementContext<'_>) -> SqlResult<()> {
    if privileges::is_member(&context.session.catalog, Oid(relation.owner)) {
        return Ok(());
    }
    let kind = relation.kind.word();
    Err(SqlError::new(
        state::INSUFFICIENT_PRIVILEGE,
        format!("must be owner of {kind} {}", relation.name),
    ))
}

/// An index belongs to the owner of its table.
pub(super) fn require_index_owner(
    table: &StoredRelation,
    index: &str,
    context: &StatementContext<'_>,
) -> SqlResult<()> {
    if privileges::is_member(&context.session.catalog, Oid(table.owner)) {
        return Ok(());
    }
    let message = format!("must be owner of index {index}");
    Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message))
}

/// ALTER of a kind that an index of a partitioned table does not take.
pub(super) fn not_of_partitioned_indexes(action: &str, index: &str) -> SqlError {
    let message = format!("ALTER action {action} cannot be performed on relation \"{index}\"");
    SqlError::new(state::WRONG_OBJECT_TYPE, message)
        .detail("This operation is not supported for partitioned indexes.")
}

/// NAMEDATALEN without its end.
pub(super) const NAME_BYTES_MAX: usize = 63;

/// PostgreSQL's way of naming what nobody named: `table_column_suffix`, made unique by a number. Clients compute the name of a
/// serial column's sequence themselves, so it is cut to 63 bytes as there: from the longer of the first part and the others.
pub(super) fn choose_name(
    schema: Oid,
    parts: &[impl AsRef<str>],
    suffix: &str,
    taken: impl Fn(&str) -> bool,
    context: &StatementContext<'_>,
) -> String {
    let (first, others) = parts.split_first().expect("a name begins with a part");
    let first = first.as_ref();
    let others: Vec<&str> = others.iter().map(AsRef::as_ref).collect();
    let others = others.join("_");
    for attempt in 0.. {
        let suffix = if attempt == 0 {
            suffix.to_string()
        } else {
            format!("{suffix}{attempt}")
        };
        // The underscores: one before the suffix, one between the parts.
        let joints = if others.is_empty() { 1 } else { 2 };
        let room = NAME_BYTES_MAX - suffix.len() - joints;
        let (mut of_first, mut of_others) = (first.len(), others.len());
        // PostgreSQL's makeObjectName: the longer part gives way, byte by byte.
        while of_first + of_others > room {
            match of_first > of_others {
                true => of_first -= 1,
                false => of_others -= 1,
            }
        }
        // Never within a character (pg_mbcliplen there).
        let mut name = first[..first.floor_char_boundary(of_first)].to_string();
        if !others.is_empty() {
            name.push('_');
            name.push_str(&others[..others.floor_char_boundary(of_others)]);
        }
        name.push('_');
        name.push_str(&suffix);
        // `taken` knows of names that the same statement has given and not written yet.
        if !taken(&name) && !relation_exists(schema, &name, context) {
            return name;
        }
    }
    unreachable!("some number is free")
}

/// A role's name; empty if it is gone.
pub(super) fn role_name(role: Oid, context: &StatementContext<'_>) -> String {
    let catalog = context.session.catalog.current();
    catalog
        .roles
        .get(&role)
        .map(|role| role.object.name.clone())
        .unwrap_or_default()
}

/// CREATE SCHEMA, with the objects that it makes in it.
pub(super) fn create(create: &CreateSchema, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    let owner = match &create.owner {
        Some(role) => role_oid(role, context)?,
        None => context.session.identity().user_oid,
    };
    // Whoever makes a schema for another must be able to become that one.
    privileges::require_member(&context.session.catalog, owner)?;
    // Without a name of its own the schema bears its owner's.
    let name = match &create.name {
        Some(name) => name.to_string(),
        None => role_name(owner, context),
    };
    let database = context.session.catalog.database;
    if !privileges::may_create_schemas(
        &context.session.catalog,
        database,
        context.session.identity().user_oid,
    ) {
        return Err(privileges::denied(
            "database",
            &context.session.catalog.database_name,
        ));
    }
    check_schema_name(&name)?;
    // Before the look: the answer stays true until the transaction ends.
    reserve_name(database, &name, context)?;
    if context.session.catalog.schema_exists(&name) {
        let message = format!("schema \"{name}\" already exists");
        if create.if_not_exists {
            notice(state::DUPLICATE_SCHEMA, format!("{message}, skipping"), context);
            return Ok(CommandTag::Word("CREATE SCHEMA"));
        }
        return Err(SqlError::new(state::DUPLICATE_SCHEMA, message));
    }
    let oid = context.database.catalog().allocate_oid();
    let object = StoredObject::Schema(StoredSchema {
        revision: Revision::default(),
        oid: oid.0,
        database: database.0,
        name: name.clone(),
        owner: owner.0,
        // Default privileges for schemas belong to no schema.
        acl: new_privileges::of_new(AclKind::Schema, owner.0, Oid::INVALID, context),
        comment: None,
    });
    write::put(object, context)?;
    // In the owner's name and with the new schema in front of the path.
    if !create.elements.is_empty() {
        schema_elements::run(&name, owner, &create.elements, context)?;
    }
    Ok(CommandTag::Word("CREATE SCHEMA"))
}
