//! How a run computes expressions: their plans, kept between two computations, and values in the type that is wanted.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_sql::catalog::{CatalogView, UserCast};
use mote_types::{ColumnType, Datum, cast, format::output_to_string, input_text, oid};
use parking_lot::Mutex;

use super::Frame;
use crate::code::expression::{Expression, Form, Planned};
use crate::code::names::Names;
use crate::code::spare::KeptPlan;
use crate::code::*;
use mote_catalog::privileges;
use mote_commands::routine::nested;
use mote_executor::context::StatementContext;
use mote_executor::runtime::{Emit, Runtime};
use mote_executor::{expr, value};

impl<'c> Frame<'c> {
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
}

/// PostgreSQL meets errors of constants while it plans, and then tells the text.
#[cold]
fn simple_failed(expression: &Expression, planned: &Planned, error: SqlError) -> SqlError {
    match planned.used.is_empty() {
        true => expression.failed(error),
        false => error,
    }
}
