//! Privileges: what the current user may do with relations and schemas, from their ACLs.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_planner::plan::Plan;
use mote_sql::access::{RelationAccess, privilege};
use mote_sql::catalog::{CatalogView, Relation};
use mote_sql::routine::{Routine, RoutineKind};

use crate::catalog_store::SessionCatalog;
use crate::catalog_store::predefined_roles::{
    PG_DATABASE_OWNER, PG_READ_ALL_DATA, PG_READ_ALL_SETTINGS, PG_READ_ALL_STATS, PG_WRITE_ALL_DATA,
};
use crate::catalog_store::stored::{StoredAcl, StoredRole, StoredSchema, StoredUserType};

/// Checks what a plan needs.
#[inline]
pub fn check_plan(session: &SessionCatalog, plan: &Plan) -> SqlResult<()> {
    if session.identity.superuser {
        return Ok(());
    }
    for access in &plan.relations {
        check_relation(session, access)?;
    }
    for routine in &plan.routines {
        check_routine(session, routine)?;
    }
    Ok(())
}

/// Checks that the current user may execute a routine.
pub fn check_routine(session: &SessionCatalog, routine: &Routine) -> SqlResult<()> {
    require_schema(session, routine.schema_oid, privilege::USAGE)?;
    if may_execute(session, routine, session.identity.user_oid) {
        return Ok(());
    }
    let kind = match routine.kind {
        RoutineKind::Function => "function",
        RoutineKind::Procedure => "procedure",
    };
    Err(denied(kind, &routine.name))
}

/// True if the role may execute the routine: everybody may, until something is granted or revoked.
pub fn may_execute(session: &SessionCatalog, routine: &Routine, role: Oid) -> bool {
    if routine.acl.is_empty() {
        return true;
    }
    let items = routine.acl.iter().map(|item| (item.grantee, item.privileges));
    held(session, role, routine.owner, false, items) & privilege::EXECUTE != 0
}

/// Checks what a plan needs of one relation.
pub fn check_relation(session: &SessionCatalog, access: &RelationAccess) -> SqlResult<()> {
    // Tables below a parent are locked, but nothing is asked of them.
    if access.privileges == 0 {
        return Ok(());
    }
    let Some(relation) = session.relation(access.relation) else {
        return Ok(());
    };
    let role = if access.check_as == Oid::INVALID {
        session.identity.user_oid
    } else {
        access.check_as
    };
    if access.check_as == Oid::INVALID && relation.oid >= Oid::FIRST_USER {
        require_schema(session, relation.schema_oid, privilege::USAGE)?;
    }
    if has_privileges(session, &relation, role, access.privileges) {
        return Ok(());
    }
    Err(denied(relation.kind.word(), &relation.name))
}

pub fn denied(kind: &str, name: &str) -> SqlError {
    SqlError::new(
        state::INSUFFICIENT_PRIVILEGE,
        format!("permission denied for {kind} {name}"),
    )
}

/// True if the role, a role it is a member of, or PUBLIC holds every wanted privilege.
pub fn has_privileges(session: &SessionCatalog, relation: &Relation, role: Oid, wanted: u32) -> bool {
    // The bytes of all large objects, and values of all tables, whoever may read those.
    if matches!(relation.oid, PG_LARGEOBJECT | PG_STATISTIC) && !is_superuser(session, role) {
        return false;
    }
    // Other built-in relations may be read by everybody.
    if relation.oid < Oid::FIRST_USER {
        return wanted & !privilege::SELECT == 0;
    }
    privileges_of(session, relation, role) & wanted == wanted
}

/// What the role may do with a relation of users.
fn privileges_of(session: &SessionCatalog, relation: &Relation, role: Oid) -> u32 {
    let defaults = relation.acl.is_empty();
    let items = relation.acl.iter().map(|item| (item.grantee, item.privileges));
    held(session, role, relation.owner, defaults, items.chain(ON_ALL_DATA))
}

/// What predefined roles may do with every relation of users, as if it had been granted.
const ON_ALL_DATA: [(Oid, u32); 2] = [
    (PG_READ_ALL_DATA, privilege::SELECT),
    (
        PG_WRITE_ALL_DATA,
        privilege::INSERT | privilege::UPDATE | privilege::DELETE,
    ),
];

