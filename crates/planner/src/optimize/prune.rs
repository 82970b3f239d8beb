//! Partition pruning: what conditions on a parent say about its partitions.
//!
//! Conditions bind partition keys by the rules that bind index keys. What constants decide is decided here; what
//! depends on a parameter or an outer row is left to the Append, which asks when it starts.

use std::sync::Arc;

use mote_types::datetime::TimeZone;
use mote_types::key::{Fit, follows_zone};

use super::Planner;
use super::binding::Binding;
use crate::plan::node::{AnyOf, PruneBranch, PruneCondition, Pruning};
use mote_sql::builtin::operator::Comparison;
use mote_sql::catalog::IndexKey;
use mote_sql::catalog::inheritance::{PartitionBranch, PartitionTree};
use mote_sql::catalog::partition::PartitionKey;
use mote_sql::catalog::partition_match::KeyCondition;
use mote_sql::expr::Expr;
use mote_sql::expr::simplify;

/// What is left of an expansion.
pub(super) struct Pruned {
    /// Positions of members, in the order of the bounds.
    pub members: Vec<usize>,
    /// To be asked by the Append. Inputs are numbered as in `members`.
    pub pruning: Option<Box<Pruning>>,
    /// Positions of the conditions that it will ask.
    pub used: Vec<usize>,
    /// The part of the members that is expected to be read when the Append has asked.
    pub part: f64,
}

impl Planner<'_> {
    pub(super) fn prune(&self, item: u16, tree: &PartitionTree, conditions: &[&Expr]) -> Pruned {
        let mut pruned = Pruned {
            members: Vec::new(),
            pruning: None,
            used: Vec::new(),
            part: 1.0,
        };
        let (pruning, is_needed) = self.prune_level(item, tree, conditions, &mut pruned);
        if is_needed && pruned.members.len() > 1 {
            if binds_all_keys(&pruning, tree.keys.len()) {
                pruned.part = 1.0 / pruned.members.len() as f64;
            }
            pruned.pruning = Some(Box::new(pruning));
        }
        pruned
    }

    /// One partitioned table. Answers whether there is anything left to ask when the plan runs.
    fn prune_level(
        &self,
        item: u16,
        tree: &PartitionTree,
        conditions: &[&Expr],
        pruned: &mut Pruned,
    ) -> (Pruning, bool) {
        let keys: Vec<IndexKey> = tree.keys.iter().map(as_index_key).collect();
        let mut found = Vec::new();
        let mut is_needed = false;
        for (position, condition) in conditions.iter().enumerate() {
            if let Some(condition) = self.prune_condition(condition, item, &keys) {
                if constant(&condition, &tree.keys).is_none() {
                    is_needed = true;
                    if !pruned.used.contains(&position) {
                        pruned.used.push(position);
                    }
                }
                found.push(condition);
            }
        }
        let known = found
            .iter()
            .filter_map(|condition| constant(condition, &tree.keys));
        let known: Vec<KeyCondition> = known.collect();
        let matching = tree.scheme.matching(&known);
        let mut branches = Vec::with_capacity(tree.branches.len());
        for (position, branch) in tree.branches.iter().enumerate() {
            branches.push(match branch {
                _ if !matching.contains(position) => PruneBranch::Absent,
                PartitionBranch::Absent => PruneBranch::Absent,
                PartitionBranch::Member(member) => {
                    pruned.members.push(*member);
                    PruneBranch::Input(pruned.members.len() as u16 - 1)
                }
                PartitionBranch::Tree(tree) => {
                    let (level, needed) = self.prune_level(item, tree, conditions, pruned);
                    is_needed |= needed;
                    PruneBranch::Level(Box::new(level))
                }
            });
        }
        let pruning = Pruning {
            scheme: tree.scheme.clone(),
            conditions: found,
            branches,
        };
        (pruning, is_needed)
    }

    fn prune_condition(&self, condition: &Expr, item: u16, keys: &[IndexKey]) -> Option<PruneCondition> {
        if let Expr::Or(alternatives) = condition {
            let alternative = |expr: &Expr| {
                let parts = mote_sql::bind::conjuncts(expr.clone());
                let found = parts
                    .iter()
                    .filter_map(|part| self.prune_condition(part, item, keys));
                let found: Vec<PruneCondition> = found.collect();
                // An alternative that says nothing of the keys lets every partition in.
                (!found.is_empty()).then_some(found)
            };
            return Some(PruneCondition::Or(
                alternatives.iter().map(alternative).collect::<Option<_>>()?,
            ));
        }
        for (number, key) in keys.iter().enumerate() {
            let number = number as u16;
            if let Expr::IsNotNull(argument) = condition
                && self.is_key(argument, item, key)
            {
                return Some(PruneCondition::IsNotNull(number));
            }
            let folded = |mut value: Expr| {
                simplify(&mut value, self.folder);
                value
            };
            return Some(match self.binding(condition, item, key) {
                None | Some(Binding::Prefix(_) | Binding::Bound(_, _, Fit::Near)) => continue,
                Some(Binding::Equal(value)) => {
                    PruneCondition::Compare(number, Comparison::Equal, folded(value))
                }
                Some(Binding::Bound(comparison, value, Fit::Exact)) => {
                    PruneCondition::Compare(number, comparison, folded(value))
                }
                Some(Binding::IsNull) => PruneCondition::IsNull(number),
                Some(Binding::Any(AnyOf::List(list))) => {
                    let list = list.iter().cloned().map(folded).collect();
                    PruneCondition::AnyOf(number, AnyOf::List(Arc::new(list)))
                }
                Some(Binding::Any(AnyOf::Array(array))) => {
                    let array = Arc::new(folded(Arc::unwrap_or_clone(array)));
                    PruneCondition::AnyOf(number, AnyOf::Array(array))
                }
            });
        }
        None
    }
}

