//! Bodies of built-in functions that need no statement, by the `body` names of `mote_sql::builtin::function`.
//!
//! Read `body` and `argument` first (how a body looks, what it takes out of its arguments), then any family: `arithmetic`, `math`,
//! `text`, `pattern` (LIKE and regular expressions), `json`, `json_path` (jsonpath over jsonb), `range`, `enums`, `bytes` (byte
//! strings, digests), `unicode` (normal forms, encodings), `hash`, `shapes` (points and segments), `size` (numbers of bytes), `pgcrypto` with `password`. `degrees` and `length` compute what others
//! call. Some families offer more than bodies: what sets, aggregates and expressions of the executor are made of.
//!
//! Source: PostgreSQL's utils/adt (int.c, float.c, numeric.c, varlena.c, oracle_compat.c, like.c, regexp.c, json.c, jsonfuncs.c,
//! jsonb.c, rangetypes.c, multirangetypes.c, enum.c, jsonpath_exec.c's functions) and contrib/pgcrypto, by behaviour.
//!
//! Promises: what a body answers depends on its arguments, their types and the session's settings of texts and times
//! (`FormatSettings`) alone, pgcrypto's random bytes apart. Errors carry PostgreSQL's SQLSTATE and wording; what can take long pays
//! for its work (`mote_common::work`), so that it can be interrupted.
//! Leaves out: bodies that ask the session, the clock or the catalog, that compare values as a query does or are part of evaluating
//! expressions (`mote_executor::functions`); signatures (`mote_sql`).

#![forbid(unsafe_code)]

pub mod argument;
pub mod arithmetic;
pub mod body;
pub mod bytes;
mod degrees;
mod enums;
mod hash;
pub mod json;
pub mod json_path;
mod length;
mod math;
mod password;
pub mod pattern;
mod pgcrypto;
pub mod range;
mod shapes;
mod size;
pub mod text;
mod unicode;

pub use body::{Body, CallSite, Pure, Typed};

/// The body of that name.
pub fn body(name: &str) -> Option<Body> {
    arithmetic::body(name)
        .or_else(|| math::body(name))
        .or_else(|| text::body(name))
        .or_else(|| pattern::body(name))
        .or_else(|| json::body(name))
        .or_else(|| range::body(name))
        .or_else(|| enums::body(name))
        .or_else(|| bytes::body(name))
        .or_else(|| unicode::body(name))
        .or_else(|| json_path::body(name))
        .or_else(|| pgcrypto::body(name))
        .or_else(|| hash::body(name))
        .or_else(|| shapes::body(name))
        .or_else(|| size::body(name))
}
