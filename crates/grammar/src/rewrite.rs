//! Changing names inside stored texts: relations in the queries of views, columns in checks, defaults and indexes.
//!
//! Stored texts name things; a rename must change them. What is visited here is the statement tree, not the bound form,
//! because the text must come out as it was written but for the name.
//!
//! Invariant: names that a WITH clause gives are never taken for relations, within that clause's reach.

use crate::ast::{
    Argument, ColumnReference, Constant, Distinct, Expr, ExprKind, FrameBound, FromItem, FunctionCall,
    GroupingElement, IndirectionStep, JoinCondition, Limit, Location, Name, QualifiedName, Query, QueryBody,
    RelationReference, Select, SortBy, Statement, TypeName, WindowSpecification, With,
};
use mote_common::SqlResult;

/// What to do with the names of a tree.
pub trait Names {
    /// A relation in FROM that no WITH clause in reach gives.
    fn relation(&mut self, _: &mut RelationReference) {}
    fn column(&mut self, _: &mut ColumnReference) {}
    /// Any expression, before what is in it.
    fn expression(&mut self, _: &mut Expr) {}
}

struct Walk<'a> {
    names: &'a mut dyn Names,
    /// WITH names in reach.
    given: Vec<Name>,
}

/// Visits all names of an expression, those of sub-queries in it included.
pub fn expression(expr: &mut Expr, names: &mut dyn Names) {
    Walk {
        names,
        given: Vec::new(),
    }
    .expr(expr);
}

/// Visits all names of a query.
pub fn query(query: &mut Query, names: &mut dyn Names) {
    Walk {
        names,
        given: Vec::new(),
    }
    .query(query);
}

