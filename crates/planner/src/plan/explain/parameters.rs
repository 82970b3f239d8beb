//! What the values are called (`handed_on` finds out) that one node of a plan hands on to another: the columns of the outer side
//! of a loop, what a sub-plan reads of the row that calls it, and the results of sub-queries that are computed once.
//!
//! The first two are shown as what they are, with their table; the last as `$0`, as in PostgreSQL, whose numbers begin with the
//! WITH queries.

use std::collections::HashMap;

use mote_sql::expr::ExecParameterId;

#[derive(Default)]
pub(super) struct Parameters {
    pub texts: HashMap<u16, String>,
    /// Numbers of the results of sub-queries that are computed once, by the sub-plan.
    pub results: HashMap<u16, usize>,
}

impl Parameters {
    pub fn text(&self, id: ExecParameterId) -> String {
        match self.texts.get(&id.0) {
            Some(text) => text.clone(),
            None => format!("${}", id.0),
        }
    }

    /// What a sub-query that is computed once yields.
    pub fn result_of(&self, subplan: u16) -> String {
        match self.results.get(&subplan) {
            Some(number) => format!("${number}"),
            None => format!("(InitPlan {})", subplan + 1),
        }
    }
}
