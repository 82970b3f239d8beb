//! The one door through which functions and procedures run, whatever their language.
//!
//! Read in this order: this file (what a call is, who runs it), `call` (what surrounds a body: SECURITY DEFINER,
//! SET, recursion, the snapshot), `statement`, `running`, `nested` and `explain`
//! (SQL statements inside of a statement: what languages are made of), `kept_call` (CALL as it was compiled last), `sql_language` with `standard_body` and `result`,
//! `internal_language`, `holdings` with `state` (what the session keeps for all of them), `place` (where an error in a body
//! stands); PL/pgSQL lives in
//! the crate `mote_plpgsql`.
//!
//! Source: PostgreSQL's fmgr.c (what surrounds a call) and spi.c (statements within statements).
//!
//! Promises
//!  1. Whoever calls (an expression, a function in FROM, CALL, DO, a trigger) gives a [`RoutineCall`] and gets [`Returned`]
//!     (`mote_executor::context::calls`);
//!     who runs a body implements [`Language`] and knows neither plans nor operators of the caller.
//!  2. Statements inside a body are planned, cached, locked and waited for as any other (`nested`).
//!  3. Whatever a body does to the session's identity, settings and current snapshot is put back when it ends.

pub mod call;
mod holdings;
mod internal_language;
pub mod kept_call;
mod explain;
pub mod nested;
mod result;
mod running;
mod sql_language;
pub mod place;
pub mod standard_body;
mod state;
mod statement;

use std::sync::Arc;

use mote_common::SqlResult;
use mote_sql::routine::Routine;
use mote_types::ColumnType;
use mote_types::catalog::user::{is_composite, is_row};

use crate::utility::BodyContext;
pub use call::{call, call_procedure, run_block, validate};
pub use holdings::{Above, Holdings, command_of, fetch_from, language};
pub use internal_language::Internal;
use mote_executor::context::StatementContext;
use mote_executor::context::calls::{Returned, RoutineCall};
pub use result::keep_row;
pub use sql_language::Sql;
pub use state::{CompiledKey, RoutineState};

/// A language of routines. Implementations hold no state; what they compile goes into `Holdings::routines`.
pub trait Language: Sync {
    /// As in LANGUAGE, in lower case.
    fn name(&self) -> &'static str;

    /// CREATE FUNCTION, unless check_function_bodies is off: refuses what can be refused before the first call.
    fn validate(&self, routine: &Arc<Routine>, context: &mut StatementContext<'_>) -> SqlResult<()>;

    /// Runs the body once. Called with identity, settings and, within a statement, the transaction's current snapshot
    /// set up: a statement of a volatile routine begins a snapshot of its own, one of a stable routine uses that one
    /// (`nested` does either).
    fn call(&self, call: &RoutineCall<'_>, body: &mut BodyContext<'_, '_>) -> SqlResult<Returned>;

    /// DO: an anonymous block.
    fn run_block(&self, text: &str, body: &mut BodyContext<'_, '_>) -> SqlResult<()>;
}

/// The columns of one row of a routine's result, where its definition tells them and nothing in it is polymorphic.
pub fn result_columns(
    routine: &Routine,
    context: &StatementContext<'_>,
) -> Option<Vec<(String, ColumnType)>> {
    if !is_row(routine.result.ty.oid) {
        return None;
    }
    if is_composite(routine.result.ty.oid) {
        return mote_sql::bind::row_columns(routine.result.ty.oid, &context.session.catalog);
    }
    let columns: Vec<_> = routine
        .outputs()
        .enumerate()
        .map(|(position, output)| match output.name.is_empty() {
            true => (format!("column{}", position + 1), output.ty.ty),
            false => (output.name.clone(), output.ty.ty),
        })
        .collect();
    (!columns.is_empty()).then_some(columns)
}
