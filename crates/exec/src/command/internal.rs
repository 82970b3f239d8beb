//! Queries that definitions run for themselves: "is there a row that breaks the new rule?"
//!
//! They are planned and executed like a client's, in the caller's transaction, at the snapshot of its statement.

use std::sync::Arc;

use mote_common::{SqlError, SqlResult};
use mote_sql::PlanSettings;
use mote_types::Datum;

use crate::context::StatementContext;
use crate::query::{Execution, Program};

/// The first row of a query, if any.
pub(super) fn first_row(text: &str, context: &mut StatementContext<'_>) -> SqlResult<Option<Vec<Datum>>> {
    let mut planned = None;
    let catalog = &context.session.catalog;
    context.host.on_large_stack(&mut || {
        planned = Some(mote_sql::parser::parse(text).and_then(|mut statements| {
            let statement = statements.pop().ok_or_else(|| SqlError::internal("an internal query is empty"))?;
            let settings = PlanSettings { folder: Some(&crate::expr::FOLDER), text };
            mote_sql::plan_statement(&statement, &[], catalog, &settings)
        }));
    });
    let plan = planned.expect("the host runs the work")?;
    let mut execution = Execution::new(Arc::new(Program::compile(&plan)?));
    context.transaction.advance_command();
    execution.start(&[], context)?;
    let mut first = None;
    execution.run(context, 1, &mut |_, row| {
        first = Some(row.to_vec());
        Ok(())
    })?;
    Ok(first)
}
