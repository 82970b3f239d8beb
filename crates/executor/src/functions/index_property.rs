//! pg_indexam_has_property, pg_index_has_property, pg_index_column_has_property: what an index method, an index and one of
//! its columns can do.
//!
//! Source: PostgreSQL's amutils.c. NULL is the answer about what is not there, and about properties of another level.

use mote_catalog::views::Facts;
use mote_common::Oid;
use mote_sql::catalog::index_method::{Abilities, IndexMethod};
use mote_sql::catalog::{IndexDescription, IndexKey};
use mote_types::Datum;

use super::{Body, catalog_text::facts, int4, oid as oid_value, text};

pub fn body(name: &str) -> Option<Body> {
    Some(match name {
        "pg_indexam_has_property" => Body::Pure(|a| {
            let method = Oid(oid_value(&a[0]));
            let mut all = IndexMethod::ALL.into_iter().map(IndexMethod::abilities);
            let known = all.find(|abilities| abilities.oid == method);
            let property = text(&a[1]).to_ascii_lowercase();
            Ok(answer(
                known.and_then(|abilities| of_method(abilities, &property)),
            ))
        }),
        "pg_index_has_property" => Body::Runtime(|runtime, _, a| {
            let facts = facts(runtime);
            let property = text(&a[1]).to_ascii_lowercase();
            let found = index(&facts, &a[0]);
            Ok(answer(found.and_then(|index| of_index(index, &property))))
        }),
        "pg_index_column_has_property" => Body::Runtime(|runtime, _, a| {
            let facts = facts(runtime);
            let property = text(&a[2]).to_ascii_lowercase();
            let column = usize::try_from(int4(&a[1])).ok();
            let column = column.and_then(|number| number.checked_sub(1));
            let found = index(&facts, &a[0]).zip(column);
            Ok(answer(
                found.and_then(|(index, column)| of_column(index, column, &property)),
            ))
        }),
        _ => return None,
    })
}

fn answer(held: Option<bool>) -> Datum {
    held.map_or(Datum::Null, Datum::Bool)
}

fn index<'f>(facts: &'f Facts<'_>, index: &Datum) -> Option<&'f IndexDescription> {
    facts.index(Oid(oid_value(index))).map(|known| known.index)
}

fn of_method(method: &Abilities, property: &str) -> Option<bool> {
    Some(match property {
        "can_order" => method.ordered,
        "can_unique" => method.unique,
        "can_multi_col" => method.multicolumn,
        // Of PostgreSQL's methods those that can be walked can: here no constraint asks for it.
        "can_exclude" => true,
        "can_include" => method.included,
        _ => return None,
    })
}

fn of_index(index: &IndexDescription, property: &str) -> Option<bool> {
    Some(match property {
        "clusterable" => index.method.abilities().ordered,
        "index_scan" | "bitmap_scan" | "backward_scan" => true,
        _ => return None,
    })
}

/// Of a column by its place, the included ones behind the keys.
fn of_column(index: &IndexDescription, column: usize, property: &str) -> Option<bool> {
    let method = index.method.abilities();
    let key = index.keys.get(column);
    if key.is_none() && column >= index.keys.len() + index.include.len() {
        return None;
    }
    // A method without an order has neither direction.
    let of_order = |holds: fn(&IndexKey) -> bool| key.map(|key| method.ordered && holds(key));
    match property {
        "asc" => of_order(|key| !key.descending),
        "desc" => of_order(|key| key.descending),
        "nulls_first" => of_order(|key| key.nulls_first),
        "nulls_last" => of_order(|key| !key.nulls_first),
        "orderable" => Some(key.is_some() && method.ordered),
        "distance_orderable" => Some(false),
        "returnable" => Some(method.ordered),
        "search_array" => key.map(|_| method.ordered),
        "search_nulls" => key.map(|_| method.nulls),
        _ => None,
    }
}
