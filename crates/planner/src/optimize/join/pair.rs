//! Two sides joined: by looking the right one up in an index, by hashing one of them, or by a nested loop.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::{ColumnType, oid};

use super::{Method, Side, joined_items, keeps_left_only};
use crate::optimize::access::Access;
use crate::optimize::append::MemberAccesses;
use crate::optimize::estimate::{HASH_BUILD_COST, HASH_PROBE_COST, all_hold, matched};
use crate::optimize::{Joined, Planner, Slot};
use crate::plan::node::{Expected, HashJoin, JoinKind, NestedLoop, Node};
use mote_sql::bind::query::ItemKind;
use mote_sql::builtin::operator::{Comparison, comparison_of};
use mote_sql::expr::Expr;

/// What joining with a side by some conditions comes to.
pub(super) struct Pairing {
    /// Of all pairs of rows; for joins that keep the left side alone, of its rows.
    part: f64,
    hashable: bool,
    /// Code makes the right side's rows, of whose values nobody knows how many there are.
    made: bool,
    /// Looks rows up by values from the left.
    lookup: Option<Access>,
    member_lookup: Option<MemberAccesses>,
}

/// How two sides are joined.
pub(super) enum Way {
    Loop,
    Hash { build_left: bool },
    Lookup,
    MemberLookup,
}

impl Pairing {
    /// With so many rows on the left and on the right: (way, rows, added cost).
    pub(super) fn cheapest(
        &self,
        kind: JoinKind,
        left_rows: f64,
        right_rows: f64,
        right_cost: f64,
    ) -> (Way, f64, f64) {
        let both = (left_rows * right_rows * self.part).max(1.0);
        let mut rows = match kind {
            JoinKind::Semi => (left_rows * self.part).max(1.0),
            JoinKind::Anti => (left_rows * (1.0 - self.part)).max(1.0),
            JoinKind::Left => both.max(left_rows),
            JoinKind::Right | JoinKind::Full => both.max(left_rows).max(right_rows),
            JoinKind::Inner => both,
        };
        // One row on the left is seldom more than a guess there, and a table for it costs next to nothing.
        let runs = match self.made && self.hashable {
            true => left_rows.max(2.0),
            false => left_rows,
        };
        let mut best = (Way::Loop, runs * right_cost.max(0.1) + rows * 0.1);
        if self.hashable {
            let build_left = kind == JoinKind::Inner && left_rows < right_rows;
            let (build, probe) = if build_left {
                (left_rows, right_rows)
            } else {
                (right_rows, left_rows)
            };
            let cost = right_cost + build * HASH_BUILD_COST + probe * HASH_PROBE_COST;
            if cost < best.1 || kind == JoinKind::Full {
                best = (Way::Hash { build_left }, cost);
            }
        }
        if let Some(access) = &self.lookup {
            let cost = left_rows * access.cost;
            if access.single_row && kind == JoinKind::Inner {
                rows = rows.min(left_rows.max(1.0));
            }
            if cost < best.1 {
                best = (Way::Lookup, cost);
            }
        }
        if let Some(members) = &self.member_lookup {
            let cost = left_rows * members.cost;
            if cost < best.1 {
                best = (Way::MemberLookup, cost);
            }
        }
        (best.0, rows, best.1)
    }
}

impl Access {
    /// Of the conditions that a lookup was chosen for, those of the table and those of the join: (the access, what is tested
    /// with it, what the index does not decide and is tested on the joined row).
    fn shared_out(self, own: Vec<Expr>, joining: Vec<Expr>) -> (Access, Vec<Expr>, Vec<Expr>) {
        let known = own.len();
        let (mut given, mut rest, mut used) = (own, Vec::new(), Vec::new());
        for (position, condition) in joining.into_iter().enumerate() {
            if self.used.contains(&(known + position)) {
                used.push(given.len());
                given.push(condition);
            } else {
                rest.push(condition);
            }
        }
        used.extend(self.used.iter().filter(|position| **position < known));
        (Access { used, ..self }, given, rest)
    }
}

