//! The value layer: SQL types, values, and everything that can be done to a value without a row or a catalog.
//!
//! Read in this order:
//!  1. `oid`, `catalog`: types by OID, their names and `pg_type` facts.
//!  2. `datum`, `settings`: one SQL value; the session settings its text form depends on.
//!  3. `numeric`, `datetime`, `json`: the types that need algorithms.
//!  4. `format`: text and wire forms, in and out; `encoding`: text in other character sets.
//!  5. `cast`, `compare`, `operators`, `pattern`, `are`: conversion, order, arithmetic, LIKE, regular expressions.
//!  6. `key`, `storage`: values as index key bytes and as row bytes.
//!
//! Promises: no I/O, no clock, no `unsafe`; errors carry PostgreSQL's SQLSTATE and wording; text output appends to
//! the caller's buffer. A NULL is a value here: functions that compute are strict and are never called with one
//! unless they say so.
//! Leaves out: names in a database (`regclass` text forms, enums), functions by name, collations other than C.

#![forbid(unsafe_code)]

pub mod oid;
pub mod catalog;
pub mod datum;
pub mod settings;
pub mod numeric;
pub mod datetime;
pub mod encoding;
pub mod json;
pub mod format;
pub mod cast;
pub mod compare;
pub mod operators;
pub mod are;
pub mod pattern;
pub mod key;
pub mod storage;

pub use cast::{CastContext, can_cast, cast};
pub use catalog::{ColumnType, TypeInfo, format_type, parse_type, type_by_name, type_info};
pub use compare::{compare, equal, hash};
pub use datum::{Array, Datum, Dimension, Interval, Record, RowType};
pub use format::{input_binary, input_text, output_binary, output_text};
pub use key::{KeyColumn, encode_key};
pub use numeric::Numeric;
pub use oid::Oid;
pub use settings::{ByteaOutput, DateOrder, DateStyle, FormatSettings, IntervalStyle};
pub use storage::{KeyEncoding, StorageClass, decode_storage, encode_storage, key_encoding, storage_class};

#[cfg(test)]
mod golden_tests;
