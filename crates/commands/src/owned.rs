//! DROP OWNED and REASSIGN OWNED: everything of the session's database that roles own, and what they were granted.
//!
//! PostgreSQL: shdepDropOwned and shdepReassignOwned (pg_shdepend.c). Of what all databases share only privileges on databases are taken back, and databases are given to the new owner.

use std::collections::BTreeSet;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_grammar::ast::{
    Drop, DropBehavior, DropOwned, Name, ObjectKind, ObjectReference, QualifiedName, ReassignOwned,
    RoleSpecification,
};

use super::{
    acl, cascade, default_privileges, drop, dropping, large_object, ownership, privileges, schema, uses,
};
use crate::utility::{Command, Issued};
use mote_catalog::catalog_store::Catalog;
use mote_catalog::catalog_store::predefined_roles::is_predefined;
use mote_catalog::catalog_store::stored::{StoredAcl, StoredObject};
use mote_catalog::database::builtin::SUPERUSER;
use mote_catalog::tag::CommandTag;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

impl Command for DropOwned {
    fn name(&self) -> &'static str {
        "DROP OWNED"
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        let roles = checked(&self.roles, "drop objects", "drop objects", context)?;
        drop_owned(&roles, self.behavior, context)?;
        Ok(CommandTag::Word("DROP OWNED"))
    }
}

impl Command for ReassignOwned {
    fn name(&self) -> &'static str {
        "REASSIGN OWNED"
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        let roles = checked(
            &self.roles,
            "reassign objects",
            "reassign ownership of objects",
            context,
        )?;
        let new = schema::role_oid(&self.new_owner, context)?;
        require_privileges(new, "reassign objects", context)?;
        for role in roles {
            reassign(role, new, context)?;
        }
        Ok(CommandTag::Word("REASSIGN OWNED"))
    }
}

/// The roles, if the user has their privileges and the server does not need what they own.
fn checked(
    roles: &[RoleSpecification],
    wish: &str,
    pinned: &str,
    context: &StatementContext<'_>,
) -> SqlResult<Vec<Oid>> {
    let mut found = Vec::with_capacity(roles.len());
    for role in roles {
        let role = schema::role_oid(role, context)?;
        require_privileges(role, wish, context)?;
        found.push(role);
    }
    if let Some(needed) = found
        .iter()
        .find(|role| **role == SUPERUSER || is_predefined(**role))
    {
        let name = schema::role_name(*needed, context);
        let message =
            format!("cannot {pinned} owned by role {name} because they are required by the database system");
        return Err(SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, message));
    }
    Ok(found)
}

/// 42501 for whoever does not have the role's privileges.
fn require_privileges(role: Oid, wish: &str, context: &StatementContext<'_>) -> SqlResult<()> {
    if privileges::is_member(&context.session.catalog, role) {
        return Ok(());
    }
    let message = format!("permission denied to {wish}");
    Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message))
}

/// Objects of this database that name a role, and databases.
fn naming(role: Oid, context: &StatementContext<'_>) -> Vec<Oid> {
    let catalog = context.session.catalog.current();
    let database = context.session.catalog.database;
    let is_here = |oid: &Oid| {
        let object = catalog.object(*oid).map(|(object, _)| object.stored());
        // Objects of other databases are left to statements there; what all share is looked at from each.
        object.is_some_and(|object| database_of(&object, &catalog).is_none_or(|own| own == database))
    };
    catalog.users_of(role).filter(is_here).collect()
}

/// None: all databases share it.
fn database_of(object: &StoredObject, catalog: &Catalog) -> Option<Oid> {
    let of_schema = |schema: u32| {
        let entry = catalog.schemas.get(&Oid(schema));
        // A temporary schema stands in no catalog but its session's.
        entry.map_or(Oid::INVALID, |entry| Oid(entry.object.database))
    };
    match object {
        StoredObject::Database(_) | StoredObject::Role(_) | StoredObject::ClusterSettings(_) => None,
        StoredObject::Schema(schema) => Some(Oid(schema.database)),
        StoredObject::Extension(extension) => Some(Oid(extension.database)),
        StoredObject::Publication(publication) => Some(Oid(publication.database)),
        StoredObject::Cast(cast) => Some(Oid(cast.database)),
        StoredObject::DefaultAcl(defaults) => Some(Oid(defaults.key.database)),
        StoredObject::Relation(relation) => Some(of_schema(relation.schema)),
        StoredObject::Routine(routine) => Some(of_schema(routine.schema)),
        StoredObject::Type(ty) => Some(of_schema(ty.schema)),
        // They name no role.
        StoredObject::Statistics(_) => None,
    }
}

