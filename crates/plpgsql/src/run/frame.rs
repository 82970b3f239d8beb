//! One run of a body: its variables, and how expressions read and statements change them.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult, SqlState};
use mote_engine::Snapshot;
use mote_sql::catalog::{CatalogView, UserCast};
use mote_types::{
    Array, ColumnType, Datum, Record, RowType, cast, format::output_to_string, input_text, oid,
};
use parking_lot::Mutex;

use super::collected::{Collected, ROWS_AT_FIRST};
use crate::code::expression::{Expression, Form, Planned};
use crate::code::names::{Names, field_of, no_field};
use crate::code::spare::{KeptPlan, Lists};
use crate::code::*;
use mote_catalog::privileges;
use mote_commands::routine::nested;
use mote_executor::context::StatementContext;
use mote_executor::runtime::{Emit, Runtime, Values};
use mote_executor::{expr, value};

pub const NULL_NOT_ALLOWED: SqlState = state::NULL_VALUE_NOT_ALLOWED;

/// The state of a run.
pub struct Frame<'c> {
    pub code: &'c Code,
    /// The variables are the parameters of all expressions.
    pub values: Values,
    /// By variable. Differs from the declared types for operands of CASE alone.
    pub types: Vec<ColumnType>,
    /// What expressions see that are evaluated here: the caller's; taken anew after the end of a transaction.
    pub snapshot: Option<Snapshot>,
    /// Of the function: decides whether its statements begin snapshots of their own, and may write.
    pub volatile: bool,
    /// GET DIAGNOSTICS ROW_COUNT: of the last statement of SQL.
    pub row_count: u64,
    /// Errors whose handlers are running, innermost last.
    pub errors: Vec<SqlError>,
    /// The statement at work, for the context of errors.
    pub at: Option<&'c Statement>,
    /// What is done besides statements, and the line of the variable that it is done for.
    pub phase: &'static str,
    pub line: Option<u32>,
    /// How many rows a loop takes from its query at first: one where it may see what a later turn does.
    pub rows_at_a_time: u64,
    /// The error on its way tells of this function already.
    pub raised_again: bool,
    pub result: Collected,
    /// The columns of the result where the caller knows them.
    pub columns: Option<Arc<RowType>>,
    /// By the numbers of the expressions; empty until the first one is evaluated.
    kept: Vec<Option<KeptPlan>>,
    /// Room for a row on its way into variables.
    row: Vec<Datum>,
}

impl Drop for Frame<'_> {
    fn drop(&mut self) {
        let lists = Lists {
            values: std::mem::take(&mut self.values.parameters),
            types: std::mem::take(&mut self.types),
            kept: std::mem::take(&mut self.kept),
            row: std::mem::take(&mut self.row),
        };
        // Of nested runs of one body the outermost ends last.
        *self.code.spare.lock() = Some(lists.emptied());
    }
}

impl<'c> Frame<'c> {
    /// A run before its first statement: all variables are NULL. The caller fills arguments and the special
    /// variables.
    pub fn new(code: &'c Code, volatile: bool) -> Frame<'c> {
        let Lists {
            values: mut parameters,
            mut types,
            kept,
            row,
        } = code.spare.lock().take().unwrap_or_default();
        parameters.resize(code.variables.len(), Datum::Null);
        types.clear();
        types.extend(code.variables.iter().map(initial_type));
        let values = Values {
            parameters,
            ..Values::default()
        };
        Frame {
            code,
            values,
            types,
            snapshot: None,
            volatile,
            row_count: 0,
            errors: Vec::new(),
            at: None,
            phase: "",
            line: None,
            rows_at_a_time: ROWS_AT_FIRST,
            raised_again: false,
            result: Default::default(),
            columns: None,
            kept,
            row,
        }
    }

    /// The value that a variable holds; a record is one datum.
    pub fn value(&self, id: VariableId) -> &Datum {
        &self.values.parameters[id as usize]
    }

    /// Stores a value of the variable's type, unchecked: see [`assign_variable`](Self::assign_variable).
    pub fn set(&mut self, id: VariableId, value: Datum) {
        self.values.parameters[id as usize] = value;
    }

    pub fn set_found(&mut self, found: bool) {
        self.set(self.code.found, Datum::Bool(found));
    }

    /// The declaration. Borrowed from the code, not from the frame, so that values may change beside it.
    pub fn variable(&self, id: VariableId) -> &'c Variable {
        &self.code.variables[id as usize]
    }

