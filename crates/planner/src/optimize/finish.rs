//! What ends a query: order, distinct rows, locks, limits, the target list.
//!
//! Order of nodes: Sort, LockRows, Limit, Project. With DISTINCT the projection comes first. Sort keys that must be computed
//! once become columns below the sort and leave above it.

use mote_common::SqlResult;
use mote_types::{Datum, oid};

use super::estimate::distinct_rows;
use super::{Joined, Planner, Slot};
use crate::plan::node::{Node, RowLock, RowMark, ScanId};
use mote_sql::bind::query::{BoundDistinct, BoundQuery, BoundTarget, ItemKind, ROW_MARK};
use mote_sql::expr::{Expr, SortKey};

impl Planner<'_> {
    pub(super) fn finish(&mut self, query: BoundQuery, joined: Joined, exact: bool) -> SqlResult<Joined> {
        self.finish_with_sets(query, joined, exact, None)
    }

    /// Order, distinct rows, sets that follow them, locks, limit, targets.
    pub(super) fn finish_with_sets(
        &mut self,
        query: BoundQuery,
        joined: Joined,
        exact: bool,
        late_sets: Option<(u16, Vec<Expr>)>,
    ) -> SqlResult<Joined> {
        let BoundQuery {
            targets,
            distinct,
            order_by,
            limit,
            offset,
            with_ties,
            locks,
            ..
        } = query;
        let mut bounds = (limit, offset);
        for bound in bounds.0.iter_mut().chain(&mut bounds.1) {
            self.resolve(bound, &[])?;
        }
        if let Some(BoundDistinct::All) = distinct {
            return self.finish_distinct(targets, order_by, bounds, with_ties, joined);
        }
        if is_unstable(&order_by) && locks.is_empty() {
            return self.finish_unstable(targets, distinct, order_by, (bounds, with_ties), joined);
        }
        let mut joined = joined;
        let mut keys = order_by;
        for key in &mut keys {
            self.resolve(&mut key.expr, &joined.layout)?;
        }
        let mut on = None;
        if let Some(BoundDistinct::On(exprs)) = distinct {
            let mut resolved = exprs;
            for expr in &mut resolved {
                self.resolve(expr, &joined.layout)?;
            }
            for expr in &resolved {
                if !keys.iter().any(|key| key.expr.same(expr)) {
                    keys.push(SortKey {
                        expr: expr.clone(),
                        descending: false,
                        nulls_first: false,
                    });
                }
            }
            on = Some(resolved);
        }
        let ties = with_ties.then(|| keys.clone());
        if !keys.is_empty() && !joined.ordered {
            let wanted = match on.is_none() && locks.is_empty() && !with_ties {
                true => sort_limit(&bounds),
                false => None,
            };
            let node = Node::Sort {
                input: Box::new(joined.node),
                keys,
                limit: wanted,
            };
            joined = Joined {
                node,
                ordered: true,
                ..joined
            };
        }
        if let Some(on) = on {
            let node = Node::Distinct {
                input: Box::new(joined.node),
                on: Some(on),
            };
            joined = Joined { node, ..joined };
        }
        if let Some((item, calls)) = late_sets {
            joined = self.project_sets(item, calls, joined)?;
        }
        if !locks.is_empty() {
            joined = self.lock_rows(&locks, joined)?;
        }
        let joined = limited(joined, bounds, ties);
        self.project(targets, joined, exact)
    }

    fn lock_rows(&mut self, locks: &[mote_sql::bind::query::BoundLock], joined: Joined) -> SqlResult<Joined> {
        let mut rows = Vec::with_capacity(locks.len());
        for lock in locks {
            let mark = joined
                .layout
                .iter()
                .position(|slot| *slot == (lock.item, ROW_MARK));
            let (Some(mark), ItemKind::Relation(relation)) = (mark, &self.items[lock.item as usize].kind)
            else {
                return Err(mote_common::SqlError::unsupported(
                    "row locks on the inside of a grouped or outer query",
                ));
            };
            rows.push(RowLock {
                scan: ScanId(lock.item),
                relations: self.marked_relations(lock.item, relation),
                mark: mark as u16,
                strength: lock.strength,
                wait: lock.wait,
            });
        }
        let marks = row_marks(&joined.layout);
        let node = Node::LockRows {
            input: Box::new(joined.node),
            locks: rows,
            marks,
        };
        Ok(Joined { node, ..joined })
    }

    /// The target list as the last step, left out where the row already has its form.
    fn project(&mut self, targets: Vec<BoundTarget>, joined: Joined, exact: bool) -> SqlResult<Joined> {
        let mut columns: Vec<Expr> = targets.into_iter().map(|target| target.expr).collect();
        for column in &mut columns {
            self.resolve(column, &joined.layout)?;
        }
        let in_place = columns.iter().enumerate().all(
            |(position, column)| matches!(column, Expr::Column { index, .. } if *index as usize == position),
        );
        if in_place && (!exact || columns.len() == joined.layout.len()) {
            return Ok(joined);
        }
        let node = match joined.node {
            // SELECT without FROM: one node does it all. A row of constants that FROM yields stays below, to be read.
            Node::Result {
                columns: inner,
                filter,
            } if inner.is_empty() => Node::Result { columns, filter },
            node => Node::Project {
                input: Box::new(node),
                columns,
            },
        };
        Ok(Joined {
            node,
            layout: Vec::new(),
            ..joined
        })
    }

    /// DISTINCT: project, drop duplicates, then sort by output columns.
    fn finish_distinct(
        &mut self,
        targets: Vec<BoundTarget>,
        order_by: Vec<SortKey>,
        bounds: (Option<Expr>, Option<Expr>),
        with_ties: bool,
        joined: Joined,
    ) -> SqlResult<Joined> {
        let exprs: Vec<Expr> = targets.iter().map(|target| target.expr.clone()).collect();
        let rows = distinct_rows(&exprs, joined.rows, &self.items);
        let projected = self.project(targets, joined, true)?;
        let node = Node::Distinct {
            input: Box::new(projected.node),
            on: None,
        };
        let keys: Vec<SortKey> = order_by
            .into_iter()
            .filter_map(|key| {
                let position = exprs.iter().position(|expr| expr.same(&key.expr))?;
                let expr = Expr::Column {
                    index: position as u16,
                    ty: exprs[position].ty(),
                };
                Some(SortKey { expr, ..key })
            })
            .collect();
        let ties = with_ties.then(|| keys.clone());
        let node = match keys.is_empty() {
            true => node,
            false => {
                let limit = if with_ties { None } else { sort_limit(&bounds) };
                Node::Sort {
                    input: Box::new(node),
                    keys,
                    limit,
                }
            }
        };
        Ok(limited(
            Joined {
                node,
                rows,
                layout: Vec::new(),
                ..projected
            },
            bounds,
            ties,
        ))
    }

    /// Sort keys that must be computed once: they become columns, and leave again after the sort.
    fn finish_unstable(
        &mut self,
        targets: Vec<BoundTarget>,
        distinct: Option<BoundDistinct>,
        order_by: Vec<SortKey>,
        (bounds, with_ties): ((Option<Expr>, Option<Expr>), bool),
        joined: Joined,
    ) -> SqlResult<Joined> {
        let width = targets.len();
        let mut columns: Vec<Expr> = targets.into_iter().map(|target| target.expr).collect();
        let types: Vec<_> = columns.iter().map(Expr::ty).collect();
        let mut keys = Vec::with_capacity(order_by.len());
        for key in order_by {
            let expr = column_of(&mut columns, key.expr);
            keys.push(SortKey { expr, ..key });
        }
        let on = match distinct {
            Some(BoundDistinct::On(on)) => {
                let on = on.into_iter().map(|expr| column_of(&mut columns, expr));
                Some(on.collect::<Vec<_>>())
            }
            _ => None,
        };
        for expr in on.iter().flatten() {
            if !keys.iter().any(|key| key.expr.same(expr)) {
                keys.push(SortKey {
                    expr: expr.clone(),
                    descending: false,
                    nulls_first: false,
                });
            }
        }
        for column in &mut columns {
            self.resolve(column, &joined.layout)?;
        }
        let extra = columns.len() > width;
        let node = Node::Project {
            input: Box::new(joined.node),
            columns,
        };
        let ties = with_ties.then(|| keys.clone());
        let mut node = Node::Sort {
            input: Box::new(node),
            keys,
            limit: if on.is_none() && !with_ties {
                sort_limit(&bounds)
            } else {
                None
            },
        };
        if let Some(on) = on {
            node = Node::Distinct {
                input: Box::new(node),
                on: Some(on),
            };
        }
        let sorted = limited(
            Joined {
                node,
                layout: Vec::new(),
                ..joined
            },
            bounds,
            ties,
        );
        if !extra {
            return Ok(sorted);
        }
        let visible = types.into_iter().enumerate();
        let columns = visible
            .map(|(index, ty)| Expr::Column {
                index: index as u16,
                ty,
            })
            .collect();
        let node = Node::Project {
            input: Box::new(sorted.node),
            columns,
        };
        Ok(Joined {
            node,
            layout: Vec::new(),
            ..sorted
        })
    }
}

