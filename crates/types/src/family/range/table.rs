//! Functions, operators and classes of ranges and multiranges, as PostgreSQL 15's catalogs have them, by OID.
//!
//! Many of them ask how two values lie to one another, and treat a range as a multirange of one span or none.

use super::functions::*;
use crate::family::comparisons::{Comparisons, comparisons};
use crate::family::{Routine, routine};
use crate::oid::*;
use crate::signature::{OperatorClass, OperatorRow, default_class, function, operator};

/// In the unit of timestamps.
const SECOND: f64 = 1e6;

// Values of discrete types are canonical as they are, so the functions that make them so change nothing.
#[rustfmt::skip]
pub(super) const ROUTINES: &[Routine] = &[
    routine(function(3848, "lower", "range_lower", &[ANYRANGE], ANYELEMENT), |a| bound(a, |extent| extent.lower)),
    routine(function(3849, "upper", "range_upper", &[ANYRANGE], ANYELEMENT), |a| bound(a, |extent| extent.upper)),
    routine(function(3850, "isempty", "range_empty", &[ANYRANGE], BOOL), |a| truth(spans(&a[0]).is_empty())),
    routine(function(3851, "lower_inc", "range_lower_inc", &[ANYRANGE], BOOL), |a| has(a, |extent| extent.lower.inclusive)),
    routine(function(3852, "upper_inc", "range_upper_inc", &[ANYRANGE], BOOL), |a| has(a, |extent| extent.upper.inclusive)),
    routine(function(3853, "lower_inf", "range_lower_inf", &[ANYRANGE], BOOL), |a| has(a, |extent| extent.lower.value.is_none())),
    routine(function(3854, "upper_inf", "range_upper_inf", &[ANYRANGE], BOOL), |a| has(a, |extent| extent.upper.value.is_none())),
    routine(function(3857, "range_overlaps", "range_overlaps", &[ANYRANGE, ANYRANGE], BOOL), |a| overlap(&a[0], &a[1])),
    routine(function(3858, "range_contains_elem", "range_contains_elem", &[ANYRANGE, ANYELEMENT], BOOL), |a| contains_value(&a[0], &a[1])),
    routine(function(3859, "range_contains", "range_contains", &[ANYRANGE, ANYRANGE], BOOL), |a| contains(&a[0], &a[1])),
    routine(function(3860, "elem_contained_by_range", "elem_contained_by_range", &[ANYELEMENT, ANYRANGE], BOOL), |a| contains_value(&a[1], &a[0])),
    routine(function(3861, "range_contained_by", "range_contained_by", &[ANYRANGE, ANYRANGE], BOOL), |a| contains(&a[1], &a[0])),
    routine(function(3862, "range_adjacent", "range_adjacent", &[ANYRANGE, ANYRANGE], BOOL), |a| extents(a, |a, b| a.is_adjacent(b))),
    routine(function(3863, "range_before", "range_before", &[ANYRANGE, ANYRANGE], BOOL), |a| extents(a, |a, b| a.is_before(b))),
    routine(function(3864, "range_after", "range_after", &[ANYRANGE, ANYRANGE], BOOL), |a| extents(a, |a, b| b.is_before(a))),
    routine(function(3865, "range_overleft", "range_overleft", &[ANYRANGE, ANYRANGE], BOOL), |a| extents(a, |a, b| a.ends(b).is_le())),
    routine(function(3866, "range_overright", "range_overright", &[ANYRANGE, ANYRANGE], BOOL), |a| extents(a, |a, b| a.begins(b).is_ge())),
    routine(function(3867, "range_union", "range_union", &[ANYRANGE, ANYRANGE], ANYRANGE), range_union),
    routine(function(3868, "range_intersect", "range_intersect", &[ANYRANGE, ANYRANGE], ANYRANGE), |a| intersection(&a[0], &a[1])),
    routine(function(3869, "range_minus", "range_minus", &[ANYRANGE, ANYRANGE], ANYRANGE), range_difference),
    routine(function(3914, "int4range_canonical", "int4range_canonical", &[INT4RANGE], INT4RANGE), |a| a[0].try_clone()),
    routine(function(3915, "daterange_canonical", "daterange_canonical", &[DATERANGE], DATERANGE), |a| a[0].try_clone()),
    routine(function(3922, "int4range_subdiff", "int4range_subdiff", &[INT4, INT4], FLOAT8), |a| distance(a, 1.0)),
    routine(function(3923, "int8range_subdiff", "int8range_subdiff", &[INT8, INT8], FLOAT8), |a| distance(a, 1.0)),
    routine(function(3924, "numrange_subdiff", "numrange_subdiff", &[NUMERIC, NUMERIC], FLOAT8), numeric_distance),
    routine(function(3925, "daterange_subdiff", "daterange_subdiff", &[DATE, DATE], FLOAT8), |a| distance(a, 1.0)),
    routine(function(3928, "int8range_canonical", "int8range_canonical", &[INT8RANGE], INT8RANGE), |a| a[0].try_clone()),
    routine(function(3929, "tsrange_subdiff", "tsrange_subdiff", &[TIMESTAMP, TIMESTAMP], FLOAT8), |a| distance(a, SECOND)),
    routine(function(3930, "tstzrange_subdiff", "tstzrange_subdiff", &[TIMESTAMPTZ, TIMESTAMPTZ], FLOAT8), |a| distance(a, SECOND)),
    routine(function(4057, "range_merge", "range_merge", &[ANYRANGE, ANYRANGE], ANYRANGE), range_merge),
    routine(function(4228, "range_merge", "range_merge_from_multirange", &[ANYMULTIRANGE], ANYRANGE), hull),
    routine(function(4235, "lower", "multirange_lower", &[ANYMULTIRANGE], ANYELEMENT), |a| bound(a, |extent| extent.lower)),
    routine(function(4236, "upper", "multirange_upper", &[ANYMULTIRANGE], ANYELEMENT), |a| bound(a, |extent| extent.upper)),
    routine(function(4237, "isempty", "multirange_empty", &[ANYMULTIRANGE], BOOL), |a| truth(spans(&a[0]).is_empty())),
    routine(function(4238, "lower_inc", "multirange_lower_inc", &[ANYMULTIRANGE], BOOL), |a| has(a, |extent| extent.lower.inclusive)),
    routine(function(4239, "upper_inc", "multirange_upper_inc", &[ANYMULTIRANGE], BOOL), |a| has(a, |extent| extent.upper.inclusive)),
    routine(function(4240, "lower_inf", "multirange_lower_inf", &[ANYMULTIRANGE], BOOL), |a| has(a, |extent| extent.lower.value.is_none())),
    routine(function(4241, "upper_inf", "multirange_upper_inf", &[ANYMULTIRANGE], BOOL), |a| has(a, |extent| extent.upper.value.is_none())),
    routine(function(4246, "range_overlaps_multirange", "range_overlaps_multirange", &[ANYRANGE, ANYMULTIRANGE], BOOL), |a| overlap(&a[0], &a[1])),
    routine(function(4247, "multirange_overlaps_range", "multirange_overlaps_range", &[ANYMULTIRANGE, ANYRANGE], BOOL), |a| overlap(&a[0], &a[1])),
    routine(function(4248, "multirange_overlaps_multirange", "multirange_overlaps_multirange", &[ANYMULTIRANGE, ANYMULTIRANGE], BOOL), |a| overlap(&a[0], &a[1])),
    routine(function(4249, "multirange_contains_elem", "multirange_contains_elem", &[ANYMULTIRANGE, ANYELEMENT], BOOL), |a| contains_value(&a[0], &a[1])),
    routine(function(4250, "multirange_contains_range", "multirange_contains_range", &[ANYMULTIRANGE, ANYRANGE], BOOL), |a| contains(&a[0], &a[1])),
    routine(function(4251, "multirange_contains_multirange", "multirange_contains_multirange", &[ANYMULTIRANGE, ANYMULTIRANGE], BOOL), |a| contains(&a[0], &a[1])),
    routine(function(4252, "elem_contained_by_multirange", "elem_contained_by_multirange", &[ANYELEMENT, ANYMULTIRANGE], BOOL), |a| contains_value(&a[1], &a[0])),
    routine(function(4253, "range_contained_by_multirange", "range_contained_by_multirange", &[ANYRANGE, ANYMULTIRANGE], BOOL), |a| contains(&a[1], &a[0])),
    routine(function(4254, "multirange_contained_by_multirange", "multirange_contained_by_multirange", &[ANYMULTIRANGE, ANYMULTIRANGE], BOOL), |a| contains(&a[1], &a[0])),
    routine(function(4255, "range_adjacent_multirange", "range_adjacent_multirange", &[ANYRANGE, ANYMULTIRANGE], BOOL), |a| extents(a, |a, b| a.is_adjacent(b))),
    routine(function(4256, "multirange_adjacent_multirange", "multirange_adjacent_multirange", &[ANYMULTIRANGE, ANYMULTIRANGE], BOOL), |a| extents(a, |a, b| a.is_adjacent(b))),
    routine(function(4257, "multirange_adjacent_range", "multirange_adjacent_range", &[ANYMULTIRANGE, ANYRANGE], BOOL), |a| extents(a, |a, b| a.is_adjacent(b))),
    routine(function(4258, "range_before_multirange", "range_before_multirange", &[ANYRANGE, ANYMULTIRANGE], BOOL), |a| extents(a, |a, b| a.is_before(b))),
    routine(function(4259, "multirange_before_range", "multirange_before_range", &[ANYMULTIRANGE, ANYRANGE], BOOL), |a| extents(a, |a, b| a.is_before(b))),
    routine(function(4260, "multirange_before_multirange", "multirange_before_multirange", &[ANYMULTIRANGE, ANYMULTIRANGE], BOOL), |a| extents(a, |a, b| a.is_before(b))),
    routine(function(4261, "range_after_multirange", "range_after_multirange", &[ANYRANGE, ANYMULTIRANGE], BOOL), |a| extents(a, |a, b| b.is_before(a))),
    routine(function(4262, "multirange_after_range", "multirange_after_range", &[ANYMULTIRANGE, ANYRANGE], BOOL), |a| extents(a, |a, b| b.is_before(a))),
    routine(function(4263, "multirange_after_multirange", "multirange_after_multirange", &[ANYMULTIRANGE, ANYMULTIRANGE], BOOL), |a| extents(a, |a, b| b.is_before(a))),
    routine(function(4264, "range_overleft_multirange", "range_overleft_multirange", &[ANYRANGE, ANYMULTIRANGE], BOOL), |a| extents(a, |a, b| a.ends(b).is_le())),
    routine(function(4265, "multirange_overleft_range", "multirange_overleft_range", &[ANYMULTIRANGE, ANYRANGE], BOOL), |a| extents(a, |a, b| a.ends(b).is_le())),
    routine(function(4266, "multirange_overleft_multirange", "multirange_overleft_multirange", &[ANYMULTIRANGE, ANYMULTIRANGE], BOOL), |a| extents(a, |a, b| a.ends(b).is_le())),
    routine(function(4267, "range_overright_multirange", "range_overright_multirange", &[ANYRANGE, ANYMULTIRANGE], BOOL), |a| extents(a, |a, b| a.begins(b).is_ge())),
    routine(function(4268, "multirange_overright_range", "multirange_overright_range", &[ANYMULTIRANGE, ANYRANGE], BOOL), |a| extents(a, |a, b| a.begins(b).is_ge())),
    routine(function(4269, "multirange_overright_multirange", "multirange_overright_multirange", &[ANYMULTIRANGE, ANYMULTIRANGE], BOOL), |a| extents(a, |a, b| a.begins(b).is_ge())),
    routine(function(4270, "multirange_union", "multirange_union", &[ANYMULTIRANGE, ANYMULTIRANGE], ANYMULTIRANGE), multirange_union),
    routine(function(4271, "multirange_minus", "multirange_minus", &[ANYMULTIRANGE, ANYMULTIRANGE], ANYMULTIRANGE), multirange_difference),
    routine(function(4272, "multirange_intersect", "multirange_intersect", &[ANYMULTIRANGE, ANYMULTIRANGE], ANYMULTIRANGE), |a| intersection(&a[0], &a[1])),
    routine(function(4541, "range_contains_multirange", "range_contains_multirange", &[ANYRANGE, ANYMULTIRANGE], BOOL), |a| contains(&a[0], &a[1])),
    routine(function(4542, "multirange_contained_by_range", "multirange_contained_by_range", &[ANYMULTIRANGE, ANYRANGE], BOOL), |a| contains(&a[1], &a[0])),
];