fn as_index_key(key: &PartitionKey) -> IndexKey {
    IndexKey {
        target: key.target.clone(),
        name: None,
        ty: key.ty,
        collation: None,
        operator_class: None,
        descending: false,
        nulls_first: false,
    }
}

/// The condition with its values, if all are known now, and so is what they say of the keys.
fn constant(condition: &PruneCondition, keys: &[PartitionKey]) -> Option<KeyCondition> {
    let ty = |key: u16| keys[usize::from(key)].ty;
    let value = |key: u16, expr: &Expr| match expr {
        Expr::Constant(value, from) if !follows_zone(from.oid, ty(key).oid) => Some(value.clone()),
        _ => None,
    };
    // None of the values depends on it.
    let zone = TimeZone::utc();
    Some(match condition {
        PruneCondition::Compare(key, comparison, expr) => {
            KeyCondition::compare(*key, *comparison, value(*key, expr)?, ty(*key), &zone)
        }
        PruneCondition::AnyOf(key, AnyOf::List(list)) => {
            let list: Option<Vec<_>> = list.iter().map(|expr| value(*key, expr)).collect();
            KeyCondition::any_of(*key, list?, ty(*key), &zone)
        }
        PruneCondition::AnyOf(_, AnyOf::Array(_)) => return None,
        PruneCondition::IsNull(key) => KeyCondition::IsNull(*key),
        PruneCondition::IsNotNull(key) => KeyCondition::IsNotNull(*key),
        PruneCondition::Or(alternatives) => {
            let all = |list: &Vec<PruneCondition>| {
                let known = list.iter().map(|condition| constant(condition, keys));
                known.collect::<Option<Vec<_>>>()
            };
            KeyCondition::Or(alternatives.iter().map(all).collect::<Option<_>>()?)
        }
    })
}

/// Whether one partition of the table is left when the values are known.
fn binds_all_keys(pruning: &Pruning, keys: usize) -> bool {
    (0..keys as u16).all(|key| {
        let mut conditions = pruning.conditions.iter();
        conditions.any(|condition| {
            matches!(condition, PruneCondition::Compare(other, Comparison::Equal, _) if *other == key)
        })
    })
}
