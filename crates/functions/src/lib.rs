//! Bodies of built-in functions that look at their arguments alone, by the `body` names of `mote_sql::builtin::function`.
//!
//! Read `body` and `argument` first, then any family: `bytes` (byte strings, digests), `unicode` (normal forms, encodings),
//! `json_path` (jsonpath over jsonb), `pgcrypto` with `password`. `degrees` and `length` compute what others call.
//!
//! Source: PostgreSQL's utils/adt (varlena.c, jsonpath_exec.c's functions) and contrib/pgcrypto, by behaviour.
//!
//! Promises: errors carry PostgreSQL's SQLSTATE and wording; what can take long pays for its work (`mote_common::work`), so that it
//! can be interrupted.
//! Leaves out: bodies that ask the session, the clock or the catalog, or are part of evaluating expressions
//! (`mote_executor::functions`); signatures (`mote_sql`).

#![forbid(unsafe_code)]

pub mod argument;
pub mod body;
pub mod bytes;
pub mod degrees;
pub mod json_path;
pub mod length;
mod password;
mod pgcrypto;
mod unicode;

pub use body::Pure;

/// The body of that name.
pub fn body(name: &str) -> Option<Pure> {
    bytes::body(name)
        .or_else(|| unicode::body(name))
        .or_else(|| json_path::body(name))
        .or_else(|| pgcrypto::body(name))
}
