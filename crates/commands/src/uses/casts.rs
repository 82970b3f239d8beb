//! Casts that use a type or a function.

use std::collections::BTreeMap;

use mote_common::Oid;
use mote_types::{ColumnType, format_type};

use mote_catalog::catalog_store::stored::StoredCast;
use mote_executor::context::StatementContext;

/// `cast from a to b`, as messages about dependencies name it.
pub(crate) fn between(source: Oid, target: Oid) -> String {
    format!(
        "cast from {} to {}",
        format_type(source, -1),
        format_type(target, -1)
    )
}

pub(crate) fn described(cast: &StoredCast) -> String {
    between(Oid(cast.source), Oid(cast.target))
}

/// The casts from or to one of the types, or to arrays over them, in order of making, each with the type that it uses.
pub(crate) fn of_types(types: &[u32], context: &StatementContext<'_>) -> Vec<(StoredCast, u32)> {
    let catalog = context.session.catalog.current();
    let mut found = BTreeMap::new();
    for &ty in types {
        for cast in catalog.casts_using(Oid(ty)) {
            let is_side = |side: u32| {
                let element = ColumnType::new(Oid(side)).element();
                element.map_or(side, |element| element.oid.0) == ty
            };
            let side = [cast.source, cast.target].into_iter().find(|&side| is_side(side));
            if let Some(side) = side {
                found.entry(cast.oid).or_insert((cast.clone(), side));
            }
        }
    }
    found.into_values().collect()
}

/// The casts that a function does.
pub(crate) fn by_function(function: u32, context: &StatementContext<'_>) -> Vec<StoredCast> {
    let catalog = context.session.catalog.current();
    let casts = catalog.casts_using(Oid(function));
    casts.filter(|cast| cast.function == function).cloned().collect()
}
