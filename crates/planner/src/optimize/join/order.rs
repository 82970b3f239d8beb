//! The order of units: dynamic programming over sets up to a bound, greedily beyond it.
//!
//! Each EXISTS and IN is a unit; where they make the units too many for the bound, the others are ordered alone and each of
//! them is put where it costs least.
//!
//! Left-deep: a set grows by one unit at a time. A LATERAL unit comes behind what it reads, and so do EXISTS and IN, unless
//! their distinct keys are joined (`unique`): those may come before it. A product without a condition comes last.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use mote_common::SqlResult;

use super::equivalence::one_of_each;
use super::pair::Pairing;
use super::unique::Unique;
use super::{COMPARED_MAX, EXHAUSTIVE_UNITS, Link, Part, Side, Unit};
use crate::optimize::{Joined, Planner};
use crate::plan::node::JoinKind;
use mote_sql::expr::Expr;

/// Steps that finding out about a pairing takes, compared with using what is known of it.
const PAIRING_STEPS: usize = 10;

impl Unit {
    /// Rows and cost of beginning with it. None: it has to come behind what it reads.
    fn first(&self) -> Option<(f64, f64)> {
        match &self.unique {
            Some(unique) => Some((unique.rows, unique.cost)),
            None => (self.kind == JoinKind::Inner && self.after.is_empty()).then_some((self.rows, self.cost)),
        }
    }
}

/// Takes the conditions that can be tested once the units of `done` are joined; of several that say the same, one.
fn take_due(links: &mut [Link], done: u64) -> Vec<Expr> {
    let is_due = |link: &Link| link.units & !done == 0 && link.condition.is_some();
    let mut due: Vec<usize> = (0..links.len()).filter(|link| is_due(&links[*link])).collect();
    let all = due.clone();
    one_of_each(links, &mut due);
    let conditions = due.iter().filter_map(|link| links[*link].condition.take());
    let conditions = conditions.collect();
    // What else says the same is not asked again.
    all.into_iter().for_each(|link| links[link].condition = None);
    conditions
}

