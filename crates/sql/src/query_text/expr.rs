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
use crate::builtin::function::FunctionId;
use crate::expr::{Expr as Bound, SubPlanKind, WindowFunction};
use crate::routine::Routine;

/// Operators that PostgreSQL has for numbers of different widths.
const ACROSS_WIDTHS: &[&str] = &["=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/"];

/// What a call gives its arguments to.
struct Callee<'c> {
    declared: &'c [Oid],
    /// From here on the arguments are elements of the last.
    variadic: Option<Oid>,
    arguments: &'c [Bound],
}

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

    fn exprs(&mut self, list: &[Expr]) -> Option<Vec<Expr>> {
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
    fn slot(&mut self, expr: &Expr, bound: &Bound, declared: Oid) -> Option<Expr> {
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

    fn slots(&mut self, list: &[Expr], bound: &[Bound]) -> Option<Vec<Expr>> {
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

    /// An operand of an operator that `function` computes.
    fn operand(
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

    fn operation(
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
    fn comparison(
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
    fn compared(&mut self, operand: &Expr, name: &str, own: &Bound) -> Option<Expr> {
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

    fn in_list(&mut self, operand: &Expr, list: &[Expr], negated: bool, own: &Bound) -> Option<Expr> {
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
    fn between(
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

    fn like(
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
            let value = self.slot(expr, bound, oid::TEXT)?;
            shown.push(Argument { name: None, value });
        }
        let right = node(ExprKind::Function(Box::new(FunctionCall {
            name: QualifiedName {
                parts: vec![wrapper.into()],
                location: Location::NONE,
            },
            arguments: shown,
            star: false,
            variadic: false,
            distinct: false,
            order_by: Vec::new(),
            within_group: false,
            filter: None,
            over: None,
            sql_syntax: false,
            location: Location::NONE,
        })));
        Some(node(ExprKind::Operator {
            name,
            left: Some(Box::new(self.operand(operand, left, *function, 0, word)?)),
            right: Box::new(right),
        }))
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

    fn cast_of(&mut self, operand: &Expr, own: &Bound, modified: bool) -> Option<Expr> {
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

    fn function(&mut self, call: &FunctionCall, own: &Bound) -> Option<Expr> {
        let trace = self.trace;
        if call.over.is_some() {
            let window = trace.window(call)?;
            let declared = match window.function {
                WindowFunction::Window(id) => id.signature().arguments,
                WindowFunction::Aggregate(id) => id.signature().arguments,
            };
            return self.called(call, &Callee::fixed(declared, &window.arguments));
        }
        match own {
            Bound::Variable { .. } => match (trace.aggregate(call), trace.set(call)) {
                (Some(found), _) => self.called(
                    call,
                    &Callee::fixed(found.aggregate.signature().arguments, &found.arguments),
                ),
                (None, Some(set)) => self.function(call, set),
                (None, None) => None,
            },
            Bound::Call {
                function, arguments, ..
            } => {
                let signature = function.signature();
                let variadic = signature.variadic.filter(|_| !call.variadic);
                let callee = Callee {
                    declared: signature.arguments,
                    variadic,
                    arguments,
                };
                // SQL's own words are PostgreSQL's for numbers, not for patterns.
                let is_pattern =
                    signature.name == "substring" && signature.arguments == [oid::TEXT, oid::TEXT];
                if is_pattern && call.sql_syntax {
                    let plain = FunctionCall {
                        sql_syntax: false,
                        ..call.clone()
                    };
                    return self.called(&plain, &callee);
                }
                self.called(call, &callee)
            }
            Bound::Routine(found) => {
                let mut shown = self.called(call, &Callee::fixed(&[], &found.arguments))?;
                if let ExprKind::Function(call) = &mut shown.kind {
                    call.name.parts = self.routine_name(&found.routine);
                }
                Some(shown)
            }
            Bound::Sequence { arguments, .. } => self.called(call, &Callee::fixed(&[], arguments)),
            Bound::SessionValue { .. } => self.called(call, &Callee::fixed(&[], &[])),
            // A type's name in the place of a function's: PostgreSQL has a function for most of them.
            Bound::Cast { ty, .. } => match call.arguments.as_slice() {
                [only] if ty.oid == oid::TEXT => self.cast_of(&only.value, own, false),
                [only] => {
                    let value = self.expr(&only.value)?;
                    Some(node(ExprKind::Function(Box::new(FunctionCall {
                        arguments: vec![Argument { name: None, value }],
                        ..call.clone()
                    }))))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// With its schema where the bare name would find another function, or none.
    fn routine_name(&self, routine: &Routine) -> Vec<Name> {
        let types = routine.input_types();
        let found = self.catalog.routines_named(None, &routine.name);
        let first = found.iter().find(|found| found.input_types() == types);
        let name: Name = routine.name.as_str().into();
        match first.is_some_and(|first| first.oid == routine.oid) {
            true => vec![name],
            false => vec![routine.schema.as_str().into(), name],
        }
    }

    fn called(&mut self, call: &FunctionCall, callee: &Callee<'_>) -> Option<Expr> {
        let mut arguments = Vec::with_capacity(call.arguments.len());
        for (position, argument) in call.arguments.iter().enumerate() {
            let value = self.argument(call, argument, position, callee)?;
            let name = argument.name.clone();
            arguments.push(Argument { name, value });
        }
        let mut order_by = Vec::with_capacity(call.order_by.len());
        for (position, sort) in call.order_by.iter().enumerate() {
            let behind = call.arguments.len() + position;
            let value = match callee.arguments.get(behind).filter(|_| call.within_group) {
                Some(bound) => self.slot(&sort.value, bound, Oid::INVALID)?,
                None => self.expr(&sort.value)?,
            };
            order_by.push(SortBy {
                value,
                ..sort.clone()
            });
        }
        let over = match &call.over {
            Some(window) => Some(self.window(window)?),
            None => None,
        };
        Some(node(ExprKind::Function(Box::new(FunctionCall {
            arguments,
            order_by,
            filter: self.optional(call.filter.as_ref())?,
            over,
            ..call.clone()
        }))))
    }

    fn argument(
        &mut self,
        call: &FunctionCall,
        argument: &Argument,
        position: usize,
        callee: &Callee<'_>,
    ) -> Option<Expr> {
        let expr = &argument.value;
        // The field is a word, not a value; the rows of OVERLAPS are shown as they are.
        let as_written = match call.name.last() {
            "extract" => position == 0 && call.sql_syntax,
            "overlaps" => call.sql_syntax,
            _ => false,
        };
        let is_literal = matches!(
            expr.kind,
            ExprKind::Constant(Constant::String(_) | Constant::Null)
        );
        if as_written && is_literal {
            return Some(expr.clone());
        }
        if as_written || argument.name.is_some() {
            return self.expr(expr);
        }
        let from = callee.declared.len().saturating_sub(1);
        match callee.variadic {
            // An argument of any type is passed without one, if it has none.
            Some(oid::ANY) if position >= from => match is_literal {
                true => Some(expr.clone()),
                false => self.expr(expr),
            },
            Some(element) if position >= from => match callee.arguments.get(from)? {
                Bound::Array { elements, .. } => self.slot(expr, elements.get(position - from)?, element),
                _ => None,
            },
            _ => {
                let declared = callee.declared.get(position).copied().unwrap_or(Oid::INVALID);
                // Whatever takes anything is given literals as texts, and PostgreSQL says nothing of it.
                if declared == oid::ANY && is_literal {
                    return Some(expr.clone());
                }
                self.slot(expr, callee.arguments.get(position)?, declared)
            }
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

impl<'c> Callee<'c> {
    fn fixed(declared: &'c [Oid], arguments: &'c [Bound]) -> Callee<'c> {
        Callee {
            declared,
            variadic: None,
            arguments,
        }
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
