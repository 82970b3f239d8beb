//! ALTER DEFAULT PRIVILEGES: the lists that new objects begin with (`new_privileges` reads them). PostgreSQL: aclchk.c.
//!
//! The list of a whole database stands in the place of what is built in for the kind; the list of a schema comes on top of
//! it. A list that says no more than that is not kept, so that a database that was never told anything has none, and an
//! object that gets no more than its defaults has an empty list (`acl`).

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult, SqlState};
use mote_grammar::ast::{AlterDefaultPrivileges, DropBehavior, Grant, ObjectKind, RoleSpecification};

use super::acl::{self, AclKind};
use super::{new_privileges, privileges, schema};
use crate::utility::{Command, Issued};
use mote_catalog::catalog_store::Revision;
use mote_catalog::catalog_store::stored::{DefaultAclKey, StoredDefaultAcl, StoredObject};
use mote_catalog::tag::CommandTag;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

impl Command for AlterDefaultPrivileges {
    fn name(&self) -> &'static str {
        "ALTER DEFAULT PRIVILEGES"
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        alter(self, context)
    }
}

const INVALID_GRANT_OPERATION: SqlState = SqlState::new("0LP01");

/// Kinds of objects that have defaults, and what messages call one.
fn kind_of(grant: &Grant) -> SqlResult<(AclKind, &'static str)> {
    Ok(match grant.kind {
        ObjectKind::Table => (AclKind::Table, "relation"),
        ObjectKind::Sequence => (AclKind::Sequence, "sequence"),
        ObjectKind::Function | ObjectKind::Routine => (AclKind::Function, "function"),
        ObjectKind::Schema => (AclKind::Schema, "schema"),
        ObjectKind::Type => (AclKind::Type, "type"),
        _ => return Err(SqlError::unsupported("default privileges of this kind of object")),
    })
}

/// As dependencies of a role name such a list.
pub(super) fn described(defaults: &StoredDefaultAcl, context: &StatementContext<'_>) -> String {
    let plural = match defaults.key.kind {
        'r' => "relations",
        'S' => "sequences",
        'f' => "functions",
        'T' => "types",
        _ => "schemas",
    };
    let role = schema::role_name(Oid(defaults.key.role), context);
    let catalog = context.session.catalog.current();
    let place = match catalog.schemas.get(&Oid(defaults.key.schema)) {
        Some(entry) => format!(" in schema {}", entry.object.name),
        None => String::new(),
    };
    format!("default privileges on new {plural} belonging to role {role}{place}")
}

/// ALTER DEFAULT PRIVILEGES: of the user, or of roles that he can become.
fn alter(alter: &AlterDefaultPrivileges, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    let grant = &alter.action;
    let grantees = grantees(grant, context)?;
    let (kind, noun) = kind_of(grant)?;
    let bits = bits(grant, kind, noun)?;
    let roles = match alter.roles.is_empty() {
        true => vec![context.session.identity().user_oid],
        false => (alter.roles.iter())
            .map(|role| schema::role_oid(role, context))
            .collect::<SqlResult<Vec<Oid>>>()?,
    };
    for &role in &roles {
        // What a role gives by default is for those who act as that role.
        privileges::require_member(&context.session.catalog, role)?;
        if alter.schemas.is_empty() {
            change(grant, kind, bits, &grantees, role, Oid::INVALID, context)?;
        }
        for name in &alter.schemas {
            // The schema stays until the list that names it is committed.
            let schema = schema::kept_schema(name, context)?;
            if kind == AclKind::Schema {
                let message = "cannot use IN SCHEMA clause when using GRANT/REVOKE ON SCHEMAS";
                return Err(SqlError::new(INVALID_GRANT_OPERATION, message));
            }
            change(grant, kind, bits, &grantees, role, schema, context)?;
        }
    }
    Ok(CommandTag::Word("ALTER DEFAULT PRIVILEGES"))
}

/// OIDs of the grantees; 0 is PUBLIC.
fn grantees(grant: &Grant, context: &StatementContext<'_>) -> SqlResult<Vec<u32>> {
    let oid_of = |role: &RoleSpecification| match role {
        RoleSpecification::Public => Ok(Oid::INVALID.0),
        other => schema::role_oid(other, context).map(|oid| oid.0),
    };
    grant.grantees.iter().map(oid_of).collect()
}

