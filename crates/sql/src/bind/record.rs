//! What records are made of: the names and types behind a value of type `record`, as far as the statement tells.
//!
//! A record comes from a whole row, from ROW(..), from a function with OUT columns, or from a sub-query's column that is
//! one of these; the last are followed to where they are made, as PostgreSQL does.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::catalog::user::{is_composite, is_row, number_of};
use mote_types::{ColumnType, Datum, Oid, oid};

use super::query::{BoundCteStatement, BoundQuery, ItemKind, QueryBody, WHOLE_ROW};
use super::{Binder, type_label};
use crate::builtin::cast::CastUse;
use crate::builtin::function::record_columns;
use crate::expr::Expr;
use mote_grammar::ast::{self, Location, Name};

/// A literal in ROW(..) became a text for lack of anything better; where the row gets a type it takes its own part of it.
fn untyped_literal(field: Expr) -> Expr {
    match field {
        Expr::Constant(value @ (Datum::Null | Datum::Text(_)), ColumnType::TEXT) => {
            Expr::Constant(value, ColumnType::UNKNOWN)
        }
        other => other,
    }
}

impl Binder<'_> {
    /// The columns of a record, if the statement or the record's type tells them.
    pub(super) fn record_columns(&self, record: &Expr) -> Option<Vec<(Name, ColumnType)>> {
        let told = self.told_columns(record);
        told.or_else(|| self.attributes(record.ty().oid))
    }

    /// The attributes of a composite type.
    pub(super) fn attributes(&self, ty: Oid) -> Option<Vec<(Name, ColumnType)>> {
        let row = self.catalog.row_type(ty)?;
        let named = row.names.iter().zip(&row.types);
        Some(named.map(|(name, ty)| (name.as_str().into(), *ty)).collect())
    }

    fn told_columns(&self, record: &Expr) -> Option<Vec<(Name, ColumnType)>> {
        match record {
            Expr::Call {
                function, arguments, ..
            } => {
                let types: Vec<ColumnType> = arguments.iter().map(Expr::ty).collect();
                let columns = record_columns(function.signature().body, &types)?;
                Some(columns.into_iter().map(|(name, ty)| (name.into(), ty)).collect())
            }
            // A row variable: its structure is the function's business.
            Expr::Parameter { index, .. } => self.names?.fields(*index).ok()?,
            Expr::Routine(call) => {
                let columns = call.columns.as_ref()?.iter();
                Some(columns.map(|(name, ty)| (name.as_str().into(), *ty)).collect())
            }
            Expr::Row { fields, names, .. } => {
                let named = |(position, field): (usize, &Expr)| match names.get(position) {
                    Some(name) => (name.clone(), field.ty()),
                    None => (format!("f{}", position + 1).into(), field.ty()),
                };
                Some(fields.iter().enumerate().map(named).collect())
            }
            Expr::Variable { relation, column, .. } if *column != WHOLE_ROW => {
                let open = self.levels.iter().find(|level| level.set_item == Some(*relation));
                if let Some(level) = open {
                    return self.record_columns(level.sets.get(*column as usize)?);
                }
                match &self.items[*relation as usize].kind {
                    ItemKind::Subquery(Some(query)) => self.record_of_target(query, *column),
                    ItemKind::Cte(number, _) => match &self.ctes[*number as usize].statement {
                        BoundCteStatement::Query(Some(query)) => self.record_of_target(query, *column),
                        _ => None,
                    },
                    _ => None,
                }
            }
            Expr::Variable { relation, .. } => {
                let columns = 0..self.column_count(*relation);
                let named = |position| {
                    self.column(*relation, position)
                        .map(|(name, ty)| (name.into(), ty))
                };
                Some(columns.filter_map(named).collect())
            }
            _ => None,
        }
    }

    fn record_of_target(&self, query: &BoundQuery, column: u16) -> Option<Vec<(Name, ColumnType)>> {
        let target = &query.targets.get(column as usize)?.expr;
        if let (Expr::Variable { relation, column, .. }, QueryBody::Select(body)) = (target, &query.body)
            && let Some((item, calls)) = &body.sets
            && item == relation
        {
            return self.record_columns(calls.get(*column as usize)?);
        }
        self.record_columns(target)
    }

    /// `(record).name`.
    pub(super) fn field(&mut self, record: Expr, name: &str, location: Location) -> SqlResult<Expr> {
        let ty = record.ty();
        if !is_row(ty.oid) {
            let message = format!(
                "column notation .{name} applied to type {}, which is not a composite type",
                type_label(ty.oid)
            );
            return Err(self.error(state::WRONG_OBJECT_TYPE, location, message));
        }
        let position = self
            .record_columns(&record)
            .and_then(|columns| columns.iter().position(|(column, _)| **column == *name));
        if let Some(position) = position {
            return Ok(self.field_at(&record, position, location));
        }
        let whole = match &record {
            Expr::Variable {
                relation,
                column: WHOLE_ROW,
                ..
            } => Some(self.items[usize::from(*relation)].alias.clone()),
            _ => None,
        };
        if let Some(made) = self.function_of_row(record, name, location)? {
            return Ok(made);
        }
        if let Some(table) = whole {
            return Err(self.undefined_column(Some(&table), name, location));
        }
        let message = match is_composite(ty.oid) {
            true => format!("column \"{name}\" not found in data type {}", type_label(ty.oid)),
            false => format!("could not identify column \"{name}\" in record data type"),
        };
        Err(self.error(state::UNDEFINED_COLUMN, location, message))
    }

    /// `row.name` where the row has no such field: what a user's function of that name makes of the row.
    pub(super) fn function_of_row(
        &mut self,
        row: Expr,
        name: &str,
        location: Location,
    ) -> SqlResult<Option<Expr>> {
        if !is_row(row.ty().oid) {
            return Ok(None);
        }
        // The argument is bound already: the call says how many there are, and that none has a name.
        let unwritten = ast::Expr {
            kind: ast::ExprKind::Constant(ast::Constant::Null),
            location,
        };
        let name = ast::QualifiedName {
            parts: vec![name.into()],
            location,
        };
        let call = ast::FunctionCall::plain(name, [unwritten], location);
        let routines = self.routines_called(&call);
        self.routine_call(&call, &routines, &[(row, location)])
    }

    /// A field by its position, one of those that [`Binder::record_columns`] tells of.
    fn field_at(&self, record: &Expr, position: usize, location: Location) -> Expr {
        match record {
            Expr::Row { fields, .. } => fields[position].clone(),
            Expr::Variable {
                relation,
                column: WHOLE_ROW,
                ..
            } => {
                // Dropped columns have a place but no name.
                let live = |position: &usize| self.column(*relation, *position).is_some();
                let place = (0..self.column_count(*relation)).filter(live).nth(position);
                self.variable(*relation, place.unwrap_or(position), location)
            }
            other => {
                let ty = self
                    .record_columns(other)
                    .map_or(ColumnType::TEXT, |columns| columns[position].1);
                Expr::FieldSelect {
                    record: Box::new(other.clone()),
                    field: position as u16,
                    ty,
                }
            }
        }
    }

    /// `(record).*`: the fields with their names.
    pub(super) fn fields(&self, record: &Expr, location: Location) -> Option<Vec<(Name, Expr)>> {
        let columns = self.record_columns(record)?.into_iter().enumerate();
        Some(
            columns
                .map(|(position, (name, _))| (name, self.field_at(record, position, location)))
                .collect(),
        )
    }

    /// A row on its way into a composite type. A `record` must show its fields: PostgreSQL takes ROW(..) and whole rows.
    pub(super) fn coerce_row(
        &mut self,
        row: Expr,
        target: ColumnType,
        context: CastUse,
        location: Location,
    ) -> SqlResult<Option<Expr>> {
        let is_whole = matches!(
            &row,
            Expr::Variable {
                column: WHOLE_ROW,
                ..
            }
        );
        if row.ty().oid != oid::RECORD {
            return match is_whole && self.inherits(number_of(row.ty().oid), number_of(target.oid)) {
                true => self.parent_row(&row, target, location).map(Some),
                false => Ok(None),
            };
        }
        if !is_whole && !matches!(row, Expr::Row { .. }) {
            return Ok(None);
        }
        let (Some(given), Some(wanted)) = (self.fields(&row, location), self.attributes(target.oid)) else {
            return Ok(None);
        };
        self.depend_on_type(target);
        let refused = |binder: &Self, detail: String| {
            let message = format!("cannot cast type record to {}", type_label(target.oid));
            Err(binder
                .error(state::CANNOT_COERCE, location, message)
                .detail(detail))
        };
        // A view goes on when its composite type has got further attributes: they are NULL, as in PostgreSQL.
        let is_older = self.is_inside_view() && given.len() < wanted.len();
        if given.len() != wanted.len() && !is_older {
            let number = if given.len() < wanted.len() { "few" } else { "many" };
            return refused(self, format!("Input has too {number} columns."));
        }
        let mut fields = Vec::with_capacity(wanted.len());
        let mut names = Vec::with_capacity(wanted.len());
        let mut given = given.into_iter();
        for (position, (name, ty)) in wanted.into_iter().enumerate() {
            names.push(name);
            let Some((_, field)) = given.next() else {
                fields.push(Expr::Constant(Datum::Null, ty));
                continue;
            };
            let field = untyped_literal(field);
            let from = self.type_of(&field).oid;
            match self.try_coerce(field, ty, context, location)? {
                Some(field) => fields.push(field),
                None => {
                    let (from, to) = (type_label(from), type_label(ty.oid));
                    let place = position + 1;
                    return refused(
                        self,
                        format!("Cannot cast type {from} to {to} in column {place}."),
                    );
                }
            }
        }
        let ty = target;
        Ok(Some(Expr::Row { fields, names, ty }))
    }

    /// The row of a child as one of its parent, which has its columns under the same names.
    fn parent_row(&mut self, row: &Expr, target: ColumnType, location: Location) -> SqlResult<Expr> {
        let wanted = self.attributes(target.oid).unwrap_or_default();
        let mut fields = Vec::with_capacity(wanted.len());
        for (name, _) in &wanted {
            fields.push(self.field(row.clone(), name, location)?);
        }
        let names = wanted.into_iter().map(|(name, _)| name).collect();
        Ok(Expr::Row {
            fields,
            names,
            ty: target,
        })
    }

    /// Is the relation a child of the other one, or a child of a child?
    fn inherits(&self, relation: Oid, ancestor: Oid) -> bool {
        let parents = self.catalog.relation(relation).map(|found| found.parents.clone());
        let mut parents = parents.into_iter().flatten();
        parents.any(|parent| parent == ancestor || self.inherits(parent, ancestor))
    }

    /// Do rows of the type hold what is read by the settings of the session?
    pub(super) fn holds_times(&self, ty: Oid) -> bool {
        let attributes = self.attributes(ty).unwrap_or_default();
        attributes.iter().any(|(_, ty)| {
            let base = ty.element().unwrap_or(*ty).oid;
            let is_time = matches!(
                base,
                oid::DATE | oid::TIME | oid::TIMETZ | oid::TIMESTAMP | oid::TIMESTAMPTZ | oid::INTERVAL
            );
            is_time || (is_composite(base) && self.holds_times(base))
        })
    }

    /// A row type whose columns are of domains has rules that reading a value of it would not hold to.
    pub(super) fn refuse_domains_within(&self, ty: Oid) -> SqlResult<()> {
        let relation = self.catalog.relation(number_of(ty)).filter(|_| is_composite(ty));
        let mut columns = relation.iter().flat_map(|relation| &relation.columns);
        match columns.any(|column| column.domain.is_some() && !column.dropped) {
            true => Err(SqlError::unsupported(format_args!(
                "values of type {}, which has columns of domains",
                type_label(ty)
            ))),
            false => Ok(()),
        }
    }
}
