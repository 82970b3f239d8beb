//! Bodies of the built-in functions, by the `body` names of `mote_sql::builtin::function`.
//!
//! Read this file first (how a body looks and is found), then any family: `random`, `formatting`, `datetime`, `array`,
//! `set_returning` with `row_source`, `aggregate` with `variance` and `ordered_set`, `window`, `system`, `large_object`, `type_io`,
//! `helper`, `catalog_text`, `keywords`, `privilege`, `acl`, `backup`, `snapshot`, `recovery`, `slots`, `restricted` (who may call
//! some of them); `extension` has those of extensions.
//!
//! The crate `mote_functions` has the families that need no statement: numbers, texts, patterns, json, ranges, enums, bytes. What stays
//! here asks the session, the clock or the catalog, compares values as a query does (`crate::value`), or quotes as the grammar does.
//!
//! Source: PostgreSQL's utils/adt, by behaviour: a body does what the function of its pg_proc row does.
//!
//! Promises: a body gets exactly the variants its signature names; a strict one never sees a null. Errors carry
//! PostgreSQL's SQLSTATE and wording. Comparisons are not here: they compile to nodes of their own.
//! Leaves out: signatures, volatility and overload resolution (`mote_sql`).

mod acl;
pub mod aggregate;
pub mod array;
pub mod backup;
mod snapshot;
pub mod catalog_rows;
mod catalog_text;
pub mod datetime;
mod extension;
pub mod formatting;
mod helper;
mod index_property;
mod information;
mod keywords;
mod large_object;
mod ordered_set;
pub mod privilege;
pub mod random;
mod recovery;
mod restricted;
pub mod row_source;
pub mod set_returning;
mod slots;
pub mod system;
mod type_io;
mod variance;
pub mod window;
#[cfg(test)]
mod tests;

pub use mote_functions::CallSite;
pub use mote_functions::argument::{
    array_of, boolean, bytes, float8, int4, int8, interval, jsonb, lsn, numeric, oid, text,
};

use std::collections::HashMap;
use std::sync::LazyLock;

use mote_common::SqlResult;
use mote_functions::{Pure, Typed};
use mote_sql::builtin::function::FUNCTIONS;
use mote_types::{Datum, FormatSettings, family};

use crate::runtime::Runtime;
use crate::value::Operation;

type RuntimeFunction = fn(&mut Runtime<'_, '_>, &CallSite, &[Datum]) -> SqlResult<Datum>;

/// The body of a scalar function.
#[derive(Clone, Copy)]
pub enum Body {
    /// Depends on its arguments only.
    Pure(Pure),
    /// Also on their types, and on how the session writes and reads values.
    Typed(Typed),
    /// Also on the session, the database or the clock.
    Runtime(RuntimeFunction),
    /// A typed one, where the last argument is an array that stands for its elements.
    Spreading(Typed),
}

impl From<mote_functions::Body> for Body {
    fn from(body: mote_functions::Body) -> Body {
        match body {
            mote_functions::Body::Pure(function) => Body::Pure(function),
            mote_functions::Body::Typed(function) => Body::Typed(function),
        }
    }
}

impl Body {
    /// Calls the body. Whoever calls has seen to strictness.
    #[inline]
    pub fn call(
        self,
        runtime: &mut Runtime<'_, '_>,
        site: &CallSite,
        arguments: &[Datum],
    ) -> SqlResult<Datum> {
        match self {
            Body::Pure(function) => function(arguments),
            Body::Typed(function) => function(runtime.format(), site, arguments),
            Body::Runtime(function) => function(runtime, site, arguments),
            Body::Spreading(function) => call_spreading(function, runtime.format(), site, arguments),
        }
    }

    /// The body for a call with VARIADIC. Functions of any arguments, the only ones called so, know their types.
    pub fn spreading(self) -> Body {
        match self {
            Body::Typed(function) => Body::Spreading(function),
            other => other,
        }
    }
}

/// Calls a function with the elements of its last argument. Without an array there is no answer, but for `format`,
/// which may not need one.
fn call_spreading(
    function: Typed,
    format: &FormatSettings,
    site: &CallSite,
    arguments: &[Datum],
) -> SqlResult<Datum> {
    let (Some((last, fixed)), Some((ty, fixed_types))) =
        (arguments.split_last(), site.arguments.split_last())
    else {
        return function(format, site, arguments);
    };
    let elements = match last {
        Datum::Array(array) => array.elements.as_slice(),
        _ if site.name == "format" => &[],
        _ => return Ok(Datum::Null),
    };
    let element = ty.element().unwrap_or(*ty);
    // The body sees a call that had been written with all elements one by one.
    let types = fixed_types
        .iter()
        .copied()
        .chain(elements.iter().map(|_| element));
    let site = CallSite {
        name: site.name,
        arguments: types.collect(),
        result: site.result,
    };
    let arguments: Vec<Datum> = fixed.iter().chain(elements).cloned().collect();
    function(format, &site, &arguments)
}

/// Rows that a set-returning function yields.
pub trait RowSource: Send {
    /// Appends the next row's columns to `row` (a lone record stands for its fields); false at the end.
    fn next(&mut self, row: &mut Vec<Datum>) -> SqlResult<bool>;
}

