//! CREATE, ALTER and DROP of roles. A user is a role that may log in; a group is a role with members. PostgreSQL: user.c.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_grammar::ast::{
    AlterRole, AlterRoleSet, CreateRole, DefinitionOption, DropRole, OptionValue, RoleKind,
    RoleSpecification, SetAction,
};

use super::{database, default_privileges, dropping, grant, kept_settings, large_object, schema, uses};
use crate::utility::{Command, Issued};
use mote_catalog::catalog_store::Catalog;
use mote_catalog::catalog_store::cluster_settings::CLUSTER_SETTINGS;
use mote_catalog::catalog_store::object::Object;
use mote_catalog::catalog_store::predefined_roles::is_predefined;
use mote_catalog::catalog_store::stored::{StoredObject, StoredRole};
use mote_catalog::tag::CommandTag;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;
use mote_types::catalog::user::number_of;
use mote_types::{ColumnType, Datum, input_text, oid};

impl Command for CreateRole {
    fn name(&self) -> &'static str {
        "CREATE ROLE"
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        create(self, context)
    }
}

impl Command for AlterRole {
    fn name(&self) -> &'static str {
        "ALTER ROLE"
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        alter(self, context)
    }
}

impl Command for AlterRoleSet {
    fn name(&self) -> &'static str {
        "ALTER ROLE"
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        alter_settings(self, context)
    }
}

impl Command for DropRole {
    fn name(&self) -> &'static str {
        "DROP ROLE"
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        drop(self, context)
    }
}

/// The name space of role names among the reserved ones: roles belong to no schema.
const ROLES: Oid = Oid(1260);

/// CREATE ROLE, USER and GROUP: PostgreSQL 15's rules on who may give which attribute (user.c).
pub(super) fn create(create: &CreateRole, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    require_role_admin("permission denied to create role", context)?;
    let name = &*create.name;
    check_name(name)?;
    // Behind the right to create roles: who has none shall not make others wait.
    schema::reserve_name(ROLES, name, context)?;
    if context.session.catalog.current().role_by_name(name).is_some() {
        return Err(SqlError::new(
            state::DUPLICATE_OBJECT,
            format!("role \"{name}\" already exists"),
        ));
    }
    let oid = context.database.catalog().allocate_oid();
    let mut role = StoredRole {
        can_login: create.kind == RoleKind::User,
        ..StoredRole::new(oid.0, name)
    };
    let relations = apply(&mut role, &create.options, context)?;
    // Behind the options, which say what is wanted.
    if !context.session.identity().superuser {
        let powers = [
            (role.superuser, "superusers"),
            (role.replication, "replication users"),
            (role.bypass_row_security, "bypassrls users"),
        ];
        if let Some((_, whom)) = powers.iter().find(|(power, _)| *power) {
            return Err(denied(&format!("must be superuser to create {whom}")));
        }
    }
    // IN ROLE makes the new role a member: that is for those who administer the group.
    for &group in &relations.groups {
        grant::require_admin(group, context.session.identity().user_oid, context)?;
    }
    write::put(StoredObject::Role(role), context)?;
    for (group, member, admin) in relations.pairs(oid) {
        grant::join(group, member, admin, context)?;
    }
    Ok(CommandTag::Word("CREATE ROLE"))
}