impl Walk<'_> {
    /// WITH first, since the rest of the query may use its names.
    fn query(&mut self, query: &mut Query) {
        // Names of WITH reach to the end of the query that has it.
        let outside = self.given.len();
        if let Some(with) = &mut query.with {
            self.with(with);
        }
        match &mut query.body {
            QueryBody::Select(select) => self.select(select),
            QueryBody::Values(rows) => rows.iter_mut().flatten().for_each(|value| self.expr(value)),
            QueryBody::SetOperation { first, rest } => {
                self.query(first);
                rest.iter_mut().for_each(|arm| self.query(&mut arm.query));
            }
        }
        self.sort(&mut query.order_by);
        if let Some(Limit { count, .. }) = &mut query.limit {
            self.expr(count);
        }
        query.offset.iter_mut().for_each(|offset| self.expr(offset));
        self.given.truncate(outside);
    }

    /// The queries of a WITH clause, each with the names in reach of it.
    fn with(&mut self, with: &mut With) {
        // RECURSIVE: all names are in reach of all queries of the clause; else each only of those behind it.
        if with.recursive {
            self.given
                .extend(with.tables.iter().map(|table| table.name.clone()));
        }
        for table in &mut with.tables {
            if let Statement::Query(query) = &mut table.statement {
                self.query(query);
            }
            self.given.push(table.name.clone());
        }
    }

    fn select(&mut self, select: &mut Select) {
        if let Some(Distinct::On(list)) = &mut select.distinct {
            self.list(list);
        }
        select
            .targets
            .iter_mut()
            .for_each(|target| self.expr(&mut target.value));
        select.from.iter_mut().for_each(|item| self.from_item(item));
        select.filter.iter_mut().for_each(|filter| self.expr(filter));
        select
            .group_by
            .iter_mut()
            .for_each(|element| self.grouping(element));
        select.having.iter_mut().for_each(|having| self.expr(having));
        select
            .windows
            .iter_mut()
            .for_each(|window| self.window(&mut window.specification));
    }

    /// One element of GROUP BY, nested as it may be.
    fn grouping(&mut self, element: &mut GroupingElement) {
        match element {
            GroupingElement::Expr(expr) => self.expr(expr),
            GroupingElement::Empty => {}
            GroupingElement::Rollup(list) | GroupingElement::Cube(list) | GroupingElement::Sets(list) => {
                list.iter_mut().for_each(|inner| self.grouping(inner));
            }
        }
    }

    /// An item of FROM. Joins by USING and NATURAL have no expression; their columns keep their names.
    fn from_item(&mut self, item: &mut FromItem) {
        match item {
            FromItem::Relation(reference) => {
                // A name with a schema is never one of WITH.
                let given = reference.name.schema.is_none() && self.given.contains(&reference.name.name);
                if !given {
                    self.names.relation(reference);
                }
            }
            FromItem::Subquery { query, .. } => self.query(query),
            FromItem::Function(function) => {
                function
                    .functions
                    .iter_mut()
                    .for_each(|item| self.expr(&mut item.call));
            }
            FromItem::Join(join) => {
                self.from_item(&mut join.left);
                self.from_item(&mut join.right);
                if let JoinCondition::On(condition) = &mut join.condition {
                    self.expr(condition);
                }
            }
        }
    }

    /// A window's keys and the bounds of its frame.
    fn window(&mut self, window: &mut WindowSpecification) {
        self.list(&mut window.partition_by);
        self.sort(&mut window.order_by);
        if let Some(frame) = &mut window.frame {
            for bound in [&mut frame.start, &mut frame.end] {
                if let FrameBound::Preceding(expr) | FrameBound::Following(expr) = bound {
                    self.expr(expr);
                }
            }
        }
    }

    fn sort(&mut self, keys: &mut [SortBy]) {
        keys.iter_mut().for_each(|key| self.expr(&mut key.value));
    }

    fn list(&mut self, list: &mut [Expr]) {
        list.iter_mut().for_each(|expr| self.expr(expr));
    }

    /// All expressions of a call: arguments, ORDER BY, FILTER, OVER.
    fn call(&mut self, call: &mut FunctionCall) {
        call.arguments
            .iter_mut()
            .for_each(|Argument { value, .. }| self.expr(value));
        self.sort(&mut call.order_by);
        call.filter.iter_mut().for_each(|filter| self.expr(filter));
        call.over.iter_mut().for_each(|window| self.window(window));
    }

    /// The expression itself, then its parts: whoever rewrites it sees it before they are visited. Without a
    /// wildcard, so that a new kind of expression is not forgotten here.
    fn expr(&mut self, expr: &mut Expr) {
        self.names.expression(expr);
        match &mut expr.kind {
            ExprKind::Column(column) => self.names.column(column),
            ExprKind::Constant(_)
            | ExprKind::Parameter(_)
            | ExprKind::SqlValue { .. }
            | ExprKind::Default
            | ExprKind::CurrentOf(_)
            | ExprKind::MergeAction => {}
            ExprKind::Indirection { base, steps } => {
                self.expr(base);
                steps.iter_mut().for_each(|step| self.step(step));
            }
            ExprKind::Operator { left, right, .. } => {
                left.iter_mut().for_each(|left| self.expr(left));
                self.expr(right);
            }
            ExprKind::And(list)
            | ExprKind::Or(list)
            | ExprKind::Coalesce(list)
            | ExprKind::Greatest(list)
            | ExprKind::Least(list)
            | ExprKind::Array(list)
            | ExprKind::Grouping(list)
            | ExprKind::Row { fields: list, .. } => self.list(list),
            ExprKind::Not(operand)
            | ExprKind::IsNull { operand, .. }
            | ExprKind::BooleanTest { operand, .. }
            | ExprKind::Cast { operand, .. }
            | ExprKind::Collate { operand, .. } => self.expr(operand),
            ExprKind::IsDistinctFrom { left, right, .. } | ExprKind::NullIf(left, right) => {
                self.expr(left);
                self.expr(right);
            }
            ExprKind::InList { operand, list, .. } => {
                self.expr(operand);
                self.list(list);
            }
            ExprKind::InQuery { operand, query } | ExprKind::QuantifiedQuery { operand, query, .. } => {
                self.expr(operand);
                self.query(query);
            }
            ExprKind::QuantifiedArray { operand, array, .. } => {
                self.expr(operand);
                self.expr(array);
            }
            ExprKind::Between {
                operand, low, high, ..
            } => {
                [operand, low, high].into_iter().for_each(|part| self.expr(part));
            }
            ExprKind::Like {
                operand,
                pattern,
                escape,
                ..
            } => {
                self.expr(operand);
                self.expr(pattern);
                escape.iter_mut().for_each(|escape| self.expr(escape));
            }
            ExprKind::Case {
                operand,
                branches,
                otherwise,
            } => {
                operand.iter_mut().for_each(|operand| self.expr(operand));
                for branch in branches {
                    self.expr(&mut branch.condition);
                    self.expr(&mut branch.result);
                }
                otherwise.iter_mut().for_each(|otherwise| self.expr(otherwise));
            }
            ExprKind::Function(call) => self.call(call),
            ExprKind::Exists(query) | ExprKind::ScalarQuery(query) | ExprKind::ArrayQuery(query) => {
                self.query(query);
            }
        }
    }

    /// Subscripts are expressions; fields are names of types' attributes.
    fn step(&mut self, step: &mut IndirectionStep) {
        match step {
            IndirectionStep::Field(_) | IndirectionStep::Star => {}
            IndirectionStep::Subscript(expr) => self.expr(expr),
            IndirectionStep::Slice { lower, upper } => {
                lower.iter_mut().chain(upper).for_each(|bound| self.expr(bound));
            }
        }
    }
}