/// The object as it is once nobody else can change it; None: it is gone.
fn held(oid: Oid, context: &mut StatementContext<'_>) -> SqlResult<Option<StoredObject>> {
    let catalog = context.session.catalog.current();
    if let Some(entry) = catalog.relation(oid).cloned() {
        let mode = mote_engine::TableLockMode::AccessExclusive;
        let locked = schema::lock_entry(&entry, mode, context)?;
        return Ok(locked.map(|entry| StoredObject::Relation(entry.stored.clone())));
    }
    // By the lock that changes of the object take.
    write::hold(oid, context)?;
    let catalog = context.session.catalog.current();
    Ok(catalog.object(oid).map(|(object, _)| object.stored()))
}

/// The owner of an object and, if it has one, its list of privileges.
fn owner_of(object: &mut StoredObject) -> Option<(&mut u32, Option<&mut Vec<StoredAcl>>)> {
    match object {
        StoredObject::Database(database) => Some((&mut database.owner, Some(&mut database.acl))),
        StoredObject::Schema(schema) => Some((&mut schema.owner, Some(&mut schema.acl))),
        StoredObject::Relation(relation) => Some((&mut relation.owner, Some(&mut relation.acl))),
        StoredObject::Routine(routine) => Some((&mut routine.owner, Some(&mut routine.acl))),
        StoredObject::Type(ty) => Some((&mut ty.owner, Some(&mut ty.acl))),
        StoredObject::Extension(extension) => Some((&mut extension.owner, None)),
        StoredObject::Publication(publication) => Some((&mut publication.owner, None)),
        StoredObject::Role(_)
        | StoredObject::Cast(_)
        | StoredObject::DefaultAcl(_)
        | StoredObject::ClusterSettings(_)
        | StoredObject::Statistics(_) => None,
    }
}

/// Gives what one role owns to another. Privileges that the old owner granted are the new one's grants then.
fn reassign(old: Oid, new: Oid, context: &mut StatementContext<'_>) -> SqlResult<()> {
    for oid in naming(old, context) {
        let Some(mut object) = held(oid, context)? else {
            continue;
        };
        let Some((owner, list)) = owner_of(&mut object) else {
            continue;
        };
        if *owner != old.0 {
            continue;
        }
        *owner = new.0;
        if let Some(list) = list {
            acl::change_owner(list, old.0, new.0);
        }
        require_place(&object, new, context)?;
        write::put(object, context)?;
    }
    large_object::reassign(old, new, context)
}

/// The new owner must be able to make such an object where it is, unless a superuser says so.
fn require_place(object: &StoredObject, new: Oid, context: &StatementContext<'_>) -> SqlResult<()> {
    if context.session.identity().superuser {
        return Ok(());
    }
    let session = &context.session.catalog;
    let schema = match object {
        StoredObject::Relation(relation) => relation.schema,
        StoredObject::Routine(routine) => routine.schema,
        StoredObject::Type(ty) => ty.schema,
        StoredObject::Schema(_) if !privileges::may_create_schemas(session, session.database, new) => {
            return Err(privileges::denied("database", &session.database_name));
        }
        _ => return Ok(()),
    };
    ownership::require_schema(schema, new, context)
}

/// Drops what the roles own here, and takes back what they were granted on other objects.
fn drop_owned(roles: &[Oid], behavior: DropBehavior, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let mut named: Vec<Oid> = roles.iter().flat_map(|role| naming(*role, context)).collect();
    named.sort();
    named.dedup();
    let mut owned = BTreeSet::new();
    // Locked one after the other, in the order of OIDs.
    for oid in named {
        let Some(mut object) = held(oid, context)? else {
            continue;
        };
        // Databases are never dropped by this; privileges on them go.
        let is_shared = matches!(object, StoredObject::Database(_));
        match owner_of(&mut object).map(|(owner, _)| Oid(*owner)) {
            Some(owner) if !is_shared && roles.contains(&owner) => {
                owned.insert(oid);
            }
            _ => take_back(object, roles, context)?,
        }
    }
    drop_all(&owned, behavior, context)?;
    large_object::drop_owned(roles, context)
}

