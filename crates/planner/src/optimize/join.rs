//! Joins: units, their order, and how each pair is joined.
//!
//! Inner joins are flattened into *units* (base relations, derived tables, outer joins) that are ordered by dynamic
//! programming over sets, left-deep, and greedily beyond [`EXHAUSTIVE_UNITS`]. A pair is joined by looking the right
//! side up in an index, by hashing the smaller side, or by a plain nested loop. Semi and anti joins made from EXISTS and IN
//! are units as well: one may come as soon as what it reads is there, so that rows without a partner are not joined with
//! other tables first. Outer joins keep their place: what stands left of them is planned first.
//!
//! Read this file (FROM as a whole), then `late` and `unique` (EXISTS and IN), `source` (one unit), `equivalence`, `order`, `pair`.
//!
//! Source: Selinger et al. (SIGMOD 1979); PostgreSQL's joinrels.c does the same over bushy trees, and geqo beyond a number of tables
//! where this is greedy.

mod equivalence;
mod late;
mod order;
mod pair;
mod source;
mod unique;

pub(super) use unique::is_equal_to_one;

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::Datum;

use crate::optimize::access::Access;
use crate::optimize::append::MemberAccesses;
use crate::optimize::estimate::all_hold;
use crate::optimize::{Joined, Planner, Slot};
use crate::plan::node::{JoinKind, Node};
use mote_sql::bind::query::{FromJoin, FromTree, ItemKind, ROW_MARK};
use mote_sql::catalog::Relation;
use mote_sql::catalog::inheritance::Expansion;
use mote_sql::expr::{Expr, SortKey};

/// Up to here all left-deep orders are compared.
const EXHAUSTIVE_UNITS: usize = 12;
/// But no more steps than these: a step takes some two microseconds, and nobody wants to wait for a plan. A star of twelve
/// tables stays below it, twelve tables that are all linked with each other do not.
const COMPARED_MAX: usize = 40_000;
/// Bits of the set type.
const UNITS_MAX: usize = 64;

/// A unit before it is known how it will be read.
struct Part {
    tree: FromTree,
    /// Inner, or how EXISTS and IN are joined.
    kind: JoinKind,
    items: Vec<u16>,
    /// What concerns it alone.
    conditions: Vec<Expr>,
    /// Of an EXISTS or IN whose rows may be joined by their distinct keys: those.
    keys: Vec<Expr>,
}

impl Part {
    /// An item or a tree of FROM's list.
    fn joined(tree: FromTree) -> Part {
        Part {
            items: mote_sql::bind::items_of(std::slice::from_ref(&tree)),
            kind: JoinKind::Inner,
            tree,
            conditions: Vec::new(),
            keys: Vec::new(),
        }
    }
}

/// Something that is joined as a whole.
struct Unit {
    kind: JoinKind,
    items: Vec<u16>,
    /// Items that must be on the left: LATERAL, and what EXISTS and IN compare with.
    after: Vec<u16>,
    /// What it reads of `after` it reads inside.
    lateral: bool,
    /// Its distinct keys may be joined before what it reads.
    unique: Option<unique::Unique>,
    side: Side,
    rows: f64,
    cost: f64,
}

/// A right side before it is known how it will be read.
enum Side {
    /// A table whose access path depends on what it is joined with; its own conditions.
    Base {
        item: u16,
        relation: Arc<Relation>,
        conditions: Vec<Expr>,
    },
    /// A parent, read through its tables in the same way.
    Parent {
        item: u16,
        expansion: Arc<Expansion>,
        conditions: Vec<Expr>,
    },
    Ready(Box<Joined>),
    /// Already part of the plan.
    Used,
}

/// A condition that links units, with the set of them.
struct Link {
    units: u64,
    /// The class of equal columns that it is of, if one of several that say the same (`equivalence`).
    class: Option<usize>,
    condition: Option<Expr>,
}

/// How two sides are put together, and what that costs.
enum Method {
    Lookup(Access),
    MemberLookup(MemberAccesses),
    Hash { build_left: bool },
    Loop,
}

/// Whether one unit more may be ordered with those of a FROM list.
pub(super) fn has_room(from: &[FromTree]) -> bool {
    late::units(from) < UNITS_MAX
}

