//! The value layer: SQL types, values, and everything that can be done to a value without a row or a catalog.
//!
//! Read in this order:
//!  1. `oid`, `catalog`, `signature`: types by OID, their names and `pg_type` facts; rows of functions and operators.
//!  2. `numeric`, `json`, `calendar`, `time_zone`: what values are made of; `integer_text`, `float_text`; `input_errors`: what
//!     all readers of texts share.
//!  3. `datum`, `settings`: one SQL value; the session settings its text form depends on.
//!  4. `are`, `jsonpath`, `geometry`: regular expressions, paths over JSON, shapes.
//!  5. `datetime`, `typmod`, `format`: dates and times; declared lengths; text and wire forms, in and out;
//!     `encoding`: text in other character sets.
//!     `family`: types that are one folder each, registered there; `fits`: whether a value is one of a type.
//!  6. `compare`, `cast`, `operators`, `pattern`: order, conversion, arithmetic, LIKE.
//!  7. `ordered_bytes`, `storage`, `key`: values as row bytes and as index key bytes; `lookup3`: PostgreSQL's hash.
//!
//! Promises: no I/O, no clock, no `unsafe`; errors carry PostgreSQL's SQLSTATE and wording; text output appends to
//! the caller's buffer. A NULL is a value here: functions that compute are strict and are never called with one
//! unless they say so.
//! Leaves out: what only a database knows (which object a `regclass` names; of labels of enums a dictionary is asked,
//! `catalog::user`), functions by name but for those of families, collations other than C.

#![forbid(unsafe_code)]

pub mod oid;
pub mod signature;
pub mod catalog;
pub mod integer_text;
mod input_errors;
pub mod float_text;
pub mod lookup3;
pub mod calendar;
pub mod numeric;
pub mod time_zone;
pub mod json;
pub mod datum;
pub mod settings;
pub mod datetime;
pub mod encoding;
pub mod are;
pub mod jsonpath;
pub mod geometry;
pub mod compare;
pub mod family;
mod fits;
pub mod typmod;
mod ordered_bytes;
pub mod format;
pub mod storage;
pub mod cast;
pub mod operators;
pub mod pattern;
pub mod key;

pub use cast::{CastContext, can_cast, cast};
pub use catalog::{
    ColumnType, TypeInfo, format_type, parse_type, type_by_catalog_name, type_by_name, type_info,
};
pub use compare::{compare, equal, hash};
pub use datum::{Array, Datum, Dimension, Interval, Record, RowType};
pub use format::{input_binary, input_text, output_binary, output_text};
pub use key::{KeyColumn, encode_key};
pub use numeric::Numeric;
pub use oid::Oid;
pub use settings::{ByteaOutput, DateOrder, DateStyle, FormatSettings, IntervalStyle, PLAIN_SETTINGS};
pub use storage::{KeyEncoding, StorageClass, decode_storage, encode_storage};
pub use storage::{has_computed_key, has_key, key_encoding, storage_class};

#[cfg(test)]
mod golden_tests;
