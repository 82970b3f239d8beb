//! Window functions proper. Every aggregate is one as well.

use super::{WindowSignature, window};
use mote_types::oid::*;

#[rustfmt::skip]
pub(super) const WINDOW_TABLE: &[WindowSignature] = &[
    window(3100, "row_number", "window_row_number", &[], INT8),
    window(3101, "rank", "window_rank", &[], INT8),
    window(3102, "dense_rank", "window_dense_rank", &[], INT8),
    window(3103, "percent_rank", "window_percent_rank", &[], FLOAT8),
    window(3104, "cume_dist", "window_cume_dist", &[], FLOAT8),
    window(3105, "ntile", "window_ntile", &[INT4], INT4),
    window(3106, "lag", "window_lag", &[ANYELEMENT], ANYELEMENT),
    window(3107, "lag", "window_lag_with_offset", &[ANYELEMENT, INT4], ANYELEMENT),
    window(3108, "lag", "window_lag_with_offset_and_default", &[ANYCOMPATIBLE, INT4, ANYCOMPATIBLE], ANYCOMPATIBLE),
    window(3109, "lead", "window_lead", &[ANYELEMENT], ANYELEMENT),
    window(3110, "lead", "window_lead_with_offset", &[ANYELEMENT, INT4], ANYELEMENT),
    window(3111, "lead", "window_lead_with_offset_and_default", &[ANYCOMPATIBLE, INT4, ANYCOMPATIBLE], ANYCOMPATIBLE),
    window(3112, "first_value", "window_first_value", &[ANYELEMENT], ANYELEMENT),
    window(3113, "last_value", "window_last_value", &[ANYELEMENT], ANYELEMENT),
    window(3114, "nth_value", "window_nth_value", &[ANYELEMENT, INT4], ANYELEMENT),
];
