//! Expressions.

use super::pretty::{Parent, is_simple};
use super::{ITEM_INDENT, Writer};
use crate::ast::*;

impl Writer {
    pub(super) fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Constant(constant) => self.constant(constant),
            ExprKind::Parameter(number) => self.push(&format!("${number}")),
            ExprKind::Column(column) => self.column(column),
            ExprKind::Indirection { base, steps } => self.indirection(base, steps),
            ExprKind::Operator { name, left, right } => {
                if let (Some(row), ExprKind::ScalarQuery(query)) = (left.as_deref(), &right.kind)
                    && is_row(row)
                {
                    self.push("(");
                    self.tested_row(row);
                    self.push(" ");
                    self.operator(name);
                    self.push(" ");
                    self.subquery(query);
                    return self.push(")");
                }
                self.plain("(");
                if let Some(left) = left {
                    self.operand(left, Parent::Operator(&name.name, true));
                    self.push(" ");
                }
                self.operator(name);
                self.push(" ");
                match left {
                    Some(_) => self.operand(right, Parent::Operator(&name.name, false)),
                    None => self.operand(right, Parent::Other),
                }
                self.plain(")");
            }
            ExprKind::And(operands) => self.chain(operands, " AND ", Parent::And),
            ExprKind::Or(operands) => self.chain(operands, " OR ", Parent::Or),
            ExprKind::Not(operand) => {
                self.plain("(");
                self.push("NOT ");
                self.operand(operand, Parent::Not);
                self.plain(")");
            }
            ExprKind::IsNull { operand, negated } => {
                self.test(operand, if *negated { " IS NOT NULL" } else { " IS NULL" });
            }
            ExprKind::BooleanTest {
                operand,
                value,
                negated,
            } => self.test(
                operand,
                match (value, negated) {
                    (TruthValue::True, false) => " IS TRUE",
                    (TruthValue::True, true) => " IS NOT TRUE",
                    (TruthValue::False, false) => " IS FALSE",
                    (TruthValue::False, true) => " IS NOT FALSE",
                    (TruthValue::Unknown, false) => " IS UNKNOWN",
                    (TruthValue::Unknown, true) => " IS NOT UNKNOWN",
                },
            ),
            ExprKind::IsDistinctFrom { left, right, negated } => {
                if *negated {
                    self.plain("(");
                    self.push("NOT ");
                    self.push(if self.pretty { "(" } else { "" });
                }
                self.plain("(");
                self.operand(left, Parent::Other);
                self.push(" IS DISTINCT FROM ");
                self.operand(right, Parent::Other);
                self.plain(")");
                self.push(if *negated { ")" } else { "" });
            }
            ExprKind::InList {
                operand,
                list,
                negated,
            } => self.in_list(operand, list, *negated),
            ExprKind::InQuery { operand, query } => {
                self.push("(");
                self.tested_row(operand);
                self.push(" IN ");
                self.subquery(query);
                self.push(")");
            }
            ExprKind::QuantifiedArray {
                operand,
                operator,
                quantifier,
                array,
            } => {
                self.plain("(");
                self.operand(operand, Parent::Other);
                self.quantified(operator, *quantifier);
                self.push("(");
                self.operand(array, Parent::Other);
                self.push(")");
                self.plain(")");
            }
            ExprKind::QuantifiedQuery {
                operand,
                operator,
                quantifier,
                query,
            } => {
                self.push("(");
                self.tested_row(operand);
                self.quantified(operator, *quantifier);
                self.subquery(query);
                self.push(")");
            }
            ExprKind::Between {
                operand,
                low,
                high,
                symmetric,
                negated,
            } => {
                self.between(operand, low, high, *symmetric, *negated);
            }
            ExprKind::Like {
                form,
                operand,
                pattern,
                escape,
                negated,
            } => {
                self.like(*form, operand, pattern, escape.as_deref(), *negated);
            }
            ExprKind::Case {
                operand,
                branches,
                otherwise,
            } => {
                self.case(operand.as_deref(), branches, otherwise.as_deref());
            }
            ExprKind::Coalesce(arguments) => self.call("COALESCE(", arguments),
            ExprKind::Greatest(arguments) => self.call("GREATEST(", arguments),
            ExprKind::Least(arguments) => self.call("LEAST(", arguments),
            ExprKind::NullIf(left, right) => {
                self.wrapped("NULLIF(", left, ", ");
                self.wrapped("", right, ")");
            }
            ExprKind::Function(call) => self.function(call),
            ExprKind::Cast { operand, target } => self.cast(operand, target),
            ExprKind::Row { fields, .. } => self.call("ROW(", fields),
            ExprKind::Array(elements) => {
                self.push("ARRAY[");
                self.exprs(elements);
                self.push("]");
            }
            ExprKind::Exists(query) => {
                self.push("(EXISTS ");
                self.subquery(query);
                self.push(")");
            }
            ExprKind::ScalarQuery(query) => self.subquery(query),
            ExprKind::ArrayQuery(query) => {
                self.push("ARRAY");
                self.subquery(query);
            }
            ExprKind::Collate { operand, collation } => {
                self.plain("(");
                self.operand(operand, Parent::Other);
                self.push(" COLLATE ");
                // Collations are quoted without need in PostgreSQL only where they have capitals.
                self.dotted(&collation.parts);
                self.plain(")");
            }
            ExprKind::SqlValue { function, precision } => self.sql_value(*function, *precision),
            ExprKind::Grouping(arguments) => self.call("GROUPING(", arguments),
            ExprKind::Default => self.push("DEFAULT"),
            ExprKind::CurrentOf(cursor) => {
                self.push("CURRENT OF ");
                self.name(cursor);
            }
            ExprKind::MergeAction => self.push("MERGE_ACTION()"),
        }
    }

    pub(super) fn exprs(&mut self, exprs: &[Expr]) {
        self.list(exprs, |this, expr| this.expr(expr));
    }

    fn wrapped(&mut self, before: &str, expr: &Expr, after: &str) {
        self.push(before);
        self.expr(expr);
        self.push(after);
    }

    fn call(&mut self, open: &str, arguments: &[Expr]) {
        self.push(open);
        self.exprs(arguments);
        self.push(")");
    }

    /// Parentheses of the plain form.
    fn plain(&mut self, parenthesis: &str) {
        if !self.pretty {
            self.push(parenthesis);
        }
    }

    /// An operand, in parentheses where the pretty form needs them.
    fn operand(&mut self, expr: &Expr, parent: Parent<'_>) {
        match self.pretty && !is_simple(expr, parent) {
            true => self.wrapped("(", expr, ")"),
            false => self.expr(expr),
        }
    }

    fn test(&mut self, operand: &Expr, words: &str) {
        self.plain("(");
        self.operand(operand, Parent::Other);
        self.push(words);
        self.plain(")");
    }

    /// What a query's rows are compared with: a row stands without its word.
    fn tested_row(&mut self, operand: &Expr) {
        match &operand.kind {
            ExprKind::Row { fields, .. } if self.spelled_out => self.call("(", fields),
            _ => self.expr(operand),
        }
    }

    fn chain(&mut self, operands: &[Expr], word: &str, parent: Parent<'_>) {
        self.plain("(");
        for (index, operand) in operands.iter().enumerate() {
            if index > 0 {
                self.push(word);
            }
            self.operand(operand, parent);
        }
        self.plain(")");
    }

    fn constant(&mut self, constant: &Constant) {
        match constant {
            Constant::Null => self.push("NULL"),
            Constant::Boolean(value) => self.push(if *value { "true" } else { "false" }),
            // A sign binds less tightly than a cast or a subscript behind it.
            Constant::Integer(value) if *value < 0 => self.push(&format!("({value})")),
            Constant::Integer(value) => self.push(&value.to_string()),
            Constant::Number(digits) if digits.starts_with('-') => self.push(&format!("({digits})")),
            Constant::Number(digits) => self.push(digits),
            Constant::String(text) => self.string(text),
            Constant::BitString(digits) => self.push(&format!("B'{digits}'")),
            Constant::HexString(digits) => self.push(&format!("X'{digits}'")),
        }
    }

    fn column(&mut self, column: &ColumnReference) {
        self.dotted(&column.parts);
        match (column.star, column.parts.is_empty()) {
            (true, true) => self.push("*"),
            (true, false) => self.push(".*"),
            (false, _) => {}
        }
    }

    fn indirection(&mut self, base: &Expr, steps: &[IndirectionStep]) {
        // A parameter and a column take subscripts bare, but a field of either needs parentheses.
        let bare = matches!(base.kind, ExprKind::Parameter(_) | ExprKind::Column(_))
            && matches!(
                steps.first(),
                Some(IndirectionStep::Subscript(_) | IndirectionStep::Slice { .. })
            );
        self.wrapped(if bare { "" } else { "(" }, base, if bare { "" } else { ")" });
        self.indirection_steps(steps);
    }

    fn indirection_steps(&mut self, steps: &[IndirectionStep]) {
        for step in steps {
            match step {
                IndirectionStep::Field(name) => {
                    self.push(".");
                    self.name(name);
                }
                IndirectionStep::Star => self.push(".*"),
                IndirectionStep::Subscript(index) => self.wrapped("[", index, "]"),
                IndirectionStep::Slice { lower, upper } => {
                    self.push("[");
                    lower.iter().for_each(|lower| self.expr(lower));
                    self.push(":");
                    upper.iter().for_each(|upper| self.expr(upper));
                    self.push("]");
                }
            }
        }
    }

    pub(super) fn operator(&mut self, name: &OperatorName) {
        match &name.schema {
            Some(schema) => {
                self.push("OPERATOR(");
                self.name(schema);
                self.push(".");
                self.push(&name.name);
                self.push(")");
            }
            None => self.push(&name.name),
        }
    }

    /// PostgreSQL shows an array, which it makes when it knows the elements' types. Only those of numbers are known here: an
    /// array of strings would be one of texts, whatever they are compared with, and one of arrays or rows another thing.
    fn in_list(&mut self, operand: &Expr, list: &[Expr], negated: bool) {
        let (word, end) = match (!self.kept && list.iter().all(is_number), negated) {
            (true, false) => (" = ANY (ARRAY[", "]))"),
            (true, true) => (" <> ALL (ARRAY[", "]))"),
            (false, false) => (" IN (", "))"),
            (false, true) => (" NOT IN (", "))"),
        };
        self.wrapped("(", operand, word);
        self.exprs(list);
        self.push(end);
    }

    fn quantified(&mut self, operator: &OperatorName, quantifier: Quantifier) {
        self.push(" ");
        self.operator(operator);
        self.push(match quantifier {
            Quantifier::Any => " ANY ",
            Quantifier::All => " ALL ",
        });
    }

    fn comparison(&mut self, left: &Expr, operator: &str, right: &Expr) {
        self.wrapped("(", left, operator);
        self.wrapped("", right, ")");
    }

    fn range(&mut self, operand: &Expr, low: &Expr, high: &Expr, negated: bool) {
        let (below, word, above) = if negated {
            (" < ", " OR ", " > ")
        } else {
            (" >= ", " AND ", " <= ")
        };
        self.push("(");
        self.comparison(operand, below, low);
        self.push(word);
        self.comparison(operand, above, high);
        self.push(")");
    }

    fn between(&mut self, operand: &Expr, low: &Expr, high: &Expr, symmetric: bool, negated: bool) {
        if self.kept {
            self.wrapped("(", operand, if negated { " NOT BETWEEN " } else { " BETWEEN " });
            self.push(if symmetric { "SYMMETRIC " } else { "" });
            self.wrapped("", low, " AND ");
            return self.wrapped("", high, ")");
        }
        if !symmetric {
            return self.range(operand, low, high, negated);
        }
        self.push("(");
        self.range(operand, low, high, negated);
        self.push(if negated { " AND " } else { " OR " });
        self.range(operand, high, low, negated);
        self.push(")");
    }

    fn like(&mut self, form: LikeForm, operand: &Expr, pattern: &Expr, escape: Option<&Expr>, negated: bool) {
        let (operator, wrapper) = match (form, negated) {
            (LikeForm::Like, false) => (" ~~ ", "like_escape("),
            (LikeForm::Like, true) => (" !~~ ", "like_escape("),
            (LikeForm::ILike, false) => (" ~~* ", "like_escape("),
            (LikeForm::ILike, true) => (" !~~* ", "like_escape("),
            (LikeForm::SimilarTo, false) => (" ~ ", "similar_to_escape("),
            (LikeForm::SimilarTo, true) => (" !~ ", "similar_to_escape("),
        };
        self.wrapped("(", operand, operator);
        match escape {
            None if form != LikeForm::SimilarTo => self.expr(pattern),
            None => self.wrapped(wrapper, pattern, ")"),
            Some(escape) => {
                self.wrapped(wrapper, pattern, ", ");
                self.wrapped("", escape, ")");
            }
        }
        self.push(")");
    }

    fn case(&mut self, operand: Option<&Expr>, branches: &[CaseBranch], otherwise: Option<&Expr>) {
        self.line(self.indent, "CASE");
        self.indent += ITEM_INDENT;
        if let Some(operand) = operand {
            self.wrapped(" ", operand, "");
        }
        for branch in branches {
            self.line(self.indent, "WHEN ");
            self.expr(&branch.condition);
            self.wrapped(" THEN ", &branch.result, "");
        }
        self.line(self.indent, "ELSE ");
        match otherwise {
            Some(otherwise) => self.expr(otherwise),
            None => self.push("NULL"),
        }
        self.indent -= ITEM_INDENT;
        self.line(self.indent, "END");
    }

    fn cast(&mut self, operand: &Expr, target: &TypeName) {
        let bare = match &operand.kind {
            // A literal and its type are one.
            ExprKind::Constant(Constant::String(_) | Constant::Null) | ExprKind::Parameter(_) => true,
            ExprKind::Constant(Constant::Number(_)) if !target.modifiers.is_empty() => true,
            ExprKind::Constant(_) => !self.spelled_out,
            ExprKind::Array(elements) => self.spelled_out && elements.is_empty(),
            ExprKind::Column(column) => column.star,
            _ => false,
        };
        if !bare {
            self.plain("(");
        }
        self.operand(operand, Parent::Other);
        if !bare {
            self.plain(")");
        }
        self.push("::");
        self.type_name(target);
    }

    fn sql_value(&mut self, function: SqlValueFunction, precision: Option<i32>) {
        self.push(match function {
            SqlValueFunction::CurrentDate => "CURRENT_DATE",
            SqlValueFunction::CurrentTime => "CURRENT_TIME",
            SqlValueFunction::CurrentTimestamp => "CURRENT_TIMESTAMP",
            SqlValueFunction::LocalTime => "LOCALTIME",
            SqlValueFunction::LocalTimestamp => "LOCALTIMESTAMP",
            SqlValueFunction::CurrentRole => "CURRENT_ROLE",
            SqlValueFunction::CurrentUser => "CURRENT_USER",
            SqlValueFunction::User => "USER",
            SqlValueFunction::SessionUser => "SESSION_USER",
            SqlValueFunction::CurrentCatalog => "CURRENT_CATALOG",
            SqlValueFunction::CurrentSchema => "CURRENT_SCHEMA",
        });
        if let Some(precision) = precision {
            self.push(&format!("({precision})"));
        }
    }

    fn function(&mut self, call: &FunctionCall) {
        if call.sql_syntax && self.sql_syntax(call) {
            return;
        }
        match call.name.parts.as_slice() {
            // As PostgreSQL shows what is several calls in one.
            [.., own] if self.spelled_out && &**own == "unnest" && call.arguments.len() > 1 => {
                self.push("UNNEST");
            }
            [schema, own] if &**schema == "pg_catalog" => self.name(own),
            parts => self.dotted(parts),
        }
        self.push("(");
        if call.distinct {
            self.push("DISTINCT ");
        }
        if call.star {
            self.push("*");
        }
        let last = call.arguments.len();
        let direct = if call.within_group { last } else { usize::MAX };
        for (index, argument) in call.arguments.iter().enumerate().take(direct) {
            if index > 0 {
                self.push(", ");
            }
            if call.variadic && index + 1 == last {
                self.push("VARIADIC ");
            }
            if let Some(name) = &argument.name {
                self.name(name);
                self.push(" => ");
            }
            self.expr(&argument.value);
        }
        if call.within_group {
            self.push(") WITHIN GROUP (ORDER BY ");
            self.sort_list(&call.order_by);
        } else if !call.order_by.is_empty() {
            self.push(" ORDER BY ");
            self.sort_list(&call.order_by);
        }
        self.push(")");
        if let Some(filter) = &call.filter {
            self.wrapped(" FILTER (WHERE ", filter, ")");
        }
        if let Some(window) = &call.over {
            self.push(" OVER ");
            self.window(window);
        }
    }

    /// SQL's own syntax for the functions that PostgreSQL prints so. False: it is to be printed as a call.
    fn sql_syntax(&mut self, call: &FunctionCall) -> bool {
        let argument = |index: usize| call.arguments.get(index).map(|argument| &argument.value);
        match (
            call.name.last(),
            argument(0),
            argument(1),
            argument(2),
            argument(3),
        ) {
            ("timezone", Some(zone), Some(value), None, _) => {
                self.push("(");
                self.operand(value, Parent::Other);
                self.push(" AT TIME ZONE ");
                self.operand(zone, Parent::Other);
                self.push(")");
            }
            ("timezone", Some(value), None, ..) => self.wrapped("(", value, " AT LOCAL)"),
            ("overlay", Some(text), Some(new), Some(from), length) => {
                self.wrapped("OVERLAY(", text, " PLACING ");
                self.wrapped("", new, " FROM ");
                self.expr(from);
                if let Some(length) = length {
                    self.wrapped(" FOR ", length, "");
                }
                self.push(")");
            }
            ("extract", Some(field), Some(value), None, _) => {
                self.push("EXTRACT(");
                match &field.kind {
                    ExprKind::Constant(Constant::String(field)) => self.name(field),
                    _ => self.expr(field),
                }
                self.wrapped(" FROM ", value, ")");
            }
            ("overlaps", Some(a), Some(b), Some(c), Some(d)) => {
                self.wrapped("((", a, ", ");
                self.wrapped("", b, ") OVERLAPS (");
                self.wrapped("", c, ", ");
                self.wrapped("", d, "))");
            }
            ("position", Some(text), Some(part), None, _) => {
                // The grammar swaps the arguments, and PostgreSQL swaps them back.
                self.wrapped("POSITION((", part, ") IN (");
                self.wrapped("", text, "))");
            }
            ("substring", Some(text), Some(from), length, None) => {
                self.wrapped("SUBSTRING(", text, " FROM ");
                self.expr(from);
                if let Some(length) = length {
                    self.wrapped(" FOR ", length, "");
                }
                self.push(")");
            }
            ("btrim" | "ltrim" | "rtrim", Some(text), characters, None, _) => {
                self.push(match call.name.last() {
                    "btrim" => "TRIM(BOTH",
                    "ltrim" => "TRIM(LEADING",
                    _ => "TRIM(TRAILING",
                });
                if let Some(characters) = characters {
                    self.wrapped(" ", characters, "");
                }
                self.wrapped(" FROM ", text, ")");
            }
            _ => return false,
        }
        true
    }
}

fn is_row(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Row { .. })
}

/// A number as written, with its sign.
fn is_number(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Constant(Constant::Integer(_) | Constant::Number(_)) => true,
        ExprKind::Operator {
            left: None, right, ..
        } => is_number(right),
        _ => false,
    }
}
