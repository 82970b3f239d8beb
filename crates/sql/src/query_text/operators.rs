//! Operators, and the forms that are operators at heart: `IN`, `BETWEEN`, `LIKE`.
//!
//! An operand shows a conversion where PostgreSQL has no operator for the types as they are.

use mote_common::Oid;
use mote_grammar::ast::*;
use mote_types::{ColumnType, oid};

use super::Writer;
use super::constant::{cast, node};
use super::query::IN_EXPRESSION;
use crate::builtin::function::FunctionId;
use crate::expr::{Expr as Bound, SubPlanKind};

/// Operators that PostgreSQL has for numbers of different widths.
const ACROSS_WIDTHS: &[&str] = &["=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/"];

impl Writer<'_> {
    /// An operand of an operator that `function` computes.
    pub(super) fn operand(
        &mut self,
        expr: &Expr,
        bound: &Bound,
        function: FunctionId,
        position: usize,
        name: &str,
    ) -> Option<Expr> {
        let own = self.trace.expr(expr).map_or(ColumnType::UNKNOWN, Bound::ty);
        if ACROSS_WIDTHS.contains(&name) && has_operators_across(own.oid, bound.ty().oid) {
            return self.expr(expr);
        }
        let declared = function.signature().arguments.get(position).copied();
        // Names are compared with texts as they are.
        if own.oid == oid::NAME && ACROSS_WIDTHS.contains(&name) {
            return self.expr(expr);
        }
        self.slot(expr, bound, declared.unwrap_or(Oid::INVALID))
    }

    pub(super) fn operation(
        &mut self,
        name: &OperatorName,
        left: Option<&Expr>,
        right: &Expr,
        own: &Bound,
    ) -> Option<Expr> {
        let Bound::Call {
            function, arguments, ..
        } = own
        else {
            return None;
        };
        let (left, right) = match (left, arguments.as_slice()) {
            (None, [only]) => (None, self.operand(right, only, *function, 0, &name.name)?),
            (Some(left), [a, b]) => {
                let left = self.operand(left, a, *function, 0, &name.name)?;
                (Some(left), self.operand(right, b, *function, 1, &name.name)?)
            }
            _ => return None,
        };
        // One word for both spellings.
        let shown = match &*name.name {
            "!=" => "<>",
            other => other,
        };
        Some(node(ExprKind::Operator {
            name: OperatorName {
                schema: name.schema.clone().filter(|schema| &**schema != "pg_catalog"),
                name: shown.into(),
            },
            left: left.map(Box::new),
            right: Box::new(right),
        }))
    }

    /// An operator between two operands, which may be rows.
    pub(super) fn comparison(
        &mut self,
        word: &str,
        name: &OperatorName,
        left: &Expr,
        right: &Expr,
        own: &Bound,
    ) -> Option<Expr> {
        if let (ExprKind::Row { fields, .. }, ExprKind::ScalarQuery(query)) = (&left.kind, &right.kind) {
            let left = node(ExprKind::Row {
                fields: self.exprs(fields)?,
                form: RowForm::Implicit,
            });
            let right = node(ExprKind::ScalarQuery(Box::new(
                self.query(query, &IN_EXPRESSION)?,
            )));
            return Some(node(ExprKind::Operator {
                name: name.clone(),
                left: Some(Box::new(left)),
                right: Box::new(right),
            }));
        }
        let (ExprKind::Row { fields: a, .. }, ExprKind::Row { fields: b, .. }) = (&left.kind, &right.kind)
        else {
            return self.operation(name, Some(left), right, own);
        };
        match own {
            Bound::And(tests) | Bound::Or(tests) if tests.len() == a.len() && a.len() == b.len() => {
                let mut list = Vec::with_capacity(tests.len());
                for ((a, b), test) in a.iter().zip(b).zip(tests) {
                    list.push(self.operation(name, Some(a), b, test)?);
                }
                Some(node(match own {
                    Bound::And(_) => ExprKind::And(list),
                    _ => ExprKind::Or(list),
                }))
            }
            Bound::RowComparison {
                left: x,
                right: y,
                less,
                ..
            } if x.len() == a.len() && y.len() == b.len() => {
                let mut rows = [Vec::new(), Vec::new()];
                for (position, function) in less.iter().enumerate() {
                    rows[0].push(self.operand(&a[position], &x[position], *function, 0, word)?);
                    rows[1].push(self.operand(&b[position], &y[position], *function, 1, word)?);
                }
                let [left, right] = rows.map(|fields| {
                    Box::new(node(ExprKind::Row {
                        fields,
                        form: RowForm::Explicit,
                    }))
                });
                Some(node(ExprKind::Operator {
                    name: name.clone(),
                    left: Some(left),
                    right,
                }))
            }
            _ => None,
        }
    }

    /// What stands to the left of IN and of operators with ANY and ALL, before a query.
    pub(super) fn compared(&mut self, operand: &Expr, name: &str, own: &Bound) -> Option<Expr> {
        let Bound::SubPlan(call) = own else { return None };
        let (SubPlanKind::Any { left, functions, .. } | SubPlanKind::All { left, functions }) = &call.kind
        else {
            return None;
        };
        match (&operand.kind, left.as_slice(), functions.as_slice()) {
            (ExprKind::Row { fields, .. }, left, functions) if fields.len() == left.len() => {
                let mut shown = Vec::with_capacity(fields.len());
                for ((field, bound), function) in fields.iter().zip(left).zip(functions) {
                    shown.push(self.operand(field, bound, *function, 0, name)?);
                }
                Some(node(ExprKind::Row {
                    fields: shown,
                    form: RowForm::Implicit,
                }))
            }
            (ExprKind::Row { .. }, ..) => None,
            (_, [only], [function]) => self.operand(operand, only, *function, 0, name),
            _ => None,
        }
    }

    pub(super) fn in_list(
        &mut self,
        operand: &Expr,
        list: &[Expr],
        negated: bool,
        own: &Bound,
    ) -> Option<Expr> {
        let word = if negated { "<>" } else { "=" };
        let name = OperatorName {
            schema: None,
            name: word.into(),
        };
        match own {
            Bound::InList {
                function,
                argument,
                list: bound,
                ..
            } => {
                let left = self.operand(operand, argument, *function, 0, word)?;
                let array = node(ExprKind::Array(self.slots(list, bound)?));
                // Strings of a length are compared as texts, the whole list at a time.
                let strings = bound.first().is_some_and(|first| first.ty().oid == oid::VARCHAR)
                    && function.signature().arguments.get(1) == Some(&oid::TEXT);
                let array = match strings {
                    true => cast(array, ColumnType::new(oid::TEXT_ARRAY))?,
                    false => array,
                };
                let quantifier = if negated { Quantifier::All } else { Quantifier::Any };
                Some(node(ExprKind::QuantifiedArray {
                    operand: Box::new(left),
                    operator: name,
                    quantifier,
                    array: Box::new(array),
                }))
            }
            Bound::And(tests) | Bound::Or(tests) if list.len() > 1 && tests.len() == list.len() => {
                let mut shown = Vec::with_capacity(tests.len());
                for (item, test) in list.iter().zip(tests) {
                    shown.push(self.comparison(word, &name, operand, item, test)?);
                }
                Some(node(match own {
                    Bound::And(_) => ExprKind::And(shown),
                    _ => ExprKind::Or(shown),
                }))
            }
            _ => match list {
                [only] => self.comparison(word, &name, operand, only, own),
                _ => None,
            },
        }
    }

    /// Two comparisons, or four where the bounds may stand either way round.
    pub(super) fn between(
        &mut self,
        operand: &Expr,
        low: &Expr,
        high: &Expr,
        symmetric: bool,
        negated: bool,
        inside: &Bound,
    ) -> Option<Expr> {
        let mut range = |low: &Expr, high: &Expr, bound: &Bound| {
            let Bound::And(tests) = bound else { return None };
            let [above, below] = tests.as_slice() else {
                return None;
            };
            let (first, second) = if negated { ("<", ">") } else { (">=", "<=") };
            let name = |word: &str| OperatorName {
                schema: None,
                name: word.into(),
            };
            let list = vec![
                self.operation(&name(first), Some(operand), low, above)?,
                self.operation(&name(second), Some(operand), high, below)?,
            ];
            Some(node(match negated {
                true => ExprKind::Or(list),
                false => ExprKind::And(list),
            }))
        };
        if !symmetric {
            return range(low, high, inside);
        }
        let Bound::Or(ways) = inside else { return None };
        let [forth, back] = ways.as_slice() else {
            return None;
        };
        let list = vec![range(low, high, forth)?, range(high, low, back)?];
        Some(node(match negated {
            true => ExprKind::And(list),
            false => ExprKind::Or(list),
        }))
    }

    pub(super) fn like(
        &mut self,
        form: LikeForm,
        operand: &Expr,
        pattern: &Expr,
        escape: Option<&Expr>,
        negated: bool,
        own: &Bound,
    ) -> Option<Expr> {
        let (word, wrapper) = match (form, negated) {
            (LikeForm::Like, false) => ("~~", "like_escape"),
            (LikeForm::Like, true) => ("!~~", "like_escape"),
            (LikeForm::ILike, false) => ("~~*", "like_escape"),
            (LikeForm::ILike, true) => ("!~~*", "like_escape"),
            (LikeForm::SimilarTo, false) => ("~", "similar_to_escape"),
            (LikeForm::SimilarTo, true) => ("!~", "similar_to_escape"),
        };
        let name = OperatorName {
            schema: None,
            name: word.into(),
        };
        if escape.is_none() && form != LikeForm::SimilarTo {
            return self.operation(&name, Some(operand), pattern, own);
        }
        let Bound::Call {
            function, arguments, ..
        } = own
        else {
            return None;
        };
        let [
            left,
            Bound::Call {
                arguments: patterns, ..
            },
        ] = arguments.as_slice()
        else {
            return None;
        };
        let written: Vec<Expr> = std::iter::once(pattern).chain(escape).cloned().collect();
        let mut shown = Vec::with_capacity(2);
        for (expr, bound) in written.iter().zip(patterns) {
            shown.push(self.slot(expr, bound, oid::TEXT)?);
        }
        let wrapper = QualifiedName {
            parts: vec![wrapper.into()],
            location: Location::NONE,
        };
        let call = FunctionCall::plain(wrapper, shown, Location::NONE);
        let right = node(ExprKind::Function(Box::new(call)));
        Some(node(ExprKind::Operator {
            name,
            left: Some(Box::new(self.operand(operand, left, *function, 0, word)?)),
            right: Box::new(right),
        }))
    }
}

/// Does PostgreSQL have operators for the two types as they are, where mote converts one?
fn has_operators_across(left: Oid, right: Oid) -> bool {
    const FAMILIES: [&[Oid]; 3] = [
        &[oid::INT2, oid::INT4, oid::INT8],
        &[oid::FLOAT4, oid::FLOAT8],
        &[oid::DATE, oid::TIMESTAMP, oid::TIMESTAMPTZ],
    ];
    left != right
        && FAMILIES
            .iter()
            .any(|family| family.contains(&left) && family.contains(&right))
}
