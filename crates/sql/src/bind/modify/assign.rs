//! SET lists of UPDATE, ON CONFLICT DO UPDATE and MERGE: whole columns, fields, elements, several columns at once.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::ColumnType;
use mote_types::catalog::extension::HSTORE;
use mote_types::catalog::user::is_composite;

use super::GENERATED_ALWAYS;
use crate::bind::query::QueryBody;
use crate::bind::subscript::leading_subscripts;
use crate::bind::{Binder, type_label};
use crate::builtin::cast::CastUse;
use crate::builtin::function::{Callable, callables_named};
use crate::catalog::{Column, Identity, Relation};
use crate::expr::{Expr, SubPlanKind};
use mote_grammar::ast;
use mote_grammar::ast::{Assignment, ExprKind, Location};

/// Positions of the columns that a SET list names.
pub(in crate::bind) fn assigned_columns(assignments: &[Assignment], relation: &Relation) -> Vec<u16> {
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
    /// SET lists of UPDATE and ON CONFLICT DO UPDATE.
    pub(in crate::bind) fn assignments(
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
            self.check_whole(column)?;
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
                    || is_pair_assignment(expr)
                    || keeps_fields_of(expr, target, position as u16))
        });
        let container = match earlier {
            Some(earlier) => bound.remove(earlier).1,
            None => self.variable(target, position, column.location),
        };
        let value = self.value_of_part(column, container.ty(), column.location, value, place)?;
        let value = self.part_assignment(container, column, &column.indirection, value)?;
        push_assignment(bound, position, value, column)
    }

    /// A part of a column has no default.
    pub(in crate::bind) fn check_whole(&self, column: &ast::ColumnTarget) -> SqlResult<()> {
        let message = match column.indirection.first() {
            None => return Ok(()),
            Some(ast::IndirectionStep::Field(_)) => "cannot set a subfield to DEFAULT",
            Some(_) => "cannot set an array element to DEFAULT",
        };
        Err(self.error(state::FEATURE_NOT_SUPPORTED, column.location, message))
    }

    /// The value as `column.field = value` and `column[i] = value` take it: in the type of the part. `at` is where a type
    /// without subscripts is complained of.
    pub(in crate::bind) fn value_of_part(
        &mut self,
        column: &ast::ColumnTarget,
        ty: ColumnType,
        at: Location,
        value: Expr,
        place: Location,
    ) -> SqlResult<Expr> {
        let (wanted, wants) = self.part_type(ty, column, &column.indirection, at)?;
        self.part_value(value, wanted, &wants, column.location, place)
    }

    /// The type of the part that the steps lead to, and how the error begins where a value does not fit.
    pub(super) fn part_type(
        &self,
        ty: ColumnType,
        column: &ast::ColumnTarget,
        steps: &[ast::IndirectionStep],
        at: Location,
    ) -> SqlResult<(ColumnType, String)> {
        let (wanted, wants, rest) = match steps {
            [ast::IndirectionStep::Field(name), rest @ ..] => {
                let wanted = self.field_type(ty, column, name)?;
                (wanted, format!("subfield \"{name}\" is of type"), rest)
            }
            steps => {
                let (subscripts, rest) = leading_subscripts(steps);
                if subscripts.is_empty() {
                    let message = "row expansion via \"*\" is not supported here";
                    return Err(self.error(state::SYNTAX_ERROR, column.location, message));
                }
                let wanted = self.subscripted_type(ty, subscripts, at)?;
                let wants = format!("subscripted assignment to \"{}\" requires type", column.name);
                (wanted, wants, rest)
            }
        };
        match rest {
            [] => Ok((wanted, wants)),
            rest => self.part_type(wanted, column, rest, Location::NONE),
        }
    }

    fn field_type(&self, ty: ColumnType, column: &ast::ColumnTarget, field: &str) -> SqlResult<ColumnType> {
        let label = type_label(ty.oid);
        let refused = |state, why: String| {
            let message = format!(
                "cannot assign to field \"{field}\" of column \"{}\" because {why}",
                column.name
            );
            self.error(state, column.location, message)
        };
        let attributes = match is_composite(ty.oid) {
            true => self.attributes(ty.oid),
            false => None,
        };
        let attributes = attributes.ok_or_else(|| {
            let why = format!("its type {label} is not a composite type");
            refused(state::DATATYPE_MISMATCH, why)
        })?;
        let found = attributes.iter().find(|(known, _)| **known == *field);
        found.map(|(_, ty)| *ty).ok_or_else(|| {
            let why = format!("there is no such column in data type {label}");
            refused(state::UNDEFINED_COLUMN, why)
        })
    }

    /// The container with the part replaced that the steps lead to. A NULL becomes a row of NULLs, or an array, around it, as
    /// in PostgreSQL. `value` has the type of the part.
    pub(in crate::bind) fn part_assignment(
        &mut self,
        container: Expr,
        column: &ast::ColumnTarget,
        steps: &[ast::IndirectionStep],
        value: Expr,
    ) -> SqlResult<Expr> {
        let ty = container.ty();
        let [ast::IndirectionStep::Field(name), rest @ ..] = steps else {
            let (subscripts, rest) = leading_subscripts(steps);
            if subscripts.is_empty() {
                return Ok(value);
            }
            let element = self.subscripts(container, subscripts, column.location)?;
            let value = self.part_assignment(element.clone(), column, rest, value)?;
            if ty.oid == HSTORE {
                return pair_assignment(element, column.location, value);
            }
            let Expr::Subscript {
                array, subscripts, ..
            } = element
            else {
                return Err(SqlError::internal("subscripts bind to a subscript"));
            };
            return Ok(Expr::SubscriptAssign {
                container: array,
                subscripts,
                value: Box::new(value),
                ty,
            });
        };
        let fields = self.fields(&container, column.location).unwrap_or_default();
        let (names, mut fields): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
        let Some(at) = names.iter().position(|known| known == name) else {
            return Err(SqlError::internal("a field that was there is not"));
        };
        let inner = fields[at].clone();
        fields[at] = self.part_assignment(inner, column, rest, value)?;
        Ok(Expr::Row { fields, names, ty })
    }

    /// The value in the type of the part; `wants` is how the error begins.
    fn part_value(
        &mut self,
        value: Expr,
        wanted: ColumnType,
        wants: &str,
        column: Location,
        place: Location,
    ) -> SqlResult<Expr> {
        let found = self.type_of(&value);
        if let Some(value) = self.try_coerce(value, wanted, CastUse::Assignment, place)? {
            return Ok(value);
        }
        let message = format!(
            "{wants} {} but expression is of type {}",
            type_label(wanted.oid),
            type_label(found.oid)
        );
        Err(self
            .error(state::DATATYPE_MISMATCH, column, message)
            .hint("You will need to rewrite or cast the expression."))
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
}

/// Takes an hstore, a key and a value.
const HSTORE_ASSIGN: &str = "mote_hstore_assign";

fn is_pair_assignment(expr: &Expr) -> bool {
    matches!(expr, Expr::Call { function, .. } if function.signature().name == HSTORE_ASSIGN)
}

/// `column['key'] = value` of an hstore, of which `fetched` gets the value of the key; `value` is a text.
fn pair_assignment(fetched: Expr, location: Location, value: Expr) -> SqlResult<Expr> {
    let Expr::Call { mut arguments, .. } = fetched else {
        return Err(SqlError::internal("a subscript of an hstore binds to a call"));
    };
    arguments.push(value);
    let mut callables = callables_named(HSTORE_ASSIGN).iter();
    let function = callables.find_map(|callable| match callable {
        Callable::Function(id) => Some(*id),
        _ => None,
    });
    Ok(Expr::Call {
        function: function.ok_or_else(|| SqlError::internal("the function is built in"))?,
        arguments,
        variadic: false,
        ty: ColumnType::new(HSTORE),
        location: location.0,
    })
}

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
