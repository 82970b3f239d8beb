//! What rows have to satisfy that no plan was made for: those that are routed to a relation, and those of COPY.

use std::sync::Arc;

use mote_common::SqlResult;

use super::Binder;
use super::relation_expression::{RelationExpression, bind_expression_over_relation};
use crate::catalog::{CatalogView, Relation};
use crate::clause::Check;
use crate::expr::Expr;

/// The CHECK constraints of a relation, for rows that no plan was made for: those routed to it, and those of COPY.
pub fn bind_checks(relation: &Arc<Relation>, catalog: &dyn CatalogView) -> SqlResult<Vec<Check>> {
    let domains = unplanned_checks(relation, catalog)?;
    let domains = domains
        .into_iter()
        .map(|(name, condition)| Ok(Check { name, condition }));
    let own = relation
        .check_constraints()
        .into_iter()
        .map(|(constraint, text)| {
            let purpose = RelationExpression::Check;
            Ok(Check {
                name: constraint.name.clone(),
                condition: bind_expression_over_relation(text, relation, purpose, None, catalog)?,
            })
        });
    domains.chain(own).collect()
}

/// The conditions of a relation's domains, for rows that no plan was made for.
fn unplanned_checks(relation: &Relation, catalog: &dyn CatalogView) -> SqlResult<Vec<(String, Expr)>> {
    if relation.columns.iter().all(|column| column.domain.is_none()) {
        return Ok(Vec::new());
    }
    Binder::new(catalog, "", &[]).domain_checks(relation)
}
