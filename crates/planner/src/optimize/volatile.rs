//! Queries that answer differently, or do something, each time that they run: what may not move to where it runs more or
//! less often.

use super::Planner;
use mote_sql::bind::query::{BoundCteStatement, BoundQuery, visit_called, visit_deep};

impl Planner<'_> {
    pub(super) fn is_volatile(&mut self, query: &mut BoundQuery) -> bool {
        let mut volatile = false;
        let (items, subqueries) = (&mut self.items, &mut self.subqueries);
        visit_deep(query, items, subqueries, &mut |expr| {
            volatile |= expr.is_volatile()
        });
        volatile
    }

    /// May one of these sub-queries answer differently, or do something, each time that it runs? One volatile WITH query
    /// speaks for all: which of them a sub-query reads is not looked up.
    pub(super) fn calls_volatile(&mut self, subqueries: &[u16]) -> bool {
        let mut volatile = self.volatile_with;
        let (items, all) = (&mut self.items, &mut self.subqueries);
        visit_called(subqueries, items, all, &mut |expr| volatile |= expr.is_volatile());
        volatile
    }

    /// Fills `volatile_with`, before WITH queries are planned.
    pub(super) fn note_volatile_with(&mut self) {
        let mut ctes = std::mem::take(&mut self.ctes);
        self.volatile_with = ctes.iter_mut().any(|cte| match &mut cte.statement {
            BoundCteStatement::Query(Some(query)) => self.is_volatile(query),
            BoundCteStatement::Recursive(Some(parts), _) => {
                self.is_volatile(&mut parts.0) || self.is_volatile(&mut parts.1)
            }
            _ => true,
        });
        self.ctes = ctes;
    }
}