/// What was granted to the roles, and what they have passed on. Their own default privileges go whole.
fn take_back(mut object: StoredObject, roles: &[Oid], context: &mut StatementContext<'_>) -> SqlResult<()> {
    let (owner, list) = match &mut object {
        StoredObject::DefaultAcl(defaults) if roles.contains(&Oid(defaults.key.role)) => {
            return write::remove(Oid(defaults.oid), context);
        }
        StoredObject::DefaultAcl(defaults) => (defaults.key.role, &mut defaults.acl),
        other => match owner_of(other) {
            Some((owner, Some(list))) => (*owner, list),
            _ => return Ok(()),
        },
    };
    let before = list.clone();
    for role in roles {
        ownership::revoke_all(list, role.0, owner)?;
    }
    if *list == before {
        return Ok(());
    }
    if let StoredObject::DefaultAcl(defaults) = &object {
        return match default_privileges::says_nothing(defaults) {
            true => write::remove(object.oid(), context),
            false => write::put(object, context),
        };
    }
    if !privileges::is_member(&context.session.catalog, Oid(owner)) {
        ownership::not_taken_back(object.object().name(), context);
        return Ok(());
    }
    write::put(object, context)
}

/// Drops objects together: what they need of one another does not count.
fn drop_all(
    owned: &BTreeSet<Oid>,
    behavior: DropBehavior,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let catalog = context.session.catalog.current();
    // Members of an extension go with it, or stay with it.
    let member = |oid: &Oid| {
        let mut extensions = catalog.extensions.values();
        extensions.any(|entry| entry.object.members.contains(&oid.0))
    };
    let own = || owned.iter().filter(|oid| !member(oid));
    let relations: Vec<_> = own().filter_map(|oid| catalog.relation(*oid).cloned()).collect();
    let mut routines: Vec<_> = own().filter_map(|oid| catalog.routine(*oid).cloned()).collect();
    let mut types: Vec<_> = own().filter_map(|oid| catalog.user_type(*oid).cloned()).collect();
    let extensions: Vec<String> = own()
        .filter_map(|oid| catalog.extensions.get(oid).map(|entry| entry.object.name.clone()))
        .collect();
    let publications: Vec<String> = own()
        .filter_map(|oid| {
            catalog
                .publications
                .get(oid)
                .map(|entry| entry.object.name.clone())
        })
        .collect();
    let schemas: Vec<String> = own()
        .filter_map(|oid| catalog.schemas.get(oid).map(|entry| entry.object.name.clone()))
        .collect();
    let subject = match (relations.as_slice(), routines.as_slice(), types.as_slice()) {
        ([one], [], []) => dropping::described(&one.stored, context),
        ([], [one], []) => uses::texts::described(one, context),
        ([], [], [one]) => uses::types::described(one),
        _ => dropping::SEVERAL.to_string(),
    };
    // Relations first: routines and types may go with them.
    cascade::relations::members(&relations, &subject, behavior, context)?;
    let current = context.session.catalog.current();
    routines.retain(|entry| current.routine(Oid(entry.stored.oid)).is_some());
    cascade::routines::drop_all(&routines, &subject, behavior, context)?;
    let current = context.session.catalog.current();
    types.retain(|entry| current.user_type(Oid(entry.stored.oid)).is_some());
    cascade::types::drop_all(&types, &subject, behavior, context)?;
    drop_named(ObjectKind::Publication, publications, behavior, context)?;
    drop_named(ObjectKind::Extension, extensions, behavior, context)?;
    // By now they are empty of what the roles own; what others have in them counts as a dependent.
    drop_named(ObjectKind::Schema, schemas, behavior, context)
}

/// Extensions and schemas by the statement that drops them.
fn drop_named(
    kind: ObjectKind,
    names: Vec<String>,
    behavior: DropBehavior,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let named = |name: String| {
        ObjectReference::Name(QualifiedName {
            parts: vec![Name::from(name)],
            location: mote_grammar::ast::Location::NONE,
        })
    };
    let statement = Drop {
        kind,
        objects: names.into_iter().map(named).collect(),
        if_exists: false,
        behavior,
        concurrently: false,
    };
    drop::run(&statement, context).map(|_| ())
}
