//! Access paths of one base relation: which index, bound by what, in which order.
//!
//! What a condition says about a key is found out in `binding`. Equality binds a prefix of the keys; the key behind it may be
//! bounded; what is left is a filter. An OR can be read by several indexes (`union`).
//! Leaves out: joins, which ask again with the outer side's columns as values (`join`).

use mote_types::ColumnType;
use mote_types::key::Fit;

use super::Planner;
use super::access::Access;
use super::binding::{Binding, column_of, over_item};
use super::estimate::{
    DESCENT_COST, FETCH_COST, all_hold, index_rows, known, prefix_rows, scan_cost, table_rows,
};
use crate::plan::node::{AnyOf, IndexBound, IndexEquality, Pattern};
use mote_sql::builtin::operator::Comparison;
use mote_sql::catalog::{IndexDescription, IndexKey, IndexKeyTarget, Relation};
use mote_sql::expr::implication::implied;
use mote_sql::expr::{Expr, RowOperator, SortKey};

/// The part of the keys that begins as a pattern does, as long as nothing is known of either.
const PREFIX_PART: f64 = 0.1;

/// Elements of an array, as long as nothing is known of it.
const ARRAY_ELEMENTS: f64 = 10.0;

/// What conditions bind of an index.
#[derive(Default)]
struct BoundKeys {
    equals: Vec<IndexEquality>,
    /// Each of `equals` is one value.
    by_values: bool,
    /// How many elements a list among `equals` has: each is looked for by itself.
    fan_out: Option<f64>,
    lower: Option<IndexBound>,
    upper: Option<IndexBound>,
    prefix_of: Option<Pattern>,
    used: Vec<usize>,
    /// Positions of conditions that bound the scan and are looked at again for each row.
    near: Vec<usize>,
}

impl BoundKeys {
    /// Some key is bound.
    fn binds(&self) -> bool {
        !self.equals.is_empty() || self.lower.is_some() || self.upper.is_some() || self.prefix_of.is_some()
    }

    /// Takes a bound that the condition at `slot` gives, where there is none yet.
    fn take(&mut self, slot: usize, limit: IndexBound, is_lower: bool, is_upper: bool, fit: Fit) {
        let mut taken = false;
        for (side, wanted) in [(&mut self.lower, is_lower), (&mut self.upper, is_upper)] {
            if wanted && side.is_none() {
                *side = Some(limit.clone());
                taken = true;
            }
        }
        match fit {
            Fit::Exact if taken => self.used.push(slot),
            Fit::Near if taken => self.near.push(slot),
            _ => {}
        }
    }

    /// How many of the `held` rows of the index a scan visits.
    fn visited_rows(&self, index: &IndexDescription, held: f64) -> f64 {
        let mut visited = match self.equals.len() {
            0 => held,
            bound => prefix_rows(held, index, bound) * self.fan_out.unwrap_or(1.0),
        };
        for _ in [&self.lower, &self.upper].into_iter().flatten() {
            visited *= 1.0 / 3.0;
        }
        if self.prefix_of.is_some() {
            visited *= PREFIX_PART;
        }
        visited
    }
}