/// Keys that must be computed once for a row: the value that orders it is the one that is shown.
pub(super) fn is_unstable(order_by: &[SortKey]) -> bool {
    let mut keys = order_by.iter().map(|key| &key.expr);
    keys.any(|key| key.is_volatile() || key.contains_subplan())
}

/// The column that holds an expression, added if none does.
fn column_of(columns: &mut Vec<Expr>, expr: Expr) -> Expr {
    let ty = expr.ty();
    let known = columns.iter().position(|column| column.same(&expr));
    let index = known.unwrap_or(columns.len());
    if known.is_none() {
        columns.push(expr);
    }
    Expr::Column {
        index: index as u16,
        ty,
    }
}

/// All row marks of a row.
pub(super) fn row_marks(layout: &[Slot]) -> Vec<RowMark> {
    let marks = layout.iter().enumerate().filter(|(_, slot)| slot.1 == ROW_MARK);
    marks
        .map(|(position, slot)| RowMark {
            scan: ScanId(slot.0),
            mark: position as u16,
        })
        .collect()
}

fn limited(joined: Joined, bounds: (Option<Expr>, Option<Expr>), with_ties: Option<Vec<SortKey>>) -> Joined {
    let (count, offset) = bounds;
    if count.is_none() && offset.is_none() {
        return joined;
    }
    let rows = match &count {
        Some(Expr::Constant(Datum::Int8(count), _)) => joined.rows.min(*count as f64).max(1.0),
        Some(_) => joined.rows.min(100.0),
        None => joined.rows,
    };
    let node = Node::Limit {
        input: Box::new(joined.node),
        count,
        offset,
        with_ties,
    };
    Joined { node, rows, ..joined }
}

/// How many rows of the sort are wanted, if that is an expression.
fn sort_limit(bounds: &(Option<Expr>, Option<Expr>)) -> Option<Expr> {
    match bounds {
        (Some(count), None) => Some(count.clone()),
        (Some(Expr::Constant(Datum::Int8(count), ty)), Some(Expr::Constant(Datum::Int8(offset), _))) => {
            debug_assert_eq!(ty.oid, oid::INT8);
            Some(Expr::Constant(Datum::Int8(count.checked_add(*offset)?), *ty))
        }
        _ => None,
    }
}
