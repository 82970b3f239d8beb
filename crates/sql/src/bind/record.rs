//! What records are made of: the names and types behind a value of type `record`, as far as the statement tells.
//!
//! A record comes from a whole row, from ROW(..), from a function with OUT columns, or from a sub-query's column that is
//! one of these; the last are followed to where they are made, as PostgreSQL does.

use mote_common::SqlResult;
use mote_common::error::state;
use mote_types::{ColumnType, oid};

use super::query::{BoundCteStatement, BoundQuery, ItemKind, QueryBody, WHOLE_ROW};
use super::{Binder, type_label};
use crate::builtin::function::record_columns;
use crate::expr::Expr;
use mote_grammar::ast::{Location, Name};

impl Binder<'_> {
    /// The columns of a record, if the statement tells them.
    pub(super) fn record_columns(&self, record: &Expr) -> Option<Vec<(Name, ColumnType)>> {
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
        if ty.oid != oid::RECORD {
            let message = format!(
                "column notation .{name} applied to type {}, which is not a composite type",
                type_label(ty.oid)
            );
            return Err(self.error(state::WRONG_OBJECT_TYPE, location, message));
        }
        let position = self
            .record_columns(&record)
            .and_then(|columns| columns.iter().position(|(column, _)| **column == *name));
        match position {
            Some(position) => Ok(self.field_at(&record, position, location)),
            None => {
                let message = format!("could not identify column \"{name}\" in record data type");
                Err(self.error(state::UNDEFINED_COLUMN, location, message))
            }
        }
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
}
