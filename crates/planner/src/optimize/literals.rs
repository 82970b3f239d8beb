//! Where literals matter: a plan that statements with other literals share, which are parameters to it, may be worse than
//! one for the statement as it was written (`Plan::constants_matter`).

use super::Planner;
use super::access::Access;
use super::estimate::known;
use mote_sql::catalog::{IndexDescription, IndexKeyTarget};
use mote_sql::expr::Expr;

impl Planner<'_> {
    /// Notes if a parameter may stand where a constant would make the index useful.
    pub(super) fn note_hidden(&self, index: &IndexDescription, item: u16, conditions: &[&Expr]) {
        if self.constants_matter.get() {
            return;
        }
        let expressions = index.keys.iter().filter_map(|key| match &key.target {
            IndexKeyTarget::Expression(_, expr) => Some(expr),
            IndexKeyTarget::Column(_) => None,
        });
        let parts = expressions.chain(index.predicate.as_ref().map(|(_, predicate)| predicate));
        for part in parts.filter(|part| part.any(&mut |inner| matches!(inner, Expr::Constant(..)))) {
            let hidden = |condition: &&Expr| {
                condition.any(&mut |inner| matches!(inner, Expr::Parameter { .. }))
                    && condition.any(&mut |inner| match inner {
                        Expr::Variable { relation, column, .. } => *relation == item && reads(part, *column),
                        _ => false,
                    })
            };
            if conditions.iter().any(hidden) {
                self.constants_matter.set(true);
            }
        }
    }

    /// Notes if many rows are read for a value that the plan does not know and that statistics tell something of: planning
    /// with it costs less than reading the wrong way.
    pub(super) fn note_skewed(&self, access: &Access, conditions: &[Expr]) {
        const MANY: f64 = 1000.0;
        let skewed = |condition: &Expr| {
            condition.any(&mut |inner| matches!(inner, Expr::Parameter { .. }))
                && condition.any(&mut |inner| known(inner, &self.items).is_some())
        };
        if access.cost > MANY && conditions.iter().any(skewed) {
            self.constants_matter.set(true);
        }
    }
}

/// Does a stored expression read this column?
fn reads(stored: &Expr, column: u16) -> bool {
    stored.any(&mut |inner| matches!(inner, Expr::Column { index, .. } if *index == column))
}
