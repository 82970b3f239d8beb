//! Bound expressions over a relation's row as SQL, in the words of PostgreSQL's ruleutils.
//!
//! What comes out means the same in every session: constants stand in their canonical form with their type, conversions
//! that the binder added are written. The plain form puts every operator in parentheses; the pretty one leaves out those
//! that PostgreSQL's pretty form leaves out.
//!
//! Differences: a function that was called in SQL's own syntax (`TRIM(BOTH ..)`) comes out as a plain call.

use mote_types::catalog::extension::of_extension;
use mote_types::catalog::user::{is_composite, row_type};
use mote_types::{ColumnType, Datum, FormatSettings, format, oid};

use super::explain;
use mote_grammar::ast::deparse::{identifier, is_tighter_arithmetic};
use mote_sql::builtin::function::FunctionId;
use mote_sql::builtin::operator::{Operator, operators_of_function};
use mote_sql::expr::*;

/// `expr` as text. `columns` are the names of the relation's columns, quoted where they must be.
pub fn deparse(expr: &Expr, columns: &[String], pretty: bool) -> String {
    let mut writer = Writer {
        columns,
        pretty,
        text: String::new(),
        indent: 0,
    };
    writer.expr(expr, false);
    writer.text
}

/// What an expression stands in, as far as parentheses depend on it.
#[derive(Clone, Copy, PartialEq)]
enum Parent<'e> {
    /// An operator, and whether the expression is its left operand.
    Operator(&'e str, bool),
    And,
    Or,
    Not,
    /// A call, an array, CASE and whatever else has delimiters of its own.
    Delimited,
    /// A conversion, a test, a comparison with a list.
    Other,
}

struct Writer<'a> {
    columns: &'a [String],
    pretty: bool,
    text: String,
    indent: usize,
}

fn operator_of(function: FunctionId) -> Option<&'static Operator> {
    operators_of_function(function).next()
}

