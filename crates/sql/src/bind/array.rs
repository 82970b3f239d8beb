//! Constructors of arrays: `ARRAY[..]`, alone and under a cast to an array type.

use mote_common::SqlResult;
use mote_common::error::state;
use mote_grammar::ast::{self, ExprKind, Location};
use mote_types::{ColumnType, oid};

use super::modifier::spelled_out;
use super::{Binder, type_label};
use crate::expr::Expr;

impl Binder<'_> {
    /// `wanted` is the element type of the array type that the constructor is cast to.
    pub(super) fn array(
        &mut self,
        elements: &[ast::Expr],
        wanted: Option<ColumnType>,
        location: Location,
    ) -> SqlResult<Expr> {
        let constructor = |expr: &ast::Expr| matches!(expr.kind, ExprKind::Array(_));
        // One element that is an array makes all of them arrays, also those that were written as strings.
        let mut multidimensional = false;
        let mut bound = Vec::with_capacity(elements.len());
        for element in elements {
            let expr = match &element.kind {
                ExprKind::Array(inner) => self.array(inner, wanted, element.location)?,
                _ => self.expression(element)?,
            };
            multidimensional |= is_true_array(self.type_of(&expr));
            bound.push((expr, element.location));
        }
        let (converted, ty) = match wanted {
            Some(element) => {
                let ty = match multidimensional {
                    true => self.array_type(element, location)?,
                    false => element,
                };
                let mut converted = Vec::with_capacity(bound.len());
                for ((expr, place), written) in bound.into_iter().zip(elements) {
                    // A constructor has converted its own elements.
                    converted.push(match constructor(written) {
                        true => expr,
                        false => self.coerce_explicit(expr, ty, place)?,
                    });
                }
                (converted, ty)
            }
            _ if bound.is_empty() => {
                return Err(self
                    .error(
                        state::INDETERMINATE_DATATYPE,
                        location,
                        "cannot determine type of empty array",
                    )
                    .hint("Explicitly cast to the desired type, for example ARRAY[]::integer[]."));
            }
            _ => self.unify(bound, "ARRAY")?,
        };
        // An array does not keep the length of its elements.
        let elements: Vec<Expr> = converted
            .into_iter()
            .map(|element| spelled_out(element, location))
            .collect();
        let multidimensional = is_true_array(ty);
        let ty = match multidimensional {
            true => ty,
            false => self.array_type(ty, location)?,
        };
        Ok(Expr::Array {
            elements,
            ty,
            multidimensional,
        })
    }

    fn array_type(&self, element: ColumnType, location: Location) -> SqlResult<ColumnType> {
        element.array_of().ok_or_else(|| {
            let label = type_label(element.oid);
            let message = format!("could not find array type for data type {label}");
            self.error(state::UNDEFINED_OBJECT, location, message)
        })
    }
}

/// `int2vector` and `oidvector` are elements of arrays, although they can be subscripted.
pub(super) fn is_true_array(ty: ColumnType) -> bool {
    ty.is_array() && ty.oid != oid::INT2VECTOR && ty.oid != oid::OIDVECTOR
}
