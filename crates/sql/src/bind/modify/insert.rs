//! INSERT: where the values come from, and which column each of them is for.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::{ColumnType, Datum, oid};

use super::{Changed, GENERATED_ALWAYS, assigned_columns};
use crate::access::{Command, privilege};
use crate::bind::Binder;
use crate::bind::query::{BoundInsert, BoundModify, BoundQuery, BoundTarget, ModifyKind, QueryBody};
use crate::bind::scope::{Clause, Level};
use crate::bind::updatable_view::{Change, UpdatableView};
use crate::catalog::trigger::TriggerEvents;
use crate::catalog::{Column, Identity, Relation};
use crate::expr::Expr;
use mote_grammar::ast;
use mote_grammar::ast::{ExprKind, InsertSource, Location, Overriding};

/// What an INSERT can do to a relation, and the columns that ON CONFLICT DO UPDATE sets.
fn inserted_events(insert: &ast::Insert, relation: &Relation) -> (TriggerEvents, Vec<u16>) {
    let Some(ast::OnConflict {
        action: ast::ConflictAction::Update { assignments, .. },
        ..
    }) = &insert.on_conflict
    else {
        return (TriggerEvents::INSERT, Vec::new());
    };
    let events = TriggerEvents {
        update: true,
        ..TriggerEvents::INSERT
    };
    (events, assigned_columns(assignments, relation))
}