impl Planner<'_> {
    /// The best way to read `item` under these conditions; `sort` is an order that would be welcome.
    pub(super) fn best_access(
        &self,
        item: u16,
        relation: &Relation,
        conditions: &[&Expr],
        sort: &[SortKey],
        limited: bool,
    ) -> Access {
        let rows = table_rows(relation);
        let all = all_hold(conditions.iter().copied(), &self.items);
        let output = (rows * all).max(1.0);
        let mut best = Access {
            index: None,
            union: None,
            equals: Vec::new(),
            lower: None,
            upper: None,
            prefix_of: None,
            backward: false,
            single_row: false,
            used: Vec::new(),
            rows: output,
            cost: scan_cost(relation) + sort_cost(sort, output),
            ordered: false,
        };
        let by_index = self.best_index_access(item, relation, conditions, sort, limited);
        let by_union = self.union_access(item, relation, conditions, output);
        let by_union = by_union.map(|access| Access {
            cost: access.cost + sort_cost(sort, output),
            ..access
        });
        for access in by_index.into_iter().chain(by_union) {
            if access.cost < best.cost {
                best = access;
            }
        }
        best
    }

    /// The best way through one index, a sort that it leaves to do included.
    pub(super) fn best_index_access(
        &self,
        item: u16,
        relation: &Relation,
        conditions: &[&Expr],
        sort: &[SortKey],
        limited: bool,
    ) -> Option<Access> {
        let mut best: Option<Access> = None;
        for (position, index) in relation.indexes.iter().enumerate() {
            if !index.valid {
                continue;
            }
            self.note_hidden(index, item, conditions);
            if !self.predicate_implied(index, item, conditions) {
                continue;
            }
            let found = self.index_access(item, relation, position as u16, conditions, sort, limited);
            let Some(mut access) = found else {
                continue;
            };
            if !access.ordered {
                access.cost += sort_cost(sort, access.rows);
            }
            if best.as_ref().is_none_or(|known| access.cost < known.cost) {
                best = Some(access);
            }
        }
        best
    }

    /// The scan of one index; None: it would be one of the whole table, in no wanted order.
    fn index_access(
        &self,
        item: u16,
        relation: &Relation,
        position: u16,
        conditions: &[&Expr],
        sort: &[SortKey],
        limited: bool,
    ) -> Option<Access> {
        let index = &relation.indexes[position as usize];
        let bound = self.bind_keys(item, index, conditions)?;
        let keys = bound.equals.len();
        let single_row = index.unique && index.immediate && bound.by_values && keys == index.keys.len();
        let (ordered, backward) = match bound.fan_out.is_some() || !index.method.abilities().ordered {
            true => (false, false),
            false => self.index_order(item, index, keys, single_row, sort),
        };
        let ordered = ordered && !sort.is_empty();
        // A predicate alone makes a partial index worth reading.
        if !bound.binds() && !ordered && index.predicate.is_none() {
            return None;
        }
        let held = index_rows(relation, index, &self.items);
        let visited = match self.is_analyzed(item, index, &bound) && !single_row {
            true => {
                let bounding = bound.used.iter().chain(&bound.near);
                held * all_hold(bounding.map(|slot| conditions[*slot]), &self.items)
            }
            false => bound.visited_rows(index, held),
        };
        let is_rest = |slot: &usize| {
            !bound.used.contains(slot)
                && !bound.near.contains(slot)
                && !self.is_in_predicate(index, item, conditions[*slot])
        };
        let rest = (0..conditions.len()).filter(is_rest);
        let rest = all_hold(rest.map(|slot| conditions[slot]), &self.items);
        let rows = if single_row {
            1.0
        } else {
            (visited * rest).max(1.0)
        };
        let descents = bound.fan_out.unwrap_or(1.0);
        let mut cost = DESCENT_COST * descents + visited.max(1.0) * FETCH_COST;
        // With LIMIT an ordered scan stops early.
        if ordered && limited && !single_row {
            cost = DESCENT_COST + (visited * FETCH_COST).min(100.0 / rest.max(0.001));
        }
        Some(Access {
            index: Some(position),
            union: None,
            equals: bound.equals,
            lower: bound.lower,
            upper: bound.upper,
            prefix_of: bound.prefix_of,
            backward,
            single_row,
            used: bound.used,
            rows,
            cost,
            ordered,
        })
    }

    /// There are statistics of every key column that is bound.
    fn is_analyzed(&self, item: u16, index: &IndexDescription, bound: &BoundKeys) -> bool {
        let ranged = bound.lower.is_some() || bound.upper.is_some() || bound.prefix_of.is_some();
        let keys = &index.keys[..bound.equals.len() + usize::from(ranged)];
        let is_known = |key: &IndexKey| match key.target {
            IndexKeyTarget::Column(column) => known(&column_of(item, column, key.ty), &self.items).is_some(),
            IndexKeyTarget::Expression(..) => false,
        };
        !keys.is_empty() && keys.iter().all(is_known)
    }

    /// What the conditions bind of an index: equality a prefix of its keys, bounds or a pattern the key behind. None: the
    /// index cannot be read so.
    fn bind_keys(&self, item: u16, index: &IndexDescription, conditions: &[&Expr]) -> Option<BoundKeys> {
        let mut bound = BoundKeys {
            by_values: true,
            ..BoundKeys::default()
        };
        for (position, key) in index.keys.iter().enumerate() {
            let Some((slot, equality)) = self.equality(item, index, key, conditions, bound.fan_out.is_some())
            else {
                // Without an order a key is bound by equality or not at all.
                if !index.method.abilities().ordered {
                    return None;
                }
                self.bounds(item, &index.keys[position..], conditions, &mut bound);
                if bound.lower.is_none() && bound.upper.is_none() {
                    self.pattern(item, key, conditions, &mut bound);
                }
                break;
            };
            bound.by_values &= matches!(equality, IndexEquality::Value(_));
            if let IndexEquality::AnyOf(any) = &equality {
                bound.fan_out = Some(match any {
                    AnyOf::List(list) => list.len() as f64,
                    AnyOf::Array(_) => ARRAY_ELEMENTS,
                });
            }
            bound.used.push(slot);
            bound.equals.push(equality);
        }
        Some(bound)
    }

    /// The condition that binds a key by equality: best to one value, else to NULL or to the elements of a list, which
    /// only one key of a scan may be (`listed`).
    fn equality(
        &self,
        item: u16,
        index: &IndexDescription,
        key: &IndexKey,
        conditions: &[&Expr],
        listed: bool,
    ) -> Option<(usize, IndexEquality)> {
        let nulls = index.method.abilities().nulls;
        let mut found = None;
        for (slot, condition) in conditions.iter().enumerate() {
            match self.binding(condition, item, key) {
                Some(Binding::Equal(value)) => return Some((slot, IndexEquality::Value(value))),
                Some(Binding::IsNull) if found.is_none() && nulls => {
                    found = Some((slot, IndexEquality::IsNull));
                }
                Some(Binding::Any(list)) if found.is_none() && !listed => {
                    found = Some((slot, IndexEquality::AnyOf(list)));
                }
                _ => {}
            }
        }
        found
    }

    /// A pattern that the key behind the equal ones must match; which of those that begin so match, is looked at again.
    fn pattern(&self, item: u16, key: &IndexKey, conditions: &[&Expr], bound: &mut BoundKeys) {
        for (slot, condition) in conditions.iter().enumerate() {
            if let Some(Binding::Prefix(pattern)) = self.binding(condition, item, key) {
                bound.prefix_of = Some(pattern);
                bound.near.push(slot);
                return;
            }
        }
    }

    /// Bounds on the first of `keys`, which stand behind the equal ones, in terms of values (whatever the key's direction).
    fn bounds(&self, item: u16, keys: &[IndexKey], conditions: &[&Expr], bound: &mut BoundKeys) {
        let Some(key) = keys.first() else { return };
        for (slot, condition) in conditions.iter().enumerate() {
            if let Expr::RowComparison { .. } = condition {
                if let Some((is_lower, limit)) = self.row_bound(item, keys, condition) {
                    bound.take(slot, limit, is_lower, !is_lower, Fit::Near);
                }
                continue;
            }
            let Some(Binding::Bound(comparison, value, fit)) = self.binding(condition, item, key) else {
                continue;
            };
            let (is_lower, is_upper, inclusive) = match comparison {
                Comparison::Greater => (true, false, false),
                Comparison::GreaterOrEqual => (true, false, true),
                Comparison::Less => (false, true, false),
                Comparison::LessOrEqual => (false, true, true),
                // Of a near value: between the keys that lie near it.
                Comparison::Equal => (true, true, true),
                Comparison::NotEqual => continue,
            };
            let limit = IndexBound {
                value,
                further: Vec::new(),
                inclusive,
            };
            bound.take(slot, limit, is_lower, is_upper, fit);
        }
    }

    /// What `(a, b) > (1, 2)` says of the first of `keys`, and of those behind it that it compares in the same order; true: it is
    /// a lower bound. Rows with a null among the compared columns lie within it, so the condition is looked at again.
    fn row_bound(&self, item: u16, keys: &[IndexKey], condition: &Expr) -> Option<(bool, IndexBound)> {
        let Expr::RowComparison {
            operator,
            left,
            right,
            less,
            ..
        } = condition
        else {
            return None;
        };
        let (is_greater, or_equal) = match operator {
            RowOperator::Less => (false, false),
            RowOperator::LessOrEqual => (false, true),
            RowOperator::Greater => (true, false),
            RowOperator::GreaterOrEqual => (true, true),
            RowOperator::Equal | RowOperator::NotEqual => return None,
        };
        let mut values = Vec::new();
        let mut swapped = None;
        for (number, (left, right)) in left.iter().zip(right).enumerate() {
            let Some(key) = keys.get(number) else { break };
            if key.descending != keys[0].descending {
                break;
            }
            let smaller = Expr::Call {
                function: less[number],
                arguments: vec![left.clone(), right.clone()],
                variadic: false,
                ty: ColumnType::BOOL,
                location: -1,
            };
            let Some(Binding::Bound(comparison, value, Fit::Exact)) = self.binding(&smaller, item, key)
            else {
                break;
            };
            // `1 < a` is asked as `a > 1`: all pairs must stand the same way round.
            let is_swapped = comparison == Comparison::Greater;
            if swapped.is_some_and(|known| known != is_swapped) {
                break;
            }
            swapped = Some(is_swapped);
            values.push(value);
        }
        let is_lower = is_greater != swapped?;
        let inclusive = or_equal || values.len() < left.len();
        let mut values = values.into_iter();
        let value = values.next()?;
        let limit = IndexBound {
            value,
            further: values.collect(),
            inclusive,
        };
        Some((is_lower, limit))
    }

    /// Does the index yield the wanted order behind `bound` equal keys, and in which direction?
    fn index_order(
        &self,
        item: u16,
        index: &IndexDescription,
        bound: usize,
        single_row: bool,
        sort: &[SortKey],
    ) -> (bool, bool) {
        if single_row || sort.is_empty() {
            return (true, false);
        }
        let mut backward = None;
        let mut key = bound;
        for wanted in sort {
            // A column bound by equality has one value: any order will do.
            if index.keys[..bound]
                .iter()
                .any(|key| self.is_key(&wanted.expr, item, key))
            {
                continue;
            }
            let Some(next) = index.keys.get(key) else {
                return (false, false);
            };
            if !self.is_key(&wanted.expr, item, next) {
                return (false, false);
            }
            let reversed = next.descending != wanted.descending;
            let nulls = next.nulls_first != wanted.nulls_first;
            if reversed != nulls || backward.is_some_and(|known| known != reversed) {
                return (false, false);
            }
            backward = Some(reversed);
            key += 1;
        }
        (true, backward.unwrap_or(false))
    }

    /// The index on which `column` is the first key behind keys bound by equality: for min and max.
    pub(super) fn extremum_access(
        &self,
        item: u16,
        relation: &Relation,
        conditions: &[&Expr],
        sort: &SortKey,
    ) -> Option<Access> {
        let mut best: Option<Access> = None;
        for (position, index) in relation.indexes.iter().enumerate() {
            if !index.valid {
                continue;
            }
            self.note_hidden(index, item, conditions);
            if !self.predicate_implied(index, item, conditions) {
                continue;
            }
            let sort = std::slice::from_ref(sort);
            let Some(access) = self.index_access(item, relation, position as u16, conditions, sort, true)
            else {
                continue;
            };
            let better = best
                .as_ref()
                .is_none_or(|known| access.equals.len() > known.equals.len());
            if access.ordered && better {
                best = Some(access);
            }
        }
        best
    }

    /// A partial index serves if its predicate follows from the conditions.
    fn predicate_implied(&self, index: &IndexDescription, item: u16, conditions: &[&Expr]) -> bool {
        match &index.predicate {
            None => true,
            Some((_, predicate)) => implied(&over_item(predicate, item), conditions),
        }
    }

    /// Do all rows of the index satisfy the condition?
    fn is_in_predicate(&self, index: &IndexDescription, item: u16, condition: &Expr) -> bool {
        index
            .predicate
            .as_ref()
            .is_some_and(|(_, predicate)| implied(condition, &[&over_item(predicate, item)]))
    }
}

/// Of sorting rows into a wanted order.
fn sort_cost(sort: &[SortKey], rows: f64) -> f64 {
    match sort.is_empty() {
        true => 0.0,
        false => rows * (rows + 1.0).log2() * 0.2,
    }
}
