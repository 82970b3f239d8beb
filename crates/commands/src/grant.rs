//! GRANT and REVOKE: privileges on tables, views, sequences, schemas, databases, functions, types and large objects, and
//! membership in roles. PostgreSQL: aclchk.c and user.c. What a GRANT does to one list is `acl_change`'s.

use mote_common::error::{Severity, state};
use mote_common::{Oid, SqlError, SqlResult, SqlState};
use mote_engine::TableLockMode;
use mote_grammar::ast::{
    DefinitionOption, Grant, GrantRole, GrantTarget, ObjectKind, ObjectReference, OptionValue, QualifiedName,
    RoleSpecification,
};
use mote_sql::access::privilege;

use super::acl::{self, AclKind};
use super::{acl_change, database, function, large_object, privileges, schema, user_type};
use crate::utility::{Command, Issued};
use mote_catalog::catalog_store::membership::StoredMembership;
use mote_catalog::catalog_store::predefined_roles::PG_DATABASE_OWNER;
use mote_catalog::catalog_store::stored::{
    StoredKind, StoredObject, StoredRelation, StoredRole, StoredRoutine, StoredSchema,
};
use mote_catalog::tag::CommandTag;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

impl Command for Grant {
    fn name(&self) -> &'static str {
        if self.revoke { "REVOKE" } else { "GRANT" }
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        run(self, context)
    }
}

impl Command for GrantRole {
    fn name(&self) -> &'static str {
        if self.revoke { "REVOKE ROLE" } else { "GRANT ROLE" }
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        role(self, context)
    }
}

const INVALID_GRANT_OPERATION: SqlState = SqlState::new("0LP01");

/// GRANT and REVOKE of privileges, on each object in the order written: PostgreSQL's ExecuteGrantStmt (aclchk.c).
pub(super) fn run(grant: &Grant, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    let tag = CommandTag::Word(if grant.revoke { "REVOKE" } else { "GRANT" });
    // GRANTED BY is there for the standard's sake: only oneself can be named.
    if let Some(role) = &grant.granted_by
        && schema::role_oid(role, context)? != context.session.identity().user_oid
    {
        return Err(SqlError::new(
            state::FEATURE_NOT_SUPPORTED,
            "grantor must be current user",
        ));
    }
    // All grantees are looked up before the first list changes.
    let grantees = grant
        .grantees
        .iter()
        .map(|role| grantee_oid(role, context))
        .collect::<SqlResult<Vec<u32>>>()?;
    // Everybody could pass the privilege on to everybody.
    if grant.grant_option && grantees.contains(&Oid::INVALID.0) && !grant.revoke {
        return Err(SqlError::new(
            INVALID_GRANT_OPERATION,
            "grant options can only be granted to roles",
        ));
    }
    if grant.target == GrantTarget::AllInSchema {
        return all_in_schema(grant, &grantees, context).map(|()| tag);
    }
    for object in &grant.objects {
        if function::is_routine(grant.kind) {
            let entry = function::find(function::signature_of(object)?, grant.kind, context)?;
            on_routine(grant, &grantees, entry.stored.clone(), context)?;
            continue;
        }
        if grant.kind == ObjectKind::LargeObject {
            large_object::grant(grant, &grantees, object, context)?;
            continue;
        }
        if matches!(grant.kind, ObjectKind::Type | ObjectKind::Domain) {
            on_type(grant, &grantees, object, context)?;
            continue;
        }
        let ObjectReference::Name(name) = object else {
            return Err(SqlError::unsupported("GRANT on this kind of object"));
        };
        match grant.kind {
            ObjectKind::Table | ObjectKind::Sequence => {
                let relation = schema::relation_name(name);
                // Readers and writers go on: they asked for their privileges when they began.
                let entry = schema::lock_relation(&relation, TableLockMode::AccessShare, context)?
                    .ok_or_else(|| schema::undefined_table(&relation))?;
                on_relation(grant, &grantees, entry.stored.clone(), context)?;
            }
            ObjectKind::Schema => on_schema(grant, &grantees, name, context)?,
            ObjectKind::Database => on_database(grant, &grantees, name.last(), context)?,
            _ => return Err(SqlError::unsupported("GRANT on this kind of object")),
        }
    }
    Ok(tag)
}