#[rustfmt::skip]
pub(super) const COMPARISONS: &[Comparisons] = &[
    comparisons!(ANYMULTIRANGE, "multirange_", [4274, 4275, 4244, 4276, 4277, 4245, 4273], [2862, 2863, 2860, 2864, 2865, 2861]),
    comparisons!(ANYRANGE, "range_", [3871, 3872, 3855, 3873, 3874, 3856, 3870], [3884, 3885, 3882, 3886, 3887, 3883]),
];

#[rustfmt::skip]
pub(super) const OPERATORS: &[OperatorRow] = &[
    operator(2866, "&&", ANYRANGE, ANYMULTIRANGE, BOOL, 4246, 2867, 0),
    operator(2867, "&&", ANYMULTIRANGE, ANYRANGE, BOOL, 4247, 2866, 0),
    operator(2868, "&&", ANYMULTIRANGE, ANYMULTIRANGE, BOOL, 4248, 2868, 0),
    operator(2869, "@>", ANYMULTIRANGE, ANYELEMENT, BOOL, 4249, 2872, 0),
    operator(2870, "@>", ANYMULTIRANGE, ANYRANGE, BOOL, 4250, 2873, 0),
    operator(2871, "@>", ANYMULTIRANGE, ANYMULTIRANGE, BOOL, 4251, 2874, 0),
    operator(2872, "<@", ANYELEMENT, ANYMULTIRANGE, BOOL, 4252, 2869, 0),
    operator(2873, "<@", ANYRANGE, ANYMULTIRANGE, BOOL, 4253, 2870, 0),
    operator(2874, "<@", ANYMULTIRANGE, ANYMULTIRANGE, BOOL, 4254, 2871, 0),
    operator(2875, "&<", ANYRANGE, ANYMULTIRANGE, BOOL, 4264, 0, 0),
    operator(2876, "&<", ANYMULTIRANGE, ANYRANGE, BOOL, 4265, 0, 0),
    operator(2877, "&<", ANYMULTIRANGE, ANYMULTIRANGE, BOOL, 4266, 0, 0),
    operator(3585, "&>", ANYRANGE, ANYMULTIRANGE, BOOL, 4267, 0, 0),
    operator(3888, "&&", ANYRANGE, ANYRANGE, BOOL, 3857, 3888, 0),
    operator(3889, "@>", ANYRANGE, ANYELEMENT, BOOL, 3858, 3891, 0),
    operator(3890, "@>", ANYRANGE, ANYRANGE, BOOL, 3859, 3892, 0),
    operator(3891, "<@", ANYELEMENT, ANYRANGE, BOOL, 3860, 3889, 0),
    operator(3892, "<@", ANYRANGE, ANYRANGE, BOOL, 3861, 3890, 0),
    operator(3893, "<<", ANYRANGE, ANYRANGE, BOOL, 3863, 3894, 0),
    operator(3894, ">>", ANYRANGE, ANYRANGE, BOOL, 3864, 3893, 0),
    operator(3895, "&<", ANYRANGE, ANYRANGE, BOOL, 3865, 0, 0),
    operator(3896, "&>", ANYRANGE, ANYRANGE, BOOL, 3866, 0, 0),
    operator(3897, "-|-", ANYRANGE, ANYRANGE, BOOL, 3862, 3897, 0),
    operator(3898, "+", ANYRANGE, ANYRANGE, ANYRANGE, 3867, 3898, 0),
    operator(3899, "-", ANYRANGE, ANYRANGE, ANYRANGE, 3869, 0, 0),
    operator(3900, "*", ANYRANGE, ANYRANGE, ANYRANGE, 3868, 3900, 0),
    operator(4035, "&>", ANYMULTIRANGE, ANYRANGE, BOOL, 4268, 0, 0),
    operator(4142, "&>", ANYMULTIRANGE, ANYMULTIRANGE, BOOL, 4269, 0, 0),
    operator(4179, "-|-", ANYRANGE, ANYMULTIRANGE, BOOL, 4255, 4180, 0),
    operator(4180, "-|-", ANYMULTIRANGE, ANYRANGE, BOOL, 4257, 4179, 0),
    operator(4198, "-|-", ANYMULTIRANGE, ANYMULTIRANGE, BOOL, 4256, 4198, 0),
    operator(4392, "+", ANYMULTIRANGE, ANYMULTIRANGE, ANYMULTIRANGE, 4270, 4392, 0),
    operator(4393, "-", ANYMULTIRANGE, ANYMULTIRANGE, ANYMULTIRANGE, 4271, 0, 0),
    operator(4394, "*", ANYMULTIRANGE, ANYMULTIRANGE, ANYMULTIRANGE, 4272, 4394, 0),
    operator(4395, "<<", ANYRANGE, ANYMULTIRANGE, BOOL, 4258, 4399, 0),
    operator(4396, "<<", ANYMULTIRANGE, ANYRANGE, BOOL, 4259, 4398, 0),
    operator(4397, "<<", ANYMULTIRANGE, ANYMULTIRANGE, BOOL, 4260, 4400, 0),
    operator(4398, ">>", ANYRANGE, ANYMULTIRANGE, BOOL, 4261, 4396, 0),
    operator(4399, ">>", ANYMULTIRANGE, ANYRANGE, BOOL, 4262, 4395, 0),
    operator(4400, ">>", ANYMULTIRANGE, ANYMULTIRANGE, BOOL, 4263, 4397, 0),
    operator(4539, "@>", ANYRANGE, ANYMULTIRANGE, BOOL, 4541, 4540, 0),
    operator(4540, "<@", ANYMULTIRANGE, ANYRANGE, BOOL, 4542, 4539, 0),
];

pub(super) const CLASSES: &[OperatorClass] = &[
    default_class(10076, "range_ops", 3901, ANYRANGE),
    default_class(10080, "multirange_ops", 4199, ANYMULTIRANGE),
];

pub(super) const HASH_CLASSES: &[OperatorClass] = &[
    default_class(10077, "range_ops", 3903, ANYRANGE),
    default_class(10081, "multirange_ops", 4225, ANYMULTIRANGE),
];
