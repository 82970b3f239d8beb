//! The order of units: dynamic programming over sets up to a bound, greedily beyond it.
//!
//! Left-deep: a set grows by one unit at a time. A LATERAL unit, EXISTS and IN come behind what they read; a product
//! without a condition comes last.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use mote_common::SqlResult;

use super::pair::Pairing;
use super::{COMPARED_MAX, EXHAUSTIVE_UNITS, Link, Part, Side, Unit};
use crate::optimize::{Joined, Planner};
use crate::plan::node::JoinKind;
use mote_sql::expr::Expr;

/// Steps that finding out about a pairing takes, compared with using what is known of it.
const PAIRING_STEPS: usize = 10;

impl Unit {
    /// LATERAL, EXISTS and IN come behind what they read.
    fn may_be_first(&self) -> bool {
        self.kind == JoinKind::Inner && self.after.is_empty()
    }
}

/// Units and links whose orders are compared.
struct Orders<'u> {
    units: &'u [Unit],
    links: &'u [Link],
    /// What is known of adding a unit by some of the links, by their positions: the same for many sets.
    known: HashMap<(usize, Vec<usize>), Pairing>,
    spent: usize,
}

impl Planner<'_> {
    /// Several units in their best order.
    pub(super) fn ordered_joins(&mut self, parts: Vec<Part>, mut links: Vec<Link>) -> SqlResult<Joined> {
        let is_left = |part: &&Part| part.kind == JoinKind::Inner;
        let all: Vec<u16> = parts
            .iter()
            .filter(is_left)
            .flat_map(|part| &part.items)
            .copied()
            .collect();
        let mut units = Vec::with_capacity(parts.len());
        for (position, part) in parts.into_iter().enumerate() {
            let Part {
                tree,
                kind,
                items,
                conditions,
            } = part;
            let mut after = Vec::new();
            for item in &items {
                let inside = self.items_read_inside(*item);
                after.extend(
                    inside
                        .into_iter()
                        .filter(|read| all.contains(read) && !items.contains(read)),
                );
            }
            let lateral = !after.is_empty();
            let side = match kind {
                JoinKind::Inner => self.side(tree, conditions)?,
                _ => {
                    let own = |link: &&Link| link.units & (1 << position) != 0;
                    for condition in links
                        .iter()
                        .filter(own)
                        .filter_map(|link| link.condition.as_ref())
                    {
                        let read = self.items_read(condition);
                        after.extend(read.into_iter().filter(|read| all.contains(read)));
                    }
                    self.late_side(tree, conditions)?
                }
            };
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
                kind,
                items,
                after,
                lateral,
                side,
                rows,
                cost,
            });
        }
        let mut orders = Orders {
            units: &units,
            links: &links,
            known: HashMap::new(),
            spent: 0,
        };
        let compared = match units.len() <= EXHAUSTIVE_UNITS {
            true => self.exhaustive_order(&mut orders),
            false => None,
        };
        let order = compared.unwrap_or_else(|| self.greedy_order(&mut orders));
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
            joined = match units[position].kind {
                JoinKind::Inner => {
                    let lateral = units[position].lateral;
                    self.join_pair(JoinKind::Inner, joined, side, conditions, lateral)?
                }
                kind => self.join_late(kind, joined, side, conditions)?,
            };
        }
        Ok(joined)
    }

    /// Rows and cost after adding a unit to a set.
    fn extend(
        &self,
        order: &mut Orders<'_>,
        set: u64,
        rows: f64,
        cost: f64,
        next: usize,
    ) -> Option<(f64, f64)> {
        let Orders { units, links, .. } = *order;
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
        let is_linking = |link: &Link| link.units & !after == 0 && link.units & (1 << next) != 0;
        let linking: Vec<usize> = (0..links.len())
            .filter(|link| is_linking(&links[*link]))
            .collect();
        let is_product = linking.is_empty() && !unit.lateral;
        let pairing = match order.known.entry((next, linking)) {
            Entry::Occupied(known) => {
                order.spent += 1;
                known.into_mut()
            }
            Entry::Vacant(place) => {
                let by = place.key().1.iter();
                let conditions: Vec<&Expr> = by.filter_map(|link| links[*link].condition.as_ref()).collect();
                order.spent += PAIRING_STEPS + conditions.len();
                let side = (&unit.side, unit.rows);
                place.insert(self.pairing(unit.kind, &unit.items, side, &conditions, unit.lateral))
            }
        };
        let (_, rows, added) = pairing.cheapest(unit.kind, rows, unit.rows, unit.cost);
        // A product without a condition comes last, whatever it costs.
        let penalty = if is_product { 4.0 } else { 1.0 };
        Some((rows, cost + added * penalty))
    }

    /// None where there are too many orders to compare: of many units that are all linked with each other.
    fn exhaustive_order(&self, orders: &mut Orders<'_>) -> Option<Vec<usize>> {
        let Orders { units, links, .. } = *orders;
        let count = units.len();
        // For each set: (rows, cost, the unit added last).
        let mut best: Vec<Option<(f64, f64, usize)>> = vec![None; 1 << count];
        for (position, unit) in units.iter().enumerate() {
            if unit.may_be_first() {
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
            let mut reach = |wanted: bool| -> Option<Vec<(usize, f64, f64)>> {
                let mut reached = Vec::new();
                for next in (0..count).filter(|next| set & (1 << next) == 0 && linked(*next) == wanted) {
                    if orders.spent > COMPARED_MAX {
                        return None;
                    }
                    let extended = self.extend(orders, set, rows, cost, next);
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

    fn greedy_order(&self, orders: &mut Orders<'_>) -> Vec<usize> {
        let Orders { units, links, .. } = *orders;
        let startable = (0..units.len()).filter(|position| units[*position].may_be_first());
        let first = startable
            .min_by(|a, b| units[*a].rows.total_cmp(&units[*b].rows))
            .unwrap_or(0);
        let mut order = vec![first];
        let (mut set, mut rows, mut cost) = (1u64 << first, units[first].rows, units[first].cost);
        while order.len() < units.len() {
            let outside = (0..units.len()).filter(|next| set & (1 << next) == 0);
            let candidates = outside.filter_map(|next| {
                let (rows, cost) = self.extend(orders, set, rows, cost, next)?;
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
