//! Names that the statement does not declare itself: variables of a procedural language, parameters of a function.
//!
//! Whoever runs statements on behalf of a function hands the binder its [`ParameterNames`]. Every variable is a parameter of
//! the statement, at an index that stays the same for all statements of the function; a row variable is a parameter of type
//! `record` whose fields the binder asks for.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::ColumnType;
use mote_types::catalog::user::is_row;

use super::Binder;
use crate::expr::Expr;
use mote_grammar::ast::{Location, Name};
use mote_grammar::plpgsql::tree::NameConflict;

/// A variable, or a field of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParameterReference {
    /// The parameter, from 0.
    pub index: u16,
    /// The field's position and type.
    pub field: Option<(u16, ColumnType)>,
}

/// The names around a statement.
pub trait ParameterNames: Send + Sync {
    /// The types of all parameters, by index.
    fn types(&self) -> &[ColumnType];
    /// What a dotted name stands for. A field of a row that has no structure yet is an error.
    fn resolve(&self, parts: &[Name]) -> SqlResult<Option<ParameterReference>>;
    /// What `$number` stands for.
    fn numbered(&self, number: u32) -> Option<u16>;
    /// The fields of a row variable.
    fn fields(&self, index: u16) -> SqlResult<Option<Vec<(Name, ColumnType)>>>;
    fn conflict(&self) -> NameConflict;
    /// What errors call a variable: `PL/pgSQL variable`.
    fn kind(&self) -> &'static str;
}

impl Binder<'_> {
    /// The variable of this name, as an expression.
    pub(super) fn named_variable(&self, parts: &[Name]) -> SqlResult<Option<Expr>> {
        let Some(names) = self.names else {
            return Ok(None);
        };
        Ok(names
            .resolve(parts)?
            .map(|reference| self.variable_value(reference)))
    }

    fn variable_value(&self, reference: ParameterReference) -> Expr {
        let index = reference.index;
        let ty = self.parameters[index as usize];
        let value = Expr::Parameter { index, ty };
        match reference.field {
            None => value,
            Some((field, ty)) => Expr::FieldSelect {
                record: Box::new(value),
                field,
                ty,
            },
        }
    }

    /// `$n` inside of a function; None where parameters are the statement's own.
    pub(super) fn numbered_variable(&self, number: u32, location: Location) -> SqlResult<Option<Expr>> {
        let Some(names) = self.names else {
            return Ok(None);
        };
        match names.numbered(number) {
            Some(index) => Ok(Some(
                self.variable_value(ParameterReference { index, field: None }),
            )),
            None => Err(self.error(
                state::UNDEFINED_PARAMETER,
                location,
                format!("there is no parameter ${number}"),
            )),
        }
    }

    /// `variable.*`.
    pub(super) fn variable_columns(
        &self,
        name: &str,
        location: Location,
    ) -> SqlResult<Option<Vec<(Name, Expr)>>> {
        let Some(value) = self.named_variable(&[name.into()])? else {
            return Ok(None);
        };
        if !is_row(value.ty().oid) {
            return Ok(None);
        }
        if let (Some(names), Expr::Parameter { index, .. }) = (self.names, &value) {
            // Asked for its error: a row without structure has no columns.
            names.fields(*index)?;
        }
        Ok(self.fields(&value, location))
    }

    /// A name that means both a column and a variable.
    pub(super) fn settle_conflict(
        &self,
        parts: &[Name],
        column: Option<Expr>,
        location: Location,
    ) -> SqlResult<Option<Expr>> {
        let Some(names) = self.names else {
            return Ok(column);
        };
        if column.is_some() && names.conflict() == NameConflict::Column {
            return Ok(column);
        }
        let variable = match self.named_variable(parts) {
            Err(_) if column.is_some() => None,
            other => other?,
        };
        match (column, variable) {
            (Some(_), Some(_)) if names.conflict() == NameConflict::Error => {
                Err(self.conflict_error(parts, names.kind(), location))
            }
            (_, Some(variable)) => Ok(Some(variable)),
            (column, None) => Ok(column),
        }
    }

    #[cold]
    fn conflict_error(&self, parts: &[Name], kind: &str, location: Location) -> SqlError {
        let message = format!("column reference \"{}\" is ambiguous", parts.join("."));
        self.error(state::AMBIGUOUS_COLUMN, location, message)
            .detail(format!("It could refer to either a {kind} or a table column."))
    }
}
