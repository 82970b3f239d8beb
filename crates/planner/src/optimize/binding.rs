//! What one condition says about one key of an index.
//!
//! It can bind the key if one side is the key's column (or its expression), as it is or in a wider type, and the other does not
//! read the relation. The value may be of another type than the key: what it says of the keys is found out when the scan opens
//! (`mote_types::key::place`), and only which types fit is decided here.

use std::sync::Arc;

use mote_sql::bind::query::FIRST_SYSTEM_COLUMN;
use mote_sql::builtin::function::FunctionId;
use mote_sql::builtin::operator::{Comparison, comparison_of};
use mote_sql::catalog::{IndexKey, IndexKeyTarget};
use mote_sql::expr::Expr;
use mote_types::catalog::range::{is_multirange, is_range};
use mote_types::catalog::user::is_enum;
use mote_types::key::{Fit, fit, widens};
use mote_types::pattern::PatternKind;
use mote_types::{ColumnType, Datum, oid};

use super::Planner;
use crate::plan::node::{AnyOf, Pattern};

/// What a condition says about one key.
pub(super) enum Binding {
    Equal(Expr),
    IsNull,
    Any(AnyOf),
    /// The value's type fits the key's: a near one leaves the condition to be looked at.
    Bound(Comparison, Expr, Fit),
    /// It begins as what matches this pattern.
    Prefix(Pattern),
}

fn is_text_family(ty: oid::Oid) -> bool {
    matches!(ty, oid::TEXT | oid::VARCHAR | oid::NAME)
}

/// How a function compares text with a pattern whose matches may begin alike.
fn pattern_kind(function: FunctionId) -> Option<PatternKind> {
    Some(match function.signature().body {
        "textlike" | "namelike" => PatternKind::Like,
        "textregexeq" | "nameregexeq" => PatternKind::Regex,
        "text_starts_with" => PatternKind::StartsWith,
        _ => return None,
    })
}

impl Pattern {
    /// Matches can begin with anything.
    fn says_nothing(&self) -> bool {
        match &self.value {
            Expr::Constant(Datum::Text(pattern), _) => self.kind.prefix(pattern).is_empty(),
            _ => false,
        }
    }
}

/// The comparison must be that of the type which the key is compared in, not of one that it was turned into on the way.
fn is_own(declared: oid::Oid, side: oid::Oid) -> bool {
    declared == side
        || (is_text_family(declared) && is_text_family(side))
        || (declared == oid::ANYARRAY && ColumnType::new(side).is_array())
        || (declared == oid::ANYENUM && is_enum(side))
        || (declared == oid::ANYRANGE && is_range(side))
        || (declared == oid::ANYMULTIRANGE && is_multirange(side))
        || (declared == oid::OID && mote_types::catalog::is_oid_like(side))
}

impl Planner<'_> {
    /// Does the expression read this item, itself or through a sub-query?
    pub(super) fn reads(&self, expr: &Expr, item: u16) -> bool {
        expr.any(&mut |inner| match inner {
            Expr::Variable { relation, .. } => *relation == item,
            Expr::SubPlan(call) => self.subquery_reads[call.plan as usize].contains(&item),
            _ => false,
        })
    }

    /// Is this expression the index key?
    pub(super) fn is_key(&self, expr: &Expr, item: u16, key: &IndexKey) -> bool {
        match (&key.target, expr) {
            (
                IndexKeyTarget::Column(column),
                Expr::Variable {
                    relation, column: c, ..
                },
            ) => *relation == item && c == column,
            (IndexKeyTarget::Expression(_, stored), _) => {
                !matches!(expr, Expr::Variable { .. } | Expr::Constant(..))
                    && over_item(stored, item).same(expr)
            }
            _ => false,
        }
    }

    /// The type in which this side of a comparison has the index key: its own or a wider one. None: it is something else.
    fn key_side(&self, side: &Expr, item: u16, key: &IndexKey) -> Option<oid::Oid> {
        if self.is_key(side, item, key) {
            return Some(key.ty.oid);
        }
        match side {
            Expr::Cast { argument, ty, .. } if ty.typmod == -1 && self.is_key(argument, item, key) => {
                widens(key.ty.oid, ty.oid).then_some(ty.oid)
            }
            _ => None,
        }
    }

    pub(super) fn binding(&self, condition: &Expr, item: u16, key: &IndexKey) -> Option<Binding> {
        match condition {
            Expr::Call {
                function, arguments, ..
            } => {
                let [left, right] = arguments.as_slice() else {
                    return None;
                };
                if let Some(kind) = pattern_kind(*function) {
                    let value = right.clone();
                    let pattern = Pattern { kind, value };
                    let is_usable = is_text_family(self.key_side(left, item, key)?)
                        && !self.reads(right, item)
                        && !self.is_unstable(right)
                        && !pattern.says_nothing();
                    return is_usable.then_some(Binding::Prefix(pattern));
                }
                let (comparison, operator) = comparison_of(*function)?;
                let (comparison, value, side, declared) = match self.key_side(left, item, key) {
                    Some(side) if !self.reads(right, item) => (comparison, right, side, operator.left),
                    _ => {
                        let side = self.key_side(right, item, key)?;
                        if self.reads(left, item) {
                            return None;
                        }
                        (comparison.commuted(), left, side, operator.right)
                    }
                };
                if !is_own(declared, side) || self.is_unstable(value) {
                    return None;
                }
                let fit = fit(value.ty().oid, key.ty.oid)?;
                match comparison {
                    Comparison::Equal if fit == Fit::Exact => Some(Binding::Equal(value.clone())),
                    Comparison::NotEqual => None,
                    other => Some(Binding::Bound(other, value.clone(), fit)),
                }
            }
            Expr::IsNull(argument) if self.is_key(argument, item, key) => Some(Binding::IsNull),
            Expr::InList {
                argument,
                list,
                negated: false,
                ..
            } if self.key_side(argument, item, key).is_some() => {
                let is_usable = |value: &Expr| {
                    fit(value.ty().oid, key.ty.oid) == Some(Fit::Exact)
                        && !self.reads(value, item)
                        && !self.is_unstable(value)
                };
                list.iter()
                    .all(is_usable)
                    .then(|| Binding::Any(AnyOf::List(Arc::clone(list))))
            }
            Expr::ArrayComparison {
                function,
                argument,
                array,
                all: false,
            } if self.key_side(argument, item, key).is_some()
                && !self.reads(array, item)
                && !self.is_unstable(array) =>
            {
                let (comparison, _) = comparison_of(*function)?;
                let fit = fit(array.ty().element()?.oid, key.ty.oid)?;
                let usable = fit == Fit::Exact && comparison == Comparison::Equal;
                usable.then(|| Binding::Any(AnyOf::Array(Arc::clone(array))))
            }
            _ => None,
        }
    }

    /// Values that change from row to row cannot be looked up once.
    fn is_unstable(&self, value: &Expr) -> bool {
        value.is_volatile()
    }
}

/// A stored expression over the relation's row as one over the item's variables.
pub(super) fn over_item(stored: &Expr, item: u16) -> Expr {
    let mut expr = stored.clone();
    expr.rewrite(&mut |inner| match inner {
        Expr::Column { index, ty } if *index < FIRST_SYSTEM_COLUMN => Some(column_of(item, *index, *ty)),
        _ => None,
    });
    expr
}

pub(super) fn column_of(item: u16, column: u16, ty: ColumnType) -> Expr {
    Expr::Variable {
        relation: item,
        column,
        ty,
        location: -1,
    }
}
