//! INSERT, UPDATE, DELETE: targets, defaults, identity and generated columns, RETURNING.
//!
//! Invariant: every column of a new row has an expression of exactly the column's type; generated columns are computed
//! last, over the finished row.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult, SqlState};
use mote_types::{ColumnType, Datum, oid};

use super::Binder;
use super::query::{
    BoundInsert, BoundModify, BoundQuery, BoundTarget, ItemKind, ModifyKind, QueryBody, SelectBody,
};
use super::relation_expression::RelationExpression;
use super::scope::{Clause, Level, ScopeItem};
use super::select::conjuncts;
use crate::ast::{self, Assignment, ExprKind, InsertSource, Location, Overriding};
use crate::catalog::cast::CastUse;
use crate::catalog::{Column, ConstraintKind, Identity, Relation, RelationKind};
use crate::plan::expr::{Expr, SequenceCall, SubPlanKind};
use crate::plan::{Command, RelationLock, privilege};

const GENERATED_ALWAYS: SqlState = SqlState::new("428C9");

impl Binder<'_> {
    /// The relation a statement modifies.
    fn modified_relation(
        &mut self,
        reference: &ast::RelationReference,
        verb: &str,
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
            RelationKind::View => return Err(SqlError::unsupported(format_args!("{verb} on a view"))),
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

    fn target_item(
        &mut self,
        reference: &ast::RelationReference,
        relation: &Arc<Relation>,
    ) -> SqlResult<(u16, ast::Name)> {
        let alias = reference
            .alias
            .as_ref()
            .map_or(&reference.name.name, |alias| &alias.name)
            .clone();
        let item = self.add_item(alias.clone(), ItemKind::Relation(relation.clone()), Vec::new())?;
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
        let privileges = privilege::INSERT
            | if update {
                privilege::UPDATE | privilege::SELECT
            } else {
                0
            };
        let relation = self.modified_relation(&insert.table, "INSERT", privileges)?;
        let (target, alias) = self.target_item(&insert.table, &relation)?;
        let columns = self.insert_columns(insert, &relation)?;
        let mut bound = self.insert_source(insert, &relation, &columns)?;
        bound.generated = self.generated_columns(&relation, &|_| true)?;
        bound.checks = self.checks(&relation)?;
        self.levels.push(Level::new(Clause::Returning));
        self.level().items.push(ScopeItem::item(alias, target));
        if let Some(conflict) = &insert.on_conflict {
            let (conflict, excluded) = self.on_conflict(conflict, &relation, target)?;
            bound.on_conflict = Some(conflict);
            bound.excluded = excluded;
        }
        let returning = self.returning(insert.returning.as_ref(), &relation)?;
        self.levels.pop();
        self.cte_names.truncate(known);
        let kind = ModifyKind::Insert(bound);
        Ok(BoundModify {
            command: Command::Insert,
            target,
            relation,
            kind,
            returning,
        })
    }

    /// Positions of the columns that values are given for.
    fn insert_columns(&self, insert: &ast::Insert, relation: &Relation) -> SqlResult<Vec<usize>> {
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
            generated: Vec::new(),
            checks: Vec::new(),
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
    fn values_row(
        &mut self,
        row: &[ast::Expr],
        insert: &ast::Insert,
        relation: &Arc<Relation>,
        columns: &[usize],
    ) -> SqlResult<Vec<Expr>> {
        let place = row
            .get(columns.len())
            .map_or(Location::NONE, |expr| expr.location);
        self.check_width(row.len(), insert, columns, place)?;
        self.levels.push(Level::new(Clause::Values));
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
        let width = rows[0].len();
        let mut converted = Vec::with_capacity(rows.len());
        for row in rows {
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
    fn default_value(&mut self, relation: &Arc<Relation>, position: usize) -> SqlResult<Expr> {
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
                call: SequenceCall::NextValue,
                arguments: vec![argument],
                ty: ColumnType::INT8,
            };
            return self.coerce_assignment(next, &column.name, column.ty, Location::NONE);
        }
        let Some(text) = &column.default else {
            return Ok(null);
        };
        let target = Some((column.name.as_str(), column.ty));
        self.stored_expression(text, relation, RelationExpression::Default, target)
    }

    /// Generated columns whose inputs `touched` may have changed.
    fn generated_columns(
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

    fn checks(&mut self, relation: &Arc<Relation>) -> SqlResult<Vec<(String, Expr)>> {
        let mut checks = Vec::new();
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
        let relation = self.modified_relation(&update.table, "UPDATE", privilege::UPDATE)?;
        let (target, alias) = self.target_item(&update.table, &relation)?;
        self.levels.push(Level::new(Clause::Update));
        self.level().items.push(ScopeItem::item(alias, target));
        let mut from = self.modify_from(target, &update.from)?;
        let assignments = self.assignments(&update.assignments, &relation, target)?;
        from.filter = self.modify_filter(update.filter.as_ref())?;
        let reads = !from.filter.is_empty()
            || assignments.iter().any(|(_, expr)| {
                expr.any(&mut |e| matches!(e, Expr::Variable { relation, .. } if *relation == target))
            });
        if reads {
            self.access(&relation, RelationLock::RowExclusive, privilege::SELECT);
        }
        let assigned: Vec<u16> = assignments.iter().map(|(position, _)| *position).collect();
        let mut generated = self.generated_columns(&relation, &|column| assigned.contains(&column))?;
        generated.retain(|(position, _)| {
            !assigned.contains(position) || relation.columns[*position as usize].generated.is_some()
        });
        let assignments = assignments
            .into_iter()
            .filter(|(p, _)| relation.columns[*p as usize].generated.is_none())
            .collect();
        let checks = self.checks(&relation)?;
        let returning = self.returning(update.returning.as_ref(), &relation)?;
        self.levels.pop();
        self.cte_names.truncate(known);
        let kind = ModifyKind::Update {
            from,
            assignments,
            generated,
            checks,
        };
        Ok(BoundModify {
            command: Command::Update,
            target,
            relation,
            kind,
            returning,
        })
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
            *known as usize == position && matches!(expr, Expr::SubscriptAssign { .. })
        });
        let container = match earlier {
            Some(earlier) => bound.remove(earlier).1,
            None => self.variable(target, position, column.location),
        };
        let value = self.element_assignment(container, column, value, place)?;
        push_assignment(bound, position, value, column)
    }

    /// `column[i] = value`: the array with the element or slice replaced.
    fn element_assignment(
        &mut self,
        container: Expr,
        column: &ast::ColumnTarget,
        value: Expr,
        place: Location,
    ) -> SqlResult<Expr> {
        let ty = container.ty();
        let is_field = |step: &ast::IndirectionStep| matches!(step, ast::IndirectionStep::Field(_));
        if column.indirection.iter().any(is_field) {
            let name = super::type_label(ty.oid);
            let message = format!(
                "cannot assign to field of column \"{}\" because its type {name} is not a composite type",
                column.name
            );
            return Err(self.error(state::DATATYPE_MISMATCH, column.location, message));
        }
        if ty.oid == oid::JSONB {
            return Err(SqlError::unsupported("assignment to a subscript of jsonb"));
        }
        let subscripted = self.subscripts(container, &column.indirection, column.location)?;
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
        let relation = self.modified_relation(&delete.table, "DELETE", privilege::DELETE)?;
        let (target, alias) = self.target_item(&delete.table, &relation)?;
        self.levels.push(Level::new(Clause::Where));
        self.level().items.push(ScopeItem::item(alias, target));
        let mut from = self.modify_from(target, &delete.using)?;
        from.filter = self.modify_filter(delete.filter.as_ref())?;
        if !from.filter.is_empty() {
            self.access(&relation, RelationLock::RowExclusive, privilege::SELECT);
        }
        let returning = self.returning(delete.returning.as_ref(), &relation)?;
        self.levels.pop();
        self.cte_names.truncate(known);
        let kind = ModifyKind::Delete { from };
        Ok(BoundModify {
            command: Command::Delete,
            target,
            relation,
            kind,
            returning,
        })
    }
}

/// A column is assigned once.
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
