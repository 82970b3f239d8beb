//! Large objects.
//!
//! Facts of `pg_proc`: see `function` for what the columns mean. Ordered by OID.

use super::{FunctionSignature, function};
use mote_types::oid::*;

#[rustfmt::skip]
pub(super) const SIGNATURES: &[FunctionSignature] = &[
    function(715, "lo_create", "be_lo_create", &[OID], OID).volatile(),
    function(764, "lo_import", "be_lo_import", &[TEXT], OID).volatile(),
    function(765, "lo_export", "be_lo_export", &[OID, TEXT], INT4).volatile(),
    function(767, "lo_import", "be_lo_import_with_oid", &[TEXT, OID], OID).volatile(),
    function(952, "lo_open", "be_lo_open", &[OID, INT4], INT4).volatile(),
    function(953, "lo_close", "be_lo_close", &[INT4], INT4).volatile(),
    function(954, "loread", "be_loread", &[INT4, INT4], BYTEA).volatile(),
    function(955, "lowrite", "be_lowrite", &[INT4, BYTEA], INT4).volatile(),
    function(956, "lo_lseek", "be_lo_lseek", &[INT4, INT4, INT4], INT4).volatile(),
    function(957, "lo_creat", "be_lo_creat", &[INT4], OID).volatile(),
    function(958, "lo_tell", "be_lo_tell", &[INT4], INT4).volatile(),
    function(964, "lo_unlink", "be_lo_unlink", &[OID], INT4).volatile(),
    function(1004, "lo_truncate", "be_lo_truncate", &[INT4, INT4], INT4).volatile(),
    function(3170, "lo_lseek64", "be_lo_lseek64", &[INT4, INT8, INT4], INT8).volatile(),
    function(3171, "lo_tell64", "be_lo_tell64", &[INT4], INT8).volatile(),
    function(3172, "lo_truncate64", "be_lo_truncate64", &[INT4, INT8], INT4).volatile(),
    function(3457, "lo_from_bytea", "be_lo_from_bytea", &[OID, BYTEA], OID).volatile(),
    function(3458, "lo_get", "be_lo_get", &[OID], BYTEA).volatile(),
    function(3459, "lo_get", "be_lo_get_fragment", &[OID, INT8, INT4], BYTEA).volatile(),
    function(3460, "lo_put", "be_lo_put", &[OID, INT8, BYTEA], VOID).volatile(),
];
