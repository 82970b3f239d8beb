//! The order of units: dynamic programming over sets up to a bound, greedily beyond it.
//!
//! Left-deep: a set grows by one unit at a time. A LATERAL unit comes behind what it reads; a product without a condition
//! comes last.

use mote_common::SqlResult;

use super::{COMPARED_MAX, EXHAUSTIVE_UNITS, Link, Side, Unit};
use crate::optimize::{Joined, Planner};
use crate::plan::node::JoinKind;
use mote_sql::bind::query::FromTree;
use mote_sql::expr::Expr;

impl Planner<'_> {
    /// Several units in their best order.
    pub(super) fn ordered_joins(
        &mut self,
        trees: Vec<FromTree>,
        local: Vec<Vec<Expr>>,
        item_sets: Vec<Vec<u16>>,
        mut links: Vec<Link>,
    ) -> SqlResult<Joined> {
        let all: Vec<u16> = item_sets.concat();
        let mut units = Vec::with_capacity(trees.len());
        for ((tree, conditions), items) in trees.into_iter().zip(local).zip(item_sets) {
            let mut after = Vec::new();
            for item in &items {
                let inside = self.items_read_inside(*item);
                after.extend(
                    inside
                        .into_iter()
                        .filter(|read| all.contains(read) && !items.contains(read)),
                );
            }
            let side = self.side(tree, conditions)?;
            let (rows, cost) = match &side {
                Side::Base {
                    item,
                    relation,
                    conditions,
                } => {
                    let borrowed: Vec<&Expr> = conditions.iter().collect();
                    let access = self.best_access(*item, relation, &borrowed, &[], false);
                    (access.rows, access.cost)
                }
                Side::Parent {
                    item,
                    expansion,
                    conditions,
                } => {
                    let borrowed: Vec<&Expr> = conditions.iter().collect();
                    let members = self.member_accesses(*item, expansion, &borrowed, &[], false);
                    (members.rows, members.cost)
                }
                Side::Ready(joined) => (joined.rows, joined.cost),
                Side::Used => (0.0, 0.0),
            };
            units.push(Unit {
                items,
                after,
                side,
                rows,
                cost,
            });
        }
        let compared = match units.len() <= EXHAUSTIVE_UNITS {
            true => self.exhaustive_order(&units, &links),
            false => None,
        };
        let order = compared.unwrap_or_else(|| self.greedy_order(&units, &links));
        let mut done = 1u64 << order[0];
        let first = std::mem::replace(&mut units[order[0]].side, Side::Used);
        let mut joined = self.alone(first, &[], false)?;
        for position in order.into_iter().skip(1) {
            done |= 1 << position;
            let mut conditions = Vec::new();
            for link in &mut links {
                if link.units & !done == 0 {
                    conditions.extend(link.condition.take());
                }
            }
            let side = std::mem::replace(&mut units[position].side, Side::Used);
            let lateral = !units[position].after.is_empty();
            joined = self.join_pair(JoinKind::Inner, joined, side, conditions, lateral)?;
        }
        Ok(joined)
    }

    /// Rows and cost after adding a unit to a set.
    pub(super) fn extend(
        &self,
        units: &[Unit],
        links: &[Link],
        set: u64,
        rows: f64,
        cost: f64,
        next: usize,
    ) -> Option<(f64, f64)> {
        let unit = &units[next];
        let available = |item: &u16| {
            units
                .iter()
                .enumerate()
                .any(|(position, unit)| set & (1 << position) != 0 && unit.items.contains(item))
        };
        if !unit.after.iter().all(available) {
            return None;
        }
        let after = set | 1 << next;
        let linking = links
            .iter()
            .filter(|link| link.units & !after == 0 && link.units & (1 << next) != 0);
        let conditions: Vec<&Expr> = linking.filter_map(|link| link.condition.as_ref()).collect();
        let lateral = !unit.after.is_empty();
        let (_, rows, added) = self.method(
            JoinKind::Inner,
            (rows, &unit.items),
            (&unit.side, unit.rows, unit.cost),
            &conditions,
            lateral,
        );
        // A product without a condition comes last, whatever it costs.
        let penalty = if conditions.is_empty() && !lateral {
            4.0
        } else {
            1.0
        };
        Some((rows, cost + added * penalty))
    }

    /// None where there are too many orders to compare: of many units that are all linked with each other.
    fn exhaustive_order(&self, units: &[Unit], links: &[Link]) -> Option<Vec<usize>> {
        let count = units.len();
        let mut left = COMPARED_MAX;
        // For each set: (rows, cost, the unit added last).
        let mut best: Vec<Option<(f64, f64, usize)>> = vec![None; 1 << count];
        for (position, unit) in units.iter().enumerate() {
            if unit.after.is_empty() {
                best[1 << position] = Some((unit.rows, unit.cost, position));
            }
        }
        for set in 1u64..1 << count {
            let Some((rows, cost, _)) = best[set as usize] else {
                continue;
            };
            let linked = |next: usize| {
                links
                    .iter()
                    .any(|link| link.units & (1 << next) != 0 && link.units & set != 0)
                    || !units[next].after.is_empty()
            };
            let spent = |next: usize| {
                let after = set | 1 << next;
                let read = |link: &&Link| link.units & !after == 0 && link.units & (1 << next) != 0;
                1 + links.iter().filter(read).count()
            };
            let mut reach = |wanted: bool| -> Option<Vec<(usize, f64, f64)>> {
                let mut reached = Vec::new();
                for next in (0..count).filter(|next| set & (1 << next) == 0 && linked(*next) == wanted) {
                    left = left.checked_sub(spent(next))?;
                    let extended = self.extend(units, links, set, rows, cost, next);
                    reached.extend(extended.map(|(rows, cost)| (next, rows, cost)));
                }
                Some(reached)
            };
            let mut reached = reach(true)?;
            // Only what can come next counts: a LATERAL unit may wait for another one that nothing links.
            if reached.is_empty() {
                reached = reach(false)?;
            }
            for (next, rows, cost) in reached {
                let slot = &mut best[(set | 1 << next) as usize];
                if slot.is_none_or(|known| cost < known.1) {
                    *slot = Some((rows, cost, next));
                }
            }
        }
        let mut order = Vec::with_capacity(count);
        let mut set = (1u64 << count) - 1;
        while let Some((_, _, last)) = best[set as usize] {
            order.push(last);
            set &= !(1 << last);
        }
        order.reverse();
        Some(order)
    }

    fn greedy_order(&self, units: &[Unit], links: &[Link]) -> Vec<usize> {
        let startable = (0..units.len()).filter(|position| units[*position].after.is_empty());
        let first = startable
            .min_by(|a, b| units[*a].rows.total_cmp(&units[*b].rows))
            .unwrap_or(0);
        let mut order = vec![first];
        let (mut set, mut rows, mut cost) = (1u64 << first, units[first].rows, units[first].cost);
        while order.len() < units.len() {
            let outside = (0..units.len()).filter(|next| set & (1 << next) == 0);
            let candidates = outside.filter_map(|next| {
                let (rows, cost) = self.extend(units, links, set, rows, cost, next)?;
                let linked = links
                    .iter()
                    .any(|link| link.units & (1 << next) != 0 && link.units & set != 0);
                Some((next, rows, cost, linked))
            });
            let better = |a: &(usize, f64, f64, bool), b: &(usize, f64, f64, bool)| {
                b.3.cmp(&a.3).then(a.2.total_cmp(&b.2))
            };
            let Some((next, new_rows, new_cost, _)) = candidates.min_by(better) else {
                break;
            };
            (rows, cost) = (new_rows, new_cost);
            set |= 1 << next;
            order.push(next);
        }
        order
    }
}
