//! Where points, line segments and boxes lie.
//!
//! Facts of `pg_proc`: see `function` for what the columns mean. Ordered by OID. Leaves out: comparisons of segments by their length, and
//! all about paths, polygons, lines and circles, which are not built.

use super::{FunctionSignature, function};
use mote_types::oid::*;

#[rustfmt::skip]
pub(super) const SIGNATURES: &[FunctionSignature] = &[
    function(131, "point_above", "point_above", &[POINT, POINT], BOOL),
    function(132, "point_left", "point_left", &[POINT, POINT], BOOL),
    function(133, "point_right", "point_right", &[POINT, POINT], BOOL),
    function(134, "point_below", "point_below", &[POINT, POINT], BOOL),
    function(135, "point_eq", "point_eq", &[POINT, POINT], BOOL),
    function(136, "on_pb", "on_pb", &[POINT, BOX], BOOL),
    function(369, "on_ps", "on_ps", &[POINT, LSEG], BOOL),
    function(372, "on_sb", "on_sb", &[LSEG, BOX], BOOL),
    function(373, "inter_sb", "inter_sb", &[LSEG, BOX], BOOL),
    function(989, "point_vert", "point_vert", &[POINT, POINT], BOOL),
    function(990, "point_horiz", "point_horiz", &[POINT, POINT], BOOL),
    function(994, "lseg_intersect", "lseg_intersect", &[LSEG, LSEG], BOOL),
    function(995, "lseg_parallel", "lseg_parallel", &[LSEG, LSEG], BOOL),
    function(996, "lseg_perp", "lseg_perp", &[LSEG, LSEG], BOOL),
    function(997, "lseg_vertical", "lseg_vertical", &[LSEG], BOOL),
    function(998, "lseg_horizontal", "lseg_horizontal", &[LSEG], BOOL),
    function(1406, "isvertical", "point_vert", &[POINT, POINT], BOOL),
    function(1407, "ishorizontal", "point_horiz", &[POINT, POINT], BOOL),
    function(1408, "isparallel", "lseg_parallel", &[LSEG, LSEG], BOOL),
    function(1409, "isperp", "lseg_perp", &[LSEG, LSEG], BOOL),
    function(1410, "isvertical", "lseg_vertical", &[LSEG], BOOL),
    function(1411, "ishorizontal", "lseg_horizontal", &[LSEG], BOOL),
];
