//! Access paths of one base relation: which index, bound by what, in which order.
//!
//! A condition can bind an index key if one side is the key's column (or its expression), as it is or in a wider type, and
//! the other does not read the relation. The value may be of another type than the key: what it says of the keys is found out
//! when the scan opens (`mote_types::key::place`), and only which types fit is decided here. Equality binds a prefix of the keys; the key behind it may be bounded; what is left is a filter.
//! Leaves out: joins, which ask again with the outer side's columns as values (`join`).

use mote_types::catalog::range::{is_multirange, is_range};
use mote_types::catalog::user::is_enum;
use mote_types::key::{Fit, fit, widens};
use mote_types::pattern::like_prefix;
use mote_types::{ColumnType, Datum, oid};

use super::Planner;
use super::estimate::{
    DESCENT_COST, FETCH_COST, all_hold, index_rows, known, prefix_rows, scan_cost, table_rows,
};
use crate::plan::node::{AnyOf, IndexBound, IndexEquality};
use mote_sql::bind::query::FIRST_SYSTEM_COLUMN;
use mote_sql::builtin::operator::{Comparison, comparison_of};
use mote_sql::catalog::{IndexDescription, IndexKey, IndexKeyTarget, Relation};
use mote_sql::expr::implication::implied;
use mote_sql::expr::{Expr, SortKey};

/// The part of the keys that begins as a LIKE pattern does, as long as nothing is known of either.
const PREFIX_PART: f64 = 0.1;

/// Elements of an array, as long as nothing is known of it.
const ARRAY_ELEMENTS: f64 = 10.0;

/// A way to read a base relation.
#[derive(Clone)]
pub(super) struct Access {
    /// None: sequential.
    pub index: Option<u16>,
    pub equals: Vec<IndexEquality>,
    pub lower: Option<IndexBound>,
    pub upper: Option<IndexBound>,
    pub prefix_of: Option<Expr>,
    pub backward: bool,
    pub single_row: bool,
    /// Positions of the conditions that the index decides.
    pub used: Vec<usize>,
    /// Rows after all given conditions, and the cost of getting them.
    pub rows: f64,
    pub cost: f64,
    /// The wanted order comes for free.
    pub ordered: bool,
}

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
    prefix_of: Option<Expr>,
    used: Vec<usize>,
}

