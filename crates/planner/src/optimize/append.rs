//! A parent and its tables: one scan each, planned for itself, and an Append above.
//!
//! Whoever reads the unit sees the parent's item. Each table yields the parent's columns in the parent's order, so
//! that conditions are resolved against the parent's layout as they stand; only the choice of an index looks at the
//! table itself, through [`Member::seen`]. Leaves out: which tables there are (the binder's `Expansion`).

use std::sync::Arc;

use mote_common::SqlResult;

use super::access::Access;
use super::prune::Pruned;
use super::scan_source::ScanSource;
use super::{Joined, Planner, Slot};
use crate::plan::node::{Append, MemberNumber, Node, PruneBranch, Pruning, ScanColumn};
use crate::plan::walk::prune_condition_exprs;
use mote_sql::bind::query::{CTID, FIRST_SYSTEM_COLUMN, ROW_MARK, TABLE_OID, WHOLE_ROW, XMIN};
use mote_sql::catalog::Relation;
use mote_sql::catalog::inheritance::{AttributeMap, Expansion};
use mote_sql::expr::{Expr, SortKey};

/// How the tables of a parent are read.
#[derive(Clone)]
pub(super) struct MemberAccesses {
    /// (position among the expansion's members, how it is read).
    accesses: Vec<(usize, Access)>,
    /// What the Append asks when it starts, and the conditions that it asks.
    pruning: Option<Box<Pruning>>,
    pruned_by: Vec<usize>,
    pub rows: f64,
    pub cost: f64,
    /// Each table yields the wanted order, so that merging keeps it.
    pub ordered: bool,
}

impl MemberAccesses {
    /// Whether one of the conditions from `first` on binds an index of any table, or leaves tables out.
    pub fn uses_from(&self, first: usize) -> bool {
        let mut accesses = self.accesses.iter();
        self.pruned_by.iter().any(|position| *position >= first)
            || accesses.any(|(_, access)| access.used.iter().any(|position| *position >= first))
    }
}

