//! A new owner of an object, and what a role that goes leaves in lists of privileges.

use std::collections::BTreeSet;

use mote_common::error::{Severity, state};
use mote_common::{Oid, SqlError, SqlResult, SqlState};
use mote_grammar::ast::RoleSpecification;
use mote_sql::access::privilege;

use crate::{schema, sequence};
use mote_catalog::catalog_store::stored::{StoredAcl, StoredObject, StoredRelation};
use mote_catalog::{acl, privileges};
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

/// The new owner of what stands in a schema must be able to make something there, unless a superuser says so.
pub(crate) fn require_schema(schema: u32, new: Oid, context: &StatementContext<'_>) -> SqlResult<()> {
    let session = &context.session.catalog;
    if context.session.identity().superuser {
        return Ok(());
    }
    match session.current().schemas.get(&Oid(schema)) {
        Some(entry)
            if privileges::schema_privileges(session, &entry.object, new) & privilege::CREATE == 0 =>
        {
            Err(privileges::denied("schema", &entry.object.name))
        }
        _ => Ok(()),
    }
}

/// As in PostgreSQL only who may revoke does: a role alone cannot give up what others gave it.
pub(crate) fn not_taken_back(name: &str, context: &mut StatementContext<'_>) {
    let message = format!("no privileges could be revoked for \"{name}\"");
    let warning = SqlError::new(PRIVILEGE_NOT_REVOKED, message);
    context.host.notice(warning.severity(Severity::Warning));
}

/// Takes everything from a role, whoever gave it, and from those it was passed on to.
pub(crate) fn revoke_all(list: &mut Vec<StoredAcl>, role: u32, owner: u32) -> SqlResult<()> {
    let given = list.iter().filter(|item| item.grantee == role && role != owner);
    let grantors: BTreeSet<u32> = given.map(|item| item.grantor).collect();
    for grantor in grantors {
        acl::revoke(list, role, grantor, u32::MAX, false, true, owner)?;
    }
    Ok(())
}

/// OWNER TO of a table, view or sequence; owned sequences go along. The caller writes `relation`.
pub(crate) fn change_owner(
    relation: &mut StoredRelation,
    new: &RoleSpecification,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let new = schema::role_oid(new, context)?;
    // Already the owner: nothing is asked, as in PostgreSQL.
    if relation.owner == new.0 {
        return Ok(());
    }
    privileges::require_member(&context.session.catalog, new)?;
    // An owned sequence follows its table, never by itself.
    if let Some(sequence) = &relation.sequence
        && sequence.owned_by.is_some()
    {
        return Err(SqlError::new(
            state::FEATURE_NOT_SUPPORTED,
            format!("cannot change owner of sequence \"{}\"", relation.name),
        )
        .detail(format!("Sequence \"{}\" is linked to a table.", relation.name)));
    }
    // Grants of the old owner become grants of the new one.
    acl::change_owner(&mut relation.acl, relation.owner, new.0);
    relation.owner = new.0;
    for entry in sequence::owned_by_table(Oid(relation.oid), context) {
        let mut owned = entry.stored.clone();
        acl::change_owner(&mut owned.acl, owned.owner, new.0);
        owned.owner = new.0;
        write::put(StoredObject::Relation(owned), context)?;
    }
    Ok(())
}

const PRIVILEGE_NOT_REVOKED: SqlState = SqlState::new("01006");
