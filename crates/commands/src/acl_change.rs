//! One GRANT or REVOKE on one list of privileges: who grants, what he may pass on, and PostgreSQL's warnings (aclchk.c).

use mote_common::error::Severity;
use mote_common::{Oid, SqlError, SqlResult, SqlState};
use mote_grammar::ast::{DropBehavior, Grant};

use mote_catalog::acl::AclKind;
use mote_catalog::catalog_store::stored::StoredAcl;
use mote_catalog::{acl, privileges};
use mote_executor::context::StatementContext;

/// Applies a GRANT or REVOKE to a list. Who may not pass on anything is refused; who may pass on a part is warned.
#[allow(clippy::too_many_arguments)]
pub(crate) fn change(
    grant: &Grant,
    grantees: &[u32],
    bits: u32,
    mut list: Vec<StoredAcl>,
    owner: u32,
    name: &str,
    kind: AclKind,
    context: &mut StatementContext<'_>,
) -> SqlResult<Vec<StoredAcl>> {
    let session = &*context.session;
    // A member of the owner grants as the owner, whoever else has granted to him (select_best_grantor in PostgreSQL).
    let (grantor, allowed) = if privileges::is_member(&session.catalog, Oid(owner)) {
        (owner, kind.all())
    } else {
        let roles = privileges::memberships(&session.catalog, session.identity().user_oid);
        let allowed = acl::grantable(&list, &roles);
        let holds_any = list
            .iter()
            .any(|i| i.grantee == 0 || roles.contains(&Oid(i.grantee)));
        // Who holds nothing on it is refused; who holds something is only warned, below.
        if allowed == 0 && !holds_any {
            return Err(privileges::denied(kind.word(), name));
        }
        (session.identity().user_oid.0, allowed)
    };
    let bits_allowed = bits & allowed;
    if bits_allowed != bits {
        let partly = bits_allowed != 0;
        // ALL PRIVILEGES means all that one can give.
        if !(partly && grant.privileges.is_empty()) {
            warn(grant.revoke, partly, name, context);
        }
    }
    for &grantee in grantees {
        if grant.revoke {
            let cascade = grant.behavior == DropBehavior::Cascade;
            acl::revoke(
                &mut list,
                grantee,
                grantor,
                bits_allowed,
                grant.grant_option,
                cascade,
                owner,
            )?;
        } else if bits_allowed != 0 {
            acl::grant(&mut list, grantee, grantor, bits_allowed, grant.grant_option);
        }
    }
    Ok(acl::settled(list, owner))
}

/// PostgreSQL's warnings for privileges that could not be passed on or taken back.
fn warn(revoke: bool, partly: bool, name: &str, context: &mut StatementContext<'_>) {
    let (code, message) = match (revoke, partly) {
        (false, true) => (
            PRIVILEGE_NOT_GRANTED,
            format!("not all privileges were granted for \"{name}\""),
        ),
        (false, false) => (
            PRIVILEGE_NOT_GRANTED,
            format!("no privileges were granted for \"{name}\""),
        ),
        (true, true) => (
            PRIVILEGE_NOT_REVOKED,
            format!("not all privileges could be revoked for \"{name}\""),
        ),
        (true, false) => (
            PRIVILEGE_NOT_REVOKED,
            format!("no privileges could be revoked for \"{name}\""),
        ),
    };
    context
        .host
        .notice(SqlError::new(code, message).severity(Severity::Warning));
}

const PRIVILEGE_NOT_GRANTED: SqlState = SqlState::new("01007");

const PRIVILEGE_NOT_REVOKED: SqlState = SqlState::new("01006");
