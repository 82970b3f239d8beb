//! EXISTS and IN as semi and anti joins: units that wait for what they read, and leave the rows on the left as they are.
//!
//! `a, b WHERE EXISTS (.. a ..)` may test the rows of `a` before they are joined with `b`, or afterwards: a semi join and
//! an anti join keep rows of the left side by those rows alone, so that they change places with inner joins freely. What is
//! compared by equality alone may come before what it reads as well (`unique`).

use mote_common::SqlResult;

use super::unique::Keys;
use super::{Link, Part, Side};
use crate::optimize::{Joined, Planner};
use crate::plan::node::JoinKind;
use mote_sql::bind::query::{FromJoin, FromTree};
use mote_sql::expr::Expr;

/// One EXISTS or IN.
pub(super) struct Late {
    kind: JoinKind,
    right: FromTree,
    condition: Vec<Expr>,
}

pub(super) fn is_late(kind: FromJoin) -> bool {
    matches!(kind, FromJoin::Semi | FromJoin::Anti)
}

fn join_kind(kind: FromJoin) -> JoinKind {
    match kind {
        FromJoin::Anti => JoinKind::Anti,
        _ => JoinKind::Semi,
    }
}

/// Units that a FROM list consists of, EXISTS and IN among them.
pub(super) fn units(from: &[FromTree]) -> usize {
    fn of(tree: &FromTree) -> usize {
        match tree {
            FromTree::Join {
                kind: FromJoin::Inner,
                left,
                right,
                ..
            } => of(left) + of(right),
            FromTree::Join { kind, left, .. } if is_late(*kind) => of(left) + 1,
            _ => 1,
        }
    }
    from.iter().map(of).sum()
}

/// Takes them off the top of the one tree that they stand upon, the innermost first.
pub(super) fn take(from: &mut Vec<FromTree>, late: &mut Vec<Late>) {
    while let [FromTree::Join { kind, .. }] = from.as_slice()
        && is_late(*kind)
        && let Some(FromTree::Join {
            kind,
            left,
            right,
            condition,
        }) = from.pop()
    {
        late.push(Late {
            kind: join_kind(kind),
            right: *right,
            condition,
        });
        from.push(*left);
    }
    late.reverse();
}

impl Planner<'_> {
    /// Makes a unit of an EXISTS or IN, with links to what it reads. `filter` gets what it says of the rows on the left.
    pub(super) fn late_part(
        &mut self,
        late: Late,
        parts: &mut Vec<Part>,
        links: &mut Vec<Link>,
        filter: &mut Vec<Expr>,
    ) {
        let Late {
            kind,
            right,
            condition,
        } = late;
        let items = mote_sql::bind::items_of(std::slice::from_ref(&right));
        let mut own = Vec::new();
        let mut keys = Keys::new(kind, &items);
        for condition in condition {
            let units = self.units_read(&condition, parts);
            if units == 0 {
                own.push(condition);
                continue;
            }
            self.need(&condition);
            let on_left = parts.iter().filter(|part| part.kind == JoinKind::Inner);
            let left: Vec<u16> = on_left.flat_map(|part| &part.items).copied().collect();
            own.extend(self.restriction(&condition, &items, &left));
            if kind == JoinKind::Semi {
                filter.extend(self.restriction(&condition, &left, &items));
            }
            keys.take(&condition);
            links.push(Link {
                class: None,
                units: units | 1 << parts.len(),
                condition: Some(condition),
            });
        }
        let keys = keys.found();
        parts.push(Part {
            tree: right,
            kind,
            items,
            conditions: own,
            keys,
        });
    }

    /// The right side. Its rows are not part of the result: no marks there.
    pub(super) fn late_side(&mut self, tree: FromTree, own: Vec<Expr>) -> SqlResult<Side> {
        let marks = std::mem::replace(&mut self.marks, false);
        let side = match tree {
            FromTree::Item(item) => self.item_side(item, own),
            tree => self
                .joins(vec![tree], own, &[], false)
                .map(|joined| Side::Ready(Box::new(joined))),
        };
        self.marks = marks;
        side
    }

    pub(super) fn join_late(
        &mut self,
        kind: JoinKind,
        left: Joined,
        side: Side,
        linking: Vec<Expr>,
    ) -> SqlResult<Joined> {
        let marks = std::mem::replace(&mut self.marks, false);
        let joined = self.join_pair(kind, left, side, linking, false);
        self.marks = marks;
        joined
    }

    /// Joins with the whole of what stands on the left: where there are more units than `UNITS_MAX`.
    pub(super) fn late_join(
        &mut self,
        kind: FromJoin,
        left: FromTree,
        right: FromTree,
        condition: Vec<Expr>,
        filter: Vec<Expr>,
    ) -> SqlResult<Joined> {
        let left_items = mote_sql::bind::items_of(std::slice::from_ref(&left));
        let right_items = mote_sql::bind::items_of(std::slice::from_ref(&right));
        let (mut own, mut linking) = (Vec::new(), Vec::new());
        let mut filter = filter;
        for condition in condition {
            let read = self.items_read(&condition);
            if read.iter().any(|item| left_items.contains(item)) {
                self.need(&condition);
                own.extend(self.restriction(&condition, &right_items, &left_items));
                if kind == FromJoin::Semi {
                    filter.extend(self.restriction(&condition, &left_items, &right_items));
                }
                linking.push(condition);
            } else {
                own.push(condition);
            }
        }
        let left = self.joins(vec![left], filter, &[], false)?;
        if let FromTree::Item(item) = &right {
            self.need_lateral(*item);
        }
        let side = self.late_side(right, own)?;
        self.join_late(join_kind(kind), left, side, linking)
    }
}
