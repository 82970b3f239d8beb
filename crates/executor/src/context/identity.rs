//! Who a session acts as: SET SESSION AUTHORIZATION and SET ROLE.
//!
//! Three roles: the one that logged in, which never changes; the session's user; and the current user, in whose name
//! everything is checked. The last two are settings, `session_authorization` and `role`, so that they follow the
//! transaction and its savepoints as all settings do; what they name is looked up here whenever settings change.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};

use super::state::SessionState;
use mote_catalog::privileges::belongs;

/// What the setting `role` says where the session's user acts for itself.
const NO_ROLE: &str = "none";

#[cold]
fn restricted(action: &str) -> SqlError {
    let message = format!("cannot {action} within security-restricted operation");
    SqlError::new(state::INSUFFICIENT_PRIVILEGE, message)
}

impl SessionState {
    /// Whether the two settings may be given this value; the value as it is kept.
    pub fn check_identity(&self, setting: &str, value: &str) -> SqlResult<String> {
        let setting = setting.to_ascii_lowercase();
        // A security-restricted operation (maintenance in a table owner's name) must not get out of its role.
        if self.identity().restricted > 0 {
            return Err(restricted(&format!("set parameter \"{setting}\"")));
        }
        if self.identity().definers > 0 {
            return Err(SqlError::new(
                state::INSUFFICIENT_PRIVILEGE,
                format!("cannot set parameter \"{setting}\" within security-definer function"),
            ));
        }
        if setting == "role" && value.eq_ignore_ascii_case(NO_ROLE) {
            return Ok(NO_ROLE.into());
        }
        let catalog = self.catalog.current();
        let wanted = catalog.role_by_name(value).ok_or_else(|| {
            SqlError::new(
                state::INVALID_PARAMETER_VALUE,
                format!("role \"{value}\" does not exist"),
            )
        })?;
        let wanted = Oid(wanted.object.oid);
        let is_superuser = |role: Oid| {
            let entry = catalog.roles.get(&role);
            entry.is_some_and(|entry| entry.object.superuser)
        };
        let denied = |message: String| Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message));
        if setting == "role" {
            // SET ROLE goes by the session's user, whatever role is set now.
            let session_user = self.role_oid(&self.identity().session_user);
            if !is_superuser(session_user) && !belongs(&self.catalog, session_user, wanted) {
                return denied(format!("permission denied to set role \"{value}\""));
            }
        // SET SESSION AUTHORIZATION goes by who logged in: RESET must always lead back.
        } else if wanted != self.identity().authenticated_user
            && !is_superuser(self.identity().authenticated_user)
        {
            return denied(format!(
                "permission denied to set session authorization \"{value}\""
            ));
        }
        Ok(value.to_string())
    }

    /// Refuses an action that would go on, or be done, when a restricted operation is over and somebody else acts.
    #[inline]
    pub fn require_unrestricted(&self, action: &str) -> SqlResult<()> {
        match self.identity().restricted {
            0 => Ok(()),
            _ => Err(restricted(action)),
        }
    }

    fn role_oid(&self, name: &str) -> Oid {
        let catalog = self.catalog.current();
        catalog
            .role_by_name(name)
            .map_or(Oid::INVALID, |entry| Oid(entry.object.oid))
    }

    /// Takes over what the settings name. A role that is gone meanwhile changes nothing.
    pub(super) fn follow_identity(&mut self) {
        // Within SECURITY DEFINER the identity is the function owner's; the settings are followed again behind it.
        if self.identity().definers > 0 {
            return;
        }
        let setting = |name: &str| self.settings.get(name).unwrap_or_default().to_string();
        let session_user = setting("session_authorization");
        let role = setting("role");
        let user = if role == NO_ROLE {
            session_user.clone()
        } else {
            role
        };
        if self.identity().session_user == session_user && self.identity().user == user {
            return;
        }
        let catalog = self.catalog.current();
        let Some(current) = catalog.role_by_name(&user) else {
            return;
        };
        let identity = &mut self.catalog.identity;
        identity.user_oid = Oid(current.object.oid);
        identity.superuser = current.object.superuser;
        identity.user = user;
        identity.session_user = session_user;
        let is_superuser = if identity.superuser { "on" } else { "off" };
        self.settings.set_fact("is_superuser", is_superuser);
    }
}
