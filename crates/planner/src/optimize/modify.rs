//! INSERT, UPDATE, DELETE: the rows come from a query; the node above changes them.

use std::sync::Arc;

use mote_common::{Oid, SqlError, SqlResult};

use super::finish::row_marks;
use super::{Joined, Planner, Slot};
use crate::plan::node::{Delete, DeleteTarget, Insert, Node, ScanId, Update, UpdateTarget};
use mote_sql::bind::query::{
    BoundInsert, BoundModify, BoundQuery, BoundRow, BoundTarget, FIRST_SYSTEM_COLUMN, ModifyKind, ROW_MARK,
    SelectBody, TABLE_OID, XMAX,
};
use mote_sql::catalog::Relation;
use mote_sql::catalog::inheritance::AttributeMap;
use mote_sql::clause::{Check, ConflictAction, FiredTrigger, Triggers};
use mote_sql::expr::Expr;
use mote_sql::expr::simplify;

/// A column of a row that no variable names.
const NO_SLOT: Slot = (u16::MAX, 0);

/// A table that a modifying statement writes: the one it names, or one below it.
pub(super) struct WrittenTable {
    /// Among the members of the expansion.
    pub(super) position: usize,
    pub relation: Arc<Relation>,
    /// From the columns of the relation that the statement names; None where that is the table.
    pub map: Option<AttributeMap>,
}

impl WrittenTable {
    /// Its columns, by those of the relation that the statement names.
    pub fn columns(&self, positions: &[u16]) -> SqlResult<Vec<u16>> {
        positions.iter().map(|position| self.column(*position)).collect()
    }

    pub fn column(&self, position: u16) -> SqlResult<u16> {
        match &self.map {
            None => Ok(position),
            Some(map) => map
                .get(position)
                .ok_or_else(|| SqlError::internal("a dropped column is written")),
        }
    }
}

