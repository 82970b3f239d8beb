//! NOT NULL on a column that has rows.

use mote_common::SqlResult;

use crate::row_checks;
use mote_catalog::catalog_store::stored::StoredRelation;
use mote_executor::context::StatementContext;

/// SET NOT NULL, if no row has a NULL there.
pub(crate) fn set_not_null(
    table: &mut StoredRelation,
    position: u16,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    row_checks::check_not_null(table, position, context)?;
    table.columns[position as usize].not_null = true;
    Ok(())
}