/// Checks that the current user holds one of the wanted privileges on a sequence.
pub fn check_sequence(session: &SessionCatalog, sequence: &Relation, wanted: u32) -> SqlResult<()> {
    if session.identity.superuser || privileges_of(session, sequence, session.identity.user_oid) & wanted != 0
    {
        return Ok(());
    }
    Err(denied("sequence", &sequence.name))
}

/// Checks a privilege of the current user on a schema.
pub fn require_schema(session: &SessionCatalog, schema: Oid, wanted: u32) -> SqlResult<()> {
    let catalog = session.current();
    let Some(entry) = catalog.schemas.get(&schema) else {
        return Ok(());
    };
    if schema_privileges(session, &entry.object, session.identity.user_oid) & wanted == wanted {
        return Ok(());
    }
    Err(denied("schema", &entry.object.name))
}

/// What a role may do with a schema of users.
pub fn schema_privileges(session: &SessionCatalog, schema: &StoredSchema, role: Oid) -> u32 {
    // A schema nobody granted anything on has its defaults: everybody may use the one that databases begin with.
    let defaults = schema.acl.is_empty();
    let default = (defaults && schema.name == PUBLIC_SCHEMA).then_some((Oid::INVALID, privilege::USAGE));
    let items = schema
        .acl
        .iter()
        .map(|item| (Oid(item.grantee), item.privileges))
        .chain(default)
        .chain([PG_READ_ALL_DATA, PG_WRITE_ALL_DATA].map(|role| (role, privilege::USAGE)));
    held(session, role, Oid(schema.owner), defaults, items)
}

/// What a role may do with a database.
pub fn database_privileges(session: &SessionCatalog, database: Oid, role: Oid) -> u32 {
    let catalog = session.current();
    let Some(entry) = catalog.databases.get(&database) else {
        return 0;
    };
    let stored = &entry.object;
    let defaults = stored.acl.is_empty();
    let everybody = (Oid::INVALID, privilege::TEMPORARY | privilege::CONNECT);
    let items = stored.acl.iter().map(|item| (Oid(item.grantee), item.privileges));
    held(
        session,
        role,
        Oid(stored.owner),
        defaults,
        items.chain(defaults.then_some(everybody)),
    )
}

/// What a role may do with a type: everybody may use it, until something is granted or revoked.
pub fn type_privileges(session: &SessionCatalog, ty: &StoredUserType, role: Oid) -> u32 {
    let defaults = ty.acl.is_empty();
    let items = ty.acl.iter().map(|item| (Oid(item.grantee), item.privileges));
    let everybody = (Oid::INVALID, privilege::USAGE);
    held(
        session,
        role,
        Oid(ty.owner),
        defaults,
        items.chain(defaults.then_some(everybody)),
    )
}

/// Checks that the current user may make something of a type of users.
pub fn require_type(session: &SessionCatalog, ty: &StoredUserType) -> SqlResult<()> {
    if ty.acl.is_empty() || type_privileges(session, ty, session.identity.user_oid) & privilege::USAGE != 0 {
        return Ok(());
    }
    Err(denied("type", &mote_types::format_type(Oid(ty.oid), -1)))
}

/// What a role may do with a large object.
pub fn large_object_privileges(session: &SessionCatalog, owner: Oid, acl: &[StoredAcl], role: Oid) -> u32 {
    let items = acl.iter().map(|item| (Oid(item.grantee), item.privileges));
    held(session, role, owner, acl.is_empty(), items)
}

/// Whether a role may make schemas in a database.
pub fn may_create_schemas(session: &SessionCatalog, database: Oid, role: Oid) -> bool {
    database_privileges(session, database, role) & privilege::CREATE != 0
}

/// Checks that the current user may make temporary relations.
pub fn require_temporary(session: &SessionCatalog) -> SqlResult<()> {
    let identity = &session.identity;
    if identity.superuser
        || database_privileges(session, session.database, identity.user_oid) & privilege::TEMPORARY != 0
    {
        return Ok(());
    }
    let name = &session.database_name;
    let message = format!("permission denied to create temporary tables in database \"{name}\"");
    Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message))
}

