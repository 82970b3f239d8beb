//! What all databases share, and schemas: pg_database, roles, pg_tablespace, pg_namespace.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_sql::access::AclItem;
use mote_sql::access::privilege;
use mote_types::Datum;

use super::acl::acl;
use super::relations::builtin_schema_acl;
use crate::catalog_store::stored::StoredRole;
use crate::privileges::PUBLIC_SCHEMA;
use crate::system_schemas::{CATALOG_SCHEMA, INFORMATION_SCHEMA};
use crate::views::builtin::{BOOTSTRAP_ROLE, DEFAULT_TABLESPACE, ENCODING_UTF8};
use crate::views::facts::Facts;
use crate::views::row::{NULL, oid_array, row, text_array, xid};
use crate::views::text::{acl_item, default_acl};

/// The collation of every database.
const LOCALE: &str = "C.UTF-8";
const GLOBAL_TABLESPACE: Oid = Oid(1664);

pub fn databases(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let rows = facts.databases().into_iter().map(|database| {
        row![
            Oid(database.oid),
            &database.name,
            Oid(database.owner),
            ENCODING_UTF8,
            'c',
            database.is_template,
            database.allow_connections,
            database.connection_limit,
            xid(3),
            xid(1),
            DEFAULT_TABLESPACE,
            LOCALE,
            LOCALE,
            NULL,
            NULL,
            acl(
                facts,
                &database.acl.iter().map(Into::into).collect::<Vec<AclItem>>()
            ),
        ]
    });
    Ok(rows.collect())
}

pub fn namespaces(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let builtin = |oid: Oid, name: &str| row![oid, name, BOOTSTRAP_ROLE, builtin_schema_acl(facts)];
    let mut rows = vec![
        builtin(CATALOG_SCHEMA, "pg_catalog"),
        builtin(INFORMATION_SCHEMA, "information_schema"),
    ];
    for schema in facts.schemas() {
        let mut items: Vec<AclItem> = schema.acl.iter().map(Into::into).collect();
        if items.is_empty() && schema.name == PUBLIC_SCHEMA {
            // The schema that databases begin with is everybody's to use though nobody granted it.
            items = default_acl("n", Oid(schema.owner)).expect("schemas are a kind of object");
            items.push(AclItem {
                grantee: Oid::INVALID,
                grantor: Oid(schema.owner),
                privileges: privilege::USAGE,
                grant_options: 0,
            });
        }
        rows.push(row![
            Oid(schema.oid),
            &schema.name,
            Oid(schema.owner),
            acl(facts, &items)
        ]);
    }
    Ok(rows)
}

/// pg_default_acl, of this database.
pub fn default_privileges(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let database = facts.session.catalog.database.0;
    let mut lists: Vec<_> = facts
        .catalog
        .default_acls
        .values()
        .map(|entry| &entry.object)
        .collect();
    lists.retain(|list| list.key.database == database);
    lists.sort_by_key(|list| list.oid);
    let rows = lists.into_iter().map(|list| {
        let items = list
            .acl
            .iter()
            .map(|item| Datum::from(acl_item(facts, &item.into())));
        row![
            Oid(list.oid),
            Oid(list.key.role),
            Oid(list.key.schema),
            list.key.kind,
            Datum::array(mote_types::oid::ACLITEM, items.collect())
        ]
    });
    Ok(rows.collect())
}

pub fn tablespaces(_: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    Ok(vec![
        row![DEFAULT_TABLESPACE, "pg_default", BOOTSTRAP_ROLE, NULL, NULL],
        row![GLOBAL_TABLESPACE, "pg_global", BOOTSTRAP_ROLE, NULL, NULL],
    ])
}

/// What a password is shown as where it may not be seen.
const HIDDEN_PASSWORD: &str = "********";

fn superuser_only(facts: &Facts<'_>, table: &str) -> SqlResult<()> {
    if facts.session.catalog.identity.superuser {
        return Ok(());
    }
    Err(SqlError::new(
        state::INSUFFICIENT_PRIVILEGE,
        format!("permission denied for table {table}"),
    ))
}

