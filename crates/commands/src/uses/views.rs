//! Views that read a relation.

use std::sync::Arc;

use mote_common::Oid;

use mote_catalog::catalog_store::RelationEntry;
use mote_executor::context::StatementContext;

/// Views that read the relation, directly or through other views; those made first come first.
pub(crate) fn dependents(relation: Oid, context: &StatementContext<'_>) -> Vec<Arc<RelationEntry>> {
    let catalog = context.session.catalog.current();
    let users = catalog.relations_using(relation);
    users
        // The catalog finds users of all kinds; a view tells what it depends on, through other views as well.
        .filter(|entry| entry.stored.depends_on.contains(&relation.0))
        .cloned()
        .collect()
}
