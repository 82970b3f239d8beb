//! Locks on partitions that a run may turn out not to read.
//!
//! Where parameters decide which partitions a plan reads, they do so before it starts: only those are locked, as
//! PostgreSQL's custom plans do. Conditions that take more than parameters (an outer row, a setting) are left out here, so
//! that what is locked is never less than what the Append reads.

use std::collections::HashMap;

use mote_common::{Oid, SqlResult, TableId};
use mote_engine::TableLockMode;
use mote_planner::plan::node::{AnyOf, Append, Node, PruneBranch, PruneCondition, Pruning};
use mote_planner::plan::{Plan, PlanBody};
use mote_sql::builtin::function::Volatility;
use mote_sql::expr::Expr;
use mote_types::{Datum, oid};

use crate::node::append;
use crate::runtime::{Runtime, Values};

type Lock = (TableId, TableLockMode);

/// For each Append of a plan whose partitions parameters choose: the choice, and the lock of each input.
pub struct PartitionLocks(Vec<(append::Pruning, Vec<Option<Lock>>)>);

impl PartitionLocks {
    /// Takes out of `locks`, which go by relation, those that depend on parameters.
    pub fn of(plan: &Plan, locks: &mut HashMap<Oid, Lock>) -> SqlResult<Option<PartitionLocks>> {
        let PlanBody::Query(query) = &plan.body else {
            return Ok(None);
        };
        let mut found = Found::default();
        // All trees of the plan: sub-plans and WITH queries scan partitions, too.
        let parts = query
            .subplans
            .iter()
            .chain(query.ctes.iter().map(|cte| &cte.node));
        for node in parts.chain([&query.root]) {
            found.look_at(node);
        }
        // A table that the statement itself names is locked in any case; privileges are asked of those alone.
        let named = plan.relations.iter().filter(|access| access.privileges != 0);
        found.always.extend(named.map(|access| access.relation));
        let mut chosen = Vec::new();
        let mut taken_out = Vec::new();
        for (append, pruning) in found.appends {
            let lock = |node: &Node| {
                let oid = scanned(node)?;
                let sometimes = !found.always.contains(&oid);
                sometimes.then(|| locks.get(&oid).copied().map(|lock| (oid, lock)))?
            };
            let of_inputs: Vec<Option<(Oid, Lock)>> = append.inputs.iter().map(lock).collect();
            taken_out.extend(of_inputs.iter().flatten().map(|(oid, _)| *oid));
            let of_inputs = of_inputs.into_iter().map(|found| found.map(|(_, lock)| lock));
            chosen.push((append::Pruning::compile(&pruning)?, of_inputs.collect()));
        }
        locks.retain(|oid, _| !taken_out.contains(oid));
        Ok((!chosen.is_empty()).then_some(PartitionLocks(chosen)))
    }

    /// All of them, for a run whose parameters are not known yet.
    pub fn all(&self) -> impl Iterator<Item = Lock> + '_ {
        self.0
            .iter()
            .flat_map(|(_, locks)| locks.iter().flatten().copied())
    }

    /// What a run with these parameters locks. They come back as they were.
    pub fn select(&self, parameters: &mut Vec<Datum>) -> SqlResult<Vec<Lock>> {
        // The same evaluation as in the run, over the parameters alone; moved in and out, as they may be large.
        let mut values = Values {
            parameters: std::mem::take(parameters),
            ..Values::default()
        };
        let mut selected = Vec::new();
        let mut live = Vec::new();
        let mut result = Ok(());
        for (pruning, locks) in &self.0 {
            live.clear();
            result = pruning.select(&mut live, &mut Runtime::detached(&mut values));
            if result.is_err() {
                break;
            }
            selected.extend(live.iter().filter_map(|&input| locks[input]));
        }
        *parameters = values.parameters;
        result.map(|()| selected)
    }
}

#[derive(Default)]
struct Found<'p> {
    appends: Vec<(&'p Append, Pruning)>,
    /// Relations that are read whatever the parameters are.
    always: Vec<Oid>,
}

impl<'p> Found<'p> {
    fn look_at(&mut self, node: &'p Node) {
        if let Node::Append(append) = node
            && let Some(pruning) = append.pruning.as_deref().and_then(early)
        {
            // Not further down: what stands below such an Append is read only if its partition is chosen.
            return self.appends.push((append, pruning));
        }
        self.always.extend(scanned(node));
        node.for_each_input(&mut |input| self.look_at(input));
    }
}

fn scanned(node: &Node) -> Option<Oid> {
    match node {
        Node::SeqScan(scan) => Some(scan.relation.oid),
        Node::IndexScan(scan) => Some(scan.relation.oid),
        _ => None,
    }
}

/// What is left of a pruning before a run; None if that is nothing.
fn early(pruning: &Pruning) -> Option<Pruning> {
    let mut any = false;
    let early = early_level(pruning, &mut any);
    any.then_some(early)
}

fn early_level(pruning: &Pruning, any: &mut bool) -> Pruning {
    let conditions: Vec<PruneCondition> = pruning
        .conditions
        .iter()
        .filter(|c| is_early(c))
        .cloned()
        .collect();
    *any |= !conditions.is_empty();
    let branch = |branch: &PruneBranch| match branch {
        PruneBranch::Level(level) => PruneBranch::Level(Box::new(early_level(level, any))),
        other => other.clone(),
    };
    let branches = pruning.branches.iter().map(branch).collect();
    Pruning {
        scheme: pruning.scheme.clone(),
        conditions,
        branches,
    }
}

fn is_early(condition: &PruneCondition) -> bool {
    match condition {
        PruneCondition::Compare(_, _, value) => is_plain(value),
        PruneCondition::AnyOf(_, AnyOf::Array(array)) => is_plain(array),
        PruneCondition::AnyOf(_, AnyOf::List(list)) => list.iter().all(is_plain),
        PruneCondition::IsNull(_) | PruneCondition::IsNotNull(_) => true,
        // An OR of which one part is not known yet may leave anything over.
        PruneCondition::Or(alternatives) => alternatives.iter().flatten().all(is_early),
    }
}

/// Parameters and constants, widened or narrowed as integers are: the same now as in the run.
fn is_plain(value: &Expr) -> bool {
    let integer = |ty: Oid| matches!(ty, oid::INT2 | oid::INT4 | oid::INT8);
    !value.any(&mut |part| match part {
        Expr::Parameter { .. } | Expr::Constant(..) | Expr::Case { .. } | Expr::And(_) => false,
        Expr::Cast { from, ty, .. } => !(integer(from.oid) && integer(ty.oid)),
        Expr::Call { function, .. } => function.signature().volatility != Volatility::Immutable,
        _ => true,
    })
}
