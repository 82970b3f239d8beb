//! Subscripts and slices: of arrays by integers, of `jsonb` by integers or texts, of a `name` its
//! characters, of `hstore` by keys.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_grammar::ast::{self, IndirectionStep, Location};
use mote_types::catalog::extension::HSTORE;
use mote_types::format::array::DIMENSIONS_MAX;
use mote_types::{ColumnType, oid};

use super::coerce::implicitly_coercible;
use super::{Binder, type_label};
use crate::builtin::cast::CastUse;
use crate::builtin::operator::exact_operator;
use crate::expr::{Expr, Subscript};

/// The subscripts that the steps begin with, and what is behind them.
pub(super) fn leading_subscripts(steps: &[IndirectionStep]) -> (&[IndirectionStep], &[IndirectionStep]) {
    let is_subscript = |step: &&IndirectionStep| {
        matches!(
            step,
            IndirectionStep::Subscript(_) | IndirectionStep::Slice { .. }
        )
    };
    steps.split_at(steps.iter().take_while(is_subscript).count())
}

fn is_slice(step: &IndirectionStep) -> bool {
    matches!(step, IndirectionStep::Slice { .. })
}

impl Binder<'_> {
    pub(super) fn subscripts(
        &mut self,
        container: Expr,
        steps: &[IndirectionStep],
        location: Location,
    ) -> SqlResult<Expr> {
        let of_json = container.ty().oid == oid::JSONB;
        let ty = self.subscripted_type(container.ty(), steps, location)?;
        if container.ty().oid == HSTORE {
            return self.pair_of_hstore(container, steps, location);
        }
        let mut subscripts = Vec::with_capacity(steps.len());
        for step in steps {
            subscripts.push(match step {
                IndirectionStep::Subscript(expr) if of_json => Subscript::Element(self.json_subscript(expr)?),
                IndirectionStep::Subscript(expr) => Subscript::Element(self.array_subscript(expr)?),
                IndirectionStep::Slice { lower, upper } => {
                    let mut bound = |bound: &Option<ast::Expr>| {
                        let bound = bound.as_ref().map(|expr| self.array_subscript(expr));
                        bound.transpose()
                    };
                    Subscript::Slice(bound(lower)?, bound(upper)?)
                }
                IndirectionStep::Field(_) | IndirectionStep::Star => continue,
            });
        }
        Ok(Expr::Subscript {
            array: Box::new(container),
            subscripts,
            ty,
        })
    }

    /// The type of what these subscripts of a value of type `container` lead to.
    ///
    /// # Errors
    /// A type without subscripts, a slice of `jsonb`, too many dimensions.
    pub(super) fn subscripted_type(
        &self,
        container: ColumnType,
        steps: &[IndirectionStep],
        location: Location,
    ) -> SqlResult<ColumnType> {
        let element = match container.oid {
            oid::JSONB => return self.json_subscripted_type(container, steps),
            HSTORE => return Ok(ColumnType::TEXT),
            // One character; no slices.
            oid::NAME if matches!(steps, [IndirectionStep::Subscript(_)]) => Some(ColumnType::new(oid::CHAR)),
            _ => container.element(),
        };
        let Some(element) = element else {
            let message = format!(
                "cannot subscript type {} because it does not support subscripting",
                type_label(container.oid)
            );
            return Err(self.error(state::DATATYPE_MISMATCH, location, message));
        };
        if steps.len() > DIMENSIONS_MAX {
            let message = format!(
                "number of array dimensions ({}) exceeds the maximum allowed ({DIMENSIONS_MAX})",
                steps.len()
            );
            return Err(SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, message));
        }
        Ok(match steps.iter().any(is_slice) {
            true => container,
            false => element,
        })
    }

    /// PostgreSQL points at the first subscript, whichever is the slice.
    fn json_subscripted_type(
        &self,
        container: ColumnType,
        steps: &[IndirectionStep],
    ) -> SqlResult<ColumnType> {
        if !steps.iter().any(is_slice) {
            return Ok(container);
        }
        let first = match steps.first() {
            Some(IndirectionStep::Subscript(expr)) => Some(expr),
            Some(IndirectionStep::Slice { lower, upper }) => upper.as_ref().or(lower.as_ref()),
            _ => None,
        };
        let place = first.map_or(Location::NONE, |expr| expr.start());
        let message = "jsonb subscript does not support slices";
        Err(self.error(state::DATATYPE_MISMATCH, place, message))
    }

    /// `hstore['key']`: the value of one key.
    fn pair_of_hstore(
        &mut self,
        value: Expr,
        steps: &[IndirectionStep],
        location: Location,
    ) -> SqlResult<Expr> {
        let [IndirectionStep::Subscript(key)] = steps else {
            let message = "hstore allows only one subscript";
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        };
        let bound = self.expression(key)?;
        let text = self.try_coerce(bound, ColumnType::TEXT, CastUse::Assignment, key.location)?;
        let text = text.ok_or_else(|| {
            let message = "hstore subscript must have type text";
            self.error(state::DATATYPE_MISMATCH, key.location, message)
        })?;
        let operator = exact_operator("->", HSTORE, oid::TEXT);
        let operator = operator.ok_or_else(|| SqlError::internal("hstore -> text is built in"))?;
        Ok(Expr::Call {
            function: operator.function,
            arguments: vec![value, text],
            variadic: false,
            ty: ColumnType::TEXT,
            location: location.0,
        })
    }

    fn array_subscript(&mut self, expr: &ast::Expr) -> SqlResult<Expr> {
        let bound = self.expression(expr)?;
        let coerced = self.try_coerce(bound, ColumnType::INT4, CastUse::Assignment, expr.location)?;
        coerced.ok_or_else(|| {
            self.error(
                state::DATATYPE_MISMATCH,
                expr.location,
                "array subscript must have type integer",
            )
        })
    }

    /// An integer or a text, whichever of them the type becomes by itself; a literal is a text.
    fn json_subscript(&mut self, expr: &ast::Expr) -> SqlResult<Expr> {
        let bound = self.expression(expr)?;
        let found = self.type_of(&bound);
        let becomes = |target: ColumnType| implicitly_coercible(found.oid, target.oid, self.catalog);
        let refused = |hint: &str| {
            let message = format!("subscript type {} is not supported", type_label(found.oid));
            let error = self.error(state::DATATYPE_MISMATCH, expr.start(), message);
            Err(error.hint(hint.to_string()))
        };
        let target = match (becomes(ColumnType::INT4), becomes(ColumnType::TEXT)) {
            _ if found.oid == oid::UNKNOWN => ColumnType::TEXT,
            (true, false) => ColumnType::INT4,
            (false, true) => ColumnType::TEXT,
            (true, true) => {
                return refused("jsonb subscript must be coercible to only one type, integer or text.");
            }
            (false, false) => {
                return refused("jsonb subscript must be coercible to either integer or text.");
            }
        };
        let coerced = self.try_coerce(bound, target, CastUse::Implicit, expr.start())?;
        coerced.ok_or_else(|| SqlError::internal("a subscript is not what it can become"))
    }
}
