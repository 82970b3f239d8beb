//! hstore: what is about rows, which are read and written with what a session knows (docs/design/0031). The rest is with the type (`mote_types::family::hstore`).

use mote_types::catalog::extension::HSTORE;
use mote_types::oid::*;

use super::{FunctionSignature, function};

pub(super) const SIGNATURES: &[FunctionSignature] = &[
    function(15349, "skeys", "hstore_skeys", &[HSTORE], TEXT).set(),
    function(15350, "svals", "hstore_svals", &[HSTORE], TEXT).set(),
    function(15351, "each", "hstore_each", &[HSTORE], RECORD)
        .named(&["hs"], &[])
        .set(),
    function(15352, "hstore", "hstore_from_record", &[RECORD], HSTORE)
        .called_on_null()
        .stable(),
    function(
        15353,
        "populate_record",
        "hstore_populate_record",
        &[ANYELEMENT, HSTORE],
        ANYELEMENT,
    )
    .called_on_null()
    .stable(),
    function(15354, "hstore_hash", "hstore_hash", &[HSTORE], INT4),
];
