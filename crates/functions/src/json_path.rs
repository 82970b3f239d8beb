//! Functions and operators that run a `jsonpath` over a `jsonb`.
//!
//! A path is kept as text. Each thread keeps the tree of the one it met last: rows of a query ask for the same.

use std::cell::RefCell;
use std::sync::Arc;

use compact_str::CompactString;
use mote_common::SqlResult;
use mote_types::Datum;
use mote_types::json::Json;
use mote_types::jsonpath::{self, Path, Query};

use crate::Body;
use crate::argument::{boolean, jsonb, text};

mote_common::per_thread! {
    static LAST: RefCell<Option<(CompactString, Arc<Path>)>> = const { RefCell::new(None) };
}

pub fn body(name: &str) -> Option<Body> {
    Some(match name {
        "jsonb_path_exists" | "jsonb_path_exists_tz" => Body::Pure(|a| run(a, jsonpath::exists).map(truth)),
        "jsonb_path_exists_opr" => Body::Pure(|a| operate(a, jsonpath::exists).map(truth)),
        "jsonb_path_match" | "jsonb_path_match_tz" => Body::Pure(|a| run(a, jsonpath::matches).map(truth)),
        "jsonb_path_match_opr" => Body::Pure(|a| operate(a, jsonpath::matches).map(truth)),
        "jsonb_path_query_array" | "jsonb_path_query_array_tz" => Body::Pure(|a| {
            let found = Json::Array(run(a, jsonpath::query)?.into());
            Json::check_depth(found.depth()?)?;
            Ok(document(found))
        }),
        "jsonb_path_query_first" | "jsonb_path_query_first_tz" => Body::Pure(|a| {
            let first = run(a, jsonpath::query)?.into_iter().next();
            Ok(first.map_or(Datum::Null, document))
        }),
        _ => return None,
    })
}

/// All results as a set.
pub fn results(arguments: &[Datum]) -> SqlResult<Vec<Datum>> {
    let found = run(arguments, jsonpath::query)?;
    Ok(found.into_iter().map(document).collect())
}

fn document(json: Json) -> Datum {
    Datum::Jsonb(Box::new(json))
}

fn truth(value: Option<bool>) -> Datum {
    value.map_or(Datum::Null, Datum::Bool)
}

/// A function's call: document, path, then variables and `silent`, both of which may be left out.
fn run<T>(arguments: &[Datum], work: fn(&Query<'_>) -> SqlResult<T>) -> SqlResult<T> {
    let none = Json::Object(Vec::new().into());
    work(&Query {
        path: &*path_of(text(&arguments[1]))?,
        document: jsonb(&arguments[0]),
        variables: Some(arguments.get(2).map_or(&none, jsonb)),
        silent: arguments.get(3).is_some_and(boolean),
    })
}

/// An operator passes over errors and knows no variables.
fn operate<T>(arguments: &[Datum], work: fn(&Query<'_>) -> SqlResult<T>) -> SqlResult<T> {
    work(&Query {
        path: &*path_of(text(&arguments[1]))?,
        document: jsonb(&arguments[0]),
        variables: None,
        silent: true,
    })
}

/// The tree of a path, parsed unless this thread met the same text last. Not within the borrow: parsing may be
/// suspended.
fn path_of(text: &str) -> SqlResult<Arc<Path>> {
    let known = LAST.with(|last| {
        let last = last.borrow();
        let known = last.as_ref().filter(|(known, _)| known == text);
        known.map(|(_, path)| path.clone())
    });
    if let Some(path) = known {
        return Ok(path);
    }
    let path = Arc::new(Path::parse(text)?);
    LAST.with(|last| last.replace(Some((text.into(), path.clone()))));
    Ok(path)
}