impl BoundKeys {
    /// Some key is bound.
    fn binds(&self) -> bool {
        !self.equals.is_empty() || self.lower.is_some() || self.upper.is_some() || self.prefix_of.is_some()
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

/// What a condition says about one key.
pub(super) enum Binding {
    Equal(Expr),
    IsNull,
    Any(AnyOf),
    /// The value's type fits the key's: a near one leaves the condition to be looked at.
    Bound(Comparison, Expr, Fit),
    /// LIKE this pattern.
    Like(Expr),
}

fn is_text_family(ty: oid::Oid) -> bool {
    matches!(ty, oid::TEXT | oid::VARCHAR | oid::NAME)
}

/// Matches of such a pattern can begin with anything.
fn begins_with_wildcard(pattern: &Expr) -> bool {
    match pattern {
        Expr::Constant(Datum::Text(pattern), _) => like_prefix(pattern).is_empty(),
        _ => false,
    }
}

/// The comparison must be that of the type which the key is compared in, not of one that it was turned into on the way.
fn is_own(declared: oid::Oid, side: oid::Oid) -> bool {
    declared == side
        || (is_text_family(declared) && is_text_family(side))
        || (declared == oid::ANYARRAY && ColumnType::new(side).is_array())
        || (declared == oid::ANYENUM && is_enum(side))
        || (declared == oid::ANYRANGE && is_range(side))
        || (declared == oid::ANYMULTIRANGE && is_multirange(side))
        || (declared == oid::OID && mote_types::catalog::is_oid_like(side))
}

impl Planner<'_> {
    /// Does the expression read this item, itself or through a sub-query?
    fn reads(&self, expr: &Expr, item: u16) -> bool {
        expr.any(&mut |inner| match inner {
            Expr::Variable { relation, .. } => *relation == item,
            Expr::SubPlan(call) => self.subquery_reads[call.plan as usize].contains(&item),
            _ => false,
        })
    }

    /// Is this expression the index key?
    pub(super) fn is_key(&self, expr: &Expr, item: u16, key: &IndexKey) -> bool {
        match (&key.target, expr) {
            (
                IndexKeyTarget::Column(column),
                Expr::Variable {
                    relation, column: c, ..
                },
            ) => *relation == item && c == column,
            (IndexKeyTarget::Expression(_, stored), _) => {
                !matches!(expr, Expr::Variable { .. } | Expr::Constant(..))
                    && over_item(stored, item).same(expr)
            }
            _ => false,
        }
    }

    /// The type in which this side of a comparison has the index key: its own or a wider one. None: it is something else.
    fn key_side(&self, side: &Expr, item: u16, key: &IndexKey) -> Option<oid::Oid> {
        if self.is_key(side, item, key) {
            return Some(key.ty.oid);
        }
        match side {
            Expr::Cast { argument, ty, .. } if ty.typmod == -1 && self.is_key(argument, item, key) => {
                widens(key.ty.oid, ty.oid).then_some(ty.oid)
            }
            _ => None,
        }
    }

    pub(super) fn binding(&self, condition: &Expr, item: u16, key: &IndexKey) -> Option<Binding> {
        match condition {
            Expr::Call {
                function, arguments, ..
            } => {
                let [left, right] = arguments.as_slice() else {
                    return None;
                };
                if let "textlike" | "namelike" = function.signature().body {
                    let is_usable = is_text_family(self.key_side(left, item, key)?)
                        && !self.reads(right, item)
                        && !self.is_unstable(right)
                        && !begins_with_wildcard(right);
                    return is_usable.then(|| Binding::Like(right.clone()));
                }
                let (comparison, operator) = comparison_of(*function)?;
                let (comparison, value, side, declared) = match self.key_side(left, item, key) {
                    Some(side) if !self.reads(right, item) => (comparison, right, side, operator.left),
                    _ => {
                        let side = self.key_side(right, item, key)?;
                        if self.reads(left, item) {
                            return None;
                        }
                        (comparison.commuted(), left, side, operator.right)
                    }
                };
                if !is_own(declared, side) || self.is_unstable(value) {
                    return None;
                }
                let fit = fit(value.ty().oid, key.ty.oid)?;
                match comparison {
                    Comparison::Equal => (fit == Fit::Exact).then(|| Binding::Equal(value.clone())),
                    Comparison::NotEqual => None,
                    other => Some(Binding::Bound(other, value.clone(), fit)),
                }
            }
            Expr::IsNull(argument) if self.is_key(argument, item, key) => Some(Binding::IsNull),
            Expr::InList {
                argument,
                list,
                negated: false,
                ..
            } if self.key_side(argument, item, key).is_some() => {
                let is_usable = |value: &Expr| {
                    fit(value.ty().oid, key.ty.oid) == Some(Fit::Exact)
                        && !self.reads(value, item)
                        && !self.is_unstable(value)
                };
                list.iter()
                    .all(is_usable)
                    .then(|| Binding::Any(AnyOf::List(list.clone())))
            }
            Expr::ArrayComparison {
                function,
                argument,
                array,
                all: false,
            } if self.key_side(argument, item, key).is_some()
                && !self.reads(array, item)
                && !self.is_unstable(array) =>
            {
                let (comparison, _) = comparison_of(*function)?;
                let fit = fit(array.ty().element()?.oid, key.ty.oid)?;
                let usable = fit == Fit::Exact && comparison == Comparison::Equal;
                usable.then(|| Binding::Any(AnyOf::Array((**array).clone())))
            }
            _ => None,
        }
    }

    /// Values that change from row to row cannot be looked up once.
    fn is_unstable(&self, value: &Expr) -> bool {
        value.is_volatile()
    }

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
        let sort_cost = |rows: f64| {
            if sort.is_empty() {
                0.0
            } else {
                rows * (rows + 1.0).log2() * 0.2
            }
        };
        let mut best = Access {
            index: None,
            equals: Vec::new(),
            lower: None,
            upper: None,
            prefix_of: None,
            backward: false,
            single_row: false,
            used: Vec::new(),
            rows: output,
            cost: scan_cost(relation) + sort_cost(output),
            ordered: false,
        };
        for (position, index) in relation.indexes.iter().enumerate() {
            if !index.valid {
                continue;
            }
            self.note_hidden(index, item, conditions);
            if !self.predicate_implied(index, item, conditions) {
                continue;
            }
            if let Some(access) =
                self.index_access(item, relation, position as u16, conditions, sort, limited)
            {
                let mut access = access;
                if !access.ordered {
                    access.cost += sort_cost(access.rows);
                }
                if access.cost < best.cost {
                    best = access;
                }
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
            true => held * all_hold(bound.used.iter().map(|slot| conditions[*slot]), &self.items),
            false => bound.visited_rows(index, held),
        };
        let is_rest = |slot: &usize| {
            !bound.used.contains(slot) && !self.is_in_predicate(index, item, conditions[*slot])
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
        for key in &index.keys {
            let Some((slot, equality)) = self.equality(item, index, key, conditions, bound.fan_out.is_some())
            else {
                // Without an order a key is bound by equality or not at all.
                if !index.method.abilities().ordered {
                    return None;
                }
                (bound.lower, bound.upper) = self.bounds(item, key, conditions, &mut bound.used);
                if bound.lower.is_none() && bound.upper.is_none() {
                    bound.prefix_of = self.pattern(item, key, conditions);
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

    /// A pattern that the key behind the equal ones must be LIKE.
    fn pattern(&self, item: u16, key: &IndexKey, conditions: &[&Expr]) -> Option<Expr> {
        conditions
            .iter()
            .find_map(|condition| match self.binding(condition, item, key)? {
                Binding::Like(pattern) => Some(pattern),
                _ => None,
            })
    }

    /// Bounds on the key behind the equal ones, in terms of values (whatever the key's direction).
    fn bounds(
        &self,
        item: u16,
        key: &IndexKey,
        conditions: &[&Expr],
        used: &mut Vec<usize>,
    ) -> (Option<IndexBound>, Option<IndexBound>) {
        let (mut lower, mut upper) = (None, None);
        for (slot, condition) in conditions.iter().enumerate() {
            let Some(Binding::Bound(comparison, value, fit)) = self.binding(condition, item, key) else {
                continue;
            };
            let (side, inclusive) = match comparison {
                Comparison::Greater => (&mut lower, false),
                Comparison::GreaterOrEqual => (&mut lower, true),
                Comparison::Less => (&mut upper, false),
                Comparison::LessOrEqual => (&mut upper, true),
                Comparison::Equal | Comparison::NotEqual => continue,
            };
            if side.is_none() {
                *side = Some(IndexBound { value, inclusive });
                if fit == Fit::Exact {
                    used.push(slot);
                }
            }
        }
        (lower, upper)
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

/// A stored expression over the relation's row as one over the item's variables.
fn over_item(stored: &Expr, item: u16) -> Expr {
    let mut expr = stored.clone();
    expr.rewrite(&mut |inner| match inner {
        Expr::Column { index, ty } if *index < FIRST_SYSTEM_COLUMN => Some(column_of(item, *index, *ty)),
        _ => None,
    });
    expr
}

fn column_of(item: u16, column: u16, ty: ColumnType) -> Expr {
    Expr::Variable {
        relation: item,
        column,
        ty,
        location: -1,
    }
}
