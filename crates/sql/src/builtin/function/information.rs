//! What information_schema's views are made of in PostgreSQL, where it stands in that schema: how a type with a modifier is
//! described. Clients that read the catalogs themselves call it.
//!
//! Rows of pg_attribute and pg_type are records here, as those of all catalogs.

use super::{FunctionSignature, function};
use mote_types::oid::*;

#[rustfmt::skip]
pub(super) const SIGNATURES: &[FunctionSignature] = &[
    function(13209, "_pg_index_position", "_pg_index_position", &[OID, INT2], INT4).stable(),
    function(13210, "_pg_truetypid", "_pg_truetypid", &[RECORD, RECORD], OID),
    function(13211, "_pg_truetypmod", "_pg_truetypmod", &[RECORD, RECORD], INT4),
    function(13212, "_pg_char_max_length", "_pg_char_max_length", &[OID, INT4], INT4),
    function(13213, "_pg_char_octet_length", "_pg_char_octet_length", &[OID, INT4], INT4),
    function(13215, "_pg_numeric_precision", "_pg_numeric_precision", &[OID, INT4], INT4),
    function(13216, "_pg_numeric_precision_radix", "_pg_numeric_precision_radix", &[OID, INT4], INT4),
    function(13217, "_pg_numeric_scale", "_pg_numeric_scale", &[OID, INT4], INT4),
    function(13218, "_pg_datetime_precision", "_pg_datetime_precision", &[OID, INT4], INT4),
    function(13219, "_pg_interval_type", "_pg_interval_type", &[OID, INT4], TEXT),
];