/// ALTER ROLE with options, and ALTER GROUP .. ADD and DROP USER.
pub(super) fn alter(alter: &AlterRole, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    refuse_reserved(&alter.role)?;
    let oid = schema::role_oid(&alter.role, context)?;
    let before = context.session.catalog.current();
    // By its OID: the role's row is read under this lock, and written whole.
    schema::reserve_name(oid, "", context)?;
    let catalog = context.session.catalog.current();
    let Some(entry) = catalog.roles.get(&oid) else {
        // Dropped while we waited.
        return Err(undefined(
            before.roles.get(&oid).map_or("", |role| &role.object.name),
        ));
    };
    let mut role = entry.object.clone();
    let only_password = alter.options.iter().all(|option| &*option.name == "password");
    let changes_super = alter.options.iter().any(|option| &*option.name == "superuser");
    if !context.session.identity().superuser {
        if role.superuser || changes_super {
            return Err(denied(
                "must be superuser to alter superuser roles or change superuser attribute",
            ));
        }
        let changes = |name: &str| alter.options.iter().any(|option| &*option.name == name);
        if role.replication || changes("isreplication") {
            return Err(denied(
                "must be superuser to alter replication roles or change replication attribute",
            ));
        }
        if changes("bypassrls") {
            return Err(denied("must be superuser to change bypassrls attribute"));
        }
        // Everybody may change his own password.
        if !(only_password && oid == context.session.identity().user_oid) {
            require_role_admin("permission denied", context)?;
        }
    }
    let relations = apply(&mut role, &alter.options, context)?;
    write::put(StoredObject::Role(role), context)?;
    for (group, member, admin) in relations.pairs(oid) {
        match alter.remove_members {
            true => grant::leave(group, member, false, context)?,
            false => grant::join(group, member, admin, context)?,
        }
    }
    Ok(CommandTag::Word("ALTER ROLE"))
}

/// ALTER ROLE .. SET: settings that the role's sessions begin with.
pub(super) fn alter_settings(
    alter: &AlterRoleSet,
    context: &mut StatementContext<'_>,
) -> SqlResult<CommandTag> {
    let Some(role) = &alter.role else {
        return match &alter.database {
            // All roles in one database are its sessions.
            Some(database) => in_database(database, None, &alter.setting.action, context),
            None => everywhere(&alter.setting.action, context),
        };
    };
    refuse_reserved(role)?;
    let oid = schema::role_oid(role, context)?;
    if oid != context.session.identity().user_oid {
        require_role_admin("permission denied", context)?;
    }
    if let Some(database) = &alter.database {
        return in_database(database, Some(oid), &alter.setting.action, context);
    }
    schema::reserve_name(oid, "", context)?;
    let catalog = context.session.catalog.current();
    let Some(entry) = catalog.roles.get(&oid) else {
        let message = format!("role {oid} was concurrently dropped");
        return Err(SqlError::new(state::UNDEFINED_OBJECT, message));
    };
    let mut role = entry.object.clone();
    kept_settings::change_settings(&mut role.settings, &alter.setting.action, context)?;
    write::put(StoredObject::Role(role), context)?;
    Ok(CommandTag::Word("ALTER ROLE"))
}

/// ALTER ROLE ALL SET: what all sessions begin with.
fn everywhere(action: &SetAction, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    if !context.session.identity().superuser {
        return Err(denied("must be superuser to alter settings globally"));
    }
    schema::reserve_name(CLUSTER_SETTINGS, "", context)?;
    let catalog = context.session.catalog.current();
    let known = catalog.settings_of_all().map(|entry| entry.object.clone());
    let mut stored = known.clone().unwrap_or_default();
    kept_settings::change_settings(&mut stored.settings, action, context)?;
    // An empty list leaves no row behind.
    match (known, stored.settings.is_empty()) {
        (None, true) => {}
        (Some(_), true) => write::remove(CLUSTER_SETTINGS, context)?,
        (_, false) => write::put(StoredObject::ClusterSettings(stored), context)?,
    }
    Ok(CommandTag::Word("ALTER ROLE"))
}

/// ALTER ROLE .. IN DATABASE .. SET. `role`: None for all of them.
fn in_database(
    name: &str,
    role: Option<Oid>,
    action: &SetAction,
    context: &mut StatementContext<'_>,
) -> SqlResult<CommandTag> {
    let mut stored = match role {
        None => database::to_change(name, context)?,
        Some(_) => database::named(name, context)?,
    };
    let settings = match role {
        None => &mut stored.settings,
        Some(role) => stored.role_settings.entry(role.0).or_default(),
    };
    kept_settings::change_settings(settings, action, context)?;
    // A role without settings in this database leaves no entry.
    stored.role_settings.retain(|_, settings| !settings.is_empty());
    write::put(StoredObject::Database(stored), context)?;
    Ok(CommandTag::Word("ALTER ROLE"))
}

