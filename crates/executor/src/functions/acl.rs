//! Access control lists as values: acldefault, aclexplode.
//!
//! An `aclitem` is a text here, `grantee=letters/grantor` with role names quoted where needed: it is read back through the
//! session's catalog. What GRANT and REVOKE do to the lists is in `mote_catalog::acl`.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_sql::access::privilege;
use mote_types::{Datum, oid};

use super::row_source::rows;
use super::{Body, RowSource, array_of, oid as oid_value, text};
use crate::runtime::Runtime;
use mote_catalog::views::Facts;
use mote_catalog::views::text::{acl_item, default_acl};

/// Names of the privileges in the order of their bits.
const PRIVILEGE_NAMES: [(char, &str); 14] = [
    ('a', "INSERT"),
    ('r', "SELECT"),
    ('w', "UPDATE"),
    ('d', "DELETE"),
    ('D', "TRUNCATE"),
    ('x', "REFERENCES"),
    ('t', "TRIGGER"),
    ('X', "EXECUTE"),
    ('U', "USAGE"),
    ('C', "CREATE"),
    ('T', "TEMPORARY"),
    ('c', "CONNECT"),
    ('s', "SET"),
    ('A', "ALTER SYSTEM"),
];

pub fn body(name: &str) -> Option<Body> {
    (name == "acldefault_sql").then_some(Body::Runtime(|runtime, _, a| {
        let owner = Oid(oid_value(&a[1]));
        let Some(items) = default_acl(text(&a[0]), owner) else {
            return Err(SqlError::new(
                state::INTERNAL_ERROR,
                format!("unrecognized objtype abbreviation: {}", text(&a[0])),
            ));
        };
        let facts = facts(runtime);
        let items = items.iter().map(|item| Datum::from(acl_item(&facts, item)));
        Ok(Datum::array(oid::ACLITEM, items.collect()))
    }))
}

fn facts<'r>(runtime: &'r Runtime<'_, '_>) -> Facts<'r> {
    Facts::new(runtime.session().reader(), runtime.database().engine())
}

/// One row per privilege: grantor, grantee, its name, whether it may be passed on.
pub fn explode(runtime: &mut Runtime<'_, '_>, list: &Datum) -> SqlResult<Box<dyn RowSource>> {
    let facts = facts(runtime);
    let mut exploded = Vec::new();
    for item in array_of(list).elements.iter().filter_map(Datum::as_str) {
        let (grantee, rest) = role(&facts, item)?;
        let letters = rest.strip_prefix('=').unwrap_or(rest);
        let (letters, grantor) = letters.split_once('/').unwrap_or((letters, ""));
        let (grantor, _) = role(&facts, grantor)?;
        let mut letters = letters.chars().peekable();
        while let Some(letter) = letters.next() {
            // A star behind a letter is the grant option for that privilege.
            let grantable = letters.next_if_eq(&'*').is_some();
            let name = PRIVILEGE_NAMES.iter().find(|(known, _)| *known == letter);
            let Some((_, name)) = name else { continue };
            exploded.push(vec![
                Datum::oid(grantor),
                Datum::oid(grantee),
                Datum::from(*name),
                Datum::Bool(grantable),
            ]);
        }
    }
    Ok(rows(exploded))
}

/// The role that an item begins with, and what follows its name. No name is PUBLIC.
fn role<'i>(facts: &Facts<'_>, item: &'i str) -> SqlResult<(Oid, &'i str)> {
    let (name, rest) = match item.strip_prefix('"') {
        Some(quoted) => {
            let end = closing_quote(quoted);
            (
                quoted[..end].replace("\"\"", "\""),
                quoted.get(end + 1..).unwrap_or(""),
            )
        }
        None => {
            let end = item.find(['=', '/']).unwrap_or(item.len());
            (item[..end].to_string(), &item[end..])
        }
    };
    if name.is_empty() {
        return Ok((Oid::INVALID, rest));
    }
    let found = facts.catalog.role_by_name(&name).map(|role| Oid(role.object.oid));
    // A role that is gone is shown by its number.
    let found = found.or_else(|| name.parse().ok().map(Oid));
    found
        .map(|role| (role, rest))
        .ok_or_else(|| SqlError::new(state::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist")))
}

/// Where a quoted name ends: doubled quotes belong to it.
fn closing_quote(quoted: &str) -> usize {
    let mut from = 0;
    while let Some(at) = quoted[from..].find('"') {
        let at = from + at;
        if !quoted[at + 1..].starts_with('"') {
            return at;
        }
        from = at + 2;
    }
    quoted.len()
}

/// The bits of a privilege list are those of PRIVILEGE_NAMES, in order.
const _: () = assert!(privilege::INSERT == 1 && privilege::CONNECT == 1 << 11);