impl Planner<'_> {
    pub(super) fn modify(&mut self, modify: BoundModify) -> SqlResult<Joined> {
        self.writes = true;
        let BoundModify {
            target,
            relation,
            kind,
            triggers,
            returning,
            view_checks,
            ..
        } = modify;
        match kind {
            ModifyKind::Insert(insert) => {
                self.insert(target, relation, insert, triggers, (returning, view_checks))
            }
            ModifyKind::Update {
                from,
                assignments,
                rows,
            } => {
                let seen = (returning, view_checks);
                self.update((target, relation), from, assignments, rows, triggers, seen)
            }
            ModifyKind::Delete { from, triggers: rows } => {
                self.delete((target, relation), from, rows, triggers, returning)
            }
            ModifyKind::Merge(merge) => self.merge(target, relation, merge, triggers),
        }
    }

    fn update(
        &mut self,
        (target, relation): (u16, Arc<Relation>),
        from: SelectBody,
        assignments: Vec<(u16, Expr)>,
        rows: Vec<BoundRow>,
        triggers: Vec<FiredTrigger>,
        (returning, view_checks): (Option<Vec<BoundTarget>>, Vec<(String, Expr)>),
    ) -> SqlResult<Joined> {
        let (positions, mut values): (Vec<u16>, Vec<Expr>) = assignments.into_iter().unzip();
        for value in &mut values {
            simplify(value, self.folder);
            self.need(value);
        }
        let input = self.modified_rows(from, returning.as_deref())?;
        for value in &mut values {
            self.resolve(value, &input.layout)?;
        }
        // A sub-query is planned once.
        let with_query = view_checks.iter().any(|(_, check)| check.contains_subplan());
        if with_query && (rows.len() > 1 || relation.is_partitioned()) {
            return Err(SqlError::unsupported(
                "WITH CHECK OPTION with a sub-query over a table with children",
            ));
        }
        let mut targets = Vec::new();
        for (written, row) in self.written_rows(target, &relation, rows)? {
            targets.push(UpdateTarget {
                assigned: written.columns(&positions)?,
                generated: row.generated,
                checks: named_checks(row.checks),
                triggers: row.triggers,
                returning: self.returning(returning.as_ref(), target, &relation, &written, &input.layout)?,
                view_checks: self.view_checks(&view_checks, target, &relation, &written)?,
                relation: written.relation,
            });
        }
        let moved_returning = match relation.is_partitioned() {
            true => self.moved_returning(returning.as_ref(), target, &relation, &input.layout)?,
            false => None,
        };
        let moved_view_checks = match relation.is_partitioned() {
            true => {
                let root = WrittenTable {
                    position: 0,
                    relation: Arc::clone(&relation),
                    map: None,
                };
                self.view_checks(&view_checks, target, &relation, &root)?
            }
            false => Vec::new(),
        };
        let update = Update {
            moved_returning,
            moved_view_checks,
            relation,
            scan: ScanId(target),
            mark: mark_of(&input.layout, target)?,
            marks: row_marks(&input.layout),
            input: input.node,
            values,
            triggers,
            targets,
        };
        Ok(Joined {
            node: Node::Update(Box::new(update)),
            ..without_node(input.rows, input.cost)
        })
    }

    fn delete(
        &mut self,
        (target, relation): (u16, Arc<Relation>),
        from: SelectBody,
        mut rows: Vec<Vec<FiredTrigger>>,
        triggers: Vec<FiredTrigger>,
        returning: Option<Vec<BoundTarget>>,
    ) -> SqlResult<Joined> {
        let input = self.modified_rows(from, returning.as_deref())?;
        let mut targets = Vec::new();
        for written in self.written_tables(target, &relation) {
            targets.push(DeleteTarget {
                triggers: std::mem::take(&mut rows[written.position]),
                returning: self.returning(returning.as_ref(), target, &relation, &written, &input.layout)?,
                relation: written.relation,
            });
        }
        let delete = Delete {
            relation,
            scan: ScanId(target),
            mark: mark_of(&input.layout, target)?,
            marks: row_marks(&input.layout),
            input: input.node,
            triggers,
            targets,
        };
        Ok(Joined {
            node: Node::Delete(Box::new(delete)),
            ..without_node(input.rows, input.cost)
        })
    }

    /// The tables whose rows a statement changes, by the member numbers of its marks.
    pub(super) fn written_tables(&self, target: u16, relation: &Arc<Relation>) -> Vec<WrittenTable> {
        let Some(expansion) = &self.items[target as usize].expansion else {
            return vec![WrittenTable {
                position: 0,
                relation: Arc::clone(relation),
                map: None,
            }];
        };
        let read = self.marked_relations(target, relation);
        let written = read.into_iter().filter_map(|relation| {
            let mut members = expansion.members.iter();
            let position = members.position(|member| member.relation.oid == relation.oid)?;
            Some(WrittenTable {
                position,
                relation,
                map: Some(expansion.members[position].map.clone()),
            })
        });
        written.collect()
    }

    /// The same, with what a new row of each takes.
    pub(super) fn written_rows(
        &self,
        target: u16,
        relation: &Arc<Relation>,
        rows: Vec<BoundRow>,
    ) -> SqlResult<Vec<(WrittenTable, BoundRow)>> {
        let mut rows: Vec<Option<BoundRow>> = rows.into_iter().map(Some).collect();
        let with_row = |written: WrittenTable| {
            let row = rows.get_mut(written.position).and_then(Option::take);
            let row = row.ok_or_else(|| SqlError::internal("a written table has no row"))?;
            Ok((written, row))
        };
        let written = self.written_tables(target, relation).into_iter();
        written.map(with_row).collect()
    }

    /// The rows to change, with marks.
    fn modified_rows(
        &mut self,
        mut from: SelectBody,
        returning: Option<&[BoundTarget]>,
    ) -> SqlResult<Joined> {
        let folder = self.folder;
        from.for_each_expr_mut(&mut |expr| simplify(expr, folder));
        self.filter_rewrites(&mut from);
        for target in returning.unwrap_or(&[]) {
            self.need(&target.expr);
        }
        let marks = std::mem::replace(&mut self.marks, true);
        let joined = self.joins(from.from, from.filter, &[], false);
        self.marks = marks;
        joined
    }

    /// RETURNING reads the new (or the deleted) row by attribute, and the rest of the input row behind it.
    fn returning(
        &mut self,
        returning: Option<&Vec<BoundTarget>>,
        target: u16,
        relation: &Relation,
        written: &WrittenTable,
        layout: &[Slot],
    ) -> SqlResult<Option<Vec<Expr>>> {
        let Some(targets) = returning else { return Ok(None) };
        let mut full: Vec<Slot> = vec![NO_SLOT; written.relation.columns.len()];
        for (column, described) in relation.columns.iter().enumerate() {
            if !described.dropped {
                full[written.column(column as u16)? as usize] = (target, column as u16);
            }
        }
        full.extend(layout.iter().map(|slot| match slot {
            // The old values behind the new row are not what RETURNING means.
            (item, column) if *item == target && *column < FIRST_SYSTEM_COLUMN => NO_SLOT,
            other => *other,
        }));
        let mut exprs = Vec::with_capacity(targets.len());
        for bound in targets {
            let mut expr = bound.expr.clone();
            simplify(&mut expr, self.folder);
            self.returned_system_columns(&mut expr, target, relation, written.relation.oid);
            self.resolve(&mut expr, &full)?;
            exprs.push(expr);
        }
        Ok(Some(exprs))
    }

    /// WITH CHECK OPTION reads the new row by attribute.
    fn view_checks(
        &mut self,
        checks: &[(String, Expr)],
        target: u16,
        relation: &Relation,
        written: &WrittenTable,
    ) -> SqlResult<Vec<Check>> {
        if checks.is_empty() {
            return Ok(Vec::new());
        }
        let mut row: Vec<Slot> = vec![NO_SLOT; written.relation.columns.len()];
        for (column, described) in relation.columns.iter().enumerate() {
            if !described.dropped {
                row[written.column(column as u16)? as usize] = (target, column as u16);
            }
        }
        let mut resolved = Vec::with_capacity(checks.len());
        for (name, condition) in checks {
            let mut condition = condition.clone();
            simplify(&mut condition, self.folder);
            self.returned_system_columns(&mut condition, target, relation, written.relation.oid);
            self.resolve(&mut condition, &row)?;
            resolved.push(Check {
                name: name.clone(),
                condition,
            });
        }
        Ok(resolved)
    }

    /// RETURNING for rows that move to another partition: which one, the OID behind the row tells.
    fn moved_returning(
        &mut self,
        returning: Option<&Vec<BoundTarget>>,
        target: u16,
        relation: &Arc<Relation>,
        layout: &[Slot],
    ) -> SqlResult<Option<Vec<Expr>>> {
        let Some(targets) = returning else { return Ok(None) };
        let width = relation.columns.len() as u16;
        let mut full: Vec<Slot> = (0..width).map(|column| (target, column)).collect();
        full.push(NO_SLOT);
        full.extend(layout.iter().map(|slot| match slot {
            (item, column) if *item == target && *column < FIRST_SYSTEM_COLUMN => NO_SLOT,
            other => *other,
        }));
        let mut exprs = Vec::with_capacity(targets.len());
        for bound in targets {
            let mut expr = bound.expr.clone();
            simplify(&mut expr, self.folder);
            routed_table_oid(&mut expr, target, width);
            self.returned_system_columns(&mut expr, target, relation, relation.oid);
            self.resolve(&mut expr, &full)?;
            exprs.push(expr);
        }
        Ok(Some(exprs))
    }

    /// The table's OID is known; the whole row is made of its columns.
    fn returned_system_columns(&self, expr: &mut Expr, target: u16, relation: &Relation, table: Oid) {
        expr.rewrite(&mut |inner| match inner {
            Expr::Variable {
                relation: item,
                column: TABLE_OID,
                ty,
                ..
            } if *item == target => Some(Expr::Constant(mote_types::Datum::oid(table), *ty)),
            Expr::Variable {
                relation: item,
                column: mote_sql::bind::query::WHOLE_ROW,
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
        relation: Arc<Relation>,
        insert: BoundInsert,
        statement: Vec<FiredTrigger>,
        (returning, view_checks): (Option<Vec<BoundTarget>>, Vec<(String, Expr)>),
    ) -> SqlResult<Joined> {
        let BoundInsert {
            source,
            source_item,
            values,
            assigned,
            generated,
            checks,
            triggers,
            on_conflict,
            excluded,
        } = insert;
        let source = self.inserted_rows(source, source_item)?;
        let mut values = values;
        for value in &mut values {
            simplify(value, self.folder);
            self.resolve(value, &source.layout)?;
        }
        let mut returning = returning;
        if relation.is_partitioned() {
            let width = relation.columns.len() as u16;
            for bound in returning.iter_mut().flatten() {
                routed_table_oid(&mut bound.expr, target, width);
            }
        }
        let updates = on_conflict.as_ref().is_some_and(|conflict| conflict.updates());
        for bound in returning.iter_mut().flatten() {
            updated_mark(&mut bound.expr, (target, relation.columns.len() as u16), updates);
        }
        let mut on_conflict = on_conflict;
        if let Some(conflict) = &mut on_conflict {
            self.conflict_action(&mut conflict.action, target, excluded, &relation)?;
        }
        let checks = named_checks(checks);
        let written = WrittenTable {
            position: 0,
            relation: Arc::clone(&relation),
            map: None,
        };
        let returning = self.returning(returning.as_ref(), target, &relation, &written, &[])?;
        let view_checks = self.view_checks(&view_checks, target, &relation, &written)?;
        let node = Insert {
            relation,
            assigned,
            input: source.node,
            values,
            generated,
            checks,
            triggers: Triggers {
                statement,
                row: triggers,
            },
            on_conflict,
            returning,
            view_checks,
        };
        Ok(Joined {
            node: Node::Insert(Box::new(node)),
            ..without_node(source.rows, source.cost)
        })
    }

    /// What INSERT takes its rows from; None: one row, which its values make.
    fn inserted_rows(&mut self, source: Option<BoundQuery>, item: u16) -> SqlResult<Joined> {
        let Some(source) = source else {
            let nothing = Node::Result {
                columns: Vec::new(),
                filter: None,
            };
            return Ok(Joined {
                node: nothing,
                ..without_node(1.0, 1.0)
            });
        };
        let width = source.targets.len();
        let planned = self.query(source, true)?;
        Ok(Joined {
            layout: (0..width).map(|column| (item, column as u16)).collect(),
            ..planned
        })
    }

    /// ON CONFLICT DO UPDATE: its expressions read the row that is there and the one that is not inserted.
    fn conflict_action(
        &mut self,
        action: &mut ConflictAction,
        target: u16,
        excluded: u16,
        relation: &Relation,
    ) -> SqlResult<()> {
        let ConflictAction::Update {
            visible,
            assignments,
            condition,
        } = action
        else {
            return Ok(());
        };
        let visible = visible.iter_mut().map(|check| &mut check.condition);
        let assigned = assignments.iter_mut().map(|(_, expr)| expr);
        for expr in visible.chain(assigned).chain(condition) {
            simplify(expr, self.folder);
            // Sub-queries get what they read of the two rows before each run.
            self.resolve(expr, &[])?;
            if relation.is_partitioned() {
                routed_table_oid(expr, target, relation.columns.len() as u16);
            }
            for item in [target, excluded] {
                self.returned_system_columns(expr, item, relation, relation.oid);
            }
            conflicting_rows(expr, target, excluded);
        }
        Ok(())
    }
}

/// Rows of a partitioned table are inserted into its partitions: behind the columns of such a row stands the OID of its
/// partition.
fn routed_table_oid(expr: &mut Expr, target: u16, width: u16) {
    expr.rewrite(&mut |inner| match inner {
        Expr::Variable {
            relation,
            column: TABLE_OID,
            ty,
            ..
        } if *relation == target => Some(Expr::Column {
            index: width,
            ty: *ty,
        }),
        _ => None,
    });
}

/// Whether ON CONFLICT has updated the row stands behind the OID of its partition, or where that would be.
fn updated_mark(expr: &mut Expr, (target, width): (u16, u16), updates: bool) {
    expr.rewrite(&mut |inner| match inner {
        Expr::Variable {
            relation,
            column: XMAX,
            ty,
            ..
        } if *relation == target => Some(match updates {
            true => Expr::Column {
                index: width + 1,
                ty: *ty,
            },
            false => Expr::Constant(mote_types::Datum::Oid(0), *ty),
        }),
        _ => None,
    });
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

pub(super) fn named_checks(checks: Vec<(String, Expr)>) -> Vec<Check> {
    let named = checks.into_iter();
    named.map(|(name, condition)| Check { name, condition }).collect()
}

/// The rest of a `Joined` whose row has no layout.
pub(super) fn without_node(rows: f64, cost: f64) -> Joined {
    Joined {
        node: Node::Empty { width: 0 },
        layout: Vec::new(),
        items: Vec::new(),
        rows,
        cost,
        ordered: false,
    }
}

pub(super) fn mark_of(layout: &[Slot], target: u16) -> SqlResult<u16> {
    let position = layout.iter().position(|slot| *slot == (target, ROW_MARK));
    position
        .map(|position| position as u16)
        .ok_or_else(|| SqlError::internal("the target of a modifying statement has no row mark"))
}
