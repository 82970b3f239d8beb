//! has_table_privilege and its kin: one body for all, guided by the call's name and argument types.
//!
//! The user comes first where it is given, then the object (by name or OID), for columns the column, last the privileges.

use mote_catalog::views::object_text;
use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_sql::access::privilege;
use mote_sql::catalog::{CatalogView, Relation, RelationKind};
use mote_types::catalog::type_info;
use mote_types::catalog::user::{is_composite, number_of};
use mote_types::{ColumnType, Datum, oid};
use std::sync::Arc;

use super::{Body, CallSite, text};
use crate::runtime::Runtime;
use mote_catalog::privileges::{
    administers, belongs, database_privileges, has_privileges, may_execute, memberships, schema_privileges,
    type_privileges,
};

pub fn body(name: &str) -> Option<Body> {
    let known = name.starts_with("pg_has_role_") || name.starts_with("has_") && name.contains("_privilege_");
    known.then_some(Body::Runtime(check))
}

/// Everybody, where a role is named.
const PUBLIC: &str = "public";

/// The answer, NULL where an OID names nothing; a name that names nothing is an error.
fn check(runtime: &mut Runtime<'_, '_>, site: &CallSite, arguments: &[Datum]) -> SqlResult<Datum> {
    // One argument more than the others: the column. What is given beyond that is the user, in front.
    let of_column = site.name == "has_column_privilege";
    let without_user = if of_column { 3 } else { 2 };
    let (role, rest) = if arguments.len() > without_user {
        // What everybody may do is asked of PUBLIC, by its name or by no role's number; members it has none.
        match &arguments[0] {
            Datum::Text(name) if name.as_str() == PUBLIC && site.name != "pg_has_role" => {
                (Some(Oid::INVALID), &arguments[1..])
            }
            role => (role_of(runtime, role)?, &arguments[1..]),
        }
    } else {
        (Some(runtime.session().identity().user_oid), arguments)
    };
    let wanted = text(&rest[rest.len() - 1]).to_string();
    let Some(role) = role else { return Ok(Datum::Null) };
    let held = match site.name {
        "pg_has_role" => holds_role(runtime, role, &rest[0], &wanted)?,
        "has_table_privilege"
        | "has_sequence_privilege"
        | "has_any_column_privilege"
        | "has_column_privilege" => holds_on_relation(runtime, site, role, rest, &wanted)?,
        "has_schema_privilege" => holds_on_schema(runtime, role, &rest[0], &wanted)?,
        "has_function_privilege" => holds_on_function(runtime, role, &rest[0], &wanted)?,
        "has_database_privilege" => holds_on_database(runtime, role, &rest[0], &wanted)?,
        "has_type_privilege" => holds_on_type(runtime, role, &rest[0], &wanted)?,
        // Everybody may use every language.
        _ => {
            parse(&wanted)?;
            Some(true)
        }
    };
    Ok(held.map_or(Datum::Null, Datum::Bool))
}

/// Whether a role holds any of the privileges of a list, which is enough in all of these functions; None: the OID of the
/// object names nothing.
type Held = SqlResult<Option<bool>>;

fn holds_role(runtime: &mut Runtime<'_, '_>, role: Oid, other: &Datum, wanted: &str) -> Held {
    let Some(other) = role_of(runtime, other)? else {
        return Ok(None);
    };
    let catalog = &runtime.session().catalog;
    let mut held = is_superuser(runtime, role);
    for word in wanted.split(',') {
        held |= match &*word.trim().to_ascii_uppercase() {
            // To have its privileges; to be able to become it; to make others members.
            "USAGE" => memberships(catalog, role).contains(&other),
            "MEMBER" => belongs(catalog, role, other),
            "USAGE WITH GRANT OPTION"
            | "USAGE WITH ADMIN OPTION"
            | "MEMBER WITH GRANT OPTION"
            | "MEMBER WITH ADMIN OPTION" => administers(catalog, role, other),
            _ => return Err(unrecognized(word)),
        };
    }
    Ok(Some(held))
}

