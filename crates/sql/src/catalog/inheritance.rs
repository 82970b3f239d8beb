//! A parent and the tables below it: who they are, and which column of a child stands for which of the parent.
//!
//! The one place that walks the tree, for both kinds of children: those of INHERITS and the partitions of a partitioned
//! table. Columns correspond by name, never by position: a child may have its own columns, in its own order.
//! Leaves out: which partitions a condition leaves over (`mote-planner`), locks (the caller's).

use std::collections::HashSet;
use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};

use super::partition::{PartitionKey, PartitionScheme};
use super::{CatalogView, IndexKeyTarget, Relation};
use crate::expr::Expr;

/// For each column of a parent (by position) its position in a child; None for dropped ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributeMap(Box<[Option<u16>]>);

impl AttributeMap {
    /// Columns of `parent` in `child`. The catalog keeps every live column of a parent in its children.
    pub fn new(parent: &Relation, child: &Relation) -> SqlResult<AttributeMap> {
        let mut next = 0;
        let mut map = Vec::with_capacity(parent.columns.len());
        for column in &parent.columns {
            if column.dropped {
                map.push(None);
                continue;
            }
            // Children usually have the parent's columns in the parent's order: look from the last one on.
            let count = child.columns.len();
            let found = (0..count).map(|step| (next + step) % count).find(|&position| {
                let candidate = &child.columns[position];
                !candidate.dropped && candidate.name == column.name
            });
            let Some(position) = found else {
                return Err(SqlError::internal(format!(
                    "could not find inherited attribute \"{}\" of relation \"{}\"",
                    column.name, child.name
                )));
            };
            next = position + 1;
            map.push(Some(position as u16));
        }
        Ok(AttributeMap(map.into()))
    }

    pub fn get(&self, position: u16) -> Option<u16> {
        self.0.get(position as usize).copied().flatten()
    }

    /// The child's positions of the parent's live columns, in the parent's order.
    pub fn live(&self) -> impl Iterator<Item = u16> + '_ {
        self.0.iter().copied().flatten()
    }

    /// All columns stand at the same positions on both sides.
    pub fn is_identity(&self) -> bool {
        let mut pairs = self.0.iter().enumerate();
        pairs.all(|(position, mapped)| mapped.is_none_or(|mapped| mapped as usize == position))
    }
}

/// `relation` and all tables below it, each once, level by level, children in the order of their OIDs: the order in
/// which PostgreSQL locks and scans tables that inherit.
pub fn all_inheritors(relation: &Arc<Relation>, catalog: &dyn CatalogView) -> Vec<Arc<Relation>> {
    let mut known: HashSet<Oid> = HashSet::from([relation.oid]);
    let mut found = vec![Arc::clone(relation)];
    let mut position = 0;
    while position < found.len() {
        let children = found[position].children.clone();
        for child in children {
            if known.insert(child)
                && let Some(child) = catalog.relation(child)
            {
                found.push(child);
            }
        }
        position += 1;
    }
    found
}

/// Levels of partitioned tables below each other that are followed.
const LEVELS_MAX: u32 = 1000;

/// The tables whose rows a parent's FROM item stands for.
#[derive(Debug)]
pub struct Expansion {
    pub members: Vec<Member>,
    /// Of a partitioned table: which member takes which rows.
    pub partitions: Option<PartitionTree>,
}

impl Expansion {
    /// Expands `parent`; `visit` is told of every table, the partitioned ones included, which have no rows.
    pub fn of(
        parent: &Arc<Relation>,
        catalog: &dyn CatalogView,
        visit: &mut dyn FnMut(&Arc<Relation>),
    ) -> SqlResult<Expansion> {
        let mut members = Vec::with_capacity(parent.children.len() + 1);
        if parent.is_partitioned() {
            visit(parent);
            let partitions = PartitionTree::below(parent, parent, catalog, &mut members, visit, 0)?;
            return Ok(Expansion {
                members,
                partitions: Some(partitions),
            });
        }
        for table in all_inheritors(parent, catalog) {
            visit(&table);
            members.push(Member::new(parent, table)?);
        }
        Ok(Expansion {
            members,
            partitions: None,
        })
    }
}

