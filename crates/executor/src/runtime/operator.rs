//! A running plan node, as those see it who pull its rows.
//!
//! Contract of [`Operator`]
//!  1. `next` moves to the next row and answers whether there is one; `row` is that row until the next call.
//!  2. An operator starts by itself at the first `next` after it was made or `reset`; `reset` is cheap and cannot fail,
//!     so that a nested loop may reset its inner side for every outer row.
//!  3. Nothing borrowed from an index, a version or a latch lives across a call of `burn` or `wait`.
//!  4. While `Values::recheck` is set, scans of the named relations yield the named row instead (EvalPlanQual).

use mote_common::SqlResult;
use mote_planner::plan::measured::Observed;
use mote_types::Datum;

use super::Runtime;

/// A node of a running plan.
pub trait Operator: Send {
    /// Moves to the next row; false at the end, and again for every later call until `reset`.
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool>;
    /// The current row. To be asked only after `next` has answered true.
    fn row(&self) -> &[Datum];
    /// Back before the first row. Buffers and handles may stay.
    fn reset(&mut self);
    /// Tells what it has counted since it was made, for EXPLAIN ANALYZE: asked of nodes of measured plans alone.
    fn observe(&self, _observed: &mut Observed) {}
}