impl Writer<'_> {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Parentheses of the plain form.
    fn plain(&mut self, parenthesis: &str) {
        if !self.pretty {
            self.push(parenthesis);
        }
    }

    /// An operand, in parentheses where the pretty form needs them.
    fn operand(&mut self, expr: &Expr, implicit: bool, parent: Parent<'_>) {
        let enclose = self.pretty && !is_simple(expr, parent);
        if enclose {
            self.push("(");
        }
        self.expr(expr, implicit);
        if enclose {
            self.push(")");
        }
    }

    /// `implicit`: conversions that were not asked for are written, too.
    fn expr(&mut self, expr: &Expr, implicit: bool) {
        match expr {
            Expr::Constant(value, ty) => self.constant(value, *ty),
            Expr::Column { index, .. } => self.column(*index as usize),
            Expr::Call {
                function,
                arguments,
                variadic,
                ..
            } => self.call(*function, arguments, *variadic),
            // A literal whose meaning the session decides.
            Expr::Cast {
                argument, from, ty, ..
            } if from.oid == oid::UNKNOWN && matches!(**argument, Expr::Constant(Datum::Text(_), _)) => {
                self.literal(argument, *ty);
            }
            Expr::Cast {
                argument,
                ty,
                explicit,
                ..
            } => match *explicit || implicit {
                true => self.cast(argument, *ty),
                false => self.expr(argument, false),
            },
            Expr::Domain(domain) => self.cast(&domain.argument, ColumnType::new(domain.rules.domain)),
            Expr::And(parts) => self.chain(parts, " AND ", Parent::And),
            Expr::Or(parts) => self.chain(parts, " OR ", Parent::Or),
            Expr::Not(inner) => self.not(inner),
            Expr::IsNull(inner) => self.test(inner, "IS NULL"),
            Expr::IsNotNull(inner) => self.test(inner, "IS NOT NULL"),
            Expr::BooleanTest {
                argument,
                test,
                negated,
            } => self.test(argument, test.words(*negated)),
            Expr::DistinctFrom {
                left, right, negated, ..
            } => self.distinct(left, right, *negated),
            Expr::Case {
                branches,
                otherwise,
                ty,
            } => self.case(branches, otherwise.as_deref(), *ty),
            Expr::Coalesce { arguments, .. } => self.list("COALESCE(", arguments, ")"),
            Expr::NullIf { left, right, .. } => self.null_if(left, right),
            Expr::MinMax {
                arguments, greatest, ..
            } => self.list(if *greatest { "GREATEST(" } else { "LEAST(" }, arguments, ")"),
            Expr::ArrayComparison {
                function,
                argument,
                array,
                all,
            } => self.array_comparison(*function, argument, array, *all),
            Expr::InList {
                function,
                argument,
                list,
                negated,
            } => self.in_list(*function, argument, list, *negated),
            Expr::Array { elements, ty, .. } => self.array(elements, *ty),
            Expr::Row { fields, ty, .. } => self.row(fields, *ty),
            Expr::RowComparison {
                operator,
                left,
                right,
                ..
            } => self.row_comparison(*operator, left, right),
            Expr::Subscript {
                array, subscripts, ..
            } => self.subscript(array, subscripts),
            Expr::FieldSelect { record, field, .. } => self.field(record, *field as usize),
            other => self.push(&explain::show(other, self.columns)),
        }
    }

    /// The text of a constant with the type that it is to be read as.
    fn literal(&mut self, constant: &Expr, ty: ColumnType) {
        if let Expr::Constant(Datum::Text(text), _) = constant {
            self.push(&format!("{}::{}", quoted(text), ty.name()));
        }
    }

    fn column(&mut self, index: usize) {
        match self.columns.get(index) {
            Some(name) => self.text.push_str(name),
            None => self.push(&format!("column{}", index + 1)),
        }
    }

    fn not(&mut self, inner: &Expr) {
        self.plain("(");
        self.push("NOT ");
        self.operand(inner, false, Parent::Not);
        self.plain(")");
    }

    fn null_if(&mut self, left: &Expr, right: &Expr) {
        self.push("NULLIF(");
        self.expr(left, true);
        self.push(", ");
        self.expr(right, true);
        self.push(")");
    }

    fn array_comparison(&mut self, function: FunctionId, argument: &Expr, array: &Expr, all: bool) {
        self.quantified(function, argument, all);
        self.operand(array, true, Parent::Other);
        self.push(")");
        self.plain(")");
    }

    fn array(&mut self, elements: &[Expr], ty: ColumnType) {
        match elements.is_empty() {
            true => self.push(&format!("ARRAY[]::{}", ty.name())),
            false => self.list("ARRAY[", elements, "]"),
        }
    }

    fn row(&mut self, fields: &[Expr], ty: ColumnType) {
        self.list("ROW(", fields, ")");
        if is_composite(ty.oid) {
            self.push(&format!("::{}", ty.name()));
        }
    }

    fn field(&mut self, record: &Expr, field: usize) {
        self.push("(");
        self.expr(record, false);
        let known = row_type(record.ty().oid).and_then(|row| row.names.get(field).cloned());
        match known {
            Some(name) => self.push(&format!(").{}", identifier(&name))),
            None => self.push(&format!(").f{}", field + 1)),
        }
    }

    fn list(&mut self, open: &str, exprs: &[Expr], close: &str) {
        self.push(open);
        for (position, expr) in exprs.iter().enumerate() {
            if position > 0 {
                self.push(", ");
            }
            self.expr(expr, true);
        }
        self.push(close);
    }

    fn chain(&mut self, parts: &[Expr], word: &str, parent: Parent<'_>) {
        self.plain("(");
        for (position, part) in parts.iter().enumerate() {
            if position > 0 {
                self.push(word);
            }
            self.operand(part, false, parent);
        }
        self.plain(")");
    }

    fn test(&mut self, inner: &Expr, words: &str) {
        self.plain("(");
        self.operand(inner, true, Parent::Other);
        self.push(" ");
        self.push(words);
        self.plain(")");
    }

    fn distinct(&mut self, left: &Expr, right: &Expr, negated: bool) {
        if negated {
            self.plain("(");
            self.push("NOT ");
            if self.pretty {
                self.push("(");
            }
        }
        self.plain("(");
        self.operand(left, true, Parent::Other);
        self.push(" IS DISTINCT FROM ");
        self.operand(right, true, Parent::Other);
        self.plain(")");
        if negated {
            self.push(")");
        }
    }

    fn call(&mut self, function: FunctionId, arguments: &[Expr], variadic: bool) {
        match (operator_of(function), arguments) {
            (Some(operator), [left, right]) => {
                self.plain("(");
                // PostgreSQL compares integers of different widths as they are.
                let alike = operator.left == operator.right;
                for (expr, declared, is_left) in [(left, operator.left, true), (right, operator.right, false)]
                {
                    match expr {
                        Expr::Constant(Datum::Int8(value), _) if alike && fits_int4(*value) => {
                            self.push(&value.to_string());
                        }
                        Expr::Constant(Datum::Int2(value @ 0..), _) if alike => self.push(&value.to_string()),
                        _ => self.converted(expr, declared, Parent::Operator(operator.name, is_left)),
                    }
                    if is_left {
                        self.push(&format!(" {} ", shown_operator(operator)));
                    }
                }
                self.plain(")");
            }
            (Some(operator), [operand]) => {
                self.plain("(");
                self.push(&format!("{} ", shown_operator(operator)));
                self.converted(operand, operator.right, Parent::Operator(operator.name, false));
                self.plain(")");
            }
            _ => self.function(function, arguments, variadic),
        }
    }

    fn function(&mut self, function: FunctionId, arguments: &[Expr], variadic: bool) {
        let signature = function.signature();
        if let ("extract", [Expr::Constant(Datum::Text(field), _), from]) = (signature.name, arguments) {
            self.push(&format!("EXTRACT({} FROM ", identifier(field)));
            self.expr(from, true);
            return self.push(")");
        }
        self.push(&format!("{}(", identifier(signature.name)));
        for (position, argument) in arguments.iter().enumerate() {
            if position > 0 {
                self.push(", ");
            }
            if variadic && position + 1 == arguments.len() {
                self.push("VARIADIC ");
            }
            let declared = signature.arguments.get(position).copied();
            match declared {
                Some(declared) if is_relabelled(argument, declared) => self.cast(argument, ColumnType::TEXT),
                _ => self.expr(argument, true),
            }
        }
        self.push(")");
    }

    /// An operand of an operator that declares its type.
    fn converted(&mut self, expr: &Expr, declared: mote_common::Oid, parent: Parent<'_>) {
        match is_relabelled(expr, declared) {
            true => self.cast(expr, ColumnType::TEXT),
            false => self.operand(expr, true, parent),
        }
    }

    fn cast(&mut self, argument: &Expr, ty: ColumnType) {
        self.plain("(");
        self.operand(argument, false, Parent::Other);
        self.plain(")");
        self.push(&format!("::{}", ty.name()));
    }

    fn quantified(&mut self, function: FunctionId, argument: &Expr, all: bool) {
        let operator = operator_of(function);
        let (name, declared) = operator.map_or(("=", oid::ANY), |operator| (operator.name, operator.left));
        self.plain("(");
        self.converted(argument, declared, Parent::Other);
        self.push(&format!(" {name} {} (", if all { "ALL" } else { "ANY" }));
    }

    fn in_list(&mut self, function: FunctionId, argument: &Expr, list: &[Expr], negated: bool) {
        let declared = operator_of(function).map_or(oid::ANY, |operator| operator.left);
        self.plain("(");
        self.converted(argument, declared, Parent::Other);
        self.push(if negated { " <> ALL (" } else { " = ANY (" });
        // Strings of a length are compared as text, the whole list at a time.
        let relabelled = list.first().is_some_and(|first| is_relabelled(first, declared));
        if relabelled {
            self.plain("(");
        }
        self.list("ARRAY[", list, "]");
        if relabelled {
            self.plain(")");
            self.push("::text[]");
        }
        self.push(")");
        self.plain(")");
    }

    fn row_comparison(&mut self, operator: RowOperator, left: &[Expr], right: &[Expr]) {
        self.plain("(");
        self.list("ROW(", left, ")");
        self.push(&format!(" {} ", operator.sign()));
        self.list("ROW(", right, ")");
        self.plain(")");
    }

    fn subscript(&mut self, array: &Expr, subscripts: &[Subscript]) {
        let bare = matches!(array, Expr::Column { .. } | Expr::FieldSelect { .. });
        if !bare {
            self.push("(");
        }
        self.expr(array, true);
        if !bare {
            self.push(")");
        }
        for subscript in subscripts {
            self.push("[");
            match subscript {
                Subscript::Element(index) => self.expr(index, false),
                Subscript::Slice(lower, upper) => {
                    lower.iter().for_each(|lower| self.expr(lower, false));
                    self.push(":");
                    upper.iter().for_each(|upper| self.expr(upper, false));
                }
            }
            self.push("]");
        }
    }

    fn case(&mut self, branches: &[(Expr, Expr)], otherwise: Option<&Expr>, ty: ColumnType) {
        self.keyword("CASE");
        self.indent += 1;
        for (condition, result) in branches {
            self.keyword("WHEN ");
            self.expr(condition, false);
            self.push(" THEN ");
            self.expr(result, true);
        }
        self.keyword("ELSE ");
        match otherwise {
            Some(otherwise) => self.expr(otherwise, true),
            None => self.constant(&Datum::Null, ty),
        }
        self.indent -= 1;
        self.keyword("END");
    }

    /// A keyword of CASE, on a line of its own.
    fn keyword(&mut self, word: &str) {
        self.text.push_str(&format!("\n{:1$}", "", self.indent * 4));
        self.push(word);
    }

    fn constant(&mut self, value: &Datum, ty: ColumnType) {
        if value.is_null() {
            return self.push(&format!("NULL::{}", ty.name()));
        }
        let shown = format::output_to_string(value, ColumnType::new(ty.oid), &FormatSettings::default());
        let plain_number = shown.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let fraction = shown.contains('.');
        let text = match ty.oid {
            oid::BOOL => if shown == "t" { "true" } else { "false" }.to_string(),
            oid::INT4 if plain_number => shown,
            oid::NUMERIC if plain_number && fraction => shown,
            oid::INT2 | oid::INT8 | oid::NUMERIC | oid::FLOAT4 | oid::FLOAT8 if plain_number && !fraction => {
                match self.pretty {
                    true => format!("{shown}::{}", ty.name()),
                    false => format!("({shown})::{}", ty.name()),
                }
            }
            _ => format!("{}::{}", quoted(&shown), ty.name()),
        };
        self.push(&text);
    }
}