/// A partitioned table within an expansion.
#[derive(Debug)]
pub struct PartitionTree {
    pub scheme: Arc<PartitionScheme>,
    /// The scheme's keys over the columns of the expanded parent.
    pub keys: Vec<PartitionKey>,
    /// By position in the scheme.
    pub branches: Vec<PartitionBranch>,
}

#[derive(Debug)]
pub enum PartitionBranch {
    /// Not to be seen by the statement.
    Absent,
    /// Position among the members.
    Member(usize),
    Tree(Box<PartitionTree>),
}

impl PartitionTree {
    fn below(
        root: &Relation,
        relation: &Relation,
        catalog: &dyn CatalogView,
        members: &mut Vec<Member>,
        visit: &mut dyn FnMut(&Arc<Relation>),
        level: u32,
    ) -> SqlResult<PartitionTree> {
        if level > LEVELS_MAX {
            let message = "stack depth limit exceeded";
            return Err(SqlError::new(state::STATEMENT_TOO_COMPLEX, message));
        }
        let scheme = relation.partitioning.clone();
        let scheme = scheme.ok_or_else(|| SqlError::internal("an inner partition is partitioned"))?;
        let renumbering = Renumbering::new(root, relation, &AttributeMap::new(root, relation)?);
        let keys = scheme.keys.iter().map(|key| PartitionKey {
            target: renumbering.target(&key.target),
            ty: key.ty,
        });
        let keys = keys.collect();
        let mut branches = Vec::with_capacity(scheme.partitions.len());
        for partition in &scheme.partitions {
            let Some(child) = catalog.relation(partition.oid) else {
                branches.push(PartitionBranch::Absent);
                continue;
            };
            visit(&child);
            branches.push(if child.is_partitioned() {
                let tree = PartitionTree::below(root, &child, catalog, members, visit, level + 1)?;
                PartitionBranch::Tree(Box::new(tree))
            } else {
                members.push(Member::new(root, child)?);
                PartitionBranch::Member(members.len() - 1)
            });
        }
        Ok(PartitionTree {
            scheme,
            keys,
            branches,
        })
    }
}

/// One of a parent's tables.
#[derive(Debug)]
pub struct Member {
    pub relation: Arc<Relation>,
    /// The relation as the parent's item sees it: keys of indexes are numbered as columns of the parent, so that
    /// conditions on the parent choose among them as they stand. Columns of its own have numbers behind the parent's.
    pub seen: Arc<Relation>,
    pub map: AttributeMap,
}

impl Member {
    pub fn new(parent: &Relation, relation: Arc<Relation>) -> SqlResult<Member> {
        let map = AttributeMap::new(parent, &relation)?;
        let seen = match map.is_identity() {
            true => Arc::clone(&relation),
            false => {
                let renumbering = Renumbering::new(parent, &relation, &map);
                let mut seen = Relation::clone(&relation);
                for index in &mut seen.indexes {
                    for key in &mut index.keys {
                        key.target = renumbering.target(&key.target);
                    }
                    if let Some((_, predicate)) = &mut index.predicate {
                        *predicate = renumbering.expression(predicate);
                    }
                }
                Arc::new(seen)
            }
        };
        Ok(Member { relation, seen, map })
    }
}

/// For each column of a child the number by which its parent's item knows it.
struct Renumbering(Vec<u16>);

impl Renumbering {
    fn new(parent: &Relation, child: &Relation, map: &AttributeMap) -> Renumbering {
        let behind = parent.columns.len();
        let mut numbers: Vec<u16> = (0..child.columns.len())
            .map(|position| (behind + position) as u16)
            .collect();
        for position in 0..parent.columns.len() as u16 {
            if let Some(own) = map.get(position) {
                numbers[own as usize] = position;
            }
        }
        Renumbering(numbers)
    }

    fn expression(&self, expr: &Expr) -> Expr {
        let mut expr = expr.clone();
        expr.rewrite(&mut |inner| match inner {
            Expr::Column { index, ty } => Some(Expr::Column {
                index: *self.0.get(*index as usize)?,
                ty: *ty,
            }),
            _ => None,
        });
        expr
    }

    fn target(&self, target: &IndexKeyTarget) -> IndexKeyTarget {
        match target {
            IndexKeyTarget::Column(column) => IndexKeyTarget::Column(self.0[*column as usize]),
            IndexKeyTarget::Expression(text, expr) => {
                IndexKeyTarget::Expression(text.clone(), self.expression(expr))
            }
        }
    }
}