fn holds_on_relation(
    runtime: &mut Runtime<'_, '_>,
    site: &CallSite,
    role: Oid,
    rest: &[Datum],
    wanted: &str,
) -> Held {
    let Some(relation) = relation_of(runtime, &rest[0])? else {
        return Ok(None);
    };
    if site.name == "has_column_privilege" && !has_column(&relation, &rest[1])? {
        return Ok(None);
    }
    let parsed = match site.name {
        "has_sequence_privilege" => {
            require_sequence(&relation)?;
            parse_among(wanted, &["USAGE", "SELECT", "UPDATE"])?
        }
        "has_table_privilege" => parse_of_table(wanted)?,
        _ => parse(wanted)?,
    };
    // Nobody writes catalogs, but a superuser may do all.
    if is_superuser(runtime, role) {
        return Ok(Some(!parsed.is_empty()));
    }
    let catalog = &runtime.session().catalog;
    let mut parsed = parsed.into_iter();
    Ok(Some(
        parsed.any(|bit| has_privileges(catalog, &relation, role, bit)),
    ))
}

fn holds_on_schema(runtime: &mut Runtime<'_, '_>, role: Oid, schema: &Datum, wanted: &str) -> Held {
    let Some(schema) = schema_of(runtime, schema)? else {
        return Ok(None);
    };
    let session = runtime.session();
    let held = match session.catalog.current().schemas.get(&schema) {
        Some(entry) => schema_privileges(&session.catalog, &entry.object, role),
        None if is_superuser(runtime, role) => u32::MAX,
        // Built in.
        None => privilege::USAGE,
    };
    Ok(Some(parse(wanted)?.iter().any(|bit| held & bit != 0)))
}

fn holds_on_function(runtime: &mut Runtime<'_, '_>, role: Oid, function: &Datum, wanted: &str) -> Held {
    let Some(function) = function_of(runtime, function)? else {
        return Ok(None);
    };
    parse(wanted)?;
    let session = runtime.session();
    let catalog = session.catalog.current();
    let known = catalog.routine(function);
    Ok(Some(known.is_none_or(|entry| {
        may_execute(&session.catalog, &entry.described, role)
    })))
}

fn holds_on_database(runtime: &mut Runtime<'_, '_>, role: Oid, database: &Datum, wanted: &str) -> Held {
    let Some(database) = database_of(runtime, database)? else {
        return Ok(None);
    };
    let held = database_privileges(&runtime.session().catalog, database, role);
    Ok(Some(parse(wanted)?.iter().any(|bit| held & bit != 0)))
}

fn holds_on_type(runtime: &mut Runtime<'_, '_>, role: Oid, ty: &Datum, wanted: &str) -> Held {
    let Some(ty) = type_of(runtime, ty)? else {
        return Ok(None);
    };
    parse_among(wanted, &["USAGE"])?;
    let session = runtime.session();
    let catalog = session.catalog.current();
    Ok(Some(catalog.user_type(ty).is_none_or(|entry| {
        type_privileges(&session.catalog, &entry.stored, role) & privilege::USAGE != 0
    })))
}

fn is_superuser(runtime: &Runtime<'_, '_>, role: Oid) -> bool {
    let catalog = runtime.session().catalog.current();
    catalog
        .roles
        .get(&role)
        .is_some_and(|entry| entry.object.superuser)
}

/// A role by its name, which must be there, or by its OID, which is taken as it is.
fn role_of(runtime: &mut Runtime<'_, '_>, value: &Datum) -> SqlResult<Option<Oid>> {
    match value {
        Datum::Oid(role) => Ok(Some(Oid(*role))),
        other => {
            let name = text(other);
            match runtime.session().catalog.current().role_by_name(name) {
                Some(role) => Ok(Some(Oid(role.object.oid))),
                None => Err(SqlError::new(
                    state::UNDEFINED_OBJECT,
                    format!("role \"{name}\" does not exist"),
                )),
            }
        }
    }
}

