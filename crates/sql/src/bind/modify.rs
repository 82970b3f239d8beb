//! INSERT, UPDATE, DELETE: targets, defaults, identity and generated columns, RETURNING.
//!
//! Invariant: every column of a new row has an expression of exactly the column's type; generated columns are computed
//! last, over the finished row.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult, SqlState};
use mote_types::catalog::user::is_composite;
use mote_types::{ColumnType, Datum, oid};

use super::Binder;
use super::domain::column_default;
use super::query::{
    BoundInsert, BoundModify, BoundQuery, BoundRow, BoundTarget, ModifyKind, QueryBody, SelectBody,
};
use super::relation_expression::RelationExpression;
use super::scope::{Clause, Level, ScopeItem};
use super::select::conjuncts;
use super::updatable_view::{Change, UpdatableView};
use crate::access::{Command, RelationLock, privilege};
use crate::builtin::cast::CastUse;
use crate::catalog::inheritance::Member;
use crate::catalog::trigger::TriggerEvents;
use crate::catalog::{Column, ConstraintKind, Identity, Relation, RelationKind};
use crate::clause::FiredTrigger;
use crate::expr::{Expr, SequenceCall, SubPlanKind};
use mote_grammar::ast;
use mote_grammar::ast::{Assignment, ExprKind, InsertSource, Location, Overriding};

const GENERATED_ALWAYS: SqlState = SqlState::new("428C9");

/// What a statement changes.
struct Changed {
    /// The table, also of a view.
    relation: Arc<Relation>,
    target: u16,
    /// What the statement named, for its expressions.
    scope: ScopeItem,
    view: Option<(Arc<Relation>, UpdatableView)>,
}

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

/// Positions of the columns that a SET list names.
pub(super) fn assigned_columns(assignments: &[Assignment], relation: &Relation) -> Vec<u16> {
    let targets = assignments.iter().flat_map(|assignment| match assignment {
        Assignment::Single { column, .. } => std::slice::from_ref(column),
        Assignment::Multiple { columns, .. } => columns.as_slice(),
    });
    let position = |target: &ast::ColumnTarget| {
        let named = |column: &Column| !column.dropped && *column.name == *target.name;
        relation
            .columns
            .iter()
            .position(named)
            .map(|position| position as u16)
    };
    targets.filter_map(position).collect()
}