impl Binder<'_> {
    pub(in crate::bind) fn insert(&mut self, insert: &ast::Insert) -> SqlResult<BoundModify> {
        let known = self.cte_names.len();
        if let Some(with) = &insert.with {
            self.with_clause(with)?;
        }
        let update = matches!(
            insert.on_conflict,
            Some(ast::OnConflict {
                action: ast::ConflictAction::Update { .. },
                ..
            })
        );
        // The columns of the arbiters are read.
        let infers = matches!(insert.on_conflict, Some(ast::OnConflict { target: Some(_), .. }));
        let privileges = privilege::INSERT
            | if update { privilege::UPDATE } else { 0 }
            | if update || infers { privilege::SELECT } else { 0 };
        let Changed {
            relation,
            target,
            scope,
            view,
        } = self.changed(&insert.table, Change::Insert, privileges)?;
        let columns = match &view {
            None => self.insert_columns(insert, &relation)?,
            Some((_, view)) => self.insert_columns_of_view(insert, view)?,
        };
        let mut bound = self.insert_source(insert, &relation, &columns)?;
        bound.generated = self.generated_columns(&relation, &|_| true)?;
        bound.checks = self.checks(&relation)?;
        let (events, assigned) = match &view {
            None => inserted_events(insert, &relation),
            Some((_, view)) => inserted_events(&view.insert_behind(insert, self)?, &relation),
        };
        let assigned = |column: u16| assigned.contains(&column);
        bound.triggers = self.fired_triggers(&relation, events, true, &assigned)?;
        let triggers = self.fired_triggers(&relation, events, false, &assigned)?;
        self.levels.push(Level::new(Clause::Returning));
        self.level().items.push(scope);
        if let Some(conflict) = &insert.on_conflict {
            let behind = view.as_ref().map(|(_, view)| view);
            let (conflict, excluded) = self.on_conflict(conflict, &relation, target, behind)?;
            bound.on_conflict = Some(conflict);
            bound.excluded = excluded;
        }
        let named = view.as_ref().map_or(&relation, |(view, _)| view);
        self.level().inserted = Some(target);
        let returning = self.returning(insert.returning.as_ref(), named)?;
        self.levels.pop();
        self.cte_names.truncate(known);
        let kind = ModifyKind::Insert(bound);
        Ok(BoundModify {
            command: Command::Insert,
            target,
            relation,
            kind,
            triggers,
            returning,
            view_checks: view.map(|(_, view)| view.checks).unwrap_or_default(),
        })
    }

    /// Positions, in the table behind a view, of the columns that values are given for.
    fn insert_columns_of_view(&self, insert: &ast::Insert, view: &UpdatableView) -> SqlResult<Vec<usize>> {
        if !insert.columns.is_empty() {
            let mut behind = insert.clone();
            for column in &mut behind.columns {
                column.name = view.column_behind("insert into", column, self)?;
            }
            return self.insert_columns(&behind, &view.relation);
        }
        let width = match &insert.source {
            InsertSource::Query(query) => match &query.body {
                ast::QueryBody::Values(rows) => rows.first().map(Vec::len),
                _ => None,
            },
            InsertSource::DefaultValues => Some(0),
        };
        view.all_columns(width)
    }

    /// Positions of the columns that values are given for.
    pub(in crate::bind) fn insert_columns(
        &self,
        insert: &ast::Insert,
        relation: &Relation,
    ) -> SqlResult<Vec<usize>> {
        if insert.columns.is_empty() {
            let live = relation
                .columns
                .iter()
                .enumerate()
                .filter(|(_, column)| !column.dropped);
            return Ok(live.map(|(position, _)| position).collect());
        }
        let mut columns: Vec<usize> = Vec::with_capacity(insert.columns.len());
        for column in &insert.columns {
            let position = self.target_column(relation, &column.name, column.location)?;
            // Several parts of one column may be given.
            let known = columns.iter().zip(&insert.columns);
            let collides = |(known, other): (&usize, &ast::ColumnTarget)| {
                *known == position && (column.indirection.is_empty() || other.indirection.is_empty())
            };
            if known.into_iter().any(collides) {
                let message = format!("column \"{}\" specified more than once", column.name);
                return Err(self.error(state::DUPLICATE_COLUMN, column.location, message));
            }
            columns.push(position);
        }
        Ok(columns)
    }

    fn insert_source(
        &mut self,
        insert: &ast::Insert,
        relation: &Arc<Relation>,
        columns: &[usize],
    ) -> SqlResult<BoundInsert> {
        let mut bound = BoundInsert {
            source: None,
            source_item: 0,
            values: Vec::new(),
            assigned: Vec::new(),
            generated: Vec::new(),
            checks: Vec::new(),
            triggers: Vec::new(),
            on_conflict: None,
            excluded: 0,
        };
        let mut given: Vec<Option<Expr>> = vec![None; relation.columns.len()];
        let plain_values = |query: &ast::Query| {
            query.with.is_none()
                && query.order_by.is_empty()
                && query.limit.is_none()
                && query.offset.is_none()
        };
        match &insert.source {
            InsertSource::DefaultValues => {}
            InsertSource::Query(query) => match &query.body {
                ast::QueryBody::Values(rows) if plain_values(query) && rows.len() == 1 => {
                    let row = self.values_row(&rows[0], insert, relation, columns)?;
                    self.give(row, insert, relation, columns, &mut given)?;
                }
                ast::QueryBody::Values(rows) if plain_values(query) => {
                    self.values_rows(rows, insert, relation, columns, &mut given, &mut bound)?;
                }
                _ => self.insert_query(query, insert, relation, columns, &mut given, &mut bound)?,
            },
        }
        bound.assigned = positions_given(&given);
        for (position, value) in given.into_iter().enumerate() {
            let expr = match value {
                Some(expr) => expr,
                None => self.default_value(relation, position)?,
            };
            bound.values.push(expr);
        }
        Ok(bound)
    }

    fn check_width(
        &self,
        found: usize,
        insert: &ast::Insert,
        columns: &[usize],
        place: Location,
    ) -> SqlResult<()> {
        if found > columns.len() {
            let message = "INSERT has more expressions than target columns";
            return Err(self.error(state::SYNTAX_ERROR, place, message));
        }
        if !insert.columns.is_empty() && found < columns.len() {
            let message = "INSERT has more target columns than expressions";
            let place = insert.columns[found].location;
            return Err(self.error(state::SYNTAX_ERROR, place, message));
        }
        Ok(())
    }

    /// One row of VALUES, converted to the columns' types, with DEFAULT replaced.
    pub(in crate::bind) fn values_row(
        &mut self,
        row: &[ast::Expr],
        insert: &ast::Insert,
        relation: &Arc<Relation>,
        columns: &[usize],
    ) -> SqlResult<Vec<Expr>> {
        self.levels.push(Level::new(Clause::Values));
        let row = &*self.with_stars_expanded(row)?;
        let place = row
            .get(columns.len())
            .map_or(Location::NONE, |expr| expr.location);
        self.check_width(row.len(), insert, columns, place)?;
        let mut bound = Vec::with_capacity(row.len());
        for (slot, (position, expr)) in columns.iter().zip(row).enumerate() {
            let column = &relation.columns[*position];
            let part = part_of(insert, slot);
            if matches!(expr.kind, ExprKind::Default) {
                part.map_or(Ok(()), |part| self.check_whole(part))?;
                bound.push(self.default_value(relation, *position)?);
                continue;
            }
            if self.overridden(insert.overriding, column, relation, *position)? {
                bound.push(self.default_value(relation, *position)?);
                continue;
            }
            let value = self.expression(expr)?;
            bound.push(match part {
                Some(part) => self.value_of_part(part, column.ty, Location::NONE, value, expr.start())?,
                None => self.coerce_assignment(value, &column.name, column.ty, expr.start())?,
            });
        }
        self.levels.pop();
        Ok(bound)
    }

    /// Takes values, one per column of the list, as what the table's columns get. Parts of one column build on each other,
    /// the first on a NULL.
    pub(in crate::bind) fn give(
        &mut self,
        values: Vec<Expr>,
        insert: &ast::Insert,
        relation: &Relation,
        columns: &[usize],
        given: &mut [Option<Expr>],
    ) -> SqlResult<()> {
        for (slot, (position, value)) in columns.iter().zip(values).enumerate() {
            let ty = relation.columns[*position].ty;
            self.give_one(value, part_of(insert, slot), ty, &mut given[*position])?;
        }
        Ok(())
    }

    fn give_one(
        &mut self,
        value: Expr,
        part: Option<&ast::ColumnTarget>,
        ty: ColumnType,
        given: &mut Option<Expr>,
    ) -> SqlResult<()> {
        *given = Some(match part {
            None => value,
            Some(part) => {
                let container = given.take().unwrap_or(Expr::Constant(Datum::Null, ty));
                // Subscripts are expressions.
                self.levels.push(Level::new(Clause::Values));
                let assigned = self.part_assignment(container, part, &part.indirection, value)?;
                self.levels.pop();
                assigned
            }
        });
        Ok(())
    }

    /// Several rows of VALUES: the source query yields them with the columns' types.
    fn values_rows(
        &mut self,
        rows: &[Vec<ast::Expr>],
        insert: &ast::Insert,
        relation: &Arc<Relation>,
        columns: &[usize],
        given: &mut [Option<Expr>],
        bound: &mut BoundInsert,
    ) -> SqlResult<()> {
        let mut expanded = Vec::with_capacity(rows.len());
        for row in rows {
            expanded.push(self.with_stars_expanded(row)?);
        }
        let width = expanded[0].len();
        let mut converted = Vec::with_capacity(rows.len());
        for row in &expanded {
            if row.len() != width {
                let place = row.first().map_or(Location::NONE, |expr| expr.location);
                return Err(self.error(
                    state::SYNTAX_ERROR,
                    place,
                    "VALUES lists must all be the same length",
                ));
            }
            converted.push(self.values_row(row, insert, relation, columns)?);
        }
        let item = self.computed_item()?;
        let mut types = Vec::with_capacity(width);
        for (slot, position) in columns.iter().take(width).enumerate() {
            let ty = relation.columns[*position].ty;
            types.push(match part_of(insert, slot) {
                None => ty,
                Some(part) => self.part_type(ty, part, &part.indirection, Location::NONE)?.0,
            });
        }
        let targets = types.iter().enumerate().map(|(slot, &ty)| {
            let expr = Expr::Variable {
                relation: item,
                column: slot as u16,
                ty,
                location: -1,
            };
            BoundTarget {
                name: "".into(),
                expr,
                origin: (mote_common::Oid::INVALID, 0),
                location: Location::NONE,
            }
        });
        let targets: Vec<_> = targets.collect();
        let source_item = self.computed_item()?;
        let values = types.iter().enumerate().map(|(slot, &ty)| Expr::Variable {
            relation: source_item,
            column: slot as u16,
            ty,
            location: -1,
        });
        self.give(values.collect(), insert, relation, columns, given)?;
        bound.source = Some(BoundQuery::new(
            QueryBody::Values {
                item,
                rows: converted,
            },
            targets,
        ));
        bound.source_item = source_item;
        Ok(())
    }

    /// INSERT .. SELECT.
    fn insert_query(
        &mut self,
        query: &ast::Query,
        insert: &ast::Insert,
        relation: &Arc<Relation>,
        columns: &[usize],
        given: &mut [Option<Expr>],
        bound: &mut BoundInsert,
    ) -> SqlResult<()> {
        let mut source = self.query_with(query, false)?;
        self.check_width(source.targets.len(), insert, columns, query.location)?;
        let item = self.computed_item()?;
        for (slot, position) in columns.iter().take(source.targets.len()).enumerate() {
            let column = &relation.columns[*position];
            if self.overridden(insert.overriding, column, relation, *position)? {
                continue;
            }
            let part = part_of(insert, slot);
            let wanted = match part {
                None => column.ty,
                Some(part) => {
                    self.part_type(column.ty, part, &part.indirection, Location::NONE)?
                        .0
                }
            };
            let found = self.type_of(&source.targets[slot].expr);
            if found.oid == oid::UNKNOWN {
                self.retype(&mut source, slot, ColumnType::new(wanted.oid), "INSERT")?;
            }
            let ty = source.targets[slot].expr.ty();
            let value = Expr::Variable {
                relation: item,
                column: slot as u16,
                ty,
                location: -1,
            };
            let place = source.targets[slot].location;
            let value = match part {
                None => self.coerce_assignment(value, &column.name, column.ty, place)?,
                Some(part) => self.value_of_part(part, column.ty, Location::NONE, value, place)?,
            };
            self.give_one(value, part, column.ty, &mut given[*position])?;
        }
        bound.source = Some(source);
        bound.source_item = item;
        Ok(())
    }

    /// May a value be given for this column? True if it is to be ignored in favour of the default.
    fn overridden(
        &self,
        overriding: Overriding,
        column: &Column,
        relation: &Relation,
        position: usize,
    ) -> SqlResult<bool> {
        debug_assert!(position < relation.columns.len());
        if column.generated.is_some() {
            let message = format!(
                "cannot insert a non-DEFAULT value into column \"{}\"",
                column.name
            );
            return Err(SqlError::new(GENERATED_ALWAYS, message)
                .detail(format!("Column \"{}\" is a generated column.", column.name)));
        }
        match (column.identity, overriding) {
            (Some(_), Overriding::User) => Ok(true),
            (Some(Identity::Always), Overriding::None) => {
                let message = format!(
                    "cannot insert a non-DEFAULT value into column \"{}\"",
                    column.name
                );
                Err(SqlError::new(GENERATED_ALWAYS, message)
                    .detail(format!(
                        "Column \"{}\" is an identity column defined as GENERATED ALWAYS.",
                        column.name
                    ))
                    .hint("Use OVERRIDING SYSTEM VALUE to override."))
            }
            _ => Ok(false),
        }
    }
}

/// The part of a column that the list names in this place, where it is not the whole column.
fn part_of(insert: &ast::Insert, slot: usize) -> Option<&ast::ColumnTarget> {
    let target = insert.columns.get(slot)?;
    (!target.indirection.is_empty()).then_some(target)
}

/// Which columns a list of one value per column gives.
pub(in crate::bind) fn positions_given(given: &[Option<Expr>]) -> Vec<u16> {
    let positions = given.iter().enumerate();
    let given = positions.filter(|(_, value)| value.is_some());
    given.map(|(position, _)| position as u16).collect()
}