/// A relation: NULL for an OID that is none, an error for a name that is none.
fn relation_of(runtime: &mut Runtime<'_, '_>, value: &Datum) -> SqlResult<Option<Arc<Relation>>> {
    match value {
        Datum::Oid(relation) => Ok(runtime.session().catalog.relation(Oid(*relation))),
        other => {
            let name = text(other);
            let found = object_text::find(oid::REGCLASS, name, &runtime.session().catalog);
            match found.and_then(|oid| runtime.session().catalog.relation(oid)) {
                Some(relation) => Ok(Some(relation)),
                None => Err(SqlError::new(
                    state::UNDEFINED_TABLE,
                    format!("relation \"{name}\" does not exist"),
                )),
            }
        }
    }
}

/// A function of users, or another one by its number.
fn function_of(runtime: &mut Runtime<'_, '_>, value: &Datum) -> SqlResult<Option<Oid>> {
    match value {
        Datum::Oid(function) => {
            let function = Oid(*function);
            let known =
                function < Oid::FIRST_USER || runtime.session().catalog.current().routine(function).is_some();
            Ok(known.then_some(function))
        }
        other => {
            let name = text(other);
            let missing = || {
                let message = format!("function \"{name}\" does not exist");
                SqlError::new(state::UNDEFINED_FUNCTION, message)
            };
            let found = object_text::find(oid::REGPROCEDURE, name, &runtime.session().catalog);
            found.map(Some).ok_or_else(missing)
        }
    }
}

/// A database, by the same rule.
/// A type that there is; of an array its elements'.
fn type_of(runtime: &mut Runtime<'_, '_>, value: &Datum) -> SqlResult<Option<Oid>> {
    let ty = match value {
        Datum::Oid(ty) => Oid(*ty),
        other => {
            let name = text(other);
            let missing = || {
                let message = format!("type \"{name}\" does not exist");
                SqlError::new(state::UNDEFINED_OBJECT, message)
            };
            let found = object_text::find(oid::REGTYPE, name, &runtime.session().catalog);
            found.ok_or_else(missing)?
        }
    };
    let ty = ColumnType::new(ty).element().map_or(ty, |element| element.oid);
    let catalog = runtime.session().catalog.current();
    let is_row = is_composite(ty) && runtime.session().catalog.relation(number_of(ty)).is_some();
    let known = is_row || type_info(ty).is_some() || catalog.user_type(ty).is_some();
    Ok(known.then_some(ty))
}

fn database_of(runtime: &Runtime<'_, '_>, value: &Datum) -> SqlResult<Option<Oid>> {
    let catalog = runtime.session().catalog.current();
    match value {
        Datum::Oid(database) => Ok(catalog.databases.get(&Oid(*database)).map(|_| Oid(*database))),
        other => {
            let name = text(other);
            let missing = || {
                let message = format!("database \"{name}\" does not exist");
                SqlError::new(state::INVALID_CATALOG_NAME, message)
            };
            let found = catalog.database_by_name(name).ok_or_else(missing)?;
            Ok(Some(Oid(found.object.oid)))
        }
    }
}

/// A schema that there is.
fn schema_of(runtime: &mut Runtime<'_, '_>, value: &Datum) -> SqlResult<Option<Oid>> {
    let catalog = runtime.session().catalog.current();
    let known = |schema: &Oid| {
        mote_catalog::system_schemas::schema_name(*schema).is_some() || catalog.schemas.contains_key(schema)
    };
    match value {
        Datum::Oid(schema) => Ok(Some(Oid(*schema)).filter(known)),
        // Its name as it is, not as SQL writes it.
        other => {
            let name = text(other);
            let quoted = format!("\"{}\"", name.replace('"', "\"\""));
            let found = object_text::find(oid::REGNAMESPACE, &quoted, &runtime.session().catalog);
            match found.filter(known) {
                Some(schema) => Ok(Some(schema)),
                None => Err(SqlError::new(
                    state::INVALID_SCHEMA_NAME,
                    format!("schema \"{name}\" does not exist"),
                )),
            }
        }
    }
}

