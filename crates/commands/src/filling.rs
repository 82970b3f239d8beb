//! Rows of a query into a new table.

use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::RowWriter;

use crate::internal;
use mote_copy::insert::Sink;
use mote_executor::context::StatementContext;
use mote_executor::runtime::{Runtime, Values};

/// Puts the rows of the query into a table, whose storage the caller has locked or made.
pub(crate) fn fill(
    table: Oid,
    query: &mut internal::Query,
    context: &mut StatementContext<'_>,
) -> SqlResult<u64> {
    let relation = context
        .relation(table)
        .ok_or_else(|| SqlError::internal("a new table is in the catalog"))?;
    let storage = context
        .database
        .engine()
        .table(relation.table)
        .ok_or_else(|| SqlError::internal("a new table has its storage"))?;
    // All columns come from the query: nothing is computed, no default applies.
    let given: Vec<usize> = (0..relation.columns.len()).collect();
    let mut sink = Sink::new(&relation, storage.clone(), &given, None, &context.session.catalog)?;
    let layout = storage.newest_layout().clone();
    let mut writer = RowWriter::new(&layout);
    let mut values = Values::default();
    let mut new = Vec::with_capacity(given.len());
    let mut count = 0;
    // Each row goes in as it comes. The new table is none that the query could read.
    query.run(context, &mut |context, row| {
        new.clear();
        new.extend_from_slice(row);
        let snapshot = context.transaction.snapshot();
        let mut runtime = Runtime::new(context, &snapshot, &mut values);
        sink.insert(&mut new, &mut writer, &mut runtime)?;
        count += 1;
        Ok(())
    })?;
    Ok(count)
}