/// The privileges as bits of the kind.
fn bits(grant: &Grant, kind: AclKind, noun: &str) -> SqlResult<u32> {
    if grant
        .privileges
        .iter()
        .any(|privilege| !privilege.columns.is_empty())
    {
        let message = "default privileges cannot be set for columns";
        return Err(SqlError::new(INVALID_GRANT_OPERATION, message));
    }
    kind.bits_for(&grant.privileges, noun)
}

/// One list: of one role, in one schema or everywhere.
fn change(
    grant: &Grant,
    kind: AclKind,
    bits: u32,
    grantees: &[u32],
    role: Oid,
    schema: Oid,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    // Against another who changes the list, and against DROP ROLE.
    schema::reserve_name(role, "", context)?;
    let catalog = context.session.catalog.current();
    if !catalog.roles.contains_key(&role) {
        let message = format!("role {role} was concurrently dropped");
        return Err(SqlError::new(state::UNDEFINED_OBJECT, message));
    }
    let key = DefaultAclKey {
        database: context.session.catalog.database.0,
        role: role.0,
        schema: schema.0,
        kind: new_privileges::letter(kind)
            .ok_or_else(|| SqlError::internal("databases have no default privileges"))?,
    };
    // What the list would say if nobody had said anything.
    let said_nothing = match schema {
        Oid::INVALID => new_privileges::sorted(acl::with_defaults(&[], role.0, kind, kind.everybody())),
        _ => Vec::new(),
    };
    let before = catalog.default_acl(&key);
    let mut list = before.map_or_else(|| said_nothing.clone(), |entry| entry.object.acl.clone());
    for &grantee in grantees {
        if !grant.revoke {
            if grant.grant_option && grantee == Oid::INVALID.0 {
                let message = "grant options can only be granted to roles";
                return Err(SqlError::new(INVALID_GRANT_OPERATION, message));
            }
            acl::grant(&mut list, grantee, role.0, bits, grant.grant_option);
            continue;
        }
        let cascade = grant.behavior == DropBehavior::Cascade;
        let option_only = grant.grant_option;
        acl::revoke(&mut list, grantee, role.0, bits, option_only, cascade, role.0)?;
    }
    let list = new_privileges::sorted(list);
    // A list that makes no difference is not kept.
    match (before, list == said_nothing) {
        (None, true) => Ok(()),
        (Some(entry), true) => write::remove(Oid(entry.object.oid), context),
        (before, false) => {
            let mut stored = match before {
                Some(entry) => entry.object.clone(),
                None => StoredDefaultAcl {
                    oid: context.database.catalog().allocate_oid().0,
                    key,
                    acl: Vec::new(),
                    revision: Revision::default(),
                },
            };
            stored.acl = list;
            write::put(StoredObject::DefaultAcl(stored), context)
        }
    }
}

/// A list that makes no difference to what is built in.
pub(super) fn says_nothing(defaults: &StoredDefaultAcl) -> bool {
    let kinds = [
        AclKind::Table,
        AclKind::Sequence,
        AclKind::Function,
        AclKind::Schema,
        AclKind::Type,
    ];
    let kind = kinds
        .into_iter()
        .find(|kind| new_privileges::letter(*kind) == Some(defaults.key.kind));
    let built_in = match (defaults.key.schema, kind) {
        (0, Some(kind)) => {
            new_privileges::sorted(acl::with_defaults(&[], defaults.key.role, kind, kind.everybody()))
        }
        _ => Vec::new(),
    };
    new_privileges::sorted(defaults.acl.clone()) == built_in
}

/// The lists of a schema that goes.
pub(super) fn forget_schema(schema: Oid, context: &mut StatementContext<'_>) -> SqlResult<()> {
    forget(schema, |key| key.schema == schema.0, context)
}

/// The lists of a database that goes.
pub(super) fn forget_database(database: Oid, context: &mut StatementContext<'_>) -> SqlResult<()> {
    forget(database, |key| key.database == database.0, context)
}

/// Removes the lists that go with an object.
fn forget(
    used: Oid,
    goes: impl Fn(&DefaultAclKey) -> bool,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let catalog = context.session.catalog.current();
    let lists: Vec<u32> = (catalog.default_acls_using(used))
        .filter(|entry| goes(&entry.object.key))
        .map(|entry| entry.object.oid)
        .collect();
    for list in lists {
        write::remove(Oid(list), context)?;
    }
    Ok(())
}