impl Planner<'_> {
    /// What can be said of joining with a side by these conditions, whatever the rows on the left.
    pub(super) fn pairing(
        &self,
        kind: JoinKind,
        right_items: &[u16],
        right: (&Side, f64),
        conditions: &[&Expr],
        lateral: bool,
    ) -> Pairing {
        let (side, right_rows) = right;
        let hashable = conditions
            .iter()
            .any(|condition| hash_key(condition, right_items).is_some());
        // FULL JOIN ON TRUE or FALSE: one chain of all rows.
        let constant = |condition: &&Expr| matches!(condition, Expr::Constant(..));
        let unconditional = kind == JoinKind::Full && conditions.iter().all(constant);
        let part = match keeps_left_only(kind) {
            true => matched(conditions, right_items, right_rows, &self.items),
            false => self.part_left(conditions, all_hold(conditions.iter().copied(), &self.items)),
        };
        let mut pairing = Pairing {
            part,
            hashable: (hashable || unconditional) && !lateral,
            made: right_items.iter().any(|item| self.is_made(*item)),
            lookup: None,
            member_lookup: None,
        };
        match side {
            _ if matches!(kind, JoinKind::Right | JoinKind::Full) => {}
            Side::Base {
                item,
                relation,
                conditions: own,
            } => {
                let all: Vec<&Expr> = own.iter().chain(conditions.iter().copied()).collect();
                let access = self.best_access(*item, relation, &all, &[], false);
                let uses_outer = access.used.iter().any(|position| *position >= own.len());
                pairing.lookup = uses_outer.then_some(access);
            }
            Side::Parent {
                item,
                expansion,
                conditions: own,
            } => {
                let all: Vec<&Expr> = own.iter().chain(conditions.iter().copied()).collect();
                let members = self.member_accesses(*item, expansion, &all, &[], false);
                pairing.member_lookup = members.uses_from(own.len()).then_some(members);
            }
            Side::Ready(_) | Side::Used => {}
        }
        pairing
    }

    fn is_made(&self, item: u16) -> bool {
        matches!(&self.items[usize::from(item)].kind, ItemKind::Relation(relation) if !relation.kind.has_rows())
    }

    /// The cheapest way to join `left` with a side: (method, rows, added cost).
    fn method(
        &self,
        kind: JoinKind,
        left: (f64, &[u16]),
        right: (&Side, f64, f64),
        conditions: &[&Expr],
        lateral: bool,
    ) -> (Method, f64, f64) {
        let (left_rows, right_items) = left;
        let (side, right_rows, right_cost) = right;
        let pairing = self.pairing(kind, right_items, (side, right_rows), conditions, lateral);
        let (way, rows, cost) = pairing.cheapest(kind, left_rows, right_rows, right_cost);
        const LOOKED_UP: &str = "a way that was chosen is there";
        let method = match way {
            Way::Loop => Method::Loop,
            Way::Hash { build_left } => Method::Hash { build_left },
            Way::Lookup => Method::Lookup(pairing.lookup.expect(LOOKED_UP)),
            Way::MemberLookup => Method::MemberLookup(pairing.member_lookup.expect(LOOKED_UP)),
        };
        (method, rows, cost)
    }

    /// Joins what has been built with one more side.
    pub(super) fn join_pair(
        &mut self,
        kind: JoinKind,
        left: Joined,
        side: Side,
        conditions: Vec<Expr>,
        lateral: bool,
    ) -> SqlResult<Joined> {
        let right_items = match &side {
            Side::Base { item, .. } | Side::Parent { item, .. } => vec![*item],
            Side::Ready(joined) => joined.items.clone(),
            Side::Used => return Err(SqlError::internal("a unit is joined twice")),
        };
        let (right_rows, right_cost) = self.read_alone(&side);
        let borrowed: Vec<&Expr> = conditions.iter().collect();
        let (method, rows, cost) = self.method(
            kind,
            (left.rows, &right_items),
            (&side, right_rows, right_cost),
            &borrowed,
            lateral,
        );
        let cost = left.cost + cost;
        match method {
            Method::Lookup(access) => {
                let Side::Base {
                    item,
                    relation,
                    conditions: own,
                } = side
                else {
                    return Err(SqlError::internal("only tables are looked up"));
                };
                let (access, given, rest) = access.shared_out(own, conditions);
                let right = self.scan(item, relation, access, given)?;
                self.nested_loop(kind, left, right, rest, rows, cost)
            }
            Method::MemberLookup(members) => {
                let Side::Parent {
                    item,
                    expansion,
                    conditions: own,
                } = side
                else {
                    return Err(SqlError::internal("only parents are looked up table by table"));
                };
                // What one table's index decides another one tests: all conditions go down.
                let given = own.into_iter().chain(conditions).collect();
                let right = self.append(item, &expansion, members, given, &[])?;
                self.nested_loop(kind, left, right, Vec::new(), rows, cost)
            }
            Method::Loop => {
                let right = self.alone(side, &[], false)?;
                self.nested_loop(kind, left, right, conditions, rows, cost)
            }
            Method::Hash { build_left } => {
                let right = self.alone(side, &[], false)?;
                match build_left {
                    true => self.hash_join(kind, right, left, conditions, rows, cost),
                    false => self.hash_join(kind, left, right, conditions, rows, cost),
                }
            }
        }
    }

    pub(in crate::optimize) fn nested_loop(
        &mut self,
        kind: JoinKind,
        left: Joined,
        mut right: Joined,
        conditions: Vec<Expr>,
        rows: f64,
        cost: f64,
    ) -> SqlResult<Joined> {
        if matches!(kind, JoinKind::Right | JoinKind::Full) {
            let message = "FULL JOIN is only supported with merge-joinable or hash-joinable join conditions";
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        }
        let mut bindings = self.bind_free(&mut right.node, &mut |item| left.items.contains(&item));
        for (_, expr) in &mut bindings {
            self.resolve(expr, &left.layout)?;
        }
        let both: Vec<Slot> = left.layout.iter().chain(&right.layout).copied().collect();
        let condition = self.conjunction(conditions, &both)?;
        let (left_width, right_width) = (left.layout.len() as u16, right.layout.len() as u16);
        let layout = if keeps_left_only(kind) { left.layout } else { both };
        let items = joined_items(left.items, right.items);
        let join = NestedLoop {
            kind,
            left: left.node,
            right: right.node,
            bindings,
            condition,
            right_width,
            left_width,
            expected: Expected { rows, cost },
        };
        Ok(Joined {
            node: Node::NestedLoop(Box::new(join)),
            layout,
            items,
            rows,
            cost,
            ordered: left.ordered,
        })
    }

    /// Builds on the right.
    pub(super) fn hash_join(
        &mut self,
        kind: JoinKind,
        left: Joined,
        right: Joined,
        conditions: Vec<Expr>,
        rows: f64,
        cost: f64,
    ) -> SqlResult<Joined> {
        let mut keys = Vec::new();
        let mut rest = Vec::new();
        for condition in conditions {
            match hash_key(&condition, &right.items) {
                Some((mut a, mut b)) => {
                    self.resolve(&mut a, &left.layout)?;
                    self.resolve(&mut b, &right.layout)?;
                    keys.push((a, b));
                }
                None => rest.push(condition),
            }
        }
        let both: Vec<Slot> = left.layout.iter().chain(&right.layout).copied().collect();
        let condition = self.conjunction(rest, &both)?;
        let (left_width, right_width) = (left.layout.len() as u16, right.layout.len() as u16);
        let layout = if keeps_left_only(kind) { left.layout } else { both };
        let items = joined_items(left.items, right.items);
        let join = HashJoin {
            kind,
            left: left.node,
            right: right.node,
            keys,
            condition,
            left_width,
            right_width,
            expected: Expected { rows, cost },
        };
        Ok(Joined {
            node: Node::HashJoin(Box::new(join)),
            layout,
            items,
            rows,
            cost,
            // Rows of the right side without a partner come behind all others.
            ordered: left.ordered && kind != JoinKind::Full,
        })
    }
}

