//! An OR of which each arm is looked up in an index: `a = 1 OR b = 2` over an index on `a` and one on `b`, or both over one.
//!
//! PostgreSQL unites bitmaps of row positions (BitmapOr in indxpath.c, tidbitmap.c). Here nothing is remembered of rows: each arm
//! is a scan of its own, and a row counts for the first arm whose condition it satisfies. That is exact, because
//!  1. all arms read by one snapshot, and an arm's condition says the same of a row whenever it is asked (no volatile
//!     functions, no sub-queries);
//!  2. an arm meets every row that satisfies its condition: the index's part of it is what `scan` takes from conditions.
//!
//! So rows come once, in no order, and an arm with a million rows keeps none. The price is one more test of a row for each arm
//! before its own.

use mote_common::{SqlError, SqlResult};
use mote_sql::catalog::Relation;
use mote_sql::expr::Expr;

use super::access::{Access, Arm, Union};
use super::scan_source::ScanSource;
use super::{Planner, Slot};
use crate::plan::node::{Expected, IndexUnion, Node, ScanId};

/// Arms of an OR that are looked at: more than these read the table, or another of its conditions finds an index.
const ARMS_MAX: usize = 64;
/// ORs of a table that are looked at, the first ones; the others stay conditions.
const ORS_MAX: usize = 16;
/// Conditions beside the OR that an arm's index may use, the first ones; all are tested.
const OTHERS_MAX: usize = 32;

impl Planner<'_> {
    /// The cheapest way to read the arms of one of the conditions, an OR, by indexes; `rows` satisfy all conditions.
    pub(super) fn union_access(
        &self,
        item: u16,
        relation: &Relation,
        conditions: &[&Expr],
        rows: f64,
    ) -> Option<Access> {
        if relation.indexes.is_empty() {
            return None;
        }
        let candidates = (0..conditions.len()).filter_map(|slot| match conditions[slot] {
            Expr::Or(arms) => Some((slot, arms)),
            _ => None,
        });
        let accesses = candidates.take(ORS_MAX).filter_map(|(slot, arms)| {
            let or = conditions[slot];
            let is_candidate = arms.len() <= ARMS_MAX && !or.is_volatile() && !or.contains_subplan();
            is_candidate.then(|| self.union_of(item, relation, conditions, slot, arms))?
        });
        let (slots, union, cost) = accesses.min_by(|(.., one), (.., other)| one.total_cmp(other))?;
        Some(Access {
            index: None,
            union: Some(Box::new(union)),
            equals: Vec::new(),
            lower: None,
            upper: None,
            prefix_of: None,
            backward: false,
            single_row: false,
            used: slots,
            rows,
            cost,
            ordered: false,
        })
    }

    /// The arms of the OR at `slot`, the positions of all conditions that they use, and what reading them costs. None: an
    /// arm has no index.
    fn union_of(
        &self,
        item: u16,
        relation: &Relation,
        conditions: &[&Expr],
        slot: usize,
        arms: &[Expr],
    ) -> Option<(Vec<usize>, Union, f64)> {
        let others: Vec<usize> = (0..conditions.len())
            .filter(|&other| other != slot && !matches!(conditions[other], Expr::Or(_)))
            .take(OTHERS_MAX)
            .collect();
        let mut slots = vec![slot];
        let mut cost = 0.0;
        let mut read = Vec::with_capacity(arms.len());
        for arm in arms {
            let own: &[Expr] = match arm {
                Expr::And(parts) => parts,
                part => std::slice::from_ref(part),
            };
            let given: Vec<&Expr> = own
                .iter()
                .chain(others.iter().map(|&other| conditions[other]))
                .collect();
            let access = self.best_index_access(item, relation, &given, &[], false)?;
            let beside = access.used.iter().filter_map(|used| used.checked_sub(own.len()));
            let beside: Vec<usize> = beside.map(|place| others[place]).collect();
            let decided_others = beside.iter().map(|&other| conditions[other].clone()).collect();
            slots.extend(beside);
            cost += access.cost;
            read.push(Arm {
                decided: access
                    .used
                    .iter()
                    .copied()
                    .filter(|&used| used < own.len())
                    .collect(),
                access,
                own: own.to_vec(),
                decided_others,
            });
        }
        slots.sort_unstable();
        slots.dedup();
        let or = conditions[slot].clone();
        Some((slots, Union { or, arms: read }, cost))
    }

    /// Builds the scans of the arms under all `conditions` of the table, and what unites them.
    pub(super) fn union_node(
        &mut self,
        source: ScanSource,
        union: Union,
        conditions: &[Expr],
        layout: &[Slot],
        expected: Expected,
    ) -> SqlResult<Node> {
        let mut inputs = Vec::with_capacity(union.arms.len());
        let mut tests = Vec::with_capacity(union.arms.len());
        for arm in union.arms {
            let mut access = arm.access;
            let given = match self.marks {
                // EvalPlanQual asks the first arm alone about the newest version of a row: it has to know all conditions.
                true => {
                    access.used = Vec::new();
                    conditions.to_vec()
                }
                false => {
                    access.used = arm.decided;
                    let mut given = arm.own.clone();
                    for condition in conditions.iter().filter(|condition| !condition.same(&union.or)) {
                        if arm.decided_others.iter().any(|decided| decided.same(condition)) {
                            access.used.push(given.len());
                        }
                        given.push(condition.clone());
                    }
                    given
                }
            };
            tests.push(
                self.conjunction(arm.own, layout)?
                    .ok_or_else(|| SqlError::internal("an arm of an OR is always true"))?,
            );
            inputs.push(self.scan_node(source.clone(), access, given, layout)?);
        }
        Ok(Node::IndexUnion(Box::new(IndexUnion {
            scan: ScanId(source.item),
            member: source.member,
            relation: source.relation,
            alias: source.alias,
            inputs,
            tests,
            own_test: self.marks,
            expected,
        })))
    }
}