impl Planner<'_> {
    /// The best way to read each table.
    pub(super) fn member_accesses(
        &self,
        item: u16,
        expansion: &Expansion,
        conditions: &[&Expr],
        sort: &[SortKey],
        limited: bool,
    ) -> MemberAccesses {
        let pruned = self.pruned(item, expansion, conditions);
        let best = |sort: &[SortKey]| {
            let accesses = pruned.members.iter().map(|&position| {
                let seen = &expansion.members[position].seen;
                (position, self.best_access(item, seen, conditions, sort, limited))
            });
            accesses.collect::<Vec<_>>()
        };
        let mut accesses = best(sort);
        let ordered = !sort.is_empty() && accesses.iter().all(|(_, access)| access.ordered);
        if !ordered && !sort.is_empty() {
            // One table out of order means a sort of everything: no index is worth its order.
            accesses = best(&[]);
        }
        totals(accesses, pruned, ordered)
    }

    /// The members that conditions leave over.
    fn pruned(&self, item: u16, expansion: &Expansion, conditions: &[&Expr]) -> Pruned {
        match &expansion.partitions {
            Some(tree) => self.prune(item, tree, conditions),
            None => Pruned {
                members: (0..expansion.members.len()).collect(),
                pruning: None,
                used: Vec::new(),
                part: 1.0,
            },
        }
    }

    /// Each table read in the order of `sort` through an index, or None if one of them cannot.
    pub(super) fn member_extremum_accesses(
        &self,
        item: u16,
        expansion: &Expansion,
        conditions: &[&Expr],
        sort: &SortKey,
    ) -> Option<MemberAccesses> {
        let pruned = self.pruned(item, expansion, conditions);
        let accesses = pruned.members.iter().map(|&position| {
            let seen = &expansion.members[position].seen;
            Some((position, self.extremum_access(item, seen, conditions, sort)?))
        });
        let accesses = accesses.collect::<Option<_>>()?;
        Some(totals(accesses, pruned, true))
    }

    /// Builds the scans and what joins them. Conditions may hold variables of other items.
    pub(super) fn append(
        &mut self,
        item: u16,
        expansion: &Expansion,
        members: MemberAccesses,
        conditions: Vec<Expr>,
        sort: &[SortKey],
    ) -> SqlResult<Joined> {
        let MemberAccesses {
            accesses,
            mut pruning,
            rows,
            cost,
            ordered,
            ..
        } = members;
        // All tables yield the same columns: a condition that one of them tests is needed of each.
        for (position, condition) in conditions.iter().enumerate() {
            let tested =
                |(_, access): &(usize, Access)| access.union.is_some() || !access.used.contains(&position);
            if self.marks || accesses.iter().any(tested) {
                self.need(condition);
            }
        }
        let layout = self.scan_layout(item, self.marks);
        let accesses_count = accesses.len();
        let mut inputs = Vec::with_capacity(accesses_count);
        let mut read = Vec::with_capacity(accesses_count);
        for (position, access) in accesses {
            let member = &expansion.members[position];
            let source = ScanSource {
                item,
                member: MemberNumber(inputs.len() as u16),
                relation: Arc::clone(&member.relation),
                columns: member_columns(&member.map, &layout),
                alias: Some(match accesses_count {
                    1 => self.items[item as usize].alias.as_ref().into(),
                    _ => format!("{}_{}", self.items[item as usize].alias, inputs.len() + 1).into(),
                }),
            };
            inputs.push(self.scan_node(source, access, conditions.clone(), &layout)?);
            read.push(Arc::clone(&member.relation));
        }
        self.members_read.insert(item, read);
        let mut merge = Vec::new();
        if ordered && inputs.len() > 1 {
            merge = sort.to_vec();
            for key in &mut merge {
                self.resolve(&mut key.expr, &layout)?;
            }
        }
        if let Some(pruning) = &mut pruning {
            self.resolve_pruning(pruning)?;
        }
        let node = match inputs.len() {
            0 => Node::Empty {
                width: layout.len() as u16,
            },
            1 => inputs.swap_remove(0),
            _ => Node::Append(Box::new(Append {
                inputs,
                merge,
                pruning,
            })),
        };
        Ok(Joined {
            node,
            layout,
            items: vec![item],
            rows: rows.max(1.0),
            cost,
            ordered,
        })
    }

    /// Values may hold sub-queries of their own.
    fn resolve_pruning(&mut self, pruning: &mut Pruning) -> SqlResult<()> {
        let mut result = Ok(());
        prune_condition_exprs(&mut pruning.conditions, &mut |value| {
            if result.is_ok() {
                result = self.resolve(value, &[]);
            }
        });
        result?;
        for branch in &mut pruning.branches {
            if let PruneBranch::Level(level) = branch {
                self.resolve_pruning(level)?;
            }
        }
        Ok(())
    }

    /// The tables that row marks of an item number: those its scan reads, which has been planned.
    pub(super) fn marked_relations(&self, item: u16, relation: &Arc<Relation>) -> Vec<Arc<Relation>> {
        match self.members_read.get(&item) {
            Some(read) => read.clone(),
            None => vec![Arc::clone(relation)],
        }
    }
}

fn totals(accesses: Vec<(usize, Access)>, pruned: Pruned, ordered: bool) -> MemberAccesses {
    MemberAccesses {
        rows: accesses.iter().map(|(_, access)| access.rows).sum::<f64>() * pruned.part,
        cost: accesses.iter().map(|(_, access)| access.cost).sum::<f64>() * pruned.part,
        accesses,
        pruning: pruned.pruning,
        pruned_by: pruned.used,
        ordered,
    }
}

/// The parent's columns, as a table below it has them.
pub(super) fn member_columns(map: &AttributeMap, layout: &[Slot]) -> Vec<ScanColumn> {
    let column = |slot: &Slot| match slot.1 {
        WHOLE_ROW => ScanColumn::WholeRowOf(map.live().collect()),
        position if position < FIRST_SYSTEM_COLUMN => {
            let own = map.get(position);
            ScanColumn::Attribute(own.expect("only live columns of a parent are read"))
        }
        _ => own_column(slot),
    };
    layout.iter().map(column).collect()
}

/// The columns of a table that is read by itself.
pub(super) fn own_columns(layout: &[Slot]) -> Vec<ScanColumn> {
    layout.iter().map(own_column).collect()
}

fn own_column(slot: &Slot) -> ScanColumn {
    match slot.1 {
        CTID => ScanColumn::Ctid,
        XMIN => ScanColumn::Xmin,
        TABLE_OID => ScanColumn::TableOid,
        WHOLE_ROW => ScanColumn::WholeRow,
        ROW_MARK => ScanColumn::RowMark,
        attribute => ScanColumn::Attribute(attribute),
    }
}
