//! Who may begin a session in a database, and the settings it begins with.

use mote_common::error::{Severity, state};
use mote_common::{Oid, SqlError, SqlResult};
use mote_sql::access::privilege;

use mote_catalog::catalog_store::SessionCatalog;
use mote_catalog::catalog_store::stored::{StoredClusterSettings, StoredDatabase, StoredRole};
use mote_catalog::database::Database;
use mote_catalog::privileges::database_privileges;
use mote_catalog::settings::{Settings, Source, is_identity};

/// What the database and the role say of connections. Superusers are not counted.
pub(super) fn check(
    database: &Database,
    role: &StoredRole,
    target: &StoredDatabase,
    pid: u32,
) -> SqlResult<()> {
    // ALLOW_CONNECTIONS false is for everybody, superusers included.
    if !target.allow_connections {
        let message = format!(
            "database \"{}\" is not currently accepting connections",
            target.name
        );
        return Err(SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
    }
    if role.superuser {
        return Ok(());
    }
    let too_many = |kind: &str, name: &str| {
        let message = format!("too many connections for {kind} \"{name}\"");
        Err(SqlError::new(state::TOO_MANY_CONNECTIONS, message))
    };
    // The session itself is listed already. Two that look at the same moment may both pass.
    let others = |limit: i32, counts: &dyn Fn(Oid, Oid) -> bool| {
        limit >= 0 && {
            let sessions = database.sessions().list();
            let others = sessions.iter().filter(|(other, activity)| {
                let doing = activity.doing();
                *other != pid && counts(doing.database, doing.user)
            });
            others.count() >= limit as usize
        }
    };
    if others(target.connection_limit, &|database, _| {
        database == Oid(target.oid)
    }) {
        return too_many("database", &target.name);
    }
    if others(role.connection_limit, &|_, user| user == Oid(role.oid)) {
        return too_many("role", &role.name);
    }
    Ok(())
}

/// CONNECT on the database, which PUBLIC has unless somebody took it away.
pub(super) fn check_connect(catalog: &SessionCatalog) -> SqlResult<()> {
    let identity = &catalog.identity;
    let held = database_privileges(catalog, catalog.database, identity.user_oid);
    if identity.superuser || held & privilege::CONNECT != 0 {
        return Ok(());
    }
    let message = format!("permission denied for database \"{}\"", catalog.database_name);
    Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message).detail("User does not have CONNECT privilege."))
}

/// Sets what is said for all roles, by the database and by the role, the nearest to the session last; answers what could not be had. What was valid when
/// it was stored may not be so any more: it keeps nobody out.
pub(super) fn begin_with_own(
    settings: &mut Settings,
    everybody: Option<&StoredClusterSettings>,
    role: &StoredRole,
    database: &StoredDatabase,
) -> Vec<SqlError> {
    let none = Vec::new();
    let everybody = everybody.map_or(&none, |stored| &stored.settings);
    let both = database.role_settings.get(&role.oid);
    let mut warnings = Vec::new();
    for (own, source) in [
        (everybody, Source::Global),
        (&database.settings, Source::Database),
        (&role.settings, Source::User),
        (both.unwrap_or(&none), Source::DatabaseUser),
    ] {
        // `role` and `session_authorization` are no defaults to begin with.
        for (name, value) in own.iter().filter(|(name, _)| !is_identity(name)) {
            let outcome = settings.set_initial(name, value, source);
            warnings.extend(outcome.err().map(|error| error.severity(Severity::Warning)));
        }
    }
    warnings
}
