//! A session's own objects as its catalog shows them: what pg_prepared_statements and pg_cursors are made of.
//!
//! They live in the session, which a row function cannot reach: a statement that reads these relations finds them
//! gathered when it starts.

use std::sync::Arc;

use mote_common::Oid;
use mote_planner::plan::Plan;

#[derive(Default)]
pub struct SessionObjects {
    pub prepared: Vec<PreparedFacts>,
    pub cursors: Vec<CursorFacts>,
}

pub struct PreparedFacts {
    pub name: String,
    pub text: Arc<str>,
    pub made_us: i64,
    pub parameters: Vec<Oid>,
    pub from_sql: bool,
    pub runs: u64,
}

pub struct CursorFacts {
    pub name: String,
    pub text: Arc<str>,
    pub made_us: i64,
    pub holdable: bool,
    pub binary: bool,
    pub scrollable: bool,
}

const PG_CURSORS: Oid = Oid(12077);
const PG_PREPARED_STATEMENTS: Oid = Oid(12095);

/// Whether a plan reads one of the two relations.
pub fn shows_session_objects(plan: &Plan) -> bool {
    let shown = [PG_CURSORS, PG_PREPARED_STATEMENTS];
    plan.relations
        .iter()
        .any(|access| shown.contains(&access.relation))
}
