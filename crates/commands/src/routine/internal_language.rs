//! LANGUAGE internal: functions that come with an object and whose bodies are the server's own, such as those that make the
//! values of a range type. No statement makes one by itself.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_executor::context::StatementContext;
use mote_executor::context::calls::{Returned, RoutineCall};
use mote_functions::range::construct;
use mote_sql::routine::Routine;

use super::Language;
use crate::utility::BodyContext;

/// The language's entry in the table of languages.
pub struct Internal;

impl Language for Internal {
    fn name(&self) -> &'static str {
        "internal"
    }

    fn validate(&self, _: &Arc<Routine>, _: &mut StatementContext<'_>) -> SqlResult<()> {
        Ok(())
    }

    fn call(&self, call: &RoutineCall<'_>, _: &mut BodyContext<'_, '_>) -> SqlResult<Returned> {
        construct(&call.routine.body, call.result, call.arguments).map(Returned::Value)
    }

    fn run_block(&self, _: &str, _: &mut BodyContext<'_, '_>) -> SqlResult<()> {
        Err(SqlError::new(
            state::FEATURE_NOT_SUPPORTED,
            "language \"internal\" does not support inline code execution",
        ))
    }
}