/// DROP ROLE, one role after the other.
pub(super) fn drop(drop: &DropRole, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    require_role_admin("permission denied to drop role", context)?;
    for specification in &drop.roles {
        let RoleSpecification::Name { name, .. } = specification else {
            return Err(SqlError::new(
                state::INVALID_PARAMETER_VALUE,
                "cannot use special role specifier in DROP ROLE",
            ));
        };
        let catalog = context.session.catalog.current();
        let Some(entry) = catalog.role_by_name(name) else {
            if drop.if_exists {
                let message = format!("role \"{name}\" does not exist, skipping");
                schema::notice(state::SUCCESSFUL_COMPLETION, message, context);
                continue;
            }
            return Err(undefined(name));
        };
        drop_one(&entry.object, context)?;
    }
    Ok(CommandTag::Word("DROP ROLE"))
}

/// Drops a role that owns nothing and was given nothing, and ends its memberships.
fn drop_one(role: &StoredRole, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let oid = Oid(role.oid);
    schema::reserve_name(oid, "", context)?;
    // The session's own role, and the one that it logged in as, must stay.
    if oid == context.session.identity().user_oid {
        return Err(SqlError::new(
            state::OBJECT_IN_USE,
            "current user cannot be dropped",
        ));
    }
    if role.name == context.session.identity().session_user {
        return Err(SqlError::new(
            state::OBJECT_IN_USE,
            "session user cannot be dropped",
        ));
    }
    if role.superuser && !context.session.identity().superuser {
        return Err(denied("must be superuser to drop superusers"));
    }
    if is_predefined(oid) {
        let message = format!(
            "cannot drop role {} because it is required by the database system",
            role.name
        );
        return Err(SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, message));
    }
    // Of all databases: PostgreSQL keeps these in pg_shdepend.
    let mut dependents = dependents(role.oid, context);
    dependents.extend(large_object::dependents(role.oid, context)?);
    if !dependents.is_empty() {
        return Err(SqlError::new(
            state::DEPENDENT_OBJECTS_STILL_EXIST,
            format!(
                "role \"{}\" cannot be dropped because some objects depend on it",
                role.name
            ),
        )
        .detail(dependents.join("\n")));
    }
    let catalog = context.session.catalog.current();
    // Memberships in the role end with it.
    let members = catalog.users_of(oid).filter_map(|user| catalog.roles.get(&user));
    for member in members {
        let mut changed = member.object.clone();
        changed.member_of.retain(|membership| membership.role != role.oid);
        write::put(StoredObject::Role(changed), context)?;
    }
    forget_in_databases(role.oid, context)?;
    write::remove(oid, context)
}

/// What its sessions began with goes with the role.
fn forget_in_databases(role: u32, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let catalog = context.session.catalog.current();
    let databases = catalog.databases.values().map(|entry| &entry.object);
    // By name, since each is locked before it is read again.
    let names: Vec<String> = (databases.filter(|database| database.role_settings.contains_key(&role)))
        .map(|database| database.name.clone())
        .collect();
    for name in names {
        let mut stored = database::named(&name, context)?;
        stored.role_settings.remove(&role);
        write::put(StoredObject::Database(stored), context)?;
    }
    Ok(())
}

