//! ALTER LARGE OBJECT OWNER, GRANT and COMMENT ON LARGE OBJECT, and what DROP ROLE asks about large objects, DROP OWNED and
//! REASSIGN OWNED do to them. What they are
//! is in `mote_executor::large_object`.

use mote_catalog::catalog_store::stored::StoredDatabase;
use mote_catalog::tag::CommandTag;
use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::{Access, AdvisoryMode};
use mote_executor::catalog_change::object_locks::lock_name;
use mote_executor::context::StatementContext;
use mote_executor::large_object::object::{self, not_owner};
use mote_executor::large_object::store::Store;
use mote_grammar::ast::{AlterOwner, Grant, ObjectReference};

use super::acl::{self, AclKind};
use super::{acl_change, ownership, privileges, schema};

fn number(reference: &ObjectReference) -> SqlResult<u32> {
    match reference {
        ObjectReference::LargeObject(number) => Ok(*number),
        _ => Err(SqlError::internal("a large object has a number")),
    }
}

/// COMMENT ON LARGE OBJECT.
pub(super) fn comment(
    reference: &ObjectReference,
    text: Option<String>,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    object::change(number(reference)?, context, |found, context| {
        if !found.is_owned(context) {
            return Err(not_owner(found.oid));
        }
        found.comment = text;
        Ok(())
    })
}

/// ALTER LARGE OBJECT .. OWNER TO.
pub(super) fn owner(alter: &AlterOwner, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    let new = schema::role_oid(&alter.owner, context)?;
    keep_role(new, context)?;
    object::change(number(&alter.object)?, context, |found, context| {
        if found.owner == new.0 {
            return Ok(());
        }
        if !found.is_owned(context) {
            return Err(not_owner(found.oid));
        }
        privileges::require_member(&context.session.catalog, new)?;
        acl::change_owner(&mut found.acl, found.owner, new.0);
        found.owner = new.0;
        Ok(())
    })?;
    Ok(CommandTag::Word("ALTER LARGE OBJECT"))
}

/// GRANT and REVOKE on one large object.
pub(super) fn grant(
    statement: &Grant,
    grantees: &[u32],
    reference: &ObjectReference,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let kind = AclKind::LargeObject;
    let bits = kind.bits(&statement.privileges)?;
    // Before the list names them.
    for &grantee in grantees {
        keep_role(Oid(grantee), context)?;
    }
    object::change(number(reference)?, context, |found, context| {
        let list = acl::with_defaults(&found.acl, found.owner, kind, 0);
        let name = format!("large object {}", found.oid);
        found.acl = acl_change::change(statement, grantees, bits, list, found.owner, &name, kind, context)?;
        Ok(())
    })
}

/// Nobody drops a role before the transaction has ended: large objects are no part of the catalog that knows who uses whom.
fn keep_role(role: Oid, context: &mut StatementContext<'_>) -> SqlResult<()> {
    lock_name(role, "", AdvisoryMode::Shared, context)?;
    if role == Oid::INVALID || context.session.catalog.current().roles.contains_key(&role) {
        return Ok(());
    }
    let message = format!("role {role} was concurrently dropped");
    Err(SqlError::new(state::UNDEFINED_OBJECT, message))
}

/// REASSIGN OWNED of the session's database.
pub(super) fn reassign(old: Oid, new: Oid, context: &mut StatementContext<'_>) -> SqlResult<()> {
    keep_role(new, context)?;
    for found in naming(&[old], context)? {
        object::change(found.oid, context, |found, _| {
            if found.owner == old.0 {
                found.owner = new.0;
                acl::change_owner(&mut found.acl, old.0, new.0);
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// DROP OWNED of the session's database.
pub(super) fn drop_owned(roles: &[Oid], context: &mut StatementContext<'_>) -> SqlResult<()> {
    for found in naming(roles, context)? {
        if roles.contains(&Oid(found.owner)) {
            object::delete(found.oid, context)?;
            continue;
        }
        if !found.is_owned(context) {
            ownership::not_taken_back(&format!("large object {}", found.oid), context);
            continue;
        }
        object::change(found.oid, context, |found, _| {
            let revoke = |role: &Oid| ownership::revoke_all(&mut found.acl, role.0, found.owner);
            roles.iter().try_for_each(revoke)
        })?;
    }
    Ok(())
}

/// Objects of the session's database that name one of the roles.
fn naming(roles: &[Oid], context: &mut StatementContext<'_>) -> SqlResult<Vec<object::LargeObject>> {
    let Some(store) = Store::existing(context)? else {
        return Ok(Vec::new());
    };
    let snapshot = context.transaction.begin_statement(Access::Write);
    let mut found = object::all(&store.objects, &snapshot, context)?;
    found.retain(|object| roles.iter().any(|role| object.names(role.0)));
    Ok(found)
}

/// What a role owns or has privileges on, in the words of DROP ROLE's DETAIL. Those of other databases are counted.
pub(super) fn dependents(role: u32, context: &mut StatementContext<'_>) -> SqlResult<Vec<String>> {
    let catalog = context.session.catalog.current();
    let mut lines = Vec::new();
    for database in catalog.databases.values().map(|entry| &entry.object) {
        lines.extend(dependents_in(database, role, context)?);
    }
    Ok(lines)
}

fn dependents_in(
    database: &StoredDatabase,
    role: u32,
    context: &mut StatementContext<'_>,
) -> SqlResult<Vec<String>> {
    let Some(stored) = database.large_objects else {
        return Ok(Vec::new());
    };
    let store = Store::open(context.database.engine(), stored)?;
    // Who made one has kept the role until he committed.
    let snapshot = context.transaction.begin_statement(Access::Write);
    let mut found = object::all(&store.objects, &snapshot, context)?;
    found.retain(|object| object.names(role));
    if Oid(database.oid) != context.session.catalog.database && !found.is_empty() {
        let objects = if found.len() == 1 { "object" } else { "objects" };
        return Ok(vec![format!(
            "{} {objects} in database {}",
            found.len(),
            database.name
        )]);
    }
    let line = |object: object::LargeObject| {
        let what = if object.owner == role {
            "owner of"
        } else {
            "privileges for"
        };
        format!("{what} large object {}", object.oid)
    };
    Ok(found.into_iter().map(line).collect())
}

/// The tables go with their database.
pub(super) fn drop_all(database: &StoredDatabase, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let Some(stored) = database.large_objects else {
        return Ok(());
    };
    for table in [stored.objects, stored.pages] {
        context.engine_call(|transaction| transaction.drop_table(mote_common::TableId(table)))?;
    }
    Ok(())
}