/// Writes the relations that `regclass` constants name in full, so that the text means the same under every search
/// path; the sequences of nextval and its kin are such constants too.
pub struct Regclass<'a> {
    /// A name as written to one with its schema; None if there is no such relation.
    pub qualified: &'a dyn Fn(&str) -> Option<String>,
}

impl Names for Regclass<'_> {
    fn expression(&mut self, expr: &mut Expr) {
        match &mut expr.kind {
            ExprKind::Function(call) if matches!(call.name.last(), "nextval" | "currval" | "setval") => {
                let Some(argument) = call.arguments.first_mut() else {
                    return;
                };
                // The constant becomes a regclass, by which the arm below writes its schema.
                if matches!(argument.value.kind, ExprKind::Constant(Constant::String(_))) {
                    let operand = argument.value.clone();
                    argument.value.kind = ExprKind::Cast {
                        operand: Box::new(operand),
                        target: regclass(),
                    };
                }
            }
            ExprKind::Cast { operand, target } if target.name.last() == "regclass" => {
                // A name that is not found stays as it is: it may be made later.
                if let ExprKind::Constant(Constant::String(name)) = &mut operand.kind
                    && let Some(full) = (self.qualified)(name)
                {
                    *name = full.into();
                }
            }
            _ => {}
        }
    }
}

/// The type's name as the grammar gives it.
fn regclass() -> TypeName {
    TypeName {
        name: QualifiedName {
            parts: vec!["regclass".into()],
            location: Location::NONE,
        },
        modifiers: Vec::new(),
        array_bounds: Vec::new(),
        set_of: false,
        percent_type: false,
        location: Location::NONE,
    }
}

/// Gives a column another name in an expression over its relation's row.
struct RenameColumn<'a> {
    old: &'a str,
    new: &'a str,
}

impl Names for RenameColumn<'_> {
    // `column` and `table.column`: the last part is the column's.
    fn column(&mut self, column: &mut ColumnReference) {
        if let Some(last) = column.parts.last_mut()
            && **last == *self.old
        {
            *last = self.new.into();
        }
    }
}

/// The text of an expression over a relation's row, with a column renamed.
pub fn rename_column(text: &str, old: &str, new: &str) -> SqlResult<String> {
    let mut expr = parse_expression(text)?;
    expression(&mut expr, &mut RenameColumn { old, new });
    Ok(crate::ast::deparse::expression(&expr))
}

/// An expression's tree from its stored text.
pub fn parse_expression(text: &str) -> SqlResult<Expr> {
    // By way of a SELECT: the grammar has no entry for a bare expression.
    let parsed = crate::parser::parse(&format!("SELECT {text}"))?;
    if let Some(Statement::Query(query)) = parsed.into_iter().next().map(|parsed| parsed.statement)
        && let QueryBody::Select(select) = query.body
        && let Some(target) = select.targets.into_iter().next()
    {
        return Ok(target.value);
    }
    Err(mote_common::SqlError::internal(format!(
        "stored expression \"{text}\" is not one expression"
    )))
}
