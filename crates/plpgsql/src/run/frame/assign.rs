//! How a run changes its variables: whole ones, parts of them in place, and rows into several.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::{Array, ColumnType, Datum, Record, RowType, input_text, oid};

use super::{Frame, NULL_NOT_ALLOWED, no_row, record};
use crate::code::expression::Expression;
use crate::code::names::{field_of, no_field};
use crate::code::*;
use mote_executor::context::StatementContext;
use mote_executor::expr;

impl<'c> Frame<'c> {
    /// Stores a value of type `ty` in a whole variable: converted to the declared type, NOT NULL checked. CONSTANT
    /// was checked by the compiler.
    pub fn assign_variable(
        &mut self,
        id: VariableId,
        value: Datum,
        ty: ColumnType,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<()> {
        let variable = self.variable(id);
        let value = match &variable.kind {
            // The operand of a CASE takes any type. Plans that assumed another one do not hold any more.
            VariableKind::Scalar(to) if to.oid == oid::UNKNOWN => {
                self.types[id as usize] = ty;
                value
            }
            VariableKind::Scalar(to) => self.coerce(value, ty, *to, context)?,
            VariableKind::Record(row) => self.as_row(value, ty, row.as_ref(), context)?,
        };
        if variable.not_null && value.is_null() {
            let message = format!(
                "null value cannot be assigned to variable \"{}\" declared NOT NULL",
                variable.name
            );
            return Err(SqlError::new(NULL_NOT_ALLOWED, message));
        }
        self.set(id, value);
        Ok(())
    }

    /// A value for a row variable.
    pub fn as_row(
        &mut self,
        value: Datum,
        ty: ColumnType,
        row: Option<&Arc<RowType>>,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<Datum> {
        match (value, row) {
            // NULL keeps no structure: a bare record is then "not assigned yet" for whoever asks for a field.
            (Datum::Null, _) => Ok(Datum::Null),
            (Datum::Record(record), None) => Ok(Datum::Record(record)),
            (Datum::Record(record), Some(row)) => {
                let Record { ty, fields } = *record;
                self.row_as(fields, &ty, row, context)
            }
            // Only a named composite type has an input function for a text.
            (value, Some(row))
                if row.of != mote_common::Oid::INVALID
                    && matches!(ty.oid, oid::UNKNOWN | oid::TEXT)
                    && value.as_str().is_some() =>
            {
                let text = value.as_str().unwrap_or_default();
                input_text(row.ty(), text, &context.session.settings.effective.format)
            }
            _ => Err(no_row()),
        }
    }

    /// Fields converted to those of another structure, by position; what is missing is null.
    pub fn row_as(
        &mut self,
        fields: Vec<Datum>,
        from: &Arc<RowType>,
        to: &Arc<RowType>,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<Datum> {
        // The same structure: the rows of a loop's query, turn by turn.
        if Arc::ptr_eq(from, to) {
            return Ok(record(fields, to));
        }
        let mut converted = Vec::with_capacity(to.types.len());
        // By position, not by name, as PostgreSQL does it. What is left over is dropped.
        let mut fields = fields.into_iter().zip(&from.types);
        for ty in &to.types {
            converted.push(match fields.next() {
                Some((value, from)) => self.coerce(value, *from, *ty, context)?,
                None => Datum::Null,
            });
        }
        Ok(record(converted, to))
    }

    /// Stores a value in a variable, or in the field or element of one that the target's steps lead to.
    pub fn assign(
        &mut self,
        target: &Target,
        value: Datum,
        ty: ColumnType,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<()> {
        let id = target.variable;
        if target.steps.is_empty() {
            return self.assign_variable(id, value, ty, context);
        }
        let (value, ty) = match self.assign_in_place(target, value, ty, context)? {
            None => return Ok(()),
            Some(value) => (value, ty),
        };
        // Taken out to be changed; a clone takes its place. On an error the clone, which is the old value, stays.
        let container = std::mem::take(&mut self.values.parameters[id as usize]);
        // What the subscripts read is still there.
        let changed = match self.variable(id).kind {
            VariableKind::Scalar(to) => {
                self.set(id, container.clone());
                self.store_element(container, to, &target.steps, (value, ty), context)
            }
            VariableKind::Record(ref row) => {
                self.set(id, container.clone());
                let row = match (&container, row) {
                    (Datum::Record(record), _) => Some(record.ty.clone()),
                    (_, row) => row.clone(),
                };
                self.store_field(id, container, row, &target.steps, (value, ty), context)
            }
        };
        self.set(id, changed?);
        Ok(())
    }

    /// The two frequent ways into a variable, `a[i]` and `r.f`, without a copy of the rest: whatever can fail comes before
    /// the change. Hands the value back where it is another way.
    fn assign_in_place(
        &mut self,
        target: &Target,
        value: Datum,
        ty: ColumnType,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<Option<Datum>> {
        let id = target.variable;
        match (&self.variable(id).kind, &target.steps[..], self.value(id)) {
            (VariableKind::Scalar(to), [Step::Subscripts(subscripts)], Datum::Array(_)) => {
                let ([Subscript::Element(place)], Some(element)) = (&subscripts[..], to.element()) else {
                    return Ok(Some(value));
                };
                let place = self.subscript(place, context)?;
                let value = self.coerce(value, ty, element, context)?;
                if let Datum::Array(array) = &mut self.values.parameters[id as usize] {
                    expr::assign_element_in(array, place, value)?;
                }
                Ok(None)
            }
            (VariableKind::Record(_), [Step::Field(field)], Datum::Record(record)) => {
                let row = record.ty.clone();
                let position =
                    field_of(&row, field).ok_or_else(|| no_field(&self.variable(id).name, field))?;
                let value = self.coerce(value, ty, row.types[position], context)?;
                if let Datum::Record(record) = &mut self.values.parameters[id as usize] {
                    record.fields[position] = value;
                }
                Ok(None)
            }
            _ => Ok(Some(value)),
        }
    }

    /// The type of the part of a variable that a target with steps names, where the steps lead to one.
    pub fn part_type(&self, target: &Target) -> Option<ColumnType> {
        let mut ty = None;
        for (position, step) in target.steps.iter().enumerate() {
            ty = Some(match step {
                Step::Field(name) if position == 0 => {
                    let row = self.row_of(target.variable)?;
                    row.types[field_of(&row, name)?]
                }
                Step::Field(_) => return None,
                Step::Subscripts(subscripts) => {
                    let container = ty.unwrap_or_else(|| self.variable(target.variable).kind.ty());
                    let slice = |subscript: &Subscript| matches!(subscript, Subscript::Slice(..));
                    match container.oid == oid::JSONB || subscripts.iter().any(slice) {
                        true => container,
                        false => container.element()?,
                    }
                }
            });
        }
        ty
    }

    /// A row with a field replaced, or a part of the field. A NULL row of known structure becomes a row of NULLs
    /// first.
    fn store_field(
        &mut self,
        id: VariableId,
        container: Datum,
        row: Option<Arc<RowType>>,
        steps: &[Step],
        value: (Datum, ColumnType),
        context: &mut StatementContext<'_>,
    ) -> SqlResult<Datum> {
        let name = &self.variable(id).name;
        let Some(row) = row else {
            let message = format!("record \"{name}\" is not assigned yet");
            return Err(SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                .detail("The tuple structure of a not-yet-assigned record is indeterminate."));
        };
        let [Step::Field(field), rest @ ..] = steps else {
            return Err(SqlError::unsupported("a subscript of a row"));
        };
        let position = field_of(&row, field).ok_or_else(|| no_field(name, field))?;
        let mut fields = match container {
            Datum::Record(record) => record.fields,
            _ => vec![Datum::Null; row.types.len()],
        };
        let to = row.types[position];
        fields[position] = match rest {
            [] => self.coerce(value.0, value.1, to, context)?,
            rest => {
                // An array within the row: taken out, changed, put back.
                let inner = std::mem::take(&mut fields[position]);
                self.store_element(inner, to, rest, value, context)?
            }
        };
        Ok(record(fields, &row))
    }

    /// An array, or a `jsonb`, with a part replaced.
    fn store_element(
        &mut self,
        container: Datum,
        ty: ColumnType,
        steps: &[Step],
        value: (Datum, ColumnType),
        context: &mut StatementContext<'_>,
    ) -> SqlResult<Datum> {
        if let ([Step::Subscripts(subscripts)], oid::JSONB) = (steps, ty.oid) {
            let path = self.json_path(subscripts, context)?;
            let value = self.coerce(value.0, value.1, ty, context)?;
            return expr::assign_to_jsonb(container, &path, value);
        }
        let ([Step::Subscripts(subscripts)], Some(element)) = (steps, ty.element()) else {
            return Err(SqlError::new(
                state::DATATYPE_MISMATCH,
                format!(
                    "cannot subscript type {} because it does not support subscripting",
                    ty.name()
                ),
            ));
        };
        // With one slice all subscripts are slices to PostgreSQL: the value is an array then, not an element.
        let is_slice = subscripts
            .iter()
            .any(|subscript| matches!(subscript, Subscript::Slice(..)));
        let mut places = Vec::with_capacity(subscripts.len());
        for subscript in subscripts {
            places.push(match subscript {
                Subscript::Element(place) => expr::Place::Element(self.subscript(place, context)?),
                Subscript::Slice(low, high) => {
                    let mut bound = |bound: &Option<Expression>| match bound {
                        Some(bound) => self.subscript(bound, context).map(Some),
                        None => Ok(None),
                    };
                    expr::Place::Slice(bound(low)?, bound(high)?)
                }
            });
        }
        // NULL counts as an empty array, as in PostgreSQL: the assignment makes its bounds.
        let array = match container {
            Datum::Array(array) => *array,
            _ => Array::from_elements(element.oid, Vec::new()),
        };
        let to = if is_slice { ty } else { element };
        let value = self.coerce(value.0, value.1, to, context)?;
        expr::assign_places(array, &places, value).map(|array| Datum::Array(Box::new(array)))
    }

    /// Subscripts of a `jsonb`: integers and texts, as the binder takes them (`sql/bind/subscript`).
    fn json_path(
        &mut self,
        subscripts: &[Subscript],
        context: &mut StatementContext<'_>,
    ) -> SqlResult<Vec<Datum>> {
        let mut path = Vec::with_capacity(subscripts.len());
        for subscript in subscripts {
            let Subscript::Element(place) = subscript else {
                let message = "jsonb subscript does not support slices";
                return Err(SqlError::new(state::DATATYPE_MISMATCH, message));
            };
            let (value, ty) = self.evaluate(place, context)?;
            let wanted = match ty.oid {
                oid::INT2 | oid::INT4 => ColumnType::INT4,
                oid::UNKNOWN | oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME | oid::CHAR => {
                    ColumnType::TEXT
                }
                _ => {
                    let message = format!("subscript type {} is not supported", ty.name());
                    return Err(SqlError::new(state::DATATYPE_MISMATCH, message)
                        .hint("jsonb subscript must be coercible to either integer or text."));
                }
            };
            path.push(self.coerce(value, ty, wanted, context)?);
        }
        Ok(path)
    }

    fn subscript(&mut self, place: &Expression, context: &mut StatementContext<'_>) -> SqlResult<i32> {
        match self.evaluate_as(place, ColumnType::INT4, context)? {
            Datum::Int4(place) => Ok(place),
            _ => Err(SqlError::new(
                NULL_NOT_ALLOWED,
                "array subscript in assignment must not be null",
            )),
        }
    }

    /// A row into variables: None is a row of nulls.
    pub fn assign_row(
        &mut self,
        targets: &[Target],
        mut row: Option<Vec<Datum>>,
        ty: &Arc<RowType>,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<()> {
        self.move_row(targets, row.as_mut(), ty, context)
    }

    /// Takes the list of a row out; it is empty.
    pub fn take_row(&mut self) -> Vec<Datum> {
        std::mem::take(&mut self.row)
    }

    /// Puts it back.
    pub fn put_row(&mut self, mut row: Vec<Datum>) {
        row.clear();
        self.row = row;
    }

    /// The values of a row into variables: None is a row of nulls.
    pub fn move_row(
        &mut self,
        targets: &[Target],
        row: Option<&mut Vec<Datum>>,
        ty: &Arc<RowType>,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<()> {
        // One record variable takes the whole row, even where that has one column.
        if let [target] = targets
            && target.steps.is_empty()
            && let VariableKind::Record(fixed) = &self.variable(target.variable).kind
        {
            // PostgreSQL's exec_move_row: no row sets all fields to NULL and keeps the structure, for `r.x IS NULL`
            // behind a query without rows.
            let fields = match row {
                Some(row) => std::mem::take(row),
                None => vec![Datum::Null; ty.types.len()],
            };
            let value = match fixed {
                Some(fixed) => self.row_as(fields, ty, fixed, context)?,
                None => record(fields, ty),
            };
            self.set(target.variable, value);
            return Ok(());
        }
        // Too few columns leave NULL in the rest, too many are dropped: PostgreSQL checks that only on demand
        // (plpgsql.extra_errors).
        let mut values = row.into_iter().flat_map(|row| row.drain(..)).zip(&ty.types);
        for target in targets {
            let (value, ty) = values
                .next()
                .map_or((Datum::Null, ColumnType::UNKNOWN), |(value, ty)| (value, *ty));
            self.assign(target, value, ty, context)?;
        }
        Ok(())
    }
}
