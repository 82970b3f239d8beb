//! Subscripts of `jsonb`: `j['key'][0]` read, and assigned to in UPDATE and INSERT.
//!
//! The binder makes every subscript an integer or a text; either is taken as the text that a path has.

use compact_str::{CompactString, ToCompactString};
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_functions::json::{assign, empty, member};
use mote_types::Datum;
use mote_types::json::Json;

use super::Expression;
use crate::runtime::Runtime;

/// A member or an element; NULL where the subscripts lead to nothing.
pub struct JsonbSubscript {
    pub container: Expression,
    pub subscripts: Box<[Expression]>,
}

impl JsonbSubscript {
    pub(super) fn evaluate(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Datum> {
        let Datum::Jsonb(json) = self.container.evaluate(row, runtime)? else {
            return Ok(Datum::Null);
        };
        let mut path = Vec::with_capacity(self.subscripts.len());
        for subscript in &self.subscripts {
            match step(&subscript.evaluate(row, runtime)?) {
                Some(key) => path.push(key),
                None => return Ok(Datum::Null),
            }
        }
        let mut place = &*json;
        for key in &path {
            match member(place, key) {
                Some(next) => place = next,
                None => return Ok(Datum::Null),
            }
        }
        Ok(Datum::Jsonb(Box::new(place.try_clone()?)))
    }
}

/// The document with a member or an element replaced.
pub struct JsonbAssignment {
    pub container: Expression,
    pub subscripts: Box<[Expression]>,
    pub value: Expression,
}

impl JsonbAssignment {
    pub(super) fn evaluate(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Datum> {
        let container = self.container.evaluate(row, runtime)?;
        let mut subscripts = Vec::with_capacity(self.subscripts.len());
        for subscript in &self.subscripts {
            subscripts.push(subscript.evaluate(row, runtime)?);
        }
        let path = assigned_path(&subscripts)?;
        let value = self.value.evaluate(row, runtime)?;
        assign_jsonb(container, &subscripts, &path, value)
    }
}

/// `container[subscripts..] := value` with evaluated parts. A NULL container is an empty one, a NULL value JSON's null.
///
/// # Errors
/// A subscript that is NULL (22004), one that leads through a scalar or before an array (22023), one of an array that
/// is no integer (22P02), more than can be kept (54000, 54001).
pub fn assign_to_jsonb(container: Datum, subscripts: &[Datum], value: Datum) -> SqlResult<Datum> {
    let path = assigned_path(subscripts)?;
    assign_jsonb(container, subscripts, &path, value)
}

fn assigned_path(subscripts: &[Datum]) -> SqlResult<Vec<CompactString>> {
    let path = subscripts.iter().map(|subscript| {
        step(subscript).ok_or_else(|| {
            let message = "jsonb subscript in assignment must not be null";
            SqlError::new(state::NULL_VALUE_NOT_ALLOWED, message)
        })
    });
    path.collect()
}

fn assign_jsonb(
    container: Datum,
    subscripts: &[Datum],
    path: &[CompactString],
    value: Datum,
) -> SqlResult<Datum> {
    let container = match container {
        Datum::Jsonb(json) => *json,
        _ => empty(matches!(subscripts.first(), Some(Datum::Int4(_)))),
    };
    let value = match value {
        Datum::Jsonb(json) => *json,
        _ => Json::Null,
    };
    Ok(Datum::Jsonb(Box::new(assign(container, path, value)?)))
}

fn step(subscript: &Datum) -> Option<CompactString> {
    match subscript {
        Datum::Text(key) => Some(key.clone()),
        other => other.as_i64().map(|index| index.to_compact_string()),
    }
}