pub fn authid(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    superuser_only(facts, "pg_authid")?;
    let rows = facts.roles().into_iter().map(|role| {
        row![
            Oid(role.oid),
            &role.name,
            role.superuser,
            role.inherit,
            role.create_role,
            role.create_database,
            role.can_login,
            role.replication,
            role.bypass_row_security,
            role.connection_limit,
            role.password.as_deref(),
            valid_until(role),
        ]
    });
    Ok(rows.collect())
}

/// Settings of a role as `name=value`.
fn role_configuration(role: &StoredRole) -> Datum {
    match role.settings.is_empty() {
        true => NULL,
        false => configuration(&role.settings),
    }
}

fn configuration(settings: &[(String, String)]) -> Datum {
    text_array(settings.iter().map(|(name, value)| format!("{name}={value}")))
}

fn valid_until(role: &StoredRole) -> Datum {
    role.valid_until.map_or(NULL, Datum::TimestampTz)
}

pub fn roles(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let rows = facts.roles().into_iter().map(|role| {
        row![
            &role.name,
            role.superuser,
            role.inherit,
            role.create_role,
            role.create_database,
            role.can_login,
            role.replication,
            role.connection_limit,
            HIDDEN_PASSWORD,
            valid_until(role),
            role.bypass_row_security,
            role_configuration(role),
            Oid(role.oid),
        ]
    });
    Ok(rows.collect())
}

fn login_row(role: &StoredRole, password: Option<&str>) -> Vec<Datum> {
    row![
        &role.name,
        Oid(role.oid),
        role.create_database,
        role.superuser,
        role.replication,
        role.bypass_row_security,
        password,
        valid_until(role),
        role_configuration(role),
    ]
}

pub fn users(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let logins = facts.roles().into_iter().filter(|role| role.can_login);
    Ok(logins
        .map(|role| login_row(role, Some(HIDDEN_PASSWORD)))
        .collect())
}

pub fn shadow(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    superuser_only(facts, "pg_shadow")?;
    let logins = facts.roles().into_iter().filter(|role| role.can_login);
    Ok(logins
        .map(|role| login_row(role, role.password.as_deref()))
        .collect())
}

/// Roles that cannot log in, with their members.
pub fn groups(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let roles = facts.roles();
    let rows = roles.iter().filter(|role| !role.can_login).map(|group| {
        let members = roles.iter().filter(|role| role.belongs_to(group.oid));
        row![
            &group.name,
            Oid(group.oid),
            oid_array(members.map(|role| Oid(role.oid)))
        ]
    });
    Ok(rows.collect())
}

pub fn members(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let mut rows = Vec::new();
    for member in facts.roles() {
        for membership in &member.member_of {
            rows.push(row![
                Oid(membership.role),
                Oid(member.oid),
                Oid(membership.grantor),
                membership.admin
            ]);
        }
    }
    Ok(rows)
}

pub fn role_settings(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let with_settings = facts.roles().into_iter().filter(|role| !role.settings.is_empty());
    let mut rows: Vec<Vec<Datum>> = with_settings
        .map(|role| row![Oid::INVALID, Oid(role.oid), role_configuration(role)])
        .collect();
    if let Some(entry) = facts.catalog.settings_of_all() {
        rows.push(row![
            Oid::INVALID,
            Oid::INVALID,
            configuration(&entry.object.settings)
        ]);
    }
    for entry in facts.catalog.databases.values() {
        let database = &entry.object;
        if !database.settings.is_empty() {
            rows.push(row![
                Oid(database.oid),
                Oid::INVALID,
                configuration(&database.settings)
            ]);
        }
        for (&role, settings) in &database.role_settings {
            rows.push(row![Oid(database.oid), Oid(role), configuration(settings)]);
        }
    }
    Ok(rows)
}
