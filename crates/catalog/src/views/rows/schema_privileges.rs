//! information_schema: privileges on tables, their columns and routines, and the tables that views read.
//!
//! Leaves out: grants on single columns, which do not exist; privileges on types, domains and sequences.

use mote_common::{Oid, SqlResult};
use mote_sql::access::privilege;
use mote_sql::builtin::function::{FUNCTIONS, FunctionSignature};
use mote_sql::catalog::Relation;
use mote_types::Datum;
use mote_types::catalog::extension::of_extension;

use super::schema::accessible;
use crate::catalog_store::stored::StoredKind;
use crate::views::builtin::BOOTSTRAP_ROLE;
use crate::views::facts::{Facts, Known};
use crate::views::row::row;
use crate::views::rows::schema_types::yes_or_no;

/// Table privileges in the order of their bits.
const TABLE_PRIVILEGES: [&str; 7] = [
    "INSERT",
    "SELECT",
    "UPDATE",
    "DELETE",
    "TRUNCATE",
    "REFERENCES",
    "TRIGGER",
];

/// Those that columns can have, too.
const COLUMN_PRIVILEGES: [&str; 4] = ["INSERT", "SELECT", "UPDATE", "REFERENCES"];

const EVERYBODY: &str = "PUBLIC";

/// What one role holds by another's word.
struct Grant {
    grantor: String,
    grantee: String,
    privilege: &'static str,
    grantable: bool,
}

fn grantee(facts: &Facts<'_>, role: Oid) -> String {
    match role {
        Oid::INVALID => EVERYBODY.to_string(),
        role => facts.role_or_unknown(role),
    }
}

/// What owners hold by nature, and what was granted.
fn grants_on(facts: &Facts<'_>, relation: &Relation) -> Vec<Grant> {
    let mut grants = Vec::new();
    if relation.acl.is_empty() {
        let owner = facts.role_or_unknown(relation.owner);
        grants.extend(TABLE_PRIVILEGES.map(|privilege| Grant {
            grantor: owner.clone(),
            grantee: owner.clone(),
            privilege,
            grantable: true,
        }));
    }
    for item in &relation.acl {
        let held = (0..TABLE_PRIVILEGES.len()).filter(|bit| item.privileges & 1 << bit != 0);
        grants.extend(held.map(|bit| Grant {
            grantor: facts.role_or_unknown(item.grantor),
            grantee: grantee(facts, item.grantee),
            privilege: TABLE_PRIVILEGES[bit],
            grantable: item.grant_options & 1 << bit != 0 || item.grantee == relation.owner,
        }));
    }
    grants
}

/// Of rows that begin with grantor and grantee: those that concern the session's user, or everybody too.
fn concerning(facts: &Facts<'_>, mut rows: Vec<Vec<Datum>>, or_everybody: bool) -> Vec<Vec<Datum>> {
    let identity = &facts.session.catalog.identity;
    if identity.superuser {
        return rows;
    }
    let roles = facts.roles();
    let enabled: Vec<&str> = roles
        .iter()
        .filter(|role| facts.is_member(identity.user_oid, Oid(role.oid)))
        .map(|role| role.name.as_str())
        .collect();
    let concerns = |name: &Datum| {
        name.as_str()
            .is_some_and(|name| enabled.contains(&name) || or_everybody && name == EVERYBODY)
    };
    rows.retain(|row| row[..2].iter().any(concerns));
    rows
}

pub fn role_table_grants(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    Ok(concerning(facts, table_privileges(facts)?, false))
}

pub fn role_column_grants(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    Ok(concerning(facts, column_privileges(facts)?, false))
}

pub fn role_routine_grants(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    Ok(concerning(facts, routine_privileges(facts)?, false))
}

pub fn table_privileges(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let mut rows = Vec::new();
    for Known { relation, .. } in accessible(facts) {
        rows.extend(grants_on(facts, relation).into_iter().map(|grant| {
            row![
                grant.grantor,
                grant.grantee,
                facts.database_name(),
                &relation.schema,
                &relation.name,
                grant.privilege,
                yes_or_no(grant.grantable),
                yes_or_no(grant.privilege == "SELECT"),
            ]
        }));
    }
    Ok(concerning(facts, rows, true))
}

/// Whoever holds a privilege on a table holds it on all columns.
pub fn column_privileges(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let mut rows = Vec::new();
    for Known { relation, .. } in accessible(facts) {
        let grants = grants_on(facts, relation);
        for grant in grants
            .iter()
            .filter(|grant| COLUMN_PRIVILEGES.contains(&grant.privilege))
        {
            let live = relation.columns.iter().filter(|column| !column.dropped);
            rows.extend(live.map(|column| {
                row![
                    &grant.grantor,
                    &grant.grantee,
                    facts.database_name(),
                    &relation.schema,
                    &relation.name,
                    &column.name,
                    grant.privilege,
                    yes_or_no(grant.grantable),
                ]
            }));
        }
    }
    Ok(concerning(facts, rows, true))
}

/// EXECUTE on routines: of everybody and the owner, until something is granted or revoked.
pub fn routine_privileges(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let catalog = facts.database_name();
    let mut rows = Vec::new();
    let mut push = |(schema, name, oid): (&str, &str, Oid), grantor: &str, grantee: &str, grantable: bool| {
        let specific = format!("{name}_{oid}");
        rows.push(row![
            grantor,
            grantee,
            catalog,
            schema,
            specific,
            catalog,
            schema,
            name,
            "EXECUTE",
            yes_or_no(grantable),
        ]);
    };
    let bootstrap = facts.role_or_unknown(BOOTSTRAP_ROLE);
    let own = |function: &&FunctionSignature| {
        let types = function.arguments.iter().chain([&function.result]);
        of_extension(types.copied()).is_none()
    };
    for function in FUNCTIONS.iter().filter(own) {
        let this = ("pg_catalog", function.name, function.oid);
        push(this, &bootstrap, EVERYBODY, false);
        push(this, &bootstrap, &bootstrap, true);
    }
    for routine in facts.routines() {
        let this = (routine.schema.as_str(), routine.name.as_str(), routine.oid);
        if routine.acl.is_empty() {
            let owner = facts.role_or_unknown(routine.owner);
            push(this, &owner, EVERYBODY, false);
            push(this, &owner, &owner, true);
        }
        for item in routine
            .acl
            .iter()
            .filter(|item| item.privileges & privilege::EXECUTE != 0)
        {
            let grantable = item.grant_options & privilege::EXECUTE != 0 || item.grantee == routine.owner;
            let grantor = facts.role_or_unknown(item.grantor);
            push(this, &grantor, &grantee(facts, item.grantee), grantable);
        }
    }
    Ok(concerning(facts, rows, true))
}

/// The tables and views that views read themselves, of those that the user owns.
pub fn view_table_usage(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let catalog = facts.database_name();
    let identity = &facts.session.catalog.identity;
    let mut rows = Vec::new();
    let is_view = |known: &Known<'_>| known.stored.kind == StoredKind::View;
    for view in facts.relations().into_iter().filter(is_view) {
        let used = facts.used_directly(view.stored);
        for read in used.into_iter().filter_map(|oid| facts.relation(oid)) {
            let listed = matches!(read.stored.kind, StoredKind::Table | StoredKind::View);
            if listed && (identity.superuser || facts.is_member(identity.user_oid, read.relation.owner)) {
                rows.push(row![
                    catalog,
                    &view.relation.schema,
                    &view.relation.name,
                    catalog,
                    &read.relation.schema,
                    &read.relation.name,
                ]);
            }
        }
    }
    Ok(rows)
}