impl Binder<'_> {
    /// The relation a statement modifies.
    pub(super) fn modified_relation(
        &mut self,
        reference: &ast::RelationReference,
        privileges: u32,
    ) -> SqlResult<Arc<Relation>> {
        let name = &reference.name;
        if name.schema.is_none() && self.cte_names.iter().any(|(known, _)| *known == name.name) {
            let message = format!(
                "relation \"{}\" cannot be the target of a modifying statement",
                name.name
            );
            return Err(self.error(state::WRONG_OBJECT_TYPE, name.location, message));
        }
        let relation = self.find_relation(name)?;
        match relation.kind {
            RelationKind::Table => {}
            RelationKind::View => return Err(SqlError::internal("a view is taken apart before")),
            RelationKind::Virtual => {
                let message = format!("permission denied: \"{}\" is a system catalog", relation.name);
                return Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message));
            }
            RelationKind::Sequence => {
                let message = format!("cannot change sequence \"{}\"", relation.name);
                return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
            }
            RelationKind::Index => {
                let message = format!("cannot open relation \"{}\"", relation.name);
                return Err(self
                    .error(state::WRONG_OBJECT_TYPE, name.location, message)
                    .detail("This operation is not supported for indexes."));
            }
        }
        self.access(&relation, RelationLock::RowExclusive, privileges);
        Ok(relation)
    }

    /// What a statement changes: a table, or what is behind a view.
    fn changed(
        &mut self,
        reference: &ast::RelationReference,
        change: Change,
        privileges: u32,
    ) -> SqlResult<Changed> {
        let name = &reference.name;
        let is_cte = name.schema.is_none() && self.cte_names.iter().any(|(known, _)| *known == name.name);
        let view = match is_cte {
            true => None,
            false => Some(self.find_relation(name)?).filter(|found| found.kind == RelationKind::View),
        };
        let Some(view) = view else {
            let relation = self.modified_relation(reference, privileges)?;
            // What is below a table that rows are inserted into is locked when the first row goes there.
            let only = reference.only || matches!(change, Change::Insert);
            let reference = ast::RelationReference {
                only,
                ..reference.clone()
            };
            let (target, alias) = self.target_item(&reference, &relation)?;
            return Ok(Changed {
                relation,
                target,
                scope: ScopeItem::item(alias, target),
                view: None,
            });
        };
        self.access(&view, RelationLock::AccessShare, privileges);
        let taken = self.updatable_view(&view, change, privileges, false)?;
        let alias = reference
            .alias
            .as_ref()
            .map_or(&reference.name.name, |alias| &alias.name)
            .clone();
        Ok(Changed {
            relation: taken.relation.clone(),
            target: taken.target,
            scope: taken.scope(alias),
            view: Some((view, taken)),
        })
    }

    pub(super) fn target_item(
        &mut self,
        reference: &ast::RelationReference,
        relation: &Arc<Relation>,
    ) -> SqlResult<(u16, ast::Name)> {
        let alias = reference
            .alias
            .as_ref()
            .map_or(&reference.name.name, |alias| &alias.name)
            .clone();
        let lock = RelationLock::RowExclusive;
        let item = self.relation_range_item(alias.clone(), relation, Vec::new(), reference.only, lock)?;
        Ok((item, alias))
    }

    fn target_column(&self, relation: &Relation, name: &str, location: Location) -> SqlResult<usize> {
        let found = relation
            .columns
            .iter()
            .position(|column| !column.dropped && column.name == name);
        found.ok_or_else(|| {
            let message = format!(
                "column \"{name}\" of relation \"{}\" does not exist",
                relation.name
            );
            self.error(state::UNDEFINED_COLUMN, location, message)
        })
    }

    pub(super) fn insert(&mut self, insert: &ast::Insert) -> SqlResult<BoundModify> {
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
    pub(super) fn insert_columns(&self, insert: &ast::Insert, relation: &Relation) -> SqlResult<Vec<usize>> {
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
            if !column.indirection.is_empty() {
                return Err(SqlError::unsupported("INSERT into a part of a column"));
            }
            let position = self.target_column(relation, &column.name, column.location)?;
            if columns.contains(&position) {
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
                    for (position, expr) in columns.iter().zip(row) {
                        given[*position] = Some(expr);
                    }
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
    pub(super) fn values_row(
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
        for (position, expr) in columns.iter().zip(row) {
            let column = &relation.columns[*position];
            if matches!(expr.kind, ExprKind::Default) {
                bound.push(self.default_value(relation, *position)?);
                continue;
            }
            if self.overridden(insert.overriding, column, relation, *position)? {
                bound.push(self.default_value(relation, *position)?);
                continue;
            }
            let value = self.expression(expr)?;
            bound.push(self.coerce_assignment(value, &column.name, column.ty, expr.start())?);
        }
        self.levels.pop();
        Ok(bound)
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
        let targets = columns.iter().take(width).enumerate().map(|(slot, position)| {
            let ty = relation.columns[*position].ty;
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
        for (slot, position) in columns.iter().take(width).enumerate() {
            let ty = relation.columns[*position].ty;
            given[*position] = Some(Expr::Variable {
                relation: source_item,
                column: slot as u16,
                ty,
                location: -1,
            });
        }
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
            let found = self.type_of(&source.targets[slot].expr);
            if found.oid == oid::UNKNOWN {
                self.retype(&mut source, slot, ColumnType::new(column.ty.oid), "INSERT")?;
            }
            let ty = source.targets[slot].expr.ty();
            let value = Expr::Variable {
                relation: item,
                column: slot as u16,
                ty,
                location: -1,
            };
            let place = source.targets[slot].location;
            given[*position] = Some(self.coerce_assignment(value, &column.name, column.ty, place)?);
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

    /// The default of a column: identity, written default, or NULL.
    pub(super) fn default_value(&mut self, relation: &Arc<Relation>, position: usize) -> SqlResult<Expr> {
        let column = &relation.columns[position];
        let null = Expr::Constant(Datum::Null, column.ty);
        if column.dropped || column.generated.is_some() {
            return Ok(null);
        }
        if column.identity.is_some()
            && let Some(sequence) = column.owned_sequence
        {
            let argument = Expr::Constant(Datum::oid(sequence), ColumnType::new(oid::REGCLASS));
            let next = Expr::Sequence {
                call: SequenceCall::NextIdentity,
                arguments: vec![argument],
                ty: ColumnType::INT8,
            };
            return self.coerce_assignment(next, &column.name, column.ty, Location::NONE);
        }
        let Some(text) = column_default(column, self.catalog) else {
            return Ok(null);
        };
        let target = Some((column.name.as_str(), column.ty));
        self.stored_expression(&text, relation, RelationExpression::Default, target)
    }

    /// Generated columns whose inputs `touched` may have changed.
    pub(super) fn generated_columns(
        &mut self,
        relation: &Arc<Relation>,
        touched: &dyn Fn(u16) -> bool,
    ) -> SqlResult<Vec<(u16, Expr)>> {
        let mut generated = Vec::new();
        for (position, column) in relation.columns.iter().enumerate() {
            let Some(text) = column.generated.as_ref().filter(|_| !column.dropped) else {
                continue;
            };
            let target = Some((column.name.as_str(), column.ty));
            let expr = self.stored_expression(text, relation, RelationExpression::Generated, target)?;
            let depends =
                expr.any(&mut |inner| matches!(inner, Expr::Column { index, .. } if touched(*index)));
            if depends || touched(position as u16) {
                generated.push((position as u16, expr));
            }
        }
        Ok(generated)
    }

    pub(super) fn checks(&mut self, relation: &Arc<Relation>) -> SqlResult<Vec<(String, Expr)>> {
        let mut checks = self.domain_checks(relation)?;
        for constraint in &relation.constraints {
            let ConstraintKind::Check(text) = &constraint.kind else {
                continue;
            };
            let expr = self.stored_expression(text, relation, RelationExpression::Check, None)?;
            checks.push((constraint.name.clone(), expr));
        }
        Ok(checks)
    }

    fn returning(
        &mut self,
        returning: Option<&ast::Returning>,
        relation: &Relation,
    ) -> SqlResult<Option<Vec<BoundTarget>>> {
        let Some(returning) = returning else {
            return Ok(None);
        };
        if returning.old_alias.is_some() || returning.new_alias.is_some() {
            return Err(SqlError::unsupported("RETURNING WITH"));
        }
        self.access(relation, RelationLock::RowExclusive, privilege::SELECT);
        let targets = self.in_clause(Clause::Returning, |this| this.targets(&returning.targets, true))?;
        Ok(Some(targets))
    }

    pub(super) fn update(&mut self, update: &ast::Update) -> SqlResult<BoundModify> {
        let known = self.cte_names.len();
        if let Some(with) = &update.with {
            self.with_clause(with)?;
        }
        let Changed {
            relation,
            target,
            scope,
            view,
        } = self.changed(&update.table, Change::Update, privilege::UPDATE)?;
        self.levels.push(Level::new(Clause::Update));
        self.level().items.push(scope);
        let mut from = self.modify_from(target, &update.from)?;
        let assignments = match &view {
            None => self.assignments(&update.assignments, &relation, target)?,
            Some((_, view)) => {
                let behind = view.assignments_behind("update", &update.assignments, self)?;
                self.assignments(&behind, &relation, target)?
            }
        };
        from.filter = self.modify_filter(update.filter.as_ref())?;
        let named = view.as_ref().map_or(&relation, |(view, _)| view).clone();
        let reads = !from.filter.is_empty()
            || assignments.iter().any(|(_, expr)| {
                expr.any(&mut |e| matches!(e, Expr::Variable { relation, .. } if *relation == target))
            });
        if reads {
            self.access(&named, RelationLock::RowExclusive, privilege::SELECT);
        }
        let mut view_checks = Vec::new();
        if let Some((_, mut view)) = view {
            view_checks = std::mem::take(&mut view.checks);
            from.filter.extend(view.into_filter());
        }
        let assigned: Vec<u16> = assignments.iter().map(|(position, _)| *position).collect();
        let assignments = assignments
            .into_iter()
            .filter(|(p, _)| relation.columns[*p as usize].generated.is_none())
            .collect();
        let rows = self.updated_rows(target, &relation, &assigned)?;
        let is_assigned = |column: u16| assigned.contains(&column);
        let triggers = self.fired_triggers(&relation, TriggerEvents::UPDATE, false, &is_assigned)?;
        let returning = self.returning(update.returning.as_ref(), &named)?;
        self.levels.pop();
        self.cte_names.truncate(known);
        let kind = ModifyKind::Update {
            from,
            assignments,
            rows,
        };
        Ok(BoundModify {
            command: Command::Update,
            target,
            relation,
            kind,
            triggers,
            returning,
            view_checks,
        })
    }

    /// What each table that an UPDATE changes computes and checks; `assigned` are columns of the relation it names.
    pub(super) fn updated_rows(
        &mut self,
        target: u16,
        relation: &Arc<Relation>,
        assigned: &[u16],
    ) -> SqlResult<Vec<BoundRow>> {
        let Some(expansion) = self.items[target as usize].expansion.clone() else {
            return Ok(vec![self.updated_row(relation, assigned)?]);
        };
        let row = |member: &Member| {
            let assigned: Vec<u16> = assigned
                .iter()
                .filter_map(|position| member.map.get(*position))
                .collect();
            self.updated_row(&member.relation, &assigned)
        };
        expansion.members.iter().map(row).collect()
    }

    fn updated_row(&mut self, relation: &Arc<Relation>, assigned: &[u16]) -> SqlResult<BoundRow> {
        let events = TriggerEvents::UPDATE;
        // A trigger may change any column.
        let any = relation.has_before_row_triggers(events);
        let generated = self.generated_columns(relation, &|column| any || assigned.contains(&column))?;
        // A row that moves to another partition is deleted here.
        let fired = TriggerEvents {
            delete: relation.is_partition(),
            ..events
        };
        let changed = |column: u16| {
            assigned.contains(&column) || generated.iter().any(|(position, _)| *position == column)
        };
        Ok(BoundRow {
            checks: self.checks(relation)?,
            triggers: self.fired_triggers(relation, fired, true, &changed)?,
            generated,
        })
    }

    /// The triggers of each table that a DELETE takes rows from.
    pub(super) fn deleted_rows(
        &mut self,
        target: u16,
        relation: &Arc<Relation>,
    ) -> SqlResult<Vec<Vec<FiredTrigger>>> {
        let members = match &self.items[target as usize].expansion {
            None => vec![relation.clone()],
            Some(expansion) => {
                let members = expansion.members.iter();
                members.map(|member| member.relation.clone()).collect()
            }
        };
        let fired = |member| self.fired_triggers(member, TriggerEvents::DELETE, true, &|_| true);
        members.iter().map(fired).collect()
    }

    /// The FROM items of UPDATE and DELETE: the target first.
    fn modify_from(&mut self, target: u16, items: &[ast::FromItem]) -> SqlResult<SelectBody> {
        let mut from = vec![super::query::FromTree::Item(target)];
        from.extend(self.in_clause(Clause::From, |this| this.from_clause(items))?);
        Ok(SelectBody {
            from,
            ..SelectBody::default()
        })
    }

    fn modify_filter(&mut self, filter: Option<&ast::Expr>) -> SqlResult<Vec<Expr>> {
        match filter {
            None => Ok(Vec::new()),
            Some(filter) => {
                Ok(conjuncts(self.in_clause(Clause::Where, |this| {
                    this.condition(filter, "WHERE")
                })?))
            }
        }
    }

    /// SET lists of UPDATE and ON CONFLICT DO UPDATE.
    pub(super) fn assignments(
        &mut self,
        assignments: &[Assignment],
        relation: &Arc<Relation>,
        target: u16,
    ) -> SqlResult<Vec<(u16, Expr)>> {
        let mut bound: Vec<(u16, Expr)> = Vec::with_capacity(assignments.len());
        for assignment in assignments {
            match assignment {
                Assignment::Single { column, value } => {
                    self.assignment(column, value, relation, target, &mut bound)?;
                }
                Assignment::Multiple { columns, source } => match &source.kind {
                    ExprKind::Row { fields, .. } => {
                        if fields.len() != columns.len() {
                            let message = "number of columns does not match number of values";
                            return Err(self.error(state::SYNTAX_ERROR, source.location, message));
                        }
                        for (column, value) in columns.iter().zip(fields) {
                            self.assignment(column, value, relation, target, &mut bound)?;
                        }
                    }
                    ExprKind::ScalarQuery(query) => {
                        for (slot, column) in columns.iter().enumerate() {
                            let value = self.query_assignment(slot, columns.len(), query)?;
                            let place = column.location;
                            self.assign(column, value, place, relation, target, &mut bound)?;
                        }
                    }
                    _ => {
                        let message = "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression";
                        return Err(self.error(state::FEATURE_NOT_SUPPORTED, source.location, message));
                    }
                },
            }
        }
        Ok(bound)
    }

    fn assignment(
        &mut self,
        column: &ast::ColumnTarget,
        value: &ast::Expr,
        relation: &Arc<Relation>,
        target: u16,
        bound: &mut Vec<(u16, Expr)>,
    ) -> SqlResult<()> {
        if matches!(value.kind, ExprKind::Default) {
            let position = self.target_column(relation, &column.name, column.location)?;
            if !column.indirection.is_empty() {
                let message = "cannot set an array element to DEFAULT";
                return Err(self.error(state::FEATURE_NOT_SUPPORTED, column.location, message));
            }
            let value = self.default_value(relation, position)?;
            return push_assignment(bound, position, value, column);
        }
        let value = self.expression(value).map(|bound| (bound, value.start()))?;
        self.assign(column, value.0, value.1, relation, target, bound)
    }

    /// Adds one assignment; those to several elements of a column build on each other.
    fn assign(
        &mut self,
        column: &ast::ColumnTarget,
        value: Expr,
        place: Location,
        relation: &Arc<Relation>,
        target: u16,
        bound: &mut Vec<(u16, Expr)>,
    ) -> SqlResult<()> {
        let position = self.target_column(relation, &column.name, column.location)?;
        let description = &relation.columns[position];
        let detail = if description.generated.is_some() {
            Some("is a generated column.")
        } else if description.identity == Some(Identity::Always) {
            Some("is an identity column defined as GENERATED ALWAYS.")
        } else {
            None
        };
        if let Some(detail) = detail {
            let message = format!("column \"{}\" can only be updated to DEFAULT", description.name);
            return Err(SqlError::new(GENERATED_ALWAYS, message)
                .detail(format!("Column \"{}\" {detail}", description.name)));
        }
        if column.indirection.is_empty() {
            let value = self.coerce_assignment(value, &description.name, description.ty, place)?;
            return push_assignment(bound, position, value, column);
        }
        let earlier = bound.iter().position(|(known, expr)| {
            *known as usize == position
                && (matches!(expr, Expr::SubscriptAssign { .. })
                    || keeps_fields_of(expr, target, position as u16))
        });
        let container = match earlier {
            Some(earlier) => bound.remove(earlier).1,
            None => self.variable(target, position, column.location),
        };
        let value = self.part_assignment(container, column, &column.indirection, value, place)?;
        push_assignment(bound, position, value, column)
    }

    /// `column.field = value`: the row with the field replaced. A NULL becomes a row of NULLs around it, as in PostgreSQL.
    fn part_assignment(
        &mut self,
        container: Expr,
        column: &ast::ColumnTarget,
        steps: &[ast::IndirectionStep],
        value: Expr,
        place: Location,
    ) -> SqlResult<Expr> {
        let [ast::IndirectionStep::Field(name), rest @ ..] = steps else {
            return self.element_assignment(container, column, steps, value, place);
        };
        let ty = container.ty();
        let label = super::type_label(ty.oid);
        let fields = match is_composite(ty.oid) {
            true => self.fields(&container, column.location),
            false => None,
        };
        let Some(fields) = fields else {
            let message = format!(
                "cannot assign to field \"{name}\" of column \"{}\" because its type {label} is not a composite type",
                column.name
            );
            return Err(self.error(state::DATATYPE_MISMATCH, column.location, message));
        };
        let Some(at) = fields.iter().position(|(known, _)| known == name) else {
            let message = format!(
                "cannot assign to field \"{name}\" of column \"{}\" because there is no such column in data type {label}",
                column.name
            );
            return Err(self.error(state::UNDEFINED_COLUMN, column.location, message));
        };
        let (names, mut fields): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
        let wanted = fields[at].ty();
        fields[at] = match rest {
            [] => {
                let found = self.type_of(&value).oid;
                match self.try_coerce(value, wanted, CastUse::Assignment, place)? {
                    Some(value) => value,
                    None => {
                        let message = format!(
                            "subfield \"{name}\" is of type {} but expression is of type {}",
                            super::type_label(wanted.oid),
                            super::type_label(found)
                        );
                        return Err(self
                            .error(state::DATATYPE_MISMATCH, column.location, message)
                            .hint("You will need to rewrite or cast the expression."));
                    }
                }
            }
            rest => {
                let inner = fields[at].clone();
                self.part_assignment(inner, column, rest, value, place)?
            }
        };
        Ok(Expr::Row { fields, names, ty })
    }

    /// `column[i] = value`: the array with the element or slice replaced.
    fn element_assignment(
        &mut self,
        container: Expr,
        column: &ast::ColumnTarget,
        steps: &[ast::IndirectionStep],
        value: Expr,
        place: Location,
    ) -> SqlResult<Expr> {
        let ty = container.ty();
        let is_field = |step: &ast::IndirectionStep| matches!(step, ast::IndirectionStep::Field(_));
        if steps.iter().any(is_field) {
            return Err(SqlError::unsupported(
                "assignment to a field of an array's element",
            ));
        }
        if ty.oid == oid::JSONB {
            return Err(SqlError::unsupported("assignment to a subscript of jsonb"));
        }
        let subscripted = self.subscripts(container, steps, column.location)?;
        let Expr::Subscript {
            array,
            subscripts,
            ty: wanted,
        } = subscripted
        else {
            return Err(SqlError::internal("subscripts bind to a subscript"));
        };
        let found = self.type_of(&value);
        let value = match self.try_coerce(value, wanted, CastUse::Assignment, place)? {
            Some(value) => value,
            None => {
                let message = format!(
                    "subscripted assignment to \"{}\" requires type {} but expression is of type {}",
                    column.name,
                    super::type_label(wanted.oid),
                    super::type_label(found.oid)
                );
                return Err(self
                    .error(state::DATATYPE_MISMATCH, column.location, message)
                    .hint("You will need to rewrite or cast the expression."));
            }
        };
        Ok(Expr::SubscriptAssign {
            container: array,
            subscripts,
            value: Box::new(value),
            ty,
        })
    }

    /// One column of `(a, b) = (SELECT ..)`: the query once per column, with that column alone.
    fn query_assignment(&mut self, slot: usize, width: usize, query: &ast::Query) -> SqlResult<Expr> {
        let mut bound = self.query(query)?;
        if bound.targets.len() != width {
            let message = "number of columns does not match number of values";
            return Err(self.error(state::SYNTAX_ERROR, query.location, message));
        }
        let wrapped = bound.distinct.is_none() && !matches!(bound.body, QueryBody::SetOperation { .. });
        if !wrapped {
            return Err(SqlError::unsupported(
                "DISTINCT or UNION in a multiple-column UPDATE item",
            ));
        }
        bound.targets = vec![bound.targets.swap_remove(slot)];
        let ty = bound.targets[0].expr.ty();
        self.subplan(bound, SubPlanKind::Scalar, ty)
    }

    pub(super) fn delete(&mut self, delete: &ast::Delete) -> SqlResult<BoundModify> {
        let known = self.cte_names.len();
        if let Some(with) = &delete.with {
            self.with_clause(with)?;
        }
        let Changed {
            relation,
            target,
            scope,
            view,
        } = self.changed(&delete.table, Change::Delete, privilege::DELETE)?;
        let named = view.as_ref().map_or(&relation, |(view, _)| view).clone();
        self.levels.push(Level::new(Clause::Where));
        self.level().items.push(scope);
        let mut from = self.modify_from(target, &delete.using)?;
        from.filter = self.modify_filter(delete.filter.as_ref())?;
        if !from.filter.is_empty() {
            self.access(&named, RelationLock::RowExclusive, privilege::SELECT);
        }
        if let Some((_, view)) = view {
            from.filter.extend(view.into_filter());
        }
        let returning = self.returning(delete.returning.as_ref(), &named)?;
        self.levels.pop();
        self.cte_names.truncate(known);
        let fired = self.deleted_rows(target, &relation)?;
        let events = TriggerEvents::DELETE;
        let triggers = self.fired_triggers(&relation, events, false, &|_| true)?;
        let kind = ModifyKind::Delete {
            from,
            triggers: fired,
        };
        Ok(BoundModify {
            command: Command::Delete,
            target,
            relation,
            kind,
            triggers,
            returning,
            view_checks: Vec::new(),
        })
    }
}

/// A column is assigned once.
/// A row of which an earlier assignment has replaced some fields: the others are those of the column.
fn keeps_fields_of(expr: &Expr, target: u16, position: u16) -> bool {
    let of_column = |field: &Expr| match field {
        Expr::FieldSelect { record, .. } => {
            matches!(&**record, Expr::Variable { relation, column, .. } if (*relation, *column) == (target, position))
        }
        _ => false,
    };
    matches!(expr, Expr::Row { fields, .. } if fields.iter().any(of_column))
}

fn push_assignment(
    bound: &mut Vec<(u16, Expr)>,
    position: usize,
    value: Expr,
    column: &ast::ColumnTarget,
) -> SqlResult<()> {
    if bound.iter().any(|(known, _)| *known as usize == position) {
        let message = format!("multiple assignments to same column \"{}\"", column.name);
        return Err(SqlError::new(state::SYNTAX_ERROR, message));
    }
    bound.push((position as u16, value));
    Ok(())
}

/// Which columns a list of one value per column gives.
pub(super) fn positions_given(given: &[Option<Expr>]) -> Vec<u16> {
    let positions = given.iter().enumerate();
    let given = positions.filter(|(_, value)| value.is_some());
    given.map(|(position, _)| position as u16).collect()
}
