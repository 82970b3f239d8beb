//! Which columns an UPDATE changes, and which keys are among them.

use mote_planner::plan::node;
use mote_sql::catalog::{IndexDescription, IndexKey, IndexKeyTarget, Relation};
use mote_sql::expr::Expr;

/// Whether a column of a key is among the changed ones. Foreign keys lean on plain unique indexes only.
pub(super) fn changes_key(relation: &Relation, changed: &dyn Fn(usize) -> bool) -> bool {
    let columns = |index: &IndexDescription| -> Option<Vec<u16>> {
        let column = |key: &IndexKey| match key.target {
            IndexKeyTarget::Column(position) => Some(position),
            IndexKeyTarget::Expression(..) => None,
        };
        index.keys.iter().map(column).collect()
    };
    relation
        .indexes
        .iter()
        .filter(|index| index.unique && index.predicate.is_none())
        .filter_map(columns)
        .flatten()
        .any(|position| changed(position as usize))
}

/// Whether an UPDATE of these columns may take a row out of the partition.
pub(super) fn concerns_partition(relation: &Relation, changed: &dyn Fn(usize) -> bool) -> bool {
    let levels = relation.partition_levels.iter();
    levels
        .flat_map(|level| &level.scheme.keys)
        .any(|key| match &key.target {
            IndexKeyTarget::Column(position) => changed(*position as usize),
            IndexKeyTarget::Expression(_, expr) => {
                expr.any(&mut |part| matches!(part, Expr::Column { index, .. } if changed(*index as usize)))
            }
        })
}

/// The columns that the statement gives values to, in the table that it names.
pub(super) fn assigned_in_root(node: &node::Update) -> Vec<u16> {
    let Some(written) = node.targets.first() else {
        return Vec::new();
    };
    let in_root = |&position: &u16| {
        let name = &written.relation.columns[position as usize].name;
        let found = node
            .relation
            .columns
            .iter()
            .position(|column| !column.dropped && column.name == *name);
        found.map(|position| position as u16)
    };
    written.assigned.iter().filter_map(in_root).collect()
}
