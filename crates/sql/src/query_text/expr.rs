//! Expressions: columns by the names of their items, the conversions that PostgreSQL shows, forms that are operators at heart.
//!
//! A node's place in its parent is a slot: the parent's bound form tells the type that the slot wants, the node's own the type
//! that it has. Where both differ somebody converted it, and says so where PostgreSQL does: in operands and arguments, not
//! in conditions and columns.

use mote_common::Oid;
use mote_grammar::ast::*;
use mote_types::catalog::user::is_row;
use mote_types::catalog::{is_oid_like, polymorphism};
use mote_types::{ColumnType, Datum, oid};

use super::Writer;
use super::constant::{cast, constant, node, typed};
use super::query::IN_EXPRESSION;
use crate::bind::literal_value;
use crate::bind::query::{CTID, ItemKind, TABLE_OID, WHOLE_ROW, XMAX, XMIN};
use crate::expr::Expr as Bound;

impl Writer<'_> {
    pub fn expr(&mut self, expr: &Expr) -> Option<Expr> {
        self.expr_of(expr, None)
    }

    /// `ty`: what a literal without a type becomes.
    pub fn expr_of(&mut self, expr: &Expr, ty: Option<ColumnType>) -> Option<Expr> {
        let trace = self.trace;
        // A list of rows, or an array that is cast: bound by who holds it.
        let own = trace.expr(expr);
        Some(match &expr.kind {
            ExprKind::Constant(Constant::Null | Constant::String(_)) => {
                return self.literal(expr, ty.unwrap_or(ColumnType::TEXT));
            }
            ExprKind::Constant(_) => match own? {
                Bound::Constant(value, ty) => return constant(value, *ty),
                _ => return None,
            },
            ExprKind::Column(column) => return self.column_of(column, own?),
            // A column of a row that stands in FROM.
            ExprKind::Indirection { .. } if matches!(own?, Bound::Variable { .. }) => {
                return self.column(own?);
            }
            ExprKind::Indirection { base, steps } => node(ExprKind::Indirection {
                base: Box::new(self.expr(base)?),
                steps: steps.iter().map(|step| self.step(step)).collect::<Option<_>>()?,
            }),
            ExprKind::Operator { name, left, right } => match left {
                Some(left) => return self.comparison(&name.name, name, left, right, own?),
                None => return self.operation(name, None, right, own?),
            },
            ExprKind::And(list) => node(ExprKind::And(self.exprs(list)?)),
            ExprKind::Or(list) => node(ExprKind::Or(self.exprs(list)?)),
            ExprKind::Not(operand) => node(ExprKind::Not(Box::new(self.expr(operand)?))),
            ExprKind::IsNull { operand, negated } => node(ExprKind::IsNull {
                operand: Box::new(self.expr(operand)?),
                negated: *negated,
            }),
            ExprKind::BooleanTest {
                operand,
                value,
                negated,
            } => node(ExprKind::BooleanTest {
                operand: Box::new(self.expr(operand)?),
                value: *value,
                negated: *negated,
            }),
            ExprKind::IsDistinctFrom { left, right, negated } => {
                let Bound::DistinctFrom {
                    equals,
                    left: a,
                    right: b,
                    ..
                } = own?
                else {
                    return None;
                };
                node(ExprKind::IsDistinctFrom {
                    left: Box::new(self.operand(left, a, *equals, 0, "=")?),
                    right: Box::new(self.operand(right, b, *equals, 1, "=")?),
                    negated: *negated,
                })
            }
            ExprKind::InList {
                operand,
                list,
                negated,
            } => return self.in_list(operand, list, *negated, own?),
            ExprKind::InQuery { operand, query } => {
                let operand = self.compared(operand, "=", own?)?;
                node(ExprKind::InQuery {
                    operand: Box::new(operand),
                    query: Box::new(self.query(query, &IN_EXPRESSION)?),
                })
            }
            ExprKind::QuantifiedArray {
                operand,
                operator,
                quantifier,
                array,
            } => {
                let Bound::ArrayComparison {
                    function,
                    argument,
                    array: bound,
                    ..
                } = own?
                else {
                    return None;
                };
                let compares_texts = function.signature().arguments.get(1) == Some(&oid::TEXT);
                let own = self.trace.expr(array).map_or(ColumnType::UNKNOWN, Bound::ty);
                let texts = ColumnType::new(oid::TEXT_ARRAY);
                // Strings of a length are compared as texts.
                let array = match own.oid {
                    oid::UNKNOWN if compares_texts => self.expr_of(array, Some(texts))?,
                    oid::VARCHAR_ARRAY if compares_texts => {
                        cast(self.slot(array, bound, Oid::INVALID)?, texts)?
                    }
                    _ => self.slot(array, bound, Oid::INVALID)?,
                };
                node(ExprKind::QuantifiedArray {
                    operand: Box::new(self.operand(operand, argument, *function, 0, &operator.name)?),
                    operator: operator.clone(),
                    quantifier: *quantifier,
                    array: Box::new(array),
                })
            }
            ExprKind::QuantifiedQuery {
                operand,
                operator,
                quantifier,
                query,
            } => {
                let operand = Box::new(self.compared(operand, &operator.name, own?)?);
                let query = Box::new(self.query(query, &IN_EXPRESSION)?);
                // They mean the same, and PostgreSQL has one word for both.
                match (quantifier, &*operator.name) {
                    (Quantifier::Any, "=") => node(ExprKind::InQuery { operand, query }),
                    _ => node(ExprKind::QuantifiedQuery {
                        operand,
                        operator: operator.clone(),
                        quantifier: *quantifier,
                        query,
                    }),
                }
            }
            ExprKind::Between {
                operand,
                low,
                high,
                symmetric,
                negated,
            } => {
                let inside = match own? {
                    Bound::Not(inside) if *negated => &**inside,
                    other if !*negated => other,
                    _ => return None,
                };
                return self.between(operand, low, high, *symmetric, *negated, inside);
            }
            ExprKind::Like {
                form,
                operand,
                pattern,
                escape,
                negated,
            } => return self.like(*form, operand, pattern, escape.as_deref(), *negated, own?),
            ExprKind::Case {
                operand,
                branches,
                otherwise,
            } => return self.case(operand.as_deref(), branches, otherwise.as_deref(), own?),
            ExprKind::Coalesce(list) => match own? {
                Bound::Coalesce { arguments, .. } => node(ExprKind::Coalesce(self.slots(list, arguments)?)),
                _ => return None,
            },
            ExprKind::Greatest(list) => match own? {
                Bound::MinMax { arguments, .. } => node(ExprKind::Greatest(self.slots(list, arguments)?)),
                _ => return None,
            },
            ExprKind::Least(list) => match own? {
                Bound::MinMax { arguments, .. } => node(ExprKind::Least(self.slots(list, arguments)?)),
                _ => return None,
            },
            ExprKind::NullIf(left, right) => {
                let Bound::NullIf {
                    equals,
                    left: a,
                    right: b,
                    ..
                } = own?
                else {
                    return None;
                };
                let left = self.operand(left, a, *equals, 0, "=")?;
                node(ExprKind::NullIf(
                    Box::new(left),
                    Box::new(self.operand(right, b, *equals, 1, "=")?),
                ))
            }
            ExprKind::Function(call) => return self.function(call, own?),
            ExprKind::Cast { operand, target } => {
                return self.cast_of(operand, own?, !target.modifiers.is_empty());
            }
            ExprKind::Row { fields, form } => node(ExprKind::Row {
                fields: self.exprs(fields)?,
                form: *form,
            }),
            ExprKind::Array(elements) => match own? {
                Bound::Array {
                    elements: bound, ty, ..
                } => return self.array(elements, bound, *ty),
                _ => return None,
            },
            ExprKind::Exists(query) => node(ExprKind::Exists(Box::new(self.query(query, &IN_EXPRESSION)?))),
            ExprKind::ScalarQuery(query) => node(ExprKind::ScalarQuery(Box::new(
                self.query(query, &IN_EXPRESSION)?,
            ))),
            ExprKind::ArrayQuery(query) => {
                node(ExprKind::ArrayQuery(Box::new(self.query(query, &IN_EXPRESSION)?)))
            }
            ExprKind::Collate { operand, collation } => node(ExprKind::Collate {
                operand: Box::new(self.expr(operand)?),
                collation: collation.clone(),
            }),
            ExprKind::SqlValue { .. } => expr.clone(),
            ExprKind::Grouping(list) => node(ExprKind::Grouping(self.exprs(list)?)),
            ExprKind::Parameter(_) | ExprKind::Default | ExprKind::CurrentOf(_) | ExprKind::MergeAction => {
                return None;
            }
        })
    }

    pub(super) fn exprs(&mut self, list: &[Expr]) -> Option<Vec<Expr>> {
        list.iter().map(|expr| self.expr(expr)).collect()
    }

    /// A quoted literal, or NULL, as a value of the type.
    fn literal(&mut self, expr: &Expr, ty: ColumnType) -> Option<Expr> {
        match &expr.kind {
            ExprKind::Constant(Constant::String(text)) => match literal_value(text, ty) {
                Some(value) => constant(&value, ty),
                None => typed(text, ty),
            },
            _ => constant(&Datum::Null, ty),
        }
    }

    fn column_of(&mut self, written: &ColumnReference, own: &Bound) -> Option<Expr> {
        match own {
            Bound::Variable { .. } | Bound::Row { .. } => self.column(own),
            // What FULL JOIN .. USING has merged belongs to none of the two.
            Bound::Coalesce { .. } if written.parts.len() == 1 => {
                Some(node(ExprKind::Column(written.clone())))
            }
            _ => None,
        }
    }

    /// A column, or a row, of a FROM item.
    pub fn column(&mut self, bound: &Bound) -> Option<Expr> {
        let reference =
            |parts: Vec<Name>, star: bool| Some(node(ExprKind::Column(ColumnReference { parts, star })));
        match bound {
            Bound::Row { fields, .. } => match fields.first()? {
                Bound::Variable { relation, .. } => {
                    reference(vec![self.names.of_item(*relation)?.clone()], true)
                }
                _ => None,
            },
            Bound::Variable { relation, column, .. } => {
                let item = self.names.of_item(*relation)?.clone();
                let known = self.trace.range.get(*relation as usize)?;
                let name: Name = match *column {
                    WHOLE_ROW => return reference(vec![item], true),
                    CTID => "ctid".into(),
                    XMIN => "xmin".into(),
                    XMAX => "xmax".into(),
                    TABLE_OID => "tableoid".into(),
                    position => match (&known.kind, known.columns.get(position as usize)) {
                        (_, Some(column)) => column.name.clone(),
                        (ItemKind::Relation(relation), None) => {
                            relation.columns.get(position as usize)?.name.as_str().into()
                        }
                        _ => return None,
                    },
                };
                // A derived table without a name of its own.
                let parts = if item.is_empty() {
                    vec![name]
                } else {
                    vec![item, name]
                };
                reference(parts, false)
            }
            _ => None,
        }
    }

    fn step(&mut self, step: &IndirectionStep) -> Option<IndirectionStep> {
        Some(match step {
            IndirectionStep::Subscript(index) => IndirectionStep::Subscript(self.expr(index)?),
            IndirectionStep::Slice { lower, upper } => IndirectionStep::Slice {
                lower: self.optional(lower.as_ref())?,
                upper: self.optional(upper.as_ref())?,
            },
            other => other.clone(),
        })
    }

    /// Of a domain's column the operators see the values below.
    fn is_domain(&self, written: &Expr, own: &Bound) -> bool {
        if !matches!(written.kind, ExprKind::Column(_)) {
            return false;
        }
        let Bound::Variable { relation, column, .. } = own else {
            return false;
        };
        match self.trace.range.get(*relation as usize).map(|item| &item.kind) {
            Some(ItemKind::Relation(relation)) => {
                let column = relation.columns.get(*column as usize);
                column.is_some_and(|column| column.domain.is_some())
            }
            _ => false,
        }
    }

    /// A node where its parent wants another type, or the declared one.
    pub(super) fn slot(&mut self, expr: &Expr, bound: &Bound, declared: Oid) -> Option<Expr> {
        let trace = self.trace;
        if let (
            ExprKind::Array(elements),
            Bound::Array {
                elements: inner, ty, ..
            },
        ) = (&expr.kind, bound)
        {
            return self.array(elements, inner, *ty);
        }
        let own = trace.expr(expr)?;
        let (has, wants) = (own.ty(), bound.ty());
        if has.oid == oid::UNKNOWN {
            return self.expr_of(expr, Some(ColumnType::new(wants.oid)));
        }
        let written = self.expr(expr)?;
        if has.oid != wants.oid && !is_row(wants.oid) {
            return cast(written, ColumnType::new(wants.oid));
        }
        // The same datum under another type.
        let relabelled = match declared {
            oid::TEXT => matches!(has.oid, oid::VARCHAR | oid::NAME).then_some(oid::TEXT),
            oid::OID => (has.oid != oid::OID && is_oid_like(has.oid)).then_some(oid::OID),
            _ => None,
        };
        match relabelled {
            Some(ty) => cast(written, ColumnType::new(ty)),
            None if declared != Oid::INVALID
                && polymorphism(declared).is_none()
                && self.is_domain(expr, own) =>
            {
                cast(written, has)
            }
            None => Some(written),
        }
    }

    pub(super) fn slots(&mut self, list: &[Expr], bound: &[Bound]) -> Option<Vec<Expr>> {
        if list.len() != bound.len() {
            return None;
        }
        let pairs = list.iter().zip(bound);
        pairs
            .map(|(expr, bound)| self.slot(expr, bound, Oid::INVALID))
            .collect()
    }

    fn array(&mut self, elements: &[Expr], bound: &[Bound], ty: ColumnType) -> Option<Expr> {
        if elements.is_empty() {
            return cast(node(ExprKind::Array(Vec::new())), ty);
        }
        Some(node(ExprKind::Array(self.slots(elements, bound)?)))
    }

    fn case(
        &mut self,
        operand: Option<&Expr>,
        branches: &[CaseBranch],
        otherwise: Option<&Expr>,
        own: &Bound,
    ) -> Option<Expr> {
        let Bound::Case {
            branches: bound,
            otherwise: default,
            ty,
        } = own
        else {
            return None;
        };
        let mut shown_operand = None;
        let mut shown = Vec::with_capacity(branches.len());
        for (branch, (test, result)) in branches.iter().zip(bound) {
            let condition = match operand {
                None => self.expr(&branch.condition)?,
                Some(operand) => {
                    let Bound::Call {
                        function, arguments, ..
                    } = test
                    else {
                        return None;
                    };
                    let [left, right] = arguments.as_slice() else {
                        return None;
                    };
                    if shown_operand.is_none() {
                        shown_operand = Some(Box::new(self.operand(operand, left, *function, 0, "=")?));
                    }
                    self.operand(&branch.condition, right, *function, 1, "=")?
                }
            };
            shown.push(CaseBranch {
                condition,
                result: self.slot(&branch.result, result, Oid::INVALID)?,
                location: branch.location,
            });
        }
        let otherwise = match (otherwise, default) {
            (Some(expr), Some(bound)) => self.slot(expr, bound, Oid::INVALID)?,
            (None, None) => constant(&Datum::Null, *ty)?,
            _ => return None,
        };
        Some(node(ExprKind::Case {
            operand: shown_operand,
            branches: shown,
            otherwise: Some(Box::new(otherwise)),
        }))
    }

    pub(super) fn cast_of(&mut self, operand: &Expr, own: &Bound, modified: bool) -> Option<Expr> {
        // A cast without a length forgets the one that there was.
        let wants = match modified {
            true => own.ty(),
            false => ColumnType::new(own.ty().oid),
        };
        if let (ExprKind::Array(elements), Bound::Array { elements: bound, .. }) = (&operand.kind, own) {
            return self.cast_array(elements, bound, wants);
        }
        if let Bound::Domain(domain) = own {
            let inner = self.cast_of(operand, &domain.argument, modified)?;
            return cast(inner, ColumnType::new(domain.rules.domain));
        }
        self.cast_to(operand, wants)
    }

    /// A cast of a constructed array is one of each element; where there are none, only their length is left to cast to.
    fn cast_array(&mut self, elements: &[Expr], bound: &[Bound], wants: ColumnType) -> Option<Expr> {
        if elements.is_empty() {
            let bare = self.array(elements, bound, ColumnType::new(wants.oid))?;
            return match wants.typmod >= 0 {
                true => cast(bare, wants),
                false => Some(bare),
            };
        }
        let element = wants.element()?;
        let mut cast_elements = Vec::with_capacity(elements.len());
        for (expr, bound) in elements.iter().zip(bound) {
            cast_elements.push(match (&expr.kind, bound) {
                (ExprKind::Array(inner), Bound::Array { elements: bound, .. }) => {
                    self.cast_array(inner, bound, wants)?
                }
                _ if bound.ty().oid == wants.oid => self.cast_to(expr, wants)?,
                _ => self.cast_to(expr, element)?,
            });
        }
        Some(node(ExprKind::Array(cast_elements)))
    }

    fn cast_to(&mut self, operand: &Expr, wants: ColumnType) -> Option<Expr> {
        let inner = self.trace.expr(operand)?;
        let has = inner.ty();
        if has.oid == oid::UNKNOWN {
            return match &operand.kind {
                ExprKind::Constant(Constant::String(text)) if wants.typmod >= 0 => {
                    modified_literal(text, wants)
                }
                ExprKind::Constant(_) => self.expr_of(operand, Some(wants)),
                _ => None,
            };
        }
        let changes = has != wants || self.is_domain(operand, inner);
        let written = self.expr(operand)?;
        match changes {
            true => cast(written, wants),
            false => Some(written),
        }
    }

    pub fn window(&mut self, window: &WindowSpecification) -> Option<WindowSpecification> {
        let mut order_by = Vec::with_capacity(window.order_by.len());
        for sort in &window.order_by {
            order_by.push(SortBy {
                value: self.expr(&sort.value)?,
                ..sort.clone()
            });
        }
        Some(WindowSpecification {
            partition_by: self.exprs(&window.partition_by)?,
            order_by,
            ..window.clone()
        })
    }
}

/// A literal whose type has a length or a precision, which is said once.
fn modified_literal(text: &str, ty: ColumnType) -> Option<Expr> {
    let base = match ty.oid {
        oid::INTERVAL => ty,
        other => ColumnType::new(other),
    };
    let Some(value) = literal_value(text, base) else {
        return typed(text, ty);
    };
    match constant(&value, base)?.kind {
        ExprKind::Cast { operand, .. } => cast(*operand, ty),
        kind => cast(node(kind), ty),
    }
}