/// A grantee's OID; 0 is PUBLIC.
fn grantee_oid(role: &RoleSpecification, context: &StatementContext<'_>) -> SqlResult<u32> {
    match role {
        RoleSpecification::Public => Ok(Oid::INVALID.0),
        other => Ok(schema::role_oid(other, context)?.0),
    }
}

/// ALL .. IN SCHEMA: what is there now. Objects that come later are ALTER DEFAULT PRIVILEGES' affair.
fn all_in_schema(grant: &Grant, grantees: &[u32], context: &mut StatementContext<'_>) -> SqlResult<()> {
    // Views and materialized views are tables here, as in PostgreSQL.
    let wanted = |kind: StoredKind| match grant.kind {
        ObjectKind::Table => Ok(kind != StoredKind::Sequence),
        ObjectKind::Sequence => Ok(kind == StoredKind::Sequence),
        _ => Err(SqlError::unsupported("GRANT on all objects of this kind")),
    };
    for object in &grant.objects {
        let ObjectReference::Name(name) = object else {
            return Err(SqlError::internal("a schema has a name"));
        };
        let oid = context
            .session
            .catalog
            .schema_oid(name.last())
            .ok_or_else(|| undefined_schema(name.last()))?;
        let catalog = context.session.catalog.current();
        if function::is_routine(grant.kind) {
            let wanted = |procedure: bool| match grant.kind {
                ObjectKind::Function => !procedure,
                ObjectKind::Procedure => procedure,
                _ => true,
            };
            let routines = catalog.routines_using(oid);
            for entry in routines.filter(|entry| entry.stored.schema == oid.0) {
                if wanted(entry.stored.procedure) {
                    on_routine(grant, grantees, entry.stored.clone(), context)?;
                }
            }
            continue;
        }
        let relations = catalog.relations_using(oid);
        for relation in relations.filter(|relation| relation.stored.schema == oid.0) {
            if wanted(relation.stored.kind)? {
                on_relation(grant, grantees, relation.stored.clone(), context)?;
            }
        }
    }
    Ok(())
}

/// GRANT and REVOKE on one routine.
fn on_routine(
    grant: &Grant,
    grantees: &[u32],
    mut routine: StoredRoutine,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let kind = match grant.kind {
        ObjectKind::Procedure => AclKind::Procedure,
        _ => AclKind::Function,
    };
    let bits = kind.bits(&grant.privileges)?;
    // Everybody may execute a routine until somebody says otherwise.
    let list = acl::with_defaults(&routine.acl, routine.owner, kind, kind.everybody());
    let (owner, name) = (routine.owner, routine.name.clone());
    routine.acl = acl_change::change(grant, grantees, bits, list, owner, &name, kind, context)?;
    write::put(StoredObject::Routine(routine), context)
}

fn undefined_schema(name: &str) -> SqlError {
    SqlError::new(
        state::INVALID_SCHEMA_NAME,
        format!("schema \"{name}\" does not exist"),
    )
}

/// GRANT and REVOKE on one relation.
fn on_relation(
    grant: &Grant,
    grantees: &[u32],
    mut relation: StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let kind = match (relation.kind, grant.kind) {
        (StoredKind::Sequence, _) => AclKind::Sequence,
        (_, ObjectKind::Sequence) => {
            return Err(SqlError::new(
                state::WRONG_OBJECT_TYPE,
                format!("\"{}\" is not a sequence", relation.name),
            ));
        }
        _ => AclKind::Table,
    };
    // ALL on a table that is a sequence means a sequence's privileges; others must fit.
    let bits = kind.bits(&grant.privileges)?;
    let list = acl::with_defaults(&relation.acl, relation.owner, kind, 0);
    relation.acl = acl_change::change(
        grant,
        grantees,
        bits,
        list,
        relation.owner,
        &relation.name,
        kind,
        context,
    )?;
    write::put(StoredObject::Relation(relation), context)
}