/// The body of a set-returning function.
pub type SetFunction = fn(&mut Runtime<'_, '_>, &CallSite, &[Datum]) -> SqlResult<Box<dyn RowSource>>;

/// Bodies by the names that signatures give them; comparisons, which `expr` computes itself, have none.
static BODIES: LazyLock<HashMap<&'static str, Body>> = LazyLock::new(|| {
    let names = FUNCTIONS.iter().map(|function| function.body);
    names
        .filter_map(|name| Some((name, written_body(name)?)))
        .collect()
});

/// The body of a scalar function that is no comparison.
pub fn scalar_body(name: &str) -> Option<Body> {
    BODIES.get(name).copied()
}

/// Finds a body in the family that has it.
fn written_body(name: &str) -> Option<Body> {
    family::body(name)
        .map(Body::Pure)
        .or_else(|| mote_functions::body(name).map(Body::from))
        .or_else(|| random::body(name))
        .or_else(|| type_io::body(name))
        .or_else(|| helper::body(name))
        .or_else(|| information::body(name))
        .or_else(|| formatting::body(name))
        .or_else(|| datetime::body(name))
        .or_else(|| array::body(name))
        .or_else(|| backup::body(name))
        .or_else(|| snapshot::body(name))
        .or_else(|| extension::body(name))
        .or_else(|| system::body(name))
        .or_else(|| large_object::body(name))
        .or_else(|| privilege::body(name))
        .or_else(|| acl::body(name))
        .or_else(|| datetime_comparison(name))
}

/// The body of a set-returning function.
pub fn set_body(name: &str) -> Option<SetFunction> {
    set_returning::body(name)
        .or_else(|| snapshot::set_body(name))
        .or_else(|| catalog_rows::set_body(name))
}

/// Types whose comparison functions are their name and the operation, as in `int4eq` and `text_lt`; those with a folder of
/// their own say it there (`family::compares`).
const COMPARED: &[&str] = &[
    "array",
    "bool",
    "bpchar",
    "bytea",
    "char",
    "cid",
    "date",
    "enum",
    "float4",
    "float48",
    "float8",
    "float84",
    "int2",
    "int24",
    "int28",
    "int4",
    "int42",
    "int48",
    "int8",
    "int82",
    "int84",
    "interval",
    "jsonb",
    "name",
    "numeric",
    "oid",
    "oidvector",
    "pg_lsn",
    "record",
    "text",
    "tid",
    "time",
    "timestamp",
    "uuid",
    "xid",
    "xid8",
];

/// The comparison that a body's name stands for, where both sides are compared as they are.
pub fn comparison_operation(body: &str) -> Option<Operation> {
    // nameeqtext, texteqname: name against text.
    if let Some(middle) = strip(body, "name", "text").or_else(|| strip(body, "text", "name")) {
        return operation_named(middle);
    }
    if body == "xidneq" {
        return Some(Operation::NotEqual);
    }
    // int4eq, text_lt: the last two letters are the operation, before them a type with or without an underscore.
    let (ty, operation) = body.split_at_checked(body.len().checked_sub(2)?)?;
    let ty = ty.strip_suffix('_').unwrap_or(ty);
    if !COMPARED.contains(&ty) && !family::compares(ty) {
        return None;
    }
    operation_named(operation)
}

fn strip<'a>(body: &'a str, prefix: &str, suffix: &str) -> Option<&'a str> {
    body.strip_prefix(prefix)?.strip_suffix(suffix)
}

fn operation_named(name: &str) -> Option<Operation> {
    Some(match name {
        "eq" => Operation::Equal,
        "ne" => Operation::NotEqual,
        "lt" => Operation::Less,
        "le" => Operation::LessOrEqual,
        "gt" => Operation::Greater,
        "ge" => Operation::GreaterOrEqual,
        _ => return None,
    })
}

/// What a name as `date_lt_timestamptz` says: the types and how they are compared.
pub fn datetime_operation(name: &str) -> Option<(&str, Operation, &str)> {
    let mut parts = name.split('_');
    let (left, operation, right) = (parts.next()?, parts.next()?, parts.next()?);
    let known = |ty: &str| matches!(ty, "date" | "timestamp" | "timestamptz");
    if parts.next().is_some() || !known(left) || !known(right) {
        return None;
    }
    Some((left, operation_named(operation)?, right))
}

/// `date_lt_timestamptz` and its kin: both sides become instants on the session's clock first.
fn datetime_comparison(name: &str) -> Option<Body> {
    macro_rules! comparing {
        ($operation:ident) => {
            Body::Runtime(|runtime, _, arguments| {
                let (left, right) = datetime::common_instants(runtime, &arguments[0], &arguments[1]);
                Ok(Datum::Bool(Operation::$operation.accepts(left.cmp(&right))))
            })
        };
    }
    Some(match datetime_operation(name)?.1 {
        Operation::Equal => comparing!(Equal),
        Operation::NotEqual => comparing!(NotEqual),
        Operation::Less => comparing!(Less),
        Operation::LessOrEqual => comparing!(LessOrEqual),
        Operation::Greater => comparing!(Greater),
        Operation::GreaterOrEqual => comparing!(GreaterOrEqual),
    })
}