/// An operator of an extension with the schema that it shares with its type, where that has to be named.
fn shown_operator(operator: &Operator) -> String {
    let name = operator.name;
    let ty = of_extension([operator.left, operator.right]).map(|known| ColumnType::new(known.oid).name());
    match ty.as_deref().and_then(|ty| ty.rsplit_once('.')) {
        Some((schema, _)) => format!("OPERATOR({schema}.{name})"),
        None => name.to_owned(),
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Is it a literal of type integer that the binder has widened?
fn fits_int4(value: i64) -> bool {
    (0..=i64::from(i32::MAX)).contains(&value)
}

/// Does PostgreSQL convert this where `declared` is wanted, though both hold the same datum?
fn is_relabelled(expr: &Expr, declared: mote_common::Oid) -> bool {
    let ty = expr.ty().oid;
    declared == oid::TEXT && matches!(ty, oid::VARCHAR | oid::NAME)
}

/// Does the pretty form leave the parentheses out?
fn is_simple(expr: &Expr, parent: Parent<'_>) -> bool {
    let junction = matches!(parent, Parent::And | Parent::Or);
    match expr {
        Expr::Cast { argument, .. } => is_simple(argument, Parent::Other),
        Expr::And(_) | Expr::Not(_) => junction || parent == Parent::Delimited,
        Expr::Or(_) => matches!(parent, Parent::Or | Parent::Delimited),
        Expr::DistinctFrom { negated: true, .. } => junction,
        Expr::Call { function, .. } => match operator_of(*function) {
            None => true,
            Some(operator) => {
                let tested = junction || matches!(parent, Parent::Not | Parent::Delimited);
                tested || binds_tighter(operator.name, parent)
            }
        },
        Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::BooleanTest { .. }
        | Expr::DistinctFrom { .. }
        | Expr::RowComparison { .. } => junction || matches!(parent, Parent::Not | Parent::Delimited),
        Expr::ArrayComparison { .. } | Expr::InList { .. } => false,
        _ => true,
    }
}

/// Arithmetic inside arithmetic, by precedence and from left to right.
fn binds_tighter(name: &str, parent: Parent<'_>) -> bool {
    matches!(parent, Parent::Operator(outer, is_left) if is_tighter_arithmetic(name, outer, is_left))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture::TestCatalog;
    use mote_sql::catalog::{Column, Relation};
    use mote_sql::{RelationExpression, bind_expression_over_relation};
    use std::sync::Arc;

    /// What is bound, printed and bound again is the same; the words are PostgreSQL's.
    #[test]
    fn canonical_text_says_the_same() {
        let columns = [
            ("a", "int4"),
            ("n", "numeric"),
            ("A b", "text"),
            ("v", "varchar(9)"),
            ("d", "date"),
        ];
        let columns =
            columns.map(|(name, ty)| Column::new(name, mote_types::parse_type(ty).expect("a type")));
        let relation = Arc::new(Relation::of_columns("t", columns.to_vec()));
        let names = relation.quoted_column_names();
        let bind = |text: &str| {
            let purpose = RelationExpression::IndexKey;
            bind_expression_over_relation(text, &relation, purpose, None, TestCatalog::shared()).expect(text)
        };
        let cases = [
            ("lower(v)", "lower((v)::text)", "lower(v::text)"),
            ("a+1*a", "(a + (1 * a))", "a + 1 * a"),
            ("(a+1)*a", "((a + 1) * a)", "(a + 1) * a"),
            ("a-(a-1)", "(a - (a - 1))", "a - (a - 1)"),
            ("n > 5", "(n > (5)::numeric)", "n > 5::numeric"),
            ("n > 1.50", "(n > 1.50)", "n > 1.50"),
            ("a > -1", "(a > '-1'::integer)", "a > '-1'::integer"),
            (
                "\"A b\" = 'it''s \\'",
                "(\"A b\" = 'it''s \\'::text)",
                "\"A b\" = 'it''s \\'::text",
            ),
            (
                "v in ('x','y')",
                "((v)::text = ANY ((ARRAY['x'::character varying, 'y'::character varying])::text[]))",
                "v::text = ANY (ARRAY['x'::character varying, 'y'::character varying]::text[])",
            ),
            (
                "a is null or not a > 1 and d = '2020-01-31'",
                "((a IS NULL) OR ((NOT (a > 1)) AND (d = '2020-01-31'::date)))",
                "a IS NULL OR NOT a > 1 AND d = '2020-01-31'::date",
            ),
            (
                "a is not distinct from 4",
                "(NOT (a IS DISTINCT FROM 4))",
                "NOT (a IS DISTINCT FROM 4)",
            ),
            (
                "case a when 1 then v else 'x' end",
                "\nCASE\n    WHEN (a = 1) THEN v\n    ELSE 'x'::character varying\nEND",
                "\nCASE\n    WHEN a = 1 THEN v\n    ELSE 'x'::character varying\nEND",
            ),
        ];
        for (text, plain, pretty) in cases {
            let expr = bind(text);
            assert_eq!(deparse(&expr, &names, false), plain, "{text}");
            assert_eq!(deparse(&expr, &names, true), pretty, "{text}");
            for shown in [plain, pretty] {
                let (mut first, mut again) = (expr.clone(), bind(shown));
                mote_sql::expr::simplify(&mut first, None);
                mote_sql::expr::simplify(&mut again, None);
                let alike = deparse(&first, &names, false) == deparse(&again, &names, false);
                // A list of strings comes back as an array.
                assert!(alike || text.starts_with("v in"), "{text} as {shown}");
            }
        }
    }
}
