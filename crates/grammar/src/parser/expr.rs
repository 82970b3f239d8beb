//! Expressions.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use pg_raw_parse::list::NodeList;
use pg_raw_parse::{Node, nodes, raw};

use super::convert::{Converter, uncast};
use crate::ast::*;

impl Converter<'_> {
    pub(super) fn expr(&mut self, node: Node<'_>) -> SqlResult<Expr> {
        self.deeper(|this| this.expr_here(node))
    }

    pub(super) fn boxed(&mut self, node: Node<'_>) -> SqlResult<Box<Expr>> {
        self.expr(node).map(Box::new)
    }

    pub(super) fn optional(&mut self, node: Node<'_>) -> SqlResult<Option<Expr>> {
        match node {
            Node::None => Ok(None),
            node => self.expr(node).map(Some),
        }
    }

    pub(super) fn exprs(&mut self, list: &NodeList) -> SqlResult<Vec<Expr>> {
        self.each(list, Self::expr)
    }

    fn optional_boxed(&mut self, node: Node<'_>) -> SqlResult<Option<Box<Expr>>> {
        Ok(self.optional(node)?.map(Box::new))
    }

    /// One function a form, and none of the work here: this frame is on the stack once for each level of the tree.
    fn expr_here(&mut self, node: Node<'_>) -> SqlResult<Expr> {
        match node {
            Node::A_Const(node) => at(node.location, self.constant(node).map(ExprKind::Constant)),
            Node::ColumnRef(node) => at(node.location, self.column_reference(node)),
            Node::ParamRef(node) => at(node.location, self.parameter(node)),
            Node::A_Expr(node) => at(node.location, self.operator_expr(node)),
            Node::BoolExpr(node) => at(node.location, self.boolean_expr(node)),
            Node::FuncCall(node) => at(node.location, self.function_expr(node)),
            Node::TypeCast(node) => at(cast_location(node), self.cast(node)),
            Node::A_Indirection(node) => self.indirection(node),
            Node::SubLink(node) => at(node.location, self.sub_link(node)),
            Node::CaseExpr(node) => at(node.location, self.case(node)),
            Node::NullTest(node) => at(node.location, self.null_test(node)),
            Node::BooleanTest(node) => at(node.location, self.boolean_test(node)),
            Node::CoalesceExpr(node) => at(node.location, self.exprs(node.args()).map(ExprKind::Coalesce)),
            Node::MinMaxExpr(node) => at(node.location, self.min_max(node)),
            Node::RowExpr(node) => at(node.location, self.row(node)),
            Node::A_ArrayExpr(node) => at(node.location, self.exprs(node.elements()).map(ExprKind::Array)),
            Node::CollateClause(node) => at(node.location, self.collate(node)),
            Node::SQLValueFunction(node) => at(node.location, self.sql_value(node)),
            Node::GroupingFunc(node) => at(node.location, self.exprs(node.args()).map(ExprKind::Grouping)),
            Node::SetToDefault(node) => at(node.location, Ok(ExprKind::Default)),
            Node::CurrentOfExpr(node) => at(-1, self.current_of(node)),
            Node::MergeSupportFunc(node) => at(node.location, Ok(ExprKind::MergeAction)),
            other => Err(self.unsupported_expr(other)),
        }
    }

    fn null_test(&mut self, node: &nodes::NullTest) -> SqlResult<ExprKind> {
        let negated = node.nulltesttype == raw::NullTestType::IS_NOT_NULL;
        Ok(ExprKind::IsNull {
            operand: self.boxed(node.arg())?,
            negated,
        })
    }

    fn min_max(&mut self, node: &nodes::MinMaxExpr) -> SqlResult<ExprKind> {
        let arguments = self.exprs(node.args())?;
        let greatest = node.op == raw::MinMaxOp::IS_GREATEST;
        Ok(if greatest {
            ExprKind::Greatest(arguments)
        } else {
            ExprKind::Least(arguments)
        })
    }

    fn row(&mut self, node: &nodes::RowExpr) -> SqlResult<ExprKind> {
        let explicit = node.row_format == raw::CoercionForm::COERCE_EXPLICIT_CALL;
        let form = if explicit {
            RowForm::Explicit
        } else {
            RowForm::Implicit
        };
        Ok(ExprKind::Row {
            fields: self.exprs(node.args())?,
            form,
        })
    }

    fn collate(&mut self, node: &nodes::CollateClause) -> SqlResult<ExprKind> {
        let collation = self.qualified_name(node.collname(), node.location)?;
        Ok(ExprKind::Collate {
            operand: self.boxed(node.arg())?,
            collation,
        })
    }

    fn current_of(&mut self, node: &nodes::CurrentOfExpr) -> SqlResult<ExprKind> {
        match node.cursor_name() {
            Some(cursor) => Ok(ExprKind::CurrentOf(cursor.into())),
            // A parameter in the cursor's place is for PL/pgSQL.
            None => Err(self.unsupported("WHERE CURRENT OF a parameter", -1)),
        }
    }

    fn function_expr(&mut self, node: &nodes::FuncCall) -> SqlResult<ExprKind> {
        Ok(ExprKind::Function(Box::new(self.function_call(node)?)))
    }

    #[cold]
    fn unsupported_expr(&self, node: Node<'_>) -> SqlError {
        match node {
            Node::XmlExpr(node) => self.unsupported("an XML expression", node.location),
            Node::XmlSerialize(node) => self.unsupported("XMLSERIALIZE", node.location),
            Node::JsonObjectConstructor(node) => self.unsupported("JSON_OBJECT", node.location),
            Node::JsonArrayConstructor(node) => self.unsupported("JSON_ARRAY", node.location),
            Node::JsonArrayQueryConstructor(node) => self.unsupported("JSON_ARRAY", node.location),
            Node::JsonObjectAgg(_) => self.unsupported("JSON_OBJECTAGG", -1),
            Node::JsonArrayAgg(_) => self.unsupported("JSON_ARRAYAGG", -1),
            Node::JsonIsPredicate(node) => self.unsupported("IS JSON", node.location),
            Node::JsonFuncExpr(node) => self.unsupported("an SQL/JSON query function", node.location),
            Node::JsonParseExpr(node) => self.unsupported("JSON()", node.location),
            Node::JsonScalarExpr(node) => self.unsupported("JSON_SCALAR", node.location),
            Node::JsonSerializeExpr(node) => self.unsupported("JSON_SERIALIZE", node.location),
            other => self.unexpected(other, "an expression"),
        }
    }

    fn column_reference(&mut self, node: &nodes::ColumnRef) -> SqlResult<ExprKind> {
        let mut parts = Vec::with_capacity(node.fields().len());
        let mut star = false;
        for field in node.fields() {
            match field {
                Node::String(name) if !star => parts.push(name.sval().unwrap_or_default().into()),
                Node::A_Star(_) if !star => star = true,
                _ => return Err(self.error(state::SYNTAX_ERROR, "improper use of \"*\"", node.location)),
            }
        }
        Ok(ExprKind::Column(ColumnReference { parts, star }))
    }

    /// The grammar here is laxer than PostgreSQL's: it takes `?` for a parameter and letters behind `$1`.
    fn parameter(&mut self, node: &nodes::ParamRef) -> SqlResult<ExprKind> {
        let start = usize::try_from(node.location).unwrap_or(0);
        let written = self.text.as_bytes().get(start..).unwrap_or(&[]);
        if written.first() != Some(&b'$') {
            return Err(self.syntax_error(node.location));
        }
        let digits = written[1..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let rest = &written[1 + digits..];
        let junk = rest
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_' || **byte >= 0x80);
        let junk = junk.count();
        if junk > 0 {
            let token = String::from_utf8_lossy(&written[..1 + digits + junk]);
            let message = format!("trailing junk after parameter at or near \"{token}\"");
            return Err(self.error(state::SYNTAX_ERROR, message, node.location));
        }
        match u32::try_from(node.number) {
            Ok(number) if number > 0 => Ok(ExprKind::Parameter(number)),
            _ => {
                let message = format!("there is no parameter ${}", node.number);
                Err(self.error(state::UNDEFINED_PARAMETER, message, node.location))
            }
        }
    }

    fn operator_expr(&mut self, node: &nodes::A_Expr) -> SqlResult<ExprKind> {
        use raw::A_Expr_Kind::*;
        match node.kind {
            AEXPR_OP => self.plain_operator(node),
            AEXPR_OP_ANY => self.quantified_array(node, Quantifier::Any),
            AEXPR_OP_ALL => self.quantified_array(node, Quantifier::All),
            AEXPR_DISTINCT => self.distinct_from(node, false),
            AEXPR_NOT_DISTINCT => self.distinct_from(node, true),
            AEXPR_NULLIF => Ok(ExprKind::NullIf(
                self.boxed(node.lexpr())?,
                self.boxed(node.rexpr())?,
            )),
            AEXPR_IN => self.in_list(node),
            AEXPR_LIKE => self.like(node, LikeForm::Like),
            AEXPR_ILIKE => self.like(node, LikeForm::ILike),
            AEXPR_SIMILAR => self.like(node, LikeForm::SimilarTo),
            AEXPR_BETWEEN => self.between(node, false, false),
            AEXPR_NOT_BETWEEN => self.between(node, false, true),
            AEXPR_BETWEEN_SYM => self.between(node, true, false),
            AEXPR_NOT_BETWEEN_SYM => self.between(node, true, true),
            _ => Err(self.unexpected(Node::A_Expr(node), "an expression")),
        }
    }

    fn plain_operator(&mut self, node: &nodes::A_Expr) -> SqlResult<ExprKind> {
        Ok(ExprKind::Operator {
            left: self.optional_boxed(node.lexpr())?,
            right: self.boxed(node.rexpr())?,
            name: self.operator(node.name(), node.location)?,
        })
    }

    fn quantified_array(&mut self, node: &nodes::A_Expr, quantifier: Quantifier) -> SqlResult<ExprKind> {
        Ok(ExprKind::QuantifiedArray {
            operator: self.operator(node.name(), node.location)?,
            quantifier,
            operand: self.boxed(node.lexpr())?,
            array: self.boxed(node.rexpr())?,
        })
    }

    fn distinct_from(&mut self, node: &nodes::A_Expr, negated: bool) -> SqlResult<ExprKind> {
        let left = self.boxed(node.lexpr())?;
        Ok(ExprKind::IsDistinctFrom {
            left,
            right: self.boxed(node.rexpr())?,
            negated,
        })
    }

    fn in_list(&mut self, node: &nodes::A_Expr) -> SqlResult<ExprKind> {
        let Node::NodeList(list) = node.rexpr() else {
            return Err(self.unexpected(node.rexpr(), "IN"));
        };
        let negated = &*self.operator(node.name(), node.location)?.name == "<>";
        let operand = self.boxed(node.lexpr())?;
        Ok(ExprKind::InList {
            operand,
            list: self.exprs(list)?,
            negated,
        })
    }

    fn between(&mut self, node: &nodes::A_Expr, symmetric: bool, negated: bool) -> SqlResult<ExprKind> {
        let Node::NodeList(bounds) = node.rexpr() else {
            return Err(self.unexpected(node.rexpr(), "BETWEEN"));
        };
        let (Some(low), Some(high)) = (bounds.get(0), bounds.get(1)) else {
            return Err(self.unexpected(node.rexpr(), "BETWEEN"));
        };
        let operand = self.boxed(node.lexpr())?;
        Ok(ExprKind::Between {
            operand,
            low: self.boxed(low)?,
            high: self.boxed(high)?,
            symmetric,
            negated,
        })
    }

    /// An ESCAPE arrives as a call of `like_escape` around the pattern; SIMILAR TO always has such a call.
    fn like(&mut self, node: &nodes::A_Expr, form: LikeForm) -> SqlResult<ExprKind> {
        let wrapper = if form == LikeForm::SimilarTo {
            "similar_to_escape"
        } else {
            "like_escape"
        };
        let negated = self.operator(node.name(), node.location)?.name.starts_with('!');
        let operand = self.boxed(node.lexpr())?;
        let (pattern, escape) = match node.rexpr() {
            Node::FuncCall(call) if self.is_catalog_function(call, wrapper) => {
                let pattern = call.args().get(0).unwrap_or(Node::None);
                (pattern, call.args().get(1).unwrap_or(Node::None))
            }
            pattern => (pattern, Node::None),
        };
        let pattern = self.boxed(pattern)?;
        Ok(ExprKind::Like {
            form,
            operand,
            pattern,
            escape: self.optional_boxed(escape)?,
            negated,
        })
    }

    fn is_catalog_function(&self, call: &nodes::FuncCall, name: &str) -> bool {
        let mut parts = call
            .funcname()
            .iter()
            .map(|part| part.as_str().unwrap_or_default());
        parts.next() == Some("pg_catalog") && parts.next() == Some(name)
    }

    fn boolean_expr(&mut self, node: &nodes::BoolExpr) -> SqlResult<ExprKind> {
        Ok(match node.boolop {
            raw::BoolExprType::AND_EXPR => ExprKind::And(self.exprs(node.args())?),
            raw::BoolExprType::OR_EXPR => ExprKind::Or(self.exprs(node.args())?),
            _ => ExprKind::Not(self.boxed(node.args().first().unwrap_or(Node::None))?),
        })
    }

    fn boolean_test(&mut self, node: &nodes::BooleanTest) -> SqlResult<ExprKind> {
        use raw::BoolTestType::*;
        let (value, negated) = match node.booltesttype {
            IS_TRUE => (TruthValue::True, false),
            IS_NOT_TRUE => (TruthValue::True, true),
            IS_FALSE => (TruthValue::False, false),
            IS_NOT_FALSE => (TruthValue::False, true),
            IS_UNKNOWN => (TruthValue::Unknown, false),
            _ => (TruthValue::Unknown, true),
        };
        Ok(ExprKind::BooleanTest {
            operand: self.boxed(node.arg())?,
            value,
            negated,
        })
    }

    fn cast(&mut self, node: &nodes::TypeCast) -> SqlResult<ExprKind> {
        if let (Node::ParamRef(parameter), -1) = (node.arg(), node.location) {
            // `date $1` exists in this grammar and not in PostgreSQL's.
            return Err(self.syntax_error(parameter.location));
        }
        let operand = self.boxed(node.arg())?;
        Ok(ExprKind::Cast {
            operand,
            target: self.required_type(node.type_name())?,
        })
    }

    fn indirection(&mut self, node: &nodes::A_Indirection) -> SqlResult<Expr> {
        let base = self.boxed(node.arg())?;
        let location = base.location;
        let steps = self.indirection_steps(node.indirection())?;
        Ok(Expr {
            kind: ExprKind::Indirection { base, steps },
            location,
        })
    }

    pub(super) fn indirection_steps(&mut self, list: &NodeList) -> SqlResult<Vec<IndirectionStep>> {
        self.each(list, |this, step| {
            Ok(match step {
                Node::String(name) => IndirectionStep::Field(name.sval().unwrap_or_default().into()),
                Node::A_Star(_) => IndirectionStep::Star,
                Node::A_Indices(indices) if indices.is_slice => IndirectionStep::Slice {
                    lower: this.optional(indices.lidx())?,
                    upper: this.optional(indices.uidx())?,
                },
                Node::A_Indices(indices) => IndirectionStep::Subscript(this.expr(indices.uidx())?),
                other => return Err(this.unexpected(other, "a subscript")),
            })
        })
    }

    fn sub_link(&mut self, node: &nodes::SubLink) -> SqlResult<ExprKind> {
        use raw::SubLinkType::*;
        let Node::SelectStmt(select) = node.subselect() else {
            return Err(self.unexpected(node.subselect(), "a subquery"));
        };
        let query = Box::new(self.query(select)?);
        Ok(match node.sub_link_type {
            EXISTS_SUBLINK => ExprKind::Exists(query),
            EXPR_SUBLINK => ExprKind::ScalarQuery(query),
            ARRAY_SUBLINK => ExprKind::ArrayQuery(query),
            ANY_SUBLINK if node.oper_name().is_empty() => ExprKind::InQuery {
                operand: self.boxed(node.testexpr())?,
                query,
            },
            ANY_SUBLINK | ALL_SUBLINK => ExprKind::QuantifiedQuery {
                operand: self.boxed(node.testexpr())?,
                operator: self.operator(node.oper_name(), node.location)?,
                quantifier: if node.sub_link_type == ANY_SUBLINK {
                    Quantifier::Any
                } else {
                    Quantifier::All
                },
                query,
            },
            _ => return Err(self.unexpected(Node::SubLink(node), "an expression")),
        })
    }

    fn case(&mut self, node: &nodes::CaseExpr) -> SqlResult<ExprKind> {
        let operand = self.optional_boxed(node.arg())?;
        let branches = self.each(node.args(), |this, branch| match branch {
            Node::CaseWhen(branch) => Ok(CaseBranch {
                condition: this.expr(branch.expr())?,
                result: this.expr(branch.result())?,
                location: Location(branch.location),
            }),
            other => Err(this.unexpected(other, "CASE")),
        })?;
        Ok(ExprKind::Case {
            operand,
            branches,
            otherwise: self.optional_boxed(node.defresult())?,
        })
    }

    fn sql_value(&mut self, node: &nodes::SQLValueFunction) -> SqlResult<ExprKind> {
        use raw::SQLValueFunctionOp::*;
        let function = match node.op {
            SVFOP_CURRENT_DATE => SqlValueFunction::CurrentDate,
            SVFOP_CURRENT_TIME | SVFOP_CURRENT_TIME_N => SqlValueFunction::CurrentTime,
            SVFOP_CURRENT_TIMESTAMP | SVFOP_CURRENT_TIMESTAMP_N => SqlValueFunction::CurrentTimestamp,
            SVFOP_LOCALTIME | SVFOP_LOCALTIME_N => SqlValueFunction::LocalTime,
            SVFOP_LOCALTIMESTAMP | SVFOP_LOCALTIMESTAMP_N => SqlValueFunction::LocalTimestamp,
            SVFOP_CURRENT_ROLE => SqlValueFunction::CurrentRole,
            SVFOP_CURRENT_USER => SqlValueFunction::CurrentUser,
            SVFOP_USER => SqlValueFunction::User,
            SVFOP_SESSION_USER => SqlValueFunction::SessionUser,
            SVFOP_CURRENT_CATALOG => SqlValueFunction::CurrentCatalog,
            SVFOP_CURRENT_SCHEMA => SqlValueFunction::CurrentSchema,
            _ => return Err(self.unexpected(Node::SQLValueFunction(node), "an expression")),
        };
        self.lowered.note_value(function, node.typmod);
        Ok(ExprKind::SqlValue {
            function,
            precision: (node.typmod >= 0).then_some(node.typmod),
        })
    }

    pub(super) fn function_call(&mut self, node: &nodes::FuncCall) -> SqlResult<FunctionCall> {
        // The arguments nest, the rest does not: its frame is gone while they are walked.
        let arguments = self.arguments(node)?;
        self.function_around(node, arguments)
    }

    fn arguments(&mut self, node: &nodes::FuncCall) -> SqlResult<Vec<Argument>> {
        if let Some(Node::ParamRef(field)) = node.args().first() {
            // `EXTRACT($1 FROM x)` exists in this grammar and not in PostgreSQL's.
            let sql_syntax = node.funcformat == raw::CoercionForm::COERCE_SQL_SYNTAX;
            if sql_syntax && self.is_catalog_function(node, "extract") {
                return Err(self.syntax_error(field.location));
            }
        }
        self.each(node.args(), Self::argument)
    }

    fn argument(&mut self, node: Node<'_>) -> SqlResult<Argument> {
        let (name, value) = match node {
            Node::NamedArgExpr(named) => (Some(named.name().unwrap_or_default().into()), named.arg()),
            value => (None, value),
        };
        Ok(Argument {
            name,
            value: self.expr(value)?,
        })
    }

    fn function_around(
        &mut self,
        node: &nodes::FuncCall,
        arguments: Vec<Argument>,
    ) -> SqlResult<FunctionCall> {
        let over = match node.over() {
            Some(window) => Some(self.window_specification(window, window.name())?),
            None => None,
        };
        Ok(FunctionCall {
            name: self.qualified_name(node.funcname(), node.location)?,
            arguments,
            star: node.agg_star,
            variadic: node.func_variadic,
            distinct: node.agg_distinct,
            order_by: self.sort_list(uncast(node.agg_order()))?,
            within_group: node.agg_within_group,
            filter: self.optional(node.agg_filter())?,
            over,
            sql_syntax: node.funcformat == raw::CoercionForm::COERCE_SQL_SYNTAX,
            location: Location(node.location),
        })
    }
}

fn at(location: i32, kind: SqlResult<ExprKind>) -> SqlResult<Expr> {
    Ok(Expr {
        kind: kind?,
        location: Location(location),
    })
}

/// A typed literal (`date '2020-01-01'`) is a cast without a place of its own: its type's stands for it.
fn cast_location(node: &nodes::TypeCast) -> i32 {
    match node.type_name() {
        Some(type_name) if node.location < 0 => type_name.location,
        _ => node.location,
    }
}
