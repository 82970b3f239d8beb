//! Ranges and multiranges: what needs the type of the call. The rest is with the type (`mote_types::family::range`).
//!
//! Facts of `pg_proc`: see `function` for what the columns mean. Ordered by OID.

use super::{FunctionSignature, function};
use mote_types::oid::*;

#[rustfmt::skip]
pub(super) const SIGNATURES: &[FunctionSignature] = &[
    function(1293, "unnest", "multirange_unnest", &[ANYMULTIRANGE], ANYRANGE).set(),
    function(3840, "int4range", "range_constructor2", &[INT4, INT4], INT4RANGE).called_on_null(),
    function(3841, "int4range", "range_constructor3", &[INT4, INT4, TEXT], INT4RANGE).called_on_null(),
    function(3844, "numrange", "range_constructor2", &[NUMERIC, NUMERIC], NUMRANGE).called_on_null(),
    function(3845, "numrange", "range_constructor3", &[NUMERIC, NUMERIC, TEXT], NUMRANGE).called_on_null(),
    function(3933, "tsrange", "range_constructor2", &[TIMESTAMP, TIMESTAMP], TSRANGE).called_on_null(),
    function(3934, "tsrange", "range_constructor3", &[TIMESTAMP, TIMESTAMP, TEXT], TSRANGE).called_on_null(),
    function(3937, "tstzrange", "range_constructor2", &[TIMESTAMPTZ, TIMESTAMPTZ], TSTZRANGE).called_on_null(),
    function(3938, "tstzrange", "range_constructor3", &[TIMESTAMPTZ, TIMESTAMPTZ, TEXT], TSTZRANGE).called_on_null(),
    function(3941, "daterange", "range_constructor2", &[DATE, DATE], DATERANGE).called_on_null(),
    function(3942, "daterange", "range_constructor3", &[DATE, DATE, TEXT], DATERANGE).called_on_null(),
    function(3945, "int8range", "range_constructor2", &[INT8, INT8], INT8RANGE).called_on_null(),
    function(3946, "int8range", "range_constructor3", &[INT8, INT8, TEXT], INT8RANGE).called_on_null(),
    function(4280, "int4multirange", "multirange_constructor0", &[], INT4MULTIRANGE),
    function(4281, "int4multirange", "multirange_constructor1", &[INT4RANGE], INT4MULTIRANGE),
    function(4282, "int4multirange", "multirange_constructor2", &[INT4RANGE_ARRAY], INT4MULTIRANGE).variadic(INT4RANGE),
    function(4283, "nummultirange", "multirange_constructor0", &[], NUMMULTIRANGE),
    function(4284, "nummultirange", "multirange_constructor1", &[NUMRANGE], NUMMULTIRANGE),
    function(4285, "nummultirange", "multirange_constructor2", &[NUMRANGE_ARRAY], NUMMULTIRANGE).variadic(NUMRANGE),
    function(4286, "tsmultirange", "multirange_constructor0", &[], TSMULTIRANGE),
    function(4287, "tsmultirange", "multirange_constructor1", &[TSRANGE], TSMULTIRANGE),
    function(4288, "tsmultirange", "multirange_constructor2", &[TSRANGE_ARRAY], TSMULTIRANGE).variadic(TSRANGE),
    function(4289, "tstzmultirange", "multirange_constructor0", &[], TSTZMULTIRANGE),
    function(4290, "tstzmultirange", "multirange_constructor1", &[TSTZRANGE], TSTZMULTIRANGE),
    function(4291, "tstzmultirange", "multirange_constructor2", &[TSTZRANGE_ARRAY], TSTZMULTIRANGE).variadic(TSTZRANGE),
    function(4292, "datemultirange", "multirange_constructor0", &[], DATEMULTIRANGE),
    function(4293, "datemultirange", "multirange_constructor1", &[DATERANGE], DATEMULTIRANGE),
    function(4294, "datemultirange", "multirange_constructor2", &[DATERANGE_ARRAY], DATEMULTIRANGE).variadic(DATERANGE),
    function(4295, "int8multirange", "multirange_constructor0", &[], INT8MULTIRANGE),
    function(4296, "int8multirange", "multirange_constructor1", &[INT8RANGE], INT8MULTIRANGE),
    function(4297, "int8multirange", "multirange_constructor2", &[INT8RANGE_ARRAY], INT8MULTIRANGE).variadic(INT8RANGE),
    function(4298, "multirange", "multirange_constructor1", &[ANYRANGE], ANYMULTIRANGE),
];