/// What a role owns or has privileges on, in the words of PostgreSQL's DETAIL.
fn dependents(role: u32, context: &StatementContext<'_>) -> Vec<String> {
    let catalog = context.session.catalog.current();
    let mut found: Vec<(Oid, String)> = Vec::new();
    for user in catalog.users_of(Oid(role)) {
        // The session's temporary schema belongs to nobody.
        if context.session.catalog.is_temporary_schema(user) {
            continue;
        }
        let Some((object, _)) = catalog.object(user) else {
            continue;
        };
        let mut privileges = object.privileges().iter();
        let depends = match object.owner() == Some(role) {
            true => "owner of",
            false if privileges.any(|item| item.grantee == role || item.grantor == role) => "privileges for",
            // A member of the role.
            false => continue,
        };
        found.push((
            number_of(user),
            format!("{depends} {}", shown(user, object, &catalog, context)),
        ));
    }
    // In the order of OIDs.
    found.sort();
    found.into_iter().map(|(_, line)| line).collect()
}

/// An object as a message names it.
fn shown(oid: Oid, object: &dyn Object, catalog: &Catalog, context: &StatementContext<'_>) -> String {
    let relation = catalog
        .relation(oid)
        .map(|entry| dropping::described(&entry.stored, context));
    let defaults = catalog.default_acls.get(&oid);
    relation
        .or_else(|| Some(default_privileges::described(&defaults?.object, context)))
        .or_else(|| Some(uses::texts::described(catalog.routine(oid)?, context)))
        .or_else(|| Some(uses::types::described(catalog.user_type(oid)?)))
        .unwrap_or_else(|| format!("{} {}", object.noun(), object.name()))
}