/// Two sides of an equality, with the types that it compares.
pub(super) struct EqualSides<'e> {
    pub left: (&'e Expr, oid::Oid),
    pub right: (&'e Expr, oid::Oid),
}

/// An equality whose one side reads only the right items and the other none of them.
pub(super) fn equal_sides<'e>(condition: &'e Expr, right_items: &[u16]) -> Option<EqualSides<'e>> {
    let Expr::Call {
        function, arguments, ..
    } = condition
    else {
        return None;
    };
    let (Comparison::Equal, operator) = comparison_of(*function)? else {
        return None;
    };
    let [a, b] = arguments.as_slice() else { return None };
    if condition.contains_subplan() {
        return None;
    }
    let sides = |expr: &Expr| {
        let (mut inside, mut outside) = (false, false);
        expr.visit(&mut |inner| {
            if let Expr::Variable { relation, .. } = inner {
                match right_items.contains(relation) {
                    true => inside = true,
                    false => outside = true,
                }
            }
        });
        (inside, outside)
    };
    let ((a_inside, a_outside), (b_inside, b_outside)) = (sides(a), sides(b));
    let (a, b) = ((a, operator.left), (b, operator.right));
    let (left, right) = if b_inside && !b_outside && a_outside && !a_inside {
        (a, b)
    } else if a_inside && !a_outside && b_outside && !b_inside {
        (b, a)
    } else {
        return None;
    };
    Some(EqualSides { left, right })
}

/// An equality that a hash table can find: (left, right) of one type.
fn hash_key(condition: &Expr, right_items: &[u16]) -> Option<(Expr, Expr)> {
    let EqualSides {
        left: (left, left_type),
        right: (right, right_type),
    } = equal_sides(condition, right_items)?;
    if left_type == right_type {
        return Some((left.clone(), right.clone()));
    }
    let integer = |ty: oid::Oid| matches!(ty, oid::INT2 | oid::INT4 | oid::INT8);
    let float = |ty: oid::Oid| matches!(ty, oid::FLOAT4 | oid::FLOAT8);
    let common = match () {
        () if integer(left_type) && integer(right_type) => ColumnType::INT8,
        () if float(left_type) && float(right_type) => ColumnType::FLOAT8,
        () if mote_types::catalog::is_text_like(left_type)
            && mote_types::catalog::is_text_like(right_type) =>
        {
            return Some((left.clone(), right.clone()));
        }
        () => return None,
    };
    let widen = |expr: &Expr, from: oid::Oid| match from == common.oid {
        true => expr.clone(),
        false => Expr::Cast {
            argument: Box::new(expr.clone()),
            from: expr.ty(),
            ty: common,
            explicit: false,
            location: -1,
        },
    };
    Some((widen(left, left_type), widen(right, right_type)))
}