/// Whether the column is there: by its name, which must be, or by its number, counted from 1.
fn has_column(relation: &Relation, column: &Datum) -> SqlResult<bool> {
    match column {
        Datum::Text(name) => {
            let found = relation
                .columns
                .iter()
                .any(|column| !column.dropped && column.name == name.as_str());
            if found {
                return Ok(true);
            }
            Err(SqlError::new(
                state::UNDEFINED_COLUMN,
                format!(
                    "column \"{name}\" of relation \"{}\" does not exist",
                    relation.name
                ),
            ))
        }
        number => {
            let position = number.as_i64().unwrap_or(0);
            let column = usize::try_from(position - 1)
                .ok()
                .and_then(|position| relation.columns.get(position));
            Ok(column.is_some_and(|column| !column.dropped))
        }
    }
}

/// [`parse`], for objects that have these privileges only.
fn parse_among(list: &str, known: &[&str]) -> SqlResult<Vec<u32>> {
    let is_known = |word: &&str| {
        let upper = word.trim().to_uppercase();
        known.contains(&upper.trim_end_matches(" WITH GRANT OPTION"))
    };
    match list.split(',').find(|word| !is_known(word)) {
        Some(word) => Err(unrecognized(word)),
        None => parse(list),
    }
}

/// [`parse`], where RULE is a privilege that nobody holds: it was one before PostgreSQL 8.2, and drivers ask for it.
fn parse_of_table(list: &str) -> SqlResult<Vec<u32>> {
    let is_rule = |word: &&str| {
        let upper = word.trim().to_uppercase();
        upper.trim_end_matches(" WITH GRANT OPTION") == "RULE"
    };
    let rest: Vec<&str> = list.split(',').filter(|word| !is_rule(word)).collect();
    match rest.is_empty() {
        true => Ok(Vec::new()),
        false => parse(&rest.join(",")),
    }
}

fn unrecognized(word: &str) -> SqlError {
    let message = format!("unrecognized privilege type: \"{}\"", word.trim());
    SqlError::new(state::INVALID_PARAMETER_VALUE, message)
}

/// has_sequence_privilege is for sequences alone.
fn require_sequence(relation: &Relation) -> SqlResult<()> {
    match relation.kind {
        RelationKind::Sequence => Ok(()),
        _ => Err(SqlError::new(
            state::WRONG_OBJECT_TYPE,
            format!("\"{}\" is not a sequence", relation.name),
        )),
    }
}

/// `SELECT, INSERT WITH GRANT OPTION` as bits; grant options belong to whoever holds the privilege as owner.
fn parse(list: &str) -> SqlResult<Vec<u32>> {
    let bit = |word: &str| -> SqlResult<u32> {
        let upper = word.trim().to_uppercase();
        Ok(match upper.trim_end_matches(" WITH GRANT OPTION") {
            "SELECT" => privilege::SELECT,
            "INSERT" => privilege::INSERT,
            "UPDATE" => privilege::UPDATE,
            "DELETE" => privilege::DELETE,
            "TRUNCATE" => privilege::TRUNCATE,
            "REFERENCES" => privilege::REFERENCES,
            "TRIGGER" => privilege::TRIGGER,
            "EXECUTE" => privilege::EXECUTE,
            "USAGE" => privilege::USAGE,
            "CREATE" => privilege::CREATE,
            "TEMP" | "TEMPORARY" => privilege::TEMPORARY,
            "CONNECT" => privilege::CONNECT,
            _ => return Err(unrecognized(word)),
        })
    };
    list.split(',').map(bit).collect()
}
