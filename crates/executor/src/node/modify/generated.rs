//! Generated columns.

use mote_common::SqlResult;
use mote_types::Datum;

use crate::expr::Expression;
use crate::runtime::Runtime;

/// Generated columns of a row whose other columns are there.
pub(super) fn compute_generated(
    generated: &[(usize, Expression)],
    row: &mut [Datum],
    runtime: &mut Runtime<'_, '_>,
) -> SqlResult<()> {
    // One after the other in place: a generated column cannot refer to another one, so the order does not matter.
    for (position, expression) in generated {
        row[*position] = expression.evaluate(row, runtime)?;
    }
    Ok(())
}