const PG_LARGEOBJECT: Oid = Oid(2613);
const PG_STATISTIC: Oid = Oid(2619);

/// The schema that every database begins with.
pub const PUBLIC_SCHEMA: &str = "public";

/// What a role, the roles it is a member of, and PUBLIC hold together. `defaults`: nobody has changed the list yet, so
/// that the owner has everything.
fn held(
    session: &SessionCatalog,
    role: Oid,
    owner: Oid,
    defaults: bool,
    items: impl Iterator<Item = (Oid, u32)>,
) -> u32 {
    if defaults && role == owner || is_superuser(session, role) {
        return u32::MAX;
    }
    let roles = memberships(session, role);
    if defaults && roles.contains(&owner) {
        return u32::MAX;
    }
    items
        .filter(|(grantee, _)| *grantee == Oid::INVALID || roles.contains(grantee))
        .fold(0, |held, (_, privileges)| held | privileges)
}

fn is_superuser(session: &SessionCatalog, role: Oid) -> bool {
    session
        .current()
        .roles
        .get(&role)
        .is_some_and(|entry| entry.object.superuser)
}

/// Whether the current user is the role, a member of it, or a superuser.
pub fn is_member(session: &SessionCatalog, role: Oid) -> bool {
    session.identity.superuser || memberships(session, session.identity.user_oid).contains(&role)
}

/// Whether the current user sees what statements of all users do.
pub fn reads_all_statistics(session: &SessionCatalog) -> bool {
    is_member(session, PG_READ_ALL_STATS)
}

/// To give something to a role one must be a member of it.
pub fn require_member(session: &SessionCatalog, role: Oid) -> SqlResult<()> {
    if session.identity.superuser || belongs(session, session.identity.user_oid, role) {
        return Ok(());
    }
    let catalog = session.current();
    let name = catalog
        .roles
        .get(&role)
        .map(|entry| entry.object.name.clone())
        .unwrap_or_default();
    Err(SqlError::new(
        state::INSUFFICIENT_PRIVILEGE,
        format!("must be member of role \"{name}\""),
    ))
}

/// Whether a role is another or belongs to it, directly or through others, with its privileges or without.
pub fn belongs(session: &SessionCatalog, role: Oid, other: Oid) -> bool {
    reached(session, role, |_| true).contains(&other)
}

/// Whether the session may know where the server's files are.
pub fn sees_files(session: &SessionCatalog) -> bool {
    let identity = &session.identity;
    identity.superuser || memberships(session, identity.user_oid).contains(&PG_READ_ALL_SETTINGS)
}

/// The role and all roles whose privileges it has: a role with NOINHERIT has none of those it belongs to.
pub fn memberships(session: &SessionCatalog, role: Oid) -> Vec<Oid> {
    reached(session, role, |role| role.inherit)
}

fn reached(session: &SessionCatalog, role: Oid, goes_on: impl Fn(&StoredRole) -> bool) -> Vec<Oid> {
    let catalog = session.current();
    let mut roles = vec![role];
    let mut next = 0;
    let owner = catalog.databases.get(&session.database);
    let owner = owner.map(|database| Oid(database.object.owner));
    while let Some(&current) = roles.get(next) {
        next += 1;
        let Some(entry) = catalog.roles.get(&current) else {
            continue;
        };
        if !goes_on(&entry.object) {
            continue;
        }
        let given = entry.object.member_of.iter().map(|parent| Oid(parent.role));
        let by_the_database = (owner == Some(current)).then_some(PG_DATABASE_OWNER);
        for parent in given.chain(by_the_database) {
            if !roles.contains(&parent) {
                roles.push(parent);
            }
        }
    }
    roles
}

/// Whether a role may make others members of another: it, or one that it belongs to, is a member with the admin option. No
/// role has that on itself.
pub fn administers(session: &SessionCatalog, role: Oid, other: Oid) -> bool {
    if is_superuser(session, role) {
        return true;
    }
    let catalog = session.current();
    let has_option = |member: &Oid| {
        let terms = catalog
            .roles
            .get(member)
            .and_then(|entry| entry.object.membership_of(other.0));
        terms.is_some_and(|terms| terms.admin)
    };
    role != other && reached(session, role, |_| true).iter().any(has_option)
}
