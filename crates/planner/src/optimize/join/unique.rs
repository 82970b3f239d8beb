//! EXISTS and IN as joins with distinct keys: few rows that look a large table up by its index.
//!
//! `big WHERE EXISTS (SELECT FROM small WHERE small.k = big.id)` asks of each row of `big` whether it has a partner. Where `small` has
//! few rows it is better to read it first: of its distinct keys each row of `big` finds one at most, so that an inner join with
//! them yields the rows of `big` once (PostgreSQL's JOIN_UNIQUE_OUTER and JOIN_UNIQUE_INNER).
//!
//! That holds as long as all conditions between the two are equalities, and no value on the left is equal to two different keys.

use mote_common::SqlResult;
use mote_sql::bind::query::{ItemColumn, ItemKind, RangeItem};
use mote_sql::expr::Expr;
use mote_types::oid::{self, Oid};

use super::pair::equal_sides;
use super::{Link, Side};
use crate::optimize::estimate::{HASH_BUILD_COST, distinct_rows};
use crate::optimize::{Joined, Planner, Slot};
use crate::plan::node::{JoinKind, Node};

/// The keys of an EXISTS or IN, gathered from the conditions that join it.
pub(super) struct Keys<'i> {
    items: &'i [u16],
    /// None: one of them is no such equality.
    found: Option<Vec<Expr>>,
}

impl<'i> Keys<'i> {
    pub(super) fn new(kind: JoinKind, items: &'i [u16]) -> Keys<'i> {
        Keys {
            items,
            found: (kind == JoinKind::Semi).then(Vec::new),
        }
    }

    pub(super) fn take(&mut self, condition: &Expr) {
        let Some(found) = &mut self.found else { return };
        match key_of(condition, self.items) {
            Some(key) if found.iter().any(|known| known.same(key)) => {}
            Some(key) => found.push(key.clone()),
            None => self.found = None,
        }
    }

    pub(super) fn found(self) -> Vec<Expr> {
        self.found.unwrap_or_default()
    }
}

fn key_of<'e>(condition: &'e Expr, items: &[u16]) -> Option<&'e Expr> {
    let sides = equal_sides(condition, items)?;
    let (key, ty) = sides.right;
    (is_equal_to_one(sides.left.1, ty) && !condition.is_volatile()).then_some(key)
}

/// Is no value of the one type equal to two different ones of the other? Two days may begin at one instant, and two clock times
/// be one: that depends on the time zone.
pub(in crate::optimize) fn is_equal_to_one(left: Oid, right: Oid) -> bool {
    const ALIKE: [&[Oid]; 4] = [
        &[oid::INT2, oid::INT4, oid::INT8],
        &[oid::FLOAT4, oid::FLOAT8],
        &[oid::DATE, oid::TIMESTAMP],
        &[oid::NAME, oid::TEXT],
    ];
    let are_alike = |types: &&[Oid]| types.contains(&left) && types.contains(&right);
    left == right || ALIKE.iter().any(are_alike)
}

/// What joining with the distinct keys of a unit begins with.
pub(super) struct Unique {
    keys: Vec<Expr>,
    pub(super) rows: f64,
    pub(super) cost: f64,
}

impl Unique {
    /// Of a unit with so many rows; none without keys.
    pub(super) fn of(keys: Vec<Expr>, rows: f64, cost: f64, items: &[RangeItem]) -> Option<Unique> {
        (!keys.is_empty()).then(|| Unique {
            rows: distinct_rows(&keys, rows, items),
            cost: cost + rows * HASH_BUILD_COST,
            keys,
        })
    }
}

impl Planner<'_> {
    /// The distinct keys of the unit at `position`. Keys that are no columns become some, also in the `links` that compare them.
    pub(super) fn unique_side(
        &mut self,
        position: usize,
        side: Side,
        unique: Unique,
        links: &mut [Link],
    ) -> SqlResult<Joined> {
        // Its rows are not part of the result: no marks there.
        let marks = std::mem::replace(&mut self.marks, false);
        let side = self.alone(side, &[], false);
        self.marks = marks;
        let mut side = side?;
        let computed: Vec<Expr> = unique
            .keys
            .iter()
            .filter(|key| !is_column(key))
            .cloned()
            .collect();
        let number = self.computed_item(&computed);
        side.items.extend(number);
        let shown = |key: &Expr| -> Option<Expr> {
            let column = computed.iter().position(|known| known.same(key))?;
            Some(Expr::Variable {
                relation: number?,
                column: column as u16,
                ty: key.ty(),
                location: -1,
            })
        };
        let of_unit = |link: &&mut Link| link.units & (1 << position) != 0;
        for condition in links
            .iter_mut()
            .filter(of_unit)
            .filter_map(|link| link.condition.as_mut())
        {
            condition.rewrite(&mut |part| shown(part));
        }
        let mut layout: Vec<Slot> = Vec::with_capacity(unique.keys.len());
        let mut columns = unique.keys;
        for column in &mut columns {
            if let Expr::Variable { relation, column, .. } = shown(column).as_ref().unwrap_or(column) {
                layout.push((*relation, *column));
            }
            self.resolve(column, &side.layout)?;
        }
        if layout != side.layout {
            side.node = Node::Project {
                input: Box::new(side.node),
                columns,
            };
        }
        let node = Node::Distinct {
            input: Box::new(side.node),
            on: None,
        };
        Ok(Joined {
            node,
            layout,
            items: side.items,
            rows: unique.rows,
            cost: unique.cost,
            ordered: false,
        })
    }

    /// An item of the planner's own with these columns.
    fn computed_item(&mut self, columns: &[Expr]) -> Option<u16> {
        if columns.is_empty() {
            return None;
        }
        let item = self.new_item(ItemKind::Computed);
        let column = |expr: &Expr| ItemColumn {
            name: "".into(),
            ty: expr.ty(),
            origin: (Oid::INVALID, 0),
        };
        self.items[item as usize].columns = columns.iter().map(column).collect();
        Some(item)
    }
}

fn is_column(key: &Expr) -> bool {
    matches!(key, Expr::Variable { .. })
}
