//! INSERT, UPDATE, DELETE: the rows come from a query; the node above changes them.

use mote_common::{SqlError, SqlResult};

use super::select::row_marks;
use super::simplify::simplify;
use super::{Joined, Planner, Slot};
use crate::bind::query::{
    BoundInsert, BoundModify, BoundTarget, FIRST_SYSTEM_COLUMN, ModifyKind, ROW_MARK, SelectBody, TABLE_OID,
};
use crate::catalog::Relation;
use crate::plan::expr::Expr;
use crate::plan::node::{Check, ConflictAction, Delete, Insert, Node, ScanId, Update};

impl Planner<'_> {
    pub(super) fn modify(&mut self, modify: BoundModify) -> SqlResult<Joined> {
        self.writes = true;
        let BoundModify {
            target,
            relation,
            kind,
            returning,
            ..
        } = modify;
        match kind {
            ModifyKind::Insert(insert) => self.insert(target, relation, insert, returning),
            ModifyKind::Update {
                from,
                assignments,
                generated,
                checks,
            } => {
                let mut assignments = assignments;
                for (_, expr) in &mut assignments {
                    simplify(expr, self.folder);
                    self.need(expr);
                }
                let input = self.modified_rows(from, returning.as_deref())?;
                for (_, expr) in &mut assignments {
                    self.resolve(expr, &input.layout)?;
                }
                let mark = mark_of(&input.layout, target)?;
                let marks = row_marks(&input.layout);
                let checks = checks
                    .into_iter()
                    .map(|(name, condition)| Check { name, condition })
                    .collect();
                let returning = self.returning(returning, target, &relation, &input.layout)?;
                let update = Update {
                    relation,
                    scan: ScanId(target),
                    input: input.node,
                    mark,
                    marks,
                    assignments,
                    generated,
                    checks,
                    returning,
                };
                Ok(Joined {
                    node: Node::Update(Box::new(update)),
                    layout: Vec::new(),
                    ..without_node(input.rows, input.cost)
                })
            }
            ModifyKind::Delete { from } => {
                let input = self.modified_rows(from, returning.as_deref())?;
                let mark = mark_of(&input.layout, target)?;
                let marks = row_marks(&input.layout);
                let returning = self.returning(returning, target, &relation, &input.layout)?;
                let delete = Delete {
                    relation,
                    scan: ScanId(target),
                    input: input.node,
                    mark,
                    marks,
                    returning,
                };
                Ok(Joined {
                    node: Node::Delete(Box::new(delete)),
                    ..without_node(input.rows, input.cost)
                })
            }
        }
    }

    /// The rows to change, with marks.
    fn modified_rows(
        &mut self,
        mut from: SelectBody,
        returning: Option<&[BoundTarget]>,
    ) -> SqlResult<Joined> {
        let folder = self.folder;
        from.for_each_expr_mut(&mut |expr| simplify(expr, folder));
        self.filter_rewrites(&mut from)?;
        for target in returning.unwrap_or(&[]) {
            self.need(&target.expr);
        }
        let marks = std::mem::replace(&mut self.marks, true);
        let joined = self.joins(from.from, from.filter, &[], false);
        self.marks = marks;
        joined
    }

    /// RETURNING reads the target's row by attribute, and the rest of the input row behind it.
    fn returning(
        &mut self,
        returning: Option<Vec<BoundTarget>>,
        target: u16,
        relation: &Relation,
        layout: &[Slot],
    ) -> SqlResult<Option<Vec<Expr>>> {
        let Some(targets) = returning else { return Ok(None) };
        let width = relation.columns.len();
        let mut full: Vec<Slot> = (0..width).map(|column| (target, column as u16)).collect();
        full.extend(layout.iter().map(|slot| match slot {
            // The old values behind the new row are not what RETURNING means.
            (item, column) if *item == target && *column < FIRST_SYSTEM_COLUMN => (u16::MAX, *column),
            other => *other,
        }));
        let mut exprs = Vec::with_capacity(targets.len());
        for bound in targets {
            let mut expr = bound.expr;
            simplify(&mut expr, self.folder);
            self.returned_system_columns(&mut expr, target, relation);
            self.resolve(&mut expr, &full)?;
            exprs.push(expr);
        }
        Ok(Some(exprs))
    }

    /// The table's OID is known; the whole row is made of its columns.
    fn returned_system_columns(&self, expr: &mut Expr, target: u16, relation: &Relation) {
        expr.rewrite(&mut |inner| match inner {
            Expr::Variable {
                relation: item,
                column: TABLE_OID,
                ty,
                ..
            } if *item == target => Some(Expr::Constant(mote_types::Datum::oid(relation.oid), *ty)),
            Expr::Variable {
                relation: item,
                column: crate::bind::query::WHOLE_ROW,
                ty,
                location,
            } if *item == target => {
                let live = relation
                    .columns
                    .iter()
                    .enumerate()
                    .filter(|(_, column)| !column.dropped);
                let fields = live.map(|(position, column)| Expr::Variable {
                    relation: target,
                    column: position as u16,
                    ty: column.ty,
                    location: *location,
                });
                let names = relation.columns.iter().filter(|column| !column.dropped);
                Some(Expr::Row {
                    fields: fields.collect(),
                    names: names.map(|column| column.name.as_str().into()).collect(),
                    ty: *ty,
                })
            }
            _ => None,
        });
    }

    fn insert(
        &mut self,
        target: u16,
        relation: std::sync::Arc<Relation>,
        insert: BoundInsert,
        returning: Option<Vec<BoundTarget>>,
    ) -> SqlResult<Joined> {
        let BoundInsert {
            source,
            source_item,
            values,
            generated,
            checks,
            on_conflict,
            excluded,
        } = insert;
        let (mut input, layout, rows, cost) = match source {
            None => (
                Node::Result {
                    columns: Vec::new(),
                    filter: None,
                },
                Vec::new(),
                1.0,
                1.0,
            ),
            Some(source) => {
                let width = source.targets.len();
                let planned = self.query(source, true)?;
                let layout: Vec<Slot> = (0..width).map(|column| (source_item, column as u16)).collect();
                (planned.node, layout, planned.rows, planned.cost)
            }
        };
        let mut values = values;
        for value in &mut values {
            simplify(value, self.folder);
            self.resolve(value, &layout)?;
        }
        if !generated.is_empty() {
            // Generated columns read the row's other columns, so the row is computed first.
            let columns = std::mem::take(&mut values);
            let types: Vec<_> = columns.iter().map(Expr::ty).collect();
            input = match input {
                Node::Result {
                    columns: inner,
                    filter,
                } if inner.is_empty() => Node::Result { columns, filter },
                other => Node::Project {
                    input: Box::new(other),
                    columns,
                },
            };
            let column = |(index, ty): (usize, &mote_types::ColumnType)| Expr::Column {
                index: index as u16,
                ty: *ty,
            };
            values = types.iter().enumerate().map(column).collect();
            for (position, expr) in generated {
                values[position as usize] = expr;
            }
        }
        let mut on_conflict = on_conflict;
        if let Some(conflict) = &mut on_conflict
            && let ConflictAction::Update {
                assignments,
                condition,
            } = &mut conflict.action
        {
            for expr in assignments.iter_mut().map(|(_, expr)| expr).chain(condition) {
                simplify(expr, self.folder);
                // Sub-queries get what they read of the two rows before each run.
                self.resolve(expr, &[])?;
                for item in [target, excluded] {
                    self.returned_system_columns(expr, item, &relation);
                }
                conflicting_rows(expr, target, excluded);
            }
        }
        let checks = checks
            .into_iter()
            .map(|(name, condition)| Check { name, condition })
            .collect();
        let returning = self.returning(returning, target, &relation, &[])?;
        let node = Insert {
            relation,
            input,
            values,
            checks,
            on_conflict,
            returning,
        };
        Ok(Joined {
            node: Node::Insert(Box::new(node)),
            ..without_node(rows, cost)
        })
    }
}

/// In ON CONFLICT DO UPDATE the target's columns are those of the existing row.
fn conflicting_rows(expr: &mut Expr, target: u16, excluded: u16) {
    expr.rewrite(&mut |inner| match inner {
        Expr::Variable {
            relation, column, ty, ..
        } if *column < FIRST_SYSTEM_COLUMN => match *relation {
            item if item == target => Some(Expr::Column {
                index: *column,
                ty: *ty,
            }),
            item if item == excluded => Some(Expr::Excluded {
                index: *column,
                ty: *ty,
            }),
            _ => None,
        },
        _ => None,
    });
}

/// The rest of a `Joined` whose row has no layout.
fn without_node(rows: f64, cost: f64) -> Joined {
    Joined {
        node: Node::Empty { width: 0 },
        layout: Vec::new(),
        items: Vec::new(),
        rows,
        cost,
        ordered: false,
    }
}

fn mark_of(layout: &[Slot], target: u16) -> SqlResult<u16> {
    let position = layout.iter().position(|slot| *slot == (target, ROW_MARK));
    position
        .map(|position| position as u16)
        .ok_or_else(|| SqlError::internal("the target of a modifying statement has no row mark"))
}
