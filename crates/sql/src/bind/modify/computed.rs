//! What the table itself adds to a new row: defaults and identity, generated columns, checks.

use std::sync::Arc;

use mote_common::SqlResult;
use mote_types::{ColumnType, Datum, oid};

use crate::bind::Binder;
use crate::bind::domain::column_default;
use crate::bind::relation_expression::RelationExpression;
use crate::catalog::Relation;
use crate::expr::{Expr, SequenceCall};
use mote_grammar::ast::Location;

impl Binder<'_> {
    /// The default of a column: identity, written default, or NULL.
    pub(in crate::bind) fn default_value(
        &mut self,
        relation: &Arc<Relation>,
        position: usize,
    ) -> SqlResult<Expr> {
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
    pub(in crate::bind) fn generated_columns(
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

    pub(in crate::bind) fn checks(&mut self, relation: &Arc<Relation>) -> SqlResult<Vec<(String, Expr)>> {
        let mut checks = self.domain_checks(relation)?;
        for (constraint, text) in relation.check_constraints() {
            let expr = self.stored_expression(text, relation, RelationExpression::Check, None)?;
            checks.push((constraint.name.clone(), expr));
        }
        Ok(checks)
    }
}