/// GRANT and REVOKE on one schema, which nobody else changes meanwhile.
fn on_schema(
    grant: &Grant,
    grantees: &[u32],
    name: &QualifiedName,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let oid = context
        .session
        .catalog
        .schema_oid(name.last())
        .ok_or_else(|| undefined_schema(name.last()))?;
    schema::reserve_name(oid, "", context)?;
    let catalog = context.session.catalog.current();
    let entry = catalog
        .schemas
        .get(&oid)
        .ok_or_else(|| undefined_schema(name.last()))?;
    let stored = entry.object.clone();
    let bits = AclKind::Schema.bits(&grant.privileges)?;
    // public of a new database lets everybody look into it.
    let everybody = if stored.name == privileges::PUBLIC_SCHEMA {
        privilege::USAGE
    } else {
        0
    };
    let list = acl::with_defaults(&stored.acl, stored.owner, AclKind::Schema, everybody);
    let changed = acl_change::change(
        grant,
        grantees,
        bits,
        list,
        stored.owner,
        &stored.name,
        AclKind::Schema,
        context,
    )?;
    write::put(
        StoredObject::Schema(StoredSchema {
            acl: changed,
            ..stored
        }),
        context,
    )
}

/// GRANT and REVOKE on one database.
fn on_database(
    grant: &Grant,
    grantees: &[u32],
    name: &str,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let mut stored = database::named(name, context)?;
    let kind = AclKind::Database;
    let bits = kind.bits(&grant.privileges)?;
    let list = acl::with_defaults(&stored.acl, stored.owner, kind, kind.everybody());
    stored.acl = acl_change::change(grant, grantees, bits, list, stored.owner, name, kind, context)?;
    write::put(StoredObject::Database(stored), context)
}

fn on_type(
    grant: &Grant,
    grantees: &[u32],
    object: &ObjectReference,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let kind = AclKind::Type;
    let noun = match grant.kind {
        ObjectKind::Domain => "domain",
        _ => kind.word(),
    };
    let bits = kind.bits_for(&grant.privileges, noun)?;
    let mut ty = user_type::to_grant_on(user_type::named(object)?, grant.kind, context)?;
    let list = acl::with_defaults(&ty.acl, ty.owner, kind, kind.everybody());
    let (owner, name) = (ty.owner, ty.name.clone());
    ty.acl = acl_change::change(grant, grantees, bits, list, owner, &name, kind, context)?;
    write::put(StoredObject::Type(ty), context)
}

/// GRANT role TO role, and its undoing.
pub(super) fn role(grant: &GrantRole, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    let tag = CommandTag::Word(if grant.revoke { "REVOKE ROLE" } else { "GRANT ROLE" });
    let admin = about_admin(grant)?;
    let grantor = match &grant.granted_by {
        Some(role) => schema::role_oid(role, context)?,
        None => context.session.identity().user_oid,
    };
    // All names are looked up before the first membership changes.
    let members = grant
        .grantees
        .iter()
        .map(|member| schema::role_oid(member, context))
        .collect::<SqlResult<Vec<Oid>>>()?;
    for name in &grant.roles {
        let role = RoleSpecification::Name {
            name: name.clone(),
            location: mote_grammar::ast::Location::NONE,
        };
        let role = schema::role_oid(&role, context)?;
        // PostgreSQL 15: CREATEROLE administers every role that is no superuser.
        require_admin(role, grantor, context)?;
        require_own_name(grant, grantor, context)?;
        for &member in &members {
            match grant.revoke {
                true => leave(role, member, admin, context)?,
                false => join_as(role, member, admin, grantor, context)?,
            }
        }
    }
    Ok(tag)
}

/// Whether WITH ADMIN OPTION or ADMIN OPTION FOR is written: the only option that there is in PostgreSQL 15.
fn about_admin(grant: &GrantRole) -> SqlResult<bool> {
    let of_15 = |option: &DefinitionOption| {
        let value = !grant.revoke;
        &*option.name == "admin" && option.value == Some(OptionValue::Boolean(value))
    };
    match grant.options.iter().all(of_15) {
        true => Ok(!grant.options.is_empty()),
        false => Err(SqlError::unsupported("this option of GRANT role")),
    }
}

/// Others are named as grantors by superusers alone.
fn require_own_name(grant: &GrantRole, grantor: Oid, context: &StatementContext<'_>) -> SqlResult<()> {
    let identity = context.session.identity();
    if grant.revoke || identity.superuser || grantor == identity.user_oid {
        return Ok(());
    }
    Err(SqlError::new(
        state::INSUFFICIENT_PRIVILEGE,
        "must be superuser to set grantor",
    ))
}