/// 42704 for a role.
fn undefined(name: &str) -> SqlError {
    SqlError::new(state::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist"))
}

/// 42501 with these words.
fn denied(message: &str) -> SqlError {
    SqlError::new(state::INSUFFICIENT_PRIVILEGE, message)
}

/// CREATEROLE, or a superuser.
pub(super) fn require_role_admin(message: &str, context: &StatementContext<'_>) -> SqlResult<()> {
    let session = &*context.session;
    let catalog = session.catalog.current();
    let allowed = catalog
        .roles
        .get(&session.identity().user_oid)
        .is_some_and(|role| role.object.create_role);
    if session.identity().superuser || allowed {
        Ok(())
    } else {
        Err(denied(message))
    }
}

/// Predefined roles stay as they are.
fn refuse_reserved(role: &RoleSpecification) -> SqlResult<()> {
    match role {
        RoleSpecification::Name { name, .. } if name.starts_with("pg_") => Err(SqlError::new(
            state::RESERVED_NAME,
            format!("role name \"{name}\" is reserved"),
        )
        .detail("Cannot alter reserved roles.")),
        _ => Ok(()),
    }
}

/// 42939 for names that are the system's, or mean something else where a role is named.
pub(super) fn check_name(name: &str) -> SqlResult<()> {
    if name.starts_with("pg_") {
        return Err(
            SqlError::new(state::RESERVED_NAME, format!("role name \"{name}\" is reserved"))
                .detail("Role names starting with \"pg_\" are reserved."),
        );
    }
    if name == "public" || name == "none" {
        return Err(SqlError::new(
            state::RESERVED_NAME,
            format!("role name \"{name}\" is reserved"),
        ));
    }
    Ok(())
}

/// Memberships that options ask for.
#[derive(Default)]
struct Memberships {
    /// IN ROLE: the role becomes a member of these.
    groups: Vec<Oid>,
    /// ROLE, USER: these become members of the role.
    members: Vec<Oid>,
    /// ADMIN: these too, and may make others members.
    admins: Vec<Oid>,
}

impl Memberships {
    /// (group, member, with the admin option).
    fn pairs(&self, role: Oid) -> Vec<(Oid, Oid, bool)> {
        let groups = self.groups.iter().map(|&group| (group, role, false));
        let admins = self.admins.iter().map(|&member| (role, member, true));
        let members = self.members.iter().map(|&member| (role, member, false));
        groups.chain(admins).chain(members).collect()
    }
}

/// Writes options into the role; answers the memberships they ask for.
fn apply(
    role: &mut StoredRole,
    options: &[DefinitionOption],
    context: &mut StatementContext<'_>,
) -> SqlResult<Memberships> {
    let mut memberships = Memberships::default();
    for (at, option) in options.iter().enumerate() {
        // Each option once.
        if options[..at].iter().any(|earlier| earlier.name == option.name) {
            return Err(SqlError::new(
                state::SYNTAX_ERROR,
                "conflicting or redundant options",
            ));
        }
        let flag = matches!(option.value, Some(OptionValue::Boolean(true)));
        match &*option.name {
            "superuser" => role.superuser = flag,
            "canlogin" => role.can_login = flag,
            "createdb" => role.create_database = flag,
            "createrole" => role.create_role = flag,
            "inherit" => role.inherit = flag,
            // `Session::may_replicate` asks for REPLICATION. There is no row security: BYPASSRLS is kept and shown.
            "isreplication" => role.replication = flag,
            "bypassrls" => role.bypass_row_security = flag,
            "password" => set_password(role, option, context),
            "connectionlimit" => role.connection_limit = connection_limit(option)?,
            "validUntil" => role.valid_until = valid_until(option, context)?,
            "addroleto" => memberships.groups = roles_of(option, context)?,
            "rolemembers" => memberships.members = roles_of(option, context)?,
            "adminmembers" => memberships.admins = roles_of(option, context)?,
            "sysid" => schema::notice(
                state::SUCCESSFUL_COMPLETION,
                "SYSID can no longer be specified".into(),
                context,
            ),
            other => {
                return Err(SqlError::new(
                    state::SYNTAX_ERROR,
                    format!("option \"{other}\" not recognized"),
                ));
            }
        }
    }
    Ok(memberships)
}

/// PASSWORD. What is kept is a verifier; a text that is one already is taken as it is.
fn set_password(role: &mut StoredRole, option: &DefinitionOption, context: &mut StatementContext<'_>) {
    role.password = match &option.value {
        Some(OptionValue::String(password)) if password.is_empty() => {
            let message = "empty string is not a valid password, clearing password";
            schema::notice(state::SUCCESSFUL_COMPLETION, message.into(), context);
            None
        }
        Some(OptionValue::String(password)) => Some(mote_catalog::password::verifier_for(password)),
        _ => None,
    };
}

/// VALID UNTIL, in microseconds since 2000-01-01 UTC; None: for ever.
fn valid_until(option: &DefinitionOption, context: &StatementContext<'_>) -> SqlResult<Option<i64>> {
    let Some(OptionValue::String(text)) = &option.value else {
        return Ok(None);
    };
    let format = &context.session.settings.effective.format;
    match input_text(ColumnType::new(oid::TIMESTAMPTZ), text, format)? {
        Datum::TimestampTz(until) => Ok(Some(until)),
        _ => Err(SqlError::internal("a timestamp was read as something else")),
    }
}

/// CONNECTION LIMIT; -1 is none.
fn connection_limit(option: &DefinitionOption) -> SqlResult<i32> {
    match option.value {
        Some(OptionValue::Integer(limit)) if limit >= -1 => Ok(limit),
        Some(OptionValue::Integer(limit)) => Err(SqlError::new(
            state::INVALID_PARAMETER_VALUE,
            format!("invalid connection limit: {limit}"),
        )),
        _ => Err(SqlError::new(
            state::SYNTAX_ERROR,
            "connectionlimit requires an integer value",
        )),
    }
}

/// OIDs of the roles in an option's list.
fn roles_of(option: &DefinitionOption, context: &StatementContext<'_>) -> SqlResult<Vec<Oid>> {
    match &option.value {
        Some(OptionValue::Roles(roles)) => roles.iter().map(|role| schema::role_oid(role, context)).collect(),
        _ => Ok(Vec::new()),
    }
}