    /// The structure of a row variable as it is now. What it holds counts before what it was declared as: a NULL
    /// record has its declared structure, if any.
    pub fn row_of(&self, id: VariableId) -> Option<Arc<RowType>> {
        match (self.value(id), &self.variable(id).kind) {
            (Datum::Record(record), _) => Some(record.ty.clone()),
            (_, VariableKind::Record(row)) => row.clone(),
            _ => None,
        }
    }

    /// A line of the context of errors: PostgreSQL's plpgsql_exec_error_callback.
    pub fn place(&self) -> String {
        let signature = &self.code.signature;
        // A phase covers what is no statement: entry, declarations, the conversion of the result.
        if self.phase.is_empty() {
            return match self.at {
                Some(at) => format!("PL/pgSQL function {signature} line {} at {}", at.line, at.name()),
                None => format!("PL/pgSQL function {signature}"),
            };
        }
        match self.line.or(self.at.map(|at| at.line)) {
            Some(line) => format!("PL/pgSQL function {signature} line {line} {}", self.phase),
            None => format!("PL/pgSQL function {signature} {}", self.phase),
        }
    }

    // Expressions

    /// The plan of an expression for the variables as they are.
    pub fn planned(
        &mut self,
        expression: &Expression,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<Arc<Planned>> {
        // The plan is shared by all runs of the session: another one may have planned anew for other records
        // meanwhile.
        if let Some(planned) = expression.known_plan()
            && self.holds(&planned)
        {
            // `plan` follows the catalog, user and settings. Another plan than the one that `planned` describes means
            // that its form and columns may be wrong, too.
            let plan = planned
                .statement
                .plan(context)
                .map_err(|error| expression.failed(error))?;
            if Arc::ptr_eq(&plan, &planned.plan) {
                return Ok(planned);
            }
        }
        let names = self.names(expression);
        expression
            .plan(names, context)
            .map_err(|error| expression.failed(error))
    }

    /// Whether records and operands of CASE are what the plan was made for. Structures are compared by their parts
    /// only where they are not the same object, which in a loop they are.
    fn holds(&self, planned: &Planned) -> bool {
        planned.assumed.iter().all(|(id, ty, row)| {
            self.types[*id as usize] == *ty
                && match (row, self.row_of(*id)) {
                    (None, None) => true,
                    (Some(a), Some(b)) => Arc::ptr_eq(a, &b) || (a.types == b.types && a.names == b.names),
                    _ => false,
                }
        })
    }

    /// What an expression sees, with the types of now: what the binder asks when it plans.
    pub fn names(&self, expression: &Expression) -> Names {
        let variables = 0..self.code.variables.len() as VariableId;
        Names {
            arena: self.code.arena.clone(),
            scope: expression.scope,
            types: self.types.clone(),
            variables: self.code.variables.clone(),
            rows: variables.map(|id| self.row_of(id)).collect(),
            numbered: self.code.arguments.clone(),
            conflict: self.code.conflict,
            used: Mutex::default(),
        }
    }

    /// The values of the variables that a statement reads, by their numbers.
    pub fn parameters(&self, planned: &Planned) -> Vec<Datum> {
        // As long as the body has variables: the number of a parameter is that of its variable. Only what is read is
        // copied.
        let mut parameters = vec![Datum::Null; self.values.parameters.len()];
        for &id in &planned.used {
            parameters[id as usize] = self.value(id).clone();
        }
        parameters
    }

    /// The value of an expression, with its type.
    pub fn evaluate(
        &mut self,
        expression: &Expression,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<(Datum, ColumnType)> {
        // The short way. The conditions are those of `planned`, without its lock and its reference counts.
        if let Some(Some(kept)) = self.kept.get(expression.number)
            && let Form::Simple(compiled, ty) = &kept.planned.form
            && context.session.is_up_to_date(&kept.prepared, &kept.planned.plan)
            && self.holds(&kept.planned)
        {
            // Missing in a block of DO, and behind COMMIT, ROLLBACK and CALL. The program wants one, although it
            // reads no rows.
            let snapshot = self
                .snapshot
                .get_or_insert_with(|| context.transaction.snapshot());
            let mut runtime = Runtime::new(context, snapshot, &mut self.values);
            return match compiled.evaluate(&[], &mut runtime) {
                Ok(value) => Ok((value, *ty)),
                Err(error) => Err(simple_failed(expression, &kept.planned, error)),
            };
        }
        let kept = self.take_kept(expression, context)?;
        let planned = &kept.planned;
        if let Form::Simple(compiled, ty) = &planned.form {
            let snapshot = self
                .snapshot
                .get_or_insert_with(|| context.transaction.snapshot());
            let mut runtime = Runtime::new(context, snapshot, &mut self.values);
            let result = compiled.evaluate(&[], &mut runtime);
            let value = result.map_err(|error| simple_failed(expression, planned, error))?;
            let ty = *ty;
            self.keep(expression, kept);
            return Ok((value, ty));
        }
        // The text of an expression may hold several, `1, 2`: it is whatever may stand behind SELECT.
        let columns = planned.plan.plan.output.len();
        if columns != 1 {
            return Err(expression.wrong_width(columns));
        }
        let ty = planned.plan.plan.output[0].ty;
        // Two rows at most: the second one is the proof that there are too many.
        let mut found: Option<Datum> = None;
        let mut count = 0;
        self.run_kept(&kept, 2, context, &mut |_, row| {
            count += 1;
            found.get_or_insert_with(|| row[0].clone());
            Ok(())
        })
        .map_err(|error| match planned.form {
            Form::Calls => error,
            _ => expression.failed(error),
        })?;
        self.keep(expression, kept);
        if count > 1 {
            let error = SqlError::new(state::CARDINALITY_VIOLATION, "query returned more than one row");
            return Err(error.context(format!("query: {}", expression.text())));
        }
        // No row at all is NULL.
        Ok((found.unwrap_or_default(), ty))
    }

    /// The plan that was used last, if it holds: taken out, so that it is used without a shared counter, and to be put back
    /// ([`keep`](Self::keep)). Else one for the variables as they are.
    pub fn take_kept(
        &mut self,
        expression: &Expression,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<KeptPlan> {
        let known = self.kept.get_mut(expression.number).and_then(Option::take);
        if let Some(kept) = known {
            context.session.count_rows(&kept.planned.plan);
            if context.session.is_up_to_date(&kept.prepared, &kept.planned.plan) && self.holds(&kept.planned)
            {
                return Ok(kept);
            }
        }
        let planned = self.planned(expression, context)?;
        // A statement has it since it was first planned.
        let prepared = planned.statement.known();
        let prepared = prepared.ok_or_else(|| SqlError::internal("a planned statement without a plan"))?;
        Ok(KeptPlan { planned, prepared })
    }

    /// Keeps a plan for the next evaluation.
    pub fn keep(&mut self, expression: &Expression, kept: KeptPlan) {
        if self.kept.len() < self.code.expressions {
            self.kept.resize_with(self.code.expressions, || None);
        }
        self.kept[expression.number] = Some(kept);
    }

    /// Runs a statement over the variables themselves, which are as they were when it has ended.
    pub fn run_kept(
        &mut self,
        kept: &KeptPlan,
        max_rows: u64,
        context: &mut StatementContext<'_>,
        emit: &mut Emit<'_>,
    ) -> SqlResult<nested::Done> {
        let KeptPlan { planned, prepared } = kept;
        let plan = (prepared, &planned.plan);
        let variables = &mut self.values.parameters;
        nested::run_kept(
            &planned.statement,
            plan,
            variables,
            self.volatile,
            max_rows,
            context,
            emit,
        )
    }

    /// The value of an expression as one of this type, as an assignment to a variable of the type would convert it.
    pub fn evaluate_as(
        &mut self,
        expression: &Expression,
        ty: ColumnType,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<Datum> {
        let (value, from) = self.evaluate(expression, context)?;
        self.coerce(value, from, ty, context)
    }

    /// A condition; None is unknown.
    pub fn truth(
        &mut self,
        expression: &Expression,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<Option<bool>> {
        Ok(self.evaluate_as(expression, ColumnType::BOOL, context)?.as_bool())
    }

    /// The text of a value, as RAISE and EXECUTE show it.
    pub fn text_of(&self, value: &Datum, ty: ColumnType, context: &StatementContext<'_>) -> String {
        output_to_string(value, ty, &context.session.settings.effective.format)
    }

    /// A value as one of another type: by the cast of an assignment, else by its text.
    #[inline]
    pub fn coerce(
        &mut self,
        value: Datum,
        from: ColumnType,
        to: ColumnType,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<Datum> {
        // A wanted modifier converts even the same type: varchar(3) refuses what is longer, numeric(5,2) rounds.
        let same = from.oid == to.oid && (to.typmod < 0 || from.typmod == to.typmod);
        if same || to.oid == oid::UNKNOWN {
            return Ok(value);
        }
        if let Some(cast) = context.session.catalog.cast(from.oid, to.oid) {
            return self.convert_by_users(value, cast, (from, to), context);
        }
        match value.is_null() {
            true => Ok(value),
            false => self.convert(value, from, to, context),
        }
    }

    /// By a cast of users, if it is one for assignments, else by the text.
    #[cold]
    fn convert_by_users(
        &mut self,
        value: Datum,
        cast: UserCast,
        (from, to): (ColumnType, ColumnType),
        context: &mut StatementContext<'_>,
    ) -> SqlResult<Datum> {
        let catalog = &context.session.catalog;
        let Some(bound) = mote_sql::bind::assignment_cast(0, from, to, catalog)? else {
            let text = (!value.is_null()).then(|| self.text_of(&value, from, context));
            let format = &context.session.settings.effective.format;
            return text.map_or(Ok(Datum::Null), |text| input_text(to, &text, format));
        };
        let routine = cast.function.and_then(|function| catalog.routine(function));
        if let Some(routine) = routine {
            privileges::check_routine(catalog, &routine)?;
        }
        let compiled = expr::compile(&bound)?;
        let snapshot = self
            .snapshot
            .get_or_insert_with(|| context.transaction.snapshot());
        let mut runtime = Runtime::new(context, snapshot, &mut self.values);
        compiled.evaluate(&[value], &mut runtime)
    }

    /// PostgreSQL: exec_cast_value, whose COERCION_PLPGSQL falls back to output and input functions in the same way.
    fn convert(
        &mut self,
        value: Datum,
        from: ColumnType,
        to: ColumnType,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<Datum> {
        let castable =
            cast::can_cast(from.oid, to.oid).is_some_and(|needs| needs <= cast::CastContext::Assignment);
        // Literals and records go by their text, as does what has no cast for assignments.
        if castable && from.oid != oid::UNKNOWN && from.oid != oid::RECORD {
            let snapshot = self
                .snapshot
                .get_or_insert_with(|| context.transaction.snapshot());
            let mut runtime = Runtime::new(context, snapshot, &mut self.values);
            return value::convert(&mut runtime, &value, from, to, false);
        }
        let text = self.text_of(&value, from, context);
        input_text(to, &text, &context.session.settings.effective.format)
    }

    // Assignment

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

#[cold]
pub fn no_row() -> SqlError {
    SqlError::new(
        state::DATATYPE_MISMATCH,
        "cannot assign non-composite value to a record variable",
    )
}

/// PostgreSQL meets errors of constants while it plans, and then tells the text.
#[cold]
fn simple_failed(expression: &Expression, planned: &Planned, error: SqlError) -> SqlError {
    match planned.used.is_empty() {
        true => expression.failed(error),
        false => error,
    }
}

/// What a CASE compares has no type before its first value.
fn initial_type(variable: &Variable) -> ColumnType {
    match variable.kind.ty() {
        ColumnType::UNKNOWN => ColumnType::TEXT,
        ty => ty,
    }
}

/// A row as a datum. There are as many fields as the structure has.
pub fn record(fields: Vec<Datum>, ty: &Arc<RowType>) -> Datum {
    Datum::Record(Box::new(Record {
        ty: ty.clone(),
        fields,
    }))
}
