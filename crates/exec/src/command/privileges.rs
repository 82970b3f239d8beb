//! Privileges on relations: what the current user may do, from the relation's ACL.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_sql::catalog::{CatalogView, Relation};
use mote_sql::plan::{RelationAccess, privilege};

use crate::session::SessionState;

/// Checks what a plan needs of one relation.
pub(crate) fn check_relation(session: &SessionState, access: &RelationAccess) -> SqlResult<()> {
    let Some(relation) = session.catalog.relation(access.relation) else { return Ok(()) };
    let role = if access.check_as == Oid::INVALID { session.user_oid } else { access.check_as };
    if has_privileges(session, &relation, role, access.privileges) {
        return Ok(());
    }
    Err(SqlError::new(
        state::INSUFFICIENT_PRIVILEGE,
        format!("permission denied for table {}", relation.name),
    ))
}

/// True if the role, a role it is a member of, or PUBLIC holds every wanted privilege.
pub(crate) fn has_privileges(session: &SessionState, relation: &Relation, role: Oid, wanted: u32) -> bool {
    // Built-in relations may be read by everybody.
    if relation.oid < Oid::FIRST_USER {
        return wanted & !privilege::SELECT == 0;
    }
    let roles = memberships(session, role);
    let catalog = session.catalog.current();
    let is_superuser = catalog.roles.get(&role).is_some_and(|r| r.object.superuser);
    if is_superuser || roles.contains(&relation.owner) {
        return true;
    }
    let held = relation
        .acl
        .iter()
        .filter(|item| item.grantee == Oid::INVALID || roles.contains(&item.grantee))
        .fold(0, |held, item| held | item.privileges);
    held & wanted == wanted
}

/// The role and all roles it belongs to, directly or through others.
fn memberships(session: &SessionState, role: Oid) -> Vec<Oid> {
    let catalog = session.catalog.current();
    let mut roles = vec![role];
    let mut next = 0;
    while let Some(&current) = roles.get(next) {
        next += 1;
        let Some(entry) = catalog.roles.get(&current) else { continue };
        for &parent in &entry.object.member_of {
            if !roles.contains(&Oid(parent)) {
                roles.push(Oid(parent));
            }
        }
    }
    roles
}