/// May the grantor make others members of this role?
pub(super) fn require_admin(role: Oid, grantor: Oid, context: &StatementContext<'_>) -> SqlResult<()> {
    let session = &*context.session;
    let catalog = session.catalog.current();
    if session.identity().superuser {
        return Ok(());
    }
    let entry = catalog.roles.get(&role);
    if entry.is_some_and(|entry| entry.object.superuser) {
        return Err(SqlError::new(
            state::INSUFFICIENT_PRIVILEGE,
            "must be superuser to alter superusers",
        ));
    }
    let creates_roles = catalog
        .roles
        .get(&session.identity().user_oid)
        .is_some_and(|entry| entry.object.create_role);
    if creates_roles || privileges::administers(&session.catalog, grantor, role) {
        return Ok(());
    }
    Err(SqlError::new(
        state::INSUFFICIENT_PRIVILEGE,
        format!(
            "must have admin option on role \"{}\"",
            entry.map_or("", |entry| &entry.object.name)
        ),
    ))
}

/// A role and one that is, or becomes, its member, which nobody else changes until this transaction ends.
fn both(role: Oid, member: Oid, context: &mut StatementContext<'_>) -> SqlResult<(StoredRole, StoredRole)> {
    // By the member's OID: its description holds the memberships.
    schema::reserve_name(member, "", context)?;
    let catalog = context.session.catalog.current();
    let stored = |oid: Oid| match catalog.roles.get(&oid) {
        Some(entry) => Ok(entry.object.clone()),
        None => {
            let message = format!("role {oid} was concurrently dropped");
            Err(SqlError::new(state::UNDEFINED_OBJECT, message))
        }
    };
    Ok((stored(role)?, stored(member)?))
}

/// Makes a role a member of another in the name of the session's user.
pub(super) fn join(role: Oid, member: Oid, admin: bool, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let grantor = context.session.identity().user_oid;
    join_as(role, member, admin, grantor, context)
}

/// Makes a role a member. A membership that is there is only ever widened by ADMIN.
fn join_as(
    role: Oid,
    member: Oid,
    admin: bool,
    grantor: Oid,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    if role == PG_DATABASE_OWNER {
        return Err(follows_the_database("have explicit members"));
    }
    if member == PG_DATABASE_OWNER {
        return Err(follows_the_database("be a member of any role"));
    }
    let (role, mut member) = both(role, member, context)?;
    // Membership must not go round in a circle.
    if privileges::belongs(&context.session.catalog, Oid(role.oid), Oid(member.oid)) {
        return Err(SqlError::new(
            INVALID_GRANT_OPERATION,
            format!("role \"{}\" is a member of role \"{}\"", role.name, member.name),
        ));
    }
    let terms = StoredMembership {
        role: role.oid,
        grantor: grantor.0,
        admin,
    };
    match member.member_of.iter_mut().find(|known| known.role == role.oid) {
        Some(known) if known.admin || !admin => {
            let message = format!(
                "role \"{}\" is already a member of role \"{}\"",
                member.name, role.name
            );
            schema::notice(state::SUCCESSFUL_COMPLETION, message, context);
            return Ok(());
        }
        Some(known) => *known = terms,
        None => member.member_of.push(terms),
    }
    write::put(StoredObject::Role(member), context)
}

/// Who belongs to pg_database_owner is who owns the database, whatever is said.
fn follows_the_database(what: &str) -> SqlError {
    SqlError::new(
        state::INTERNAL_ERROR,
        format!("role \"pg_database_owner\" cannot {what}"),
    )
}

/// Ends a membership or, with `admin_only`, the right to make others members.
pub(super) fn leave(
    role: Oid,
    member: Oid,
    admin_only: bool,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let (role, mut member) = both(role, member, context)?;
    // A warning only, as in PostgreSQL.
    if !member.belongs_to(role.oid) {
        let message = format!(
            "role \"{}\" is not a member of role \"{}\"",
            member.name, role.name
        );
        context
            .host
            .notice(SqlError::new(state::WARNING, message).severity(Severity::Warning));
        return Ok(());
    }
    match admin_only {
        true => {
            let terms = member.member_of.iter_mut().filter(|known| known.role == role.oid);
            terms.for_each(|terms| terms.admin = false);
        }
        false => member.member_of.retain(|known| known.role != role.oid),
    }
    write::put(StoredObject::Role(member), context)
}
