//! In whose name a session acts.

use mote_common::Oid;

/// Three roles: the one that logged in, the session's user, and the current user. `session_authorization` and `role`
/// choose the last two; a SECURITY DEFINER routine acts as its owner for as long as it runs.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// The current user: everything is checked in its name.
    pub user: String,
    pub user_oid: Oid,
    pub superuser: bool,
    pub session_user: String,
    /// Who logged in. Never changes.
    pub authenticated_user: Oid,
    /// How many SECURITY DEFINER routines run: above 0 the current user is not the one that the settings name.
    pub definers: u32,
    /// How many of those run what somebody else has written in the owner's name, as REFRESH MATERIALIZED VIEW does: nothing
    /// that outlasts them may be begun.
    pub restricted: u32,
}