impl Planner<'_> {
    /// Plans FROM and WHERE.
    pub(super) fn joins(
        &mut self,
        from: Vec<FromTree>,
        filter: Vec<Expr>,
        sort: &[SortKey],
        limited: bool,
    ) -> SqlResult<Joined> {
        // Semi and anti joins stand at the top of the single tree that the rewrite made.
        let mut from = from;
        let mut late = Vec::new();
        if late::units(&from) <= UNITS_MAX {
            late::take(&mut from, &mut late);
        } else if let [FromTree::Join { kind, .. }] = from.as_slice()
            && late::is_late(*kind)
            && let Some(FromTree::Join {
                kind,
                left,
                right,
                condition,
            }) = from.pop()
        {
            return self.late_join(kind, *left, *right, condition, filter);
        }
        let mut conditions = filter;
        let mut trees = Vec::new();
        for tree in from {
            flatten(tree, &mut trees, &mut conditions);
        }
        if trees.is_empty() {
            return self.no_items(conditions);
        }
        let impossible =
            |condition: &Expr| matches!(condition, Expr::Constant(Datum::Bool(false) | Datum::Null, _));
        let mut parts: Vec<Part> = trees.into_iter().map(Part::joined).collect();
        if parts.len() > UNITS_MAX {
            return Err(SqlError::new(
                state::STATEMENT_TOO_COMPLEX,
                "too many joined relations",
            ));
        }
        if conditions.iter().any(impossible) {
            return Ok(self.empty(parts.into_iter().flat_map(|part| part.items).collect()));
        }
        let mut links: Vec<Link> = Vec::new();
        for one in late {
            self.late_part(one, &mut parts, &mut links, &mut conditions);
        }
        let mut free = self.share_out(conditions, &mut parts, &mut links);
        // Conditions without columns of this level are tested where the first unit is read, if no other one can be.
        if parts[1..].iter().all(|part| part.kind != JoinKind::Inner) {
            parts[0].conditions.append(&mut free);
        } else {
            free.iter().for_each(|condition| self.need(condition));
        }
        for item in parts.iter().flat_map(|part| &part.items) {
            self.need_lateral(*item);
        }
        let mut joined = if parts.len() == 1 {
            let part = parts.pop().expect("there is one unit");
            let side = self.side(part.tree, part.conditions)?;
            self.alone(side, sort, limited)?
        } else {
            equivalence::derive(&parts, &mut links);
            self.ordered_joins(parts, links)?
        };
        if !free.is_empty() {
            joined = self.filtered(joined, free)?;
        }
        Ok(joined)
    }

    /// Gives each condition to the unit that it reads, or to the links between several. Answers those that read none.
    fn share_out(&mut self, conditions: Vec<Expr>, parts: &mut [Part], links: &mut Vec<Link>) -> Vec<Expr> {
        let mut free = Vec::new();
        for condition in conditions {
            let units = self.units_read(&condition, parts);
            match units.count_ones() {
                0 => free.push(condition),
                1 => parts[units.trailing_zeros() as usize].conditions.push(condition),
                _ => {
                    self.need(&condition);
                    self.restrict_units(&condition, units, parts);
                    links.push(Link {
                        units,
                        class: None,
                        condition: Some(condition),
                    });
                }
            }
        }
        free
    }

    /// The units whose items an expression reads, one bit each.
    fn units_read(&mut self, condition: &Expr, parts: &[Part]) -> u64 {
        let read = self.items_read(condition);
        let of = |part: &Part| part.items.iter().any(|item| read.contains(item));
        let mut units = 0;
        for (position, part) in parts.iter().enumerate() {
            units |= u64::from(of(part)) << position;
        }
        units
    }

    /// What an OR over several units says of each alone goes down to it.
    fn restrict_units(&mut self, condition: &Expr, read: u64, parts: &mut [Part]) {
        if !matches!(condition, Expr::Or(_)) {
            return;
        }
        let all: Vec<u16> = parts.iter().flat_map(|part| &part.items).copied().collect();
        for (_, part) in parts
            .iter_mut()
            .enumerate()
            .filter(|(at, _)| read & (1 << at) != 0)
        {
            let others: Vec<u16> = all
                .iter()
                .copied()
                .filter(|item| !part.items.contains(item))
                .collect();
            part.conditions
                .extend(self.restriction(condition, &part.items, &others));
        }
    }

    fn no_items(&mut self, conditions: Vec<Expr>) -> SqlResult<Joined> {
        let filter = self.conjunction(conditions, &[])?;
        let node = Node::Result {
            columns: Vec::new(),
            filter,
        };
        Ok(Joined {
            node,
            layout: Vec::new(),
            items: Vec::new(),
            rows: 1.0,
            cost: 0.0,
            ordered: true,
        })
    }

    fn empty(&mut self, items: Vec<u16>) -> Joined {
        let mut layout = Vec::new();
        for item in &items {
            layout.extend(self.needed[*item as usize].iter().map(|column| (*item, *column)));
            if self.marks && self.is_table(*item) {
                layout.push((*item, ROW_MARK));
            }
        }
        let node = Node::Empty {
            width: layout.len() as u16,
        };
        Joined {
            node,
            layout,
            items,
            rows: 0.0,
            cost: 0.0,
            ordered: true,
        }
    }

    fn is_table(&self, item: u16) -> bool {
        matches!(&self.items[item as usize].kind, ItemKind::Relation(relation) if relation.kind.has_rows())
    }

    /// Resolves conditions against a layout and joins them by AND.
    pub(super) fn conjunction(&mut self, conditions: Vec<Expr>, layout: &[Slot]) -> SqlResult<Option<Expr>> {
        let mut resolved = Vec::with_capacity(conditions.len());
        for mut condition in conditions {
            if matches!(condition, Expr::Constant(Datum::Bool(true), _)) {
                continue;
            }
            self.resolve(&mut condition, layout)?;
            resolved.push(condition);
        }
        Ok(match resolved.len() {
            0 => None,
            1 => resolved.pop(),
            _ => Some(Expr::And(resolved)),
        })
    }

    pub(super) fn filtered(&mut self, joined: Joined, conditions: Vec<Expr>) -> SqlResult<Joined> {
        let part = all_hold(&conditions, &self.items);
        let Some(condition) = self.conjunction(conditions, &joined.layout)? else {
            return Ok(joined);
        };
        let rows = (joined.rows * part).max(1.0);
        let node = Node::Filter {
            input: Box::new(joined.node),
            condition,
        };
        Ok(Joined { node, rows, ..joined })
    }

    /// A FROM tree that is not an inner join, with the conditions that concern it alone.
    fn side(&mut self, tree: FromTree, conditions: Vec<Expr>) -> SqlResult<Side> {
        match tree {
            FromTree::Item(item) => self.item_side(item, conditions),
            FromTree::Join {
                kind: kind @ (FromJoin::Semi | FromJoin::Anti),
                left,
                right,
                condition,
            } => Ok(Side::Ready(Box::new(
                self.late_join(kind, *left, *right, condition, conditions)?,
            ))),
            FromTree::Join {
                kind,
                left,
                right,
                condition,
            } => Ok(Side::Ready(Box::new(
                self.outer_join(kind, *left, *right, condition, conditions)?,
            ))),
        }
    }

    /// LEFT, RIGHT and FULL joins. Conditions from above arrive in `above`.
    fn outer_join(
        &mut self,
        kind: FromJoin,
        left: FromTree,
        right: FromTree,
        on: Vec<Expr>,
        above: Vec<Expr>,
    ) -> SqlResult<Joined> {
        // RIGHT is LEFT with its sides exchanged.
        let (kind, left, right) = match kind {
            FromJoin::Right => (FromJoin::Left, right, left),
            other => (other, left, right),
        };
        let left_items = mote_sql::bind::items_of(std::slice::from_ref(&left));
        let right_items = mote_sql::bind::items_of(std::slice::from_ref(&right));
        let (mut on_left, mut after) = (Vec::new(), Vec::new());
        for condition in above {
            let read = self.items_read(&condition);
            if kind == FromJoin::Left && !read.iter().any(|item| right_items.contains(item)) {
                on_left.push(condition);
            } else {
                self.need(&condition);
                after.push(condition);
            }
        }
        let (mut own, mut linking) = (Vec::new(), Vec::new());
        for condition in on {
            let read = self.items_read(&condition);
            if kind == FromJoin::Left && !read.iter().any(|item| left_items.contains(item)) {
                own.push(condition);
            } else {
                self.need(&condition);
                // A row of the right side that does not satisfy this is joined with none; the left side's rows all stay.
                if kind == FromJoin::Left {
                    own.extend(self.restriction(&condition, &right_items, &left_items));
                }
                linking.push(condition);
            }
        }
        let mut lateral = false;
        for item in &right_items {
            lateral |= self
                .items_read_inside(*item)
                .iter()
                .any(|read| left_items.contains(read));
            self.need_lateral(*item);
        }
        let left = self.joins(vec![left], on_left, &[], false)?;
        let side = match right {
            FromTree::Item(item) => self.item_side(item, own)?,
            tree => Side::Ready(Box::new(self.joins(vec![tree], own, &[], false)?)),
        };
        let kind = if kind == FromJoin::Full {
            JoinKind::Full
        } else {
            JoinKind::Left
        };
        let joined = self.join_pair(kind, left, side, linking, lateral)?;
        if after.is_empty() {
            Ok(joined)
        } else {
            self.filtered(joined, after)
        }
    }
}

fn joined_items(mut left: Vec<u16>, right: Vec<u16>) -> Vec<u16> {
    left.extend(right);
    left
}

fn keeps_left_only(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::Semi | JoinKind::Anti)
}

/// Takes inner joins apart.
fn flatten(tree: FromTree, trees: &mut Vec<FromTree>, conditions: &mut Vec<Expr>) {
    match tree {
        FromTree::Join {
            kind: FromJoin::Inner,
            left,
            right,
            condition,
        } => {
            conditions.extend(condition.into_iter().flat_map(mote_sql::bind::conjuncts));
            flatten(*left, trees, conditions);
            flatten(*right, trees, conditions);
        }
        other => trees.push(other),
    }
}