/// Units and links whose orders are compared.
struct Orders<'u> {
    units: &'u [Unit],
    links: &'u [Link],
    /// What is known of adding a unit by some of the links, by their positions: the same for many sets. True: its distinct
    /// keys are added.
    known: HashMap<(usize, bool, Vec<usize>), Pairing>,
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
            units.push(self.unit(position, part, &all, &links)?);
        }
        let mut orders = Orders {
            units: &units,
            links: &links,
            known: HashMap::new(),
            spent: 0,
        };
        let order = self.best_order(&mut orders);
        let mut done = 1u64 << order[0];
        let first = std::mem::replace(&mut units[order[0]].side, Side::Used);
        let mut joined = match units[order[0]].unique.take() {
            Some(unique) => self.unique_side(order[0], first, unique, &mut links)?,
            None => self.alone(first, &[], false)?,
        };
        for position in order.into_iter().skip(1) {
            let unit = &mut units[position];
            let side = std::mem::replace(&mut unit.side, Side::Used);
            let is_there = |item: &u16| joined.items.contains(item);
            let early = !unit.after.iter().all(is_there);
            let (kind, side) = match unit.unique.take() {
                Some(unique) if early => {
                    let side = self.unique_side(position, side, unique, &mut links)?;
                    (JoinKind::Inner, Side::Ready(Box::new(side)))
                }
                _ => (unit.kind, side),
            };
            done |= 1 << position;
            let conditions = take_due(&mut links, done);
            joined = match kind {
                JoinKind::Inner => self.join_pair(kind, joined, side, conditions, unit.lateral)?,
                kind => self.join_late(kind, joined, side, conditions)?,
            };
        }
        Ok(joined)
    }

    /// A part with what it takes to read it alone. `all`: the items that may be on its left.
    fn unit(&mut self, position: usize, part: Part, all: &[u16], links: &[Link]) -> SqlResult<Unit> {
        let Part {
            tree,
            kind,
            items,
            conditions,
            keys,
        } = part;
        let mut after = Vec::new();
        for item in &items {
            let inside = self.items_read_inside(*item).into_iter();
            after.extend(inside.filter(|read| all.contains(read) && !items.contains(read)));
        }
        let lateral = !after.is_empty();
        let side = match kind {
            JoinKind::Inner => self.side(tree, conditions)?,
            _ => {
                let own = links.iter().filter(|link| link.units & (1 << position) != 0);
                for condition in own.filter_map(|link| link.condition.as_ref()) {
                    let read = self.items_read(condition).into_iter();
                    after.extend(read.filter(|read| all.contains(read)));
                }
                self.late_side(tree, conditions)?
            }
        };
        let (rows, cost) = self.read_alone(&side);
        let unique = match lateral {
            false => Unique::of(keys, rows, cost, &self.items),
            true => None,
        };
        Ok(Unit {
            kind,
            items,
            after,
            lateral,
            unique,
            side,
            rows,
            cost,
        })
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
        // What it reads is not there yet: its distinct keys may come.
        let early = match unit.after.iter().all(available) {
            true => None,
            false => Some(unit.unique.as_ref()?),
        };
        let after = set | 1 << next;
        let is_linking = |link: &Link| link.units & !after == 0 && link.units & (1 << next) != 0;
        let mut linking: Vec<usize> = (0..links.len())
            .filter(|link| is_linking(&links[*link]))
            .collect();
        one_of_each(links, &mut linking);
        let is_product = linking.is_empty() && !unit.lateral;
        if early.is_some() && is_product {
            return None;
        }
        let (kind, side, own_rows, own_cost) = match early {
            Some(unique) => (JoinKind::Inner, &Side::Used, unique.rows, unique.cost),
            None => (unit.kind, &unit.side, unit.rows, unit.cost),
        };
        let pairing = match order.known.entry((next, early.is_some(), linking)) {
            Entry::Occupied(known) => {
                order.spent += 1;
                known.into_mut()
            }
            Entry::Vacant(place) => {
                let by = place.key().2.iter();
                let conditions: Vec<&Expr> = by.filter_map(|link| links[*link].condition.as_ref()).collect();
                order.spent += PAIRING_STEPS + conditions.len();
                let side = (side, own_rows);
                place.insert(self.pairing(kind, &unit.items, side, &conditions, unit.lateral))
            }
        };
        let (_, rows, added) = pairing.cheapest(kind, rows, own_rows, own_cost);
        // A product without a condition comes last, whatever it costs.
        let penalty = if is_product { 4.0 } else { 1.0 };
        Some((rows, cost + added * penalty))
    }

    /// All units at once; where they are too many, those that are joined, and each EXISTS and IN where it is cheapest then;
    /// where those are too many as well, greedily.
    fn best_order(&self, orders: &mut Orders<'_>) -> Vec<usize> {
        let all: Vec<usize> = (0..orders.units.len()).collect();
        let is_joined = |position: &usize| orders.units[*position].kind == JoinKind::Inner;
        let (joined, late): (Vec<usize>, Vec<usize>) = all.iter().partition(|position| is_joined(position));
        if let Some(order) = self.exhaustive_order(orders, &all) {
            return order;
        }
        // Each of the next two may take half of what the first took, at most: planning has an end.
        orders.spent = COMPARED_MAX / 2;
        if !late.is_empty()
            && let Some(mut order) = self.exhaustive_order(orders, &joined)
        {
            orders.spent = COMPARED_MAX / 2;
            late.into_iter()
                .for_each(|unit| self.place(orders, &mut order, unit));
            return order;
        }
        self.greedy_order(orders)
    }

    /// Puts an EXISTS or IN at its cheapest place, or at its first where too many places were compared.
    fn place(&self, orders: &mut Orders<'_>, order: &mut Vec<usize>, unit: usize) {
        let mut cheapest: Option<(usize, f64)> = None;
        for place in 0..=order.len() {
            order.insert(place, unit);
            let cost = self.cost_of(orders, order);
            order.remove(place);
            if let Some(cost) = cost
                && cheapest.is_none_or(|(_, known)| cost < known)
            {
                cheapest = Some((place, cost));
            }
            if cheapest.is_some() && orders.spent > COMPARED_MAX {
                break;
            }
        }
        // Behind all that it may read there is a place always.
        let place = cheapest.map_or(order.len(), |(place, _)| place);
        order.insert(place, unit);
    }

    /// None: a unit stands before what it reads.
    fn cost_of(&self, orders: &mut Orders<'_>, order: &[usize]) -> Option<f64> {
        let (mut rows, mut cost) = orders.units[order[0]].first()?;
        let mut set = 1u64 << order[0];
        for next in &order[1..] {
            (rows, cost) = self.extend(orders, set, rows, cost, *next)?;
            set |= 1 << next;
        }
        Some(cost)
    }

    /// The best order of the units at `members`. None where they or their orders are too many to compare: of many units that
    /// are all linked with each other.
    fn exhaustive_order(&self, orders: &mut Orders<'_>, members: &[usize]) -> Option<Vec<usize>> {
        let Orders { units, links, .. } = *orders;
        let count = members.len();
        if count > EXHAUSTIVE_UNITS {
            return None;
        }
        // A set of members, as a set of units.
        let of_units = |chosen: u64| {
            let chosen = (0..count).filter(|member| chosen & (1 << member) != 0);
            chosen.fold(0u64, |set, member| set | 1 << members[member])
        };
        // For each set of members: (rows, cost, the member added last).
        let mut best: Vec<Option<(f64, f64, usize)>> = vec![None; 1 << count];
        for (member, position) in members.iter().enumerate() {
            best[1 << member] = units[*position].first().map(|(rows, cost)| (rows, cost, member));
        }
        for chosen in 1u64..1 << count {
            let Some((rows, cost, _)) = best[chosen as usize] else {
                continue;
            };
            let set = of_units(chosen);
            let linked = |next: usize| {
                links
                    .iter()
                    .any(|link| link.units & (1 << next) != 0 && link.units & set != 0)
                    || !units[next].after.is_empty()
            };
            let mut reach = |wanted: bool| -> Option<Vec<(usize, f64, f64)>> {
                let mut reached = Vec::new();
                let outside = (0..count).filter(|member| chosen & (1 << member) == 0);
                for member in outside.filter(|member| linked(members[*member]) == wanted) {
                    if orders.spent > COMPARED_MAX {
                        return None;
                    }
                    let extended = self.extend(orders, set, rows, cost, members[member]);
                    reached.extend(extended.map(|(rows, cost)| (member, rows, cost)));
                }
                Some(reached)
            };
            let mut reached = reach(true)?;
            // Only what can come next counts: a LATERAL unit may wait for another one that nothing links.
            if reached.is_empty() {
                reached = reach(false)?;
            }
            for (member, rows, cost) in reached {
                let slot = &mut best[(chosen | 1 << member) as usize];
                if slot.is_none_or(|known| cost < known.1) {
                    *slot = Some((rows, cost, member));
                }
            }
        }
        let mut order = Vec::with_capacity(count);
        let mut chosen = (1u64 << count) - 1;
        while let Some((_, _, last)) = best[chosen as usize] {
            order.push(members[last]);
            chosen &= !(1 << last);
        }
        order.reverse();
        Some(order)
    }

    fn greedy_order(&self, orders: &mut Orders<'_>) -> Vec<usize> {
        let Orders { units, links, .. } = *orders;
        let startable = (0..units.len()).filter_map(|position| Some((position, units[position].first()?)));
        let least = startable.min_by(|(_, one), (_, other)| one.0.total_cmp(&other.0));
        let (first, (mut rows, mut cost)) = least.unwrap_or((0, (units[0].rows, units[0].cost)));
        let mut order = vec![first];
        let mut set = 1u64 << first;
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
